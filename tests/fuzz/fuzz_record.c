/* fuzz_record.c - whatever bytes a file has, reading it ends with a record or a message.
 *
 * For libFuzzer; tests/fuzz_readers.sh builds and runs it.  All formats come in through the one
 * reader. Every input is read twice: as it is, and with the checksums of a record made right. */
#define _GNU_SOURCE
#include <lcplug/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A message names the file, and nothing comes back with it. */
static void check_refusal(const lcplug_record *record, const char *message, const char *path) {
  if (record || !strstr(message, path)) abort();
}

/* What was read can be written in its own format and read again. */
static void check_record(const lcplug_record *record) {
  char name[64], path[72], message[256] = "";
  lcplug_record *copy;
  if (lcplug_problem_check(&record->problem)) return;
  snprintf(name, sizeof name, "fuzz-%ld.out", (long)getpid());
  snprintf(path, sizeof path, "./%s", name);
  for (int format = LCPLUG_FORMAT_RECORD; format <= LCPLUG_FORMAT_MATRIX_MARKET; format++) {
    lcplug_error error = lcplug_record_write_as(path, record, (lcplug_format)format, message,
                                                sizeof message);
    if (error == LCPLUG_ERROR_FORMAT) continue; /* such a problem has no place there */
    if (error || lcplug_record_read(path, &copy, message, sizeof message)) abort();
    if (copy->problem.n != record->problem.n) abort();
    lcplug_record_free(copy);
  }
  remove(path);
}

static void read_bytes(const uint8_t *data, size_t size) {
  static int file = -1;
  char path[64], message[256] = "";
  lcplug_record *record = NULL;
  if (file < 0) file = memfd_create("fuzz", 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size) abort();
  if (lcplug_record_read(path, &record, message, sizeof message))
    check_refusal(record, message, path);
  else check_record(record);
  lcplug_record_free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_bytes(data, size);
  uint8_t *mended = malloc(size + 1);
  if (!mended) return 0;
  memcpy(mended, data, size);
  mend_checksums(mended, size);
  read_bytes(mended, size);
  free(mended);
  return 0;
}
