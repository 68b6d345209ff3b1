/* relink_replace.c - for a program linked with a static libode.a, ahead of it: our dxSolveLCP takes
 * the place of upstream's, which is then not linked at all.  There is no upstream to ask. */
#include <stdbool.h>

#include "compat.h"

void *upstream_find(const char *symbol) {
  (void)symbol;
  return NULL;
}

/* Upstream's scratch memory, which we do not use.  Lives in the object file that we displace. */
size_t _Z27dxEstimateSolveLCPMemoryReqjb(unsigned n, bool outer_w);
size_t _Z27dxEstimateSolveLCPMemoryReqjb(unsigned n, bool outer_w) {
  (void)n, (void)outer_w;
  return 0;
}
