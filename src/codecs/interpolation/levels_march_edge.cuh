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
  using Full::clamp, Full::join_xy, Full::join_xz, Full::join_yz, Full::join_xyz, Full::kPairs;
  using Full::is_first_y, Full::is_first_z, Full::planes_left, Full::rows_left, Full::is_linear;
  using Full::lane, Full::last, Full::last_two, Full::sum_x, Full::sum_y;

  bool has_x;                  /* this lane's odd points have a next neighbour along x */
  int even_planes, odd_planes; /* of the tile */
  uint32_t tile_x;             /* its first point in the coarser grid */

  __device__ __forceinline__ EdgeMarch(const WarpLevel &level_, const WarpTile &tile,
                                       const uint32_t *grid, uint32_t *stage_memory, Step &step_)
      : Full(level_, tile, grid, stage_memory, step_, (tile.x_extent + 1) / 2),
        has_x(2 * lane + 2 < tile.x_extent),
        even_planes((int)(tile.z_extent + 1) / 2),
        odd_planes((int)tile.z_extent / 2),
        tile_x(tile.x / 2) {}

  /* ---- ends ---- */

  /* Whether the grid ends with the tile's planes. */
  __device__ __forceinline__ bool is_last_z() const { return planes_left <= kPairs; }
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
          end[0] = szg_ghost_linear(end[-2], end[-1]);
        else if (count > 1)
          end[0] = szg_ghost(end[-3], end[-2], end[-1]);
        if (count < 5) end[1] = szg_ghost_beyond(end[-2], end[-1], end[0]);
      }
    }
    if (is_first_y) rows[0] = szg_ghost(rows[3], rows[2], rows[1]);
  }
  /* The row of the box behind its last one. */
  __device__ __forceinline__ void set_ghost_row(uint32_t *rows) const {
    if (rows_left > 4) return;
    if (rows_left == 2) rows[2] = szg_ghost_linear(rows[0], rows[1]);
    if (rows_left == 3) rows[3] = szg_ghost(rows[0], rows[1], rows[2]);
    if (rows_left == 4) rows[4] = szg_ghost(rows[1], rows[2], rows[3]);
  }

  /* ---- predictions ---- */

  /* Where no axis has both neighbours, from the sum of the values before. */
  static __device__ __forceinline__ uint32_t from_before(uint32_t axis_count, uint32_t before) {
    return szg_predict(axis_count, szg_sum_one(before));
  }

  /* Each makes the predictions for rows that have a next neighbour and for the one that has not, so
   * that no branch is in the way. Row j of a plane: odd along x and y. */
  __device__ __forceinline__ uint32_t predict_xy_at(int j, uint32_t odd_y,
                                                    const uint32_t *odd_x) const {
    uint32_t const along_x = sum_x(odd_y);
    uint32_t const inside = join_xy(along_x, sum_y(odd_x, j));
    uint32_t const at_end = has_x ? szg_predict(1, along_x) : from_before(2, odd_y + odd_x[j]);
    return clamp(is_end_row(j) ? at_end : inside);
  }
  /* Rows of an odd plane. kIsLast: no plane follows, and along_z is the value before. */
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_xz_at(uint32_t odd_z, uint32_t along_z) const {
    uint32_t const along_x = sum_x(odd_z);
    if (!kIsLast) return clamp(join_xz(along_x, along_z));
    return clamp(has_x ? szg_predict(1, along_x) : from_before(2, odd_z + along_z));
  }
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_yz_at(int j, const uint32_t *odd_z,
                                                    uint32_t along_z) const {
    uint32_t const along_y = sum_y(odd_z, j);
    uint32_t const inside = kIsLast ? szg_predict(1, along_y) : join_yz(along_y, along_z);
    uint32_t const at_end = kIsLast ? from_before(2, odd_z[j] + along_z) : szg_predict(1, along_z);
    return clamp(is_end_row(j) ? at_end : inside);
  }
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_xyz_at(int j, uint32_t odd_yz, const uint32_t *odd_xz,
                                                     uint32_t along_z) const {
    uint32_t const along_x = sum_x(odd_yz), along_y = sum_y(odd_xz, j);
    uint32_t const inside =
        kIsLast ? join_xy(along_x, along_y) : join_xyz(along_x, along_y, along_z);
    uint32_t at_end = join_xz(along_x, along_z);
    if (kIsLast)
      at_end = has_x ? szg_predict(1, along_x) : from_before(3, odd_yz + odd_xz[j] + along_z);
    return clamp(is_end_row(j) ? at_end : inside);
  }

  /* ---- planes ---- */

  /* The coarser grid's plane before the tile's first. */
  __device__ __forceinline__ void load_plane_before() {
    uint32_t const x = tile_x, point = min(x + lane, Full::coarse_row - 1) - x;
    const uint32_t *const before = Full::coarse - Full::coarse_plane_bytes / 4 + point;
#pragma unroll
    for (int j = 0; j < 5; j++) {
      if ((uint32_t)j < rows_left) last[j] = before[j * Full::coarse_row];
      if (is_linear())
        last_two[j] = szg_sum_linear(last[j], 0); /* for a tile with one even plane */
    }
  }

  /* After begin. The whole warp calls. */
  __device__ __forceinline__ void run() {
    if (!is_first_z) load_plane_before();
    Full::run_as(*this, even_planes, odd_planes > 0 ? odd_planes + 1 : 0);
  }
};

} // namespace szg

#endif
