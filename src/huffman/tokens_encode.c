/* tokens_encode.c - a tile's codes to lanes of bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The head says how long lanes are, so lanes are written first, as bytes, one after the other
 * behind room for the longest head; the head then goes right before them, and all of it moves to
 * words. Values and pairs go to the writer four at a time.
 */
#include <assert.h>
#include <string.h>

#include "core/bit_writer.h"
#include "core/lane_head.h"
#include "huffman/tokens_near.h"
#include "huffman/tokens_places.h"

enum {
  HEAD_ROOM = SZG_TOKENS_HEAD_ROOM,
  OVERHANG = 16, /* stores and loads take 8 bytes, wherever bits end */
  AT_ONCE = 4,
  NEAR_RAW_BITS = 9, /* of the greatest near value */
  MOST_ESCAPES = 2   /* of pairs in a group, which are put one by one */
};
static_assert(SZG_TOKENS_NEAR < 4 << NEAR_RAW_BITS, "the most raw bits of a near value");
static_assert(SZG_LEVELS_CODE_BITS + NEAR_RAW_BITS <= 26, "an entry has bits and their number");
static_assert(3 * SZG_LEVELS_CODE_BITS + 2 * NEAR_RAW_BITS <= SZG_PUT_MAX_BITS, "a pair");
static_assert(HEAD_ROOM + SZG_TOKENS_MOST_GROUPS * SZG_TOKENS_GROUP_MOST_BITS / 8 + OVERHANG <=
                  sizeof(((szg_tokens_work *)NULL)->bytes),
              "the longest tile");

SZG_INLINE uint64_t entry_bits(uint32_t entry) { return (uint64_t)(entry & ~31u) << 32; }

/* ---- codes ---- */

/* What is encoded. In hot loops the compiler sees is_wide as a constant. */
typedef struct tile_source {
  const szg_tokens_cpu_encoder *encoder;
  const void *codes;
  const uint64_t *existing, *nonzero;
  bool is_wide;
  bool *lacks_code; /* set if a symbol has none: its tile was not counted */
} tile_source;

SZG_INLINE void put_entry(uint32_t entry, szg_bit_writer *writer) {
  szg_put_left_aligned(writer, entry_bits(entry), szg_entry_length(entry));
}

/* Puts the entry of a symbol that has a code if its tile was counted, or escapes have codes. */
SZG_INLINE void put_symbol(const tile_source *source, uint32_t entry, szg_bit_writer *writer) {
  if (__builtin_expect(entry == 0, false)) *source->lacks_code = true;
  put_entry(entry, writer);
}

/* Writes a code by any symbol. Takes and returns a copy of the writer, so that callers can keep
 * theirs in registers. */
static szg_bit_writer put_value(const tile_source *source, int64_t code, szg_bit_writer writer) {
  const uint32_t *const values = source->encoder->shared.values;
  szg_value_token token = szg_value_token_of(code, source->is_wide);
  if (!values[token.symbol]) token = szg_value_escape(code, source->is_wide);
  put_symbol(source, values[token.symbol], &writer);
  szg_put_number(&writer, token.raw, token.raw_bits);
  return writer;
}

SZG_INLINE uint64_t near_bits(uint32_t entry) { return (uint64_t)(entry & ~63u) << 32; }

/* Puts the bits of four near entries; false, and nothing is put, if one is missing. */
SZG_INLINE bool put_four(uint32_t e0, uint32_t e1, uint32_t e2, uint32_t e3,
                         szg_bit_writer *writer) {
  if (__builtin_expect((e0 | e1 | e2 | e3) & SZG_NO_NEAR_ENTRY, false)) return false;
  uint64_t const first = near_bits(e0) | near_bits(e1) >> (e0 & SZG_NEAR_LENGTH);
  uint64_t const second = near_bits(e2) | near_bits(e3) >> (e2 & SZG_NEAR_LENGTH);
  uint32_t const first_length = (e0 + e1) & SZG_NEAR_LENGTH,
                 second_length = (e2 + e3) & SZG_NEAR_LENGTH;
  uint32_t const length = first_length + second_length;
  if (__builtin_expect(length <= SZG_PUT_MAX_BITS, true)) {
    szg_put_left_aligned(writer, first | second >> first_length, length);
  } else {
    szg_put_left_aligned(writer, first, first_length);
    szg_put_left_aligned(writer, second, second_length);
  }
  return true;
}

