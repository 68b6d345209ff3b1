/* test_exact.c - solver=exact on boxes: every way through it, the problems that make it hard, and
 * what it keeps from solve to solve.
 *
 * Answers are judged by the residual and by the conditions of a solution; w, which is unique where
 * x is not, is compared with that of the other ways, and up to eight rows with the answer found by
 * trying all active sets. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "small.h"
#include "support.h"
#include "one_contact.h"
#include "tiny.h"

enum { REFERENCE_MOST = 8, PUBLIC_WAYS = 4 };
static const double TOL = 1e-10; /* the solver's own */

/* ---- walls ----------------------------------------------------------------------------------- */

/* One contact point: the two bodies, -1 for the ground, and for each of its three rows (normal, two
 * tangents) what a unit force does to them. */
typedef struct contact {
  int body[2];
  double line[3][2][6];
} contact;

/* Unit cubes touch at a random point of their faces; axis 0 is up. */
static void make_contact(rng *r, contact *c, int above, int below) {
  double y = rng_between(r, -0.5, 0.5), z = rng_between(r, -0.5, 0.5);
  *c = (contact){.body = {above, below}};
  for (int side = 0; side < 2; side++) {
    double sign = side ? -1.0 : 1.0, arm[3] = {-0.5 * sign, y, z};
    for (int axis = 0; axis < 3; axis++) {
      double *line = c->line[axis][side];
      int next = (axis + 1) % 3, last = (axis + 2) % 3;
      line[axis] = sign;
      line[3 + next] = sign * arm[last]; /* arm x unit vector */
      line[3 + last] = -sign * arm[next];
    }
  }
}

static double coupling(const contact *c, int i, const contact *d, int j) {
  double sum = 0.0;
  for (int s = 0; s < 2; s++)
    for (int t = 0; t < 2; t++)
      for (int k = 0; k < 6 && c->body[s] >= 0 && c->body[s] == d->body[t]; k++)
        sum += c->line[i][s][k] * d->line[j][t][k];
  return sum;
}

/* Contact rows of A = J J' + cfm I and b = J v. */
static void set_contact_rows(instance *p, const contact *c, int k, const double *v, double cfm,
                             double mu) {
  for (int i = 3 * k; i < 3 * k + 3; i++) {
    for (int j = 0; j <= i; j++)
      instance_set(p, i, j, coupling(&c[k], i % 3, &c[j / 3], j % 3) + (i == j ? cfm : 0.0));
    for (int s = 0; s < 2; s++)
      for (int e = 0; e < 6 && c[k].body[s] >= 0; e++)
        p->b[i] += c[k].line[i % 3][s][e] * v[6 * c[k].body[s] + e];
    p->findex[i] = i % 3 ? 3 * k : -1;
    p->lo[i] = i % 3 ? -mu : 0.0;
    if (i % 3) p->hi[i] = mu;
  }
}

/* A wall of width x height cubes that fall and drift, each on `points` contacts with one or two
 * below: 3 points a cube are enough, more are redundant.  n = 3 width height points. */
static instance *wall(rng *r, int width, int height, int points, double cfm, double mu) {
  int cubes = width * height, contacts = cubes * points;
  instance *p = instance_create(3 * contacts);
  contact *c = calloc((size_t)contacts, sizeof *c);
  double *v = calloc((size_t)cubes, 6 * sizeof *v);
  ck_assert(c && v);
  for (int k = 0; k < 6 * cubes; k++) v[k] = rng_between(r, -0.5, 0.5) + (k % 6 == 0 ? 1.0 : 0.0);
  for (int k = 0; k < contacts; k++) {
    int above = k / points, below = above - width, beside = above % width + 1 < width;
    if (below >= 0 && k % 2 && beside) below++;
    make_contact(r, &c[k], above, below < 0 ? -1 : below);
    set_contact_rows(p, c, k, v, cfm, mu);
  }
  free(c), free(v);
  return p;
}

/* ---- ways to an answer ----------------------------------------------------------------------- */

static lcplug_settings exact_settings(lcplug_matrix matrix) {
  lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_ODE);
  s.matrix = matrix;
  return s;
}

static lcplug_info solve_problem(lcplug_workspace *workspace, const lcplug_problem *problem,
                                 instance *p, const lcplug_settings *s) {
  lcplug_solution solution = {.x = p->x, .w = p->w, .lo = p->used_lo, .hi = p->used_hi};
  lcplug_info info;
  lcplug_error error = lcplug_solve(workspace, problem, s, &solution, &info);
  ck_assert_msg(!error, "%s", lcplug_error_text(error));
  return info;
}

static lcplug_info solve_in(lcplug_workspace *workspace, instance *p, const lcplug_settings *s) {
  lcplug_problem problem = instance_problem(p);
  return solve_problem(workspace, &problem, p, s);
}

static lcplug_info solve_from(instance *p, const double *x0, const lcplug_settings *s) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = instance_problem(p);
  problem.x0 = x0;
  lcplug_info info = solve_problem(workspace, &problem, p, s);
  lcplug_workspace_free(workspace);
  return info;
}

/* INTERIOR is small.c's answer to an active set that does not settle. */
typedef enum way { ONE, TINY, SMALL, INTERIOR, DENSE, SPARSE, WAYS } way;
static const char *const way_names[] = {"one contact",           "tiny",  "small",
                                        "small, interior point", "dense", "sparse"};

/* Solves p by one way; 0 if that way leaves the problem to others. */
static int solve_by(way by, instance *p, lcplug_info *info) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = instance_problem(p);
  lcplug_solution solution = {.x = p->x, .w = p->w, .lo = p->used_lo, .hi = p->used_hi};
  lcplug_settings s = exact_settings(by == SPARSE ? LCPLUG_MATRIX_SPARSE : LCPLUG_MATRIX_DENSE);
  double *none = calloc((size_t)p->n, sizeof *none);
  int done = 0;
  if (by == ONE) done = p->n == 3 && lcplug_one_contact_solve(&problem, TOL, &solution, info);
  else if (by == TINY)
    done = p->n <= TINY_MOST_ROWS && lcplug_tiny_solve(&problem, TOL, &solution, info) == 1;
  else if (by == SMALL || by == INTERIOR)
    done = p->n <= SMALL_MOST_IN_ALL &&
           lcplug_small_solve(workspace, &problem, TOL, by == SMALL, NULL, &solution, info, NULL);
  else {
    problem.x0 = none; /* a guess, even none at all, keeps the short ways out */
    *info = solve_problem(workspace, &problem, p, &s);
    done = 1;
  }
  free(none);
  lcplug_workspace_free(workspace);
  return done;
}

/* Settings that a caller may choose, and that all come to an exact answer. */
static lcplug_settings public_settings(int number) {
  lcplug_settings s = exact_settings(number < 3 ? (lcplug_matrix)number : LCPLUG_MATRIX_AUTO);
  if (number == 3) s.solver = LCPLUG_AUTO;
  return s;
}

/* ---- judges ---------------------------------------------------------------------------------- */

static void check_solved(const instance *p, const lcplug_info *info, const char *name) {
  double violation = instance_conditions(p, LCPLUG_FRICTION_ODE);
  for (int i = 0; i < p->n; i++) {
    ck_assert_msg(isfinite(p->x[i]) && isfinite(p->w[i]), "%s: x %g, w %g", name, p->x[i], p->w[i]);
    ck_assert_msg(p->x[i] >= p->used_lo[i] && p->x[i] <= p->used_hi[i],
                  "%s: row %d of %d is out of bounds", name, i, p->n);
  }
  ck_assert_msg(info->status == LCPLUG_SOLVED, "%s, n = %d: %s, residual %g", name, p->n,
                lcplug_status_text(info->status), info->residual);
  ck_assert_msg(instance_residual(p, LCPLUG_FRICTION_ODE) <= TOL, "%s: residual %g, told %g", name,
                instance_residual(p, LCPLUG_FRICTION_ODE), info->residual);
  ck_assert_msg(violation <= 1e-9, "%s, n = %d: conditions %g", name, p->n, violation);
}

static double largest(const double *v, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(v[i]));
  return most;
}

/* max |p_i - q_i|; infinities of one sign are equal. */
static double difference(const double *p, const double *q, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++)
    if (p[i] != q[i] && !(fabs(p[i] - q[i]) <= most)) most = fabs(p[i] - q[i]);
  return most;
}

