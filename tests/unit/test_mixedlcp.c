/* test_mixedlcp.c - the object of mixedlcp.h: its conventions, and what it refuses.
 *
 * None of these tests needs libode: where there is none, solver=upstream is answered by exact, and
 * the same must hold. */
#include <lcplug/mixedlcp.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { CONTACTS = 6, ROWS = 3 * CONTACTS };

static const lcplug_solver SOLVERS[] = {LCPLUG_AUTO, LCPLUG_EXACT, LCPLUG_PGS, LCPLUG_APGD,
                                        LCPLUG_UPSTREAM};
enum { SOLVERS_IN_ALL = sizeof SOLVERS / sizeof SOLVERS[0] };

/* A pile with friction, well conditioned, as a full matrix. */
typedef struct pile {
  double A[ROWS * ROWS], b[ROWS], lo[ROWS], hi[ROWS];
  int32_t findex[ROWS];
} pile;

static pile make_pile(void) {
  pile made;
  rng r = {7};
  instance *p = instance_contacts(&r, CONTACTS, 4, 0.05, 0.5, 0.5);
  for (int i = 0; i < ROWS; i++) {
    made.b[i] = p->b[i], made.lo[i] = p->lo[i], made.hi[i] = p->hi[i],
    made.findex[i] = p->findex[i];
    for (int j = 0; j < ROWS; j++) made.A[i * ROWS + j] = instance_at(p, i, j);
  }
  instance_free(p);
  return made;
}

static lcplug_mixedlcp *object(lcplug_solver solver) {
  lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(ROWS, 0);
  ck_assert_ptr_nonnull(lcp);
  ck_assert_int_eq(lcplug_mixedlcp_size(lcp), ROWS);
  lcplug_mixedlcp_settings(lcp)->solver = solver;
  return lcp;
}

static lcplug_mixedlcp *object_of(const pile *p, lcplug_solver solver) {
  lcplug_mixedlcp *lcp = object(solver);
  ck_assert_int_eq(lcplug_mixedlcp_set_matrix(lcp, p->A, ROWS, 1), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_right_side(lcp, p->b, ROWS, 0), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_low(lcp, p->lo, ROWS), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_high(lcp, p->hi, ROWS), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_index(lcp, p->findex, ROWS), LCPLUG_OK);
  return lcp;
}

/* Solves and compares with another object: the same bits. */
static void check_same_answer(lcplug_mixedlcp *lcp, lcplug_mixedlcp *other) {
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_solve(other), LCPLUG_OK);
  size_t bytes = ROWS * sizeof(double);
  ck_assert_mem_eq(lcplug_mixedlcp_lambda(lcp), lcplug_mixedlcp_lambda(other), bytes);
  ck_assert_mem_eq(lcplug_mixedlcp_w(lcp), lcplug_mixedlcp_w(other), bytes);
  ck_assert(lcplug_mixedlcp_valid(lcp) && lcplug_mixedlcp_valid(other));
  lcplug_mixedlcp_free(lcp);
  lcplug_mixedlcp_free(other);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Every solver finds a small, well conditioned pile's only answer, and w is A lambda - b. */
START_TEST(all_solvers_agree) {
  pile p = make_pile();
  lcplug_mixedlcp *exact = object_of(&p, LCPLUG_EXACT);
  ck_assert_int_eq(lcplug_mixedlcp_solve(exact), LCPLUG_OK);
  const double *best = lcplug_mixedlcp_lambda(exact);
  for (int s = 0; s < SOLVERS_IN_ALL; s++) {
    lcplug_mixedlcp *lcp = object_of(&p, SOLVERS[s]);
    ck_assert(!lcplug_mixedlcp_valid(lcp));
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
    ck_assert(lcplug_mixedlcp_valid(lcp));
    lcplug_info info = lcplug_mixedlcp_info(lcp);
    ck_assert_int_eq(info.status, LCPLUG_SOLVED);
    ck_assert_double_le(info.residual, 1e-6);
    ck_assert_double_ge(info.seconds, 0.0);
    const double *lambda = lcplug_mixedlcp_lambda(lcp), *w = lcplug_mixedlcp_w(lcp);
    ck_assert_double_le(distance_max(lambda, best, ROWS), 1e-4);
    for (int i = 0; i < ROWS; i++) {
      double sum = -p.b[i];
      for (int j = 0; j < ROWS; j++) sum += p.A[i * ROWS + j] * lambda[j];
      ck_assert_double_le(fabs(sum - w[i]), 1e-12);
    }
    lcplug_mixedlcp_free(lcp);
  }
  lcplug_mixedlcp_free(exact);
}
END_TEST

