/* lanes_apgd.c - apgd.c's method on the rows of J, in two passes over them per iteration.
 *
 *     pass 1   y, its gradient and the projected step x, block by block; u += Q' x
 *     pass 2   A x = Q u + CFM x, and all sums: d'Ad, d'Sd, the slope, the residual
 *
 * y = x1 + beta (x1 - x2) and A y alike are made on the way and never stored.  Sums go by parts of a
 * fixed size, so that threads change no bit. */
#include <math.h>
#include <string.h>

#include "lanes.h"

/* As in apgd.c. */
static const double DAMPING = 0.3;
static const double LIPSCHITZ_DECAY = 0.9;
enum { MOST_ATTEMPTS = 60 };

typedef struct gradient {
  lane_model lm;
  lane_run run;
  lane_sums *parts;
  double *worst;     /* of each part */
  double *vector[6]; /* three iterates and their products, in turns */
  double *x;         /* scratch: an iterate in the solver's order */
} gradient;

static lcplug_error prepare(gradient *s, const model *m, lcplug_workspace *workspace) {
  const jacobian *j = m->op->jacobian;
  *s = (gradient){0};
  lcplug_error error = lcplug_lane_model_build(&s->lm, j, m, workspace);
  if (error) return error;
  s->parts = TAKE(workspace, lane_sums, lcplug_lane_parts(j));
  s->worst = TAKE(workspace, double, lcplug_lane_parts(j));
  s->x = TAKE(workspace, double, m->n);
  s->run = (lane_run){.j = j, .lm = &s->lm, .coulomb = m->coulomb, .state = j->state};
  s->run.shift = TAKE(workspace, double, j->groups * LANES);
  if (!s->parts || !s->worst || !s->x || !s->run.shift) return LCPLUG_ERROR_MEMORY;
  s->vector[0] = j->x, s->vector[3] = j->y; /* nobody multiplies until we are done */
  for (int k = 0; k < 6; k++)
    if (!s->vector[k] && !(s->vector[k] = TAKE(workspace, double, lcplug_lane_elements(j)))) return LCPLUG_ERROR_MEMORY;
  memset(s->run.shift, 0, (size_t)j->groups * LANES * sizeof(double));
  s->run.x = s->vector[0];
  return LCPLUG_OK;
}

/* Vectors 0 and 3 hold the newest iterate and its product, the others the two before. */
static void take_turns(gradient *s) {
  double **v = s->vector, *oldest = v[2], *oldest_product = v[5];
  v[2] = v[1], v[1] = v[0], v[0] = oldest;
  v[5] = v[4], v[4] = v[3], v[3] = oldest_product;
  s->run.x = v[0], s->run.x1 = v[1], s->run.x2 = v[2];
  s->run.Ax = v[3], s->run.Ax1 = v[4], s->run.Ax2 = v[5];
}

static void multiply(gradient *s, double *x, double *Ax) {
  s->run.x = x, s->run.Ax = Ax;
  lcplug_lanes_velocities(&s->run);
  lcplug_lanes_at_once(&s->run, lcplug_lane_kernels()->gather);
}

/* |S^-1 A d| / |d| in the weighted norm, for a d that pushes every block alike. */
static double first_lipschitz(gradient *s) {
  double *d = s->vector[1], *Ad = s->vector[4], above = 0.0, below = 0.0;
  size_t elements = lcplug_lane_elements(s->run.j);
  for (size_t k = 0; k < elements; k++) d[k] = 1.0 / sqrt(s->lm.scale[k]);
  multiply(s, d, Ad);
  for (size_t k = 0; k < elements; k++) above += Ad[k] * Ad[k] / s->lm.scale[k], below += Ad[k] != 0.0;
  return above > 0.0 ? sqrt(above / below) : 1.0;
}

/* The first iterate, with bounds and De Saxce's terms that belong to it. */
static void begin(gradient *s) {
  s->run.lipschitz = first_lipschitz(s);
  multiply(s, s->vector[0], s->vector[3]);
  size_t bytes = lcplug_lane_elements(s->run.j) * sizeof(double);
  memcpy(s->vector[1], s->vector[0], bytes);
  memcpy(s->vector[4], s->vector[3], bytes);
  s->run.follow = 1.0;
}

/* A step whose quadratic model lies above the energy. */
static lane_sums projected_step(gradient *s) {
  const lane_kernels *kernels = lcplug_lane_kernels();
  for (int attempt = 0;; attempt++) {
    memset(s->run.state, 0, lcplug_lane_state_size(s->run.j) * sizeof(double));
    lcplug_lanes_by_phases(&s->run, kernels->step, 0);
    s->run.follow = 0.0; /* once per step */
    lane_sums sums = lcplug_lanes_judge(&s->run, s->parts);
    int holds = sums.curvature <= s->run.lipschitz * sums.length * (1.0 + 1e-12);
    if (holds || attempt == MOST_ATTEMPTS) return sums;
    s->run.lipschitz *= 2.0;
  }
}

lcplug_error lcplug_lanes_apgd_solve(const model *m, const lcplug_settings *settings, iteration *it,
                                     lcplug_workspace *workspace) {
  (void)settings;
  gradient s;
  lcplug_error error = prepare(&s, m, workspace);
  if (error || lcplug_lanes_begin(&s.run, it, s.worst, s.x)) return error;
  begin(&s);

  double theta = 1.0;
  for (int k = 0; k < it->max_iter; k++) {
    take_turns(&s);
    lane_sums sums = projected_step(&s);
    if (lcplug_lanes_observe(&s.run, it, sums.worst / m->unit, s.x)) return LCPLUG_OK;

    double theta_next = 0.5 * (theta * sqrt(theta * theta + 4.0) - theta * theta);
    s.run.beta = theta * (1.0 - theta) / (theta * theta + theta_next);
    theta = theta_next;
    if (sums.slope > 0.0) theta = 1.0, s.run.beta = 0.0; /* momentum points uphill */
    s.run.follow = DAMPING;
    s.run.lipschitz *= LIPSCHITZ_DECAY;
  }
  return LCPLUG_OK;
}
