/* mixedlcp.c - the object of mixedlcp.h: its own copies of a problem, and who solves it.
 *
 * Additional friction is no part of the core's notation.  With friction=ode it needs none: that
 * model freezes the friction bounds from a first solve without friction, and what is added to a
 * frozen bound is a constant.  So such a problem is solved as the two problems without friction
 * rows that it is. */
#include <lcplug/mixedlcp.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compat.h"
#include "dantzig.h"

enum { MOST_ROWS = 1 << 24, VECTORS = 11 };

/* What a caller loses by an answer as rough as this is less than by the CFM that it would raise
 * instead. */
static const double VALID_RESIDUAL = 1e-4;

struct lcplug_mixedlcp {
  int32_t n, nub;
  size_t stride;
  lcplug_settings settings;
  lcplug_workspace *workspace;
  dantzig *upstream; /* NULL until it is needed */
  /* the problem */
  int matrix_is_set, right_side_is_set;
  int32_t full;
  int32_t announced; /* friction rows */
  double *A, *b, *lo, *hi, *additional;
  int32_t *findex;
  /* the answer, and the bounds that it was found with */
  double *lambda, *w, *used_lo, *used_hi;
  lcplug_info info;
  int answered; /* by the last solve */
  /* additional friction: the first solve's forces, the second's bounds */
  double *first, *frozen_lo, *frozen_hi;
};

static double unlimited(double bound) {
  return bound >= DBL_MAX ? INFINITY : bound <= -DBL_MAX ? -INFINITY : bound;
}

static void fill(double *v, int32_t n, double value) {
  for (int32_t i = 0; i < n; i++) v[i] = value;
}

/* One block holds A and the vectors. */
static void place_arrays(lcplug_mixedlcp *lcp, double *memory) {
  double **vectors[VECTORS] = {&lcp->b,      &lcp->lo,        &lcp->hi,       &lcp->additional,
                               &lcp->lambda, &lcp->w,         &lcp->used_lo,  &lcp->used_hi,
                               &lcp->first,  &lcp->frozen_lo, &lcp->frozen_hi};
  lcp->A = memory;
  memory += (size_t)lcp->n * lcp->stride;
  for (int k = 0; k < VECTORS; k++) *vectors[k] = memory + (size_t)k * (size_t)lcp->n;
}

lcplug_mixedlcp *lcplug_mixedlcp_create(int32_t n, int32_t nub) {
  if (n < 0 || n > MOST_ROWS || nub < 0 || nub > n) return NULL;
  size_t rows = (size_t)n, stride = dantzig_stride(n);
  lcplug_mixedlcp *lcp = calloc(1, sizeof *lcp);
  double *memory = calloc(rows * (stride + VECTORS) + 1, sizeof *memory);
  int32_t *findex = malloc((rows + 1) * sizeof *findex);
  lcplug_workspace *workspace = lcplug_workspace_create();
  if (!lcp || !memory || !findex || !workspace) {
    free(lcp);
    free(memory);
    free(findex);
    lcplug_workspace_free(workspace);
    return NULL;
  }
  *lcp = (lcplug_mixedlcp){.n = n,
                           .nub = nub,
                           .stride = stride,
                           .settings = lcplug_settings_default(),
                           .workspace = workspace,
                           .info = lcplug_info_default(),
                           .findex = findex};
  place_arrays(lcp, memory);
  fill(lcp->lo, n, -INFINITY);
  fill(lcp->hi, n, INFINITY);
  for (int32_t i = 0; i < n; i++) findex[i] = -1;
  return lcp;
}

void lcplug_mixedlcp_free(lcplug_mixedlcp *lcp) {
  if (!lcp) return;
  dantzig_close(lcp->upstream);
  lcplug_workspace_free(lcp->workspace);
  free(lcp->A);
  free(lcp->findex);
  free(lcp);
}

int32_t lcplug_mixedlcp_size(const lcplug_mixedlcp *lcp) { return lcp ? lcp->n : 0; }

lcplug_settings *lcplug_mixedlcp_settings(lcplug_mixedlcp *lcp) {
  return lcp ? &lcp->settings : NULL;
}

/* ---- the problem ----------------------------------------------------------------------------- */

static lcplug_error check_vector(const lcplug_mixedlcp *lcp, const void *values, int32_t count) {
  if (!lcp || (!values && count)) return LCPLUG_ERROR_ARGUMENT;
  return count < 0 || count > lcp->n ? LCPLUG_ERROR_SIZE : LCPLUG_OK;
}

