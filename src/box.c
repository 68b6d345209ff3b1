/* box.c - cutting, pasting and judging boxes; see box.h. */
#include "box.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "box_matrix.h"
#include "finite.h"

/* In units of the residual. */
static const double NEGLIGIBLE = 1e-14;

static double clip(double value, double lo, double hi) {
  double raised = value < lo ? lo : value;
  return raised > hi ? hi : raised;
}

/* ---- the source ------------------------------------------------------------------------------ */

lcplug_error lcplug_box_source_dense(box_source *s, const lcplug_problem *p, const layout *l,
                                     lcplug_workspace *workspace) {
  size_t n = (size_t)p->n;
  *s = (box_source){.layout = l, .ld = (size_t)lcplug_panel_pad(p->n)};
  s->dense = TAKE(workspace, double, n * s->ld);
  if (!s->dense) return LCPLUG_ERROR_MEMORY;
  uint64_t not_finite = 0;
  int negative = 0;
  for (size_t r = 0; r < n; r++) {
    const double *row = p->A + r * p->stride;
    size_t i = (size_t)l->place[r];
    negative |= row[r] < 0.0;
    for (size_t c = 0; c <= r; c++) {
      size_t j = l->identity ? c : (size_t)l->place[c];
      not_finite |= lcplug_not_finite(row[c]);
      s->dense[i * s->ld + j] = s->dense[j * s->ld + i] = row[c];
    }
    for (size_t c = n; c < s->ld; c++) s->dense[i * s->ld + c] = 0.0;
  }
  if (not_finite) return LCPLUG_ERROR_NOT_FINITE;
  return negative ? LCPLUG_ERROR_DIAGONAL : LCPLUG_OK;
}

/* The analysis of the last sparse problem.  A simulation poses the same pattern again as long as
 * its contacts stay; then only the values are new. */
typedef struct kept_analysis {
  int n, groups;
  size_t *begin;
  int *column, *group_first;
  cholesky factor;
} kept_analysis;

static int is_same_pattern(const kept_analysis *k, const lower_triangle *a, const layout *l) {
  size_t n = (size_t)a->n;
  return k->n == a->n && k->groups == l->groups &&
         !memcmp(k->begin, a->begin, (n + 1) * sizeof *a->begin) &&
         !memcmp(k->group_first, l->group_first, ((size_t)l->groups + 1) * sizeof(int)) &&
         !memcmp(k->column, a->column, a->begin[n] * sizeof *a->column);
}

/* Analyses the pattern in the inner workspace, with a copy of what to know it by. */
static lcplug_error keep_analysis(void **kept, lcplug_workspace *inner, const lower_triangle *a,
                                  const layout *l) {
  size_t n = (size_t)a->n, groups = (size_t)l->groups;
  *kept = NULL;
  if (!inner) return LCPLUG_ERROR_MEMORY;
  lcplug_workspace_reset(inner);
  kept_analysis *k = TAKE(inner, kept_analysis, 1);
  size_t *begin = TAKE(inner, size_t, n + 1);
  int *column = TAKE(inner, int, a->begin[n]), *group_first = TAKE(inner, int, groups + 1);
  if (!k || !begin || !column || !group_first) return LCPLUG_ERROR_MEMORY;
  *k = (kept_analysis){a->n, l->groups, begin, column, group_first, {0}};
  memcpy(begin, a->begin, (n + 1) * sizeof *begin);
  memcpy(column, a->column, a->begin[n] * sizeof *column);
  memcpy(group_first, l->group_first, (groups + 1) * sizeof *group_first);
  lcplug_error error = lcplug_cholesky_analyze(&k->factor, a, l->groups, group_first, inner);
  if (!error) *kept = k;
  return error;
}

lcplug_error lcplug_box_source_sparse(box_source *s, const lower_triangle *lower, const layout *l,
                                      lcplug_workspace *workspace) {
  void **kept = lcplug_workspace_kept(workspace);
  kept_analysis *last = *kept;
  lcplug_error error = LCPLUG_OK;
  *s = (box_source){.layout = l, .lower = lower};
  if (last && is_same_pattern(last, lower, l)) lcplug_cholesky_load(&last->factor, lower);
  else error = keep_analysis(kept, lcplug_workspace_inner(workspace), lower, l);
  if (!error) s->factor = &((kept_analysis *)*kept)->factor;
  return error;
}

lcplug_error lcplug_box_source_condense(box_source *s, double factorizations,
                                        lcplug_workspace *workspace) {
  int worth_it;
  if (!s->factor || s->condensed || s->lower->skew) return LCPLUG_OK;
  workspace_mark mark = lcplug_mark(workspace);
  condensed *q = TAKE(workspace, condensed, 1);
  if (!q) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = lcplug_condense(q, s->factor, factorizations, &worth_it, workspace);
  if (worth_it) s->condensed = q;
  else lcplug_release(workspace, mark);
  return error;
}

