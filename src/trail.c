/* trail.c - see trail.h. */
#include "trail.h"

#include <string.h>

int lcplug_trail_begin(trail_maker *m, const cholesky *c, lcplug_workspace *workspace) {
  *m = (trail_maker){.c = c, .workspace = workspace};
  m->y = TAKE(workspace, double, c->kept + 1);
  m->is_on_it = TAKE(workspace, unsigned char, c->supernodes + 1);
  if (!m->y || !m->is_on_it) return 0;
  memset(m->y, 0, (size_t)c->kept * sizeof *m->y);
  memset(m->is_on_it, 0, (size_t)c->supernodes);
  return 1;
}

/* Marks the way from a supernode to the root; returns the lowest and the highest that are on it. */
static void mark_way(trail_maker *m, int k, int *lowest, int *highest) {
  if (k < *lowest) *lowest = k;
  for (; k >= 0 && !m->is_on_it[k]; k = m->c->now[k].parent) {
    m->is_on_it[k] = 1;
    if (k > *highest) *highest = k;
  }
}

/* Room for what is marked. */
static int take_trail(const trail_maker *m, int lowest, int highest, trail *t) {
  int count = 0, values = 0;
  for (int k = lowest; k <= highest; k++)
    if (m->is_on_it[k]) count++, values += m->c->now[k].pivots;
  *t = (trail){.supernode = TAKE(m->workspace, int, count),
               .value = TAKE(m->workspace, double, values + 1)};
  return t->supernode && t->value;
}

/* One supernode of the way: its part of the trail, and what it adds to those above. */
static void climb(trail_maker *m, const supernode *s, double *value) {
  const cholesky *c = m->c;
  double *w = c->column, *own = m->y + s->first;
  size_t bytes = (size_t)s->pivots * sizeof *w;
  int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
  memcpy(w, own, bytes);
  for (int i = s->pivots; i < pad; i++) w[i] = 0.0;
  c->kernels->forward(c->factor + s->panel, ld, s->pivots, c->inverse + s->first, w);
  memcpy(value, w, bytes);
  memset(own, 0, bytes);
  for (int i = 0; i < s->below; i++) m->y[s->rows[i]] += w[pad + i];
}

int lcplug_trail_make(trail_maker *m, int count, const int *place, const double *value, trail *to) {
  const cholesky *c = m->c;
  int lowest = c->supernodes, highest = -1;
  for (int i = 0; i < count; i++) {
    m->y[place[i]] = value[i];
    mark_way(m, lcplug_cholesky_supernode(c, place[i]), &lowest, &highest);
  }
  int room = take_trail(m, lowest, highest, to);
  double *next = to->value;
  for (int k = lowest; k <= highest; k++) {
    if (!m->is_on_it[k]) continue;
    m->is_on_it[k] = 0;
    const supernode *s = &c->now[k];
    if (!room || !s->pivots) continue;
    climb(m, s, next);
    to->supernode[to->count++] = k;
    next += s->pivots;
  }
  return room;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Who passes a supernode: the trails, ascending, and their values there. */
typedef struct passing {
  int trail;
  const double *value;
} passing;

/* Sorts all of them by supernodes, which begin at begin[k]. */
static void list_passing(const cholesky *c, int count, const trail *trails, int *begin,
                         passing *all) {
  memset(begin, 0, (size_t)(c->supernodes + 2) * sizeof *begin);
  for (int t = 0; t < count; t++)
    for (int i = 0; i < trails[t].count; i++) begin[trails[t].supernode[i] + 2]++;
  for (int k = 1; k <= c->supernodes; k++) begin[k + 1] += begin[k];
  for (int t = 0; t < count; t++) {
    const double *value = trails[t].value;
    for (int i = 0; i < trails[t].count; i++) {
      int k = trails[t].supernode[i];
      all[begin[k + 1]++] = (passing){t, value};
      value += c->now[k].pivots;
    }
  }
}

/* Adds the products of those that pass a supernode.  Their values are the rows below of a panel. */
static void add_products(const cholesky_kernels *kernels, const passing *those, int count,
                         int pivots, double *rows, double *products, double *table, size_t ld) {
  int padded = lcplug_panel_pad(count);
  for (int p = 0; p < pivots; p++)
    for (int i = 0; i < padded; i++)
      rows[p * padded + i] = i < count ? those[i].value[p] : 0.0;
  kernels->schur(rows, padded, pivots, count, products, 0);
  for (int k = 0; k < count; k++, products += padded) {
    double *column = table + (size_t)those[k].trail * ld;
    for (int i = k; i < count; i++) column[those[i].trail] -= products[i];
  }
}

int lcplug_trail_products(const trail_maker *m, int count, const trail *trails, double *table,
                          size_t ld) {
  const cholesky *c = m->c;
  workspace_mark mark = lcplug_mark(m->workspace);
  int total = 0, longest = 0, padded = lcplug_panel_pad(count);
  for (int t = 0; t < count; t++) total += trails[t].count;
  for (int k = 0; k < c->supernodes; k++)
    longest = c->now[k].pivots > longest ? c->now[k].pivots : longest;
  int *begin = TAKE(m->workspace, int, c->supernodes + 2);
  passing *all = TAKE(m->workspace, passing, total + 1);
  double *rows = TAKE(m->workspace, double, (size_t)longest * (size_t)padded);
  double *products = TAKE(m->workspace, double, (size_t)padded * (size_t)padded);
  int room = begin && all && rows && products;
  for (int k = 0; k < count; k++)
    memset(table + (size_t)k * ld, 0, (size_t)count * sizeof *table);
  if (room) list_passing(c, count, trails, begin, all);
  for (int k = 0; k < c->supernodes && room; k++)
    if (begin[k + 1] > begin[k])
      add_products(c->kernels, all + begin[k], begin[k + 1] - begin[k], c->now[k].pivots, rows,
                   products, table, ld);
  lcplug_release(m->workspace, mark);
  return room;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void lcplug_trail_add(const cholesky *c, const trail *t, double part, double *y) {
  const double *value = t->value;
  for (int i = 0; i < t->count; i++) {
    const supernode *s = &c->now[t->supernode[i]];
    for (int j = 0; j < s->pivots; j++) y[s->first + j] += part * value[j];
    value += s->pivots;
  }
}
