/* active_set.c - primal-dual active sets for a box.
 *
 * Guess where each row is; put the rows at bounds there; solve A_FF x_F = b_F - A_FB x_B for the
 * rows inside; guess again from x - w / A_ii.  That is Newton's method for the natural residual: when
 * the guess repeats itself it is right.  It may also cycle, and then somebody else has to go on.
 *
 * The system is solved for a correction of x, with a trace of the diagonal added: where A is
 * singular (more contacts than the bodies need) the forces then stay near the guess instead of
 * running off, and a second correction removes what the addition changed. */
#include <math.h>
#include <string.h>

#include "box.h"

static const double REGULARIZATION = 1e-12;
enum { CORRECTIONS = 2, PATIENCE = 4 };

/* New places from x and w; returns how many changed. */
static int guess_places(box *p) {
  int changes = 0;
  for (int i = 0; i < p->n; i++) {
    if (p->place[i] == FIXED) continue;
    double q = p->diagonal[i] > 0.0 ? p->x[i] - p->w[i] / p->diagonal[i] : p->x[i];
    unsigned char now = q < p->lo[i] ? AT_LO : q > p->hi[i] ? AT_HI : INSIDE;
    changes += now != p->place[i];
    p->place[i] = now;
  }
  return changes;
}

static void put_at_bounds(box *p) {
  for (int i = 0; i < p->n; i++) {
    p->keep[i] = p->place[i] == INSIDE;
    if (p->place[i] == AT_LO) p->x[i] = p->lo[i];
    else if (p->place[i] == AT_HI) p->x[i] = p->hi[i];
    else if (p->place[i] == FIXED) p->x[i] = p->lo[i];
    p->extra[i] = REGULARIZATION * p->diagonal[i];
  }
}

/* Drives w to zero on the rows inside. */
static void correct(box *p) {
  for (int round = 0; round < CORRECTIONS; round++) {
    for (int i = 0; i < p->n; i++) p->dx[i] = p->keep[i] ? -p->w[i] : 0.0;
    lcplug_cholesky_solve(&p->factor, p->dx);
    for (int i = 0; i < p->n; i++) p->x[i] += p->dx[i];
    lcplug_box_set_w(p);
  }
}

int lcplug_active_set(box *p, iteration *it, int steps) {
  int fewest = p->n + 1, patience = PATIENCE;
  guess_places(p);
  for (int step = 0; step < steps; step++) {
    put_at_bounds(p);
    lcplug_box_set_w(p);
    lcplug_cholesky_factor(&p->factor, p->keep, p->extra);
    it->factorizations++;
    correct(p);
    if (lcplug_box_observe(p, it)) return it->status == LCPLUG_SOLVED;
    int changes = guess_places(p);
    if (changes < fewest) fewest = changes, patience = PATIENCE;
    else if (--patience == 0) break;
    if (changes == 0) break;
  }
  it->status = LCPLUG_STALLED;
  return 0;
}
