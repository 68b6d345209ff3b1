/* test_cholesky.c - the sparse factorization against a plain dense one.
 *
 * A random matrix here is B B^T + d I on a random pattern of groups, so it is positive definite;
 * each property is checked over many patterns, subsets and right sides, with every kernel that
 * runs. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

typedef struct sample {
  int n, groups, *group_first;
  double *a; /* n x n, full */
  lower_triangle lower;
} sample;

static uint64_t seed;
static lcplug_workspace *workspace;

static unsigned draw(unsigned below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % below;
}

static double draw_real(void) { return draw(2000001) / 1e6 - 1.0; }

/* --- samples --- */

static sample sample_groups(int groups, int most_rows) {
  sample s = {.groups = groups, .group_first = malloc(sizeof(int) * (size_t)(groups + 1))};
  for (int g = 0; g < groups; g++) {
    s.group_first[g] = s.n;
    s.n += 1 + (int)draw((unsigned)most_rows);
  }
  s.group_first[groups] = s.n;
  s.a = calloc((size_t)s.n * (size_t)s.n, sizeof *s.a);
  return s;
}

/* Couples groups g and h: adds v v^T for a random v on their rows, as a body does to its
 * contacts. */
static void sample_couple(sample *s, int g, int h) {
  double *v = calloc((size_t)s->n, sizeof *v);
  for (int i = s->group_first[g]; i < s->group_first[g + 1]; i++) v[i] = draw_real();
  for (int i = s->group_first[h]; i < s->group_first[h + 1]; i++) v[i] = draw_real();
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) s->a[i * s->n + j] += v[i] * v[j];
  free(v);
}

static void sample_shift(sample *s, double d) {
  for (int i = 0; i < s->n; i++) s->a[i * s->n + i] += d;
}

static void sample_store(sample *s) {
  size_t n = (size_t)s->n, count = 0;
  s->lower = (lower_triangle){.n = s->n,
                              .begin = malloc((n + 1) * sizeof(size_t)),
                              .column = malloc(n * n * sizeof(int) + 4),
                              .value = malloc(n * n * sizeof(double) + 8)};
  for (int i = 0; i < s->n; i++) {
    s->lower.begin[i] = count;
    for (int j = 0; j <= i; j++) {
      if (s->a[i * s->n + j] == 0.0 && i != j) continue;
      s->lower.column[count] = j;
      s->lower.value[count++] = s->a[i * s->n + j];
    }
  }
  s->lower.begin[n] = count;
}

static void sample_free(sample *s) {
  free(s->group_first), free(s->a);
  free(s->lower.begin), free(s->lower.column), free(s->lower.value);
}

static sample sample_random(int groups, int most_rows, int couplings) {
  sample s = sample_groups(groups, most_rows);
  for (int k = 0; k < couplings; k++) {
    int g = (int)draw((unsigned)groups), near = g + (int)draw(5) - 2,
        far = (int)draw((unsigned)groups);
    sample_couple(&s, g, near >= 0 && near < groups && draw(4) ? near : far);
  }
  sample_shift(&s, 0.1);
  sample_store(&s);
  return s;
}

/* --- the judge --- */

static void analyze(cholesky *c, const sample *s) {
  lcplug_error error = lcplug_cholesky_analyze(c, &s->lower, s->groups, s->group_first, workspace);
  ck_assert_int_eq(error, LCPLUG_OK);
}

/* keep, extra and x by rows of the matrix instead of places. */
static void factor_chosen(cholesky *c, const double *extra) {
  double *added = malloc(((size_t)c->n + 1) * sizeof *added);
  for (int p = 0; p < c->n; p++)
    if (extra && c->kept_before[p] < c->kept_before[p + 1])
      added[c->kept_before[p]] = extra[c->row_at[p]];
  lcplug_cholesky_factor(c, extra ? added : NULL);
  free(added);
}

static void factor(cholesky *c, const unsigned char *keep, const double *extra) {
  unsigned char *chosen = malloc((size_t)c->n + 1);
  for (int p = 0; p < c->n; p++) chosen[p] = !keep || keep[c->row_at[p]];
  lcplug_cholesky_select(c, keep ? chosen : NULL);
  factor_chosen(c, extra);
  free(chosen);
}

