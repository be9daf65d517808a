/* decode_tile.c - 32 lanes of bits to a tile's deltas.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "codecs/lorenzo/tile.h"
#include "codecs/lorenzo/tile_lanes.h"
#include "core/bit_reader.h"
#include "core/lane_head.h"

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
  memset(lanes.bytes, 0, SZG_OVERRUN_BYTES);
  lanes.first_window = szg_copy_reversed(words, word_count, lanes.bytes + SZG_OVERRUN_BYTES);
  if (!szg_lane_head_read(szg_tile_head_form(), lanes.first_window, word_count, &lanes.busy,
                          lanes.positions, lanes.ends))
    return false;
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

/* Bits from `position` on. is_over: somebody read beyond `end`. */
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
    bits = bits << 1 | szg_bit_at(reader->words, reader->position++);
  }
  return bits;
}

/* Returns the escape if the bits are no code. */
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
  return szg_class_delta(magnitude_class, raw, is_negative);
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

/* Decodes the lane's bits up to reader->end. */
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
        szg_store_delta(lattice_bits, bits, spans[s].first_values[half][i] + lane, deltas);
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
