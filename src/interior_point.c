/* interior_point.c - Mehrotra's predictor-corrector method for a box.
 *
 * Every finite bound of a row is a pair of a slack s and a multiplier z, both kept positive:
 *
 *     A x - b = sum of sign z over the row's pairs,    s = sign (x - bound),    s z = mu -> 0
 *
 * with sign +1 at a lower bound and -1 at an upper one.  A step factorizes A + diag(sum z / s) once
 * and solves with it several times: for the predictor (mu 0), for Mehrotra's corrector, and for
 * Gondzio's correctors, which pull products that a longer step would unbalance back to the others.
 *
 * As soon as two looks agree on which rows are at a bound the active set tries to finish. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "box.h"

/* In units of the first mu: from here on the active set may try to finish; from here on steps that
 * bring nothing are counted; here nothing is left. */
static const double CROSSOVER_MU = 1e-8, IDLE_MU = 1e-22, LEAST_MU = 1e-30;
/* Of the diagonal, added to what is factorized: keeps a singular A from dropping pivots. */
static const double BARRIER_TRACE = 1e-11;
/* What a plain step makes of mu. */
static const double CAUTIOUS_TARGET = 0.3;
enum { CROSSOVER_STEPS = 6, MOST_CORRECTORS = 1, MOST_IDLE = 5, MOST_RECOVERIES = 3 };
/* Who asks for no more than this does not pay for more. */
static const double COARSE = 1e-8;
enum { MOST_LOST = 3, PLAIN_STEPS = 3 };

typedef struct interior {
  box *p;
  double *x, *r;                /* iterate; dual residual A x - b - sum sign z */
  double *dx, *rhs;             /* its step */
  int pairs;
  int *row;                     /* of each pair: its row, */
  double *sign, *s, *z;         /* slack and multiplier, */
  double *ds, *dz, *c;          /* their step, and the change of s z that the step is to make */
  double *ds_more, *dz_more;    /* what one more corrector would add */
  unsigned char *seen;          /* places of the rows at the last look */
  double mu;                    /* mean of s z */
  double lowest_mu;
  int lost;                     /* steps that did not lower it */
  int cautious;                 /* plain steps to take */
} interior;

static int take_vectors(interior *v, int rows, lcplug_workspace *workspace) {
  double **by_row[] = {&v->x, &v->r, &v->dx, &v->rhs};
  double **by_pair[] = {&v->sign, &v->s, &v->z, &v->ds, &v->dz, &v->c, &v->ds_more, &v->dz_more};
  for (size_t i = 0; i < sizeof by_row / sizeof *by_row; i++)
    if (!(*by_row[i] = TAKE(workspace, double, rows))) return 0;
  for (size_t i = 0; i < sizeof by_pair / sizeof *by_pair; i++)
    if (!(*by_pair[i] = TAKE(workspace, double, 2 * rows))) return 0;
  v->row = TAKE(workspace, int, 2 * rows);
  v->seen = TAKE(workspace, unsigned char, rows);
  return v->row && v->seen;
}

static void add_pair(interior *v, int row, double sign, double slack, double multiplier) {
  int k = v->pairs++;
  v->row[k] = row;
  v->sign[k] = sign;
  v->s[k] = slack;
  v->z[k] = multiplier;
}

static double mean_product(const interior *v) {
  double sum = 0.0;
  for (int k = 0; k < v->pairs; k++) sum += v->s[k] * v->z[k];
  return v->pairs ? sum / v->pairs : 0.0;
}

/* Products that differ by orders of magnitude make the first steps short: brings each within a
 * factor of ten of their mean by its multiplier. */
static void balance(interior *v) {
  double mu = mean_product(v);
  for (int k = 0; k < v->pairs; k++)
    v->z[k] = fmin(fmax(v->z[k], 0.1 * mu / v->s[k]), 10.0 * mu / v->s[k]);
}

/* Moves x inside its bounds and gives every bound a multiplier that fits w. */
static void begin(interior *v) {
  box *p = v->p;
  double least = DBL_MIN; /* a row of zeros counts as the rounding error of the largest row */
  for (int i = 0; i < p->rows; i++) least = fmax(least, DBL_EPSILON * p->diagonal[i]);
  for (int i = 0; i < p->rows; i++) {
    int has_lo = p->lo[i] > -INFINITY, has_hi = p->hi[i] < INFINITY;
    double room = fmax(fabs(p->x[i]), p->unit / fmax(p->diagonal[i], least));
    if (has_lo && has_hi) room = fmin(room, 0.25 * (p->hi[i] - p->lo[i]));
    double x = p->x[i];
    if (has_lo) x = fmax(x, p->lo[i] + room);
    if (has_hi) x = fmin(x, p->hi[i] - room);
    if (has_lo) add_pair(v, i, 1.0, x - p->lo[i], fmax(p->w[i], 0.0) + 0.1 * p->unit);
    if (has_hi) add_pair(v, i, -1.0, p->hi[i] - x, fmax(-p->w[i], 0.0) + 0.1 * p->unit);
    v->x[i] = x;
  }
  balance(v);
  v->mu = v->lowest_mu = mean_product(v);
  memset(v->seen, INSIDE, (size_t)p->rows);
}

