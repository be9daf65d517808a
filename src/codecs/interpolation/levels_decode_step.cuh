/* levels_decode_step.cuh - what a decoder does to the points of a tile that a warp marches over:
 * codes to lattice values, or to values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_DECODE_STEP_CUH
#define SZG_LEVELS_DECODE_STEP_CUH

#include "codecs/interpolation/levels_decode_lanes.cuh"
#include "codecs/interpolation/levels_march.cuh"
#include "codecs/interpolation/levels_march_edge.cuh"

namespace szg {

/* Three planes of the coarser grid are on their way, or two larger ones. */
__host__ __device__ constexpr int decode_slots(uint32_t reach) { return reach == 1 ? 4 : 3; }

struct LevelsDecodeJob {
  WarpLevel level;
  szg_tokens_input_cuda input;
  szg_levels_lattice lattice;
  const uint32_t *coarse;
  void *points; /* the grid; or the values wanted */
  uint64_t first_value, value_count;
  int32_t *slots;
  szg_verdict *verdict;
};

/* ---- where points go ---- */

__device__ __forceinline__ void store_neighbours(float *to, float even, float odd) {
  __stcs((float2 *)to, make_float2(even, odd));
}
__device__ __forceinline__ void store_neighbours(double *to, double even, double odd) {
  __stcs((double2 *)to, make_double2(even, odd));
}

/* To the level's grid. store: all of a full tile; store_part: of points that the tile stores, as
 * many in a row as there is room for. */
struct GridTarget {
  uint32_t *first; /* this lane's first point */
  uint32_t plane_bytes, row_bytes;

  __device__ __forceinline__ GridTarget(const LevelsDecodeJob &job, const WarpTile &tile)
      : first((uint32_t *)job.points + job.level.first_point(tile) + 2 * (threadIdx.x % 32)),
        plane_bytes((uint32_t)job.level.plane_points() * 4),
        row_bytes(job.level.row_points * 4) {}
  /* Whether all points of the tile are wanted. */
  __device__ __forceinline__ bool takes_all(const WarpTile &) const { return true; }
  /* How many points of a row are stored. */
  __device__ __forceinline__ uint32_t stored_x(const WarpTile &tile) const { return tile.x_room(); }

  __device__ __forceinline__ uint32_t *at(uint32_t z, uint32_t y) const {
    return step_by(step_by(first, z, plane_bytes), y, row_bytes);
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    *(uint2 *)at(z, y) = make_uint2(even, odd);
  }
  __device__ __forceinline__ void store_part(uint32_t z, uint32_t y, uint32_t even, uint32_t odd,
                                             bool has_even, bool has_odd) const {
    if (has_even && has_odd) *(uint2 *)at(z, y) = make_uint2(even, odd);
  }
  __device__ __forceinline__ void store_wanted(uint32_t z, uint32_t y, uint32_t even, uint32_t odd,
                                               bool has_even, bool has_odd) const {
    store_part(z, y, even, odd, has_even, has_odd);
  }
};

/* To the field, if they are among the values wanted. The level is the finest. kIsPaired: two
 * neighbours of a row are an aligned piece. */
template <class A, bool kIsPaired>
struct ValueTarget {
  typedef typename A::Value Value;

  szg_levels_lattice const lattice;
  uint64_t first_index, value_count; /* this lane's first value among those wanted; all of these */
  Value *first;                      /* if it is wanted */
  uint32_t plane_bytes, row_bytes;

