/* finite.h - a test for NaN and infinity that many numbers can share.
 *
 * Adding up x - x would wait for each addition; a bit that is or-ed does not. */
#ifndef LCPLUG_FINITE_H
#define LCPLUG_FINITE_H

#include <stdint.h>
#include <string.h>

/* Not 0 if the number is a NaN or infinite: all bits of its exponent are set. */
static inline uint64_t lcplug_not_finite(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  /* Adding one to a full exponent carries into the sign, which is dropped first. */
  return ((bits & 0x7fffffffffffffffu) + 0x0010000000000000u) >> 63;
}

#endif
