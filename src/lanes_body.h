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
 * Numbers of rows and segments are arguments of inlined functions, constant in the usual cases. */

#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 8")

/* ---- velocities ------------------------------------------------------------------------------------ */

/* Address of a node; node number `nodes` is the member's own, which holds zeros. */
INLINE double *NAME(node_at)(const lane_run *run, int node, int member) {
  int own = node == run->j->nodes ? member : 0;
  return run->state + (size_t)(node + own) * NODE_ROOM;
}

/* The nodes of four blocks, turned so that each of the six numbers has its four lanes. */
INLINE void NAME(load_nodes)(const lane_run *run, const int *node, int member, four u[NODE_SIZE]) {
  const double *p0 = NAME(node_at)(run, node[0], member), *p1 = NAME(node_at)(run, node[1], member);
  const double *p2 = NAME(node_at)(run, node[2], member), *p3 = NAME(node_at)(run, node[3], member);
  four a = *(const four *)p0, b = *(const four *)p1, c = *(const four *)p2, d = *(const four *)p3;
  four ab0 = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  four cd0 = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd1 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  u[0] = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  u[1] = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  u[2] = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  u[3] = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
  pair e = *(const pair *)(p0 + 4), f = *(const pair *)(p1 + 4);
  pair g = *(const pair *)(p2 + 4), h = *(const pair *)(p3 + 4);
  four ef = __builtin_shufflevector(e, f, 0, 2, 1, 3), gh = __builtin_shufflevector(g, h, 0, 2, 1, 3);
  u[4] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5);
  u[5] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
}

INLINE void NAME(store_nodes)(const lane_run *run, const int *node, int member,
                              const four u[NODE_SIZE]) {
  double *p0 = NAME(node_at)(run, node[0], member), *p1 = NAME(node_at)(run, node[1], member);
  double *p2 = NAME(node_at)(run, node[2], member), *p3 = NAME(node_at)(run, node[3], member);
  four ab0 = __builtin_shufflevector(u[0], u[1], 0, 4, 2, 6);
  four ab1 = __builtin_shufflevector(u[0], u[1], 1, 5, 3, 7);
  four cd0 = __builtin_shufflevector(u[2], u[3], 0, 4, 2, 6);
  four cd1 = __builtin_shufflevector(u[2], u[3], 1, 5, 3, 7);
  *(four *)p0 = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  *(four *)p1 = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  *(four *)p2 = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  *(four *)p3 = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
  *(pair *)(p0 + 4) = (pair){u[4][0], u[5][0]};
  *(pair *)(p1 + 4) = (pair){u[4][1], u[5][1]};
  *(pair *)(p2 + 4) = (pair){u[4][2], u[5][2]};
  *(pair *)(p3 + 4) = (pair){u[4][3], u[5][3]};
}

/* y += Q_s u */
INLINE void NAME(rows_of)(const four *q, const four u[NODE_SIZE], const int rows, four *y) {
  UNROLL for (int r = 0; r < rows; r++) {
    const four *row = q + r * NODE_SIZE;
    four even = row[0] * u[0] + row[2] * u[2] + row[4] * u[4];
    four odd = row[1] * u[1] + row[3] * u[3] + row[5] * u[5];
    y[r] += even + odd;
  }
}

/* u += Q_s' x */
INLINE void NAME(push)(const four *q, const four *x, const int rows, four u[NODE_SIZE]) {
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int c = 0; c < NODE_SIZE; c++) u[c] += q[r * NODE_SIZE + c] * x[r];
}

/* A x of a group's rows. */
INLINE void NAME(product)(const lane_run *run, const lane_group *g, int member, const four *x,
                          const int rows, const int segments, four *Ax) {
  const four *q = (const four *)(run->j->q + g->q), *cfm = (const four *)run->j->cfm + g->first;
  const int *node = run->j->node + g->node;
  UNROLL for (int r = 0; r < rows; r++) Ax[r] = cfm[r] * x[r];
  for (int s = 0; s < segments; s++) {
    four u[NODE_SIZE];
    NAME(load_nodes)(run, node + s * LANES, member, u);
    NAME(rows_of)(q + s * rows * NODE_SIZE, u, rows, Ax);
  }
}

/* The velocities that x brings about. */
INLINE void NAME(push_all)(const lane_run *run, const lane_group *g, int member, const four *x,
                           const int rows, const int segments) {
  const four *q = (const four *)(run->j->q + g->q);
  const int *node = run->j->node + g->node;
  for (int s = 0; s < segments; s++) {
    four u[NODE_SIZE];
    NAME(load_nodes)(run, node + s * LANES, member, u);
    NAME(push)(q + s * rows * NODE_SIZE, x, rows, u);
    NAME(store_nodes)(run, node + s * LANES, member, u);
  }
}

