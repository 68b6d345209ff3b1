/* command.h - what a subcommand is, in one table: its name, its options
 * and the words that explain it.
 *
 * The parser, --help, the manual pages and the shell completion all read the same rows, so none of
 * them can say something else than the others.  The solver's own options are not repeated in the
 * tables: they are the library's, and a command takes them or not. */
#ifndef LCPLUG_COMMAND_H
#define LCPLUG_COMMAND_H

#include <lcplug/lcplug.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tool_option {
  int code;             /* what tool_next returns for it, 1 or more; 0 ends a table */
  const char *name;     /* "output": --output */
  char letter;          /* 'o': also -o; 0: none */
  const char *value;    /* what its value is called, such as FILE; NULL: it takes none */
  const char *meaning;
} tool_option;

/* A line of a list: an exit status or an example, and what it means.  NULL ends the list. */
typedef struct tool_note {
  const char *what, *meaning;
} tool_note;

/* Which of the solver's options a command takes. */
typedef enum tool_settings {
  SETTINGS_NONE,
  SETTINGS_OF_SOLVES,  /* those that matter where a problem is solved here */
  SETTINGS_OF_PROGRAMS /* all: those of a program with a preloaded solver, too */
} tool_settings;

typedef struct tool_command {
  const char *name;
  const char *arguments; /* of its usage line, such as "[OPTION...] FILE..." */
  const char *meaning;   /* half a line */
  const char *text;      /* paragraphs, with empty lines between */
  const tool_option *options;
  tool_settings settings;
  bool starts_program; /* what follows the options is a program and its arguments */
  const tool_note *statuses, *examples;
  int (*main)(const struct tool_command *command, int argc, char **argv);
} tool_command;

/* ---- the command line ------------------------------------------------------------------------ */

/* What tool_next returns beside the codes of the command's options. */
enum {
  ARGUMENT_END = 0,
  ARGUMENT_OPERAND = -1, /* value: no option, a file or the program */
  ARGUMENT_SETTING = -2, /* key and value: one of the solver's, already in `settings` */
  ARGUMENT_HELP = -3,    /* --help, before a program; other commands never see it */
  ARGUMENT_WRONG = -4    /* the user has been told */
};

typedef struct tool_arguments {
  const tool_command *command;
  int argc;
  char **argv;
  int at; /* the next argument; starts with 1 */
  lcplug_settings settings;
  bool friction_given; /* the setting `friction` was among the options */
  bool operands_only;  /* behind -- */
  const char *key, *value;
} tool_arguments;

/* Starts with what the environment variable LCPLUG says, if the command takes solver options; false
 * if that is wrong, and the user has been told. */
bool tool_arguments_begin(tool_arguments *a, const tool_command *command, int argc, char **argv);

/* The next option or operand.  An option's value may follow it or stand behind a "=". */
int tool_next(tool_arguments *a);

/* The value as a number in [least, most]; false if it is none, and the user has been told. */
bool tool_number(const tool_arguments *a, double least, double most, double *number);

/* The same for a whole number. */
bool tool_count(const tool_arguments *a, uint64_t least, uint64_t most, uint64_t *count);

/* "one FILE, please; `lcplug help NAME` ...": says what is missing or too much; TOOL_USAGE. */
int tool_misused(const tool_command *command, const char *complaint);

/* Row `index` of the solver's options that this command takes; false past the last. */
bool tool_setting_get(const tool_command *command, int index, lcplug_option *option);

/* An option that is on or off, and may be given without a value. */
bool tool_setting_is_flag(const lcplug_option *option);

/* ---- the words, each from the table ---------------------------------------------------------- */

void tool_help(const tool_command *command);
void tool_manual(const tool_command *command);
void tool_completion(const tool_command *const *commands, int count);

#endif
