/* four.h - four doubles at a time; the compiler splits them where the processor takes fewer.
 *
 * For long loops over vectors that have room for a multiple of four elements, in functions that are
 * compiled for each instruction set in turn: without fused products all of them give the same bits. */
#ifndef LCPLUG_FOUR_H
#define LCPLUG_FOUR_H

#include <stdint.h>

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t four_bits __attribute__((vector_size(32)));

#define FOUR_INLINE static inline __attribute__((always_inline))

FOUR_INLINE four four_at(const double *p) { return *(const four *)p; }
FOUR_INLINE void four_put(double *p, four v) { *(four *)p = v; }
FOUR_INLINE four four_of(double value) { return (four){value, value, value, value}; }

/* condition: what a comparison of fours gives */
FOUR_INLINE four four_choose(four_bits condition, four yes, four no) {
  return (four)((condition & (four_bits)yes) | (~condition & (four_bits)no));
}

/* NaN in a: b */
FOUR_INLINE four four_max(four a, four b) { return four_choose(a > b, a, b); }
FOUR_INLINE four four_min(four a, four b) { return four_choose(a < b, a, b); }

FOUR_INLINE double four_sum(four a) { return (a[0] + a[1]) + (a[2] + a[3]); }
FOUR_INLINE double four_largest(four a) {
  double first = a[0] > a[1] ? a[0] : a[1], second = a[2] > a[3] ? a[2] : a[3];
  return first > second ? first : second;
}

#undef FOUR_INLINE

#endif
