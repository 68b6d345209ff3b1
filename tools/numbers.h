/* numbers.h - numbers as people write and read them. */
#ifndef LCPLUG_NUMBERS_H
#define LCPLUG_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_TEXT = 32 }; /* room for any of the texts below */

/* 4018 as 4,018. */
const char *group_digits(uint64_t number, char text[NUMBER_TEXT]);

/* Seconds as "3.21 us", "41 ms", "2.0 s"; two significant digits or three. */
const char *time_text(double seconds, char text[NUMBER_TEXT]);

/* A ratio as "1.3" or "41", two significant digits or all before the point; "-"
 * if it is none (negative). */
const char *ratio_text(double ratio, char text[NUMBER_TEXT]);

/* A residual as "2.1e-15", "1.6", "0" or "not finite". */
const char *residual_text(double residual, char text[NUMBER_TEXT]);

#endif
