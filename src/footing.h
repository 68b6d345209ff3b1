/* footing.h - what a set does where edges are sharp, and the equations that go with it.
 *
 * A contact is open, sticks or slides; a bounded row is at one of its bounds or between them.  As
 * long as it goes on to be that, exact Coulomb friction is a smooth equation, and made linear it is
 *
 *     w_n = 0  or  y_n = 0,      y_along + y_n = 0  or  w_along = 0,      w_across = h y_across
 *
 * in rows y, w that make its cone the circular one of 45 degrees: along where it slides to and
 * across that.  h is slip over force: a force that turns turns the slip.  Where the slack of an
 * equation that is left out becomes 0 the set turns to another place, and one of the first two
 * equations is exchanged. */
#ifndef LCPLUG_FOOTING_H
#define LCPLUG_FOOTING_H

#include "sets.h"

typedef enum foothold {
  LOW,    /* open, or x = lo */
  WITHIN, /* sticks, or lo < x < hi */
  EDGE    /* slides, or x = hi */
} foothold;

typedef struct footing {
  foothold place;
  double d[2];   /* of a cone: where it slides to, or would ... */
  double slip;   /* ... how fast ... */
  double across; /* ... and h, or STIFF_ACROSS: y_across = 0 */
} footing;

#define STIFF_ACROSS -1.0

/* Slacks of one set, and patches that a turn takes. */
enum { MOST_SLACKS = 2, MOST_TURN_PATCHES = SET_MOST_ROWS };

/* Moves x onto the set, with d and slip as x and w have them; where `sorts` is not 0 it goes to the
 * place that suits them best. */
void lcplug_footing_settle(footing *at, const force_set *set, double scale, const double *w,
                           int sorts, double *x);

/* Makes the equations linear, here. */
void lcplug_footing_linearize(footing *at, const force_set *set, const double *x);

/* E, which holds what does not move, row-major; 0 if there is none. */
int lcplug_footing_block(const footing *at, const force_set *set, double scale, double *E);

/* What E changes by from `before` to `after`: so many u v', to be added. */
int lcplug_footing_patches(const footing *before, const footing *after, const force_set *set,
                           double scale, double (*u)[SET_MOST_ROWS], double (*v)[SET_MOST_ROWS]);

/* The part of v that the equations want to be 0. */
void lcplug_footing_rest(const footing *at, const force_set *set, const double *v, double *rest);

/* The right side of a step that takes the rest away. */
void lcplug_footing_demand(const footing *at, const force_set *set, const double *rest,
                           double *right);

/* What is not negative here, as a velocity, and how it changes with x and w; returns how many
 * there are. */
int lcplug_footing_slacks(const footing *at, const force_set *set, double scale, const double *x,
                          const double *w, double *value);
void lcplug_footing_changes(const footing *at, const force_set *set, double scale, const double *dx,
                            const double *dw, double *change);

/* Slack `index` is 0: to the place on its other side.  Returns which slack is 0 there. */
int lcplug_footing_turn(footing *at, const force_set *set, int index, const double *w);

#endif
