/* scenes.h - the ODE scenes that tests, benchmarks and the demo share.
 *
 * Problem.   Solvers must be tried on the problems that real programs pose: stacks with redundant
 *            contacts, falling piles, joints with stops, motors with bounded force.
 * Method.    A table of named builders, each filling one ODE world.  Plain ODE C API: whoever
 *            steps a scene is an ordinary ODE program, and which solver runs is decided elsewhere.
 * Contract.  The same configuration builds the same bits on every run: random numbers come from a
 *            generator of our own, started from the seed.  Call scenes_init() first, and
 *            scenes_thread_begin() in every other thread that steps a scene; one scene belongs to
 *            one thread at a time, different scenes may be stepped at once.
 *
 *     scenes_init();
 *     scene_config config = scene_config_default();
 *     config.kind = "wall";
 *     scene *wall = scene_create(&config);
 *     for (int step = 0; step < 100; step++) scene_step(wall);
 *     scene_free(wall);
 *     scenes_done(); */
#ifndef LCPLUG_TESTS_SCENES_H
#define LCPLUG_TESTS_SCENES_H

#include <ode/ode.h>

typedef struct scene scene; /* a world, its space, its contact joints and its bodies */

/* What to build.  Start from scene_config_default(). */
typedef struct scene_config {
  const char *kind; /* a name from scene_kinds(), or "empty" */
  int size;         /* how many of what scene_note() tells; 0: the kind's own default */
  double mu;        /* friction coefficient of every contact; dInfinity is allowed */
  double cfm;       /* the world's constraint force mixing */
  double step;      /* seconds per scene_step() */
  unsigned seed;    /* for scenes with random poses */
  double soft;      /* more than 0: contacts are soft, with this CFM of their own */
  double angle;     /* slider: direction of motion, degrees from the first friction axis */
  int quick;        /* more than 0: dWorldQuickStep with so many iterations, not dWorldStep */
  int threads;      /* more than 0: so many threads share each step; ODE's bits then vary by run */
} scene_config;

/* A tower of the kind's own size, mu 0.5, ODE's default CFM, step 0.01 s, rigid contacts. */
scene_config scene_config_default(void);

/* Starts and ends ODE.  Calls nest; call them from the main thread.  scenes_init() returns 1, or 0
 * if ODE refuses to start. */
int scenes_init(void);
void scenes_done(void);

/* Once in each further thread, before it steps a scene.  ODE frees what this takes by itself, when
 * the thread ends or when ODE is closed.  Returns 1, or 0 if there is no memory for it. */
int scenes_thread_begin(void);

/* Lists the kinds: 1 and the name for index 0, 1, ...; 0 past the last one. */
int scene_kinds(int index, const char **name);

/* What `size` counts in this kind and what the scene shows; NULL for an unknown kind. */
const char *scene_note(const char *kind);

/* Allocates a scene; NULL for an unknown kind or if memory runs out. */
scene *scene_create(const scene_config *config);

/* Collides, calls dWorldStep (or dWorldQuickStep), drops the contact joints. */
void scene_step(scene *s);

/* From here on: as config.quick says. */
void scene_set_quick(scene *s, int iterations);

/* Frees the scene with its world.  NULL is allowed. */
void scene_free(scene *s);

dWorldID scene_world(scene *s);
int scene_bodies(scene *s);
dBodyID scene_body(scene *s, int index);

/* ---- bodies of the caller's own: for the kind "empty", or beside those of a kind ------------- */

/* With scene_add_body there is no geom: its contacts are the caller's. */
dBodyID scene_add_box(scene *s, const double *sides, double mass, double x, double y, double z);
dBodyID scene_add_sphere(scene *s, double radius, double mass, double x, double y, double z);
dBodyID scene_add_body(scene *s, const dMass *mass, double x, double y, double z);

/* Of every contact.  With dContactFDir1 the first friction axis is the world's x. */
dSurfaceParameters *scene_surface(scene *s);
dSpaceID scene_space(scene *s);

/* Calls `make` in each step, after the geoms have met; it adds contacts with scene_add_contact,
 * which fills in the surface and the friction axis.  A body of NULL is the world. */
typedef void scene_contact_maker(scene *s, void *data);
void scene_make_contacts(scene *s, scene_contact_maker *make, void *data);
void scene_add_contact(scene *s, dContact *contact, dBodyID a, dBodyID b);

int scene_contacts(const scene *s);         /* contact points of the last step */
double scene_solve_seconds(const scene *s); /* CPU time of this thread in dWorldStep, all steps */

#endif
