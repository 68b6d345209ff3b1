/* native_bench.c - the native path measured: what `make bench-native` runs.
 *
 * Every line compares two things of the same run on the same pile of spheres (examples/spheres.h).
 * Costs of an iteration are differences between a long and a short solve, so that what is done once
 * per solve does not count; times are CPU time of the thread but where cores are compared, and the
 * least of several runs, as other programs only ever add to it.
 *
 *     native_bench [--output FILE] [--quick] [--only PART] */
#define _GNU_SOURCE
#include <math.h>
#include <ode/ode.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../examples/spheres.h"

static FILE *record; /* NULL: the terminal alone */
static int repeats = 8;
static const double AT_LEAST = 0.2; /* seconds that all repeats of one thing take */
enum { FEW = 8, MANY = 72 };        /* iterations whose difference in time is measured */

static void say(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vprintf(format, list);
  va_end(list);
  fflush(stdout);
  if (!record) return;
  va_start(list, format);
  vfprintf(record, format, list);
  va_end(list);
}

static double clock_seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu(void) { return clock_seconds(CLOCK_THREAD_CPUTIME_ID); }
static double wall(void) { return clock_seconds(CLOCK_MONOTONIC); }

static void require(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "native_bench: %s\n", what);
  exit(1);
}

static lcplug_settings settings_of(lcplug_solver solver, lcplug_friction friction, int iterations) {
  lcplug_settings s = lcplug_settings_default();
  s.solver = solver, s.friction = friction, s.max_iter = iterations;
  s.tol = 1e-300; /* as many iterations as asked for */
  return s;
}

static double solve_once(lcplug_workspace *workspace, const lcplug_system *system,
                         const lcplug_settings *settings, double *x, double (*now)(void),
                         lcplug_info *info) {
  lcplug_solution solution = {.x = x};
  double started = now();
  require(!lcplug_system_solve(workspace, system, settings, &solution, info), "a solve failed");
  return now() - started;
}

/* Seconds of one solve, the least of several; of many if they are short. */
static double solve_seconds(lcplug_workspace *workspace, const lcplug_system *system,
                            const lcplug_settings *settings, double *x, double (*now)(void),
                            lcplug_info *info) {
  double least = INFINITY, spent = 0.0;
  for (int k = 0; k < repeats || spent < AT_LEAST; k++) {
    double took = solve_once(workspace, system, settings, x, now, info);
    least = fmin(least, took), spent += took;
  }
  return least;
}

/* Seconds of one more iteration on each of a few systems, with an x of its own.  All take turns,
 * and so do short and long solves: a busy moment of the machine that only one of them met would be
 * most of the difference. */
static void compare_iterations(lcplug_workspace *workspace, const lcplug_system *systems, int count,
                               lcplug_solver solver, lcplug_friction friction, double *const *x,
                               double (*now)(void), double *seconds) {
  enum { MOST_SYSTEMS = 2 };
  lcplug_settings few = settings_of(solver, friction, FEW),
                  many = settings_of(solver, friction, MANY);
  double least[MOST_SYSTEMS][2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}}, spent = 0.0;
  lcplug_info a, b;
  for (int k = 0; k < repeats || spent < 2.0 * count * AT_LEAST; k++)
    for (int i = 0; i < count; i++) {
      double once = solve_once(workspace, &systems[i], &few, x[i], now, &a);
      double more = solve_once(workspace, &systems[i], &many, x[i], now, &b);
      least[i][0] = fmin(least[i][0], once), least[i][1] = fmin(least[i][1], more);
      spent += once + more;
    }
  for (int i = 0; i < count; i++)
    seconds[i] = (least[i][1] - least[i][0]) / (b.iterations - a.iterations);
}

static double iteration_seconds(lcplug_workspace *workspace, const lcplug_system *system,
                                lcplug_solver solver, lcplug_friction friction, double *x,
                                double (*now)(void)) {
  double seconds;
  compare_iterations(workspace, system, 1, solver, friction, &x, now, &seconds);
  return seconds;
}

/* A pile with about so many contacts, after its first contacts have been found: a small one has
 * fewer for each sphere, so its size is corrected once. */
static spheres *pile_of(int contacts) {
  double per_sphere = 5.0;
  for (int attempt = 0;; attempt++) {
    spheres *s = spheres_create((int)(contacts / per_sphere), 1);
    require(s && spheres_collide(s), "out of memory");
    if (attempt) return s;
    per_sphere = (double)s->contacts / s->count;
    spheres_free(s);
  }
}

