/* test_residual.c - the one judge.
 *
 * One contact of a body with A = a I has a solution in closed form for each friction model.  Write
 * b = (b_n, b_t), t = |b_t|:
 *
 *     opens    b_n <= 0 (for cone: -b_n >= mu t)   x = 0
 *     sticks   t <= mu b_n                         x = b / a,  w = 0
 *     slides   otherwise; coulomb                  x_n = b_n / a, x_t = mu x_n b_t / t,  w_n = 0
 *                         cone                     x = P_K(b / a): x_n = (b_n
 *                                                  + mu t) / (1 + mu^2) / a
 *                         pyramid, ode             x_n = b_n / a, each tangent cut off at mu x_n
 *
 * At these the residual is rounding error, and near them it grows with the distance. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static const lcplug_friction models[] = {LCPLUG_FRICTION_ODE, LCPLUG_FRICTION_PYRAMID,
                                         LCPLUG_FRICTION_CONE, LCPLUG_FRICTION_COULOMB};

static instance *single_contact(double a, double mu, double bn, double b1, double b2) {
  instance *p = instance_create(3);
  double b[3] = {bn, b1, b2};
  for (int i = 0; i < 3; i++) {
    instance_set(p, i, i, a);
    p->b[i] = b[i];
    p->findex[i] = i ? 0 : -1;
    p->lo[i] = i ? -mu : 0.0;
    p->hi[i] = i ? mu : INFINITY;
  }
  return p;
}

/* The closed form above into p->x, and the frozen bounds of friction=ode. */
static void solve_by_hand(instance *p, lcplug_friction friction) {
  double a = instance_at(p, 0, 0), mu = p->hi[1], n = p->b[0] / a, t = hypot(p->b[1], p->b[2]) / a;
  double tangent = 1.0; /* by what b_t / a is multiplied */
  int cone = friction == LCPLUG_FRICTION_CONE;
  if (cone ? -n >= mu * t : n <= 0.0) {
    n = tangent = 0.0;
  } else if (t > mu * n) {
    if (cone) n = (n + mu * t) / (1.0 + mu * mu);
    tangent = mu * n / t;
  }
  p->x[0] = n;
  for (int i = 1; i < 3; i++) {
    double stick = p->b[i] / a, most = mu * n;
    p->x[i] = tangent * stick;
    if (friction <= LCPLUG_FRICTION_PYRAMID) p->x[i] = fmax(-most, fmin(stick, most));
    p->used_hi[i] = most;
    p->used_lo[i] = -most;
  }
}

START_TEST(zero_at_single_contact_solutions) {
  rng r = {10};
  for (int trial = 0; trial < 3000; trial++) {
    double a = rng_magnitude(&r, -3, 3), mu = rng_magnitude(&r, -1, 0.5);
    instance *p = single_contact(a, mu, rng_between(&r, -1, 1), rng_between(&r, -1, 1),
                                 rng_between(&r, -1, 1));
    for (int f = 0; f < 4; f++) {
      solve_by_hand(p, models[f]);
      ck_assert_double_le(instance_residual(p, models[f]), 1e-12);
    }
    instance_free(p);
  }
}
END_TEST

/* A force that is wrong by delta in one row of a sticking contact leaves a velocity a delta there;
 * in a tangent De Saxce's term adds mu a delta to the normal.  It is measured by what no force
 * leaves: 2 in the normal row, |b| in the cone, |(b_n - mu t, b_t)| with De Saxce's term. */
START_TEST(grows_with_the_error) {
  const double mu = 0.9, delta = 1e-4, a = 4.0, t = sqrt(0.25 * 0.25 + 0.5 * 0.5);
  const double unit[] = {2.0, 2.0, hypot(2.0, t), hypot(2.0 - mu * t, t)};
  for (int f = 0; f < 4; f++)
    for (int row = 0; row < 3; row++) {
      instance *p = single_contact(a, mu, 2.0, 0.25, -0.5);
      solve_by_hand(p, models[f]);
      p->x[row] += delta;
      double left = a * delta;
      if (row && models[f] == LCPLUG_FRICTION_COULOMB) left *= hypot(1.0, mu);
      ck_assert_double_eq_tol(instance_residual(p, models[f]), left / unit[f], 1e-12);
      instance_free(p);
    }
}
END_TEST

