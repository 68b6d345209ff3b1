/* solve.c - the driver, the only place that knows problems, operators, friction models and solvers.
 *
 *     check -> order the rows -> store A -> for each stage of the friction model: sets, solver
 *
 * friction=ode has two stages: the normal forces without friction, then everything with the
 * friction bounds that follow from them.  The other models have one.  Boxes take a way of their
 * own: tiny.c, small.c or exact.c, whichever is the shortest that will have them.  Cones begin with
 * the answer to friction=ode, and go on by small_cones.c or newton.c. */
#include <math.h>
#include <string.h>

#include "exact.h"
#include "finite.h"
#include "fpenv.h"
#include "iterate.h"
#include "lanes.h"
#include "model.h"
#include "newton.h"
#include "places.h"
#include "problem.h"
#include "settings.h"
#include "short_cones.h"
#include "small.h"
#include "small_cones.h"
#include "small_endless.h"
#include "solve.h"
#include "system.h"
#include "tiny.h"

/* Below this size a dense pass is shorter than building anything; above this density it is, too.
 * The exact solver, which factorizes, stays dense a little longer. */
enum { SMALLEST_SPARSE = 24, LARGEST_DENSE = 64 };
static const double DENSEST_SPARSE = 0.4;
/* What auto asks of gradients and of friction cones: the last digits cost steps that nobody
 * sees. */
static const double CONE_TOLERANCE = 1e-8;

/* Of all rows, in units of Cholesky's: what boxes take where clusters are large, as in walls, which
 * stand; and what Newton's method takes at least. */
static const double BOX_FACTORIZATIONS = 2.0, NEWTON_FACTORIZATIONS = 30.0;
/* Rows of a native system above which auto does not form A: its factor grows much faster than they
 * do.  Pyramids can take a thousand factorizations. */
enum { MOST_FORMED_ROWS = 5000, MOST_PYRAMID_ROWS = 1000 };

typedef lcplug_error stage_solver(const model *m, const lcplug_settings *settings, iteration *it,
                                  lcplug_workspace *workspace);

static stage_solver solve_auto, solve_pgs, solve_apgd;

typedef struct solver_row {
  stage_solver *solve;
  double tol;
  int max_iter;
} solver_row;

/* One row per solver: what it is, and the tolerance and limit it has unless asked otherwise. */
static const solver_row solvers[] = {
    [LCPLUG_AUTO] = {solve_auto, 1e-10, 1000}, /* or exact, see is_exact */
    [LCPLUG_PGS] = {solve_pgs, 1e-6, 1000},
    [LCPLUG_APGD] = {solve_apgd, 1e-6, 1000},
    [LCPLUG_EXACT] = {NULL, 1e-10, 1000}, /* does not go by stages, see run_boxes and run_newton */
};

/* One solve, from the caller's arrays to the caller's arrays. */
typedef struct job {
  lcplug_workspace *workspace;
  const lcplug_problem *problem;
  const lcplug_settings *settings;
  const lcplug_system *system; /* NULL, or what the problem's A is made of */
  int as_given;                /* A need not be symmetric */
  jacobian jacobian;
  layout layout;
  lower_triangle lower;
  linop op;
  lcplug_matrix matrix; /* how A is stored */
  lcplug_solver solver; /* whose answer it is */
  model model;          /* of the last stage */
  places *memory;       /* reuse=1: last time's places */
  nearby_answer nearby; /* cones: the answer to friction=ode */
  int is_judged;        /* Ax and the residual are those of x */
  double *bound;        /* friction=ode: frozen bounds */
  double *x, *Ax;       /* in solver order */
  iteration it;
} job;

/* On the rows of J both have a way of their own. */
static lcplug_error solve_pgs(const model *m, const lcplug_settings *settings, iteration *it,
                              lcplug_workspace *workspace) {
  int rows = m->op->jacobian && settings->splitting == LCPLUG_SPLITTING_GAUSS_SEIDEL;
  it->prefers_later = 1;
  return (rows ? lcplug_impulses_solve : lcplug_pgs_solve)(m, settings, it, workspace);
}

static lcplug_error solve_apgd(const model *m, const lcplug_settings *settings, iteration *it,
                               lcplug_workspace *workspace) {
  it->prefers_later = 1;
  return (m->op->jacobian ? lcplug_lanes_apgd_solve : lcplug_apgd_solve)(m, settings, it,
                                                                         workspace);
}

