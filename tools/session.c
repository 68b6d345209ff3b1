/* session.c - see session.h.
 *
 * All that a killed program can leave behind is temporary: the shared folder, and files for
 * problems that were not yet whole, which have other names than whole ones. */
#define _GNU_SOURCE
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools.h"

static bool cannot(const char *what, const char *path) {
  tool_error("cannot %s '%s': %s", what, path, strerror(errno));
  return false;
}

/* ---- the shared folder ----------------------------------------------------------------------- */

static char *inside(const session *s, const char *name) {
  return tool_format("%s/%s", s->folder, name);
}

/* Takes the space on the disk now: a mapped file without it would end the program with a signal. */
static witness_control *make_control(const char *path) {
  witness_control *c = MAP_FAILED;
  int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return NULL;
  errno = posix_fallocate(file, 0, sizeof *c);
  if (!errno) c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return c == MAP_FAILED ? NULL : c;
}

static bool make_empty_file(const char *path) {
  int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return file >= 0 && !close(file);
}

bool session_open(session *s, witness_mode mode) {
  const char *temporary = getenv("TMPDIR");
  *s = (session){.kept_folder = -1};
  s->folder = tool_format("%s/lcplug-XXXXXX", temporary && *temporary == '/' ? temporary : "/tmp");
  if (!mkdtemp(s->folder)) {
    cannot("make", s->folder);
    free(s->folder);
    s->folder = NULL;
    return false;
  }
  char *control = inside(s, WITNESS_CONTROL), *log = inside(s, WITNESS_LOG);
  bool made = (s->control = make_control(control)) && make_empty_file(log);
  if (!made) cannot("make files in", s->folder);
  free(control);
  free(log);
  if (!made) return false;
  memcpy(s->control->magic, WITNESS_MAGIC, sizeof s->control->magic);
  s->control->size = sizeof *s->control;
  s->control->mode = mode;
  s->control->every = 1;
  s->control->most = UINT64_MAX;
  return true;
}

/* ---- the folder for problems ----------------------------------------------------------------- */

/* Names of files that are not whole: NAME.lcp.part-PROCESS. */
static bool is_part(const char *name) { return strstr(name, ".lcp.part-") != NULL; }

/* The number before ".lcp" in a file's name; 0 if there is none. */
static uint64_t number_of(const char *name) {
  const char *dash = strrchr(name, '-');
  char *end = NULL;
  uint64_t number = dash ? strtoull(dash + 1, &end, 10) : 0;
  return end && strcmp(end, ".lcp") == 0 ? number : 0;
}

/* Looks through the folder: the highest number there is; parts are removed if asked for. */
static uint64_t look_through(int folder, bool remove_parts) {
  uint64_t highest = 0;
  int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *names = again >= 0 ? fdopendir(again) : NULL;
  if (!names) return 0;
  for (struct dirent *e; (e = readdir(names));) {
    uint64_t number = number_of(e->d_name);
    if (number > highest) highest = number;
    if (remove_parts && is_part(e->d_name)) unlinkat(folder, e->d_name, 0);
  }
  closedir(names);
  return highest;
}

bool session_keep_in(session *s, const char *folder) {
  s->made_folder = mkdir(folder, 0777) == 0;
  if (!s->made_folder && errno != EEXIST) return cannot("make", folder);
  s->kept_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (s->kept_folder < 0) return cannot("open", folder);
  if (access(folder, W_OK)) return cannot("write to", folder);
  if (flock(s->kept_folder, LOCK_EX | LOCK_NB)) {
    tool_error("another lcplug writes to '%s'", folder);
    return false;
  }
  char *absolute = realpath(folder, NULL);
  bool fits = absolute && strlen(absolute) < sizeof s->control->folder;
  if (fits) strcpy(s->control->folder, absolute);
  free(absolute);
  if (!fits) return cannot("use", folder);
  s->control->first_file = look_through(s->kept_folder, false) + 1;
  return true;
}

/* ---- start and end --------------------------------------------------------------------------- */

int session_run(session *s, char **argv, const char *items) {
  char *preload = launch_preload(WITNESS_NAME);
  if (!preload) return TOOL_USAGE;
  int status = TOOL_USAGE;
  if (setenv(WITNESS_VARIABLE, s->folder, 1) == 0)
    status = launch_wait(argv, items, preload, &s->end);
  free(preload);
  return status;
}

void session_close(session *s) {
  if (s->kept_folder >= 0) {
    look_through(s->kept_folder, true);
    if (s->made_folder) rmdir(s->control->folder); /* fails if there is something in it */
    close(s->kept_folder);
  }
  if (!s->folder) return;
  static const char *const names[] = {WITNESS_CONTROL, WITNESS_LOG};
  for (int i = 0; i < 2; i++) {
    char *path = inside(s, names[i]);
    unlink(path);
    free(path);
  }
  rmdir(s->folder);
  if (s->control) munmap(s->control, sizeof *s->control);
  free(s->folder);
}

int session_main(const tool_command *command, int argc, char **argv, launch_option *take,
                 void *order, session_work *work) {
  int at;
  char *items;
  int status = launch_read(command, argc, argv, take, order, &at, &items);
  if (status == TOOL_OK && at) {
    session s;
    status = work(&s, order, argv + at, items);
    session_close(&s);
    if (status == TOOL_OK) status = launch_end_like(&s.end);
  }
  free(items);
  return status;
}