/* Upstream would end the program on a row that must push; its object does not. */
START_TEST(bounds_away_from_zero) {
  pile p = make_pile();
  p.lo[3] = 2.0, p.hi[3] = 3.0;
  check_same_answer(object_of(&p, LCPLUG_UPSTREAM), object_of(&p, LCPLUG_EXACT));
}
END_TEST

START_TEST(no_rows) {
  for (int s = 0; s < SOLVERS_IN_ALL; s++) {
    lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(0, 0);
    lcplug_mixedlcp_settings(lcp)->solver = SOLVERS[s];
    ck_assert_int_eq(lcplug_mixedlcp_set_matrix(lcp, NULL, 0, 1), LCPLUG_OK);
    ck_assert_int_eq(lcplug_mixedlcp_set_right_side(lcp, NULL, 0, 0), LCPLUG_OK);
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
    ck_assert(lcplug_mixedlcp_valid(lcp));
    lcplug_mixedlcp_free(lcp);
  }
}
END_TEST

/* ---- conventions ----------------------------------------------------------------------------- */

/* The largest double means unbounded, as an infinity does. */
START_TEST(largest_double_is_unbounded) {
  pile p = make_pile();
  p.hi[1] = p.hi[5] = INFINITY;
  pile q = p;
  for (int i = 0; i < ROWS; i++) {
    q.lo[i] = fmax(p.lo[i], -DBL_MAX);
    q.hi[i] = fmin(p.hi[i], DBL_MAX);
  }
  ck_assert_double_eq(q.hi[0], DBL_MAX);
  for (int s = 0; s < SOLVERS_IN_ALL; s++)
    check_same_answer(object_of(&p, SOLVERS[s]), object_of(&q, SOLVERS[s]));
}
END_TEST

START_TEST(negated_right_side) {
  pile p = make_pile();
  double minus_b[ROWS];
  for (int i = 0; i < ROWS; i++) minus_b[i] = -p.b[i];
  lcplug_mixedlcp *lcp = object_of(&p, LCPLUG_EXACT);
  ck_assert_int_eq(lcplug_mixedlcp_set_right_side(lcp, minus_b, ROWS, 1), LCPLUG_OK);
  check_same_answer(lcp, object_of(&p, LCPLUG_EXACT));
}
END_TEST

/* What lies above the diagonal is not read unless it is offered. */
START_TEST(lower_triangle) {
  pile p = make_pile(), q = p;
  for (int i = 0; i < ROWS; i++)
    for (int j = i + 1; j < ROWS; j++) q.A[i * ROWS + j] = NAN;
  for (int s = 0; s < SOLVERS_IN_ALL; s++) {
    lcplug_mixedlcp *lcp = object_of(&p, SOLVERS[s]);
    ck_assert_int_eq(lcplug_mixedlcp_set_matrix(lcp, q.A, ROWS, 0), LCPLUG_OK);
    check_same_answer(lcp, object_of(&p, SOLVERS[s]));
  }
}
END_TEST

/* Vectors that end early leave the rows behind them unbounded and without friction. */
START_TEST(short_vectors) {
  pile p = make_pile(), q = p;
  enum { KNOWN = ROWS - 3 };
  for (int i = KNOWN; i < ROWS; i++) q.lo[i] = -INFINITY, q.hi[i] = INFINITY, q.findex[i] = -1;
  lcplug_mixedlcp *lcp = object_of(&p, LCPLUG_EXACT);
  ck_assert_int_eq(lcplug_mixedlcp_set_low(lcp, p.lo, KNOWN), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_high(lcp, p.hi, KNOWN), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_index(lcp, p.findex, KNOWN), LCPLUG_OK);
  check_same_answer(lcp, object_of(&q, LCPLUG_EXACT));
}
END_TEST

