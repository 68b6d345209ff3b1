/* iterate.c - see iterate.h. */
#include "iterate.h"

#include <math.h>
#include <string.h>
#include <time.h>

double lcplug_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int lcplug_meets(const iteration *it, const model *m, const double *x, double residual) {
  return residual <= it->tol || residual <= lcplug_rounding_level(m, x);
}

static int all_zero(const double *x, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] != 0.0) return 0;
  return 1;
}

int lcplug_iteration_begin(iteration *it, const model *m, double *Ax) {
  lcplug_make_feasible(m, it->x);
  if (!all_zero(it->x, m->n)) {
    m->op->table->apply(m->op, it->x, Ax);
    it->residual = lcplug_residual_natural(m, it->x, Ax);
    /* No force leaves 1 by definition, or 0; a guess worse than that is no help. */
    if (it->residual > 1.0) memset(it->x, 0, (size_t)m->n * sizeof *it->x);
  }
  if (all_zero(it->x, m->n)) {
    lcplug_make_feasible(m, it->x); /* bounds need not contain 0 */
    m->op->table->apply(m->op, it->x, Ax);
    it->residual = lcplug_residual_natural(m, it->x, Ax);
  }
  it->status = lcplug_meets(it, m, it->x, it->residual) ? LCPLUG_SOLVED : LCPLUG_ITERATION_LIMIT;
  return it->status == LCPLUG_SOLVED;
}

int lcplug_iteration_observe(iteration *it, const model *m, const double *x, const double *Ax) {
  it->iterations++;
  double residual = lcplug_residual_natural(m, x, Ax);
  if (residual < it->residual) {
    it->residual = residual;
    memcpy(it->x, x, (size_t)m->n * sizeof *x);
  }
  it->status = LCPLUG_ITERATION_LIMIT;
  if (lcplug_meets(it, m, it->x, it->residual)) it->status = LCPLUG_SOLVED;
  else if (it->deadline < INFINITY && lcplug_now() > it->deadline) it->status = LCPLUG_TIME_LIMIT;
  return it->status != LCPLUG_ITERATION_LIMIT;
}
