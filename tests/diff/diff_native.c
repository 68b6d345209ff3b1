/* diff_native.c - the builders beside ODE: the same two bodies, the same joint or contacts, one
 * step.
 *
 * ODE writes its rows in other directions, but what they forbid is the same, and so are the
 * velocities after the step.  Poses satisfy the joints, so that no correction of errors comes
 * in. */
#include <lcplug/native.h>
#include <math.h>
#include <ode/ode.h>
#include <string.h>

#include "support.h"

enum { MOST = 12 };
static const double H = 0.01;

/* Two bodies with random poses and velocities, for both sides. */
typedef struct pair_of_bodies {
  lcplug_pose pose[2];
  double velocity[12], force[12], mass[2], moments[2][3];
  dWorldID world;
  dBodyID body[2];
} pair_of_bodies;

static void create(pair_of_bodies *p, unsigned seed) {
  rng r = {seed};
  memset(p, 0, sizeof *p);
  dInitODE2(0);
  p->world = dWorldCreate();
  dWorldSetGravity(p->world, 0, 0, -9.81);
  dWorldSetCFM(p->world, 0.0);
  for (int k = 0; k < 2; k++) {
    double length = 0.0;
    for (int i = 0; i < 3; i++) p->pose[k].position[i] = rng_between(&r, -1, 1);
    for (int i = 0; i < 4; i++)
      p->pose[k].rotation[i] = rng_between(&r, -1, 1), length += pow(p->pose[k].rotation[i], 2);
    for (int i = 0; i < 4; i++) p->pose[k].rotation[i] /= sqrt(length);
    p->mass[k] = rng_between(&r, 0.5, 2);
    for (int i = 0; i < 3; i++) p->moments[k][i] = rng_between(&r, 0.5, 0.8);
    for (int c = 0; c < 6; c++) p->velocity[6 * k + c] = rng_between(&r, -1, 1);
    dMass mass;
    dMassSetParameters(&mass, p->mass[k], 0, 0, 0, p->moments[k][0], p->moments[k][1],
                       p->moments[k][2], 0, 0, 0);
    p->body[k] = dBodyCreate(p->world);
    dBodySetMass(p->body[k], &mass);
    dBodySetGyroscopicMode(p->body[k], 0);
    dBodySetPosition(p->body[k], p->pose[k].position[0], p->pose[k].position[1],
                     p->pose[k].position[2]);
    dBodySetQuaternion(p->body[k], p->pose[k].rotation);
    dBodySetLinearVel(p->body[k], p->velocity[6 * k], p->velocity[6 * k + 1],
                      p->velocity[6 * k + 2]);
    dBodySetAngularVel(p->body[k], p->velocity[6 * k + 3], p->velocity[6 * k + 4],
                       p->velocity[6 * k + 5]);
    p->force[6 * k + 2] = -9.81 * p->mass[k];
  }
}

static void destroy(pair_of_bodies *p) {
  dWorldDestroy(p->world);
  dCloseODE();
}

/* Our step; velocities only. */
static void step(pair_of_bodies *p, lcplug_system *s, const double *bias) {
  double inertia[18], inverse[2], b[MOST], x[MOST];
  for (int k = 0; k < 2; k++) {
    double inverse_moments[3] = {1 / p->moments[k][0], 1 / p->moments[k][1], 1 / p->moments[k][2]};
    inverse[k] = 1 / p->mass[k];
    lcplug_world_inertia(&p->pose[k], inverse_moments, inertia + 9 * k);
  }
  s->bodies = 2, s->inverse_mass = inverse, s->inverse_inertia = inertia;
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings settings = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_ODE);
  lcplug_solution solution = {.x = x};
  ck_assert_int_eq(lcplug_system_right_side(s, p->velocity, p->force, H, bias, b), LCPLUG_OK);
  s->b = b;
  ck_assert_int_eq(lcplug_system_solve(workspace, s, &settings, &solution, NULL), LCPLUG_OK);
  ck_assert_int_eq(lcplug_system_velocity(s, p->velocity, p->force, H, x, p->velocity), LCPLUG_OK);
  lcplug_workspace_free(workspace);
}

static void compare(const pair_of_bodies *p) {
  for (int k = 0; k < 2; k++) {
    const dReal *linear = dBodyGetLinearVel(p->body[k]), *angular = dBodyGetAngularVel(p->body[k]);
    for (int i = 0; i < 3; i++) {
      ck_assert_double_eq_tol(p->velocity[6 * k + i], linear[i], 1e-9);
      ck_assert_double_eq_tol(p->velocity[6 * k + 3 + i], angular[i], 1e-9);
    }
  }
}

