/* diff_mixedlcp_calls.c - every call of mixedlcp.h in a caller's order, against upstream ODE.
 *
 * Problem.   diff_mixedlcp.cpp drives the classes; who writes C calls the functions below them.
 * Method.    One problem of a real scene that upstream gives up on: all setters, a solve that
 *            fails, CFM doubled until one does not, and the answer as the guess of the next object.
 *            Upstream itself is asked for the problem as it has become.
 * Contract.  solver=upstream gives upstream's bits, the others its w. */
#include <lcplug/mixedlcp.h>

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <ode/ode.h>

#include "capture.h"
#include "unit/support.h"

/* Additional friction, so that the bounds are not just mu times a normal force. */
static double *additional_forces(int n) {
  double *force = calloc((size_t)n, sizeof *force);
  ck_assert_ptr_nonnull(force);
  for (int i = 0; i < n; i++) force[i] = 0.125 * (i % 5);
  return force;
}

static int friction_rows(const diff_problem *p) {
  int count = 0;
  for (int i = 0; i < p->n; i++) count += diff_is_friction(p, i);
  return count;
}

/* All setters.  additional: NULL for none. */
static void set_all(lcplug_mixedlcp *lcp, const diff_problem *p, const double *additional) {
  int findex_count = p->findex ? p->n : 0, additional_count = additional ? p->n : 0;
  ck_assert_int_eq(lcplug_mixedlcp_set_matrix(lcp, p->A, p->stride, 0), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_right_side(lcp, p->b, p->n, 0), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_low(lcp, p->lo, p->n), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_high(lcp, p->hi, p->n), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_index(lcp, p->findex, findex_count), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_constraints(lcp, friction_rows(p)), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_additional_friction(lcp, additional, additional_count),
                   LCPLUG_OK);
}

static lcplug_mixedlcp *object_of(const diff_problem *p, lcplug_solver solver,
                                  const double *additional) {
  lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(p->n, p->nub);
  ck_assert_ptr_nonnull(lcp);
  lcplug_mixedlcp_settings(lcp)->solver = solver;
  set_all(lcp, p, additional);
  return lcp;
}

/* Doubles the CFM until the answer is valid, in p too.  The number of solves; 0 if none was. */
static int solve_patiently(lcplug_mixedlcp *lcp, diff_problem *p, const double *additional) {
  double cfm = 0.0;
  for (int solves = 1;; solves++) {
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
    if (lcplug_mixedlcp_valid(lcp)) return solves;
    cfm = fmax(2 * cfm, 1e-4);
    if (cfm > 0.1) return 0;
    for (int i = 0; i < p->n; i++) p->A[(size_t)i * p->stride + (size_t)i] += cfm;
    set_all(lcp, p, additional);
  }
}

/* The problem with the constant bounds mu |x_n| + force, where x_n is upstream's answer to the
 * problem without friction. */
static diff_problem *frozen_by_upstream(const diff_problem *p, const double *additional) {
  double *bound = calloc(2 * (size_t)p->n, sizeof *bound), *minus = bound + p->n;
  ck_assert_ptr_nonnull(bound);
  diff_problem *without = diff_problem_frozen(p, bound, bound);
  diff_answer *normal = diff_upstream(without);
  for (int i = 0; i < p->n; i++) {
    if (diff_is_friction(p, i)) bound[i] = fabs(p->hi[i] * normal->x[p->findex[i]]) + additional[i];
    minus[i] = -bound[i];
  }
  diff_problem *frozen = diff_problem_frozen(p, minus, bound);
  diff_answer_free(normal);
  diff_problem_free(without);
  free(bound);
  return frozen;
}

static double distance(const double *u, const double *v, int n) {
  double worst = 0.0;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(u[i] - v[i]));
  return worst;
}

static void check_upstreams_answer(lcplug_mixedlcp *lcp, const diff_answer *upstream) {
  diff_expect(lcplug_mixedlcp_info(lcp).solver == LCPLUG_UPSTREAM, "upstream was not asked");
  double x = distance(lcplug_mixedlcp_lambda(lcp), upstream->x, upstream->n);
  diff_expect(x == 0.0, "lambda is %.2e from upstream's", x);
  double w = distance(lcplug_mixedlcp_w(lcp), upstream->w, upstream->n) / upstream->unit;
  diff_expect(w <= 1e-9, "w is %.2e from upstream's", w);
  diff_expect(upstream->residual <= 1e-4, "valid with a residual of %.2e", upstream->residual);
}

