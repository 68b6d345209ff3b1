/* record_binary.c - lcplug's own format; doc/record.md has the bytes.
 *
 * A header of fixed size with its checksum, then the nonzeros by rows, b, lo, hi, findex and the
 * answer, then their checksum.  Numbers are stored as floats if that loses nothing, as the problems
 * of a single-precision program are.  A reader trusts nothing: counts are held against the size of
 * the file before anything is allocated, and every index is checked. */
#include "record.h"

#include <endian.h>
#include <string.h>

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN,
               "records are read and written as they lie in memory");

typedef struct record_header {
  char magic[8];
  uint32_t byte_order;
  uint16_t version, precision; /* precision: bytes of a number, 4 or 8 */
  uint32_t n, nub, flags, nonzeros;
  double seconds;
  uint32_t errors, call;
  char tag[64];
  uint32_t unused, crc; /* crc: of the header up to here */
} record_header;
_Static_assert(sizeof(record_header) == 120, "the header is part of the file format");

/* Of captures made before there were records: findex and answer always present, no checksum. */
typedef struct older_header {
  char magic[8];
  uint32_t n, nub, flags, nonzeros;
  double seconds;
  uint32_t errors, call;
  char tag[64];
} older_header;
_Static_assert(sizeof(older_header) == 104, "the header is part of the file format");

enum { HAS_FINDEX = 1, HAS_ANSWER = 2, HAS_BOTH_TRIANGLES = 4, ALL_FLAGS = 7 };
enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, FOREIGN_MARK = 0x04030201 };
/* A copy that took it for text would change the line end. */
static const char MAGIC[8] = "LCPREC\r\n", OLDER_MAGIC[8] = "LCPCAP01";

/* ---- CRC-32, a nibble at a time: a table of 16 needs no set-up ------------------------------- */

