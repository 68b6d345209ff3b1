/* cholesky_symbolic.c - the structure of the factor, and A's place in it.
 *
 *     clusters of rows -> order and fronts -> merge where it pays -> numbers, rows, memory
 *
 * A merged supernode stores zeros for fewer, larger dense operations; a model of the time that both
 * ways take decides. */
#include <string.h>

#include "cholesky.h"
#include "ordering.h"

/* Up to this many rows, and above this density, everything is one dense supernode. */
enum { SMALLEST_SPARSE = 20 };
static const double DENSEST_SPARSE = 0.7;

/* What is decided about a front of the elimination. */
typedef struct draft {
  int merged;         /* into its parent */
  int child, sibling; /* of those that were not merged */
} draft;

typedef struct builder {
  const cluster_graph *graph;
  lcplug_workspace *workspace;
  elimination e;
  draft *draft;
  int *number;     /* front -> supernode */
  int *old_to_new; /* clusters, as the graph and as the elimination number them */
  int *list;
} builder;

/* --- merging --- */

/* Processor cycles for a front, fitted to measurements: one for the front itself, one for each row
 * and for each element that is copied or added, and the arithmetic. */
static double front_cycles(double pivots, double below) {
  double rows = pivots + below;
  double products = pivots * (below * (below + 1.0 + pivots) + pivots * pivots / 3.0) / 2.0;
  return 150.0 + 4.0 * rows + 0.7 * pivots * rows + 1.2 * below * below + 0.15 * products;
}

static void merge_fronts(builder *m) {
  for (int k = 0; k < m->e.fronts; k++) {
    front *f = &m->e.front[k];
    m->draft[k] = (draft){.child = -1, .sibling = -1};
    if (f->parent < 0) continue;
    front *p = &m->e.front[f->parent];
    double apart = front_cycles(f->pivots, f->below) + front_cycles(p->pivots, p->below);
    if (front_cycles(f->pivots + p->pivots, p->below) > apart) continue;
    m->draft[k].merged = 1;
    m->e.next[f->last] = p->first;
    p->first = f->first;
    p->pivots += f->pivots;
  }
}

/* Returns the last root; roots are siblings. */
static int link_children(builder *m) {
  int root = -1;
  for (int k = m->e.fronts - 1; k >= 0; k--) {
    front *f = &m->e.front[k];
    if (f->parent >= 0 && m->draft[f->parent].merged) f->parent = m->e.front[f->parent].parent;
    if (m->draft[k].merged) continue;
    int *head = f->parent < 0 ? &root : &m->draft[f->parent].child;
    m->draft[k].sibling = *head;
    *head = k;
  }
  return root;
}

/* --- numbers --- */

/* Front k, its clusters and rows get the next numbers. */
static void place_front(cholesky *c, builder *m, int k) {
  const front *f = &m->e.front[k];
  int place = c->cluster_first[c->clusters], first = c->clusters;
  for (int a = f->first; a >= 0; a = m->e.next[a]) {
    m->old_to_new[a] = c->clusters;
    for (int i = m->graph->row_begin[a]; i < m->graph->row_begin[a + 1]; i++)
      c->row_at[place++] = m->graph->row[i];
    c->cluster_first[++c->clusters] = place;
  }
  m->number[k] = c->supernodes;
  c->full[c->supernodes++] = (supernode){.first = c->cluster_first[first],
                                         .pivots = f->pivots,
                                         .below = f->below,
                                         .parent = k,
                                         .cluster = first,
                                         .clusters = c->clusters - first};
}

/* Children first.  m->list holds the way from a root. */
static void place_fronts(cholesky *c, builder *m, int root) {
  c->clusters = 0, c->supernodes = 0;
  c->cluster_first[0] = 0;
  for (; root >= 0; root = m->draft[root].sibling) {
    int depth = 0;
    m->list[depth++] = root;
    while (depth) {
      draft *d = &m->draft[m->list[depth - 1]];
      if (d->child >= 0) {
        m->list[depth++] = d->child;
        d->child = m->draft[d->child].sibling;
      } else {
        place_front(c, m, m->list[--depth]);
      }
    }
  }
}

/* Ascending lists without sorting: visit the clusters in order, and each appends itself to its
 * neighbours' lists. */
