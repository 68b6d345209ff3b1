/* apgd.c - accelerated projected gradient descent (Nesterov; Mazhar, Heyn, Negrut, Tasora 2015).
 *
 *     x+ = P_K(y - g / L),   g = A y - b            projected gradient step from y
 *     L doubles until d'Ad <= L d'd, d = x+ - y      backtracking; falls by 0.97 per iteration
 *     theta+^2 = (1 - theta+) theta^2                Nesterov's recurrence
 *     y = x+ + beta (x+ - x)                         momentum
 *     restart when g'(x+ - x) > 0                    momentum points uphill
 *
 * f is quadratic, so the published test f(x+) <= f(y) + g'd + L/2 d'd is exactly the one above, and
 * that one does not cancel.  All norms carry one weight per block, its mean diagonal element s_i:
 * the step in a block is g_i / (L s_i), and one number per block leaves cone projections exact.
 * A x+ is the only product of an iteration; A y follows from it by linearity.
 *
 * Bounds that depend on x (coupled rows) and De Saxce's term follow the iterates, damped. */
#include "iterate.h"

#include <math.h>
#include <string.h>

static const double DAMPING = 0.3;
static const double LIPSCHITZ_DECAY = 0.97;

typedef struct apgd {
  const model *m;
  force_set *sets;     /* as the model's, with the present bounds of coupled rows */
  double *shift; /* De Saxce's term of each block */
  double *x, *x_before, *y, *g;
  double *Ax, *Ax_before, *Ay;
  double lipschitz;
} apgd;

static int take_vectors(apgd *a, const model *m, lcplug_workspace *workspace) {
  double **vectors[] = {&a->x, &a->x_before, &a->y, &a->g, &a->Ax, &a->Ax_before, &a->Ay};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, m->n))) return 0;
  a->sets = TAKE(workspace, force_set, m->blocks);
  a->shift = TAKE(workspace, double, m->blocks);
  return a->sets && a->shift;
}

static void multiply(const apgd *a, const double *x, double *Ax) {
  a->m->op->table->apply(a->m->op, x, Ax);
}

/* |S^-1 A d| / |d| in the weighted norm, for a d that pushes every block alike. */
static double first_lipschitz(const apgd *a, double *d, double *Ad) {
  const model *m = a->m;
  double above = 0.0, below = 0.0;
  for (int k = 0; k < m->blocks; k++)
    for (int i = 0; i < m->sets[k].rows; i++) d[m->sets[k].first + i] = 1.0 / sqrt(m->scale[k]);
  multiply(a, d, Ad);
  for (int k = 0; k < m->blocks; k++)
    for (int i = 0; i < m->sets[k].rows; i++) {
      above += Ad[m->sets[k].first + i] * Ad[m->sets[k].first + i] / m->scale[k];
      below += 1.0;
    }
  double lipschitz = sqrt(above / below);
  return lipschitz > 0.0 ? lipschitz : 1.0;
}

static void set_gradient(apgd *a) {
  const model *m = a->m;
  for (int i = 0; i < m->n; i++) a->g[i] = a->Ay[i] - m->b[i];
  if (m->coulomb)
    for (int k = 0; k < m->blocks; k++) a->g[m->sets[k].first] += a->shift[k];
}

static void step_from_y(apgd *a) {
  const model *m = a->m;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *s = &a->sets[k];
    double q[SET_MOST_ROWS], step = 1.0 / (a->lipschitz * m->scale[k]);
    for (int i = 0; i < s->rows; i++) q[i] = a->y[s->first + i] - step * a->g[s->first + i];
    lcplug_project(s, q, a->x + s->first);
  }
}

/* d'Ad <= L d'Sd for d = x - y: the quadratic model with this L lies above f. */
static int lipschitz_holds(const apgd *a) {
  const model *m = a->m;
  double curvature = 0.0, length = 0.0;
  for (int k = 0; k < m->blocks; k++)
    for (int j = 0; j < m->sets[k].rows; j++) {
      int i = m->sets[k].first + j;
      double d = a->x[i] - a->y[i];
      curvature += d * (a->Ax[i] - a->Ay[i]);
      length += m->scale[k] * d * d;
    }
  return curvature <= a->lipschitz * length * (1.0 + 1e-12);
}

