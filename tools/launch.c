/* launch.c - see launch.h.
 *
 * Settings are those of the library's table, as --key value or --key=value; they are checked here,
 * where a mistake can still be reported, and appended to what LCPLUG already says (the later item
 * wins).  The environment is changed last, so that no other process sees the preload. */
#define _GNU_SOURCE
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <lcplug/lcplug.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

/* ---- options ------------------------------------------------------------------------------------ */

/* An option that is on or off, and may be given without a value. */
static bool is_flag(const lcplug_option *option) { return strncmp(option->values, "0|1", 3) == 0; }

/* Finds the setting by its key; --max-iter is accepted for max_iter. */
static bool find_setting(const char *key, size_t length, lcplug_option *option) {
  for (int i = 0; lcplug_option_get(i, option); i++) {
    size_t j = 0;
    while (j < length && (option->key[j] == key[j] || (option->key[j] == '_' && key[j] == '-')))
      j++;
    if (j == length && !option->key[j]) return true;
  }
  return false;
}

static void print_settings(void) {
  lcplug_option option;
  for (int i = 0; lcplug_option_get(i, &option); i++) {
    printf("  --%s %s%s\n      %s (built in: %s)\n", option.key, option.values,
           is_flag(&option) ? "  (no value: 1)" : "", option.meaning, option.initial);
    const char *value, *meaning;
    for (int j = 0; lcplug_option_choice(option.key, j, &value, &meaning); j++)
      printf("        %-14s %s\n", value, meaning);
  }
}

void launch_help(const launch_command *command) {
  printf("usage: lcplug %s [OPTION...] [--] PROGRAM [ARGUMENT...]\n\n%s\n", command->name,
         command->about);
  for (const launch_option *o = command->options; o && o->name; o++)
    if (o->letter) printf("  -%c, --%s %s\n      %s\n", o->letter, o->name, o->value, o->meaning);
    else printf("  --%s %s\n      %s\n", o->name, o->value, o->meaning);
  if (command->settings) {
    puts("Settings, as --KEY VALUE or --KEY=VALUE, are added to the environment variable LCPLUG:\n");
    print_settings();
  }
  printf("\n--help without a value shows this text.  %s\n", command->end);
}

/* Appends key=value to the items in *text, a string of our own. */
static void append_item(char **text, const char *key, const char *value) {
  size_t length = strlen(*text);
  const char *comma = length && (*text)[length - 1] != ',' ? "," : "";
  char *longer = tool_format("%s%s%s=%s", *text, comma, key, value);
  free(*text);
  *text = longer;
}

/* The command line that is being read. */
typedef struct reading {
  const launch_command *command;
  void *order;
  int argc;
  char **argv;
  int at;
  lcplug_settings settings;
  char *items;
} reading;

/* The value behind an option: after its '=', else the next argument; NULL if there is none. */
static const char *next_value(reading *r, const char *equals) {
  if (equals && *equals == '=') return equals + 1;
  return r->at < r->argc ? r->argv[r->at++] : NULL;
}

static int needs_value(const char *option, const char *values) {
  tool_error("option '%s' needs a value: %s", option, values);
  return TOOL_USAGE;
}

static int unfit(const char *option, const char *value, const char *values) {
  tool_error("option '%s' cannot be '%s'; allowed: %s", option, value, values);
  return TOOL_USAGE;
}

static int read_own(reading *r, const launch_option *option, const char *equals) {
  char name[40];
  snprintf(name, sizeof name, "--%s", option->name);
  const char *value = next_value(r, equals);
  if (!value) return needs_value(name, option->value);
  return option->read(r->order, value) ? TOOL_OK : unfit(name, value, option->value);
}

static int read_setting(reading *r, const lcplug_option *option, const char *equals) {
  char name[40];
  snprintf(name, sizeof name, "--%s", option->key);
  const char *value;
  if (is_flag(option) && *equals != '=') {
    /* What follows a bare flag is the program, unless it can only be the flag's value. */
    const char *next = r->at < r->argc ? r->argv[r->at] : "";
    bool given = strcmp(next, "0") == 0 || strcmp(next, "1") == 0;
    value = given ? next : "1";
    r->at += given;
  } else if (!(value = next_value(r, equals))) {
    return needs_value(name, option->values);
  }
  if (lcplug_settings_set(&r->settings, option->key, value) != LCPLUG_OK)
    return unfit(name, value, option->values);
  append_item(&r->items, option->key, value);
  return TOOL_OK;
}

/* The command's own option that the argument names, as --name or as its letter. */
static const launch_option *find_own(const reading *r, const char *argument, size_t length) {
  for (const launch_option *o = r->command->options; o && o->name; o++) {
    if (length == 2 && o->letter && argument[1] == o->letter) return o;
    if (strlen(o->name) + 2 == length && !strncmp(argument, "--", 2) &&
        !strncmp(argument + 2, o->name, length - 2))
      return o;
  }
  return NULL;
}

static int read_option(reading *r) {
  const char *argument = r->argv[r->at++];
  size_t length = strcspn(argument, "=");
  const launch_option *own = find_own(r, argument, length);
  if (own) return read_own(r, own, argument + length);
  lcplug_option option;
  if (r->command->settings && !strncmp(argument, "--", 2) &&
      find_setting(argument + 2, length - 2, &option))
    return read_setting(r, &option, argument + length);
  tool_error("unknown option '%.*s'; `lcplug %s --help` lists the options", (int)length, argument,
             r->command->name);
  return TOOL_USAGE;
}

/* Starts with what LCPLUG says.  A mistake in it would make the preload ignore our items too. */
static int read_environment(reading *r) {
  const char *before = getenv("LCPLUG");
  char message[512] = "";
  if (before && lcplug_settings_parse(&r->settings, before, message, sizeof message) != LCPLUG_OK) {
    tool_error("the environment variable LCPLUG is wrong: %s", message);
    return TOOL_USAGE;
  }
  r->items = tool_format("%s", before ? before : "");
  return TOOL_OK;
}

static bool asks_for_help(const char *argument) {
  return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int read_options(reading *r) {
  int status = read_environment(r);
  while (status == TOOL_OK && r->at < r->argc && r->argv[r->at][0] == '-') {
    if (strcmp(r->argv[r->at], "--") == 0) {
      r->at++;
      break;
    }
    if (asks_for_help(r->argv[r->at])) {
      launch_help(r->command);
      r->at = 0;
      return TOOL_OK;
    }
    status = read_option(r);
  }
  if (status == TOOL_OK && r->at >= r->argc) {
    tool_error("no program given; usage: lcplug %s [OPTION...] [--] PROGRAM [ARGUMENT...]",
               r->command->name);
    status = TOOL_USAGE;
  }
  return status;
}

int launch_read(const launch_command *command, void *order, int argc, char **argv, int *at,
                char **items) {
  reading r = {.command = command,
               .order = order,
               .argc = argc,
               .argv = argv,
               .at = 1,
               .settings = lcplug_settings_default()};
  int status = read_options(&r);
  *at = r.at;
  *items = r.items;
  return status;
}

/* ---- starting ----------------------------------------------------------------------------------- */

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

/* ---- waiting ------------------------------------------------------------------------------------ */

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
