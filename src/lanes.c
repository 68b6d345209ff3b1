/* lanes.c - from the rows of a system to groups of four independent blocks; see lanes.h.
 *
 *     split the masses -> cut the rows into blocks -> colour the blocks -> sort them by colour
 *     -> fill groups with scaled rows -> their own 3 x 3 blocks and the inverses of these
 *
 * Colours are given greedily, the lowest one that no neighbour has; blocks that find all taken (a body
 * with more contacts than there are colours) are done one by one at the end. */
#include "lanes.h"

#include <math.h>
#include <string.h>

#include "system.h"

enum {
  COLOURS = 64,
  ONE_BY_ONE = COLOURS, /* the colour of those who got none */
  KEY_SEGMENTS = 1 << 10,
  DIGIT = 1 << 10, /* of a key, for sorting: a key has two */
  SMALL_PHASE = 32 /* groups, below which threads cost more than they give */
};

/* Added to a block's diagonal before it is inverted, as a part of it: redundant rows are singular. */
static const double RIDGE = 1e-10;

typedef struct row_block {
  int first, rows;    /* in the solver's order */
  int node, segments; /* its nodes stand in block_node from `node` */
  int contact, cone;
  int key;
} row_block;

typedef struct builder {
  const lcplug_system *system;
  const layout *layout;
  lcplug_workspace *workspace;
  /* M^-1 = L L': per body the root of its inverse mass and L of its inertia, per group L */
  double *body_l;
  double **group_l;
  int *body_node, *group_node, *group_of;
  int nodes;
  row_block *block;
  int blocks;
  int *block_node;
  int *order, *spare;
} builder;

enum { BODY_L = 1 + BODY_SYMMETRY };

/* ---- masses and nodes ------------------------------------------------------------------------------ */

static int is_fixed(const double *inverse_inertia, double inverse_mass) {
  for (int k = 0; k < BODY_SYMMETRY; k++)
    if (inverse_inertia[k] != 0.0) return 0;
  return inverse_mass == 0.0;
}

static lcplug_error split_bodies(builder *m) {
  const lcplug_system *s = m->system;
  m->body_l = TAKE(m->workspace, double, (size_t)s->bodies * BODY_L);
  m->body_node = TAKE(m->workspace, int, s->bodies);
  if (!m->body_l || !m->body_node) return LCPLUG_ERROR_MEMORY;
  for (int k = 0; k < s->bodies; k++) {
    const double *inertia = s->inverse_inertia + (size_t)k * BODY_SYMMETRY;
    double *l = m->body_l + (size_t)k * BODY_L;
    l[0] = sqrt(s->inverse_mass[k]);
    if (!lcplug_split_mass(inertia, 3, l + 1)) return LCPLUG_ERROR_MASS;
    m->body_node[k] = is_fixed(inertia, s->inverse_mass[k]) ? -1 : m->nodes++;
  }
  return LCPLUG_OK;
}

