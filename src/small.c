/* small.c - see small.h.
 *
 * Rows that are free whatever happens (joints) are eliminated once:
 *
 *     [A_ff A_fc] [x_f]   [b_f]                      S = A_cc - A_cf A_ff^-1 A_fc
 *     [A_cf A_cc] [x_c] = [b_c] + w    leaves        S x_c = s + w_c,  s = b_c - A_cf A_ff^-1 b_f
 *
 * On what is left the method is that of active_set.c: guess which rows are at a bound, solve for
 * the others, guess again; when guessing for all rows at once makes no progress, pivoting.c puts
 * the wrong ones right one by one, and where its pivots vanish the interior point remains.  Stage
 * one has the rows without findex; stage two all rows that may carry a force.
 *
 * All of it is compiled twice, for any processor and for AVX2; without fused products both give the
 * same bits. */
#include "small.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "box.h"
#include "finite.h"
#include "four.h"
#include "pivoting.h"

#define INLINE static inline __attribute__((always_inline))

enum { MOST_STEPS = 8, STEPS_THAT_HELP = 1, MOST_INTERIOR_STEPS = 60 };

/* What a step that gets on makes of the number of wrong rows, at most; others try the patience,
 * which is shorter with many rows, as a step is dearer then. */
static const double PROGRESS = 0.8;
enum { PATIENCE = 2, MANY_ROWS = 60, PATIENCE_WITH_MANY = 1 };
/* A pivot that has lost this much of its diagonal element makes the matrix singular. */
static const double TINY_PIVOT = 1e-13;
/* In units of the residual: w of the rows inside that calls for a second correction, and an answer
 * of contested rows that needs no factor of its own. */
static const double CORRECT_AGAIN = 1e-12, CLEAN = 1e-12;
/* Wrong rows are settled while they are no more than one for so many rows inside. */
enum { CHEAPER_TO_SETTLE = 6 };

typedef struct small {
  const lcplug_problem *problem;
  lcplug_workspace *workspace;
  const cholesky_kernels *kernels;
  /* the caller's rows: free ones, and the others */
  int frees, *free_row;
  int n, *caller_row; /* n rows are left when the free ones are gone */
  int *normal;        /* of each: its normal among them, or -1 */
  double *mu;
  /* the problem that is left: S x = s + w, lo <= x <= hi */
  int ld;        /* n rounded up to a multiple of four */
  double *A;     /* S, both triangles, columns of ld numbers */
  double *scale; /* the caller's diagonal elements: what residuals are measured by */
  double *b, *lo, *hi, *x, *w;
  unsigned char *place;
  /* the present stage: its rows, those of them inside, and their factor */
  int *row, rows, *kept, kept_rows;
  double *panel, *inverse, *floor, *vector;
  /* columns of A that are to be added up, and what they are to be multiplied by */
  int *column, columns;
  double *factor;
  int steps;
  int settles;    /* 0: active sets are known not to */
  places *memory; /* last time's places, or NULL */
  int stage;      /* of these */
  /* the factor of the free rows, with the other rows and b below them */
  double *free_panel, *free_inverse;
  int free_ld;
  double *full_x, *full_w; /* in the caller's order */
} small;

/* ---- set-up ---------------------------------------------------------------------------------- */

INLINE int is_friction(const lcplug_problem *p, int row) {
  return p->findex && row >= p->nub && p->findex[row] >= 0;
}

INLINE double low_of(const lcplug_problem *p, int row) {
  return row < p->nub || !p->lo ? -INFINITY : p->lo[(size_t)row * p->bounds_step];
}

INLINE double high_of(const lcplug_problem *p, int row) {
  return row < p->nub || !p->hi ? INFINITY : p->hi[(size_t)row * p->bounds_step];
}

INLINE double element(const lcplug_problem *p, int i, int j) {
  return i >= j ? p->A[(size_t)i * p->stride + (size_t)j] : p->A[(size_t)j * p->stride + (size_t)i];
}

