/* lcplug/record.h - problems in files: written once, solved again anywhere.
 *
 * A record holds one problem, and the answer and time of the solver that met it first.  Three
 * formats are read and written (doc/record.md has their bytes and words): our own binary one, which
 * keeps everything, FCP text for frictional contacts, and Matrix Market for A.  Files that start
 * with LCPCAP01, an older binary layout without checksums, can be read too. */
#ifndef LCPLUG_RECORD_H
#define LCPLUG_RECORD_H

#include <lcplug/lcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The formats: code, value, name, ending of file names, what it is. */
#define LCPLUG_FORMATS(X)                                                                          \
  X(LCPLUG_FORMAT_RECORD, 0, "record", ".lcp", "lcplug's own, binary, with everything")            \
  X(LCPLUG_FORMAT_FCP, 1, "fcp", ".fcp", "frictional contacts in 2-D or 3-D, as text")             \
  X(LCPLUG_FORMAT_MATRIX_MARKET, 2, "mtx", ".mtx",                                                 \
    "Matrix Market, with b and the bounds as comments")

#define LCPLUG_FORMAT_CODE(code, value, ...) code = value,
typedef enum lcplug_format { LCPLUG_FORMATS(LCPLUG_FORMAT_CODE) } lcplug_format;
#undef LCPLUG_FORMAT_CODE

typedef struct lcplug_record {
  lcplug_problem problem; /* a dense lower triangle; upper elements mean nothing */
  const double *W;        /* A as the file has it, n x n by rows, if that is not symmetric, else
                             NULL; problem.A is then its symmetric part (lcplug_record_as_given) */
  lcplug_format format;   /* of the file that it was read from */
  const double *x;        /* the first solver's answer, or NULL */
  double seconds;         /* its time */
  uint32_t errors;        /* its error messages */
  uint32_t call;          /* which call of its process this was */
  char tag[64];           /* where it comes from; ends with a NUL */
} lcplug_record;

/* Reads a file, in whichever of the formats it is, into a new record, which owns all its arrays:
 * allocates n^2 numbers (or 2 n^2) and a few more, at most 2^14 rows.  On an error *record is NULL
 * and message (may be NULL) names the file and the place. */
LCPLUG_API lcplug_error lcplug_record_read(const char *path, lcplug_record **record, char *message,
                                           size_t size);
LCPLUG_API void lcplug_record_free(lcplug_record *record);

/* The problem with A as the file has it, for lcplug_solve_asymmetric and
 * lcplug_residual_asymmetric: the full W if there is one.  Without one A has no upper triangle:
 * lcplug_solve and lcplug_residual. */
LCPLUG_API lcplug_problem lcplug_record_as_given(const lcplug_record *record);

/* Writes record->problem and the fields beside it.  The file appears under its name only when it is
 * whole.  Allocates. */
LCPLUG_API lcplug_error lcplug_record_write(const char *path, const lcplug_record *record);

/* The same in another format.  LCPLUG_ERROR_FORMAT, and a sentence in message (may be NULL), if
 * that format cannot hold this problem. */
LCPLUG_API lcplug_error lcplug_record_write_as(const char *path, const lcplug_record *record,
                                               lcplug_format format, char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