/* The number itself, far from a solution.  A = diag(1, 2, 3), so s = 2; mu 1/2; b = (1/2, 3, 0), x
 * = (1, 0, 0), w = (1/2, -3, 0).  A cone scales with its points: s F(x) = s x - P(s x - w).
 *
 *   cone      P(3/2, 3) = (2.4, 1.2):  |(2 - 2.4, -1.2)| = 1.6^(1/2), and without forces |P(1/2,
 *             3)| = |(1.6, 0.8)| = 3.2^(1/2)
 *   coulomb   w_n + mu |w_t| = 2:  P(0, 3) = (1.2, 0.6):  |(0.8, -0.6)| = 1, and without forces
 *             |P(1/2 - 3/2, 3)| = |(0.4, 0.2)| = 0.2^(1/2) */
START_TEST(number_worked_out_by_hand) {
  instance *p = single_contact(1.0, 0.5, 0.5, 3.0, 0.0);
  instance_set(p, 1, 1, 2.0), instance_set(p, 2, 2, 3.0);
  p->x[0] = 1.0;
  ck_assert_double_eq_tol(instance_residual(p, LCPLUG_FRICTION_CONE), sqrt(1.6 / 3.2), 1e-14);
  ck_assert_double_eq_tol(instance_residual(p, LCPLUG_FRICTION_COULOMB), sqrt(1.0 / 0.2), 1e-14);
  instance_free(p);
}
END_TEST

/* A body slides in a plane on a rough ground that couples the rows: A = [a c; c d], one tangent.
 * Sliding in direction -s (s = +-1): x_t = s mu x_n, w_n = 0 gives x_n = b_n / (a + s
 * mu c), and the rest is w_t = (c + s mu d) x_n - b_t with s w_t <= 0.  Coulomb's
 * solution if that sign is right. */
START_TEST(zero_at_coupled_sliding) {
  rng r = {11};
  int met = 0;
  for (int trial = 0; trial < 3000; trial++) {
    double a = rng_between(&r, 0.5, 2), d = rng_between(&r, 0.5, 2), mu = rng_between(&r, 0.1, 1);
    double c = rng_between(&r, -0.9, 0.9) * sqrt(a * d), bn = rng_between(&r, 0, 1),
           bt = rng_between(&r, -2, 2);
    double s = rng_below(&r, 2) ? 1.0 : -1.0, stiff = a + s * mu * c, n = bn / stiff;
    if (stiff <= 0.0 || s * ((c + s * mu * d) * n - bt) > 0.0) continue;
    instance *p = instance_create(2);
    instance_set(p, 0, 0, a), instance_set(p, 1, 0, c), instance_set(p, 1, 1, d);
    p->b[0] = bn, p->b[1] = bt, p->lo[0] = 0.0, p->findex[1] = 0, p->hi[1] = mu;
    p->x[0] = n, p->x[1] = s * mu * n, p->used_hi[1] = mu * n, p->used_lo[1] = -mu * n;
    ck_assert_double_le(instance_residual(p, LCPLUG_FRICTION_COULOMB), 1e-11);
    ck_assert_double_le(instance_residual(p, LCPLUG_FRICTION_PYRAMID), 1e-11);
    ck_assert_double_le(instance_residual(p, LCPLUG_FRICTION_ODE), 1e-11);
    met++;
    instance_free(p);
  }
  ck_assert_int_ge(met, 500);
}
END_TEST

/* Forces in another unit: x f, lo f, hi f (not mu), A / f.  Velocities in another: b v and x v.
 * The residual of any x, good or bad, stays. */
