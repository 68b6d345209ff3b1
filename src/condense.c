/* condense.c - finds what clusters have twice; see condense.h. */
#include "condense.h"

#include <math.h>
#include <string.h>

#include "four.h"

/* Clusters of so many rows are looked at; a rank is worth something if it saves so many rows. */
enum { FEWEST_ROWS = 7, LEAST_SAVING = 3 };
/* So many rows of a neighbour tell what a cluster can do to it: three contacts. */
enum { ENOUGH_ROWS = 9 };
/* Of all rows: so many have to be in such clusters beyond six each. */
static const double LARGE_PART = 0.125;
/* In multiplications and additions, for each row: what it takes to condense, and what each
 * factorization takes beside its arithmetic.  Of that no less than this part is left. */
static const double TO_CONDENSE = 4000.0, EACH_TIME = 3000.0, LEFT_AT_BEST = 0.15;
/* Of the factor: no more is in the squares of clusters, which are kept a few times. */
static const double MOST_SQUARES = 0.25;
/* In units of the diagonals: what of A is rounding error. */
static const double ROUNDING = 1e-13;

/* ---- ranks ----------------------------------------------------------------------------------- */

/* A cluster's rank is that of what it has to do with a few rows of one neighbour.  Whether all
 * others agree is seen from one product: y = A v, for a v that has nothing in common with A, and
 * without the clusters' own squares, must have y_K = T y_J.  (A T that is wrong all the same costs
 * time, but no digit of an answer: those are judged by A itself.) */
typedef struct finder {
  const cholesky *c;
  double *root; /* place -> 1 / sqrt(A_ii) */
  double *y;    /* place -> the product */
  /* Of each row of a cluster: what it has to do with the neighbour, in units of the diagonals; its
   * parts along the rows that came before it, `most` numbers to a row; and the square of what is
   * left of it. */
  double *line, *part, *left;
  int most; /* rows of the largest cluster */
} finder;

enum { LINE = 12 }; /* ENOUGH_ROWS, and zeros */

static int rows_of(const cholesky *c, int a) {
  return c->cluster_first[a + 1] - c->cluster_first[a];
}

static condensed_block block_of(const cholesky *c, int a, int b, size_t at) {
  int first = a < b ? a : b;
  size_t step = (size_t)(c->place_begin[first + 1] - c->place_begin[first]);
  return (condensed_block){c->value + at, a < b ? step : 1, a < b ? 1 : step};
}

static double own_element(const cholesky *c, int a, int i, int j) {
  size_t step = (size_t)(c->place_begin[a + 1] - c->place_begin[a]);
  size_t low = (size_t)(i < j ? i : j), high = (size_t)(i < j ? j : i);
  return c->value[c->value_begin[a] + low * step + high];
}

/* y = A v in units of the diagonals, v the same numbers for everybody at every time. */
static void multiply_others(const finder *f, double *v) {
  const cholesky *c = f->c;
  unsigned state = 1;
  for (int p = 0; p < c->n; p++) {
    state = 1664525u * state + 1013904223u;
    v[p] = (0.5 + (double)(state >> 8) / (1 << 24)) * f->root[p];
    f->y[p] = 0.0;
  }
  for (int a = 0; a < c->clusters; a++) {
    int own = rows_of(c, a), length = c->place_begin[a + 1] - c->place_begin[a];
    const int *place = c->place + c->place_begin[a];
    const double *column = c->value + c->value_begin[a];
    for (int p = c->cluster_first[a]; p < c->cluster_first[a + 1]; p++, column += length) {
      double sum = 0.0;
      for (int k = own; k < length; k++) {
        sum += column[k] * v[place[k]];
        f->y[place[k]] += column[k] * v[p];
      }
      f->y[p] += sum;
    }
  }
}

static int take_finder(finder *f, lcplug_workspace *workspace) {
  const cholesky *c = f->c;
  for (int a = 0; a < c->clusters; a++) f->most = rows_of(c, a) > f->most ? rows_of(c, a) : f->most;
  double *v = TAKE(workspace, double, c->n);
  f->root = TAKE(workspace, double, c->n);
  f->y = TAKE(workspace, double, c->n);
  f->line = TAKE(workspace, double, f->most * LINE);
  f->part = TAKE(workspace, double, f->most * f->most);
  f->left = TAKE(workspace, double, f->most);
  if (!v || !f->root || !f->y || !f->line || !f->part || !f->left) return 0;
  for (int a = 0; a < c->clusters; a++)
    for (int i = 0; i < rows_of(c, a); i++) {
      double d = own_element(c, a, i, i);
      f->root[c->cluster_first[a] + i] = d > 0.0 ? 1.0 / sqrt(d) : 0.0;
    }
  multiply_others(f, v);
  return 1;
}

