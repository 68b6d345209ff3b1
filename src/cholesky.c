/* cholesky.c - numeric factorization and solves.
 *
 * Multifrontal: supernodes are visited children first.  Each collects its columns of A and the updates
 * that its children left, eliminates its pivots by dense kernels, and leaves an update for its parent.
 *
 * A subset of the rows only shortens the lists: every panel is cut down to the kept rows before any
 * arithmetic is done.  A supernode that has lost all its pivots hands on the update that waits for it;
 * only if there are several it adds them up.
 *
 * Updates live on two stacks, a supernode's own on another one than its children's: so theirs can be
 * dropped as soon as they are added, and nothing moves. */
#include "cholesky.h"

#include <float.h>
#include <string.h>

/* Rows that stand together at least this many at a time, on average, are added as vectors. */
enum { SHORT_RUN = 16 };

/* --- the subset --- */

/* Numbers the kept rows in elimination order. */
static void number_rows(cholesky *c, const unsigned char *keep) {
  int kept = 0;
  for (int p = 0; p < c->n; p++) {
    int i = c->row_at[p];
    c->kept_before[p] = kept;
    c->kept_row[kept] = i;
    kept += !keep || keep[i];
  }
  c->kept_before[c->n] = c->kept = kept;
}

static void add_diagonal(cholesky *c, const double *extra) {
  for (int p = 0; p < c->kept; p++) c->added[p] = extra ? extra[c->kept_row[p]] : 0.0;
}

/* A supernode and its rows below, cut down to what is kept. */
static void cut_supernode(const cholesky *c, const supernode *f, supernode *s, int *rows) {
  const int *before = c->kept_before;
  int below = 0;
  *s = *f;
  if (c->kept == c->n) return;
  s->first = before[f->first];
  s->pivots = before[f->first + f->pivots] - s->first;
  for (int i = 0; i < f->below; i++) {
    int p = f->rows[i];
    rows[below] = before[p];
    below += before[p + 1] - before[p];
  }
  s->below = below;
  s->rows = rows;
}

/* The sum of (below + j)^2 over the pivots j = 1 .. pivots. */
static double count_flops(double pivots, double below) {
  return pivots * (below * (below + pivots + 1.0) + (pivots + 1.0) * (2.0 * pivots + 1.0) / 6.0);
}

/* A supernode without pivots only hands on what waits for it, unless it has to add it up. */
static int hands_on(const cholesky *c, int k) { return !c->now[k].pivots && c->waiting[k] <= 1; }

/* All supernodes of the subset, their panels, and how many updates will wait for each. */
static void cut_supernodes(cholesky *c) {
  int *rows = c->now_rows;
  size_t panels = 0;
  memset(c->waiting, 0, (size_t)c->supernodes * sizeof *c->waiting);
  c->nonzeros = 0, c->flops = 0.0;
  for (int k = 0; k < c->supernodes; k++) {
    supernode *s = &c->now[k];
    cut_supernode(c, &c->full[k], s, rows);
    if (rows) rows += s->below;
    s->panel = panels;
    panels += (size_t)lcplug_panel_ld(s->pivots, s->below) * (size_t)s->pivots;
    if (s->parent >= 0) c->waiting[s->parent] += hands_on(c, k) ? c->waiting[k] : s->below > 0;
    c->nonzeros += (size_t)s->pivots * (size_t)s->below +
                   (size_t)s->pivots * (size_t)(s->pivots + 1) / 2;
    c->flops += count_flops(s->pivots, s->below);
  }
}

/* Own update on the other stack than the children's. */
static void choose_sides(cholesky *c) {
  for (int k = c->supernodes - 1; k >= 0; k--) {
    int parent = c->now[k].parent;
    unsigned char above = parent < 0 ? 0 : c->side[parent];
    c->side[k] = hands_on(c, k) ? above : !above;
  }
}

/* --- one front --- */

