/* exact.h - the solver that goes on to rounding error.
 *
 * It works on boxes: friction=ode, whose two stages are boxes, friction without limit, and
 * friction=pyramid where a few of them in turn are enough. */
#ifndef LCPLUG_EXACT_H
#define LCPLUG_EXACT_H

#include "box.h"
#include "iterate.h"
#include "places.h"

/* 1 if the friction model is that of ODE, or the problem has no friction rows. */
int lcplug_exact_offers(lcplug_friction friction, const layout *l);

/* it->x: first guess and answer, all rows.  bound: receives the bounds of the friction rows.
 * Ax: receives A x of the answer.  memory: last time's places, or NULL. */
lcplug_error lcplug_exact_solve(box_source *source, iteration *it, double *bound, double *Ax,
                                places *memory, lcplug_workspace *workspace);

/* friction=pyramid or, for any other, friction=ode, if no box takes more than a few steps; the
 * status tells. */
lcplug_error lcplug_exact_try(box_source *source, lcplug_friction friction, iteration *it,
                              double *bound, double *Ax, lcplug_workspace *workspace);

/* 1 if all friction is without limit, or none at all: then boxes are all that there is to solve. */
int lcplug_exact_is_endless(const layout *l);

/* Friction holds an open contact, too, if its normal force is above 0, however little: gives it so
 * much. */
void lcplug_exact_press_held(const layout *l, const model *m, double *x);

/* Such a problem, for any friction model but ode.  Friction that holds every contact, whether it
 * opens or not, is a box; and so is friction that holds those that press in the answer before,
 * which is the one to be preferred, if it settles (doc/friction.md).  Without an answer the
 * status tells. */
lcplug_error lcplug_exact_endless(box_source *source, const model *m, iteration *it, double *bound,
                                  lcplug_workspace *workspace);

#endif
