/* table.h - a table on stdout or stderr: columns as wide as they must be, the first one to the
 * left, the others to the right.  Colours only on a terminal, and not if NO_COLOR is set. */
#ifndef LCPLUG_TABLE_H
#define LCPLUG_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef enum table_mark { MARK_NONE, MARK_GOOD, MARK_BAD } table_mark;

typedef struct table table;

/* heads: the names of the columns, with '|' between them. */
table *table_create(const char *heads);
void table_free(table *t);

/* The next cell, row by row. */
void table_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_marked_cell(table *t, table_mark mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Cells for what the tools show: a time in its unit, a small number, "-"
 * for what is unknown (NaN). */
void table_time(table *t, double seconds);
void table_residual(table *t, double residual, table_mark mark);

void table_print(const table *t);
void table_print_to(const table *t, FILE *out);

/* Whether the one who reads `out` wants colours. */
bool table_colours(FILE *out);

#endif
