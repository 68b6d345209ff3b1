/* diff_abi.c - the exported symbols of the preload object, in every layout and precision.
 *
 * Problem.   Engines pass the same problem in three layouts, as doubles or floats.  Only one of the
 *            six (pairs of doubles, ODE 0.16) has its library installed here.
 * Method.    The preload object is opened with dlopen and its symbols are called by name, with the
 *            arrays of their layout.  A layout is only a way to write a problem down: all of them
 *            must give the bits that lcplug_solve gives, floats after one rounding.
 * Contract.  Settings are read once per process, so each test is a process of its own. */
#define _GNU_SOURCE
#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_common.h"

typedef enum layout { PAIRS, ARENA, PLAIN } layout;

typedef struct symbol {
  const char *name;
  layout layout;
  int single;
} symbol;

static const symbol symbols[] = {
    {"_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi", PAIRS, 0},
    {"_Z10dxSolveLCPP22dxWorldProcessMemArenajPfS1_S1_jS1_Pi", PAIRS, 1},
    {"_Z9dSolveLCPP22dxWorldProcessMemArenaiPdS1_S1_S1_iS1_S1_Pi", ARENA, 0},
    {"_Z9dSolveLCPP22dxWorldProcessMemArenaiPfS1_S1_S1_iS1_S1_Pi", ARENA, 1},
    {"_Z9dSolveLCPiPdS_S_S_iS_S_Pi", PLAIN, 0},
    {"_Z9dSolveLCPiPfS_S_S_iS_S_Pi", PLAIN, 1},
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };

static const char *const solvers[] = {"auto", "exact", "pgs", "apgd"};
static const lcplug_solver solver_codes[] = {LCPLUG_AUTO, LCPLUG_EXACT, LCPLUG_PGS, LCPLUG_APGD};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* ---- one call -------------------------------------------------------------------------------- */

/* An array of an engine: reals of its precision, in steps of `step`. */
typedef struct reals {
  void *at;
  int single, step;
} reals;

static double get(reals r, int i) {
  return r.single ? (double)((float *)r.at)[i * r.step] : ((double *)r.at)[i * r.step];
}

static void put(reals r, int i, double value) {
  if (r.single) ((float *)r.at)[i * r.step] = (float)value;
  else ((double *)r.at)[i * r.step] = value;
}

static reals reals_create(int count, int single) {
  void *memory = calloc((size_t)count + 1, single ? sizeof(float) : sizeof(double));
  ck_assert_ptr_nonnull(memory);
  return (reals){memory, single, 1};
}

static reals second_of_pairs(reals r) {
  r.at = (char *)r.at + (r.single ? sizeof(float) : sizeof(double));
  return r;
}

/* What one call of a symbol leaves behind. */
typedef struct engine_arrays {
  reals A, b, x, w, lo, hi;
  int *findex;
  layout layout;
} engine_arrays;

static engine_arrays arrays_create(const diff_problem *p, const symbol *s) {
  int n = p->n;
  engine_arrays e = {.layout = s->layout, .A = reals_create(n * (int)p->stride, s->single)};
  if (s->layout == PAIRS) {
    e.b = reals_create(2 * n, s->single);
    e.lo = reals_create(2 * n, s->single);
    e.b.step = e.lo.step = 2;
    e.x = second_of_pairs(e.b);
    e.hi = second_of_pairs(e.lo);
  } else {
    e.b = reals_create(n, s->single);
    e.x = reals_create(n, s->single);
    e.lo = reals_create(n, s->single);
    e.hi = reals_create(n, s->single);
  }
  e.w = reals_create(n, s->single);
  if (p->findex) {
    e.findex = malloc(((size_t)n + 1) * sizeof *e.findex);
    ck_assert_ptr_nonnull(e.findex);
    if (n > 0) memcpy(e.findex, p->findex, (size_t)n * sizeof *e.findex);
  }
  /* NaN above the diagonal, too */
  for (int i = 0; i < n * (int)p->stride; i++) put(e.A, i, p->A[i]);
  for (int i = 0; i < n; i++) {
    put(e.b, i, p->b[i]);
    put(e.lo, i, p->lo[i]);
    put(e.hi, i, p->hi[i]);
    put(e.x, i, 1e-10); /* what ODE leaves there */
    put(e.w, i, 12345);
  }
  return e;
}

