/* system.h - what the core asks of a native system beyond its public functions. */
#ifndef LCPLUG_SYSTEM_H
#define LCPLUG_SYSTEM_H

#include <lcplug/native.h>

enum { BODY_SIZE = 6, BODY_SYMMETRY = 9, ROW_SIZE = 12, SYSTEM_VERSION = 1 };

/* How many articulated coordinates there are. */
int lcplug_articulated(const lcplug_system *system);

/* L with a = L L', both m x m and row-major, for a symmetric a; columns of 0 where a is singular.
 * Returns 0 if a is not positive semidefinite. */
int lcplug_split_mass(const double *a, int m, double *l);

/* The rows of the system as a problem without a matrix. */
lcplug_problem lcplug_system_problem(const lcplug_system *system);

#endif
