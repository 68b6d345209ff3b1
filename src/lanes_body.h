/* lanes_body.h - the kernels of lanes.h, written once; lanes_kernels.c includes this once per
 * instruction set.
 *
 * The includer defines
 *     NAME(x)    the name of a function in this set
 *     TARGET     its attribute
 *     ROOT(v)    the square roots of four numbers
 *     ANY(mask)  not 0 if a lane of the mask is set
 *
 * All arithmetic is on vectors of four lanes without fused operations: every set gives the same bits.
 * Numbers of rows and segments, and whether there are frames, are arguments of inlined functions, constant
 * in the usual cases. */

#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 8")

/* ---- velocities ------------------------------------------------------------------------------------ */

/* Address of a node; node number `nodes` is the member's own, which holds zeros. */
INLINE double *NAME(node_at)(const lane_run *run, double *nodes, int node, int member) {
  int own = node == run->j->nodes ? member : 0;
  return nodes + (size_t)(node + own) * NODE_ROOM;
}

/* Where the nodes of four blocks are. */
typedef struct NAME(places) {
  double *at[LANES];
} NAME(places);

INLINE NAME(places) NAME(find_nodes)(const lane_run *run, double *nodes, const int *node, int member) {
  return (NAME(places)){{NAME(node_at)(run, nodes, node[0], member), NAME(node_at)(run, nodes, node[1], member),
                         NAME(node_at)(run, nodes, node[2], member), NAME(node_at)(run, nodes, node[3], member)}};
}

INLINE NAME(places) NAME(neighbours)(double *first) {
  return (NAME(places)){{first, first + NODE_ROOM, first + 2 * NODE_ROOM, first + 3 * NODE_ROOM}};
}

/* Four numbers of each of four nodes, turned so that each has its four lanes. */
INLINE void NAME(turn)(four a, four b, four c, four d, four u[4]) {
  four ab0 = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  four cd0 = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd1 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  u[0] = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  u[1] = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  u[2] = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  u[3] = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
}

INLINE void NAME(load_nodes)(NAME(places) p, four u[NODE_SIZE]) {
  NAME(turn)(*(const four *)p.at[0], *(const four *)p.at[1], *(const four *)p.at[2], *(const four *)p.at[3], u);
  pair e = *(const pair *)(p.at[0] + 4), f = *(const pair *)(p.at[1] + 4);
  pair g = *(const pair *)(p.at[2] + 4), h = *(const pair *)(p.at[3] + 4);
  four ef = __builtin_shufflevector(e, f, 0, 2, 1, 3), gh = __builtin_shufflevector(g, h, 0, 2, 1, 3);
  u[4] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5);
  u[5] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
}

INLINE void NAME(store_nodes)(NAME(places) p, const four u[NODE_SIZE]) {
  four back[4];
  NAME(turn)(u[0], u[1], u[2], u[3], back);
  UNROLL for (int l = 0; l < LANES; l++) {
    *(four *)p.at[l] = back[l];
    *(pair *)(p.at[l] + 4) = (pair){u[4][l], u[5][l]};
  }
}

/* v += M^-1 p */
INLINE void NAME(accelerate)(NAME(places) mass, const four p[NODE_SIZE], four v[NODE_SIZE]) {
  four m[NODE_ROOM];
  UNROLL for (int half = 0; half < NODE_ROOM; half += 4)
    NAME(turn)(*(const four *)(mass.at[0] + half), *(const four *)(mass.at[1] + half),
               *(const four *)(mass.at[2] + half), *(const four *)(mass.at[3] + half), m + half);
  UNROLL for (int c = 0; c < 3; c++) v[c] += m[0] * p[c];
  v[3] += m[1] * p[3] + m[2] * p[4] + m[4] * p[5];
  v[4] += m[2] * p[3] + m[3] * p[4] + m[5] * p[5];
  v[5] += m[4] * p[3] + m[5] * p[4] + m[6] * p[5];
}

INLINE NAME(places) NAME(find_masses)(const lane_run *run, const int *node) {
  return NAME(find_nodes)(run, run->j->mass, node, 0);
}

/* out += or, of a contact's second node, -= */
INLINE void NAME(add)(four *out, four value, const int s) { *out = s ? *out - value : *out + value; }

