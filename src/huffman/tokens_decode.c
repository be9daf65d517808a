/* tokens_decode.c - lanes of bits to a tile's codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each code of a lane depends on the one before it, but lanes are independent: plain codes and
 * pairs come four at a time from lane after lane, so that the processor can work on many lanes at
 * once. Only after a group does the decoder look whether the lane's bits were enough;
 * SZG_TOKENS_OVERRUN bytes can be read until then.
 */
#include <assert.h>
#include <string.h>

#include "core/bit_reader.h"
#include "huffman/tokens_entries.h"

enum { AT_ONCE = 4, MASKS_AT_ONCE = 2, WINDOW_BITS = 57 };
static_assert(AT_ONCE * SZG_LEVELS_CODE_BITS <= WINDOW_BITS, "pairs of a window");
static_assert(MASKS_AT_ONCE * (SZG_LEVELS_CODE_BITS + 8) <= WINDOW_BITS, "masks of a window");

/* ---- the head ---- */

/* A tile during decoding. Lane l has the bits from positions[l] to ends[l] - 1. */
typedef struct tile_lanes {
  const szg_tokens_decoder *decoder;
  const szg_tokens_shape *shape;
  const uint64_t *existing;
  void *codes;
  const uint8_t *first_window; /* of bit 0 */
  uint32_t lane_count, live;   /* bit l of live: lane l has bits */
  uint32_t positions[SZG_LANES], ends[SZG_LANES];
} tile_lanes;

/* False: not a head, or one for another number of words. */
static bool read_head(tile_lanes *lanes, uint32_t word_count) {
  const uint8_t *const window = lanes->first_window;
  uint32_t position = 0;
  uint32_t const least = (uint32_t)szg_take_bits(window, SZG_LEVELS_LEAST_BITS, &position);
  uint32_t const width = (uint32_t)szg_take_bits(window, SZG_LEVELS_WIDTH_BITS, &position);
  bool const has_mask = szg_take_bits(window, 1, &position);
  if (width > SZG_LEVELS_LEAST_BITS) return false;
  lanes->live = 0;
  for (uint32_t lane = 0; lane < lanes->lane_count; lane++)
    if (!has_mask || szg_take_bits(window, 1, &position)) lanes->live |= 1u << lane;
  uint32_t lengths[SZG_LANES] = {0};
  for (uint32_t lane = 0; lane < lanes->lane_count; lane++) {
    if (!(lanes->live >> lane & 1)) continue;
    lengths[lane] = least + (uint32_t)szg_take_bits(window, width, &position);
    if (lengths[lane] == 0) return false;
  }
  for (uint32_t lane = 0; lane < lanes->lane_count; lane++) {
    lanes->positions[lane] = position;
    position += lengths[lane];
    lanes->ends[lane] = position;
  }
  if (lanes->live == 0 || (position + 31) / 32 != word_count) return false;
  return szg_take_bits(window, word_count * 32 - position, &position) == 0;
}

/* ---- codes ---- */

/* Of octets and masks; of values and pairs. */
SZG_INLINE uint32_t entry_length(uint32_t entry) { return entry & SZG_ENTRY_LENGTH_MASK; }
SZG_INLINE uint32_t entry_bits(uint32_t entry) { return entry & SZG_ENTRY_BITS_MASK; }
SZG_INLINE uint64_t next_window(const uint8_t *first_window, uint32_t position) {
  return szg_reversed_window(first_window, position);
}
SZG_INLINE uint32_t prefix_of(uint64_t window) {
  return (uint32_t)(window >> (64 - SZG_LEVELS_CODE_BITS));
}

/* The code of a far entry, whose own bits are behind *position already. */
static int64_t take_far(const uint8_t *first_window, bool is_wide, uint32_t entry,
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
  uint32_t const raw_bits = szg_token_raw_bits((symbol - SZG_LEVELS_FIRST_CLASS) / 2);
  return szg_class_code(symbol, szg_take_bits(first_window, raw_bits, position), is_wide);
}

/* The code of an entry that is not far; window: begins with the entry's bits. */
SZG_INLINE int32_t near_code(uint32_t entry, uint64_t window) {
  uint32_t const bits = (uint32_t)(window >> (-entry & SZG_ENTRY_BITS_MASK));
  uint32_t const sign = (uint32_t)((int32_t)(entry << (31 - SZG_ENTRY_SIGN_SHIFT)) >> 31);
  return (int32_t)((bits ^ sign) + (uint32_t)((int32_t)entry >> SZG_ENTRY_NUMBER_SHIFT));
}