/* nub rows are free, and a part that is set again leaves the others as they are. */
START_TEST(free_rows_and_changed_parts) {
  pile p = make_pile(), q = p;
  lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(ROWS, 3);
  lcplug_mixedlcp *other = object_of(&q, LCPLUG_EXACT);
  lcplug_mixedlcp_settings(lcp)->solver = LCPLUG_EXACT;
  lcplug_mixedlcp_set_matrix(lcp, p.A, ROWS, 1);
  lcplug_mixedlcp_set_right_side(lcp, p.b, ROWS, 0);
  lcplug_mixedlcp_set_low(lcp, p.lo, ROWS);
  lcplug_mixedlcp_set_high(lcp, p.hi, ROWS);
  lcplug_mixedlcp_set_friction_index(lcp, p.findex, ROWS);
  for (int i = 0; i < 3; i++) q.lo[i] = -INFINITY, q.hi[i] = INFINITY, q.findex[i] = -1;
  ck_assert_int_eq(lcplug_mixedlcp_solve(other), LCPLUG_OK);
  lcplug_mixedlcp_set_low(other, q.lo, ROWS);
  lcplug_mixedlcp_set_high(other, q.hi, ROWS);
  lcplug_mixedlcp_set_friction_index(other, q.findex, ROWS);
  check_same_answer(lcp, other);
}
END_TEST

/* lambda is where the next solve begins: its own answer takes no step, somebody's near it fewer. */
START_TEST(lambda_is_the_guess) {
  pile p = make_pile();
  const lcplug_solver first_order[] = {LCPLUG_PGS, LCPLUG_APGD};
  for (int s = 0; s < 2; s++) {
    lcplug_mixedlcp *lcp = object_of(&p, first_order[s]), *next = object_of(&p, first_order[s]);
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
    int cold = lcplug_mixedlcp_info(lcp).iterations;
    ck_assert_int_gt(cold, 4);
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
    ck_assert_int_le(lcplug_mixedlcp_info(lcp).iterations, cold / 2);
    memcpy(lcplug_mixedlcp_lambda(next), lcplug_mixedlcp_lambda(lcp), ROWS * sizeof(double));
    ck_assert_int_eq(lcplug_mixedlcp_solve(next), LCPLUG_OK);
    ck_assert_int_le(lcplug_mixedlcp_info(next).iterations, cold / 2);
    lcplug_mixedlcp_lambda(next)[0] = NAN; /* a guess is never trusted */
    lcplug_mixedlcp_lambda(next)[3] = -1e300;
    ck_assert_int_eq(lcplug_mixedlcp_solve(next), LCPLUG_OK);
    ck_assert(lcplug_mixedlcp_valid(next));
    lcplug_mixedlcp_free(lcp);
    lcplug_mixedlcp_free(next);
  }
}
END_TEST

/* A caller raises CFM until an answer is valid.  Two rows that contradict each other have none
 * without. */
START_TEST(raised_cfm_helps) {
  double A[4] = {1, 1, 1, 1}, b[2] = {1, -1};
  for (int s = 0; s < SOLVERS_IN_ALL; s++) {
    lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(2, 2);
    lcplug_mixedlcp_settings(lcp)->solver = SOLVERS[s];
    lcplug_mixedlcp_set_right_side(lcp, b, 2, 0);
    int times = 0, valid = 0;
    double cfm = 0.0, added = 0.0;
    for (; !valid && cfm < 1.0; cfm = fmax(2 * cfm, 1e-4), times++) {
      added += cfm;
      A[0] = A[3] = 1.0 + added;
      lcplug_mixedlcp_set_matrix(lcp, A, 2, 1);
      valid = !lcplug_mixedlcp_solve(lcp) && lcplug_mixedlcp_valid(lcp);
    }
    ck_assert_int_gt(times, 1);
    ck_assert(valid);
    const double *x = lcplug_mixedlcp_lambda(lcp);
    ck_assert_double_le(fabs(x[0] + x[1]), 1e-3 / added);
    ck_assert_double_le(fabs(x[0] - 1.0 / added), 1e-3 / added);
    lcplug_mixedlcp_free(lcp);
  }
}
END_TEST

/* ---- additional friction --------------------------------------------------------------------- */

/* One block of mass 1 pressed down with force 2 and pushed sideways with 5: it slides, and friction
 * is mu times the normal force and what is added. */
