/* workspace.c - see workspace.h. */
#define _DEFAULT_SOURCE
#include "workspace.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, SMALLEST_CHUNK = 16384, LARGE_PAGE = 2 << 20 };

typedef struct chunk {
  struct chunk *before;
  size_t size; /* bytes behind the header */
  size_t used;
} chunk;

struct lcplug_workspace {
  chunk *last;
};

/* The header takes one cache line, so that the bytes behind it are aligned too. */
_Static_assert(sizeof(chunk) <= ALIGNMENT, "the chunk header must fit its line");

static char *chunk_bytes(chunk *c) { return (char *)c + ALIGNMENT; }

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

/* A large chunk asks for large pages: touching its memory for the first time costs less. */
static chunk *chunk_create(size_t bytes, chunk *before) {
  int large = bytes >= 4 * LARGE_PAGE;
  void *memory = NULL;
  if (posix_memalign(&memory, large ? LARGE_PAGE : ALIGNMENT, ALIGNMENT + bytes)) return NULL;
  chunk *c = memory;
#if defined(MADV_HUGEPAGE)
  if (large) madvise(c, ALIGNMENT + bytes, MADV_HUGEPAGE);
#endif
  *c = (chunk){.before = before, .size = bytes};
  return c;
}

lcplug_workspace *lcplug_workspace_create(void) { return calloc(1, sizeof(lcplug_workspace)); }

static void free_chunks(lcplug_workspace *workspace) {
  while (workspace->last) {
    chunk *before = workspace->last->before;
    free(workspace->last);
    workspace->last = before;
  }
}

void lcplug_workspace_free(lcplug_workspace *workspace) {
  if (!workspace) return;
  free_chunks(workspace);
  free(workspace);
}

size_t lcplug_workspace_bytes(const lcplug_workspace *workspace) {
  size_t total = 0;
  for (const chunk *c = workspace->last; c; c = c->before) total += c->size;
  return total;
}

void *lcplug_take(lcplug_workspace *workspace, size_t count, size_t size) {
  if (size && count > SIZE_MAX / 4 / size) return NULL;
  size_t bytes = round_up(count * size);
  chunk *c = workspace->last;
  if (!c || c->size - c->used < bytes) {
    /* Doubling keeps the number of chunks of one solve logarithmic. */
    size_t wanted = c ? 2 * c->size : SMALLEST_CHUNK;
    c = chunk_create(wanted > bytes ? wanted : bytes, workspace->last);
    if (!c) c = chunk_create(bytes, workspace->last);
    if (!c) return NULL;
    workspace->last = c;
  }
  void *piece = chunk_bytes(c) + c->used;
  c->used += bytes;
  return piece;
}

workspace_mark lcplug_mark(const lcplug_workspace *workspace) {
  return (workspace_mark){workspace->last, workspace->last ? workspace->last->used : 0};
}

void lcplug_release(lcplug_workspace *workspace, workspace_mark mark) {
  /* Chunks younger than the mark are emptied but kept: their size counts when chunks merge. */
  for (chunk *c = workspace->last; c && c != mark.chunk; c = c->before) c->used = 0;
  if (workspace->last && workspace->last == mark.chunk) workspace->last->used = mark.used;
}

void lcplug_workspace_reset(lcplug_workspace *workspace) {
  chunk *c = workspace->last;
  if (c && c->before) {
    size_t total = lcplug_workspace_bytes(workspace);
    free_chunks(workspace);
    workspace->last = chunk_create(total, NULL);
  } else if (c) {
    c->used = 0;
  }
}
