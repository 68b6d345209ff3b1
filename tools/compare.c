/* compare.c - `lcplug compare`: several solvers or settings over the same files, in one run.
 *
 * Every contestant solves a problem before the next problem is read, so that a run that is
 * interrupted has compared all of them on the same problems.  Convergence curves come from runs
 * with ever larger iteration limits: nothing watches a solve from inside, so nothing slows it. */
#include <lcplug/record.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"
#include "files.h"
#include "progress.h"
#include "table.h"
#include "tools.h"

enum {
  COMPARE_WITH = 1, COMPARE_REPEAT, COMPARE_PROFILE, COMPARE_CONVERGENCE, COMPARE_FILES,
  COMPARE_JSON
};

static const double DEFAULT_TOLERANCE = 1e-6;
/* Who competes unless --with names others. */
static const char *const everybody[] = {"solver=auto", "solver=apgd", "solver=pgs"};
enum { EVERYBODY = sizeof everybody / sizeof *everybody };

typedef struct compare_job {
  tool_arguments arguments;
  file_list files;
  const char *with[CONTEST_MOST];
  const char *profile, *convergence;
  bool as_json, by_file;
  int repeats, unreadable;
  solve_seat seat;
  contest contest;
} compare_job;

/* ---- the command line ------------------------------------------------------------------------ */

static int read_option(compare_job *job, int found) {
  tool_arguments *a = &job->arguments;
  double number;
  switch (found) {
    case COMPARE_WITH:
      if (job->contest.count == CONTEST_MOST) {
        tool_error("at most %d times --with", CONTEST_MOST);
        return TOOL_USAGE;
      }
      job->with[job->contest.count++] = a->value;
      return TOOL_OK;
    case COMPARE_REPEAT:
      if (!tool_number(a, 1, 1000, &number)) return TOOL_USAGE;
      job->repeats = (int)number;
      return TOOL_OK;
    case COMPARE_PROFILE: job->profile = a->value; return TOOL_OK;
    case COMPARE_CONVERGENCE: job->convergence = a->value; return TOOL_OK;
    case COMPARE_FILES: job->by_file = true; return TOOL_OK;
    case COMPARE_JSON: job->as_json = true; return TOOL_OK;
    case ARGUMENT_OPERAND: return files_add(&job->files, a->value) ? TOOL_OK : TOOL_USAGE;
    case ARGUMENT_SETTING: return TOOL_OK;
    default: return TOOL_USAGE;
  }
}

/* Everybody has the same tolerance, and else what the options and then its own --with say. */
static int make_contestants(compare_job *job) {
  contest *c = &job->contest;
  if (c->count == 0)
    for (int s = 0; s < EVERYBODY; s++) job->with[c->count++] = everybody[s];
  c->tol = job->arguments.settings.tol > 0 ? job->arguments.settings.tol : DEFAULT_TOLERANCE;
  job->arguments.settings.tol = c->tol;
  for (int s = 0; s < c->count; s++) {
    contestant *one = &c->contestants[s];
    char message[512] = "";
    one->name = job->with[s];
    one->settings = job->arguments.settings;
    if (lcplug_settings_parse(&one->settings, one->name, message, sizeof message) != LCPLUG_OK) {
      tool_error("--with %s: %s", one->name, message);
      return TOOL_USAGE;
    }
  }
  return TOOL_OK;
}

static int read_arguments(compare_job *job) {
  tool_arguments *a = &job->arguments;
  for (int found; (found = tool_next(a)) != ARGUMENT_END;) {
    int status = read_option(job, found);
    if (status != TOOL_OK) return status;
  }
  if (job->files.count == 0) return tool_misused(a->command, "no file given");
  return make_contestants(job);
}

/* ---- the contest ----------------------------------------------------------------------------- */

/* 1, 2, 3, 4, 6, 8, 12, ... up to the iteration limit. */
static void make_budgets(contest *c, int most) {
  for (int k = 1; c->budgets < CONTEST_BUDGETS; k *= 2) {
    if (k >= most) break;
    c->budget[c->budgets++] = k;
    if (k > 1 && k + k / 2 < most && c->budgets < CONTEST_BUDGETS)
      c->budget[c->budgets++] = k + k / 2;
  }
  if (c->budgets < CONTEST_BUDGETS) c->budget[c->budgets++] = most;
}

static void make_room(compare_job *job) {
  contest *c = &job->contest;
  size_t room = (size_t)job->files.count;
  c->room = job->files.count;
  c->files = tool_resize(NULL, room, sizeof *c->files);
  c->rows = tool_resize(NULL, room, sizeof *c->rows);
  if (job->convergence)
    make_budgets(c, job->arguments.settings.max_iter ? job->arguments.settings.max_iter : 1000);
  for (int s = 0; s < c->count; s++) {
    c->contestants[s].results = tool_resize(NULL, room, sizeof(outcome));
    c->residual_at[s] = tool_resize(NULL, room * (size_t)c->budgets + 1, sizeof(double));
    c->seconds_at[s] = tool_resize(NULL, room * (size_t)c->budgets + 1, sizeof(double));
  }
}

