/* range.cuh - what kernels that look for the range of values share.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Values are compared as integers: `ordered` bits rise with the value. They have the sign bit
 * flipped, and for negative values all other bits too. Then 0 and ~0 are NaN, so that least and
 * greatest can start from there, and the complement of the least one starts from 0 like the
 * greatest.
 */
#ifndef SZG_RANGE_CUH
#define SZG_RANGE_CUH

#include <string.h>

#include <cub/block/block_reduce.cuh>

#include "core/cuda_check.cuh"
#include "core/last_block.cuh"
#include "core/tell.cuh"
#include "quant/bound.h"

namespace szg {

typedef unsigned long long Atomic; /* the type for 64-bit atomics */

/* What blocks combine by maximum or OR; 0: nothing found. */
struct RangeFound {
  Atomic least_complement, greatest; /* ordered bits */
  Atomic fills_seen;
  Atomic greatest_magnitude; /* bits of a double */
};

/* 0 between passes. */
struct RangeWork {
  RangeFound found;
  uint32_t ticket;
};
/* In the host's memory. */
struct RangeResult {
  RangeFound found;
  uint32_t told;
};
static_assert(sizeof(RangeWork) <= SZG_RANGE_WORK_BYTES, "more than the caller gives");
static_assert(sizeof(RangeResult) <= SZG_RANGE_WORK_BYTES, "more than the caller gives");

template <int kCount, class Bits>
__device__ int place_in_list(const Bits (&fills)[kCount], Bits bits) {
  int place = -1;
#pragma unroll
  for (int i = 0; i < kCount; i++)
    if (bits == fills[i]) place = i;
  return place;
}

/* A field's type as its bits. */
struct FormatF32 {
  typedef float Value;
  typedef uint32_t Bits;
  static constexpr Bits kSign = 0x80000000u, kInfinity = 0x7F800000u;
  static constexpr Bits kLeastFill = SZG_FILL_LEAST_F32;
  static __device__ int known_fill(Bits bits) {
    constexpr Bits fills[] = SZG_KNOWN_FILLS_F32;
    return place_in_list(fills, bits);
  }
};

struct FormatF64 {
  typedef double Value;
  typedef uint64_t Bits;
  static constexpr Bits kSign = 0x8000000000000000u, kInfinity = 0x7FF0000000000000u;
  static constexpr Bits kLeastFill = SZG_FILL_LEAST_F64;
  static __device__ int known_fill(Bits bits) {
    constexpr Bits fills[] = SZG_KNOWN_FILLS_F64;
    return place_in_list(fills, bits);
  }
};

/* A NaN that is not a known fill value. Each pass leaves it out, so it stands for no value. */
template <class Format>
__host__ __device__ constexpr typename Format::Bits no_value() {
  return ~(typename Format::Bits)0;
}

template <class Format>
__device__ typename Format::Bits ordered(typename Format::Bits bits) {
  return bits & Format::kSign ? ~bits : bits | Format::kSign;
}

template <class Format>
double value_of_ordered(typename Format::Bits key) {
  typename Format::Bits const bits = key & Format::kSign ? key & ~Format::kSign : ~key;
  typename Format::Value value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A thread's share of the first pass, which skips `fill`: the named fill value, or the known one
 * found last, because most fields hold no other. */
template <class FieldFormat>
struct ExtremesPass {
  typedef FieldFormat Format;
  typedef typename Format::Bits Bits;
  Bits fill;
  bool is_named;

  struct Found {
    Bits least, greatest; /* ordered */
    uint32_t fills_seen;
  };

  static __device__ Found nothing() { return {~(Bits)0, 0, 0}; }

  static __device__ void include(Bits bits, Found *found) {
    Bits const key = ordered<Format>(bits);
    found->least = key < found->least ? key : found->least;
    found->greatest = key > found->greatest ? key : found->greatest;
  }

  __device__ void take_large(Bits bits, Found *found) {
    int const place = is_named ? -1 : Format::known_fill(bits);
    if (place >= 0) {
      found->fills_seen |= 1u << place;
      fill = bits;
    } else if ((bits & ~Format::kSign) < Format::kInfinity) {
      include(bits, found);
    }
  }

  /* Takes ordinary values first, without a branch between them. */
  template <int kCount>
  __device__ void take(const Bits (&bits)[kCount], Found *found) {
    bool has_large = false;
#pragma unroll
    for (int i = 0; i < kCount; i++) {
      bool const is_large = (bits[i] & ~Format::kSign) >= Format::kLeastFill;
      bool const is_fill = bits[i] == fill;
      has_large |= is_large & !is_fill;
      if (!is_large & !is_fill) include(bits[i], found);
    }
    if (!has_large) return;
#pragma unroll
    for (int i = 0; i < kCount; i++)
      if ((bits[i] & ~Format::kSign) >= Format::kLeastFill && bits[i] != fill)
        take_large(bits[i], found);
  }

  struct Combine {
    __device__ Found operator()(const Found &a, const Found &b) const {
      return {a.least < b.least ? a.least : b.least,
              a.greatest > b.greatest ? a.greatest : b.greatest, a.fills_seen | b.fills_seen};
    }
  };

  static __device__ void add(const Found &found, RangeFound *work) {
    atomicMax(&work->least_complement, (Atomic)(Bits)~found.least);
    atomicMax(&work->greatest, (Atomic)found.greatest);
    if (found.fills_seen) atomicOr(&work->fills_seen, (Atomic)found.fills_seen);
  }
};

/* A thread's share of a survey. In RangeFound, the members of other passes hold the counts. */
template <class FieldFormat>
struct SurveyPass {
  typedef FieldFormat Format;
  typedef typename Format::Bits Bits;
  szg_missing missing;
  Bits low, high; /* ordered */

  struct Found {
    Bits above, below; /* ordered; ~0 and 0: none */
    uint64_t low_count, high_count;
  };

  static __device__ Found nothing() { return {~(Bits)0, 0, 0, 0}; }

  template <int kCount>
  __device__ void take(const Bits (&bits)[kCount], Found *found) const {
#pragma unroll
    for (int i = 0; i < kCount; i++) {
      typename Format::Value value;
      memcpy(&value, &bits[i], sizeof value);
      bool const is_there = (bits[i] & ~Format::kSign) < Format::kInfinity &&
                            !szg_is_fill(&missing, (uint64_t)bits[i]) &&
                            !szg_is_invalid(&missing, (double)value);
      if (!is_there) continue;
      Bits const key = ordered<Format>(bits[i]);
      if (key > low && key < found->above) found->above = key;
      if (key < high && key > found->below) found->below = key;
      found->low_count += key == low;
      found->high_count += key == high;
    }
  }

  struct Combine {
    __device__ Found operator()(const Found &a, const Found &b) const {
      return {a.above < b.above ? a.above : b.above, a.below > b.below ? a.below : b.below,
              a.low_count + b.low_count, a.high_count + b.high_count};
    }
  };

  static __device__ void add(const Found &found, RangeFound *work) {
    atomicMax(&work->least_complement, (Atomic)(Bits)~found.above);
    atomicMax(&work->greatest, (Atomic)found.below);
    if (found.low_count) atomicAdd(&work->fills_seen, (Atomic)found.low_count);
    if (found.high_count) atomicAdd(&work->greatest_magnitude, (Atomic)found.high_count);
  }
};

template <class Format>
SurveyPass<Format> survey_pass(const szg_survey *survey) {
  return {*survey->missing, (typename Format::Bits)survey->low,
          (typename Format::Bits)survey->high};
}

template <class Format>
szg_ends ends_of(const RangeFound &found) {
  typedef typename Format::Bits Bits;
  uint64_t const above = (Bits)~found.least_complement;
  return {found.least_complement ? above : UINT64_MAX, found.greatest, found.fills_seen,
          found.greatest_magnitude};
}

/* Combines what the threads of all blocks have found; the last block tells the host. */
template <class Pass, int kThreads>
__device__ void finish_pass(typename Pass::Found found, RangeWork *work, RangeResult *result) {
  typedef cub::BlockReduce<typename Pass::Found, kThreads> BlockReduce;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  found = BlockReduce(reduce_memory).Reduce(found, typename Pass::Combine());
  if (threadIdx.x > 0) return;
  Pass::add(found, &work->found);
  if (!takes_last_ticket(&work->ticket)) return;
  result->found = {__ldcg(&work->found.least_complement), __ldcg(&work->found.greatest),
                   __ldcg(&work->found.fills_seen), __ldcg(&work->found.greatest_magnitude)};
  tell(&result->told);
  work->found = {0, 0, 0, 0};
}

inline szgpu_status await_range(szg_device *device, const RangeResult *result, RangeFound *found) {
  SZG_TRY(szg_device_await(device, &result->told, 1));
  *found = result->found;
  return SZGPU_OK;
}

template <class Format>
szg_extremes extremes_of(const RangeFound &found) {
  typedef typename Format::Bits Bits;
  szg_extremes extremes = {INFINITY, -INFINITY, (uint32_t)found.fills_seen};
  if (found.greatest == 0) return extremes;
  extremes.least = value_of_ordered<Format>((Bits)~found.least_complement);
  extremes.greatest = value_of_ordered<Format>((Bits)found.greatest);
  return extremes;
}

} // namespace szg

#endif
