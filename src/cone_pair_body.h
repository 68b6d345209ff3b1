/* cone_pair_body.h - the kernels of cone_pair.h, written once; cone_pair.c includes this once per
 * instruction set.
 *
 * The includer defines
 *     NAME(x)  the name of a function in this set
 *     TARGET   its attribute
 *     ROOT(v)  the square roots of four numbers
 *
 * No product is fused with a sum: every set gives the same bits. */

#define INLINE static inline __attribute__((always_inline)) TARGET
/* Written out: of four_of(0.0) gcc makes a move that valgrind does not know. */
#define NONE ((four){0.0, 0.0, 0.0, 0.0})

INLINE four NAME(dot_t)(const four *a, const four *b) { return a[1] * b[1] + a[2] * b[2]; }
INLINE four NAME(length_t)(const four *a) { return ROOT(NAME(dot_t)(a, a)); }

/* a / b where b is above 0, else 0. */
INLINE four NAME(divide)(four a, four b) { return four_choose(b > 0.0, a / b, NONE); }

INLINE four NAME(determinant)(const inside *a) { return a->gap * (2.0 * a->v[0] - a->gap); }

INLINE four NAME(gather)(const double *v, const int *at) {
  return (four){v[at[0]], v[at[1]], v[at[2]], v[at[3]]};
}

/* ---- what there is --------------------------------------------------------------------------- */

TARGET static double NAME(take_velocities)(const pair_quad *q, int quads, int exact, double *r) {
  four sum = NONE;
  for (const pair_quad *end = q + quads; q < end; q++) {
    four w[3];
    w[0] = q->sign * (exact ? q->z.gap : q->z.v[0]);
    for (int i = 1; i < 3; i++) w[i] = q->g[i] * q->z.v[i];
    for (int k = 0; k < PAIRS_AT_ONCE; k++)
      for (int i = 0; i < q->rows[k]; i++) r[q->row[i][k]] -= w[i][k];
    sum += q->there * (q->y.v[0] * q->z.v[0] + NAME(dot_t)(q->y.v, q->z.v));
  }
  return four_sum(sum);
}

TARGET static double NAME(product)(const pair_quad *q, int quads, double step) {
  four sum = NONE;
  for (const pair_quad *end = q + quads; q < end; q++) {
    four product = NONE;
    for (int i = 0; i < 3; i++)
      product += (q->y.v[i] + step * q->dy[i]) * (q->z.v[i] + step * q->dz[i]);
    sum += q->there * product;
  }
  return four_sum(sum);
}

/* ---- the scaling ----------------------------------------------------------------------------- */

/* H^1/2 a (sign 1) and H^-1/2 a (sign -1), but for eta. */
INLINE void NAME(turn)(const pair_quad *q, double sign, const four *a, four *out) {
  four c = NAME(dot_t)(q->turn, a), b = sign * a[0] - c / (1.0 + q->turn[0]);
  out[0] = q->turn[0] * a[0] - sign * c;
  for (int i = 1; i < 3; i++) out[i] = a[i] - q->turn[i] * b;
}

/* The first row of H less slip times the others: in the directions along and across the slip
 * (l^2 + c^2, c^2 - l^2, 2 l c), l what is left of u_0 - slip u_t, c what u_t has across.  l
 * without a difference: y_t and the slip are nearly opposite. */
INLINE void NAME(measure_slip)(pair_quad *q, four in_y, four in_z, four part) {
  four speed = NAME(length_t)(q->z.v), force = NAME(length_t)(q->y.v), off[2];
  for (int i = 0; i < 2; i++) {
    q->slip[i] = NAME(divide)(q->z.v[i + 1], speed);
    off[i] = q->slip[i] + NAME(divide)(q->y.v[i + 1], force);
  }
  four beside = q->y.gap + 0.5 * force * (off[0] * off[0] + off[1] * off[1]);
  q->edge = four_choose(force > 0.0, beside, q->y.v[0]);
  four l = part * (q->edge * in_y + q->z.gap * in_z);
  four c = q->turn[1] * q->slip[1] - q->turn[2] * q->slip[0];
  four k = q->in_eta * q->in_eta, along = c * c - l * l, across = 2.0 * l * c;
  q->slip_row[0] = k * (l * l + c * c);
  q->slip_row[1] = k * (along * q->slip[0] - across * q->slip[1]);
  q->slip_row[2] = k * (along * q->slip[1] + across * q->slip[0]);
  q->slides = four_choose(speed > 0.0, four_of(1.0) - q->alone, NONE);
}

INLINE void NAME(fill_block)(pair_quad *q) {
  const four k = q->in_eta * q->in_eta, u[3] = {q->turn[0], -q->turn[1], -q->turn[2]};
  four H[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) H[3 * i + j] = 2.0 * k * u[i] * u[j];
  H[0] -= k, H[4] += k, H[8] += k;
  for (int j = 0; j < 3; j++) H[j] = four_choose(q->slides > 0.0, q->slip_row[j], H[j]);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) q->E[3 * i + j] = q->g[i] * q->g[j] * H[3 * i + j];
}

