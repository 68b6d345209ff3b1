/* lanes.c - from the rows of a system to groups of eight independent blocks; see lanes.h.
 *
 *     split the masses -> cut the rows into blocks -> colour the blocks -> sort them by colour
 *     -> fill groups with frames or rows -> their own 3 x 3 blocks and the inverses of these
 *
 * Large systems have tiles, ranges of nodes: contacts within a tile go first, tile by tile, so that
 * its velocities are read once and stay in the cache; then those between tiles.
 *
 * Colours are given greedily, the lowest one that no neighbour has; blocks that find all taken (a
 * body with more contacts than there are colours) are done one by one at the end. */
#include "lanes.h"

#include <math.h>
#include <string.h>

#include "system.h"

enum {
  COLOURS = 64,
  ONE_BY_ONE = COLOURS, /* the colour of those who got none */
  KINDS = 5, /* of blocks, that groups are not made across */
  KEY_SEGMENTS = 1 << 10,
  DIGIT = 1 << 10, /* of a key, for sorting: a key has two */
  /* Nodes of a tile: few enough for a core's cache, and enough that most contacts stay within
   * one. */
  SMALLEST_TILE = 1 << 11,
  LARGEST_TILE = 1 << 13,
  TILES =
      8 /* that there are if their size allows; with fewer than half of them threads would starve */
};

/* Added to a block's diagonal before it is inverted, as a part of it: redundant rows are
 * singular. */
static const double RIDGE = 1e-10;

/* Of the largest element: by how much rows from a lever may differ from those that were given. */
static const double LEVER_ROUNDING = 1e-14;

typedef struct row_block {
  int first, rows;    /* in the solver's order */
  int node, segments; /* its nodes stand in block_node from `node` */
  int contact, cone, frame;
  int turn; /* 0: joints, then one for each tile, then all other contacts */
  int key;
} row_block;

/* A contact's rows, told by a frame and a lever to it from each of its nodes. */
typedef struct contact_frame {
  double row[BLOCK_ROWS][3];
  double lever[2][3];
} contact_frame;

typedef struct builder {
  jacobian *j;
  const lcplug_system *system;
  const layout *layout;
  lcplug_workspace *workspace;
  row_block *block;
  int blocks;
  int *block_node;
  int *order, *spare;
  int tiles;
} builder;

enum { BODY_L = 1 + BODY_SYMMETRY };

/* ---- masses and nodes ------------------------------------------------------------------------ */

static int is_fixed(const double *inverse_inertia, double inverse_mass) {
  for (int k = 0; k < BODY_SYMMETRY; k++)
    if (inverse_inertia[k] != 0.0) return 0;
  return inverse_mass == 0.0;
}

static lcplug_error split_bodies(builder *m) {
  const lcplug_system *s = m->system;
  mass_roots *roots = &m->j->roots;
  roots->body = TAKE(m->workspace, double, (size_t)s->bodies * BODY_L);
  roots->body_node = TAKE(m->workspace, int, s->bodies);
  if (!roots->body || !roots->body_node) return LCPLUG_ERROR_MEMORY;
  for (int k = 0; k < s->bodies; k++) {
    const double *inertia = s->inverse_inertia + (size_t)k * BODY_SYMMETRY;
    double *l = roots->body + (size_t)k * BODY_L;
    l[0] = sqrt(s->inverse_mass[k]);
    if (!lcplug_split_mass(inertia, 3, l + 1)) return LCPLUG_ERROR_MASS;
    roots->body_node[k] = is_fixed(inertia, s->inverse_mass[k]) ? -1 : m->j->nodes++;
  }
  return LCPLUG_OK;
}

static lcplug_error split_groups(builder *m) {
  const lcplug_system *s = m->system;
  mass_roots *roots = &m->j->roots;
  roots->group = TAKE(m->workspace, double *, s->groups);
  roots->group_node = TAKE(m->workspace, int, s->groups);
  roots->group_of = TAKE(m->workspace, int, lcplug_articulated(s));
  if (!roots->group || !roots->group_node || !roots->group_of) return LCPLUG_ERROR_MEMORY;
  const double *mass = s->group_inverse_mass;
  for (int g = 0; g < s->groups; g++) {
    int size = s->group_begin[g + 1] - s->group_begin[g];
    roots->group[g] = TAKE(m->workspace, double, (size_t)size * (size_t)size);
    if (!roots->group[g]) return LCPLUG_ERROR_MEMORY;
    if (!lcplug_split_mass(mass, size, roots->group[g])) return LCPLUG_ERROR_MASS;
    mass += (size_t)size * (size_t)size;
    roots->group_node[g] = m->j->nodes;
    m->j->nodes += (size + NODE_SIZE - 1) / NODE_SIZE;
    for (int k = s->group_begin[g]; k < s->group_begin[g + 1]; k++) roots->group_of[k] = g;
  }
  return LCPLUG_OK;
}

