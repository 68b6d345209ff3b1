/* condensed.c - V' (A + E) V: who is in J, and the way there and back; see condense.h. */
#include <math.h>
#include <string.h>

#include "condense.h"

/* A row of J makes way for one of K that is so much freer, |T|^2 included. */
static const double FREER = 16.0;

/* ---- E and its slots ------------------------------------------------------------------------- */

void lcplug_condensed_clear(condensed *q) {
  for (int a = 0; a < q->clusters; a++) {
    condensed_cluster *k = &q->cluster[a];
    memset(k->E, 0, (size_t)k->rows * (size_t)k->rows * sizeof *k->E);
  }
}

/* Row j of J and row k of K change places. */
static void exchange(condensed_cluster *c, int j, int k) {
  int rank = c->rank, lines = c->rows - rank, row = c->slot[j];
  double *own = c->T + k * rank, pivot = 1.0 / own[j];
  c->slot[j] = c->slot[rank + k], c->slot[rank + k] = row;
  for (int i = 0; i < lines; i++) {
    double *line = c->T + i * rank, part = line[j] * pivot;
    if (i == k) continue;
    for (int l = 0; l < rank; l++) line[l] -= part * own[l];
    line[j] = part;
  }
  for (int l = 0; l < rank; l++) own[l] *= -pivot;
  own[j] = pivot;
}

/* Who is held least is in J: greedily, from the slots that were found first. */
static int choose_slots(condensed *q, condensed_cluster *c) {
  int rank = c->rank, lines = c->rows - rank, changed = 0;
  double *held = q->vector; /* by row; who is held by no more than A itself is free */
  int *before = q->slots;
  memcpy(before, c->slot, (size_t)c->rows * sizeof *before);
  memcpy(c->slot, c->first_slot, (size_t)c->rows * sizeof *c->slot);
  memcpy(c->T, c->first_T, (size_t)(lines * rank) * sizeof *c->T);
  for (int i = 0; i < c->rows; i++) {
    double added = fabs(c->E[i * c->rows + i]), own = c->A[i * c->rows + i];
    held[i] = added > own ? added : own;
  }
  for (int turns = 0; turns < 2 * c->rows; turns++) {
    double worst = FREER;
    int j_out = -1, k_in = -1;
    for (int k = 0; k < lines; k++) {
      double own = held[c->slot[rank + k]];
      for (int j = 0; j < rank; j++) {
        double t = c->T[k * rank + j], ratio = t * t * held[c->slot[j]];
        if (ratio > worst * own) worst = ratio / own, j_out = j, k_in = k;
      }
    }
    if (j_out < 0) break;
    exchange(c, j_out, k_in);
  }
  for (int s = 0; s < rank; s++) changed |= c->slot[s] != before[s];
  return changed;
}

/* A_JJ of all pairs. */
static void load_pairs(condensed *q) {
  for (int e = 0; e < q->pairs; e++) {
    const condensed_pair *p = &q->pair[e];
    const condensed_cluster *a = &q->cluster[p->earlier], *b = &q->cluster[p->later];
    double *to = q->factor.value + p->to;
    for (int i = 0; i < a->rank; i++, to += p->step) {
      const double *line = p->from.value + (size_t)a->slot[i] * p->from.by_a;
      for (int j = 0; j < b->rank; j++) to[j] = line[(size_t)b->slot[j] * p->from.by_b];
    }
  }
  q->factor.is_assembled = 0;
}

void lcplug_condensed_choose(condensed *q) {
  int changed = !q->loaded;
  for (int a = 0; a < q->clusters; a++)
    if (q->cluster[a].rank < q->cluster[a].rows) changed |= choose_slots(q, &q->cluster[a]);
  if (changed) load_pairs(q);
  q->loaded = 1;
  lcplug_fronts_assembled(&q->factor);
}

/* ---- V' (A + E) V ---------------------------------------------------------------------------- */

/* P = A + E of a cluster, in the order of its slots, ld numbers to a row. */
static void order_by_slots(const condensed_cluster *c, double *P, int ld) {
  for (int s = 0; s < c->rows; s++) {
    const double *A = c->A + c->slot[s] * c->rows, *E = c->E + c->slot[s] * c->rows;
    for (int t = 0; t < c->rows; t++) P[s * ld + t] = A[c->slot[t]] + E[c->slot[t]];
    for (int t = c->rows; t < ld; t++) P[s * ld + t] = 0.0;
  }
}

