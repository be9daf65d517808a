/* tokens_decode_tables.c - books of a level to tables for decoding.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <assert.h>

#include "huffman/tokens_entries.h"

/* By window, the symbol << 4 and the length of the code at its start; 0: there is none. */
static void find_windows(const uint8_t *lengths, uint32_t symbol_count, uint16_t *windows) {
  uint32_t next = 0;
  for (uint32_t length = 1; length <= SZG_LEVELS_CODE_BITS; length++)
    for (uint32_t s = 0; s < symbol_count; s++) {
      if (lengths[s] != length) continue;
      uint32_t const end = next + (1u << (SZG_LEVELS_CODE_BITS - length));
      while (next < end) windows[next++] = (uint16_t)(s << 4 | length);
    }
  assert(next <= SZG_TOKENS_ENTRIES);
  while (next < SZG_TOKENS_ENTRIES) windows[next++] = 0;
}

/* code: the symbol's, as a number of `length` bits. */
static uint32_t value_entry(uint32_t symbol, uint32_t length, uint32_t code) {
  if (length == 0) return (uint32_t)SZG_ENTRY_NO_SYMBOL << 16 | SZG_ENTRY_FAR;
  bool const is_direct = symbol < SZG_LEVELS_FIRST_CLASS;
  uint32_t const magnitude_class = is_direct ? 0 : (symbol - SZG_LEVELS_FIRST_CLASS) / 2;
  uint32_t const raw_bits = is_direct ? 0 : szg_token_raw_bits(magnitude_class);
  if (symbol == SZG_LEVELS_VALUE_ESCAPE || raw_bits > SZG_ENTRY_NEAR_RAW_BITS)
    return symbol << 16 | SZG_ENTRY_FAR | length;
  uint32_t const least = is_direct ? (symbol + 1) / 2 : (uint32_t)szg_token_base(magnitude_class);
  uint32_t const is_negative = symbol % 2 == 0 && symbol > 0;
  uint32_t const number = least - (code << raw_bits); /* of a positive value */
  return (is_negative ? 1 - number : number) << SZG_ENTRY_NUMBER_SHIFT |
         is_negative << SZG_ENTRY_SIGN_SHIFT | (length + raw_bits);
}

static uint32_t pair_entry(uint32_t symbol, uint32_t length) {
  if (length == 0) return (uint32_t)SZG_ENTRY_NO_SYMBOL << 16 | SZG_ENTRY_FAR;
  if (symbol == SZG_LEVELS_PAIR_ESCAPE) return symbol << 16 | SZG_ENTRY_FAR | length;
  uint32_t const a = symbol / SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  uint32_t const b = symbol % SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  return b << 24 | (a & 255) << 16 | length;
}

/* An escape with a longer code, or none, leaves most runs of four pairs without one. */
enum { FREQUENT_ESCAPE_BITS = 4 };

void szg_tokens_decoder_build(const szg_tokens_books *books, uint32_t mode,
                              szg_tokens_decoder *decoder) {
  uint16_t windows[SZG_TOKENS_ENTRIES];
  uint32_t const escape_bits = books->pairs[SZG_LEVELS_PAIR_ESCAPE];
  decoder->mode = mode;
  decoder->has_rare_pair_escape = escape_bits == 0 || escape_bits > FREQUENT_ESCAPE_BITS;
  find_windows(books->values, SZG_LEVELS_VALUES, windows);
  for (uint32_t i = 0; i < SZG_TOKENS_ENTRIES; i++) {
    uint32_t const length = windows[i] & SZG_ENTRY_LENGTH_MASK;
    bool const is_same = i > 0 && windows[i] == windows[i - 1]; /* codes are in order */
    decoder->values[i] =
        is_same ? decoder->values[i - 1]
                : value_entry(windows[i] >> 4, length, i >> (SZG_LEVELS_CODE_BITS - length));
  }
  if (mode == SZG_LEVELS_MODE_PAIRS) {
    find_windows(books->pairs, SZG_LEVELS_PAIRS, windows);
    for (uint32_t i = 0; i < SZG_TOKENS_ENTRIES; i++)
      decoder->pairs[i] = pair_entry(windows[i] >> 4, windows[i] & SZG_ENTRY_LENGTH_MASK);
  } else {
    find_windows(books->octets, SZG_LEVELS_OCTETS, decoder->octets);
    find_windows(books->masks, SZG_LEVELS_MASKS, decoder->masks);
  }
}
