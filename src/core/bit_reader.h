/* bit_reader.h - reads bits of coded words on the CPU; the first bit of a word is the highest.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Words are little-endian u32 and need no alignment. A position is a bit's index; the first word's
 * first bit is 0.
 *
 * A tile's words are copied in reverse order: then its bits are one long number, and any eight
 * bytes of it hold at least 57 consecutive bits. In words that are read in place, a window of two
 * words holds at least 33.
 */
#ifndef SZG_BIT_READER_H
#define SZG_BIT_READER_H

#include "core/bytes.h"
#include "core/dispatch.h"

/* ---- words in reverse order ---- */

/* Returns the window of bit 0, which the functions below take. A reader beyond the tile's last bit
 * reads bytes before `to`. */
const uint8_t *szg_copy_reversed(const uint8_t *words, size_t word_count, uint8_t *to);

/* At least 57 bits from `position` on; the first one is the highest. */
SZG_INLINE uint64_t szg_reversed_window(const uint8_t *first_window, uint32_t position) {
  return szg_load_u64(first_window - position / 8) << position % 8;
}

/* The next `count` bits, 0 to 64 of them, as a number. */
static inline uint64_t szg_take_bits(const uint8_t *first_window, uint32_t count,
                                     uint32_t *position) {
  uint64_t bits = 0;
  if (count > 32) {
    bits = szg_reversed_window(first_window, *position) >> 32;
    *position += 32;
    count -= 32;
  }
  if (count == 0) return bits;
  bits = bits << count | szg_reversed_window(first_window, *position) >> (64 - count);
  *position += count;
  return bits;
}

/* ---- words in place ---- */

SZG_INLINE uint32_t szg_bit_at(const uint8_t *words, uint64_t position) {
  return szg_load_u32(words + position / 32 * 4) >> (31 - position % 32) & 1;
}

/* At least 33 bits from `position` on; the first one is the highest. Reads eight bytes. */
SZG_INLINE uint64_t szg_window_at(const uint8_t *words, uint64_t position) {
  uint64_t const pair = szg_load_u64(words + (position >> 5) * 4);
  return (pair << 32 | pair >> 32) << (position & 31);
}

/* The same at the end of the words: zeros follow them. position: within the words. */
SZG_INLINE uint64_t szg_last_window_at(const uint8_t *words, uint64_t word_bytes,
                                       uint64_t position) {
  uint64_t const byte = position / 32 * 4;
  if (byte + 8 <= word_bytes) return szg_window_at(words, position);
  uint8_t bytes[8] = {0};
  memcpy(bytes, words + byte, (size_t)(word_bytes - byte));
  return szg_window_at(bytes, position % 32);
}

#endif
