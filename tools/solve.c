/* solve.c - `lcplug solve`: problems from files, their answers to a file. */
#include <lcplug/record.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json.h"
#include "outcome.h"
#include "progress.h"
#include "table.h"
#include "tools.h"

enum { SOLVE_OUTPUT = 1, SOLVE_JSON };

typedef struct solve_job {
  tool_arguments arguments;
  file_list files;
  const char *output; /* where the solution goes, or NULL */
  bool as_json;
  bool silent; /* the solution goes to stdout, and nothing else */
  solve_seat seat;
  table *rows;
  json report;       /* on stdout */
  out_file solution; /* open if output is not NULL */
  json answers;      /* in it, if as_json */
  int solved, missed, unreadable;
} solve_job;

static int read_arguments(solve_job *job) {
  tool_arguments *a = &job->arguments;
  for (int found; (found = tool_next(a)) != ARGUMENT_END;) {
    switch (found) {
      case SOLVE_OUTPUT:
        job->output = a->value;
        job->silent = strcmp(a->value, "-") == 0;
        break;
      case SOLVE_JSON: job->as_json = true; break;
      case ARGUMENT_OPERAND:
        if (!files_add(&job->files, a->value)) return TOOL_USAGE;
        break;
      case ARGUMENT_SETTING: break;
      default: return TOOL_USAGE;
    }
  }
  if (job->files.count == 0) return tool_misused(a->command, "no file given");
  if (job->output && !job->as_json && job->files.count > 1)
    return tool_misused(a->command, "-o takes the answer of one file, or with --json of several");
  return TOOL_OK;
}

static void add_row(solve_job *job, const char *path, const lcplug_record *record,
                    const outcome *o) {
  table *t = job->rows;
  table_mark mark = o->status == LCPLUG_SOLVED ? MARK_GOOD : MARK_BAD;
  table_cell(t, "%s", path);
  table_cell(t, "%d", record->problem.n);
  table_cell(t, "%d", o->contacts);
  table_cell(t, "%s", lcplug_solver_name(o->solver));
  table_cell(t, "%ld", o->iterations);
  table_residual(t, o->residual, mark);
  if (o->friction == LCPLUG_FRICTION_CONE || o->gap > 0.0) table_cell(t, "%.1e", o->gap);
  else table_cell(t, "-");
  table_cell(t, "%d", o->sliding);
  table_cell(t, "%d", o->sticking);
  table_cell(t, "%d", o->open);
  table_time(t, o->seconds);
  table_marked_cell(t, mark, "%s", outcome_text(o));
}

/* The fields of one answer; with the numbers themselves in the file of the solution. */
static void add_object(json *j, const solve_job *job, const char *path, const lcplug_record *record,
                       const outcome *o, bool numbers) {
  json_open(j, NULL, '{');
  json_string(j, "file", path);
  json_whole(j, "n", record->problem.n);
  outcome_json(j, o);
  if (numbers && !o->error) {
    json_numbers(j, "x", job->seat.x, record->problem.n);
    json_numbers(j, "w", job->seat.w, record->problem.n);
  }
  json_close(j, '{');
}

static void write_answer(solve_job *job, const char *path, const lcplug_record *record,
                         const outcome *o) {
  if (job->as_json) {
    add_object(&job->answers, job, path, record, o, true);
    return;
  }
  for (int i = 0; i < record->problem.n; i++)
    fprintf(job->solution.file, "%.17g\n", job->seat.x[i]);
}

static void solve_file(void *the_job, const char *path) {
  solve_job *job = the_job;
  lcplug_record *record = files_read(path);
  if (!record) {
    job->unreadable++;
    return;
  }
  lcplug_settings settings = outcome_settings(&job->arguments, record);
  outcome o = outcome_of(&job->seat, record, &settings, 0);
  if (o.error) progress_say("lcplug: %s: %s\n", path, outcome_text(&o));
  if (o.error) job->unreadable++;
  else if (o.status == LCPLUG_SOLVED) job->solved++;
  else job->missed++;
  if (job->as_json && !job->silent) add_object(&job->report, job, path, record, &o, false);
  else if (!o.error) add_row(job, path, record, &o);
  if (job->output && !o.error) write_answer(job, path, record, &o);
  lcplug_record_free(record);
}

