/* active_set.c - primal-dual active sets for a box.
 *
 * Guess where each row is; put the rows at bounds there; solve A_FF x_F = b_F - A_FB x_B for the
 * rows inside; guess again from x - w / A_ii.  That is Newton's method for the natural residual:
 * when the guess repeats itself it is right.  It may also cycle; the last few rows are then settled
 * among themselves (contested.c), and where they are many somebody else has to go on.
 *
 * The system is solved for a correction of x, with a trace of the diagonal added: where A is
 * singular (more contacts than the bodies need) the forces then stay near the guess instead of
 * running off, and further corrections remove what the addition changed. */
#include <math.h>

#include "box.h"
#include "contested.h"

static const double REGULARIZATION = 1e-12;
static const double LEAST_PROGRESS = 0.65;
/* In units of the residual: w of the rows inside that is too much, and an answer of contested rows
 * that needs no factor of its own. */
static const double REFINE = 1e-13, CLEAN = 1e-12;
enum { REFINEMENTS = 2 };
/* So few changes that rounding may be the reason; and how often rows are contested. */
enum { NEARLY_NONE = 2, MOST_CONTESTS = 4 };

/* Changes that it is cheaper to contest than to take another step for, and so many that it is
 * dearer to contest them than to leave them to the interior point. */
static int few_changes(const box *p) { return 8 + p->rows / 256; }

static int many_changes(const box *p) {
  int many = 16 + p->rows / 16;
  return many < MOST_CONTESTED ? many : MOST_CONTESTED;
}

static int count_misplaced(const box *p) {
  int count = 0;
  for (int i = 0; i < p->rows; i++) count += lcplug_box_place(p, i) != p->place[i];
  return count;
}

void lcplug_guess_places(box *p) {
  for (int i = 0; i < p->rows; i++) p->place[i] = (unsigned char)lcplug_box_place(p, i);
}

static void put_at_bounds(box *p) {
  for (int i = 0; i < p->rows; i++) {
    p->keep[i] = p->place[i] == INSIDE;
    if (p->place[i] == AT_LO) p->x[i] = p->lo[i];
    else if (p->place[i] == AT_HI) p->x[i] = p->hi[i];
    p->extra[i] = (REGULARIZATION + p->pull) * p->diagonal[i];
  }
}

static void add_correction(box *p) {
  for (int i = 0; i < p->rows; i++) p->x[i] += p->dx[i];
  lcplug_box_set_w(p);
}

/* The right side of a correction, and its largest element. */
static double inner_w(box *p) {
  double largest = 0.0;
  for (int i = 0; i < p->rows; i++) {
    p->dx[i] = p->keep[i] ? -p->w[i] : 0.0;
    double size = fabs(p->dx[i]);
    largest = size > largest ? size : largest;
  }
  return largest;
}

/* Drives w to zero on the rows inside. */
static void correct(box *p) {
  lcplug_box_set_w(p);
  inner_w(p);
  p->matrix->factor_and_solve(p, p->dx);
  add_correction(p);
}

/* The same factor once more, for what rounding and the trace have left. */
static void refine(box *p) {
  for (int round = 0; round < REFINEMENTS && inner_w(p) > REFINE * p->unit; round++) {
    p->matrix->solve(p, p->dx);
    add_correction(p);
  }
}

/* Settles the rows that are not where they should be among themselves.  1: the answer is clean. */
static int contest(box *p, int *possible) {
  refine(p);
  *possible = lcplug_settle_contested(p);
  return *possible && lcplug_box_residual(p, p->x, p->w) <= CLEAN;
}

int lcplug_active_set(box *p, iteration *it, int steps, double promising) {
  double most = promising * p->rows; /* changes after the first step */
  int contests = MOST_CONTESTS, possible = 1;
  for (int step = 0; step < steps && possible; step++) {
    put_at_bounds(p);
    correct(p);
    it->factorizations++;
    int changes = count_misplaced(p);
    if (changes <= NEARLY_NONE) {
      refine(p);
      changes = count_misplaced(p);
      if (lcplug_box_observe(p, it)) return it->status == LCPLUG_SOLVED;
    }
    if (changes > few_changes(p) && changes <= most) {
      lcplug_guess_places(p);
    } else {
      if (!changes || changes > many_changes(p) || !contests--) break;
      if (contest(p, &possible) && lcplug_box_observe(p, it)) return it->status == LCPLUG_SOLVED;
    }
    /* Progress nearly halves the changes from step to step; a method that will cycle does not. */
    most = LEAST_PROGRESS * changes;
  }
  lcplug_box_observe(p, it);
  if (it->status == LCPLUG_ITERATION_LIMIT) it->status = LCPLUG_STALLED;
  return it->status == LCPLUG_SOLVED;
}
