/* test_mend.c - a few contacts are taken out of a problem, solved by themselves and put back.
 *
 * In a pile where every contact sticks all is linear, and the small problem can be written down:
 * S is the Schur complement of A.  In one where contacts slide and open, an answer that is
 * spoilt at a few of them is found again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bends.h"
#include "mend.h"
#include "path_bench.h"

/* One Newton step from x, which is not taken. */
static void look_ahead(path_bench *t, const double *x, double eps) {
  path *p = &t->path;
  point start;
  ck_assert(lcplug_point_take(&start, t->model.n, t->workspace));
  memcpy(start.x, x, (size_t)t->model.n * sizeof *x);
  t->op.table->apply(&t->op, x, start.Ax);
  start.eps = eps * p->smooth.unit;
  lcplug_point_copy(&p->now, &start, t->model.n);
  lcplug_path_follow(p, (manner){.steps = 1, .fastest = 1.0});
  lcplug_point_copy(&p->now, &start, t->model.n);
  p->part = 0.0;
}

static void spoil(rng *r, const instance *p, int contacts, double by, double *x) {
  for (int k = 0; k < contacts; k++) {
    int first = 3 * rng_below(r, p->n / 3);
    for (int i = 0; i < 3; i++) x[first + i] += by * rng_between(r, 0.5, 1.0);
  }
}

/* ---- where all is linear --------------------------------------------------------------------- */

/* What the test hands to its solver, which has no argument for it. */
static struct {
  const instance *problem;
  const double *x, *spoilt;
  int calls;
} linear;

/* Eliminates the rows that are not chosen from a copy of A. */
static void eliminate_others(double *A, int n, const int *chosen) {
  for (int k = 0; k < n; k++) {
    if (chosen[k]) continue;
    for (int i = 0; i < n; i++) {
      double part = i == k ? 0.0 : A[i * n + k] / A[k * n + k];
      for (int j = 0; j < n && part != 0.0; j++) A[i * n + j] -= part * A[k * n + j];
    }
  }
}

/* Checks the small problem against the whole one, and hands out the answer. */
static lcplug_error check_small_problem(const model *m, const lower_triangle *S, cholesky *factor,
                                        iteration *it, lcplug_workspace *workspace) {
  const instance *p = linear.problem;
  int n = p->n, count = 0;
  int *chosen = calloc((size_t)n, sizeof *chosen), *row = calloc((size_t)n, sizeof *row);
  double *A = malloc((size_t)(n * n) * sizeof *A);
  (void)factor, (void)workspace;
  linear.calls++;
  /* its sets are found by their forces, which are random numbers */
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < n; j++)
      if (linear.spoilt[j] == it->x[i]) chosen[j] = 1, row[i] = j, count++;
  ck_assert_int_eq(count, m->n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) A[i * n + j] = instance_at(p, i, j);
  eliminate_others(A, n, chosen);
  for (int i = 0; i < m->n; i++) {
    double w = -m->b[i];
    for (int j = 0; j <= i; j++) {
      double value = S->value[S->begin[i] + (size_t)j], skew = S->skew[S->begin[i] + (size_t)j];
      ck_assert_double_le(fabs(value - A[row[i] * n + row[j]]), 1e-6);
      ck_assert_double_le(fabs(skew), 1e-6);
    }
    for (int j = 0; j < m->n; j++) w += A[row[i] * n + row[j]] * linear.x[row[j]];
    ck_assert_double_le(fabs(w), 1e-5);
    it->x[i] = linear.x[row[i]];
  }
  it->status = LCPLUG_SOLVED;
  free(A), free(chosen), free(row);
  return LCPLUG_OK;
}

START_TEST(the_small_problem_is_a_schur_complement) {
  rng r = {(uint64_t)_i + 5};
  path_bench t;
  instance *p = instance_contacts(&r, 20 + 5 * _i, 8 + _i, 0.1, 0.5, 0.5);
  double *x = calloc((size_t)p->n, sizeof *x), *spoilt = calloc((size_t)p->n, sizeof *x);
  for (int i = 0; i < p->n; i++)
    x[i] = i % 3 ? rng_between(&r, -1.0, 1.0) : rng_between(&r, 20.0, 40.0);
  for (int i = 0; i < p->n; i++) p->b[i] = instance_row_product(p, i, x);
  memcpy(spoilt, x, (size_t)p->n * sizeof *x);
  spoil(&r, p, 2, 1.0, spoilt);
  path_bench_open_pile(&t, p);
  look_ahead(&t, spoilt, 1e-6);
  linear.problem = p, linear.x = x, linear.spoilt = spoilt, linear.calls = 0;
  ck_assert(lcplug_may_mend(&t.path));
  ck_assert(lcplug_mend(&t.path, check_small_problem, t.workspace));
  ck_assert_int_eq(linear.calls, 1);
  ck_assert_double_le(distance_max(t.path.now.x, x, p->n), 1e-6);
  free(x), free(spoilt);
  path_bench_close(&t);
}
END_TEST

