/* asymmetric.c - matrices that are only nearly symmetric.
 *
 * Files of measured or rounded problems hold such an A.  With S its symmetric part,
 *
 *     A x = b + w   is   S x = (b - (A - S) x) + w,
 *
 * so solving with S and moving what is left to the right side, again and again, ends at an answer
 * of A itself.  Each round gains about as many digits as A is symmetric to, and starts from the
 * last x. Newton's method, which friction cones are solved by, needs no rounds: it takes A as it
 * is. */
#include <math.h>
#include <string.h>

#include "iterate.h"
#include "problem.h"
#include "settings.h"
#include "solve.h"
#include "workspace.h"

enum { MOST_ROUNDS = 30, MOST_IDLE = 3 };
/* Rows.  Above, nothing is gained by knowing beforehand that A is symmetric. */
enum { MOST_TO_COMPARE = 220 };
static const double DEFAULT_TOL = 1e-10;
/* A round need not be more exact than this part of what the next one will change. */
static const double ROUND_TOL = 1e-3;
/* An A that is symmetric to this is symmetric. */
static const double ROUNDING = 1e-12;

typedef struct rounds {
  const lcplug_problem *given;
  lcplug_problem symmetric; /* with S, and the right side of the round */
  double *S, *b, *x, *best_x;
  double off; /* how far A is from S */
  double deadline;
} rounds;

static lcplug_error take_memory(rounds *r, lcplug_workspace *memory) {
  size_t n = (size_t)r->given->n;
  r->S = TAKE(memory, double, n * n);
  r->b = TAKE(memory, double, n);
  r->x = TAKE(memory, double, n);
  r->best_x = TAKE(memory, double, n);
  return r->S && r->b && r->x && r->best_x ? LCPLUG_OK : LCPLUG_ERROR_MEMORY;
}

/* How far A is from being symmetric, as a part of its largest element. */
static double asymmetry(const lcplug_problem *p) {
  double largest = 0.0, off = 0.0;
  for (size_t i = 0; i < (size_t)p->n; i++)
    for (size_t j = 0; j <= i; j++) {
      double lower = p->A[i * p->stride + j], apart = fabs(lower - p->A[j * p->stride + i]);
      double size = fabs(lower);
      off = apart > off ? apart : off;
      largest = size > largest ? size : largest;
    }
  return largest > 0.0 ? off / largest : off > 0.0 ? 1.0 : 0.0;
}

static void set_symmetric_part(rounds *r) {
  const lcplug_problem *p = r->given;
  size_t n = (size_t)p->n;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      r->S[i * n + j] = r->S[j * n + i] =
          0.5 * p->A[i * p->stride + j] + 0.5 * p->A[j * p->stride + i];
}

/* b - (A - S) x */
static void set_right_side(rounds *r, const double *x) {
  const lcplug_problem *p = r->given;
  size_t n = (size_t)p->n;
  for (size_t i = 0; i < n; i++) {
    double sum = p->b[i * p->b_step];
    for (size_t j = 0; j < n; j++) sum -= (p->A[i * p->stride + j] - r->S[i * n + j]) * x[j];
    r->b[i] = sum;
  }
}

static lcplug_error check(const lcplug_problem *p) {
  lcplug_error error = lcplug_problem_check_vectors(p);
  if (error) return error;
  for (int i = 0; i < p->n; i++) {
    if (p->A[(size_t)i * p->stride + (size_t)i] < 0.0) return LCPLUG_ERROR_DIAGONAL;
    for (int j = 0; j < p->n; j++)
      if (!isfinite(p->A[(size_t)i * p->stride + (size_t)j])) return LCPLUG_ERROR_NOT_FINITE;
  }
  return LCPLUG_OK;
}

/* One round; the residual is A's. */
static lcplug_error solve_round(rounds *r, lcplug_workspace *workspace, lcplug_settings *inner,
                                lcplug_solution *solution, lcplug_info *info) {
  lcplug_info one;
  lcplug_solution out = {
      .x = r->x, .lo = solution->lo, .hi = solution->hi, .bounds_step = solution->bounds_step};
  if (r->deadline < INFINITY) inner->time_limit = fmax(r->deadline - lcplug_now(), 1e-9);
  lcplug_error error = lcplug_solve(workspace, &r->symmetric, inner, &out, &one);
  if (error) return error;
  one.iterations += info->iterations;
  one.factorizations += info->factorizations;
  *info = one;
  return lcplug_residual_asymmetric(workspace, r->given, inner->friction, r->x, 1, solution->lo,
                                    solution->hi, solution->bounds_step, &info->residual);
}

