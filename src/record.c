/* record.c - records in files: the table of formats, and what they share.
 *
 * See lcplug/record.h for the use and doc/record.md for the formats. */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem.h"

typedef struct record_format {
  int (*recognise)(const record_input *in);
  lcplug_error (*read)(record_input *in, owned_record *o);
  lcplug_error (*write)(record_output *out, const lcplug_record *record);
} record_format;

static const record_format formats[] = {
    [LCPLUG_FORMAT_RECORD] = {lcplug_is_binary, lcplug_read_binary, lcplug_write_binary},
    [LCPLUG_FORMAT_FCP] = {lcplug_is_fcp, lcplug_read_fcp, lcplug_write_fcp},
    [LCPLUG_FORMAT_MATRIX_MARKET] = {lcplug_is_matrix_market, lcplug_read_matrix_market,
                                     lcplug_write_matrix_market},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Numbers in text have a point, whatever the host's locale.  Of this thread alone. */
static locale_t enter_plain_locale(locale_t *plain) {
  *plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return *plain ? uselocale(*plain) : (locale_t)0;
}

static void leave_plain_locale(locale_t plain, locale_t before) {
  if (!plain) return;
  uselocale(before);
  freelocale(plain);
}

/* ---- reading --------------------------------------------------------------------------------- */

lcplug_error lcplug_input_damaged(record_input *in, const char *format, ...) {
  if (!in->message || !in->message_size) return LCPLUG_ERROR_FORMAT;
  char text[160], line[40] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (in->line) snprintf(line, sizeof line, "line %zu, ", in->line);
  snprintf(in->message, in->message_size, "%s: %sbyte %zu: %s", in->path, line, in->at, text);
  return LCPLUG_ERROR_FORMAT;
}

static lcplug_error unreadable(record_input *in, const char *why) {
  if (in->message) snprintf(in->message, in->message_size, "%s: %s", in->path, why);
  return LCPLUG_ERROR_FILE;
}

static lcplug_error load_open_file(record_input *in, FILE *file) {
  struct stat kind;
  if (fstat(fileno(file), &kind) || !S_ISREG(kind.st_mode)) return unreadable(in, "not a file");
  if (kind.st_size > RECORD_MOST_BYTES) return unreadable(in, "larger than any record");
  in->size = (size_t)kind.st_size;
  in->bytes = malloc(in->size + 1);
  if (!in->bytes) return LCPLUG_ERROR_MEMORY;
  if (fread(in->bytes, 1, in->size, file) != in->size) return unreadable(in, "cannot be read");
  in->bytes[in->size] = '\0';
  return LCPLUG_OK;
}

static lcplug_error load_file(record_input *in) {
  FILE *file = fopen(in->path, "rb");
  if (!file) return unreadable(in, strerror(errno));
  lcplug_error error = load_open_file(in, file);
  fclose(file);
  return error;
}

static lcplug_error read_some_format(record_input *in, owned_record *o) {
  for (int i = 0; i < FORMATS; i++)
    if (formats[i].recognise(in)) {
      o->record.format = (lcplug_format)i;
      return formats[i].read(in, o);
    }
  return lcplug_input_damaged(in, "neither a record nor FCP nor Matrix Market");
}

lcplug_error lcplug_record_read(const char *path, lcplug_record **record, char *message,
                                size_t size) {
  if (!path || !record) return LCPLUG_ERROR_ARGUMENT;
  record_input in = {.path = path, .message = message, .message_size = size};
  locale_t plain, before = enter_plain_locale(&plain);
  *record = NULL;
  owned_record *o = calloc(1, sizeof *o);
  lcplug_error error = o ? load_file(&in) : LCPLUG_ERROR_MEMORY;
  if (!error) error = read_some_format(&in, o);
  free(in.bytes);
  leave_plain_locale(plain, before);
  if (error == LCPLUG_ERROR_MEMORY && message) snprintf(message, size, "%s: out of memory", path);
  if (error && o) lcplug_record_free(&o->record);
  if (!error) *record = &o->record;
  return error;
}

void lcplug_record_free(lcplug_record *record) {
  owned_record *o = (owned_record *)record;
  if (!o) return;
  free(o->full);
  free(o->symmetric);
  free(o->b);
  free(o->lo);
  free(o->hi);
  free(o->x);
  free(o->findex);
  free(o);
}

/* ---- the record under construction ----------------------------------------------------------- */

lcplug_error lcplug_owned_make(owned_record *o, size_t n) {
  o->full = calloc(n * n + 1, sizeof(double)); /* pages that stay zero are never touched */
  o->b = calloc(n + 1, sizeof(double));
  o->lo = calloc(n + 1, sizeof(double));
  o->hi = calloc(n + 1, sizeof(double));
  o->x = calloc(n + 1, sizeof(double));
  o->findex = calloc(n + 1, sizeof(int32_t));
  if (!o->full || !o->b || !o->lo || !o->hi || !o->x || !o->findex) return LCPLUG_ERROR_MEMORY;
  lcplug_problem *p = &o->record.problem;
  *p = lcplug_problem_default();
  p->n = (int32_t)n;
  p->stride = n;
  p->A = o->full;
  p->b = o->b;
  p->lo = o->lo;
  p->hi = o->hi;
  p->findex = o->findex;
  return LCPLUG_OK;
}

static int is_symmetric(const double *full, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++)
      if (full[i * n + j] != full[j * n + i]) return 0;
  return 1;
}