/* y = A x for a lower triangle by rows, the diagonal last: element (i, j) serves y_i and y_j. */
static void multiply_lower(int rows, const size_t *begin, const int *column, const double *value,
                           const double *x, double *y) {
  for (int i = 0; i < rows; i++) {
    double even = 0.0, odd = 0.0, xi = x[i];
    size_t k = begin[i], last = begin[i + 1] - 1;
    for (; k + 2 <= last; k += 2) {
      int first = column[k], second = column[k + 1];
      even += value[k] * x[first];
      odd += value[k + 1] * x[second];
      y[first] += value[k] * xi;
      y[second] += value[k + 1] * xi;
    }
    if (k < last) {
      even += value[k] * x[column[k]];
      y[column[k]] += value[k] * xi;
    }
    y[i] = (even + odd) + value[last] * xi;
  }
}

void lcplug_box_source_apply(const box_source *s, const double *x, double *y) {
  int n = s->layout->n;
  if (s->dense) {
    lcplug_kernels_best()->multiply(s->dense, (int)s->ld, n, x, y);
    return;
  }
  multiply_lower(n, s->lower->begin, s->lower->column, s->lower->value, x, y);
}

/* ---- cutting --------------------------------------------------------------------------------- */

static int take_vectors(box *p, lcplug_workspace *workspace) {
  double **vectors[] = {&p->b,     &p->lo, &p->hi,      &p->diagonal,  &p->x,     &p->w,
                        &p->extra, &p->dx, &p->clipped, &p->clipped_w, &p->center};
  size_t count = sizeof vectors / sizeof *vectors, stride = (size_t)lcplug_panel_pad(p->rows);
  double *memory = TAKE(workspace, double, count * stride);
  p->place = TAKE(workspace, unsigned char, p->rows);
  p->keep = TAKE(workspace, unsigned char, p->rows);
  p->kept = TAKE(workspace, int, p->rows);
  p->vector = TAKE(workspace, double, stride + PANEL_PAD);
  if (!memory || !p->place || !p->keep || !p->kept || !p->vector) return 0;
  for (size_t i = 0; i < count; i++, memory += stride) *vectors[i] = memory;
  return 1;
}

lcplug_error lcplug_box_of_dense(box *p, const double *A, size_t ld, const int *row, int count,
                                 lcplug_workspace *workspace) {
  *p = (box){.workspace = workspace, .row = row, .rows = count};
  return take_vectors(p, workspace) && lcplug_box_cut_dense(p, A, ld, 0, workspace) ? LCPLUG_OK
                                                                         : LCPLUG_ERROR_MEMORY;
}

static double source_diagonal(const box_source *s, int row) {
  return s->dense ? s->dense[(size_t)row * s->ld + (size_t)row]
                  : s->lower->value[s->lower->begin[row + 1] - 1];
}

/* s_i |F_i(0)| of a row: |b|, as far as the bounds let a force act on it. */
static double violation_without_force(double b, double lo, double hi, double scale) {
  double q = b / scale, p = clip(q, lo, hi);
  return p == q ? fabs(b) : scale * fabs(p);
}

/* As in model.c, for rows instead of blocks. */
double lcplug_box_source_unit(const box_source *s, const double *lo, const double *hi) {
  const layout *l = s->layout;
  double largest = 0.0, unit = 0.0, largest_b = 0.0;
  for (int i = 0; i < l->n; i++) largest = fmax(largest, source_diagonal(s, i));
  double least = largest > 0.0 ? DBL_EPSILON * largest : 1.0;
  for (int i = 0; i < l->n; i++) {
    double scale = fmax(source_diagonal(s, i), least);
    unit = fmax(unit, violation_without_force(l->b[i], lo[i], hi[i], scale));
    largest_b = fmax(largest_b, fabs(l->b[i]));
  }
  unit = fmin(unit, DBL_MAX);
  return unit > 0.0 ? unit : largest_b > 0.0 ? largest_b : 1.0;
}

/* Rows without a choice, and their value: an interval so short that no force in it changes w beyond
 * rounding, and a row of zeros, whose force goes to the bound that b points at, if there is one.
 * Where there is none no force will do: what is left of such rows is lost, and the others have
 * their answer all the same. */
static int is_fixed(const box_source *s, int row, double lo, double hi, double unit, double *value,
                    double *lost) {
  double d = source_diagonal(s, row), b = s->layout->b[row];
  double bound = b > 0.0 ? hi : b < 0.0 ? lo : 0.0;
  *value = clip(0.0, lo, hi);
  if (d > 0.0) return d * (hi - lo) <= NEGLIGIBLE * unit;
  if (isinf(bound)) *lost = fmax(*lost, fabs(b) / unit);
  else if (b != 0.0) *value = bound;
  return 1;
}

