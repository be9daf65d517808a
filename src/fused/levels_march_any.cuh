/* levels_march_any.cuh - a warp predicts a tile of a level plane by plane: any tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As levels_march.cuh, whose columns and steps these are, for tiles that are cut off or have little
 * behind them, and for values that do not suit the other form. What is not there is read from the
 * next point that is, and has the weight 0. Of a Step this needs also
 *   begin_any(i)                              instead of begin
 *   settle<kClass>(j, predicted, exists)      exists: the point is in the tile
 *   end_absent(pair, is_odd)                  instead of end_class, if the tile lacks the plane
 *   store_any(z, y, even, odd, has_even, has_odd)
 * and neither slots nor copies. load_rows and end_class are called for planes that the tile has.
 */
#ifndef SZG_LEVELS_MARCH_ANY_CUH
#define SZG_LEVELS_MARCH_ANY_CUH

#include "fused/levels_warp.cuh"

namespace szg {

template <class Step>
struct AnyMarch {
  static constexpr uint32_t kCodeBytes = Step::kCodeBytes;
  static constexpr int kPairs = kTilePairs<kCodeBytes>;
  static constexpr int kColumns = 18, kOddX = 5, kOddY = 10, kOddXY = 14;

  const WarpLevel &level;
  const WarpTile &tile;
  Step &step;
  const uint32_t *box_grid; /* the coarser grid's box */
  uint32_t lane;
  uint32_t x, y, z;          /* of this lane's first even point in the coarser grid */
  uint32_t y_count, z_count; /* even rows and planes of the box */
  bool has_even, has_odd;    /* points along x */
  StencilWeights single_x;
  Neighbours along_x;
  StencilWeights box_x;

  /* Values of each column in the three planes before. */
  uint32_t third[kColumns], second[kColumns], last[kColumns];

  __device__ __forceinline__ AnyMarch(const WarpLevel &level_, const WarpTile &tile_,
                                      const uint32_t *grid, Step &step_)
      : level(level_),
        tile(tile_),
        step(step_),
        box_grid(grid + tile_.box * (uint64_t)level_.coarse_z * level_.coarse_plane()),
        lane(threadIdx.x % 32),
        x(tile_.x / 2 + lane),
        y(tile_.y / 2),
        z(tile_.z / 2),
        y_count((tile_.y_extent + 1) / 2 + (tile_.y + tile_.y_extent < level_.y_extent)),
        z_count((tile_.z_extent + 1) / 2 + (tile_.z + tile_.z_extent < level_.z_extent)),
        has_even(2 * lane < tile_.x_extent),
        has_odd(2 * lane + 1 < tile_.x_extent),
        single_x(single_weights(level_.is_linear, Neighbours(x, level_.coarse_x))),
        along_x(lane, (tile_.x_extent + 1) / 2),
        box_x(box_weights(level_.is_linear, along_x)) {
#pragma unroll
    for (int j = 0; j < kColumns; j++) third[j] = second[j] = last[j] = 0;
  }

  /* The coarser grid's value; coordinates may be off by some. */
  __device__ __forceinline__ uint32_t known(uint32_t z_at, int32_t y_at, int32_t x_at) const {
    uint32_t const row = (uint32_t)min(max(y_at, 0), (int32_t)level.coarse_y - 1);
    uint32_t const point = (uint32_t)min(max(x_at, 0), (int32_t)level.coarse_x - 1);
    return __ldg(box_grid + z_at * level.coarse_plane() + (uint64_t)row * level.coarse_row + point);
  }

  /* ---- sums ---- */

  __device__ __forceinline__ uint32_t sum_x(uint32_t value) const {
    uint32_t const left = __shfl_up_sync(kAllLanes, value, 1);
    uint32_t const right = __shfl_down_sync(kAllLanes, value, 1);
    uint32_t const after = __shfl_down_sync(kAllLanes, value, 2);
    return box_x.w[0] * left + box_x.w[1] * value + box_x.w[2] * right + box_x.w[3] * after;
  }
  /* rows: 5 even rows of the box, j from 0 to 3 */
  __device__ __forceinline__ uint32_t sum_y(const uint32_t *rows, int j) const {
    StencilWeights const k = box_weights(level.is_linear, Neighbours((uint32_t)j, y_count));
    uint32_t sum = k.w[1] * rows[j] + k.w[2] * rows[j + 1];
    if (j > 0) sum += k.w[0] * rows[j - 1];
    if (j < 3) sum += k.w[3] * rows[j + 2];
    return sum;
  }
  __device__ __forceinline__ uint32_t sum_z(const StencilWeights &k, const uint32_t *now,
                                            int column) const {
    return k.w[0] * third[column] + k.w[1] * second[column] + k.w[2] * last[column] +
           k.w[3] * now[column];
  }

