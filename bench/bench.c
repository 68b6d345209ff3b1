/* bench.c - lcplug beside upstream's Dantzig, on the problems of real scenes.
 *
 *     bench [options] [FILE|FOLDER]...
 *
 * Problem.   Is every claim about speed and accuracy true, here and today?
 * Method.    Problems of all sizes are collected from scenes (or read from records), each is solved
 *            by upstream and by every solver of ours in one run, smallest first; then whole steps,
 *            scenes that upstream gives up, and random scenes.
 * Contract.  Results: tables on stdout; bench.md, bench.csv and bench.svg in the output folder.
 *            Progress goes to stderr.  Exit status 0 when all was measured, whatever came out: a
 *            busy machine must not look like a broken library.  2: called wrongly. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- small things ---------------------------------------------------------------------------- */

void *bench_need(void *memory) {
  if (memory) return memory;
  progress_say("bench: out of memory\n");
  exit(2);
}

static int compare_numbers(const void *first, const void *second) {
  double a = *(const double *)first, b = *(const double *)second;
  return (a > b) - (a < b);
}

double bench_median(double *numbers, int count) {
  if (!count) return BENCH_UNKNOWN;
  qsort(numbers, (size_t)count, sizeof *numbers, compare_numbers);
  return 0.5 * (numbers[(count - 1) / 2] + numbers[count / 2]);
}

/* ---- options --------------------------------------------------------------------------------- */

typedef enum value { TEXT, NUMBER, FLAG } value;

static const struct {
  const char *name;
  value value;
  size_t offset;
  const char *help;
} option_table[] = {
    {"--output", TEXT, offsetof(bench_options, output), "folder of the results (bench-results)"},
    {"--budget", NUMBER, offsetof(bench_options, budget), "seconds for upstream in all (120)"},
    {"--limit", NUMBER, offsetof(bench_options, limit), "seconds for one solve by pgs or apgd (2)"},
    {"--seed", NUMBER, offsetof(bench_options, seed), "of the scenes that are timed (1)"},
    {"--seeds", NUMBER, offsetof(bench_options, seeds), "random scenes of each kind (20)"},
    {"--fresh", NUMBER, offsetof(bench_options, fresh), "their first seed (from the clock)"},
    {"--large", FLAG, offsetof(bench_options, large), "problems beyond n = 3000, too"},
};
enum { OPTIONS = sizeof option_table / sizeof *option_table };

static int usage(FILE *out) {
  fputs("usage: bench [options] [FILE|FOLDER]...\n\n"
        "Times upstream's solver and every one of lcplug on problems from scenes, or on the\n"
        "records that are named.  $LCPLUG_PRELOAD names the preload object.\n\n",
        out);
  for (int i = 0; i < OPTIONS; i++)
    fprintf(out, "  %-9s %s %s\n", option_table[i].name, option_table[i].value == FLAG ? " " : "X",
            option_table[i].help);
  return out == stdout ? 0 : 2;
}