lcplug_error lcplug_mixedlcp_set_matrix(lcplug_mixedlcp *lcp, const double *A, size_t stride,
                                        int32_t full) {
  if (!lcp || (!A && lcp->n)) return LCPLUG_ERROR_ARGUMENT;
  if (stride < (size_t)lcp->n) return LCPLUG_ERROR_SIZE;
  for (size_t i = 0; i < (size_t)lcp->n; i++)
    memcpy(lcp->A + i * lcp->stride, A + i * stride, (full ? (size_t)lcp->n : i + 1) * sizeof *A);
  lcp->full = full != 0;
  lcp->matrix_is_set = 1;
  return LCPLUG_OK;
}

lcplug_error lcplug_mixedlcp_set_right_side(lcplug_mixedlcp *lcp, const double *b, int32_t count,
                                            int32_t negated) {
  lcplug_error error = check_vector(lcp, b, count);
  if (!error && count != lcp->n) error = LCPLUG_ERROR_SIZE;
  if (error) return error;
  for (int32_t i = 0; i < count; i++) lcp->b[i] = negated ? -b[i] : b[i];
  lcp->right_side_is_set = 1;
  return LCPLUG_OK;
}

static lcplug_error set_bounds(lcplug_mixedlcp *lcp, double *to, const double *values,
                               int32_t count, double unbounded) {
  for (int32_t i = 0; i < lcp->n; i++) to[i] = i < count ? unlimited(values[i]) : unbounded;
  return LCPLUG_OK;
}

lcplug_error lcplug_mixedlcp_set_low(lcplug_mixedlcp *lcp, const double *lo, int32_t count) {
  lcplug_error error = check_vector(lcp, lo, count);
  return error ? error : set_bounds(lcp, lcp->lo, lo, count, -INFINITY);
}

lcplug_error lcplug_mixedlcp_set_high(lcplug_mixedlcp *lcp, const double *hi, int32_t count) {
  lcplug_error error = check_vector(lcp, hi, count);
  return error ? error : set_bounds(lcp, lcp->hi, hi, count, INFINITY);
}

lcplug_error lcplug_mixedlcp_set_friction_index(lcplug_mixedlcp *lcp, const int32_t *findex,
                                                int32_t count) {
  lcplug_error error = check_vector(lcp, findex, count);
  if (error) return error;
  for (int32_t i = 0; i < lcp->n; i++) lcp->findex[i] = i < count ? findex[i] : -1;
  return LCPLUG_OK;
}

lcplug_error lcplug_mixedlcp_set_friction_constraints(lcplug_mixedlcp *lcp, int32_t count) {
  if (!lcp) return LCPLUG_ERROR_ARGUMENT;
  if (count < 0 || count > lcp->n) return LCPLUG_ERROR_SIZE;
  lcp->announced = count;
  return LCPLUG_OK;
}

lcplug_error lcplug_mixedlcp_set_additional_friction(lcplug_mixedlcp *lcp, const double *force,
                                                     int32_t count) {
  lcplug_error error = check_vector(lcp, force, count);
  if (error) return error;
  for (int32_t i = 0; i < count; i++)
    if (!(force[i] >= 0.0)) return LCPLUG_ERROR_BOUNDS;
  return set_bounds(lcp, lcp->additional, force, count, 0.0);
}

/* ---- solving --------------------------------------------------------------------------------- */

static int is_friction(const lcplug_mixedlcp *lcp, int32_t i) {
  return i >= lcp->nub && lcp->findex[i] >= 0;
}

static int32_t friction_rows(const lcplug_mixedlcp *lcp) {
  int32_t count = 0;
  for (int32_t i = 0; i < lcp->n; i++) count += is_friction(lcp, i);
  return count;
}

static int has_additional_friction(const lcplug_mixedlcp *lcp) {
  for (int32_t i = 0; i < lcp->n; i++)
    if (is_friction(lcp, i) && lcp->additional[i] > 0.0) return 1;
  return 0;
}

/* exact needs no guess for boxes, and is shorter without one. */
static int wants_guess(const lcplug_settings *s) {
  int boxes = s->friction == LCPLUG_FRICTION_ODE || s->friction == LCPLUG_FRICTION_PYRAMID;
  return !boxes || s->solver == LCPLUG_PGS || s->solver == LCPLUG_APGD;
}

static lcplug_problem whole_problem(const lcplug_mixedlcp *lcp) {
  lcplug_problem p = lcplug_problem_default();
  p.n = lcp->n;
  p.nub = lcp->nub;
  p.A = lcp->A;
  p.stride = lcp->stride;
  p.full = lcp->full;
  p.b = lcp->b;
  p.lo = lcp->lo;
  p.hi = lcp->hi;
  p.findex = friction_rows(lcp) ? lcp->findex : NULL;
  p.x0 = wants_guess(&lcp->settings) ? lcp->lambda : NULL;
  return p;
}

