/* test_record.c - problems in files: what is written is what is read, and a damaged file is an
 * error, or (in a place without meaning) the same content, but never a crash. */
#include <lcplug/record.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

/* One file per test process, in the folder that the tests run in. */
static char path[64];

static void make_path(void) { snprintf(path, sizeof path, "test_record_%ld.out", (long)getpid()); }
static void remove_path(void) { remove(path); }

/* ---- files as bytes -------------------------------------------------------------------------- */

typedef struct bytes {
  unsigned char data[8192];
  size_t size;
} bytes;

static bytes load(const char *name) {
  bytes b = {.size = 0};
  FILE *file = fopen(name, "rb");
  ck_assert_ptr_nonnull(file);
  b.size = fread(b.data, 1, sizeof b.data, file);
  fclose(file);
  ck_assert_uint_lt(b.size, sizeof b.data);
  return b;
}

static void store(const bytes *b, size_t size) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(b->data, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
}

/* ---- records --------------------------------------------------------------------------------- */

static lcplug_record make_record(const instance *p, const double *x) {
  lcplug_record record = {
      .problem = instance_problem(p), .x = x, .seconds = 0.125, .errors = 3, .call = 77};
  strcpy(record.tag, "a pile of two boxes");
  return record;
}

static int same_numbers(const double *p, size_t p_step, const double *q, int n, double missing) {
  for (int i = 0; i < n; i++) {
    double value = p ? p[(size_t)i * p_step] : missing;
    if (memcmp(&value, &q[i], sizeof value)) return 0;
  }
  return 1;
}

/* The problem, answer and notes of two records are the same, to the bit. */
static int same_record(const lcplug_record *a, const lcplug_record *b) {
  const lcplug_problem *p = &a->problem, *q = &b->problem;
  int n = p->n;
  if (n != q->n || p->nub != q->nub || !p->findex != !q->findex || !a->x != !b->x) return 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      if (p->A[(size_t)i * p->stride + (size_t)j] != q->A[(size_t)i * q->stride + (size_t)j])
        return 0;
  return same_numbers(p->b, p->b_step, q->b, n, 0.0) &&
         same_numbers(p->lo, p->bounds_step, q->lo, n, -INFINITY) &&
         same_numbers(p->hi, p->bounds_step, q->hi, n, INFINITY) &&
         (!p->findex || !memcmp(p->findex, q->findex, (size_t)n * sizeof *p->findex)) &&
         (!a->x || same_numbers(a->x, 1, b->x, n, 0.0)) && a->seconds == b->seconds &&
         a->errors == b->errors && a->call == b->call && !strcmp(a->tag, b->tag);
}

static lcplug_record *read_back(const char *name) {
  lcplug_record *record;
  char message[200] = "";
  lcplug_error error = lcplug_record_read(name, &record, message, sizeof message);
  ck_assert_msg(!error, "%s", message);
  return record;
}

/* What is written is read again, and is a problem. */
static void check_round_trip(const lcplug_record *record) {
  ck_assert_int_eq(lcplug_record_write(path, record), LCPLUG_OK);
  lcplug_record *copy = read_back(path);
  ck_assert(same_record(record, copy));
  ck_assert_int_eq(lcplug_problem_check(&copy->problem), LCPLUG_OK);
  lcplug_record_free(copy);
}

/* With and without findex, bounds and answer, of no rows and of many, with steps. */
START_TEST(round_trip) {
  rng r = {80};
  for (int kind = 0; kind < 12; kind++) {
    instance *p = instance_contacts(&r, kind % 4 == 3 ? 20 : kind % 4, 3, 1e-3, 0.5, INFINITY);
    lcplug_record record = make_record(p, kind % 2 ? p->x : NULL);
    for (int i = 0; i < p->n; i++) p->x[i] = rng_between(&r, -1, 1);
    if (kind % 3 == 0) record.problem.findex = NULL;
    if (kind % 3 == 1) record.problem.lo = record.problem.hi = NULL;
    if (kind % 3 == 2) record.problem.nub = p->n / 2;
    check_round_trip(&record);
    instance_free(p);
  }
  lcplug_record_free(NULL);
}
END_TEST

