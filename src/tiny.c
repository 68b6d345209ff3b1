/* tiny.c - see tiny.h.
 *
 * The method of small.c with all of its arrays on the stack and the factorization written out: for
 * three rows, setting up anything costs more than solving.  (Measured: half of small.c's time at n = 3,
 * equal to it at n = 12.) */
#include "tiny.h"

#include <float.h>
#include <math.h>

#include "finite.h"
#include "iterate.h"

enum { N = TINY_MOST_ROWS, MOST_STEPS = 20, PATIENCE = 3, AT_LO = 0, INSIDE = 1, AT_HI = 2 };

static const double TINY_PIVOT = 1e-13;
static const double ROUNDING = 1e-12; /* w of the rows inside, in units of the largest b */

typedef struct tiny {
  int n, rows, row[N], place[N];
  int frictions, friction[N], normal[N]; /* friction rows, and the normal of each */
  double A[N][N], b[N], lo[N], hi[N], x[N], w[N];
  double largest_b;
} tiny;

/* Copies and checks everything; the rows without findex make stage one. */
static int load(tiny *t, const lcplug_problem *p) {
  uint64_t not_finite = 0;
  unsigned frictions = 0, normals = 0, unusual = 0; /* one bit a row */
  int n = p->n;
  t->n = n;
  t->rows = t->frictions = 0;
  t->largest_b = 0.0;
  for (int i = 0; i < n; i++) {
    const double *a = p->A + (size_t)i * p->stride;
    double b = p->b[(size_t)i * p->b_step], size = fabs(b);
    double lo = p->lo[(size_t)i * p->bounds_step], hi = p->hi[(size_t)i * p->bounds_step];
    int normal = p->findex ? p->findex[i] : -1;
    for (int j = 0; j < i; j++) {
      not_finite |= lcplug_not_finite(a[j]);
      t->A[i][j] = t->A[j][i] = a[j];
    }
    not_finite |= lcplug_not_finite(a[i]) | lcplug_not_finite(b);
    t->A[i][i] = a[i];
    t->b[i] = b;
    t->w[i] = -b;
    t->x[i] = 0.0;
    t->largest_b = size > t->largest_b ? size : t->largest_b;
    unusual |= !(a[i] > 0.0);
    if (normal >= 0) {
      if (normal >= n || isnan(hi)) return 0;
      frictions |= 1u << i;
      normals |= 1u << normal;
      t->friction[t->frictions] = i;
      t->normal[t->frictions++] = normal;
      lo = hi = 0.0;
    } else {
      unusual |= !(lo <= 0.0 && hi >= 0.0); /* the start relies on 0 */
      if (lo < hi) t->row[t->rows++] = i;
    }
    t->lo[i] = lo;
    t->hi[i] = hi;
  }
  return !not_finite && !unusual && !(frictions & normals);
}

static void set_w(tiny *t) {
  for (int i = 0; i < t->n; i++) {
    double sum = -t->b[i];
    for (int k = 0; k < t->rows; k++) sum += t->A[i][t->row[k]] * t->x[t->row[k]];
    t->w[i] = sum;
  }
}

static int place_of(const tiny *t, int i) {
  double d = t->A[i][i], q = d * t->x[i] - t->w[i];
  return q < d * t->lo[i] ? AT_LO : q > d * t->hi[i] ? AT_HI : INSIDE;
}

static void move_all(tiny *t) {
  for (int k = 0; k < t->rows; k++) t->place[t->row[k]] = place_of(t, t->row[k]);
}

/* How many rows are not where they say they are; `last` is the last of them. */
static int count_wrong(const tiny *t, int *last) {
  int wrong = 0;
  for (int k = 0; k < t->rows; k++)
    if (place_of(t, t->row[k]) != t->place[t->row[k]]) wrong++, *last = t->row[k];
  return wrong;
}

/* x_F -= A_FF^-1 w_F by L D L^T, row by row, the forward substitution on the way.  0 if singular. */
static int correct(tiny *t, const int *kept, int count) {
  double L[N][N], inverse[N], z[N];
  for (int i = 0; i < count; i++) {
    const double *a = t->A[kept[i]];
    double d = a[kept[i]], floor = TINY_PIVOT * d, r = -t->w[kept[i]];
    for (int j = 0; j < i; j++) {
      double y = a[kept[j]]; /* L_ij D_j */
      for (int k = 0; k < j; k++) y -= L[i][k] * L[j][k];
      L[i][j] = y; /* for now without 1 / D_j, as the sums of this row want it */
    }
    for (int j = 0; j < i; j++) {
      double y = L[i][j];
      L[i][j] = y * inverse[j];
      d -= y * L[i][j];
      r -= L[i][j] * z[j];
    }
    if (!(d > floor)) return 0;
    inverse[i] = 1.0 / d;
    z[i] = r;
  }
  for (int i = count - 1; i >= 0; i--) {
    double dx = z[i] * inverse[i];
    for (int k = i + 1; k < count; k++) dx -= L[k][i] * z[k];
    z[i] = dx;
    t->x[kept[i]] += dx;
  }
  return 1;
}

