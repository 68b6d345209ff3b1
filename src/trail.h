/* trail.h - L^-1 of a vector with few elements.
 *
 * The element of a row reaches only the rows above it in the elimination tree, so only the
 * supernodes on the way from there to the root take part: a small part of a solve.  With L L' =
 * A, products of trails are elements of A^-1 and of what A^-1 is multiplied by on both sides. */
#ifndef LCPLUG_TRAIL_H
#define LCPLUG_TRAIL_H

#include "cholesky.h"

typedef struct trail {
  int count;      /* supernodes on the way, ... */
  int *supernode; /* ... ascending */
  double *value;  /* of the pivots of each, one after the other */
} trail;

/* Scratch of lcplug_trail_make, for the present subset of the factor: zeros before and after. */
typedef struct trail_maker {
  const cholesky *c;
  double *y;              /* by place */
  unsigned char *is_on_it; /* by supernode */
  lcplug_workspace *workspace;
} trail_maker;

/* 0 if out of memory. */
int lcplug_trail_begin(trail_maker *m, const cholesky *c, lcplug_workspace *workspace);

/* The trail of `count` elements at places among the kept rows.  0 if out of memory. */
int lcplug_trail_make(trail_maker *m, int count, const int *place, const double *value, trail *to);

/* All their products, those of trails i and k <= i in table[k * ld + i].  0 if out of memory. */
int lcplug_trail_products(const trail_maker *m, int count, const trail *trails, double *table,
                          size_t ld);

/* y += part * trail; y by place. */
void lcplug_trail_add(const cholesky *c, const trail *t, double part, double *y);

#endif
