/* small_cones.c - see small_cones.h.
 *
 * Rows that are free whatever happens (joints) are eliminated already (small.h), and rows are those
 * that are left, in the order of the sets.  A step has the unknowns z,
 *
 *     dx = B z + c,   T'(A dx + s f) + K z = 0 ,
 *
 * one for every row that its set leaves alone (`singles`), then two for every contact that slides
 * (`pairs`); c is what the sets prescribe.  The matrix T'A B + K is symmetric for friction=cone and
 * where nothing slides, which Cholesky's kernel takes; else those of the sparse LU do, without
 * exchanges: a pivot that happens to be small costs digits, which the next step brings back.  The
 * rest is compiled twice, for any processor and for AVX2. */
#include "small_cones.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "four.h"
#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { WIDTH = 4, NONE = -1 };
enum { QUICK_STEPS = 5, MOST_STEPS = 12, PATIENCE = 5, LAST_STEPS = 2, STEPS_IN_TIME = 60 };
/* Fewer unknowns are factorized as quickly as substituted for. */
enum { FEW = 20, MOST_SEEN = 32 };

/* A pivot below this part of the largest diagonal element leaves forces that nothing determines. */
static const double TINY_PIVOT = 1e-14;
/* Of the slip, when a direction is all that is left of the friction force. */
static const double LEAST_REST = 1e-10;
/* Of the unit: an answer that cannot be improved, one that may be good enough, and where one begins
 * that the last factor can still improve, if it has just done so by this much. */
static const double CLEAN = 1e-14, NEAR = 1e-5, CHORD = 1e-2, CONTRACTION = 0.1;
/* Who asks for no more than this gets no more. */
static const double COARSE = 1e-8;
/* The first step in time, and how much shorter the next one may be; each has its own way to go
 * wrong. */
static const struct { double tau, shortest; } relaxations[] = {{5.0, 0.5}, {1.0, 0.3}};
/* How much longer steps become where |f| at least stays, at the most, and the shortest one. */
static const double STAYS = 0.99, LONGER = 1.5, LONGEST = 4.0, LEAST_TAU = 1e-3;
/* Of the unit: a slip that is none. */
static const double REST = 1e-6;
/* Of the unit, when Newton's steps are tried; of what is left then, when again. */
static const double WORTH_A_TRY = 1e-4, NEXT_TRY = 0.01;

typedef enum place { AT_LOW, AT_HIGH, INSIDE, SLIDING, NOWHERE } place;

/* Two unknowns: the force z_1 (1, mu d) along the slip, and z_2 d' across it. */
typedef struct pair {
  int set, row; /* of the normal; the tangents follow */
  double mu, d[2];
  double rest;   /* mu p_n / |u_t|: how fast the force turns with the slip */
  double across; /* K of z_2: holds the force to the direction of the slip */
} pair;

/* A force that follows the one of its normal. */
typedef struct follower {
  int row, normal;
  double ratio;
} follower;

struct small_cones {
  const model *m;         /* of the rows that are left */
  const model *whole;     /* with free rows */
  const small_rest *rest; /* the same in the caller's order, and the way back */
  model reduced;
  int *rest_row;          /* row -> row of the rest */
  int ld;                 /* n rounded up to a multiple of WIDTH */
  const double *A, *b;    /* both triangles, rows of ld numbers */
  int *listed;            /* rows that a product has to do with */
  double *scale;          /* by row */
  double *x, *w;
  double *f;                /* x - P(x - w / s) */
  double *slip;             /* by set: |x_t - w_t / s| where it slides */
  double violation, size;   /* the worst s |f|, and all of them together */
  int linear;               /* nothing slides and nothing follows: x belongs to the places alone */
  uint64_t seen[MOST_SEEN]; /* places that were tried, where that is so */
  int seen_count;
  unsigned char *place; /* by set */
  /* the unknowns, of the places at the last factorization */
  int singles, pairs, followers, unknowns;
  int *single, *unknown_of; /* row -> its unknown or NONE */
  pair *pair;
  follower *follower;
  /* a step */
  double *c, *Ac;
  double drag, part; /* 1 / tau of a step in time, 0 for Newton's; 1 / (1 + drag) */
  int symmetric, panel_ld;
  double *lower, *upper; /* panels: the lower triangle, the upper one transposed */
  const cholesky_kernels *kernels;
  double *inverse, *floor, *ones, *z;
  double *start, *kept;
  double *feasible;         /* next to x */
  double *answer, *Aanswer; /* the same with free rows, in the order of the model */
  double *in_rest, *full;   /* and in the caller's order, without free rows and with them */
};

