/* lcplug.c - the lcplug command: a table of subcommands, and the helpers that they share.
 *
 * `lcplug run` starts a program with the solver swapped, `lcplug doctor` says whether the swap can
 * take effect in it, `lcplug audit` and `lcplug capture` look on while its own solver works.  Help goes to stdout with status 0; a wrong command line gets one line on
 * stderr and status 2. */
#define _GNU_SOURCE
#include "tools.h"

#include <errno.h>
#include <lcplug/lcplug.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);
static void general_help(void);

static const struct command {
  const char *name;
  const char *arguments;
  const char *meaning;
  int (*main)(int argc, char **argv);
  void (*help)(void);
} commands[] = {
    {"run", " [OPTION...] [--] PROGRAM [ARGUMENT...]",
     "start PROGRAM with its contact solver swapped", tool_run, tool_run_help},
    {"audit", " [OPTION...] [--] PROGRAM [ARGUMENT...]",
     "start PROGRAM, let both solvers solve every problem, and report", tool_audit, tool_audit_help},
    {"capture", " [OPTION...] [--] PROGRAM [ARGUMENT...]",
     "start PROGRAM and keep the problems that it poses", tool_capture, tool_capture_help},
    {"doctor", " PROGRAM|PID", "say whether the swap takes effect, and what to do if not",
     tool_doctor, tool_doctor_help},
    {"help", " [COMMAND]", "explain a command", command_help, general_help},
    {"version", "", "print the version", command_version, general_help},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

void tool_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("lcplug: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

static void out_of_memory(void) {
  tool_error("out of memory");
  exit(TOOL_USAGE);
}

char *tool_format(const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0) out_of_memory();
  va_end(arguments);
  return text;
}

void *tool_resize(void *array, size_t count, size_t size) {
  void *resized = count <= SIZE_MAX / size ? realloc(array, count * size) : NULL;
  if (!resized) out_of_memory();
  return resized;
}

static int is_executable_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

char *tool_find_program(const char *name) {
  if (strchr(name, '/')) return tool_format("%s", name);
  const char *path = getenv("PATH");
  if (!path) path = "/bin:/usr/bin";
  for (;;) {
    size_t length = strcspn(path, ":");
    /* An empty element of PATH means the current folder. */
    char *file =
        length ? tool_format("%.*s/%s", (int)length, path, name) : tool_format("./%s", name);
    if (is_executable_file(file)) return file;
    free(file);
    if (!path[length]) return NULL;
    path += length + 1;
  }
}

static const struct command *find_command(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

static int unknown_command(const char *name) {
  tool_error("unknown command '%s'; `lcplug help` lists the commands", name);
  return TOOL_USAGE;
}

static void general_help(void) {
  puts("lcplug swaps the contact solver inside programs that use Open Dynamics Engine.\n\nusage:");
  for (int i = 0; i < COMMANDS; i++)
    printf("  lcplug %s%s\n      %s\n", commands[i].name, commands[i].arguments,
           commands[i].meaning);
  puts("\n`lcplug help run` lists the solver options.  The manual page is lcplug(1).");
}

static int command_help(int argc, char **argv) {
  if (argc < 2) {
    general_help();
    return TOOL_OK;
  }
  const struct command *command = find_command(argv[1]);
  if (!command) return unknown_command(argv[1]);
  command->help();
  return TOOL_OK;
}

static int command_version(int argc, char **argv) {
  (void)argc;
  (void)argv;
  printf("lcplug %s\n", lcplug_version());
  return TOOL_OK;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    tool_error("no command given; `lcplug help` lists the commands");
    return TOOL_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
  if (strcmp(name, "--version") == 0) name = "version";
  const struct command *command = find_command(name);
  if (!command) return unknown_command(name);

  int status = command->main(argc - 1, argv + 1);
  /* Output that could not be written (a full disk) must not look like success. */
  if (fflush(stdout) != 0 || ferror(stdout)) {
    tool_error("cannot write: %s", strerror(errno));
    return TOOL_USAGE;
  }
  return status;
}
