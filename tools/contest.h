/* contest.h - several settings over the same problems: the results, and the pictures of them. */
#ifndef LCPLUG_CONTEST_H
#define LCPLUG_CONTEST_H

#include <stdio.h>

#include "outcome.h"

enum { CONTEST_MOST = 16, CONTEST_BUDGETS = 24 };

/* One setting and how it did. */
typedef struct contestant {
  const char *name; /* as given: "solver=pgs,omega=1.3" */
  lcplug_settings settings;
  outcome *results; /* of each problem */
} contestant;

typedef struct contest {
  contestant contestants[CONTEST_MOST];
  int count;
  int problems;       /* done so far, */
  int room;           /* of so many */
  double tol;         /* what counts as solved */
  const char **files; /* the names of the problems */
  int *rows;          /* their numbers of rows */

  /* The convergence curves of who has one: residual and seconds with at most budget[k] iterations,
   * of problem p at [contestant][k * room + p]. */
  int budgets, budget[CONTEST_BUDGETS];
  double *residual_at[CONTEST_MOST], *seconds_at[CONTEST_MOST];
} contest;

bool contest_solved(const contest *c, const outcome *o);

/* The time of this contestant on this problem as a multiple of the fastest that solved it; infinity
 * if it did not solve it, NaN if nobody did. */
double contest_ratio(const contest *c, int who, int problem);

/* The share of the problems that the contestant solves within `factor` times the fastest. */
double contest_share(const contest *c, int who, double factor);

/* The median of a value over the problems on which the contestant has an
 * answer; NaN if there is none. */
typedef double outcome_value(const outcome *o);
outcome_value outcome_seconds, outcome_residual, outcome_iterations;
double contest_median(const contest *c, int who, outcome_value *value);

/* Whether max_iter ends its solves, so that it has a convergence curve: auto
 * and exact end by themselves. */
bool contest_has_curve(const contest *c, int who);

/* The performance profile: that share over the factor. */
void contest_write_profile(const contest *c, FILE *file);

/* Median residual over the iterations and over the time that it took; of who has no
 * curve, the point where he ends. */
void contest_write_convergence(const contest *c, FILE *file);

#endif
