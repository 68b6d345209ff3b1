/* test_sets.c - projections, judged by what makes a point the nearest one.
 *
 * p = P_K(q) for a closed convex cone K exactly when (Moreau)
 *
 *     p in K,   p - q in the dual cone K*,   p'(p - q) = 0 ,
 *
 * and for any convex set when no other point of the set is nearer.  Both are asked: the first to
 * rounding error, the second against points sampled densely from the set. */
#include "sets.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support.h"

static force_set circle(double mu) {
  return (force_set){.kind = SET_CONE, .rows = 3, .mu = {mu, mu}};
}

static force_set wedge(double mu) {
  return (force_set){.kind = SET_CONE, .rows = 2, .mu = {mu, mu}};
}

static force_set ellipse(double mu1, double mu2) {
  return (force_set){.kind = SET_ELLIPSE, .rows = 3, .mu = {mu1, mu2}};
}

static force_set interval(double lo, double hi) {
  return (force_set){.kind = SET_INTERVAL, .rows = 1, .lo = lo, .hi = hi};
}

static double length(const double *v, int rows) {
  double sum = 0.0;
  for (int i = 0; i < rows; i++) sum = hypot(sum, v[i]);
  return sum;
}

/* |x_t / mu|, the least normal force that carries x_t.  (mu w_t likewise for the dual.) */
static double carried(const force_set *s, const double *x) {
  return s->rows > 2 ? hypot(x[1] / s->mu[0], x[2] / s->mu[1]) : fabs(x[1]) / s->mu[0];
}

static double dual_needs(const force_set *s, const double *w) {
  return s->rows > 2 ? hypot(s->mu[0] * w[1], s->mu[1] * w[2]) : s->mu[0] * fabs(w[1]);
}

/* Moreau's three conditions and idempotence, up to a few rounding errors of |q|.  A condition of
 * the form n >= |mu t| is a distance only after division by the length of its normal vector. */
static void check_cone_point(const force_set *s, const double *q) {
  double p[3], again[3], gap[3], work = 0.0, size = length(q, s->rows), slack = 1e-13 * size;
  double steep = fmax(s->mu[0], s->rows > 2 ? s->mu[1] : 0.0);
  double flat = fmin(s->mu[0], s->rows > 2 ? s->mu[1] : INFINITY);
  lcplug_project(s, q, p);
  for (int i = 0; i < s->rows; i++) {
    ck_assert(isfinite(p[i]));
    gap[i] = p[i] - q[i];
    work += size > 0.0 ? p[i] / size * (gap[i] / size) : 0.0;
  }
  ck_assert_msg((carried(s, p) - p[0]) / hypot(1.0, 1.0 / flat) <= slack,
                "mu %g %g: (%g %g %g) goes outside", s->mu[0], s->mu[1], q[0], q[1], q[2]);
  ck_assert_msg((dual_needs(s, gap) - gap[0]) / hypot(1.0, steep) <= slack,
                "mu %g %g: (%g %g %g) moves in a wrong "
                "direction", s->mu[0], s->mu[1], q[0], q[1], q[2]);
  ck_assert_msg(fabs(work) <= 1e-13, "mu %g %g: (%g %g %g) goes too far", s->mu[0], s->mu[1], q[0],
                q[1], q[2]);
  lcplug_project(s, p, again);
  ck_assert_double_le(distance_max(p, again, s->rows), slack);
}

/* A direction from anywhere, from near the axis, or with one element exactly 0. */
static void random_point(rng *r, double *q, double scale) {
  int kind = rng_below(r, 4);
  for (int i = 0; i < 3; i++) q[i] = scale * rng_between(r, -1.0, 1.0);
  if (kind == 0) q[1] *= rng_magnitude(r, -18, -3), q[2] *= rng_magnitude(r, -18, -3);
  if (kind == 1) q[rng_below(r, 3)] = 0.0;
  if (kind == 2) q[0] *= rng_magnitude(r, -18, -3);
}

/* Circular, 2-D and elliptic cones of usual and extreme friction (the elliptic ones with ratios
 * mu1/mu2 of 1e-3 to 1e3) at scales from 1e-100 to 1e100: the three conditions hold. */