/* The bounds that friction gets from the normal forces x. */
static void freeze(const instance *p, const double *x, double *lo, double *hi) {
  for (int i = 0; i < p->n; i++) {
    int normal = p->findex[i];
    lo[i] = p->lo[i], hi[i] = p->hi[i];
    if (normal < 0) continue;
    int none = !x || p->findex[normal] >= 0 || x[normal] == 0.0 || p->hi[i] == 0.0;
    hi[i] = none ? 0.0 : fabs(p->hi[i] * x[normal]);
    lo[i] = -hi[i];
  }
}

/* ODE's two stages, each by trying all active sets. */
static int reference_ode(const instance *p, double *lo, double *hi, double *x) {
  freeze(p, NULL, lo, hi);
  if (!reference_box(p, lo, hi, x)) return 0;
  freeze(p, x, lo, hi);
  return reference_box(p, lo, hi, x);
}

/* w, against the reference with the bounds that this answer has frozen. */
static void check_w_by_reference(const instance *p, const char *name) {
  double x[REFERENCE_MOST], unit = fmax(1.0, largest(p->b, p->n));
  if (p->n > REFERENCE_MOST || !reference_box(p, p->used_lo, p->used_hi, x)) return;
  for (int i = 0; i < p->n; i++) {
    double w = instance_row_product(p, i, x) - p->b[i];
    ck_assert_msg(fabs(w - p->w[i]) <= 1e-8 * unit, "%s, row %d: w %g, reference %g", name, i,
                  p->w[i], w);
  }
}

/* Every way that takes the problem, and every public setting, solves it; how many of the ways
 * did. */
static int check_all_ways(const instance *problem) {
  instance *p = instance_copy(problem);
  lcplug_info info;
  int took = 0;
  for (way by = ONE; by < WAYS; by++) {
    if (!solve_by(by, p, &info)) continue;
    check_solved(p, &info, way_names[by]);
    check_w_by_reference(p, way_names[by]);
    took |= 1 << by;
  }
  for (int k = 0; k < PUBLIC_WAYS; k++) {
    lcplug_settings s = public_settings(k);
    info = instance_solve(p, &s);
    ck_assert_int_eq(info.solver, LCPLUG_EXACT);
    check_solved(p, &info, "public");
  }
  instance_free(p);
  return took;
}

/* The frozen bounds are mu times the normals of an answer without friction.  For problems in which
 * every other row is a normal with friction rows of one mu in (0, inf). */
static void check_frozen_bounds(const instance *p) {
  instance *q = instance_copy(p);
  memset(q->x, 0, (size_t)q->n * sizeof *q->x);
  for (int i = 0; i < q->n; i++) {
    if (p->findex[i] < 0) continue;
    q->x[p->findex[i]] = p->used_hi[i] / fabs(p->hi[i]);
    q->findex[i] = -1, q->lo[i] = q->hi[i] = 0.0;
  }
  for (int i = 0; i < q->n; i++) q->w[i] = instance_row_product(q, i, q->x) - q->b[i];
  double violation = instance_conditions(q, LCPLUG_FRICTION_ODE);
  ck_assert_msg(violation <= 1e-9, "n = %d: frozen normals off by %g", q->n, violation);
  instance_free(q);
}

static int same_bits(const instance *p, const instance *q) {
  size_t bytes = (size_t)p->n * sizeof *p->x;
  return p->n == q->n && !memcmp(p->x, q->x, bytes) && !memcmp(p->w, q->w, bytes) &&
         !memcmp(p->used_lo, q->used_lo, bytes) && !memcmp(p->used_hi, q->used_hi, bytes);
}

/* ---- the ways -------------------------------------------------------------------------------- */

typedef struct wall_size {
  int width, height, points;
} wall_size;

static const wall_size sizes[] = {{1, 1, 1}, {1, 1, 4}, {1, 2, 4},  {2, 2, 4},
                                  {3, 3, 4}, {4, 4, 4}, {1, 25, 4}, {10, 5, 4}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static instance *wall_of(rng *r, wall_size size, double cfm, double mu) {
  return wall(r, size.width, size.height, size.points, cfm, mu);
}

/* With CFM 1e-3 the forces are unique: all ways find the same w, and freeze the same bounds. */
START_TEST(ways_agree) {
  rng r = {100 + (uint64_t)_i};
  for (int trial = 0; trial < (_i < 5 ? 12 : 2); trial++) {
    instance *p = wall_of(&r, sizes[_i], 1e-3, trial % 3 ? 0.4 : 0.9), *q = instance_copy(p);
    lcplug_info info;
    ck_assert(solve_by(SPARSE, p, &info) && info.matrix == LCPLUG_MATRIX_SPARSE);
    check_solved(p, &info, "sparse");
    check_frozen_bounds(p);
    for (way by = TINY; by < SPARSE; by++) { /* one contact: see single_contacts */
      int most = by == TINY ? TINY_MOST_ROWS : by == DENSE ? q->n : SMALL_MOST_ROWS;
      ck_assert_msg(solve_by(by, q, &info) == (q->n <= most), "%s, n = %d", way_names[by], q->n);
      if (q->n > most) continue;
      check_solved(q, &info, way_names[by]);
      ck_assert_double_le(difference(p->w, q->w, p->n), 1e-9);
      ck_assert_double_le(difference(p->used_hi, q->used_hi, p->n), 1e-9);
    }
    instance_free(p), instance_free(q);
  }
}
END_TEST

/* One contact that opens, sticks or slides, with any mu: the closed form takes it, and its answer
 * is that of trying all active sets. */
START_TEST(single_contacts) {
  const double mus[] = {0.0, 0.1, 0.5, 1.0, 3.0, INFINITY};
  rng r = {105};
  int took = 0, open = 0, sliding = 0, tries = 0;
  for (int k = 0; k < 600; k++) {
    instance *p = wall(&r, 1, 1, 1, k % 2 ? 1e-10 : 1e-5, 0.5);
    p->hi[1] = mus[k % 6], p->hi[2] = mus[k / 6 % 6];
    for (int i = 0; i < 3; i++) p->b[i] = rng_between(&r, -1, 1);
    if (check_all_ways(p) & 1 << ONE) {
      lcplug_info info;
      took++;
      solve_by(ONE, p, &info);
      open += p->x[0] == 0.0;
      sliding +=
          p->x[0] > 0.0 && (fabs(p->x[1]) == p->used_hi[1] || fabs(p->x[2]) == p->used_hi[2]);
    }
    tries++;
    instance_free(p);
  }
  ck_assert_msg(took >= 0.99 * tries, "%d of %d", took, tries);
  ck_assert_int_gt(open, 100);
  ck_assert_int_gt(sliding, 50);
}
END_TEST

/* What is not a contact, or not finite, is left to others, and nothing is written. */
START_TEST(one_contact_leaves_the_rest_alone) {
  const int element[6][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}};
  rng r = {106};
  for (int k = 0; k < 15; k++) {
    instance *p = wall(&r, 1, 1, 1, 1e-5, 0.5);
    lcplug_info info;
    p->b[0] = k % 2 ? 1.0 : -1.0; /* pushes, or opens and needs no element of A */
    if (k < 6) instance_set(p, element[k][0], element[k][1], k % 4 < 2 ? NAN : INFINITY);
    else if (k < 9) p->b[k - 6] = NAN;
    else if (k == 9) p->findex[2] = -1;
    else if (k == 10) p->lo[0] = -1.0;
    else if (k == 11) p->hi[0] = 5.0;
    else if (k == 12) p->hi[1] = NAN;
    else if (k == 13) p->findex[0] = 1, p->findex[1] = -1;
    else instance_set(p, 1, 1, 0.0);
    memset(p->x, 0x77, 3 * sizeof *p->x);
    instance *q = instance_copy(p);
    ck_assert_msg(!solve_by(ONE, p, &info), "case %d", k);
    ck_assert_mem_eq(p->x, q->x, 3 * sizeof *p->x);
    instance_free(p), instance_free(q);
  }
}
END_TEST

/* Contacts that all open need no element of A.  One that is not finite is an error all the same,
 * wherever it is. */
START_TEST(open_contacts_are_checked_too) {
  rng r = {108};
  for (int contacts = 1; contacts <= 9; contacts++)
    for (int k = 0; k < 12; k++) {
      instance *p = wall(&r, contacts, 1, 1, 1e-5, 0.5);
      int i = rng_below(&r, p->n), j = rng_below(&r, i + 1);
      lcplug_workspace *workspace = lcplug_workspace_create();
      lcplug_problem problem = instance_problem(p);
      lcplug_solution solution = {.x = p->x};
      lcplug_settings s = exact_settings(LCPLUG_MATRIX_AUTO);
      lcplug_info info;
      for (int row = 0; row < p->n; row++) p->b[row] = row % 3 ? 0.1 : -1.0;
      ck_assert_int_eq(lcplug_solve(workspace, &problem, &s, &solution, &info), LCPLUG_OK);
      ck_assert_int_eq(info.status, LCPLUG_SOLVED);
      instance_set(p, i, j, k % 2 ? NAN : INFINITY);
      ck_assert_int_eq(lcplug_solve(workspace, &problem, &s, &solution, &info),
                       LCPLUG_ERROR_NOT_FINITE);
      lcplug_workspace_free(workspace);
      instance_free(p);
    }
}
END_TEST

