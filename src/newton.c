/* newton.c - Newton's method along a path of smoothed conditions; see smooth.h.
 *
 *     repeat:  solve (A + E) dx = r,  go along dx while |f| falls,
 *              and whenever |f| is small beside eps, make eps smaller
 *
 * Every step costs one factorization.  For friction=cone, whose problem is convex, the path leads to
 * the answer.  Exact Coulomb friction is not convex, and its path may turn back.  Most problems are
 * solved by a hasty try all the same.  For the others the first part of the way is gone with the cone,
 * De Saxce's term taken from the step before, and from there on exactly, with quadratic convergence.
 * Where that fails the cone is followed further before the next try. */
#include "newton.h"

#include <math.h>
#include <string.h>

#include "lu.h"
#include "smooth.h"

/* Without a limit to friction there may be no answer at all; one that exists is found soon. */
enum { MOST_STEPS = 1000, MOST_ROUGH_STEPS = 150, HASTY_STEPS = 30, EXACT_STEPS = 80 };
enum { MOST_JAMS = 2, MOST_AT_ONE_EPS = 12, FRESH_STEPS = 10 };

/* |f| / sqrt(sets) is kept below this many eps. */
static const double NEAR = 0.3;
/* What eps is multiplied by in the beginning, at best, and before the path counts as lost. */
static const double BRISK = 0.2, FASTEST = 1e-3, SLOWEST = 0.9;
/* From a guess that leaves less than this the path begins at so much of its residual. */
static const double GOOD_GUESS = 0.5, WARM_EPS = 0.01;
/* The stiffness of the first, hasty try, and of all others. */
static const double STIFF = 1.0, SOFT = 0.1;
/* Of the first eps: where the exact conditions are tried first, and how much later the next time; they
 * start with this many times the cone's eps. */
static const double FIRST_TRY = 1e-2, NEXT_TRY = 0.5, BRANCH_EPS = 3.0;
static const double LEAST_EPS = 1e-14;
/* Of the tolerance: what the square of eps has to be below before an answer is judged. */
static const double MAY_BE_RIGHT = 1e4;
/* Shorter steps than this are no progress; the shortest that is tried. */
static const double SHORT = 0.1, SHORTEST = 1e-3;
/* Of A's diagonal, added to it: keeps the matrix of redundant contacts from being singular. */
static const double TRACE = 1e-12;

/* Who asks for no more than this does not pay for more; who does gets this, if two steps can. */
static const double COARSE = 1e-8, POLISHED = 1e-13, LAST_EPS = 1e-3;
enum { LAST_STEPS = 2 };

/* A point on the path. */
typedef struct point {
  double *x, *Ax;
  double eps;
} point;

typedef struct newton {
  const model *m;
  smoothing smooth;
  lu matrix;
  int symmetric;           /* A is */
  point now, kept, branch; /* the iterate; the last one near the path; where the exact way set off */
  double factor;           /* of the next eps */
  double *dx, *Adx, *trial, *Atrial, *diagonal;
  int steps;
} newton;

static int take_vectors(newton *v, int n, lcplug_workspace *workspace) {
  double **vectors[] = {&v->now.x,  &v->now.Ax, &v->kept.x, &v->kept.Ax, &v->branch.x, &v->branch.Ax,
                        &v->dx,     &v->Adx,    &v->trial,  &v->Atrial,  &v->diagonal};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, n + PANEL_PAD))) return 0;
  return 1;
}

static void copy_point(point *to, const point *from, int n) {
  memcpy(to->x, from->x, (size_t)n * sizeof *to->x);
  memcpy(to->Ax, from->Ax, (size_t)n * sizeof *to->Ax);
  to->eps = from->eps;
}

static double distance(const newton *v, const double *x, const double *Ax) {
  return sqrt(lcplug_smoothing_merit(&v->smooth, v->now.eps, x, Ax));
}

static void find_direction(newton *v) {
  const model *m = v->m;
  lcplug_lu_load(&v->matrix, v->symmetric && !v->smooth.exact && v->smooth.symmetric);
  lcplug_smoothing_linearize(&v->smooth, v->now.eps, v->now.x, v->now.Ax, &v->matrix, v->dx);
  lcplug_lu_add_diagonal(&v->matrix, TRACE, v->diagonal);
  lcplug_lu_factor(&v->matrix);
  lcplug_lu_solve(&v->matrix, v->dx);
  m->op->table->apply(m->op, v->dx, v->Adx);
}

