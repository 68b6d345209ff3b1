/* physics.h - textbook experiments inside ODE, with the solver as the only thing that changes.
 *
 * Problem.   Is what a friction model computes what Coulomb's law says, in a real ODE program: real
 *            collision detection, dWorldStep, real time steps?
 * Method.    This program defines dxSolveLCP, so that libode calls it here, and hands each problem
 *            to the solver of the present model: upstream's own, or lcplug with one of its four
 *            friction models and otherwise default settings.  An experiment builds a scene, steps
 *            it and returns what it has measured; what theory says of it is a function beside it.
 * Contract.  One thread.  Call physics_begin first.  The same model, the same numbers. */
#ifndef LCPLUG_TESTS_PHYSICS_H
#define LCPLUG_TESTS_PHYSICS_H

#include <lcplug/lcplug.h>

#include "scenes/scenes.h"

/* ---- who solves ------------------------------------------------------------------------------ */

typedef enum physics_model { UPSTREAM, ODE, PYRAMID, CONE, COULOMB, MODELS } physics_model;
const char *physics_model_name(physics_model model);

/* What the solver of a model has done. */
typedef struct physics_tally {
  long solves, misses; /* misses: above the tolerance; of upstream, its error messages */
  int most_rows;
  double worst_residual; /* of lcplug's models */
  double worst_gap;      /* of CONE */
  double seconds;        /* in the solver */
} physics_tally;

/* Starts ODE; 1, or 0 if it does not start or upstream's solver is not found. */
int physics_begin(void);
void physics_end(void);

/* Settings of lcplug's models, "key=value,key=value", friction apart; 0 if one is wrong. */
int physics_set(const char *text);

/* From here on this model solves, with a tally of zeros. */
void physics_use(physics_model model);
physics_tally physics_tallied(void);

/* A folder for the problems that are missed, as records; NULL: they are not kept. */
void physics_keep_misses(const char *folder);

/* ---- sliding --------------------------------------------------------------------------------- */

#define PHYSICS_GRAVITY 9.81
#define PHYSICS_MU 0.5
#define DEGREES (3.14159265358979323846 / 180)

/* A flat box thrown along a plane, at `angle` degrees to the friction axes; or laid on a moving
 * belt, then `speed` is the belt's. */
typedef struct slide_setup {
  double angle, speed, step, seconds;
} slide_setup;

enum { SLIDE_PATH = 64 };

typedef struct slide_result {
  double speed;     /* after 0.4 s; on a belt, of the box over ground */
  double distance;  /* from start to rest */
  double direction; /* of the way from the start to the end, degrees off the direction of motion */
  double lift;      /* how far the box rises above the plane at most */
  double path[SLIDE_PATH][3]; /* equally spaced in time; height above the plane */
} slide_result;

slide_result physics_slide(const slide_setup *setup);
slide_result physics_belt(const slide_setup *setup);

double theory_slide_speed(double speed, double seconds);
double theory_slide_distance(double speed);

/* A box that lies at rest on a slope of `slope` (its tangent), whose fall line is at `heading`
 * degrees to the friction axes.  How far it slides in `seconds`. */
double physics_slope(double slope, double heading, double seconds);
double theory_slope_distance(double slope, double seconds);

/* The steepest slope on which it stays, found by bisection to 1e-3. */
double physics_steepest(double heading);

/* ---- turning --------------------------------------------------------------------------------- */

typedef struct disc_result {
  double spin;  /* rad/s at the end */
  double drift; /* how far the centre has moved */
} disc_result;

/* A disc of radius 0.5 m that spins on twelve feet along its rim, first at `spin`. */
disc_result physics_disc(double spin, double seconds);
double theory_disc(double spin, double seconds);

typedef struct ball_result {
  double speed;
  double slip; /* speed of the ball's lowest point */
} ball_result;

/* A ball of radius 0.25 m with rolling friction `rho`, thrown at `angle` degrees to the friction
 * axes; `rolling`: already rolling, else without spin. */
ball_result physics_ball(double speed, double angle, double rho, int rolling, double seconds);
double theory_ball_rolling(double speed, double rho, double seconds);
double theory_ball_thrown(double speed);

/* ---- standing -------------------------------------------------------------------------------- */

/* How far any body has moved from where it was built, in metres, after `seconds`. */
double physics_tower(int boxes, double seconds);
double physics_wall(int rows, double seconds);

/* A card house of `storeys`, mu 0.5; its cards lean at 15 degrees. */
double physics_cards(int storeys, double seconds);

/* A semicircular arch of wedge-shaped stones, mean radius 1 m, `thickness` m.  Masons know since
 * Heyman and Milankovitch that it stands if the thickness exceeds 0.107 of the radius. */
double physics_arch(int stones, double thickness, double seconds);

/* ---- energy ---------------------------------------------------------------------------------- */

enum { ENERGY_SAMPLES = 128 };

typedef struct energy_result {
  /* the largest work of the contacts in one step, as a fraction of the first energy */
  double growth;
  double left;   /* at the end, as a fraction of the first */
  double sample[ENERGY_SAMPLES];
} energy_result;

/* Balls and cubes fall on a heap; no restitution, no ERP, so that nothing may give energy back. */
energy_result physics_pile(int bodies, double seconds);

#endif
