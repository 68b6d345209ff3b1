/* host_testlcp.c - runs ODE's own test of its solver, which libode exports.
 *
 * dTestSolveLCP makes 1000 random problems of 100 rows, the first 50 free (nub), asks for w, and
 * wants A x = b + w to 1e-9 and complementarity to the letter: w exactly 0 inside the bounds, x
 * exactly at a bound elsewhere.  A problem that fails ends the program in dDebug. */
#include <ode/ode.h>
#include <stdio.h>

int dTestSolveLCP(void);

int main(void) {
  if (!dInitODE2(0)) return 1;
  int passed = dTestSolveLCP();
  dCloseODE();
  return passed ? 0 : 1;
}
