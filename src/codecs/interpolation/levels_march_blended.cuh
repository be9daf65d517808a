/* levels_march_blended.cuh - a warp predicts a tile of a level of a blended frame plane by plane.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The march of levels_march.cuh, with its steps and columns. Points with several odd axes need no
 * more than the nearest points around them, so of earlier planes their columns stay in registers as
 * they are; what a neighbouring column contributes is one sum, which comes by one shuffle. Where
 * the box has no next row, plane or column, the one before stands for it.
 *
 * Points with one odd axis have linear, cubic or quintic stencils, by weights. A quintic one
 * reaches one plane further than the copies, which is loaded for it.
 *
 * Lanes, rows and planes that a tile has not are worked on like the others, as in
 * levels_march_edge.cuh.
 */
#ifndef SZG_LEVELS_MARCH_BLENDED_CUH
#define SZG_LEVELS_MARCH_BLENDED_CUH

#include <type_traits>

#include "codecs/interpolation/levels_march_edge.cuh"

namespace szg {

/* kIsFull: the tile is. */
template <bool kIsFull, class Step>
struct BlendedMarch : MarchCopies<2, Step> {
  typedef MarchCopies<2, Step> Copies;
  using Copies::is_first_z, Copies::is_first_y, Copies::planes_left, Copies::rows_left,
      Copies::lane;
  using Copies::kCodeBytes, Copies::kIsInner, Copies::kPairs, Copies::kRows;
  using Copies::level, Copies::step, Copies::coarse, Copies::coarse_plane_bytes, Copies::coarse_row;
  static constexpr int kColumns = 18, kOddX = 5, kOddY = 10, kOddXY = 14, kKnown = 5;

  bool has_x;             /* this lane's odd points have a next neighbour along x in the tile */
  int planes, odd_planes; /* of the tile */
  uint32_t tile_x;        /* its first point in the coarser grid */
  uint32_t along_x[6];    /* weights of this lane's points with odd x */
  szg_single_taps of_y, of_z;

  /* Values of columns in the last planes, the latest first; of the third and fourth, only those of
   * class 0. */
  uint32_t last[kColumns], second[kColumns], third[kKnown], fourth[kKnown];

  __device__ __forceinline__ BlendedMarch(const WarpLevel &level_, const WarpTile &tile,
                                          const uint32_t *grid, uint32_t *stage_memory, Step &step_)
      : Copies(level_, tile, grid, stage_memory, step_),
        has_x(kIsFull || 2 * lane + 2 < tile.x_extent),
        planes(kIsFull ? kPairs : (int)(tile.z_extent + 1) / 2),
        odd_planes(kIsFull ? kPairs : (int)tile.z_extent / 2),
        tile_x(tile.x / 2),
        of_y(level.taps),
        of_z(level.taps) {
    if (!kIsInner && level.coarse_y < 3) of_y = szg_single_taps_of_two(level.taps);
    if (!kIsInner && level.coarse_z < 3) of_z = szg_single_taps_of_two(level.taps);
    szg_single_weights(level.taps, tile_x + lane, level.coarse_x, along_x);
    if (Step::kPins)
#pragma unroll
      for (int k = 0; k < 6; k++) asm volatile("" : "+r"(along_x[k]));
#pragma unroll
    for (int j = 0; j < kColumns; j++) last[j] = second[j] = 0;
#pragma unroll
    for (int j = 0; j < kKnown; j++) third[j] = fourth[j] = 0;
  }

  /* ---- the coarser grid ---- */

  /* This lane's points of class 0 in plane `plane` of the tile, which the grid has. */
  __device__ __forceinline__ void load_plane(int plane, uint32_t *known) const {
    const uint32_t *const at = coarse + plane * (int64_t)(coarse_plane_bytes / 4) +
                               (kIsFull ? lane : min(tile_x + lane, coarse_row - 1) - tile_x);
#pragma unroll
    for (int j = 0; j < kKnown; j++)
      if (kIsInner || (uint32_t)j < rows_left) known[j] = at[j * coarse_row];
  }

  /* ---- ends ---- */

  __device__ __forceinline__ bool is_last_z() const {
    return !kIsInner && planes_left <= (uint32_t)kPairs;
  }
  /* Whether odd row j has no next neighbour. */
  __device__ __forceinline__ bool is_end_row(int j) const {
    return !kIsInner && (kIsFull ? j == 3 && rows_left == 4 : rows_left == (uint32_t)j + 1);
  }
  /* The row behind the box's last one. */
  __device__ __forceinline__ void mirror_row(uint32_t *rows) const {
#pragma unroll
    for (int j = kIsFull ? 3 : 0; j < 4; j++)
      if (is_end_row(j)) rows[j + 1] = rows[j];
  }
  /* Rows -2 to 6 of a plane of the coarser grid. */
  __device__ __forceinline__ void set_ghost_rows(uint32_t *rows) const {
    if (kIsInner) return;
    if (is_first_y) {
      rows[1] = szg_ghost(rows[4], rows[3], rows[2]);
      rows[0] = szg_ghost(rows[3], rows[2], rows[1]);
    }
#pragma unroll
    for (int row = kIsFull ? 4 : 1; row < 7; row++)
      if ((uint32_t)row >= rows_left)
        rows[2 + row] = szg_ghost(rows[row - 1], rows[row], rows[row + 1]);
  }

