/* doctor.c - `lcplug doctor`: will the swap take effect in this program?
 *
 * A preload object replaces a function only if the loader decides whose function is called.  So the
 * doctor asks, from the ELF files alone and without running anything: is there a loader at all
 * (static, setuid), does a library export the solver and call it by name, does the preload object
 * offer the same name for the same machine, and does anybody call the step that uses the solver.
 *
 * Facts are gathered first, printed as a check list second, judged third.  The judge is a list of
 * rules in order, the first that applies gives the verdict: 0 takes effect, 1 does not, 3 cannot
 * tell.  What cannot be read at all gets an error line and status 2. */
#define _GNU_SOURCE
#include "objects.h"
#include "tools.h"

#include <lcplug/lcplug.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The solvers of ODE's generations and of its relatives, in both precisions.  ODE calls its own
 * from inside, in dWorldStep; the relatives' solvers are called from another file. */
static const struct solver_symbol {
  const char *symbol;
  const char *name;
  const char *engine;
  const char *precision;
  const char *unused; /* what to say if nobody calls it; NULL: dWorldStep does */
} solver_symbols[] = {
    {"_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi", "dxSolveLCP", "ODE 0.15-0.16",
     "double", NULL},
    {"_Z10dxSolveLCPP22dxWorldProcessMemArenajPfS1_S1_jS1_Pi", "dxSolveLCP", "ODE 0.15-0.16",
     "single", NULL},
    {"_Z9dSolveLCPP22dxWorldProcessMemArenaiPdS1_S1_S1_iS1_S1_Pi", "dSolveLCP", "ODE 0.12-0.14",
     "double", NULL},
    {"_Z9dSolveLCPP22dxWorldProcessMemArenaiPfS1_S1_S1_iS1_S1_Pi", "dSolveLCP", "ODE 0.12-0.14",
     "single", NULL},
    {"_Z9dSolveLCPiPdS_S_S_iS_S_Pi", "dSolveLCP", "ODE 0.11 or older", "double", NULL},
    {"_Z9dSolveLCPiPfS_S_S_iS_S_Pi", "dSolveLCP", "ODE 0.11 or older", "single", NULL},
    {"_ZN4dart8external3ode9dSolveLCPEiPdS2_S2_S2_iS2_S2_Pib", "dSolveLCP", "DART", "double",
     "nothing calls the solver; DART does in its DantzigBoxedLcpSolver"},
    {"_Z17btSolveDantzigLCPiPdS_S_S_iS_S_PiR22btDantzigScratchMemory", "btSolveDantzigLCP",
     "Bullet", "double", "nothing calls the solver; Bullet does in its btDantzigSolver"},
    {"_Z17btSolveDantzigLCPiPfS_S_S_iS_S_PiR22btDantzigScratchMemory", "btSolveDantzigLCP",
     "Bullet", "single", "nothing calls the solver; Bullet does in its btDantzigSolver"},
};
enum { SOLVER_SYMBOLS = sizeof solver_symbols / sizeof *solver_symbols };

/* A message of the solver, in every version of it: it betrays a copy whose symbols are stripped. */
static const char solver_message[] = "LCP internal error, s <= 0";

/* The functions whose callers matter. */
enum { STEP, QUICK_STEP, TEST_SOLVE, CALLS };
static const char *const call_names[CALLS] = {"dWorldStep", "dWorldQuickStep", "dTestSolveLCP"};

enum { NOBODY = -1 };

typedef enum linked { LINKED_NOT, LINKED_PERHAPS, LINKED_SURELY } linked;

