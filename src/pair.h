/* pair.h - two doubles at a time, which every 64-bit processor can; the compiler splits them where
 * not. */
#ifndef LCPLUG_PAIR_H
#define LCPLUG_PAIR_H

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline pair pair_at(const double *p) { return *(const pair *)p; }
static inline void pair_put(double *p, pair v) { *(pair *)p = v; }
static inline pair pair_of(double value) { return (pair){value, value}; }
static inline double pair_sum(pair a) { return a[0] + a[1]; }

#endif
