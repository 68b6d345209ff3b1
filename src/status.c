/* status.c - the texts of the tables in lcplug.h, the version, and the sizes that never change. */
#include <lcplug/native.h>

#include "config.h"

/* Programs and bindings that were made for these sizes go on working: a new field takes the place
 * of reserved bytes. */
#if SIZE_MAX == UINT64_MAX
_Static_assert(sizeof(lcplug_problem) == 128, "lcplug_problem keeps its size");
_Static_assert(sizeof(lcplug_settings) == 128, "lcplug_settings keeps its size");
_Static_assert(sizeof(lcplug_solution) == 64, "lcplug_solution keeps its size");
_Static_assert(sizeof(lcplug_info) == 128, "lcplug_info keeps its size");
_Static_assert(sizeof(lcplug_option) == 64, "lcplug_option keeps its size");
_Static_assert(sizeof(lcplug_system) == 152, "lcplug_system of another size has another version");
_Static_assert(sizeof(lcplug_row_items) == 32, "lcplug_row_items keeps its size");
_Static_assert(sizeof(lcplug_pose) == 56, "lcplug_pose keeps its size");
_Static_assert(sizeof(lcplug_joint) == 136, "lcplug_joint keeps its size");
#endif

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
