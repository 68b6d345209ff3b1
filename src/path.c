/* path.c - see path.h. */
#include "path.h"

#include <math.h>
#include <string.h>

/* ---- by eps */
enum { MOST_JAMS = 2, MOST_AT_ONE_EPS = 12, FRESH_STEPS = 10, MOST_FAILED_MENDS = 4 };
/* |f| / sqrt(sets) is kept below this many eps. */
static const double NEAR = 0.3;
/* What eps is multiplied by in the beginning, and before the path counts as lost. */
static const double BRISK = 0.2, SLOWEST = 0.9;
static const double LAST_EPS = 1e-3;
/* Of the tolerance: what the square of eps has to be below before an answer is judged. */
static const double MAY_BE_RIGHT = 1e4;
/* Shorter steps than this are no progress; the shortest that is tried. */
static const double SHORT = 0.1, SHORTEST = 1e-3;
/* Damping: what shorter steps than this add to it and longer ones take from it; where it begins
 * and ends. */
static const double DAMP_BELOW = 0.2, FREE_ABOVE = 0.4, DAMP_BY = 100.0;
static const double FIRST_DAMPING = 1e-8, MOST_DAMPING = 1e-3;

static int take_vectors(path *p, int n, lcplug_workspace *workspace) {
  double **vectors[] = {&p->dx, &p->Adx, &p->trial, &p->Atrial, &p->diagonal, &p->center};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, n + PANEL_PAD))) return 0;
  return lcplug_point_take(&p->now, n, workspace) && lcplug_point_take(&p->kept, n, workspace);
}

lcplug_error lcplug_path_begin(path *p, const model *m, const lower_triangle *A, cholesky *factor,
                               condensed *q, iteration *it, lcplug_workspace *workspace) {
  *p = (path){.m = m, .it = it, .symmetric = !A->skew, .workspace = workspace};
  if (!take_vectors(p, m->n, workspace)) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = lcplug_smoothing_begin(&p->smooth, m, workspace);
  if (!error) error = lcplug_lu_begin(&p->matrix, factor, q, A, workspace);
  if (error) return error;
  memcpy(p->now.x, it->x, (size_t)m->n * sizeof(double));
  m->op->table->apply(m->op, p->now.x, p->now.Ax);
  m->op->table->diagonal(m->op, p->diagonal);
  p->now.eps = p->smooth.unit;
  return LCPLUG_OK;
}

int lcplug_point_take(point *to, int n, lcplug_workspace *workspace) {
  to->x = TAKE(workspace, double, n + PANEL_PAD);
  to->Ax = TAKE(workspace, double, n + PANEL_PAD);
  return to->x && to->Ax;
}

void lcplug_point_copy(point *to, const point *from, int n) {
  memcpy(to->x, from->x, (size_t)n * sizeof *to->x);
  memcpy(to->Ax, from->Ax, (size_t)n * sizeof *to->Ax);
  to->eps = from->eps;
}

void lcplug_path_apply(const path *p, const double *x, const double *from, double *Ax) {
  const model *m = p->m;
  m->op->table->apply(m->op, x, Ax);
  for (int i = 0; p->pull > 0.0 && i < m->n; i++)
    Ax[i] += p->pull * p->diagonal[i] * (from ? x[i] - from[i] : x[i]);
}

void lcplug_path_pull(path *p, const double *center, double part) {
  const model *m = p->m;
  p->pull = part;
  memcpy(p->center, center, (size_t)m->n * sizeof *center);
  memcpy(p->now.x, center, (size_t)m->n * sizeof *center);
  m->op->table->apply(m->op, p->now.x, p->now.Ax);
}

double lcplug_path_least_pivot(path *p) {
  lcplug_lu_load(&p->matrix, p->symmetric);
  lcplug_lu_add_diagonal(&p->matrix, TRACE, p->diagonal);
  lcplug_lu_factor(&p->matrix);
  p->it->factorizations++;
  return lcplug_lu_least_pivot(&p->matrix, p->diagonal);
}

static double distance(const path *p, const double *x, const double *Ax) {
  return sqrt(lcplug_smoothing_merit(&p->smooth, p->now.eps, x, Ax));
}

/* How small |f| has to be beside eps. */
static double near_path(const path *p) { return NEAR * sqrt((double)p->m->blocks) * p->now.eps; }

double lcplug_path_distance(const path *p) {
  return distance(p, p->now.x, p->now.Ax) / near_path(p);
}

void lcplug_path_restart(path *p) {
  p->now.eps = p->smooth.unit;
  memset(p->now.x, 0, (size_t)p->m->n * sizeof *p->now.x);
  lcplug_path_apply(p, p->now.x, p->center, p->now.Ax);
  lcplug_smoothing_forget_slip(&p->smooth);
}

void lcplug_path_find_direction(path *p) {
  lcplug_lu_load(&p->matrix, p->symmetric && p->smooth.symmetric && !p->smooth.exact);
  lcplug_smoothing_linearize(&p->smooth, p->now.eps, p->now.x, p->now.Ax, &p->matrix, p->dx);
  p->added = fmax(TRACE, p->damping) + p->pull;
  lcplug_lu_add_diagonal(&p->matrix, p->added, p->diagonal);
  lcplug_lu_factor(&p->matrix);
  lcplug_lu_solve(&p->matrix, p->dx);
  p->steps++;
  p->it->factorizations++;
}

/* |f| a part of the way along dx; leaves the point in trial. */
static double distance_along(path *p, double part) {
  for (int i = 0; i < p->m->n; i++) {
    p->trial[i] = p->now.x[i] + part * p->dx[i];
    p->Atrial[i] = p->now.Ax[i] + part * p->Adx[i];
  }
  return distance(p, p->trial, p->Atrial);
}

