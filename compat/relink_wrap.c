/* relink_wrap.c - for a program linked with a static libode.a and -Wl,--wrap=SYMBOL: upstream's own
 * function is then called __real_SYMBOL.  Symbols that were not wrapped are not there: weak. */
#include <string.h>

#include "compat.h"
#include "symbols.h"

#define DECLARE_REAL(symbol, layout, real) extern char __real_##symbol[] __attribute__((weak));
LCPLUG_SYMBOLS(DECLARE_REAL)

/* What quickstep.c puts in the place of dWorldQuickStep; there if that is. */
extern char dWorldStep[] __attribute__((weak));

void *upstream_find(const char *symbol) {
#define RETURN_REAL(name, layout, real)                                                            \
  if (!strcmp(symbol, #name)) return __real_##name;
  LCPLUG_SYMBOLS(RETURN_REAL)
  return strcmp(symbol, "dWorldStep") ? NULL : dWorldStep;
}
