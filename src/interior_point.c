/* interior_point.c - Mehrotra's predictor-corrector method for a box.
 *
 * Every finite bound of a row is a pair of a slack s and a multiplier z, both kept positive:
 *
 *     A x - b = sum of sign z over the row's pairs,    s = sign (x - bound),    s z = mu -> 0
 *
 * with sign +1 at a lower bound and -1 at an upper one.  A step factorizes A + diag(sum z / s) once
 * and solves with it several times: for the predictor (mu 0), for Mehrotra's corrector, and for
 * Gondzio's correctors, which pull products that a longer step would unbalance back to the others.
 *
 * As soon as two looks agree on which rows are at a bound the active set tries to finish. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "box.h"
#include "pair.h"

/* In units of the first mu: from here on the active set may try to finish; from here on steps that
 * bring nothing are counted; here nothing is left. */
static const double CROSSOVER_MU = 1e-8, IDLE_MU = 1e-22, LEAST_MU = 1e-30;
/* Of the diagonal, added to what is factorized: keeps a singular A from dropping pivots. */
static const double BARRIER_TRACE = 1e-11;
/* What a plain step makes of mu. */
static const double CAUTIOUS_TARGET = 0.3;
enum { CROSSOVER_STEPS = 6, MOST_CORRECTORS = 1, MOST_IDLE = 5, MOST_RECOVERIES = 3 };
/* Who asks for no more than this does not pay for more. */
static const double COARSE = 1e-8;
enum { MOST_LOST = 3, PLAIN_STEPS = 3 };

/* The lower or the upper bounds of all rows, and the step of their slacks and multipliers.  Where a row
 * has no such bound z, ds, dz and c are 0, and s is 1. */
typedef struct side {
  double sign;               /* s = sign (x - bound) */
  int bounds;                /* how many rows have one */
  double *has;               /* 1 or 0 */
  double *s, *z;
  double *inverse_s, *inverse_z;
  double *ds, *dz;
  double *c;                 /* the change of s z that the step is to make */
  double *ds_more, *dz_more; /* the step with one more corrector */
} side;

typedef struct interior {
  box *p;
  int padded;           /* rows, and one more where these are odd: it has no bounds and x = 0 */
  double *x, *r;        /* iterate; dual residual A x - b - sum sign z */
  double *dx, *rhs;     /* its step */
  side side[2];         /* lower, upper */
  unsigned char *seen;  /* places of the rows at the last look */
  double mu;            /* mean of s z */
  double lowest_mu;
  int lost;             /* steps that did not lower it */
  int cautious;         /* plain steps to take */
} interior;

#define FOR_SIDES(v, b) for (side *b = (v)->side; b < (v)->side + 2; b++)
#define FOR_PAIRS(v, i) for (int i = 0; i < (v)->padded; i += 2)

static int take_vectors(interior *v, int rows, lcplug_workspace *workspace) {
  v->padded = (rows + 1) & ~1;
  double **by_row[] = {&v->x, &v->r, &v->dx, &v->rhs};
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

static int bounds(const interior *v) { return v->side[0].bounds + v->side[1].bounds; }

static void set_bound(side *b, int row, int has, double slack, double multiplier) {
  b->bounds += has;
  b->has[row] = has;
  b->s[row] = has ? slack : 1.0;
  b->z[row] = has ? multiplier : 0.0;
}

/* The mean of (s + step ds) (z + step dz). */
static double mean_product_after(interior *v, double step) {
  pair sum = pair_of(0.0), t = pair_of(step);
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i)
        sum += (pair_at(b->s + i) + t * pair_at(b->ds + i)) * (pair_at(b->z + i) + t * pair_at(b->dz + i));
  return bounds(v) ? pair_sum(sum) / bounds(v) : 0.0;
}

static double mean_product(interior *v) {
  pair sum = pair_of(0.0);
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) sum += pair_at(b->s + i) * pair_at(b->z + i);
  return bounds(v) ? pair_sum(sum) / bounds(v) : 0.0;
}

/* Products that differ by orders of magnitude make the first steps short: brings each within a
 * factor of ten of their mean by its multiplier. */
static void balance(interior *v) {
  double mu = mean_product(v);
  FOR_SIDES(v, b)
    for (int i = 0; i < v->p->rows; i++) {
      double middle = b->has[i] * mu / b->s[i];
      b->z[i] = fmin(fmax(b->z[i], 0.1 * middle), 10.0 * middle);
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
    v->x[i] = v->r[i] = v->dx[i] = p->dx[i] = 0.0;
    FOR_SIDES(v, b) set_bound(b, i, 0, 0.0, 0.0);
  }
  balance(v);
  v->mu = v->lowest_mu = mean_product(v);
  memset(v->seen, INSIDE, (size_t)p->rows);
}