/* Where a guess has few rows wrong they are settled with its factor.  Without that the same walls
 * take 12 factorizations on average, with it 8. */
START_TEST(wrong_rows_are_settled) {
  rng r = {107};
  int factorizations = 0, problems = 60;
  for (int k = 0; k < problems; k++) {
    instance *p = wall(&r, 4, 3, 3, 1e-3, k % 3 ? 0.4 : 0.9);
    lcplug_info info;
    ck_assert(solve_by(SMALL, p, &info));
    check_solved(p, &info, "small");
    factorizations += info.factorizations;
    instance_free(p);
  }
  ck_assert_msg(factorizations < 10 * problems, "%d factorizations", factorizations);
}
END_TEST

/* exact and auto take tiny.c up to 24 rows, small.c up to 140, the sparse way above: to the bit. */
START_TEST(each_size_takes_its_way) {
  rng r = {110 + (uint64_t)_i};
  instance *p = wall_of(&r, sizes[_i], 1e-3, 0.5), *q = instance_copy(p);
  way expected = p->n <= TINY_MOST_ROWS ? TINY : p->n <= SMALL_MOST_ROWS ? SMALL : SPARSE;
  lcplug_info by_way, info;
  ck_assert(solve_by(expected, p, &by_way));
  for (int automatic = 0; automatic < 2; automatic++) {
    lcplug_settings s = exact_settings(LCPLUG_MATRIX_AUTO);
    if (automatic) s.solver = LCPLUG_AUTO;
    memset(q->x, 0x77, (size_t)q->n * sizeof *q->x);
    info = instance_solve(q, &s);
    ck_assert(same_bits(p, q));
    ck_assert_int_eq(info.matrix, by_way.matrix);
    ck_assert_int_eq(info.solver, LCPLUG_EXACT);
    ck_assert_int_eq(info.factorizations, by_way.factorizations);
    ck_assert_int_gt(info.factorizations, 0);
  }
  instance_free(p), instance_free(q);
}
END_TEST

/* One row of some kind: a push, a free row, an interval around zero or beside it, a single value,
 * or friction of any other row, which may be later, free, or a friction row itself. */
static void set_any_row(rng *r, instance *p, int i) {
  double a = rng_between(r, 0.0, 1.0), b = a + rng_between(r, 0.0, 1.0);
  const double lo[] = {0.0, -INFINITY, -a, -b, a, -b, a, -INFINITY, 0.0};
  const double hi[] = {INFINITY, INFINITY, b, a, b, -a, a, a, 0.0};
  int kind = rng_below(r, 12), other = rng_below(r, p->n);
  if (kind < 9) {
    p->lo[i] = lo[kind], p->hi[i] = hi[kind];
  } else if (other == i) {
    p->lo[i] = 0.0;
  } else {
    const double mu[] = {0.5, 2.0, -0.7, 0.0, INFINITY};
    p->findex[i] = other, p->hi[i] = mu[rng_below(r, 5)], p->lo[i] = rng_between(r, -9.0, 9.0);
    if (p->lo[i] > p->hi[i]) p->lo[i] = p->hi[i]; /* ignored, but not to be NaN or out of order */
  }
}

/* Up to six rows of any kind, against all active sets. */
START_TEST(any_rows_against_all_active_sets) {
  rng r = {120};
  int took[WAYS] = {0};
  for (int trial = 0; trial < 300; trial++) {
    instance *p = instance_random(&r, 1 + trial % 6, 8, 1e-2);
    double lo[REFERENCE_MOST], hi[REFERENCE_MOST], x[REFERENCE_MOST];
    for (int i = 0; i < p->n; i++) set_any_row(&r, p, i);
    ck_assert(reference_ode(p, lo, hi, x));
    for (way by = ONE; by < WAYS; by++) {
      lcplug_info info;
      if (!solve_by(by, p, &info)) continue;
      took[by]++;
      check_solved(p, &info, way_names[by]);
      ck_assert_msg(distance_max(p->x, x, p->n) <= 1e-8, "%s: trial %d", way_names[by], trial);
      ck_assert_double_le(difference(p->used_lo, lo, p->n), 1e-8);
      ck_assert_double_le(difference(p->used_hi, hi, p->n), 1e-8);
    }
    instance_free(p);
  }
  ck_assert_msg(took[TINY] > 60 && took[SMALL] > 60, "tiny took %d, small %d", took[TINY],
                took[SMALL]);
  ck_assert(took[DENSE] == 300 && took[SPARSE] == 300);
}
END_TEST

/* Arrays that are not asked for are not written, and the others are as if all had been. */
START_TEST(parts_of_the_answer_may_be_left_out) {
  rng r = {121};
  instance *p = wall_of(&r, sizes[_i], 1e-3, 0.5), *q = instance_copy(p);
  lcplug_settings s = exact_settings(LCPLUG_MATRIX_AUTO);
  instance_solve(p, &s);
  size_t bytes = (size_t)p->n * sizeof *p->x;
  for (int wanted = 0; wanted < 8; wanted++) {
    lcplug_workspace *workspace = lcplug_workspace_create();
    lcplug_problem problem = instance_problem(q);
    lcplug_solution solution = {.x = q->x};
    if (wanted & 1) solution.w = q->w;
    if (wanted & 2) solution.lo = q->used_lo;
    if (wanted & 4) solution.hi = q->used_hi;
    q->w[0] = q->used_lo[0] = q->used_hi[0] = NAN;
    ck_assert_int_eq(lcplug_solve(workspace, &problem, &s, &solution, NULL), LCPLUG_OK);
    ck_assert_mem_eq(p->x, q->x, bytes);
    ck_assert((wanted & 1) ? !memcmp(p->w, q->w, bytes) : isnan(q->w[0]));
    ck_assert((wanted & 2) ? !memcmp(p->used_lo, q->used_lo, bytes) : isnan(q->used_lo[0]));
    ck_assert((wanted & 4) ? !memcmp(p->used_hi, q->used_hi, bytes) : isnan(q->used_hi[0]));
    lcplug_workspace_free(workspace);
  }
  instance_free(p), instance_free(q);
}
END_TEST

/* ---- degenerate problems --------------------------------------------------------------------- */

/* Four to nine contact points a cube, of which three would do, without CFM or with a trace of
 * it. */
START_TEST(redundant_contacts) {
  const wall_size walls[] = {{1, 1, 2}, {1, 1, 4}, {1, 3, 6}, {2, 2, 9}, {3, 4, 6}, {1, 20, 4}};
  const double cfm[] = {0.0, 1e-10, 1e-5};
  rng r = {130 + (uint64_t)_i};
  for (int trial = 0; trial < (_i < 4 ? 9 : 3); trial++) {
    instance *p = wall_of(&r, walls[_i], cfm[trial % 3], 0.5);
    check_all_ways(p);
    for (way by = ONE; by < WAYS; by++) {
      lcplug_info info;
      if (solve_by(by, p, &info)) check_frozen_bounds(p);
    }
    instance_free(p);
  }
}
END_TEST

/* Which contacts press and which are open when there is no friction: p->x and p->w of the
 * answer. */
static instance *without_friction(const instance *p) {
  instance *q = instance_copy(p);
  lcplug_info info;
  for (int i = 0; i < q->n; i++)
    if (q->findex[i] >= 0) q->findex[i] = -1, q->lo[i] = q->hi[i] = 0.0;
  ck_assert(solve_by(DENSE, q, &info));
  check_solved(q, &info, "without friction");
  return q;
}

/* Without friction the tangents carry nothing; with infinite friction those of a pressed contact
 * have no bound, and those of an open one no force, however near to zero its normal force was
 * computed. */
