/* test_settings.c - the option table and the grammar "key=value,key=value". */
#include "settings.h"

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static lcplug_error parse(lcplug_settings *s, const char *text) {
  return lcplug_settings_parse(s, text, NULL, 0);
}

/* Field by field: bytes between the fields mean nothing. */
static int same(const lcplug_settings *p, const lcplug_settings *q) {
  return p->api == q->api && p->solver == q->solver && p->friction == q->friction &&
         p->matrix == q->matrix && p->sweep == q->sweep && p->splitting == q->splitting &&
         p->fallback == q->fallback && p->max_iter == q->max_iter && p->tol == q->tol &&
         p->time_limit == q->time_limit && p->omega == q->omega && p->timing == q->timing &&
         p->stats == q->stats && p->warn == q->warn && p->help == q->help &&
         p->quickstep == q->quickstep;
}

/* Settings in which no field has its built-in value. */
static lcplug_settings all_changed(void) {
  lcplug_settings s = lcplug_settings_default();
  s.solver = LCPLUG_APGD, s.friction = LCPLUG_FRICTION_CONE, s.matrix = LCPLUG_MATRIX_DENSE;
  s.sweep = LCPLUG_SWEEP_SYMMETRIC, s.splitting = LCPLUG_SPLITTING_JACOBI;
  s.fallback = LCPLUG_FALLBACK_NONE, s.max_iter = 7, s.tol = 0.5, s.time_limit = 3.0,
  s.omega = 0.25;
  s.quickstep = LCPLUG_QUICKSTEP_STEP, s.timing = 0, s.stats = 1, s.warn = 9, s.help = 1;
  return s;
}

/* Every row's initial value, set one by one on settings that differ everywhere, gives the defaults:
 * each row belongs to a field of its own, and no field lacks a row. */
START_TEST(initial_values_are_the_defaults) {
  lcplug_settings s = all_changed(), defaults = lcplug_settings_default();
  lcplug_option option;
  int rows = 0;
  for (; lcplug_option_get(rows, &option); rows++) {
    ck_assert(!same(&s, &defaults));
    ck_assert_msg(!lcplug_settings_set(&s, option.key, option.initial), "%s=%s", option.key,
                  option.initial);
    ck_assert(option.values[0] && option.meaning[0]);
  }
  ck_assert(same(&s, &defaults));
  ck_assert_int_eq(lcplug_settings_check(&defaults), LCPLUG_OK);
}
END_TEST

/* The table ends, on both sides, and no key stands in it twice. */
START_TEST(table_ends) {
  lcplug_option option = {.key = "unchanged"};
  ck_assert_int_eq(lcplug_option_get(-1, &option), 0);
  ck_assert_int_eq(lcplug_option_get(INT_MAX, &option), 0);
  ck_assert_int_eq(lcplug_option_get(0, NULL), 0);
  ck_assert_str_eq(option.key, "unchanged");
  int rows = 0;
  while (lcplug_option_get(rows, &option)) rows++;
  ck_assert_int_eq(lcplug_option_get(rows + 1, &option), 0);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < i; j++) {
      lcplug_option other;
      lcplug_option_get(i, &option);
      lcplug_option_get(j, &other);
      ck_assert_str_ne(option.key, other.key);
    }
}
END_TEST

/* The choices of an option, joined by bars, are what its row says; each can be set, gives another
 * code than the others and has a meaning.  Numbers have no choices. */
START_TEST(choices_round_trip) {
  lcplug_option option;
  int lists = 0;
  for (int row = 0; lcplug_option_get(row, &option); row++) {
    const char *value, *meaning;
    char joined[200] = "";
    int count = 0;
    for (; lcplug_option_choice(option.key, count, &value, &meaning); count++) {
      lcplug_settings s = all_changed();
      ck_assert_int_eq(lcplug_settings_set(&s, option.key, value), LCPLUG_OK);
      ck_assert_int_eq(lcplug_settings_check(&s), LCPLUG_OK);
      ck_assert(meaning[0]);
      if (count) strcat(joined, "|");
      strcat(joined, value);
    }
    if (count) ck_assert_str_eq(joined, option.values);
    lists += count > 0;
  }
  ck_assert_int_eq(lists, 7);
  ck_assert_int_eq(lcplug_option_choice("tol", 0, NULL, NULL), 0);
  ck_assert_int_eq(lcplug_option_choice("no such", 0, NULL, NULL), 0);
  ck_assert_int_eq(lcplug_option_choice(NULL, 0, NULL, NULL), 0);
  ck_assert_int_eq(lcplug_option_choice("solver", -1, NULL, NULL), 0);
}
END_TEST

