/* contested.h - rows that active sets move to and fro, settled among themselves.
 *
 * An active set that cycles has most rows right and moves the others forth and back.  With the
 * factor of its last guess these few are a small dense problem: how each of them answers to the
 * others, all others keeping their places.  Principal pivoting solves that without circles.  Rows
 * that its answer pushes out of their places join them, and it is solved again. */
#ifndef LCPLUG_CONTESTED_H
#define LCPLUG_CONTESTED_H

#include "box.h"

/* More are too many: an interior point is cheaper then. */
enum { MOST_CONTESTED = 192 };

/* On entry the factor, x and w of the box belong to its places.  1: all rows are in the places that
 * are left in p->place, as far as this x and w can tell.  0: not so few rows are contested, a pivot
 * vanished, or there was no memory; x, w and the places are anything then. */
int lcplug_settle_contested(box *p);

#endif