START_TEST(additional_friction) {
  double A[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, b[3] = {2, -5, 0.25};
  double lo[3] = {0, -0.5, -0.5}, hi[3] = {INFINITY, 0.5, 0.5}, more[3] = {77, 1.5, 0};
  int32_t findex[3] = {-1, 0, 0};
  for (int s = 0; s < SOLVERS_IN_ALL; s++) {
    lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(3, 0);
    lcplug_mixedlcp_settings(lcp)->solver = SOLVERS[s];
    lcplug_mixedlcp_set_matrix(lcp, A, 3, 1);
    lcplug_mixedlcp_set_right_side(lcp, b, 3, 0);
    lcplug_mixedlcp_set_low(lcp, lo, 3);
    lcplug_mixedlcp_set_high(lcp, hi, 3);
    lcplug_mixedlcp_set_friction_index(lcp, findex, 3);
    ck_assert_int_eq(lcplug_mixedlcp_set_additional_friction(lcp, more, 3), LCPLUG_OK);
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
    ck_assert(lcplug_mixedlcp_valid(lcp));
    const double *x = lcplug_mixedlcp_lambda(lcp), *w = lcplug_mixedlcp_w(lcp);
    ck_assert_double_le(fabs(x[0] - 2.0), 1e-6);
    ck_assert_double_le(fabs(x[1] + 0.5 * 2.0 + 1.5), 1e-6);
    ck_assert_double_le(fabs(w[1] - 2.5), 1e-6);
    ck_assert_double_le(fabs(x[2] - 0.25), 1e-6);
    lcplug_mixedlcp_set_additional_friction(lcp, NULL, 0); /* none again */
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
    ck_assert_double_le(fabs(x[1] + 0.5 * 2.0), 1e-6);
    lcplug_mixedlcp_set_additional_friction(lcp, more, 3);
    lcplug_mixedlcp_settings(lcp)->friction = LCPLUG_FRICTION_COULOMB;
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_ERROR_UNSUPPORTED);
    lcplug_mixedlcp_free(lcp);
  }
}
END_TEST

/* A contact that does not press keeps what is added, whatever mu says. */
START_TEST(additional_friction_without_contact) {
  double A[4] = {1, 0, 0, 1}, b[2] = {-1, 5}, lo[2] = {0, 0}, hi[2] = {INFINITY, INFINITY};
  double more[2] = {0, 1.5};
  int32_t findex[2] = {-1, 0};
  lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(2, 0);
  lcplug_mixedlcp_set_matrix(lcp, A, 2, 1);
  lcplug_mixedlcp_set_right_side(lcp, b, 2, 0);
  lcplug_mixedlcp_set_low(lcp, lo, 2);
  lcplug_mixedlcp_set_high(lcp, hi, 2);
  lcplug_mixedlcp_set_friction_index(lcp, findex, 2);
  lcplug_mixedlcp_set_additional_friction(lcp, more, 2);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
  ck_assert_double_eq(lcplug_mixedlcp_lambda(lcp)[0], 0.0);
  ck_assert_double_eq(lcplug_mixedlcp_lambda(lcp)[1], 1.5);
  lcplug_mixedlcp_free(lcp);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

static void asymmetric(pile *p) { p->A[2 * ROWS + 1] += 0.1; }
static void nan_in_matrix(pile *p) { p->A[3 * ROWS + 1] = p->A[1 * ROWS + 3] = NAN; }
static void negative_diagonal(pile *p) { p->A[4 * ROWS + 4] = -1.0; }
static void nan_in_right_side(pile *p) { p->b[2] = NAN; }
static void crossed_bounds(pile *p) { p->lo[3] = 1.0, p->hi[3] = -1.0; }
static void nan_in_low(pile *p) { p->lo[0] = NAN; }
static void index_out_of_range(pile *p) { p->findex[1] = ROWS; }

static const struct {
  void (*spoil)(pile *p);
  lcplug_error error;
} FAULTS[] = {
    {asymmetric, LCPLUG_ERROR_ASYMMETRIC},      {nan_in_matrix, LCPLUG_ERROR_NOT_FINITE},
    {negative_diagonal, LCPLUG_ERROR_DIAGONAL}, {nan_in_right_side, LCPLUG_ERROR_NOT_FINITE},
    {crossed_bounds, LCPLUG_ERROR_BOUNDS},      {nan_in_low, LCPLUG_ERROR_BOUNDS},
    {index_out_of_range, LCPLUG_ERROR_FINDEX}};
enum { FAULTS_IN_ALL = sizeof FAULTS / sizeof FAULTS[0] };

/* Whoever solves, with additional friction and without: the fault has its name, and the last answer
 * stays as it was, but does not count as one to what was asked now. */
START_TEST(bad_input) {
  pile good = make_pile();
  for (int s = 0; s < SOLVERS_IN_ALL; s++)
    for (int more = 0; more < 2; more++) {
      lcplug_mixedlcp *lcp = object_of(&good, SOLVERS[s]);
      double additional[ROWS] = {0}, lambda[ROWS], w[ROWS];
      additional[1] = more;
      lcplug_mixedlcp_set_additional_friction(lcp, additional, ROWS);
      ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
      memcpy(lambda, lcplug_mixedlcp_lambda(lcp), sizeof lambda);
      memcpy(w, lcplug_mixedlcp_w(lcp), sizeof w);
      pile bad = good;
      FAULTS[_i].spoil(&bad);
      lcplug_mixedlcp_set_matrix(lcp, bad.A, ROWS, 1);
      lcplug_mixedlcp_set_right_side(lcp, bad.b, ROWS, 0);
      lcplug_mixedlcp_set_low(lcp, bad.lo, ROWS);
      lcplug_mixedlcp_set_high(lcp, bad.hi, ROWS);
      lcplug_mixedlcp_set_friction_index(lcp, bad.findex, ROWS);
      ck_assert(lcplug_mixedlcp_valid(lcp));
      ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), FAULTS[_i].error);
      ck_assert(!lcplug_mixedlcp_valid(lcp));
      ck_assert_mem_eq(lambda, lcplug_mixedlcp_lambda(lcp), sizeof lambda);
      ck_assert_mem_eq(w, lcplug_mixedlcp_w(lcp), sizeof w);
      lcplug_mixedlcp_free(lcp);
    }
}
END_TEST

