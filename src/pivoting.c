/* pivoting.c - see pivoting.h.
 *
 * With F the rows inside and N those at a bound, the table holds, symmetric, what follows from
 * w = A x - b when the roles of x_F and w_F are exchanged:
 *
 *     T_FF = -A_FF^-1,   T_FN = A_FF^-1 A_FN,   T_NN = A_NN - A_NF A_FF^-1 A_FN
 *
 * A row k enters or leaves F by a sweep, a change of rank one: with c the column of k and p = c_k
 *
 *     T_ij <- T_ij - c_i c_j / p,    T_ik <- +-c_i / p,    T_kk <- -1 / p
 *
 * When x of a row r in N moves by t, x_F moves by -T_Fr t and w_N by T_Nr t; so column r says how
 * far it may move before a right row gets wrong.  Nobody looks at the rest of the table.  So sweeps
 * wait: a column that is wanted is brought up to date by itself, and the table, once a number of
 * them has come together, by one product of matrices, which takes a fraction of the time of as many
 * sweeps.
 *
 * The loops over rows are compiled twice, for any processor and for AVX2. */
#include "pivoting.h"

#include <math.h>
#include <string.h>

#include "four.h"

#define INLINE static inline __attribute__((always_inline))
#define FOR_FOURS(p, i) for (int i = 0; i < (p)->ld; i += 4)

/* In units of w: what does not count as wrong.  Of the diagonal: a pivot that has vanished. */
static const double WRONG = 1e-12, TINY_PIVOT = 1e-13;
enum { MOST_PIVOTS_PER_ROW = 6 };

static void set_place(pivoting *p, int i, place at) {
  p->place[i] = (unsigned char)at;
  p->side[i] = at == AT_LO ? -1.0 : at == AT_HI ? 1.0 : 0.0;
}

static void begin(pivoting *p) {
  size_t ld = (size_t)p->ld;
  p->column = p->scratch, p->side = p->column + ld, p->product = p->side + ld;
  p->swept = p->product + ld, p->scaled = p->swept + MOST_WAITING * ld;
  p->fresh = p->scaled + MOST_WAITING * ld;
  p->waiting = 0;
  p->pivots_left = MOST_PIVOTS_PER_ROW * p->rows;
  for (int i = 0; i < p->rows; i++) set_place(p, i, (place)p->place[i]);
  for (int i = p->rows; i < p->ld; i++) p->side[i] = 1.0, p->x[i] = p->w[i] = 0.0; /* right */
}

/* ---- the table ------------------------------------------------------------------------------- */

static double *swept_column(const pivoting *p, int s) {
  return p->swept + (size_t)s * (size_t)p->ld;
}

/* Column r as the table has it; the rows behind the last one are 0. */
static void read_table(const pivoting *p, int r, double *column) {
  size_t ld = (size_t)p->ld;
  for (int j = 0; j < r; j++) column[j] = p->table[(size_t)j * ld + (size_t)r];
  memcpy(column + r, p->table + (size_t)r * (ld + 1), (size_t)(p->rows - r) * sizeof *column);
  for (int i = p->rows; i < p->ld; i++) column[i] = 0.0;
}

static void write_table(const pivoting *p, int r, const double *column) {
  size_t ld = (size_t)p->ld;
  for (int j = 0; j < r; j++) p->table[(size_t)j * ld + (size_t)r] = column[j];
  memcpy(p->table + (size_t)r * (ld + 1), column + r, (size_t)(p->rows - r) * sizeof *column);
}

/* The last sweep of row r that waits, or -1. */
static int last_sweep_of(const pivoting *p, int r) {
  int s = p->waiting - 1;
  while (s >= 0 && p->row[s] != r) s--;
  return s;
}

/* Column r after sweep s, which was its own. */
static void take_own(const pivoting *p, int s, double *column) {
  const double *c = swept_column(p, s);
  FOR_FOURS(p, i) four_put(column + i, four_of(p->own[s]) * four_at(c + i));
  column[p->row[s]] = -p->inverse[s];
}

