/* interior_point.c - Mehrotra's predictor-corrector method for a box.
 *
 *     A x - b - zl + zu = 0,   (x - lo) zl = mu,   (hi - x) zu = mu,   mu -> 0
 *
 * One factorization of A + diag(zl / (x - lo) + zu / (hi - x)) per step serves the predictor (mu 0)
 * and the corrector.  As soon as two steps agree on which rows are at a bound, or mu can fall no
 * further, the active set tries to finish. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "box.h"

/* In units of the first mu: from here on the active set may try to finish; here nothing is left. */
static const double CROSSOVER_MU = 1e-6, LEAST_MU = 1e-18;

typedef struct interior {
  box *p;
  double *x, *zl, *zu, *r;      /* iterate and dual residual */
  double *sl, *su;              /* x - lo and hi - x, updated on their own: they never cancel to 0 */
  double *dx, *dzl, *dzu, *rhs; /* step */
  double *cl, *cu;              /* complementarity right sides */
  unsigned char *seen;          /* places at the last look */
  int pairs;                    /* finite bounds */
  double mu;
} interior;

static int take_vectors(interior *v, int n, lcplug_workspace *workspace) {
  double **vectors[] = {&v->x,  &v->zl,  &v->zu,  &v->r,  &v->dx,
                        &v->dzl, &v->dzu, &v->rhs, &v->cl, &v->cu, &v->sl, &v->su};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, n))) return 0;
  return (v->seen = TAKE(workspace, unsigned char, n)) != NULL;
}

static int active(const interior *v, int i) { return v->p->place[i] != FIXED; }
static int has_lo(const interior *v, int i) { return active(v, i) && v->p->lo[i] > -INFINITY; }
static int has_hi(const interior *v, int i) { return active(v, i) && v->p->hi[i] < INFINITY; }

/* Moves x inside its bounds and gives every bound a multiplier that fits w. */
static void begin(interior *v) {
  box *p = v->p;
  double unit = p->m->unit;
  for (int i = 0; i < p->n; i++) {
    v->x[i] = p->x[i], v->zl[i] = v->zu[i] = 0.0;
    if (!active(v, i)) continue;
    double room = 0.1 * fmax(fabs(p->x[i]), unit / fmax(p->m->scale[i], DBL_MIN));
    if (has_lo(v, i) && has_hi(v, i)) room = fmin(room, 0.25 * (p->hi[i] - p->lo[i]));
    if (has_lo(v, i)) v->x[i] = fmax(v->x[i], p->lo[i] + room), v->pairs++;
    if (has_hi(v, i)) v->x[i] = fmin(v->x[i], p->hi[i] - room), v->pairs++;
    if (has_lo(v, i)) v->zl[i] = fmax(p->w[i], 0.0) + 0.1 * unit;
    if (has_hi(v, i)) v->zu[i] = fmax(-p->w[i], 0.0) + 0.1 * unit;
    v->sl[i] = v->x[i] - p->lo[i];
    v->su[i] = p->hi[i] - v->x[i];
  }
}

static double mean_product(const interior *v) {
  double sum = 0.0;
  for (int i = 0; i < v->p->n; i++) {
    if (has_lo(v, i)) sum += v->sl[i] * v->zl[i];
    if (has_hi(v, i)) sum += v->su[i] * v->zu[i];
  }
  return v->pairs ? sum / v->pairs : 0.0;
}

/* Products that differ by orders of magnitude make the first steps short: brings each within a
 * factor of ten of their mean by its multiplier. */
static void centre(interior *v) {
  double mu = mean_product(v);
  for (int i = 0; i < v->p->n; i++) {
    if (has_lo(v, i)) v->zl[i] = fmin(fmax(v->zl[i], 0.1 * mu / v->sl[i]), 10.0 * mu / v->sl[i]);
    if (has_hi(v, i)) v->zu[i] = fmin(fmax(v->zu[i], 0.1 * mu / v->su[i]), 10.0 * mu / v->su[i]);
  }
}

static void dual_residual(interior *v) {
  box *p = v->p;
  memcpy(p->x, v->x, (size_t)p->n * sizeof *p->x);
  lcplug_box_set_w(p);
  for (int i = 0; i < p->n; i++) v->r[i] = active(v, i) ? p->w[i] - v->zl[i] + v->zu[i] : 0.0;
}

static void factor(interior *v, iteration *it) {
  box *p = v->p;
  for (int i = 0; i < p->n; i++) {
    p->keep[i] = (unsigned char)active(v, i);
    p->extra[i] = 1e-13 * p->diagonal[i];
    if (has_lo(v, i)) p->extra[i] += v->zl[i] / v->sl[i];
    if (has_hi(v, i)) p->extra[i] += v->zu[i] / v->su[i];
  }
  lcplug_cholesky_factor(&p->factor, p->keep, p->extra);
  it->factorizations++;
}