/* A matrix with auxiliary rows for friction: [A e; mu -e 0] is not symmetric. */
START_TEST(augmented_matrix) {
  double A[9] = {2, 0, 0, 0, 2, 1, 0.5, -1, 0}, b[3] = {1, 1, 0};
  for (int s = 0; s < SOLVERS_IN_ALL; s++) {
    lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(3, 0);
    lcplug_mixedlcp_settings(lcp)->solver = SOLVERS[s];
    lcplug_mixedlcp_set_matrix(lcp, A, 3, 1);
    lcplug_mixedlcp_set_right_side(lcp, b, 3, 0);
    ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_ERROR_ASYMMETRIC);
    ck_assert(!lcplug_mixedlcp_valid(lcp));
    lcplug_mixedlcp_free(lcp);
  }
}
END_TEST

START_TEST(missing_parts) {
  pile p = make_pile();
  lcplug_mixedlcp *lcp = object(LCPLUG_AUTO);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_ERROR_ARGUMENT);
  lcplug_mixedlcp_set_matrix(lcp, p.A, ROWS, 1);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_ERROR_ARGUMENT);
  lcplug_mixedlcp_set_right_side(lcp, p.b, ROWS, 0);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
  ck_assert(lcplug_mixedlcp_valid(lcp));
  lcplug_mixedlcp_free(lcp);
}
END_TEST

static void omega_too_large(lcplug_settings *s) { s->omega = 3.0; }
static void unknown_friction(lcplug_settings *s) { s->friction = (lcplug_friction)99; }
static void negative_budget(lcplug_settings *s) { s->max_iter = -1; }
static void nan_as_tolerance(lcplug_settings *s) { s->tol = NAN; }
static void other_version(lcplug_settings *s) { s->api = 0; }

static const struct {
  void (*spoil)(lcplug_settings *s);
  lcplug_error error;
} WRONG_SETTINGS[] = {{omega_too_large, LCPLUG_ERROR_SETTING},
                      {unknown_friction, LCPLUG_ERROR_SETTING},
                      {negative_budget, LCPLUG_ERROR_SETTING},
                      {nan_as_tolerance, LCPLUG_ERROR_SETTING},
                      {other_version, LCPLUG_ERROR_ARGUMENT}};
enum { WRONG_SETTINGS_IN_ALL = sizeof WRONG_SETTINGS / sizeof WRONG_SETTINGS[0] };