/* Positions that follow each other, as runs; 0 if those would be too short to pay. */
static int find_runs(const int *position, int count, panel_run *run) {
  int breaks = 0, runs = 0;
  for (int k = 1; k < count; k++) breaks += position[k] != position[k - 1] + 1;
  if (count < SHORT_RUN * (breaks + 1)) return 0;
  for (int k = 0; k < count; k++)
    if (k && position[k] == position[k - 1] + 1)
      run[runs - 1].count++;
    else
      run[runs++] = (panel_run){k, position[k], 1};
  return runs;
}

/* Where the elements of a cluster's columns go in the panel: `position` and, unless all rows are kept,
 * which of them are kept: `source`.  Returns how many. */
static int locate_elements(cholesky *c, const supernode *s, int a) {
  const int *before = c->kept_before, *place = c->place + c->place_begin[a];
  int length = c->place_begin[a + 1] - c->place_begin[a], last = s->first + s->pivots, count = 0;
  if (c->kept == c->n) {
    for (int k = 0; k < length; k++)
      c->position[k] = place[k] < last ? place[k] - s->first : c->local[place[k]];
    return length;
  }
  for (int k = 0; k < length; k++) {
    int p = before[place[k]];
    c->source[count] = k;
    c->position[count] = p < last ? p - s->first : c->local[p];
    count += before[place[k] + 1] - p;
  }
  return count;
}

/* A + diag(extra) in the panel of supernode k. */
static void assemble_panel(cholesky *c, int k) {
  const supernode *f = &c->full[k], *s = &c->now[k];
  const int *position = c->position, *source = c->source;
  int all = c->kept == c->n;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  double *to = c->factor + s->panel;
  memset(to, 0, ld * (size_t)s->pivots * sizeof *to);
  for (int a = f->cluster; a < f->cluster + f->clusters; a++) {
    int count = locate_elements(c, s, a), first = c->cluster_first[a], skip = 0;
    const double *from = c->value + c->value_begin[a];
    size_t length = (size_t)(c->place_begin[a + 1] - c->place_begin[a]);
    int runs = all ? find_runs(position, count, c->run) : 0;
    for (int p = first; p < c->cluster_first[a + 1]; p++, from += length) {
      if (c->kept_before[p] == c->kept_before[p + 1]) continue;
      if (runs)
        c->kernels->add_runs(to, from, c->run, runs);
      else if (all)
        for (int i = skip; i < count; i++) to[position[i]] = from[i];
      else
        for (int i = skip; i < count; i++) to[position[i]] = from[source[i]];
      skip++;
      to += ld;
    }
  }
  to = c->factor + s->panel;
  for (int j = 0; j < s->pivots; j++, to += ld + 1) {
    *to += c->added[s->first + j];
    double floor = c->tiny * *to;
    c->floor[s->first + j] = floor > DBL_MIN ? floor : DBL_MIN;
  }
}

/* Adds a child's update to the panel and to the supernode's own update. */
static void add_update(const cholesky *c, const supernode *s, const update *u, double *panel,
                       double *own) {
  int last = s->first + s->pivots, pad = lcplug_panel_pad(s->pivots), *at = c->position;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below), ldu = (size_t)lcplug_panel_pad(u->size);
  size_t ld_own = (size_t)lcplug_panel_pad(s->below);
  panel_run *run = c->run;
  for (int k = 0; k < u->size; k++)
    at[k] = u->rows[k] < last ? u->rows[k] - s->first : c->local[u->rows[k]];
  int runs = find_runs(at, u->size, run), long_runs = runs > 0;
  for (int k = 0; k < u->size; k++) {
    const double *from = u->value + (size_t)k * ldu;
    double *to = u->rows[k] < last ? panel + (size_t)at[k] * ld
                                   : own + (size_t)(at[k] - pad) * ld_own - pad;
    if (!long_runs) {
      for (int i = k; i < u->size; i++) to[at[i]] += from[i];
      continue;
    }
    c->kernels->add_runs(to, from, run, runs);
    run->from++, run->to++; /* the triangle: the next column starts one row lower */
    if (!--run->count) run++, runs--;
  }
}

