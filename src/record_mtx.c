/* record_mtx.c - Matrix Market text for A.
 *
 * Read are square real or integer matrices, coordinate or array, symmetric or general.  The
 * format has no place for b, the bounds and findex: we write them as comments, "%row b lo
 * hi findex" for each row, which other readers skip and ours understands.  Without them b
 * is 0 and all rows are free. */
#define _GNU_SOURCE
#include "record.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const char BANNER[] = "%%MatrixMarket", NUB[] = "%nub", ROW[] = "%row";

typedef struct mtx_kind {
  int array, symmetric;
} mtx_kind;

/* ---- reading --------------------------------------------------------------------------------- */

int lcplug_is_matrix_market(const record_input *in) {
  return !strncasecmp(in->bytes, BANNER, strlen(BANNER));
}

/* The next word of the banner is one of two; 0 or 1 for which. */
static lcplug_error read_choice(record_input *in, const char *first, const char *second,
                                int *which) {
  in->at += strspn(in->bytes + in->at, " \t");
  const char *word = in->bytes + in->at;
  size_t length = strcspn(word, " \t\r\n");
  const char *choices[] = {first, second};
  for (*which = 0; *which < 2; (*which)++)
    if (strlen(choices[*which]) == length && !strncasecmp(word, choices[*which], length)) {
      in->at += length;
      return LCPLUG_OK;
    }
  return lcplug_input_damaged(in, "'%.*s', where '%s' or '%s' can be read",
                              (int)(length < 40 ? length : 40), word, first, second);
}

static lcplug_error read_banner(record_input *in, mtx_kind *kind) {
  int unused;
  in->at = strlen(BANNER);
  lcplug_error error = read_choice(in, "matrix", "matrix", &unused);
  if (!error) error = read_choice(in, "coordinate", "array", &kind->array);
  if (!error) error = read_choice(in, "real", "integer", &unused);
  if (!error) error = read_choice(in, "general", "symmetric", &kind->symmetric);
  return error;
}

static lcplug_error read_size(text_input *t, const mtx_kind *kind, size_t *n, size_t *entries) {
  size_t columns;
  lcplug_error error = lcplug_text_count(t, "the number of rows", RECORD_MOST_ROWS, n);
  if (!error) error = lcplug_text_count(t, "the number of columns", RECORD_MOST_ROWS, &columns);
  if (error) return error;
  if (*n != columns) return lcplug_input_damaged(t->in, "%zu rows but %zu columns", *n, columns);
  *entries = kind->symmetric ? *n * (*n + 1) / 2 : *n * *n;
  if (!kind->array) error = lcplug_text_count(t, "the number of entries", *entries, entries);
  if (error) return error;
  if (*entries < *n)
    return lcplug_input_damaged(t->in, "%zu rows but only %zu entries", *n, *entries);
  /* a number and a blank, thrice for a coordinate */
  size_t shortest = (kind->array ? 2 : 6) * *entries;
  if (shortest > t->in->size - t->in->at + 1)
    return lcplug_input_damaged(t->in, "%zu entries cannot be in the %zu bytes that follow",
                                *entries, t->in->size - t->in->at);
  return LCPLUG_OK;
}

static lcplug_error read_coordinates(text_input *t, size_t n, size_t entries, int symmetric,
                                     double *A) {
  for (size_t k = 0; k < entries; k++) {
    size_t i, j;
    double value;
    lcplug_error error = lcplug_text_count(t, "a row", n, &i);
    if (!error) error = lcplug_text_count(t, "a column", n, &j);
    if (!error && (!i || !j)) error = lcplug_input_damaged(t->in, "rows and columns count from 1");
    if (!error && symmetric && j > i)
      error = lcplug_input_damaged(
          t->in, "element %zu %zu is above the diagonal of a symmetric matrix", i, j);
    if (!error) error = lcplug_text_real(t, "an element of A", 0, &value);
    if (error) return error;
    double *place = &A[(i - 1) * n + (j - 1)];
    if (*place != 0.0) return lcplug_input_damaged(t->in, "element %zu %zu twice", i, j);
    *place = value;
  }
  return LCPLUG_OK;
}

/* An array stands column by column. */
static lcplug_error read_array(text_input *t, size_t n, int symmetric, double *A) {
  for (size_t j = 0; j < n; j++)
    for (size_t i = symmetric ? j : 0; i < n; i++) {
      lcplug_error error = lcplug_text_real(t, "an element of A", 0, &A[i * n + j]);
      if (error) return error;
    }
  return LCPLUG_OK;
}

