/* audit_numbers.c - from the witness's log to numbers that answer questions. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit.h"
#include "numbers.h"
#include "tools.h"

const char *const side_names[SIDES] = {"upstream", "lcplug"};

double call_seconds(const witness_entry *e, side which) {
  return (double)(which == UPSTREAM ? e->upstream_seconds : e->lcplug_seconds);
}

double call_residual(const witness_entry *e, side which) {
  return (double)(which == UPSTREAM ? e->upstream_residual : e->lcplug_residual);
}

bool call_failed(const witness_entry *e, side which) {
  double limit = e->flags & WITNESS_SINGLE ? WITNESS_FAILED_SINGLE : WITNESS_FAILED;
  return !(call_residual(e, which) <= limit);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Calls that another process is still writing, or could not write, are gaps. */
static void read_calls(audit *a, FILE *log) {
  enum { AT_ONCE = 1024 };
  witness_entry entries[AT_ONCE];
  size_t room = 0;
  uint64_t number = 0;
  for (size_t got; (got = fread(entries, sizeof *entries, AT_ONCE, log)) > 0;)
    for (size_t i = 0; i < got; i++) {
      number++;
      if (!(entries[i].flags & WITNESS_WHOLE)) continue;
      if (a->count == room) {
        room = room ? 2 * room : 4096;
        a->calls = tool_resize(a->calls, room, sizeof *a->calls);
      }
      a->calls[a->count++] = (audited_call){entries[i], number};
    }
}

static bool read_log(audit *a, const session *s) {
  char *path = tool_format("%s/" WITNESS_LOG, s->folder);
  FILE *log = fopen(path, "rb");
  if (!log) tool_error("cannot read '%s': %s", path, strerror(errno));
  else read_calls(a, log);
  bool read = log && !ferror(log);
  if (log) fclose(log);
  free(path);
  return read;
}

/* ---- medians and sums ------------------------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *numbers, size_t count) {
  if (!count) return 0.0;
  qsort(numbers, count, sizeof *numbers, compare_doubles);
  return count % 2 ? numbers[count / 2] : 0.5 * (numbers[count / 2 - 1] + numbers[count / 2]);
}

/* Residuals without a number are infinite: the worst. */
static double orderable(double residual) { return residual >= 0.0 ? residual : INFINITY; }

static void sum_side(audit *a, side which, double *scratch) {
  side_numbers *n = &a->side[which];
  for (size_t i = 0; i < a->count; i++) {
    const witness_entry *e = &a->calls[i].entry;
    scratch[i] = call_seconds(e, which);
    n->total += scratch[i];
    n->slowest = fmax(n->slowest, scratch[i]);
    n->failed += call_failed(e, which);
    n->residual_worst = fmax(n->residual_worst, orderable(call_residual(e, which)));
  }
  n->median = median(scratch, a->count);
  for (size_t i = 0; i < a->count; i++)
    scratch[i] = orderable(call_residual(&a->calls[i].entry, which));
  n->residual_median = median(scratch, a->count);
}

static bool both_solved(const witness_entry *e) {
  return !call_failed(e, UPSTREAM) && !call_failed(e, LCPLUG);
}

/* Who gives up early is no faster, so speed is compared on the calls
 * that both solved.  -1: none. */
static double speed_ratio(const audit *a, uint32_t least, uint32_t most) {
  double both[SIDES] = {0.0, 0.0};
  for (size_t i = 0; i < a->count; i++) {
    const witness_entry *e = &a->calls[i].entry;
    if (e->n < least || e->n > most || !both_solved(e)) continue;
    for (int which = 0; which < SIDES; which++) both[which] += call_seconds(e, (side)which);
  }
  return both[LCPLUG] > 0.0 ? both[UPSTREAM] / both[LCPLUG] : -1.0;
}

