/* short_cones.c - see short_cones.h.
 *
 * Rows as engines order them: a contact's normal, then its two tangents with one mu; joints, motors
 * and limits.  What is ordered otherwise, and whatever is not right to the tolerance, is left to
 * the longer ways. */
#include "short_cones.h"

#include <float.h>
#include <math.h>

#include "iterate.h"

enum { MOST_TURNS = 12 };

/* Of the slip's heading, in radians: a turn that changes nothing. */
static const double NO_TURN = 4.0 * DBL_EPSILON;
/* How far rounding takes a force out of its cone. */
static const double ROUNDED = 1.0 + 8.0 * DBL_EPSILON;

/* What a look at all rows has found so far. */
typedef struct look {
  const lcplug_problem *p;
  const double *x, *w;
  int coulomb;
  int is_outside; /* a force is outside its cone, or holds what opens */
  double least;   /* scale of a row */
  double worst;   /* s |F(x)| */
  double unit;    /* s |F(0)| */
  double largest_b, forces, gap;
} look;

static inline double diagonal(const lcplug_problem *p, int i) {
  return p->A[(size_t)i * (p->stride + 1)];
}
static inline double right_side(const lcplug_problem *p, int i) {
  return p->b[(size_t)i * p->b_step];
}
static inline double low_of(const lcplug_problem *p, int i) {
  return p->lo[(size_t)i * p->bounds_step];
}
static inline double high_of(const lcplug_problem *p, int i) {
  return p->hi[(size_t)i * p->bounds_step];
}
static inline double larger(double a, double b) { return a > b ? a : b; }

static inline int is_friction(const lcplug_problem *p, int i) {
  return i >= p->nub && p->findex && p->findex[i] >= 0;
}

static inline int is_contact(const lcplug_problem *p, int i) {
  return p->findex && i >= p->nub && i + 2 < p->n && p->findex[i + 1] == i && p->findex[i + 2] == i;
}

/* A NaN stays. */
static inline void note(double *worst, double violation) {
  if (!(violation <= *worst)) *worst = violation;
}

static inline double row_violation(double x, double w, double scale, double lo, double hi) {
  double q = x - w / scale, p = q < lo ? lo : q > hi ? hi : q;
  return p == q ? fabs(w) : scale * fabs(x - p);
}

static inline void look_at_row(look *l, int i, double lo, double hi, double lo_without,
                               double hi_without) {
  double b = right_side(l->p, i), scale = larger(diagonal(l->p, i), l->least);
  note(&l->worst, row_violation(l->x[i], l->w[i], scale, lo, hi));
  note(&l->unit, row_violation(0.0, -b, scale, lo_without, hi_without));
  l->largest_b = larger(fabs(b), l->largest_b);
  l->forces = larger(scale * fabs(l->x[i]), l->forces);
}

/* |y - P(y - w)| of the cone mu y_n >= |y_t|, with w^ in the place of w. */
static inline double cone_violation(const double *y, const double *w, double mu, int coulomb) {
  double q[3] = {y[0] - w[0], y[1] - w[1], y[2] - w[2]};
  if (coulomb) q[0] -= mu * lcplug_length(w[1], w[2]);
  double slip = lcplug_length(q[1], q[2]);
  if (mu * slip <= -q[0]) q[0] = q[1] = q[2] = 0.0;
  else if (slip > mu * q[0]) {
    q[0] = (q[0] + mu * slip) / (1.0 + mu * mu);
    q[1] *= mu * q[0] / slip, q[2] *= mu * q[0] / slip;
  }
  return lcplug_length(lcplug_length(y[0] - q[0], y[1] - q[1]), y[2] - q[2]);
}

static inline void look_at_cone(look *l, int i, double mu) {
  const double zeros[3] = {0.0, 0.0, 0.0};
  double y[3], w[3], b[3];
  double scale = (diagonal(l->p, i) + diagonal(l->p, i + 1) + diagonal(l->p, i + 2)) / 3.0;
  scale = larger(scale, l->least);
  for (int k = 0; k < 3; k++) {
    y[k] = scale * l->x[i + k], w[k] = l->w[i + k], b[k] = -right_side(l->p, i + k);
    l->largest_b = larger(fabs(b[k]), l->largest_b);
    l->forces = larger(fabs(y[k]), l->forces);
  }
  note(&l->worst, cone_violation(y, w, mu, l->coulomb));
  note(&l->unit, cone_violation(zeros, b, mu, l->coulomb));
  if (!l->coulomb) l->gap = larger(mu * lcplug_length(w[1], w[2]), l->gap);
  l->is_outside |= !(lcplug_length(y[1], y[2]) <= ROUNDED * mu * y[0]);
}

/* Friction without limit, or none: its rows stand alone. */
static inline void look_at_endless(look *l, int i, double mu) {
  double bound = mu > 0.0 && l->x[i] != 0.0 ? INFINITY : 0.0;
  look_at_row(l, i, 0.0, INFINITY, 0.0, INFINITY);
  for (int t = i + 1; t <= i + 2; t++) look_at_row(l, t, -bound, bound, 0.0, 0.0);
  int opens = l->w[i] > diagonal(l->p, i) * l->x[i];
  l->is_outside |= opens && (l->x[i + 1] != 0.0 || l->x[i + 2] != 0.0);
}

/* 0 if it is unusual. */
static inline int look_at_contact(look *l, int i) {
  double mu = fabs(high_of(l->p, i + 1));
  if (low_of(l->p, i) != 0.0 || high_of(l->p, i) != INFINITY || mu != fabs(high_of(l->p, i + 2)))
    return 0;
  (mu > 0.0 && mu < INFINITY ? look_at_cone : look_at_endless)(l, i, mu);
  return 1;
}

