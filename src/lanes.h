/* lanes.h - the rows of J, laid out for sweeps: eight independent blocks side by side.
 *
 * Nodes.  Velocities live in nodes of six numbers: one node is a body, and an articulated group
 * takes as many as it needs.  A body that nothing moves has none.  Beside each node stands its
 * inverse mass.  Of a group M^-1 = L L' is split once, its rows become J L and its velocities are
 * scaled alike, so that the inverse mass of its nodes is 1.
 *
 * Frames.  The three rows of a contact between two bodies are made of a frame F and two levers r:
 * F (v + omega x r) of one body less that of the other, and the last row of F is the cross product
 * of the others, or its opposite.  12 numbers are kept of such a contact and not the 36 of its
 * rows: what a large system costs is reading them.  Rows of another kind keep all numbers.
 *
 * Blocks and lanes.  A block is up to three rows on the same nodes: a contact, or a part of a
 * joint. Blocks are coloured so that no two of a colour share a node.  Of one colour, eight blocks
 * fill the lanes of a group and are worked on at once (or four and four, where vectors have no
 * more), and threads share the groups; who does what changes no bit.  Joints come before contacts,
 * and in a large system contacts of a tile, a range of nodes that fits into a core's cache, before
 * those between tiles. */
#ifndef LCPLUG_LANES_H
#define LCPLUG_LANES_H

#include <lcplug/native.h>

#include "iterate.h"
#include "layout.h"
#include "team.h"
#include "workspace.h"

enum {
  LANES = 8,
  BLOCK_ROWS = 3,
  NODE_SIZE = 6,  /* numbers in a node */
  NODE_ROOM = 8,  /* what it takes: a cache line */
  FRAME_SIZE = 6, /* numbers of a frame, its first two rows, behind levers of 3 */
  LOCAL_SIZE = 6  /* numbers in half of a symmetric 3 x 3 block */
};

/* Up to LANES blocks.  Row r of the block in lane l is element (first + r) LANES + l of every
 * vector in lane order.  Nodes are [segments][LANES], and the numbers of the rows
 * [segments][rows][NODE_SIZE] [LANES], or of frames [3 segments + FRAME_SIZE][LANES]. */
typedef struct lane_group {
  int rows;     /* 1 or BLOCK_ROWS; blocks of two rows are padded */
  int segments; /* nodes of a block, the most of all lanes */
  int frames;   /* the blocks are frames with levers, right-handed (1) or left-handed (-1) ones */
  int lanes;    /* blocks that there are; lanes behind them hold zeros and need not be looked at */
  int gaps;     /* a lane has fewer nodes than segments, or no block */
  int first;
  size_t q, node;
  size_t local; /* A_BB, lower half by rows (1 or LOCAL_SIZE numbers per lane), then its inverse */
} lane_group;

/* Groups of one colour; or tiles, each of them a part, whose groups share nodes with nobody outside
 * and go one after the other.  Those beyond the last colour share nodes and go one by one. */
typedef struct lane_phase {
  int begin, end; /* parts */
  int one_by_one, tiles;
} lane_phase;

/* M^-1 = L L', and where the nodes are. */
typedef struct mass_roots {
  double *body;   /* per body the root of its inverse mass, then L of its inertia */
  double **group; /* L */
  int *body_node; /* -1: nothing moves it */
  int *group_node, *group_of;
} mass_roots;

typedef struct jacobian {
  const lcplug_system *system;
  const layout *layout;
  lcplug_team *team;
  mass_roots roots;
  int nodes;     /* node number `nodes` stands for none and holds zeros; each member has its own */
  int lane_rows; /* vectors in lane order have lane_rows LANES elements */
  int *place;    /* solver row -> its element in lane order */
  int groups, phases, parts;
  lane_group *group;
  lane_phase *phase;
  int *part;        /* its first group; parts + 1 of them */
  int *block_first; /* of each group and lane: the solver row it begins with, -1 for none */
  unsigned char *block_rows; /* and how many it has */
  int *node;
  double *q, *local, *cfm;
  double *same_cfm; /* of each group: the CFM of all its rows, -1 where they differ */
  double *diagonal; /* A_ii of each row, in the solver's order */
  double *mass; /* of each node: the inverse mass, then half of the inverse inertia by rows */
  double *state, *x, *y; /* scratch of the operator, whose vectors are in the solver's order */
} jacobian;

/* Lays out the rows of a checked system. */
lcplug_error lcplug_lanes_build(jacobian *j, const lcplug_system *system, const layout *l,
                                lcplug_workspace *workspace);

/* Row `row` of the system on one node: q gets the six numbers of J L; or of J where the node is a
 * body's and `scaled` is 0. */
void lcplug_row_on_node(const jacobian *of, int row, int node, int scaled, double q[NODE_SIZE]);

/* The operator on it. */
void lcplug_operator_jacobian(linop *op, jacobian *j);

/* The lower triangle of A, for those who factorize. */
lcplug_error lcplug_jacobian_lower(lower_triangle *lower, const jacobian *j,
                                   lcplug_workspace *workspace);

/* ---- the model in lane order ----------------------------------------------------------------- */

typedef enum lane_kind {
  LANE_ROWS,    /* each row has its bounds */
  LANE_COUPLED, /* and some have theirs from a normal */
  LANE_CONE,    /* circular cones */
  LANE_ELLIPSE  /* cones, at least one elliptic */
} lane_kind;