static double product(const double *a, const double *b) {
  four sum = four_at(a) * four_at(b);
  for (int e = 4; e < LINE; e += 4) sum += four_at(a + e) * four_at(b + e);
  return four_sum(sum);
}

static void subtract(double *line, double part, const double *other) {
  for (int e = 0; e < LINE; e += 4)
    four_put(line + e, four_at(line + e) - four_of(part) * four_at(other + e));
}

static void load_lines(finder *f, const condensed_cluster *k, int a, int b, size_t at) {
  condensed_block from = block_of(f->c, a, b, at);
  const double *root = f->root + f->c->cluster_first[b];
  int columns = rows_of(f->c, b) < ENOUGH_ROWS ? rows_of(f->c, b) : ENOUGH_ROWS;
  for (int i = 0; i < k->rows; i++) {
    double *line = f->line + i * LINE, own = f->root[k->first + i];
    const double *element = from.value + (size_t)i * from.by_a;
    for (int e = 0; e < columns; e++, element += from.by_b) line[e] = own * *element * root[e];
    for (int e = columns; e < LINE; e++) line[e] = 0.0;
    f->left[i] = product(line, line);
  }
}

/* Gram's and Schmidt's way, the longest row first, until nothing is left; sets rank and slots. */
static void find_rank(finder *f, condensed_cluster *k) {
  for (int s = 0; s < k->rows; s++) k->slot[s] = s;
  for (k->rank = 0; k->rank < k->rows; k->rank++) {
    int best = k->rank;
    for (int s = best + 1; s < k->rows; s++)
      if (f->left[k->slot[s]] > f->left[k->slot[best]]) best = s;
    int row = k->slot[best];
    double square = f->left[row], *pivot = f->line + row * LINE;
    if (!(square > ROUNDING * ROUNDING)) return;
    k->slot[best] = k->slot[k->rank], k->slot[k->rank] = row;
    f->part[row * f->most + k->rank] = 1.0;
    for (int s = k->rank + 1; s < k->rows; s++) {
      double *line = f->line + k->slot[s] * LINE, part = product(line, pivot) / square;
      f->part[k->slot[s] * f->most + k->rank] = part;
      subtract(line, part, pivot);
      f->left[k->slot[s]] = product(line, line);
    }
  }
}

/* Parts are L of rows = L (orthogonal ones): T = L_K L_J^-1, back in the units of A. */
static void find_T(const finder *f, const condensed_cluster *k, double *T) {
  const double *root = f->root + k->first;
  for (int s = k->rank; s < k->rows; s++, T += k->rank) {
    memcpy(T, f->part + k->slot[s] * f->most, (size_t)k->rank * sizeof *T);
    for (int j = k->rank - 1; j >= 0; j--)
      for (int i = 0; i < j; i++) T[i] -= T[j] * f->part[k->slot[j] * f->most + i];
    for (int j = 0; j < k->rank; j++) T[j] *= root[k->slot[j]] / root[k->slot[s]];
  }
}

/* Whether y_K = T y_J, but for the rounding of a few dozen numbers. */
static int others_agree(const finder *f, const condensed_cluster *k) {
  const double *y = f->y + k->first, *T = k->T;
  for (int s = k->rank; s < k->rows; s++, T += k->rank) {
    double left = y[k->slot[s]], size = fabs(left);
    for (int j = 0; j < k->rank; j++) {
      left -= T[j] * y[k->slot[j]];
      size += fabs(T[j] * y[k->slot[j]]);
    }
    size += 1.0 / f->root[k->first + k->slot[s]];
    if (!(fabs(left) <= ROUNDING * size)) return 0;
  }
  return 1;
}

static int has_zeros(const finder *f, const condensed_cluster *k) {
  for (int i = 0; i < k->rows; i++)
    if (!(f->root[k->first + i] > 0.0)) return 1;
  return 0;
}

/* 1 if rows can be saved: slots, rank and T are set then. */
static int condense_cluster(finder *f, condensed_cluster *k, int a) {
  const cholesky *c = f->c;
  int from = c->neighbour_begin[a], to = c->neighbour_begin[a + 1], tells = from;
  if (k->rows < FEWEST_ROWS || from == to || has_zeros(f, k)) return 0;
  for (int e = from; e < to && rows_of(c, c->neighbour[tells]) < ENOUGH_ROWS; e++)
    if (rows_of(c, c->neighbour[e]) > rows_of(c, c->neighbour[tells])) tells = e;
  load_lines(f, k, a, c->neighbour[tells], c->block[tells]);
  find_rank(f, k);
  if (k->rows - k->rank < LEAST_SAVING || !k->rank) return 0;
  find_T(f, k, k->T);
  return others_agree(f, k);
}

