/* levels_encode_wide.cuh - full tiles of the finest level whose codes or bits need more room.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A second march, with codes of two bytes. They take the place of the field's values, which this
 * march reads from global memory when it needs them. Only for tiles whose values all have lattice
 * values.
 */
#ifndef SZG_LEVELS_ENCODE_WIDE_CUH
#define SZG_LEVELS_ENCODE_WIDE_CUH

#include "fused/levels_encode_step.cuh"

namespace szg {

/* A step for levels_march.cuh. */
template <class A>
struct WideEncodeStep {
  typedef typename A::Value Value;
  static constexpr uint32_t kCodeBytes = 1; /* as the level's; in memory they have two */
  static constexpr uint32_t kPairs = kTilePairs<kCodeBytes>;
  static constexpr int kSlots = 2, kLateGroups = 0;
  static constexpr uint32_t kSlotWords = kMarchPlaneWords, kStageWords = kSlots * kSlotWords;
  static constexpr bool kPins = false, kIsInner = false;
  typedef LevelsCodes<2, kPairs> Codes;

  const LevelsCoder<A> &coder;
  LevelsTilePoints<A> points;
  Codes codes;

  uint32_t lane;
  uint32_t planes; /* the step's number */
  Value row_values[4][2];
  uint32_t four[4];
  uint32_t beyond;

  __device__ __forceinline__ WideEncodeStep(const LevelsCoder<A> &coder_,
                                            const LevelsTilePoints<A> &points_,
                                            const uint32_t *memory, bool)
      : coder(coder_), points(points_), codes(memory), lane(threadIdx.x % 32), beyond(0) {}

  /* The whole warp calls. */
  __device__ __forceinline__ CodedTile result() const {
    bool const fits = !__any_sync(kAllLanes, beyond != 0);
    return {fits, false, !fits, true};
  }

  __device__ __forceinline__ void copy(int, uint32_t *) const {}
  __device__ __forceinline__ void start(uint32_t *) const {}
  __device__ __forceinline__ void begin(int i, const uint32_t *) { planes = (uint32_t)i; }

  /* On far planes these are values of another plane. */
  __device__ __forceinline__ void load_rows(bool is_odd_plane, bool is_odd_row) {
    uint32_t const z = is_odd_plane ? 2 * planes - 3 : 2 * min(planes, kPairs - 1);
    uint32_t const x = 2 * (threadIdx.x % 32);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      const Value *const at = points.row(z, 2 * j + (is_odd_row ? 1 : 0)) + x;
      row_values[j][0] = __ldg(at), row_values[j][1] = __ldg(at + 1);
    }
  }
  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool is_coded) {
    uint32_t none = 0;
    uint32_t const point = coder.point_of(row_values[j][kClass & 1], &none);
    uint32_t const code = shift_down(point - predicted + coder.half, coder.log2);
    four[j] = code;
    if (!is_coded) return predicted;
    beyond |= code_excess<2>(code);
    return predicted + code * coder.unit;
  }
  template <uint32_t kClass>
  __device__ __forceinline__ void end_class(int pair, bool is_coded) {
    if (is_coded) codes.template put<kClass>(codes.address_of((uint32_t)pair, lane), four);
  }
  __device__ __forceinline__ void store(int, int, uint32_t, uint32_t) const {}
};

} // namespace szg

#endif
