/* engine.h - one call of an engine's solver as it came, and its way to swap_solve.
 *
 * Every engine here hands over the same problem; they differ in precision, in the length of A's
 * rows, in whether b and x, lo and hi stand in pairs, and in one argument that is theirs alone.
 * ode.c, dart.c and bullet.c describe their call in an engine_call, engine.c does the rest. */
#ifndef LCPLUG_COMPAT_ENGINE_H
#define LCPLUG_COMPAT_ENGINE_H

#include "compat.h"

/* Relinked with --wrap=SYMBOL, the linker sends the engine's calls to __wrap_SYMBOL. */
#if defined(LCPLUG_RELINK_WRAP)
#define ENTRY(symbol) __wrap_##symbol
#else
#define ENTRY(symbol) symbol
#endif

/* The engine's arguments.  Vectors other than w are read in steps of `step`: pairs have x behind b
 * and hi behind lo, in steps of two. */
typedef struct engine_call {
  /* Calls the engine's own solver with the arguments below; whether it says that it has solved. */
  int (*call_upstream)(const struct engine_call *e, void *upstream);
  const char *symbol;
  void **upstream; /* where its address is kept once it is found */
  void *own;       /* the argument that is the engine's alone */
  int n, nub;
  size_t stride; /* of A's rows */
  void *A, *x, *b, *w, *lo, *hi;
  int step;
  int *findex;
  double unbounded; /* a bound of this size or more means none */
  int asks_on;      /* told that there is no answer, the engine asks another solver */
} engine_call;

/* ODE and DART pad A's rows to a multiple of four. */
static inline size_t engine_padded(int n) {
  return n > 1 ? (size_t)(((n - 1) | 3) + 1) : (size_t)n;
}

/* Solve the call, in arrays of that precision; whether the engine should use the answer.  (If not,
 * x holds the best that is known all the same.) */
int engine_solve_double(const engine_call *e);
int engine_solve_float(const engine_call *e);

#endif
