/* chain.c - joints: a pendulum against theory, a chain that swings, and a chain in free flight.
 *
 * Pendulum: a rod on a hinge, of small amplitude.  Its period is 2 pi sqrt(I / (m g l)); the error
 * goes to 0 with h.  Chain: rods on ball joints, hung up at one end, one hinge, slider or fixed
 * joint among them; it must neither stretch nor gain energy.  Free flight: what the joints do
 * within the chain changes neither its momentum nor its angular momentum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include <lcplug/native.h>

enum { LINKS = 12, MOST_ROWS = LINKS * LCPLUG_JOINT_MOST_ROWS };
static const double LENGTH = 0.3, MOMENTS[3] = {0.3 * 0.3 / 12, 0.3 * 0.3 / 12, 0.001},
                    GRAVITY = 9.81;

/* Rods of mass 1 along their z axes; joint k holds rod k to rod k - 1, the first to the world. */
typedef struct chain {
  int links, hung;
  double h, gravity;
  lcplug_pose pose[LINKS];
  double velocity[6 * LINKS], force[6 * LINKS];
  lcplug_joint joint[LINKS];
  lcplug_workspace *workspace;
} chain;

static chain chain_create(int links, int hung, double angle, double h) {
  static const lcplug_joint_kind kinds[] = {LCPLUG_JOINT_BALL,  LCPLUG_JOINT_BALL,
                                            LCPLUG_JOINT_HINGE, LCPLUG_JOINT_BALL,
                                            LCPLUG_JOINT_FIXED, LCPLUG_JOINT_SLIDER};
  chain c = {.links = links, .hung = hung, .h = h, .gravity = GRAVITY};
  double along[3] = {sin(angle), 0, -cos(angle)}, across[3] = {0, 1, 0};
  c.workspace = lcplug_workspace_create();
  for (int k = 0; k < links; k++) {
    for (int i = 0; i < 3; i++) c.pose[k].position[i] = (k + 0.5) * LENGTH * along[i];
    c.pose[k].rotation[0] = cos(0.5 * angle), c.pose[k].rotation[2] = -sin(0.5 * angle);
    double point[3] = {k * LENGTH * along[0], 0, k * LENGTH * along[2]};
    lcplug_joint_kind kind = links == 1 ? LCPLUG_JOINT_HINGE : kinds[k % 6];
    if (lcplug_joint_at(kind, &c.pose[k], k ? &c.pose[k - 1] : NULL, point,
                        kind == LCPLUG_JOINT_SLIDER ? along : across, &c.joint[k]))
      exit(2);
  }
  return c;
}

/* Rows of all joints; errors are taken away within a few steps. */
static int joint_rows(const chain *c, int32_t *body, double *jacobian, double *bias) {
  int rows = 0;
  for (int k = c->hung ? 0 : 1; k < c->links; k++) {
    double error[LCPLUG_JOINT_MOST_ROWS];
    int count = lcplug_joint_row_count(c->joint[k].kind);
    if (lcplug_joint_rows(&c->joint[k], &c->pose[k], k ? &c->pose[k - 1] : NULL,
                          jacobian + 12 * rows, error))
      exit(2);
    for (int r = 0; r < count; r++, rows++) {
      body[2 * rows] = k, body[2 * rows + 1] = k - 1;
      bias[rows] = 0.2 * error[r] / c->h;
    }
  }
  return rows;
}

static void chain_step(chain *c) {
  int32_t body[2 * MOST_ROWS];
  double jacobian[12 * MOST_ROWS], bias[MOST_ROWS], b[MOST_ROWS], x[MOST_ROWS];
  double mass[LINKS], inertia[9 * LINKS];
  for (int k = 0; k < c->links; k++) {
    double inverse[3] = {1 / MOMENTS[0], 1 / MOMENTS[1], 1 / MOMENTS[2]};
    mass[k] = 1.0;
    lcplug_world_inertia(&c->pose[k], inverse, inertia + 9 * k);
    c->force[6 * k + 2] = -c->gravity;
    lcplug_gyroscopic_torque(&c->pose[k], MOMENTS, c->velocity + 6 * k + 3, c->force + 6 * k + 3);
  }
  lcplug_system system = lcplug_system_default();
  system.bodies = c->links, system.rows = joint_rows(c, body, jacobian, bias);
  system.inverse_mass = mass, system.inverse_inertia = inertia;
  system.body = body, system.jacobian = jacobian, system.b = b;
  lcplug_settings settings = lcplug_settings_default();
  settings.solver = LCPLUG_EXACT;
  lcplug_solution solution = {.x = x};
  if (lcplug_system_right_side(&system, c->velocity, c->force, c->h, bias, b) ||
      lcplug_system_solve(c->workspace, &system, &settings, &solution, NULL) ||
      lcplug_system_velocity(&system, c->velocity, c->force, c->h, x, c->velocity))
    exit(2);
  lcplug_move_bodies(c->links, c->pose, c->velocity, c->h);
}

