/* exact.h - the solver that goes on to rounding error. */
#ifndef LCPLUG_EXACT_H
#define LCPLUG_EXACT_H

#include "iterate.h"

/* 1 if every set of the model is a free row, an interval or a coupled interval. */
int lcplug_exact_offers(const model *m);

lcplug_error lcplug_exact_solve(const model *m, const lcplug_settings *settings, iteration *it,
                                lcplug_workspace *workspace);

#endif