/* The code of any entry; window: begins with the entry's own bits, which are at *position. Moves
 * that behind the code. */
SZG_INLINE int64_t take_entry(const uint8_t *first_window, bool is_wide, uint32_t entry,
                              uint64_t window, uint32_t *position, bool *is_bad) {
  *position += entry_bits(entry);
  if (entry & SZG_ENTRY_FAR) return take_far(first_window, is_wide, entry, position, is_bad);
  return near_code(entry, window);
}

SZG_INLINE int64_t take_value(const tile_lanes *lanes, bool is_wide, uint32_t *position,
                              bool *is_bad) {
  uint64_t const window = next_window(lanes->first_window, *position);
  uint32_t const entry = lanes->decoder->values[prefix_of(window)];
  return take_entry(lanes->first_window, is_wide, entry, window, position, is_bad);
}

/* ---- groups ---- */

/* Decodes a group's existing places one by one; places: not 0. */
static void take_plain(const tile_lanes *lanes, bool is_wide, uint32_t first, uint64_t places,
                       uint32_t *position, bool *is_bad) {
  for (; places; places &= places - 1)
    szg_set_code(lanes->codes, is_wide, first + (uint32_t)__builtin_ctzll(places),
                 take_value(lanes, is_wide, position, is_bad));
}

/* Decodes the pairs of which a place exists. */
static void take_pairs(const tile_lanes *lanes, bool is_wide, uint32_t first, uint64_t places,
                       uint32_t *position, bool *is_bad) {
  for (uint64_t left = szg_pairs_of_places(places); left; left &= left - 1) {
    uint32_t const i = (uint32_t)__builtin_ctzll(left);
    uint64_t const window = next_window(lanes->first_window, *position);
    uint32_t const entry = lanes->decoder->pairs[prefix_of(window)];
    *position += entry_bits(entry);
    int64_t a = (int8_t)(entry >> 16), b = (int8_t)(entry >> 24);
    if (entry & SZG_ENTRY_FAR) {
      *is_bad |= entry >> 16 == SZG_ENTRY_NO_SYMBOL;
      a = take_value(lanes, is_wide, position, is_bad);
      b = take_value(lanes, is_wide, position, is_bad);
    }
    *is_bad |= (a != 0 && !(places >> i & 1)) | (b != 0 && !(places >> i >> 1 & 1));
    szg_set_code(lanes->codes, is_wide, first + i, a);
    szg_set_code(lanes->codes, is_wide, first + i + 1, b);
  }
}

/* Decodes four pairs, or four values, one by one. */
static uint32_t take_any_four(const tile_lanes *lanes, bool is_wide, bool are_pairs, uint32_t first,
                              uint32_t position, bool *is_bad) {
  uint64_t const places = UINT64_MAX >> (64 - (are_pairs ? 2 * AT_ONCE : AT_ONCE));
  uint32_t end = position;
  if (are_pairs)
    take_pairs(lanes, is_wide, first, places, &end, is_bad);
  else
    take_plain(lanes, is_wide, first, places, &end, is_bad);
  return end - position;
}

/* Four entries one after the other, each with a window that begins with its bits. */
typedef struct four_entries {
  uint32_t entries[AT_ONCE];
  uint64_t windows[AT_ONCE];
  uint32_t bits; /* of all four */
  bool are_near; /* and in one window */
} four_entries;

SZG_INLINE four_entries find_four(const uint8_t *first_window, const uint32_t *entries,
                                  uint32_t position) {
  uint64_t const w0 = next_window(first_window, position);
  uint32_t const e0 = entries[prefix_of(w0)];
  uint64_t const w1 = w0 << entry_bits(e0);
  uint32_t const e1 = entries[prefix_of(w1)];
  uint64_t const w2 = w1 << entry_bits(e1);
  uint32_t const e2 = entries[prefix_of(w2)];
  uint64_t const w3 = w2 << entry_bits(e2);
  uint32_t const e3 = entries[prefix_of(w3)];
  uint32_t const bits =
      (e0 + e1 + e2 + e3) & (2 * SZG_ENTRY_BITS_MASK + 1); /* if none is SZG_ENTRY_FAR */
  bool const are_near = !((e0 | e1 | e2 | e3) & SZG_ENTRY_FAR) & (bits <= WINDOW_BITS);
  return (four_entries){{e0, e1, e2, e3}, {w0, w1, w2, w3}, bits, are_near};
}

