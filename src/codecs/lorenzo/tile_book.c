/* tile_book.c - the codebook of a tile frame: counts, zero groups, code lengths, tables.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "codecs/lorenzo/tile.h"
#include "codecs/lorenzo/tile_book_core.h"
#include "core/dispatch.h"

/* ---- counting ---- */

enum { SYMBOLS_AT_ONCE = 128 };

/* szg_delta_symbol without a branch, so that it vectorizes. As a float, a magnitude has its class
 * in the highest bits behind the sign. The conversion does not round once the low 8 bits are
 * cleared, and no class of 512 or more depends on those. */
SZG_INLINE uint32_t symbol_of_i32(int32_t delta) {
  uint32_t const sign = delta < 0 ? UINT32_MAX : 0;
  uint32_t const magnitude = ((uint32_t)delta ^ sign) - sign;
  float const rounded = (float)(int32_t)(magnitude & ~UINT32_C(255));
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  uint32_t const magnitude_class = (bits >> 22 & 511) - 2 * 127;
  uint32_t const zero_class =
      SZG_TILE_POSITIVE_CLASS - (sign & (SZG_TILE_POSITIVE_CLASS - SZG_TILE_NEGATIVE_CLASS - 1));
  uint32_t const of_class = zero_class + (magnitude_class ^ sign);
  uint32_t const is_direct = magnitude < SZG_TILE_DIRECT ? UINT32_MAX : 0;
  return ((SZG_TILE_ZERO + (uint32_t)delta) & is_direct) | (of_class & ~is_direct);
}

/* On the 16-bit lattice few deltas are not direct. Finds symbols as if all were, a part of the tile
 * at a time, and again for a part in which some delta is not. */
SZG_HOT static void find_symbols_of_i16(const int16_t *restrict deltas, uint32_t count,
                                        uint16_t *restrict symbols) {
  for (uint32_t first = 0; first < count; first += SYMBOLS_AT_ONCE) {
    uint32_t const end = count - first < SYMBOLS_AT_ONCE ? count : first + SYMBOLS_AT_ONCE;
    uint16_t any = 0; /* 2 * SZG_TILE_DIRECT or more: some delta is not direct */
    for (uint32_t i = first; i < end; i++) {
      uint16_t const delta = (uint16_t)deltas[i];
      any |= (uint16_t)(delta + SZG_TILE_DIRECT - 1) | (uint16_t)(delta + SZG_TILE_DIRECT);
      symbols[i] = (uint16_t)(delta + SZG_TILE_ZERO);
    }
    if (any < 2 * SZG_TILE_DIRECT) continue;
    for (uint32_t i = first; i < end; i++) symbols[i] = (uint16_t)symbol_of_i32(deltas[i]);
  }
}

SZG_HOT static void find_symbols(uint32_t lattice_bits, const void *deltas, uint32_t count,
                                 uint16_t *restrict symbols) {
  const int32_t *const i32 = deltas;
  const int64_t *const i64 = deltas;
  if (lattice_bits == 16)
    find_symbols_of_i16(deltas, count, symbols);
  else if (lattice_bits == 32)
    for (uint32_t i = 0; i < count; i++) symbols[i] = (uint16_t)symbol_of_i32(i32[i]);
  else
    for (uint32_t i = 0; i < count; i++) symbols[i] = (uint16_t)szg_delta_symbol(i64[i]);
}

/* Whether rows are those of a 3-D field. If a tile's rows do not tell, either answer will do. */
static bool has_planes(const szg_tile *tile) {
  return tile->z_extent > 1 ||
         (tile->x_extent <= SZG_TILE_3D_X && tile->plane_values == tile->y_extent * tile->x_extent);
}

