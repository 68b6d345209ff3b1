/* demo_scene.c - an ordinary ODE program, the patient of the demo.
 *
 * Problem.   Show what a solver does to a program that knows nothing of it.
 * Method.    `demo_scene tower` steps a tower of 6 unit boxes with zero gaps for 120 steps;
 *            `demo_scene slider [ANGLE]` steps a box that slides at 3 m/s at ANGLE degrees to the
 *            friction axes for 40 steps.  It links ODE and nothing else; run it plainly for
 *            Dantzig, or under a preload for another solver.
 * Contract.  stdout holds lines of a keyword and numbers:
 *              scene NAME
 *              step TIME VALUE   after each step: height of the top box in m, or speed in m/s
 *              box X Y Z QW QX QY QZ SX SY SZ   at the end: position, rotation, sides
 *              errors COUNT      messages "LCP internal error" from the solver
 *              ms MILLISECONDS   CPU time in dWorldStep, mean per step
 *            Exit status 0, or 2 if it was called wrongly or ODE does not start. */
#include "../tests/scenes/scenes.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int solver_errors;

/* Upstream reports a failed solve and goes on with zeros; so does this program. */
static void count_solver_errors(int number, const char *message, va_list arguments) {
  (void)number;
  (void)arguments;
  if (strstr(message, "LCP internal error")) solver_errors++;
}

static double top_height(scene *s) {
  return dBodyGetPosition(scene_body(s, scene_bodies(s) - 1))[2];
}

static double sliding_speed(scene *s) {
  const dReal *v = dBodyGetLinearVel(scene_body(s, 0));
  return hypot(v[0], v[1]);
}

typedef struct demo {
  const char *kind;
  int steps;
  double (*value)(scene *s);
} demo;

static const demo demos[] = {{"tower", 120, top_height}, {"slider", 40, sliding_speed}};

static void print_box(dBodyID body) {
  const dReal *at = dBodyGetPosition(body), *q = dBodyGetQuaternion(body);
  dVector3 sides;
  dGeomBoxGetLengths(dBodyGetFirstGeom(body), sides);
  printf("box %.9g %.9g %.9g %.9g %.9g %.9g %.9g %g %g %g\n", at[0], at[1], at[2], q[0], q[1],
         q[2], q[3], sides[0], sides[1], sides[2]);
}

static int run(const demo *d, double angle) {
  scene_config config = scene_config_default();
  config.kind = d->kind;
  config.angle = angle;
  scene *s = scene_create(&config);
  if (!s) {
    fprintf(stderr, "demo_scene: out of memory\n");
    return 2;
  }
  printf("scene %s\n", d->kind);
  for (int step = 1; step <= d->steps; step++) {
    scene_step(s);
    printf("step %.9g %.9g\n", step * config.step, d->value(s));
  }
  for (int i = 0; i < scene_bodies(s); i++) print_box(scene_body(s, i));
  printf("errors %d\nms %.6g\n", solver_errors, 1e3 * scene_solve_seconds(s) / d->steps);
  scene_free(s);
  return 0;
}

int main(int argc, char **argv) {
  const demo *wanted = NULL;
  for (size_t i = 0; argc > 1 && i < sizeof demos / sizeof *demos; i++)
    if (!strcmp(argv[1], demos[i].kind)) wanted = &demos[i];
  if (!wanted) {
    fprintf(stderr, "usage: demo_scene tower | demo_scene slider [ANGLE_IN_DEGREES]\n");
    return 2;
  }
  if (!scenes_init()) {
    fprintf(stderr, "demo_scene: ODE does not start\n");
    return 2;
  }
  dSetMessageHandler(count_solver_errors);
  int status = run(wanted, argc > 2 ? atof(argv[2]) : 45);
  scenes_done();
  return status;
}
