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
    const supernode *s = &c->now[k];
    int ld = lcplug_panel_ld(s->pivots, s->below);
    for (int j = 0; j < s->pivots; j++) {
      int row = c->row_at[s->first + j];
      f->ld[row] = ld;
      f->diagonal[row] = s->panel + (size_t)j * (size_t)(ld + 1);
    }
  }
}

/* The part of A that is not symmetric goes through the same analysis: below the diagonal, in the
 * order of elimination. */
static lcplug_error split_given(lu *f, const lower_triangle *a, lcplug_workspace *workspace) {
  size_t panels = f->c->panels;
  double *lower = TAKE(workspace, double, panels), *upper = TAKE(workspace, double, panels);
  lower_triangle skew = *a;
  skew.value = TAKE(workspace, double, a->begin[a->n]);
  if (!lower || !upper || !skew.value) return LCPLUG_ERROR_MEMORY;
  for (int i = 0; i < a->n; i++)
    for (size_t k = a->begin[i]; k < a->begin[i + 1]; k++)
      skew.value[k] = f->diagonal[i] < f->diagonal[a->column[k]] ? -a->skew[k] : a->skew[k];
  lcplug_cholesky_load(f->c, &skew);
  lcplug_cholesky_select(f->c, NULL);
  memcpy(lower, lcplug_fronts_assembled(f->c), panels * sizeof *lower);
  lcplug_cholesky_load(f->c, a);
  lcplug_cholesky_select(f->c, NULL);
  const double *symmetric = lcplug_fronts_assembled(f->c);
  for (size_t i = 0; i < panels; i++) {
    upper[i] = symmetric[i] - lower[i];
    lower[i] += symmetric[i];
  }
  f->given_lower = lower, f->given_upper = upper;
  return LCPLUG_OK;
}

static lcplug_error take_memory(lu *f, lcplug_workspace *workspace) {
  const cholesky *c = f->c;
  size_t n = (size_t)c->n;
  f->lower = c->factor, f->inverse = c->inverse;
  f->upper = TAKE(workspace, double, c->panels);
  f->stack[0] = TAKE(workspace, double, 2 * c->stack_size);
  f->stack[1] = TAKE(workspace, double, 2 * c->stack_size);
  f->ones = TAKE(workspace, double, n);
  f->vector = TAKE(workspace, double, n);
  f->diagonal = TAKE(workspace, size_t, n);
  f->ld = TAKE(workspace, int, n);
  if (!f->upper || !f->stack[0] || !f->stack[1] || !f->ones || !f->vector || !f->diagonal || !f->ld)
    return LCPLUG_ERROR_MEMORY;
  for (size_t i = 0; i < n; i++) f->ones[i] = 1.0;
  return LCPLUG_OK;
}

lcplug_error lcplug_lu_begin(lu *f, cholesky *c, condensed *q, const lower_triangle *a,
                             lcplug_workspace *workspace) {
  *f = (lu){.c = q ? &q->factor : c, .condensed = q};
  lcplug_error error = take_memory(f, workspace);
  if (error || q) return error;
  lcplug_cholesky_select(c, NULL);
  locate_rows(f);
  if (a->skew) return split_given(f, a, workspace);
  f->given_lower = f->given_upper = lcplug_fronts_assembled(c);
  return LCPLUG_OK;
}

static void load_panels(lu *f) {
  memcpy(f->lower, f->given_lower, f->c->panels * sizeof *f->lower);
  if (!f->symmetric) memcpy(f->upper, f->given_upper, f->c->panels * sizeof *f->upper);
}

void lcplug_lu_load(lu *f, int symmetric) {
  f->symmetric = symmetric;
  if (f->condensed) lcplug_condensed_clear(f->condensed);
  else load_panels(f);
}

/* An element above the diagonal is one below it in the transpose. */
void lcplug_lu_add(lu *f, int i, int j, double value) {
  if (f->condensed) {
    *lcplug_condensed_element(f->condensed, i, j) += value;
    return;
  }
  size_t di = f->diagonal[i], dj = f->diagonal[j], step = (size_t)f->ld[i] + 1;
  if (di >= dj) f->lower[dj + (di - dj) / step] += value;
  else if (!f->symmetric) f->upper[di + (dj - di) / step] += value;
}

static void add_to_condensed(condensed *q, int first, int rows, const double *block) {
  int ld = q->cluster[q->cluster_of[first]].rows;
  double *to = lcplug_condensed_element(q, first, first); /* rows of one group stay together */
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) to[i * ld + j] += block[i * rows + j];
}

void lcplug_lu_add_block(lu *f, int first, int rows, const double *block) {
  if (f->condensed) {
    add_to_condensed(f->condensed, first, rows, block);
    return;
  }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < (f->symmetric ? i + 1 : rows); j++) {
      size_t d = f->diagonal[first + (i < j ? i : j)], off = (size_t)(i < j ? j - i : i - j);
      (i < j ? f->upper : f->lower)[d + off] += block[i * rows + j];
    }
}

void lcplug_lu_add_diagonal(lu *f, double factor, const double *diagonal) {
  for (int i = 0; i < f->c->n; i++)
    if (f->condensed) *lcplug_condensed_element(f->condensed, i, i) += factor * diagonal[i];
    else f->lower[f->diagonal[i]] += factor * diagonal[i];
}

