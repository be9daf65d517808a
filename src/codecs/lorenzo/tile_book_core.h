/* tile_book_core.h - what a tile frame's zero groups and codebook are chosen by, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_BOOK_CORE_H
#define SZG_TILE_BOOK_CORE_H

#include "codecs/lorenzo/tile_core.h"
#include "predict/axes_core.h"

/* Zero groups must save 1/64: they cost time. */
enum { SZG_ZERO_GROUPS_GAIN_SHIFT = 6 };

/* others: of all counts but delta 0's. */
SZG_HD uint64_t szg_zero_groups_cost(const szg_count_sums *others, uint32_t zero_count,
                                     uint32_t group_bits) {
  return szg_huffman_cost(others->total + zero_count, others->logs + szg_count_log(zero_count),
                          zero_count) +
         ((uint64_t)group_bits << SZG_LOG_FRACTION_BITS);
}

/* costs: by SZG_ZERO_GROUPS_*. */
SZG_HD uint32_t szg_cheapest_zero_groups(const uint64_t *costs) {
  uint32_t best = SZG_ZERO_GROUPS_NONE;
  for (uint32_t v = best + 1; v < SZG_ZERO_GROUPS_COUNT; v++)
    if (costs[v] < costs[best] - (costs[best] >> SZG_ZERO_GROUPS_GAIN_SHIFT)) best = v;
  return best;
}

SZG_HD bool szg_is_direct_symbol(uint32_t symbol) {
  return symbol > SZG_TILE_NEGATIVE_CLASS && symbol < SZG_TILE_POSITIVE_CLASS;
}

/* Where a symbol other than delta 0 is counted once it is too rare: a direct one under the class of
 * its magnitude, a class under the escape. */
SZG_HD uint32_t szg_rarer_symbol(uint32_t symbol) {
  if (!szg_is_direct_symbol(symbol)) return SZG_ESCAPE_SYMBOL;
  int32_t const delta = (int32_t)symbol - SZG_TILE_ZERO;
  return szg_class_symbol(szg_magnitude_class(szg_delta_magnitude(delta)), delta < 0);
}

#endif