static void set_dual_residual(interior *v) {
  box *p = v->p;
  memcpy(p->x, v->x, (size_t)p->rows * sizeof *p->x);
  lcplug_box_set_w(p);
  for (int i = 0; i < p->rows; i++) v->r[i] = p->w[i] - v->side[0].z[i] + v->side[1].z[i];
}

static void invert(interior *v) {
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) {
        pair none = pair_of(1.0) - pair_at(b->has + i); /* no bound: z is 0 */
        pair_put(b->inverse_s + i, pair_of(1.0) / pair_at(b->s + i));
        pair_put(b->inverse_z + i, pair_of(1.0) / (pair_at(b->z + i) + none));
      }
}

/* What the factorization adds to the diagonal. */
static void set_barrier(interior *v) {
  box *p = v->p;
  memset(p->keep, 1, (size_t)p->rows);
  for (int i = 0; i < p->rows; i++) p->extra[i] = (BARRIER_TRACE + p->pull) * p->diagonal[i];
  FOR_SIDES(v, b)
    if (b->bounds)
      for (int i = 0; i < p->rows; i++) p->extra[i] += b->z[i] * b->inverse_s[i];
}

/* dx for the right side in v->rhs, to which the wishes c of the bounds are added; then ds and dz. */
typedef void linear_solve(box *p, double *vector);
static void solve_for(interior *v, linear_solve *solve, double *dx, int more) {
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) {
        pair wish = pair_of(b->sign) * pair_at(b->c + i) * pair_at(b->inverse_s + i);
        pair_put(v->rhs + i, pair_at(v->rhs + i) + wish);
      }
  memcpy(dx, v->rhs, (size_t)v->p->rows * sizeof *dx);
  solve(v->p, dx);
  FOR_SIDES(v, b) {
    double *ds = more ? b->ds_more : b->ds, *dz = more ? b->dz_more : b->dz;
    if (b->bounds) FOR_PAIRS(v, i) {
        pair step = pair_of(b->sign) * pair_at(b->has + i) * pair_at(dx + i);
        pair_put(ds + i, step);
        pair_put(dz + i, (pair_at(b->c + i) - pair_at(b->z + i) * step) * pair_at(b->inverse_s + i));
      }
  }
}

static void set_dual_side(interior *v) { FOR_PAIRS(v, i) pair_put(v->rhs + i, -pair_at(v->r + i)); }

static void predictor(interior *v) {
  set_dual_side(v);
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) pair_put(b->c + i, -pair_at(b->s + i) * pair_at(b->z + i));
  solve_for(v, v->p->matrix->factor_and_solve, v->dx, 0);
}

/* second_order: takes the predictor's product ds dz into account, Mehrotra's idea. */
static void corrector(interior *v, double target, int second_order) {
  set_dual_side(v);
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) {
        pair wish = pair_of(target) * pair_at(b->has + i) - pair_at(b->s + i) * pair_at(b->z + i);
        if (second_order) wish -= pair_at(b->ds + i) * pair_at(b->dz + i);
        pair_put(b->c + i, wish);
      }
  solve_for(v, v->p->matrix->solve, v->dx, 0);
}

/* The longest step, at most 1, that keeps slacks and multipliers positive. */
static double longest_step(interior *v, int more) {
  pair inverse = pair_of(1.0); /* the largest of -ds / s and -dz / z */
  FOR_SIDES(v, b) {
    const double *ds = more ? b->ds_more : b->ds, *dz = more ? b->dz_more : b->dz;
    if (b->bounds) FOR_PAIRS(v, i) {
        inverse = pair_max(-pair_at(ds + i) * pair_at(b->inverse_s + i), inverse);
        inverse = pair_max(-pair_at(dz + i) * pair_at(b->inverse_z + i), inverse);
      }
  }
  return 1.0 / pair_largest(inverse);
}

/* What one of Gondzio's correctors asks for: products within a factor of ten of the target after a
 * longer step than the present one. */
static void wish_for_balance(interior *v, double target, double longer) {
  const pair least = pair_of(0.1 * target), most = pair_of(10.0 * target), t = pair_of(longer);
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) {
        pair product = (pair_at(b->s + i) + t * pair_at(b->ds + i)) *
                       (pair_at(b->z + i) + t * pair_at(b->dz + i));
        pair wish = pair_min(pair_max(product, least), most) - product;
        pair_put(b->c + i, pair_at(b->has + i) * pair_max(wish, -most));
      }
}

