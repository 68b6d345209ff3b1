/* stats.c - numbers per thread, and the summary on stderr.
 *
 * Each number has one writer, its thread; relaxed atomic accesses let the summary read it at any
 * time and cost what plain ones do.  Residuals go into a histogram by quarters of a power of two,
 * so the median is right to 15 %. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compat.h"

enum { FIRST_BIN = (1023 - 66) * 4 }; /* 2^-66, about 1e-20 */

#define READ(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define WRITE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)

static void add(uint64_t *place, uint64_t more) { WRITE(*place, READ(*place) + more); }

static double read_double(const double *place) {
  double value;
  __atomic_load(place, &value, __ATOMIC_RELAXED);
  return value;
}

static void write_double(double *place, double value) {
  __atomic_store(place, &value, __ATOMIC_RELAXED);
}

static void raise_double(double *place, double value) {
  if (value > read_double(place)) write_double(place, value);
}

void statistics_count(statistics *s, counter which) { add(&s->count[which], 1); }

void statistics_size(statistics *s, int n) {
  uint64_t rows = (uint64_t)n, least = READ(s->least_rows);
  add(&s->rows, rows);
  if (rows > READ(s->most_rows)) WRITE(s->most_rows, rows);
  if (least == 0 || rows < least) WRITE(s->least_rows, rows);
}

/* Bins are quarters of a power of two: exponent and first two digits of the number's own bits. */
static int bin_of(double residual) {
  uint64_t bits;
  if (!(residual > 0.0)) return 0;
  memcpy(&bits, &residual, sizeof bits);
  int64_t bin = (int64_t)(bits >> 50) - FIRST_BIN;
  return bin < 0 ? 0 : bin >= RESIDUAL_BINS ? RESIDUAL_BINS - 1 : (int)bin;
}

static double middle_of_bin(int bin) {
  uint64_t bits = ((uint64_t)(bin + FIRST_BIN) << 50) + ((uint64_t)1 << 49);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

void statistics_answer(statistics *s, lcplug_solver solver, double residual, double gap) {
  add(&s->solver[solver & 7], 1);
  add(&s->residual[bin_of(residual)], 1);
  raise_double(&s->worst_residual, residual);
  raise_double(&s->worst_gap, gap);
}

void statistics_time(statistics *s, uint64_t nanoseconds) { add(&s->nanoseconds, nanoseconds); }

void statistics_add(statistics *sum, const statistics *part) {
  for (int i = 0; i < COUNTERS; i++) sum->count[i] += READ(part->count[i]);
  for (int i = 0; i < 8; i++) sum->solver[i] += READ(part->solver[i]);
  for (int i = 0; i < RESIDUAL_BINS; i++) sum->residual[i] += READ(part->residual[i]);
  uint64_t least = READ(part->least_rows);
  sum->rows += READ(part->rows);
  if (READ(part->most_rows) > sum->most_rows) sum->most_rows = READ(part->most_rows);
  if (least && (!sum->least_rows || least < sum->least_rows)) sum->least_rows = least;
  sum->nanoseconds += READ(part->nanoseconds);
  raise_double(&sum->worst_residual, read_double(&part->worst_residual));
  raise_double(&sum->worst_gap, read_double(&part->worst_gap));
}

static double median_residual(const statistics *s) {
  uint64_t total = 0, seen = 0;
  for (int i = 0; i < RESIDUAL_BINS; i++) total += s->residual[i];
  for (int i = 0; i < RESIDUAL_BINS; i++)
    if ((seen += s->residual[i]) * 2 >= total)
      return i ? middle_of_bin(i) : 0.0;
  return 0.0;
}

static void print_solvers(FILE *out, const statistics *s) {
  fprintf(out, "lcplug: solver    ");
  for (int i = 0; i < 8; i++)
    if (s->solver[i])
      fprintf(out, " %s %" PRIu64, lcplug_solver_name((lcplug_solver)i), s->solver[i]);
  fprintf(out, "\n");
}

void statistics_print(const statistics *s) {
  static const char *const texts[] = {
#define COUNTER_TEXT(code, text) text,
      SWAP_COUNTERS(COUNTER_TEXT)
#undef COUNTER_TEXT
  };
  char page[2048];
  /* one write: lines of several processes do not mix */
  FILE *out = fmemopen(page, sizeof page, "w");
  if (!out) return;
  uint64_t calls = s->count[COUNT_CALLS] ? s->count[COUNT_CALLS] : 1;
  fprintf(out, "lcplug: rows       mean %.1f  least %" PRIu64 "  most %" PRIu64 "\n",
          (double)s->rows / (double)calls, s->least_rows, s->most_rows);
  print_solvers(out, s);
  fprintf(out, "lcplug: residual   median %.1e  worst %.1e\n", median_residual(s),
          s->worst_residual);
  if (s->worst_gap > 0.0) fprintf(out, "lcplug: gap        worst %.1e\n", s->worst_gap);
  fprintf(out, "lcplug: time       %.3f s  %.2f us per call\n", 1e-9 * (double)s->nanoseconds,
          1e-3 * (double)s->nanoseconds / (double)calls);
  for (int i = 0; i < COUNTERS; i++)
    if (s->count[i] || i == COUNT_CALLS || i == COUNT_FALLBACKS || i == COUNT_UPSTREAM_ERRORS)
      fprintf(out, "lcplug: %10" PRIu64 " %s\n", s->count[i], texts[i]);
  long length = ftell(out);
  fclose(out);
  if (length > 0 && write(STDERR_FILENO, page, (size_t)length) < 0) return;
}
