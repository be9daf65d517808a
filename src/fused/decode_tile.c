/* decode_tile.c - 32 lanes of bits to a tile's deltas.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lane's code waits for the one before it, but lanes do not wait for each other: going from lane
 * to lane every half group gives the processor many of them to work on at once.
 */
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "fused/tile.h"
#include "fused/tile_lanes.h"

static_assert(SZG_HALF_ROWS * SZG_TILE_CODE_BITS + 1 <= 57, "half a group is in a window");

/* ---- bits ---- */

SZG_HOT static void copy_reversed(const uint8_t *restrict words, size_t word_count,
                                  uint8_t *restrict to) {
  for (size_t i = 0; i < word_count; i++)
    szg_store_u32(to + 4 * i, szg_load_u32(words + 4 * (word_count - 1 - i)));
}

/* Bits from `position` on, the first one highest. */
SZG_INLINE uint64_t window_at(const uint8_t *first_window, uint32_t position) {
  return szg_load_u64(first_window - position / 8) << position % 8;
}

/* The next `count` bits, 0 to 64 of them. */
static uint64_t take_bits(const uint8_t *first_window, uint32_t count, uint32_t *position) {
  uint64_t bits = 0;
  if (count > 32) {
    bits = window_at(first_window, *position) >> 32;
    *position += 32;
    count -= 32;
  }
  if (count == 0) return bits;
  bits = bits << count | window_at(first_window, *position) >> (64 - count);
  *position += count;
  return bits;
}

/* ---- the head ---- */

/* False: not a head, or one that wants another number of words. */
static bool read_head(szg_tile_lanes *lanes, uint32_t word_count) {
  const uint8_t *const window = lanes->first_window;
  uint32_t position = 0;
  uint32_t const least = (uint32_t)take_bits(window, SZG_TILE_LEAST_BITS, &position);
  uint32_t const width = (uint32_t)take_bits(window, SZG_TILE_WIDTH_BITS, &position);
  bool const has_mask = take_bits(window, 1, &position);
  if (width > SZG_TILE_LEAST_BITS) return false;
  lanes->busy = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++)
    if (!has_mask || take_bits(window, 1, &position)) lanes->busy |= 1u << lane;
  uint32_t lengths[SZG_LANES] = {0};
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    if (!(lanes->busy >> lane & 1)) continue;
    lengths[lane] = least + (uint32_t)take_bits(window, width, &position);
    if (lengths[lane] == 0) return false;
  }
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    lanes->positions[lane] = position;
    position += lengths[lane];
    lanes->ends[lane] = position;
  }
  if (lanes->busy == 0 || (position + 31) / 32 != word_count) return false;
  return take_bits(window, word_count * 32 - position, &position) == 0;
}

/* ---- lanes ---- */

static void store_delta(uint32_t lattice_bits, uint64_t bits, uint32_t place,
                        szg_tile_points *deltas) {
  int64_t const delta = szg_delta_of_bits(bits, lattice_bits);
  if (lattice_bits == 64)
    deltas->wide[place] = delta;
  else if (lattice_bits == 32)
    deltas->narrow[place] = (int32_t)delta;
  else
    deltas->slim[place] = (int16_t)delta;
}

static uint64_t class_delta(uint32_t magnitude_class, uint64_t raw, bool is_negative) {
  uint64_t const magnitude = szg_class_base(magnitude_class) + raw;
  return is_negative ? 0 - magnitude : magnitude;
}