/* Something else in between. */
static void add_other_diagonal(cholesky *c) {
  double *added = malloc(((size_t)c->n + 1) * sizeof *added);
  for (int p = 0; p < c->kept; p++) added[p] = 1.0 + p;
  lcplug_cholesky_factor(c, added);
  free(added);
}

static void solve(const cholesky *c, double *x) {
  double *y = malloc(((size_t)c->n + 1) * sizeof *y);
  const int *before = c->kept_before;
  for (int p = 0; p < c->n; p++)
    if (before[p] < before[p + 1]) y[before[p]] = x[c->row_at[p]];
  lcplug_cholesky_solve(c, y);
  for (int p = 0; p < c->n; p++) x[c->row_at[p]] = before[p] < before[p + 1] ? y[before[p]] : 0.0;
  free(y);
}

/* x <- (A_FF + diag)^-1 x by dense Cholesky, row by row. */
static void solve_dense(const sample *s, const unsigned char *keep, const double *extra,
                        double *x) {
  int n = s->n, m = 0, *row = malloc(sizeof(int) * (size_t)(n + 1));
  double *l = calloc((size_t)n * (size_t)n + 1, sizeof *l);
  for (int i = 0; i < n; i++)
    if (!keep || keep[i]) row[m++] = i;
    else x[i] = 0.0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j <= i; j++) {
      double sum = s->a[row[i] * n + row[j]] + (i == j && extra ? extra[row[i]] : 0.0);
      for (int k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
    }
  for (int i = 0; i < m; i++) {
    for (int k = 0; k < i; k++) x[row[i]] -= l[i * n + k] * x[row[k]];
    x[row[i]] /= l[i * n + i];
  }
  for (int i = m - 1; i >= 0; i--) {
    for (int k = i + 1; k < m; k++) x[row[i]] -= l[k * n + i] * x[row[k]];
    x[row[i]] /= l[i * n + i];
  }
  free(row), free(l);
}

/* |(A_FF + diag) x - b| / (|A| |x| + |b|), largest components. */
static double residual(const sample *s, const unsigned char *keep, const double *extra,
                       const double *x, const double *b) {
  double worst = 0.0, size = 0.0;
  for (int i = 0; i < s->n; i++) {
    if (keep && !keep[i]) continue;
    double sum = extra ? extra[i] * x[i] : 0.0, absolute = fabs(b[i]) + fabs(sum);
    for (int j = 0; j < s->n; j++) {
      if (keep && !keep[j]) continue;
      sum += s->a[i * s->n + j] * x[j];
      absolute += fabs(s->a[i * s->n + j] * x[j]);
    }
    worst = fmax(worst, fabs(sum - b[i]));
    size = fmax(size, absolute);
  }
  return size > 0.0 ? worst / size : 0.0;
}

static double largest_difference(const double *x, const double *y, int n) {
  double worst = 0.0, size = 1e-300;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i])), size = fmax(size, fabs(y[i]));
  return worst / size;
}

/* The product on the rows that were chosen last, against the sum over a dense row. */
static void check_product(const cholesky *c, const sample *s) {
  size_t kept = (size_t)c->kept;
  block_product product;
  double *x = malloc((kept + 1) * sizeof *x), *y = malloc((kept + 1) * sizeof *y);
  int *row = malloc((kept + 1) * sizeof *row);
  for (int p = 0; p < c->n; p++)
    if (c->kept_before[p] < c->kept_before[p + 1]) row[c->kept_before[p]] = c->row_at[p];
  for (size_t i = 0; i < kept; i++) x[i] = draw_real();
  workspace_mark mark = lcplug_mark(workspace);
  ck_assert_int_eq(lcplug_product_build(&product, c, workspace), LCPLUG_OK);
  ck_assert_int_eq(product.rows, c->kept);
  lcplug_product(&product, x, y);
  lcplug_release(workspace, mark);
  for (size_t i = 0; i < kept; i++) {
    double sum = 0.0, size = 0.0;
    for (size_t j = 0; j < kept; j++) {
      double term = s->a[row[i] * s->n + row[j]] * x[j];
      sum += term;
      size += fabs(term);
    }
    ck_assert_double_le(fabs(y[i] - sum), 1e-14 * size);
  }
  free(x), free(y), free(row);
}

/* Factorizes and solves with one subset; the answer must agree with the dense one and solve the
 * equation, and come out the same when the subset is factorized again. */
