/* exact.c - boxes to rounding error.
 *
 *     a few sweeps of Gauss-Seidel  ->  active sets  ->  interior point and active sets
 *
 * Each step is taken only if the one before has not met the tolerance.  Most problems of a running
 * simulation end with the second one, after a handful of factorizations.  Bounds that follow other
 * forces (friction=pyramid) are frozen, solved for, and frozen anew until they agree. */
#include "exact.h"

#include <math.h>
#include <string.h>

#include "box.h"

enum { FIRST_SWEEPS = 8, ACTIVE_SET_STEPS = 14, INTERIOR_STEPS = 60, FREEZE_ROUNDS = 60 };

int lcplug_exact_offers(const model *m) {
  for (int k = 0; k < m->blocks; k++)
    if (m->sets[k].rows > 1) return 0;
  return 1;
}

static int take_vectors(box *p, lcplug_workspace *workspace) {
  double **vectors[] = {&p->lo, &p->hi,      &p->diagonal, &p->x,    &p->w,
                        &p->dx, &p->clipped, &p->product,  &p->extra};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, p->n))) return 0;
  p->place = TAKE(workspace, unsigned char, p->n);
  p->keep = TAKE(workspace, unsigned char, p->n);
  return p->place && p->keep;
}

lcplug_error lcplug_box_begin(box *p, const model *m, lcplug_workspace *workspace) {
  *p = (box){.m = m, .lower = m->op->lower, .n = m->n, .b = m->b};
  if (!take_vectors(p, workspace)) return LCPLUG_ERROR_MEMORY;
  m->op->table->diagonal(m->op, p->diagonal);
  for (int i = 0; i < p->n; i++) {
    const force_set *s = &m->sets[i];
    p->lo[i] = s->kind == SET_FREE ? -INFINITY : s->lo;
    p->hi[i] = s->kind == SET_FREE ? INFINITY : s->hi;
    p->place[i] = p->lo[i] == p->hi[i] ? FIXED : INSIDE;
  }
  return lcplug_cholesky_analyze(&p->factor, p->lower, m->layout->groups, m->layout->group_first,
                                 workspace);
}

void lcplug_box_set_w(box *p) {
  p->m->op->table->apply(p->m->op, p->x, p->w);
  for (int i = 0; i < p->n; i++) p->w[i] -= p->b[i];
}

int lcplug_box_observe(box *p, iteration *it) {
  int moved = 0;
  for (int i = 0; i < p->n; i++) {
    p->clipped[i] = fmin(fmax(p->x[i], p->lo[i]), p->hi[i]);
    moved |= p->clipped[i] != p->x[i];
  }
  if (moved) p->m->op->table->apply(p->m->op, p->clipped, p->product);
  else
    for (int i = 0; i < p->n; i++) p->product[i] = p->w[i] + p->b[i];
  return lcplug_iteration_observe(it, p->m, p->clipped, p->product);
}

static lcplug_error solve_box(const model *m, const lcplug_settings *settings, iteration *it,
                              lcplug_workspace *workspace) {
  box p;
  iteration sweeps = *it;
  sweeps.max_iter = FIRST_SWEEPS;
  sweeps.iterations = 0;
  lcplug_error error = lcplug_pgs_solve(m, settings, &sweeps, workspace);
  it->residual = sweeps.residual;
  it->status = sweeps.status;
  if (error || it->status == LCPLUG_SOLVED || it->status == LCPLUG_TIME_LIMIT) return error;

  error = lcplug_box_begin(&p, m, workspace);
  if (error) return error;
  memcpy(p.x, it->x, (size_t)p.n * sizeof *p.x);
  lcplug_box_set_w(&p);
  if (lcplug_active_set(&p, it, ACTIVE_SET_STEPS) || it->status == LCPLUG_TIME_LIMIT) return LCPLUG_OK;
  memcpy(p.x, it->x, (size_t)p.n * sizeof *p.x);
  return lcplug_interior_point(&p, it, INTERIOR_STEPS, workspace);
}

/* The model with the bounds of coupled rows frozen at x. */
static void freeze(const model *m, const double *x, force_set *frozen) {
  for (int k = 0; k < m->blocks; k++) {
    frozen[k] = m->sets[k];
    if (frozen[k].kind != SET_COUPLED) continue;
    lcplug_set_couple(&frozen[k], x);
    frozen[k].kind = frozen[k].hi < INFINITY ? SET_INTERVAL : SET_FREE;
  }
}

static lcplug_error solve_coupled(const model *m, const lcplug_settings *settings, iteration *it,
                                  lcplug_workspace *workspace) {
  double *Ax = TAKE(workspace, double, m->n), *x = TAKE(workspace, double, m->n);
  model frozen = *m;
  frozen.sets = TAKE(workspace, force_set, m->blocks);
  if (!Ax || !x || !frozen.sets) return LCPLUG_ERROR_MEMORY;
  lcplug_iteration_begin(it, m, Ax);
  memcpy(x, it->x, (size_t)m->n * sizeof *x);
  for (int round = 0; round < FREEZE_ROUNDS; round++) {
    workspace_mark mark = lcplug_mark(workspace);
    iteration inner = *it;
    inner.x = x;
    freeze(m, x, frozen.sets);
    lcplug_error error = solve_box(&frozen, settings, &inner, workspace);
    lcplug_release(workspace, mark);
    if (error) return error;
    it->factorizations = inner.factorizations;
    m->op->table->apply(m->op, x, Ax);
    if (lcplug_iteration_observe(it, m, x, Ax)) return LCPLUG_OK;
  }
  return LCPLUG_OK;
}

lcplug_error lcplug_exact_solve(const model *m, const lcplug_settings *settings, iteration *it,
                                lcplug_workspace *workspace) {
  int coupled = 0;
  if (!lcplug_exact_offers(m)) return LCPLUG_ERROR_UNSUPPORTED;
  for (int k = 0; k < m->blocks; k++) coupled |= m->sets[k].kind == SET_COUPLED;
  return coupled ? solve_coupled(m, settings, it, workspace) : solve_box(m, settings, it, workspace);
}
