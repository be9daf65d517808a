/* levels_probe_costs.cuh - what counts of sampled points cost, and which way is the cheapest.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Few threads do this while all others wait, so what counts is the length of chains.
 */
#ifndef SZG_LEVELS_PROBE_COSTS_CUH
#define SZG_LEVELS_PROBE_COSTS_CUH

#include "codecs/interpolation/levels_choice_core.h"
#include "core/warp.cuh"

namespace szg {

/* ---- counts ---- */

/* Called, because the instructions come from device memory. */
__device__ __noinline__ uint64_t count_log(uint64_t count) { return szg_count_log(count); }

/* Of counts that other blocks made. The whole warp calls; the result is every lane's. */
__device__ inline szg_probe_sums sums_of(const uint32_t *counts) {
  constexpr uint32_t kOfLane = (SZG_PROBE_CLASSES + 31) / 32;
  uint32_t own[kOfLane];
#pragma unroll
  for (uint32_t i = 0; i < kOfLane; i++) { /* all loads first */
    uint32_t const c = threadIdx.x % 32 + 32 * i;
    own[i] = c < SZG_PROBE_CLASSES ? __ldcg(&counts[c]) : 0;
  }
  szg_probe_sums sums = {};
#pragma unroll
  for (uint32_t i = 0; i < kOfLane; i++) {
    sums.total += own[i];
    sums.raw_bits += own[i] * szg_probe_raw_bits(threadIdx.x % 32 + 32 * i);
    if (__any_sync(kAllLanes, own[i] > 0)) sums.logs += count_log(own[i]);
  }
  return {warp_sum((uint32_t)sums.total), warp_sum(sums.logs), warp_sum((uint32_t)sums.raw_bits)};
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