static uint32_t crc32_add(uint32_t crc, const void *data, size_t bytes) {
  static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                     0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                     0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                     0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  const unsigned char *byte = data;
  crc = ~crc;
  for (size_t i = 0; i < bytes; i++) {
    crc = table[(crc ^ byte[i]) & 15] ^ (crc >> 4);
    crc = table[(crc ^ (byte[i] >> 4)) & 15] ^ (crc >> 4);
  }
  return ~crc;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int has_magic(const record_input *in, const char magic[8]) {
  return in->size >= 8 && !memcmp(in->bytes, magic, 8);
}

int lcplug_is_binary(const record_input *in) {
  return has_magic(in, MAGIC) || has_magic(in, OLDER_MAGIC);
}

static lcplug_error damaged_at(record_input *in, size_t at, const char *what) {
  in->at = at;
  return lcplug_input_damaged(in, "%s", what);
}

static lcplug_error read_older_header(record_input *in, record_header *h) {
  older_header older;
  in->at = sizeof older;
  if (in->size < sizeof older) return damaged_at(in, in->size, "the file ends within its header");
  memcpy(&older, in->bytes, sizeof older);
  *h = (record_header){.precision = 8,
                       .n = older.n,
                       .nub = older.nub,
                       .flags = (older.flags & HAS_FINDEX) | HAS_ANSWER,
                       .nonzeros = older.nonzeros,
                       .seconds = older.seconds,
                       .errors = older.errors,
                       .call = older.call};
  memcpy(h->tag, older.tag, sizeof h->tag);
  return LCPLUG_OK;
}

static lcplug_error read_newer_header(record_input *in, record_header *h) {
  if (in->size < sizeof *h) return damaged_at(in, in->size, "the file ends within its header");
  memcpy(h, in->bytes, sizeof *h);
  in->at = offsetof(record_header, byte_order);
  if (h->byte_order == FOREIGN_MARK)
    return lcplug_input_damaged(in, "written on a big-endian machine; records are little-endian");
  if (h->byte_order != BYTE_ORDER_MARK) return lcplug_input_damaged(in, "no byte order mark");
  in->at = offsetof(record_header, crc);
  if (h->crc != crc32_add(0, h, offsetof(record_header, crc)))
    return lcplug_input_damaged(in, "the header's checksum does not match");
  in->at = offsetof(record_header, version);
  if (h->version != VERSION)
    return lcplug_input_damaged(in, "version %u; this library reads version %d", h->version,
                                VERSION);
  in->at = offsetof(record_header, precision);
  if (h->precision != 4 && h->precision != 8)
    return lcplug_input_damaged(in, "numbers of %u bytes", h->precision);
  in->at = offsetof(record_header, flags);
  if (h->flags & ~(uint32_t)ALL_FLAGS)
    return lcplug_input_damaged(in, "unknown flags %#x", h->flags);
  in->at = sizeof *h;
  return LCPLUG_OK;
}

/* The older layout has room for findex even if there is none. */
static size_t body_size(const record_header *h, int older) {
  size_t n = h->n, nonzeros = h->nonzeros, real = h->precision;
  size_t bytes = 4 * (n + 1) + (4 + real) * nonzeros + 3 * real * n;
  if (older || (h->flags & HAS_FINDEX)) bytes += 4 * n;
  if (h->flags & HAS_ANSWER) bytes += real * n;
  return bytes + (older ? 0 : 4);
}

static lcplug_error check_counts(record_input *in, const record_header *h, int older) {
  size_t body = in->at, expected = body + body_size(h, older);
  in->at = older ? offsetof(older_header, n) : offsetof(record_header, n);
  if (h->n > RECORD_MOST_ROWS)
    return lcplug_input_damaged(in, "%u rows; %d are the most", h->n, RECORD_MOST_ROWS);
  if (h->nub > h->n) return lcplug_input_damaged(in, "%u rows, %u free ones", h->n, h->nub);
  if (in->size != expected)
    return lcplug_input_damaged(in, "%u rows and %u nonzeros take %zu bytes, the file has %zu",
                                h->n, h->nonzeros, expected, in->size);
  in->at = body;
  if (older) return LCPLUG_OK;
  uint32_t crc;
  memcpy(&crc, in->bytes + in->size - 4, 4);
  if (crc != crc32_add(0, in->bytes + body, in->size - 4 - body))
    return damaged_at(in, in->size - 4, "the checksum does not match");
  return LCPLUG_OK;
}

static double real_at(const record_input *in, size_t at, unsigned precision) {
  float single;
  double number;
  if (precision == 8) {
    memcpy(&number, in->bytes + at, 8);
    return number;
  }
  memcpy(&single, in->bytes + at, 4);
  return single;
}

static uint32_t word_at(const record_input *in, size_t at) {
  uint32_t word;
  memcpy(&word, in->bytes + at, 4);
  return word;
}

/* One row of the matrix: columns ascend, and the diagonal is there. */
static lcplug_error read_row(record_input *in, const record_header *h, uint32_t row, uint32_t begin,
                             uint32_t end, size_t columns, double *A) {
  size_t values = columns + 4 * (size_t)h->nonzeros;
  uint32_t last = h->flags & HAS_BOTH_TRIANGLES ? h->n - 1 : row;
  int diagonal = 0;
  for (uint32_t k = begin; k < end; k++) {
    in->at = columns + 4 * (size_t)k;
    uint32_t column = word_at(in, in->at);
    if (column > last || (k > begin && column <= word_at(in, in->at - 4)))
      return lcplug_input_damaged(in, "row %u has column %u", row, column);
    diagonal |= column == row;
    A[(size_t)row * h->n + column] = real_at(in, values + h->precision * (size_t)k, h->precision);
  }
  return diagonal ? LCPLUG_OK : lcplug_input_damaged(in, "row %u lacks its diagonal", row);
}

/* Scatters the sparse rows into the dense matrix. */
static lcplug_error read_matrix(record_input *in, const record_header *h, double *A) {
  size_t begins = in->at, columns = begins + 4 * ((size_t)h->n + 1);
  uint32_t begin = 0;
  if (word_at(in, begins) != 0)
    return lcplug_input_damaged(in, "the first row does not begin at 0");
  for (uint32_t row = 0; row < h->n; row++) {
    in->at = begins + 4 * ((size_t)row + 1);
    uint32_t end = word_at(in, in->at);
    if (end < begin || end > h->nonzeros)
      return lcplug_input_damaged(in, "row %u ends before it begins or behind the last element",
                                  row);
    lcplug_error error = read_row(in, h, row, begin, end, columns, A);
    if (error) return error;
    begin = end;
  }
  if (begin != h->nonzeros) return lcplug_input_damaged(in, "elements behind the last row");
  in->at = columns + (4 + (size_t)h->precision) * h->nonzeros;
  return LCPLUG_OK;
}

static void read_reals(record_input *in, const record_header *h, double *to) {
  for (uint32_t i = 0; i < h->n; i++, in->at += h->precision)
    to[i] = real_at(in, in->at, h->precision);
}

static void read_vectors(record_input *in, const record_header *h, int older, owned_record *o) {
  int has_findex = (h->flags & HAS_FINDEX) != 0, has_answer = (h->flags & HAS_ANSWER) != 0;
  lcplug_record *record = &o->record;
  read_reals(in, h, o->b);
  read_reals(in, h, o->lo);
  read_reals(in, h, o->hi);
  if (has_findex) memcpy(o->findex, in->bytes + in->at, 4 * (size_t)h->n);
  if (has_findex || older) in->at += 4 * (size_t)h->n;
  if (has_answer) read_reals(in, h, o->x);
  record->problem.nub = (int32_t)h->nub;
  if (!has_findex) record->problem.findex = NULL;
  if (has_answer) record->x = o->x;
  record->seconds = h->seconds;
  record->errors = h->errors;
  record->call = h->call;
  memcpy(record->tag, h->tag, sizeof h->tag);
  record->tag[sizeof h->tag - 1] = '\0';
}

lcplug_error lcplug_read_binary(record_input *in, owned_record *o) {
  int older = has_magic(in, OLDER_MAGIC);
  record_header h;
  lcplug_error error = older ? read_older_header(in, &h) : read_newer_header(in, &h);
  if (!error) error = check_counts(in, &h, older);
  if (!error) error = lcplug_owned_make(o, h.n);
  if (!error) error = read_matrix(in, &h, o->full);
  if (error) return error;
  read_vectors(in, &h, older, o);
  return h.flags & HAS_BOTH_TRIANGLES ? lcplug_owned_symmetrise(o) : LCPLUG_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writer {
  FILE *file;
  uint32_t crc;
  unsigned precision;
} writer;

static void put(writer *w, const void *data, size_t bytes) {
  w->crc = crc32_add(w->crc, data, bytes);
  fwrite(data, 1, bytes, w->file); /* the stream remembers a failure */
}

static void put_word(writer *w, size_t count) {
  uint32_t word = (uint32_t)count;
  put(w, &word, sizeof word);
}

static void put_real(writer *w, double number) {
  float single = (float)number;
  if (w->precision == 4) put(w, &single, sizeof single);
  else put(w, &number, sizeof number);
}

static int row_end(const lcplug_record *record, int row) {
  return record->W ? record->problem.n : row + 1;
}

static int is_stored(const lcplug_record *record, int i, int j) {
  return i == j || lcplug_record_element(record, i, j) != 0.0;
}

static size_t count_row(const lcplug_record *record, int row) {
  size_t count = 0;
  for (int j = 0; j < row_end(record, row); j++) count += (size_t)is_stored(record, row, j);
  return count;
}

static int is_single(double number) { return (double)(float)number == number; }

/* Whether floats hold the whole record without loss. */
static int fits_single(const lcplug_record *record) {
  for (int i = 0; i < record->problem.n; i++) {
    if (!is_single(lcplug_record_b(record, i)) || !is_single(lcplug_record_lo(record, i)) ||
        !is_single(lcplug_record_hi(record, i)) || (record->x && !is_single(record->x[i])))
      return 0;
    for (int j = 0; j < row_end(record, i); j++)
      if (!is_single(lcplug_record_element(record, i, j))) return 0;
  }
  return 1;
}

static void put_matrix(writer *w, const lcplug_record *record) {
  int n = record->problem.n;
  size_t begin = 0;
  for (int i = 0; i < n; i++) {
    put_word(w, begin);
    begin += count_row(record, i);
  }
  put_word(w, begin);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < row_end(record, i); j++)
      if (is_stored(record, i, j)) put_word(w, (size_t)j);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < row_end(record, i); j++)
      if (is_stored(record, i, j)) put_real(w, lcplug_record_element(record, i, j));
}