/* |f| a part of the way along dx; leaves the point in trial. */
static double distance_along(newton *v, double part) {
  for (int i = 0; i < v->m->n; i++) {
    v->trial[i] = v->now.x[i] + part * v->dx[i];
    v->Atrial[i] = v->now.Ax[i] + part * v->Adx[i];
  }
  return distance(v, v->trial, v->Atrial);
}

/* One step; returns how far it went, a part of dx. */
static double advance(newton *v, double *after) {
  const model *m = v->m;
  double before = distance(v, v->now.x, v->now.Ax), part = 1.0;
  find_direction(v);
  *after = distance_along(v, part);
  while (!(*after <= (1.0 - 1e-4 * part) * before) && part > SHORTEST)
    *after = distance_along(v, part *= 0.5);
  memcpy(v->now.x, v->trial, (size_t)m->n * sizeof(double));
  memcpy(v->now.Ax, v->Atrial, (size_t)m->n * sizeof(double));
  if (++v->steps % FRESH_STEPS == 0) m->op->table->apply(m->op, v->now.x, v->now.Ax);
  return part;
}

/* Far from the path, or with round corners, an answer is seldom good; judging it costs half a step.  What
 * corners do to it goes with the square of eps. */
static int is_time_to_look(const newton *v, const iteration *it, int near) {
  double size = v->now.eps / v->smooth.unit;
  return it->deadline < INFINITY || v->steps % FRESH_STEPS == 0 ||
         (near && size * size <= MAY_BE_RIGHT * it->tol);
}

static int observe(newton *v, iteration *it) {
  const model *m = v->m;
  lcplug_smoothing_answer(&v->smooth, v->now.x, v->now.Ax, v->trial);
  m->op->table->apply(m->op, v->trial, v->Atrial);
  return lcplug_iteration_observe(it, m, v->trial, v->Atrial);
}

/* How small |f| has to be beside eps. */
static double near_path(const newton *v) {
  return NEAR * sqrt((double)v->m->blocks) * v->now.eps;
}

/* Back to the last point near the path, and on from there more slowly; 0 if that has been tried. */
static int retreat(newton *v) {
  v->factor = sqrt(v->factor);
  if (v->factor > SLOWEST) return 0;
  copy_point(&v->now, &v->kept, v->m->n);
  v->now.eps *= v->factor;
  return 1;
}

/* How a part of the path is followed. */
typedef struct manner {
  double goal;    /* down to this eps ... */
  int steps;      /* ... in at most so many steps */
  double fastest; /* what eps is multiplied by at best */
  int lagging;    /* De Saxce's terms follow after every step */
  int gives_up;   /* at the first jam */
} manner;

/* Near the path: the next eps, the smaller the less it took to get here. */
static void tighten(newton *v, const manner *how, double after, int here) {
  copy_point(&v->kept, &v->now, v->m->n);
  v->now.eps *= fmax(v->factor, after / near_path(v));
  v->now.eps = fmax(v->now.eps, LEAST_EPS * v->smooth.unit);
  if (here <= 1) v->factor = fmax(how->fastest, v->factor * v->factor);
  else if (here > 3) v->factor = fmax(v->factor, BRISK);
}

/* Follows the path.  1 when it is time to stop. */
static int follow(newton *v, iteration *it, manner how) {
  int jams = 0, here = 0;
  v->factor = BRISK;
  copy_point(&v->kept, &v->now, v->m->n);
  for (int last = v->steps + how.steps; v->steps < last && v->now.eps > how.goal;) {
    double after, part = advance(v, &after);
    it->factorizations++;
    int near = after <= near_path(v);
    if (is_time_to_look(v, it, near) && observe(v, it)) return 1;
    if (how.lagging) {
      lcplug_smoothing_follow_slip(&v->smooth, v->now.Ax);
      after = distance(v, v->now.x, v->now.Ax);
      near = after <= near_path(v);
    }
    jams = part < SHORT ? jams + 1 : 0;
    here++;
    int jammed = jams >= MOST_JAMS || here > MOST_AT_ONE_EPS;
    if (near) tighten(v, &how, after, here);
    else if (jammed && !how.lagging && (how.gives_up || !retreat(v))) return 0;
    if (near || (jammed && !how.lagging)) here = jams = 0;
  }
  return 0;
}

