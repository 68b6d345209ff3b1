/* cholesky_symbolic.c - the structure of the factor, and A's place in it.
 *
 *     clusters of rows -> order -> supernodes -> merge where it pays -> numbers, rows, memory
 *
 * A supernode's rows below are the neighbours of its pivots and the rows below of its children, as far
 * as they come later.  A merged supernode stores zeros for fewer, larger dense operations; a model of
 * the time that both ways take decides.  One set of rows below per supernode is all that is ever
 * stored, so the analysis is linear in the size of that. */
#include <string.h>

#include "cholesky.h"
#include "cholesky_graph.h"

/* Up to this many rows, and above this density, everything is one dense supernode. */
enum { SMALLEST_SPARSE = 20 };
static const double DENSEST_SPARSE = 0.7;

/* A supernode in the making.  Clusters are known by their number in the graph, or by their rank in the
 * order that came from AMD. */
typedef struct draft {
  int *below, count;     /* ranks of the clusters below, in any order */
  int pivots, rows;      /* rows of A: of the pivots; of the whole front */
  int first, last;       /* clusters that are pivots: a list through builder.next */
  int parent;            /* -1: none */
  int merged;            /* into its parent */
  int child, sibling;    /* of those that were not merged */
} draft;

typedef struct builder {
  const cluster_graph *graph;
  lcplug_workspace *workspace;
  int *order, *rank;     /* rank -> cluster, cluster -> rank */
  int *next;             /* cluster -> next pivot of its supernode */
  int drafts;
  draft *draft;
  int *draft_of;         /* rank -> draft */
  int *hung, *hung_next; /* rank -> drafts whose parent starts there; draft -> next such */
  int *mark, *list;
} builder;

static int cluster_rows(const cluster_graph *graph, int cluster) {
  return graph->row_begin[cluster + 1] - graph->row_begin[cluster];
}

/* --- supernodes --- */

/* What is below rank j: list, and its length. */
static int collect_below(builder *m, int j) {
  const cluster_graph *graph = m->graph;
  int count = 0, cluster = m->order[j];
  for (int k = graph->begin[cluster]; k < graph->begin[cluster + 1]; k++) {
    int r = m->rank[graph->neighbour[k]];
    if (r <= j) continue;
    m->mark[r] = j;
    m->list[count++] = r;
  }
  for (int s = m->hung[j]; s >= 0; s = m->hung_next[s])
    for (int k = 0; k < m->draft[s].count; k++) {
      int r = m->draft[s].below[k];
      if (r <= j || m->mark[r] == j) continue;
      m->mark[r] = j;
      m->list[count++] = r;
    }
  return count;
}

static lcplug_error add_draft(builder *m, int j, int count) {
  draft *d = &m->draft[m->drafts];
  int cluster = m->order[j];
  *d = (draft){.below = TAKE(m->workspace, int, count), .first = cluster, .last = cluster, .parent = -1,
               .child = -1, .sibling = -1};
  if (!d->below) return LCPLUG_ERROR_MEMORY;
  m->next[cluster] = -1;
  m->draft_of[j] = m->drafts++;
  return LCPLUG_OK;
}

/* j joins its only child if that leaves nothing below but what is below j. */
static int join_child(builder *m, int j, int count) {
  int s = m->hung[j];
  if (s < 0 || m->hung_next[s] >= 0 || m->draft[s].count != count + 1) return 0;
  draft *d = &m->draft[s];
  m->next[d->last] = m->order[j];
  d->last = m->order[j];
  m->next[d->last] = -1;
  m->draft_of[j] = s;
  return 1;
}

static lcplug_error find_supernodes(builder *m) {
  for (int j = 0; j < m->graph->clusters; j++) {
    int count = collect_below(m, j), parent = -1;
    if (!join_child(m, j, count) && add_draft(m, j, count)) return LCPLUG_ERROR_MEMORY;
    int s = m->draft_of[j], rows = cluster_rows(m->graph, m->order[j]);
    draft *d = &m->draft[s];
    d->pivots += rows;
    d->rows = d->pivots;
    d->count = count;
    for (int k = 0; k < count; k++) {
      int r = m->list[k];
      d->below[k] = r;
      d->rows += cluster_rows(m->graph, m->order[r]);
      if (parent < 0 || r < parent) parent = r;
    }
    d->parent = parent;
    if (parent < 0) continue;
    m->hung_next[s] = m->hung[parent];
    m->hung[parent] = s;
  }
  for (int s = 0; s < m->drafts; s++)
    if (m->draft[s].parent >= 0) m->draft[s].parent = m->draft_of[m->draft[s].parent];
  return LCPLUG_OK;
}

/* --- merging --- */

/* Processor cycles for a front, fitted to measurements: one for the front itself, one for each row and
 * for each element that is copied or added, and the arithmetic. */
