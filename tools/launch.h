/* launch.h - what the commands that start the user's program share: their options, and the start. */
#ifndef LCPLUG_LAUNCH_H
#define LCPLUG_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>

/* An option of a command's own, beside the solver's settings. */
typedef struct launch_option {
  const char *name;    /* without its dashes */
  char letter;         /* of the short form, or 0 */
  const char *value;   /* what it takes, for the help */
  const char *meaning;
  bool (*read)(void *order, const char *value); /* false: the value does not fit */
} launch_option;

typedef struct launch_command {
  const char *name;
  const char *about;
  const launch_option *options; /* ends with a row of zeros; NULL: none */
  bool settings;                /* takes the solver's settings, too */
  const char *end;              /* last words of the help */
} launch_command;

void launch_help(const launch_command *command);

/* Reads the options of a command line; the command's own ones change `order`.  *at becomes the index of
 * the program in argv, or 0 if help was asked for, and has been given.  *items is a new string: what
 * LCPLUG says, and the settings behind it. */
int launch_read(const launch_command *command, void *order, int argc, char **argv, int *at,
                char **items);

/* The value for LD_PRELOAD, a new string: the object of that name, then what is there already.  NULL,
 * and the reason has been said, if that cannot be. */
char *launch_preload(const char *object);

/* Becomes the program; returns only on failure, with the status that shells use for it. */
int launch_become(char **argv, const char *items, const char *preload);

/* How a program that was waited for has ended. */
typedef struct launch_end {
  int status; /* as wait() has it */
  struct rusage usage;
} launch_end;

/* Starts the program and waits for it.  A keyboard's signals reach both and end only the program;
 * others that ask us to end are passed on to it.  Returns TOOL_OK, or the status to exit with if it
 * was never started. */
int launch_wait(char **argv, const char *items, const char *preload, launch_end *end);

/* Ends as the program has ended: the exit status, or death by the same signal. */
int launch_end_like(const launch_end *end);

#endif
