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
#include <math.h>
#include <string.h>

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
  s->first = before[f->first];
  s->pivots = before[f->first + f->pivots] - s->first;
  s->parent = f->parent;
  if (c->kept == c->n) {
    s->below = f->below;
    s->rows = f->rows;
    return;
  }
  int below = 0;
  for (int k = 0; k < f->below; k++) {
    int p = f->rows[k];
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

/* Panels of the subset, and which supernodes only hand on: those are marked by `pivots` 0 and at most
 * one update that waits. */
static void cut_supernodes(cholesky *c) {
  size_t panels = 0;
  int *rows = c->now_rows;
  memset(c->waiting, 0, (size_t)c->supernodes * sizeof *c->waiting);
  c->nonzeros = 0, c->flops = 0.0;
  for (int k = 0; k < c->supernodes; k++) {
    supernode *s = &c->now[k];
    cut_supernode(c, &c->full[k], s, rows);
    if (rows) rows += s->below;
    s->panel = panels;
    panels += (size_t)lcplug_panel_ld(s->pivots, s->below) * (size_t)s->pivots;
    int leaves = s->pivots || c->waiting[k] > 1 ? s->below > 0 : c->waiting[k];
    if (s->parent >= 0) c->waiting[s->parent] += leaves;
    if (!s->pivots) continue;
    c->nonzeros += (size_t)s->pivots * (size_t)s->below +
                   (size_t)s->pivots * (size_t)(s->pivots + 1) / 2;
    c->flops += count_flops(s->pivots, s->below);
  }
}

static int hands_on(const cholesky *c, int k) { return !c->now[k].pivots && c->waiting[k] <= 1; }

/* Own update on the other stack than the children's. */
static void choose_sides(cholesky *c) {
  for (int k = c->supernodes - 1; k >= 0; k--) {
    int parent = c->now[k].parent;
    unsigned char above = parent < 0 ? 0 : c->side[parent];
    c->side[k] = hands_on(c, k) ? above : !above;
  }
}

/* --- one front --- */

/* Rows of the full panel that are kept, pivots first, and the kept columns copied. */
static void copy_cut_panel(cholesky *c, const supernode *f, const supernode *s, double *panel) {
  const int *before = c->kept_before;
  int *from = c->position, count = 0, ld = lcplug_panel_ld(s->pivots, s->below);
  int pad = lcplug_panel_pad(s->pivots);
  size_t full_ld = (size_t)lcplug_panel_ld(f->pivots, f->below);
  const double *image = c->image + f->panel;
  for (int p = f->first, j = 0; j < f->pivots; p++, j++) {
    from[count] = j;
    count += before[p + 1] - before[p];
  }
  for (int k = 0, at = lcplug_panel_pad(f->pivots); k < f->below; k++, at++) {
    from[count] = at;
    count += before[f->rows[k] + 1] - before[f->rows[k]];
    if (count == s->pivots + s->below) break;
  }
  for (int j = 0; j < s->pivots; j++, panel += ld) {
    const double *column = image + (size_t)from[j] * full_ld;
    for (int i = 0; i < j; i++) panel[i] = 0.0;
    for (int i = j; i < s->pivots; i++) panel[i] = column[from[i]];
    for (int i = s->pivots; i < pad; i++) panel[i] = 0.0;
    for (int i = 0; i < s->below; i++) panel[pad + i] = column[from[s->pivots + i]];
    for (int i = pad + s->below; i < ld; i++) panel[i] = 0.0;
  }
}

/* A + diag(extra) in the panel of supernode k. */
static void assemble_panel(cholesky *c, int k) {
  const supernode *f = &c->full[k], *s = &c->now[k];
  double *panel = c->factor + s->panel;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  if (s->pivots == f->pivots && s->below == f->below)
    memcpy(panel, c->image + f->panel, ld * (size_t)s->pivots * sizeof *panel);
  else
    copy_cut_panel(c, f, s, panel);
  for (int j = 0; j < s->pivots; j++) {
    double *d = &panel[(size_t)j * (ld + 1)];
    *d += c->added[s->first + j];
    c->floor[s->first + j] = fmax(c->tiny * *d, DBL_MIN);
  }
}

/* Adds a child's update to the panel and to the supernode's own update. */
static void add_update(const cholesky *c, const supernode *s, const update *u, double *own) {
  int last = s->first + s->pivots, pad = lcplug_panel_pad(s->pivots), *at = c->position;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below), ldu = (size_t)lcplug_panel_pad(u->size);
  size_t ld_own = (size_t)lcplug_panel_pad(s->below);
  for (int k = 0; k < u->size; k++)
    at[k] = u->rows[k] < last ? u->rows[k] - s->first : c->local[u->rows[k]];
  for (int k = 0; k < u->size; k++) {
    const double *from = u->value + (size_t)k * ldu;
    double *to = u->rows[k] < last ? c->factor + s->panel + (size_t)at[k] * ld
                                   : own + (size_t)(at[k] - pad) * ld_own - pad;
    for (int i = k; i < u->size; i++) to[at[i]] += from[i];
  }
}

