/* lanes_apgd.c - apgd.c's method on the rows of J, in one pass over them per iteration.
 *
 *     rows    A x1 = J v1 + CFM x1, by which x1 is judged; y = x1 + beta (x1 - x2) and A y alike,
 *             the gradient there, the projected step x; p += J' x
 *     nodes   v = M^-1 p, and the curvature of the step, |M^-1/2 J' (x - y)|^2
 *
 * y and A y are made on the way and never stored.  The residual of an iterate comes with the step
 * after it, so that one step is made in vain.  Sums go by parts of a fixed size, so that threads
 * change no bit. */
#include <math.h>
#include <string.h>

#include "lanes.h"

/* As in apgd.c. */
static const double DAMPING = 0.3;
static const double LIPSCHITZ_DECAY = 0.97;
enum { MOST_ATTEMPTS = 60, ITERATES = 4, MOMENTA = 3 };

typedef struct gradient {
  lane_model lm;
  lane_run run;
  lane_sums *sums;
  double *iterate[ITERATES]; /* x, x1, x2 and the best one, in turns */
  double *best;              /* one of these, or NULL */
  double *momentum[MOMENTA]; /* of x, x1 and x2 */
  double lipschitz;
  double *x; /* scratch: an iterate in the solver's order */
} gradient;

static lcplug_error prepare(gradient *s, const model *m, lcplug_workspace *workspace) {
  const jacobian *j = m->op->jacobian;
  size_t elements = lcplug_lane_elements(j), state = lcplug_lane_state_size(j);
  *s = (gradient){0};
  lcplug_error error = lcplug_lane_model_build(&s->lm, j, m, workspace);
  if (error) return error;
  lane_run *run = &s->run;
  *run = (lane_run){.j = j, .lm = &s->lm, .coulomb = m->coulomb, .state = j->state};
  s->sums = TAKE(workspace, lane_sums, lcplug_lane_sums(j));
  s->x = TAKE(workspace, double, m->n);
  run->shift = TAKE(workspace, double, j->groups * LANES);
  run->Ax = TAKE(workspace, double, elements);
  run->after = TAKE(workspace, double, state);
  if (!s->sums || !s->x || !run->shift || !run->Ax || !run->after) return LCPLUG_ERROR_MEMORY;
  s->iterate[0] = j->x, s->iterate[1] = j->y; /* nobody multiplies until we are done */
  for (int k = 2; k < ITERATES; k++)
    if (!(s->iterate[k] = TAKE(workspace, double, elements))) return LCPLUG_ERROR_MEMORY;
  for (int k = 0; k < MOMENTA; k++) {
    if (!(s->momentum[k] = TAKE(workspace, double, state))) return LCPLUG_ERROR_MEMORY;
    memset(s->momentum[k], 0, state * sizeof(double));
  }
  memset(run->after, 0, state * sizeof(double));
  for (int k = 1; k < ITERATES; k++) memset(s->iterate[k], 0, elements * sizeof(double));
  memset(run->Ax, 0, elements * sizeof(double));
  memset(run->shift, 0, (size_t)j->groups * LANES * sizeof(double));
  run->x = s->iterate[0];
  return LCPLUG_OK;
}

/* |S^-1 A d| / |d| in the weighted norm, for a d that pushes every block alike. */
static double first_lipschitz(gradient *s) {
  lane_run run = s->run;
  double above = 0.0, below = 0.0;
  size_t elements = lcplug_lane_elements(run.j);
  run.x = s->iterate[1];
  for (size_t k = 0; k < elements; k++) run.x[k] = 1.0 / sqrt(s->lm.scale[k]);
  lcplug_lanes_velocities(&run);
  lcplug_lanes_at_once(&run, lcplug_lane_kernels()->gather, NULL);
  for (size_t k = 0; k < elements; k++)
    above += run.Ax[k] * run.Ax[k] / s->lm.scale[k], below += run.Ax[k] != 0.0;
  memset(run.x, 0, elements * sizeof *run.x);
  return above > 0.0 ? sqrt(above / below) : 1.0;
}

