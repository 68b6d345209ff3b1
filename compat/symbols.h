/* symbols.h - every symbol that the preload object exports, and nothing else.
 *
 *     X(symbol, layout, real)
 *
 * layout: how the engine passes the problem (ode.c has one function for each).  The build reads the
 * same lines to make the version script. */
#ifndef LCPLUG_COMPAT_SYMBOLS_H
#define LCPLUG_COMPAT_SYMBOLS_H

#define LCPLUG_SYMBOLS(X)                                                                          \
  /* ODE 0.15 and 0.16 */                                                                          \
  X(_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi, pairs, double)                         \
  X(_Z10dxSolveLCPP22dxWorldProcessMemArenajPfS1_S1_jS1_Pi, pairs, float)                          \
  /* ODE 0.12 to 0.14, and Webots' fork */                                                         \
  X(_Z9dSolveLCPP22dxWorldProcessMemArenaiPdS1_S1_S1_iS1_S1_Pi, arena, double)                     \
  X(_Z9dSolveLCPP22dxWorldProcessMemArenaiPfS1_S1_S1_iS1_S1_Pi, arena, float)                      \
  /* ODE up to 0.11.1 */                                                                           \
  X(_Z9dSolveLCPiPdS_S_S_iS_S_Pi, plain, double)                                                   \
  X(_Z9dSolveLCPiPfS_S_S_iS_S_Pi, plain, float)

#endif
