/* one_contact.c - see one_contact.h.
 *
 * friction=ode in three rows, every number in a register: the normal force is a division, and
 * with the bounds that it gives a few active sets are tried.  A row at its bound stays in the 3
 * x 3 system as the equation x = bound, so that nothing has to be put together or taken apart. */
#include "one_contact.h"

#include <math.h>

#include "box.h"

enum { MOST_STEPS = 6 };

static const double TINY_PIVOT = 1e-13;
static const double ROUNDING = 1e-12; /* w of a row inside, beside b, that asks for more care */

typedef struct contact {
  double a00, a10, a11, a20, a21, a22, b[3];
  double lo[3], hi[3], x[3], w[3];
  int place[3];
} contact;

static inline double largest_of(double a, double b, double c) {
  double ab = a > b ? a : b;
  return ab > c ? ab : c;
}

static inline int is_one_contact(const lcplug_problem *p) {
  const int *findex = p->findex;
  return findex && findex[0] < 0 && findex[1] == 0 && findex[2] == 0 && p->lo[0] == 0.0 &&
         p->hi[0] == INFINITY;
}

/* 0 if anything is unusual, a number that is none among it. */
static inline int load(contact *c, const lcplug_problem *p) {
  const double *first = p->A, *second = first + p->stride, *third = second + p->stride;
  c->a00 = first[0], c->a10 = second[0], c->a11 = second[1];
  c->a20 = third[0], c->a21 = third[1], c->a22 = third[2];
  for (int i = 0; i < 3; i++) c->b[i] = p->b[(size_t)i * p->b_step];
  double sum = (c->a00 + c->a10) + (c->a11 + c->a20) + (c->a21 + c->a22);
  sum += c->b[0] + c->b[1] + c->b[2];
  return c->a00 > 0.0 && c->a11 > 0.0 && c->a22 > 0.0 && isfinite(sum);
}

static inline void set_w(contact *c) {
  const double *x = c->x;
  c->w[0] = c->a00 * x[0] + c->a10 * x[1] + c->a20 * x[2] - c->b[0];
  c->w[1] = c->a10 * x[0] + c->a11 * x[1] + c->a21 * x[2] - c->b[1];
  c->w[2] = c->a20 * x[0] + c->a21 * x[1] + c->a22 * x[2] - c->b[2];
}

static inline int place_of(const contact *c, int i, double d) {
  double q = d * c->x[i] - c->w[i];
  return q < d * c->lo[i] ? AT_LO : q > d * c->hi[i] ? AT_HI : INSIDE;
}

/* Where x and w say that the rows are; 1 if that is where they were. */
static inline int look(contact *c) {
  int p0 = place_of(c, 0, c->a00), p1 = place_of(c, 1, c->a11), p2 = place_of(c, 2, c->a22);
  int same = p0 == c->place[0] && p1 == c->place[1] && p2 == c->place[2];
  c->place[0] = p0, c->place[1] = p1, c->place[2] = p2;
  return same;
}

/* x and w of the present places; 0 if the matrix is singular. */
static inline int solve_places(contact *c) {
  double in[3], v[3]; /* 1 for a row inside; the bound of one that is not */
  for (int i = 0; i < 3; i++) {
    int inside = c->place[i] == INSIDE;
    in[i] = inside ? 1.0 : 0.0;
    v[i] = inside ? 0.0 : c->place[i] == AT_LO ? c->lo[i] : c->hi[i];
  }
  double d0 = in[0] != 0.0 ? c->a00 : 1.0, d1 = in[1] != 0.0 ? c->a11 : 1.0;
  double d2 = in[2] != 0.0 ? c->a22 : 1.0;
  double e10 = in[1] * in[0] * c->a10, e20 = in[2] * in[0] * c->a20, e21 = in[2] * in[1] * c->a21;
  double r0 = in[0] * (c->b[0] - c->a10 * v[1] - c->a20 * v[2]) + v[0];
  double r1 = in[1] * (c->b[1] - c->a10 * v[0] - c->a21 * v[2]) + v[1];
  double r2 = in[2] * (c->b[2] - c->a20 * v[0] - c->a21 * v[1]) + v[2];
  double i0 = 1.0 / d0, l10 = e10 * i0, l20 = e20 * i0;
  double p1 = d1 - l10 * e10, i1 = 1.0 / p1, t21 = e21 - l20 * e10, l21 = t21 * i1;
  double p2 = d2 - l20 * e20 - l21 * t21, i2 = 1.0 / p2;
  if (!(p1 > TINY_PIVOT * d1 && p2 > TINY_PIVOT * d2)) return 0;
  r1 -= l10 * r0;
  r2 -= l20 * r0 + l21 * r1;
  c->x[2] = in[2] != 0.0 ? r2 * i2 : v[2];
  c->x[1] = in[1] != 0.0 ? r1 * i1 - l21 * c->x[2] : v[1];
  c->x[0] = in[0] != 0.0 ? r0 * i0 - l10 * c->x[1] - l20 * c->x[2] : v[0];
  set_w(c);
  return 1;
}

