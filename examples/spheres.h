/* spheres.h - spheres in an open box: collision, rows and time steps, for examples/pile.c and the
 * benchmark.
 *
 * Each step is one of the scheme of Stewart, Trinkle and Anitescu: contacts that are closer than a
 * margin become rows with the bias gap / h, so that nothing goes through anything. */
#ifndef LCPLUG_EXAMPLES_SPHERES_H
#define LCPLUG_EXAMPLES_SPHERES_H

#include <lcplug/native.h>

typedef struct spheres {
  int count;
  /* all spheres alike, of mass 1; the box is side x side */
  double radius, side, mu, cfm, h, margin;
  lcplug_pose *pose;
  double *velocity, *force, *inverse_mass, *inverse_inertia;
  /* the contacts of the last spheres_collide */
  int contacts, room;
  int32_t *body; /* two per row; -1 is the box */
  double *jacobian, *bias, *b, *lo, *hi, *row_cfm, *x, *x0, *gap;
  int32_t *findex;
  uint64_t *key; /* of each contact: who touches whom */
  int32_t *first, *rows;
  /* those of the step before, for the warm start */
  int contacts_before;
  uint64_t *key_before;
  int32_t *first_before, *rows_before;
  double *x_before;
  /* collision grid */
  int cells, layers, *cell_begin, *cell_sphere;
  lcplug_workspace *workspace;
} spheres;

/* `count` spheres in layers, each in the hollows of the one below, a little
 * shaken; NULL when out of memory. */
spheres *spheres_create(int count, unsigned seed);
void spheres_free(spheres *s);

/* Finds the contacts and fills rows, bounds, bias and right side; 0 when out of memory. */
int spheres_collide(spheres *s);

/* The system of the last spheres_collide, without a guess. */
lcplug_system spheres_system(const spheres *s);

/* One time step: collide, solve (from the last impulses if `warm`),
 * move.  Returns an error code. */
lcplug_error spheres_step(spheres *s, const lcplug_settings *settings, lcplug_team *team, int warm,
                          lcplug_info *info);

/* What a step may be judged by. */
double spheres_kinetic_energy(const spheres *s);
/* the deepest of the last spheres_collide, 0 or more */
double spheres_penetration(const spheres *s);

#endif
