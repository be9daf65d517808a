/* levels_probe_costs.cuh - what counts of sampled points cost, and which way is the cheapest.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Few threads do this while all others wait, so what counts is the length of chains.
 */
#ifndef SZG_LEVELS_PROBE_COSTS_CUH
#define SZG_LEVELS_PROBE_COSTS_CUH

#include "core/warp.cuh"
#include "predict/levels_choice_core.h"

namespace szg {

/* ---- counts ---- */

/* szg_count_log of several counts. Each is a chain, so they go side by side. */
template <uint32_t kCount>
__device__ __forceinline__ void find_logs(const uint32_t (&counts)[kCount],
                                          uint64_t (&logs)[kCount]) {
  uint32_t mantissas[kCount], results[kCount]; /* as in szg_log2_fixed */
#pragma unroll
  for (uint32_t i = 0; i < kCount; i++) {
    uint32_t const zeros = (uint32_t)__clz((int)(counts[i] | 1));
    mantissas[i] = (counts[i] | (counts[i] == 0)) << zeros;
    results[i] = 31 - zeros;
  }
#pragma unroll 1
  for (uint32_t bit = 0; bit < SZG_LOG_FRACTION_BITS; bit++) {
#pragma unroll
    for (uint32_t i = 0; i < kCount; i++) {
      uint64_t const square = (uint64_t)mantissas[i] * mantissas[i];
      auto const carry = (uint32_t)(square >> 63);
      mantissas[i] = carry ? (uint32_t)(square >> 32) : (uint32_t)(square >> 31);
      results[i] = 2 * results[i] + carry;
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < kCount; i++) logs[i] = (uint64_t)counts[i] * results[i];
}

/* The entropy of counts that other blocks made, or its floor (szg_probe_cost). The whole warp
 * calls; the result is every lane's. */
__device__ __forceinline__ uint64_t cost_of(const uint32_t *counts, bool is_floor) {
  constexpr uint32_t kOfLane = (SZG_PROBE_CLASSES + 31) / 32, kLast = kOfLane - 1;
  constexpr uint32_t kFree = SZG_PROBE_CLASSES - 32 * kLast; /* lanes that have no last class */
  static_assert(kFree + 1 < 32 && SZG_PROBE_ZERO < 32, "two free lanes, and class 0 is in a first");
  uint32_t const lane = threadIdx.x % 32;
  uint32_t own[kOfLane], total = 0, raw_bits = 0;
#pragma unroll
  for (uint32_t i = 0; i < kOfLane; i++) { /* all loads first */
    uint32_t const c = lane + 32 * i;
    own[i] = c < SZG_PROBE_CLASSES ? __ldcg(&counts[c]) : 0;
  }
#pragma unroll
  for (uint32_t i = 0; i < kOfLane; i++) {
    total += own[i];
    raw_bits += own[i] * szg_probe_raw_bits(lane + 32 * i);
  }
  total = warp_sum(total);
  uint32_t const zero_count = __shfl_sync(kAllLanes, own[0], SZG_PROBE_ZERO);
  auto const likely = (uint32_t)szg_huffman_likely(total, is_floor ? zero_count : 0);
  if (lane >= kFree) own[kLast] = lane == kFree ? total - likely : likely; /* for their logs */
  uint64_t logs[kOfLane], sum = 0;
  find_logs(own, logs);
  uint64_t const rest_log = __shfl_sync(kAllLanes, logs[kLast], (int)kFree);
  uint64_t const likely_log = __shfl_sync(kAllLanes, logs[kLast], (int)kFree + 1);
#pragma unroll
  for (uint32_t i = 0; i < kOfLane; i++) sum += i < kLast || lane < kFree ? logs[i] : 0;
  uint64_t const raw = (uint64_t)warp_sum(raw_bits) << SZG_LOG_FRACTION_BITS;
  uint64_t const bits =
      szg_huffman_cost_by_logs(total, warp_sum(sum), likely, rest_log, likely_log);
  return total > 0 ? (bits + raw) / total : 0;
}

/* ---- ways ---- */

/* What the first pass counts apart: scales, and stencils of each. */
constexpr uint32_t kSlices = SZG_PROBE_SCALES * SZG_PROBE_STENCILS;
constexpr uint32_t kEntropies = kSlices * SZG_PROBE_ENTRIES;

/* The number of the cheapest way. The whole block calls, of at least 256 threads, the first
 * kEntropies with one entropy each. Eight lanes have a way, and all but the first of them a set of
 * its axes. Costs are below 2^32: no class takes 2^7 bits. */
__device__ inline uint32_t find_way(const szg_probe_view &view, uint64_t entropy) {
  constexpr uint32_t kLanes = SZG_PROBE_SETS + 1;
  static_assert(kLanes == 8 && SZG_MOST_WAYS == 32, "a lane has one cost in the end");
  __shared__ szg_entry_costs costs;
  __shared__ uint32_t way_costs[SZG_MOST_WAYS];
  if (threadIdx.x < kEntropies) (&costs.of[0][0][0])[threadIdx.x] = entropy;
  __syncthreads(); /* all entropies are here */
  uint32_t const number = threadIdx.x / kLanes, set = threadIdx.x % kLanes;
  if (number < SZG_MOST_WAYS) { /* whole warps */
    bool const exists = number < szg_way_count(view.axis_count);
    szg_levels_way const way = szg_way(&view, exists ? number : 0);
    bool const has_set = set > 0 && set < 1u << way.axis_count;
    uint32_t const entry = szg_way_entry(&view, &way, has_set ? set : 1);
    uint64_t scales[SZG_PROBE_SCALES];
#pragma unroll
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
      uint32_t sum = has_set ? (uint32_t)costs.of[scale][way.is_linear][entry] : 0;
#pragma unroll
      for (uint32_t step = 1; step < kLanes; step *= 2)
        sum += __shfl_xor_sync(kAllLanes, sum, (int)step);
      scales[scale] = sum;
    }
    if (set == 0)
      way_costs[number] = exists ? (uint32_t)szg_probe_frame_cost(scales, &way) : UINT32_MAX;
  }
  __syncthreads(); /* all costs are here */
  uint32_t const cost = way_costs[threadIdx.x % 32];
  uint32_t const least = warp_least(cost);
  return (uint32_t)__ffs((int)__ballot_sync(kAllLanes, cost == least)) - 1;
}

} // namespace szg

#endif
