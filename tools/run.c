/* run.c - `lcplug run`: starts a program with the preload object ahead of its libraries.
 *
 * Options are those of the library's table, as --key value or --key=value; they are checked here,
 * where a mistake can still be reported, and appended to what LCPLUG already says (the later item
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

/* An option that is on or off, and may be given without a value. */
static bool is_flag(const lcplug_option *option) { return strncmp(option->values, "0|1", 3) == 0; }

/* Finds the option by its key; --max-iter is accepted for max_iter. */
static bool find_option(const char *key, size_t length, lcplug_option *option) {
  for (int i = 0; lcplug_option_get(i, option); i++) {
    size_t j = 0;
    while (j < length && (option->key[j] == key[j] || (option->key[j] == '_' && key[j] == '-')))
      j++;
    if (j == length && !option->key[j]) return true;
  }
  return false;
}

void tool_run_help(void) {
  puts("usage: lcplug run [OPTION...] [--] PROGRAM [ARGUMENT...]\n\n"
       "Starts PROGRAM with lcplug in the place of its contact solver.\n"
       "Options, as --KEY VALUE or --KEY=VALUE, are added to the environment variable LCPLUG:\n");
  lcplug_option option;
  for (int i = 0; lcplug_option_get(i, &option); i++) {
    printf("  --%s %s%s\n      %s (built in: %s)\n", option.key, option.values,
           is_flag(&option) ? "  (no value: 1)" : "", option.meaning, option.initial);
    const char *value, *meaning;
    for (int j = 0; lcplug_option_choice(option.key, j, &value, &meaning); j++)
      printf("        %-14s %s\n", value, meaning);
  }
  puts("\n--help without a value shows this text.  The exit status is PROGRAM's.");
}

/* Appends key=value to the items in *text, a string of our own. */
static void append_item(char **text, const char *key, const char *value) {
  size_t length = strlen(*text);
  const char *comma = length && (*text)[length - 1] != ',' ? "," : "";
  char *longer = tool_format("%s%s%s=%s", *text, comma, key, value);
  free(*text);
  *text = longer;
}

/* Reads the option at argv[*at], moves *at behind it and appends it to *text. */
static int read_option(int argc, char **argv, int *at, lcplug_settings *settings, char **text) {
  const char *name = argv[*at] + 2;
  size_t length = strcspn(name, "=");
  lcplug_option option;
  if (!find_option(name, length, &option)) {
    tool_error("unknown option '--%.*s'; `lcplug run --help` lists the options", (int)length, name);
    return TOOL_USAGE;
  }
  const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
  const char *value = NULL;
  *at += 1;
  if (name[length] == '=') {
    value = name + length + 1;
  } else if (is_flag(&option)) {
    /* What follows a bare flag is the program, unless it can only be the flag's value. */
    bool given = next && (strcmp(next, "0") == 0 || strcmp(next, "1") == 0);
    value = given ? next : "1";
    *at += given;
  } else if (next) {
    value = next;
    *at += 1;
  } else {
    tool_error("option '--%s' needs a value: %s", option.key, option.values);
    return TOOL_USAGE;
  }
  if (lcplug_settings_set(settings, option.key, value) != LCPLUG_OK) {
    tool_error("option '--%s' cannot be '%s'; allowed: %s", option.key, value, option.values);
    return TOOL_USAGE;
  }
  append_item(text, option.key, value);
  return TOOL_OK;
}

/* Starts with what LCPLUG says.  A mistake in it would make the preload ignore our items too. */
static int read_environment(lcplug_settings *settings, char **text) {
  const char *before = getenv("LCPLUG");
  char message[512] = "";
  if (before && lcplug_settings_parse(settings, before, message, sizeof message) != LCPLUG_OK) {
    tool_error("the environment variable LCPLUG is wrong: %s", message);
    return TOOL_USAGE;
  }
  *text = tool_format("%s", before ? before : "");
  return TOOL_OK;
}

static bool asks_for_help(const char *argument) {
  return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* Reads all options; *at becomes the index of the program, or 0 if only help was asked for. */
static int read_options(int argc, char **argv, int *at, char **text) {
  lcplug_settings settings = lcplug_settings_default();
  int status = read_environment(&settings, text);
  while (status == TOOL_OK && *at < argc && argv[*at][0] == '-') {
    if (strcmp(argv[*at], "--") == 0) {
      *at += 1;
      break;
    }
    if (asks_for_help(argv[*at])) {
      *at = 0;
      return TOOL_OK;
    }
    if (argv[*at][1] != '-') {
      tool_error("unknown option '%s'; `lcplug run --help` lists the options", argv[*at]);
      return TOOL_USAGE;
    }
    status = read_option(argc, argv, at, &settings, text);
  }
  if (status == TOOL_OK && *at >= argc) {
    tool_error("no program given; usage: lcplug run [OPTION...] [--] PROGRAM [ARGUMENT...]");
    status = TOOL_USAGE;
  }
  return status;
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

int tool_run(int argc, char **argv) {
  int at = 1;
  char *items = NULL;
  int status = read_options(argc, argv, &at, &items);
  if (status == TOOL_OK && at == 0) {
    tool_run_help();
  } else if (status == TOOL_OK) {
    char *preload = preload_list();
    status = preload ? become(argv + at, items, preload) : TOOL_USAGE;
    free(preload);
  }
  free(items);
  return status;
}
