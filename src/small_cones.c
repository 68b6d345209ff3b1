/* small_cones.c - see small_cones.h.
 *
 * x = B z + c with a few elements in each column of B; the equations T'(A x - b) + k z = 0 have as few.
 * The matrix T'A B + k is not symmetric where a contact slides, so it is factorized with pivoting, by
 * columns.  The elimination is compiled twice, for any processor and for AVX2; without fused products both
 * give the same bits. */
#include "small_cones.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { MOST_STEPS = 12, PATIENCE = 4, MOST_ELEMENTS = 8 };

/* Of the largest element of its column: a pivot as good as any. */
static const double GOOD_PIVOT = 0.1;
/* A pivot below this part of the largest one leaves forces that nothing determines. */
static const double TINY_PIVOT = 1e-14;
/* From here on the answer may be good enough. */
static const double NEAR = 1e-5;
/* Of the slip, when a direction is all that is left of the friction force. */
static const double LEAST_REST = 1e-10;

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
enum { WIDTH = 4 };

static int padded(int rows) { return (rows + WIDTH - 1) & -WIDTH; }

/* One z: its column of B, its row of T, and k. */
typedef struct unknown {
  int elements, row[MOST_ELEMENTS];
  double force[MOST_ELEMENTS], test[MOST_ELEMENTS];
  double hold;
} unknown;

typedef struct reduction {
  const model *m;
  int ld;           /* n rounded up to a multiple of WIDTH */
  double *A;        /* all of it, rows of ld numbers */
  double *x, *Ax, *constant, *combined, *answer, *Aanswer;
  int *unknown_of;  /* row of a normal -> its unknown, or -1 */
  int unknowns;
  unknown *z;
  double *matrix;   /* by columns, padded, the right side as the last one */
} reduction;

static int take_arrays(reduction *r, lcplug_workspace *workspace) {
  size_t n = (size_t)r->m->n, ld = (size_t)r->ld;
  double **vectors[] = {&r->x, &r->Ax, &r->constant, &r->combined, &r->answer, &r->Aanswer};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, ld))) return 0;
  r->A = TAKE(workspace, double, n * ld);
  r->matrix = TAKE(workspace, double, (n + 1) * ld);
  r->unknown_of = TAKE(workspace, int, n);
  r->z = TAKE(workspace, unknown, n);
  return r->A && r->matrix && r->unknown_of && r->z;
}

static void load_matrix(reduction *r) {
  const linop *op = r->m->op;
  const int *row = op->layout->row;
  int n = r->m->n, ld = r->ld;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) {
      int low = row[i] > row[j] ? row[i] : row[j], high = row[i] > row[j] ? row[j] : row[i];
      r->A[i * ld + j] = r->A[j * ld + i] = op->A[(size_t)low * op->stride + (size_t)high];
    }
    for (int j = n; j < ld; j++) r->A[i * ld + j] = 0.0;
  }
}

/* ---- what is unknown --------------------------------------------------------------------------- */

static unknown *add_unknown(reduction *r, double hold) {
  unknown *z = &r->z[r->unknowns++];
  z->elements = 0;
  z->hold = hold;
  return z;
}

static void add_element(unknown *z, int row, double force, double test) {
  z->row[z->elements] = row;
  z->force[z->elements] = force;
  z->test[z->elements++] = test;
}

static void leave_to_itself(reduction *r, int row) {
  r->unknown_of[row] = r->unknowns;
  add_element(add_unknown(r, 0.0), row, 1.0, 1.0);
}

/* A force that is what another one makes it: a part of the same unknown. */
static int bind_to_normal(reduction *r, int row, int normal, double ratio) {
  int k = r->unknown_of[normal];
  if (k < 0) {
    r->constant[row] = ratio * r->constant[normal];
    return 1;
  }
  if (r->z[k].elements == MOST_ELEMENTS) return 0;
  add_element(&r->z[k], row, ratio, 0.0);
  return 1;
}

static int reduce_row(reduction *r, const force_set *bounds, double scale) {
  force_set set = *bounds;
  int row = set.first;
  double wanted = r->x[row] - (r->Ax[row] - r->m->b[row]) / scale;
  lcplug_set_couple(&set, r->x);
  int low = set.kind != SET_FREE && (wanted < set.lo || set.lo == set.hi);
  int high = set.kind != SET_FREE && wanted > set.hi;
  if (!low && !high) leave_to_itself(r, row);
  else if (set.kind == SET_COUPLED)
    return bind_to_normal(r, row, set.normal, set.hi == 0.0 ? 0.0 : low ? -set.mu[0] : set.mu[0]);
  else r->constant[row] = low ? set.lo : set.hi;
  return 1;
}

