/* fpenv.h - our own floating-point environment inside the host's.
 *
 * A host may trap exceptions, flush denormals or round upwards.  None of that may trap in here or
 * change an answer, and none of it may be lost when we return. */
#ifndef LCPLUG_FPENV_H
#define LCPLUG_FPENV_H

#if defined(__SSE2__)
typedef unsigned int fpenv;
#else
#include <fenv.h>
typedef fenv_t fpenv;
#endif

/* Default environment from here on; returns the host's. */
fpenv lcplug_fpenv_enter(void);

/* The host's environment again, its exception flags as they were. */
void lcplug_fpenv_leave(fpenv host);

#endif