typedef struct small_cones reduction;

static int padded(int rows) { return (rows + WIDTH - 1) & -WIDTH; }

static int take_arrays(reduction *r, lcplug_workspace *workspace) {
  size_t n = (size_t)r->m->n, ld = (size_t)r->ld, all = (size_t)r->whole->n;
  double **vectors[] = {&r->scale,  &r->x,        &r->w,      &r->f,       &r->slip,    &r->c,
                        &r->Ac,     &r->z,        &r->floor,  &r->ones,    &r->inverse, &r->start,
                        &r->kept,   &r->feasible, &r->answer, &r->Aanswer, &r->in_rest, &r->full};
  size_t count = sizeof vectors / sizeof *vectors, each = (size_t)padded((int)all) + 2 * WIDTH;
  double *lines = TAKE(workspace, double, count *each);
  r->lower = TAKE(workspace, double, n *(ld + WIDTH));
  r->upper = TAKE(workspace, double, n *(ld + WIDTH));
  r->single = TAKE(workspace, int, 3 * n + 1);
  r->place = TAKE(workspace, unsigned char, n);
  r->pair = TAKE(workspace, pair, n / 3 + 1);
  r->follower = TAKE(workspace, follower, n);
  if (!lines || !r->lower || !r->upper || !r->single || !r->place || !r->pair || !r->follower)
    return 0;
  for (size_t i = 0; i < count; i++) *vectors[i] = lines + i * each;
  r->unknown_of = r->single + n, r->listed = r->unknown_of + n;
  return 1;
}

static inline void copy(const reduction *r, double *to, const double *from) {
  memcpy(to, from, (size_t)r->ld * sizeof *to);
}

/* The model's sets without those of free rows. */
static int reduce_model(reduction *r, lcplug_workspace *workspace) {
  const model *whole = r->whole;
  int *row = TAKE(workspace, int, whole->n);
  force_set *sets = TAKE(workspace, force_set, whole->blocks);
  double *scale = TAKE(workspace, double, whole->blocks);
  if (!row || !sets || !scale) return 0;
  r->reduced = (model){.sets = sets, .scale = scale, .coulomb = whole->coulomb, .unit = whole->unit};
  for (int k = 0; k < whole->blocks; k++) {
    force_set set = whole->sets[k];
    if (set.kind == SET_FREE) continue;
    for (int i = 0; i < set.rows; i++) row[set.first + i] = r->reduced.n++;
    set.first = row[set.first];
    if (set.kind == SET_COUPLED) set.normal = row[set.normal];
    scale[r->reduced.blocks] = whole->scale[k];
    sets[r->reduced.blocks++] = set;
  }
  r->m = &r->reduced;
  return 1;
}

/* The matrix of the rest is taken as it is if its rows are in the order of the sets. */
static int load_matrix(reduction *r, lcplug_workspace *workspace) {
  const layout *l = r->whole->op->layout;
  const small_rest *rest = r->rest;
  int n = rest->n, ld = rest->ld, *in_rest = TAKE(workspace, int, r->whole->n);
  r->rest_row = TAKE(workspace, int, n);
  if (!in_rest || !r->rest_row) return 0;
  for (int i = 0; i < r->whole->n; i++) in_rest[i] = NONE;
  for (int k = 0; k < n; k++) in_rest[rest->caller_row[k]] = k;
  for (int i = 0, k = 0; i < r->whole->n; i++)
    if (in_rest[l->row[i]] != NONE) r->rest_row[k++] = in_rest[l->row[i]];
  r->A = rest->A, r->b = rest->b;
  if (l->identity) return 1;
  double *A = TAKE(workspace, double, n *ld), *b = TAKE(workspace, double, ld);
  if (!A || !b) return 0;
  for (int i = 0; i < n; i++) {
    const double *from = rest->A + r->rest_row[i] * ld;
    for (int j = 0; j < n; j++) A[i * ld + j] = from[r->rest_row[j]];
    for (int j = n; j < ld; j++) A[i * ld + j] = 0.0;
    b[i] = rest->b[r->rest_row[i]];
  }
  for (int i = n; i < ld; i++) b[i] = 0.0;
  r->A = A, r->b = b;
  return 1;
}

