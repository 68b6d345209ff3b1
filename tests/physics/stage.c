/* stage.c - see stage.h. */
#include "stage.h"

#include <math.h>
#include <stddef.h>

scene *stage_create(const char *kind, int size, double step) {
  scene_config config = scene_config_default();
  config.kind = kind;
  config.size = size;
  config.step = step;
  config.mu = PHYSICS_MU;
  return scene_create(&config);
}

scene *stage_plane(double step) {
  scene *s = stage_create("empty", 1, step);
  if (!s) return NULL;
  scene_surface(s)->mode |= dContactFDir1;
  dCreatePlane(scene_space(s), 0, 0, 1, 0);
  return s;
}

void stage_run(scene *s, double seconds, double step) {
  for (int k = 0; k < (int)lround(seconds / step); k++) scene_step(s);
}