  /* ---- predictions ---- */

  __device__ __forceinline__ uint32_t clamp(uint32_t prediction) const {
    return clamp_prediction<kCodeBytes>(prediction);
  }
  __device__ __forceinline__ uint32_t predict_single(uint32_t sum) const {
    return clamp(shift_down(sum + 8, 4));
  }
  __device__ __forceinline__ uint32_t predict(uint32_t odd, uint32_t both,
                                              const uint32_t (&sums)[3],
                                              const uint32_t (&before)[3]) const {
    return predict_any<kCodeBytes>(level, odd, both, sums, before);
  }
  __device__ __forceinline__ uint32_t both_along_y(int j) const {
    return (uint32_t)j + 1 < y_count ? SZG_AXIS_Y : 0u;
  }

  /* ---- planes ---- */

  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool has_plane) {
    bool const has_x = kClass & SZG_AXIS_X ? has_odd : has_even;
    bool const has_y = 2 * (uint32_t)j + (kClass >> 1 & 1) < tile.y_extent;
    return step.template settle<kClass>(j, predicted, has_plane && has_x && has_y);
  }
  __device__ __forceinline__ void store_rows(uint32_t plane, int j, uint32_t even, uint32_t odd_x,
                                             uint32_t odd_y, uint32_t odd_xy) {
    uint32_t const row = 2 * (uint32_t)j;
    if (row < tile.y_extent) step.store_any(plane, row, even, odd_x, has_even, has_odd);
    if (row + 1 < tile.y_extent) step.store_any(plane, row + 1, odd_y, odd_xy, has_even, has_odd);
  }

  /* Even plane i of the box. now[0..4] are set. */
  __device__ __forceinline__ void settle_even(uint32_t i, uint32_t *now) {
    bool const is_coded = 2 * i < tile.z_extent;
    uint32_t const z_at = z + i, both_x = along_x.has_both ? SZG_AXIS_X : 0u;
    uint32_t const row_before = known(z_at, (int32_t)y - 1, (int32_t)x);
    uint32_t const row_behind = known(z_at, (int32_t)y + 5, (int32_t)x);
    if (is_coded) step.load_rows(false, false);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      int32_t const row = (int32_t)y + j, at = (int32_t)x;
      uint32_t const sum = single_x.w[0] * known(z_at, row, at - 1) + single_x.w[1] * now[j] +
                           single_x.w[2] * known(z_at, row, at + 1) +
                           single_x.w[3] * known(z_at, row, at + 2);
      now[kOddX + j] = predict_single(sum);
      if (j < 4) now[kOddX + j] = settle<1>(j, now[kOddX + j], is_coded);
    }
    if (is_coded) step.template end_class<1>(i);
    if (is_coded) step.load_rows(false, true);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      StencilWeights const k =
          single_weights(level.is_linear, Neighbours(y + (uint32_t)j, level.coarse_y));
      uint32_t const before = j > 0 ? now[j > 0 ? j - 1 : 0] : row_before;
      uint32_t const behind = j < 3 ? now[j < 3 ? j + 2 : 0] : row_behind;
      uint32_t const sum =
          k.w[0] * before + k.w[1] * now[j] + k.w[2] * now[j + 1] + k.w[3] * behind;
      now[kOddY + j] = settle<2>(j, predict_single(sum), is_coded);
    }
    if (is_coded) step.template end_class<2>(i);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint32_t const sums[3] = {sum_x(now[kOddY + j]), sum_y(now + kOddX, j), 0};
      uint32_t const before[3] = {now[kOddY + j], now[kOddX + j], 0};
      uint32_t const both = both_x | both_along_y(j);
      now[kOddXY + j] =
          settle<3>(j, predict(SZG_AXIS_X | SZG_AXIS_Y, both, sums, before), is_coded);
    }
    if (!is_coded) return;
    step.template end_class<3>(i);
