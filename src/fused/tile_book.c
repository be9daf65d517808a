/* tile_book.c - the codebook of a tile frame: counts, zero groups, code lengths, tables.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "core/dispatch.h"
#include "fused/tile.h"
#include "fused/tile_book_core.h"

/* ---- counting ---- */

/* A delta as it is counted: its low 10 bits if it is direct, so that delta 0 is 0, else LARGE,
 * which is no direct delta's. */
enum {
  DIGESTS = 2 * SZG_TILE_DIRECT,
  LARGE = SZG_TILE_DIRECT,
  COUNT_TABLES = 4, /* by turns: equal neighbours count in different words */
  HALF_GROUP_ROWS = SZG_GROUP_ROWS / 2,
  HALF_GROUPS = SZG_LANE_CODES / HALF_GROUP_ROWS
};
static_assert(SZG_TILE_VALUES / COUNT_TABLES <= UINT16_MAX, "counts of a table must fit 16 bits");

/* Return whether some are LARGE. */
SZG_HOT static bool digest_narrow(const int32_t *restrict deltas, uint32_t count,
                                  uint32_t lattice_bits, uint16_t *restrict digests) {
  uint32_t const unused_bits = 32 - lattice_bits;
  uint32_t has_large = 0;
  for (uint32_t i = 0; i < count; i++) {
    int32_t const delta = (int32_t)((uint32_t)deltas[i] << unused_bits) >> unused_bits;
    uint32_t const is_large = (uint32_t)delta + SZG_TILE_DIRECT - 1 >= 2 * SZG_TILE_DIRECT - 1;
    has_large |= is_large;
    digests[i] = (uint16_t)(is_large ? LARGE : delta & (DIGESTS - 1));
  }
  return has_large != 0;
}

SZG_HOT static bool digest_wide(const int64_t *restrict deltas, uint32_t count,
                                uint16_t *restrict digests) {
  uint64_t has_large = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t const is_large = (uint64_t)deltas[i] + SZG_TILE_DIRECT - 1 >= 2 * SZG_TILE_DIRECT - 1;
    has_large |= is_large;
    digests[i] = (uint16_t)(is_large ? LARGE : deltas[i] & (DIGESTS - 1));
  }
  return has_large != 0;
}

/* Whether rows are those of a 3-D field; where a tile's rows do not tell, it does not matter. */
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

/* Digests in code order spread over 32 places a row; those that the tile lacks become 0. */
static void spread_rows(const uint16_t *digests, const uint16_t *widths,
                        uint16_t spread[SZG_TILE_VALUES]) {
  memset(spread, 0, SZG_TILE_VALUES * sizeof *spread);
  for (uint32_t row = 0; row < SZG_LANE_CODES; row++) {
    for (uint32_t i = 0; i < widths[row]; i++) spread[row * SZG_LANES + i] = digests[i];
    digests += widths[row];
  }
}

/* What zero groups would leave, by lane. */
typedef struct lane_sums {
  uint16_t values[SZG_ZERO_GROUPS_COUNT][SZG_LANES]; /* in units that are not all zero */
  uint16_t units[SZG_ZERO_GROUPS_COUNT][SZG_LANES];  /* that have values */
  uint16_t is_busy[SZG_LANES];                       /* has a delta other than 0 */
} lane_sums;

/* Half a group: rows 0, 1, 4, 5 of those given. */
SZG_INLINE void sum_half(const uint16_t (*digests)[SZG_LANES], const uint16_t *widths,
                         uint16_t *restrict is_busy, uint16_t *restrict values) {
  for (uint32_t l = 0; l < SZG_LANES; l++) {
    is_busy[l] = (digests[0][l] | digests[1][l] | digests[4][l] | digests[5][l]) != 0;
    values[l] = (uint16_t)((widths[0] > l) + (widths[1] > l) + (widths[4] > l) + (widths[5] > l));
  }
}

SZG_HOT static void sum_lanes(const uint16_t digests[SZG_TILE_VALUES], const uint16_t *widths,
                              uint32_t group_count, lane_sums *restrict sums) {
  const uint16_t(*rows)[SZG_LANES] = (const uint16_t(*)[SZG_LANES])digests;
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

SZG_HOT static uint32_t add_tables(uint16_t tables[COUNT_TABLES][DIGESTS], uint32_t first_digest,
                                   uint32_t *restrict counts) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < SZG_TILE_DIRECT; i++) {
    uint32_t found = 0;
    for (int t = 0; t < COUNT_TABLES; t++) found += tables[t][first_digest + i];
    counts[i] += found;
    sum += found;
  }
  return sum;
}

/* Adds the direct deltas other than 0 to the tally; returns how many there are. Delta 0 is counted
 * by rows, and LARGE apart. */
