/* box_condensed.c - the matrix of a large box whose clusters have much of A twice: that of a sparse
 * one, with a condensed factor (condense.h).
 *
 * All rows of the matrix are in the factor, whether they are kept or not: the others are held so
 * fast that they cannot move.  Vectors go from the box to the rows of the matrix and from there to
 * the places of the factor. */
#include <string.h>

#include "box_matrix.h"

/* Into the rows of the matrix.  What those have that are not of the box does not matter. */
static void to_rows(const box *p, const double *v) {
  for (int k = 0; k < p->rows; k++) p->by_row[p->row[k]] = v[k];
}

/* And back; rows that cannot move have moved by rounding error of the least. */
static void from_rows(const box *p, double *v) {
  for (int k = 0; k < p->rows; k++) v[k] = p->keep[k] ? p->by_row[p->row[k]] : 0.0;
}

static void condensed_solve(box *p, double *v) {
  const condensed *q = p->condensed;
  to_rows(p, v);
  lcplug_condensed_gather(q, p->by_row, p->by_place);
  lcplug_cholesky_solve(&q->factor, p->by_place);
  lcplug_condensed_spread(q, p->by_place, p->by_row);
  from_rows(p, v);
}

static void condensed_factor_and_solve(box *p, double *v) {
  condensed *q = p->condensed;
  lcplug_condensed_clear(q);
  for (condensed_cluster *c = q->cluster; c < q->cluster + q->clusters; c++)
    for (int i = 0; i < c->rows; i++) {
      int k = p->row_of[c->first + i], diagonal = i * (c->rows + 1);
      int kept = k >= 0 && p->keep[k];
      c->E[diagonal] = kept ? p->extra[k] : BOX_BLOCK * c->A[diagonal];
    }
  lcplug_condensed_choose(q);
  lcplug_condensed_put(q, q->factor.assembled, NULL);
  lcplug_cholesky_factor(&q->factor, NULL);
  condensed_solve(p, v);
}

/* ---- trails ---------------------------------------------------------------------------------- */

/* Who is who in a trail: the row of the matrix. */
static int condensed_begin_trails(box *p) {
  p->kept_at = TAKE(p->workspace, int, p->rows);
  if (!p->kept_at) return 0;
  for (int k = 0; k < p->rows; k++) p->kept_at[k] = p->row[k];
  memset(p->by_row, 0, (size_t)p->condensed->whole->n * sizeof *p->by_row);
  return lcplug_trail_begin(&p->maker, &p->condensed->factor, p->workspace);
}

/* V' of a few elements, cluster by cluster. */
static int condensed_make_trail(box *p, int count, const int *at, const double *values, trail *to) {
  const condensed *q = p->condensed;
  int elements = 0;
  for (int i = 0; i < count; i++) p->by_row[at[i]] = values[i];
  for (int i = 0; i < count; i++) {
    const condensed_cluster *c = &q->cluster[q->cluster_of[at[i]]];
    if (p->by_row[at[i]] == 0.0) continue; /* has come with another one of its cluster */
    lcplug_condensed_gather_cluster(q, c, p->by_row, p->by_place);
    for (int s = 0; s < c->rows; s++) {
      p->by_row[q->whole->row_at[c->first + s]] = 0.0;
      int at_place = s < c->rank ? c->u + s : c->K + s - c->rank;
      if (p->by_place[at_place] == 0.0) continue;
      p->trail_place[elements] = at_place;
      p->trail_value[elements++] = p->by_place[at_place];
    }
  }
  return lcplug_trail_make(&p->maker, elements, p->trail_place, p->trail_value, to);
}

static int condensed_trail_products(const box *p, int count, const trail *trails, double *table,
                                    size_t ld) {
  return lcplug_trail_products(&p->maker, count, trails, table, ld);
}

static void condensed_add_trails(box *p, int count, const trail *trails, const double *parts,
                                 double *v) {
  const cholesky *c = &p->condensed->factor;
  memset(p->by_place, 0, (size_t)c->n * sizeof *p->by_place);
  for (int t = 0; t < count; t++) lcplug_trail_add(c, &trails[t], parts[t], p->by_place);
  lcplug_fronts_backward(c, c->factor, c->inverse, p->by_place);
  lcplug_condensed_spread(p->condensed, p->by_place, p->by_row);
  from_rows(p, v);
  memset(p->by_row, 0, (size_t)c->n * sizeof *p->by_row);
}

static const box_matrix condensed_matrix = {
    lcplug_box_sparse_apply, condensed_factor_and_solve,      condensed_solve,
    condensed_begin_trails,  condensed_make_trail,            condensed_trail_products,
    condensed_add_trails,    lcplug_box_sparse_column_length, lcplug_box_sparse_column};

int lcplug_box_condense(box *p, condensed *q, lcplug_workspace *workspace) {
  size_t n = (size_t)q->whole->n;
  p->matrix = &condensed_matrix;
  p->condensed = q;
  p->by_row = TAKE(workspace, double, n);
  p->by_place = TAKE(workspace, double, n);
  p->trail_place = TAKE(workspace, int, n);
  p->trail_value = TAKE(workspace, double, n);
  if (!p->by_row || !p->by_place || !p->trail_place || !p->trail_value) return 0;
  memset(p->by_row, 0, n * sizeof *p->by_row);
  return 1;
}