/* The velocity of node s at the contact. */
INLINE void NAME(point_velocity)(const four *q, const four u[NODE_SIZE], const int s, four speed[3]) {
  const four *lever = q + FRAME_SIZE + 3 * s;
  NAME(add)(&speed[0], u[0] + (u[4] * lever[2] - u[5] * lever[1]), s);
  NAME(add)(&speed[1], u[1] + (u[5] * lever[0] - u[3] * lever[2]), s);
  NAME(add)(&speed[2], u[2] + (u[3] * lever[1] - u[4] * lever[0]), s);
}

INLINE void NAME(frame_rows)(const four *q, const four speed[3], four *y) {
  UNROLL for (int r = 0; r < BLOCK_ROWS; r++)
    y[r] += q[3 * r] * speed[0] + q[3 * r + 1] * speed[1] + q[3 * r + 2] * speed[2];
}

/* y += J_s u */
INLINE void NAME(rows_of)(const four *q, const four u[NODE_SIZE], const int rows, four *y) {
  UNROLL for (int r = 0; r < rows; r++) {
    const four *row = q + r * NODE_SIZE;
    four even = row[0] * u[0] + row[2] * u[2] + row[4] * u[4];
    four odd = row[1] * u[1] + row[3] * u[3] + row[5] * u[5];
    y[r] += even + odd;
  }
}

/* p += J_s' x */
INLINE void NAME(push)(const four *q, const four *x, const int s, const int rows, const int frames,
                       four p[NODE_SIZE]) {
  if (!frames) {
    q += s * rows * NODE_SIZE;
    UNROLL for (int r = 0; r < rows; r++)
      UNROLL for (int c = 0; c < NODE_SIZE; c++) p[c] += q[r * NODE_SIZE + c] * x[r];
    return;
  }
  const four *lever = q + FRAME_SIZE + 3 * s;
  four f[3];
  UNROLL for (int c = 0; c < 3; c++) {
    f[c] = q[c] * x[0] + q[3 + c] * x[1] + q[6 + c] * x[2];
    NAME(add)(&p[c], f[c], s);
  }
  NAME(add)(&p[3], lever[1] * f[2] - lever[2] * f[1], s);
  NAME(add)(&p[4], lever[2] * f[0] - lever[0] * f[2], s);
  NAME(add)(&p[5], lever[0] * f[1] - lever[1] * f[0], s);
}

/* y += J u of a group's rows; u is handed out where there are no more than two segments. */
INLINE void NAME(add_product)(const lane_run *run, const lane_group *g, int member, const int rows,
                              const int segments, const int frames, four (*u)[NODE_SIZE], four *y) {
  const four *q = (const four *)(run->j->q + g->q);
  const int *node = run->j->node + g->node;
  four speed[3] = {{0}, {0}, {0}};
  UNROLL for (int s = 0; s < segments; s++) {
    four *v = u[segments <= 2 ? s : 0];
    NAME(load_nodes)(NAME(find_nodes)(run, run->state, node + s * LANES, member), v);
    if (frames) NAME(point_velocity)(q, v, s, speed);
    else NAME(rows_of)(q + s * rows * NODE_SIZE, v, rows, y);
  }
  if (frames) NAME(frame_rows)(q, speed, y);
}

/* A x of a group's rows. */
INLINE void NAME(product)(const lane_run *run, const lane_group *g, int member, const four *x,
                          const int rows, const int segments, const int frames, four *Ax) {
  const four *cfm = (const four *)run->j->cfm + g->first;
  four u[2][NODE_SIZE];
  UNROLL for (int r = 0; r < rows; r++) Ax[r] = cfm[r] * x[r];
  NAME(add_product)(run, g, member, rows, segments, frames, u, Ax);
}

/* The momentum that x brings about. */
INLINE void NAME(push_all)(const lane_run *run, const lane_group *g, int member, const four *x,
                           const int rows, const int segments, const int frames) {
  const four *q = (const four *)(run->j->q + g->q);
  const int *node = run->j->node + g->node;
  UNROLL for (int s = 0; s < segments; s++) {
    NAME(places) at = NAME(find_nodes)(run, run->momentum, node + s * LANES, member);
    four p[NODE_SIZE];
    NAME(load_nodes)(at, p);
    NAME(push)(q, x, s, rows, frames, p);
    NAME(store_nodes)(at, p);
  }
}

/* ---- sets ------------------------------------------------------------------------------------------ */

