/* stress.c - many ODE worlds, many threads, one process: the bits of one thread.
 *
 * usage: stress [worlds=N] [threads=N] [steps=N] [seconds=N] [warm=1] [islands=0]
 *
 * Two things are tried, again and again until `seconds` are over:
 *
 *   worlds   each world is stepped by whichever thread gets hold of it, so that every thread meets
 *            problems of all sizes in turn; the poses must be those of the same worlds stepped by
 * one thread alone, to the bit islands  one world whose islands are solved at once by a pool of
 * threads.  ODE adds up its own numbers in another order each time, so poses cannot be compared;
 * the calls can: what the solver answered in the pool it must answer again, to the bit, to this
 * thread alone
 *
 * The program is linked with the preload object.  Its own dxSolveLCP stands before it and notes the
 * calls of the second part.
 *
 * For helgrind: warm=1 lets a single thread come first, as it does not know that pthread_once
 * orders what happens, and islands=0 leaves out the pool, whose threads ODE orders by atomic
 * counters. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scenes/scenes.h"

#define SOLVER _Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi
#define TEXT(symbol) TEXT_OF(symbol)
#define TEXT_OF(symbol) #symbol

typedef void solver(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                    double *lh, int *findex);

static void need(int fact, const char *what) {
  if (fact) return;
  fprintf(stderr, "stress: %s\n", what);
  exit(1);
}

static void *allocate(size_t size) {
  void *memory = calloc(1, size ? size : 1);
  need(memory != NULL, "out of memory");
  return memory;
}

/* ---- the calls of the solver ----------------------------------------------------------------- */

typedef struct noted_call {
  struct noted_call *before;
  unsigned n, nub;
  size_t stride;
  double *A, *bx, *lh; /* as they came */
  double *x;           /* what was answered */
  int *findex;
} noted_call;

enum { NOTES_MAX = 400 };
static _Atomic(noted_call *) notes;
static atomic_int noting, note_count;
static solver *next_solver;

static void *duplicate(const void *from, size_t size) { return memcpy(allocate(size), from, size); }

static noted_call *note(unsigned n, const double *A, const double *bx, unsigned nub,
                        const double *lh, const int *findex) {
  noted_call *c = allocate(sizeof *c);
  c->n = n;
  c->nub = nub;
  c->stride = n > 1 ? ((n - 1) | 3) + 1 : n;
  c->A = allocate(n * c->stride * sizeof *A);
  /* The lower triangle alone: the rest may never have been written. */
  for (unsigned i = 0; i < n; i++)
    memcpy(c->A + i * c->stride, A + i * c->stride, (i + 1) * sizeof *A);
  c->bx = duplicate(bx, 2 * n * sizeof *bx);
  c->lh = duplicate(lh, 2 * n * sizeof *lh);
  c->findex = findex ? duplicate(findex, n * sizeof *findex) : NULL;
  c->x = allocate(n * sizeof *c->x);
  return c;
}

__attribute__((visibility("default"))) solver SOLVER;
void SOLVER(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub, double *lh,
            int *findex) {
  noted_call *c = noting && atomic_fetch_add(&note_count, 1) < NOTES_MAX
                      ? note(n, A, bx, nub, lh, findex)
                      : NULL;
  next_solver(arena, n, A, bx, w, nub, lh, findex);
  if (!c) return;
  for (unsigned i = 0; i < n; i++) c->x[i] = bx[2 * i + 1];
  c->before = notes;
  while (!atomic_compare_exchange_weak(&notes, &c->before, c)) continue;
}

static int answered_alike(noted_call *c) {
  next_solver(NULL, c->n, c->A, c->bx, NULL, c->nub, c->lh, c->findex);
  int alike = 1;
  for (unsigned i = 0; i < c->n; i++) alike &= !memcmp(&c->x[i], &c->bx[2 * i + 1], sizeof *c->x);
  return alike;
}

static void free_note(noted_call *c) {
  free(c->A), free(c->bx), free(c->lh), free(c->findex), free(c->x), free(c);
}

/* ---- worlds ---------------------------------------------------------------------------------- */

typedef struct world {
  scene *scene;
  pthread_mutex_t taken;
  int steps_left;
} world;

static struct {
  world *world;
  int count;
  atomic_int unfinished;
} all;

static scene_config config_of(int k, unsigned round) {
  static const struct {
    const char *kind;
    int size;
  } kinds[] = {{"boxes", 12},  {"spheres", 20}, {"ragdoll", 2}, {"vehicles", 1}, {"mixed", 10},
               {"pyramid", 3}, {"tower", 4},    {"chain", 1},   {"wall", 3},     {"motors", 1}};
  enum { KINDS = sizeof kinds / sizeof kinds[0] };
  scene_config config = scene_config_default();
  config.kind = kinds[k % KINDS].kind;
  config.size = kinds[k % KINDS].size;
  config.cfm = k % 2 ? 1e-5 : 1e-9;
  config.seed = (unsigned)k + 1000 * round;
  return config;
}

static void create_worlds(int count, int steps, unsigned round) {
  all.world = allocate((size_t)count * sizeof *all.world);
  all.count = all.unfinished = count;
  for (int k = 0; k < count; k++) {
    scene_config config = config_of(k, round);
    all.world[k].scene = scene_create(&config);
    all.world[k].steps_left = steps;
    need(all.world[k].scene && !pthread_mutex_init(&all.world[k].taken, NULL),
         "a world cannot be made");
  }
}