/* The inverse mass of every node; velocities of articulated groups are scaled, so that theirs is
 * 1. */
static void fill_masses(jacobian *j) {
  memset(j->mass, 0, lcplug_lane_state_size(j) * sizeof *j->mass);
  int bodies = 0;
  for (int k = 0; k < j->system->bodies; k++) {
    if (j->roots.body_node[k] < 0) continue;
    const double *l = j->roots.body + (size_t)k * BODY_L, *turn = l + 1;
    double *mass = j->mass + (size_t)j->roots.body_node[k] * NODE_ROOM;
    *mass++ = l[0] * l[0];
    for (int r = 0; r < 3; r++)
      for (int c = 0; c <= r; c++, mass++)
        for (int i = 0; i <= c; i++) *mass += turn[3 * r + i] * turn[3 * c + i];
    bodies++;
  }
  for (int k = bodies; k < j->nodes; k++) {
    double *mass = j->mass + (size_t)k * NODE_ROOM;
    mass[0] = mass[1] = mass[3] = mass[6] = 1.0;
  }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int sparse_begin(const lcplug_system *s, int row) {
  return s->sparse_begin ? s->sparse_begin[row] : 0;
}
static int sparse_end(const lcplug_system *s, int row) {
  return s->sparse_begin ? s->sparse_begin[row + 1] : 0;
}

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
    if (body >= 0) add_node(m, b, m->j->roots.body_node[body]);
  }
  for (int k = sparse_begin(s, row); k < sparse_end(s, row); k++) {
    int g = m->j->roots.group_of[s->sparse_coordinate[k]];
    int last = (s->sparse_coordinate[k] - s->group_begin[g]) / NODE_SIZE;
    for (int node = 0; node <= last; node++) add_node(m, b, m->j->roots.group_node[g] + node);
  }
}

/* The cross product p x q. */
static void cross(const double *p, const double *q, double *out) {
  out[0] = p[1] * q[2] - p[2] * q[1];
  out[1] = p[2] * q[0] - p[0] * q[2];
  out[2] = p[0] * q[1] - p[1] * q[0];
}

/* The lever r whose cross products with the rows of a frame are `turn`, up to rounding: for rows f
 * that are unit vectors at right angles the sum of f x (r x f) is 2 r.  Returns 0 if there is
 * none. */
static int find_lever(const double (*frame)[3], const double (*turn)[3], double *lever) {
  double part[3], largest = 0.0;
  for (int c = 0; c < 3; c++) lever[c] = 0.0;
  for (int r = 0; r < BLOCK_ROWS; r++) {
    cross(frame[r], turn[r], part);
    for (int c = 0; c < 3; c++) {
      double size = fabs(turn[r][c]);
      lever[c] += 0.5 * part[c];
      largest = size > largest ? size : largest;
    }
  }
  for (int r = 0; r < BLOCK_ROWS; r++) {
    cross(lever, frame[r], part);
    for (int c = 0; c < 3; c++)
      if (!(fabs(part[c] - turn[r][c]) <= LEVER_ROUNDING * largest)) return 0;
  }
  return 1;
}

/* 1 or -1 if the last row is the cross product of the others or its opposite, up to rounding. */
static int hand_of(const double (*frame)[3]) {
  double third[3], apart[2] = {0.0, 0.0};
  cross(frame[0], frame[1], third);
  for (int c = 0; c < 3; c++) {
    double right = fabs(frame[2][c] - third[c]), left = fabs(frame[2][c] + third[c]);
    apart[0] = right > apart[0] ? right : apart[0];
    apart[1] = left > apart[1] ? left : apart[1];
  }
  return apart[0] <= LEVER_ROUNDING ? 1 : apart[1] <= LEVER_ROUNDING ? -1 : 0;
}