static void free_room(contest *c) {
  for (int s = 0; s < c->count; s++) {
    free(c->contestants[s].results);
    free(c->residual_at[s]);
    free(c->seconds_at[s]);
  }
  free(c->files);
  free(c->rows);
}

static lcplug_settings settings_of(const compare_job *job, int who, const lcplug_record *record) {
  lcplug_settings own = job->contest.contestants[who].settings;
  bool asked = strstr(job->contest.contestants[who].name, "friction=") != NULL;
  if (!asked) own.friction = outcome_settings(&job->arguments, record).friction;
  return own;
}

/* The residual and time with few iterations, more, and all of them. */
static void follow_convergence(compare_job *job, int who, const lcplug_record *record,
                               lcplug_settings settings) {
  contest *c = &job->contest;
  for (int k = 0; k < c->budgets; k++) {
    settings.max_iter = c->budget[k];
    outcome o = outcome_of(&job->seat, record, &settings, job->repeats);
    size_t at = (size_t)k * (size_t)c->room + (size_t)c->problems;
    c->residual_at[who][at] = o.error ? NAN : o.residual;
    c->seconds_at[who][at] = o.error ? NAN : o.seconds;
  }
}

static void compare_file(void *the_job, const char *path) {
  compare_job *job = the_job;
  contest *c = &job->contest;
  lcplug_record *record = files_read(path);
  if (!record) {
    job->unreadable++;
    return;
  }
  for (int s = 0; s < c->count; s++) {
    lcplug_settings settings = settings_of(job, s, record);
    outcome *o = &c->contestants[s].results[c->problems];
    *o = outcome_of(&job->seat, record, &settings, job->repeats);
    if (o->error)
      progress_say("lcplug: %s: %s: %s\n", path, c->contestants[s].name, outcome_text(o));
    if (contest_has_curve(c, s)) follow_convergence(job, s, record, settings);
  }
  c->files[c->problems] = path;
  c->rows[c->problems++] = record->problem.n;
  lcplug_record_free(record);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* What the table says about one contestant. */
typedef struct score {
  int solved, failed;
  double seconds, total, residual, worst, iterations; /* medians, but for total and worst */
} score;

static score score_of(const contest *c, int who) {
  score s = {.seconds = contest_median(c, who, outcome_seconds),
             .residual = contest_median(c, who, outcome_residual),
             .iterations = contest_median(c, who, outcome_iterations),
             .worst = NAN};
  for (int p = 0; p < c->problems; p++) {
    const outcome *o = &c->contestants[who].results[p];
    if (contest_solved(c, o)) s.solved++;
    else s.failed++;
    if (o->error) continue;
    s.total += o->seconds;
    s.worst = fmax(s.worst, o->residual);
  }
  return s;
}

static void print_scores(const contest *c) {
  table *t = table_create(
      "settings|solved|failed|median time|total time|median residual|worst residual|"
      "median iterations|fastest|within 2x|within 10x");
  for (int i = 0; i < c->count; i++) {
    score s = score_of(c, i);
    table_cell(t, "%s", c->contestants[i].name);
    table_cell(t, "%d", s.solved);
    table_marked_cell(t, s.failed ? MARK_BAD : MARK_GOOD, "%d", s.failed);
    table_time(t, s.seconds);
    table_time(t, s.total);
    table_residual(t, s.residual, MARK_NONE);
    table_residual(t, s.worst, MARK_NONE);
    table_cell(t, "%.0f", s.iterations);
    table_cell(t, "%.0f %%", 100 * contest_share(c, i, 1));
    table_cell(t, "%.0f %%", 100 * contest_share(c, i, 2));
    table_cell(t, "%.0f %%", 100 * contest_share(c, i, 10));
  }
  printf("%d problem%s, solved if the residual is at most %g\n", c->problems,
         c->problems == 1 ? "" : "s", c->tol);
  table_print(t);
  table_free(t);
}

static void print_files(const contest *c) {
  table *t = table_create("file|n|settings|iterations|residual|time|of the fastest");
  for (int p = 0; p < c->problems; p++)
    for (int i = 0; i < c->count; i++) {
      const outcome *o = &c->contestants[i].results[p];
      double ratio = contest_ratio(c, i, p);
      table_cell(t, "%s", c->files[p]);
      table_cell(t, "%d", c->rows[p]);
      table_cell(t, "%s", c->contestants[i].name);
      table_cell(t, "%ld", o->iterations);
      table_residual(t, o->error ? NAN : o->residual, contest_solved(c, o) ? MARK_GOOD : MARK_BAD);
      table_time(t, o->error ? NAN : o->seconds);
      if (isfinite(ratio)) table_cell(t, "%.3gx", ratio);
      else table_cell(t, "-");
    }
  table_print(t);
  table_free(t);
  putchar('\n');
}

static void write_contestant(json *j, const contest *c, int who) {
  score s = score_of(c, who);
  json_open(j, NULL, '{');
  json_string(j, "settings", c->contestants[who].name);
  json_whole(j, "solved", s.solved);
  json_whole(j, "failed", s.failed);
  json_number(j, "median_seconds", s.seconds);
  json_number(j, "total_seconds", s.total);
  json_number(j, "median_residual", s.residual);
  json_number(j, "worst_residual", s.worst);
  json_open(j, "problems", '[');
  for (int p = 0; p < c->problems; p++) {
    json_open(j, NULL, '{');
    json_string(j, "file", c->files[p]);
    json_whole(j, "n", c->rows[p]);
    outcome_json(j, &c->contestants[who].results[p]);
    json_number(j, "ratio", contest_ratio(c, who, p));
    json_close(j, '{');
  }
  json_close(j, '[');
  json_close(j, '{');
}

static void print_json(const compare_job *job) {
  const contest *c = &job->contest;
  json j = {.file = stdout};
  json_open(&j, NULL, '{');
  json_flag(&j, "interrupted", progress_interrupted());
  json_whole(&j, "unreadable", job->unreadable);
  json_whole(&j, "problems", c->problems);
  json_number(&j, "tol", c->tol);
  json_open(&j, "contestants", '[');
  for (int i = 0; i < c->count; i++) write_contestant(&j, c, i);
  json_close(&j, '[');
  json_close(&j, '{');
}

static bool write_picture(const char *path, const contest *c,
                          void (*draw)(const contest *, FILE *)) {
  out_file out;
  if (!path || !c->problems) return true;
  if (!out_open(&out, path)) return false;
  draw(c, out.file);
  return out_close(&out);
}

static int report(const compare_job *job) {
  const contest *c = &job->contest;
  if (job->as_json) print_json(job);
  else if (c->problems) {
    if (job->by_file) print_files(c);
    print_scores(c);
  }
  bool written = write_picture(job->profile, c, contest_write_profile);
  written &= write_picture(job->convergence, c, contest_write_convergence);
  if (progress_interrupted()) return TOOL_INTERRUPTED;
  return job->unreadable || !written ? TOOL_USAGE : TOOL_OK;
}

static int compare_main(const tool_command *command, int argc, char **argv) {
  compare_job job = {.repeats = 3};
  if (!tool_arguments_begin(&job.arguments, command, argc, argv)) return TOOL_USAGE;
  int status = read_arguments(&job);
  if (status == TOOL_OK) {
    job.seat = seat_create();
    make_room(&job);
    progress_watch_interrupts();
    files_each(&job.files, "comparing", compare_file, &job);
    status = report(&job);
    free_room(&job.contest);
    seat_free(&job.seat);
  }
  files_free(&job.files);
  return status;
}

static const tool_option options[] = {
    {COMPARE_WITH, "with", 'w', "SETTINGS",
     "a contestant: settings as KEY=VALUE,KEY=VALUE, which come behind the options for all; may be "
     "given up to 16 times.  Built in: solver=auto, solver=apgd and solver=pgs"},
    {COMPARE_REPEAT, "repeat", 0, "N", "the time is the median of N measurements (built in: 3)"},
    {COMPARE_PROFILE, "profile", 0, "FILE", "draw the performance profile as SVG"},
    {COMPARE_CONVERGENCE, "convergence", 0, "FILE",
     "draw the residual over the iterations and over the time as SVG: of pgs and apgd a curve, for "
     "which they solve each problem some twenty times more; of auto and exact, which no iteration "
     "limit ends, one point"},
    {COMPARE_FILES, "files", 0, NULL, "a line for each file and contestant, too"},
    {COMPARE_JSON, "json", 0, NULL, "JSON in the place of the tables"},
    {0}};
static const tool_note statuses[] = {{"0", "compared; failures are in the table"},
                                     {"2", "wrong usage, or a file that cannot be read or written"},
                                     {"130", "interrupted; what was done has been reported"},
                                     {0}};
static const tool_note examples[] = {
    {"lcplug compare --friction coulomb --profile profile.svg problems/",
     "The built-in solvers on a folder of problems:"},
    {"lcplug compare --with solver=pgs --with solver=pgs,omega=1.3 --convergence curves.svg "
     "pile.lcp",
     "Does over-relaxation help?"},
    {0}};
const tool_command tool_compare_command = {
    .name = "compare",
    .arguments = "[OPTION...] FILE|FOLDER...",
    .meaning = "several solvers or settings over the same problems",
    .text =
        "Solves each problem with every contestant, all in one run, and prints how many each "
        "solved, its CPU times, residuals and iterations, how often it was the fastest, and on "
        "what share of the problems it was within 2 or 10 times of the fastest.  A FOLDER stands "
        "for all files below it that end in .lcp, .fcp or .mtx.\n\n"
        "All contestants have the same tolerance, 1e-6 unless --tol says otherwise, and a problem "
        "counts as solved if the residual of the answer, by the matrix as given, meets it.\n\n"
        "The performance profile shows for each factor t the share of the problems that a "
        "contestant solves within t times the time of the fastest: high is good, at the left for "
        "speed, at the right for robustness.\n\n"
        "The first Ctrl-C ends after the problem at hand; tables and pictures are then those of "
        "the problems done.",
    .options = options,
    .settings = SETTINGS_OF_SOLVES,
    .statuses = statuses,
    .examples = examples,
    .main = compare_main};
