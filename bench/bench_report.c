/* bench_report.c - what was measured, as Markdown tables and as CSV.
 *
 * Tables are padded, so that the same text serves the terminal and the README.  Ratios and
 * residuals are those of the swap: auto behind the ABI of dxSolveLCP. */
#define _GNU_SOURCE
#include "bench.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const bench_class bench_classes[BENCH_CLASS_COUNT] = {
#define BENCH_CLASS_ROW(most, label, must, aim, quota) {most, label, must, aim, quota},
    BENCH_CLASSES(BENCH_CLASS_ROW)
#undef BENCH_CLASS_ROW
};

const char *const bench_solver_names[BENCH_SOLVER_COUNT] = {
#define BENCH_NAME(code, name) name,
    BENCH_SOLVERS(BENCH_NAME)
#undef BENCH_NAME
};

int bench_class_of(int n) {
  int k = 0;
  while (n > bench_classes[k].most) k++;
  return k;
}

double bench_plain_ratio(const bench_result *r) {
  return r->by[BY_UPSTREAM].least / r->by[BY_SWAP].least;
}

double bench_ratio(const bench_result *r) {
  return bench_upstream_failed(r) ? BENCH_UNKNOWN : bench_plain_ratio(r);
}

double bench_coulomb_ratio(const bench_result *r) {
  return r->coulomb.least / r->by[BY_EXACT].least;
}

int bench_upstream_failed(const bench_result *r) {
  return r->upstream_errors > 0 || r->by[BY_UPSTREAM].residual > 1e-6;
}