static void projected_step(apgd *a) {
  for (int attempt = 0; attempt < 60; attempt++) {
    step_from_y(a);
    multiply(a, a->x, a->Ax);
    if (lipschitz_holds(a)) return;
    a->lipschitz *= 2.0;
  }
}

static int points_uphill(const apgd *a) {
  double slope = 0.0;
  for (int i = 0; i < a->m->n; i++) slope += a->g[i] * (a->x[i] - a->x_before[i]);
  return slope > 0.0;
}

static void extrapolate(apgd *a, double beta) {
  for (int i = 0; i < a->m->n; i++) {
    a->y[i] = a->x[i] + beta * (a->x[i] - a->x_before[i]);
    a->Ay[i] = a->Ax[i] + beta * (a->Ax[i] - a->Ax_before[i]);
  }
}

/* Moves bounds and De Saxce's terms a part of the way to those that belong to x. */
static void follow(apgd *a, double part) {
  const model *m = a->m;
  for (int k = 0; k < m->blocks; k++) {
    force_set *s = &a->sets[k];
    if (s->kind == SET_COUPLED) {
      double before = s->hi;
      lcplug_set_couple(s, a->x);
      if (before < INFINITY && s->hi < INFINITY) s->hi = before + part * (s->hi - before);
      s->lo = -s->hi;
    } else if (m->coulomb && s->rows > 1) {
      double w[SET_MOST_ROWS];
      for (int i = 0; i < s->rows; i++) w[i] = a->Ax[s->first + i] - m->b[s->first + i];
      a->shift[k] += part * (lcplug_slip(s, w) - a->shift[k]);
    }
  }
}

static void begin(apgd *a, const iteration *it) {
  const model *m = a->m;
  a->lipschitz = first_lipschitz(a, a->y, a->Ay);
  memcpy(a->sets, m->sets, (size_t)m->blocks * sizeof *a->sets);
  memset(a->shift, 0, (size_t)m->blocks * sizeof *a->shift);
  memcpy(a->x, it->x, (size_t)m->n * sizeof *a->x);
  multiply(a, a->x, a->Ax);
  follow(a, 1.0);
  memcpy(a->y, a->x, (size_t)m->n * sizeof *a->y);
  memcpy(a->Ay, a->Ax, (size_t)m->n * sizeof *a->Ay);
}

static void swap(double **p, double **q) {
  double *r = *p;
  *p = *q;
  *q = r;
}

lcplug_error lcplug_apgd_solve(const model *m, const lcplug_settings *settings, iteration *it,
                               lcplug_workspace *workspace) {
  (void)settings;
  apgd a = {.m = m};
  if (!take_vectors(&a, m, workspace)) return LCPLUG_ERROR_MEMORY;
  if (lcplug_iteration_begin(it, m, a.Ax, workspace)) return LCPLUG_OK;
  begin(&a, it);

  double theta = 1.0;
  for (int k = 0; k < it->max_iter; k++) {
    swap(&a.x, &a.x_before);
    swap(&a.Ax, &a.Ax_before);
    set_gradient(&a);
    projected_step(&a);
    if (lcplug_iteration_observe(it, m, a.x, a.Ax)) return LCPLUG_OK;

    double theta_next = 0.5 * (theta * sqrt(theta * theta + 4.0) - theta * theta);
    double beta = theta * (1.0 - theta) / (theta * theta + theta_next);
    theta = theta_next;
    if (points_uphill(&a)) theta = 1.0, beta = 0.0;
    extrapolate(&a, beta);
    follow(&a, DAMPING);
    a.lipschitz *= LIPSCHITZ_DECAY;
  }
  return LCPLUG_OK;
}
