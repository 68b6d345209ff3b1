/* witness.h - what witness.c and witness_files.c share. */
#ifndef LCPLUG_COMPAT_WITNESS_H
#define LCPLUG_COMPAT_WITNESS_H

#include <lcplug/record.h>
#include <lcplug/witness_log.h>

#include "compat.h"

/* The order of the command that started this process, mapped once; NULL if there is none, and then
 * there is nothing to do but to let upstream solve. */
witness_control *witness_order(void);

/* Adds to a counter of the order, and returns what was there before. */
static inline uint64_t witness_add(uint64_t *place, uint64_t more) {
  return __atomic_fetch_add(place, more, __ATOMIC_RELAXED);
}
static inline uint64_t witness_count(uint64_t *place) { return witness_add(place, 1); }

/* Writes a file of this name into the order's folder, whole or not at all.  Returns 0 if it cannot;
 * after the first such failure nothing is written any more. */
int witness_keep(witness_control *order, const char *name, const lcplug_record *record);

/* Writes the entry of call number `call`. */
void witness_log(witness_control *order, uint64_t call, const witness_entry *entry);

#endif
