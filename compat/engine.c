/* engine.c - see engine.h.  Doubles are used where they lie, except for bounds that are not what
 * they say; floats are converted on the way in and out. */
#include "engine.h"

#include <float.h>
#include <math.h>

static upstream_word ask_upstream(const engine_call *e) {
  void *found = upstream_kept(e->symbol, e->upstream);
  if (!found) return UPSTREAM_MISSING;
  return e->call_upstream(e, found) ? UPSTREAM_SOLVED : UPSTREAM_GAVE_UP;
}

static int is_friction(const engine_call *e, int i) { return e->findex && e->findex[i] >= 0; }

/* A row whose bounds the engine only means as "none" is free, and a normal force without a limit
 * carries a cone: the solver has to know.  A friction row's hi is its mu. */
static double with_infinity(const engine_call *e, int i, double bound) {
  if (is_friction(e, i) || fabs(bound) < e->unbounded) return bound;
  return copysign(INFINITY, bound);
}

/* Conversions round, raise flags, and trap for a signalling NaN if the host wants that. */
typedef void conversion(const engine_call *e, const swap_call *call);
static void with_quiet_arithmetic(conversion *convert, const engine_call *e,
                                  const swap_call *call) {
  fenv_t host = arithmetic_begin();
  convert(e, call);
  arithmetic_end(host);
}

static void open_bounds(const engine_call *e, const swap_call *call) {
  for (int i = 0; i < e->n; i++) {
    call->lo[i] = with_infinity(e, i, call->lo[i]);
    call->hi[i] = with_infinity(e, i, call->hi[i]);
  }
}

/* ---- double: in place ------------------------------------------------------------------------ */

static upstream_word upstream_double(const swap_call *call) { return ask_upstream(call->engine); }

static void copy(const double *from, int from_step, double *to, int to_step, int n) {
  for (int i = 0; i < n; i++) to[i * to_step] = from[i * from_step];
}

static void copy_bounds_in(const engine_call *e, const swap_call *call) {
  copy(e->lo, e->step, call->lo, 1, e->n);
  copy(e->hi, e->step, call->hi, 1, e->n);
}

/* Upstream sees the bounds as they came, to the bit. */
static upstream_word upstream_own_bounds(const swap_call *call) {
  upstream_word word = ask_upstream(call->engine);
  if (word != UPSTREAM_MISSING) copy_bounds_in(call->engine, call);
  return word;
}

static int solve_with_open_bounds(const engine_call *e, swap_call *call) {
  thread_context *context = thread_context_get();
  size_t rows = e->n > 0 ? (size_t)e->n : 0;
  double *memory = context ? thread_memory(context, MEMORY_ENGINE, 2 * rows + 1) : NULL;
  if (!memory) return ask_upstream(e) == UPSTREAM_SOLVED;
  call->lo = memory;
  call->hi = memory + rows;
  call->bounds_step = 1;
  call->upstream = upstream_own_bounds;
  copy_bounds_in(e, call);
  with_quiet_arithmetic(open_bounds, e, call);
  int use = swap_solve(call);
  copy(call->lo, 1, e->lo, e->step, e->n);
  copy(call->hi, 1, e->hi, e->step, e->n);
  return use;
}

int engine_solve_double(const engine_call *e) {
  swap_call call = {.n = e->n,
                    .nub = e->nub,
                    .A = e->A,
                    .stride = e->stride,
                    .b = e->b,
                    .x = e->x,
                    .b_step = (size_t)e->step,
                    .x_step = (size_t)e->step,
                    .w = e->w,
                    .lo = e->lo,
                    .hi = e->hi,
                    .bounds_step = (size_t)e->step,
                    .findex = e->findex,
                    .asks_on = e->asks_on,
                    .upstream = upstream_double,
                    .engine = e};
  return e->unbounded < INFINITY ? solve_with_open_bounds(e, &call) : swap_solve(&call);
}

/* ---- float: converted ------------------------------------------------------------------------ */

static void widen(const float *from, int step, double *to, int n) {
  for (int i = 0; i < n; i++) to[i] = (double)from[i * step];
}

/* A force beyond the range of floats becomes the largest float; an infinite bound stays infinite,
 * and what upstream left that is no number stays none. */
static void narrow(const double *from, float *to, int step, int n) {
  for (int i = 0; i < n; i++) {
    double v = from[i];
    to[i * step] = isfinite(v) && fabs(v) > (double)FLT_MAX ? copysignf(FLT_MAX, (float)v)
                                                            : (float)v;
  }
}

static void widen_lower_triangle(const float *A, size_t stride, double *to, int n) {
  for (int i = 0; i < n; i++) widen(A + (size_t)i * stride, 1, to + (size_t)i * stride, i + 1);
}

static void widen_bounds(const engine_call *e, const swap_call *call) {
  widen(e->lo, e->step, call->lo, e->n);
  widen(e->hi, e->step, call->hi, e->n);
}

static void convert_in(const engine_call *e, const swap_call *call) {
  widen_lower_triangle(e->A, e->stride, call->A, e->n);
  widen(e->b, e->step, call->b, e->n);
  widen_bounds(e, call);
  if (e->unbounded < INFINITY) open_bounds(e, call);
}

static void convert_out(const engine_call *e, const swap_call *call) {
  narrow(call->x, e->x, e->step, e->n);
  narrow(call->lo, e->lo, e->step, e->n);
  narrow(call->hi, e->hi, e->step, e->n);
  if (e->w && e->nub < e->n) narrow(call->w, e->w, 1, e->n);
}

static void convert_upstream(const engine_call *e, const swap_call *call) {
  widen(e->x, e->step, call->x, e->n);
  widen_bounds(e, call);
  if (e->w && e->nub < e->n) widen(e->w, 1, call->w, e->n);
}

static upstream_word upstream_float(const swap_call *call) {
  const engine_call *e = call->engine;
  upstream_word word = ask_upstream(e);
  if (word != UPSTREAM_MISSING) with_quiet_arithmetic(convert_upstream, e, call);
  return word;
}

int engine_solve_float(const engine_call *e) {
  thread_context *context = thread_context_get();
  size_t rows = e->n > 0 ? (size_t)e->n : 0, matrix = rows * e->stride;
  double *memory =
      context && e->n >= 0 ? thread_memory(context, MEMORY_ENGINE, matrix + 5 * rows + 1) : NULL;
  if (!memory) /* a guest without room leaves everything to the host */
    return ask_upstream(e) == UPSTREAM_SOLVED;
  double *vectors = memory + matrix;
  swap_call call = {.n = e->n,
                    .nub = e->nub,
                    .A = memory,
                    .stride = e->stride,
                    .b = vectors,
                    .x = vectors + rows,
                    .b_step = 1,
                    .x_step = 1,
                    .w = e->w ? vectors + 2 * rows : NULL,
                    .lo = vectors + 3 * rows,
                    .hi = vectors + 4 * rows,
                    .bounds_step = 1,
                    .findex = e->findex,
                    .asks_on = e->asks_on,
                    .single = 1,
                    .upstream = upstream_float,
                    .engine = e};
  with_quiet_arithmetic(convert_in, e, &call);
  int use = swap_solve(&call);
  with_quiet_arithmetic(convert_out, e, &call);
  return use;
}
