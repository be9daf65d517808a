/* tile_core.h - the rules of the tile layout, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile's values stand in rows of 32 places. In 3-D a row is one (z, y), place = x; in 2-D row
 * 2 y + h holds x = 32 h .. 32 h + 31; in 1-D row i holds x = 32 i .. 32 i + 31. Eight rows are a
 * group: in 3-D those of one z. Lane l has the codes of place l of every row that has it, group
 * after group. Within a group the order of rows is 0 4 1 5 2 6 3 7: each pair is four rows apart,
 * so that a 32-bit word can hold the sums of both (docs/predict.md says why). docs/format.md,
 * section 13, specifies the layout in prose.
 */
#ifndef SZG_TILE_CORE_H
#define SZG_TILE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/hd.h"
#include "core/lane_head_core.h"

SZG_HD_INLINE szg_head_form szg_tile_head_form(void) {
  szg_head_form const form = {SZG_TILE_LEAST_BITS, SZG_TILE_WIDTH_BITS, SZG_LANES};
  return form;
}

/* Row of a group that comes at step i, 0 .. 7. */
SZG_HD uint32_t szg_group_row(uint32_t i) { return (i & 1) * 4 + (i >> 1); }

/* ---- deltas and symbols ---- */

/* A delta on the lattice: the low 16, 32 or 64 bits, read as signed. */
SZG_HD int64_t szg_delta_of_bits(uint64_t bits, uint32_t lattice_bits) {
  return lattice_bits == 16   ? (int64_t)(int16_t)(uint16_t)bits
         : lattice_bits == 32 ? (int64_t)(int32_t)(uint32_t)bits
                              : (int64_t)bits;
}

