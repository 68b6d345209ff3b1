/* plug.c - the plug: every call of the engine gets lcplug's answer.  (In the object that only looks
 * on, witness.c stands in this place.) */
#include "compat.h"

int swap_solve(const swap_call *call) { return swap_answer(call); }
