/* replay.c - `lcplug replay`: captured problems solved again, in a table by file or by size. */
#include <lcplug/record.h>
#include <math.h>
#include <stdlib.h>

#include "files.h"
#include "json.h"
#include "outcome.h"
#include "progress.h"
#include "table.h"
#include "tools.h"

enum { REPLAY_FILES = 1, REPLAY_SUMMARY, REPLAY_REPEAT, REPLAY_JSON };
/* More files than fit on a screen are summed up unless --files asks for them. */
enum { FILES_OF_A_TABLE = 40 };

/* The sizes by which the benchmark reports, too: the last row count of each class. */
static const int class_ends[] = {12, 60, 150, 210, 420, 850, 1700, 3000, 1 << 30};
enum { CLASSES = sizeof class_ends / sizeof *class_ends };

/* One problem: then and now. */
typedef struct replayed {
  const char *path;
  int n;
  outcome now;
  bool answered; /* the record has an answer */
  double seconds_then, difference;
  uint32_t errors_then;
} replayed;

typedef struct replay_job {
  tool_arguments arguments;
  file_list files;
  bool as_json, by_file, by_size;
  int repeats;
  solve_seat seat;
  replayed *done;
  int count, unreadable;
} replay_job;

static int read_arguments(replay_job *job) {
  tool_arguments *a = &job->arguments;
  double number;
  for (int found; (found = tool_next(a)) != ARGUMENT_END;) {
    switch (found) {
      case REPLAY_FILES: job->by_file = true; break;
      case REPLAY_SUMMARY: job->by_size = true; break;
      case REPLAY_JSON: job->as_json = true; break;
      case REPLAY_REPEAT:
        if (!tool_number(a, 1, 1000, &number)) return TOOL_USAGE;
        job->repeats = (int)number;
        break;
      case ARGUMENT_OPERAND:
        if (!files_add(&job->files, a->value)) return TOOL_USAGE;
        break;
      case ARGUMENT_SETTING: break;
      default: return TOOL_USAGE;
    }
  }
  if (job->files.count == 0) return tool_misused(a->command, "no file given");
  if (!job->by_file && !job->by_size) {
    job->by_size = job->files.count > FILES_OF_A_TABLE;
    job->by_file = !job->by_size;
  }
  return TOOL_OK;
}

static void replay_file(void *the_job, const char *path) {
  replay_job *job = the_job;
  lcplug_record *record = files_read(path);
  if (!record) {
    job->unreadable++;
    return;
  }
  lcplug_settings settings = outcome_settings(&job->arguments, record);
  replayed r = {.path = path,
                .n = record->problem.n,
                .now = outcome_of(&job->seat, record, &settings, job->repeats),
                .answered = record->x != NULL,
                .seconds_then = record->x && record->seconds > 0 ? record->seconds : NAN,
                .difference = NAN,
                .errors_then = record->errors};
  if (r.now.error) {
    progress_say("lcplug: %s: %s\n", path, outcome_text(&r.now));
    job->unreadable++;
  } else {
    r.difference = outcome_difference(&job->seat, record);
    job->done = tool_resize(job->done, (size_t)job->count + 1, sizeof *job->done);
    job->done[job->count++] = r;
  }
  lcplug_record_free(record);
}

/* ---- reports --------------------------------------------------------------------------------- */

static bool is_solved(const replayed *r) { return r->now.status == LCPLUG_SOLVED; }

static void print_files(const replay_job *job) {
  table *t = table_create(
      "file|n|solver|iterations|residual|time|recorded time|recorded errors|w differs by|status");
  for (int i = 0; i < job->count; i++) {
    const replayed *r = &job->done[i];
    table_mark mark = is_solved(r) ? MARK_GOOD : MARK_BAD;
    table_cell(t, "%s", r->path);
    table_cell(t, "%d", r->n);
    table_cell(t, "%s", lcplug_solver_name(r->now.solver));
    table_cell(t, "%ld", r->now.iterations);
    table_residual(t, r->now.residual, mark);
    table_time(t, r->now.seconds);
    table_time(t, r->seconds_then);
    if (r->answered)
      table_marked_cell(t, r->errors_then ? MARK_BAD : MARK_NONE, "%u", r->errors_then);
    else table_cell(t, "-");
    table_residual(t, r->difference, MARK_NONE);
    table_marked_cell(t, mark, "%s", outcome_text(&r->now));
  }
  table_print(t);
  table_free(t);
}

/* What the summary says about the problems of one size. */
typedef struct size_class {
  int first, last, count, solved;
  double *seconds, *then;
  int timed_then;
  double worst;
} size_class;

static size_class class_of(const replay_job *job, int first, int last) {
  size_class c = {.first = first, .last = last};
  c.seconds = tool_resize(NULL, (size_t)job->count + 1, sizeof(double));
  c.then = tool_resize(NULL, (size_t)job->count + 1, sizeof(double));
  for (int i = 0; i < job->count; i++) {
    const replayed *r = &job->done[i];
    if (r->n < first || r->n > last) continue;
    c.seconds[c.count++] = r->now.seconds;
    c.solved += is_solved(r);
    c.worst = fmax(c.worst, r->now.residual);
    if (!isnan(r->seconds_then)) c.then[c.timed_then++] = r->seconds_then;
  }
  return c;
}