/* Cones of a native system, or a large one: for the gradient, and for sweeps where that does not
 * settle. */
static lcplug_error solve_auto(const model *m, const lcplug_settings *settings, iteration *it,
                               lcplug_workspace *workspace) {
  if (settings->tol == 0.0) it->tol = CONE_TOLERANCE;
  workspace_mark mark = lcplug_mark(workspace);
  lcplug_error error = solve_apgd(m, settings, it, workspace);
  lcplug_release(workspace, mark);
  it->solver = LCPLUG_APGD;
  if (error || it->status == LCPLUG_SOLVED || it->status == LCPLUG_TIME_LIMIT) return error;
  double before = it->residual;
  error = solve_pgs(m, settings, it, workspace);
  if (it->residual < before) it->solver = LCPLUG_PGS;
  return error;
}

static lcplug_error store_rows(job *j) {
  lcplug_error error = lcplug_lanes_build(&j->jacobian, j->system, &j->layout, j->workspace);
  if (error) return error;
  j->matrix = LCPLUG_MATRIX_JACOBIAN;
  lcplug_operator_jacobian(&j->op, &j->jacobian);
  return LCPLUG_OK;
}

static friction_stage last_stage(lcplug_friction friction) {
  static const friction_stage stages[] = {[LCPLUG_FRICTION_ODE] = STAGE_FROZEN,
                                          [LCPLUG_FRICTION_PYRAMID] = STAGE_PYRAMID,
                                          [LCPLUG_FRICTION_CONE] = STAGE_CONE,
                                          [LCPLUG_FRICTION_COULOMB] = STAGE_COULOMB};
  return stages[friction];
}

/* Who has a native system does not want its A formed for cones or when it is large, unless he says
 * so. */
static int is_exact(const job *j) {
  friction_stage stage = j->layout.frictions ? last_stage(j->settings->friction) : STAGE_FROZEN;
  int most = stage == STAGE_FROZEN ? MOST_FORMED_ROWS : MOST_PYRAMID_ROWS;
  if (j->settings->solver == LCPLUG_AUTO)
    return !j->system || (j->layout.n <= most && stage < STAGE_CONE);
  return j->settings->solver == LCPLUG_EXACT;
}

/* One scan finds the nonzeros and checks them; then the operator that suits their number.  Exact,
 * which factorizes blocks, takes products by blocks too. */
static lcplug_error store_matrix(job *j) {
  if (j->system) return store_rows(j);
  const lcplug_problem *p = j->problem;
  lcplug_matrix matrix = j->settings->matrix;
  lcplug_error error =
      (j->as_given ? lcplug_scan_full : lcplug_scan)(&j->lower, p, &j->layout, j->workspace);
  if (error) return error;
  double density = 2.0 * (double)j->lower.begin[p->n] / ((double)p->n * p->n);
  int dense = !is_exact(j) && (p->n < SMALLEST_SPARSE || density > DENSEST_SPARSE);
  if (j->as_given) matrix = LCPLUG_MATRIX_SPARSE; /* the other one knows one triangle only */
  if (matrix == LCPLUG_MATRIX_AUTO) matrix = dense ? LCPLUG_MATRIX_DENSE : LCPLUG_MATRIX_SPARSE;
  j->matrix = matrix;
  return matrix == LCPLUG_MATRIX_DENSE
             ? lcplug_operator_dense(&j->op, p, &j->layout, j->workspace)
             : lcplug_operator_sparse(&j->op, &j->lower, &j->layout, j->workspace);
}

static lcplug_error store_symmetric(job *j) {
  lcplug_error error = store_matrix(j);
  return !error && j->problem->full && !j->as_given ? lcplug_problem_check_symmetry(j->problem)
                                                    : error;
}

/* Orders the rows and takes what every way of solving needs. */
static lcplug_error begin_job(job *j) {
  const lcplug_problem *p = j->problem;
  lcplug_error error = j->system ? lcplug_system_check(j->system) : lcplug_problem_check_vectors(p);
  if (!error && j->system) error = lcplug_problem_check_rows(p);
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
  lcplug_error error =
      lcplug_model_build(&j->model, &j->layout, &j->op, stage, j->bound, j->workspace);
  if (error) return error;
  return solvers[j->settings->solver].solve(&j->model, j->settings, &j->it, j->workspace);
}