/* Levenberg's rule, in large strides. */
static void damp(path *p) {
  double more = fmin(fmax(DAMP_BY * p->damping, FIRST_DAMPING), MOST_DAMPING);
  double less = p->damping > FIRST_DAMPING ? p->damping / DAMP_BY : 0.0;
  if (p->part < DAMP_BELOW) p->damping = more;
  else if (p->part > FREE_ABOVE) p->damping = less;
}

double lcplug_path_advance(path *p, double *after) {
  size_t bytes = (size_t)p->m->n * sizeof(double);
  double before = distance(p, p->now.x, p->now.Ax), part = 1.0;
  lcplug_path_find_direction(p);
  lcplug_path_apply(p, p->dx, NULL, p->Adx);
  *after = distance_along(p, part);
  while (!(*after <= (1.0 - 1e-4 * part) * before) && part > SHORTEST)
    *after = distance_along(p, part *= 0.5);
  memcpy(p->now.x, p->trial, bytes);
  memcpy(p->now.Ax, p->Atrial, bytes);
  if (p->steps % FRESH_STEPS == 0) lcplug_path_apply(p, p->now.x, p->center, p->now.Ax);
  return p->part = part;
}

int lcplug_path_observe_at(path *p, const double *x, const double *Ax) {
  const model *m = p->m;
  lcplug_smoothing_answer(&p->smooth, x, Ax, p->trial);
  m->op->table->apply(m->op, p->trial, p->Atrial);
  return lcplug_iteration_observe(p->it, m, p->trial, p->Atrial);
}

int lcplug_path_observe(path *p) { return lcplug_path_observe_at(p, p->now.x, p->now.Ax); }

/* A force counts as the velocity that it makes, in units of the right side, and one that is large
 * by its own size: redundant contacts may press each other apart with a million times the weight of
 * all, and steps that are measured by such forces overlook everybody else. */
void lcplug_path_measure(const path *p, const double *x, double *unit) {
  for (int i = 0; i < p->m->n; i++)
    unit[i] = p->diagonal[i] / (p->smooth.unit + p->diagonal[i] * fabs(x[i]));
}

int lcplug_path_polish(path *p) {
  double after;
  p->damping = 0.0;
  p->now.eps = fmax(LAST_EPS * p->now.eps, LEAST_EPS * p->smooth.unit);
  lcplug_path_advance(p, &after);
  return lcplug_path_observe(p);
}

int lcplug_path_leap(path *p, double eps) {
  p->damping = 0.0;
  p->now.eps = fmax(eps, LEAST_EPS * p->smooth.unit);
  lcplug_path_find_direction(p);
  for (int i = 0; i < p->m->n; i++) p->now.x[i] += p->dx[i];
  lcplug_path_apply(p, p->now.x, p->center, p->now.Ax);
  return lcplug_path_observe(p);
}

/* ---- by eps ---------------------------------------------------------------------------------- */

/* Far from the path, or with round corners, an answer is seldom good; judging it costs half a step.
 * What corners do to it goes with the square of eps. */
static int is_time_to_look(const path *p, int near) {
  double size = p->now.eps / p->smooth.unit;
  return p->it->deadline < INFINITY || p->steps % FRESH_STEPS == 0 ||
         (near && size * size <= MAY_BE_RIGHT * p->it->tol);
}

/* Back to the last point near the path, and on from there more slowly; 0 if that has been tried. */
static int retreat(path *p) {
  p->factor = sqrt(p->factor);
  if (p->factor > SLOWEST) return 0;
  lcplug_point_copy(&p->now, &p->kept, p->m->n);
  p->now.eps *= p->factor;
  return 1;
}

/* Near the path: the next eps, the smaller the less it took to get here. */
static void tighten(path *p, const manner *how, double after, int here) {
  lcplug_point_copy(&p->kept, &p->now, p->m->n);
  p->now.eps *= fmax(p->factor, after / near_path(p));
  p->now.eps = fmax(p->now.eps, LEAST_EPS * p->smooth.unit);
  if (here <= 1) p->factor = fmax(how->fastest, p->factor * p->factor);
  else if (here > 3) p->factor = fmax(p->factor, BRISK);
}

static int is_mended(path *p, const manner *how, int *mends) {
  if (!*mends) return 0;
  int mended = how->mend(p);
  *mends -= !mended;
  return mended;
}

int lcplug_path_follow(path *p, manner how) {
  int jams = 0, here = 0, mends = how.mend ? MOST_FAILED_MENDS : 0;
  p->factor = BRISK;
  p->damping = 0.0;
  lcplug_point_copy(&p->kept, &p->now, p->m->n);
  for (int last = p->steps + how.steps; p->steps < last && p->now.eps > how.goal;) {
    double after, part = lcplug_path_advance(p, &after);
    int near = after <= near_path(p);
    if (p->damps && !p->smooth.rough) damp(p); /* all or nothing leaves no room for less */
    if (is_time_to_look(p, near) && lcplug_path_observe(p)) return 1;
    if (how.lagging) {
      lcplug_smoothing_follow_slip(&p->smooth, p->now.Ax);
      after = distance(p, p->now.x, p->now.Ax);
      near = after <= near_path(p);
    } else if (part < SHORT) {
      near = 0; /* but only just, and no nearer with the next eps */
    }
    jams = part < SHORT ? jams + 1 : 0;
    here++;
    int jammed = !how.lagging && (jams >= MOST_JAMS || here > MOST_AT_ONE_EPS);
    if (near) tighten(p, &how, after, here);
    else if (jammed && !is_mended(p, &how, &mends) && (how.gives_up || !retreat(p))) break;
    if (near || jammed) here = jams = 0;
  }
  p->damping = 0.0;
  return 0;
}
