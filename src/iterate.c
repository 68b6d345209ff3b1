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
  int solved = it->residual <= fmax(it->tol, lcplug_rounding_level(m, it->x));
  it->status = solved ? LCPLUG_SOLVED : LCPLUG_ITERATION_LIMIT;
  return it->status == LCPLUG_SOLVED;
}

int lcplug_iteration_keep(iteration *it, int n, const double *x, double residual, double rounding) {
  it->iterations++;
  if (residual < it->residual) {
    it->residual = residual;
    memcpy(it->x, x, (size_t)n * sizeof *x);
  }
  it->status = LCPLUG_ITERATION_LIMIT;
  if (it->residual <= fmax(it->tol, rounding)) it->status = LCPLUG_SOLVED;
  else if (it->deadline < INFINITY && lcplug_now() > it->deadline) it->status = LCPLUG_TIME_LIMIT;
  return it->status != LCPLUG_ITERATION_LIMIT;
}

int lcplug_iteration_observe(iteration *it, const model *m, const double *x, const double *Ax) {
  return lcplug_iteration_keep(it, m->n, x, lcplug_residual_natural(m, x, Ax),
                               lcplug_rounding_level(m, x));
}
