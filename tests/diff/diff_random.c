/* diff_random.c - random problems into upstream's Dantzig and into every solver.
 *
 * A = J J^T + c 1 for a random J, b = -J v as in a physics engine: b lies in the range of A, so a
 * singular problem has a solution whatever its bounds.  Four kinds of matrix meet every kind of
 * rows that the ABI can express. */
#include "diff_common.h"
#include "unit/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct matrix_kind {
  const char *name;
  double columns; /* of J, per row: below 1 leaves A singular but for c */
  double decades; /* column k of J is scaled by 10^(-decades k / columns) */
  double cfm;     /* c, as a fraction of the mean diagonal element */
  diff_limits limits;
} matrix_kind;

static const matrix_kind matrices[] = {
    {"well conditioned", 2.0, 0, 1e-3, {1e-10, 1e-10, 1e-6}},
    {"badly conditioned", 1.5, 4, 0, {1e-8, INFINITY, 1}},
    {"singular", 0.6, 0, 0, {1e-8, INFINITY, 1}},
    {"nearly singular", 0.6, 0, 1e-10, {1e-8, INFINITY, 1}},
};
enum { MATRICES = sizeof matrices / sizeof *matrices };

static void fill_matrix(diff_problem *p, const matrix_kind *kind, diff_random *r) {
  int n = p->n, columns = (int)ceil(kind->columns * n);
  double scale = pow(10, diff_between(r, -3, 3)); /* the unit of force is the engine's affair */
  double *J = malloc((size_t)n * (size_t)columns * sizeof *J), trace = 0;
  ck_assert_ptr_nonnull(J);
  for (int k = 0; k < columns; k++) {
    double v = diff_between(r, -1, 1), size = scale * pow(10, -kind->decades * k / columns);
    for (int i = 0; i < n; i++) {
      J[i * columns + k] = size * diff_between(r, -1, 1);
      p->b[i] -= J[i * columns + k] * v;
    }
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k < columns; k++) sum += J[i * columns + k] * J[j * columns + k];
      p->A[(size_t)i * p->stride + (size_t)j] = sum;
    }
  for (int i = 0; i < n; i++) trace += p->A[(size_t)i * p->stride + (size_t)i];
  for (int i = 0; i < n; i++) p->A[(size_t)i * p->stride + (size_t)i] += kind->cfm * trace / n;
  free(J);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void set_row(diff_problem *p, int i, double lo, double hi, int findex) {
  p->lo[i] = lo;
  p->hi[i] = hi;
  if (p->findex) p->findex[i] = findex;
}

/* Of the size that forces have here, so that some of them reach their bounds. */
static double force(const diff_problem *p, diff_random *r) {
  double d = p->A[0], b = 0;
  for (int i = 0; i < p->n; i++) b = fmax(b, fabs(p->b[i]));
  return diff_between(r, 0.01, 1) * b / (d > 0 ? d : 1);
}

/* A row without friction: one-sided, two-sided, free or shut. */
static void plain_row(diff_problem *p, int i, diff_random *r) {
  switch (diff_below(r, 6)) {
    case 0: set_row(p, i, -INFINITY, INFINITY, -1); break;
    case 1: set_row(p, i, -INFINITY, 0, -1); break;
    case 2: set_row(p, i, -force(p, r), force(p, r), -1); break;
    case 3: set_row(p, i, 0, force(p, r), -1); break;
    case 4: set_row(p, i, 0, 0, -1); break;
    default: set_row(p, i, 0, INFINITY, -1); break;
  }
}

static void all_free_by_nub(diff_problem *p, diff_random *r) {
  p->nub = p->n;
  for (int i = 0; i < p->n; i++) plain_row(p, i, r); /* which nobody may look at */
}

static void all_free_by_bounds(diff_problem *p, diff_random *r) {
  (void)r;
  for (int i = 0; i < p->n; i++) set_row(p, i, -INFINITY, INFINITY, -1);
}

static void mixed_bounds(diff_problem *p, diff_random *r) {
  for (int i = 0; i < p->n; i++) plain_row(p, i, r);
}

/* Bounds of the first nub rows mean nothing, and more free rows follow. */
static void some_free_by_nub(diff_problem *p, diff_random *r) {
  mixed_bounds(p, r);
  p->nub = 1 + diff_below(r, p->n);
}

/* Contacts with up to `most` friction rows each, from row `first` on. */
static void contacts(diff_problem *p, int first, int most, double mu_least, double mu_most,
                     diff_random *r) {
  for (int i = first; i < p->n;) {
    int normal = i, rows = most < 0 ? -most : 1 + diff_below(r, most);
    set_row(p, i++, 0, INFINITY, -1);
    for (int k = 0; k < rows && i < p->n; k++, i++) {
      double mu = diff_between(r, mu_least, mu_most);
      set_row(p, i, -mu, mu, normal);
    }
  }
}

static void usual_contacts(diff_problem *p, diff_random *r) { contacts(p, 0, -2, 0.5, 0.5, r); }
static void unequal_mu(diff_problem *p, diff_random *r) { contacts(p, 0, -2, 0.01, 2, r); }
static void lone_friction_rows(diff_problem *p, diff_random *r) { contacts(p, 0, -1, 0.1, 1, r); }
static void rolling_rows(diff_problem *p, diff_random *r) { contacts(p, 0, 5, 0.01, 1, r); }

/* mu 0 gives no force and mu infinite no bound, unless the normal force is 0; lo is ignored. */
static void extreme_mu(diff_problem *p, diff_random *r) {
  static const double mu[] = {0, INFINITY, 0.5, 1e-12, 1e6};
  contacts(p, 0, 5, 0.1, 1, r);
  for (int i = 0; i < p->n; i++)
    if (p->findex[i] >= 0)
      set_row(p, i, diff_between(r, -9, 0), mu[diff_below(r, 5)], p->findex[i]);
}

