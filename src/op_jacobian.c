/* op_jacobian.c - A = J M^-1 J' + CFM, which is never formed: the rows in lanes.h as an operator.
 *
 *     A x          velocities v = M^-1 J' x, then rows J v + CFM x
 *     single rows  and the matrix: of Q = J L, as A = Q Q' + CFM then has the same bits from
 *                  either side
 *     state        Q' x of all nodes, and x, which CFM needs
 *
 * Solvers that know lanes work on these in place; the functions here serve all others, and judge.
 * The exact solver factorizes, so it gets A after all, once, as a sparse lower triangle. */
#include <stdlib.h>
#include <string.h>

#include "fpenv.h"
#include "lanes.h"
#include "system.h"

static void jacobian_apply(const linop *op, const double *x, double *y) {
  jacobian *j = op->jacobian;
  lane_run run = {.j = j, .state = j->state, .x = j->x, .Ax = j->y};
  lcplug_lanes_load(j, x, j->x);
  lcplug_lanes_velocities(&run);
  lcplug_lanes_at_once(&run, lcplug_lane_kernels()->gather, NULL);
  lcplug_lanes_unload(j, j->y, y);
}

/* ---- single rows ----------------------------------------------------------------------------- */

/* A row's place: its group, its number in the block, and its lane. */
typedef struct lane_row {
  const lane_group *group;
  int r, lane;
} lane_row;

static const lane_group *group_of_lane_row(const jacobian *j, int row) {
  int low = 0, high = j->groups;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (j->group[middle].first <= row) low = middle;
    else high = middle;
  }
  return &j->group[low];
}

static lane_row find_row(const jacobian *j, int i) {
  const lane_group *g = group_of_lane_row(j, j->place[i] / LANES);
  return (lane_row){g, j->place[i] / LANES - g->first, j->place[i] % LANES};
}

static int row_node(const jacobian *j, lane_row row, int s) {
  return j->node[row.group->node + (size_t)(s * LANES + row.lane)];
}

/* Row i of Q on one node. */
static void scaled_row(const jacobian *j, int i, int node, double q[NODE_SIZE]) {
  lcplug_row_on_node(j, j->layout->row[i], node, 1, q);
}

static double dot_segments(const double *p, const double *q) {
  double sum = 0.0;
  for (int c = 0; c < NODE_SIZE; c++) sum += p[c] * q[c];
  return sum;
}

/* Element (i, k) of A; row: where row i is. */
static double element(const jacobian *j, int i, lane_row row, int k) {
  double sum = i == k ? j->cfm[j->place[i]] : 0.0;
  for (int s = 0; s < row.group->segments; s++) {
    double p[NODE_SIZE], q[NODE_SIZE];
    if (row_node(j, row, s) == j->nodes) continue;
    scaled_row(j, i, row_node(j, row, s), p);
    if (i != k) scaled_row(j, k, row_node(j, row, s), q);
    sum += dot_segments(p, i == k ? p : q);
  }
  return sum;
}

static void jacobian_diagonal(const linop *op, double *d) {
  memcpy(d, op->jacobian->diagonal, (size_t)op->n * sizeof *d);
}

static void jacobian_diagonal_block(const linop *op, int first, int rows, double *out) {
  for (int p = 0; p < rows; p++)
    for (int q = 0; q < rows; q++) {
      int i = first + p;
      out[p * rows + q] = element(op->jacobian, i, find_row(op->jacobian, i), first + q);
    }
}

/* ---- the state ------------------------------------------------------------------------------- */

static int jacobian_state_size(const linop *op) {
  return op->n + (int)lcplug_lane_state_size(op->jacobian);
}

static void jacobian_state_add(const linop *op, double *state, int first, int rows,
                               const double *dx) {
  const jacobian *j = op->jacobian;
  for (int i = 0; i < rows; i++) {
    lane_row row = find_row(j, first + i);
    state[first + i] += dx[i];
    for (int s = 0; s < row.group->segments; s++) {
      double q[NODE_SIZE], *u = state + op->n + (size_t)row_node(j, row, s) * NODE_ROOM;
      scaled_row(j, first + i, row_node(j, row, s), q);
      for (int c = 0; c < NODE_SIZE; c++) u[c] += q[c] * dx[i];
    }
  }
}

