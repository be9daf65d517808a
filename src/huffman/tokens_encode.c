/* tokens_encode.c - a tile's codes to lanes of bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The head says how long lanes are, so lanes are written first, as bytes, one after the other
 * behind room for the longest head; the head then goes right before them, and all of it moves to
 * words. Direct values and pairs go to the writer four at a time.
 */
#include <assert.h>
#include <string.h>

#include "core/bit_writer.h"
#include "huffman/tokens_books_core.h"
#include "huffman/tokens_places.h"

enum {
  HEAD_ROOM = SZG_TOKENS_HEAD_ROOM,
  OVERHANG = 16, /* stores and loads take 8 bytes, wherever bits end */
  AT_ONCE = 4,
  MOST_MISSING =
      8 /* in a plain group with more codes that are not direct, none is joined as such */
};
static_assert(AT_ONCE * SZG_LEVELS_CODE_BITS <= SZG_PUT_MAX_BITS, "codes that are put at once");
static_assert(HEAD_ROOM + SZG_TOKENS_MOST_GROUPS * SZG_TOKENS_GROUP_MOST_BITS / 8 + OVERHANG <=
                  sizeof(((szg_tokens_work *)NULL)->bytes),
              "the longest tile");

SZG_INLINE uint32_t entry_length(uint32_t entry) { return entry & SZG_TOKENS_ENCODER_LENGTH; }
SZG_INLINE uint64_t entry_bits(uint32_t entry) { return (uint64_t)(entry & ~31u) << 32; }

/* ---- tables ---- */

static void build_entries(const uint8_t *lengths, uint32_t symbol_count, uint32_t *entries) {
  uint32_t code = 0;
  memset(entries, 0, symbol_count * sizeof *entries);
  for (uint32_t length = 1; length <= SZG_LEVELS_CODE_BITS; length++) {
    code <<= 1;
    for (uint32_t s = 0; s < symbol_count; s++)
      if (lengths[s] == length) entries[s] = code++ << (32 - length) | length;
  }
}

/* Gives bytes without a code the escape and themselves. */
static void build_byte_entries(const uint8_t *lengths, uint32_t symbol_count, uint32_t escape,
                               uint32_t *entries) {
  uint32_t own[SZG_LEVELS_OCTETS];
  build_entries(lengths, symbol_count, own);
  for (uint32_t byte = 0; byte < 256; byte++) {
    bool const has_code = own[byte] != 0 && byte != escape;
    entries[byte] = has_code ? own[byte] : szg_tokens_escaped_byte(own[escape], byte);
  }
}

void szg_tokens_encoder_build(const szg_tokens_plan *plan, szg_tokens_encoder *encoder) {
  const szg_tokens_books *const books = &plan->books;
  encoder->mode = plan->mode;
  build_byte_entries(books->octets, SZG_LEVELS_OCTETS, SZG_LEVELS_OCTET_ESCAPE, encoder->octets);
  build_byte_entries(books->masks, SZG_LEVELS_MASKS, SZG_LEVELS_MASK_ESCAPE, encoder->masks);
  build_entries(books->pairs, SZG_LEVELS_PAIRS, encoder->pairs);
  build_entries(books->values, SZG_LEVELS_VALUES, encoder->values);
  memcpy(encoder->small_pairs, encoder->pairs, sizeof encoder->small_pairs);
  encoder->small_pairs[SZG_LEVELS_PAIR_ESCAPE] = 0;
  encoder->direct[0] = 0;
  for (int32_t code = 1 - SZG_LEVELS_DIRECT; code < SZG_LEVELS_DIRECT; code++)
    encoder->direct[SZG_LEVELS_DIRECT + code] = encoder->values[szg_direct_symbol(code)];
}

/* ---- codes ---- */

SZG_INLINE void put_entry(uint32_t entry, szg_bit_writer *writer) {
  szg_put_left_aligned(writer, entry_bits(entry), entry_length(entry));
}

/* Writes a code by any symbol. Takes and returns a copy of the writer, so that callers can keep
 * theirs in registers. */
static szg_bit_writer put_value(const szg_tokens_encoder *encoder, bool is_wide, int64_t code,
                                szg_bit_writer writer) {
  szg_value_token token = szg_value_token_of(code, is_wide);
  if (!encoder->values[token.symbol]) token = szg_value_escape(code, is_wide);
  uint32_t const entry = encoder->values[token.symbol];
  assert(entry); /* the tile was counted, or escapes have codes */
  put_entry(entry, &writer);
  szg_put_number(&writer, token.raw, token.raw_bits);
  return writer;
}

