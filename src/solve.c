/* solve.c - the driver, the only place that knows problems, operators, friction models and solvers.
 *
 *     check -> order the rows -> store A -> for each stage of the friction model: sets, solver
 *
 * friction=ode has two stages: the normal forces without friction, then everything with the
 * friction bounds that follow from them.  The other models have one.  Boxes take a way of their own:
 * tiny.c, small.c or exact.c, whichever is the shortest that will have them. */
#include <math.h>
#include <string.h>

#include "exact.h"
#include "finite.h"
#include "fpenv.h"
#include "iterate.h"
#include "model.h"
#include "newton.h"
#include "places.h"
#include "problem.h"
#include "settings.h"
#include "small.h"
#include "tiny.h"

/* Below this size a dense pass is shorter than building anything; above this density it is, too.  The
 * exact solver, which factorizes, stays dense a little longer. */
enum { SMALLEST_SPARSE = 24, LARGEST_DENSE = 64 };
static const double DENSEST_SPARSE = 0.4;
/* What auto asks of friction cones.  Not 1e-8: ODE then loses contacts that the error has lifted by
 * 1e-13 m, and friction comes a step late. */
static const double CONE_TOLERANCE = 1e-9;

typedef lcplug_error stage_solver(const model *m, const lcplug_settings *settings, iteration *it,
                                  lcplug_workspace *workspace);

typedef struct solver_row {
  stage_solver *solve;
  double tol;
  int max_iter;
} solver_row;

/* One row per solver: what it is, and the tolerance and limit it has unless asked otherwise. */
static const solver_row solvers[] = {
    [LCPLUG_AUTO] = {NULL, 1e-10, 1000}, /* exact, see run_newton for what comes after it */
    [LCPLUG_PGS] = {lcplug_pgs_solve, 1e-6, 1000},
    [LCPLUG_APGD] = {lcplug_apgd_solve, 1e-6, 1000},
    [LCPLUG_EXACT] = {NULL, 1e-10, 1000}, /* does not go by stages, see run_boxes and run_newton */
};

/* One solve, from the caller's arrays to the caller's arrays. */
typedef struct job {
  lcplug_workspace *workspace;
  const lcplug_problem *problem;
  const lcplug_settings *settings;
  layout layout;
  lower_triangle lower;
  linop op;
  lcplug_matrix matrix; /* how A is stored */
  lcplug_solver solver; /* whose answer it is */
  model model;     /* of the last stage */
  places *memory;  /* reuse=1: last time's places */
  double *bound;   /* friction=ode: frozen bounds */
  double *x, *Ax;  /* in solver order */
  iteration it;
} job;

/* One scan finds the nonzeros and checks them; then the operator that suits their number. */
static lcplug_error store_matrix(job *j) {
  const lcplug_problem *p = j->problem;
  lcplug_matrix matrix = j->settings->matrix;
  lcplug_error error = lcplug_scan(&j->lower, p, &j->layout, j->workspace);
  if (error) return error;
  double density = 2.0 * (double)j->lower.begin[p->n] / ((double)p->n * p->n);
  if (matrix == LCPLUG_MATRIX_AUTO)
    matrix = p->n < SMALLEST_SPARSE || density > DENSEST_SPARSE ? LCPLUG_MATRIX_DENSE
                                                                : LCPLUG_MATRIX_SPARSE;
  j->matrix = matrix;
  return matrix == LCPLUG_MATRIX_DENSE
             ? lcplug_operator_dense(&j->op, p, &j->layout, j->workspace)
             : lcplug_operator_sparse(&j->op, &j->lower, &j->layout, j->workspace);
}

static lcplug_error store_symmetric(job *j) {
  lcplug_error error = store_matrix(j);
  return !error && j->problem->full ? lcplug_problem_check_symmetry(j->problem) : error;
}