/* Returns the step that the direction allows with one more corrector; the direction stays as it was
 * unless that is worth it. */
static double one_more_corrector(interior *v, double target, double step) {
  double *dx_more = v->p->dx;
  wish_for_balance(v, target, fmin(1.0, step + 0.3));
  memset(v->rhs, 0, (size_t)v->padded * sizeof *v->rhs);
  solve_for(v, v->p->matrix->solve, dx_more, 1);
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) {
        pair_put(b->ds_more + i, pair_at(b->ds_more + i) + pair_at(b->ds + i));
        pair_put(b->dz_more + i, pair_at(b->dz_more + i) + pair_at(b->dz + i));
      }
  double better = longest_step(v, 1);
  if (better < step + 0.03) return step;
  for (int i = 0; i < v->p->rows; i++) v->dx[i] += dx_more[i];
  FOR_SIDES(v, b) {
    double *ds = b->ds, *dz = b->dz;
    b->ds = b->ds_more, b->ds_more = ds;
    b->dz = b->dz_more, b->dz_more = dz;
  }
  return better;
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

static void move(interior *v, double step) {
  pair t = pair_of(step);
  FOR_PAIRS(v, i) pair_put(v->x + i, pair_at(v->x + i) + t * pair_at(v->dx + i));
  FOR_SIDES(v, b)
    if (b->bounds) FOR_PAIRS(v, i) {
        pair_put(b->s + i, pair_at(b->s + i) + t * pair_at(b->ds + i));
        pair_put(b->z + i, pair_at(b->z + i) + t * pair_at(b->dz + i));
      }
  v->mu = mean_product(v);
}

/* One step of the method; returns its length. */
static double advance(interior *v) {
  invert(v);
  set_barrier(v);
  predictor(v);
  double after = mean_product_after(v, longest_step(v, 0));
  double ratio = v->mu > 0.0 ? after / v->mu : 0.0;
  double target = v->cautious ? CAUTIOUS_TARGET * v->mu : ratio * ratio * ratio * v->mu;
  corrector(v, target, !v->cautious);
  double step = longest_step(v, 0);
  for (int more = 0; more < MOST_CORRECTORS && step < 0.9; more++) {
    double before = step;
    step = one_more_corrector(v, target, step);
    if (step == before) break;
  }
  if (step < 1.0) step *= 0.995;
  move(v, step);
  beware_of_circles(v);
  return step;
}

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
  lcplug_box_set_w(v->p);
  begin(v);
  g->first_mu = fmax(g->first_mu, v->mu);
  g->tried_mu = INFINITY;
  return 1;
}

/* An interior iterate that meets the tolerance is near its bounds but not at them; one active set puts
 * it there.  Kept if it is as good. */
static void polish(interior *v, iteration *it) {
  if (it->status != LCPLUG_SOLVED || it->tol > COARSE) return;
  look(v);
  it->factorizations++;
  lcplug_active_set(v->p, it, 1, 1.0);
  it->status = LCPLUG_SOLVED;
}

lcplug_error lcplug_interior_point(box *p, iteration *it, int steps, lcplug_workspace *workspace) {
  interior v = {.p = p, .side = {{.sign = 1.0}, {.sign = -1.0}}};
  if (!take_vectors(&v, p->rows, workspace)) return LCPLUG_ERROR_MEMORY;
  lcplug_box_set_w(p);
  begin(&v);
  progress g = {.first_mu = v.mu, .tried_mu = INFINITY, .residual = INFINITY};
  for (int step = 0; step < steps; step++) {
    set_dual_residual(&v);
    if (lcplug_box_observe(p, it)) {
      polish(&v, it);
      return LCPLUG_OK;
    }
    int changes = look(&v), last = is_at_end(&g, &v, it->residual);
    int settled = changes == 0 && v.mu < CROSSOVER_MU * g.first_mu && v.mu < 1e-3 * g.tried_mu;
    if (last || settled) {
      if (lcplug_active_set(p, it, CROSSOVER_STEPS, 1.0) || last) return LCPLUG_OK;
      if (it->status == LCPLUG_TIME_LIMIT) return LCPLUG_OK;
      g.tried_mu = v.mu;
      set_dual_residual(&v);
    }
    it->factorizations++;
    if (advance(&v) < 1e-6 && !recover(&g, &v)) break;
  }
  it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
