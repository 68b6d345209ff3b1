/* solve.h - what the driver offers inside the library. */
#ifndef LCPLUG_SOLVE_H
#define LCPLUG_SOLVE_H

#include <lcplug/lcplug.h>

/* Solves with the full A of a problem as it is, symmetric or not, if Newton's method is to do it;
 * *taken tells. */
lcplug_error lcplug_solve_as_given(lcplug_workspace *workspace, const lcplug_problem *problem,
                                   const lcplug_settings *settings, lcplug_solution *solution,
                                   lcplug_info *info, int *taken);

#endif
