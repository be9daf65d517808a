/* axes.cu - the choice of axes and radius on the GPU; no part of it returns to the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block has a quarter of a tile (of a line, a tile): it puts lattice points in shared memory and
 * takes deltas along all sets of axes from there. Blocks read the sample once, and again if deltas
 * are large and no radius is asked for. The traffic is small and latency dominates, so the block
 * that finishes last does all work that needs all counts.
 *
 *   classes   deltas of the sample by class, for each set of axes; last, a cost for each, the axes
 *   deltas    large deltas along these axes           only where there are some,
 *   rings     their sums, radius by radius; last, it  and no radius is asked for
 */
#include "predict/axes.h"

#include <cub/block/block_reduce.cuh>

#include "core/cuda_check.cuh"
#include "core/last_block.cuh"
#include "core/operators.cuh"
#include "predict/axes_part.cuh"

namespace szg {
namespace {

struct RingPolicy {
  static constexpr uint32_t kThreads = 256;
  static constexpr uint32_t kBlocks = (SZG_MAX_RADIUS - SZG_COST_RADIUS) / kThreads;
};
static_assert(SZG_COST_RADIUS % RingPolicy::kThreads == 0, "a block has one ring's deltas");

typedef unsigned long long Atomic; /* the type for 64-bit atomics */

/* Arrays by set start at set 1 unless noted. Sums of 64 bits are aligned for atomics. */
struct ChoiceWork {
  /* Zero before the first kernel. */
  uint32_t class_ticket, ring_ticket;
  uint32_t classes[SZG_AXES_SETS][SZG_COST_CLASSES]; /* set 1 is first */
  /* Written by kernels. */
  alignas(8) szg_set_sums sets[SZG_AXES_SETS + 1];
  uint64_t costs[SZG_AXES_SETS + 1];
  szg_count_sums rings[SZG_RADIUS_CHOICES]; /* the first stays empty: the set's `small` has it */
  uint64_t widest;                          /* greatest szg_delta_spread that no radius reaches */
  uint32_t deltas[SZG_MAX_SYMBOLS];         /* delta + SZG_MAX_RADIUS; large ones only */
};

/* ---- sums ---- */

/* Counts the large deltas within the largest radius. The whole warp calls. Often all lanes have the
 * delta of the first such lane, so one lane adds all of these at once. */
__device__ void count_large(bool is_counted, uint32_t place, uint32_t *counts) {
  uint32_t const lanes = __ballot_sync(kAllLanes, is_counted);
  if (lanes == 0) return;
  int const first_lane = __ffs((int)lanes) - 1;
  uint32_t const first_place = __shfl_sync(kAllLanes, place, first_lane);
  uint32_t const alike = __ballot_sync(kAllLanes, is_counted && place == first_place);
  if ((int)(threadIdx.x % 32) == first_lane)
    atomicAdd(&counts[place], (uint32_t)__popc(alike));
  else if (is_counted && place != first_place)
    atomicAdd(&counts[place], 1u);
}

__device__ szg_count_sums warp_sums(const szg_count_sums &sums) {
  return {warp_sum(sums.total), warp_sum(sums.used), warp_sum(sums.logs)};
}

__device__ szg_set_sums merged(const szg_set_sums &a, const szg_set_sums &b) {
  return {szg_sums_merged(a.small, b.small), szg_sums_merged(a.large, b.large),
          a.large_bits + b.large_bits};
}

/* Whether a radius larger than the least could gain anything. */
__device__ bool has_large(const ChoiceWork *work, uint32_t axes) {
  return work->sets[axes].large.total > 0;
}

/* Sums one share of a set's classes; several warps share a set. The whole warp calls. */
__device__ szg_set_sums sum_share(const uint32_t *classes, uint32_t share, uint32_t shares) {
  constexpr uint32_t kSteps = 18; /* loaded at once, because latency dominates */
  static_assert(kSteps * (ChoicePolicy::kWarps / SZG_AXES_SETS) * 32 >= SZG_COST_CLASSES, "all");
  uint32_t const first = share * 32 + threadIdx.x % 32;
  uint32_t counts[kSteps];
#pragma unroll
  for (uint32_t i = 0; i < kSteps; i++) {
    uint32_t const c = first + i * shares * 32;
    counts[i] = c < SZG_COST_CLASSES ? __ldcg(&classes[c]) : 0;
  }
  szg_set_sums sums = {};
#pragma unroll
  for (uint32_t i = 0; i < kSteps; i++)
    if (counts[i] > 0) szg_set_sums_add(&sums, first + i * shares * 32, counts[i]);
  return {warp_sums(sums.small), warp_sums(sums.large), warp_sum(sums.large_bits)};
}

/* Computes the costs of all sets and chooses axes; the radius may follow. The whole block calls. */
__device__ void choose_axes(uint32_t set_count, uint32_t asked_radius, ChoiceWork *work,
                            szg_choice *choice) {
  constexpr uint32_t kShares = ChoicePolicy::kWarps / SZG_AXES_SETS;
  __shared__ szg_set_sums shares[SZG_AXES_SETS][kShares];
  __shared__ uint64_t costs[SZG_AXES_SETS + 1];
  uint32_t const set = threadIdx.x / 32 / kShares, share = threadIdx.x / 32 % kShares;
  if (set < set_count) {
    szg_set_sums const sums = sum_share(work->classes[set], share, kShares);
    if (threadIdx.x % 32 == 0) shares[set][share] = sums;
  }
  __syncthreads(); /* all shares are summed */
  if (threadIdx.x < set_count) {
    szg_set_sums sums = {};
    for (uint32_t i = 0; i < kShares; i++) sums = merged(sums, shares[threadIdx.x][i]);
    uint64_t const cost = szg_set_cost(&sums, __ldcg(&work->classes[threadIdx.x][SZG_COST_RADIUS]));
    work->sets[threadIdx.x + 1] = sums;
    costs[threadIdx.x + 1] = work->costs[threadIdx.x + 1] = cost;
  }
  __syncthreads(); /* all sets are priced */
  if (threadIdx.x > 0) return;
  choice->axes = szg_cheapest_set(costs, set_count);
  choice->radius = asked_radius ? asked_radius : (uint32_t)SZG_COST_RADIUS;
}

/* ---- kernels ---- */

/* Clears what the next kernels add to. All blocks call. */
__device__ void clear_deltas(ChoiceWork *work) {
  uint32_t const stride = gridDim.x * ChoicePolicy::kThreads;
  for (uint32_t i = blockIdx.x * ChoicePolicy::kThreads + threadIdx.x; i < SZG_MAX_SYMBOLS;
       i += stride)
    work->deltas[i] = 0;
  if (blockIdx.x > 0 || threadIdx.x >= SZG_RADIUS_CHOICES) return;
  work->rings[threadIdx.x] = {};
  if (threadIdx.x == 0) work->widest = 0;
}

/* Counts sample blockIdx.x of sample_count. The block that is the last to do so chooses. */
template <class A, bool kIsLine>
__device__ __forceinline__ void count_classes(const szg_quantizer &quantizer, const szg_grid &grid,
                                              const typename A::Value *frame_values,
                                              uint32_t sample_count, uint32_t set_count,
                                              uint32_t asked_radius, ChoiceWork *work,
                                              szg_choice *choice) {
  typedef PartMemory<A, kIsLine> Memory;
  constexpr uint32_t kSets = kIsLine ? 1 : SZG_AXES_SETS;
  __shared__ Memory memory;
  __shared__ uint32_t classes[kSets][SZG_COST_CLASSES];
  szg_tile const tile =
      szg_tile_at(&grid, szg_sample_tile(grid.tile_count, sample_count, blockIdx.x));
  Part const part = part_of<kIsLine>(tile, grid, blockIdx.x);
  Place places[Memory::kSteps];
  uint32_t *const all_classes = &classes[0][0];
  for (uint32_t c = threadIdx.x; c < kSets * SZG_COST_CLASSES; c += ChoicePolicy::kThreads)
    all_classes[c] = 0; /* the barrier of the points covers this */
  take_points<A, kIsLine>(quantizer, tile, part, frame_values, &memory, places);
#pragma unroll
  for (uint32_t step = 0; step < Memory::kSteps; step++) {
    uint32_t const index = index_of_step(step), in_tile = part.first + index;
    if (in_tile < part.counted || in_tile >= part.end) continue;
    PointNeighbours<A> const neighbours(tile, &memory.points[index], places[step]);
#pragma unroll
    for (uint32_t axes = 1; axes <= kSets; axes++)
      if (axes <= set_count)
        atomicAdd(&classes[axes - 1][szg_delta_class(neighbours.delta_along(axes))], 1u);
  }
  __syncthreads(); /* counts are complete before they are added up */
  uint32_t *const sums = &work->classes[0][0];
  for (uint32_t c = threadIdx.x; c < kSets * SZG_COST_CLASSES; c += ChoicePolicy::kThreads)
    if (all_classes[c]) atomicAdd(&sums[c], all_classes[c]);
  if (asked_radius == 0) clear_deltas(work);
  if (is_last_of(sample_count, &work->class_ticket))
    choose_axes(set_count, asked_radius, work, choice);
}

/* Grid: a block per sample. */
template <class A, bool kIsLine>
__global__ void __launch_bounds__(ChoicePolicy::kThreads, ChoicePolicy::kBlocks)
    classes_count_kernel(szg_quantizer quantizer, szg_grid grid,
                         const typename A::Value *frame_values, uint32_t set_count,
                         uint32_t asked_radius, ChoiceWork *work, szg_choice *choice) {
  count_classes<A, kIsLine>(quantizer, grid, frame_values, gridDim.x, set_count, asked_radius, work,
                            choice);
}

/* Grid: a block per sample, and the items. */
template <class A, bool kIsLine>
__global__ void __launch_bounds__(ChoicePolicy::kThreads, ChoicePolicy::kBlocks)
    items_classes_kernel(szg_quantizer quantizer, uint32_t set_count,
                         const szg_choice_item *items) {
  const szg_choice_item &item = items[blockIdx.y];
  uint32_t const sample_count = szg_sample_count(item.grid.tile_count, kIsLine);
  if (blockIdx.x >= sample_count) return;
  count_classes<A, kIsLine>(quantizer, item.grid, (const typename A::Value *)item.values,
                            sample_count, set_count, SZG_COST_RADIUS, (ChoiceWork *)item.work,
                            item.choice);
}

template <class A, bool kIsLine>
__global__ void __launch_bounds__(ChoicePolicy::kThreads, ChoicePolicy::kBlocks)
    deltas_count_kernel(szg_quantizer quantizer, szg_grid grid,
                        const typename A::Value *frame_values, const szg_choice *choice,
                        ChoiceWork *work) {
  typedef PartMemory<A, kIsLine> Memory;
  typedef cub::BlockReduce<uint64_t, ChoicePolicy::kThreads> BlockReduce;
  __shared__ Memory memory;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  uint32_t const axes = choice->axes;
  if (!has_large(work, axes)) return;
  szg_tile const tile = szg_tile_at(&grid, szg_sample_tile(grid.tile_count, gridDim.x, blockIdx.x));
  Part const part = part_of<kIsLine>(tile, grid, blockIdx.x);
  Place places[Memory::kSteps];
  take_points<A, kIsLine>(quantizer, tile, part, frame_values, &memory, places);
  uint64_t widest = 0;
#pragma unroll
  for (uint32_t step = 0; step < Memory::kSteps; step++) {
    uint32_t const index = index_of_step(step), in_tile = part.first + index;
    int64_t delta = 0;
    if (in_tile >= part.counted && in_tile < part.end)
      delta = PointNeighbours<A>(tile, &memory.points[index], places[step]).delta_along(axes);
    bool const is_reached = delta > -SZG_MAX_RADIUS && delta < SZG_MAX_RADIUS;
    bool const is_large = delta <= -SZG_COST_RADIUS || delta >= SZG_COST_RADIUS;
    count_large(is_large && is_reached, (uint32_t)(delta + SZG_MAX_RADIUS), work->deltas);
    if (!is_reached) widest = Greater()(widest, szg_delta_spread(delta));
  }
  widest = BlockReduce(reduce_memory).Reduce(widest, Greater());
  if (threadIdx.x == 0 && widest > 0) atomicMax((Atomic *)&work->widest, (Atomic)widest);
}

/* One thread calls. */
__device__ void choose_radius(const ChoiceWork *work, szg_choice *choice) {
  uint32_t const axes = choice->axes;
  szg_count_sums const small = work->sets[axes].small;
  szg_count_sums rings[SZG_RADIUS_CHOICES] = {small};
  for (int i = 1; i < SZG_RADIUS_CHOICES; i++)
    rings[i] = {__ldcg(&work->rings[i].total), __ldcg(&work->rings[i].used),
                __ldcg(&work->rings[i].logs)};
  choice->radius = szg_cheapest_radius(rings, small.total + work->sets[axes].large.total,
                                       work->classes[axes - 1][SZG_COST_RADIUS], work->widest);
}

/* One thread per magnitude, from SZG_COST_RADIUS on. */
__global__ void __launch_bounds__(RingPolicy::kThreads)
    rings_sum_kernel(ChoiceWork *work, szg_choice *choice) {
  typedef cub::BlockReduce<szg_count_sums, RingPolicy::kThreads> BlockReduce;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  if (!has_large(work, choice->axes)) return;
  uint32_t const first = SZG_COST_RADIUS + blockIdx.x * RingPolicy::kThreads;
  uint32_t const magnitude = first + threadIdx.x;
  szg_count_sums sums = {};
  szg_sums_add(&sums, work->deltas[SZG_MAX_RADIUS + magnitude]);
  szg_sums_add(&sums, work->deltas[SZG_MAX_RADIUS - magnitude]);
  sums = BlockReduce(reduce_memory).Reduce(sums, MergeCounts());
  if (threadIdx.x == 0 && sums.used > 0) {
    int i = 1;
    while (first >= szg_radius_choice(i)) i++;
    atomicAdd((Atomic *)&work->rings[i].total, (Atomic)sums.total);
    atomicAdd((Atomic *)&work->rings[i].used, (Atomic)sums.used);
    atomicAdd((Atomic *)&work->rings[i].logs, (Atomic)sums.logs);
  }
  if (is_last_block(&work->ring_ticket) && threadIdx.x == 0) choose_radius(work, choice);
}

/* ---- launcher ---- */

template <class A, bool kIsLine>
szgpu_status choose(const szg_quantizer &quantizer, const szg_grid &grid, const void *frame_values,
                    uint32_t asked_radius, ChoiceWork *work, szg_choice *choice,
                    cudaStream_t stream) {
  auto const *const values = (const typename A::Value *)frame_values;
  uint32_t const blocks = szg_sample_count(grid.tile_count, kIsLine);
  classes_count_kernel<A, kIsLine><<<blocks, ChoicePolicy::kThreads, 0, stream>>>(
      quantizer, grid, values, szg_grid_axes(&grid), asked_radius, work, choice);
  SZG_TRY_LAUNCH();
  if (asked_radius != 0) return SZGPU_OK;
  deltas_count_kernel<A, kIsLine>
      <<<blocks, ChoicePolicy::kThreads, 0, stream>>>(quantizer, grid, values, choice, work);
  SZG_TRY_LAUNCH();
  rings_sum_kernel<<<RingPolicy::kBlocks, RingPolicy::kThreads, 0, stream>>>(work, choice);
  return szg_launched();
}

} // namespace
} // namespace szg