static void set_dual_residual(interior *v) {
  box *p = v->p;
  memcpy(p->x, v->x, (size_t)p->rows * sizeof *p->x);
  lcplug_box_set_w(p);
  memcpy(v->r, p->w, (size_t)p->rows * sizeof *v->r);
  for (int k = 0; k < v->pairs; k++) v->r[v->row[k]] -= v->sign[k] * v->z[k];
}

/* What the factorization adds to the diagonal. */
static void set_barrier(interior *v) {
  box *p = v->p;
  memset(p->keep, 1, (size_t)p->rows);
  for (int i = 0; i < p->rows; i++) p->extra[i] = BARRIER_TRACE * p->diagonal[i];
  for (int k = 0; k < v->pairs; k++) p->extra[v->row[k]] += v->z[k] / v->s[k];
}

/* dx for the right side in v->rhs, to which the pairs' wishes c are added; then ds and dz. */
typedef void linear_solve(box *p, double *vector);
static void solve_for(interior *v, linear_solve *solve, double *dx, double *ds, double *dz) {
  for (int k = 0; k < v->pairs; k++) v->rhs[v->row[k]] += v->sign[k] * v->c[k] / v->s[k];
  memcpy(dx, v->rhs, (size_t)v->p->rows * sizeof *dx);
  solve(v->p, dx);
  for (int k = 0; k < v->pairs; k++) {
    ds[k] = v->sign[k] * dx[v->row[k]];
    dz[k] = (v->c[k] - v->z[k] * ds[k]) / v->s[k];
  }
}

static void set_dual_side(interior *v) {
  for (int i = 0; i < v->p->rows; i++) v->rhs[i] = -v->r[i];
}

static void predictor(interior *v) {
  set_dual_side(v);
  for (int k = 0; k < v->pairs; k++) v->c[k] = -v->s[k] * v->z[k];
  solve_for(v, v->p->matrix->factor_and_solve, v->dx, v->ds, v->dz);
}

/* second_order: takes the predictor's product ds dz into account, Mehrotra's idea. */
static void corrector(interior *v, double target, int second_order) {
  set_dual_side(v);
  for (int k = 0; k < v->pairs; k++) {
    double bend = second_order ? v->ds[k] * v->dz[k] : 0.0;
    v->c[k] = target - v->s[k] * v->z[k] - bend;
  }
  solve_for(v, v->p->matrix->solve, v->dx, v->ds, v->dz);
}

/* The longest step, at most 1, that keeps slacks and multipliers positive. */
static double longest_step(const interior *v, const double *ds, const double *dz) {
  double inverse = 1.0; /* the largest of -ds / s and -dz / z */
  for (int k = 0; k < v->pairs; k++) {
    double by_s = -ds[k] / v->s[k], by_z = -dz[k] / v->z[k];
    inverse = by_s > inverse ? by_s : inverse;
    inverse = by_z > inverse ? by_z : inverse;
  }
  return 1.0 / inverse;
}

static double mean_product_after(const interior *v, double step) {
  double sum = 0.0;
  for (int k = 0; k < v->pairs; k++)
    sum += (v->s[k] + step * v->ds[k]) * (v->z[k] + step * v->dz[k]);
  return v->pairs ? sum / v->pairs : 0.0;
}

/* One of Gondzio's correctors: looks at a longer step than the present one and asks for products
 * within a factor of ten of the target there.  Returns the step that the direction now allows; the
 * direction stays as it was unless that is worth it. */
static double one_more_corrector(interior *v, double target, double step) {
  const double longer = fmin(1.0, step + 0.3), least = 0.1 * target, most = 10.0 * target;
  for (int k = 0; k < v->pairs; k++) {
    double product = (v->s[k] + longer * v->ds[k]) * (v->z[k] + longer * v->dz[k]);
    double wish = product < least ? least - product : product > most ? most - product : 0.0;
    v->c[k] = fmax(wish, -most);
  }
  memset(v->rhs, 0, (size_t)v->p->rows * sizeof *v->rhs);
  double *dx_more = v->p->dx;
  solve_for(v, v->p->matrix->solve, dx_more, v->ds_more, v->dz_more);
  for (int k = 0; k < v->pairs; k++) v->ds_more[k] += v->ds[k], v->dz_more[k] += v->dz[k];
  double better = longest_step(v, v->ds_more, v->dz_more);
  if (better < step + 0.03) return step;
  for (int i = 0; i < v->p->rows; i++) v->dx[i] += dx_more[i];
  memcpy(v->ds, v->ds_more, (size_t)v->pairs * sizeof *v->ds);
  memcpy(v->dz, v->dz_more, (size_t)v->pairs * sizeof *v->dz);
  return better;
}

