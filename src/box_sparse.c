/* box_sparse.c - the matrix of a large box: blocks of a sparse factor's pattern. */
#include <string.h>

#include "box_matrix.h"

/* Of all rows: so many have to be kept. */
static const double WORTH_BLOCKING = 0.25;

/* ---- the kept rows --------------------------------------------------------------------------- */

void lcplug_box_list_kept(box *p) {
  int k = 0;
  for (int i = 0; i < p->rows; i++)
    if (p->keep[i]) p->kept[k++] = i;
  p->kept_rows = k;
}

void lcplug_box_gather_kept(const box *p, const double *v, double *kept) {
  for (int c = 0; c < p->kept_rows; c++) kept[c] = v[p->kept[c]];
}

/* Into v, with zeros for the other rows. */
void lcplug_box_spread_kept(const box *p, const double *kept, double *v) {
  memset(v, 0, (size_t)p->rows * sizeof *v);
  for (int c = 0; c < p->kept_rows; c++) v[p->kept[c]] = kept[c];
}

int lcplug_box_list_kept_at(box *p) {
  p->kept_at = TAKE(p->workspace, int, p->rows);
  if (!p->kept_at) return 0;
  for (int c = 0; c < p->kept_rows; c++) p->kept_at[p->kept[c]] = c;
  return 1;
}

void lcplug_box_sparse_apply(const box *p, const double *x, double *y) {
  lcplug_product(&p->product, x, y);
}

static void choose_rows(box *p) {
  for (int k = 0; k < p->rows; k++) p->keep_all[p->place_of[k]] = p->keep[k];
  lcplug_cholesky_select(p->factor, p->keep_all);
  memcpy(p->chosen, p->keep, (size_t)p->rows);
  lcplug_box_list_kept(p);
}

static void choose_all_rows(box *p) {
  if (p->kept_rows == p->rows) return;
  for (int k = 0; k < p->rows; k++) p->keep_all[p->place_of[k]] = 1;
  lcplug_cholesky_select(p->factor, p->keep_all);
  memset(p->chosen, 1, (size_t)p->rows);
  for (int k = 0; k < p->rows; k++) p->kept[k] = k;
  p->kept_rows = p->rows;
}

static int count_kept(const box *p) {
  int kept = 0;
  for (int k = 0; k < p->rows; k++) kept += p->keep[k];
  return kept;
}

/* A box has its rows in the factor's order: where all are in it there is nothing to move.  Rows
 * that nothing can move have moved by rounding error of the least. */
static void sparse_solve(box *p, double *v) {
  if (p->kept_rows == p->rows) {
    lcplug_cholesky_solve(p->factor, v);
    for (int k = 0; k < p->rows && p->blocked; k++)
      if (!p->keep[k]) v[k] = 0.0;
    return;
  }
  lcplug_box_gather_kept(p, v, p->vector);
  lcplug_cholesky_solve(p->factor, p->vector);
  lcplug_box_spread_kept(p, p->vector, v);
}

/* Rows that are not kept are left out of the factor, or blocked in it: to leave them out saves
 * arithmetic, but A has to be put together anew. */
static void sparse_factor_and_solve(box *p, double *v) {
  int kept = count_kept(p);
  p->blocked = kept < p->rows && kept >= WORTH_BLOCKING * p->rows;
  if (p->blocked) choose_all_rows(p);
  else if (memcmp(p->chosen, p->keep, (size_t)p->rows)) choose_rows(p);
  lcplug_box_gather_kept(p, p->extra, p->extra_kept);
  for (int k = 0; k < p->rows && p->blocked; k++)
    if (!p->keep[k]) p->extra_kept[k] = BOX_BLOCK * p->diagonal[k];
  lcplug_cholesky_factor(p->factor, p->extra_kept);
  sparse_solve(p, v);
}

static int sparse_begin_trails(box *p) {
  return lcplug_box_list_kept_at(p) && lcplug_trail_begin(&p->maker, p->factor, p->workspace);
}

/* The rows of a box are in the factor's order, and so are those that are kept. */
static int sparse_make_trail(box *p, int count, const int *at, const double *values, trail *to) {
  return lcplug_trail_make(&p->maker, count, at, values, to);
}

static int sparse_trail_products(const box *p, int count, const trail *trails, double *table,
                                 size_t ld) {
  return lcplug_trail_products(&p->maker, count, trails, table, ld);
}

static void sparse_add_trails(box *p, int count, const trail *trails, const double *parts,
                              double *v) {
  memset(p->vector, 0, (size_t)p->kept_rows * sizeof *p->vector);
  for (int t = 0; t < count; t++) lcplug_trail_add(p->factor, &trails[t], parts[t], p->vector);
  lcplug_fronts_backward(p->factor, p->factor->factor, p->factor->inverse, p->vector);
  lcplug_box_spread_kept(p, p->vector, v);
  for (int k = 0; k < p->rows && p->blocked; k++)
    if (!p->keep[k]) v[k] = 0.0;
}

int lcplug_box_sparse_column_length(const box *p, int i) {
  return lcplug_cholesky_column_length(p->factor, p->place_of[i]);
}

int lcplug_box_sparse_column(const box *p, int i, int *rows, double *values) {
  int length = lcplug_cholesky_column(p->factor, p->place_of[i], rows, values), count = 0;
  for (int k = 0; k < length; k++) {
    int row = p->row_of[rows[k]];
    if (row < 0) continue;
    rows[count] = row;
    values[count++] = values[k];
  }
  return count;
}

static const box_matrix sparse_matrix = {
    lcplug_box_sparse_apply,        sparse_factor_and_solve, sparse_solve,
    sparse_begin_trails, sparse_make_trail,       sparse_trail_products,
    sparse_add_trails,   lcplug_box_sparse_column_length,    lcplug_box_sparse_column};

/* The product of the box's rows, and what tells the factor which of them to keep. */
int lcplug_box_cut_sparse(box *p, const box_source *s, lcplug_workspace *workspace) {
  size_t n = (size_t)s->lower->n, rows = (size_t)p->rows;
  p->matrix = &sparse_matrix;
  p->factor = s->factor;
  p->keep_all = TAKE(workspace, unsigned char, n);
  p->chosen = TAKE(workspace, unsigned char, rows);
  p->extra_kept = TAKE(workspace, double, rows);
  p->row_of = TAKE(workspace, int, n);
  if (!p->keep_all || !p->chosen || !p->extra_kept || !p->row_of) return 0;
  for (size_t k = 0; k < n; k++) p->row_of[k] = -1;
  for (int k = 0; k < p->rows; k++) p->row_of[p->place_of[k]] = k;
  memset(p->keep_all, 0, n);
  memset(p->keep, 1, rows);
  choose_rows(p);
  return !lcplug_product_build(&p->product, p->factor, workspace);
}
