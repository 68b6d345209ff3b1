/* lanes_body.h - the kernels of lanes.h, written once; lanes_kernels.c includes this once per
 * instruction set.
 *
 * The includer defines
 *     NAME(x)    the name of a function in this set
 *     TARGET     its attribute
 *     WIDTH      lanes that are worked on at once, 4 or 8
 *     VEC, MASK  that many numbers, and what a comparison of them gives
 *     GREATER, AT_LEAST, AT_MOST, EQUAL   comparisons of two VEC
 *     PICK(m, a, b)    a where the mask is set, else b
 *     LARGER, SMALLER  of two VEC; the second one if there is a NaN
 *     ALL_LANES        a mask;  ALL(m)  all its lanes are set;  CLEAR_LANE(m, l)  clears one
 *     ROOT(v)          square roots
 *
 * All arithmetic is on lanes without fused operations, and sums are kept for each lane of a group:
 * every set gives the same bits.  Numbers of rows and segments, and whether there are frames, are
 * arguments of inlined functions, constant in the usual cases. */

#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 8")

/* Number i of WIDTH lanes, in memory where a number has LANES of them. */
#define AT(p, i) ((p)[(i) * (LANES / WIDTH)])
#define NODE(nodes, number) ((nodes) + (size_t)(number) * NODE_ROOM)

#if WIDTH == 8
#include "lanes_nodes8.h"
#else
#include "lanes_nodes4.h"
#endif

/* Lanes `lane` to lane + WIDTH - 1 of a group. */
typedef struct NAME(spot) {
  const lane_run *run;
  const lane_group *g;
  int group, lane, member;
  lane_kind kind;
} NAME(spot);

INLINE NAME(spot) NAME(spot_at)(const lane_run *run, int group, int member) {
  return (NAME(spot)){
      run, &run->j->group[group], group, 0, member, run->lm ? run->lm->kind[group] : LANE_ROWS};
}

/* Where these lanes have the first of their rows in a vector. */
INLINE VEC *NAME(rows_in)(const NAME(spot) * o, const double *vector) {
  return (VEC *)(vector + (size_t)o->g->first * LANES + o->lane);
}
INLINE const VEC *NAME(numbers_of)(const NAME(spot) * o) {
  return (const VEC *)(o->run->j->q + o->g->q + o->lane);
}
/* Number i of their cones (lane_model). */
INLINE VEC NAME(of_cone)(const NAME(spot) * o, int i) {
  return *(const VEC *)(o->run->lm->cone + ((size_t)o->group * CONE_SIZE + (size_t)i) * LANES +
                        o->lane);
}

/* mu of their circular cones. */
INLINE VEC NAME(mu_of)(const NAME(spot) * o) {
  double same = o->run->lm->same_mu[o->group];
  if (same >= 0.0) return (VEC){0} + same;
  return AT(NAME(rows_in)(o, o->run->lm->mu), 1);
}
/* 1 / (1 + mu^2); one division is cheaper than many. */
INLINE VEC NAME(ray_of)(const NAME(spot) * o, VEC mu) {
  double same = o->run->lm->same_mu[o->group];
  if (same >= 0.0) return (VEC){0} + 1.0 / (1.0 + same * same);
  return 1.0 / (1.0 + mu * mu);
}
/* CFM of their rows. */
INLINE void NAME(cfm_of)(const NAME(spot) * o, const int rows, VEC *cfm) {
  double same = o->run->j->same_cfm[o->group];
  const VEC *of_rows = NAME(rows_in)(o, o->run->j->cfm);
  UNROLL for (int r = 0; r < rows; r++) {
    if (same >= 0.0) cfm[r] = (VEC){0} + same;
    else cfm[r] = AT(of_rows, r);
  }
}

/* ---- velocities ------------------------------------------------------------------------------ */

/* The nodes of segment s.  Node number `nodes` stands for none, and each member has its own. */
INLINE const int *NAME(nodes_of)(const NAME(spot) * o, int s, int own[WIDTH]) {
  const int *node = o->run->j->node + o->g->node + s * LANES + o->lane;
  if (!o->member || !o->g->gaps) return node;
  for (int l = 0; l < WIDTH; l++) own[l] = node[l] + (node[l] == o->run->j->nodes ? o->member : 0);
  return own;
}

/* dv = M^-1 p */
INLINE void NAME(accelerate)(const double *mass, const int *node, const VEC p[NODE_SIZE],
                             VEC dv[NODE_SIZE]) {
  VEC m[NODE_ROOM];
  NAME(load_quarters)(mass, node, m);
  NAME(load_quarters)(mass + 4, node, m + 4);
  UNROLL for (int c = 0; c < 3; c++) dv[c] = m[0] * p[c];
  dv[3] = m[1] * p[3] + m[2] * p[4] + m[4] * p[5];
  dv[4] = m[2] * p[3] + m[3] * p[4] + m[5] * p[5];
  dv[5] = m[4] * p[3] + m[5] * p[4] + m[6] * p[5];
}