START_TEST(round_trip_of_pairs) {
  rng r = {81};
  instance *p = instance_contacts(&r, 3, 2, 1e-3, 0.5, 0.5);
  double bx[18], lh[18];
  for (int i = 0; i < 9; i++)
    bx[2 * i] = p->b[i], bx[2 * i + 1] = NAN, lh[2 * i] = p->lo[i], lh[2 * i + 1] = p->hi[i];
  lcplug_record record = make_record(p, NULL);
  record.problem.b = bx, record.problem.b_step = 2;
  record.problem.lo = lh, record.problem.hi = lh + 1, record.problem.bounds_step = 2;
  check_round_trip(&record);
  instance_free(p);
}
END_TEST

/* A solve of what was read gives the bits of a solve of what was written. */
START_TEST(read_problems_solve_alike) {
  rng r = {82};
  instance *p = instance_contacts(&r, 5, 2, 1e-3, 0.5, 0.5);
  lcplug_record record = make_record(p, NULL);
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_CONE);
  double x[15];
  lcplug_solution solution = {.x = x};
  lcplug_workspace *workspace = lcplug_workspace_create();
  instance_solve(p, &s);
  ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_OK);
  lcplug_record *copy = read_back(path);
  ck_assert_int_eq(lcplug_solve(workspace, &copy->problem, &s, &solution, NULL), LCPLUG_OK);
  ck_assert_mem_eq(x, p->x, sizeof x);
  lcplug_workspace_free(workspace);
  lcplug_record_free(copy);
  instance_free(p);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

static bytes small_file(lcplug_record *record, instance **p) {
  rng r = {83};
  *p = instance_contacts(&r, 1, 1, 1e-3, 0.5, 0.25);
  *record = make_record(*p, (*p)->x);
  ck_assert_int_eq(lcplug_record_write(path, record), LCPLUG_OK);
  return load(path);
}

enum { HEADER = 120, OLDER_HEADER = 104, COUNTS = 16, OLDER_COUNTS = 8 };

/* The older layout of the same record: a shorter header, no checksums. */
static bytes older_file(bytes b) {
  memcpy(b.data, "LCPCAP01", 8);
  memmove(b.data + OLDER_COUNTS, b.data + COUNTS, OLDER_HEADER - OLDER_COUNTS);
  memmove(b.data + OLDER_HEADER, b.data + HEADER, b.size - HEADER);
  b.size -= HEADER - OLDER_HEADER + 4;
  return b;
}

/* Reads the file at path, which is damaged: an error that names the file and
 * leaves NULL, or a record. */
static lcplug_record *read_damaged(void) {
  char message[300] = "", cut[8];
  lcplug_record *record = (lcplug_record *)message;
  lcplug_error error = lcplug_record_read(path, &record, message, sizeof message);
  if (!error) return record;
  ck_assert_int_eq(error, LCPLUG_ERROR_FORMAT);
  ck_assert_ptr_null(record);
  ck_assert_msg(strstr(message, path), "'%s' does not name the file", message);
  ck_assert_int_eq(lcplug_record_read(path, &record, cut, sizeof cut), error);
  ck_assert_uint_eq(strlen(cut), sizeof cut - 1);
  ck_assert_int_eq(lcplug_record_read(path, &record, NULL, 0), error);
  return NULL;
}

/* Each byte changed, by one bit and altogether: the checksum sees it. */
START_TEST(flipped_bytes_are_seen) {
  lcplug_record record, *damaged;
  instance *p;
  bytes b = small_file(&record, &p);
  for (size_t i = 0; i < b.size; i++)
    for (int k = 0; k < 3; k++) {
      unsigned char mask = k == 0 ? 0xff : k == 1 ? 1 : 0x40;
      b.data[i] ^= mask;
      store(&b, b.size);
      b.data[i] ^= mask;
      damaged = read_damaged();
      ck_assert_msg(!damaged || same_record(&record, damaged), "byte %zu", i);
      lcplug_record_free(damaged);
    }
  instance_free(p);
}
END_TEST

/* Without a checksum damage may pass for content: but no crash, and what comes back can be put to
 * the solver, which solves or refuses it. */
