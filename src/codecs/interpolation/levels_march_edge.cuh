/* levels_march_edge.cuh - a warp predicts a tile of a level plane by plane: tiles that are cut off.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The march of levels_march.cuh, with its steps, for tiles of any extents. Lanes, rows and planes
 * that the tile has not are worked on like the others and hold anything; a Step leaves their points
 * out. What the tile has never depends on them: along x by weights of 0, along y by ghosts that
 * take the place of the first row that is not there, and along z because the march ends.
 *
 * Along x every tile ends without a next neighbour. Along y and z the last odd row and the last odd
 * plane have none if the tile's extent is even and the grid ends with it.
 */
#ifndef SZG_LEVELS_MARCH_EDGE_CUH
#define SZG_LEVELS_MARCH_EDGE_CUH

#include "codecs/interpolation/levels_march.cuh"

namespace szg {

template <bool kIsPlain, class Step>
struct EdgeMarch : FullMarch<kIsPlain, Step> {
  typedef FullMarch<kIsPlain, Step> Full;
  using Full::ghost, Full::is_linear, Full::clamp, Full::predict_single;
  using Full::is_first_y, Full::is_first_z, Full::planes_left, Full::rows_left;
  using Full::kCodeBytes, Full::kPairs, Full::kColumns, Full::kOddX, Full::kOddY, Full::kOddXY;
  using Full::pair, Full::triple, Full::xz_rounding, Full::yz_rounding;
  using Full::second_last, Full::third_last;
  using Full::step, Full::lane, Full::single_x, Full::last, Full::last_two, Full::last_three;
  using Full::sum_x, Full::sum_y, Full::sum_middle, Full::sum_z;
  using Full::xy, Full::xz, Full::yz, Full::xyz;

  bool has_x;                  /* this lane's odd points have a next neighbour along x */
  int even_planes, odd_planes; /* of the tile */

  __device__ __forceinline__ EdgeMarch(const WarpLevel &level_, const WarpTile &tile,
                                       const uint32_t *grid, uint32_t *stage_memory, Step &step_)
      : Full(level_, tile, grid, stage_memory, step_, (tile.x_extent + 1) / 2),
        has_x(2 * lane + 2 < tile.x_extent),
        even_planes((int)(tile.z_extent + 1) / 2),
        odd_planes((int)tile.z_extent / 2) {}

  /* ---- ends ---- */

  /* Whether the grid ends with the tile's planes. */
  __device__ __forceinline__ bool is_end_z() const { return planes_left <= kPairs; }
  /* Whether odd row j has no next neighbour. */
  __device__ __forceinline__ bool is_end_row(int j) const { return rows_left == (uint32_t)j + 1; }

  /* Rows -1 to 5 of a plane of the coarser grid. Those outside the grid are the nearest ones in it,
   * as they were copied, until they become ghosts. */
  __device__ __forceinline__ void set_ghost_rows(uint32_t *rows) const {
    if (rows_left <= 5) {
#pragma unroll
      for (int count = 1; count <= 5; count++) {
        if (rows_left != (uint32_t)count) continue;
        uint32_t *const end = rows + 1 + count;
        if (is_linear() || (count == 2 && is_first_y)) /* of two rows: the mean of both */
          end[0] = 2 * end[-1] - end[-2];
        else if (count > 1)
          end[0] = ghost(end[-3], end[-2], end[-1]);
        if (count < 5) end[1] = 9 * end[0] - 15 * end[-1] + 7 * end[-2];
      }
    }
    if (is_first_y) rows[0] = ghost(rows[3], rows[2], rows[1]);
  }
  /* The row of the box behind its last one. */
  __device__ __forceinline__ void set_ghost_row(uint32_t *rows) const {
    if (rows_left > 4) return;
    if (rows_left == 2) rows[2] = 2 * rows[1] - rows[0];
    if (rows_left == 3) rows[3] = ghost(rows[0], rows[1], rows[2]);
    if (rows_left == 4) rows[4] = ghost(rows[1], rows[2], rows[3]);
  }

