/* settings.c - the one option table.
 *
 * Environment, command line, API and help all read the rows below: key, kind, place in the struct,
 * range and meaning.  A new option is a new field and a new row. */
#define _GNU_SOURCE
#include "settings.h"

#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct choice {
  int code;
  const char *name;
  const char *meaning;
} choice;

#define CHOICE_ROW(code, value, name, meaning) {code, name, meaning},
static const choice solvers[] = {LCPLUG_SOLVERS(CHOICE_ROW){0, NULL, NULL}};
static const choice frictions[] = {LCPLUG_FRICTIONS(CHOICE_ROW){0, NULL, NULL}};
static const choice matrices[] = {LCPLUG_MATRICES(CHOICE_ROW){0, NULL, NULL}};
static const choice sweeps[] = {LCPLUG_SWEEPS(CHOICE_ROW){0, NULL, NULL}};
static const choice splittings[] = {LCPLUG_SPLITTINGS(CHOICE_ROW){0, NULL, NULL}};
static const choice fallbacks[] = {LCPLUG_FALLBACKS(CHOICE_ROW){0, NULL, NULL}};
static const choice quicksteps[] = {LCPLUG_QUICKSTEPS(CHOICE_ROW){0, NULL, NULL}};

typedef enum kind { CHOICE, REAL, WHOLE } kind;

typedef struct option {
  const char *key;
  kind kind;
  size_t offset;
  const choice *choices; /* of a CHOICE */
  double least, most;    /* of a REAL or WHOLE */
  int open;              /* the end points themselves are not allowed */
  const char *values;
  const char *initial;
  const char *meaning;
} option;

#define AT(field) offsetof(lcplug_settings, field)
static const option options[] = {
    {"solver", CHOICE, AT(solver), solvers, 0, 0, 0, "auto|pgs|apgd|exact|upstream", "auto",
     "who solves"},
    {"friction", CHOICE, AT(friction), frictions, 0, 0, 0, "ode|pyramid|cone|coulomb", "ode",
     "what a friction row means"},
    {"tol", REAL, AT(tol), NULL, 0, 1, 0, "0 <= tol <= 1", "0",
     "residual to reach; 0: 1e-10 for auto and exact, 1e-8 for auto with cones, 1e-6 for pgs and "
     "apgd"},
    {"max_iter", WHOLE, AT(max_iter), NULL, 0, INT_MAX, 0, "0 <= max_iter", "0",
     "pgs and apgd: most iterations of each phase; 0: 1000"},
    {"time_limit", REAL, AT(time_limit), NULL, 0, INFINITY, 0, "0 <= seconds", "0",
     "most seconds for one solve; 0: no limit"},
    {"matrix", CHOICE, AT(matrix), matrices, 0, 0, 0, "auto|dense|sparse", "auto",
     "how A is stored"},
    {"omega", REAL, AT(omega), NULL, 0, 2, 1, "0 < omega < 2", "1", "relaxation of pgs"},
    {"sweep", CHOICE, AT(sweep), sweeps, 0, 0, 0, "forward|symmetric", "forward",
     "direction of a pgs sweep"},
    {"splitting", CHOICE, AT(splitting), splittings, 0, 0, 0, "gauss-seidel|jacobi", "gauss-seidel",
     "what a block of pgs sees of the others"},
    {"fallback", CHOICE, AT(fallback), fallbacks, 0, 0, 0, "auto|none|exact|upstream", "auto",
     "whom a preloaded solver asks when it misses tol"},
    {"quickstep", CHOICE, AT(quickstep), quicksteps, 0, 0, 0, "quick|step", "quick",
     "what a preloaded program's dWorldQuickStep does"},
    {"reuse", WHOLE, AT(reuse), NULL, 0, 1, 0, "0|1", "0",
     "exact: try the last active set first; last digits then depend on what was solved before"},
    {"timing", WHOLE, AT(timing), NULL, 0, 1, 0, "0|1", "1", "measure the time of each solve"},
    {"stats", WHOLE, AT(stats), NULL, 0, 1, 0, "0|1", "0", "print a summary on stderr at exit"},
    {"warn", WHOLE, AT(warn), NULL, 0, INT_MAX, 0, "0 <= warn", "0",
     "how many warnings to print on stderr"},
    {"help", WHOLE, AT(help), NULL, 0, 1, 0, "0|1", "0", "list these options on stderr"},
};
enum { OPTIONS = sizeof options / sizeof options[0] };

lcplug_settings lcplug_settings_default(void) {
  return (lcplug_settings){.api = SETTINGS_API, .omega = 1.0, .timing = 1};
}

static const option *find_option(const char *key, size_t length) {
  for (int i = 0; i < OPTIONS; i++)
    if (strlen(options[i].key) == length && !memcmp(options[i].key, key, length))
      return &options[i];
  return NULL;
}

static int in_range(const option *o, double value) {
  return o->open ? value > o->least && value < o->most : value >= o->least && value <= o->most;
}

/* The host's locale may want a decimal comma; our grammar does not. */
static double read_number(const char *text, char **end) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  double number = plain ? strtod_l(text, end, plain) : strtod(text, end);
  if (plain) freelocale(plain);
  return number;
}