START_TEST(cones_satisfy_moreau) {
  rng r = {1};
  for (int trial = 0; trial < 12000; trial++) {
    double mu = rng_magnitude(&r, -6, 6), ratio = rng_magnitude(&r, -3, 3), q[3];
    double scale = trial % 3 ? 1.0 : rng_magnitude(&r, -100, 100);
    force_set sets[] = {circle(mu), wedge(mu), ellipse(mu, mu * ratio)};
    random_point(&r, q, scale);
    for (int k = 0; k < 3; k++) check_cone_point(&sets[k], q);
  }
}
END_TEST

/* n = 0 exactly, on both sides of it by one rounding error, and the apex itself. */
START_TEST(cones_at_and_around_n_zero) {
  const double normals[] = {0.0, -0.0, DBL_EPSILON, -DBL_EPSILON, 1e-30, -1e-30, DBL_MIN, -DBL_MIN};
  const double tangents[][2] = {{1, 0}, {0, 1}, {-1, 0}, {0.3, -0.4}, {1e-9, 1}, {0, 0}};
  const double mus[][2] = {{0.5, 0.5}, {0.5, 0.1}, {1, 1000}, {1000, 1}, {1e-3, 1}};
  for (size_t i = 0; i < sizeof normals / sizeof *normals; i++)
    for (size_t j = 0; j < sizeof tangents / sizeof *tangents; j++)
      for (size_t k = 0; k < sizeof mus / sizeof *mus; k++) {
        double q[3] = {normals[i], tangents[j][0], tangents[j][1]};
        force_set sets[] = {circle(mus[k][0]), wedge(mus[k][0]), ellipse(mus[k][0], mus[k][1])};
        for (int s = 0; s < 3; s++) check_cone_point(&sets[s], q);
      }
}
END_TEST

/* Points next to the surface of the cone and of its polar, where the three regions meet. */
START_TEST(cones_at_their_surfaces) {
  rng r = {2};
  for (int trial = 0; trial < 5000; trial++) {
    double mu1 = rng_magnitude(&r, -2, 2), mu2 = trial % 2 ? mu1 : mu1 * rng_magnitude(&r, -3, 3);
    double angle = rng_between(&r, 0.0, 6.2832),
           off = 1.0 + rng_between(&r, -1.0, 1.0) * rng_magnitude(&r, -17, -8);
    double on_cone[3] = {off, mu1 * cos(angle), mu2 * sin(angle)};
    double on_polar[3] = {-off, cos(angle) / mu1, sin(angle) / mu2};
    force_set s = ellipse(mu1, mu2), round = circle(mu1);
    check_cone_point(&s, on_cone);
    check_cone_point(&s, on_polar);
    if (mu1 == mu2) check_cone_point(&round, on_cone), check_cone_point(&round, on_polar);
  }
}
END_TEST

/* The distance from q to the cone by trying the nearest point of each of many rays (1, mu1 cos a,
 * mu2 sin a) of its surface, first all around and then ever closer about the best. */
static double distance_by_rays(const force_set *s, const double *q) {
  double best = length(q, s->rows), centre = 0.0, width = 3.2;
  for (int level = 0; level < 6; level++) {
    double best_angle = centre;
    for (int k = -500; k <= 500; k++) {
      double a = centre + width * k / 500.0, gap[3];
      double ray[3] = {1.0, s->mu[0] * cos(a), s->rows > 2 ? s->mu[1] * sin(a) : 0.0};
      if (s->rows < 3) ray[1] = k < 0 ? -s->mu[0] : s->mu[0];
      double along = fmax(0.0, (q[0] + q[1] * ray[1] + (s->rows > 2 ? q[2] * ray[2] : 0.0)) /
                                   (1.0 + ray[1] * ray[1] + ray[2] * ray[2]));
      for (int i = 0; i < s->rows; i++) gap[i] = q[i] - along * ray[i];
      if (length(gap, s->rows) < best) best = length(gap, s->rows), best_angle = a;
    }
    centre = best_angle, width /= 50.0;
  }
  return best;
}

