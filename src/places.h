/* places.h - where the rows of the last problems were found, for setting reuse=1.
 *
 * A simulation poses nearly the same problem at every step.  The rows that sat at a bound last time
 * are then the best guess for this time.  A workspace remembers a few problems by the shape of
 * their rows.  A guess that did not help is not tried again for a while, and longer each time.
 *
 * Answers found from different guesses differ in their last digits, so this is only done when asked
 * for: by default the same input gives the same bits, whatever was solved before. */
#ifndef LCPLUG_PLACES_H
#define LCPLUG_PLACES_H

#include <lcplug/lcplug.h>

enum { PLACES_STAGES = 2 };

typedef struct places {
  uint64_t key;
  int rows;
  int known;          /* stages that have been stored, one bit each */
  int pause, penalty; /* solves to let pass before the next try, and how many it was last time */
  unsigned char *place[PLACES_STAGES]; /* by the caller's rows */
} places;

typedef struct places_table places_table;

/* The entry for problems of this shape, empty if it is new; NULL if out of memory.  *table starts
 * as NULL and is freed by lcplug_places_free. */
places *lcplug_places_find(places_table **table, const lcplug_problem *problem);
void lcplug_places_free(places_table *table);

/* Bytes that a table holds; 0 for none. */
size_t lcplug_places_bytes(const places_table *table);

/* 1 if the stage has a guess that is worth a try now. */
int lcplug_places_try(places *p, int stage);

/* How the try went. */
void lcplug_places_judge(places *p, int helped);

#endif
