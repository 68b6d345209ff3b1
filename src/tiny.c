/* tiny.c - see tiny.h.
 *
 * The method of small.c with all of its arrays on the stack, in fours, and the factorization
 * written out: for a dozen rows, setting up anything costs more than solving.  Where active sets
 * do not settle after a few steps pivoting.c puts the wrong rows right one by one.
 *
 * All of it is compiled twice, for any processor and for AVX2; without fused products both give
 * the same bits. */
#include "tiny.h"

#include <float.h>
#include <math.h>

#include "four.h"
#include "iterate.h"
#include "one_contact.h"
#include "pivoting.h"

#define INLINE static inline __attribute__((always_inline))
#define ALIGNED __attribute__((aligned(32)))

enum { N = TINY_MOST_ROWS, MOST_STEPS = 8, PATIENCE = 3 };

static const double TINY_PIVOT = 1e-13;
static const double ROUNDING = 1e-12; /* w of the rows inside, in units of the largest b */

typedef struct tiny {
  int n, ld;                             /* ld: n rounded up to a multiple of four */
  int rows, row[N];                      /* of the present stage */
  int frictions, friction[N], normal[N]; /* friction rows, and the normal of each */
  unsigned char place[N];
  double A[N][N] ALIGNED; /* both triangles */
  double scale[N], b[N], lo[N], hi[N], x[N], w[N]; /* scale: A_ii */
  double largest_b;
  int has_looked; /* at A, to find w */
} tiny;

/* Copies everything; the rows without findex make stage one.  Whether A and b are finite w will
 * tell. */
