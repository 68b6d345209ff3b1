/* support.c - see support.h. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Check ----------------------------------------------------------------------------------- */

TCase *support_case(Suite *suite, const char *name) {
  TCase *tests = tcase_create(name);
  tcase_set_timeout(tests, 120.0);
  suite_add_tcase(suite, tests);
  return tests;
}

int support_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

void support_skip(const char *test, const char *reason) {
  fprintf(stderr, "SKIPPED %s: %s\n", test, reason);
}

/* ---- random numbers -------------------------------------------------------------------------- */

static uint64_t rng_next(rng *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double rng_between(rng *r, double low, double high) {
  return low + (high - low) * ((double)(rng_next(r) >> 11) * 0x1p-53);
}

int rng_below(rng *r, int count) { return (int)(rng_next(r) % (uint64_t)count); }

double rng_magnitude(rng *r, double low, double high) {
  return pow(10.0, rng_between(r, low, high));
}

/* ---- problems -------------------------------------------------------------------------------- */

static double *numbers(size_t count, double value) {
  double *v = malloc((count + 1) * sizeof *v);
  ck_assert_ptr_nonnull(v);
  for (size_t i = 0; i <= count; i++) v[i] = value;
  return v;
}

instance *instance_create(int n) {
  instance *p = calloc(1, sizeof *p);
  ck_assert_ptr_nonnull(p);
  size_t count = (size_t)n;
  p->n = n;
  p->stride = count + 3;
  p->A = numbers(count * p->stride, NAN);
  p->b = numbers(count, 0.0);
  p->lo = numbers(count, -INFINITY);
  p->hi = numbers(count, INFINITY);
  p->findex = malloc((count + 1) * sizeof *p->findex);
  ck_assert_ptr_nonnull(p->findex);
  p->x = numbers(count, 0.0);
  p->w = numbers(count, 0.0);
  p->used_lo = numbers(count, 0.0);
  p->used_hi = numbers(count, 0.0);
  for (int i = 0; i < n; i++) {
    p->findex[i] = -1;
    for (int j = 0; j <= i; j++) instance_set(p, i, j, 0.0);
  }
  return p;
}

void instance_free(instance *p) {
  double *arrays[] = {p->A, p->b, p->lo, p->hi, p->x, p->w, p->used_lo, p->used_hi};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
  free(p->findex);
  free(p);
}

instance *instance_copy(const instance *p) {
  instance *q = instance_create(p->n);
  size_t bytes = (size_t)p->n * sizeof *p->b;
  memcpy(q->A, p->A, bytes * p->stride);
  const double *from[] = {p->b, p->lo, p->hi, p->x, p->w, p->used_lo, p->used_hi};
  double *to[] = {q->b, q->lo, q->hi, q->x, q->w, q->used_lo, q->used_hi};
  for (size_t i = 0; i < sizeof from / sizeof *from; i++) memcpy(to[i], from[i], bytes);
  memcpy(q->findex, p->findex, (size_t)p->n * sizeof *p->findex);
  return q;
}

lcplug_problem instance_problem(const instance *p) {
  lcplug_problem problem = lcplug_problem_default();
  problem.n = p->n;
  problem.A = p->A;
  problem.stride = p->stride;
  problem.b = p->b;
  problem.lo = p->lo;
  problem.hi = p->hi;
  problem.findex = p->findex;
  return problem;
}

double instance_at(const instance *p, int i, int j) {
  return i >= j ? p->A[(size_t)i * p->stride + (size_t)j] : p->A[(size_t)j * p->stride + (size_t)i];
}

void instance_set(instance *p, int i, int j, double value) {
  if (i >= j) p->A[(size_t)i * p->stride + (size_t)j] = value;
  else p->A[(size_t)j * p->stride + (size_t)i] = value;
}

double instance_row_product(const instance *p, int i, const double *x) {
  long double sum = 0.0L;
  for (int j = 0; j < p->n; j++) sum += (long double)instance_at(p, i, j) * x[j];
  return (double)sum;
}

/* A = J J' + cfm I, b = J v. */
static void set_from_jacobian(instance *p, const double *J, const double *v, int m, double cfm) {
  for (int i = 0; i < p->n; i++) {
    p->b[i] = 0.0;
    for (int k = 0; k < m; k++) p->b[i] += J[i * m + k] * v[k];
    for (int j = 0; j <= i; j++) {
      double sum = i == j ? cfm : 0.0;
      for (int k = 0; k < m; k++) sum += J[i * m + k] * J[j * m + k];
      instance_set(p, i, j, sum);
    }
  }
}

instance *instance_random(rng *r, int n, int m, double cfm) {
  instance *p = instance_create(n);
  double *J = numbers((size_t)(n * m), 0.0), *v = numbers((size_t)m, 0.0);
  for (int i = 0; i < n * m; i++) J[i] = rng_between(r, -1.0, 1.0);
  for (int k = 0; k < m; k++) v[k] = rng_between(r, -1.0, 1.0);
  set_from_jacobian(p, J, v, m, cfm);
  free(J);
  free(v);
  return p;
}

/* Six columns per body.  A contact's normal pushes body `above` up and body `below` down, its
 * tangents sideways, each with a random lever arm; body -1 is the ground. */
static void add_contact(rng *r, double *J, int m, int row, int above, int below) {
  for (int axis = 0; axis < 3; axis++) {
    double *line = J + (row + axis) * m;
    for (int side = 0; side < 2; side++) {
      int body = side ? below : above;
      if (body < 0) continue;
      line[6 * body + axis] = side ? -1.0 : 1.0;
      for (int k = 3; k < 6; k++) line[6 * body + k] = rng_between(r, -0.7, 0.7);
    }
  }
}

instance *instance_contacts(rng *r, int contacts, int bodies, double cfm, double mu1, double mu2) {
  instance *p = instance_create(3 * contacts);
  int m = 6 * bodies;
  double *J = numbers((size_t)(p->n * m), 0.0), *v = numbers((size_t)m, 0.0);
  for (int c = 0; c < contacts; c++) {
    int above = rng_below(r, bodies);
    add_contact(r, J, m, 3 * c, above, rng_below(r, above + 1) - 1);
    p->lo[3 * c] = 0.0;
    for (int t = 1; t < 3; t++) {
      p->findex[3 * c + t] = 3 * c;
      p->hi[3 * c + t] = t == 1 ? mu1 : mu2;
      p->lo[3 * c + t] = -p->hi[3 * c + t];
    }
  }
  /* Bodies fall, and drift; forces have to undo it, so v is minus their velocity. */
  for (int k = 0; k < m; k++) v[k] = rng_between(r, -0.5, 0.5) + (k % 6 == 0 ? 1.0 : 0.0);
  set_from_jacobian(p, J, v, m, cfm);
  free(J);
  free(v);
  return p;
}

/* The three rows of a contact point, for both bodies (-1: the ground) with levers that fit. */
static void add_point(double *J, int m, int row, const int *body, const double (*center)[3],
                      const double *point) {
  for (int axis = 0; axis < 3; axis++)
    for (int side = 0; side < 2; side++) {
      if (body[side] < 0) continue;
      double sign = side ? -1.0 : 1.0, lever[3];
      double *line = J + (row + axis) * m + 6 * body[side];
      for (int k = 0; k < 3; k++) lever[k] = point[k] - center[body[side]][k];
      int next = (axis + 1) % 3, last = (axis + 2) % 3;
      line[axis] = sign;
      line[3 + next] = 2.0 * sign * lever[last]; /* inertia 1/4, as that of a small brick */
      line[3 + last] = -2.0 * sign * lever[next];
    }
}

instance *instance_wall(rng *r, int width, int height, int contacts, double cfm, double mu) {
  int bodies = width * height, m = 6 * bodies, pairs = width + 2 * width * (height - 1), row = 0;
  instance *p = instance_create(3 * contacts * pairs);
  double *J = numbers((size_t)(p->n * m), 0.0), *v = numbers((size_t)m, 0.0);
  double(*center)[3] = malloc((size_t)bodies * sizeof *center);
  for (int k = 0; k < bodies; k++) {
    center[k][0] = k / width, center[k][1] = k % width + 0.5 * (k / width), center[k][2] = 0.0;
    for (int sides = 0; sides < (k < width ? 1 : 2); sides++) {
      int body[2] = {k, k < width ? -1 : (k / width - 1) * width + (k % width + sides) % width};
      for (int c = 0; c < contacts; c++, row += 3) {
        double point[3] = {center[k][0] - 0.5, center[k][1] + rng_between(r, -0.5, 0.5),
                           rng_between(r, -0.3, 0.3)};
        add_point(J, m, row, body, (const double(*)[3])center, point);
        p->lo[row] = 0.0;
        for (int t = row + 1; t < row + 3; t++)
          p->findex[t] = row, p->hi[t] = mu, p->lo[t] = -mu;
      }
    }
  }
  /* The first axis is up.  Bricks fall, and drift a little. */
  for (int k = 0; k < m; k++) v[k] = rng_between(r, -0.1, 0.1) + (k % 6 == 0 ? 1.0 : 0.0);
  set_from_jacobian(p, J, v, m, cfm);
  free(J), free(v), free(center);
  return p;
}

instance *instance_permuted(const instance *p, rng *r, int *order) {
  int n = p->n, *old_row = malloc(2 * sizeof(int) * (size_t)(n + 1)), *new_row = old_row + n;
  ck_assert_ptr_nonnull(old_row);
  for (int i = 0; i < n; i++) old_row[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int j = rng_below(r, i + 1), swap = old_row[i];
    old_row[i] = old_row[j];
    old_row[j] = swap;
  }
  for (int i = 0; i < n; i++) new_row[old_row[i]] = i;
  instance *q = instance_create(n);
  for (int i = 0; i < n; i++) {
    int k = old_row[i];
    q->b[i] = p->b[k], q->lo[i] = p->lo[k], q->hi[i] = p->hi[k];
    q->findex[i] = p->findex[k] < 0 ? p->findex[k] : new_row[p->findex[k]];
    for (int j = 0; j <= i; j++) instance_set(q, i, j, instance_at(p, k, old_row[j]));
    if (order) order[i] = k;
  }
  free(old_row);
  return q;
}

/* ---- answers --------------------------------------------------------------------------------- */

lcplug_settings settings_for(lcplug_solver solver, lcplug_friction friction) {
  lcplug_settings settings = lcplug_settings_default();
  settings.solver = solver;
  settings.friction = friction;
  return settings;
}

lcplug_record *captured_record(const char *name) {
  const char *source = getenv("abs_top_srcdir");
  char path[4096], message[256] = "";
  lcplug_record *record;
  snprintf(path, sizeof path, "%s/tests/data/%s.lcp", source ? source : ".", name);
  ck_assert_msg(!lcplug_record_read(path, &record, message, sizeof message), "%s", message);
  return record;
}

double distance_max(const double *p, const double *q, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++)
    if (!(fabs(p[i] - q[i]) <= most)) most = fabs(p[i] - q[i]);
  return most;
}