  __device__ __forceinline__ ValueTarget(const LevelsDecodeJob &job, const WarpTile &tile)
      : lattice(job.lattice),
        first_index(job.level.first_value(tile) - job.first_value + 2 * (threadIdx.x % 32)),
        value_count(job.value_count),
        first((Value *)job.points + first_index),
        plane_bytes((uint32_t)(job.level.z_stride * sizeof(Value))),
        row_bytes((uint32_t)(job.level.y_stride * sizeof(Value))) {}
  __device__ __forceinline__ bool takes_all(const WarpTile &tile) const {
    uint64_t const index = first_index - 2 * (threadIdx.x % 32); /* wraps before the window */
    uint64_t const last =
        ((tile.z_extent - 1) * (uint64_t)plane_bytes + (tile.y_extent - 1) * (uint64_t)row_bytes) /
            sizeof(Value) +
        tile.x_extent - 1;
    return index < value_count && last < value_count - index;
  }
  __device__ __forceinline__ uint32_t stored_x(const WarpTile &tile) const { return tile.x_extent; }
  __device__ __forceinline__ Value value_of(uint32_t point) const {
    return A::restore(lattice, (int32_t)point);
  }
  __device__ __forceinline__ Value *at(uint32_t z, uint32_t y) const {
    return step_by(step_by(first, z, plane_bytes), y, row_bytes);
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    Value *const to = at(z, y);
    if (kIsPaired) {
      store_neighbours(to, value_of(even), value_of(odd));
    } else {
      to[0] = value_of(even);
      to[1] = value_of(odd);
    }
  }
  __device__ __forceinline__ void store_part(uint32_t z, uint32_t y, uint32_t even, uint32_t odd,
                                             bool has_even, bool has_odd) const {
    Value *const to = at(z, y);
    Value const first = value_of(even), second = value_of(odd);
    if (kIsPaired && has_odd) store_neighbours(to, first, second);
    if (has_even && !(kIsPaired && has_odd)) to[0] = first;
    if (!kIsPaired && has_odd) to[1] = second;
  }
  /* Only what is among the values wanted. */
  __device__ __forceinline__ void store_wanted(uint32_t z, uint32_t y, uint32_t even, uint32_t odd,
                                               bool has_even, bool has_odd) const {
    Value *const to = at(z, y);
    uint64_t const index = first_index + (uint64_t)(to - first);
    if (has_even && index < value_count) to[0] = value_of(even);
    if (has_odd && index + 1 < value_count) to[1] = value_of(odd);
  }
};

/* The points that a tile stores. kIsWhole: all of them are wanted. */
template <class Target, bool kIsWhole>
struct EdgeTarget {
  Target target;
  uint32_t y_extent;
  bool has_even, has_odd; /* points of this lane in a row */

  __device__ __forceinline__ EdgeTarget(const LevelsDecodeJob &job, const WarpTile &tile)
      : target(job, tile),
        y_extent(tile.y_extent),
        has_even(2 * (threadIdx.x % 32) < target.stored_x(tile)),
        has_odd(2 * (threadIdx.x % 32) + 1 < target.stored_x(tile)) {}

  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    bool const has_row = y < y_extent;
    if (kIsWhole)
      target.store_part(z, y, even, odd, has_row && has_even, has_row && has_odd);
    else
      target.store_wanted(z, y, even, odd, has_row && has_even, has_row && has_odd);
  }
};

/* ---- the march's steps ---- */

/* Codes in shared memory. */
template <uint32_t kReach, uint32_t kBytes, class Target, bool kIsInner_>
struct DecodeStep {
  static constexpr uint32_t kCodeBytes = kBytes;
  static constexpr int kSlots = decode_slots(kReach), kPairs = kTilePairs<kBytes>;
  static constexpr uint32_t kSlotWords = march_plane_words(kReach);
  static constexpr int kLateGroups = 0;
  static constexpr bool kPins = true, kIsInner = kIsInner_;
  /* Of the codes of a class in shared memory. */
  static constexpr uint32_t kClassWords = kPairs * 32 * kBytes / kCodeRegion * kCodePitch;
  static_assert(kPairs * 32 * kBytes % kCodeRegion == 0, "classes are whole regions");

  const Target &target;
  uint32_t lane;
  uint32_t codes; /* address in shared memory */
  uint32_t unit;
  uint32_t words[7][kBytes]; /* of each class, the codes of this step */

  __device__ __forceinline__ DecodeStep(const Target &target_, const uint32_t *codes_,
                                        uint32_t unit_)
      : target(target_), lane(kept(threadIdx.x % 32)), codes(shared_address(codes_)), unit(unit_) {}

