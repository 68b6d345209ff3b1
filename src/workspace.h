/* workspace.h - scratch memory with a high-water mark.
 *
 * One solve takes what it needs piece by piece and gives everything back at once.  A workspace that
 * was too small adds a chunk in the middle of a solve (pieces never move) and merges its chunks
 * when the solve is over, so that the next one of that size finds a single chunk and allocates
 * nothing. */
#ifndef LCPLUG_WORKSPACE_H
#define LCPLUG_WORKSPACE_H

#include <stddef.h>

#include <lcplug/lcplug.h>

/* `count` items of `size` bytes, aligned to a cache line, not cleared; NULL when out of memory. */
void *lcplug_take(lcplug_workspace *workspace, size_t count, size_t size);

/* A place to return to: lcplug_release(workspace, lcplug_mark(workspace)) forgets nothing. */
typedef struct workspace_mark {
  void *chunk;
  size_t used;
} workspace_mark;
workspace_mark lcplug_mark(const lcplug_workspace *workspace);
void lcplug_release(lcplug_workspace *workspace, workspace_mark mark);

/* Forgets every piece and merges the chunks. */
void lcplug_workspace_reset(lcplug_workspace *workspace);

#define TAKE(workspace, type, count) ((type *)lcplug_take((workspace), (size_t)(count), sizeof(type)))

#endif
