/* tokens_take_values.h - decodes the values of many groups in turn, for the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_TAKE_VALUES_H
#define SZG_TOKENS_TAKE_VALUES_H

#include <string.h>

#include "huffman/tokens_take.h"

/* Values whose codes are found later, many at once. An entry of SZG_VALUE_IN_WINDOW has its code in
 * the window. */
enum { SZG_TURN_PLACES = 16, SZG_VALUE_IN_WINDOW = 32 };
typedef struct szg_value_turn {
  uint32_t entries[SZG_TURN_PLACES], windows[SZG_TURN_PLACES]; /* the high halves of windows */
} szg_value_turn;
static_assert(SZG_LEVELS_CODE_BITS + SZG_ENTRY_NEAR_RAW_BITS <= 32,
              "half a window has a near value");

SZG_INLINE void szg_set_turn(const szg_value_turn *turn, int32_t *codes) {
  for (uint32_t i = 0; i < SZG_TURN_PLACES; i++) {
    uint32_t const entry = turn->entries[i];
    uint32_t const sign = (uint32_t)((int32_t)(entry << (31 - SZG_ENTRY_SIGN_SHIFT)) >> 31);
    uint32_t const bits = turn->windows[i] >> (-entry & 31);
    codes[i] = (int32_t)((bits ^ sign) + (uint32_t)((int32_t)entry >> SZG_ENTRY_NUMBER_SHIFT));
  }
}

/* Decodes `count` values one by one. */
static inline uint32_t szg_take_each(const szg_tokens_lanes *lanes, uint32_t count,
                                     uint32_t position, int32_t *codes, bool *is_bad) {
  uint32_t end = position;
  for (uint32_t i = 0; i < count; i++)
    codes[i] = (int32_t)szg_take_value(lanes, false, &end, is_bad);
  return end - position;
}

SZG_INLINE uint32_t szg_take_four_values(const szg_tokens_lanes *lanes, uint32_t i,
                                         uint32_t position, szg_value_turn *turn, bool *is_bad) {
  szg_four_entries const four =
      szg_find_four(lanes->first_window, lanes->decoder->values, position);
  if (__builtin_expect(four.are_near, true)) {
    for (uint32_t k = 0; k < SZG_TAKE_AT_ONCE; k++) {
      turn->entries[i + k] = four.entries[k];
      turn->windows[i + k] = (uint32_t)(four.windows[k] >> 32);
    }
    return four.bits;
  }
  int32_t codes[SZG_TAKE_AT_ONCE];
  uint32_t const bits = szg_take_each(lanes, SZG_TAKE_AT_ONCE, position, codes, is_bad);
  for (uint32_t k = 0; k < SZG_TAKE_AT_ONCE; k++) {
    turn->entries[i + k] = SZG_VALUE_IN_WINDOW;
    turn->windows[i + k] = (uint32_t)codes[k];
  }
  return bits;
}

/* The last one to three values of a group. codes: room for four. */
SZG_INLINE uint32_t szg_take_last_values(const szg_tokens_lanes *lanes, uint32_t count,
                                         uint32_t position, int32_t *codes, bool *is_bad) {
  szg_four_entries const four =
      szg_find_four(lanes->first_window, lanes->decoder->values, position);
  uint32_t const second = count > 1 ? four.entries[1] : 0;
  uint32_t const third = count > 2 ? four.entries[2] : 0;
  uint32_t const bits =
      szg_entry_bits(four.entries[0]) + szg_entry_bits(second) + szg_entry_bits(third);
  bool const is_far = (four.entries[0] | second | third) & SZG_ENTRY_FAR;
  if (__builtin_expect(is_far | (bits > SZG_TAKE_WINDOW_BITS), false))
    return szg_take_each(lanes, count, position, codes, is_bad);
  for (uint32_t k = 0; k < SZG_TAKE_AT_ONCE - 1; k++)
    codes[k] = szg_near_code(four.entries[k], four.windows[k]);
  return bits;
}

