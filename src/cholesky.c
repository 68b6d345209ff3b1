/* cholesky.c - numeric factorization and solves.
 *
 * Multifrontal: supernodes are visited children first.  Each collects its columns of A and the
 * updates that its children left, eliminates its pivots by dense kernels, and leaves an update for
 * its parent.
 *
 * A subset of the rows only shortens the lists: every panel is cut down to the kept rows before any
 * arithmetic is done, and A is put in its place there, once for all factorizations of the subset. A
 * supernode that has lost all its pivots hands on the update that waits for it; only if there are
 * several it adds them up.
 *
 * Updates live on two stacks, a supernode's own on another one than its children's: so theirs can
 * be dropped as soon as they are added, and nothing moves. */
#include "cholesky.h"

#include <float.h>
#include <string.h>

/* Rows that stand together at least this many at a time, on average, are added as vectors. */
enum { SHORT_RUN = 16 };

/* --- the subset --- */

/* Numbers the kept rows. */
static void number_rows(cholesky *c, const unsigned char *keep) {
  int kept = 0;
  for (int p = 0; p < c->n; p++) {
    c->kept_before[p] = kept;
    kept += !keep || keep[p];
  }
  c->kept_before[c->n] = c->kept = kept;
}

/* A supernode and its rows below, cut down to what is kept. */
static void cut_supernode(const cholesky *c, const supernode *f, supernode *s) {
  const int *before = c->kept_before;
  int below = 0, *rows = s->rows;
  s->parent = f->parent;
  s->first = before[f->first];
  s->pivots = before[f->first + f->pivots] - s->first;
  for (int i = 0; i < f->below; i++) {
    int p = f->rows[i];
    rows[below] = before[p];
    below += before[p + 1] - before[p];
  }
  s->below = below;
}

/* A supernode without pivots only hands on what waits for it, unless it has to add it up. */
static int hands_on(const cholesky *c, int k) { return !c->now[k].pivots && c->waiting[k] <= 1; }

/* All supernodes of the subset, their panels, and how many updates will wait for each. */
static void cut_supernodes(cholesky *c) {
  int *rows = c->now_rows, *at = c->now_at;
  size_t panels = 0;
  memset(c->waiting, 0, (size_t)c->supernodes * sizeof *c->waiting);
  c->nonzeros = 0, c->flops = 0.0;
  for (int k = 0; k < c->supernodes; k++) {
    supernode *s = &c->now[k];
    *s = (supernode){.rows = rows, .at = at, .panel = panels};
    cut_supernode(c, &c->full[k], s);
    rows += s->below, at += s->below;
    panels += (size_t)lcplug_panel_ld(s->pivots, s->below) * (size_t)s->pivots;
    if (s->parent >= 0) c->waiting[s->parent] += hands_on(c, k) ? c->waiting[k] : s->below > 0;
    c->nonzeros +=
        (size_t)s->pivots * (size_t)s->below + (size_t)s->pivots * (size_t)(s->pivots + 1) / 2;
    c->flops += lcplug_front_flops(s->pivots, s->below);
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

/* The rows of a supernode's front: its pivots, then from a multiple of PANEL_PAD on those below. */
static void set_local(cholesky *c, const supernode *s) {
  for (int i = 0; i < s->below; i++) c->local[s->rows[i]] = lcplug_panel_pad(s->pivots) + i;
}

/* Where the rows of a child's update go in the front of the supernode that adds it up. */
static void aim_update(const cholesky *c, const supernode *s, supernode *child) {
  int last = s->first + s->pivots, breaks = 0, own = 0;
  int *at = child->at;
  for (int i = 0; i < child->below; i++) {
    int p = child->rows[i];
    own += p < last;
    at[i] = p < last ? p - s->first : c->local[p];
    breaks += i > 0 && at[i] != at[i - 1] + 1;
  }
  child->own = own;
  child->long_runs = child->below >= SHORT_RUN * (breaks + 1);
}

void lcplug_cholesky_select(cholesky *c, const unsigned char *keep) {
  int pending = 0;
  if (!c->n) return;
  number_rows(c, keep);
  cut_supernodes(c);
  choose_sides(c);
  c->is_assembled = 0;
  for (int k = 0; k < c->supernodes; k++) {
    supernode *s = &c->now[k];
    if (hands_on(c, k)) continue;
    set_local(c, s);
    pending -= c->waiting[k]; /* the updates that wait for this supernode are the last ones */
    for (int i = 0; i < c->waiting[k]; i++) aim_update(c, s, c->pending[pending + i].from);
    if (s->below) c->pending[pending++] = (update){s, NULL};
  }
}

/* --- A --- */

/* The elements of a cluster's columns that are kept: `source`, and their rows of the panel:
 * `position`.  Returns how many. */
static int locate_elements(cholesky *c, const supernode *s, int a) {
  const int *before = c->kept_before, *place = c->place + c->place_begin[a];
  int length = c->place_begin[a + 1] - c->place_begin[a], last = s->first + s->pivots, count = 0;
  for (int k = 0; k < length; k++) {
    int p = before[place[k]];
    c->source[count] = k;
    c->position[count] = p < last ? p - s->first : c->local[p];
    count += before[place[k] + 1] - p;
  }
  return count;
}

/* A in the panel of supernode k. */
static void assemble_panel(cholesky *c, int k) {
  const supernode *f = &c->full[k], *s = &c->now[k];
  const int *position = c->position, *source = c->source;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  double *to = c->assembled + s->panel;
  memset(to, 0, ld * (size_t)s->pivots * sizeof *to);
  for (int a = f->cluster; a < f->cluster + f->clusters; a++) {
    int count = locate_elements(c, s, a), skip = 0;
    const double *from = c->value + c->value_begin[a];
    size_t length = (size_t)(c->place_begin[a + 1] - c->place_begin[a]);
    for (int p = c->cluster_first[a]; p < c->cluster_first[a + 1]; p++, from += length) {
      if (c->kept_before[p] == c->kept_before[p + 1]) continue;
      for (int i = skip; i < count; i++) to[position[i]] = from[source[i]];
      skip++;
      to += ld;
    }
  }
}

const double *lcplug_fronts_assembled(cholesky *c) {
  for (int k = 0; k < c->supernodes && !c->is_assembled; k++) {
    set_local(c, &c->now[k]);
    assemble_panel(c, k);
  }
  c->is_assembled = 1;
  return c->assembled;
}

int lcplug_cholesky_supernode(const cholesky *c, int place) {
  int low = 0, high = c->supernodes; /* the first row of low is at the place or before it */
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (c->now[middle].first <= place) low = middle;
    else high = middle;
  }
  return low; /* the last of those that begin here: the ones before it have no pivots left */
}

static int cluster_of(const cholesky *c, int place) {
  int low = 0, high = c->clusters; /* cluster_first[low] <= place < cluster_first[high] */
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (c->cluster_first[middle] <= place) low = middle;
    else high = middle;
  }
  return low;
}