SZG_HD uint64_t szg_delta_magnitude(int64_t delta) {
  return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

/* Class of a magnitude m > 0: twice its highest bit's place e, plus the bit below that one (0 if
 * e = 0). The max(e - 1, 0) bits below those follow the code as raw bits. */
SZG_HD uint32_t szg_magnitude_class(uint64_t magnitude) {
  uint32_t const e = 63 - (uint32_t)szg_leading_zeros_u64(magnitude);
  return 2 * e + (e > 0 ? (uint32_t)(magnitude >> (e - 1)) & 1 : 0);
}

SZG_HD uint32_t szg_class_raw_bits(uint32_t magnitude_class) {
  return magnitude_class > 3 ? magnitude_class / 2 - 1 : 0;
}

/* The least magnitude of the class. Class 1 has none: it reads as 1. */
SZG_HD uint64_t szg_class_base(uint32_t magnitude_class) {
  if (magnitude_class < 2) return 1;
  return (uint64_t)(2 + (magnitude_class & 1)) << (magnitude_class / 2 - 1);
}

SZG_HD uint32_t szg_class_symbol(uint32_t magnitude_class, bool is_negative) {
  return is_negative ? SZG_TILE_NEGATIVE_CLASS - magnitude_class
                     : SZG_TILE_POSITIVE_CLASS + magnitude_class;
}

SZG_HD bool szg_is_direct(int64_t delta) {
  return delta > -SZG_TILE_DIRECT && delta < SZG_TILE_DIRECT;
}

/* The symbol that a delta is counted under. */
SZG_HD uint32_t szg_delta_symbol(int64_t delta) {
  if (szg_is_direct(delta)) return (uint32_t)(SZG_TILE_ZERO + delta);
  return szg_class_symbol(szg_magnitude_class(szg_delta_magnitude(delta)), delta < 0);
}

/* ---- the codebook's counts ---- */

/* Whether a delta or a class that occurs `count` times among `total` gets its own code. */
SZG_HD bool szg_is_delta_kept(uint64_t count, uint64_t total) {
  return count << SZG_TILE_KEEP_SHIFT >= total && count > 0;
}
SZG_HD bool szg_is_class_kept(uint64_t count, uint64_t total) {
  return count << SZG_TILE_KEEP_CLASS_SHIFT >= total && count > 0;
}

/* Number C of tiles counted for the codebook, of T; the i-th is szg_sample_tile(T, C, i). */
SZG_HD uint32_t szg_counted_tiles(uint64_t tile_count) {
  if (tile_count <= SZG_LEAST_COUNTED) return (uint32_t)tile_count;
  uint64_t const share = tile_count / SZG_COUNT_SHARE;
  if (share < SZG_LEAST_COUNTED) return SZG_LEAST_COUNTED;
  return share < SZG_MOST_COUNTED ? (uint32_t)share : (uint32_t)SZG_MOST_COUNTED;
}

/* Codes of the counted tiles, without lanes that have only delta 0. */
typedef struct szg_tile_tally {
  uint32_t counts[SZG_TILE_SYMBOLS]; /* by szg_delta_symbol; SZG_TILE_ZERO: all of them */
  /* By SZG_ZERO_GROUPS_*: the zeros that would be coded, and the bits before groups. */
  uint32_t zeros[SZG_ZERO_GROUPS_COUNT];
  uint32_t group_bits[SZG_ZERO_GROUPS_COUNT];
} szg_tile_tally;

/* ---- tables ---- */

/* For encoders. A code stands left-aligned, its length in the low 5 bits. */
typedef struct szg_tile_encoder {
  uint32_t direct[2 * SZG_TILE_DIRECT];   /* by delta + 512: code, class's raw bits after it; 0:
                                             the delta escapes. [0]: 0 */
  uint32_t classes[2 * SZG_TILE_CLASSES]; /* code of positive class k at k, of negative at 128 + k,
                                             without raw bits; 0: it escapes */
  uint32_t escape;
} szg_tile_encoder;

/* For decoders: the code at the start of a window of 12 bits. The low 5 bits are its length. If it
 * is a delta's, the upper half is the delta and the other bits are 0. If SZG_ENTRY_RARE is set, it
 * is a class's (number in bits 16 .. 22, sign in SZG_ENTRY_NEGATIVE; raw bits follow the code) or,
 * with SZG_ENTRY_ESCAPE, the escape (the delta itself follows, as wide as the lattice). */
enum {
  SZG_ENTRY_LENGTH = 31,
  SZG_ENTRY_RARE = 1 << 13,
  SZG_ENTRY_ESCAPE = 1 << 14,
  SZG_ENTRY_NEGATIVE = 1 << 23,
  SZG_TILE_ENTRIES = 1 << SZG_TILE_CODE_BITS
};
typedef struct szg_tile_decoder {
  uint32_t entries[SZG_TILE_ENTRIES];
} szg_tile_decoder;

SZG_HD uint32_t szg_left_aligned(uint32_t code, uint32_t length) {
  return length ? code << (32 - length) : 0;
}

/* Entries of szg_tile_encoder. lengths, codes: of the book. */
SZG_HD uint32_t szg_class_entry(const uint8_t *lengths, const uint16_t *codes, uint32_t symbol) {
  return szg_left_aligned(codes[symbol], lengths[symbol]) | lengths[symbol];
}

SZG_HD uint32_t szg_direct_entry(const uint8_t *lengths, const uint16_t *codes, int32_t delta) {
  uint32_t const own = (uint32_t)(SZG_TILE_ZERO + delta);
  if (lengths[own]) return szg_class_entry(lengths, codes, own);
  uint32_t const magnitude = (uint32_t)szg_delta_magnitude(delta);
  if (magnitude == 0) return 0; /* no encoder's book lacks delta 0 */
  uint32_t const magnitude_class = szg_magnitude_class(magnitude);
  uint32_t const symbol = szg_class_symbol(magnitude_class, delta < 0);
  if (!lengths[symbol]) return 0;
  uint32_t const raw_bits = szg_class_raw_bits(magnitude_class);
  uint32_t const raw = magnitude - (uint32_t)szg_class_base(magnitude_class);
  uint32_t const length = lengths[symbol] + raw_bits;
  return szg_left_aligned((uint32_t)codes[symbol] << raw_bits | raw, length) | length;
}

/* Entry of szg_tile_decoder for a symbol of that length. */
SZG_HD uint32_t szg_symbol_entry(uint32_t symbol, uint32_t length) {
  if (symbol == SZG_ESCAPE_SYMBOL) return SZG_ENTRY_RARE | SZG_ENTRY_ESCAPE | length;
  if (symbol >= SZG_TILE_POSITIVE_CLASS)
    return (symbol - SZG_TILE_POSITIVE_CLASS) << 16 | SZG_ENTRY_RARE | length;
  if (symbol <= SZG_TILE_NEGATIVE_CLASS)
    return (SZG_TILE_NEGATIVE_CLASS - symbol) << 16 | SZG_ENTRY_NEGATIVE | SZG_ENTRY_RARE | length;
  return (symbol - SZG_TILE_ZERO) << 16 | length;
}

/* ---- sizes ---- */

/* 32-bit words that a tile's uncoded values take. */
SZG_HD uint32_t szg_raw_tile_words(uint32_t value_count, uint32_t value_bytes) {
  return value_count * (value_bytes / 4);
}

static_assert(SZG_TILE_CODE_BITS + 7 <= 27, "code and raw bits of a direct delta leave 5 bits");

#endif
