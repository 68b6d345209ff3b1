/* model.c - friction rows become sets; see model.h. */
#include "model.h"

#include <float.h>
#include <math.h>

static force_set interval(int row, double lo, double hi) {
  if (lo == -INFINITY && hi == INFINITY)
    return (force_set){.kind = SET_FREE, .first = row, .rows = 1};
  return (force_set){.kind = SET_INTERVAL, .first = row, .rows = 1, .lo = lo, .hi = hi};
}

static force_set coupled(const layout *l, int row) {
  return (force_set){.kind = SET_COUPLED,
                     .first = row,
                     .rows = 1,
                     .normal = l->normal[row],
                     .mu = {l->hi[row], 0.0}};
}

static force_set cone(const layout *l, int row) {
  int rows = l->cone_rows[row];
  double mu1 = l->hi[row + 1], mu2 = rows > 2 ? l->hi[row + 2] : mu1;
  return (force_set){
      .kind = mu1 == mu2 ? SET_CONE : SET_ELLIPSE, .first = row, .rows = rows, .mu = {mu1, mu2}};
}

static force_set set_of_row(const layout *l, int row, friction_stage stage, const double *bound) {
  int cones = stage == STAGE_CONE || stage == STAGE_COULOMB;
  if (l->normal[row] == ROW_PLAIN)
    return cones && l->cone_rows[row] > 1 ? cone(l, row) : interval(row, l->lo[row], l->hi[row]);
  if (l->normal[row] == ROW_DEAD || stage == STAGE_NORMALS || l->hi[row] == 0.0)
    return interval(row, 0.0, 0.0);
  if (stage == STAGE_FROZEN) return interval(row, -bound[row], bound[row]);
  return coupled(l, row);
}

/* A row of zeros (A is semidefinite, so its diagonal tells) still needs a scale to step by;
 * rounding error of the largest element is what such a row would have had. */
static double smallest_scale(const double *diagonal, int n) {
  double largest = 0.0;
  for (int i = 0; i < n; i++) largest = fmax(largest, diagonal[i]);
  return largest > 0.0 ? DBL_EPSILON * largest : 1.0;
}

static void set_scales(model *m, const double *diagonal) {
  double least = smallest_scale(diagonal, m->n);
  for (int k = 0; k < m->blocks; k++) {
    const force_set *s = &m->sets[k];
    double trace = 0.0;
    for (int i = 0; i < s->rows; i++) trace += diagonal[s->first + i];
    m->scale[k] = fmax(trace / s->rows, least);
  }
}

/* Cones scale: s P_K(q) = P_K(s q), so s F needs no division, which might overflow. */
static double cone_violation(const force_set *s, double scale, const double *x, const double *w) {
  double q[SET_MOST_ROWS], p[SET_MOST_ROWS], far = 0.0;
  for (int i = 0; i < s->rows; i++) q[i] = scale * x[i] - w[i];
  lcplug_project(s, q, p);
  for (int i = 0; i < s->rows; i++) far = lcplug_length(far, scale * x[i] - p[i]);
  return far;
}

/* Of one row: |w|, or what the bound that it pushes against leaves of it. */
static double row_violation(const force_set *s, double scale, double x, double w) {
  double p, q = x - w / scale;
  lcplug_project(s, &q, &p);
  return p == q ? fabs(w) : scale * fabs(x - p);
}

/* s_i |F_i(x)| of one block. */
static double block_violation(const model *m, int k, const double *x, const double *Ax) {
  force_set s = m->sets[k];
  double w[SET_MOST_ROWS];
  for (int i = 0; i < s.rows; i++) w[i] = Ax[s.first + i] - m->b[s.first + i];
  if (m->coulomb) w[0] += lcplug_slip(&s, w);
  lcplug_set_couple(&s, x);
  return s.rows > 1 ? cone_violation(&s, m->scale[k], x + s.first, w)
                    : row_violation(&s, m->scale[k], x[s.first], w[0]);
}

