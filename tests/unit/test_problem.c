/* test_problem.c - bad input, one fault at a time.
 *
 * Each fault is made in a copy of a good problem.  lcplug_problem_check, lcplug_solve
 * (every solver, both operators) and lcplug_residual must name it, and must not have
 * written a byte of the outputs. */
#include "problem.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { ROWS = 9, FULL_STRIDE = 11 };

/* A good problem of three contacts, all arrays at hand to be spoilt. */
typedef struct good {
  lcplug_problem problem;
  double A[ROWS * FULL_STRIDE], b[ROWS], lo[ROWS], hi[ROWS];
  double bx[2 * ROWS], bounds[2 * ROWS]; /* for make_pairs */
  int32_t findex[ROWS];
} good;

static void make_good(good *g) {
  rng r = {20};
  instance *p = instance_contacts(&r, 3, 2, 0.1, 0.5, 0.25);
  memset(g, 0, sizeof *g);
  for (int i = 0; i < ROWS; i++) {
    g->b[i] = p->b[i], g->lo[i] = p->lo[i], g->hi[i] = p->hi[i], g->findex[i] = p->findex[i];
    for (int j = 0; j < ROWS; j++) g->A[i * FULL_STRIDE + j] = instance_at(p, i, j);
  }
  g->problem = instance_problem(p);
  g->problem.stride = FULL_STRIDE;
  g->problem.A = g->A, g->problem.b = g->b, g->problem.lo = g->lo, g->problem.hi = g->hi;
  g->problem.findex = g->findex;
  instance_free(p);
}

/* The same problem with b and the bounds in pairs, as ODE passes them. */
static void make_pairs(good *g) {
  for (int i = 0; i < ROWS; i++) {
    g->bx[2 * i] = g->b[i], g->bx[2 * i + 1] = NAN;
    g->bounds[2 * i] = g->lo[i], g->bounds[2 * i + 1] = g->hi[i];
  }
  g->problem.b = g->bx, g->problem.b_step = 2;
  g->problem.lo = g->bounds, g->problem.hi = g->bounds + 1, g->problem.bounds_step = 2;
}

/* ---- the faults ------------------------------------------------------------------------------ */

static double *at(good *g, int i, int j) { return &g->A[i * FULL_STRIDE + j]; }

static void nan_on_diagonal(good *g) { *at(g, 4, 4) = NAN; }
static void nan_below(good *g) { *at(g, 8, 1) = NAN; }
static void nan_in_last_of_row(good *g) { *at(g, 8, 7) = -NAN; }
static void inf_below(good *g) { *at(g, 5, 0) = INFINITY; }
static void minus_inf_on_diagonal(good *g) { *at(g, 0, 0) = -INFINITY; }
static void nan_in_b(good *g) { g->b[8] = NAN; }
static void nan_in_b_of_pairs(good *g) { make_pairs(g), g->bx[2 * 8] = NAN; }
static void nan_in_b_of_one_row(good *g) { g->problem.n = 1, g->b[0] = NAN; }
static void inf_in_b(good *g) { g->b[0] = -INFINITY; }
static void nan_in_lo(good *g) { g->lo[3] = NAN; }
static void nan_in_hi(good *g) { g->hi[6] = NAN; }
static void nan_in_mu(good *g) { g->hi[1] = NAN; }
static void lo_above_hi(good *g) { g->lo[3] = 1.0, g->hi[3] = 0.5; }
static void lo_above_hi_in_pairs(good *g) {
  make_pairs(g), g->bounds[2 * 6] = 1.0, g->bounds[2 * 6 + 1] = 0.5;
}
static void lo_is_inf(good *g) { g->lo[3] = INFINITY; }
static void hi_is_minus_inf(good *g) { g->lo[3] = g->hi[3] = -INFINITY; }
static void findex_is_n(good *g) { g->findex[1] = ROWS; }
static void findex_is_huge(good *g) { g->findex[1] = INT_MAX; }
static void findex_to_itself(good *g) { g->findex[4] = 4; }
static void findex_of_row_0_to_itself(good *g) { g->findex[0] = 0; }
static void n_is_negative(good *g) { g->problem.n = -1; }
static void n_is_least(good *g) { g->problem.n = INT_MIN; }
static void n_is_too_large(good *g) {
  g->problem.n = PROBLEM_LARGEST + 1, g->problem.stride = SIZE_MAX;
}
static void n_is_largest(good *g) { g->problem.n = INT_MAX, g->problem.stride = SIZE_MAX; }
static void nub_is_negative(good *g) { g->problem.nub = -1; }
static void stride_is_short(good *g) { g->problem.stride = ROWS - 1; }
static void stride_is_zero(good *g) { g->problem.stride = 0; }
static void diagonal_is_negative(good *g) { *at(g, 6, 6) = -1e-9; }
static void asymmetric(good *g) { g->problem.full = 1, *at(g, 2, 5) += 1e-6; }
static void nan_above(good *g) { g->problem.full = 1, *at(g, 2, 5) = NAN; }
static void inf_above(good *g) { g->problem.full = 1, *at(g, 0, 8) = INFINITY; }
static void no_A(good *g) { g->problem.A = NULL; }
static void no_b(good *g) { g->problem.b = NULL; }
static void b_step_is_zero(good *g) { g->problem.b_step = 0; }
static void bounds_step_is_zero(good *g) { g->problem.bounds_step = 0; }
static void uninitialised(good *g) { g->problem.api = 0; }

