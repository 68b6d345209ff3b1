/* trail.c - see trail.h. */
#include "trail.h"

#include <string.h>

#include "four.h"

int lcplug_trail_begin(trail_maker *m, const cholesky *c, lcplug_workspace *workspace) {
  *m = (trail_maker){.c = c, .workspace = workspace};
  m->y = TAKE(workspace, double, c->kept + 1);
  m->is_on_it = TAKE(workspace, unsigned char, c->supernodes + 1);
  if (!m->y || !m->is_on_it) return 0;
  memset(m->y, 0, (size_t)c->kept * sizeof *m->y);
  memset(m->is_on_it, 0, (size_t)c->supernodes);
  return 1;
}

/* The supernode whose pivots have the row at a place. */
static int supernode_at(const cholesky *c, int place) {
  int low = 0, high = c->supernodes; /* the first row of low is at the place or before it */
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (c->now[middle].first <= place) low = middle;
    else high = middle;
  }
  return low; /* the last of those that begin here: the ones before it have no pivots left */
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
    mark_way(m, supernode_at(c, place[i]), &lowest, &highest);
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

static double product(const double *a, const double *b, int length) {
  four sum = {0.0, 0.0, 0.0, 0.0};
  double rest = 0.0;
  int i = 0;
  for (; i + 4 <= length; i += 4) sum += four_at(a + i) * four_at(b + i);
  for (; i < length; i++) rest += a[i] * b[i];
  return four_sum(sum) + rest;
}

double lcplug_trail_product(const cholesky *c, const trail *a, const trail *b) {
  const double *x = a->value, *y = b->value;
  double sum = 0.0;
  for (int i = 0, j = 0; i < a->count && j < b->count;) {
    int k = a->supernode[i], l = b->supernode[j];
    if (k == l) sum += product(x, y, c->now[k].pivots);
    if (k <= l) x += c->now[k].pivots, i++;
    if (l <= k) y += c->now[l].pivots, j++;
  }
  return sum;
}

void lcplug_trail_add(const cholesky *c, const trail *t, double part, double *y) {
  const double *value = t->value;
  for (int i = 0; i < t->count; i++) {
    const supernode *s = &c->now[t->supernode[i]];
    for (int j = 0; j < s->pivots; j++) y[s->first + j] += part * value[j];
    value += s->pivots;
  }
}
