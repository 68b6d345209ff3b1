/* scan.h - the nonzeros of A's lower triangle, or of what is left of both when A is not symmetric.
 *
 * ODE hands over n^2 numbers of which a few tens per row are not zero.  One pass over the lower
 * triangle collects them; everything sparse is made from that. */
#ifndef LCPLUG_SCAN_H
#define LCPLUG_SCAN_H

#include "layout.h"
#include "workspace.h"

/* Compressed rows in the solver's order: row i holds columns <= i, ascending, the diagonal last and
 * always present. */
typedef struct lower_triangle {
  int n;
  size_t *begin; /* n + 1 of them */
  int *column;
  double *value; /* (A_ij + A_ji) / 2 */
  double *skew;  /* (A_ij - A_ji) / 2; NULL: A is symmetric */
} lower_triangle;

/* Collects the nonzeros.  LCPLUG_ERROR_NOT_FINITE or _DIAGONAL as lcplug_problem_check says. */
lcplug_error lcplug_scan(lower_triangle *lower, const lcplug_problem *problem, const layout *l,
                         lcplug_workspace *workspace);

/* The same for a full matrix, which need not be symmetric. */
lcplug_error lcplug_scan_full(lower_triangle *lower, const lcplug_problem *problem, const layout *l,
                              lcplug_workspace *workspace);

#endif
