/* small_cones.c - see small_cones.h.
 *
 * Rows that are free whatever happens (joints) are eliminated once, as in small.c.  On what is
 * left
 *
 *     x = B z + c,   T'(A x - b) + k z = 0 ,
 *
 * with a few elements in each column of B and of T.  The matrix T'A B + k is not symmetric where
 * a contact slides; the kernels of the sparse LU factorize it, without exchanges: a pivot that
 * happens to be small costs digits, which the next step brings back.  The rest is compiled
 * twice, for any processor and for AVX2. */
#include "small_cones.h"

#include <math.h>
#include <string.h>

#include "four.h"
#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { MOST_STEPS = 12, PATIENCE = 5, MOST_ELEMENTS = 8, NONE = -1, ELIMINATED = -2 };

/* A pivot below this part of the largest diagonal element leaves forces that nothing determines. */
static const double TINY_PIVOT = 1e-14;
/* From here on the answer may be good enough. */
static const double NEAR = 1e-5;
/* Of the slip, when a direction is all that is left of the friction force. */
static const double LEAST_REST = 1e-10;

enum { WIDTH = 4 };

static int padded(int rows) { return (rows + WIDTH - 1) & -WIDTH; }

/* One z: its column of B, its row of T, and k. */
typedef struct unknown {
  int elements, tested, row[MOST_ELEMENTS]; /* those that T has come first */
  double force[MOST_ELEMENTS], test[MOST_ELEMENTS];
  double hold;
} unknown;

typedef struct reduction {
  const model *m;
  int ld;           /* n rounded up to a multiple of WIDTH */
  double *A, *b;    /* both triangles, rows of ld numbers; what free rows leave of them */
  int frees, *free; /* these, in the order of elimination; their rows of A are the ones of U */
  double *x, *w, *constant, *combined, *answer, *Aanswer;
  double violation; /* of x, the worst */
  int *unknown_of;  /* row -> its unknown, NONE or ELIMINATED; of cones the normal's row */
  int unknowns;
  unknown *z;
  const cholesky_kernels *kernels;
  int panel_ld;
  double *lower, *upper; /* panels of the matrix: the lower triangle, the upper one transposed
                            with the right side as the row below */
  double *inverse, *floor, *ones, *solution;
} reduction;

static int take_arrays(reduction *r, lcplug_workspace *workspace) {
  size_t n = (size_t)r->m->n, ld = (size_t)r->ld;
  double **vectors[] = {&r->b,        &r->x,      &r->w,       &r->constant,
                        &r->combined, &r->answer, &r->Aanswer, &r->inverse,
                        &r->floor,    &r->ones,   &r->solution};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, ld + WIDTH))) return 0;
  for (size_t i = 0; i < n; i++) r->ones[i] = 1.0;
  r->A = TAKE(workspace, double, n * ld);
  r->lower = TAKE(workspace, double, n * (ld + WIDTH));
  r->upper = TAKE(workspace, double, n * (ld + WIDTH));
  r->unknown_of = TAKE(workspace, int, n);
  r->free = TAKE(workspace, int, n);
  r->z = TAKE(workspace, unknown, n);
  return r->A && r->lower && r->upper && r->unknown_of && r->free && r->z;
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
  memcpy(r->b, r->m->b, (size_t)n * sizeof *r->b);
}

/* ---- what is unknown --------------------------------------------------------------------------- */

static unknown *add_unknown(reduction *r, double hold) {
  unknown *z = &r->z[r->unknowns++];
  z->elements = z->tested = 0;
  z->hold = hold;
  return z;
}

