/* count_planes.c - counts symbols in each plane; finds the value width of byte fields.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "codecs/planes/plane_bytes.h"
#include "codecs/planes/planes_choice_core.h"
#include "core/bytes.h"
#include "core/dispatch.h"

/* Eight tables take turns: exponents repeat a symbol, and each increment of one counter would wait
 * for the one before (huffman/histogram.c). */
enum { COPIES = 8, TALLY_TILES = 1 << 16 }; /* whose counts fit 32 bits */
static_assert((uint64_t)TALLY_TILES * SZG_TILE_VALUES <= UINT32_MAX, "counts are u32");

typedef struct plane_tables {
  uint32_t counts[COPIES][SZG_PLANES_SYMBOLS];
} plane_tables;

static void count_symbols(const uint8_t *restrict symbols, uint32_t count,
                          plane_tables *restrict tables) {
  uint32_t i = 0;
  for (; i + COPIES <= count; i += COPIES) {
    uint64_t const eight = szg_load_u64(symbols + i);
    for (uint32_t t = 0; t < COPIES; t++) tables->counts[t][eight >> 8 * t & 255]++;
  }
  for (; i < count; i++) tables->counts[0][symbols[i]]++;
}

/* Counts at most TALLY_TILES tiles of values. */
static void count_part(const uint8_t *values, uint64_t value_count, uint32_t value_bytes,
                       szg_planes_counts *counts) {
  plane_tables tables[SZG_PLANES_MOST];
  memset(tables, 0, value_bytes * sizeof *tables);
  for (uint64_t first = 0; first < value_count; first += SZG_TILE_VALUES) {
    uint32_t const count = (uint32_t)szg_min_u64(SZG_TILE_VALUES, value_count - first);
    for (uint32_t plane = 0; plane < value_bytes; plane++) {
      uint8_t symbols[SZG_TILE_VALUES];
      szg_plane_take(values + first * value_bytes, count, value_bytes, plane, symbols);
      count_symbols(symbols, count, &tables[plane]);
    }
  }
  for (uint32_t plane = 0; plane < value_bytes; plane++)
    for (uint32_t t = 0; t < COPIES; t++)
      for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++)
        counts->planes[plane][s] += tables[plane].counts[t][s];
}

void szg_planes_count(const void *values, uint64_t value_count, uint32_t value_bytes,
                      szg_planes_counts *counts) {
  uint64_t const part_values = (uint64_t)TALLY_TILES * SZG_TILE_VALUES;
  const uint8_t *const bytes = values;
  for (uint64_t first = 0; first < value_count; first += part_values)
    count_part(bytes + first * value_bytes, szg_min_u64(part_values, value_count - first),
               value_bytes, counts);
}

/* ---- bytes ---- */

void szg_split_count(const uint8_t *bytes, uint64_t byte_count, szg_split_tally *tally) {
  for (uint32_t choice = 0; choice < SZG_SPLIT_CHOICES; choice++)
    szg_planes_count(bytes, byte_count >> choice, 1u << choice, &tally->counts[choice]);
}

static uint64_t plane_cost(const uint64_t *counts) {
  uint64_t total = 0, used = 0, most = 0;
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++) {
    total += counts[s];
    used += counts[s] > 0;
    if (counts[s] > most) most = counts[s];
  }
  return szg_split_plane_cost(total, used, szg_logs_of(counts, SZG_PLANES_SYMBOLS), most);
}

uint32_t szg_split_choose(const szg_split_tally *tally, uint64_t byte_count) {
  uint32_t const choice_count = szg_split_choice_count(byte_count);
  uint64_t costs[SZG_SPLIT_CHOICES] = {0};
  for (uint32_t choice = 0; choice < choice_count; choice++)
    for (uint32_t plane = 0; plane < 1u << choice; plane++)
      costs[choice] += plane_cost(tally->counts[choice].planes[plane]);
  return szg_split_cheapest(costs, choice_count);
}

uint32_t szg_planes_split(const uint8_t *bytes, uint64_t byte_count, szg_split_tally *tally) {
  memset(tally, 0, sizeof *tally);
  for (uint32_t i = 0; i < szg_split_stretch_count(byte_count); i++) {
    szg_split_stretch const stretch = szg_split_stretch_at(byte_count, i);
    szg_split_count(bytes + stretch.first_byte, stretch.byte_count, tally);
  }
  return szg_split_choose(tally, byte_count);
}
