/* problem.h - the check of a problem, in the parts in which a solve needs it. */
#ifndef LCPLUG_PROBLEM_H
#define LCPLUG_PROBLEM_H

#include <lcplug/lcplug.h>

enum {
  PROBLEM_API = 0x4c435031,  /* "LCP1" */
  PROBLEM_LARGEST = 1 << 24, /* rows; leaves room for sums of indices in an int */
};

/* Sizes, pointers, b, bounds and findex. */
lcplug_error lcplug_problem_check_vectors(const lcplug_problem *problem);

/* That a full matrix is symmetric to 1e-10 of its largest element. */
lcplug_error lcplug_problem_check_symmetry(const lcplug_problem *problem);

#endif
