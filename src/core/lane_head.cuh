/* lane_head.cuh - heads of coded tiles by a warp, which has a thread for each lane.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LANE_HEAD_CUH
#define SZG_LANE_HEAD_CUH

#include "core/bit_reader.cuh"
#include "core/bit_writer.cuh"
#include "core/lane_head_core.h"
#include "core/warp.cuh"

namespace szg {

/* ---- writing ---- */

struct LaneLengths {
  uint32_t least, width; /* of the shortest lane; bits of an excess */
  uint32_t end;          /* where this lane ends: the sum of its bits and those of lower lanes */
};

/* least_bits: lane_bits, or UINT32_MAX for a lane that does not count as the shortest. The whole
 * warp calls. The three chains of shuffles go side by side, so that they wait together. */
__device__ __forceinline__ LaneLengths measure_lanes(uint32_t lane_bits, uint32_t least_bits,
                                                     uint32_t lane) {
  uint32_t end = lane_bits, most = lane_bits, least = least_bits;
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    uint32_t const below = __shfl_up_sync(kAllLanes, end, step);
    if (lane >= step) end += below;
    most = max(most, __shfl_xor_sync(kAllLanes, most, (int)step));
    least = min(least, __shfl_xor_sync(kAllLanes, least, (int)step));
  }
  return {least, 32 - (uint32_t)__clz((int)(most - least)), end};
}

/* Adds a head to words that are 0. live: the lanes that have bits; is_live: whether this one has.
 * excess: of this lane. or_word: as or_bits wants it. The whole warp calls. */
template <class OrWord>
__device__ __forceinline__ void put_head(szg_head_form form, szg_head_begin begin, uint32_t live,
                                         bool is_live, uint32_t excess, OrWord or_word) {
  uint32_t const lane = threadIdx.x % 32, begin_bits = szg_head_begin_bits(form);
  if (lane == 0) {
    or_number(szg_head_begin_number(form, begin), begin_bits, 0, or_word);
    if (begin.has_mask) or_bits(__brev(live), form.lane_count, begin_bits, or_word);
  }
  if (is_live)
    or_number(excess, begin.width,
              szg_head_excess_at(form, begin.has_mask, begin.width, rank_among(live, lane)),
              or_word);
}

/* ---- reading ---- */

/* The excess at bit `at` of a head; high and low: the words that it begins in and after that. */
__device__ __forceinline__ uint32_t excess_of(uint32_t high, uint32_t low, uint32_t at,
                                              uint32_t width) {
  return width ? bits_from(low, high, at) >> (32 - width) : 0;
}

/* Where this lane has its bits, from the tile's first on. is_sound: the tile's head is, and so are
 * its last bits. */
struct LaneRange {
  uint32_t first, end; /* equal: it has none */
  bool is_sound;

  __device__ __forceinline__ bool is_live() const { return first != end; }
};

/* words: at least one. The whole warp calls. */
__device__ __forceinline__ LaneRange read_head(szg_head_form form, const ArchiveWords &words) {
  uint32_t const lane = threadIdx.x % 32, begin_bits = szg_head_begin_bits(form);
  uint32_t const first_word = words.words[0], last_word = words.words[words.end - 1];
  szg_head_begin const begin = szg_head_begin_of(form, first_word >> (32 - begin_bits));
  uint32_t const mask =
      begin.has_mask ? __brev(bits_from(words.at(0, 1), first_word, begin_bits)) : kAllLanes;
  uint32_t const live = mask & szg_head_all_lanes(form);
  uint32_t const at = szg_head_excess_at(form, begin.has_mask, begin.width, rank_among(live, lane));
  uint32_t const excess = excess_of(words.at(at / 32, 0), words.at(at / 32, 1), at, begin.width);
  bool const is_live = live >> lane & 1;
  uint32_t const own_bits = is_live ? begin.least + excess : 0;
  uint32_t const end = sum_to_lane(own_bits, lane);
  uint32_t const body =
      szg_head_excess_at(form, begin.has_mask, begin.width, (uint32_t)__popc((int)live));
  uint32_t const all_bits = body + __shfl_sync(kAllLanes, end, 31);
  uint32_t const unused_bits = words.end * 32 - all_bits; /* not below 32 if the tile is bad */
  bool const is_sound = szg_head_has_width(form, begin.width) && live != 0 && unused_bits < 32 &&
                        (last_word & lanes_below(unused_bits & 31)) == 0 &&
                        (!is_live || own_bits > 0);
  return {body + end - own_bits, body + end, __all_sync(kAllLanes, is_sound) != 0};
}

} // namespace szg

#endif
