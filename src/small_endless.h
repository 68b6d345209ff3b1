/* small_endless.h - small problems whose friction has no limit, for any friction model but ode.
 *
 * The same boxes as lcplug_exact_endless has (exact.h), each solved by the short ways: a friction
 * row that holds is free, one that does not is no row at all. */
#ifndef LCPLUG_SMALL_ENDLESS_H
#define LCPLUG_SMALL_ENDLESS_H

#include <lcplug/lcplug.h>

#include "workspace.h"

typedef enum endless {
  ENDLESS_UNSOLVED, /* the short ways will not have it */
  ENDLESS_HELD,     /* friction holds contacts that open, too */
  ENDLESS_STRICT    /* only those that press */
} endless;

/* A short way to the answer for friction=ode; 1 when solved. */
typedef int short_way(lcplug_workspace *workspace, const lcplug_problem *problem,
                      lcplug_solution *solution, lcplug_info *info);

/* x in the caller's order; adds up what it took. */
endless lcplug_small_endless(const lcplug_problem *problem, short_way *solve, double *x,
                             int *factorizations, lcplug_workspace *workspace);

#endif
