/* lcplug/record.h - problems in files: written once, solved again anywhere.
 *
 * A record holds one problem, and the answer and time of the solver that met it first.  The format
 * is little-endian: a header of fixed size with magic, version and counts, then the nonzeros of the
 * lower triangle by rows, b, lo, hi, findex and the answer, the whole followed
 * by a CRC-32.  doc/record.md has the bytes.  Files that start with LCPCAP01, an older layout
 * without a checksum, can be read too. */
#ifndef LCPLUG_RECORD_H
#define LCPLUG_RECORD_H

#include <lcplug/lcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lcplug_record {
  lcplug_problem problem; /* a dense lower triangle; upper elements are 0 and mean nothing */
  const double *x;        /* the first solver's answer, or NULL */
  double seconds;         /* its time */
  uint32_t errors;        /* its error messages */
  uint32_t call;          /* which call of its process this was */
  char tag[64];           /* where it comes from; ends with a NUL */
} lcplug_record;

/* Reads a file into a new record, which owns all its arrays: allocates n^2 numbers and a few more.
 * On an error *record is NULL and message (may be NULL) names the file and the place. */
LCPLUG_API lcplug_error lcplug_record_read(const char *path, lcplug_record **record, char *message,
                                           size_t size);
LCPLUG_API void lcplug_record_free(lcplug_record *record);

/* Writes record->problem and the fields beside it.  The file appears under its name only when it is
 * whole.  Allocates. */
LCPLUG_API lcplug_error lcplug_record_write(const char *path, const lcplug_record *record);

#ifdef __cplusplus
}
#endif

#endif