uint32_t szg_decode_half_by_code(szg_tile_lanes *lanes, const uint16_t *first_values,
                                 uint32_t code_count, uint32_t lane, uint32_t position) {
  const uint8_t *const window = lanes->first_window;
  for (uint32_t i = 0; i < code_count; i++) {
    uint64_t const prefix = window_at(window, position) >> (64 - SZG_TILE_CODE_BITS);
    uint32_t const entry = lanes->decoder->entries[prefix];
    position += entry & SZG_ENTRY_LENGTH;
    uint64_t bits;
    if (!(entry & SZG_ENTRY_RARE)) {
      bits = (uint64_t)((int32_t)entry >> 16);
    } else if (entry & SZG_ENTRY_ESCAPE) {
      bits = take_bits(window, lanes->lattice_bits, &position);
    } else {
      uint32_t const magnitude_class = entry >> 16 & (SZG_TILE_CLASSES - 1);
      uint64_t const raw = take_bits(window, szg_class_raw_bits(magnitude_class), &position);
      bits = class_delta(magnitude_class, raw, entry & SZG_ENTRY_NEGATIVE);
    }
    store_delta(lanes->lattice_bits, bits, first_values[i] + lane, lanes->deltas);
  }
  return position;
}

/* Half a group of lane after lane. keep, by lane: 0 where the half is left out, else all ones. */
SZG_INLINE void decode_half(szg_tile_lanes *lanes, szg_half_kind kind, const uint16_t *first_values,
                            uint32_t first_lane, uint32_t end_lane, uint32_t *restrict keep) {
  const uint32_t *const entries = lanes->decoder->entries;
  const uint8_t *const first_window = lanes->first_window;
  uint32_t *const restrict positions = lanes->positions;
  szg_tile_points *const restrict deltas = lanes->deltas;
  uint32_t const busy = lanes->busy;
  for (uint32_t lane = first_lane; lane < end_lane; lane++) {
    if (!(busy >> lane & 1)) continue;
    uint32_t position = positions[lane];
    uint64_t window = window_at(first_window, position);
    if (kind.has_zero_bit) {
      keep[lane] = 0 - (uint32_t)(window >> 63);
      window <<= 1;
      position++;
    }
    uint32_t found[SZG_HALF_ROWS], any = 0, sum = 0;
    for (uint32_t i = 0; i < kind.code_count; i++) {
      found[i] = entries[window >> (64 - SZG_TILE_CODE_BITS)];
      if (kind.is_in_a_group) found[i] &= keep[lane];
      window <<= found[i] & SZG_ENTRY_LENGTH;
      any |= found[i];
      sum += found[i] & SZG_ENTRY_LENGTH;
    }
    if (any & SZG_ENTRY_RARE) {
      positions[lane] =
          szg_decode_half_by_code(lanes, first_values, kind.code_count, lane, position);
      continue;
    }
    positions[lane] = position + sum;
    for (uint32_t i = 0; i < kind.code_count; i++) {
      int32_t const delta = (int32_t)found[i] >> 16;
      if (kind.lattice_bits == 64)
        deltas->wide[first_values[i] + lane] = delta;
      else if (kind.lattice_bits == 32)
        deltas->narrow[first_values[i] + lane] = delta;
      else
        deltas->slim[first_values[i] + lane] = (int16_t)delta;
    }
  }
}

SZG_INLINE void decode_spans(szg_tile_lanes *lanes, uint32_t lattice_bits, uint32_t zero_groups,
                             const szg_tile_span *spans, uint32_t span_count) {
  uint32_t keep[SZG_LANES];
  for (uint32_t s = 0; s < span_count; s++) {
    for (uint32_t half = 0; half < 2; half++) {
      szg_half_kind kind = szg_half_kind_of(lattice_bits, zero_groups, half, &spans[s]);
      if (kind.code_count == 0) continue;
      uint16_t const *const first_values = spans[s].first_values[half];
      uint32_t const first_lane = spans[s].first_lane, end_lane = spans[s].end_lane;
      if (kind.code_count < SZG_HALF_ROWS) {
        decode_half(lanes, kind, first_values, first_lane, end_lane, keep);
      } else {
        kind.code_count = SZG_HALF_ROWS;
        decode_half(lanes, kind, first_values, first_lane, end_lane, keep);
      }
    }
  }
}