static void check_subset(cholesky *c, const sample *s, const unsigned char *keep,
                         const double *extra) {
  size_t n = (size_t)s->n;
  double *b = malloc(n * sizeof *b), *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
  for (size_t i = 0; i < n; i++) b[i] = x[i] = y[i] = draw_real();
  factor(c, keep, extra);
  solve(c, y);
  add_other_diagonal(c);
  factor_chosen(c, extra);
  solve(c, x);
  ck_assert_mem_eq(x, y, n * sizeof *x);
  memcpy(y, b, n * sizeof *y);
  check_product(c, s);
  solve_dense(s, keep, extra, y);
  ck_assert_int_eq(c->perturbed, 0);
  ck_assert_double_le(residual(s, keep, extra, x, b), 1e-12);
  ck_assert_double_le(largest_difference(x, y, s->n), 1e-9);
  for (size_t i = 0; keep && i < n; i++)
    if (!keep[i]) ck_assert(x[i] == 0.0);
  free(b), free(x), free(y);
}

static void draw_keep(const sample *s, unsigned char *keep, int kind) {
  for (int g = 0; g < s->groups; g++) {
    int whole = draw(3) != 0;
    for (int i = s->group_first[g]; i < s->group_first[g + 1]; i++)
      keep[i] = kind == 0   ? i == s->group_first[g] /* the normals of contacts */
                : kind == 1 ? draw(2) != 0           /* any rows */
                : kind == 2 ? whole                  /* whole contacts */
                            : draw(40) == 0;         /* hardly any */
  }
}

static void check_sample(const sample *s, const char *kernels) {
  cholesky c;
  unsigned char *keep = malloc((size_t)s->n);
  double *extra = malloc((size_t)s->n * sizeof *extra);
  for (int i = 0; i < s->n; i++) extra[i] = draw(3) ? draw(1000) * 1e-2 : 1e6;
  lcplug_workspace_reset(workspace);
  analyze(&c, s);
  c.kernels = lcplug_kernels_named(kernels);
  check_subset(&c, s, NULL, NULL);
  check_subset(&c, s, NULL, extra);
  for (int kind = 0; kind < 8; kind++) {
    draw_keep(s, keep, kind % 4);
    check_subset(&c, s, keep, kind % 2 ? extra : NULL);
  }
  memset(keep, 1, (size_t)s->n);
  check_subset(&c, s, keep, NULL);
  free(keep), free(extra);
}

/* Every kernel that runs here; a loop test runs the body for each. */
static const char *const kernel_names[] = {"portable", "avx2"};
enum { KERNELS = sizeof kernel_names / sizeof *kernel_names };

static void setup(void) {
  workspace = lcplug_workspace_create();
  seed = 12345;
}

static void teardown(void) { lcplug_workspace_free(workspace); }

static int runs(int kernel) { return lcplug_kernels_named(kernel_names[kernel]) != NULL; }

/* --- tests --- */

/* Patterns from a handful of rows to a few hundred, from nearly diagonal to nearly dense. */
START_TEST(agrees_with_dense_on_random_patterns) {
  if (!runs(_i)) return;
  for (int k = 0; k < 60; k++) {
    int groups = 1 + (int)draw(70);
    sample s = sample_random(groups, 1 + (int)draw(6), (int)draw((unsigned)(3 * groups)));
    check_sample(&s, kernel_names[_i]);
    sample_free(&s);
  }
}
END_TEST

/* Several contacts of one pair of bodies have the same neighbours and form one cluster. */
START_TEST(agrees_with_dense_on_clusters) {
  if (!runs(_i)) return;
  for (int k = 0; k < 10; k++) {
    sample s = sample_groups(48, 3);
    for (int e = 0; e < 30; e++) {
      int g = 4 * (int)draw(12), h = 4 * (int)draw(12);
      for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++) sample_couple(&s, g + p, h + q);
    }
    sample_shift(&s, 1.0);
    sample_store(&s);
    check_sample(&s, kernel_names[_i]);
    sample_free(&s);
  }
}
END_TEST