uint64_t szg_choice_work_bytes_cuda(void) { return sizeof(szg::ChoiceWork); }

uint64_t szg_choice_zeroed_bytes_cuda(void) { return offsetof(szg::ChoiceWork, sets); }

uint64_t szg_choice_axes_bytes_cuda(void) { return offsetof(szg::ChoiceWork, rings); }

szgpu_status szg_choose_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                             const void *frame_values, uint32_t asked_radius, void *work,
                             szg_choice *choice, cudaStream_t stream) {
  auto *const choice_work = (szg::ChoiceWork *)work;
  return szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    typedef decltype(arithmetic) A;
    auto const choose = grid->tile_y > 1 ? szg::choose<A, false> : szg::choose<A, true>;
    return choose(*quantizer, *grid, frame_values, asked_radius, choice_work, choice, stream);
  });
}

szgpu_status szg_choose_items_cuda(const szg_quantizer *quantizer, const szg_grid *example,
                                   uint64_t most_tiles, const szg_choice_item *items,
                                   uint32_t item_count, cudaStream_t stream) {
  bool const is_line = example->tile_y == 1;
  dim3 const blocks(szg_sample_count(most_tiles, is_line), item_count);
  return szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    typedef decltype(arithmetic) A;
    auto const kernel =
        is_line ? szg::items_classes_kernel<A, true> : szg::items_classes_kernel<A, false>;
    kernel<<<blocks, szg::ChoicePolicy::kThreads, 0, stream>>>(*quantizer, szg_grid_axes(example),
                                                               items);
    return szg_launched();
  });
}
