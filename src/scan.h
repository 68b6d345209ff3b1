/* scan.h - the nonzeros of A's lower triangle.
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
  double *value;
} lower_triangle;

/* Collects the nonzeros.  LCPLUG_ERROR_NOT_FINITE or _DIAGONAL as lcplug_problem_check says. */
lcplug_error lcplug_scan(lower_triangle *lower, const lcplug_problem *problem, const layout *l,
                         lcplug_workspace *workspace);

#endif