/* Values whose codes are found later, many at once. An entry of VALUE_IN_WINDOW has its code in
 * the window. */
enum { TURN_PLACES = 16, VALUE_IN_WINDOW = 32 };
typedef struct value_turn {
  uint32_t entries[TURN_PLACES], windows[TURN_PLACES]; /* the high halves of windows */
} value_turn;
static_assert(SZG_LEVELS_CODE_BITS + SZG_ENTRY_NEAR_RAW_BITS <= 32,
              "half a window has a near value");

SZG_INLINE void set_turn(const value_turn *turn, int32_t *codes) {
  for (uint32_t i = 0; i < TURN_PLACES; i++) {
    uint32_t const entry = turn->entries[i];
    uint32_t const sign = (uint32_t)((int32_t)(entry << (31 - SZG_ENTRY_SIGN_SHIFT)) >> 31);
    uint32_t const bits = turn->windows[i] >> (-entry & 31);
    codes[i] = (int32_t)((bits ^ sign) + (uint32_t)((int32_t)entry >> SZG_ENTRY_NUMBER_SHIFT));
  }
}

SZG_INLINE uint32_t take_four_values(const tile_lanes *lanes, uint32_t place, uint32_t position,
                                     value_turn *turn, bool *is_bad) {
  uint32_t const i = place % TURN_PLACES;
  four_entries const four = find_four(lanes->first_window, lanes->decoder->values, position);
  if (__builtin_expect(four.are_near, true)) {
    for (uint32_t k = 0; k < AT_ONCE; k++) {
      turn->entries[i + k] = four.entries[k];
      turn->windows[i + k] = (uint32_t)(four.windows[k] >> 32);
    }
    return four.bits;
  }
  uint32_t const bits = take_any_four(lanes, false, false, place, position, is_bad);
  for (uint32_t k = 0; k < AT_ONCE; k++) {
    turn->entries[i + k] = VALUE_IN_WINDOW;
    turn->windows[i + k] = (uint32_t)szg_code_at(lanes->codes, false, place + k);
  }
  return bits;
}

SZG_INLINE uint32_t take_four_wide_values(const tile_lanes *lanes, uint32_t place,
                                          uint32_t position, bool *is_bad) {
  four_entries const four = find_four(lanes->first_window, lanes->decoder->values, position);
  if (!four.are_near) return take_any_four(lanes, true, false, place, position, is_bad);
  for (uint32_t k = 0; k < AT_ONCE; k++)
    szg_set_code(lanes->codes, true, place + k, near_code(four.entries[k], four.windows[k]));
  return four.bits;
}

SZG_INLINE uint32_t take_four_pairs(const tile_lanes *lanes, bool is_wide, uint32_t place,
                                    uint32_t position, bool *is_bad) {
  four_entries const four = find_four(lanes->first_window, lanes->decoder->pairs, position);
  if (__builtin_expect(!four.are_near, false))
    return take_any_four(lanes, is_wide, true, place, position, is_bad);
  uint64_t const low =
      (uint64_t)(four.entries[0] >> 16) | (four.entries[1] & ~(uint64_t)UINT16_MAX);
  uint64_t const high =
      (uint64_t)(four.entries[2] >> 16) | (four.entries[3] & ~(uint64_t)UINT16_MAX);
  uint64_t const both = low | high << 32;
  int8_t codes[2 * AT_ONCE];
  memcpy(codes, &both, sizeof codes);
  for (uint32_t k = 0; k < 2 * AT_ONCE; k++)
    szg_set_code(lanes->codes, is_wide, place + k, codes[k]);
  return four.bits;
}

/* The places with nonzero codes. */
SZG_INLINE uint64_t take_places(const tile_lanes *lanes, uint32_t *position, bool *is_bad) {
  const uint8_t *const first_window = lanes->first_window;
  uint64_t window = next_window(first_window, *position);
  uint32_t entry = lanes->decoder->octets[prefix_of(window)];
  *position += entry_length(entry);
  *is_bad |= entry == 0;
  uint32_t octets = entry >> 4;
  if (octets == SZG_LEVELS_OCTET_ESCAPE)
    octets = (uint32_t)szg_take_bits(first_window, 8, position);
  uint64_t places = 0;
  while (octets) {
    window = next_window(first_window, *position);
    for (uint32_t i = 0; i < MASKS_AT_ONCE && octets; i++, octets &= octets - 1) {
      entry = lanes->decoder->masks[prefix_of(window)];
      uint64_t mask = entry >> 4;
      uint32_t length = entry_length(entry);
      if (mask == SZG_LEVELS_MASK_ESCAPE) {
        mask = window << length >> 56;
        length += 8;
      }
      *position += length;
      window <<= length;
      *is_bad |= entry == 0 || mask == 0;
      places |= mask << 8 * __builtin_ctz(octets);
    }
  }
  return places;
}