/* Orders the rows and takes what every way of solving needs. */
static lcplug_error begin_job(job *j) {
  const lcplug_problem *p = j->problem;
  lcplug_error error = lcplug_problem_check_vectors(p);
  if (error) return error;
  error = lcplug_layout_build(&j->layout, p, j->workspace);
  if (error) return error;
  j->x = TAKE(j->workspace, double, p->n + PANEL_PAD);
  j->Ax = TAKE(j->workspace, double, p->n + PANEL_PAD);
  j->bound = TAKE(j->workspace, double, p->n);
  return j->x && j->Ax && j->bound ? LCPLUG_OK : LCPLUG_ERROR_MEMORY;
}

static void set_guess(job *j) {
  const double *guess = j->problem->x0;
  for (int i = 0; i < j->layout.n; i++) {
    double x = guess ? guess[j->layout.row[i]] : 0.0;
    j->x[i] = isfinite(x) ? x : 0.0;
  }
}

static lcplug_error run_stage(job *j, friction_stage stage) {
  lcplug_error error = lcplug_model_build(&j->model, &j->layout, &j->op, stage, j->bound, j->workspace);
  if (error) return error;
  return solvers[j->settings->solver].solve(&j->model, j->settings, &j->it, j->workspace);
}

static void freeze_bounds(job *j) {
  const layout *l = &j->layout;
  for (int i = 0; i < l->n; i++)
    j->bound[i] = l->normal[i] >= 0 ? lcplug_friction_bound(l->hi[i], j->x[l->normal[i]]) : 0.0;
}

static friction_stage last_stage(lcplug_friction friction) {
  static const friction_stage stages[] = {[LCPLUG_FRICTION_ODE] = STAGE_FROZEN,
                                          [LCPLUG_FRICTION_PYRAMID] = STAGE_PYRAMID,
                                          [LCPLUG_FRICTION_CONE] = STAGE_CONE,
                                          [LCPLUG_FRICTION_COULOMB] = STAGE_COULOMB};
  return stages[friction];
}

/* The answer's residual from a fresh product: what is reported is what was handed out. */
static void judge(job *j) {
  j->op.table->apply(&j->op, j->x, j->Ax);
  j->it.residual = lcplug_residual_natural(&j->model, j->x, j->Ax);
}

static lcplug_error run_stages(job *j) {
  lcplug_error error = store_symmetric(j);
  if (!error && j->settings->friction == LCPLUG_FRICTION_ODE && j->layout.frictions) {
    error = run_stage(j, STAGE_NORMALS);
    if (!error) freeze_bounds(j);
  }
  if (!error) error = run_stage(j, last_stage(j->settings->friction));
  if (!error) judge(j);
  return error;
}

static lcplug_error run_boxes(job *j) {
  const lcplug_problem *p = j->problem;
  box_source source;
  lcplug_matrix matrix = j->settings->matrix;
  int dense = matrix == LCPLUG_MATRIX_AUTO ? p->n <= LARGEST_DENSE : matrix == LCPLUG_MATRIX_DENSE;
  lcplug_error error = p->full ? lcplug_problem_check_symmetry(p) : LCPLUG_OK;
  if (!error && !dense) error = lcplug_scan(&j->lower, p, &j->layout, j->workspace);
  if (!error)
    error = dense ? lcplug_box_source_dense(&source, p, &j->layout, j->workspace)
                  : lcplug_box_source_sparse(&source, &j->lower, &j->layout, j->workspace);
  if (error) return error;
  j->matrix = dense ? LCPLUG_MATRIX_DENSE : LCPLUG_MATRIX_SPARSE;
  return lcplug_exact_solve(&source, j->settings->friction, &j->it, j->bound, j->Ax, j->memory,
                            j->workspace);
}