static void load_vectors(reduction *r) {
  const model *m = r->m;
  for (int i = m->n; i < r->ld; i++) r->x[i] = r->c[i] = r->feasible[i] = 0.0;
  for (int i = 0; i < m->n; i++) r->ones[i] = 1.0;
  for (int k = 0; k < m->blocks; k++)
    for (int i = 0; i < m->sets[k].rows; i++) r->scale[m->sets[k].first + i] = m->scale[k];
}

/* ---- what the sets do ------------------------------------------------------------------------ */

INLINE double larger(double a, double b) { return a > b ? a : b; }

/* What is left in a row: s f = w where its set leaves it alone. */
INLINE double leave_alone(reduction *r, int row, double compliance) {
  r->f[row] = r->w[row] * compliance;
  return fabs(r->w[row]);
}

INLINE double put_at(reduction *r, int row, double bound, double scale) {
  r->f[row] = r->x[row] - bound;
  return scale * fabs(r->f[row]);
}

/* Whether a normal presses: friction without limit asks. */
INLINE int presses(const reduction *r, int normal) { return r->x[normal] != r->f[normal]; }

INLINE place read_row(reduction *r, const force_set *set, double scale, double *left) {
  int row = set->first;
  double compliance = 1.0 / scale, wanted = r->x[row] - r->w[row] * compliance, lo = set->lo,
         hi = set->hi;
  if (set->kind == SET_COUPLED && set->mu[0] == INFINITY) {
    hi = presses(r, set->normal) ? INFINITY : 0.0, lo = -hi;
  } else if (set->kind == SET_COUPLED) {
    hi = lcplug_friction_bound(set->mu[0], r->x[set->normal]), lo = -hi;
  }
  place at = wanted < lo || lo == hi ? AT_LOW : wanted > hi ? AT_HIGH : INSIDE;
  *left = at == INSIDE ? leave_alone(r, row, compliance)
                       : put_at(r, row, at == AT_LOW ? lo : hi, scale);
  return at;
}

INLINE place read_cone(reduction *r, int k, const force_set *set, double scale, double *left) {
  int first = set->first, three = set->rows > 2;
  double mu = set->mu[0], compliance = 1.0 / scale, u[3], normal, worst = 0.0;
  for (int i = 0; i < 2 + three; i++) u[i] = r->x[first + i] - r->w[first + i] * compliance;
  double slip = r->slip[k] = three ? sqrt(u[1] * u[1] + u[2] * u[2]) : fabs(u[1]);
  place at = (r->m->coulomb ? u[0] <= 0.0 : mu * slip <= -u[0]) ? AT_LOW
             : slip <= mu * u[0]                                ? INSIDE
                                                                : SLIDING;
  if (at == INSIDE) {
    for (int i = 0; i < 2 + three; i++)
      worst = larger(leave_alone(r, first + i, compliance), worst);
    *left = worst;
    return at;
  }
  normal = at == AT_LOW ? 0.0 : r->m->coulomb ? u[0] : (u[0] + mu * slip) / (1.0 + mu * mu);
  worst = r->m->coulomb && at == SLIDING ? leave_alone(r, first, compliance)
                                         : put_at(r, first, normal, scale);
  double per_slip = at == AT_LOW ? 0.0 : mu * normal / slip;
  for (int i = 1; i < 2 + three; i++)
    worst = larger(put_at(r, first + i, per_slip * u[i], scale), worst);
  *left = worst;
  return at;
}

/* Where every set is, and what is left of its conditions; 1 if all are where they were. */
INLINE int read_sets(reduction *r) {
  const model *m = r->m;
  double worst = 0.0, sum = 0.0, left;
  four unsound = four_of(0.0);
  int same = 1;
  for (int i = 0; i < r->ld; i += WIDTH) unsound += four_at(r->w + i) * 0.0; /* NaN if not finite */
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    place at = set->rows > 1 ? read_cone(r, k, set, m->scale[k], &left)
                             : read_row(r, set, m->scale[k], &left);
    same &= at == r->place[k];
    r->place[k] = (unsigned char)at;
    worst = left > worst ? left : worst;
    sum += left * left;
  }
  int sound = four_sum(unsound) == 0.0 && sum < INFINITY;
  r->violation = sound ? worst : INFINITY;
  r->size = sound ? sqrt(sum) : INFINITY;
  return same;
}

/* ---- what is unknown ------------------------------------------------------------------------- */

INLINE void add_single(reduction *r, int row) {
  r->unknown_of[row] = r->singles;
  r->single[r->singles++] = row;
}

