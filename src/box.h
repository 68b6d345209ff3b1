/* box.h - the box problem inside the exact solver: min 1/2 x'Ax - b'x, lo <= x <= hi.
 *
 * Two methods work on it in turn.  Active sets guess which rows sit at a bound and solve for the
 * others; a right guess is the exact answer.  The interior point needs more factorizations but no
 * guess, and ends close enough for the active set to take over.  Both see the rows with lo < hi
 * only; the others keep their one value. */
#ifndef LCPLUG_BOX_H
#define LCPLUG_BOX_H

#include "cholesky.h"
#include "iterate.h"

/* Where a row is believed to be. */
typedef enum place { AT_LO, INSIDE, AT_HI, FIXED } place;

typedef struct box {
  const model *m;
  const lower_triangle *lower;
  int n;
  const double *b;
  double *lo, *hi;
  double *diagonal;
  cholesky factor;
  /* the iterate: x, its w = A x - b, and where each row is believed to be */
  double *x, *w;
  unsigned char *place;
  /* scratch */
  double *dx, *clipped, *product, *extra;
  unsigned char *keep;
} box;

/* Takes the arrays and analyses the pattern.  Every set of the model is free or an interval. */
lcplug_error lcplug_box_begin(box *p, const model *m, lcplug_workspace *workspace);

/* w = A x - b for the present x. */
void lcplug_box_set_w(box *p);

/* Judges the present x, clipped to its bounds, as an iterate; 1 when it is time to stop. */
int lcplug_box_observe(box *p, iteration *it);

/* Active sets from the places that p->x and p->w suggest; at most `steps` of them.  1 when solved. */
int lcplug_active_set(box *p, iteration *it, int steps);

/* Interior point from p->x; hands over to the active set as soon as it can.  1 when solved. */
lcplug_error lcplug_interior_point(box *p, iteration *it, int steps, lcplug_workspace *workspace);

#endif
