/* bench.h - what the parts of the benchmark share.
 *
 *     bench_collect.c   scenes -> files of problems, some of every size class
 *     bench_measure.c   one problem, all solvers: times and residuals
 *     bench_scenes.c    whole steps, scenes that upstream gives up, misses over fresh scenes
 *     bench_solvers.c   who solves when a scene is stepped: upstream, ours, nobody
 *     bench_report.c    tables, Markdown, CSV;  bench_plot.c  the SVG
 *     bench.c           the command line and the order of things */
#ifndef LCPLUG_BENCH_H
#define LCPLUG_BENCH_H

#include <stdio.h>

#include "diff/capture.h"
#include "progress.h"

/* A number that nobody has measured. */
#define BENCH_UNKNOWN ((double)NAN)

/* ---- options --------------------------------------------------------------------------------- */

typedef struct bench_options {
  const char *output; /* folder of the results */
  double budget;      /* seconds for upstream, all problems together */
  double limit;       /* seconds for one solve by pgs or apgd */
  double seed;        /* of the scenes whose problems are timed */
  double seeds;       /* random scenes for the rate of misses */
  double fresh;       /* first seed of those; 0: taken from the clock */
  int large;          /* problems beyond n = 3000, too */
} bench_options;

/* ---- size classes ---------------------------------------------------------------------------- */

/* A class: its problems have at most this many rows and more than the class before.  must and aim:
 * upstream's time over ours, the median of the class.  quota: how many problems make a good median
 * without eating the budget; with ten heaps, of which some jam, that of `coulomb` is chance. */
#define BENCH_CLASSES(X)                                                                           \
  X(12, "<= 12", 0.95, 1.5, 80)                                                                    \
  X(60, "13-60", 1.3, 3, 80)                                                                       \
  X(150, "61-150", 1.5, 3, 80)                                                                     \
  X(210, "151-210", 2.5, 6, 60)                                                                    \
  X(420, "211-420", 4, 10, 60)                                                                     \
  X(850, "421-850", 20, 50, 50)                                                                    \
  X(1700, "851-1700", 100, 250, 30)                                                                \
  X(3000, "1701-3000", 300, 800, 30)                                                               \
  X(INT_MAX, "> 3000", 1000, 2500, 20)

typedef struct bench_class {
  int most;
  const char *label;
  double must, aim;
  int quota;
} bench_class;

enum { BENCH_CLASS_COUNT = 9 };
extern const bench_class bench_classes[BENCH_CLASS_COUNT];
int bench_class_of(int n);

/* ---- solvers --------------------------------------------------------------------------------- */

/* The ABI of dxSolveLCP. */
typedef void bench_solver(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                          double *lh, int *findex);

/* libode's own; the preload object's; zeros at once; lcplug_solve, which counts in bench_tally. */
bench_solver *bench_upstream(void);
bench_solver *bench_swap(void); /* NULL, after a message, if $LCPLUG_PRELOAD is of no use */
bench_solver bench_nothing, bench_native;

/* Who solves from here on when a scene is stepped. */
void bench_step_with(bench_solver *solver);

/* What bench_native has met since bench_tally was cleared. */
typedef struct bench_tally {
  long solves, misses, refused;
  int most_rows;
  double worst; /* residual */
  char keep[3072];   /* folder for records of misses */
  char scene[128];   /* what these are called */
} bench_tally;
extern bench_tally bench_tallied;

/* Clears it; misses from here on are kept in the results as records. */
void bench_tally_begin(const bench_options *options);

/* Counts ODE's messages instead of printing them. */
void bench_count_messages(void);
extern int bench_messages;

/* ---- problems and results -------------------------------------------------------------------- */

typedef struct bench_file {
  char path[4096];
  int n;
} bench_file;

typedef struct bench_files {
  bench_file *at;
  int count, capacity;
} bench_files;

void bench_files_add(bench_files *files, const char *path, int n);

/* Steps the scenes of the plan and writes about as many problems as the classes want into
 * `folder`; adds them to files.  tally: how our solver did in all these steps. */
void bench_collect(const bench_options *options, const char *folder, bench_files *files,
                   bench_tally *tally);

/* Removes the *.lcp of a folder: what an earlier run has left. */
void bench_files_clear(const char *folder);

/* Adds a record, or all *.lcp of a folder; 0 after a message if there is none. */
int bench_files_find(bench_files *files, const char *path);

/* NULL after a message if the file is no record. */
diff_problem *bench_problem_read(const char *path);