INLINE four NAME(pick)(mask when, four a, four b) { return (four)((when & (mask)a) | (~when & (mask)b)); }
INLINE four NAME(absolute)(four a) { return (four)((mask)a & ~(mask)(-(four){0, 0, 0, 0})); }
INLINE four NAME(larger)(four a, four b) { return NAME(pick)(a > b, a, b); }
INLINE four NAME(smaller)(four a, four b) { return NAME(pick)(a < b, a, b); }

/* The larger one; a NaN stays. */
INLINE four NAME(worse)(four worst, four v) { return NAME(pick)(~(v <= worst) & (worst == worst), v, worst); }

/* mu |x_n|, and 0 without a normal force whatever mu is. */
INLINE four NAME(friction_bound)(four mu, four normal) {
  four zero = {0, 0, 0, 0};
  return NAME(pick)((normal == zero) | (mu == zero), zero, NAME(absolute)(mu * normal));
}

/* The bounds of a group's rows; those of rows whose normal is in another block, by the forces x, are
 * final. */
INLINE void NAME(load_bounds)(const lane_run *run, const lane_group *g, lane_kind kind, const double *x,
                              const int rows, four *lo, four *hi) {
  const lane_model *lm = run->lm;
  UNROLL for (int r = 0; r < rows; r++) {
    lo[r] = ((const four *)lm->lo)[g->first + r];
    hi[r] = ((const four *)lm->hi)[g->first + r];
  }
  if (kind != LANE_COUPLED || !lm->normal) return;
  for (int r = 0; r < rows; r++)
    for (int l = 0; l < LANES; l++) {
      int element = (g->first + r) * LANES + l, normal = lm->normal[element];
      if (normal < 0) continue;
      hi[r][l] = lcplug_friction_bound(lm->mu[element], x[normal]);
      lo[r][l] = -hi[r][l];
    }
}

/* Gives rows that are coupled to the first of their block the bounds that belong to its force. */
INLINE void NAME(couple)(const lane_run *run, const lane_group *g, int r, four normal, four *lo, four *hi) {
  const lane_model *lm = run->lm;
  four mu = ((const four *)lm->mu)[g->first + r], bound = NAME(friction_bound)(mu, normal);
  mask here = mu >= (four){0, 0, 0, 0};
  for (int l = 0; lm->normal && l < LANES; l++)
    if (lm->normal[(g->first + r) * LANES + l] >= 0) here[l] = 0;
  *hi = NAME(pick)(here, bound, *hi);
  *lo = NAME(pick)(here, -bound, *lo);
}

INLINE four NAME(clip)(four q, four lo, four hi) { return NAME(smaller)(NAME(larger)(q, lo), hi); }

/* Onto circular cones mu x_n >= |x_t|: inside stays, the polar cone goes to 0, the rest to the nearest
 * ray. */
INLINE void NAME(project_cone)(const four *of_mu, four q[BLOCK_ROWS]) {
  const four mu = *of_mu, zero = {0, 0, 0, 0}, one = {1, 1, 1, 1};
  four t = ROOT(q[1] * q[1] + q[2] * q[2]);
  mask outside = t > mu * q[0], polar = mu * t <= -q[0];
  if (!ANY(outside | polar)) return;
  four length = (q[0] + mu * t) / (one + mu * mu);
  four n = NAME(pick)(polar, zero, NAME(pick)(outside, length, q[0]));
  four stretch = NAME(pick)(polar, zero, NAME(pick)(outside, mu * length / NAME(pick)(t > zero, t, one), one));
  q[0] = n;
  q[1] *= stretch;
  q[2] *= stretch;
}

/* The set of one lane of a group of cones. */
INLINE force_set NAME(lane_set)(const lane_run *run, const lane_group *g, int lane) {
  const double *mu = run->lm->mu + g->first * LANES + lane;
  return (force_set){.kind = mu[LANES] == mu[2 * LANES] ? SET_CONE : SET_ELLIPSE,
                     .rows = BLOCK_ROWS,
                     .mu = {mu[LANES], mu[2 * LANES]}};
}

INLINE void NAME(project_ellipse)(const lane_run *run, const lane_group *g, four q[BLOCK_ROWS]) {
  for (int l = 0; l < LANES; l++) {
    if (run->lm->mu[(g->first + 1) * LANES + l] < 0.0) continue; /* no block here */
    force_set set = NAME(lane_set)(run, g, l);
    double p[BLOCK_ROWS] = {q[0][l], q[1][l], q[2][l]};
    lcplug_project(&set, p, p);
    for (int r = 0; r < BLOCK_ROWS; r++) q[r][l] = p[r];
  }
}