/* A point outside the cone: no sampled point is nearer than the projection, and the best sampled
 * one is hardly farther.  A point inside stays where it is, to the bit. */
START_TEST(cones_against_brute_force) {
  rng r = {3};
  for (int trial = 0; trial < 300; trial++) {
    double mu = rng_magnitude(&r, -1, 1), q[3], p[3], gap[3];
    force_set sets[] = {circle(mu), wedge(mu), ellipse(mu, mu * rng_magnitude(&r, -1, 1))};
    random_point(&r, q, 1.0);
    for (int k = 0; k < 3; k++) {
      const force_set *s = &sets[k];
      lcplug_project(s, q, p);
      if (carried(s, q) < q[0] * (1.0 - 1e-12)) {
        ck_assert_mem_eq(p, q, (size_t)s->rows * sizeof *p);
        continue;
      }
      for (int i = 0; i < s->rows; i++) gap[i] = q[i] - p[i];
      double sampled = distance_by_rays(s, q), ours = length(gap, s->rows);
      ck_assert_double_le(ours, sampled * (1.0 + 1e-12) + 1e-15);
      ck_assert_double_le(sampled, ours * (1.0 + 1e-7) + 1e-12);
    }
  }
}
END_TEST

/* |P a - P b| <= |a - b| for all pairs, near and far. */
START_TEST(projections_are_nonexpansive) {
  rng r = {4};
  for (int trial = 0; trial < 8000; trial++) {
    double mu = rng_magnitude(&r, -3, 3), a[3], b[3], pa[3], pb[3], before[3], after[3];
    double lo = rng_between(&r, -1, 0.5), near = rng_magnitude(&r, -12, 0);
    force_set sets[] = {circle(mu), wedge(mu), ellipse(mu, mu * rng_magnitude(&r, -3, 3)),
                        interval(lo, lo + rng_between(&r, 0, 1)), {.kind = SET_FREE, .rows = 1}};
    random_point(&r, a, 1.0);
    random_point(&r, b, 1.0);
    for (int i = 0; i < 3; i++) b[i] = a[i] + near * (b[i] - a[i]);
    for (int k = 0; k < 5; k++) {
      int rows = sets[k].rows;
      lcplug_project(&sets[k], a, pa);
      lcplug_project(&sets[k], b, pb);
      for (int i = 0; i < rows; i++) before[i] = a[i] - b[i], after[i] = pa[i] - pb[i];
      ck_assert_double_le(length(after, rows), length(before, rows) + 4e-15);
    }
  }
}
END_TEST

/* x and q may be one array; a free row is left alone; a cone scaled by 2^k scales its answers. */
START_TEST(projection_in_place_and_to_scale) {
  rng r = {5};
  for (int trial = 0; trial < 2000; trial++) {
    double mu = rng_magnitude(&r, -2, 2), q[3], p[3], in_place[3], big[3];
    force_set sets[] = {circle(mu), wedge(mu), ellipse(mu, 2.0 * mu), interval(-0.2, 0.3),
                        {.kind = SET_FREE, .rows = 1}};
    random_point(&r, q, 1.0);
    for (int k = 0; k < 5; k++) {
      size_t bytes = (size_t)sets[k].rows * sizeof *p;
      lcplug_project(&sets[k], q, p);
      memcpy(in_place, q, sizeof q);
      lcplug_project(&sets[k], in_place, in_place);
      ck_assert_mem_eq(in_place, p, bytes);
      if (sets[k].kind == SET_FREE) ck_assert_mem_eq(p, q, bytes);
      if (k > 2) continue;
      for (int i = 0; i < 3; i++) big[i] = q[i] * 0x1p40;
      lcplug_project(&sets[k], big, big);
      for (int i = 0; i < sets[k].rows; i++)
        ck_assert_double_le(fabs(big[i] * 0x1p-40 - p[i]), 1e-15);
    }
  }
}
END_TEST

/* Friction coefficients as large as a double goes, which stand for "never slips", and as small:
 * (n, t) = (1, 1) stays, or keeps its normal part; the nearest point of a nearly flat
 * cone to (-1, 1) is (0, 1). */