INLINE int take_arrays(small *s, lcplug_workspace *workspace) {
  size_t all = (size_t)s->problem->n, ld = (size_t)lcplug_panel_pad(s->problem->n);
  size_t square = (all + PANEL_PAD) * (ld + PANEL_PAD), line = ld + 2 * PANEL_PAD;
  double *memory = TAKE(workspace, double, 2 * square + 14 * line);
  int *indices = TAKE(workspace, int, 6 * all + (all + 3) / 4);
  if (!memory || !indices) return 0;
  double **lines[] = {&s->b,      &s->lo,     &s->hi,      &s->x,      &s->w,
                      &s->mu,     &s->scale,  &s->floor,   &s->vector, &s->free_inverse,
                      &s->full_x, &s->full_w, &s->inverse, &s->factor};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++, memory += line) *lines[i] = memory;
  s->A = memory;
  s->panel = s->A + square;
  s->free_row = indices;
  s->caller_row = indices + all;
  s->normal = indices + 2 * all;
  s->row = indices + 3 * all;
  s->kept = indices + 4 * all;
  s->column = indices + 5 * all;
  s->place = (unsigned char *)(indices + 6 * all);
  return 1;
}

/* Sorts the rows into free ones and others, and checks the vectors.  0 if anything is unusual. */
INLINE int load_rows(small *s) {
  const lcplug_problem *p = s->problem;
  uint64_t not_finite = 0;
  for (int i = 0; i < p->n; i++) {
    double b = p->b[(size_t)i * p->b_step], d = p->A[(size_t)i * p->stride + (size_t)i];
    not_finite |= lcplug_not_finite(b);
    if (!(d > 0.0 && d <= DBL_MAX)) return 0;
    int friction = is_friction(p, i);
    double lo = low_of(p, i), hi = high_of(p, i);
    s->kept[i] = -1; /* for now: the caller's row -> row among those left */
    if (!friction && lo == -INFINITY && hi == INFINITY) {
      s->free_row[s->frees++] = i;
      continue;
    }
    int k = s->n++;
    s->kept[i] = k;
    s->caller_row[k] = i;
    s->normal[k] = friction ? p->findex[i] : -1;
    s->mu[k] = fabs(hi);
    s->lo[k] = friction ? 0.0 : lo;
    s->hi[k] = friction ? 0.0 : hi;
    s->b[k] = b;
    s->scale[k] = d;
    s->x[k] = 0.0;
    /* Zero lies in every interval that an engine makes; the start relies on it. */
    if (friction ? isnan(hi) : !(lo <= 0.0 && hi >= 0.0)) return 0;
    if (!friction && lo < hi) s->row[s->rows++] = k;
  }
  for (int k = 0; k < s->n; k++) {
    if (s->normal[k] < 0) continue;
    if (s->normal[k] >= p->n) return 0;
    s->normal[k] = s->kept[s->normal[k]];
    /* A normal that is free, or a friction row itself, is for the general way. */
    if (s->normal[k] < 0 || is_friction(p, p->findex[s->caller_row[k]])) return 0;
  }
  s->ld = lcplug_panel_pad(s->n);
  if (s->n > SMALL_MOST_ROWS) return 0;
  return !not_finite;
}

/* A square of four rows below the diagonal, and the one above it. */
INLINE void load_square(small *s, int i, int j, four_bits *not_finite) {
  const lcplug_problem *p = s->problem;
  size_t ld = (size_t)s->ld;
  double *below = s->A + (size_t)j * ld + (size_t)i, *above = s->A + (size_t)i * ld + (size_t)j;
  four row[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    row[q] = four_picked(p->A + (size_t)s->caller_row[i + q] * p->stride, s->caller_row + j);
    *not_finite |= four_not_finite(row[q]);
    four_put(above + (size_t)q * ld, row[q]);
  }
  four_transpose(row);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) four_put(below + (size_t)q * ld, row[q]);
}

/* The elements of row i from column j on. */
INLINE void load_row_from(small *s, int i, int j, uint64_t *not_finite) {
  const double *a = s->problem->A + (size_t)s->caller_row[i] * s->problem->stride;
  for (; j <= i; j++) {
    double value = a[s->caller_row[j]];
    *not_finite |= lcplug_not_finite(value);
    s->A[(size_t)i * (size_t)s->ld + (size_t)j] = s->A[(size_t)j * (size_t)s->ld + (size_t)i] =
        value;
  }
}

/* The rows that are left, as they are in A; `not_finite` is set if an element is not. */
INLINE void load_matrix(small *s, uint64_t *not_finite) {
  four_bits in_squares = {0, 0, 0, 0};
  int i = 0;
  for (; i + 4 <= s->n; i += 4) {
    for (int j = 0; j < i; j += 4) load_square(s, i, j, &in_squares);
    for (int q = 0; q < 4; q++) load_row_from(s, i + q, i, not_finite);
  }
  for (; i < s->n; i++) load_row_from(s, i, 0, not_finite);
  for (i = 0; i < s->n; i++)
    for (int j = s->n; j < s->ld; j++) s->A[(size_t)i * (size_t)s->ld + (size_t)j] = 0.0;
  for (int j = s->n; j < s->ld; j++) s->b[j] = s->x[j] = s->w[j] = 0.0;
  *not_finite |= (uint64_t)(in_squares[0] | in_squares[1] | in_squares[2] | in_squares[3]);
}