static bool begin_reports(solve_job *job) {
  if (job->output && !out_open(&job->solution, job->output)) return false;
  job->rows = table_create(
      "file|n|contacts|solver|iterations|residual|gap|sliding|sticking|open|time|status");
  job->report = (json){.file = stdout};
  job->answers = (json){.file = job->solution.file};
  if (job->as_json && !job->silent) json_open(&job->report, NULL, '[');
  if (job->as_json && job->output) json_open(&job->answers, NULL, '[');
  return true;
}

/* A single file without an answer leaves no file of answers. */
static bool end_reports(solve_job *job) {
  if (job->as_json && !job->silent) json_close(&job->report, '[');
  else if (!job->silent && job->solved + job->missed) table_print(job->rows);
  table_free(job->rows);
  if (!job->output) return true;
  if (job->as_json) json_close(&job->answers, '[');
  if (job->solved + job->missed) return out_close(&job->solution);
  out_discard(&job->solution);
  return true;
}

static int solve_main(const tool_command *command, int argc, char **argv) {
  solve_job job = {0};
  if (!tool_arguments_begin(&job.arguments, command, argc, argv)) return TOOL_USAGE;
  int status = read_arguments(&job);
  if (status == TOOL_OK) {
    job.seat = seat_create();
    progress_watch_interrupts();
    if (begin_reports(&job)) {
      files_each(&job.files, "solving", solve_file, &job);
      bool written = end_reports(&job);
      status = job.unreadable || !written ? TOOL_USAGE : job.missed ? TOOL_NO : TOOL_OK;
      if (progress_interrupted()) status = TOOL_INTERRUPTED;
    } else {
      status = TOOL_USAGE;
    }
    seat_free(&job.seat);
  }
  files_free(&job.files);
  return status;
}

static const tool_option options[] = {
    {SOLVE_OUTPUT, "output", 'o', "FILE",
     "write the forces x of the answer to FILE, one number per line; with --json also the "
     "velocities w and how the solve went.  FILE appears when it is whole; - is standard output"},
    {SOLVE_JSON, "json", 0, NULL, "JSON in the place of the table, and in the file of --output"},
    {0}};
static const tool_note statuses[] = {
    {"0", "all problems are solved to the tolerance"},
    {"1", "at least one is not; its best answer was reported"},
    {"2", "wrong usage, or a file that cannot be read, solved or written"},
    {"130", "interrupted; what was done has been reported"},
    {0}};
static const tool_note examples[] = {
    {"lcplug solve RockPile.fcp", "A frictional contact problem, with Coulomb's friction:"},
    {"lcplug solve --friction cone --tol 1e-8 -o answer.txt pile.fcp",
     "The convex relaxation, its forces in a file:"},
    {0}};
const tool_command tool_solve_command = {
    .name = "solve",
    .arguments = "[OPTION...] FILE|FOLDER...",
    .meaning = "solve problems in files, and print how it went",
    .text =
        "Solves the problem in each FILE and prints a table: rows, contacts, the solver that found "
        "the answer, its iterations, the residual, the relaxation gap of friction=cone or endless "
        "friction, how many contacts slide, stick and are open, and the CPU time.  A FOLDER stands "
        "for all files below it that end in .lcp, .fcp or .mtx.\n\n"
        "Read are lcplug's own records, captures of the older layout LCPCAP01, FCP text and Matrix "
        "Market.  FCP problems are solved with friction=coulomb unless --friction or LCPLUG says "
        "otherwise.\n\n"
        "A matrix that is not quite symmetric is solved as it is where friction is a cone, and "
        "else "
        "by its symmetric part, the rest moved to the right side until it stays; the residual is "
        "that of the matrix as given.",
    .options = options,
    .settings = SETTINGS_OF_SOLVES,
    .statuses = statuses,
    .examples = examples,
    .main = solve_main};