/* The panels of V' (A + E) V. */
static void load_condensed(lu *f) {
  lcplug_condensed_choose(f->condensed);
  f->given_lower = f->given_upper = lcplug_fronts_assembled(f->c);
  load_panels(f);
  lcplug_condensed_put(f->condensed, f->lower, f->symmetric ? NULL : f->upper);
}

/* Pivots at or below this are zero but for rounding. */
static void set_floors(const lu *f, const supernode *s) {
  const cholesky *c = f->c;
  size_t ld = (size_t)lcplug_panel_ld(s->pivots, s->below);
  const double *d = f->lower + s->panel;
  for (int j = 0; j < s->pivots; j++, d += ld + 1)
    c->floor[s->first + j] = fmax(c->tiny * fabs(*d), DBL_MIN);
}

static size_t update_size(const supernode *s) {
  return (size_t)s->below * (size_t)lcplug_panel_pad(s->below);
}

/* The transposes of the updates stand behind them: there, and back. */
static void turn(update *updates, int count, int to_transpose) {
  for (int i = 0; i < count; i++)
    if (to_transpose) updates[i].value += update_size(updates[i].from);
    else updates[i].value -= update_size(updates[i].from);
}

/* Eliminates the pivots of a supernode; what they leave for the rows below goes to `own` and,
 * transposed, behind it. */
static void eliminate(lu *f, const supernode *s, int waiting, update *updates, double *own) {
  cholesky *c = f->c;
  double *lower = f->lower + s->panel, *upper = f->upper + s->panel,
         *inverse = f->inverse + s->first;
  double *transpose = own + update_size(s);
  int pad = lcplug_panel_pad(s->pivots), ld = lcplug_panel_ld(s->pivots, s->below);
  lcplug_front_add_to_panel(c, s, waiting, updates, lower);
  turn(updates, waiting, 1);
  lcplug_front_add_to_panel(c, s, waiting, updates, upper);
  c->kernels->panels(lower, upper, ld, s->pivots, c->floor + s->first, inverse, f->ones);
  c->kernels->schur_pair(upper + pad, lower + pad, ld, s->pivots, s->below, transpose, 0);
  lcplug_front_add_to_update(c, s, waiting, updates, transpose);
  turn(updates, waiting, 0);
  c->kernels->schur_pair(lower + pad, upper + pad, ld, s->pivots, s->below, own, 0);
  lcplug_front_add_to_update(c, s, waiting, updates, own);
}

static void eliminate_symmetric(lu *f, const supernode *s, int waiting, update *updates,
                                double *own) {
  cholesky *c = f->c;
  double *lower = f->lower + s->panel;
  int ld = lcplug_panel_ld(s->pivots, s->below);
  lcplug_front_add_to_panel(c, s, waiting, updates, lower);
  c->kernels->panel(lower, ld, s->pivots, c->floor + s->first, f->inverse + s->first);
  c->kernels->schur(lower + lcplug_panel_pad(s->pivots), ld, s->pivots, s->below, own, 0);
  lcplug_front_add_to_update(c, s, waiting, updates, own);
}

void lcplug_lu_factor(lu *f) {
  cholesky *c = f->c;
  int pending = 0;
  double *top[2] = {f->stack[0], f->stack[1]};
  if (f->condensed) load_condensed(f);
  for (int k = 0; k < c->supernodes; k++) {
    supernode *s = &c->now[k];
    double *own = top[c->side[k]];
    int waiting = c->waiting[k];
    pending -= waiting; /* the updates for this supernode are the last ones, ... */
    update *updates = c->pending + pending;
    set_floors(f, s);
    (f->symmetric ? eliminate_symmetric : eliminate)(f, s, waiting, updates, own);
    if (waiting) top[!c->side[k]] = updates[0].value; /* ... and the top of the other stack */
    if (!s->below) continue;
    c->pending[pending++] = (update){s, own};
    top[c->side[k]] = own + 2 * update_size(s);
  }
}

static void gather(const lu *f, const double *x) {
  if (f->condensed) {
    lcplug_condensed_gather(f->condensed, x, f->vector);
    return;
  }
  for (int p = 0; p < f->c->n; p++) f->vector[p] = x[f->c->row_at[p]];
}

static void spread(const lu *f, double *x) {
  if (f->condensed) {
    lcplug_condensed_spread(f->condensed, f->vector, x);
    return;
  }
  for (int p = 0; p < f->c->n; p++) x[f->c->row_at[p]] = f->vector[p];
}

void lcplug_lu_solve(const lu *f, double *x) {
  gather(f, x);
  lcplug_fronts_forward(f->c, f->lower, f->symmetric ? f->inverse : f->ones, f->vector);
  lcplug_fronts_backward(f->c, f->symmetric ? f->lower : f->upper, f->inverse, f->vector);
  spread(f, x);
}

double lcplug_lu_least_pivot(const lu *f, const double *unit) {
  double least = INFINITY;
  for (int p = 0; p < f->c->n; p++) {
    int row = f->condensed ? lcplug_condensed_row(f->condensed, p) : f->c->row_at[p];
    double inverse = f->symmetric ? f->inverse[p] * f->inverse[p] : fabs(f->inverse[p]);
    double part = inverse * unit[row];
    least = fmin(least, part > 0.0 ? 1.0 / part : 0.0);
  }
  return least;
}

int lcplug_lu_is_negative(const lu *f) {
  int negative = 0;
  if (f->symmetric) return 0; /* Cholesky's pivots are not */
  for (int p = 0; p < f->c->n; p++) negative ^= f->inverse[p] < 0.0;
  return negative;
}
