/* levels_marks.cuh - notes which of a frame's own tiles have values without a lattice value.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_MARKS_CUH
#define SZG_LEVELS_MARKS_CUH

#include "codecs/interpolation/levels_cuda.h"

namespace szg {

inline int log2_of(uint32_t power) {
  int log2 = 0;
  while (power >> (log2 + 1) != 0) log2++;
  return log2;
}

/* Where the frame's own tiles lie; their extents are powers of two. Several threads may set a mark,
 * all to 1. */
struct MarkRule {
  uint8_t *marks; /* NULL: none are wanted */
  uint32_t *has_marks;
  uint64_t z_extent, z_tiles, y_tiles, x_tiles;
  int z_shift, y_shift, x_shift;
  bool is_line, boxes_are_planes;

  explicit MarkRule(const szg_levels &levels, const szg_levels_marks_cuda *wanted)
      : marks(nullptr), has_marks(nullptr) {
    if (!wanted) return;
    const szg_grid &frame = *wanted->frame;
    marks = wanted->marks, has_marks = wanted->has_marks;
    z_extent = frame.z_extent;
    z_tiles = frame.z_tiles, y_tiles = frame.y_tiles, x_tiles = frame.x_tiles;
    z_shift = log2_of(frame.tile_z), y_shift = log2_of(frame.tile_y);
    x_shift = log2_of(frame.tile_x);
    is_line = levels.fold != 0;
    boxes_are_planes = levels.axis_count == 2 && frame.tile_z > 1;
  }

  /* Of a folded frame. */
  __device__ __forceinline__ void mark_value(uint64_t index) const { mark_tile(index >> x_shift); }

  /* Of other frames; coordinates in the view. */
  __device__ __forceinline__ void mark(uint64_t box, uint64_t z, uint64_t y, uint64_t x) const {
    uint64_t const batch = boxes_are_planes ? box / z_extent : box;
    uint64_t const plane = boxes_are_planes ? box % z_extent : z;
    mark_at(batch, plane, y, x);
  }
  /* Coordinates in the frame, which are those of a view of three axes, too. */
  __device__ __forceinline__ void mark_at(uint64_t batch, uint64_t z, uint64_t y,
                                          uint64_t x) const {
    uint64_t const z_tile = batch * z_tiles + (z >> z_shift);
    uint64_t const y_tile = z_tile * y_tiles + (y >> y_shift);
    mark_tile(y_tile * x_tiles + (x >> x_shift));
  }

 private:
  __device__ __forceinline__ void mark_tile(uint64_t tile) const {
    marks[tile] = 1;
    if (has_marks) *has_marks = 1;
  }
};
static_assert((SZG_TILE_1D_X & (SZG_TILE_1D_X - 1)) == 0, "");
static_assert((SZG_TILE_2D_X & (SZG_TILE_2D_X - 1)) == 0, "");
static_assert((SZG_TILE_2D_Y & (SZG_TILE_2D_Y - 1)) == 0, "");
static_assert((SZG_TILE_3D_X & (SZG_TILE_3D_X - 1)) == 0, "");
static_assert((SZG_TILE_3D_Y & (SZG_TILE_3D_Y - 1)) == 0, "");
static_assert((SZG_TILE_3D_Z & (SZG_TILE_3D_Z - 1)) == 0, "");

} // namespace szg

#endif
