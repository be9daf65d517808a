/* levels_sample_known.cuh - what a sampled tile needs of the coarser grid, from the field's values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_SAMPLE_KNOWN_CUH
#define SZG_LEVELS_SAMPLE_KNOWN_CUH

#include "codecs/interpolation/levels_base.cuh"
#include "codecs/interpolation/levels_box.cuh"
#include "huffman/tokens_count.cuh"

namespace szg {

constexpr uint32_t kKnownRows = SZG_LEVELS_KNOWN_ROWS;
constexpr uint32_t kKnownPoints = SZG_LEVELS_ROW + 5; /* up to two before the row, three after */
constexpr uint32_t kKnownWords = (kKnownPoints + 31) / 32;
constexpr uint32_t kWarpCodes = kGroupPlaces;
constexpr uint32_t kLastRows = 8 * 4; /* of the last class, in a tile of several axes */

/* Stands for a point that has no lattice value. */
template <class A>
constexpr typename A::Unsigned kNoPoint = (typename A::Unsigned)1
                                          << (8 * sizeof(typename A::Unsigned) - 1);

/* What a block needs besides the rows of its box: in shared memory, or, if lattice values are wide,
 * in the scratch. */
template <class Unsigned>
struct SampleScratch {
  union {
    uint64_t first_values[kKnownRows];     /* of rows: where point 0 is, or would be */
    uint32_t has[kKnownRows][kKnownWords]; /* bit i: the value of point i has a lattice value */
  };
  uint8_t first_points[kKnownRows], end_points[kKnownRows]; /* that the grid has in rows */
  union {
    Unsigned last[kLastRows][SZG_LEVELS_ROW];         /* as in a box, of the last class */
    Unsigned codes[LevelsPolicy::kWarps][kWarpCodes]; /* of a group, in other tiles */
  };
  Unsigned known[kKnownRows][kKnownPoints]; /* last, since most frames do not need all rows */
};

/* A value, if it is there. */
template <class A>
__device__ __forceinline__ typename A::Value value_or_none(bool is_there,
                                                           const typename A::Value *at) {
  return is_there ? __ldg(at) : (typename A::Value)__int_as_float(0x7fc00000);
}

/* Rows of 32 points, with as many around them as stencils need; in 1-D, the tile is one row after
 * the other. */
template <class A>
struct KnownSample {
  typedef typename A::Unsigned Unsigned;

  const LevelsGrid &job;
  const szg_levels_lattice &lattice;
  const szg_levels_tile &tile;
  SampleScratch<Unsigned> *const scratch;
  AxisCounts const z, y;
  uint32_t const reach;
  int32_t const before_z, before_y; /* rows before the tile's first */
  uint32_t const plane_rows, row_count;

  __device__ KnownSample(const LevelsGrid &job_, const szg_levels_lattice &lattice_,
                         const szg_levels_tile &tile_, SampleScratch<Unsigned> *scratch_)
      : job(job_),
        lattice(lattice_),
        tile(tile_),
        scratch(scratch_),
        z(tile_.z, tile_.z_extent, job_.stage.z_extent),
        y(tile_.y, tile_.y_extent, job_.stage.y_extent),
        reach(szg_levels_reach(job_.is_quintic)),
        before_z(job_.axis_count == 3 ? (int32_t)reach : 0),
        before_y(job_.axis_count >= 2 ? (int32_t)reach : 0),
        plane_rows(job_.axis_count == 1 ? job_.stage.tile_x / (2 * SZG_LEVELS_ROW)
                                        : level_rows(job_.stage) + 1 + 2 * reach),
        row_count(plane_rows *
                  (job_.axis_count == 3 ? level_planes(job_.stage) + 1 + 2 * reach : 1)) {}

  /* As in KnownGrid. */
  __device__ __forceinline__ Unsigned at(int32_t z_at, int32_t y_at, int32_t i, int32_t n) const {
    uint32_t const row =
        (uint32_t)(z_at + before_z) * plane_rows + (uint32_t)(y_at + before_y + i / SZG_LEVELS_ROW);
    return scratch->known[row][i % SZG_LEVELS_ROW + n + (int32_t)reach];
  }

  /* Finds where rows are. The whole block calls, and synchronizes before it goes on. */
  __device__ void find_rows() const {
    static_assert(kKnownRows <= LevelsPolicy::kThreads, "a thread finds a row");
    uint32_t const row = threadIdx.x;
    if (row >= row_count) return;
    Row const found = row_of(row);
    uint64_t const there =
        job.coarse_x - (found.first_point + reach); /* from the tile's first on */
    scratch->first_values[row] = found.first_value + 2 * found.first_point * job.x_stride;
    scratch->first_points[row] = found.first_point + reach == 0 ? (uint8_t)reach : 0;
    scratch->end_points[row] =
        found.is_needed ? (uint8_t)(reach + szg_lesser_u64(there, SZG_LEVELS_ROW + 1 + reach)) : 0;
  }

