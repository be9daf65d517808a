/* tokens_decode.c - lanes of bits to a tile's codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each code of a lane depends on the one before it, but lanes are independent: plain codes and
 * pairs come four at a time from lane after lane, so that the processor can work on many lanes at
 * once. Only after a group does the decoder look whether the lane's bits were enough;
 * SZG_TOKENS_OVERRUN bytes can be read until then.
 *
 * Entries of values and pairs begin with the length of the code in 4 bits. Above bit 16, a pair has
 * two codes of 8 bits each. A value has a signed number m, and in 6 bits from bit 8 on the number r
 * of raw bits: its magnitude is |m| * 2^r and these bits, r = 0 if it is direct. Such entries are
 * RARE except for pairs and direct values. They are FAR too if above bit 16 they have the symbol
 * instead: NO_SYMBOL if no code has these bits, escapes, and classes whose raw bits need not be in
 * the window. Entries of octets and masks are the symbol << 4 and the length, or 0 if no code has
 * these bits.
 */
#include <assert.h>
#include <string.h>

#include "core/bit_reader.h"
#include "huffman/tokens_places.h"

enum {
  LENGTH_MASK = 15,
  RARE = 16,
  FAR = 32,
  RAW_BITS_SHIFT = 8,
  RAW_BITS_MASK = 63,
  NO_SYMBOL = 0,
  AT_ONCE = 4,
  WINDOW_BITS = 57,
  NEAR_RAW_BITS = WINDOW_BITS - SZG_LEVELS_CODE_BITS
};
static_assert(AT_ONCE * SZG_LEVELS_CODE_BITS <= WINDOW_BITS, "codes of a window");
static_assert(SZG_TOKENS_ENTRIES == 1 << SZG_LEVELS_CODE_BITS, "tables are complete");

/* ---- tables ---- */

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

static uint32_t value_entry(uint32_t symbol, uint32_t length) {
  if (length == 0) return (uint32_t)NO_SYMBOL << 16 | FAR | RARE;
  if (symbol < SZG_LEVELS_FIRST_CLASS) {
    uint32_t const magnitude = (symbol + 1) / 2;
    return (symbol % 2 ? magnitude : 0 - magnitude) << 16 | length;
  }
  uint32_t const place = symbol - SZG_LEVELS_FIRST_CLASS, magnitude_class = place / 2;
  uint32_t const raw_bits = szg_token_raw_bits(magnitude_class);
  if (symbol == SZG_LEVELS_VALUE_ESCAPE || raw_bits > NEAR_RAW_BITS)
    return symbol << 16 | FAR | RARE | length;
  uint32_t const high = 2 + magnitude_class % 2;
  return (place % 2 ? 0 - high : high) << 16 | raw_bits << RAW_BITS_SHIFT | RARE | length;
}

static uint32_t pair_entry(uint32_t symbol, uint32_t length) {
  if (length == 0) return (uint32_t)NO_SYMBOL << 16 | FAR | RARE;
  if (symbol == SZG_LEVELS_PAIR_ESCAPE) return symbol << 16 | FAR | RARE | length;
  uint32_t const a = symbol / SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  uint32_t const b = symbol % SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  return b << 24 | (a & 255) << 16 | length;
}

void szg_tokens_decoder_build(const szg_tokens_books *books, uint32_t mode,
                              szg_tokens_decoder *decoder) {
  uint16_t windows[SZG_TOKENS_ENTRIES];
  decoder->mode = mode;
  find_windows(books->values, SZG_LEVELS_VALUES, windows);
  for (uint32_t i = 0; i < SZG_TOKENS_ENTRIES; i++)
    decoder->values[i] = value_entry(windows[i] >> 4, windows[i] & LENGTH_MASK);
  if (mode == SZG_LEVELS_MODE_PAIRS) {
    find_windows(books->pairs, SZG_LEVELS_PAIRS, windows);
    for (uint32_t i = 0; i < SZG_TOKENS_ENTRIES; i++)
      decoder->pairs[i] = pair_entry(windows[i] >> 4, windows[i] & LENGTH_MASK);
  } else {
    find_windows(books->octets, SZG_LEVELS_OCTETS, decoder->octets);
    find_windows(books->masks, SZG_LEVELS_MASKS, decoder->masks);
  }
}

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

SZG_INLINE uint32_t entry_length(uint32_t entry) { return entry & LENGTH_MASK; }
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
  if (symbol == NO_SYMBOL) {
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

/* The code of any entry; window: begins with the entry's own bits, which are at *position. Moves
 * that behind the code. */
SZG_INLINE int64_t take_entry(const uint8_t *first_window, bool is_wide, uint32_t entry,
                              uint64_t window, uint32_t *position, bool *is_bad) {
  uint32_t const raw_bits = entry >> RAW_BITS_SHIFT & RAW_BITS_MASK;
  *position += entry_length(entry) + raw_bits;
  if (entry & FAR) return take_far(first_window, is_wide, entry, position, is_bad);
  uint64_t const raw = window << entry_length(entry) >> 1 >> (63 - raw_bits);
  uint64_t const high = (uint64_t)((int32_t)entry >> 16), sign = 0 - (high >> 63);
  uint64_t const code = (high << raw_bits) + ((raw ^ sign) - sign);
  return is_wide ? (int64_t)code : (int32_t)(uint32_t)code;
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
    *position += entry_length(entry);
    int64_t a = (int8_t)(entry >> 16), b = (int8_t)(entry >> 24);
    if (entry & RARE) {
      *is_bad |= entry >> 16 == NO_SYMBOL;
      a = take_value(lanes, is_wide, position, is_bad);
      b = take_value(lanes, is_wide, position, is_bad);
    }
    *is_bad |= (a != 0 && !(places >> i & 1)) | (b != 0 && !(places >> i >> 1 & 1));
    szg_set_code(lanes->codes, is_wide, first + i, a);
    szg_set_code(lanes->codes, is_wide, first + i + 1, b);
  }
}