#define FAULT(make, code) {make, code, #make}
static const struct fault {
  void (*make)(good *g);
  lcplug_error code;
  const char *name;
} faults[] = {
    FAULT(nan_on_diagonal, LCPLUG_ERROR_NOT_FINITE),
    FAULT(nan_below, LCPLUG_ERROR_NOT_FINITE),
    FAULT(nan_in_last_of_row, LCPLUG_ERROR_NOT_FINITE),
    FAULT(inf_below, LCPLUG_ERROR_NOT_FINITE),
    FAULT(minus_inf_on_diagonal, LCPLUG_ERROR_NOT_FINITE),
    FAULT(nan_in_b, LCPLUG_ERROR_NOT_FINITE),
    FAULT(nan_in_b_of_pairs, LCPLUG_ERROR_NOT_FINITE),
    FAULT(nan_in_b_of_one_row, LCPLUG_ERROR_NOT_FINITE),
    FAULT(inf_in_b, LCPLUG_ERROR_NOT_FINITE),
    FAULT(nan_in_lo, LCPLUG_ERROR_BOUNDS),
    FAULT(nan_in_hi, LCPLUG_ERROR_BOUNDS),
    FAULT(nan_in_mu, LCPLUG_ERROR_BOUNDS),
    FAULT(lo_above_hi, LCPLUG_ERROR_BOUNDS),
    FAULT(lo_above_hi_in_pairs, LCPLUG_ERROR_BOUNDS),
    FAULT(lo_is_inf, LCPLUG_ERROR_BOUNDS),
    FAULT(hi_is_minus_inf, LCPLUG_ERROR_BOUNDS),
    FAULT(findex_is_n, LCPLUG_ERROR_FINDEX),
    FAULT(findex_is_huge, LCPLUG_ERROR_FINDEX),
    FAULT(findex_to_itself, LCPLUG_ERROR_FINDEX),
    FAULT(findex_of_row_0_to_itself, LCPLUG_ERROR_FINDEX),
    FAULT(n_is_negative, LCPLUG_ERROR_SIZE),
    FAULT(n_is_least, LCPLUG_ERROR_SIZE),
    FAULT(n_is_too_large, LCPLUG_ERROR_SIZE),
    FAULT(n_is_largest, LCPLUG_ERROR_SIZE),
    FAULT(nub_is_negative, LCPLUG_ERROR_SIZE),
    FAULT(stride_is_short, LCPLUG_ERROR_SIZE),
    FAULT(stride_is_zero, LCPLUG_ERROR_SIZE),
    FAULT(diagonal_is_negative, LCPLUG_ERROR_DIAGONAL),
    FAULT(asymmetric, LCPLUG_ERROR_ASYMMETRIC),
    FAULT(nan_above, LCPLUG_ERROR_NOT_FINITE),
    FAULT(inf_above, LCPLUG_ERROR_NOT_FINITE),
    FAULT(no_A, LCPLUG_ERROR_ARGUMENT),
    FAULT(no_b, LCPLUG_ERROR_ARGUMENT),
    FAULT(b_step_is_zero, LCPLUG_ERROR_ARGUMENT),
    FAULT(bounds_step_is_zero, LCPLUG_ERROR_ARGUMENT),
    FAULT(uninitialised, LCPLUG_ERROR_ARGUMENT),
};
enum { FAULTS = sizeof faults / sizeof *faults };

/* ---- outputs that show any touch ------------------------------------------------------------- */

