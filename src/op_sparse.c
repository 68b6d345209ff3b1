/* op_sparse.c - A as small dense blocks, one block row per group of rows.
 *
 * Both triangles are stored: a block row then holds everything that a change in its group touches,
 * in one stretch of memory, for products and for sweeps alike. */
#include "operator.h"

#include <string.h>

static int group_rows(const layout *l, int group) {
  return l->group_first[group + 1] - l->group_first[group];
}

/* The rows of one group, of which most have three; the sums stay in registers. */
static void apply_three(const linop *op, int g, const double *x, double *out) {
  double sum[3] = {0.0, 0.0, 0.0};
  for (int k = op->block_begin[g]; k < op->block_begin[g + 1]; k++) {
    const block *b = &op->blocks[k];
    const double *v = op->value + b->value, *in = x + b->first;
    if (b->columns == 3) {
      sum[0] += v[0] * in[0] + v[1] * in[1] + v[2] * in[2];
      sum[1] += v[3] * in[0] + v[4] * in[1] + v[5] * in[2];
      sum[2] += v[6] * in[0] + v[7] * in[1] + v[8] * in[2];
      continue;
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < b->columns; j++) sum[i] += *v++ * in[j];
  }
  for (int i = 0; i < 3; i++) out[i] = sum[i];
}

static void apply_rows(const linop *op, int g, int rows, const double *x, double *out) {
  for (int i = 0; i < rows; i++) out[i] = 0.0;
  for (int k = op->block_begin[g]; k < op->block_begin[g + 1]; k++) {
    const block *b = &op->blocks[k];
    const double *v = op->value + b->value, *in = x + b->first;
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < b->columns; j++) out[i] += *v++ * in[j];
  }
}

static void sparse_apply(const linop *op, const double *x, double *y) {
  const layout *l = op->layout;
  for (int g = 0; g < l->groups; g++) {
    int rows = group_rows(l, g);
    if (rows == 3) apply_three(op, g, x, y + l->group_first[g]);
    else apply_rows(op, g, rows, x, y + l->group_first[g]);
  }
}

static const block *diagonal_of(const linop *op, int group) {
  int k = op->block_begin[group];
  while (op->blocks[k].first != op->layout->group_first[group]) k++;
  return &op->blocks[k];
}

static void sparse_diagonal_block(const linop *op, int first, int rows, double *out) {
  const block *b = diagonal_of(op, op->group_of[first]);
  int offset = first - b->first;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++)
      out[i * rows + j] = op->value[b->value + (size_t)((offset + i) * b->columns + offset + j)];
}

static void sparse_diagonal(const linop *op, double *d) {
  for (int g = 0; g < op->layout->groups; g++) {
    const block *b = diagonal_of(op, g);
    for (int i = 0; i < b->columns; i++)
      d[b->first + i] = op->value[b->value + (size_t)(i * b->columns + i)];
  }
}

static int sparse_state_size(const linop *op) { return op->n; }

static void sparse_state_read(const linop *op, const double *state, int first, int rows,
                              double *Ax) {
  (void)op;
  memcpy(Ax, state + first, (size_t)rows * sizeof *Ax);
}

/* Column j of A is row j of its transpose: the block row of the changed group, read along its
 * rows. */
static void sparse_state_add(const linop *op, double *state, int first, int rows,
                             const double *dx) {
  int group = op->group_of[first], offset = first - op->layout->group_first[group];
  for (int k = op->block_begin[group]; k < op->block_begin[group + 1]; k++) {
    const block *b = &op->blocks[k];
    const double *v = op->across + b->value + (size_t)(offset * b->columns);
    double *out = state + b->first;
    for (int i = 0; i < rows; i++, v += b->columns)
      for (int j = 0; j < b->columns; j++) out[j] += v[j] * dx[i];
  }
}

static const linop_table sparse_table = {
    sparse_apply, sparse_diagonal,   sparse_diagonal_block, sparse_state_size,
    sparse_apply, sparse_state_read, sparse_state_add,
};

/* What the construction needs per group while it runs. */
typedef struct builder {
  int *met;        /* met[h] == g: group g has already met its lower neighbour h */
  int *lower_slot; /* block (g, h) */
  int *upper_slot; /* block (h, g) */
  int *next_block; /* where a group's next block goes */
  size_t *next_value;
} builder;

