/* levels_bridge.cuh - stand-ins for points that have no lattice value, in rows of points.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A stand-in depends on points that have values only, so all of them can be found at once, in any
 * order, each by its own thread.
 */
#ifndef SZG_LEVELS_BRIDGE_CUH
#define SZG_LEVELS_BRIDGE_CUH

#include "core/warp.cuh"

namespace szg {

/* The last bit that is set up to `index`, the first from there on; -1: there is none. */
__device__ inline int32_t last_set_bit(const uint32_t *words, uint32_t index) {
  uint32_t at = index / 32, bits = words[at] & lanes_up_to(index % 32);
  while (bits == 0 && at > 0) bits = words[--at];
  return bits ? (int32_t)(32 * at) + last_of(bits) : -1;
}
__device__ inline int32_t first_set_bit(const uint32_t *words, uint32_t word_count,
                                        uint32_t index) {
  uint32_t at = index / 32, bits = words[at] & ~lanes_below(index % 32);
  while (bits == 0 && at + 1 < word_count) bits = words[++at];
  return bits ? (int32_t)(32 * at) + __ffs((int)bits) - 1 : -1;
}

/* Rows of a tile, at most kMostRows. */
template <uint32_t kMostRows>
struct BridgedRows {
  uint32_t filled[(kMostRows + 31) / 32]; /* bit i: some point of row i has a value */

  /* Finds filled rows. has: [rows][row_words], a bit for each point that has a value. The whole
   * block calls, and synchronizes before it uses the result. */
  __device__ void find_filled(const uint32_t *has, uint32_t row_count, uint32_t row_words) {
    for (uint32_t i = threadIdx.x; i < (kMostRows + 31) / 32; i += blockDim.x) filled[i] = 0;
    __syncthreads(); /* no row is filled yet */
    for (uint32_t i = threadIdx.x; i < row_count * row_words; i += blockDim.x)
      if (has[i]) atomicOr(&filled[i / row_words / 32], 1u << (i / row_words % 32));
  }

  /* The stand-in for a point. value_at(row, i): that of a point that has one. */
  template <class Point, class ValueAt>
  __device__ Point stand_in(const uint32_t *has, uint32_t row_words, uint32_t row, uint32_t i,
                            ValueAt value_at) const {
    int32_t source = last_set_bit(filled, row);
    if (source < 0) source = first_set_bit(filled, (kMostRows + 31) / 32, row);
    if (source < 0) return 0;
    const uint32_t *const bits = has + (uint32_t)source * row_words;
    int32_t const before = last_set_bit(bits, i), after = first_set_bit(bits, row_words, i);
    if (after < 0) return value_at((uint32_t)source, (uint32_t)before);
    if (before < 0) return value_at((uint32_t)source, (uint32_t)after);
    Point const from = value_at((uint32_t)source, (uint32_t)before);
    return from + ((Point)(value_at((uint32_t)source, (uint32_t)after) - from) >> 1);
  }
};

} // namespace szg

#endif