/* Whether a contact of three rows on bodies is a frame with levers, and of which hand; the frame is
 * that of its first node, and the second one's is opposite. */
static int find_frame(const builder *m, const row_block *b, contact_frame *frame) {
  const lcplug_system *s = m->system;
  const int *row = m->layout->row + b->first, *node = m->block_node + b->node;
  if (!b->cone || b->rows != BLOCK_ROWS || !s->body) return 0;
  *frame = (contact_frame){0};
  int found = 0;
  for (int side = 0; side < 2; side++) {
    int body = s->body[2 * row[0] + side];
    for (int r = 1; r < BLOCK_ROWS; r++)
      if (s->body[2 * row[r] + side] != body) return 0;
    if (body < 0 || m->j->roots.body_node[body] < 0) continue;
    if (found == b->segments || node[found] != m->j->roots.body_node[body]) return 0;
    double turn[BLOCK_ROWS][3];
    for (int r = 0; r < BLOCK_ROWS; r++) {
      const double *j = s->jacobian + (size_t)row[r] * ROW_SIZE + side * BODY_SIZE;
      for (int c = 0; c < 3; c++) {
        if (found && j[c] != -frame->row[r][c]) return 0;
        if (!found) frame->row[r][c] = j[c];
        turn[r][c] = found ? -j[3 + c] : j[3 + c];
      }
      if (sparse_begin(s, row[r]) < sparse_end(s, row[r])) return 0;
    }
    if (!find_lever((const double(*)[3])frame->row, (const double(*)[3])turn,
                    frame->lever[found++]))
      return 0;
  }
  return found && found == b->segments ? hand_of((const double(*)[3])frame->row) : 0;
}

/* `normal`: the row that others of the block may take their bounds from.  Its nodes count as
 * theirs, so that nobody changes its force while they look at it. */
static void add_block(builder *m, int first, int rows, int normal, int contact, int cone) {
  const row_block *last = m->blocks ? &m->block[m->blocks - 1] : NULL;
  row_block *b = &m->block[m->blocks++];
  *b = (row_block){.first = first, .rows = rows, .contact = contact, .cone = cone};
  b->node = last ? last->node + last->segments : 0;
  for (int i = first; i < first + rows; i++) add_nodes_of_row(m, b, m->layout->row[i]);
  add_nodes_of_row(m, b, m->layout->row[normal]);
  contact_frame frame;
  b->frame = find_frame(m, b, &frame);
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
    count +=
        (size_t)((coordinate - s->group_begin[m->j->roots.group_of[coordinate]]) / NODE_SIZE + 1);
  }
  return count;
}

/* The most that block_node can need: a row counts for itself, and a normal for the blocks behind
 * it. */
static size_t count_nodes(const builder *m) {
  const layout *l = m->layout;
  size_t count = 0;
  for (int g = 0; g < l->groups; g++) {
    int first = l->group_first[g], end = l->group_first[g + 1];
    for (int i = first; i < end; i++) count += row_nodes(m, l->row[i]);
    if (end - first > 1)
      count += (size_t)((end - first - 1) / BLOCK_ROWS + 1) * row_nodes(m, l->row[first]);
  }
  return count;
}

/* ---- colours --------------------------------------------------------------------------------- */

static int padded_rows(int rows) { return rows > 1 ? BLOCK_ROWS : 1; }

/* The key has two digits; the turn comes before them all. */
static int digit_of(const row_block *b, int digit) {
  return digit == 2 ? b->turn : digit ? b->key / DIGIT : b->key % DIGIT;
}

static void sort_by_digit(builder *m, int digit) {
  int begin[DIGIT + 1] = {0};
  for (int k = 0; k < m->blocks; k++) begin[digit_of(&m->block[k], digit) + 1]++;
  for (int d = 0; d < DIGIT; d++) begin[d + 1] += begin[d];
  for (int k = 0; k < m->blocks; k++) {
    int next = m->order[k];
    m->spare[begin[digit_of(&m->block[next], digit)]++] = next;
  }
  int *swap = m->order;
  m->order = m->spare;
  m->spare = swap;
}