TARGET static void NAME(scale)(pair_quad *q, int quads, int exact) {
  for (const pair_quad *end = q + quads; q < end; q++) {
    four root_y = ROOT(NAME(determinant)(&q->y)), root_z = ROOT(NAME(determinant)(&q->z));
    four in_y = 1.0 / root_y, in_z = 1.0 / root_z, y[3], z[3], product = NONE;
    for (int i = 0; i < 3; i++) {
      y[i] = q->y.v[i] * in_y, z[i] = q->z.v[i] * in_z;
      product += y[i] * z[i];
    }
    four part = 1.0 / ROOT(2.0 * (1.0 + product));
    for (int i = 1; i < 3; i++) q->turn[i] = part * (y[i] - z[i]);
    q->turn[0] = ROOT(1.0 + NAME(dot_t)(q->turn, q->turn));
    four eta = ROOT(root_y * in_z);
    q->in_eta = 1.0 / eta;
    q->det = root_y * root_z;
    NAME(turn)(q, -1.0, q->z.v, q->middle);
    for (int i = 0; i < 3; i++) q->middle[i] *= eta;
    q->slides = NONE;
    if (exact) NAME(measure_slip)(q, in_y, in_z, part);
    NAME(fill_block)(q);
  }
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* H^1/2 s / eta with middle o s = a. */
INLINE void NAME(solve_middle)(const pair_quad *q, const four *a, four *out) {
  const four *l = q->middle;
  four s[3], in_l = 1.0 / l[0];
  s[0] = (l[0] * a[0] - NAME(dot_t)(l, a)) / q->det;
  for (int i = 1; i < 3; i++) s[i] = (a[i] - s[0] * l[i]) * in_l;
  NAME(turn)(q, 1.0, s, out);
  for (int i = 0; i < 3; i++) out[i] *= q->in_eta;
}

/* y o z in scaled coordinates: eta of the one and 1 / eta of the other, nothing is left of it. */
INLINE void NAME(scaled_product)(const pair_quad *q, const four *y, const four *z, four *out) {
  four a[3], b[3];
  NAME(turn)(q, 1.0, y, a);
  NAME(turn)(q, -1.0, z, b);
  out[0] = a[0] * b[0] + NAME(dot_t)(a, b);
  for (int i = 1; i < 3; i++) out[i] = a[0] * b[i] + b[0] * a[i];
}

TARGET static void NAME(set_second_order)(pair_quad *q, int quads) {
  for (const pair_quad *end = q + quads; q < end; q++) {
    four product[3];
    NAME(scaled_product)(q, q->dy, q->dz, product);
    NAME(solve_middle)(q, product, q->second);
    for (int i = 0; i < 3; i++) q->second[i] = -q->second[i];
  }
}

/* What brings an eigenvalue back to the target; not farther down than the target allows up. */
INLINE four NAME(lack)(four value, double target) {
  four least = four_of(target / OUT_OF_BALANCE), most = four_of(target * OUT_OF_BALANCE);
  return four_max(four_min(four_max(value, least), most) - value, -most);
}

TARGET static void NAME(balance)(pair_quad *q, int quads, double target, double ahead) {
  for (const pair_quad *end = q + quads; q < end; q++) {
    four y[3], z[3], product[3], more[3];
    for (int i = 0; i < 3; i++) {
      y[i] = q->y.v[i] + ahead * q->dy[i];
      z[i] = q->z.v[i] + ahead * q->dz[i];
    }
    NAME(scaled_product)(q, y, z, product);
    four r = NAME(length_t)(product);
    four low = NAME(lack)(product[0] - r, target), high = NAME(lack)(product[0] + r, target);
    four lean = NAME(divide)(0.5 * (high - low), r);
    product[0] = 0.5 * (low + high);
    for (int i = 1; i < 3; i++) product[i] *= lean;
    NAME(solve_middle)(q, product, more);
    for (int i = 0; i < 3; i++) q->second[i] += q->there * more[i];
  }
}

TARGET static void NAME(wish)(pair_quad *q, int quads, double target, int second_order,
                              double *right) {
  for (const pair_quad *end = q + quads; q < end; q++) {
    four k = target / NAME(determinant)(&q->y), w[3];
    q->t[0] = k * q->y.v[0] - q->z.v[0];
    for (int i = 1; i < 3; i++) q->t[i] = -k * q->y.v[i] - q->z.v[i];
    q->t_slip = k * q->edge - q->z.gap;
    if (second_order) {
      for (int i = 0; i < 3; i++) q->t[i] += q->second[i];
      q->t_slip += q->second[0] - q->slip[0] * q->second[1] - q->slip[1] * q->second[2];
    }
    for (int i = 0; i < 3; i++) q->t[i] *= q->there;
    w[0] = q->sign * four_choose(q->slides > 0.0, q->t_slip, q->t[0]);
    for (int i = 1; i < 3; i++) w[i] = q->g[i] * q->t[i];
    for (int l = 0; l < PAIRS_AT_ONCE; l++)
      for (int i = 0; i < q->rows[l]; i++) right[q->row[i][l]] += w[i][l];
  }
}

/* How fast the gap changes along d. */
INLINE four NAME(gap_along)(const inside *a, const four *d) {
  return d[0] - NAME(divide)(NAME(dot_t)(a->v, d), NAME(length_t)(a->v));
}

/* Along d: one over the way to the first zero of the determinant, 0 or less if there is none. */
INLINE four NAME(nearness)(const inside *a, const four *d, four gap, four alone) {
  four half = a->gap * d[0] + NAME(length_t)(a->v) * gap, all = NAME(determinant)(a);
  four discriminant = half * half - (d[0] * d[0] - NAME(dot_t)(d, d)) * all;
  four root = ROOT(four_max(discriminant, NONE));
  four of_cone = four_choose(discriminant < 0.0, NONE, (root - half) / all);
  return four_choose(alone > 0.0, -d[0] / a->v[0], of_cone);
}

TARGET static double NAME(spread)(pair_quad *q, int quads, int natural, const double *dx) {
  four nearest = NONE;
  for (const pair_quad *end = q + quads; q < end; q++) {
    four k = q->in_eta * q->in_eta;
    q->dy[0] = q->sign * NAME(gather)(dx, q->row[0]) + q->share * NAME(gather)(dx, q->normal);
    for (int i = 1; i < 3; i++) q->dy[i] = q->g[i] * NAME(gather)(dx, q->row[i]);
    /* H dy, the product u dy first: it is small where u is large */
    four along = 2.0 * (q->turn[0] * q->dy[0] - NAME(dot_t)(q->turn, q->dy));
    four slip = q->slip_row[0] * q->dy[0] + NAME(dot_t)(q->slip_row, q->dy);
    q->dz[0] = q->t[0] - k * (along * q->turn[0] - q->dy[0]);
    for (int i = 1; i < 3; i++) q->dz[i] = q->t[i] - k * (q->dy[i] - along * q->turn[i]);
    four sliding_gap = q->t_slip - slip;
    four sliding = sliding_gap + q->slip[0] * q->dz[1] + q->slip[1] * q->dz[2];
    q->dy_gap = NAME(gap_along)(&q->y, q->dy);
    q->dz_gap = four_choose(q->slides > 0.0, sliding_gap, NAME(gap_along)(&q->z, q->dz));
    q->dz[0] = four_choose(q->slides > 0.0, sliding, q->dz[0]);
    nearest = four_max(NAME(nearness)(&q->y, q->dy, q->dy_gap, q->alone), nearest);
    four of_z = NAME(nearness)(&q->z, q->dz, q->dz_gap, q->alone);
    if (natural) of_z = four_choose(q->slides > 0.0, -q->dz_gap / q->z.gap, of_z);
    nearest = four_max(of_z, nearest);
  }
  return 1.0 / four_largest(nearest);
}

/* |v_t| grows by more than its slope says: the gap shrinks by what the direction turns, unless it
 * is the gap that goes straight on. */
INLINE void NAME(move_inside)(inside *a, const four *d, four gap, double step, four straight) {
  four r = NAME(length_t)(a->v), along = NAME(divide)(NAME(dot_t)(a->v, d), r);
  four across = step * step * four_max(NAME(dot_t)(d, d) - along * along, NONE);
  four ahead = r + step * along;
  for (int i = 0; i < 3; i++) a->v[i] += step * d[i];
  four length = NAME(length_t)(a->v), curve = across / (ROOT(ahead * ahead + across) + ahead);
  four followed = a->gap + step * gap;
  four_bits ordinary = (r > 0.0) & (ahead > 0.0);
  four bent = four_choose(ordinary, followed - curve, a->v[0] - length);
  a->gap = four_choose(straight > 0.0, followed, bent);
  a->gap = four_max(a->gap, LEAST_GAP * a->v[0]);
  a->v[0] = a->gap + length;
}

TARGET static void NAME(move)(pair_quad *q, int quads, int natural, double step) {
  for (const pair_quad *end = q + quads; q < end; q++) {
    NAME(move_inside)(&q->y, q->dy, q->dy_gap, step, NONE);
    NAME(move_inside)(&q->z, q->dz, q->dz_gap, step, natural ? q->slides : NONE);
  }
}

static const pair_kernels NAME(pairs) = {NAME(take_velocities), NAME(scale),
                                         NAME(wish),            NAME(spread),
                                         NAME(product),         NAME(set_second_order),
                                         NAME(balance),         NAME(move)};

#undef INLINE
#undef NONE