static void jacobian_state_begin(const linop *op, const double *x, double *state) {
  memset(state, 0, (size_t)jacobian_state_size(op) * sizeof *state);
  jacobian_state_add(op, state, 0, op->n, x);
}

static void jacobian_state_read(const linop *op, const double *state, int first, int rows,
                                double *Ax) {
  const jacobian *j = op->jacobian;
  for (int i = 0; i < rows; i++) {
    lane_row row = find_row(j, first + i);
    Ax[i] = j->cfm[j->place[first + i]] * state[first + i];
    for (int s = 0; s < row.group->segments; s++) {
      double q[NODE_SIZE];
      scaled_row(j, first + i, row_node(j, row, s), q);
      Ax[i] += dot_segments(q, state + op->n + (size_t)row_node(j, row, s) * NODE_ROOM);
    }
  }
}

static const linop_table jacobian_table = {
    jacobian_apply,       jacobian_diagonal,   jacobian_diagonal_block, jacobian_state_size,
    jacobian_state_begin, jacobian_state_read, jacobian_state_add,
};

void lcplug_operator_jacobian(linop *op, jacobian *j) {
  *op = (linop){.table = &jacobian_table, .n = j->layout->n, .layout = j->layout, .jacobian = j};
}

/* ---- the lower triangle ---------------------------------------------------------------------- */

/* Blocks in the solver's order, which of them each node has, and the rows of Q. */
typedef struct block_graph {
  const jacobian *j;
  size_t *
      row_begin; /* of each row: where its numbers begin, NODE_SIZE for each segment of its group */
  double *row_value;
  int blocks;
  int *lane_of;    /* block -> group * LANES + lane */
  int *node_begin; /* nodes + 1 of them */
  int *node_block; /* ascending */
  int *met;        /* met[k] == b: block b has met its neighbour k */
  int *neighbour;  /* of the present block, itself included, ascending */
  int neighbours;
} block_graph;

static int block_node(const jacobian *j, int lane_of, int s) {
  return j->node[j->group[lane_of / LANES].node + (size_t)(s * LANES + lane_of % LANES)];
}

/* Q_p Q_q' over the nodes that both have. */
static double dot_rows(const block_graph *g, int p, lane_row of_p, int q, lane_row of_q) {
  double sum = 0.0;
  for (int s = 0; s < of_p.group->segments; s++)
    for (int t = 0; t < of_q.group->segments; t++)
      if (row_node(g->j, of_p, s) == row_node(g->j, of_q, t) &&
          row_node(g->j, of_p, s) != g->j->nodes)
        sum += dot_segments(g->row_value + g->row_begin[p] + s * NODE_SIZE,
                            g->row_value + g->row_begin[q] + t * NODE_SIZE);
  return sum;
}

static int fill_row_values(block_graph *g, lcplug_workspace *workspace) {
  const jacobian *j = g->j;
  size_t total = 0;
  g->row_begin = TAKE(workspace, size_t, j->layout->n);
  if (!g->row_begin) return 0;
  for (int i = 0; i < j->layout->n; i++) {
    g->row_begin[i] = total;
    total += (size_t)find_row(j, i).group->segments * NODE_SIZE;
  }
  g->row_value = TAKE(workspace, double, total);
  if (!g->row_value) return 0;
  for (int i = 0; i < j->layout->n; i++) {
    lane_row row = find_row(j, i);
    for (int s = 0; s < row.group->segments; s++)
      scaled_row(j, i, row_node(j, row, s), g->row_value + g->row_begin[i] + s * NODE_SIZE);
  }
  return 1;
}

