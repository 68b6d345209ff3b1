/* lu.h - sparse direct factorization of A + E, where E couples rows of one group; neither need be
 * symmetric.
 *
 * The pattern, the order and the storage of A are those of an analyzed cholesky, whose factor and
 * scratch this borrows: between two factorizations of the one the other may not be used.  It may
 * be a condensed one (condense.h): whoever adds to E and solves does not notice.
 * Pivots are taken in the order of the analysis, without exchanges; one that is zero but for
 * rounding is left out. */
#ifndef LCPLUG_LU_H
#define LCPLUG_LU_H

#include "condense.h"

typedef struct lu {
  cholesky *c;
  condensed *condensed;  /* what c is the factor of, or NULL */
  int symmetric;         /* A + E is: half of the work, and L L^T instead of L U */
  double *lower, *upper; /* panels: L, and the transpose of U */
  const double *given_lower, *given_upper; /* the same of A */
  double *stack[2];
  double *inverse, *ones; /* place -> 1 / U_ii; and 1 */
  double *vector;         /* scratch: by places */
  size_t *diagonal;       /* row -> where its diagonal element is in the panels */
  int *ld;                /* row -> rows of its panel */
} lu;

/* a: what c was analyzed for, q: condensed from c, or NULL. */
lcplug_error lcplug_lu_begin(lu *f, cholesky *c, condensed *q, const lower_triangle *a,
                             lcplug_workspace *workspace);

/* Loads A; then come the elements of E; then the factorization.  symmetric: only of an A that is,
 * and with an E that is, positive definite too; what it has above its diagonal is not looked at. */
void lcplug_lu_load(lu *f, int symmetric);
/* rows x rows elements (row-major) on the diagonal block of consecutive rows of one group. */
void lcplug_lu_add_block(lu *f, int first, int rows, const double *block);
/* One element: row i, column j of one group. */
void lcplug_lu_add(lu *f, int i, int j, double value);
/* factor times one number for each row, on the diagonal. */
void lcplug_lu_add_diagonal(lu *f, double factor, const double *diagonal);
void lcplug_lu_factor(lu *f);

/* x <- (A + E)^-1 x */
void lcplug_lu_solve(const lu *f, double *x);

/* The smallest pivot as a part of its row's number in `unit`; 0 if one was left out. */
double lcplug_lu_least_pivot(const lu *f, const double *unit);

/* Whether the determinant of what was factorized is below 0. */
int lcplug_lu_is_negative(const lu *f);

#endif
