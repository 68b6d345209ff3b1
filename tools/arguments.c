/* arguments.c - reads a command line by the command's table; see command.h. */
#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools.h"

/* What means something only inside a program that the solver was preloaded into. */
static const char *const of_programs[] = {"fallback", "timing", "stats", "warn", "help"};
enum { OF_PROGRAMS = sizeof of_programs / sizeof *of_programs };

static bool is_of_programs(const char *key) {
  for (int i = 0; i < OF_PROGRAMS; i++)
    if (strcmp(of_programs[i], key) == 0) return true;
  return false;
}

bool tool_setting_get(const tool_command *command, int index, lcplug_option *option) {
  if (command->settings == SETTINGS_NONE) return false;
  for (int i = 0; lcplug_option_get(i, option); i++)
    if ((command->settings == SETTINGS_OF_PROGRAMS || !is_of_programs(option->key)) && index-- == 0)
      return true;
  return false;
}

bool tool_setting_is_flag(const lcplug_option *option) {
  return strncmp(option->values, "0|1", 3) == 0;
}

int tool_misused(const tool_command *command, const char *complaint) {
  tool_error("%s; usage: lcplug %s %s", complaint, command->name, command->arguments);
  return TOOL_USAGE;
}

bool tool_arguments_begin(tool_arguments *a, const tool_command *command, int argc, char **argv) {
  *a = (tool_arguments){.command = command, .argc = argc, .argv = argv, .at = 1};
  a->settings = lcplug_settings_default();
  const char *before = getenv("LCPLUG");
  char message[512] = "";
  if (command->settings == SETTINGS_NONE || !before ||
      lcplug_settings_parse(&a->settings, before, message, sizeof message) == LCPLUG_OK)
    return true;
  tool_error("the environment variable LCPLUG is wrong: %s", message);
  return false;
}

static int unknown(const tool_arguments *a, const char *argument) {
  tool_error("unknown option '%.*s'; `lcplug help %s` lists the options",
             (int)strcspn(argument, "="), argument, a->command->name);
  return ARGUMENT_WRONG;
}

/* The value behind "=" or in the next argument; NULL if there is none,
 * and the user has been told. */
static const char *take_value(tool_arguments *a, const char *behind, const char *name,
                              const char *kind) {
  if (behind && *behind == '=') return behind + 1;
  if (a->at < a->argc) return a->argv[a->at++];
  tool_error("option '%s' needs a value: %s", name, kind);
  return NULL;
}

/* Finds the setting; --max-iter is accepted for max_iter. */
static bool find_setting(const tool_command *command, const char *key, size_t length,
                         lcplug_option *option) {
  for (int i = 0; tool_setting_get(command, i, option); i++) {
    size_t j = 0;
    while (j < length && (option->key[j] == key[j] || (option->key[j] == '_' && key[j] == '-')))
      j++;
    if (j == length && !option->key[j]) return true;
  }
  return false;
}

static int read_setting(tool_arguments *a, const lcplug_option *option, const char *behind) {
  const char *next = a->at < a->argc ? a->argv[a->at] : NULL;
  char name[64];
  snprintf(name, sizeof name, "--%s", option->key);
  a->key = option->key;
  if (*behind != '=' && tool_setting_is_flag(option)) {
    /* What follows a bare flag is something else, unless it can only be the flag's value. */
    bool given = next && (strcmp(next, "0") == 0 || strcmp(next, "1") == 0);
    a->value = given ? next : "1";
    a->at += given;
  } else {
    a->value = take_value(a, behind, name, option->values);
  }
  if (!a->value) return ARGUMENT_WRONG;
  a->friction_given |= strcmp(a->key, "friction") == 0;
  if (lcplug_settings_set(&a->settings, option->key, a->value) == LCPLUG_OK)
    return ARGUMENT_SETTING;
  tool_error("option '%s' cannot be '%s'; allowed: %s", name, a->value, option->values);
  return ARGUMENT_WRONG;
}

static int read_own(tool_arguments *a, const tool_option *option, const char *argument,
                    const char *behind) {
  a->key = option->name;
  a->value = NULL;
  if (option->value) {
    a->value = take_value(a, behind, argument, option->value);
    return a->value ? option->code : ARGUMENT_WRONG;
  }
  if (*behind != '=') return option->code;
  tool_error("option '--%s' takes no value", option->name);
  return ARGUMENT_WRONG;
}

static int read_long(tool_arguments *a, const char *argument) {
  const char *key = argument + 2, *behind = key + strcspn(key, "=");
  size_t length = (size_t)(behind - key);
  for (const tool_option *o = a->command->options; o && o->code; o++)
    if (strlen(o->name) == length && !strncmp(o->name, key, length))
      return read_own(a, o, argument, behind);
  if (strcmp(key, "help") == 0) return ARGUMENT_HELP;
  lcplug_option setting;
  return find_setting(a->command, key, length, &setting) ? read_setting(a, &setting, behind)
                                                         : unknown(a, argument);
}

static int read_short(tool_arguments *a, const char *argument) {
  if (strcmp(argument, "-h") == 0) return ARGUMENT_HELP;
  for (const tool_option *o = a->command->options; o && o->code; o++)
    if (o->letter && argument[1] == o->letter && !argument[2]) return read_own(a, o, argument, "");
  return unknown(a, argument);
}

int tool_next(tool_arguments *a) {
  if (a->at >= a->argc) return ARGUMENT_END;
  const char *argument = a->argv[a->at++];
  if (!a->operands_only && strcmp(argument, "--") == 0) {
    a->operands_only = true;
    return tool_next(a);
  }
  if (a->operands_only || argument[0] != '-' || !argument[1]) {
    a->value = argument;
    return ARGUMENT_OPERAND;
  }
  return argument[1] == '-' ? read_long(a, argument) : read_short(a, argument);
}

bool tool_number(const tool_arguments *a, double least, double most, double *number) {
  char *end;
  double value = strtod(a->value, &end);
  if (end != a->value && !*end && value >= least && value <= most) {
    *number = value;
    return true;
  }
  if (isfinite(most))
    tool_error("option '--%s' cannot be '%s': a number from %g to %g", a->key, a->value, least,
               most);
  else tool_error("option '--%s' cannot be '%s': a number from %g", a->key, a->value, least);
  return false;
}

bool tool_count(const tool_arguments *a, uint64_t least, uint64_t most, uint64_t *count) {
  errno = 0;
  uint64_t value = strtoull(a->value, NULL, 10);
  if (*a->value && strspn(a->value, "0123456789") == strlen(a->value) && !errno && value >= least &&
      value <= most) {
    *count = value;
    return true;
  }
  tool_error("option '--%s' cannot be '%s': a whole number from %" PRIu64 " on", a->key, a->value,
             least);
  return false;
}