static double front_cycles(double pivots, double rows) {
  double below = rows - pivots;
  double products = pivots * (below * (below + 1.0 + pivots) + pivots * pivots / 3.0) / 2.0;
  return 150.0 + 4.0 * rows + 0.7 * pivots * rows + 0.75 * below * below + 0.2 * products;
}

static void merge_supernodes(builder *m) {
  for (int s = 0; s < m->drafts; s++) {
    draft *d = &m->draft[s];
    if (d->parent < 0) continue;
    draft *p = &m->draft[d->parent];
    double apart = front_cycles(d->pivots, d->rows) + front_cycles(p->pivots, p->rows);
    if (front_cycles(d->pivots + p->pivots, d->pivots + p->rows) > apart) continue;
    d->merged = 1;
    m->next[d->last] = p->first;
    p->first = d->first;
    p->pivots += d->pivots;
    p->rows += d->pivots;
  }
}

/* Children come before their parents, also among the drafts. */
static void link_children(builder *m, int *root) {
  *root = -1;
  for (int s = m->drafts - 1; s >= 0; s--) {
    draft *d = &m->draft[s];
    if (d->parent >= 0 && m->draft[d->parent].merged) d->parent = m->draft[d->parent].parent;
    if (d->merged) continue;
    int *head = d->parent < 0 ? root : &m->draft[d->parent].child;
    d->sibling = *head;
    *head = s;
  }
}

/* --- numbers --- */

/* Numbers supernode s, its clusters and rows as the next ones; old_to_new maps clusters. */
static void place_supernode(cholesky *c, builder *m, int s, int *old_to_new, int *number) {
  supernode *f = &c->full[c->supernodes];
  int place = c->cluster_first[c->clusters];
  *f = (supernode){.first = place, .pivots = m->draft[s].pivots,
                   .below = m->draft[s].rows - m->draft[s].pivots, .parent = -1};
  for (int a = m->draft[s].first; a >= 0; a = m->next[a]) {
    old_to_new[a] = c->clusters;
    c->owner[c->clusters] = c->supernodes;
    for (int k = m->graph->row_begin[a]; k < m->graph->row_begin[a + 1]; k++)
      c->row_at[place++] = m->graph->row[k];
    c->cluster_first[++c->clusters] = place;
  }
  number[c->supernodes++] = s;
}

/* Children first.  `stack` holds the way from a root; number: supernode -> draft. */
static void place_supernodes(cholesky *c, builder *m, int root, int *stack, int *old_to_new,
                             int *number) {
  c->clusters = 0, c->supernodes = 0;
  c->cluster_first[0] = 0;
  for (; root >= 0; root = m->draft[root].sibling) {
    int depth = 0;
    stack[depth++] = root;
    while (depth) {
      draft *d = &m->draft[stack[depth - 1]];
      if (d->child >= 0) {
        stack[depth++] = d->child;
        d->child = m->draft[d->child].sibling;
      } else {
        place_supernode(c, m, stack[--depth], old_to_new, number);
      }
    }
  }
}

static void link_neighbours(cholesky *c, const builder *m, const int *old_to_new) {
  const cluster_graph *graph = m->graph;
  int *count = c->neighbour_begin, total = 0;
  for (int a = 0; a < graph->clusters; a++) count[old_to_new[a]] = graph->begin[a + 1] - graph->begin[a];
  for (int a = 0; a < c->clusters; a++) {
    int degree = count[a];
    count[a] = total;
    total += degree;
  }
  count[c->clusters] = total;
  for (int a = 0; a < graph->clusters; a++) {
    int *out = c->neighbour + count[old_to_new[a]];
    for (int k = graph->begin[a]; k < graph->begin[a + 1]; k++)
      *out++ = old_to_new[graph->neighbour[k]];
  }
}

/* Rows below, ascending, without sorting: visit the clusters in order, and each appends itself to the
 * supernodes that have it below. */
static lcplug_error list_below(cholesky *c, builder *m, const int *old_to_new, const int *number) {
  int total = 0, *begin = TAKE(m->workspace, int, c->clusters + 2), *user, rows = 0;
  if (!begin) return LCPLUG_ERROR_MEMORY;
  memset(begin, 0, (size_t)(c->clusters + 2) * sizeof *begin);
  for (int s = 0; s < c->supernodes; s++) {
    const draft *d = &m->draft[number[s]];
    for (int k = 0; k < d->count; k++) begin[old_to_new[m->order[d->below[k]]] + 2]++;
    total += d->count;
    rows += c->full[s].below;
  }
  for (int a = 1; a <= c->clusters; a++) begin[a + 1] += begin[a];
  user = TAKE(m->workspace, int, total);
  int *storage = TAKE(m->workspace, int, rows);
  c->now_rows = TAKE(m->workspace, int, rows);
  if (!user || !storage || !c->now_rows) return LCPLUG_ERROR_MEMORY;
  for (int s = 0; s < c->supernodes; s++) {
    const draft *d = &m->draft[number[s]];
    for (int k = 0; k < d->count; k++) user[begin[old_to_new[m->order[d->below[k]]] + 1]++] = s;
    c->full[s].rows = storage;
    storage += c->full[s].below;
    c->full[s].below = 0;
  }
  for (int a = 0; a < c->clusters; a++)
    for (int k = begin[a]; k < begin[a + 1]; k++) {
      supernode *f = &c->full[user[k]];
      if (!f->below) f->parent = c->owner[a];
      for (int p = c->cluster_first[a]; p < c->cluster_first[a + 1]; p++) f->rows[f->below++] = p;
    }
  return LCPLUG_OK;
}