int bench_good_enough(const bench_result *r) {
  double limit = 1e-10, upstream = r->by[BY_UPSTREAM].residual;
  if (!isnan(upstream) && !bench_upstream_failed(r)) limit = fmax(limit, 10 * upstream);
  return r->by[BY_SWAP].residual <= limit;
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { COLUMNS = 16, ROWS = 24, WIDTH = 32 };

/* The first row is the head. */
typedef struct table {
  int rows, columns;
  char cell[ROWS][COLUMNS][WIDTH];
} table;

static void table_row(table *t) {
  t->rows++;
  t->columns = 0;
}

static void table_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void table_cell(table *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(t->cell[t->rows - 1][t->columns++], WIDTH, format, arguments);
  va_end(arguments);
}

static void table_head(table *t, const char *const *names, int count) {
  *t = (table){0};
  table_row(t);
  for (int i = 0; i < count; i++) table_cell(t, "%s", names[i]);
}

static void table_write(FILE *out, const table *t) {
  int width[COLUMNS] = {0};
  for (int i = 0; i < t->rows; i++)
    for (int j = 0; j < t->columns; j++) {
      int length = (int)strlen(t->cell[i][j]);
      if (length > width[j]) width[j] = length;
    }
  for (int i = 0; i < t->rows; i++) {
    for (int j = 0; j < t->columns; j++) fprintf(out, "| %*s ", width[j], t->cell[i][j]);
    fputs("|\n", out);
    for (int j = 0; i == 0 && j < t->columns; j++)
      fprintf(out, "|%.*s:", width[j] + 1, "--------------------------------");
    if (i == 0) fputs("|\n", out);
  }
  fputc('\n', out);
}

static void cell_residual(table *t, double residual) {
  if (isnan(residual)) table_cell(t, "-");
  else table_cell(t, "%.0e", residual);
}

static void cell_ratio(table *t, double ratio) {
  if (isnan(ratio)) table_cell(t, "-");
  else table_cell(t, ratio < 10 ? "%.2f" : "%.0f", ratio);
}

static void cell_time(table *t, double seconds) {
  static const struct {
    double below, unit;
    const char *name;
  } units[] = {{1e-3, 1e-6, "us"}, {1, 1e-3, "ms"}, {INFINITY, 1, "s"}};
  int k = 0;
  if (isnan(seconds)) {
    table_cell(t, "-");
    return;
  }
  while (seconds >= units[k].below) k++;
  table_cell(t, "%.3g %s", seconds / units[k].unit, units[k].name);
}

/* ---- numbers of a class ---------------------------------------------------------------------- */

/* A number of a result, BENCH_UNKNOWN where it has none. */
typedef double getter(const bench_result *r, int by);

static double get_least(const bench_result *r, int by) { return r->by[by].least; }
static double get_residual(const bench_result *r, int by) { return r->by[by].residual; }
static double get_ratio(const bench_result *r, int by) { return (void)by, bench_ratio(r); }
static double get_coulomb(const bench_result *r, int by) { return (void)by, r->coulomb.least; }
static double get_coulomb_ratio(const bench_result *r, int by) {
  return (void)by, bench_coulomb_ratio(r);
}
static double get_factorizations(const bench_result *r, int by) {
  return (void)by, r->factorizations;
}

typedef struct spread {
  int count;
  double least, median, most;
} spread;

static spread spread_of(const bench_report *report, int class, getter *get, int by) {
  double *numbers = bench_need(malloc((size_t)(report->count + 1) * sizeof *numbers));
  int count = 0;
  for (int i = 0; i < report->count; i++) {
    const bench_result *r = &report->results[i];
    double number = get(r, by);
    if (bench_class_of(r->n) == class && !isnan(number)) numbers[count++] = number;
  }
  spread s = {count, BENCH_UNKNOWN, bench_median(numbers, count), BENCH_UNKNOWN};
  if (count) s.least = numbers[0], s.most = numbers[count - 1]; /* the median has sorted them */
  free(numbers);
  return s;
}

static int count_of(const bench_report *report, int class, int (*holds)(const bench_result *r)) {
  int count = 0;
  for (int i = 0; i < report->count; i++) {
    const bench_result *r = &report->results[i];
    count += bench_class_of(r->n) == class && holds(r);
  }
  return count;
}

static int is_any(const bench_result *r) { return (void)r, 1; }
static int is_missed(const bench_result *r) { return r->missed; }
static int has_coulomb(const bench_result *r) { return r->coulomb.residual <= 1e-8; }
static int is_worse(const bench_result *r) { return !bench_good_enough(r); }

/* ---- the table of reach ---------------------------------------------------------------------- */

static const char *mark_of(const bench_class *c, double ratio) {
  if (isnan(ratio)) return "-";
  return ratio >= c->aim ? "aim" : ratio >= c->must ? "must" : "MISSED";
}

static void reach_row(table *t, const bench_report *report, int class) {
  const bench_class *c = &bench_classes[class];
  spread ratio = spread_of(report, class, get_ratio, 0);
  spread theirs = spread_of(report, class, get_residual, BY_UPSTREAM);
  spread ours = spread_of(report, class, get_residual, BY_SWAP);
  spread factorizations = spread_of(report, class, get_factorizations, 0);
  int count = count_of(report, class, is_any);
  if (!count) return;
  table_row(t);
  table_cell(t, "%s", c->label);
  if (theirs.count == count) table_cell(t, "%d", count);
  else table_cell(t, "%d of %d", theirs.count, count); /* the budget */
  cell_ratio(t, ratio.median);
  cell_ratio(t, ratio.least);
  table_cell(t, "%g", c->must);
  table_cell(t, "%g", c->aim);
  table_cell(t, "%s", mark_of(c, ratio.median));
  cell_residual(t, theirs.median);
  cell_residual(t, theirs.most);
  cell_residual(t, ours.median);
  cell_residual(t, ours.most);
  table_cell(t, "%.0f", factorizations.median);
  table_cell(t, "%.0f", factorizations.most);
  table_cell(t, "%d", count_of(report, class, bench_upstream_failed));
  table_cell(t, "%d", count_of(report, class, is_missed));
  table_cell(t, "%d", count_of(report, class, is_worse));
}

static void write_reach(FILE *out, const bench_report *report) {
  static const char *const head[] = {
      "n",     "problems",  "ratio", "worst", "must", "aim",       "reached", "res. up",
      "worst", "res. ours", "worst", "fact.", "most", "up failed", "missed",  "worse"};
  table t;
  table_head(&t, head, COLUMNS);
  for (int class = 0; class < BENCH_CLASS_COUNT; class++) reach_row(&t, report, class);
  fprintf(out, "## Upstream's time over ours\n\n");
  table_write(out, &t);
  fputs("ratio: median and worst of upstream's time over that of the swap (`auto` behind the\n"
        "ABI). res.: residuals, median and worst. fact.: factorizations, median and most. up\n"
        "failed: problems that upstream gave up, which have no ratio. missed: `auto` did not\n"
        "reach its tolerance. worse: a residual above 1e-10 and above ten times upstream's.\n\n",
        out);
  if (report->untimed)
    fprintf(out, "Upstream's budget of %g s was used up: problems without it: %d.\n\n",
            report->options->budget, report->untimed);
}

/* No problem with more than 60 rows slower than 0.8 times upstream; the slowest by name. */
static void write_slow(FILE *out, const bench_report *report) {
  const bench_result *slowest = NULL;
  int slow = 0, count = 0, given_up = 0, faster_to_give_up = 0;
  for (int i = 0; i < report->count; i++) {
    const bench_result *r = &report->results[i];
    if (r->n <= 60 || isnan(bench_plain_ratio(r))) continue;
    given_up += bench_upstream_failed(r);
    faster_to_give_up += bench_upstream_failed(r) && bench_plain_ratio(r) < 0.8;
    if (bench_upstream_failed(r)) continue;
    count++;
    slow += bench_ratio(r) < 0.8;
    if (!slowest || bench_ratio(r) < bench_ratio(slowest)) slowest = r;
  }
  if (!slowest) return;
  fprintf(out, "Slower than 0.8 times upstream with n > 60: %d of %d problems (must: 0).\n", slow,
          count);
  fprintf(out, "Slowest: %s, n %d, ratio %.2f.\n", slowest->name, slowest->n, bench_ratio(slowest));
  if (given_up)
    fprintf(out, "Of %d further problems that upstream gives up, it leaves %d sooner than that.\n",
            given_up, faster_to_give_up);
  fputc('\n', out);
}

/* ---- the other tables ------------------------------------------------------------------------ */

static void write_times(FILE *out, const bench_report *report) {
  table t = {0};
  table_row(&t);
  table_cell(&t, "n");
  for (int by = 0; by < BENCH_SOLVER_COUNT; by++) {
    table_cell(&t, "%s", bench_solver_names[by]);
    table_cell(&t, "residual");
  }
  for (int class = 0; class < BENCH_CLASS_COUNT; class++) {
    if (!count_of(report, class, is_any)) continue;
    table_row(&t);
    table_cell(&t, "%s", bench_classes[class].label);
    for (int by = 0; by < BENCH_SOLVER_COUNT; by++) {
      cell_time(&t, spread_of(report, class, get_least, by).median);
      cell_residual(&t, spread_of(report, class, get_residual, by).median);
    }
  }
  fprintf(out,
          "## Every solver\n\nMedian time and median residual. `pgs` and `apgd` have their\n"
          "default settings, but at most %g s per problem; `swap` is `auto` behind the ABI.\n\n",
          report->options->limit);
  table_write(out, &t);
}

static void write_coulomb(FILE *out, const bench_report *report) {
  static const char *const head[] = {"n",     "problems", "ode, exact",     "coulomb",
                                     "ratio", "worst",    "solved to 1e-8"};
  table t;
  table_head(&t, head, (int)(sizeof head / sizeof *head));
  for (int class = 0; class < BENCH_CLASS_COUNT; class++) {
    int count = count_of(report, class, is_any);
    spread ratio = spread_of(report, class, get_coulomb_ratio, 0);
    if (!count) continue;
    table_row(&t);
    table_cell(&t, "%s", bench_classes[class].label);
    table_cell(&t, "%d", count);
    cell_time(&t, spread_of(report, class, get_least, BY_EXACT).median);
    cell_time(&t, spread_of(report, class, get_coulomb, 0).median);
    cell_ratio(&t, ratio.median);
    cell_ratio(&t, ratio.most);
    table_cell(&t, "%.1f %%", 100.0 * count_of(report, class, has_coulomb) / count);
  }
  fputs("## Coulomb beside ode\n\n"
        "The same problems with exact Coulomb friction. Median times; ratio: median and worst of\n"
        "its time over that of `friction=ode` by `exact` (wanted: a median of at most 4).\n\n",
        out);
  table_write(out, &t);
}

static void write_left(FILE *out, const bench_report *report) {
  static const char *const head[] = {"bodies",  "CFM",   "problems", "rows",          "ode, exact",
                                     "coulomb", "ratio", "worst",    "solved to 1e-8"};
  table t;
  table_head(&t, head, (int)(sizeof head / sizeof *head));
  for (int i = 0; i < report->left_count; i++) {
    const bench_left *l = &report->left[i];
    table_row(&t);
    table_cell(&t, "%s", l->what);
    table_cell(&t, "%g", l->cfm);
    table_cell(&t, "%d", l->problems);
    table_cell(&t, "%d-%d", l->least_rows, l->most_rows);
    cell_time(&t, l->ode);
    cell_time(&t, l->coulomb);
    cell_ratio(&t, l->ratio);
    cell_ratio(&t, l->worst);
    table_cell(&t, "%d", l->solved);
  }
  fputs("## Coulomb where bodies are inside each other\n\n"
        "Problems of a dWorldStep after steps of ODE's QuickStep, which leaves depths that\n"
        "contradict each other: nothing is harder for exact friction.\n\n",
        out);
  table_write(out, &t);
}

static void write_memory(FILE *out, const bench_report *report) {
  const bench_result *r = report->count ? &report->results[report->count - 1] : NULL;
  if (!r) return;
  fprintf(out, "Workspace of the largest problem, n %d: %.1f MB, %.2f %% of its matrix", r->n,
          1e-6 * (double)r->bytes, 100 * (double)r->bytes / (8.0 * r->n * r->n));
  fprintf(out, " (must: under 64 MB at n 4800).\n\n");
}

static void write_steps(FILE *out, const bench_report *report) {
  static const char *const head[] = {"scene", "CFM", "rows", "with lcplug", "with nobody", "ratio",
                                     "must",  "reached"};
  const double must = 2.0;
  table t;
  table_head(&t, head, 8);
  for (int i = 0; i < report->step_count; i++) {
    const bench_step *s = &report->steps[i];
    table_row(&t);
    table_cell(&t, "%s %d", s->kind, s->size);
    table_cell(&t, "%g", s->cfm);
    table_cell(&t, "%d", s->n);
    cell_time(&t, s->solved);
    cell_time(&t, s->nothing);
    table_cell(&t, "%.2f", s->solved / s->nothing);
    table_cell(&t, "%g", must);
    table_cell(&t, "%s", s->solved <= must * s->nothing ? "must" : "MISSED");
  }
  fprintf(out, "## A whole dWorldStep\n\n");
  fprintf(out, "The same step with lcplug and with a solver that writes zeros. Bodies fall into a "
               "heap; walls and pyramids stand.\n\n");
  table_write(out, &t);
}

static void write_failing(FILE *out, const bench_report *report) {
  static const char *const head[] = {"scene",  "CFM",     "steps",
                                     "rows",   "upstream's errors", "solves",
                                     "misses", "refused", "worst residual"};
  table t;
  table_head(&t, head, 9);
  for (int i = 0; i < report->failing_count; i++) {
    const bench_failing *f = &report->failing[i];
    table_row(&t);
    table_cell(&t, "%s %d", f->kind, f->size);
    table_cell(&t, "%g", f->cfm);
    table_cell(&t, "%d", f->steps);
    table_cell(&t, "%d", f->most_rows);
    if (f->upstream_too) table_cell(&t, "%ld", f->upstream_errors);
    else table_cell(&t, "not run");
    table_cell(&t, "%ld", f->solves);
    table_cell(&t, "%ld", f->misses);
    table_cell(&t, "%ld", f->refused);
    cell_residual(&t, f->worst);
  }
  fprintf(out, "## Scenes that upstream gives up\n\nTouching boxes; each scene once with "
               "upstream's solver and once with ours.\n\n");
  table_write(out, &t);
}

static void write_tally(FILE *out, const bench_tally *t, const char *what) {
  double rate = t->solves ? 1000.0 * (double)t->misses / (double)t->solves : 0;
  fprintf(out, "%ld solves up to n %d in %s: %ld missed, %.2f per 1000 (must: 1, %s); ", t->solves,
          t->most_rows, what, t->misses, rate, rate <= 1 ? "reached" : "MISSED");
  fprintf(out, "worst residual %.0e.\n\n", t->worst);
}

/* The processor's name where the system tells it: times mean nothing without. */
static void write_machine(FILE *out) {
  char line[256], *name = NULL;
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f && !name && fgets(line, sizeof line, f))
    if (!strncmp(line, "model name", 10)) name = strchr(line, ':');
  if (f) fclose(f);
  if (name) name[strcspn(name, "\n")] = 0;
  fprintf(out, "%s", name ? name + 2 : "unknown processor");
}