/* ---- sets ------------------------------------------------------------------------------------------ */

INLINE four NAME(pick)(mask when, four a, four b) { return (four)((when & (mask)a) | (~when & (mask)b)); }
INLINE four NAME(absolute)(four a) { return (four)((mask)a & ~(mask)(-(four){0, 0, 0, 0})); }
INLINE four NAME(larger)(four a, four b) { return NAME(pick)(a > b, a, b); }
INLINE four NAME(smaller)(four a, four b) { return NAME(pick)(a < b, a, b); }

/* mu |x_n|, and 0 without a normal force whatever mu is. */
INLINE four NAME(friction_bound)(four mu, four normal) {
  four zero = {0, 0, 0, 0};
  return NAME(pick)((normal == zero) | (mu == zero), zero, NAME(absolute)(mu * normal));
}

/* The bounds of a group's rows; those of rows whose normal is in another block are final. */
INLINE void NAME(load_bounds)(const lane_run *run, const lane_group *g, lane_kind kind,
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
      hi[r][l] = lcplug_friction_bound(lm->mu[element], run->x[normal]);
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
  for (int round = 0; round < ROW_ROUNDS; round++)
    UNROLL for (int r = 0; r < rows; r++) {
      four low = lo[r], high = hi[r];
      if (kind == LANE_COUPLED && r) NAME(couple)(run, g, r, x[0], &low, &high);
      four next = NAME(clip)(x[r] - run->omega * w[r] / NAME(at)(a, r, r), low, high), d = next - x[r];
      x[r] = next;
      UNROLL for (int i = 0; i < rows; i++) w[i] += NAME(at)(a, i, r) * d;
    }
}

/* Coulomb's law in turns: the normal that ends the approach, then the friction that ends the slip, or
 * as much of it as the disc allows. */
INLINE void NAME(relax_coulomb)(const lane_run *run, const lane_group *g, const four *a, four *x, four *w) {
  const four zero = {0, 0, 0, 0}, one = {1, 1, 1, 1};
  four mu = ((const four *)run->lm->mu)[g->first + 1];
  four stiff = NAME(larger)(a[2], a[5]) + NAME(absolute)(a[4]);
  for (int round = 0; round < CONE_ROUNDS; round++) {
    four n = NAME(larger)(x[0] - w[0] / a[0], zero), d = n - x[0];
    x[0] = n;
    w[0] += a[0] * d, w[1] += a[1] * d, w[2] += a[3] * d;
    four t1 = x[1] - w[1] / stiff, t2 = x[2] - w[2] / stiff, t = ROOT(t1 * t1 + t2 * t2);
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
    NAME(load_bounds)(run, g, kind, rows, lo, hi);
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

/* For up to two segments, which is all that bodies need, the velocities stay in registers. */
INLINE void NAME(sweep_group)(const lane_run *run, const lane_group *g, lane_kind kind, int member,
                              const int rows, const int segments) {
  const four *q = (const four *)(run->j->q + g->q), *cfm = (const four *)run->j->cfm + g->first;
  const four *b = (const four *)run->lm->b + g->first;
  const int *node = run->j->node + g->node;
  four *x_out = (four *)run->x + g->first, u[2][NODE_SIZE];
  four x[BLOCK_ROWS], w[BLOCK_ROWS], d[BLOCK_ROWS];
  UNROLL for (int r = 0; r < rows; r++) x[r] = x_out[r], w[r] = cfm[r] * x[r] - b[r];
  if (segments <= 2) {
    UNROLL for (int s = 0; s < segments; s++) {
      NAME(load_nodes)(run, node + s * LANES, member, u[s]);
      NAME(rows_of)(q + s * rows * NODE_SIZE, u[s], rows, w);
    }
  } else {
    NAME(product)(run, g, member, x, rows, segments, w);
    UNROLL for (int r = 0; r < rows; r++) w[r] -= b[r];
  }
  NAME(relax)(run, g, kind, rows, x, w);
  UNROLL for (int r = 0; r < rows; r++) d[r] = x[r] - x_out[r], x_out[r] = x[r];
  if (segments <= 2) {
    UNROLL for (int s = 0; s < segments; s++) {
      NAME(push)(q + s * rows * NODE_SIZE, d, rows, u[s]);
      NAME(store_nodes)(run, node + s * LANES, member, u[s]);
    }
  } else {
    NAME(push_all)(run, g, member, d, rows, segments);
  }
}

/* Calls act(rows, segments) with constants where there are usual ones. */
#define BY_SHAPE(g, act)                                                                           \
  do {                                                                                             \
    if ((g)->rows > 1 && (g)->segments == 2) act(BLOCK_ROWS, 2);                                   \
    else if ((g)->rows > 1 && (g)->segments == 1) act(BLOCK_ROWS, 1);                              \
    else if ((g)->rows > 1) act(BLOCK_ROWS, (g)->segments);                                        \
    else if ((g)->segments == 2) act(1, 2);                                                        \
    else if ((g)->segments == 1) act(1, 1);                                                        \
    else act(1, (g)->segments);                                                                    \
  } while (0)

TARGET static void NAME(sweep)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    lane_kind kind = run->lm->kind[k];
#define ACT(rows, segments) NAME(sweep_group)(run, g, kind, member, rows, segments)
    BY_SHAPE(g, ACT);
#undef ACT
  }
}

