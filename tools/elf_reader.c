/* elf_reader.c - see elf_reader.h.
 *
 * Numbers are read one by one at offsets that <elf.h> gives for the two classes, so one code path
 * serves all files.  A number outside the file reads as 0 and a table outside it as empty: damage
 * can hide facts but cannot lead the reader astray.  A file whose segments or section headers lie
 * beyond its end is reported as damaged before anything else is believed. */
#define _GNU_SOURCE
#include "elf_reader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads a field of a struct of <elf.h> at `base`, by the class of the file. */
#define FIELD(elf, type, name, base)                                                               \
  ((elf)->bits == 64                                                                               \
       ? number(elf, (base) + offsetof(Elf64_##type, name), sizeof(((Elf64_##type *)0)->name))     \
       : number(elf, (base) + offsetof(Elf32_##type, name), sizeof(((Elf32_##type *)0)->name)))
#define SIZE(elf, type) ((elf)->bits == 64 ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

static bool in_file(const elf_file *elf, uint64_t offset, uint64_t length) {
  return offset <= elf->size && length <= elf->size - offset;
}

static uint64_t number(const elf_file *elf, uint64_t offset, size_t width) {
  if (!in_file(elf, offset, width)) return 0;
  const unsigned char *bytes = elf->data + offset;
  uint64_t value = 0;
  for (size_t i = 0; i < width; i++)
    value = value << 8 | bytes[elf->big_endian ? i : width - 1 - i];
  return value;
}

/* The table if it lies in the file, else an empty one. */
static elf_table table_at(const elf_file *elf, uint64_t offset, uint64_t bytes, uint64_t entry) {
  elf_table table = {offset, entry ? bytes / entry : 0, entry};
  if (!offset || !in_file(elf, offset, bytes)) table.count = 0;
  return table;
}

static uint64_t entry_at(elf_table table, uint64_t index) {
  return table.offset + index * table.entry;
}

/* A string of a string table, or "" if it does not end inside it. */
static const char *string_at(const elf_file *elf, elf_table strings, uint64_t index) {
  if (index >= strings.count) return "";
  const char *text = (const char *)elf->data + strings.offset + index;
  return memchr(text, '\0', strings.count - index) ? text : "";
}

/* ---- headers --------------------------------------------------------------------------------- */

static bool read_ident(elf_file *elf) {
  unsigned class = elf->data[EI_CLASS], order = elf->data[EI_DATA];
  elf->bits = class == ELFCLASS64 ? 64 : class == ELFCLASS32 ? 32 : 0;
  elf->big_endian = order == ELFDATA2MSB;
  return elf->bits && (order == ELFDATA2LSB || order == ELFDATA2MSB) &&
         in_file(elf, 0, SIZE(elf, Ehdr));
}

/* The file offset of a virtual address; 0, where no table can be, if no segment holds it. */
static uint64_t offset_of(const elf_file *elf, uint64_t address) {
  for (uint64_t i = 0; i < elf->segments.count; i++) {
    uint64_t at = entry_at(elf->segments, i);
    uint64_t start = FIELD(elf, Phdr, p_vaddr, at);
    if (FIELD(elf, Phdr, p_type, at) == PT_LOAD && address >= start &&
        address - start < FIELD(elf, Phdr, p_filesz, at))
      return FIELD(elf, Phdr, p_offset, at) + (address - start);
  }
  return 0;
}

static bool segments_are_whole(const elf_file *elf) {
  for (uint64_t i = 0; i < elf->segments.count; i++) {
    uint64_t at = entry_at(elf->segments, i);
    if (FIELD(elf, Phdr, p_type, at) == PT_LOAD &&
        !in_file(elf, FIELD(elf, Phdr, p_offset, at), FIELD(elf, Phdr, p_filesz, at)))
      return false;
  }
  return true;
}

/* Reads the program headers; *interpreter tells whether the file names a loader. */
static bool read_segments(elf_file *elf, elf_table *dynamic, bool *interpreter) {
  uint64_t offset = FIELD(elf, Ehdr, e_phoff, 0), count = FIELD(elf, Ehdr, e_phnum, 0);
  uint64_t entry = FIELD(elf, Ehdr, e_phentsize, 0);
  elf->segments = table_at(elf, offset, count * entry, entry);
  if (count && (elf->segments.count != count || entry < SIZE(elf, Phdr))) return false;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t at = entry_at(elf->segments, i), type = FIELD(elf, Phdr, p_type, at);
    if (type == PT_INTERP) *interpreter = true;
    if (type == PT_DYNAMIC)
      *dynamic = table_at(elf, FIELD(elf, Phdr, p_offset, at), FIELD(elf, Phdr, p_filesz, at),
                          SIZE(elf, Dyn));
  }
  return segments_are_whole(elf);
}

static elf_table section_table(const elf_file *elf, uint64_t at, uint64_t entry) {
  return table_at(elf, FIELD(elf, Shdr, sh_offset, at), FIELD(elf, Shdr, sh_size, at), entry);
}

/* Takes the two symbol tables from the section headers, if the file has kept these. */
static bool read_sections(elf_file *elf) {
  uint64_t offset = FIELD(elf, Ehdr, e_shoff, 0), count = FIELD(elf, Ehdr, e_shnum, 0);
  uint64_t entry = FIELD(elf, Ehdr, e_shentsize, 0);
  if (!offset) return true;
  /* More sections than 16 bits can count: the first header's size holds their number. */
  if (!count) count = FIELD(elf, Shdr, sh_size, offset);
  if (entry < SIZE(elf, Shdr) || count > elf->size / entry) return false;
  elf_table sections = table_at(elf, offset, count * entry, entry);
  if (sections.count != count) return false;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t at = entry_at(sections, i), type = FIELD(elf, Shdr, sh_type, at);
    uint64_t link = FIELD(elf, Shdr, sh_link, at);
    if ((type != SHT_SYMTAB && type != SHT_DYNSYM) || link >= count) continue;
    elf_symbols *symbols = type == SHT_SYMTAB ? &elf->all : &elf->dynamic;
    symbols->table = section_table(elf, at, SIZE(elf, Sym));
    symbols->strings = section_table(elf, entry_at(sections, link), 1);
  }
  return true;
}

/* ---- the dynamic section --------------------------------------------------------------------- */

/* The values of the tags that matter, as they stand in the file; 0 if absent. */
typedef struct dynamic_tags {
  uint64_t soname, rpath, runpath, strings, strings_size, symbols, hash, gnu_hash;
  uint64_t plt, plt_size, plt_kind, rela, rela_size, rel, rel_size, versions, version_definitions;
  uint64_t symbolic, flags, flags_1;
} dynamic_tags;

static const struct {
  uint64_t tag;
  size_t place;
} known_tags[] = {
#define TAG(tag, field)                                                                            \
  { tag, offsetof(dynamic_tags, field) }
    TAG(DT_SONAME, soname),
    TAG(DT_RPATH, rpath),
    TAG(DT_RUNPATH, runpath),
    TAG(DT_STRTAB, strings),
    TAG(DT_STRSZ, strings_size),
    TAG(DT_SYMTAB, symbols),
    TAG(DT_HASH, hash),
    TAG(DT_GNU_HASH, gnu_hash),
    TAG(DT_JMPREL, plt),
    TAG(DT_PLTRELSZ, plt_size),
    TAG(DT_PLTREL, plt_kind),
    TAG(DT_RELA, rela),
    TAG(DT_RELASZ, rela_size),
    TAG(DT_REL, rel),
    TAG(DT_RELSZ, rel_size),
    TAG(DT_VERSYM, versions),
    TAG(DT_VERDEF, version_definitions),
    TAG(DT_FLAGS, flags),
    TAG(DT_FLAGS_1, flags_1),
#undef TAG
};
enum { KNOWN_TAGS = sizeof known_tags / sizeof *known_tags };

static dynamic_tags read_tags(const elf_file *elf, elf_table dynamic) {
  dynamic_tags tags = {0};
  for (uint64_t i = 0; i < dynamic.count; i++) {
    uint64_t at = entry_at(dynamic, i), tag = FIELD(elf, Dyn, d_tag, at);
    uint64_t value = FIELD(elf, Dyn, d_un.d_val, at);
    if (tag == DT_NULL) break;
    if (tag == DT_SYMBOLIC) tags.symbolic = 1;
    for (int k = 0; k < KNOWN_TAGS; k++)
      if (known_tags[k].tag == tag)
        memcpy((char *)&tags + known_tags[k].place, &value, sizeof value);
  }
  return tags;
}

/* The number of symbols by the GNU hash table: the end of the last bucket's chain. */
static uint64_t count_by_gnu_hash(const elf_file *elf, uint64_t at) {
  uint64_t buckets = number(elf, at, 4), first = number(elf, at + 4, 4);
  uint64_t bloom = number(elf, at + 8, 4) * (uint64_t)(elf->bits / 8);
  uint64_t bucket_at = at + 16 + bloom, chain_at = bucket_at + 4 * buckets;
  if (!at || !in_file(elf, bucket_at, 4 * buckets)) return 0;
  uint64_t last = 0;
  for (uint64_t i = 0; i < buckets; i++) {
    uint64_t symbol = number(elf, bucket_at + 4 * i, 4);
    if (symbol > last) last = symbol;
  }
  if (last < first) return first;
  while (in_file(elf, chain_at + 4 * (last - first), 4) &&
         !(number(elf, chain_at + 4 * (last - first), 4) & 1))
    last++;
  return last + 1;
}

static uint64_t relocation_symbol(const elf_file *elf, elf_table table, uint64_t index) {
  uint64_t info = FIELD(elf, Rel, r_info, entry_at(table, index));
  return elf->bits == 64 ? ELF64_R_SYM(info) : ELF32_R_SYM(info);
}

/* Without section headers no number of symbols is written anywhere.  The old hash table has it; the
 * new one leaves out imports, and relocations leave out what is only exported: take the largest. */
static uint64_t count_symbols(const elf_file *elf, const dynamic_tags *tags) {
  uint64_t hash = offset_of(elf, tags->hash);
  uint64_t count = hash ? number(elf, hash + 4, 4) : 0;
  uint64_t other = count_by_gnu_hash(elf, offset_of(elf, tags->gnu_hash));
  if (other > count) count = other;
  for (int t = 0; t < ELF_RELOCATION_TABLES; t++)
    for (uint64_t i = 0; i < elf->relocations[t].count; i++) {
      uint64_t symbol = relocation_symbol(elf, elf->relocations[t], i);
      if (symbol >= count) count = symbol + 1;
    }
  return count;
}

static void read_relocations(elf_file *elf, const dynamic_tags *tags) {
  uint64_t with = SIZE(elf, Rela), without = SIZE(elf, Rel);
  uint64_t plt_entry = tags->plt_kind == DT_RELA ? with : without;
  elf->relocations[0] = table_at(elf, offset_of(elf, tags->plt), tags->plt_size, plt_entry);
  elf->relocations[1] = table_at(elf, offset_of(elf, tags->rela), tags->rela_size, with);
  elf->relocations[2] = table_at(elf, offset_of(elf, tags->rel), tags->rel_size, without);
}

static void read_needed(elf_file *elf, elf_table dynamic) {
  for (uint64_t i = 0; i < dynamic.count && elf->needed_count < ELF_NEEDED_MAX; i++) {
    uint64_t at = entry_at(dynamic, i), tag = FIELD(elf, Dyn, d_tag, at);
    if (tag == DT_NULL) break;
    if (tag != DT_NEEDED) continue;
    const char *name = string_at(elf, elf->dynamic.strings, FIELD(elf, Dyn, d_un.d_val, at));
    if (*name) elf->needed[elf->needed_count++] = name;
  }
}

static dynamic_tags read_dynamic(elf_file *elf, elf_table dynamic) {
  dynamic_tags tags = read_tags(elf, dynamic);
  elf_table strings = table_at(elf, offset_of(elf, tags.strings), tags.strings_size, 1);
  read_relocations(elf, &tags);
  if (!elf->dynamic.table.count) {
    uint64_t count = count_symbols(elf, &tags), entry = SIZE(elf, Sym);
    if (count <= elf->size / entry)
      elf->dynamic.table = table_at(elf, offset_of(elf, tags.symbols), count * entry, entry);
  }
  elf->dynamic.strings = strings;
  elf->versions = table_at(elf, offset_of(elf, tags.versions), 2 * elf->dynamic.table.count, 2);
  elf->soname = string_at(elf, strings, tags.soname);
  elf->rpath = string_at(elf, strings, tags.rpath);
  elf->runpath = string_at(elf, strings, tags.runpath);
  elf->symbolic = tags.symbolic || (tags.flags & DF_SYMBOLIC);
  elf->defines_versions = tags.version_definitions != 0;
  read_needed(elf, dynamic);
  return tags;
}

/* ---- opening --------------------------------------------------------------------------------- */

static elf_status read_headers(elf_file *elf) {
  if (!read_ident(elf)) return ELF_DAMAGED;
  unsigned type = (unsigned)FIELD(elf, Ehdr, e_type, 0);
  elf->machine = (unsigned)FIELD(elf, Ehdr, e_machine, 0);
  elf_table dynamic = {0};
  bool interpreter = false;
  if (!read_segments(elf, &dynamic, &interpreter) || !read_sections(elf)) return ELF_DAMAGED;
  dynamic_tags tags = read_dynamic(elf, dynamic);
  /* A static program that can be loaded anywhere looks like a library, but for one flag. */
  if (type != ET_EXEC && type != ET_DYN) elf->kind = ELF_OTHER;
  else if (interpreter) elf->kind = ELF_DYNAMIC_PROGRAM;
  else if (type == ET_EXEC || (tags.flags_1 & DF_1_PIE)) elf->kind = ELF_STATIC_PROGRAM;
  else elf->kind = ELF_LIBRARY;
  return ELF_OK;
}

/* Maps a regular file; a folder, a pipe or a device counts as unreadable. */
static bool map_file(elf_file *elf, const char *path) {
  struct stat status;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  bool good = fstat(fd, &status) == 0;
  if (good && !S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    good = false;
  }
  if (good && status.st_size > 0) {
    void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    good = data != MAP_FAILED;
    if (good) elf->data = data, elf->size = (uint64_t)status.st_size;
  }
  int reason = errno;
  close(fd);
  errno = reason;
  return good;
}

elf_status elf_open(elf_file *elf, const char *path) {
  memset(elf, 0, sizeof *elf);
  elf->soname = elf->rpath = elf->runpath = "";
  if (!map_file(elf, path)) return ELF_UNREADABLE;
  if (elf->size < SELFMAG || memcmp(elf->data, ELFMAG, SELFMAG) != 0) return ELF_FOREIGN;
  elf_status status = elf->size < EI_NIDENT ? ELF_DAMAGED : read_headers(elf);
  if (status != ELF_OK) elf_close(elf);
  return status;
}

void elf_close(elf_file *elf) {
  if (elf->data) munmap((void *)(uintptr_t)elf->data, (size_t)elf->size);
  memset(elf, 0, sizeof *elf);
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool symbol_is(const elf_file *elf, const elf_symbols *symbols, uint64_t index,
                      const char *name) {
  uint64_t at = entry_at(symbols->table, index);
  return strcmp(string_at(elf, symbols->strings, FIELD(elf, Sym, st_name, at)), name) == 0;
}

/* The index of the symbol, 0 (never a real symbol) if there is none. */
static uint64_t find_symbol(const elf_file *elf, const elf_symbols *symbols, const char *name,
                            bool defined) {
  for (uint64_t i = 1; i < symbols->table.count; i++) {
    bool here = FIELD(elf, Sym, st_shndx, entry_at(symbols->table, i)) != SHN_UNDEF;
    if (here == defined && symbol_is(elf, symbols, i, name)) return i;
  }
  return 0;
}

bool elf_exports(const elf_file *elf, const char *name) {
  return find_symbol(elf, &elf->dynamic, name, true) != 0;
}

bool elf_imports(const elf_file *elf, const char *name) {
  return find_symbol(elf, &elf->dynamic, name, false) != 0;
}

bool elf_defines(const elf_file *elf, const char *name) {
  return elf_exports(elf, name) || find_symbol(elf, &elf->all, name, true) != 0;
}

bool elf_defines_prefix(const elf_file *elf, const char *prefix) {
  size_t length = strlen(prefix);
  for (uint64_t i = 1; i < elf->all.table.count; i++) {
    uint64_t at = entry_at(elf->all.table, i);
    const char *name = string_at(elf, elf->all.strings, FIELD(elf, Sym, st_name, at));
    if (FIELD(elf, Sym, st_shndx, at) != SHN_UNDEF && strncmp(name, prefix, length) == 0)
      return true;
  }
  return false;
}

bool elf_binds_by_name(const elf_file *elf, const char *name) {
  for (int t = 0; t < ELF_RELOCATION_TABLES; t++)
    for (uint64_t i = 0; i < elf->relocations[t].count; i++) {
      uint64_t symbol = relocation_symbol(elf, elf->relocations[t], i);
      if (symbol && symbol < elf->dynamic.table.count &&
          symbol_is(elf, &elf->dynamic, symbol, name))
        return true;
    }
  return false;
}

bool elf_is_versioned(const elf_file *elf, const char *name) {
  uint64_t symbol = find_symbol(elf, &elf->dynamic, name, true);
  /* Version 0 is local and 1 is the unversioned whole; the top bit hides a symbol. */
  return symbol && symbol < elf->versions.count &&
         (number(elf, entry_at(elf->versions, symbol), 2) & 0x7fff) > VER_NDX_GLOBAL;
}

bool elf_has_text(const elf_file *elf, const char *text) {
  return elf->data && memmem(elf->data, (size_t)elf->size, text, strlen(text)) != NULL;
}

const char *elf_machine_name(const elf_file *elf) {
  static const struct {
    unsigned machine;
    const char *name;
  } machines[] = {
      {EM_X86_64, "x86-64"}, {EM_386, "x86"},     {EM_AARCH64, "AArch64"}, {EM_ARM, "ARM"},
      {EM_RISCV, "RISC-V"},  {EM_PPC64, "PPC64"}, {EM_S390, "S/390"},      {EM_MIPS, "MIPS"},
  };
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
    if (machines[i].machine == elf->machine) return machines[i].name;
  return "other";
}
