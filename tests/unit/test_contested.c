/* test_contested.c - rows that were put in the wrong place find the right one among themselves.
 *
 * A box is solved, some of its rows are moved to wrong places, and the factor of that guess is
 * all that lcplug_settle_contested gets.  Its answer is judged by the conditions of a solution. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contested.h"
#include "support.h"

/* The matrix of a box. */
typedef enum kind { SPARSE, DENSE, CONDENSED, KINDS } kind;

typedef struct bench {
  instance *problem;
  lcplug_workspace *workspace;
  layout layout;
  lower_triangle lower;
  box_source source;
  box box;
  unsigned char *right; /* the places of the solution */
} bench;

static void open_bench(bench *t, instance *problem, kind matrix) {
  *t = (bench){.problem = problem, .workspace = lcplug_workspace_create()};
  lcplug_problem p = instance_problem(problem);
  ck_assert_int_eq(lcplug_layout_build(&t->layout, &p, t->workspace), LCPLUG_OK);
  if (matrix == DENSE) {
    ck_assert_int_eq(lcplug_box_source_dense(&t->source, &p, &t->layout, t->workspace), LCPLUG_OK);
  } else {
    ck_assert_int_eq(lcplug_scan(&t->lower, &p, &t->layout, t->workspace), LCPLUG_OK);
    ck_assert_int_eq(lcplug_box_source_sparse(&t->source, &t->lower, &t->layout, t->workspace),
                     LCPLUG_OK);
  }
  if (matrix == CONDENSED) {
    ck_assert_int_eq(lcplug_box_source_condense(&t->source, INFINITY, t->workspace), LCPLUG_OK);
    ck_assert_ptr_nonnull(t->source.condensed);
  }
  memset(problem->x, 0, (size_t)problem->n * sizeof *problem->x);
  ck_assert_int_eq(
      lcplug_box_cut(&t->box, &t->source, problem->lo, problem->hi, problem->x, t->workspace),
      LCPLUG_OK);
}

static void close_bench(bench *t) {
  free(t->right);
  lcplug_workspace_free(t->workspace);
  instance_free(t->problem);
}

/* Contacts whose friction has bounds of its own, so that all rows are one box. */
static instance *contacts_in_a_box(rng *r, int contacts, double cfm, kind matrix) {
  instance *p = matrix == CONDENSED ? instance_wall(r, 3, 2 + contacts / 40, 4, cfm, 0.5)
                                    : instance_contacts(r, contacts, contacts / 2, cfm, 0.5, 0.5);
  for (int i = 0; i < p->n; i++) {
    if (p->findex[i] < 0) continue;
    p->findex[i] = -1;
    p->hi[i] = rng_between(r, 0.01, 1);
    p->lo[i] = -p->hi[i];
  }
  return p;
}