/* ---- where it is not ------------------------------------------------------------------------- */

/* The small problem by Newton's method along its own path. */
static lcplug_error solve_by_path(const model *m, const lower_triangle *A, cholesky *factor,
                                  iteration *it, lcplug_workspace *workspace) {
  path p;
  it->residual = INFINITY;
  memset(it->x, 0, (size_t)m->n * sizeof *it->x);
  lcplug_error error = lcplug_path_begin(&p, m, A, factor, NULL, it, workspace);
  if (error) return error;
  p.smooth.exact = 1;
  p.smooth.stiffness = 0.1;
  p.few = 1;
  it->status = LCPLUG_ITERATION_LIMIT;
  if (!lcplug_path_follow(&p, (manner){.steps = 100, .fastest = 1e-3}))
    lcplug_path_follow_bends(&p, 500);
  return LCPLUG_OK;
}

static double merit_of(const path *p) {
  return lcplug_smoothing_merit(&p->smooth, p->now.eps, p->now.x, p->now.Ax);
}

/* Half of the contacts slide or are open.  Mended or not, the point is no worse than before; and
 * most of those that are mended are a few of Newton's steps from the answer. */
START_TEST(a_spoilt_answer_is_found_again) {
  rng r = {(uint64_t)_i + 71};
  int mended = 0, found = 0;
  for (int k = 0; k < 10; k++) {
    path_bench t;
    instance *p = instance_contacts(&r, 60, 25, 1e-3, 0.5, 0.5);
    lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_COULOMB);
    ck_assert_int_eq(instance_solve(p, &s).status, LCPLUG_SOLVED);
    double *spoilt = calloc((size_t)p->n, sizeof *spoilt);
    memcpy(spoilt, p->x, (size_t)p->n * sizeof *spoilt);
    spoil(&r, p, 3, 1.0, spoilt);
    path_bench_open_pile(&t, p);
    look_ahead(&t, spoilt, 1e-4);
    double before = merit_of(&t.path);
    if (lcplug_mend(&t.path, solve_by_path, t.workspace)) {
      mended++;
      ck_assert_double_lt(merit_of(&t.path), before);
      found += lcplug_path_follow(&t.path, (manner){.steps = 20, .fastest = 1e-3});
    } else {
      ck_assert_mem_eq(t.path.now.x, spoilt, (size_t)p->n * sizeof *spoilt);
    }
    free(spoilt);
    path_bench_close(&t);
  }
  ck_assert_int_ge(mended, 8);
  ck_assert_int_ge(found, 6);
}
END_TEST

/* Rows that follow another row's force, few sets, and a mending itself. */
START_TEST(who_is_not_mended) {
  rng r = {3};
  path_bench t;
  path_bench_open_pile(&t, instance_contacts(&r, 30, 10, 1e-3, 0.5, 0.5));
  ck_assert(lcplug_may_mend(&t.path));
  t.path.few = 1;
  ck_assert(!lcplug_may_mend(&t.path));
  path_bench_close(&t);
  path_bench_open_pile(&t, instance_contacts(&r, 4, 2, 1e-3, 0.5, 0.5));
  ck_assert(!lcplug_may_mend(&t.path));
  path_bench_close(&t);
  path_bench_open_pile(&t, instance_contacts(&r, 30, 10, 1e-3, INFINITY, INFINITY));
  ck_assert(!lcplug_may_mend(&t.path));
  path_bench_close(&t);
}
END_TEST

/* Steps that fall short are damped while they do, and nobody finds a trace of it afterwards. */
START_TEST(damping_ends) {
  rng r = {13};
  for (int k = 0; k < 20; k++) {
    path_bench t;
    path_bench_open_pile(&t, instance_contacts(&r, 80, 25, 1e-10, 1.0, 1.0));
    t.path.smooth.stiffness = 1.0;
    t.path.now.eps *= 1e-6;
    t.path.damps = 1;
    int damped = 0;
    for (int step = 0; step < 10 && !damped; step++) {
      if (lcplug_path_follow(&t.path, (manner){.steps = 3, .fastest = 1e-3})) break;
      ck_assert(t.path.damping == 0.0);
      damped = t.path.added > 1e-9;
      ck_assert_int_eq(damped && t.path.part > 0.9, 0);
    }
    path_bench_close(&t);
    if (damped) return;
  }
  ck_abort_msg("no step has ever been damped");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("mend");
  TCase *cases = support_case(suite, "a few contacts");
  tcase_add_loop_test(cases, the_small_problem_is_a_schur_complement, 0, 4);
  tcase_add_loop_test(cases, a_spoilt_answer_is_found_again, 0, 3);
  tcase_add_test(cases, who_is_not_mended);
  tcase_add_test(cases, damping_ends);
  return support_run(suite);
}