/* The names in the table are those of the codes. */
START_TEST(names_stand_for_their_codes) {
  lcplug_settings s = lcplug_settings_default();
#define TRY(code, number, name, meaning)                                                           \
  ck_assert_int_eq(lcplug_settings_set(&s, KEY, name), LCPLUG_OK);                                 \
  ck_assert_int_eq(FIELD, code);
#define KEY "solver"
#define FIELD s.solver
  LCPLUG_SOLVERS(TRY)
#undef KEY
#undef FIELD
#define KEY "friction"
#define FIELD s.friction
  LCPLUG_FRICTIONS(TRY)
#undef KEY
#undef FIELD
#define KEY "fallback"
#define FIELD s.fallback
  LCPLUG_FALLBACKS(TRY)
#undef KEY
#undef FIELD
#define KEY "quickstep"
#define FIELD s.quickstep
  LCPLUG_QUICKSTEPS(TRY)
#undef TRY
  for (int code = 0; code <= LCPLUG_UPSTREAM; code++) {
    ck_assert_int_eq(lcplug_settings_set(&s, "solver", lcplug_solver_name((lcplug_solver)code)),
                     LCPLUG_OK);
    ck_assert_int_eq(s.solver, code);
  }
}
END_TEST

/* A whole line, with blanks around items, empty items, a bare key, and the last one winning. */
START_TEST(lists_are_read) {
  lcplug_settings s = lcplug_settings_default();
  ck_assert_int_eq(parse(&s, "solver=apgd,friction=coulomb,tol=1e-8"), LCPLUG_OK);
  ck_assert(s.solver == LCPLUG_APGD && s.friction == LCPLUG_FRICTION_COULOMB && s.tol == 1e-8);
  ck_assert_int_eq(parse(&s, "  max_iter=12 ,\tomega=1.5\t,, stats ,"), LCPLUG_OK);
  ck_assert(s.max_iter == 12 && s.omega == 1.5 && s.stats == 1);
  ck_assert_int_eq(parse(&s, "stats=0,stats=1,stats=0"), LCPLUG_OK);
  ck_assert(s.stats == 0 && s.solver == LCPLUG_APGD);
  lcplug_settings before = s;
  ck_assert_int_eq(parse(&s, ""), LCPLUG_OK);
  ck_assert_int_eq(parse(&s, " , ,\t"), LCPLUG_OK);
  ck_assert(same(&s, &before));
}
END_TEST

/* What is wrong, and the part of it that the message must name. */
static const struct wrong {
  const char *text, *named;
} wrongs[] = {
    {"solver=apgd,sollver=pgs", "sollver"},
    {"tol=1e-8,friction=sliding,omega=1", "friction=sliding"},
    {"omega=2", "omega=2"},
    {"omega=0", "omega=0"},
    {"omega=nan", "omega=nan"},
    {"tol=-1e-9", "tol=-1e-9"},
    {"tol=1.5", "tol=1.5"},
    {"tol=inf", "tol=inf"},
    {"tol=", "tol="},
    {"tol=1e-8x", "tol=1e-8x"},
    {"tol=1e-8 1", "tol=1e-8 1"},
    {"max_iter=-1", "max_iter=-1"},
    {"max_iter=1.5", "max_iter=1.5"},
    {"max_iter=2147483648", "max_iter=2147483648"},
    {"max_iter=1e300", "max_iter=1e300"},
    {"time_limit=-1", "time_limit=-1"},
    {"stats=2", "stats=2"},
    {"help=yes", "help=yes"},
    {"solver", "solver"},
    {"solver=PGS", "solver=PGS"},
    {"SOLVER=pgs", "SOLVER"},
    {"=pgs", "''"},
    {"solver=pgs;tol=1", "solver=pgs;tol=1"},
    {"solve=pgs", "solve"},
    {"solvers=pgs", "solvers"},
    {"matrix=spars", "matrix=spars"},
    {"tol=0.00000000000000000000000000000000000000000000000000000000000000000000001", "tol=0.000"},
};
enum { WRONGS = sizeof wrongs / sizeof *wrongs };

