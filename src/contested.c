/* contested.c - see contested.h.
 *
 * F are the rows inside when it begins, whose factor there is, N those at a bound.  The table of
 * the contested rows is that of pivoting.c, elements of
 *
 *     -A_FF^-1,   A_FF^-1 A_FN,   A_NN - A_NF A_FF^-1 A_FN
 *
 * With A_FF = L L' these are products of trails, L^-1 e_r of a row r in F and L^-1 A_Fr of one in
 * N, each of which costs a small part of a solve (trail.h).  The table always starts from the first
 * guess again; rows that join have it made anew. */
#include "contested.h"

#include <string.h>

#include "pivoting.h"

enum { MOST_ROUNDS = 8 };

typedef struct contest {
  box *p;
  int count, *row;             /* the contested rows */
  unsigned char *is_contested; /* row -> 1 or 0 */
  trail *trail;                /* of each of them */
  double *coupled;             /* A among those of N, else 0: lower triangle, columns of `ld` ... */
  double *table;               /* ... numbers, as those of the table are */
  size_t ld;
  /* the first guess */
  double *x, *w;
  unsigned char *place;
  pivoting pivoting;
  double *lo, *hi; /* its bounds */
  double *column;  /* scratch: of A, zeros before and after */
  double *parts;
} contest;

