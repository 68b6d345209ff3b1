/* test_promises.c - what holds for every solve, whatever comes in: never worse than no forces,
 * never a number that is none, the same bits for the same input, inputs left alone, limits kept. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static const lcplug_solver solvers[] = {LCPLUG_PGS, LCPLUG_APGD, LCPLUG_AUTO};
enum { FRICTIONS = 4, FIRST_ORDER_PAIRS = 2 * FRICTIONS, PAIRS = 3 * FRICTIONS };

/* The solver and friction model of a loop test's number. */
static lcplug_settings pair_settings(int number, double tol, int max_iter) {
  lcplug_settings s = settings_for(solvers[number / FRICTIONS],
                                   (lcplug_friction)(number % FRICTIONS));
  s.tol = tol, s.max_iter = max_iter;
  return s;
}

/* Solves p from the guess x0 in a workspace with a history of its own. */
static lcplug_info solve_in(lcplug_workspace *workspace, instance *p, const double *x0,
                            const lcplug_settings *s) {
  lcplug_problem problem = instance_problem(p);
  lcplug_solution solution = {.x = p->x, .w = p->w, .lo = p->used_lo, .hi = p->used_hi};
  lcplug_info info;
  problem.x0 = x0;
  ck_assert_int_eq(lcplug_solve(workspace, &problem, s, &solution, &info), LCPLUG_OK);
  return info;
}

static lcplug_info solve_from(instance *p, const double *x0, const lcplug_settings *s) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_info info = solve_in(workspace, p, x0, s);
  lcplug_workspace_free(workspace);
  return info;
}

/* A guess: none, near, far away, huge, or full of numbers that are none. */
static const double *make_guess(rng *r, int kind, double *x0, int n) {
  const double noise[] = {NAN, INFINITY, -INFINITY, DBL_MAX, -1.0, 0.0};
  for (int i = 0; i < n; i++) {
    double size = kind == 1 ? 0.1 : kind == 2 ? 100.0 : 1e300;
    x0[i] = kind == 4 ? noise[rng_below(r, 6)] : size * rng_between(r, -1, 1);
  }
  return kind ? x0 : NULL;
}

/* One iteration from any guess leaves at most what no forces leave. */
START_TEST(one_iteration_is_never_worse_than_none) {
  rng r = {50};
  for (int trial = 0; trial < 60; trial++) {
    instance *p = instance_contacts(&r, 6, 3, trial % 2 ? 0.0 : 1e-6, 0.6, trial % 3 ? 0.6 : 0.2);
    lcplug_settings s = pair_settings(_i, 1e-9, 1);
    double x0[18];
    lcplug_info info = solve_from(p, make_guess(&r, trial % 5, x0, p->n), &s);
    for (int i = 0; i < p->n; i++) ck_assert(isfinite(p->x[i]) && isfinite(p->w[i]));
    ck_assert_msg(info.residual <= 1.0 + 1e-12, "residual %g", info.residual);
    ck_assert_double_eq_tol(info.residual, instance_residual(p, s.friction), 1e-9);
    instance_free(p);
  }
}
END_TEST

/* Where no force is the answer (all contacts open), a bad guess must not be handed back instead. */
START_TEST(no_force_beats_a_bad_guess) {
  rng r = {51};
  for (int trial = 0; trial < 60; trial++) {
    instance *p = instance_contacts(&r, 6, 3, 1e-3, 0.6, 0.6);
    lcplug_settings s = pair_settings(_i, 1e-9, 1);
    double x0[18];
    for (int i = 0; i < p->n; i++)
      p->b[i] = i % 3 ? rng_between(&r, -0.2, 0.2) : rng_between(&r, -2, -1);
    lcplug_info info = solve_from(p, make_guess(&r, trial % 5, x0, p->n), &s);
    ck_assert_msg(info.residual == 0.0, "guess %d: residual %g, but 0 without forces", trial % 5,
                  info.residual);
    instance_free(p);
  }
}
END_TEST

/* ---- warm start ------------------------------------------------------------------------------ */

/* The answer given back as a guess is accepted at once; one slightly off takes fewer iterations
 * than none.  The guess is in the caller's order of rows, here a random one.  (friction=ode first
 * solves another problem, without friction, for which the answer is no answer.) */