typedef struct outputs {
  double x[ROWS], w[ROWS], lo[ROWS], hi[ROWS], residual;
  lcplug_info info;
} outputs;

/* The error of a solve with these settings; fails if anything was written. */
static lcplug_error untouched_solve(const lcplug_problem *problem,
                                    const lcplug_settings *settings) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  outputs out, pattern;
  memset(&out, 0x5a, sizeof out);
  memset(&pattern, 0x5a, sizeof pattern);
  lcplug_solution solution = {.x = out.x, .w = out.w, .lo = out.lo, .hi = out.hi};
  lcplug_error error = lcplug_solve(workspace, problem, settings, &solution, &out.info);
  ck_assert_msg(error, "accepted");
  ck_assert_mem_eq(&out, &pattern, sizeof out);
  lcplug_workspace_free(workspace);
  return error;
}

static lcplug_error untouched_residual(const lcplug_problem *problem, lcplug_friction friction) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  double x[ROWS] = {0}, residual = 321.0;
  lcplug_error error = lcplug_residual(workspace, problem, friction, x, 1, NULL, NULL, 0,
                                       &residual);
  ck_assert_msg(error, "accepted");
  ck_assert(residual == 321.0);
  lcplug_workspace_free(workspace);
  return error;
}

START_TEST(faults_are_named_and_nothing_is_written) {
  const struct fault *f = &faults[_i];
  good g;
  make_good(&g);
  ck_assert_int_eq(lcplug_problem_check(&g.problem), LCPLUG_OK);
  f->make(&g);
  ck_assert_msg(lcplug_problem_check(&g.problem) == f->code, "%s: %s", f->name,
                lcplug_error_text(lcplug_problem_check(&g.problem)));
  for (int solver = LCPLUG_AUTO; solver <= LCPLUG_EXACT; solver++)
    for (int matrix = 0; matrix <= LCPLUG_MATRIX_SPARSE; matrix++)
      for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++) {
        lcplug_settings s = settings_for((lcplug_solver)solver, (lcplug_friction)friction);
        s.matrix = (lcplug_matrix)matrix;
        lcplug_error error = untouched_solve(&g.problem, &s);
        ck_assert_msg(error == f->code, "%s, solver %s: %s", f->name, lcplug_solver_name(s.solver),
                      lcplug_error_text(error));
      }
  lcplug_error error = untouched_residual(&g.problem, LCPLUG_FRICTION_CONE);
  ck_assert_msg(error == f->code, "%s: %s", f->name, lcplug_error_text(error));
}
END_TEST

/* ---- what looks odd and is allowed ----------------------------------------------------------- */

static void check_solves(good *g) {
  ck_assert_int_eq(lcplug_problem_check(&g->problem), LCPLUG_OK);
  for (int solver = LCPLUG_PGS; solver <= LCPLUG_APGD; solver++)
    for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++) {
      lcplug_settings s = settings_for((lcplug_solver)solver, (lcplug_friction)friction);
      lcplug_workspace *workspace = lcplug_workspace_create();
      double x[ROWS];
      lcplug_solution solution = {.x = x};
      lcplug_info info;
      s.tol = 1e-8, s.max_iter = 100000;
      ck_assert_int_eq(lcplug_solve(workspace, &g->problem, &s, &solution, &info), LCPLUG_OK);
      ck_assert_int_eq(info.status, LCPLUG_SOLVED);
      for (int i = 0; i < g->problem.n; i++) ck_assert(isfinite(x[i]));
      lcplug_workspace_free(workspace);
    }
}

static void rows_below_nub_may_have_any_bounds(good *g) {
  g->problem.nub = 2;
  g->lo[0] = NAN, g->hi[0] = -5.0, g->lo[1] = INFINITY, g->findex[1] = -1;
}
static void nub_beyond_n(good *g) { g->problem.nub = 1000; }
static void lo_of_friction_is_ignored(good *g) { g->lo[1] = NAN, g->lo[2] = INFINITY; }
static void mu_negative_or_infinite(good *g) {
  g->hi[1] = -0.5, g->hi[2] = INFINITY, g->hi[4] = 0.0;
}
static void findex_very_negative(good *g) { g->findex[0] = INT_MIN; }
static void nothing_but_A_and_b(good *g) {
  g->problem.lo = g->problem.hi = NULL, g->problem.findex = NULL;
}
static void friction_without_bounds(good *g) { g->problem.hi = NULL; }
static void upper_triangle_is_noise(good *g) {
  for (int i = 0; i < ROWS; i++)
    for (int j = i + 1; j < FULL_STRIDE; j++) *at(g, i, j) = j % 2 ? NAN : INFINITY;
}
static void stride_is_n(good *g) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) g->A[i * ROWS + j] = *at(g, i, j);
  g->problem.stride = ROWS;
}
static void full_and_symmetric(good *g) { g->problem.full = 1, *at(g, 2, 5) *= 1.0 + 1e-14; }
static void row_of_zeros(good *g) {
  for (int j = 0; j < ROWS; j++) *at(g, 3, j) = *at(g, j, 3) = 0.0;
  g->b[3] = -1.0; /* opens by itself */
}
static void minus_zero_on_diagonal(good *g) { row_of_zeros(g), *at(g, 3, 3) = -0.0; }
static void interval_of_one_point(good *g) { g->lo[3] = g->hi[3] = 0.25; }
static void no_rows(good *g) {
  g->problem = lcplug_problem_default();
}