  /* ---- predictions ---- */

  /* From the sums along axes with both neighbours. */
  __device__ __forceinline__ uint32_t join_xy(uint32_t along_x, uint32_t along_y) const {
    if (kIsPlain) return pair.finish(along_x + along_y + pair.half);
    return pair.finish(xy[0] * along_x + (xy[1] * along_y + pair.half));
  }
  __device__ __forceinline__ uint32_t join_xz(uint32_t along_x, uint32_t along_z) const {
    if (kIsPlain) return pair.finish(along_x + along_z + pair.half);
    return xz_rounding.finish(xz[0] * along_x + (xz[1] * along_z + xz_rounding.half));
  }
  __device__ __forceinline__ uint32_t join_yz(uint32_t along_y, uint32_t along_z) const {
    if (kIsPlain) return shift_down(along_y + along_z + 16, 5);
    return yz_rounding.finish(yz[0] * along_y + (yz[1] * along_z + yz_rounding.half));
  }
  __device__ __forceinline__ uint32_t join_xyz(uint32_t along_x, uint32_t along_y,
                                               uint32_t along_z) const {
    if (kIsPlain) return triple.finish(along_x + along_y + along_z + triple.half);
    uint32_t const sum = xyz[0] * along_x + (xyz[1] * along_y + xyz[2] * along_z);
    return triple.finish(sum + triple.half);
  }
  static __device__ __forceinline__ uint32_t from_one(uint32_t sum) {
    return shift_down(sum + 8, 4);
  }
  /* Where no axis has both neighbours, from the sum of the values before. */
  static __device__ __forceinline__ uint32_t from_two(uint32_t before) {
    return shift_down(16 * before + 16, 5);
  }
  static __device__ __forceinline__ uint32_t from_three(uint32_t before) {
    return TripleRounding(3).finish(16 * before);
  }

  /* Each makes the predictions for rows that have a next neighbour and for the one that has not, so
   * that no branch is in the way. Row j of a plane: odd along x and y. */
  __device__ __forceinline__ uint32_t predict_xy_at(int j, uint32_t odd_y,
                                                    const uint32_t *odd_x) const {
    uint32_t const along_x = sum_x(odd_y, 0);
    uint32_t const inside = join_xy(along_x, sum_y(odd_x, j));
    uint32_t const at_end = has_x ? from_one(along_x) : from_two(odd_y + odd_x[j]);
    return clamp(is_end_row(j) ? at_end : inside);
  }
  /* Rows of an odd plane. kIsLast: no plane follows, and along_z is the value before. */
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_xz_at(uint32_t odd_z, uint32_t along_z) const {
    uint32_t const along_x = sum_x(odd_z, 0);
    if (!kIsLast) return clamp(join_xz(along_x, along_z));
    return clamp(has_x ? from_one(along_x) : from_two(odd_z + along_z));
  }
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_yz_at(int j, const uint32_t *odd_z,
                                                    uint32_t along_z) const {
    uint32_t const along_y = sum_y(odd_z, j);
    uint32_t const inside = kIsLast ? from_one(along_y) : join_yz(along_y, along_z);
    uint32_t const at_end = kIsLast ? from_two(odd_z[j] + along_z) : from_one(along_z);
    return clamp(is_end_row(j) ? at_end : inside);
  }
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_xyz_at(int j, uint32_t odd_yz, const uint32_t *odd_xz,
                                                     uint32_t along_z) const {
    uint32_t const along_x = sum_x(odd_yz, 0), along_y = sum_y(odd_xz, j);
    uint32_t const inside =
        kIsLast ? join_xy(along_x, along_y) : join_xyz(along_x, along_y, along_z);
    uint32_t at_end = join_xz(along_x, along_z);
    if (kIsLast) at_end = has_x ? from_one(along_x) : from_three(odd_yz + odd_xz[j] + along_z);
    return clamp(is_end_row(j) ? at_end : inside);
  }

