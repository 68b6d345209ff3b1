/* progress.h - how far long work is, on stderr, and whether the user wants to end it.
 *
 * On a terminal one line that is written over, with a bar and the time left; else a line when a
 * part begins and ends, and one every half minute between, for logs.  The benchmark uses it too. */
#ifndef LCPLUG_PROGRESS_H
#define LCPLUG_PROGRESS_H

#include <stdbool.h>

/* One part at a time; `what` must live until its end.  Work is in any unit. */
void progress_begin(const char *what, double work);
void progress_add(double work);
void progress_end(void);

/* A line on stderr that does not tear the bar. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Monotonic seconds. */
double progress_seconds(void);

/* From now on the first Ctrl-C (or SIGTERM) only makes progress_interrupted true, so that work can
 * end with whole files and a summary of what was done; the second one ends the process. */
void progress_watch_interrupts(void);
bool progress_interrupted(void);

/* The file that the second Ctrl-C removes, as it is not whole; NULL when it is. */
void progress_unfinished_file(const char *path);

#endif
