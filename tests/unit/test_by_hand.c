/* test_by_hand.c - small problems whose answers are worked out on paper, put to every solver.
 *
 * The maths stands above each test.  Rows are A x = b + w, so b is the velocity that forces have to
 * bring about and w what is left over. */
#include <math.h>
#include <string.h>

#include "support.h"

/* Every way to solve: solver, operator, and for pgs its relaxation, sweep and splitting. */
static const struct way {
  lcplug_solver solver;
  lcplug_matrix matrix;
  double omega;
  lcplug_sweep sweep;
  lcplug_splitting splitting;
} ways[] = {
    {LCPLUG_PGS, LCPLUG_MATRIX_DENSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_SPARSE, 1.0, LCPLUG_SWEEP_SYMMETRIC, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_DENSE, 0.5, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_SPARSE, 1.5, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_DENSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_JACOBI},
    {LCPLUG_PGS, LCPLUG_MATRIX_SPARSE, 0.8, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_JACOBI},
    {LCPLUG_APGD, LCPLUG_MATRIX_DENSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_APGD, LCPLUG_MATRIX_SPARSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_AUTO, LCPLUG_MATRIX_AUTO, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_EXACT, LCPLUG_MATRIX_DENSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_EXACT, LCPLUG_MATRIX_SPARSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
};
enum { WAYS = sizeof ways / sizeof *ways };

static lcplug_info solve(instance *p, int way, lcplug_friction friction) {
  lcplug_settings s = settings_for(ways[way].solver, friction);
  s.matrix = ways[way].matrix, s.omega = ways[way].omega;
  s.sweep = ways[way].sweep, s.splitting = ways[way].splitting;
  s.tol = 1e-12, s.max_iter = 100000;
  lcplug_info info = instance_solve(p, &s);
  ck_assert_msg(info.status == LCPLUG_SOLVED, "way %d, friction %d: %s, residual %g", way, friction,
                lcplug_status_text(info.status), info.residual);
  ck_assert_double_le(instance_conditions(p, friction), 1e-9);
  return info;
}

/* p is solved by x and w, up to rounding and the tolerance, in the way and friction model given. */
static void check(instance *p, int way, lcplug_friction friction, const double *x,
                  const double *w) {
  solve(p, way, friction);
  if (x) ck_assert_double_le(distance_max(p->x, x, p->n), 1e-9);
  if (w) ck_assert_double_le(distance_max(p->w, w, p->n), 1e-9);
}

static void fill(instance *p, const double *lower, const double *b) {
  for (int i = 0; i < p->n; i++) {
    p->b[i] = b[i];
    for (int j = 0; j <= i; j++) instance_set(p, i, j, *lower++);
  }
}

/* One row: 2 x = 3 + w.  Free: x = 3/2.  At most 1: x = 1, w = -1.  At least 2: x = 2, w = 1. */
START_TEST(one_row) {
  const double bounds[][2] = {
      {-INFINITY, INFINITY}, {0, INFINITY}, {0, 1}, {2, 5}, {2, 2}, {-1, 0}};
  const double x[] = {1.5, 1.5, 1, 2, 2, 0}, w[] = {0, 0, -1, 1, 1, -3};
  for (int k = 0; k < 6; k++) {
    instance *p = instance_create(1);
    fill(p, (double[]){2}, (double[]){3});
    p->lo[0] = bounds[k][0], p->hi[0] = bounds[k][1];
    check(p, _i, LCPLUG_FRICTION_ODE, &x[k], &w[k]);
    instance_free(p);
  }
}
END_TEST

/* Two contacts of one body: [2 1; 1 2] x = (1, -1) + w, x >= 0.  Both pressing would give x_2 = -1,
 * so the second opens: x = (1/2, 0), w = (0, 3/2). */
START_TEST(one_presses_one_opens) {
  instance *p = instance_create(2);
  fill(p, (double[]){2, 1, 2}, (double[]){1, -1});
  p->lo[0] = p->lo[1] = 0.0;
  check(p, _i, LCPLUG_FRICTION_ODE, (double[]){0.5, 0}, (double[]){0, 1.5});
  instance_free(p);
}
END_TEST

/* A joint and a contact: row 0 free, row 1 pushes, [2 1; 1 2] x = (1, 2) + w.
 * Eliminating the joint: 3/2 x_1 = 3/2, so x = (0, 1), w = 0.  With b_1 = 0 the contact
 * opens: x = (1/2, 0), w = (0, 1/2). */
START_TEST(joint_and_contact) {
  instance *p = instance_create(2);
  fill(p, (double[]){2, 1, 2}, (double[]){1, 2});
  p->lo[1] = 0.0;
  check(p, _i, LCPLUG_FRICTION_ODE, (double[]){0, 1}, (double[]){0, 0});
  p->b[1] = 0.0;
  check(p, _i, LCPLUG_FRICTION_ODE, (double[]){0.5, 0}, (double[]){0, 0.5});
  instance_free(p);
}
END_TEST

/* A stack of N boxes of mass 1 falls by g per step: contact k carries all that lies above it,
 * x_k = (N - k) g, and nothing moves, w = 0.  A is tridiagonal: A_00 = 1 (the ground
 * does not move), A_kk = 2, A_k,k-1 = -1; b = (g, 0, ...): only against the ground
 * there is a velocity to stop. */
START_TEST(stack_of_boxes) {
  enum { N = 6 };
  const double g = 0.25;
  double x[N], w[N] = {0};
  instance *p = instance_create(N);
  for (int k = 0; k < N; k++) {
    instance_set(p, k, k, k ? 2.0 : 1.0);
    if (k) instance_set(p, k, k - 1, -1.0);
    p->b[k] = k ? 0.0 : g;
    p->lo[k] = 0.0;
    x[k] = (N - k) * g;
  }
  check(p, _i, LCPLUG_FRICTION_ODE, x, w);
  instance_free(p);
}
END_TEST

/* A table stands on four legs at (+-1, +-1); mass and inertias 1, falling by g.  Row k of J is
 * (1, y_k, -x_k), A = J J' has rank 3: the leg forces are not unique, but their sum g,
 * their moments 0 and w = 0 are. */
START_TEST(four_legs) {
  const double X[] = {1, -1, -1, 1}, Y[] = {1, 1, -1, -1}, g = 0.5;
  instance *p = instance_create(4);
  for (int i = 0; i < 4; i++) {
    p->b[i] = g, p->lo[i] = 0.0;
    for (int j = 0; j <= i; j++) instance_set(p, i, j, 1.0 + Y[i] * Y[j] + X[i] * X[j]);
  }
  check(p, _i, LCPLUG_FRICTION_ODE, NULL, (double[]){0, 0, 0, 0});
  double sum = 0, mx = 0, my = 0;
  for (int i = 0; i < 4; i++) sum += p->x[i], mx += X[i] * p->x[i], my += Y[i] * p->x[i];
  ck_assert_double_eq_tol(sum, g, 1e-9);
  ck_assert_double_eq_tol(mx, 0.0, 1e-9);
  ck_assert_double_eq_tol(my, 0.0, 1e-9);
  instance_free(p);
}
END_TEST

/* All rows fixed, lo = hi = c: x = c and w = A c - b, whatever b says.  c need not be near 0. */
START_TEST(all_fixed) {
  instance *p = instance_create(3);
  fill(p, (double[]){2, 1, 3, 0, -1, 4}, (double[]){1, 1, 1});
  const double c[] = {1, -2, 0.5}, w[] = {2 - 2 - 1, 1 - 6 - 0.5 - 1, 2 + 2 - 1};
  for (int i = 0; i < 3; i++) p->lo[i] = p->hi[i] = c[i];
  check(p, _i, LCPLUG_FRICTION_ODE, c, w);
  instance_free(p);
}
END_TEST

/* All rows free: linear equations.  [4 1 0; 1 3 1; 0 1 2] x = (6, 10, 8) has x = (1, 2, 3). */
START_TEST(all_free) {
  instance *p = instance_create(3);
  fill(p, (double[]){4, 1, 3, 0, 1, 2}, (double[]){6, 10, 8});
  check(p, _i, LCPLUG_FRICTION_CONE, (double[]){1, 2, 3}, (double[]){0, 0, 0});
  instance_free(p);
}
END_TEST

/* A particle of mass 1 hits the ground: A = I, normal speed to stop 1, tangential 3 along
 * (0.6, 0.8), mu 1/2.  It slides.
 *
 *   coulomb        x_n = 1, |x_t| = 1/2 along the slip: w = (0, -(3 - 1/2) (0.6, 0.8))
 *   cone           x = P_K(1, 3): x_n = (1 + 3/2) / (5/4) = 2, |x_t| = 1: w_n = 1, |w_t| = 2;
 *                  lifted by mu |w_t| = 1, the relaxation gap
 *   ode, pyramid   each tangent cut off at 1/2: x_t = (1/2, 1/2), not along the slip */
static instance *sliding_particle(void) {
  instance *p = instance_create(3);
  fill(p, (double[]){1, 0, 1, 0, 0, 1}, (double[]){1, 1.8, 2.4});
  p->lo[0] = 0.0;
  p->findex[1] = p->findex[2] = 0;
  p->hi[1] = p->hi[2] = 0.5;
  return p;
}

START_TEST(particle_slides) {
  instance *p = sliding_particle();
  check(p, _i, LCPLUG_FRICTION_COULOMB, (double[]){1, 0.3, 0.4}, (double[]){0, -1.5, -2.0});
  check(p, _i, LCPLUG_FRICTION_CONE, (double[]){2, 0.6, 0.8}, (double[]){1, -1.2, -1.6});
  check(p, _i, LCPLUG_FRICTION_ODE, (double[]){1, 0.5, 0.5}, (double[]){0, -1.3, -1.9});
  check(p, _i, LCPLUG_FRICTION_PYRAMID, (double[]){1, 0.5, 0.5}, (double[]){0, -1.3, -1.9});
  instance_free(p);
}
END_TEST

/* The gap that is reported: 1 for the cone, which lifts the particle by it; none for the others. */
START_TEST(relaxation_gap_is_told) {
  instance *p = sliding_particle();
  lcplug_info cone = solve(p, _i, LCPLUG_FRICTION_CONE);
  ck_assert_double_eq_tol(cone.gap, 1.0, 1e-9);
  ck_assert_double_eq_tol(p->w[0], cone.gap, 1e-9);
  ck_assert_double_eq_tol(cone.gap, 0.5 * hypot(p->w[1], p->w[2]), 1e-14);
  lcplug_info coulomb = solve(p, _i, LCPLUG_FRICTION_COULOMB);
  ck_assert(coulomb.gap == 0.0);
  ck_assert_double_le(fabs(p->w[0]), 1e-9);
  ck_assert(solve(p, _i, LCPLUG_FRICTION_PYRAMID).gap == 0.0);
  ck_assert(solve(p, _i, LCPLUG_FRICTION_ODE).gap == 0.0);
  instance_free(p);
}
END_TEST

/* The same particle with 3/10 of the slip sticks: |x_t| = 0.3 <= mu.  With normal speed -2 it
 * leaves: no force.  Leaving slowly at -1 under friction=cone the slip of 3 lifts nothing but
 * itself: q = (-1, 3), x_n = (-1 + 3/2) / (5/4) = 0.4, x_t = 0.2; Coulomb gives no force. */
START_TEST(particle_sticks_or_leaves) {
  instance *p = sliding_particle();
  p->b[1] = 0.18, p->b[2] = 0.24;
  for (int f = 0; f <= LCPLUG_FRICTION_COULOMB; f++)
    check(p, _i, (lcplug_friction)f, (double[]){1, 0.18, 0.24}, (double[]){0, 0, 0});
  p->b[0] = -2.0, p->b[1] = 1.8, p->b[2] = 2.4;
  for (int f = 0; f <= LCPLUG_FRICTION_COULOMB; f++)
    check(p, _i, (lcplug_friction)f, (double[]){0, 0, 0}, (double[]){2, -1.8, -2.4});
  p->b[0] = -1.0;
  check(p, _i, LCPLUG_FRICTION_CONE, (double[]){0.4, 0.12, 0.16}, NULL);
  check(p, _i, LCPLUG_FRICTION_COULOMB, (double[]){0, 0, 0}, (double[]){1, -1.8, -2.4});
  instance_free(p);
}
END_TEST

/* Two coefficients: mu = (1/2, 1/8), slip of 4 along the second tangent only.  Coulomb: x_n = 1,
 * x_t = (0, 1/8).  Along the first: x_t = (1/2, 0).  In both sticking would take more. */
START_TEST(elliptic_friction_along_its_axes) {
  instance *p = sliding_particle();
  p->hi[2] = 0.125;
  p->b[1] = 0.0, p->b[2] = 4.0;
  check(p, _i, LCPLUG_FRICTION_COULOMB, (double[]){1, 0, 0.125}, (double[]){0, 0, -3.875});
  p->b[1] = 4.0, p->b[2] = 0.0;
  check(p, _i, LCPLUG_FRICTION_COULOMB, (double[]){1, 0.5, 0}, (double[]){0, -3.5, 0});
  instance_free(p);
}
END_TEST

/* A lone tangent: a rod slides in a plane and its normal and tangent are coupled, A = [2 1; 1 2],
 * b = (1, -4), mu 1/2.  Sliding in +t, friction at -mu x_n: (2 - 1/2) x_n = 1, x = (2/3, -1/3), w_n
 * = 0 and w_t = 2/3 - 2/3 + 4 = 4 > 0 agrees. */
START_TEST(coupled_rod_slides) {
  instance *p = instance_create(2);
  fill(p, (double[]){2, 1, 2}, (double[]){1, -4});
  p->lo[0] = 0.0, p->findex[1] = 0, p->hi[1] = 0.5;
  check(p, _i, LCPLUG_FRICTION_COULOMB, (double[]){2.0 / 3, -1.0 / 3}, (double[]){0, 4});
  check(p, _i, LCPLUG_FRICTION_PYRAMID, (double[]){2.0 / 3, -1.0 / 3}, (double[]){0, 4});
  /* ode freezes the bound at mu * 1/2 from the frictionless x_n = 1/2; then x_n = (1 + 1/4) / 2. */
  check(p, _i, LCPLUG_FRICTION_ODE, (double[]){0.625, -0.25}, (double[]){0, 4.125});
  ck_assert_double_eq_tol(p->used_hi[1], 0.25, 1e-9);
  instance_free(p);
}
END_TEST

/* A ball that slides, rolls and spins on one contact: rows normal, two tangents (mu 0.5), rolling
 * (0.1) and spinning (0), A = I.  Slip 3 along the first tangent, rolling 1, spin 1.  Coulomb: x_n
 * = 1, x_t = (0.5, 0), x_roll = 0.1, x_spin = 0. */
START_TEST(rolling_row_is_bounded_by_its_normal) {
  const double b[] = {1, 3, 0, 1, 1}, mu[] = {INFINITY, 0.5, 0.5, 0.1, 0};
  instance *p = instance_create(5);
  for (int i = 0; i < 5; i++) {
    instance_set(p, i, i, 1.0);
    p->b[i] = b[i], p->hi[i] = mu[i], p->lo[i] = i ? -mu[i] : 0.0, p->findex[i] = i ? 0 : -1;
  }
  const lcplug_friction all[] = {LCPLUG_FRICTION_ODE, LCPLUG_FRICTION_PYRAMID,
                                 LCPLUG_FRICTION_COULOMB};
  for (int f = 0; f < 3; f++)
    check(p, _i, all[f], (double[]){1, 0.5, 0, 0.1, 0}, (double[]){0, -2.5, 0, -0.9, -1});
  check(p, _i, LCPLUG_FRICTION_CONE, (double[]){2, 1, 0, 0.2, 0}, (double[]){1, -2, 0, -0.8, -1});
  instance_free(p);
}
END_TEST

/* mu infinite: the tangent sticks at any force while the contact presses, and there is none when
 * the contact opens, in every model. */
START_TEST(infinitely_rough) {
  instance *p = sliding_particle();
  p->hi[1] = p->hi[2] = INFINITY;
  for (int f = 0; f <= LCPLUG_FRICTION_COULOMB; f++)
    check(p, _i, (lcplug_friction)f, (double[]){1, 1.8, 2.4}, (double[]){0, 0, 0});
  p->b[0] = -1.0;
  for (int f = 0; f <= LCPLUG_FRICTION_COULOMB; f++)
    check(p, _i, (lcplug_friction)f, (double[]){0, 0, 0}, (double[]){1, -1.8, -2.4});
  instance_free(p);
}
END_TEST

/* A finite mu that stands for infinity. */
START_TEST(nearly_infinitely_rough) {
  const double mus[] = {1e10, 1e100, 1e300};
  for (int k = 0; k < 3; k++) {
    instance *p = sliding_particle();
    p->hi[1] = p->hi[2] = mus[k];
    for (int f = 0; f <= LCPLUG_FRICTION_PYRAMID; f++)
      check(p, _i, (lcplug_friction)f, (double[]){1, 1.8, 2.4}, (double[]){0, 0, 0});
    check(p, _i, LCPLUG_FRICTION_CONE, (double[]){1, 1.8, 2.4}, (double[]){0, 0, 0});
    instance_free(p);
  }
}
END_TEST

/* A problem of no rows, and one with nothing to do. */
START_TEST(nothing_to_do) {
  instance *p = instance_create(0);
  lcplug_info info = solve(p, _i, LCPLUG_FRICTION_CONE);
  ck_assert(info.residual == 0.0 && info.iterations <= 1);
  instance_free(p);
  p = instance_create(3);
  fill(p, (double[]){1, 0, 1, 0, 0, 1}, (double[]){0, 0, 0});
  check(p, _i, LCPLUG_FRICTION_CONE, (double[]){0, 0, 0}, (double[]){0, 0, 0});
  instance_free(p);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("by hand");
  TCase *rows = support_case(suite, "rows"), *contacts = support_case(suite, "contacts");
  tcase_add_loop_test(rows, one_row, 0, WAYS);
  tcase_add_loop_test(rows, one_presses_one_opens, 0, WAYS);
  tcase_add_loop_test(rows, joint_and_contact, 0, WAYS);
  tcase_add_loop_test(rows, stack_of_boxes, 0, WAYS);
  tcase_add_loop_test(rows, four_legs, 0, WAYS);
  tcase_add_loop_test(rows, all_fixed, 0, WAYS);
  tcase_add_loop_test(rows, all_free, 0, WAYS);
  tcase_add_loop_test(rows, nothing_to_do, 0, WAYS);
  tcase_add_loop_test(contacts, particle_slides, 0, WAYS);
  tcase_add_loop_test(contacts, relaxation_gap_is_told, 0, WAYS);
  tcase_add_loop_test(contacts, particle_sticks_or_leaves, 0, WAYS);
  tcase_add_loop_test(contacts, elliptic_friction_along_its_axes, 0, WAYS);
  tcase_add_loop_test(contacts, coupled_rod_slides, 0, WAYS);
  tcase_add_loop_test(contacts, rolling_row_is_bounded_by_its_normal, 0, WAYS);
  tcase_add_loop_test(contacts, infinitely_rough, 0, WAYS);
  tcase_add_loop_test(contacts, nearly_infinitely_rough, 0, WAYS);
  return support_run(suite);
}