START_TEST(friction_of_zero_and_infinity) {
  const double cfm[] = {1e-3, 1e-10, 0.0};
  rng r = {140 + (uint64_t)_i};
  for (int trial = 0; trial < (_i < 5 ? 9 : 3); trial++) {
    instance *p = wall_of(&r, sizes[_i], cfm[trial % 3], trial % 2 ? 0.0 : INFINITY);
    instance *normals = without_friction(p);
    check_all_ways(p);
    for (way by = ONE; by < WAYS; by++) {
      lcplug_info info;
      if (!solve_by(by, p, &info)) continue;
      for (int i = 0; i < p->n; i++) {
        double bound = p->used_hi[i];
        if (p->findex[i] < 0) continue;
        ck_assert(p->used_lo[i] == -bound && (bound == 0.0 || bound == p->hi[i]));
        ck_assert_msg(bound == 0.0 || normals->w[p->findex[i]] < 1e-6,
                      "%s, n = %d: friction of an open contact", way_names[by], p->n);
      }
    }
    instance_free(p), instance_free(normals);
  }
}
END_TEST

/* All rows free, by their bounds or because nub = n says so: A x = b.  Half of them with a singular
 * A. */
START_TEST(all_rows_free) {
  const int rows[] = {1, 2, 5, 12, 13, 40, 150, 230};
  rng r = {150};
  for (int trial = 0; trial < 16; trial++) {
    int n = rows[trial / 2], singular = trial % 2 && n > 2;
    instance *p = instance_random(&r, n, singular ? n - n / 3 : n + 5, singular ? 0.0 : 1e-2);
    check_all_ways(p);
    for (int k = 0; k < PUBLIC_WAYS; k++) {
      lcplug_settings s = public_settings(k);
      lcplug_problem problem = instance_problem(p);
      lcplug_workspace *workspace = lcplug_workspace_create();
      instance *bounded = instance_copy(p);
      for (int i = 0; i < n; i++) bounded->lo[i] = bounded->hi[i] = 0.0;
      problem.lo = bounded->lo, problem.hi = bounded->hi, problem.nub = n;
      lcplug_info info = solve_problem(workspace, &problem, p, &s);
      ck_assert_int_eq(info.status, LCPLUG_SOLVED);
      ck_assert_double_le(largest(p->w, n), 1e-10 * largest(p->b, n));
      for (int i = 0; i < n; i++)
        ck_assert(p->used_lo[i] == -INFINITY && p->used_hi[i] == INFINITY);
      instance_free(bounded);
      lcplug_workspace_free(workspace);
    }
    instance_free(p);
  }
}
END_TEST

/* The first rows free by nub, the others contacts: small.c eliminates the first. */
START_TEST(nub_frees_the_first_rows) {
  rng r = {151};
  for (int trial = 0; trial < 20; trial++) {
    int n = 4 + 8 * trial, nub = 1 + rng_below(&r, n - 1);
    instance *p = instance_random(&r, n, n + 5, 1e-2), *q = instance_copy(p);
    for (int i = 0; i < n; i++) q->lo[i] = 0.0, p->lo[i] = i < nub ? -INFINITY : 0.0;
    for (int k = 0; k < PUBLIC_WAYS; k++) {
      lcplug_settings s = public_settings(k);
      lcplug_problem problem = instance_problem(q);
      lcplug_workspace *workspace = lcplug_workspace_create();
      instance_solve(p, &s);
      problem.nub = nub;
      lcplug_info info = solve_problem(workspace, &problem, q, &s);
      ck_assert_int_eq(info.status, LCPLUG_SOLVED);
      ck_assert_double_le(distance_max(p->x, q->x, n), 1e-9 * (1.0 + largest(p->x, n)));
      lcplug_workspace_free(workspace);
    }
    instance_free(p), instance_free(q);
  }
}
END_TEST

/* One row: x = b / a, as far as the bounds let it. */
START_TEST(one_row) {
  const double lo[] = {-INFINITY, 0, 0, 0, -INFINITY, -1, -1, 2, -3, 0.5};
  const double hi[] = {INFINITY, INFINITY, 1, 0, 0, 1, INFINITY, 5, -2, 0.5};
  rng r = {152};
  for (int trial = 0; trial < 100; trial++) {
    instance *p = instance_create(1);
    double a = rng_magnitude(&r, -6, 6), x = rng_between(&r, -3, 3);
    instance_set(p, 0, 0, a);
    p->b[0] = a * x, p->lo[0] = lo[trial % 10], p->hi[0] = hi[trial % 10];
    ck_assert(check_all_ways(p) >= (1 << DENSE | 1 << SPARSE));
    lcplug_settings s = public_settings(trial % PUBLIC_WAYS);
    instance_solve(p, &s);
    ck_assert_double_eq_tol(p->x[0], fmin(fmax(x, p->lo[0]), p->hi[0]), 1e-12);
    instance_free(p);
  }
}
END_TEST

/* Every contact of a wall twice, copies behind the originals: w as in the wall, and of both copies
 * the same; the two forces of a normal add up to the original's as far as those are unique. */
START_TEST(duplicate_rows) {
  rng r = {153 + (uint64_t)_i};
  instance *p = wall_of(&r, sizes[_i], 0.0, 0.5), *twice = instance_create(2 * p->n);
  int n = p->n;
  for (int i = 0; i < 2 * n; i++) {
    for (int j = 0; j <= i; j++) instance_set(twice, i, j, instance_at(p, i % n, j % n));
    twice->b[i] = p->b[i % n], twice->lo[i] = p->lo[i % n], twice->hi[i] = p->hi[i % n];
    if (p->findex[i % n] >= 0) twice->findex[i] = p->findex[i % n] + (i < n ? 0 : n);
  }
  check_all_ways(twice);
  lcplug_info info;
  for (way by = ONE; by < WAYS; by++) {
    if (!solve_by(by, twice, &info)) continue;
    ck_assert_double_le(difference(twice->w, twice->w + n, n), 1e-10);
  }
  if (n == 3) { /* one contact: everything but the share of each copy is unique */
    lcplug_settings s = public_settings(0);
    instance_solve(p, &s);
    instance_solve(twice, &s);
    ck_assert_double_le(difference(p->w, twice->w, n), 1e-9);
    ck_assert_double_eq_tol(p->x[0], twice->x[0] + twice->x[3], 1e-9);
  }
  instance_free(p), instance_free(twice);
}
END_TEST

/* A wall with one more row, the last, that nothing moves: A_ii = 0, and all of its row. */
static instance *wall_with_zero_row(rng *r, wall_size size, double b, double hi) {
  instance *p = wall_of(r, size, 1e-3, 0.5), *q = instance_create(p->n + 1);
  for (int i = 0; i < p->n; i++) {
    for (int j = 0; j <= i; j++) instance_set(q, i, j, instance_at(p, i, j));
    q->b[i] = p->b[i], q->lo[i] = p->lo[i], q->hi[i] = p->hi[i], q->findex[i] = p->findex[i];
  }
  q->b[p->n] = b, q->lo[p->n] = 0.0, q->hi[p->n] = hi;
  instance_free(p);
  return q;
}

/* Zero diagonal: without right side, with one that its bound allows, and with one that pulls away
 * from it (b < 0 at lo = 0) the problem is solvable, and the other rows are solved as if it were
 * not there. */
START_TEST(zero_diagonal) {
  const double b[] = {0.0, 0.0, 1.0, -1.0, -1.0}, hi[] = {INFINITY, 2.0, 2.0, INFINITY, 2.0};
  for (int k = 0; k < 5; k++) {
    rng r = {160 + (uint64_t)_i};
    instance *p = wall_with_zero_row(&r, sizes[_i], b[k], hi[k]);
    check_all_ways(p);
    instance_free(p);
    p = instance_create(1);
    p->lo[0] = 0.0, p->hi[0] = hi[k], p->b[0] = b[k];
    check_all_ways(p);
    instance_free(p);
  }
}
END_TEST

/* Zero diagonal, b > 0, hi infinite: no force ever moves the row.  No solution, and it must be
 * said; the best iterate is finite, leaves the row as it is, and solves the others as well as
 * ever. */
START_TEST(zero_diagonal_without_solution) {
  rng r = {170 + (uint64_t)_i};
  instance *p = wall_with_zero_row(&r, sizes[_i], 7.0, INFINITY), *alone = instance_create(1);
  alone->lo[0] = 0.0, alone->b[0] = 7.0;
  for (int k = 0; k < PUBLIC_WAYS; k++) {
    lcplug_settings s = public_settings(k);
    lcplug_info info = instance_solve(p, &s);
    ck_assert_msg(info.status != LCPLUG_SOLVED, "residual %g called solved", info.residual);
    ck_assert(info.residual > 0.1 && info.residual <= 1.0);
    info = instance_solve(alone, &s);
    ck_assert(info.status != LCPLUG_SOLVED && info.residual == 1.0);
  }
  instance_free(p), instance_free(alone);
}
END_TEST

