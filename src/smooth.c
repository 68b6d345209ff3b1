/* smooth.c - see smooth.h. */
#include "smooth.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Friction above this has no limit: its cone is a half space but for rounding. */
static const double ROUGHEST = 1e6;
/* Of the way to the present slip. */
static const double LEAST_PART = 0.1;

/* One set at one x: its scaled rows y = g x, the value f, and V^-1. */
typedef struct piece {
  double g[SET_MOST_ROWS];
  double u[SET_MOST_ROWS];
  double f[SET_MOST_ROWS];
  double inverse[SET_MOST_ROWS * SET_MOST_ROWS];
  double by_normal; /* of a coupled row: what E has in the column of its normal ... */
  double lag;       /* ... and what f is to be taken less of in r, as the normal moves too */
} piece;

/* ---- rounded corners ------------------------------------------------------------------------- */

/* max(t, 0) with its corner rounded off, and its slope. */
static double ramp(double t, double eps, double *slope) {
  double root = sqrt(t * t + 4.0 * eps * eps);
  *slope = root > 0.0 ? 0.5 * (1.0 + t / root) : 0.5;
  /* for t < 0 without cancellation */
  return t > 0.0 ? 0.5 * (t + root) : root - t > 0.0 ? 2.0 * eps * eps / (root - t) : 0.0;
}

/* The disc of a given radius: factor, radial slope and what the radius changes, at distance r. */
typedef struct disc {
  double factor, radial, by_radius;
} disc;

static disc round_disc(double r, double radius, double eps) {
  double root = sqrt((r - radius) * (r - radius) + 4.0 * eps * eps);
  double larger = 0.5 * (r + radius + root);
  if (!(larger > 0.0)) return (disc){1.0, 0.5, 0.5};
  double lean = root > 0.0 ? 0.5 * (r - radius) / root : 0.0;
  double factor = radius / larger, part = r / larger;
  return (disc){factor, factor * (1.0 - part * (0.5 + lean)), part * (1.0 - factor * (0.5 - lean))};
}

/* The same where friction has no limit: all or nothing, as the contact is closed or open; or
 * all. */
static disc all_or_nothing(double r, double pressed, double eps, int held) {
  if (held) return (disc){1.0, 1.0, 0.0};
  double ratio = pressed / eps, closed = 1.0 / (1.0 + 1.0 / (ratio * ratio));
  double change = ratio < 1.0 ? 2.0 * ratio * (1.0 - closed) * (1.0 - closed)
                              : 2.0 * closed * (1.0 - closed) / ratio;
  return (disc){closed, closed, r * change / eps};
}

static double at_least(double slope) { return slope > LEAST_SLOPE ? slope : LEAST_SLOPE; }

/* ---- one set after the other ----------------------------------------------------------------- */

static int is_rough(const force_set *set) { return set->mu[0] > ROUGHEST || set->mu[1] > ROUGHEST; }

static void scale_rows(const force_set *set, double *g) {
  if (set->rows == 1 || is_rough(set)) {
    g[0] = g[1] = g[2] = 1.0;
    return;
  }
  double mean = set->rows > 2 ? sqrt(set->mu[0]) * sqrt(set->mu[1]) : set->mu[0];
  g[0] = mean;
  g[1] = mean / set->mu[0];
  if (set->rows > 2) g[2] = mean / set->mu[1];
}

static void interval_piece(const force_set *set, double s, double eps, double y, piece *p) {
  double u = p->u[0], value = u, slope = 1.0, bend;
  if (set->lo > -INFINITY) {
    value = s * set->lo + ramp(u - s * set->lo, eps, &bend);
    slope = bend;
  }
  if (set->hi < INFINITY) {
    value -= ramp(u - s * set->hi, eps, &bend);
    slope -= bend;
  }
  p->f[0] = s * y - value;
  p->inverse[0] = 1.0 / at_least(slope);
}

/* |x| <= mu |x_n|: a disc of one dimension around the normal's target. */
static void coupled_piece(const force_set *set, double s, double eps, double y, double normal,
                          double target, int held, piece *p) {
  int rough = is_rough(set);
  double u = p->u[0], mu = rough ? 1.0 : set->mu[0], radius = s * mu * fabs(target);
  disc d = rough ? all_or_nothing(fabs(u), radius, eps, held) : round_disc(fabs(u), radius, eps);
  double inverse = 1.0 / at_least(d.radial);
  double tilt = copysign(d.by_radius, u) * copysign(s * mu, target);
  p->f[0] = s * y - d.factor * u;
  p->lag = tilt * (normal - target);
  p->inverse[0] = inverse;
  p->by_normal = -inverse * tilt;
}

/* V^-1 by what it does along the axis, in the direction of the tangential force and across it; `up`
 * and `tilt` are what the direction adds to the axis, and the axis to the direction. */
