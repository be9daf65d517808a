/* levels_halves_core.h - halved bases: the base of a line is predicted from coarse to fine within
 * its tile, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/format.md, section 16, "Halved bases". The tile's first point has the prediction 0. Then,
 * for h = 2048, 1024, .. 1, the odd multiples of h are predicted from the multiples of 2 h, which
 * are known: by the stencils of a level with one odd axis, as if the tile were the grid.
 *
 *   for (uint32_t h = SZG_MOST_HALF; h > 0; h /= 2)
 *     for (uint32_t x = h; x < extent; x += 2 * h) ... szg_predict_half(..., points, x, extent)
 */
#ifndef SZG_LEVELS_HALVES_CORE_H
#define SZG_LEVELS_HALVES_CORE_H

#include "codecs/interpolation/levels.h"
#include "codecs/interpolation/levels_stencil_core.h"

enum { SZG_MOST_HALF = SZG_LEVELS_BASE_PLACES / 2 };

/* The prediction of point x of a tile of `extent` points, whose coarser points have their lattice
 * values. limit: predictions are clamped to its magnitude. */
#define SZG_PREDICT_HALF(bits, POINT, UPOINT)                                                    \
  SZG_HD_INLINE UPOINT SZG_OF_WIDTH(szg_predict_half, bits)(                                     \
      bool is_linear, POINT limit, const UPOINT *points, uint32_t x, uint32_t extent) {          \
    if (x == 0) return 0;                                                                        \
    uint32_t const h = x & (0 - x);                                                              \
    bool const has_left = x >= 3 * h, has_next = x + h < extent, has_right = x + 3 * h < extent; \
    UPOINT const b = points[x - h], a = has_left ? points[x - 3 * h] : 0;                        \
    UPOINT const c = has_next ? points[x + h] : 0, d = has_right ? points[x + 3 * h] : 0;        \
    UPOINT sum;                                                                                  \
    if (!has_next)                                                                               \
      sum = has_left ? SZG_OF_WIDTH(szg_sum_beyond, bits)(b, a)                                  \
                     : SZG_OF_WIDTH(szg_sum_one, bits)(b);                                       \
    else if (is_linear || !(has_left || has_right))                                              \
      sum = SZG_OF_WIDTH(szg_sum_linear, bits)(b, c);                                            \
    else if (has_left && has_right)                                                              \
      sum = SZG_OF_WIDTH(szg_sum_cubic, bits)(a, b, c, d);                                       \
    else                                                                                         \
      sum = has_right ? SZG_OF_WIDTH(szg_sum_end, bits)(b, c, d)                                 \
                      : SZG_OF_WIDTH(szg_sum_end, bits)(c, b, a);                                \
    UPOINT const prediction = SZG_OF_WIDTH(szg_predict, bits)(1, sum);                           \
    return SZG_OF_WIDTH(szg_clamp_prediction, bits)(limit, prediction);                          \
  }
SZG_PREDICT_HALF(32, int32_t, uint32_t)
SZG_PREDICT_HALF(64, int64_t, uint64_t)
#undef SZG_PREDICT_HALF

#endif
