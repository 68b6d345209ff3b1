/* box.c - a box slides to rest, and another one topples.
 *
 * Sliding: a flat box with speed v on a floor with friction mu stops after v^2 / (2 mu g), whatever
 * the direction of its motion.  The time-stepping scheme is of first order: halving h halves the
 * error of the distance, which is printed for a row of steps.
 *
 * Toppling: a tall box on a floor that tilts slowly stands as long as the line of gravity meets its
 * base, tan(angle) < width / height, if friction is larger than that, and falls over beyond. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include <lcplug/native.h>

enum { CORNERS = 8, ROWS = 3 * CORNERS };

typedef struct box {
  double half[3], mu, h;
  lcplug_pose pose;
  double velocity[6], force[6];
  double inverse_mass, inverse_moments[3];
  lcplug_workspace *workspace;
} box;

static box box_create(double a, double b, double c, double mu, double h) {
  box s = {.half = {a / 2, b / 2, c / 2}, .mu = mu, .h = h, .inverse_mass = 1.0};
  s.pose = (lcplug_pose){{0, 0, c / 2}, {1, 0, 0, 0}};
  double squared[3] = {a * a, b * b, c * c};
  for (int i = 0; i < 3; i++)
    s.inverse_moments[i] = 12.0 / (squared[(i + 1) % 3] + squared[(i + 2) % 3]);
  s.force[2] = -9.81;
  s.workspace = lcplug_workspace_create();
  return s;
}

/* Where corner k is, seen from the centre. */
static void corner(const box *s, int k, double lever[3]) {
  double local[3], t[3];
  const double *q = s->pose.rotation;
  for (int i = 0; i < 3; i++) local[i] = k >> i & 1 ? s->half[i] : -s->half[i];
  /* v + 2 w (q x v) + 2 q x (q x v) */
  for (int i = 0; i < 3; i++)
    t[i] = 2.0 *
           (q[1 + (i + 1) % 3] * local[(i + 2) % 3] - q[1 + (i + 2) % 3] * local[(i + 1) % 3]);
  for (int i = 0; i < 3; i++)
    lever[i] = local[i] + q[0] * t[i] + q[1 + (i + 1) % 3] * t[(i + 2) % 3] -
               q[1 + (i + 2) % 3] * t[(i + 1) % 3];
}

/* One step against the floor z = 0; returns the residual. */
static double step(box *s) {
  int32_t body[2 * ROWS], findex[ROWS];
  double jacobian[12 * ROWS], bias[ROWS], lo[ROWS], hi[ROWS], b[ROWS], x[ROWS], inertia[9];
  double up[3] = {0, 0, 1}, none[3] = {0, 0, 0}, lever[3];
  int rows = 0;
  for (int k = 0; k < CORNERS; k++) {
    corner(s, k, lever);
    double gap = s->pose.position[2] + lever[2];
    if (gap > 0.05) continue;
    lcplug_contact_rows(up, lever, none, jacobian + 12 * rows);
    for (int r = 0; r < 3; r++, rows++) {
      body[2 * rows] = 0, body[2 * rows + 1] = -1;
      bias[rows] = r ? 0.0 : gap / s->h;
      lo[rows] = 0.0, hi[rows] = r ? s->mu : INFINITY, findex[rows] = r ? rows - r : -1;
    }
  }
  lcplug_world_inertia(&s->pose, s->inverse_moments, inertia);
  lcplug_system system = lcplug_system_default();
  system.bodies = 1, system.rows = rows, system.inverse_mass = &s->inverse_mass;
  system.inverse_inertia = inertia, system.body = body, system.jacobian = jacobian;
  system.b = b, system.lo = lo, system.hi = hi, system.findex = findex;
  lcplug_settings settings = lcplug_settings_default();
  settings.solver = LCPLUG_PGS, settings.friction = LCPLUG_FRICTION_COULOMB;
  settings.tol = 1e-9, settings.max_iter = 2000;
  lcplug_solution solution = {.x = x};
  lcplug_info info = {0};
  if (lcplug_system_right_side(&system, s->velocity, s->force, s->h, bias, b) ||
      lcplug_system_solve(s->workspace, &system, &settings, &solution, &info) ||
      lcplug_system_velocity(&system, s->velocity, s->force, s->h, x, s->velocity))
    exit(2);
  lcplug_move_bodies(1, &s->pose, s->velocity, s->h);
  return info.residual;
}

/* The distance that a box slides, along a direction in degrees. */
static double slide(double h, double degrees, double speed) {
  box s = box_create(1.0, 1.0, 0.2, 0.4, h);
  double angle = degrees * 0.017453292519943295;
  s.velocity[0] = speed * cos(angle), s.velocity[1] = speed * sin(angle);
  for (int k = 0; k * h < 2.0; k++) step(&s);
  lcplug_workspace_free(s.workspace);
  return hypot(s.pose.position[0], s.pose.position[1]);
}

static void check_sliding(void) {
  double speed = 3.0, exact = speed * speed / (2.0 * 0.4 * 9.81), before = 0.0;
  char what[64];
  for (double h = 0.02; h > 0.002; h /= 2) {
    double error = fabs(slide(h, 30.0, speed) - exact);
    printf("      h %.4f s: error of the stopping distance %.3e m\n", h, error);
    if (h < 0.015) {
      snprintf(what, sizeof what, "order of convergence at h %.4f s", h);
      check_near(what, log2(before / error), 1.0, 0.25);
    }
    before = error;
  }
  for (double degrees = 0.0; degrees <= 90.0; degrees += 22.5) {
    snprintf(what, sizeof what, "stopping distance at %4.1f degrees, m", degrees);
    check_near(what, slide(0.001, degrees, speed), exact, 0.01 * exact);
  }
}

/* The tilt, as a tangent, at which a box of this height falls over. */
static double topple(double height) {
  box s = box_create(0.4, 0.4, height, 0.9, 0.005);
  double tangent = 0.0;
  while (tangent < 1.0) {
    tangent += 0.0002;
    double angle = atan(tangent);
    s.force[0] = 9.81 * sin(angle), s.force[2] = -9.81 * cos(angle);
    step(&s);
    if (fabs(s.velocity[4]) > 0.3) break;
  }
  lcplug_workspace_free(s.workspace);
  return tangent;
}

int main(void) {
  check_sliding();
  check_near("tilt at which a box of 1 m falls", topple(1.0), 0.4, 0.04);
  check_near("tilt at which a box of 0.6 m falls", topple(0.6), 0.4 / 0.6, 0.04);
  return check_result();
}
