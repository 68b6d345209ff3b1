/* bench_scenes.c - what cannot be seen on single problems.
 *
 * Whole steps:    how much of a dWorldStep is left to save, once the solver is fast.
 * Failing scenes: touching boxes, which upstream answers with "LCP internal error".
 * Left bodies:    exact friction where dWorldQuickStep has pushed bodies into each other.
 * Fresh scenes:   how often we miss the tolerance on scenes that nobody has looked at before. */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- whole steps ----------------------------------------------------------------------------- */

typedef struct pose {
  dReal position[3], q[4], linear[3], angular[3];
} pose;

static pose pose_of(dBodyID body) {
  pose p;
  memcpy(p.position, dBodyGetPosition(body), sizeof p.position);
  memcpy(p.q, dBodyGetQuaternion(body), sizeof p.q);
  memcpy(p.linear, dBodyGetLinearVel(body), sizeof p.linear);
  memcpy(p.angular, dBodyGetAngularVel(body), sizeof p.angular);
  return p;
}

static void pose_put(dBodyID body, const pose *p) {
  dBodySetPosition(body, p->position[0], p->position[1], p->position[2]);
  dBodySetQuaternion(body, p->q);
  dBodySetLinearVel(body, p->linear[0], p->linear[1], p->linear[2]);
  dBodySetAngularVel(body, p->angular[0], p->angular[1], p->angular[2]);
}

static double step_with(scene *s, bench_solver *solver) {
  double before = scene_solve_seconds(s);
  bench_step_with(solver);
  scene_step(s);
  return scene_solve_seconds(s) - before;
}

/* The same step twice: without forces and back, then as it should be. */
static void step_both_ways(scene *s, pose *poses, double *nothing, double *solved) {
  int bodies = scene_bodies(s);
  for (int i = 0; i < bodies; i++) poses[i] = pose_of(scene_body(s, i));
  *nothing = step_with(s, bench_nothing);
  for (int i = 0; i < bodies; i++) pose_put(scene_body(s, i), &poses[i]);
  *solved = step_with(s, bench_swap());
}

static bench_step whole_steps[] = {
    {.kind = "mixed", .size = 380, .cfm = 1e-10, .steps = 300},
    {.kind = "mixed", .size = 380, .cfm = 1e-5, .steps = 300},
    {.kind = "wall", .size = 10, .cfm = 1e-10, .steps = 10},
    {.kind = "pyramid", .size = 14, .cfm = 1e-10, .steps = 10},
};
enum { WHOLE_STEPS = sizeof whole_steps / sizeof *whole_steps };

static void run_whole_step(const bench_options *options, bench_step *row) {
  enum { SAMPLES = 9, ROWS = 2800 };
  double nothing[SAMPLES], solved[SAMPLES];
  scene_config config = scene_config_default();
  config.kind = row->kind;
  config.size = row->size;
  config.cfm = row->cfm;
  scene *s = bench_need(scene_create(&config));
  pose *poses = bench_need(calloc((size_t)scene_bodies(s), sizeof *poses));
  for (int k = 0, n = 0; k < row->steps && n < ROWS; k++) {
    bench_tally_begin(options);
    snprintf(bench_tallied.scene, sizeof bench_tallied.scene, "%s%d", row->kind, row->size);
    step_with(s, bench_native);
    n = bench_tallied.most_rows;
  }
  for (int k = 0; k < SAMPLES; k++) step_both_ways(s, poses, &nothing[k], &solved[k]);
  row->n = bench_tallied.most_rows;
  row->solved = bench_median(solved, SAMPLES);
  row->nothing = bench_median(nothing, SAMPLES);
  free(poses);
  scene_free(s);
}

int bench_whole_steps(const bench_options *options, bench_step **rows) {
  progress_begin("whole steps", WHOLE_STEPS);
  for (int i = 0; i < WHOLE_STEPS; i++) {
    run_whole_step(options, &whole_steps[i]);
    progress_add(1);
  }
  progress_end();
  *rows = whole_steps;
  return WHOLE_STEPS;
}

/* ---- scenes that upstream gives up ----------------------------------------------------------- */

