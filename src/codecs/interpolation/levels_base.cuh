/* levels_base.cuh - a tile of the base of a levels frame: multiples of the unit in shared memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile is a sequence of 128 pieces of rows, of 32 points; a warp has one at a time.
 */
#ifndef SZG_LEVELS_BASE_CUH
#define SZG_LEVELS_BASE_CUH

#include "codecs/interpolation/levels_bridge.cuh"
#include "codecs/interpolation/levels_halves_core.h"
#include "codecs/interpolation/levels_job.cuh"
#include "core/warp.cuh"

namespace szg {

constexpr uint32_t kBasePieces = SZG_LEVELS_BASE_PLACES / 32;
/* Rows have 4 points more than they need, so that the order of places, in which 8 rows alternate,
 * meets all banks of shared memory. */
constexpr uint32_t kBaseRowEnd = 4;
constexpr uint32_t kBaseRoom =
    SZG_LEVELS_BASE_PLACES + SZG_LEVELS_BASE_PLACES / SZG_TILE_3D_X * kBaseRowEnd;

/* Coordinates in a tile. */
struct BasePoint {
  uint32_t z, y, x;
};

template <class Unsigned>
struct BaseShared {
  /* q, or in halved bases R: [z][y][x] with rows of tile_x + kBaseRowEnd. */
  Unsigned multiples[kBaseRoom];
  Unsigned sums[kBasePieces];     /* of pieces */
  uint32_t has_none[kBasePieces]; /* bit l: the point of lane l has no lattice value */
  uint32_t has[kBasePieces];      /* bit l: it has one; not for points beyond the tile */
  BridgedRows<SZG_LEVELS_BASE_ROWS> rows;
  LevelsPlace place;
};

/* What the steps of a tile share. */
template <class A>
struct BaseTile {
  typedef typename A::Unsigned Unsigned;

  const LevelsGrid &job;
  BaseShared<Unsigned> *const shared;
  uint32_t const pieces_in_row;

  __device__ BaseTile(const LevelsGrid &job_, BaseShared<Unsigned> *shared_)
      : job(job_), shared(shared_), pieces_in_row(job_.stage.tile_x / 32) {}

  __device__ __forceinline__ BasePoint of_piece(uint32_t piece, uint32_t lane) const {
    uint32_t const row = piece / pieces_in_row;
    return {row / job.stage.tile_y, row % job.stage.tile_y, piece % pieces_in_row * 32 + lane};
  }
  __device__ __forceinline__ BasePoint of_place(uint32_t place) const {
    if (job.axis_count == 1) return {0, 0, place};
    uint32_t const column = place / 8, row = column / job.stage.tile_x * 8 + place % 8;
    return {row / job.stage.tile_y, row % job.stage.tile_y, column % job.stage.tile_x};
  }
  __device__ __forceinline__ uint32_t index_of(const BasePoint &at) const {
    return (at.z * job.stage.tile_y + at.y) * (job.stage.tile_x + kBaseRowEnd) + at.x;
  }
  __device__ __forceinline__ Unsigned &at(const BasePoint &point) const {
    return shared->multiples[index_of(point)];
  }
  __device__ __forceinline__ bool exists(const BasePoint &at) const {
    const szg_levels_tile &tile = shared->place.tile;
    return at.z < tile.z_extent && at.y < tile.y_extent && at.x < tile.x_extent;
  }

  /* The sum that is left of q at this point if one subtracts the code: over the sets of axes,
   * except the empty one, of q as far back. */
  __device__ __forceinline__ Unsigned sum_before(const BasePoint &point, uint32_t axes) const {
    Unsigned sum = 0;
#pragma unroll
    for (uint32_t back = 1; back < 8; back++) {
      uint32_t const x = back & 1, y = back >> 1 & 1, z = back >> 2;
      if (back & ~axes || x > point.x || y > point.y || z > point.z) continue;
      Unsigned const before = at({point.z - z, point.y - y, point.x - x});
      sum = (x + y + z) % 2 ? sum + before : sum - before;
    }
    return sum;
  }

