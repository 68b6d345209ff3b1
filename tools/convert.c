/* convert.c - `lcplug convert`: one problem from one file format to another. */
#include <lcplug/record.h>
#include <string.h>

#include "files.h"
#include "tools.h"

enum { CONVERT_TO = 1 };

#define NAME(code, value, name, ending, meaning) [code] = name,
static const char *const names[] = {LCPLUG_FORMATS(NAME)};
enum { NAMES = sizeof names / sizeof *names };

static bool find_format(const char *name, lcplug_format *format) {
  for (int i = 0; i < NAMES; i++)
    if (strcmp(names[i], name) == 0) {
      *format = (lcplug_format)i;
      return true;
    }
  tool_error("option '--to' cannot be '%s'; allowed: record|fcp|mtx", name);
  return false;
}

/* What the other formats have no place for. */
static void tell_losses(const lcplug_record *record, lcplug_format format, const char *path) {
  if (record->x && format != LCPLUG_FORMAT_RECORD)
    tool_error("%s: the recorded answer and time are left out; only records keep them", path);
}

static int convert(const char *from, const char *to, lcplug_format format) {
  lcplug_record *record = files_read(from);
  char message[512] = "";
  if (!record) return TOOL_USAGE;
  lcplug_error error = lcplug_record_write_as(to, record, format, message, sizeof message);
  if (error)
    tool_error("cannot convert %s to %s: %s", from, to,
               *message ? message : lcplug_error_text(error));
  else tell_losses(record, format, to);
  lcplug_record_free(record);
  return error ? TOOL_USAGE : TOOL_OK;
}

static int convert_main(const tool_command *command, int argc, char **argv) {
  tool_arguments a;
  const char *paths[2];
  int count = 0;
  lcplug_format format;
  bool given = false;
  if (!tool_arguments_begin(&a, command, argc, argv)) return TOOL_USAGE;
  for (int found; (found = tool_next(&a)) != ARGUMENT_END;) {
    if (found == ARGUMENT_WRONG || (found == CONVERT_TO && !find_format(a.value, &format)))
      return TOOL_USAGE;
    given |= found == CONVERT_TO;
    if (found == ARGUMENT_OPERAND && count == 2)
      return tool_misused(command, "one IN and one OUT, please");
    if (found == ARGUMENT_OPERAND) paths[count++] = a.value;
  }
  if (count != 2) return tool_misused(command, "one IN and one OUT, please");
  if (!given && !files_format(paths[1], &format))
    return tool_misused(
        command, "the name of OUT ends in none of .lcp, .fcp and .mtx, and there is no --to");
  return convert(paths[0], paths[1], format);
}

static const tool_option options[] = {
    {CONVERT_TO, "to", 't', "record|fcp|mtx", "the format of OUT, whatever its name"}, {0}};
static const tool_note statuses[] = {
    {"0", "converted"},
    {"2", "wrong usage, an unreadable file, or a problem that the format cannot hold"},
    {0}};
static const tool_note examples[] = {
    {"lcplug convert pile.lcp pile.fcp", "A captured pile for other contact solvers:"},
    {"lcplug convert pile.lcp pile.mtx", "Its matrix for anything that reads Matrix Market:"},
    {0}};
const tool_command tool_convert_command = {
    .name = "convert",
    .arguments = "[OPTION...] IN OUT",
    .meaning = "change the file format of a problem",
    .text =
        "Reads the problem in IN, in whichever format it is, and writes it to OUT in the format "
        "that the ending of its name stands for: .lcp a record, .fcp FCP text, .mtx Matrix "
        "Market.  OUT appears when it is whole.  No number changes.\n\n"
        "FCP holds contacts alone: each a normal row and one or two tangents behind it, with one "
        "finite friction coefficient.  Matrix Market holds A; the right side, the bounds and "
        "findex go into comments that this command reads again and others skip.  Without them b is "
        "0 and all rows are free.",
    .options = options,
    .statuses = statuses,
    .examples = examples,
    .main = convert_main};
