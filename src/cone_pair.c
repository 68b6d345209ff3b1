/* cone_pair.c - see cone_pair.h. */
#include "cone_pair.h"

#include <math.h>

/* Of v_0: the least gap that is told from none. */
static const double LEAST_GAP = 1e-25;

static double dot_t(const double *a, const double *b) { return a[1] * b[1] + a[2] * b[2]; }
static double length_t(const double *a) { return sqrt(dot_t(a, a)); }

static double determinant(const inside *a) { return a->gap * (2.0 * a->v[0] - a->gap); }

/* ---- the start ------------------------------------------------------------------------------- */

cone_pair lcplug_pair_of_cone(const force_set *set) {
  return (cone_pair){.first = set->first, .rows = set->rows, .sign = 1.0,
                     .g = {1.0, 1.0 / set->mu[0], set->rows > 2 ? 1.0 / set->mu[1] : 0.0}};
}

cone_pair lcplug_pair_of_bound(const force_set *set, double sign, double bound) {
  return (cone_pair){.first = set->first, .rows = 1, .sign = sign, .bound = bound, .g = {1.0}};
}

cone_pair lcplug_pair_of_coupled(const force_set *set, double sign) {
  cone_pair c = lcplug_pair_of_bound(set, sign, 0.0);
  c.normal = set->normal, c.share = set->mu[0];
  return c;
}

void lcplug_pair_begin(cone_pair *c, const double *x, double z) {
  c->y.v[0] = c->sign * (x[c->first] - c->bound) + c->share * x[c->normal];
  for (int i = 1; i < 3; i++) c->y.v[i] = i < c->rows ? c->g[i] * x[c->first + i] : 0.0;
  c->y.gap = c->y.v[0] - length_t(c->y.v);
  c->z = (inside){{z}, z};
}

double lcplug_pair_velocity(const cone_pair *c, int i, int exact) {
  return i ? c->g[i] * c->z.v[i] : c->sign * (exact ? c->z.gap : c->z.v[0]);
}

double lcplug_pair_product(const cone_pair *c, double step) {
  double sum = 0.0;
  for (int i = 0; i < 3; i++)
    sum += (c->y.v[i] + step * c->dy[i]) * (c->z.v[i] + step * c->dz[i]);
  return sum;
}

/* ---- the scaling ----------------------------------------------------------------------------- */

/* H^1/2 q (sign 1) and H^-1/2 q (sign -1), but for eta. */
static void turn(const cone_pair *c, double sign, const double *q, double *out) {
  double a = dot_t(c->turn, q), b = sign * q[0] - a / (1.0 + c->turn[0]);
  out[0] = c->turn[0] * q[0] - sign * a;
  for (int i = 1; i < 3; i++) out[i] = q[i] - c->turn[i] * b;
}

/* What is left of u_0 - slip u_t, without a difference: y_t and the slip are nearly opposite. */
static void measure_slip(cone_pair *c, double root_y, double root_z, double part) {
  double speed = length_t(c->z.v), force = length_t(c->y.v);
  c->slip[0] = c->z.v[1] / speed, c->slip[1] = c->z.v[2] / speed;
  c->edge = c->y.v[0];
  if (force > 0.0) {
    double off1 = c->slip[0] + c->y.v[1] / force, off2 = c->slip[1] + c->y.v[2] / force;
    c->edge = c->y.gap + 0.5 * force * (off1 * off1 + off2 * off2);
  }
  c->lean = part * (c->edge / root_y + c->z.gap / root_z);
  c->across = c->turn[1] * c->slip[1] - c->turn[2] * c->slip[0];
}

void lcplug_pair_scale(cone_pair *c, int exact) {
  double root_y = sqrt(determinant(&c->y)), root_z = sqrt(determinant(&c->z));
  double y[3], z[3], product = 0.0;
  for (int i = 0; i < 3; i++) {
    y[i] = c->y.v[i] / root_y, z[i] = c->z.v[i] / root_z;
    product += y[i] * z[i];
  }
  double part = 1.0 / sqrt(2.0 * (1.0 + product));
  for (int i = 1; i < 3; i++) c->turn[i] = part * (y[i] - z[i]);
  c->turn[0] = sqrt(1.0 + dot_t(c->turn, c->turn));
  c->eta = sqrt(root_y / root_z);
  c->det = root_y * root_z;
  turn(c, -1.0, c->z.v, c->middle);
  for (int i = 0; i < 3; i++) c->middle[i] *= c->eta;
  c->slides = exact && c->rows > 1 && length_t(c->z.v) > 0.0;
  if (c->slides) measure_slip(c, root_y, root_z, part);
}

/* The first row of H less slip times the others: in the directions along and across the slip
 * (lean^2 + across^2, across^2 - lean^2, 2 lean across). */
static void slip_row(const cone_pair *c, double *row) {
  double k = 1.0 / (c->eta * c->eta), l = c->lean, q = c->across;
  double along = q * q - l * l, across = 2.0 * l * q;
  row[0] = k * (l * l + q * q);
  row[1] = k * (along * c->slip[0] - across * c->slip[1]);
  row[2] = k * (along * c->slip[1] + across * c->slip[0]);
}

static void fill_scaling(const cone_pair *c, double *H) {
  const double k = 1.0 / (c->eta * c->eta), u[3] = {c->turn[0], -c->turn[1], -c->turn[2]};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) H[3 * i + j] = 2.0 * k * u[i] * u[j];
  H[0] -= k, H[4] += k, H[8] += k;
}

