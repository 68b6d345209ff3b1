/* launch.h - what the commands that start the user's program share:
 * their options, and the start. */
#ifndef LCPLUG_LAUNCH_H
#define LCPLUG_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>

#include "command.h"

/* Takes one of the command's own options, a->value its value; false if that does not fit,
 * and the user has been told. */
typedef bool launch_option(void *order, const tool_arguments *a, int code);

/* Reads the options before the program; own ones go to `take` with `order`.  *at becomes the index
 * of the program in argv, or 0 if help was asked for, and has been given.  *items becomes a new
 * string: what LCPLUG says, and the solver's options behind it, as a later item wins. */
int launch_read(const tool_command *command, int argc, char **argv, launch_option *take,
                void *order, int *at, char **items);

/* The exit statuses of the commands that start a program. */
extern const tool_note launch_statuses[];

/* The value for LD_PRELOAD, a new string: the object of that name, then what is there already.
 * NULL, and the reason has been said, if that cannot be. */
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