static void sum_class(const audit *a, size_class *c, double *scratch) {
  c->ratio = speed_ratio(a, c->least, c->most);
  for (int which = 0; which < SIDES; which++) {
    size_t found = 0;
    for (size_t i = 0; i < a->count; i++) {
      const witness_entry *e = &a->calls[i].entry;
      if (e->n < c->least || e->n > c->most) continue;
      scratch[found] = call_seconds(e, (side)which);
      c->total[which] += scratch[found++];
      c->failed[which] += call_failed(e, (side)which);
    }
    c->calls = found;
    c->median[which] = median(scratch, found);
  }
}

static void sum_classes(audit *a, double *scratch) {
  static const uint32_t most[SIZE_CLASSES] = {12, 60, 150, 210, 420, 850, 1700, 3000, UINT32_MAX};
  for (int i = 0; i < SIZE_CLASSES; i++) {
    a->classes[i] = (size_class){.least = i ? most[i - 1] + 1 : 1, .most = most[i]};
    sum_class(a, &a->classes[i], scratch);
  }
}

static void sum_rows(audit *a, double *scratch) {
  a->fewest_rows = UINT32_MAX;
  for (size_t i = 0; i < a->count; i++) {
    uint32_t n = a->calls[i].entry.n;
    scratch[i] = (double)n;
    if (n < a->fewest_rows) a->fewest_rows = n;
    if (n > a->most_rows) a->most_rows = n;
  }
  a->median_rows = (uint32_t)median(scratch, a->count);
}

static void sum_differences(audit *a) {
  for (size_t i = 0; i < a->count; i++) {
    const witness_entry *e = &a->calls[i].entry;
    a->fell_back += (e->flags & WITNESS_FELL_BACK) != 0;
    if (both_solved(e)) a->difference = fmax(a->difference, (double)e->difference);
  }
}

static unsigned count_processes(const audit *a, double *scratch) {
  unsigned different = 0;
  for (size_t i = 0; i < a->count; i++) scratch[i] = (double)a->calls[i].entry.process;
  qsort(scratch, a->count, sizeof *scratch, compare_doubles);
  for (size_t i = 0; i < a->count; i++) different += i == 0 || scratch[i] != scratch[i - 1];
  return different;
}

static void sum_all(audit *a) {
  double *scratch = tool_resize(NULL, a->count + 1, sizeof *scratch);
  for (int which = 0; which < SIDES; which++) sum_side(a, (side)which, scratch);
  sum_classes(a, scratch);
  sum_rows(a, scratch);
  sum_differences(a);
  a->ratio = speed_ratio(a, 0, UINT32_MAX);
  a->processes = count_processes(a, scratch);
  free(scratch);
}

/* ---- the program ----------------------------------------------------------------------------- */

static char *join(char **argv) {
  char *line = tool_format("%s", argv[0]);
  for (int i = 1; argv[i]; i++) {
    char *longer = tool_format("%s %s", line, argv[i]);
    free(line);
    line = longer;
  }
  return line;
}

static double seconds_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static void describe_program(audit *a, const session *s, char **argv) {
  const witness_control *c = s->control;
  int status = s->end.status;
  a->command = join(argv);
  a->gave_lcplug = c->gives_lcplug != 0;
  a->unfinished = c->started - c->finished;
  a->lost = c->unlogged;
  double spent = seconds_of(s->end.usage.ru_utime) + seconds_of(s->end.usage.ru_stime);
  a->program_seconds = fmax(spent - 1e-9 * (double)c->nanoseconds, a->side[UPSTREAM].total);
  if (WIFSIGNALED(status))
    snprintf(a->end, sizeof a->end, "ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status))
    snprintf(a->end, sizeof a->end, "ended with status %d", WEXITSTATUS(status));
}

/* ---- what was kept --------------------------------------------------------------------------- */

#define KIND_NAME(code, name, floor, text) name,
#define KIND_TEXT(code, name, floor, text) text,
static const char *const kind_names[] = {WITNESS_WORST(KIND_NAME)};
static const char *const kind_texts[] = {WITNESS_WORST(KIND_TEXT)};

const char *worst_text(witness_worst kind) { return kind_texts[kind]; }

/* The kind and the call's number in NAME-NUMBER.lcp; false if it is no such name. */
static bool parse_name(const char *name, int *kind, uint64_t *number) {
  for (*kind = 0; *kind < WITNESS_WORST_KINDS; ++*kind) {
    size_t length = strlen(kind_names[*kind]);
    char *end;
    if (strncmp(name, kind_names[*kind], length) || name[length] != '-') continue;
    *number = strtoull(name + length + 1, &end, 10);
    return strcmp(end, ".lcp") == 0;
  }
  return false;
}

/* How bad the call of that number was; -1 if it is not in the log. */
static double badness(const audit *a, uint64_t number, int kind) {
  size_t low = 0, high = a->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (a->calls[middle].number < number) low = middle + 1;
    else high = middle;
  }
  bool found = low < a->count && a->calls[low].number == number;
  return found ? witness_badness(&a->calls[low].entry, (witness_worst)kind) : -1.0;
}

