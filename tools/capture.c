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

static bool read_min_n(void *order, const char *value) {
  return read_count(value, 0, UINT32_MAX, &((capture_order *)order)->min_n);
}

static bool read_every(void *order, const char *value) {
  return read_count(value, 1, UINT64_MAX, &((capture_order *)order)->every);
}

static bool read_most(void *order, const char *value) {
  return read_count(value, 1, UINT64_MAX, &((capture_order *)order)->most);
}

static bool read_folder(void *order, const char *value) {
  ((capture_order *)order)->folder = value;
  return *value != '\0';
}

static const launch_option options[] = {
    {"min-n", 0, "N", "only problems with N rows or more (built in: 0)", read_min_n},
    {"every", 0, "K", "of those, every K-th (built in: 1)", read_every},
    {"max", 0, "FILES", "at most so many files (built in: 1000)", read_most},
    {"output", 'o', "DIR", "the folder for the files (built in: lcplug-capture)", read_folder},
    {0},
};

static const launch_command capture = {
    .name = "capture",
    .about = "Starts PROGRAM as it is and keeps the problems that its solver is given, with the\n"
             "answers and times, one file each.\n",
    .options = options,
    .end = "The exit status is PROGRAM's.",
};

void tool_capture_help(void) { launch_help(&capture); }

static void print_summary(const session *s, const char *program, const char *folder) {
  const witness_control *c = s->control;
  char calls[NUMBER_TEXT], written[NUMBER_TEXT];
  group_digits(c->started, calls);
  group_digits(c->written, written);
  if (!c->started) {
    fprintf(stderr, "lcplug: no call of a solver was seen; `lcplug doctor %s` may say why\n", program);
    return;
  }
  fprintf(stderr, "lcplug: %s problem%s of %s call%s kept in %s\n", written,
          c->written == 1 ? "" : "s", calls, c->started == 1 ? "" : "s", folder);
  if (c->claimed > c->most)
    fprintf(stderr, "lcplug: there were more; --max allows %" PRIu64 "\n", c->most);
  if (c->refused)
    fprintf(stderr, "lcplug: %" PRIu64 " had numbers or bounds that a file cannot hold\n", c->refused);
  if (c->write_error)
    fprintf(stderr, "lcplug: then a file could not be written: %s\n", strerror((int)c->write_error));
}

/* Runs the program under the order; TOOL_OK if it was started. */
static int run_under(session *s, const capture_order *order, char **program, const char *items) {
  if (!session_open(s, WITNESS_CAPTURE) || !session_keep_in(s, order->folder)) return TOOL_USAGE;
  s->control->min_n = (uint32_t)order->min_n;
  s->control->every = order->every;
  s->control->most = order->most;
  int status = session_run(s, program, items);
  if (status == TOOL_OK) print_summary(s, program[0], order->folder);
  return status;
}

int tool_capture(int argc, char **argv) {
  int at;
  char *items = NULL;
  capture_order order = {.every = 1, .most = 1000, .folder = "lcplug-capture"};
  int status = launch_read(&capture, &order, argc, argv, &at, &items);
  if (status == TOOL_OK && at) {
    session s;
    status = run_under(&s, &order, argv + at, items);
    session_close(&s);
    if (status == TOOL_OK) status = launch_end_like(&s.end);
  }
  free(items);
  return status;
}
