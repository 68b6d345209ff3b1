/* swap.c - one engine call, solved by lcplug, and the rule that nobody is worse off.
 *
 *     ours meets the tolerance                    -> ours
 *     it does not, and a fallback is wanted       -> the best by residual of
 *                                                    ours and the fallback's
 *     the input is refused, or there is no memory -> upstream's, counted; zeros
 *                                                    if that is not finite
 *
 * Our own answer is never worse than zero forces, so zero needs no candidate of its own.  The
 * engine's arrays stay as they came until one answer is chosen.
 *
 * DART and Bullet can be told that there is no answer, and then ask a solver of their
 * own.  They are told so when nobody has met the tolerance and upstream would have said
 * the same or is not there; the best answer is written all the same, as a program can
 * take DART's second solver away. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include <time.h>

#include "compat.h"

/* Beyond this residual upstream has not solved anything: it has met an error and left zeros. */
static double upstream_failed(const swap_call *call) { return call->single ? 1e-2 : 1e-6; }

/* The call, this thread's arrays for it, and what has been found out. */
typedef struct attempt {
  const swap_call *call;
  thread_context *context;
  const lcplug_settings *settings;
  lcplug_problem problem;
  lcplug_solution solution; /* ours, in this thread's memory */
  lcplug_info info;
  /* what upstream destroys, as it was */
  double *b, *lo, *hi;
  int *findex;
  double *bound, *scratch; /* upstream's friction bounds; 2 n numbers to find them */
  upstream_word word;      /* what upstream has said, once it is asked */
} attempt;

static uint64_t nanoseconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int wants_w(const swap_call *call) { return call->w && call->nub < call->n; }

static int is_friction(const int *findex, int i) { return findex && findex[i] >= 0; }

static void write_zeros(const swap_call *call) {
  for (int i = 0; i < call->n; i++) call->x[(size_t)i * call->x_step] = 0.0;
  if (wants_w(call)) memset(call->w, 0, (size_t)call->n * sizeof *call->w);
}

static int answer_is_finite(const swap_call *call) {
  for (int i = 0; i < call->n; i++)
    if (!isfinite(call->x[(size_t)i * call->x_step])) return 0;
  return 1;
}

/* Whether upstream survives this problem: an index outside of it would make it read and write
 * anywhere, and no rows, or bounds that do not enclose 0, end the program with an assertion. */
static int upstream_survives(const swap_call *call) {
  fenv_t host = arithmetic_begin();
  int survives = call->n > 0;
  for (int i = 0; i < call->n; i++) {
    double lo = call->lo[(size_t)i * call->bounds_step],
           hi = call->hi[(size_t)i * call->bounds_step];
    survives &= lo <= 0.0 && hi >= 0.0;
    if (call->findex) survives &= call->findex[i] < call->n;
  }
  arithmetic_end(host);
  return survives;
}

/* ---- upstream -------------------------------------------------------------------------------- */

/* Upstream's answer whatever it is, but never a number that is none; whether it is to be used. */
static int leave_to_upstream(const swap_call *call, statistics *s) {
  upstream_word word = upstream_survives(call) ? call->upstream(call) : UPSTREAM_MISSING;
  int answered = word != UPSTREAM_MISSING && answer_is_finite(call);
  if (!answered) write_zeros(call);
  if (s) statistics_count(s, answered ? COUNT_UPSTREAM : COUNT_ZEROS);
  return answered && word == UPSTREAM_SOLVED;
}