INLINE void NAME(project_any_cone)(const lane_run *run, const lane_group *g, lane_kind kind,
                                   four q[BLOCK_ROWS]) {
  if (kind == LANE_ELLIPSE) NAME(project_ellipse)(run, g, q);
  else NAME(project_cone)((const four *)run->lm->mu + g->first + 1, q);
}

/* De Saxce's term. */
INLINE four NAME(slip)(const lane_run *run, const lane_group *g, const four *w) {
  const four *mu = (const four *)run->lm->mu + g->first;
  four s1 = mu[1] * w[1], s2 = mu[2] * w[2];
  return ROOT(s1 * s1 + s2 * s2);
}

/* ---- relaxing a block ------------------------------------------------------------------------------ */

INLINE void NAME(symmetric)(const four *a, const four *v, const int rows, four *y) {
  y[0] = a[0] * v[0];
  if (rows == 1) return;
  y[0] += a[1] * v[1] + a[3] * v[2];
  y[1] = a[1] * v[0] + a[2] * v[1] + a[4] * v[2];
  y[2] = a[3] * v[0] + a[4] * v[1] + a[5] * v[2];
}

/* Element (r, c) of a symmetric block. */
INLINE four NAME(at)(const four *a, int r, int c) { return r >= c ? a[r * (r + 1) / 2 + c] : a[c * (c + 1) / 2 + r]; }

/* One row after the other within its bounds, the others held; w follows. */
INLINE void NAME(relax_rows)(const lane_run *run, const lane_group *g, lane_kind kind, const four *a,
                             const int rows, const four *lo, const four *hi, four *x, four *w) {
  four step[BLOCK_ROWS]; /* divisions are slow: ahead of the rounds that wait for each other */
  UNROLL for (int r = 0; r < rows; r++) step[r] = run->omega / NAME(at)(a, r, r);
  for (int round = 0; round < ROW_ROUNDS; round++)
    UNROLL for (int r = 0; r < rows; r++) {
      four low = lo[r], high = hi[r];
      if (kind == LANE_COUPLED && r) NAME(couple)(run, g, r, x[0], &low, &high);
      four next = NAME(clip)(x[r] - step[r] * w[r], low, high), d = next - x[r];
      x[r] = next;
      UNROLL for (int i = 0; i < rows; i++) w[i] += NAME(at)(a, i, r) * d;
    }
}

/* Coulomb's law in turns: the normal that ends the approach, then the friction that ends the slip, or
 * as much of it as the disc allows. */
INLINE void NAME(relax_coulomb)(const lane_run *run, const lane_group *g, const four *a, four *x, four *w) {
  const four zero = {0, 0, 0, 0}, one = {1, 1, 1, 1};
  four mu = ((const four *)run->lm->mu)[g->first + 1];
  four step = one / (NAME(larger)(a[2], a[5]) + NAME(absolute)(a[4])), normal_step = one / a[0];
  for (int round = 0; round < CONE_ROUNDS; round++) {
    four n = NAME(larger)(x[0] - w[0] * normal_step, zero), d = n - x[0];
    x[0] = n;
    w[0] += a[0] * d, w[1] += a[1] * d, w[2] += a[3] * d;
    four t1 = x[1] - w[1] * step, t2 = x[2] - w[2] * step, t = ROOT(t1 * t1 + t2 * t2);
    four part = NAME(pick)(t > mu * n, mu * n / NAME(pick)(t > zero, t, one), one);
    four d1 = part * t1 - x[1], d2 = part * t2 - x[2];
    x[1] += d1, x[2] += d2;
    w[0] += a[1] * d1 + a[3] * d2;
    w[1] += a[2] * d1 + a[4] * d2;
    w[2] += a[4] * d1 + a[5] * d2;
  }
}

