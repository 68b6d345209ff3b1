/* pivoting.c - see pivoting.h.
 *
 * With F the rows inside and N those at a bound, the table holds, symmetric, what follows from
 * w = A x - b when the roles of x_F and w_F are exchanged:
 *
 *     T_FF = -A_FF^-1,   T_FN = A_FF^-1 A_FN,   T_NN = A_NN - A_NF A_FF^-1 A_FN
 *
 * A row enters or leaves F by a sweep, a change of rank one.  When x of a row r in N moves by t, x_F moves
 * by -T_Fr t and w_N by T_Nr t; so column r says how far it may move before a right row gets wrong. */
#include "pivoting.h"

#include <math.h>

/* In units of w: what does not count as wrong.  Of the diagonal: a pivot that has vanished. */
static const double WRONG = 1e-12, TINY_PIVOT = 1e-13;
enum { MOST_PIVOTS_PER_ROW = 6 };

static double larger(double a, double b) { return a > b ? a : b; }

static double *element(const pivoting *p, int i, int j) {
  return i > j ? p->table + (size_t)j * (size_t)p->ld + (size_t)i
               : p->table + (size_t)i * (size_t)p->ld + (size_t)j;
}

static void read_column(const pivoting *p, int r) {
  for (int j = 0; j < r; j++) p->column[j] = p->table[(size_t)j * (size_t)p->ld + (size_t)r];
  for (int i = r; i < p->rows; i++) p->column[i] = p->table[(size_t)r * (size_t)p->ld + (size_t)i];
  for (int i = p->rows; i < p->ld; i++) p->column[i] = 0.0;
}

/* Row k enters F or leaves it: the other elements change in the same way, its own differ by a sign. */
static void sweep(const pivoting *p, int k) {
  read_column(p, k);
  double pivot = p->column[k], own = p->place[k] == INSIDE ? -1.0 / pivot : 1.0 / pivot;
  p->kernels->rank_one(p->table, p->ld, p->rows, p->column, -1.0 / pivot);
  for (int i = 0; i < p->rows; i++) *element(p, i, k) = own * p->column[i];
  *element(p, k, k) = -1.0 / pivot;
}

static int enter(pivoting *p, int k) {
  if (!(*element(p, k, k) > TINY_PIVOT * p->diagonal[k])) return 0;
  sweep(p, k);
  p->place[k] = INSIDE;
  p->w[k] = 0.0;
  return 1;
}

static void leave(pivoting *p, int k, place to) {
  sweep(p, k);
  p->place[k] = (unsigned char)to;
}

/* How wrong row i is, in units of w; not positive: it is right. */
static double violation(const pivoting *p, int i) {
  if (p->place[i] == AT_LO) return -p->w[i];
  if (p->place[i] == AT_HI) return p->w[i];
  return p->diagonal[i] * larger(p->lo[i] - p->x[i], p->x[i] - p->hi[i]);
}

static int most_wrong(const pivoting *p) {
  double worst = WRONG * p->unit;
  int found = -1;
  for (int i = 0; i < p->rows; i++) {
    double v = violation(p, i);
    if (v > worst) worst = v, found = i;
  }
  return found;
}

/* The row that first gets wrong when x_r moves in the direction `sign`, and how far that is. */
static int first_to_block(const pivoting *p, int r, double sign, double *reach) {
  int found = -1;
  for (int i = 0; i < p->rows; i++) {
    double slope = sign * p->column[i], room;
    if (i == r || slope == 0.0 || violation(p, i) > WRONG * p->unit) continue;
    if (p->place[i] == INSIDE) room = slope > 0.0 ? p->x[i] - p->lo[i] : p->hi[i] - p->x[i];
    else if ((p->place[i] == AT_LO) == (slope < 0.0)) room = fabs(p->w[i]);
    else continue;
    double size = fabs(slope);
    if (room < *reach * size) *reach = larger(room, 0.0) / size, found = i;
  }
  return found;
}

static void move(pivoting *p, int r, double step) {
  for (int i = 0; i < p->rows; i++)
    if (p->place[i] == INSIDE) p->x[i] -= step * p->column[i];
    else p->w[i] += step * p->column[i];
  p->x[r] += step;
}

static double bound_of(const pivoting *p, int i, place at) { return at == AT_LO ? p->lo[i] : p->hi[i]; }

/* A row that blocks goes to the bound that it has reached, or inside. */
static int give_way(pivoting *p, int i, double slope) {
  if (p->place[i] != INSIDE) return enter(p, i);
  place to = slope > 0.0 ? AT_LO : AT_HI;
  p->x[i] = bound_of(p, i, to);
  leave(p, i, to);
  return 1;
}

/* Moves x_r, of a row in N, in the direction `sign` until w_r is 0, which puts it inside, or until it is
 * at the bound `to`; whoever blocks the way gives way.  1 when it has arrived. */
static int drive(pivoting *p, int r, double sign, place to) {
  while (p->pivots_left-- > 0) {
    read_column(p, r);
    double slope = p->column[r], to_bound = larger(sign * (bound_of(p, r, to) - p->x[r]), 0.0);
    double against = -sign * p->w[r], reach = to_bound;
    int gets_inside = against > 0.0 && against < slope * to_bound;
    if (gets_inside) reach = against / slope;
    int blocker = first_to_block(p, r, sign, &reach);
    if (!(reach < INFINITY)) return 0;
    double slope_of_blocker = blocker < 0 ? 0.0 : sign * p->column[blocker];
    move(p, r, sign * reach);
    if (blocker >= 0) {
      if (!give_way(p, blocker, slope_of_blocker)) return 0;
      continue;
    }
    if (gets_inside) return enter(p, r);
    p->x[r] = bound_of(p, r, to);
    p->place[r] = (unsigned char)to;
    return 1;
  }
  return 0;
}

/* Puts one wrong row right: from its bound inwards, or back to the bound that it has crossed. */
static int mend(pivoting *p, int r) {
  place at = p->place[r];
  if (at == AT_LO) return drive(p, r, 1.0, AT_HI);
  if (at == AT_HI) return drive(p, r, -1.0, AT_LO);
  place crossed = p->x[r] < p->lo[r] ? AT_LO : AT_HI;
  leave(p, r, crossed);
  p->w[r] = 0.0;
  return drive(p, r, crossed == AT_LO ? 1.0 : -1.0, crossed);
}

/* The table of the guess. */
static int exchange_roles(pivoting *p) {
  for (int i = 0; i < p->rows; i++) {
    if (p->place[i] != INSIDE) continue;
    p->place[i] = AT_LO; /* until it has entered */
    if (!enter(p, i)) return 0;
  }
  return 1;
}

int lcplug_pivoting_mend(pivoting *p) {
  p->pivots_left = MOST_PIVOTS_PER_ROW * p->rows;
  for (int r; (r = most_wrong(p)) >= 0;)
    if (!mend(p, r)) return 0;
  return 1;
}

int lcplug_pivoting(pivoting *p) {
  for (int i = 0; i < p->rows; i++) p->diagonal[i] = *element(p, i, i);
  return exchange_roles(p) && lcplug_pivoting_mend(p);
}
