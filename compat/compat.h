/* compat.h - what the files of this folder share.
 *
 * ode.c, dart.c, bullet.c   the exported solvers: each describes its engine's call
 * engine.c     makes a swap_call of it, in double precision
 * plug.c       answers that by swap.c (witness.c: in the object that looks on, and records)
 * swap.c       solves it, and decides whose answer the engine gets
 * quickstep.c  ODE's other step
 * upstream.c   finds the solver that we stand in for (relink_wrap.c,
 *              relink_replace.c: when relinked)
 * environment.c, threads.c, stats.c   settings, per-thread memory, the summary
 *
 * Not for engines that know nothing of us, but for callers of liblcplug:
 *
 * mixedlcp.c   the object of mixedlcp.h
 * dantzig.c    upstream's solver, called outside of its engine */
#ifndef LCPLUG_COMPAT_H
#define LCPLUG_COMPAT_H

#include <fenv.h>
#include <stddef.h>
#include <stdint.h>

#include <lcplug/lcplug.h>

/* What the engine's own solver says when it is asked. */
typedef enum upstream_word {
  UPSTREAM_MISSING, /* there is none here */
  UPSTREAM_GAVE_UP, /* it says that its answer is none; x holds anything */
  UPSTREAM_SOLVED   /* ODE's, which says nothing, always counts as this */
} upstream_word;

/* One call of the engine, all numbers as doubles: the problem, and where the answer goes. */
typedef struct swap_call {
  int n, nub;
  double *A;
  size_t stride;
  double *b, *x;
  size_t b_step, x_step;
  double *w; /* NULL: not wanted */
  double *lo, *hi;
  size_t bounds_step;
  int *findex; /* NULL: no friction rows */
  int single;  /* the engine's own numbers are floats */
  int asks_on; /* the engine can be told that there is no answer, and then asks another solver */
  /* Calls the engine's own solver on the same arrays, which it may destroy.  `engine` is for its
   * use. */
  upstream_word (*upstream)(const struct swap_call *call);
  const void *engine;
} swap_call;

/* What the exported symbols come to: x, w, lo and hi are to be written.  Whether the engine should
 * use the answer: 0 means that it would have been told the same without us, or that nobody here
 * has an answer worth having. */
int swap_solve(const swap_call *call);

/* The problem as the call's arrays hold it. */
void swap_problem(const swap_call *call, lcplug_problem *problem);

/* swap_solve by lcplug. */
int swap_answer(const swap_call *call);

/* Writes upstream's answer, with the bounds that it used in lo and hi, in the caller's order; 0,
 * and x means nothing, if there is none, or upstream itself says so. */
int swap_upstream(const swap_call *call);

/* ---- settings from the environment, read once ------------------------------------------------ */

const lcplug_settings *environment_settings(void);

/* The same for problems in floats, whose own rounding no tolerance below 1e-6 can ask away. */
const lcplug_settings *environment_settings_single(void);

/* One line on stderr, while `warn` allows. */
void environment_warn(const char *text);

/* ---- statistics ------------------------------------------------------------------------------ */

/* What is counted, and the words of the summary. */
#define SWAP_COUNTERS(X)                                                                           \
  X(COUNT_CALLS, "calls")                                                                          \
  X(COUNT_SOLVED, "solved by lcplug to the tolerance")                                             \
  X(COUNT_UNSOLVED, "kept although above the tolerance")                                           \
  X(COUNT_FALLBACKS, "asked upstream after a miss")                                                \
  X(COUNT_UPSTREAM, "answered by upstream")                                                        \
  X(COUNT_UPSTREAM_ERRORS, "upstream errors met")                                                  \
  X(COUNT_REFUSED, "refused input")                                                                \
  X(COUNT_ZEROS, "answered with zero forces")                                                      \
  X(COUNT_DECLINED, "left to the engine's next solver")                                            \
  X(COUNT_STEPS, "dWorldQuickStep calls made dWorldStep")
#define COUNTER_CODE(code, text) code,
typedef enum counter { SWAP_COUNTERS(COUNTER_CODE) COUNTERS } counter;
#undef COUNTER_CODE

enum { RESIDUAL_BINS = 76 * 4 }; /* quarters of a power of two, from 2^-66 to 2^10 */

/* One thread's numbers.  Only its thread writes; the summary may read at any time. */
typedef struct statistics {
  uint64_t count[COUNTERS];
  uint64_t solver[8]; /* answers by lcplug_solver */
  uint64_t rows;
  uint64_t most_rows, least_rows;
  uint64_t nanoseconds; /* whole numbers: adding them raises no floating-point flag */
  double worst_residual, worst_gap;
  uint64_t residual[RESIDUAL_BINS];
} statistics;

void statistics_count(statistics *s, counter which);
void statistics_size(statistics *s, int n);
void statistics_answer(statistics *s, lcplug_solver solver, double residual, double gap);
void statistics_time(statistics *s, uint64_t nanoseconds);
void statistics_add(statistics *sum, const statistics *part);
void statistics_print(const statistics *s);

/* ---- a thread's memory ----------------------------------------------------------------------- */

typedef enum memory_purpose {
  MEMORY_ANSWER, /* vectors of the present call */
  MEMORY_MATRIX, /* A, saved from an upstream that destroys it */
  MEMORY_ENGINE, /* a single-precision problem as doubles */
  MEMORY_WITNESS, /* a problem as it came, and both answers to it */
  MEMORY_PURPOSES
} memory_purpose;

typedef struct thread_context {
  struct thread_context *before, *after; /* all contexts, for the summary */
  lcplug_workspace *workspace;
  int busy; /* a solve is under way: a call from a signal handler finds it set */
  int watched; /* the same for the witness */
  double *memory[MEMORY_PURPOSES]; /* each grows, never shrinks */
  size_t memory_size[MEMORY_PURPOSES];
  statistics statistics;
} thread_context;

/* This thread's context, made at its first call and freed when the thread ends; NULL if there is no
 * memory for it. */
thread_context *thread_context_get(void);

/* `count` doubles that stay until they are asked for again; NULL if out of memory. */
double *thread_memory(thread_context *context, memory_purpose purpose, size_t count);

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* The host may trap, flush or round as it likes; what we compute outside the core is done between
 * these two.  (The core sees to itself.) */
static inline fenv_t arithmetic_begin(void) {
  fenv_t host;
  fegetenv(&host);
  fesetenv(FE_DFL_ENV);
  return host;
}
static inline void arithmetic_end(fenv_t host) { fesetenv(&host); }

/* ---- upstream -------------------------------------------------------------------------------- */

/* The function that `symbol` would be without us, or NULL. */
void *upstream_find(const char *symbol);

/* The same, found once and then kept in *kept; a missing one is looked for again,
 * as it may be loaded later. */
static inline void *upstream_kept(const char *symbol, void **kept) {
  void *found = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
  if (!found && (found = upstream_find(symbol))) __atomic_store_n(kept, found, __ATOMIC_RELEASE);
  return found;
}

#endif
