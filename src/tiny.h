/* tiny.h - a few contacts of one body: the size of most islands, and the one where every nanosecond
 * beside the arithmetic shows. */
#ifndef LCPLUG_TINY_H
#define LCPLUG_TINY_H

#include <lcplug/lcplug.h>

enum { TINY_MOST_ROWS = 12 };

/* As lcplug_small_solve, for n <= TINY_MOST_ROWS; takes no memory.  Returns 0, and has written
 * nothing, for whatever it does not like. */
int lcplug_tiny_solve(const lcplug_problem *problem, double tol, lcplug_solution *solution,
                      lcplug_info *info);

#endif
