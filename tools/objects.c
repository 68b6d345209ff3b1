/* objects.c - see objects.h.
 *
 * The search follows ld.so(8): DT_RPATH of the needing file and of those that led to it (unless it
 * has DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH, then the system's folders.  For the latter
 * /etc/ld.so.conf is read in place of the cache that is made from it.  As the loader does, a file
 * for another machine is passed over. */
#define _GNU_SOURCE
#include "objects.h"

#include "tools.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS_MAX = 4096, INCLUDE_DEPTH = 4 };

const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static object *add_object(object_set *set, const char *name, char *path, int parent) {
  set->objects = tool_resize(set->objects, (size_t)set->count + 1, sizeof *set->objects);
  object *added = &set->objects[set->count++];
  memset(added, 0, sizeof *added);
  added->name = tool_format("%s", name);
  added->path = path;
  added->parent = parent;
  return added;
}

void objects_free(object_set *set) {
  for (int i = 0; i < set->count; i++) {
    elf_close(&set->objects[i].elf);
    free(set->objects[i].name);
    free(set->objects[i].path);
  }
  free(set->objects);
  *set = (object_set){0};
}

/* Adds the file as the first object; gives the status of opening it. */
static elf_status add_program(object_set *set, const char *path) {
  *set = (object_set){0};
  elf_file elf;
  elf_status status = elf_open(&elf, path);
  if (status == ELF_FOREIGN) elf_close(&elf);
  if (status != ELF_OK) return status;
  add_object(set, path, tool_format("%s", path), -1)->elf = elf;
  return ELF_OK;
}

/* ---- searching ------------------------------------------------------------------------------- */

/* One search for one library. */
typedef struct search {
  const char *name;
  const elf_file *like; /* bits and machine that it must have */
  char *found;
  elf_file elf;
} search;

static bool try_file(search *s, const char *path) {
  elf_status status = elf_open(&s->elf, path);
  if (status == ELF_OK && s->elf.bits == s->like->bits && s->elf.machine == s->like->machine) {
    s->found = tool_format("%s", path);
    return true;
  }
  if (status == ELF_OK || status == ELF_FOREIGN) elf_close(&s->elf);
  return false;
}

static bool try_folder(search *s, const char *folder) {
  char *path = tool_format("%s/%s", *folder ? folder : ".", s->name);
  bool found = try_file(s, path);
  free(path);
  return found;
}

/* Replaces $ORIGIN in a folder name by the folder of the file that names it.  As a new string; NULL
 * if another $TOKEN is in it, whose meaning differs from loader to loader. */
static char *expand_origin(const char *folder, size_t length, const char *owner) {
  char *text = tool_format("%.*s", (int)length, folder);
  char *token = strchr(text, '$');
  if (!token) return text;
  size_t skip = !strncmp(token, "$ORIGIN", 7) ? 7 : !strncmp(token, "${ORIGIN}", 9) ? 9 : 0;
  char *expanded = NULL;
  char *real = skip ? realpath(owner, NULL) : NULL;
  if (real && !strchr(token + skip, '$')) {
    *strrchr(real, '/') = '\0';
    expanded = tool_format("%.*s%s%s", (int)(token - text), text, real, token + skip);
  }
  free(real);
  free(text);
  return expanded;
}

/* Tries the folders of a list such as "$ORIGIN/../lib:/opt/lib" that `owner` names. */
static bool try_list(search *s, const char *list, const char *separators, const char *owner) {
  while (list && *list) {
    size_t length = strcspn(list, separators);
    char *folder = expand_origin(list, length, owner);
    bool found = folder && try_folder(s, folder);
    free(folder);
    if (found) return true;
    list += length + (list[length] != '\0');
  }
  return false;
}

static bool try_pattern(search *s, const char *pattern) {
  glob_t folders;
  bool found = false;
  if (glob(pattern, 0, NULL, &folders) != 0) return false;
  for (size_t i = 0; i < folders.gl_pathc && !found; i++)
    found = try_folder(s, folders.gl_pathv[i]);
  globfree(&folders);
  return found;
}

static bool try_configuration(search *s, const char *file, int depth);

