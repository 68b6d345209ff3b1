/* preload.c - finds the preload objects that belong to this command.
 *
 * LCPLUG_PRELOAD, if set, is taken at its word; the witness stands beside it.  Otherwise the object
 * that was built or installed together with this command wins over the configured place: a build
 * tree must not pick up an older installed copy, and a moved prefix must still find its own. */
#define _GNU_SOURCE
#include "tools.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Seen from the folder of the running executable.  Libtool runs a program of a build tree from
 * .libs beside or below the place where the wrapper script stands. */
static const char *const places[] = {
    ".", ".libs", "../.libs", "../../.libs", "../lib/lcplug", "../lib64/lcplug",
};
enum { PLACES = sizeof places / sizeof *places };

static char *absolute_file(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
  return realpath(path, NULL);
}

/* The folder of the running executable; "" when /proc is not there. */
static void own_folder(char *folder, size_t size) {
  ssize_t length = readlink("/proc/self/exe", folder, size - 1);
  folder[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
}

/* The file of that name in the folder of `path`; NULL if there is none. */
static char *beside(const char *path, const char *name) {
  const char *slash = strrchr(path, '/');
  char *other = tool_format("%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
  char *found = absolute_file(other);
  free(other);
  return found;
}

char *preload_find(const char *name, char **tried) {
  bool plug = strcmp(name, PRELOAD_NAME) == 0;
  *tried = NULL;
  const char *asked = getenv("LCPLUG_PRELOAD");
  if (asked && *asked) {
    char *found = absolute_file(asked);
    if (!found) *tried = tool_format("LCPLUG_PRELOAD names '%s', which is no file", asked);
    if (!found || plug) return found;
    free(found);
    found = beside(asked, name);
    if (!found) *tried = tool_format("it is not beside '%s', which LCPLUG_PRELOAD names", asked);
    return found;
  }

  char folder[PATH_MAX];
  own_folder(folder, sizeof folder);
  for (int i = 0; i < PLACES && *folder; i++) {
    char *path = tool_format("%s/%s/%s", folder, places[i], name);
    char *found = absolute_file(path);
    free(path);
    if (found) return found;
  }
#ifdef PRELOAD_PATH
  char *found = beside(PRELOAD_PATH, name);
  if (found) return found;
  *tried = tool_format("not near '%s', nor where " PRELOAD_PATH
                       " is to be; LCPLUG_PRELOAD may name %s",
                       folder, plug ? "it" : "the preload object beside it");
#else
  *tried = tool_format("not near '%s'; LCPLUG_PRELOAD may name it", folder);
#endif
  return NULL;
}

const char *preload_path_problem(const char *path) {
  if (strchr(path, ' ') || strchr(path, ':'))
    return "LD_PRELOAD separates its files by spaces and colons, so their paths can have neither";
  if (strchr(path, '$')) return "LD_PRELOAD expands a '$' in a path";
  return NULL;
}
