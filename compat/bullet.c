/* bullet.c - the Dantzig solver of Bullet's MLCP classes, in both precisions.
 *
 *     bool (n, A, x, b, w, nub, lo, hi, findex, scratch)
 *
 * A's rows follow each other without padding.  Bullet passes nub 0, so rows without bounds must be
 * found; it writes "none" as its largest number, and 1e10 for a contact's normal.  Told false,
 * Bullet solves the whole group by sequential impulses. */
#include <stdbool.h>

#include "engine.h"
#include "symbols.h"

static const double NO_BOUND = 1e10;

static int upstream_bullet(const engine_call *e, void *upstream) {
  typedef bool function(int, void *, void *, void *, void *, int, void *, void *, int *, void *);
  return ((function *)upstream)(e->n, e->A, e->x, e->b, e->w, e->nub, e->lo, e->hi, e->findex,
                                e->own);
}

#define DEFINE(symbol, layout, real)                                                               \
  bool ENTRY(symbol)(int, real *, real *, real *, real *, int, real *, real *, int *, void *)      \
      __attribute__((visibility("default")));                                                      \
  bool ENTRY(symbol)(int n, real *A, real *x, real *b, real *w, int nub, real *lo, real *hi,       \
                     int *findex, void *scratch) {                                                 \
    static void *cache;                                                                            \
    engine_call e = {upstream_bullet, #symbol, &cache, scratch, n, nub, (size_t)(n > 0 ? n : 0),   \
                     A, x, b, w, lo, hi, 1, findex, NO_BOUND, 1};                                  \
    return engine_solve_##real(&e);                                                                \
  }

LCPLUG_BULLET_SYMBOLS(DEFINE)
