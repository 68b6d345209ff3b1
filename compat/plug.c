/* plug.c - the plug: every call of the engine gets lcplug's answer.  (In the object that only looks
 * on, witness.c stands in this place.) */
#include "compat.h"

void swap_solve(const swap_call *call) { swap_answer(call); }
