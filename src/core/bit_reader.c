/* bit_reader.c - words in reverse order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/bit_reader.h"

SZG_HOT static void copy_reversed(const uint8_t *restrict words, size_t word_count,
                                  uint8_t *restrict to) {
  for (size_t i = 0; i < word_count; i++)
    szg_store_u32(to + 4 * i, szg_load_u32(words + 4 * (word_count - 1 - i)));
}

const uint8_t *szg_copy_reversed(const uint8_t *words, size_t word_count, uint8_t *to) {
  copy_reversed(words, word_count, to);
  return to + 4 * word_count - 8;
}
