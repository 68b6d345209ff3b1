/* path.h - the path of the smoothed conditions, and Newton's method along it; see smooth.h.
 *
 * To every eps belongs an x with f(x) = 0.  There are two ways to follow it as eps goes to 0:
 *
 *     by eps:     solve (A + E) dx = r,  go along dx while |f| falls,
 *                 and whenever |f| is small beside eps, make eps smaller
 *     by length:  x and log eps are both unknown; see bends.h
 *
 * The first is quick and stays near the path only roughly.  It ends where the path turns back.
 *
 * Where A is nearly singular many forces do and f hardly tells them apart.  A pull towards a
 * center, a part of A's diagonal added to A, makes them unique.  Damping adds such a part to the
 * matrix of a step alone: the answer stays what it is, and steps that led too far get shorter. */
#ifndef LCPLUG_PATH_H
#define LCPLUG_PATH_H

#include "iterate.h"
#include "lu.h"
#include "smooth.h"

/* Beside the right side: no smaller eps is of use. */
#define LEAST_EPS 1e-14

/* Of A's diagonal, added to what is factorized: keeps the matrix of redundant contacts from being
 * singular. */
#define TRACE 1e-12

typedef struct point {
  double *x, *Ax; /* Ax with the pull */
  double eps;
} point;

typedef struct path {
  const model *m;
  iteration *it;
  smoothing smooth;
  lu matrix;
  int symmetric;   /* A is */
  point now, kept; /* the iterate; the last one near the path */
  double factor;   /* of the next eps */
  double *dx, *Adx, *trial, *Atrial, *diagonal;
  double part;                  /* of dx, that the last step went */
  int damps;                    /* not 0: steps that fall short are damped */
  double damping;               /* by this part of A's diagonal ... */
  double added;                 /* ... and all that the last step's matrix had beside A and E */
  double pull, *center;
  int steps;
  int few; /* this is the small problem of a mending (mend.h) */
  lcplug_workspace *workspace;
} path;

/* How a part of the path is followed by eps. */
typedef struct manner {
  double goal;          /* down to this eps ... */
  int steps;            /* ... in at most so many steps */
  double fastest;       /* what eps is multiplied by at best */
  int lagging;          /* De Saxce's terms follow after every step */
  int gives_up;         /* at the first jam ... */
  int (*mend)(path *p); /* ... that this, if given, cannot end; it may fail a few times */
} manner;

/* Starts at it->x, with eps as large as the right side. */
lcplug_error lcplug_path_begin(path *p, const model *m, const lower_triangle *A, cholesky *factor,
                               condensed *q, iteration *it, lcplug_workspace *workspace);
int lcplug_point_take(point *to, int n, lcplug_workspace *workspace);
void lcplug_point_copy(point *to, const point *from, int n);

/* Back to no force, no slip and the largest eps. */
void lcplug_path_restart(path *p);

/* 1 when it is time to stop: the answer is good enough, or the time is up. */
int lcplug_path_follow(path *p, manner how);

/* From here on x is pulled towards the center, which is the present x, by this part of A's
 * diagonal. */
void lcplug_path_pull(path *p, const double *center, double part);

/* The least pivot of A, beside its diagonal element: rounding error where A is singular.  Costs a
 * factorization. */
double lcplug_path_least_pivot(path *p);

/* A whole Newton step at this eps, whatever |f| says of it, and a look at its answer (it->last); 1
 * when it is time to stop. */
int lcplug_path_leap(path *p, double eps);

/* One Newton step at a much smaller eps, and a look at its answer; 1 when it is time to stop. */
int lcplug_path_polish(path *p);

/* ---- for whoever takes steps of his own ------------------------------------------------------ */

/* A x, and the pull on the way from `from` (NULL: 0) to x. */
void lcplug_path_apply(const path *p, const double *x, const double *from, double *Ax);

/* |f| beside what counts as near the path: 1 is near. */
double lcplug_path_distance(const path *p);

/* The Newton step, in dx; one more factorization. */
void lcplug_path_find_direction(path *p);

/* One step while |f| falls; returns how far it went, a part of dx, and what |f| is then. */
double lcplug_path_advance(path *p, double *after);

/* Looks at the answer that belongs to the present point, or to another one; 1 when it is time to
 * stop. */
int lcplug_path_observe(path *p);
int lcplug_path_observe_at(path *p, const double *x, const double *Ax);

/* What one unit of each force counts as, in lengths of steps from x. */
void lcplug_path_measure(const path *p, const double *x, double *unit);

#endif