/* out += or, of a contact's second node, -= */
INLINE void NAME(add)(VEC *out, VEC value, const int s) { *out = s ? *out - value : *out + value; }

/* The velocity of node s at the contact. */
INLINE void NAME(point_velocity)(const VEC *q, const VEC u[NODE_SIZE], const int s, VEC speed[3]) {
  const VEC *lever = &AT(q, 3 * s);
  NAME(add)(&speed[0], u[0] + (u[4] * AT(lever, 2) - u[5] * AT(lever, 1)), s);
  NAME(add)(&speed[1], u[1] + (u[5] * AT(lever, 0) - u[3] * AT(lever, 2)), s);
  NAME(add)(&speed[2], u[2] + (u[3] * AT(lever, 1) - u[4] * AT(lever, 0)), s);
}

/* Number c of a frame's last row, but for its hand. */
INLINE VEC NAME(last_row)(const VEC *q, const int c) {
  const int a = (c + 1) % 3, b = (c + 2) % 3;
  return AT(q, a) * AT(q, 3 + b) - AT(q, b) * AT(q, 3 + a);
}

INLINE void NAME(frame_rows)(const VEC *q, double hand, const VEC speed[3], VEC *y) {
  UNROLL for (int r = 0; r < 2; r++)
    y[r] += AT(q, 3 * r) * speed[0] + AT(q, 3 * r + 1) * speed[1] + AT(q, 3 * r + 2) * speed[2];
  VEC last = {0};
  UNROLL for (int c = 0; c < 3; c++) last += NAME(last_row)(q, c) * speed[c];
  y[2] += hand * last;
}

/* y += J_s u */
INLINE void NAME(rows_of)(const VEC *q, const VEC u[NODE_SIZE], const int rows, VEC *y) {
  UNROLL for (int r = 0; r < rows; r++) {
    const VEC *row = &AT(q, r * NODE_SIZE);
    VEC even = AT(row, 0) * u[0] + AT(row, 2) * u[2] + AT(row, 4) * u[4];
    VEC odd = AT(row, 1) * u[1] + AT(row, 3) * u[3] + AT(row, 5) * u[5];
    y[r] += even + odd;
  }
}

/* p = J_s' x; f: the force of frames */
INLINE void NAME(pull)(const VEC *q, const VEC *x, const VEC f[3], const int s, const int rows,
                       const int frames, VEC p[NODE_SIZE]) {
  UNROLL for (int c = 0; c < NODE_SIZE; c++) p[c] = (VEC){0};
  if (!frames) {
    q = &AT(q, s * rows * NODE_SIZE);
    UNROLL for (int r = 0; r < rows; r++)
      UNROLL for (int c = 0; c < NODE_SIZE; c++) p[c] += AT(q, r * NODE_SIZE + c) * x[r];
    return;
  }
  const VEC *lever = &AT(q, 3 * s);
  UNROLL for (int c = 0; c < 3; c++) p[c] = s ? -f[c] : f[c];
  UNROLL for (int c = 0; c < 3; c++) {
    int a = (c + 1) % 3, b = (c + 2) % 3;
    VEC turn = AT(lever, a) * f[b] - AT(lever, b) * f[a];
    p[3 + c] = s ? -turn : turn;
  }
}

INLINE void NAME(force_of)(const VEC *q, double hand, const VEC *x, VEC f[3]) {
  VEC last = hand * x[2];
  UNROLL for (int c = 0; c < 3; c++)
    f[c] = AT(q, c) * x[0] + AT(q, 3 + c) * x[1] + NAME(last_row)(q, c) * last;
}

/* y += J u of these lanes' rows. */
INLINE void NAME(add_product)(const NAME(spot) * o, const int rows, const int segments,
                              const int frames, VEC *y) {
  const VEC *q = NAME(numbers_of)(o);
  VEC speed[3] = {{0}, {0}, {0}}, u[NODE_SIZE];
  int own[WIDTH];
  UNROLL for (int s = 0; s < segments; s++) {
    NAME(load_nodes)(o->run->state, NAME(nodes_of)(o, s, own), u);
    if (frames) NAME(point_velocity)(q, u, s, speed);
    else NAME(rows_of)(&AT(q, s * rows * NODE_SIZE), u, rows, y);
  }
  if (frames) NAME(frame_rows)(&AT(q, 3 * segments), o->g->frames, speed, y);
}

/* A x of these lanes' rows. */
INLINE void NAME(product)(const NAME(spot) * o, const double *x, const int rows, const int segments,
                          const int frames, VEC *Ax) {
  const VEC *of_x = NAME(rows_in)(o, x);
  VEC cfm[BLOCK_ROWS];
  NAME(cfm_of)(o, rows, cfm);
  UNROLL for (int r = 0; r < rows; r++) Ax[r] = cfm[r] * AT(of_x, r);
  NAME(add_product)(o, rows, segments, frames, Ax);
}

