/* operator.h - A, seen only through a table of functions.
 *
 * A gradient method needs products A x.  A sweep needs less and more: the rows of A x that belong
 * to one block, kept current while block after block changes.  Each operator keeps for that a
 * `state` of its own choice (for the matrices here it is A x itself).
 *
 * Rows are in the solver's order (layout.h).  Operators know nothing of sets. */
#ifndef LCPLUG_OPERATOR_H
#define LCPLUG_OPERATOR_H

#include "layout.h"
#include "scan.h"
#include "workspace.h"

typedef struct linop linop;

typedef struct linop_table {
  /* y = A x */
  void (*apply)(const linop *op, const double *x, double *y);
  /* d[i] = A_ii of every row; block = rows first .. first + rows - 1 of the diagonal, row-major */
  void (*diagonal)(const linop *op, double *d);
  void (*diagonal_block)(const linop *op, int first, int rows, double *block);
  /* how many doubles a state takes; the state that belongs to x */
  int (*state_size)(const linop *op);
  void (*state_begin)(const linop *op, const double *x, double *state);
  /* the rows of A x of a block, and the change of x in a block by dx */
  void (*state_read)(const linop *op, const double *state, int first, int rows, double *Ax);
  void (*state_add)(const linop *op, double *state, int first, int rows, const double *dx);
} linop_table;

/* A block of the sparse operator: rows of one group (its block row), columns of another. */
typedef struct block {
  int first, columns;
  size_t value; /* offset in `value`, row-major */
} block;

struct linop {
  const linop_table *table;
  int n;
  const layout *layout;
  /* dense: the caller's lower triangle, and scratch for when the orders differ */
  const double *A;
  size_t stride;
  double *scratch_x, *scratch_y;
  /* sparse: all blocks, both triangles, by block rows */
  int *group_of;    /* row -> group */
  int *block_begin; /* groups + 1 of them */
  block *blocks;
  double *value, *across; /* A, and its transpose: the same if A is symmetric */
  /* Jacobian: the rows of J, and no A */
  struct jacobian *jacobian;
};

/* The caller's lower triangle in place. */
lcplug_error lcplug_operator_dense(linop *op, const lcplug_problem *problem, const layout *l,
                                   lcplug_workspace *workspace);

/* Blocks by groups of rows, from a scanned lower triangle. */
lcplug_error lcplug_operator_sparse(linop *op, const lower_triangle *lower, const layout *l,
                                    lcplug_workspace *workspace);

#endif
