/* pgs.c - projected Gauss-Seidel, by blocks.
 *
 * Solves A x = b + w, x in K, one block B at a time, the others held:
 *
 *     x_B <- P_K(x_B - omega w_B / d_B)                  for one row, d_B its diagonal element
 *     x_B <- the cone problem of A_BB, solved in place   for a contact
 *
 * The operator keeps A x current, so one sweep costs one pass over A.  With splitting=jacobi all
 * blocks see the forces of the sweep before, and the step is as long as the energy falls.
 * Allocates nothing: scratch comes from the workspace. */
#include "iterate.h"

#include <math.h>
#include <string.h>

enum { LOCAL_STEPS = 12, REFRESH_SWEEPS = 50 };

/* Of a Jacobi step, where moving bounds make it look uphill. */
static const double LEAST_PART = 0.05;

typedef struct sweep {
  const model *m;
  double omega;
  double *x, *state;
  double (*local)[SET_MOST_ROWS * SET_MOST_ROWS]; /* A_BB of each block */
  double *curvature;                              /* a bound on the largest eigenvalue of A_BB */
} sweep;

/* Gershgorin's bound; for one row the element itself. */
static double largest_eigenvalue_bound(const double *a, int rows) {
  double bound = 0.0;
  for (int i = 0; i < rows; i++) {
    double sum = 0.0;
    for (int j = 0; j < rows; j++) sum += fabs(a[i * rows + j]);
    bound = fmax(bound, sum);
  }
  return bound;
}

/* The block's own problem with the other blocks held: projected gradient steps on A_BB.  w is the
 * block's w at the present x. */
static void solve_local(const sweep *s, int k, const force_set *set, const double *w, double *x) {
  const double *a = s->local[k];
  double start[SET_MOST_ROWS], step = 1.0 / s->curvature[k];
  memcpy(start, x, sizeof(double) * (size_t)set->rows);
  for (int round = 0; round < LOCAL_STEPS; round++) {
    double g[SET_MOST_ROWS], q[SET_MOST_ROWS], moved = 0.0, total = 0.0;
    for (int i = 0; i < set->rows; i++) {
      g[i] = w[i];
      for (int j = 0; j < set->rows; j++) g[i] += a[i * set->rows + j] * (x[j] - start[j]);
    }
    if (s->m->coulomb) g[0] += lcplug_slip(set, g);
    for (int i = 0; i < set->rows; i++) q[i] = x[i] - step * g[i];
    lcplug_project(set, q, q);
    for (int i = 0; i < set->rows; i++) {
      moved = fmax(moved, fabs(q[i] - x[i]));
      total = fmax(total, fabs(q[i] - start[i]));
      x[i] = q[i];
    }
    if (moved <= 1e-3 * total) break;
  }
  for (int i = 0; i < set->rows; i++) x[i] = start[i] + s->omega * (x[i] - start[i]);
  if (s->omega > 1.0) lcplug_project(set, x, x);
}

/* The change that block k wants, given A x of its rows; 1 if there is any. */
static int block_change(const sweep *s, int k, const double *Ax, double *dx) {
  force_set set = s->m->sets[k];
  const double *b = s->m->b + set.first, *old = s->x + set.first;
  double w[SET_MOST_ROWS], x[SET_MOST_ROWS];
  int changed = 0;
  for (int i = 0; i < set.rows; i++) w[i] = Ax[i] - b[i], x[i] = old[i];
  lcplug_set_couple(&set, s->x);
  if (set.rows == 1) {
    double q = x[0] - s->omega * w[0] / s->curvature[k];
    lcplug_project(&set, &q, x);
  } else {
    solve_local(s, k, &set, w, x);
  }
  for (int i = 0; i < set.rows; i++) changed |= (dx[i] = x[i] - old[i]) != 0.0;
  return changed;
}

static int relax_block(sweep *s, int k) {
  const linop *op = s->m->op;
  const force_set *set = &s->m->sets[k];
  double Ax[SET_MOST_ROWS], dx[SET_MOST_ROWS];
  op->table->state_read(op, s->state, set->first, set->rows, Ax);
  if (!block_change(s, k, Ax, dx)) return 0;
  for (int i = 0; i < set->rows; i++) s->x[set->first + i] += dx[i];
  op->table->state_add(op, s->state, set->first, set->rows, dx);
  return 1;
}