/* A few stiff steps are all that most problems need. */
static int solve_hastily(newton *v, iteration *it) {
  copy_point(&v->branch, &v->now, v->m->n);
  v->smooth.stiffness = STIFF;
  v->smooth.exact = 1;
  if (follow(v, it, (manner){.steps = HASTY_STEPS, .fastest = FASTEST, .gives_up = 1})) return 1;
  copy_point(&v->now, &v->branch, v->m->n);
  return 0;
}

static int steps_left(const newton *v) {
  return (v->smooth.rough ? MOST_ROUGH_STEPS : MOST_STEPS) - v->steps;
}

static void solve_cone(newton *v, iteration *it) {
  v->smooth.stiffness = SOFT;
  while (steps_left(v) > 0)
    if (follow(v, it, (manner){.steps = steps_left(v), .fastest = FASTEST})) return;
}

/* The cone's path, and from time to time an exact branch off it, which starts a little rounder. */
static void solve_coulomb(newton *v, iteration *it) {
  double first = v->now.eps;
  if (solve_hastily(v, it)) return;
  v->smooth.stiffness = SOFT;
  for (double goal = FIRST_TRY * first; steps_left(v) > 0; goal *= NEXT_TRY) {
    manner relaxed = {.goal = goal, .steps = steps_left(v), .fastest = BRISK, .lagging = 1};
    v->smooth.exact = 0;
    if (follow(v, it, relaxed)) return;
    copy_point(&v->branch, &v->now, v->m->n);
    v->smooth.exact = 1;
    v->now.eps = fmin(first, BRANCH_EPS * v->now.eps);
    if (follow(v, it, (manner){.steps = EXACT_STEPS, .fastest = BRISK})) return;
    copy_point(&v->now, &v->branch, v->m->n);
  }
}

/* An answer that is right to 1e-8 lets bodies that touch part, a little, and engines that make contacts
 * on touch alone then lose them.  Near the answer a step or two more leave rounding error only. */
static void polish(newton *v, iteration *it) {
  if (it->status != LCPLUG_SOLVED || it->tol > COARSE) return;
  for (int k = 0; k < LAST_STEPS && it->residual > POLISHED; k++) {
    double after;
    v->now.eps = fmax(LAST_EPS * v->now.eps, LEAST_EPS * v->smooth.unit);
    advance(v, &after);
    it->factorizations++;
    observe(v, it);
  }
  it->status = LCPLUG_SOLVED;
}

lcplug_error lcplug_newton_solve(const model *m, const lower_triangle *A, cholesky *factor,
                                 iteration *it, lcplug_workspace *workspace) {
  newton v = {.m = m, .symmetric = !A->skew};
  if (!take_vectors(&v, m->n, workspace)) return LCPLUG_ERROR_MEMORY;
  if (lcplug_iteration_begin(it, m, v.now.Ax, workspace)) return LCPLUG_OK;
  lcplug_error error = lcplug_smoothing_begin(&v.smooth, m, workspace);
  if (!error) error = lcplug_lu_begin(&v.matrix, factor, A, workspace);
  if (error) return error;
  memcpy(v.now.x, it->x, (size_t)m->n * sizeof(double));
  m->op->table->apply(m->op, v.now.x, v.now.Ax);
  m->op->table->diagonal(m->op, v.diagonal);
  v.now.eps = v.smooth.unit * (it->residual < GOOD_GUESS ? WARM_EPS * it->residual : 1.0);
  it->status = LCPLUG_ITERATION_LIMIT;
  int before = it->iterations;
  (m->coulomb ? solve_coulomb : solve_cone)(&v, it);
  polish(&v, it);
  it->iterations = before + v.steps; /* not only those that were looked at */
  if (it->status == LCPLUG_ITERATION_LIMIT) it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
