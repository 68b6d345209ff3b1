/* lcplug.c - the lcplug command: a table of subcommands, and the helpers that they share.
 *
 * Each command describes itself in a tool_command (command.h), in the file of its name.  Help goes
 * to stdout with status 0; a wrong command line gets one line on stderr and status 2. */
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

static int help_main(const tool_command *command, int argc, char **argv);
static int version_main(const tool_command *command, int argc, char **argv);

enum { HELP_MAN = 1, HELP_COMPLETION };
static const tool_option help_options[] = {
    {HELP_MAN, "man", 0, NULL, "print the manual page of COMMAND, for man(1)"},
    {HELP_COMPLETION, "completion", 0, NULL, "print the completion for bash"},
    {0}};
static const tool_command help_command = {
    .name = "help",
    .arguments = "[OPTION...] [COMMAND]",
    .meaning = "explain a command",
    .text = "Explains COMMAND, or lists all commands.  The same as --help.",
    .options = help_options,
    .main = help_main};
static const tool_command version_command = {.name = "version",
                                             .arguments = "",
                                             .meaning = "print the version",
                                             .text = "Prints the version.  The same as --version.",
                                             .main = version_main};

static const tool_command *const commands[] = {
    &tool_run_command,
    &tool_audit_command,
    &tool_capture_command,
    &tool_doctor_command,
    &tool_solve_command,
    &tool_replay_command,
    &tool_compare_command,
    &tool_convert_command,
    &help_command,
    &version_command,
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

static const tool_command *find_command(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  return NULL;
}

static int unknown_command(const char *name) {
  tool_error("unknown command '%s'; `lcplug help` lists the commands", name);
  return TOOL_USAGE;
}

static void list_commands(void) {
  puts("lcplug swaps the contact solver inside programs that use Open Dynamics Engine.\n\nusage:");
  for (int i = 0; i < COMMANDS; i++)
    printf("  lcplug %s%s%s\n      %s\n", commands[i]->name, *commands[i]->arguments ? " " : "",
           commands[i]->arguments, commands[i]->meaning);
  puts("\n`lcplug help COMMAND` has the options of a command.  The manual page is lcplug(1).");
}

static int help_main(const tool_command *command, int argc, char **argv) {
  tool_arguments a;
  if (!tool_arguments_begin(&a, command, argc, argv)) return TOOL_USAGE;
  void (*explain)(const tool_command *) = tool_help;
  const tool_command *asked = NULL;
  for (int found; (found = tool_next(&a)) != ARGUMENT_END;) {
    if (found == ARGUMENT_WRONG) return TOOL_USAGE;
    if (found == HELP_MAN) explain = tool_manual;
    if (found == HELP_COMPLETION) {
      tool_completion(commands, COMMANDS);
      return TOOL_OK;
    }
    if (found == ARGUMENT_OPERAND && !(asked = find_command(a.value)))
      return unknown_command(a.value);
  }
  if (asked) explain(asked);
  else list_commands();
  return TOOL_OK;
}

static int version_main(const tool_command *command, int argc, char **argv) {
  (void)argc;
  (void)argv;
  (void)command;
  printf("lcplug %s\n", lcplug_version());
  return TOOL_OK;
}

/* Among the arguments of a command that starts no program, and so has all of them to itself. */
static bool asks_for_help(const tool_command *command, int argc, char **argv) {
  for (int i = 1; i < argc && !command->starts_program && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    tool_error("no command given; `lcplug help` lists the commands");
    return TOOL_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
  if (strcmp(name, "--version") == 0) name = "version";
  const tool_command *command = find_command(name);
  if (!command) return unknown_command(name);

  int status = TOOL_OK;
  if (asks_for_help(command, argc - 1, argv + 1)) tool_help(command);
  else status = command->main(command, argc - 1, argv + 1);
  /* Output that could not be written (a full disk) must not look like success. */
  if (fflush(stdout) != 0 || ferror(stdout)) {
    tool_error("cannot write: %s", strerror(errno));
    return TOOL_USAGE;
  }
  return status;
}