void lcplug_pair_block(const cone_pair *c, double *elements) {
  double H[9];
  fill_scaling(c, H);
  if (c->slides) slip_row(c, H);
  for (int i = 0; i < c->rows; i++)
    for (int j = 0; j < c->rows; j++) elements[i * c->rows + j] = c->g[i] * c->g[j] * H[3 * i + j];
}

double lcplug_pair_coupling(const cone_pair *c) { return c->sign * c->share / (c->eta * c->eta); }

/* ---- a step ---------------------------------------------------------------------------------- */

void lcplug_pair_second_order(cone_pair *c) {
  const double *l = c->middle;
  double y[3], z[3], q[3], s[3]; /* s: what solves middle o s = q = y o z of the scaled step */
  turn(c, 1.0, c->dy, y);
  turn(c, -1.0, c->dz, z); /* eta of the one and 1 / eta of the other: nothing is left of it */
  q[0] = y[0] * z[0] + dot_t(y, z);
  for (int i = 1; i < 3; i++) q[i] = y[0] * z[i] + z[0] * y[i];
  s[0] = (l[0] * q[0] - dot_t(l, q)) / c->det;
  for (int i = 1; i < 3; i++) s[i] = (q[i] - s[0] * l[i]) / l[0];
  turn(c, 1.0, s, c->second);
  for (int i = 0; i < 3; i++) c->second[i] /= -c->eta;
}

void lcplug_pair_wish(cone_pair *c, double target, int second_order, double *right) {
  double k = target / determinant(&c->y);
  double *t = c->t;
  t[0] = k * c->y.v[0] - c->z.v[0];
  for (int i = 1; i < 3; i++) t[i] = -k * c->y.v[i] - c->z.v[i];
  c->t_slip = k * c->edge - c->z.gap;
  if (second_order) {
    for (int i = 0; i < 3; i++) t[i] += c->second[i];
    c->t_slip += c->second[0] - c->slip[0] * c->second[1] - c->slip[1] * c->second[2];
  }
  right[c->first] += c->sign * (c->slides ? c->t_slip : t[0]);
  for (int i = 1; i < c->rows; i++) right[c->first + i] += c->g[i] * t[i];
}

/* How fast the gap changes along d. */
static double gap_along(const inside *a, const double *d) {
  double r = length_t(a->v);
  return d[0] - (r > 0.0 ? dot_t(a->v, d) / r : 0.0);
}

/* The first zero of the determinant along d. */
static double longest(const inside *a, const double *d, double gap, int rows) {
  if (rows == 1) return d[0] < 0.0 ? -a->v[0] / d[0] : INFINITY;
  double half = a->gap * d[0] + length_t(a->v) * gap, all = determinant(a);
  double discriminant = half * half - (d[0] * d[0] - dot_t(d, d)) * all;
  if (discriminant < 0.0) return INFINITY;
  double below = sqrt(discriminant) - half;
  return below > 0.0 ? all / below : INFINITY;
}

double lcplug_pair_spread(cone_pair *c, const double *dx) {
  double slip[3], k = 1.0 / (c->eta * c->eta);
  c->dy[0] = c->sign * dx[c->first] + c->share * dx[c->normal];
  for (int i = 1; i < 3; i++) c->dy[i] = i < c->rows ? c->g[i] * dx[c->first + i] : 0.0;
  /* H dy, the product u dy first: it is small where u is large */
  double along = 2.0 * (c->turn[0] * c->dy[0] - dot_t(c->turn, c->dy));
  c->dz[0] = c->t[0] - k * (along * c->turn[0] - c->dy[0]);
  for (int i = 1; i < 3; i++) c->dz[i] = c->t[i] - k * (c->dy[i] - along * c->turn[i]);
  c->dy_gap = gap_along(&c->y, c->dy);
  c->dz_gap = gap_along(&c->z, c->dz);
  if (c->slides) {
    slip_row(c, slip);
    c->dz_gap = c->t_slip - (slip[0] * c->dy[0] + dot_t(slip, c->dy));
    c->dz[0] = c->dz_gap + c->slip[0] * c->dz[1] + c->slip[1] * c->dz[2];
  }
  return fmin(longest(&c->y, c->dy, c->dy_gap, c->rows), longest(&c->z, c->dz, c->dz_gap, c->rows));
}

/* |v_t| grows by more than its slope says: the gap shrinks by what the direction turns. */
static void move_inside(inside *a, const double *d, double gap, double step) {
  double r = length_t(a->v), along = r > 0.0 ? dot_t(a->v, d) / r : 0.0;
  double across = step * step * fmax(dot_t(d, d) - along * along, 0.0), ahead = r + step * along;
  for (int i = 0; i < 3; i++) a->v[i] += step * d[i];
  if (r > 0.0 && ahead > 0.0)
    a->gap += step * gap - across / (sqrt(ahead * ahead + across) + ahead);
  else
    a->gap = a->v[0] - length_t(a->v);
  a->gap = fmax(a->gap, LEAST_GAP * a->v[0]);
  a->v[0] = a->gap + length_t(a->v);
}

void lcplug_pair_move(cone_pair *c, double step) {
  move_inside(&c->y, c->dy, c->dy_gap, step);
  move_inside(&c->z, c->dz, c->dz_gap, step);
}