/* Blocks by their first body, so that a colour walks through the bodies in order. */
static int sort_by_node(builder *m) {
  int *begin = TAKE(m->workspace, int, m->j->nodes + 2);
  if (!begin) return 0;
  memset(begin, 0, ((size_t)m->j->nodes + 2) * sizeof *begin);
  for (int k = 0; k < m->blocks; k++) {
    row_block *b = &m->block[k];
    int least = m->j->nodes;
    for (int s = 0; s < b->segments; s++)
      if (m->block_node[b->node + s] < least) least = m->block_node[b->node + s];
    b->key = least;
    begin[least + 1]++;
  }
  for (int d = 0; d <= m->j->nodes; d++) begin[d + 1] += begin[d];
  for (int k = 0; k < m->blocks; k++) m->order[begin[m->block[k].key]++] = k;
  return 1;
}

static int tile_size(const builder *m) {
  int size = m->j->nodes / TILES + 1;
  if (size > LARGEST_TILE) size = LARGEST_TILE;
  if (size < SMALLEST_TILE) size = SMALLEST_TILE;
  int least = m->j->nodes / (DIGIT - 2) + 1; /* a turn is one digit */
  return size > least ? size : least;
}

/* Whose turn is when: joints before contacts, and of these first the ones that lie within a
 * tile. */
static void give_turns(builder *m) {
  int size = tile_size(m);
  m->tiles = m->j->nodes / size >= TILES / 2 ? m->j->nodes / size + 1 : 0;
  for (int k = 0; k < m->blocks; k++) {
    row_block *b = &m->block[k];
    const int *node = m->block_node + b->node;
    int inside = m->tiles && b->segments;
    for (int s = 1; s < b->segments; s++) inside = inside && node[s] / size == node[0] / size;
    b->turn = !b->contact ? 0 : inside ? 1 + node[0] / size : 1 + m->tiles;
  }
}

static int is_in_tile(const builder *m, const row_block *b) {
  return b->turn > 0 && b->turn <= m->tiles;
}

/* Sort key: by colour, then what a group must have in common. */
static int sort_key(const row_block *b, int colour) {
  int segments = b->segments < KEY_SEGMENTS ? b->segments : KEY_SEGMENTS - 1;
  int alike = b->frame ? 3 + (b->frame < 0) : b->cone ? 2 : padded_rows(b->rows) > 1;
  return (colour * KINDS + alike) * KEY_SEGMENTS + segments;
}
_Static_assert(((COLOURS + 1) * KINDS) * (long)KEY_SEGMENTS <= (long)DIGIT * DIGIT, "two digits");

static int colour_of(const row_block *b) { return b->key / KEY_SEGMENTS / KINDS; }
static int is_one_by_one(const row_block *b) { return colour_of(b) == ONE_BY_ONE; }

/* All tiles are one phase; joints and other contacts have one for each colour. */
static int phase_of(const builder *m, const row_block *b) {
  if (is_in_tile(m, b)) return COLOURS + 1;
  return b->turn ? COLOURS + 2 + colour_of(b) : colour_of(b);
}

