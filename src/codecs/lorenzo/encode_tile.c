/* encode_tile.c - a tile's deltas to 32 lanes of bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The head says how long lanes are, so lanes are written first, one after the other behind room for
 * the longest head; the head then goes right before them. Until they move to words, bits stand in
 * bytes, highest first. Before that, loops without branches join each half group of each lane into
 * one number. The serial part, which writes a lane code after code, then has a quarter of the
 * steps.
 */
#include <string.h>

#include "codecs/lorenzo/tile.h"
#include "codecs/lorenzo/tile_entries.h"
#include "codecs/lorenzo/tile_spans.h"
#include "core/bit_writer.h"
#include "core/dispatch.h"
#include "core/lane_head.h"

enum {
  HEAD_MAX_BITS = SZG_TILE_HEAD_BITS + SZG_LANES + SZG_LANES * SZG_TILE_LEAST_BITS,
  HEAD_ROOM = 64, /* bytes */
  LANES_ROOM = SZG_LANES * SZG_LANE_MAX_BITS / 8,
  OVERHANG = 16, /* stores and loads take 8 bytes, wherever bits end */
  PAIR_MAX_BITS = 32
};
static_assert(HEAD_MAX_BITS <= HEAD_ROOM * 8, "the longest head");

/* ---- deltas ---- */

SZG_INLINE uint32_t entry_length(uint32_t entry) { return entry & 31; }
SZG_INLINE uint32_t entry_bits(uint32_t entry) { return entry & ~31u; } /* left-aligned */

/* Writes a delta by any symbol. */
SZG_INLINE void put_delta(const szg_tile_encoder *encoder, uint32_t lattice_bits, int64_t delta,
                          szg_bit_writer *writer) {
  uint64_t raw = (uint64_t)delta;
  uint32_t raw_bits = lattice_bits, entry;
  if (szg_is_direct(delta)) {
    entry = encoder->direct[SZG_TILE_DIRECT + delta];
    if (entry) raw_bits = 0;
  } else {
    uint64_t const magnitude = szg_delta_magnitude(delta);
    uint32_t const magnitude_class = szg_magnitude_class(magnitude);
    entry = encoder->classes[magnitude_class + (delta < 0 ? SZG_TILE_CLASSES : 0)];
    if (entry) {
      raw = magnitude - szg_class_base(magnitude_class);
      raw_bits = szg_class_raw_bits(magnitude_class);
    }
  }
  if (!entry) entry = encoder->escape;
  uint32_t const count = entry_length(entry) + raw_bits;
  if (raw_bits > 0 && count <= SZG_PUT_MAX_BITS) {
    uint64_t const raw_mask = ((uint64_t)1 << raw_bits) - 1;
    szg_put_left_aligned(
        writer, (uint64_t)entry_bits(entry) << 32 | (raw & raw_mask) << (64 - count), count);
    return;
  }
  szg_put_left_aligned(writer, (uint64_t)entry_bits(entry) << 32, entry_length(entry));
  szg_put_number(writer, raw, raw_bits);
}

/* ---- halves of groups ---- */

/* By lane: the bits of half a group, after the bit of a zero group. */
typedef struct half_bits {
  _Alignas(64) uint64_t bits[SZG_LANES]; /* left-aligned, the rest 0 */
  uint32_t counts[SZG_LANES];
} half_bits;
enum { BY_DELTA = UINT8_MAX }; /* as a count: too many bits, or not all of them are direct codes */

/* What is encoded. */
typedef struct tile_source {
  const szg_tile_encoder *encoder;
  const void *deltas; /* by lattice_bits */
  uint32_t lattice_bits, zero_groups, span_count;
  szg_tile_span spans[SZG_TILE_MAX_SPANS];
  half_bits halves[SZG_TILE_MAX_SPANS][2];
  uint32_t is_busy[SZG_LANES]; /* not 0: the lane has a nonzero delta */
} tile_source;

/* Entries of half a group by row and lane. */
typedef struct half_rows {
  const uint32_t *entries[SZG_HALF_ROWS];
  uint32_t is_there[SZG_HALF_ROWS]; /* all ones, or 0: missing, and its entries are 0 */
} half_rows;