/* Projected gradient steps on the block; the only way that ellipses have, with or without De Saxce. */
INLINE void NAME(relax_cone)(const lane_run *run, const lane_group *g, lane_kind kind, const four *a,
                             four *x, four *w) {
  four stiff = NAME(larger)(a[0] + NAME(absolute)(a[1]) + NAME(absolute)(a[3]),
                            NAME(larger)(a[2] + NAME(absolute)(a[1]) + NAME(absolute)(a[4]),
                                         a[5] + NAME(absolute)(a[3]) + NAME(absolute)(a[4])));
  for (int round = 0; round < CONE_ROUNDS; round++) {
    four q[BLOCK_ROWS] = {x[0] - w[0] / stiff, x[1] - w[1] / stiff, x[2] - w[2] / stiff};
    if (run->coulomb) q[0] -= NAME(slip)(run, g, w) / stiff;
    NAME(project_any_cone)(run, g, kind, q);
    four d[BLOCK_ROWS], Ad[BLOCK_ROWS];
    UNROLL for (int r = 0; r < BLOCK_ROWS; r++) d[r] = q[r] - x[r], x[r] = q[r];
    NAME(symmetric)(a, d, BLOCK_ROWS, Ad);
    UNROLL for (int r = 0; r < BLOCK_ROWS; r++) w[r] += Ad[r];
  }
}

INLINE mask NAME(in_cone)(const lane_run *run, const lane_group *g, const four *q) {
  const four *mu = (const four *)run->lm->mu + g->first;
  four t1 = q[1] * mu[2], t2 = q[2] * mu[1], n = q[0] * mu[1] * mu[2];
  return (n >= (four){0, 0, 0, 0}) & (t1 * t1 + t2 * t2 <= n * n);
}

/* The force of least w for the block alone.  Without bounds in the way that is one step with the
 * inverse of A_BB; only lanes where it leaves the set go on. */
INLINE void NAME(relax)(const lane_run *run, const lane_group *g, lane_kind kind, const int rows,
                        four *x, four *w) {
  const four *a = (const four *)(run->j->local + g->local), *inverse = a + (rows > 1 ? LOCAL_SIZE : 1);
  four free[BLOCK_ROWS], lo[BLOCK_ROWS], hi[BLOCK_ROWS];
  NAME(symmetric)(inverse, w, rows, free);
  UNROLL for (int r = 0; r < rows; r++) free[r] = x[r] - run->omega * free[r];
  mask inside = ~(mask){0, 0, 0, 0};
  int cone = rows > 1 && (kind == LANE_CONE || kind == LANE_ELLIPSE);
  if (cone) {
    inside = NAME(in_cone)(run, g, free);
  } else {
    NAME(load_bounds)(run, g, kind, run->x, rows, lo, hi);
    UNROLL for (int r = 0; r < rows; r++) {
      four low = lo[r], high = hi[r];
      if (kind == LANE_COUPLED && r) NAME(couple)(run, g, r, free[0], &low, &high);
      inside &= (free[r] >= low) & (free[r] <= high);
    }
  }
  if (ANY(~inside)) {
    four start[BLOCK_ROWS];
    UNROLL for (int r = 0; r < rows; r++) start[r] = x[r];
    if (!cone) NAME(relax_rows)(run, g, kind, a, rows, lo, hi, x, w);
    else if (run->coulomb && kind == LANE_CONE) NAME(relax_coulomb)(run, g, a, x, w);
    else NAME(relax_cone)(run, g, kind, a, x, w);
    if (cone && run->omega != 1.0) {
      UNROLL for (int r = 0; r < rows; r++) x[r] = start[r] + run->omega * (x[r] - start[r]);
      if (run->omega > 1.0) NAME(project_any_cone)(run, g, kind, x);
    }
  }
  UNROLL for (int r = 0; r < rows; r++) x[r] = NAME(pick)(inside, free[r], x[r]);
}