/* An item that is wrong: the error, a message that names it, and nothing changed, not
 * even by the items before it. */
START_TEST(errors_name_the_item_and_change_nothing) {
  lcplug_settings s = all_changed(), before = s;
  char message[200] = "";
  ck_assert_int_eq(lcplug_settings_parse(&s, wrongs[_i].text, message, sizeof message),
                   LCPLUG_ERROR_SETTING);
  ck_assert_msg(strstr(message, wrongs[_i].named), "'%s' does not name '%s'", message,
                wrongs[_i].named);
  ck_assert(!strchr(message, '\n'));
  ck_assert(same(&s, &before));
}
END_TEST

/* A short buffer holds the beginning of the message and its end mark; none at all is fine. */
START_TEST(short_messages_stay_in_their_buffer) {
  lcplug_settings s = lcplug_settings_default();
  char message[16];
  for (size_t size = 0; size <= 10; size++) {
    memset(message, 'z', sizeof message);
    ck_assert_int_eq(lcplug_settings_parse(&s, "nonsense=1", message, size), LCPLUG_ERROR_SETTING);
    if (size) ck_assert_uint_eq(strlen(message), size - 1);
    for (size_t i = size; i < sizeof message; i++) ck_assert(message[i] == 'z');
  }
  ck_assert_int_eq(lcplug_settings_parse(&s, "nonsense=1", NULL, 100), LCPLUG_ERROR_SETTING);
}
END_TEST

/* The ends of the ranges that are allowed. */
START_TEST(ranges_include_their_ends) {
  lcplug_settings s = lcplug_settings_default();
  ck_assert_int_eq(parse(&s, "tol=0"), LCPLUG_OK);
  ck_assert_int_eq(parse(&s, "tol=1"), LCPLUG_OK);
  ck_assert_int_eq(parse(&s, "max_iter=2147483647"), LCPLUG_OK);
  ck_assert_int_eq(s.max_iter, INT_MAX);
  ck_assert_int_eq(parse(&s, "omega=1e-9"), LCPLUG_OK);
  ck_assert_int_eq(parse(&s, "omega=1.999999"), LCPLUG_OK);
  ck_assert_int_eq(parse(&s, "time_limit=1e9"), LCPLUG_OK);
  ck_assert_int_eq(parse(&s, "tol=0.1"), LCPLUG_OK);
  ck_assert(s.tol == 0.1);
}
END_TEST

/* Fields set by hand are checked by the same table, when a solve reads them. */
START_TEST(fields_are_checked) {
  lcplug_settings good = all_changed(), s = good;
  ck_assert_int_eq(lcplug_settings_check(&good), LCPLUG_OK);
  s.tol = 1.0;
  ck_assert_int_eq(lcplug_settings_check(&s), LCPLUG_OK);
#define REFUSED(change)                                                                            \
  s = good;                                                                                        \
  change;                                                                                          \
  ck_assert_int_eq(lcplug_settings_check(&s), LCPLUG_ERROR_SETTING);
  REFUSED(s.omega = 2.0)
  REFUSED(s.omega = 0.0)
  REFUSED(s.omega = NAN)
  REFUSED(s.tol = NAN)
  REFUSED(s.tol = -1e-12)
  REFUSED(s.tol = 2.0)
  REFUSED(s.max_iter = -1)
  REFUSED(s.time_limit = -1.0)
  REFUSED(s.time_limit = NAN)
  REFUSED(s.warn = -1)
  REFUSED(s.stats = 2)
  REFUSED(s.solver = (lcplug_solver)5)
  REFUSED(s.friction = (lcplug_friction)4)
  REFUSED(s.matrix = (lcplug_matrix)3)
  REFUSED(s.sweep = (lcplug_sweep)2)
  REFUSED(s.splitting = (lcplug_splitting)2)
  REFUSED(s.fallback = (lcplug_fallback)4)
  REFUSED(s.quickstep = (lcplug_quickstep)2)
#undef REFUSED
}
END_TEST