static void link_neighbours(cholesky *c, const builder *m) {
  const cluster_graph *graph = m->graph;
  int *begin = c->neighbour_begin, *new_to_old = m->list, total = 0;
  for (int a = 0; a < c->clusters; a++) new_to_old[m->old_to_new[a]] = a;
  for (int a = 0; a < c->clusters; a++) {
    int old = new_to_old[a];
    begin[a] = total;
    total += graph->begin[old + 1] - graph->begin[old];
  }
  for (int a = 0; a < c->clusters; a++) {
    int old = new_to_old[a];
    for (int k = graph->begin[old]; k < graph->begin[old + 1]; k++)
      c->neighbour[begin[m->old_to_new[graph->neighbour[k]]]++] = a;
  }
  for (int a = c->clusters; a > 0; a--) begin[a] = begin[a - 1];
  begin[0] = 0;
}

/* Rows below, ascending, in the same way: each cluster appends its rows to the supernodes that have
 * it below.  Until then `parent` of a supernode is the front that it was made from. */
static lcplug_error list_below(cholesky *c, builder *m) {
  int total = 0, rows = 0, *begin = TAKE(m->workspace, int, c->clusters + 2);
  if (!begin) return LCPLUG_ERROR_MEMORY;
  memset(begin, 0, (size_t)(c->clusters + 2) * sizeof *begin);
  for (int s = 0; s < c->supernodes; s++) {
    const front *f = &m->e.front[c->full[s].parent];
    for (int k = 0; k < f->clusters; k++) begin[m->old_to_new[f->cluster[k]] + 2]++;
    total += f->clusters;
    rows += f->below;
  }
  for (int a = 1; a <= c->clusters; a++) begin[a + 1] += begin[a];
  int *user = TAKE(m->workspace, int, total), *storage = TAKE(m->workspace, int, rows);
  if (!user || !storage) return LCPLUG_ERROR_MEMORY;
  for (int s = 0; s < c->supernodes; s++) {
    const front *f = &m->e.front[c->full[s].parent];
    for (int k = 0; k < f->clusters; k++) user[begin[m->old_to_new[f->cluster[k]] + 1]++] = s;
    c->full[s].rows = storage;
    c->full[s].below = 0;
    c->full[s].parent = f->parent < 0 ? -1 : m->number[f->parent];
    storage += f->below;
  }
  for (int a = 0; a < c->clusters; a++)
    for (int k = begin[a]; k < begin[a + 1]; k++) {
      supernode *s = &c->full[user[k]];
      for (int p = c->cluster_first[a]; p < c->cluster_first[a + 1]; p++) s->rows[s->below++] = p;
    }
  return LCPLUG_OK;
}

/* --- memory --- */

/* Where A's elements are kept: the places of each cluster's columns, and the block of every pair.
 * A pair is met first from its earlier cluster; in the list of the later one it is then the
 * next. */
static void place_blocks(cholesky *c, int *next) {
  int count = 0;
  size_t values = 0;
  for (int a = 0; a < c->clusters; a++) next[a] = c->neighbour_begin[a];
  for (int a = 0; a < c->clusters; a++) {
    int rows = c->cluster_first[a + 1] - c->cluster_first[a];
    c->place_begin[a] = count;
    c->value_begin[a] = values;
    for (int p = c->cluster_first[a]; p < c->cluster_first[a + 1]; p++) c->place[count++] = p;
    for (int e = next[a]; e < c->neighbour_begin[a + 1]; e++) {
      int b = c->neighbour[e];
      c->block[e] = c->block[next[b]++] = values + (size_t)(count - c->place_begin[a]);
      for (int p = c->cluster_first[b]; p < c->cluster_first[b + 1]; p++) c->place[count++] = p;
    }
    values += (size_t)(count - c->place_begin[a]) * (size_t)rows;
  }
  c->place_begin[c->clusters] = count;
  c->value_begin[c->clusters] = values;
}

static lcplug_error take_values(cholesky *c, lcplug_workspace *workspace) {
  size_t places = (size_t)c->n, values = 0;
  int *next = TAKE(workspace, int, c->clusters);
  for (int a = 0; a < c->clusters; a++)
    for (int e = c->neighbour_begin[a]; e < c->neighbour_begin[a + 1]; e++) {
      int b = c->neighbour[e];
      if (b > a) places += (size_t)(c->cluster_first[b + 1] - c->cluster_first[b]);
    }
  c->place = TAKE(workspace, int, places);
  if (!next || !c->place) return LCPLUG_ERROR_MEMORY;
  place_blocks(c, next);
  values = c->value_begin[c->clusters];
  c->value = TAKE(workspace, double, values);
  return c->value ? LCPLUG_OK : LCPLUG_ERROR_MEMORY;
}