START_TEST(free_of_units) {
  const double units[] = {1e-7, 1e-3, 0.1, 1e4, 1e9};
  rng r = {12};
  for (int trial = 0; trial < 200; trial++) {
    instance *p = instance_contacts(&r, 4, 2, 1e-3, 0.5, trial % 2 ? 0.5 : 0.2);
    for (int i = 0; i < p->n; i++) p->x[i] = rng_between(&r, -1, 1) * (trial % 3);
    for (int f = 0; f < 4; f++) {
      for (int i = 0; i < p->n; i++) p->used_hi[i] = 0.5, p->used_lo[i] = -0.5;
      double before = instance_residual(p, models[f]);
      instance *q = instance_copy(p);
      double force = units[trial % 5], speed = units[(trial + f) % 5];
      for (int i = 0; i < p->n; i++) {
        q->x[i] *= force * speed, q->b[i] *= speed;
        q->used_lo[i] *= force * speed, q->used_hi[i] *= force * speed;
        for (int j = 0; j <= i; j++) instance_set(q, i, j, instance_at(p, i, j) / force);
      }
      ck_assert_double_eq_tol(instance_residual(q, models[f]) / before, 1.0, 1e-12);
      instance_free(q);
    }
    instance_free(p);
  }
}
END_TEST

/* No force at all: 1 by definition, or 0 if it solves the problem (all contacts open), whose other
 * candidates are then measured by max |b|. */
START_TEST(one_or_zero_without_forces) {
  rng r = {13};
  for (int trial = 0; trial < 200; trial++) {
    instance *p = instance_contacts(&r, 3, 2, 1e-3, 0.5, 0.5);
    p->b[0] = 1.0;
    for (int f = 0; f < 4; f++)
      ck_assert_double_eq_tol(instance_residual(p, models[f]), 1.0, 1e-15);
    double most = 0.0;
    for (int i = 0; i < p->n; i++) {
      p->b[i] = i % 3 ? rng_between(&r, -0.4, 0.4) : rng_between(&r, -2, -1);
      most = fmax(most, fabs(p->b[i]));
    }
    /* Frozen bounds are 0 here, as x_n = 0 makes them. */
    for (int f = 0; f < 4; f++) ck_assert(instance_residual(p, models[f]) == 0.0);
    /* on an open contact: it should be 0, so F = x, and the other rows want nothing */
    p->x[0] = 1e-3;
    double expected = instance_at(p, 0, 0) * 1e-3 / most;
    ck_assert_double_eq_tol(instance_residual(p, LCPLUG_FRICTION_ODE), expected, 1e-12);
    instance_free(p);
  }
}
END_TEST

/* A force that is no number, or one so large that A x is none, is infinitely wrong. */
START_TEST(infinite_for_what_is_not_finite) {
  const double bad[] = {NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX};
  for (int f = 0; f < 4; f++)
    for (int row = 0; row < 3; row++)
      for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        instance *p = single_contact(100.0, 0.5, 1.0, 1.0, 1.0);
        p->x[row] = bad[k];
        ck_assert_msg(instance_residual(p, models[f]) == INFINITY, "friction %d, row %d, %g: %g", f,
                      row, bad[k], instance_residual(p, models[f]));
        instance_free(p);
      }
}
END_TEST

/* A right side so large that its square overflows must not make every answer look perfect: x = 0
 * leaves 1, as ever, and an arbitrary x is not solved. */
START_TEST(huge_right_sides_do_not_hide_errors) {
  for (int f = 0; f < 4; f++) {
    instance *p = single_contact(1.0, 0.5, 1e180, 3e180, 1e180);
    ck_assert_double_eq_tol(instance_residual(p, models[f]), 1.0, 1e-12);
    p->x[0] = 1.0;
    ck_assert_double_ge(instance_residual(p, models[f]), 0.5);
    instance_free(p);
  }
}
END_TEST

/* The caller's layout: (b, x) and (lo, hi) in pairs, as ODE has them, and a stride; the same number
 * as with plain arrays, to the bit. */
