/* test_native_builders.c - rows from contacts and joints, and the motion of bodies.
 *
 * A row is right if it is the derivative of what it measures: errors are compared over a short
 * motion with what the rows say of its velocity. */
#include <lcplug/native.h>
#include <math.h>
#include <string.h>

#include "support.h"

static void random_vector(rng *r, double v[3]) {
  for (int i = 0; i < 3; i++) v[i] = rng_between(r, -1, 1);
}

static double length_of(const double *v, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += v[i] * v[i];
  return sqrt(sum);
}

static double dot3(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void random_pose(rng *r, lcplug_pose *p) {
  random_vector(r, p->position);
  for (int i = 0; i < 4; i++) p->rotation[i] = rng_between(r, -1, 1);
  double length = length_of(p->rotation, 4);
  for (int i = 0; i < 4; i++) p->rotation[i] /= length;
}

START_TEST(frames_are_right_handed) {
  rng r = {1};
  for (int k = 0; k < 1000; k++) {
    double n[3], t1[3], t2[3];
    random_vector(&r, n);
    if (k < 6) n[0] = n[1] = n[2] = 0.0, n[k / 2] = k % 2 ? -1.0 : 1.0;
    double length = length_of(n, 3);
    for (int i = 0; i < 3; i++) n[i] /= length;
    lcplug_contact_frame(n, t1, t2);
    ck_assert_double_eq_tol(length_of(t1, 3), 1.0, 1e-14);
    ck_assert_double_eq_tol(length_of(t2, 3), 1.0, 1e-14);
    ck_assert_double_eq_tol(dot3(n, t1), 0.0, 1e-14);
    ck_assert_double_eq_tol(n[0] * (t1[1] * t2[2] - t1[2] * t2[1]) +
                                n[1] * (t1[2] * t2[0] - t1[0] * t2[2]) +
                                n[2] * (t1[0] * t2[1] - t1[1] * t2[0]),
                            1.0, 1e-13);
  }
}
END_TEST

/* The velocity of point against point, by v + omega x r. */
START_TEST(contact_rows_measure_relative_velocity) {
  rng r = {2};
  for (int k = 0; k < 200; k++) {
    double n[3], lever[2][3], v[2][6], J[36], relative[3], t1[3], t2[3];
    random_vector(&r, n);
    double length = length_of(n, 3);
    for (int i = 0; i < 3; i++) n[i] /= length;
    for (int s = 0; s < 2; s++)
      random_vector(&r, lever[s]), random_vector(&r, v[s]), random_vector(&r, v[s] + 3);
    for (int i = 0; i < 3; i++) {
      int a = (i + 1) % 3, b = (i + 2) % 3;
      relative[i] = v[0][i] + v[0][3 + a] * lever[0][b] - v[0][3 + b] * lever[0][a] - v[1][i] -
                    v[1][3 + a] * lever[1][b] + v[1][3 + b] * lever[1][a];
    }
    lcplug_contact_rows(n, lever[0], lever[1], J);
    lcplug_contact_frame(n, t1, t2);
    const double *direction[3] = {n, t1, t2};
    for (int row = 0; row < 3; row++) {
      double sum = 0.0;
      for (int c = 0; c < 12; c++) sum += J[12 * row + c] * v[c / 6][c % 6];
      ck_assert_double_eq_tol(sum, dot3(direction[row], relative), 1e-13);
    }
  }
}
END_TEST

/* (error(h) - error(-h)) / 2h = J v, at poses where the joint is satisfied and a little off
 * them. */
START_TEST(joint_rows_are_derivatives) {
  lcplug_joint_kind kind = (lcplug_joint_kind)(_i % 4);
  rng r = {100u + (uint64_t)_i};
  lcplug_pose pose[2], moved[2];
  double v[12], point[3], axis[3], J[72], error[6], before[6], after[6], h = 1e-6;
  int rows = lcplug_joint_row_count(kind), world = _i % 3 == 0;
  lcplug_joint joint;
  random_pose(&r, &pose[0]), random_pose(&r, &pose[1]);
  random_vector(&r, point), random_vector(&r, axis);
  for (int c = 0; c < 12; c++) v[c] = rng_between(&r, -1, 1);
  if (world) memset(v + 6, 0, 6 * sizeof *v);
  const lcplug_pose *second = world ? NULL : &pose[1], *second_moved = world ? NULL : &moved[1];
  ck_assert_int_eq(lcplug_joint_at(kind, &pose[0], second, point, axis, &joint), LCPLUG_OK);
  ck_assert_int_eq(lcplug_joint_rows(&joint, &pose[0], second, J, error), LCPLUG_OK);
  ck_assert_double_le(length_of(error, rows), 1e-14);
  for (int sign = -1; sign <= 1; sign += 2) {
    memcpy(moved, pose, sizeof pose);
    lcplug_move_bodies(2, moved, v, sign * h);
    double unread[72];
    ck_assert_int_eq(
        lcplug_joint_rows(&joint, &moved[0], second_moved, unread, sign < 0 ? before : after),
        LCPLUG_OK);
  }
  for (int i = 0; i < rows; i++) {
    double rate = 0.0;
    for (int c = 0; c < 12; c++) rate += J[12 * i + c] * v[c];
    ck_assert_double_eq_tol((after[i] - before[i]) / (2 * h), rate, 1e-8);
  }
}
END_TEST

/* A joint that has come apart: a bias of error / h closes it in one step, to second order in h. */
START_TEST(errors_are_taken_away) {
  lcplug_joint_kind kind = (lcplug_joint_kind)(_i % 4);
  rng r = {200u + (uint64_t)_i};
  lcplug_pose pose[2];
  double off[12], point[3] = {0.1, 0.2, 0.3}, axis[3] = {0, 0.6, 0.8}, mass[2] = {1, 0.5};
  double inertia[18], moments[3] = {1, 2, 3}, J[72], error[6], after[6], b[6], x[6], v[12] = {0};
  int rows = lcplug_joint_row_count(kind);
  int32_t body[12];
  lcplug_joint joint;
  random_pose(&r, &pose[0]), random_pose(&r, &pose[1]);
  lcplug_joint_at(kind, &pose[0], &pose[1], point, axis, &joint);
  for (int c = 0; c < 12; c++) off[c] = 1e-4 * rng_between(&r, -1, 1);
  lcplug_move_bodies(2, pose, off, 1.0);
  lcplug_joint_rows(&joint, &pose[0], &pose[1], J, error);
  ck_assert_double_gt(length_of(error, rows), 1e-6);
  for (int k = 0; k < 2; k++) lcplug_world_inertia(&pose[k], moments, inertia + 9 * k);
  for (int i = 0; i < rows; i++) body[2 * i] = 0, body[2 * i + 1] = 1;
  lcplug_system s = lcplug_system_default();
  s.bodies = 2, s.rows = rows, s.inverse_mass = mass, s.inverse_inertia = inertia, s.body = body;
  s.jacobian = J, s.b = b;
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings settings = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_ODE);
  lcplug_solution solution = {.x = x};
  ck_assert_int_eq(lcplug_system_right_side(&s, v, NULL, 1.0, error, b), LCPLUG_OK); /* h = 1 */
  ck_assert_int_eq(lcplug_system_solve(workspace, &s, &settings, &solution, NULL), LCPLUG_OK);
  ck_assert_int_eq(lcplug_system_velocity(&s, v, NULL, 1.0, x, v), LCPLUG_OK);
  lcplug_move_bodies(2, pose, v, 1.0);
  lcplug_joint_rows(&joint, &pose[0], &pose[1], J, after);
  ck_assert_double_le(length_of(after, rows), 1e-2 * length_of(error, rows));
  lcplug_workspace_free(workspace);
}
END_TEST