/* ---- ODE's own iteration --------------------------------------------------------------------- */

/* The same spheres and contacts in an ODE world, and what each contact's force is. */
typedef struct ode_pile {
  dWorldID world;
  dBodyID *body;
  dJointGroupID joints;
  dJointFeedback *feedback;
} ode_pile;

static ode_pile ode_pile_create(const spheres *s) {
  ode_pile p = {dWorldCreate(), calloc((size_t)s->count, sizeof(dBodyID)), dJointGroupCreate(0),
                calloc((size_t)s->contacts, sizeof(dJointFeedback))};
  require(p.body && p.feedback, "out of memory");
  dWorldSetGravity(p.world, 0, 0, -9.81);
  dWorldSetCFM(p.world, s->cfm * s->h); /* ODE divides by h what we do not */
  dWorldSetERP(p.world, 1.0);
  for (int k = 0; k < s->count; k++) {
    dMass mass;
    dMassSetParameters(&mass, 1.0, 0, 0, 0, 0.4 * s->radius * s->radius,
                       0.4 * s->radius * s->radius, 0.4 * s->radius * s->radius, 0, 0, 0);
    p.body[k] = dBodyCreate(p.world);
    dBodySetMass(p.body[k], &mass);
  }
  for (int k = 0; k < s->contacts; k++) {
    const double *row = s->jacobian + 36 * (size_t)k;
    int i = s->body[6 * k], j = s->body[6 * k + 1];
    dContact c;
    memset(&c, 0, sizeof c);
    c.surface.mode = dContactFDir1 | dContactApprox1;
    c.surface.mu = s->mu;
    c.geom.depth = -s->gap[k];
    for (int a = 0; a < 3; a++) {
      c.geom.normal[a] = row[a];
      c.fdir1[a] = row[12 + a];
      c.geom.pos[a] = s->pose[i].position[a] - s->radius * row[a];
    }
    dJointID joint = dJointCreateContact(p.world, p.joints, &c);
    dJointAttach(joint, p.body[i], j < 0 ? 0 : p.body[j]);
    dJointSetFeedback(joint, &p.feedback[k]);
  }
  return p;
}

static void ode_pile_free(ode_pile *p) {
  dJointGroupDestroy(p->joints);
  dWorldDestroy(p->world);
  free(p->body);
  free(p->feedback);
}

/* One QuickStep from the pile's state; seconds of it. */
static double quickstep(const ode_pile *p, const spheres *s, int iterations) {
  for (int k = 0; k < s->count; k++) {
    const double *v = s->velocity + 6 * (size_t)k, *x = s->pose[k].position;
    dBodySetPosition(p->body[k], x[0], x[1], x[2]);
    dBodySetLinearVel(p->body[k], v[0], v[1], v[2]);
    dBodySetAngularVel(p->body[k], v[3], v[4], v[5]);
  }
  dWorldSetQuickStepNumIterations(p->world, iterations);
  double started = cpu();
  dWorldQuickStep(p->world, s->h);
  return cpu() - started;
}

static double least_quickstep(const ode_pile *p, const spheres *s, int iterations) {
  double least = INFINITY, spent = 0.0;
  for (int k = 0; k < repeats || spent < AT_LEAST; k++) {
    double took = quickstep(p, s, iterations);
    least = fmin(least, took), spent += took;
  }
  return least;
}

/* The impulses that ODE has found, along our rows. */
static void ode_impulses(const ode_pile *p, const spheres *s, double *x) {
  for (int k = 0; k < 3 * s->contacts; k++) {
    const double *row = s->jacobian + 12 * (size_t)k;
    const dReal *f = p->feedback[k / 3].f1;
    x[k] = s->h * (row[0] * f[0] + row[1] * f[1] + row[2] * f[2]);
  }
}

/* ODE treats a contact that is still open as one that touches; so shall we here. */
static void close_contacts(spheres *s) {
  lcplug_system system = spheres_system(s);
  for (int k = 0; k < s->contacts; k++) s->bias[3 * k] = fmin(s->gap[k], 0.0) / s->h;
  require(!lcplug_system_right_side(&system, s->velocity, s->force, s->h, s->bias, s->b),
          "right side");
}

