/* box_matrix.h - what the matrices of boxes are made of: dense, sparse and condensed ones.  For
 * those and for box.c, which chooses between them. */
#ifndef LCPLUG_BOX_MATRIX_H
#define LCPLUG_BOX_MATRIX_H

#include "box.h"

/* A row with so many times its diagonal element added does not move. */
static const double BOX_BLOCK = 1e20;

/* Room for the factor, and the rows and columns listed in p->row; a box of all rows uses them in
 * place.  These two and the next give 0 if they are out of memory. */
int lcplug_box_cut_dense(box *p, const double *A, size_t ld, int all, lcplug_workspace *workspace);
/* The product of the box's rows, and what tells the factor which of them to keep. */
int lcplug_box_cut_sparse(box *p, const box_source *s, lcplug_workspace *workspace);
/* A box that has been cut as a sparse one takes a condensed factor in place of the whole one. */
int lcplug_box_condense(box *p, condensed *q, lcplug_workspace *workspace);

/* The rows that are kept: lists them in p->kept, and where each is there in p->kept_at; takes a
 * vector's elements to them, and back, with zeros for all others. */
void lcplug_box_list_kept(box *p);
int lcplug_box_list_kept_at(box *p);
void lcplug_box_gather_kept(const box *p, const double *v, double *kept);
void lcplug_box_spread_kept(const box *p, const double *kept, double *v);

/* Of the sparse matrix and of the condensed one. */
void lcplug_box_sparse_apply(const box *p, const double *x, double *y);
int lcplug_box_sparse_column_length(const box *p, int i);
int lcplug_box_sparse_column(const box *p, int i, int *rows, double *values);

#endif