SZG_HOT void szg_decode_lanes_plain(szg_tile_lanes *lanes, const szg_tile_span *spans,
                                    uint32_t span_count) {
  if (lanes->lattice_bits != 16)
    decode_spans(lanes, lanes->lattice_bits, lanes->zero_groups, spans, span_count);
  else if (lanes->zero_groups == SZG_ZERO_GROUPS_NONE)
    decode_spans(lanes, 16, SZG_ZERO_GROUPS_NONE, spans, span_count);
  else
    decode_spans(lanes, 16, lanes->zero_groups, spans, span_count);
}

/* ---- tiles ---- */

static void clear(uint32_t lattice_bits, const szg_tile *tile, szg_tile_points *deltas) {
  memset(deltas, 0, (size_t)tile->value_count * (lattice_bits / 8));
}

bool szg_tile_decode_by(szg_decode_lanes *decode_lanes, const szg_tile_decoder *decoder,
                        uint32_t lattice_bits, uint32_t zero_groups, const szg_tile *tile,
                        const uint8_t *words, uint32_t word_count, szg_tile_points *deltas) {
  if (word_count == 0 || word_count > SZG_TILE_MAX_WORDS) return false;
  szg_tile_lanes lanes;
  lanes.decoder = decoder, lanes.deltas = deltas;
  lanes.lattice_bits = lattice_bits, lanes.zero_groups = zero_groups;
  uint8_t *const end = lanes.bytes + SZG_OVERRUN_BYTES + 4 * word_count;
  lanes.first_window = end - 8;
  memset(lanes.bytes, 0, SZG_OVERRUN_BYTES);
  copy_reversed(words, word_count, lanes.bytes + SZG_OVERRUN_BYTES);
  if (!read_head(&lanes, word_count)) return false;
  if (lanes.busy != UINT32_MAX) clear(lattice_bits, tile, deltas);
  szg_tile_span spans[SZG_TILE_MAX_SPANS];
  decode_lanes(&lanes, spans, szg_tile_spans_find(tile, spans));
  bool are_at_end = true;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++)
    are_at_end &= lanes.positions[lane] == lanes.ends[lane];
  return are_at_end;
}

bool szg_tile_decode(const szg_tile_decoder *decoder, uint32_t lattice_bits, uint32_t zero_groups,
                     const szg_tile *tile, const uint8_t *words, uint32_t word_count,
                     szg_tile_points *deltas) {
  return szg_tile_decode_by(SZG_WITH_AVX2(szg_decode_lanes_avx2, szg_decode_lanes_plain), decoder,
                            lattice_bits, zero_groups, tile, words, word_count, deltas);
}

/* ---- the oracle ---- */

/* Bits from `position` on. is_over: more were asked for than there are before `end`. */
typedef struct bit_reader {
  const uint8_t *words;
  uint32_t position, end;
  bool is_over;
} bit_reader;

static uint64_t read_bits(bit_reader *reader, uint32_t count) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < count; i++) {
    reader->is_over |= reader->position >= reader->end;
    if (reader->is_over) return 0;
    uint32_t const word = szg_load_u32(reader->words + reader->position / 32 * 4);
    bits = bits << 1 | (word >> (31 - reader->position % 32) & 1);
    reader->position++;
  }
  return bits;
}

/* The escape where there is no code. */
static uint32_t read_symbol(const szg_canonical_index *index, bit_reader *reader) {
  uint32_t code = 0;
  for (int length = 1; length <= SZG_MAX_CODE_BITS; length++) {
    uint32_t const mask_bit = index->mask >> (SZG_MAX_CODE_BITS - length) & 1;
    code = code << 1 | ((uint32_t)read_bits(reader, 1) ^ mask_bit);
    uint32_t const rank = code - index->first_codes[length];
    if (code >= index->first_codes[length] && rank < index->code_counts[length])
      return index->symbols[index->first_symbols[length] + rank];
  }
  reader->is_over = true;
  return SZG_ESCAPE_SYMBOL;
}

