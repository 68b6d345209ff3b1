/* numbers.c - see numbers.h. */
#include "numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *group_digits(uint64_t number, char text[NUMBER_TEXT]) {
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
  char *to = text;
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return text;
}

const char *time_text(double seconds, char text[NUMBER_TEXT]) {
  static const struct {
    double unit;
    const char *name;
  } units[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
  int i = 0;
  while (i < 2 && seconds < 0.9995 * units[i].unit) i++;
  double number = seconds / units[i].unit;
  int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  snprintf(text, NUMBER_TEXT, "%.*f %s", decimals, number, units[i].name);
  return text;
}

const char *ratio_text(double ratio, char text[NUMBER_TEXT]) {
  if (!(ratio >= 0.0 && ratio < 1e15)) strcpy(text, "-");
  else if (ratio >= 999.5) group_digits((uint64_t)(ratio + 0.5), text);
  else
    snprintf(text, NUMBER_TEXT, "%.*f",
             ratio < 0.0995  ? 3
             : ratio < 0.995 ? 2
             : ratio < 9.95  ? 1
                             : 0,
             ratio);
  return text;
}

const char *residual_text(double residual, char text[NUMBER_TEXT]) {
  if (residual == 0.0) return strcpy(text, "0");
  if (!isfinite(residual)) return strcpy(text, "not finite");
  snprintf(text, NUMBER_TEXT, residual >= 0.0095 && residual < 99.5 ? "%.2g" : "%.1e", residual);
  return text;
}
