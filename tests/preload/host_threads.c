/* host_threads.c - ODE programs with several threads, and one that forks.
 *
 * usage: host_threads MODE
 *   serial   steps six worlds one after the other, prints their poses
 *   worlds   steps the same worlds at once, a thread each, prints the same
 *   pool     one world whose islands are solved by a pool of four threads
 *   waves    threads come and go; prints how many KiB the process grew by after the first waves
 *   fork     forks in the middle of the run, while another thread is solving; parent and child
 *            go on and print the same poses
 *
 * Exit status 3: a number that is none. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenes/scenes.h"

typedef struct task {
  scene_config config;
  int steps;
  char *text; /* the poses, as printed */
  int finite;
} task;

static int print_poses(scene *s, FILE *out) {
  int finite = 1;
  for (int i = 0; i < scene_bodies(s); i++) {
    const dReal *at = dBodyGetPosition(scene_body(s, i)), *q = dBodyGetQuaternion(scene_body(s, i));
    fprintf(out, "body %d %.17g %.17g %.17g  %.17g %.17g %.17g %.17g\n", i, at[0], at[1], at[2],
            q[0], q[1], q[2], q[3]);
    finite &= isfinite(at[0]) && isfinite(at[1]) && isfinite(at[2]) && isfinite(q[0]);
  }
  return finite;
}

static void run_task(task *t) {
  size_t size;
  scene *s = scene_create(&t->config);
  FILE *out = open_memstream(&t->text, &size);
  if (!s || !out) exit(1);
  for (int step = 0; step < t->steps; step++) scene_step(s);
  t->finite = print_poses(s, out);
  fclose(out);
  scene_free(s);
}

static void *run_task_in_thread(void *data) {
  if (!scenes_thread_begin()) exit(1);
  run_task(data);
  return NULL;
}

/* ---- several worlds -------------------------------------------------------------------------- */

static const char *const kinds[] = {"boxes", "spheres", "ragdoll", "vehicles", "mixed", "pyramid"};
static const int sizes[] = {15, 25, 2, 1, 12, 2};
enum { WORLDS = 6 };

static task make_task(int k, int steps) {
  task t = {.config = scene_config_default(), .steps = steps};
  t.config.kind = kinds[k % WORLDS];
  t.config.size = sizes[k % WORLDS];
  t.config.cfm = 1e-5;
  t.config.seed = (unsigned)k + 1;
  return t;
}

static int several_worlds(int at_once) {
  task tasks[WORLDS];
  pthread_t threads[WORLDS];
  int finite = 1;
  for (int k = 0; k < WORLDS; k++) tasks[k] = make_task(k, 50);
  for (int k = 0; k < WORLDS; k++)
    if (!at_once) run_task(&tasks[k]);
    else if (pthread_create(&threads[k], NULL, run_task_in_thread, &tasks[k])) exit(1);
  for (int k = 0; k < WORLDS; k++) {
    if (at_once) pthread_join(threads[k], NULL);
    printf("world %d\n%s", k, tasks[k].text);
    finite &= tasks[k].finite;
    free(tasks[k].text);
  }
  return finite;
}

static int pool_of_threads(void) {
  task t = make_task(0, 60);
  t.config.size = 40;
  t.config.threads = 4;
  run_task(&t);
  printf("world 0\n%s", t.text);
  free(t.text);
  return t.finite;
}

/* ---- threads that come and go ---------------------------------------------------------------- */

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) exit(1);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int waves_of_threads(void) {
  enum { WAVES = 100, FIRST = 20, AT_ONCE = 4 };
  long before = 0;
  int finite = 1;
  for (int wave = 0; wave < WAVES; wave++) {
    task tasks[AT_ONCE];
    pthread_t threads[AT_ONCE];
    if (wave == FIRST) before = resident_kib();
    for (int k = 0; k < AT_ONCE; k++) {
      tasks[k] = make_task(2, 2);
      if (pthread_create(&threads[k], NULL, run_task_in_thread, &tasks[k])) exit(1);
    }
    for (int k = 0; k < AT_ONCE; k++) {
      pthread_join(threads[k], NULL);
      finite &= tasks[k].finite;
      free(tasks[k].text);
    }
  }
  printf("grew %ld\n", resident_kib() - before);
  return finite;
}

/* ---- fork ------------------------------------------------------------------------------------ */

static atomic_int stop;

static void *solve_until_stopped(void *data) {
  (void)data;
  if (!scenes_thread_begin()) exit(1);
  task t = make_task(1, 0);
  scene *s = scene_create(&t.config);
  if (!s) exit(1);
  while (!stop) scene_step(s);
  scene_free(s);
  return NULL;
}

static int go_on(scene *s, const char *who) {
  for (int step = 0; step < 20; step++) scene_step(s);
  printf("%s\n", who);
  int finite = print_poses(s, stdout);
  fflush(stdout);
  return finite;
}

static int fork_in_the_middle(void) {
  pthread_t other;
  task t = make_task(3, 0);
  scene *s = scene_create(&t.config);
  int status = 1;
  if (!s || pthread_create(&other, NULL, solve_until_stopped, NULL)) exit(1);
  for (int step = 0; step < 20; step++) scene_step(s);
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) exit(1);
  if (child == 0) exit(go_on(s, "child") ? 0 : 3); /* by exit: what runs at the end must run */
  if (waitpid(child, &status, 0) != child || status) exit(4);
  int finite = go_on(s, "parent");
  stop = 1;
  pthread_join(other, NULL);
  scene_free(s);
  return finite;
}

int main(int count, char **arguments) {
  const char *mode = count == 2 ? arguments[1] : "";
  int finite = -1;
  if (!scenes_init()) return 1;
  if (!strcmp(mode, "serial")) finite = several_worlds(0);
  else if (!strcmp(mode, "worlds")) finite = several_worlds(1);
  else if (!strcmp(mode, "pool")) finite = pool_of_threads();
  else if (!strcmp(mode, "waves")) finite = waves_of_threads();
  else if (!strcmp(mode, "fork")) finite = fork_in_the_middle();
  if (finite < 0) {
    fprintf(stderr, "usage: host_threads serial|worlds|pool|waves|fork\n");
    return 2;
  }
  scenes_done();
  return finite ? 0 : 3;
}
