/* test_formats.c - problems in the file formats beside each other: FCP, Matrix Market and records
 * hold the same numbers, and what is wrong in a file is named with its place. */
#define _GNU_SOURCE
#include <lcplug/record.h>

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/mend.h"
#include "support.h"

static char path[64];
static void make_path(void) { snprintf(path, sizeof path, "test_formats_%ld.out", (long)getpid()); }
static void remove_path(void) { remove(path); }

static void store(const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
}

static size_t load(void *bytes, size_t room) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  size_t size = fread(bytes, 1, room, file);
  fclose(file);
  ck_assert_uint_lt(size, room);
  return size;
}

static lcplug_record *read_text(const char *text) {
  lcplug_record *record;
  char message[300] = "";
  store(text, strlen(text));
  lcplug_error error = lcplug_record_read(path, &record, message, sizeof message);
  ck_assert_msg(!error, "%s", message);
  return record;
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* Two contacts in 3-D.  u = W r + q is A x = b + w with b = -q; W is
 * kept, A is its symmetric part. */
START_TEST(fcp_becomes_a_problem) {
  const char *text = "# a comment\nFCP 1\n3 2 4\n0.5 0.25\n# q\n-1 0.5 0\n-2 0 1e-3\n"
                     "0 0 2 0 0  0 2 0.125  0 0.125 2\n0 1 0.5 0 0  0 0.5 0  0 0 0.75\n"
                     "1 0 0.5 0 0  0 0.5 0  0 0 0.5\n1 1 3 0 0  0 3 0  0 0 3\n";
  const double b[] = {1, -0.5, 0, 2, 0, -1e-3}, mu[] = {INFINITY, 0.5, 0.5, INFINITY, 0.25, 0.25};
  const int findex[] = {-1, 0, 0, -1, 3, 3};
  lcplug_record *r = read_text(text);
  const lcplug_problem *p = &r->problem;
  ck_assert_int_eq(r->format, LCPLUG_FORMAT_FCP);
  ck_assert_int_eq(p->n, 6);
  ck_assert_int_eq(lcplug_problem_check(p), LCPLUG_OK);
  for (int i = 0; i < 6; i++) {
    ck_assert(p->b[i] == b[i] && p->hi[i] == mu[i] && p->findex[i] == findex[i]);
    ck_assert(p->lo[i] == (i % 3 ? -mu[i] : 0));
  }
  ck_assert_ptr_nonnull(r->W);
  ck_assert(r->W[2 * 6 + 5] == 0.75 && r->W[5 * 6 + 2] == 0.5);
  ck_assert(p->A[5 * p->stride + 2] == 0.625 && p->A[2 * p->stride + 1] == 0.125);
  lcplug_problem given = lcplug_record_as_given(r);
  ck_assert(given.full && given.A == r->W);
  ck_assert_int_eq(lcplug_problem_check(&given), LCPLUG_ERROR_ASYMMETRIC);
  lcplug_record_free(r);
}
END_TEST

START_TEST(fcp_in_the_plane) {
  lcplug_record *r = read_text("FCP 1 2 1 1 0.7 -1 0.25 0 0 1 0.1 0.1 2");
  ck_assert_int_eq(r->problem.n, 2);
  ck_assert_ptr_null(r->W);
  ck_assert(!lcplug_record_as_given(r).full);
  ck_assert_int_eq(r->problem.findex[1], 0);
  ck_assert(r->problem.A[2] == 0.1 && r->problem.b[0] == 1 && r->problem.b[1] == -0.25);
  lcplug_record_free(r);
}
END_TEST

/* Somebody else's Matrix Market file: b is 0 and all rows are free. */
START_TEST(matrix_market_of_others) {
  lcplug_record *r = read_text(
      "%%matrixmarket MATRIX array integer general\n% by columns\n2 2\n4\n1\n3\n5\n");
  ck_assert_int_eq(r->format, LCPLUG_FORMAT_MATRIX_MARKET);
  ck_assert(r->W && r->W[0] == 4 && r->W[1] == 3 && r->W[2] == 1 && r->W[3] == 5);
  ck_assert(r->problem.A[2] == 2 && r->problem.b[1] == 0 && r->problem.lo[0] == -INFINITY &&
            r->problem.hi[1] == INFINITY && r->problem.findex[0] == -1);
  lcplug_record_free(r);
  r = read_text(
      "%%MatrixMarket matrix coordinate real symmetric\n\n2 2 3\n1 1 4.5\n2 2 1e1\n2 1 -.5\n");
  ck_assert(!r->W && r->problem.A[0] == 4.5 && r->problem.A[2] == -0.5 && r->problem.A[3] == 10);
  lcplug_record_free(r);
}
END_TEST

/* ---- round trips ----------------------------------------------------------------------------- */

static void check_same(const lcplug_record *a, const lcplug_record *b) {
  lcplug_problem p = lcplug_record_as_given(a), q = lcplug_record_as_given(b);
  ck_assert_int_eq(p.n, q.n);
  ck_assert_int_eq(p.nub, q.nub);
  ck_assert_int_eq(p.full, q.full);
  for (int i = 0; i < p.n; i++) {
    ck_assert(p.b[i] == q.b[i] && p.lo[i] == q.lo[i] && p.hi[i] == q.hi[i]);
    ck_assert_int_eq(p.findex ? p.findex[i] : -1, q.findex ? q.findex[i] : -1);
    for (int j = 0; j < (p.full ? p.n : i + 1); j++)
      ck_assert(p.A[(size_t)i * p.stride + (size_t)j] == q.A[(size_t)i * q.stride + (size_t)j]);
  }
}

/* Through every format and back, symmetric or not, in 2-D and 3-D, of no contact and of many. */
START_TEST(no_format_changes_a_number) {
  rng r = {90};
  for (int kind = 0; kind < 16; kind++) {
    instance *p = instance_contacts(&r, kind % 4 == 3 ? 12 : kind % 4, 3, 1e-3, 0.3, 0.3);
    double W[36 * 36];
    for (int i = 0; i < p->n; i++)
      for (int j = 0; j < p->n; j++)
        W[i * p->n + j] = instance_at(p, i, j) * (i < j && kind & 4 ? 1 + 1e-3 : 1);
    for (int i = 0; i < p->n; i++)
      if (p->findex[i] >= 0) p->lo[i] = -p->hi[i];
    lcplug_record record = {.problem = instance_problem(p), .W = kind & 4 && p->n ? W : NULL};
    strcpy(record.tag, "first line\nFCP 1");
    for (int format = 0; format <= LCPLUG_FORMAT_MATRIX_MARKET; format++) {
      char message[300] = "";
      lcplug_record *copy;
      lcplug_error error = lcplug_record_write_as(path, &record, (lcplug_format)format, message,
                                                  sizeof message);
      ck_assert_msg(!error, "%s", message);
      error = lcplug_record_read(path, &copy, message, sizeof message);
      ck_assert_msg(!error, "%s", message);
      ck_assert_int_eq((int)copy->format, format);
      check_same(&record, copy);
      lcplug_record_free(copy);
    }
    instance_free(p);
  }
}
END_TEST

/* Numbers that are floats are stored as such: half the size, the same bits. */
START_TEST(single_precision_is_stored_as_such) {
  rng r = {91};
  instance *p = instance_contacts(&r, 4, 3, 1e-3, 0.5, 0.5);
  static unsigned char bytes[1 << 16];
  lcplug_record record = {.problem = instance_problem(p)}, *copy;
  ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_OK);
  size_t as_double = load(bytes, sizeof bytes);
  ck_assert_int_eq(bytes[14], 8);
  for (int i = 0; i < p->n; i++) {
    p->b[i] = (float)p->b[i], p->hi[i] = (float)p->hi[i];
    for (int j = 0; j <= i; j++) instance_set(p, i, j, (float)instance_at(p, i, j));
  }
  ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_OK);
  size_t as_float = load(bytes, sizeof bytes);
  ck_assert_int_eq(bytes[14], 4);
  ck_assert_uint_lt(as_float, as_double * 3 / 4);
  ck_assert_int_eq(lcplug_record_read(path, &copy, NULL, 0), LCPLUG_OK);
  check_same(&record, copy);
  lcplug_record_free(copy);
  /* One element of A that is no float is enough to keep doubles. */
  for (int column = 0; column < 5; column += 4) {
    float before = (float)instance_at(p, 4, column);
    instance_set(p, 4, column, before + 0x1p-40);
    ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_OK);
    ck_assert_int_eq(lcplug_record_read(path, &copy, NULL, 0), LCPLUG_OK);
    check_same(&record, copy);
    lcplug_record_free(copy);
    instance_set(p, 4, column, before);
  }
  instance_free(p);
}
END_TEST