/* Where Newton's method does not settle sweeps sometimes do; auto lets them try from its best iterate. */
static lcplug_error sweep_after(job *j) {
  double before = j->it.residual;
  if (j->it.status == LCPLUG_SOLVED || j->it.status == LCPLUG_TIME_LIMIT) return LCPLUG_OK;
  lcplug_error error = lcplug_pgs_solve(&j->model, j->settings, &j->it, j->workspace);
  if (j->it.residual < before) j->solver = LCPLUG_PGS;
  return error;
}

/* Friction cones: the general way to store A, and a factorization beside it. */
static lcplug_error run_newton(job *j) {
  box_source source;
  int is_auto = j->settings->solver == LCPLUG_AUTO;
  int cones = last_stage(j->settings->friction) >= STAGE_CONE;
  if (is_auto && cones && j->settings->tol == 0.0) j->it.tol = CONE_TOLERANCE;
  lcplug_error error = store_symmetric(j);
  if (!error) error = lcplug_box_source_sparse(&source, &j->lower, &j->layout, j->workspace);
  if (!error)
    error = lcplug_model_build(&j->model, &j->layout, &j->op, last_stage(j->settings->friction),
                               j->bound, j->workspace);
  if (!error) error = lcplug_newton_solve(&j->model, source.factor, &j->it, j->workspace);
  if (!error && is_auto) error = sweep_after(j);
  if (!error) judge(j);
  return error;
}

/* Boxes are solved as such.  The frozen bounds of a pyramid need not settle; then it is Newton's turn. */
static lcplug_error run_exact(job *j) {
  j->solver = LCPLUG_EXACT;
  if (!lcplug_exact_offers(j->settings->friction, &j->layout)) return run_newton(j);
  lcplug_error error = run_boxes(j);
  int over = j->it.status == LCPLUG_SOLVED || j->it.status == LCPLUG_TIME_LIMIT;
  return error || over || j->settings->friction == LCPLUG_FRICTION_ODE ? error : run_newton(j);
}

static int is_exact(const job *j) {
  return j->settings->solver == LCPLUG_EXACT || j->settings->solver == LCPLUG_AUTO;
}

static void begin_iteration(job *j, double started) {
  const lcplug_settings *s = j->settings;
  const solver_row *row = &solvers[s->solver];
  j->it = (iteration){.tol = s->tol > 0.0 ? s->tol : row->tol,
                      .max_iter = s->max_iter > 0 ? s->max_iter : row->max_iter,
                      .deadline = s->time_limit > 0.0 ? started + s->time_limit : INFINITY,
                      .x = j->x};
}

static double final_bound(const job *j, int i, double mu) {
  if (j->layout.normal[i] < 0) return 0.0;
  if (j->settings->friction == LCPLUG_FRICTION_ODE) return j->bound[i];
  return lcplug_friction_bound(mu, j->x[j->layout.normal[i]]);
}

static void write_solution(const job *j, lcplug_solution *solution) {
  const layout *l = &j->layout;
  size_t x_step = solution->x_step ? solution->x_step : 1;
  size_t step = solution->bounds_step ? solution->bounds_step : 1;
  for (int i = 0; i < l->n; i++) {
    size_t row = (size_t)l->row[i];
    double hi = l->hi[i], lo = l->lo[i];
    if (l->normal[i] != ROW_PLAIN) lo = -(hi = final_bound(j, i, hi));
    solution->x[row * x_step] = j->x[i];
    if (solution->w) solution->w[row] = j->Ax[i] - l->b[i];
    if (solution->lo) solution->lo[row * step] = lo;
    if (solution->hi) solution->hi[row * step] = hi;
  }
}

static void write_info(const job *j, lcplug_info *info) {
  info->status = j->it.residual <= j->it.tol ? LCPLUG_SOLVED : j->it.status;
  info->solver = j->solver;
  info->matrix = j->matrix;
  info->iterations = j->it.iterations;
  info->factorizations = j->it.factorizations;
  info->residual = j->it.residual;
  int relaxed = j->settings->friction == LCPLUG_FRICTION_CONE && j->model.blocks > 0;
  info->gap = relaxed ? lcplug_relaxation_gap(&j->model, j->Ax) : 0.0;
}