/* A wall of 11 rows has the size of the one in ODE's crash demo; upstream would take minutes. */
static bench_failing failing[] = {
    {.kind = "tower", .size = 6, .cfm = 1e-10, .steps = 60, .upstream_too = 1},
    {.kind = "tower", .size = 6, .cfm = 0, .steps = 60, .upstream_too = 1},
    {.kind = "wall", .size = 5, .cfm = 1e-10, .steps = 30, .upstream_too = 1},
    {.kind = "wall", .size = 5, .cfm = 0, .steps = 30, .upstream_too = 1},
    {.kind = "pyramid", .size = 6, .cfm = 1e-10, .steps = 30, .upstream_too = 1},
    {.kind = "pyramid", .size = 6, .cfm = 0, .steps = 30, .upstream_too = 1},
    {.kind = "wall", .size = 11, .cfm = 1e-10, .steps = 20, .upstream_too = 0},
    {.kind = "wall", .size = 11, .cfm = 0, .steps = 20, .upstream_too = 0},
};
enum { FAILING = sizeof failing / sizeof *failing };

static void run_steps(const bench_failing *row, bench_solver *solver) {
  scene_config config = scene_config_default();
  config.kind = row->kind;
  config.size = row->size;
  config.cfm = row->cfm;
  scene *s = bench_need(scene_create(&config));
  bench_messages = 0;
  bench_step_with(solver);
  for (int k = 0; k < row->steps; k++) scene_step(s);
  scene_free(s);
}

int bench_failing_scenes(const bench_options *options, bench_failing **rows) {
  progress_begin("scenes that fail", FAILING);
  for (int i = 0; i < FAILING; i++) {
    bench_failing *row = &failing[i];
    if (row->upstream_too) {
      run_steps(row, bench_upstream());
      row->upstream_errors = bench_messages;
    }
    bench_tally_begin(options);
    snprintf(bench_tallied.scene, sizeof bench_tallied.scene, "%s%d_c%g", row->kind, row->size,
             row->cfm);
    run_steps(row, bench_native);
    row->solves = bench_tallied.solves;
    row->misses = bench_tallied.misses;
    row->refused = bench_tallied.refused;
    row->most_rows = bench_tallied.most_rows;
    row->worst = bench_tallied.worst;
    progress_add(1);
  }
  progress_end();
  *rows = failing;
  return FAILING;
}

/* ---- bodies inside each other ---------------------------------------------------------------- */

/* QuickStep stops far from an answer, and what it leaves is nothing that dWorldStep would have
 * come to: depths that contradict each other, everywhere.  So many of its steps, then one
 * problem. */
static const struct {
  int group; /* 0: bricks, 1: heaps */
  const char *kind;
  int size, steps;
} left[] = {{0, "wall", 3, 10},     {0, "wall", 3, 60},    {0, "wall", 4, 25},
            {0, "wall", 5, 10},     {0, "wall", 6, 20},    {0, "wall", 7, 60},
            {0, "pyramid", 3, 25},  {0, "pyramid", 4, 60}, {0, "pyramid", 5, 10},
            {0, "pyramid", 7, 30},  {1, "boxes", 40, 160}, {1, "boxes", 80, 160},
            {1, "boxes", 160, 190}, {1, "boxes", 160, 240}, {1, "mixed", 60, 160},
            {1, "mixed", 100, 170}, {1, "mixed", 220, 190}, {1, "mixed", 330, 210},
            {1, "spheres", 80, 160}, {1, "capsules", 150, 190}};
enum { LEFT = sizeof left / sizeof *left, LEFT_SURFACES = 3, QUICK_ITERATIONS = 20 };
static const double left_mu[LEFT_SURFACES] = {0.5, 0.8, 1.0};

static bench_left left_rows[] = {{.what = "bricks", .cfm = 1e-10},
                                 {.what = "bricks", .cfm = 1e-5},
                                 {.what = "heaps", .cfm = 1e-10},
                                 {.what = "heaps", .cfm = 1e-5}};
enum { LEFT_ROWS = sizeof left_rows / sizeof *left_rows };

static void keep_largest(void *data, diff_problem *p, int errors) {
  diff_problem **largest = data;
  (void)errors;
  diff_problem *leave = !*largest || p->n > (*largest)->n ? *largest : p;
  if (leave != p) *largest = p;
  diff_problem_free(leave);
}

/* The largest problem of the step, or NULL. */
static diff_problem *problem_after_quick_steps(const scene_config *config, int steps) {
  diff_problem *largest = NULL;
  scene *s = bench_need(scene_create(config));
  for (int k = 0; k < steps; k++) scene_step(s);
  scene_set_quick(s, 0);
  bench_step_with(bench_nothing);
  capture_to(keep_largest, &largest);
  scene_step(s);
  capture_to(NULL, NULL);
  scene_free(s);
  return largest;
}