static int begins_with(const record_input *in, size_t at, const char *word) {
  return !strncmp(in->bytes + at, word, strlen(word)) &&
         strchr(" \t", in->bytes[at + strlen(word)]);
}

static lcplug_error read_one_row(text_input *t, size_t row, owned_record *o) {
  record_input *in = t->in;
  lcplug_error error = lcplug_text_real(t, "b", 0, &o->b[row]);
  if (!error) error = lcplug_text_real(t, "lo", 1, &o->lo[row]);
  if (!error) error = lcplug_text_real(t, "hi", 1, &o->hi[row]);
  double findex;
  if (!error) error = lcplug_text_real(t, "findex", 0, &findex);
  if (error) return error;
  if (!(findex >= -1 && findex < RECORD_MOST_ROWS) || findex != floor(findex))
    return lcplug_input_damaged(in, "findex is %g", findex);
  o->findex[row] = (int32_t)findex;
  return LCPLUG_OK;
}

/* The comments that hold the rest of the problem; all rows or none. */
static lcplug_error read_rows(record_input *in, owned_record *o) {
  size_t n = (size_t)o->record.problem.n, row = 0, nub;
  record_input scan = *in;
  text_input t = {.in = &scan, .comment = '\0'};
  lcplug_error error = LCPLUG_OK;
  scan.line = 1;
  for (scan.at = 0; !error && scan.at < scan.size; scan.line++) {
    size_t line = scan.at, next = line + strcspn(scan.bytes + line, "\n");
    if (begins_with(&scan, line, NUB)) {
      scan.at = line + strlen(NUB);
      error = lcplug_text_count(&t, "nub", n, &nub);
      if (!error) o->record.problem.nub = (int32_t)nub;
    } else if (begins_with(&scan, line, ROW)) {
      scan.at = line + strlen(ROW);
      error = row < n ? read_one_row(&t, row, o)
                      : lcplug_input_damaged(&scan, "more than %zu rows", n);
      row++;
    }
    if (!error && scan.at > next) error = lcplug_input_damaged(&scan, "the line is too short");
    scan.at = next + (next < scan.size);
  }
  if (!error && row && row != n) error = lcplug_input_damaged(&scan, "%zu of %zu rows", row, n);
  return error;
}

lcplug_error lcplug_read_matrix_market(record_input *in, owned_record *o) {
  text_input t = {.in = in, .comment = '%'};
  mtx_kind kind;
  size_t n, entries;
  in->line = 1;
  lcplug_error error = read_banner(in, &kind);
  if (!error) error = read_size(&t, &kind, &n, &entries);
  if (!error) error = lcplug_owned_make(o, n);
  if (error) return error;
  for (size_t i = 0; i < n; i++) o->lo[i] = -INFINITY, o->hi[i] = INFINITY, o->findex[i] = -1;
  error = kind.array ? read_array(&t, n, kind.symmetric, o->full)
                     : read_coordinates(&t, n, entries, kind.symmetric, o->full);
  if (!error) error = lcplug_text_end(&t);
  if (!error) error = read_rows(in, o);
  return error || kind.symmetric ? error : lcplug_owned_symmetrise(o);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The diagonal stands there even where it is 0, so that no row is without an entry. */
static int is_stored(const lcplug_record *record, int i, int j) {
  return i == j || lcplug_record_element(record, i, j) != 0.0;
}

lcplug_error lcplug_write_matrix_market(record_output *out, const lcplug_record *record) {
  const lcplug_problem *p = &record->problem;
  int general = record->W != NULL;
  size_t entries = 0;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < (general ? p->n : i + 1); j++) entries += (size_t)is_stored(record, i, j);
  fprintf(out->file, "%s matrix coordinate real %s\n", BANNER, general ? "general" : "symmetric");
  fprintf(out->file,
          "%% A of the problem A x = b + w, lo <= x <= hi; the rest of it, for lcplug: b lo hi "
          "findex\n");
  fprintf(out->file, "%s %d\n", NUB, p->nub < p->n ? p->nub : p->n);
  for (int i = 0; i < p->n; i++)
    fprintf(out->file, "%s %.17g %.17g %.17g %d\n", ROW, lcplug_record_b(record, i),
            lcplug_record_lo(record, i), lcplug_record_hi(record, i),
            lcplug_record_findex(record, i));
  fprintf(out->file, "%d %d %zu\n", p->n, p->n, entries);
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < (general ? p->n : i + 1); j++)
      if (is_stored(record, i, j))
        fprintf(out->file, "%d %d %.17g\n", i + 1, j + 1, lcplug_record_element(record, i, j));
  return LCPLUG_OK;
}