static void check_answer(const instance *p, const lcplug_settings *settings,
                         const lcplug_info *info) {
  const double guard = 12345.0;
  for (int i = 0; i < p->n; i++) {
    double size = fabs(p->b[i]);
    ck_assert(isfinite(p->x[i]));
    ck_assert(isfinite(p->w[i]));
    ck_assert(p->used_lo[i] <= p->used_hi[i]);
    for (int j = 0; j < p->n; j++) size += fabs(instance_at(p, i, j) * p->x[j]);
    ck_assert_double_le(fabs(instance_row_product(p, i, p->x) - p->b[i] - p->w[i]), 1e-13 * size);
  }
  ck_assert(p->x[p->n] == guard && p->w[p->n] == guard);
  ck_assert(p->used_lo[p->n] == guard && p->used_hi[p->n] == guard);
  double judged = instance_residual(p, settings->friction);
  ck_assert_double_le(fabs(info->residual - judged), 1e-12 + 1e-9 * judged);
}

lcplug_info instance_solve(instance *p, const lcplug_settings *settings) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = instance_problem(p);
  lcplug_solution solution = {.x = p->x, .w = p->w, .lo = p->used_lo, .hi = p->used_hi};
  lcplug_info info;
  memset(&info, 0xa5, sizeof info);
  p->x[p->n] = p->w[p->n] = p->used_lo[p->n] = p->used_hi[p->n] = 12345.0;
  lcplug_error error = lcplug_solve(workspace, &problem, settings, &solution, &info);
  ck_assert_msg(!error, "%s", lcplug_error_text(error));
  lcplug_workspace_free(workspace);
  check_answer(p, settings, &info);
  return info;
}