TARGET static void NAME(scatter)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    const four *x = (const four *)run->x + g->first;
#define ACT(rows, segments) NAME(push_all)(run, g, member, x, rows, segments)
    BY_SHAPE(g, ACT);
#undef ACT
  }
}

TARGET static void NAME(gather)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    const four *x = (const four *)run->x + g->first;
    four *Ax = (four *)run->Ax + g->first;
#define ACT(rows, segments) NAME(product)(run, g, member, x, rows, segments, Ax)
    BY_SHAPE(g, ACT);
#undef ACT
  }
}

/* ---- judging ---------------------------------------------------------------------------------------- */

/* The largest s_i |F_i(x)| of a group's blocks, as model.c defines it. */
INLINE four NAME(violation)(const lane_run *run, const lane_group *g, lane_kind kind, const int rows,
                            const four *x, const four *w) {
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
  NAME(load_bounds)(run, g, kind, rows, lo, hi);
  UNROLL for (int r = 0; r < rows; r++) {
    if (kind == LANE_COUPLED && r) NAME(couple)(run, g, r, x[0], &lo[r], &hi[r]);
    four q = x[r] - w[r] / scale[r], p = NAME(clip)(q, lo[r], hi[r]);
    four v = NAME(pick)(p == q, NAME(absolute)(w[r]), scale[r] * NAME(absolute)(x[r] - p));
    worst = NAME(pick)(~(v <= worst), v, worst); /* a NaN passes too */
  }
  return worst;
}

INLINE double NAME(largest)(four v, double worst) {
  for (int l = 0; l < LANES; l++)
    if (!(v[l] <= worst)) worst = v[l] <= DBL_MAX ? v[l] : INFINITY;
  return worst;
}

INLINE four NAME(judge_group)(const lane_run *run, const lane_group *g, lane_kind kind, int member,
                              const int rows, const int segments) {
  const four *b = (const four *)run->lm->b + g->first, *x = (const four *)run->x + g->first;
  four w[BLOCK_ROWS];
  NAME(product)(run, g, member, x, rows, segments, w);
  UNROLL for (int r = 0; r < rows; r++) w[r] -= b[r];
  return NAME(violation)(run, g, kind, rows, x, w);
}

TARGET static double NAME(worst)(const lane_run *run, int begin, int end, int member) {
  double worst = 0.0;
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
    lane_kind kind = run->lm->kind[k];
    four v;
#define ACT(rows, segments) v = NAME(judge_group)(run, g, kind, member, rows, segments)
    BY_SHAPE(g, ACT);
#undef ACT
    worst = NAME(largest)(v, worst);
  }
  return worst;
}

/* ---- gradient steps ---------------------------------------------------------------------------------- */

/* y = x1 + beta (x1 - x2), A y alike, and the gradient there. */
INLINE void NAME(look_ahead)(const lane_run *run, const lane_group *g, int k, const int rows, four *y,
                             four *Ay, four *gradient) {
  const four *x1 = (const four *)run->x1 + g->first, *x2 = (const four *)run->x2 + g->first;
  const four *Ax1 = (const four *)run->Ax1 + g->first, *Ax2 = (const four *)run->Ax2 + g->first;
  const four *b = (const four *)run->lm->b + g->first;
  UNROLL for (int r = 0; r < rows; r++) {
    y[r] = x1[r] + run->beta * (x1[r] - x2[r]);
    Ay[r] = Ax1[r] + run->beta * (Ax1[r] - Ax2[r]);
    gradient[r] = Ay[r] - b[r];
  }
  if (run->coulomb) gradient[0] += ((const four *)run->shift)[k];
}

