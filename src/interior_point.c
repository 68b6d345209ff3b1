/* interior_point.c - Mehrotra's predictor-corrector method for a box.
 *
 * Every finite bound of a row is a pair of a slack s and a multiplier z, both kept positive:
 *
 *     A x - b = sum of sign z over the row's pairs,    s = sign (x - bound),    s z = mu -> 0
 *
 * with sign +1 at a lower bound and -1 at an upper one.  A step factorizes A + diag(sum z / s) once
 * and solves with it several times: for the predictor (mu 0), for Mehrotra's corrector, and for one
 * of Gondzio's correctors, which pull products that a longer step would unbalance back to the
 * others.
 *
 * As soon as two looks agree, but for a few rows, on which ones are at a bound the active set tries
 * to finish.
 *
 * The loops over the rows are compiled twice, for any processor and for AVX2, and pass over memory
 * as seldom as they can: a solve of a sparse system costs no more than a few of them.  Without
 * fused products both give the same bits. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "box.h"
#include "four.h"

/* In units of the first mu: from here on it is worth looking where the rows are; from here on an
 * iterate may be an answer; from here on steps that bring nothing are counted; here nothing is
 * left. */
static const double LOOKING_MU = 1e-3, JUDGING_MU = 1e-6, IDLE_MU = 1e-22, LEAST_MU = 1e-30;
/* Between two tries of the active set mu falls by this. */
static const double NEXT_TRY = 1e-5;
/* The active set tries to finish when no more than this part of the rows, and a few, have changed
 * their places since the last look; it goes on if its first guess has no more than that part of
 * them wrong. */
static const double SETTLED = 1.0 / 128.0, PROMISING = 1.0 / 32.0;
enum { SETTLED_ROWS = 2, PROMISING_ROWS = 16 };
/* Of the diagonal, added to what is factorized: keeps a singular A from dropping pivots. */
static const double BARRIER_TRACE = 1e-11;
/* What a plain step makes of mu. */
static const double CAUTIOUS_TARGET = 0.3;
enum { CROSSOVER_STEPS = 6, MOST_IDLE = 5, MOST_RECOVERIES = 3 };
/* Who asks for no more than this does not pay for more. */
static const double COARSE = 1e-8;
enum { MOST_LOST = 3, PLAIN_STEPS = 3 };
/* Steps that follow w by what the factorization says of A dx, until A itself is asked again. */
enum { FOLLOWED_STEPS = 2 };

/* The lower or the upper bounds of all rows, and the step of their slacks and multipliers.  Where a
 * row has no such bound z, ds, dz and c are 0, and s is 1. */
typedef struct side {
  double sign; /* s = sign (x - bound) */
  int bounds;  /* how many rows have one */
  double *has; /* 1 or 0 */
  double *s, *z;
  double *inverse_s, *inverse_z;
  double *ds, *dz;
  double *c;                 /* the change of s z that the step is to make */
  double *ds_more, *dz_more; /* the step with one more corrector */
} side;

typedef struct interior {
  box *p;
  int padded;       /* rows, rounded up to a multiple of four: the rest has no bounds and x = 0 */
  double *x, *w;    /* iterate, and w = A x - b as it is followed */
  double *barrier;  /* what the factorization adds to the diagonal of the box's matrix */
  double *dx, *rhs; /* its step, and what the factorization was asked for it */
  double *dx_more, *rhs_more;
  side side[2];        /* lower, upper */
  unsigned char *seen; /* places of the rows at the last look */
  double mu;           /* mean of s z */
  double lowest_mu;
  int lost;     /* steps that did not lower it */
  int cautious; /* plain steps to take */
  int followed; /* steps since w was worked out */
} interior;

#define INLINE static inline __attribute__((always_inline))
#define FOR_SIDES(v, b) for (side *b = (v)->side; b < (v)->side + 2; b++)
#define FOR_FOURS(v, i) for (int i = 0; i < (v)->padded; i += 4)
#define FOR_BOUNDS(v, b, i) FOR_SIDES(v, b) if ((b)->bounds) FOR_FOURS(v, i)