/* Column r with all sweeps.  In rows that have been swept themselves a column begins anew with
 * their sweep. */
static void read_column(pivoting *p, int r, double *column) {
  double part[MOST_WAITING];
  int own = last_sweep_of(p, r), first = own + 1;
  if (own >= 0) take_own(p, own, column);
  else read_table(p, r, column);
  if (first == p->waiting) return;
  for (int s = first; s < p->waiting; s++) part[s] = swept_column(p, s)[r] * p->inverse[s];
  p->kernels->multiply(swept_column(p, first), p->ld, p->waiting - first, part + first, p->product);
  FOR_FOURS(p, i) four_put(column + i, four_at(column + i) - four_at(p->product + i));
  for (int s = first; s < p->waiting; s++) {
    int k = p->row[s];
    double value = p->own[s] * swept_column(p, s)[r];
    for (int later = s + 1; later < p->waiting; later++)
      value -= swept_column(p, later)[k] * part[later];
    column[k] = value;
  }
}

/* Brings the table up to date with the sweeps that wait. */
static void catch_up(pivoting *p) {
  size_t ld = (size_t)p->ld;
  for (int s = 0; s < p->waiting; s++) {
    const double *c = swept_column(p, s);
    double *scaled = p->scaled + (size_t)s * ld;
    FOR_FOURS(p, i) four_put(scaled + i, four_of(p->inverse[s]) * four_at(c + i));
    read_column(p, p->row[s], p->fresh + (size_t)s * ld);
  }
  p->kernels->schur_pair(p->swept, p->scaled, p->ld, p->waiting, p->rows, p->table, 1);
  for (int s = 0; s < p->waiting; s++) write_table(p, p->row[s], p->fresh + (size_t)s * ld);
  p->waiting = 0;
}

/* Row k enters F or leaves it; its column has been read. */
static void sweep(pivoting *p, int k) {
  int s = p->waiting++;
  double inverse = 1.0 / p->column[k];
  memcpy(swept_column(p, s), p->column, (size_t)p->ld * sizeof *p->column);
  p->row[s] = k;
  p->inverse[s] = inverse;
  p->own[s] = p->place[k] == INSIDE ? -inverse : inverse;
  if (p->waiting == MOST_WAITING) catch_up(p);
}

static int enter(pivoting *p, int k) {
  read_column(p, k, p->column);
  if (!(p->column[k] > TINY_PIVOT * p->diagonal[k])) return 0;
  sweep(p, k);
  set_place(p, k, INSIDE);
  p->w[k] = 0.0;
  return 1;
}

static void leave(pivoting *p, int k, place to) {
  read_column(p, k, p->column);
  sweep(p, k);
  set_place(p, k, to);
}

/* ---- right and wrong ------------------------------------------------------------------------- */

typedef four_bits truth;

INLINE int any(truth t) { return ((t[0] | t[1]) | (t[2] | t[3])) != 0; }

/* How wrong four rows are, in units of w; not positive: they are right. */
INLINE four violation(const pivoting *p, int i) {
  four side = four_at(p->side + i), x = four_at(p->x + i);
  four below = four_at(p->lo + i) - x, above = x - four_at(p->hi + i);
  four inside = four_at(p->diagonal + i) * four_max(below, above);
  return four_choose(side == 0.0, inside, side * four_at(p->w + i));
}

INLINE int most_wrong(const pivoting *p) {
  double worst = WRONG * p->unit;
  int found = -1;
  FOR_FOURS(p, i) {
    four v = violation(p, i);
    if (!any(v > worst)) continue;
    for (int lane = 0; lane < 4 && i + lane < p->rows; lane++)
      if (v[lane] > worst) worst = v[lane], found = i + lane;
  }
  return found;
}

/* The row that first gets wrong when x_r moves in the direction `sign`, and how far that is.  A row
 * inside has room up to the bound that it nears, one at a bound until its w has gone; one that is
 * wrong does not count. */