/* ---- free rows ------------------------------------------------------------------------------- */

/* The free rows as pivots of a panel, below them the other rows and, last, b. */
INLINE void load_free_panel(small *s, uint64_t *not_finite) {
  const lcplug_problem *p = s->problem;
  int pivots = s->frees, first = lcplug_panel_pad(pivots), below = s->n + 1;
  size_t ld = (size_t)(s->free_ld = first + lcplug_panel_pad(below));
  double *panel = s->free_panel = s->panel;
  for (int r = 0; r < pivots; r++) {
    const double *a = p->A + (size_t)s->free_row[r] * p->stride;
    for (int c = 0; c <= r; c++) {
      double value = a[s->free_row[c]];
      *not_finite |= lcplug_not_finite(value);
      panel[(size_t)c * ld + (size_t)r] = value;
    }
    s->floor[r] = TINY_PIVOT * a[s->free_row[r]];
  }
  for (int c = 0; c < pivots; c++) {
    double *to = panel + (size_t)c * ld;
    int column = s->free_row[c];
    for (int r = pivots; r < first; r++) to[r] = 0.0;
    for (int k = 0; k < s->n; k++) {
      to[first + k] = element(p, s->caller_row[k], column);
      *not_finite |= lcplug_not_finite(to[first + k]);
    }
    to[first + s->n] = p->b[(size_t)column * p->b_step];
    for (size_t r = (size_t)(first + below); r < ld; r++) to[r] = 0.0;
  }
}

/* A <- S and b <- s, by one panel and its Schur complement, in which b takes part as a last row;
 * the stages' own panel comes behind.  0 if A_ff is singular. */
INLINE int eliminate_free_rows(small *s, uint64_t *not_finite) {
  load_free_panel(s, not_finite);
  if (s->kernels->panel(s->free_panel, s->free_ld, s->frees, s->floor, s->free_inverse)) return 0;
  int first = lcplug_panel_pad(s->frees), below = s->n + 1;
  size_t ld = (size_t)lcplug_panel_pad(below);
  double *schur = s->panel = s->free_panel + (size_t)s->frees * (size_t)s->free_ld;
  for (int j = 0; j < s->n; j++) {
    memcpy(schur + (size_t)j * ld + j, s->A + (size_t)j * (size_t)s->ld + j,
           (size_t)(s->n - j) * sizeof *schur);
    schur[(size_t)j * ld + (size_t)s->n] = s->b[j];
    for (size_t r = (size_t)below; r < ld; r++) schur[(size_t)j * ld + r] = 0.0;
  }
  memset(schur + (size_t)s->n * ld, 0, ld * sizeof *schur);
  s->kernels->schur(s->free_panel + first, s->free_ld, s->frees, below, schur, 1);
  for (int j = 0; j < s->n; j++) {
    for (int i = j; i < s->n; i++)
      s->A[(size_t)j * (size_t)s->ld + (size_t)i] = s->A[(size_t)i * (size_t)s->ld + (size_t)j] =
          schur[(size_t)j * ld + (size_t)i];
    s->b[j] = schur[(size_t)j * ld + (size_t)s->n];
  }
  return 1;
}

INLINE small_rest rest_of(const small *s) {
  return (small_rest){.n = s->n,
                      .caller_row = s->caller_row,
                      .ld = s->ld,
                      .A = s->A,
                      .b = s->b,
                      .frees = s->frees,
                      .free_row = s->free_row,
                      .free_ld = s->free_ld,
                      .free_panel = s->free_panel,
                      .free_inverse = s->free_inverse,
                      .scratch = s->vector};
}

void lcplug_small_recover(const small_rest *rest, const double *x, double *full) {
  int frees = rest->frees, first = lcplug_panel_pad(frees), n = rest->n, ld = rest->free_ld;
  double *v = rest->scratch;
  for (int c = 0; c < frees; c++)
    v[c] = rest->free_panel[(size_t)c * (size_t)ld + (size_t)(first + n)];
  for (int r = frees; r < first; r++) v[r] = 0.0;
  memcpy(v + first, x, (size_t)n * sizeof *x);
  for (int r = first + n; r < ld; r++) v[r] = 0.0;
  lcplug_kernels_best()->backward(rest->free_panel, ld, frees, rest->free_inverse, v);
  for (int c = 0; c < frees; c++) full[rest->free_row[c]] = v[c];
}

