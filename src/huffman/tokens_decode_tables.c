/* tokens_decode_tables.c - books of a level to tables for decoding.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <assert.h>

#include "huffman/tokens_entries.h"

/* A book's symbols that have codes, by code. */
typedef struct sorted_book {
  uint32_t count;
  uint16_t symbols[SZG_LEVELS_OCTETS];
} sorted_book;
static_assert(SZG_LEVELS_OCTETS >= (int)SZG_LEVELS_VALUES &&
                  SZG_LEVELS_OCTETS >= (int)SZG_LEVELS_PAIRS &&
                  SZG_LEVELS_OCTETS >= (int)SZG_LEVELS_MASKS,
              "room for every book");

static void sort_symbols(const uint8_t *lengths, uint32_t symbol_count, sorted_book *sorted) {
  uint32_t ends[SZG_LEVELS_CODE_BITS + 1] = {0}; /* by length */
  for (uint32_t s = 0; s < symbol_count; s++) ends[lengths[s]] += lengths[s] > 0;
  for (uint32_t length = 1; length <= SZG_LEVELS_CODE_BITS; length++)
    ends[length] += ends[length - 1];
  sorted->count = ends[SZG_LEVELS_CODE_BITS];
  for (uint32_t s = symbol_count; s-- > 0;)
    if (lengths[s]) sorted->symbols[--ends[lengths[s]]] = (uint16_t)s;
}

/* By window, the symbol << 4 and the length of the code at its start; 0: there is none. */
static void find_windows(const uint8_t *lengths, uint32_t symbol_count, uint16_t *windows) {
  sorted_book sorted;
  uint32_t next = 0;
  sort_symbols(lengths, symbol_count, &sorted);
  for (uint32_t i = 0; i < sorted.count; i++) {
    uint32_t const symbol = sorted.symbols[i], length = lengths[symbol];
    uint32_t const end = next + (1u << (SZG_LEVELS_CODE_BITS - length));
    while (next < end) windows[next++] = (uint16_t)(symbol << 4 | length);
  }
  assert(next <= SZG_TOKENS_ENTRIES);
  while (next < SZG_TOKENS_ENTRIES) windows[next++] = 0;
}

/* code: the symbol's, as a number of `length` bits. */
static uint32_t value_entry(uint32_t symbol, uint32_t length, uint32_t code) {
  bool const is_direct = symbol < SZG_LEVELS_FIRST_CLASS;
  uint32_t const magnitude_class = is_direct ? 0 : szg_symbol_class(symbol);
  uint32_t const raw_bits = is_direct ? 0 : szg_token_raw_bits(magnitude_class);
  if (symbol == SZG_LEVELS_VALUE_ESCAPE || raw_bits > SZG_ENTRY_NEAR_RAW_BITS)
    return symbol << 16 | SZG_ENTRY_FAR | length;
  uint32_t const least = is_direct ? (symbol + 1) / 2 : (uint32_t)szg_token_base(magnitude_class);
  uint32_t const is_negative = symbol % 2 == 0 && symbol > 0;
  uint32_t const number = least - (code << raw_bits); /* of a positive value */
  return (is_negative ? 1 - number : number) << SZG_ENTRY_NUMBER_SHIFT |
         is_negative << SZG_ENTRY_SIGN_SHIFT | (length + raw_bits);
}

static uint32_t pair_entry(uint32_t symbol, uint32_t length, uint32_t code) {
  (void)code;
  if (symbol == SZG_LEVELS_PAIR_ESCAPE) return symbol << 16 | SZG_ENTRY_FAR | length;
  uint32_t const a = symbol / SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  uint32_t const b = symbol % SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  return b << 24 | (a & 255) << 16 | length;
}

/* By window, the entry of the code at its start. */
static void find_entries(const uint8_t *lengths, uint32_t symbol_count,
                         uint32_t (*entry_of)(uint32_t, uint32_t, uint32_t), uint32_t *entries) {
  sorted_book sorted;
  uint32_t next = 0;
  sort_symbols(lengths, symbol_count, &sorted);
  for (uint32_t i = 0; i < sorted.count; i++) {
    uint32_t const symbol = sorted.symbols[i], length = lengths[symbol];
    uint32_t const unused_bits = SZG_LEVELS_CODE_BITS - length, end = next + (1u << unused_bits);
    uint32_t const entry = entry_of(symbol, length, next >> unused_bits);
    while (next < end) entries[next++] = entry;
  }
  assert(next <= SZG_TOKENS_ENTRIES);
  while (next < SZG_TOKENS_ENTRIES)
    entries[next++] = (uint32_t)SZG_ENTRY_NO_SYMBOL << 16 | SZG_ENTRY_FAR;
}

/* An escape with a longer code, or none, leaves most runs of four pairs without one. */
enum { FREQUENT_ESCAPE_BITS = 4 };

void szg_tokens_decoder_build(const szg_tokens_books *books, uint32_t mode,
                              szg_tokens_decoder *decoder) {
  uint32_t const escape_bits = books->pairs[SZG_LEVELS_PAIR_ESCAPE];
  decoder->mode = mode;
  decoder->has_rare_pair_escape = escape_bits == 0 || escape_bits > FREQUENT_ESCAPE_BITS;
  find_entries(books->values, SZG_LEVELS_VALUES, value_entry, decoder->values);
  if (mode == SZG_LEVELS_MODE_PAIRS) {
    find_entries(books->pairs, SZG_LEVELS_PAIRS, pair_entry, decoder->pairs);
  } else {
    find_windows(books->octets, SZG_LEVELS_OCTETS, decoder->octets);
    find_windows(books->masks, SZG_LEVELS_MASKS, decoder->masks);
  }
}
