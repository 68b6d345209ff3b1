/* test_abi.c - the solvers of DART and Bullet called as the engines call them, with no engine
 * there.
 *
 * So there is no upstream either: what lcplug does not solve it must decline, by false, and x must
 * be finite all the same.  Each test is a process of its own, as the settings are read once. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compat/symbols.h"

#define DECLARE_dart(symbol, real)                                                                 \
  bool symbol(int, real *, real *, real *, real *, int, real *, real *, int *, bool);
#define DECLARE_bullet(symbol, real)                                                               \
  bool symbol(int, real *, real *, real *, real *, int, real *, real *, int *, void *);
#define DECLARE(symbol, layout, real) DECLARE_##layout(symbol, real)
LCPLUG_DART_SYMBOLS(DECLARE)
LCPLUG_BULLET_SYMBOLS(DECLARE)

#define DART _ZN4dart8external3ode9dSolveLCPEiPdS2_S2_S2_iS2_S2_Pib
#define BULLET_DOUBLE _Z17btSolveDantzigLCPiPdS_S_S_iS_S_PiR22btDantzigScratchMemory
#define BULLET_SINGLE _Z17btSolveDantzigLCPiPfS_S_S_iS_S_PiR22btDantzigScratchMemory

/* One contact that pushes with 2 and slides along the first tangent with mu 0.5, after two rows of
 * a joint, which are free: 5 rows, so that padded and unpadded rows differ. */
enum { N = 5, PADDED = 8 };
static const double diagonal[N] = {2, 4, 1, 1, 1};
static const double right_side[N] = {2, -4, 2, 5, 0.25};
static const double answer[N] = {1, -1, 2, 1, 0.25};

#define PROBLEM(real, stride, none)                                                                \
  real A[N * (stride)], x[N], b[N], w[N], lo[N], hi[N];                                            \
  int findex[N] = {-1, -1, -1, 2, 2};                                                              \
  for (int i = 0; i < N * (stride); i++) A[i] = (real)0;                                           \
  for (int i = 0; i < N; i++) {                                                                    \
    A[i * (stride) + i] = (real)diagonal[i];                                                       \
    b[i] = (real)right_side[i];                                                                    \
    x[i] = w[i] = (real)7;                                                                         \
    lo[i] = i < 2 ? -(none) : i == 2 ? (real)0 : (real)-0.5;                                       \
    hi[i] = i < 3 ? (none) : (real)0.5;                                                            \
  }

#define ASSERT_ANSWER                                                                              \
  for (int i = 0; i < N; i++) ck_assert_double_eq_tol((double)x[i], answer[i], 1e-6);

START_TEST(dart_is_answered) {
  PROBLEM(double, PADDED, (double)INFINITY)
  ck_assert(DART(N, A, x, b, NULL, 0, lo, hi, findex, true));
  ASSERT_ANSWER
  ck_assert_int_eq(findex[3], 2);
  (void)w;
}
END_TEST

/* Its largest number is how a program may write "none", too. */
START_TEST(dart_without_infinity) {
  PROBLEM(double, PADDED, DBL_MAX)
  ck_assert(DART(N, A, x, b, w, 0, lo, hi, findex, false));
  ASSERT_ANSWER
}
END_TEST

START_TEST(bullet_is_answered) {
  PROBLEM(double, N, 1e10)
  ck_assert(BULLET_DOUBLE(N, A, x, b, w, 0, lo, hi, findex, NULL));
  ASSERT_ANSWER
  /* w is what the sliding row lacks: 1 - 5. */
  ck_assert_double_eq_tol(w[3], -4.0, 1e-6);
  ck_assert_double_eq_tol(w[2], 0.0, 1e-6);
}
END_TEST

START_TEST(bullet_in_floats) {
  PROBLEM(float, N, FLT_MAX)
  ck_assert(BULLET_SINGLE(N, A, x, b, w, 0, lo, hi, findex, NULL));
  ASSERT_ANSWER
  ck_assert_double_eq_tol((double)w[3], -4.0, 1e-5);
}
END_TEST