/* L D L^T = A, element by element, against the largest one. */
static void check_decomposition(const diff_problem *p) {
  size_t n = (size_t)p->n;
  double *L = calloc(n * n, sizeof *L), worst = 0.0, largest = 0.0;
  ck_assert_ptr_nonnull(L);
  diff_expect(lcplug_mixedlcp_ldlt(p->n, p->A, p->stride, L, n), "A has no L D L^T");
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = 0.0;
      for (size_t k = 0; k <= j; k++)
        sum += (k < i ? L[i * n + k] : 1.0) * (k < j ? L[j * n + k] : 1.0) * L[k * n + k];
      worst = fmax(worst, fabs(sum - p->A[i * p->stride + j]));
      largest = fmax(largest, fabs(p->A[i * p->stride + j]));
    }
  diff_expect(worst <= 1e-12 * largest, "L D L^T is %.2e from A", worst / largest);
  free(L);
}

/* Who starts from upstream's lambda has little left to do, and ends there. */
static void check_warm_start(const diff_problem *frozen, lcplug_solver solver, const double *lambda,
                             const diff_answer *upstream) {
  lcplug_mixedlcp *cold = object_of(frozen, solver, NULL), *warm = object_of(frozen, solver, NULL);
  memcpy(lcplug_mixedlcp_lambda(warm), lambda, (size_t)frozen->n * sizeof *lambda);
  ck_assert_int_eq(lcplug_mixedlcp_solve(cold), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_solve(warm), LCPLUG_OK);
  int all = lcplug_mixedlcp_info(cold).iterations, left = lcplug_mixedlcp_info(warm).iterations;
  diff_expect(left <= all / 10, "%s: %d iterations with upstream's lambda, %d without",
              lcplug_solver_name(solver), left, all);
  double w = distance(lcplug_mixedlcp_w(warm), upstream->w, frozen->n) / upstream->unit;
  diff_expect(lcplug_mixedlcp_valid(warm) && w <= 1e-5, "%s: w is %.2e from upstream's",
              lcplug_solver_name(solver), w);
  lcplug_mixedlcp_free(cold);
  lcplug_mixedlcp_free(warm);
}

/* exact starts from nothing and needs no CFM; of w with the same bounds there is one. */
static void check_exact(const diff_problem *frozen, const diff_answer *upstream) {
  lcplug_mixedlcp *lcp = object_of(frozen, LCPLUG_EXACT, NULL);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
  double w = distance(lcplug_mixedlcp_w(lcp), upstream->w, frozen->n) / upstream->unit;
  diff_expect(lcplug_mixedlcp_valid(lcp) && w <= 1e-7, "exact: w is %.2e from upstream's", w);
  lcplug_mixedlcp_free(lcp);
}

/* Upstream says on stderr that it gives up, which is what this test is about. */
static void say_nothing(int number, const char *format, va_list arguments) {
  (void)number, (void)format, (void)arguments;
}

START_TEST(whole_order_of_calls) {
  ck_assert(scenes_init());
  scene_config config = scene_config_default();
  config.kind = "tower", config.size = 3, config.mu = 0.5, config.cfm = 0.0;
  diff_problem *p = capture_from_scene(&config, 0, 20, 160, 1);
  ck_assert_msg(p != NULL, "upstream met no error on the tower");
  double *additional = additional_forces(p->n);
  lcplug_mixedlcp *lcp = object_of(p, LCPLUG_UPSTREAM, additional);
  dSetMessageHandler(say_nothing);
  int solves = solve_patiently(lcp, p, additional);
  diff_problem *frozen = frozen_by_upstream(p, additional);
  diff_answer *upstream = diff_upstream(frozen);
  dSetMessageHandler(NULL);
  diff_expect(solves > 1, "valid after %d solves: no CFM was needed", solves);
  check_upstreams_answer(lcp, upstream);
  check_decomposition(p);
  check_exact(frozen, upstream);
  check_warm_start(frozen, LCPLUG_PGS, lcplug_mixedlcp_lambda(lcp), upstream);
  check_warm_start(frozen, LCPLUG_APGD, lcplug_mixedlcp_lambda(lcp), upstream);
  lcplug_mixedlcp_free(lcp);
  diff_answer_free(upstream);
  diff_problem_free(frozen);
  diff_problem_free(p);
  free(additional);
  scenes_done();
  diff_finish();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("mixedlcp in C against upstream");
  tcase_add_test(support_case(suite, "calls"), whole_order_of_calls);
  return support_run(suite);
}
