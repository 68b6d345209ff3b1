/* four.h - four doubles at a time; the compiler splits them where the processor takes fewer.
 *
 * For long loops over vectors that have room for a multiple of four elements, in functions that are
 * compiled for each instruction set in turn: without fused products all of them give the same
 * bits. */
#ifndef LCPLUG_FOUR_H
#define LCPLUG_FOUR_H

#include <stdint.h>

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t four_bits __attribute__((vector_size(32)));

#define FOUR_INLINE static inline __attribute__((always_inline))

FOUR_INLINE four four_at(const double *p) { return *(const four *)p; }
FOUR_INLINE void four_put(double *p, four v) { *(four *)p = v; }
FOUR_INLINE four four_of(double value) { return (four){value, value, value, value}; }

/* The elements at four ascending places, which mostly follow each other. */
FOUR_INLINE four four_picked(const double *a, const int *at) {
  if (at[3] == at[0] + 3) return four_at(a + at[0]);
  return (four){a[at[0]], a[at[1]], a[at[2]], a[at[3]]};
}

/* condition: what a comparison of fours gives */
FOUR_INLINE four four_choose(four_bits condition, four yes, four no) {
  return (four)((condition & (four_bits)yes) | (~condition & (four_bits)no));
}

/* NaN in a: b */
FOUR_INLINE four four_max(four a, four b) { return four_choose(a > b, a, b); }
FOUR_INLINE four four_min(four a, four b) { return four_choose(a < b, a, b); }

/* Not 0 where an element is infinite or not a number. */
FOUR_INLINE four_bits four_not_finite(four a) {
  const four_bits exponent = {0x7ff0000000000000, 0x7ff0000000000000, 0x7ff0000000000000,
                              0x7ff0000000000000};
  return ((four_bits)a & exponent) == exponent;
}

/* Rows become columns. */
FOUR_INLINE void four_transpose(four *row) {
  four a = __builtin_shufflevector(row[0], row[1], 0, 4, 2, 6);
  four b = __builtin_shufflevector(row[0], row[1], 1, 5, 3, 7);
  four c = __builtin_shufflevector(row[2], row[3], 0, 4, 2, 6);
  four d = __builtin_shufflevector(row[2], row[3], 1, 5, 3, 7);
  row[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  row[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  row[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  row[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

FOUR_INLINE double four_sum(four a) { return (a[0] + a[1]) + (a[2] + a[3]); }
FOUR_INLINE double four_largest(four a) {
  double first = a[0] > a[1] ? a[0] : a[1], second = a[2] > a[3] ? a[2] : a[3];
  return first > second ? first : second;
}

#undef FOUR_INLINE

#endif
