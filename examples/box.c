/* box.c - a box slides to rest, and another one topples.
 *
 * Sliding: a flat box with speed v on a floor with friction mu stops after v^2 / (2 mu g), whatever
 * the direction of its motion.  The time-stepping scheme is of first order: halving h halves the
 * error of the distance, which is printed for a row of steps.
 *
 * On the way nothing sinks in, no energy is gained and momentum goes as v - mu g t.
 *
 * Toppling: a tall box on a floor that tilts slowly stands as long as the line of gravity meets its
 * base, tan(angle) < width / height, if friction is larger than that, and falls over beyond.  It
 * takes its time to do so, which the floor uses to tilt on: the slower, the less. */
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

/* ---- sliding --------------------------------------------------------------------------------- */

/* How deep the lowest corner is in the floor. */
static double penetration(const box *s) {
  double deepest = 0.0, lever[3];
  for (int k = 0; k < CORNERS; k++) {
    corner(s, k, lever);
    deepest = fmax(deepest, -(s->pose.position[2] + lever[2]));
  }
  return deepest;
}

/* Kinetic and potential; the box is of mass 1 and turns, if at all, about its own axes. */
static double energy(const box *s) {
  double sum = -s->force[2] * s->pose.position[2];
  for (int i = 0; i < 3; i++)
    sum += 0.5 * s->velocity[i] * s->velocity[i] +
           0.5 * s->velocity[3 + i] * s->velocity[3 + i] / s->inverse_moments[i];
  return sum;
}

typedef struct slide_result {
  double distance;
  double penetration, energy_gained; /* the worst of all steps */
  double momentum_error;             /* of speed - mu g t while it slides, in m/s as mass is 1 */
} slide_result;

/* How a box slides, along a direction in degrees. */
static slide_result slide(double h, double degrees, double speed) {
  box s = box_create(1.0, 1.0, 0.2, 0.4, h);
  slide_result r = {0};
  double angle = degrees * 0.017453292519943295;
  s.velocity[0] = speed * cos(angle), s.velocity[1] = speed * sin(angle);
  for (int k = 1; k * h < 2.0; k++) {
    double before = energy(&s), expected = fmax(speed - s.mu * 9.81 * k * h, 0.0);
    step(&s);
    r.penetration = fmax(r.penetration, penetration(&s));
    r.energy_gained = fmax(r.energy_gained, energy(&s) - before);
    r.momentum_error =
        fmax(r.momentum_error, fabs(hypot(s.velocity[0], s.velocity[1]) - expected));
  }
  r.distance = hypot(s.pose.position[0], s.pose.position[1]);
  lcplug_workspace_free(s.workspace);
  return r;
}

static void check_sliding(void) {
  double speed = 3.0, exact = speed * speed / (2.0 * 0.4 * 9.81), before = 0.0;
  slide_result worst = {0};
  char what[64];
  for (double h = 0.02; h > 0.002; h /= 2) {
    double error = fabs(slide(h, 30.0, speed).distance - exact);
    printf("      h %.4f s: error of the stopping distance %.3e m\n", h, error);
    if (h < 0.015) {
      snprintf(what, sizeof what, "order of convergence at h %.4f s", h);
      check_near(what, log2(before / error), 1.0, 0.25);
    }
    before = error;
  }
  for (double degrees = 0.0; degrees <= 90.0; degrees += 22.5) {
    slide_result r = slide(0.001, degrees, speed);
    snprintf(what, sizeof what, "stopping distance at %4.1f degrees, m", degrees);
    check_near(what, r.distance, exact, 0.01 * exact);
    worst.penetration = fmax(worst.penetration, r.penetration);
    worst.energy_gained = fmax(worst.energy_gained, r.energy_gained);
    worst.momentum_error = fmax(worst.momentum_error, r.momentum_error);
  }
  check_at_most("deepest penetration while sliding, m", worst.penetration, 1e-6);
  check_at_most("energy gained in a step while sliding, J", worst.energy_gained, 1e-6);
  check_at_most("momentum off by, kg m/s", worst.momentum_error, 1e-6);
}

/* ---- toppling -------------------------------------------------------------------------------- */

static const double WIDTH = 0.4, FALLING = 0.3; /* m, and the rad/s that count as falling */

/* The tilt, as a tangent, at which a box of this height falls over on a floor whose tangent grows
 * at this rate. */
static double topple(double height, double h, double rate) {
  box s = box_create(WIDTH, WIDTH, height, 0.9, h);
  double tangent = 0.75 * WIDTH / height;
  while (tangent < 1.0 && fabs(s.velocity[4]) <= FALLING) {
    tangent += rate * h;
    double angle = atan(tangent);
    s.force[0] = 9.81 * sin(angle), s.force[2] = -9.81 * cos(angle);
    step(&s);
  }
  lcplug_workspace_free(s.workspace);
  return tangent;
}

/* By how much the floor tilts on while the box falls.  It turns by v about an edge, at a distance r
 * from its centre; the floor is u beyond the angle that it could bear:  v'' = (g r / I) (v + u).
 * From rest, with u = u' t, its speed is  v' = u' (cosh(k t) - 1),  k^2 = g r / I. */
static double tilt_while_falling(double height, double rate) {
  double squared = WIDTH * WIDTH + height * height;
  double k = sqrt(9.81 * 0.5 * sqrt(squared) / (squared / 3.0));
  double angle_rate = rate * height * height / squared; /* at the angle of the diagonal */
  return rate * acosh(1.0 + FALLING / angle_rate) / k;
}

/* The floor tilts the slower the smaller h is: with h the delay goes to 0, and with it the error
 * of the tilt, in proportion but for the logarithm that acosh is. */
static void check_toppling(double height) {
  double exact = WIDTH / height, before = 0.0, error = 0.0;
  char what[64];
  for (double h = 0.02; h > 0.002; h /= 2, before = error) {
    double rate = h; /* 1/s */
    error = topple(height, h, rate) - exact;
    printf("      h %.4f s: a box of %.1f m falls at a tilt of %.4f + %.4f\n", h, height, exact,
           error);
    snprintf(what, sizeof what, "time to fall explains, at h %.4f s, of it", h);
    check_near(what, tilt_while_falling(height, rate) / error, 1.0, 0.05);
    if (h > 0.015) continue;
    snprintf(what, sizeof what, "order of convergence at h %.4f s", h);
    check_near(what, log2(before / error), 0.8, 0.15);
  }
  check_near("tilt at which it falls, with the smallest h", exact + error, exact, 0.005);
}

int main(void) {
  check_sliding();
  check_toppling(1.0);
  check_toppling(0.6);
  return check_result();
}
