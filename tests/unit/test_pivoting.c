/* test_pivoting.c - principal pivoting on small dense boxes, from good guesses and from bad ones.
 *
 * An answer is judged by the conditions of a solution, with w worked out anew from A and b. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pivoting.h"
#include "support.h"

enum { MOST = 60, LD = 60 };

typedef struct sample {
  int n;
  double A[MOST][MOST], b[MOST], lo[MOST], hi[MOST];
} sample;

/* A = J J' + shift I, J with `rank` columns; half of the rows bounded on one side, half on both. */
static sample *make_sample(rng *r, int n, int rank, double shift) {
  sample *s = calloc(1, sizeof *s);
  double J[MOST][MOST];
  s->n = n;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < rank; k++) J[i][k] = rng_between(r, -1, 1);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      for (int k = 0; k < rank; k++) s->A[i][j] += J[i][k] * J[j][k];
    s->A[i][i] += shift;
    s->b[i] = rng_between(r, -1, 1);
    s->lo[i] = i % 2 ? 0.0 : -rng_between(r, 0.01, 1);
    s->hi[i] = i % 2 ? INFINITY : -s->lo[i];
  }
  return s;
}

static double *new_vector(void) { return aligned_alloc(64, 64 * sizeof(double)); }
static double *new_square(void) { return aligned_alloc(64, LD * 64 * sizeof(double)); }

typedef struct run {
  pivoting p;
  double *memory[7];
  unsigned char place[MOST];
} run;

/* x of the rows inside solves A_FF x_F = b_F - A_FN x_N, by elimination without pivoting. */
static void solve_guess(const sample *s, const unsigned char *at, double *x) {
  static double a[MOST][MOST + 1];
  int row[MOST], m = 0;
  for (int i = 0; i < s->n; i++) {
    x[i] = at[i] == AT_LO ? s->lo[i] : at[i] == AT_HI ? s->hi[i] : 0.0;
    if (at[i] == INSIDE) row[m++] = i;
  }
  for (int i = 0; i < m; i++) {
    a[i][m] = s->b[row[i]];
    for (int j = 0; j < s->n; j++)
      if (at[j] != INSIDE) a[i][m] -= s->A[row[i]][j] * x[j];
    for (int j = 0; j < m; j++) a[i][j] = s->A[row[i]][row[j]];
  }
  for (int k = 0; k < m; k++)
    for (int i = k + 1; i < m; i++) {
      double f = a[i][k] / a[k][k];
      for (int j = k; j <= m; j++) a[i][j] -= f * a[k][j];
    }
  for (int i = m - 1; i >= 0; i--) {
    double sum = a[i][m];
    for (int j = i + 1; j < m; j++) sum -= a[i][j] * x[row[j]];
    x[row[i]] = sum / a[i][i];
  }
}

static double w_of(const sample *s, const double *x, int i) {
  double w = -s->b[i];
  for (int j = 0; j < s->n; j++) w += s->A[i][j] * x[j];
  return w;
}

static void prepare(run *r, const sample *s, const char *kernels) {
  for (int k = 0; k < 7; k++) r->memory[k] = k == 0 || k == 6 ? new_square() : new_vector();
  r->p = (pivoting){.kernels = lcplug_kernels_named(kernels), .rows = s->n, .unit = 1.0,
                    .ld = lcplug_panel_pad(s->n), .table = r->memory[0], .x = r->memory[1],
                    .w = r->memory[2], .diagonal = r->memory[5], .scratch = r->memory[6],
                    .place = r->place};
  memcpy(r->memory[3], s->lo, sizeof s->lo);
  memcpy(r->memory[4], s->hi, sizeof s->hi);
  r->p.lo = r->memory[3], r->p.hi = r->memory[4];
  memset(r->p.table, 0, LD * 64 * sizeof(double));
  for (int j = 0; j < s->n; j++)
    for (int i = j; i < s->n; i++) r->p.table[j * r->p.ld + i] = s->A[i][j];
  solve_guess(s, r->place, r->p.x);
  for (int i = 0; i < s->n; i++) r->p.w[i] = r->place[i] == INSIDE ? 0.0 : w_of(s, r->p.x, i);
}

static void finish(run *r) {
  for (int k = 0; k < 7; k++) free(r->memory[k]);
}