static void print_class(table *t, const char *name, size_class *c) {
  table_cell(t, "%s", name);
  table_cell(t, "%d", c->count);
  table_marked_cell(t, c->solved == c->count ? MARK_GOOD : MARK_BAD, "%d", c->solved);
  table_time(t, median(c->seconds, c->count));
  table_time(t, c->count ? c->seconds[c->count - 1] : NAN); /* sorted by the median */
  table_time(t, median(c->then, c->timed_then));
  table_residual(t, c->worst, MARK_NONE);
}

static void print_summary(const replay_job *job) {
  table *t = table_create(
      "rows|problems|solved|median time|longest|recorded median|worst residual");
  for (int i = 0; i <= CLASSES; i++) {
    bool all = i == CLASSES;
    int first = i == 0 || all ? 0 : class_ends[i - 1] + 1;
    int last = all ? class_ends[CLASSES - 1] : class_ends[i];
    size_class c = class_of(job, first, last);
    char *name = all                ? tool_format("all")
                 : i == 0           ? tool_format("up to %d", last)
                 : i == CLASSES - 1 ? tool_format("over %d", first - 1)
                                    : tool_format("%d to %d", first, last);
    if (c.count) print_class(t, name, &c);
    free(name);
    free(c.seconds);
    free(c.then);
  }
  table_print(t);
  table_free(t);
}

static void print_json(const replay_job *job) {
  json j = {.file = stdout};
  json_open(&j, NULL, '{');
  json_flag(&j, "interrupted", progress_interrupted());
  json_whole(&j, "unreadable", job->unreadable);
  json_open(&j, "problems", '[');
  for (int i = 0; i < job->count; i++) {
    const replayed *r = &job->done[i];
    json_open(&j, NULL, '{');
    json_string(&j, "file", r->path);
    json_whole(&j, "n", r->n);
    outcome_json(&j, &r->now);
    if (r->answered) {
      json_number(&j, "recorded_seconds", r->seconds_then);
      json_whole(&j, "recorded_errors", r->errors_then);
      json_number(&j, "w_difference", r->difference);
    }
    json_close(&j, '{');
  }
  json_close(&j, '[');
  json_close(&j, '{');
}

static int report(const replay_job *job) {
  int missed = 0;
  for (int i = 0; i < job->count; i++) missed += !is_solved(&job->done[i]);
  if (job->as_json) print_json(job);
  else if (job->count) {
    if (job->by_file) print_files(job);
    if (job->by_file && job->by_size) putchar('\n');
    if (job->by_size) print_summary(job);
  }
  if (progress_interrupted()) return TOOL_INTERRUPTED;
  return job->unreadable ? TOOL_USAGE : missed ? TOOL_NO : TOOL_OK;
}

static int replay_main(const tool_command *command, int argc, char **argv) {
  replay_job job = {.repeats = 1};
  if (!tool_arguments_begin(&job.arguments, command, argc, argv)) return TOOL_USAGE;
  int status = read_arguments(&job);
  if (status == TOOL_OK) {
    job.seat = seat_create();
    progress_watch_interrupts();
    files_each(&job.files, "replaying", replay_file, &job);
    status = report(&job);
    seat_free(&job.seat);
  }
  free(job.done);
  files_free(&job.files);
  return status;
}

static const tool_option options[] = {
    {REPLAY_FILES, "files", 0, NULL, "a line for each file, however many there are"},
    {REPLAY_SUMMARY, "summary", 0, NULL,
     "a line for each class of sizes, however few files there are"},
    {REPLAY_REPEAT, "repeat", 0, "N",
     "solve each problem N times and report the median time (built in: 1)"},
    {REPLAY_JSON, "json", 0, NULL, "JSON in the place of the tables"},
    {0}};
static const tool_note statuses[] = {{"0", "all problems are solved to the tolerance"},
                                     {"1", "at least one is not"},
                                     {"2", "wrong usage, or a file that cannot be read or solved"},
                                     {"130", "interrupted; what was done has been reported"},
                                     {0}};
static const tool_note examples[] = {
    {"lcplug replay --solver exact captures/",
     "All problems of a folder, summed up by their sizes:"},
    {"lcplug replay --friction coulomb --tol 1e-8 --files captures/",
     "With another friction, file by file:"},
    {0}};
const tool_command tool_replay_command = {
    .name = "replay",
    .arguments = "[OPTION...] FILE|FOLDER...",
    .meaning = "solve captured problems again",
    .text =
        "Solves the problems of the files again and prints a line for each of them, or for more "
        "than 40 a summary by their number of rows.  A FOLDER stands for all files below it that "
        "end in .lcp, .fcp or .mtx.\n\n"
        "Times are CPU times of the solving thread.  The recorded time and errors are those of the "
        "program that was captured, on its machine; compare speeds with `lcplug compare` or "
        "`lcplug audit`, which measure both sides in one run.  \"w differs by\" is the largest "
        "difference between the velocities of this answer and of the recorded one, as a fraction "
        "of the largest right side: the forces themselves are not unique when contacts are "
        "redundant.\n\n"
        "The first Ctrl-C ends after the problem at hand and reports what was done.",
    .options = options,
    .settings = SETTINGS_OF_SOLVES,
    .statuses = statuses,
    .examples = examples,
    .main = replay_main};
