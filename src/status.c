/* status.c - the texts of the tables in lcplug.h, and the version. */
#include <lcplug/lcplug.h>

#include "config.h"

#define TEXT_CASE(code, value, text)                                                               \
  case code: return text;
#define NAME_CASE(code, value, name, meaning)                                                      \
  case code: return name;

const char *lcplug_error_text(lcplug_error error) {
  switch (error) { LCPLUG_ERRORS(TEXT_CASE) }
  return "unknown code";
}

const char *lcplug_status_text(lcplug_status status) {
  switch (status) { LCPLUG_STATUSES(TEXT_CASE) }
  return "unknown code";
}

const char *lcplug_solver_name(lcplug_solver solver) {
  switch (solver) { LCPLUG_SOLVERS(NAME_CASE) }
  return "unknown";
}

const char *lcplug_version(void) { return PACKAGE_VERSION; }
