/* tokens_take_pairs.h - decodes the pairs of many groups in turn, for the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_TAKE_PAIRS_H
#define SZG_TOKENS_TAKE_PAIRS_H

#include <string.h>

#include "huffman/tokens_take.h"

/* The entry of bits that are no pair's. */
enum { SZG_NO_PAIR = SZG_ENTRY_NO_SYMBOL << 16 | SZG_ENTRY_FAR };

/* Decodes the two values after a pair escape. */
SZG_INLINE void szg_take_escaped(const szg_tokens_lanes *lanes, bool is_wide, uint32_t place,
                                 uint32_t *position, bool *is_bad) {
  const uint32_t *const values = lanes->decoder->values;
  uint64_t const window = szg_reversed_window(lanes->first_window, *position);
  uint32_t const a = values[szg_prefix_of(window)];
  uint64_t const next = window << szg_entry_bits(a);
  uint32_t const b = values[szg_prefix_of(next)];
  if (__builtin_expect((a | b) & SZG_ENTRY_FAR, false)) {
    szg_set_code(lanes->codes, is_wide, place, szg_take_value(lanes, is_wide, position, is_bad));
    szg_set_code(lanes->codes, is_wide, place + 1,
                 szg_take_value(lanes, is_wide, position, is_bad));
    return;
  }
  *position += szg_entry_bits(a) + szg_entry_bits(b);
  szg_set_code(lanes->codes, is_wide, place, szg_near_code(a, window));
  szg_set_code(lanes->codes, is_wide, place + 1, szg_near_code(b, next));
}
static_assert(2 * (SZG_LEVELS_CODE_BITS + SZG_ENTRY_NEAR_RAW_BITS) <= SZG_TAKE_WINDOW_BITS,
              "two near values of a window");

/* Whether a code is not 0 whose place does not exist: one of a pair that has one place. */
static inline bool szg_has_stray_code(const szg_tokens_lanes *lanes, bool is_wide, uint32_t first,
                                      uint64_t places) {
  uint64_t const pairs = szg_pairs_of_places(places);
  bool is_stray = false;
  for (uint64_t left = (pairs | pairs << 1) & ~places; left; left &= left - 1)
    is_stray |= szg_code_at(lanes->codes, is_wide, first + (uint32_t)__builtin_ctzll(left)) != 0;
  return is_stray;
}

/* The groups of a turn whose pairs are decoded together. */
typedef struct szg_pair_groups {
  uint32_t count;
  uint8_t groups[SZG_LANES];
} szg_pair_groups;

/* Decodes the pairs of groups, one of each group after the other, and then the values after those
 * that are escapes: in this order no branch depends on whether a pair is one. are_full: the groups
 * have all places. */
SZG_INLINE void szg_take_pairs_in_turn(const szg_tokens_lanes *lanes, bool is_wide, bool are_full,
                                       szg_pair_groups *open, szg_group_turn *turn, bool *is_bad) {
  const uint32_t *const pairs = lanes->decoder->pairs;
  uint64_t left[SZG_LANES];
  bool lacks_symbol = false; /* apart from *is_bad, which has to be in memory */
  for (uint32_t i = 0; i < open->count && !are_full; i++)
    left[open->groups[i]] = szg_pairs_of_places(turn->places[open->groups[i]]);
  for (uint32_t step = 0; are_full ? step < SZG_LEVELS_GROUP : open->count > 0; step += 2) {
    uint8_t escaped[SZG_LANES];
    uint32_t places[SZG_LANES], escaped_count = 0, open_count = 0;
    for (uint32_t i = 0; i < open->count; i++) {
      uint32_t const k = open->groups[i];
      uint32_t const place =
          turn->firsts[k] + (are_full ? step : (uint32_t)__builtin_ctzll(left[k]));
      uint64_t const window = szg_reversed_window(lanes->first_window, turn->positions[k]);
      uint32_t const entry = pairs[szg_prefix_of(window)];
      turn->positions[k] += szg_entry_bits(entry);
      szg_set_code(lanes->codes, is_wide, place, (int8_t)(entry >> 16));
      szg_set_code(lanes->codes, is_wide, place + 1, (int8_t)(entry >> 24));
      lacks_symbol |= entry == SZG_NO_PAIR;
      places[escaped_count] = place;
      szg_list_if(entry & SZG_ENTRY_FAR, k, escaped, &escaped_count);
      if (are_full) continue;
      left[k] &= left[k] - 1;
      szg_list_if(left[k] != 0, k, open->groups, &open_count);
    }
    for (uint32_t i = 0; i < escaped_count; i++)
      szg_take_escaped(lanes, is_wide, places[i], &turn->positions[escaped[i]], is_bad);
    if (!are_full) open->count = open_count;
  }
  *is_bad |= lacks_symbol;
}

