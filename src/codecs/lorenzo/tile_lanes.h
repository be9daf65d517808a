/* tile_lanes.h - a tile during decoding on the CPU, for the loops over its lanes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile's words stand in reverse order (core/bit_reader.h). The four bytes at
 * first_window - p / 8 + 4, shifted left by p % 8, are 25 bits or more from bit p on.
 */
#ifndef SZG_TILE_LANES_H
#define SZG_TILE_LANES_H

#include "codecs/lorenzo/tile.h"
#include "codecs/lorenzo/tile_spans.h"
#include "core/bit_reader.h"
#include "core/dispatch.h"

/* Only at a lane's end can a decoder tell whether its bits were valid: it may read on until
 * then. */
enum { SZG_OVERRUN_BYTES = SZG_LANE_MAX_BITS / 8 + 16 };

/* Lane l has the bits from positions[l] to ends[l] - 1. */
typedef struct szg_tile_lanes {
  const szg_tile_decoder *decoder;
  uint32_t lattice_bits, zero_groups;
  szg_tile_points *deltas;
  uint32_t busy; /* bit l: lane l has bits */
  uint32_t positions[SZG_LANES], ends[SZG_LANES];
  const uint8_t *first_window; /* of bit 0 */
  uint8_t bytes[SZG_OVERRUN_BYTES + 4 * SZG_TILE_MAX_WORDS];
} szg_tile_lanes;

/* Stores a delta by place, in lattice_bits bits: all deltas of a tile have that width. */
static inline void szg_store_delta(uint32_t lattice_bits, uint64_t bits, uint32_t place,
                                   szg_tile_points *deltas) {
  int64_t const delta = szg_delta_of_bits(bits, lattice_bits);
  if (lattice_bits == 64)
    deltas->i64[place] = delta;
  else if (lattice_bits == 32)
    deltas->i32[place] = (int32_t)delta;
  else
    deltas->i16[place] = (int16_t)delta;
}

/* The delta of a class and its raw bits. */
static inline uint64_t szg_class_delta(uint32_t magnitude_class, uint64_t raw, bool is_negative) {
  uint64_t const magnitude = szg_class_base(magnitude_class) + raw;
  return is_negative ? 0 - magnitude : magnitude;
}

/* Half a group of the lanes of a span. In hot loops the compiler sees constants here. */
typedef struct szg_half_kind {
  uint32_t lattice_bits;
  bool is_in_a_group;  /* the half may be left out, */
  bool has_zero_bit;   /* as a bit right before it says */
  uint32_t code_count; /* of a lane */
} szg_half_kind;

SZG_INLINE szg_half_kind szg_half_kind_of(uint32_t lattice_bits, uint32_t zero_groups,
                                          uint32_t half, const szg_tile_span *span) {
  bool const is_in_a_group = zero_groups != SZG_ZERO_GROUPS_NONE;
  bool const begins_group = half == 0 || zero_groups == SZG_ZERO_GROUPS_4;
  return (szg_half_kind){lattice_bits, is_in_a_group, is_in_a_group && begins_group,
                         span->row_counts[half]};
}

/* Decodes a lane's codes of half a group one by one, whatever follows them. Returns the position at
 * which they end. */
uint32_t szg_decode_half_by_code(szg_tile_lanes *lanes, const uint16_t *first_values,
                                 uint32_t code_count, uint32_t lane, uint32_t position);

/* Decodes all lanes, moving positions: lane after lane, or eight at a time. */
typedef void szg_decode_lanes(szg_tile_lanes *lanes, const szg_tile_span *spans,
                              uint32_t span_count);
szg_decode_lanes szg_decode_lanes_plain;
szg_decode_lanes szg_decode_lanes_avx2; /* x86-64 with AVX2 only */

/* szg_tile_decode by one of these. */
bool szg_tile_decode_by(szg_decode_lanes *decode_lanes, const szg_tile_decoder *decoder,
                        uint32_t lattice_bits, uint32_t zero_groups, const szg_tile *tile,
                        const uint8_t *words, uint32_t word_count,
                        szg_tile_points *deltas) SZG_CHECKED;

#endif