SZG_INLINE half_rows find_half_rows(const szg_tile_span *span, uint32_t half,
                                    const uint32_t *entries) {
  static const uint32_t no_entries[SZG_LANES];
  half_rows rows;
  for (uint32_t i = 0; i < SZG_HALF_ROWS; i++) {
    bool const is_there = i < span->row_counts[half];
    rows.entries[i] = is_there ? entries + span->first_values[half][i] : no_entries;
    rows.is_there[i] = is_there ? UINT32_MAX : 0;
  }
  return rows;
}

/* Joins the codes of half a group in every lane: first two by two, since two mostly fit 32 bits.
 * is_busy: not 0 if the lane has a nonzero delta. Lanes outside the span also get some value. */
SZG_INLINE void join_codes(const half_rows *rows, uint32_t zero_entry, half_bits *restrict joined,
                           uint32_t *restrict is_busy) {
  const uint32_t *const row0 = rows->entries[0], *const row1 = rows->entries[1];
  const uint32_t *const row2 = rows->entries[2], *const row3 = rows->entries[3];
  uint32_t const mask0 = rows->is_there[0], mask1 = rows->is_there[1];
  uint32_t const mask2 = rows->is_there[2], mask3 = rows->is_there[3];
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    uint32_t const entry0 = row0[lane], entry1 = row1[lane];
    uint32_t const entry2 = row2[lane], entry3 = row3[lane];
    uint32_t const length0 = entry_length(entry0), length2 = entry_length(entry2);
    uint32_t const length01 = length0 + entry_length(entry1);
    uint32_t const length23 = length2 + entry_length(entry3);
    uint32_t const bits01 = entry_bits(entry0) | entry_bits(entry1) >> length0;
    uint32_t const bits23 = entry_bits(entry2) | entry_bits(entry3) >> length2;
    uint32_t const by_delta = (entry0 == 0 ? mask0 : 0) | (entry1 == 0 ? mask1 : 0) |
                              (entry2 == 0 ? mask2 : 0) | (entry3 == 0 ? mask3 : 0) |
                              (length01 > PAIR_MAX_BITS) | (length23 > PAIR_MAX_BITS) |
                              (length01 + length23 >= SZG_PUT_MAX_BITS);
    joined->bits[lane] = (uint64_t)bits01 << 32 | (uint64_t)bits23 << 32 >> length01;
    joined->counts[lane] = by_delta ? (uint32_t)BY_DELTA : length01 + length23;
    is_busy[lane] = ((entry0 ^ zero_entry) & mask0) | ((entry1 ^ zero_entry) & mask1) |
                    ((entry2 ^ zero_entry) & mask2) | ((entry3 ^ zero_entry) & mask3);
  }
}

/* Puts a zero group's bit before the codes, or instead of them. */
SZG_INLINE void join_bit(const uint32_t *restrict is_busy, half_bits *restrict half) {
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    uint64_t const bits = (uint64_t)1 << 63 | half->bits[lane] >> 1;
    uint32_t const count = half->counts[lane];
    half->bits[lane] = is_busy[lane] ? bits : 0;
    half->counts[lane] = is_busy[lane] == 0 ? 1 : count == BY_DELTA ? count : count + 1;
  }
}

SZG_INLINE void leave_out(const uint32_t *restrict is_busy, half_bits *restrict half) {
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    half->bits[lane] = is_busy[lane] ? half->bits[lane] : 0;
    half->counts[lane] = is_busy[lane] ? half->counts[lane] : 0;
  }
}

SZG_HOT static void join_span(tile_source *source, uint32_t s, const uint32_t *entries) {
  const szg_tile_span *const span = &source->spans[s];
  half_bits *const halves = source->halves[s];
  uint32_t const zero_entry = source->encoder->direct[SZG_TILE_DIRECT];
  uint32_t is_busy[2][SZG_LANES], is_either_busy[SZG_LANES];
  for (uint32_t half = 0; half < 2; half++) {
    half_rows const rows = find_half_rows(span, half, entries);
    join_codes(&rows, zero_entry, &halves[half], is_busy[half]);
  }
  for (uint32_t lane = 0; lane < SZG_LANES; lane++)
    is_either_busy[lane] = is_busy[0][lane] | is_busy[1][lane];
  for (uint32_t lane = span->first_lane; lane < span->end_lane; lane++)
    source->is_busy[lane] |= is_either_busy[lane];
  if (source->zero_groups == SZG_ZERO_GROUPS_8) {
    join_bit(is_either_busy, &halves[0]);
    leave_out(is_either_busy, &halves[1]);
  } else if (source->zero_groups == SZG_ZERO_GROUPS_4) {
    join_bit(is_busy[0], &halves[0]);
    if (span->row_counts[1] > 0) join_bit(is_busy[1], &halves[1]);
  }
}