lcplug_error lcplug_owned_symmetrise(owned_record *o) {
  size_t n = (size_t)o->record.problem.n;
  if (is_symmetric(o->full, n)) return LCPLUG_OK;
  o->symmetric = calloc(n * n, sizeof(double));
  if (!o->symmetric) return LCPLUG_ERROR_MEMORY;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double mean = 0.5 * o->full[i * n + j] + 0.5 * o->full[j * n + i];
      if (mean != 0.0) o->symmetric[i * n + j] = mean;
    }
  o->record.problem.A = o->symmetric;
  o->record.W = o->full;
  return LCPLUG_OK;
}

lcplug_problem lcplug_record_as_given(const lcplug_record *record) {
  lcplug_problem given = record->problem;
  if (record->W) {
    given.A = record->W;
    given.stride = (size_t)given.n;
    given.full = 1;
  }
  return given;
}

/* ---- text ------------------------------------------------------------------------------------ */

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void lcplug_text_next(text_input *t) {
  record_input *in = t->in;
  for (;; in->at++) {
    char c = in->bytes[in->at];
    int begins_line = in->at == 0 || in->bytes[in->at - 1] == '\n';
    if (c == t->comment && begins_line) {
      in->at += strcspn(in->bytes + in->at, "\n");
      c = in->bytes[in->at];
    }
    if (c == '\n') in->line++;
    if (!is_blank(c)) return; /* also the NUL behind the text */
  }
}

/* The word at in->at was read up to `end`, and nothing of it is left. */
static int is_whole_word(const record_input *in, const char *end) {
  return end != in->bytes + in->at && (is_blank(*end) || end == in->bytes + in->size);
}

static lcplug_error not_a(record_input *in, const char *kind, const char *what) {
  if (in->at >= in->size) return lcplug_input_damaged(in, "the file ends before %s", what);
  const char *word = in->bytes + in->at;
  size_t length = strcspn(word, " \t\r\n");
  return lcplug_input_damaged(in, "%s is '%.*s', not %s", what, (int)(length < 40 ? length : 40),
                              word, kind);
}

lcplug_error lcplug_text_real(text_input *t, const char *what, int any, double *value) {
  record_input *in = t->in;
  char *end;
  lcplug_text_next(t);
  *value = strtod(in->bytes + in->at, &end);
  if (!is_whole_word(in, end) || !(any || isfinite(*value)))
    return not_a(in, any ? "a number" : "a finite number", what);
  in->at = (size_t)(end - in->bytes);
  return LCPLUG_OK;
}