int lcplug_cholesky_column_length(const cholesky *c, int place) {
  int a = cluster_of(c, place), length = c->cluster_first[a + 1] - c->cluster_first[a];
  for (int e = c->neighbour_begin[a]; e < c->neighbour_begin[a + 1]; e++)
    length += c->cluster_first[c->neighbour[e] + 1] - c->cluster_first[c->neighbour[e]];
  return length;
}

/* What is eliminated first is the column: a block is stored by the columns of its earlier
 * cluster. */
int lcplug_cholesky_column(const cholesky *c, int place, int *places, double *values) {
  int a = cluster_of(c, place), first = c->cluster_first[a], count = 0;
  size_t own = (size_t)(place - first), step = (size_t)(c->place_begin[a + 1] - c->place_begin[a]);
  const double *square = c->value + c->value_begin[a];
  for (int q = first; q < c->cluster_first[a + 1]; q++) { /* of which there is the lower half */
    size_t i = (size_t)(q - first), low = i < own ? i : own, high = i < own ? own : i;
    places[count] = q;
    values[count++] = square[low * step + high];
  }
  for (int e = c->neighbour_begin[a]; e < c->neighbour_begin[a + 1]; e++) {
    int b = c->neighbour[e];
    size_t step_b = (size_t)(c->place_begin[b + 1] - c->place_begin[b]);
    const double *block = c->value + c->block[e] + (b > a ? own * step : own);
    for (int q = c->cluster_first[b]; q < c->cluster_first[b + 1]; q++) {
      places[count] = q;
      values[count++] = *block;
      block += b > a ? 1 : step_b;
    }
  }
  return count;
}

/* --- one front --- */

/* A + diag(extra) in the panel of a supernode. */
static void load_panel(cholesky *c, const supernode *s, const double *extra) {
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  double *to = c->factor + s->panel;
  memcpy(to, c->assembled + s->panel, ld * (size_t)s->pivots * sizeof *to);
  for (int j = s->first; j < s->first + s->pivots; j++, to += ld + 1) {
    if (extra) *to += extra[j];
    double floor = c->tiny * *to;
    c->floor[j] = floor > DBL_MIN ? floor : DBL_MIN;
  }
}

/* Positions that follow each other, as runs. */
static int find_runs(const int *position, int count, panel_run *run) {
  int runs = 0;
  for (int k = 0; k < count; k++)
    if (k && position[k] == position[k - 1] + 1) run[runs - 1].count++;
    else run[runs++] = (panel_run){k, position[k], 1};
  return runs;
}

/* Adds columns first .. last of a child's update to where they belong: `to` is the column of the
 * child's row at[first], and they are ld apart per row of the front. */