#pragma unroll
    for (int j = 0; j < 4; j++)
      store_rows(2 * i, j, now[j], now[kOddX + j], now[kOddY + j], now[kOddXY + j]);
  }

  /* The odd plane of a pair, with the even planes around it: third to `now`. */
  __device__ __forceinline__ void settle_odd(uint32_t planes, const uint32_t *now) {
    uint32_t odd_z[5], odd_xz[5], odd_yz[4], odd_xyz[4];
    StencilWeights const single_z =
        single_weights(level.is_linear, Neighbours(z + planes, level.coarse_z));
    Neighbours const along_z(planes, z_count);
    StencilWeights const box_z = box_weights(level.is_linear, along_z);
    uint32_t const both_x = along_x.has_both ? SZG_AXIS_X : 0u;
    uint32_t const both_z = along_z.has_both ? SZG_AXIS_Z : 0u;
    step.load_rows(true, false);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      odd_z[j] = predict_single(sum_z(single_z, now, j));
      if (j < 4) odd_z[j] = settle<4>(j, odd_z[j], true);
    }
    step.template end_class<4>(planes);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      uint32_t const sums[3] = {sum_x(odd_z[j]), 0, sum_z(box_z, now, kOddX + j)};
      uint32_t const before[3] = {odd_z[j], 0, second[kOddX + j]};
      odd_xz[j] = predict(SZG_AXIS_X | SZG_AXIS_Z, both_x | both_z, sums, before);
      if (j < 4) odd_xz[j] = settle<5>(j, odd_xz[j], true);
    }
    step.template end_class<5>(planes);
    step.load_rows(true, true);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint32_t const sums[3] = {0, sum_y(odd_z, j), sum_z(box_z, now, kOddY + j)};
      uint32_t const before[3] = {0, odd_z[j], second[kOddY + j]};
      uint32_t const both = both_along_y(j) | both_z;
      odd_yz[j] = settle<6>(j, predict(SZG_AXIS_Y | SZG_AXIS_Z, both, sums, before), true);
    }
    step.template end_class<6>(planes);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint32_t const sums[3] = {sum_x(odd_yz[j]), sum_y(odd_xz, j), sum_z(box_z, now, kOddXY + j)};
      uint32_t const before[3] = {odd_yz[j], odd_xz[j], second[kOddXY + j]};
      uint32_t const both = both_x | both_along_y(j) | both_z;
      odd_xyz[j] = settle<7>(j, predict(SZG_AXES_ALL, both, sums, before), true);
    }
    step.template end_class<7>(planes);
#pragma unroll
    for (int j = 0; j < 4; j++)
      store_rows(2 * planes + 1, j, odd_z[j], odd_xz[j], odd_yz[j], odd_xyz[j]);
  }

  /* The whole warp calls. */
  __device__ __forceinline__ void run() {
    if (z > 0) {
#pragma unroll
      for (int j = 0; j < 5; j++) last[j] = known(z - 1, (int32_t)y + j, (int32_t)x);
    }
#pragma unroll 1
    for (uint32_t i = 0; i <= kPairs + 1; i++) {
      uint32_t now[kColumns];
#pragma unroll
      for (int j = 0; j < kColumns; j++) now[j] = 0;
      step.begin_any((int)i);
      if (z + i < level.coarse_z) {
#pragma unroll
        for (int j = 0; j < 5; j++) now[j] = known(z + i, (int32_t)y + j, (int32_t)x);
      }
      if (i < z_count) settle_even(i, now);
      if (i < kPairs && 2 * i >= tile.z_extent) step.end_absent((int)i, false);
      if (i >= 2 && 2 * (i - 2) + 1 < tile.z_extent) settle_odd(i - 2, now);
      if (i >= 2 && 2 * (i - 2) + 1 >= tile.z_extent) step.end_absent((int)i - 2, true);
#pragma unroll
      for (int j = 0; j < kColumns; j++) {
        third[j] = second[j];
        second[j] = last[j];
        last[j] = now[j];
      }
    }
  }
};

} // namespace szg

#endif
