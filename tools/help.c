/* help.c - the words of a command's table as help, as a manual page and as shell completion. */
#include "command.h"

#include <ctype.h>
#include <string.h>

/* ---- help on a terminal ---------------------------------------------------------------------- */

enum { WIDTH = 96 };

/* Prints the text with line ends where they fit; an empty line in it stays one. */
static void print_wrapped(const char *text, int indent) {
  int column = 0;
  while (*text) {
    if (*text == '\n') {
      fputs(column ? "\n\n" : "\n", stdout);
      column = 0;
      text += strspn(text, "\n");
      continue;
    }
    int length = (int)strcspn(text, " \n");
    if (column && column + 1 + length > WIDTH) {
      putchar('\n');
      column = 0;
    }
    if (!column) column = printf("%*s%.*s", indent, "", length, text);
    else column += printf(" %.*s", length, text);
    text += length;
    text += strspn(text, " ");
  }
  if (column) putchar('\n');
}

static void print_options(const tool_option *options) {
  for (const tool_option *o = options; o && o->code; o++) {
    printf("  --%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    if (o->letter) printf(", -%c%s%s", o->letter, o->value ? " " : "", o->value ? o->value : "");
    putchar('\n');
    print_wrapped(o->meaning, 6);
  }
}

static void print_settings(const tool_command *command) {
  lcplug_option option;
  for (int i = 0; tool_setting_get(command, i, &option); i++) {
    printf("  --%s %s%s\n      %s (built in: %s)\n", option.key, option.values,
           tool_setting_is_flag(&option) ? "  (no value: 1)" : "", option.meaning, option.initial);
    const char *value, *meaning;
    for (int j = 0; lcplug_option_choice(option.key, j, &value, &meaning); j++)
      printf("        %-14s %s\n", value, meaning);
  }
}

void tool_help(const tool_command *command) {
  printf("usage: lcplug %s%s%s\n\n", command->name, *command->arguments ? " " : "",
         command->arguments);
  print_wrapped(command->text, 0);
  if (command->options) puts("\noptions:");
  print_options(command->options);
  if (command->settings) puts("\nsolver options, as --KEY VALUE or --KEY=VALUE:");
  print_settings(command);
  if (command->statuses) puts("\nexit status:");
  for (const tool_note *s = command->statuses; s && s->what; s++)
    printf("  %-4s %s\n", s->what, s->meaning);
  if (command->examples) puts("\nexamples:");
  for (const tool_note *e = command->examples; e && e->what; e++) {
    print_wrapped(e->meaning, 2);
    printf("      %s\n", e->what);
  }
}

/* ---- manual pages ---------------------------------------------------------------------------- */

/* Text for troff: its own characters escaped, and no control character first in a line. */
static void troff(const char *text, int length) {
  for (int i = 0; i < length && text[i]; i++) {
    if (text[i] == '\\') fputs("\\e", stdout);
    else if (text[i] == '-') fputs("\\-", stdout);
    else if ((text[i] == '.' || text[i] == '\'') && (i == 0 || text[i - 1] == '\n'))
      printf("\\&%c", text[i]);
    else putchar(text[i]);
  }
}

static void troff_all(const char *text) { troff(text, (int)strlen(text)); }

static void troff_paragraphs(const char *text) {
  while (*text) {
    const char *end = strstr(text, "\n\n");
    troff(text, end ? (int)(end - text) : (int)strlen(text));
    putchar('\n');
    if (!end) return;
    puts(".PP");
    text = end + strspn(end, "\n");
  }
}

static void manual_option(const char *name, char letter, const char *value) {
  fputs(".TP\n\\fB\\-\\-", stdout);
  troff_all(name);
  fputs("\\fR", stdout);
  if (value) fputs(" \\fI", stdout), troff_all(value), fputs("\\fR", stdout);
  if (letter) printf(", \\fB\\-%c\\fR", letter);
  if (letter && value) fputs(" \\fI", stdout), troff_all(value), fputs("\\fR", stdout);
  putchar('\n');
}

static void manual_settings(const tool_command *command) {
  lcplug_option option;
  for (int i = 0; tool_setting_get(command, i, &option); i++) {
    manual_option(option.key, 0, option.values);
    troff_all(option.meaning);
    fputs(" (built in: ", stdout);
    troff_all(option.initial);
    puts(").");
    const char *value, *meaning;
    for (int j = 0; lcplug_option_choice(option.key, j, &value, &meaning); j++) {
      fputs(".br\n\\fB", stdout);
      troff_all(value);
      fputs("\\fR: ", stdout);
      troff_all(meaning);
      putchar('\n');
    }
  }
}

static void manual_examples(const tool_note *examples) {
  if (examples) puts(".SH EXAMPLES");
  for (const tool_note *e = examples; e && e->what; e++) {
    troff_all(e->meaning);
    puts("\n.PP\n.RS\n.EX");
    troff_all(e->what);
    puts("\n.EE\n.RE\n.PP");
  }
}

void tool_manual(const tool_command *command) {
  fputs(
      ".\\\" Made by `lcplug help --man`; the words are in the sources of the command.\n.TH "
      "LCPLUG\\-",
      stdout);
  for (const char *c = command->name; *c; c++) putchar(toupper((unsigned char)*c));
  printf(" 1 \"\" \"lcplug %s\" \"User Commands\"\n.SH NAME\nlcplug\\-%s \\- ", lcplug_version(),
         command->name);
  troff_all(command->meaning);
  printf("\n.SH SYNOPSIS\n\\fBlcplug %s\\fR ", command->name);
  troff_all(command->arguments);
  puts("\n.SH DESCRIPTION");
  troff_paragraphs(command->text);
  if (command->options || command->settings) puts(".SH OPTIONS");
  for (const tool_option *o = command->options; o && o->code; o++) {
    manual_option(o->name, o->letter, o->value);
    troff_paragraphs(o->meaning);
  }
  if (command->settings)
    puts(".SS Of the solver\nThe same keys stand in the environment variable\n.BR LCPLUG .");
  manual_settings(command);
  if (command->statuses) puts(".SH \"EXIT STATUS\"");
  for (const tool_note *s = command->statuses; s && s->what; s++) {
    printf(".TP\n.B %s\n", s->what);
    troff_paragraphs(s->meaning);
  }
  manual_examples(command->examples);
  puts(".SH \"SEE ALSO\"\n.BR lcplug (1)");
}

/* ---- bash completion ------------------------------------------------------------------------- */

static void completion_values(const tool_command *command) {
  lcplug_option option;
  const char *value;
  for (int i = 0; tool_setting_get(command, i, &option); i++) {
    if (!lcplug_option_choice(option.key, 0, &value, NULL)) continue;
    printf("    %s:--%s) words='", command->name, option.key);
    for (int j = 0; lcplug_option_choice(option.key, j, &value, NULL); j++)
      printf("%s%s", j ? " " : "", value);
    puts("' ;;");
  }
}

static void completion_options(const tool_command *command) {
  lcplug_option option;
  printf("    %s) words='--help", command->name);
  for (const tool_option *o = command->options; o && o->code; o++) printf(" --%s", o->name);
  for (int i = 0; tool_setting_get(command, i, &option); i++)
    if (strcmp(option.key, "help") != 0) printf(" --%s", option.key);
  puts("' ;;");
}

void tool_completion(const tool_command *const *commands, int count) {
  puts("# bash completion for lcplug, made by `lcplug help --completion`\n"
       "_lcplug() {\n"
       "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
       "  # bash takes --key=value for three words\n"
       "  if [ \"$word\" = = ]; then word=; elif [ \"$before\" = = ]; then "
       "before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
       "  COMPREPLY=()\n"
       "  if [ \"$COMP_CWORD\" = 1 ]; then");
  fputs("    words='", stdout);
  for (int i = 0; i < count; i++) printf("%s%s", i ? " " : "", commands[i]->name);
  puts("'\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n    return\n  fi");
  puts("  case ${COMP_WORDS[1]}:$before in");
  for (int i = 0; i < count; i++) completion_values(commands[i]);
  puts(
      "  esac\n  if [ -z \"$words\" ] && [ \"${word:0:1}\" = - ]; then\n    case ${COMP_WORDS[1]} "
      "in");
  for (int i = 0; i < count; i++) completion_options(commands[i]);
  puts("    esac\n  fi\n"
       "  # no words of ours: the shell completes file names\n"
       "  if [ -n \"$words\" ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\")); fi\n"
       "}\n"
       "complete -o default -F _lcplug lcplug");
}