/* ---- groups ---- */

/* The near entry of the code at a place. */
SZG_INLINE uint32_t near_entry_at(const tile_source *source, uint32_t place) {
  uint64_t const code = (uint64_t)szg_code_at(source->codes, source->is_wide, place);
  uint64_t const index = code + SZG_TOKENS_NEAR, most = 2 * SZG_TOKENS_NEAR;
  return source->encoder->near[index < most ? index : most];
}

SZG_INLINE void put_value_at(const tile_source *source, uint32_t place, szg_bit_writer *writer) {
  uint32_t const entry = near_entry_at(source, place);
  if (entry & SZG_NO_NEAR_ENTRY)
    *writer = put_value(source, szg_code_at(source->codes, source->is_wide, place), *writer);
  else
    szg_put_left_aligned(writer, near_bits(entry), entry & SZG_NEAR_LENGTH);
}

SZG_INLINE void put_plain(const tile_source *source, uint32_t group, szg_bit_writer *writer) {
  uint32_t const first = group * SZG_LEVELS_GROUP;
  uint64_t const places = szg_existing_of(source->existing, group);
  if (places != UINT64_MAX) {
    for (uint64_t left = places; left; left &= left - 1)
      put_value_at(source, first + (uint32_t)__builtin_ctzll(left), writer);
    return;
  }
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += AT_ONCE) {
    uint32_t const place = first + i;
    if (put_four(near_entry_at(source, place), near_entry_at(source, place + 1),
                 near_entry_at(source, place + 2), near_entry_at(source, place + 3), writer))
      continue;
    for (uint32_t k = 0; k < AT_ONCE; k++) put_value_at(source, place + k, writer);
  }
}

/* Writes a pair by any symbol. */
SZG_INLINE void put_pair_at(const tile_source *source, uint32_t place, szg_bit_writer *writer) {
  const szg_tokens_encoder *const encoder = &source->encoder->shared;
  int64_t const a = szg_code_at(source->codes, source->is_wide, place);
  int64_t const b = szg_code_at(source->codes, source->is_wide, place + 1);
  uint32_t const entry = encoder->small_pairs[szg_pair_symbol(a, b)];
  if (entry) {
    put_entry(entry, writer);
    return;
  }
  put_symbol(source, encoder->pairs[SZG_LEVELS_PAIR_ESCAPE], writer);
  put_value_at(source, place, writer);
  put_value_at(source, place + 1, writer);
}

/* The near entries of a group's codes. Indices are found apart, many at once; codes of a narrow
 * frame wrap in 32 bits, of which a vector holds more. */
SZG_INLINE void find_near(const tile_source *source, uint32_t first, uint32_t *entries) {
  uint32_t const most = 2 * SZG_TOKENS_NEAR;
  uint32_t indices[SZG_LEVELS_GROUP];
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP && source->is_wide; i++) {
    uint64_t const index = (uint64_t)((const int64_t *)source->codes)[first + i] + SZG_TOKENS_NEAR;
    indices[i] = (uint32_t)(index < most ? index : most);
  }
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP && !source->is_wide; i++) {
    uint32_t const index = (uint32_t)((const int32_t *)source->codes)[first + i] + SZG_TOKENS_NEAR;
    indices[i] = index < most ? index : most;
  }
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i++) entries[i] = source->encoder->near[indices[i]];
}

/* The bits of a group's pairs, with the values after those that are escapes. */
enum { LACKS_ENTRY = 1 << 16 };
typedef struct pair_bits {
  uint64_t bits[SZG_LEVELS_GROUP / 2];    /* left-aligned */
  uint64_t lengths[SZG_LEVELS_GROUP / 2]; /* at least LACKS_ENTRY if an entry is missing */
} pair_bits;