double instance_residual(const instance *p, lcplug_friction friction) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = instance_problem(p);
  double residual = NAN;
  lcplug_error error = lcplug_residual(workspace, &problem, friction, p->x, 1, p->used_lo,
                                       p->used_hi, 1, &residual);
  ck_assert_msg(!error, "%s", lcplug_error_text(error));
  lcplug_workspace_free(workspace);
  return residual;
}

double instance_energy(const instance *p, const double *x) {
  long double sum = 0.0L;
  for (int i = 0; i < p->n; i++) sum += x[i] * (0.5L * instance_row_product(p, i, x) - p->b[i]);
  return (double)sum;
}

/* ---- the conditions -------------------------------------------------------------------------- */

/* lo <= x <= hi, w >= 0 unless x stands at hi, w <= 0 unless x stands at lo; a force is brought to
 * the unit of w by its diagonal element. */
static double interval_conditions(const instance *p, int i, double lo, double hi) {
  double s = instance_at(p, i, i), x = p->x[i], w = p->w[i];
  double worst = s * fmax(fmax(lo - x, x - hi), 0.0);
  worst = fmax(worst, fmin(s * fabs(hi - x), fmax(-w, 0.0)));
  return fmax(worst, fmin(s * fabs(x - lo), fmax(w, 0.0)));
}

