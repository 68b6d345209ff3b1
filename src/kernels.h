/* kernels.h - dense arithmetic on the panels of a sparse factor.
 *
 * Every kernel exists in portable C and, on x86-64, with AVX2 and FMA; the processor that runs the
 * program decides, once per analysis.  The two differ by rounding (a fused product is rounded
 * once), each of them gives the same bits every time. */
#ifndef LCPLUG_KERNELS_H
#define LCPLUG_KERNELS_H

#include <stddef.h>

/* Panels are padded to this many rows, so that no kernel needs a scalar tail. */
enum { PANEL_PAD = 4 };

static inline int lcplug_panel_pad(int rows) { return (rows + PANEL_PAD - 1) & -PANEL_PAD; }

/* Rows that stand together both where numbers come from and where they go. */
typedef struct panel_run {
  int from, to, count;
} panel_run;

/* Panels are column-major with ld rows, `pivots` columns and 32-byte alignment; see cholesky.h. */
typedef struct cholesky_kernels {
  /* L of the pivots and of the rows below them, in place.  inverse[j] = 1 / L_jj; a pivot that is
   * not above floor[j] gets 0 and a column of zeros instead.  Returns how many did. */
  int (*panel)(double *panel, int ld, int pivots, const double *floor, double *inverse);
  /* L and U of a matrix that is not symmetric, in two panels: the lower triangle and the transpose
   * of the upper one, the diagonal in the first.  L has ones on its diagonal, inverse[j] = 1 /
   * U_jj. ones: as many as there are pivots. */
  int (*panels)(double *lower, double *upper, int ld, int pivots, const double *floor,
                double *inverse, const double *ones);
  /* update (lower, `below` columns of lcplug_panel_pad(below) rows) <- [update] - L L^T, where L
   * are the rows below of a panel.  add 0: the old content is not read.  schur_pair: L U^T. */
  void (*schur)(const double *below_rows, int ld, int pivots, int below, double *update, int add);
  void (*schur_pair)(const double *l, const double *u, int ld, int pivots, int below,
                     double *update, int add);
  /* to[run.to + i] += from[run.from + i] */
  void (*add_runs)(double *to, const double *from, const panel_run *run, int runs);
  /* w has the ld rows of the panel.  forward: w_pivots <- L^-1 w_pivots, and the rows below become
   * what that adds to them.  backward: w_pivots <- L^-T (w_pivots - the part of w_below). */
  void (*forward)(const double *panel, int ld, int pivots, const double *inverse, double *w);
  void (*backward)(const double *panel, int ld, int pivots, const double *inverse, double *w);
  /* to[i] = from[index[i]], and zeros up to a multiple of PANEL_PAD. */
  void (*gather)(const double *from, const int *index, int count, double *to);
  /* y = A x for `columns` columns of ld numbers, padded as a panel's; y has room for ld. */
  void (*multiply)(const double *a, int ld, int columns, const double *x, double *y);
  /* sum = A x and dot += A' gathered, for `columns` columns of ld numbers, padded as a panel's. */
  void (*block)(const double *a, int ld, int columns, const double *x, const double *gathered,
                double *sum, double *dot);
  /* lines[i] -= sum of part[i][l] rows[l] over l < inner, for `count` lines: all by rows, `length`
   * numbers of which are rounded up to a multiple of PANEL_PAD. */
  void (*subtract)(double *lines, int ld, int count, int length, const double *part, int ld_part,
                   int inner, const double *rows, int ld_rows);
  const char *name;
} cholesky_kernels;

/* The best table for this processor; the table of that name, NULL where it cannot run. */
const cholesky_kernels *lcplug_kernels_best(void);
const cholesky_kernels *lcplug_kernels_named(const char *name);

#endif
