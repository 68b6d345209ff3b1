/* objects.h - the ELF files that make up a program: itself and its libraries.
 *
 * For a program on disk the set is found as the loader would find it, breadth first, which is also
 * the order in which symbols are looked up.  For a running process it is what is mapped. */
#ifndef LCPLUG_OBJECTS_H
#define LCPLUG_OBJECTS_H

#include "elf_reader.h"

typedef struct object {
  char *name; /* as the needing file spells it; of the program its path */
  char *path; /* where it was found, or NULL */
  int parent; /* index of the file that needs it, -1 for the program */
  elf_file elf;
} object;

/* objects[0] is the program. */
typedef struct object_set {
  object *objects;
  int count;
} object_set;

/* Adds the program and follows what it needs.  The status is that of opening the program.
 * objects_free in any case. */
elf_status objects_of_program(object_set *set, const char *path);

/* Adds the executable `path` and every other ELF file that process `pid` has mapped. */
elf_status objects_of_process(object_set *set, const char *path, long pid);

void objects_free(object_set *set);

/* The last part of a path. */
const char *base_name(const char *path);

#endif
