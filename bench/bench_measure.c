/* bench_measure.c - one problem into all solvers: times and residuals.
 *
 * Problem.   Upstream destroys its input, our own solver may remember the last problem that it met,
 *            and the machine is never quite idle.
 * Method.    Upstream and the swap (auto behind the ABI, with all that a host program pays for) are
 *            called in turns on fresh copies, so that noise meets both.  Before each call of ours
 *            another problem, without the last row, is solved: no answer can be a remembered one.
 *            Times are thread CPU seconds; up to n = 150 the monotonic clock, which costs less to
 *            read; what reading it costs is taken off.
 * Contract.  Residuals come from tests/diff, which computes them from their formula, each by the
 *            friction bounds that its own solver froze. */
#define _GNU_SOURCE
#include "bench.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- clocks and repeats ---------------------------------------------------------------------- */

enum { SMALL = 150, MOST_REPEATS = 100 };

/* Calls at sizes up to n.  Gradient methods and sweeps are only there to be compared. */
static const struct {
  int n, upstream, ours, first_order;
} repeats[] = {
    {40, 100, 100, 5}, {SMALL, 30, 30, 2}, {420, 7, 7, 1}, {850, 3, 5, 1}, {INT_MAX, 1, 5, 1}};

/* Seconds: for what only makes a workspace forget, and after which Coulomb friction is not asked
 * again. */
static const double BRIEF = 1e-3, LONG_ENOUGH = 0.2;

static int repeats_row(int n) {
  int k = 0;
  while (n > repeats[k].n) k++;
  return k;
}

int bench_upstream_calls(int n) { return repeats[repeats_row(n)].upstream; }

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct samples {
  clockid_t clock;
  double empty; /* what two readings of the clock cost */
  double seconds[MOST_REPEATS];
  int count;
} samples;

static samples samples_for(int n) {
  samples s = {.clock = n <= SMALL ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, .empty = 1};
  for (int i = 0; i < 50; i++) {
    double start = now(s.clock);
    s.empty = fmin(s.empty, now(s.clock) - start);
  }
  return s;
}

static void samples_add(samples *s, double started) {
  double seconds = now(s->clock) - started - s->empty;
  s->seconds[s->count++] = fmax(seconds, 1e-9); /* the clock's own step */
}

static bench_timing timing_of(samples *s, double residual) {
  bench_timing t = {.median = bench_median(s->seconds, s->count), .residual = residual};
  t.least = s->count ? s->seconds[0] : BENCH_UNKNOWN; /* the median has sorted them */
  return t;
}

/* ---- through the ABI ------------------------------------------------------------------------- */

typedef struct arrays {
  double *A, *bx, *lh;
  int *findex;
  void **arena;
} arrays;

static void *memory(size_t count, size_t size) {
  return bench_need(aligned_alloc(64, (count * size / 64 + 1) * 64));
}

static arrays arrays_create(const diff_problem *p) {
  typedef void *arena_new_function(size_t, const void *, const void *);
  typedef size_t estimate_function(unsigned, _Bool);
  arena_new_function *arena_new = (arena_new_function *)diff_libode(
      "_Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProcessMemoryManager"
      "PK31dxWorldProcessMemoryReserveInfo");
  estimate_function *estimate =
      (estimate_function *)diff_libode("_Z27dxEstimateSolveLCPMemoryReqjb");
  size_t n = (size_t)p->n;
  return (arrays){.A = memory(n * p->stride, sizeof(double)),
                  .bx = memory(2 * n, sizeof(double)),
                  .lh = memory(2 * n, sizeof(double)),
                  .findex = memory(n, sizeof(int)),
                  .arena = bench_need(arena_new(estimate((unsigned)n, 0) + 65536, NULL, NULL))};
}

static void arrays_free(arrays *a) {
  typedef void arena_free_function(void *);
  arena_free_function *arena_free = (arena_free_function *)diff_libode(
      "_Z35dxFreeTemporaryWorldProcessMemArenaP22dxWorldProcessMemArena");
  arena_free(a->arena);
  free(a->A);
  free(a->bx);
  free(a->lh);
  free(a->findex);
}

/* The first n rows of p, as ODE would hand them over. */
static void arrays_fill(arrays *a, const diff_problem *p, int n) {
  size_t stride = diff_stride(n);
  for (int i = 0; i < n; i++) {
    size_t row = (size_t)i;
    memcpy(a->A + row * stride, p->A + row * p->stride, fmin(stride, p->stride) * sizeof *a->A);
    a->bx[2 * i] = p->b[i];
    a->bx[2 * i + 1] = 1e-10; /* ODE leaves its CFM there */
    a->lh[2 * i] = p->lo[i];
    a->lh[2 * i + 1] = p->hi[i];
    a->findex[i] = p->findex && p->findex[i] < n ? p->findex[i] : -1;
  }
  a->arena[0] = a->arena[1]; /* empties it: the first free byte is the first byte */
}

