/* cone_pair.h - forces and the velocities that they hold back, both inside a cone.
 *
 * A pair is that of one contact, with g = (1, 1/mu_1, 1/mu_2), or of one bound of a row, where only
 * the first element counts, and which may follow the force of a normal, as those of pyramids do:
 *
 *     y = g x,     z = w / g,  its first element De Saxce's w_n + |z_t| for exact Coulomb friction
 *
 * are both in the Lorentz cone v_0 >= |v_t|, and solve the problem when y o z = 0, which is
 * (y . z, y_0 z_t + z_0 y_t).  A method that stays inside asks for y o z = m e instead, e = (1, 0,
 * 0).  Its step follows from dy: with the scaling of Nesterov and Todd, the one symmetric H of its
 * kind with H y = z,
 *
 *     dz = t - H dy,     t = m y^-1 - z - what dy and dz are expected to do together
 *
 * With exact Coulomb friction w is a plain function of z, w_n = z_0 - |z_t|: its derivative takes
 * the tangential rows of H from the first one.  That difference, and v_0 - |v_t| of y and z, drown
 * in rounding where a contact slides; so each such gap is a number of its own, and formulas that
 * do not subtract are used for the rest.
 *
 * A step may take z along a straight line, or w, whose normal part is the gap of z.  With z the
 * normal part of w bends when the slip turns, and A x - b - w grows by that much with each step; at
 * a gap that is next to nothing no turn is short enough.  With w nothing bends but y o z.
 *
 * Pairs are kept and worked on four at a time: a step looks at all of them a dozen times, and one
 * by one that took a quarter of its time. */
#ifndef LCPLUG_CONE_PAIR_H
#define LCPLUG_CONE_PAIR_H

#include "four.h"
#include "sets.h"
#include "workspace.h"

enum { PAIRS_AT_ONCE = 4 };

typedef struct inside {
  four v[3], gap; /* gap = v_0 - |v_t| > 0 */
} inside;

/* Four pairs; where there are fewer, the others have no rows, y = z = e and no step. */
typedef struct pair_quad {
  int row[3][PAIRS_AT_ONCE]; /* of the problem; the first one again where there is none */
  int rows[PAIRS_AT_ONCE], normal[PAIRS_AT_ONCE];
  four there, alone;   /* 1 or 0: there is such a pair; it has one row */
  four sign, bound;    /* y_0 = sign (x_n - bound), ... */
  four share;          /* ... and of a bound that follows another row, share x_normal more */
  four g[3];           /* 0 in rows that there are not */
  inside y, z;
  /* H = (2 u u^T - diag(1, -1, -1)) / eta^2, u = (turn_0, -turn_t) */
  four turn[3], in_eta, det; /* 1 / eta; det: the root of both determinants' product */
  four middle[3];      /* what y and z are, scaled by H^1/2 and its inverse */
  four slides;         /* not 0: the slip's direction counts, exact friction and z_t not 0 */
  four slip[2];        /* z_t / |z_t| */
  four slip_row[3];    /* the first row of H less slip times the others */
  four edge;           /* y_0 + slip y_t */
  four t[3], t_slip;   /* t, and its first element less slip t_t */
  four second[3];      /* of t: what dy and dz do together ... */
  four second_kept[3]; /* ... and before it was last changed */
  four dy[3], dz[3], dy_gap, dz_gap;
  four E[9];           /* dw/dx */
} pair_quad;

/* What is done with all of them, for one instruction set; vectors have an element for every row. */
typedef struct pair_kernels {
  /* Takes w off r; returns the sum of y . z. */
  double (*take_velocities)(const pair_quad *q, int quads, int exact, double *r);
  /* H at this y and z, and E. */
  void (*scale)(pair_quad *q, int quads, int exact);
  /* t for y o z = target e; adds what follows for w to `right`.  second_order: as `second` says. */
  void (*wish)(pair_quad *q, int quads, double target, int second_order, double *right);
  /* dy and dz of dx; returns how far they may go, w on a straight line if `natural`. */
  double (*spread)(pair_quad *q, int quads, int natural, const double *dx);
  /* The sum of y . z, a part of the step ahead. */
  double (*product)(const pair_quad *q, int quads, double step);
  void (*set_second_order)(pair_quad *q, int quads);
  /* Gondzio's corrector: adds to `second` what brings both eigenvalues of y o z, so far ahead, back
   * to within a factor of ten of the target. */
  void (*balance)(pair_quad *q, int quads, double target, double ahead);
  void (*move)(pair_quad *q, int quads, int natural, double step);
} pair_kernels;

/* The best table for this processor, and the one for any; both give the same bits. */
const pair_kernels *lcplug_pair_kernels(void);
const pair_kernels *lcplug_pair_kernels_portable(void);

typedef struct cone_pairs {
  int count, quads, most;
  pair_quad *quad;
  const pair_kernels *kernels;
  int exact;   /* Coulomb friction */
  int natural; /* where it slides: w moves along a straight line instead of z */
} cone_pairs;

/* None yet; room for so many. */
int lcplug_pairs_begin(cone_pairs *p, int most, int exact, lcplug_workspace *workspace);

/* One more: of a cone, of the bound of an interval that is below (sign 1) or above it (-1), or of
 * the bound -mu x_normal (sign 1) or mu x_normal (-1) of a coupled row, x_normal >= 0.  y from x
 * (all rows), which is inside; z on its axis. */
void lcplug_pairs_add_cone(cone_pairs *p, const force_set *set, const double *x, double z);
void lcplug_pairs_add_bound(cone_pairs *p, const force_set *set, double sign, double bound,
                            const double *x, double z);
void lcplug_pairs_add_coupled(cone_pairs *p, const force_set *set, double sign, const double *x,
                              double z);

/* Pair k: where it is, its block of dw/dx, row-major, and what of it is in the normal's column, if
 * that is another row.  After `scale`. */
typedef struct pair_rows {
  int first, rows, normal;
} pair_rows;
pair_rows lcplug_pair_rows(const cone_pairs *p, int k);
void lcplug_pair_block(const cone_pairs *p, int k, double *elements);
double lcplug_pair_coupling(const cone_pairs *p, int k);

/* The kernels on all of them. */
static inline double lcplug_pairs_take_velocities(const cone_pairs *p, double *r) {
  return p->kernels->take_velocities(p->quad, p->quads, p->exact, r);
}
static inline void lcplug_pairs_scale(cone_pairs *p) {
  p->kernels->scale(p->quad, p->quads, p->exact);
}
static inline void lcplug_pairs_wish(cone_pairs *p, double target, int second_order,
                                     double *right) {
  p->kernels->wish(p->quad, p->quads, target, second_order, right);
}
static inline double lcplug_pairs_spread(cone_pairs *p, const double *dx) {
  return p->kernels->spread(p->quad, p->quads, p->natural, dx);
}
static inline double lcplug_pairs_product(const cone_pairs *p, double step) {
  return p->kernels->product(p->quad, p->quads, step);
}
static inline void lcplug_pairs_set_second_order(cone_pairs *p) {
  p->kernels->set_second_order(p->quad, p->quads);
}
static inline void lcplug_pairs_balance(cone_pairs *p, double target, double ahead) {
  p->kernels->balance(p->quad, p->quads, target, ahead);
}
static inline void lcplug_pairs_move(cone_pairs *p, double step) {
  p->kernels->move(p->quad, p->quads, p->natural, step);
}

/* The correctors' part of t: keeps it, takes it back to what was kept. */
void lcplug_pairs_keep_second(cone_pairs *p);
void lcplug_pairs_restore_second(cone_pairs *p);

#endif
