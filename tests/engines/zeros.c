/* zeros.c - the negative control: solvers of every engine that solve nothing.
 *
 * Preloaded, they write zero forces and claim success, or failure if ZEROS=false.  A test of an
 * engine that passes with the former tests nothing. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool claim(void) {
  const char *wanted = getenv("ZEROS");
  return !wanted || strcmp(wanted, "false");
}

#define DEFINE(symbol, real, last)                                                                 \
  bool symbol(int n, real *A, real *x, real *b, real *w, int nub, real *lo, real *hi, int *findex, \
              last) {                                                                              \
    (void)A, (void)b, (void)nub, (void)lo, (void)hi, (void)findex, (void)own;                      \
    memset(x, 0, (size_t)n * sizeof *x);                                                           \
    if (w) memset(w, 0, (size_t)n * sizeof *w);                                                    \
    return claim();                                                                                \
  }

DEFINE(_ZN4dart8external3ode9dSolveLCPEiPdS2_S2_S2_iS2_S2_Pib, double, bool own)
DEFINE(_Z17btSolveDantzigLCPiPdS_S_S_iS_S_PiR22btDantzigScratchMemory, double, void *own)
DEFINE(_Z17btSolveDantzigLCPiPfS_S_S_iS_S_PiR22btDantzigScratchMemory, float, void *own)