static int take_cluster(condensed *q, condensed_cluster *k, int a, lcplug_workspace *workspace) {
  const cholesky *c = q->whole;
  int rows = rows_of(c, a);
  size_t square = (size_t)rows * (size_t)rows;
  *k = (condensed_cluster){.first = c->cluster_first[a], .rows = rows};
  k->slot = TAKE(workspace, int, 2 * rows);
  k->E = TAKE(workspace, double, 4 * square);
  if (!k->slot || !k->E) return 0;
  k->first_slot = k->slot + rows;
  k->A = k->E + square, k->T = k->A + square, k->first_T = k->T + square;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < rows; j++) k->A[i * rows + j] = own_element(c, a, i, j);
    q->cluster_of[c->row_at[k->first + i]] = a;
    q->row_in[c->row_at[k->first + i]] = i;
  }
  return 1;
}

static lcplug_error find_ranks(condensed *q, lcplug_workspace *workspace) {
  finder f = {.c = q->whole};
  if (!take_finder(&f, workspace)) return LCPLUG_ERROR_MEMORY;
  for (int a = 0; a < q->clusters; a++) {
    condensed_cluster *k = &q->cluster[a];
    if (!take_cluster(q, k, a, workspace)) return LCPLUG_ERROR_MEMORY;
    if (!condense_cluster(&f, k, a)) {
      k->rank = k->rows;
      for (int s = 0; s < k->rows; s++) k->slot[s] = s;
    }
    memcpy(k->first_slot, k->slot, (size_t)k->rows * sizeof *k->slot);
    memcpy(k->first_T, k->T, (size_t)((k->rows - k->rank) * k->rank) * sizeof *k->T);
  }
  return LCPLUG_OK;
}

/* ---- the analysis ---------------------------------------------------------------------------- */

/* The columns of the first row of cluster a that are of others: one for each earlier neighbour. */
static size_t list_neighbours(const cholesky *c, int a, int *column) {
  size_t count = 0;
  for (int e = c->neighbour_begin[a]; e < c->neighbour_begin[a + 1] && c->neighbour[e] < a; e++)
    column[count++] = c->cluster_first[c->neighbour[e]];
  return count;
}

/* The pattern of V' A V: a group for J and one for K of every cluster.  One element stands for the
 * block of two groups, which is all that the analysis looks at. */
static lcplug_error analyze(condensed *q, int *count, lcplug_workspace *workspace) {
  const cholesky *c = q->whole;
  size_t at = 0, elements = (size_t)c->n + (size_t)c->clusters;
  elements += (size_t)c->neighbour_begin[c->clusters];
  lower_triangle pattern = {.n = c->n,
                            .begin = TAKE(workspace, size_t, c->n + 1),
                            .column = TAKE(workspace, int, elements),
                            .value = TAKE(workspace, double, elements)};
  int *group_first = TAKE(workspace, int, 2 * q->clusters + 1), groups = 0;
  if (!pattern.begin || !pattern.column || !pattern.value || !group_first)
    return LCPLUG_ERROR_MEMORY;
  memset(pattern.value, 0, elements * sizeof *pattern.value);
  for (int a = 0; a < q->clusters; a++) {
    const condensed_cluster *k = &q->cluster[a];
    group_first[groups++] = k->first;
    if (k->rank < k->rows) group_first[groups++] = k->first + k->rank;
    for (int s = 0; s < k->rows; s++) {
      pattern.begin[k->first + s] = at;
      if (!s) at += list_neighbours(c, a, pattern.column + at);
      if (s == k->rank) pattern.column[at++] = k->first;
      pattern.column[at++] = k->first + s;
    }
  }
  pattern.begin[c->n] = at;
  group_first[groups] = c->n;
  *count = groups;
  return lcplug_cholesky_analyze(&q->factor, &pattern, groups, group_first, workspace);
}

/* Where row `row` of a supernode's front is: among its pivots or below. */
static int row_of_front(const supernode *s, int row) {
  if (row < s->first + s->pivots) return row - s->first;
  int low = 0, high = s->below;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (s->rows[middle] <= row) low = middle;
    else high = middle;
  }
  return lcplug_panel_pad(s->pivots) + low;
}

/* Element (row, column) of the lower triangle in the panels, and how long a column is. */
static size_t element_at(const cholesky *c, int row, int column, int *ld) {
  const supernode *s = &c->now[lcplug_cholesky_supernode(c, column)];
  *ld = lcplug_panel_ld(s->pivots, s->below);
  return s->panel + (size_t)(column - s->first) * (size_t)*ld + (size_t)row_of_front(s, row);
}