static void timed_call(bench_solver *solve, arrays *a, const diff_problem *p, samples *s) {
  arrays_fill(a, p, p->n);
  bench_messages = 0;
  double start = now(s->clock);
  solve(a->arena, (unsigned)p->n, a->A, a->bx, NULL, (unsigned)p->nub, a->lh, a->findex);
  samples_add(s, start);
}

static void another_call(bench_solver *solve, arrays *a, const diff_problem *p) {
  int n = p->n - 1;
  if (n < 1) return;
  arrays_fill(a, p, n);
  solve(a->arena, (unsigned)n, a->A, a->bx, NULL, (unsigned)(p->nub < n ? p->nub : n), a->lh,
        a->findex);
}

/* ---- whose bounds ---------------------------------------------------------------------------- */

typedef struct bound {
  int normal, row;
  double size;
} bound;

static int compare_bounds(const void *first, const void *second) {
  const bound *a = first, *b = second;
  if (a->normal != b->normal) return a->normal < b->normal ? -1 : 1;
  return (a->size > b->size) - (a->size < b->size);
}

static int list_bounds(const diff_problem *p, const int *findex, const double *hi, size_t step,
                       bound *list) {
  int count = 0;
  for (int i = p->nub; i < p->n; i++)
    if (findex[i] >= 0) list[count++] = (bound){findex[i], i, fabs(hi[(size_t)i * step])};
  qsort(list, (size_t)count, sizeof *list, compare_bounds);
  return count;
}

/* Upstream hands lo, hi and findex back in an order of its own.  The bounds of one normal's rows,
 * mu_i |x_n|, are ordered as their mu_i are: both lists sorted, they match one to one. */
static void unscramble(const diff_problem *p, arrays *a) {
  if (!p->findex) return;
  bound *mu = memory((size_t)p->n, sizeof *mu), *found = memory((size_t)p->n, sizeof *found);
  int count = list_bounds(p, p->findex, p->hi, 1, mu);
  int same = list_bounds(p, a->findex, a->lh + 1, 2, found) == count;
  for (int k = 0; same && k < count; k++) {
    a->lh[2 * mu[k].row] = -found[k].size;
    a->lh[2 * mu[k].row + 1] = found[k].size;
  }
  free(mu);
  free(found);
}

static double residual_of(const diff_problem *p, const arrays *a) {
  size_t n = (size_t)p->n;
  double *x = memory(3 * n, sizeof *x), *lo = x + n, *hi = lo + n;
  for (size_t i = 0; i < n; i++) {
    x[i] = a->bx[2 * i + 1];
    lo[i] = a->lh[2 * i];
    hi[i] = a->lh[2 * i + 1];
  }
  diff_answer *answer = diff_answer_of(p, x, lo, hi);
  double residual = answer->residual;
  diff_answer_free(answer);
  free(x);
  return residual;
}

/* Upstream and the swap in turns.  Where auto has missed, the swap asks upstream, too: then as few
 * calls as upstream gets, and nothing between them. */
static void measure_abi(const diff_problem *p, int with_upstream, bench_result *result) {
  int row = repeats_row(p->n), calls = with_upstream ? repeats[row].upstream : 0;
  int swap_calls = result->missed ? repeats[row].upstream : repeats[row].ours;
  samples upstream = samples_for(p->n), swap = upstream;
  double residual = BENCH_UNKNOWN;
  arrays a = arrays_create(p);
  for (int k = 0; k < calls || k < swap_calls; k++) {
    if (k < calls) {
      timed_call(bench_upstream(), &a, p, &upstream);
      result->upstream_errors = bench_messages;
    }
    if (k == 0 && calls) {
      unscramble(p, &a);
      residual = residual_of(p, &a);
    }
    if (!result->missed) another_call(bench_swap(), &a, p);
    timed_call(bench_swap(), &a, p, &swap);
  }
  result->by[BY_UPSTREAM] = timing_of(&upstream, residual);
  result->by[BY_SWAP] = timing_of(&swap, residual_of(p, &a));
  arrays_free(&a);
}

/* ---- through the library --------------------------------------------------------------------- */