static void freeze_bounds(job *j) {
  const layout *l = &j->layout;
  for (int i = 0; i < l->n; i++)
    j->bound[i] = l->normal[i] >= 0 ? lcplug_friction_bound(l->hi[i], j->x[l->normal[i]]) : 0.0;
}

/* The answer's residual from a fresh product: what is reported is what was handed out. */
static void judge(job *j) {
  j->op.table->apply(&j->op, j->x, j->Ax);
  j->it.residual = lcplug_residual_natural(&j->model, j->x, j->Ax);
}

static lcplug_error run_stages(job *j) {
  lcplug_error error = store_symmetric(j);
  if (!error && j->settings->friction == LCPLUG_FRICTION_ODE && j->layout.frictions) {
    workspace_mark mark = lcplug_mark(j->workspace);
    double deadline = j->it.deadline; /* half of the time is for friction */
    if (deadline < INFINITY) j->it.deadline = 0.5 * (lcplug_now() + deadline);
    error = run_stage(j, STAGE_NORMALS);
    j->it.deadline = deadline;
    if (!error) freeze_bounds(j);
    lcplug_release(j->workspace, mark);
    if (!error && j->problem->x0) set_guess(j); /* is one of all forces, friction too */
  }
  if (!error) error = run_stage(j, last_stage(j->settings->friction));
  if (!error) judge(j);
  return error;
}

/* A as the exact solver factorizes it: of a system it is formed here, once. */
static lcplug_error store_for_exact(job *j, box_source *source) {
  const lcplug_problem *p = j->problem;
  lcplug_matrix matrix = j->settings->matrix;
  int dense = matrix == LCPLUG_MATRIX_AUTO ? p->n <= LARGEST_DENSE : matrix == LCPLUG_MATRIX_DENSE;
  dense |= p->n == 0; /* there is no pattern to analyze */
  if (j->system) {
    lcplug_error error = store_rows(j);
    if (!error) error = lcplug_jacobian_lower(&j->lower, &j->jacobian, j->workspace);
    return error ? error : lcplug_box_source_sparse(source, &j->lower, &j->layout, j->workspace);
  }
  lcplug_error error = p->full ? lcplug_problem_check_symmetry(p) : LCPLUG_OK;
  if (!error && !dense) error = lcplug_scan(&j->lower, p, &j->layout, j->workspace);
  if (error) return error;
  j->matrix = dense ? LCPLUG_MATRIX_DENSE : LCPLUG_MATRIX_SPARSE;
  return dense ? lcplug_box_source_dense(source, p, &j->layout, j->workspace)
               : lcplug_box_source_sparse(source, &j->lower, &j->layout, j->workspace);
}

static lcplug_error run_boxes(job *j) {
  box_source source;
  lcplug_error error = store_for_exact(j, &source);
  if (!error) error = lcplug_box_source_condense(&source, BOX_FACTORIZATIONS, j->workspace);
  if (error) return error;
  return lcplug_exact_solve(&source, &j->it, j->bound, j->Ax, j->memory, j->workspace);
}

static int is_over(const job *j) {
  return j->it.status == LCPLUG_SOLVED || j->it.status == LCPLUG_TIME_LIMIT;
}

/* Where Newton's method does not settle sweeps sometimes do; auto lets them try from its best
 * iterate. */
static lcplug_error sweep_after(job *j) {
  double before = j->it.residual;
  if (is_over(j)) return LCPLUG_OK;
  lcplug_error error = solve_pgs(&j->model, j->settings, &j->it, j->workspace);
  if (j->it.residual < before) j->solver = LCPLUG_PGS;
  if (j->it.status == LCPLUG_ITERATION_LIMIT)
    j->it.status = LCPLUG_STALLED; /* as Newton did before */
  return error;
}

/* Whether the problem is one for the short ways; they leave what they do not like to the general
 * one. */
static int is_small(const lcplug_problem *p) {
  return p->api == PROBLEM_API && p->n > 0 && p->n <= SMALL_MOST_IN_ALL && p->nub >= 0 &&
         p->stride >= (size_t)p->n && p->A && p->b && p->b_step && p->bounds_step && !p->full &&
         !p->x0;
}

static double cone_tolerance(const lcplug_settings *s) {
  return s->tol > 0.0 ? s->tol : s->solver == LCPLUG_AUTO ? CONE_TOLERANCE : solvers[s->solver].tol;
}