/* momentum += J' x, or with `mass` state += M^-1 J' x */
INLINE void NAME(push)(const NAME(spot) * o, const VEC *x, double *nodes, const double *mass,
                       const int rows, const int segments, const int frames) {
  const VEC *q = NAME(numbers_of)(o);
  VEC f[3], p[NODE_SIZE], dv[NODE_SIZE];
  int own[WIDTH];
  if (frames) NAME(force_of)(&AT(q, 3 * segments), o->g->frames, x, f);
  UNROLL for (int s = 0; s < segments; s++) {
    const int *node = NAME(nodes_of)(o, s, own);
    NAME(pull)(q, x, f, s, rows, frames, p);
    if (mass) NAME(accelerate)(mass, node, p, dv);
    NAME(add_to_nodes)(nodes, node, mass ? dv : p);
  }
}

/* ---- sets ------------------------------------------------------------------------------------ */

INLINE VEC NAME(absolute)(VEC a) {
  typedef long bits __attribute__((vector_size(WIDTH * sizeof(long))));
  return (VEC)((bits)a & ~(bits)(-(VEC){0}));
}

/* The larger one; a NaN stays. */
INLINE VEC NAME(worse)(VEC worst, VEC v) {
  return PICK(~AT_MOST(v, worst) & EQUAL(worst, worst), v, worst);
}

/* mu |x_n|, and 0 without a normal force whatever mu is. */
INLINE VEC NAME(friction_bound)(VEC mu, VEC normal) {
  VEC zero = {0};
  return PICK(EQUAL(normal, zero) | EQUAL(mu, zero), zero, NAME(absolute)(mu * normal));
}

/* The bounds of rows; of rows whose normal is in another block, by the forces x, they are final. */
INLINE void NAME(load_bounds)(const NAME(spot) * o, const double *x, const int rows, VEC *lo,
                              VEC *hi) {
  const lane_model *lm = o->run->lm;
  UNROLL for (int r = 0; r < rows; r++) {
    lo[r] = AT(NAME(rows_in)(o, lm->lo), r);
    hi[r] = AT(NAME(rows_in)(o, lm->hi), r);
  }
  if (o->kind != LANE_COUPLED || !lm->normal) return;
  for (int r = 0; r < rows; r++)
    for (int l = 0; l < WIDTH; l++) {
      int element = (o->g->first + r) * LANES + o->lane + l, normal = lm->normal[element];
      if (normal < 0) continue;
      hi[r][l] = lcplug_friction_bound(lm->mu[element], x[normal]);
      lo[r][l] = -hi[r][l];
    }
}

/* Gives rows that are coupled to the first of their block the bounds that belong to its force. */
INLINE void NAME(couple)(const NAME(spot) * o, int r, VEC normal, VEC *lo, VEC *hi) {
  const lane_model *lm = o->run->lm;
  VEC mu = AT(NAME(rows_in)(o, lm->mu), r), bound = NAME(friction_bound)(mu, normal), zero = {0};
  MASK here = AT_LEAST(mu, zero);
  for (int l = 0; lm->normal && l < WIDTH; l++)
    if (lm->normal[(o->g->first + r) * LANES + o->lane + l] >= 0) CLEAR_LANE(here, l);
  *hi = PICK(here, bound, *hi);
  *lo = PICK(here, -bound, *lo);
}

INLINE VEC NAME(clip)(VEC q, VEC lo, VEC hi) { return SMALLER(LARGER(q, lo), hi); }

/* Onto circular cones mu x_n >= |x_t|: inside stays, the polar cone goes to 0, the rest to the
 * nearest ray. */
INLINE void NAME(project_cone)(const NAME(spot) * o, VEC q[BLOCK_ROWS]) {
  const VEC zero = {0}, one = zero + 1.0, mu = NAME(mu_of)(o);
  VEC t = ROOT(q[1] * q[1] + q[2] * q[2]);
  MASK outside = GREATER(t, mu * q[0]), polar = AT_MOST(mu * t, -q[0]);
  VEC length = (q[0] + mu * t) * NAME(ray_of)(o, mu);
  VEC stretch = PICK(outside, mu * length / PICK(GREATER(t, zero), t, one), one);
  q[0] = PICK(polar, zero, PICK(outside, length, q[0]));
  stretch = PICK(polar, zero, stretch);
  q[1] *= stretch;
  q[2] *= stretch;
}

/* The set of one lane of cones. */
INLINE force_set NAME(lane_set)(const double *mu) {
  return (force_set){.kind = mu[LANES] == mu[2 * LANES] ? SET_CONE : SET_ELLIPSE,
                     .rows = BLOCK_ROWS,
                     .mu = {mu[LANES], mu[2 * LANES]}};
}

INLINE void NAME(project_ellipse)(const NAME(spot) * o, VEC q[BLOCK_ROWS]) {
  const double *mu = (const double *)NAME(rows_in)(o, o->run->lm->mu);
  for (int l = 0; l < WIDTH; l++) {
    if (mu[LANES + l] < 0.0) continue; /* no block here */
    force_set set = NAME(lane_set)(mu + l);
    double p[BLOCK_ROWS] = {q[0][l], q[1][l], q[2][l]};
    lcplug_project(&set, p, p);
    for (int r = 0; r < BLOCK_ROWS; r++) q[r][l] = p[r];
  }
}