/* The first iterate, which is its own predecessor, with its velocities. */
static void begin(gradient *s) {
  lane_run *run = &s->run;
  s->lipschitz = first_lipschitz(s);
  run->momentum = s->momentum[0];
  lcplug_lanes_push(run, lcplug_lane_kernels()->scatter, NULL);
  run->x1 = run->x;
  run->follow = 1.0; /* bounds and De Saxce's terms begin with those that belong to it */
}

/* An iterate that is none of those still needed. */
static double *unused_iterate(const gradient *s) {
  int k = 0;
  while (s->iterate[k] == s->run.x1 || s->iterate[k] == s->run.x2 || s->iterate[k] == s->best) k++;
  return s->iterate[k];
}

static void swap(double **p, double **q) {
  double *keep = *p;
  *p = *q;
  *q = keep;
}

/* The newest iterate becomes x1, the one before it x2. */
static void take_turns(gradient *s) {
  lane_run *run = &s->run;
  double *newest = run->x;
  run->x2 = run->x1, run->x1 = newest;
  run->x = unused_iterate(s);
  swap(&s->momentum[1], &s->momentum[2]);
  swap(&s->momentum[0], &s->momentum[1]);
  run->momentum = s->momentum[0], run->momentum1 = s->momentum[1], run->momentum2 = s->momentum[2];
  swap(&run->state, &run->after);
}

/* A x2 anew, to the bit, after a step has put A x1 in its place: rare enough to pay for one vector
 * less that every step would have to write. */
static void restore_product(gradient *s) {
  lane_run run = s->run;
  run.momentum = s->momentum[2], run.x = (double *)run.x2;
  lcplug_lanes_settle(&run);
  run.state = run.after;
  lcplug_lanes_at_once(&run, lcplug_lane_kernels()->gather, NULL);
}

/* A step whose quadratic model lies above the energy. */
static lane_sums projected_step(gradient *s) {
  for (int attempt = 0;; attempt++) {
    s->run.lipschitz_inverse = 1.0 / s->lipschitz;
    lane_sums sums = lcplug_lanes_push(&s->run, lcplug_lane_kernels()->step, s->sums);
    s->run.follow = 0.0; /* once per step */
    int holds = sums.curvature <= s->lipschitz * sums.length * (1.0 + 1e-12);
    if (holds || attempt == MOST_ATTEMPTS) return sums;
    s->lipschitz *= 2.0;
    restore_product(s);
  }
}

/* Judges x; 1 when it is time to stop. */
static int observe(gradient *s, iteration *it, const double *x, double residual) {
  int best, stop = lcplug_lanes_observe(&s->run, it, x, residual, &best);
  if (best) s->best = (double *)x;
  return stop;
}

/* The last iterate of all has no step after it that would judge it. */
static void observe_last(gradient *s, iteration *it) {
  swap(&s->run.state, &s->run.after);
  observe(s, it, s->run.x, lcplug_lanes_residual(&s->run, s->sums));
}

static void descend_until_done(gradient *s, iteration *it) {
  double theta = 1.0;
  for (int k = 0; k < it->max_iter; k++) {
    take_turns(s);
    lane_sums sums = projected_step(s);
    if (k && observe(s, it, s->run.x1, sums.worst / s->lm.m->unit)) return;

    double theta_next = 0.5 * (theta * sqrt(theta * theta + 4.0) - theta * theta);
    s->run.beta = theta * (1.0 - theta) / (theta * theta + theta_next);
    theta = theta_next;
    if (sums.slope > 0.0) theta = 1.0, s->run.beta = 0.0; /* momentum points uphill */
    s->run.follow = DAMPING;
    s->lipschitz *= LIPSCHITZ_DECAY;
  }
  observe_last(s, it);
}

lcplug_error lcplug_lanes_apgd_solve(const model *m, const lcplug_settings *settings, iteration *it,
                                     lcplug_workspace *workspace) {
  (void)settings;
  gradient s;
  lcplug_error error = prepare(&s, m, workspace);
  if (error || lcplug_lanes_begin(&s.run, it, s.sums, s.x)) return error;
  begin(&s);
  descend_until_done(&s, it);
  if (s.best) lcplug_lanes_unload(s.run.j, s.best, it->x);
  return LCPLUG_OK;
}
