/* symbols.h - every symbol that the preload object exports, and nothing else.
 *
 *     X(symbol, layout, real)
 *
 * layout: how the engine passes the problem; ode.c has one function for each of its three, dart.c
 * and bullet.c know one each, and quickstep.c no problem at all.  The build reads the same lines
 * to make the version script. */
#ifndef LCPLUG_COMPAT_SYMBOLS_H
#define LCPLUG_COMPAT_SYMBOLS_H

#define LCPLUG_ODE_SYMBOLS(X)                                                                      \
  /* ODE 0.15 and 0.16 */                                                                          \
  X(_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi, pairs, double)                         \
  X(_Z10dxSolveLCPP22dxWorldProcessMemArenajPfS1_S1_jS1_Pi, pairs, float)                          \
  /* ODE 0.12 to 0.14, and Webots' fork */                                                         \
  X(_Z9dSolveLCPP22dxWorldProcessMemArenaiPdS1_S1_S1_iS1_S1_Pi, arena, double)                     \
  X(_Z9dSolveLCPP22dxWorldProcessMemArenaiPfS1_S1_S1_iS1_S1_Pi, arena, float)                      \
  /* ODE up to 0.11.1 */                                                                           \
  X(_Z9dSolveLCPiPdS_S_S_iS_S_Pi, plain, double)                                                   \
  X(_Z9dSolveLCPiPfS_S_S_iS_S_Pi, plain, float)

/* Every ODE: the step that never asks the solver, made one that does if the user wants that. */
#define LCPLUG_STEP_SYMBOLS(X)                                                                     \
  X(dWorldQuickStep, step, any)

/* DART 6.9.1 to 6.16 */
#define LCPLUG_DART_SYMBOLS(X)                                                                     \
  X(_ZN4dart8external3ode9dSolveLCPEiPdS2_S2_S2_iS2_S2_Pib, dart, double)

/* Bullet 2.82 to 3.25 */
#define LCPLUG_BULLET_SYMBOLS(X)                                                                   \
  X(_Z17btSolveDantzigLCPiPdS_S_S_iS_S_PiR22btDantzigScratchMemory, bullet, double)                \
  X(_Z17btSolveDantzigLCPiPfS_S_S_iS_S_PiR22btDantzigScratchMemory, bullet, float)

#define LCPLUG_SYMBOLS(X)                                                                          \
  LCPLUG_ODE_SYMBOLS(X) LCPLUG_STEP_SYMBOLS(X) LCPLUG_DART_SYMBOLS(X) LCPLUG_BULLET_SYMBOLS(X)

#endif
