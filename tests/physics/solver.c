/* solver.c - stands in libode's way and hands each problem to the solver of the present model. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <lcplug/record.h>

#include "physics.h"

#define SYMBOL _Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi
#define TEXT_OF(symbol) #symbol
#define NAME_OF(symbol) TEXT_OF(symbol)

typedef void ode_solver(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                        double *lh, int *findex);

static const struct {
  const char *name;
  lcplug_friction friction;
} models[MODELS] = {
    [UPSTREAM] = {"upstream", LCPLUG_FRICTION_ODE}, [ODE] = {"ode", LCPLUG_FRICTION_ODE},
    [PYRAMID] = {"pyramid", LCPLUG_FRICTION_PYRAMID}, [CONE] = {"cone", LCPLUG_FRICTION_CONE},
    [COULOMB] = {"coulomb", LCPLUG_FRICTION_COULOMB},
};

static physics_model present;
static physics_tally tally;
static ode_solver *upstream;
static lcplug_workspace *workspace;
static lcplug_settings settings; /* but for the friction model, which is the present one's */
static const char *misses_folder;

static void count_message(int number, const char *format, va_list arguments) {
  (void)number, (void)format, (void)arguments;
  tally.misses++;
}

const char *physics_model_name(physics_model model) { return models[model].name; }

int physics_begin(void) {
  upstream = (ode_solver *)dlsym(RTLD_NEXT, NAME_OF(SYMBOL));
  workspace = lcplug_workspace_create();
  settings = lcplug_settings_default();
  if (!upstream || !workspace || !scenes_init()) return 0;
  dSetMessageHandler(count_message);
  return 1;
}

void physics_end(void) {
  scenes_done();
  lcplug_workspace_free(workspace);
}

int physics_set(const char *text) { return !lcplug_settings_parse(&settings, text, NULL, 0); }

void physics_use(physics_model model) {
  present = model;
  tally = (physics_tally){0};
}

physics_tally physics_tallied(void) { return tally; }

void physics_keep_misses(const char *folder) { misses_folder = folder; }

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t padded(unsigned n) { return n > 1 ? ((n - 1) | 3) + 1 : n; }

static void keep_miss(const lcplug_problem *problem) {
  char path[4096];
  lcplug_record record = {.problem = *problem};
  snprintf(path, sizeof path, "%s/%s_n%05d_%ld.lcp", misses_folder, models[present].name,
           problem->n, tally.solves);
  snprintf(record.tag, sizeof record.tag, "physics %s", models[present].name);
  lcplug_record_write(path, &record);
}

static void solve_ours(const lcplug_problem *problem, double *x) {
  lcplug_solution solution = {.x = x, .x_step = 2};
  lcplug_info info = {.status = LCPLUG_STALLED, .residual = INFINITY};
  settings.friction = models[present].friction;
  if (lcplug_solve(workspace, problem, &settings, &solution, &info))
    for (int i = 0; i < problem->n; i++) x[2 * i] = 0;
  tally.worst_residual = fmax(tally.worst_residual, info.residual);
  tally.worst_gap = fmax(tally.worst_gap, info.gap);
  if (info.status == LCPLUG_SOLVED) return;
  tally.misses++;
  if (misses_folder) keep_miss(problem);
}

ode_solver SYMBOL __attribute__((visibility("default")));

void SYMBOL(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub, double *lh,
            int *findex) {
  lcplug_problem problem = lcplug_problem_default();
  double started = now();
  problem.n = (int)n;
  problem.nub = (int)(nub < n ? nub : n);
  problem.A = A;
  problem.stride = padded(n);
  problem.b = bx;
  problem.lo = lh;
  problem.hi = lh + 1;
  problem.b_step = problem.bounds_step = 2;
  problem.findex = findex;
  tally.solves++;
  if (tally.most_rows < problem.n) tally.most_rows = problem.n;
  if (present == UPSTREAM) upstream(arena, n, A, bx, w, nub, lh, findex);
  else solve_ours(&problem, bx + 1);
  tally.seconds += now() - started;
}