static int sweep_gauss_seidel(sweep *s, int backward) {
  int changed = 0;
  for (int k = 0; k < s->m->blocks; k++) changed |= relax_block(s, k);
  for (int k = s->m->blocks - 1; backward && k >= 0; k--) changed |= relax_block(s, k);
  return changed;
}

/* All changes dx from the same x.  Taken in full they may overshoot; along dx the energy
 * 1/2 x'Ax - b'x is a parabola, and the step goes to its lowest point, or as far as dx.  Sets are
 * convex, so a part of the way is as feasible as the whole. */
static int sweep_jacobi(sweep *s, double *Ax, double *dx, double *Adx) {
  const model *m = s->m;
  int changed = 0;
  double slope = 0.0, curvature = 0.0;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    changed |= block_change(s, k, Ax + set->first, dx + set->first);
  }
  m->op->table->apply(m->op, dx, Adx);
  for (int i = 0; i < m->n; i++) {
    slope += dx[i] * (Ax[i] - m->b[i]);
    curvature += dx[i] * Adx[i];
  }
  double part = curvature > 0.0 ? -slope / curvature : 1.0;
  part = part > 1.0 ? 1.0 : part < LEAST_PART ? LEAST_PART : part;
  for (int i = 0; i < m->n; i++) {
    s->x[i] += part * dx[i];
    Ax[i] += part * Adx[i];
  }
  return changed;
}

static lcplug_error prepare(sweep *s, const model *m, const lcplug_settings *settings,
                            const iteration *it, lcplug_workspace *workspace) {
  *s = (sweep){.m = m, .omega = settings->omega};
  s->x = TAKE(workspace, double, m->n);
  s->state = TAKE(workspace, double, m->op->table->state_size(m->op));
  s->local = lcplug_take(workspace, (size_t)m->blocks, sizeof *s->local);
  s->curvature = TAKE(workspace, double, m->blocks);
  if (!s->x || !s->state || !s->local || !s->curvature) return LCPLUG_ERROR_MEMORY;
  memcpy(s->x, it->x, (size_t)m->n * sizeof *s->x);
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    m->op->table->diagonal_block(m->op, set->first, set->rows, s->local[k]);
    s->curvature[k] = fmax(largest_eigenvalue_bound(s->local[k], set->rows), m->scale[k]);
  }
  return LCPLUG_OK;
}

/* A x of all rows; the matrices' state is that product already, others have to read it out. */
static void read_product(const sweep *s, double *Ax) {
  const linop *op = s->m->op;
  for (int k = 0; k < s->m->blocks; k++) {
    const force_set *set = &s->m->sets[k];
    op->table->state_read(op, s->state, set->first, set->rows, Ax + set->first);
  }
}

lcplug_error lcplug_pgs_solve(const model *m, const lcplug_settings *settings, iteration *it,
                              lcplug_workspace *workspace) {
  int jacobi = settings->splitting == LCPLUG_SPLITTING_JACOBI;
  int backward = settings->sweep == LCPLUG_SWEEP_SYMMETRIC;
  sweep s;
  double *Ax = TAKE(workspace, double, m->n), *dx = TAKE(workspace, double, m->n);
  double *Adx = TAKE(workspace, double, m->n);
  if (!Ax || !dx || !Adx) return LCPLUG_ERROR_MEMORY;
  if (lcplug_iteration_begin(it, m, Ax, workspace)) return LCPLUG_OK;
  lcplug_error error = prepare(&s, m, settings, it, workspace);
  if (error) return error;

  for (int sweeps = 0; sweeps < it->max_iter; sweeps++) {
    /* Rounding errors of many small updates add up: start afresh from x now and then. */
    int refresh = sweeps % REFRESH_SWEEPS == 0;
    if (refresh && jacobi) m->op->table->apply(m->op, s.x, Ax);
    else if (refresh) m->op->table->state_begin(m->op, s.x, s.state);
    int changed = jacobi ? sweep_jacobi(&s, Ax, dx, Adx) : sweep_gauss_seidel(&s, backward);
    if (!jacobi) read_product(&s, Ax);
    if (lcplug_iteration_observe(it, m, s.x, Ax)) return LCPLUG_OK;
    if (!changed) {
      it->status = LCPLUG_STALLED;
      return LCPLUG_OK;
    }
  }
  return LCPLUG_OK;
}