static void (*const allowed[])(good *g) = {
    rows_below_nub_may_have_any_bounds,
    nub_beyond_n,
    lo_of_friction_is_ignored,
    mu_negative_or_infinite,
    findex_very_negative,
    nothing_but_A_and_b,
    friction_without_bounds,
    upper_triangle_is_noise,
    make_pairs,
    stride_is_n,
    full_and_symmetric,
    row_of_zeros,
    minus_zero_on_diagonal,
    interval_of_one_point,
    no_rows,
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

START_TEST(odd_but_allowed) {
  good g;
  make_good(&g);
  allowed[_i](&g);
  check_solves(&g);
}
END_TEST

/* Rows 1 and 2 name each other as normals, row 4 names row 5, which is a friction row of row 3: as
 * in ODE, rows 1, 2 and 4 carry no force, and their bounds come back as 0. */
START_TEST(friction_rows_of_friction_rows_carry_no_force) {
  good g;
  make_good(&g);
  g.findex[1] = 2, g.findex[2] = 1, g.findex[4] = 5;
  check_solves(&g);
  for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++) {
    lcplug_settings s = settings_for(LCPLUG_PGS, (lcplug_friction)friction);
    lcplug_workspace *workspace = lcplug_workspace_create();
    double x[ROWS], lo[ROWS], hi[ROWS];
    lcplug_solution solution = {.x = x, .lo = lo, .hi = hi};
    ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, &solution, NULL), LCPLUG_OK);
    const int dead[] = {1, 2, 4};
    for (int k = 0; k < 3; k++)
      ck_assert(x[dead[k]] == 0.0 && lo[dead[k]] == 0.0 && hi[dead[k]] == 0.0);
    ck_assert(x[3] == 0.0 || fabs(x[5]) > 0.0);
    lcplug_workspace_free(workspace);
  }
}
END_TEST

/* Rows 0 and 1 lie below nub: free, though row 0 may only push and row 1 is a friction row.
 * Nothing is left over in them, and the bounds that come back are infinite. */
START_TEST(rows_below_nub_are_free) {
  good g;
  make_good(&g);
  g.problem.nub = 2, g.b[0] = -5.0;
  for (int solver = LCPLUG_AUTO; solver <= LCPLUG_APGD; solver++)
    for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++) {
      lcplug_settings s = settings_for((lcplug_solver)solver, (lcplug_friction)friction);
      lcplug_workspace *workspace = lcplug_workspace_create();
      double x[ROWS], w[ROWS], lo[ROWS], hi[ROWS];
      lcplug_solution solution = {.x = x, .w = w, .lo = lo, .hi = hi};
      s.tol = 1e-9, s.max_iter = 100000;
      ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, &solution, NULL), LCPLUG_OK);
      for (int i = 0; i < 2; i++)
        ck_assert(fabs(w[i]) < 1e-7 && lo[i] == -INFINITY && hi[i] == INFINITY);
      ck_assert(x[0] < 0.0);
      lcplug_workspace_free(workspace);
    }
}
END_TEST

