/* ode.c - the solver symbols of Open Dynamics Engine, all versions and both precisions.
 *
 * Three layouts of the same problem, with A's rows padded to a multiple of four:
 *
 *     pairs   (arena, n, A, pairs (b, x), w, nub, pairs (lo, hi), findex)   ODE 0.15, 0.16
 *     arena   (arena, n, A, x, b, w, nub, lo, hi, findex)                   ODE 0.12 to 0.14
 *     plain   (n, A, x, b, w, nub, lo, hi, findex)                          ODE up to 0.11.1
 *
 * None of them returns anything: ODE uses x whatever it is. */
#include <math.h>

#include "engine.h"
#include "symbols.h"

static int upstream_pairs(const engine_call *e, void *upstream) {
  typedef void function(void *, unsigned, void *, void *, void *, unsigned, void *, int *);
  ((function *)upstream)(e->own, (unsigned)e->n, e->A, e->b, e->w, (unsigned)e->nub, e->lo,
                         e->findex);
  return 1;
}

static int upstream_arena(const engine_call *e, void *upstream) {
  typedef void function(void *, int, void *, void *, void *, void *, int, void *, void *, int *);
  ((function *)upstream)(e->own, e->n, e->A, e->x, e->b, e->w, e->nub, e->lo, e->hi, e->findex);
  return 1;
}

static int upstream_plain(const engine_call *e, void *upstream) {
  typedef void function(int, void *, void *, void *, void *, int, void *, void *, int *);
  ((function *)upstream)(e->n, e->A, e->x, e->b, e->w, e->nub, e->lo, e->hi, e->findex);
  return 1;
}

/* Each symbol is defined by the line of its layout; the declaration
 * before it is for the compiler. */
#define DEFINE_pairs(symbol, real)                                                                 \
  void ENTRY(symbol)(void *, unsigned, real *, real *, real *, unsigned, real *, int *)            \
      __attribute__((visibility("default")));                                                      \
  void ENTRY(symbol)(void *arena, unsigned n, real *A, real *bx, real *w, unsigned nub, real *lh,  \
                     int *findex) {                                                                \
    static void *cache;                                                                            \
    engine_call e = {upstream_pairs, #symbol, &cache, arena, (int)n, (int)nub,                     \
                     engine_padded((int)n), A, bx + 1, bx, w, lh, lh + 1, 2, findex, INFINITY, 0}; \
    engine_solve_##real(&e);                                                                       \
  }

#define DEFINE_arena(symbol, real)                                                                 \
  void ENTRY(symbol)(void *, int, real *, real *, real *, real *, int, real *, real *, int *)      \
      __attribute__((visibility("default")));                                                      \
  void ENTRY(symbol)(void *arena, int n, real *A, real *x, real *b, real *w, int nub, real *lo,    \
                     real *hi, int *findex) {                                                      \
    static void *cache;                                                                            \
    engine_call e = {upstream_arena, #symbol, &cache, arena, n, nub, engine_padded(n), A, x, b, w, \
                     lo, hi, 1, findex, INFINITY, 0};                                              \
    engine_solve_##real(&e);                                                                       \
  }

#define DEFINE_plain(symbol, real)                                                                 \
  void ENTRY(symbol)(int, real *, real *, real *, real *, int, real *, real *, int *)              \
      __attribute__((visibility("default")));                                                      \
  void ENTRY(symbol)(int n, real *A, real *x, real *b, real *w, int nub, real *lo, real *hi,       \
                     int *findex) {                                                                \
    static void *cache;                                                                            \
    engine_call e = {upstream_plain, #symbol, &cache, NULL, n, nub, engine_padded(n), A, x, b, w,  \
                     lo, hi, 1, findex, INFINITY, 0};                                              \
    engine_solve_##real(&e);                                                                       \
  }

#define DEFINE(symbol, layout, real) DEFINE_##layout(symbol, real)
LCPLUG_ODE_SYMBOLS(DEFINE)
