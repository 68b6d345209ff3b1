/* path_bench.h - a problem with exact Coulomb friction, and a path on it (src/path.h), for the
 * tests of what goes along such paths. */
#ifndef LCPLUG_TESTS_PATH_BENCH_H
#define LCPLUG_TESTS_PATH_BENCH_H

#include "path.h"
#include "support.h"

typedef struct path_bench {
  instance *pile; /* or NULL */
  lcplug_workspace *workspace;
  layout layout;
  lower_triangle lower;
  linop op;
  cholesky factor;
  model model;
  iteration it;
  path path;
} path_bench;

/* The path begins at x, where answers go, too. */
static inline void path_bench_open(path_bench *t, const lcplug_problem *p, double *x) {
  *t = (path_bench){.workspace = lcplug_workspace_create()};
  lcplug_workspace *workspace = t->workspace;
  ck_assert(!lcplug_layout_build(&t->layout, p, workspace));
  ck_assert(!lcplug_scan(&t->lower, p, &t->layout, workspace));
  ck_assert(!lcplug_operator_sparse(&t->op, &t->lower, &t->layout, workspace));
  ck_assert(!lcplug_cholesky_analyze(&t->factor, &t->lower, t->layout.groups, t->layout.group_first,
                                     workspace));
  ck_assert(!lcplug_model_build(&t->model, &t->layout, &t->op, STAGE_COULOMB, NULL, workspace));
  t->it = (iteration){.tol = 1e-10, .deadline = INFINITY, .residual = INFINITY, .x = x};
  ck_assert(
      !lcplug_path_begin(&t->path, &t->model, &t->lower, &t->factor, NULL, &t->it, workspace));
  t->path.smooth.exact = 1;
}

static inline void path_bench_close(path_bench *t) {
  if (t->pile) instance_free(t->pile);
  lcplug_workspace_free(t->workspace);
}

/* The same on a pile, which it frees in the end; answers go to pile->x. */
static inline void path_bench_open_pile(path_bench *t, instance *pile) {
  lcplug_problem p = instance_problem(pile);
  path_bench_open(t, &p, pile->x);
  t->pile = pile;
}

static inline double path_bench_residual(path_bench *t) {
  path *p = &t->path;
  t->op.table->apply(&t->op, t->it.x, p->Atrial);
  return lcplug_residual_natural(&t->model, t->it.x, p->Atrial);
}

#endif