/* Decodes four pairs one by one. */
static inline uint32_t szg_take_each_pair(const szg_tokens_lanes *lanes, bool is_wide,
                                          uint32_t place, uint32_t position, bool *is_bad) {
  uint32_t end = position;
  for (uint32_t i = place; i < place + 2 * SZG_TAKE_AT_ONCE; i += 2) {
    uint64_t const window = szg_reversed_window(lanes->first_window, end);
    uint32_t const entry = lanes->decoder->pairs[szg_prefix_of(window)];
    end += szg_entry_bits(entry);
    szg_set_code(lanes->codes, is_wide, i, (int8_t)(entry >> 16));
    szg_set_code(lanes->codes, is_wide, i + 1, (int8_t)(entry >> 24));
    *is_bad |= entry == SZG_NO_PAIR;
    if (entry & SZG_ENTRY_FAR) szg_take_escaped(lanes, is_wide, i, &end, is_bad);
  }
  return end - position;
}

SZG_INLINE uint32_t szg_take_four_pairs(const szg_tokens_lanes *lanes, bool is_wide, uint32_t place,
                                        uint32_t position, bool *is_bad) {
  szg_four_entries const four = szg_find_four(lanes->first_window, lanes->decoder->pairs, position);
  if (__builtin_expect(!four.are_near, false))
    return szg_take_each_pair(lanes, is_wide, place, position, is_bad);
  uint64_t const low =
      (uint64_t)(four.entries[0] >> 16) | (four.entries[1] & ~(uint64_t)UINT16_MAX);
  uint64_t const high =
      (uint64_t)(four.entries[2] >> 16) | (four.entries[3] & ~(uint64_t)UINT16_MAX);
  uint64_t const both = low | high << 32;
  int8_t codes[2 * SZG_TAKE_AT_ONCE];
  memcpy(codes, &both, sizeof codes);
  for (uint32_t k = 0; k < 2 * SZG_TAKE_AT_ONCE; k++)
    szg_set_code(lanes->codes, is_wide, place + k, codes[k]);
  return four.bits;
}

/* Decodes the pairs of a turn's groups: of full ones four at once, unless so many pairs are escapes
 * that this rarely succeeds. */
SZG_INLINE void szg_take_pairs(const szg_tokens_lanes *lanes, bool is_wide, szg_group_turn *turn,
                               bool *is_bad) {
  szg_pair_groups full = {0}, others = {0};
  for (uint32_t k = 0; k < turn->count; k++) {
    szg_list_if(!~turn->places[k], k, full.groups, &full.count);
    szg_list_if(~turn->places[k], k, others.groups, &others.count);
  }
  if (lanes->decoder->has_rare_pair_escape)
    for (uint32_t place = 0; place < SZG_LEVELS_GROUP; place += 2 * SZG_TAKE_AT_ONCE)
      for (uint32_t i = 0; i < full.count; i++) {
        uint32_t const k = full.groups[i];
        turn->positions[k] += szg_take_four_pairs(lanes, is_wide, turn->firsts[k] + place,
                                                  turn->positions[k], is_bad);
      }
  else
    szg_take_pairs_in_turn(lanes, is_wide, true, &full, turn, is_bad);
  szg_take_pairs_in_turn(lanes, is_wide, false, &others, turn, is_bad);
  for (uint32_t k = 0; k < turn->count; k++)
    if (~turn->places[k])
      *is_bad |= szg_has_stray_code(lanes, is_wide, turn->firsts[k], turn->places[k]);
}

#endif