/* The updates that wait for a supernode are the last ones; they go. */
static void add_updates(cholesky *c, const supernode *s, int count, const update *updates, double *own) {
  int pad = lcplug_panel_pad(s->pivots);
  size_t ld = (size_t)lcplug_panel_pad(s->below);
  for (int k = 0; k < s->below; k++) {
    c->local[s->rows[k]] = pad + k;
    memset(own + (size_t)k * ld + k, 0, (ld - (size_t)k) * sizeof *own);
  }
  for (int k = 0; k < count; k++) add_update(c, s, &updates[k], own);
}

void lcplug_cholesky_factor(cholesky *c, const unsigned char *keep, const double *extra) {
  int pending = 0;
  double *top[2] = {c->stack[0], c->stack[1]};
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
    assemble_panel(c, k);
    if (waiting) {
      pending -= waiting;
      add_updates(c, s, waiting, c->pending + pending, own);
      top[!c->side[k]] = c->pending[pending].value;
    }
    c->perturbed += c->kernels->panel(panel, ld, s->pivots, c->floor + s->first, c->inverse + s->first);
    if (!s->below) continue;
    if (s->pivots)
      c->kernels->schur(panel + lcplug_panel_pad(s->pivots), ld, s->pivots, s->below, own, waiting > 0);
    c->pending[pending++] = (update){s->rows, s->below, own};
    top[c->side[k]] = own + (size_t)s->below * (size_t)lcplug_panel_pad(s->below);
  }
}

/* --- solves --- */

static void solve_forward(const cholesky *c, double *y) {
  double *w = c->column;
  for (int k = 0; k < c->supernodes; k++) {
    const supernode *s = &c->now[k];
    int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
    if (!s->pivots) continue;
    memset(w + s->pivots, 0, (size_t)(ld - s->pivots) * sizeof *w);
    memcpy(w, y + s->first, (size_t)s->pivots * sizeof *w);
    c->kernels->forward(c->factor + s->panel, ld, s->pivots, c->inverse + s->first, w);
    memcpy(y + s->first, w, (size_t)s->pivots * sizeof *w);
    for (int i = 0; i < s->below; i++) y[s->rows[i]] += w[pad + i];
  }
}

static void solve_backward(const cholesky *c, double *y) {
  double *w = c->column;
  for (int k = c->supernodes - 1; k >= 0; k--) {
    const supernode *s = &c->now[k];
    int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
    if (!s->pivots) continue;
    memcpy(w, y + s->first, (size_t)s->pivots * sizeof *w);
    for (int i = s->pivots; i < pad; i++) w[i] = 0.0;
    for (int i = 0; i < s->below; i++) w[pad + i] = y[s->rows[i]];
    for (int i = pad + s->below; i < ld; i++) w[i] = 0.0;
    c->kernels->backward(c->factor + s->panel, ld, s->pivots, c->inverse + s->first, w);
    memcpy(y + s->first, w, (size_t)s->pivots * sizeof *w);
  }
}

void lcplug_cholesky_solve(const cholesky *c, double *x) {
  double *y = c->vector;
  for (int p = 0; p < c->kept; p++) y[p] = x[c->kept_row[p]];
  solve_forward(c, y);
  solve_backward(c, y);
  if (c->kept < c->n) memset(x, 0, (size_t)c->n * sizeof *x);
  for (int p = 0; p < c->kept; p++) x[c->kept_row[p]] = y[p];
}