/* Bits of values with those that follow them: left-aligned, the rest 0. A count of 0: they are too
 * many, or the symbol has no code. */
typedef struct joined_values {
  uint64_t bits[SZG_LEVELS_GROUP];
  uint32_t counts[SZG_LEVELS_GROUP];
} joined_values;

SZG_INLINE void join_values(const szg_tokens_encoder *encoder, const void *codes, bool is_wide,
                            uint32_t first, joined_values *joined) {
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i++) {
    szg_value_token const token =
        szg_value_token_of(szg_code_at(codes, is_wide, first + i), is_wide);
    uint32_t const entry = encoder->values[token.symbol];
    uint32_t const count = entry_length(entry) + token.raw_bits;
    bool const is_there = entry != 0 && count <= SZG_PUT_MAX_BITS;
    joined->bits[i] = entry_bits(entry) | token.raw << (63 - (count - 1) % 64);
    joined->counts[i] = is_there ? count : 0;
  }
}

SZG_INLINE void put_joined(const szg_tokens_encoder *encoder, const void *codes, bool is_wide,
                           uint32_t first, const joined_values *joined, szg_bit_writer *writer) {
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += 2) {
    uint32_t const count0 = joined->counts[i], count = count0 + joined->counts[i + 1];
    if (count0 != 0 && joined->counts[i + 1] != 0 && count <= SZG_PUT_MAX_BITS) {
      szg_put_left_aligned(writer, joined->bits[i] | joined->bits[i + 1] >> count0, count);
      continue;
    }
    for (uint32_t k = i; k < i + 2; k++) {
      if (joined->counts[k])
        szg_put_left_aligned(writer, joined->bits[k], joined->counts[k]);
      else
        *writer = put_value(encoder, is_wide, szg_code_at(codes, is_wide, first + k), *writer);
    }
  }
}

/* 0: not a direct value, or one without a code. */
SZG_INLINE uint32_t direct_entry(const szg_tokens_encoder *encoder, int64_t code) {
  uint64_t const is_direct = szg_is_direct_value(code); /* no branch: codes come in any order */
  return encoder->direct[((uint64_t)code + SZG_LEVELS_DIRECT) & (0 - is_direct)];
}

/* Puts the codes of four entries at once; false if one is missing. */
SZG_INLINE bool put_four(const uint32_t *entries, szg_bit_writer *writer) {
  if (!entries[0] | !entries[1] | !entries[2] | !entries[3]) return false;
  uint32_t const length0 = entry_length(entries[0]), length2 = entry_length(entries[2]);
  uint32_t const length01 = length0 + entry_length(entries[1]);
  uint64_t const bits01 = entry_bits(entries[0]) | entry_bits(entries[1]) >> length0;
  uint64_t const bits23 = entry_bits(entries[2]) | entry_bits(entries[3]) >> length2;
  szg_put_left_aligned(writer, bits01 | bits23 >> length01,
                       length01 + length2 + entry_length(entries[3]));
  return true;
}

/* ---- groups ---- */

/* What is encoded. In hot loops the compiler sees is_wide as a constant. */
typedef struct tile_source {
  const szg_tokens_encoder *encoder;
  const void *codes;
  const uint64_t *existing, *nonzero;
  bool is_wide;
} tile_source;

SZG_INLINE void put_plain(const tile_source *source, uint32_t group, szg_bit_writer *writer) {
  const szg_tokens_encoder *const encoder = source->encoder;
  uint32_t const first = group * SZG_LEVELS_GROUP;
  uint64_t const places = szg_existing_of(source->existing, group);
  if (places != UINT64_MAX) {
    for (uint64_t left = places; left; left &= left - 1)
      *writer = put_value(
          encoder, source->is_wide,
          szg_code_at(source->codes, source->is_wide, first + (uint32_t)__builtin_ctzll(left)),
          *writer);
    return;
  }
  uint32_t entries[SZG_LEVELS_GROUP], missing_count = 0;
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i++) {
    entries[i] = direct_entry(encoder, szg_code_at(source->codes, source->is_wide, first + i));
    missing_count += entries[i] == 0;
  }
  if (missing_count > MOST_MISSING) {
    joined_values joined;
    join_values(encoder, source->codes, source->is_wide, first, &joined);
    put_joined(encoder, source->codes, source->is_wide, first, &joined, writer);
    return;
  }
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += AT_ONCE) {
    if (put_four(entries + i, writer)) continue;
    for (uint32_t k = i; k < i + AT_ONCE; k++)
      *writer = put_value(encoder, source->is_wide,
                          szg_code_at(source->codes, source->is_wide, first + k), *writer);
  }
}

