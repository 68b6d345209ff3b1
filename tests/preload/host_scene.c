/* host_scene.c - an ordinary ODE program: builds a scene, steps it, prints where the bodies are.
 *
 * usage: host_scene KIND [key=value ...]
 *   size, mu, cfm, seed, quick, threads  as in scenes.h
 *   steps                         how many steps at most (100)
 *   contact_steps                 stop after so many steps that had contacts (no limit)
 *
 * It knows nothing of lcplug.  Exit status 3: a number that is none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenes/scenes.h"

typedef struct options {
  scene_config config;
  int steps, contact_steps;
} options;

static int read_option(options *o, const char *text) {
  const char *value = strchr(text, '=');
  if (!value) return 0;
  size_t length = (size_t)(value++ - text);
#define IS(key) (length == strlen(key) && !strncmp(text, key, length))
  if (IS("size")) o->config.size = atoi(value);
  else if (IS("mu")) o->config.mu = atof(value);
  else if (IS("cfm")) o->config.cfm = atof(value);
  else if (IS("seed")) o->config.seed = (unsigned)atoi(value);
  else if (IS("quick")) o->config.quick = atoi(value);
  else if (IS("threads")) o->config.threads = atoi(value);
  else if (IS("steps")) o->steps = atoi(value);
  else if (IS("contact_steps")) o->contact_steps = atoi(value);
  else return 0;
  return 1;
}

/* Prints all poses; returns 0 if one of their numbers is none. */
static int print_bodies(scene *s) {
  int finite = 1;
  for (int i = 0; i < scene_bodies(s); i++) {
    const dReal *at = dBodyGetPosition(scene_body(s, i)), *q = dBodyGetQuaternion(scene_body(s, i));
    printf("body %d %.17g %.17g %.17g  %.17g %.17g %.17g %.17g\n", i, at[0], at[1], at[2], q[0],
           q[1], q[2], q[3]);
    for (int k = 0; k < 4; k++) finite &= (k == 3 || isfinite(at[k])) && isfinite(q[k]);
  }
  return finite;
}

int main(int count, char **arguments) {
  options o = {.config = scene_config_default(), .steps = 100};
  if (count < 2) {
    fprintf(stderr, "usage: host_scene KIND [key=value ...]\n");
    return 2;
  }
  o.config.kind = arguments[1];
  for (int k = 2; k < count; k++)
    if (!read_option(&o, arguments[k])) {
      fprintf(stderr, "host_scene: what is %s?\n", arguments[k]);
      return 2;
    }
  if (!scenes_init()) return 1;
  scene *s = scene_create(&o.config);
  if (!s) return 1;
  int step = 0, with_contacts = 0, contacts = 0;
  while (step < o.steps && (!o.contact_steps || with_contacts < o.contact_steps)) {
    scene_step(s);
    step++;
    contacts += scene_contacts(s);
    with_contacts += scene_contacts(s) > 0;
  }
  printf("%s steps %d contacts %d\n", o.config.kind, step, contacts);
  int finite = print_bodies(s);
  scene_free(s);
  scenes_done();
  return finite ? 0 : 3;
}