/* How many blocks and values each group will have: a neighbour is a block in both groups. */
static void count_blocks(linop *op, const lower_triangle *a, builder *m) {
  const layout *l = op->layout;
  for (int g = 0; g < l->groups; g++)
    for (size_t k = a->begin[l->group_first[g]]; k < a->begin[l->group_first[g + 1]]; k++) {
      int h = op->group_of[a->column[k]];
      if (m->met[h] == g) continue;
      m->met[h] = g;
      size_t size = (size_t)group_rows(l, g) * (size_t)group_rows(l, h);
      m->next_block[g]++, m->next_value[g] += size;
      if (h != g) m->next_block[h]++, m->next_value[h] += size;
    }
}

/* Turns counts into first positions. */
static void place_blocks(linop *op, builder *m, int *blocks, size_t *values) {
  *blocks = 0, *values = 0;
  for (int g = 0; g < op->layout->groups; g++) {
    int count = m->next_block[g];
    size_t size = m->next_value[g];
    op->block_begin[g] = m->next_block[g] = *blocks;
    m->next_value[g] = *values;
    *blocks += count, *values += size;
  }
  op->block_begin[op->layout->groups] = *blocks;
}

static int open_block(linop *op, builder *m, int g, int h) {
  const layout *l = op->layout;
  int slot = m->next_block[g]++;
  op->blocks[slot] = (block){l->group_first[h], group_rows(l, h), m->next_value[g]};
  m->next_value[g] += (size_t)group_rows(l, g) * (size_t)group_rows(l, h);
  return slot;
}

/* A_ij, and A_ji for who reads columns. */
static void store(linop *op, int slot, int i, int j, double value, double skew) {
  const block *b = &op->blocks[slot];
  int offset = i - op->layout->group_first[op->group_of[i]];
  size_t at = b->value + (size_t)(offset * b->columns + j - b->first);
  op->value[at] = value + skew;
  op->across[at] = value - skew;
}

static void fill_blocks(linop *op, const lower_triangle *a, builder *m) {
  const layout *l = op->layout;
  for (int g = 0; g < l->groups; g++)
    for (int i = l->group_first[g]; i < l->group_first[g + 1]; i++)
      for (size_t k = a->begin[i]; k < a->begin[i + 1]; k++) {
        int j = a->column[k], h = op->group_of[j];
        if (m->met[h] != g) {
          m->met[h] = g;
          m->lower_slot[h] = m->upper_slot[h] = open_block(op, m, g, h);
          if (h != g) m->upper_slot[h] = open_block(op, m, h, g);
        }
        double skew = a->skew ? a->skew[k] : 0.0;
        store(op, m->lower_slot[h], i, j, a->value[k], skew);
        store(op, m->upper_slot[h], j, i, a->value[k], -skew);
      }
}

static void clear_met(const layout *l, builder *m) {
  for (int g = 0; g < l->groups; g++) m->met[g] = -1;
}

lcplug_error lcplug_operator_sparse(linop *op, const lower_triangle *a, const layout *l,
                                    lcplug_workspace *workspace) {
  int groups = l->groups;
  *op = (linop){.table = &sparse_table, .n = l->n, .layout = l};
  op->group_of = TAKE(workspace, int, l->n);
  op->block_begin = TAKE(workspace, int, groups + 1);
  builder m = {TAKE(workspace, int, groups), TAKE(workspace, int, groups),
               TAKE(workspace, int, groups), TAKE(workspace, int, groups),
               TAKE(workspace, size_t, groups)};
  if (!op->group_of || !op->block_begin || !m.met || !m.lower_slot || !m.upper_slot ||
      !m.next_block || !m.next_value)
    return LCPLUG_ERROR_MEMORY;
  for (int g = 0; g < groups; g++)
    for (int i = l->group_first[g]; i < l->group_first[g + 1]; i++) op->group_of[i] = g;

  memset(m.next_block, 0, (size_t)groups * sizeof *m.next_block);
  memset(m.next_value, 0, (size_t)groups * sizeof *m.next_value);
  clear_met(l, &m);
  count_blocks(op, a, &m);
  int blocks;
  size_t values;
  place_blocks(op, &m, &blocks, &values);
  op->blocks = TAKE(workspace, block, blocks);
  op->value = TAKE(workspace, double, values);
  op->across = a->skew ? TAKE(workspace, double, values) : op->value;
  if (!op->blocks || !op->value || !op->across) return LCPLUG_ERROR_MEMORY;
  memset(op->value, 0, values * sizeof *op->value);
  if (a->skew) memset(op->across, 0, values * sizeof *op->across);
  clear_met(l, &m);
  fill_blocks(op, a, &m);
  return LCPLUG_OK;
}