/* lo == hi everywhere, zero or not: x is that, to the bit, and nothing is factorized. */
START_TEST(all_rows_fixed) {
  const int rows[] = {1, 3, 12, 13, 60, 150};
  rng r = {180};
  for (int trial = 0; trial < 12; trial++) {
    instance *p = instance_random(&r, rows[trial / 2], 20, 1e-3);
    for (int i = 0; i < p->n; i++) p->lo[i] = p->hi[i] = trial % 2 ? rng_between(&r, -1, 1) : 0.0;
    check_all_ways(p);
    for (int k = 0; k < PUBLIC_WAYS; k++) {
      lcplug_settings s = public_settings(k);
      lcplug_info info = instance_solve(p, &s);
      ck_assert_mem_eq(p->x, p->lo, (size_t)p->n * sizeof *p->x);
      ck_assert_int_eq(info.factorizations, 0);
    }
    instance_free(p);
  }
}
END_TEST

/* Bounds that exclude zero: lo > 0 or hi < 0, some with one side open. */
START_TEST(zero_outside_the_bounds) {
  const int rows[] = {1, 2, 6, 12, 13, 60, 150};
  rng r = {181};
  for (int trial = 0; trial < 42; trial++) {
    instance *p = instance_random(&r, rows[trial % 7], 30, 1e-3);
    for (int i = 0; i < p->n; i++) {
      double a = rng_between(&r, 0.01, 0.2), b = i % 3 ? a + rng_between(&r, 0.0, 0.5) : INFINITY;
      int below = rng_below(&r, 2);
      p->lo[i] = below ? -b : a, p->hi[i] = below ? -a : b;
    }
    check_all_ways(p);
    instance_free(p);
  }
}
END_TEST

/* Intervals of width 1e-20, at zero and beside it: as good as fixed, but never left. */
START_TEST(intervals_of_almost_no_width) {
  const double lo[] = {0.0, -1e-20, -5e-21, 1e-20, 0.0},
               hi[] = {1e-20, 0.0, 5e-21, 2e-20, INFINITY};
  const int rows[] = {1, 2, 6, 12, 13, 60, 150};
  rng r = {182};
  for (int trial = 0; trial < 42; trial++) {
    instance *p = instance_random(&r, rows[trial % 7], 30, 1e-3);
    for (int i = 0; i < p->n; i++) {
      int kind = rng_below(&r, trial < 21 ? 5 : 4);
      p->lo[i] = lo[kind], p->hi[i] = hi[kind];
    }
    check_all_ways(p);
    instance_free(p);
  }
}
END_TEST

/* Joints among contacts: rows of a wall set free or made motors at random; small.c eliminates the
 * free ones.  All ways agree. */
START_TEST(free_rows_among_contacts) {
  rng r = {190 + (uint64_t)_i};
  for (int trial = 0; trial < (_i < 5 ? 12 : 2); trial++) {
    instance *p = wall_of(&r, sizes[_i], 1e-3, 0.5), *q = instance_copy(p);
    lcplug_info info;
    for (int c = 0; c < p->n; c += 3) {
      int kind = rng_below(&r, 3);
      for (int i = c; i < c + 3 && kind; i++)
        p->findex[i] = -1, p->hi[i] = kind == 1 ? INFINITY : 0.1, p->lo[i] = -p->hi[i];
    }
    int took = check_all_ways(p), frees = 0;
    for (int i = 0; i < p->n; i++) frees += p->findex[i] < 0 && p->lo[i] == -INFINITY;
    if (p->n <= SMALL_MOST_IN_ALL && p->n - frees <= SMALL_MOST_ROWS) ck_assert(took >> SMALL & 1);
    solve_by(SPARSE, p, &info);
    memcpy(q->lo, p->lo, (size_t)p->n * sizeof *p->lo),
        memcpy(q->hi, p->hi, (size_t)p->n * sizeof *p->hi);
    memcpy(q->findex, p->findex, (size_t)p->n * sizeof *p->findex);
    for (way by = ONE; by < SPARSE; by++) {
      if (!solve_by(by, q, &info)) continue;
      ck_assert_double_le(difference(p->w, q->w, p->n), 1e-9);
      ck_assert_double_le(difference(p->used_hi, q->used_hi, p->n), 1e-9);
    }
    instance_free(p), instance_free(q);
  }
}
END_TEST

/* ---- findex ---------------------------------------------------------------------------------- */

/* Rows in any order, so that findex points forward as often as back: the same w, row by row. */
START_TEST(rows_in_any_order) {
  rng r = {200 + (uint64_t)_i};
  instance *p = wall_of(&r, sizes[_i], 1e-3, 0.5);
  int *order = malloc((size_t)p->n * sizeof *order);
  for (int trial = 0; trial < (_i < 5 ? 6 : 2); trial++) {
    instance *q = instance_permuted(p, &r, order);
    check_all_ways(q);
    for (int k = 0; k < PUBLIC_WAYS; k++) {
      lcplug_settings s = public_settings(k);
      instance_solve(p, &s);
      instance_solve(q, &s);
      for (int i = 0; i < q->n; i++) {
        ck_assert_double_eq_tol(q->w[i], p->w[order[i]], 1e-9);
        if (q->findex[i] >= 0) ck_assert_double_eq_tol(q->used_hi[i], p->used_hi[order[i]], 1e-9);
      }
    }
    instance_free(q);
  }
  free(order);
  instance_free(p);
}
END_TEST

/* Five rows name one normal (tangents, rolling, spinning); or the second tangent names the first,
 * and gets no force; or the normal is a free row, whose force may have either sign. */
START_TEST(unusual_findex) {
  rng r = {210};
  for (int trial = 0; trial < 60; trial++) {
    int contacts = 1 + trial % 20, kind = trial % 3, rows = kind ? 3 : 6;
    instance *p = instance_random(&r, rows * contacts, rows * contacts + 3, 1e-2);
    for (int i = 0; i < p->n; i++) {
      int normal = i - i % rows;
      p->lo[i] = i == normal && kind != 2 ? 0.0 : -INFINITY;
      if (i == normal) continue;
      p->findex[i] = kind == 1 && i % rows == 2 ? i - 1 : normal;
      p->hi[i] = 0.3 + 0.1 * (i % rows), p->lo[i] = -p->hi[i];
    }
    check_all_ways(p);
    for (way by = ONE; by < WAYS; by++) {
      double x[REFERENCE_MOST], lo[REFERENCE_MOST], hi[REFERENCE_MOST];
      lcplug_info info;
      if (!solve_by(by, p, &info)) continue;
      for (int i = 2; i < p->n && kind == 1; i += rows)
        ck_assert(p->used_hi[i] == 0.0 && p->x[i] == 0.0);
      if (p->n > REFERENCE_MOST || !reference_ode(p, lo, hi, x)) continue;
      ck_assert_double_le(difference(p->used_hi, hi, p->n), 1e-8);
      ck_assert_double_le(distance_max(p->x, x, p->n), 1e-8);
    }
    instance_free(p);
  }
}
END_TEST

/* ---- kept between solves --------------------------------------------------------------------- */

static int has_same_pattern(const instance *p, const instance *q) {
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j <= i; j++)
      if ((instance_at(p, i, j) != 0.0) != (instance_at(q, i, j) != 0.0)) return 0;
  return 1;
}

static void check_as_fresh(lcplug_workspace *used, instance *p, const lcplug_settings *s) {
  instance *fresh = instance_copy(p);
  lcplug_info first = instance_solve(fresh, s);
  memset(p->x, 0x77, (size_t)p->n * sizeof *p->x);
  lcplug_info again = solve_in(used, p, s);
  ck_assert_msg(same_bits(p, fresh), "n = %d", p->n);
  ck_assert(first.factorizations == again.factorizations && first.residual == again.residual);
  instance_free(fresh);
}

/* The analysis of a sparse pattern is kept: the pattern again with new values, another pattern of
 * the same size, the first, the same elements in other groups of rows.  Always the bits of a new
 * workspace. */