/* P <- V' P V: columns of K less those of J times T', then rows alike.  Tt: room for T'. */
static void transform(const cholesky_kernels *kernels, const condensed_cluster *c, double *P,
                      int ld, double *Tt) {
  int rank = c->rank, lines = c->rows - rank, padded = lcplug_panel_pad(lines);
  for (int l = 0; l < rank; l++)
    for (int k = 0; k < padded; k++) Tt[l * padded + k] = k < lines ? c->T[k * rank + l] : 0.0;
  kernels->subtract(P + rank, ld, c->rows, lines, P, ld, rank, Tt, padded);
  kernels->subtract(P + rank * ld, ld, lines, c->rows, c->T, rank, rank, P, ld);
}

/* A square, by rows, into the panels. */
static void put_square(const double *from, int ld, int rows, size_t at, int step, double *lower,
                       double *upper) {
  for (int j = 0; j < rows; j++, at += (size_t)step + 1)
    for (int i = j; i < rows; i++) {
      lower[at + (size_t)(i - j)] = from[i * ld + j];
      if (upper) upper[at + (size_t)(i - j)] = from[j * ld + i];
    }
}

/* What u and K share: what is eliminated first has the columns. */
static void put_shared(const condensed_cluster *c, const double *P, int ld, double *lower,
                       double *upper) {
  int u_first = c->u < c->K, first = u_first ? 0 : c->rank, other = u_first ? c->rank : 0;
  int columns = u_first ? c->rank : c->rows - c->rank, rows = c->rows - columns;
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) {
      size_t at = c->at_shared + (size_t)(j * c->step_shared + i);
      lower[at] = P[(other + i) * ld + first + j];
      if (upper) upper[at] = P[(first + j) * ld + other + i];
    }
}

void lcplug_condensed_put(condensed *q, double *lower, double *upper) {
  for (int a = 0; a < q->clusters; a++) {
    const condensed_cluster *c = &q->cluster[a];
    int rank = c->rank, lines = c->rows - rank, ld = c->rows + 2 * PANEL_PAD;
    double *P = q->square, *Tt = P + c->rows * ld;
    order_by_slots(c, P, ld);
    if (lines) {
      transform(q->factor.kernels, c, P, ld, Tt);
      put_square(P + rank * (ld + 1), ld, lines, c->at_K, c->step_K, lower, upper);
      put_shared(c, P, ld, lower, upper);
    }
    put_square(P, ld, rank, c->at_u, c->step_u, lower, upper);
  }
}

/* ---- V --------------------------------------------------------------------------------------- */

void lcplug_condensed_gather_cluster(const condensed *q, const condensed_cluster *c,
                                     const double *x, double *y) {
  const int *row_at = q->whole->row_at + c->first;
  double *u = y + c->u, *K = y + c->K;
  const double *T = c->T;
  for (int s = 0; s < c->rank; s++) u[s] = x[row_at[c->slot[s]]];
  for (int k = 0; k < c->rows - c->rank; k++, T += c->rank) {
    double sum = x[row_at[c->slot[c->rank + k]]];
    for (int l = 0; l < c->rank; l++) sum -= T[l] * u[l];
    K[k] = sum;
  }
}

void lcplug_condensed_gather(const condensed *q, const double *x, double *y) {
  for (int a = 0; a < q->clusters; a++) lcplug_condensed_gather_cluster(q, &q->cluster[a], x, y);
}

void lcplug_condensed_spread(const condensed *q, const double *y, double *x) {
  for (int a = 0; a < q->clusters; a++) {
    const condensed_cluster *c = &q->cluster[a];
    const int *row_at = q->whole->row_at + c->first;
    const double *u = y + c->u, *K = y + c->K, *T = c->T;
    for (int s = 0; s < c->rank; s++) x[row_at[c->slot[s]]] = u[s];
    for (int k = 0; k < c->rows - c->rank; k++, T += c->rank) {
      x[row_at[c->slot[c->rank + k]]] = K[k];
      for (int l = 0; l < c->rank; l++) x[row_at[c->slot[l]]] -= T[l] * K[k];
    }
  }
}