/* One error for one mistake, whoever would have solved, with additional friction and without. */
START_TEST(wrong_settings) {
  pile p = make_pile();
  for (int s = 0; s < SOLVERS_IN_ALL; s++)
    for (int more = 0; more < 2; more++) {
      lcplug_mixedlcp *lcp = object_of(&p, SOLVERS[s]);
      double additional[ROWS] = {0};
      additional[1] = more;
      lcplug_mixedlcp_set_additional_friction(lcp, additional, ROWS);
      ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
      ck_assert(lcplug_mixedlcp_valid(lcp));
      WRONG_SETTINGS[_i].spoil(lcplug_mixedlcp_settings(lcp));
      ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), WRONG_SETTINGS[_i].error);
      ck_assert(!lcplug_mixedlcp_valid(lcp));
      lcplug_mixedlcp_free(lcp);
    }
}
END_TEST

/* Friction rows that were announced and are not in the index would have mu as their bound. */
START_TEST(announced_friction_rows) {
  pile p = make_pile();
  lcplug_mixedlcp *lcp = object_of(&p, LCPLUG_AUTO);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_constraints(lcp, 2 * CONTACTS), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_constraints(lcp, 2 * CONTACTS + 1), LCPLUG_OK);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_ERROR_FINDEX);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_constraints(lcp, 1), LCPLUG_OK);
  lcplug_mixedlcp_set_friction_index(lcp, NULL, 0);
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_ERROR_FINDEX);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_constraints(lcp, -1), LCPLUG_ERROR_SIZE);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_constraints(lcp, ROWS + 1), LCPLUG_ERROR_SIZE);
  lcplug_mixedlcp_free(lcp);
}
END_TEST

START_TEST(wrong_arguments) {
  pile p = make_pile();
  double negative[1] = {-1.0}, none[1] = {NAN};
  lcplug_mixedlcp *lcp = object(LCPLUG_AUTO);
  ck_assert_ptr_null(lcplug_mixedlcp_create(-1, 0));
  ck_assert_ptr_null(lcplug_mixedlcp_create(1, -1));
  ck_assert_ptr_null(lcplug_mixedlcp_create(INT32_MAX, 0));
  ck_assert_ptr_null(lcplug_mixedlcp_create(3, 4));
  ck_assert_ptr_null(lcplug_mixedlcp_create(3, INT32_MAX));
  ck_assert_int_eq(lcplug_mixedlcp_set_matrix(lcp, NULL, ROWS, 1), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_mixedlcp_set_matrix(lcp, p.A, ROWS - 1, 1), LCPLUG_ERROR_SIZE);
  ck_assert_int_eq(lcplug_mixedlcp_set_right_side(lcp, p.b, ROWS - 1, 0), LCPLUG_ERROR_SIZE);
  ck_assert_int_eq(lcplug_mixedlcp_set_right_side(lcp, NULL, ROWS, 0), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_mixedlcp_set_low(lcp, p.lo, ROWS + 1), LCPLUG_ERROR_SIZE);
  ck_assert_int_eq(lcplug_mixedlcp_set_high(lcp, p.hi, -1), LCPLUG_ERROR_SIZE);
  ck_assert_int_eq(lcplug_mixedlcp_set_friction_index(lcp, NULL, 1), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_mixedlcp_set_additional_friction(lcp, negative, 1), LCPLUG_ERROR_BOUNDS);
  ck_assert_int_eq(lcplug_mixedlcp_set_additional_friction(lcp, none, 1), LCPLUG_ERROR_BOUNDS);
  lcplug_mixedlcp_free(lcp);
  ck_assert_int_eq(lcplug_mixedlcp_solve(NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_mixedlcp_set_matrix(NULL, p.A, ROWS, 1), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_mixedlcp_set_low(NULL, p.lo, ROWS), LCPLUG_ERROR_ARGUMENT);
  ck_assert_ptr_null(lcplug_mixedlcp_settings(NULL));
  ck_assert_ptr_null(lcplug_mixedlcp_lambda(NULL));
  ck_assert_int_eq(lcplug_mixedlcp_size(NULL), 0);
  ck_assert_int_eq(lcplug_mixedlcp_valid(NULL), 0);
  lcplug_mixedlcp_free(NULL);
}
END_TEST

/* Dantzig knows no cones. */
START_TEST(upstream_has_no_cones) {
  pile p = make_pile();
  lcplug_mixedlcp *lcp = object_of(&p, LCPLUG_UPSTREAM);
  lcplug_mixedlcp_settings(lcp)->friction = LCPLUG_FRICTION_CONE;
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_ERROR_UNSUPPORTED);
  lcplug_mixedlcp_settings(lcp)->solver = LCPLUG_APGD;
  ck_assert_int_eq(lcplug_mixedlcp_solve(lcp), LCPLUG_OK);
  ck_assert(lcplug_mixedlcp_valid(lcp));
  lcplug_mixedlcp_free(lcp);
}
END_TEST