void lcplug_front_add(const cholesky *c, const supernode *s, int count, const update *updates,
                      double *panel, double *own) {
  size_t ld = (size_t)lcplug_panel_pad(s->below);
  for (int k = 0; k < s->below; k++)
    memset(own + (size_t)k * ld + k, 0, (ld - (size_t)k) * sizeof *own);
  for (int k = 0; k < count; k++) add_update(c, s, &updates[k], panel, own);
}

void lcplug_cholesky_factor(cholesky *c, const unsigned char *keep, const double *extra) {
  int pending = 0;
  double *top[2] = {c->stack[0], c->stack[1]};
  if (!c->n) return;
  number_rows(c, keep);
  add_diagonal(c, extra);
  cut_supernodes(c);
  choose_sides(c);
  c->perturbed = 0;
  for (int k = 0; k < c->supernodes; k++) {
    const supernode *s = &c->now[k];
    if (hands_on(c, k)) continue;
    double *panel = c->factor + s->panel, *own = top[c->side[k]];
    int waiting = c->waiting[k], ld = lcplug_panel_ld(s->pivots, s->below);
    for (int i = 0; i < s->below; i++) c->local[s->rows[i]] = lcplug_panel_pad(s->pivots) + i;
    assemble_panel(c, k);
    if (waiting) { /* for this supernode: the last ones, and the top of the other stack */
      pending -= waiting;
      lcplug_front_add(c, s, waiting, c->pending + pending, panel, own);
      top[!c->side[k]] = c->pending[pending].value;
    }
    c->perturbed +=
        c->kernels->panel(panel, ld, s->pivots, c->floor + s->first, c->inverse + s->first);
    if (!s->below) continue;
    if (s->pivots)
      c->kernels->schur(panel + lcplug_panel_pad(s->pivots), ld, s->pivots, s->below, own,
                        waiting > 0);
    c->pending[pending++] = (update){s->rows, s->below, own};
    top[c->side[k]] = own + (size_t)s->below * (size_t)lcplug_panel_pad(s->below);
  }
}

/* --- solves --- */

void lcplug_fronts_forward(const cholesky *c, const supernode *nodes, const double *factor,
                           const double *inverse, double *y) {
  double *w = c->column;
  for (int k = 0; k < c->supernodes; k++) {
    const supernode *s = &nodes[k];
    int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
    if (!s->pivots) continue;
    memset(w + s->pivots, 0, (size_t)(ld - s->pivots) * sizeof *w);
    memcpy(w, y + s->first, (size_t)s->pivots * sizeof *w);
    c->kernels->forward(factor + s->panel, ld, s->pivots, inverse + s->first, w);
    memcpy(y + s->first, w, (size_t)s->pivots * sizeof *w);
    for (int i = 0; i < s->below; i++) y[s->rows[i]] += w[pad + i];
  }
}

void lcplug_fronts_backward(const cholesky *c, const supernode *nodes, const double *factor,
                            const double *inverse, double *y) {
  double *w = c->column;
  for (int k = c->supernodes - 1; k >= 0; k--) {
    const supernode *s = &nodes[k];
    int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
    if (!s->pivots) continue;
    memcpy(w, y + s->first, (size_t)s->pivots * sizeof *w);
    for (int i = s->pivots; i < pad; i++) w[i] = 0.0;
    for (int i = 0; i < s->below; i++) w[pad + i] = y[s->rows[i]];
    for (int i = pad + s->below; i < ld; i++) w[i] = 0.0;
    c->kernels->backward(factor + s->panel, ld, s->pivots, inverse + s->first, w);
    memcpy(y + s->first, w, (size_t)s->pivots * sizeof *w);
  }
}

void lcplug_cholesky_solve(const cholesky *c, double *x) {
  double *y = c->vector;
  for (int p = 0; p < c->kept; p++) y[p] = x[c->kept_row[p]];
  lcplug_fronts_forward(c, c->now, c->factor, c->inverse, y);
  lcplug_fronts_backward(c, c->now, c->factor, c->inverse, y);
  if (c->kept < c->n) memset(x, 0, (size_t)c->n * sizeof *x);
  for (int p = 0; p < c->kept; p++) x[c->kept_row[p]] = y[p];
}
