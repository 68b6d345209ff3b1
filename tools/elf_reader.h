/* elf_reader.h - reads what the doctor asks of an ELF file: kind, libraries, symbols, relocations.
 *
 * 32- and 64-bit files of either byte order.  The file may be anything: every offset is checked
 * against its size, and a damaged table reads as an empty one.  Strings that are returned lie in
 * the file and live until elf_close. */
#ifndef LCPLUG_ELF_READER_H
#define LCPLUG_ELF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table of `count` entries, `entry` bytes each, from `offset` on; always inside the file. */
typedef struct elf_table {
  uint64_t offset;
  uint64_t count;
  uint64_t entry;
} elf_table;

/* Symbols with the strings that hold their names. */
typedef struct elf_symbols {
  elf_table table;
  elf_table strings;
} elf_symbols;

typedef enum elf_status {
  ELF_OK,
  ELF_UNREADABLE, /* errno says why */
  ELF_FOREIGN,    /* a readable file, but not ELF */
  ELF_DAMAGED     /* ELF, but cut off or nonsense */
} elf_status;

typedef enum elf_kind {
  ELF_DYNAMIC_PROGRAM, /* names a loader */
  ELF_STATIC_PROGRAM,
  ELF_LIBRARY,
  ELF_OTHER /* an object file or a core dump */
} elf_kind;

enum { ELF_NEEDED_MAX = 512, ELF_RELOCATION_TABLES = 3 };

typedef struct elf_file {
  const unsigned char *data;
  uint64_t size;
  int bits; /* 32 or 64 */
  bool big_endian;
  unsigned machine;
  elf_kind kind;
  const char *soname;
  const char *rpath;
  const char *runpath;
  const char *needed[ELF_NEEDED_MAX];
  int needed_count;
  bool symbolic;         /* looks its own symbols up in itself first */
  bool defines_versions; /* has symbol versions of its own */
  elf_symbols dynamic;   /* the symbols that the loader sees */
  elf_symbols all;       /* the full table; empty in a stripped file */
  elf_table versions;    /* a 16-bit version number for each dynamic symbol */
  elf_table relocations[ELF_RELOCATION_TABLES];
  elf_table segments;
} elf_file;

/* Maps the file and reads its headers.  Unless ELF_OK or ELF_FOREIGN comes back nothing is held;
 * after those two, elf_close lets the file go.  Of a foreign file only data and size are set. */
elf_status elf_open(elf_file *elf, const char *path);
void elf_close(elf_file *elf);

/* Does the loader find `name` here / does this file ask the loader for it? */
bool elf_exports(const elf_file *elf, const char *name);
bool elf_imports(const elf_file *elf, const char *name);

/* Is `name` defined here at all?  Always false in a stripped file that does not export it. */
bool elf_defines(const elf_file *elf, const char *name);

/* As elf_defines, for any name that starts with `prefix`. */
bool elf_defines_prefix(const elf_file *elf, const char *prefix);

/* Is there a relocation by which the loader decides whose `name` is used?  Without one the calls
 * inside this file go straight to its own definition. */
bool elf_binds_by_name(const elf_file *elf, const char *name);

/* Does the export `name` carry a version? */
bool elf_is_versioned(const elf_file *elf, const char *name);

/* Do these bytes occur anywhere in the file? */
bool elf_has_text(const elf_file *elf, const char *text);

/* "x86-64", "AArch64", ...; "other" for a machine without a row in our table. */
const char *elf_machine_name(const elf_file *elf);

#endif