static void arrays_free(engine_arrays e) {
  free(e.A.at);
  free(e.b.at);
  free(e.lo.at);
  free(e.w.at);
  free(e.findex);
  if (e.layout == PAIRS) return;
  free(e.x.at);
  free(e.hi.at);
}

static void *preload_object(void) {
  static void *handle;
  const char *path = getenv("LCPLUG_PRELOAD");
  ck_assert_msg(path != NULL, "LCPLUG_PRELOAD does not name the preload object");
  if (!handle) handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(handle != NULL, "%s", dlerror());
  return handle;
}

/* Upstream may be asked, and then needs its arena. */
static void *arena_create(int n) {
  typedef void *arena_function(size_t, const void *, const void *);
  typedef size_t estimate_function(unsigned, _Bool);
  estimate_function *estimate = (estimate_function *)diff_libode(
      "_Z27dxEstimateSolveLCPMemoryReqjb");
  void **arena = ((arena_function *)diff_libode(
      "_Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProcessMemoryManager"
      "PK31dxWorldProcessMemoryReserveInfo"))(estimate((unsigned)n, 1) + 65536, NULL, NULL);
  ck_assert_ptr_nonnull(arena);
  arena[0] = arena[1];
  return arena;
}

static void arena_free(void *arena) {
  typedef void function(void *);
  ((function *)diff_libode("_Z35dxFreeTemporaryWorldProcessMemArenaP22dxWorldProcessMemArena"))(
      arena);
}

static void call_symbol(const symbol *s, const diff_problem *p, engine_arrays e, int wants_w) {
  typedef void pairs(void *, unsigned, void *, void *, void *, unsigned, void *, int *);
  typedef void arena(void *, int, void *, void *, void *, void *, int, void *, void *, int *);
  typedef void plain(int, void *, void *, void *, void *, int, void *, void *, int *);
  void *function = dlsym(preload_object(), s->name), *w = wants_w ? e.w.at : NULL;
  void *memory = arena_create(p->n);
  ck_assert_msg(function != NULL, "%s is not exported", s->name);
  if (s->layout == PAIRS)
    ((pairs *)function)(memory, (unsigned)p->n, e.A.at, e.b.at, w, (unsigned)p->nub, e.lo.at,
                        e.findex);
  else if (s->layout == ARENA)
    ((arena *)function)(memory, p->n, e.A.at, e.x.at, e.b.at, w, p->nub, e.lo.at, e.hi.at,
                        e.findex);
  else
    ((plain *)function)(p->n, e.A.at, e.x.at, e.b.at, w, p->nub, e.lo.at, e.hi.at, e.findex);
  arena_free(memory);
}

/* ---- problems -------------------------------------------------------------------------------- */

/* Well conditioned contacts with joints before them, rows shuffled by a step that is prime to n;
 * all numbers are floats, so that both precisions see the same problem. */
static diff_problem *make_problem(int n, int nub, int with_findex, uint64_t seed) {
  diff_random r = {seed};
  diff_problem *p = diff_problem_create(n, with_findex);
  snprintf(p->name, sizeof p->name, "n %d nub %d findex %d", n, nub, with_findex);
  p->nub = nub;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++)
      p->A[(size_t)i * p->stride + (size_t)j] = (double)(float)diff_between(&r, -1, 1);
    p->A[(size_t)i * p->stride + (size_t)i] = (double)(float)(0.75 * n + diff_between(&r, 0, 1));
    p->b[i] = (double)(float)diff_between(&r, -10, 10);
  }
  for (int i = nub; i < n; i++) {
    int contact = (i - nub) % 3 == 0;
    p->lo[i] = contact ? 0 : -0.5;
    p->hi[i] = contact ? INFINITY : 0.5;
    if (with_findex && !contact) p->findex[i] = i - (i - nub) % 3;
  }
  /* A friction row ahead of its normal. */
  if (with_findex && n - nub >= 9) {
    p->findex[nub + 1] = nub + 6;
    p->findex[nub + 7] = nub;
  }
  return p;
}

