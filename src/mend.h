/* mend.h - where Newton's method is stuck at a few contacts, these are solved by themselves.
 *
 * Exact Coulomb friction is not convex.  A body that can jam between its contacts makes |f| a
 * valley without a zero, and in a large problem there is nearly always such a body somewhere.
 * Everybody else is where he should be, or nearly.  So the few sets with the largest f are taken
 * out: all others answer to their forces as Newton's matrix says, which leaves a small dense
 * problem
 *
 *     S y = b + w,   y in K ,     S = the inverse of the few rows of (A + E)^-1, less their own E
 *
 * with the sets as they are, not rounded off.  It is solved by whatever it takes, as its steps
 * are cheap; sets that its answer throws off join the few, and it is solved again. */
#ifndef LCPLUG_MEND_H
#define LCPLUG_MEND_H

#include "path.h"

/* Solves the small problem from it->x.  A need not be symmetric. */
typedef lcplug_error mend_solver(const model *m, const lower_triangle *A, cholesky *factor,
                                 iteration *it, lcplug_workspace *workspace);

/* Not a problem that is such a mending itself, nor one with coupled sets, nor a small one. */
int lcplug_may_mend(const path *p);

/* After a step that went nowhere.  1: p->now is a better point.  0: it is where it was. */
int lcplug_mend(path *p, mend_solver *solve, lcplug_workspace *workspace);

#endif