INLINE void add_follower(reduction *r, int row, int normal, double ratio) {
  r->follower[r->followers++] = (follower){row, normal, ratio};
}

/* x_t = x - f is on the edge, which tells its direction. */
INLINE void add_sliding(reduction *r, int k, const force_set *set) {
  int row = set->first;
  double mu = set->mu[0], slip = r->slip[k], scale = r->m->scale[k];
  double u[2] = {r->x[row + 1] - r->w[row + 1] / scale, 0.0};
  if (set->rows < 3) {
    add_single(r, row);
    add_follower(r, row + 1, row, u[0] < 0.0 ? -mu : mu);
    return;
  }
  u[1] = r->x[row + 2] - r->w[row + 2] / scale;
  double rest = larger(mu * (r->x[row] - r->f[row]) / slip, LEAST_REST);
  r->pair[r->pairs++] =
      (pair){k, row, mu, {u[0] / slip, u[1] / slip}, rest, scale * (1.0 / rest - 1.0)};
}

INLINE void choose_unknowns(reduction *r) {
  const model *m = r->m;
  r->singles = r->pairs = r->followers = 0;
  for (int i = 0; i < m->n; i++) r->unknown_of[i] = NONE;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    int at = r->place[k];
    if (at == INSIDE) {
      for (int i = 0; i < set->rows; i++) add_single(r, set->first + i);
    } else if (at == SLIDING) {
      add_sliding(r, k, set);
    } else if (set->kind == SET_COUPLED && set->mu[0] < INFINITY && r->x[set->normal] != 0.0) {
      double mu = r->x[set->normal] < 0.0 ? -set->mu[0] : set->mu[0];
      add_follower(r, set->first, set->normal, at == AT_LOW ? -mu : mu);
    }
  }
  for (int l = 0; l < r->pairs; l++) r->unknown_of[r->pair[l].row] = r->singles + 2 * l;
  r->unknowns = r->singles + 2 * r->pairs;
  r->symmetric = !r->followers && (!r->pairs || !m->coulomb);
}

/* What a pair lacks, along the slip of its contact and across it. */
INLINE double lack_along(const reduction *r, const pair *p) {
  return r->f[p->row + 1] * p->d[0] + r->f[p->row + 2] * p->d[1];
}

INLINE double lack_across(const reduction *r, const pair *p) {
  return r->f[p->row + 2] * p->d[0] - r->f[p->row + 1] * p->d[1];
}

/* The part of dx that no unknown has to be found for. */
INLINE void set_constants(reduction *r) {
  const model *m = r->m;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    for (int i = set->first; i < set->first + set->rows; i++)
      r->c[i] = r->place[k] == INSIDE ? 0.0 : -r->part * r->f[i];
    if (r->place[k] == SLIDING && set->rows == 2) {
      double towards = r->x[set->first + 1] - r->w[set->first + 1] / m->scale[k];
      r->c[set->first + 1] += r->part * copysign(set->mu[0], towards) * r->f[set->first];
      r->c[set->first] = 0.0;
    }
  }
  for (int l = 0; l < r->pairs; l++) {
    const pair *p = &r->pair[l];
    double along = lack_along(r, p), *c = r->c + p->row;
    if (m->coulomb) {
      along = r->part * (p->mu * r->f[p->row] - along);
      c[0] = 0.0, c[1] = along * p->d[0], c[2] = along * p->d[1];
    } else { /* what is across the edge of the cone, away from it */
      double away = r->part * (p->mu * r->f[p->row] - along) / (1.0 + p->mu * p->mu);
      c[0] = -p->mu * away, c[1] = away * p->d[0], c[2] = away * p->d[1];
    }
  }
  for (int e = 0; e < r->followers; e++) {
    const follower *o = &r->follower[e];
    if (r->unknown_of[o->normal] == NONE) r->c[o->row] += o->ratio * r->part * r->c[o->normal];
  }
}

/* ---- products -------------------------------------------------------------------------------- */

/* Up to 16 rows of y += A v, for the rows of v that are listed. */
INLINE void multiply_rows(const reduction *r, const double *v, int rows, double *y, int i,
                          const int fours) {
  four sum[4];
#pragma GCC unroll 4
  for (int q = 0; q < fours; q++) sum[q] = four_at(y + i + 4 * q);
  for (int k = 0; k < rows; k++) {
    int j = r->listed[k];
    const double *a = r->A + j * r->ld + i;
    four by = four_of(v[j]);
#pragma GCC unroll 4
    for (int q = 0; q < fours; q++) sum[q] += by * four_at(a + 4 * q);
  }
#pragma GCC unroll 4
  for (int q = 0; q < fours; q++) four_put(y + i + 4 * q, sum[q]);
}