/* The largest sum of updates alive at once, in doubles.  A subset never needs more: an update that
 * is passed on past a supernode without pivots has no more rows than that supernode's own would
 * have. */
static size_t largest_stack(const cholesky *c, size_t *alive) {
  size_t now = 0, most = 0;
  memset(alive, 0, (size_t)c->supernodes * sizeof *alive);
  for (int s = 0; s < c->supernodes; s++) {
    const supernode *f = &c->full[s];
    size_t own = (size_t)f->below * (size_t)lcplug_panel_pad(f->below);
    now += own;
    if (now > most) most = now;
    now -= alive[s];
    if (f->parent >= 0) alive[f->parent] += own;
  }
  return most;
}

/* Everything that is one number per row or per supernode. */
static int take_vectors(cholesky *c, lcplug_workspace *workspace) {
  int n = c->n;
  c->kept_before = TAKE(workspace, int, n + 1);
  c->inverse = TAKE(workspace, double, n);
  c->floor = TAKE(workspace, double, n);
  c->local = TAKE(workspace, int, n + 1);
  c->target = TAKE(workspace, size_t, n);
  c->stride = TAKE(workspace, int, n);
  c->now = TAKE(workspace, supernode, c->supernodes);
  c->waiting = TAKE(workspace, int, c->supernodes);
  c->side = TAKE(workspace, unsigned char, c->supernodes);
  c->pending = TAKE(workspace, update, c->supernodes);
  return c->kept_before && c->inverse && c->floor && c->local && c->target && c->stride && c->now &&
         c->waiting && c->side && c->pending;
}

static lcplug_error take_memory(cholesky *c, lcplug_workspace *workspace) {
  size_t panels = 0, rows = 0;
  int tallest = 0;
  for (int s = 0; s < c->supernodes; s++) {
    supernode *f = &c->full[s];
    rows += (size_t)f->below;
    int ld = lcplug_panel_ld(f->pivots, f->below);
    f->panel = panels;
    panels += (size_t)ld * (size_t)f->pivots;
    c->all_flops += lcplug_front_flops(f->pivots, f->below);
    if (ld > tallest) tallest = ld;
  }
  size_t *alive = TAKE(workspace, size_t, c->supernodes);
  if (!alive) return LCPLUG_ERROR_MEMORY;
  c->panels = panels;
  c->stack_size = largest_stack(c, alive);
  c->assembled = TAKE(workspace, double, panels);
  c->factor = TAKE(workspace, double, panels);
  c->now_rows = TAKE(workspace, int, rows);
  c->now_at = TAKE(workspace, int, rows);
  c->stack[0] = TAKE(workspace, double, c->stack_size);
  c->stack[1] = TAKE(workspace, double, c->stack_size);
  c->position = TAKE(workspace, int, tallest);
  c->source = TAKE(workspace, int, tallest);
  c->run = TAKE(workspace, panel_run, tallest);
  c->column = TAKE(workspace, double, tallest);
  if (!take_vectors(c, workspace) || !c->assembled || !c->factor || !c->now_rows || !c->now_at ||
      !c->stack[0] || !c->stack[1] || !c->position || !c->source || !c->run || !c->column)
    return LCPLUG_ERROR_MEMORY;
  memset(c->local, 0, (size_t)(c->n + 1) * sizeof *c->local);
  return LCPLUG_OK;
}

/* --- the two ways --- */

static int take_structure(cholesky *c, int clusters, int edges, lcplug_workspace *workspace) {
  c->cluster_first = TAKE(workspace, int, clusters + 1);
  c->row_at = TAKE(workspace, int, c->n);
  c->neighbour_begin = TAKE(workspace, int, clusters + 1);
  c->neighbour = TAKE(workspace, int, edges);
  c->block = TAKE(workspace, size_t, edges);
  c->place_begin = TAKE(workspace, int, clusters + 1);
  c->value_begin = TAKE(workspace, size_t, clusters + 1);
  c->full = TAKE(workspace, supernode, clusters);
  return c->cluster_first && c->row_at && c->neighbour_begin && c->neighbour && c->block &&
         c->place_begin && c->value_begin && c->full;
}

