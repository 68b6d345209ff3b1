/* threads.c - per-thread memory, freed when its thread ends.
 *
 * The hot path reads one thread-local pointer.  The list of contexts is locked only when a thread
 * comes or goes and for the summary at exit.  After a fork the child counts from zero: its memory
 * is a copy, and the other threads' contexts are simply forgotten. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_made;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static thread_context *contexts;
static statistics ended; /* of threads that are gone */
/* Found without a call; eight bytes always fit what the loader keeps for such variables. */
static __thread thread_context *mine __attribute__((tls_model("initial-exec")));

static void context_free(thread_context *c) {
  lcplug_workspace_free(c->workspace);
  for (int purpose = 0; purpose < MEMORY_PURPOSES; purpose++) free(c->memory[purpose]);
  free(c);
}

static void unlink_context(thread_context *c) {
  if (c->before) c->before->after = c->after;
  else contexts = c->after;
  if (c->after) c->after->before = c->before;
}

/* Runs when a thread ends. */
static void leave(void *context) {
  thread_context *c = context;
  pthread_mutex_lock(&list_lock);
  unlink_context(c);
  statistics_add(&ended, &c->statistics);
  pthread_mutex_unlock(&list_lock);
  mine = NULL;
  context_free(c);
}

static void before_fork(void) { pthread_mutex_lock(&list_lock); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&list_lock); }

static void after_fork_in_child(void) {
  contexts = mine;
  if (mine) {
    mine->before = mine->after = NULL;
    memset(&mine->statistics, 0, sizeof mine->statistics);
  }
  memset(&ended, 0, sizeof ended);
  pthread_mutex_unlock(&list_lock);
}

static void prepare(void) {
  key_made = !pthread_key_create(&key, leave);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static thread_context *context_create(void) {
  pthread_once(&once, prepare);
  if (!key_made) return NULL;
  thread_context *c = calloc(1, sizeof *c);
  if (!c || !(c->workspace = lcplug_workspace_create()) || pthread_setspecific(key, c)) {
    if (c) context_free(c);
    return NULL;
  }
  pthread_mutex_lock(&list_lock);
  c->after = contexts;
  if (contexts) contexts->before = c;
  contexts = c;
  pthread_mutex_unlock(&list_lock);
  return c;
}

thread_context *thread_context_get(void) {
  if (!mine) mine = context_create();
  return mine;
}

double *thread_memory(thread_context *c, memory_purpose purpose, size_t count) {
  if (count <= c->memory_size[purpose]) return c->memory[purpose];
  double *larger = malloc(count * sizeof *larger);
  if (!larger) return NULL;
  free(c->memory[purpose]);
  c->memory[purpose] = larger;
  c->memory_size[purpose] = count;
  return larger;
}

/* At exit: the summary, if asked for.  A process that never solved anything, a shell say, is left
 * alone.  Memory of threads that still run stays theirs. */
__attribute__((destructor)) static void at_exit(void) {
  pthread_mutex_lock(&list_lock);
  statistics sum = ended;
  for (thread_context *c = contexts; c; c = c->after) statistics_add(&sum, &c->statistics);
  pthread_mutex_unlock(&list_lock);
  int used = sum.count[COUNT_CALLS] || sum.count[COUNT_STEPS];
  if (used && environment_settings()->stats) statistics_print(&sum);
}