static uint32_t count_direct(const uint16_t *digests, uint32_t count, szg_tile_tally *tally) {
  uint16_t tables[COUNT_TABLES][DIGESTS];
  memset(tables, 0, sizeof tables);
  uint32_t i = 0;
  for (; i + COUNT_TABLES <= count; i += COUNT_TABLES) {
    uint64_t four;
    memcpy(&four, digests + i, sizeof four);
    if (four == 0) continue; /* smooth fields have little else */
    tables[0][digests[i]]++;
    tables[1][digests[i + 1]]++;
    tables[2][digests[i + 2]]++;
    tables[3][digests[i + 3]]++;
  }
  for (; i < count; i++) tables[0][digests[i]]++;
  for (int t = 0; t < COUNT_TABLES; t++) tables[t][0] = tables[t][LARGE] = 0;
  uint32_t *const counts = tally->counts + SZG_TILE_ZERO;
  return add_tables(tables, 0, counts) +
         add_tables(tables, SZG_TILE_DIRECT, counts - SZG_TILE_DIRECT);
}

/* Adds the others. */
static uint32_t count_large(uint32_t lattice_bits, const szg_tile_points *deltas,
                            const uint16_t *digests, uint32_t count, szg_tile_tally *tally) {
  uint16_t tables[COUNT_TABLES][2][SZG_TILE_CLASSES];
  memset(tables, 0, sizeof tables);
  for (uint32_t i = 0; i < count; i++) {
    if (digests[i] != LARGE) continue;
    uint64_t const bits =
        lattice_bits == 64 ? (uint64_t)deltas->wide[i] : (uint64_t)(int64_t)deltas->narrow[i];
    int64_t const delta = szg_delta_of_bits(bits, lattice_bits);
    tables[i % COUNT_TABLES][delta < 0][szg_magnitude_class(szg_delta_magnitude(delta))]++;
  }
  uint32_t sum = 0;
  for (uint32_t k = 0; k < SZG_TILE_CLASSES; k++) {
    for (int is_negative = 0; is_negative < 2; is_negative++) {
      uint32_t found = 0;
      for (int t = 0; t < COUNT_TABLES; t++) found += tables[t][is_negative][k];
      tally->counts[szg_class_symbol(k, is_negative)] += found;
      sum += found;
    }
  }
  return sum;
}

void szg_tile_count(uint32_t lattice_bits, const szg_tile *tile, const szg_tile_points *deltas,
                    szg_tile_tally *tally) {
  uint32_t const count = tile->value_count;
  uint16_t digests[SZG_TILE_VALUES];
  bool const has_large = lattice_bits == 64
                             ? digest_wide(deltas->wide, count, digests)
                             : digest_narrow(deltas->narrow, count, lattice_bits, digests);
  uint16_t widths[SZG_LANE_CODES], spread[SZG_TILE_VALUES];
  uint32_t const group_count = measure_rows(tile, widths);
  bool const is_full = count == SZG_TILE_VALUES;
  if (!is_full) spread_rows(digests, widths, spread);
  lane_sums sums;
  sum_lanes(is_full ? digests : spread, widths, group_count, &sums);
  uint32_t others = count_direct(digests, count, tally);
  if (has_large) others += count_large(lattice_bits, deltas, digests, count, tally);
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

/* ---- the book ---- */

uint32_t szg_choose_zero_groups(const szg_tile_tally *tally) {
  szg_count_sums others = {0};
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++)
    if (s != SZG_TILE_ZERO) szg_sums_add(&others, tally->counts[s]);
  uint64_t costs[SZG_ZERO_GROUPS_COUNT];
  for (int v = 0; v < SZG_ZERO_GROUPS_COUNT; v++)
    costs[v] = szg_zero_groups_cost(&others, tally->zeros[v], tally->group_bits[v]);
  return szg_cheapest_zero_groups(costs);
}

/* Counts of rare direct symbols (or of rare classes) go where such deltas are written then. */
static void move_rare(bool are_direct, uint64_t total, uint64_t *counts) {
  for (uint32_t s = SZG_ESCAPE_SYMBOL + 1; s < SZG_TILE_SYMBOLS; s++) {
    if (s == SZG_TILE_ZERO || szg_is_direct_symbol(s) != are_direct) continue;
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

void szg_tile_encoder_build(const szg_codebook *book, szg_tile_encoder *encoder) {
  encoder->direct[0] = 0;
  for (int32_t delta = 1 - SZG_TILE_DIRECT; delta < SZG_TILE_DIRECT; delta++)
    encoder->direct[SZG_TILE_DIRECT + delta] = szg_direct_entry(book->lengths, book->codes, delta);
  for (uint32_t k = 0; k < SZG_TILE_CLASSES; k++) {
    encoder->classes[k] = szg_class_entry(book->lengths, book->codes, szg_class_symbol(k, false));
    encoder->classes[SZG_TILE_CLASSES + k] =
        szg_class_entry(book->lengths, book->codes, szg_class_symbol(k, true));
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