static void fill_inverse(int rows, const double *direction, double axis, double radial,
                         double around, double up, double tilt, double *inverse) {
  inverse[0] = axis;
  for (int i = 1; i < rows; i++) {
    inverse[i] = up * direction[i - 1];
    inverse[i * rows] = tilt * direction[i - 1];
    for (int j = 1; j < rows; j++)
      inverse[i * rows + j] =
          (i == j ? around : 0.0) + (radial - around) * direction[i - 1] * direction[j - 1];
  }
}

static double tangent_of(int rows, const double *u, double *direction) {
  double r = rows > 2 ? sqrt(u[1] * u[1] + u[2] * u[2]) : fabs(u[1]);
  direction[0] = r > 0.0 ? u[1] / r : 1.0;
  direction[1] = rows > 2 && r > 0.0 ? u[2] / r : 0.0;
  return r;
}

/* Alart and Curnier: the normal, then the disc of its radius.  Returns the normal's part of p. */
static double coulomb_piece(const force_set *set, double s, double eps, const double *y, int held,
                            piece *p) {
  int rows = set->rows;
  double direction[2], slope, r = tangent_of(rows, p->u, direction);
  double normal = ramp(p->u[0], eps, &slope);
  disc d = is_rough(set) ? all_or_nothing(r, normal, eps, held) : round_disc(r, normal, eps);
  double radial = 1.0 / at_least(d.radial), around = 1.0 / at_least(d.factor);
  p->f[0] = s * y[0] - normal;
  for (int i = 1; i < rows; i++) p->f[i] = s * y[i] - d.factor * p->u[i];
  fill_inverse(rows, direction, 1.0 / at_least(slope), radial, around, 0.0, -radial * d.by_radius,
               p->inverse);
  return normal;
}

/* The projection on the cone, by its two eigenvalues u_n -+ r.  Returns the normal's part of p. */
static double cone_piece(const force_set *set, double s, double eps, const double *y, piece *p) {
  int rows = set->rows;
  double direction[2], low_slope, high_slope, r = tangent_of(rows, p->u, direction);
  double low = ramp(p->u[0] - r, eps, &low_slope), high = ramp(p->u[0] + r, eps, &high_slope);
  double around = r > 0.0 ? (high - low) / (2.0 * r) : low_slope;
  double in_low = 1.0 / at_least(low_slope), in_high = 1.0 / at_least(high_slope);
  p->f[0] = s * y[0] - 0.5 * (high + low);
  for (int i = 1; i < rows; i++) p->f[i] = s * y[i] - 0.5 * (high - low) * direction[i - 1];
  double mean = 0.5 * (in_high + in_low), half = 0.5 * (in_high - in_low);
  fill_inverse(rows, direction, mean, mean, 1.0 / at_least(around), half, half, p->inverse);
  return 0.5 * (high + low);
}

