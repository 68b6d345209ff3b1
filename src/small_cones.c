/* small_cones.c - see small_cones.h.
 *
 * Rows that are free whatever happens (joints) are eliminated already (small.h), and rows are those
 * that are left, in the order of the sets.  A step has the unknowns z,
 *
 *     dx = B z + c,   T'(A dx + s f) + K z = 0 ,
 *
 * one for every row that its set leaves alone (`singles`), then two for every contact that slides
 * (`pairs`), the force across the slip and the one along it; c is what the sets prescribe.  The
 * matrix T'A B + K is symmetric but for the forces along the slip, which exact friction tests by
 * the normal alone:
 *
 *     [ M   F ]      M: singles and forces across, symmetric and positive
 *     [ T'  C ]      F, T': what forces along the slip do, and what their tests see
 *
 * Cholesky's kernel takes M, with the rows of T' and F' below it, and those of the sparse LU take
 * C - T' M^-1 F, without exchanges: a pivot that happens to be small costs digits, which the next
 * step brings back.  Where friction=cone has them tested by themselves they are part of M.  The
 * rest is compiled twice, for any processor and for AVX2. */
#include "small_cones.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "four.h"
#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { WIDTH = 4, NONE = -1, SINGLE = -2 };
enum { QUICK_STEPS = 5, MOST_STEPS = 12, PATIENCE = 5, LAST_STEPS = 2, STEPS_IN_TIME = 60 };
/* Fewer unknowns are factorized as quickly as substituted for. */
enum { FEW = 20, MOST_SEEN = 32 };
/* Sweeps before the first step, and the rows above which that costs more than they do. */
enum { SWEEPS = 4, MANY_ROWS = 40 };

/* A pivot below this part of the largest diagonal element leaves forces that nothing determines. */
static const double TINY_PIVOT = 1e-14;
/* Of the slip, when a direction is all that is left of the friction force. */
static const double LEAST_REST = 1e-10;
/* Of the unit: an answer that cannot be improved, one that may be good enough, and where one begins
 * that the last factor can still improve, if it has just done so by this much. */
static const double CLEAN = 1e-14, NEAR = 1e-5, CHORD = 1e-2, CONTRACTION = 0.1;
/* Of the unit: what has not come as far in QUICK_STEPS will not settle. */
static const double ON_THE_WAY = 0.1;
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

/* Two unknowns: the force z_1 (1, mu d) along the slip, and z_2 d' across it.  A single that others
 * follow stands behind the pairs, with nothing across and mu = 0: its force does more, too, than
 * what tests it. */
typedef struct pair {
  int row; /* of the normal; the tangents follow */
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
  int *rest_row;       /* row -> row of the rest */
  int ld;              /* n rounded up to a multiple of WIDTH */
  const double *A, *b; /* both triangles, rows of ld numbers */
  int *listed;         /* rows that a product has to do with */
  double *scale;       /* by row */
  double *x, *w;
  double *f;                /* x - P(x - w / s) */
  double *slip;             /* by set: |x_t - w_t / s| where it slides */
  double violation, size;   /* the worst s |f|, and all of them together */
  int linear;               /* nothing slides and nothing follows: x belongs to the places alone */
  uint64_t seen[MOST_SEEN]; /* places that were tried, where that is so */
  int seen_count;
  unsigned char *place; /* by set */
  /* the unknowns, of the places at the last factorization */
  int singles, pairs, leaders, followers; /* leaders: the pairs, and singles that others follow */
  int *single, *leader_of;                /* row -> its pair, NONE or SINGLE */
  pair *pair;
  follower *follower;
  /* the same of four leaders at a time: d, mu d, and 1 (0 where there is none) */
  int *leader_row;
  double *heading[2], *force[2], *present;
  /* a step */
  double *c, *Ac;
  double drag, part; /* 1 / tau of a step in time, 0 for Newton's; 1 / (1 + drag) */
  const cholesky_kernels *kernels;
  /* M, and below it the tests of leaders, and their forces; both begin at multiples of WIDTH */
  int core, first_test, first_force, panel_ld;
  double *panel, *inverse, *z;
  /* C: the lower triangle, the upper one transposed */
  int turned, turned_ld;
  double *lower, *upper, *turned_inverse, *turned_z;
  double *floor, *ones, *line[3];
  double *start, *kept;
  double *feasible;         /* next to x */
  double *answer, *Aanswer; /* the same with free rows, in the order of the model */
  double *in_rest, *full;   /* and in the caller's order, without free rows and with them */
};

typedef struct small_cones reduction;

