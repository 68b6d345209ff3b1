/* environment.c - settings from LCPLUG, read once per process.
 *
 * Silent unless asked or unless the text is wrong.  A preload object is loaded into every child of
 * the shell around a program, so only a process that has ODE in it
 * speaks before its first solve. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compat.h"

static lcplug_settings settings, settings_single;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int warnings_left;

static void print_help(void) {
  lcplug_option option;
  dprintf(STDERR_FILENO, "lcplug %s: LCPLUG=\"key=value,key=value\"\n", lcplug_version());
  for (int i = 0; lcplug_option_get(i, &option); i++) {
    dprintf(STDERR_FILENO, "  %-11s %s (%s; %s)\n", option.key, option.meaning, option.values,
            option.initial);
    const char *value, *meaning;
    for (int k = 0; lcplug_option_choice(option.key, k, &value, &meaning); k++)
      dprintf(STDERR_FILENO, "    %-13s %s\n", value, meaning);
  }
}

static void read_environment(void) {
  settings = lcplug_settings_default();
  const char *text = secure_getenv("LCPLUG");
  char message[160];
  if (text && lcplug_settings_parse(&settings, text, message, sizeof message))
    dprintf(STDERR_FILENO, "lcplug: LCPLUG: %s; the defaults stay\n", message);
  settings.timing = settings.stats; /* nobody else looks at the time */
  settings_single = settings;
  if (settings.tol == 0.0) settings_single.tol = 1e-6;
  if (settings.help) print_help();
  __atomic_store_n(&warnings_left, settings.warn, __ATOMIC_RELAXED);
}

const lcplug_settings *environment_settings(void) {
  pthread_once(&once, read_environment);
  return &settings;
}

const lcplug_settings *environment_settings_single(void) {
  pthread_once(&once, read_environment);
  return &settings_single;
}

void environment_warn(const char *text) {
  if (__atomic_load_n(&warnings_left, __ATOMIC_RELAXED) <= 0) return;
  if (__atomic_fetch_sub(&warnings_left, 1, __ATOMIC_RELAXED) > 0)
    dprintf(STDERR_FILENO, "lcplug: %s\n", text);
}

__attribute__((constructor)) static void speak_early_in_an_ode_program(void) {
  if (dlsym(RTLD_DEFAULT, "dWorldCreate")) environment_settings();
}