static int colour_blocks(builder *m) {
  uint64_t *taken = TAKE(m->workspace, uint64_t, m->j->nodes);
  if (!taken) return 0;
  for (int kind = 0; kind < 3; kind++) {
    memset(taken, 0, (size_t)m->j->nodes * sizeof *taken);
    for (int k = 0; k < m->blocks; k++) {
      row_block *b = &m->block[m->order[k]];
      const int *node = m->block_node + b->node;
      if (kind != (is_in_tile(m, b) ? 1 : b->turn ? 2 : 0)) continue;
      uint64_t used = 0;
      for (int s = 0; s < b->segments; s++) used |= taken[node[s]];
      /* Without a node nothing would keep a block apart from its normal's. */
      int colour = b->segments && ~used ? __builtin_ctzll(~used) : ONE_BY_ONE;
      for (int s = 0; s < b->segments && colour < COLOURS; s++)
        taken[node[s]] |= (uint64_t)1 << colour;
      b->key = sort_key(b, colour);
    }
  }
  return 1;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* How many of the blocks from order[k] on fill one group. */
static int group_length(const builder *m, int k) {
  const row_block *b = &m->block[m->order[k]];
  int length = 1;
  while (length < LANES && !is_one_by_one(b) && k + length < m->blocks &&
         m->block[m->order[k + length]].turn == b->turn &&
         m->block[m->order[k + length]].key / KEY_SEGMENTS == b->key / KEY_SEGMENTS)
    length++;
  return length;
}

/* The group of blocks order[k] .. : the last one of equal key has the most segments. */
static lane_group group_of_blocks(const builder *m, int k, int length) {
  lane_group g = {.rows = padded_rows(m->block[m->order[k]].rows),
                  .frames = m->block[m->order[k]].frame};
  int fewest = length < LANES ? 0 : m->block[m->order[k]].segments;
  for (int l = 0; l < length; l++) {
    int segments = m->block[m->order[k + l]].segments;
    if (segments > g.segments) g.segments = segments;
    if (segments < fewest) fewest = segments;
  }
  if (!g.segments) g.segments = 1;
  g.lanes = length;
  g.gaps = fewest < g.segments;
  return g;
}

static size_t group_q(const lane_group *g) {
  if (g->frames) return (size_t)(FRAME_SIZE + 3 * g->segments) * LANES;
  return (size_t)g->segments * (size_t)g->rows * NODE_SIZE * LANES;
}
static size_t group_nodes(const lane_group *g) { return (size_t)g->segments * LANES; }
static size_t group_local(const lane_group *g) {
  return 2 * LANES * (size_t)(g->rows > 1 ? LOCAL_SIZE : 1);
}

/* One more group: of the phase and the part before it, or the first of new ones. */
static void place_group(jacobian *j, const lane_group *g, int new_phase, int new_tile,
                        lane_phase phase) {
  int full = !phase.tiles && !new_phase && j->groups - j->part[j->parts - 1] == PART_GROUPS;
  int new_part = new_phase || new_tile || full;
  if (new_part) j->part[j->parts] = j->groups;
  if (new_phase) {
    phase.begin = j->parts;
    j->phase[j->phases++] = phase;
  }
  j->parts += new_part;
  j->phase[j->phases - 1].end = j->parts;
  j->group[j->groups++] = *g;
  j->part[j->parts] = j->groups;
}

/* Goes through all groups; the first time to count, the second time to put them down. */
static void place_groups(jacobian *j, const builder *m, lane_group *total) {
  *total = (lane_group){0};
  int groups = 0, phases = 0, last_phase = -1, last_turn = -1;
  for (int k = 0, length; k < m->blocks; k += length) {
    const row_block *b = &m->block[m->order[k]];
    length = group_length(m, k);
    lane_group g = group_of_blocks(m, k, length);
    g.first = total->first, g.q = total->q, g.node = total->node, g.local = total->local;
    total->first += g.rows;
    total->q += group_q(&g), total->node += group_nodes(&g), total->local += group_local(&g);
    int new_phase = phase_of(m, b) != last_phase, in_tile = is_in_tile(m, b);
    int new_tile = in_tile && b->turn != last_turn;
    last_phase = phase_of(m, b), last_turn = b->turn;
    lane_phase phase = {.one_by_one = !in_tile && is_one_by_one(b), .tiles = in_tile};
    if (j->group) place_group(j, &g, new_phase, new_tile, phase);
    groups++, phases += new_phase;
  }
  j->groups = groups, j->phases = phases;
}

static int take_arrays(jacobian *j, const lane_group *total, int tiles,
                       lcplug_workspace *workspace) {
  j->lane_rows = total->first;
  j->group = TAKE(workspace, lane_group, j->groups);
  j->phase = TAKE(workspace, lane_phase, j->phases);
  j->part = TAKE(workspace, int, j->groups / PART_GROUPS + j->phases + tiles + 1);
  j->block_first = TAKE(workspace, int, j->groups * LANES);
  j->block_rows = TAKE(workspace, unsigned char, j->groups * LANES);
  j->place = TAKE(workspace, int, j->layout->n);
  j->node = TAKE(workspace, int, total->node);
  j->q = TAKE(workspace, double, total->q);
  j->local = TAKE(workspace, double, total->local);
  j->cfm = TAKE(workspace, double, lcplug_lane_elements(j));
  j->same_cfm = TAKE(workspace, double, j->groups);
  j->diagonal = TAKE(workspace, double, j->layout->n);
  j->mass = TAKE(workspace, double, lcplug_lane_state_size(j));
  j->state = TAKE(workspace, double, lcplug_lane_state_size(j));
  j->x = TAKE(workspace, double, lcplug_lane_elements(j));
  j->y = TAKE(workspace, double, lcplug_lane_elements(j));
  if (!j->group || !j->phase || !j->part || !j->block_first || !j->block_rows || !j->place ||
      !j->node || !j->q || !j->local || !j->cfm || !j->same_cfm || !j->diagonal || !j->mass ||
      !j->state || !j->x || !j->y)
    return 0;
  memset(j->block_first, -1, (size_t)j->groups * LANES * sizeof *j->block_first);
  memset(j->block_rows, 0, (size_t)j->groups * LANES);
  memset(j->q, 0, total->q * sizeof *j->q);
  memset(j->cfm, 0, lcplug_lane_elements(j) * sizeof *j->cfm);
  for (size_t k = 0; k < total->node; k++) j->node[k] = j->nodes;
  j->groups = j->phases = 0; /* to be counted again */
  return 1;
}

void lcplug_row_on_node(const jacobian *of, int row, int node, int scaled, double q[NODE_SIZE]) {
  const lcplug_system *s = of->system;
  const mass_roots *roots = &of->roots;
  memset(q, 0, NODE_SIZE * sizeof *q);
  for (int side = 0; s->body && side < 2; side++) {
    int body = s->body[2 * row + side];
    if (body < 0 || roots->body_node[body] != node) continue;
    const double *j = s->jacobian + (size_t)row * ROW_SIZE + side * BODY_SIZE;
    const double *l = roots->body + (size_t)body * BODY_L, *turn = l + 1;
    for (int c = 0; c < 3; c++) q[c] += scaled ? l[0] * j[c] : j[c];
    q[3] += scaled ? j[3] * turn[0] + j[4] * turn[3] + j[5] * turn[6] : j[3];
    q[4] += scaled ? j[4] * turn[4] + j[5] * turn[7] : j[4];
    q[5] += scaled ? j[5] * turn[8] : j[5];
  }
  for (int k = sparse_begin(s, row); k < sparse_end(s, row); k++) {
    int group = roots->group_of[s->sparse_coordinate[k]], begin = s->group_begin[group];
    int size = s->group_begin[group + 1] - begin, r = s->sparse_coordinate[k] - begin;
    const double *l = roots->group[group] + (size_t)r * (size_t)size;
    int first = NODE_SIZE * (node - roots->group_node[group]);
    for (int c = first; c >= 0 && c <= r && c < first + NODE_SIZE; c++)
      q[c - first] += s->sparse_value[k] * l[c];
  }
}

/* q: the group's numbers of this lane. */
static void fill_frame(const contact_frame *frame, int segments, double *q) {
  for (int s = 0; s < segments; s++)
    for (int c = 0; c < 3; c++, q += LANES) *q = frame->lever[s][c];
  for (int k = 0; k < FRAME_SIZE; k++, q += LANES) *q = frame->row[k / 3][k % 3];
}

static void fill_rows(const builder *m, const row_block *b, const lane_group *g, double *q) {
  for (int s = 0; s < b->segments; s++)
    for (int r = 0; r < b->rows; r++) {
      double row[NODE_SIZE], *out = q + (size_t)((s * g->rows + r) * NODE_SIZE * LANES);
      lcplug_row_on_node(m->j, m->layout->row[b->first + r], m->block_node[b->node + s], 0, row);
      for (int c = 0; c < NODE_SIZE; c++) out[c * LANES] = row[c];
    }
}

static void fill_lane(jacobian *j, const builder *m, int group, int lane, const row_block *b) {
  const lane_group *g = &j->group[group];
  j->block_first[group * LANES + lane] = b->first;
  j->block_rows[group * LANES + lane] = (unsigned char)b->rows;
  for (int s = 0; s < b->segments; s++)
    j->node[g->node + (size_t)(s * LANES + lane)] = m->block_node[b->node + s];
  for (int r = 0; r < b->rows; r++) {
    int element = (g->first + r) * LANES + lane;
    j->place[b->first + r] = element;
    if (m->system->cfm) j->cfm[element] = m->system->cfm[m->layout->row[b->first + r]];
  }
  contact_frame frame;
  if (g->frames && find_frame(m, b, &frame)) fill_frame(&frame, g->segments, j->q + g->q + lane);
  else fill_rows(m, b, g, j->q + g->q + lane);
}

/* The CFM that all rows of a group have, or -1: one number to read in place of many. */
static double common_cfm(const jacobian *j, int group) {
  const lane_group *g = &j->group[group];
  double common = j->cfm[g->first * LANES];
  for (int lane = 0; lane < g->lanes; lane++)
    for (int r = 0; r < j->block_rows[group * LANES + lane]; r++)
      if (j->cfm[(g->first + r) * LANES + lane] != common) return -1.0;
  return common;
}

/* ---- a block's own part of A ----------------------------------------------------------------- */

/* One number of each lane. */
typedef double number __attribute__((vector_size(LANES * sizeof(double))));

/* Where the diagonal is in a lower half by rows. */
static const int diagonal_at[BLOCK_ROWS] = {0, 2, 5};

/* A_BB of the block in one lane, lower half by rows. */
static void own_block(const jacobian *j, const builder *m, const lane_group *g, const row_block *b,
                      int lane, number *a) {
  double q[BLOCK_ROWS][NODE_SIZE];
  for (int r = 0; r < b->rows; r++)
    a[r * (r + 3) / 2][lane] = j->cfm[(g->first + r) * LANES + lane];
  for (int s = 0; s < b->segments; s++) {
    for (int r = 0; r < b->rows; r++)
      lcplug_row_on_node(j, m->layout->row[b->first + r], m->block_node[b->node + s], 1, q[r]);
    for (int r = 0, k = 0; r < b->rows; r++)
      for (int c = 0; c <= r; c++, k++)
        for (int i = 0; i < NODE_SIZE; i++) a[k][lane] += q[r][i] * q[c][i];
  }
}

/* A_BB of all lanes at once where blocks are frames: of every node the part of F F' that its mass
 * has, and that of its inertia, which the levers turn. */
static void own_frames(const jacobian *j, const lane_group *g, number *a) {
  const number *lever = (const number *)(j->q + g->q), *kept = lever + 3 * g->segments;
  const number *cfm = (const number *)j->cfm + g->first;
  number frame[3 * BLOCK_ROWS];
  for (int i = 0; i < FRAME_SIZE; i++) frame[i] = kept[i];
  for (int i = 0; i < 3; i++) {
    int a1 = (i + 1) % 3, a2 = (i + 2) % 3;
    frame[6 + i] = g->frames * (kept[a1] * kept[3 + a2] - kept[a2] * kept[3 + a1]);
  }
  for (int r = 0; r < BLOCK_ROWS; r++) a[r * (r + 3) / 2] = cfm[r];
  for (int s = 0; s < g->segments; s++, lever += 3) {
    number m[NODE_ROOM], turn[BLOCK_ROWS][3], push[BLOCK_ROWS][3];
    for (int lane = 0; lane < LANES; lane++) {
      int node = j->node[g->node + (size_t)(s * LANES + lane)];
      const double *mass = j->mass + (size_t)node * NODE_ROOM;
      for (int i = 0; i < NODE_ROOM; i++) m[i][lane] = mass[i];
    }
    for (int r = 0; r < BLOCK_ROWS; r++) {
      const number *f = frame + 3 * r;
      number *t = turn[r];
      t[0] = lever[1] * f[2] - lever[2] * f[1];
      t[1] = lever[2] * f[0] - lever[0] * f[2];
      t[2] = lever[0] * f[1] - lever[1] * f[0];
      push[r][0] = m[1] * t[0] + m[2] * t[1] + m[4] * t[2];
      push[r][1] = m[2] * t[0] + m[3] * t[1] + m[5] * t[2];
      push[r][2] = m[4] * t[0] + m[5] * t[1] + m[6] * t[2];
    }
    for (int r = 0, k = 0; r < BLOCK_ROWS; r++)
      for (int c = 0; c <= r; c++, k++)
        for (int i = 0; i < 3; i++)
          a[k] += m[0] * frame[3 * r + i] * frame[3 * c + i] + turn[r][i] * push[c][i];
  }
}

/* Rows that are not there, or are all zeros, need something to be divided by. */
static void fill_diagonal(number *a, int rows, int lane) {
  double trace = 0.0;
  for (int r = 0; r < rows; r++) trace += a[diagonal_at[r]][lane];
  for (int r = 0; r < rows; r++)
    if (a[diagonal_at[r]][lane] == 0.0) a[diagonal_at[r]][lane] = trace > 0.0 ? trace : 1.0;
}

/* By cofactors; the ridge keeps the determinant of redundant rows away from 0. */
static void invert(const number *a, int rows, number *inverse) {
  if (rows == 1) {
    inverse[0] = 1.0 / a[0];
    return;
  }
  number ridge = RIDGE * (a[0] + a[2] + a[5]);
  number a00 = a[0] + ridge, a10 = a[1], a11 = a[2] + ridge, a20 = a[3], a21 = a[4],
         a22 = a[5] + ridge;
  number c00 = a11 * a22 - a21 * a21, c10 = a20 * a21 - a10 * a22, c20 = a10 * a21 - a20 * a11;
  number scale = 1.0 / (a00 * c00 + a10 * c10 + a20 * c20);
  inverse[0] = scale * c00;
  inverse[1] = scale * c10;
  inverse[2] = scale * (a00 * a22 - a20 * a20);
  inverse[3] = scale * c20;
  inverse[4] = scale * (a10 * a20 - a00 * a21);
  inverse[5] = scale * (a00 * a11 - a10 * a10);
}

/* The blocks order[k] .. of a group. */
static void fill_local(jacobian *j, const builder *m, int group, int k, int length) {
  const lane_group *g = &j->group[group];
  number *a = (number *)(j->local + g->local);
  memset(a, 0, group_local(g) * sizeof(double));
  if (g->frames) own_frames(j, g, a);
  for (int lane = 0; lane < LANES; lane++) {
    const row_block *b = lane < length ? &m->block[m->order[k + lane]] : NULL;
    if (b && !g->frames) own_block(j, m, g, b, lane, a);
    for (int r = 0; b && r < b->rows; r++) j->diagonal[b->first + r] = a[diagonal_at[r]][lane];
    fill_diagonal(a, g->rows, lane);
  }
  invert(a, g->rows, a + (g->rows > 1 ? LOCAL_SIZE : 1));
}

/* ---- all together ---------------------------------------------------------------------------- */

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
  if (!m->order || !m->spare || !sort_by_node(m)) return LCPLUG_ERROR_MEMORY;
  give_turns(m);
  if (!colour_blocks(m)) return LCPLUG_ERROR_MEMORY;
  for (int digit = 0; digit < 3; digit++) sort_by_digit(m, digit);
  return LCPLUG_OK;
}

