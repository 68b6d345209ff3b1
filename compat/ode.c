/* ode.c - the solver symbols of Open Dynamics Engine, all versions and both precisions.
 *
 * Three layouts of the same problem:
 *
 *     pairs   (arena, n, A, pairs (b, x), w, nub, pairs (lo, hi), findex)   ODE 0.15, 0.16
 *     arena   (arena, n, A, x, b, w, nub, lo, hi, findex)                   ODE 0.12 to 0.14
 *     plain   (n, A, x, b, w, nub, lo, hi, findex)                          ODE up to 0.11.1
 *
 * A's rows are padded to a multiple of four.  Doubles are used where they lie; floats are converted
 * on the way in and out. */
#include <math.h>

#include "compat.h"
#include "symbols.h"

/* Relinked with --wrap=SYMBOL, the linker sends the engine's calls to __wrap_SYMBOL. */
#if defined(LCPLUG_RELINK_WRAP)
#define ENTRY(symbol) __wrap_##symbol
#else
#define ENTRY(symbol) symbol
#endif

/* The engine's arguments as they came.  Pairs: x lies behind b, hi behind lo, in steps of two. */
typedef struct engine_call {
  void (*call_upstream)(const struct engine_call *e, void *upstream);
  const char *symbol;
  void **upstream; /* where its address is kept once it is found */
  void *arena;
  int n, nub;
  void *A, *x, *b, *w, *lo, *hi;
  int step;
  int *findex;
} engine_call;

static size_t padded(int n) { return n > 1 ? (size_t)(((n - 1) | 3) + 1) : (size_t)n; }

static void upstream_pairs(const engine_call *e, void *upstream) {
  typedef void function(void *, unsigned, void *, void *, void *, unsigned, void *, int *);
  ((function *)upstream)(e->arena, (unsigned)e->n, e->A, e->b, e->w, (unsigned)e->nub, e->lo,
                         e->findex);
}

static void upstream_arena(const engine_call *e, void *upstream) {
  typedef void function(void *, int, void *, void *, void *, void *, int, void *, void *, int *);
  ((function *)upstream)(e->arena, e->n, e->A, e->x, e->b, e->w, e->nub, e->lo, e->hi, e->findex);
}

static void upstream_plain(const engine_call *e, void *upstream) {
  typedef void function(int, void *, void *, void *, void *, int, void *, void *, int *);
  ((function *)upstream)(e->n, e->A, e->x, e->b, e->w, e->nub, e->lo, e->hi, e->findex);
}

/* Asked for only when it is needed, and then found once; a missing one is looked for again, as it may
 * be loaded later. */
static int ask_upstream(const engine_call *e) {
  void *found = __atomic_load_n(e->upstream, __ATOMIC_ACQUIRE);
  if (!found && (found = upstream_find(e->symbol)))
    __atomic_store_n(e->upstream, found, __ATOMIC_RELEASE);
  if (found) e->call_upstream(e, found);
  return found != NULL;
}

/* ---- double: in place --------------------------------------------------------------------------- */

static int upstream_double(const swap_call *call) { return ask_upstream(call->engine); }

static void solve_double(const engine_call *e) {
  swap_call call = {.n = e->n,
                    .nub = e->nub,
                    .A = e->A,
                    .stride = padded(e->n),
                    .b = e->b,
                    .x = e->x,
                    .b_step = (size_t)e->step,
                    .x_step = (size_t)e->step,
                    .w = e->w,
                    .lo = e->lo,
                    .hi = e->hi,
                    .bounds_step = (size_t)e->step,
                    .findex = e->findex,
                    .upstream = upstream_double,
                    .engine = e};
  swap_solve(&call);
}

/* ---- float: converted --------------------------------------------------------------------------- */

static void widen(const float *from, int step, double *to, int n) {
  for (int i = 0; i < n; i++) to[i] = (double)from[i * step];
}

/* A force beyond the range of floats becomes the largest float, an infinite bound stays infinite. */
static void narrow(const double *from, float *to, int step, int n) {
  for (int i = 0; i < n; i++) {
    double v = from[i];
    to[i * step] = isinf(v) || fabs(v) <= 3.4028234e38 ? (float)v : v > 0 ? 3.4028234e38f : -3.4028234e38f;
  }
}

static void widen_lower_triangle(const float *A, double *to, int n) {
  size_t stride = padded(n);
  for (int i = 0; i < n; i++) widen(A + (size_t)i * stride, 1, to + (size_t)i * stride, i + 1);
}

/* Conversions round, raise flags, and trap for a signalling NaN if the host wants that. */
typedef void conversion(const engine_call *e, const swap_call *call);
static void with_quiet_arithmetic(conversion *convert, const engine_call *e, const swap_call *call) {
  fenv_t host = arithmetic_begin();
  convert(e, call);
  arithmetic_end(host);
}

