/* lanes.h - the rows of J, laid out for sweeps: four independent blocks side by side.
 *
 * Scaled rows.  Each inverse mass block is split once, M^-1 = L L', and the rows become Q = J L.  Then
 * A = Q Q' + CFM, and the velocities that a sweep keeps are scaled by L too: both directions, from
 * velocities to rows and from impulses to velocities, read the same numbers and no mass.
 *
 * Nodes.  The scaled velocities live in nodes of six numbers: one node is a body, and an articulated
 * group takes as many as it needs.  A body that nothing moves has none.
 *
 * Blocks and lanes.  A block is up to three rows on the same nodes: a contact, or a part of a joint.
 * Blocks are coloured so that no two of a colour share a node.  Of one colour, four blocks fill the
 * lanes of a group and are worked on at once, and threads share the groups; who does what changes
 * no bit.  Joints come before contacts. */
#ifndef LCPLUG_LANES_H
#define LCPLUG_LANES_H

#include <lcplug/native.h>

#include "iterate.h"
#include "layout.h"
#include "team.h"
#include "workspace.h"

enum {
  LANES = 4,
  BLOCK_ROWS = 3,
  NODE_SIZE = 6,  /* numbers in a node */
  NODE_ROOM = 8,  /* what it takes: a cache line */
  LOCAL_SIZE = 6  /* numbers in half of a symmetric 3 x 3 block */
};

/* One number of each lane. */
typedef double four __attribute__((vector_size(LANES * sizeof(double))));

/* Up to LANES blocks.  Row r of the block in lane l is element (first + r) LANES + l of every vector
 * in lane order.  Q is [segments][rows][NODE_SIZE][LANES], nodes are [segments][LANES]. */
typedef struct lane_group {
  int rows;     /* 1 or BLOCK_ROWS; blocks of two rows are padded */
  int segments; /* nodes of a block, the most of all lanes */
  int cone;     /* the blocks are cones wherever the friction model knows cones */
  int first;
  size_t q, node;
  size_t local; /* A_BB, lower half by rows (1 or LOCAL_SIZE numbers per lane), then its inverse */
} lane_group;

/* Groups of one colour.  Those beyond the last colour share nodes and go one after the other. */
typedef struct lane_phase {
  int begin, end;
  int one_by_one;
} lane_phase;

typedef struct jacobian {
  const layout *layout;
  lcplug_team *team;
  int nodes;     /* node number `nodes` stands for none and holds zeros; each member has its own */
  int lane_rows; /* vectors in lane order have lane_rows LANES elements */
  int *place;    /* solver row -> its element in lane order */
  int groups, phases;
  lane_group *group;
  lane_phase *phase;
  int *block_first;          /* of each group and lane: the solver row it begins with, -1 for none */
  unsigned char *block_rows; /* and how many it has */
  int *node;
  double *q, *local, *cfm;
  double *state, *x, *y; /* scratch of the operator, whose vectors are in the solver's order */
} jacobian;

/* Lays out the rows of a checked system. */
lcplug_error lcplug_lanes_build(jacobian *j, const lcplug_system *system, const layout *l,
                                lcplug_workspace *workspace);

/* The operator on it. */
void lcplug_operator_jacobian(linop *op, jacobian *j);

/* The lower triangle of A, for those who factorize. */
lcplug_error lcplug_jacobian_lower(lower_triangle *lower, const jacobian *j,
                                   lcplug_workspace *workspace);

/* ---- the model in lane order ------------------------------------------------------------------- */

typedef enum lane_kind {
  LANE_ROWS,    /* each row has its bounds */
  LANE_COUPLED, /* and some have theirs from a normal */
  LANE_CONE,    /* circular cones */
  LANE_ELLIPSE  /* cones, at least one elliptic */
} lane_kind;

typedef struct lane_model {
  const jacobian *j;
  const model *m;
  unsigned char *kind; /* of each group */
  double *b, *scale;
  double *lo, *hi;
  double *mu;  /* of a row that is coupled to the first of its block, or of a cone's tangent; else -1 */
  int *normal; /* the element of a normal outside the block, or -1; NULL if there is none such */
} lane_model;