/* --- memory --- */

/* The largest sum of updates alive at once, in doubles.  A subset never needs more: an update that is
 * passed on past a supernode without pivots has no more rows than that supernode's own would have. */
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
  c->kept_row = TAKE(workspace, int, n);
  c->kept_before = TAKE(workspace, int, n + 1);
  c->inverse = TAKE(workspace, double, n);
  c->added = TAKE(workspace, double, n);
  c->floor = TAKE(workspace, double, n);
  c->local = TAKE(workspace, int, n);
  c->vector = TAKE(workspace, double, n);
  c->target = TAKE(workspace, size_t, n);
  c->stride = TAKE(workspace, int, n);
  c->now = TAKE(workspace, supernode, c->supernodes);
  c->waiting = TAKE(workspace, int, c->supernodes);
  c->side = TAKE(workspace, unsigned char, c->supernodes);
  c->pending = TAKE(workspace, update, c->supernodes);
  return c->kept_row && c->kept_before && c->inverse && c->added && c->floor && c->local &&
         c->vector && c->target && c->stride && c->now && c->waiting && c->side && c->pending;
}

static lcplug_error take_memory(cholesky *c, lcplug_workspace *workspace) {
  size_t panels = 0;
  int tallest = 0;
  for (int s = 0; s < c->supernodes; s++) {
    supernode *f = &c->full[s];
    int ld = lcplug_panel_ld(f->pivots, f->below);
    f->panel = panels;
    panels += (size_t)ld * (size_t)f->pivots;
    if (ld > tallest) tallest = ld;
  }
  size_t *alive = TAKE(workspace, size_t, c->supernodes);
  if (!alive) return LCPLUG_ERROR_MEMORY;
  size_t most = largest_stack(c, alive);
  c->image = TAKE(workspace, double, panels);
  c->factor = TAKE(workspace, double, panels);
  c->stack[0] = TAKE(workspace, double, most);
  c->stack[1] = TAKE(workspace, double, most);
  c->position = TAKE(workspace, int, tallest);
  c->column = TAKE(workspace, double, tallest);
  if (!take_vectors(c, workspace) || !c->image || !c->factor || !c->stack[0] || !c->stack[1] ||
      !c->position || !c->column)
    return LCPLUG_ERROR_MEMORY;
  return LCPLUG_OK;
}

/* --- the two ways --- */

static int take_structure(cholesky *c, int clusters, int edges, lcplug_workspace *workspace) {
  c->cluster_first = TAKE(workspace, int, clusters + 1);
  c->row_at = TAKE(workspace, int, c->n);
  c->neighbour_begin = TAKE(workspace, int, clusters + 1);
  c->neighbour = TAKE(workspace, int, edges);
  c->owner = TAKE(workspace, int, clusters);
  c->full = TAKE(workspace, supernode, clusters);
  return c->cluster_first && c->row_at && c->neighbour_begin && c->neighbour && c->owner && c->full;
}

/* One cluster, one supernode, nothing to order. */
static lcplug_error analyze_dense(cholesky *c, lcplug_workspace *workspace) {
  if (!take_structure(c, 1, 0, workspace)) return LCPLUG_ERROR_MEMORY;
  c->now_rows = NULL;
  c->clusters = c->supernodes = 1;
  c->cluster_first[0] = 0, c->cluster_first[1] = c->n;
  c->neighbour_begin[0] = c->neighbour_begin[1] = 0;
  c->owner[0] = 0;
  c->full[0] = (supernode){.pivots = c->n, .parent = -1};
  for (int i = 0; i < c->n; i++) c->row_at[i] = i;
  return LCPLUG_OK;
}

