/* pivoting.h - principal pivoting for a small dense box, one row at a time.
 *
 * Where active sets run in circles this does not: a row that is right stays right, so every round
 * has fewer wrong rows than the one before (Graves; Cottle and Dantzig).  A good guess is worth
 * having: the work is one pivot for each row inside, and a few for each row that the guess has
 * wrong. */
#ifndef LCPLUG_PIVOTING_H
#define LCPLUG_PIVOTING_H

#include "box.h"

/* Sweeps that wait until the whole table is brought up to date with them. */
enum { MOST_WAITING = 4 };

/* Numbers of scratch for a table with columns of ld numbers. */
#define PIVOTING_SCRATCH(ld) ((3 + 3 * MOST_WAITING) * (size_t)(ld))

typedef struct pivoting {
  const cholesky_kernels *kernels;
  int rows, ld;  /* ld: rows rounded up to a multiple of PANEL_PAD */
  double *table; /* on entry A, the lower triangle; columns of ld numbers.  Destroyed */
  double *x, *w; /* of the guess: bounds, and w = 0 inside; on exit as exact as the pivots were */
  const double *lo, *hi;
  unsigned char *place; /* the guess; on exit where each row is */
  double *diagonal;     /* of A */
  double unit;          /* w is judged by this, and x by this over the diagonal */
  double *scratch;      /* PIVOTING_SCRATCH(ld) numbers, aligned as the table is */
  /* its own: a column of the table, -1, 0 or 1 for a row at lo, inside or at hi, and the sweeps
   * that wait, with the rows that they are of and what their columns are to be multiplied by */
  double *column, *side, *product, *swept, *scaled, *fresh;
  int waiting, row[MOST_WAITING];
  double inverse[MOST_WAITING], own[MOST_WAITING];
  int pivots_left;
} pivoting;

/* All vectors, as the columns of the table, have ld numbers.  1: every row is where its place says.
 * 0: a pivot vanished, or there was no end to it. */
int lcplug_pivoting(pivoting *p);

/* The same for a table that already is that of the guess (see pivoting.c), with the diagonal of
 * A. */
int lcplug_pivoting_mend(pivoting *p);

#endif
