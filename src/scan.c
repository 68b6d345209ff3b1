/* scan.c - see scan.h.
 *
 * The pass over A is bound by memory: it reads eight numbers, a cache line, per branch, and asks for the
 * line below, which is needed a whole row later. */
#include "scan.h"

#include <math.h>
#include <string.h>

#include "finite.h"

typedef uint64_t two_words __attribute__((vector_size(16), aligned(8), may_alias));

static int any_nonzero(const double *row) {
  const two_words *words = (const two_words *)row;
  two_words bits = (words[0] | words[1]) | (words[2] | words[3]);
  return ((bits[0] | bits[1]) << 1) != 0; /* without the sign: -0 counts as 0 */
}

static size_t collect(const double *row, int from, int to, int *column, double *value) {
  size_t count = 0;
  for (int j = from; j < to; j++) { /* without a branch: which numbers are zero is hard to predict */
    column[count] = j;
    value[count] = row[j];
    count += row[j] != 0.0; /* true for a NaN too */
  }
  return count;
}

static size_t scan_row(const double *row, size_t stride, int length, int *column, double *value) {
  size_t count = 0;
  int j = 0;
  for (; j + 8 <= length; j += 8) {
    __builtin_prefetch(row + stride + j);
    if (any_nonzero(row + j)) count += collect(row, j, j + 8, column + count, value + count);
  }
  return count + collect(row, j, length, column + count, value + count);
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

static lcplug_error check_row(const double *value, size_t count) {
  uint64_t not_finite = 0;
  for (size_t k = 0; k < count; k++) not_finite |= lcplug_not_finite(value[k]);
  if (not_finite) return LCPLUG_ERROR_NOT_FINITE;
  return value[count - 1] < 0.0 ? LCPLUG_ERROR_DIAGONAL : LCPLUG_OK;
}

static lcplug_error scan_caller_order(lower_triangle *lower, const lcplug_problem *p,
                                      lcplug_workspace *workspace) {
  size_t capacity = 0, used = 0;
  for (int i = 0; i < p->n; i++) {
    const double *row = p->A + (size_t)i * p->stride;
    size_t reserve = i == 0 ? 24 * (size_t)p->n : 0; /* a usual scene never grows */
    if (!make_room(lower, used, (size_t)i + 1 + reserve, &capacity, workspace))
      return LCPLUG_ERROR_MEMORY;
    lower->begin[i] = used;
    used += scan_row(row, p->stride, i, lower->column + used, lower->value + used);
    lower->column[used] = i;
    lower->value[used++] = row[i];
    lcplug_error error = check_row(lower->value + lower->begin[i], used - lower->begin[i]);
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
  double *value_by_column = TAKE(workspace, double, nonzeros), *value = TAKE(workspace, double, nonzeros);
  int *from = TAKE(workspace, int, nonzeros);
  if (!next || !begin || !row_by_column || !column || !value_by_column || !value || !from)
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
      value_by_column[slot] = lower->value[k];
    }
  memcpy(next, begin, (size_t)(n + 1) * sizeof *next);
  for (size_t k = 0; k < nonzeros; k++) {
    size_t slot = next[row_by_column[k]]++;
    column[slot] = from[k];
    value[slot] = value_by_column[k];
  }
  lower->begin = begin;
  lower->column = column;
  lower->value = value;
  return LCPLUG_OK;
}

lcplug_error lcplug_scan(lower_triangle *lower, const lcplug_problem *p, const layout *l,
                         lcplug_workspace *workspace) {
  *lower = (lower_triangle){.n = p->n, .begin = TAKE(workspace, size_t, p->n + 1)};
  if (!lower->begin) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = scan_caller_order(lower, p, workspace);
  return error || l->identity ? error : permute(lower, l, workspace);
}