static int take_graph(block_graph *g, const jacobian *j, lcplug_workspace *workspace) {
  int lanes = j->groups * LANES;
  size_t entries = 0;
  for (int k = 0; k < j->groups; k++) entries += (size_t)j->group[k].segments * LANES;
  *g = (block_graph){.j = j};
  g->lane_of = TAKE(workspace, int, lanes);
  g->node_begin = TAKE(workspace, int, j->nodes + 2);
  g->node_block = TAKE(workspace, int, entries);
  g->met = TAKE(workspace, int, lanes);
  g->neighbour = TAKE(workspace, int, lanes);
  return g->lane_of && g->node_begin && g->node_block && g->met && g->neighbour &&
         fill_row_values(g, workspace);
}

/* Blocks come out ascending at every node, as they are put in ascending. */
static lcplug_error build_graph(block_graph *g, const jacobian *j, lcplug_workspace *workspace) {
  int *lane_at = TAKE(workspace, int, j->layout->n);
  if (!lane_at || !take_graph(g, j, workspace)) return LCPLUG_ERROR_MEMORY;
  for (int i = 0; i < j->layout->n; i++) lane_at[i] = -1;
  for (int k = 0; k < j->groups * LANES; k++)
    if (j->block_first[k] >= 0) lane_at[j->block_first[k]] = k;
  for (int i = 0; i < j->layout->n; i++)
    if (lane_at[i] >= 0) g->met[g->blocks] = -1, g->lane_of[g->blocks++] = lane_at[i];
  memset(g->node_begin, 0, ((size_t)j->nodes + 2) * sizeof *g->node_begin);
  for (int pass = 0; pass < 2; pass++) {
    for (int b = 0; b < g->blocks; b++)
      for (int s = 0; s < j->group[g->lane_of[b] / LANES].segments; s++) {
        int node = block_node(j, g->lane_of[b], s);
        if (node == j->nodes) continue;
        if (pass == 0) g->node_begin[node + 2]++;
        else g->node_block[g->node_begin[node + 1]++] = b;
      }
    for (int k = 0; pass == 0 && k < j->nodes; k++) g->node_begin[k + 2] += g->node_begin[k + 1];
  }
  return LCPLUG_OK;
}

static int compare_int(const void *p, const void *q) { return *(const int *)p - *(const int *)q; }

static void find_neighbours(block_graph *g, int b) {
  const jacobian *j = g->j;
  g->neighbours = 0;
  g->neighbour[g->neighbours++] = b;
  g->met[b] = b;
  for (int s = 0; s < j->group[g->lane_of[b] / LANES].segments; s++) {
    int node = block_node(j, g->lane_of[b], s);
    if (node == j->nodes) continue;
    for (int k = g->node_begin[node]; k < g->node_begin[node + 1] && g->node_block[k] < b; k++) {
      int other = g->node_block[k];
      if (g->met[other] == b) continue;
      g->met[other] = b;
      g->neighbour[g->neighbours++] = other;
    }
  }
  qsort(g->neighbour, (size_t)g->neighbours, sizeof *g->neighbour, compare_int);
}

static int rows_of(const block_graph *g, int b) { return g->j->block_rows[g->lane_of[b]]; }

/* Appends row r of block b: its elements in the blocks before, then its own up to the diagonal. */
static void append_row(const block_graph *g, int b, int r, lower_triangle *lower, size_t *used) {
  const jacobian *j = g->j;
  int own = g->lane_of[b], i = j->block_first[own] + r;
  lane_row row = {&j->group[own / LANES], r, own % LANES};
  lower->begin[i] = *used;
  for (int k = 0; k < g->neighbours; k++) {
    int other = g->lane_of[g->neighbour[k]];
    for (int q = 0; q < (other == own ? r + 1 : j->block_rows[other]); q++) {
      int column = j->block_first[other] + q;
      double value =
          dot_rows(g, i, row, column, (lane_row){&j->group[other / LANES], q, other % LANES});
      if (column == i) value += j->cfm[j->place[i]];
      else if (value == 0.0) continue;
      lower->column[*used] = column;
      lower->value[(*used)++] = value;
    }
  }
}