static lcplug_error run_rounds(rounds *r, lcplug_workspace *workspace,
                               const lcplug_settings *settings, lcplug_solution *solution,
                               lcplug_info *info) {
  lcplug_settings inner = *settings;
  double tol = settings->tol > 0.0 ? settings->tol : DEFAULT_TOL, best = INFINITY;
  int idle = 0;
  inner.tol = fmax(0.5 * tol, ROUND_TOL * r->off);
  set_symmetric_part(r);
  set_right_side(r, r->best_x);
  for (int round = 0; round < MOST_ROUNDS && idle < MOST_IDLE; round++) {
    lcplug_error error = solve_round(r, workspace, &inner, solution, info);
    if (error) return error;
    idle = info->residual < 0.5 * best ? 0 : idle + 1;
    if (info->residual < best) {
      best = info->residual;
      memcpy(r->best_x, r->x, (size_t)r->given->n * sizeof *r->x);
    }
    if (best <= tol || info->status == LCPLUG_TIME_LIMIT) break;
    inner.tol = fmax(0.5 * tol, ROUND_TOL * fmin(r->off, best));
    set_right_side(r, r->x);
    r->symmetric.x0 = r->best_x;
  }
  info->residual = best;
  if (best <= tol) info->status = LCPLUG_SOLVED;
  else if (info->status == LCPLUG_SOLVED) info->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}

static void write_answer(const rounds *r, lcplug_solution *solution) {
  const lcplug_problem *p = r->given;
  size_t n = (size_t)p->n, step = solution->x_step ? solution->x_step : 1;
  for (size_t i = 0; i < n; i++) {
    double w = -p->b[i * p->b_step];
    for (size_t j = 0; j < n; j++) w += p->A[i * p->stride + j] * r->best_x[j];
    solution->x[i * step] = r->best_x[i];
    if (solution->w) solution->w[i] = w;
  }
}

static lcplug_error solve_in_rounds(lcplug_workspace *workspace, const lcplug_problem *problem,
                                    double off, const lcplug_settings *settings,
                                    lcplug_solution *solution, lcplug_info *info) {
  lcplug_workspace *memory = lcplug_workspace_create();
  if (!memory) return LCPLUG_ERROR_MEMORY;
  double started = lcplug_now();
  rounds r = {.given = problem,
              .symmetric = *problem,
              .off = off,
              .deadline = settings->time_limit > 0.0 ? started + settings->time_limit : INFINITY};
  lcplug_error error = take_memory(&r, memory);
  if (!error) {
    r.symmetric.A = r.S, r.symmetric.stride = (size_t)problem->n, r.symmetric.full = 0;
    r.symmetric.b = r.b, r.symmetric.b_step = 1;
    for (int i = 0; i < problem->n; i++) r.best_x[i] = problem->x0 ? problem->x0[i] : 0.0;
    error = run_rounds(&r, workspace, settings, solution, info);
  }
  if (!error) write_answer(&r, solution);
  if (!error) info->seconds = settings->timing ? lcplug_now() - started : 0.0;
  lcplug_workspace_free(memory);
  return error;
}

static lcplug_error solve_compared(lcplug_workspace *workspace, const lcplug_problem *problem,
                                   const lcplug_settings *settings, lcplug_solution *solution,
                                   lcplug_info *info) {
  lcplug_problem lower = *problem;
  lcplug_error error = check(problem);
  if (error) return error;
  lower.full = 0;
  double off = asymmetry(problem);
  if (off <= ROUNDING) return lcplug_solve(workspace, &lower, settings, solution, info);
  int taken;
  error = lcplug_solve_as_given(workspace, problem, settings, solution, info, &taken);
  return taken ? error : solve_in_rounds(workspace, problem, off, settings, solution, info);
}

lcplug_error lcplug_solve_asymmetric(lcplug_workspace *workspace, const lcplug_problem *problem,
                                     const lcplug_settings *settings, lcplug_solution *solution,
                                     lcplug_info *info) {
  if (!workspace || !problem || !solution || (problem->n > 0 && !solution->x))
    return LCPLUG_ERROR_ARGUMENT;
  lcplug_info total = {0};
  int taken = 0;
  lcplug_error error = lcplug_settings_check(settings);
  if (!error && problem->n > MOST_TO_COMPARE)
    error = lcplug_solve_as_given(workspace, problem, settings, solution, &total, &taken);
  if (!error && !taken) error = solve_compared(workspace, problem, settings, solution, &total);
  if (!error && info) *info = total;
  return error;
}
