/* small_cones.h - friction cones of a small problem, from an answer that is nearly right.
 *
 * Newton's method without any smoothing: what every set does is read off x and w, and only what is
 * then unknown is solved for, densely.  An open contact has no unknown, a sticking one all of its
 * forces:
 *
 *     slides along d:   dx = z_1 (1, mu d) + z_2 (0, d') + c,   d' across d,
 *                       w_n = 0   (friction=cone: w_n + mu w_d = 0),   w_d' + k x_d' = 0
 *
 * k holds the force to the direction of the slip, c is what x has to move whatever the others do.
 * From the answer to friction=ode a few steps end most problems; with many rows a few sweeps of
 * projected Gauss-Seidel come first.  The last digits come without a factorization: where all sets
 * stay what they were, the matrix of the step before does for the next ones (chords).
 *
 * Where that does not settle x follows dx/dt = P(x - w/s) - x by implicit steps of length tau,
 * whole ones and without any test: |f| may rise, which makes the next step shorter, and so passes
 * what line searches stop at. Near an answer they have grown long, and Newton's steps end it.
 *
 * Friction without limit is in it, too: a contact that presses sticks, any other one is open.  Then
 * x belongs to the places of its sets alone, and places that come back are a circle that nothing
 * leads out of. */
#ifndef LCPLUG_SMALL_CONES_H
#define LCPLUG_SMALL_CONES_H

#include "iterate.h"
#include "small.h"

typedef struct small_cones small_cones;

/* The operator is dense; rest: its problem without free rows, which stays as it is.  *cones: NULL
 * where this way does not know a set. */
lcplug_error lcplug_small_cones_begin(const model *m, const small_rest *rest, small_cones **cones,
                                      lcplug_workspace *workspace);

/* Improves it->x, whose residual is known or infinite, by steps from `start`; the status says
 * whether it is solved.  Then Ax is A x. */
void lcplug_small_cones_settle(small_cones *cones, const double *start, iteration *it, double *Ax);

#endif
