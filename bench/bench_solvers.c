/* bench_solvers.c - who solves when a scene is stepped.
 *
 * Problem.   Scenes must reach states with thousands of rows, where upstream takes many seconds per
 *            step; and a step must be run with no solver at all, to see what is ODE's own.
 * Method.    tests/diff/capture.c stands in libode's way and hands each problem on to the function
 *            that diff_libode() names.  The linker's --wrap puts our own in its place, which names
 *            a dispatcher.
 * Contract.  One thread.  bench_native writes x and leaves all else as it came. */
#define _GNU_SOURCE
#include "bench.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <lcplug/record.h>

static bench_solver *current;

void bench_step_with(bench_solver *solver) { current = solver; }

static void hand_on(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                    double *lh, int *findex) {
  current(arena, n, A, bx, w, nub, lh, findex);
}

/* Names that the linker gives to the wrapped function and to the one behind it. */
void *__wrap_diff_libode(const char *symbol);
void *__real_diff_libode(const char *symbol);

void *__wrap_diff_libode(const char *symbol) {
  return strcmp(symbol, DIFF_SYMBOL) ? __real_diff_libode(symbol) : (void *)hand_on;
}

bench_solver *bench_upstream(void) {
  static bench_solver *found;
  if (!found) found = (bench_solver *)__real_diff_libode(DIFF_SYMBOL);
  return found;
}

bench_solver *bench_swap(void) {
  static bench_solver *found;
  if (found) return found;
  const char *path = getenv("LCPLUG_PRELOAD");
  void *object = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  found = object ? (bench_solver *)dlsym(object, DIFF_SYMBOL) : NULL;
  if (!found)
    progress_say("bench: LCPLUG_PRELOAD must name the preload object: %s\n",
              path ? dlerror() : "not set");
  return found;
}

void bench_nothing(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                   double *lh, int *findex) {
  (void)arena, (void)A, (void)w, (void)nub, (void)lh, (void)findex;
  for (unsigned i = 0; i < n; i++) bx[2 * i + 1] = 0;
}

/* ---- ours, counted --------------------------------------------------------------------------- */

bench_tally bench_tallied;

void bench_tally_begin(const bench_options *options) {
  bench_tallied = (bench_tally){0};
  snprintf(bench_tallied.keep, sizeof bench_tallied.keep, "%s/missed", options->output);
}

static void keep_miss(const lcplug_problem *problem) {
  char path[4096];
  lcplug_record record = {.problem = *problem};
  bench_tally *t = &bench_tallied;
  snprintf(record.tag, sizeof record.tag, "%.60s", t->scene);
  snprintf(path, sizeof path, "%s/n%05d_%s_%ld.lcp", t->keep, problem->n, t->scene, t->solves);
  lcplug_error error = lcplug_record_write(path, &record);
  if (error) progress_say("bench: %s: %s\n", path, lcplug_error_text(error));
}

static void count_solve(const lcplug_problem *problem, lcplug_error error,
                        const lcplug_info *info) {
  bench_tally *t = &bench_tallied;
  int missed = error || info->status != LCPLUG_SOLVED;
  t->solves++;
  t->refused += error != LCPLUG_OK;
  t->misses += missed;
  if (problem->n > t->most_rows) t->most_rows = problem->n;
  if (!error && !(info->residual <= t->worst)) t->worst = info->residual;
  if (missed) keep_miss(problem);
}

void bench_native(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                  double *lh, int *findex) {
  static lcplug_workspace *workspace;
  (void)arena, (void)w;
  if (!workspace) workspace = bench_need(lcplug_workspace_create());
  lcplug_settings settings = lcplug_settings_default();
  lcplug_problem problem = lcplug_problem_default();
  problem.n = (int)n;
  problem.nub = (int)(nub < n ? nub : n);
  problem.A = A;
  problem.stride = diff_stride((int)n);
  problem.b = bx;
  problem.b_step = 2;
  problem.lo = lh;
  problem.hi = lh + 1;
  problem.bounds_step = 2;
  problem.findex = findex;
  lcplug_solution solution = {.x = bx + 1, .x_step = 2};
  lcplug_info info = {.residual = INFINITY};
  lcplug_error error = lcplug_solve(workspace, &problem, &settings, &solution, &info);
  if (error) bench_nothing(arena, n, A, bx, w, nub, lh, findex);
  count_solve(&problem, error, &info);
}

/* ---- messages -------------------------------------------------------------------------------- */

int bench_messages;

static void count_message(int number, const char *format, va_list arguments) {
  (void)number, (void)format, (void)arguments;
  bench_messages++;
}

void bench_count_messages(void) { dSetMessageHandler(count_message); }