/* Saves what upstream destroys and points the problem at the copies; 0 if there is no room. */
static int save_problem(attempt *a) {
  const swap_call *call = a->call;
  size_t numbers = (size_t)call->n * call->stride;
  double *A = thread_memory(a->context, MEMORY_MATRIX, numbers);
  if (!A) return 0;
  memcpy(A, call->A, numbers * sizeof *A);
  for (int i = 0; i < call->n; i++) {
    a->b[i] = call->b[(size_t)i * call->b_step];
    a->lo[i] = call->lo[(size_t)i * call->bounds_step];
    a->hi[i] = call->hi[(size_t)i * call->bounds_step];
    if (call->findex) a->findex[i] = call->findex[i];
  }
  a->problem.A = A;
  a->problem.b = a->b;
  a->problem.lo = a->lo;
  a->problem.hi = a->hi;
  a->problem.b_step = a->problem.bounds_step = 1;
  a->problem.findex = call->findex ? a->findex : NULL;
  return 1;
}

/* Puts the caller's order back: lo, hi and findex as they came. */
static void restore_rows(const attempt *a) {
  const swap_call *call = a->call;
  for (int i = 0; i < call->n; i++) {
    call->lo[(size_t)i * call->bounds_step] = a->lo[i];
    call->hi[(size_t)i * call->bounds_step] = a->hi[i];
    if (call->findex) call->findex[i] = a->findex[i];
  }
}

/* Upstream permutes lo, hi and findex together.  The rows of one normal have bounds mu_i |x_n| with
 * the x_n of its first phase, so the largest finite bound of a normal and its largest finite mu
 * tell all of them; an infinite mu has an infinite bound or, without a normal force, 0.  bound
 * receives them in the caller's order; scratch: 3 n. */
static void upstream_bounds(const attempt *a, double *bound, double *scratch) {
  const swap_call *call = a->call;
  double *largest_bound = scratch, *largest_mu = scratch + call->n,
         *of_infinite = scratch + 2 * call->n;
  memset(scratch, 0, 3 * (size_t)call->n * sizeof *scratch);
  for (int k = 0; k < call->n; k++) {
    double hi = fabs(call->hi[(size_t)k * call->bounds_step]), mu = fabs(a->hi[k]);
    if (is_friction(call->findex, k)) {
      double *largest = isinf(hi) ? of_infinite : largest_bound;
      largest[call->findex[k]] = fmax(largest[call->findex[k]], hi);
    }
    if (is_friction(a->findex, k) && isfinite(mu))
      largest_mu[a->findex[k]] = fmax(largest_mu[a->findex[k]], mu);
  }
  for (int i = 0; i < call->n; i++) {
    bound[i] = 0.0;
    if (!is_friction(a->findex, i)) continue;
    int normal = a->findex[i];
    double mu = fabs(a->hi[i]);
    if (isinf(mu)) bound[i] = of_infinite[normal];
    else if (mu > 0.0) bound[i] = mu / largest_mu[normal] * largest_bound[normal];
  }
}

static void write_friction_bounds(const swap_call *call, const double *hi) {
  for (int i = 0; i < call->n; i++)
    if (is_friction(call->findex, i)) {
      call->lo[(size_t)i * call->bounds_step] = -hi[i];
      call->hi[(size_t)i * call->bounds_step] = hi[i];
    }
}

/* Runs upstream on the engine's arrays and judges its answer; infinity if there is none.
 * Afterwards the engine's arrays hold that answer with its bounds, in the caller's order. */
static double ask_upstream(attempt *a) {
  const swap_call *call = a->call;
  double residual = INFINITY;
  a->word = UPSTREAM_MISSING;
  if (!upstream_survives(call) || !save_problem(a)) return INFINITY;
  if ((a->word = call->upstream(call)) == UPSTREAM_MISSING) return INFINITY;
  fenv_t host = arithmetic_begin();
  upstream_bounds(a, a->bound, a->scratch);
  arithmetic_end(host);
  restore_rows(a);
  if (answer_is_finite(call))
    lcplug_residual(a->context->workspace, &a->problem, a->settings->friction, call->x,
                    call->x_step, a->bound, a->bound, 1, &residual);
  write_friction_bounds(call, a->bound);
  if (residual > upstream_failed(call))
    statistics_count(&a->context->statistics, COUNT_UPSTREAM_ERRORS);
  return residual;
}