/* ---- one stage ------------------------------------------------------------------------------- */

INLINE double diagonal(const small *s, int i) { return s->A[(size_t)i * (size_t)(s->ld + 1)]; }

INLINE void list_column(small *s, int j, double factor) {
  s->column[s->columns] = j;
  s->factor[s->columns] = factor;
  s->columns += factor != 0.0;
}

/* w of 4 * `fours` rows; several sums at a time, as each has to wait for its own last addition. */
INLINE void add_to_w_of(small *s, int first, const int fours) {
  four sum[4];
#pragma GCC unroll 4
  for (int q = 0; q < fours; q++) sum[q] = four_at(s->w + first + 4 * q);
  for (int k = 0; k < s->columns; k++) {
    const double *column = s->A + (size_t)s->column[k] * (size_t)s->ld + first;
    double factor = s->factor[k];
#pragma GCC unroll 4
    for (int q = 0; q < fours; q++) sum[q] += four_at(column + 4 * q) * factor;
  }
#pragma GCC unroll 4
  for (int q = 0; q < fours; q++) four_put(s->w + first + 4 * q, sum[q]);
}

/* w += what is listed. */
INLINE void add_to_w(small *s) {
  int i = 0;
  for (; i + 16 <= s->ld; i += 16) add_to_w_of(s, i, 4);
  if (s->ld - i == 12) add_to_w_of(s, i, 3);
  else if (s->ld - i == 8) add_to_w_of(s, i, 2);
  else if (s->ld - i == 4) add_to_w_of(s, i, 1);
}

/* w = S x - s on all rows; only rows of the stage have an x. */
INLINE void set_w(small *s) {
  for (int i = 0; i < s->ld; i += 4) four_put(s->w + i, -four_at(s->b + i));
  s->columns = 0;
  for (int k = 0; k < s->rows; k++) list_column(s, s->row[k], s->x[s->row[k]]);
  add_to_w(s);
}

/* Where x - w / S_ii says that row i is; multiplied by the diagonal, which saves a division. */
INLINE int place_of(const small *s, int i) {
  double d = diagonal(s, i), q = d * s->x[i] - s->w[i];
  return q < d * s->lo[i] ? AT_LO : q > d * s->hi[i] ? AT_HI : INSIDE;
}

/* How many rows are not where they say they are. */
INLINE int count_wrong(const small *s) {
  int wrong = 0;
  for (int k = 0; k < s->rows; k++) wrong += place_of(s, s->row[k]) != s->place[s->row[k]];
  return wrong;
}

INLINE void move_all(small *s) {
  for (int k = 0; k < s->rows; k++) s->place[s->row[k]] = (unsigned char)place_of(s, s->row[k]);
}

/* The first guess: last time's places, which returns 1, or from x and w. */
INLINE int guess(small *s) {
  if (!lcplug_places_try(s->memory, s->stage)) {
    move_all(s);
    return 0;
  }
  const unsigned char *last = s->memory->place[s->stage];
  for (int k = 0; k < s->rows; k++) {
    int i = s->row[k], then = last[s->caller_row[i]];
    int nowhere = isinf(then == AT_LO ? s->lo[i] : then == AT_HI ? s->hi[i] : 0.0);
    s->place[i] = (unsigned char)(nowhere ? INSIDE : then);
  }
  return 1;
}

INLINE void remember(small *s) {
  if (!s->memory) return;
  for (int k = 0; k < s->rows; k++)
    s->memory->place[s->stage][s->caller_row[s->row[k]]] = (unsigned char)place_of(s, s->row[k]);
  s->memory->known |= 1 << s->stage;
}

/* Rows at a bound go there, and w follows; the others are kept. */
INLINE void put_at_bounds(small *s) {
  s->kept_rows = s->columns = 0;
  for (int k = 0; k < s->rows; k++) {
    int i = s->row[k];
    if (s->place[i] == INSIDE) {
      s->kept[s->kept_rows++] = i;
      continue;
    }
    double bound = s->place[i] == AT_LO ? s->lo[i] : s->hi[i];
    list_column(s, i, bound - s->x[i]);
    s->x[i] = bound;
  }
  if (s->columns) add_to_w(s);
}

