/* mend.c - see mend.h.
 *
 * At x0 the Newton step is dx = M^-1 r, M = A + E + what is added to the diagonal, and x1 = x0 +
 * dx has w1.  Whatever the few rows C do, the others keep their equations:
 *
 *     x = x1 + Z t,   Z = the columns C of M^-1;   with y = x_C and G = Z_C:   t = G^-1 (y - x1_C)
 *     w_C = w1_C + S (y - x1_C),   S = G^-1 - E_C
 *
 * One solve with the factor at hand for each of the rows. */
#include "mend.h"

#include <math.h>
#include <string.h>

#include "four.h"

/* Sets in the beginning, that join at a time, and in all; few are one of so many.  Where more than
 * MOST_OFF, and one of PART_OFF, are off it is not the fault of a few. */
enum { FIRST_SETS = 4, JOINING_SETS = 6, MOST_SETS = 24, MOST_ROUNDS = 4, FEW = 3 };
enum { MOST_OFF = 100, PART_OFF = 4 };
/* The small problem is solved to this part of eps, and no worse than this. */
static const double PART_OF_EPS = 0.03, COARSEST = 1e-5;

/* In operations: what a step takes per row and at least, and how many steps of the whole problem a
 * mending may take. */
static const double PER_ROW = 100.0, AT_LEAST = 1e4, WORTH = 60.0;

typedef struct mending {
  path *p;
  lcplug_workspace *workspace;
  int sets, set[MOST_SETS], most;
  int rows, row[MOST_SETS * SET_MOST_ROWS];
  unsigned char *chosen; /* set -> 1 or 0 */
  double *off;           /* set -> |f|^2 */
  point before, newton;  /* x0, x1 */
  point after;           /* with the small problem's answer */
  double *z;             /* Z, by columns of n */
  int ld;                /* rows, padded */
  double *inverse, *S;   /* G^-1 and S, by columns */
  double *b, *y, *t;
  double merit;          /* of `after` */
} mending;

static int take_arrays(mending *d) {
  const model *m = d->p->m;
  lcplug_workspace *workspace = d->workspace;
  size_t most = (size_t)lcplug_panel_pad(d->most * SET_MOST_ROWS);
  double **squares[] = {&d->inverse, &d->S}, **lines[] = {&d->b, &d->y, &d->t};
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
    if (!(*squares[i] = TAKE(workspace, double, most * most))) return 0;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (!(*lines[i] = TAKE(workspace, double, most))) return 0;
  d->z = TAKE(workspace, double, most * (size_t)m->n);
  d->off = TAKE(workspace, double, m->blocks);
  d->chosen = TAKE(workspace, unsigned char, m->blocks);
  if (!d->z || !d->off || !d->chosen) return 0;
  memset(d->chosen, 0, (size_t)m->blocks);
  return lcplug_point_take(&d->before, m->n, workspace) &&
         lcplug_point_take(&d->newton, m->n, workspace) &&
         lcplug_point_take(&d->after, m->n, workspace);
}

/* ---- who takes part -------------------------------------------------------------------------- */

/* x0 and x1 of the last step, which has gone a part of the way from one to the other. */
static void find_points(mending *d) {
  const path *p = d->p;
  for (int i = 0; i < p->m->n; i++) {
    d->before.x[i] = p->now.x[i] - p->part * p->dx[i];
    d->before.Ax[i] = p->now.Ax[i] - p->part * p->Adx[i];
    d->newton.x[i] = d->before.x[i] + p->dx[i];
    d->newton.Ax[i] = d->before.Ax[i] + p->Adx[i];
  }
}

static double off_at(const mending *d, int k, const point *at) {
  return lcplug_smoothing_of_set(&d->p->smooth, k, d->p->now.eps, at->x, at->Ax, NULL);
}

/* The worst `count` sets that are farther off than `least` join the few. */
static void choose(mending *d, int count, double least) {
  const model *m = d->p->m;
  for (; count > 0 && d->sets < d->most; count--) {
    int worst = -1;
    for (int k = 0; k < m->blocks; k++)
      if (!d->chosen[k] && d->off[k] > (worst < 0 ? least : d->off[worst])) worst = k;
    if (worst < 0) return;
    d->chosen[worst] = 1;
    d->set[d->sets++] = worst;
  }
}

/* 0: these are not few. */
static int choose_first(mending *d) {
  const model *m = d->p->m;
  double eps = d->p->now.eps;
  int count = 0;
  for (int k = 0; k < m->blocks; k++) {
    int fixed = m->sets[k].kind == SET_FREE;
    d->off[k] = fixed ? 0.0 : fmax(off_at(d, k, &d->p->now), off_at(d, k, &d->newton));
    count += d->off[k] > eps * eps;
  }
  choose(d, FIRST_SETS, eps * eps);
  return count <= MOST_OFF || count <= m->blocks / PART_OFF;
}

static void choose_thrown_off(mending *d) {
  double eps = d->p->now.eps;
  for (int k = 0; k < d->p->m->blocks; k++)
    if (d->p->m->sets[k].kind != SET_FREE) d->off[k] = off_at(d, k, &d->after);
  choose(d, JOINING_SETS, eps * eps);
}