/* Moves De Saxce's term or the bounds of coupled rows a part of the way to those of x1. */
INLINE void NAME(follow)(const lane_run *run, const lane_group *g, lane_kind kind, int k, const int rows) {
  const four *x1 = (const four *)run->x1 + g->first;
  if (kind == LANE_CONE || kind == LANE_ELLIPSE) {
    if (!run->coulomb || rows == 1) return;
    const four *Ax1 = (const four *)run->Ax1 + g->first, *b = (const four *)run->lm->b + g->first;
    four w[BLOCK_ROWS], *shift = (four *)run->shift + k;
    UNROLL for (int r = 0; r < BLOCK_ROWS; r++) w[r] = Ax1[r] - b[r];
    *shift += run->follow * (NAME(slip)(run, g, w) - *shift);
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

INLINE void NAME(step_group)(const lane_run *run, int k, int member, const int rows, const int segments) {
  const lane_group *g = &run->j->group[k];
  lane_kind kind = run->lm->kind[k];
  const four *scale = (const four *)run->lm->scale + g->first;
  four y[BLOCK_ROWS], Ay[BLOCK_ROWS], gradient[BLOCK_ROWS], *x = (four *)run->x + g->first;
  if (run->follow > 0.0) NAME(follow)(run, g, kind, k, rows);
  NAME(look_ahead)(run, g, k, rows, y, Ay, gradient);
  UNROLL for (int r = 0; r < rows; r++) y[r] -= gradient[r] / (run->lipschitz * scale[r]);
  if (rows > 1 && (kind == LANE_CONE || kind == LANE_ELLIPSE)) {
    NAME(project_any_cone)(run, g, kind, y);
  } else {
    const four *lo = (const four *)run->lm->lo + g->first, *hi = (const four *)run->lm->hi + g->first;
    UNROLL for (int r = 0; r < rows; r++) y[r] = NAME(clip)(y[r], lo[r], hi[r]);
  }
  UNROLL for (int r = 0; r < rows; r++) x[r] = y[r];
  NAME(push_all)(run, g, member, y, rows, segments);
}

TARGET static void NAME(step)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
#define ACT(rows, segments) NAME(step_group)(run, k, member, rows, segments)
    BY_SHAPE(g, ACT);
#undef ACT
  }
}

/* Sums of four lanes each, kept apart until the end. */
typedef struct NAME(lane_totals) {
  four curvature, length, slope;
  double worst;
} NAME(lane_totals);

INLINE void NAME(judge_step)(const lane_run *run, int k, int member, const int rows, const int segments,
                             NAME(lane_totals) * t) {
  const lane_group *g = &run->j->group[k];
  const four *scale = (const four *)run->lm->scale + g->first, *b = (const four *)run->lm->b + g->first;
  const four *x = (const four *)run->x + g->first, *x1 = (const four *)run->x1 + g->first;
  four y[BLOCK_ROWS], Ay[BLOCK_ROWS], gradient[BLOCK_ROWS], w[BLOCK_ROWS], *Ax = (four *)run->Ax + g->first;
  NAME(look_ahead)(run, g, k, rows, y, Ay, gradient);
  NAME(product)(run, g, member, x, rows, segments, w);
  UNROLL for (int r = 0; r < rows; r++) {
    four d = x[r] - y[r];
    Ax[r] = w[r];
    t->curvature += d * (w[r] - Ay[r]);
    t->length += scale[r] * d * d;
    t->slope += gradient[r] * (x[r] - x1[r]);
    w[r] -= b[r];
  }
  t->worst = NAME(largest)(NAME(violation)(run, g, run->lm->kind[k], rows, x, w), t->worst);
}

TARGET static lane_sums NAME(judge)(const lane_run *run, int begin, int end, int member) {
  NAME(lane_totals) t = {{0}, {0}, {0}, 0.0};
  for (int k = begin; k < end; k++) {
    const lane_group *g = &run->j->group[k];
#define ACT(rows, segments) NAME(judge_step)(run, k, member, rows, segments, &t)
    BY_SHAPE(g, ACT);
#undef ACT
  }
  return (lane_sums){(t.curvature[0] + t.curvature[1]) + (t.curvature[2] + t.curvature[3]),
                     (t.length[0] + t.length[1]) + (t.length[2] + t.length[3]),
                     (t.slope[0] + t.slope[1]) + (t.slope[2] + t.slope[3]), t.worst};
}

static const lane_kernels NAME(table) = {NAME(sweep),  NAME(worst), NAME(scatter),
                                         NAME(gather), NAME(step),  NAME(judge)};

#undef BY_SHAPE
#undef UNROLL
#undef INLINE