/* x of the rows inside, the others at their bounds. */
static int solve_inside(tiny *t) {
  int kept[N], count = 0, moved = 0;
  for (int k = 0; k < t->rows; k++) {
    int i = t->row[k];
    if (t->place[i] == INSIDE) {
      kept[count++] = i;
      continue;
    }
    double bound = t->place[i] == AT_LO ? t->lo[i] : t->hi[i];
    moved |= t->x[i] != bound;
    t->x[i] = bound;
  }
  if (moved) set_w(t);
  for (int round = 0; count && round < 2; round++) {
    if (!correct(t, kept, count)) return 0;
    set_w(t);
    double largest = 0.0;
    for (int k = 0; k < count; k++) {
      double size = fabs(t->w[kept[k]]);
      largest = size > largest ? size : largest;
    }
    if (largest <= ROUNDING * t->largest_b) break;
  }
  return 1;
}

static int solve_stage(tiny *t, int *steps) {
  if (t->rows == 1) { /* one contact without friction: a division */
    int i = t->row[0];
    double x = t->x[i] - t->w[i] / t->A[i][i];
    t->x[i] = x < t->lo[i] ? t->lo[i] : x > t->hi[i] ? t->hi[i] : x;
    set_w(t);
    ++*steps;
    return 1;
  }
  int fewest = t->rows + 1, patience = PATIENCE, last = 0;
  move_all(t);
  for (int step = 0; step < MOST_STEPS; step++) {
    ++*steps;
    if (!solve_inside(t)) return 0;
    int wrong = count_wrong(t, &last);
    if (wrong == 0) return 1;
    if (wrong < fewest) fewest = wrong, patience = PATIENCE;
    if (patience-- > 0) move_all(t);
    else t->place[last] = place_of(t, last);
  }
  return 0;
}

static void begin_second_stage(tiny *t, const lcplug_problem *p) {
  for (int k = 0; k < t->frictions; k++) {
    int i = t->friction[k];
    double normal = t->x[t->normal[k]], mu = fabs(p->hi[(size_t)i * p->bounds_step]);
    /* 0 * inf counts as 0 here: no normal force, no friction. */
    t->hi[i] = normal == 0.0 || mu == 0.0 ? 0.0 : fabs(mu * normal);
    t->lo[i] = -t->hi[i];
    if (t->hi[i] > 0.0) t->row[t->rows++] = i;
  }
}

/* |value| as far as the bounds let a force at x act against it, in units of velocity. */
static double violation(const tiny *t, int i, double x, double w) {
  double size = fabs(w), room = t->A[i][i] * (w > 0.0 ? x - t->lo[i] : t->hi[i] - x);
  return size < room ? size : room;
}

static double unit_of(const tiny *t) {
  double unit = 0.0;
  for (int i = 0; i < t->n; i++) {
    double without = violation(t, i, 0.0, -t->b[i]);
    unit = without > unit ? without : unit;
  }
  return unit > 0.0 ? unit : t->largest_b > 0.0 ? t->largest_b : 1.0;
}

static int is_solved(const tiny *t, double tol, double unit, double *residual) {
  double worst = 0.0, largest = 0.0;
  for (int i = 0; i < t->n; i++) {
    double left = violation(t, i, t->x[i], t->w[i]), force = t->A[i][i] * fabs(t->x[i]);
    if (isnan(left)) return 0;
    worst = left > worst ? left : worst;
    largest = force > largest ? force : largest;
  }
  *residual = worst / unit;
  return *residual <= tol ||
         (worst <= 8.0 * DBL_EPSILON * largest && *residual <= ROUNDING_EXCUSES);
}

static void write_solution(const tiny *t, lcplug_solution *to) {
  size_t x_step = to->x_step ? to->x_step : 1, step = to->bounds_step ? to->bounds_step : 1;
  for (int i = 0; i < t->n; i++) {
    to->x[(size_t)i * x_step] = t->x[i];
    if (to->w) to->w[i] = t->w[i];
    if (to->lo) to->lo[(size_t)i * step] = t->lo[i];
    if (to->hi) to->hi[(size_t)i * step] = t->hi[i];
  }
}

int lcplug_tiny_solve(const lcplug_problem *p, double tol, lcplug_solution *solution,
                      lcplug_info *info) {
  tiny t;
  int steps = 0;
  if (!p->lo || !p->hi || p->nub || !load(&t, p)) return 0;
  int first_rows = t.rows;
  if (t.rows && !solve_stage(&t, &steps)) return -1;
  begin_second_stage(&t, p);
  if (t.rows > first_rows && !solve_stage(&t, &steps)) return -1;
  double residual;
  if (!is_solved(&t, tol, unit_of(&t), &residual)) return 0;
  write_solution(&t, solution);
  *info = (lcplug_info){.status = LCPLUG_SOLVED,
                        .solver = LCPLUG_EXACT,
                        .matrix = LCPLUG_MATRIX_DENSE,
                        .iterations = steps,
                        .factorizations = steps,
                        .residual = residual};
  return 1;
}
