/* bit_reader.h - bits of coded words on the CPU, the first bit of a word highest.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Words are little-endian u32 and need no alignment. A position is a bit's number, from the first
 * word's first on.
 *
 * The words of a tile are copied in reverse order: the tile's bits are then one long number, and
 * eight bytes from anywhere in it hold 57 bits or more that follow one another. In words that are
 * read where they lie, a window of two words holds 33.
 */
#ifndef SZG_BIT_READER_H
#define SZG_BIT_READER_H

#include "core/bytes.h"
#include "core/dispatch.h"

/* ---- words in reverse order ---- */

/* Returns the window of bit 0, which the functions below take. A reader that goes beyond the tile's
 * last bit looks at bytes before `to`. */
const uint8_t *szg_copy_reversed(const uint8_t *words, size_t word_count, uint8_t *to);

/* 57 bits or more from `position` on, the first one highest. */
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

/* ---- words where they lie ---- */

SZG_INLINE uint32_t szg_bit_at(const uint8_t *words, uint64_t position) {
  return szg_load_u32(words + position / 32 * 4) >> (31 - position % 32) & 1;
}

/* 33 bits or more from `position` on, the first one highest. Eight bytes must be there. */
SZG_INLINE uint64_t szg_window_at(const uint8_t *words, uint64_t position) {
  uint64_t const pair = szg_load_u64(words + (position >> 5) * 4);
  return (pair << 32 | pair >> 32) << (position & 31);
}

/* The same where the words may end: zeros follow them. position: in the words. */
SZG_INLINE uint64_t szg_last_window_at(const uint8_t *words, uint64_t word_bytes,
                                       uint64_t position) {
  uint64_t const byte = position / 32 * 4;
  if (byte + 8 <= word_bytes) return szg_window_at(words, position);
  uint8_t bytes[8] = {0};
  memcpy(bytes, words + byte, (size_t)(word_bytes - byte));
  return szg_window_at(bytes, position % 32);
}

#endif