static void run_left(bench_left *row, int group) {
  double ode[LEFT * LEFT_SURFACES], coulomb[LEFT * LEFT_SURFACES], ratio[LEFT * LEFT_SURFACES];
  int count = 0;
  for (int k = 0; k < LEFT * LEFT_SURFACES; k++) {
    const int i = k / LEFT_SURFACES;
    if (left[i].group != group) continue;
    scene_config config = scene_config_default();
    config.kind = left[i].kind, config.size = left[i].size;
    config.mu = left_mu[k % LEFT_SURFACES], config.cfm = row->cfm;
    config.seed = 51001u + (unsigned)k, config.quick = QUICK_ITERATIONS;
    diff_problem *p = problem_after_quick_steps(&config, left[i].steps);
    progress_add(1);
    if (!p) continue;
    bench_result result;
    bench_compare_friction(p, &result);
    ode[count] = result.by[BY_EXACT].least, coulomb[count] = result.coulomb.least;
    ratio[count++] = bench_coulomb_ratio(&result);
    row->solved += result.coulomb.residual <= 1e-8;
    row->least_rows = count == 1 || p->n < row->least_rows ? p->n : row->least_rows;
    row->most_rows = p->n > row->most_rows ? p->n : row->most_rows;
    diff_problem_free(p);
  }
  row->problems = count;
  row->ode = bench_median(ode, count), row->coulomb = bench_median(coulomb, count);
  row->ratio = bench_median(ratio, count);
  row->worst = count ? ratio[count - 1] : BENCH_UNKNOWN; /* the median has sorted them */
}

int bench_left_by_quickstep(bench_left **rows) {
  progress_begin("after QuickStep", LEFT * LEFT_SURFACES * LEFT_ROWS / 2);
  for (int i = 0; i < LEFT_ROWS; i++) run_left(&left_rows[i], i / 2);
  progress_end();
  *rows = left_rows;
  return LEFT_ROWS;
}

/* ---- fresh scenes ---------------------------------------------------------------------------- */

/* Sizes from one to a few hundred rows, where nearly all calls of real programs are. */
static const struct {
  const char *kind;
  int least, most;
} fresh[] = {{"tower", 2, 10},    {"wall", 2, 6},     {"pyramid", 2, 7},  {"spheres", 5, 90},
             {"boxes", 3, 60},    {"capsules", 4, 60}, {"mixed", 5, 70},  {"ragdoll", 1, 6},
             {"chain", 1, 8},     {"vehicles", 1, 5}, {"slider", 1, 4},   {"motors", 1, 6},
             {"rolling", 4, 40}};
enum { FRESH = sizeof fresh / sizeof *fresh, FRESH_STEPS = 150 };

/* Infinite friction and CFM 0 do not go together: the contacts of a body that is held from more
 * than one side then contradict one another, and there is no solution to find. */
static scene_config fresh_config(int kind, unsigned seed) {
  diff_random r = {seed * 1000003u + (unsigned)kind};
  scene_config config = scene_config_default();
  config.kind = fresh[kind].kind;
  config.size = fresh[kind].least + diff_below(&r, fresh[kind].most - fresh[kind].least + 1);
  config.mu = diff_below(&r, 4) ? diff_between(&r, 0.1, 1.2) : INFINITY;
  config.cfm = isinf(config.mu) || diff_below(&r, 6) ? pow(10, -diff_between(&r, 4, 11)) : 0;
  config.step = diff_between(&r, 0.004, 0.02);
  config.seed = seed;
  config.soft = diff_below(&r, 5) ? 0 : pow(10, -diff_between(&r, 2, 6));
  config.angle = diff_between(&r, 0, 90);
  return config;
}

static void run_fresh(int kind, unsigned seed) {
  scene_config config = fresh_config(kind, seed);
  snprintf(bench_tallied.scene, sizeof bench_tallied.scene, "%s%d_mu%.3g_c%.1e_s%u", config.kind,
           config.size, config.mu, config.cfm, seed);
  scene *s = bench_need(scene_create(&config));
  for (int step = 0; step < FRESH_STEPS; step++) scene_step(s);
  scene_free(s);
}

void bench_fresh_scenes(const bench_options *options, bench_tally *tally) {
  unsigned first = (unsigned)(options->fresh > 0 ? options->fresh : (double)(time(NULL) % 1000000));
  progress_say("fresh scenes: seeds %u to %u (--fresh %u repeats them)\n", first,
            first + (unsigned)options->seeds - 1, first);
  progress_begin("fresh scenes", options->seeds * FRESH);
  bench_tally_begin(options);
  bench_step_with(bench_native);
  for (unsigned k = 0; k < (unsigned)options->seeds; k++)
    for (int kind = 0; kind < FRESH; kind++) {
      run_fresh(kind, first + k);
      progress_add(1);
    }
  *tally = bench_tallied;
  progress_end();
}
