/* dart.c - the solver of DART: ODE's of old in a namespace, in double precision alone.
 *
 *     bool (n, A, x, b, w, nub, lo, hi, findex, early)
 *
 * A's rows are padded to a multiple of four; DART passes nub 0 and w NULL.  Told false, DART solves
 * again with its second solver (PGS, unless the program chose another) from a copy of its own; a
 * program that has taken the second solver away gets x as it is.  `early` says whether there is a
 * second one: upstream may then give up early. */
#include <float.h>
#include <stdbool.h>

#include "engine.h"
#include "symbols.h"

static int upstream_dart(const engine_call *e, void *upstream) {
  typedef bool function(int, void *, void *, void *, void *, int, void *, void *, int *, bool);
  const bool *early = e->own;
  return ((function *)upstream)(e->n, e->A, e->x, e->b, e->w, e->nub, e->lo, e->hi, e->findex,
                                *early);
}

#define DEFINE(symbol, layout, real)                                                               \
  bool ENTRY(symbol)(int, real *, real *, real *, real *, int, real *, real *, int *, bool)        \
      __attribute__((visibility("default")));                                                      \
  bool ENTRY(symbol)(int n, real *A, real *x, real *b, real *w, int nub, real *lo, real *hi,       \
                     int *findex, bool early) {                                                    \
    static void *cache;                                                                            \
    engine_call e = {upstream_dart, #symbol, &cache, &early, n, nub, engine_padded(n), A, x, b, w, \
                     lo, hi, 1, findex, DBL_MAX, 1};                                               \
    return engine_solve_##real(&e);                                                                \
  }

LCPLUG_DART_SYMBOLS(DEFINE)
