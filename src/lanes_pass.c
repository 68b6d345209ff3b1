/* lanes_pass.c - passes over all groups by the whole team, and the iterates that they judge; see
 * lanes.h.
 *
 * Members take whole parts of a phase.  A sum is kept for each part and added in the order of the
 * parts, so that it does not matter who made it. */
#include <math.h>
#include <string.h>

#include "lanes.h"

typedef struct pass_call {
  const lane_run *run;
  lane_pass *pass;
  int backward;
  lane_sums *sums; /* of each part of the groups, then of the nodes; or NULL */
} pass_call;

static int node_parts(const jacobian *j) { return (j->nodes + PART_NODES - 1) / PART_NODES; }

size_t lcplug_lane_sums(const jacobian *j) { return (size_t)j->parts + (size_t)node_parts(j); }

/* A member's share of parts begin .. end - 1; all of them to the first if there are not enough. */
static int is_shared(int begin, int end, int members) { return end - begin >= members; }

static void share(int *begin, int *end, int member, int members) {
  int count = *end - *begin, first = *begin;
  if (is_shared(first, *end, members)) {
    *begin = first + (int)((long)count * member / members);
    *end = first + (int)((long)count * (member + 1) / members);
  } else if (member) {
    *end = first;
  }
}

/* Nodes that stand for none hold zeros, whatever happened to them in the pass before. */
static void clear_own_node(const jacobian *j, double *nodes, int member) {
  memset(nodes + ((size_t)j->nodes + (size_t)member) * NODE_ROOM, 0, NODE_ROOM * sizeof *nodes);
}

/* Only sweeps go backward, and they have no sums. */
static void run_backward(const pass_call *call, int begin, int end, int member) {
  for (int group = end - 1; group >= begin; group--)
    call->pass(call->run, group, group + 1, member);
}

static void run_parts(const pass_call *call, int begin, int end, int member) {
  const int *part = call->run->j->part;
  if (begin == end) return;
  if (!call->sums) call->pass(call->run, part[begin], part[end], member);
  for (int k = begin; call->sums && k < end; k++)
    call->sums[k] = call->pass(call->run, part[k], part[k + 1], member);
}

static lane_sums total(const lane_sums *sums, size_t count) {
  lane_sums all = {0, 0, 0, 0};
  for (size_t k = 0; k < count; k++) {
    all.curvature += sums[k].curvature;
    all.length += sums[k].length;
    all.slope += sums[k].slope;
    if (!(sums[k].worst <= all.worst)) all.worst = sums[k].worst; /* a NaN stays */
  }
  return all;
}

/* Blocks that share nodes: the first member alone, group after group. */
static void run_one_by_one(const pass_call *call, const lane_phase *p) {
  const int *part = call->run->j->part;
  int begin = part[p->begin], end = part[p->end];
  for (int k = p->begin; call->sums && k < p->end; k++) call->sums[k] = (lane_sums){0, 0, 0, 0};
  for (int k = 0; k < end - begin; k++) {
    int group = call->backward ? end - 1 - k : begin + k;
    lane_sums sums[2] = {{0, 0, 0, 0}, call->pass(call->run, group, group + 1, 0)};
    if (!call->sums) continue;
    sums[0] = call->sums[p->begin];
    call->sums[p->begin] = total(sums, 2);
  }
}

static void run_phase(const pass_call *call, const lane_phase *p, int member, int members) {
  int begin = p->begin, end = p->end;
  if (p->one_by_one) {
    if (member == 0) run_one_by_one(call, p);
    return;
  }
  share(&begin, &end, member, members);
  if (p->tiles && call->backward)
    run_backward(call, call->run->j->part[begin], call->run->j->part[end], member);
  else run_parts(call, begin, end, member);
}

/* Members meet between phases, but not between two that the first does alone. */
static void run_phases(const pass_call *call, int member, int members) {
  const jacobian *j = call->run->j;
  int shared_before = 0;
  for (int k = 0; k < j->phases; k++) {
    const lane_phase *p = &j->phase[call->backward ? j->phases - 1 - k : k];
    int shared = !p->one_by_one && is_shared(p->begin, p->end, members);
    if (k && (shared || shared_before)) lcplug_team_meet(j->team);
    run_phase(call, p, member, members);
    shared_before = shared;
  }
}

static void by_phases(void *argument, int member, int members) {
  const pass_call *call = argument;
  clear_own_node(call->run->j, call->run->state, member);
  run_phases(call, member, members);
}

void lcplug_lanes_by_phases(const lane_run *run, lane_pass *pass, int backward) {
  pass_call call = {.run = run, .pass = pass, .backward = backward};
  lcplug_team_run(run->j->team, by_phases, &call);
}

static void at_once(void *argument, int member, int members) {
  const pass_call *call = argument;
  int begin = 0, end = call->run->j->parts;
  clear_own_node(call->run->j, call->run->state, member);
  share(&begin, &end, member, members);
  run_parts(call, begin, end, member);
}