INLINE int first_to_block(const pivoting *p, int r, double sign, double *reach) {
  const four no_room = four_of(0.0), wrong = four_of(WRONG * p->unit);
  int found = -1;
  FOR_FOURS(p, i) {
    four side = four_at(p->side + i), x = four_at(p->x + i), w = four_at(p->w + i);
    four slope = sign * four_at(p->column + i), size = four_max(slope, -slope);
    four inside = four_choose(slope > 0.0, x - four_at(p->lo + i), four_at(p->hi + i) - x);
    four room = four_choose(side == 0.0, inside, four_max(w, -w));
    truth nears = (side == 0.0) | (side * slope > 0.0);
    truth blocks = nears & (slope != 0.0) & ~(violation(p, i) > wrong);
    if (!any(blocks & (room < *reach * size))) continue;
    four distance = four_max(room, no_room) / size;
    for (int lane = 0; lane < 4; lane++)
      if (blocks[lane] && i + lane != r && distance[lane] < *reach)
        *reach = distance[lane], found = i + lane;
  }
  return found;
}

INLINE void move(pivoting *p, int r, double step) {
  FOR_FOURS(p, i) {
    truth inside = four_at(p->side + i) == 0.0;
    four change = step * four_at(p->column + i), none = four_of(0.0);
    four_put(p->x + i, four_at(p->x + i) - four_choose(inside, change, none));
    four_put(p->w + i, four_at(p->w + i) + four_choose(inside, none, change));
  }
  p->x[r] += step;
}

/* ---- rows go where they should be ------------------------------------------------------------ */

static double larger(double a, double b) { return a > b ? a : b; }

static double bound_of(const pivoting *p, int i, place at) {
  return at == AT_LO ? p->lo[i] : p->hi[i];
}

/* A row that blocks goes to the bound that it has reached, or inside. */
static int give_way(pivoting *p, int i, double slope) {
  if (p->place[i] != INSIDE) return enter(p, i);
  place to = slope > 0.0 ? AT_LO : AT_HI;
  p->x[i] = bound_of(p, i, to);
  leave(p, i, to);
  return 1;
}

/* Moves x_r, of a row in N, in the direction `sign` until w_r is 0, which puts it inside, or until
 * it is at the bound `to`; whoever blocks the way gives way.  1 when it has arrived. */
INLINE int drive(pivoting *p, int r, double sign, place to) {
  while (p->pivots_left-- > 0) {
    read_column(p, r, p->column);
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
    set_place(p, r, to);
    return 1;
  }
  return 0;
}

/* Puts one wrong row right: from its bound inwards, or back to the bound that it has crossed. */
INLINE int put_right(pivoting *p, int r) {
  place at = (place)p->place[r], crossed = p->x[r] < p->lo[r] ? AT_LO : AT_HI;
  int from_low = at == AT_LO || (at == INSIDE && crossed == AT_LO);
  place to = at == INSIDE ? crossed : from_low ? AT_HI : AT_LO;
  if (at == INSIDE) {
    leave(p, r, crossed);
    p->w[r] = 0.0;
  }
  return drive(p, r, from_low ? 1.0 : -1.0, to);
}

INLINE int mend_by(pivoting *p) {
  for (int r; (r = most_wrong(p)) >= 0;)
    if (!put_right(p, r)) return 0;
  return 1;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static int mend_avx2(pivoting *p) { return mend_by(p); }
#endif

static int mend(pivoting *p) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return mend_avx2(p);
#endif
  return mend_by(p);
}

/* The table of the guess. */
static int exchange_roles(pivoting *p) {
  for (int i = 0; i < p->rows; i++) {
    if (p->place[i] != INSIDE) continue;
    set_place(p, i, AT_LO); /* until it has entered */
    if (!enter(p, i)) return 0;
  }
  return 1;
}

int lcplug_pivoting_mend(pivoting *p) {
  begin(p);
  return mend(p);
}

int lcplug_pivoting(pivoting *p) {
  begin(p);
  for (int i = 0; i < p->rows; i++) p->diagonal[i] = p->table[(size_t)i * (size_t)(p->ld + 1)];
  return exchange_roles(p) && mend(p);
}
