/* layout.h - the order in which solvers see the rows.
 *
 * Callers may list a contact's rows anywhere.  Solvers want them together: normal, then the
 * tangents that form its cone, then its rolling and spinning rows.  Such a bundle is a group; every
 * other row is a group of its own.  When the caller's order is already like that (ODE's is) the
 * orders agree and nothing is ever permuted. */
#ifndef LCPLUG_LAYOUT_H
#define LCPLUG_LAYOUT_H

#include <lcplug/lcplug.h>

#include "workspace.h"

typedef struct layout {
  int n;
  int identity;     /* solver order == caller's order */
  int groups;
  int frictions;    /* rows with a normal */
  int *row;         /* solver row -> caller's row */
  int *place;       /* caller's row -> solver row */
  int *group_first; /* groups + 1 of them: first solver row of each group */
  int *normal;      /* solver row -> solver row of its normal; ROW_PLAIN or ROW_DEAD */
  int *cone_rows;   /* solver row of a normal: how many rows its friction cone has, itself included;
                       1 for other rows */
  double *b, *lo, *hi; /* in solver order; of a friction row hi is mu and lo is -mu */
} layout;

enum {
  ROW_PLAIN = -1, /* no friction row */
  ROW_DEAD = -2   /* a friction row of a friction row: never any force */
};

lcplug_error lcplug_layout_build(layout *l, const lcplug_problem *problem,
                                 lcplug_workspace *workspace);

#endif