/* Second-order steps can run in circles; a few plain ones towards the middle break them. */
static void beware_of_circles(interior *v) {
  if (v->cautious > 0) v->cautious--;
  if (v->mu < 0.9 * v->lowest_mu) {
    v->lowest_mu = v->mu;
    v->lost = 0;
  } else if (++v->lost == MOST_LOST) {
    v->lost = 0;
    v->cautious = PLAIN_STEPS;
  }
}

/* One step of the method; returns its length. */
static double advance(interior *v) {
  set_barrier(v);
  predictor(v);
  double after = mean_product_after(v, longest_step(v, v->ds, v->dz));
  double ratio = v->mu > 0.0 ? after / v->mu : 0.0;
  double target = v->cautious ? CAUTIOUS_TARGET * v->mu : ratio * ratio * ratio * v->mu;
  corrector(v, target, !v->cautious);
  double step = longest_step(v, v->ds, v->dz);
  for (int more = 0; more < MOST_CORRECTORS && step < 0.9; more++) {
    double before = step;
    step = one_more_corrector(v, target, step);
    if (step == before) break;
  }
  if (step < 1.0) step *= 0.995;
  for (int i = 0; i < v->p->rows; i++) v->x[i] += step * v->dx[i];
  for (int k = 0; k < v->pairs; k++) v->s[k] += step * v->ds[k], v->z[k] += step * v->dz[k];
  v->mu = mean_product(v);
  beware_of_circles(v);
  return step;
}

/* A bound counts as reached when its multiplier outweighs its slack.  Returns the changes since the
 * last look. */
static int look(interior *v) {
  box *p = v->p;
  int changes = 0;
  unsigned char *now = p->place;
  memset(now, INSIDE, (size_t)p->rows);
  for (int k = 0; k < v->pairs; k++)
    if (v->z[k] > p->diagonal[v->row[k]] * v->s[k]) now[v->row[k]] = v->sign[k] > 0.0 ? AT_LO : AT_HI;
  for (int i = 0; i < p->rows; i++) changes += now[i] != v->seen[i];
  memcpy(v->seen, now, (size_t)p->rows);
  return changes;
}

/* How far the method has come, to know when it is at its end. */
typedef struct progress {
  double first_mu, tried_mu; /* at the start, and when the active set last tried */
  double residual;           /* the last one that was clearly better than the one before */
  int idle;                  /* steps since then */
  int recoveries;
} progress;

static int is_at_end(progress *g, const interior *v, double residual) {
  g->idle++;
  if (residual < 0.5 * g->residual) g->residual = residual, g->idle = 0;
  return v->mu <= LEAST_MU * g->first_mu || (v->mu < IDLE_MU * g->first_mu && g->idle >= MOST_IDLE);
}

/* Steps have become tiny: a few products are far from all the others.  Starts anew from here, with
 * multipliers that fit. */
static int recover(progress *g, interior *v) {
  if (g->recoveries++ == MOST_RECOVERIES) return 0;
  lcplug_box_set_w(v->p);
  v->pairs = 0;
  begin(v);
  g->first_mu = fmax(g->first_mu, v->mu);
  g->tried_mu = INFINITY;
  return 1;
}

/* An interior iterate that meets the tolerance is near its bounds but not at them; one active set puts
 * it there.  Kept if it is as good. */
static void polish(interior *v, iteration *it) {
  if (it->status != LCPLUG_SOLVED || it->tol > COARSE) return;
  look(v);
  it->factorizations++;
  lcplug_active_set(v->p, it, 1);
  it->status = LCPLUG_SOLVED;
}

lcplug_error lcplug_interior_point(box *p, iteration *it, int steps, lcplug_workspace *workspace) {
  interior v = {.p = p};
  if (!take_vectors(&v, p->rows, workspace)) return LCPLUG_ERROR_MEMORY;
  lcplug_box_set_w(p);
  begin(&v);
  progress g = {.first_mu = v.mu, .tried_mu = INFINITY, .residual = INFINITY};
  for (int step = 0; step < steps; step++) {
    set_dual_residual(&v);
    if (lcplug_box_observe(p, it)) {
      polish(&v, it);
      return LCPLUG_OK;
    }
    int changes = look(&v), last = is_at_end(&g, &v, it->residual);
    int settled = changes == 0 && v.mu < CROSSOVER_MU * g.first_mu && v.mu < 1e-3 * g.tried_mu;
    if (last || settled) {
      if (lcplug_active_set(p, it, CROSSOVER_STEPS) || last) return LCPLUG_OK;
      if (it->status == LCPLUG_TIME_LIMIT) return LCPLUG_OK;
      g.tried_mu = v.mu;
      set_dual_residual(&v);
    }
    it->factorizations++;
    if (advance(&v) < 1e-6 && !recover(&g, &v)) break;
  }
  it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