static lcplug_error run_job(job *j, lcplug_solution *solution, lcplug_info *info, double started) {
  lcplug_error error = begin_job(j);
  if (error) return error;
  set_guess(j);
  begin_iteration(j, started);
  j->solver = j->settings->solver;
  error = is_exact(j) ? run_exact(j) : run_stages(j);
  if (error) return error;
  write_solution(j, solution);
  write_info(j, info);
  return LCPLUG_OK;
}

/* Whether the short way may be tried; it leaves what it does not like to the general one. */
static int is_small(const lcplug_problem *p, const lcplug_settings *s) {
  return p->api == PROBLEM_API && p->n > 0 && p->n <= SMALL_MOST_IN_ALL && p->nub >= 0 &&
         p->stride >= (size_t)p->n && p->A && p->b && p->b_step && p->bounds_step && !p->full &&
         !p->x0 && (s->solver == LCPLUG_AUTO || s->solver == LCPLUG_EXACT) &&
         s->friction == LCPLUG_FRICTION_ODE && s->matrix != LCPLUG_MATRIX_SPARSE;
}

/* The shape of a problem is read before it is checked as a whole. */
static int may_reuse(const lcplug_problem *p, const lcplug_settings *s) {
  return s->reuse && p->api == PROBLEM_API && p->n > 0 && p->n <= PROBLEM_LARGEST;
}

static lcplug_error check_call(const lcplug_problem *p, const lcplug_settings *settings,
                               const lcplug_solution *solution) {
  lcplug_error error = lcplug_settings_check(settings);
  if (error) return error;
  if (settings->solver == LCPLUG_UPSTREAM) return LCPLUG_ERROR_UNSUPPORTED;
  return p->api == PROBLEM_API && p->n > 0 && !solution->x ? LCPLUG_ERROR_ARGUMENT : LCPLUG_OK;
}

/* The short way if there is one, else the general one. */
static lcplug_error solve_checked(lcplug_workspace *workspace, const lcplug_problem *problem,
                                  const lcplug_settings *settings, lcplug_solution *solution,
                                  lcplug_info *info) {
  lcplug_error error = LCPLUG_OK;
  double tol = settings->tol > 0.0 ? settings->tol : solvers[LCPLUG_EXACT].tol;
  double started = settings->timing || settings->time_limit > 0.0 ? lcplug_now() : 0.0;
  int small = is_small(problem, settings);
  int tiny = small && problem->n <= TINY_MOST_ROWS
                 ? lcplug_tiny_solve(problem, tol, solution, info)
                 : 0;
  int solved = tiny == 1;
  places *memory = !solved && may_reuse(problem, settings)
                       ? lcplug_places_find(lcplug_workspace_places(workspace), problem)
                       : NULL;
  if (!solved && small) {
    solved = lcplug_small_solve(workspace, problem, tol, tiny == 0, memory, solution, info);
    lcplug_workspace_reset(workspace);
  }
  if (!solved) {
    job j = {
        .workspace = workspace, .problem = problem, .settings = settings, .memory = memory};
    error = run_job(&j, solution, info, started);
    lcplug_workspace_reset(workspace);
  }
  if (!error) info->seconds = settings->timing ? lcplug_now() - started : 0.0;
  return error;
}

lcplug_error lcplug_solve(lcplug_workspace *workspace, const lcplug_problem *problem,
                          const lcplug_settings *settings, lcplug_solution *solution,
                          lcplug_info *info) {
  if (!workspace || !problem || !solution) return LCPLUG_ERROR_ARGUMENT;
  lcplug_info unread;
  fpenv host = lcplug_fpenv_enter();
  lcplug_error error = check_call(problem, settings, solution);
  if (!error) error = solve_checked(workspace, problem, settings, solution, info ? info : &unread);
  lcplug_fpenv_leave(host);
  return error;
}