INLINE int load(tiny *t, const lcplug_problem *p) {
  unsigned frictions = 0, normals = 0, unusual = 0; /* one bit a row */
  int n = p->n;
  t->n = n;
  t->ld = (n + 3) & -4;
  t->rows = t->frictions = t->has_looked = 0;
  t->largest_b = 0.0;
  for (int i = 0; i < n; i++) {
    const double *a = p->A + (size_t)i * p->stride;
    double b = p->b[(size_t)i * p->b_step], size = fabs(b);
    int is_free = i < p->nub, normal = p->findex && !is_free ? p->findex[i] : -1;
    double lo = is_free ? -INFINITY : p->lo[(size_t)i * p->bounds_step];
    double hi = is_free ? INFINITY : p->hi[(size_t)i * p->bounds_step];
    for (int j = 0; j < i; j++) t->A[i][j] = t->A[j][i] = a[j];
    t->A[i][i] = t->scale[i] = a[i];
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
  for (int i = n; i < t->ld; i++) {
    t->scale[i] = t->b[i] = t->lo[i] = t->hi[i] = t->x[i] = t->w[i] = 0.0;
    for (int j = 0; j < n; j++) t->A[j][i] = 0.0;
  }
  return !unusual && !(frictions & normals);
}

/* All rows and all columns: what is not finite shows. */
INLINE void set_w_of(tiny *t, const int fours) {
  four sum[N / 4];
#pragma GCC unroll 6
  for (int q = 0; q < fours; q++) sum[q] = -four_at(t->b + 4 * q);
  for (int j = 0; j < t->n; j++) {
    four x = four_of(t->x[j]);
#pragma GCC unroll 6
    for (int q = 0; q < fours; q++) sum[q] += four_at(t->A[j] + 4 * q) * x;
  }
#pragma GCC unroll 6
  for (int q = 0; q < fours; q++) four_put(t->w + 4 * q, sum[q]);
}

INLINE void set_w(tiny *t) {
  t->has_looked = 1;
  switch (t->ld / 4) {
    case 1: set_w_of(t, 1); break;
    case 2: set_w_of(t, 2); break;
    case 3: set_w_of(t, 3); break;
    case 4: set_w_of(t, 4); break;
    case 5: set_w_of(t, 5); break;
    default: set_w_of(t, 6); break;
  }
}

INLINE int place_of(const tiny *t, int i) {
  double d = t->scale[i], q = d * t->x[i] - t->w[i];
  return q < d * t->lo[i] ? AT_LO : q > d * t->hi[i] ? AT_HI : INSIDE;
}

INLINE void move_all(tiny *t) {
  for (int k = 0; k < t->rows; k++) t->place[t->row[k]] = (unsigned char)place_of(t, t->row[k]);
}

/* How many rows are not where they say they are. */
INLINE int count_wrong(const tiny *t) {
  int wrong = 0;
  for (int k = 0; k < t->rows; k++) wrong += place_of(t, t->row[k]) != t->place[t->row[k]];
  return wrong;
}

/* x_F -= A_FF^-1 w_F by L D L', column by column, the forward substitution on the way.  0 if
 * singular. */
INLINE int correct(tiny *t, const int *kept, int count) {
  double M[N][N] ALIGNED, z[N] ALIGNED, inverse[N];
  int ld = (count + 3) & -4;
  for (int j = 0; j < count; j++) {
    const double *a = t->A[kept[j]];
    for (int i = j; i < count; i++) M[j][i] = a[kept[i]];
    for (int i = count; i < ld; i++) M[j][i] = 0.0;
    z[j] = -t->w[kept[j]];
  }
  for (int i = count; i < ld; i++) z[i] = 0.0;
  double pivot = M[0][0]; /* the next one, known before its column is */
  for (int c = 0; c < count; c++) {
    if (!(pivot > TINY_PIVOT * t->scale[kept[c]])) return 0;
    inverse[c] = 1.0 / pivot;
    if (c + 1 < count) pivot = M[c + 1][c + 1] - M[c][c + 1] * inverse[c] * M[c][c + 1];
    for (int j = c + 1; j < count; j++) {
      four factor = four_of(M[c][j] * inverse[c]);
      for (int i = j & -4; i < ld; i += 4)
        four_put(M[j] + i, four_at(M[j] + i) - factor * four_at(M[c] + i));
    }
    double known = z[c] * inverse[c];
    for (int i = c + 1; i < count; i++) z[i] -= known * M[c][i];
    z[c] = known;
  }
  for (int i = count - 1; i >= 0; i--) {
    double dx = z[i];
    t->x[kept[i]] += dx;
    for (int c = 0; c < i; c++) z[c] -= M[c][i] * inverse[c] * dx;
  }
  return 1;
}

INLINE double bound_at(const tiny *t, int i) { return t->place[i] == AT_LO ? t->lo[i] : t->hi[i]; }

/* x of the rows inside, the others at their bounds. */
INLINE int solve_inside(tiny *t) {
  int kept[N], count = 0, moved = 0;
  for (int k = 0; k < t->rows; k++) {
    int i = t->row[k];
    if (t->place[i] == INSIDE) {
      kept[count++] = i;
      continue;
    }
    double bound = bound_at(t, i);
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

/* One row at a time, from the places that there are, which x and w belong to. */
static int solve_by_pivots(tiny *t) {
  double table[N * N] ALIGNED, vector[5][N] ALIGNED, scratch[PIVOTING_SCRATCH(N)] ALIGNED;
  unsigned char at[N];
  int ld = (t->rows + 3) & -4;
  pivoting p = {.kernels = lcplug_kernels_best(), .rows = t->rows, .ld = ld, .table = table,
                .x = vector[0], .w = vector[1], .lo = vector[2], .hi = vector[3], .place = at,
                .unit = t->largest_b, .diagonal = vector[4], .scratch = scratch};
  for (int j = 0; j < t->rows; j++) {
    int row = t->row[j];
    for (int i = j; i < t->rows; i++) table[j * ld + i] = t->A[row][t->row[i]];
    for (int i = t->rows; i < ld; i++) table[j * ld + i] = 0.0;
    vector[0][j] = t->x[row], vector[1][j] = t->place[row] == INSIDE ? 0.0 : t->w[row];
    vector[2][j] = t->lo[row], vector[3][j] = t->hi[row];
    at[j] = t->place[row];
  }
  if (!lcplug_pivoting(&p)) return 0;
  for (int k = 0; k < t->rows; k++) t->place[t->row[k]] = at[k];
  return 1;
}

/* What pivots have found, worked out once more from A itself. */
INLINE int confirm(tiny *t) {
  if (!solve_inside(t)) return 0;
  for (int k = 0; k < t->rows; k++) {
    int i = t->row[k];
    t->x[i] = t->x[i] < t->lo[i] ? t->lo[i] : t->x[i] > t->hi[i] ? t->hi[i] : t->x[i];
  }
  set_w(t);
  return 1;
}

INLINE int solve_stage(tiny *t, int *steps) {
  if (t->rows == 1) { /* one contact without friction: a division */
    int i = t->row[0];
    double x = t->x[i] - t->w[i] / t->A[i][i];
    t->x[i] = x < t->lo[i] ? t->lo[i] : x > t->hi[i] ? t->hi[i] : x;
    set_w(t);
    ++*steps;
    return 1;
  }
  int fewest = t->rows + 1, patience = PATIENCE;
  for (int step = 0; step < MOST_STEPS; step++) {
    ++*steps;
    move_all(t);
    if (!solve_inside(t)) return 0;
    int wrong = count_wrong(t);
    if (wrong == 0) return 1;
    if (wrong < fewest) fewest = wrong, patience = PATIENCE;
    if (patience-- == 0) break;
  }
  ++*steps;
  return solve_by_pivots(t) && confirm(t);
}

INLINE void begin_second_stage(tiny *t, const lcplug_problem *p) {
  for (int k = 0; k < t->frictions; k++) {
    int i = t->friction[k];
    double normal = t->x[t->normal[k]], mu = fabs(p->hi[(size_t)i * p->bounds_step]);
    /* 0 * inf counts as 0 here: no normal force, no friction. */
    t->hi[i] = normal == 0.0 || mu == 0.0 ? 0.0 : fabs(mu * normal);
    t->lo[i] = -t->hi[i];
    if (t->hi[i] > 0.0) t->row[t->rows++] = i;
  }
}

INLINE four size_of(four v) { return four_max(v, -v); }

/* |w| as far as the bounds let a force at x act against it, in units of velocity. */
INLINE four violation(const tiny *t, int i, four x, four w) {
  four room = four_choose(w > 0.0, x - four_at(t->lo + i), four_at(t->hi + i) - x);
  return four_min(size_of(w), four_at(t->scale + i) * room);
}

INLINE int is_solved(const tiny *t, double tol, double *residual) {
  four left = four_of(0.0), without = left, forces = left, unsound = left;
  for (int i = 0; i < t->ld; i += 4) {
    four x = four_at(t->x + i), w = four_at(t->w + i);
    left = four_max(violation(t, i, x, w), left);
    without = four_max(violation(t, i, four_of(0.0), -four_at(t->b + i)), without);
    forces = four_max(four_at(t->scale + i) * size_of(x), forces);
    unsound += w * 0.0; /* NaN where w is not finite */
  }
  double worst = four_largest(left), unit = four_largest(without), largest = four_largest(forces);
  if (unit == 0.0) unit = t->largest_b > 0.0 ? t->largest_b : 1.0;
  *residual = worst / unit;
  if (!(four_sum(unsound) == 0.0)) return 0;
  return *residual <= tol ||
         (worst <= 8.0 * DBL_EPSILON * largest && *residual <= ROUNDING_EXCUSES);
}

INLINE void write_solution(const tiny *t, lcplug_solution *to) {
  size_t x_step = to->x_step ? to->x_step : 1, step = to->bounds_step ? to->bounds_step : 1;
  for (int i = 0; i < t->n; i++) {
    to->x[(size_t)i * x_step] = t->x[i];
    if (to->w) to->w[i] = t->w[i];
    if (to->lo) to->lo[(size_t)i * step] = t->lo[i];
    if (to->hi) to->hi[(size_t)i * step] = t->hi[i];
  }
}

INLINE int solve(const lcplug_problem *p, double tol, lcplug_solution *solution,
                 lcplug_info *info) {
  tiny t;
  int steps = 0;
  double residual;
  if (!load(&t, p)) return 0;
  int first_rows = t.rows;
  if (t.rows && !solve_stage(&t, &steps)) return -1;
  begin_second_stage(&t, p);
  if (t.rows > first_rows && !solve_stage(&t, &steps)) return -1;
  if (!t.has_looked) set_w(&t); /* no force needed A, but nobody knows yet whether it is finite */
  if (!is_solved(&t, tol, &residual)) return 0;
  write_solution(&t, solution);
  *info = (lcplug_info){.status = LCPLUG_SOLVED,
                        .solver = LCPLUG_EXACT,
                        .matrix = LCPLUG_MATRIX_DENSE,
                        .iterations = steps,
                        .factorizations = steps,
                        .residual = residual};
  return 1;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static int solve_avx2(const lcplug_problem *p, double tol,
                                                      lcplug_solution *solution,
                                                      lcplug_info *info) {
  return solve(p, tol, solution, info);
}
#endif

int lcplug_tiny_solve(const lcplug_problem *p, double tol, lcplug_solution *solution,
                      lcplug_info *info) {
  if (!p->lo || !p->hi) return 0;
  if (p->n == 3 && !p->nub && lcplug_one_contact_solve(p, tol, solution, info)) return 1;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return solve_avx2(p, tol, solution, info);
#endif
  return solve(p, tol, solution, info);
}