START_TEST(pairs_as_in_ode) {
  rng r = {14};
  instance *p = instance_contacts(&r, 4, 2, 1e-3, 0.5, 0.3);
  double pairs_bx[24], pairs_lh[24], used[24], residual;
  for (int i = 0; i < p->n; i++) {
    p->x[i] = rng_between(&r, 0, 1), p->used_hi[i] = rng_between(&r, 0, 1),
    p->used_lo[i] = -p->used_hi[i];
    pairs_bx[2 * i] = p->b[i], pairs_bx[2 * i + 1] = p->x[i];
    pairs_lh[2 * i] = p->lo[i], pairs_lh[2 * i + 1] = p->hi[i];
    used[2 * i] = p->used_lo[i], used[2 * i + 1] = p->used_hi[i];
  }
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = instance_problem(p);
  problem.b = pairs_bx, problem.b_step = 2;
  problem.lo = pairs_lh, problem.hi = pairs_lh + 1, problem.bounds_step = 2;
  for (int f = 0; f < 4; f++) {
    ck_assert_int_eq(lcplug_residual(workspace, &problem, models[f], pairs_bx + 1, 2, used,
                                     used + 1, 2, &residual),
                     LCPLUG_OK);
    ck_assert(residual == instance_residual(p, models[f]));
    ck_assert(residual > 0.01);
  }
  lcplug_workspace_free(workspace);
  instance_free(p);
}
END_TEST

/* Rows in any order, a contact's rows torn apart: the same residual. */
START_TEST(rows_in_any_order) {
  rng r = {15};
  for (int trial = 0; trial < 100; trial++) {
    instance *p = instance_contacts(&r, 5, 2, 1e-3, 0.5, trial % 2 ? 0.5 : 0.2);
    int order[15];
    instance *q = instance_permuted(p, &r, order);
    for (int i = 0; i < p->n; i++)
      p->x[i] = rng_between(&r, 0, 1), p->used_hi[i] = rng_between(&r, 0, 1),
      p->used_lo[i] = -p->used_hi[i];
    /* The first two rows that name a normal are its tangents: whichever
     * comes first, mu goes along. */
    for (int i = 0; i < p->n; i++)
      q->x[i] = p->x[order[i]], q->used_hi[i] = p->used_hi[order[i]],
      q->used_lo[i] = p->used_lo[order[i]];
    for (int f = 0; f < 4; f++)
      ck_assert_double_eq_tol(instance_residual(p, models[f]), instance_residual(q, models[f]),
                              1e-12);
    instance_free(p);
    instance_free(q);
  }
}
END_TEST

/* friction=ode: judged by the frozen bounds that are passed, and without them by mu |x_n|.  x_t
 * stands at the frozen bound 0.3 of a slide: right by these, wrong by mu x_n = 0.5, by 0.2 of 3. */
START_TEST(frozen_bounds_are_the_judge) {
  instance *p = single_contact(1.0, 0.5, 1.0, 3.0, 0.0);
  lcplug_problem problem = instance_problem(p);
  lcplug_workspace *workspace = lcplug_workspace_create();
  double residual;
  p->x[0] = 1.0, p->x[1] = 0.3, p->used_hi[1] = p->used_hi[2] = 0.3,
  p->used_lo[1] = p->used_lo[2] = -0.3;
  ck_assert_double_le(instance_residual(p, LCPLUG_FRICTION_ODE), 1e-15);
  ck_assert_int_eq(
      lcplug_residual(workspace, &problem, LCPLUG_FRICTION_ODE, p->x, 1, NULL, NULL, 0, &residual),
      0);
  /* Without forces the judge allows |x_t| <= mu x_n with the x given:
   * then 0.5 is missing, not 3. */
  ck_assert_double_eq_tol(residual, 0.2, 1e-12);
  lcplug_workspace_free(workspace);
  instance_free(p);
}
END_TEST

/* A row of zeros: w = -b whatever its force.  b = 0 leaves nothing to do; b > 0 on a row that may
 * push cannot be repaired, and b < 0 asks for no force. */