/* Writes a pair by any symbol. */
static szg_bit_writer put_pair(const tile_source *source, uint32_t place, szg_bit_writer writer) {
  const szg_tokens_encoder *const encoder = source->encoder;
  int64_t const a = szg_code_at(source->codes, source->is_wide, place);
  int64_t const b = szg_code_at(source->codes, source->is_wide, place + 1);
  uint32_t const entry = encoder->small_pairs[szg_pair_symbol(a, b)];
  if (entry) {
    put_entry(entry, &writer);
    return writer;
  }
  assert(encoder->pairs[SZG_LEVELS_PAIR_ESCAPE]);
  put_entry(encoder->pairs[SZG_LEVELS_PAIR_ESCAPE], &writer);
  writer = put_value(encoder, source->is_wide, a, writer);
  return put_value(encoder, source->is_wide, b, writer);
}

SZG_INLINE void put_pairs(const tile_source *source, uint32_t group, szg_bit_writer *writer) {
  uint32_t const first = group * SZG_LEVELS_GROUP;
  uint64_t const places = szg_existing_of(source->existing, group);
  if (places != UINT64_MAX) {
    for (uint64_t left = szg_pairs_of_places(places); left; left &= left - 1)
      *writer = put_pair(source, first + (uint32_t)__builtin_ctzll(left), *writer);
    return;
  }
  uint32_t entries[SZG_LEVELS_GROUP / 2];
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i++) {
    int64_t const a = szg_code_at(source->codes, source->is_wide, first + 2 * i);
    int64_t const b = szg_code_at(source->codes, source->is_wide, first + 2 * i + 1);
    entries[i] = source->encoder->small_pairs[szg_pair_symbol(a, b)];
  }
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i += AT_ONCE) {
    if (put_four(entries + i, writer)) continue;
    for (uint32_t k = i; k < i + AT_ONCE; k++) *writer = put_pair(source, first + 2 * k, *writer);
  }
}

SZG_INLINE void put_masks(const tile_source *source, uint32_t group, szg_bit_writer *writer) {
  const szg_tokens_encoder *const encoder = source->encoder;
  uint32_t const first = group * SZG_LEVELS_GROUP;
  uint64_t const places = source->nonzero[group];
  uint32_t const octets = szg_octets_of_places(places);
  assert(encoder->octets[octets]);
  put_entry(encoder->octets[octets], writer);
  for (uint32_t left = octets; left; left &= left - 1) {
    uint32_t const entry = encoder->masks[places >> 8 * __builtin_ctz(left) & 255];
    assert(entry);
    put_entry(entry, writer);
  }
  for (uint64_t left = places; left; left &= left - 1) {
    int64_t const code =
        szg_code_at(source->codes, source->is_wide, first + (uint32_t)__builtin_ctzll(left));
    uint32_t const entry = direct_entry(encoder, code);
    if (entry)
      put_entry(entry, writer);
    else
      *writer = put_value(encoder, source->is_wide, code, *writer);
  }
}

/* ---- lanes ---- */

/* Lengths of lanes in the form that the head has. */
typedef struct tile_head {
  uint32_t lane_count, live; /* bit l of live: lane l has bits */
  uint32_t lengths[SZG_LANES];
  uint32_t least, width;
  uint32_t head_bits, lane_bits; /* lane_bits: of all lanes */
} tile_head;

/* Writes lanes one after the other from `bytes` on. */
SZG_INLINE void put_lanes(const tile_source *source, const szg_tokens_shape *shape, uint32_t mode,
                          tile_head *head, uint8_t *bytes) {
  szg_bit_writer writer = {.next = bytes};
  uint64_t start = 0;
  for (uint32_t lane = 0; lane < head->lane_count; lane++) {
    if (!(head->live >> lane & 1)) continue;
    uint32_t const first = lane << shape->lane_groups_log2;
    uint32_t end = (lane + 1) << shape->lane_groups_log2;
    if (end > shape->group_count) end = shape->group_count;
    for (uint32_t group = first; group < end; group++) {
      if (mode == SZG_LEVELS_MODE_PLAIN) put_plain(source, group, &writer);
      if (mode == SZG_LEVELS_MODE_PAIRS) put_pairs(source, group, &writer);
      if (mode == SZG_LEVELS_MODE_MASKS) put_masks(source, group, &writer);
    }
    uint64_t const bit_count = szg_bits_put(bytes, &writer);
    head->lengths[lane] = (uint32_t)(bit_count - start);
    start = bit_count;
  }
  szg_put_end(&writer);
}