/* ---- the residual of somebody else's answer ---------------------------------------------------- */

static void take_bounds(job *j, const double *lo, const double *hi, size_t step) {
  for (int i = 0; i < j->layout.n; i++) {
    size_t row = (size_t)j->layout.row[i];
    j->bound[i] = j->layout.normal[i] >= 0 ? fmax(fabs(lo[row * step]), fabs(hi[row * step])) : 0.0;
  }
}

/* A x by the full matrix as it was given: a judge needs no symmetry. */
static lcplug_error apply_as_given(job *j, const lcplug_problem *given) {
  for (int i = 0; i < j->layout.n; i++) {
    const double *row = given->A + (size_t)j->layout.row[i] * given->stride;
    uint64_t not_finite = 0;
    j->Ax[i] = 0.0;
    for (int k = 0; k < j->layout.n; k++) {
      not_finite |= lcplug_not_finite(row[j->layout.row[k]]);
      j->Ax[i] += row[j->layout.row[k]] * j->x[k];
    }
    if (not_finite) return LCPLUG_ERROR_NOT_FINITE;
  }
  return LCPLUG_OK;
}

typedef struct other_answer {
  const double *x, *lo, *hi;
  size_t x_step, bounds_step;
} other_answer;

static lcplug_error judge_other(job *j, const other_answer *a, int as_given, double *residual) {
  lcplug_error error = begin_job(j);
  if (!error) error = as_given ? store_matrix(j) : store_symmetric(j);
  if (error) return error;
  size_t x_step = a->x_step ? a->x_step : 1, bounds_step = a->bounds_step ? a->bounds_step : 1;
  for (int i = 0; i < j->layout.n; i++) j->x[i] = a->x[(size_t)j->layout.row[i] * x_step];
  if (a->lo && a->hi) take_bounds(j, a->lo, a->hi, bounds_step);
  else freeze_bounds(j);
  error = lcplug_model_build(&j->model, &j->layout, &j->op, last_stage(j->settings->friction),
                             j->bound, j->workspace);
  if (error) return error;
  if (as_given) error = apply_as_given(j, j->problem);
  else j->op.table->apply(&j->op, j->x, j->Ax);
  if (!error) *residual = lcplug_residual_natural(&j->model, j->x, j->Ax);
  return error;
}

static lcplug_error residual_of(lcplug_workspace *workspace, const lcplug_problem *problem,
                                lcplug_friction friction, other_answer answer, int as_given,
                                double *residual) {
  lcplug_settings settings = lcplug_settings_default();
  settings.friction = friction;
  if (!workspace || !problem || !residual || lcplug_settings_check(&settings))
    return LCPLUG_ERROR_ARGUMENT;
  if (problem->n > 0 && !answer.x) return LCPLUG_ERROR_ARGUMENT;
  fpenv host = lcplug_fpenv_enter();
  job j = {.workspace = workspace, .problem = problem, .settings = &settings};
  lcplug_error error = judge_other(&j, &answer, as_given, residual);
  lcplug_workspace_reset(workspace);
  lcplug_fpenv_leave(host);
  return error;
}

lcplug_error lcplug_residual(lcplug_workspace *workspace, const lcplug_problem *problem,
                             lcplug_friction friction, const double *x, size_t x_step,
                             const double *lo, const double *hi, size_t bounds_step,
                             double *residual) {
  other_answer answer = {x, lo, hi, x_step, bounds_step};
  return residual_of(workspace, problem, friction, answer, problem && problem->full, residual);
}

lcplug_error lcplug_residual_asymmetric(lcplug_workspace *workspace, const lcplug_problem *problem,
                                        lcplug_friction friction, const double *x, size_t x_step,
                                        const double *lo, const double *hi, size_t bounds_step,
                                        double *residual) {
  other_answer answer = {x, lo, hi, x_step, bounds_step};
  return residual_of(workspace, problem, friction, answer, 1, residual);
}
