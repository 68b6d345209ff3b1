/* product.h - y = A x on the chosen rows of a cholesky, by blocks.
 *
 * All columns of a cluster have their elements in the same rows.  So x is gathered once per cluster
 * and what belongs to other clusters is added to y once; in between there is dense arithmetic. */
#ifndef LCPLUG_PRODUCT_H
#define LCPLUG_PRODUCT_H

#include "cholesky.h"

typedef struct block_product {
  const cholesky_kernels *kernels;
  int rows, clusters;
  int *first;       /* clusters + 1 of them: a cluster's own rows follow each other */
  int *other_begin; /* clusters + 1 of them */
  int *other;       /* rows of later clusters in which its columns have elements */
  /* Its columns, column-major: the square of its own rows, then those others, then zeros up to a
   * multiple of PANEL_PAD. */
  size_t *value_begin;
  double *value;
  double *gathered, *sum; /* scratch: as long as the longest column */
} block_product;

/* The product with A on the rows that the last lcplug_cholesky_select chose. */
lcplug_error lcplug_product_build(block_product *p, const cholesky *c, lcplug_workspace *workspace);

/* x and y have p->rows elements. */
void lcplug_product(const block_product *p, const double *x, double *y);

#endif