lcplug_error lcplug_lanes_build(jacobian *j, const lcplug_system *system, const layout *l,
                                lcplug_workspace *workspace) {
  builder m = {.j = j, .system = system, .layout = l, .workspace = workspace};
  *j = (jacobian){.system = system, .layout = l, .team = system->team};
  lcplug_error error = find_blocks(&m);
  if (error) return error;
  lane_group total;
  place_groups(j, &m, &total);
  if (!take_arrays(j, &total, m.tiles, workspace)) return LCPLUG_ERROR_MEMORY;
  place_groups(j, &m, &total);
  fill_masses(j);
  for (int k = 0, group = 0, length; k < m.blocks; k += length, group++) {
    length = group_length(&m, k);
    for (int lane = 0; lane < length; lane++)
      fill_lane(j, &m, group, lane, &m.block[m.order[k + lane]]);
    j->same_cfm[group] = common_cfm(j, group);
    fill_local(j, &m, group, k, length);
  }
  return LCPLUG_OK;
}

size_t lcplug_lane_state_size(const jacobian *j) {
  return ((size_t)j->nodes + (size_t)lcplug_team_size(j->team) + LANES) * NODE_ROOM;
}

void lcplug_lanes_load(const jacobian *j, const double *x, double *lanes) {
  memset(lanes, 0, lcplug_lane_elements(j) * sizeof *lanes);
  for (int i = 0; i < j->layout->n; i++) lanes[j->place[i]] = x[i];
}

void lcplug_lanes_unload(const jacobian *j, const double *lanes, double *x) {
  for (int i = 0; i < j->layout->n; i++) x[i] = lanes[j->place[i]];
}
