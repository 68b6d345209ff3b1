/* record.h - what the file formats of records share: the bytes of a file with the place that a
 * message names, the record under construction, and numbers in text whatever the host's locale.
 *
 * A format is a row of the table in record.c: how to recognise it, read it and write it. */
#ifndef LCPLUG_RECORD_INTERNAL_H
#define LCPLUG_RECORD_INTERNAL_H

#include <lcplug/record.h>

#include <stdio.h>
#include <sys/types.h>

/* A is dense in memory, and a small file must not ask for terabytes, nor a
 * file with holes for its size. */
enum { RECORD_MOST_ROWS = 1 << 14 };
#define RECORD_MOST_BYTES ((off_t)1 << 32)

/* ---- reading --------------------------------------------------------------------------------- */

/* A whole file in memory.  bytes[size] is a NUL, so that text ends. */
typedef struct record_input {
  const char *path;
  char *message; /* may be NULL */
  size_t message_size;
  char *bytes;
  size_t size;
  size_t at;   /* the place that a message names */
  size_t line; /* of that place, in text; 0 in a binary file */
} record_input;

/* The message "PATH: line LINE, byte AT: ..." and LCPLUG_ERROR_FORMAT. */
lcplug_error lcplug_input_damaged(record_input *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A record and its arrays. */
typedef struct owned_record {
  lcplug_record record; /* first: the caller's pointer is ours */
  double *full;         /* A as the file has it, n x n */
  double *symmetric;    /* its symmetric part, if that is something else */
  double *b, *lo, *hi, *x;
  int32_t *findex;
} owned_record;

/* Makes the arrays for n rows, all zero, and a problem that points at them.  The caller has held n
 * against RECORD_MOST_ROWS and the size of the file. */
lcplug_error lcplug_owned_make(owned_record *o, size_t n);

/* Ends the reading of o->full: both triangles are there, and may differ. */
lcplug_error lcplug_owned_symmetrise(owned_record *o);

/* ---- text ------------------------------------------------------------------------------------ */

/* Words between blanks; a line that begins with `comment` is skipped. */
typedef struct text_input {
  record_input *in;
  char comment;
} text_input;

/* The next word of the text starts at in->at; the end of the text is an empty word. */
void lcplug_text_next(text_input *t);

/* A finite number, or with `any` also an infinite one or a NaN (a bound that means nothing); a
 * whole number up to most.  `what` names it in the message. */
lcplug_error lcplug_text_real(text_input *t, const char *what, int any, double *value);
lcplug_error lcplug_text_count(text_input *t, const char *what, size_t most, size_t *value);

/* Nothing but blanks and comments follows. */
lcplug_error lcplug_text_end(text_input *t);

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct record_output {
  FILE *file;
  char *message; /* may be NULL */
  size_t message_size;
} record_output;

/* The message and LCPLUG_ERROR_FORMAT: this format cannot hold that record. */
lcplug_error lcplug_output_unfit(record_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Element (i, j) of A as the file has it. */
double lcplug_record_element(const lcplug_record *record, int i, int j);

/* b and the bounds of a row, whatever steps and missing arrays the problem has. */
double lcplug_record_b(const lcplug_record *record, int i);
double lcplug_record_lo(const lcplug_record *record, int i);
double lcplug_record_hi(const lcplug_record *record, int i);
int lcplug_record_findex(const lcplug_record *record, int i);

/* ---- the formats ----------------------------------------------------------------------------- */

int lcplug_is_binary(const record_input *in);
lcplug_error lcplug_read_binary(record_input *in, owned_record *o);
lcplug_error lcplug_write_binary(record_output *out, const lcplug_record *record);

int lcplug_is_fcp(const record_input *in);
lcplug_error lcplug_read_fcp(record_input *in, owned_record *o);
lcplug_error lcplug_write_fcp(record_output *out, const lcplug_record *record);

int lcplug_is_matrix_market(const record_input *in);
lcplug_error lcplug_read_matrix_market(record_input *in, owned_record *o);
lcplug_error lcplug_write_matrix_market(record_output *out, const lcplug_record *record);

#endif
