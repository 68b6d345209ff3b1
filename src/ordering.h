/* ordering.h - in which order to eliminate the clusters, and what that gives.
 *
 * Clusters are nodes of a graph, each with a number of rows.  The order is found by simulating the
 * elimination, and the simulation knows the structure of the factor: both come out of one pass. */
#ifndef LCPLUG_ORDERING_H
#define LCPLUG_ORDERING_H

#include "cholesky_graph.h"

/* Clusters that are eliminated together. */
typedef struct front {
  int first, last; /* its clusters: a list through elimination.next */
  int pivots;      /* rows of those */
  int below;       /* rows below them */
  int *cluster;    /* the clusters below, in no order */
  int clusters;
  int parent; /* a later front that holds all that is below; -1: nothing is */
} front;

typedef struct elimination {
  int fronts; /* children come before their parents */
  front *front;
  int *next; /* cluster -> next cluster of its front, -1 at the end */
} elimination;

lcplug_error lcplug_ordering(elimination *out, const cluster_graph *graph,
                             lcplug_workspace *workspace);

#endif