INLINE void NAME(project_any_cone)(const NAME(spot) * o, VEC q[BLOCK_ROWS]) {
  if (o->kind == LANE_ELLIPSE) NAME(project_ellipse)(o, q);
  else NAME(project_cone)(o, q);
}

/* De Saxce's term. */
INLINE VEC NAME(slip)(const NAME(spot) * o, const VEC *w) {
  if (o->kind == LANE_CONE) return NAME(mu_of)(o) * ROOT(w[1] * w[1] + w[2] * w[2]);
  const VEC *mu = NAME(rows_in)(o, o->run->lm->mu);
  VEC s1 = AT(mu, 1) * w[1], s2 = AT(mu, 2) * w[2];
  return ROOT(s1 * s1 + s2 * s2);
}

/* ---- relaxing a block ------------------------------------------------------------------------ */

INLINE void NAME(symmetric)(const VEC *a, const VEC *v, const int rows, VEC *y) {
  y[0] = AT(a, 0) * v[0];
  if (rows == 1) return;
  y[0] += AT(a, 1) * v[1] + AT(a, 3) * v[2];
  y[1] = AT(a, 1) * v[0] + AT(a, 2) * v[1] + AT(a, 4) * v[2];
  y[2] = AT(a, 3) * v[0] + AT(a, 4) * v[1] + AT(a, 5) * v[2];
}

/* Element (r, c) of a symmetric block. */
INLINE VEC NAME(element)(const VEC *a, int r, int c) {
  return r >= c ? AT(a, r * (r + 1) / 2 + c) : AT(a, c * (c + 1) / 2 + r);
}

/* One row after the other within its bounds, the others held; w follows. */
INLINE void NAME(relax_rows)(const NAME(spot) * o, const VEC *a, const int rows, const VEC *lo,
                             const VEC *hi, VEC *x, VEC *w) {
  VEC step[BLOCK_ROWS]; /* divisions are slow: ahead of the rounds that wait for each other */
  UNROLL for (int r = 0; r < rows; r++) step[r] = o->run->omega / NAME(element)(a, r, r);
  for (int round = 0; round < ROW_ROUNDS; round++)
    UNROLL for (int r = 0; r < rows; r++) {
      VEC low = lo[r], high = hi[r];
      if (o->kind == LANE_COUPLED && r) NAME(couple)(o, r, x[0], &low, &high);
      VEC next = NAME(clip)(x[r] - step[r] * w[r], low, high), d = next - x[r];
      x[r] = next;
      UNROLL for (int i = 0; i < rows; i++) w[i] += NAME(element)(a, i, r) * d;
    }
}

/* Coulomb's law in turns: the normal that ends the approach, then the friction that ends the slip,
 * or as much of it as the disc allows. */
INLINE void NAME(relax_coulomb)(const NAME(spot) * o, const VEC *of_a, VEC *x, VEC *w) {
  const VEC zero = {0}, one = zero + 1.0, mu = NAME(mu_of)(o);
  VEC a[LOCAL_SIZE];
  UNROLL for (int k = 0; k < LOCAL_SIZE; k++) a[k] = AT(of_a, k);
  VEC step = one / (LARGER(a[2], a[5]) + NAME(absolute)(a[4])), normal_step = one / a[0];
  for (int round = 0; round < CONE_ROUNDS; round++) {
    VEC n = LARGER(x[0] - w[0] * normal_step, zero), d = n - x[0];
    x[0] = n;
    w[0] += a[0] * d, w[1] += a[1] * d, w[2] += a[3] * d;
    VEC t1 = x[1] - w[1] * step, t2 = x[2] - w[2] * step, t = ROOT(t1 * t1 + t2 * t2);
    VEC part = PICK(GREATER(t, mu * n), mu * n / PICK(GREATER(t, zero), t, one), one);
    VEC d1 = part * t1 - x[1], d2 = part * t2 - x[2];
    x[1] += d1, x[2] += d2;
    w[0] += a[1] * d1 + a[3] * d2;
    w[1] += a[2] * d1 + a[4] * d2;
    w[2] += a[4] * d1 + a[5] * d2;
  }
}

/* Projected gradient steps on the block; the only way that ellipses have. */
INLINE void NAME(relax_cone)(const NAME(spot) * o, const VEC *a, VEC *x, VEC *w) {
  VEC off10 = NAME(absolute)(AT(a, 1)), off20 = NAME(absolute)(AT(a, 3)),
      off21 = NAME(absolute)(AT(a, 4));
  VEC stiff =
      LARGER(AT(a, 0) + off10 + off20, LARGER(AT(a, 2) + off10 + off21, AT(a, 5) + off20 + off21));
  for (int round = 0; round < CONE_ROUNDS; round++) {
    VEC q[BLOCK_ROWS] = {x[0] - w[0] / stiff, x[1] - w[1] / stiff, x[2] - w[2] / stiff};
    if (o->run->coulomb) q[0] -= NAME(slip)(o, w) / stiff;
    NAME(project_any_cone)(o, q);
    VEC d[BLOCK_ROWS], Ad[BLOCK_ROWS];
    UNROLL for (int r = 0; r < BLOCK_ROWS; r++) d[r] = q[r] - x[r], x[r] = q[r];
    NAME(symmetric)(a, d, BLOCK_ROWS, Ad);
    UNROLL for (int r = 0; r < BLOCK_ROWS; r++) w[r] += Ad[r];
  }
}