START_TEST(joints_refuse_nonsense) {
  lcplug_pose pose = {{0, 0, 0}, {1, 0, 0, 0}};
  double point[3] = {0, 0, 0}, none[3] = {0, 0, 0}, J[72];
  lcplug_joint joint = {.kind = (lcplug_joint_kind)9};
  ck_assert_int_eq(lcplug_joint_row_count((lcplug_joint_kind)9), 0);
  ck_assert_int_eq(lcplug_joint_at((lcplug_joint_kind)9, &pose, NULL, point, point, &joint),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_joint_at(LCPLUG_JOINT_HINGE, &pose, NULL, point, none, &joint),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_joint_at(LCPLUG_JOINT_HINGE, &pose, NULL, point, NULL, &joint),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_joint_at(LCPLUG_JOINT_BALL, NULL, NULL, point, NULL, &joint),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_joint_rows(&joint, &pose, NULL, J, NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_joint_at(LCPLUG_JOINT_BALL, &pose, NULL, point, NULL, &joint), LCPLUG_OK);
  ck_assert_int_eq(lcplug_joint_rows(&joint, &pose, NULL, J, NULL), LCPLUG_OK);
}
END_TEST

/* A quarter turn about z in one step, and a million small steps that stay on the unit sphere. */
START_TEST(bodies_turn) {
  lcplug_pose pose = {{1, 2, 3}, {1, 0, 0, 0}};
  double v[6] = {1, 0, -1, 0, 0, 1.5707963267948966};
  lcplug_move_bodies(1, &pose, v, 1.0);
  ck_assert_double_eq_tol(pose.position[0], 2.0, 1e-15);
  ck_assert_double_eq_tol(pose.position[2], 2.0, 1e-15);
  ck_assert_double_eq_tol(pose.rotation[0], sqrt(0.5), 1e-15);
  ck_assert_double_eq_tol(pose.rotation[3], sqrt(0.5), 1e-15);
  double spin[6] = {0, 0, 0, 3, -2, 5};
  for (int k = 0; k < 100000; k++) lcplug_move_bodies(1, &pose, spin, 1e-3);
  ck_assert_double_eq_tol(length_of(pose.rotation, 4), 1.0, 1e-15);
}
END_TEST

/* After a quarter turn about z the moments of x and y have changed places. */
START_TEST(inertia_turns_with_the_body) {
  lcplug_pose pose = {{0, 0, 0}, {sqrt(0.5), 0, 0, sqrt(0.5)}};
  double moments[3] = {1, 2, 3}, I[9], expected[9] = {2, 0, 0, 0, 1, 0, 0, 0, 3}, torque[3];
  lcplug_world_inertia(&pose, moments, I);
  ck_assert_double_le(distance_max(I, expected, 9), 1e-15);
  double omega[3] = {1, 1, 1}; /* I omega = (2, 1, 3), and -omega x that = (-2, 1, 1) */
  lcplug_gyroscopic_torque(&pose, moments, omega, torque);
  double wanted[3] = {-2, 1, 1};
  ck_assert_double_le(distance_max(torque, wanted, 3), 1e-14);
}
END_TEST

/* Rows along the tangents that a frame has are those that are made without naming them; along
 * others the forces are the same, turned. */
START_TEST(contact_rows_take_tangents) {
  const double n[3] = {0.6, 0.0, 0.8}, lever1[3] = {0.1, -0.4, 0.3}, lever2[3] = {-0.2, 0.5, 0.7};
  double t1[3], t2[3], turned1[3], turned2[3], J[36], K[36];
  lcplug_contact_frame(n, t1, t2);
  lcplug_contact_rows(n, lever1, lever2, J);
  lcplug_contact_rows_along(n, t1, t2, lever1, lever2, K);
  ck_assert_mem_eq(J, K, sizeof J);
  for (int c = 0; c < 3; c++) {
    turned1[c] = 0.8 * t1[c] + 0.6 * t2[c], turned2[c] = 0.8 * t2[c] - 0.6 * t1[c];
  }
  lcplug_contact_rows_along(n, turned1, turned2, lever1, lever2, K);
  for (int c = 0; c < 12; c++) {
    ck_assert_double_eq_tol(K[c], J[c], 1e-15);
    ck_assert_double_eq_tol(K[12 + c], 0.8 * J[12 + c] + 0.6 * J[24 + c], 1e-14);
    ck_assert_double_eq_tol(K[24 + c], 0.8 * J[24 + c] - 0.6 * J[12 + c], 1e-14);
  }
}
END_TEST

/* A system that is none has no coordinates, and impulses that are no numbers are no guess. */
START_TEST(nonsense_is_nothing) {
  lcplug_system s = lcplug_system_default();
  const int32_t begin[] = {0, 3};
  s.bodies = -5;
  ck_assert_int_eq(lcplug_system_coordinates(&s), 0);
  s.bodies = INT32_MAX;
  ck_assert_int_eq(lcplug_system_coordinates(&s), 0);
  s.bodies = 2, s.groups = -1, s.group_begin = begin;
  ck_assert_int_eq(lcplug_system_coordinates(&s), 0);
  s.groups = 1;
  ck_assert_int_eq(lcplug_system_coordinates(&s), 15);

  lcplug_workspace *workspace = lcplug_workspace_create();
  const uint64_t key[] = {7};
  const int32_t first[] = {0}, count[] = {3};
  const double x[3] = {1.0, NAN, INFINITY};
  double x0[3] = {5.0, 5.0, 5.0};
  lcplug_row_items items = {.items = 1, .key = key, .first = first, .count = count}, none = {0};
  ck_assert_int_eq(lcplug_warm_start(workspace, &items, x, &items, 3, x0), LCPLUG_OK);
  ck_assert(x0[0] == 1.0 && x0[1] == 0.0 && x0[2] == 0.0);
  ck_assert_int_eq(lcplug_warm_start(workspace, &items, x, &none, 0, NULL), LCPLUG_OK);
  lcplug_workspace_free(workspace);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native builders");
  TCase *rows = support_case(suite, "rows");
  tcase_add_test(rows, frames_are_right_handed);
  tcase_add_test(rows, contact_rows_measure_relative_velocity);
  tcase_add_loop_test(rows, joint_rows_are_derivatives, 0, 48);
  tcase_add_loop_test(rows, errors_are_taken_away, 0, 24);
  tcase_add_test(rows, joints_refuse_nonsense);
  TCase *bodies = support_case(suite, "bodies");
  tcase_add_test(bodies, bodies_turn);
  tcase_add_test(bodies, inertia_turns_with_the_body);
  tcase_add_test(bodies, contact_rows_take_tangents);
  tcase_add_test(bodies, nonsense_is_nothing);
  return support_run(suite);
}