static double worst_violation(const model *m, const double *x, const double *Ax) {
  double worst = 0.0;
  for (int k = 0; k < m->blocks; k++) {
    double v = block_violation(m, k, x, Ax);
    if (!(v <= worst)) worst = v; /* a NaN stays, whatever comes after */
    if (!(worst <= DBL_MAX)) return INFINITY;
  }
  return worst;
}

/* The violation without any force; where that is none, the largest right side. */
static void set_unit(model *m, const double *zeros) {
  m->unit = fmin(worst_violation(m, zeros, zeros), DBL_MAX);
  if (m->unit > 0.0) return;
  for (int i = 0; i < m->n; i++) m->unit = fmax(m->unit, fabs(m->b[i]));
  if (m->unit == 0.0) m->unit = 1.0;
}

lcplug_error lcplug_model_build(model *m, const layout *l, const linop *op, friction_stage stage,
                                const double *bound, lcplug_workspace *workspace) {
  *m = (model){.n = l->n, .op = op, .b = l->b, .coulomb = stage == STAGE_COULOMB};
  for (int row = 0; row < l->n; m->blocks++) row += set_of_row(l, row, stage, bound).rows;
  m->sets = TAKE(workspace, force_set, m->blocks);
  m->scale = TAKE(workspace, double, m->blocks);
  double *scratch = TAKE(workspace, double, l->n);
  if (!m->sets || !m->scale || !scratch) return LCPLUG_ERROR_MEMORY;
  for (int row = 0, k = 0; row < l->n; row += m->sets[k++].rows)
    m->sets[k] = set_of_row(l, row, stage, bound);
  op->table->diagonal(op, scratch);
  set_scales(m, scratch);
  for (int i = 0; i < l->n; i++) scratch[i] = 0.0;
  set_unit(m, scratch);
  return LCPLUG_OK;
}

double lcplug_residual_natural(const model *m, const double *x, const double *Ax) {
  for (int i = 0; i < m->n; i++)
    if (!isfinite(x[i])) return INFINITY;
  return worst_violation(m, x, Ax) / m->unit;
}

double lcplug_rounding_level(const model *m, const double *x) {
  double largest = 0.0;
  for (int k = 0; k < m->blocks; k++)
    for (int i = 0; i < m->sets[k].rows; i++) {
      double size = m->scale[k] * fabs(x[m->sets[k].first + i]);
      largest = size > largest ? size : largest;
    }
  return lcplug_rounding_of(m, largest);
}

double lcplug_rounding_of(const model *m, double largest) {
  return 8.0 * DBL_EPSILON * largest / m->unit;
}

/* w_n of the contact that a coupled set holds, if it opens: if no force is what its w asks for. */
static double held_open(const model *m, const force_set *s, const double *x, const double *Ax) {
  if (s->kind != SET_COUPLED || s->mu[0] < INFINITY || x[s->first] == 0.0) return 0.0;
  double w = Ax[s->normal] - m->b[s->normal];
  return w > m->scale[lcplug_normal_of(s) - m->sets] * x[s->normal] ? w : 0.0;
}

double lcplug_relaxation_gap(const model *m, const double *x, const double *Ax) {
  double gap = 0.0;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *s = &m->sets[k];
    double w[SET_MOST_ROWS];
    for (int i = 0; i < s->rows; i++) w[i] = Ax[s->first + i] - m->b[s->first + i];
    gap = fmax(gap, m->coulomb ? 0.0 : lcplug_slip(s, w));
    gap = fmax(gap, held_open(m, s, x, Ax));
  }
  return gap;
}

void lcplug_make_feasible(const model *m, double *x) {
  /* Rows that follow another row's force come after all the others. */
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < m->blocks; k++) {
      force_set s = m->sets[k];
      if ((s.kind == SET_COUPLED) != pass) continue;
      lcplug_set_couple(&s, x);
      lcplug_project(&s, x + s.first, x + s.first);
    }
}