typedef struct size_row {
  int n, nub, findex;
} size_row;
static const size_row size_rows[] = {{1, 0, 0},  {1, 1, 1},   {2, 0, 1},   {3, 0, 1}, {7, 2, 0},
                                     {9, 0, 1},  {20, 20, 1}, {22, 4, 1}, {36, 0, 1}, {61, 7, 1}};
enum { SIZE_ROWS = sizeof size_rows / sizeof *size_rows };

/* ---- comparing ------------------------------------------------------------------------------- */

static int same(double ours, double reference, int single) {
  return single ? (float)ours == (float)reference : ours == reference;
}

static void compare(const diff_problem *p, const symbol *s, engine_arrays e, const diff_answer *api,
                    int wants_w) {
  int x = 0, bounds = 0, others = 0, w = 0;
  for (int i = 0; i < p->n; i++) {
    x += !same(get(e.x, i), api->x[i], s->single);
    if (p->findex) others += e.findex[i] != p->findex[i];
    if (diff_is_friction(p, i))
      bounds += !same(get(e.lo, i), api->lo[i], s->single) ||
                !same(get(e.hi, i), api->hi[i], s->single);
    else
      others += get(e.lo, i) != p->lo[i] || get(e.hi, i) != p->hi[i];
    others += get(e.b, i) != p->b[i];
    /* nub >= n: upstream writes no w, so the memory may not be there.  Elsewhere w is exact zero
     * where complementarity says so, the API's within the tolerance. */
    double expected = !wants_w || p->nub >= p->n ? 12345 : api->w[i];
    double tolerance = !wants_w || p->nub >= p->n ? 0 : 1e-5 * api->unit;
    w += !(fabs(get(e.w, i) - expected) <= tolerance);
  }
  diff_expect(!x, "%s, %s: %d of %d forces are not those of lcplug_solve", p->name, s->name, x,
              p->n);
  diff_expect(!bounds, "%s, %s: %d friction bounds are not those used", p->name, s->name, bounds);
  diff_expect(!others, "%s, %s: %d numbers changed that are not ours", p->name, s->name, others);
  diff_expect(!w, "%s, %s: %d elements of w are wrong", p->name, s->name, w);
}

/* Every layout gives what lcplug_solve gives. */
START_TEST(layouts_are_one_problem) {
  const symbol *s = &symbols[_i / SOLVERS];
  char setting[64];
  snprintf(setting, sizeof setting, "solver=%s,fallback=none", solvers[_i % SOLVERS]);
  setenv("LCPLUG", setting, 1);
  for (int k = 0; k < 2 * SIZE_ROWS; k++) {
    const size_row *row = &size_rows[k / 2];
    int wants_w = k % 2;
    diff_problem *p = make_problem(row->n, row->nub, row->findex, (uint64_t)k + 1);
    diff_answer *api = diff_lcplug(p, solver_codes[_i % SOLVERS], 0);
    engine_arrays e = arrays_create(p, s);
    call_symbol(s, p, e, wants_w);
    compare(p, s, e, api, wants_w);
    arrays_free(e);
    diff_answer_free(api);
    diff_problem_free(p);
  }
  diff_finish();
}
END_TEST

/* An answer in floats cannot be better than their precision. */
static double float_limit(const symbol *s, double limit) { return s->single ? 1e-5 : limit; }

static diff_answer *answer_of(const diff_problem *p, engine_arrays e) {
  size_t bytes = ((size_t)p->n + 1) * sizeof(double);
  double *x = malloc(bytes), *lo = malloc(bytes), *hi = malloc(bytes);
  ck_assert(x && lo && hi);
  for (int i = 0; i < p->n; i++) {
    x[i] = get(e.x, i);
    lo[i] = get(e.lo, i);
    hi[i] = get(e.hi, i);
  }
  diff_answer *a = diff_answer_of(p, x, lo, hi);
  free(x);
  free(lo);
  free(hi);
  return a;
}

