/* siconos.h - problems of frictional contact, into Siconos and into lcplug. */
#ifndef LCPLUG_BENCH_SICONOS_H
#define LCPLUG_BENCH_SICONOS_H

#include <lcplug/record.h>

/* Who solves; the first ones are Siconos'. */
typedef enum rival { NSGS, NSN_AC, ADMM, PROX, LCPLUG, RIVALS } rival;

/* One run of one solver. */
typedef struct run {
  /* CPU time, the least of several if it is short; infinite: cap, or the solver died */
  double seconds;
  double residual;
} run;

/* CPU time of this thread, the only one. */
double cpu_seconds(void);

/* A solve, with the criterion of the solver itself at `tol`; x has room for the
 * answer.  Returns its CPU time. */
typedef double solve_once(const lcplug_record *record, rival by, double tol, double *x);

/* Siconos'.  Gives the matrix to it as it likes it best, by blocks, before the clock starts. */
solve_once siconos_solve;

#endif