/* Moves values to their places. */
SZG_INLINE void szg_spread_values(const int32_t *values, uint64_t places, int32_t *codes) {
  for (uint64_t left = places; left; left &= left - 1, values++)
    codes[__builtin_ctzll(left)] = *values;
}

/* Whether a group, whose first code this is, has the code 0 at one of these places. */
SZG_INLINE bool szg_has_zero(const void *codes, bool is_wide, uint32_t first, uint64_t places) {
  bool has_zero = false;
  for (uint64_t left = places; left; left &= left - 1)
    has_zero |= szg_code_at(codes, is_wide, first + (uint32_t)__builtin_ctzll(left)) == 0;
  return has_zero;
}

/* Decodes the values of a turn's groups. */
SZG_INLINE void szg_take_values(const szg_tokens_lanes *lanes, szg_group_turn *turn, bool *is_bad) {
  szg_value_turn values[SZG_LANES];
  int32_t own[SZG_LANES][SZG_LEVELS_GROUP]; /* of groups that lack some places */
  uint32_t counts[SZG_LANES], most = 0;
  int32_t *to[SZG_LANES];
  for (uint32_t k = 0; k < turn->count; k++) {
    counts[k] = (uint32_t)__builtin_popcountll(turn->places[k]);
    most = counts[k] > most ? counts[k] : most;
    to[k] = ~turn->places[k] ? own[k] : (int32_t *)lanes->codes + turn->firsts[k];
    if (counts[k] % SZG_TURN_PLACES) memset(&values[k], 0, sizeof values[k]); /* a part is set */
  }
  for (uint32_t first = 0; first < most; first += SZG_TURN_PLACES) {
    for (uint32_t i = 0; i < SZG_TURN_PLACES; i += SZG_TAKE_AT_ONCE)
      for (uint32_t k = 0; k < turn->count; k++)
        if (first + i + SZG_TAKE_AT_ONCE <= counts[k])
          turn->positions[k] +=
              szg_take_four_values(lanes, i, turn->positions[k], &values[k], is_bad);
    for (uint32_t k = 0; k < turn->count; k++)
      if (first < counts[k]) szg_set_turn(&values[k], to[k] + first);
  }
  for (uint32_t k = 0; k < turn->count; k++) {
    uint32_t const last = counts[k] % SZG_TAKE_AT_ONCE;
    if (last)
      turn->positions[k] +=
          szg_take_last_values(lanes, last, turn->positions[k], own[k] + counts[k] - last, is_bad);
    if (~turn->places[k])
      szg_spread_values(own[k], turn->places[k], (int32_t *)lanes->codes + turn->firsts[k]);
  }
}

/* The same in a wide frame. */
SZG_INLINE uint32_t szg_take_four_wide_values(const szg_tokens_lanes *lanes, uint32_t place,
                                              uint32_t position, bool *is_bad) {
  szg_four_entries const four =
      szg_find_four(lanes->first_window, lanes->decoder->values, position);
  uint32_t end = position;
  for (uint32_t k = 0; k < SZG_TAKE_AT_ONCE; k++)
    szg_set_code(lanes->codes, true, place + k,
                 four.are_near ? szg_near_code(four.entries[k], four.windows[k])
                               : szg_take_value(lanes, true, &end, is_bad));
  return four.are_near ? four.bits : end - position;
}

static inline void szg_take_wide_values(const szg_tokens_lanes *lanes, szg_group_turn *turn,
                                        bool *is_bad) {
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += SZG_TAKE_AT_ONCE)
    for (uint32_t k = 0; k < turn->count; k++)
      if (!~turn->places[k])
        turn->positions[k] +=
            szg_take_four_wide_values(lanes, turn->firsts[k] + i, turn->positions[k], is_bad);
  for (uint32_t k = 0; k < turn->count; k++) {
    if (!~turn->places[k]) continue;
    for (uint64_t left = turn->places[k]; left; left &= left - 1) {
      int64_t const code = szg_take_value(lanes, true, &turn->positions[k], is_bad);
      szg_set_code(lanes->codes, true, turn->firsts[k] + (uint32_t)__builtin_ctzll(left), code);
    }
  }
}

#endif
