/* small_cones.h - friction cones of a small problem, from an answer that is nearly right.
 *
 * Newton's method without any smoothing: what every set does is read off x and w, and only what is then
 * unknown is solved for, densely.  An open contact has no unknown, a sticking one all of its forces:
 *
 *     slides along d:   x = z_1 (1, mu d) + z_2 (0, d'),   d' across d,
 *                       w_n = 0   (friction=cone: w_n + mu w_d = 0),   w_d' + k z_2 = 0
 *
 * k holds the force to the direction of the slip.  From the answer to friction=ode a few steps end most
 * problems.  There is no way back from a wrong guess: where guesses do not settle newton.h has its turn. */
#ifndef LCPLUG_SMALL_CONES_H
#define LCPLUG_SMALL_CONES_H

#include "iterate.h"

/* Improves it->x, whose residual is known, by steps from `start`; the status says whether it is solved.
 * The operator is dense. */
lcplug_error lcplug_small_cones_solve(const model *m, const double *start, iteration *it,
                                      lcplug_workspace *workspace);

#endif
