/* one_contact.h - a single contact with friction, which is what most islands of loose bodies
 * are. */
#ifndef LCPLUG_ONE_CONTACT_H
#define LCPLUG_ONE_CONTACT_H

#include <lcplug/lcplug.h>

/* As lcplug_tiny_solve, for three rows: a normal force that pushes, and two friction rows that
 * name it.  Returns 1 when solved; else it has written nothing. */
int lcplug_one_contact_solve(const lcplug_problem *problem, double tol, lcplug_solution *solution,
                             lcplug_info *info);

#endif