/* Returns how many arguments were used; 0 if this is no option of ours or its value is wrong. */
static int set_option(bench_options *options, char *const *argument) {
  for (int i = 0; i < OPTIONS; i++) {
    char *field = (char *)options + option_table[i].offset, *end = NULL;
    if (strcmp(argument[0], option_table[i].name)) continue;
    if (option_table[i].value == FLAG) {
      *(int *)field = 1;
      return 1;
    }
    if (!argument[1]) return 0;
    if (option_table[i].value == TEXT) {
      *(const char **)field = argument[1];
      return 2;
    }
    *(double *)field = strtod(argument[1], &end);
    return *argument[1] && !*end && *(double *)field >= 0 && *(double *)field < 1e9 ? 2 : 0;
  }
  return 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

typedef struct run {
  bench_options options;
  bench_files files;
  bench_report report;
  bench_result *results;
  bench_step *steps;
  bench_failing *failing;
  bench_left *left;
  bench_tally stepped, fresh;
} run;

static int make_folder(const char *output, const char *name, char *path, size_t size) {
  int written = snprintf(path, size, "%s%s%s", output, name[0] ? "/" : "", name);
  if (written < (int)size && (!mkdir(path, 0777) || errno == EEXIST)) return 1;
  progress_say("bench: %s: %s\n", path, strerror(errno));
  return 0;
}

static int compare_files(const void *first, const void *second) {
  const bench_file *a = first, *b = second;
  return a->n != b->n ? (a->n < b->n ? -1 : 1) : strcmp(a->path, b->path);
}

/* Seconds for one problem, roughly: Dantzig's cube, and what else there is. */
static double upstream_guess(int n) { return 1e-9 * pow(n, 3); }
static double work_of(int n) {
  return fmin(upstream_guess(n), 30) * bench_upstream_calls(n) + 1e-6 * pow(n, 2) + 1e-3;
}

/* Smallest first; when the budget would be exceeded, upstream rests from there on. */
static void measure_all(run *r) {
  double used = 0, scale = 1, work = 0;
  int with_upstream = 1;
  qsort(r->files.at, (size_t)r->files.count, sizeof *r->files.at, compare_files);
  for (int i = 0; i < r->files.count; i++) work += work_of(r->files.at[i].n);
  progress_begin("solving problems", work);
  for (int i = 0; i < r->files.count; i++) {
    const bench_file *file = &r->files.at[i];
    diff_problem *p = bench_problem_read(file->path);
    bench_result *result = &r->results[r->report.count];
    int calls = bench_upstream_calls(file->n);
    if (used + calls * scale * upstream_guess(file->n) > r->options.budget) with_upstream = 0;
    if (p && bench_measure(p, &r->options, with_upstream, result)) {
      r->report.count++;
      r->report.untimed += !with_upstream;
      if (with_upstream) used += calls * result->by[BY_UPSTREAM].median;
      /* Down slowly: one that upstream gives up says nothing about the next. */
      if (with_upstream)
        scale = fmax(0.8 * scale, result->by[BY_UPSTREAM].median / upstream_guess(file->n));
    }
    diff_problem_free(p);
    progress_add(work_of(file->n));
  }
  progress_end();
  if (r->report.untimed)
    progress_say("upstream's budget of %g s is used up: %d problems without it\n",
                 r->options.budget, r->report.untimed);
}

static int write_results(run *r) {
  static const struct {
    const char *name;
    void (*write)(FILE *, const bench_report *);
  } outputs[] = {{"bench.md", bench_report_write}, {"bench.csv", bench_report_csv}};
  char path[4096];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", r->options.output, outputs[i].name);
    FILE *f = fopen(path, "w");
    if (f) outputs[i].write(f, &r->report);
    if (!f || fclose(f)) {
      progress_say("bench: %s: %s\n", path, strerror(errno));
      return 2;
    }
  }
  bench_report_write(stdout, &r->report);
  fflush(stdout);
  snprintf(path, sizeof path, "%s/bench.svg", r->options.output);
  bench_plot(path, &r->report);
  progress_say("results in %s\n", r->options.output);
  return 0;
}

/* What needs scenes, and is left out when the problems come from files. */
static void run_scenes(run *r) {
  r->report.stepped = &r->stepped;
  r->report.step_count = bench_whole_steps(&r->options, &r->steps);
  r->report.steps = r->steps;
  r->report.failing_count = bench_failing_scenes(&r->options, &r->failing);
  r->report.failing = r->failing;
  r->report.left_count = bench_left_by_quickstep(&r->left);
  r->report.left = r->left;
  if (r->options.seeds < 1) return;
  bench_fresh_scenes(&r->options, &r->fresh);
  r->report.fresh = &r->fresh;
}

static int run_all(run *r, int from_files) {
  static const char *const names[] = {"", "missed", "problems"}; /* the outer one first */
  char folder[4096];
  for (int i = 0; i < 3; i++) {
    if (!make_folder(r->options.output, names[i], folder, sizeof folder)) return 2;
    if (!from_files) bench_files_clear(folder);
  }
  if (!from_files) bench_collect(&r->options, folder, &r->files, &r->stepped);
  if (!r->files.count) return 2;
  r->results = bench_need(calloc((size_t)r->files.count, sizeof *r->results));
  measure_all(r);
  r->report.results = r->results;
  r->report.options = &r->options;
  if (!from_files) run_scenes(r);
  return write_results(r);
}

int main(int count, char **arguments) {
  run r = {.options = {"bench-results", .budget = 120, .limit = 2, .seed = 1, .seeds = 20}};
  int at = 1, used = 1, status = 0;
  while (at < count && arguments[at][0] == '-' && used) {
    if (!strcmp(arguments[at], "--help")) return usage(stdout);
    used = set_option(&r.options, arguments + at);
    at += used;
  }
  if (!used) return usage(stderr);
  int from_files = at < count;
  for (; at < count; at++)
    if (!bench_files_find(&r.files, arguments[at])) return 2;
  unsetenv("LCPLUG"); /* what is measured are the built-in settings */
  if (!bench_swap() || !scenes_init()) return 2;
  bench_count_messages();
  status = run_all(&r, from_files);
  scenes_done();
  free(r.results);
  free(r.files.at);
  return status;
}
