/* sets.c - projections; see sets.h.
 *
 * Every projection is exact in the Euclidean norm.  The circular cone has a closed form; the
 * elliptic one is the root of a monotone scalar equation, found by Newton inside a bracket. */
#include "sets.h"

#include <math.h>

/* As many as a double has binary places: the last resort for friction near 0 or infinity. */
enum { MOST_BISECTIONS = 1100 };

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
  return s->rows > 2 ? lcplug_length(s->mu[0] * w[1], s->mu[1] * w[2]) : fabs(s->mu[0] * w[1]);
}

static void project_free(const force_set *s, const double *q, double *x) {
  (void)s;
  x[0] = q[0];
}

static void project_interval(const force_set *s, const double *q, double *x) {
  double low = q[0] < s->lo ? s->lo : q[0];
  x[0] = low > s->hi ? s->hi : low;
}

/* Three regions: inside stays, the polar cone goes to the apex, the rest to the nearest ray, whose
 * direction is (cosine, sine) of the cone's angle. */
static void project_circular_cone(const force_set *s, const double *q, double *x) {
  double mu = s->mu[0], n = q[0], t1 = q[1], t2 = s->rows > 2 ? q[2] : 0.0;
  double t = s->rows > 2 ? lcplug_length(t1, t2) : fabs(t1), scale = 1.0;
  if (mu * t <= -n) {
    n = scale = 0.0;
  } else if (t > mu * n) {
    double cosine = 1.0 / lcplug_length(1.0, mu), sine = mu * cosine,
           length = cosine * n + sine * t;
    n = cosine * length;
    scale = sine * (length / t);
  }
  x[0] = n;
  x[1] = scale * t1;
  if (s->rows > 2) x[2] = scale * t2;
}

/* A point outside both the cone and its polar projects to x = (q_n/(1-l), mu_1 u_1, mu_2 u_2) with
 * u_i = q_i / (mu_i + l/mu_i), where the multiplier l > 0 of x_n^2 = sum (x_i/mu_i)^2 solves
 *
 *     g(l) = |u(l)| - |q_n / (1 - l)| = 0 .
 *
 * The root with x_n >= 0 lies at l < 1 for q_n > 0, where g falls, and at l > 1 for q_n < 0, where
 * it rises; Newton steps that leave the bracket become bisections.  q is of the size of 1. */
static double elliptic_multiplier(const force_set *s, const double *q) {
  double n = q[0], low = 0.0, high = 1.0;
  if (n < 0.0) {
    /* Far out |u| decays as l^-1 and meets |n|/(l-1) there: double until it is past. */
    low = 1.0, high = 2.0;
    while (high < 1e300 && hypot(q[1] / (s->mu[0] + high / s->mu[0]),
                                 q[2] / (s->mu[1] + high / s->mu[1])) < -n / (high - 1.0))
      low = high, high *= 2.0;
  }
  double l = 0.5 * (low + high);
  for (int step = 0; step < MOST_BISECTIONS; step++) {
    double m1 = s->mu[0] + l / s->mu[0], m2 = s->mu[1] + l / s->mu[1];
    double u1 = q[1] / m1, u2 = q[2] / m2, tangent = hypot(u1, u2), normal = fabs(n / (1.0 - l));
    double g = tangent - normal;
    if ((g > 0.0) == (n > 0.0)) low = l;
    else high = l;
    if (fabs(g) <= 1e-16 * normal) break;
    double bend = tangent > 0.0 ? (u1 / tangent) * u1 / (s->mu[0] * m1) +
                                      (u2 / tangent) * u2 / (s->mu[1] * m2)
                                : 0.0;
    double next = l + g / (bend + normal / (1.0 - l));
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (fabs(next - l) <= 1e-16 * l) break;
    l = next;
  }
  return l;
}

static void project_elliptic_cone(const force_set *s, const double *q, double *x) {
  double size = fmax(fabs(q[0]), fmax(fabs(q[1]), fabs(q[2])));
  if (hypot(q[1] / s->mu[0], q[2] / s->mu[1]) <= q[0]) {
    x[0] = q[0], x[1] = q[1], x[2] = q[2];
    return;
  }
  if (size == 0.0 || hypot(s->mu[0] * q[1], s->mu[1] * q[2]) <= -q[0]) {
    x[0] = x[1] = x[2] = 0.0;
    return;
  }
  double unit[3] = {q[0] / size, q[1] / size, q[2] / size};
  double l = unit[0] != 0.0 ? elliptic_multiplier(s, unit) : 1.0;
  double u1 = unit[1] / (s->mu[0] + l / s->mu[0]), u2 = unit[2] / (s->mu[1] + l / s->mu[1]);
  x[1] = size * (s->mu[0] * u1);
  x[2] = size * (s->mu[1] * u2);
  /* From the tangents, and not from q_n / (1 - l): the point lies on the surface to rounding. */
  x[0] = size * hypot(u1, u2);
}

typedef void projection(const force_set *s, const double *q, double *x);
static projection *const projections[SET_KINDS] = {
    [SET_FREE] = project_free,          [SET_INTERVAL] = project_interval,
    [SET_COUPLED] = project_interval,   [SET_CONE] = project_circular_cone,
    [SET_ELLIPSE] = project_elliptic_cone,
};

void lcplug_project(const force_set *s, const double *q, double *x) {
  projections[s->kind](s, q, x);
}