static void add_element(unknown *z, int row, double force, double test) {
  z->row[z->elements] = row;
  z->force[z->elements] = force;
  z->test[z->elements++] = test;
  if (test != 0.0) z->tested = z->elements;
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

static void note(reduction *r, double violation) {
  if (!(violation <= r->violation)) r->violation = violation; /* a NaN too */
}

static int reduce_row(reduction *r, const force_set *bounds, double scale) {
  force_set set = *bounds;
  int row = set.first;
  double wanted = r->x[row] - r->w[row] / scale;
  lcplug_set_couple(&set, r->x);
  int low = wanted < set.lo || set.lo == set.hi, high = wanted > set.hi;
  double bound = low ? set.lo : set.hi;
  note(r, low || high ? scale * fabs(r->x[row] - bound) : fabs(r->w[row]));
  if (!low && !high) leave_to_itself(r, row);
  else if (set.kind == SET_COUPLED)
    return bind_to_normal(r, row, set.normal, set.hi == 0.0 ? 0.0 : low ? -set.mu[0] : set.mu[0]);
  else r->constant[row] = bound;
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

/* scale * (x - p) is left when the contact ought to have the forces p. */
static void note_forces(reduction *r, const force_set *set, double scale, const double *p) {
  for (int i = 0; i < set->rows; i++) note(r, scale * fabs(r->x[set->first + i] - p[i]));
}

static void reduce_cone(reduction *r, const force_set *set, double scale) {
  double u[SET_MOST_ROWS], p[SET_MOST_ROWS] = {0.0, 0.0, 0.0}, mu = set->mu[0];
  for (int i = 0; i < set->rows; i++) u[i] = r->x[set->first + i] - r->w[set->first + i] / scale;
  double slip = set->rows > 2 ? sqrt(u[1] * u[1] + u[2] * u[2]) : fabs(u[1]);
  int open = r->m->coulomb ? u[0] <= 0.0 : mu * slip <= -u[0];
  if (!open && slip <= mu * u[0]) {
    for (int i = 0; i < set->rows; i++) leave_to_itself(r, set->first + i);
    note_forces(r, set, scale, u);
  } else if (!open) {
    p[0] = r->m->coulomb ? u[0] : (u[0] + mu * slip) / (1.0 + mu * mu);
    for (int i = 1; i < set->rows; i++) p[i] = mu * p[0] * u[i] / slip;
    reduce_sliding(r, set, scale, u, slip, p[0]);
  }
  if (open || slip > mu * u[0]) note_forces(r, set, scale, p);
}

/* 0 where there is more than this can hold. */
static int reduce(reduction *r) {
  const model *m = r->m;
  int holds = 1;
  r->unknowns = 0;
  r->violation = 0.0;
  for (int i = 0; i < m->n; i++) {
    r->constant[i] = 0.0;
    if (r->unknown_of[i] != ELIMINATED) r->unknown_of[i] = NONE;
  }
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    if (set->kind == SET_FREE) continue;
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

/* An element of T'v. */
INLINE double gather(const unknown *z, const double *v) {
  double sum = z->test[0] * v[z->row[0]];
  for (int e = 1; e < z->tested; e++) sum += z->test[e] * v[z->row[e]];
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

/* The rows of an unknown's column from its own on, and those above as the beginning of a row. */
INLINE void add_to_panels(reduction *r, int j, const double *all) {
  int rows = r->unknowns, ld = r->panel_ld;
  double *column = r->lower + j * ld;
  for (int i = 0; i < j; i++) r->upper[i * ld + j] = gather(&r->z[i], all);
  for (int i = j; i < rows; i++) column[i] = gather(&r->z[i], all);
  column[j] += r->z[j].hold;
}

INLINE void assemble(reduction *r) {
  int n = r->m->n, rows = r->unknowns, below = padded(rows), ld = r->panel_ld = below + WIDTH;
  double *rest = r->combined, largest = 0.0;
  memcpy(rest, r->b, (size_t)r->ld * sizeof *rest);
  for (int j = 0; j < n; j++)
    if (r->constant[j] != 0.0) add_multiple(rest, -r->constant[j], r->A + j * r->ld, 0, r->ld);
  for (int j = 0; j < rows; j++) {
    for (int i = rows; i < ld; i++) r->lower[j * ld + i] = r->upper[j * ld + i] = 0.0;
    r->upper[j * ld + below] = gather(&r->z[j], rest);
  }
  for (int j = 0; j < rows; j++) {
    add_to_panels(r, j, effect(r, &r->z[j]));
    double size = fabs(r->lower[j * (ld + 1)]);
    largest = size > largest ? size : largest;
  }
  for (int j = 0; j < rows; j++) r->floor[j] = TINY_PIVOT * largest;
}

/* 0 for a singular matrix. */
INLINE int eliminate(reduction *r) {
  int rows = r->unknowns, below = padded(rows), ld = r->panel_ld;
  double *z = r->solution;
  if (r->kernels->panels(r->lower, r->upper, ld, rows, r->floor, r->inverse, r->ones)) return 0;
  for (int j = 0; j < rows; j++) z[j] = r->upper[j * ld + below];
  for (int j = rows; j < ld; j++) z[j] = 0.0;
  r->kernels->backward(r->upper, ld, rows, r->inverse, z);
  return 1;
}

/* ---- free rows --------------------------------------------------------------------------------- */

/* Takes the row out of those that are still there. */
INLINE void eliminate_row(reduction *r, int row) {
  const double *pivots = r->A + row * r->ld;
  for (int i = 0; i < r->m->n; i++) {
    double *others = r->A + i * r->ld;
    if (i == row || others[row] == 0.0 || r->unknown_of[i] == ELIMINATED) continue;
    double factor = others[row] / pivots[row];
    add_multiple(others, -factor, pivots, 0, r->ld);
    r->b[i] -= factor * r->b[row];
    others[row] = 0.0;
  }
  r->unknown_of[row] = ELIMINATED;
  r->free[r->frees++] = row;
}

/* 0 if they determine less than they should. */
INLINE int eliminate_free_rows(reduction *r) {
  const model *m = r->m;
  for (int i = 0; i < m->n; i++) r->unknown_of[i] = NONE;
  for (int k = 0; k < m->blocks; k++) {
    int row = m->sets[k].first;
    if (m->sets[k].kind != SET_FREE) continue;
    if (!(r->A[row * (r->ld + 1)] > TINY_PIVOT * m->scale[k])) return 0;
    eliminate_row(r, row);
  }
  return 1;
}

/* The force in a free row, those of all rows after it known. */
INLINE void find_free(const reduction *r, int row, double *x) {
  const double *u = r->A + row * r->ld;
  four sum = {0.0, 0.0, 0.0, 0.0};
  x[row] = 0.0;
  for (int i = 0; i < r->ld; i += WIDTH) sum += *(const four *)(u + i) * *(const four *)(x + i);
  x[row] = (r->b[row] - ((sum[0] + sum[1]) + (sum[2] + sum[3]))) / u[row];
}

/* w of the rows that are not free, as those that are make it. */
INLINE void find_w(reduction *r) {
  for (int i = 0; i < r->ld; i += WIDTH) *(four *)(r->w + i) = -*(const four *)(r->b + i);
  for (int j = 0; j < r->m->n; j++)
    if (r->x[j] != 0.0 && r->unknown_of[j] != ELIMINATED)
      add_multiple(r->w, r->x[j], r->A + j * r->ld, 0, r->ld);
}

/* ---- all together ------------------------------------------------------------------------------ */

INLINE int step(reduction *r) {
  int rows = r->unknowns;
  const double *z = r->solution;
  assemble(r);
  if (!eliminate(r)) return 0;
  memcpy(r->x, r->constant, (size_t)r->m->n * sizeof *r->x);
  for (int j = 0; j < rows; j++)
    for (int e = 0; e < r->z[j].elements; e++) r->x[r->z[j].row[e]] += z[j] * r->z[j].force[e];
  find_w(r);
  return 1;
}

/* The answer that x stands for is the feasible one next to it; the guess goes on from x. */
INLINE int observe(reduction *r, iteration *it) {
  const model *m = r->m;
  memcpy(r->answer, r->x, (size_t)r->ld * sizeof *r->x);
  lcplug_make_feasible(m, r->answer);
  for (int k = r->frees - 1; k >= 0; k--) find_free(r, r->free[k], r->answer);
  m->op->table->apply(m->op, r->answer, r->Aanswer);
  return lcplug_iteration_observe(it, m, r->answer, r->Aanswer);
}

INLINE void solve(reduction *r, iteration *it) {
  double best = INFINITY;
  int last_steps = 0;
  load_matrix(r);
  if (!eliminate_free_rows(r)) return;
  find_w(r);
  for (int steps = 0, since = 0; reduce(r); steps++, since++) {
    int judged = steps && r->violation <= NEAR * r->m->unit;
    if (judged && observe(r, it) && lcplug_iteration_is_clean(it, last_steps++)) break;
    if (steps && r->violation < best) best = r->violation, since = 0;
    if (steps == MOST_STEPS || since == PATIENCE || !step(r)) break;
    it->factorizations++;
  }
  if (last_steps && it->status != LCPLUG_TIME_LIMIT) it->status = LCPLUG_SOLVED;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void solve_avx2(reduction *r, iteration *it) { solve(r, it); }
#endif

static void solve_plain(reduction *r, iteration *it) { solve(r, it); }

static void solve_best(reduction *r, iteration *it) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    solve_avx2(r, it);
    return;
  }
#endif
  solve_plain(r, it);
}

static int is_circular(const model *m) {
  for (int k = 0; k < m->blocks; k++)
    if (m->sets[k].kind == SET_ELLIPSE) return 0;
  return 1;
}

lcplug_error lcplug_small_cones_solve(const model *m, const double *start, iteration *it,
                                      lcplug_workspace *workspace) {
  reduction r = {.m = m, .ld = padded(m->n), .kernels = lcplug_kernels_best()};
  int earlier = it->iterations - it->factorizations;
  it->status = LCPLUG_STALLED;
  if (!is_circular(m)) return LCPLUG_OK;
  if (!take_arrays(&r, workspace)) return LCPLUG_ERROR_MEMORY;
  memcpy(r.x, start, (size_t)m->n * sizeof *r.x);
  for (int i = m->n; i < r.ld; i++) r.x[i] = r.b[i] = 0.0;
  solve_best(&r, it);
  it->iterations = earlier + it->factorizations; /* not only those that were looked at */
  if (it->status == LCPLUG_ITERATION_LIMIT) it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
