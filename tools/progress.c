/* progress.c - see progress.h.  The time left is that of the rest at the speed so far. */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

static struct {
  const char *what;
  double work, done, started, shown;
  bool terminal;
} progress;

double progress_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void clear_line(void) {
  if (progress.terminal && progress.what) fputs("\r\033[K", stderr);
}

static void show(void) {
  double part = progress.work > 0 ? fmin(progress.done / progress.work, 1) : 1;
  double now = progress_seconds();
  double left = part > 0 ? (now - progress.started) * (1 - part) / part : 0;
  int filled = (int)(part * BAR), minutes = (int)(left / 60), seconds = (int)left % 60;
  progress.shown = now;
  if (progress.terminal) {
    char bar[BAR + 1] = "";
    for (int i = 0; i < BAR; i++) bar[i] = i < filled ? '#' : '.';
    fprintf(stderr, "\r\033[K%-20s [%s] %3.0f %%  %d:%02d left", progress.what, bar, 100 * part,
            minutes, seconds);
  } else {
    fprintf(stderr, "%s: %.0f %%, %d:%02d left\n", progress.what, 100 * part, minutes, seconds);
  }
  fflush(stderr);
}

void progress_begin(const char *what, double work) {
  progress.terminal = isatty(STDERR_FILENO);
  progress.what = what;
  progress.work = work;
  progress.done = 0;
  progress.started = progress.shown = progress_seconds();
  if (progress.terminal) show();
  else progress_say("%s ...\n", what);
}

void progress_add(double work) {
  progress.done += work;
  if (progress_seconds() - progress.shown >= (progress.terminal ? 0.1 : 30)) show();
}

void progress_end(void) {
  clear_line();
  fprintf(stderr, "%s: %.0f s%s\n", progress.what, progress_seconds() - progress.started,
          progress_interrupted() ? ", interrupted" : "");
  progress.what = NULL;
}

void progress_say(const char *format, ...) {
  va_list arguments;
  clear_line();
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fflush(stderr);
}

static volatile sig_atomic_t interrupted;

static void remember_interrupt(int signal) {
  (void)signal;
  interrupted = 1;
}

/* Who started us may have chosen that we ignore it, as nohup and shells for the background do. */
static void watch(int signal) {
  struct sigaction before, action = {.sa_handler = remember_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  if (sigaction(signal, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &action, NULL);
}

void progress_watch_interrupts(void) {
  watch(SIGINT);
  watch(SIGTERM);
}

bool progress_interrupted(void) { return interrupted; }
