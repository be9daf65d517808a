/* bit_writer.c - bits in bytes to words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/bit_writer.h"

/* next: bytes + 4. It is a separate pointer because gcc otherwise carries loaded bits from word to
 * word and does not vectorize the loop. */
SZG_HOT static void move_to_words(const uint8_t *restrict bytes, const uint8_t *restrict next,
                                  uint32_t shift, size_t word_count, uint8_t *restrict words) {
  for (size_t i = 0; i < word_count; i++) {
    uint32_t const high = __builtin_bswap32(szg_load_u32(bytes + 4 * i)) << shift;
    uint32_t const low = __builtin_bswap32(szg_load_u32(next + 4 * i)) >> 1 >> (31 - shift);
    szg_store_u32(words + 4 * i, high | low);
  }
}

void szg_move_to_words(const uint8_t *bytes, uint32_t shift, size_t word_count, uint8_t *words) {
  move_to_words(bytes, bytes + 4, shift, word_count, words);
}