START_TEST(patterns_come_and_go) {
  rng r = {220 + (uint64_t)_i};
  const wall_size a = _i ? (wall_size){6, 6, 4} : (wall_size){2, 2, 3},
                  b = {a.height, a.width, a.points};
  lcplug_settings s = exact_settings(LCPLUG_MATRIX_SPARSE);
  lcplug_workspace *used = lcplug_workspace_create();
  instance *first = wall_of(&r, a, 1e-3, 0.5), *values = wall_of(&r, a, 1e-2, 0.3);
  instance *turned = wall_of(&r, b, 1e-3, 0.5), *other = instance_permuted(turned, &r, NULL);
  instance *groups = instance_copy(first);
  for (int i = 0; i < groups->n; i++) groups->findex[i] = -1, groups->hi[i] = INFINITY;
  ck_assert(has_same_pattern(first, values) && !has_same_pattern(first, other));
  instance *sequence[] = {first,  values, other, first, first, groups,
                          values, groups, other, other, values};
  for (size_t k = 0; k < sizeof sequence / sizeof *sequence; k++)
    check_as_fresh(used, sequence[k], &s);
  lcplug_workspace_free(used);
  instance_free(first), instance_free(values), instance_free(other), instance_free(groups);
  instance_free(turned);
}
END_TEST

/* A chain of n rows, each coupled with the one `reach` rows before it: the same number of elements
 * in every row whatever the reach.  Four rows are a normal with two tangents and one more normal,
 * or (even) two normals with a tangent each. */
static instance *chain(rng *r, int n, int reach, int even) {
  instance *p = instance_create(n);
  for (int i = 0; i < n; i++) {
    int normal = even ? i - i % 2 : i % 4 == 3 ? i : i - i % 4;
    instance_set(p, i, i, 3.0);
    if (i) instance_set(p, i, i < reach ? 0 : i - reach, rng_between(r, -1, 1));
    p->b[i] = rng_between(r, -1, 1);
    if (i == normal) p->lo[i] = 0.0;
    else p->findex[i] = normal, p->hi[i] = 0.5;
  }
  return p;
}

/* Patterns that differ only in their columns, or only in their groups of rows, are told apart. */
START_TEST(patterns_are_told_apart) {
  rng r = {225};
  lcplug_settings s = exact_settings(LCPLUG_MATRIX_SPARSE);
  lcplug_workspace *used = lcplug_workspace_create();
  for (int trial = 0; trial < 12; trial++) {
    instance *p[] = {chain(&r, 120, 1, 0), chain(&r, 120, 2, 0), chain(&r, 120, 2, 1),
                     chain(&r, 120, 1, 1)};
    for (int k = 0; k < 4; k++) check_as_fresh(used, p[k], &s);
    for (int k = 0; k < 4; k++) instance_free(p[k]);
  }
  lcplug_workspace_free(used);
}
END_TEST

/* A problem of about n rows, of one of several kinds. */
static instance *problem_of_size(rng *r, int n) {
  int kind = rng_below(r, 3);
  if (kind == 0 || n < 6) {
    instance *p = instance_random(r, n < 120 ? n : 120, 20, 1e-3);
    for (int i = 0; i < p->n; i++) p->lo[i] = i % 4 ? 0.0 : -INFINITY;
    return p;
  }
  int width = 1 + rng_below(r, 4), points = 1 + rng_below(r, 4), height = n / (3 * width * points);
  return wall(r, width, height > 0 ? height : 1, points, kind == 1 ? 1e-3 : 1e-8, 0.5);
}

/* 200 problems of 1 to 400 rows in random order through one workspace: the bits of a new workspace
 * each. A second pass over the same problems takes no more memory. */
START_TEST(sizes_grow_and_shrink) {
  enum { PROBLEMS = 200 };
  rng r = {230};
  lcplug_workspace *used = lcplug_workspace_create();
  instance *p[PROBLEMS];
  for (int k = 0; k < PROBLEMS; k++) {
    lcplug_settings s = public_settings(k % PUBLIC_WAYS);
    p[k] = problem_of_size(&r, 1 + rng_below(&r, k % 5 ? 130 : 400));
    check_as_fresh(used, p[k], &s);
  }
  size_t bytes = lcplug_workspace_bytes(used);
  for (int k = 0; k < PROBLEMS; k++) {
    lcplug_settings s = public_settings(k % PUBLIC_WAYS);
    instance *before = instance_copy(p[k]);
    solve_in(used, p[k], &s);
    ck_assert(same_bits(before, p[k]));
    instance_free(before);
  }
  ck_assert_uint_eq(lcplug_workspace_bytes(used), bytes);
  lcplug_workspace_free(used);
  for (int k = 0; k < PROBLEMS; k++) instance_free(p[k]);
}
END_TEST

/* ---- reuse=1 --------------------------------------------------------------------------------- */

/* Factorizations of a sequence of problems with and without reuse. */
typedef struct tally {
  lcplug_workspace *workspace[2];
  int factorizations[2];
} tally;

static tally tally_create(void) {
  return (tally){.workspace = {lcplug_workspace_create(), lcplug_workspace_create()}};
}

static void tally_free(tally *t) {
  for (int reuse = 0; reuse < 2; reuse++) lcplug_workspace_free(t->workspace[reuse]);
}

/* One problem both ways: solved, and the same w (as unique as the frozen bounds are). */
static void tally_solve(tally *t, instance *p, lcplug_matrix matrix) {
  lcplug_settings s = exact_settings(matrix);
  instance *without = instance_copy(p);
  for (s.reuse = 0; s.reuse < 2; s.reuse++) {
    instance *q = s.reuse ? p : without;
    lcplug_info info = solve_in(t->workspace[s.reuse], q, &s);
    check_solved(q, &info, s.reuse ? "reuse=1" : "reuse=0");
    t->factorizations[s.reuse] += info.factorizations;
  }
  ck_assert_double_le(difference(p->w, without->w, p->n), 1e-9);
  ck_assert_double_le(difference(p->used_hi, without->used_hi, p->n), 1e-9);
  instance_free(without);
}

static const wall_size reuse_sizes[] = {{1, 2, 4}, {3, 3, 4}, {4, 5, 4}, {2, 20, 3}};
enum { REUSE_SIZES = sizeof reuse_sizes / sizeof *reuse_sizes };

/* The right sides drift as in a running simulation: fewer factorizations than from the start each
 * time. */
START_TEST(reuse_helps_when_little_changes) {
  rng r = {240 + (uint64_t)_i};
  instance *p = wall_of(&r, reuse_sizes[_i], 1e-3, 0.5);
  tally t = tally_create();
  for (int step = 0; step < 30; step++) {
    tally_solve(&t, p, LCPLUG_MATRIX_AUTO);
    for (int i = 0; i < p->n; i++) p->b[i] += 1e-3 * rng_between(&r, -1, 1);
  }
  ck_assert_msg(t.factorizations[1] < 0.9 * t.factorizations[0],
                "n = %d: %d with reuse, %d without", p->n, t.factorizations[1],
                t.factorizations[0]);
  tally_free(&t);
  instance_free(p);
}
END_TEST

/* Problems of one shape that have nothing to do with each other: the last active set is no help,
 * and must not cost much. */
START_TEST(reuse_costs_little_when_all_changes) {
  rng r = {250 + (uint64_t)_i};
  tally t = tally_create();
  for (int step = 0; step < 60; step++) {
    instance *p = wall_of(&r, reuse_sizes[_i], step % 3 ? 1e-3 : 1e-1, step % 2 ? 0.8 : 0.1);
    for (int i = 0; i < p->n; i += 3)
      if (rng_below(&r, 2)) p->b[i] = -p->b[i];
    tally_solve(&t, p, LCPLUG_MATRIX_AUTO);
    instance_free(p);
  }
  ck_assert_msg(t.factorizations[1] <= 1.5 * t.factorizations[0] + 10, "%d with reuse, %d without",
                t.factorizations[1], t.factorizations[0]);
  tally_free(&t);
}
END_TEST

/* The same rows with other bounds: what sat at a bound last time has none now, and the other way
 * round. */
START_TEST(reuse_survives_bounds_that_vanish) {
  rng r = {260 + (uint64_t)_i};
  tally t = tally_create();
  instance *p = wall_of(&r, reuse_sizes[_i], 1e-3, 0.5);
  for (int step = 0; step < 24; step++) {
    const double mu[] = {0.2, INFINITY, 0.0, 0.5};
    for (int i = 0; i < p->n; i++)
      if (p->findex[i] >= 0) p->hi[i] = mu[step % 4];
      else p->lo[i] = step % 5 == 4 ? -INFINITY : 0.0, p->hi[i] = step % 3 ? 0.5 : INFINITY;
    tally_solve(&t, p, step % 2 ? LCPLUG_MATRIX_AUTO : LCPLUG_MATRIX_SPARSE);
    for (int i = 0; i < p->n; i++) p->b[i] += 0.1 * rng_between(&r, -1, 1);
  }
  ck_assert_int_le(t.factorizations[1], 2 * t.factorizations[0]);
  tally_free(&t);
  instance_free(p);
}
END_TEST