/* ---- the small problem ----------------------------------------------------------------------- */

/* How everybody answers to the rows of the sets from `first` on. */
static void add_columns(mending *d, int first) {
  const path *p = d->p;
  size_t n = (size_t)p->m->n;
  for (int e = first; e < d->sets; e++) {
    const force_set *set = &p->m->sets[d->set[e]];
    for (int i = 0; i < set->rows; i++) {
      double *z = d->z + n * (size_t)d->rows;
      memset(z, 0, n * sizeof *z);
      z[set->first + i] = 1.0;
      lcplug_lu_solve(&p->matrix, z);
      d->row[d->rows++] = set->first + i;
    }
  }
}

/* to += factor * from */
static void add_multiple(double *to, double factor, const double *from, int ld) {
  for (int i = 0; i < ld; i += PANEL_PAD)
    four_put(to + i, four_at(to + i) + factor * four_at(from + i));
}

static void swap_columns(double *a, double *b, int ld) {
  for (int i = 0; i < ld; i++) {
    double was = a[i];
    a[i] = b[i];
    b[i] = was;
  }
}

/* Gauss and Jordan's, in place, by columns, with pivoting; 0: singular. */
static int invert(double *a, int rows, int ld) {
  int pivot[MOST_SETS * SET_MOST_ROWS];
  for (int k = 0; k < rows; k++) {
    int best = k;
    for (int j = k + 1; j < rows; j++)
      if (fabs(a[j * ld + k]) > fabs(a[best * ld + k])) best = j;
    pivot[k] = best;
    double *own = a + k * ld, factor = a[best * ld + k];
    if (best != k) swap_columns(own, a + best * ld, ld);
    if (!(fabs(factor) > 0.0)) return 0;
    own[k] = 1.0;
    for (int i = 0; i < rows; i++) own[i] /= factor;
    for (int j = 0; j < rows; j++) {
      double *other = a + j * ld, part = other[k];
      if (j == k || part == 0.0) continue;
      other[k] = 0.0;
      add_multiple(other, -part, own, ld);
    }
  }
  for (int k = rows - 1; k >= 0; k--)
    for (int j = 0; j < rows && pivot[k] != k; j++) {
      double was = a[j * ld + k];
      a[j * ld + k] = a[j * ld + pivot[k]];
      a[j * ld + pivot[k]] = was;
    }
  return 1;
}

/* S and b; 0 where the few rows determine nothing. */
static int reduce(mending *d) {
  const path *p = d->p;
  int ld = d->ld = lcplug_panel_pad(d->rows);
  memset(d->inverse, 0, (size_t)(ld * ld) * sizeof *d->inverse);
  for (int j = 0; j < d->rows; j++)
    for (int i = 0; i < d->rows; i++) d->inverse[j * ld + i] = d->z[j * p->m->n + d->row[i]];
  if (!invert(d->inverse, d->rows, ld)) return 0;
  memcpy(d->S, d->inverse, (size_t)(ld * ld) * sizeof *d->S);
  for (int e = 0, first = 0; e < d->sets; e++) {
    int rows = p->m->sets[d->set[e]].rows;
    double E[SET_MOST_ROWS * SET_MOST_ROWS];
    lcplug_smoothing_of_set(&p->smooth, d->set[e], p->now.eps, d->before.x, d->before.Ax, E);
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < rows; j++) d->S[(first + j) * ld + first + i] -= E[i * rows + j];
      d->S[(first + i) * (ld + 1)] -= p->added * p->diagonal[d->row[first + i]];
    }
    first += rows;
  }
  for (int i = 0; i < d->rows; i++) d->b[i] = p->m->b[d->row[i]] - d->newton.Ax[d->row[i]];
  for (int j = 0; j < d->rows; j++) add_multiple(d->b, d->newton.x[d->row[j]], d->S + j * ld, ld);
  return 1;
}

static void apply_few(const linop *op, const double *x, double *y) {
  lcplug_kernels_best()->multiply(op->A, (int)op->stride, op->n, x, y);
}

static void diagonal_of_few(const linop *op, double *diagonal) {
  for (int i = 0; i < op->n; i++) diagonal[i] = op->A[(size_t)i * (op->stride + 1)];
}

static const linop_table few_rows = {.apply = apply_few, .diagonal = diagonal_of_few};

/* Its sets, with the scales and the unit of the whole, so that its residual is one of the whole. */
static int make_model(const mending *d, const linop *op, model *few) {
  const model *m = d->p->m;
  *few = *m;
  few->n = d->rows, few->op = op, few->b = d->b, few->blocks = d->sets;
  few->sets = TAKE(d->workspace, force_set, d->sets);
  few->scale = TAKE(d->workspace, double, d->sets);
  if (!few->sets || !few->scale) return 0;
  for (int e = 0, first = 0; e < d->sets; first += few->sets[e++].rows) {
    few->sets[e] = m->sets[d->set[e]];
    few->sets[e].first = first;
    few->scale[e] = m->scale[d->set[e]];
  }
  return 1;
}

