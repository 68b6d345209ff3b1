/* lu.c - see lu.h.
 *
 * The multifrontal method of cholesky.c with every panel and every update held twice: the lower
 * triangle, and the transpose of the upper one.  Both have the same shape and are added and
 * eliminated by the same kernels, each with the other as its partner. */
#include "lu.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Rows of one group stand together in the order of elimination, within one supernode. */
static void locate_rows(lu *f) {
  const cholesky *c = f->c;
  for (int k = 0; k < c->supernodes; k++) {
    const supernode *s = &c->full[k];
    int ld = lcplug_panel_ld(s->pivots, s->below);
    for (int j = 0; j < s->pivots; j++) {
      int row = c->row_at[s->first + j];
      f->ld[row] = ld;
      f->diagonal[row] = s->panel + (size_t)j * (size_t)(ld + 1);
    }
  }
}

lcplug_error lcplug_lu_begin(lu *f, cholesky *c, lcplug_workspace *workspace) {
  size_t n = (size_t)c->n;
  *f = (lu){.c = c, .lower = c->factor, .inverse = c->inverse};
  f->upper = TAKE(workspace, double, c->panels);
  f->stack[0] = TAKE(workspace, double, 2 * c->stack_size);
  f->stack[1] = TAKE(workspace, double, 2 * c->stack_size);
  f->ones = TAKE(workspace, double, n);
  f->diagonal = TAKE(workspace, size_t, n);
  f->ld = TAKE(workspace, int, n);
  if (!f->upper || !f->stack[0] || !f->stack[1] || !f->ones || !f->diagonal || !f->ld)
    return LCPLUG_ERROR_MEMORY;
  for (size_t i = 0; i < n; i++) f->ones[i] = 1.0;
  locate_rows(f);
  return LCPLUG_OK;
}

/* The columns of A in the panel of a supernode. */
static void load_panel(const lu *f, const supernode *s) {
  const cholesky *c = f->c;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  int last = s->first + s->pivots;
  double *to = f->lower + s->panel;
  for (int i = 0; i < s->below; i++) c->local[s->rows[i]] = lcplug_panel_pad(s->pivots) + i;
  for (int a = s->cluster; a < s->cluster + s->clusters; a++) {
    const int *place = c->place + c->place_begin[a];
    int length = c->place_begin[a + 1] - c->place_begin[a], skip = 0;
    const double *from = c->value + c->value_begin[a];
    for (int k = 0; k < length; k++)
      c->position[k] = place[k] < last ? place[k] - s->first : c->local[place[k]];
    for (int p = c->cluster_first[a]; p < c->cluster_first[a + 1]; p++, from += length, to += ld)
      for (int k = skip++; k < length; k++) to[c->position[k]] = from[k];
  }
}

void lcplug_lu_load(lu *f) {
  const cholesky *c = f->c;
  memset(f->lower, 0, c->panels * sizeof *f->lower);
  for (int k = 0; k < c->supernodes; k++) load_panel(f, &c->full[k]);
  memcpy(f->upper, f->lower, c->panels * sizeof *f->upper);
}

/* An element above the diagonal is one below it in the transpose. */
void lcplug_lu_add(lu *f, int i, int j, double value) {
  size_t di = f->diagonal[i], dj = f->diagonal[j], step = (size_t)f->ld[i] + 1;
  if (di >= dj) f->lower[dj + (di - dj) / step] += value;
  else f->upper[di + (dj - di) / step] += value;
}

void lcplug_lu_add_block(lu *f, int first, int rows, const double *block) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) {
      size_t d = f->diagonal[first + (i < j ? i : j)], off = (size_t)(i < j ? j - i : i - j);
      (i < j ? f->upper : f->lower)[d + off] += *block++;
    }
}

/* Pivots at or below this are zero but for rounding. */
static void set_floors(const lu *f, const supernode *s) {
  const cholesky *c = f->c;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  const double *d = f->lower + s->panel;
  for (int j = 0; j < s->pivots; j++, d += ld + 1)
    c->floor[s->first + j] = fmax(c->tiny * fabs(*d), DBL_MIN);
}

/* How many updates will wait for each supernode, and the stack that its own goes to: another one than
 * its children's. */
static void plan(cholesky *c) {
  memset(c->waiting, 0, (size_t)c->supernodes * sizeof *c->waiting);
  for (int k = c->supernodes - 1; k >= 0; k--) {
    const supernode *s = &c->full[k];
    c->side[k] = s->parent < 0 ? 0 : !c->side[s->parent];
    if (s->parent >= 0 && s->below) c->waiting[s->parent]++;
  }
}

static size_t update_size(int below) { return (size_t)below * (size_t)lcplug_panel_pad(below); }

/* The transposes of the updates stand behind them. */
static void add_updates(const lu *f, const supernode *s, int count, update *updates, double *own) {
  lcplug_front_add(f->c, s, count, updates, f->lower + s->panel, own);
  for (int i = 0; i < count; i++) updates[i].value += update_size(updates[i].size);
  lcplug_front_add(f->c, s, count, updates, f->upper + s->panel, own + update_size(s->below));
}

void lcplug_lu_factor(lu *f) {
  cholesky *c = f->c;
  int pending = 0;
  double *top[2] = {f->stack[0], f->stack[1]};
  plan(c);
  for (int k = 0; k < c->supernodes; k++) {
    const supernode *s = &c->full[k];
    double *lower = f->lower + s->panel, *upper = f->upper + s->panel, *own = top[c->side[k]];
    int waiting = c->waiting[k], pad = lcplug_panel_pad(s->pivots);
    int ld = lcplug_panel_ld(s->pivots, s->below);
    for (int i = 0; i < s->below; i++) c->local[s->rows[i]] = pad + i;
    set_floors(f, s);
    if (waiting) { /* for this supernode: the last ones, and the top of the other stack */
      pending -= waiting;
      top[!c->side[k]] = c->pending[pending].value;
      add_updates(f, s, waiting, c->pending + pending, own);
    }
    c->kernels->panels(lower, upper, ld, s->pivots, c->floor + s->first, f->inverse + s->first,
                       f->ones);
    if (!s->below) continue;
    double *transpose = own + update_size(s->below);
    c->kernels->schur_pair(lower + pad, upper + pad, ld, s->pivots, s->below, own, waiting > 0);
    c->kernels->schur_pair(upper + pad, lower + pad, ld, s->pivots, s->below, transpose,
                           waiting > 0);
    c->pending[pending++] = (update){s->rows, s->below, own};
    top[c->side[k]] = transpose + update_size(s->below);
  }
}

void lcplug_lu_solve(const lu *f, double *x) {
  const cholesky *c = f->c;
  double *y = c->vector;
  for (int p = 0; p < c->n; p++) y[p] = x[c->row_at[p]];
  lcplug_fronts_forward(c, c->full, f->lower, f->ones, y);
  lcplug_fronts_backward(c, c->full, f->upper, f->inverse, y);
  for (int p = 0; p < c->n; p++) x[c->row_at[p]] = y[p];
}