static void attach(pair_of_bodies *p, lcplug_joint_kind kind, int second, const double *point,
                   const double *axis) {
  dJointID joint = kind == LCPLUG_JOINT_BALL     ? dJointCreateBall(p->world, 0)
                   : kind == LCPLUG_JOINT_HINGE  ? dJointCreateHinge(p->world, 0)
                   : kind == LCPLUG_JOINT_SLIDER ? dJointCreateSlider(p->world, 0)
                                                 : dJointCreateFixed(p->world, 0);
  dJointAttach(joint, p->body[0], second ? p->body[1] : 0);
  if (kind == LCPLUG_JOINT_BALL) dJointSetBallAnchor(joint, point[0], point[1], point[2]);
  if (kind == LCPLUG_JOINT_HINGE) dJointSetHingeAnchor(joint, point[0], point[1], point[2]);
  if (kind == LCPLUG_JOINT_HINGE) dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
  if (kind == LCPLUG_JOINT_SLIDER) dJointSetSliderAxis(joint, axis[0], axis[1], axis[2]);
  if (kind == LCPLUG_JOINT_FIXED) dJointSetFixed(joint);
}

START_TEST(joints_move_as_in_ode) {
  pair_of_bodies p;
  create(&p, 1u + (unsigned)_i);
  rng r = {500u + (uint64_t)_i};
  lcplug_joint_kind kind = (lcplug_joint_kind)(_i % 4);
  int second = _i % 3 != 0, rows = lcplug_joint_row_count(kind);
  double point[3] = {rng_between(&r, -1, 1), rng_between(&r, -1, 1), rng_between(&r, -1, 1)};
  double axis[3] = {rng_between(&r, -1, 1), rng_between(&r, -1, 1), rng_between(&r, -1, 1)};
  double jacobian[12 * MOST], error[MOST];
  int32_t body[2 * MOST];
  lcplug_joint joint;
  const lcplug_pose *other = second ? &p.pose[1] : NULL;
  attach(&p, kind, second, point, axis);
  ck_assert_int_eq(lcplug_joint_at(kind, &p.pose[0], other, point, axis, &joint), LCPLUG_OK);
  ck_assert_int_eq(lcplug_joint_rows(&joint, &p.pose[0], other, jacobian, error), LCPLUG_OK);
  for (int i = 0; i < rows; i++) body[2 * i] = 0, body[2 * i + 1] = second ? 1 : -1;
  lcplug_system s = lcplug_system_default();
  s.rows = rows, s.body = body, s.jacobian = jacobian;
  step(&p, &s, NULL);
  dWorldStep(p.world, H);
  compare(&p);
  destroy(&p);
}
END_TEST

/* Up to four contacts between the two bodies, with friction as ODE understands it. */
START_TEST(contacts_push_as_in_ode) {
  pair_of_bodies p;
  create(&p, 900u + (unsigned)_i);
  rng r = {700u + (uint64_t)_i};
  double jacobian[12 * MOST], lo[MOST], hi[MOST];
  int32_t body[2 * MOST], findex[MOST];
  int contacts = 1 + _i % 2,
      rows = 0; /* more are redundant, and their friction is no longer unique */
  double n[3] = {rng_between(&r, -1, 1), rng_between(&r, -1, 1), rng_between(&r, -1, 1)};
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  for (int i = 0; i < 3; i++) n[i] /= length;
  for (int k = 0; k < contacts; k++) {
    double lever[2][3];
    dContact c;
    memset(&c, 0, sizeof c);
    for (int i = 0; i < 3; i++) {
      c.geom.pos[i] = rng_between(&r, -1, 1), c.geom.normal[i] = n[i];
      for (int b = 0; b < 2; b++) lever[b][i] = c.geom.pos[i] - p.pose[b].position[i];
    }
    lcplug_contact_rows(n, lever[0], lever[1], jacobian + 12 * rows);
    c.surface.mode = dContactFDir1 | dContactApprox1;
    c.surface.mu = 0.4;
    for (int i = 0; i < 3; i++) c.fdir1[i] = jacobian[12 * (rows + 1) + i];
    dJointAttach(dJointCreateContact(p.world, 0, &c), p.body[0], p.body[1]);
    for (int i = 0; i < 3; i++, rows++) {
      body[2 * rows] = 0, body[2 * rows + 1] = 1, lo[rows] = 0.0;
      hi[rows] = i ? 0.4 : INFINITY, findex[rows] = i ? rows - i : -1;
    }
  }
  lcplug_system s = lcplug_system_default();
  s.rows = rows, s.body = body, s.jacobian = jacobian, s.lo = lo, s.hi = hi, s.findex = findex;
  step(&p, &s, NULL);
  dWorldStep(p.world, H);
  compare(&p);
  destroy(&p);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native beside ODE");
  TCase *steps = support_case(suite, "steps");
  tcase_add_loop_test(steps, joints_move_as_in_ode, 0, 48);
  tcase_add_loop_test(steps, contacts_push_as_in_ode, 0, 40);
  return support_run(suite);
}