  /* ---- predictions ---- */

  __device__ __forceinline__ uint32_t clamp(uint32_t prediction) const {
    return clamp_prediction<kCodeBytes>(prediction);
  }
  __device__ __forceinline__ uint32_t predict_single(uint32_t sum) const {
    return clamp((uint32_t)((int32_t)(sum + level.taps.half) >> level.taps.shift));
  }
  /* Without a next neighbour; before: the one before `at`, if has_before. */
  __device__ __forceinline__ uint32_t sum_behind(uint32_t at, uint32_t before,
                                                 bool has_before) const {
    return level.taps.parts * (has_before ? szg_sum_beyond(at, before) : szg_sum_one(at));
  }
  /* The half after, along x. */
  __device__ __forceinline__ uint32_t next_half(uint32_t half) const {
    uint32_t const next = __shfl_down_sync(kAllLanes, half, 1); /* lane 31 gets its own */
    return has_x ? next : half;
  }
  /* one: the sum of the two points that are not along x. */
  __device__ __forceinline__ uint32_t blend_beside_x(uint32_t half, uint32_t one) const {
    return clamp(szg_blend_two(half, next_half(half), one));
  }

  /* ---- planes ---- */

  /* Even plane i, or the far plane, which is not coded. */
  __device__ __forceinline__ void settle_even(int i, bool is_coded, const uint32_t *words,
                                              uint32_t *now) {
    const uint32_t *const known = words + kMarchLead + lane;
    uint32_t rows[kRows];
#pragma unroll
    for (int j = 0; j < (int)kRows; j++) rows[j] = known[j * kMarchRow];
    set_ghost_rows(rows);
    step.load_rows(false, false);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      const uint32_t *const at = known + (j + 2) * kMarchRow;
      uint32_t sum = along_x[2] * rows[j + 2] + along_x[3] * at[1];
      sum += along_x[1] * at[-1] + along_x[4] * at[2];
      sum += along_x[0] * at[-2] + along_x[5] * at[3];
      now[j] = rows[j + 2];
      now[kOddX + j] = predict_single(sum);
      if (j < 4) now[kOddX + j] = step.template settle<1>(j, now[kOddX + j], is_coded);
    }
    mirror_row(now);
    mirror_row(now + kOddX);
    step.template end_class<1>(i, is_coded);
    step.load_rows(false, true);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint32_t sum = szg_single_sum(of_y, rows[j], rows[j + 1], rows[j + 2], rows[j + 3],
                                    rows[j + 4], rows[j + 5]);
      if (is_end_row(j)) sum = sum_behind(rows[j + 2], rows[j + 1], j > 0 || !is_first_y);
      now[kOddY + j] = step.template settle<2>(j, predict_single(sum), is_coded);
    }
    step.template end_class<2>(i, is_coded);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint32_t const half = szg_half_of_two(now[kOddY + j], now[j] + now[j + 1]);
      now[kOddXY + j] = step.template settle<3>(
          j, blend_beside_x(half, now[kOddX + j] + now[kOddX + j + 1]), is_coded);
    }
    step.template end_class<3>(i, is_coded);
    if (!is_coded) return;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      step.store(2 * i, 2 * j, now[j], now[kOddX + j]);
      step.store(2 * i, 2 * j + 1, now[kOddY + j], now[kOddXY + j]);
    }
  }

  /* Step i: class 0 of a plane that is not settled, where stencils along z may reach it. */
  __device__ __forceinline__ void find_behind(int i, const uint32_t *words, uint32_t *now) const {
    const uint32_t *const known = words + kMarchLead + lane;
    bool const is_known = kIsInner || (uint32_t)i < planes_left;
#pragma unroll
    for (int j = 0; j < kColumns; j++) {
      now[j] = 0;
      if (j < kKnown)
        now[j] = is_known ? known[(j + 2) * kMarchRow] : szg_ghost(third[j], second[j], last[j]);
    }
  }
  /* The points of class 0 in the plane after plane i, in two parts: loads begin long before the
   * points are needed. */
  __device__ __forceinline__ bool has_next(int i) const {
    return kIsInner || (uint32_t)i + 1 < planes_left;
  }
  __device__ __forceinline__ void begin_next(int i, uint32_t *next) const {
#pragma unroll
    for (int j = 0; j < kKnown; j++) next[j] = 0;
    if (i >= 2 && level.taps.outer != 0 && has_next(i)) load_plane(i + 1, next);
  }
  __device__ __forceinline__ void end_next(int i, const uint32_t *now, uint32_t *next) const {
    if (has_next(i)) return;
#pragma unroll
    for (int j = 0; j < kKnown; j++) next[j] = szg_ghost(second[j], last[j], now[j]);
  }
  /* Step 2 of a field's first tile: the planes before its first one. */
  __device__ __forceinline__ void set_ghost_planes(const uint32_t *now) {
#pragma unroll
    for (int j = 0; j < kKnown; j++) {
      third[j] = szg_ghost(now[j], last[j], second[j]);
      fourth[j] = szg_ghost(last[j], second[j], third[j]);
    }
  }

  /* The odd plane `pair` of the tile, between the last two planes. now, next: class 0 of the planes
   * after these. is_behind: the later one of the two is not there. */
  __device__ __forceinline__ void settle_odd(int pair, bool is_behind, const uint32_t *now,
                                             const uint32_t *next) {
    uint32_t odd_z[5], odd_xz[5], odd_yz[4], odd_xyz[4], halves[5], sums[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; j++) sums[j] = second[j] + (is_behind ? second[j] : last[j]);
    step.load_rows(true, false);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      uint32_t sum = szg_single_sum(of_z, fourth[j], third[j], second[j], last[j], now[j], next[j]);
      if (is_behind) sum = sum_behind(second[j], third[j], pair > 0 || !is_first_z);
      odd_z[j] = predict_single(sum);
      if (j < 4) odd_z[j] = step.template settle<4>(j, odd_z[j], true);
    }
    mirror_row(odd_z);
    step.template end_class<4>(pair, true);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      halves[j] = szg_half_of_two(odd_z[j], sums[j]);
      odd_xz[j] = blend_beside_x(halves[j], sums[kOddX + j]);
      if (j < 4) odd_xz[j] = step.template settle<5>(j, odd_xz[j], true);
    }
    mirror_row(odd_xz);
    step.template end_class<5>(pair, true);
    step.load_rows(true, true);
