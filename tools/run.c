/* run.c - `lcplug run`: starts a program with the preload object ahead of its libraries.
 *
 * Options are those of the library's table; they are checked here, where a mistake can still be
 * reported, and appended to what LCPLUG already says (the later item
 * wins).  The environment is changed last and the program takes this process's place, so that no
 * other process sees the preload and the exit status is the program's own. */
#define _GNU_SOURCE
#include "tools.h"

#include <errno.h>
#include <lcplug/lcplug.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends key=value to the items in *text, a string of our own. */
static void append_item(char **text, const char *key, const char *value) {
  size_t length = strlen(*text);
  const char *comma = length && (*text)[length - 1] != ',' ? "," : "";
  char *longer = tool_format("%s%s%s=%s", *text, comma, key, value);
  free(*text);
  *text = longer;
}

/* Reads all options and appends them to *text; a->at becomes the index of the program, or 0 if only help
 * was asked for. */
static int read_options(tool_arguments *a, char **text) {
  for (;;) {
    switch (tool_next(a)) {
      case ARGUMENT_SETTING: append_item(text, a->key, a->value); break;
      case ARGUMENT_OPERAND: a->at--; return TOOL_OK;
      case ARGUMENT_HELP: a->at = 0; return TOOL_OK;
      case ARGUMENT_END: return tool_misused(a->command, "no program given");
      default: return TOOL_USAGE;
    }
  }
}

/* The value for LD_PRELOAD: our object first, then what is there already. */
static char *preload_list(void) {
  char *tried;
  char *path = preload_find(&tried);
  if (!path) {
    tool_error("cannot find " PRELOAD_NAME ": %s", tried);
    free(tried);
    return NULL;
  }
  const char *problem = preload_path_problem(path);
  char *list = NULL;
  if (problem) {
    tool_error("cannot preload '%s': %s; copy it elsewhere and name the copy in LCPLUG_PRELOAD",
               path, problem);
  } else {
    const char *before = getenv("LD_PRELOAD");
    bool any = before && *before;
    list = tool_format("%s%s%s", path, any ? ":" : "", any ? before : "");
  }
  free(path);
  return list;
}

/* Takes this process's place; returns only on failure, with the status that shells use for it. */
static int become(char **argv, const char *items, const char *preload) {
  if ((*items && setenv("LCPLUG", items, 1) != 0) || setenv("LD_PRELOAD", preload, 1) != 0) {
    tool_error("cannot set the environment: %s", strerror(errno));
    return TOOL_USAGE;
  }
  execvp(argv[0], argv);
  int reason = errno;
  bool exists = strchr(argv[0], '/') && access(argv[0], F_OK) == 0;
  if (reason == ENOENT && exists) {
    tool_error("cannot run '%s': its interpreter or loader is missing", argv[0]);
    return TOOL_CANNOT_RUN;
  }
  tool_error("cannot run '%s': %s", argv[0], strerror(reason));
  return reason == ENOENT ? TOOL_NOT_FOUND : TOOL_CANNOT_RUN;
}

static int run_main(const tool_command *command, int argc, char **argv) {
  tool_arguments a;
  /* A mistake in LCPLUG would make the preload ignore our items too. */
  if (!tool_arguments_begin(&a, command, argc, argv)) return TOOL_USAGE;
  const char *before = getenv("LCPLUG");
  char *items = tool_format("%s", before ? before : "");
  int status = read_options(&a, &items);
  if (status == TOOL_OK && a.at == 0) {
    tool_help(command);
  } else if (status == TOOL_OK) {
    char *preload = preload_list();
    status = preload ? become(argv + a.at, items, preload) : TOOL_USAGE;
    free(preload);
  }
  free(items);
  return status;
}

static const tool_note statuses[] = {
    {"PROGRAM's", "the program was started: the status is its own"},
    {"2", "a wrong option or value, a mistake in LCPLUG, or no usable preload object"},
    {"126", "the program was found but cannot be executed"},
    {"127", "the program was not found"},
    {0}};
static const tool_note examples[] = {
    {"lcplug run --stats ./app --its-own options",
     "Run a program with the default settings, and see what was solved:"},
    {"lcplug run --friction coulomb --tol 1e-8 -- ./app", "With exact Coulomb friction to a residual of 1e-8:"},
    {"lcplug run --stats python3 scene.py", "A Python program that loads ODE:"},
    {0}};
const tool_command tool_run_command = {
    .name = "run",
    .arguments = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
    .meaning = "start PROGRAM with its contact solver swapped",
    .text = "Starts PROGRAM with lcplug in the place of its contact solver.  The options are checked, then "
            "added to the environment variable LCPLUG, where a later item wins over an earlier one, and "
            "PROGRAM takes the place of this process.  Programs that it starts get the swap too.\n\n"
            "--help without a value shows this text.",
    .settings = SETTINGS_OF_PROGRAMS,
    .starts_program = true,
    .statuses = statuses,
    .examples = examples,
    .main = run_main};