lane_sums lcplug_lanes_at_once(const lane_run *run, lane_pass *pass, lane_sums *sums) {
  pass_call call = {.run = run, .pass = pass, .sums = sums};
  lcplug_team_run(run->j->team, at_once, &call);
  return total(sums, sums ? (size_t)run->j->parts : 0);
}

/* ---- from impulses to velocities ------------------------------------------------------------- */

static void settle(const pass_call *call, int begin, int end, int member) {
  const jacobian *j = call->run->j;
  for (int k = begin; k < end; k++) {
    int last = (k + 1) * PART_NODES < j->nodes ? (k + 1) * PART_NODES : j->nodes;
    lane_sums sums = lcplug_lane_kernels()->settle(call->run, k * PART_NODES, last, member);
    if (call->sums) call->sums[j->parts + k] = sums;
  }
}

static void settle_all(void *argument, int member, int members) {
  const pass_call *call = argument;
  int begin = 0, end = node_parts(call->run->j);
  share(&begin, &end, member, members);
  settle(call, begin, end, member);
}

void lcplug_lanes_settle(const lane_run *run) {
  lane_run no_step = *run;
  no_step.momentum1 = NULL;
  pass_call call = {.run = &no_step};
  lcplug_team_run(run->j->team, settle_all, &call);
}

static void push(void *argument, int member, int members) {
  const pass_call *call = argument;
  const jacobian *j = call->run->j;
  double *momentum = call->run->momentum;
  int begin = 0, end = node_parts(j);
  share(&begin, &end, member, members);
  size_t first = (size_t)begin * PART_NODES, last = (size_t)end * PART_NODES;
  if (last > (size_t)j->nodes) last = (size_t)j->nodes;
  if (first < last)
    memset(momentum + first * NODE_ROOM, 0, (last - first) * NODE_ROOM * sizeof *momentum);
  clear_own_node(j, momentum, member);
  clear_own_node(j, call->run->state, member);
  lcplug_team_meet(j->team);
  run_phases(call, member, members);
  lcplug_team_meet(j->team);
  settle(call, begin, end, member);
}

lane_sums lcplug_lanes_push(const lane_run *run, lane_pass *pass, lane_sums *sums) {
  pass_call call = {.run = run, .pass = pass, .sums = sums};
  lcplug_team_run(run->j->team, push, &call);
  return total(sums, sums ? lcplug_lane_sums(run->j) : 0);
}

void lcplug_lanes_velocities(const lane_run *run) {
  lane_run in_place = *run;
  in_place.momentum = in_place.after = run->state;
  in_place.momentum1 = NULL; /* no step */
  lcplug_lanes_push(&in_place, lcplug_lane_kernels()->scatter, NULL);
}

/* ---- iterates -------------------------------------------------------------------------------- */

/* A guess that leaves this many times what no force leaves is no help. */
static const double FAR_OFF = 100.0;

double lcplug_lanes_residual(const lane_run *run, lane_sums *sums) {
  return lcplug_lanes_at_once(run, lcplug_lane_kernels()->worst, sums).worst / run->lm->m->unit;
}

static double residual_from_impulses(const lane_run *run, const double *x, lane_sums *sums) {
  lcplug_lanes_load(run->j, x, run->x);
  lcplug_lanes_velocities(run);
  return lcplug_lanes_residual(run, sums);
}

static int any_force(const double *x, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] != 0.0) return 1;
  return 0;
}

int lcplug_lanes_begin(const lane_run *run, iteration *it, lane_sums *sums, double *scratch) {
  const model *m = run->lm->m;
  lcplug_make_feasible(m, it->x);
  it->residual = residual_from_impulses(run, it->x, sums);
  if (any_force(it->x, m->n)) {
    memset(scratch, 0, (size_t)m->n * sizeof *scratch);
    lcplug_make_feasible(m, scratch); /* bounds need not contain 0 */
    double without = residual_from_impulses(run, scratch, sums);
    if (it->residual <= FAR_OFF * without) lcplug_lanes_load(run->j, it->x, run->x);
    if (without <= it->residual) {
      it->residual = without;
      memcpy(it->x, scratch, (size_t)m->n * sizeof *scratch);
    }
  }
  double rounding = fmin(lcplug_rounding_level(m, it->x), ROUNDING_EXCUSES);
  int solved = it->residual <= fmax(it->tol, rounding);
  it->status = solved ? LCPLUG_SOLVED : LCPLUG_ITERATION_LIMIT;
  return solved;
}

/* lcplug_rounding_level in lane order. */
static double rounding_level(const lane_run *run, const double *x) {
  double largest = 0.0;
  size_t elements = lcplug_lane_elements(run->j);
  for (size_t k = 0; k < elements; k++) largest = fmax(largest, run->lm->scale[k] * fabs(x[k]));
  return lcplug_rounding_of(run->lm->m, largest);
}

int lcplug_lanes_observe(const lane_run *run, iteration *it, const double *x, double residual,
                         int *best) {
  *best = lcplug_iteration_is_best(it, residual);
  double rounding = *best && residual <= ROUNDING_EXCUSES ? rounding_level(run, x) : 0.0;
  return lcplug_iteration_next(it, residual, rounding);
}