/* One cluster, one supernode, nothing to order. */
static lcplug_error analyze_dense(cholesky *c, lcplug_workspace *workspace) {
  if (!take_structure(c, 1, 0, workspace)) return LCPLUG_ERROR_MEMORY;
  c->clusters = c->supernodes = 1;
  c->cluster_first[0] = 0, c->cluster_first[1] = c->n;
  c->neighbour_begin[0] = c->neighbour_begin[1] = 0;
  c->full[0] = (supernode){.pivots = c->n, .parent = -1, .clusters = 1};
  for (int i = 0; i < c->n; i++) c->row_at[i] = i;
  return LCPLUG_OK;
}

static lcplug_error analyze_sparse(cholesky *c, const lower_triangle *a, int groups,
                                   const int *group_first, lcplug_workspace *workspace) {
  cluster_graph graph;
  builder m = {.graph = &graph, .workspace = workspace};
  lcplug_error error = lcplug_cluster_graph(&graph, a, groups, group_first, workspace);
  if (!error) error = lcplug_ordering(&m.e, &graph, workspace);
  if (error) return error;
  m.draft = TAKE(workspace, draft, m.e.fronts);
  m.number = TAKE(workspace, int, m.e.fronts);
  m.old_to_new = TAKE(workspace, int, graph.clusters);
  m.list = TAKE(workspace, int, graph.clusters);
  if (!m.draft || !m.number || !m.old_to_new || !m.list ||
      !take_structure(c, graph.clusters, graph.begin[graph.clusters], workspace))
    return LCPLUG_ERROR_MEMORY;
  merge_fronts(&m);
  place_fronts(c, &m, link_children(&m));
  link_neighbours(c, &m);
  return list_below(c, &m);
}

lcplug_error lcplug_cholesky_analyze(cholesky *c, const lower_triangle *a, int groups,
                                     const int *group_first, lcplug_workspace *workspace) {
  int n = a->n;
  *c = (cholesky){.n = n, .kernels = lcplug_kernels_best(), .tiny = 1e-14};
  if (!n) return LCPLUG_OK;
  int dense = n <= SMALLEST_SPARSE ||
              (double)a->begin[n] > DENSEST_SPARSE * 0.5 * (double)n * ((double)n + 1.0);
  lcplug_error error =
      dense ? analyze_dense(c, workspace) : analyze_sparse(c, a, groups, group_first, workspace);
  if (!error) error = take_values(c, workspace);
  if (!error) error = take_memory(c, workspace);
  if (!error) lcplug_cholesky_load(c, a);
  return error;
}

/* --- values --- */

/* Where the elements (i, j) of A go, i in cluster a and j in cluster b: for the first row i of a to
 * target[j], and for each later one stride[j] further.  What is eliminated first is the column. */
static void aim(cholesky *c, int a, int b, size_t at) {
  int first = a < b ? a : b, step = c->place_begin[first + 1] - c->place_begin[first];
  for (int p = c->cluster_first[b]; p < c->cluster_first[b + 1]; p++) {
    int j = c->row_at[p];
    c->target[j] = at;
    c->stride[j] = a < b ? step : 1;
    at += a < b ? 1 : (size_t)step;
  }
}

void lcplug_cholesky_load(cholesky *c, const lower_triangle *a) {
  if (!c->n) return;
  memset(c->value, 0, c->value_begin[c->clusters] * sizeof *c->value);
  for (int k = 0; k < c->clusters; k++) {
    aim(c, k, k, c->value_begin[k]);
    for (int e = c->neighbour_begin[k]; e < c->neighbour_begin[k + 1]; e++)
      aim(c, k, c->neighbour[e], c->block[e]);
    for (int p = c->cluster_first[k]; p < c->cluster_first[k + 1]; p++) {
      size_t i = (size_t)c->row_at[p], step = (size_t)(p - c->cluster_first[k]);
      for (size_t e = a->begin[i]; e < a->begin[i + 1]; e++) {
        int j = a->column[e];
        c->value[c->target[j] + step * (size_t)c->stride[j]] = a->value[e];
      }
    }
  }
}
