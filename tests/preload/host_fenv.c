/* host_fenv.c - a host with a floating-point environment of its own.
 *
 * usage: host_fenv [quiet|hostile]
 * Calls the solver as ODE does, in double and (if somebody defines that symbol) in single
 * precision, and prints the answers to the last bit. `hostile` does so with traps for invalid
 * operations, divisions by zero and overflows, upward rounding, flush to zero and a raised flag; it
 * then checks that this environment is still there.
 *
 * usage: host_fenv scene [traps]
 * Steps a scene with dWorldStep, with those traps set or not.  Exit status 4: the environment
 * changed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "scenes/scenes.h"

enum { TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

/* ---- the environment ------------------------------------------------------------------------- */

static unsigned control_word(void) {
#if defined(__SSE2__)
  return _mm_getcsr();
#else
  return 0;
#endif
}

static void set_hostile(void) {
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_UNDERFLOW); /* untrapped: a flag that must survive */
  fesetround(FE_UPWARD);
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
  feenableexcept(TRAPS);
}

static int is_hostile(unsigned word) {
  return fegetround() == FE_UPWARD && fegetexcept() == TRAPS && fetestexcept(FE_UNDERFLOW) &&
         !fetestexcept(TRAPS) && control_word() == word;
}

/* ---- problems -------------------------------------------------------------------------------- */

enum { N = 12, STRIDE = 12 };

typedef void solver_double(void *, unsigned, double *, double *, double *, unsigned, double *,
                           int *);
typedef void solver_single(void *, unsigned, float *, float *, float *, unsigned, float *, int *);

typedef struct problem {
  double A[N * STRIDE], bx[2 * N], lh[2 * N];
  int findex[N];
} problem;

/* Four contacts that act on one another, with forces that are no round numbers.  The small elements
 * are denormal as floats. */
static problem make_problem(double mu) {
  problem p = {.findex = {0}};
  for (int i = 0; i < N; i++) {
    for (int j = 0; j <= i; j++)
      p.A[i * STRIDE + j] = i == j ? 3.1 : 1.0 / (1 + (i + 2 * j) % 7) - 0.4;
    p.A[i * STRIDE] = i == 0 ? 3.1 : 1e-40 * i;
    p.bx[2 * i] = i % 3 ? 0.3 * i - 1.7 : 1.0 / 3 + i;
    p.lh[2 * i] = i % 3 ? -mu : 0;
    p.lh[2 * i + 1] = i % 3 ? mu : INFINITY;
    p.findex[i] = i % 3 ? i - i % 3 : -1;
  }
  return p;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static void *find(const char *symbol) { return dlsym(RTLD_DEFAULT, symbol); }

static void *new_arena(void) {
  typedef void *function(size_t, const void *, const void *);
  function *create = (function *)find(
      "_Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProcess"
      "MemoryManagerPK31dxWorldProcessMemoryReserveInfo");
  void **arena = create ? create(1 << 20, NULL, NULL) : NULL;
  if (arena) arena[0] = arena[1];
  return arena;
}

/* Only the call itself is made in the hostile environment: what the host computes before and after
 * would else differ by its own rounding.  Returns whether the environment was kept. */
static int call_double(void *arena, problem *p, int hostile) {
  static solver_double *solve;
  if (!solve)
    solve = (solver_double *)find("_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi");
  if (!hostile) {
    solve(arena, N, p->A, p->bx, NULL, 0, p->lh, p->findex);
    return 1;
  }
  set_hostile();
  unsigned word = control_word();
  solve(arena, N, p->A, p->bx, NULL, 0, p->lh, p->findex);
  int kept = is_hostile(word);
  fesetenv(FE_DFL_ENV);
  return kept;
}

static int call_single(const problem *p, float *bx, int hostile) {
  solver_single *solve =
      (solver_single *)find("_Z10dxSolveLCPP22dxWorldProcessMemArenajPfS1_S1_jS1_Pi");
  float A[N * STRIDE], lh[2 * N];
  int findex[N], kept = 1;
  if (!solve) return 1;
  for (int i = 0; i < N * STRIDE; i++) A[i] = (float)p->A[i];
  for (int i = 0; i < 2 * N; i++) bx[i] = (float)p->bx[i];
  for (int i = 0; i < 2 * N; i++) lh[i] = (float)p->lh[i];
  memcpy(findex, p->findex, sizeof findex);
  unsigned word = 0;
  if (hostile) {
    set_hostile();
    word = control_word();
  }
  solve(NULL, N, A, bx, NULL, 0, lh, findex);
  if (hostile) {
    kept = is_hostile(word);
    fesetenv(FE_DFL_ENV);
  }
  return kept;
}

/* With mu 0.5, 0 and infinite, then in floats. */
static int direct_calls(int hostile) {
  static const double mu[] = {0.5, 0, INFINITY};
  void *arena = new_arena();
  int all_kept = 1;
  if (!arena) return 1;
  for (int k = 0; k < 3; k++) {
    problem p = make_problem(mu[k]);
    int kept = call_double(arena, &p, hostile);
    ((void **)arena)[0] = ((void **)arena)[1];
    printf("double %d", k);
    for (int i = 0; i < N; i++) printf(" %.17g", p.bx[2 * i + 1]);
    printf("\n");
    if (!kept) fprintf(stderr, "double %d: the environment changed\n", k);
    all_kept &= kept;
  }
  problem p = make_problem(0.5);
  float bx[2 * N] = {0};
  int kept = call_single(&p, bx, hostile);
  printf("single");
  for (int i = 0; i < N; i++) printf(" %.9g", (double)bx[2 * i + 1]);
  printf("\n");
  if (!kept) fprintf(stderr, "single: the environment changed\n");
  return all_kept && kept ? 0 : 4;
}

/* ---- a whole scene --------------------------------------------------------------------------- */

static int step_scene(int traps) {
  scene_config config = scene_config_default();
  config.kind = "mixed";
  config.size = 15;
  config.cfm = 1e-5;
  if (!scenes_init()) return 1;
  scene *s = scene_create(&config);
  if (!s) return 1;
  if (traps) feenableexcept(TRAPS);
  int kept = 1;
  for (int step = 0; step < 80; step++) {
    scene_step(s);
    kept &= fegetround() == FE_TONEAREST && fegetexcept() == (traps ? TRAPS : 0);
  }
  fedisableexcept(TRAPS);
  for (int i = 0; i < scene_bodies(s); i++) {
    const dReal *at = dBodyGetPosition(scene_body(s, i));
    printf("body %d %.17g %.17g %.17g\n", i, at[0], at[1], at[2]);
  }
  scene_free(s);
  scenes_done();
  return kept ? 0 : 4;
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "quiet";
  if (!strcmp(mode, "scene")) return step_scene(count > 2);
  return direct_calls(!strcmp(mode, "hostile"));
}