/* Solves a sequence in which contacts open and close, with reuse, and keeps its answers. */
static void solve_sequence(instance *const *p, int count) {
  lcplug_settings s = exact_settings(LCPLUG_MATRIX_AUTO);
  lcplug_workspace *workspace = lcplug_workspace_create();
  s.reuse = 1;
  for (int k = 0; k < count; k++) solve_in(workspace, p[k], &s);
  lcplug_workspace_free(workspace);
}

/* Frees memory that is full of `value`: what a later malloc of this size, two places a row, may
 * get. */
static void leave_behind(size_t size, unsigned char value) {
  unsigned char volatile *piece[7];
  for (int k = 0; k < 7; k++) {
    piece[k] = malloc(size);
    ck_assert(piece[k] != NULL);
    for (size_t i = 0; i < size; i++) piece[k][i] = value;
  }
  for (int k = 0; k < 7; k++) free((void *)piece[k]);
}

/* With reuse an answer may depend on the ones before, but on nothing else: the same sequence twice,
 * same bits, whatever lies in fresh memory. */
START_TEST(reuse_repeats_itself) {
  enum { STEPS = 20 };
  rng r = {270 + (uint64_t)_i};
  instance *first[STEPS], *second[STEPS], *p = wall_of(&r, reuse_sizes[_i], 1e-3, 0.5);
  for (int k = 0; k < STEPS; k++) {
    first[k] = instance_copy(p);
    for (int c = 0; c < p->n; c += 3) /* about one contact opens, each time another */
      if (rng_below(&r, p->n / 3) == 0) first[k]->b[c] = -0.5;
    second[k] = instance_copy(first[k]);
  }
  instance_free(p);
  leave_behind(2 * (size_t)first[0]->n, 0);
  solve_sequence(first, STEPS);
  leave_behind(2 * (size_t)first[0]->n, 1);
  solve_sequence(second, STEPS);
  for (int k = 0; k < STEPS; k++) {
    ck_assert_msg(same_bits(first[k], second[k]), "step %d, n = %d", k, first[k]->n);
    instance_free(first[k]), instance_free(second[k]);
  }
}
END_TEST

/* Without reuse nothing is remembered, not even after solves with it. */
START_TEST(default_forgets) {
  rng r = {280 + (uint64_t)_i};
  lcplug_workspace *used = lcplug_workspace_create();
  lcplug_settings s = exact_settings(LCPLUG_MATRIX_AUTO), with = s;
  with.reuse = 1;
  for (int step = 0; step < 10; step++) {
    instance *p = wall_of(&r, reuse_sizes[_i], 1e-3, 0.5);
    check_as_fresh(used, p, &s);
    solve_in(used, p, &with);
    check_as_fresh(used, p, &s);
    instance_free(p);
  }
  lcplug_workspace_free(used);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, SHARED = 8 };

typedef struct worker {
  instance *p[SHARED];
  int start;
} worker;

static void *work(void *data) {
  worker *w = data;
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_error error = LCPLUG_OK;
  for (int k = 0; k < 3 * SHARED; k++) {
    instance *p = w->p[(w->start + k) % SHARED];
    lcplug_problem problem = instance_problem(p);
    lcplug_solution solution = {.x = p->x, .w = p->w, .lo = p->used_lo, .hi = p->used_hi};
    lcplug_settings s = public_settings(k % SHARED < SIZES ? 0 : 2);
    error |= lcplug_solve(workspace, &problem, &s, &solution, NULL);
  }
  lcplug_workspace_free(workspace);
  return error ? data : NULL;
}

