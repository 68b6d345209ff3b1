/* siconos.c - Siconos' solvers and ours on the same problems, to the same measured residual.
 *
 * Problem.   Who is the fastest to bring exact Coulomb friction to a given accuracy?  Each program
 *            stops on a criterion of its own, so their own word does not count.
 * Method.    The judge of both is lcplug's residual, by the matrix as the file has it.  A solver of
 *            Siconos is run with its tolerance at 1e-3, 1e-4, ... until the residual is 1e-8 or
 *            five seconds are over; its time to a residual is that of its fastest run that got
 *            there. lcplug has one run, with default settings.  Each run is a process of its own:
 *            one that hangs or dies is a failure and not the end.  Short runs are repeated, the
 *            least counts; nothing is kept from one to the next.
 * Contract.  siconos [--output FOLDER] [--settings KEY=VALUE,...] FILE|FOLDER...: prints tables and
 *            writes them as siconos.md, with a performance profile siconos.svg.  --settings gives
 *            lcplug others than its defaults.  Files that are not contacts in three dimensions with
 *            finite mu are left out, and said to be. */
#define _GNU_SOURCE
#include "siconos.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <progress.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <svg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CAP_SECONDS = 5, PATIENCE_SECONDS = 60, MOST_PROBLEMS = 1000, MOST_ROWS = 1 << 14 };
enum { TARGETS = 2, REPEATS = 15 };
static const double target[TARGETS] = {1e-6, 1e-8};
static const double worth_repeating = 0.05; /* seconds that the repetitions may take */
static const char *const rival_name[RIVALS] = {"NSGS", "NSN_AC", "ADMM", "PROX", "lcplug"};
static const char *const rival_colour[RIVALS] = {"#c8423f", "#9d4edd", "#e0a030", "#5b5ea6",
                                                 "#1f7a8c"};

typedef struct comparison {
  char name[64];
  int contacts;
  double seconds[TARGETS][RIVALS]; /* infinite: not reached */
  double best_residual[RIVALS];
} comparison;

static lcplug_settings settings; /* ours */
static comparison comparisons[MOST_PROBLEMS];
static int count;

/* ---- one run, in a process of its own -------------------------------------------------------- */

/* The process' own clock moves in ticks while RLIMIT_CPU is set. */
double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double lcplug_once(const lcplug_record *record, rival by, double tol, double *x) {
  (void)by, (void)tol; /* that of our settings */
  lcplug_problem given = lcplug_record_as_given(record);
  lcplug_solution solution = {.x = x};
  double started = cpu_seconds();
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_error error = record->W
                           ? lcplug_solve_asymmetric(workspace, &given, &settings, &solution, NULL)
                           : lcplug_solve(workspace, &given, &settings, &solution, NULL);
  lcplug_workspace_free(workspace);
  double seconds = cpu_seconds() - started;
  return error ? (double)INFINITY : seconds;
}

static double judge(const lcplug_record *record, const double *x) {
  lcplug_problem given = lcplug_record_as_given(record);
  lcplug_workspace *workspace = lcplug_workspace_create();
  double residual = INFINITY;
  (record->W ? lcplug_residual_asymmetric : lcplug_residual)(
      workspace, &given, LCPLUG_FRICTION_COULOMB, x, 1, NULL, NULL, 1, &residual);
  lcplug_workspace_free(workspace);
  return residual;
}

static void run_here(const lcplug_record *record, rival by, double tol, run *result) {
  solve_once *solve = by == LCPLUG ? lcplug_once : siconos_solve;
  static double x[MOST_ROWS];
  double spent = 0;
  for (int k = 0; k < REPEATS && spent < worth_repeating; k++) {
    double seconds = solve(record, by, tol, x);
    spent += seconds;
    if (k == 0) result->residual = judge(record, x);
    result->seconds = fmin(result->seconds, seconds);
  }
}

static run run_apart(const lcplug_record *record, rival by, double tol) {
  const run unfinished = {INFINITY, INFINITY};
  run *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return unfinished;
  *shared = unfinished;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY); /* Siconos talks */
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    setrlimit(RLIMIT_CPU, &(struct rlimit){CAP_SECONDS, CAP_SECONDS});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    alarm(PATIENCE_SECONDS);
    run_here(record, by, tol, shared);
    _exit(0);
  }
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  run result = *shared;
  munmap(shared, sizeof *shared);
  return result;
}

/* ---- one problem ----------------------------------------------------------------------------- */

static int is_contacts(const lcplug_problem *p) {
  if (p->n == 0 || p->n % 3 || p->nub || !p->findex || p->n > MOST_ROWS) return 0;
  for (int i = 0; i < p->n; i += 3) {
    const double *lo = p->lo + (size_t)i * p->bounds_step, *hi = p->hi + (size_t)i * p->bounds_step;
    double mu = hi[p->bounds_step];
    if (p->findex[i] >= 0 || *lo != 0 || !isinf(*hi)) return 0;
    if (p->findex[i + 1] != i || p->findex[i + 2] != i) return 0;
    if (!isfinite(mu) || mu != hi[2 * p->bounds_step]) return 0;
  }
  return 1;
}