/* The kept rows as a panel, with -w as the row below: the factorization does the forward
 * substitution on the way.  0 if the matrix is singular. */
INLINE int factorize(small *s) {
  int k = s->kept_rows, padded = lcplug_panel_pad(k), ld = padded + PANEL_PAD;
  for (int c = 0; c < k; c++) {
    const double *from = s->A + (size_t)s->kept[c] * (size_t)s->ld;
    double *to = s->panel + (size_t)c * (size_t)ld;
    int r = c & -PANEL_PAD; /* what is above the diagonal is not read */
    for (; r + 4 <= k; r += 4) four_put(to + r, four_picked(from, s->kept + r));
    for (; r < k; r++) to[r] = from[s->kept[r]];
    for (; r < ld; r++) to[r] = 0.0;
    to[padded] = -s->w[s->kept[c]];
    s->floor[c] = TINY_PIVOT * s->scale[s->kept[c]];
  }
  if (s->kernels->panel(s->panel, ld, k, s->floor, s->inverse)) return 0;
  for (int c = 0; c < k; c++) s->vector[c] = s->panel[(size_t)c * (size_t)ld + (size_t)padded];
  return 1;
}

INLINE void add_correction(small *s) {
  int k = s->kept_rows, ld = lcplug_panel_pad(k) + PANEL_PAD;
  for (int r = k; r < ld; r++) s->vector[r] = 0.0;
  s->kernels->backward(s->panel, ld, k, s->inverse, s->vector);
  for (int c = 0; c < k; c++) s->x[s->kept[c]] += s->vector[c];
}

/* A second correction with the same factor. */
INLINE void correct_again(small *s) {
  int k = s->kept_rows, ld = lcplug_panel_pad(k) + PANEL_PAD;
  for (int c = 0; c < k; c++) s->vector[c] = -s->w[s->kept[c]];
  for (int r = k; r < ld; r++) s->vector[r] = 0.0;
  s->kernels->forward(s->panel, ld, k, s->inverse, s->vector);
  add_correction(s);
}

INLINE double largest_inner_w(const small *s) {
  double largest = 0.0;
  for (int c = 0; c < s->kept_rows; c++) {
    double size = fabs(s->w[s->kept[c]]);
    largest = size > largest ? size : largest;
  }
  return largest;
}

/* x of the rows inside for the present places; 0 if the matrix is singular. */
INLINE int solve_inside(small *s, double unit) {
  put_at_bounds(s);
  if (!s->kept_rows) {
    set_w(s);
    return 1;
  }
  if (!factorize(s)) return 0;
  add_correction(s);
  set_w(s);
  if (largest_inner_w(s) > CORRECT_AGAIN * unit) {
    correct_again(s);
    set_w(s);
  }
  return 1;
}

INLINE void solve_one_row(small *s) {
  int i = s->row[0];
  double x = s->x[i] - s->w[i] / diagonal(s, i);
  s->x[i] = x < s->lo[i] ? s->lo[i] : x > s->hi[i] ? s->hi[i] : x;
  set_w(s);
}

/* The interior point, for an active set that does not settle.  1 when solved. */
static int solve_from_inside(small *s, double unit, double tol) {
  box p;
  if (lcplug_box_of_dense(&p, s->A, (size_t)s->ld, s->row, s->rows, s->workspace)) return 0;
  iteration it = {.tol = tol, .deadline = INFINITY, .residual = INFINITY};
  it.x = TAKE(s->workspace, double, s->rows);
  if (!it.x) return 0;
  p.unit = unit;
  for (int k = 0; k < s->rows; k++) {
    int i = s->row[k];
    p.lo[k] = s->lo[i], p.hi[k] = s->hi[i], p.b[k] = s->b[i], p.diagonal[k] = s->scale[i];
    p.x[k] = 0.0;
  }
  if (lcplug_interior_point(&p, &it, MOST_INTERIOR_STEPS, s->workspace)) return 0;
  for (int k = 0; k < s->rows; k++) s->x[s->row[k]] = it.x[k];
  s->steps += it.factorizations;
  return it.status == LCPLUG_SOLVED;
}