/* ---- L D L^T --------------------------------------------------------------------------------- */

/* max |A - L D L^T| for what lcplug_mixedlcp_ldlt returns. */
static double ldlt_error(const instance *p, const double *L) {
  double worst = 0.0;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0.0;
      for (int k = 0; k <= j; k++)
        sum += (k < i ? L[i * p->n + k] : 1.0) * (k < j ? L[j * p->n + k] : 1.0) * L[k * p->n + k];
      worst = fmax(worst, fabs(sum - instance_at(p, i, j)));
    }
  return worst;
}

START_TEST(ldlt) {
  rng r = {11};
  for (int rank = 3; rank <= 24; rank += 7) { /* singular, and not */
    instance *p = instance_random(&r, 20, rank, 0.0);
    double L[400];
    memset(L, 0x55, sizeof L);
    ck_assert_int_eq(lcplug_mixedlcp_ldlt(20, p->A, p->stride, L, 20), 1);
    ck_assert_double_le(ldlt_error(p, L), 1e-12);
    int pivots = 0;
    for (int i = 0; i < 20; i++) pivots += L[i * 20 + i] > 0.0;
    ck_assert_int_eq(pivots, rank < 20 ? rank : 20);
    for (int j = 1; j < 20; j++) ck_assert_double_eq(L[j], 0.0);
    ck_assert_int_eq(lcplug_mixedlcp_ldlt(20, p->A, p->stride, p->A, p->stride), 1); /* in place */
    for (int i = 0; i < 20; i++) ck_assert_mem_eq(p->A + (size_t)i * p->stride, L + i * 20, 160);
    instance_free(p);
  }
}
END_TEST

START_TEST(ldlt_refuses) {
  double negative[4] = {1, 0, 2, 3}, hollow[4] = {0, 0, 1, 1}, L[4];
  ck_assert_int_eq(lcplug_mixedlcp_ldlt(2, negative, 2, L, 2), 0); /* 3 - 2 * 2 < 0 */
  ck_assert_int_eq(lcplug_mixedlcp_ldlt(2, hollow, 2, L, 2), 0);
  ck_assert_int_eq(lcplug_mixedlcp_ldlt(2, hollow, 1, L, 2), 0);
  ck_assert_int_eq(lcplug_mixedlcp_ldlt(2, NULL, 2, L, 2), 0);
  ck_assert_int_eq(lcplug_mixedlcp_ldlt(0, NULL, 0, NULL, 0), 1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("mixedlcp");
  TCase *answers = support_case(suite, "answers");
  tcase_add_test(answers, all_solvers_agree);
  tcase_add_test(answers, bounds_away_from_zero);
  tcase_add_test(answers, no_rows);
  TCase *conventions = support_case(suite, "conventions");
  tcase_add_test(conventions, largest_double_is_unbounded);
  tcase_add_test(conventions, negated_right_side);
  tcase_add_test(conventions, lower_triangle);
  tcase_add_test(conventions, short_vectors);
  tcase_add_test(conventions, free_rows_and_changed_parts);
  tcase_add_test(conventions, lambda_is_the_guess);
  tcase_add_test(conventions, raised_cfm_helps);
  TCase *additional = support_case(suite, "additional friction");
  tcase_add_test(additional, additional_friction);
  tcase_add_test(additional, additional_friction_without_contact);
  TCase *refusals = support_case(suite, "refusals");
  tcase_add_loop_test(refusals, bad_input, 0, FAULTS_IN_ALL);
  tcase_add_test(refusals, augmented_matrix);
  tcase_add_test(refusals, missing_parts);
  tcase_add_loop_test(refusals, wrong_settings, 0, WRONG_SETTINGS_IN_ALL);
  tcase_add_test(refusals, announced_friction_rows);
  tcase_add_test(refusals, wrong_arguments);
  tcase_add_test(refusals, upstream_has_no_cones);
  TCase *decomposition = support_case(suite, "decomposition");
  tcase_add_test(decomposition, ldlt);
  tcase_add_test(decomposition, ldlt_refuses);
  return support_run(suite);
}
