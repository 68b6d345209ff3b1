/* small_endless.h - small problems whose friction has no limit, for any friction model but ode.
 *
 * Friction that holds every contact, those that open among them, is a box whose friction rows are
 * free: it always has an answer, and the short ways find it.  Friction that holds only those that
 * press is the one to be preferred, where it exists: that is small_cones.h. */
#ifndef LCPLUG_SMALL_ENDLESS_H
#define LCPLUG_SMALL_ENDLESS_H

#include <lcplug/lcplug.h>

#include "workspace.h"

/* A short way to the answer for friction=ode; 1 when solved. */
typedef int short_way(lcplug_workspace *workspace, const lcplug_problem *problem,
                      lcplug_solution *solution, lcplug_info *info);

/* x in the caller's order; adds up what it took.  0 where the short ways will not have it. */
int lcplug_small_endless(const lcplug_problem *problem, short_way *solve, double *x,
                         int *factorizations, lcplug_workspace *workspace);

#endif
