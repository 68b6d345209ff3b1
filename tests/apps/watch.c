/* watch.c - an observer that is preloaded into an ODE program beside lcplug, behind it.
 *
 * It sees every body that the program makes and every step that reaches libode, looks after each
 * step whether all positions and speeds are numbers, and ends the program, by exit, after
 * WATCH_STEPS steps: games end no other way, and what runs at the end must run.  It creates the
 * file WATCH_HALF at half of them, for a screenshot.  What it saw goes to the file WATCH_REPORT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <ode/ode.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES_MAX = 65536 };
static struct {
  dWorldID world;
  dBodyID body;
} bodies[BODIES_MAX];
static int body_count, most_bodies;
static long steps, quick_steps, bad_steps;
static uint64_t digest = 14695981039346656037u; /* FNV-1a over all positions of all steps */

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

dBodyID dBodyCreate(dWorldID world) {
  dBodyID body = NEXT(dBodyCreate)(world);
  if (body_count < BODIES_MAX) {
    bodies[body_count].world = world;
    bodies[body_count++].body = body;
  }
  if (body_count > most_bodies) most_bodies = body_count;
  return body;
}

void dBodyDestroy(dBodyID body) {
  int kept = 0;
  for (int i = 0; i < body_count; i++)
    if (bodies[i].body != body) bodies[kept++] = bodies[i];
  body_count = kept;
  NEXT(dBodyDestroy)(body);
}

void dWorldDestroy(dWorldID world) {
  int kept = 0;
  for (int i = 0; i < body_count; i++)
    if (bodies[i].world != world) bodies[kept++] = bodies[i];
  body_count = kept;
  NEXT(dWorldDestroy)(world);
}

static int is_finite(const dReal *v) { return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]); }

static void add_to_digest(const dReal *v) {
  unsigned char bytes[3 * sizeof *v];
  memcpy(bytes, v, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) digest = (digest ^ bytes[i]) * 1099511628211u;
}

static void report(void) {
  const char *path = getenv("WATCH_REPORT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "steps %ld\nquick_steps %ld\nbodies %d\nbad_steps %ld\ndigest %016llx\n", steps,
          quick_steps, most_bodies, bad_steps, (unsigned long long)digest);
  fclose(file);
}

static void look(dWorldID world) {
  int finite = 1;
  for (int i = 0; i < body_count; i++) {
    if (bodies[i].world != world) continue;
    const dReal *at = dBodyGetPosition(bodies[i].body);
    finite &= is_finite(at) && is_finite(dBodyGetLinearVel(bodies[i].body)) &&
              is_finite(dBodyGetAngularVel(bodies[i].body));
    add_to_digest(at);
  }
  bad_steps += !finite;
  const char *half = getenv("WATCH_HALF"), *limit = getenv("WATCH_STEPS");
  long last = limit ? atol(limit) : 0, seen = steps + quick_steps;
  if (half && last && seen == last / 2) {
    FILE *file = fopen(half, "w");
    if (file) fclose(file);
  }
  if (last && seen >= last) exit(0);
}

__attribute__((destructor)) static void at_exit(void) { report(); }

int dWorldStep(dWorldID world, dReal step) {
  int result = NEXT(dWorldStep)(world, step);
  steps++;
  look(world);
  return result;
}

int dWorldQuickStep(dWorldID world, dReal step) {
  int result = NEXT(dWorldQuickStep)(world, step);
  quick_steps++;
  look(world);
  return result;
}
