/* upstream.c - finds the function that we stand in for.
 *
 * Usually it is the next definition of the same symbol.  A library that was opened with RTLD_LOCAL
 * (by an interpreter, say) is not in that search order: then every loaded object is asked for its
 * own.  What is found is kept loaded for good, so that the address stays valid whatever the host
 * unloads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "compat.h"

typedef struct search {
  int skip; /* objects that were asked before */
  char path[PATH_MAX];
} search;

/* Only notes the path: opening it here would take the loader's locks in the wrong order. */
static int note_object(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  search *s = data;
  const char *path = object->dlpi_name;
  if (!path || !*path || strlen(path) >= sizeof s->path || s->skip-- > 0) return 0;
  strcpy(s->path, path);
  return 1;
}

/* Marks the object that holds `address` as never to be unloaded. */
static void *pinned(void *address) {
  Dl_info info;
  if (dladdr(address, &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return address;
}

static int is_ours(void *address) {
  Dl_info its, ours;
  return dladdr(address, &its) && dladdr((void *)(uintptr_t)upstream_find, &ours) &&
         its.dli_fbase == ours.dli_fbase;
}

/* An object's symbol, or that of a library it needs; NULL if there is none but ours. */
static void *find_in(const char *path, const char *symbol) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return NULL;
  void *found = dlsym(handle, symbol);
  if (found) found = is_ours(found) ? NULL : pinned(found);
  dlclose(handle);
  return found;
}

static void *find_in_local_objects(const char *symbol) {
  for (int asked = 0;; asked++) {
    search s = {.skip = asked};
    if (!dl_iterate_phdr(note_object, &s)) return NULL;
    void *found = find_in(s.path, symbol);
    if (found) return found;
  }
}

void *upstream_find(const char *symbol) {
  void *found = dlsym(RTLD_NEXT, symbol);
  return found ? pinned(found) : find_in_local_objects(symbol);
}
