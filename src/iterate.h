/* iterate.h - what iterative solvers share: a budget, the residual as the stopping rule, and the
 * best iterate so far. */
#ifndef LCPLUG_ITERATE_H
#define LCPLUG_ITERATE_H

#include "model.h"

typedef struct iteration {
  /* the budget */
  double tol;
  int max_iter;
  double deadline; /* on the monotonic clock; infinity: none */
  int prefers_later; /* of iterates that are equally bad: the residual is that of the worst contact,
                        and where that one has no answer all others still get better */
  /* the outcome */
  int iterations;
  int factorizations;
  double residual;      /* of x below */
  double last;          /* of the iterate that was looked at last */
  lcplug_solver solver; /* who found it, where several take turns */
  lcplug_status status;
  double *x; /* best iterate; on entry the first guess */
} iteration;

/* Rounding excuses a residual up to here; forces so large that it would excuse more are no
 * answer. */
#define ROUNDING_EXCUSES 1e-6

/* Seconds on the monotonic clock. */
double lcplug_now(void);

/* The first guess, made feasible, or no forces at all if these are as good and it does not do. Sets
 * the residual; returns 1 if it already meets the tolerance.  Ax: scratch. */
int lcplug_iteration_begin(iteration *it, const model *m, double *Ax, lcplug_workspace *workspace);

/* Whether an iterate with this residual is to be kept. */
int lcplug_iteration_is_best(const iteration *it, double residual);

/* One more iterate of n rows: keeps it if it is the best; returns 1, with the status, when it is
 * time to stop: at the tolerance, at `rounding`, below which no residual can be told, or at the
 * deadline. */
int lcplug_iteration_keep(iteration *it, int n, const double *x, double residual, double rounding);

/* The same for who keeps the best iterate himself. */
int lcplug_iteration_next(iteration *it, double residual, double rounding);

/* And for a model, whose residual it works out. */
int lcplug_iteration_observe(iteration *it, const model *m, const double *x, const double *Ax);

/* An answer that is right to 1e-8 lets bodies that touch part, a little, and engines that make
 * contacts on touch alone then lose them; on a slope they creep.  So methods that gain many digits
 * in a step take one or two more.  1: that is done, or would bring nothing that anybody asked
 * for. */
int lcplug_iteration_is_clean(const iteration *it, int last_steps);

/* The solvers.  Each improves it->x.  Scratch from the workspace. */
lcplug_error lcplug_pgs_solve(const model *m, const lcplug_settings *settings, iteration *it,
                              lcplug_workspace *workspace);
lcplug_error lcplug_apgd_solve(const model *m, const lcplug_settings *settings, iteration *it,
                               lcplug_workspace *workspace);

/* The same two methods on the rows of J (lanes.h). */
lcplug_error lcplug_impulses_solve(const model *m, const lcplug_settings *settings, iteration *it,
                                   lcplug_workspace *workspace);
lcplug_error lcplug_lanes_apgd_solve(const model *m, const lcplug_settings *settings, iteration *it,
                                     lcplug_workspace *workspace);

#endif