static void compare_with_quickstep(int contacts) {
  spheres *s = pile_of(contacts);
  close_contacts(s);
  lcplug_system system = spheres_system(s);
  ode_pile p = ode_pile_create(s);
  double *x = calloc((size_t)system.rows, sizeof *x), theirs, ours, cone;
  require(x != NULL, "out of memory");
  /* The same iterations as ours: ODE shuffles its rows as it goes, and slows down. */
  double ode_sweep = (least_quickstep(&p, s, MANY) - least_quickstep(&p, s, FEW)) / (MANY - FEW);
  double t20 = least_quickstep(&p, s, 20);
  quickstep(&p, s, 20);
  ode_impulses(&p, s, x);
  require(!lcplug_system_residual(s->workspace, &system, LCPLUG_FRICTION_PYRAMID, x, NULL, NULL,
                                  &theirs),
          "residual");
  double sweep =
      iteration_seconds(s->workspace, &system, LCPLUG_PGS, LCPLUG_FRICTION_PYRAMID, x, cpu);
  cone = iteration_seconds(s->workspace, &system, LCPLUG_PGS, LCPLUG_FRICTION_COULOMB, x, cpu);
  /* As many sweeps as fit into the time of ODE's step, our own preparation included. */
  lcplug_settings settings = settings_of(LCPLUG_PGS, LCPLUG_FRICTION_PYRAMID, 8);
  lcplug_info info;
  double begin = solve_seconds(s->workspace, &system, &settings, x, cpu, &info) - 8 * sweep;
  settings.max_iter = (int)fmax(1.0, (t20 - begin) / sweep);
  solve_seconds(s->workspace, &system, &settings, x, cpu, &info);
  ours = info.residual;
  double rows = system.rows;
  say("| %d | %.1f | %.1f | %.1f | **%.2f** | %.0f | %.0f | %.3f | %d sweeps: %.3f |\n",
      system.rows, 1e9 * ode_sweep / rows, 1e9 * sweep / rows, 1e9 * cone / rows, ode_sweep / sweep,
      1e9 * t20 / rows, 1e9 * begin / rows, theirs, settings.max_iter, ours);
  free(x);
  ode_pile_free(&p);
  spheres_free(s);
}

