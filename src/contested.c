/* contested.c - see contested.h.
 *
 * F are the rows inside when it begins, whose factor there is, N those at a bound.  The table of the
 * contested rows is that of pivoting.c, elements of
 *
 *     -A_FF^-1,   A_FF^-1 A_FN,   A_NN - A_NF A_FF^-1 A_FN
 *
 * one solve for each row.  It always starts from the first guess again: a row that joins adds a line. */
#include "contested.h"

#include <string.h>

#include "pivoting.h"

enum { MOST_ROUNDS = 8 };

/* The elements of a column of A in rows of F. */
typedef struct sparse_column {
  int count, *row;
  double *value;
} sparse_column;

typedef struct contest {
  box *p;
  int count, *row;             /* the contested rows */
  unsigned char *is_contested; /* row -> 1 or 0 */
  sparse_column *column;       /* of those in N */
  double *table;               /* lower triangle; columns of `ld` numbers */
  size_t ld;
  /* the first guess */
  double *x, *w;
  unsigned char *place;
  pivoting pivoting;
  double *lo, *hi;             /* its bounds */
  double *solved;              /* scratch: a vector on all rows */
} contest;

static int take_arrays(contest *c) {
  lcplug_workspace *workspace = c->p->workspace;
  size_t rows = (size_t)c->p->rows;
  c->ld = MOST_CONTESTED;
  double *squares = TAKE(workspace, double, 2 * c->ld * c->ld);
  double *lines = TAKE(workspace, double, 6 * c->ld);
  double *vectors = TAKE(workspace, double, 3 * (rows + PANEL_PAD));
  unsigned char *flags = TAKE(workspace, unsigned char, 2 * rows + c->ld);
  c->row = TAKE(workspace, int, c->ld);
  c->column = TAKE(workspace, sparse_column, c->ld);
  if (!squares || !lines || !vectors || !flags || !c->row || !c->column) return 0;
  c->table = squares;
  c->lo = lines + 2 * c->ld, c->hi = lines + 3 * c->ld;
  c->x = vectors, c->w = c->x + rows + PANEL_PAD, c->solved = c->w + rows + PANEL_PAD;
  c->is_contested = flags, c->place = flags + rows;
  c->pivoting = (pivoting){.kernels = lcplug_kernels_best(),
                           .ld = (int)c->ld,
                           .table = squares + c->ld * c->ld,
                           .x = lines,
                           .w = lines + c->ld,
                           .lo = c->lo,
                           .hi = c->hi,
                           .column = lines + 4 * c->ld,
                           .diagonal = lines + 5 * c->ld,
                           .place = flags + 2 * rows,
                           .unit = c->p->unit};
  memcpy(c->x, c->p->x, rows * sizeof *c->x);
  memcpy(c->w, c->p->w, rows * sizeof *c->w);
  memcpy(c->place, c->p->place, rows);
  memset(c->is_contested, 0, rows);
  memset(squares, 0, c->ld * c->ld * sizeof *squares);
  return 1;
}

static double dot(const sparse_column *column, const double *v) {
  double sum = 0.0;
  for (int k = 0; k < column->count; k++) sum += column->value[k] * v[column->row[k]];
  return sum;
}

/* ---- the table ------------------------------------------------------------------------------------ */

/* How the contested rows answer to row i of F. */
static void add_inside(contest *c, int i, double *line) {
  double *z = c->solved;
  memset(z, 0, (size_t)c->p->rows * sizeof *z);
  z[i] = 1.0;
  c->p->matrix->solve(c->p, z);
  for (int k = 0; k <= c->count; k++)
    line[k] = c->place[c->row[k]] == INSIDE ? -z[c->row[k]] : dot(&c->column[k], z);
}

