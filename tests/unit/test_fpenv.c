/* test_fpenv.c - a guest in a host that traps floating-point exceptions, rounds upwards or flushes
 * denormals: same bits, no signal, and the host's environment afterwards
 * as before, flags included. */
#define _GNU_SOURCE
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "support.h"

/* ---- hosts ----------------------------------------------------------------------------------- */

static void plain(void) {}
static void traps(void) {
#if defined(__GLIBC__)
  feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#endif
}
static void traps_all(void) {
#if defined(__GLIBC__)
  feenableexcept(FE_ALL_EXCEPT);
#endif
}
static void upward(void) { fesetround(FE_UPWARD); }
static void toward_zero(void) { fesetround(FE_TOWARDZERO); }
static void flush(void) {
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
}
static void flags_raised(void) { feraiseexcept(FE_INEXACT | FE_UNDERFLOW); }
static void everything(void) { traps(), upward(), flush(); }

static void (*const hosts[])(void) = {plain,       traps, traps_all,    upward,
                                      toward_zero, flush, flags_raised, everything};
enum { HOSTS = sizeof hosts / sizeof *hosts };

/* What a host can see of its environment. */
typedef struct seen {
  int rounding, flags, trapped;
  unsigned int control;
} seen;

static seen look(void) {
  seen s = {.rounding = fegetround(), .flags = fetestexcept(FE_ALL_EXCEPT)};
#if defined(__GLIBC__)
  s.trapped = fegetexcept();
#endif
#if defined(__SSE2__)
  s.control = _mm_getcsr();
#endif
  return s;
}

/* Everything below is done between enter and leave; nothing but the call under test, so that
 * neither Check nor the C library is bothered by the host's habits. */
static seen enter(void (*host)(void)) {
  feclearexcept(FE_ALL_EXCEPT);
  host();
  return look();
}

static void leave(seen before) {
  seen after = look();
  fesetenv(FE_DFL_ENV);
#if defined(__SSE2__)
  _mm_setcsr(0x1f80);
#endif
  ck_assert_int_eq(after.rounding, before.rounding);
  ck_assert_int_eq(after.flags, before.flags);
  ck_assert_int_eq(after.trapped, before.trapped);
  ck_assert_uint_eq(after.control, before.control);
}

/* valgrind emulates neither traps nor rounding. */
static int emulated(const char *test) {
  if (!getenv("VALGRIND") && !getenv("RUNNING_ON_VALGRIND")) return 0;
  support_skip(test, "valgrind does not emulate the floating-point environment");
  return 1;
}

/* ---- problems that would raise everything ---------------------------------------------------- */

static instance *hard_problem(rng *r, int kind) {
  instance *p = instance_contacts(r, 5, 2, kind == 1 ? 0.0 : 1e-4, 0.6, kind ? 0.6 : 0.2);
  for (int i = 0; i < p->n; i++) {
    if (kind == 2) p->b[i] *= 1e-300; /* denormals on the way */
    if (kind == 3) p->b[i] *= 1e200;  /* overflow on the way */
    if (kind == 4) p->hi[i] = INFINITY;
    for (int j = 0; kind == 5 && j <= i; j++) instance_set(p, i, j, 0.0); /* division by 0 */
  }
  return p;
}
enum { KINDS = 6 };

static lcplug_error solve(lcplug_workspace *workspace, instance *p, const double *x0,
                          const lcplug_settings *s, lcplug_info *info, double *residual) {
  lcplug_problem problem = instance_problem(p);
  lcplug_solution solution = {.x = p->x, .w = p->w, .lo = p->used_lo, .hi = p->used_hi};
  problem.x0 = x0;
  lcplug_error error = lcplug_solve(workspace, &problem, s, &solution, info);
  if (error) return error;
  return lcplug_residual(workspace, &problem, s->friction, p->x, 1, p->used_lo, p->used_hi, 1,
                         residual);
}

static void check_same(const instance *p, const instance *q) {
  size_t bytes = (size_t)p->n * sizeof *p->x;
  ck_assert_mem_eq(p->x, q->x, bytes);
  ck_assert_mem_eq(p->w, q->w, bytes);
  ck_assert_mem_eq(p->used_hi, q->used_hi, bytes);
}

/* Every solver and friction model in each host: the bits of the plain host,
 * and its environment kept. */
START_TEST(hosts_get_the_same_bits) {
  const lcplug_solver solvers[] = {LCPLUG_PGS, LCPLUG_APGD, LCPLUG_AUTO};
  const double x0[15] = {1.0, NAN, INFINITY, 1e300, -1e-310};
  rng r = {70};
  if (emulated("hosts_get_the_same_bits")) return;
  for (int k = 0; k < KINDS * 12; k++) {
    lcplug_settings s = settings_for(solvers[k / 4 % 3], (lcplug_friction)(k % 4));
    instance *p = hard_problem(&r, k / 12), *q = instance_copy(p);
    lcplug_workspace *workspace = lcplug_workspace_create();
    lcplug_info plain_info, info;
    double plain_residual = -1.0, residual = -2.0;
    s.max_iter = 50;
    ck_assert_int_eq(solve(workspace, p, x0, &s, &plain_info, &plain_residual), LCPLUG_OK);
    seen before = enter(hosts[_i]);
    lcplug_error error = solve(workspace, q, x0, &s, &info, &residual);
    leave(before);
    ck_assert_int_eq(error, LCPLUG_OK);
    check_same(p, q);
    ck_assert_mem_eq(&info.residual, &plain_info.residual, sizeof info.residual);
    ck_assert_mem_eq(&residual, &plain_residual, sizeof residual);
    ck_assert(info.iterations == plain_info.iterations && info.status == plain_info.status);
    lcplug_workspace_free(workspace);
    instance_free(p), instance_free(q);
  }
}
END_TEST