/* Reads `value` for option o into the settings; 0 if it does not fit. */
static int assign_quietly(lcplug_settings *settings, const option *o, const char *value) {
  char *field = (char *)settings + o->offset;
  if (o->kind == CHOICE) {
    for (const choice *c = o->choices; c->name; c++)
      if (!strcmp(c->name, value)) {
        memcpy(field, &c->code, sizeof c->code);
        return 1;
      }
    return 0;
  }
  char *end;
  double number = read_number(value, &end);
  if (end == value || *end || !in_range(o, number)) return 0;
  if (o->kind == REAL) {
    memcpy(field, &number, sizeof number);
    return 1;
  }
  int32_t whole = (int32_t)number;
  if (whole != number) return 0;
  memcpy(field, &whole, sizeof whole);
  return 1;
}

/* strtod rounds as the host has set it, and comparing a number that is none may trap: all of the
 * host's environment is put aside, not only the part that our own arithmetic uses. */
static int assign(lcplug_settings *settings, const option *o, const char *value) {
  fenv_t host;
  fegetenv(&host);
  fesetenv(FE_DFL_ENV);
  int fits = assign_quietly(settings, o, value);
  fesetenv(&host);
  return fits;
}

lcplug_error lcplug_settings_set(lcplug_settings *settings, const char *key, const char *value) {
  if (!settings || settings->api != SETTINGS_API || !key || !value) return LCPLUG_ERROR_ARGUMENT;
  const option *o = find_option(key, strlen(key));
  return o && assign(settings, o, value) ? LCPLUG_OK : LCPLUG_ERROR_SETTING;
}

/* One item "key=value" of a list; 0 and a message if it is wrong. */
static int parse_item(lcplug_settings *settings, const char *item, size_t length, char *message,
                      size_t size) {
  const char *equals = memchr(item, '=', length);
  size_t key_length = equals ? (size_t)(equals - item) : length;
  const option *o = find_option(item, key_length);
  if (!o) {
    snprintf(message, size, "unknown option '%.*s'", (int)key_length, item);
    return 0;
  }
  char value[64] = "1"; /* a bare key means key=1 */
  size_t value_length = equals ? length - key_length - 1 : 1;
  if (value_length < sizeof value && equals) {
    memcpy(value, equals + 1, value_length);
    value[value_length] = '\0';
  }
  if (value_length < sizeof value && assign(settings, o, value)) return 1;
  snprintf(message, size, "'%.*s' does not fit: %s takes %s", (int)length, item, o->key, o->values);
  return 0;
}

lcplug_error lcplug_settings_parse(lcplug_settings *settings, const char *text, char *message,
                                   size_t size) {
  char unread[1];
  if (!message) message = unread, size = sizeof unread;
  if (!settings || settings->api != SETTINGS_API || !text) return LCPLUG_ERROR_ARGUMENT;
  lcplug_settings parsed = *settings;
  while (*text) {
    size_t length = strcspn(text, ",");
    const char *item = text;
    text += length + (text[length] == ',');
    while (length && (*item == ' ' || *item == '\t')) item++, length--;
    while (length && (item[length - 1] == ' ' || item[length - 1] == '\t')) length--;
    if (length && !parse_item(&parsed, item, length, message, size)) return LCPLUG_ERROR_SETTING;
  }
  *settings = parsed;
  return LCPLUG_OK;
}

/* Written out, as every solve comes by here; test_settings holds it against the table. */
lcplug_error lcplug_settings_check(const lcplug_settings *s) {
  if (!s || s->api != SETTINGS_API) return LCPLUG_ERROR_ARGUMENT;
  int choices = (unsigned)s->solver <= LCPLUG_UPSTREAM &&
                (unsigned)s->friction <= LCPLUG_FRICTION_COULOMB &&
                (unsigned)s->matrix <= LCPLUG_MATRIX_SPARSE &&
                (unsigned)s->sweep <= LCPLUG_SWEEP_SYMMETRIC &&
                (unsigned)s->splitting <= LCPLUG_SPLITTING_JACOBI &&
                (unsigned)s->fallback <= LCPLUG_FALLBACK_UPSTREAM &&
                (unsigned)s->quickstep <= LCPLUG_QUICKSTEP_STEP;
  int numbers = s->max_iter >= 0 && s->tol >= 0.0 && s->tol <= 1.0 && s->time_limit >= 0.0 &&
                s->omega > 0.0 && s->omega < 2.0;
  int flags = (unsigned)s->reuse <= 1 && (unsigned)s->timing <= 1 && (unsigned)s->stats <= 1 &&
              s->warn >= 0 && (unsigned)s->help <= 1;
  return choices && numbers && flags ? LCPLUG_OK : LCPLUG_ERROR_SETTING;
}

int lcplug_option_get(int index, lcplug_option *row) {
  if (index < 0 || index >= OPTIONS || !row) return 0;
  const option *o = &options[index];
  *row = (lcplug_option){
      .key = o->key, .values = o->values, .initial = o->initial, .meaning = o->meaning};
  return 1;
}

int lcplug_option_choice(const char *key, int index, const char **value, const char **meaning) {
  const option *o = key ? find_option(key, strlen(key)) : NULL;
  if (!o || o->kind != CHOICE || index < 0) return 0;
  for (const choice *c = o->choices; c->name; c++)
    if (index-- == 0) {
      if (value) *value = c->name;
      if (meaning) *meaning = c->meaning;
      return 1;
    }
  return 0;
}
