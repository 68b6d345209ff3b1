/* audit.c - `lcplug audit`: is the swap worth it in this program?
 *
 * The program runs once.  Its own solver and lcplug solve every problem, the same bytes, and the
 * witness notes times, residuals and differences; here they become a screen of text and a page. */
#define _GNU_SOURCE
#include "audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"
#include "table.h"
#include "tools.h"

typedef struct audit_order {
  bool give_lcplug;
  const char *html;   /* NULL: no page */
  const char *folder; /* NULL: by the name of the page, if there is one */
} audit_order;

enum { OPTION_RETURN = 1, OPTION_HTML, OPTION_OUTPUT };

static bool take_option(void *data, const tool_arguments *a, int code) {
  audit_order *order = data;
  switch (code) {
    case OPTION_HTML: order->html = a->value; return true;
    case OPTION_OUTPUT: order->folder = a->value; return true;
    default: break;
  }
  order->give_lcplug = strcmp(a->value, side_names[LCPLUG]) == 0;
  if (order->give_lcplug || strcmp(a->value, side_names[UPSTREAM]) == 0) return true;
  tool_error("option '--return' cannot be '%s'; allowed: upstream|lcplug", a->value);
  return false;
}

/* ---- the screen ------------------------------------------------------------------------------ */

/* Each side's number in words; the last row is marked where it is bad. */
static void print_sides(const audit *a) {
  static const struct {
    const char *what;
    size_t place;
    const char *(*text)(double value, char text[NUMBER_TEXT]);
  } rows[] = {
      {"solving, all calls", offsetof(side_numbers, total), time_text},
      {"median call", offsetof(side_numbers, median), time_text},
      {"slowest call", offsetof(side_numbers, slowest), time_text},
      {"median residual", offsetof(side_numbers, residual_median), residual_text},
      {"worst residual", offsetof(side_numbers, residual_worst), residual_text},
  };
  table *t = table_create("|upstream|lcplug");
  char text[NUMBER_TEXT];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    table_cell(t, "%s", rows[i].what);
    for (int which = 0; which < SIDES; which++)
      table_cell(
          t, "%s",
          rows[i].text(*(const double *)((const char *)&a->side[which] + rows[i].place), text));
  }
  table_cell(t, "failed calls");
  for (int which = 0; which < SIDES; which++)
    table_marked_cell(t, a->side[which].failed ? MARK_BAD : MARK_GOOD, "%s",
                      group_digits(a->side[which].failed, text));
  table_print_to(t, stderr);
  table_free(t);
}

static void print_classes(const audit *a) {
  table *t = table_create(
      "rows|calls|upstream, median|lcplug, median|ratio|upstream failed|lcplug failed");
  for (int i = 0; i < SIZE_CLASSES; i++) {
    const size_class *c = &a->classes[i];
    char text[64];
    if (!c->calls) continue;
    table_cell(t, "%s", size_class_text(c, text, sizeof text));
    table_cell(t, "%s", group_digits(c->calls, text));
    for (int which = 0; which < SIDES; which++)
      table_cell(t, "%s", time_text(c->median[which], text));
    table_cell(t, "%s", ratio_text(c->ratio, text));
    for (int which = 0; which < SIDES; which++)
      table_marked_cell(t, c->failed[which] ? MARK_BAD : MARK_NONE, "%s",
                        group_digits(c->failed[which], text));
  }
  fputc('\n', stderr);
  table_print_to(t, stderr);
  table_free(t);
}

static void print_notes(const audit *a) {
  char text[NUMBER_TEXT], other[NUMBER_TEXT];
  fputc('\n', stderr);
  if (a->ratio >= 0.0)
    fprintf(stderr, "Where both solved it, their w differ by %s of the largest b at most.\n",
            residual_text(a->difference, text));
  if (a->program_seconds > 0.0)
    fprintf(stderr,
            "Solving is %.0f %% of the program's CPU time of %s; with lcplug it would need %s.\n",
            100.0 * a->side[UPSTREAM].total / a->program_seconds,
            time_text(a->program_seconds, text),
            time_text(a->program_seconds - a->side[UPSTREAM].total + a->side[LCPLUG].total, other));
  if (a->fell_back)
    fprintf(stderr, "lcplug needed upstream's help in %s calls.\n",
            group_digits(a->fell_back, text));
  if (a->unfinished)
    fprintf(stderr, "Calls under way when the program ended: %s.\n",
            group_digits(a->unfinished, text));
  if (a->lost)
    fprintf(stderr, "Calls that could not be noted (is the disk full?): %s.\n",
            group_digits(a->lost, text));
  if (*a->end) fprintf(stderr, "The program %s.\n", a->end);
}