/* ---- lanes ---- */

SZG_INLINE int64_t delta_at(const tile_source *source, uint32_t place) {
  return source->lattice_bits == 64   ? ((const int64_t *)source->deltas)[place]
         : source->lattice_bits == 32 ? ((const int32_t *)source->deltas)[place]
                                      : ((const int16_t *)source->deltas)[place];
}

/* Works on a copy of the writer, so that it and its caller can keep theirs in registers. */
static void put_by_delta(const tile_source *source, const szg_tile_span *span, uint32_t half,
                         uint32_t lane, szg_bit_writer *to) {
  szg_bit_writer writer = *to;
  bool const has_bit = source->zero_groups == SZG_ZERO_GROUPS_4 ||
                       (source->zero_groups == SZG_ZERO_GROUPS_8 && half == 0);
  if (has_bit) szg_put_number(&writer, 1, 1);
  for (uint32_t i = 0; i < span->row_counts[half]; i++)
    put_delta(source->encoder, source->lattice_bits,
              delta_at(source, span->first_values[half][i] + lane), &writer);
  *to = writer;
}

/* Writes lanes one after the other from `bytes` on, and their lengths by lane. */
SZG_HOT static void put_lanes(const tile_source *source, uint8_t *bytes, uint32_t *lengths) {
  szg_bit_writer writer = {.next = bytes};
  uint64_t start = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    if (!source->is_busy[lane]) continue;
    for (uint32_t s = 0; s < source->span_count; s++) {
      const szg_tile_span *const span = &source->spans[s];
      if (lane < span->first_lane || lane >= span->end_lane) continue;
      for (uint32_t half = 0; half < 2; half++) {
        uint32_t const count = source->halves[s][half].counts[lane];
        if (count != BY_DELTA) {
          szg_put_left_aligned(&writer, source->halves[s][half].bits[lane], count);
        } else {
          szg_bit_writer by_delta = writer;
          put_by_delta(source, span, half, lane, &by_delta);
          writer = by_delta;
        }
      }
    }
    uint64_t const end = szg_bits_put(bytes, &writer);
    lengths[lane] = (uint32_t)(end - start);
    start = end;
  }
  szg_put_end(&writer);
}

/* ---- tiles ---- */

uint32_t szg_tile_encode(const szg_tile_encoder *encoder, uint32_t lattice_bits,
                         uint32_t zero_groups, const szg_tile *tile, const void *deltas,
                         uint32_t raw_words, uint8_t *words) {
  tile_source source;
  source.encoder = encoder, source.deltas = deltas;
  source.lattice_bits = lattice_bits, source.zero_groups = zero_groups;
  source.span_count = szg_tile_spans_find(tile, source.spans);
  memset(source.is_busy, 0, sizeof source.is_busy);
  uint32_t entries[SZG_TILE_VALUES + SZG_LANES];
  SZG_WITH_AVX2(szg_find_entries_avx2, szg_find_entries_plain)
  (encoder, lattice_bits, deltas, tile->value_count, entries);
  memset(entries + tile->value_count, 0, SZG_LANES * sizeof *entries); /* all rows are 32 long */
  for (uint32_t s = 0; s < source.span_count; s++) join_span(&source, s, entries);
  uint32_t busy = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++)
    busy |= (uint32_t)(source.is_busy[lane] != 0) << lane;
  if (!busy) return 0;
  uint8_t bytes[HEAD_ROOM + LANES_ROOM + OVERHANG];
  uint32_t lengths[SZG_LANES];
  put_lanes(&source, bytes + HEAD_ROOM, lengths);
  szg_lane_head const head = szg_lane_head_measure(szg_tile_head_form(), busy, lengths);
  uint32_t const word_count = szg_lane_head_words(&head);
  if (word_count >= raw_words) return raw_words;
  szg_lane_head_write(szg_tile_head_form(), &head, lengths, bytes + HEAD_ROOM, words);
  return word_count;
}
