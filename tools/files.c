/* files.c - see files.h. */
#define _GNU_SOURCE
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"
#include "tools.h"

#define ENDING(code, value, name, ending, meaning) [code] = ending,
static const char *const endings[] = {LCPLUG_FORMATS(ENDING)};
enum { ENDINGS = sizeof endings / sizeof *endings };

bool files_format(const char *path, lcplug_format *format) {
  size_t length = strlen(path);
  for (int i = 0; i < ENDINGS; i++) {
    size_t ending = strlen(endings[i]);
    if (length > ending && strcmp(path + length - ending, endings[i]) == 0) {
      *format = (lcplug_format)i;
      return true;
    }
  }
  return false;
}

static void add_file(file_list *list, char *path, double bytes) {
  size_t count = (size_t)list->count + 1;
  list->paths = tool_resize(list->paths, count, sizeof *list->paths);
  list->bytes = tool_resize(list->bytes, count, sizeof *list->bytes);
  list->paths[list->count] = path;
  list->bytes[list->count++] = bytes;
}

static bool add_folder(file_list *list, const char *path) {
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, versionsort);
  if (count < 0) {
    tool_error("%s: %s", path, strerror(errno));
    return false;
  }
  for (int i = 0; i < count; i++) {
    lcplug_format format;
    struct stat status;
    const char *name = entries[i]->d_name;
    char *entry = tool_format("%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", name);
    bool there = name[0] != '.' && stat(entry, &status) == 0;
    bool is_link = entries[i]->d_type == DT_LNK;
    if (there && S_ISREG(status.st_mode) && files_format(name, &format)) {
      add_file(list, entry, (double)status.st_size);
      entry = NULL;
    } else if (there && S_ISDIR(status.st_mode) && !is_link) { /* a link might lead in a circle */
      add_folder(list, entry);
    }
    free(entry);
    free(entries[i]);
  }
  free(entries);
  return true;
}

bool files_add(file_list *list, const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) {
    tool_error("%s: %s", path, strerror(errno));
    return false;
  }
  if (!S_ISDIR(status.st_mode)) {
    add_file(list, tool_format("%s", path), (double)status.st_size);
    return true;
  }
  int before = list->count;
  if (!add_folder(list, path)) return false;
  if (list->count == before) tool_error("%s: no files that end in .lcp, .fcp or .mtx", path);
  return list->count > before;
}

void files_free(file_list *list) {
  for (int i = 0; i < list->count; i++) free(list->paths[i]);
  free(list->paths);
  free(list->bytes);
}

void files_each(const file_list *list, const char *what, void (*act)(void *job, const char *path),
                void *job) {
  double work = 0;
  for (int i = 0; i < list->count; i++) work += list->bytes[i];
  if (list->count > 1) progress_begin(what, work);
  for (int i = 0; i < list->count && !progress_interrupted(); i++) {
    act(job, list->paths[i]);
    if (list->count > 1) progress_add(list->bytes[i]);
  }
  if (list->count > 1) progress_end();
}

lcplug_record *files_read(const char *path) {
  lcplug_record *record;
  char message[512] = "";
  lcplug_error error = lcplug_record_read(path, &record, message, sizeof message);
  if (!error) return record;
  progress_say("lcplug: %s\n", *message ? message : lcplug_error_text(error));
  return NULL;
}

static void forget_part(out_file *out) {
  progress_unfinished_file(NULL);
  free(out->part);
}

bool out_open(out_file *out, const char *path) {
  *out = (out_file){.path = path};
  if (strcmp(path, "-") == 0) {
    out->file = stdout;
    return true;
  }
  out->part = tool_format("%s.part-%ld", path, (long)getpid());
  progress_unfinished_file(out->part);
  out->file = fopen(out->part, "w");
  if (out->file) return true;
  tool_error("%s: %s", path, strerror(errno));
  forget_part(out);
  return false;
}

bool out_close(out_file *out) {
  if (out->file == stdout) return true; /* the command's end looks after it */
  bool failed = ferror(out->file) != 0;
  failed |= fclose(out->file) != 0;
  failed = failed || rename(out->part, out->path) != 0;
  if (failed) {
    tool_error("%s: %s", out->path, strerror(errno));
    remove(out->part);
  }
  forget_part(out);
  return !failed;
}

void out_discard(out_file *out) {
  if (out->file == stdout) return;
  fclose(out->file);
  remove(out->part);
  forget_part(out);
}
