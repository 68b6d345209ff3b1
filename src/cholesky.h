/* cholesky.h - sparse direct factorization of A_FF + diag(extra), for many subsets F of one pattern.
 *
 * An interior-point or active-set method factorizes the same matrix again and again, with other rows
 * left out and another diagonal added.  The pattern is analyzed once, for all rows; a factorization
 * then shrinks every dense panel to the rows that are kept.
 *
 *     lcplug_cholesky_analyze(&c, &lower, layout->groups, layout->group_first, workspace);
 *     for (...) {
 *       lcplug_cholesky_factor(&c, keep, extra);
 *       lcplug_cholesky_solve(&c, x);
 *     }
 *
 * One cholesky belongs to one thread: it holds the factor and the scratch of a solve. */
#ifndef LCPLUG_CHOLESKY_H
#define LCPLUG_CHOLESKY_H

#include <stddef.h>

#include "kernels.h"
#include "scan.h"
#include "workspace.h"

/* Rows that are eliminated together, and the rows below them that this changes.  The panel is
 * column-major, `pivots` columns of lcplug_panel_ld rows: the triangle of the pivots, zeros up to a
 * multiple of PANEL_PAD, the rows below, zeros again. */
typedef struct supernode {
  int first;    /* place of the first pivot in elimination order */
  int pivots;
  int below;
  int parent;   /* supernode that holds the first row below; -1: none */
  int cluster;  /* its first cluster, and how many it has */
  int clusters;
  int *rows;    /* places of the rows below, ascending */
  size_t panel; /* offset of the panel */
} supernode;

/* A matrix that a finished supernode has left for its parent: lower, square, column-major. */
typedef struct update {
  const int *rows; /* what its rows are */
  int size;
  double *value;
} update;

typedef struct cholesky {
  int n;
  const cholesky_kernels *kernels;
  /* A pivot at or below `tiny` times its diagonal element A_ii + extra_i counts as zero: its unknown
   * is left out, as if the row were not kept, and comes out of a solve as 0.  The factor stays
   * finite, and a system whose right side lies in the range of A is still solved. */
  double tiny;

  /* The analysis.  Clusters are rows with the same neighbours, numbered as they are eliminated. */
  int clusters;
  int *cluster_first;   /* clusters + 1 of them: place of a cluster's first row */
  int *row_at;          /* place in elimination order -> row */
  int *neighbour_begin; /* clusters + 1 of them */
  int *neighbour;       /* both triangles, ascending, without the cluster itself */
  size_t *block;        /* neighbour -> offset in `value` of the block that the two share */
  int supernodes;
  supernode *full;      /* supernodes with all rows kept */

  /* A, lower triangle in elimination order.  The columns of a cluster have their elements in the same
   * places: its own rows and those of its later neighbours. */
  int *place_begin;     /* clusters + 1 of them */
  int *place;
  size_t *value_begin;  /* of a cluster's columns; each is as long as the list of places */
  double *value;

  /* The last factorization.  Places count kept rows only. */
  int kept;
  int *kept_row;    /* place -> row */
  int *kept_before; /* n + 1 of them: kept rows among the first ones in elimination order */
  supernode *now;
  int *now_rows;    /* storage of now[].rows where they differ from full[].rows */
  double *factor;   /* panels of `now` */
  double *inverse;  /* place -> 1 / L_ii, or 0 for a pivot left out */

  /* Scratch. */
  double *added, *floor; /* place -> extra, and the least acceptable pivot */
  int *waiting;          /* updates that wait for a supernode */
  unsigned char *side;   /* the stack that a supernode's update goes to */
  update *pending;
  double *stack[2];
  size_t panels, stack_size; /* of `factor` and of each stack, in doubles */
  int *local;            /* place -> row of the current panel */
  int *position, *source; /* of each number to add or copy: row of the panel, and where it comes from */
  panel_run *run;
  double *vector, *column;
  size_t *target;        /* row -> where its elements of the current cluster go in `value` ... */
  int *stride;           /* ... and how far apart they are */

  /* Counters of the last factorization. */
  int perturbed;    /* pivots left out */
  size_t nonzeros;  /* of L, padding not counted */
  double flops;     /* multiplications and additions */
} cholesky;

/* Rows of a panel with its padding. */
static inline int lcplug_panel_ld(int pivots, int below) {
  return lcplug_panel_pad(pivots) + lcplug_panel_pad(below);
}

/* Orders the rows, finds the structure of the factor and loads the values.  Rows come in `groups`
 * groups of consecutive rows that share their neighbours, or nearly.  All memory is taken from the
 * workspace, here and nowhere else, enough for every subset.  LCPLUG_ERROR_MEMORY: c is unusable. */
lcplug_error lcplug_cholesky_analyze(cholesky *c, const lower_triangle *a, int groups,
                                     const int *group_first, lcplug_workspace *workspace);

/* New values for the pattern that was analyzed (elements may be missing, none may be new). */
void lcplug_cholesky_load(cholesky *c, const lower_triangle *a);

/* Factorizes the rows with keep[i] != 0 of A + diag(extra).  keep NULL: all rows; extra NULL: zeros.
 * What is passed must be finite. */
void lcplug_cholesky_factor(cholesky *c, const unsigned char *keep, const double *extra);

/* x <- (A_FF + diag(extra_F))^-1 x_F; rows that are not kept come out 0. */
void lcplug_cholesky_solve(const cholesky *c, double *x);

/* The pieces, for other factorizations of the same pattern.
 *
 * L^-1 and L^-T on vectors in elimination order, for panels in `factor` (1 / L_ii in `inverse`). */
void lcplug_fronts_forward(const cholesky *c, const supernode *nodes, const double *factor,
                           const double *inverse, double *y);
void lcplug_fronts_backward(const cholesky *c, const supernode *nodes, const double *factor,
                            const double *inverse, double *y);

/* Adds the updates that wait for a supernode to its panel and to its own update, which starts from 0. */
void lcplug_front_add(const cholesky *c, const supernode *s, int count, const update *updates,
                      double *panel, double *own);

#endif