static double bound_from_normal(const instance *p, int t) {
  double mu = fabs(p->hi[t]), normal = fabs(p->x[p->findex[t]]);
  return mu == 0.0 || normal == 0.0 ? 0.0 : mu * normal;
}

/* x in K: x_n >= |x_t / mu|.  w in its dual: w_n >= |mu w_t|.  x'w = 0.  The first two become
 * distances by division by the length of the surface's normal vector. */
static double cone_conditions(const instance *p, int i, const int *t, int tangents, int coulomb) {
  double ratio = 0.0, slip = 0.0, work = 0.0, x2 = 0.0, w2 = 0.0, s = instance_at(p, i, i);
  double steep = 0.0, flat = INFINITY;
  for (int k = 0; k < tangents; k++) {
    double mu = fabs(p->hi[t[k]]), x = p->x[t[k]], w = p->w[t[k]];
    ratio = hypot(ratio, x / mu), slip = hypot(slip, mu * w);
    steep = fmax(steep, mu), flat = fmin(flat, mu);
    work += x * w, x2 += x * x, w2 += w * w, s += instance_at(p, t[k], t[k]);
  }
  s /= tangents + 1;
  double x = p->x[i], w = p->w[i] + (coulomb ? slip : 0.0);
  work += x * w, x2 += x * x, w2 += w * w;
  double length = sqrt(x2) + sqrt(w2) / s;
  double worst = fmax(s * (ratio - x) / hypot(1.0, 1.0 / flat), (slip - w) / hypot(1.0, steep));
  return length > 0.0 ? fmax(worst, fabs(work) / length) : fmax(worst, 0.0);
}

static int cone_tangents(const instance *p, int normal, int *t) {
  int position = 0, count = 0;
  if (p->findex[normal] >= 0 || p->lo[normal] != 0.0 || p->hi[normal] != INFINITY) return 0;
  for (int i = 0; i < p->n && position < 2; i++) {
    if (p->findex[i] != normal) continue;
    double mu = fabs(p->hi[i]);
    if (mu > 0.0 && mu < INFINITY) t[count++] = i;
    position++;
  }
  return count;
}

