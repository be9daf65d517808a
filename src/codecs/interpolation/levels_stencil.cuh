/* levels_stencil.cuh - which of the stencils of levels_stencil_core.h a kernel takes for a point.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_STENCIL_CUH
#define SZG_LEVELS_STENCIL_CUH

#include "codecs/interpolation/levels_stencil_core.h"

namespace szg {

/* Between even point `index` of `count` along an axis and the next one: which points are there. */
struct Neighbours {
  bool has_left, has_both, has_right;

  template <class Index>
  __device__ __forceinline__ Neighbours(Index index, Index count)
      : has_left(index >= 1), has_both(index + 1 < count), has_right(index + 2 < count) {}
};

/* The sum over the stencil, in sixteenths; both neighbours are there. w(i): the value i even points
 * after the one before. */
template <class Unsigned, class Values>
__device__ __forceinline__ Unsigned sum_stencil(bool is_linear, const Neighbours &at, Values w) {
  Unsigned const b = w(0), c = w(1);
  if (is_linear || (!at.has_left && !at.has_right)) return szg_sum_linear(b, c);
  if (at.has_left && at.has_right) return szg_sum_cubic(w(-1), b, c, w(2));
  /* far values are loaded last, since registers are short */
  return at.has_right ? szg_sum_end(b, c, 0) + szg_sum_end(0, 0, w(2))
                      : szg_sum_end(c, b, 0) + szg_sum_end(0, 0, w(-1));
}

/* The same for one odd axis, along which the next neighbour may be missing. */
template <class Unsigned, class Values>
__device__ __forceinline__ Unsigned sum_single(bool is_linear, const Neighbours &at, Values w) {
  if (at.has_both) return sum_stencil<Unsigned>(is_linear, at, w);
  return at.has_left ? szg_sum_beyond(w(0), w(-1)) : szg_sum_one(w(0));
}

/* The sum of six, of three points or more, of which the next neighbour is one. */
template <class Unsigned, class Values>
__device__ __forceinline__ Unsigned sum_quintic(uint64_t index, uint64_t count, Values w) {
  Unsigned points[6]; /* from two before on */
  points[2] = w(0), points[3] = w(1);
  bool const has_before = index >= 1, has_after = index + 2 < count;
  if (has_before) points[1] = w(-1);
  if (has_after) points[4] = w(2);
  if (!has_before) points[1] = szg_ghost(points[4], points[3], points[2]);
  if (!has_after) points[4] = szg_ghost(points[1], points[2], points[3]);
  points[0] = index >= 2 ? w(-2) : szg_ghost(points[3], points[2], points[1]);
  points[5] = index + 3 < count ? w(3) : szg_ghost(points[2], points[3], points[4]);
  return szg_sum_quintic(points[0], points[1], points[2], points[3], points[4], points[5]);
}

/* Of the even points one before, at, one after and two after an odd point's left neighbour: what a
 * sum makes of a 1 at each. Those that are not there have the weight 0. */
struct StencilWeights {
  uint32_t w[4];
};

/* Within a box; all 0 if the next neighbour is missing. */
__device__ __forceinline__ StencilWeights box_weights(bool is_linear, const Neighbours &at) {
  if (!at.has_both) return {{0, 0, 0, 0}};
  auto const weight_of = [&](int k) {
    return sum_stencil<uint32_t>(is_linear, at, [=](int n) { return n == k ? 1u : 0u; });
  };
  return {{weight_of(-1), weight_of(0), weight_of(1), weight_of(2)}};
}

/* For one odd axis. */
__device__ __forceinline__ StencilWeights single_weights(bool is_linear, const Neighbours &at) {
  if (at.has_both) return box_weights(is_linear, at);
  auto const weight_of = [&](int k) {
    return sum_single<uint32_t>(is_linear, at, [=](int n) { return n == k ? 1u : 0u; });
  };
  return {{weight_of(-1), weight_of(0), 0, 0}};
}

} // namespace szg

#endif