START_TEST(flipped_bytes_of_the_older_layout_are_harmless) {
  lcplug_record record, *damaged;
  instance *p;
  bytes b = older_file(small_file(&record, &p));
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_CONE);
  s.max_iter = 5;
  store(&b, b.size);
  damaged = read_back(path);
  ck_assert(same_record(&record, damaged));
  lcplug_record_free(damaged);
  int refused = 0;
  for (size_t i = 0; i < b.size; i++)
    for (int k = 0; k < 3; k++) {
      unsigned char mask = k == 0 ? 0xff : k == 1 ? 1 : 0x40;
      b.data[i] ^= mask;
      store(&b, b.size);
      b.data[i] ^= mask;
      damaged = read_damaged();
      refused += !damaged;
      if (!damaged) continue;
      ck_assert_int_eq(damaged->problem.n, 3);
      double x[3] = {NAN, NAN, NAN};
      lcplug_solution solution = {.x = x};
      if (!lcplug_solve(workspace, &damaged->problem, &s, &solution, NULL))
        for (int row = 0; row < 3; row++) ck_assert(isfinite(x[row]));
      ck_assert_uint_lt(strlen(damaged->tag), sizeof damaged->tag);
      lcplug_record_free(damaged);
    }
  ck_assert_int_ge(refused, 3 * (8 + 8 + 4)); /* magic, counts and row starts at least */
  lcplug_workspace_free(workspace);
  instance_free(p);
}
END_TEST

static void check_refused(const bytes *b, size_t size) {
  store(b, size);
  ck_assert_ptr_null(read_damaged());
}

/* Cut off at every length, and with bytes too many. */
START_TEST(truncated_files_are_errors) {
  lcplug_record record;
  instance *p;
  bytes new = small_file(&record, &p), old = older_file(new);
  for (size_t size = 0; size <= new.size + 9; size++) {
    if (size != new.size) check_refused(&new, size);
    if (size != old.size) check_refused(&old, size);
  }
  instance_free(p);
}
END_TEST

/* Counts that do not fit the file, as large as they go, with a checksum that does not matter:
 * refused before anything is allocated for them. */
START_TEST(absurd_counts_are_errors) {
  const uint32_t counts[] = {0,          1,          2,          4,          0x00ffffff,
                             0x01000000, 0x01000001, 0x7fffffff, 0x80000000, 0xffffffff};
  const size_t places[] = {8, 12, 20};
  lcplug_record record;
  instance *p;
  bytes b = older_file(small_file(&record, &p));
  for (int k = 0; k < 3; k++)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      bytes damaged = b;
      memcpy(damaged.data + places[k], &counts[i], 4);
      store(&damaged, damaged.size);
      lcplug_record *read = read_damaged();
      /* nub alone may be another number and still make sense */
      ck_assert(!read || (places[k] == 12 && counts[i] <= 3));
      lcplug_record_free(read);
    }
  instance_free(p);
}
END_TEST

/* ---- files that are none --------------------------------------------------------------------- */

START_TEST(missing_files_are_errors) {
  char message[200] = "";
  lcplug_record *record = (lcplug_record *)message;
  ck_assert_int_eq(lcplug_record_read("no/such/file.lcp", &record, message, sizeof message),
                   LCPLUG_ERROR_FILE);
  ck_assert_ptr_null(record);
  ck_assert(strstr(message, "no/such/file.lcp") && strstr(message, "No such file"));
  ck_assert_int_eq(lcplug_record_read("no/such/file.lcp", &record, NULL, 0), LCPLUG_ERROR_FILE);
  /* A message without room stays as it is. */
  strcpy(message, "as it was");
  ck_assert_int_eq(lcplug_record_read("no/such/file.lcp", &record, message, 0), LCPLUG_ERROR_FILE);
  ck_assert_str_eq(message, "as it was");
  ck_assert_int_eq(lcplug_record_read(NULL, &record, NULL, 0), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_record_read("x", NULL, NULL, 0), LCPLUG_ERROR_ARGUMENT);
}
END_TEST

/* A folder can be opened, but not read. */
START_TEST(a_folder_is_an_error) {
  char message[200] = "";
  lcplug_record *record = (lcplug_record *)message;
  ck_assert_int_eq(mkdir(path, 0700), 0);
  lcplug_error error = lcplug_record_read(path, &record, message, sizeof message);
  rmdir(path);
  ck_assert_msg(error == LCPLUG_ERROR_FILE, "%s (%s)", lcplug_error_text(error), message);
  ck_assert_ptr_null(record);
  ck_assert(strstr(message, path) && strstr(message, "not a file"));
}
END_TEST

