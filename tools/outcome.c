/* outcome.c - see outcome.h. */
#define _POSIX_C_SOURCE 200809L
#include "outcome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools.h"

enum { MOST_REPEATS = 1000 };
/* Times below this are too close to the clock's own: such solves are
 * repeated within one measurement. */
static const double SHORTEST = 50e-6;

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

double median(double *numbers, int count) {
  if (count == 0) return NAN;
  qsort(numbers, (size_t)count, sizeof *numbers, by_size);
  return count % 2 ? numbers[count / 2] : 0.5 * (numbers[count / 2 - 1] + numbers[count / 2]);
}

/* ---- the seat -------------------------------------------------------------------------------- */

solve_seat seat_create(void) {
  solve_seat seat = {.workspace = lcplug_workspace_create()};
  if (!seat.workspace) {
    tool_error("out of memory");
    exit(TOOL_USAGE);
  }
  return seat;
}

void seat_free(solve_seat *seat) {
  lcplug_workspace_free(seat->workspace);
  free(seat->x);
  free(seat->w);
  free(seat->lo);
  free(seat->hi);
}

static void make_room(solve_seat *seat, int rows) {
  if (rows <= seat->rows && seat->x) return;
  double **arrays[] = {&seat->x, &seat->w, &seat->lo, &seat->hi};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    *arrays[i] = tool_resize(*arrays[i], (size_t)rows + 1, sizeof(double));
  seat->rows = rows;
}

/* ---- one solve ------------------------------------------------------------------------------- */

static outcome solve_timed(solve_seat *seat, const lcplug_record *record,
                           const lcplug_settings *settings) {
  lcplug_problem given = lcplug_record_as_given(record);
  lcplug_solution solution = {.x = seat->x, .w = seat->w, .lo = seat->lo, .hi = seat->hi};
  lcplug_info info = {0};
  double started = cpu_seconds();
  lcplug_error error = (record->W ? lcplug_solve_asymmetric : lcplug_solve)(
      seat->workspace, &given, settings, &solution, &info);
  return (outcome){.error = error,
                   .solver = info.solver,
                   .friction = settings->friction,
                   .status = info.status,
                   .iterations = info.iterations,
                   .factorizations = info.factorizations,
                   .residual = info.residual,
                   .gap = info.gap,
                   .seconds = cpu_seconds() - started};
}

/* ---- open, sticking, sliding ----------------------------------------------------------------- */

static double diagonal(const lcplug_problem *p, int i) {
  return p->A[(size_t)i * p->stride + (size_t)i];
}

/* The force that the row would have after a step against w: inside its bounds or beyond them. */
static double stepped(const solve_seat *seat, const lcplug_problem *p, int i) {
  double s = diagonal(p, i);
  return s > 0 ? seat->x[i] - seat->w[i] / s : seat->x[i];
}

/* How far beyond its friction bound the contact of this normal would be pushed; cones are round. */
static bool slides(const solve_seat *seat, const lcplug_problem *p, int normal,
                   lcplug_friction friction) {
  bool cone = friction == LCPLUG_FRICTION_CONE || friction == LCPLUG_FRICTION_COULOMB, any = false;
  double length = 0;
  for (int i = 0; i < p->n; i++) {
    if (p->findex[i] != normal || i < p->nub) continue;
    double part = fabs(stepped(seat, p, i)) / seat->hi[i];
    any = true;
    if (isnan(part)) part = 0; /* no room and no force, or infinite room */
    length = cone ? hypot(length, part) : fmax(length, part);
  }
  return !any || length > 1 + 1e-9;
}

static void count_contacts(const solve_seat *seat, const lcplug_problem *p, outcome *o) {
  for (int i = 0; i < p->n; i++) {
    bool friction = p->findex && p->findex[i] >= 0;
    bool one_sided = p->lo && p->hi && p->lo[(size_t)i * p->bounds_step] == 0 &&
                     p->hi[(size_t)i * p->bounds_step] == INFINITY;
    if (friction || i < p->nub || !one_sided) continue;
    o->contacts++;
    if (stepped(seat, p, i) <= 0) o->open++;
    else if (!p->findex || slides(seat, p, i, o->friction)) o->sliding++;
    else o->sticking++;
  }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Seconds of one solve, from as many as the clock needs. */
static double measure(solve_seat *seat, const lcplug_record *record,
                      const lcplug_settings *settings, double last) {
  int times = last < SHORTEST ? (int)fmin(SHORTEST / fmax(last, 1e-8), MOST_REPEATS) : 1;
  double started = cpu_seconds();
  for (int i = 0; i < times; i++) solve_timed(seat, record, settings);
  return (cpu_seconds() - started) / times;
}

outcome outcome_of(solve_seat *seat, const lcplug_record *record, const lcplug_settings *settings,
                   int repeats) {
  double times[MOST_REPEATS];
  make_room(seat, record->problem.n);
  outcome o = solve_timed(seat, record, settings);
  if (o.error) return o;
  count_contacts(seat, &record->problem, &o);
  if (repeats > MOST_REPEATS) repeats = MOST_REPEATS;
  double last = o.seconds;
  for (int i = 0; i < repeats; i++) last = times[i] = measure(seat, record, settings, last);
  if (repeats > 0) o.seconds = median(times, repeats);
  return o;
}

static bool friction_was_asked_for(const tool_arguments *a) {
  const char *environment = getenv("LCPLUG");
  return a->friction_given || (environment && strstr(environment, "friction"));
}

lcplug_settings outcome_settings(const tool_arguments *a, const lcplug_record *record) {
  lcplug_settings settings = a->settings;
  if (record->format == LCPLUG_FORMAT_FCP && !friction_was_asked_for(a))
    settings.friction = LCPLUG_FRICTION_COULOMB;
  return settings;
}

/* max |A (x - y)| over the rows, as a fraction of max |b|. */
double outcome_difference(const solve_seat *seat, const lcplug_record *record) {
  const lcplug_problem *p = &record->problem;
  double largest = 0, unit = 0;
  if (!record->x) return NAN;
  for (int i = 0; i < p->n; i++) {
    double product = 0;
    for (int j = 0; j < p->n; j++) {
      double element = j <= i ? p->A[(size_t)i * p->stride + (size_t)j]
                              : p->A[(size_t)j * p->stride + (size_t)i];
      product += element * (seat->x[j] - record->x[j]);
    }
    largest = fmax(largest, fabs(product));
    unit = fmax(unit, fabs(p->b[(size_t)i * p->b_step]));
  }
  return unit > 0 ? largest / unit : largest;
}

const char *outcome_text(const outcome *o) {
  return o->error ? lcplug_error_text(o->error) : lcplug_status_text(o->status);
}

void outcome_json(json *j, const outcome *o) {
  const char *friction = "";
  lcplug_option_choice("friction", (int)o->friction, &friction, NULL);
  if (o->error) {
    json_string(j, "error", outcome_text(o));
    return;
  }
  json_string(j, "solver", lcplug_solver_name(o->solver));
  json_string(j, "friction", friction);
  json_flag(j, "solved", o->status == LCPLUG_SOLVED);
  json_string(j, "status", outcome_text(o));
  json_whole(j, "iterations", o->iterations);
  json_whole(j, "factorizations", o->factorizations);
  json_number(j, "residual", o->residual);
  json_number(j, "gap", o->gap);
  json_number(j, "seconds", o->seconds);
  json_whole(j, "contacts", o->contacts);
  json_whole(j, "open", o->open);
  json_whole(j, "sticking", o->sticking);
  json_whole(j, "sliding", o->sliding);
}