static void add_columns(const cholesky *c, const update *u, int first, int last, double *to,
                        size_t ld) {
  const supernode *child = u->from;
  const int *at = child->at;
  int size = child->below;
  size_t ldu = (size_t)lcplug_panel_pad(size);
  panel_run *run = c->run;
  int runs = child->long_runs ? find_runs(at + first, size - first, run) : 0;
  for (int k = first; k < last; k++) {
    const double *from = u->value + (size_t)k * ldu;
    double *column = to + (size_t)at[k] * ld;
    if (!child->long_runs) {
      for (int i = k; i < size; i++) column[at[i]] += from[i];
      continue;
    }
    c->kernels->add_runs(column, from + first, run, runs);
    run->from++, run->to++; /* the triangle: the next column starts one row lower */
    if (!--run->count) run++, runs--;
  }
}

void lcplug_front_add_to_panel(const cholesky *c, const supernode *s, int count,
                               const update *updates, double *panel) {
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  for (int k = 0; k < count; k++) add_columns(c, &updates[k], 0, updates[k].from->own, panel, ld);
}

void lcplug_front_add_to_update(const cholesky *c, const supernode *s, int count,
                                const update *updates, double *own) {
  size_t ld = (size_t)lcplug_panel_pad(s->below), pad = (size_t)lcplug_panel_pad(s->pivots);
  for (int k = 0; k < count; k++)
    add_columns(c, &updates[k], updates[k].from->own, updates[k].from->below, own - pad * (ld + 1),
                ld);
}

void lcplug_cholesky_factor(cholesky *c, const double *extra) {
  int pending = 0;
  double *top[2] = {c->stack[0], c->stack[1]};
  c->perturbed = 0;
  lcplug_fronts_assembled(c);
  for (int k = 0; k < c->supernodes; k++) {
    supernode *s = &c->now[k];
    if (hands_on(c, k)) continue;
    double *panel = c->factor + s->panel, *own = top[c->side[k]];
    int waiting = c->waiting[k], ld = lcplug_panel_ld(s->pivots, s->below);
    size_t size = (size_t)s->below * (size_t)lcplug_panel_pad(s->below);
    pending -= waiting; /* the updates for this supernode are the last ones, ... */
    const update *updates = c->pending + pending;
    load_panel(c, s, extra);
    lcplug_front_add_to_panel(c, s, waiting, updates, panel);
    c->perturbed +=
        c->kernels->panel(panel, ld, s->pivots, c->floor + s->first, c->inverse + s->first);
    if (s->pivots)
      c->kernels->schur(panel + lcplug_panel_pad(s->pivots), ld, s->pivots, s->below, own, 0);
    else memset(own, 0, size * sizeof *own);
    lcplug_front_add_to_update(c, s, waiting, updates, own);
    if (waiting) top[!c->side[k]] = updates[0].value; /* ... and the top of the other stack */
    if (!s->below) continue;
    c->pending[pending++] = (update){s, own};
    top[c->side[k]] = own + size;
  }
}

/* --- solves --- */

static int all_zero(const double *y, int count) {
  for (int i = 0; i < count; i++)
    if (y[i] != 0.0) return 0;
  return 1;
}

/* A right side with few elements meets few supernodes. */
void lcplug_fronts_forward(const cholesky *c, const double *factor, const double *inverse,
                           double *y) {
  double *w = c->column;
  for (int k = 0; k < c->supernodes; k++) {
    const supernode *s = &c->now[k];
    int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
    if (all_zero(y + s->first, s->pivots)) continue;
    memcpy(w, y + s->first, (size_t)s->pivots * sizeof *w);
    for (int i = s->pivots; i < pad; i++) w[i] = 0.0;
    c->kernels->forward(factor + s->panel, ld, s->pivots, inverse + s->first, w);
    memcpy(y + s->first, w, (size_t)s->pivots * sizeof *w);
    for (int i = 0; i < s->below; i++) y[s->rows[i]] += w[pad + i];
  }
}

void lcplug_fronts_backward(const cholesky *c, const double *factor, const double *inverse,
                            double *y) {
  double *w = c->column;
  for (int k = c->supernodes - 1; k >= 0; k--) {
    const supernode *s = &c->now[k];
    int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
    if (!s->pivots) continue;
    memcpy(w, y + s->first, (size_t)s->pivots * sizeof *w);
    for (int i = s->pivots; i < pad; i++) w[i] = 0.0;
    c->kernels->gather(y, s->rows, s->below, w + pad);
    c->kernels->backward(factor + s->panel, ld, s->pivots, inverse + s->first, w);
    memcpy(y + s->first, w, (size_t)s->pivots * sizeof *w);
  }
}

void lcplug_cholesky_solve(const cholesky *c, double *x) {
  lcplug_fronts_forward(c, c->factor, c->inverse, x);
  lcplug_fronts_backward(c, c->factor, c->inverse, x);
}
