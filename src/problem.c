/* problem.c - a problem's defaults and its check. */
#include "problem.h"

#include <limits.h>
#include <math.h>

#include "finite.h"
#include "fpenv.h"

lcplug_problem lcplug_problem_default(void) {
  return (lcplug_problem){.api = PROBLEM_API, .b_step = 1, .bounds_step = 1};
}

static lcplug_error check_bounds(const lcplug_problem *p, int row) {
  int friction = p->findex && p->findex[row] >= 0;
  double lo = p->lo ? p->lo[(size_t)row * p->bounds_step] : -INFINITY;
  double hi = p->hi ? p->hi[(size_t)row * p->bounds_step] : INFINITY;
  if (row < p->nub) return LCPLUG_OK;
  if (friction) return isnan(hi) ? LCPLUG_ERROR_BOUNDS : LCPLUG_OK; /* lo is ignored */
  if (!(lo <= hi) || lo == INFINITY || hi == -INFINITY) return LCPLUG_ERROR_BOUNDS;
  return LCPLUG_OK;
}

lcplug_error lcplug_problem_check_vectors(const lcplug_problem *p) {
  if (!p || p->api != PROBLEM_API) return LCPLUG_ERROR_ARGUMENT;
  if (p->n < 0 || p->n > PROBLEM_LARGEST || p->nub < 0) return LCPLUG_ERROR_SIZE;
  if (p->n == 0) return LCPLUG_OK;
  if (p->stride < (size_t)p->n) return LCPLUG_ERROR_SIZE;
  if (!p->A || !p->b || !p->b_step || !p->bounds_step) return LCPLUG_ERROR_ARGUMENT;
  for (int i = 0; i < p->n; i++) {
    if (!isfinite(p->b[(size_t)i * p->b_step])) return LCPLUG_ERROR_NOT_FINITE;
    if (p->findex && p->findex[i] >= 0 && (p->findex[i] >= p->n || p->findex[i] == i))
      return LCPLUG_ERROR_FINDEX;
    lcplug_error error = check_bounds(p, i);
    if (error) return error;
  }
  return LCPLUG_OK;
}

/* The largest element is on the diagonal of a semidefinite matrix. */
static double largest_diagonal(const lcplug_problem *p) {
  double largest = 0.0;
  for (int i = 0; i < p->n; i++) largest = fmax(largest, p->A[(size_t)i * p->stride + i]);
  return largest;
}

lcplug_error lcplug_problem_check_symmetry(const lcplug_problem *p) {
  double allowed = 1e-10 * largest_diagonal(p);
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < i; j++) {
      double upper = p->A[(size_t)j * p->stride + i], lower = p->A[(size_t)i * p->stride + j];
      if (!(fabs(upper - lower) <= allowed))
        return isfinite(upper) ? LCPLUG_ERROR_ASYMMETRIC : LCPLUG_ERROR_NOT_FINITE;
    }
  return LCPLUG_OK;
}

static lcplug_error check_matrix(const lcplug_problem *p) {
  for (int i = 0; i < p->n; i++) {
    const double *row = p->A + (size_t)i * p->stride;
    uint64_t not_finite = 0;
    for (int j = 0; j <= i; j++) not_finite |= lcplug_not_finite(row[j]);
    if (not_finite) return LCPLUG_ERROR_NOT_FINITE;
    if (row[i] < 0.0) return LCPLUG_ERROR_DIAGONAL;
  }
  return p->full ? lcplug_problem_check_symmetry(p) : LCPLUG_OK;
}

lcplug_error lcplug_problem_check(const lcplug_problem *problem) {
  fpenv host = lcplug_fpenv_enter(); /* comparing a NaN may trap */
  lcplug_error error = lcplug_problem_check_vectors(problem);
  if (!error) error = check_matrix(problem);
  lcplug_fpenv_leave(host);
  return error;
}