static void note(comparison *c, rival by, run r) {
  c->best_residual[by] = fmin(c->best_residual[by], r.residual);
  for (int t = 0; t < TARGETS; t++)
    if (r.residual <= target[t]) c->seconds[t][by] = fmin(c->seconds[t][by], r.seconds);
}

static void compare(const lcplug_record *record, const char *name) {
  comparison *c = &comparisons[count++];
  snprintf(c->name, sizeof c->name, "%.*s", (int)strcspn(name, "."), name);
  c->contacts = record->problem.n / 3;
  for (int by = 0; by < RIVALS; by++) {
    c->best_residual[by] = INFINITY;
    for (int t = 0; t < TARGETS; t++) c->seconds[t][by] = INFINITY;
  }
  note(c, LCPLUG, run_apart(record, LCPLUG, 0));
  for (rival by = 0; by < LCPLUG; by++)
    for (double tol = 1e-3; tol > 1e-15 && isinf(c->seconds[TARGETS - 1][by]); tol *= 0.1) {
      run r = run_apart(record, by, tol);
      note(c, by, r);
      if (isinf(r.seconds)) break; /* a smaller tolerance takes no less */
    }
}

static void compare_file(const char *path) {
  lcplug_record *record = NULL;
  char message[256];
  if (count == MOST_PROBLEMS || progress_interrupted()) return;
  if (lcplug_record_read(path, &record, message, sizeof message)) {
    progress_say("siconos: %s\n", message);
    return;
  }
  const char *slash = strrchr(path, '/');
  if (is_contacts(&record->problem)) compare(record, slash ? slash + 1 : path);
  else progress_say("siconos: %s: left out, not only contacts in 3-D with finite mu\n", path);
  lcplug_record_free(record);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int is_problem(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && (!strcmp(dot, ".fcp") || !strcmp(dot, ".lcp"));
}

static void compare_all(int paths, char **path) {
  progress_begin("problems", paths);
  for (int i = 0; i < paths; i++) {
    struct dirent **entries;
    int entries_count = scandir(path[i], &entries, is_problem, alphasort);
    if (entries_count < 0) compare_file(path[i]);
    for (int k = 0; k < entries_count; k++) {
      char file[4096];
      snprintf(file, sizeof file, "%s/%s", path[i], entries[k]->d_name);
      compare_file(file);
      progress_add(1.0 / entries_count);
      free(entries[k]);
    }
    if (entries_count >= 0) free(entries);
    else progress_add(1);
  }
  progress_end();
}

/* ---- the report ------------------------------------------------------------------------------ */

static double best_of(const double *seconds, int rivals) {
  double best = INFINITY;
  for (int by = 0; by < rivals; by++) best = fmin(best, seconds[by]);
  return best;
}

static void write_seconds(FILE *out, double seconds) {
  if (isinf(seconds)) fprintf(out, " - |");
  else if (seconds < 1e-3) fprintf(out, " %.3g us |", 1e6 * seconds);
  else if (seconds < 1) fprintf(out, " %.3g ms |", 1e3 * seconds);
  else fprintf(out, " %.3g s |", seconds);
}

static void write_head(FILE *out, const char *first, const char *last) {
  fprintf(out, "| %s |", first);
  for (int by = 0; by < RIVALS; by++) fprintf(out, " %s |", rival_name[by]);
  fprintf(out, "%s\n|---|", last);
  for (const char *c = first; *c; c++)
    if (*c == '|') fprintf(out, "---:|");
  for (int by = 0; by < RIVALS; by++) fprintf(out, "---:|");
  for (const char *c = last; *c; c++)
    if (*c == '|') fprintf(out, "---:|");
  fprintf(out, "\n");
}

static void write_times(FILE *out, int t) {
  fprintf(out, "\n## To a residual of %.0e\n\n", target[t]);
  write_head(out, "problem | contacts", " best of Siconos over lcplug | residual of lcplug |");
  for (int i = 0; i < count; i++) {
    const comparison *c = &comparisons[i];
    double theirs = best_of(c->seconds[t], LCPLUG), ours = c->seconds[t][LCPLUG];
    fprintf(out, "| %s | %d |", c->name, c->contacts);
    for (int by = 0; by < RIVALS; by++) write_seconds(out, c->seconds[t][by]);
    if (isinf(theirs) || isinf(ours))
      fprintf(out, " %s |", isinf(ours) ? isinf(theirs) ? "nobody" : "MISSED" : "lcplug alone");
    else fprintf(out, " %.3g |", theirs / ours);
    fprintf(out, " %.0e |\n", c->best_residual[LCPLUG]);
  }
}

/* The share of problems that a solver does within `factor` times the time of the fastest. */
static double profile(int t, int by, double factor) {
  int within = 0;
  for (int i = 0; i < count; i++) {
    const double *seconds = comparisons[i].seconds[t];
    within += !isinf(seconds[by]) && seconds[by] <= factor * best_of(seconds, RIVALS);
  }
  return count ? (double)within / count : 0;
}

static void write_profile(FILE *out, int t) {
  static const double factors[] = {1, 2, 5, 10, 100, INFINITY};
  fprintf(out,
          "\n## Performance profile, residual %.0e\n\n"
          "The share of the problems that a solver does within this factor of the fastest one's\n"
          "time; the last line: at all.\n\n",
          target[t]);
  write_head(out, "factor", "");
  for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
    if (isinf(factors[k])) fprintf(out, "| solved |");
    else fprintf(out, "| %g |", factors[k]);
    for (int by = 0; by < RIVALS; by++)
      fprintf(out, " %.0f %% |", 100 * profile(t, by, factors[k]));
    fprintf(out, "\n");
  }
}