/* Set k at x.  Normals come before the rows that they bound. */
static void evaluate(const smoothing *sm, int k, double eps, const double *x, const double *Ax,
                     piece *p) {
  const model *m = sm->m;
  const force_set *set = &m->sets[k];
  int first = set->first;
  double s = sm->stiffness * sm->scale[k], y[SET_MOST_ROWS];
  scale_rows(set, p->g);
  for (int i = 0; i < set->rows; i++) {
    y[i] = p->g[i] * x[first + i];
    p->u[i] = s * y[i] - (Ax[first + i] - m->b[first + i]) / p->g[i];
  }
  if (!sm->exact && set->rows > 1 && !is_rough(set)) p->u[0] -= sm->slip[k] / p->g[0];
  p->by_normal = p->lag = 0.0;
  if (set->kind == SET_COUPLED) {
    coupled_piece(set, s, eps, y[0], x[set->normal], sm->target[set->normal], sm->held, p);
  } else if (set->rows > 1) {
    double normal = sm->exact || is_rough(set) ? coulomb_piece(set, s, eps, y, sm->held, p)
                                               : cone_piece(set, s, eps, y, p);
    sm->target[first] = normal / (s * p->g[0]);
  } else if (set->kind == SET_FREE) {
    p->f[0] = s * y[0] - p->u[0];
    p->inverse[0] = 1.0;
    sm->target[first] = p->u[0] / s;
  } else {
    interval_piece(set, s, eps, y[0], p);
    sm->target[first] = y[0] - p->f[0] / s;
  }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int is_common(const force_set *set) { return set->rows == 3 && !is_rough(set); }

static void fill_lane(const smoothing *s, cone_quad *q, int lane, int k, double weight) {
  const force_set *set = &s->m->sets[k];
  double g[SET_MOST_ROWS];
  scale_rows(set, g);
  q->set[lane] = k;
  q->first[lane] = set->first;
  q->weight[lane] = weight;
  q->s[lane] = s->scale[k];
  for (int i = 0; i < 3; i++) {
    q->g[i][lane] = g[i];
    q->in_g[i][lane] = 1.0 / g[i];
    q->b[i][lane] = s->m->b[set->first + i];
  }
}

/* Sorts the sets into those that go four at a time and the others. */
static lcplug_error sort_sets(smoothing *s, lcplug_workspace *workspace) {
  const model *m = s->m;
  int common = 0;
  for (int k = 0; k < m->blocks; k++) common += is_common(&m->sets[k]);
  s->kernels = lcplug_cone_kernels();
  s->quad_count = (common + LANES_OF_CONES - 1) / LANES_OF_CONES;
  s->quads = TAKE(workspace, cone_quad, s->quad_count);
  s->others = TAKE(workspace, int, m->blocks - common);
  if ((s->quad_count && !s->quads) || (common < m->blocks && !s->others))
    return LCPLUG_ERROR_MEMORY;
  int lane = 0;
  for (int k = 0; k < m->blocks; k++) {
    if (!is_common(&m->sets[k])) s->others[s->other_count++] = k;
    else fill_lane(s, &s->quads[lane / LANES_OF_CONES], lane % LANES_OF_CONES, k, 1.0), lane++;
  }
  for (; lane % LANES_OF_CONES; lane++) {
    cone_quad *last = &s->quads[s->quad_count - 1];
    fill_lane(s, last, lane % LANES_OF_CONES, last->set[0], 0.0);
  }
  return LCPLUG_OK;
}

lcplug_error lcplug_smoothing_begin(smoothing *s, const model *m, lcplug_workspace *workspace) {
  *s = (smoothing){.m = m, .stiffness = 1.0, .symmetric = 1};
  s->scale = TAKE(workspace, double, m->blocks);
  s->target = TAKE(workspace, double, m->n);
  s->slip = TAKE(workspace, double, m->blocks);
  s->lack = TAKE(workspace, double, m->blocks);
  double *diagonal = TAKE(workspace, double, m->n);
  if (!s->scale || !s->target || !s->slip || !s->lack || !diagonal) return LCPLUG_ERROR_MEMORY;
  m->op->table->diagonal(m->op, diagonal);
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    double g[SET_MOST_ROWS], trace = 0.0;
    scale_rows(set, g);
    for (int i = 0; i < set->rows; i++) {
      trace += diagonal[set->first + i] / (g[i] * g[i]);
      s->unit = fmax(s->unit, fabs(m->b[set->first + i]) / g[i]);
    }
    s->rough |= is_rough(set);
    s->symmetric &= !is_rough(set) && set->kind != SET_COUPLED;
    s->scale[k] = fmax(trace / set->rows, set->rows == 1 ? m->scale[k] : DBL_MIN);
  }
  lcplug_smoothing_forget_slip(s);
  return sort_sets(s, workspace);
}

static cone_view view_of(const smoothing *s, double eps, const double *x, const double *Ax) {
  return (cone_view){eps, s->stiffness, s->exact, s->slip, x, Ax, s->target};
}

double lcplug_smoothing_merit(const smoothing *s, double eps, const double *x, const double *Ax) {
  cone_view at = view_of(s, eps, x, Ax);
  double sum = s->kernels->merit(s->quads, s->quad_count, &at);
  piece p;
  for (int e = 0; e < s->other_count; e++) {
    int k = s->others[e];
    evaluate(s, k, eps, x, Ax, &p);
    for (int i = 0; i < s->m->sets[k].rows; i++) sum += p.f[i] * p.f[i];
  }
  return sum;
}

/* A set's block of E. */
static void fill_block(const smoothing *s, int k, const piece *p, double *E) {
  int rows = s->m->sets[k].rows;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++)
      E[i * rows + j] =
          (p->inverse[i * rows + j] - (i == j)) * s->stiffness * s->scale[k] * p->g[i] * p->g[j];
}

double lcplug_smoothing_of_set(const smoothing *s, int k, double eps, const double *x,
                               const double *Ax, double *E) {
  double sum = 0.0;
  piece p;
  evaluate(s, k, eps, x, Ax, &p);
  for (int i = 0; i < s->m->sets[k].rows; i++) sum += p.f[i] * p.f[i];
  if (E) fill_block(s, k, &p, E);
  return sum;
}

static void linearize_quad(const smoothing *s, const cone_quad *q, const cone_view *at, lu *matrix,
                           double *r) {
  cone_step step;
  s->kernels->linearize(q, at, &step);
  for (int lane = 0; lane < LANES_OF_CONES && q->weight[lane] != 0.0; lane++) {
    double elements[9];
    for (int e = 0; e < 9; e++) elements[e] = step.E[e][lane];
    for (int i = 0; i < 3; i++) r[q->first[lane] + i] = step.r[i][lane];
    lcplug_lu_add_block(matrix, q->first[lane], 3, elements);
  }
}