/* Columns of the results; BY_SWAP is auto through the ABI, as a host program calls it. */
#define BENCH_SOLVERS(X)                                                                           \
  X(BY_UPSTREAM, "upstream")                                                                       \
  X(BY_PGS, "pgs")                                                                                 \
  X(BY_APGD, "apgd")                                                                               \
  X(BY_EXACT, "exact")                                                                             \
  X(BY_AUTO, "auto")                                                                               \
  X(BY_SWAP, "swap")
#define BENCH_CODE(code, name) code,
enum { BENCH_SOLVERS(BENCH_CODE) BENCH_SOLVER_COUNT };
#undef BENCH_CODE
extern const char *const bench_solver_names[BENCH_SOLVER_COUNT];

typedef struct bench_timing {
  double least, median; /* seconds; BENCH_UNKNOWN: not run */
  double residual;
} bench_timing;

typedef struct bench_result {
  char name[64];
  int n;
  bench_timing by[BENCH_SOLVER_COUNT];
  int upstream_errors; /* its messages */
  int factorizations;  /* of auto */
  int missed;          /* auto says itself that it did not reach its tolerance */
  size_t bytes;        /* of a workspace that has solved this problem alone */
  bench_timing coulomb; /* the same problem with friction=coulomb */
} bench_result;

/* Upstream's time over that of the swap, if upstream solved the problem: how soon it gives up is no
 * measure.  BENCH_UNKNOWN else. */
double bench_ratio(const bench_result *r);

/* The same, whatever upstream answered. */
double bench_plain_ratio(const bench_result *r);

/* The time of friction=coulomb over that of friction=ode by `exact`. */
double bench_coulomb_ratio(const bench_result *r);

/* Upstream gave up, by its message or by a residual that no solution has. */
int bench_upstream_failed(const bench_result *r);

/* The swap's residual is at most ten times upstream's, or 1e-10. */
int bench_good_enough(const bench_result *r);

/* Times all solvers on p; upstream only if asked.  0 after a message if lcplug refuses p. */
int bench_measure(const diff_problem *p, const bench_options *options, int with_upstream,
                  bench_result *result);

/* Times `exact` with friction=ode and with friction=coulomb alone, each once. */
void bench_compare_friction(const diff_problem *p, bench_result *result);

/* How many calls of upstream bench_measure makes at this size. */
int bench_upstream_calls(int n);

/* ---- whole scenes ---------------------------------------------------------------------------- */

typedef struct bench_step {
  const char *kind;
  int size;
  double cfm;
  int steps; /* until it has about 2800 rows, at most */
  int n;
  double solved, nothing; /* seconds of a dWorldStep, medians */
} bench_step;

/* Steps with about 2800 rows, with our solver and with none; returns how many kinds of them. */
int bench_whole_steps(const bench_options *options, bench_step **rows);

typedef struct bench_failing {
  const char *kind;
  int size;
  double cfm;
  int steps, upstream_too;
  long upstream_errors, solves, misses, refused; /* found */
  int most_rows;
  double worst;
} bench_failing;

/* Scenes that upstream answers with error messages; the array is static. */
int bench_failing_scenes(const bench_options *options, bench_failing **rows);

/* Bodies inside each other, as dWorldQuickStep leaves them. */
typedef struct bench_left {
  const char *what; /* bricks or heaps */
  double cfm;
  int problems, solved; /* by coulomb, to 1e-8 */
  int least_rows, most_rows;
  double ode, coulomb, ratio, worst; /* medians, and the worst ratio */
} bench_left;

int bench_left_by_quickstep(bench_left **rows);

/* Random scenes with seeds that nobody has tuned for. */
void bench_fresh_scenes(const bench_options *options, bench_tally *tally);

/* ---- report ---------------------------------------------------------------------------------- */

typedef struct bench_report {
  const bench_options *options;
  const bench_result *results;
  int count;
  int untimed;              /* problems that the budget left without upstream */
  const bench_step *steps;  /* step_count of them */
  int step_count;
  const bench_left *left;
  int left_count;
  const bench_failing *failing;
  int failing_count;
  const bench_tally *stepped, *fresh; /* the planned scenes, random ones; NULL: not run */
} bench_report;

/* All tables, as Markdown that is also readable as it is. */
void bench_report_write(FILE *out, const bench_report *report);
void bench_report_csv(FILE *out, const bench_report *report);

/* Time over n with gnuplot; 0 after a message if there is none. */
int bench_plot(const char *path, const bench_report *report);

/* ---- small things ---------------------------------------------------------------------------- */

/* Ends the program when there is no memory. */
void *bench_need(void *memory);

/* The median of count numbers, which are sorted by it; BENCH_UNKNOWN of none. */
double bench_median(double *numbers, int count);

#endif