/* For up to two segments, which is all that bodies need, the velocities stay at hand. */
INLINE void NAME(sweep_group)(const lane_run *run, const lane_group *g, lane_kind kind, int member,
                              const int rows, const int segments, const int frames) {
  const four *q = (const four *)(run->j->q + g->q), *cfm = (const four *)run->j->cfm + g->first;
  const four *b = (const four *)run->lm->b + g->first;
  const int *node = run->j->node + g->node;
  four *x_out = (four *)run->x + g->first, u[2][NODE_SIZE];
  four x[BLOCK_ROWS], w[BLOCK_ROWS], d[BLOCK_ROWS];
  UNROLL for (int r = 0; r < rows; r++) x[r] = x_out[r], w[r] = cfm[r] * x[r] - b[r];
  NAME(add_product)(run, g, member, rows, segments, frames, u, w);
  NAME(relax)(run, g, kind, rows, x, w);
  UNROLL for (int r = 0; r < rows; r++) d[r] = x[r] - x_out[r], x_out[r] = x[r];
  UNROLL for (int s = 0; s < segments; s++) {
    NAME(places) at = NAME(find_nodes)(run, run->state, node + s * LANES, member);
    four p[NODE_SIZE] = {{0}, {0}, {0}, {0}, {0}, {0}}, *v = u[segments <= 2 ? s : 0];
    if (segments > 2) NAME(load_nodes)(at, v);
    NAME(push)(q, d, s, rows, frames, p);
    NAME(accelerate)(NAME(find_masses)(run, node + s * LANES), p, v);
    NAME(store_nodes)(at, v);
  }
}

static const lane_sums NAME(no_sums) = {0, 0, 0, 0};

/* Calls act(rows, segments, frames) with constants where there are usual ones. */
#define BY_SHAPE(g, act)                                                                           \
  do {                                                                                             \
    if ((g)->frames && (g)->segments == 2) act(BLOCK_ROWS, 2, 1);                                  \
    else if ((g)->frames) act(BLOCK_ROWS, 1, 1);                                                   \
    else if ((g)->rows > 1 && (g)->segments == 2) act(BLOCK_ROWS, 2, 0);                           \
    else if ((g)->rows > 1 && (g)->segments == 1) act(BLOCK_ROWS, 1, 0);                           \
    else if ((g)->rows > 1) act(BLOCK_ROWS, (g)->segments, 0);                                     \
    else if ((g)->segments == 2) act(1, 2, 0);                                                     \
    else if ((g)->segments == 1) act(1, 1, 0);                                                     \
    else act(1, (g)->segments, 0);                                                                 \
  } while (0)

TARGET static lane_sums NAME(sweep)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    lane_kind kind = run->lm->kind[k];
#define ACT(rows, segments, frames) NAME(sweep_group)(run, g, kind, member, rows, segments, frames)
    BY_SHAPE(g, ACT);
#undef ACT
  }
  return NAME(no_sums);
}

TARGET static lane_sums NAME(scatter)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    const four *x = (const four *)run->x + g->first;
#define ACT(rows, segments, frames) NAME(push_all)(run, g, member, x, rows, segments, frames)
    BY_SHAPE(g, ACT);
#undef ACT
  }
  return NAME(no_sums);
}

TARGET static lane_sums NAME(gather)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    const four *x = (const four *)run->x + g->first;
    four *Ax = (four *)run->Ax + g->first;
#define ACT(rows, segments, frames) NAME(product)(run, g, member, x, rows, segments, frames, Ax)
    BY_SHAPE(g, ACT);
#undef ACT
  }
  return NAME(no_sums);
}

/* ---- judging ---------------------------------------------------------------------------------------- */

/* The largest s_i |F_i(x)| of a group's blocks, as model.c defines it. */
INLINE four NAME(violation)(const lane_run *run, const lane_group *g, lane_kind kind, const int rows,
                            const double *all_x, const four *x, const four *w) {
  const four *scale = (const four *)run->lm->scale + g->first;
  four worst = {0, 0, 0, 0};
  if (rows > 1 && (kind == LANE_CONE || kind == LANE_ELLIPSE)) {
    four q[BLOCK_ROWS], far = {0, 0, 0, 0};
    UNROLL for (int r = 0; r < BLOCK_ROWS; r++) q[r] = scale[r] * x[r] - w[r];
    if (run->coulomb) q[0] -= NAME(slip)(run, g, w);
    NAME(project_any_cone)(run, g, kind, q);
    UNROLL for (int r = 0; r < BLOCK_ROWS; r++) {
      four d = scale[r] * x[r] - q[r];
      far += d * d;
    }
    return ROOT(far);
  }
  four lo[BLOCK_ROWS], hi[BLOCK_ROWS];
  NAME(load_bounds)(run, g, kind, all_x, rows, lo, hi);
  UNROLL for (int r = 0; r < rows; r++) {
    if (kind == LANE_COUPLED && r) NAME(couple)(run, g, r, x[0], &lo[r], &hi[r]);
    four q = x[r] - w[r] / scale[r], p = NAME(clip)(q, lo[r], hi[r]);
    four v = NAME(pick)(p == q, NAME(absolute)(w[r]), scale[r] * NAME(absolute)(x[r] - p));
    worst = NAME(worse)(worst, v);
  }
  return worst;
}