static void convert_in(const engine_call *e, const swap_call *call) {
  widen_lower_triangle(e->A, call->A, e->n);
  widen(e->b, e->step, call->b, e->n);
  widen(e->lo, e->step, call->lo, e->n);
  widen(e->hi, e->step, call->hi, e->n);
}

static void convert_out(const engine_call *e, const swap_call *call) {
  narrow(call->x, e->x, e->step, e->n);
  narrow(call->lo, e->lo, e->step, e->n);
  narrow(call->hi, e->hi, e->step, e->n);
  if (e->w && e->nub < e->n) narrow(call->w, e->w, 1, e->n);
}

static void convert_upstream(const engine_call *e, const swap_call *call) {
  widen(e->x, e->step, call->x, e->n);
  widen(e->lo, e->step, call->lo, e->n);
  widen(e->hi, e->step, call->hi, e->n);
  if (e->w && e->nub < e->n) widen(e->w, 1, call->w, e->n);
}

static int upstream_float(const swap_call *call) {
  const engine_call *e = call->engine;
  if (!ask_upstream(e)) return 0;
  with_quiet_arithmetic(convert_upstream, e, call);
  return 1;
}

static void solve_float(const engine_call *e) {
  thread_context *context = thread_context_get();
  size_t stride = padded(e->n), rows = e->n > 0 ? (size_t)e->n : 0;
  double *memory = context && e->n >= 0 ? thread_memory(context, MEMORY_ENGINE, rows * stride + 5 * rows)
                                        : NULL;
  if (!memory) { /* a guest without room leaves everything to the host */
    ask_upstream(e);
    return;
  }
  double *vectors = memory + rows * stride;
  swap_call call = {.n = e->n,
                    .nub = e->nub,
                    .A = memory,
                    .stride = stride,
                    .b = vectors,
                    .x = vectors + rows,
                    .b_step = 1,
                    .x_step = 1,
                    .w = e->w ? vectors + 2 * rows : NULL,
                    .lo = vectors + 3 * rows,
                    .hi = vectors + 4 * rows,
                    .bounds_step = 1,
                    .findex = e->findex,
                    .single = 1,
                    .upstream = upstream_float,
                    .engine = e};
  with_quiet_arithmetic(convert_in, e, &call);
  swap_solve(&call);
  with_quiet_arithmetic(convert_out, e, &call);
}

/* ---- the symbols -------------------------------------------------------------------------------- */

/* Each symbol is defined by the line of its layout; the declaration before it is for the compiler. */
#define DEFINE_pairs(symbol, real)                                                                 \
  void ENTRY(symbol)(void *, unsigned, real *, real *, real *, unsigned, real *, int *)            \
      __attribute__((visibility("default")));                                                      \
  void ENTRY(symbol)(void *arena, unsigned n, real *A, real *bx, real *w, unsigned nub, real *lh,  \
                     int *findex) {                                                                \
    static void *cache;                                                                            \
    engine_call e = {upstream_pairs, #symbol, &cache, arena, (int)n, (int)nub, A,     \
                     bx + 1, bx, w, lh, lh + 1, 2, findex};                                        \
    solve_##real(&e);                                                                              \
  }

#define DEFINE_arena(symbol, real)                                                                 \
  void ENTRY(symbol)(void *, int, real *, real *, real *, real *, int, real *, real *, int *)      \
      __attribute__((visibility("default")));                                                      \
  void ENTRY(symbol)(void *arena, int n, real *A, real *x, real *b, real *w, int nub, real *lo,    \
                     real *hi, int *findex) {                                                      \
    static void *cache;                                                                            \
    engine_call e = {upstream_arena, #symbol, &cache, arena, n, nub, A, x, b, w, lo,  \
                     hi, 1, findex};                                                               \
    solve_##real(&e);                                                                              \
  }

#define DEFINE_plain(symbol, real)                                                                 \
  void ENTRY(symbol)(int, real *, real *, real *, real *, int, real *, real *, int *)              \
      __attribute__((visibility("default")));                                                      \
  void ENTRY(symbol)(int n, real *A, real *x, real *b, real *w, int nub, real *lo, real *hi,       \
                     int *findex) {                                                                \
    static void *cache;                                                                            \
    engine_call e = {upstream_plain, #symbol, &cache, NULL, n, nub, A, x, b, w, lo,   \
                     hi, 1, findex};                                                               \
    solve_##real(&e);                                                                              \
  }

#define DEFINE(symbol, layout, real) DEFINE_##layout(symbol, real)
LCPLUG_SYMBOLS(DEFINE)