/* A normal force of Bullet's, with 1e10 for "none", carries a cone: (1, 0.25) / |.| times mu
 * x_n. */
START_TEST(bullet_with_a_cone) {
  setenv("LCPLUG", "friction=coulomb", 1);
  PROBLEM(double, N, 1e10)
  b[4] = 5;
  ck_assert(BULLET_DOUBLE(N, A, x, b, w, 0, lo, hi, findex, NULL));
  ck_assert_double_eq_tol(hypot(x[3], x[4]), 1.0, 1e-6);
  ck_assert_double_eq_tol(x[3], x[4], 1e-6);
}
END_TEST

#define ASSERT_DECLINED(call)                                                                      \
  ck_assert(!(call));                                                                              \
  for (int i = 0; i < N; i++) ck_assert(isfinite(x[i]));

START_TEST(bad_input_is_declined) {
  PROBLEM(double, PADDED, (double)INFINITY)
  A[PADDED + 1] = NAN;
  ASSERT_DECLINED(DART(N, A, x, b, NULL, 0, lo, hi, findex, true))
  A[PADDED + 1] = 4, lo[2] = 1, hi[2] = -1;
  ASSERT_DECLINED(DART(N, A, x, b, NULL, 0, lo, hi, findex, true))
  lo[2] = 0, hi[2] = INFINITY, findex[3] = 77;
  ASSERT_DECLINED(DART(N, A, x, b, w, 0, lo, hi, findex, false))
}
END_TEST

START_TEST(bad_floats_are_declined) {
  PROBLEM(float, N, FLT_MAX)
  b[0] = NAN;
  ASSERT_DECLINED(BULLET_SINGLE(N, A, x, b, w, 0, lo, hi, findex, NULL))
}
END_TEST

/* One sweep of Jacobi over coupled rows is not enough, and there is no upstream to ask. */
START_TEST(a_miss_is_declined) {
  setenv("LCPLUG", "solver=pgs,splitting=jacobi,max_iter=1,tol=1e-14,fallback=upstream", 1);
  PROBLEM(double, N, 1e10)
  A[1 * N + 0] = 1, A[2 * N + 1] = 0.5, A[4 * N + 3] = 0.25;
  ASSERT_DECLINED(BULLET_DOUBLE(N, A, x, b, w, 0, lo, hi, findex, NULL))
}
END_TEST

/* Who names a budget and no fallback wants what there is. */
START_TEST(a_budget_is_kept) {
  setenv("LCPLUG", "solver=pgs,splitting=jacobi,max_iter=1,tol=1e-14", 1);
  PROBLEM(double, N, 1e10)
  A[1 * N + 0] = 1, A[2 * N + 1] = 0.5, A[4 * N + 3] = 0.25;
  ck_assert(BULLET_DOUBLE(N, A, x, b, w, 0, lo, hi, findex, NULL));
}
END_TEST

START_TEST(solver_upstream_has_nobody_to_ask) {
  setenv("LCPLUG", "solver=upstream", 1);
  PROBLEM(double, PADDED, (double)INFINITY)
  ASSERT_DECLINED(DART(N, A, x, b, w, 0, lo, hi, findex, true))
}
END_TEST

int main(void) {
  Suite *suite = suite_create("engines");
  TCase *tests = tcase_create("abi");
  suite_add_tcase(suite, tests);
  tcase_add_test(tests, dart_is_answered);
  tcase_add_test(tests, dart_without_infinity);
  tcase_add_test(tests, bullet_is_answered);
  tcase_add_test(tests, bullet_in_floats);
  tcase_add_test(tests, bullet_with_a_cone);
  tcase_add_test(tests, bad_input_is_declined);
  tcase_add_test(tests, bad_floats_are_declined);
  tcase_add_test(tests, a_miss_is_declined);
  tcase_add_test(tests, a_budget_is_kept);
  tcase_add_test(tests, solver_upstream_has_nobody_to_ask);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_FORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? 1 : 0;
}
