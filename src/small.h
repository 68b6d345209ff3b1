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

/* What is left of a problem when its free rows (joints) are eliminated:  S x = s + w. */
typedef struct small_rest {
  int n, *caller_row; /* the rows that are left, ascending */
  int ld;             /* n rounded up to a multiple of four */
  double *A, *b;      /* S, both triangles, columns of ld numbers; s */
  /* the factor of the free rows, with the other rows and b below them */
  int frees, *free_row, free_ld;
  double *free_panel, *free_inverse, *scratch;
} small_rest;

/* The same of a problem that was solved already, by who needed less of it.  0 if free rows are
 * redundant.  The pieces are the workspace's. */
int lcplug_small_reduce(lcplug_workspace *workspace, const lcplug_problem *problem,
                        small_rest *rest);

/* The forces in the free rows that belong to those in the others, into `full` by the caller's
 * rows. */
void lcplug_small_recover(const small_rest *rest, const double *x, double *full);

/* Solves the problem to `tol`, writes the solution and info, and returns 1.  Returns 0, and has
 * written nothing, for anything unusual: bad input, a singular matrix, an active set that does not
 * settle.  The general way then finds out what it is.  memory: last time's places, or NULL.
 * settles 0: the active set is known not to, and takes one step only.  rest: who wants to go on
 * from there, or NULL. */
int lcplug_small_solve(lcplug_workspace *workspace, const lcplug_problem *problem, double tol,
                       int settles, places *memory, lcplug_solution *solution, lcplug_info *info,
                       small_rest *rest);

#endif