/* The witness writes a file whenever a call is worse than all before: of
 * each kind the worst stays. */
void audit_tidy(audit *a, const char *folder) {
  DIR *names = *folder ? opendir(folder) : NULL;
  if (!names) return;
  for (struct dirent *e; (e = readdir(names));) {
    int kind;
    uint64_t number;
    if (!parse_name(e->d_name, &kind, &number)) continue;
    kept_problem *k = &a->kept[kind];
    kept_problem other = {tool_format("%s/%s", folder, e->d_name), number};
    if (badness(a, number, kind) > (k->path ? badness(a, k->number, kind) : -1.0)) {
      kept_problem swapped = *k;
      *k = other;
      other = swapped;
    }
    if (other.path) unlink(other.path);
    free(other.path);
  }
  closedir(names);
}

bool audit_read(audit *a, const session *s, char **argv) {
  *a = (audit){0};
  if (!read_log(a, s)) return false;
  if (a->count) sum_all(a);
  describe_program(a, s, argv);
  audit_tidy(a, s->control->folder);
  return true;
}

void audit_free(audit *a) {
  free(a->command);
  free(a->calls);
  for (int i = 0; i < WITNESS_WORST_KINDS; i++) free(a->kept[i].path);
}

/* ---- in words -------------------------------------------------------------------------------- */

static const char *count_or_none(uint64_t count, char text[NUMBER_TEXT]) {
  return count ? group_digits(count, text) : "none";
}

/* "lcplug is 41x faster than upstream", or what can be said. */
static char *speed_text(const audit *a) {
  char ratio[NUMBER_TEXT];
  if (a->ratio < 0.0) return tool_format("No call was solved by both");
  if (a->ratio >= 1.05)
    return tool_format("lcplug is %sx faster than upstream", ratio_text(a->ratio, ratio));
  if (a->ratio <= 0.95)
    return tool_format("lcplug is %sx slower than upstream", ratio_text(1.0 / a->ratio, ratio));
  return tool_format("lcplug is as fast as upstream");
}

char *audit_verdict(const audit *a) {
  char failed[NUMBER_TEXT], ours[NUMBER_TEXT], calls[NUMBER_TEXT];
  char *speed = speed_text(a), *verdict;
  group_digits(a->count, calls);
  if (a->side[UPSTREAM].failed || a->side[LCPLUG].failed)
    verdict = tool_format("%s%s; upstream failed on %s of %s calls, lcplug on %s.", speed,
                          a->ratio < 0.0 ? "" : " where both solve",
                          count_or_none(a->side[UPSTREAM].failed, failed), calls,
                          count_or_none(a->side[LCPLUG].failed, ours));
  else verdict = tool_format("%s on this program; both solved all %s calls.", speed, calls);
  free(speed);
  return verdict;
}

const char *size_class_text(const size_class *c, char *text, size_t size) {
  char least[NUMBER_TEXT], most[NUMBER_TEXT];
  group_digits(c->least, least);
  group_digits(c->most, most);
  if (c->least == 1) snprintf(text, size, "up to %s", most);
  else if (c->most == UINT32_MAX) snprintf(text, size, "%s and more", least);
  else snprintf(text, size, "%s to %s", least, most);
  return text;
}