/* A chain of links has no fill; an arrow has none if its head goes last; a clique is dense. */
START_TEST(chain_arrow_and_clique) {
  if (!runs(_i)) return;
  for (int shape = 0; shape < 3; shape++) {
    sample s = sample_groups(40, 3);
    for (int g = 1; g < s.groups; g++) {
      if (shape == 0) sample_couple(&s, g, g - 1);
      if (shape == 1) sample_couple(&s, g, 0);
      for (int h = 0; shape == 2 && h < g; h++) sample_couple(&s, g, h);
    }
    sample_shift(&s, 0.5);
    sample_store(&s);
    check_sample(&s, kernel_names[_i]);
    sample_free(&s);
  }
}
END_TEST

/* One row per group, as joints come: a star of single rows, its centre first. */
START_TEST(fill_stays_small_on_an_arrow_of_single_rows) {
  cholesky c;
  sample s = sample_groups(200, 1);
  for (int g = 1; g < s.groups; g++) sample_couple(&s, g, 0);
  sample_shift(&s, 0.5);
  sample_store(&s);
  analyze(&c, &s);
  factor(&c, NULL, NULL);
  ck_assert_uint_lt(c.nonzeros, 5000); /* dense: 20100 */
  sample_free(&s);
}
END_TEST

/* Every size around the widths of the kernels, dense. */
START_TEST(every_small_size) {
  if (!runs(_i)) return;
  for (int n = 1; n <= 40; n++) {
    sample s = sample_groups(n, 1);
    for (int g = 0; g < n; g++) sample_couple(&s, g, (g + 1) % n);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) s.a[i * n + j] = s.a[j * n + i] += 0.01 * draw_real();
    sample_shift(&s, 3.0);
    sample_store(&s);
    check_sample(&s, kernel_names[_i]);
    sample_free(&s);
  }
}
END_TEST

START_TEST(nothing_kept_gives_zeros) {
  cholesky c;
  sample s = sample_random(30, 3, 60);
  unsigned char *keep = calloc((size_t)s.n, 1);
  double *x = malloc((size_t)s.n * sizeof *x);
  for (int i = 0; i < s.n; i++) x[i] = 1.0;
  analyze(&c, &s);
  factor(&c, keep, NULL);
  solve(&c, x);
  for (int i = 0; i < s.n; i++) ck_assert(x[i] == 0.0);
  ck_assert_uint_eq(c.nonzeros, 0);
  free(keep), free(x);
  sample_free(&s);
}
END_TEST

START_TEST(no_rows_at_all) {
  cholesky c;
  size_t begin[1] = {0};
  int group_first[1] = {0};
  lower_triangle lower = {.begin = begin};
  ck_assert_int_eq(lcplug_cholesky_analyze(&c, &lower, 0, group_first, workspace), LCPLUG_OK);
  factor(&c, NULL, NULL);
  solve(&c, NULL);
}
END_TEST

/* Every row twice: A is singular, and half of the pivots vanish.  The factor stays finite, the
 * unknowns of vanished pivots are 0, and a right side in the range of A is met. */
START_TEST(duplicate_rows_stay_finite) {
  if (!runs(_i)) return;
  for (int groups = 6; groups <= 60; groups += 18) {
    cholesky c;
    sample s = sample_groups(groups, 1);
    int n = s.n;
    double *b = calloc((size_t)n, sizeof *b), *x = malloc((size_t)n * sizeof *x);
    for (int g = 0; g + 3 < groups; g += 2) {
      double v[4] = {draw_real(), 0.0, draw_real(), 0.0};
      v[1] = v[0], v[3] = v[2];
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) s.a[(g + i) * n + g + j] += v[i] * v[j];
    }
    for (int g = 0; g < groups; g++)
      for (int k = g & ~1; k <= (g | 1); k++) s.a[g * n + k] += 1.0;
    sample_store(&s);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) b[i] += s.a[i * n + j] * sin(j);
    memcpy(x, b, (size_t)n * sizeof *x);
    analyze(&c, &s);
    c.kernels = lcplug_kernels_named(kernel_names[_i]);
    factor(&c, NULL, NULL);
    solve(&c, x);
    ck_assert_int_eq(c.perturbed, groups / 2);
    ck_assert_double_le(residual(&s, NULL, NULL, x, b), 1e-12);
    free(b), free(x);
    sample_free(&s);
  }
}
END_TEST

