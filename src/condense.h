/* condense.h - factors of A + E that do not see what one cluster has twice.
 *
 * Four contacts between two boxes are twelve rows, but all that they can do to anybody else is a
 * force and a torque, six numbers.  So the rows K of a cluster are combinations of a few of its
 * rows, J, as everybody outside sees them: A_KN = T A_JN for the rows N of all other clusters.
 * With the unknowns
 *
 *     u = x_J + T' x_K  and  x_K,     x = V (u, x_K),     V = [ I  -T' ]
 *                                                             [ 0   I  ]
 *
 * V' (A + E) V couples clusters by A_JJ alone; x_K meets nobody but its own u.  E couples rows of
 * one cluster, so V' E V does, too.  What a wall of boxes has to factorize shrinks to half of its
 * rows, and the arithmetic to a sixth.
 *
 * V is harmless as long as no force that is held fast (by a large E) is among J while a free one is
 * among K: then the free one would be a small difference of large numbers.  So J is chosen anew for
 * each E.  No digit is lost to V; what T drops is rounding error. */
#ifndef LCPLUG_CONDENSE_H
#define LCPLUG_CONDENSE_H

#include "cholesky.h"

/* The rows of one cluster, counted from 0.  Slots are the rows in the order J, K. */
typedef struct condensed_cluster {
  int first, rows; /* places in the whole factor */
  int rank;        /* how many are in J: all of them in a cluster that has nothing twice */
  int *slot;       /* slot -> row, for the present E ... */
  int *first_slot; /* ... and as it was found */
  double *T, *first_T; /* rows - rank lines of rank numbers, for these slots */
  double *A, *E;       /* rows x rows: its own square of A, and what is added */
  int u, K;            /* places of the first slots of J and K in the condensed factor */
  /* Where their elements are in its panels: of the square of J and of that of K, a column `step`
   * numbers after the other, and of the block that both share, where the earlier of the two has
   * the columns. */
  size_t at_u, at_K, at_shared;
  int step_u, step_K, step_shared;
} condensed_cluster;

/* A block of A: from element (i, j) to the next i of cluster a, and to the next j of cluster b. */
typedef struct condensed_block {
  const double *value;
  size_t by_a, by_b;
} condensed_block;

/* Two clusters that A couples. */
typedef struct condensed_pair {
  int earlier, later; /* clusters, in the order of the condensed factor */
  condensed_block from;
  size_t to, step; /* where A_JJ goes in the condensed factor's A, and its next column */
} condensed_pair;

typedef struct condensed {
  const cholesky *whole;
  cholesky factor; /* the analysis of V' A V; row i of it is place i of the whole one */
  int clusters;
  condensed_cluster *cluster;
  int *cluster_of; /* row of the matrix -> cluster, and which of its rows it is */
  int *row_in;
  int pairs;
  condensed_pair *pair;
  int forced;      /* whatever it costs */
  int loaded;      /* the factor's A has the present slots */
  double *square;  /* scratch: of the largest cluster, a few times */
  double *vector;  /* ... and one number for each of its rows */
  int *slots;
} condensed;

/* Finds what clusters have twice and analyzes the rest.  *worth_it: whether so many factorizations
 * (INFINITY: any) become faster by it; if it is 0 nothing else may be called.  whole: analyzed; its
 * values stay what they are as long as this is used. */
lcplug_error lcplug_condense(condensed *q, const cholesky *whole, double factorizations,
                             int *worth_it, lcplug_workspace *workspace);

/* Whether it is faster than a factorization with so many multiplications and additions. */
int lcplug_condensed_pays(const condensed *q, double flops);

/* E = 0; then its elements, rows of the matrix that are of one cluster. */
void lcplug_condensed_clear(condensed *q);
static inline double *lcplug_condensed_element(const condensed *q, int i, int j) {
  const condensed_cluster *c = &q->cluster[q->cluster_of[i]];
  return c->E + q->row_in[i] * c->rows + q->row_in[j];
}

/* The row that is at a place of the condensed factor. */
static inline int lcplug_condensed_row(const condensed *q, int place) {
  int i = q->factor.row_at[place];
  const condensed_cluster *c = &q->cluster[q->cluster_of[q->whole->row_at[i]]];
  return q->whole->row_at[c->first + c->slot[i - c->first]];
}

/* Chooses J for E; afterwards lcplug_fronts_assembled(&q->factor) has A_JJ in it, but for the
 * squares of the clusters.  lcplug_condensed_put puts these into such panels: the lower triangle
 * and, unless that is NULL, the transpose of the upper one. */
void lcplug_condensed_choose(condensed *q);
void lcplug_condensed_put(condensed *q, double *lower, double *upper);

/* y <- V' x and x <- V y: x by rows of the matrix, y by places of the condensed factor. */
void lcplug_condensed_gather(const condensed *q, const double *x, double *y);
void lcplug_condensed_gather_cluster(const condensed *q, const condensed_cluster *c,
                                     const double *x, double *y);
void lcplug_condensed_spread(const condensed *q, const double *y, double *x);

#endif