/* Missing pointers of the call itself, and settings that are wrong. */
START_TEST(missing_arguments) {
  good g;
  make_good(&g);
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_ODE), zero;
  memset(&zero, 0, sizeof zero);
  double x[ROWS], residual = 7.0;
  lcplug_solution solution = {.x = x}, nowhere = {.x = NULL, .w = x};
  lcplug_workspace *workspace = lcplug_workspace_create();
  ck_assert_int_eq(lcplug_problem_check(NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_solve(NULL, &g.problem, &s, &solution, NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_solve(workspace, NULL, &s, &solution, NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_solve(workspace, &g.problem, NULL, &solution, NULL),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, NULL, NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, &nowhere, NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(untouched_solve(&g.problem, &zero), LCPLUG_ERROR_ARGUMENT);
  s.omega = 2.5;
  ck_assert_int_eq(untouched_solve(&g.problem, &s), LCPLUG_ERROR_SETTING);
  s.omega = 1.0, s.solver = LCPLUG_UPSTREAM;
  ck_assert_int_eq(untouched_solve(&g.problem, &s), LCPLUG_ERROR_UNSUPPORTED);
#define RESIDUAL(ws, pr, fr, px, pres) lcplug_residual(ws, pr, fr, px, 1, NULL, NULL, 0, pres)
  ck_assert_int_eq(RESIDUAL(NULL, &g.problem, 0, x, &residual), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(RESIDUAL(workspace, NULL, 0, x, &residual), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(RESIDUAL(workspace, &g.problem, 0, NULL, &residual), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(RESIDUAL(workspace, &g.problem, 0, x, NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(RESIDUAL(workspace, &g.problem, (lcplug_friction)9, x, &residual),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert(residual == 7.0);
  lcplug_workspace_free(workspace);
}
END_TEST

/* After a refusal the workspace serves as before. */
START_TEST(workspace_survives_errors) {
  good g, bad;
  make_good(&g);
  make_good(&bad);
  nan_below(&bad);
  lcplug_settings s = settings_for(LCPLUG_APGD, LCPLUG_FRICTION_CONE);
  lcplug_workspace *workspace = lcplug_workspace_create();
  double x[ROWS], again[ROWS];
  lcplug_solution first = {.x = x}, second = {.x = again};
  ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, &first, NULL), LCPLUG_OK);
  size_t bytes = lcplug_workspace_bytes(workspace);
  for (int k = 0; k < 100; k++)
    ck_assert_int_eq(lcplug_solve(workspace, &bad.problem, &s, &second, NULL),
                     LCPLUG_ERROR_NOT_FINITE);
  ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, &second, NULL), LCPLUG_OK);
  ck_assert_mem_eq(x, again, sizeof x);
  ck_assert_uint_eq(lcplug_workspace_bytes(workspace), bytes);
  lcplug_workspace_free(workspace);
}
END_TEST

/* Only x is required; steps and single outputs reach the right places and no others. */
START_TEST(outputs_go_where_asked) {
  good g;
  make_good(&g);
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_ODE);
  lcplug_workspace *workspace = lcplug_workspace_create();
  double x[ROWS], w[ROWS], lo[ROWS], hi[ROWS], pairs_x[2 * ROWS], pairs[2 * ROWS];
  for (int i = 0; i < 2 * ROWS; i++) pairs_x[i] = 99.0;
  lcplug_solution plain = {.x = x, .w = w, .lo = lo, .hi = hi};
  lcplug_solution paired = {
      .x = pairs_x + 1, .x_step = 2, .lo = pairs, .hi = pairs + 1, .bounds_step = 2};
  ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, &plain, NULL), LCPLUG_OK);
  ck_assert_int_eq(lcplug_solve(workspace, &g.problem, &s, &paired, NULL), LCPLUG_OK);
  for (int i = 0; i < ROWS; i++) {
    ck_assert(pairs_x[2 * i + 1] == x[i] && pairs_x[2 * i] == 99.0);
    ck_assert(pairs[2 * i] == lo[i] && pairs[2 * i + 1] == hi[i]);
    if (g.findex[i] < 0) ck_assert(lo[i] == g.lo[i] && hi[i] == g.hi[i]);
    else ck_assert(lo[i] == -hi[i] && hi[i] >= fabs(x[i]) && hi[i] < 1e9);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("problem");
  TCase *bad = support_case(suite, "bad input"), *fine = support_case(suite, "odd input");
  tcase_add_loop_test(bad, faults_are_named_and_nothing_is_written, 0, FAULTS);
  tcase_add_test(bad, missing_arguments);
  tcase_add_test(bad, workspace_survives_errors);
  tcase_add_loop_test(fine, odd_but_allowed, 0, ALLOWED);
  tcase_add_test(fine, friction_rows_of_friction_rows_carry_no_force);
  tcase_add_test(fine, rows_below_nub_are_free);
  tcase_add_test(fine, outputs_go_where_asked);
  return support_run(suite);
}