/* The shortest way for friction=ode that will have the problem; 0 if none has solved it. */
static int solve_nearby(lcplug_workspace *workspace, const lcplug_problem *p,
                        lcplug_solution *solution, lcplug_info *info, small_rest *rest) {
  double tol = solvers[LCPLUG_EXACT].tol;
  int tiny = p->n <= TINY_MOST_ROWS ? lcplug_tiny_solve(p, tol, solution, info) : 0;
  return tiny == 1 || lcplug_small_solve(workspace, p, tol, tiny == 0, NULL, solution, info, rest);
}

static int solve_small(lcplug_workspace *workspace, const lcplug_problem *p,
                       lcplug_solution *solution, lcplug_info *info) {
  return solve_nearby(workspace, p, solution, info, NULL);
}

static void settle_small_cones(job *j, small_cones *cones, const double *start) {
  lcplug_small_cones_settle(cones, start, &j->it, j->Ax);
  j->is_judged = j->it.status == LCPLUG_SOLVED;
  if (j->it.status != LCPLUG_TIME_LIMIT || j->it.residual < INFINITY) return;
  if (!lcplug_iteration_begin(&j->it, &j->model, j->Ax, j->workspace))
    j->it.status = LCPLUG_TIME_LIMIT;
}

/* Where friction has no limit, and no answer was found in which it holds those that press and no
 * other contact: every contact is held.  If that does not lead to one after all it is the
 * answer. */
static void run_small_endless(job *j, small_cones *cones, double *x, double *start) {
  const layout *l = &j->layout;
  int found = lcplug_small_endless(j->problem, solve_small, x, &j->it.factorizations, j->workspace);
  if (!found) return;
  for (int i = 0; i < l->n; i++) start[i] = x[l->row[i]];
  if (cones) settle_small_cones(j, cones, start);
  if (is_over(j)) return;
  memcpy(j->x, start, (size_t)l->n * sizeof *start);
  lcplug_exact_press_held(l, &j->model, j->x);
  if (!lcplug_iteration_begin(&j->it, &j->model, j->Ax, j->workspace))
    j->it.status = LCPLUG_STALLED;
}

/* Friction=ode is quickly solved.  Where nothing slides its answer is right for cones too, and else
 * it is near one.  The status says whether that was enough. */
static lcplug_error run_small_cones(job *j) {
  small_cones *cones = NULL;
  double *start = TAKE(j->workspace, double, j->layout.n);
  if (!start) return LCPLUG_ERROR_MEMORY;
  j->it.status = LCPLUG_STALLED;
  if (j->nearby.known < 1) return LCPLUG_OK;
  lcplug_error error = lcplug_operator_dense(&j->op, j->problem, &j->layout, j->workspace);
  if (!error)
    error = lcplug_model_build(&j->model, &j->layout, &j->op, last_stage(j->settings->friction),
                               j->bound, j->workspace);
  if (error) return error;
  for (int i = 0; i < j->layout.n; i++) start[i] = j->x[i] = j->nearby.x[j->layout.row[i]];
  j->matrix = LCPLUG_MATRIX_DENSE;
  j->it.iterations = j->nearby.info.iterations;
  j->it.factorizations = j->nearby.info.factorizations;
  if (j->nearby.judged) j->it.residual = INFINITY; /* of no use, and nobody asks how much of none */
  else if (lcplug_iteration_begin(&j->it, &j->model, j->Ax, j->workspace)) return LCPLUG_OK;
  j->it.status = LCPLUG_STALLED;
  small_rest *rest = &j->nearby.rest;
  if (rest->n || lcplug_small_reduce(j->workspace, j->problem, rest))
    error = lcplug_small_cones_begin(&j->model, rest, &cones, j->workspace);
  if (!error && cones) settle_small_cones(j, cones, start);
  if (!error && !is_over(j) && lcplug_exact_is_endless(&j->layout))
    run_small_endless(j, cones, j->nearby.x, start);
  return error;
}

/* The same for problems that are not small, where boxes are not solved as quickly: what takes
 * more than a few steps slides.  Where friction is without limit there is nothing else.
 * *answered: x is the answer to a box. */
static lcplug_error try_boxes(job *j, box_source *source, int *answered) {
  lcplug_error error = lcplug_exact_is_endless(&j->layout)
                           ? lcplug_exact_endless(source, &j->model, &j->it, j->bound, j->workspace)
                           : lcplug_exact_try(source, j->settings->friction, &j->it, j->bound,
                                              j->Ax, j->workspace);
  if (error) return error;
  *answered = j->it.status == LCPLUG_SOLVED;
  if (*answered && lcplug_iteration_begin(&j->it, &j->model, j->Ax, j->workspace)) return LCPLUG_OK;
  if (!*answered) set_guess(j);
  j->it.status = LCPLUG_STALLED;
  return LCPLUG_OK;
}

