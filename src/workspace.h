/* workspace.h - scratch memory that is kept from solve to solve.
 *
 * One solve takes what it needs piece by piece and gives everything back at once.  A workspace that
 * is too small adds a chunk; pieces never move.  The same problem takes the same
 * pieces from the same chunks again, so a size that has been seen allocates nothing,
 * and finds its memory touched. */
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

/* Forgets every piece. */
void lcplug_workspace_reset(lcplug_workspace *workspace);

/* What outlives a solve.  The inner workspace is reset by whoever keeps something in it; `kept` is
 * his way to find it again, NULL in the beginning. */
lcplug_workspace *lcplug_workspace_inner(lcplug_workspace *workspace); /* NULL: out of memory */
void **lcplug_workspace_kept(lcplug_workspace *workspace);

/* Where this workspace remembers active sets (places.h). */
struct places_table **lcplug_workspace_places(lcplug_workspace *workspace);

#define TAKE(workspace, type, count)                                                               \
  ((type *)lcplug_take((workspace), (size_t)(count), sizeof(type)))

#endif
