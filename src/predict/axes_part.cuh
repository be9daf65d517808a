/* axes_part.cuh - a part of a sampled tile in a block's shared memory, and its deltas.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_AXES_PART_CUH
#define SZG_AXES_PART_CUH

#include "predict/axes_core.h"
#include "predict/lorenzo.cuh"

namespace szg {

struct ChoicePolicy {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kWarps = kThreads / 32;
  static constexpr uint32_t kBlocks = 2; /* that fit a multiprocessor */
};

/* ---- a part of a tile in shared memory ---- */

/* A range of a tile's values, by their index in it. Those before `counted` are only neighbours. */
struct Part {
  uint32_t first, counted, end;
};

/* Sample i: planes of a 3-D tile or rows of a 2-D one, and the one before them; a line's whole
 * tile. */
template <bool kIsLine>
__device__ Part part_of(const szg_tile &tile, const szg_grid &grid, uint32_t i) {
  if (kIsLine) return {0, 0, tile.value_count};
  bool const has_planes = grid.tile_z > 1;
  szg_sampled_slices const slices = szg_sampled_slices_of(
      has_planes ? grid.tile_z : grid.tile_y, has_planes ? tile.z_extent : tile.y_extent, i);
  uint32_t const before = slices.first > 0;
  return {(slices.first - before) * tile.plane_values, slices.first * tile.plane_values,
          slices.end * tile.plane_values};
}

/* The points of a part. In each step a thread takes one, and its neighbours take neighbours. */
template <class A, bool kIsLine>
struct PartMemory {
  static constexpr uint32_t kMostValues =
      kIsLine ? (uint32_t)SZG_TILE_VALUES
              : SZG_TILE_VALUES / SZG_SAMPLE_QUARTERS + SZG_TILE_3D_Y * SZG_TILE_3D_X;
  static constexpr uint32_t kSteps =
      (kMostValues + ChoicePolicy::kThreads - 1) / ChoicePolicy::kThreads;
  typename A::Point points[kSteps * ChoicePolicy::kThreads];
  /* One bit per value; values without a point have placeholders. */
  uint32_t has_point[kSteps * ChoicePolicy::kThreads / 32];
};
static_assert(SZG_TILE_3D_Y * SZG_TILE_3D_X >= SZG_TILE_2D_X, "planes are larger than rows");

__device__ inline uint32_t index_of_step(uint32_t step) {
  return step * ChoicePolicy::kThreads + threadIdx.x;
}

struct Place {
  uint32_t x, y, z;
};

__device__ inline Place place_in_tile(const szg_tile &tile, uint32_t index) {
  uint32_t const row = index / tile.x_extent;
  uint32_t const z = row / tile.y_extent;
  return {index - row * tile.x_extent, row - z * tile.y_extent, z};
}

/* The last point before a value in its row; 0 if there is none. */
template <class Memory>
__device__ auto point_before(const Memory &memory, uint32_t index, uint32_t row_start) {
  uint32_t const first_word = row_start / 32;
  uint32_t word = index / 32;
  uint32_t candidates = memory.has_point[word] & ((1u << index % 32) - 1);
  while (word > first_word && candidates == 0) candidates = memory.has_point[--word];
  if (word == first_word) candidates &= kAllLanes << row_start % 32;
  return candidates ? memory.points[word * 32 + 31 - __clz((int)candidates)] : 0;
}

/* Takes the part's points and the places of this thread's points. The block may read them. */
template <class A, bool kIsLine>
__device__ void take_points(const szg_quantizer &k, const szg_tile &tile, const Part &part,
                            const typename A::Value *frame_values, PartMemory<A, kIsLine> *memory,
                            Place (&places)[PartMemory<A, kIsLine>::kSteps]) {
  constexpr uint32_t kSteps = PartMemory<A, kIsLine>::kSteps;
  uint32_t const value_count = part.end - part.first;
  typename A::Value values[kSteps];
#pragma unroll
  for (uint32_t step = 0; step < kSteps; step++) {
    uint32_t const index = index_of_step(step);
    Place const at = places[step] = place_in_tile(tile, part.first + index);
    uint64_t const offset = at.z * tile.z_stride + at.y * tile.y_stride + at.x;
    values[step] = index < value_count ? frame_values[tile.first_value + offset] : 0;
  }
  bool lacks_any = false;
#pragma unroll
  for (uint32_t step = 0; step < kSteps; step++) {
    uint32_t const index = index_of_step(step);
    bool const on_lattice = A::lattice(k, values[step], &memory->points[index]);
    uint32_t const has_point = __ballot_sync(kAllLanes, on_lattice && !A::is_fill(k, values[step]));
    if (threadIdx.x % 32 == 0) memory->has_point[index / 32] = has_point;
    lacks_any |= has_point != kAllLanes;
  }
  /* Points are complete before placeholders are taken from them. */
  if (!__syncthreads_or(lacks_any)) return;
#pragma unroll
  for (uint32_t step = 0; step < kSteps; step++) {
    uint32_t const index = index_of_step(step);
    if (index < value_count && !(memory->has_point[index / 32] >> index % 32 & 1))
      memory->points[index] = point_before(*memory, index, index - places[step].x);
  }
  __syncthreads(); /* placeholders are complete before deltas are taken */
}

/* ---- deltas ---- */

/* A value's point and those before it: points[axes] is one step back along each of the axes; 0 if
 * that is outside the tile. */
template <class A>
struct PointNeighbours {
  typedef typename A::Unsigned Unsigned;
  Unsigned points[SZG_AXES_ALL + 1];
  uint32_t inside; /* axes along which there is a point before */

  __device__ PointNeighbours(const szg_tile &tile, const typename A::Point *here, const Place &at) {
    inside =
        (at.x > 0 ? SZG_AXIS_X : 0) | (at.y > 0 ? SZG_AXIS_Y : 0) | (at.z > 0 ? SZG_AXIS_Z : 0);
#pragma unroll
    for (uint32_t axes = 0; axes <= SZG_AXES_ALL; axes++) {
      uint32_t const back = (axes & SZG_AXIS_X ? 1 : 0) + (axes & SZG_AXIS_Y ? tile.x_extent : 0) +
                            (axes & SZG_AXIS_Z ? tile.x_extent * tile.y_extent : 0);
      points[axes] = (axes & inside) == axes ? (Unsigned) * (here - back) : 0;
    }
  }

  /* The alternating sum over all subsets of the axes. */
  __device__ Unsigned difference(uint32_t axes) const {
    Unsigned sum = points[0];
#pragma unroll
    for (uint32_t subset = 1; subset <= SZG_AXES_ALL; subset++) {
      bool const is_odd = (subset ^ subset >> 1 ^ subset >> 2) & 1;
      if ((subset & axes) == subset) sum += is_odd ? 0 - points[subset] : points[subset];
    }
    return sum;
  }

  /* A value without a point before it along any axis of the set is differenced along all axes. */
  __device__ int64_t delta_along(uint32_t axes) const {
    return (typename A::Point)(inside & axes ? difference(axes) : difference(SZG_AXES_ALL));
  }
};

} // namespace szg

#endif