INLINE double NAME(largest)(four v, double worst) {
  for (int l = 0; l < LANES; l++)
    if (!(v[l] <= worst)) worst = v[l] <= DBL_MAX ? v[l] : INFINITY;
  return worst;
}

INLINE four NAME(judge_group)(const lane_run *run, const lane_group *g, lane_kind kind, int member,
                              const int rows, const int segments, const int frames) {
  const four *b = (const four *)run->lm->b + g->first, *x = (const four *)run->x + g->first;
  four w[BLOCK_ROWS];
  NAME(product)(run, g, member, x, rows, segments, frames, w);
  UNROLL for (int r = 0; r < rows; r++) w[r] -= b[r];
  return NAME(violation)(run, g, kind, rows, run->x, x, w);
}

TARGET static lane_sums NAME(worst)(const lane_run *run, int begin, int end, int member) {
  double worst = 0.0;
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    lane_kind kind = run->lm->kind[k];
    four v;
#define ACT(rows, segments, frames) v = NAME(judge_group)(run, g, kind, member, rows, segments, frames)
    BY_SHAPE(g, ACT);
#undef ACT
    worst = NAME(largest)(v, worst);
  }
  return (lane_sums){.worst = worst};
}

/* ---- gradient steps ---------------------------------------------------------------------------------- */

/* Moves De Saxce's term or the bounds of coupled rows a part of the way to those of x1. */
INLINE void NAME(follow)(const lane_run *run, const lane_group *g, lane_kind kind, int k, const int rows,
                         const four *x1, const four *w1) {
  if (kind == LANE_CONE || kind == LANE_ELLIPSE) {
    if (!run->coulomb || rows == 1) return;
    four *shift = (four *)run->shift + k;
    *shift += run->follow * (NAME(slip)(run, g, w1) - *shift);
    return;
  }
  if (kind != LANE_COUPLED) return;
  for (int r = 0; r < rows; r++)
    for (int l = 0; l < LANES; l++) {
      int element = (g->first + r) * LANES + l;
      double mu = run->lm->mu[element];
      if (mu < 0.0) continue;
      int outside = run->lm->normal ? run->lm->normal[element] : -1;
      double normal = outside >= 0 ? run->x1[outside] : x1[0][l];
      double before = run->lm->hi[element], bound = lcplug_friction_bound(mu, normal);
      if (before < INFINITY && bound < INFINITY) bound = before + run->follow * (bound - before);
      run->lm->hi[element] = bound;
      run->lm->lo[element] = -bound;
    }
}

/* Sums of four lanes each, kept apart until the end. */
typedef struct NAME(lane_totals) {
  four curvature, length, slope, worst;
} NAME(lane_totals);

INLINE double NAME(sum)(four v) { return (v[0] + v[1]) + (v[2] + v[3]); }

INLINE lane_sums NAME(sums_of)(const NAME(lane_totals) * t) {
  return (lane_sums){NAME(sum)(t->curvature), NAME(sum)(t->length), NAME(sum)(t->slope),
                     NAME(largest)(t->worst, 0.0)};
}

/* x = P(y - gradient / (L s)) of a group. */
INLINE void NAME(project_step)(const lane_run *run, const lane_group *g, lane_kind kind, const int rows,
                               const four *y, const four *gradient, four *x) {
  const four *scale = (const four *)run->lm->scale + g->first;
  int cone = rows > 1 && (kind == LANE_CONE || kind == LANE_ELLIPSE);
  four step = run->lipschitz_inverse / scale[0];
  UNROLL for (int r = 0; r < rows; r++) {
    if (r && !cone) step = run->lipschitz_inverse / scale[r];
    x[r] = y[r] - gradient[r] * step;
  }
  if (cone) {
    NAME(project_any_cone)(run, g, kind, x);
    return;
  }
  const four *lo = (const four *)run->lm->lo + g->first, *hi = (const four *)run->lm->hi + g->first;
  UNROLL for (int r = 0; r < rows; r++) x[r] = NAME(clip)(x[r], lo[r], hi[r]);
}