static void write_title(FILE *out, const bench_report *report) {
  char date[32] = "";
  time_t seconds = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%d", localtime(&seconds));
  fprintf(out, "# Benchmark of lcplug %s\n\n%s, ", lcplug_version(), date);
  write_machine(out);
  fprintf(out, "; %d problems. How to read it: doc/bench.md.\n\n", report->count);
}

void bench_report_write(FILE *out, const bench_report *report) {
  write_title(out, report);
  write_reach(out, report);
  write_slow(out, report);
  write_memory(out, report);
  write_times(out, report);
  write_coulomb(out, report);
  if (report->left_count) write_left(out, report);
  if (report->step_count) write_steps(out, report);
  if (report->failing_count) write_failing(out, report);
  if (report->stepped) {
    fprintf(out, "## Misses\n\n");
    write_tally(out, report->stepped, "the scenes above, all steps");
  }
  if (report->fresh) write_tally(out, report->fresh, "fresh random scenes of every kind");
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void csv_number(FILE *out, double number) {
  if (isnan(number)) fputc(',', out);
  else fprintf(out, ",%.4g", number);
}

void bench_report_csv(FILE *out, const bench_report *report) {
  fprintf(out, "name,n");
  for (int by = 0; by < BENCH_SOLVER_COUNT; by++) {
    const char *name = bench_solver_names[by];
    fprintf(out, ",%s_least_s,%s_median_s,%s_residual", name, name, name);
  }
  fprintf(out, ",coulomb_least_s,coulomb_median_s,coulomb_residual");
  fprintf(out, ",ratio,upstream_errors,factorizations,missed,workspace_bytes\n");
  for (int i = 0; i < report->count; i++) {
    const bench_result *r = &report->results[i];
    fprintf(out, "%s,%d", r->name, r->n);
    for (int by = 0; by < BENCH_SOLVER_COUNT; by++) {
      csv_number(out, r->by[by].least);
      csv_number(out, r->by[by].median);
      csv_number(out, r->by[by].residual);
    }
    csv_number(out, r->coulomb.least);
    csv_number(out, r->coulomb.median);
    csv_number(out, r->coulomb.residual);
    csv_number(out, bench_ratio(r));
    fprintf(out, ",%d,%d,%d,%zu\n", r->upstream_errors, r->factorizations, r->missed, r->bytes);
  }
}
