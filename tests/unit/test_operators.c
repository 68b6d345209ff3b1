/* test_operators.c - A seen through the dense and the sparse operator.
 *
 * Both must be the same symmetric matrix in the solver's row order, whatever order the caller's
 * rows have and however they fall into groups; what lies above the diagonal must never be read. The
 * reference is the plain product, element by element, in long double. */
#include "operator.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support.h"

/* Everything that a solve builds before it starts. */
typedef struct built {
  lcplug_workspace *workspace;
  instance *p;
  const double *full; /* NULL, or both triangles of another A */
  layout l;
  lower_triangle lower;
  linop dense, sparse;
} built;

static void build(built *t, instance *p) {
  lcplug_problem problem = instance_problem(p);
  memset(t, 0, sizeof *t);
  t->workspace = lcplug_workspace_create();
  t->p = p;
  ck_assert_int_eq(lcplug_layout_build(&t->l, &problem, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_scan(&t->lower, &problem, &t->l, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_operator_dense(&t->dense, &problem, &t->l, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_operator_sparse(&t->sparse, &t->lower, &t->l, t->workspace), LCPLUG_OK);
}

static void tear_down(built *t) {
  lcplug_workspace_free(t->workspace);
  instance_free(t->p);
}

/* A random symmetric matrix, about `filled` of its elements not 0 (some of these -0.0 or denormal),
 * with rows bundled at random: up to six friction rows to a normal, in any order, some naming each
 * other. */
static instance *random_sparse(rng *r, int n, double filled) {
  instance *p = instance_create(n);
  for (int i = 0; i < n; i++) {
    p->b[i] = rng_between(r, -1, 1);
    for (int j = 0; j <= i; j++) {
      double value = rng_between(r, 0, 1) < filled ? rng_between(r, -1, 1)
                     : rng_below(r, 2)             ? 0.0
                                                   : -0.0;
      if (rng_below(r, 50) == 0) value *= 1e-310;
      instance_set(p, i, j, i == j ? fabs(value) : value);
    }
    p->lo[i] = rng_below(r, 3) ? 0.0 : -1.0;
    if (rng_below(r, 3) == 0 || n < 2) continue;
    int normal = rng_below(r, (n + 5) / 6) * 6 % n;
    if (normal == i) continue;
    p->findex[i] = normal;
    p->hi[i] = rng_below(r, 4) ? rng_between(r, 0, 1) : rng_below(r, 2) ? 0.0 : INFINITY;
  }
  return p;
}

/* Element (i, j) in the solver's order. */
static double element(const built *t, int i, int j) {
  int row = t->l.row[i], column = t->l.row[j];
  return t->full ? t->full[row * t->l.n + column] : instance_at(t->p, row, column);
}

/* Row i of A x and the size of its terms, in the solver's order. */
static double product(const built *t, int i, const double *x, double *size) {
  long double sum = 0.0L;
  *size = 0.0;
  for (int j = 0; j < t->l.n; j++) {
    sum += (long double)element(t, i, j) * x[j];
    *size += fabs(element(t, i, j) * x[j]);
  }
  return (double)sum;
}

static void check_product(const built *t, const double *x, const double *y, double slack) {
  for (int i = 0; i < t->l.n; i++) {
    double size, expected = product(t, i, x, &size);
    ck_assert_msg(fabs(y[i] - expected) <= slack * size + 1e-300, "row %d: %.17g, not %.17g", i,
                  y[i], expected);
  }
}

static void check_diagonal(const built *t, const linop *op) {
  double d[80], part[9];
  op->table->diagonal(op, d);
  for (int i = 0; i < t->l.n; i++) ck_assert(d[i] == element(t, i, i));
  for (int g = 0; g < t->l.groups; g++) {
    int first = t->l.group_first[g], end = t->l.group_first[g + 1];
    for (int start = first; start < end; start++)
      for (int rows = 1; rows <= 3 && start + rows <= end; rows++) {
        op->table->diagonal_block(op, start, rows, part);
        for (int i = 0; i < rows; i++)
          for (int j = 0; j < rows; j++)
            ck_assert(part[i * rows + j] == element(t, start + i, start + j));
      }
  }
}

/* A sweep's view: begin with x, change block after block, read every block: always A x. */
static void check_state(const built *t, const linop *op, rng *r) {
  double x[80], state[80], read[80], dx[3];
  ck_assert_int_le(op->table->state_size(op), 80);
  for (int i = 0; i < t->l.n; i++) x[i] = rng_between(r, -1, 1);
  op->table->state_begin(op, x, state);
  for (int change = 0; change < 30; change++) {
    int g = rng_below(r, t->l.groups), first = t->l.group_first[g],
        length = t->l.group_first[g + 1] - first;
    int offset = rng_below(r, length),
        rows = 1 + rng_below(r, length - offset < 3 ? length - offset : 3);
    for (int k = 0; k < rows; k++) x[first + offset + k] += dx[k] = rng_between(r, -1, 1);
    op->table->state_add(op, state, first + offset, rows, dx);
  }
  for (int i = 0; i < t->l.n; i += 2)
    op->table->state_read(op, state, i, i + 1 < t->l.n ? 2 : 1, read + i);
  for (int i = 0; i < t->l.n; i++) {
    double size, expected = product(t, i, x, &size);
    ck_assert_double_le(fabs(read[i] - expected), 1e-13 * (size + 30));
  }
}

START_TEST(operators_are_the_matrix) {
  rng r = {30};
  for (int trial = 0; trial < 400; trial++) {
    built t;
    double x[80], y[80];
    build(&t, random_sparse(&r, 1 + rng_below(&r, 60), trial % 4 == 0 ? 1.0 : 0.2));
    const linop *ops[] = {&t.dense, &t.sparse};
    for (int k = 0; k < 2; k++) {
      for (int i = 0; i < t.l.n; i++) x[i] = rng_between(&r, -1, 1), y[i] = NAN;
      ops[k]->table->apply(ops[k], x, y);
      check_product(&t, x, y, 1e-14);
      check_diagonal(&t, ops[k]);
      check_state(&t, ops[k], &r);
    }
    tear_down(&t);
  }
}
END_TEST

/* A full matrix need not be symmetric, nor have its nonzeros in pairs. */
START_TEST(both_triangles_count) {
  rng r = {31};
  for (int trial = 0; trial < 400; trial++) {
    int n = 1 + rng_below(&r, 60);
    double full[60 * 60], x[80], y[80], filled = trial % 4 ? 0.15 : 1.0;
    built t = {
        .workspace = lcplug_workspace_create(), .p = random_sparse(&r, n, 1.0), .full = full};
    lcplug_problem problem = instance_problem(t.p);
    for (int i = 0; i < n * n; i++)
      full[i] = i % (n + 1) == 0                 ? 1.0
                : rng_between(&r, 0, 1) < filled ? rng_between(&r, -1, 1)
                                                 : 0.0;
    problem.A = full, problem.stride = (size_t)n, problem.full = 1;
    ck_assert_int_eq(lcplug_layout_build(&t.l, &problem, t.workspace), LCPLUG_OK);
    ck_assert_int_eq(lcplug_scan_full(&t.lower, &problem, &t.l, t.workspace), LCPLUG_OK);
    ck_assert_int_eq(lcplug_operator_sparse(&t.sparse, &t.lower, &t.l, t.workspace), LCPLUG_OK);
    for (int i = 0; i < n; i++) x[i] = rng_between(&r, -1, 1);
    t.sparse.table->apply(&t.sparse, x, y);
    for (int i = 0; i < n; i++) {
      double size, expected = product(&t, i, x, &size);
      ck_assert_double_le(fabs(y[i] - expected), 1e-14 * (size + 1));
    }
    check_state(&t, &t.sparse, &r);
    full[rng_below(&r, n * n)] = NAN;
    ck_assert_int_eq(lcplug_scan_full(&t.lower, &problem, &t.l, t.workspace),
                     LCPLUG_ERROR_NOT_FINITE);
    tear_down(&t);
  }
}
END_TEST

/* Apply forgets what it was asked before, and does not care what y held. */
START_TEST(apply_leaves_nothing_behind) {
  rng r = {31};
  built t;
  build(&t, random_sparse(&r, 40, 0.3));
  double x[80] = {0}, y[80], again[80];
  const linop *ops[] = {&t.dense, &t.sparse};
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 40; i++) x[i] = rng_between(&r, -1, 1);
    ops[k]->table->apply(ops[k], x, y);
    for (int i = 0; i < 40; i++) again[i] = INFINITY;
    ops[k]->table->apply(ops[k], x, again);
    ck_assert_mem_eq(y, again, 40 * sizeof *y);
  }
  tear_down(&t);
}
END_TEST

/* Compressed rows: ascending columns, the diagonal last even when it is 0; every nonzero of the
 * lower triangle once, denormals too, and no zero of either sign. */
static void check_scan(const built *t) {
  const lower_triangle *a = &t->lower;
  size_t nonzeros = 0;
  for (int i = 0; i < t->l.n; i++) {
    ck_assert(a->begin[i] < a->begin[i + 1]);
    ck_assert_int_eq(a->column[a->begin[i + 1] - 1], i);
    for (size_t k = a->begin[i]; k < a->begin[i + 1]; k++) {
      if (k > a->begin[i]) ck_assert_int_lt(a->column[k - 1], a->column[k]);
      ck_assert(a->value[k] == element(t, i, a->column[k]));
      ck_assert(a->value[k] != 0.0 || a->column[k] == i);
    }
    for (int j = 0; j <= i; j++) nonzeros += i == j || element(t, i, j) != 0.0;
  }
  ck_assert_uint_eq(a->begin[t->l.n], nonzeros);
}

START_TEST(scan_finds_every_nonzero_once) {
  rng r = {32};
  for (int trial = 0; trial < 400; trial++) {
    built t;
    build(&t, random_sparse(&r, 1 + rng_below(&r, 75), trial % 3 == 0 ? 0.02 : 0.3));
    check_scan(&t);
    tear_down(&t);
  }
}
END_TEST

/* One nonzero in an otherwise empty row, at each position: none is lost between the strides of the
 * scan, and a dense triangle does not outgrow its arrays. */
START_TEST(scan_finds_a_lone_nonzero_anywhere) {
  for (int column = 0; column < 39; column++) {
    built t;
    instance *p = instance_create(40);
    instance_set(p, 39, column, column % 2 ? DBL_TRUE_MIN : -3.0);
    build(&t, p);
    ck_assert_uint_eq(t.lower.begin[40], 41);
    check_scan(&t);
    tear_down(&t);
  }
  built t;
  instance *p = instance_create(75);
  for (int i = 0; i < 75; i++)
    for (int j = 0; j <= i; j++) instance_set(p, i, j, 1.0 + i + j);
  build(&t, p);
  ck_assert_uint_eq(t.lower.begin[75], 75 * 76 / 2);
  check_scan(&t);
  tear_down(&t);
}
END_TEST

/* The layout itself: a permutation; each normal directly before its own friction rows, those that
 * span its cone first and in the caller's order; dead rows alone.  An order that is already so
 * stays. */
START_TEST(layout_bundles_contacts) {
  rng r = {33};
  for (int trial = 0; trial < 400; trial++) {
    built t;
    build(&t, random_sparse(&r, 1 + rng_below(&r, 60), 0.2));
    for (int i = 0; i < t.l.n; i++) ck_assert_int_eq(t.l.place[t.l.row[i]], i);
    ck_assert_int_eq(t.l.group_first[t.l.groups], t.l.n);
    for (int g = 0; g < t.l.groups; g++) {
      int first = t.l.group_first[g], caller = t.l.row[first];
      ck_assert_int_lt(first, t.l.group_first[g + 1]);
      int dead = t.p->findex[caller] >= 0;
      ck_assert_int_eq(t.l.normal[first], dead ? ROW_DEAD : ROW_PLAIN);
      if (dead) ck_assert_int_eq(t.l.group_first[g + 1], first + 1);
      if (dead) ck_assert_int_ge(t.p->findex[t.p->findex[caller]], 0);
      for (int i = first + 1; i < t.l.group_first[g + 1]; i++) {
        ck_assert_int_eq(t.p->findex[t.l.row[i]], caller);
        ck_assert_int_eq(t.l.normal[i], first);
      }
      int cone = t.l.cone_rows[first];
      ck_assert(cone >= 1 && cone <= 3 && first + cone <= t.l.group_first[g + 1]);
      for (int i = 1; i < cone; i++)
        ck_assert(t.l.hi[first + i] > 0.0 && t.l.hi[first + i] < INFINITY);
      if (cone == 3) ck_assert_int_lt(t.l.row[first + 1], t.l.row[first + 2]);
      if (cone > 1) ck_assert(t.p->lo[caller] == 0.0 && t.p->hi[caller] == INFINITY);
    }
    tear_down(&t);
  }
}
END_TEST

START_TEST(odes_order_is_kept) {
  rng r = {34};
  built t;
  build(&t, instance_contacts(&r, 5, 2, 0.1, 0.5, 0.4));
  ck_assert_int_eq(t.l.identity, 1);
  ck_assert_int_eq(t.l.groups, 5);
  for (int c = 0; c < 5; c++) ck_assert_int_eq(t.l.cone_rows[3 * c], 3);
  tear_down(&t);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("operators");
  TCase *tests = support_case(suite, "operators");
  tcase_add_test(tests, operators_are_the_matrix);
  tcase_add_test(tests, both_triangles_count);
  tcase_add_test(tests, apply_leaves_nothing_behind);
  tcase_add_test(tests, scan_finds_every_nonzero_once);
  tcase_add_test(tests, scan_finds_a_lone_nonzero_anywhere);
  tcase_add_test(tests, layout_bundles_contacts);
  tcase_add_test(tests, odes_order_is_kept);
  return support_run(suite);
}