/* The Newton step to products `target`; second: with the predictor's second-order term. */
static void newton_step(interior *v, double target, int second) {
  box *p = v->p;
  for (int i = 0; i < p->n; i++) {
    if (!active(v, i)) { v->rhs[i] = 0.0; continue; }
    double term = second ? v->dx[i] : 0.0, rhs = -v->r[i];
    if (has_lo(v, i)) {
      v->cl[i] = target - v->sl[i] * v->zl[i] - term * v->dzl[i];
      rhs += v->cl[i] / v->sl[i];
    }
    if (has_hi(v, i)) {
      v->cu[i] = target - v->su[i] * v->zu[i] + term * v->dzu[i];
      rhs -= v->cu[i] / v->su[i];
    }
    v->rhs[i] = rhs;
  }
  lcplug_cholesky_solve(&p->factor, v->rhs);
  for (int i = 0; i < p->n; i++) {
    v->dx[i] = v->rhs[i];
    v->dzl[i] = has_lo(v, i) ? (v->cl[i] - v->zl[i] * v->dx[i]) / v->sl[i] : 0.0;
    v->dzu[i] = has_hi(v, i) ? (v->cu[i] + v->zu[i] * v->dx[i]) / v->su[i] : 0.0;
  }
}

/* The longest step, at most 1, that keeps slacks (or multipliers) positive. */
static double longest_step(const interior *v, int multipliers) {
  double step = 1.0;
  for (int i = 0; i < v->p->n; i++) {
    if (has_lo(v, i)) {
      double value = multipliers ? v->zl[i] : v->sl[i], d = multipliers ? v->dzl[i] : v->dx[i];
      if (d < 0.0) step = fmin(step, -value / d);
    }
    if (has_hi(v, i)) {
      double value = multipliers ? v->zu[i] : v->su[i], d = multipliers ? v->dzu[i] : -v->dx[i];
      if (d < 0.0) step = fmin(step, -value / d);
    }
  }
  return step;
}

static double mean_product_after(const interior *v, double step) {
  double sum = 0.0;
  for (int i = 0; i < v->p->n; i++) {
    if (has_lo(v, i)) sum += (v->sl[i] + step * v->dx[i]) * (v->zl[i] + step * v->dzl[i]);
    if (has_hi(v, i)) sum += (v->su[i] - step * v->dx[i]) * (v->zu[i] + step * v->dzu[i]);
  }
  return v->pairs ? sum / v->pairs : 0.0;
}

static double common_step(const interior *v) { return fmin(longest_step(v, 0), longest_step(v, 1)); }

static double take_step(interior *v) {
  double step = common_step(v);
  if (step < 1.0) step *= 0.995;
  for (int i = 0; i < v->p->n; i++) {
    v->x[i] += step * v->dx[i];
    v->sl[i] += step * v->dx[i];
    v->su[i] -= step * v->dx[i];
    v->zl[i] += step * v->dzl[i];
    v->zu[i] += step * v->dzu[i];
  }
  return step;
}

/* A bound counts as reached when its multiplier outweighs its slack.  Returns the changes since the
 * last look. */
static int look(interior *v) {
  box *p = v->p;
  int changes = 0;
  for (int i = 0; i < p->n; i++) {
    if (!active(v, i)) continue;
    double s = p->m->scale[i];
    unsigned char now = has_lo(v, i) && v->zl[i] > s * v->sl[i]    ? AT_LO
                        : has_hi(v, i) && v->zu[i] > s * v->su[i] ? AT_HI
                                                                          : INSIDE;
    changes += now != v->seen[i];
    v->seen[i] = now;
  }
  return changes;
}

static int cross_over(interior *v, iteration *it) {
  box *p = v->p;
  for (int i = 0; i < p->n; i++) {
    if (!active(v, i)) continue;
    /* Exactly at its bound with the multiplier as w: the place that x - w / A_ii then suggests. */
    p->x[i] = v->seen[i] == AT_LO ? p->lo[i] : v->seen[i] == AT_HI ? p->hi[i] : v->x[i];
    p->w[i] = v->seen[i] == AT_LO ? p->diagonal[i] : v->seen[i] == AT_HI ? -p->diagonal[i] : 0.0;
  }
  return lcplug_active_set(p, it, 6);
}

lcplug_error lcplug_interior_point(box *p, iteration *it, int steps, lcplug_workspace *workspace) {
  interior v = {.p = p};
  if (!take_vectors(&v, p->n, workspace)) return LCPLUG_ERROR_MEMORY;
  lcplug_box_set_w(p);
  begin(&v);
  centre(&v);
  memset(v.seen, FIXED, (size_t)p->n);
  double first = v.mu = mean_product(&v), tried_at = INFINITY;
  for (int step = 0; step < steps; step++) {
    dual_residual(&v);
    if (lcplug_box_observe(p, it)) return LCPLUG_OK;
    int changes = look(&v);
    int last = v.mu <= LEAST_MU * first;
    if (last || (changes == 0 && v.mu < CROSSOVER_MU * first && v.mu < 1e-3 * tried_at)) {
      if (cross_over(&v, it) || last || it->status == LCPLUG_TIME_LIMIT) return LCPLUG_OK;
      tried_at = v.mu;
      dual_residual(&v);
    }
    factor(&v, it);
    newton_step(&v, 0.0, 0);
    double after = mean_product_after(&v, common_step(&v));
    double ratio = v.mu > 0.0 ? after / v.mu : 0.0;
    newton_step(&v, ratio * ratio * ratio * v.mu, 1);
    if (take_step(&v) < 1e-8) break;
    v.mu = mean_product(&v);
  }
  it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
