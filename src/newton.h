/* newton.h - friction cones to rounding error. */
#ifndef LCPLUG_NEWTON_H
#define LCPLUG_NEWTON_H

#include "condense.h"
#include "iterate.h"

/* Smoothed Newton method from it->x.  factor: analyzed for A, the matrix of m in the solver's
 * order.  frozen: it->x is the answer to a box with frozen bounds of friction (exact.h). */
lcplug_error lcplug_newton_solve(const model *m, const lower_triangle *A, cholesky *factor,
                                 condensed *q, int frozen, iteration *it,
                                 lcplug_workspace *workspace);

#endif
