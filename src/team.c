/* team.c - see team.h.
 *
 * Members wait for each other a few thousand times per second, so they look at a counter for a while
 * before they sleep: between the phases of a sweep it changes within microseconds.  Who has looked
 * long enough gives way to other threads, and between tasks sleeps until it is called. */
#define _GNU_SOURCE
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fpenv.h"

enum { LOOKS = 500, LARGEST_TEAM = 256 };

struct lcplug_team {
  int members;
  pthread_t *thread;
  pthread_mutex_t lock;
  pthread_cond_t called;
  /* the present task; a new `call` means a new one */
  team_task *task;
  void *argument;
  int leave;
  atomic_uint call;
  /* the meeting place: arrivals, and how often all have met */
  atomic_int arrived;
  atomic_uint met;
  /* members take their number as they start */
  atomic_int next_member;
};

static void give_way(int looks) {
  if (looks >= LOOKS) sched_yield();
#if defined(__x86_64__)
  else __builtin_ia32_pause();
#endif
}

void lcplug_team_meet(lcplug_team *team) {
  if (!team || team->members == 1) return;
  unsigned met = atomic_load_explicit(&team->met, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) == team->members - 1) {
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&team->met, 1, memory_order_release);
    return;
  }
  for (int looks = 0; atomic_load_explicit(&team->met, memory_order_acquire) == met; looks++)
    give_way(looks);
}

/* Waits for a call other than `last`; first awake, then asleep. */
static unsigned wait_for_call(lcplug_team *team, unsigned last) {
  for (int looks = 0; looks < LOOKS; looks++) {
    unsigned call = atomic_load_explicit(&team->call, memory_order_acquire);
    if (call != last) return call;
    give_way(looks);
  }
  pthread_mutex_lock(&team->lock);
  while (atomic_load_explicit(&team->call, memory_order_acquire) == last)
    pthread_cond_wait(&team->called, &team->lock);
  pthread_mutex_unlock(&team->lock);
  return atomic_load_explicit(&team->call, memory_order_acquire);
}

static void *serve(void *argument) {
  lcplug_team *team = argument;
  int member = atomic_fetch_add(&team->next_member, 1);
  lcplug_fpenv_enter(); /* the creator's settings are not ours */
  for (unsigned last = 0;;) {
    last = wait_for_call(team, last);
    if (team->leave) return NULL;
    team->task(team->argument, member, team->members);
    lcplug_team_meet(team);
  }
}

static void call_members(lcplug_team *team) {
  pthread_mutex_lock(&team->lock);
  atomic_fetch_add_explicit(&team->call, 1, memory_order_release);
  pthread_cond_broadcast(&team->called);
  pthread_mutex_unlock(&team->lock);
}

void lcplug_team_run(lcplug_team *team, team_task *task, void *argument) {
  if (!team || team->members == 1) {
    task(argument, 0, 1);
    return;
  }
  team->task = task;
  team->argument = argument;
  call_members(team);
  task(argument, 0, team->members);
  lcplug_team_meet(team);
}

int lcplug_team_size(const lcplug_team *team) { return team ? team->members : 1; }

void lcplug_team_free(lcplug_team *team) {
  if (!team) return;
  team->leave = 1;
  call_members(team);
  for (int i = 1; i < team->members; i++) pthread_join(team->thread[i], NULL);
  pthread_mutex_destroy(&team->lock);
  pthread_cond_destroy(&team->called);
  free(team->thread);
  free(team);
}

lcplug_team *lcplug_team_create(int32_t threads) {
  if (threads < 1 || threads > LARGEST_TEAM) return NULL;
  lcplug_team *team = calloc(1, sizeof *team);
  pthread_t *thread = calloc((size_t)threads, sizeof *thread);
  if (!team || !thread) {
    free(team);
    free(thread);
    return NULL;
  }
  team->thread = thread;
  team->members = 1;
  atomic_init(&team->next_member, 1);
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->called, NULL);
  while (team->members < threads &&
         !pthread_create(&thread[team->members], NULL, serve, team))
    team->members++;
  if (team->members == threads) return team;
  lcplug_team_free(team);
  return NULL;
}
