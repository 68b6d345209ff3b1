/* scan.c - see scan.h.
 *
 * The pass over A is bound by memory: it reads eight numbers, a cache line, per branch, and asks
 * for the one a few rows below, which the second-level cache has room for until it is needed. */
#include "scan.h"

#include <math.h>
#include <string.h>

#include "finite.h"

enum { ROWS_AHEAD = 3 };

typedef uint64_t two_words __attribute__((vector_size(16), aligned(8), may_alias));

static int any_nonzero(const double *row) {
  const two_words *words = (const two_words *)row;
  two_words bits = (words[0] | words[1]) | (words[2] | words[3]);
  return ((bits[0] | bits[1]) << 1) != 0; /* without the sign: -0 counts as 0 */
}

static size_t collect(const double *row, int from, int to, int *column, double *value) {
  size_t count = 0;
  for (int j = from; j < to;
       j++) { /* without a branch: which numbers are zero is hard to predict */
    column[count] = j;
    value[count] = row[j];
    count += row[j] != 0.0; /* true for a NaN too */
  }
  return count;
}

static size_t scan_row(const double *row, size_t stride, int from, int to, int *column,
                       double *value) {
  size_t count = 0;
  int j = from;
  for (; j + 8 <= to; j += 8) {
    __builtin_prefetch(row + ROWS_AHEAD * stride + j, 0, 2);
    if (any_nonzero(row + j)) count += collect(row, j, j + 8, column + count, value + count);
  }
  return count + collect(row, j, to, column + count, value + count);
}

/* Room for one more full row; the arrays move when they grow. */
static int make_room(lower_triangle *lower, size_t used, size_t row, size_t *capacity,
                     lcplug_workspace *workspace) {
  if (used + row <= *capacity) return 1;
  size_t larger = 2 * (used + row);
  int *column = TAKE(workspace, int, larger);
  double *value = TAKE(workspace, double, larger);
  if (!column || !value) return 0;
  if (used) {
    memcpy(column, lower->column, used * sizeof *column);
    memcpy(value, lower->value, used * sizeof *value);
  }
  lower->column = column;
  lower->value = value;
  *capacity = larger;
  return 1;
}

static lcplug_error check_row(const double *value, size_t count, double diagonal) {
  uint64_t not_finite = 0;
  for (size_t k = 0; k < count; k++) not_finite |= lcplug_not_finite(value[k]);
  if (not_finite) return LCPLUG_ERROR_NOT_FINITE;
  return diagonal < 0.0 ? LCPLUG_ERROR_DIAGONAL : LCPLUG_OK;
}

/* Rows up to their diagonal, or whole ones. */
static lcplug_error scan_caller_order(lower_triangle *lower, const lcplug_problem *p, int whole,
                                      lcplug_workspace *workspace) {
  size_t capacity = 0, used = 0;
  for (int i = 0; i < p->n; i++) {
    const double *row = p->A + (size_t)i * p->stride;
    size_t reserve = i == 0 ? 24 * (size_t)p->n : 0; /* a usual scene never grows */
    if (!make_room(lower, used, (size_t)(whole ? p->n : i + 1) + reserve, &capacity, workspace))
      return LCPLUG_ERROR_MEMORY;
    lower->begin[i] = used;
    used += scan_row(row, p->stride, 0, i, lower->column + used, lower->value + used);
    lower->column[used] = i;
    lower->value[used++] = row[i];
    if (whole)
      used += scan_row(row, p->stride, i + 1, p->n, lower->column + used, lower->value + used);
    lcplug_error error = check_row(lower->value + lower->begin[i], used - lower->begin[i], row[i]);
    if (error) return error;
  }
  lower->begin[p->n] = used;
  return LCPLUG_OK;
}

/* Moves every element to its place in the solver's order: counts per row, then per column, so that
 * columns come out ascending (a counting sort by column, then by row). */
static lcplug_error permute(lower_triangle *lower, const layout *l, lcplug_workspace *workspace) {
  int n = lower->n;
  size_t nonzeros = lower->begin[n];
  size_t *next = TAKE(workspace, size_t, n + 1), *begin = TAKE(workspace, size_t, n + 1);
  int *row_by_column = TAKE(workspace, int, nonzeros), *column = TAKE(workspace, int, nonzeros);
  size_t *element = TAKE(workspace, size_t, nonzeros);
  double *value = TAKE(workspace, double, nonzeros), *skew = NULL;
  int *from = TAKE(workspace, int, nonzeros);
  if (lower->skew && !(skew = TAKE(workspace, double, nonzeros))) return LCPLUG_ERROR_MEMORY;
  if (!next || !begin || !row_by_column || !column || !element || !value || !from)
    return LCPLUG_ERROR_MEMORY;

  memset(next, 0, (size_t)(n + 1) * sizeof *next);
  memset(begin, 0, (size_t)(n + 1) * sizeof *begin);
  for (int r = 0; r < n; r++)
    for (size_t k = lower->begin[r]; k < lower->begin[r + 1]; k++) {
      int i = l->place[r], j = l->place[lower->column[k]];
      next[(i < j ? i : j) + 1]++;
      begin[(i < j ? j : i) + 1]++;
    }
  for (int i = 0; i < n; i++) next[i + 1] += next[i], begin[i + 1] += begin[i];

  for (int r = 0; r < n; r++)
    for (size_t k = lower->begin[r]; k < lower->begin[r + 1]; k++) {
      int i = l->place[r], j = l->place[lower->column[k]];
      size_t slot = next[i < j ? i : j]++;
      row_by_column[slot] = i < j ? j : i;
      from[slot] = i < j ? i : j;
      element[slot] = k;
      if (skew && i < j) lower->skew[k] = -lower->skew[k]; /* A_ij and A_ji change places */
    }
  memcpy(next, begin, (size_t)(n + 1) * sizeof *next);
  for (size_t k = 0; k < nonzeros; k++) {
    size_t slot = next[row_by_column[k]]++;
    column[slot] = from[k];
    value[slot] = lower->value[element[k]];
    if (skew) skew[slot] = lower->skew[element[k]];
  }
  lower->begin = begin;
  lower->column = column;
  lower->value = value;
  lower->skew = skew;
  return LCPLUG_OK;
}