SZG_HOT static void put_narrow_lanes(tile_source source, const szg_tokens_shape *shape,
                                     tile_head *head, uint8_t *bytes) {
  source.is_wide = false;
  if (source.encoder->mode == SZG_LEVELS_MODE_PLAIN)
    put_lanes(&source, shape, SZG_LEVELS_MODE_PLAIN, head, bytes);
  else if (source.encoder->mode == SZG_LEVELS_MODE_PAIRS)
    put_lanes(&source, shape, SZG_LEVELS_MODE_PAIRS, head, bytes);
  else
    put_lanes(&source, shape, SZG_LEVELS_MODE_MASKS, head, bytes);
}

SZG_HOT static void put_wide_lanes(tile_source source, const szg_tokens_shape *shape,
                                   tile_head *head, uint8_t *bytes) {
  source.is_wide = true;
  put_lanes(&source, shape, source.encoder->mode, head, bytes);
}

/* ---- tiles ---- */

static uint32_t all_lanes(uint32_t lane_count) { return UINT32_MAX >> (SZG_LANES - lane_count); }

static void measure_head(tile_head *head) {
  uint32_t most = 0, live_count = 0;
  head->least = UINT32_MAX;
  head->lane_bits = head->width = 0;
  for (uint32_t lane = 0; lane < head->lane_count; lane++) {
    if (!(head->live >> lane & 1)) continue;
    uint32_t const length = head->lengths[lane];
    if (length < head->least) head->least = length;
    if (length > most) most = length;
    head->lane_bits += length;
    live_count++;
  }
  while ((most - head->least) >> head->width) head->width++;
  bool const has_mask = head->live != all_lanes(head->lane_count);
  head->head_bits = SZG_LEVELS_LEAST_BITS + SZG_LEVELS_WIDTH_BITS + 1 +
                    (has_mask ? head->lane_count : 0) + live_count * head->width;
}

/* Writes the head so that it ends with bytes[HEAD_ROOM - 1]. */
static void put_head(const tile_head *head, uint8_t *bytes) {
  uint8_t own_bytes[HEAD_ROOM + OVERHANG];
  uint32_t const first_bit = HEAD_ROOM * 8 - head->head_bits;
  szg_bit_writer writer = {.next = own_bytes + first_bit / 8, .pending_count = first_bit % 8};
  bool const has_mask = head->live != all_lanes(head->lane_count);
  szg_put_number(&writer, head->least, SZG_LEVELS_LEAST_BITS);
  szg_put_number(&writer, head->width, SZG_LEVELS_WIDTH_BITS);
  szg_put_number(&writer, has_mask, 1);
  for (uint32_t lane = 0; has_mask && lane < head->lane_count; lane++)
    szg_put_number(&writer, head->live >> lane & 1, 1);
  for (uint32_t lane = 0; lane < head->lane_count; lane++)
    if (head->live >> lane & 1)
      szg_put_number(&writer, head->lengths[lane] - head->least, head->width);
  assert(writer.next == own_bytes + HEAD_ROOM && writer.pending_count == 0);
  memcpy(bytes + first_bit / 8, own_bytes + first_bit / 8, HEAD_ROOM - first_bit / 8);
}

uint32_t szg_tokens_encode_tile(const szg_tokens_encoder *encoder, const szg_tokens_shape *shape,
                                const void *codes, const uint64_t *existing, szg_tokens_work *work,
                                uint8_t *words) {
  szg_tokens_find_nonzero(shape, codes, work->nonzero);
  tile_head head = {.lane_count = szg_tokens_lane_count(shape)};
  for (uint32_t group = 0; group < shape->group_count; group++)
    head.live |= (uint32_t)(work->nonzero[group] != 0) << (group >> shape->lane_groups_log2);
  if (!head.live) return 0;
  assert(encoder->mode != SZG_LEVELS_MODE_ZERO);
  tile_source const source = {encoder, codes, existing, work->nonzero, shape->is_wide};
  if (shape->is_wide)
    put_wide_lanes(source, shape, &head, work->bytes + HEAD_ROOM);
  else
    put_narrow_lanes(source, shape, &head, work->bytes + HEAD_ROOM);
  measure_head(&head);
  put_head(&head, work->bytes);
  uint32_t const first_bit = HEAD_ROOM * 8 - head.head_bits;
  uint32_t const word_count = (head.head_bits + head.lane_bits + 31) / 32;
  szg_move_to_words(work->bytes + first_bit / 8, first_bit % 8, word_count, words);
  return word_count;
}