/* How many places each row of the tile has. Returns how many groups have rows. */
static uint32_t measure_rows(const szg_tile *tile, uint16_t widths[SZG_LANE_CODES]) {
  memset(widths, 0, SZG_LANE_CODES * sizeof *widths);
  uint32_t const rows_of_line = has_planes(tile) ? 1 : SZG_TILE_2D_X / SZG_LANES;
  uint32_t last_row = 0;
  for (uint32_t z = 0; z < tile->z_extent; z++) {
    for (uint32_t y = 0; y < tile->y_extent; y++) {
      uint32_t row = z * SZG_GROUP_ROWS + y * rows_of_line;
      for (uint32_t x = 0; x < tile->x_extent; x += SZG_LANES, row++) {
        uint32_t const left = tile->x_extent - x;
        widths[row] = (uint16_t)(left < SZG_LANES ? left : SZG_LANES);
        last_row = row;
      }
    }
  }
  return last_row / SZG_GROUP_ROWS + 1;
}

/* Spreads symbols in code order over rows of 32 places; missing places get delta 0's symbol. */
static void spread_rows(const uint16_t *symbols, const uint16_t *widths,
                        uint16_t spread[SZG_TILE_VALUES]) {
  for (uint32_t i = 0; i < SZG_TILE_VALUES; i++) spread[i] = SZG_TILE_ZERO;
  for (uint32_t row = 0; row < SZG_LANE_CODES; row++) {
    for (uint32_t i = 0; i < widths[row]; i++) spread[row * SZG_LANES + i] = symbols[i];
    symbols += widths[row];
  }
}

/* What would be left to code with zero groups, by lane. */
typedef struct lane_sums {
  uint16_t values[SZG_ZERO_GROUPS_COUNT][SZG_LANES]; /* in units that are not all zero */
  uint16_t units[SZG_ZERO_GROUPS_COUNT][SZG_LANES];  /* that have values */
  uint16_t is_busy[SZG_LANES];                       /* has a nonzero delta */
} lane_sums;

/* Adds half a group: rows 0, 1, 4, 5 of those given. */
SZG_INLINE void sum_half(const uint16_t (*symbols)[SZG_LANES], const uint16_t *widths,
                         uint16_t *restrict is_busy, uint16_t *restrict values) {
  for (uint32_t l = 0; l < SZG_LANES; l++) {
    is_busy[l] = (symbols[0][l] != SZG_TILE_ZERO) | (symbols[1][l] != SZG_TILE_ZERO) |
                 (symbols[4][l] != SZG_TILE_ZERO) | (symbols[5][l] != SZG_TILE_ZERO);
    values[l] = (uint16_t)((widths[0] > l) + (widths[1] > l) + (widths[4] > l) + (widths[5] > l));
  }
}

SZG_HOT static void sum_lanes(const uint16_t symbols[SZG_TILE_VALUES], const uint16_t *widths,
                              uint32_t group_count, lane_sums *restrict sums) {
  const uint16_t(*rows)[SZG_LANES] = (const uint16_t(*)[SZG_LANES])symbols;
  memset(sums, 0, sizeof *sums);
  for (uint32_t group = 0; group < group_count; group++) {
    uint16_t busy[2][SZG_LANES], values[2][SZG_LANES];
    sum_half(rows, widths, busy[0], values[0]);
    sum_half(rows + 2, widths + 2, busy[1], values[1]);
    rows += SZG_GROUP_ROWS;
    widths += SZG_GROUP_ROWS;
    for (uint32_t l = 0; l < SZG_LANES; l++) {
      uint16_t const of_group = (uint16_t)(values[0][l] + values[1][l]);
      uint16_t const has_values = of_group > 0, is_group_busy = busy[0][l] | busy[1][l];
      sums->is_busy[l] |= is_group_busy;
      sums->values[SZG_ZERO_GROUPS_NONE][l] += of_group;
      sums->values[SZG_ZERO_GROUPS_8][l] += (uint16_t)(of_group * is_group_busy);
      sums->values[SZG_ZERO_GROUPS_4][l] +=
          (uint16_t)(values[0][l] * busy[0][l] + values[1][l] * busy[1][l]);
      sums->units[SZG_ZERO_GROUPS_8][l] += has_values;
      sums->units[SZG_ZERO_GROUPS_4][l] += (uint16_t)((values[0][l] > 0) + (values[1][l] > 0));
    }
  }
}

