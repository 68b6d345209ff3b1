/* table.c - see table.h. */
#define _GNU_SOURCE
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools.h"

typedef struct cell {
  char *text;
  table_mark mark;
} cell;

struct table {
  int columns, count; /* count: cells, the heads among them */
  cell *cells;
};

static void add_cell(table *t, char *text, table_mark mark) {
  t->cells = tool_resize(t->cells, (size_t)t->count + 1, sizeof *t->cells);
  t->cells[t->count++] = (cell){text, mark};
}

table *table_create(const char *heads) {
  table *t = tool_resize(NULL, 1, sizeof *t);
  *t = (table){0};
  for (;; heads++) {
    size_t length = strcspn(heads, "|");
    add_cell(t, tool_format("%.*s", (int)length, heads), MARK_NONE);
    t->columns++;
    heads += length;
    if (!*heads) return t;
  }
}

void table_free(table *t) {
  if (!t) return;
  for (int i = 0; i < t->count; i++) free(t->cells[i].text);
  free(t->cells);
  free(t);
}

static void add_formatted(table *t, table_mark mark, const char *format, va_list arguments) {
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) text = tool_format("?");
  add_cell(t, text, mark);
}

void table_cell(table *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_formatted(t, MARK_NONE, format, arguments);
  va_end(arguments);
}

void table_marked_cell(table *t, table_mark mark, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_formatted(t, mark, format, arguments);
  va_end(arguments);
}

void table_time(table *t, double seconds) {
  if (isnan(seconds)) table_cell(t, "-");
  else if (seconds < 0.9995e-3) table_cell(t, "%.3g us", 1e6 * seconds);
  else if (seconds < 0.9995) table_cell(t, "%.3g ms", 1e3 * seconds);
  else table_cell(t, "%.3g s", seconds);
}

void table_residual(table *t, double residual, table_mark mark) {
  if (isnan(residual)) table_cell(t, "-");
  else table_marked_cell(t, mark, "%.1e", residual);
}

/* Characters, not bytes: file names may have any. */
static int width(const char *text) {
  int count = 0;
  for (; *text; text++) count += ((unsigned char)*text & 0xc0) != 0x80;
  return count;
}

bool table_colours(FILE *out) {
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(fileno(out)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static void print_cell(FILE *out, const cell *c, int wide, bool left, bool colours) {
  static const char *const codes[] = {
      [MARK_NONE] = "", [MARK_GOOD] = "\033[32m", [MARK_BAD] = "\033[31m"};
  int padding = wide - width(c->text);
  bool coloured = colours && c->mark != MARK_NONE;
  if (!left) fprintf(out, "%*s", padding, "");
  fprintf(out, "%s%s%s", coloured ? codes[c->mark] : "", c->text, coloured ? "\033[0m" : "");
  if (left) fprintf(out, "%*s", padding, "");
}

void table_print_to(const table *t, FILE *out) {
  bool colours = table_colours(out);
  for (int i = 0; i < t->count; i++) {
    int column = i % t->columns, wide = 0;
    for (int k = column; k < t->count; k += t->columns) {
      int w = width(t->cells[k].text);
      if (w > wide) wide = w;
    }
    if (column) fputs("  ", out);
    print_cell(out, &t->cells[i], wide, column == 0, colours);
    if (column == t->columns - 1) fputc('\n', out);
  }
}

void table_print(const table *t) { table_print_to(t, stdout); }
