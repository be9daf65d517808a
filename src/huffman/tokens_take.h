/* tokens_take.h - takes symbols and codes from the lanes of a tile, for the CPU's decoder.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_TAKE_H
#define SZG_TOKENS_TAKE_H

#include <string.h>

#include "core/bit_reader.h"
#include "huffman/tokens_entries.h"

enum { SZG_TAKE_AT_ONCE = 4, SZG_TAKE_WINDOW_BITS = 57 };
static_assert(SZG_TAKE_AT_ONCE * SZG_LEVELS_CODE_BITS <= SZG_TAKE_WINDOW_BITS, "pairs of a window");

/* A tile during decoding. Lane l has the bits from positions[l] to ends[l] - 1. */
typedef struct szg_tokens_lanes {
  const szg_tokens_decoder *decoder;
  const szg_tokens_shape *shape;
  const uint64_t *existing;
  void *codes;
  const uint8_t *first_window; /* of bit 0 */
  uint32_t lane_count, live;   /* bit l of live: lane l has bits */
  uint32_t positions[SZG_LANES], ends[SZG_LANES];
} szg_tokens_lanes;

/* Of octets and masks; of values and pairs. */
SZG_INLINE uint32_t szg_byte_entry_length(uint32_t entry) { return entry & SZG_ENTRY_LENGTH_MASK; }
SZG_INLINE uint32_t szg_entry_bits(uint32_t entry) { return entry & SZG_ENTRY_BITS_MASK; }
SZG_INLINE uint32_t szg_prefix_of(uint64_t window) {
  return (uint32_t)(window >> (64 - SZG_LEVELS_CODE_BITS));
}

/* The code of a far entry, whose own bits are behind *position already. */
static inline int64_t szg_take_far(const uint8_t *first_window, bool is_wide, uint32_t entry,
                                   uint32_t *position, bool *is_bad) {
  uint32_t const symbol = entry >> 16;
  if (symbol == SZG_ENTRY_NO_SYMBOL) {
    *is_bad = true;
    return 0;
  }
  if (symbol == SZG_LEVELS_VALUE_ESCAPE) {
    uint64_t const bits = szg_take_bits(first_window, is_wide ? 64 : 32, position);
    return is_wide ? (int64_t)bits : (int32_t)(uint32_t)bits;
  }
  uint32_t const raw_bits = szg_token_raw_bits(szg_symbol_class(symbol));
  return szg_class_code(symbol, szg_take_bits(first_window, raw_bits, position), is_wide);
}

/* The code of an entry that is not far; window: begins with the entry's bits. */
SZG_INLINE int32_t szg_near_code(uint32_t entry, uint64_t window) {
  uint32_t const bits = (uint32_t)(window >> (-entry & SZG_ENTRY_BITS_MASK));
  uint32_t const sign = (uint32_t)((int32_t)(entry << (31 - SZG_ENTRY_SIGN_SHIFT)) >> 31);
  return (int32_t)((bits ^ sign) + (uint32_t)((int32_t)entry >> SZG_ENTRY_NUMBER_SHIFT));
}

/* The code of any entry; window: begins with the entry's own bits, which are at *position. Moves
 * that behind the code. */
SZG_INLINE int64_t szg_take_entry(const uint8_t *first_window, bool is_wide, uint32_t entry,
                                  uint64_t window, uint32_t *position, bool *is_bad) {
  *position += szg_entry_bits(entry);
  if (entry & SZG_ENTRY_FAR) return szg_take_far(first_window, is_wide, entry, position, is_bad);
  return szg_near_code(entry, window);
}

SZG_INLINE int64_t szg_take_value(const szg_tokens_lanes *lanes, bool is_wide, uint32_t *position,
                                  bool *is_bad) {
  uint64_t const window = szg_reversed_window(lanes->first_window, *position);
  uint32_t const entry = lanes->decoder->values[szg_prefix_of(window)];
  return szg_take_entry(lanes->first_window, is_wide, entry, window, position, is_bad);
}

/* Four entries one after the other, each with a window that begins with its bits. */
typedef struct szg_four_entries {
  uint32_t entries[SZG_TAKE_AT_ONCE];
  uint64_t windows[SZG_TAKE_AT_ONCE];
  uint32_t bits; /* of all four */
  bool are_near; /* and in one window */
} szg_four_entries;

SZG_INLINE szg_four_entries szg_find_four(const uint8_t *first_window, const uint32_t *entries,
                                          uint32_t position) {
  uint64_t const w0 = szg_reversed_window(first_window, position);
  uint32_t const e0 = entries[szg_prefix_of(w0)];
  uint64_t const w1 = w0 << szg_entry_bits(e0);
  uint32_t const e1 = entries[szg_prefix_of(w1)];
  uint64_t const w2 = w1 << szg_entry_bits(e1);
  uint32_t const e2 = entries[szg_prefix_of(w2)];
  uint64_t const w3 = w2 << szg_entry_bits(e2);
  uint32_t const e3 = entries[szg_prefix_of(w3)];
  uint32_t const bits =
      (e0 + e1 + e2 + e3) & (2 * SZG_ENTRY_BITS_MASK + 1); /* if none is SZG_ENTRY_FAR */
  bool const are_near = !((e0 | e1 | e2 | e3) & SZG_ENTRY_FAR) & (bits <= SZG_TAKE_WINDOW_BITS);
  return (szg_four_entries){{e0, e1, e2, e3}, {w0, w1, w2, w3}, bits, are_near};
}

/* Groups that are decoded together, one of each lane: they take turns, so that the processor can
 * work on many chains of lookups at once. */
typedef struct szg_group_turn {
  uint32_t count;
  uint32_t positions[SZG_LANES], firsts[SZG_LANES]; /* bits; places of groups */
  uint64_t places[SZG_LANES];                       /* in the group, that have codes */
} szg_group_turn;

/* Appends a group to a list if it belongs there. No branch, because nobody knows. */
SZG_INLINE void szg_list_if(bool belongs, uint32_t group, uint8_t *list, uint32_t *count) {
  list[*count] = (uint8_t)group;
  *count += belongs;
}

static inline void szg_clear_group(void *codes, bool is_wide, uint32_t first) {
  size_t const bytes = szg_code_bytes(is_wide);
  memset((uint8_t *)codes + first * bytes, 0, SZG_LEVELS_GROUP * bytes);
}

#endif