lcplug_error lcplug_scan(lower_triangle *lower, const lcplug_problem *p, const layout *l,
                         lcplug_workspace *workspace) {
  *lower = (lower_triangle){.n = p->n, .begin = TAKE(workspace, size_t, p->n + 1)};
  if (!lower->begin) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = scan_caller_order(lower, p, 0, workspace);
  return error || l->identity ? error : permute(lower, l, workspace);
}

/* ---- both triangles -------------------------------------------------------------------------- */

/* Whole rows, and how far each of them has been gone through. */
typedef struct whole_rows {
  lower_triangle rows;
  size_t *next;
} whole_rows;

/* Counts an element of row i below the diagonal, or writes it when there is room to. */
static void put(lower_triangle *to, int i, int j, double lower, double upper) {
  size_t at = to->begin[i]++;
  if (!to->column) return;
  to->column[at] = j;
  to->value[at] = 0.5 * lower + 0.5 * upper;
  to->skew[at] = 0.5 * lower - 0.5 * upper;
}

/* What row j has before column i, and nothing above the diagonal for it. */
static void put_alone(whole_rows *a, int j, int i, lower_triangle *to) {
  size_t *k = &a->next[j];
  for (; a->rows.column[*k] < i; ++*k) put(to, j, a->rows.column[*k], a->rows.value[*k], 0.0);
}

/* Puts A_ji and A_ij together: rows are gone through from the first on, and what row i has right of
 * its diagonal belongs to rows that have come as far as column i by then. */
static void fold(whole_rows *a, lower_triangle *to) {
  const lower_triangle *rows = &a->rows;
  memcpy(a->next, rows->begin, (size_t)rows->n * sizeof *a->next);
  for (int i = 0; i < rows->n; i++) {
    put_alone(a, i, i, to);
    size_t k = a->next[i];
    put(to, i, i, rows->value[k], rows->value[k]);
    for (k++; k < rows->begin[i + 1]; k++) {
      int j = rows->column[k];
      put_alone(a, j, i, to);
      int both = rows->column[a->next[j]] == i;
      put(to, j, i, both ? rows->value[a->next[j]++] : 0.0, rows->value[k]);
    }
  }
}

/* Turns counts, or ends, into beginnings. */
static void begin_after_counts(lower_triangle *a) {
  size_t sum = 0;
  for (int i = 0; i <= a->n; i++) {
    size_t count = i < a->n ? a->begin[i] : 0;
    a->begin[i] = sum;
    sum += count;
  }
}

static void begin_after_ends(lower_triangle *a) {
  for (int i = a->n; i > 0; i--) a->begin[i] = a->begin[i - 1];
  a->begin[0] = 0;
}

/* An A that is symmetric to this part of its largest element is symmetric. */
static int is_symmetric(const lower_triangle *a) {
  const double rounding = 1e-12;
  double largest = 0.0, off = 0.0;
  for (size_t k = 0; k < a->begin[a->n]; k++) {
    double size = fabs(a->value[k]), odd = fabs(a->skew[k]);
    largest = size > largest ? size : largest;
    off = odd > off ? odd : off;
  }
  return 2.0 * off <= rounding * largest;
}

lcplug_error lcplug_scan_full(lower_triangle *lower, const lcplug_problem *p, const layout *l,
                              lcplug_workspace *workspace) {
  size_t rows = (size_t)p->n + 1;
  whole_rows a = {.rows = {.n = p->n, .begin = TAKE(workspace, size_t, rows)},
                  .next = TAKE(workspace, size_t, rows)};
  *lower = (lower_triangle){.n = p->n, .begin = TAKE(workspace, size_t, rows)};
  if (!a.rows.begin || !a.next || !lower->begin) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = scan_caller_order(&a.rows, p, 1, workspace);
  if (error) return error;
  memset(lower->begin, 0, rows * sizeof *lower->begin);
  fold(&a, lower);
  begin_after_counts(lower);
  size_t nonzeros = lower->begin[p->n];
  int *column = TAKE(workspace, int, nonzeros);
  lower->value = TAKE(workspace, double, nonzeros);
  lower->skew = TAKE(workspace, double, nonzeros);
  if (!column || !lower->value || !lower->skew) return LCPLUG_ERROR_MEMORY;
  lower->column = column;
  fold(&a, lower);
  begin_after_ends(lower);
  if (is_symmetric(lower)) lower->skew = NULL;
  return l->identity ? LCPLUG_OK : permute(lower, l, workspace);
}