lcplug_error lcplug_lane_model_build(lane_model *lm, const jacobian *j, const model *m,
                                     lcplug_workspace *workspace);

/* ---- kernels ----------------------------------------------------------------------------------- */

/* What the kernels work on.  Vectors are in lane order. */
typedef struct lane_run {
  const jacobian *j;
  const lane_model *lm;
  double *state; /* nodes + members of NODE_ROOM numbers */
  double *x, *Ax;
  double omega;
  int coulomb;
  /* of apgd: the last two iterates and their products, and the next one in x and Ax */
  const double *x1, *x2, *Ax1, *Ax2;
  double *shift; /* De Saxce's term, one per group and lane */
  double beta, lipschitz, follow;
} lane_run;

/* Sums over groups, for apgd. */
typedef struct lane_sums {
  double curvature, length, slope, worst;
} lane_sums;

typedef struct lane_kernels {
  /* Relaxes the blocks of groups begin .. end - 1, which share no node. */
  void (*sweep)(const lane_run *run, int begin, int end, int member);
  /* The worst violation (model.c) of x with the velocities in state. */
  double (*worst)(const lane_run *run, int begin, int end, int member);
  /* state += Q' x of these groups;  Ax = Q state + CFM x. */
  void (*scatter)(const lane_run *run, int begin, int end, int member);
  void (*gather)(const lane_run *run, int begin, int end, int member);
  /* One gradient step from y = x1 + beta (x1 - x2) into x, with its part of state; and what the step
   * is judged by, once state is complete. */
  void (*step)(const lane_run *run, int begin, int end, int member);
  lane_sums (*judge)(const lane_run *run, int begin, int end, int member);
} lane_kernels;

/* The best table for this processor, and the one that runs everywhere; the bits are the same. */
const lane_kernels *lcplug_lane_kernels(void);
const lane_kernels *lcplug_lane_kernels_portable(void);

/* ---- passes over all groups, by the whole team --------------------------------------------------- */

typedef void lane_pass(const lane_run *run, int begin, int end, int member);

/* Phase after phase, forward or backward: for passes that change state. */
void lcplug_lanes_by_phases(const lane_run *run, lane_pass *pass, int backward);

/* All groups at once: for passes that only read it. */
void lcplug_lanes_at_once(const lane_run *run, lane_pass *pass);
/* `parts`: scratch, lcplug_lane_parts() of them. */
double lcplug_lanes_worst(const lane_run *run, double *parts);
lane_sums lcplug_lanes_judge(const lane_run *run, lane_sums *parts);

/* Groups that make one part of a sum; parts are added in order, whoever made them. */
enum { PART_GROUPS = 1024 };
static inline int lcplug_lane_parts(const jacobian *j) {
  return (j->groups + PART_GROUPS - 1) / PART_GROUPS;
}

/* state = Q' x */
void lcplug_lanes_velocities(const lane_run *run);

/* The residual of the run's x, whose state is made on the way. */
double lcplug_lanes_residual(const lane_run *run, double *parts);

/* The first iterates, as lcplug_iteration_begin: the guess in it->x and no force at all, the better of
 * which is kept.  The run starts from the guess even if some of its forces are wrong by now, unless it
 * is far off.  Leaves the start in run->x; returns 1 if the tolerance is met. */
int lcplug_lanes_begin(const lane_run *run, iteration *it, double *parts, double *scratch);

/* One more iterate, the run's x: keeps it if it is the best; 1 when it is time to stop.  scratch: as
 * many numbers as there are rows. */
int lcplug_lanes_observe(const lane_run *run, iteration *it, double residual, double *scratch);

static inline size_t lcplug_lane_elements(const jacobian *j) { return (size_t)j->lane_rows * LANES; }
size_t lcplug_lane_state_size(const jacobian *j);

/* To and from lane order; elements that belong to no row become 0. */
void lcplug_lanes_load(const jacobian *j, const double *x, double *lanes);
void lcplug_lanes_unload(const jacobian *j, const double *lanes, double *x);

#endif