  /* ---- planes ---- */

  /* Plane i behind the last one of the box, which has i planes. */
  __device__ __forceinline__ void set_behind(int i, const uint32_t *words, uint32_t *now) const {
    const uint32_t *const known = words + kMarchLead + lane;
    bool const is_known = (uint32_t)i < planes_left;
#pragma unroll
    for (int j = 0; j < kColumns; j++) {
      now[j] = ghost(third_last(j), second_last(j), last[j]);
      if (i == 2 && (j >= 5 || is_first_z)) now[j] = 2 * last[j] - second_last(j);
      if (j < 5 && is_known) now[j] = known[(j + 1) * kMarchRow];
    }
  }
  /* As those of the full march, at step i; a plane that is the first and last of the grid, too. */
  __device__ __forceinline__ void end_z(int i, uint32_t *sums) const {
    Full::end_z(sums);
#pragma unroll
    for (int j = 0; j < 5; j++)
      if (i == 2 && is_first_z) sums[j] = 16 * second_last(j);
  }
  __device__ __forceinline__ void end_linear_z(int i, uint32_t *sums) {
#pragma unroll
    for (int j = 0; j < kColumns; j++) {
      sums[j] = last_three[j];
      if (i != even_planes) continue;
      uint32_t const single =
          i == 1 && is_first_z ? 16 * last[j] : 24 * last[j] + last_two[j] - sums[j];
      last_three[j] = j < 5 ? single : last[j];
    }
  }

  /* The coarser grid's plane before the tile's first. */
  __device__ __forceinline__ void load_plane_before(const WarpTile &tile) {
    uint32_t const x = tile.x / 2, point = min(x + lane, Full::coarse_row - 1) - x;
    const uint32_t *const before = Full::coarse - Full::coarse_plane_bytes / 4 + point;
#pragma unroll
    for (int j = 0; j < 5; j++) {
      if ((uint32_t)j < rows_left) last[j] = before[j * Full::coarse_row];
      if (is_linear()) last_two[j] = 8 * last[j]; /* for a tile with one even plane */
    }
  }

  /* The whole warp calls. Shared memory may hold anything before, and does after. */
  __device__ __forceinline__ void run(const WarpTile &tile) {
    int const last_step = odd_planes > 0 ? odd_planes + 1 : 0;
    for (int i = 0; i < Step::kSlots - 1; i++) Full::copy(i);
    step.start(Full::stage);
    if (!is_first_z) load_plane_before(tile);
#pragma unroll 1
    for (int i = 0; i <= last_step; i++) {
      uint32_t *const words = Full::slot(i);
      await_copies<Step::kSlots - 2 + Step::kLateGroups>();
      __syncwarp(); /* what all lanes have copied is there, and the slot before is free */
      Full::copy(i + Step::kSlots - 1);
      step.begin(i, words + kMarchPlaneWords);
      uint32_t now[kColumns], along_z[kColumns];
      bool const is_behind = i >= even_planes && is_end_z();
      bool const is_last = is_behind && i > even_planes;
      if (is_behind && is_linear()) {
        end_linear_z(i, along_z);
      } else if (is_last) {
        end_z(i, along_z);
      } else {
        if (i <= kPairs && !is_behind)
          Full::settle_even_as(*this, i, i < even_planes, words, now);
        else
          set_behind(i, words, now);
        sum_z(i, now, along_z);
      }
      if (is_last)
        Full::template settle_odd_as<true>(*this, i - 2, along_z);
      else if (i >= 2)
        Full::template settle_odd_as<false>(*this, i - 2, along_z);
    }
    await_copies<0>();
    __syncwarp(); /* nobody needs the stage any more */
  }
};

} // namespace szg

#endif