/* One row at a time, from the guess that was best; 1 when that ends. */
static int solve_by_pivots(small *s, double unit) {
  size_t rows = (size_t)s->rows, ld = (size_t)lcplug_panel_pad(s->rows);
  double *memory = TAKE(s->workspace, double, ld * (rows + 5) + PIVOTING_SCRATCH(ld));
  pivoting p = {.kernels = s->kernels, .rows = s->rows, .ld = (int)ld, .unit = unit};
  p.place = TAKE(s->workspace, unsigned char, rows);
  if (!memory || !p.place) return 0;
  double *vectors = memory + ld * rows, *lo = vectors, *hi = vectors + ld;
  p.table = memory, p.lo = lo, p.hi = hi, p.x = vectors + 2 * ld, p.w = vectors + 3 * ld;
  p.diagonal = vectors + 4 * ld, p.scratch = vectors + 5 * ld;
  for (size_t j = 0; j < rows; j++) {
    int column = s->row[j];
    for (size_t i = j; i < rows; i++)
      p.table[j * ld + i] = s->A[(size_t)column * (size_t)s->ld + (size_t)s->row[i]];
    for (size_t i = rows; i < ld; i++) p.table[j * ld + i] = 0.0;
    lo[j] = s->lo[column], hi[j] = s->hi[column];
    p.x[j] = s->x[column], p.w[j] = s->w[column], p.place[j] = s->place[column];
  }
  int ended = lcplug_pivoting(&p);
  for (size_t j = 0; j < rows; j++) s->place[s->row[j]] = p.place[j];
  return ended;
}

/* The largest violation of the present stage, as a fraction of the unit. */
INLINE double stage_residual(const small *s, double unit) {
  double worst = 0.0;
  for (int k = 0; k < s->rows; k++) {
    int i = s->row[k];
    double w = s->w[i], room = s->scale[i] * (w > 0.0 ? s->x[i] - s->lo[i] : s->hi[i] - s->x[i]);
    double size = fabs(w), violation = size < room ? size : room;
    if (isnan(violation)) return INFINITY;
    worst = violation > worst ? violation : worst;
  }
  return worst / unit;
}

#include "small_contest_body.h"

/* Runs the active set until the guess repeats itself; 0 if it does not look as if it would.  On
 * entry w belongs to x, on exit both belong to the places. */
INLINE int run_active_set(small *s, double unit) {
  int whole_patience = s->n > MANY_ROWS ? PATIENCE_WITH_MANY : PATIENCE;
  int fewest = s->rows + 1, patience = whole_patience;
  if (s->rows == 1) {
    solve_one_row(s);
    s->steps++;
    return 1;
  }
  int remembered = guess(s);
  for (int step = 0;; step++) {
    s->steps++;
    if (!solve_inside(s, unit)) return 0;
    int wrong = count_wrong(s);
    if (remembered && (wrong == 0 || step == STEPS_THAT_HELP)) {
      lcplug_places_judge(s->memory, wrong == 0);
      remembered = 0;
    }
    if (wrong == 0) return 1;
    if (s->settles && CHEAPER_TO_SETTLE * wrong <= s->kept_rows && settle(s, unit)) {
      if (stage_residual(s, unit) <= CLEAN) return 1;
      s->steps++;
      if (!solve_inside(s, unit)) return 0;
      wrong = count_wrong(s);
      if (wrong == 0) return 1;
    }
    if (wrong < PROGRESS * fewest) patience = whole_patience;
    if (wrong < fewest) fewest = wrong;
    if (!s->settles || patience-- == 0 || step == MOST_STEPS) return 0;
    move_all(s);
  }
}

/* What pivots have found, worked out once more from A itself. */
INLINE int confirm(small *s, double unit, double tol) {
  s->steps++;
  if (!solve_inside(s, unit)) return 0;
  for (int k = 0; k < s->rows; k++) {
    int i = s->row[k];
    s->x[i] = s->x[i] < s->lo[i] ? s->lo[i] : s->x[i] > s->hi[i] ? s->hi[i] : s->x[i];
  }
  set_w(s);
  return stage_residual(s, unit) <= tol;
}

INLINE int solve_stage(small *s, double unit, double tol) {
  if (!run_active_set(s, unit) && !(solve_by_pivots(s, unit) && confirm(s, unit, tol))) {
    if (!solve_from_inside(s, unit, tol)) return 0;
    set_w(s);
  }
  remember(s);
  return 1;
}

/* ---- both stages ----------------------------------------------------------------------------- */

