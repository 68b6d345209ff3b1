/* places.c - see places.h. */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "box.h"

enum { ENTRIES = 64, LONGEST_PAUSE = 64 };

struct places_table {
  places entry[ENTRIES];
};

/* FNV-1a over what makes the shape of a problem: its size and its friction rows. */
static uint64_t shape_of(const lcplug_problem *p) {
  uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)p->n ^ ((uint64_t)p->nub << 32);
  for (int i = 0; p->findex && i < p->n; i++)
    hash = (hash ^ (uint32_t)p->findex[i]) * 0x100000001b3u;
  return hash;
}

static void clear(places *p) {
  free(p->place[0]);
  *p = (places){0};
}

static int renew(places *p, uint64_t key, int rows) {
  clear(p);
  unsigned char *memory = malloc(PLACES_STAGES * (size_t)rows);
  if (!memory) return 0;
  memset(memory, INSIDE, PLACES_STAGES * (size_t)rows); /* rows that had no choice are not stored */
  *p = (places){.key = key, .rows = rows};
  for (int stage = 0; stage < PLACES_STAGES; stage++)
    p->place[stage] = memory + (size_t)stage * (size_t)rows;
  return 1;
}

places *lcplug_places_find(places_table **table, const lcplug_problem *problem) {
  if (!*table) *table = calloc(1, sizeof **table);
  if (!*table || problem->n <= 0) return NULL;
  uint64_t key = shape_of(problem);
  places *p = &(*table)->entry[(key ^ (key >> 32)) % ENTRIES];
  if (p->key == key && p->rows == problem->n) return p;
  return renew(p, key, problem->n) ? p : NULL;
}

size_t lcplug_places_bytes(const places_table *table) {
  size_t total = table ? sizeof *table : 0;
  for (int i = 0; table && i < ENTRIES; i++) total += PLACES_STAGES * (size_t)table->entry[i].rows;
  return total;
}

void lcplug_places_free(places_table *table) {
  for (int i = 0; table && i < ENTRIES; i++) clear(&table->entry[i]);
  free(table);
}

int lcplug_places_try(places *p, int stage) {
  if (!p || !(p->known >> stage & 1)) return 0;
  if (p->pause > 0) {
    p->pause--;
    return 0;
  }
  return 1;
}

void lcplug_places_judge(places *p, int helped) {
  p->penalty = helped ? 0 : 2 * p->penalty + 1;
  if (p->penalty > LONGEST_PAUSE) p->penalty = LONGEST_PAUSE;
  p->pause = p->penalty;
}
