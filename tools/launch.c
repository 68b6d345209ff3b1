/* launch.c - see launch.h.
 *
 * The solver's options are checked here, where a mistake can still be reported, and
 * appended to what LCPLUG already says.  The environment is changed last, so that no other
 * process sees the preload. */
#define _GNU_SOURCE
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

const tool_note launch_statuses[] = {
    {"PROGRAM's", "the program was started: the status is its own"},
    {"2", "a wrong option or value, a mistake in LCPLUG, or no usable preload object"},
    {"126", "the program was found but cannot be executed"},
    {"127", "the program was not found"},
    {0}};

/* ---- options --------------------------------------------------------------------------------- */

/* Appends key=value to the items in *text, a string of our own. */
static void append_item(char **text, const char *key, const char *value) {
  size_t length = strlen(*text);
  const char *comma = length && (*text)[length - 1] != ',' ? "," : "";
  char *longer = tool_format("%s%s%s=%s", *text, comma, key, value);
  free(*text);
  *text = longer;
}

int launch_read(const tool_command *command, int argc, char **argv, launch_option *take,
                void *order, int *at, char **items) {
  tool_arguments a;
  const char *before = getenv("LCPLUG");
  *items = tool_format("%s", before ? before : "");
  *at = 0;
  /* A mistake in LCPLUG would make the preload ignore our items too. */
  if (!tool_arguments_begin(&a, command, argc, argv)) return TOOL_USAGE;
  for (;;) {
    int code = tool_next(&a);
    switch (code) {
      case ARGUMENT_SETTING: append_item(items, a.key, a.value); break;
      case ARGUMENT_OPERAND: *at = a.at - 1; return TOOL_OK;
      case ARGUMENT_HELP: tool_help(command); return TOOL_OK;
      case ARGUMENT_END: return tool_misused(command, "no program given");
      case ARGUMENT_WRONG: return TOOL_USAGE;
      default:
        if (!take(order, &a, code)) return TOOL_USAGE;
    }
  }
}

/* ---- starting -------------------------------------------------------------------------------- */

char *launch_preload(const char *object) {
  char *tried;
  char *path = preload_find(object, &tried);
  if (!path) {
    tool_error("cannot find %s: %s", object, tried);
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

int launch_become(char **argv, const char *items, const char *preload) {
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

/* ---- waiting --------------------------------------------------------------------------------- */

static volatile sig_atomic_t child;

static void pass_on(int signal_number) {
  if (child > 0) kill((pid_t)child, signal_number);
}

/* Signals while we wait: who ends us, and what the program is to find as it was. */
static const struct {
  int number;
  void (*handler)(int);
} while_waiting[] = {{SIGINT, SIG_IGN}, {SIGQUIT, SIG_IGN}, {SIGTERM, pass_on}, {SIGHUP, pass_on}};
enum { SIGNALS = sizeof while_waiting / sizeof *while_waiting };

/* Runs in the child.  A failure is told through the pipe, which a successful exec closes. */
static void start(char **argv, const char *items, const char *preload, int failure) {
  int status = launch_become(argv, items, preload);
  ssize_t told = write(failure, &status, sizeof status);
  (void)told;
  _exit(status);
}

static void wait_for(pid_t pid, launch_end *end) {
  while (wait4(pid, &end->status, 0, &end->usage) < 0 && errno == EINTR) {
  }
}

int launch_wait(char **argv, const char *items, const char *preload, launch_end *end) {
  int ends[2], failure = TOOL_OK;
  struct sigaction before[SIGNALS];
  sigset_t quiet, mask;
  if (pipe2(ends, O_CLOEXEC)) {
    tool_error("cannot start '%s': %s", argv[0], strerror(errno));
    return TOOL_USAGE;
  }
  /* Blocked until the child's number is known, so that none is lost between. */
  sigfillset(&quiet);
  sigprocmask(SIG_SETMASK, &quiet, &mask);
  for (int i = 0; i < SIGNALS; i++) {
    struct sigaction action = {.sa_handler = while_waiting[i].handler};
    sigaction(while_waiting[i].number, &action, &before[i]);
  }
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < SIGNALS; i++) sigaction(while_waiting[i].number, &before[i], NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    start(argv, items, preload, ends[1]);
  }
  child = (sig_atomic_t)pid;
  sigprocmask(SIG_SETMASK, &mask, NULL);
  close(ends[1]);
  if (pid < 0) {
    tool_error("cannot start '%s': %s", argv[0], strerror(errno));
    failure = TOOL_USAGE;
  } else {
    ssize_t got;
    while ((got = read(ends[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
    }
    if (got != (ssize_t)sizeof failure) failure = TOOL_OK;
    wait_for(pid, end);
  }
  close(ends[0]);
  child = 0;
  for (int i = 0; i < SIGNALS; i++) sigaction(while_waiting[i].number, &before[i], NULL);
  return failure;
}

int launch_end_like(const launch_end *end) {
  if (!WIFSIGNALED(end->status)) return WEXITSTATUS(end->status);
  int number = WTERMSIG(end->status);
  struct rlimit no_core = {0, 0}; /* the program's core is the one that tells something */
  setrlimit(RLIMIT_CORE, &no_core);
  fflush(NULL);
  signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  sigprocmask(SIG_UNBLOCK, &only, NULL);
  raise(number);
  return 128 + number;
}
