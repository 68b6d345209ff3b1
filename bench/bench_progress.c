/* bench_progress.c - how far we are, on stderr.
 *
 * On a terminal one line that is written over; else a line when a part begins and ends, and one
 * every half minute between, for logs.  The time left is that of the rest at the speed so far. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

static struct {
  const char *what;
  double work, done, started, shown;
  int terminal;
} progress;

double bench_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void clear_line(void) {
  if (progress.terminal && progress.what) fputs("\r\033[K", stderr);
}

static void show(void) {
  double part = progress.work > 0 ? fmin(progress.done / progress.work, 1) : 1;
  double now = bench_seconds();
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

void bench_progress_begin(const char *what, double work) {
  progress.terminal = isatty(STDERR_FILENO);
  progress.what = what;
  progress.work = work;
  progress.done = 0;
  progress.started = progress.shown = bench_seconds();
  if (progress.terminal) show();
  else bench_say("%s ...\n", what);
}

void bench_progress_add(double work) {
  progress.done += work;
  if (bench_seconds() - progress.shown >= (progress.terminal ? 0.1 : 30)) show();
}

void bench_progress_end(void) {
  clear_line();
  fprintf(stderr, "%s: %.0f s\n", progress.what, bench_seconds() - progress.started);
  progress.what = NULL;
}

void bench_say(const char *format, ...) {
  va_list arguments;
  clear_line();
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fflush(stderr);
}
