/* tools.h - what the files of the lcplug command share.
 *
 * The command knows the library only through its public header.  Each subcommand is one function
 * that takes its own argument vector (argv[0] is the subcommand's name) and returns the exit
 * status.  Everything said to the user about a failure goes through tool_error. */
#ifndef LCPLUG_TOOLS_H
#define LCPLUG_TOOLS_H

#include <stddef.h>

/* Exit statuses.  The first four are also the doctor's verdicts; 126 and 127 are the shells'. */
enum {
  TOOL_OK = 0,
  TOOL_NO = 1,           /* doctor: the swap takes no effect */
  TOOL_USAGE = 2,        /* a wrong option, an unreadable file, no preload object */
  TOOL_UNKNOWN = 3,      /* doctor: cannot tell */
  TOOL_CANNOT_RUN = 126, /* run: found, but cannot be executed */
  TOOL_NOT_FOUND = 127   /* run: no such program */
};

int tool_run(int argc, char **argv);
int tool_capture(int argc, char **argv);
int tool_audit(int argc, char **argv);
int tool_doctor(int argc, char **argv);

/* The help texts, on stdout; the options come from the library's table. */
void tool_run_help(void);
void tool_capture_help(void);
void tool_audit_help(void);
void tool_doctor_help(void);

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

/* The file names by which the preload objects are known, wherever they were installed: the plug, and
 * the witness that only looks on. */
#define PRELOAD_NAME "liblcplug-preload.so"
#define WITNESS_NAME "liblcplug-witness.so"

#endif