/* Finds them all with no branch, because escapes come in any order. */
SZG_INLINE void find_escaping_pairs(const tile_source *source, const uint32_t *symbols,
                                    uint32_t first, pair_bits *found) {
  uint32_t values[SZG_LEVELS_GROUP], entries[SZG_LEVELS_GROUP / 2];
  uint64_t const high_bits = (uint64_t)UINT32_MAX - SZG_NEAR_LENGTH;
  find_near(source, first, values);
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i++)
    entries[i] = source->encoder->shared.pairs[symbols[i]];
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i++) {
    uint64_t const is_escape = 0 - (uint64_t)(symbols[i] == SZG_LEVELS_PAIR_ESCAPE);
    uint64_t const a = values[2 * i] & is_escape, b = values[2 * i + 1] & is_escape;
    uint64_t const length = szg_entry_length(entries[i]), a_length = a & SZG_NEAR_LENGTH;
    uint64_t const of_values = (a & high_bits) << 32 | (b & high_bits) << 32 >> a_length;
    uint64_t const is_missing = (length == 0) | ((a | b) & SZG_NO_NEAR_ENTRY) / SZG_NO_NEAR_ENTRY;
    found->bits[i] = entry_bits(entries[i]) | of_values >> length;
    found->lengths[i] = length + a_length + (b & SZG_NEAR_LENGTH) + is_missing * LACKS_ENTRY;
  }
}

/* Two pairs at a time, if they fit. */
SZG_INLINE void put_escaping_pairs(const tile_source *source, const uint32_t *symbols,
                                   uint32_t first, szg_bit_writer *writer) {
  pair_bits pairs;
  find_escaping_pairs(source, symbols, first, &pairs);
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i += 2) {
    uint32_t const length = (uint32_t)pairs.lengths[i];
    uint32_t const both = length + (uint32_t)pairs.lengths[i + 1];
    if (__builtin_expect(both <= SZG_PUT_MAX_BITS, true)) {
      szg_put_left_aligned(writer, pairs.bits[i] | pairs.bits[i + 1] >> length, both);
    } else if (both < LACKS_ENTRY) {
      szg_put_left_aligned(writer, pairs.bits[i], length);
      szg_put_left_aligned(writer, pairs.bits[i + 1], both - length);
    } else {
      put_pair_at(source, first + 2 * i, writer);
      put_pair_at(source, first + 2 * i + 2, writer);
    }
  }
}

SZG_INLINE void put_pairs(const tile_source *source, uint32_t group, szg_bit_writer *writer) {
  uint32_t const first = group * SZG_LEVELS_GROUP;
  uint64_t const places = szg_existing_of(source->existing, group);
  if (places != UINT64_MAX) {
    for (uint64_t left = szg_pairs_of_places(places); left; left &= left - 1)
      put_pair_at(source, first + (uint32_t)__builtin_ctzll(left), writer);
    return;
  }
  uint32_t symbols[SZG_LEVELS_GROUP / 2];
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i++) {
    int64_t const a = szg_code_at(source->codes, source->is_wide, first + 2 * i);
    int64_t const b = szg_code_at(source->codes, source->is_wide, first + 2 * i + 1);
    symbols[i] =
        source->is_wide ? szg_pair_symbol(a, b) : szg_narrow_pair_symbol((int32_t)a, (int32_t)b);
  }
  uint32_t escape_count = 0;
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i++)
    escape_count += symbols[i] == SZG_LEVELS_PAIR_ESCAPE;
  if (escape_count > MOST_ESCAPES) {
    put_escaping_pairs(source, symbols, first, writer);
    return;
  }
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i += AT_ONCE) {
    const uint32_t *const pairs = source->encoder->near_pairs;
    if (put_four(pairs[symbols[i]], pairs[symbols[i + 1]], pairs[symbols[i + 2]],
                 pairs[symbols[i + 3]], writer))
      continue;
    for (uint32_t k = i; k < i + AT_ONCE; k++) put_pair_at(source, first + 2 * k, writer);
  }
}

SZG_INLINE void put_masks(const tile_source *source, uint32_t group, szg_bit_writer *writer) {
  const szg_tokens_encoder *const encoder = &source->encoder->shared;
  uint32_t const first = group * SZG_LEVELS_GROUP;
  uint64_t places = source->nonzero[group];
  uint32_t const octets = szg_octets_of_places(places);
  put_symbol(source, encoder->octets[octets], writer);
  for (uint32_t left = octets; left; left &= left - 1)
    put_symbol(source, encoder->masks[places >> 8 * __builtin_ctz(left) & 255], writer);
  uint32_t const count = (uint32_t)__builtin_popcountll(places);
  for (uint32_t i = 0; i + AT_ONCE <= count; i += AT_ONCE) {
    uint32_t marked[AT_ONCE];
    for (uint32_t k = 0; k < AT_ONCE; k++, places &= places - 1)
      marked[k] = first + (uint32_t)__builtin_ctzll(places);
    if (put_four(near_entry_at(source, marked[0]), near_entry_at(source, marked[1]),
                 near_entry_at(source, marked[2]), near_entry_at(source, marked[3]), writer))
      continue;
    for (uint32_t k = 0; k < AT_ONCE; k++) put_value_at(source, marked[k], writer);
  }
  for (; places; places &= places - 1)
    put_value_at(source, first + (uint32_t)__builtin_ctzll(places), writer);
}

