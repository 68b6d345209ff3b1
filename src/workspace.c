/* workspace.c - see workspace.h. */
#define _DEFAULT_SOURCE
#include "workspace.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "places.h"

enum { ALIGNMENT = 64, SMALLEST_CHUNK = 16384, LARGE_PAGE = 2 << 20, DOUBLED = 1 << 20 };

typedef struct chunk {
  struct chunk *next;
  size_t size; /* bytes behind the header */
  size_t used;
} chunk;

struct lcplug_workspace {
  chunk *first;
  chunk *current; /* pieces come from here; chunks behind it are empty */
  lcplug_workspace *inner;
  void *kept;
  places_table *places;
};

/* The header takes one cache line, so that the bytes behind it are aligned too. */
_Static_assert(sizeof(chunk) <= ALIGNMENT, "the chunk header must fit its line");

static char *chunk_bytes(chunk *c) { return (char *)c + ALIGNMENT; }

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

/* A large chunk asks for large pages: touching its memory for the first time costs less. */
static chunk *chunk_create(size_t bytes) {
  int large = bytes >= 4 * LARGE_PAGE;
  void *memory = NULL;
  if (posix_memalign(&memory, large ? LARGE_PAGE : ALIGNMENT, ALIGNMENT + bytes)) return NULL;
#if defined(MADV_HUGEPAGE)
  if (large) madvise(memory, ALIGNMENT + bytes, MADV_HUGEPAGE);
#endif
  chunk *c = memory;
  *c = (chunk){.size = bytes};
  return c;
}

lcplug_workspace *lcplug_workspace_create(void) { return calloc(1, sizeof(lcplug_workspace)); }

void lcplug_workspace_free(lcplug_workspace *workspace) {
  if (!workspace) return;
  for (chunk *c = workspace->first, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  lcplug_workspace_free(workspace->inner);
  lcplug_places_free(workspace->places);
  free(workspace);
}

lcplug_workspace *lcplug_workspace_inner(lcplug_workspace *workspace) {
  if (!workspace->inner) workspace->inner = lcplug_workspace_create();
  return workspace->inner;
}

void **lcplug_workspace_kept(lcplug_workspace *workspace) { return &workspace->kept; }

places_table **lcplug_workspace_places(lcplug_workspace *workspace) { return &workspace->places; }

size_t lcplug_workspace_bytes(const lcplug_workspace *workspace) {
  size_t total = workspace->inner ? lcplug_workspace_bytes(workspace->inner) : 0;
  total += lcplug_places_bytes(workspace->places);
  for (const chunk *c = workspace->first; c; c = c->next) total += c->size;
  return total;
}

static void *take_from(chunk *c, size_t bytes) {
  void *piece = chunk_bytes(c) + c->used;
  c->used += bytes;
  return piece;
}

/* A new chunk behind the current, last one.  Doubling keeps their number logarithmic, and so do
 * eighths of all there is, which is enough for large workspaces. */
static chunk *append_chunk(lcplug_workspace *workspace, size_t bytes) {
  chunk *last = workspace->current;
  size_t wanted = last ? 2 * last->size : SMALLEST_CHUNK, all = 0;
  for (const chunk *c = workspace->first; c; c = c->next) all += c->size;
  if (all > DOUBLED) wanted = all / 8;
  chunk *c = chunk_create(wanted > bytes ? wanted : bytes);
  if (!c) c = chunk_create(bytes);
  if (!c) return NULL;
  if (last) last->next = c;
  else workspace->first = c;
  return c;
}

void *lcplug_take(lcplug_workspace *workspace, size_t count, size_t size) {
  if (size && count > SIZE_MAX / 4 / size) return NULL;
  size_t bytes = round_up(count * size);
  chunk *c = workspace->current;
  if (c && c->size - c->used >= bytes) return take_from(c, bytes);
  while (c && c->next) {
    c = workspace->current = c->next;
    c->used = 0;
    if (c->size >= bytes) return take_from(c, bytes);
  }
  c = append_chunk(workspace, bytes);
  if (!c) return NULL;
  workspace->current = c;
  return take_from(c, bytes);
}

workspace_mark lcplug_mark(const lcplug_workspace *workspace) {
  chunk *c = workspace->current;
  return (workspace_mark){c, c ? c->used : 0};
}

void lcplug_release(lcplug_workspace *workspace, workspace_mark mark) {
  workspace->current = mark.chunk ? mark.chunk : workspace->first;
  if (workspace->current) workspace->current->used = mark.used;
}

void lcplug_workspace_reset(lcplug_workspace *workspace) {
  lcplug_release(workspace, (workspace_mark){NULL, 0});
}
