/* record.c - see lcplug/record.h for the use and doc/record.md for the bytes. */
#define _GNU_SOURCE
#include <lcplug/record.h>

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "records are read and written as they lie in memory");

typedef struct record_header {
  char magic[8];
  uint32_t n, nub, flags, nonzeros;
  double seconds;
  uint32_t errors, call;
  char tag[64];
} record_header;
_Static_assert(sizeof(record_header) == 104, "the header is part of the file format");

enum { HAS_FINDEX = 1, HAS_ANSWER = 2 };
static const char MAGIC[8] = "LCPREC01", OLDER_MAGIC[8] = "LCPCAP01";

/* A record and its arrays. */
typedef struct owned_record {
  lcplug_record record; /* first: the caller's pointer is ours */
  double *A, *b, *lo, *hi, *x;
  int32_t *findex;
} owned_record;

/* ---- CRC-32, a nibble at a time: a table of 16 needs no set-up ------------------------------------ */

static uint32_t crc32_add(uint32_t crc, const void *data, size_t bytes) {
  static const uint32_t table[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  const unsigned char *byte = data;
  crc = ~crc;
  for (size_t i = 0; i < bytes; i++) {
    crc = table[(crc ^ byte[i]) & 15] ^ (crc >> 4);
    crc = table[(crc ^ (byte[i] >> 4)) & 15] ^ (crc >> 4);
  }
  return ~crc;
}

/* ---- reading -------------------------------------------------------------------------------------- */

typedef struct reader {
  const char *path;
  char *message;
  size_t message_size;
  unsigned char *bytes;
  size_t size, at;
} reader;

__attribute__((format(printf, 2, 3))) static lcplug_error damaged(reader *r, const char *format, ...) {
  if (!r->message || !r->message_size) return LCPLUG_ERROR_FORMAT;
  char text[120];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(r->message, r->message_size, "%s: byte %zu: %s", r->path, r->at, text);
  return LCPLUG_ERROR_FORMAT;
}

static lcplug_error unreadable(reader *r) {
  if (r->message) snprintf(r->message, r->message_size, "%s: %s", r->path, strerror(errno));
  return LCPLUG_ERROR_FILE;
}

static lcplug_error load_file(reader *r) {
  FILE *file = fopen(r->path, "rb");
  if (!file) return unreadable(r);
  lcplug_error error = LCPLUG_OK;
  long size = -1;
  struct stat kind;
  if (fstat(fileno(file), &kind) || !S_ISREG(kind.st_mode)) {
    if (r->message) snprintf(r->message, r->message_size, "%s: not a file", r->path);
    error = LCPLUG_ERROR_FILE;
  } else if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
    error = unreadable(r);
  else if (!(r->bytes = malloc((size_t)size + 1)))
    error = LCPLUG_ERROR_MEMORY;
  else if (fread(r->bytes, 1, (size_t)size, file) != (size_t)size)
    error = unreadable(r);
  r->size = size > 0 ? (size_t)size : 0;
  fclose(file);
  return error;
}

/* The next part of the file; its presence was checked with the counts. */
static void take(reader *r, void *to, size_t bytes) {
  memcpy(to, r->bytes + r->at, bytes);
  r->at += bytes;
}

static size_t expected_size(const record_header *h, int older) {
  size_t n = h->n, nonzeros = h->nonzeros;
  size_t bytes = sizeof *h + 4 * (n + 1) + 12 * nonzeros + 24 * n;
  if (older || (h->flags & HAS_FINDEX)) bytes += 4 * n;
  if (older || (h->flags & HAS_ANSWER)) bytes += 8 * n;
  return bytes + (older ? 0 : 4);
}

static lcplug_error read_header(reader *r, record_header *h, int *older) {
  if (r->size < sizeof *h) return damaged(r, "too short for a header");
  memcpy(h, r->bytes, sizeof *h);
  *older = !memcmp(h->magic, OLDER_MAGIC, sizeof h->magic);
  if (!*older && memcmp(h->magic, MAGIC, sizeof h->magic)) return damaged(r, "not a record");
  r->at = 8;
  if (h->n > PROBLEM_LARGEST || h->nub > h->n) return damaged(r, "%u rows, %u free ones", h->n, h->nub);
  if (r->size != expected_size(h, *older))
    return damaged(r, "%zu bytes, but %u rows and %u nonzeros take %zu", r->size, h->n, h->nonzeros,
                   expected_size(h, *older));
  uint32_t crc;
  if (!*older) {
    memcpy(&crc, r->bytes + r->size - 4, 4);
    if (crc != crc32_add(0, r->bytes, r->size - 4)) return damaged(r, "the checksum does not match");
  }
  r->at = sizeof *h;
  return LCPLUG_OK;
}

/* Scatters the sparse rows into the dense triangle, trusting no index. */
static lcplug_error read_matrix(reader *r, const record_header *h, double *A) {
  const unsigned char *begins = r->bytes + r->at, *columns = begins + 4 * ((size_t)h->n + 1);
  const unsigned char *values = columns + 4 * (size_t)h->nonzeros;
  uint32_t begin, end;
  memcpy(&begin, begins, 4);
  if (begin != 0) return damaged(r, "the first row begins at %u", begin);
  for (uint32_t i = 0; i < h->n; i++, begin = end) {
    memcpy(&end, begins + 4 * ((size_t)i + 1), 4);
    if (end <= begin || end > h->nonzeros) return damaged(r, "row %u has a wrong length", i);
    uint32_t before = 0;
    for (uint32_t k = begin; k < end; k++) {
      uint32_t column;
      memcpy(&column, columns + 4 * (size_t)k, 4);
      if (column > i || (k > begin && column <= before)) return damaged(r, "row %u has column %u", i, column);
      memcpy(A + (size_t)i * h->n + column, values + 8 * (size_t)k, 8);
      before = column;
    }
    if (before != i) return damaged(r, "row %u lacks its diagonal", i);
  }
  if (begin != h->nonzeros) return damaged(r, "nonzeros behind the last row");
  r->at += 4 * ((size_t)h->n + 1) + 12 * (size_t)h->nonzeros;
  return LCPLUG_OK;
}

static int make_arrays(owned_record *o, size_t n) {
  o->A = calloc(n * n + 1, sizeof(double)); /* pages that stay zero are never touched */
  o->b = malloc((n + 1) * sizeof(double));
  o->lo = malloc((n + 1) * sizeof(double));
  o->hi = malloc((n + 1) * sizeof(double));
  o->x = malloc((n + 1) * sizeof(double));
  o->findex = malloc((n + 1) * sizeof(int32_t));
  return o->A && o->b && o->lo && o->hi && o->x && o->findex;
}

static void describe(owned_record *o, const record_header *h, int has_findex, int has_answer) {
  lcplug_problem *p = &o->record.problem;
  *p = lcplug_problem_default();
  p->n = (int32_t)h->n;
  p->nub = (int32_t)h->nub;
  p->stride = h->n;
  p->A = o->A;
  p->b = o->b;
  p->lo = o->lo;
  p->hi = o->hi;
  p->findex = has_findex ? o->findex : NULL;
  o->record.x = has_answer ? o->x : NULL;
  o->record.seconds = h->seconds;
  o->record.errors = h->errors;
  o->record.call = h->call;
  memcpy(o->record.tag, h->tag, sizeof h->tag);
  o->record.tag[sizeof h->tag - 1] = '\0';
}

static lcplug_error read_body(reader *r, owned_record *o, const record_header *h, int older) {
  size_t n = h->n;
  int has_findex = older || (h->flags & HAS_FINDEX), has_answer = older || (h->flags & HAS_ANSWER);
  if (!make_arrays(o, n)) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = read_matrix(r, h, o->A);
  if (error) return error;
  take(r, o->b, 8 * n);
  take(r, o->lo, 8 * n);
  take(r, o->hi, 8 * n);
  if (has_findex) take(r, o->findex, 4 * n);
  if (has_answer) take(r, o->x, 8 * n);
  describe(o, h, (h->flags & HAS_FINDEX) != 0, has_answer);
  return LCPLUG_OK;
}

lcplug_error lcplug_record_read(const char *path, lcplug_record **record, char *message, size_t size) {
  if (!path || !record) return LCPLUG_ERROR_ARGUMENT;
  reader r = {.path = path, .message = message, .message_size = size};
  record_header header = {0};
  int older = 0;
  *record = NULL;
  owned_record *o = calloc(1, sizeof *o);
  if (!o) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = load_file(&r);
  if (!error) error = read_header(&r, &header, &older);
  if (!error) error = read_body(&r, o, &header, older);
  free(r.bytes);
  if (error == LCPLUG_ERROR_MEMORY && message) snprintf(message, size, "%s: out of memory", path);
  if (error) lcplug_record_free(&o->record);
  else *record = &o->record;
  return error;
}

void lcplug_record_free(lcplug_record *record) {
  owned_record *o = (owned_record *)record;
  if (!o) return;
  free(o->A);
  free(o->b);
  free(o->lo);
  free(o->hi);
  free(o->x);
  free(o->findex);
  free(o);
}

/* ---- writing -------------------------------------------------------------------------------------- */

typedef struct writer {
  FILE *file;
  uint32_t crc;
  int failed;
} writer;

static void put(writer *w, const void *data, size_t bytes) {
  w->crc = crc32_add(w->crc, data, bytes);
  w->failed |= fwrite(data, 1, bytes, w->file) != bytes;
}

static void put_count(writer *w, size_t count) {
  uint32_t word = (uint32_t)count;
  put(w, &word, sizeof word);
}

static double element(const lcplug_problem *p, int i, int j) { return p->A[(size_t)i * p->stride + (size_t)j]; }

static int is_stored(const lcplug_problem *p, int i, int j) { return i == j || element(p, i, j) != 0.0; }

static size_t count_row(const lcplug_problem *p, int i) {
  size_t count = 0;
  for (int j = 0; j <= i; j++) count += (size_t)is_stored(p, i, j);
  return count;
}

static void put_matrix(writer *w, const lcplug_problem *p) {
  size_t begin = 0;
  for (int i = 0; i < p->n; i++) {
    put_count(w, begin);
    begin += count_row(p, i);
  }
  put_count(w, begin);
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j <= i; j++)
      if (is_stored(p, i, j)) put_count(w, (size_t)j);
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j <= i; j++) {
      double value = element(p, i, j);
      if (is_stored(p, i, j)) put(w, &value, sizeof value);
    }
}