/* Friction cones and pyramids: the general way to store A, and a factorization beside it. */
static lcplug_error run_general_newton(job *j, int boxes_first) {
  box_source source;
  int frozen = 0;
  lcplug_error error = store_symmetric(j);
  if (j->lower.skew) boxes_first = 0; /* which would be the boxes of another matrix */
  if (!error && j->system) error = lcplug_jacobian_lower(&j->lower, &j->jacobian, j->workspace);
  if (!error) error = lcplug_box_source_sparse(&source, &j->lower, &j->layout, j->workspace);
  if (!error) error = lcplug_box_source_condense(&source, BOX_FACTORIZATIONS, j->workspace);
  if (!error)
    error = lcplug_model_build(&j->model, &j->layout, &j->op, last_stage(j->settings->friction),
                               j->bound, j->workspace);
  if (!error && boxes_first) error = try_boxes(j, &source, &frozen);
  if (error || (boxes_first && j->it.status == LCPLUG_SOLVED)) return error;
  error = lcplug_box_source_condense(&source, NEWTON_FACTORIZATIONS, j->workspace);
  return error ? error
               : lcplug_newton_solve(&j->model, &j->lower, source.factor, source.condensed, frozen,
                                     &j->it, j->workspace);
}

static lcplug_error run_newton(job *j) {
  int is_auto = j->settings->solver == LCPLUG_AUTO;
  int cones = last_stage(j->settings->friction) >= STAGE_CONE;
  int small = cones && j->nearby.known;
  lcplug_error error = LCPLUG_OK;
  if (cones) j->it.tol = cone_tolerance(j->settings);
  if (small) error = run_small_cones(j);
  if (!error && !(small && is_over(j))) {
    if (small) set_guess(j);
    int boxes_first = !j->system && !j->problem->x0 &&
                      (j->it.factorizations == 0 || lcplug_exact_is_endless(&j->layout));
    error = run_general_newton(j, boxes_first);
    if (!error && is_auto) error = sweep_after(j);
  }
  if (!error && !j->is_judged) judge(j);
  return error;
}

/* Of a pyramid with few rows boxes are tried densely, which is cheaper. */
static lcplug_error try_dense_boxes(job *j) {
  box_source source;
  lcplug_error error = store_for_exact(j, &source);
  if (!error)
    error = lcplug_exact_try(&source, LCPLUG_FRICTION_PYRAMID, &j->it, j->bound, j->Ax,
                             j->workspace);
  if (error) return error;
  if (is_over(j)) lcplug_box_source_apply(&source, j->x, j->Ax);
  else set_guess(j);
  return LCPLUG_OK;
}