/* With the defaults, every layout gives what upstream gives to the same problem. */
START_TEST(layouts_agree_with_upstream) {
  const symbol *s = &symbols[_i];
  unsetenv("LCPLUG");
  for (int k = 0; k < SIZE_ROWS; k++) {
    const size_row *row = &size_rows[k];
    diff_problem *p = make_problem(row->n, row->nub, row->findex, (uint64_t)k + 100);
    diff_answer *upstream = diff_upstream(p);
    engine_arrays e = arrays_create(p, s);
    call_symbol(s, p, e, 0);
    diff_answer *a = answer_of(p, e);
    diff_expect(diff_upstream_solved(upstream), "%s: upstream fails", p->name);
    diff_expect(a->residual <= float_limit(s, diff_residual_limit(upstream)),
                "%s, %s: residual %.2e", p->name, s->name, a->residual);
    diff_expect(diff_w_distance(upstream, a) <= float_limit(s, 1e-9),
                "%s, %s: w is %.2e of the unit from upstream's", p->name, s->name,
                diff_w_distance(upstream, a));
    diff_answer_free(a);
    diff_answer_free(upstream);
    arrays_free(e);
    diff_problem_free(p);
  }
  diff_finish();
}
END_TEST

/* ODE's own test wants complementarity to the letter: a force inside its bounds leaves no w, one at
 * a bound a w of the right sign. */
START_TEST(w_is_complementary_to_the_letter) {
  const symbol *s = &symbols[_i];
  unsetenv("LCPLUG");
  for (int k = 0; k < SIZE_ROWS; k++) {
    const size_row *row = &size_rows[k];
    if (row->nub >= row->n) continue;
    diff_problem *p = make_problem(row->n, row->nub, row->findex, (uint64_t)k + 200);
    engine_arrays e = arrays_create(p, s);
    call_symbol(s, p, e, 1);
    int wrong = 0;
    for (int i = 0; i < p->n; i++) {
      double x = get(e.x, i), w = get(e.w, i), lo = get(e.lo, i), hi = get(e.hi, i);
      int low = i >= p->nub && x == lo && w >= 0, high = i >= p->nub && x == hi && w <= 0;
      wrong += !(low || high || w == 0);
    }
    diff_expect(!wrong, "%s, %s: %d rows break complementarity", p->name, s->name, wrong);
    arrays_free(e);
    diff_problem_free(p);
  }
  diff_finish();
}
END_TEST

/* Upstream leaves its frozen bounds in an order of its own.  They come back in the
 * caller's, and with them its answer is a solution, also where one row of a contact
 * has an infinite coefficient. */
START_TEST(bounds_of_upstream_are_told) {
  const symbol *s = &symbols[0];
  setenv("LCPLUG", "solver=pgs,max_iter=1,tol=1e-12,fallback=upstream", 1); /* who will not do */
  for (int k = 0; k < SIZE_ROWS; k++) {
    const size_row *row = &size_rows[k];
    diff_problem *p = make_problem(row->n, row->nub, row->findex, (uint64_t)k + 300);
    for (int i = p->nub; i < p->n; i++)
      if (diff_is_friction(p, i) && i % 2) p->hi[i] = INFINITY, p->lo[i] = -INFINITY;
    engine_arrays e = arrays_create(p, s);
    call_symbol(s, p, e, 0);
    diff_answer *a = answer_of(p, e);
    diff_expect(a->residual <= 1e-10, "%s: upstream's own answer has residual %.2e", p->name,
                a->residual);
    diff_answer_free(a);
    arrays_free(e);
    diff_problem_free(p);
  }
  diff_finish();
}
END_TEST

/* Nothing to solve, nothing to write, no crash. */
START_TEST(no_rows_are_no_problem) {
  const symbol *s = &symbols[_i];
  diff_problem *p = diff_problem_create(0, 1);
  engine_arrays e = arrays_create(p, s);
  call_symbol(s, p, e, 1);
  arrays_free(e);
  diff_problem_free(p);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("exported symbols");
  TCase *tests = tcase_create("layouts");
  if (!getenv("LCPLUG_PRELOAD")) {
    puts("skipped: LCPLUG_PRELOAD does not name the preload object");
    return 77;
  }
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, layouts_are_one_problem, 0, SYMBOLS * SOLVERS);
  tcase_add_loop_test(tests, layouts_agree_with_upstream, 0, SYMBOLS);
  tcase_add_loop_test(tests, w_is_complementary_to_the_letter, 0, SYMBOLS);
  tcase_add_test(tests, bounds_of_upstream_are_told);
  tcase_add_loop_test(tests, no_rows_are_no_problem, 0, SYMBOLS);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_FORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? 1 : 0;
}