static const double large[] = {1e8, 1e12, 1e16, 1e30, 1e100, 1e155, 1e200, 1e300};
enum { LARGE = sizeof large / sizeof *large };

START_TEST(cones_of_extreme_friction) {
  const char *name[] = {"circle", "wedge", "ellipse"};
  double mu = large[_i / 3], up[3] = {1, 1, 1}, down[3] = {-1, 1, 0.5}, p[3];
  int k = _i % 3;
  force_set wide[] = {circle(mu), wedge(mu), ellipse(mu, mu / 2)};
  force_set thin[] = {circle(1 / mu), wedge(1 / mu), ellipse(1 / mu, 2 / mu)};
  lcplug_project(&wide[k], up, p);
  ck_assert_double_le(distance_max(p, up, wide[k].rows), 1e-12);
  lcplug_project(&wide[k], down, p);
  ck_assert_msg(fabs(p[0]) < 3.0 / mu && fabs(p[1] - 1.0) < 1e-7, "%s of mu %g: (%g %g)", name[k],
                mu, p[0], p[1]);
  lcplug_project(&thin[k], up, p);
  ck_assert_msg(fabs(p[0] - 1.0) < 1e-7 && fabs(p[1]) <= 1.0 / mu * 1.0000001,
                "%s of mu %g: (%g %g)", name[k], 1 / mu, p[0], p[1]);
  lcplug_project(&thin[k], down, p);
  ck_assert_msg(p[0] == 0.0 && p[1] == 0.0, "%s of mu %g: (%g %g)", name[k], 1 / mu, p[0], p[1]);
}
END_TEST

/* Forces whose squares leave the range of a double still project to finite points of the cone. */
static const double extreme[] = {1e-300, 1e-200, 1e-160, 1e160, 1e200, 1e300};
enum { EXTREME = sizeof extreme / sizeof *extreme };

START_TEST(cones_of_extreme_forces) {
  const double directions[][3] = {
      {0.1, 1, 1}, {-0.1, 1, 0.5}, {0, 1, 0}, {-1, 0.1, 0.1}, {1, 0.1, 0.1}};
  force_set sets[] = {circle(0.5), wedge(0.5), ellipse(0.5, 0.8)};
  for (size_t d = 0; d < sizeof directions / sizeof *directions; d++) {
    double q[3];
    for (int i = 0; i < 3; i++) q[i] = extreme[_i / 3] * directions[d][i];
    check_cone_point(&sets[_i % 3], q);
  }
}
END_TEST

/* lo <= x <= hi: the nearest of many points of the interval, and the
 * ends, infinite ones included. */
START_TEST(interval_against_brute_force) {
  rng r = {6};
  for (int trial = 0; trial < 2000; trial++) {
    double lo = rng_between(&r, -1, 1), hi = lo + (trial % 5 ? rng_between(&r, 0, 1) : 0.0);
    double q = rng_between(&r, -3, 3), p, best = INFINITY;
    force_set s = interval(lo, hi);
    lcplug_project(&s, &q, &p);
    ck_assert(p >= lo && p <= hi);
    for (int k = 0; k <= 1000; k++) best = fmin(best, fabs(q - (lo + (hi - lo) * k / 1000.0)));
    ck_assert_double_le(fabs(q - p), best + 1e-15);
  }
}
END_TEST

START_TEST(interval_with_infinite_ends) {
  const double values[] = {-DBL_MAX, -1.0, -0.0, 0.0, DBL_MIN, 2.0, DBL_MAX};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    double q = values[i], p;
    force_set both = interval(-INFINITY, INFINITY), above = interval(0.0, INFINITY);
    force_set below = interval(-INFINITY, 1.0), point = interval(0.0, 0.0);
    lcplug_project(&both, &q, &p);
    ck_assert(p == q);
    lcplug_project(&above, &q, &p);
    ck_assert(p == (q > 0.0 ? q : 0.0));
    lcplug_project(&below, &q, &p);
    ck_assert(p == (q < 1.0 ? q : 1.0));
    lcplug_project(&point, &q, &p);
    ck_assert(p == 0.0);
  }
}
END_TEST