/* ---- lanes ---- */

/* What the lanes of a tile are. */
typedef struct tile_lanes {
  szg_head_form form;
  uint32_t live; /* bit l: lane l has bits */
  uint32_t lengths[SZG_LANES];
} tile_lanes;

/* Writes lanes one after the other from `bytes` on. */
SZG_INLINE void put_lanes(const tile_source *source, const szg_tokens_shape *shape, uint32_t mode,
                          tile_lanes *lanes, uint8_t *bytes) {
  szg_bit_writer writer = {.next = bytes};
  uint64_t start = 0;
  for (uint32_t lane = 0; lane < lanes->form.lane_count; lane++) {
    if (!(lanes->live >> lane & 1)) continue;
    uint32_t const first = lane << shape->lane_groups_log2;
    uint32_t end = (lane + 1) << shape->lane_groups_log2;
    if (end > shape->group_count) end = shape->group_count;
    for (uint32_t group = first; group < end; group++) {
      if (mode == SZG_LEVELS_MODE_PLAIN) put_plain(source, group, &writer);
      if (mode == SZG_LEVELS_MODE_PAIRS) put_pairs(source, group, &writer);
      if (mode == SZG_LEVELS_MODE_MASKS) put_masks(source, group, &writer);
    }
    uint64_t const bit_count = szg_bits_put(bytes, &writer);
    lanes->lengths[lane] = (uint32_t)(bit_count - start);
    start = bit_count;
  }
  szg_put_end(&writer);
}

SZG_HOT static void put_narrow_lanes(tile_source source, const szg_tokens_shape *shape,
                                     tile_lanes *lanes, uint8_t *bytes) {
  source.is_wide = false;
  if (source.encoder->shared.mode == SZG_LEVELS_MODE_PLAIN)
    put_lanes(&source, shape, SZG_LEVELS_MODE_PLAIN, lanes, bytes);
  else if (source.encoder->shared.mode == SZG_LEVELS_MODE_PAIRS)
    put_lanes(&source, shape, SZG_LEVELS_MODE_PAIRS, lanes, bytes);
  else
    put_lanes(&source, shape, SZG_LEVELS_MODE_MASKS, lanes, bytes);
}

SZG_HOT static void put_wide_lanes(tile_source source, const szg_tokens_shape *shape,
                                   tile_lanes *lanes, uint8_t *bytes) {
  source.is_wide = true;
  put_lanes(&source, shape, source.encoder->shared.mode, lanes, bytes);
}

/* ---- tiles ---- */

uint32_t szg_tokens_encode_tile(const szg_tokens_cpu_encoder *encoder,
                                const szg_tokens_shape *shape, const void *codes,
                                const uint64_t *existing, szg_tokens_work *work, uint8_t *words) {
  szg_tokens_find_nonzero(shape, codes, work->nonzero);
  tile_lanes lanes = {.form = szg_tokens_head_form(shape)};
  for (uint32_t group = 0; group < shape->group_count; group++)
    lanes.live |= (uint32_t)(work->nonzero[group] != 0) << (group >> shape->lane_groups_log2);
  if (!lanes.live) return 0;
  assert(encoder->shared.mode != SZG_LEVELS_MODE_ZERO);
  bool lacks_code = false;
  tile_source const source = {encoder, codes, existing, work->nonzero, shape->is_wide, &lacks_code};
  if (shape->is_wide)
    put_wide_lanes(source, shape, &lanes, work->bytes + HEAD_ROOM);
  else
    put_narrow_lanes(source, shape, &lanes, work->bytes + HEAD_ROOM);
  if (lacks_code) return SZG_TOKENS_UNCOUNTED;
  szg_lane_head const head = szg_lane_head_measure(lanes.form, lanes.live, lanes.lengths);
  szg_lane_head_write(lanes.form, &head, lanes.lengths, work->bytes + HEAD_ROOM, words);
  return szg_lane_head_words(&head);
}