static int padded(int rows) { return (rows + WIDTH - 1) & -WIDTH; }

static int take_arrays(reduction *r, lcplug_workspace *workspace) {
  size_t n = (size_t)r->m->n, ld = (size_t)r->ld, all = (size_t)r->whole->n;
  double **vectors[] = {&r->scale,    &r->x,          &r->w,          &r->f,        &r->slip,
                        &r->c,        &r->Ac,         &r->z,          &r->floor,    &r->ones,
                        &r->inverse,  &r->start,      &r->kept,       &r->feasible, &r->answer,
                        &r->Aanswer,  &r->in_rest,    &r->full,       &r->present,  &r->force[0],
                        &r->force[1], &r->heading[0], &r->heading[1], &r->line[0],  &r->line[1],
                        &r->line[2],  &r->turned_z,   &r->turned_inverse};
  /* A leader has a row below M twice, and rows of its own that are no others'. */
  size_t count = sizeof vectors / sizeof *vectors, each = (size_t)padded((int)all) + 5 * WIDTH;
  double *lines = TAKE(workspace, double, count * each);
  r->panel = TAKE(workspace, double, n * (ld + 4 * WIDTH));
  r->lower = TAKE(workspace, double, (n / 2 + 2 * WIDTH) * (ld / 2 + 3 * WIDTH));
  r->upper = TAKE(workspace, double, (n / 2 + 2 * WIDTH) * (ld / 2 + 3 * WIDTH));
  r->single = TAKE(workspace, int, 4 * n + WIDTH + 1);
  r->place = TAKE(workspace, unsigned char, n);
  r->pair = TAKE(workspace, pair, n + 1);
  r->follower = TAKE(workspace, follower, n);
  if (!lines || !r->panel || !r->lower || !r->upper || !r->single || !r->place || !r->pair ||
      !r->follower)
    return 0;
  for (size_t i = 0; i < count; i++) *vectors[i] = lines + i * each;
  r->leader_of = r->single + n, r->listed = r->leader_of + n, r->leader_row = r->listed + n + 1;
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
  r->reduced = *whole;
  r->reduced.n = r->reduced.blocks = 0;
  r->reduced.sets = sets, r->reduced.scale = scale;
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
  double *A = TAKE(workspace, double, n * ld + WIDTH), *b = TAKE(workspace, double, ld);
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
  r->leader_of[row] = SINGLE;
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
  r->leader_of[row] = r->pairs;
  r->pair[r->pairs++] =
      (pair){row, mu, {u[0] / slip, u[1] / slip}, rest, scale * (1.0 / rest - 1.0)};
}

/* Singles that others follow become leaders. */
INLINE void find_leaders(reduction *r) {
  int singles = 0;
  for (int e = 0; e < r->followers; e++) {
    int row = r->follower[e].normal;
    if (r->leader_of[row] != SINGLE) continue;
    r->leader_of[row] = r->leaders;
    r->pair[r->leaders++] = (pair){.row = row, .rest = 1.0};
  }
  for (int j = 0; j < r->singles; j++)
    if (r->leader_of[r->single[j]] == SINGLE) r->single[singles++] = r->single[j];
  r->singles = singles;
}

/* Where each of them stands in the matrix. */
INLINE void place_unknowns(reduction *r) {
  int alike = !r->m->coulomb && !r->followers; /* forces along the slip, and what tests them */
  r->turned = alike ? 0 : r->leaders;
  r->core = r->singles + r->pairs + (alike ? r->pairs : 0);
  r->first_test = padded(r->core);
  r->turned_ld = padded(r->turned);
  r->first_force = alike ? r->singles + r->pairs : r->first_test + r->turned_ld;
  r->panel_ld = r->first_test + 2 * r->turned_ld;
  for (int l = 0; l < padded(r->leaders); l++) {
    const pair *p = &r->pair[l < r->leaders ? l : 0];
    r->leader_row[l] = p->row;
    r->present[l] = l < r->leaders ? 1.0 : 0.0;
    for (int i = 0; i < 2; i++) {
      r->heading[i][l] = l < r->pairs ? p->d[i] : 0.0;
      r->force[i][l] = p->mu * r->heading[i][l];
    }
  }
}