/* mu |x_n|, where no normal force means no friction even if mu is infinite, and mu 0 none
 * even under an infinite force. */
START_TEST(friction_bound_rules) {
  ck_assert(lcplug_friction_bound(0.5, 4.0) == 2.0);
  ck_assert(lcplug_friction_bound(0.5, -4.0) == 2.0);
  ck_assert(lcplug_friction_bound(INFINITY, 0.0) == 0.0);
  ck_assert(lcplug_friction_bound(INFINITY, -0.0) == 0.0);
  ck_assert(lcplug_friction_bound(0.0, INFINITY) == 0.0);
  ck_assert(lcplug_friction_bound(INFINITY, 1e-300) == INFINITY);
  ck_assert(lcplug_friction_bound(INFINITY, -1.0) == INFINITY);
}
END_TEST

/* A coupled row takes its bounds from its normal's force, wherever that stands, and projects like
 * an interval; sets of other kinds keep theirs. */
START_TEST(coupled_set_follows_its_normal) {
  force_set s = {.kind = SET_COUPLED, .first = 1, .rows = 1, .normal = 3, .mu = {0.25, 0.0}};
  double x[4] = {100.0, 100.0, 100.0, 8.0}, q = -7.0, p;
  lcplug_set_couple(&s, x);
  ck_assert(s.lo == -2.0 && s.hi == 2.0);
  lcplug_project(&s, &q, &p);
  ck_assert(p == -2.0);
  s.mu[0] = INFINITY;
  lcplug_set_couple(&s, x);
  lcplug_project(&s, &q, &p);
  ck_assert(s.hi == INFINITY && p == q);
  x[3] = 0.0;
  lcplug_set_couple(&s, x);
  lcplug_project(&s, &q, &p);
  ck_assert(s.lo == 0.0 && s.hi == 0.0 && p == 0.0);
  force_set fixed = interval(-1.0, 1.0);
  lcplug_set_couple(&fixed, x);
  ck_assert(fixed.lo == -1.0 && fixed.hi == 1.0);
}
END_TEST

/* De Saxce's term: mu |w_t| with each tangent's own mu; w_n plays no part; 0 without a cone. */
START_TEST(slip_is_mu_times_speed) {
  double w[3] = {1000.0, 3.0, -4.0};
  force_set c = circle(0.5), e = ellipse(2.0, 0.25), line = wedge(0.5), box = interval(0, 1);
  force_set coupled = {.kind = SET_COUPLED, .rows = 1, .mu = {0.5, 0.5}};
  ck_assert_double_eq_tol(lcplug_slip(&c, w), 2.5, 1e-15);
  ck_assert_double_eq_tol(lcplug_slip(&e, w), sqrt(37.0), 1e-14);
  ck_assert_double_eq_tol(lcplug_slip(&line, w), 1.5, 1e-15);
  ck_assert(lcplug_slip(&box, w) == 0.0 && lcplug_slip(&coupled, w) == 0.0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("sets");
  TCase *cones = support_case(suite, "cones"), *rows = support_case(suite, "rows");
  tcase_add_test(cones, cones_satisfy_moreau);
  tcase_add_test(cones, cones_at_and_around_n_zero);
  tcase_add_test(cones, cones_at_their_surfaces);
  tcase_add_test(cones, cones_against_brute_force);
  tcase_add_test(cones, projections_are_nonexpansive);
  tcase_add_test(cones, projection_in_place_and_to_scale);
  tcase_add_loop_test(cones, cones_of_extreme_friction, 0, 3 * LARGE);
  tcase_add_loop_test(cones, cones_of_extreme_forces, 0, 3 * EXTREME);
  tcase_add_test(rows, interval_against_brute_force);
  tcase_add_test(rows, interval_with_infinite_ends);
  tcase_add_test(rows, friction_bound_rules);
  tcase_add_test(rows, coupled_set_follows_its_normal);
  tcase_add_test(rows, slip_is_mu_times_speed);
  return support_run(suite);
}
