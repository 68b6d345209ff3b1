/* upstream.c - finds the solver that we stand in for.
 *
 * Usually it is the next definition of the same symbol.  A libode that was opened with RTLD_LOCAL
 * (by an interpreter, say) is not in that search order: then every loaded object whose file is
 * called libode* is asked.  What is found is kept loaded for good, so that the address stays valid
 * whatever the host unloads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "compat.h"

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

typedef struct search {
  int skip; /* matching objects that were asked before */
  char path[PATH_MAX];
} search;

/* Only notes the path: opening it here would take the loader's locks in the wrong order. */
static int note_object(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  search *s = data;
  if (!object->dlpi_name || strncmp(file_name(object->dlpi_name), "libode", 6)) return 0;
  if (s->skip-- > 0 || strlen(object->dlpi_name) >= sizeof s->path) return 0;
  strcpy(s->path, object->dlpi_name);
  return 1;
}

static void *find_in_local_objects(const char *symbol) {
  for (int asked = 0;; asked++) {
    search s = {.skip = asked};
    if (!dl_iterate_phdr(note_object, &s)) return NULL;
    void *handle = dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    void *found = handle ? dlsym(handle, symbol) : NULL;
    if (found) return found;
  }
}

/* Marks the object that holds `address` as never to be unloaded. */
static void pin(void *address) {
  Dl_info info;
  if (dladdr(address, &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void *upstream_find(const char *symbol) {
  void *found = dlsym(RTLD_NEXT, symbol);
  if (!found) return find_in_local_objects(symbol);
  pin(found);
  return found;
}
