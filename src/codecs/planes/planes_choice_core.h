/* planes_choice_core.h - which symbols get codes, how many bytes a value has: for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANES_CHOICE_CORE_H
#define SZG_PLANES_CHOICE_CORE_H

#include "codecs/planes/planes.h"
#include "core/code_cost.h"

/* Whether a symbol that a sample of value_count values does not have may well occur in its frame:
 * it is near one that is rare in the sample. counts: of all symbols. */
SZG_HD bool szg_plane_symbol_is_likely(const uint64_t *counts, uint64_t value_count, uint32_t s) {
  uint32_t const last = SZG_PLANES_SYMBOLS - 1;
  uint32_t const above = s + SZG_PLANES_REACH_DOWN;
  uint32_t const first = s > SZG_PLANES_REACH_UP ? s - SZG_PLANES_REACH_UP : 0;
  uint32_t const end = s > 0 && above < last ? above : last; /* symbol 0 is near all of them */
  bool is_likely = false;
  for (uint32_t near = first; near <= end; near++)
    is_likely = is_likely || szg_plane_symbol_is_rare(counts[near], value_count);
  return is_likely;
}

/* What a plane costs, stored or coded, whichever is less, in units of 2^-16 bits. A plane of one
 * symbol costs nothing. total: of the symbols' counts; used: how many are not 0; logs: the sum of
 * szg_count_log; most: the greatest count. */
SZG_HD uint64_t szg_split_plane_cost(uint64_t total, uint64_t used, uint64_t logs, uint64_t most) {
  if (used <= 1) return 0;
  uint64_t const side_bytes =
      SZG_PLANES_BOOK_BYTES + SZG_PLANES_TILE_SIDE_BYTES * szg_planes_tile_count(total);
  uint64_t const coded =
      szg_huffman_cost(total, logs, most) + (8 * side_bytes << SZG_LOG_FRACTION_BITS);
  return szg_min_u64(8 * total << SZG_LOG_FRACTION_BITS, coded);
}

/* How many of the choices of 1, 2, 4 and 8 bytes make whole values of byte_count bytes: the
 * first. */
SZG_HD uint32_t szg_split_choice_count(uint64_t byte_count) {
  uint32_t count = 1;
  while (count < SZG_SPLIT_CHOICES && byte_count % (1u << count) == 0) count++;
  return count;
}

/* The bytes of a value that cost least. costs: of each choice, all its planes. */
SZG_HD uint32_t szg_split_cheapest(const uint64_t *costs, uint32_t choice_count) {
  uint32_t best = 0;
  for (uint32_t choice = 1; choice < choice_count; choice++)
    if (costs[choice] < costs[best] - (costs[best] >> SZG_SPLIT_GAIN_SHIFT)) best = choice;
  return 1u << best;
}

#endif