static lcplug_error split_groups(builder *m) {
  const lcplug_system *s = m->system;
  m->group_l = TAKE(m->workspace, double *, s->groups);
  m->group_node = TAKE(m->workspace, int, s->groups);
  m->group_of = TAKE(m->workspace, int, lcplug_articulated(s));
  if (!m->group_l || !m->group_node || !m->group_of) return LCPLUG_ERROR_MEMORY;
  const double *mass = s->group_inverse_mass;
  for (int g = 0; g < s->groups; g++) {
    int size = s->group_begin[g + 1] - s->group_begin[g];
    m->group_l[g] = TAKE(m->workspace, double, (size_t)size * (size_t)size);
    if (!m->group_l[g]) return LCPLUG_ERROR_MEMORY;
    if (!lcplug_split_mass(mass, size, m->group_l[g])) return LCPLUG_ERROR_MASS;
    mass += (size_t)size * (size_t)size;
    m->group_node[g] = m->nodes;
    m->nodes += (size + NODE_SIZE - 1) / NODE_SIZE;
    for (int k = s->group_begin[g]; k < s->group_begin[g + 1]; k++) m->group_of[k] = g;
  }
  return LCPLUG_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static int sparse_begin(const lcplug_system *s, int row) { return s->sparse_begin ? s->sparse_begin[row] : 0; }
static int sparse_end(const lcplug_system *s, int row) { return s->sparse_begin ? s->sparse_begin[row + 1] : 0; }

/* Place of a node in the block's list, or -1. */
static int segment_of(const builder *m, const row_block *b, int node) {
  for (int s = 0; s < b->segments; s++)
    if (m->block_node[b->node + s] == node) return s;
  return -1;
}

static void add_node(builder *m, row_block *b, int node) {
  if (node >= 0 && segment_of(m, b, node) < 0) m->block_node[b->node + b->segments++] = node;
}

/* J L of an articulated row is not 0 up to the last coordinate that the row has. */
static void add_nodes_of_row(builder *m, row_block *b, int row) {
  const lcplug_system *s = m->system;
  for (int side = 0; s->body && side < 2; side++) {
    int body = s->body[2 * row + side];
    if (body >= 0) add_node(m, b, m->body_node[body]);
  }
  for (int k = sparse_begin(s, row); k < sparse_end(s, row); k++) {
    int g = m->group_of[s->sparse_coordinate[k]];
    int last = (s->sparse_coordinate[k] - s->group_begin[g]) / NODE_SIZE;
    for (int node = 0; node <= last; node++) add_node(m, b, m->group_node[g] + node);
  }
}

/* `normal`: the row that others of the block may take their bounds from.  Its nodes count as theirs, so
 * that nobody changes its force while they look at it. */
static void add_block(builder *m, int first, int rows, int normal, int contact, int cone) {
  const row_block *last = m->blocks ? &m->block[m->blocks - 1] : NULL;
  row_block *b = &m->block[m->blocks++];
  *b = (row_block){.first = first, .rows = rows, .contact = contact, .cone = cone};
  b->node = last ? last->node + last->segments : 0;
  for (int i = first; i < first + rows; i++) add_nodes_of_row(m, b, m->layout->row[i]);
  add_nodes_of_row(m, b, m->layout->row[normal]);
}

static int is_contact(const layout *l, int i) { return l->lo[i] == 0.0 && l->hi[i] == INFINITY; }

/* Whether single rows i and k, neighbours, may form a block: the same bodies and nothing else. */
static int belong_together(const builder *m, int i, int k) {
  const lcplug_system *s = m->system;
  int p = m->layout->row[i], q = m->layout->row[k];
  return s->body && s->body[2 * p] == s->body[2 * q] && s->body[2 * p + 1] == s->body[2 * q + 1] &&
         sparse_begin(s, p) == sparse_end(s, p) && sparse_begin(s, q) == sparse_end(s, q) &&
         is_contact(m->layout, i) == is_contact(m->layout, k);
}

/* A contact's cone is one block, and so are up to three rows of a joint. */
static void cut_blocks(builder *m) {
  const layout *l = m->layout;
  for (int g = 0; g < l->groups; g++) {
    int i = l->group_first[g], end = l->group_first[g + 1], rows = l->cone_rows[i];
    if (end - i == 1) {
      for (rows = 1; rows < BLOCK_ROWS && g + 1 < l->groups && l->group_first[g + 2] == end + 1 &&
                     belong_together(m, i, end);
           rows++, g++)
        end++;
      add_block(m, i, rows, i, is_contact(l, i), 0);
      continue;
    }
    for (int cone = rows > 1, normal = i; i < end; i += rows, cone = 0) {
      if (!cone) rows = end - i < BLOCK_ROWS ? end - i : BLOCK_ROWS;
      add_block(m, i, rows, normal, 1, cone);
    }
  }
}

/* The most blocks that there can be. */
static int count_blocks(const layout *l) {
  int count = 0;
  for (int g = 0; g < l->groups; g++) {
    int rows = l->group_first[g + 1] - l->group_first[g], cone = l->cone_rows[l->group_first[g]];
    if (cone > 1) count++, rows -= cone;
    count += (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
  }
  return count;
}

/* The most nodes that a row can add. */
static size_t row_nodes(const builder *m, int row) {
  const lcplug_system *s = m->system;
  size_t count = 2;
  for (int k = sparse_begin(s, row); k < sparse_end(s, row); k++) {
    int coordinate = s->sparse_coordinate[k];
    count += (size_t)((coordinate - s->group_begin[m->group_of[coordinate]]) / NODE_SIZE + 1);
  }
  return count;
}

/* The most that block_node can need: a row counts for itself, and a normal for the blocks behind it. */
static size_t count_nodes(const builder *m) {
  const layout *l = m->layout;
  size_t count = 0;
  for (int g = 0; g < l->groups; g++) {
    int first = l->group_first[g], end = l->group_first[g + 1];
    for (int i = first; i < end; i++) count += row_nodes(m, l->row[i]);
    if (end - first > 1) count += (size_t)((end - first - 1) / BLOCK_ROWS + 1) * row_nodes(m, l->row[first]);
  }
  return count;
}

/* ---- colours ----------------------------------------------------------------------------------------- */

static int padded_rows(int rows) { return rows > 1 ? BLOCK_ROWS : 1; }

static void sort_by_digit(builder *m, int shift) {
  int begin[DIGIT + 1] = {0};
  for (int k = 0; k < m->blocks; k++) begin[(m->block[k].key >> shift) % DIGIT + 1]++;
  for (int d = 0; d < DIGIT; d++) begin[d + 1] += begin[d];
  for (int k = 0; k < m->blocks; k++) {
    int next = m->order[k];
    m->spare[begin[(m->block[next].key >> shift) % DIGIT]++] = next;
  }
  int *swap = m->order;
  m->order = m->spare;
  m->spare = swap;
}

/* Blocks by their first body, so that a colour walks through the bodies in order. */
static int sort_by_node(builder *m) {
  int *begin = TAKE(m->workspace, int, m->nodes + 2);
  if (!begin) return 0;
  memset(begin, 0, ((size_t)m->nodes + 2) * sizeof *begin);
  for (int k = 0; k < m->blocks; k++) {
    row_block *b = &m->block[k];
    int least = m->nodes;
    for (int s = 0; s < b->segments; s++)
      if (m->block_node[b->node + s] < least) least = m->block_node[b->node + s];
    b->key = least;
    begin[least + 1]++;
  }
  for (int d = 0; d <= m->nodes; d++) begin[d + 1] += begin[d];
  for (int k = 0; k < m->blocks; k++) m->order[begin[m->block[k].key]++] = k;
  return 1;
}

/* Sort key: joints before contacts, then by colour, then what a group must have in common. */
static int sort_key(const row_block *b, int colour) {
  int segments = b->segments < KEY_SEGMENTS ? b->segments : KEY_SEGMENTS - 1;
  int alike = (padded_rows(b->rows) > 1 ? 2 : 0) + b->cone;
  return (((b->contact * (COLOURS + 1) + colour) * 4) + alike) * KEY_SEGMENTS + segments;
}
_Static_assert((2 * (COLOURS + 1) * 4) * (long)KEY_SEGMENTS <= (long)DIGIT * DIGIT, "two digits");

static int phase_of(const row_block *b) { return b->key / KEY_SEGMENTS / 4; }
static int is_one_by_one(const row_block *b) { return phase_of(b) % (COLOURS + 1) == ONE_BY_ONE; }

static int colour_blocks(builder *m) {
  uint64_t *taken = TAKE(m->workspace, uint64_t, m->nodes);
  if (!taken) return 0;
  for (int contact = 0; contact < 2; contact++) {
    memset(taken, 0, (size_t)m->nodes * sizeof *taken);
    for (int k = 0; k < m->blocks; k++) {
      row_block *b = &m->block[m->order[k]];
      const int *node = m->block_node + b->node;
      if (b->contact != contact) continue;
      uint64_t used = 0;
      for (int s = 0; s < b->segments; s++) used |= taken[node[s]];
      /* Without a node nothing would keep a block apart from its normal's. */
      int colour = b->segments && ~used ? __builtin_ctzll(~used) : ONE_BY_ONE;
      for (int s = 0; s < b->segments && colour < COLOURS; s++) taken[node[s]] |= (uint64_t)1 << colour;
      b->key = sort_key(b, colour);
    }
  }
  return 1;
}

/* ---- groups ------------------------------------------------------------------------------------------ */

/* How many of the blocks from order[k] on fill one group. */
static int group_length(const builder *m, int k) {
  const row_block *b = &m->block[m->order[k]];
  int length = 1;
  while (length < LANES && !is_one_by_one(b) && k + length < m->blocks &&
         m->block[m->order[k + length]].key / KEY_SEGMENTS == b->key / KEY_SEGMENTS)
    length++;
  return length;
}

/* The group of blocks order[k] .. : the last one of equal key has the most segments. */
static lane_group group_of_blocks(const builder *m, int k, int length) {
  lane_group g = {.rows = padded_rows(m->block[m->order[k]].rows), .cone = m->block[m->order[k]].cone};
  for (int l = 0; l < length; l++) {
    int segments = m->block[m->order[k + l]].segments;
    if (segments > g.segments) g.segments = segments;
  }
  if (!g.segments) g.segments = 1;
  return g;
}

static size_t group_q(const lane_group *g) {
  return (size_t)g->segments * (size_t)g->rows * NODE_SIZE * LANES;
}
static size_t group_nodes(const lane_group *g) { return (size_t)g->segments * LANES; }
static size_t group_local(const lane_group *g) {
  return 2 * LANES * (size_t)(g->rows > 1 ? LOCAL_SIZE : 1);
}

/* Goes through all groups; the first time to count, the second time to put them down. */
static void place_groups(jacobian *j, const builder *m, lane_group *total) {
  *total = (lane_group){0};
  j->groups = j->phases = 0;
  int last_phase = -1;
  for (int k = 0, length; k < m->blocks; k += length) {
    const row_block *b = &m->block[m->order[k]];
    length = group_length(m, k);
    lane_group g = group_of_blocks(m, k, length);
    g.first = total->first, g.q = total->q, g.node = total->node, g.local = total->local;
    total->first += g.rows;
    total->q += group_q(&g), total->node += group_nodes(&g), total->local += group_local(&g);
    int phase = phase_of(b);
    j->phases += phase != last_phase;
    last_phase = phase;
    if (j->group) {
      j->group[j->groups] = g;
      lane_phase *p = &j->phase[j->phases - 1];
      if (p->end == 0) *p = (lane_phase){j->groups, j->groups, is_one_by_one(b)};
      p->end = j->groups + 1;
    }
    j->groups++;
  }
}

static int take_arrays(jacobian *j, const lane_group *total, lcplug_workspace *workspace) {
  j->lane_rows = total->first;
  j->group = TAKE(workspace, lane_group, j->groups);
  j->phase = TAKE(workspace, lane_phase, j->phases);
  j->block_first = TAKE(workspace, int, j->groups * LANES);
  j->block_rows = TAKE(workspace, unsigned char, j->groups * LANES);
  j->place = TAKE(workspace, int, j->layout->n);
  j->node = TAKE(workspace, int, total->node);
  j->q = TAKE(workspace, double, total->q);
  j->local = TAKE(workspace, double, total->local);
  j->cfm = TAKE(workspace, double, lcplug_lane_elements(j));
  j->state = TAKE(workspace, double, lcplug_lane_state_size(j));
  j->x = TAKE(workspace, double, lcplug_lane_elements(j));
  j->y = TAKE(workspace, double, lcplug_lane_elements(j));
  if (!j->group || !j->phase || !j->block_first || !j->block_rows || !j->place || !j->node || !j->q ||
      !j->local || !j->cfm || !j->state || !j->x || !j->y)
    return 0;
  memset(j->phase, 0, (size_t)j->phases * sizeof *j->phase);
  memset(j->block_first, -1, (size_t)j->groups * LANES * sizeof *j->block_first);
  memset(j->block_rows, 0, (size_t)j->groups * LANES);
  memset(j->q, 0, total->q * sizeof *j->q);
  memset(j->cfm, 0, lcplug_lane_elements(j) * sizeof *j->cfm);
  for (size_t k = 0; k < total->node; k++) j->node[k] = j->nodes;
  return 1;
}

/* Adds the scaled row to its lane; q is the group's Q at row r of this lane. */
static void add_row(const builder *m, const row_block *b, const lane_group *g, int row, double *q) {
  const lcplug_system *s = m->system;
  size_t segment = (size_t)g->rows * NODE_SIZE * LANES;
  for (int side = 0; s->body && side < 2; side++) {
    int body = s->body[2 * row + side];
    if (body < 0 || m->body_node[body] < 0) continue;
    const double *j = s->jacobian + (size_t)row * ROW_SIZE + side * BODY_SIZE;
    const double *l = m->body_l + (size_t)body * BODY_L, *turn = l + 1;
    double *out = q + (size_t)segment_of(m, b, m->body_node[body]) * segment;
    for (int c = 0; c < 3; c++) out[c * LANES] += l[0] * j[c];
    out[3 * LANES] += j[3] * turn[0] + j[4] * turn[3] + j[5] * turn[6];
    out[4 * LANES] += j[4] * turn[4] + j[5] * turn[7];
    out[5 * LANES] += j[5] * turn[8];
  }
  for (int k = sparse_begin(s, row); k < sparse_end(s, row); k++) {
    int group = m->group_of[s->sparse_coordinate[k]], begin = s->group_begin[group];
    int size = s->group_begin[group + 1] - begin, r = s->sparse_coordinate[k] - begin;
    const double *l = m->group_l[group] + (size_t)r * (size_t)size;
    for (int c = 0; c <= r; c++) {
      int node = segment_of(m, b, m->group_node[group] + c / NODE_SIZE);
      q[(size_t)node * segment + (size_t)(c % NODE_SIZE) * LANES] += s->sparse_value[k] * l[c];
    }
  }
}

static void fill_lane(jacobian *j, const builder *m, int group, int lane, const row_block *b) {
  const lane_group *g = &j->group[group];
  j->block_first[group * LANES + lane] = b->first;
  j->block_rows[group * LANES + lane] = (unsigned char)b->rows;
  for (int s = 0; s < b->segments; s++)
    j->node[g->node + (size_t)(s * LANES + lane)] = m->block_node[b->node + s];
  for (int r = 0; r < b->rows; r++) {
    int row = m->layout->row[b->first + r], element = (g->first + r) * LANES + lane;
    j->place[b->first + r] = element;
    if (m->system->cfm) j->cfm[element] = m->system->cfm[row];
    add_row(m, b, g, row, j->q + g->q + (size_t)r * NODE_SIZE * LANES + lane);
  }
}

/* ---- a block's own part of A ------------------------------------------------------------------------ */

/* A_BB, lower half by rows. */
static void own_blocks(const jacobian *j, const lane_group *g, four *a) {
  const four *q = (const four *)(j->q + g->q), *cfm = (const four *)j->cfm + g->first;
  for (int r = 0, k = 0; r < g->rows; r++)
    for (int c = 0; c <= r; c++, k++) {
      four sum = {0};
      if (r == c) sum = cfm[r];
      for (int s = 0; s < g->segments; s++) {
        const four *qr = q + (s * g->rows + r) * NODE_SIZE, *qc = q + (s * g->rows + c) * NODE_SIZE;
        for (int i = 0; i < NODE_SIZE; i++) sum += qr[i] * qc[i];
      }
      a[k] = sum;
    }
}

/* Rows that are not there, or are all zeros, need something to be divided by. */
static void fill_diagonal(four *a, int rows, int lane) {
  static const int diagonal[BLOCK_ROWS] = {0, 2, 5};
  double trace = 0.0;
  for (int r = 0; r < rows; r++) trace += a[diagonal[r]][lane];
  for (int r = 0; r < rows; r++)
    if (a[diagonal[r]][lane] == 0.0) a[diagonal[r]][lane] = trace > 0.0 ? trace : 1.0;
}

/* By cofactors; the ridge keeps the determinant of redundant rows away from 0. */
static void invert(const four *a, int rows, four *inverse) {
  if (rows == 1) {
    inverse[0] = 1.0 / a[0];
    return;
  }
  four ridge = RIDGE * (a[0] + a[2] + a[5]);
  four a00 = a[0] + ridge, a10 = a[1], a11 = a[2] + ridge, a20 = a[3], a21 = a[4], a22 = a[5] + ridge;
  four c00 = a11 * a22 - a21 * a21, c10 = a20 * a21 - a10 * a22, c20 = a10 * a21 - a20 * a11;
  four scale = 1.0 / (a00 * c00 + a10 * c10 + a20 * c20);
  inverse[0] = scale * c00;
  inverse[1] = scale * c10;
  inverse[2] = scale * (a00 * a22 - a20 * a20);
  inverse[3] = scale * c20;
  inverse[4] = scale * (a10 * a20 - a00 * a21);
  inverse[5] = scale * (a00 * a11 - a10 * a10);
}

static void fill_local(jacobian *j) {
  for (int k = 0; k < j->groups; k++) {
    const lane_group *g = &j->group[k];
    four *a = (four *)(j->local + g->local);
    own_blocks(j, g, a);
    for (int lane = 0; lane < LANES; lane++) fill_diagonal(a, g->rows, lane);
    invert(a, g->rows, a + (g->rows > 1 ? LOCAL_SIZE : 1));
  }
}

/* ---- all together ------------------------------------------------------------------------------------ */

static lcplug_error find_blocks(builder *m) {
  lcplug_error error = split_bodies(m);
  if (!error) error = split_groups(m);
  if (error) return error;
  m->block = TAKE(m->workspace, row_block, count_blocks(m->layout));
  m->block_node = TAKE(m->workspace, int, count_nodes(m));
  if (!m->block || !m->block_node) return LCPLUG_ERROR_MEMORY;
  cut_blocks(m);
  m->order = TAKE(m->workspace, int, m->blocks);
  m->spare = TAKE(m->workspace, int, m->blocks);
  if (!m->order || !m->spare || !sort_by_node(m) || !colour_blocks(m)) return LCPLUG_ERROR_MEMORY;
  sort_by_digit(m, 0);
  sort_by_digit(m, 10);
  return LCPLUG_OK;
}

lcplug_error lcplug_lanes_build(jacobian *j, const lcplug_system *system, const layout *l,
                                lcplug_workspace *workspace) {
  builder m = {.system = system, .layout = l, .workspace = workspace};
  lcplug_error error = find_blocks(&m);
  if (error) return error;
  *j = (jacobian){.layout = l, .team = system->team, .nodes = m.nodes};
  lane_group total;
  place_groups(j, &m, &total);
  if (!take_arrays(j, &total, workspace)) return LCPLUG_ERROR_MEMORY;
  place_groups(j, &m, &total);
  for (int k = 0, group = 0, length; k < m.blocks; k += length, group++) {
    length = group_length(&m, k);
    for (int lane = 0; lane < length; lane++)
      fill_lane(j, &m, group, lane, &m.block[m.order[k + lane]]);
  }
  fill_local(j);
  return LCPLUG_OK;
}

size_t lcplug_lane_state_size(const jacobian *j) {
  return ((size_t)j->nodes + (size_t)lcplug_team_size(j->team)) * NODE_ROOM;
}

void lcplug_lanes_load(const jacobian *j, const double *x, double *lanes) {
  memset(lanes, 0, lcplug_lane_elements(j) * sizeof *lanes);
  for (int i = 0; i < j->layout->n; i++) lanes[j->place[i]] = x[i];
}

void lcplug_lanes_unload(const jacobian *j, const double *lanes, double *x) {
  for (int i = 0; i < j->layout->n; i++) x[i] = lanes[j->place[i]];
}

/* ---- the model in lane order -------------------------------------------------------------------------- */

static int take_model(lane_model *lm, const jacobian *j, lcplug_workspace *workspace) {
  double **vectors[] = {&lm->b, &lm->scale, &lm->lo, &lm->hi, &lm->mu};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
    if (!(*vectors[k] = TAKE(workspace, double, lcplug_lane_elements(j)))) return 0;
  lm->kind = TAKE(workspace, unsigned char, j->groups);
  return lm->kind != NULL;
}

/* Rows that are not there carry no force and cost nothing. */
static void clear_model(lane_model *lm) {
  size_t elements = lcplug_lane_elements(lm->j);
  for (size_t k = 0; k < elements; k++) {
    lm->b[k] = lm->lo[k] = lm->hi[k] = 0.0;
    lm->scale[k] = 1.0;
    lm->mu[k] = -1.0;
  }
}

/* Only rolling and spinning rows have their normal in another block. */
static int couple_outside(lane_model *lm, int element, int normal, lcplug_workspace *workspace) {
  if (!lm->normal) {
    lm->normal = TAKE(workspace, int, lcplug_lane_elements(lm->j));
    if (!lm->normal) return 0;
    memset(lm->normal, -1, lcplug_lane_elements(lm->j) * sizeof *lm->normal);
  }
  lm->normal[element] = normal;
  return 1;
}

static void set_cone(lane_model *lm, int group, int lane, const force_set *set, double scale) {
  int element = lm->j->group[group].first * LANES + lane;
  for (int r = 0; r < BLOCK_ROWS; r++) {
    lm->mu[element + r * LANES] = set->mu[r == 2 ? 1 : 0];
    lm->scale[element + r * LANES] = scale;
  }
  if (set->kind == SET_ELLIPSE) lm->kind[group] = LANE_ELLIPSE;
}

static int set_row(lane_model *lm, int group, int element, int block_first, const force_set *set,
                   double scale, lcplug_workspace *workspace) {
  lm->scale[element] = scale;
  lm->lo[element] = set->kind == SET_FREE ? -INFINITY : set->lo;
  lm->hi[element] = set->kind == SET_FREE ? INFINITY : set->hi;
  if (set->kind != SET_COUPLED) return 1;
  lm->kind[group] = LANE_COUPLED;
  lm->mu[element] = set->mu[0];
  return set->normal == block_first ||
         couple_outside(lm, element, lm->j->place[set->normal], workspace);
}

lcplug_error lcplug_lane_model_build(lane_model *lm, const jacobian *j, const model *m,
                                     lcplug_workspace *workspace) {
  *lm = (lane_model){.j = j, .m = m};
  if (!take_model(lm, j, workspace)) return LCPLUG_ERROR_MEMORY;
  int *set_of = TAKE(workspace, int, m->n);
  if (!set_of) return LCPLUG_ERROR_MEMORY;
  for (int k = 0; k < m->blocks; k++)
    for (int r = 0; r < m->sets[k].rows; r++) set_of[m->sets[k].first + r] = k;
  clear_model(lm);
  for (int k = 0; k < j->groups * LANES; k++) {
    int group = k / LANES, lane = k % LANES, row = j->block_first[k];
    if (lane == 0) lm->kind[group] = LANE_ROWS;
    if (row < 0) continue;
    int cone = m->sets[set_of[row]].rows > 1;
    if (cone && lm->kind[group] == LANE_ROWS) lm->kind[group] = LANE_CONE;
    if (cone) set_cone(lm, group, lane, &m->sets[set_of[row]], m->scale[set_of[row]]);
    for (int r = 0; r < j->block_rows[k]; r++) {
      int element = (j->group[group].first + r) * LANES + lane, set = set_of[row + r];
      lm->b[element] = m->b[row + r];
      if (!cone && !set_row(lm, group, element, row, &m->sets[set], m->scale[set], workspace))
        return LCPLUG_ERROR_MEMORY;
    }
  }
  return LCPLUG_OK;
}

/* ---- passes -------------------------------------------------------------------------------------------- */

typedef struct pass_call {
  const lane_run *run;
  lane_pass *pass;
  int backward;
  double *worst;
  lane_sums *parts;
} pass_call;

static void clear_own_node(const lane_run *run, int member) {
  memset(run->state + ((size_t)run->j->nodes + (size_t)member) * NODE_ROOM, 0,
         NODE_ROOM * sizeof *run->state);
}

/* A member's share of groups begin .. end - 1; all of them to the first if they are few. */
static void share(int *begin, int *end, int member, int members) {
  int count = *end - *begin, first = *begin;
  if (count < SMALL_PHASE * members) {
    if (member) *end = first;
    return;
  }
  *begin = first + (int)((long)count * member / members);
  *end = first + (int)((long)count * (member + 1) / members);
}

static int is_shared(const lane_phase *p, int members) {
  return !p->one_by_one && p->end - p->begin >= SMALL_PHASE * members;
}

static void run_phase(const pass_call *call, const lane_phase *p, int member, int members) {
  int begin = p->begin, end = p->end;
  if (!p->one_by_one) {
    share(&begin, &end, member, members);
    call->pass(call->run, begin, end, member);
    return;
  }
  for (int k = 0; member == 0 && k < end - begin; k++) {
    int group = call->backward ? end - 1 - k : begin + k;
    call->pass(call->run, group, group + 1, member);
  }
}

/* Members meet between phases, but not between two that the first does alone. */
static void by_phases(void *argument, int member, int members) {
  const pass_call *call = argument;
  const jacobian *j = call->run->j;
  int shared_before = 0;
  clear_own_node(call->run, member);
  for (int k = 0; k < j->phases; k++) {
    const lane_phase *p = &j->phase[call->backward ? j->phases - 1 - k : k];
    int shared = is_shared(p, members);
    if (k && (shared || shared_before)) lcplug_team_meet(j->team);
    run_phase(call, p, member, members);
    shared_before = shared;
  }
}

void lcplug_lanes_by_phases(const lane_run *run, lane_pass *pass, int backward) {
  pass_call call = {.run = run, .pass = pass, .backward = backward};
  lcplug_team_run(run->j->team, by_phases, &call);
}

static void at_once(void *argument, int member, int members) {
  const pass_call *call = argument;
  int begin = 0, end = call->run->j->groups;
  clear_own_node(call->run, member);
  share(&begin, &end, member, members);
  call->pass(call->run, begin, end, member);
}

void lcplug_lanes_at_once(const lane_run *run, lane_pass *pass) {
  pass_call call = {.run = run, .pass = pass};
  lcplug_team_run(run->j->team, at_once, &call);
}

/* Sums go by parts that do not depend on who makes them. */
static void judge_parts(void *argument, int member, int members) {
  const pass_call *call = argument;
  const jacobian *j = call->run->j;
  const lane_kernels *kernels = lcplug_lane_kernels();
  int parts = lcplug_lane_parts(j);
  clear_own_node(call->run, member);
  int first = (int)((long)parts * member / members), last = (int)((long)parts * (member + 1) / members);
  for (int k = first; k < last; k++) {
    int begin = k * PART_GROUPS;
    int end = begin + PART_GROUPS < j->groups ? begin + PART_GROUPS : j->groups;
    if (call->worst) call->worst[k] = kernels->worst(call->run, begin, end, member);
    else call->parts[k] = kernels->judge(call->run, begin, end, member);
  }
}

double lcplug_lanes_worst(const lane_run *run, double *parts) {
  pass_call call = {.run = run, .worst = parts};
  lcplug_team_run(run->j->team, judge_parts, &call);
  double worst = 0.0;
  for (int k = 0; k < lcplug_lane_parts(run->j); k++)
    if (!(parts[k] <= worst)) worst = parts[k]; /* a NaN stays */
  return worst;
}

lane_sums lcplug_lanes_judge(const lane_run *run, lane_sums *parts) {
  pass_call call = {.run = run, .parts = parts};
  lcplug_team_run(run->j->team, judge_parts, &call);
  lane_sums sums = {0, 0, 0, 0};
  for (int k = 0; k < lcplug_lane_parts(run->j); k++) {
    sums.curvature += parts[k].curvature;
    sums.length += parts[k].length;
    sums.slope += parts[k].slope;
    if (!(parts[k].worst <= sums.worst)) sums.worst = parts[k].worst;
  }
  return sums;
}

void lcplug_lanes_velocities(const lane_run *run) {
  memset(run->state, 0, lcplug_lane_state_size(run->j) * sizeof *run->state);
  lcplug_lanes_by_phases(run, lcplug_lane_kernels()->scatter, 0);
}

/* ---- iterates ------------------------------------------------------------------------------------------ */

/* A guess that leaves this many times what no force leaves is no help. */
static const double FAR_OFF = 100.0;

double lcplug_lanes_residual(const lane_run *run, double *parts) {
  lcplug_lanes_velocities(run);
  return lcplug_lanes_worst(run, parts) / run->lm->m->unit;
}

static int any_force(const double *x, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] != 0.0) return 1;
  return 0;
}

int lcplug_lanes_begin(const lane_run *run, iteration *it, double *parts, double *scratch) {
  const model *m = run->lm->m;
  lcplug_make_feasible(m, it->x);
  lcplug_lanes_load(run->j, it->x, run->x);
  it->residual = lcplug_lanes_residual(run, parts);
  if (any_force(it->x, m->n)) {
    memset(scratch, 0, (size_t)m->n * sizeof *scratch);
    lcplug_make_feasible(m, scratch); /* bounds need not contain 0 */
    lcplug_lanes_load(run->j, scratch, run->x);
    double without = lcplug_lanes_residual(run, parts);
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

int lcplug_lanes_observe(const lane_run *run, iteration *it, double residual, double *scratch) {
  const model *m = run->lm->m;
  double rounding = 0.0;
  if (residual < it->residual) {
    lcplug_lanes_unload(run->j, run->x, scratch);
    rounding = lcplug_rounding_level(m, scratch);
  }
  return lcplug_iteration_keep(it, m->n, scratch, residual, rounding);
}
