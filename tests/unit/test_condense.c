/* test_condense.c - factors that leave out what clusters have twice solve the same systems.
 *
 * A x + E x = f is judged row by row in long double, with A as it was given: what the condensed
 * factor makes of it is its own business.  E holds rows as an interior point does, by numbers of
 * all sizes, and as active sets do, by 1e20. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lu.h"
#include "support.h"


typedef struct bench {
  instance *problem;
  lcplug_workspace *workspace;
  layout layout;
  lower_triangle lower;
  cholesky whole;
  condensed condensed;
  int worth_it;
  lu f;
  double *x, *right, *E; /* E: 3 numbers for each row, those of its contact */
} bench;

static void open_bench(bench *t, instance *problem) {
  *t = (bench){.problem = problem, .workspace = lcplug_workspace_create()};
  lcplug_problem p = instance_problem(problem);
  size_t n = (size_t)problem->n;
  ck_assert_int_eq(lcplug_layout_build(&t->layout, &p, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_scan(&t->lower, &p, &t->layout, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_cholesky_analyze(&t->whole, &t->lower, t->layout.groups,
                                           t->layout.group_first, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_condense(&t->condensed, &t->whole, INFINITY, &t->worth_it, t->workspace),
                   LCPLUG_OK);
  t->x = calloc(5 * n, sizeof *t->x);
  t->right = t->x + n, t->E = t->right + n;
}

static void close_bench(bench *t) {
  free(t->x);
  lcplug_workspace_free(t->workspace);
  instance_free(t->problem);
}

static void begin_lu(bench *t) {
  ck_assert_int_eq(t->worth_it, 1);
  ck_assert_int_eq(lcplug_lu_begin(&t->f, &t->whole, &t->condensed, &t->lower, t->workspace),
                   LCPLUG_OK);
}

/* Positive definite blocks, from 10^low to 10^high; with a part that is not symmetric, or not. */
static void draw_E(bench *t, rng *r, double low, double high, int symmetric) {
  for (int i = 0; i < t->problem->n; i += 3) {
    double size = rng_magnitude(r, low, high), q[3];
    for (int k = 0; k < 3; k++) q[k] = rng_between(r, -1, 1);
    for (int k = 0; k < 3; k++)
      for (int l = 0; l < 3; l++) {
        double odd = symmetric || k == l ? 0.0 : k < l ? 0.3 : -0.3;
        t->E[3 * (i + k) + l] = size * (q[k] * q[l] + odd + (k == l));
      }
  }
}

static void solve(bench *t, rng *r, int symmetric) {
  int n = t->problem->n;
  for (int i = 0; i < n; i++) t->x[i] = t->right[i] = rng_between(r, -1, 1);
  lcplug_lu_load(&t->f, symmetric);
  for (int i = 0; i < n; i += 3) lcplug_lu_add_block(&t->f, i, 3, t->E + 3 * i);
  lcplug_lu_factor(&t->f);
  lcplug_lu_solve(&t->f, t->x);
}

/* What is left of row i, beside the sizes of what it is made of. */
static double error_of_row(const bench *t, int i) {
  double left = instance_row_product(t->problem, i, t->x) - t->right[i], size = fabs(t->right[i]);
  for (int j = 0; j < t->problem->n; j++)
    size += fabs(instance_at(t->problem, i, j) * t->x[j]);
  for (int k = 0; k < 3; k++) {
    double part = t->E[3 * i + k] * t->x[i - i % 3 + k];
    left += part, size += fabs(part);
  }
  return fabs(left) / size;
}

static void check_rows(const bench *t, double most) {
  for (int i = 0; i < t->problem->n; i++) {
    double error = error_of_row(t, i);
    ck_assert_msg(error <= most, "row %d: %g", i, error);
  }
}

/* Twelve rows between two bricks are six. */
START_TEST(pairs_of_bricks_have_rank_six) {
  rng r = {3};
  bench t;
  open_bench(&t, instance_wall(&r, 3, 4, 4, 1e-10, 0.5));
  ck_assert_int_eq(t.worth_it, 1);
  for (int a = 0; a < t.condensed.clusters; a++) {
    ck_assert_int_eq(t.condensed.cluster[a].rows, 12);
    ck_assert_int_eq(t.condensed.cluster[a].rank, 6);
  }
  ck_assert_double_lt(t.condensed.factor.all_flops, 0.4 * t.whole.all_flops);
  close_bench(&t);
}
END_TEST

START_TEST(condensed_factors_solve_what_they_were_given) {
  rng r = {5 + (uint64_t)_i};
  for (int contacts = 3; contacts <= 7; contacts += 2) {
    bench t;
    open_bench(&t, instance_wall(&r, 3, 4, contacts, 1e-3, 0.5));
    begin_lu(&t);
    for (int pass = 0; pass < 6; pass++) {
      int symmetric = pass % 2;
      draw_E(&t, &r, -3.0, 1.0 + pass, symmetric);
      solve(&t, &r, symmetric);
      check_rows(&t, 1e-11);
    }
    close_bench(&t);
  }
}
END_TEST

/* Whoever is held, all others come out as exactly as if nobody were: J is chosen for it. */
START_TEST(held_rows_take_no_digits) {
  rng r = {11 + (uint64_t)_i};
  bench t;
  open_bench(&t, instance_wall(&r, 3, 4, 4, 1e-5, 0.5));
  begin_lu(&t);
  for (int part = 1; part < 10; part++) {
    memset(t.E, 0, 3 * (size_t)t.problem->n * sizeof *t.E);
    for (int i = 0; i < t.problem->n; i++)
      t.E[3 * i + i % 3] = rng_below(&r, 10) < part ? 1e20 : 0.0;
    solve(&t, &r, 1);
    for (int i = 0; i < t.problem->n; i++) {
      if (t.E[3 * i + i % 3] > 0.0) ck_assert_double_le(fabs(t.x[i]), 1e-10);
      else ck_assert_msg(error_of_row(&t, i) <= 1e-9, "row %d: %g", i, error_of_row(&t, i));
    }
  }
  close_bench(&t);
}
END_TEST

/* A cluster that some neighbour sees otherwise is left as it is, and so is what has no rank to
 * spare. */
START_TEST(rows_that_differ_for_one_neighbour_stay) {
  rng r = {17};
  instance *wall = instance_wall(&r, 3, 4, 4, 1e-5, 0.5);
  int last = wall->n - 1, first = 0;
  while (instance_at(wall, last, first) == 0.0) first++;
  instance_set(wall, last, first, instance_at(wall, last, first) + 1e-9);
  bench t;
  open_bench(&t, wall);
  begin_lu(&t);
  const condensed *q = &t.condensed;
  ck_assert_int_eq(q->cluster[q->cluster_of[last]].rank, 12);
  ck_assert_int_eq(q->cluster[q->cluster_of[first]].rank, 12);
  ck_assert_int_eq(q->cluster[q->cluster_of[last / 2]].rank, 6);
  draw_E(&t, &r, -3.0, 1.0, 1);
  solve(&t, &r, 1);
  check_rows(&t, 1e-11);
  close_bench(&t);
}
END_TEST

START_TEST(heaps_of_single_contacts_are_not_condensed) {
  rng r = {19};
  bench t;
  open_bench(&t, instance_contacts(&r, 100, 60, 1e-3, 0.5, 0.5));
  ck_assert_int_eq(lcplug_condense(&t.condensed, &t.whole, 1e9, &t.worth_it, t.workspace),
                   LCPLUG_OK);
  ck_assert_int_eq(t.worth_it, 0);
  close_bench(&t);
}
END_TEST

/* Walls that are large enough to be condensed by themselves, as a caller solves them. */
START_TEST(walls_are_solved) {
  static const lcplug_friction frictions[] = {LCPLUG_FRICTION_ODE, LCPLUG_FRICTION_PYRAMID,
                                              LCPLUG_FRICTION_CONE, LCPLUG_FRICTION_COULOMB};
  rng r = {23 + (uint64_t)_i};
  instance *p = instance_wall(&r, 4, 5, 7, _i % 2 ? 1e-5 : 1e-10, 0.7);
  for (size_t k = 0; k < sizeof frictions / sizeof *frictions; k++) {
    lcplug_settings s = settings_for(LCPLUG_EXACT, frictions[k]);
    if (frictions[k] >= LCPLUG_FRICTION_CONE) s.tol = 1e-8; /* at CFM 1e-10 more cannot be had */
    lcplug_info info = instance_solve(p, &s);
    ck_assert_msg(info.status == LCPLUG_SOLVED, "friction %zu: %s, %g", k,
                  lcplug_status_text(info.status), info.residual);
    ck_assert_double_le(instance_conditions(p, frictions[k]), 1e-6);
  }
  instance_free(p);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("condense");
  TCase *c = support_case(suite, "condense");
  tcase_add_test(c, pairs_of_bricks_have_rank_six);
  tcase_add_loop_test(c, condensed_factors_solve_what_they_were_given, 0, 3);
  tcase_add_loop_test(c, held_rows_take_no_digits, 0, 3);
  tcase_add_test(c, rows_that_differ_for_one_neighbour_stay);
  tcase_add_test(c, heaps_of_single_contacts_are_not_condensed);
  tcase_add_loop_test(c, walls_are_solved, 0, 2);
  return support_run(suite);
}