/* The bounds of ODE's friction, from the normal forces of stage one; the rows that they let in. */
INLINE void begin_second_stage(small *s) {
  /* An answer from inside is only near its bound; a contact that is open must be open to the
   * letter. */
  for (int k = 0; k < s->rows; k++) {
    int i = s->row[k], now = place_of(s, i);
    if (now != INSIDE) s->x[i] = now == AT_LO ? s->lo[i] : s->hi[i];
  }
  s->rows = 0;
  for (int k = 0; k < s->n; k++) {
    if (s->normal[k] >= 0) {
      double normal = s->x[s->normal[k]];
      /* 0 * inf counts as 0 here: no normal force, no friction. */
      s->hi[k] = normal == 0.0 || s->mu[k] == 0.0 ? 0.0 : fabs(s->mu[k] * normal);
      s->lo[k] = -s->hi[k];
    }
    if (s->lo[k] < s->hi[k]) s->row[s->rows++] = k;
  }
}

/* max_i s_i |F_i(0)| over all rows, as box.c has it. */
INLINE double unit_of(const small *s) {
  const lcplug_problem *p = s->problem;
  double unit = 0.0, largest_b = 0.0;
  for (int c = 0; c < s->frees; c++) {
    double size = fabs(p->b[(size_t)s->free_row[c] * p->b_step]);
    unit = size > unit ? size : unit;
  }
  for (int k = 0; k < s->n; k++) {
    double b = p->b[(size_t)s->caller_row[k] * p->b_step], size = fabs(b);
    double bound = s->scale[k] * (b > 0.0 ? s->hi[k] : -s->lo[k]);
    double violation = size < bound ? size : bound;
    unit = violation > unit ? violation : unit;
    largest_b = size > largest_b ? size : largest_b;
  }
  return unit > 0.0 ? unit : largest_b > 0.0 ? largest_b : 1.0;
}

/* w of all rows, from the caller's own A if rows have been eliminated. */
INLINE void finish(small *s) {
  const lcplug_problem *p = s->problem;
  for (int k = 0; k < s->n; k++) {
    s->full_x[s->caller_row[k]] = s->x[k];
    s->full_w[s->caller_row[k]] = s->w[k];
  }
  if (!s->frees) return;
  small_rest rest = rest_of(s);
  lcplug_small_recover(&rest, s->x, s->full_x);
  for (int i = 0; i < p->n; i++) {
    const double *a = p->A + (size_t)i * p->stride;
    double sum = 0.0, xi = s->full_x[i];
    for (int j = 0; j < i; j++) {
      sum += a[j] * s->full_x[j];
      s->full_w[j] += a[j] * xi;
    }
    s->full_w[i] = sum + a[i] * xi - p->b[(size_t)i * p->b_step];
  }
}

INLINE double residual_of(const small *s, double unit, double *rounding) {
  const lcplug_problem *p = s->problem;
  double worst = 0.0, largest = 0.0;
  *rounding = 0.0;
  for (int c = 0; c < s->frees; c++) {
    int i = s->free_row[c];
    double size = fabs(s->full_w[i]),
           force = p->A[(size_t)i * (p->stride + 1)] * fabs(s->full_x[i]);
    if (isnan(size)) return INFINITY;
    worst = size > worst ? size : worst;
    largest = force > largest ? force : largest;
  }
  for (int k = 0; k < s->n; k++) {
    double w = s->full_w[s->caller_row[k]], x = s->x[k], d = s->scale[k], size = fabs(w);
    double room = d * (w > 0.0 ? x - s->lo[k] : s->hi[k] - x),
           violation = size < room ? size : room;
    if (isnan(violation)) return INFINITY;
    worst = violation > worst ? violation : worst;
    largest = d * fabs(x) > largest ? d * fabs(x) : largest;
  }
  *rounding = 8.0 * DBL_EPSILON * largest / unit;
  return worst / unit;
}

INLINE void write_solution(const small *s, lcplug_solution *to) {
  size_t x_step = to->x_step ? to->x_step : 1, step = to->bounds_step ? to->bounds_step : 1;
  for (int i = 0; i < s->problem->n; i++) {
    to->x[(size_t)i * x_step] = s->full_x[i];
    if (to->w) to->w[i] = s->full_w[i];
  }
  for (int c = 0; c < s->frees; c++) {
    if (to->lo) to->lo[(size_t)s->free_row[c] * step] = -INFINITY;
    if (to->hi) to->hi[(size_t)s->free_row[c] * step] = INFINITY;
  }
  for (int k = 0; k < s->n; k++) {
    if (to->lo) to->lo[(size_t)s->caller_row[k] * step] = s->lo[k];
    if (to->hi) to->hi[(size_t)s->caller_row[k] * step] = s->hi[k];
  }
}