/* Slides, and would have `pressed` as its normal force. */
static void reduce_sliding(reduction *r, const force_set *set, double scale, const double *u, double slip,
                           double pressed) {
  double mu = set->mu[0], d[2] = {u[1] / slip, set->rows > 2 ? u[2] / slip : 0.0};
  double rest = fmax(mu * pressed / slip, LEAST_REST);
  r->unknown_of[set->first] = r->unknowns;
  unknown *z = add_unknown(r, 0.0);
  add_element(z, set->first, 1.0, 1.0);
  for (int i = 1; i < set->rows; i++)
    add_element(z, set->first + i, mu * d[i - 1], r->m->coulomb ? 0.0 : mu * d[i - 1]);
  if (set->rows < 3) return;
  z = add_unknown(r, scale * (1.0 / rest - 1.0));
  add_element(z, set->first + 1, -d[1], -d[1]);
  add_element(z, set->first + 2, d[0], d[0]);
}

static void reduce_cone(reduction *r, const force_set *set, double scale) {
  double u[SET_MOST_ROWS], mu = set->mu[0];
  for (int i = 0; i < set->rows; i++) {
    int row = set->first + i;
    u[i] = r->x[row] - (r->Ax[row] - r->m->b[row]) / scale;
  }
  double slip = set->rows > 2 ? lcplug_length(u[1], u[2]) : fabs(u[1]);
  if (r->m->coulomb ? u[0] <= 0.0 : mu * slip <= -u[0]) return; /* open */
  if (slip <= mu * u[0])
    for (int i = 0; i < set->rows; i++) leave_to_itself(r, set->first + i);
  else
    reduce_sliding(r, set, scale, u, slip,
                   r->m->coulomb ? u[0] : (u[0] + mu * slip) / (1.0 + mu * mu));
}

/* 0 where there is more than this can hold. */
static int reduce(reduction *r) {
  const model *m = r->m;
  int holds = 1;
  r->unknowns = 0;
  for (int i = 0; i < m->n; i++) r->constant[i] = 0.0, r->unknown_of[i] = -1;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    if (set->rows > 1) reduce_cone(r, set, m->scale[k]);
    else holds &= reduce_row(r, set, m->scale[k]);
  }
  return holds;
}

/* ---- one step ---------------------------------------------------------------------------------- */

/* to += factor * from, from element `first` on, which is a multiple of WIDTH */
INLINE void add_multiple(double *to, double factor, const double *from, int first, int ld) {
  for (int i = first; i < ld; i += WIDTH) *(four *)(to + i) += factor * *(const four *)(from + i);
}

/* sum of value[e] v[row[e]] */
INLINE double gather(const unknown *z, const double *value, const double *v) {
  double sum = value[0] * v[z->row[0]];
  for (int e = 1; e < z->elements; e++) sum += value[e] * v[z->row[e]];
  return sum;
}

/* What an unknown does to all rows, as a vector. */
INLINE const double *effect(const reduction *r, const unknown *z) {
  const double *first = r->A + z->row[0] * r->ld;
  if (z->elements == 1) return first; /* all these have factor 1 */
  for (int i = 0; i < r->ld; i += WIDTH)
    *(four *)(r->combined + i) = z->force[0] * *(const four *)(first + i);
  for (int e = 1; e < z->elements; e++)
    add_multiple(r->combined, z->force[e], r->A + z->row[e] * r->ld, 0, r->ld);
  return r->combined;
}

INLINE void multiply(const reduction *r, const double *x, double *Ax) {
  for (int i = 0; i < r->ld; i++) Ax[i] = 0.0;
  for (int j = 0; j < r->m->n; j++)
    if (x[j] != 0.0) add_multiple(Ax, x[j], r->A + j * r->ld, 0, r->ld);
}

INLINE void assemble(reduction *r) {
  int n = r->m->n, rows = r->unknowns, ld = padded(rows);
  double *right = r->matrix + rows * ld, *rest = r->combined;
  memcpy(rest, r->m->b, (size_t)n * sizeof *rest);
  for (int j = 0; j < n; j++)
    if (r->constant[j] != 0.0) add_multiple(rest, -r->constant[j], r->A + j * r->ld, 0, r->ld);
  for (int i = 0; i < rows; i++) right[i] = gather(&r->z[i], r->z[i].test, rest);
  for (int j = 0; j < rows; j++) {
    double *column = r->matrix + j * ld;
    const double *all = effect(r, &r->z[j]);
    for (int i = 0; i < rows; i++) column[i] = gather(&r->z[i], r->z[i].test, all);
    column[j] += r->z[j].hold;
    for (int i = rows; i < ld; i++) column[i] = 0.0;
  }
  for (int i = rows; i < ld; i++) right[i] = 0.0;
}