/* The codes of four places, the first ones of *places. */
SZG_INLINE void take_marked_four(const tile_lanes *lanes, bool is_wide, uint32_t first,
                                 uint64_t *places, uint32_t *position, bool *is_bad) {
  four_entries const four = find_four(lanes->first_window, lanes->decoder->values, *position);
  for (uint32_t i = 0; i < AT_ONCE; i++, *places &= *places - 1) {
    uint32_t const place = first + (uint32_t)__builtin_ctzll(*places);
    int64_t const code = __builtin_expect(four.are_near, true)
                             ? near_code(four.entries[i], four.windows[i])
                             : take_value(lanes, is_wide, position, is_bad);
    *is_bad |= code == 0;
    szg_set_code(lanes->codes, is_wide, place, code);
  }
  if (four.are_near) *position += four.bits;
}

SZG_INLINE void take_masks(const tile_lanes *lanes, bool is_wide, uint32_t group,
                           uint32_t *position, bool *is_bad) {
  uint64_t places = take_places(lanes, position, is_bad);
  *is_bad |= (places & ~szg_existing_of(lanes->existing, group)) != 0;
  uint32_t const first = group * SZG_LEVELS_GROUP, count = (uint32_t)__builtin_popcountll(places);
  for (uint32_t i = 0; i + AT_ONCE <= count; i += AT_ONCE)
    take_marked_four(lanes, is_wide, first, &places, position, is_bad);
  for (; places; places &= places - 1) {
    int64_t const code = take_value(lanes, is_wide, position, is_bad);
    *is_bad |= code == 0;
    szg_set_code(lanes->codes, is_wide, first + (uint32_t)__builtin_ctzll(places), code);
  }
}

/* ---- lanes ---- */

/* Lanes whose next group has all places: they take turns. */
typedef struct full_lanes {
  uint32_t count;
  uint32_t positions[SZG_LANES], firsts[SZG_LANES]; /* bits; places of groups */
} full_lanes;

SZG_INLINE void take_full_pairs(const tile_lanes *lanes, bool is_wide, full_lanes *full,
                                bool *is_bad) {
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += 2 * AT_ONCE)
    for (uint32_t k = 0; k < full->count; k++)
      full->positions[k] +=
          take_four_pairs(lanes, is_wide, full->firsts[k] + i, full->positions[k], is_bad);
}

SZG_INLINE void take_full_wide_values(const tile_lanes *lanes, full_lanes *full, bool *is_bad) {
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += AT_ONCE)
    for (uint32_t k = 0; k < full->count; k++)
      full->positions[k] +=
          take_four_wide_values(lanes, full->firsts[k] + i, full->positions[k], is_bad);
}

SZG_INLINE void take_full_values(const tile_lanes *lanes, full_lanes *full, bool *is_bad) {
  value_turn turns[SZG_LANES];
  for (uint32_t first = 0; first < SZG_LEVELS_GROUP; first += TURN_PLACES) {
    for (uint32_t i = first; i < first + TURN_PLACES; i += AT_ONCE)
      for (uint32_t k = 0; k < full->count; k++)
        full->positions[k] +=
            take_four_values(lanes, full->firsts[k] + i, full->positions[k], &turns[k], is_bad);
    for (uint32_t k = 0; k < full->count; k++)
      set_turn(&turns[k], (int32_t *)lanes->codes + full->firsts[k] + first);
  }
}

/* Decodes the next group of all lanes in `own`: its places all exist. */
SZG_INLINE void take_full_groups(tile_lanes *lanes, bool is_wide, bool are_pairs, uint32_t own,
                                 uint32_t step, bool *is_bad) {
  tile_lanes const source = *lanes;
  uint32_t const g = lanes->shape->lane_groups_log2;
  full_lanes full = {0};
  for (uint32_t left = own; left; left &= left - 1) {
    uint32_t const lane = (uint32_t)__builtin_ctz(left);
    full.positions[full.count] = lanes->positions[lane];
    full.firsts[full.count++] = ((lane << g) + step) * SZG_LEVELS_GROUP;
  }
  if (are_pairs)
    take_full_pairs(&source, is_wide, &full, is_bad);
  else if (is_wide)
    take_full_wide_values(&source, &full, is_bad);
  else
    take_full_values(&source, &full, is_bad);
  uint32_t count = 0;
  for (uint32_t left = own; left; left &= left - 1)
    lanes->positions[__builtin_ctz(left)] = full.positions[count++];
}

