/* box_dense.c - the matrix of a small box: a dense square, and its factor as one panel. */
#include <string.h>

#include "box_matrix.h"

/* A pivot that has lost this much of its diagonal element is zero but for rounding. */
static const double TINY_PIVOT = 1e-14;

static void dense_apply(const box *p, const double *x, double *y) {
  p->kernels->multiply(p->dense, (int)p->ld, p->rows, x, y);
}

/* The kept rows as one panel, with the right side as the row below them: the factorization of the
 * panel then does the forward substitution on the way. */
static void dense_factor_and_solve(box *p, double *v) {
  lcplug_box_list_kept(p);
  int k = p->kept_rows, padded = lcplug_panel_pad(k), ld = padded + PANEL_PAD;
  for (int c = 0; c < k; c++) {
    const double *column = p->dense + (size_t)p->kept[c] * p->ld;
    double *to = p->panel + (size_t)c * (size_t)ld;
    if (k == p->rows) memcpy(to + c, column + c, (size_t)(k - c) * sizeof *to);
    else
      for (int r = c; r < k; r++) to[r] = column[p->kept[r]];
    to[c] += p->extra[p->kept[c]];
    p->floor[c] = TINY_PIVOT * to[c];
    for (int r = k; r < ld; r++) to[r] = 0.0;
    to[padded] = v[p->kept[c]];
  }
  p->kernels->panel(p->panel, ld, k, p->floor, p->inverse);
  for (int c = 0; c < k; c++) p->vector[c] = p->panel[(size_t)c * (size_t)ld + (size_t)padded];
  for (int r = k; r < ld; r++) p->vector[r] = 0.0;
  p->kernels->backward(p->panel, ld, k, p->inverse, p->vector);
  lcplug_box_spread_kept(p, p->vector, v);
}

static void dense_solve(box *p, double *v) {
  int k = p->kept_rows, ld = lcplug_panel_pad(k) + PANEL_PAD;
  lcplug_box_gather_kept(p, v, p->vector);
  for (int r = k; r < lcplug_panel_pad(k); r++) p->vector[r] = 0.0;
  p->kernels->forward(p->panel, ld, k, p->inverse, p->vector);
  for (int r = k; r < ld; r++) p->vector[r] = 0.0; /* the row below takes no part */
  p->kernels->backward(p->panel, ld, k, p->inverse, p->vector);
  lcplug_box_spread_kept(p, p->vector, v);
}

/* A dense trail is one front: all kept rows. */
static int dense_begin_trails(box *p) { return lcplug_box_list_kept_at(p); }

static int dense_make_trail(box *p, int count, const int *at, const double *values, trail *to) {
  int k = p->kept_rows, padded = lcplug_panel_pad(k), ld = padded + PANEL_PAD;
  *to = (trail){.count = 1, .value = TAKE(p->workspace, double, ld)};
  if (!to->value) return 0;
  memset(to->value, 0, (size_t)padded * sizeof *to->value);
  for (int i = 0; i < count; i++) to->value[at[i]] = values[i];
  p->kernels->forward(p->panel, ld, k, p->inverse, to->value);
  return 1;
}

/* The values are the rows below of a panel, one trail a row. */
static int dense_trail_products(const box *p, int count, const trail *trails, double *table,
                                size_t ld) {
  size_t padded = (size_t)lcplug_panel_pad(count), length = (size_t)p->kept_rows;
  workspace_mark mark = lcplug_mark(p->workspace);
  double *rows = TAKE(p->workspace, double, length * padded + 1);
  double *products = TAKE(p->workspace, double, padded * padded);
  if (rows && products) {
    for (size_t j = 0; j < length; j++)
      for (size_t t = 0; t < padded; t++)
        rows[j * padded + t] = t < (size_t)count ? trails[t].value[j] : 0.0;
    p->kernels->schur(rows, (int)padded, p->kept_rows, count, products, 0);
    for (size_t k = 0; k < (size_t)count; k++)
      for (size_t i = k; i < (size_t)count; i++) table[k * ld + i] = -products[k * padded + i];
  }
  lcplug_release(p->workspace, mark);
  return rows && products;
}

static void dense_add_trails(box *p, int count, const trail *trails, const double *parts,
                             double *v) {
  int k = p->kept_rows, ld = lcplug_panel_pad(k) + PANEL_PAD;
  memset(p->vector, 0, (size_t)ld * sizeof *p->vector);
  for (int t = 0; t < count; t++)
    for (int i = 0; i < k; i++) p->vector[i] += parts[t] * trails[t].value[i];
  p->kernels->backward(p->panel, ld, k, p->inverse, p->vector);
  lcplug_box_spread_kept(p, p->vector, v);
}

static int dense_column_length(const box *p, int i) { return (void)i, p->rows; }

static int dense_column(const box *p, int i, int *rows, double *values) {
  for (int r = 0; r < p->rows; r++) rows[r] = r;
  memcpy(values, p->dense + (size_t)i * p->ld, (size_t)p->rows * sizeof *values);
  return p->rows;
}

static const box_matrix dense_matrix = {
    dense_apply,        dense_factor_and_solve, dense_solve,
    dense_begin_trails, dense_make_trail,       dense_trail_products,
    dense_add_trails,   dense_column_length,    dense_column};

/* Room for the factor, and the rows and columns themselves; a box of all rows uses them in
 * place. */
int lcplug_box_cut_dense(box *p, const double *A, size_t ld, int all, lcplug_workspace *workspace) {
  size_t rows = (size_t)p->rows, panel_ld = (size_t)lcplug_panel_pad(p->rows) + PANEL_PAD;
  p->matrix = &dense_matrix;
  p->kernels = lcplug_kernels_best();
  p->ld = (size_t)lcplug_panel_pad(p->rows);
  p->panel = TAKE(workspace, double, panel_ld * rows);
  p->inverse = TAKE(workspace, double, 2 * panel_ld);
  if (!p->panel || !p->inverse) return 0;
  p->floor = p->inverse + panel_ld;
  p->dense = A;
  if (all) return 1;
  double *cut = TAKE(workspace, double, rows * p->ld);
  if (!cut) return 0;
  for (size_t j = 0; j < rows; j++) {
    const double *from = A + (size_t)p->row[j] * ld;
    for (size_t i = 0; i < rows; i++) cut[j * p->ld + i] = from[p->row[i]];
    for (size_t i = rows; i < p->ld; i++) cut[j * p->ld + i] = 0.0;
  }
  p->dense = cut;
  return 1;
}