static void locate_cluster(condensed *q, condensed_cluster *k, const int *place) {
  const cholesky *c = &q->factor;
  k->u = place[k->first];
  k->at_u = element_at(c, k->u, k->u, &k->step_u);
  if (k->rank == k->rows) return;
  k->K = place[k->first + k->rank];
  k->at_K = element_at(c, k->K, k->K, &k->step_K);
  int earlier = k->u < k->K ? k->u : k->K, later = k->u < k->K ? k->K : k->u;
  k->at_shared = element_at(c, later, earlier, &k->step_shared);
}

/* The block of two clusters of the whole factor. */
static void locate_pair(const cholesky *c, condensed_pair *p) {
  int first = p->earlier < p->later ? p->earlier : p->later;
  int second = p->earlier < p->later ? p->later : p->earlier;
  int low = c->neighbour_begin[first], high = c->neighbour_begin[first + 1];
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (c->neighbour[middle] <= second) low = middle;
    else high = middle;
  }
  p->from = block_of(c, p->earlier, p->later, c->block[low]);
}

static lcplug_error locate(condensed *q, lcplug_workspace *workspace) {
  const cholesky *c = &q->factor, *whole = q->whole;
  int *place = TAKE(workspace, int, c->n), largest = 0;
  q->pair = TAKE(workspace, condensed_pair, whole->neighbour_begin[whole->clusters]);
  if (!place || !q->pair) return LCPLUG_ERROR_MEMORY;
  for (int p = 0; p < c->n; p++) place[c->row_at[p]] = p;
  for (int a = 0; a < q->clusters; a++) {
    locate_cluster(q, &q->cluster[a], place);
    largest = q->cluster[a].rows > largest ? q->cluster[a].rows : largest;
  }
  for (int a = 0; a < c->clusters; a++) {
    int own = q->cluster_of[whole->row_at[c->row_at[c->cluster_first[a]]]];
    for (int e = c->neighbour_begin[a]; e < c->neighbour_begin[a + 1]; e++) {
      int b = c->neighbour[e], other = q->cluster_of[whole->row_at[c->row_at[c->cluster_first[b]]]];
      if (b < a || other == own) continue;
      condensed_pair *p = &q->pair[q->pairs++];
      *p = (condensed_pair){.earlier = own, .later = other, .to = c->block[e]};
      p->step = (size_t)(c->place_begin[a + 1] - c->place_begin[a]);
      locate_pair(whole, p);
    }
  }
  largest += 2 * PANEL_PAD;
  q->square = TAKE(workspace, double, 2 * largest * largest);
  q->vector = TAKE(workspace, double, largest);
  q->slots = TAKE(workspace, int, largest);
  return q->square && q->vector && q->slots ? LCPLUG_OK : LCPLUG_ERROR_MEMORY;
}

static int may_be_worth_it(const cholesky *c, double factorizations) {
  int beyond = 0;
  double squares = 0.0, most = (1.0 - LEFT_AT_BEST) * c->all_flops - EACH_TIME * c->n;
  for (int a = 0; a < c->clusters; a++) {
    int rows = rows_of(c, a);
    if (rows >= FEWEST_ROWS) beyond += rows - FEWEST_ROWS + 1;
    squares += (double)rows * rows;
  }
  if (isinf(factorizations)) return 1;
  return beyond >= LARGE_PART * c->n && squares < MOST_SQUARES * (double)c->panels &&
         factorizations * most > TO_CONDENSE * c->n;
}

int lcplug_condensed_pays(const condensed *q, double flops) {
  return q->forced || flops - q->factor.all_flops > EACH_TIME * q->factor.n;
}

lcplug_error lcplug_condense(condensed *q, const cholesky *whole, double factorizations,
                             int *worth_it, lcplug_workspace *workspace) {
  int groups = 0;
  *worth_it = 0;
  *q = (condensed){.whole = whole, .clusters = whole->clusters};
  if (!may_be_worth_it(whole, factorizations)) return LCPLUG_OK;
  q->cluster = TAKE(workspace, condensed_cluster, q->clusters);
  q->cluster_of = TAKE(workspace, int, whole->n);
  q->row_in = TAKE(workspace, int, whole->n);
  if (!q->cluster || !q->cluster_of || !q->row_in) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = find_ranks(q, workspace);
  if (!error) error = analyze(q, &groups, workspace);
  /* Groups that became one cluster have no squares of their own any more. */
  if (error || q->factor.clusters != groups) return error;
  q->forced = isinf(factorizations);
  *worth_it = lcplug_condensed_pays(q, whole->all_flops);
  if (!*worth_it) return LCPLUG_OK;
  lcplug_cholesky_select(&q->factor, NULL);
  return locate(q, workspace);
}
