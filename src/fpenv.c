/* fpenv.c - see fpenv.h.
 *
 * On x86-64 all arithmetic here is SSE, governed by one control register that is cheap to read and
 * to write; fegetenv would save the x87 unit too and cost more than a small solve. */
#include "fpenv.h"

#if defined(__SSE2__)
#include <xmmintrin.h>

enum { MASKED_NEAREST_NO_FLUSH = 0x1f80 };

fpenv lcplug_fpenv_enter(void) {
  fpenv host = _mm_getcsr();
  _mm_setcsr(MASKED_NEAREST_NO_FLUSH);
  return host;
}

void lcplug_fpenv_leave(fpenv host) { _mm_setcsr(host); }

#else

fpenv lcplug_fpenv_enter(void) {
  fpenv host;
  fegetenv(&host);
  fesetenv(FE_DFL_ENV);
  return host;
}

void lcplug_fpenv_leave(fpenv host) { fesetenv(&host); }

#endif
