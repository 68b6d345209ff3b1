/* tiny.h - a few contacts: the size of most islands, and the one where every nanosecond beside the
 * arithmetic shows. */
#ifndef LCPLUG_TINY_H
#define LCPLUG_TINY_H

#include <lcplug/lcplug.h>

/* What is remembered of the last solve (places.h), which small.c can use and this cannot, is
 * worth more from the second number on. */
enum { TINY_MOST_ROWS = 24, TINY_MOST_IF_REUSED = 12 };

/* As lcplug_small_solve, for n <= TINY_MOST_ROWS; takes no memory.  Returns 1 when solved; else
 * it has written nothing: 0 for a problem that it does not like, -1 if the active set did not
 * settle. */
int lcplug_tiny_solve(const lcplug_problem *problem, double tol, lcplug_solution *solution,
                      lcplug_info *info);

#endif