/* y += A v */
INLINE void multiply(const reduction *r, const double *v, double *y) {
  int i = 0, rows = 0;
  for (int j = 0; j < r->m->n; j++) {
    r->listed[rows] = j;
    rows += v[j] != 0.0;
  }
  if (!rows) return;
  for (; i + 16 <= r->ld; i += 16) multiply_rows(r, v, rows, y, i, 4);
  if (r->ld - i == 12) multiply_rows(r, v, rows, y, i, 3);
  else if (r->ld - i == 8) multiply_rows(r, v, rows, y, i, 2);
  else if (r->ld - i == 4) multiply_rows(r, v, rows, y, i, 1);
}

INLINE void find_w(reduction *r) {
  for (int i = 0; i < r->ld; i += WIDTH) four_put(r->w + i, -four_at(r->b + i));
  multiply(r, r->x, r->w);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* What a pair's unknowns have of a vector: by their forces, and by what tests them. */
INLINE double by_force(const pair *p, const double *v) {
  return v[0] + p->mu * (p->d[0] * v[1] + p->d[1] * v[2]);
}

INLINE double by_across(const pair *p, const double *v) { return p->d[0] * v[2] - p->d[1] * v[1]; }

/* The column of a row that is alone, from its own place on; above the diagonal, transposed, the
 * forces of pairs take the place of their tests. */
INLINE void fill_single(reduction *r, int j) {
  int S = r->singles, ld = r->panel_ld, coulomb = r->m->coulomb;
  const double *v = r->A + r->single[j] * r->ld;
  double *low = r->lower + j * ld, *up = r->upper + j * ld;
  int i = j & -WIDTH; /* what is above the diagonal is not read */
  for (; i + WIDTH <= S; i += WIDTH) {
    four picked = four_picked(v, r->single + i);
    four_put(low + i, picked);
    if (!r->symmetric) four_put(up + i, picked);
  }
  for (; i < S; i++) low[i] = up[i] = v[r->single[i]];
  for (int l = 0; l < r->pairs; l++) {
    const pair *p = &r->pair[l];
    double force = by_force(p, v + p->row), across = by_across(p, v + p->row);
    low[S + 2 * l] = coulomb ? v[p->row] : force;
    low[S + 2 * l + 1] = across;
    if (coulomb) up[S + 2 * l] = force, up[S + 2 * l + 1] = across;
  }
}

/* Both columns of a pair: 2 x 2 of every 3 x 3. */
INLINE void fill_pair(reduction *r, int l) {
  int S = r->singles, ld = r->panel_ld, j = S + 2 * l, coulomb = r->m->coulomb;
  const pair *p = &r->pair[l];
  double *low = r->lower + j * ld, *up = r->upper + j * ld;
  for (int o = l; o < r->pairs; o++) {
    const pair *q = &r->pair[o];
    const double *a = r->A + q->row * r->ld + p->row;
    double force[3], across[3], normal[3];
    int i = S + 2 * o;
    for (int k = 0; k < 3; k++, a += r->ld)
      force[k] = by_force(p, a), across[k] = by_across(p, a), normal[k] = a[0];
    low[i] = coulomb ? force[0] : by_force(q, force);
    low[i + 1] = by_across(q, force);
    low[ld + i] = coulomb ? across[0] : by_force(q, across);
    low[ld + i + 1] = by_across(q, across);
    if (!coulomb) continue;
    up[i] = by_force(q, normal);
    up[i + 1] = by_across(q, normal);
    up[ld + i] = by_force(q, across);
    up[ld + i + 1] = by_across(q, across);
  }
}

/* What tests unknown i, of a vector. */
INLINE double tested(const reduction *r, int i, const double *v) {
  if (i < r->singles) return v[r->single[i]];
  const pair *p = &r->pair[(i - r->singles) / 2];
  if ((i - r->singles) % 2) return by_across(p, v + p->row);
  return r->m->coulomb ? v[p->row] : by_force(p, v + p->row);
}

/* A force that follows adds to the column of the one that it follows. */
INLINE void add_followers(reduction *r) {
  int ld = r->panel_ld;
  for (int e = 0; e < r->followers; e++) {
    const follower *o = &r->follower[e];
    int j = r->unknown_of[o->normal];
    for (int i = 0; i < r->unknowns && j != NONE; i++) {
      double more = o->ratio * r->part * tested(r, i, r->A + o->row * r->ld);
      *(i < j ? &r->upper[i * ld + j] : &r->lower[j * ld + i]) += more;
    }
  }
}

INLINE void assemble(reduction *r) {
  int rows = r->unknowns, ld = r->panel_ld = padded(rows) + WIDTH;
  double largest = 0.0;
  for (int j = 0; j < r->singles; j++) fill_single(r, j);
  for (int l = 0; l < r->pairs; l++) fill_pair(r, l);
  if (r->followers) add_followers(r);
  for (int j = 0; j < r->singles; j++) r->lower[j * (ld + 1)] += r->drag * r->scale[r->single[j]];
  for (int l = 0; l < r->pairs; l++) {
    const pair *p = &r->pair[l];
    int j = r->singles + 2 * l;
    double drag = r->drag * r->scale[p->row];
    r->lower[j * (ld + 1)] += r->m->coulomb ? drag : drag * (1.0 + p->mu * p->mu);
    r->lower[(j + 1) * (ld + 1)] += p->across + drag / p->rest;
  }
  for (int j = 0; j < rows; j++) {
    double size = fabs(r->lower[j * (ld + 1)]);
    largest = size > largest ? size : largest;
    for (int i = rows; i < ld; i++) r->lower[j * ld + i] = 0.0;
    for (int i = rows; i < ld && !r->symmetric; i++) r->upper[j * ld + i] = 0.0;
  }
  for (int j = 0; j < rows; j++) r->floor[j] = TINY_PIVOT * largest;
}

/* -T'(A c + s f), and what holds the force across. */
INLINE void set_right_side(reduction *r) {
  for (int i = 0; i < r->ld; i += WIDTH)
    four_put(r->Ac + i, four_at(r->scale + i) * four_at(r->f + i));
  multiply(r, r->c, r->Ac);
  for (int j = 0; j < r->unknowns; j++) r->z[j] = -tested(r, j, r->Ac);
  for (int l = 0; l < r->pairs; l++)
    r->z[r->singles + 2 * l + 1] -= r->pair[l].across * lack_across(r, &r->pair[l]);
}

/* With z as the row below, which does the forward substitution on the way.  0 for a singular
 * matrix. */
INLINE int factorize(reduction *r) {
  int rows = r->unknowns, below = padded(rows), ld = r->panel_ld;
  double *panel = r->symmetric ? r->lower : r->upper;
  for (int j = 0; j < rows; j++) panel[j * ld + below] = r->z[j];
  int bad = r->symmetric
                ? r->kernels->panel(r->lower, ld, rows, r->floor, r->inverse)
                : r->kernels->panels(r->lower, r->upper, ld, rows, r->floor, r->inverse, r->ones);
  for (int j = 0; j < rows; j++) r->z[j] = panel[j * ld + below];
  return !bad;
}

/* The row below is a right side, not one of the matrix's: it counts for nothing behind the zeros of
 * z. */
INLINE void substitute(reduction *r, int forward) {
  int rows = r->unknowns, ld = r->panel_ld;
  for (int j = rows; j < ld; j++) r->z[j] = 0.0;
  if (forward) r->kernels->forward(r->lower, ld, rows, r->symmetric ? r->inverse : r->ones, r->z);
  for (int j = rows; j < ld; j++) r->z[j] = 0.0;
  r->kernels->backward(r->symmetric ? r->lower : r->upper, ld, rows, r->inverse, r->z);
}

/* x += B z + c */
INLINE void move(reduction *r) {
  const double *z = r->z;
  for (int i = 0; i < r->ld; i += WIDTH) four_put(r->x + i, four_at(r->x + i) + four_at(r->c + i));
  for (int j = 0; j < r->singles; j++) r->x[r->single[j]] += z[j];
  for (int l = 0; l < r->pairs; l++) {
    const pair *p = &r->pair[l];
    double along = z[r->singles + 2 * l], across = z[r->singles + 2 * l + 1];
    r->x[p->row] += along;
    r->x[p->row + 1] += p->mu * p->d[0] * along - p->d[1] * across;
    r->x[p->row + 2] += p->mu * p->d[1] * along + p->d[0] * across;
  }
  for (int e = 0; e < r->followers; e++) {
    const follower *o = &r->follower[e];
    if (r->unknown_of[o->normal] != NONE)
      r->x[o->row] += o->ratio * r->part * z[r->unknown_of[o->normal]];
  }
}

/* One step, with a matrix of its own or with the one before. */
INLINE int step(reduction *r, int fresh) {
  if (fresh) choose_unknowns(r);
  set_constants(r);
  if (r->unknowns) {
    set_right_side(r);
    if (fresh) {
      assemble(r);
      if (!factorize(r)) return 0;
    }
    substitute(r, !fresh);
  }
  move(r);
  find_w(r);
  return 1;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Whether these places were tried before: then x comes around in a circle. */
static int was_here(reduction *r) {
  uint64_t sum = 14695981039346656037u;
  for (int k = 0; k < r->m->blocks; k++) sum = (sum ^ r->place[k]) * 1099511628211u;
  for (int k = 0; k < r->seen_count; k++)
    if (r->seen[k] == sum) return 1;
  if (r->seen_count < MOST_SEEN) r->seen[r->seen_count++] = sum;
  return 0;
}

/* The forces in all rows, and what A makes of them. */
INLINE void complete(reduction *r) {
  const model *whole = r->whole;
  const small_rest *rest = r->rest;
  if (!rest->frees) {
    copy(r, r->answer, r->feasible);
    for (int i = 0; i < r->ld; i += WIDTH) four_put(r->Aanswer + i, four_of(0.0));
    multiply(r, r->answer, r->Aanswer);
    return;
  }
  for (int k = 0; k < rest->n; k++) {
    int row = r->rest_row[k];
    r->in_rest[row] = r->full[rest->caller_row[row]] = r->feasible[k];
  }
  lcplug_small_recover(rest, r->in_rest, r->full);
  for (int i = 0; i < whole->n; i++) r->answer[i] = r->full[whole->op->layout->row[i]];
  whole->op->table->apply(whole->op, r->answer, r->Aanswer);
}

/* The answer that x stands for is the feasible one next to it. */
INLINE int judge(reduction *r, iteration *it) {
  copy(r, r->feasible, r->x);
  lcplug_make_feasible(r->m, r->feasible);
  complete(r);
  return lcplug_iteration_observe(it, r->whole, r->answer, r->Aanswer);
}

/* Whether x is as good as it gets, or as it is asked for. */
INLINE int is_ready(const reduction *r, const iteration *it, int *last_steps) {
  double left = r->violation / r->m->unit;
  if (left <= CLEAN) return 1;
  return left <= it->tol && (it->tol > COARSE || (*last_steps)++ == LAST_STEPS);
}

INLINE int settle(reduction *r, iteration *it) {
  double best = INFINITY, before = INFINITY;
  int last_steps = 0, unit_steps = 0;
  for (int steps = 0, since = 0;; since++) {
    int same = read_sets(r);
    /* Beside an edge at which nothing slides each step only halves what is left, and the residual
     * is below the tolerance long before it is. */
    int slow = steps > QUICK_STEPS && r->violation <= NEAR * r->m->unit;
    if (slow ? judge(r, it) && lcplug_iteration_is_clean(it, last_steps++)
             : unit_steps && is_ready(r, it, &last_steps) && judge(r, it))
      return 1;
    if (unit_steps && r->violation < best) best = r->violation, since = 0;
    int chord = steps && same && r->unknowns >= FEW && r->violation <= CHORD * r->m->unit &&
                r->violation <= CONTRACTION * before;
    if ((!chord && steps == MOST_STEPS) || since == PATIENCE) break;
    if (r->linear && !same && was_here(r)) break;
    if (!step(r, !chord)) break;
    before = r->violation;
    unit_steps++;
    if (!chord) steps++, it->factorizations++;
  }
  return r->violation <= NEAR * r->m->unit && judge(r, it);
}

/* The next step in time: longer while |f| falls, or stays, shorter when it rises. */
INLINE double next_tau(double tau, double before, double after, double shortest) {
  double change = before / after;
  if (change > STAYS) change = fmax(change, LONGER);
  return fmax(tau * fmin(fmax(change, shortest), LONGEST), LEAST_TAU);
}

static int is_late(iteration *it) {
  if (it->deadline == INFINITY || lcplug_now() <= it->deadline) return 0;
  it->status = LCPLUG_TIME_LIMIT;
  return 1;
}

/* Steps in time from x, until Newton's have an end. */
INLINE int relax(reduction *r, iteration *it, double tau, double shortest) {
  double near = WORTH_A_TRY * r->m->unit;
  read_sets(r);
  for (int k = 0; k < STEPS_IN_TIME && !is_late(it); k++) {
    double before = r->size;
    r->drag = 1.0 / tau, r->part = 1.0 / (1.0 + r->drag);
    int moved = step(r, 1);
    r->drag = 0.0, r->part = 1.0;
    it->factorizations++;
    read_sets(r);
    if (!moved || r->size == INFINITY) return 0;
    tau = next_tau(tau, before, r->size, shortest);
    if (r->violation > near) continue;
    near = NEXT_TRY * r->violation;
    copy(r, r->kept, r->x);
    if (settle(r, it)) return 1;
    copy(r, r->x, r->kept);
    find_w(r);
    read_sets(r);
  }
  return 0;
}

/* Whether no contact slides under the friction that x is the answer to.  Then exact friction may
 * well hold everything, too, but has other answers beside that one, in which structures creep.
 * Steps in time do not tell them apart. */
INLINE int is_at_rest(const reduction *r) {
  double fastest = 0.0;
  for (int k = 0; k < r->m->blocks; k++) {
    const force_set *set = &r->m->sets[k];
    for (int i = 1; i < set->rows && r->x[set->first] > 0.0; i++)
      fastest = larger(fabs(r->w[set->first + i]), fastest);
  }
  return fastest <= REST * r->m->unit;
}

INLINE int solve(reduction *r, iteration *it) {
  copy(r, r->start, r->x);
  find_w(r);
  if (settle(r, it)) return 1;
  if (r->linear) return 0; /* a circle is a circle in any time */
  copy(r, r->x, r->start);
  find_w(r);
  if (is_at_rest(r)) return 0;
  for (size_t k = 0; k < sizeof relaxations / sizeof *relaxations; k++) {
    copy(r, r->x, r->start);
    find_w(r);
    if (relax(r, it, relaxations[k].tau, relaxations[k].shortest)) return 1;
  }
  return 0;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static int solve_avx2(reduction *r, iteration *it) {
  return solve(r, it);
}
#endif

static int solve_best(reduction *r, iteration *it) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return solve_avx2(r, it);
#endif
  return solve(r, it);
}

/* Circular cones; those of one tangent only for exact friction. */
static int is_usual(reduction *r) {
  r->linear = 1;
  for (int k = 0; k < r->m->blocks; k++) {
    const force_set *set = &r->m->sets[k];
    if (set->kind == SET_ELLIPSE || (set->rows == 2 && !r->m->coulomb)) return 0;
    if (set->rows > 1 || (set->kind == SET_COUPLED && set->mu[0] < INFINITY)) r->linear = 0;
  }
  return 1;
}

lcplug_error lcplug_small_cones_begin(const model *m, const small_rest *rest, small_cones **cones,
                                      lcplug_workspace *workspace) {
  reduction *r = TAKE(workspace, reduction, 1);
  *cones = NULL;
  if (!r) return LCPLUG_ERROR_MEMORY;
  *r = (reduction){.m = m,
                   .whole = m,
                   .rest = rest,
                   .part = 1.0,
                   .ld = rest->ld,
                   .kernels = lcplug_kernels_best()};
  if (!is_usual(r)) return LCPLUG_OK;
  if ((rest->frees && !reduce_model(r, workspace)) || !take_arrays(r, workspace) ||
      !load_matrix(r, workspace))
    return LCPLUG_ERROR_MEMORY;
  load_vectors(r);
  *cones = r;
  return LCPLUG_OK;
}

void lcplug_small_cones_settle(small_cones *r, const double *start, iteration *it, double *Ax) {
  const model *whole = r->whole;
  const int *solver_row = whole->op->layout->place, *caller_row = r->rest->caller_row;
  size_t n = (size_t)whole->n;
  int earlier = it->iterations - it->factorizations;
  for (int k = 0; k < r->m->n; k++) r->x[k] = start[solver_row[caller_row[r->rest_row[k]]]];
  for (int k = 0; k < r->m->blocks; k++) r->place[k] = NOWHERE;
  int solved = solve_best(r, it);
  it->iterations = earlier + it->factorizations; /* not only those that were looked at */
  int is_last = !memcmp(it->x, r->answer, n * sizeof *r->answer);
  if (solved && is_last) memcpy(Ax, r->Aanswer, n * sizeof *Ax);
  else if (solved) whole->op->table->apply(whole->op, it->x, Ax);
  else if (it->status != LCPLUG_TIME_LIMIT) it->status = LCPLUG_STALLED;
}
