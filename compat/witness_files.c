/* witness_files.c - what the witness writes, and how it stays unnoticed by its host.
 *
 * No file stays open between calls: a host that closes all descriptors, or reuses their numbers,
 * can neither break us nor get our bytes into its own files.  While we write, no signal handler of
 * the host runs and its thread cannot be cancelled; a file size limit fails the write and does not
 * end the host; errno stays. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "witness.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static witness_control *order;
static char log_path[4096 + sizeof "/" WITNESS_LOG];

/* ---- unnoticed ------------------------------------------------------------------------------- */

typedef struct host_state {
  sigset_t signals;
  int errno_before, cancel, limit_was_pending;
} host_state;

static int size_signal_pending(void) {
  sigset_t pending;
  return !sigpending(&pending) && sigismember(&pending, SIGXFSZ) == 1;
}

static host_state leave_host(void) {
  host_state h = {.errno_before = errno, .limit_was_pending = size_signal_pending()};
  sigset_t all;
  sigfillset(&all);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &h.cancel);
  pthread_sigmask(SIG_SETMASK, &all, &h.signals);
  return h;
}

static void return_to_host(host_state h) {
  sigset_t size_signal;
  struct timespec at_once = {0, 0};
  sigemptyset(&size_signal);
  sigaddset(&size_signal, SIGXFSZ);
  if (!h.limit_was_pending && size_signal_pending()) sigtimedwait(&size_signal, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &h.signals, NULL);
  pthread_setcancelstate(h.cancel, NULL);
  errno = h.errno_before;
}

/* ---- the order ------------------------------------------------------------------------------- */

static witness_control *map_control(const char *path) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return NULL;
  witness_control *c = MAP_FAILED;
  if (lseek(file, 0, SEEK_END) == (off_t)sizeof *c)
    c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (c == MAP_FAILED) return NULL;
  if (!memcmp(c->magic, WITNESS_MAGIC, sizeof c->magic) && c->size == sizeof *c) return c;
  munmap(c, sizeof *c);
  return NULL;
}

static void read_order(void) {
  const char *folder = secure_getenv(WITNESS_VARIABLE);
  char path[sizeof log_path + sizeof WITNESS_CONTROL];
  if (!folder || *folder != '/' || strlen(folder) >= 4096) return;
  snprintf(path, sizeof path, "%s/" WITNESS_CONTROL, folder);
  snprintf(log_path, sizeof log_path, "%s/" WITNESS_LOG, folder);
  host_state host = leave_host();
  order = map_control(path);
  return_to_host(host);
}

witness_control *witness_order(void) {
  pthread_once(&once, read_order);
  return order;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void note_write_error(witness_control *o, int reason) {
  uint32_t none = 0;
  __atomic_compare_exchange_n(&o->write_error, &none, (uint32_t)(reason ? reason : EIO), 0,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int witness_keep(witness_control *o, const char *name, const lcplug_record *record) {
  char *path;
  if (__atomic_load_n(&o->write_error, __ATOMIC_RELAXED)) return 0;
  host_state host = leave_host();
  lcplug_error error = LCPLUG_ERROR_MEMORY;
  if (asprintf(&path, "%s/%s", o->folder, name) >= 0) {
    errno = 0;
    error = lcplug_record_write(path, record);
    if (error == LCPLUG_ERROR_FILE) note_write_error(o, errno);
    free(path);
  }
  if (!error) witness_count(&o->written);
  else if (error != LCPLUG_ERROR_FILE) witness_count(&o->refused);
  return_to_host(host);
  return !error;
}

void witness_log(witness_control *o, uint64_t call, const witness_entry *entry) {
  host_state host = leave_host();
  int file = open(log_path, O_WRONLY | O_CLOEXEC);
  off_t place = (off_t)(call * sizeof *entry);
  int written = file >= 0 && pwrite(file, entry, sizeof *entry, place) == (ssize_t)sizeof *entry;
  if (file >= 0) close(file);
  if (!written) witness_count(&o->unlogged);
  return_to_host(host);
}
