/* cholesky_graph.h - who is coupled with whom, as a graph.
 *
 * Rows that have the same neighbours (all contacts of one pair of bodies, all rows of one joint)
 * form a cluster: one node of the graph, however many rows it has. */
#ifndef LCPLUG_CHOLESKY_GRAPH_H
#define LCPLUG_CHOLESKY_GRAPH_H

#include "scan.h"
#include "workspace.h"

typedef struct cluster_graph {
  int clusters;
  int *row_begin, *row;   /* clusters + 1; rows of each cluster, ascending */
  int *begin, *neighbour; /* clusters + 1; both triangles, without the cluster itself */
} cluster_graph;

lcplug_error lcplug_cluster_graph(cluster_graph *graph, const lower_triangle *a, int groups,
                                  const int *group_first, lcplug_workspace *workspace);

#endif
