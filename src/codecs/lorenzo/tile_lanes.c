/* tile_lanes.c - decodes a tile's lanes to deltas, lane after lane.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each code of a lane depends on the code before it, but lanes are independent: the loops change
 * lanes every half group, so that the processor can work on many of them at once.
 */
#include "codecs/lorenzo/tile_lanes.h"

static_assert(SZG_HALF_ROWS * SZG_TILE_CODE_BITS + 1 <= 57, "half a group is in a window");

uint32_t szg_decode_half_by_code(szg_tile_lanes *lanes, const uint16_t *first_values,
                                 uint32_t code_count, uint32_t lane, uint32_t position) {
  const uint8_t *const window = lanes->first_window;
  for (uint32_t i = 0; i < code_count; i++) {
    uint64_t const prefix = szg_reversed_window(window, position) >> (64 - SZG_TILE_CODE_BITS);
    uint32_t const entry = lanes->decoder->entries[prefix];
    position += entry & SZG_ENTRY_LENGTH;
    uint64_t bits;
    if (!(entry & SZG_ENTRY_RARE)) {
      bits = (uint64_t)((int32_t)entry >> 16);
    } else if (entry & SZG_ENTRY_ESCAPE) {
      bits = szg_take_bits(window, lanes->lattice_bits, &position);
    } else {
      uint32_t const magnitude_class = entry >> 16 & (SZG_TILE_CLASSES - 1);
      uint64_t const raw = szg_take_bits(window, szg_class_raw_bits(magnitude_class), &position);
      bits = szg_class_delta(magnitude_class, raw, entry & SZG_ENTRY_NEGATIVE);
    }
    szg_store_delta(lanes->lattice_bits, bits, first_values[i] + lane, lanes->deltas);
  }
  return position;
}

/* Decodes half a group of each lane. keep, by lane: 0 if the half is left out, else all ones. */
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
    uint64_t window = szg_reversed_window(first_window, position);
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
        deltas->i64[first_values[i] + lane] = delta;
      else if (kind.lattice_bits == 32)
        deltas->i32[first_values[i] + lane] = delta;
      else
        deltas->i16[first_values[i] + lane] = (int16_t)delta;
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