/* All sizes at once in four threads, each beginning with another: the bits of one thread alone. */
START_TEST(same_bits_in_threads) {
  rng r = {290};
  instance *alone[SHARED];
  pthread_t threads[THREADS];
  worker workers[THREADS];
  lcplug_settings s = public_settings(0);
  for (int k = 0; k < SHARED; k++) {
    alone[k] = wall_of(&r, sizes[k % SIZES], 1e-6, 0.5);
    instance_solve(alone[k], &s);
  }
  for (int t = 0; t < THREADS; t++) {
    workers[t].start = 2 * t;
    for (int k = 0; k < SHARED; k++) {
      workers[t].p[k] = instance_copy(alone[k]);
      memset(workers[t].p[k]->x, 0x77, (size_t)alone[k]->n * sizeof(double));
    }
    ck_assert_int_eq(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
  }
  for (int t = 0; t < THREADS; t++) {
    void *failed;
    ck_assert_int_eq(pthread_join(threads[t], &failed), 0);
    ck_assert_ptr_null(failed);
    for (int k = 0; k < SHARED; k++) {
      ck_assert(same_bits(workers[t].p[k], alone[k]));
      instance_free(workers[t].p[k]);
    }
  }
  for (int k = 0; k < SHARED; k++) instance_free(alone[k]);
}
END_TEST

/* ---- limits and guesses ---------------------------------------------------------------------- */

static double jump; /* seconds that the clock gains with every reading */
static long readings;

/* Stands before the C library's, so that a test can let time pass without waiting. */
int clock_gettime(clockid_t id, struct timespec *t) {
  int failed = (int)syscall(SYS_clock_gettime, id, t);
  if (jump > 0.0) t->tv_sec += (time_t)(jump * (double)++readings);
  return failed;
}

/* Every look at the clock sees 10 s more than the last.  A limit of 10 s k is noticed at the next
 * look, in either stage and either method; the best so far comes back. */
START_TEST(time_limit_is_kept) {
  rng r = {300};
  instance *p = wall(&r, 5, 10, 4, _i ? 0.0 : 1e-6, 0.5), *q = instance_copy(p);
  lcplug_settings s = exact_settings(_i % 2 ? LCPLUG_MATRIX_DENSE : LCPLUG_MATRIX_SPARSE);
  s.timing = 0;
  lcplug_info whole = solve_from(p, NULL, &s);
  ck_assert_int_eq(whole.status, LCPLUG_SOLVED);
  int stopped = 0, before = 0;
  for (int limit = 1; limit < 200; limit++) {
    s.time_limit = 10.0 * limit - 5.0;
    jump = 10.0, readings = 0;
    lcplug_info info = solve_from(q, NULL, &s);
    long looks = readings;
    jump = 0.0;
    if (info.status == LCPLUG_SOLVED) break;
    stopped++;
    ck_assert_int_eq(info.status, LCPLUG_TIME_LIMIT);
    ck_assert_msg(looks <= limit + 5, "%ld looks, limit %d", looks, limit);
    ck_assert_int_ge(info.factorizations, before);
    ck_assert_int_le(info.factorizations, whole.factorizations);
    ck_assert_double_le(info.residual, 1.0);
    before = info.factorizations;
  }
  ck_assert_int_ge(stopped, 3);
  ck_assert(same_bits(p, q));
  instance_free(p), instance_free(q);
}
END_TEST

/* A real clock: next to no time is enough for nothing, and 100 s change nothing. */
START_TEST(time_limit_in_earnest) {
  rng r = {301};
  instance *p = wall(&r, 5, 10, 4, 1e-6, 0.5), *q = instance_copy(p);
  lcplug_settings s = exact_settings(LCPLUG_MATRIX_AUTO);
  solve_from(p, NULL, &s);
  s.time_limit = 100.0;
  solve_from(q, NULL, &s);
  ck_assert(same_bits(p, q));
  s.time_limit = 1e-9;
  lcplug_info info = solve_from(q, NULL, &s);
  ck_assert_int_eq(info.status, LCPLUG_TIME_LIMIT);
  ck_assert_int_eq(info.factorizations, 0);
  ck_assert(info.residual <= 1.0);
  instance_free(p), instance_free(q);
}
END_TEST

/* Who asks for less gets it no later, and gets what he asked for.  Without friction, where the path
 * is the same up to the point where it ends; the last of the tolerances saves something
 * somewhere. */
START_TEST(a_larger_tolerance_stops_earlier) {
  const double tolerances[] = {1e-10, 1e-6, 1e-3, 0.3};
  rng r = {310};
  int first = 0, last = 0;
  for (int trial = 0; trial < 12; trial++) {
    instance *p = wall_of(&r, sizes[5 + trial % 3], trial % 2 ? 0.0 : 1e-8, 0.0);
    lcplug_settings s = exact_settings(LCPLUG_MATRIX_SPARSE);
    int before = INT32_MAX;
    for (int k = 0; k < 4; k++) {
      s.tol = tolerances[k];
      lcplug_info info = solve_from(p, NULL, &s);
      ck_assert(info.status == LCPLUG_SOLVED && info.residual <= s.tol);
      ck_assert_int_le(info.factorizations, before);
      before = info.factorizations;
      first += k == 0 ? before : 0, last += k == 3 ? before : 0;
    }
    instance_free(p);
  }
  ck_assert_msg(last < first, "%d factorizations at 0.3, %d at 1e-10", last, first);
}
END_TEST

/* A guess: good, off, far off, huge, NaN, or some of everything that is no guess. */
static void make_guess(rng *r, int kind, const instance *answer, double *x0) {
  const double noise[] = {NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, 0.0};
  const double size[] = {1e-12, 1e-2, 1e3, 1e200, NAN};
  for (int i = 0; i < answer->n; i++)
    x0[i] = kind == 5 ? noise[rng_below(r, 6)] : answer->x[i] + size[kind] * rng_between(r, -1, 1);
}

/* Guesses of every kind lead to the same w and bounds. */
START_TEST(guesses_do_not_change_the_answer) {
  rng r = {320 + (uint64_t)_i};
  instance *p = wall_of(&r, sizes[_i], 1e-3, 0.5), *q = instance_copy(p);
  double *x0 = malloc((size_t)p->n * sizeof *x0);
  for (int k = 0; k < PUBLIC_WAYS; k++) {
    lcplug_settings s = public_settings(k);
    solve_from(p, NULL, &s);
    for (int kind = 0; kind < 6; kind++) {
      make_guess(&r, kind, p, x0);
      lcplug_info info = solve_from(q, x0, &s);
      check_solved(q, &info, "guess");
      ck_assert_double_le(difference(p->w, q->w, p->n), 1e-9);
      ck_assert_double_le(difference(p->used_hi, q->used_hi, p->n), 1e-9);
    }
  }
  free(x0);
  instance_free(p), instance_free(q);
}
END_TEST

/* Forces that no double can hold: b / A overflows.  What comes back is finite, and not called
 * solved. */
START_TEST(forces_beyond_double) {
  for (int n = 1; n <= 20; n += n == 1 ? 2 : 17) {
    for (int kind = 0; kind < 3; kind++) {
      instance *p = instance_create(n);
      for (int i = 0; i < n; i++) {
        instance_set(p, i, i, 1e-300);
        p->b[i] = kind == 1 ? -1e300 : 1e300;
        if (kind == 0) p->lo[i] = 0.0;
        if (kind == 1) p->hi[i] = 0.0;
      }
      for (int k = 0; k < PUBLIC_WAYS; k++) {
        lcplug_settings s = public_settings(k);
        lcplug_info info = solve_from(p, NULL, &s);
        for (int i = 0; i < n; i++)
          ck_assert_msg(isfinite(p->x[i]) && isfinite(p->w[i]),
                        "n = %d, kind %d, setting %d: x %g, w %g", n, kind, k, p->x[i], p->w[i]);
        ck_assert_msg(info.status != LCPLUG_SOLVED || info.residual <= 1e-6,
                      "n = %d, kind %d, setting %d: residual %g called solved", n, kind, k,
                      info.residual);
      }
      instance_free(p);
    }
  }
}
END_TEST

/* ---- memory, and problems from files --------------------------------------------------------- */

/* 1500 rows of contacts: the workspace holds the nonzeros and their factor, nothing of 18 MB
 * twice. */
START_TEST(memory_follows_the_nonzeros) {
  rng r = {330};
  instance *p = wall(&r, 10, 10, 5, 1e-6, 0.5);
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings s = exact_settings(LCPLUG_MATRIX_AUTO);
  ck_assert_int_eq(p->n, 1500);
  lcplug_info info = solve_in(workspace, p, &s);
  ck_assert(info.status == LCPLUG_SOLVED && info.matrix == LCPLUG_MATRIX_SPARSE);
  double megabytes = (double)lcplug_workspace_bytes(workspace) / 1e6;
  ck_assert_msg(megabytes < 32.0, "%g MB", megabytes);
  lcplug_workspace_free(workspace);
  instance_free(p);
}
END_TEST

/* Problems that once were not solved, from tests/data.  Forces of 1e11 leave a residual of 1e-7 by
 * rounding alone; no digit is asked for that a double has not got. */
START_TEST(captured_problems_are_solved) {
  const char *const names[] = {"interior-point-circles", "hard/forces-of-1e11", "hard/wall-cfm-0"};
  const double most[] = {1e-10, 1e-6, 1e-10};
  lcplug_record *record = captured_record(names[_i]);
  lcplug_workspace *workspace = lcplug_workspace_create();
  instance *p = instance_create(record->problem.n); /* for its room */
  for (int k = 0; k < PUBLIC_WAYS; k++) {
    lcplug_settings s = public_settings(k);
    double judged;
    lcplug_info info = solve_problem(workspace, &record->problem, p, &s);
    ck_assert_msg(info.status == LCPLUG_SOLVED, "%s, setting %d: %s, residual %g", names[_i], k,
                  lcplug_status_text(info.status), info.residual);
    ck_assert(!lcplug_residual(workspace, &record->problem, s.friction, p->x, 1, p->used_lo,
                               p->used_hi, 1, &judged));
    ck_assert_msg(judged <= most[_i], "%s, setting %d: residual %g", names[_i], k, judged);
  }
  lcplug_workspace_free(workspace);
  lcplug_record_free(record);
  instance_free(p);
}
END_TEST

/* ---- the suite ------------------------------------------------------------------------------- */

static void add_degenerate(TCase *tests) {
  tcase_add_loop_test(tests, redundant_contacts, 0, 6);
  tcase_add_loop_test(tests, friction_of_zero_and_infinity, 0, SIZES);
  tcase_add_test(tests, all_rows_free);
  tcase_add_test(tests, nub_frees_the_first_rows);
  tcase_add_test(tests, one_row);
  tcase_add_loop_test(tests, duplicate_rows, 0, SIZES - 2);
  tcase_add_loop_test(tests, zero_diagonal, 0, SIZES - 2);
  tcase_add_loop_test(tests, zero_diagonal_without_solution, 0, SIZES - 2);
  tcase_add_test(tests, all_rows_fixed);
  tcase_add_test(tests, zero_outside_the_bounds);
  tcase_add_test(tests, intervals_of_almost_no_width);
  tcase_add_loop_test(tests, free_rows_among_contacts, 0, SIZES);
  tcase_add_loop_test(tests, rows_in_any_order, 0, SIZES);
  tcase_add_test(tests, unusual_findex);
}

static void add_kept(TCase *tests) {
  tcase_add_loop_test(tests, patterns_come_and_go, 0, 2);
  tcase_add_test(tests, patterns_are_told_apart);
  tcase_add_test(tests, sizes_grow_and_shrink);
  tcase_add_loop_test(tests, reuse_helps_when_little_changes, 0, REUSE_SIZES);
  tcase_add_loop_test(tests, reuse_costs_little_when_all_changes, 0, REUSE_SIZES);
  tcase_add_loop_test(tests, reuse_survives_bounds_that_vanish, 0, REUSE_SIZES);
  tcase_add_loop_test(tests, reuse_repeats_itself, 0, REUSE_SIZES);
  tcase_add_loop_test(tests, default_forgets, 0, REUSE_SIZES);
}

int main(void) {
  Suite *suite = suite_create("exact");
  TCase *ways = support_case(suite, "ways"), *limits = support_case(suite, "limits");
  add_degenerate(support_case(suite, "degenerate"));
  add_kept(support_case(suite, "kept between solves"));
  tcase_add_loop_test(ways, ways_agree, 0, SIZES);
  tcase_add_test(ways, single_contacts);
  tcase_add_test(ways, one_contact_leaves_the_rest_alone);
  tcase_add_test(ways, open_contacts_are_checked_too);
  tcase_add_test(ways, wrong_rows_are_settled);
  tcase_add_loop_test(ways, each_size_takes_its_way, 0, SIZES);
  tcase_add_test(ways, any_rows_against_all_active_sets);
  tcase_add_loop_test(ways, parts_of_the_answer_may_be_left_out, 0, SIZES);
  tcase_add_test(ways, same_bits_in_threads);
  tcase_add_loop_test(limits, time_limit_is_kept, 0, 2);
  tcase_add_test(limits, time_limit_in_earnest);
  tcase_add_test(limits, a_larger_tolerance_stops_earlier);
  tcase_add_loop_test(limits, guesses_do_not_change_the_answer, 0, SIZES);
  tcase_add_test(limits, forces_beyond_double);
  tcase_add_test(limits, memory_follows_the_nonzeros);
  tcase_add_loop_test(limits, captured_problems_are_solved, 0, 3);
  return support_run(suite);
}
