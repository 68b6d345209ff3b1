/* iterate.c - see iterate.h. */
#include "iterate.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Who asks for no more than this does not pay for more; who does gets this, if the last steps
 * can. */
static const double COARSE = 1e-8, POLISHED = 1e-13;
enum { LAST_STEPS = 2 };

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

static double judge(const model *m, const double *x, double *Ax) {
  if (all_zero(x, m->n)) memset(Ax, 0, (size_t)m->n * sizeof *Ax);
  else m->op->table->apply(m->op, x, Ax);
  return lcplug_residual_natural(m, x, Ax);
}

int lcplug_iteration_begin(iteration *it, const model *m, double *Ax, lcplug_workspace *workspace) {
  workspace_mark mark = lcplug_mark(workspace);
  double *none = TAKE(workspace, double, m->n);
  lcplug_make_feasible(m, it->x);
  it->residual = judge(m, it->x, Ax);
  if (none && !(it->residual <= it->tol) && !all_zero(it->x, m->n)) {
    memset(none, 0, (size_t)m->n * sizeof *none);
    lcplug_make_feasible(m, none); /* bounds need not contain 0 */
    double without = judge(m, none, Ax);
    if (without <= it->residual) { /* a guess that is no better is no help */
      it->residual = without;
      memcpy(it->x, none, (size_t)m->n * sizeof *none);
    }
  }
  lcplug_release(workspace, mark);
  double rounding = fmin(lcplug_rounding_level(m, it->x), ROUNDING_EXCUSES);
  int solved = it->residual <= fmax(it->tol, rounding);
  it->status = solved ? LCPLUG_SOLVED : LCPLUG_ITERATION_LIMIT;
  return solved;
}

int lcplug_iteration_is_best(const iteration *it, double residual) {
  return residual < it->residual ||
         (it->prefers_later && residual < INFINITY && residual <= it->residual);
}

int lcplug_iteration_next(iteration *it, double residual, double rounding) {
  it->iterations++;
  it->last = residual;
  double allowed = it->tol;
  if (lcplug_iteration_is_best(it, residual)) {
    it->residual = residual;
    allowed = fmax(it->tol, fmin(rounding, ROUNDING_EXCUSES)); /* of this x, and no other */
  }
  it->status = LCPLUG_ITERATION_LIMIT;
  if (it->residual <= allowed) it->status = LCPLUG_SOLVED;
  else if (it->deadline < INFINITY && lcplug_now() > it->deadline) it->status = LCPLUG_TIME_LIMIT;
  return it->status != LCPLUG_ITERATION_LIMIT;
}

int lcplug_iteration_keep(iteration *it, int n, const double *x, double residual, double rounding) {
  if (lcplug_iteration_is_best(it, residual)) memcpy(it->x, x, (size_t)n * sizeof *x);
  return lcplug_iteration_next(it, residual, rounding);
}

int lcplug_iteration_observe(iteration *it, const model *m, const double *x, const double *Ax) {
  return lcplug_iteration_keep(it, m->n, x, lcplug_residual_natural(m, x, Ax),
                               lcplug_rounding_level(m, x));
}

int lcplug_iteration_is_clean(const iteration *it, int last_steps) {
  return it->status != LCPLUG_SOLVED || it->tol > COARSE || it->residual <= POLISHED ||
         last_steps == LAST_STEPS;
}