INLINE MASK NAME(in_cone)(const NAME(spot) * o, const VEC *q) {
  const VEC *mu = NAME(rows_in)(o, o->run->lm->mu), zero = {0};
  VEC t1 = q[1] * AT(mu, 2), t2 = q[2] * AT(mu, 1), n = q[0] * AT(mu, 1) * AT(mu, 2);
  return AT_LEAST(n, zero) & AT_MOST(t1 * t1 + t2 * t2, n * n);
}

/* The force of least w for the block alone.  Without bounds in the way that is one step with the
 * inverse of A_BB; only lanes where it leaves the set go on. */
INLINE void NAME(relax)(const NAME(spot) * o, const int rows, VEC *x, VEC *w) {
  const lane_run *run = o->run;
  const VEC *a = (const VEC *)(run->j->local + o->g->local + o->lane);
  const VEC *inverse = &AT(a, rows > 1 ? LOCAL_SIZE : 1);
  VEC free[BLOCK_ROWS], lo[BLOCK_ROWS], hi[BLOCK_ROWS];
  NAME(symmetric)(inverse, w, rows, free);
  UNROLL for (int r = 0; r < rows; r++) free[r] = x[r] - run->omega * free[r];
  MASK inside = ALL_LANES;
  int cone = rows > 1 && (o->kind == LANE_CONE || o->kind == LANE_ELLIPSE);
  if (cone) {
    inside = NAME(in_cone)(o, free);
  } else {
    NAME(load_bounds)(o, run->x, rows, lo, hi);
    UNROLL for (int r = 0; r < rows; r++) {
      VEC low = lo[r], high = hi[r];
      if (o->kind == LANE_COUPLED && r) NAME(couple)(o, r, free[0], &low, &high);
      inside &= AT_LEAST(free[r], low) & AT_MOST(free[r], high);
    }
  }
  if (!ALL(inside)) {
    VEC start[BLOCK_ROWS];
    UNROLL for (int r = 0; r < rows; r++) start[r] = x[r];
    if (!cone) NAME(relax_rows)(o, a, rows, lo, hi, x, w);
    else if (run->coulomb && o->kind == LANE_CONE) NAME(relax_coulomb)(o, a, x, w);
    else NAME(relax_cone)(o, a, x, w);
    if (cone && run->omega != 1.0) {
      UNROLL for (int r = 0; r < rows; r++) x[r] = start[r] + run->omega * (x[r] - start[r]);
      if (run->omega > 1.0) NAME(project_any_cone)(o, x);
    }
  }
  UNROLL for (int r = 0; r < rows; r++) x[r] = PICK(inside, free[r], x[r]);
}

INLINE void NAME(sweep_group)(const NAME(spot) * o, const int rows, const int segments,
                              const int frames) {
  const lane_run *run = o->run;
  const VEC *b = NAME(rows_in)(o, run->lm->b);
  VEC *x_out = NAME(rows_in)(o, run->x), x[BLOCK_ROWS], w[BLOCK_ROWS], d[BLOCK_ROWS];
  NAME(product)(o, run->x, rows, segments, frames, w);
  UNROLL for (int r = 0; r < rows; r++) x[r] = AT(x_out, r), w[r] -= AT(b, r);
  NAME(relax)(o, rows, x, w);
  UNROLL for (int r = 0; r < rows; r++) d[r] = x[r] - AT(x_out, r), AT(x_out, r) = x[r];
  NAME(push)(o, d, run->state, run->j->mass, rows, segments, frames);
}

static const lane_sums NAME(no_sums) = {0, 0, 0, 0};

/* Calls act(rows, segments, frames) with constants where there are usual ones, for all lanes of a
 * spot's group that have blocks. */
#define BY_SHAPE(spot, act)                                                                        \
  for ((spot).lane = 0; (spot).lane < (spot).g->lanes; (spot).lane += WIDTH) {                     \
    if ((spot).g->frames && (spot).g->segments == 2) act(BLOCK_ROWS, 2, 1);                        \
    else if ((spot).g->frames) act(BLOCK_ROWS, 1, 1);                                              \
    else if ((spot).g->rows > 1 && (spot).g->segments == 2) act(BLOCK_ROWS, 2, 0);                 \
    else if ((spot).g->rows > 1) act(BLOCK_ROWS, (spot).g->segments, 0);                           \
    else act(1, (spot).g->segments, 0);                                                            \
  }

TARGET static lane_sums NAME(sweep)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    fetch_rows(run, k + GROUPS_AHEAD, 1);
    NAME(spot) o = NAME(spot_at)(run, k, member);
#define ACT(rows, segments, frames) NAME(sweep_group)(&o, rows, segments, frames)
    BY_SHAPE(o, ACT)
