/* axes.cu - the choice of axes and radius on the GPU; nothing of it comes to the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block a sampled tile: lattice points to shared memory, deltas straight from there. Reads the
 * sample twice for fields of more than one axis, at most 64 tiles, and once more where deltas are
 * large; counters take 300 KB. What follows the axes' costs ends at once where it has no work.
 *
 *   classes   deltas of the sample by class, for each set of axes
 *   sets      a cost for each
 *   deltas    large deltas along the cheapest set     only where there are some,
 *   rings     their sums, radius by radius            and no radius is asked for
 *   choice    axes and radius
 */
#include "predict/axes.h"

#include <cub/block/block_reduce.cuh>

#include "core/cuda_check.cuh"
#include "predict/lorenzo.cuh"

namespace szg {
namespace {

struct ChoicePolicy {
  static constexpr uint32_t kTileThreads = 1024; /* few blocks: each must be quick */
  static constexpr uint32_t kSteps = SZG_TILE_VALUES / kTileThreads;
  static constexpr uint32_t kTileShares = 2; /* blocks that share a tile's sets of axes */
  static constexpr uint32_t kSumThreads = 256;
  static constexpr uint32_t kRingBlocks = (SZG_MAX_RADIUS - SZG_COST_RADIUS) / kSumThreads;
};
static_assert(SZG_TILE_VALUES % ChoicePolicy::kTileThreads == 0, "steps are whole");
static_assert(SZG_COST_RADIUS % ChoicePolicy::kSumThreads == 0, "a block has one ring's deltas");

typedef unsigned long long Atomic; /* what 64-bit atomics take */

/* All 0 at first. By set: entry 0 is not used, as in the CPU's. */
struct ChoiceWork {
  szg_set_sums sets[SZG_AXES_SETS + 1];
  uint64_t costs[SZG_AXES_SETS + 1];
  szg_count_sums rings[SZG_RADIUS_CHOICES]; /* the first stays empty: it is the set's `small` */
  uint64_t widest;                          /* szg_delta_spread of deltas that no radius reaches */
  uint32_t classes[SZG_AXES_SETS + 1][SZG_COST_CLASSES];
  uint32_t deltas[SZG_MAX_SYMBOLS]; /* delta + SZG_MAX_RADIUS; large ones only */
};

/* ---- a tile in shared memory ---- */

template <class A>
struct TileMemory {
  typename A::Point points[SZG_TILE_VALUES];
  uint32_t has_point[SZG_TILE_VALUES / 32]; /* a bit a value: the others have placeholders */
};

/* The values of a thread: one in each step, neighbours side by side. */
__device__ uint32_t index_of_step(uint32_t step) {
  return step * ChoicePolicy::kTileThreads + threadIdx.x;
}

struct Place {
  uint32_t x, y, z;
};

__device__ Place place_in_tile(const szg_tile &tile, uint32_t index) {
  uint32_t const row = index / tile.x_extent;
  uint32_t const z = row / tile.y_extent;
  return {index - row * tile.x_extent, row - z * tile.y_extent, z};
}

/* The point nearest before a value, no further than where its row starts; 0 if there is none. */
template <class A>
__device__ typename A::Point point_before(const TileMemory<A> &memory, uint32_t index,
                                          uint32_t row_start) {
  uint32_t const first_word = row_start / 32;
  uint32_t word = index / 32;
  uint32_t candidates = memory.has_point[word] & ((1u << index % 32) - 1);
  while (word > first_word && candidates == 0) candidates = memory.has_point[--word];
  if (word == first_word) candidates &= kAllLanes << row_start % 32;
  return candidates ? memory.points[word * 32 + 31 - __clz(candidates)] : 0;
}

/* The tile's lattice points and the places of this thread's. The block can read them at once. */
template <class A>
__device__ void take_points(const szg_quantizer &k, const szg_tile &tile,
                            const typename A::Value *frame_values, TileMemory<A> *memory,
                            Place (&places)[ChoicePolicy::kSteps]) {
  typename A::Value values[ChoicePolicy::kSteps];
#pragma unroll
  for (uint32_t step = 0; step < ChoicePolicy::kSteps; step++) {
    uint32_t const index = index_of_step(step);
    Place const at = places[step] = place_in_tile(tile, index);
    uint64_t const offset = at.z * tile.z_stride + at.y * tile.y_stride + at.x;
    values[step] = index < tile.value_count ? frame_values[tile.first_value + offset] : 0;
  }
#pragma unroll
  for (uint32_t step = 0; step < ChoicePolicy::kSteps; step++) {
    uint32_t const index = index_of_step(step);
    bool const on_lattice = A::lattice(k, values[step], &memory->points[index]);
    uint32_t const has_point = __ballot_sync(kAllLanes, on_lattice && !A::is_fill(k, values[step]));
    if (threadIdx.x % 32 == 0) memory->has_point[index / 32] = has_point;
  }
  __syncthreads(); /* points complete before others stand for what has none */
#pragma unroll
  for (uint32_t step = 0; step < ChoicePolicy::kSteps; step++) {
    uint32_t const index = index_of_step(step);
    if (index < tile.value_count && !(memory->has_point[index / 32] >> index % 32 & 1))
      memory->points[index] = point_before(*memory, index, index - places[step].x);
  }
  __syncthreads(); /* placeholders too before deltas are taken */
}

/* A value's delta along a set of axes: what lies outside the tile counts as 0, so an axis does
 * nothing where the coordinate on it is 0. */
template <class A>
__device__ int64_t delta_along(uint32_t axes, const szg_tile &tile, const typename A::Point *points,
                               uint32_t index, const Place &at) {
  typedef typename A::Unsigned Unsigned;
  bool const is_inner = (axes & SZG_AXIS_X && at.x > 0) || (axes & SZG_AXIS_Y && at.y > 0) ||
                        (axes & SZG_AXIS_Z && at.z > 0);
  uint32_t const active = is_inner ? axes : (uint32_t)SZG_AXES_ALL;
  bool const x = active & SZG_AXIS_X && at.x > 0;
  bool const y = active & SZG_AXIS_Y && at.y > 0;
  bool const z = active & SZG_AXIS_Z && at.z > 0;
  uint32_t const row = tile.x_extent, plane = tile.x_extent * tile.y_extent;
  auto const along_x = [=](uint32_t i) {
    return x ? (Unsigned)points[i] - (Unsigned)points[i - 1] : (Unsigned)points[i];
  };
  auto const along_xy = [=](uint32_t i) { return y ? along_x(i) - along_x(i - row) : along_x(i); };
  Unsigned const delta = z ? along_xy(index) - along_xy(index - plane) : along_xy(index);
  return (typename A::Point)delta;
}

/* One more of each large delta within the largest radius. The whole warp calls. What the first such
 * lane has is often what all have, and is added once. */
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

/* ---- sums ---- */

struct MergeSets {
  __device__ szg_set_sums operator()(const szg_set_sums &a, const szg_set_sums &b) const {
    return {szg_sums_merged(a.small, b.small), szg_sums_merged(a.large, b.large),
            a.large_bits + b.large_bits};
  }
};

struct MergeCounts {
  __device__ szg_count_sums operator()(const szg_count_sums &a, const szg_count_sums &b) const {
    return szg_sums_merged(a, b);
  }
};

struct Greater {
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a > b ? a : b; }
};

/* Whether a larger radius than the least could gain anything. */
__device__ bool has_large(const ChoiceWork *work, uint32_t axes) {
  return work->sets[axes].large.total > 0;
}

/* ---- kernels ---- */

template <class A>
__global__ void __launch_bounds__(ChoicePolicy::kTileThreads, 1)
    classes_count_kernel(szg_quantizer quantizer, szg_grid grid,
                         const typename A::Value *frame_values, uint32_t set_count,
                         ChoiceWork *work) {
  __shared__ TileMemory<A> memory;
  __shared__ uint32_t classes[SZG_COST_CLASSES];
  szg_tile const tile = szg_tile_at(&grid, szg_sample_tile(grid.tile_count, gridDim.x, blockIdx.x));
  Place places[ChoicePolicy::kSteps];
  for (uint32_t c = threadIdx.x; c < SZG_COST_CLASSES; c += ChoicePolicy::kTileThreads)
    classes[c] = 0; /* in time: points are waited for */
  take_points<A>(quantizer, tile, frame_values, &memory, places);
  for (uint32_t axes = blockIdx.y + 1; axes <= set_count; axes += gridDim.y) {
#pragma unroll
    for (uint32_t step = 0; step < ChoicePolicy::kSteps; step++) {
      uint32_t const index = index_of_step(step);
      if (index >= tile.value_count) continue;
      int64_t const delta = delta_along<A>(axes, tile, memory.points, index, places[step]);
      atomicAdd(&classes[szg_delta_class(delta)], 1u);
    }
    __syncthreads(); /* counts complete before they are handed on */
    for (uint32_t c = threadIdx.x; c < SZG_COST_CLASSES; c += ChoicePolicy::kTileThreads) {
      if (classes[c]) atomicAdd(&work->classes[axes][c], classes[c]);
      classes[c] = 0;
    }
    __syncthreads(); /* and 0 before the next set's */
  }
}

/* A block a set. */
__global__ void __launch_bounds__(ChoicePolicy::kSumThreads) sets_cost_kernel(ChoiceWork *work) {
  typedef cub::BlockReduce<szg_set_sums, ChoicePolicy::kSumThreads> BlockReduce;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  uint32_t const axes = blockIdx.x + 1;
  szg_set_sums sums = {};
  for (uint32_t c = threadIdx.x; c < SZG_COST_CLASSES; c += ChoicePolicy::kSumThreads)
    szg_set_sums_add(&sums, c, work->classes[axes][c]);
  sums = BlockReduce(reduce_memory).Reduce(sums, MergeSets());
  if (threadIdx.x > 0) return;
  work->sets[axes] = sums;
  work->costs[axes] = szg_set_cost(&sums, work->classes[axes][SZG_COST_RADIUS]);
}

template <class A>
__global__ void __launch_bounds__(ChoicePolicy::kTileThreads, 1)
    deltas_count_kernel(szg_quantizer quantizer, szg_grid grid,
                        const typename A::Value *frame_values, uint32_t set_count,
                        ChoiceWork *work) {
  typedef cub::BlockReduce<uint64_t, ChoicePolicy::kTileThreads> BlockReduce;
  __shared__ TileMemory<A> memory;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  uint32_t const axes = szg_cheapest_set(work->costs, set_count);
  if (!has_large(work, axes)) return;
  szg_tile const tile = szg_tile_at(&grid, szg_sample_tile(grid.tile_count, gridDim.x, blockIdx.x));
  Place places[ChoicePolicy::kSteps];
  take_points<A>(quantizer, tile, frame_values, &memory, places);
  uint64_t widest = 0;
#pragma unroll
  for (uint32_t step = 0; step < ChoicePolicy::kSteps; step++) {
    uint32_t const index = index_of_step(step);
    int64_t delta = 0;
    if (index < tile.value_count)
      delta = delta_along<A>(axes, tile, memory.points, index, places[step]);
    bool const is_reached = delta > -SZG_MAX_RADIUS && delta < SZG_MAX_RADIUS;
    bool const is_large = delta <= -SZG_COST_RADIUS || delta >= SZG_COST_RADIUS;
    count_large(is_large && is_reached, (uint32_t)(delta + SZG_MAX_RADIUS), work->deltas);
    if (!is_reached) widest = Greater()(widest, szg_delta_spread(delta));
  }
  widest = BlockReduce(reduce_memory).Reduce(widest, Greater());
  if (threadIdx.x == 0 && widest > 0) atomicMax((Atomic *)&work->widest, (Atomic)widest);
}

/* A thread a magnitude, from SZG_COST_RADIUS on. */
__global__ void __launch_bounds__(ChoicePolicy::kSumThreads)
    rings_sum_kernel(uint32_t set_count, ChoiceWork *work) {
  typedef cub::BlockReduce<szg_count_sums, ChoicePolicy::kSumThreads> BlockReduce;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  if (!has_large(work, szg_cheapest_set(work->costs, set_count))) return;
  uint32_t const first = SZG_COST_RADIUS + blockIdx.x * ChoicePolicy::kSumThreads;
  uint32_t const magnitude = first + threadIdx.x;
  szg_count_sums sums = {};
  szg_sums_add(&sums, work->deltas[SZG_MAX_RADIUS + magnitude]);
  szg_sums_add(&sums, work->deltas[SZG_MAX_RADIUS - magnitude]);
  sums = BlockReduce(reduce_memory).Reduce(sums, MergeCounts());
  if (threadIdx.x > 0 || sums.used == 0) return;
  int i = 1;
  while (first >= szg_radius_choice(i)) i++;
  atomicAdd((Atomic *)&work->rings[i].total, (Atomic)sums.total);
  atomicAdd((Atomic *)&work->rings[i].used, (Atomic)sums.used);
  atomicAdd((Atomic *)&work->rings[i].logs, (Atomic)sums.logs);
}

/* One thread. */
__global__ void __launch_bounds__(1)
    choice_make_kernel(uint32_t set_count, uint32_t asked_radius, const ChoiceWork *work,
                       szg_choice *choice) {
  uint32_t const axes = szg_cheapest_set(work->costs, set_count);
  choice->axes = axes;
  choice->radius = asked_radius ? asked_radius : (uint32_t)SZG_COST_RADIUS;
  if (asked_radius || !has_large(work, axes)) return;
  szg_count_sums const small = work->sets[axes].small;
  szg_count_sums const rings[SZG_RADIUS_CHOICES] = {small, work->rings[1], work->rings[2],
                                                    work->rings[3]};
  choice->radius = szg_cheapest_radius(rings, small.total + work->sets[axes].large.total,
                                       work->classes[axes][SZG_COST_RADIUS], work->widest);
}

template <class A>
szgpu_status choose(const szg_quantizer &quantizer, const szg_grid &grid, const void *frame_values,
                    uint32_t asked_radius, ChoiceWork *work, szg_choice *choice,
                    cudaStream_t stream) {
  auto const *const values = (const typename A::Value *)frame_values;
  uint32_t const sample_count = szg_sample_count(grid.tile_count);
  uint32_t const set_count = szg_grid_axes(&grid);
  dim3 const tile_blocks(sample_count, set_count > 1 ? ChoicePolicy::kTileShares : 1);
  SZG_TRY_CUDA(cudaMemsetAsync(work, 0, sizeof *work, stream));
  classes_count_kernel<A><<<tile_blocks, ChoicePolicy::kTileThreads, 0, stream>>>(
      quantizer, grid, values, set_count, work);
  SZG_TRY_LAUNCH();
  sets_cost_kernel<<<set_count, ChoicePolicy::kSumThreads, 0, stream>>>(work);
  SZG_TRY_LAUNCH();
  if (asked_radius == 0) {
    deltas_count_kernel<A><<<sample_count, ChoicePolicy::kTileThreads, 0, stream>>>(
        quantizer, grid, values, set_count, work);
    SZG_TRY_LAUNCH();
    rings_sum_kernel<<<ChoicePolicy::kRingBlocks, ChoicePolicy::kSumThreads, 0, stream>>>(set_count,
                                                                                          work);
    SZG_TRY_LAUNCH();
  }
  choice_make_kernel<<<1, 1, 0, stream>>>(set_count, asked_radius, work, choice);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

} // namespace
} // namespace szg

uint64_t szg_choice_work_bytes_cuda(void) { return sizeof(szg::ChoiceWork); }

szgpu_status szg_choose_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                             const void *frame_values, uint32_t asked_radius, void *work,
                             szg_choice *choice, cudaStream_t stream) {
  return szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    return szg::choose<decltype(arithmetic)>(*quantizer, *grid, frame_values, asked_radius,
                                             (szg::ChoiceWork *)work, choice, stream);
  });
}
