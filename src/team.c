/* team.c - see team.h.
 *
 * Members wait for each other a few thousand times per second, so they look at a counter for a
 * while before they sleep: between the phases of a sweep it changes within microseconds.  Where it
 * does not, because somebody else has the processor, looking on would keep the one away who is
 * waited for. */
#include "team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fpenv.h"

enum { LOOKS = 1000, LARGEST_TEAM = 256 };

struct lcplug_team {
  int members;
  pthread_t *thread;
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a counter that somebody sleeps for */
  atomic_int sleepers;
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

static void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* Waits until the counter is no longer `old`; returns what it is then. */
static unsigned wait_for_change(lcplug_team *team, atomic_uint *counter, unsigned old) {
  unsigned now = atomic_load(counter);
  for (int looks = 0; looks < LOOKS && now == old; looks++, now = atomic_load(counter))
    pause_briefly();
  if (now != old) return now;
  pthread_mutex_lock(&team->lock);
  atomic_fetch_add(&team->sleepers, 1);
  while ((now = atomic_load(counter)) == old) pthread_cond_wait(&team->changed, &team->lock);
  atomic_fetch_sub(&team->sleepers, 1);
  pthread_mutex_unlock(&team->lock);
  return now;
}

/* Who sleeps was counted before it looked a last time: one of us two sees the other. */
static void change(lcplug_team *team, atomic_uint *counter) {
  atomic_fetch_add(counter, 1);
  if (atomic_load(&team->sleepers) == 0) return;
  pthread_mutex_lock(&team->lock);
  pthread_cond_broadcast(&team->changed);
  pthread_mutex_unlock(&team->lock);
}

void lcplug_team_meet(lcplug_team *team) {
  if (!team || team->members == 1) return;
  unsigned met = atomic_load(&team->met);
  if (atomic_fetch_add(&team->arrived, 1) < team->members - 1) {
    wait_for_change(team, &team->met, met);
    return;
  }
  atomic_store(&team->arrived, 0);
  change(team, &team->met);
}

static void *serve(void *argument) {
  lcplug_team *team = argument;
  int member = atomic_fetch_add(&team->next_member, 1);
  lcplug_fpenv_enter(); /* the creator's settings are not ours */
  for (unsigned last = 0;;) {
    last = wait_for_change(team, &team->call, last);
    if (team->leave) return NULL;
    team->task(team->argument, member, team->members);
    lcplug_team_meet(team);
  }
}

void lcplug_team_run(lcplug_team *team, team_task *task, void *argument) {
  if (!team || team->members == 1) {
    task(argument, 0, 1);
    return;
  }
  team->task = task;
  team->argument = argument;
  change(team, &team->call);
  task(argument, 0, team->members);
  lcplug_team_meet(team);
}

int lcplug_team_size(const lcplug_team *team) { return team ? team->members : 1; }

void lcplug_team_free(lcplug_team *team) {
  if (!team) return;
  team->leave = 1;
  change(team, &team->call);
  for (int i = 1; i < team->members; i++) pthread_join(team->thread[i], NULL);
  pthread_mutex_destroy(&team->lock);
  pthread_cond_destroy(&team->changed);
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
  pthread_cond_init(&team->changed, NULL);
  while (team->members < threads && !pthread_create(&thread[team->members], NULL, serve, team))
    team->members++;
  if (team->members == threads) return team;
  lcplug_team_free(team);
  return NULL;
}