/* A struct that never saw lcplug_settings_default, and missing pointers. */
START_TEST(uninitialised_settings_are_caught) {
  lcplug_settings zero, noise;
  memset(&zero, 0, sizeof zero);
  memset(&noise, 0xa5, sizeof noise);
  lcplug_settings s = lcplug_settings_default();
  ck_assert_int_eq(lcplug_settings_check(&zero), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_settings_check(&noise), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_settings_check(NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_settings_set(&zero, "tol", "0.1"), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(parse(&zero, "tol=0.1"), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(parse(NULL, "tol=0.1"), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(parse(&s, NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_settings_set(&s, NULL, "1"), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_settings_set(&s, "tol", NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert(zero.tol == 0.0);
}
END_TEST

/* ---- a host with a decimal comma ------------------------------------------------------------- */

static int comma_locale(void) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                      "es_ES.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (setlocale(LC_ALL, names[i]) && localeconv()->decimal_point[0] == ',') return 1;
  return 0;
}

/* Machines without such a locale may still have its source: compile it into a folder of our own. */
static int compile_comma_locale(const char *folder) {
  char command[300];
  snprintf(command, sizeof command,
           "localedef -c -i de_DE -f UTF-8 '%s/de_DE.utf8' >/dev/null 2>&1", folder);
  int failed = system(command);
  setenv("LOCPATH", folder, 1);
  return (failed == 0 || access(folder, R_OK) == 0) && comma_locale();
}

/* The host has set a locale that writes 0,5: the grammar still reads 0.5, and refuses the comma. */
START_TEST(decimal_point_in_any_locale) {
  char folder[] = "test_settings_XXXXXX", command[100];
  int found = comma_locale();
  ck_assert_ptr_nonnull(mkdtemp(folder));
  if (!found) found = compile_comma_locale(folder);
  snprintf(command, sizeof command, "rm -r ./%s", folder);
  ck_assert_int_eq(system(command), 0);
  if (!found) {
    support_skip("decimal_point_in_any_locale", "no locale with a decimal comma here");
    return;
  }
  lcplug_settings s = lcplug_settings_default();
  char host[20];
  snprintf(host, sizeof host, "%.1f", 0.5);
  ck_assert_str_eq(host, "0,5"); /* the locale is really in force */
  ck_assert_int_eq(parse(&s, "omega=0.5,tol=2.5e-3"), LCPLUG_OK);
  ck_assert(s.omega == 0.5 && s.tol == 2.5e-3);
  ck_assert_int_eq(lcplug_settings_set(&s, "omega", "0,75"), LCPLUG_ERROR_SETTING);
  ck_assert(s.omega == 0.5);
  snprintf(host, sizeof host, "%.1f", 0.5);
  ck_assert_str_eq(host, "0,5"); /* and is so afterwards */
}
END_TEST

/* Every code has a sentence of its own, and numbers that are none do not crash. */
START_TEST(codes_have_texts) {
  for (int i = 0; i <= LCPLUG_ERROR_FORMAT; i++) {
    ck_assert_str_ne(lcplug_error_text((lcplug_error)i), "unknown code");
    for (int j = 0; j < i; j++)
      ck_assert_str_ne(lcplug_error_text((lcplug_error)i), lcplug_error_text((lcplug_error)j));
  }
  for (int i = 0; i <= LCPLUG_STALLED; i++)
    ck_assert_str_ne(lcplug_status_text((lcplug_status)i), "unknown code");
  ck_assert_str_eq(lcplug_error_text((lcplug_error)99), "unknown code");
  ck_assert_str_eq(lcplug_status_text((lcplug_status)-1), "unknown code");
  ck_assert(lcplug_version()[0] >= '0' && lcplug_version()[0] <= '9');
}
END_TEST

int main(void) {
  Suite *suite = suite_create("settings");
  TCase *tests = support_case(suite, "settings");
  tcase_add_test(tests, initial_values_are_the_defaults);
  tcase_add_test(tests, table_ends);
  tcase_add_test(tests, choices_round_trip);
  tcase_add_test(tests, names_stand_for_their_codes);
  tcase_add_test(tests, lists_are_read);
  tcase_add_loop_test(tests, errors_name_the_item_and_change_nothing, 0, WRONGS);
  tcase_add_test(tests, short_messages_stay_in_their_buffer);
  tcase_add_test(tests, ranges_include_their_ends);
  tcase_add_test(tests, fields_are_checked);
  tcase_add_test(tests, uninitialised_settings_are_caught);
  tcase_add_test(tests, decimal_point_in_any_locale);
  tcase_add_test(tests, codes_have_texts);
  return support_run(suite);
}