#pragma unroll
    for (int j = 0; j < 4; j++)
      odd_yz[j] = step.template settle<6>(
          j, clamp(szg_blend_two(halves[j], halves[j + 1], sums[kOddY + j])), true);
    step.template end_class<6>(pair, true);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint32_t const half = szg_half_of_three(odd_yz[j], odd_z[j] + odd_z[j + 1] + sums[kOddY + j],
                                              sums[j] + sums[j + 1]);
      uint32_t const predicted =
          clamp(szg_blend_three(half, next_half(half), odd_xz[j] + odd_xz[j + 1] + sums[kOddXY + j],
                                sums[kOddX + j] + sums[kOddX + j + 1]));
      odd_xyz[j] = step.template settle<7>(j, predicted, true);
    }
    step.template end_class<7>(pair, true);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      step.store(2 * pair + 1, 2 * j, odd_z[j], odd_xz[j]);
      step.store(2 * pair + 1, 2 * j + 1, odd_yz[j], odd_xyz[j]);
    }
  }

  /* After begin. The whole warp calls. */
  __device__ __forceinline__ void run() {
    if (!is_first_z) {
      load_plane(-1, last);
      load_plane(-2, second);
    }
    Copies::run_steps(odd_planes > 0 ? odd_planes + 1 : 0, [&](int i, const uint32_t *words) {
      uint32_t now[kColumns], next[kKnown];
      bool const is_behind = i >= planes && is_last_z();
      begin_next(i, next);
      if (i <= kPairs && !is_behind)
        settle_even(i, i < planes, words, now);
      else
        find_behind(i, words, now);
      if (i >= 2) {
        end_next(i, now, next);
        if (i == 2 && is_first_z) set_ghost_planes(now);
        settle_odd(i - 2, is_behind && i > planes, now, next);
      }
#pragma unroll
      for (int j = 0; j < kColumns; j++) {
        if (j < kKnown) fourth[j] = third[j], third[j] = second[j];
        second[j] = last[j], last[j] = now[j];
      }
    });
  }
};

__host__ __device__ constexpr uint32_t reach_of(LevelsForm form) {
  return form == LevelsForm::kBlended ? 2 : 1;
}

/* The marches of a form: tiles that are full, and any. */
template <LevelsForm kForm, class Step>
using FullMarchOf = std::conditional_t<kForm == LevelsForm::kBlended, BlendedMarch<true, Step>,
                                       FullMarch<kForm == LevelsForm::kPlain, Step>>;
template <LevelsForm kForm, class Step>
using EdgeMarchOf = std::conditional_t<kForm == LevelsForm::kBlended, BlendedMarch<false, Step>,
                                       EdgeMarch<kForm == LevelsForm::kPlain, Step>>;

} // namespace szg

#endif