/* What is kept of each cone: its scale and the inverse of it. */
enum { CONE_SCALE, CONE_INVERSE, CONE_SIZE };

typedef struct lane_model {
  const jacobian *j;
  const model *m;
  unsigned char *kind; /* of each group */
  double *cone;        /* [groups][CONE_SIZE][LANES] */
  double *same_mu;     /* of each group: mu of all its cones, circular ones, -1 where they differ */
  double *b, *scale;
  double *lo, *hi;
  double *mu;  /* of a row that is coupled to the first of its block or a cone's tangent, or -1 */
  int *normal; /* the element of a normal outside the block, or -1; NULL if there is none such */
} lane_model;

lcplug_error lcplug_lane_model_build(lane_model *lm, const jacobian *j, const model *m,
                                     lcplug_workspace *workspace);

/* ---- kernels --------------------------------------------------------------------------------- */

/* What the kernels work on.  Vectors are in lane order. */
typedef struct lane_run {
  const jacobian *j;
  const lane_model *lm;
  double *state;    /* velocities: nodes of NODE_ROOM numbers */
  double *momentum; /* J' x, where a pass makes it; and the velocities that follow, maybe in its
                       place */
  double *after;
  double *x, *Ax;
  double omega;
  int coulomb;
  /* of apgd: the last two iterates and the momenta of both; Ax is the product of the older one */
  const double *x1, *x2, *momentum1, *momentum2;
  double *shift; /* De Saxce's term, one per group and lane */
  double beta, lipschitz_inverse, follow;
} lane_run;

/* Sums over groups, or over nodes: of a gradient step d = x - y its d'Ad, its d'Sd and the slope
 * along x - x1; and the worst violation of an iterate. */
typedef struct lane_sums {
  double curvature, length, slope, worst;
} lane_sums;

/* Works on groups begin .. end - 1 (of settle: nodes), for a member of the team. */
typedef lane_sums lane_pass(const lane_run *run, int begin, int end, int member);

typedef struct lane_kernels {
  /* Relaxes the blocks of groups that share no node. */
  lane_pass *sweep;
  /* The worst violation (model.c) of x with the velocities in state. */
  lane_pass *worst;
  /* momentum += J' x of these groups;  Ax = J state + CFM x. */
  lane_pass *scatter, *gather;
  /* Of x1, whose velocities are in state, the product, which takes the place of that of x2 in Ax,
   * and the worst violation; then one gradient step from y = x1 + beta (x1 - x2) into x, and its
   * part of momentum. */
  lane_pass *step;
  /* after = M^-1 momentum, and without CFM the curvature of the step that made it. */
  lane_pass *settle;
} lane_kernels;

/* The best table for this processor. */
const lane_kernels *lcplug_lane_kernels(void);
/* All that run here, from the best to the portable one, then NULL; the bits are the same. */
const lane_kernels *lcplug_lane_kernels_number(int k);

/* ---- passes over all groups, by the whole team ----------------------------------------------- */

/* Groups, and nodes, that make one part of a sum.  Members of the team take whole parts, and sums
 * are added in their order, whoever made them. */
enum { PART_GROUPS = 32, PART_NODES = 256 };
/* How many sums a pass can bring. */
size_t lcplug_lane_sums(const jacobian *j);

/* Phase after phase, forward or backward: for passes that change state. */
void lcplug_lanes_by_phases(const lane_run *run, lane_pass *pass, int backward);

/* All groups at once: for passes that only read it.  `sums`: scratch, lcplug_lane_sums() of them,
 * or NULL for a pass that has none. */
lane_sums lcplug_lanes_at_once(const lane_run *run, lane_pass *pass, lane_sums *sums);

/* Momentum from 0 by scatter or step, then the velocities after it. */
lane_sums lcplug_lanes_push(const lane_run *run, lane_pass *pass, lane_sums *sums);

/* after = the velocities of momentum, where only these are wanted */
void lcplug_lanes_settle(const lane_run *run);

/* state = the velocities that x brings about */
void lcplug_lanes_velocities(const lane_run *run);

/* The residual of the run's x with the velocities in state. */
double lcplug_lanes_residual(const lane_run *run, lane_sums *sums);

/* The first iterates, as lcplug_iteration_begin: the guess in it->x and no force at all, the better
 * of which is kept.  The run starts from the guess even if some of its forces are wrong by now,
 * unless it is far off.  Leaves the start in run->x; returns 1 if the tolerance is met. */
int lcplug_lanes_begin(const lane_run *run, iteration *it, lane_sums *sums, double *scratch);

/* One more iterate in lane order; 1 when it is time to stop.  *best: it is the best so far, which
 * the caller keeps. */
int lcplug_lanes_observe(const lane_run *run, iteration *it, const double *x, double residual,
                         int *best);

static inline size_t lcplug_lane_elements(const jacobian *j) {
  return (size_t)j->lane_rows * LANES;
}
size_t lcplug_lane_state_size(const jacobian *j);

/* To and from lane order; elements that belong to no row become 0. */
void lcplug_lanes_load(const jacobian *j, const double *x, double *lanes);
void lcplug_lanes_unload(const jacobian *j, const double *lanes, double *x);

#endif