lcplug_error lcplug_box_cut(box *p, box_source *s, const double *lo, const double *hi, double *x,
                            lcplug_workspace *workspace) {
  const layout *l = s->layout;
  int n = l->n, forced = 0;
  int *row = TAKE(workspace, int, n), *place_of = TAKE(workspace, int, n);
  double *only_fixed = TAKE(workspace, double, n);
  double *pushed = TAKE(workspace, double, n + PANEL_PAD); /* A x of the fixed rows */
  if (!row || !place_of || !only_fixed || !pushed) return LCPLUG_ERROR_MEMORY;
  *p = (box){.workspace = workspace,
             .row = row,
             .place_of = place_of,
             .unit = lcplug_box_source_unit(s, lo, hi)};
  for (int k = 0; k < n; k++) {
    int i = s->factor ? s->factor->row_at[k] : k;
    if (is_fixed(s, i, lo[i], hi[i], p->unit, &only_fixed[i], &p->lost)) {
      x[i] = only_fixed[i];
      forced |= x[i] != 0.0;
    } else {
      only_fixed[i] = 0.0;
      place_of[p->rows] = k;
      row[p->rows++] = i;
    }
  }
  if (!take_vectors(p, workspace)) return LCPLUG_ERROR_MEMORY;
  if (!(s->dense ? lcplug_box_cut_dense(p, s->dense, s->ld, p->rows == n, workspace)
                 : lcplug_box_cut_sparse(p, s, workspace)))
    return LCPLUG_ERROR_MEMORY;
  /* The condensed factor has all rows, whether the box has them or not. */
  if (s->condensed && lcplug_condensed_pays(s->condensed, p->factor->flops) &&
      !lcplug_box_condense(p, s->condensed, workspace))
    return LCPLUG_ERROR_MEMORY;
  if (forced) lcplug_box_source_apply(s, only_fixed, pushed);
  for (int k = 0; k < p->rows; k++) {
    int i = row[k];
    p->lo[k] = lo[i];
    p->hi[k] = hi[i];
    p->b[k] = l->b[i] - (forced ? pushed[i] : 0.0);
    p->diagonal[k] = source_diagonal(s, i);
    p->x[k] = clip(x[i], lo[i], hi[i]);
    p->place[k] = INSIDE;
  }
  return LCPLUG_OK;
}

void lcplug_box_paste(const box *p, const double *values, double *x) {
  for (int k = 0; k < p->rows; k++) x[p->row[k]] = values[k];
}

/* ---- judging --------------------------------------------------------------------------------- */

static void set_w_of(const box *p, const double *x, double *w) {
  p->matrix->apply(p, x, w);
  for (int i = 0; i < p->rows; i++) w[i] -= p->b[i];
  if (p->pull != 0.0)
    for (int i = 0; i < p->rows; i++) w[i] += p->pull * p->diagonal[i] * (x[i] - p->center[i]);
}

void lcplug_box_set_w(box *p) { set_w_of(p, p->x, p->w); }

/* s |F| of a row: |w| counts as far as the bound lets x move against it. */
static double row_violation(double x, double w, double d, double lo, double hi) {
  double size = fabs(w), bound = w > 0.0 ? lo : hi;
  if (d > 0.0) {
    double room = d * fabs(x - bound);
    return room < size ? room : size;
  }
  return isinf(bound) ? size : 0.0;
}

double lcplug_box_residual(const box *p, const double *x, const double *w) {
  double worst = 0.0;
  for (int i = 0; i < p->rows; i++) {
    double violation = row_violation(x[i], w[i], p->diagonal[i], p->lo[i], p->hi[i]);
    if (isnan(violation)) return INFINITY;
    worst = violation > worst ? violation : worst;
  }
  return worst <= DBL_MAX ? worst / p->unit : INFINITY;
}

double lcplug_box_source_residual(const box_source *s, const double *lo, const double *hi,
                                  const double *x, const double *Ax, double unit) {
  double worst = 0.0;
  for (int i = 0; i < s->layout->n; i++) {
    double w = Ax[i] - s->layout->b[i];
    /* x may lie outside: bounds that follow other forces move after it was found. */
    double clipped = clip(x[i], lo[i], hi[i]), d = source_diagonal(s, i);
    double violation = clipped != x[i] ? d * fabs(x[i] - clip(x[i] - w / d, lo[i], hi[i]))
                                       : row_violation(x[i], w, d, lo[i], hi[i]);
    if (isnan(violation)) return INFINITY;
    worst = violation > worst ? violation : worst;
  }
  return worst <= DBL_MAX ? worst / unit : INFINITY;
}

static double rounding_level(const box *p, const double *x) {
  double largest = 0.0;
  for (int i = 0; i < p->rows; i++) {
    double size = p->diagonal[i] * fabs(x[i]);
    largest = size > largest ? size : largest;
  }
  return 8.0 * DBL_EPSILON * largest / p->unit;
}

int lcplug_box_observe(box *p, iteration *it) {
  int moved = 0;
  for (int i = 0; i < p->rows; i++) {
    p->clipped[i] = clip(p->x[i], p->lo[i], p->hi[i]);
    moved |= p->clipped[i] != p->x[i];
  }
  double *w = p->w;
  if (moved) {
    w = p->clipped_w;
    set_w_of(p, p->clipped, w);
  }
  return lcplug_iteration_keep(it, p->rows, p->clipped, lcplug_box_residual(p, p->clipped, w),
                               rounding_level(p, p->clipped));
}