static int take_vectors(interior *v, int rows, lcplug_workspace *workspace) {
  v->padded = (rows + 3) & ~3;
  double **by_row[] = {&v->x, &v->w, &v->barrier, &v->dx, &v->rhs, &v->dx_more, &v->rhs_more};
  for (size_t i = 0; i < sizeof by_row / sizeof *by_row; i++)
    if (!(*by_row[i] = TAKE(workspace, double, v->padded))) return 0;
  FOR_SIDES(v, b) {
    double **of_side[] = {&b->has, &b->s,  &b->z, &b->inverse_s, &b->inverse_z,
                          &b->ds,  &b->dz, &b->c, &b->ds_more,   &b->dz_more};
    for (size_t i = 0; i < sizeof of_side / sizeof *of_side; i++)
      if (!(*of_side[i] = TAKE(workspace, double, v->padded))) return 0;
  }
  v->seen = TAKE(workspace, unsigned char, rows);
  return v->seen != NULL;
}

/* ---- the start ------------------------------------------------------------------------------- */

static int bounds(const interior *v) { return v->side[0].bounds + v->side[1].bounds; }

static void set_bound(side *b, int row, int has, double slack, double multiplier) {
  b->bounds += has;
  b->has[row] = has;
  b->s[row] = has ? slack : 1.0;
  b->z[row] = has ? multiplier : 0.0;
}

static double mean_product(interior *v) {
  four sum = four_of(0.0);
  FOR_BOUNDS(v, b, i) sum += four_at(b->s + i) * four_at(b->z + i);
  return bounds(v) ? four_sum(sum) / bounds(v) : 0.0;
}

/* Products that differ by orders of magnitude make the first steps short: brings each within a
 * factor of ten of their mean by its multiplier. */
static void balance(interior *v) {
  double mu = mean_product(v);
  FOR_SIDES(v, b) {
    for (int i = 0; i < v->p->rows; i++) {
      double middle = b->has[i] * mu / b->s[i];
      b->z[i] = fmin(fmax(b->z[i], 0.1 * middle), 10.0 * middle);
    }
  }
}

/* Moves x inside its bounds and gives every bound a multiplier that fits w. */
static void begin(interior *v) {
  box *p = v->p;
  double least = DBL_MIN; /* a row of zeros counts as the rounding error of the largest row */
  for (int i = 0; i < p->rows; i++) least = fmax(least, DBL_EPSILON * p->diagonal[i]);
  v->side[0].bounds = v->side[1].bounds = 0;
  for (int i = 0; i < p->rows; i++) {
    int has_lo = p->lo[i] > -INFINITY, has_hi = p->hi[i] < INFINITY;
    double room = fmax(fabs(p->x[i]), p->unit / fmax(p->diagonal[i], least));
    if (has_lo && has_hi) room = fmin(room, 0.25 * (p->hi[i] - p->lo[i]));
    double x = p->x[i];
    if (has_lo) x = fmax(x, p->lo[i] + room);
    if (has_hi) x = fmin(x, p->hi[i] - room);
    set_bound(&v->side[0], i, has_lo, x - p->lo[i], fmax(p->w[i], 0.0) + 0.1 * p->unit);
    set_bound(&v->side[1], i, has_hi, p->hi[i] - x, fmax(-p->w[i], 0.0) + 0.1 * p->unit);
    v->x[i] = x;
  }
  for (int i = p->rows; i < v->padded; i++) {
    v->x[i] = v->w[i] = v->barrier[i] = v->dx[i] = v->dx_more[i] = 0.0;
    FOR_SIDES(v, b) set_bound(b, i, 0, 0.0, 0.0);
  }
  balance(v);
  v->mu = v->lowest_mu = mean_product(v);
  v->followed = FOLLOWED_STEPS;
  memset(v->seen, INSIDE, (size_t)p->rows);
}