lcplug_error lcplug_jacobian_lower(lower_triangle *lower, const jacobian *j,
                                   lcplug_workspace *workspace) {
  block_graph g;
  size_t most = 0, used = 0;
  lcplug_error error = build_graph(&g, j, workspace);
  if (error) return error;
  for (int b = 0; b < g.blocks; b++) {
    find_neighbours(&g, b);
    for (int k = 0; k < g.neighbours; k++)
      most += (size_t)rows_of(&g, b) * (size_t)rows_of(&g, g.neighbour[k]);
  }
  *lower = (lower_triangle){.n = j->layout->n,
                            .begin = TAKE(workspace, size_t, j->layout->n + 1),
                            .column = TAKE(workspace, int, most),
                            .value = TAKE(workspace, double, most)};
  if (!lower->begin || !lower->column || !lower->value) return LCPLUG_ERROR_MEMORY;
  for (int b = 0; b < g.blocks; b++) g.met[b] = -1;
  for (int b = 0; b < g.blocks; b++) {
    find_neighbours(&g, b);
    for (int r = 0; r < rows_of(&g, b); r++) append_row(&g, b, r, lower, &used);
  }
  lower->begin[j->layout->n] = used;
  return LCPLUG_OK;
}

/* ---- for callers ----------------------------------------------------------------------------- */

/* The rows in their own order: what bounds and friction say has no part in A. */
static lcplug_error build_rows(jacobian *j, layout *l, const lcplug_system *system,
                               lcplug_workspace *workspace) {
  lcplug_error error = lcplug_system_check(system);
  if (error) return error;
  lcplug_problem p = lcplug_problem_default();
  double *zeros = TAKE(workspace, double, system->rows);
  if (!zeros) return LCPLUG_ERROR_MEMORY;
  memset(zeros, 0, (size_t)system->rows * sizeof *zeros);
  p.n = system->rows, p.b = zeros;
  error = lcplug_layout_build(l, &p, workspace);
  return error ? error : lcplug_lanes_build(j, system, l, workspace);
}

lcplug_error lcplug_system_apply(lcplug_workspace *workspace, const lcplug_system *system,
                                 const double *x, double *y) {
  if (!workspace || !system || (system->rows > 0 && (!x || !y))) return LCPLUG_ERROR_ARGUMENT;
  fpenv host = lcplug_fpenv_enter();
  jacobian j;
  layout l;
  lcplug_error error = build_rows(&j, &l, system, workspace);
  if (!error) {
    linop op;
    lcplug_operator_jacobian(&op, &j);
    op.table->apply(&op, x, y);
  }
  lcplug_workspace_reset(workspace);
  lcplug_fpenv_leave(host);
  return error;
}

lcplug_error lcplug_system_matrix(lcplug_workspace *workspace, const lcplug_system *system,
                                  double *A, size_t stride) {
  if (!workspace || !system || (system->rows > 0 && !A)) return LCPLUG_ERROR_ARGUMENT;
  if (system->rows > 0 && stride < (size_t)system->rows) return LCPLUG_ERROR_SIZE;
  fpenv host = lcplug_fpenv_enter();
  jacobian j;
  layout l;
  lower_triangle lower;
  lcplug_error error = build_rows(&j, &l, system, workspace);
  if (!error) error = lcplug_jacobian_lower(&lower, &j, workspace);
  for (int i = 0; !error && i < l.n; i++)
    memset(A + (size_t)i * stride, 0, (size_t)l.n * sizeof *A);
  for (int i = 0; !error && i < l.n; i++)
    for (size_t k = lower.begin[i]; k < lower.begin[i + 1]; k++) {
      size_t row = (size_t)i, column = (size_t)lower.column[k];
      A[row * stride + column] = A[column * stride + row] = lower.value[k];
    }
  lcplug_workspace_reset(workspace);
  lcplug_fpenv_leave(host);
  return error;
}