static void print_summary(const audit *a) {
  char calls[NUMBER_TEXT], least[NUMBER_TEXT], most[NUMBER_TEXT];
  fprintf(stderr, "\nlcplug audit: %s\n%s calls with %s to %s rows", a->command,
          group_digits(a->count, calls), group_digits(a->fewest_rows, least),
          group_digits(a->most_rows, most));
  if (a->processes > 1) fprintf(stderr, " in %u processes", a->processes);
  fprintf(stderr, "; the program got %s's answers\n\n",
          side_names[a->gave_lcplug ? LCPLUG : UPSTREAM]);
  print_sides(a);
  print_classes(a);
  print_notes(a);
  char *verdict = audit_verdict(a);
  bool good = a->ratio >= 0.95 && a->side[LCPLUG].failed <= a->side[UPSTREAM].failed;
  bool colours = table_colours(stderr);
  fprintf(stderr, "\n%s%s%s\n",
          !colours ? ""
          : good   ? "\033[1;32m"
                   : "\033[1;31m",
          verdict, colours ? "\033[0m" : "");
  free(verdict);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* page.html keeps its problems in page-problems. */
static char *problem_folder(const audit_order *order) {
  if (order->folder) return tool_format("%s", order->folder);
  if (!order->html || strcmp(order->html, "-") == 0) return NULL;
  size_t length = strlen(order->html);
  if (length > 5 && strcmp(order->html + length - 5, ".html") == 0) length -= 5;
  return tool_format("%.*s-problems", (int)length, order->html);
}

/* A page that cannot be written must be known before hours of simulation, not after. */
static bool is_writable(const char *path) {
  if (!path || strcmp(path, "-") == 0) return true;
  bool existed = access(path, F_OK) == 0;
  FILE *file = fopen(path, "a");
  if (!file) {
    tool_error("cannot write '%s': %s", path, strerror(errno));
    return false;
  }
  fclose(file);
  if (!existed) unlink(path);
  return true;
}

static bool report(const session *s, const audit_order *order, const char *folder, char **program) {
  audit a;
  bool done = audit_read(&a, s, program);
  if (done && !a.count && a.unfinished)
    fprintf(stderr, "lcplug: the program %s inside of its first call of the solver\n", a.end);
  else if (done && !a.count)
    fprintf(stderr, "lcplug: no call of a solver was seen; `lcplug doctor %s` may say why\n",
            program[0]);
  if (done && a.count) print_summary(&a);
  if (done && order->html) done = report_write(&a, order->html);
  if (done && order->html) fprintf(stderr, "The report is %s.\n", order->html);
  if (done && a.kept[WORST_SLOWEST].path)
    fprintf(stderr, "The worst problems are in %s.\n", folder);
  if (s->control->write_error)
    tool_error("a problem could not be kept: %s", strerror((int)s->control->write_error));
  audit_free(&a);
  return done;
}

static int run_in(session *s, const audit_order *order, const char *folder, char **program,
                  const char *items) {
  if (!session_open(s, WITNESS_AUDIT) || !is_writable(order->html) ||
      (folder && !session_keep_in(s, folder)))
    return TOOL_USAGE;
  audit nothing = {0};
  audit_tidy(&nothing, s->control->folder); /* what an earlier audit has left there */
  s->control->gives_lcplug = order->give_lcplug;
  int status = session_run(s, program, items);
  if (status == TOOL_OK && !report(s, order, folder, program)) status = TOOL_USAGE;
  return status;
}

static int work(session *s, void *order, char **program, const char *items) {
  char *folder = problem_folder(order);
  int status = run_in(s, order, folder, program, items);
  free(folder);
  return status;
}

static int audit_main(const tool_command *command, int argc, char **argv) {
  audit_order order = {0};
  return session_main(command, argc, argv, take_option, &order, work);
}

static const tool_option options[] = {
    {OPTION_RETURN, "return", 0, "upstream|lcplug",
     "Whose answers the program gets (built in: upstream, so that the run is as always)."},
    {OPTION_HTML, "html", 0, "FILE",
     "Also write a report (\"-\": on standard output) that opens in any browser, without network: "
     "times, sizes, residuals, errors and differences over the run."},
    {OPTION_OUTPUT, "output", 'o', "DIR",
     "Keep the worst problems here, for `lcplug replay`: the largest residual of each solver, the "
     "largest difference, the slowest call, and where lcplug is furthest behind (built in: beside "
     "the report, FILE-problems; nowhere without a report).  Those of an earlier audit are "
     "removed."},
    {0}};
static const tool_note examples[] = {
    {"lcplug audit -- ./app", "Is it worth it?"},
    {"lcplug audit --html report.html -- ./app level3", "The same with charts:"},
    {"lcplug audit --return lcplug --friction coulomb -- ./app",
     "The program runs on lcplug with Coulomb friction; what would its own solver have done?"},
    {0}};
const tool_command tool_audit_command = {
    .name = "audit",
    .arguments = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
    .meaning = "start PROGRAM, let both solvers solve every problem, and report",
    .text =
        "Starts PROGRAM and lets both its own solver (upstream) and lcplug solve every problem "
        "that it poses, from the same bytes.  The program gets upstream's answers, to the bit, "
        "unless --return says otherwise.  When it has ended, by itself, by Ctrl-C or by a crash, "
        "a summary of the calls so far is printed on standard error; standard output is the "
        "program's own.\n\nTimes are CPU times of the calling thread.  If lcplug misses its "
        "tolerance and asks upstream, upstream's time is counted as lcplug's, too.  A call counts "
        "as failed if the residual of the answer is above 1e-6 (1e-2 in single precision); "
        "upstream is always judged by friction=ode, which is what it solves.  The estimate of the "
        "program's CPU time leaves out what the audit itself took.\n\nEach call takes 48 bytes in "
        "a temporary folder (TMPDIR).  Programs that the program starts are audited too, and so "
        "are all threads.",
    .options = options,
    .settings = SETTINGS_OF_PROGRAMS,
    .starts_program = true,
    .statuses = launch_statuses,
    .examples = examples,
    .main = audit_main};