static void bench_sweeps(const int *contacts, int sizes) {
  say("## One sweep beside one iteration of dWorldQuickStep\n\n"
      "The same contacts, one core. Wanted: at least 1.5 times faster. ns per row.\n\n"
      "| rows | QuickStep | ours, pyramid as QuickStep | ours, Coulomb cone | ratio | "
      "QuickStep(20), whole "
      "step | ours, once per solve | residual of QuickStep(20) | ours in the same time |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (int k = 0; k < sizes; k++) compare_with_quickstep(contacts[k]);
  say("\n");
}

/* ---- the gradient ---------------------------------------------------------------------------- */

/* Bytes per second that a copy reads and writes. */
static double copy_bandwidth(size_t bytes) {
  char *from = malloc(bytes), *to = malloc(bytes);
  require(from && to, "out of memory");
  memset(from, 1, bytes);
  memset(to, 2, bytes);
  double least = INFINITY;
  for (int k = 0; k < 3 * repeats; k++) {
    double started = cpu();
    memcpy(to, from, bytes);
    least = fmin(least, cpu() - started);
  }
  free(from);
  free(to);
  return 2.0 * (double)bytes / least;
}

/* What an iteration has to read and write, if a step is never made twice: 6 numbers per row of
 * iterates (three), the product (read, then written) and right side; a frame, De Saxce's term
 * (read, then written) and 2 constants of each contact's cone, and of each body that it touches a
 * lever and 4 bytes of index; and six nodes of 64 bytes per body, once, as if contacts found them
 * in the cache. */
static double iteration_bytes(const lcplug_system *s) {
  double bytes =
      6.0 * 8.0 * s->rows + (6.0 + 2.0 + 2.0) * 8.0 * s->rows / 3 + 6.0 * 64.0 * s->bodies;
  for (int k = 0; k < 2 * s->rows; k += 6)
    for (int side = 0; side < 2; side++)
      if (s->body[k + side] >= 0) bytes += 3.0 * 8.0 + 4.0;
  return bytes;
}

static void bench_gradient(const int *contacts, int sizes) {
  say("## APGD\n\nOne core, Coulomb cones. Wanted at 100,000 contacts: half of the copy bandwidth; "
      "time per "
      "contact within 1.5 times from 1,000 to 300,000 contacts; 400 bytes per row.\n\n"
      "| contacts | ns per contact and iteration | GB/s | copy of as many bytes, GB/s | part of it "
      "| bytes of "
      "workspace per row, apgd | pgs |\n|---|---|---|---|---|---|---|\n");
  double first = 0.0, last = 0.0;
  for (int k = 0; k < sizes; k++) {
    spheres *s = pile_of(contacts[k]);
    lcplug_system system = spheres_system(s);
    double *x = calloc((size_t)system.rows, sizeof *x);
    require(x != NULL, "out of memory");
    lcplug_workspace *workspace = lcplug_workspace_create(), *other = lcplug_workspace_create();
    double seconds =
        iteration_seconds(workspace, &system, LCPLUG_APGD, LCPLUG_FRICTION_COULOMB, x, cpu);
    lcplug_settings settings = settings_of(LCPLUG_PGS, LCPLUG_FRICTION_COULOMB, 1);
    lcplug_solution solution = {.x = x};
    require(!lcplug_system_solve(other, &system, &settings, &solution, NULL), "a solve failed");
    double bytes = iteration_bytes(&system), copy = copy_bandwidth((size_t)(bytes / 2));
    say("| %d | %.1f | %.1f | %.1f | %.2f | %.0f | %.0f |\n", s->contacts,
        1e9 * seconds / s->contacts, 1e-9 * bytes / seconds, 1e-9 * copy, bytes / seconds / copy,
        (double)lcplug_workspace_bytes(workspace) / system.rows,
        (double)lcplug_workspace_bytes(other) / system.rows);
    last = seconds / s->contacts;
    if (k == 0) first = last;
    free(x);
    lcplug_workspace_free(workspace);
    lcplug_workspace_free(other);
    spheres_free(s);
  }
  say("\nGrowth of the time per contact from the first to the last line: **%.2f**\n\n",
      last / first);
}

/* ---- warm starts, cores, exact --------------------------------------------------------------- */

static void bench_warm_start(int count) {
  enum { STEPS = 5, MOST_SWEEPS = 2000 };
  spheres *s = spheres_create(count, 1);
  require(s != NULL, "out of memory");
  lcplug_settings settings = settings_of(LCPLUG_PGS, LCPLUG_FRICTION_COULOMB, 100);
  lcplug_info info;
  settings.tol = 1e-3;
  for (int step = 0; step < 60; step++)
    require(!spheres_step(s, &settings, NULL, 1, &info), "a step failed");
  long cold = 0, warm = 0;
  settings.max_iter = MOST_SWEEPS;
  for (int step = 0; step < STEPS; step++) {
    require(spheres_collide(s), "out of memory");
    lcplug_system system = spheres_system(s);
    lcplug_solution solution = {.x = s->x};
    require(!lcplug_system_solve(s->workspace, &system, &settings, &solution, &info),
            "a solve failed");
    cold += info.iterations;
    require(!spheres_step(s, &settings, NULL, 1, &info), "a step failed");
    warm += info.iterations;
  }
  say("## Warm start\n\n%d spheres at rest, residual 1e-3, mean of %d steps: %.0f sweeps from "
      "nothing (%d are the most), "
      "%.0f from the last impulses: **%.1f** times fewer. Wanted: 3.\n\n",
      count, STEPS, (double)cold / STEPS, MOST_SWEEPS, (double)warm / STEPS,
      (double)cold / (double)(warm ? warm : 1));
  spheres_free(s);
}

static void bench_cores(int contacts) {
  spheres *s = pile_of(contacts);
  lcplug_system systems[] = {spheres_system(s), spheres_system(s)};
  size_t bytes = (size_t)systems->rows * sizeof(double);
  double *one = malloc(bytes), *two = malloc(bytes);
  lcplug_team *team = systems[1].team = lcplug_team_create(2);
  require(one && two && team, "out of memory");
  say("## Two cores\n\n%d contacts. Wanted: 1.6, and the same bits. Wall-clock time of an "
      "iteration, which other "
      "programs on the machine spoil, and CPU time of the first of the two threads, its waits "
      "included.\n\n"
      "| solver | one core, ms | two cores, ms | ratio | one core, CPU ms | two cores, CPU ms of "
      "the first | ratio | "
      "same bits |\n|---|---|---|---|---|---|---|---|\n",
      s->contacts);
  for (int k = 0; k < 2; k++) {
    lcplug_solver solver = k ? LCPLUG_APGD : LCPLUG_PGS;
    double *const x[] = {one, two};
    double by_wall[2], by_cpu[2];
    compare_iterations(s->workspace, systems, 2, solver, LCPLUG_FRICTION_COULOMB, x, wall, by_wall);
    compare_iterations(s->workspace, systems, 2, solver, LCPLUG_FRICTION_COULOMB, x, cpu, by_cpu);
    say("| %s | %.2f | %.2f | **%.2f** | %.2f | %.2f | **%.2f** | %s |\n",
        lcplug_solver_name(solver), 1e3 * by_wall[0], 1e3 * by_wall[1], by_wall[0] / by_wall[1],
        1e3 * by_cpu[0], 1e3 * by_cpu[1], by_cpu[0] / by_cpu[1],
        memcmp(one, two, bytes) ? "NO" : "yes");
  }
  say("\n");
  lcplug_team_free(team);
  free(one);
  free(two);
  spheres_free(s);
}

static void bench_exact(int count) {
  spheres *s = spheres_create(count, 1);
  require(s && spheres_collide(s), "out of memory");
  lcplug_system system = spheres_system(s);
  size_t n = (size_t)system.rows;
  double *A = malloc(n * n * sizeof *A), *x = malloc(n * sizeof *x), *w = malloc(2 * n * sizeof *w);
  require(A && x && w && !lcplug_system_matrix(s->workspace, &system, A, n), "out of memory");
  lcplug_settings settings = lcplug_settings_default();
  settings.solver = LCPLUG_EXACT;
  lcplug_solution by_rows = {.x = x, .w = w}, by_matrix = {.x = x, .w = w + n};
  lcplug_info info;
  require(!lcplug_system_solve(s->workspace, &system, &settings, &by_rows, &info), "exact failed");
  lcplug_problem problem = lcplug_problem_default();
  problem.n = system.rows, problem.A = A, problem.stride = n, problem.b = s->b;
  problem.lo = s->lo, problem.hi = s->hi, problem.findex = s->findex;
  double seconds = info.seconds, apart = 0.0, size = 0.0;
  require(!lcplug_solve(s->workspace, &problem, &settings, &by_matrix, &info), "exact failed");
  for (size_t i = 0; i < n; i++)
    apart = fmax(apart, fabs(w[i] - w[n + i])), size = fmax(size, fabs(s->b[i]));
  say("## Exact\n\n%zu rows, friction=ode: w through the rows and through the dense matrix differ "
      "by **%.1e** of the "
      "largest right side (wanted: 1e-10); %.1f ms and %.1f ms.\n\n",
      n, apart / size, 1e3 * seconds, 1e3 * info.seconds);
  free(A);
  free(x);
  free(w);
  spheres_free(s);
}

static int is_wanted(const char *only, const char *part) { return !only || !strcmp(only, part); }

int main(int argc, char **argv) {
  static const int sweeps[] = {700, 3400, 10000, 33000},
                   gradients[] = {1000, 10000, 100000, 300000};
  int quick = 0;
  const char *only = NULL;
  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "--quick")) quick = 1;
    else if (!strcmp(argv[k], "--only") && k + 1 < argc) only = argv[++k];
    else if (!strcmp(argv[k], "--output") && k + 1 < argc) record = fopen(argv[++k], "w");
    else
      require(0,
              "usage: native_bench [--output FILE] [--quick] [--only "
              "sweeps|gradient|warm|cores|exact]");
  }
  if (quick) repeats = 2;
  dInitODE2(0);
  say("# The native path, measured\n\nPiles of spheres in a box; written by `make bench-native`, "
      "explained in "
      "doc/native.md.\n\n");
  if (is_wanted(only, "sweeps")) bench_sweeps(sweeps, quick ? 2 : 4);
  if (is_wanted(only, "gradient")) bench_gradient(gradients, quick ? 2 : 4);
  if (is_wanted(only, "warm")) bench_warm_start(quick ? 500 : 1000);
  if (is_wanted(only, "cores")) bench_cores(quick ? 10000 : 100000);
  if (is_wanted(only, "exact")) bench_exact(quick ? 200 : 600);
  dCloseODE();
  if (record) fclose(record);
  return 0;
}