/* Adds all symbols but delta 0's to the tally; returns how many there are. */
SZG_HOT static uint32_t count_others(const uint16_t *symbols, uint32_t count,
                                     szg_tile_tally *restrict tally) {
  uint32_t tables[SZG_HISTOGRAM_COPIES][SZG_TILE_SYMBOLS];
  memset(tables, 0, sizeof tables);
  szg_histogram_add(symbols, count, SZG_TILE_SYMBOLS, tables[0]);
  for (int t = 0; t < SZG_HISTOGRAM_COPIES; t++) tables[t][SZG_TILE_ZERO] = 0;
  uint32_t sum = 0;
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++) {
    uint32_t found = 0;
    for (int t = 0; t < SZG_HISTOGRAM_COPIES; t++) found += tables[t][s];
    tally->counts[s] += found;
    sum += found;
  }
  return sum;
}

void szg_tile_count(uint32_t lattice_bits, const szg_tile *tile, const void *deltas,
                    szg_tile_tally *tally) {
  uint32_t const count = tile->value_count;
  uint16_t symbols[SZG_TILE_VALUES], widths[SZG_LANE_CODES], spread[SZG_TILE_VALUES];
  find_symbols(lattice_bits, deltas, count, symbols);
  uint32_t const group_count = measure_rows(tile, widths);
  bool const is_full = count == SZG_TILE_VALUES;
  if (!is_full) spread_rows(symbols, widths, spread);
  lane_sums sums;
  sum_lanes(is_full ? symbols : spread, widths, group_count, &sums);
  uint32_t const others = count_others(symbols, count, tally);
  uint32_t zeros[SZG_ZERO_GROUPS_COUNT];
  for (int v = 0; v < SZG_ZERO_GROUPS_COUNT; v++) {
    uint32_t values = 0, units = 0;
    for (uint32_t l = 0; l < SZG_LANES; l++) {
      if (!sums.is_busy[l]) continue;
      values += sums.values[v][l];
      units += sums.units[v][l];
    }
    zeros[v] = values - others;
    tally->zeros[v] += zeros[v];
    tally->group_bits[v] += units;
  }
  tally->counts[SZG_TILE_ZERO] += zeros[SZG_ZERO_GROUPS_NONE];
}

void szg_tile_tally_add(const szg_tile_tally *from, szg_tile_tally *tally) {
  for (int s = 0; s < SZG_TILE_SYMBOLS; s++) tally->counts[s] += from->counts[s];
  for (int v = 0; v < SZG_ZERO_GROUPS_COUNT; v++) {
    tally->zeros[v] += from->zeros[v];
    tally->group_bits[v] += from->group_bits[v];
  }
}

/* ---- the book ---- */

uint32_t szg_choose_zero_groups(const szg_tile_tally *tally) {
  szg_count_sums others = {0};
  uint64_t counts[SZG_TILE_SYMBOLS];
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++) {
    counts[s] = s == SZG_TILE_ZERO ? 0 : tally->counts[s];
    others.total += counts[s];
    others.used += counts[s] != 0;
  }
  others.logs = szg_logs_of(counts, SZG_TILE_SYMBOLS);
  uint64_t costs[SZG_ZERO_GROUPS_COUNT];
  for (int v = 0; v < SZG_ZERO_GROUPS_COUNT; v++)
    costs[v] = szg_zero_groups_cost(&others, tally->zeros[v], tally->group_bits[v]);
  return szg_cheapest_zero_groups(costs);
}

/* Moves the counts of rare direct symbols to their classes, or of rare classes to the escape. */
static void move_rare(bool are_direct, uint64_t total, uint64_t *counts) {
  for (uint32_t s = SZG_ESCAPE_SYMBOL + 1; s < SZG_TILE_SYMBOLS; s++) {
    if (counts[s] == 0 || s == SZG_TILE_ZERO || szg_is_direct_symbol(s) != are_direct) continue;
    if (are_direct ? szg_is_delta_kept(counts[s], total) : szg_is_class_kept(counts[s], total))
      continue;
    counts[szg_rarer_symbol(s)] += counts[s];
    counts[s] = 0;
  }
}