lcplug_error lcplug_text_count(text_input *t, const char *what, size_t most, size_t *value) {
  record_input *in = t->in;
  lcplug_text_next(t);
  const char *digit = in->bytes + in->at;
  *value = 0;
  while (*digit >= '0' && *digit <= '9' && *value <= most)
    *value = 10 * *value + (size_t)(*digit++ - '0');
  if (*value > most) return lcplug_input_damaged(in, "%s is more than %zu", what, most);
  if (!is_whole_word(in, digit)) return not_a(in, "a whole number", what);
  in->at = (size_t)(digit - in->bytes);
  return LCPLUG_OK;
}

lcplug_error lcplug_text_end(text_input *t) {
  lcplug_text_next(t);
  return t->in->at < t->in->size ? lcplug_input_damaged(t->in, "more than the counts announce")
                                 : LCPLUG_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

lcplug_error lcplug_output_unfit(record_output *out, const char *format, ...) {
  if (!out->message || !out->message_size) return LCPLUG_ERROR_FORMAT;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out->message, out->message_size, format, arguments);
  va_end(arguments);
  return LCPLUG_ERROR_FORMAT;
}

double lcplug_record_element(const lcplug_record *record, int i, int j) {
  const lcplug_problem *p = &record->problem;
  if (record->W) return record->W[(size_t)i * (size_t)p->n + (size_t)j];
  return i >= j ? p->A[(size_t)i * p->stride + (size_t)j] : p->A[(size_t)j * p->stride + (size_t)i];
}

double lcplug_record_b(const lcplug_record *record, int i) {
  return record->problem.b[(size_t)i * record->problem.b_step];
}

double lcplug_record_lo(const lcplug_record *record, int i) {
  const lcplug_problem *p = &record->problem;
  return p->lo ? p->lo[(size_t)i * p->bounds_step] : -INFINITY;
}

double lcplug_record_hi(const lcplug_record *record, int i) {
  const lcplug_problem *p = &record->problem;
  return p->hi ? p->hi[(size_t)i * p->bounds_step] : INFINITY;
}

int lcplug_record_findex(const lcplug_record *record, int i) {
  const int32_t *findex = record->problem.findex;
  return findex && findex[i] >= 0 ? findex[i] : -1;
}

/* Into a file beside the one asked for, which takes its place when it is whole. */
static lcplug_error write_file(const char *path, const char *part, const lcplug_record *record,
                               lcplug_format format, record_output *out) {
  out->file = fopen(part, "wb");
  if (!out->file) return LCPLUG_ERROR_FILE;
  lcplug_error error = formats[format].write(out, record);
  int failed = ferror(out->file);
  failed |= fclose(out->file) != 0;
  if (!error && (failed || rename(part, path))) error = LCPLUG_ERROR_FILE;
  if (error) {
    int reason = errno;
    remove(part);
    errno = reason;
  }
  return error;
}

lcplug_error lcplug_record_write_as(const char *path, const lcplug_record *record,
                                    lcplug_format format, char *message, size_t size) {
  if (!path || !record || (unsigned)format >= FORMATS) return LCPLUG_ERROR_ARGUMENT;
  lcplug_error error = lcplug_problem_check_vectors(&record->problem);
  if (error) return error;
  char *part;
  if (asprintf(&part, "%s.part-%ld", path, (long)getpid()) < 0) return LCPLUG_ERROR_MEMORY;
  record_output out = {.message = message, .message_size = size};
  locale_t plain, before = enter_plain_locale(&plain);
  error = write_file(path, part, record, format, &out);
  leave_plain_locale(plain, before);
  free(part);
  if (error == LCPLUG_ERROR_FILE && message)
    snprintf(message, size, "%s: %s", path, strerror(errno));
  return error;
}

lcplug_error lcplug_record_write(const char *path, const lcplug_record *record) {
  return lcplug_record_write_as(path, record, LCPLUG_FORMAT_RECORD, NULL, 0);
}
