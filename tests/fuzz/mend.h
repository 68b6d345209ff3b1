/* mend.h - makes the checksums of a damaged record right again, so that what lies behind them is
 * reached.  CRC-32 bit by bit, written down from its definition and not
 * from the code under test. */
#ifndef LCPLUG_TESTS_MEND_H
#define LCPLUG_TESTS_MEND_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MEND_HEADER = 120, MEND_HEADER_CRC = 116 };

static inline uint32_t mend_crc32(const unsigned char *bytes, size_t size) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < size; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

static inline void mend_checksums(unsigned char *bytes, size_t size) {
  if (size < MEND_HEADER + 4) return;
  uint32_t crc = mend_crc32(bytes, MEND_HEADER_CRC);
  memcpy(bytes + MEND_HEADER_CRC, &crc, 4);
  crc = mend_crc32(bytes + MEND_HEADER, size - MEND_HEADER - 4);
  memcpy(bytes + size - 4, &crc, 4);
}

#endif
