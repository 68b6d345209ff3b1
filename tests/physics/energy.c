/* energy.c - a heap that must not gain energy.
 *
 * A step takes v to v' = v + d with M d = h (f + J^T x), f the weight, and then moves the bodies by
 * h v'. With E the kinetic and potential energy,
 *
 *     E' - E = v' M d - d M d / 2 - h f v' = h x' J v' - d M d / 2
 *
 * and x' J v', the power of the contacts at the end of the step, is at most 0 without
 * restitution and without ERP, in every friction model.  So it is not enough that E does not
 * grow: E' - E + d M d / 2 may not, which sees what the integrator's own loss of d M d / 2 would
 * hide.  Bodies whose moments of inertia are equal feel no gyroscopic torque, for which this
 * does not hold: balls and cubes. */
#include <math.h>
#include <string.h>

#include "stage.h"

static const double step = 0.005;

enum { MOST_BODIES = 64 };

/* What the energy depends on.  The moments of inertia are alike. */
typedef struct motion {
  double mass, inertia, height, velocity[3], spin[3];
} motion;

static void note_motions(scene *s, motion *motions) {
  for (int i = 0; i < scene_bodies(s); i++) {
    dBodyID body = scene_body(s, i);
    dMass mass;
    dBodyGetMass(body, &mass);
    motions[i] = (motion){
        .mass = mass.mass, .inertia = mass.I[0], .height = dBodyGetPosition(body)[2]};
    for (int k = 0; k < 3; k++) {
      motions[i].velocity[k] = dBodyGetLinearVel(body)[k];
      motions[i].spin[k] = dBodyGetAngularVel(body)[k];
    }
  }
}

static double energy_of(const motion *motions, int count) {
  double sum = 0;
  for (const motion *m = motions; m < motions + count; m++) {
    sum += m->mass * PHYSICS_GRAVITY * m->height;
    for (int k = 0; k < 3; k++)
      sum += 0.5 *
             (m->mass * m->velocity[k] * m->velocity[k] + m->inertia * m->spin[k] * m->spin[k]);
  }
  return sum;
}

/* The energy of the change of the velocities: d M d / 2. */
static double energy_of_change(const motion *before, const motion *after, int count) {
  motion change[MOST_BODIES];
  for (int i = 0; i < count; i++) {
    change[i] = (motion){.mass = before[i].mass, .inertia = before[i].inertia};
    for (int k = 0; k < 3; k++) {
      change[i].velocity[k] = after[i].velocity[k] - before[i].velocity[k];
      change[i].spin[k] = after[i].spin[k] - before[i].spin[k];
    }
  }
  return energy_of(change, count);
}

/* A loose column of layers of 3 x 3, each turned and thrown a little aside; in a bin. */
static scene *build_heap(int bodies) {
  const double pitch = 0.55, half = 0.2, wall = 1.0;
  scene *s = stage_create("empty", 1, step);
  if (!s) return NULL;
  dWorldSetERP(scene_world(s), 0);
  dCreatePlane(scene_space(s), 0, 0, 1, 0);
  for (int side = -1; side <= 1; side += 2) {
    dCreatePlane(scene_space(s), side, 0, 0, -wall);
    dCreatePlane(scene_space(s), 0, side, 0, -wall);
  }
  for (int i = 0; i < bodies; i++) {
    double x = (i % 3 - 1) * pitch, y = (i / 3 % 3 - 1) * pitch, z = (i / 9 + 0.7) * pitch;
    dBodyID body = i & 1 ? scene_add_sphere(s, half, 1, x, y, z)
                         : scene_add_box(s, (const double[]){2 * half, 2 * half, 2 * half}, 1, x, y,
                                         z);
    dQuaternion q;
    dQFromAxisAndAngle(q, sin(i), cos(2 * i), sin(3 * i), 0.3 * i);
    dBodySetQuaternion(body, q);
    dBodySetLinearVel(body, sin(5 * i), cos(7 * i), 0);
    dBodySetAngularVel(body, 2 * cos(11 * i), 2 * sin(13 * i), 2 * cos(17 * i));
  }
  return s;
}

energy_result physics_pile(int bodies, double seconds) {
  energy_result r = {.growth = 0};
  motion before[MOST_BODIES], after[MOST_BODIES];
  scene *s = bodies <= MOST_BODIES ? build_heap(bodies) : NULL;
  if (!s) return (energy_result){.growth = NAN};
  int steps = (int)lround(seconds / step);
  note_motions(s, after);
  double first = energy_of(after, bodies), present = first;
  for (int k = 0; k < steps; k++) {
    r.sample[k * ENERGY_SAMPLES / steps] = present / first;
    memcpy(before, after, sizeof before);
    scene_step(s);
    note_motions(s, after);
    double last = present;
    present = energy_of(after, bodies);
    double gain = (present - last + energy_of_change(before, after, bodies)) / first;
    if (!(gain <= r.growth)) r.growth = gain; /* not a number is no energy kept */
  }
  r.left = present / first;
  scene_free(s);
  return r;
}