/* Decodes a group of one lane. */
SZG_INLINE void take_group(tile_lanes *lanes, bool is_wide, uint32_t mode, uint32_t group,
                           uint32_t *position, bool *is_bad) {
  uint32_t const first = group * SZG_LEVELS_GROUP;
  if (mode == SZG_LEVELS_MODE_MASKS)
    take_masks(lanes, is_wide, group, position, is_bad);
  else if (mode == SZG_LEVELS_MODE_PAIRS)
    take_pairs(lanes, is_wide, first, szg_existing_of(lanes->existing, group), position, is_bad);
  else
    take_plain(lanes, is_wide, first, szg_existing_of(lanes->existing, group), position, is_bad);
}

/* False: bits that are no codes, or lanes with too few or too many of them. */
SZG_INLINE bool take_lanes(tile_lanes *lanes, bool is_wide, uint32_t mode) {
  uint32_t const g = lanes->shape->lane_groups_log2;
  bool is_bad = false;
  for (uint32_t step = 0; step < 1u << g; step++) {
    uint32_t full = 0;
    for (uint32_t left = lanes->live; left; left &= left - 1) {
      uint32_t const lane = (uint32_t)__builtin_ctz(left), group = (lane << g) + step;
      if (group >= lanes->shape->group_count) continue;
      if (mode != SZG_LEVELS_MODE_MASKS && szg_existing_of(lanes->existing, group) == UINT64_MAX)
        full |= 1u << lane;
      else
        take_group(lanes, is_wide, mode, group, &lanes->positions[lane], &is_bad);
    }
    if (full) take_full_groups(lanes, is_wide, mode == SZG_LEVELS_MODE_PAIRS, full, step, &is_bad);
    for (uint32_t left = lanes->live; left; left &= left - 1) {
      uint32_t const lane = (uint32_t)__builtin_ctz(left);
      is_bad |= lanes->positions[lane] > lanes->ends[lane];
    }
    if (is_bad) return false;
  }
  for (uint32_t left = lanes->live; left; left &= left - 1) {
    uint32_t const lane = (uint32_t)__builtin_ctz(left);
    is_bad |= lanes->positions[lane] != lanes->ends[lane];
  }
  return !is_bad;
}

SZG_HOT static bool take_narrow_lanes(tile_lanes *lanes) {
  if (lanes->decoder->mode == SZG_LEVELS_MODE_PLAIN)
    return take_lanes(lanes, false, SZG_LEVELS_MODE_PLAIN);
  if (lanes->decoder->mode == SZG_LEVELS_MODE_PAIRS)
    return take_lanes(lanes, false, SZG_LEVELS_MODE_PAIRS);
  return take_lanes(lanes, false, SZG_LEVELS_MODE_MASKS);
}

SZG_HOT static bool take_wide_lanes(tile_lanes *lanes) {
  return take_lanes(lanes, true, lanes->decoder->mode);
}

szgpu_status szg_tokens_decode_tile(const szg_tokens_decoder *decoder,
                                    const szg_tokens_shape *shape, const uint64_t *existing,
                                    const uint8_t *words, uint32_t word_count,
                                    szg_tokens_work *work, void *codes) {
  memset(codes, 0, (size_t)shape->group_count * SZG_LEVELS_GROUP * szg_code_bytes(shape->is_wide));
  if (word_count == 0) return SZGPU_OK;
  SZG_REQUIRE(decoder->mode != SZG_LEVELS_MODE_ZERO, SZGPU_BAD_DATA);
  SZG_REQUIRE(word_count <= szg_tokens_most_words(shape), SZGPU_BAD_DATA);
  tile_lanes lanes = {.decoder = decoder, .shape = shape, .existing = existing, .codes = codes};
  lanes.lane_count = szg_tokens_lane_count(shape);
  lanes.first_window = szg_copy_reversed(words, word_count, work->bytes + SZG_TOKENS_OVERRUN);
  SZG_REQUIRE(read_head(&lanes, word_count), SZGPU_BAD_DATA);
  bool const is_sound = shape->is_wide ? take_wide_lanes(&lanes) : take_narrow_lanes(&lanes);
  SZG_REQUIRE(is_sound, SZGPU_BAD_DATA);
  return SZGPU_OK;
}
