/* pair.h - two doubles at a time, which every 64-bit processor can; the
 * compiler splits them where not.
 *
 * For long loops over vectors that have room for an even number of elements. */
#ifndef LCPLUG_PAIR_H
#define LCPLUG_PAIR_H

#include <stdint.h>

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t pair_bits __attribute__((vector_size(16)));

static inline pair pair_at(const double *p) { return *(const pair *)p; }
static inline void pair_put(double *p, pair v) { *(pair *)p = v; }
static inline pair pair_of(double value) { return (pair){value, value}; }

/* condition: what a comparison of pairs gives */
static inline pair pair_choose(pair_bits condition, pair yes, pair no) {
  return (pair)((condition & (pair_bits)yes) | (~condition & (pair_bits)no));
}

/* NaN in a: b */
static inline pair pair_max(pair a, pair b) { return pair_choose(a > b, a, b); }
static inline pair pair_min(pair a, pair b) { return pair_choose(a < b, a, b); }
static inline pair pair_abs(pair a) {
  return (pair)((pair_bits)a & (pair_bits){INT64_MAX, INT64_MAX});
}

static inline double pair_sum(pair a) { return a[0] + a[1]; }
static inline double pair_largest(pair a) { return a[0] > a[1] ? a[0] : a[1]; }

#endif