static double row_conditions(const instance *p, int i, lcplug_friction friction) {
  int cones = friction == LCPLUG_FRICTION_CONE || friction == LCPLUG_FRICTION_COULOMB, t[2];
  int normal = p->findex[i];
  if (normal < 0) {
    int tangents = cones ? cone_tangents(p, i, t) : 0;
    if (tangents) return cone_conditions(p, i, t, tangents, friction == LCPLUG_FRICTION_COULOMB);
    return interval_conditions(p, i, p->lo[i], p->hi[i]);
  }
  if (p->findex[normal] >= 0) return interval_conditions(p, i, 0.0, 0.0);
  if (friction == LCPLUG_FRICTION_ODE)
    return interval_conditions(p, i, p->used_lo[i], p->used_hi[i]);
  for (int k = cones ? cone_tangents(p, normal, t) : 0; k > 0; k--)
    if (t[k - 1] == i) return 0.0; /* judged with its normal */
  double bound = bound_from_normal(p, i);
  return interval_conditions(p, i, -bound, bound);
}

double instance_conditions(const instance *p, lcplug_friction friction) {
  double worst = 0.0, unit = 0.0;
  for (int i = 0; i < p->n; i++) {
    double violation = row_conditions(p, i, friction);
    if (!(violation <= worst)) worst = violation;
    unit = fmax(unit, fabs(p->b[i]));
  }
  return unit > 0.0 ? worst / unit : worst;
}

/* ---- the plain reference --------------------------------------------------------------------- */

enum { REFERENCE_ROWS = 8 };
typedef long double square[REFERENCE_ROWS][REFERENCE_ROWS + 1];

/* Gauss's elimination with row pivots on k rows, right side in column k; 0 if singular. */
static int eliminate(square a, int k) {
  for (int c = 0; c < k; c++) {
    int pivot = c;
    for (int r = c + 1; r < k; r++)
      if (fabsl(a[r][c]) > fabsl(a[pivot][c])) pivot = r;
    if (fabsl(a[pivot][c]) < 1e-13L) return 0;
    for (int j = 0; j <= k; j++) {
      long double swap = a[c][j];
      a[c][j] = a[pivot][j], a[pivot][j] = swap;
    }
    for (int r = 0; r < k; r++) {
      long double factor = a[r][c] / a[c][c];
      for (int j = c; r != c && j <= k; j++) a[r][j] -= factor * a[c][j];
    }
  }
  for (int c = 0; c < k; c++) a[c][k] /= a[c][c];
  return 1;
}

/* The answer in which row i stands at lo (side 0), at hi (2) or between them (1); 0 if singular. */
static int solve_active_set(const instance *p, const int *side, const double *lo, const double *hi,
                            double *x) {
  square a;
  int free_row[REFERENCE_ROWS], k = 0;
  for (int i = 0; i < p->n; i++) {
    if (side[i] == 1) free_row[k++] = i;
    x[i] = side[i] == 0 ? lo[i] : side[i] == 2 ? hi[i] : 0.0;
    if (!isfinite(x[i])) return 0;
  }
  for (int r = 0; r < k; r++) {
    a[r][k] = p->b[free_row[r]] - instance_row_product(p, free_row[r], x);
    for (int c = 0; c < k; c++) a[r][c] = instance_at(p, free_row[r], free_row[c]);
  }
  if (!eliminate(a, k)) return 0;
  for (int r = 0; r < k; r++) x[free_row[r]] = (double)a[r][k];
  return 1;
}

static int is_solution(const instance *p, const int *side, const double *lo, const double *hi,
                       const double *x) {
  for (int i = 0; i < p->n; i++) {
    double w = instance_row_product(p, i, x) - p->b[i], slack = 1e-10;
    if (x[i] < lo[i] - slack || x[i] > hi[i] + slack) return 0;
    if ((side[i] == 0 && w < -slack && lo[i] < hi[i]) || (side[i] == 2 && w > slack)) return 0;
  }
  return 1;
}

int reference_box(const instance *p, const double *lo, const double *hi, double *x) {
  int side[REFERENCE_ROWS] = {0}, sets = 1;
  ck_assert_int_le(p->n, REFERENCE_ROWS);
  for (int i = 0; i < p->n; i++) sets *= 3;
  for (int code = 0; code < sets; code++) {
    for (int i = 0, rest = code; i < p->n; i++, rest /= 3) side[i] = rest % 3;
    if (solve_active_set(p, side, lo, hi, x) && is_solution(p, side, lo, hi, x)) return 1;
  }
  return 0;
}
