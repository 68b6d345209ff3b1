/* test_physics.c - what friction=coulomb promises, as motion inside ODE.
 *
 * Quick versions of what bench/physics reports.  Every test is judged by theory, and none looks at
 * forces. */
#include <check.h>
#include <math.h>

#include "physics.h"
#include "unit/support.h"

enum { DIRECTIONS = 19 }; /* 0 to 90 degrees in steps of 5 */

static void begin(void) { ck_assert_msg(physics_begin(), "ODE does not start"); }

static void begin_coulomb(void) {
  begin();
  physics_use(COULOMB);
}

static void near(double value, double theory, double part) {
  ck_assert_double_le(fabs(value - theory), part * fabs(theory));
}

/* A box thrown at 3 m/s loses mu g t and stops after v^2 / (2 mu g),
 * straight ahead, on the ground. */
START_TEST(thrown_box_obeys_coulomb_in_every_direction) {
  slide_setup setup = {.angle = 5 * _i, .speed = 3, .step = 0.004, .seconds = 0.7};
  slide_result r = physics_slide(&setup);
  near(r.speed, theory_slide_speed(setup.speed, 0.4), 0.01);
  near(r.distance, theory_slide_distance(setup.speed), 0.01);
  ck_assert_double_le(fabs(r.direction), 0.1);
  ck_assert_double_le(r.lift, 1e-6);
}
END_TEST

/* tan(slope) = mu is the limit, wherever the slope leads. */
START_TEST(slope_holds_the_box_up_to_the_friction_angle) {
  const double seconds = 0.5;
  double steep = 1.1 * PHYSICS_MU;
  ck_assert_double_le(physics_slope(0.98 * PHYSICS_MU, 5 * _i, seconds), 1e-6);
  near(physics_slope(steep, 5 * _i, seconds), theory_slope_distance(steep, seconds), 0.02);
  ck_assert_double_eq_tol(physics_steepest(5 * _i), PHYSICS_MU, 0.002);
}
END_TEST

/* A belt of 10 m/s under a box at rest: it gains mu g t along the belt. */
START_TEST(belt_carries_the_box_along) {
  slide_setup setup = {.angle = 5 * _i, .speed = 10, .step = 0.005, .seconds = 0.5};
  slide_result r = physics_belt(&setup);
  near(r.speed, setup.speed - theory_slide_speed(setup.speed, 0.4), 0.01);
  ck_assert_double_le(fabs(r.direction), 0.1);
  ck_assert_double_le(r.lift, 1e-6);
}
END_TEST

START_TEST(disc_slows_down_as_theory_says) {
  disc_result r = physics_disc(20, 0.5);
  near(r.spin, theory_disc(20, 0.5), 0.01);
  ck_assert_double_le(r.drift, 1e-5);
}
END_TEST

START_TEST(ball_rolls_out) {
  near(physics_ball(3, 0, 0.01, 1, 1).speed, theory_ball_rolling(3, 0.01, 1), 0.01);
}
END_TEST

/* Thrown without spin at any angle it ends up rolling at 5/7 of its speed. */
START_TEST(thrown_ball_ends_up_rolling) {
  ball_result r = physics_ball(3, 5 * _i, 0, 0, 0.5);
  near(r.speed, theory_ball_thrown(3), 0.01);
  ck_assert_double_le(r.slip, 1e-5);
}
END_TEST

/* A contact that is open by less than rounding is none to ODE, and a body
 * then drops by g h^2 = 1 mm. */
START_TEST(buildings_stand) {
  const double one_drop = 1e-3;
  ck_assert_double_le(physics_tower(6, 1), one_drop);
  ck_assert_double_le(physics_wall(4, 0.5), one_drop);
  ck_assert_double_le(physics_cards(2, 2), one_drop);
  ck_assert_double_le(physics_cards(3, 2), one_drop);
  ck_assert_double_le(physics_arch(11, 0.12, 1), one_drop);
}
END_TEST

/* A half circle of stones thinner than 0.107 of its radius has no line of thrust inside. */
START_TEST(thin_arch_falls) {
  ck_assert_double_ge(physics_arch(11, 0.09, 1), 0.1);
}
END_TEST

/* A contact whose velocity is wrong by a part of what it was has a power that is wrong by the
 * same part, and all contacts together work no more than the energy that there is: so the
 * tolerance is the bound.  That is 1e-10 for boxes and 1e-8 for cones (rounding gives 1e-15, an
 * ERP of 1e-5 already 6e-8). */
START_TEST(heap_never_gains_energy) {
  physics_model model = (physics_model)_i;
  physics_use(model);
  energy_result r = physics_pile(12, 1);
  ck_assert_double_le(r.growth, model == CONE || model == COULOMB ? 1e-8 : 1e-10);
  ck_assert_double_lt(r.left, 0.9);
}
END_TEST

/* cone lifts a sliding box off the ground, and says beforehand how fast: gap times step. */
START_TEST(gap_of_cone_tells_how_fast_it_lifts_off) {
  slide_setup setup = {.angle = 5 * _i, .speed = 3, .step = 0.002, .seconds = 0.5};
  physics_use(CONE);
  slide_result r = physics_slide(&setup);
  double reported = physics_tallied().worst_gap * setup.step;
  near(reported, PHYSICS_MU * setup.speed / (1 + PHYSICS_MU * PHYSICS_MU), 0.01);
  near(sqrt(2 * PHYSICS_GRAVITY * r.lift), reported, 0.02);
}
END_TEST

/* The same experiment can fail: upstream's box friction is too strong across its axes. */
START_TEST(upstream_depends_on_the_direction) {
  slide_setup setup = {.angle = 45, .speed = 3, .step = 0.004, .seconds = 0.7};
  physics_use(UPSTREAM);
  ck_assert_double_lt(physics_slide(&setup).speed, 0.5 * theory_slide_speed(setup.speed, 0.4));
}
END_TEST

static TCase *inside_ode(Suite *suite, const char *name) {
  TCase *tests = support_case(suite, name);
  tcase_add_checked_fixture(tests, begin_coulomb, physics_end);
  return tests;
}

int main(void) {
  Suite *suite = suite_create("physics");
  TCase *sliding = inside_ode(suite, "sliding");
  tcase_add_loop_test(sliding, thrown_box_obeys_coulomb_in_every_direction, 0, DIRECTIONS);
  tcase_add_loop_test(sliding, slope_holds_the_box_up_to_the_friction_angle, 0, DIRECTIONS);
  tcase_add_loop_test(sliding, belt_carries_the_box_along, 0, DIRECTIONS);
  tcase_add_loop_test(sliding, gap_of_cone_tells_how_fast_it_lifts_off, 0, DIRECTIONS);
  tcase_add_test(sliding, upstream_depends_on_the_direction);
  TCase *turning = inside_ode(suite, "turning");
  tcase_add_test(turning, disc_slows_down_as_theory_says);
  tcase_add_test(turning, ball_rolls_out);
  tcase_add_loop_test(turning, thrown_ball_ends_up_rolling, 0, DIRECTIONS);
  TCase *standing = inside_ode(suite, "standing");
  tcase_add_test(standing, buildings_stand);
  tcase_add_test(standing, thin_arch_falls);
  TCase *energy = inside_ode(suite, "energy");
  tcase_add_loop_test(energy, heap_never_gains_energy, ODE, MODELS);
  return support_run(suite);
}