/* With the bounds that the normal force sets; returns the steps that it took, or 0. */
static inline int solve_with_friction(contact *c) {
  c->x[1] = c->x[2] = 0.0;
  set_w(c);
  look(c);
  c->place[0] = INSIDE; /* it pushes: w is rounding error */
  for (int step = 1; step <= MOST_STEPS; step++) {
    if (!solve_places(c)) return 0;
    if (look(c)) return step;
  }
  return 0;
}

static inline double bound_of(double mu, double normal) {
  return mu == 0.0 ? 0.0 : fabs(mu) * normal;
}

/* |w| of a row as far as its bounds let a force at x act against it. */
static inline double violation_of(const contact *c, int i, double d, double x, double w) {
  double size = fabs(w), room = d * (w > 0.0 ? x - c->lo[i] : c->hi[i] - x);
  return size < room ? size : room;
}

/* The worst of the three. */
static inline double violation(const contact *c, double x0, double x1, double x2, double w0,
                               double w1, double w2) {
  return largest_of(violation_of(c, 0, c->a00, x0, w0), violation_of(c, 1, c->a11, x1, w1),
                    violation_of(c, 2, c->a22, x2, w2));
}

static inline double residual_of(const contact *c) {
  const double *b = c->b, *x = c->x, *w = c->w;
  double size = largest_of(fabs(b[0]), fabs(b[1]), fabs(b[2]));
  double without = violation(c, 0.0, 0.0, 0.0, -b[0], -b[1], -b[2]);
  double left = violation(c, x[0], x[1], x[2], w[0], w[1], w[2]);
  return left == 0.0 ? 0.0 : left / (without > 0.0 ? without : size);
}

static inline void write_solution(const contact *c, lcplug_solution *to) {
  size_t x_step = to->x_step ? to->x_step : 1, step = to->bounds_step ? to->bounds_step : 1;
  for (int i = 0; i < 3; i++) {
    to->x[(size_t)i * x_step] = c->x[i];
    if (to->w) to->w[i] = c->w[i];
    if (to->lo) to->lo[(size_t)i * step] = c->lo[i];
    if (to->hi) to->hi[(size_t)i * step] = c->hi[i];
  }
}

int lcplug_one_contact_solve(const lcplug_problem *p, double tol, lcplug_solution *solution,
                             lcplug_info *info) {
  contact c;
  if (!is_one_contact(p) || !load(&c, p)) return 0;
  double mu1 = p->hi[p->bounds_step], mu2 = p->hi[2 * p->bounds_step];
  int steps = 1;
  if (isnan(mu1) || isnan(mu2)) return 0;
  c.lo[0] = 0.0, c.hi[0] = INFINITY;
  c.x[0] = c.b[0] > 0.0 ? c.b[0] / c.a00 : 0.0;
  c.hi[1] = c.x[0] > 0.0 ? bound_of(mu1, c.x[0]) : 0.0;
  c.hi[2] = c.x[0] > 0.0 ? bound_of(mu2, c.x[0]) : 0.0;
  c.lo[1] = -c.hi[1], c.lo[2] = -c.hi[2];
  if (c.x[0] > 0.0) {
    int more = solve_with_friction(&c);
    if (!more) return 0;
    steps += more;
  } else {
    c.x[1] = c.x[2] = 0.0;
    for (int i = 0; i < 3; i++) c.w[i] = -c.b[i];
  }
  double residual = residual_of(&c);
  if (!(residual <= ROUNDING && residual <= tol)) return 0;
  write_solution(&c, solution);
  *info = (lcplug_info){.status = LCPLUG_SOLVED,
                        .solver = LCPLUG_EXACT,
                        .matrix = LCPLUG_MATRIX_DENSE,
                        .iterations = steps,
                        .factorizations = steps,
                        .residual = residual};
  return 1;
}