#undef ACT
  }
  return NAME(no_sums);
}

INLINE void NAME(scatter_group)(const NAME(spot) * o, const int rows, const int segments,
                                const int frames) {
  const VEC *of_x = NAME(rows_in)(o, o->run->x);
  VEC x[BLOCK_ROWS];
  UNROLL for (int r = 0; r < rows; r++) x[r] = AT(of_x, r);
  NAME(push)(o, x, o->run->momentum, NULL, rows, segments, frames);
}

TARGET static lane_sums NAME(scatter)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++) {
    NAME(spot) o = NAME(spot_at)(run, k, member);
#define ACT(rows, segments, frames) NAME(scatter_group)(&o, rows, segments, frames)
    BY_SHAPE(o, ACT)
#undef ACT
  }
  return NAME(no_sums);
}

/* out: [rows][LANES] */
INLINE void NAME(gather_lanes)(const NAME(spot) * o, const double *x, double *out, const int rows,
                               const int segments, const int frames) {
  VEC Ax[BLOCK_ROWS];
  NAME(product)(o, x, rows, segments, frames, Ax);
  UNROLL for (int r = 0; r < rows; r++) *(VEC *)(out + r * LANES + o->lane) = Ax[r];
}

INLINE void NAME(gather_group)(const lane_run *run, int group, int member, const double *x,
                               double *out) {
  NAME(spot) o = NAME(spot_at)(run, group, member);
#define ACT(rows, segments, frames) NAME(gather_lanes)(&o, x, out, rows, segments, frames)
  BY_SHAPE(o, ACT)
#undef ACT
}

