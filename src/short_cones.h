/* short_cones.h - friction cones that take no more than a look.
 *
 * Where nothing slides the answer to friction=ode is the one for cones, and one contact that slides
 * is a root on a circle.  Both are judged here straight from the caller's arrays, by the residual
 * that model.h defines, without anything that other ways set up first. */
#ifndef LCPLUG_SHORT_CONES_H
#define LCPLUG_SHORT_CONES_H

#include <lcplug/lcplug.h>

#include "small.h"

/* The answer for friction=ode, found by a short way; all in the caller's order. */
typedef struct nearby_answer {
  double *x, *w;
  lcplug_info info;
  small_rest rest; /* what it was found on; n = 0: found without */
  int known;  /* -1: the short ways did not find it; 0: nobody has looked */
  int judged; /* and found no answer for cones */
} nearby_answer;

/* 1 if that is the answer for cones to `tol`, as it is or after the contact has slid; then the
 * solution and info are written.  0 leaves x as it was. */
int lcplug_short_cones(const lcplug_problem *problem, int coulomb, double tol,
                       nearby_answer *nearby, lcplug_solution *solution, lcplug_info *info);

#endif