static lcplug_error prepare_builder(builder *m, const cluster_graph *graph, lcplug_workspace *workspace) {
  int clusters = graph->clusters;
  *m = (builder){.graph = graph,
                 .workspace = workspace,
                 .order = TAKE(workspace, int, clusters),
                 .rank = TAKE(workspace, int, clusters),
                 .next = TAKE(workspace, int, clusters),
                 .draft = TAKE(workspace, draft, clusters),
                 .draft_of = TAKE(workspace, int, clusters),
                 .hung = TAKE(workspace, int, clusters),
                 .hung_next = TAKE(workspace, int, clusters),
                 .mark = TAKE(workspace, int, clusters),
                 .list = TAKE(workspace, int, clusters)};
  if (!m->order || !m->rank || !m->next || !m->draft || !m->draft_of || !m->hung || !m->hung_next ||
      !m->mark || !m->list)
    return LCPLUG_ERROR_MEMORY;
  lcplug_error error = lcplug_cluster_order(graph, m->order, workspace);
  if (error) return error;
  for (int j = 0; j < clusters; j++) m->rank[m->order[j]] = j, m->hung[j] = m->mark[j] = -1;
  return LCPLUG_OK;
}

static lcplug_error analyze_sparse(cholesky *c, const lower_triangle *a, int groups,
                                   const int *group_first, lcplug_workspace *workspace) {
  cluster_graph graph;
  builder m;
  int root;
  lcplug_error error = lcplug_cluster_graph(&graph, a, groups, group_first, workspace);
  if (error) return error;
  if (!take_structure(c, graph.clusters, graph.begin[graph.clusters], workspace))
    return LCPLUG_ERROR_MEMORY;
  if ((error = prepare_builder(&m, &graph, workspace))) return error;
  if ((error = find_supernodes(&m))) return error;
  merge_supernodes(&m);
  link_children(&m, &root);
  int *old_to_new = m.hung, *number = m.hung_next; /* no longer needed as what they were */
  place_supernodes(c, &m, root, m.list, old_to_new, number);
  link_neighbours(c, &m, old_to_new);
  return list_below(c, &m, old_to_new, number);
}

lcplug_error lcplug_cholesky_analyze(cholesky *c, const lower_triangle *a, int groups,
                                     const int *group_first, lcplug_workspace *workspace) {
  int n = a->n;
  *c = (cholesky){.n = n, .kernels = lcplug_kernels_best(), .tiny = 1e-14};
  if (!n) return LCPLUG_OK;
  int dense = n <= SMALLEST_SPARSE ||
              (double)a->begin[n] > DENSEST_SPARSE * 0.5 * (double)n * ((double)n + 1.0);
  lcplug_error error = dense ? analyze_dense(c, workspace)
                             : analyze_sparse(c, a, groups, group_first, workspace);
  if (!error) error = take_memory(c, workspace);
  if (!error) lcplug_cholesky_load(c, a);
  return error;
}

/* --- values --- */

/* Row of the panel of supernode s that holds a place that is not before its pivots. */
static int panel_row(const supernode *f, int place) {
  if (place < f->first + f->pivots) return place - f->first;
  int low = 0, high = f->below - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if (f->rows[middle] < place) low = middle + 1;
    else high = middle;
  }
  return lcplug_panel_pad(f->pivots) + low;
}

/* Where the elements (i, j) of A go, i in cluster a and j in cluster b: for the first row i of a to
 * target[j], and for each later one stride[j] further.  The one that is eliminated first is the column. */
static void aim(cholesky *c, int a, int b) {
  int upper = a < b ? a : b, lower = a < b ? b : a;
  const supernode *f = &c->full[c->owner[upper]];
  size_t ld = (size_t)lcplug_panel_ld(f->pivots, f->below);
  size_t at = f->panel + (size_t)panel_row(f, c->cluster_first[lower]) +
              (size_t)(c->cluster_first[upper] - f->first) * ld;
  for (int p = c->cluster_first[b]; p < c->cluster_first[b + 1]; p++) {
    int j = c->row_at[p];
    c->target[j] = at;
    c->stride[j] = a < b ? (int)ld : 1;
    at += a < b ? 1 : ld;
  }
}

void lcplug_cholesky_load(cholesky *c, const lower_triangle *a) {
  if (!c->n) return;
  const supernode *last = &c->full[c->supernodes - 1];
  size_t size = last->panel + (size_t)lcplug_panel_ld(last->pivots, last->below) * (size_t)last->pivots;
  memset(c->image, 0, size * sizeof *c->image);
  for (int k = 0; k < c->clusters; k++) {
    aim(c, k, k);
    for (int e = c->neighbour_begin[k]; e < c->neighbour_begin[k + 1]; e++) aim(c, k, c->neighbour[e]);
    for (int p = c->cluster_first[k]; p < c->cluster_first[k + 1]; p++) {
      size_t i = (size_t)c->row_at[p], step = (size_t)(p - c->cluster_first[k]);
      for (size_t e = a->begin[i]; e < a->begin[i + 1]; e++) {
        int j = a->column[e];
        c->image[c->target[j] + step * (size_t)c->stride[j]] = a->value[e];
      }
    }
  }
}