/* 0 for anything unusual. */
INLINE int reduce(small *s) {
  uint64_t not_finite = 0;
  if (!take_arrays(s, s->workspace) || !load_rows(s)) return 0;
  load_matrix(s, &not_finite);
  if (s->frees && !eliminate_free_rows(s, &not_finite)) return 0;
  return !not_finite;
}

INLINE int solve(lcplug_workspace *workspace, const lcplug_problem *p, double tol, int settles,
                 places *memory, lcplug_solution *solution, lcplug_info *info, small_rest *rest) {
  small s = {.problem = p,
             .workspace = workspace,
             .kernels = lcplug_kernels_best(),
             .settles = settles,
             .memory = memory};
  double rounding;
  if (!reduce(&s)) return 0;
  for (int i = 0; i < s.ld; i++) s.w[i] = -s.b[i];
  int first_rows = s.rows;
  if (s.rows && !solve_stage(&s, unit_of(&s), tol)) return 0;
  s.stage = 1;
  begin_second_stage(&s);
  double unit = unit_of(&s);
  if (s.rows > first_rows && !solve_stage(&s, unit, tol)) return 0;
  finish(&s);
  double residual = residual_of(&s, unit, &rounding);
  if (!(residual <= tol || (residual <= rounding && residual <= ROUNDING_EXCUSES))) return 0;
  write_solution(&s, solution);
  *info = (lcplug_info){.status = LCPLUG_SOLVED,
                        .solver = LCPLUG_EXACT,
                        .matrix = LCPLUG_MATRIX_DENSE,
                        .iterations = s.steps,
                        .factorizations = s.steps + (s.frees > 0),
                        .residual = residual};
  if (rest) *rest = rest_of(&s);
  return 1;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static int reduce_avx2(small *s) { return reduce(s); }
__attribute__((target("avx2"))) static int solve_avx2(lcplug_workspace *workspace,
                                                      const lcplug_problem *p, double tol,
                                                      int settles, places *memory,
                                                      lcplug_solution *solution,
                                                      lcplug_info *info, small_rest *rest) {
  return solve(workspace, p, tol, settles, memory, solution, info, rest);
}
#endif

static int reduce_plain(small *s) { return reduce(s); }

static int reduce_best(small *s) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return reduce_avx2(s);
#endif
  return reduce_plain(s);
}

static int has_free_rows(const lcplug_problem *p) {
  for (int i = 0; i < p->n; i++)
    if (low_of(p, i) == -INFINITY && high_of(p, i) == INFINITY && !is_friction(p, i)) return 1;
  return 0;
}

/* With no free row nothing is to be done but a copy, of numbers that others have found sound. */
static int copy_problem(lcplug_workspace *workspace, const lcplug_problem *p, small_rest *rest) {
  int n = p->n, ld = lcplug_panel_pad(n);
  double *A = TAKE(workspace, double, ld * (n + 1) + PANEL_PAD), *b = A + ld * n;
  int *row = TAKE(workspace, int, n);
  if (!A || !row) return 0;
  for (int i = 0; i < n; i++) {
    const double *a = p->A + (size_t)i * p->stride;
    for (int j = 0; j <= i; j++) A[i * ld + j] = A[j * ld + i] = a[j];
    for (int j = n; j < ld; j++) A[i * ld + j] = 0.0;
    b[i] = p->b[(size_t)i * p->b_step], row[i] = i;
  }
  for (int i = n; i < ld; i++) b[i] = 0.0;
  *rest = (small_rest){.n = n, .ld = ld, .caller_row = row, .A = A, .b = b};
  return 1;
}

int lcplug_small_reduce(lcplug_workspace *workspace, const lcplug_problem *p, small_rest *rest) {
  small s = {.problem = p, .workspace = workspace, .kernels = lcplug_kernels_best()};
  if (!has_free_rows(p)) return copy_problem(workspace, p, rest);
  if (!reduce_best(&s)) return 0;
  *rest = rest_of(&s);
  return 1;
}

static int solve_plain(lcplug_workspace *workspace, const lcplug_problem *p, double tol,
                       int settles, places *memory, lcplug_solution *solution, lcplug_info *info,
                       small_rest *rest) {
  return solve(workspace, p, tol, settles, memory, solution, info, rest);
}

int lcplug_small_solve(lcplug_workspace *workspace, const lcplug_problem *p, double tol,
                       int settles, places *memory, lcplug_solution *solution, lcplug_info *info,
                       small_rest *rest) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return solve_avx2(workspace, p, tol, settles, memory, solution, info, rest);
#endif
  return solve_plain(workspace, p, tol, settles, memory, solution, info, rest);
}
