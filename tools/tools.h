/* tools.h - what the files of the lcplug command share.
 *
 * The command knows the library only through its public headers.  Each subcommand is a row of
 * command.h's kind; its function takes its own argument vector (argv[0] is the
 * subcommand's name) and returns the exit status.  Everything said to the user about a
 * failure goes through tool_error. */
#ifndef LCPLUG_TOOLS_H
#define LCPLUG_TOOLS_H

#include <stddef.h>

#include "command.h"

/* Exit statuses.  The first four are also the doctor's verdicts; 126 and 127 are the shells'. */
enum {
  TOOL_OK = 0,
  /* doctor: the swap takes no effect; solve, replay: a problem was not solved */
  TOOL_NO = 1,
  TOOL_USAGE = 2,        /* a wrong option, an unreadable file, no preload object */
  TOOL_UNKNOWN = 3,      /* doctor: cannot tell */
  TOOL_CANNOT_RUN = 126, /* run: found, but cannot be executed */
  TOOL_NOT_FOUND = 127,  /* run: no such program */
  TOOL_INTERRUPTED = 130 /* Ctrl-C: what was done so far has been reported */
};

/* The subcommands, each in the file of its name. */
extern const tool_command tool_run_command;
extern const tool_command tool_audit_command;
extern const tool_command tool_capture_command;
extern const tool_command tool_doctor_command;
extern const tool_command tool_solve_command;
extern const tool_command tool_replay_command;
extern const tool_command tool_compare_command;
extern const tool_command tool_convert_command;

/* One line "lcplug: ..." on stderr. */
void tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* printf into a new string, which the caller frees.  Out of memory ends the command. */
char *tool_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* realloc for an array of `count` elements of `size` bytes.  Out of memory ends the command. */
void *tool_resize(void *array, size_t count, size_t size);

/* The file that execvp would start for `name`, as a new string; NULL if there is none. */
char *tool_find_program(const char *name);

/* The absolute path of a preload object, as a new string; NULL if it is nowhere.  In that case
 * *tried is a new string that says where it was looked for. */
char *preload_find(const char *name, char **tried);

/* NULL if the loader can take this path in LD_PRELOAD, else the reason why not. */
const char *preload_path_problem(const char *path);

/* The file names by which the preload objects are known, wherever they were installed: the plug,
 * and the witness that only looks on. */
#define PRELOAD_NAME "liblcplug-preload.so"
#define WITNESS_NAME "liblcplug-witness.so"

#endif
