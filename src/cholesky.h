/* cholesky.h - sparse direct factorization of A_FF + diag(extra), for many subsets F of one
 * pattern.
 *
 * An interior-point method factorizes the same matrix again and again with another diagonal added,
 * an active-set method with other rows left out.  The pattern is analyzed once, for all rows; a
 * subset then shrinks every dense panel to the rows that are kept.
 *
 *     lcplug_cholesky_analyze(&c, &lower, layout->groups, layout->group_first, workspace);
 *     lcplug_cholesky_select(&c, keep);
 *     for (...) {
 *       lcplug_cholesky_factor(&c, extra);
 *       lcplug_cholesky_solve(&c, x);
 *     }
 *
 * Everybody counts rows in the order in which they are eliminated, their places: c.row_at tells
 * which row of the matrix that is.  One cholesky belongs to one thread: it holds the factor and the
 * scratch of a solve. */
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
  int first; /* place of the first pivot in elimination order */
  int pivots;
  int below;
  int parent;  /* supernode that holds the first row below; -1: none */
  int cluster; /* its first cluster, and how many it has */
  int clusters;
  int *rows; /* places of the rows below, ascending */
  /* The front that adds up what this supernode leaves: where its rows are there, how many of them
   * among the pivots, and whether they stand together. */
  int *at, own, long_runs;
  size_t panel; /* offset of the panel */
} supernode;

/* A matrix that a finished supernode has left for its parent: lower, square, column-major. */
typedef struct update {
  supernode *from; /* its rows are those below that one */
  double *value;
} update;

typedef struct cholesky {
  int n;
  const cholesky_kernels *kernels;
  /* A pivot at or below `tiny` times its diagonal element A_ii + extra_i counts as zero: its
   * unknown is left out, as if the row were not kept, and comes out of a solve as 0.  The factor
   * stays finite, and a system whose right side lies in the range of A is still solved. */
  double tiny;

  /* The analysis.  Clusters are rows with the same neighbours, numbered as they are eliminated. */
  int clusters;
  int *cluster_first;   /* clusters + 1 of them: place of a cluster's first row */
  int *row_at;          /* place in elimination order -> row */
  int *neighbour_begin; /* clusters + 1 of them */
  int *neighbour;       /* both triangles, ascending, without the cluster itself */
  size_t *block;        /* neighbour -> offset in `value` of the block that the two share */
  int supernodes;
  supernode *full; /* supernodes with all rows kept */

  /* A, lower triangle in elimination order.  The columns of a cluster have their elements in the
   * same places: its own rows and those of its later neighbours. */
  int *place_begin; /* clusters + 1 of them */
  int *place;
  size_t *value_begin; /* of a cluster's columns; each is as long as the list of places */
  double *value;

  /* The subset.  Places count kept rows only. */
  int kept;
  int *kept_before; /* n + 1 of them: place among all -> place among the kept */
  supernode *now;
  int *now_rows, *now_at; /* storage of now[].rows and now[].at */
  int *waiting;           /* updates that wait for a supernode */
  unsigned char *side;    /* the stack that a supernode's update goes to */
  double *assembled;      /* panels of `now` with A in them, ... */
  int is_assembled;       /* ... which the first factorization puts there */

  /* The last factorization. */
  double *factor;  /* panels of `now` */
  double *inverse; /* place -> 1 / L_ii, or 0 for a pivot left out */

  /* Scratch. */
  double *floor; /* place -> the least acceptable pivot */
  update *pending;
  double *stack[2];
  size_t panels, stack_size; /* of `factor` and of each stack, in doubles */
  int *local;                /* place -> row of the current panel */
  int *position, *source; /* of numbers to add or copy: row of the panel, where they come from */
  panel_run *run;
  double *column;
  size_t *target; /* row -> where its elements of the current cluster go in `value` ... */
  int *stride;    /* ... and how far apart they are */

  double all_flops; /* multiplications and additions with all rows kept */
  /* Counters of the last factorization. */
  int perturbed;   /* pivots left out */
  size_t nonzeros; /* of L, padding not counted */
  double flops;
} cholesky;

/* The sum of (below + j)^2 over the pivots j = 1 .. pivots: multiplications and additions. */
static inline double lcplug_front_flops(double pivots, double below) {
  return pivots * (below * (below + pivots + 1.0) + (pivots + 1.0) * (2.0 * pivots + 1.0) / 6.0);
}

/* Rows of a panel with its padding. */
static inline int lcplug_panel_ld(int pivots, int below) {
  return lcplug_panel_pad(pivots) + lcplug_panel_pad(below);
}

/* Orders the rows, finds the structure of the factor and loads the values.  Rows come in `groups`
 * groups of consecutive rows that share their neighbours, or nearly.  All memory is taken from the
 * workspace, here and nowhere else, enough for every subset.  LCPLUG_ERROR_MEMORY: c is
 * unusable. */
lcplug_error lcplug_cholesky_analyze(cholesky *c, const lower_triangle *a, int groups,
                                     const int *group_first, lcplug_workspace *workspace);

/* New values for the pattern that was analyzed (elements may be missing, none may be new). */
void lcplug_cholesky_load(cholesky *c, const lower_triangle *a);

/* Chooses the rows with keep[place] != 0, NULL: all of them, and counts them in c->kept.  To be
 * called after new values, too. */
void lcplug_cholesky_select(cholesky *c, const unsigned char *keep);

/* Factorizes the chosen rows of A + diag(extra).  extra has c->kept elements, NULL: zeros, which
 * must be finite. */
void lcplug_cholesky_factor(cholesky *c, const double *extra);

/* x <- (A_FF + diag(extra_F))^-1 x, c->kept elements. */
void lcplug_cholesky_solve(const cholesky *c, double *x);

/* The supernode that has the row at a place, among the chosen ones, as a pivot. */
int lcplug_cholesky_supernode(const cholesky *c, int place);

/* Column `place` of A, all rows: at most how many elements, and their places and values. */
int lcplug_cholesky_column_length(const cholesky *c, int place);
int lcplug_cholesky_column(const cholesky *c, int place, int *places, double *values);

/* The pieces, for other factorizations of the chosen rows.
 *
 * The panels of c->now with A in them. */
const double *lcplug_fronts_assembled(cholesky *c);

/* L^-1 and L^-T, for panels in `factor` (1 / L_ii in `inverse`). */
void lcplug_fronts_forward(const cholesky *c, const double *factor, const double *inverse,
                           double *y);
void lcplug_fronts_backward(const cholesky *c, const double *factor, const double *inverse,
                            double *y);

/* Adds what the updates that wait for a supernode have for its panel, and what for the rows
 * below. */
void lcplug_front_add_to_panel(const cholesky *c, const supernode *s, int count,
                               const update *updates, double *panel);
void lcplug_front_add_to_update(const cholesky *c, const supernode *s, int count,
                                const update *updates, double *own);

#endif