/* time_limit 0: none.  info is that of the last call. */
static lcplug_error measure_native(const diff_problem *p, lcplug_solver solver, int calls,
                                   double time_limit, bench_timing *timing, lcplug_info *info) {
  static lcplug_workspace *workspace;
  if (!workspace) workspace = bench_need(lcplug_workspace_create());
  samples s = samples_for(p->n);
  size_t n = (size_t)p->n;
  double *x = memory(3 * n, sizeof *x);
  lcplug_problem view = diff_view(p), other = view;
  lcplug_settings settings = lcplug_settings_default();
  lcplug_solution solution = {.x = x, .lo = x + n, .hi = x + 2 * n};
  lcplug_error error = LCPLUG_OK;
  settings.solver = solver;
  settings.time_limit = time_limit;
  other.n--;
  if (other.nub > other.n) other.nub = other.n;
  int first_order = solver == LCPLUG_PGS || solver == LCPLUG_APGD; /* these remember nothing */
  for (int k = 0; k < calls && !error; k++) {
    if (!first_order) lcplug_solve(workspace, &other, &settings, &solution, NULL);
    double start = now(s.clock);
    error = lcplug_solve(workspace, &view, &settings, &solution, info);
    samples_add(&s, start);
  }
  if (!error) {
    diff_answer *answer = diff_answer_of(p, x, x + n, x + 2 * n);
    *timing = timing_of(&s, answer->residual);
    diff_answer_free(answer);
  }
  free(x);
  return error;
}

/* friction=coulomb: at most as many calls, and no more when one has taken long; there are
 * problems without an answer.  The residual is the library's, which tests/unit compares with the
 * formula. */
static void measure_coulomb(const diff_problem *p, int calls, bench_timing *timing) {
  lcplug_workspace *workspace = bench_need(lcplug_workspace_create());
  samples s = samples_for(p->n);
  double *x = memory((size_t)p->n, sizeof *x), residual = BENCH_UNKNOWN, used = 0;
  lcplug_problem view = diff_view(p), other = view;
  lcplug_settings settings = lcplug_settings_default(), brief;
  lcplug_solution solution = {.x = x};
  settings.friction = LCPLUG_FRICTION_COULOMB;
  brief = settings;
  brief.time_limit = BRIEF;
  other.n--;
  if (other.nub > other.n) other.nub = other.n;
  for (int k = 0; k < calls && used < LONG_ENOUGH; k++) {
    lcplug_solve(workspace, &other, &brief, &solution, NULL);
    double start = now(s.clock);
    lcplug_error error = lcplug_solve(workspace, &view, &settings, &solution, NULL);
    samples_add(&s, start);
    used += s.seconds[k];
    if (!error)
      lcplug_residual(workspace, &view, settings.friction, x, 1, NULL, NULL, 0, &residual);
  }
  *timing = timing_of(&s, residual);
  lcplug_workspace_free(workspace);
  free(x);
}

/* A workspace of its own: how much it takes to solve this problem and no other. */
static size_t bytes_for(const diff_problem *p) {
  lcplug_workspace *workspace = bench_need(lcplug_workspace_create());
  lcplug_problem view = diff_view(p);
  lcplug_settings settings = lcplug_settings_default();
  double *x = memory((size_t)p->n, sizeof *x);
  lcplug_solution solution = {.x = x};
  lcplug_solve(workspace, &view, &settings, &solution, NULL);
  size_t bytes = lcplug_workspace_bytes(workspace);
  lcplug_workspace_free(workspace);
  free(x);
  return bytes;
}

int bench_measure(const diff_problem *p, const bench_options *options, int with_upstream,
                  bench_result *result) {
  static const struct {
    int by;
    lcplug_solver solver;
    int first_order;
  } rows[] = {{BY_PGS, LCPLUG_PGS, 1},
              {BY_APGD, LCPLUG_APGD, 1},
              {BY_EXACT, LCPLUG_EXACT, 0},
              {BY_AUTO, LCPLUG_AUTO, 0}};
  lcplug_info info = {.status = LCPLUG_STALLED};
  int k = repeats_row(p->n);
  *result = (bench_result){.n = p->n};
  snprintf(result->name, sizeof result->name, "%.63s", p->name);
  for (int i = 0; i < 4; i++) {
    int calls = rows[i].first_order ? repeats[k].first_order : repeats[k].ours;
    lcplug_error error = measure_native(p, rows[i].solver, calls,
                                        rows[i].first_order ? options->limit : 0,
                                        &result->by[rows[i].by], &info);
    if (error) {
      progress_say("bench: %s: %s\n", p->name, lcplug_error_text(error));
      return 0;
    }
  }
  result->factorizations = info.factorizations; /* auto stands last */
  result->missed = info.status != LCPLUG_SOLVED;
  result->bytes = bytes_for(p);
  measure_coulomb(p, repeats[k].ours, &result->coulomb);
  measure_abi(p, with_upstream, result);
  return 1;
}

void bench_compare_friction(const diff_problem *p, bench_result *result) {
  lcplug_info info;
  *result = (bench_result){.n = p->n};
  measure_native(p, LCPLUG_EXACT, 1, 0, &result->by[BY_EXACT], &info);
  measure_coulomb(p, 1, &result->coulomb);
}