static void put_header(writer *w, const lcplug_record *record) {
  const lcplug_problem *p = &record->problem;
  record_header h = {.byte_order = BYTE_ORDER_MARK,
                     .version = VERSION,
                     .precision = (uint16_t)w->precision,
                     .n = (uint32_t)p->n,
                     .nub = (uint32_t)(p->nub < p->n ? p->nub : p->n),
                     .flags = (p->findex ? HAS_FINDEX : 0) | (record->x ? HAS_ANSWER : 0) |
                              (record->W ? HAS_BOTH_TRIANGLES : 0),
                     .seconds = record->seconds,
                     .errors = record->errors,
                     .call = record->call};
  memcpy(h.magic, MAGIC, sizeof h.magic);
  memcpy(h.tag, record->tag, sizeof h.tag);
  h.tag[sizeof h.tag - 1] = '\0';
  for (int i = 0; i < p->n; i++) h.nonzeros += (uint32_t)count_row(record, i);
  h.crc = crc32_add(0, &h, offsetof(record_header, crc));
  put(w, &h, sizeof h);
}

lcplug_error lcplug_write_binary(record_output *out, const lcplug_record *record) {
  int n = record->problem.n;
  if (n > RECORD_MOST_ROWS)
    return lcplug_output_unfit(out, "%d rows; a record has at most %d", n, RECORD_MOST_ROWS);
  writer w = {.file = out->file, .precision = fits_single(record) ? 4 : 8};
  put_header(&w, record);
  w.crc = 0;
  put_matrix(&w, record);
  for (int i = 0; i < n; i++) put_real(&w, lcplug_record_b(record, i));
  for (int i = 0; i < n; i++) put_real(&w, lcplug_record_lo(record, i));
  for (int i = 0; i < n; i++) put_real(&w, lcplug_record_hi(record, i));
  if (record->problem.findex) put(&w, record->problem.findex, sizeof(int32_t) * (size_t)n);
  for (int i = 0; record->x && i < n; i++) put_real(&w, record->x[i]);
  put_word(&w, w.crc);
  return LCPLUG_OK;
}