  /* ---- values to multiples ---- */

  /* reader.code(z, y, x, 0, &multiple): false if the point has no lattice value. The whole block
   * calls. */
  template <class Reader>
  __device__ void find_multiples(const Reader &reader) const {
    bool any_none = false;
    for (uint32_t piece = threadIdx.x / 32; piece < kBasePieces; piece += LevelsPolicy::kWarps) {
      BasePoint const point = of_piece(piece, threadIdx.x % 32);
      Unsigned multiple = 0;
      bool const has_none = exists(point) && !reader.code(point.z, point.y, point.x, 0, &multiple);
      at(point) = multiple;
      uint32_t const none = __ballot_sync(kAllLanes, has_none);
      if (threadIdx.x % 32 == 0) shared->has_none[piece] = none;
      any_none |= none != 0;
    }
    fill_gaps(any_none);
  }

  /* Once all multiples are set: gives one to points without a lattice value. any_none: there are
   * some, and shared->has_none has them. The whole block calls. */
  __device__ void fill_gaps(bool any_none) const {
    if (!__syncthreads_or(any_none)) return; /* multiples are there */
    if (job.has_levels)
      bridge_none();
    else if (threadIdx.x < 32)
      fill_none();
    __syncthreads(); /* every point has a multiple */
  }

  /* The code of a place; 0 if it does not exist. */
  __device__ __forceinline__ Unsigned code_of(uint32_t place) const {
    BasePoint const point = of_place(place);
    if (!exists(point)) return 0;
    if (!job.is_halved) return at(point) - sum_before(point, job.base_axes);
    Unsigned const rest = at(point) - predict_half(point.x);
    return (Unsigned)job.unit.divide((typename A::Point)rest);
  }

  /* The lattice value of a point. unit: the stage's. */
  __device__ __forceinline__ Unsigned lattice_of(const BasePoint &point, uint32_t unit) const {
    return job.is_halved ? at(point) : at(point) * unit;
  }

  /* ---- halved bases ---- */

  __device__ __forceinline__ Unsigned predict_half(uint32_t x) const {
    return szg_predict_half(job.is_linear, (typename A::Point)1 << A::kLimitBits, shared->multiples,
                            x, shared->place.tile.x_extent);
  }
  /* Lattice values of all points, from coarse to fine: settle(x, prediction). The place is known;
   * the whole block calls. */
  template <class Settle>
  __device__ void settle_halves(Settle settle) const {
    uint32_t const extent = shared->place.tile.x_extent;
    if (threadIdx.x == 0) shared->multiples[0] = settle(0, (Unsigned)0);
    for (uint32_t h = SZG_MOST_HALF; h > 0; h /= 2) {
      __syncthreads(); /* multiples of 2 h are settled */
      for (uint32_t x = (2 * threadIdx.x + 1) * h; x < extent; x += 2 * LevelsPolicy::kThreads * h)
        shared->multiples[x] = settle(x, predict_half(x));
    }
    __syncthreads(); /* and so are all points */
  }

  /* With levels: stand-ins. The whole block calls. */
  __device__ void bridge_none() const {
    uint32_t const lane = threadIdx.x % 32;
    for (uint32_t i = threadIdx.x; i < kBasePieces; i += LevelsPolicy::kThreads) {
      BasePoint const first = of_piece(i, 0);
      uint32_t const left = exists(first) ? min(shared->place.tile.x_extent - first.x, 32u) : 0;
      shared->has[i] = left ? ~shared->has_none[i] & lanes_up_to(left - 1) : 0;
    }
    __syncthreads(); /* it is known which points have a multiple */
    shared->rows.find_filled(shared->has, kBasePieces / pieces_in_row, pieces_in_row);
    __syncthreads(); /* and which rows have some */
    for (uint32_t piece = threadIdx.x / 32; piece < kBasePieces; piece += LevelsPolicy::kWarps) {
      BasePoint const point = of_piece(piece, lane);
      if (!(shared->has_none[piece] >> lane & 1)) continue;
      at(point) = (Unsigned)shared->rows.template stand_in<typename A::Point>(
          shared->has, pieces_in_row, piece / pieces_in_row, point.x,
          [&](uint32_t row, uint32_t x) {
            return (typename A::Point)at({row / job.stage.tile_y, row % job.stage.tile_y, x});
          });
    }
  }