/* Boxes are solved as such, all else by Newton's method. */
static lcplug_error run_exact(job *j) {
  j->solver = LCPLUG_EXACT;
  if (!j->as_given && lcplug_exact_offers(j->settings->friction, &j->layout)) return run_boxes(j);
  if (j->settings->friction == LCPLUG_FRICTION_PYRAMID && !j->as_given && !j->system &&
      j->layout.n <= LARGEST_DENSE) {
    lcplug_error error = try_dense_boxes(j);
    if (error || is_over(j)) return error;
  }
  return run_newton(j);
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

/* Forces of 1e16 can pass for an answer while they are found, by rounding alone. */
static lcplug_status final_status(const job *j) {
  if (j->it.residual <= j->it.tol) return LCPLUG_SOLVED;
  int excused = j->it.residual <= ROUNDING_EXCUSES;
  return j->it.status == LCPLUG_SOLVED && !excused ? LCPLUG_STALLED : j->it.status;
}

static void write_info(const job *j, lcplug_info *info) {
  *info = lcplug_info_default();
  info->status = final_status(j);
  info->solver = j->solver;
  info->matrix = j->matrix;
  info->iterations = j->it.iterations;
  info->factorizations = j->it.factorizations;
  info->residual = j->it.residual;
  int relaxed = j->settings->friction != LCPLUG_FRICTION_ODE && j->model.blocks > 0;
  if (relaxed) info->gap = lcplug_relaxation_gap(&j->model, j->x, j->Ax);
}

static int is_finite(const job *j) {
  uint64_t not_finite = 0;
  for (int i = 0; i < j->layout.n; i++)
    not_finite |= lcplug_not_finite(j->x[i]) | lcplug_not_finite(j->Ax[i]);
  return !not_finite;
}

/* Numbers near the largest ones overflow on the way.  Then there is no force, or as little as the
 * bounds allow, and the residual says that it is no answer. */
static lcplug_error mend_overflow(job *j) {
  const layout *l = &j->layout;
  if (is_finite(j) && j->it.residual < INFINITY) return LCPLUG_OK;
  lcplug_error error = store_matrix(j);
  if (error) return error;
  for (int i = 0; i < l->n; i++)
    j->x[i] = l->normal[i] == ROW_PLAIN ? fmin(fmax(0.0, l->lo[i]), l->hi[i]) : 0.0;
  freeze_bounds(j);
  error = lcplug_model_build(&j->model, l, &j->op, last_stage(j->settings->friction), j->bound,
                             j->workspace);
  if (error) return error;
  judge(j);
  if (!(j->it.residual < INFINITY)) j->it.residual = 1.0; /* what no force leaves, by definition */
  j->it.status = LCPLUG_STALLED;
  return is_finite(j) ? LCPLUG_OK : LCPLUG_ERROR_NOT_FINITE;
}

static lcplug_error run_job(job *j, lcplug_solution *solution, lcplug_info *info, double started) {
  lcplug_error error = begin_job(j);
  if (error) return error;
  set_guess(j);
  begin_iteration(j, started);
  j->solver = j->settings->solver;
  error = is_exact(j) ? run_exact(j) : run_stages(j);
  if (!error) error = mend_overflow(j);
  if (error) return error;
  if (j->solver == LCPLUG_AUTO) j->solver = j->it.solver;
  write_solution(j, solution);
  write_info(j, info);
  return LCPLUG_OK;
}

lcplug_info lcplug_info_default(void) { return (lcplug_info){.api = INFO_API}; }

/* Whether the short ways may be tried before anything else. */
static int is_short(const lcplug_problem *p, const lcplug_settings *s) {
  return is_small(p) && (s->solver == LCPLUG_AUTO || s->solver == LCPLUG_EXACT) &&
         s->matrix != LCPLUG_MATRIX_SPARSE;
}

/* Cones begin with the answer to friction=ode; 1 where they end with it. */
static int solve_short_cones(lcplug_workspace *workspace, const lcplug_problem *p,
                             const lcplug_settings *s, nearby_answer *nearby,
                             lcplug_solution *solution, lcplug_info *info) {
  double *memory = TAKE(workspace, double, 2 * p->n);
  if (!memory) return 0;
  nearby->x = memory, nearby->w = memory + p->n;
  lcplug_solution found = {.x = nearby->x, .w = nearby->w};
  int solved = solve_nearby(workspace, p, &found, &nearby->info, &nearby->rest);
  nearby->known = solved ? 1 : -1;
  if (nearby->known < 0) return 0;
  int coulomb = s->friction == LCPLUG_FRICTION_COULOMB;
  return lcplug_short_cones(p, coulomb, cone_tolerance(s), nearby, solution, info);
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
  int is_ode = settings->friction == LCPLUG_FRICTION_ODE;
  int short_one = is_short(problem, settings), small = short_one && is_ode;
  nearby_answer nearby = {.known = 0};
  int most = settings->reuse ? TINY_MOST_IF_REUSED : TINY_MOST_ROWS;
  int tiny = small && problem->n <= most ? lcplug_tiny_solve(problem, tol, solution, info) : 0;
  int solved = tiny == 1;
  places *memory = !solved && may_reuse(problem, settings)
                       ? lcplug_places_find(lcplug_workspace_places(workspace), problem)
                       : NULL;
  if (!solved && small) {
    solved = lcplug_small_solve(workspace, problem, tol, tiny == 0, memory, solution, info, NULL);
    lcplug_workspace_reset(workspace);
  }
  if (short_one && last_stage(settings->friction) >= STAGE_CONE)
    solved = solve_short_cones(workspace, problem, settings, &nearby, solution, info);
  if (!solved) {
    job j = {.workspace = workspace,
             .problem = problem,
             .settings = settings,
             .memory = memory,
             .nearby = nearby};
    error = run_job(&j, solution, info, started);
  }
  lcplug_workspace_reset(workspace);
  if (error) return error;
  info->api = INFO_API;
  info->seconds = settings->timing ? lcplug_now() - started : 0.0;
  return LCPLUG_OK;
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

static int is_for_newton(const lcplug_settings *s) {
  return (s->solver == LCPLUG_AUTO || s->solver == LCPLUG_EXACT) &&
         last_stage(s->friction) >= STAGE_CONE;
}

lcplug_error lcplug_solve_as_given(lcplug_workspace *workspace, const lcplug_problem *problem,
                                   const lcplug_settings *settings, lcplug_solution *solution,
                                   lcplug_info *info, int *taken) {
  *taken = is_for_newton(settings) && problem->n > 0;
  if (!*taken) return LCPLUG_OK;
  fpenv host = lcplug_fpenv_enter();
  double started = lcplug_now();
  job j = {.workspace = workspace, .problem = problem, .settings = settings, .as_given = 1};
  lcplug_error error = run_job(&j, solution, info, started);
  lcplug_workspace_reset(workspace);
  if (!error) info->seconds = settings->timing ? lcplug_now() - started : 0.0;
  lcplug_fpenv_leave(host);
  return error;
}

/* ---- the residual of somebody else's answer -------------------------------------------------- */

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
  return residual_of(workspace, problem, friction, answer, 0, residual);
}

lcplug_error lcplug_residual_asymmetric(lcplug_workspace *workspace, const lcplug_problem *problem,
                                        lcplug_friction friction, const double *x, size_t x_step,
                                        const double *lo, const double *hi, size_t bounds_step,
                                        double *residual) {
  other_answer answer = {x, lo, hi, x_step, bounds_step};
  return residual_of(workspace, problem, friction, answer, 1, residual);
}

/* ---- native systems -------------------------------------------------------------------------- */

/* What a solve by pgs or apgd takes, had in one piece: chunks that grow by doubling would take
 * more. */
static void reserve(lcplug_workspace *workspace, const lcplug_system *s) {
  enum { PER_ROW = 318, PER_BODY = 470, AT_LEAST = 1 << 14 };
  if (s->rows <= 0 || s->rows > PROBLEM_LARGEST || s->bodies < 0 || s->bodies > PROBLEM_LARGEST)
    return;
  lcplug_take(workspace, (size_t)s->rows * PER_ROW + (size_t)s->bodies * PER_BODY + AT_LEAST, 1);
  lcplug_workspace_reset(workspace);
}

lcplug_error lcplug_system_solve(lcplug_workspace *workspace, const lcplug_system *system,
                                 const lcplug_settings *settings, lcplug_solution *solution,
                                 lcplug_info *info) {
  if (!workspace || !system || !solution) return LCPLUG_ERROR_ARGUMENT;
  lcplug_info unread;
  if (!info) info = &unread;
  fpenv host = lcplug_fpenv_enter();
  double started = lcplug_now();
  lcplug_problem problem = lcplug_system_problem(system);
  lcplug_error error = check_call(&problem, settings, solution);
  if (!error) {
    job j = {.workspace = workspace, .problem = &problem, .settings = settings, .system = system};
    reserve(workspace, system);
    error = run_job(&j, solution, info, started);
    lcplug_workspace_reset(workspace);
  }
  if (!error) info->seconds = settings->timing ? lcplug_now() - started : 0.0;
  lcplug_fpenv_leave(host);
  return error;
}

lcplug_error lcplug_system_residual(lcplug_workspace *workspace, const lcplug_system *system,
                                    lcplug_friction friction, const double *x, const double *lo,
                                    const double *hi, double *residual) {
  lcplug_settings settings = lcplug_settings_default();
  settings.friction = friction;
  if (!workspace || !system || !residual || lcplug_settings_check(&settings))
    return LCPLUG_ERROR_ARGUMENT;
  if (system->rows > 0 && !x) return LCPLUG_ERROR_ARGUMENT;
  fpenv host = lcplug_fpenv_enter();
  other_answer answer = {x, lo, hi, 1, 1};
  lcplug_problem problem = lcplug_system_problem(system);
  job j = {.workspace = workspace, .problem = &problem, .settings = &settings, .system = system};
  lcplug_error error = judge_other(&j, &answer, 0, residual);
  lcplug_workspace_reset(workspace);
  lcplug_fpenv_leave(host);
  return error;
}