void lcplug_smoothing_linearize(const smoothing *s, double eps, const double *x, const double *Ax,
                                lu *matrix, double *r) {
  cone_view at = view_of(s, eps, x, Ax);
  for (int q = 0; q < s->quad_count; q++) linearize_quad(s, &s->quads[q], &at, matrix, r);
  for (int e = 0; e < s->other_count; e++) {
    int k = s->others[e];
    const force_set *set = &s->m->sets[k];
    int rows = set->rows;
    double elements[SET_MOST_ROWS * SET_MOST_ROWS];
    piece p;
    evaluate(s, k, eps, x, Ax, &p);
    fill_block(s, k, &p, elements);
    for (int i = 0; i < rows; i++) {
      double sum = 0.0;
      for (int j = 0; j < rows; j++) sum += p.inverse[i * rows + j] * (p.f[j] - p.lag);
      r[set->first + i] = -sum * p.g[i];
    }
    lcplug_lu_add_block(matrix, set->first, rows, elements);
    if (p.by_normal != 0.0) lcplug_lu_add(matrix, set->first, set->normal, p.by_normal);
  }
}

void lcplug_smoothing_drift(const smoothing *s, double eps, const double *x, const double *Ax,
                            double *r) {
  const double change = 1e-5;
  for (int k = 0; k < s->m->blocks; k++) {
    const force_set *set = &s->m->sets[k];
    int rows = set->rows;
    piece later, p;
    evaluate(s, k, eps * (1.0 + change), x, Ax, &later);
    evaluate(s, k, eps, x, Ax, &p); /* the last one: coupled rows want the normals of this eps */
    for (int i = 0; i < rows; i++) {
      double sum = 0.0;
      for (int j = 0; j < rows; j++) sum += p.inverse[i * rows + j] * (later.f[j] - p.f[j]);
      r[set->first + i] = -sum * p.g[i] / change;
    }
  }
}

void lcplug_smoothing_forget_slip(smoothing *s) {
  for (int k = 0; k < s->m->blocks; k++) s->slip[k] = s->lack[k] = 0.0;
  s->part = 1.0;
}

/* What is lacking now and what was lacking before tell how the terms swing, and how far to go
 * (Aitken's rule). */
void lcplug_smoothing_follow_slip(smoothing *s, const double *Ax) {
  const model *m = s->m;
  double product = 0.0, change = 0.0;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    double w[SET_MOST_ROWS];
    for (int i = 0; i < set->rows; i++) w[i] = Ax[set->first + i] - m->b[set->first + i];
    double lack = lcplug_slip(set, w) - s->slip[k], turn = lack - s->lack[k];
    product += s->lack[k] * turn;
    change += turn * turn;
    s->lack[k] = lack;
  }
  double part = product < 0.0 ? -s->part * product / change : 2.0 * s->part;
  s->part = fmin(fmax(part, LEAST_PART), 1.0);
  for (int k = 0; k < m->blocks; k++) s->slip[k] += s->part * s->lack[k];
}

/* Friction that holds an open contact needs a normal force, however small. */
static void press(const smoothing *s, int k, double *answer) {
  const model *m = s->m;
  const force_set *set = &m->sets[k];
  if (!s->held || set->kind != SET_COUPLED || set->mu[0] < INFINITY || answer[set->normal] != 0.0)
    return;
  const force_set *normal = lcplug_normal_of(set);
  if (normal->kind != SET_INTERVAL || normal->hi > 0.0)
    answer[set->normal] = DBL_EPSILON * m->unit / m->scale[normal - m->sets];
}

void lcplug_smoothing_answer(const smoothing *s, const double *x, const double *Ax,
                             double *answer) {
  const model *m = s->m;
  for (int k = 0; k < m->blocks; k++) {
    force_set set = m->sets[k];
    double w[SET_MOST_ROWS], q[SET_MOST_ROWS], *out = answer + set.first;
    press(s, k, answer);
    lcplug_set_couple(&set, answer);
    for (int i = 0; i < set.rows; i++) w[i] = Ax[set.first + i] - m->b[set.first + i];
    if (m->coulomb) w[0] += lcplug_slip(&set, w);
    for (int i = 0; i < set.rows; i++) q[i] = x[set.first + i] - w[i] / m->scale[k];
    lcplug_project(&set, q, q);
    lcplug_project(&set, x + set.first, out);
    int open = set.rows > 1 && q[0] == 0.0;
    int bounded = set.rows == 1 && set.kind != SET_FREE && (q[0] == set.lo || q[0] == set.hi);
    for (int i = 0; i < set.rows && (open || bounded); i++) out[i] = q[i];
  }
}