/* A line of ld.so.conf: "include PATTERN", a folder, or a comment. */
static bool try_line(search *s, char *line, int depth) {
  line[strcspn(line, "#\n")] = '\0';
  line += strspn(line, " \t");
  size_t length = strlen(line);
  while (length && strchr(" \t\r", line[length - 1])) line[--length] = '\0';
  if (*line == '/') return try_folder(s, line);
  if (strncmp(line, "include", 7) != 0 || !strchr(" \t", line[7]) || depth == 0) return false;
  line += 7 + strspn(line + 7, " \t");
  char *pattern = *line == '/' ? tool_format("%s", line) : tool_format("/etc/%s", line);
  glob_t files;
  bool found = false;
  if (glob(pattern, 0, NULL, &files) == 0) {
    for (size_t i = 0; i < files.gl_pathc && !found; i++)
      found = try_configuration(s, files.gl_pathv[i], depth - 1);
    globfree(&files);
  }
  free(pattern);
  return found;
}

static bool try_configuration(search *s, const char *file, int depth) {
  FILE *stream = fopen(file, "re");
  if (!stream) return false;
  char line[PATH_MAX + 16];
  bool found = false;
  while (!found && fgets(line, sizeof line, stream)) found = try_line(s, line, depth);
  fclose(stream);
  return found;
}

static bool try_system(search *s) {
  static const char *const folders[] = {
      "/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64",           "/usr/lib64", "/lib",
      "/usr/lib",          "/usr/local/lib",        "/usr/local/lib64",
  };
  if (try_configuration(s, "/etc/ld.so.conf", INCLUDE_DEPTH)) return true;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    if (try_pattern(s, folders[i])) return true;
  return false;
}

static bool search_for(const object_set *set, int parent, search *s) {
  const object *needing = &set->objects[parent];
  if (strchr(s->name, '/')) return try_file(s, s->name);
  if (!*needing->elf.runpath)
    for (int i = parent; i >= 0; i = set->objects[i].parent) {
      const elf_file *elf = &set->objects[i].elf;
      if (!*elf->runpath && try_list(s, elf->rpath, ":", set->objects[i].path)) return true;
    }
  return try_list(s, getenv("LD_LIBRARY_PATH"), ":;", needing->path) ||
         try_list(s, needing->elf.runpath, ":", needing->path) || try_system(s);
}

/* ---- the two sets ---------------------------------------------------------------------------- */

static bool has_object(const object_set *set, const char *name) {
  for (int i = 0; i < set->count; i++)
    if (strcmp(set->objects[i].name, name) == 0 ||
        (set->objects[i].path && strcmp(set->objects[i].elf.soname, name) == 0))
      return true;
  return false;
}

elf_status objects_of_program(object_set *set, const char *path) {
  elf_status status = add_program(set, path);
  for (int i = 0; i < set->count; i++)
    for (int j = 0; j < set->objects[i].elf.needed_count && set->count < OBJECTS_MAX; j++) {
      const char *name = set->objects[i].elf.needed[j];
      if (has_object(set, name)) continue;
      search s = {.name = name, .like = &set->objects[0].elf};
      bool found = search_for(set, i, &s);
      object *added = add_object(set, name, s.found, i);
      if (found) added->elf = s.elf;
    }
  return status;
}

static bool has_path(const object_set *set, const char *path) {
  for (int i = 0; i < set->count; i++)
    if (strcmp(set->objects[i].path, path) == 0) return true;
  return false;
}

elf_status objects_of_process(object_set *set, const char *path, long pid) {
  elf_status status = add_program(set, path);
  if (status != ELF_OK) return status;
  char *maps = tool_format("/proc/%ld/maps", pid);
  FILE *stream = fopen(maps, "re");
  free(maps);
  if (!stream) return ELF_UNREADABLE;
  char *line = NULL;
  size_t room = 0;
  while (set->count < OBJECTS_MAX && getline(&line, &room, stream) > 0) {
    line[strcspn(line, "\n")] = '\0';
    const char *file = strchr(line, '/');
    elf_file elf;
    if (!file || has_path(set, file)) continue;
    elf_status opened = elf_open(&elf, file);
    if (opened == ELF_OK) add_object(set, base_name(file), tool_format("%s", file), 0)->elf = elf;
    if (opened == ELF_FOREIGN) elf_close(&elf);
  }
  free(line);
  fclose(stream);
  return ELF_OK;
}
