/* dantzig.c - see dantzig.h.
 *
 * Upstream's dxSolveLCP wants scratch memory from an arena of its engine.  libode can make one that
 * belongs to no world.  It destroys A and hands lo, hi and findex back in an order of its own: it
 * works on copies, and the bounds that it froze are found again from their sums. */
#define _GNU_SOURCE
#include "dantzig.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"

typedef void solve_function(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                            double *lh, int *findex);
typedef size_t estimate_function(unsigned n, _Bool with_w);
typedef void *arena_new_function(size_t size, const void *manager, const void *reserve);
typedef void arena_free_function(void *arena);

struct dantzig {
  int n;
  void **arena; /* its first word: the first free byte; its second: the first byte */
  double *A, *bx, *lh;
  double *bounds, *coefficients; /* of each normal's friction rows, summed */
  int *findex;
};

/* What is called of libode, found once for the process. */
static struct {
  const char *symbol;
  void *found;
} functions[] = {
    {"_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi", NULL},
    {"_Z27dxEstimateSolveLCPMemoryReqjb", NULL},
    {"_Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProcessMemoryManager"
     "PK31dxWorldProcessMemoryReserveInfo",
     NULL},
    {"_Z35dxFreeTemporaryWorldProcessMemArenaP22dxWorldProcessMemArena", NULL},
};
enum { SOLVE, ESTIMATE, ARENA_NEW, ARENA_FREE, FUNCTIONS };

static void *found(int which) { return __atomic_load_n(&functions[which].found, __ATOMIC_ACQUIRE); }

/* Nothing is written unless it is found, so that a libode that comes later is found later. */
static int find_function(int which) {
  if (found(which)) return 1;
  void *address = upstream_find(functions[which].symbol);
  if (address) __atomic_store_n(&functions[which].found, address, __ATOMIC_RELEASE);
  return address != NULL;
}

static int find_all(void) {
  int all = 1;
  for (int which = 0; which < FUNCTIONS; which++) all = all && find_function(which);
  return all;
}

static int find_libode(void) {
  return find_all() ||
         (dlopen("libode.so.8", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) && find_all());
}

size_t dantzig_stride(int32_t n) { return n > 1 ? (size_t)(((n - 1) | 3) + 1) : (size_t)n; }

dantzig *dantzig_open(int32_t n) {
  if (!find_libode()) return NULL;
  size_t rows = (size_t)n, elements = rows * dantzig_stride(n);
  dantzig *d = calloc(1, sizeof *d);
  double *memory = malloc((elements + 6 * rows) * sizeof *memory);
  int *findex = malloc(rows * sizeof *findex);
  size_t room = ((estimate_function *)found(ESTIMATE))((unsigned)n, 0) + 65536;
  void *arena =
      d && memory && findex ? ((arena_new_function *)found(ARENA_NEW))(room, NULL, NULL) : NULL;
  if (!arena) {
    free(d);
    free(memory);
    free(findex);
    return NULL;
  }
  double *vectors = memory + elements;
  *d = (dantzig){.n = n,
                 .arena = arena,
                 .A = memory,
                 .bx = vectors,
                 .lh = vectors + 2 * rows,
                 .bounds = vectors + 4 * rows,
                 .coefficients = vectors + 5 * rows,
                 .findex = findex};
  return d;
}

void dantzig_close(dantzig *d) {
  if (!d) return;
  ((arena_free_function *)found(ARENA_FREE))(d->arena);
  free(d->A);
  free(d->findex);
  free(d);
}

static int is_friction(const lcplug_problem *p, int i) {
  return p->findex && i >= p->nub && p->findex[i] >= 0;
}

/* Upstream asserts lo <= 0 <= hi, of free and friction rows too, where they mean nothing. */
static int copy_problem(dantzig *d, const lcplug_problem *p) {
  memcpy(d->A, p->A, (size_t)p->n * p->stride * sizeof *d->A);
  int encloses_zero = 1;
  for (int i = 0; i < p->n; i++) {
    int friction = is_friction(p, i), free_row = i < p->nub;
    double hi = free_row ? INFINITY : friction ? fabs(p->hi[i]) : p->hi[i];
    double lo = free_row || friction ? -hi : p->lo[i];
    encloses_zero &= lo <= 0.0 && hi >= 0.0;
    d->bx[2 * i] = p->b[i];
    d->bx[2 * i + 1] = 0.0;
    d->lh[2 * i] = lo;
    d->lh[2 * i + 1] = hi;
    d->findex[i] = friction ? p->findex[i] : -1;
  }
  return encloses_zero;
}

/* The rows of one normal have the bounds mu_i |x_n| with one x_n.  So their sum tells it, whatever
 * order they are in.  A coefficient that is infinite has a bound that is infinite or 0. */
static void sum_bounds(dantzig *d, const lcplug_problem *p) {
  memset(d->bounds, 0, 2 * (size_t)d->n * sizeof *d->bounds);
  for (int k = p->nub; k < d->n; k++) {
    double bound = d->lh[2 * k + 1];
    if (d->findex[k] >= 0 && isfinite(bound)) d->bounds[d->findex[k]] += bound;
    if (is_friction(p, k) && isfinite(p->hi[k])) d->coefficients[p->findex[k]] += fabs(p->hi[k]);
  }
}

static int any_infinite_bound(const dantzig *d, const lcplug_problem *p, int normal) {
  for (int k = p->nub; k < d->n; k++)
    if (d->findex[k] == normal && isinf(d->lh[2 * k + 1])) return 1;
  return 0;
}

static double frozen_bound(const dantzig *d, const lcplug_problem *p, int row) {
  int normal = p->findex[row];
  double mu = fabs(p->hi[row]);
  if (isinf(mu)) return any_infinite_bound(d, p, normal) ? INFINITY : 0.0;
  return mu > 0.0 ? mu / d->coefficients[normal] * d->bounds[normal] : 0.0;
}

static int answer_is_finite(const dantzig *d) {
  for (int i = 0; i < d->n; i++)
    if (!isfinite(d->bx[2 * i + 1])) return 0;
  return 1;
}

int dantzig_solve(dantzig *d, const lcplug_problem *p, double *x, double *lo, double *hi) {
  if (!copy_problem(d, p)) return 0;
  d->arena[0] = d->arena[1]; /* empties it */
  ((solve_function *)found(SOLVE))(d->arena, (unsigned)p->n, d->A, d->bx, NULL,
                                   (unsigned)(p->nub < p->n ? p->nub : p->n), d->lh,
                                   p->findex ? d->findex : NULL);
  if (!answer_is_finite(d)) return 0;
  sum_bounds(d, p);
  for (int i = 0; i < p->n; i++) {
    int friction = is_friction(p, i);
    x[i] = d->bx[2 * i + 1];
    hi[i] = friction ? frozen_bound(d, p, i) : p->hi[i];
    lo[i] = friction ? -hi[i] : p->lo[i];
  }
  return 1;
}