static void put_vector(writer *w, const double *v, size_t step, int n, double missing) {
  for (int i = 0; i < n; i++) {
    double value = v ? v[(size_t)i * step] : missing;
    put(w, &value, sizeof value);
  }
}

static void put_record(writer *w, const lcplug_record *record) {
  const lcplug_problem *p = &record->problem;
  record_header h = {.n = (uint32_t)p->n,
                     .nub = (uint32_t)(p->nub < p->n ? p->nub : p->n),
                     .flags = (p->findex ? HAS_FINDEX : 0) | (record->x ? HAS_ANSWER : 0),
                     .seconds = record->seconds,
                     .errors = record->errors,
                     .call = record->call};
  memcpy(h.magic, MAGIC, sizeof h.magic);
  memcpy(h.tag, record->tag, sizeof h.tag);
  h.tag[sizeof h.tag - 1] = '\0';
  for (int i = 0; i < p->n; i++) h.nonzeros += (uint32_t)count_row(p, i);
  put(w, &h, sizeof h);
  put_matrix(w, p);
  put_vector(w, p->b, p->b_step, p->n, 0.0);
  put_vector(w, p->lo, p->bounds_step, p->n, -INFINITY);
  put_vector(w, p->hi, p->bounds_step, p->n, INFINITY);
  if (p->findex) put(w, p->findex, sizeof *p->findex * (size_t)p->n);
  if (record->x) put(w, record->x, sizeof *record->x * (size_t)p->n);
  uint32_t crc = w->crc;
  put(w, &crc, sizeof crc);
}

lcplug_error lcplug_record_write(const char *path, const lcplug_record *record) {
  if (!path || !record) return LCPLUG_ERROR_ARGUMENT;
  lcplug_error error = lcplug_problem_check_vectors(&record->problem);
  if (error) return error;
  char *part;
  if (asprintf(&part, "%s.part-%ld", path, (long)getpid()) < 0) return LCPLUG_ERROR_MEMORY;
  writer w = {.file = fopen(part, "wb")};
  if (w.file) {
    put_record(&w, record);
    w.failed |= fclose(w.file) != 0;
    if (w.failed || rename(part, path)) {
      remove(part);
      w.file = NULL;
    }
  }
  free(part);
  return w.file ? LCPLUG_OK : LCPLUG_ERROR_FILE;
}