/* A host that has set a locale with a decimal comma. */
START_TEST(numbers_have_a_point_in_every_locale) {
  const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  int set = 0;
  for (int i = 0; i < 4 && !set; i++) set = setlocale(LC_ALL, names[i]) != NULL;
  if (!set)
    support_skip("numbers_have_a_point_in_every_locale",
                 "no locale with a decimal comma is installed");
  lcplug_record *r = read_text("FCP 1 2 1 1 0.5 -1.5 0.25 0 0 1 0.125 0.125 2"), *copy;
  ck_assert_int_eq(lcplug_record_write_as(path, r, LCPLUG_FORMAT_FCP, NULL, 0), LCPLUG_OK);
  ck_assert_int_eq(lcplug_record_read(path, &copy, NULL, 0), LCPLUG_OK);
  check_same(r, copy);
  setlocale(LC_ALL, "C");
  lcplug_record_free(r);
  lcplug_record_free(copy);
}
END_TEST

/* FCP holds contacts of one kind and nothing else; the sentence names the
 * row, and no file appears. */
START_TEST(what_fcp_cannot_hold_is_refused) {
  static const struct {
    int row;
    double lo, hi;
    int findex;
    const char *part;
  } cases[] = {{3, -INFINITY, INFINITY, -1, "row 3"},
               {4, -0.5, 0.5, -1, "row 3"},
               {0, 0, 5, -1, "row 0"},
               {1, -INFINITY, INFINITY, 0, "row 1"},
               {5, -0.75, 0.75, 3, "row 4"},
               {1, 0, INFINITY, -1, "has 1"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    rng r = {92};
    instance *p = instance_contacts(&r, 2, 2, 1e-3, 0.5, 0.5);
    char message[300] = "";
    p->lo[cases[k].row] = cases[k].lo, p->hi[cases[k].row] = cases[k].hi,
    p->findex[cases[k].row] = cases[k].findex;
    lcplug_record record = {.problem = instance_problem(p)};
    ck_assert_int_eq(
        lcplug_record_write_as(path, &record, LCPLUG_FORMAT_FCP, message, sizeof message),
        LCPLUG_ERROR_FORMAT);
    ck_assert_msg(strstr(message, cases[k].part), "case %zu: %s", k, message);
    ck_assert_int_eq(lcplug_record_write_as(path, &record, LCPLUG_FORMAT_FCP, NULL, 0),
                     LCPLUG_ERROR_FORMAT);
    ck_assert_int_ne(access(path, F_OK), 0);
    instance_free(p);
  }
  /* A free row, by nub alone. */
  rng r = {93};
  instance *p = instance_contacts(&r, 2, 2, 1e-3, 0.5, 0.5);
  lcplug_record record = {.problem = instance_problem(p)};
  record.problem.nub = 1;
  ck_assert_int_eq(lcplug_record_write_as(path, &record, LCPLUG_FORMAT_FCP, NULL, 0),
                   LCPLUG_ERROR_FORMAT);
  instance_free(p);
}
END_TEST

/* ---- what is wrong in a file ----------------------------------------------------------------- */

/* The text, and what the message has to say; every message names the file. */
static const char *const wrong_texts[][2] = {
    {"", "byte 0: neither a record"},
    {"FCPX 1 2 0 0", "neither a record"},
    {"LCPREC\n", "neither a record"},
    {"FCP", "ends before the version"},
    {"FCP 2 3 1 1", "version 2"},
    {"FCP 1\n4 1 1 0.5", "line 2, byte 7: dimension 4"},
    {"FCP 1\n3 -1 1", "line 2, byte 8: the number of contacts is '-1'"},
    {"FCP 1\n3 1.5 1", "'1.5', not a whole number"},
    {"FCP 1\n3 99999999999999999999 1", "the number of contacts is more than"},
    {"FCP 1\n3 5000 5000 0.5", "cannot be in the"},
    {"FCP 1\n3 1 99 0.5", "the number of blocks is more than 1"},
    {"FCP 1\n2 1 1\n-0.5 0 0 0 0 1 0 0 1", "negative friction"},
    {"FCP 1\n2 1 1\nnan 0 0 0 0 1 0 0 1", "a friction coefficient is 'nan', not a finite number"},
    {"FCP 1\n2 1 1\n0.5\n0 inf\n0 0 1 0 0 1", "line 4, byte 18: q is 'inf'"},
    {"FCP 1\n2 1 1\n0.5\n0 1x\n0 0 1 0 0 1", "'1x'"},
    {"FCP 1\n2 1 1\n0.5\n0 0\n0 1 1 0 0 1", "a block column is more than 0"},
    {"FCP 1\n2 2 2\n1 1\n0 0 0 0\n1 1 1 0 0 1\n0 0 1 0 0 1", "block 0 0 does not come behind"},
    {"FCP 1\n2 2 2\n1 1\n0 0 0 0\n0 0 1 0 0 1\n0 0 1 0 0 1", "block 0 0 does not come behind"},
    {"FCP 1\n2 2 2\n1 1\n0 0 0 0\n0 0 1 0 0 1\n0 1 1 0 0 1", "a diagonal block"},
    {"FCP 1\n2 1 1\n0.5\n0 0\n0 0 1 0 0 1e400", "'1e400', not a finite"},
    {"FCP 1\n2 1 1\n0.5\n0 0\n0 0 1 0 0 ", "the file ends before an element of W"},
    {"FCP 1\n2 1 1\n0.5\n0 0\n0 0 1 0 0 1\n7", "more than the counts announce"},
    {"%%MatrixMarket", "'', where 'matrix'"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
     "'complex', where 'real' or 'integer'"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n", "'skew-symmetric'"},
    {"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", "2 rows but 3 columns"},
    {"%%MatrixMarket matrix coordinate real general\n9000 9000 0\n",
     "9000 rows but only 0 entries"},
    {"%%MatrixMarket matrix array real general\n9000 9000\n1\n", "cannot be in the"},
    {"%%MatrixMarket matrix coordinate real general\n99999 99999 1\n1 1 1\n",
     "the number of rows is more than"},
    {"%%MatrixMarket matrix coordinate real general\n1 1 1\n0 1 1\n", "count from 1"},
    {"%%MatrixMarket matrix coordinate real general\n1 1 1\n2 1 1\n",
     "line 3, byte 52: a row is more than 1"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 1\n2 2 1\n",
     "above the diagonal"},
    {"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n1 1 1\n",
     "more than the counts"},
    {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 1 1\n", "element 1 1 twice"},
    {"%%MatrixMarket matrix coordinate real general\n%row 1 0 inf -1\n2 2 2\n1 1 1\n2 2 1\n",
     "1 of 2 rows"},
    {"%%MatrixMarket matrix coordinate real general\n%row 1 0 inf\n1 1 1\n1 1 1\n", "too short"},
    {"%%MatrixMarket matrix coordinate real general\n%row 1 0 inf 0.5\n1 1 1\n1 1 1\n",
     "findex is 0.5"},
    {"%%MatrixMarket matrix coordinate real general\n%row 1 0 inf -2\n1 1 1\n1 1 1\n",
     "findex is -2"},
    {"%%MatrixMarket matrix coordinate real general\n%row 1 0 inf 1e9\n1 1 1\n1 1 1\n",
     "findex is 1e+09"},
    {"%%MatrixMarket matrix coordinate real general\n%row 1 0 inf -1\n%row 1 0 inf -1\n"
     "1 1 1\n1 1 1\n",
     "more than 1 rows"},
    {"%%MatrixMarket matrix coordinate real general\n%nub 2\n1 1 1\n1 1 1\n", "nub is more than 1"},
};
enum { WRONG_TEXTS = sizeof wrong_texts / sizeof *wrong_texts };

START_TEST(mistakes_are_named_with_their_place) {
  char message[300] = "";
  lcplug_record *record = (lcplug_record *)message;
  store(wrong_texts[_i][0], strlen(wrong_texts[_i][0]));
  ck_assert_int_eq(lcplug_record_read(path, &record, message, sizeof message), LCPLUG_ERROR_FORMAT);
  ck_assert_ptr_null(record);
  ck_assert_msg(!strncmp(message, path, strlen(path)) && strstr(message, "byte "), "no place: %s",
                message);
  ck_assert_msg(strstr(message, wrong_texts[_i][1]), "'%s' does not say '%s'", message,
                wrong_texts[_i][1]);
}
END_TEST

/* Fields of the header of a record, changed with checksums that are right, or not. */
static const struct {
  size_t at;
  unsigned char bytes[4];
  size_t count;
  int mend;
  const char *part;
} wrong_fields[] = {
    {8, {1, 2, 3, 4}, 4, 1, "byte 8: written on a big-endian machine"},
    {8, {9, 9, 9, 9}, 4, 1, "byte 8: no byte order mark"},
    {12, {7}, 1, 1, "byte 12: version 7"},
    {14, {2}, 1, 1, "byte 14: numbers of 2 bytes"},
    {24, {0x80}, 1, 1, "byte 24: unknown flags 0x80"},
    {16, {0xff, 0xff, 0xff, 0x7f}, 4, 1, "byte 16: 2147483647 rows"},
    {16, {0xff, 0x3f, 0, 0}, 4, 1, "rows and 5 nonzeros take"},
    {20, {9}, 1, 1, "byte 16: 3 rows, 9 free ones"},
    {28, {6}, 1, 1, "byte 16: 3 rows and 6 nonzeros take"},
    {16, {2}, 1, 0, "byte 116: the header's checksum"},
    {200, {1}, 1, 0, "byte 224: the checksum does not match"},
    {120, {1}, 1, 1, "byte 120: the first row does not begin at 0"},
    {128, {0}, 1, 1, "byte 128: row 1 ends before it begins"},
    {140, {5}, 1, 1, "byte 140: row 1 has column 5"},
    {152, {1}, 1, 1, "byte 152: row 2 has column 1"},
    {132, {4}, 1, 1, "row 2 lacks its diagonal"},
};
enum { WRONG_FIELDS = sizeof wrong_fields / sizeof *wrong_fields };

START_TEST(wrong_fields_are_named_with_their_offset) {
  lcplug_record *r = read_text(
      "%%MatrixMarket matrix coordinate real symmetric\n%row 1 0 inf -1\n%row 1 0 inf -1\n"
      "%row 1 -1 1 1\n3 3 5\n1 1 2\n2 1 1\n2 2 2\n3 2 1\n3 3 2\n");
  unsigned char bytes[512];
  char message[300] = "";
  lcplug_record *record;
  ck_assert_int_eq(lcplug_record_write(path, r), LCPLUG_OK);
  lcplug_record_free(r);
  size_t size = load(bytes, sizeof bytes);
  ck_assert_uint_eq(size, 228);
  memcpy(bytes + wrong_fields[_i].at, wrong_fields[_i].bytes, wrong_fields[_i].count);
  if (wrong_fields[_i].mend) mend_checksums(bytes, size);
  store(bytes, size);
  ck_assert_int_eq(lcplug_record_read(path, &record, message, sizeof message), LCPLUG_ERROR_FORMAT);
  ck_assert_msg(strstr(message, wrong_fields[_i].part), "'%s' does not say '%s'", message,
                wrong_fields[_i].part);
}
END_TEST

/* A file with a hole in it, whose size says 1 TB, is not loaded. */
START_TEST(huge_files_are_refused_unread) {
  char message[300] = "";
  lcplug_record *record;
  store("FCP 1", 5);
  if (truncate(path, (off_t)1 << 40)) {
    support_skip("huge_files_are_refused_unread", "the file system has no files with holes");
    return;
  }
  ck_assert_int_eq(lcplug_record_read(path, &record, message, sizeof message), LCPLUG_ERROR_FILE);
  ck_assert_msg(strstr(message, "larger than any record"), "%s", message);
}
END_TEST

/* ---- mutations ------------------------------------------------------------------------------- */

typedef struct mutant {
  unsigned char bytes[8192];
  size_t size;
} mutant;

/* One random change: bytes, numbers that matter, a piece cut out, doubled or swapped for digits. */
static void mutate(mutant *m, rng *r) {
  static const uint32_t words[] = {0,          1,          0x7fffffff, 0x80000000,
                                   0xffffffff, 0x7f800000, 0x7fc00000, 0x00010000};
  static const char *const texts[] = {"-1", "1e999", "nan", "99999999", "0",
                                      "#",  "%row",  "\n",  " ",        "0x1p3"};
  size_t at = m->size ? (size_t)rng_below(r, (int)m->size) : 0, rest = m->size - at;
  size_t length = rest ? 1 + (size_t)rng_below(r, rest < 16 ? (int)rest : 16) : 0;
  const char *text = texts[rng_below(r, 10)];
  switch (rng_below(r, 6)) {
    case 0: if (rest) m->bytes[at] ^= (unsigned char)(1 << rng_below(r, 8)); break;
    case 1: if (rest) m->bytes[at] = (unsigned char)rng_below(r, 256); break;
    case 2: if (rest >= 4) memcpy(m->bytes + at / 4 * 4, &words[rng_below(r, 8)], 4); break;
    case 3:
      memmove(m->bytes + at, m->bytes + at + length, rest - length);
      m->size -= length;
      break;
    case 4:
      if (m->size + length >= sizeof m->bytes) break;
      memmove(m->bytes + at + length, m->bytes + at, rest);
      m->size += length;
      break;
    default: if (rest > strlen(text)) memcpy(m->bytes + at, text, strlen(text));
  }
}

/* Whatever was read can be put to the solver, which solves or refuses it, with finite forces. */
static void check_mutant(lcplug_workspace *workspace, const lcplug_record *record) {
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_COULOMB);
  s.max_iter = 2;
  int n = record->problem.n;
  double *x = malloc(((size_t)n + 1) * sizeof *x), residual;
  lcplug_solution solution = {.x = x};
  lcplug_problem given = lcplug_record_as_given(record);
  ck_assert_ptr_nonnull(x);
  if (!lcplug_solve(workspace, &record->problem, &s, &solution, NULL)) {
    for (int i = 0; i < n; i++) ck_assert(isfinite(x[i]));
    if (record->W)
      lcplug_residual_asymmetric(workspace, &given, s.friction, x, 1, NULL, NULL, 0, &residual);
  }
  ck_assert_uint_lt(strlen(record->tag), sizeof record->tag);
  free(x);
}

static int try_mutant(lcplug_workspace *workspace, const mutant *m) {
  char message[300] = "";
  lcplug_record *record = NULL;
  store(m->bytes, m->size);
  lcplug_error error = lcplug_record_read(path, &record, message, sizeof message);
  if (!error) check_mutant(workspace, record);
  else
    ck_assert_msg(error == LCPLUG_ERROR_FORMAT && !record && strstr(message, path), "%d: %s",
                  (int)error, message);
  lcplug_record_free(record);
  return !error;
}

static int is_seed(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* The seeds of the fuzzer, changed at random but the same way every time. */
START_TEST(mutants_are_read_or_refused) {
  enum { MUTANTS = 4000 };
  char folder[4096], name[4400];
  struct dirent **seeds;
  const char *top = getenv("abs_top_srcdir");
  snprintf(folder, sizeof folder, "%s/tests/data/seeds", top ? top : ".");
  int count = scandir(folder, &seeds, is_seed, alphasort), read = 0, refused = 0;
  ck_assert_msg(count >= 10, "no seeds in %s", folder);
  lcplug_workspace *workspace = lcplug_workspace_create();
  int memory = memfd_create("mutants", 0); /* thousands of files; disks are slow */
  if (memory >= 0) snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
  for (int i = 0; i < count; i++) {
    rng r = {(uint64_t)(1000 + i)};
    mutant seed = {.size = 0};
    snprintf(name, sizeof name, "%s/%s", folder, seeds[i]->d_name);
    FILE *file = fopen(name, "rb");
    ck_assert_ptr_nonnull(file);
    seed.size = fread(seed.bytes, 1, sizeof seed.bytes, file);
    fclose(file);
    ck_assert_msg(try_mutant(workspace, &seed), "%s cannot be read", name);
    for (int k = 0; k < MUTANTS; k++) {
      mutant m = seed;
      for (int changes = 1 + rng_below(&r, 4); changes > 0; changes--) mutate(&m, &r);
      if (k % 4 && m.size >= 8 && !memcmp(m.bytes, "LCPREC", 6)) mend_checksums(m.bytes, m.size);
      if (try_mutant(workspace, &m)) read++;
      else refused++;
    }
    free(seeds[i]);
  }
  free(seeds);
  if (memory >= 0) close(memory);
  lcplug_workspace_free(workspace);
  /* both happen, or the mutations are too wild or too tame */
  ck_assert_msg(read > count * MUTANTS / 50 && refused > count * MUTANTS / 4, "%d read, %d refused",
                read, refused);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("formats");
  TCase *tests = support_case(suite, "formats");
  tcase_add_checked_fixture(tests, make_path, remove_path);
  tcase_add_test(tests, fcp_becomes_a_problem);
  tcase_add_test(tests, fcp_in_the_plane);
  tcase_add_test(tests, matrix_market_of_others);
  tcase_add_test(tests, no_format_changes_a_number);
  tcase_add_test(tests, single_precision_is_stored_as_such);
  tcase_add_test(tests, numbers_have_a_point_in_every_locale);
  tcase_add_test(tests, what_fcp_cannot_hold_is_refused);
  tcase_add_loop_test(tests, mistakes_are_named_with_their_place, 0, WRONG_TEXTS);
  tcase_add_loop_test(tests, wrong_fields_are_named_with_their_offset, 0, WRONG_FIELDS);
  tcase_add_test(tests, huge_files_are_refused_unread);
  tcase_add_test(tests, mutants_are_read_or_refused);
  return support_run(suite);
}
