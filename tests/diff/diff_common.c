/* diff_common.c - see diff_common.h. */
#define _GNU_SOURCE
#include "diff_common.h"

#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <ode/ode.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *memory) {
  if (memory) return memory;
  fputs("out of memory\n", stderr);
  exit(2);
}

static double *numbers(int n) { return need(calloc((size_t)n + 1, sizeof(double))); }

/* ---- random numbers -------------------------------------------------------------------------- */

/* splitmix64: rand() differs from one C library to the next. */
static uint64_t random_bits(diff_random *r) {
  uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

double diff_between(diff_random *r, double lo, double hi) {
  return lo + (hi - lo) * ((double)(random_bits(r) >> 11) * 0x1p-53);
}

int diff_below(diff_random *r, int n) { return (int)(random_bits(r) % (uint64_t)n); }

/* ---- problems -------------------------------------------------------------------------------- */

size_t diff_stride(int n) { return n > 1 ? (size_t)(((n - 1) | 3) + 1) : (size_t)n; }

diff_problem *diff_problem_create(int n, int with_findex) {
  diff_problem *p = need(calloc(1, sizeof *p));
  p->n = n;
  p->stride = diff_stride(n);
  p->A = need(malloc(((size_t)n * p->stride + 1) * sizeof *p->A));
  p->b = numbers(n);
  p->lo = numbers(n);
  p->hi = numbers(n);
  if (with_findex) p->findex = need(malloc(((size_t)n + 1) * sizeof *p->findex));
  for (int i = 0; i < n; i++) {
    for (size_t j = 0; j < p->stride; j++)
      p->A[(size_t)i * p->stride + j] = j <= (size_t)i ? 0 : NAN;
    p->lo[i] = -INFINITY;
    p->hi[i] = INFINITY;
    if (with_findex) p->findex[i] = -1;
  }
  return p;
}

diff_problem *diff_problem_copy(const diff_problem *p) {
  size_t n = (size_t)p->n;
  diff_problem *c = diff_problem_create(p->n, p->findex != NULL);
  memcpy(c->name, p->name, sizeof c->name);
  c->nub = p->nub;
  memcpy(c->A, p->A, n * p->stride * sizeof *p->A);
  memcpy(c->b, p->b, n * sizeof *p->b);
  memcpy(c->lo, p->lo, n * sizeof *p->lo);
  memcpy(c->hi, p->hi, n * sizeof *p->hi);
  if (p->findex) memcpy(c->findex, p->findex, n * sizeof *p->findex);
  return c;
}

void diff_problem_free(diff_problem *p) {
  if (!p) return;
  free(p->A);
  free(p->b);
  free(p->lo);
  free(p->hi);
  free(p->findex);
  free(p);
}

int diff_is_friction(const diff_problem *p, int i) {
  return p->findex && i >= p->nub && p->findex[i] >= 0;
}

diff_problem *diff_problem_frozen(const diff_problem *p, const double *lo, const double *hi) {
  diff_problem *c = diff_problem_copy(p);
  for (int i = 0; i < p->n; i++) {
    if (!diff_is_friction(p, i)) continue;
    c->lo[i] = lo[i];
    c->hi[i] = hi[i];
  }
  free(c->findex);
  c->findex = NULL;
  return c;
}

lcplug_problem diff_view(const diff_problem *p) {
  lcplug_problem view = lcplug_problem_default();
  view.n = p->n;
  view.nub = p->nub;
  view.A = p->A;
  view.stride = p->stride;
  view.b = p->b;
  view.lo = p->lo;
  view.hi = p->hi;
  view.findex = p->findex;
  return view;
}

/* ---- the judge ------------------------------------------------------------------------------- */

static double element(const diff_problem *p, int i, int j) {
  return i >= j ? p->A[(size_t)i * p->stride + (size_t)j] : p->A[(size_t)j * p->stride + (size_t)i];
}

static void leftover(const diff_problem *p, const double *x, double *w) {
  for (int i = 0; i < p->n; i++) {
    long double sum = -(long double)p->b[i];
    for (int j = 0; j < p->n; j++) sum += (long double)element(p, i, j) * (long double)x[j];
    w[i] = (double)sum;
  }
}

/* d |x - P(x - w / d)|: by how much row i violates its condition. */
static double violation(double d, double x, double w, double lo, double hi) {
  double q = x - w / d;
  if (q < lo) return d * fabs(x - lo);
  if (q > hi) return d * fabs(x - hi);
  return fabs(w);
}

static void bounds_of(const diff_problem *p, const diff_answer *a, int i, double *lo, double *hi) {
  *lo = i < p->nub ? -INFINITY : diff_is_friction(p, i) ? a->lo[i] : p->lo[i];
  *hi = i < p->nub ? INFINITY : diff_is_friction(p, i) ? a->hi[i] : p->hi[i];
}

static void judge(const diff_problem *p, diff_answer *a) {
  double worst = 0, unit = 0, largest_b = 0, lo, hi;
  leftover(p, a->x, a->w);
  for (int i = 0; i < p->n; i++) {
    double d = element(p, i, i);
    bounds_of(p, a, i, &lo, &hi);
    double v = violation(d, a->x[i], a->w[i], lo, hi);
    worst = v > worst || isnan(v) ? v : worst;
    unit = fmax(unit, violation(d, 0, -p->b[i], lo, hi));
    largest_b = fmax(largest_b, fabs(p->b[i]));
  }
  a->unit = unit > 0 ? unit : largest_b > 0 ? largest_b : 1;
  a->residual = isnan(worst) ? INFINITY : worst / a->unit;
  for (int i = 0; i < p->n; i++)
    if (!isfinite(a->x[i])) a->residual = INFINITY;
}

static diff_answer *answer_create(int n) {
  diff_answer *a = need(calloc(1, sizeof *a));
  a->n = n;
  a->x = numbers(n);
  a->w = numbers(n);
  a->lo = numbers(n);
  a->hi = numbers(n);
  return a;
}

diff_answer *diff_answer_of(const diff_problem *p, const double *x, const double *lo,
                            const double *hi) {
  diff_answer *a = answer_create(p->n);
  for (int i = 0; i < p->n; i++) {
    a->x[i] = x[i];
    a->lo[i] = lo[i];
    a->hi[i] = hi[i];
  }
  judge(p, a);
  return a;
}

void diff_answer_free(diff_answer *a) {
  if (!a) return;
  free(a->x);
  free(a->w);
  free(a->lo);
  free(a->hi);
  free(a);
}

double diff_w_distance(const diff_answer *a, const diff_answer *b) {
  double worst = 0;
  for (int i = 0; i < a->n; i++) {
    double d = fabs(a->w[i] - b->w[i]);
    worst = d > worst || isnan(d) ? d : worst;
  }
  return isnan(worst) ? INFINITY : worst / a->unit;
}

/* ---- upstream -------------------------------------------------------------------------------- */

/* RTLD_NEXT looks behind this program, so what it defines itself is passed over. */
void *diff_libode(const char *symbol) {
  void *found = dlsym(RTLD_NEXT, symbol);
  if (found) return found;
  fprintf(stderr, "libode has no %s\n", symbol);
  exit(2);
}

static int messages;
static void count_message(int number, const char *format, va_list arguments) {
  (void)number, (void)format, (void)arguments;
  messages++;
}

/* Upstream hands lo, hi and findex back in an order of its own.  The rows of one normal have the
 * bounds mu_i |x_n|, which grow with mu_i: the k-th smallest bound
 * belongs to the k-th smallest mu. */
static void match_bounds(const diff_problem *p, const double *pairslh, const int *findex,
                         diff_answer *a) {
  double *bound = numbers(p->n);
  int *row = need(malloc(((size_t)p->n + 1) * sizeof *row));
  for (int normal = 0; normal < p->n; normal++) {
    int bounds = 0, rows = 0;
    for (int k = p->nub; k < p->n; k++) {
      if (findex[k] == normal) { /* insertion keeps the few bounds of a normal in order */
        int at = bounds++;
        for (; at > 0 && bound[at - 1] > pairslh[2 * k + 1]; at--) bound[at] = bound[at - 1];
        bound[at] = pairslh[2 * k + 1];
      }
      if (p->findex[k] == normal) {
        int at = rows++;
        for (; at > 0 && fabs(p->hi[row[at - 1]]) > fabs(p->hi[k]); at--) row[at] = row[at - 1];
        row[at] = k;
      }
    }
    for (int k = 0; k < rows; k++) {
      a->hi[row[k]] = bound[k];
      a->lo[row[k]] = -bound[k];
    }
  }
  free(bound);
  free(row);
}

diff_answer *diff_upstream(const diff_problem *p) {
  typedef void solve_function(void *, unsigned, double *, double *, double *, unsigned, double *,
                              int *);
  typedef void *arena_new_function(size_t, const void *, const void *);
  typedef void arena_free_function(void *);
  typedef size_t estimate_function(unsigned, _Bool);
  solve_function *solve = (solve_function *)diff_libode(DIFF_SYMBOL);
  arena_new_function *arena_new = (arena_new_function *)diff_libode(
      "_Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProcessMemoryManager"
      "PK31dxWorldProcessMemoryReserveInfo");
  arena_free_function *arena_free = (arena_free_function *)diff_libode(
      "_Z35dxFreeTemporaryWorldProcessMemArenaP22dxWorldProcessMemArena");
  estimate_function *estimate = (estimate_function *)diff_libode(
      "_Z27dxEstimateSolveLCPMemoryReqjb");

  diff_answer *a = answer_create(p->n);
  diff_problem *c = diff_problem_copy(p); /* upstream destroys what it is given */
  double *bx = numbers(2 * p->n), *lh = numbers(2 * p->n);
  double *A = need(aligned_alloc(64, ((size_t)p->n * p->stride * sizeof *A / 64 + 1) * 64));
  memcpy(A, p->A, (size_t)p->n * p->stride * sizeof *A);
  for (int i = 0; i < p->n; i++) {
    bx[2 * i] = p->b[i];
    bx[2 * i + 1] = 1e-10; /* ODE leaves its CFM there: no guess */
    lh[2 * i] = a->lo[i] = p->lo[i];
    lh[2 * i + 1] = a->hi[i] = p->hi[i];
  }
  void **arena = need(arena_new(estimate((unsigned)p->n, 0) + 65536, NULL, NULL));
  arena[0] = arena[1]; /* empties it: the first free byte is the first byte */
  dSetMessageHandler(count_message);
  messages = 0;
  solve(arena, (unsigned)p->n, A, bx, NULL, (unsigned)p->nub, lh, c->findex);
  a->errors = messages;
  dSetMessageHandler(NULL);
  arena_free(arena);
  for (int i = 0; i < p->n; i++) a->x[i] = bx[2 * i + 1];
  if (p->findex) match_bounds(p, lh, c->findex, a);
  judge(p, a);
  free(A);
  free(bx);
  free(lh);
  diff_problem_free(c);
  return a;
}

int diff_upstream_solved(const diff_answer *upstream) {
  return !upstream->errors && upstream->residual <= 1e-6;
}

double diff_residual_limit(const diff_answer *upstream) {
  return diff_upstream_solved(upstream) ? fmax(10 * upstream->residual, 1e-10) : 1e-10;
}

/* ---- ours ------------------------------------------------------------------------------------ */

static lcplug_workspace *workspace(void) {
  static lcplug_workspace *shared;
  if (!shared) shared = need(lcplug_workspace_create());
  return shared;
}

diff_answer *diff_lcplug(const diff_problem *p, lcplug_solver solver, int max_iter) {
  lcplug_problem view = diff_view(p);
  lcplug_settings settings = lcplug_settings_default();
  settings.solver = solver;
  settings.max_iter = max_iter;
  diff_answer *a = answer_create(p->n);
  lcplug_solution solution = {.x = a->x, .w = a->w, .lo = a->lo, .hi = a->hi};
  lcplug_error error = lcplug_solve(workspace(), &view, &settings, &solution, &a->info);
  diff_expect(!error, "%s, %s: refused: %s", p->name, lcplug_solver_name(solver),
              lcplug_error_text(error));
  if (!error) {
    judge(p, a);
    return a;
  }
  diff_answer_free(a);
  return NULL;
}

/* ---- expectations ---------------------------------------------------------------------------- */

static int expectations, failures;

void diff_expect(int condition, const char *format, ...) {
  expectations++;
  if (condition || ++failures > 25) return;
  va_list arguments;
  va_start(arguments, format);
  fputs("not as expected: ", stdout);
  vprintf(format, arguments);
  putchar('\n');
  va_end(arguments);
  fflush(stdout);
}

void diff_finish(void) {
  int made = expectations, failed = failures;
  expectations = failures = 0;
  ck_assert_msg(made > 0, "nothing was compared");
  ck_assert_msg(!failed, "%d of %d expectations failed; the first are printed above", failed, made);
}

/* What the library says about its answer must be what the formula says,
 * and x must lie in its box. */
static void check_honest(const diff_problem *p, const diff_answer *a, lcplug_solver solver) {
  const char *name = lcplug_solver_name(solver);
  double by_library = -1;
  lcplug_problem view = diff_view(p);
  lcplug_error error = lcplug_residual(workspace(), &view, LCPLUG_FRICTION_ODE, a->x, 1, a->lo,
                                       a->hi, 1, &by_library);
  diff_expect(!error, "%s, %s: lcplug_residual: %s", p->name, name, lcplug_error_text(error));
  double apart = fmax(fabs(a->info.residual - a->residual), fabs(by_library - a->residual));
  diff_expect(apart <= 1e-6 * a->residual + 1e-9,
              "%s, %s: residual %.3e reported, %.3e by lcplug_residual, %.3e by its "
              "formula", p->name,
              name, a->info.residual, by_library, a->residual);
  int outside = 0;
  for (int i = 0; i < p->n; i++) {
    double lo, hi;
    bounds_of(p, a, i, &lo, &hi);
    if (!(a->x[i] >= lo && a->x[i] <= hi)) outside++;
  }
  diff_expect(!outside, "%s, %s: %d forces outside their bounds", p->name, name, outside);
}

static double bounds_apart(const diff_problem *p, const diff_answer *a, const diff_answer *b) {
  double worst = 0, largest = 0;
  for (int i = 0; i < p->n; i++) {
    if (!diff_is_friction(p, i)) continue;
    if (isinf(a->hi[i]) || isinf(b->hi[i])) {
      if (a->hi[i] != b->hi[i]) return INFINITY;
      continue;
    }
    worst = fmax(worst, fabs(a->hi[i] - b->hi[i]));
    largest = fmax(largest, a->hi[i]);
  }
  return worst == 0 ? 0 : worst / largest;
}

static void check_bounds(const diff_problem *p, const diff_answer *upstream, const diff_answer *a,
                         lcplug_solver solver, double limit) {
  double apart = bounds_apart(p, upstream, a);
  diff_expect(apart <= limit, "%s (n %d), %s: friction bounds are %.2e from upstream's", p->name,
              p->n, lcplug_solver_name(solver), apart);
}

static void check_strict(const diff_problem *p, const diff_answer *upstream, lcplug_solver solver,
                         const diff_limits *limits) {
  diff_answer *a = diff_lcplug(p, solver, 0);
  if (!a) return;
  check_honest(p, a, solver);
  diff_expect(a->residual <= diff_residual_limit(upstream),
              "%s (n %d), %s: residual %.2e, upstream's %.2e with %d errors", p->name, p->n,
              lcplug_solver_name(solver), a->residual, upstream->residual, upstream->errors);
  if (diff_upstream_solved(upstream)) {
    check_bounds(p, upstream, a, solver, limits->bounds);
    if (bounds_apart(p, upstream, a) <= 1e-12)
      diff_expect(diff_w_distance(upstream, a) <= limits->w,
                  "%s (n %d), %s: w is %.2e of the unit from upstream's", p->name, p->n,
                  lcplug_solver_name(solver), diff_w_distance(upstream, a));
  }
  diff_answer_free(a);
}

void diff_check_strict(const diff_problem *p, const diff_limits *limits) {
  static const lcplug_solver solvers[] = {LCPLUG_EXACT, LCPLUG_AUTO};
  diff_answer *upstream = diff_upstream(p);
  diff_problem *frozen = diff_problem_frozen(p, upstream->lo, upstream->hi);
  for (int k = 0; k < 2; k++) {
    check_strict(p, upstream, solvers[k], limits);
    if (p->findex && diff_upstream_solved(upstream))
      check_strict(frozen, upstream, solvers[k], limits);
  }
  diff_problem_free(frozen);
  diff_answer_free(upstream);
}

/* On frozen bounds: a larger budget would else freeze other ones, and solve another problem.  Any
 * constants do, if all budgets share them. */
static void check_budgets(const diff_problem *p, lcplug_solver solver) {
  static const int budgets[] = {2, 16, 128};
  double before = INFINITY;
  diff_answer *any = diff_lcplug(p, solver, 50);
  if (!any) return;
  diff_problem *frozen = diff_problem_frozen(p, any->lo, any->hi);
  for (int k = 0; k < 3; k++) {
    diff_answer *a = diff_lcplug(frozen, solver, budgets[k]);
    if (!a) break;
    diff_expect(a->residual <= before * (1 + 1e-9) + 1e-9,
                "%s, %s: residual %.3e after %d iterations, but %.3e with fewer", p->name,
                lcplug_solver_name(solver), a->residual, budgets[k], before);
    before = a->residual;
    diff_answer_free(a);
  }
  diff_problem_free(frozen);
  diff_answer_free(any);
}

void diff_check_first_order(const diff_problem *p, const diff_limits *limits) {
  static const lcplug_solver solvers[] = {LCPLUG_PGS, LCPLUG_APGD};
  diff_answer *upstream = diff_upstream(p);
  for (int k = 0; k < 2; k++) {
    diff_answer *a = diff_lcplug(p, solvers[k], 0);
    if (!a) continue;
    check_honest(p, a, solvers[k]);
    diff_expect(a->residual <= limits->reach * (1 + 1e-9),
                "%s (n %d), %s: residual %.2e, expected %.0e", p->name, p->n,
                lcplug_solver_name(solvers[k]), a->residual, limits->reach);
    if (limits->reach < 1) check_bounds(p, upstream, a, solvers[k], 1e-4);
    diff_answer_free(a);
    check_budgets(p, solvers[k]);
  }
  diff_answer_free(upstream);
}
