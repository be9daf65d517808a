/* point_pair.cuh - lattice points, or deltas, of two rows of a group that are four apart.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The decoder takes all sums along a tile on pairs. On the 16-bit lattice both stand in one word,
 * each modulo 2^16, so that one addition, shuffle or store serves two points. (Ordinary addition
 * will not do: it carries from one half to the other wherever a sum wraps.)
 */
#ifndef SZG_POINT_PAIR_CUH
#define SZG_POINT_PAIR_CUH

#include "core/warp.cuh"

namespace szg {

template <uint32_t kLatticeBits>
struct PointPair;

template <>
struct PointPair<16> {
  typedef int32_t Point;
  uint32_t both;

  static __device__ __forceinline__ PointPair of(int64_t low, int64_t high) {
    return {((uint32_t)low & 0xFFFFu) | (uint32_t)high << 16};
  }
  /* The pair of two entries of szg_tile_decoder that are deltas. */
  static __device__ __forceinline__ PointPair of_entries(uint32_t low, uint32_t high) {
    return {__byte_perm(low, high, 0x7632)}; /* both upper halves */
  }
  __device__ __forceinline__ Point low() const { return (int16_t)(uint16_t)both; }
  __device__ __forceinline__ Point high() const { return (int32_t)both >> 16; }
  __device__ __forceinline__ PointPair operator+(PointPair other) const {
    return {__vadd2(both, other.both)};
  }
  __device__ __forceinline__ PointPair operator-(PointPair other) const {
    return {__vsub2(both, other.both)};
  }
  /* The pair of 0 and the low one. */
  __device__ __forceinline__ PointPair raised() const { return {both << 16}; }
  __device__ __forceinline__ PointPair from_lane(unsigned lane) const {
    return {__shfl_sync(kAllLanes, both, (int)lane)};
  }
  /* Adds the pair of the lane `kStep` below, if it is among the same kWidth lanes. The shuffle
   * itself says whether it is. */
  template <int kStep, int kWidth>
  __device__ __forceinline__ PointPair with_below() const {
    uint32_t below;
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        "shfl.sync.up.b32 %0|p, %1, %2, %3, 0xffffffff;\n\t"
        "@!p mov.b32 %0, 0;\n\t"
        "}"
        : "=&r"(below)
        : "r"(both), "n"(kStep), "n"((32 - kWidth) << 8));
    return {__vadd2(both, below)};
  }
};

/* On the wider lattices the two are separate numbers. */
template <class Number, class Unsigned, class Pair>
struct ApartPair {
  typedef Number Point;
  Unsigned first, second;

  static __device__ __forceinline__ Pair of(int64_t low, int64_t high) {
    Pair pair;
    pair.first = (Unsigned)low;
    pair.second = (Unsigned)high;
    return pair;
  }
  static __device__ __forceinline__ Pair of_entries(uint32_t low, uint32_t high) {
    return of((int32_t)low >> 16, (int32_t)high >> 16);
  }
  __device__ __forceinline__ Point low() const { return (Point)first; }
  __device__ __forceinline__ Point high() const { return (Point)second; }
  __device__ __forceinline__ Pair operator+(Pair other) const {
    return of((int64_t)(first + other.first), (int64_t)(second + other.second));
  }
  __device__ __forceinline__ Pair operator-(Pair other) const {
    return of((int64_t)(first - other.first), (int64_t)(second - other.second));
  }
  __device__ __forceinline__ Pair raised() const { return of(0, (int64_t)first); }
  __device__ __forceinline__ Pair from_lane(unsigned lane) const {
    return of((int64_t)__shfl_sync(kAllLanes, first, (int)lane),
              (int64_t)__shfl_sync(kAllLanes, second, (int)lane));
  }
  template <int kStep, int kWidth>
  __device__ __forceinline__ Pair with_below() const {
    Unsigned const low = __shfl_up_sync(kAllLanes, first, kStep, kWidth);
    Unsigned const high = __shfl_up_sync(kAllLanes, second, kStep, kWidth);
    bool const is_there = threadIdx.x % kWidth >= kStep;
    return of((int64_t)(is_there ? first + low : first),
              (int64_t)(is_there ? second + high : second));
  }
};

template <>
struct PointPair<32> : ApartPair<int32_t, uint32_t, PointPair<32>> {};
template <>
struct PointPair<64> : ApartPair<int64_t, unsigned long long, PointPair<64>> {};

} // namespace szg

#endif
