/* patched.h - a factor, and a few changes of rank one since it was made.
 *
 *     M = F + u_1 v_1' + ... + u_k v_k'
 *
 * where each u and v has elements in a few consecutive rows only.  A patch costs one solve, and
 * every solve with k patches k sums of vectors more. */
#ifndef LCPLUG_PATCHED_H
#define LCPLUG_PATCHED_H

#include "lu.h"
#include "sets.h"

enum { MOST_PATCHES = 40 };

typedef struct patch {
  int first, rows;
  double v[SET_MOST_ROWS];
  double *z;    /* M^-1 u, M as it was before */
  double share; /* 1 / (1 + v . z) */
} patch;

typedef struct patched {
  const lu *f;
  int n, count;
  patch patch[MOST_PATCHES];
} patched;

/* On f, which is factorized by whoever owns it.  0 if out of memory. */
int lcplug_patched_begin(patched *m, const lu *f, int n, lcplug_workspace *workspace);

/* After a new factorization. */
static inline void lcplug_patched_clear(patched *m) { m->count = 0; }

/* M + u v', both with so many elements.  0, and M as it was, if there are too many patches or that
 * is singular. */
int lcplug_patched_add(patched *m, int first, int rows, const double *u, const double *v);

/* x <- M^-1 x */
void lcplug_patched_solve(const patched *m, double *x);

/* x, which was M^-1 r before the last patch, becomes M^-1 (r + part u). */
void lcplug_patched_update(const patched *m, double part, double *x);

#endif