static void write_verdict(FILE *out, int t) {
  int large = 0, twice = 0, slower = 0, solved = 0;
  for (int i = 0; i < count; i++) {
    const comparison *c = &comparisons[i];
    double theirs = best_of(c->seconds[t], LCPLUG), ours = c->seconds[t][LCPLUG];
    solved += !isinf(ours);
    large += c->contacts >= 20;
    twice += c->contacts >= 20 && !isinf(ours) && theirs > 2 * ours;
    slower += ours > 1e-3 && ours > 2 * theirs;
  }
  fprintf(out,
          "- residual %.0e: lcplug reaches it on %d of %d; more than twice as fast as the best of\n"
          "  Siconos on %d of %d with 20 contacts or more; more than twice as slow, and above\n"
          "  1 ms, on %d.\n",
          target[t], solved, count, twice, large, slower);
}

static void write_report(FILE *out) {
  fprintf(out,
          "# lcplug beside Siconos\n\n"
          "lcplug %s, made by `make bench-siconos`. Exact Coulomb friction (friction=coulomb,\n"
          "default settings) beside Siconos' solvers with their default options; %d problems, one\n"
          "run. CPU time, at most %d s each. The residual is lcplug's, of the matrix as the file\n"
          "has it; how it is measured: doc/bench.md.\n\n",
          lcplug_version(), count, CAP_SECONDS);
  for (int t = 0; t < TARGETS; t++) write_verdict(out, t);
  for (int t = 0; t < TARGETS; t++) write_times(out, t);
  for (int t = 0; t < TARGETS; t++) write_profile(out, t);
}

/* ---- the plot -------------------------------------------------------------------------------- */

static int write_plot(const char *path) {
  enum { POINTS = 121 };
  static double factor[POINTS], share[TARGETS][RIVALS][POINTS];
  static const char *const titles[TARGETS] = {"Performance profile, residual 1e-6",
                                              "Performance profile, residual 1e-8"};
  svg_curve curves[TARGETS][RIVALS];
  svg_chart charts[TARGETS];
  for (int k = 0; k < POINTS; k++) factor[k] = pow(10, k / 40.0);
  for (int t = 0; t < TARGETS; t++) {
    for (int by = 0; by < RIVALS; by++) {
      for (int k = 0; k < POINTS; k++) share[t][by][k] = profile(t, by, factor[k]);
      curves[t][by] = (svg_curve){.name = rival_name[by],
                                  .style = SVG_STEPS,
                                  .colour = rival_colour[by],
                                  .x = factor,
                                  .y = share[t][by],
                                  .count = POINTS};
    }
    charts[t] = (svg_chart){.title = titles[t],
                            .x = {"time over that of the fastest", true, 1, 1000},
                            .y = {"share of the problems", false, 0, 1},
                            .curves = curves[t],
                            .count = RIVALS};
  }
  FILE *out = fopen(path, "w");
  if (!out) return 0;
  svg_write(out, charts, TARGETS);
  return fclose(out) == 0;
}

static int write_files(const char *folder) {
  char path[4096];
  mkdir(folder, 0777);
  snprintf(path, sizeof path, "%s/siconos.md", folder);
  FILE *out = fopen(path, "w");
  if (out) {
    write_report(out);
    fclose(out);
    snprintf(path, sizeof path, "%s/siconos.svg", folder);
    if (write_plot(path)) return 1;
  }
  perror(path);
  return 0;
}

/* Returns the place of the first file; 0 if the command line is wrong. */
static int read_options(int argc, char **argv, const char **output) {
  int i = 1;
  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    if (!strcmp(argv[i], "--output")) *output = argv[i + 1];
    else if (strcmp(argv[i], "--settings") ||
             lcplug_settings_parse(&settings, argv[i + 1], NULL, 0))
      return 0;
  }
  return i < argc && argv[i][0] != '-' ? i : 0;
}

int main(int argc, char **argv) {
  const char *output = NULL;
  settings = lcplug_settings_default();
  settings.friction = LCPLUG_FRICTION_COULOMB;
  int first = read_options(argc, argv, &output);
  if (!first) {
    fprintf(stderr, "usage: siconos [--output FOLDER] [--settings KEY=VALUE,...] FILE|FOLDER...\n");
    return 2;
  }
  progress_watch_interrupts();
  compare_all(argc - first, argv + first);
  if (!count) {
    fprintf(stderr, "siconos: no problems\n");
    return 1;
  }
  write_report(stdout);
  return output && !write_files(output) ? 1 : 0;
}
