/* files.h - the files that a command reads and writes. */
#ifndef LCPLUG_FILES_H
#define LCPLUG_FILES_H

#include <lcplug/record.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- what is read: problems ------------------------------------------------------------------ */

typedef struct file_list {
  char **paths;
  double *bytes; /* of each file: how much work it is, roughly */
  int count;
} file_list;

/* Adds a file, or all files below a folder whose names end as those of a record format, by name.
 * False if there is none, and the user has been told. */
bool files_add(file_list *list, const char *path);
void files_free(file_list *list);

/* Calls act(job, path) for each file until Ctrl-C, and shows how far it is if there are several. */
void files_each(const file_list *list, const char *what, void (*act)(void *job, const char *path),
                void *job);

/* Reads a record, or tells the user and returns NULL. */
lcplug_record *files_read(const char *path);

/* The format that the ending of a file's name stands for; false if it is none. */
bool files_format(const char *path, lcplug_format *format);

/* ---- what is written ------------------------------------------------------------------------- */

/* A file that appears under its name when it is whole, and not before.  The path "-" is stdout. */
typedef struct out_file {
  const char *path;
  char *part;
  FILE *file;
} out_file;

/* False, and the user has been told, if it cannot be opened, or (at its end) written. */
bool out_open(out_file *out, const char *path);
bool out_close(out_file *out);
/* In the place of out_close: nothing appears. */
void out_discard(out_file *out);

#endif
