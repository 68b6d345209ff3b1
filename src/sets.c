/* sets.c - projections; see sets.h.
 *
 * Every projection is exact in the Euclidean norm.  The circular cone has a closed form; the
 * elliptic one is the root of a monotone scalar equation, found by Newton inside a bracket. */
#include "sets.h"

#include <math.h>

double lcplug_friction_bound(double mu, double x_normal) {
  /* 0 * inf counts as 0 here: no normal force, no friction. */
  return x_normal == 0.0 || mu == 0.0 ? 0.0 : fabs(mu * x_normal);
}

void lcplug_set_couple(force_set *s, const double *x) {
  if (s->kind != SET_COUPLED) return;
  s->hi = lcplug_friction_bound(s->mu[0], x[s->normal]);
  s->lo = -s->hi;
}

double lcplug_slip(const force_set *s, const double *w) {
  if (s->kind != SET_CONE && s->kind != SET_ELLIPSE) return 0.0;
  double first = s->mu[0] * w[1], second = s->rows > 2 ? s->mu[1] * w[2] : 0.0;
  return sqrt(first * first + second * second);
}

static void project_free(const force_set *s, const double *q, double *x) {
  (void)s;
  x[0] = q[0];
}

static void project_interval(const force_set *s, const double *q, double *x) {
  double low = q[0] < s->lo ? s->lo : q[0];
  x[0] = low > s->hi ? s->hi : low;
}

/* Three regions: inside stays, the polar cone goes to the apex, the rest to the nearest ray. */
static void project_circular_cone(const force_set *s, const double *q, double *x) {
  double mu = s->mu[0], n = q[0], t1 = q[1], t2 = s->rows > 2 ? q[2] : 0.0;
  double t = s->rows > 2 ? sqrt(t1 * t1 + t2 * t2) : fabs(t1);
  double scale = 1.0;
  if (mu * t <= -n) {
    n = scale = 0.0;
  } else if (t > mu * n) {
    n = (n + mu * t) / (1.0 + mu * mu);
    scale = mu * n / t;
  }
  x[0] = n;
  x[1] = scale * t1;
  if (s->rows > 2) x[2] = scale * t2;
}

/* A point outside both the cone and its polar projects to x = (q_n/(1-l), q_i mu_i^2/(mu_i^2+l))
 * where the multiplier l > 0 of x_n^2 = sum (x_i/mu_i)^2 solves
 *
 *     f(l) = sum (q_i mu_i / (mu_i^2 + l))^2 - (q_n / (1 - l))^2 = 0 .
 *
 * The root with x_n >= 0 lies at l < 1 for q_n > 0 and at l > 1 for q_n < 0, and the square roots
 * of both terms are monotone there, so g = sqrt(sum) - |q_n / (1 - l)| is bracketed; Newton steps
 * that leave the bracket become bisections. */
static double elliptic_multiplier(const force_set *s, const double *q) {
  double n = q[0], low, high;
  double c[2] = {s->mu[0] * s->mu[0], s->mu[1] * s->mu[1]};
  double p[2] = {s->mu[0] * q[1], s->mu[1] * q[2]};
  if (n > 0.0) {
    low = 0.0, high = 1.0;
  } else {
    /* Far out the tangential term decays as |p|/l and meets |n|/(l-1): double until it is past. */
    low = 1.0, high = 2.0;
    while (high < 1e300 && hypot(p[0] / (c[0] + high), p[1] / (c[1] + high)) < -n / (high - 1.0))
      low = high, high *= 2.0;
    /* For n < 0 the normal term falls from infinity at l = 1: g < 0 at low, g > 0 at high. */
  }
  double l = n > 0.0 ? 0.5 : 0.5 * (low + high);
  for (int step = 0; step < 100; step++) {
    double u[2] = {p[0] / (c[0] + l), p[1] / (c[1] + l)};
    double tangent = hypot(u[0], u[1]), normal = fabs(n / (1.0 - l));
    double g = tangent - normal;
    double slope_t = tangent > 0.0 ? -(u[0] * u[0] / (c[0] + l) + u[1] * u[1] / (c[1] + l)) / tangent
                                   : 0.0;
    double slope = slope_t - normal / (1.0 - l);
    /* n > 0: g falls with l.  n < 0: g rises through its root. */
    if ((g > 0.0) == (n > 0.0)) low = l;
    else high = l;
    if (fabs(g) <= 1e-16 * normal) break;
    double next = l - g / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (fabs(next - l) <= 1e-16 * l) break;
    l = next;
  }
  return l;
}

static void project_elliptic_cone(const force_set *s, const double *q, double *x) {
  double n = q[0], t1 = q[1], t2 = q[2];
  if (hypot(t1 / s->mu[0], t2 / s->mu[1]) <= n) {
    x[0] = n, x[1] = t1, x[2] = t2;
    return;
  }
  if (hypot(s->mu[0] * t1, s->mu[1] * t2) <= -n) {
    x[0] = x[1] = x[2] = 0.0;
    return;
  }
  double c1 = s->mu[0] * s->mu[0], c2 = s->mu[1] * s->mu[1], l = 1.0;
  if (n != 0.0) l = elliptic_multiplier(s, q);
  x[1] = t1 * c1 / (c1 + l);
  x[2] = t2 * c2 / (c2 + l);
  /* From the tangents, and not from q_n / (1 - l): the point lies on the surface to rounding. */
  x[0] = hypot(x[1] / s->mu[0], x[2] / s->mu[1]);
}

typedef void projection(const force_set *s, const double *q, double *x);
static projection *const projections[SET_KINDS] = {
    [SET_FREE] = project_free,          [SET_INTERVAL] = project_interval,
    [SET_COUPLED] = project_interval,   [SET_CONE] = project_circular_cone,
    [SET_ELLIPSE] = project_elliptic_cone,
};

void lcplug_project(const force_set *s, const double *q, double *x) { projections[s->kind](s, q, x); }