/* The diagonal element if it will do: it seldom fails, and no rows are exchanged. */
INLINE int choose_pivot(const double *column, int from, int rows) {
  double largest = 0.0;
  for (int i = from; i < rows; i++) {
    double size = fabs(column[i]);
    largest = size > largest ? size : largest;
  }
  if (fabs(column[from]) >= GOOD_PIVOT * largest) return from;
  int best = from;
  while (fabs(column[best]) < largest) best++;
  return best;
}

INLINE void swap(double *a, double *b) {
  double was = *a;
  *a = *b;
  *b = was;
}

/* Elimination with the right side as one more column, then from the last row up; 0 for a singular
 * matrix.  The multipliers stand in `factors`, with zeros where a vector begins above them. */
INLINE int eliminate(double *matrix, int rows, double *factors) {
  int ld = padded(rows);
  double largest = 0.0, *right = matrix + rows * ld;
  for (int k = 0; k < rows; k++) {
    double *pivots = matrix + k * ld;
    int p = choose_pivot(pivots, k, rows), first = (k + 1) & -WIDTH;
    swap(&pivots[k], &pivots[p]);
    double size = fabs(pivots[k]), inverse = 1.0 / pivots[k];
    largest = size > largest ? size : largest;
    if (!(size > TINY_PIVOT * largest)) return 0;
    for (int i = first; i < ld; i += WIDTH)
      *(four *)(factors + i) = inverse * *(const four *)(pivots + i);
    for (int i = first; i <= k; i++) factors[i] = 0.0;
    for (double *column = pivots + ld; column <= right; column += ld) {
      if (p != k) swap(&column[k], &column[p]);
      if (column[k] != 0.0) add_multiple(column, -column[k], factors, first, ld);
    }
  }
  for (int k = rows - 1; k >= 0; k--) {
    const double *column = matrix + k * ld;
    right[k] /= column[k];
    for (int i = 0; i < k; i++) right[i] -= right[k] * column[i];
  }
  return 1;
}

INLINE int step(reduction *r) {
  int rows = r->unknowns;
  assemble(r);
  if (!eliminate(r->matrix, rows, r->combined)) return 0;
  const double *z = r->matrix + rows * padded(rows);
  memcpy(r->x, r->constant, (size_t)r->m->n * sizeof *r->x);
  for (int j = 0; j < rows; j++)
    for (int e = 0; e < r->z[j].elements; e++) r->x[r->z[j].row[e]] += z[j] * r->z[j].force[e];
  multiply(r, r->x, r->Ax);
  return 1;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static int step_avx2(reduction *r) { return step(r); }
#endif

static int step_plain(reduction *r) { return step(r); }

static int best_step(reduction *r) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return step_avx2(r);
#endif
  return step_plain(r);
}

/* The answer that x stands for is the feasible one next to it; the guess goes on from x. */
static int observe(reduction *r, iteration *it) {
  const model *m = r->m;
  memcpy(r->answer, r->x, (size_t)m->n * sizeof *r->x);
  lcplug_make_feasible(m, r->answer);
  m->op->table->apply(m->op, r->answer, r->Aanswer);
  return lcplug_iteration_observe(it, m, r->answer, r->Aanswer);
}

static int is_circular(const model *m) {
  for (int k = 0; k < m->blocks; k++)
    if (m->sets[k].kind == SET_ELLIPSE) return 0;
  return 1;
}

lcplug_error lcplug_small_cones_solve(const model *m, iteration *it, lcplug_workspace *workspace) {
  reduction r = {.m = m, .ld = padded(m->n)};
  it->status = LCPLUG_STALLED;
  if (!is_circular(m)) return LCPLUG_OK;
  if (!take_arrays(&r, workspace)) return LCPLUG_ERROR_MEMORY;
  load_matrix(&r);
  memcpy(r.x, it->x, (size_t)m->n * sizeof *r.x);
  m->op->table->apply(m->op, r.x, r.Ax);
  double best = INFINITY;
  for (int steps = 0, since = 0; steps < MOST_STEPS && since < PATIENCE; steps++, since++) {
    if (!reduce(&r) || !best_step(&r)) break;
    it->factorizations++;
    double residual = lcplug_residual_natural(m, r.x, r.Ax);
    if (residual <= NEAR && observe(&r, it)) return LCPLUG_OK;
    if (residual < best) best = residual, since = -1;
  }
  it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