static void constant_friction(diff_problem *p, diff_random *r) {
  usual_contacts(p, r);
  for (int i = 0; i < p->n; i++) {
    double bound = force(p, r);
    if (p->findex[i] >= 0 && diff_below(r, 2)) set_row(p, i, -bound, bound, -1);
  }
}

/* Any row may be a normal: a free one, one that pulls, one that is shut. */
static void friction_on_joints(diff_problem *p, diff_random *r) {
  int normals = (p->n + 2) / 3;
  for (int i = 0; i < p->n; i++)
    if (i < normals) plain_row(p, i, r);
    else set_row(p, i, -0.7, 0.7, diff_below(r, normals));
}

static void joints_before_contacts(diff_problem *p, diff_random *r) {
  int joints = p->n / 3;
  p->nub = joints / 2; /* as from ODE: fewer than there are free rows */
  rolling_rows(p, r);
  contacts(p, joints, 2, 0.1, 1, r);
  for (int i = 0; i < joints; i++) set_row(p, i, -INFINITY, INFINITY, -1);
}

/* Row i goes to place[i]; friction rows follow their normals, wherever these are. */
static void shuffle(diff_problem *p, diff_random *r) {
  int n = p->n, *place = malloc((size_t)n * sizeof *place);
  diff_problem *old = diff_problem_copy(p);
  ck_assert_ptr_nonnull(place);
  for (int i = 0; i < n; i++) place[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int j = diff_below(r, i + 1), t = place[i];
    place[i] = place[j];
    place[j] = t;
  }
  for (int i = 0; i < n; i++)
    set_row(p, place[i], old->lo[i], old->hi[i], old->findex[i] < 0 ? -1 : place[old->findex[i]]);
  diff_problem_free(old);
  free(place);
}

static void scattered_contacts(diff_problem *p, diff_random *r) {
  contacts(p, 0, 5, 0.01, 1, r);
  shuffle(p, r);
}

static void scattered_extremes(diff_problem *p, diff_random *r) {
  extreme_mu(p, r);
  shuffle(p, r);
}

/* Friction on friction: sees no force, upstream and here. */
static void chained_findex(diff_problem *p, diff_random *r) {
  contacts(p, 0, 2, 0.1, 1, r);
  for (int i = 0; i + 1 < p->n; i++)
    if (p->findex[i] >= 0 && p->findex[i + 1] >= 0 && diff_below(r, 3) == 0) p->findex[i + 1] = i;
  shuffle(p, r);
}

typedef struct row_kind {
  const char *name;
  int findex; /* 0: the pointer is NULL */
  void (*set)(diff_problem *p, diff_random *r);
} row_kind;

static const row_kind rows[] = {
    {"all free by nub", 0, all_free_by_nub},
    {"all free by bounds", 1, all_free_by_bounds},
    {"mixed bounds", 0, mixed_bounds},
    {"some free by nub", 1, some_free_by_nub},
    {"usual contacts", 1, usual_contacts},
    {"unequal mu", 1, unequal_mu},
    {"lone friction rows", 1, lone_friction_rows},
    {"rolling rows", 1, rolling_rows},
    {"extreme mu", 1, extreme_mu},
    {"constant friction", 1, constant_friction},
    {"friction on joints", 1, friction_on_joints},
    {"joints before contacts", 1, joints_before_contacts},
    {"scattered contacts", 1, scattered_contacts},
    {"scattered extremes", 1, scattered_extremes},
    {"chained findex", 1, chained_findex},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- the tests ------------------------------------------------------------------------------- */

static const int sizes[] = {1, 2, 3, 5, 8, 13, 24, 25, 40, 66};
enum { SIZES = sizeof sizes / sizeof *sizes };

static diff_problem *make(int matrix, int row, int size) {
  diff_random r = {(uint64_t)(1000 * matrix + 20 * row + size) * 7919 + 1};
  diff_problem *p = diff_problem_create(sizes[size], rows[row].findex);
  snprintf(p->name, sizeof p->name, "%s, %s, n %d", matrices[matrix].name, rows[row].name, p->n);
  fill_matrix(p, &matrices[matrix], &r);
  rows[row].set(p, &r);
  return p;
}

/* The well conditioned problems must not be too much for upstream, or nothing is compared. */
START_TEST(strict_solvers_agree_with_upstream) {
  const matrix_kind *kind = &matrices[_i / ROWS];
  for (int size = 0; size < SIZES; size++) {
    diff_problem *p = make(_i / ROWS, _i % ROWS, size);
    if (kind->limits.reach < 1) {
      diff_answer *upstream = diff_upstream(p);
      diff_expect(diff_upstream_solved(upstream), "%s: upstream has residual %.2e and %d errors",
                  p->name, upstream->residual, upstream->errors);
      diff_answer_free(upstream);
    }
    diff_check_strict(p, &kind->limits);
    diff_problem_free(p);
  }
  diff_finish();
}
END_TEST

START_TEST(first_order_solvers_are_honest) {
  for (int size = 0; size < SIZES; size += 3) {
    diff_problem *p = make(_i / ROWS, _i % ROWS, size);
    diff_check_first_order(p, &matrices[_i / ROWS].limits);
    diff_problem_free(p);
  }
  diff_finish();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("random problems against upstream");
  TCase *tests = support_case(suite, "all kinds");
  tcase_add_loop_test(tests, strict_solvers_agree_with_upstream, 0, MATRICES * ROWS);
  tcase_add_loop_test(tests, first_order_solvers_are_honest, 0, MATRICES * ROWS);
  return support_run(suite);
}