static void guess_anything(rng *r, const sample *s, unsigned char *at) {
  for (int i = 0; i < s->n; i++) {
    double u = rng_between(r, 0, 3);
    at[i] = u < 1 ? AT_LO : u < 2 || isinf(s->hi[i]) ? INSIDE : AT_HI;
  }
}

static void check_solution(const sample *s, const run *r, double tolerance) {
  const double *x = r->p.x;
  for (int i = 0; i < s->n; i++) {
    double w = w_of(s, x, i);
    ck_assert_double_ge(x[i], s->lo[i] - tolerance);
    ck_assert_double_le(x[i], s->hi[i] + tolerance);
    if (r->place[i] == INSIDE) ck_assert_double_le(fabs(w), tolerance);
    else ck_assert(x[i] == (r->place[i] == AT_LO ? s->lo[i] : s->hi[i]));
    if (r->place[i] == AT_LO) ck_assert_double_ge(w, -tolerance);
    if (r->place[i] == AT_HI) ck_assert_double_le(w, tolerance);
  }
}

static const char *const kernel_names[] = {"portable", "avx2"};
enum { KERNELS = sizeof kernel_names / sizeof *kernel_names };

/* A is positive definite: every guess ends, and all at the same places. */
START_TEST(any_guess_ends_at_the_solution) {
  if (!lcplug_kernels_named(kernel_names[_i])) return;
  rng random = {7};
  for (int k = 0; k < 200; k++) {
    int n = 1 + k % 50;
    sample *s = make_sample(&random, n, n, 0.1);
    unsigned char first[MOST];
    for (int guess = 0; guess < 3; guess++) {
      run r;
      guess_anything(&random, s, r.place);
      prepare(&r, s, kernel_names[_i]);
      ck_assert_int_eq(lcplug_pivoting(&r.p), 1);
      check_solution(s, &r, 1e-9);
      if (!guess) memcpy(first, r.place, (size_t)n);
      ck_assert_mem_eq(first, r.place, (size_t)n);
      finish(&r);
    }
    free(s);
  }
}
END_TEST

/* More rows than A has rank, as contacts have, and a trace on the diagonal. */
START_TEST(redundant_rows) {
  rng random = {11};
  for (int k = 0; k < 100; k++) {
    int n = 12 + k % 40;
    sample *s = make_sample(&random, n, 6, 1e-6);
    run r;
    for (int i = 0; i < n; i++) r.place[i] = AT_LO;
    prepare(&r, s, "portable");
    ck_assert_int_eq(lcplug_pivoting(&r.p), 1);
    check_solution(s, &r, 1e-7);
    finish(&r);
    free(s);
  }
}
END_TEST

/* Singular, and b may lie outside the range: it may fail, but it ends, and claims nothing wrong. */
START_TEST(singular_matrices_end) {
  rng random = {13};
  int ended = 0;
  for (int k = 0; k < 100; k++) {
    int n = 8 + k % 40;
    sample *s = make_sample(&random, n, 4, 0.0);
    run r;
    for (int i = 0; i < n; i++) r.place[i] = AT_LO;
    prepare(&r, s, "portable");
    if (lcplug_pivoting(&r.p)) {
      check_solution(s, &r, 1e-6);
      ended++;
    }
    finish(&r);
    free(s);
  }
  ck_assert_int_gt(ended, 0);
}
END_TEST

/* Two rows that are one: the guess that both are inside has no pivot left for the second. */
START_TEST(a_vanished_pivot_is_said) {
  sample s = {.n = 2, .A = {{1, 1}, {1, 1}}, .b = {1, 1}, .lo = {0, 0}, .hi = {5, 5}};
  run r = {.place = {AT_LO, AT_LO}};
  prepare(&r, &s, "portable");
  r.place[0] = r.place[1] = INSIDE;
  ck_assert_int_eq(lcplug_pivoting(&r.p), 0);
  finish(&r);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pivoting");
  TCase *tests = support_case(suite, "boxes");
  tcase_add_loop_test(tests, any_guess_ends_at_the_solution, 0, KERNELS);
  tcase_add_test(tests, redundant_rows);
  tcase_add_test(tests, singular_matrices_end);
  tcase_add_test(tests, a_vanished_pivot_is_said);
  return support_run(suite);
}