/* What was found out.  Numbers named after a file are its index in `set`, or NOBODY. */
typedef struct facts {
  char *script; /* the script whose interpreter is examined, or NULL */
  long pid;     /* 0: not a process */
  object_set set;
  bool privileged; /* set-id or capabilities that make the loader ignore LD_PRELOAD */
  char *privilege; /* in words, or NULL if there is none */
  int libode;      /* the library of that name that is needed */
  int missing;     /* a needed library that was not found */
  int engine;      /* the library that exports a solver */
  const struct solver_symbol *solver; /* which */
  int hidden;                         /* a library with a solver inside that it does not export */
  bool contains;                      /* the program itself holds a solver */
  bool stripped;
  linked linked;    /* lcplug was linked in */
  bool by_name;     /* the engine lets the loader decide */
  int calls[CALLS]; /* who calls each function */
  int asks;         /* who calls the solver from outside its library */
  bool redirected;  /* the settings make dWorldQuickStep dWorldStep */
  int opens;        /* who may open libraries later */
  char *preload;    /* path, or NULL */
  char *preload_problem;
  bool preload_mapped;
  bool preload_fits; /* same machine */
  bool preload_offers;
  bool version_conflict;
} facts;

static const object *get(const facts *f, int index) { return &f->set.objects[index]; }

static const char *called(const facts *f, int index) { return base_name(get(f, index)->name); }

static void facts_free(facts *f) {
  objects_free(&f->set);
  free(f->script);
  free(f->privilege);
  free(f->preload);
  free(f->preload_problem);
}

/* ---- gathering ------------------------------------------------------------------------------- */

static bool is_libode(const char *name) {
  name = base_name(name);
  return strncmp(name, "libode", 6) == 0 && !isalnum((unsigned char)name[6]);
}

static bool is_lcplug(const object *o) { return strncmp(base_name(o->name), "liblcplug", 9) == 0; }

static const struct solver_symbol *exported_solver(const elf_file *elf) {
  for (int i = 0; i < SOLVER_SYMBOLS; i++)
    if (elf_exports(elf, solver_symbols[i].symbol)) return &solver_symbols[i];
  return NULL;
}

/* Without symbols, the solver's own message gives it away; but a program that takes ODE's functions
 * from a library may know that message too, in order to look out for it. */
static bool holds_solver(const elf_file *elf) {
  for (int i = 0; i < SOLVER_SYMBOLS; i++)
    if (elf_defines(elf, solver_symbols[i].symbol)) return true;
  return !elf_imports(elf, "dWorldCreate") && elf_has_text(elf, solver_message);
}

/* Was the program relinked?  Its full symbols say so for sure, the bare name only perhaps. */
static linked linked_in(const elf_file *program) {
  if (elf_defines_prefix(program, "lcplug_") ||
      elf_defines_prefix(program, "__wrap__Z10dxSolveLCP"))
    return LINKED_SURELY;
  return elf_has_text(program, "LCPLUG") ? LINKED_PERHAPS : LINKED_NOT;
}

static void look_at_program(facts *f) {
  const elf_file *elf = &get(f, 0)->elf;
  f->stripped = elf->all.table.count == 0;
  if (elf->kind == ELF_LIBRARY) return;
  f->contains = holds_solver(elf);
  f->linked = f->contains ? linked_in(elf) : LINKED_NOT;
}

/* Libraries in lookup order: the first that exports a solver is the one that counts. */
static void look_at_libraries(facts *f) {
  bool library = get(f, 0)->elf.kind == ELF_LIBRARY;
  for (int i = library ? 0 : 1; i < f->set.count; i++) {
    const object *o = get(f, i);
    if (f->libode == NOBODY &&
        (is_libode(o->name) || is_libode(o->elf.soname ? o->elf.soname : "")))
      f->libode = i;
    if (!o->path) {
      if (f->missing == NOBODY || is_libode(o->name)) f->missing = i;
      continue;
    }
    const struct solver_symbol *solver = exported_solver(&o->elf);
    if (solver && is_lcplug(o)) {
      if (f->engine == NOBODY && !f->preload_mapped) f->linked = LINKED_SURELY;
    } else if (solver && f->engine == NOBODY) {
      f->engine = i;
      f->solver = solver;
    } else if (!solver && f->hidden == NOBODY && !is_lcplug(o) &&
               elf_has_text(&o->elf, solver_message)) {
      f->hidden = i;
    }
  }
}

