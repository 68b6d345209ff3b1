/* dantzig.h - upstream's solver, called outside of its engine. */
#ifndef LCPLUG_DANTZIG_H
#define LCPLUG_DANTZIG_H

#include <lcplug/lcplug.h>

typedef struct dantzig dantzig;

/* Row stride of a matrix with n columns, as upstream wants it. */
size_t dantzig_stride(int32_t n);

/* For problems of n > 0 rows; NULL if there is no libode, or no memory. */
dantzig *dantzig_open(int32_t n);
void dantzig_close(dantzig *d);

/* Solves p (steps of 1, stride dantzig_stride(n), lo and hi not NULL, checked) with friction=ode.
 * lo and hi receive the bounds of its second phase.  0, with nothing written, if upstream would end
 * the program on it, or gave a number that is not finite. */
int dantzig_solve(dantzig *d, const lcplug_problem *p, double *x, double *lo, double *hi);

#endif