TARGET static lane_sums NAME(gather)(const lane_run *run, int begin, int end, int member) {
  for (int k = begin; k < end; k++)
    NAME(gather_group)(run, k, member, run->x, run->Ax + (size_t)run->j->group[k].first * LANES);
  return NAME(no_sums);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Sums of each lane, kept apart until the end. */
typedef struct NAME(totals) {
  VEC curvature, length, slope;
  VEC worst, far; /* the worst violation of rows, and the square of that of cones */
} NAME(totals);

INLINE double NAME(largest)(VEC v, double worst) {
  for (int l = 0; l < WIDTH; l++)
    if (!(v[l] <= worst)) worst = v[l] <= DBL_MAX ? v[l] : INFINITY;
  return worst;
}

/* t: of all lanes of a group, which are added in an order that does not depend on WIDTH. */
INLINE lane_sums NAME(sums_of)(const NAME(totals) * t) {
  double curvature[LANES], length[LANES], slope[LANES], worst = 0.0, far = 0.0;
  for (int lane = 0; lane < LANES; lane += WIDTH, t++) {
    memcpy(curvature + lane, &t->curvature, sizeof t->curvature);
    memcpy(length + lane, &t->length, sizeof t->length);
    memcpy(slope + lane, &t->slope, sizeof t->slope);
    worst = NAME(largest)(t->worst, worst);
    far = NAME(largest)(t->far, far);
  }
  return (lane_sums){sum_of_lanes(curvature), sum_of_lanes(length), sum_of_lanes(slope),
                     fmax(worst, sqrt(far))};
}

/* The squares of s_i |F_i(x)| of cones, as model.c defines it. */
INLINE VEC NAME(violation_of_cones)(const NAME(spot) * o, const VEC *x, const VEC *w, VEC slip) {
  VEC scale = NAME(of_cone)(o, CONE_SCALE), from[BLOCK_ROWS], q[BLOCK_ROWS], far = {0};
  UNROLL for (int r = 0; r < BLOCK_ROWS; r++) from[r] = scale * x[r], q[r] = from[r] - w[r];
  q[0] -= slip;
  NAME(project_any_cone)(o, q);
  UNROLL for (int r = 0; r < BLOCK_ROWS; r++) far += (from[r] - q[r]) * (from[r] - q[r]);
  return far;
}

/* And of rows the largest one, no square.  all_x: what normals in other blocks are taken from. */
INLINE VEC NAME(violation_of_rows)(const NAME(spot) * o, const double *all_x, const VEC *x,
                                   const VEC *w, const int rows) {
  const VEC *scale = NAME(rows_in)(o, o->run->lm->scale);
  VEC lo[BLOCK_ROWS], hi[BLOCK_ROWS], worst = {0};
  NAME(load_bounds)(o, all_x, rows, lo, hi);
  UNROLL for (int r = 0; r < rows; r++) {
    if (o->kind == LANE_COUPLED && r) NAME(couple)(o, r, x[0], &lo[r], &hi[r]);
    VEC q = x[r] - w[r] / AT(scale, r), p = NAME(clip)(q, lo[r], hi[r]);
    VEC v = PICK(EQUAL(p, q), NAME(absolute)(w[r]), AT(scale, r) * NAME(absolute)(x[r] - p));
    worst = NAME(worse)(worst, v);
  }
  return worst;
}

INLINE int NAME(are_cones)(const NAME(spot) * o, const int rows) {
  return rows > 1 && (o->kind == LANE_CONE || o->kind == LANE_ELLIPSE);
}

INLINE VEC NAME(slip_if_any)(const NAME(spot) * o, const VEC *w) {
  return o->run->coulomb ? NAME(slip)(o, w) : (VEC){0};
}

INLINE void NAME(judge_group)(const NAME(spot) * o, const int rows, const int segments,
                              const int frames, NAME(totals) * t) {
  const VEC *b = NAME(rows_in)(o, o->run->lm->b), *of_x = NAME(rows_in)(o, o->run->x);
  VEC x[BLOCK_ROWS], w[BLOCK_ROWS];
  NAME(product)(o, o->run->x, rows, segments, frames, w);
  UNROLL for (int r = 0; r < rows; r++) x[r] = AT(of_x, r), w[r] -= AT(b, r);
  if (NAME(are_cones)(o, rows))
    t->far = NAME(worse)(t->far, NAME(violation_of_cones)(o, x, w, NAME(slip_if_any)(o, w)));
  else t->worst = NAME(worse)(t->worst, NAME(violation_of_rows)(o, o->run->x, x, w, rows));
}

TARGET static lane_sums NAME(worst)(const lane_run *run, int begin, int end, int member) {
  NAME(totals) t[LANES / WIDTH];
  memset(t, 0, sizeof t);
  for (int k = begin; k < end; k++) {
    NAME(spot) o = NAME(spot_at)(run, k, member);
#define ACT(rows, segments, frames) \
  NAME(judge_group)(&o, rows, segments, frames, &t[o.lane / WIDTH])
    BY_SHAPE(o, ACT)
#undef ACT
  }
  return NAME(sums_of)(t);
}

/* ---- gradient steps -------------------------------------------------------------------------- */

/* What a gradient step of some lanes works with. */
typedef struct NAME(descent) {
  VEC x1[BLOCK_ROWS], w1[BLOCK_ROWS]; /* the last iterate and what it leaves */
  VEC y[BLOCK_ROWS], gradient[BLOCK_ROWS];
  VEC x[BLOCK_ROWS];
} NAME(descent);

/* The product of x1 takes the place of that of x2. */
INLINE void NAME(begin_descent)(const NAME(spot) * o, const double *product, const int rows,
                                NAME(descent) * s) {
  const lane_run *run = o->run;
  const VEC *x1 = NAME(rows_in)(o, run->x1), *x2 = NAME(rows_in)(o, run->x2),
            *b = NAME(rows_in)(o, run->lm->b);
  VEC *Ax = NAME(rows_in)(o, run->Ax);
  UNROLL for (int r = 0; r < rows; r++) {
    VEC Ax1 = *(const VEC *)(product + r * LANES + o->lane);
    s->x1[r] = AT(x1, r);
    s->w1[r] = Ax1 - AT(b, r);
    s->y[r] = s->x1[r] + run->beta * (s->x1[r] - AT(x2, r));
    s->gradient[r] = s->w1[r] + run->beta * (Ax1 - AT(Ax, r));
    AT(Ax, r) = Ax1;
  }
}

/* Puts x down, and adds to the sums what the step is judged by; scale: of each row. */
INLINE void NAME(end_descent)(const NAME(spot) * o, const int rows, const NAME(descent) * s,
                              const VEC *scale, NAME(totals) * t) {
  VEC *next = NAME(rows_in)(o, o->run->x), cfm[BLOCK_ROWS];
  VEC curvature = {0}, length = {0}, slope = {0};
  NAME(cfm_of)(o, rows, cfm);
  UNROLL for (int r = 0; r < rows; r++) {
    VEC d = s->x[r] - s->y[r], dd = d * d;
    curvature += cfm[r] * dd;
    length += scale[r] * dd;
    slope += s->gradient[r] * (s->x[r] - s->x1[r]);
    AT(next, r) = s->x[r];
  }
  t->curvature += curvature;
  t->length += length;
  t->slope += slope;
}

INLINE void NAME(descend_cones)(const NAME(spot) * o, const double *product, NAME(totals) * t) {
  const lane_run *run = o->run;
  NAME(descent) s;
  NAME(begin_descent)(o, product, BLOCK_ROWS, &s);
  VEC slip = NAME(slip_if_any)(o, s.w1);
  t->far = NAME(worse)(t->far, NAME(violation_of_cones)(o, s.x1, s.w1, slip));
  if (run->coulomb) {
    VEC *shift = (VEC *)(run->shift + (size_t)o->group * LANES + o->lane);
    /* De Saxce's term goes a part of the way to that of x1. */
    if (run->follow > 0.0) *shift += run->follow * (slip - *shift);
    s.gradient[0] += *shift;
  }
  VEC step = run->lipschitz_inverse * NAME(of_cone)(o, CONE_INVERSE),
      scale = NAME(of_cone)(o, CONE_SCALE);
  UNROLL for (int r = 0; r < BLOCK_ROWS; r++) s.x[r] = s.y[r] - s.gradient[r] * step;
  NAME(project_any_cone)(o, s.x);
  NAME(end_descent)(o, BLOCK_ROWS, &s, (VEC[]){scale, scale, scale}, t);
}

/* Moves the bounds of coupled rows a part of the way to those of x1. */
INLINE void NAME(follow)(const NAME(spot) * o, const int rows, const VEC *x1) {
  const lane_run *run = o->run;
  if (o->kind != LANE_COUPLED || !(run->follow > 0.0)) return;
  for (int r = 0; r < rows; r++)
    for (int l = 0; l < WIDTH; l++) {
      int element = (o->g->first + r) * LANES + o->lane + l;
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

INLINE void NAME(descend_rows)(const NAME(spot) * o, const double *product, const int rows,
                               NAME(totals) * t) {
  const lane_run *run = o->run;
  const VEC *of_scale = NAME(rows_in)(o, run->lm->scale);
  const VEC *lo = NAME(rows_in)(o, run->lm->lo), *hi = NAME(rows_in)(o, run->lm->hi);
  VEC scale[BLOCK_ROWS];
  NAME(descent) s;
  NAME(begin_descent)(o, product, rows, &s);
  t->worst = NAME(worse)(t->worst, NAME(violation_of_rows)(o, run->x1, s.x1, s.w1, rows));
  NAME(follow)(o, rows, s.x1);
  UNROLL for (int r = 0; r < rows; r++) {
    scale[r] = AT(of_scale, r);
    VEC q = s.y[r] - s.gradient[r] * (run->lipschitz_inverse / scale[r]);
    s.x[r] = NAME(clip)(q, AT(lo, r), AT(hi, r));
  }
  NAME(end_descent)(o, rows, &s, scale, t);
}

/* product: A x1 of the group's rows */
INLINE void NAME(descend_group)(const lane_run *run, int group, const double *product,
                                NAME(totals) * t) {
  NAME(spot) o = NAME(spot_at)(run, group, 0);
  for (; o.lane < o.g->lanes; o.lane += WIDTH) {
    NAME(totals) *own = &t[o.lane / WIDTH];
    if (NAME(are_cones)(&o, o.g->rows)) NAME(descend_cones)(&o, product, own);
    else if (o.g->rows > 1) NAME(descend_rows)(&o, product, BLOCK_ROWS, own);
    else NAME(descend_rows)(&o, product, 1, own);
  }
}

/* A few groups at a time: each of the three is a short chain of operations, and the processor works
 * on several groups at once, which it cannot if one chain is made of all; and they find in the
 * cache what the one before has read. */
TARGET static lane_sums NAME(step)(const lane_run *run, int begin, int end, int member) {
  double product[STEP_GROUPS][BLOCK_ROWS * LANES] __attribute__((aligned(64)));
  NAME(totals) t[LANES / WIDTH];
  memset(t, 0, sizeof t);
  for (int k = begin; k < end; k += STEP_GROUPS) {
    int count = end - k < STEP_GROUPS ? end - k : STEP_GROUPS;
    for (int i = 0; i < count; i++) {
      fetch_rows(run, k + i + GROUPS_AHEAD, 0);
      NAME(gather_group)(run, k + i, member, run->x1, product[i]);
    }
    for (int i = 0; i < count; i++) NAME(descend_group)(run, k + i, product[i], t);
    NAME(scatter)(run, k, k + count, member);
  }
  return NAME(sums_of)(t);
}

/* As many nodes at a time as there are lanes; those beyond the last have no mass. */
TARGET static lane_sums NAME(settle)(const lane_run *run, int begin, int end, int member) {
  static const int next[WIDTH] = NEXT_NODES;
  NAME(totals) t[LANES / WIDTH];
  (void)member;
  memset(t, 0, sizeof t);
  for (int k = begin; k < end; k += WIDTH) {
    VEC p[NODE_SIZE], v[NODE_SIZE], p1[NODE_SIZE], p2[NODE_SIZE], dv[NODE_SIZE], curvature = {0};
    const double *mass = NODE(run->j->mass, k);
    NAME(load_nodes)(NODE(run->momentum, k), next, p);
    NAME(accelerate)(mass, next, p, v);
    NAME(store_nodes)(NODE(run->after, k), next, v);
    if (!run->momentum1) continue;
    NAME(load_nodes)(NODE(run->momentum1, k), next, p1);
    NAME(load_nodes)(NODE(run->momentum2, k), next, p2);
    UNROLL for (int c = 0; c < NODE_SIZE; c++) p[c] -= p1[c] + run->beta * (p1[c] - p2[c]);
    NAME(accelerate)(mass, next, p, dv);
    UNROLL for (int c = 0; c < NODE_SIZE; c++) curvature += p[c] * dv[c];
    t[k / WIDTH % (LANES / WIDTH)].curvature += curvature;
  }
  return NAME(sums_of)(t);
}

static const lane_kernels NAME(table) = {NAME(sweep),  NAME(worst), NAME(scatter),
                                         NAME(gather), NAME(step),  NAME(settle)};

#undef BY_SHAPE
#undef NODE
#undef AT
#undef UNROLL
#undef INLINE