/* And to row i of N. */
static int add_at_bound(contest *c, int i, double *line) {
  box *p = c->p;
  sparse_column *own = &c->column[c->count];
  double *z = c->solved;
  int length = p->matrix->column_length(p, i), inside = 0;
  own->row = TAKE(p->workspace, int, length);
  own->value = TAKE(p->workspace, double, length);
  if (!own->row || !own->value) return 0;
  length = p->matrix->column(p, i, own->row, own->value);
  memset(z, 0, (size_t)p->rows * sizeof *z);
  for (int k = 0; k < length; k++) z[own->row[k]] = own->value[k];
  z[i] += p->pull * p->diagonal[i];
  for (int k = 0; k <= c->count; k++) line[k] = c->place[c->row[k]] == INSIDE ? 0.0 : z[c->row[k]];
  for (int k = 0; k < length; k++) {
    z[own->row[k]] = 0.0;
    if (c->place[own->row[k]] != INSIDE) continue;
    own->row[inside] = own->row[k];
    own->value[inside++] = own->value[k];
  }
  own->count = inside;
  for (int k = 0; k < inside; k++) z[own->row[k]] = own->value[k];
  p->matrix->solve(p, z);
  for (int k = 0; k <= c->count; k++)
    if (c->place[c->row[k]] == INSIDE) line[k] = z[c->row[k]];
    else line[k] -= dot(&c->column[k], z);
  return 1;
}

static int add_row(contest *c, int i) {
  double line[MOST_CONTESTED];
  c->row[c->count] = i;
  c->is_contested[i] = 1;
  if (c->place[i] == INSIDE) add_inside(c, i, line);
  else if (!add_at_bound(c, i, line)) return 0;
  for (int k = 0; k <= c->count; k++) c->table[(size_t)k * c->ld + (size_t)c->count] = line[k];
  c->count++;
  return 1;
}

static int has_left(const contest *c, int i) {
  return !c->is_contested[i] && lcplug_box_place(c->p, i) != c->p->place[i];
}

/* Rows that are not where they should be join the contested ones.  Returns how many did, -1: too many. */
static int add_misplaced(contest *c) {
  int joining = 0;
  for (int i = 0; i < c->p->rows; i++) joining += has_left(c, i);
  if (c->count + joining > MOST_CONTESTED) return -1;
  for (int i = 0; i < c->p->rows; i++)
    if (has_left(c, i) && !add_row(c, i)) return -1;
  return joining;
}

/* ---- the answer ----------------------------------------------------------------------------------- */

static int solve_table(contest *c) {
  pivoting *t = &c->pivoting;
  t->rows = c->count;
  memcpy(t->table, c->table, c->ld * (size_t)c->count * sizeof *t->table);
  for (int k = 0; k < c->count; k++) {
    int i = c->row[k];
    t->x[k] = c->x[i], t->w[k] = c->place[i] == INSIDE ? 0.0 : c->w[i];
    c->lo[k] = c->p->lo[i], c->hi[k] = c->p->hi[i];
    t->diagonal[k] = c->p->diagonal[i];
    t->place[k] = c->place[i];
  }
  return lcplug_pivoting_mend(t);
}

/* The box at the table's answer: A_FF x_F changes by w of the rows that have left F and by what the rows
 * of N push. */
static void take_answer(contest *c) {
  box *p = c->p;
  const pivoting *t = &c->pivoting;
  double *z = c->solved;
  memset(z, 0, (size_t)p->rows * sizeof *z);
  for (int k = 0; k < c->count; k++) {
    const sparse_column *column = &c->column[k];
    double moved = t->x[k] - c->x[c->row[k]];
    if (c->place[c->row[k]] == INSIDE) z[c->row[k]] += t->w[k];
    else
      for (int e = 0; e < column->count; e++) z[column->row[e]] -= column->value[e] * moved;
  }
  p->matrix->solve(p, z);
  for (int i = 0; i < p->rows; i++) p->x[i] = c->x[i] + z[i];
  for (int k = 0; k < c->count; k++) {
    p->x[c->row[k]] = t->x[k];
    p->place[c->row[k]] = t->place[k];
  }
  lcplug_box_set_w(p);
}

static int settle(contest *c) {
  if (add_misplaced(c) < 0) return 0;
  for (int round = 0; round < MOST_ROUNDS; round++) {
    if (!solve_table(c)) return 0;
    take_answer(c);
    int joined = add_misplaced(c);
    if (joined <= 0) return joined == 0;
  }
  return 0;
}

int lcplug_settle_contested(box *p) {
  workspace_mark mark = lcplug_mark(p->workspace);
  contest c = {.p = p};
  int settled = take_arrays(&c) && settle(&c);
  lcplug_release(p->workspace, mark);
  return settled;
}