INLINE void choose_unknowns(reduction *r) {
  const model *m = r->m;
  r->singles = r->pairs = r->followers = 0;
  for (int i = 0; i < m->n; i++) r->leader_of[i] = NONE;
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
  r->leaders = r->pairs;
  if (r->followers) find_leaders(r);
  place_unknowns(r);
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
    if (r->leader_of[o->normal] == NONE) r->c[o->row] += o->ratio * r->part * r->c[o->normal];
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

/* What all leaders have of a row of A, into the places that they have in a column of the panel.
 * Last ones first: what four of them write too much others write over, or the next column.  A
 * contact's three numbers are read with the one behind them, of which nothing is made. */
INLINE void weigh(const reduction *r, const double *v, double *column) {
  double *across = column + r->singles, *test = column + r->first_test,
         *force = column + r->first_force;
  if (r->core) four_put(column + r->first_test - WIDTH, four_of(0.0));
  for (int l = padded(r->leaders) - WIDTH; l >= 0; l -= WIDTH) {
    four of[4];
#pragma GCC unroll 4
    for (int q = 0; q < WIDTH; q++) of[q] = four_at(v + r->leader_row[l + q]);
    four_transpose(of);
    four normal = of[0] * four_at(r->present + l);
    four all = normal + of[1] * four_at(r->force[0] + l) + of[2] * four_at(r->force[1] + l);
    four_put(across + l, four_at(r->heading[0] + l) * of[2] - four_at(r->heading[1] + l) * of[1]);
    four_put(force + l, all);
    if (r->turned) four_put(test + l, r->m->coulomb ? normal : all);
  }
  for (int e = 0; e < r->followers; e++) {
    const follower *o = &r->follower[e];
    int l = r->leader_of[o->normal];
    if (l != NONE) force[l] += o->ratio * r->part * v[o->row];
  }
}

/* The column of a row that is alone, from its own place on. */
INLINE void fill_single(reduction *r, int j) {
  const double *v = r->A + r->single[j] * r->ld;
  double *column = r->panel + j * r->panel_ld;
  int i = j & -WIDTH; /* what is above the diagonal is not read */
  weigh(r, v, column);
  for (; i + WIDTH <= r->singles; i += WIDTH) four_put(column + i, four_picked(v, r->single + i));
  for (; i < r->singles; i++) column[i] = v[r->single[i]];
}

/* What tests leader l, of all forces: a row of C. */
INLINE void fill_turned(reduction *r, int l, const double *test) {
  int ld = r->turned_ld;
  for (int k = 0; k < ld; k += WIDTH)
    four_put(r->upper + l * ld + k, four_at(test + r->first_force + k));
  for (int k = 0; k <= l; k++) r->lower[k * ld + l] = test[r->first_force + k];
}

/* Both columns of a pair, from the rows of its contact. */
INLINE void fill_pair(reduction *r, int l) {
  int ld = r->panel_ld, first = r->singles & -WIDTH, alike = !r->turned;
  const pair *p = &r->pair[l];
  const double *normal = r->line[0], *one = r->line[1], *two = r->line[2];
  double *across = r->panel + (r->singles + l) * ld;
  double *along = alike ? r->panel + (r->singles + r->pairs + l) * ld : r->line[0];
  for (int i = 0; i < 3; i++) weigh(r, r->A + (p->row + i) * r->ld, r->line[i]);
  for (int i = first; i < ld; i += WIDTH)
    four_put(across + i, p->d[0] * four_at(two + i) - p->d[1] * four_at(one + i));
  for (int i = first; i < ld && !r->m->coulomb; i += WIDTH)
    four_put(along + i, four_at(normal + i) + p->mu * (p->d[0] * four_at(one + i) +
                                                       p->d[1] * four_at(two + i)));
  if (!alike) fill_turned(r, l, along);
}

/* What holds the unknowns by themselves, and what their pivots have to exceed. */
INLINE void fill_diagonal(reduction *r) {
  int S = r->singles, ld = r->panel_ld + 1, turned = r->turned_ld + 1;
  double largest = 0.0;
  for (int j = 0; j < S; j++) r->panel[j * ld] += r->drag * r->scale[r->single[j]];
  for (int l = 0; l < r->leaders; l++) {
    const pair *p = &r->pair[l];
    double drag = r->drag * r->scale[p->row];
    double *along = r->turned ? r->lower + l * turned : r->panel + (S + r->pairs + l) * ld;
    *along += r->m->coulomb ? drag : drag * (1.0 + p->mu * p->mu);
    largest = larger(fabs(*along), largest);
    if (l < r->pairs) r->panel[(S + l) * ld] += p->across + drag / p->rest;
  }
  for (int j = 0; j < r->core; j++) largest = larger(r->panel[j * ld], largest);
  for (int j = 0; j < r->core || j < r->turned; j++) r->floor[j] = TINY_PIVOT * largest;
}

/* Rows and columns of C that only fill up its squares. */
INLINE void pad_turned(reduction *r) {
  int ld = r->turned_ld, L = r->turned;
  for (int i = L; i < ld; i++)
    for (int l = 0; l < ld; l++)
      r->lower[l * ld + i] = r->lower[i * ld + l] = r->upper[i * ld + l] = 0.0;
}

INLINE void assemble(reduction *r) {
  for (int j = 0; j < r->singles; j++) fill_single(r, j);
  for (int l = 0; l < r->pairs; l++) fill_pair(r, l);
  for (int l = r->pairs; l < r->leaders; l++) {
    weigh(r, r->A + r->pair[l].row * r->ld, r->line[0]);
    fill_turned(r, l, r->line[0]);
  }
  if (r->turned) pad_turned(r);
  fill_diagonal(r);
}

/* -T'(A c + s f), and what holds the force across. */
INLINE void set_right_side(reduction *r) {
  int S = r->singles;
  for (int i = 0; i < r->ld; i += WIDTH)
    four_put(r->Ac + i, four_at(r->scale + i) * four_at(r->f + i));
  multiply(r, r->c, r->Ac);
  for (int j = 0; j < S; j++) r->z[j] = -r->Ac[r->single[j]];
  for (int l = 0; l < r->leaders; l++) {
    const pair *p = &r->pair[l];
    const double *of = r->Ac + p->row;
    double along = r->m->coulomb ? -of[0] : -by_force(p, of);
    if (l < r->pairs) r->z[S + l] = -by_across(p, of) - p->across * lack_across(r, p);
    *(r->turned ? &r->turned_z[l] : &r->z[S + r->pairs + l]) = along;
  }
}

/* 0 for a singular matrix. */
INLINE int factorize(reduction *r) {
  const cholesky_kernels *k = r->kernels;
  const double *test = r->panel + r->first_test, *force = r->panel + r->first_force;
  int ld = r->panel_ld, L = r->turned;
  if (k->panel(r->panel, ld, r->core, r->floor, r->inverse)) return 0;
  if (!L) return 1;
  k->schur_pair(test, force, ld, r->core, L, r->lower, 1);
  k->schur_pair(force, test, ld, r->core, L, r->upper, 1);
  return !k->panels(r->lower, r->upper, r->turned_ld, L, r->floor, r->turned_inverse, r->ones);
}

INLINE void substitute(reduction *r) {
  const cholesky_kernels *k = r->kernels;
  int ld = r->panel_ld, L = r->turned, turned_ld = r->turned_ld;
  double *z = r->z, *turned = r->turned_z;
  for (int j = r->core; j < ld; j++) z[j] = 0.0;
  k->forward(r->panel, ld, r->core, r->inverse, z);
  if (L) {
    for (int l = 0; l < L; l++) turned[l] += z[r->first_test + l];
    for (int l = L; l < turned_ld; l++) turned[l] = 0.0;
    k->forward(r->lower, turned_ld, L, r->ones, turned);
    for (int l = L; l < turned_ld; l++) turned[l] = 0.0;
    k->backward(r->upper, turned_ld, L, r->turned_inverse, turned);
  }
  for (int j = r->core; j < ld; j++) z[j] = 0.0;
  for (int l = 0; l < L; l++) z[r->first_force + l] = turned[l];
  k->backward(r->panel, ld, r->core, r->inverse, z);
}

/* x += B z + c */
INLINE void move(reduction *r) {
  const double *z = r->z, *forces = r->z + r->first_force;
  for (int i = 0; i < r->ld; i += WIDTH) four_put(r->x + i, four_at(r->x + i) + four_at(r->c + i));
  for (int j = 0; j < r->singles; j++) r->x[r->single[j]] += z[j];
  for (int l = 0; l < r->pairs; l++) {
    const pair *p = &r->pair[l];
    double along = forces[l], across = z[r->singles + l];
    r->x[p->row] += along;
    r->x[p->row + 1] += p->mu * p->d[0] * along - p->d[1] * across;
    r->x[p->row + 2] += p->mu * p->d[1] * along + p->d[0] * across;
  }
  for (int l = r->pairs; l < r->leaders; l++) r->x[r->pair[l].row] += forces[l];
  for (int e = 0; e < r->followers; e++) {
    const follower *o = &r->follower[e];
    int l = r->leader_of[o->normal];
    if (l != NONE) r->x[o->row] += o->ratio * r->part * forces[l];
  }
}

/* One step, with a matrix of its own or with the one before. */
INLINE int step(reduction *r, int fresh) {
  if (fresh) choose_unknowns(r);
  set_constants(r);
  if (r->core + r->turned) {
    set_right_side(r);
    if (fresh) {
      assemble(r);
      if (!factorize(r)) return 0;
    }
    substitute(r);
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
    int chord = steps && same && r->core + r->turned >= FEW && r->violation <= CHORD * r->m->unit &&
                r->violation <= CONTRACTION * before;
    if ((!chord && steps == MOST_STEPS) || since == PATIENCE) break;
    if (steps == QUICK_STEPS && best > ON_THE_WAY * r->m->unit && !r->linear) break;
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

/* w of up to three rows that stand together. */
INLINE void find_w_of(const reduction *r, int row, const int rows, double *w) {
  four sum[3], other[3];
  int i = 0;
#pragma GCC unroll 3
  for (int q = 0; q < rows; q++) sum[q] = other[q] = four_of(0.0);
  for (; i + 2 * WIDTH <= r->ld; i += 2 * WIDTH) {
    const double *a = r->A + row * r->ld + i;
    four x = four_at(r->x + i), y = four_at(r->x + i + WIDTH);
#pragma GCC unroll 3
    for (int q = 0; q < rows; q++, a += r->ld) {
      sum[q] += four_at(a) * x;
      other[q] += four_at(a + WIDTH) * y;
    }
  }
  if (i < r->ld)
#pragma GCC unroll 3
    for (int q = 0; q < rows; q++)
      sum[q] += four_at(r->A + (row + q) * r->ld + i) * four_at(r->x + i);
#pragma GCC unroll 3
  for (int q = 0; q < rows; q++) w[q] = four_sum(sum[q] + other[q]) - r->b[row + q];
}

/* Of a row alone; joints may leave it nothing. */
INLINE double stiffness(const reduction *r, int row) {
  return larger(r->A[row * (r->ld + 1)], TINY_PIVOT * r->scale[row]);
}

INLINE void sweep_row(reduction *r, const force_set *set) {
  int row = set->first;
  double w, lo = set->lo, hi = set->hi, *x = r->x + row;
  if (set->kind == SET_COUPLED) lo = -(hi = lcplug_friction_bound(set->mu[0], r->x[set->normal]));
  find_w_of(r, row, 1, &w);
  double wanted = *x - w / stiffness(r, row);
  *x = wanted < lo ? lo : wanted > hi ? hi : wanted;
}

/* The normal force first, then the friction that it allows. */
INLINE void sweep_contact(reduction *r, const force_set *set) {
  int row = set->first, three = set->rows > 2;
  const double *a = r->A + row * (r->ld + 1);
  double w[3] = {0.0, 0.0, 0.0}, *x = r->x + row, before = x[0];
  if (three) find_w_of(r, row, 3, w);
  else find_w_of(r, row, 2, w);
  x[0] = larger(before - w[0] / stiffness(r, row), 0.0);
  double change = x[0] - before, tangent = stiffness(r, row + 1);
  if (three) tangent = larger(stiffness(r, row + 2), tangent);
  double u = x[1] - (w[1] + a[1] * change) / tangent;
  double v = three ? x[2] - (w[2] + a[2] * change) / tangent : 0.0;
  double slip = sqrt(u * u + v * v), bound = set->mu[0] * x[0];
  double part = slip > bound ? bound / slip : 1.0;
  x[1] = part * u;
  if (three) x[2] = part * v;
}

/* The answer to friction=ode has its friction bounded by other normal forces, in boxes: a few
 * sweeps of projected Gauss-Seidel tell much of what contacts do, for a fraction of a step. */
INLINE void sweep(reduction *r) {
  for (int k = 0; k < SWEEPS * r->m->blocks; k++) {
    const force_set *set = &r->m->sets[k % r->m->blocks];
    if (set->rows > 1) sweep_contact(r, set);
    else sweep_row(r, set);
  }
}

INLINE int solve(reduction *r, iteration *it) {
  copy(r, r->start, r->x);
  find_w(r);
  int rests = is_at_rest(r);
  if (r->m->coulomb && !r->linear && !rests && r->m->n > MANY_ROWS) {
    sweep(r);
    find_w(r);
  }
  if (settle(r, it)) return 1;
  if (r->linear) return 0; /* a circle is a circle in any time */
  if (rests) return 0;
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
  int is_last = solved && !memcmp(it->x, r->answer, n * sizeof *r->answer);
  if (is_last) memcpy(Ax, r->Aanswer, n * sizeof *Ax);
  else if (solved) whole->op->table->apply(whole->op, it->x, Ax);
  else if (it->status != LCPLUG_TIME_LIMIT) it->status = LCPLUG_STALLED;
}