/* Decodes four codes, or four pairs, of which all places exist. */
SZG_INLINE void take_four(const tile_lanes *lanes, bool is_wide, uint32_t mode, uint32_t first,
                          uint32_t *position, bool *is_bad) {
  bool const are_pairs = mode == SZG_LEVELS_MODE_PAIRS;
  const uint32_t *const entries = are_pairs ? lanes->decoder->pairs : lanes->decoder->values;
  uint64_t window = next_window(lanes->first_window, *position);
  uint32_t found[AT_ONCE], any = 0, sum = 0;
  for (uint32_t i = 0; i < AT_ONCE; i++) {
    found[i] = entries[prefix_of(window)];
    window <<= entry_length(found[i]);
    any |= found[i];
    sum += entry_length(found[i]);
  }
  if (any & RARE) {
    if (are_pairs)
      take_pairs(lanes, is_wide, first, UINT64_MAX >> (64 - 2 * AT_ONCE), position, is_bad);
    for (uint32_t i = 0; !are_pairs && i < AT_ONCE; i++)
      szg_set_code(lanes->codes, is_wide, first + i, take_value(lanes, is_wide, position, is_bad));
    return;
  }
  *position += sum;
  for (uint32_t i = 0; i < AT_ONCE; i++) {
    if (are_pairs) {
      szg_set_code(lanes->codes, is_wide, first + 2 * i, (int8_t)(found[i] >> 16));
      szg_set_code(lanes->codes, is_wide, first + 2 * i + 1, (int8_t)(found[i] >> 24));
    } else {
      szg_set_code(lanes->codes, is_wide, first + i, (int32_t)found[i] >> 16);
    }
  }
}

/* The places with nonzero codes. */
SZG_INLINE uint64_t take_places(const tile_lanes *lanes, uint32_t *position, bool *is_bad) {
  uint64_t window = next_window(lanes->first_window, *position);
  uint32_t entry = lanes->decoder->octets[prefix_of(window)];
  *position += entry_length(entry);
  *is_bad |= entry == 0;
  uint32_t octets = entry >> 4;
  if (octets == SZG_LEVELS_OCTET_ESCAPE)
    octets = (uint32_t)szg_take_bits(lanes->first_window, 8, position);
  uint64_t places = 0;
  for (; octets; octets &= octets - 1) {
    window = next_window(lanes->first_window, *position);
    entry = lanes->decoder->masks[prefix_of(window)];
    *position += entry_length(entry);
    uint64_t mask = entry >> 4;
    if (mask == SZG_LEVELS_MASK_ESCAPE) {
      mask = window << entry_length(entry) >> 56;
      *position += 8;
    }
    *is_bad |= entry == 0 || mask == 0;
    places |= mask << 8 * __builtin_ctz(octets);
  }
  return places;
}

SZG_INLINE void take_masks(const tile_lanes *lanes, bool is_wide, uint32_t group,
                           uint32_t *position, bool *is_bad) {
  uint64_t places = take_places(lanes, position, is_bad);
  *is_bad |= (places & ~szg_existing_of(lanes->existing, group)) != 0;
  uint32_t const first = group * SZG_LEVELS_GROUP;
  while (places) {
    uint64_t window = next_window(lanes->first_window, *position);
    for (uint32_t i = 0; i < AT_ONCE && places; i++, places &= places - 1) {
      uint32_t const entry = lanes->decoder->values[prefix_of(window)];
      int64_t code = (int32_t)entry >> 16;
      if (entry & RARE) {
        window = next_window(lanes->first_window, *position);
        code = take_entry(lanes->first_window, is_wide, entry, window, position, is_bad);
        window = next_window(lanes->first_window, *position);
        i = 0;
      } else {
        *position += entry_length(entry);
        window <<= entry_length(entry);
      }
      *is_bad |= code == 0;
      szg_set_code(lanes->codes, is_wide, first + (uint32_t)__builtin_ctzll(places), code);
    }
  }
}

/* ---- lanes ---- */

/* Decodes the next group of all lanes in `own`: its places all exist. groups: by lane. */
SZG_INLINE void take_full_groups(tile_lanes *lanes, bool is_wide, uint32_t mode, uint32_t own,
                                 uint32_t step, bool *is_bad) {
  uint32_t const g = lanes->shape->lane_groups_log2;
  uint32_t const places_at_once = mode == SZG_LEVELS_MODE_PAIRS ? 2 * AT_ONCE : AT_ONCE;
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += places_at_once)
    for (uint32_t left = own; left; left &= left - 1) {
      uint32_t const lane = (uint32_t)__builtin_ctz(left);
      uint32_t const first = ((lane << g) + step) * SZG_LEVELS_GROUP + i;
      take_four(lanes, is_wide, mode, first, &lanes->positions[lane], is_bad);
    }
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
    if (full) take_full_groups(lanes, is_wide, mode, full, step, &is_bad);
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