/* w = A x - b, from the lower triangle. */
static void leftover(const lcplug_problem *p, const double *x, double *w) {
  for (int32_t i = 0; i < p->n; i++) w[i] = -p->b[i];
  for (int32_t i = 0; i < p->n; i++) {
    const double *row = p->A + (size_t)i * p->stride;
    for (int32_t j = 0; j < i; j++) {
      w[i] += row[j] * x[j];
      w[j] += row[j] * x[i];
    }
    w[i] += row[i] * x[i];
  }
}

/* 1 if upstream has answered. */
static int ask_upstream(lcplug_mixedlcp *lcp, const lcplug_problem *p, double *x,
                        lcplug_info *info) {
  if (!lcp->upstream) lcp->upstream = p->n ? dantzig_open(p->n) : NULL;
  if (!lcp->upstream || !dantzig_solve(lcp->upstream, p, x, lcp->used_lo, lcp->used_hi)) return 0;
  *info = lcplug_info_default();
  info->solver = LCPLUG_UPSTREAM;
  info->matrix = LCPLUG_MATRIX_DENSE;
  if (lcplug_residual(lcp->workspace, p, LCPLUG_FRICTION_ODE, x, 1, lcp->used_lo, lcp->used_hi, 1,
                      &info->residual))
    return 0;
  info->status = info->residual <= VALID_RESIDUAL ? LCPLUG_SOLVED : LCPLUG_STALLED;
  leftover(p, x, lcp->w);
  return 1;
}

static lcplug_error solve_problem(lcplug_mixedlcp *lcp, const lcplug_problem *p, double *x,
                                  lcplug_info *info) {
  lcplug_settings settings = lcp->settings;
  if (settings.solver == LCPLUG_UPSTREAM) {
    if (settings.friction != LCPLUG_FRICTION_ODE) return LCPLUG_ERROR_UNSUPPORTED;
    if (ask_upstream(lcp, p, x, info)) return LCPLUG_OK;
    settings.solver = LCPLUG_EXACT;
  }
  lcplug_solution solution = {.x = x, .w = lcp->w, .lo = lcp->used_lo, .hi = lcp->used_hi};
  return lcplug_solve(lcp->workspace, p, &settings, &solution, info);
}

/* The bounds of a problem without friction rows: mu |x_n| + force, or 0 while there is no x_n. */
static void freeze_bounds(lcplug_mixedlcp *lcp, const double *x) {
  for (int32_t i = 0; i < lcp->n; i++) {
    int friction = is_friction(lcp, i);
    double normal = friction && x ? fabs(x[lcp->findex[i]]) : 0.0;
    double bound = normal > 0.0 ? fabs(lcp->hi[i]) * normal : 0.0; /* 0 * inf counts as 0 */
    if (x) bound += lcp->additional[i];
    lcp->frozen_lo[i] = friction ? -bound : lcp->lo[i];
    lcp->frozen_hi[i] = friction ? bound : lcp->hi[i];
  }
}

static lcplug_error solve_with_additional_friction(lcplug_mixedlcp *lcp, lcplug_problem p,
                                                   double *x, lcplug_info *info) {
  if (lcp->settings.friction != LCPLUG_FRICTION_ODE) return LCPLUG_ERROR_UNSUPPORTED;
  p.findex = NULL;
  p.lo = lcp->frozen_lo;
  p.hi = lcp->frozen_hi;
  freeze_bounds(lcp, NULL);
  lcplug_error error = solve_problem(lcp, &p, lcp->first, info);
  if (error) return error;
  int32_t iterations = info->iterations, factorizations = info->factorizations;
  freeze_bounds(lcp, lcp->first);
  error = solve_problem(lcp, &p, x, info);
  info->iterations += iterations;
  info->factorizations += factorizations;
  return error;
}

/* The core checks settings with every solve: with one of no rows it does nothing else. */
static lcplug_error check_settings(lcplug_mixedlcp *lcp) {
  lcplug_problem no_rows = lcplug_problem_default();
  lcplug_settings settings = lcp->settings;
  lcplug_solution nothing = {0};
  if (settings.solver == LCPLUG_UPSTREAM) settings.solver = LCPLUG_EXACT; /* it refuses upstream */
  return lcplug_solve(lcp->workspace, &no_rows, &settings, &nothing, NULL);
}