  /* Without: what makes their codes 0, in a piece of which the whole warp has a point each. Less
   * the sum along the other axes, such a point has what the one before it in its row has. *before:
   * that of the point before the piece. */
  __device__ __forceinline__ void fill_piece(uint32_t piece, Unsigned *before) const {
    uint32_t const lane = threadIdx.x % 32, none = shared->has_none[piece];
    bool const along_x = job.base_axes & SZG_AXIS_X;
    BasePoint const point = of_piece(piece, lane);
    Unsigned const others = sum_before(point, job.base_axes & ~(uint32_t)SZG_AXIS_X);
    Unsigned const rest = at(point) - others;
    uint32_t const up_to_here = ~none & lanes_up_to(lane);
    Unsigned const of_last = __shfl_sync(kAllLanes, rest, last_of(up_to_here));
    Unsigned const held = up_to_here ? of_last : *before;
    if (none >> lane & 1) at(point) = others + (along_x ? held : 0);
    *before = __shfl_sync(kAllLanes, held, 31);
    __syncwarp(); /* the next piece reads these */
  }
  /* In all pieces, by one warp: each may depend on the one before it. */
  __device__ void fill_none() const {
    Unsigned before = 0;
    for (uint32_t piece = 0; piece < kBasePieces; piece++) {
      bool const ends_row = (piece + 1) % pieces_in_row == 0;
      if (piece % pieces_in_row == 0) before = 0;
      if (ends_row && shared->has_none[piece] == 0) continue;
      fill_piece(piece, &before);
    }
  }

  /* ---- sums along the base axes ---- */

  __device__ void sum_along_x() const {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint32_t piece = warp; piece < kBasePieces; piece += LevelsPolicy::kWarps) {
      Unsigned &q = at(of_piece(piece, lane));
      q = sum_to_lane(q, lane);
      if (lane == 31) shared->sums[piece] = q;
    }
    if (pieces_in_row == 1) return;
    __syncthreads(); /* sums of pieces are there */
    for (uint32_t piece = warp; piece < kBasePieces; piece += LevelsPolicy::kWarps) {
      Unsigned before = 0;
      for (uint32_t i = piece - piece % pieces_in_row + lane; i < piece; i += 32)
        before += shared->sums[i];
      at(of_piece(piece, lane)) += warp_sum(before);
    }
  }
  /* Along an axis other than x: `count` rows, `pitch` apart, from row `first` on. */
  __device__ __forceinline__ void sum_rows(uint32_t first, uint32_t count, uint32_t pitch) const {
    Unsigned sum = 0;
    for (uint32_t i = 0; i < count; i++) {
      Unsigned &q = shared->multiples[first + i * pitch];
      q = sum += q;
    }
  }
  __device__ void sum_tile() const {
    const szg_levels_stage &stage = job.stage;
    uint32_t const pitch = stage.tile_x + kBaseRowEnd;
    if (job.base_axes & SZG_AXIS_X) {
      sum_along_x();
      __syncthreads(); /* rows are summed */
    }
    if (job.base_axes & SZG_AXIS_Y) {
      for (uint32_t i = threadIdx.x; i < stage.tile_z * stage.tile_x; i += LevelsPolicy::kThreads)
        sum_rows(index_of({i / stage.tile_x, 0, i % stage.tile_x}), stage.tile_y, pitch);
      __syncthreads(); /* planes are */
    }
    if (job.base_axes & SZG_AXIS_Z) {
      for (uint32_t i = threadIdx.x; i < stage.tile_y * stage.tile_x; i += LevelsPolicy::kThreads)
        sum_rows(index_of({0, i / stage.tile_x, i % stage.tile_x}), stage.tile_z,
                 stage.tile_y * pitch);
      __syncthreads(); /* and the tile */
    }
  }
};

} // namespace szg

#endif