START_TEST(rows_of_zeros) {
  instance *p = instance_create(2);
  instance_set(p, 0, 0, 1.0);
  p->b[0] = 1.0, p->x[0] = 1.0, p->lo[1] = 0.0;
  ck_assert(instance_residual(p, LCPLUG_FRICTION_ODE) == 0.0);
  p->x[1] = 5.0;
  ck_assert_double_le(instance_residual(p, LCPLUG_FRICTION_ODE), 1e-15);
  p->x[1] = 0.0, p->b[1] = -1.0;
  ck_assert(instance_residual(p, LCPLUG_FRICTION_ODE) == 0.0);
  p->b[1] = 1.0;
  ck_assert_double_eq_tol(instance_residual(p, LCPLUG_FRICTION_ODE), 1.0, 1e-12);
  instance_free(p);
  p = instance_create(3); /* A = 0 altogether */
  ck_assert(instance_residual(p, LCPLUG_FRICTION_CONE) == 0.0);
  p->b[1] = 2.0;
  ck_assert_double_eq_tol(instance_residual(p, LCPLUG_FRICTION_CONE), 1.0, 1e-15);
  instance_free(p);
}
END_TEST

/* Infinitely rough, smooth, rolling: mu inf sticks as long as there is a normal force, mu 0 is no
 * force, a third row is bounded by its own coefficient. */
START_TEST(special_coefficients) {
  instance *p = instance_create(4);
  const double hi[] = {INFINITY, INFINITY, 0.0, 0.1}, x[] = {2.0, 50.0, 0.0, -0.2};
  const double b[] = {2.0, 50.0, 7.0, -9.0};
  for (int i = 0; i < 4; i++) {
    instance_set(p, i, i, 1.0);
    p->b[i] = b[i], p->hi[i] = hi[i], p->findex[i] = i ? 0 : -1, p->x[i] = x[i],
    p->lo[i] = i ? -hi[i] : 0.0;
    p->used_hi[i] = i == 1 ? INFINITY : i == 3 ? 0.2 : 0.0, p->used_lo[i] = -p->used_hi[i];
  }
  for (int f = 0; f < 4; f++) ck_assert_double_le(instance_residual(p, models[f]), 1e-15);
  p->x[2] = 0.5;
  for (int f = 0; f < 4; f++) ck_assert_double_ge(instance_residual(p, models[f]), 0.5 / 60);
  p->x[2] = 0.0, p->x[3] = 0.0;
  for (int f = 0; f < 4; f++) ck_assert_double_ge(instance_residual(p, models[f]), 0.2 / 60);
  instance_free(p);
}
END_TEST

/* A = (2 1; 0 2), b = (2 2), x >= 0.  The answer is (1/2 1); at (1 1) w = (1 0), half of what is
 * left without any force.  The symmetric part would have said otherwise. */
START_TEST(an_asymmetric_matrix_is_judged_as_given) {
  const double A[] = {2, 1, 0, 2}, b[] = {2, 2}, lo[] = {0, 0}, hi[] = {INFINITY, INFINITY};
  const double xs[][2] = {{0.5, 1}, {1, 1}, {0, 0}}, expected[] = {0, 0.5, 1};
  lcplug_problem p = lcplug_problem_default();
  p.n = 2, p.A = A, p.stride = 2, p.b = b, p.lo = lo, p.hi = hi;
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int i = 0; i < 3; i++) {
    double residual = -1;
    ck_assert_int_eq(lcplug_residual_asymmetric(workspace, &p, LCPLUG_FRICTION_ODE, xs[i], 1, NULL,
                                                NULL, 0, &residual),
                     LCPLUG_OK);
    ck_assert_double_eq_tol(residual, expected[i], 1e-15);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("residual");
  TCase *tests = support_case(suite, "natural residual");
  tcase_add_test(tests, zero_at_single_contact_solutions);
  tcase_add_test(tests, grows_with_the_error);
  tcase_add_test(tests, number_worked_out_by_hand);
  tcase_add_test(tests, zero_at_coupled_sliding);
  tcase_add_test(tests, free_of_units);
  tcase_add_test(tests, one_or_zero_without_forces);
  tcase_add_test(tests, infinite_for_what_is_not_finite);
  tcase_add_test(tests, huge_right_sides_do_not_hide_errors);
  tcase_add_test(tests, pairs_as_in_ode);
  tcase_add_test(tests, rows_in_any_order);
  tcase_add_test(tests, frozen_bounds_are_the_judge);
  tcase_add_test(tests, rows_of_zeros);
  tcase_add_test(tests, special_coefficients);
  tcase_add_test(tests, an_asymmetric_matrix_is_judged_as_given);
  return support_run(suite);
}