/* A full matrix is checked here and then solved by its lower triangle, which is the shorter way.
 * The core checks the rest, unless upstream is asked first or friction rows are no longer what they
 * were. */
static lcplug_error check_first(lcplug_mixedlcp *lcp, lcplug_problem *p, int additional) {
  int on_our_own = additional || lcp->settings.solver == LCPLUG_UPSTREAM;
  lcplug_error error = on_our_own ? check_settings(lcp) : LCPLUG_OK;
  if (!error && (on_our_own || p->full)) error = lcplug_problem_check(p);
  p->full = 0;
  return error;
}

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static lcplug_error solve_quietly(lcplug_mixedlcp *lcp) {
  lcp->answered = 0;
  if (!lcp->matrix_is_set || !lcp->right_side_is_set) return LCPLUG_ERROR_ARGUMENT;
  if (lcp->announced > friction_rows(lcp)) return LCPLUG_ERROR_FINDEX;
  double started = seconds_now();
  int additional = has_additional_friction(lcp);
  lcplug_problem p = whole_problem(lcp);
  lcplug_info info;
  lcplug_error error = check_first(lcp, &p, additional);
  if (!error)
    error = additional ? solve_with_additional_friction(lcp, p, lcp->lambda, &info)
                       : solve_problem(lcp, &p, lcp->lambda, &info);
  if (error) return error;
  info.seconds = lcp->settings.timing ? seconds_now() - started : 0.0;
  lcp->info = info;
  lcp->answered = 1;
  return LCPLUG_OK;
}

lcplug_error lcplug_mixedlcp_solve(lcplug_mixedlcp *lcp) {
  if (!lcp) return LCPLUG_ERROR_ARGUMENT;
  fenv_t host = arithmetic_begin();
  lcplug_error error = solve_quietly(lcp);
  arithmetic_end(host);
  return error;
}

/* ---- the answer ------------------------------------------------------------------------------ */

double *lcplug_mixedlcp_lambda(lcplug_mixedlcp *lcp) { return lcp ? lcp->lambda : NULL; }

double *lcplug_mixedlcp_w(lcplug_mixedlcp *lcp) { return lcp ? lcp->w : NULL; }

int lcplug_mixedlcp_valid(const lcplug_mixedlcp *lcp) {
  return lcp && lcp->answered && lcp->info.residual <= fmax(VALID_RESIDUAL, lcp->settings.tol);
}

lcplug_info lcplug_mixedlcp_info(const lcplug_mixedlcp *lcp) {
  return lcp ? lcp->info : lcplug_info_default();
}

/* ---- L D L^T --------------------------------------------------------------------------------- */

/* d_j + sum of L_jk^2 d_k: element (j, j) of A again, which may have been overwritten. */
static double diagonal_element(const double *L, size_t stride, int32_t j) {
  const double *row = L + (size_t)j * stride;
  double sum = row[j];
  for (int32_t k = 0; k < j; k++) sum += row[k] * row[k] * L[(size_t)k * stride + (size_t)k];
  return sum;
}

/* Row i of L and its pivot, by products with the rows before it.  In a semidefinite matrix the
 * square of what is left in column j is at most d_j a_ii: where the pivot d_j was 0 to rounding, so
 * is this. */
static int ldlt_row(int32_t n, int32_t i, const double *a, double *L, size_t stride) {
  double *row = L + (size_t)i * stride, diagonal = a[i], pivot = a[i];
  double rounding = 100.0 * n * DBL_EPSILON * diagonal; /* the pivots before it were rounded, too */
  for (int32_t j = 0; j < i; j++) {
    const double *other = L + (size_t)j * stride;
    double left = a[j], d = other[j];
    for (int32_t k = 0; k < j; k++) left -= row[k] * other[k] * L[(size_t)k * stride + (size_t)k];
    if (d == 0.0 && !(left * left <= rounding * diagonal_element(L, stride, j))) return 0;
    row[j] = d > 0.0 ? left / d : 0.0;
    pivot -= row[j] * row[j] * d;
  }
  if (!(pivot >= -rounding)) return 0;
  row[i] = pivot > rounding ? pivot : 0.0;
  for (int32_t j = i + 1; j < n; j++) row[j] = 0.0;
  return 1;
}

int lcplug_mixedlcp_ldlt(int32_t n, const double *A, size_t A_stride, double *L, size_t L_stride) {
  if (n < 0 || (n && (!A || !L)) || A_stride < (size_t)n || L_stride < (size_t)n) return 0;
  for (int32_t i = 0; i < n; i++)
    if (!ldlt_row(n, i, A + (size_t)i * A_stride, L, L_stride)) return 0;
  return 1;
}