  /* Zeros if there is no such pair. */
  template <int kFirst, int kEnd>
  __device__ __forceinline__ void load(int pair) {
    bool const is_there = (uint32_t)pair < (uint32_t)kPairs;
    uint32_t const first = ((is_there ? (uint32_t)pair : 0) * 32 + lane) * kBytes;
    uint32_t const at = codes + 4 * code_word(first);
#pragma unroll
    for (uint32_t index = kFirst; index < kEnd; index++)
#pragma unroll
      for (uint32_t i = 0; i < kBytes; i++)
        words[index][i] = load_shared(at + 4 * (index * kClassWords + i)) & (is_there ? ~0u : 0);
  }
  __device__ __forceinline__ void begin(int i, const uint32_t *) {
    load<0, 3>(i);
    load<3, 7>(i - 2);
  }
  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool) const {
    const uint32_t *const w = words[kClass - 1];
    int32_t const code = kBytes == 1   ? (int32_t)(int8_t)(w[0] >> 8 * j)
                         : kBytes == 2 ? (int32_t)(int16_t)(w[j / 2 % kBytes] >> 16 * (j % 2))
                                       : (int32_t)w[j % kBytes];
    return predicted + (uint32_t)code * unit;
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    target.store(z, y, even, odd);
  }

  __device__ __forceinline__ void copy(int, uint32_t *) const {}
  __device__ __forceinline__ void start(uint32_t *) const {}
  __device__ __forceinline__ void load_rows(bool, bool) const {}
  template <uint32_t kClass>
  __device__ __forceinline__ void end_class(int, bool) const {}
  __device__ __forceinline__ bool gives_up() const { return false; }
};

/* Codes there or in a slot. Those of places that a tile has not may be anything. */
template <uint32_t kReach, uint32_t kBytes, class Target>
struct AnyDecodeStep {
  typedef typename CodeOf<kBytes>::Type Code;
  static constexpr uint32_t kCodeBytes = kBytes;
  static constexpr int kSlots = decode_slots(kReach), kPairs = kTilePairs<kBytes>;
  static constexpr uint32_t kSlotWords = march_plane_words(kReach);
  static constexpr int kLateGroups = 0;
  static constexpr bool kPins = false, kIsInner = false;

  const Target &target;
  uint32_t lane;
  const uint32_t *codes;
  const int32_t *slot; /* NULL: in shared memory */
  uint32_t unit;
  int32_t own[7][4]; /* of each class, the codes of this step */

  __device__ __forceinline__ AnyDecodeStep(const Target &target_, const uint32_t *codes_,
                                           const int32_t *slot_, uint32_t unit_)
      : target(target_), lane(threadIdx.x % 32), codes(codes_), slot(slot_), unit(unit_) {}

  template <int kFirst, int kEnd>
  __device__ __forceinline__ void load(int pair) {
#pragma unroll
    for (int index = kFirst; index < kEnd; index++) {
      uint32_t const four = (uint32_t)(index * kPairs + pair) * 32 + lane;
      if (slot) {
        int4 const loaded = ((const int4 *)slot)[four];
        own[index][0] = loaded.x, own[index][1] = loaded.y;
        own[index][2] = loaded.z, own[index][3] = loaded.w;
        continue;
      }
      const Code *const there = (const Code *)(codes + code_word(four * kBytes));
#pragma unroll
      for (int j = 0; j < 4; j++) own[index][j] = there[j];
    }
  }
  __device__ __forceinline__ void begin(int i, const uint32_t *) {
#pragma unroll
    for (int index = 0; index < 7; index++)
#pragma unroll
      for (int j = 0; j < 4; j++) own[index][j] = 0;
    if (i < kPairs) load<0, 3>(i);
    if (i >= 2) load<3, 7>(i - 2);
  }
  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool) const {
    return predicted + (uint32_t)own[kClass - 1][j] * unit;
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    target.store(z, y, even, odd);
  }

  __device__ __forceinline__ bool gives_up() const { return false; }
  __device__ __forceinline__ void copy(int, uint32_t *) const {}
  __device__ __forceinline__ void start(uint32_t *) const {}
  __device__ __forceinline__ void load_rows(bool, bool) const {}
  template <uint32_t kClass>
  __device__ __forceinline__ void end_class(int, bool) const {}
};

} // namespace szg

#endif
