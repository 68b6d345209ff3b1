/* outcome.h - one problem solved by one setting, and what came out: shared by
 * solve, replay and compare. */
#ifndef LCPLUG_OUTCOME_H
#define LCPLUG_OUTCOME_H

#include <lcplug/record.h>

#include "command.h"
#include "json.h"

typedef struct outcome {
  lcplug_error error; /* if not LCPLUG_OK, nothing else is there */
  lcplug_solver solver;
  lcplug_friction friction;
  lcplug_status status;
  long iterations, factorizations;
  double residual; /* by the matrix as given */
  double gap;      /* friction=cone: the relaxation */
  double seconds;  /* CPU time of this thread, median over the repeats */
  int contacts, open, sticking, sliding;
} outcome;

/* Room for the problems of one command, one after the other. */
typedef struct solve_seat {
  lcplug_workspace *workspace;
  int rows;
  double *x, *w, *lo, *hi;
} solve_seat;

solve_seat seat_create(void);
void seat_free(solve_seat *seat);

/* Solves the problem `repeats` times; the answer stays in seat->x and seat->w. */
outcome outcome_of(solve_seat *seat, const lcplug_record *record, const lcplug_settings *settings,
                   int repeats);

/* The settings for this file: FCP means Coulomb's friction unless something else was asked for. */
lcplug_settings outcome_settings(const tool_arguments *a, const lcplug_record *record);

/* How far the velocities w of the answer are from those of the recorded one, as a
 * fraction of max |b|; NaN if there is none.  (Its residual cannot be told: ODE's frozen
 * bounds are not in a record.) */
double outcome_difference(const solve_seat *seat, const lcplug_record *record);

/* The fields of an outcome, inside an open object. */
void outcome_json(json *j, const outcome *o);

/* "solved", the reason why not, or the error. */
const char *outcome_text(const outcome *o);

/* The median of count numbers, which are sorted by it; NaN of none. */
double median(double *numbers, int count);

#endif