START_TEST(zero_matrix_gives_zeros) {
  cholesky c;
  sample s = sample_groups(5, 2);
  double x[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  sample_store(&s);
  analyze(&c, &s);
  factor(&c, NULL, NULL);
  solve(&c, x);
  ck_assert_int_eq(c.perturbed, s.n);
  for (int i = 0; i < s.n; i++) ck_assert(x[i] == 0.0);
  sample_free(&s);
}
END_TEST

/* The kernels differ in rounding only, and each repeats itself to the bit. */
START_TEST(kernels_agree_and_repeat) {
  sample s = sample_random(80, 4, 200);
  size_t bytes = (size_t)s.n * sizeof(double);
  double *x[KERNELS][2];
  for (int k = 0; k < KERNELS; k++)
    for (int again = 0; again < 2; again++) {
      cholesky c;
      x[k][again] = malloc(bytes);
      for (int i = 0; i < s.n; i++) x[k][again][i] = 1.0 + i;
      analyze(&c, &s);
      if (runs(k)) c.kernels = lcplug_kernels_named(kernel_names[k]);
      factor(&c, NULL, NULL);
      solve(&c, x[k][again]);
    }
  for (int k = 0; k < KERNELS; k++) {
    ck_assert_mem_eq(x[k][0], x[k][1], bytes);
    ck_assert_double_le(largest_difference(x[k][0], x[0][0], s.n), 1e-11);
  }
  for (int k = 0; k < KERNELS; k++) free(x[k][0]), free(x[k][1]);
  sample_free(&s);
}
END_TEST

/* Friction dropped, one row of three kept: nearly 27 times less arithmetic. */
START_TEST(dropped_rows_cost_nothing) {
  cholesky c;
  sample s = {.groups = 60,
              .n = 180,
              .group_first = malloc(61 * sizeof(int)),
              .a = calloc(180 * 180, sizeof(double))};
  for (int g = 0; g <= 60; g++) s.group_first[g] = 3 * g;
  for (int g = 2; g < 60; g++) sample_couple(&s, g, g - 1), sample_couple(&s, g, g - 2);
  sample_shift(&s, 1.0);
  sample_store(&s);
  unsigned char keep[180];
  for (int i = 0; i < 180; i++) keep[i] = i % 3 == 0;
  analyze(&c, &s);
  factor(&c, NULL, NULL);
  double all = c.flops;
  factor(&c, keep, NULL);
  ck_assert_double_le(c.flops, all / 15.0);
  sample_free(&s);
}
END_TEST

/* Other values on the same pattern need no new analysis. */
START_TEST(new_values_for_the_same_pattern) {
  cholesky c;
  sample s = sample_random(50, 3, 100);
  analyze(&c, &s);
  check_subset(&c, &s, NULL, NULL);
  for (int i = 0; i < s.n; i++)
    for (int j = 0; j < s.n; j++) s.a[i * s.n + j] *= (1.0 + 0.1 * (i % 3)) * (1.0 + 0.1 * (j % 3));
  for (int i = 0; i < s.n; i++)
    for (size_t k = s.lower.begin[i]; k < s.lower.begin[i + 1]; k++)
      s.lower.value[k] = s.a[i * s.n + s.lower.column[k]];
  lcplug_cholesky_load(&c, &s.lower);
  check_subset(&c, &s, NULL, NULL);
  sample_free(&s);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cholesky");
  TCase *tests = tcase_create("factor and solve");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, agrees_with_dense_on_random_patterns, 0, KERNELS);
  tcase_add_loop_test(tests, agrees_with_dense_on_clusters, 0, KERNELS);
  tcase_add_loop_test(tests, chain_arrow_and_clique, 0, KERNELS);
  tcase_add_loop_test(tests, every_small_size, 0, KERNELS);
  tcase_add_loop_test(tests, duplicate_rows_stay_finite, 0, KERNELS);
  tcase_add_test(tests, fill_stays_small_on_an_arrow_of_single_rows);
  tcase_add_test(tests, nothing_kept_gives_zeros);
  tcase_add_test(tests, no_rows_at_all);
  tcase_add_test(tests, zero_matrix_gives_zeros);
  tcase_add_test(tests, kernels_agree_and_repeat);
  tcase_add_test(tests, dropped_rows_cost_nothing);
  tcase_add_test(tests, new_values_for_the_same_pattern);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failures = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
