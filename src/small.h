/* small.h - small problems with friction=ode, solved where others are still being set up.
 *
 * Most islands of a simulation have a handful of contacts, and upstream solves them in less than a
 * microsecond.  This is the exact solver with everything else left out: dense, in the caller's row
 * order, two stages in one go. */
#ifndef LCPLUG_SMALL_H
#define LCPLUG_SMALL_H

#include <lcplug/lcplug.h>

#include "places.h"
#include "workspace.h"

enum {
  SMALL_MOST_ROWS = 140, /* that are not free */
  SMALL_MOST_IN_ALL = 220
};

/* Solves the problem to `tol`, writes the solution and info, and returns 1.  Returns 0, and has
 * written nothing, for anything unusual: bad input, a singular matrix, an active set that does not
 * settle.  The general way then finds out what it is.  memory: last time's places, or NULL.
 * settles 0: the active set is known not to, and takes one step only. */
int lcplug_small_solve(lcplug_workspace *workspace, const lcplug_problem *problem, double tol,
                       int settles, places *memory, lcplug_solution *solution, lcplug_info *info);

#endif