/* Puts the iterate into the box, with a w that is worked out. */
static void show(interior *v) {
  box *p = v->p;
  size_t bytes = (size_t)p->rows * sizeof *p->x;
  memcpy(p->x, v->x, bytes);
  lcplug_box_set_w(p);
  memcpy(v->w, p->w, bytes);
  v->followed = 0;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* What the factorization adds to the diagonal. */
INLINE void set_barrier(interior *v) {
  box *p = v->p;
  for (int i = 0; i < p->rows; i++) v->barrier[i] = BARRIER_TRACE * p->diagonal[i];
  FOR_BOUNDS(v, b, i) {
    four none = four_of(1.0) - four_at(b->has + i); /* no bound: z is 0 */
    four_put(b->inverse_s + i, four_of(1.0) / four_at(b->s + i));
    four_put(b->inverse_z + i, four_of(1.0) / (four_at(b->z + i) + none));
    four_put(v->barrier + i,
             four_at(v->barrier + i) + four_at(b->z + i) * four_at(b->inverse_s + i));
  }
  memset(p->keep, 1, (size_t)p->rows);
  memcpy(p->extra, v->barrier, (size_t)p->rows * sizeof *p->extra);
  if (p->pull != 0.0)
    for (int i = 0; i < p->rows; i++) p->extra[i] += p->pull * p->diagonal[i];
}

/* The right side of a step: what is missing in A x - b = sum of sign z ... */
INLINE void ask_for_balance_of_forces(interior *v) {
  const double *lower_z = v->side[0].z, *upper_z = v->side[1].z;
  FOR_FOURS(v, i)
    four_put(v->rhs + i, four_at(lower_z + i) - four_at(upper_z + i) - four_at(v->w + i));
}

/* ... and what the bounds wish, c. */
INLINE void add_wish(const side *b, double *rhs, int i, four wish) {
  four_put(b->c + i, wish);
  four_put(rhs + i, four_at(rhs + i) + four_of(b->sign) * wish * four_at(b->inverse_s + i));
}

/* ds and dz of dx; more: added to the step that there is, and kept beside it.  Returns the longest
 * step, at most 1, that keeps slacks and multipliers positive. */
INLINE double spread_step(interior *v, const double *dx, int more) {
  four inverse = four_of(1.0); /* the largest of -ds / s and -dz / z */
  FOR_SIDES(v, b) {
    double *to_ds = more ? b->ds_more : b->ds, *to_dz = more ? b->dz_more : b->dz;
    if (b->bounds) FOR_FOURS(v, i) {
        four inverse_s = four_at(b->inverse_s + i);
        four ds = four_of(b->sign) * four_at(b->has + i) * four_at(dx + i);
        four dz = (four_at(b->c + i) - four_at(b->z + i) * ds) * inverse_s;
        if (more) ds += four_at(b->ds + i), dz += four_at(b->dz + i);
        four_put(to_ds + i, ds);
        four_put(to_dz + i, dz);
        inverse = four_max(-ds * inverse_s, inverse);
        inverse = four_max(-dz * four_at(b->inverse_z + i), inverse);
      }
  }
  return 1.0 / four_largest(inverse);
}

typedef void linear_solve(box *p, double *vector);
static void solve_for(interior *v, linear_solve *solve, const double *rhs, double *dx) {
  memcpy(dx, rhs, (size_t)v->p->rows * sizeof *dx);
  solve(v->p, dx);
}

INLINE double predictor(interior *v) {
  ask_for_balance_of_forces(v);
  FOR_BOUNDS(v, b, i) add_wish(b, v->rhs, i, -four_at(b->s + i) * four_at(b->z + i));
  solve_for(v, v->p->matrix->factor_and_solve, v->rhs, v->dx);
  return spread_step(v, v->dx, 0);
}

/* second_order: takes the predictor's product ds dz into account, Mehrotra's idea. */
INLINE double corrector(interior *v, double target, int second_order) {
  ask_for_balance_of_forces(v);
  FOR_BOUNDS(v, b, i) {
    four wish = four_of(target) * four_at(b->has + i) - four_at(b->s + i) * four_at(b->z + i);
    if (second_order) wish -= four_at(b->ds + i) * four_at(b->dz + i);
    add_wish(b, v->rhs, i, wish);
  }
  solve_for(v, v->p->matrix->solve, v->rhs, v->dx);
  return spread_step(v, v->dx, 0);
}

/* What one of Gondzio's correctors asks for: products within a factor of ten of the target after a
 * longer step than the present one. */
INLINE void wish_for_balance(interior *v, double target, double longer) {
  const four least = four_of(0.1 * target), most = four_of(10.0 * target), t = four_of(longer);
  memset(v->rhs_more, 0, (size_t)v->padded * sizeof *v->rhs_more);
  FOR_BOUNDS(v, b, i) {
    four product = (four_at(b->s + i) + t * four_at(b->ds + i)) *
                   (four_at(b->z + i) + t * four_at(b->dz + i));
    four wish = four_min(four_max(product, least), most) - product;
    add_wish(b, v->rhs_more, i, four_at(b->has + i) * four_max(wish, -most));
  }
}

/* Returns the step that the direction allows with one more corrector; the direction stays as it was
 * unless that is worth it. */
INLINE double one_more_corrector(interior *v, double target, double step) {
  wish_for_balance(v, target, fmin(1.0, step + 0.3));
  solve_for(v, v->p->matrix->solve, v->rhs_more, v->dx_more);
  double better = spread_step(v, v->dx_more, 1);
  if (better < step + 0.03) return step;
  FOR_FOURS(v, i) {
    four_put(v->dx + i, four_at(v->dx + i) + four_at(v->dx_more + i));
    four_put(v->rhs + i, four_at(v->rhs + i) + four_at(v->rhs_more + i));
  }
  FOR_SIDES(v, b) {
    double *ds = b->ds, *dz = b->dz;
    b->ds = b->ds_more, b->ds_more = ds;
    b->dz = b->dz_more, b->dz_more = dz;
  }
  return better;
}

/* The mean of (s + step ds) (z + step dz); `move`: that is where s and z go. */
INLINE double mean_product_after(interior *v, double step, int move) {
  four sum = four_of(0.0), t = four_of(step);
  FOR_BOUNDS(v, b, i) {
    four s = four_at(b->s + i) + t * four_at(b->ds + i);
    four z = four_at(b->z + i) + t * four_at(b->dz + i);
    sum += s * z;
    if (move) four_put(b->s + i, s), four_put(b->z + i, z);
  }
  return bounds(v) ? four_sum(sum) / bounds(v) : 0.0;
}

/* w follows without a product: (A + barrier) dx is the right side that dx was solved for. */
INLINE void move(interior *v, double step) {
  four t = four_of(step);
  FOR_FOURS(v, i) {
    four dx = four_at(v->dx + i), A_dx = four_at(v->rhs + i) - four_at(v->barrier + i) * dx;
    four_put(v->x + i, four_at(v->x + i) + t * dx);
    four_put(v->w + i, four_at(v->w + i) + t * A_dx);
  }
  v->mu = mean_product_after(v, step, 1);
  v->followed++;
}

/* Second-order steps can run in circles; a few plain ones towards the middle break them. */
static void beware_of_circles(interior *v) {
  if (v->cautious > 0) v->cautious--;
  if (v->mu < 0.9 * v->lowest_mu) {
    v->lowest_mu = v->mu;
    v->lost = 0;
  } else if (++v->lost == MOST_LOST) {
    v->lost = 0;
    v->cautious = PLAIN_STEPS;
  }
}

/* One step of the method; returns its length. */
INLINE double advance_by(interior *v) {
  set_barrier(v);
  double after = mean_product_after(v, predictor(v), 0);
  double ratio = v->mu > 0.0 ? after / v->mu : 0.0;
  double target = v->cautious ? CAUTIOUS_TARGET * v->mu : ratio * ratio * ratio * v->mu;
  double step = corrector(v, target, !v->cautious);
  if (step < 0.9) step = one_more_corrector(v, target, step);
  if (step < 1.0) step *= 0.995;
  move(v, step);
  beware_of_circles(v);
  return step;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static double advance_avx2(interior *v) { return advance_by(v); }
#endif

static double advance(interior *v) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return advance_avx2(v);
#endif
  return advance_by(v);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A bound counts as reached when its multiplier outweighs its slack.  Returns the changes since the
 * last look. */
static int look(interior *v) {
  box *p = v->p;
  const side *lower = &v->side[0], *upper = &v->side[1];
  int changes = 0;
  for (int i = 0; i < p->rows; i++) {
    int at_lo = lower->z[i] > p->diagonal[i] * lower->s[i];
    int at_hi = upper->z[i] > p->diagonal[i] * upper->s[i];
    p->place[i] = (unsigned char)(at_hi ? AT_HI : at_lo ? AT_LO : INSIDE);
    changes += p->place[i] != v->seen[i];
  }
  memcpy(v->seen, p->place, (size_t)p->rows);
  return changes;
}

/* How far the method has come, to know when it is at its end. */
typedef struct progress {
  double first_mu, tried_mu; /* at the start, and when the active set last tried */
  double residual;           /* the last one that was clearly better than the one before */
  int idle;                  /* steps since then */
  int recoveries;
} progress;

static int is_at_end(progress *g, const interior *v, double residual) {
  g->idle++;
  if (residual < 0.5 * g->residual) g->residual = residual, g->idle = 0;
  return v->mu <= LEAST_MU * g->first_mu || (v->mu < IDLE_MU * g->first_mu && g->idle >= MOST_IDLE);
}

/* Steps have become tiny: a few products are far from all the others.  Starts anew from here, with
 * multipliers that fit. */
static int recover(progress *g, interior *v) {
  if (g->recoveries++ == MOST_RECOVERIES) return 0;
  show(v);
  begin(v);
  g->first_mu = fmax(g->first_mu, v->mu);
  g->tried_mu = INFINITY;
  return 1;
}

/* An interior iterate that meets the tolerance is near its bounds but not at them; one active set
 * puts it there.  Kept if it is as good. */
static void polish(interior *v, iteration *it) {
  if (it->status != LCPLUG_SOLVED || it->tol > COARSE) return;
  look(v);
  it->factorizations++;
  lcplug_active_set(v->p, it, 1, 1.0);
  it->status = LCPLUG_SOLVED;
}

/* Whether this iterate is worth judging: far from the end none is the best one, unless it is the
 * last. */
static int is_worth_judging(const interior *v, const progress *g, const iteration *it) {
  return v->mu < JUDGING_MU * g->first_mu ||
         (it->deadline < INFINITY && lcplug_now() > it->deadline);
}

/* Whether the rows have found their places, but for a few. */
static int is_settled(interior *v, const progress *g) {
  if (v->mu > LOOKING_MU * g->first_mu) return 0;
  return look(v) <= SETTLED * v->p->rows + SETTLED_ROWS && v->mu < NEXT_TRY * g->tried_mu;
}

/* The active set from the places that there are; 1 when it has solved the problem. */
static int finish(interior *v, iteration *it) {
  double promising = PROMISING + PROMISING_ROWS / (double)v->p->rows;
  return lcplug_active_set(v->p, it, CROSSOVER_STEPS, promising);
}

lcplug_error lcplug_interior_point(box *p, iteration *it, int steps, lcplug_workspace *workspace) {
  interior v = {.p = p, .side = {{.sign = 1.0}, {.sign = -1.0}}};
  if (!take_vectors(&v, p->rows, workspace)) return LCPLUG_ERROR_MEMORY;
  lcplug_box_set_w(p);
  begin(&v);
  progress g = {.first_mu = v.mu, .tried_mu = INFINITY, .residual = INFINITY};
  for (int step = 0; step < steps; step++) {
    int last = 0;
    if (v.followed >= FOLLOWED_STEPS) show(&v);
    if (is_worth_judging(&v, &g, it)) {
      if (v.followed) show(&v);
      if (lcplug_box_observe(p, it)) {
        polish(&v, it);
        return LCPLUG_OK;
      }
      last = is_at_end(&g, &v, it->residual);
    }
    if (is_settled(&v, &g) || last) {
      if (v.followed) show(&v);
      if (finish(&v, it) || last || it->status == LCPLUG_TIME_LIMIT) return LCPLUG_OK;
      g.tried_mu = v.mu;
    }
    it->factorizations++;
    if (advance(&v) < 1e-6 && !recover(&g, &v)) break;
  }
  it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
