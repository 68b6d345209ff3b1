/* cholesky_graph.c - see cholesky_graph.h.
 *
 * From the nonzeros to a graph on groups of rows, from there to one on clusters.  Both steps are
 * linear: a group's neighbourhood is hashed, and only groups with equal hashes are compared. */
#include "cholesky_graph.h"

#include <string.h>

/* Groups with their neighbours, both triangles. */
typedef struct group_graph {
  int groups;
  int *begin, *neighbour;
  unsigned *hash; /* of the neighbourhood, the group itself included */
  int *mark;      /* group -> last group that met it as a neighbour */
} group_graph;

static unsigned scramble(int g) { return ((unsigned)g + 1u) * 2654435761u; }

/* Neighbours with a smaller number: lower[lower_begin[g]] .. lower[lower_begin[g + 1] - 1]. */
static void list_lower(group_graph *graph, const lower_triangle *a, const int *group_first,
                       const int *group_of, int *lower_begin, int *lower) {
  int *mark = graph->mark, *degree = graph->begin, count = 0;
  for (int g = 0; g < graph->groups; g++) {
    lower_begin[g] = count;
    mark[g] = g;
    graph->hash[g] = scramble(g);
    for (size_t k = a->begin[group_first[g]]; k < a->begin[group_first[g + 1]]; k++) {
      int h = group_of[a->column[k]];
      if (mark[h] == g) continue;
      mark[h] = g;
      lower[count++] = h;
      degree[h]++;
      graph->hash[h] += scramble(g);
      graph->hash[g] += scramble(h);
    }
    degree[g] = count - lower_begin[g];
  }
  lower_begin[graph->groups] = count;
}

static void make_symmetric(group_graph *graph, const int *lower_begin, const int *lower,
                           int *next) {
  int count = 0;
  for (int g = 0; g < graph->groups; g++) {
    int degree = graph->begin[g];
    graph->begin[g] = next[g] = count;
    count += degree;
  }
  graph->begin[graph->groups] = count;
  for (int g = 0; g < graph->groups; g++)
    for (int k = lower_begin[g]; k < lower_begin[g + 1]; k++) {
      graph->neighbour[next[g]++] = lower[k];
      graph->neighbour[next[lower[k]]++] = g;
    }
}

static lcplug_error find_groups(group_graph *graph, const lower_triangle *a, int groups,
                                const int *group_first, lcplug_workspace *workspace) {
  *graph = (group_graph){.groups = groups};
  size_t edges = (size_t)groups * (size_t)(groups - 1) / 2, elements = a->begin[a->n];
  if (edges > elements) edges = elements;
  int *group_of = TAKE(workspace, int, a->n);
  int *lower_begin = TAKE(workspace, int, groups + 1);
  int *lower = TAKE(workspace, int, edges);
  int *next = TAKE(workspace, int, groups);
  graph->begin = TAKE(workspace, int, groups + 1);
  graph->hash = TAKE(workspace, unsigned, groups);
  graph->mark = TAKE(workspace, int, groups);
  if (!group_of || !lower_begin || !lower || !next || !graph->begin || !graph->hash || !graph->mark)
    return LCPLUG_ERROR_MEMORY;
  for (int g = 0; g < groups; g++) {
    graph->mark[g] = -1;
    for (int i = group_first[g]; i < group_first[g + 1]; i++) group_of[i] = g;
  }
  list_lower(graph, a, group_first, group_of, lower_begin, lower);
  graph->neighbour = TAKE(workspace, int, 2 * (size_t)lower_begin[groups]);
  if (!graph->neighbour) return LCPLUG_ERROR_MEMORY;
  make_symmetric(graph, lower_begin, lower, next);
  return LCPLUG_OK;
}

/* 1 if g and h are neighbours of each other and have all others in common.  Lists are compared in
 * the order in which they stand; where that is not ascending, equal ones may go unnoticed, which
 * costs a little time and nothing else. */