/* 0 at the first row that is unusual. */
static inline int look_at_all(look *l) {
  const lcplug_problem *p = l->p;
  double largest = 0.0;
  for (int i = 0; i < p->n; i++) largest = larger(diagonal(p, i), largest);
  l->least = largest > 0.0 ? DBL_EPSILON * largest : 1.0;
  for (int i = 0; i < p->n; i++) {
    if (is_friction(p, i)) return 0;
    if (is_contact(p, i)) {
      if (!look_at_contact(l, i)) return 0;
      i += 2;
      continue;
    }
    double lo = i < p->nub ? -INFINITY : low_of(p, i), hi = i < p->nub ? INFINITY : high_of(p, i);
    look_at_row(l, i, lo, hi, lo, hi);
  }
  return 1;
}

/* The residual of x, and whether it is small enough. */
static int is_solved(look *l, double tol, double *residual) {
  if (l->is_outside) return 0;
  if (l->unit == 0.0) l->unit = l->largest_b > 0.0 ? l->largest_b : 1.0;
  *residual = l->worst / l->unit;
  double rounding = 8.0 * DBL_EPSILON * l->forces / l->unit;
  return *residual <= tol || (*residual <= rounding && *residual <= ROUNDING_EXCUSES);
}

/* ---- one contact ----------------------------------------------------------------------------- */

/* Slides along d, a unit vector that is looked for: with x = x_n (1, mu d) and w_n = 0,
 *
 *     w_t . d' = 0,   d' = (-d_2, d_1),
 *
 * is an equation for its heading, and Newton's method turns d from where x and w say that it is.  0
 * where that leads nowhere: pushed down by its own friction the contact may jam. */
static int slide(const lcplug_problem *p, const double *from, const double *w_from, double *x,
                 double *w) {
  const double *second = p->A + p->stride, *third = second + p->stride;
  double a00 = p->A[0], a10 = second[0], a11 = second[1], a20 = third[0], a21 = third[1],
         a22 = third[2];
  double b0 = right_side(p, 0), b1 = right_side(p, 1), b2 = right_side(p, 2),
         mu = fabs(high_of(p, 1));
  double scale = (a00 + a11 + a22) / 3.0, d1 = from[1] - w_from[1] / scale,
         d2 = from[2] - w_from[2] / scale;
  for (int turns = 0;; turns++) {
    double length = sqrt(d1 * d1 + d2 * d2);
    if (!(length > 0.0)) return 0;
    d1 /= length, d2 /= length;
    double stiffness = a00 + mu * (a10 * d1 + a20 * d2), normal = b0 / stiffness;
    if (!(stiffness > 0.0 && normal > 0.0)) return 0;
    x[0] = normal, x[1] = mu * normal * d1, x[2] = mu * normal * d2;
    w[0] = a00 * x[0] + a10 * x[1] + a20 * x[2] - b0;
    w[1] = a10 * x[0] + a11 * x[1] + a21 * x[2] - b1;
    w[2] = a20 * x[0] + a21 * x[1] + a22 * x[2] - b2;
    double across = w[2] * d1 - w[1] * d2, along = w[1] * d1 + w[2] * d2;
    double by_turn = -normal * mu * (a20 * d1 - a10 * d2) / stiffness; /* of the normal force */
    double by1 = mu * (by_turn * d1 - normal * d2), by2 = mu * (by_turn * d2 + normal * d1);
    double change1 = a10 * by_turn + a11 * by1 + a21 * by2,
           change2 = a20 * by_turn + a21 * by1 + a22 * by2;
    double turn = -across / (change2 * d1 - change1 * d2 - along);
    if (fabs(turn) <= NO_TURN) return along <= 0.0;
    if (turns == MOST_TURNS || !(fabs(turn) < INFINITY)) return 0;
    double next = d1 - turn * d2;
    d2 += turn * d1, d1 = next;
  }
}

/* ---- both ------------------------------------------------------------------------------------ */

static void write_solution(const lcplug_problem *p, const double *x, const double *w,
                           lcplug_solution *to) {
  size_t x_step = to->x_step ? to->x_step : 1, step = to->bounds_step ? to->bounds_step : 1;
  for (int i = 0; i < p->n; i++) {
    double lo = i < p->nub ? -INFINITY : low_of(p, i), hi = i < p->nub ? INFINITY : high_of(p, i);
    if (is_friction(p, i)) lo = -(hi = lcplug_friction_bound(fabs(hi), x[p->findex[i]]));
    to->x[(size_t)i * x_step] = x[i];
    if (to->w) to->w[i] = w[i];
    if (to->lo) to->lo[(size_t)i * step] = lo;
    if (to->hi) to->hi[(size_t)i * step] = hi;
  }
}

int lcplug_short_cones(const lcplug_problem *p, int coulomb, double tol, nearby_answer *nearby,
                       lcplug_solution *solution, lcplug_info *info) {
  double slid_x[3], slid_w[3], residual;
  look l = {.p = p, .x = nearby->x, .w = nearby->w, .coulomb = coulomb};
  if (!p->lo || !p->hi || !look_at_all(&l)) return 0;
  int solved = is_solved(&l, tol, &residual), steps = 0;
  nearby->judged = 1;
  if (!solved && coulomb && p->n == 3 && is_contact(p, 0)) {
    if (!slide(p, nearby->x, nearby->w, slid_x, slid_w)) return 0;
    l = (look){.p = p, .x = slid_x, .w = slid_w, .coulomb = coulomb};
    solved = look_at_all(&l) && is_solved(&l, tol, &residual);
    steps = 1;
  }
  if (!solved) return 0;
  write_solution(p, l.x, l.w, solution);
  *info = nearby->info;
  info->iterations += steps, info->factorizations += steps;
  info->residual = residual;
  info->gap = l.gap;
  return 1;
}