void szg_tile_book_build(const szg_tile_tally *tally, uint32_t zero_groups, szg_codebook *book,
                         szg_codebook_work *work) {
  uint64_t counts[SZG_TILE_SYMBOLS];
  uint64_t total = 0;
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++) {
    counts[s] = s == SZG_TILE_ZERO ? tally->zeros[zero_groups] : tally->counts[s];
    total += counts[s];
  }
  move_rare(true, total, counts);
  move_rare(false, total, counts);
  if (counts[SZG_ESCAPE_SYMBOL] == 0) counts[SZG_ESCAPE_SYMBOL] = 1;
  if (counts[SZG_TILE_ZERO] == 0) counts[SZG_TILE_ZERO] = 1;
  szg_codebook_build(counts, SZG_TILE_SYMBOLS, SZG_TILE_CODE_BITS, book, work);
}

/* ---- tables ---- */

/* Sets the entries of deltas first .. end - 1, as far as they are direct. */
static void set_direct(const szg_codebook *book, int32_t first, int32_t end,
                       szg_tile_encoder *encoder) {
  if (first < 1 - SZG_TILE_DIRECT) first = 1 - SZG_TILE_DIRECT;
  if (end > SZG_TILE_DIRECT) end = SZG_TILE_DIRECT;
  for (int32_t delta = first; delta < end; delta++)
    encoder->direct[SZG_TILE_DIRECT + delta] = szg_direct_entry(book->lengths, book->codes, delta);
}

/* Only deltas that have a code, or whose class has one, have an entry. */
void szg_tile_encoder_build(const szg_codebook *book, szg_tile_encoder *encoder) {
  memset(encoder, 0, sizeof *encoder);
  set_direct(book, (int32_t)book->first_symbol - SZG_TILE_ZERO,
             (int32_t)book->end_symbol - SZG_TILE_ZERO, encoder);
  for (uint32_t k = 0; k < 2 * SZG_TILE_CLASSES; k++) {
    bool const is_negative = k >= SZG_TILE_CLASSES;
    uint32_t const magnitude_class = k % SZG_TILE_CLASSES;
    uint32_t const symbol = szg_class_symbol(magnitude_class, is_negative);
    if (!book->lengths[symbol]) continue;
    encoder->classes[k] = szg_class_entry(book->lengths, book->codes, symbol);
    if (szg_class_base(magnitude_class) >= SZG_TILE_DIRECT) continue;
    int32_t const base = (int32_t)szg_class_base(magnitude_class);
    int32_t const end = base + (1 << szg_class_raw_bits(magnitude_class));
    set_direct(book, is_negative ? 1 - end : base, is_negative ? 1 - base : end, encoder);
  }
  encoder->escape = szg_class_entry(book->lengths, book->codes, SZG_ESCAPE_SYMBOL);
}

szgpu_status szg_tile_decoder_build(const szg_codebook *book, szg_tile_decoder *decoder) {
  SZG_REQUIRE(book->lengths[SZG_ESCAPE_SYMBOL] && book->lengths[SZG_TILE_ZERO], SZGPU_BAD_DATA);
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++)
    SZG_REQUIRE(book->lengths[s] <= SZG_TILE_CODE_BITS, SZGPU_BAD_DATA);
  /* Two codes at least, so they are complete: every entry is written. */
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++) {
    uint32_t const length = book->lengths[s];
    if (length == 0) continue;
    uint32_t const entry = szg_symbol_entry(s, length);
    uint32_t const unused_bits = SZG_TILE_CODE_BITS - length;
    uint32_t *const first = decoder->entries + ((uint32_t)book->codes[s] << unused_bits);
    for (uint32_t i = 0; i < 1u << unused_bits; i++) first[i] = entry;
  }
  return SZGPU_OK;
}
