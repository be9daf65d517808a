/* levels_grids.cuh - grids of levels frames, compared.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_GRIDS_CUH
#define SZG_LEVELS_GRIDS_CUH

#include <string.h>

#include <vector>

#include "codecs/interpolation/levels.h"

namespace levels_cases {

/* A stage's grid, and what lies behind it, with `poison` where points of rows are beyond x_extent:
 * these may be anything. */
inline std::vector<uint8_t> without_row_ends(const szg_levels_stage &stage, size_t point_bytes,
                                             uint8_t poison, std::vector<uint8_t> grid) {
  for (uint64_t row = 0; row < stage.point_count; row += stage.row_points)
    memset(grid.data() + (row + stage.x_extent) * point_bytes, poison,
           (stage.row_points - stage.x_extent) * point_bytes);
  return grid;
}

} // namespace levels_cases

#endif