static uint64_t read_delta(const szg_canonical_index *index, uint32_t lattice_bits,
                           bit_reader *reader) {
  uint32_t const symbol = read_symbol(index, reader);
  if (symbol == SZG_ESCAPE_SYMBOL) return read_bits(reader, lattice_bits);
  bool const is_negative = symbol <= SZG_TILE_NEGATIVE_CLASS;
  if (!is_negative && symbol < SZG_TILE_POSITIVE_CLASS)
    return (uint64_t)((int64_t)symbol - SZG_TILE_ZERO);
  uint32_t const magnitude_class =
      is_negative ? SZG_TILE_NEGATIVE_CLASS - symbol : symbol - SZG_TILE_POSITIVE_CLASS;
  uint64_t const raw = read_bits(reader, szg_class_raw_bits(magnitude_class));
  return class_delta(magnitude_class, raw, is_negative);
}

static bool serial_head(bit_reader *reader, uint32_t *lengths) {
  uint32_t const least = (uint32_t)read_bits(reader, SZG_TILE_LEAST_BITS);
  uint32_t const width = (uint32_t)read_bits(reader, SZG_TILE_WIDTH_BITS);
  bool const has_mask = read_bits(reader, 1);
  uint32_t const mask = has_mask ? (uint32_t)read_bits(reader, SZG_LANES) : UINT32_MAX;
  if (width > SZG_TILE_LEAST_BITS || mask == 0) return false;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    lengths[lane] = 0;
    if (!(mask >> (SZG_LANES - 1 - lane) & 1)) continue;
    lengths[lane] = least + (uint32_t)read_bits(reader, width);
    if (lengths[lane] == 0) return false;
  }
  return !reader->is_over;
}

/* The lane's bits up to reader->end. */
static bool serial_lane(const szg_canonical_index *index, uint32_t lattice_bits,
                        uint32_t zero_groups, const szg_tile_span *spans, uint32_t span_count,
                        uint32_t lane, bit_reader *reader, szg_tile_points *deltas) {
  for (uint32_t s = 0; s < span_count; s++) {
    if (lane < spans[s].first_lane || lane >= spans[s].end_lane) continue;
    bool is_left_out = false;
    for (uint32_t half = 0; half < 2; half++) {
      szg_half_kind const kind = szg_half_kind_of(lattice_bits, zero_groups, half, &spans[s]);
      if (kind.code_count == 0) continue;
      if (kind.has_zero_bit) is_left_out = !read_bits(reader, 1);
      for (uint32_t i = 0; i < kind.code_count; i++) {
        uint64_t const bits = is_left_out ? 0 : read_delta(index, lattice_bits, reader);
        store_delta(lattice_bits, bits, spans[s].first_values[half][i] + lane, deltas);
      }
    }
  }
  return !reader->is_over && reader->position == reader->end;
}

bool szg_tile_decode_serial(const szg_canonical_index *index, uint32_t lattice_bits,
                            uint32_t zero_groups, const szg_tile *tile, const uint8_t *words,
                            uint32_t word_count, szg_tile_points *deltas) {
  if (word_count == 0 || word_count > SZG_TILE_MAX_WORDS) return false;
  bit_reader reader = {.words = words, .end = 32 * word_count};
  uint32_t lengths[SZG_LANES];
  if (!serial_head(&reader, lengths)) return false;
  clear(lattice_bits, tile, deltas);
  szg_tile_span spans[SZG_TILE_MAX_SPANS];
  uint32_t const span_count = szg_tile_spans_find(tile, spans);
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    if (lengths[lane] == 0) continue;
    reader.end = reader.position + lengths[lane];
    if (reader.end > 32 * word_count) return false;
    if (!serial_lane(index, lattice_bits, zero_groups, spans, span_count, lane, &reader, deltas))
      return false;
  }
  reader.end = 32 * word_count;
  if (reader.end - reader.position >= 32) return false;
  return read_bits(&reader, reader.end - reader.position) == 0;
}
