/* energy.c - a heap that must not gain energy.
 *
 * Contacts without restitution and without ERP can only take energy, and so does ODE's integrator in
 * free fall (by m g^2 h^2 / 2 in each step).  Bodies whose moments of inertia are equal feel no
 * gyroscopic torque, which ODE integrates less well: balls and cubes. */
#include <math.h>
#include <stddef.h>

#include "stage.h"

static const double step = 0.005;

static double energy_of(scene *s) {
  double sum = 0;
  for (int i = 0; i < scene_bodies(s); i++) {
    dBodyID body = scene_body(s, i);
    const dReal *v = dBodyGetLinearVel(body), *turn = dBodyGetAngularVel(body);
    dMass mass;
    dBodyGetMass(body, &mass);
    sum += mass.mass * PHYSICS_GRAVITY * dBodyGetPosition(body)[2];
    sum += 0.5 * mass.mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    sum += 0.5 * mass.I[0] * (turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
  }
  return sum;
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
                         : scene_add_box(s, (const double[]){2 * half, 2 * half, 2 * half}, 1, x, y, z);
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
  scene *s = build_heap(bodies);
  if (!s) return (energy_result){.growth = NAN};
  int steps = (int)lround(seconds / step);
  double first = energy_of(s), least = first, present = first;
  for (int k = 0; k < steps; k++) {
    r.sample[k * ENERGY_SAMPLES / steps] = present / first;
    scene_step(s);
    present = energy_of(s);
    r.growth = fmax(r.growth, (present - least) / first);
    least = fmin(least, present);
  }
  r.left = present / first;
  scene_free(s);
  return r;
}
