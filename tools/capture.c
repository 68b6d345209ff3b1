/* capture.c - `lcplug capture`: keeps the problems that an unmodified program poses.
 *
 * The program computes what it always does: its own solver solves, and the witness writes down the
 * problem, the answer and the time, a file each. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "session.h"
#include "tools.h"

typedef struct capture_order {
  uint64_t min_n, every, most;
  const char *folder;
} capture_order;

enum { OPTION_MIN_N = 1, OPTION_EVERY, OPTION_MAX, OPTION_OUTPUT };

static bool take_option(void *data, const tool_arguments *a, int code) {
  capture_order *order = data;
  switch (code) {
    case OPTION_MIN_N: return tool_count(a, 0, UINT32_MAX, &order->min_n);
    case OPTION_EVERY: return tool_count(a, 1, UINT64_MAX, &order->every);
    case OPTION_MAX: return tool_count(a, 1, UINT64_MAX, &order->most);
    default: order->folder = a->value; return true;
  }
}

static void print_summary(const session *s, const char *program, const char *folder) {
  const witness_control *c = s->control;
  char calls[NUMBER_TEXT], written[NUMBER_TEXT];
  group_digits(c->started, calls);
  group_digits(c->written, written);
  if (!c->started) {
    fprintf(stderr, "lcplug: no call of a solver was seen; `lcplug doctor %s` may say why\n",
            program);
    return;
  }
  fprintf(stderr, "lcplug: %s problem%s of %s call%s kept in %s\n", written,
          c->written == 1 ? "" : "s", calls, c->started == 1 ? "" : "s", folder);
  if (c->beyond) fprintf(stderr, "lcplug: --max left out %" PRIu64 " more\n", c->beyond);
  if (c->refused)
    fprintf(stderr, "lcplug: %" PRIu64 " had numbers or bounds that a file cannot hold\n",
            c->refused);
  if (c->write_error)
    fprintf(stderr, "lcplug: then a file could not be written: %s\n",
            strerror((int)c->write_error));
}

static int work(session *s, void *data, char **program, const char *items) {
  const capture_order *order = data;
  if (!session_open(s, WITNESS_CAPTURE) || !session_keep_in(s, order->folder)) return TOOL_USAGE;
  s->control->min_n = (uint32_t)order->min_n;
  s->control->every = order->every;
  s->control->most = order->most;
  int status = session_run(s, program, items);
  if (status == TOOL_OK) print_summary(s, program[0], order->folder);
  return status;
}

static int capture_main(const tool_command *command, int argc, char **argv) {
  capture_order order = {.every = 1, .most = 1000, .folder = "lcplug-capture"};
  return session_main(command, argc, argv, take_option, &order, work);
}

static const tool_option options[] = {
    {OPTION_MIN_N, "min-n", 0, "N", "Only problems with N rows or more (built in: 0)."},
    {OPTION_EVERY, "every", 0, "K", "Of those, every K-th (built in: 1)."},
    {OPTION_MAX, "max", 0, "FILES", "At most so many files (built in: 1000)."},
    {OPTION_OUTPUT, "output", 'o', "DIR",
     "The folder for the files, made if it is missing (built in: lcplug-capture).  Files that are "
     "there stay."},
    {0}};
static const tool_note examples[] = {
    {"lcplug capture -o problems -- ./app", "Keep what a program solves, up to 1000 problems:"},
    {"lcplug capture --min-n 100 --every 10 --max 50 -- ./app",
     "Every tenth of those with 100 rows or more, 50 files at most:"},
    {0}};
const tool_command tool_capture_command = {
    .name = "capture",
    .arguments = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
    .meaning = "start PROGRAM and keep the problems that it poses",
    .text =
        "Starts PROGRAM as it is and keeps the problems that its contact solver is given, with "
        "the solver's answers and CPU times, one record each: DIR/PROGRAM-NUMBER.lcp.\n\nWhat the "
        "program computes stays the same to the bit: its own solver solves on its own memory.  "
        "Programs that it starts are captured too, and so are all threads.  A file appears when "
        "it is whole; when one cannot be written, on a full disk say, capturing ends and the "
        "program goes on.  The answer counts as an error of the solver if its residual is above "
        "1e-6 (1e-2 in single precision).\n\nHow many problems were kept is said on standard "
        "error when the program has ended.",
    .options = options,
    .starts_program = true,
    .statuses = launch_statuses,
    .examples = examples,
    .main = capture_main};