/* The poses of all worlds, as bytes; frees the worlds. */
static double *harvest_poses(size_t *count) {
  size_t bodies = 0, at = 0;
  for (int k = 0; k < all.count; k++) bodies += (size_t)scene_bodies(all.world[k].scene);
  double *poses = allocate(7 * bodies * sizeof *poses);
  for (int k = 0; k < all.count; k++) {
    for (int i = 0; i < scene_bodies(all.world[k].scene); i++, at += 7) {
      memcpy(poses + at, dBodyGetPosition(scene_body(all.world[k].scene, i)), 3 * sizeof *poses);
      memcpy(poses + at + 3, dBodyGetQuaternion(scene_body(all.world[k].scene, i)),
             4 * sizeof *poses);
    }
    scene_free(all.world[k].scene);
    pthread_mutex_destroy(&all.world[k].taken);
  }
  free(all.world);
  *count = at;
  return poses;
}

/* Steps whatever world is free, a few steps at a time, until none has steps left. */
static void *step_free_worlds(void *data) {
  unsigned random = (unsigned)(size_t)data * 2654435761u + 1;
  need(scenes_thread_begin(), "ODE has no memory for a thread");
  while (all.unfinished > 0) {
    random = random * 1664525u + 1013904223u;
    world *w = &all.world[(random >> 8) % (unsigned)all.count];
    if (pthread_mutex_trylock(&w->taken)) continue;
    for (int i = 0; i < 3 && w->steps_left > 0; i++) {
      scene_step(w->scene);
      if (--w->steps_left == 0) all.unfinished--;
    }
    pthread_mutex_unlock(&w->taken);
  }
  return NULL;
}

static double *step_in_threads(int worlds, int steps, int threads, unsigned round, size_t *count) {
  pthread_t *thread = allocate((size_t)threads * sizeof *thread);
  create_worlds(worlds, steps, round);
  for (int t = 0; t < threads; t++)
    need(!pthread_create(&thread[t], NULL, step_free_worlds, (void *)(size_t)(t + 1)),
         "no more threads");
  for (int t = 0; t < threads; t++) pthread_join(thread[t], NULL);
  free(thread);
  return harvest_poses(count);
}

static double *step_alone(int worlds, int steps, unsigned round, size_t *count) {
  create_worlds(worlds, steps, round);
  for (int k = 0; k < worlds; k++)
    for (int i = 0; i < steps; i++) scene_step(all.world[k].scene);
  return harvest_poses(count);
}

static int worlds_agree(int worlds, int steps, int threads, int warm, unsigned round) {
  size_t count[2];
  double *alone = warm ? step_alone(worlds, steps, round, &count[0]) : NULL;
  double *together = step_in_threads(worlds, steps, threads, round, &count[1]);
  if (!warm) alone = step_alone(worlds, steps, round, &count[0]);
  int same = count[0] == count[1] && !memcmp(alone, together, count[0] * sizeof *alone);
  for (size_t i = 0; i < count[0]; i++) same &= isfinite(alone[i]);
  free(alone);
  free(together);
  return same;
}

/* ---- islands --------------------------------------------------------------------------------- */

static int islands_agree(int steps, int threads, unsigned round) {
  scene_config config = config_of(4, round); /* mixed: falls in many islands */
  config.size = 40;
  config.threads = threads;
  scene *s = scene_create(&config);
  need(s != NULL, "a world cannot be made");
  note_count = 0;
  noting = 1;
  for (int i = 0; i < steps; i++) scene_step(s);
  noting = 0;
  int same = 1, finite = 1;
  for (int i = 0; i < scene_bodies(s); i++)
    finite &= isfinite(dBodyGetPosition(scene_body(s, i))[2]);
  scene_free(s);
  for (noted_call *c = atomic_exchange(&notes, NULL), *before; c; c = before) {
    before = c->before;
    same &= answered_alike(c);
    free_note(c);
  }
  return same && finite && note_count > 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int count, char **arguments) {
  int worlds = 20, threads = 8, steps = 60, seconds = 0, warm = 0, islands = 1;
  const struct {
    const char *key;
    int *value;
  } keys[] = {{"worlds=", &worlds},   {"threads=", &threads}, {"steps=", &steps},
              {"seconds=", &seconds}, {"warm=", &warm},       {"islands=", &islands}};
  for (int i = 1; i < count; i++)
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
      if (!strncmp(arguments[i], keys[k].key, strlen(keys[k].key)))
        *keys[k].value = atoi(arguments[i] + strlen(keys[k].key));
  next_solver = (solver *)dlsym(RTLD_NEXT, TEXT(SOLVER));
  need(next_solver != NULL && scenes_init(), "ODE does not start");
  double end = now() + seconds;
  unsigned round = 0;
  do {
    need(worlds_agree(worlds, steps, threads, warm, round), "threads and one thread part");
    if (islands) need(islands_agree(steps, threads, round), "a pool and one thread part");
    round++;
  } while (now() < end);
  printf("%u rounds of %d worlds, %d threads, %d steps: the bits of one thread\n", round, worlds,
         threads, steps);
  scenes_done();
  return 0;
}