INLINE void NAME(step_group)(const lane_run *run, int k, int member, const int rows, const int segments,
                             const int frames, NAME(lane_totals) * t) {
  const lane_group *g = &run->j->group[k];
  lane_kind kind = run->lm->kind[k];
  const four *scale = (const four *)run->lm->scale + g->first, *b = (const four *)run->lm->b + g->first;
  const four *cfm = (const four *)run->j->cfm + g->first, *Ax2 = (const four *)run->Ax2 + g->first;
  const four *old1 = (const four *)run->x1 + g->first, *old2 = (const four *)run->x2 + g->first;
  four *next = (four *)run->x + g->first, *Ax = (four *)run->Ax + g->first;
  four x1[BLOCK_ROWS], Ax1[BLOCK_ROWS], w1[BLOCK_ROWS], y[BLOCK_ROWS], gradient[BLOCK_ROWS], x[BLOCK_ROWS];
  UNROLL for (int r = 0; r < rows; r++) x1[r] = old1[r];
  NAME(product)(run, g, member, x1, rows, segments, frames, Ax1);
  UNROLL for (int r = 0; r < rows; r++) w1[r] = Ax1[r] - b[r];
  four v = NAME(violation)(run, g, kind, rows, run->x1, x1, w1);
  t->worst = NAME(worse)(t->worst, v);
  if (run->follow > 0.0) NAME(follow)(run, g, kind, k, rows, x1, w1);
  UNROLL for (int r = 0; r < rows; r++) {
    y[r] = x1[r] + run->beta * (x1[r] - old2[r]);
    gradient[r] = w1[r] + run->beta * (Ax1[r] - Ax2[r]);
    Ax[r] = Ax1[r];
  }
  if (run->coulomb) gradient[0] += ((const four *)run->shift)[k];
  NAME(project_step)(run, g, kind, rows, y, gradient, x);
  UNROLL for (int r = 0; r < rows; r++) {
    four d = x[r] - y[r], dd = d * d;
    t->curvature += cfm[r] * dd;
    t->length += scale[r] * dd;
    t->slope += gradient[r] * (x[r] - x1[r]);
    next[r] = x[r];
  }
  NAME(push_all)(run, g, member, x, rows, segments, frames);
}

TARGET static lane_sums NAME(step)(const lane_run *run, int begin, int end, int member) {
  NAME(lane_totals) t = {{0}, {0}, {0}, {0}};
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
#define ACT(rows, segments, frames) NAME(step_group)(run, k, member, rows, segments, frames, &t)
    BY_SHAPE(g, ACT);
#undef ACT
  }
  return NAME(sums_of)(&t);
}

/* Four nodes at a time; those beyond the last have no mass. */
TARGET static lane_sums NAME(settle)(const lane_run *run, int begin, int end, int member) {
  NAME(lane_totals) t = {{0}, {0}, {0}, {0}};
  (void)member;
  for (int k = begin; k < end; k += LANES) {
    size_t at = (size_t)k * NODE_ROOM;
    four p[NODE_SIZE], v[NODE_SIZE] = {{0}, {0}, {0}, {0}, {0}, {0}};
    NAME(places) mass = NAME(neighbours)(run->j->mass + at);
    NAME(load_nodes)(NAME(neighbours)(run->momentum + at), p);
    NAME(accelerate)(mass, p, v);
    NAME(store_nodes)(NAME(neighbours)(run->after + at), v);
    if (!run->momentum1) continue;
    four p1[NODE_SIZE], p2[NODE_SIZE], dv[NODE_SIZE] = {{0}, {0}, {0}, {0}, {0}, {0}};
    NAME(load_nodes)(NAME(neighbours)((double *)run->momentum1 + at), p1);
    NAME(load_nodes)(NAME(neighbours)((double *)run->momentum2 + at), p2);
    UNROLL for (int c = 0; c < NODE_SIZE; c++) p[c] -= p1[c] + run->beta * (p1[c] - p2[c]);
    NAME(accelerate)(mass, p, dv);
    UNROLL for (int c = 0; c < NODE_SIZE; c++) t.curvature += p[c] * dv[c];
  }
  return NAME(sums_of)(&t);
}

static const lane_kernels NAME(table) = {NAME(sweep),  NAME(worst), NAME(scatter),
                                         NAME(gather), NAME(step),  NAME(settle)};

#undef BY_SHAPE
#undef UNROLL
#undef INLINE