static void solve_box(bench *t) {
  box *p = &t->box;
  iteration it = {.tol = 1e-12, .deadline = INFINITY, .residual = INFINITY};
  it.x = TAKE(t->workspace, double, p->rows);
  lcplug_box_set_w(p);
  ck_assert_int_eq(lcplug_interior_point(p, &it, 60, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(it.status, LCPLUG_SOLVED);
  memcpy(p->x, it.x, (size_t)p->rows * sizeof *p->x);
  lcplug_box_set_w(p);
  lcplug_guess_places(p);
  t->right = malloc((size_t)p->rows);
  memcpy(t->right, p->place, (size_t)p->rows);
}

/* x, w and the factor of p->place. */
static void factorize_guess(box *p) {
  for (int i = 0; i < p->rows; i++) {
    p->keep[i] = p->place[i] == INSIDE;
    if (!p->keep[i]) p->x[i] = p->place[i] == AT_LO ? p->lo[i] : p->hi[i];
    p->extra[i] = p->pull * p->diagonal[i];
  }
  for (int round = 0; round < 3; round++) {
    lcplug_box_set_w(p);
    for (int i = 0; i < p->rows; i++) p->dx[i] = p->keep[i] ? -p->w[i] : 0.0;
    if (round) p->matrix->solve(p, p->dx);
    else p->matrix->factor_and_solve(p, p->dx);
    for (int i = 0; i < p->rows; i++) p->x[i] += p->dx[i];
  }
  lcplug_box_set_w(p);
}

/* Rows change to a place that their bounds allow. */
static void misplace(rng *r, box *p, int count) {
  for (int k = 0; k < count; k++) {
    int i = rng_below(r, p->rows);
    if (p->place[i] != INSIDE) p->place[i] = INSIDE;
    else p->place[i] = p->hi[i] < INFINITY && rng_below(r, 2) ? AT_HI : AT_LO;
  }
}

static void check_places(const bench *t) {
  const box *p = &t->box;
  ck_assert_double_le(lcplug_box_residual(p, p->x, p->w), 1e-11);
  for (int i = 0; i < p->rows; i++) {
    ck_assert_double_ge(p->x[i], p->lo[i] - 1e-12);
    ck_assert_double_le(p->x[i], p->hi[i] + 1e-12);
    ck_assert_int_eq(p->place[i], t->right[i]);
  }
}

START_TEST(test_wrong_rows_are_put_right) {
  rng r = {7 + (uint64_t)_i};
  for (kind matrix = 0; matrix < KINDS; matrix++)
    for (int round = 0; round < 10; round++) {
      bench t;
      open_bench(&t, contacts_in_a_box(&r, 40, 0.05, matrix), matrix);
      solve_box(&t);
      for (int wrong = 0; wrong <= 6; wrong += 2) {
        memcpy(t.box.place, t.right, (size_t)t.box.rows);
        misplace(&r, &t.box, wrong);
        factorize_guess(&t.box);
        ck_assert_int_eq(lcplug_settle_contested(&t.box), 1);
        check_places(&t);
      }
      close_bench(&t);
    }
}
END_TEST

/* Products of trails are elements of the inverse, and their sum is carried on to a solution:
 * with few rows kept, which leaves the others out of the factor, and with many, which blocks
 * them in it. */
START_TEST(test_trails_are_half_of_a_solve) {
  rng r = {31};
  for (kind matrix = 0; matrix < KINDS; matrix++)
    for (int part = 1; part <= 10; part += 3) {
      bench t;
      open_bench(&t, contacts_in_a_box(&r, 60, 0.05, matrix), matrix);
      box *p = &t.box;
      for (int i = 0; i < p->rows; i++) p->place[i] = rng_below(&r, 10) < part ? INSIDE : AT_LO;
      p->place[0] = p->place[p->rows - 1] = INSIDE;
      factorize_guess(p);
      ck_assert(p->matrix->begin_trails(p));
      int rows[2] = {0, p->rows - 1};
      for (int again = 0; again < 20; again++) {
        trail half[2];
        double one = 1.0, parts[2] = {2.0, -3.0};
        for (int k = 0; k < 2; k++)
          ck_assert(p->matrix->make_trail(p, 1, &p->kept_at[rows[k]], &one, &half[k]));
        double *v = calloc((size_t)p->rows + 4, sizeof *v);
        double *sum = calloc((size_t)p->rows + 4, sizeof *sum);
        v[rows[0]] = 1.0;
        p->matrix->solve(p, v);
        double size = fabs(v[rows[0]]);
        double table[4]; /* lower triangle, by columns */
        ck_assert(p->matrix->trail_products(p, 2, half, table, 2));
        for (int k = 0; k < 2; k++)
          ck_assert_double_le(fabs(table[k] - v[rows[k]]), 1e-12 * size);
        memset(v, 0, (size_t)p->rows * sizeof *v);
        v[rows[0]] += parts[0], v[rows[1]] += parts[1];
        p->matrix->solve(p, v);
        p->matrix->add_trails(p, 2, half, parts, sum);
        for (int i = 0; i < p->rows; i++) {
          ck_assert_double_le(fabs(sum[i] - v[i]), 1e-11 * size);
          if (p->place[i] != INSIDE) ck_assert(sum[i] == 0.0 && v[i] == 0.0);
        }
        do rows[again % 2] = rng_below(&r, p->rows);
        while (p->place[rows[again % 2]] != INSIDE);
        free(v), free(sum);
      }
      close_bench(&t);
    }
}
END_TEST

/* A pull towards a centre is part of the matrix. */
START_TEST(test_pull_counts) {
  rng r = {19};
  bench t;
  open_bench(&t, contacts_in_a_box(&r, 40, 0.01, SPARSE), SPARSE);
  box *p = &t.box;
  p->pull = 0.5;
  for (int i = 0; i < p->rows; i++) p->center[i] = rng_between(&r, 0, 1);
  solve_box(&t);
  misplace(&r, p, 6);
  factorize_guess(p);
  ck_assert_int_eq(lcplug_settle_contested(p), 1);
  check_places(&t);
  close_bench(&t);
}
END_TEST

/* Every row wrong is no contest. */
START_TEST(test_too_many_are_refused) {
  rng r = {23};
  bench t;
  open_bench(&t, contacts_in_a_box(&r, 100, 0.05, SPARSE), SPARSE);
  solve_box(&t);
  box *p = &t.box;
  int wrong = 0;
  for (int i = 0; i < p->rows; i++) p->place[i] = t.right[i] == INSIDE ? AT_LO : INSIDE;
  factorize_guess(p);
  for (int i = 0; i < p->rows; i++) wrong += lcplug_box_place(p, i) != p->place[i];
  ck_assert_int_gt(wrong, MOST_CONTESTED);
  ck_assert_int_eq(lcplug_settle_contested(p), 0);
  close_bench(&t);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("contested");
  TCase *c = support_case(suite, "contested");
  tcase_add_loop_test(c, test_wrong_rows_are_put_right, 0, 3);
  tcase_add_test(c, test_trails_are_half_of_a_solve);
  tcase_add_test(c, test_pull_counts);
  tcase_add_test(c, test_too_many_are_refused);
  return support_run(suite);
}