/* ---- ours ------------------------------------------------------------------------------------ */

/* In place: to copy what has just been written waits for it. */
void swap_problem(const swap_call *call, lcplug_problem *p) {
  *p = lcplug_problem_default();
  p->n = call->n;
  p->nub = call->nub > call->n ? call->n : call->nub;
  p->A = call->A;
  p->stride = call->stride;
  p->b = call->b;
  p->b_step = call->b_step;
  p->lo = call->lo;
  p->hi = call->hi;
  p->bounds_step = call->bounds_step;
  p->findex = call->findex;
}

/* Points everything at this thread's memory; 0 if there is none. */
static int begin_attempt(attempt *a) {
  const swap_call *call = a->call;
  size_t n = call->n > 0 ? (size_t)call->n : 0;
  double *memory = thread_memory(a->context, MEMORY_ANSWER, 12 * n + 1);
  if (!memory) return 0;
  a->solution = (lcplug_solution){.x = memory,
                                  .w = wants_w(call) ? memory + n : NULL,
                                  .lo = memory + 2 * n,
                                  .hi = memory + 3 * n};
  a->b = memory + 4 * n;
  a->lo = memory + 5 * n;
  a->hi = memory + 6 * n;
  a->bound = memory + 7 * n;
  a->scratch = memory + 8 * n;
  a->findex = (int *)(memory + 11 * n);
  swap_problem(call, &a->problem);
  return 1;
}

/* Complementarity to the letter, as ODE's own test wants it: a force inside its bounds leaves no w,
 * one at a bound a w of the right sign.  Within the tolerance that is the same answer. */
static double complementary(double x, double lo, double hi, double w) {
  if (lo == hi) return w;
  if (x == lo) return w > 0.0 ? w : 0.0;
  if (x == hi) return w < 0.0 ? w : 0.0;
  return 0.0;
}

static void write_ours(const attempt *a) {
  const swap_call *call = a->call;
  const lcplug_solution *s = &a->solution;
  int exact_w = a->info.status == LCPLUG_SOLVED && a->settings->friction == LCPLUG_FRICTION_ODE;
  for (int i = 0; i < call->n; i++) {
    call->x[(size_t)i * call->x_step] = s->x[i];
    if (wants_w(call))
      call->w[i] = exact_w ? complementary(s->x[i], s->lo[i], s->hi[i], s->w[i]) : s->w[i];
  }
  write_friction_bounds(call, s->hi);
}

/* A second opinion by the exact solver; replaces ours if it is better. */
static void ask_exact(attempt *a) {
  lcplug_settings settings = *a->settings;
  lcplug_info info;
  double *x = a->scratch, *w = a->scratch + a->call->n, *lo = a->b, *hi = a->bound;
  lcplug_solution solution = {.x = x, .w = w, .lo = lo, .hi = hi};
  settings.solver = LCPLUG_EXACT;
  if (lcplug_solve(a->context->workspace, &a->problem, &settings, &solution, &info)) return;
  if (info.residual >= a->info.residual) return;
  a->info = info;
  a->solution = solution;
}

/* Upstream solves boxes: for the friction models that are none it is no help unless asked for. */
static lcplug_fallback fallback_of(const lcplug_settings *s) {
  if (s->fallback != LCPLUG_FALLBACK_AUTO) return s->fallback;
  int strict = s->solver == LCPLUG_AUTO || s->solver == LCPLUG_EXACT;
  return strict && s->friction == LCPLUG_FRICTION_ODE ? LCPLUG_FALLBACK_UPSTREAM
                                                      : LCPLUG_FALLBACK_NONE;
}

/* Whether an answer of ours that misses the tolerance is to be used.  Who has chosen a budget wants
 * the best within it.  Else upstream decides: had it solved the problem, its answer would be used,
 * and ours is the better one.  What leaves everything unsolved is no answer. */
