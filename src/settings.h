/* settings.h - the check that every solve makes of its settings. */
#ifndef LCPLUG_SETTINGS_H
#define LCPLUG_SETTINGS_H

#include <lcplug/lcplug.h>

enum { SETTINGS_API = 0x4c435331 /* "LCS1" */ };

/* LCPLUG_OK if every field lies in its range. */
lcplug_error lcplug_settings_check(const lcplug_settings *settings);

#endif
