/* audit.h - the numbers of an audit, for the summary and the report. */
#ifndef LCPLUG_AUDIT_H
#define LCPLUG_AUDIT_H

#include <lcplug/witness_log.h>
#include <stdbool.h>
#include <stddef.h>

#include "session.h"

typedef enum side { UPSTREAM, LCPLUG, SIDES } side;
extern const char *const side_names[SIDES];

/* What one solver did in all calls. */
typedef struct side_numbers {
  double total, median, slowest; /* CPU seconds */
  double residual_median, residual_worst;
  uint64_t failed;
} side_numbers;

/* The calls with `least` to `most` rows. */
typedef struct size_class {
  uint32_t least, most;
  uint64_t calls;
  double total[SIDES], median[SIDES];
  double ratio; /* of the times of calls that both solved, above 1 if lcplug is faster; -1: none */
  uint64_t failed[SIDES];
} size_class;
enum { SIZE_CLASSES = 9 };

typedef struct audited_call {
  witness_entry entry;
  uint64_t number; /* the first is 1 */
} audited_call;

/* A problem that was kept. */
typedef struct kept_problem {
  char *path; /* NULL: none of this kind */
  uint64_t number;
} kept_problem;

typedef struct audit {
  char *command;       /* the program and its arguments, as one line */
  bool gave_lcplug;    /* whose answers the program got */
  audited_call *calls; /* in the order of their numbers */
  size_t count;
  uint64_t unfinished; /* under way when the program ended */
  uint64_t lost;       /* not written down */
  unsigned processes;
  uint32_t fewest_rows, median_rows, most_rows;
  side_numbers side[SIDES];
  double ratio; /* as of a size class */
  size_class classes[SIZE_CLASSES];
  uint64_t fell_back;     /* calls in which lcplug needed upstream */
  double difference;      /* the largest where both solved the problem */
  double program_seconds; /* CPU time of the program without the witness; 0 if not known */
  kept_problem kept[WITNESS_WORST_KINDS];
  char end[80]; /* how the program ended, if not with status 0 */
} audit;

/* Reads what a session has left; *a owns it until audit_free. */
bool audit_read(audit *a, const session *s, char **argv);
void audit_free(audit *a);

/* Removes the kept problems in the folder that are not the worst of their kind by this audit. */
void audit_tidy(audit *a, const char *folder);

/* One call, by side. */
double call_seconds(const witness_entry *e, side which);
double call_residual(const witness_entry *e, side which);
bool call_failed(const witness_entry *e, side which);

/* The plain words: who is faster by how much, who failed how often.  A new string. */
char *audit_verdict(const audit *a);

/* "up to 12", "13 to 60", "3,001 and more". */
const char *size_class_text(const size_class *c, char *text, size_t size);

/* What a kind of kept problem is, in words. */
const char *worst_text(witness_worst kind);

/* Writes the page; false with the reason said if that cannot be. */
bool report_write(const audit *a, const char *path);

#endif