/* The mean of the times between passages through the lowest point, doubled. */
static double pendulum_period(double h) {
  chain c = chain_create(1, 1, 0.05, h);
  double first = 0.0, last = 0.0, before = c.pose[0].position[0];
  int passages = 0;
  for (int k = 1; k * h < 8.0; k++) {
    chain_step(&c);
    double now = c.pose[0].position[0];
    if ((now > 0) != (before > 0)) {
      last = (k - now / (now - before)) * h;
      if (passages++ == 0) first = last;
    }
    before = now;
  }
  lcplug_workspace_free(c.workspace);
  return 2.0 * (last - first) / (passages - 1);
}

static void check_pendulum(void) {
  double l = 0.5 * LENGTH, theory = 2.0 * M_PI * sqrt((MOMENTS[1] + l * l) / (GRAVITY * l));
  theory *= 1.0 + 0.05 * 0.05 / 16; /* of this amplitude */
  double before = 0.0;
  for (double h = 0.02; h > 0.002; h /= 2) {
    double error = fabs(pendulum_period(h) - theory);
    printf("      h %.4f s: error of the period %.3e s\n", h, error);
    if (before > 0.0) check_at_most("error against that of twice the step", error / before, 0.7);
    before = error;
  }
}

static double energy(const chain *c) {
  double sum = 0.0;
  for (int k = 0; k < c->links; k++) {
    const double *v = c->velocity + 6 * k;
    double torque_free[9], inverse[3] = {MOMENTS[0], MOMENTS[1], MOMENTS[2]};
    /* R diag R' of the moments themselves */
    lcplug_world_inertia(&c->pose[k], inverse, torque_free);
    for (int i = 0; i < 3; i++) {
      sum += 0.5 * v[i] * v[i];
      for (int j = 0; j < 3; j++) sum += 0.5 * v[3 + i] * torque_free[3 * i + j] * v[3 + j];
    }
    sum += c->gravity * c->pose[k].position[2];
  }
  return sum;
}

/* The largest error of a joint row, in m or rad. */
static double stretched(const chain *c) {
  int32_t body[2 * MOST_ROWS];
  double jacobian[12 * MOST_ROWS], bias[MOST_ROWS], worst = 0.0;
  int rows = joint_rows(c, body, jacobian, bias);
  for (int r = 0; r < rows; r++) worst = fmax(worst, fabs(bias[r] * c->h / 0.2));
  return worst;
}

static void check_swing(void) {
  chain c = chain_create(LINKS, 1, 1.0, 0.002);
  double first = energy(&c), most = first, worst = 0.0;
  for (int k = 0; k < 1000; k++) {
    chain_step(&c);
    most = fmax(most, energy(&c));
    worst = fmax(worst, stretched(&c));
  }
  check_at_most("energy gained by the swinging chain, of m g l",
                (most - first) / (GRAVITY * LENGTH * LINKS), 0.01);
  check_at_most("largest joint error, in m or rad", worst, 0.01);
  lcplug_workspace_free(c.workspace);
}

static void momenta(const chain *c, double linear[3], double angular[3]) {
  memset(linear, 0, 3 * sizeof *linear);
  memset(angular, 0, 3 * sizeof *angular);
  for (int k = 0; k < c->links; k++) {
    const double *v = c->velocity + 6 * k, *p = c->pose[k].position;
    double inertia[9];
    lcplug_world_inertia(&c->pose[k], MOMENTS, inertia);
    for (int i = 0; i < 3; i++) {
      linear[i] += v[i];
      angular[i] += p[(i + 1) % 3] * v[(i + 2) % 3] - p[(i + 2) % 3] * v[(i + 1) % 3];
      for (int j = 0; j < 3; j++) angular[i] += inertia[3 * i + j] * v[3 + j];
    }
  }
}

static void check_flight(void) {
  double error[2];
  for (int fine = 0; fine < 2; fine++) {
    chain c = chain_create(LINKS, 0, 1.0, fine ? 0.001 : 0.002);
    double linear[3], angular[3], linear_after[3], angular_after[3], drift = 0.0, turn_drift = 0.0;
    c.gravity = 0.0;
    for (int k = 0; k < LINKS; k++)
      c.velocity[6 * k + 1] = 0.2 * (k - 4), c.velocity[6 * k + 3] = 0.1;
    chain_step(&c); /* the joints agree on a motion */
    momenta(&c, linear, angular);
    for (int k = 0; k < (fine ? 1000 : 500); k++) chain_step(&c);
    momenta(&c, linear_after, angular_after);
    double size = sqrt(angular[0] * angular[0] + angular[1] * angular[1] + angular[2] * angular[2]);
    for (int i = 0; i < 3; i++) {
      drift = fmax(drift, fabs(linear_after[i] - linear[i]));
      turn_drift = fmax(turn_drift, fabs(angular_after[i] - angular[i]) / size);
    }
    check_at_most("change of momentum in flight, in kg m/s", drift, 1e-9);
    check_at_most("change of angular momentum, of itself", turn_drift, 0.02);
    error[fine] = turn_drift;
    lcplug_workspace_free(c.workspace);
  }
  check_at_most("change of angular momentum against twice the step", error[1] / error[0], 0.75);
}

int main(void) {
  check_pendulum();
  check_swing();
  check_flight();
  return check_result();
}
