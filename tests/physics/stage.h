/* stage.h - what the experiments are built on. */
#ifndef LCPLUG_TESTS_PHYSICS_STAGE_H
#define LCPLUG_TESTS_PHYSICS_STAGE_H

#include "physics.h"

/* A scene of this kind with the friction of all experiments; NULL if it cannot be made. */
scene *stage_create(const char *kind, int size, double step);

/* A level plane, with the friction axes along x and y, and nothing on it yet. */
scene *stage_plane(double step);

/* Steps it for so long. */
void stage_run(scene *s, double seconds, double step);

#endif