static int same_neighbours(const group_graph *graph, int g, int h) {
  int i = graph->begin[g], last_i = graph->begin[g + 1], each_other = 0;
  int j = graph->begin[h], last_j = graph->begin[h + 1];
  const int *list = graph->neighbour;
  while (i < last_i || j < last_j) {
    if (i < last_i && list[i] == h) i++, each_other++;
    else if (j < last_j && list[j] == g) j++, each_other++;
    else if (i == last_i || j == last_j || list[i++] != list[j++]) return 0;
  }
  return each_other == 2;
}

/* cluster_of[g]; leader[c]: the first group of cluster c.  Returns the number of clusters. */
static int find_clusters(const group_graph *graph, int *cluster_of, int *leader, int *bucket,
                         int *chain, unsigned mask) {
  int clusters = 0;
  for (unsigned k = 0; k <= mask; k++) bucket[k] = -1;
  for (int g = 0; g < graph->groups; g++) {
    int *head = &bucket[(graph->hash[g] >> 8) & mask], c = *head;
    while (c >= 0 &&
           (graph->hash[leader[c]] != graph->hash[g] || !same_neighbours(graph, g, leader[c])))
      c = chain[c];
    if (c < 0) {
      c = clusters++;
      leader[c] = g;
      chain[c] = *head, *head = c;
    }
    cluster_of[g] = c;
  }
  return clusters;
}

static void list_rows(cluster_graph *graph, int groups, const int *group_first,
                      const int *cluster_of) {
  int *begin = graph->row_begin, total = 0;
  memset(begin, 0, (size_t)(graph->clusters + 1) * sizeof *begin);
  for (int g = 0; g < groups; g++) begin[cluster_of[g]] += group_first[g + 1] - group_first[g];
  for (int c = 0; c < graph->clusters; c++) {
    int rows = begin[c];
    begin[c] = total;
    total += rows;
  }
  for (int g = 0; g < groups; g++)
    for (int i = group_first[g]; i < group_first[g + 1]; i++)
      graph->row[begin[cluster_of[g]]++] = i;
  for (int c = graph->clusters; c > 0; c--) begin[c] = begin[c - 1];
  begin[0] = 0;
}

/* Leaders stand for their clusters: those among a leader's neighbours are the cluster's
 * neighbours. */
static void link_clusters(cluster_graph *graph, const group_graph *fine, const int *cluster_of,
                          const int *leader) {
  int count = 0;
  for (int c = 0; c < graph->clusters; c++) {
    graph->begin[c] = count;
    for (int k = fine->begin[leader[c]]; k < fine->begin[leader[c] + 1]; k++) {
      int h = fine->neighbour[k];
      if (leader[cluster_of[h]] == h) graph->neighbour[count++] = cluster_of[h];
    }
  }
  graph->begin[graph->clusters] = count;
}

lcplug_error lcplug_cluster_graph(cluster_graph *graph, const lower_triangle *a, int groups,
                                  const int *group_first, lcplug_workspace *workspace) {
  group_graph fine;
  unsigned mask = 15;
  lcplug_error error = find_groups(&fine, a, groups, group_first, workspace);
  if (error) return error;
  while (mask < (unsigned)groups) mask = 2 * mask + 1;
  int *cluster_of = TAKE(workspace, int, groups);
  int *leader = TAKE(workspace, int, groups);
  int *bucket = TAKE(workspace, int, mask + 1);
  int *chain = TAKE(workspace, int, groups);
  *graph = (cluster_graph){.row_begin = TAKE(workspace, int, groups + 1),
                           .row = TAKE(workspace, int, a->n),
                           .begin = TAKE(workspace, int, groups + 1),
                           .neighbour = TAKE(workspace, int, fine.begin[groups])};
  if (!cluster_of || !leader || !bucket || !chain || !graph->row_begin || !graph->row ||
      !graph->begin || !graph->neighbour)
    return LCPLUG_ERROR_MEMORY;
  graph->clusters = find_clusters(&fine, cluster_of, leader, bucket, chain, mask);
  list_rows(graph, groups, group_first, cluster_of);
  link_clusters(graph, &fine, cluster_of, leader);
  return LCPLUG_OK;
}