static int take_arrays(contest *c) {
  lcplug_workspace *workspace = c->p->workspace;
  size_t rows = (size_t)c->p->rows;
  c->ld = (size_t)lcplug_panel_pad(rows < MOST_CONTESTED ? (int)rows : MOST_CONTESTED);
  double *squares = TAKE(workspace, double, 3 * c->ld * c->ld);
  double *lines = TAKE(workspace, double, 6 * c->ld);
  double *scratch = TAKE(workspace, double, PIVOTING_SCRATCH(c->ld));
  double *vectors = TAKE(workspace, double, 3 * (rows + PANEL_PAD));
  unsigned char *flags = TAKE(workspace, unsigned char, 2 * rows + c->ld);
  c->row = TAKE(workspace, int, c->ld);
  c->trail = TAKE(workspace, trail, c->ld);
  if (!squares || !lines || !scratch || !vectors || !flags || !c->row || !c->trail) return 0;
  c->table = squares, c->coupled = squares + c->ld * c->ld;
  c->lo = lines + 2 * c->ld, c->hi = lines + 3 * c->ld, c->parts = lines + 5 * c->ld;
  c->x = vectors, c->w = c->x + rows + PANEL_PAD, c->column = c->w + rows + PANEL_PAD;
  c->is_contested = flags, c->place = flags + rows;
  c->pivoting = (pivoting){.kernels = lcplug_kernels_best(),
                           .table = squares + 2 * c->ld * c->ld,
                           .x = lines,
                           .w = lines + c->ld,
                           .lo = c->lo,
                           .hi = c->hi,
                           .diagonal = lines + 4 * c->ld,
                           .scratch = scratch,
                           .place = flags + 2 * rows,
                           .unit = c->p->unit};
  memcpy(c->x, c->p->x, rows * sizeof *c->x);
  memcpy(c->w, c->p->w, rows * sizeof *c->w);
  memcpy(c->place, c->p->place, rows);
  memset(c->is_contested, 0, rows);
  memset(c->column, 0, rows * sizeof *c->column);
  return c->p->matrix->begin_trails(c->p);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The trail of row i of F. */
static int add_inside(contest *c, int i) {
  const double one = 1.0;
  return c->p->matrix->make_trail(c->p, 1, &c->p->kept_at[i], &one, &c->trail[c->count]);
}

/* The trail of row i of N, and what A couples it with. */
static int add_at_bound(contest *c, int i, double *line) {
  box *p = c->p;
  int most = p->matrix->column_length(p, i), inside = 0;
  int *rows = TAKE(p->workspace, int, most);
  double *values = TAKE(p->workspace, double, most);
  if (!rows || !values) return 0;
  int length = p->matrix->column(p, i, rows, values);
  for (int k = 0; k < length; k++) c->column[rows[k]] = values[k];
  c->column[i] += p->pull * p->diagonal[i];
  for (int k = 0; k <= c->count; k++) line[k] = c->column[c->row[k]];
  for (int k = 0; k < length; k++) {
    int row = rows[k];
    c->column[row] = 0.0;
    if (c->place[row] != INSIDE) continue;
    rows[inside] = p->kept_at[row];
    values[inside++] = values[k];
  }
  return p->matrix->make_trail(p, inside, rows, values, &c->trail[c->count]);
}

static int add_row(contest *c, int i) {
  double line[MOST_CONTESTED] = {0.0};
  int own = c->count, inside = c->place[i] == INSIDE;
  c->row[own] = i;
  c->is_contested[i] = 1;
  if (!(inside ? add_inside(c, i) : add_at_bound(c, i, line))) return 0;
  for (int k = 0; k <= own; k++) {
    int both = !inside && c->place[c->row[k]] != INSIDE;
    c->coupled[(size_t)k * c->ld + (size_t)own] = both ? line[k] : 0.0;
  }
  c->count++;
  return 1;
}

/* The table of the first guess, for all rows that are contested by now. */
static int make_table(contest *c) {
  if (!c->p->matrix->trail_products(c->p, c->count, c->trail, c->table, c->ld)) return 0;
  for (int k = 0; k < c->count; k++) {
    double *column = c->table + (size_t)k * c->ld, *coupled = c->coupled + (size_t)k * c->ld;
    int inside = c->place[c->row[k]] == INSIDE;
    for (int i = k; i < c->count; i++)
      if (inside == (c->place[c->row[i]] == INSIDE)) column[i] = coupled[i] - column[i];
  }
  return 1;
}

static int has_left(const contest *c, int i) {
  return !c->is_contested[i] && lcplug_box_place(c->p, i) != c->p->place[i];
}

/* Rows that are not where they should be join the contested ones.  Returns how many did, -1: too
 * many. */
static int add_misplaced(contest *c) {
  int joining = 0;
  for (int i = 0; i < c->p->rows; i++) joining += has_left(c, i);
  if (c->count + joining > MOST_CONTESTED) return -1;
  for (int i = 0; i < c->p->rows; i++)
    if (has_left(c, i) && !add_row(c, i)) return -1;
  return joining;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int solve_table(contest *c) {
  pivoting *t = &c->pivoting;
  if (!make_table(c)) return 0;
  t->rows = c->count;
  t->ld = lcplug_panel_pad(c->count);
  for (int k = 0; k < c->count; k++)
    memcpy(t->table + (size_t)k * (size_t)t->ld, c->table + (size_t)k * c->ld,
           (size_t)c->count * sizeof *t->table);
  for (int k = 0; k < c->count; k++) {
    int i = c->row[k];
    t->x[k] = c->x[i], t->w[k] = c->place[i] == INSIDE ? 0.0 : c->w[i];
    c->lo[k] = c->p->lo[i], c->hi[k] = c->p->hi[i];
    t->diagonal[k] = c->p->diagonal[i];
    t->place[k] = c->place[i];
  }
  return lcplug_pivoting_mend(t);
}

/* The box at the table's answer: A_FF x_F changes by w of the rows that have left F and by what the
 * rows of N push. */
static void take_answer(contest *c) {
  box *p = c->p;
  const pivoting *t = &c->pivoting;
  for (int k = 0; k < c->count; k++)
    c->parts[k] = c->place[c->row[k]] == INSIDE ? t->w[k] : c->x[c->row[k]] - t->x[k];
  p->matrix->add_trails(p, c->count, c->trail, c->parts, p->dx);
  for (int i = 0; i < p->rows; i++) p->x[i] = c->x[i] + p->dx[i];
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
