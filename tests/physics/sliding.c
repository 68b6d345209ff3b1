/* sliding.c - boxes that slide: thrown, on a slope, on a belt.
 *
 * ODE's integrator changes velocities first, so a constant force gives the exact speed
 * at every step; ways are longer or shorter than in theory by half a step's, which the
 * steps below keep under 0.5 %. */
#include <math.h>
#include <stddef.h>

#include "stage.h"

static const double half_height = 0.1;

/* A plane with a flat box on it: friction at its foot does not tip it. */
static scene *box_on_plane(double step) {
  scene *s = stage_plane(step);
  if (s) scene_add_box(s, (const double[]){1, 1, 2 * half_height}, 1, 0, 0, half_height);
  return s;
}

static double horizontal(const dReal *v) { return hypot(v[0], v[1]); }

/* Degrees from the direction `angle` to that of v, between -180 and 180. */
static double degrees_off(const dReal *v, double angle) {
  double off = atan2(v[1], v[0]) / DEGREES - angle;
  return off - 360 * round(off / 360);
}

static void note_place(dBodyID box, double *place) {
  const dReal *at = dBodyGetPosition(box);
  place[0] = at[0];
  place[1] = at[1];
  place[2] = at[2] - half_height;
}

static slide_result watch(scene *s, const slide_setup *setup) {
  slide_result r = {.speed = NAN};
  dBodyID box = scene_body(s, 0);
  int steps = (int)lround(setup->seconds / setup->step), noted = (int)lround(0.4 / setup->step);
  for (int k = 1; k <= steps; k++) {
    if ((k - 1) * SLIDE_PATH % steps < SLIDE_PATH)
      note_place(box, r.path[(k - 1) * SLIDE_PATH / steps]);
    scene_step(s);
    r.lift = fmax(r.lift, dBodyGetPosition(box)[2] - half_height);
    if (k == noted) r.speed = horizontal(dBodyGetLinearVel(box));
  }
  r.distance = horizontal(dBodyGetPosition(box));
  r.direction = degrees_off(dBodyGetPosition(box), setup->angle);
  scene_free(s);
  return r;
}

slide_result physics_slide(const slide_setup *setup) {
  scene *s = box_on_plane(setup->step);
  if (!s) return (slide_result){.speed = NAN};
  dBodySetLinearVel(scene_body(s, 0), setup->speed * cos(setup->angle * DEGREES),
                    setup->speed * sin(setup->angle * DEGREES), 0);
  return watch(s, setup);
}

slide_result physics_belt(const slide_setup *setup) {
  scene *s = box_on_plane(setup->step);
  if (!s) return (slide_result){.speed = NAN};
  dSurfaceParameters *belt = scene_surface(s);
  belt->mode |= dContactMotion1 | dContactMotion2;
  belt->motion1 = setup->speed * cos(setup->angle * DEGREES);
  belt->motion2 = setup->speed * sin(setup->angle * DEGREES);
  return watch(s, setup);
}

double theory_slide_speed(double speed, double seconds) {
  return fmax(0, speed - PHYSICS_MU * PHYSICS_GRAVITY * seconds);
}

double theory_slide_distance(double speed) {
  return speed * speed / (2 * PHYSICS_MU * PHYSICS_GRAVITY);
}

/* ---- slope ----------------------------------------------------------------------------------- */

/* The plane stays level and gravity leans: the same physics, and the friction axes stay x and y. */
double physics_slope(double slope, double heading, double seconds) {
  const double step = 0.005;
  scene *s = box_on_plane(step);
  if (!s) return NAN;
  double down = PHYSICS_GRAVITY / hypot(1, slope), along = slope * down;
  dWorldSetGravity(scene_world(s), along * cos(heading * DEGREES), along * sin(heading * DEGREES),
                   -down);
  stage_run(s, seconds, step);
  double distance = horizontal(dBodyGetPosition(scene_body(s, 0)));
  scene_free(s);
  return distance;
}

double theory_slope_distance(double slope, double seconds) {
  double down = PHYSICS_GRAVITY / hypot(1, slope);
  return fmax(0, slope - PHYSICS_MU) * down * seconds * seconds / 2;
}

/* Who stays has moved less than the tenth of what a slope steeper by 1e-3 would let him. */
double physics_steepest(double heading) {
  const double seconds = 0.5, precision = 1e-3;
  double stays = 0, slides = 2;
  double moved = 0.1 * theory_slope_distance(PHYSICS_MU + precision, seconds);
  while (slides - stays > precision) {
    double slope = 0.5 * (stays + slides);
    if (physics_slope(slope, heading, seconds) < moved) stays = slope;
    else slides = slope;
  }
  return 0.5 * (stays + slides);
}