/* The C library's own files open others for their own needs only. */
static bool is_system(const object *o) {
  static const char *const names[] = {"libc.so",  "libm.so",      "libdl.so",      "ld-linux",
                                      "libgcc_s", "libstdc++.so", "libpthread.so", "librt.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(base_name(o->name), names[i], strlen(names[i])) == 0) return true;
  return false;
}

static void look_at_calls(facts *f) {
  for (int i = 0; i < f->set.count; i++) {
    const object *o = get(f, i);
    if (!o->path || is_system(o) || is_lcplug(o)) continue;
    for (int c = 0; c < CALLS; c++)
      if (f->calls[c] == NOBODY && i != f->engine && elf_imports(&o->elf, call_names[c]))
        f->calls[c] = i;
    if (f->solver && i != f->engine && f->asks == NOBODY && elf_imports(&o->elf, f->solver->symbol))
      f->asks = i;
    if (f->opens == NOBODY && (elf_imports(&o->elf, "dlopen") || elf_imports(&o->elf, "dlmopen")))
      f->opens = i;
  }
  if (f->engine != NOBODY) {
    const elf_file *elf = &get(f, f->engine)->elf;
    f->by_name = f->solver->unused || (!elf->symbolic && elf_binds_by_name(elf, f->solver->symbol));
  }
}

/* Does exec raise privileges here?  Then the loader takes no path from LD_PRELOAD.  A set-id file
 * changes nothing for its own owner or group, nor on a file system mounted nosuid; capabilities
 * change nothing for root. */
static void look_at_privileges(facts *f) {
  const char *path = get(f, 0)->path;
  struct stat status;
  struct statvfs system;
  if (stat(path, &status) != 0) return;
  bool ignored = statvfs(path, &system) == 0 && (system.f_flag & ST_NOSUID);
  bool setuid_bit = status.st_mode & S_ISUID;
  bool setgid_bit = (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP);
  bool capable = getxattr(path, "security.capability", NULL, 0) > 0;
  if (!setuid_bit && !setgid_bit && !capable) return;
  f->privileged =
      !ignored && ((setuid_bit && status.st_uid != getuid()) ||
                   (setgid_bit && status.st_gid != getgid()) || (capable && getuid() != 0));
  f->privilege = tool_format("%s%s%s%s", setuid_bit ? "setuid" : "", setgid_bit ? " setgid" : "",
                             capable ? " capabilities" : "",
                             f->privileged ? "" : ", but not for this user on this file system");
}

static void look_at_preload(facts *f) {
  if (!f->preload) f->preload = preload_find(PRELOAD_NAME, &f->preload_problem);
  if (!f->preload) return;
  const char *problem = f->preload_mapped ? NULL : preload_path_problem(f->preload);
  elf_file elf;
  elf_status status = elf_open(&elf, f->preload);
  if (status != ELF_OK) problem = "is no ELF library";
  if (problem) f->preload_problem = tool_format("'%s': %s", f->preload, problem);
  if (status == ELF_OK) {
    const elf_file *program = &get(f, 0)->elf;
    f->preload_fits = elf.bits == program->bits && elf.machine == program->machine;
    f->preload_offers = f->solver && elf_exports(&elf, f->solver->symbol);
    /* A versioned reference matches the same version, or a file that has no versions at all. */
    f->version_conflict = f->solver && elf.defines_versions &&
                          elf_is_versioned(&get(f, f->engine)->elf, f->solver->symbol);
  }
  if (status == ELF_OK || status == ELF_FOREIGN) elf_close(&elf);
}

/* The settings that `lcplug run` would hand on. */
static void look_at_settings(facts *f) {
  lcplug_settings settings = lcplug_settings_default();
  const char *text = getenv("LCPLUG");
  if (text) lcplug_settings_parse(&settings, text, NULL, 0);
  f->redirected = settings.quickstep == LCPLUG_QUICKSTEP_STEP;
}

static void look(facts *f) {
  f->libode = f->missing = f->engine = f->hidden = f->opens = f->asks = NOBODY;
  for (int c = 0; c < CALLS; c++) f->calls[c] = NOBODY;
  look_at_program(f);
  look_at_libraries(f);
  look_at_calls(f);
  look_at_privileges(f);
  look_at_preload(f);
  look_at_settings(f);
}

/* ---- the check list -------------------------------------------------------------------------- */

/* "question:   yes (detail)", or without the brackets if there is no detail. */
__attribute__((format(printf, 3, 4))) static void check(const char *question, bool answer,
                                                        const char *format, ...) {
  char detail[2 * PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  printf("%-30s %s", question, answer ? "yes" : "no");
  if (*detail) printf(" (%s)", detail);
  putchar('\n');
}

static void print_program(const facts *f) {
  const elf_file *elf = &get(f, 0)->elf;
  static const char *const kinds[] = {"program", "program", "library", "file"};
  if (f->script) printf("%-30s %s\n", "script:", f->script);
  if (f->pid) printf("%-30s %ld\n", "process:", f->pid);
  printf("%-30s %s\n", f->script ? "its interpreter:" : "program:", get(f, 0)->path);
  check("ELF:", true, "%d-bit %s %s", elf->bits, elf_machine_name(elf), kinds[elf->kind]);
  check("dynamically linked:", elf->kind != ELF_STATIC_PROGRAM, "%s", "");
  if (f->privilege)
    check("privileged:", f->privileged, "%s", f->privilege + (f->privilege[0] == ' '));
  else check("privileged:", false, "no setuid, setgid or capabilities");
  if (elf->kind == ELF_LIBRARY) return;
  check("solver inside the program:", f->contains, "%s",
        f->contains   ? "ODE is linked statically"
        : f->stripped ? "stripped, judged by its texts"
                      : "");
  if (f->linked != LINKED_NOT)
    check("lcplug linked in:", true, "%s", f->linked == LINKED_SURELY ? "already" : "it seems so");
}

static void print_libode(const facts *f) {
  const char *question = f->pid ? "libode is mapped:" : "needs libode:";
  if (f->libode == NOBODY) {
    check(question, false, "%s", "");
    return;
  }
  const object *o = get(f, f->libode);
  if (f->pid) check(question, true, "%s", o->path);
  else if (f->libode == 0) check(question, true, "it is libode itself");
  else if (o->parent == 0) check(question, true, "%s, directly", o->name);
  else check(question, true, "%s, through %s", o->name, called(f, o->parent));
  if (!f->pid)
    check("libode found:", o->path != NULL, "%s",
          o->path ? o->path : "searched as the loader does");
}

static void print_libraries(const facts *f) {
  print_libode(f);
  for (int i = 1; i < f->set.count; i++)
    if (!get(f, i)->path && i != f->libode) check("library found:", false, "%s", get(f, i)->name);
  if (f->solver && f->solver->unused)
    check("calls the solver:", f->asks != NOBODY, "%s", f->asks > 0 ? called(f, f->asks) : "");
  else for (int c = 0; c < CALLS; c++) {
    char *question = tool_format("calls %s:", call_names[c]);
    check(question, f->calls[c] != NOBODY, "%s", f->calls[c] > 0 ? called(f, f->calls[c]) : "");
    free(question);
  }
  if (f->calls[QUICK_STEP] != NOBODY)
    check("made dWorldStep:", f->redirected, "%s",
          f->redirected ? "LCPLUG has quickstep=step" : "quickstep=step would do that");
  check("may open libraries later:", f->opens != NOBODY, "%s",
        f->opens > 0 ? called(f, f->opens) : "");
}

static void print_engine(const facts *f) {
  if (f->engine == NOBODY) {
    if (f->hidden == NOBODY) check("exported solver:", false, "%s", "");
    else check("exported solver:", false, "one is hidden in %s", called(f, f->hidden));
    return;
  }
  const elf_file *elf = &get(f, f->engine)->elf;
  check("exported solver:", true, "%s of %s, %s precision, in %s", f->solver->name,
        f->solver->engine, f->solver->precision, called(f, f->engine));
  check("called through the loader:", f->by_name, "%s",
        elf->symbolic ? "linked with -Bsymbolic"
        : f->by_name  ? ""
                      : "bound inside the library");
  check("symbol has a version:", elf_is_versioned(elf, f->solver->symbol), "%s", "");
}

static void print_preload(const facts *f) {
  if (f->pid) check("preload object is mapped:", f->preload_mapped, "%s", "");
  check("preload object found:", f->preload != NULL, "%s",
        f->preload ? f->preload : f->preload_problem);
  if (!f->preload) return;
  check("made for this machine:", f->preload_fits, "%s", "");
  if (f->solver) check("offers this solver:", f->preload_offers, "%s", "");
}

/* ---- the judge ------------------------------------------------------------------------------- */

typedef struct verdict {
  int status;
  const char *reason;
} verdict;

static const verdict unjudged = {-1, NULL};

/* The verdict on what steps the world, if it is in sight. */
static verdict judge_steps(const facts *f) {
  /* Who calls the solver directly needs no step. */
  if (f->calls[STEP] != NOBODY || f->calls[TEST_SOLVE] != NOBODY || f->asks != NOBODY)
    return (verdict){TOOL_OK, NULL};
  if (f->calls[QUICK_STEP] == NOBODY) return unjudged;
  if (f->redirected)
    return (verdict){TOOL_OK, "quickstep=step makes its dWorldQuickStep dWorldStep"};
  return (verdict){TOOL_NO,
                   "dWorldQuickStep has an iteration of its own and never calls the solver; "
                   "call dWorldStep instead, or set quickstep=step"};
}

static verdict judge_calls(const facts *f) {
  verdict v = judge_steps(f);
  if (v.status != unjudged.status) return v;
  if (f->solver && f->solver->unused && f->opens == NOBODY)
    return (verdict){TOOL_NO, f->solver->unused};
  if (get(f, 0)->elf.kind == ELF_LIBRARY)
    return (verdict){TOOL_UNKNOWN,
                     "the library can be swapped, but does a program call dWorldStep?  Ask "
                     "the doctor about the program"};
  if (f->opens != NOBODY)
    return (verdict){TOOL_UNKNOWN,
                     "no call of dWorldStep in sight, but libraries may be loaded later; "
                     "run `lcplug run --stats=1 -- PROGRAM` to see"};
  return (verdict){TOOL_NO, "nothing calls dWorldStep; call it to step the world"};
}

static const char relink[] = "ODE is linked into the program, out of the loader's reach; relink it "
                             "with lcplug (doc/relink.md)";

/* Programs with a solver of their own, or with no loader. */
static verdict judge_program(const facts *f) {
  bool fixed = get(f, 0)->elf.kind == ELF_STATIC_PROGRAM;
  if (f->linked == LINKED_SURELY && f->contains)
    return (verdict){TOOL_OK, "lcplug is linked in, no preload needed"};
  if (f->linked == LINKED_SURELY) return judge_calls(f);
  if (f->linked == LINKED_PERHAPS)
    return (verdict){TOOL_UNKNOWN,
                     "the program is stripped and seems to be linked with lcplug already; "
                     "run it with LCPLUG=stats=1 to see"};
  if (f->contains) return (verdict){TOOL_NO, relink};
  if (fixed && f->stripped)
    return (verdict){TOOL_UNKNOWN,
                     "the program is static and stripped; if it uses ODE, relink it with "
                     "lcplug (doc/relink.md)"};
  if (fixed) return (verdict){TOOL_NO, "the program is static and holds no solver of ODE"};
  if (f->privileged && !f->preload_mapped)
    return (verdict){TOOL_NO,
                     "the loader ignores LD_PRELOAD for setuid, setgid and capabilities; run a "
                     "copy without them, or relink (doc/relink.md)"};
  return unjudged;
}

/* Nothing in sight exports a solver. */
static verdict judge_without_engine(const facts *f) {
  if (f->engine != NOBODY) return unjudged;
  if (f->libode != NOBODY && f->libode == f->missing)
    return (verdict){TOOL_UNKNOWN, "libode was not found; name its folder in LD_LIBRARY_PATH"};
  if (f->hidden != NOBODY)
    return (verdict){TOOL_NO,
                     "a library has the solver inside but does not export it; rebuild that "
                     "library against a shared libode"};
  if (f->libode != NOBODY)
    return (verdict){TOOL_NO, "this libode exports no solver that lcplug knows"};
  if (f->missing != NOBODY)
    return (verdict){TOOL_UNKNOWN, "a library was not found; name its folder in LD_LIBRARY_PATH"};
  if (f->opens != NOBODY)
    return (verdict){TOOL_UNKNOWN, "it does not link libode but may load it later; run `lcplug run "
                                   "--stats=1 -- PROGRAM` to see"};
  if (f->script)
    return (verdict){TOOL_UNKNOWN,
                     "the script's interpreter does not use ODE, but programs that the "
                     "script starts get the swap too; ask the doctor about those"};
  return (verdict){TOOL_NO, "the program does not use ODE; nothing to do"};
}

static verdict judge_preload(const facts *f) {
  if (!f->preload || f->preload_problem)
    return (verdict){TOOL_NO, "there is no usable preload object; install lcplug, or name it in "
                              "LCPLUG_PRELOAD"};
  if (!f->preload_fits)
    return (verdict){TOOL_NO,
                     "the preload object is made for another machine; build lcplug for the "
                     "program's (32- or 64-bit)"};
  if (!f->preload_offers)
    return (verdict){TOOL_NO, "the preload object does not offer this solver; update lcplug"};
  if (!f->by_name)
    return (verdict){TOOL_NO,
                     "the library calls its own solver directly; rebuild it without -Bsymbolic, "
                     "or use the system's libode"};
  if (f->version_conflict)
    return (verdict){TOOL_NO,
                     "the solver's symbol has a version that the preload object lacks; relink "
                     "(doc/relink.md)"};
  return unjudged;
}

/* A process that runs without the preload stays without it. */
static verdict judge_process(const facts *f, verdict v) {
  if (!f->pid || f->preload_mapped || f->linked == LINKED_SURELY || v.status == TOOL_NO) return v;
  if (f->engine == NOBODY)
    return (verdict){TOOL_NO,
                     "the process has not loaded libode, and nothing can be inserted into a "
                     "running process; if it will need it, restart it with `lcplug run -- "
                     "PROGRAM`"};
  return (verdict){TOOL_NO,
                   "nothing can be inserted into a running process; restart it with `lcplug "
                   "run -- PROGRAM`"};
}

static verdict judge(const facts *f) {
  static verdict (*const rules[])(const facts *) = {judge_program, judge_without_engine,
                                                    judge_preload, judge_calls};
  verdict v = unjudged;
  for (size_t i = 0; i < sizeof rules / sizeof *rules && v.status == unjudged.status; i++)
    v = rules[i](f);
  return judge_process(f, v);
}

static int report(const facts *f) {
  print_program(f);
  if (get(f, 0)->elf.kind != ELF_STATIC_PROGRAM) {
    print_libraries(f);
    print_engine(f);
    print_preload(f);
  }
  verdict v = judge(f);
  const char *sentence = v.status == TOOL_OK   ? "the swap takes effect"
                         : v.status == TOOL_NO ? "the swap takes no effect"
                                               : "cannot tell";
  printf("verdict: %s%s%s\n", sentence, v.reason ? ": " : "", v.reason ? v.reason : "");
  return v.status;
}

/* ---- what was named -------------------------------------------------------------------------- */

static int cannot_read(const char *path, elf_status status, int reason) {
  if (status == ELF_UNREADABLE) tool_error("cannot read '%s': %s", path, strerror(reason));
  else if (status == ELF_DAMAGED) tool_error("'%s' is a damaged or truncated ELF file", path);
  else tool_error("'%s' is neither an ELF program nor a script", path);
  return TOOL_USAGE;
}

/* The program that a "#!" line starts, as a new string; NULL if the file has no such line.
 * `#!/usr/bin/env -S VAR=x python3` means the python3 of PATH. */
static char *script_interpreter(const char *path) {
  FILE *stream = fopen(path, "re");
  if (!stream) return NULL;
  char line[512];
  bool script = fgets(line, sizeof line, stream) && line[0] == '#' && line[1] == '!';
  fclose(stream);
  if (!script) return NULL;
  char *rest = NULL;
  const char *word = strtok_r(line + 2, " \t\r\n", &rest);
  if (!word) return NULL;
  const char *first = word;
  if (strcmp(base_name(first), "env") == 0) do
      word = strtok_r(NULL, " \t\r\n", &rest);
    while (word && (*word == '-' || strchr(word, '=')));
  return tool_find_program(word ? word : first);
}

static int examine_file(facts *f, const char *path) {
  elf_status status = objects_of_program(&f->set, path);
  int reason = errno;
  char *interpreter = status == ELF_FOREIGN ? script_interpreter(path) : NULL;
  if (interpreter) {
    f->script = tool_format("%s", path);
    status = objects_of_program(&f->set, interpreter);
    reason = errno;
  }
  int result = TOOL_OK;
  if (status != ELF_OK) {
    result = cannot_read(interpreter ? interpreter : path, status, reason);
  } else if (get(f, 0)->elf.kind == ELF_OTHER) {
    tool_error("'%s' is an object file or a core dump, not a program", path);
    result = TOOL_USAGE;
  }
  free(interpreter);
  return result;
}

static int examine_process(facts *f, const char *digits) {
  char path[PATH_MAX];
  f->pid = strtol(digits, NULL, 10);
  char *link = tool_format("/proc/%ld/exe", f->pid);
  ssize_t length = readlink(link, path, sizeof path - 1);
  int reason = errno;
  free(link);
  if (length < 0) {
    tool_error("cannot look at process %s: %s", digits,
               reason == ENOENT ? "there is no such process with a program" : strerror(reason));
    return TOOL_USAGE;
  }
  path[length] = '\0';
  elf_status status = objects_of_process(&f->set, path, f->pid);
  if (status != ELF_OK) return cannot_read(path, status, errno);
  for (int i = 1; i < f->set.count && !f->preload_mapped; i++)
    if (strcmp(get(f, i)->name, PRELOAD_NAME) == 0) {
      f->preload_mapped = true;
      f->preload = tool_format("%s", get(f, i)->path);
    }
  return TOOL_OK;
}

static bool is_number(const char *text) {
  return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10;
}

static int examine(facts *f, const char *named) {
  if (is_number(named)) return examine_process(f, named);
  char *path = tool_find_program(named);
  if (!path) {
    tool_error("'%s' is not in PATH%s%s", named,
               access(named, F_OK) == 0 ? "; did you mean ./" : "",
               access(named, F_OK) == 0 ? named : "");
    return TOOL_USAGE;
  }
  int status = examine_file(f, path);
  free(path);
  return status;
}

static int doctor_main(const tool_command *command, int argc, char **argv) {
  tool_arguments a;
  const char *program = NULL;
  if (!tool_arguments_begin(&a, command, argc, argv)) return TOOL_USAGE;
  for (int found; (found = tool_next(&a)) != ARGUMENT_END;) {
    if (found != ARGUMENT_OPERAND) return TOOL_USAGE;
    if (program) return tool_misused(command, "one program or process id, please");
    program = a.value;
  }
  if (!program) return tool_misused(command, "one program or process id, please");
  facts f = {0};
  int status = examine(&f, program);
  if (status == TOOL_OK) {
    look(&f);
    status = report(&f);
  }
  facts_free(&f);
  return status;
}

static const tool_note statuses[] = {
    {"0", "the swap takes effect"},
    {"1", "it takes no effect; the last line says what to do"},
    {"2", "wrong usage, or a file that cannot be read or is damaged"},
    {"3", "cannot tell from the files; the last line says how to find out"},
    {0}};
static const tool_note examples[] = {{"lcplug doctor ./app", "Will it work?"},
                                     {"lcplug doctor 4711", "Does it work in process 4711?"},
                                     {0}};
const tool_command tool_doctor_command = {
    .name = "doctor",
    .arguments = "PROGRAM|PID",
    .meaning = "say whether the swap takes effect, and what to do if not",
    .text =
        "Says whether `lcplug run PROGRAM` would take effect, from the program's files alone: "
        "nothing is started.  A number is the id of a running process; for a file of such a name "
        "write ./NUMBER.  For a script its interpreter is examined.\n\n"
        "The answer is a list of questions with yes or no; the last line is the verdict.",
    .statuses = statuses,
    .examples = examples,
    .main = doctor_main};
