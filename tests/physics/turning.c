/* turning.c - a disc that spins, a ball that rolls. */
#include <math.h>
#include <stddef.h>

#include "stage.h"

static const double disc_radius = 0.5, ball_radius = 0.25, step = 0.005;

/* ---- disc ------------------------------------------------------------------------------------ */

/* The disc stands on feet along its rim.  ODE's own cylinder has four, and they lie on the friction
 * axes, where any model is right. */
static void press_feet(scene *s, void *data) {
  enum { FEET = 12 };
  dBodyID disc = scene_body(s, 0);
  const double *half_height = data;
  for (int foot = 0; foot < FEET; foot++) {
    double angle = foot * 360.0 / FEET * DEGREES;
    dContact contact = {.geom = {.normal = {0, 0, 1}}};
    dBodyGetRelPointPos(disc, disc_radius * cos(angle), disc_radius * sin(angle), -*half_height,
                        contact.geom.pos);
    if (contact.geom.pos[2] > 0) continue;
    contact.geom.depth = -contact.geom.pos[2];
    scene_add_contact(s, &contact, disc, NULL);
  }
}

disc_result physics_disc(double spin, double seconds) {
  double half_height = 0.05;
  dMass mass;
  scene *s = stage_plane(step);
  if (!s) return (disc_result){NAN, NAN};
  dMassSetCylinderTotal(&mass, 1, 3, disc_radius, 2 * half_height);
  dBodyID disc = scene_add_body(s, &mass, 0, 0, half_height);
  dBodySetAngularVel(disc, 0, 0, spin);
  scene_make_contacts(s, press_feet, &half_height);
  stage_run(s, seconds, step);
  const dReal *at = dBodyGetPosition(disc);
  disc_result r = {dBodyGetAngularVel(disc)[2], hypot(at[0], at[1])};
  scene_free(s);
  return r;
}

/* Each foot slides across its own radius, so whatever part of the weight it bears, the torque is
 * mu m g R in all, against m R^2 / 2. */
double theory_disc(double spin, double seconds) {
  return fmax(0, spin - 2 * PHYSICS_MU * PHYSICS_GRAVITY / disc_radius * seconds);
}

/* ---- ball ------------------------------------------------------------------------------------ */

ball_result physics_ball(double speed, double angle, double rho, int rolling, double seconds) {
  scene *s = stage_plane(step);
  if (!s) return (ball_result){NAN, NAN};
  dSurfaceParameters *surface = scene_surface(s);
  surface->mode |= dContactRolling | dContactAxisDep;
  surface->mu2 = surface->mu;
  surface->rho = surface->rho2 = rho;
  double vx = speed * cos(angle * DEGREES), vy = speed * sin(angle * DEGREES);
  dBodyID ball = scene_add_sphere(s, ball_radius, 1, 0, 0, ball_radius);
  dBodySetLinearVel(ball, vx, vy, 0);
  if (rolling) dBodySetAngularVel(ball, -vy / ball_radius, vx / ball_radius, 0);
  stage_run(s, seconds, step);
  const dReal *v = dBodyGetLinearVel(ball), *turn = dBodyGetAngularVel(ball);
  ball_result r = {hypot(v[0], v[1]),
                   hypot(v[0] - turn[1] * ball_radius, v[1] + turn[0] * ball_radius)};
  scene_free(s);
  return r;
}

/* m dv/dt = f,  I dw/dt = -f r - rho m g,  v = w r,  I = 2/5 m r^2. */
double theory_ball_rolling(double speed, double rho, double seconds) {
  return fmax(0, speed - rho * PHYSICS_GRAVITY / (1.4 * ball_radius) * seconds);
}

/* Friction at the foot does not change the angular momentum about it: 7/5 m r v = m r v0. */
double theory_ball_thrown(double speed) { return speed * 5 / 7; }