/* Bad input is refused by its code, not by a signal: by a solve, by a
 * judgement, by the check alone. */
START_TEST(bad_input_does_not_trap) {
  const double bad[] = {NAN, INFINITY, -INFINITY};
  rng r = {71};
  if (emulated("bad_input_does_not_trap")) return;
  for (int k = 0; k < 9; k++) {
    instance *p = instance_contacts(&r, 3, 2, 1e-3, 0.5, 0.5);
    double *places[] = {&p->A[p->stride * 4 + 2], &p->b[3], &p->lo[3]};
    *places[k % 3] = k % 3 == 2 && k / 3 == 2 ? INFINITY : bad[k / 3];
    lcplug_workspace *workspace = lcplug_workspace_create();
    lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_CONE);
    lcplug_problem problem = instance_problem(p);
    double residual;
    seen before = enter(hosts[_i]);
    lcplug_error solved = solve(workspace, p, NULL, &s, NULL, &residual);
    lcplug_error checked = lcplug_problem_check(&problem);
    leave(before);
    lcplug_error expected = k % 3 == 2 ? LCPLUG_ERROR_BOUNDS : LCPLUG_ERROR_NOT_FINITE;
    ck_assert_int_eq(solved, expected);
    ck_assert_int_eq(checked, expected);
    lcplug_workspace_free(workspace);
    instance_free(p);
  }
}
END_TEST

/* Settings with numbers that are none, by field and by text. */
START_TEST(bad_settings_do_not_trap) {
  rng r = {72};
  if (emulated("bad_settings_do_not_trap")) return;
  instance *p = instance_contacts(&r, 3, 2, 1e-3, 0.5, 0.5);
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_CONE),
                  text = lcplug_settings_default();
  double residual;
  s.tol = NAN;
  seen before = enter(hosts[_i]);
  lcplug_error solved = solve(workspace, p, NULL, &s, NULL, &residual);
  lcplug_error parsed = lcplug_settings_parse(&text, "tol=nan", NULL, 0);
  lcplug_error whole = lcplug_settings_set(&text, "max_iter", "1e300");
  lcplug_error fine = lcplug_settings_set(&text, "tol", "0.1");
  leave(before);
  ck_assert_int_eq(solved, LCPLUG_ERROR_SETTING);
  ck_assert_int_eq(parsed, LCPLUG_ERROR_SETTING);
  ck_assert_int_eq(whole, LCPLUG_ERROR_SETTING);
  ck_assert_int_eq(fine, LCPLUG_OK);
  ck_assert(text.tol == 0.1);
  lcplug_workspace_free(workspace);
  instance_free(p);
}
END_TEST

/* The tests themselves: in these hosts plain arithmetic does round, flush and trap. */
START_TEST(hosts_are_what_they_claim) {
  volatile double third = 3.0, tiny = DBL_MIN;
  double exact = 1.0 / third;
  if (emulated("hosts_are_what_they_claim")) return;
  enter(upward);
  volatile double up = 1.0 / third;
  fesetenv(FE_DFL_ENV);
  ck_assert(up > exact);
#if defined(__SSE2__)
  enter(flush);
  volatile double flushed = tiny / 4.0;
  _mm_setcsr(0x1f80);
  ck_assert(flushed == 0.0 && tiny / 4.0 > 0.0);
#endif
}
END_TEST

/* Ends by the signal. */
#if defined(__GLIBC__) && defined(__SSE2__)
START_TEST(trapping_hosts_trap) {
  volatile double huge = DBL_MAX;
  signal(SIGFPE, SIG_DFL); /* a sanitizer has a handler of its own */
  if (emulated("trapping_hosts_trap")) raise(SIGFPE);
  enter(traps);
  huge = huge * huge;
}
END_TEST
#endif

int main(void) {
  Suite *suite = suite_create("floating-point environment");
  TCase *tests = support_case(suite, "hosts");
  tcase_add_loop_test(tests, hosts_get_the_same_bits, 0, HOSTS);
  tcase_add_loop_test(tests, bad_input_does_not_trap, 0, HOSTS);
  tcase_add_loop_test(tests, bad_settings_do_not_trap, 0, HOSTS);
  tcase_add_test(tests, hosts_are_what_they_claim);
#if defined(__GLIBC__) && defined(__SSE2__)
  tcase_add_test_raise_signal(tests, trapping_hosts_trap, SIGFPE);
#else
  support_skip("trapping_hosts_trap", "no way to trap exceptions here");
#endif
  return support_run(suite);
}
