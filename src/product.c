/* product.c - see product.h. */
#include "product.h"

#include <string.h>

static int own_rows(const cholesky *c, int a) {
  return c->kept_before[c->cluster_first[a + 1]] - c->kept_before[c->cluster_first[a]];
}

/* The kept elements of a cluster's columns; returns how many. */
static int list_elements(const cholesky *c, int a, int *source, int *row) {
  const int *before = c->kept_before, *place = c->place + c->place_begin[a];
  int length = c->place_begin[a + 1] - c->place_begin[a], count = 0;
  for (int k = 0; k < length; k++) {
    source[count] = k;
    row[count] = before[place[k]];
    count += before[place[k] + 1] - before[place[k]];
  }
  return count;
}

/* A cholesky stores the lower half of a cluster's own square. */
static void complete_square(double *value, size_t ld, int own) {
  for (int j = 0; j < own; j++)
    for (int i = j + 1; i < own; i++)
      value[(size_t)i * ld + (size_t)j] = value[(size_t)j * ld + (size_t)i];
}

static void copy_cluster(block_product *p, const cholesky *c, int a, int *source, int *row) {
  int k = p->clusters++, own = own_rows(c, a), count = list_elements(c, a, source, row);
  size_t ld = (size_t)lcplug_panel_pad(count),
         length = (size_t)(c->place_begin[a + 1] - c->place_begin[a]);
  double *to = p->value + p->value_begin[k];
  const double *from = c->value + c->value_begin[a];
  memcpy(p->other + p->other_begin[k], row + own, (size_t)(count - own) * sizeof *row);
  p->other_begin[k + 1] = p->other_begin[k] + count - own;
  p->first[k + 1] = p->first[k] + own;
  p->value_begin[k + 1] = p->value_begin[k] + ld * (size_t)own;
  for (int q = c->cluster_first[a]; q < c->cluster_first[a + 1]; q++, from += length) {
    if (c->kept_before[q] == c->kept_before[q + 1]) continue;
    for (int i = 0; i < count; i++) to[i] = from[source[i]];
    for (size_t i = (size_t)count; i < ld; i++) to[i] = 0.0;
    to += ld;
  }
  complete_square(p->value + p->value_begin[k], ld, own);
}

static int take_arrays(block_product *p, const cholesky *c, size_t values, size_t places,
                       int longest, lcplug_workspace *workspace) {
  p->first = TAKE(workspace, int, c->clusters + 1);
  p->other_begin = TAKE(workspace, int, c->clusters + 1);
  p->value_begin = TAKE(workspace, size_t, c->clusters + 1);
  p->other = TAKE(workspace, int, places);
  p->value = TAKE(workspace, double, values);
  p->gathered = TAKE(workspace, double, longest);
  p->sum = TAKE(workspace, double, longest);
  return p->first && p->other_begin && p->value_begin && p->other && p->value && p->gathered &&
         p->sum;
}

lcplug_error lcplug_product_build(block_product *p, const cholesky *c,
                                  lcplug_workspace *workspace) {
  size_t values = 0;
  int longest = 0;
  for (int a = 0; a < c->clusters; a++) {
    int length = lcplug_panel_pad(c->place_begin[a + 1] - c->place_begin[a]);
    longest = length > longest ? length : longest;
    values += (size_t)length * (size_t)own_rows(c, a);
  }
  *p = (block_product){.kernels = c->kernels, .rows = c->kept};
  if (!c->n) return LCPLUG_OK;
  if (!take_arrays(p, c, values, (size_t)c->place_begin[c->clusters], longest, workspace))
    return LCPLUG_ERROR_MEMORY;
  p->first[0] = p->other_begin[0] = 0;
  p->value_begin[0] = 0;
  for (int a = 0; a < c->clusters; a++)
    if (own_rows(c, a)) copy_cluster(p, c, a, c->source, c->position);
  return LCPLUG_OK;
}

void lcplug_product(const block_product *p, const double *x, double *y) {
  memset(y, 0, (size_t)p->rows * sizeof *y);
  for (int k = 0; k < p->clusters; k++) {
    int first = p->first[k], own = p->first[k + 1] - first;
    int others = p->other_begin[k + 1] - p->other_begin[k], ld = lcplug_panel_pad(own + others);
    const int *other = p->other + p->other_begin[k];
    double *gathered = p->gathered, *sum = p->sum;
    for (int i = 0; i < own; i++) gathered[i] = 0.0; /* the square holds both halves */
    for (int i = 0; i < others; i++) gathered[own + i] = x[other[i]];
    for (int i = own + others; i < ld; i++) gathered[i] = 0.0;
    p->kernels->block(p->value + p->value_begin[k], ld, own, x + first, gathered, sum, y + first);
    for (int i = 0; i < own; i++) y[first + i] += sum[i];
    for (int i = 0; i < others; i++) y[other[i]] += sum[own + i];
  }
}
