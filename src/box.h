/* box.h - the problem inside the exact solver: min 1/2 x'Ax - b'x, lo <= x <= hi.
 *
 * A box holds only the rows that have a choice (lo < hi), in an order of its own; rows with a
 * single value have been moved into b.  Two methods work on it in turn.  Active sets guess which
 * rows sit at a bound and solve for the others; a right guess is the exact answer, and the last few
 * wrong rows are settled by pivoting (contested.h).  The interior point needs more factorizations
 * but no guess, and ends close enough for the active set to take over.
 *
 * A small box keeps A as a dense square, a large one as blocks of a sparse factor's pattern, its
 * rows in the order of elimination, and may have a condensed factor; the methods do not know which
 * (box_matrix.h). */
#ifndef LCPLUG_BOX_H
#define LCPLUG_BOX_H

#include "condense.h"
#include "iterate.h"
#include "kernels.h"
#include "layout.h"
#include "product.h"
#include "scan.h"
#include "trail.h"

/* Where a row is believed to be. */
typedef enum place { AT_LO, INSIDE, AT_HI } place;

typedef struct box box;

typedef struct box_matrix {
  /* y = A x */
  void (*apply)(const box *p, const double *x, double *y);
  /* v <- (A_FF + diag(extra_F))^-1 v_F for the rows F with keep[i] != 0; others come out 0. */
  void (*factor_and_solve)(box *p, double *v);
  /* The same with the factor of the last call. */
  void (*solve)(box *p, double *v);
  /* With the factor L L' of the last call: L^-1 of a vector with few elements as a trail (at: which
   * of the kept rows they are, kept_at tells); the products of all of `count` trails, those of i
   * and k <= i in table[k * ld + i]; and v <- L^-T of the sum of parts of trails.  begin: before
   * the first of them.  0 if out of memory. */
  int (*begin_trails)(box *p);
  int (*make_trail)(box *p, int count, const int *at, const double *values, trail *to);
  int (*trail_products)(const box *p, int count, const trail *trails, double *table, size_t ld);
  void (*add_trails)(box *p, int count, const trail *trails, const double *parts, double *v);
  /* The elements of column i that may not be zero: how many at most, and their rows and values. */
  int (*column_length)(const box *p, int i);
  int (*column)(const box *p, int i, int *rows, double *values);
} box_matrix;

struct box {
  const box_matrix *matrix;
  lcplug_workspace *workspace;
  int rows;
  double unit; /* residuals are fractions of this */
  double lost; /* the residual of rows that were cut out and have no answer */
  double *b, *lo, *hi, *diagonal;
  /* the iterate: x, its w = A x - b, and where each row is believed to be */
  double *x, *w;
  unsigned char *place;
  /* pull != 0: the problem with  pull A_ii (x - center)^2 / 2  of every row added */
  double pull, *center;
  /* what the next factorization keeps and adds */
  unsigned char *keep;
  double *extra;
  /* scratch */
  double *dx, *clipped, *clipped_w;
  const int *row;       /* row of the box -> row in the solver's order */
  int *kept, kept_rows; /* the rows of the last factorization */
  int *kept_at;         /* row of the box -> which of them it is; for trails */
  trail_maker maker;
  double *vector; /* on those */
  /* dense: A, columns of ld numbers, and the factor as one panel */
  const double *dense;
  size_t ld;
  const cholesky_kernels *kernels;
  double *panel, *inverse, *floor;
  /* sparse: products, and the factor on all rows of the matrix */
  block_product product;
  cholesky *factor;
  const int *place_of; /* row of the box -> place in the factor, and back, -1: not of the box */
  int *row_of;
  unsigned char *keep_all, *chosen; /* chosen: what the factor's present subset is */
  int blocked;                      /* rows that are not kept are in it, but cannot move */
  double *extra_kept;
  /* condensed: another factor; scratch by rows of the matrix and by places of that factor */
  condensed *condensed;
  double *by_row, *by_place, *trail_value;
  int *trail_place;
};

/* The matrix that boxes are cut from, in the solver's order: one of the two. */
typedef struct box_source {
  const layout *layout;
  double *dense; /* full symmetric, columns of ld numbers */
  size_t ld;
  const lower_triangle *lower;
  cholesky *factor;     /* of all rows; kept in the workspace as long as the pattern stays */
  condensed *condensed; /* NULL: not worth it */
} box_source;

lcplug_error lcplug_box_source_dense(box_source *s, const lcplug_problem *problem, const layout *l,
                                     lcplug_workspace *workspace);
lcplug_error lcplug_box_source_sparse(box_source *s, const lower_triangle *lower, const layout *l,
                                      lcplug_workspace *workspace);

/* Condenses a sparse source if that makes so many factorizations faster (condense.h), for all boxes
 * that are cut from now on. */
lcplug_error lcplug_box_source_condense(box_source *s, double factorizations,
                                        lcplug_workspace *workspace);

/* The box of the rows with lo < hi; x starts from `x`, and fixed rows of x receive their value. */
lcplug_error lcplug_box_cut(box *p, box_source *source, const double *lo, const double *hi,
                            double *x, lcplug_workspace *workspace);

/* A box of `count` rows of a dense matrix (columns of ld numbers), listed in row.  Its b, lo, hi,
 * x, scales and unit are the caller's to fill in. */
lcplug_error lcplug_box_of_dense(box *p, const double *A, size_t ld, const int *row, int count,
                                 lcplug_workspace *workspace);

/* y = A x on all rows of the source. */
void lcplug_box_source_apply(const box_source *s, const double *x, double *y);

/* The natural residual of x on all rows of the source, lo <= x <= hi, and what it is a fraction
 * of. */
double lcplug_box_source_residual(const box_source *s, const double *lo, const double *hi,
                                  const double *x, const double *Ax, double unit);
double lcplug_box_source_unit(const box_source *s, const double *lo, const double *hi);

/* Writes the box's x into the rows it was cut from. */
void lcplug_box_paste(const box *p, const double *values, double *x);

/* w = A x - b for the present x, and what pulls at it. */
void lcplug_box_set_w(box *p);

/* The natural residual of x with this w, for x within its bounds. */
double lcplug_box_residual(const box *p, const double *x, const double *w);

/* Judges the present x, clipped to its bounds, as an iterate (it->x has the box's rows); 1 when it
 * is time to stop. */
int lcplug_box_observe(box *p, iteration *it);

/* Active sets, from p->place and p->x; at most `steps` of them.  1 when solved.  promising: the
 * part of the rows that may change their place after the first step without its being given up. */
int lcplug_active_set(box *p, iteration *it, int steps, double promising);

/* Where x - w / A_ii says that row i is; multiplied by A_ii, which saves a division. */
static inline place lcplug_box_place(const box *p, int i) {
  double d = p->diagonal[i], q = d * p->x[i] - p->w[i];
  if (!(d > 0.0)) d = 1.0, q = p->x[i];
  return q < d * p->lo[i] ? AT_LO : q > d * p->hi[i] ? AT_HI : INSIDE;
}

/* The same for all rows. */
void lcplug_guess_places(box *p);

/* Interior point from p->x; hands over to the active set as soon as it can. */
lcplug_error lcplug_interior_point(box *p, iteration *it, int steps, lcplug_workspace *workspace);

#endif