static int make_triangle(const mending *d, lower_triangle *lower) {
  size_t rows = (size_t)d->rows, size = rows * (rows + 1) / 2, at = 0;
  *lower = (lower_triangle){.n = d->rows};
  lower->begin = TAKE(d->workspace, size_t, rows + 1);
  lower->column = TAKE(d->workspace, int, size);
  lower->value = TAKE(d->workspace, double, size);
  lower->skew = TAKE(d->workspace, double, size);
  if (!lower->begin || !lower->column || !lower->value || !lower->skew) return 0;
  for (int i = 0; i < d->rows; i++) {
    lower->begin[i] = at;
    for (int j = 0; j <= i; j++, at++) {
      double below = d->S[j * d->ld + i], above = d->S[i * d->ld + j];
      lower->column[at] = j;
      lower->value[at] = 0.5 * (below + above);
      lower->skew[at] = 0.5 * (below - above);
    }
  }
  lower->begin[rows] = at;
  return 1;
}

/* Steps of the small problem that are worth it: so many of the whole one's take as long.  A step
 * takes its arithmetic, a little for each row, and a while whatever the size. */
static int steps_worth(const mending *d) {
  const cholesky *c = d->p->matrix.c;
  double few = (double)d->rows, whole = 2.0 * c->flops + PER_ROW * c->n + AT_LEAST;
  return (int)fmin(WORTH * whole / (few * few * few / 1.5 + PER_ROW * few + AT_LEAST), 1e6);
}

static int solve_few(mending *d, mend_solver *solve) {
  const path *p = d->p;
  linop op = {.table = &few_rows, .n = d->rows, .A = d->S, .stride = (size_t)d->ld};
  model few;
  lower_triangle lower;
  cholesky factor;
  int group_first[2] = {0, d->rows};
  double tol = fmin(PART_OF_EPS * p->now.eps / p->smooth.unit, COARSEST);
  iteration it = {.tol = fmax(tol, p->it->tol), .deadline = p->it->deadline, .x = d->y};
  it.max_iter = steps_worth(d);
  if (!make_model(d, &op, &few) || !make_triangle(d, &lower)) return 0;
  for (int i = 0; i < d->rows; i++) d->y[i] = p->now.x[d->row[i]];
  return !lcplug_cholesky_analyze(&factor, &lower, 1, group_first, d->workspace) &&
         !solve(&few, &lower, &factor, &it, d->workspace) && it.status == LCPLUG_SOLVED;
}

/* Everybody's answer to that of the few. */
static void answer(mending *d) {
  const model *m = d->p->m;
  double *x = d->after.x;
  memset(d->t, 0, (size_t)d->ld * sizeof *d->t);
  for (int j = 0; j < d->rows; j++)
    add_multiple(d->t, d->y[j] - d->newton.x[d->row[j]], d->inverse + j * d->ld, d->ld);
  memset(x, 0, (size_t)m->n * sizeof *x);
  for (int j = 0; j < d->rows; j++) x[d->row[j]] = d->t[j];
  lcplug_lu_solve(&d->p->matrix, x);
  for (int i = 0; i < m->n; i++) x[i] += d->newton.x[i];
  for (int j = 0; j < d->rows; j++) x[d->row[j]] = d->y[j];
  m->op->table->apply(m->op, x, d->after.Ax);
  d->merit = lcplug_smoothing_merit(&d->p->smooth, d->p->now.eps, x, d->after.Ax);
}

/* ---- all together ---------------------------------------------------------------------------- */

static int mend(mending *d, mend_solver *solve) {
  path *p = d->p;
  double before = lcplug_smoothing_merit(&p->smooth, p->now.eps, p->now.x, p->now.Ax);
  find_points(d);
  if (!choose_first(d)) return 0;
  for (int round = 0, known = 0; round < MOST_ROUNDS && known < d->sets; round++) {
    workspace_mark mark = lcplug_mark(d->workspace);
    add_columns(d, known);
    known = d->sets;
    int solved = reduce(d) && solve_few(d, solve);
    lcplug_release(d->workspace, mark);
    if (!solved) {
      choose(d, JOINING_SETS, 0.0); /* alone they may have no answer */
      continue;
    }
    answer(d);
    if (d->merit < before) {
      d->after.eps = p->now.eps;
      lcplug_point_copy(&p->now, &d->after, p->m->n);
      return 1;
    }
    choose_thrown_off(d);
  }
  return 0;
}

int lcplug_may_mend(const path *p) {
  for (int k = 0; k < p->m->blocks; k++)
    if (p->m->sets[k].kind == SET_COUPLED) return 0;
  return !p->few && p->pull == 0.0 && p->m->blocks >= FIRST_SETS * FEW;
}

int lcplug_mend(path *p, mend_solver *solve, lcplug_workspace *workspace) {
  int most = p->m->blocks / FEW;
  mending d = {.p = p, .workspace = workspace, .most = most < MOST_SETS ? most : MOST_SETS};
  workspace_mark mark = lcplug_mark(workspace);
  int mended = take_arrays(&d) && mend(&d, solve);
  lcplug_release(workspace, mark);
  return mended;
}
