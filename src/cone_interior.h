/* cone_interior.h - an interior point for friction cones, and pseudo-time where its path ends.
 *
 * Forces and velocities are kept inside their cones (cone_pair.h) and led to their edges:
 *
 *     r = A x - b - w(z) = 0,     y o z = m e for every contact and bound,     m -> 0
 *
 * Mehrotra's predictor and corrector, and a few of Gondzio's correctors, with one factorization of
 * A + E per step, E = dw/dx of each contact by itself.  For friction=cone that is the textbook's
 * method for a convex problem.  Exact Coulomb friction differs by one row of each block, and that
 * is all: where nothing jams 15 to 25 steps lead to the answer.
 *
 * A body that can jam makes the path turn back: its steps get shorter and shorter at some m.
 * There it is not the path that is followed, but the motion of a body that lets go:
 *
 *     D dx/dt = -r,     y o z = m e     at a smaller m that is held,     D the diagonal of A
 *
 * by implicit Euler, one step for each step of the method: a drag D / dt beside A + E is all
 * that it takes.  r grows at first, as the body moves, and goes to 0 when it has come to rest
 * elsewhere; the drag is made smaller as long as steps are long.  No merit function could allow
 * that.  m is no smaller than r calls for, as small m make hard edges.
 *
 * Where A is nearly singular there is a bend for every body whose contacts are redundant, at
 * smaller and smaller m.  There the end of the path is looked for under a pull
 *
 *     r = A x - b - w(z) + pull D (x - center),     the center where the path has come to its bend
 *
 * which makes it straight, and leaves pull D (x - center) at its end: often less than is asked
 * for.  If not, the pull fades piece by piece from there (pieces.h). */
#ifndef LCPLUG_CONE_INTERIOR_H
#define LCPLUG_CONE_INTERIOR_H

#include "path.h"

/* Goes on from p->now, in its own way; 1 when it is time to stop. */
typedef int cone_finish(path *p);

/* How it is gone. */
typedef struct inside_manner {
  int correctors;      /* Gondzio's, at most: with another number of them other bodies jam */
  int loose;           /* A is nearly singular */
  int patient;         /* where there are many sets steps are not spared, whatever jams */
  cone_finish *finish; /* asked at times, where the path ends, to go on from here ... */
} inside_manner;

/* Not with rows that follow a force which may be of either sign, nor with friction that has no
 * limit. */
int lcplug_may_go_inside(const path *p);

/* Whether there are so many sets that some body always jams: more steps are taken then, as other
 * ways take longer still. */
int lcplug_takes_long_inside(const model *m);

/* From no force, with p's matrix.  What others leave in p->now is not looked at.  1 when it is time
 * to stop; p->now is the answer then. */
int lcplug_cone_interior(path *p, inside_manner how, lcplug_workspace *workspace);

#endif
