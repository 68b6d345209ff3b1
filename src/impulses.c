/* impulses.c - sequential impulses: projected Gauss-Seidel on the rows of J.
 *
 * A sweep goes through all blocks.  Each reads the velocities of its bodies, finds the impulse that
 * the block alone would want (lanes_body.h), and changes these velocities in place; nothing of the
 * size of A exists.  Joints go before contacts, and within a phase blocks share no body, so that
 * the answer does not depend on who works on which.
 *
 * The residual decides when to stop.  It costs as much as half a sweep, so it is looked at after
 * every few of them. */
#include <math.h>
#include <string.h>

#include "lanes.h"

enum { SWEEPS_PER_LOOK = 4, REFRESH_SWEEPS = 48 };

typedef struct impulses {
  lane_model lm;
  lane_run run;
  lane_sums *sums; /* of the residual */
  double *x;       /* scratch: an iterate in the solver's order */
  double *best;    /* the best iterate in lane order; `found`: there is one */
  int found;
} impulses;

static lcplug_error prepare(impulses *s, const model *m, const lcplug_settings *settings,
                            lcplug_workspace *workspace) {
  const jacobian *j = m->op->jacobian;
  *s = (impulses){0};
  lcplug_error error = lcplug_lane_model_build(&s->lm, j, m, workspace);
  if (error) return error;
  s->sums = TAKE(workspace, lane_sums, lcplug_lane_sums(j));
  s->x = TAKE(workspace, double, m->n);
  s->run = (lane_run){.j = j, .lm = &s->lm, .omega = settings->omega, .coulomb = m->coulomb};
  s->run.state = j->state, s->run.x = j->x,
  s->best = j->y; /* nobody multiplies until we are done */
  return s->sums && s->x ? LCPLUG_OK : LCPLUG_ERROR_MEMORY;
}

/* Judges the present iterate; 1 when it is time to stop. */
static int look(impulses *s, iteration *it, int sweeps) {
  double residual = lcplug_lanes_residual(&s->run, s->sums);
  int best;
  it->iterations += sweeps - 1;
  int stop = lcplug_lanes_observe(&s->run, it, s->run.x, residual, &best);
  if (best)
    memcpy(s->best, s->run.x, lcplug_lane_elements(s->run.j) * sizeof(double)), s->found = 1;
  return stop;
}

static int is_late(const iteration *it) {
  return it->deadline < INFINITY && lcplug_now() > it->deadline;
}

static void sweep_until_done(impulses *s, const lcplug_settings *settings, iteration *it) {
  const lane_kernels *kernels = lcplug_lane_kernels();
  int symmetric = settings->sweep == LCPLUG_SWEEP_SYMMETRIC, since = 0;
  for (int sweeps = 0; sweeps < it->max_iter; sweeps++) {
    /* Rounding errors of many small updates add up: velocities afresh from x now and then. */
    if (sweeps % REFRESH_SWEEPS == 0) lcplug_lanes_velocities(&s->run);
    lcplug_lanes_by_phases(&s->run, kernels->sweep, 0);
    if (symmetric) lcplug_lanes_by_phases(&s->run, kernels->sweep, 1);
    since++;
    if (since < SWEEPS_PER_LOOK && sweeps + 1 < it->max_iter && !is_late(it)) continue;
    if (look(s, it, since)) return;
    since = 0;
  }
}

lcplug_error lcplug_impulses_solve(const model *m, const lcplug_settings *settings, iteration *it,
                                   lcplug_workspace *workspace) {
  impulses s;
  lcplug_error error = prepare(&s, m, settings, workspace);
  if (error || lcplug_lanes_begin(&s.run, it, s.sums, s.x)) return error;
  sweep_until_done(&s, settings, it);
  if (s.found) lcplug_lanes_unload(s.run.j, s.best, it->x);
  return LCPLUG_OK;
}