static int missed_is_useful(const attempt *a, lcplug_fallback fallback) {
  if (!(a->info.residual < 1.0)) return 0;
  return fallback != LCPLUG_FALLBACK_UPSTREAM || a->word == UPSTREAM_SOLVED;
}

static int choose_and_write(attempt *a) {
  statistics *s = &a->context->statistics;
  lcplug_fallback fallback = fallback_of(a->settings);
  int missed = a->info.status != LCPLUG_SOLVED;
  if (missed) environment_warn("a problem was not solved to the tolerance");
  if (missed && fallback == LCPLUG_FALLBACK_EXACT) ask_exact(a);
  if (missed && fallback == LCPLUG_FALLBACK_UPSTREAM) {
    statistics_count(s, COUNT_FALLBACKS);
    double residual = ask_upstream(a);
    if (residual < a->info.residual) { /* its answer is in place already */
      statistics_count(s, COUNT_UPSTREAM);
      statistics_answer(s, LCPLUG_UPSTREAM, residual, 0.0);
      return a->word == UPSTREAM_SOLVED;
    }
  }
  write_ours(a);
  int solved = a->info.status == LCPLUG_SOLVED;
  statistics_count(s, solved ? COUNT_SOLVED : COUNT_UNSOLVED);
  statistics_answer(s, a->info.solver, a->info.residual, a->info.gap);
  return solved || missed_is_useful(a, fallback);
}

/* solver=upstream: the engine's own solver, judged only if somebody wants to know. */
static int pass_through(attempt *a) {
  statistics *s = &a->context->statistics;
  if (!a->settings->stats || lcplug_problem_check(&a->problem))
    return leave_to_upstream(a->call, s);
  double residual = ask_upstream(a);
  if (residual < INFINITY) {
    statistics_count(s, COUNT_UPSTREAM);
    statistics_answer(s, LCPLUG_UPSTREAM, residual, 0.0);
  } else {
    write_zeros(a->call);
    statistics_count(s, COUNT_ZEROS);
  }
  return residual < INFINITY && a->word == UPSTREAM_SOLVED;
}

static int solve_in_context(attempt *a) {
  statistics *s = &a->context->statistics;
  statistics_count(s, COUNT_CALLS);
  if (!begin_attempt(a)) return leave_to_upstream(a->call, s);
  if (a->call->n > 0) statistics_size(s, a->call->n);
  if (a->settings->solver == LCPLUG_UPSTREAM) return pass_through(a);
  lcplug_error error =
      lcplug_solve(a->context->workspace, &a->problem, a->settings, &a->solution, &a->info);
  if (error) {
    environment_warn(lcplug_error_text(error));
    statistics_count(s, COUNT_REFUSED);
    return leave_to_upstream(a->call, s);
  }
  return choose_and_write(a);
}

/* Claims this thread's context for the call; 0 if there is none, or a solve is under way in it. */
static int begin_call(attempt *a, const swap_call *call) {
  a->call = call;
  a->context = thread_context_get();
  a->settings = call->single ? environment_settings_single() : environment_settings();
  if (!a->context || a->context->busy) return 0;
  a->context->busy = 1;
  return 1;
}

int swap_answer(const swap_call *call) {
  attempt a; /* filled as it is needed: most calls are over before clearing it would be */
  if (!begin_call(&a, call)) return leave_to_upstream(call, NULL);
  uint64_t started = a.settings->stats ? nanoseconds_now() : 0;
  int use = solve_in_context(&a);
  if (!use && call->asks_on) statistics_count(&a.context->statistics, COUNT_DECLINED);
  if (a.settings->stats) statistics_time(&a.context->statistics, nanoseconds_now() - started);
  a.context->busy = 0;
  return use;
}

int swap_upstream(const swap_call *call) {
  attempt a;
  if (!begin_call(&a, call)) return 0;
  int answered = begin_attempt(&a) && ask_upstream(&a) < INFINITY && a.word == UPSTREAM_SOLVED;
  a.context->busy = 0;
  return answered;
}