  /* Estimates the points. The whole block calls. */
  __device__ void estimate(const UnitRule &unit, const typename A::Value *values,
                           BridgedRows<kKnownRows> *bridged) const {
    constexpr uint32_t kAhead = sizeof(typename A::Value) == 4 ? 6 : 3;
    bool any_none = false;
    for (uint32_t first = threadIdx.x; first < row_count * kKnownPoints;
         first += LevelsPolicy::kThreads * kAhead) {
      typename A::Value x[kAhead];
      bool is_point[kAhead];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++)
        x[k] = load(first + k * LevelsPolicy::kThreads, values, &is_point[k]);
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++)
        any_none |= settle(unit, first + k * LevelsPolicy::kThreads, x[k], is_point[k]);
    }
    if (!__syncthreads_or(any_none)) return; /* points are there */
    bridge(bridged);
    __syncthreads(); /* stand-ins, too */
  }

 private:
  struct Row {
    bool is_needed;
    uint64_t first_value; /* of the grid's first point of the row, if it is in the grid */
    uint64_t first_point; /* along x; may be before the first */
  };

  __device__ __forceinline__ Row row_of(uint32_t row) const {
    Row found;
    if (job.axis_count == 1) {
      found.is_needed = row * 2 * SZG_LEVELS_ROW < tile.x_extent;
      found.first_point = tile.x / 2 + row * SZG_LEVELS_ROW - reach;
      found.first_value = tile.box * job.box_stride;
    } else {
      int32_t const z_at = (int32_t)(row / plane_rows) - before_z;
      int32_t const y_at = (int32_t)(row % plane_rows) - before_y;
      uint64_t const grid_z = tile.z / 2 + (uint64_t)(int64_t)z_at; /* wraps before the first */
      uint64_t const grid_y = tile.y / 2 + (uint64_t)(int64_t)y_at;
      bool const is_beside_z = z_at < 0 || z_at >= (int32_t)z.in_box;
      bool const is_beside_y = y_at < 0 || y_at >= (int32_t)y.in_box;
      found.is_needed = grid_z < job.coarse_z && grid_y < job.coarse_y &&
                        z_at <= (int32_t)(z.odd + reach) && y_at <= (int32_t)(y.odd + reach) &&
                        !(is_beside_z && is_beside_y);
      found.first_point = tile.x / 2 - reach;
      found.first_value =
          tile.box * job.box_stride + 2 * (grid_z * job.z_stride + grid_y * job.y_stride);
    }
    return found;
  }
  /* Whether the grid has the point. */
  __device__ __forceinline__ bool has_point(uint32_t row, uint32_t i) const {
    return i >= scratch->first_points[row] && i < scratch->end_points[row];
  }

  /* Value n of all rows. is_point: gets whether the grid has the point. */
  __device__ __forceinline__ typename A::Value load(uint32_t n, const typename A::Value *values,
                                                    bool *is_point) const {
    uint32_t const row = n / kKnownPoints, i = n % kKnownPoints;
    *is_point = row < row_count && has_point(row, i);
    uint64_t const first = row < row_count ? scratch->first_values[row] : 0;
    uint64_t const index = first + (uint64_t)i * (2 * (uint32_t)job.x_stride);
    bool const is_virtual = job.has_virtual && index >= job.value_count;
    return value_or_none<A>(*is_point && !is_virtual, values + index);
  }
  /* Notes point n of all rows. Whether it is one without a lattice value. */
  __device__ __forceinline__ bool settle(const UnitRule &unit, uint32_t n, typename A::Value x,
                                         bool is_point) const {
    Unsigned multiple;
    bool const has = units_of<A>(lattice, unit, x, 0, &multiple);
    if (n < row_count * kKnownPoints)
      scratch->known[0][n] = is_point && !has ? kNoPoint<A> : multiple * unit.size;
    return is_point && !has;
  }

  /* Finds stand-ins for points without a lattice value. The whole block calls. */
  __device__ void bridge(BridgedRows<kKnownRows> *bridged) const {
    uint32_t const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (uint32_t n = warp; n < row_count * kKnownWords; n += LevelsPolicy::kWarps) {
      uint32_t const row = n / kKnownWords, i = n % kKnownWords * 32 + lane;
      bool const has = has_point(row, i) && scratch->known[row][i] != kNoPoint<A>;
      uint32_t const has_it = __ballot_sync(kAllLanes, has);
      if (lane == 0) scratch->has[row][n % kKnownWords] = has_it;
    }
    __syncthreads(); /* it is known which points have values */
    bridged->find_filled(scratch->has[0], row_count, kKnownWords);
    __syncthreads(); /* filled rows are known */
    for (uint32_t row = warp; row < row_count; row += LevelsPolicy::kWarps)
      for (uint32_t i = lane; i < kKnownPoints; i += 32) {
        if (scratch->has[row][i / 32] >> i % 32 & 1 || !has_point(row, i)) continue;
        typedef typename A::Point Point;
        auto const value_at = [&](uint32_t from, uint32_t x) {
          return (Point)scratch->known[from][x];
        };
        bool const is_alone = job.axis_count == 1; /* rows of one axis have nothing of others */
        Point stand_in = 0;
        if (!is_alone || bridged->filled[row / 32] >> row % 32 & 1)
          stand_in =
              bridged->template stand_in<Point>(scratch->has[0], kKnownWords, row, i, value_at);
        scratch->known[row][i] = (Unsigned)stand_in;
      }
  }
};

} // namespace szg

#endif
