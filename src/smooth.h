/* smooth.h - the conditions on x and w as equations f(x) = 0 that have a derivative.
 *
 * Of every set, with u = s x - w:
 *
 *     f = s x - p(u),     p the projection on s K, its corners rounded off by eps
 *
 * friction=cone takes the projection on the cone.  friction=coulomb takes Alart and Curnier's: the
 * normal force first, then the tangential one on the disc that it allows; no term for De Saxce is
 * needed, and rolling rows and pyramids are discs of one dimension.  As eps goes to 0 the zeros of
 * f go to the answers; at any eps > 0 Newton's method has smooth ground under its feet.
 *
 * With V = p'(u) the Newton step solves  (A + E) dx = r,  E = (V^-1 - 1) s,  r = -V^-1 f : A and a
 * small block for each set.  V^-1 is written down set by set, never found by elimination. */
#ifndef LCPLUG_SMOOTH_H
#define LCPLUG_SMOOTH_H

#include "lu.h"
#include "model.h"
#include "smooth_lanes.h"

/* A slope of p below this counts as this: keeps V^-1, and with it the Newton matrix, in range. */
#define LEAST_SLOPE 1e-8

typedef struct smoothing {
  const model *m;
  double *scale;    /* s of each set, in units where its cone is the circular one of 45 degrees */
  double stiffness; /* s as a part of that; softer is safer, as rows act together */
  double *target;   /* row of a normal -> the force that p asks for */
  double *slip;     /* of each cone: De Saxce's term mu |w_t|, held at its last value ... */
  int exact;        /* ... or, not 0, Alart and Curnier's conditions, which need none */
  double *lack;     /* what each term was short of its w ... */
  double part;      /* ... and how much of that it was given */
  double unit;      /* a velocity: the largest right side */
  int rough;        /* there is friction without limit ... */
  int held;         /* ... and, not 0, it holds contacts that open, too */
  int symmetric;    /* E is, unless `exact` */
  const cone_kernels *kernels;
  cone_quad *quads; /* the cones that are evaluated four at a time ... */
  int quad_count;
  int *others; /* ... and the sets that are not */
  int other_count;
} smoothing;

lcplug_error lcplug_smoothing_begin(smoothing *s, const model *m, lcplug_workspace *workspace);

/* |f|^2 at x, whose product A x is known. */
double lcplug_smoothing_merit(const smoothing *s, double eps, const double *x, const double *Ax);

/* |f|^2 of set k alone, and, if wanted, its block of E, row-major.  Not of coupled sets. */
double lcplug_smoothing_of_set(const smoothing *s, int k, double eps, const double *x,
                               const double *Ax, double *E);

/* Adds E to what is loaded in `matrix`; writes r. */
void lcplug_smoothing_linearize(const smoothing *s, double eps, const double *x, const double *Ax,
                                lu *matrix, double *r);

/* The right side that linearize would have written, had f been its change with the logarithm of
 * eps. */
void lcplug_smoothing_drift(const smoothing *s, double eps, const double *x, const double *Ax,
                            double *r);

/* Moves De Saxce's terms towards those of this w; sets them to 0. */
void lcplug_smoothing_follow_slip(smoothing *s, const double *Ax);
void lcplug_smoothing_forget_slip(smoothing *s);

/* The answer that x stands for: feasible, and what w pushes against a bound is there to the
 * letter. */
void lcplug_smoothing_answer(const smoothing *s, const double *x, const double *Ax, double *answer);

#endif
