/* lcplug/witness_log.h - what the witness inside a program and the command that started it share.
 *
 * Not installed: both ends belong to one build.  The command makes a folder with two files and
 * names it in the environment variable LCPLUG_WITNESS:
 *
 *     control   one witness_control: the order, and counters that all processes add to
 *     log       of an audit: the witness_entry of call i at byte i * sizeof(witness_entry)
 *
 * Every process maps the control file, so that its counters are right however a process ends.  An
 * entry is written whole or not at all; what was never written reads as zeros. */
#ifndef LCPLUG_WITNESS_LOG_H
#define LCPLUG_WITNESS_LOG_H

#include <stdint.h>

#define WITNESS_VARIABLE "LCPLUG_WITNESS"
#define WITNESS_CONTROL "control"
#define WITNESS_LOG "log"
#define WITNESS_MAGIC "LCPWIT01"

typedef enum witness_mode { WITNESS_CAPTURE = 1, WITNESS_AUDIT = 2 } witness_mode;

/* A larger residual means that nothing was solved: upstream has met an error and left zeros.  What
 * floats can hold ends earlier. */
#define WITNESS_FAILED 1e-6
#define WITNESS_FAILED_SINGLE 1e-2

/* What an audit keeps for replay: the call with the largest value of each kind, if that is above a
 * floor, as NAME-NUMBER.lcp with the number of the call (the first is 1).  Code, name, floor,
 * explanation. */
#define WITNESS_WORST(X)                                                                           \
  X(WORST_UPSTREAM_RESIDUAL, "upstream-residual", 1e-9, "upstream's largest residual")             \
  X(WORST_LCPLUG_RESIDUAL, "lcplug-residual", 1e-9, "lcplug's largest residual")                   \
  X(WORST_DIFFERENCE, "difference", 1e-9, "the largest difference between both answers")           \
  X(WORST_SLOWEST, "slowest", 0.0, "upstream's slowest call")                                      \
  X(WORST_LAG, "lag", 1e-4, "lcplug furthest behind upstream")
#define WITNESS_WORST_CODE(code, name, floor, text) code,
typedef enum witness_worst { WITNESS_WORST(WITNESS_WORST_CODE) WITNESS_WORST_KINDS } witness_worst;
#undef WITNESS_WORST_CODE

typedef struct witness_control {
  char magic[8];
  uint32_t size;         /* of this struct */
  uint32_t mode;         /* a witness_mode */
  uint32_t gives_lcplug; /* audit: not 0 if the program gets lcplug's answers */
  uint32_t min_n;        /* capture: problems with fewer rows do not count */
  uint64_t every;        /* capture: of those that count, every so many-th */
  uint64_t most;         /* capture: files at most */
  uint64_t first_file;   /* capture: the number of the first file */
  char folder[4096];     /* where problems are kept, absolute; "" if nowhere */
  /* from here on all processes write, atomically */
  uint64_t started, finished; /* calls */
  uint64_t counting;          /* calls that count */
  uint64_t claimed, written;  /* files */
  uint64_t beyond;            /* problems that --max left out */
  uint64_t refused;           /* problems that are no valid records */
  uint64_t unlogged;          /* calls whose entry could not be written */
  uint64_t nanoseconds;       /* CPU time that the witness took beside upstream */
  uint32_t write_error;       /* errno of the file that could not be written; the last tried */
  uint64_t worst[WITNESS_WORST_KINDS]; /* bits of the largest value so far, which is not negative */
} witness_control;

enum { WITNESS_WHOLE = 1, WITNESS_SINGLE = 2, WITNESS_FELL_BACK = 4 };

/* One audited call. */
typedef struct witness_entry {
  double when; /* seconds, CLOCK_MONOTONIC */
  uint32_t n;
  uint32_t flags; /* WITNESS_WHOLE and others; 0 if the entry was never written */
  uint32_t process, thread;
  float upstream_seconds, lcplug_seconds; /* CPU time of the thread */
  float upstream_residual, lcplug_residual;
  float difference; /* max |w_upstream - w_lcplug| / max |b| */
  float energy;     /* energy norm of the difference of both x, over the larger one's */
} witness_entry;
_Static_assert(sizeof(witness_entry) == 48, "entries lie at multiples of their size");

/* How bad a call is, of that kind. */
static inline double witness_badness(const witness_entry *e, witness_worst kind) {
  switch (kind) {
    case WORST_UPSTREAM_RESIDUAL: return (double)e->upstream_residual;
    case WORST_LCPLUG_RESIDUAL: return (double)e->lcplug_residual;
    case WORST_DIFFERENCE: return (double)e->difference;
    case WORST_SLOWEST: return (double)e->upstream_seconds;
    case WORST_LAG: return (double)e->lcplug_seconds - (double)e->upstream_seconds;
    default: return 0.0;
  }
}

#endif
