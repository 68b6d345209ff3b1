/* witness.c - looks on while a program solves: `lcplug capture` and `lcplug audit`.
 *
 * Stands in the place of plug.c in an object of its own, so that the plug that everybody preloads
 * opens no file.  Of each call that is wanted, the problem is copied before upstream destroys it;
 * upstream solves on the engine's own arrays, in the host's own arithmetic, and
 * what it leaves there is what the engine gets, to the bit, unless an audit was
 * asked to hand out lcplug's answers.
 *
 *     capture   the problem, upstream's answer and time become a record
 *     audit     swap.c answers a copy of the call as the plug would, both answers are judged, and
 *               the numbers become an entry of the log; the worst problems become records
 *
 * Where something is missing (memory, the order, a file), upstream solves as if nobody looked. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "witness.h"

/* A copy of the engine's call that an answer is written to. */
typedef struct shadow {
  swap_call call;
  double *w; /* A x - b */
} shadow;

/* One call: the problem as it came, both answers, and what was measured. */
typedef struct sighting {
  const swap_call *call; /* the engine's */
  thread_context *context;
  swap_call copy;         /* the problem as it came, in our own memory */
  lcplug_problem problem; /* the same for the core */
  shadow upstream, lcplug;
  upstream_word word; /* what upstream said to the engine's call */
  int asked_upstream; /* our own answer needed upstream's help */
  uint64_t number;    /* of the call, the first is 0 */
  uint64_t file;      /* of the record, when capturing */
  witness_entry entry;
} sighting;

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t clock_nanoseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t cpu_nanoseconds(void) { return clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

/* What reading that clock adds to an interval: it is no cheap one, and tiny problems are. */
static int64_t clock_cost(void) {
  static int64_t cost = -1;
  int64_t known = __atomic_load_n(&cost, __ATOMIC_RELAXED);
  if (known >= 0) return known;
  int64_t least = INT64_MAX;
  for (int i = 0; i < 64; i++) {
    int64_t begin = cpu_nanoseconds(), end = cpu_nanoseconds();
    if (end - begin < least) least = end - begin;
  }
  __atomic_store_n(&cost, least, __ATOMIC_RELAXED);
  return least;
}

static double seconds_between(int64_t begin, int64_t end) {
  int64_t spent = end - begin - clock_cost();
  return 1e-9 * (double)(spent > 0 ? spent : 0);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* For a shadow: what upstream left in the engine's arrays is its answer here, too. */
static upstream_word recall_upstream(const swap_call *copy) {
  sighting *s = (sighting *)copy->engine;
  const swap_call *from = s->call;
  s->asked_upstream = 1;
  for (int i = 0; i < from->n; i++) {
    copy->x[i] = from->x[(size_t)i * from->x_step];
    copy->lo[i] = from->lo[(size_t)i * from->bounds_step];
    copy->hi[i] = from->hi[(size_t)i * from->bounds_step];
    if (copy->w) copy->w[i] = from->w[i];
    if (copy->findex) copy->findex[i] = from->findex[i];
  }
  return s->word;
}

static double *take(double **memory, size_t count) {
  double *part = *memory;
  *memory += count;
  return part;
}

static int *take_int(double **memory, size_t count) { return (int *)take(memory, count); }

static void copy_problem(const swap_call *from, const swap_call *to) {
  for (int i = 0; i < from->n; i++) {
    size_t row = (size_t)i * from->stride;
    memcpy(to->A + row, from->A + row, ((size_t)i + 1) * sizeof *to->A);
    to->b[i] = from->b[(size_t)i * from->b_step];
    to->lo[i] = from->lo[(size_t)i * from->bounds_step];
    to->hi[i] = from->hi[(size_t)i * from->bounds_step];
    if (to->findex) to->findex[i] = from->findex[i];
  }
}

/* A shadow shares A and b with the copy: only engines destroy those. */
static void make_shadow(const sighting *s, shadow *to, double **memory) {
  size_t n = (size_t)s->copy.n;
  to->call = s->copy;
  to->w = take(memory, n);
  to->call.x = take(memory, n);
  to->call.w = s->call->w ? take(memory, n) : NULL;
  to->call.lo = memcpy(take(memory, n), s->copy.lo, n * sizeof *s->copy.lo);
  to->call.hi = memcpy(take(memory, n), s->copy.hi, n * sizeof *s->copy.hi);
  if (s->copy.findex)
    to->call.findex = memcpy(take_int(memory, n), s->copy.findex, n * sizeof *s->copy.findex);
}

/* Copies the problem and makes room for both answers; 0 if there is none. */
static int begin_sighting(sighting *s) {
  const swap_call *call = s->call;
  size_t n = (size_t)call->n;
  double *memory = thread_memory(s->context, MEMORY_WITNESS, n * call->stride + 16 * n);
  if (!memory) return 0;
  s->copy = *call;
  s->copy.A = take(&memory, n * call->stride);
  s->copy.b = take(&memory, n);
  s->copy.lo = take(&memory, n);
  s->copy.hi = take(&memory, n);
  s->copy.findex = call->findex ? take_int(&memory, n) : NULL;
  s->copy.b_step = s->copy.x_step = s->copy.bounds_step = 1;
  s->copy.upstream = recall_upstream;
  s->copy.engine = s;
  copy_problem(call, &s->copy);
  swap_problem(&s->copy, &s->problem);
  make_shadow(s, &s->upstream, &memory);
  make_shadow(s, &s->lcplug, &memory);
  return 1;
}

/* ---- judging --------------------------------------------------------------------------------- */

static double judge(const sighting *s, const shadow *answer, lcplug_friction friction) {
  double residual = INFINITY;
  lcplug_residual(s->context->workspace, &s->problem, friction, answer->call.x, 1, answer->call.lo,
                  answer->call.hi, 1, &residual);
  return residual;
}

/* Upstream's answer in a shadow of its own, with the bounds that it used; its residual. */
static double judge_upstream(sighting *s) {
  return swap_upstream(&s->upstream.call) ? judge(s, &s->upstream, LCPLUG_FRICTION_ODE) : INFINITY;
}

static int failed(const sighting *s, double residual) {
  return !(residual <= (s->call->single ? WITNESS_FAILED_SINGLE : WITNESS_FAILED));
}

/* w = A x - b from the lower triangle. */
static void find_w(const sighting *s, shadow *answer) {
  const double *x = answer->call.x;
  double *w = answer->w;
  for (int i = 0; i < s->copy.n; i++) {
    const double *row = s->copy.A + (size_t)i * s->copy.stride;
    double sum = row[i] * x[i] - s->copy.b[i];
    for (int j = 0; j < i; j++) {
      sum += row[j] * x[j];
      w[j] += row[j] * x[i];
    }
    w[i] = sum;
  }
}

/* How far apart the answers are.  x alone says nothing with redundant contacts: w does, and the
 * energy norm of the difference, |d|^2 = d'Ad = d'(w1 - w2), beside |x|^2 = x'Ax = x'(w + b). */
static void compare(sighting *s) {
  const shadow *u = &s->upstream, *l = &s->lcplug;
  double most = 0.0, scale = 0.0, apart = 0.0, energy_u = 0.0, energy_l = 0.0;
  find_w(s, &s->upstream);
  find_w(s, &s->lcplug);
  for (int i = 0; i < s->copy.n; i++) {
    double dw = u->w[i] - l->w[i], xu = u->call.x[i], xl = l->call.x[i];
    most = fmax(most, fabs(dw));
    scale = fmax(scale, fabs(s->copy.b[i]));
    apart += (xu - xl) * dw;
    energy_u += xu * (u->w[i] + s->copy.b[i]);
    energy_l += xl * (l->w[i] + s->copy.b[i]);
  }
  double larger = fmax(energy_u, energy_l);
  s->entry.difference = (float)(scale > 0.0 ? most / scale : most > 0.0 ? 1.0 : 0.0);
  s->entry.energy = (float)(larger > 0.0 ? sqrt(fmax(apart, 0.0) / larger) : 0.0);
}

/* ---- records --------------------------------------------------------------------------------- */

/* A program's name as part of a file's: nothing but letters, digits and -_. */
static void program_name(char *name, size_t size) {
  snprintf(name, size, "%s", program_invocation_short_name);
  for (char *c = name; *c; c++)
    if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", *c)) *c = '_';
  if (!*name || *name == '.') *name = '_';
}

static int keep(const sighting *s, witness_control *order, const char *name) {
  lcplug_record record = {.problem = s->problem,
                          .x = s->upstream.call.x,
                          .seconds = (double)s->entry.upstream_seconds,
                          .errors = (uint32_t)failed(s, (double)s->entry.upstream_residual),
                          .call = (uint32_t)s->number + 1};
  char program[32];
  program_name(program, sizeof program);
  snprintf(record.tag, sizeof record.tag, "%s, process %ld, call %lu", program, (long)getpid(),
           (unsigned long)s->number + 1);
  return witness_keep(order, name, &record);
}

/* Makes `value` the worst of its kind if it is worse by a quarter: a slow growth must not write a
 * file at every call.  The bits of numbers >= 0 are ordered as the numbers are. */
static int becomes_worst(witness_control *order, witness_worst kind, double value) {
  uint64_t bits, *place = &order->worst[kind], before = __atomic_load_n(place, __ATOMIC_RELAXED);
  memcpy(&bits, &value, sizeof bits);
  for (;;) {
    double worst;
    memcpy(&worst, &before, sizeof worst);
    if (!(value > 1.25 * worst)) return 0;
    if (__atomic_compare_exchange_n(place, &before, bits, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return 1;
  }
}

static void keep_if_worst(const sighting *s, witness_control *order) {
#define WORST_NAME(code, name, floor, text) name,
#define WORST_FLOOR(code, name, floor, text) floor,
  static const char *const names[] = {WITNESS_WORST(WORST_NAME)};
  static const double floors[] = {WITNESS_WORST(WORST_FLOOR)};
  for (int kind = 0; kind < WITNESS_WORST_KINDS; kind++) {
    char name[64];
    double value = witness_badness(&s->entry, (witness_worst)kind);
    snprintf(name, sizeof name, "%s-%06lu.lcp", names[kind], (unsigned long)s->number + 1);
    if (value > floors[kind] && becomes_worst(order, (witness_worst)kind, value))
      keep(s, order, name);
  }
}

/* ---- the two orders -------------------------------------------------------------------------- */

static int capture(sighting *s, witness_control *order) {
  char name[64];
  program_name(name, sizeof name - 16);
  snprintf(name + strlen(name), 16, "-%06lu.lcp", (unsigned long)(order->first_file + s->file));
  s->entry.upstream_residual = (float)judge_upstream(s);
  keep(s, order, name);
  return s->word == UPSTREAM_SOLVED;
}

/* Hands our answer to the engine, as the plug leaves it. */
static void hand_out_lcplug(const sighting *s) {
  const swap_call *to = s->call, *from = &s->lcplug.call;
  for (int i = 0; i < to->n; i++) {
    to->x[(size_t)i * to->x_step] = from->x[i];
    to->lo[(size_t)i * to->bounds_step] = from->lo[i];
    to->hi[(size_t)i * to->bounds_step] = from->hi[i];
    if (to->w && to->nub < to->n) to->w[i] = from->w[i];
    if (to->findex) to->findex[i] = from->findex[i];
  }
}

/* Returns what the engine is to be told. */
static int audit(sighting *s, witness_control *order) {
  witness_entry *e = &s->entry;
  int64_t begin = cpu_nanoseconds();
  int useful = swap_answer(&s->lcplug.call);
  double seconds = seconds_between(begin, cpu_nanoseconds());
  e->flags = WITNESS_WHOLE | (s->call->single ? WITNESS_SINGLE : 0u);
  if (s->asked_upstream) { /* which the plug would have had to wait for */
    e->flags |= WITNESS_FELL_BACK;
    seconds += (double)e->upstream_seconds;
  }
  e->lcplug_seconds = (float)seconds;
  e->upstream_residual = (float)judge_upstream(s);
  e->lcplug_residual = (float)judge(s, &s->lcplug, environment_settings()->friction);
  compare(s);
  e->n = (uint32_t)s->call->n;
  e->process = (uint32_t)getpid();
  e->thread = (uint32_t)gettid();
  witness_log(order, s->number, e);
  if (*order->folder) keep_if_worst(s, order);
  if (!order->gives_lcplug) return s->word == UPSTREAM_SOLVED;
  hand_out_lcplug(s);
  return useful;
}

/* Whether the order is about this call; claims the number of a file for it. */
static int wanted(sighting *s, witness_control *order) {
  if (order->mode == WITNESS_AUDIT) return 1;
  if ((uint32_t)s->call->n < order->min_n) return 0;
  if (witness_count(&order->counting) % order->every) return 0;
  if (__atomic_load_n(&order->write_error, __ATOMIC_RELAXED)) return 0;
  s->file = witness_count(&order->claimed);
  if (s->file < order->most) return 1;
  witness_count(&order->beyond);
  return 0;
}

/* Upstream alone; ours where there is no upstream. */
static int solve_unwatched(const swap_call *call) {
  upstream_word word = call->upstream(call);
  return word == UPSTREAM_MISSING ? swap_answer(call) : word == UPSTREAM_SOLVED;
}

static int solve_watched(sighting *s, witness_control *order, int64_t came) {
  int64_t when = clock_nanoseconds(CLOCK_MONOTONIC), begin = cpu_nanoseconds();
  s->word = s->call->upstream(s->call);
  int64_t end = cpu_nanoseconds();
  if (s->word == UPSTREAM_MISSING) return swap_answer(s->call);
  int errno_after = errno;
  fenv_t host = arithmetic_begin();
  s->entry.when = 1e-9 * (double)when;
  s->entry.upstream_seconds = (float)seconds_between(begin, end);
  int useful = (order->mode == WITNESS_AUDIT ? audit : capture)(s, order);
  witness_add(&order->nanoseconds, (uint64_t)(begin - came + cpu_nanoseconds() - end));
  arithmetic_end(host);
  errno = errno_after;
  return useful;
}

int swap_solve(const swap_call *call) {
  witness_control *order = witness_order();
  thread_context *context = thread_context_get();
  if (!order || !context || context->watched || call->n < 1) return solve_unwatched(call);
  sighting s = {.call = call, .context = context, .number = witness_count(&order->started)};
  int64_t came = cpu_nanoseconds();
  context->watched = 1;
  int useful = wanted(&s, order) && begin_sighting(&s) ? solve_watched(&s, order, came)
                                                       : solve_unwatched(call);
  context->watched = 0;
  witness_count(&order->finished);
  return useful;
}