START_TEST(warm_starts_help) {
  rng r = {52};
  int warm = 0, cold = 0;
  if (_i % FRICTIONS == LCPLUG_FRICTION_ODE) return;
  for (int trial = 0; trial < 10; trial++) {
    instance *ordered = instance_contacts(&r, 6, 3, 1e-2, 0.6, 0.6),
             *p = instance_permuted(ordered, &r, NULL);
    lcplug_settings s = pair_settings(_i, 1e-9, 100000);
    double x0[18];
    lcplug_info first = solve_from(p, NULL, &s);
    ck_assert_int_eq(first.status, LCPLUG_SOLVED);
    memcpy(x0, p->x, sizeof x0);
    s.tol = 1e-8;
    lcplug_info again = solve_from(p, x0, &s);
    ck_assert(again.status == LCPLUG_SOLVED && again.iterations == 0);
    ck_assert_double_le(distance_max(p->x, x0, 18), 1e-7); /* feasible to the last bit */
    for (int i = 0; i < 18; i++) x0[i] *= 1.0 + 1e-4 * rng_between(&r, -1, 1);
    lcplug_info near = solve_from(p, x0, &s);
    ck_assert_int_eq(near.status, LCPLUG_SOLVED);
    warm += near.iterations, cold += solve_from(p, NULL, &s).iterations;
    instance_free(p);
    instance_free(ordered);
  }
  ck_assert_msg(warm < 0.9 * cold, "%d iterations warm, %d cold", warm, cold);
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

/* Rows first .. first + count - 1 become a chain, A = tridiagonal(-1, 2, -1), b = 1. */
static void set_chain(instance *p, int first, int count) {
  for (int i = first; i < first + count; i++) {
    instance_set(p, i, i, 2.0);
    if (i > first) instance_set(p, i, i - 1, -1.0);
    p->b[i] = 1.0, p->lo[i] = -1e9;
  }
}

/* No more sweeps or steps than there is time for, and no faster than need be. */
static lcplug_settings settings_of_time(int apgd, double time_limit) {
  lcplug_settings s = settings_for(apgd ? LCPLUG_APGD : LCPLUG_PGS, LCPLUG_FRICTION_ODE);
  s.matrix = LCPLUG_MATRIX_DENSE;
  s.tol = 1e-300, s.max_iter = INT_MAX, s.time_limit = time_limit;
  return s;
}

/* A chain of 400 rows is far too stiff for a first-order method to finish in 30 ms to a tolerance
 * below rounding; the best so far comes back, soon after the limit. */
START_TEST(time_limit_is_kept) {
  enum { N = 400 };
  instance *p = instance_create(N);
  set_chain(p, 0, N);
  lcplug_settings s = settings_of_time(_i, 0.03);
  lcplug_info info = solve_from(p, NULL, &s);
  ck_assert_msg(info.status == LCPLUG_TIME_LIMIT, "%s", lcplug_status_text(info.status));
  ck_assert_msg(info.seconds >= 0.03 && info.seconds < 2.0, "%g s", info.seconds);
  ck_assert_double_le(info.residual, 1.0 + 1e-12); /* of equally bad iterates, but for rounding */
  s.time_limit = 1e-9;
  info = solve_from(p, NULL, &s);
  ck_assert_int_eq(info.status, LCPLUG_TIME_LIMIT);
  ck_assert_int_le(info.iterations, 1);
  instance_free(p);
}
END_TEST

/* The same chain, which would use up all of the time, and beside it a chain of eight friction rows
 * that belong to one pressed contact with mu infinite: x_i = (i + 1) (8 - i) / 2 in some fifty
 * sweeps.  Without a part of the time that is theirs they would get one. */
START_TEST(friction_has_its_part_of_the_time) {
  enum { N = 400, FRICTION = 8, NORMAL = N, FIRST = N + 1 };
  instance *p = instance_create(N + 1 + FRICTION);
  set_chain(p, 0, N);
  set_chain(p, FIRST, FRICTION);
  instance_set(p, NORMAL, NORMAL, 1.0);
  p->b[NORMAL] = 1.0, p->lo[NORMAL] = 0.0, p->hi[NORMAL] = INFINITY;
  for (int i = FIRST; i < p->n; i++) p->findex[i] = NORMAL, p->hi[i] = INFINITY;
  lcplug_settings s = settings_of_time(_i, 0.1);
  lcplug_info info = solve_from(p, NULL, &s);
  ck_assert_msg(info.status == LCPLUG_TIME_LIMIT, "%s", lcplug_status_text(info.status));
  for (int i = 0; i < FRICTION; i++)
    ck_assert_double_eq_tol(p->x[FIRST + i], 0.5 * (i + 1) * (FRICTION - i), 0.1);
  instance_free(p);
}
END_TEST

/* The time of a call is measured unless that is switched off. */
START_TEST(seconds_are_told) {
  rng r = {59};
  instance *p = instance_contacts(&r, 6, 3, 1e-4, 0.6, 0.6);
  lcplug_settings s = pair_settings(_i, 1e-9, 100);
  double told = solve_from(p, NULL, &s).seconds;
  ck_assert(told > 0.0 && told < 2.0);
  s.timing = 0;
  ck_assert(solve_from(p, NULL, &s).seconds == 0.0);
  instance_free(p);
}
END_TEST

/* max_iter counts the iterations of each phase, of which friction=ode
 * has two; the status says so. */
START_TEST(iteration_limit_is_kept) {
  rng r = {53};
  for (int limit = 1; limit <= 20; limit += 19) {
    instance *p = instance_contacts(&r, 6, 2, 0.0, 0.6, 0.6);
    lcplug_settings s = pair_settings(_i, 1e-14, limit);
    lcplug_info info = solve_from(p, NULL, &s);
    ck_assert_int_eq(info.status, LCPLUG_ITERATION_LIMIT);
    ck_assert_int_eq(info.iterations, s.friction == LCPLUG_FRICTION_ODE ? 2 * limit : limit);
    instance_free(p);
  }
}
END_TEST

/* ---- the same bits --------------------------------------------------------------------------- */

static void check_same_answer(const instance *p, const instance *q) {
  size_t bytes = (size_t)p->n * sizeof *p->x;
  ck_assert_mem_eq(p->x, q->x, bytes);
  ck_assert_mem_eq(p->w, q->w, bytes);
  ck_assert_mem_eq(p->used_lo, q->used_lo, bytes);
  ck_assert_mem_eq(p->used_hi, q->used_hi, bytes);
}

/* Twice in new workspaces, then in one that has solved larger and
 * smaller problems of other kinds. */
START_TEST(same_input_same_bits) {
  rng r = {54};
  lcplug_workspace *used = lcplug_workspace_create();
  for (int trial = 0; trial < 10; trial++) {
    instance *p = instance_contacts(&r, 6, 3, 1e-4, 0.6, 0.3), *q = instance_copy(p);
    instance *other = instance_random(&r, trial % 2 ? 5 : 70, 30, 1e-3);
    lcplug_settings s = pair_settings(_i, 1e-8, 300),
                    any = pair_settings((_i + trial) % PAIRS, 1e-3, 50);
    any.matrix = trial % 2 ? LCPLUG_MATRIX_DENSE : LCPLUG_MATRIX_SPARSE;
    lcplug_info first = solve_from(p, NULL, &s), second = solve_from(q, NULL, &s);
    check_same_answer(p, q);
    ck_assert(first.residual == second.residual && first.iterations == second.iterations);
    solve_in(used, other, NULL, &any);
    memset(q->x, 0x77, (size_t)q->n * sizeof *q->x);
    lcplug_info third = solve_in(used, q, NULL, &s);
    check_same_answer(p, q);
    ck_assert(first.residual == third.residual && first.iterations == third.iterations);
    instance_free(p);
    instance_free(q);
    instance_free(other);
  }
  lcplug_workspace_free(used);
}
END_TEST

typedef struct worker {
  instance *p;
  lcplug_settings settings;
} worker;

static void *work(void *data) {
  worker *w = data;
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = instance_problem(w->p);
  lcplug_solution solution = {.x = w->p->x, .w = w->p->w, .lo = w->p->used_lo, .hi = w->p->used_hi};
  lcplug_error error = LCPLUG_OK;
  for (int k = 0; k < 20; k++)
    error |= lcplug_solve(workspace, &problem, &w->settings, &solution, NULL);
  lcplug_workspace_free(workspace);
  return error ? data : NULL;
}

/* Four threads at once, each with a workspace of its own: what one alone computes. */
START_TEST(same_bits_in_threads) {
  enum { THREADS = 4 };
  rng r = {55};
  pthread_t threads[THREADS];
  worker workers[THREADS];
  instance *alone = instance_contacts(&r, 10, 4, 1e-4, 0.6, 0.3);
  lcplug_settings s = pair_settings(_i, 1e-8, 100);
  solve_from(alone, NULL, &s);
  for (int k = 0; k < THREADS; k++) {
    workers[k] = (worker){instance_copy(alone), s};
    memset(workers[k].p->x, 0, (size_t)alone->n * sizeof(double));
    ck_assert_int_eq(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
  }
  for (int k = 0; k < THREADS; k++) {
    void *failed;
    ck_assert_int_eq(pthread_join(threads[k], &failed), 0);
    ck_assert_ptr_null(failed);
    check_same_answer(alone, workers[k].p);
    instance_free(workers[k].p);
  }
  instance_free(alone);
}
END_TEST

/* The caller's arrays are only read, to the bit, padding and upper triangle included. */
START_TEST(inputs_are_left_alone) {
  rng r = {56};
  instance *ordered = instance_contacts(&r, 10, 4, 1e-4, 0.6, 0.3),
           *p = instance_permuted(ordered, &r, NULL);
  instance *before = instance_copy(p);
  double x0[30], x0_before[30];
  make_guess(&r, 1, x0, p->n);
  memcpy(x0_before, x0, sizeof x0);
  lcplug_settings s = pair_settings(_i, 1e-8, 100);
  solve_from(p, x0, &s);
  size_t bytes = (size_t)p->n * sizeof(double);
  ck_assert_mem_eq(p->A, before->A, bytes * p->stride);
  ck_assert_mem_eq(p->b, before->b, bytes);
  ck_assert_mem_eq(p->lo, before->lo, bytes);
  ck_assert_mem_eq(p->hi, before->hi, bytes);
  ck_assert_mem_eq(p->findex, before->findex, (size_t)p->n * sizeof *p->findex);
  ck_assert_mem_eq(x0, x0_before, sizeof x0);
  instance_free(p);
  instance_free(before);
  instance_free(ordered);
}
END_TEST

/* ---- numbers at the ends of their range ------------------------------------------------------ */

/* Contacts whose matrix, right sides, bounds and coefficients are multiplied by anything
 * between 1e-300 and 1e300: no number that is none comes back, and the residual is a
 * number from 0 to infinity. */
START_TEST(extreme_numbers_give_finite_answers) {
  rng r = {57};
  for (int trial = 0; trial < 300; trial++) {
    instance *p = instance_contacts(&r, 4, 2, trial % 2 ? 0.0 : 1e-3, 0.6, trial % 3 ? 0.6 : 0.2);
    double range = trial % 4 ? 300.0 : 150.0, force = rng_magnitude(&r, -range, range);
    for (int i = 0; i < p->n; i++) {
      p->b[i] *= trial % 5 ? rng_magnitude(&r, -range, range) : 1.0;
      if (trial % 7 == 0 && i % 3) p->hi[i] = rng_magnitude(&r, -range, range);
      for (int j = 0; j <= i; j++) instance_set(p, i, j, force * instance_at(p, i, j));
    }
    lcplug_settings s = pair_settings(_i, 1e-6, 30);
    lcplug_info info = solve_from(p, NULL, &s);
    for (int i = 0; i < p->n; i++)
      ck_assert_msg(isfinite(p->x[i]) && isfinite(p->w[i]), "trial %d: x %g, w %g", trial, p->x[i],
                    p->w[i]);
    ck_assert_msg(info.residual >= 0.0, "trial %d: residual %g", trial, info.residual);
    instance_free(p);
  }
}
END_TEST

/* The same problem in units 1e-60 to 1e60 times as large is solved as well: residual and status do
 * not depend on the unit.  (Forces f, velocities v; A / f, b v, x f v.) */
START_TEST(units_do_not_matter) {
  const double units[] = {1e-60, 1e-20, 1e-6, 1.0, 1e6, 1e20, 1e60};
  rng r = {58};
  for (int trial = 0; trial < 20; trial++) {
    instance *p = instance_contacts(&r, 5, 2, 1e-2, 0.6, trial % 2 ? 0.6 : 0.2);
    lcplug_settings s = pair_settings(_i, 1e-6, 20000);
    ck_assert_int_eq(solve_from(p, NULL, &s).status, LCPLUG_SOLVED);
    for (int u = 0; u < 7; u++) {
      instance *q = instance_copy(p);
      double force = units[u], speed = units[(3 * u + trial) % 7];
      for (int i = 0; i < p->n; i++) {
        q->b[i] *= speed;
        for (int j = 0; j <= i; j++) instance_set(q, i, j, instance_at(p, i, j) / force);
      }
      lcplug_info info = solve_from(q, NULL, &s);
      ck_assert_msg(info.status == LCPLUG_SOLVED && info.residual <= 1e-6,
                    "forces %g, speeds %g: residual %g", force, speed, info.residual);
      instance_free(q);
    }
    instance_free(p);
  }
}
END_TEST

/* A row that nothing can move, and that asks for more than no force, has no answer.  The status
 * says so, and everybody else has his.  Gradients have one step for all, and do not manage that. */
START_TEST(who_has_no_answer_spoils_nobody_elses) {
  const lcplug_solver all[] = {LCPLUG_AUTO, LCPLUG_EXACT, LCPLUG_PGS};
  rng r = {61};
  instance *p = instance_contacts(&r, 6, 3, 1e-3, 0.6, 0.6), *q = instance_create(p->n + 1);
  lcplug_settings s = settings_for(all[_i], LCPLUG_FRICTION_ODE);
  s.max_iter = 20000;
  ck_assert_int_eq(instance_solve(p, &s).status, LCPLUG_SOLVED);
  for (int i = 0; i < p->n; i++) {
    for (int k = 0; k <= i; k++) instance_set(q, i, k, instance_at(p, i, k));
    q->b[i] = p->b[i], q->lo[i] = p->lo[i], q->hi[i] = p->hi[i], q->findex[i] = p->findex[i];
  }
  q->b[p->n] = 1e3, q->lo[p->n] = 0.0, q->hi[p->n] = INFINITY, q->findex[p->n] = -1;
  ck_assert_int_ne(instance_solve(q, &s).status, LCPLUG_SOLVED);
  for (int i = 0; i < p->n; i++)
    ck_assert_msg(fabs(q->x[i] - p->x[i]) <= 1e-3, "row %d: %g and %g", i, q->x[i], p->x[i]);
  instance_free(p);
  instance_free(q);
}
END_TEST

/* The largest number is no bound, as infinity is. */
START_TEST(largest_number_is_no_bound) {
  rng r = {62};
  instance *p = instance_contacts(&r, 6, 3, 1e-3, INFINITY, INFINITY);
  lcplug_settings s = settings_for(LCPLUG_EXACT, (lcplug_friction)_i);
  double x[18];
  ck_assert_int_eq(instance_solve(p, &s).status, LCPLUG_SOLVED);
  memcpy(x, p->x, sizeof x);
  for (int i = 0; i < p->n; i++) {
    if (isinf(p->hi[i])) p->hi[i] = DBL_MAX;
    if (isinf(p->lo[i])) p->lo[i] = -DBL_MAX;
  }
  ck_assert_int_eq(instance_solve(p, &s).status, LCPLUG_SOLVED);
  for (int i = 0; i < p->n; i++) ck_assert_double_eq_tol(p->x[i], x[i], 1e-9);
  instance_free(p);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("promises");
  TCase *worse = support_case(suite, "never worse"), *limits = support_case(suite, "limits");
  TCase *bits = support_case(suite, "same bits"), *ends = support_case(suite, "extreme numbers");
  tcase_add_loop_test(worse, one_iteration_is_never_worse_than_none, 0, PAIRS);
  tcase_add_loop_test(worse, no_force_beats_a_bad_guess, 0, PAIRS);
  tcase_add_loop_test(worse, warm_starts_help, 0, FIRST_ORDER_PAIRS);
  tcase_add_loop_test(limits, time_limit_is_kept, 0, 2);
  tcase_add_loop_test(limits, friction_has_its_part_of_the_time, 0, 2);
  tcase_add_loop_test(limits, seconds_are_told, 0, PAIRS);
  tcase_add_loop_test(limits, iteration_limit_is_kept, 0, FIRST_ORDER_PAIRS);
  tcase_add_loop_test(bits, same_input_same_bits, 0, PAIRS);
  tcase_add_loop_test(bits, same_bits_in_threads, 0, PAIRS);
  tcase_add_loop_test(bits, inputs_are_left_alone, 0, PAIRS);
  tcase_add_loop_test(ends, extreme_numbers_give_finite_answers, 0, PAIRS);
  tcase_add_loop_test(ends, units_do_not_matter, 0, PAIRS);
  tcase_add_loop_test(ends, who_has_no_answer_spoils_nobody_elses, 0, 3);
  tcase_add_loop_test(ends, largest_number_is_no_bound, 0, FRICTIONS);
  return support_run(suite);
}