/* Nothing appears under the name, and no file beside it, when a record cannot be written. */
START_TEST(refused_records_leave_no_file) {
  rng r = {84};
  instance *p = instance_contacts(&r, 2, 1, 1e-3, 0.5, 0.5);
  lcplug_record record = make_record(p, NULL);
  ck_assert_int_eq(lcplug_record_write("no/such/folder.lcp", &record), LCPLUG_ERROR_FILE);
  ck_assert_int_eq(lcplug_record_write(NULL, &record), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_record_write(path, NULL), LCPLUG_ERROR_ARGUMENT);
  lcplug_format none = (lcplug_format)(LCPLUG_FORMAT_MATRIX_MARKET + 1);
  ck_assert_int_eq(lcplug_record_write_as(path, &record, none, NULL, 0), LCPLUG_ERROR_ARGUMENT);
  p->findex[1] = 99;
  ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_ERROR_FINDEX);
  p->findex[1] = 0, record.problem.api = 0;
  ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_ne(access(path, F_OK), 0);
  DIR *folder = opendir(".");
  ck_assert_ptr_nonnull(folder);
  for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
    ck_assert_msg(strncmp(entry->d_name, path, strlen(path)), "%s was left", entry->d_name);
  closedir(folder);
  instance_free(p);
}
END_TEST

/* A tag without an end is ended; an old file is replaced. */
START_TEST(tags_end_and_files_are_replaced) {
  rng r = {85};
  instance *p = instance_contacts(&r, 1, 1, 1e-3, 0.5, 0.5);
  lcplug_record record = make_record(p, p->x);
  ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_OK);
  memset(record.tag, 'x', sizeof record.tag);
  ck_assert_int_eq(lcplug_record_write(path, &record), LCPLUG_OK);
  lcplug_record *copy = read_back(path);
  ck_assert_uint_eq(strlen(copy->tag), 63);
  lcplug_record_free(copy);
  /* which a stranger may have written; this one has both arrays */
  bytes old = older_file(load(path));
  memset(old.data + 40, 'x', 64);
  store(&old, old.size);
  copy = read_back(path);
  ck_assert_uint_eq(strlen(copy->tag), 63);
  lcplug_record_free(copy);
  instance_free(p);
}
END_TEST

/* ---- captures of the older layout ------------------------------------------------------------ */

static int is_capture(const char *name) {
  size_t length = strlen(name);
  return length > 4 && !strcmp(name + length - 4, ".lcp") && !strncmp(name, "n0000", 5);
}

/* Real captures, the smallest ones: read, consistent, and written again without loss. */
START_TEST(older_captures_are_read) {
  const char *folder_name = getenv("LCPLUG_SHARED");
  DIR *folder = folder_name ? opendir(folder_name) : NULL;
  if (!folder) {
    support_skip("older_captures_are_read", "no folder of captures in LCPLUG_SHARED");
    return;
  }
  int count = 0;
  for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
    char name[600];
    if (!is_capture(entry->d_name)) continue;
    snprintf(name, sizeof name, "%s/%s", folder_name, entry->d_name);
    lcplug_record *capture = read_back(name);
    ck_assert_int_eq(atoi(entry->d_name + 1), capture->problem.n); /* n00012_... has 12 rows */
    ck_assert_int_eq(lcplug_problem_check(&capture->problem), LCPLUG_OK);
    ck_assert_ptr_nonnull(capture->x);
    ck_assert_int_eq(lcplug_record_write(path, capture), LCPLUG_OK);
    lcplug_record *copy = read_back(path);
    ck_assert(same_record(capture, copy));
    lcplug_record_free(copy);
    lcplug_record_free(capture);
    count++;
  }
  closedir(folder);
  ck_assert_int_gt(count, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("record");
  TCase *tests = support_case(suite, "record");
  tcase_add_checked_fixture(tests, make_path, remove_path);
  tcase_add_test(tests, round_trip);
  tcase_add_test(tests, round_trip_of_pairs);
  tcase_add_test(tests, read_problems_solve_alike);
  tcase_add_test(tests, flipped_bytes_are_seen);
  tcase_add_test(tests, flipped_bytes_of_the_older_layout_are_harmless);
  tcase_add_test(tests, truncated_files_are_errors);
  tcase_add_test(tests, absurd_counts_are_errors);
  tcase_add_test(tests, missing_files_are_errors);
  tcase_add_test(tests, a_folder_is_an_error);
  tcase_add_test(tests, refused_records_leave_no_file);
  tcase_add_test(tests, tags_end_and_files_are_replaced);
  tcase_add_test(tests, older_captures_are_read);
  return support_run(suite);
}
