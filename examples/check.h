/* check.h - how the examples say what they check: one line each, and the exit status. */
#ifndef LCPLUG_EXAMPLES_CHECK_H
#define LCPLUG_EXAMPLES_CHECK_H

#include <math.h>
#include <stdio.h>

static int check_failures;

static inline void check_line(int good, const char *what, double value, const char *wanted) {
  printf("%s  %-48s %.4g (%s)\n", good ? "ok  " : "FAIL", what, value, wanted);
  check_failures += !good;
}

static inline void check_at_most(const char *what, double value, double most) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "at most %.3g", most);
  check_line(value <= most, what, value, wanted);
}

static inline void check_near(const char *what, double value, double expected, double slack) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%.6g within %.2g", expected, slack);
  check_line(fabs(value - expected) <= slack, what, value, wanted);
}

static inline int check_result(void) { return check_failures ? 1 : 0; }

#endif
