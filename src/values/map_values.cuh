/* map_values.cuh - blocks lead values to those that are coded, or back, and look at the results.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each value is read once, and written once or, if only its looks count, not at all. A thread takes
 * four neighbours at a time where both arrays are aligned to four, as frames nearly always are. All
 * values are bits.
 */
#ifndef SZG_MAP_VALUES_CUH
#define SZG_MAP_VALUES_CUH

#include "core/cuda_check.cuh"
#include "core/warp.cuh"
#include "values/log.cuh"
#include "values/mapping.h"
#include "values/mapping_core.h"

namespace szg {

struct MapPolicy {
  /* 64 bytes of the wider values per thread in flight, 96 KiB per multiprocessor. */
  static constexpr int kThreads = 256;
  static constexpr int kBytesInFlight = 64;
  static constexpr int kAtOnce = 4;
  /* Per multiprocessor, so many that all are there at once: logarithms take registers. */
  template <class Way>
  static constexpr int kBlocks = !Way::kHasSigns                 ? 6
                                 : sizeof(typename Way::To) == 4 ? 5
                                                                 : 3;
};

/* ---- narrow types and their inner ones ---- */

struct NarrowF16 {
  using Outer = uint16_t;
  using Inner = uint32_t;
  static __device__ Inner widen(Outer value) { return szg_widen_f16(value); }
  static __device__ Outer narrow(Inner value) { return szg_narrow_f16(value); }
};

struct NarrowBF16 {
  using Outer = uint16_t;
  using Inner = uint32_t;
  static __device__ Inner widen(Outer value) { return szg_widen_bf16(value); }
  static __device__ Outer narrow(Inner value) { return szg_narrow_bf16(value); }
};

template <class Integer, int32_t kLeast, int32_t kGreatest>
struct NarrowInteger {
  using Outer = Integer;
  using Inner = uint32_t;
  static __device__ Inner widen(Outer value) { return szg_bits_of_float((float)value); }
  static __device__ Outer narrow(Inner value) {
    return (Outer)szg_narrow_integer_f32(szg_float_of_bits(value), (float)kLeast, (float)kGreatest);
  }
};

struct NarrowI32 {
  using Outer = int32_t;
  using Inner = uint64_t;
  static __device__ Inner widen(Outer value) { return szg_bits_of_double((double)value); }
  static __device__ Outer narrow(Inner value) {
    return szg_narrow_integer_f64(szg_double_of_bits(value), INT32_MIN, INT32_MAX);
  }
};

/* Calls launch.run<Narrow>() for a type that is widened. */
template <class Launch>
szgpu_status with_narrow_type(szgpu_dtype outer, const Launch &launch) {
  switch (outer) {
    case SZGPU_F16:
      return launch.template run<NarrowF16>();
    case SZGPU_BF16:
      return launch.template run<NarrowBF16>();
    case SZGPU_I8:
      return launch.template run<NarrowInteger<int8_t, INT8_MIN, INT8_MAX>>();
    case SZGPU_U8:
      return launch.template run<NarrowInteger<uint8_t, 0, UINT8_MAX>>();
    case SZGPU_I16:
      return launch.template run<NarrowInteger<int16_t, INT16_MIN, INT16_MAX>>();
    case SZGPU_U16:
      return launch.template run<NarrowInteger<uint16_t, 0, UINT16_MAX>>();
    default:
      return launch.template run<NarrowI32>();
  }
}

/* ---- ways ----
 *
 * A way leads neighbours from one type to the other and returns which of them are negative, as
 * bits, if it keeps signs apart. `look` sees the results: take(to), or take_plain(to) for numbers
 * of which none is a fill value or large enough for one; see_outer(from) where it may be. */

struct LooksAtNothing {
  template <class Values>
  __device__ void take(const Values &) {}
  template <class Values>
  __device__ void take_plain(const Values &) {}
  template <class Value>
  __device__ void see_outer(Value) {}
};

template <class Type>
struct ToInner {
  using From = typename Type::Outer;
  using To = typename Type::Inner;
  static constexpr bool kHasSigns = false;
  template <int kCount, class Look>
  __device__ uint32_t map(const From (&from)[kCount], To (&to)[kCount], Look *look) const {
#pragma unroll
    for (int i = 0; i < kCount; i++) to[i] = Type::widen(from[i]);
    look->take(to);
    return 0;
  }
};

template <class Type>
struct ToOuter {
  using From = typename Type::Inner;
  using To = typename Type::Outer;
  static constexpr bool kHasSigns = false;
  template <int kCount, class Look>
  __device__ uint32_t map(const From (&from)[kCount], To (&to)[kCount], Look *) const {
#pragma unroll
    for (int i = 0; i < kCount; i++) to[i] = Type::narrow(from[i]);
    return 0;
  }
};

/* To logarithms. Most neighbours are all plain: normal numbers, and neither the field's fill value
 * nor large enough for a known one. */
template <class Pair>
struct ToLog {
  using From = typename Pair::Outer;
  using To = typename Pair::Inner;
  static constexpr bool kHasSigns = true;
  szg_log_fill fill;
  template <int kCount, class Look>
  __device__ uint32_t map(const From (&from)[kCount], To (&to)[kCount], Look *look) const {
    uint32_t signs = 0;
    bool are_plain = true;
#pragma unroll
    for (int i = 0; i < kCount; i++) are_plain &= Pair::is_plain(from[i], fill);
    if (are_plain) {
#pragma unroll
      for (int i = 0; i < kCount; i++) {
        to[i] = Pair::log_of_plain(from[i]);
        signs |= (uint32_t)(from[i] >> (8 * sizeof(From) - 1)) << i;
      }
      look->take_plain(to);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; i++) {
        to[i] = Pair::to_inner(from[i], fill);
        signs |= (uint32_t)Pair::is_negative(from[i], fill) << i;
        look->see_outer(from[i]);
      }
      look->take(to);
    }
    return signs;
  }
};

/* ---- the loop ---- */

template <class Value>
struct alignas(MapPolicy::kAtOnce * sizeof(Value)) Together {
  Value of[MapPolicy::kAtOnce];
};

/* What a kernel leads where. */
template <class Way>
struct MapJob {
  const typename Way::From *from;
  uint64_t value_count;
  uint64_t together;    /* so many values, a multiple of 32, go four at a time */
  typename Way::To *to; /* NULL: nothing is stored, nor signs */
  uint32_t *signs;      /* a bit for each value, and zeros behind the last */
  Way way;
};

/* Stores the signs of 32 values, four from each of eight lanes. The whole warp calls; index: of the
 * lane's four values. */
__device__ __forceinline__ void store_signs(uint32_t four, uint64_t index, bool is_there,
                                            uint32_t *signs) {
  uint32_t word = four << threadIdx.x % 8 * MapPolicy::kAtOnce;
  for (int i = 1; i < 8; i *= 2) word |= __shfl_xor_sync(kAllLanes, word, i);
  if (is_there && threadIdx.x % 8 == 0) signs[index / 8] = word;
}

/* The values that do not go four at a time. All blocks call. */
template <class Way, class Look>
__device__ __forceinline__ void map_one_by_one(const MapJob<Way> &job, Look *look) {
  uint64_t const stride = (uint64_t)gridDim.x * MapPolicy::kThreads;
  uint64_t first = job.together + (uint64_t)blockIdx.x * MapPolicy::kThreads;
  for (; first < job.value_count; first += stride) {
    uint64_t const i = first + threadIdx.x;
    uint32_t is_negative = 0;
    if (i < job.value_count) {
      typename Way::From const from[1] = {job.from[i]};
      typename Way::To to[1];
      is_negative = job.way.map(from, to, look);
      if (job.to) job.to[i] = to[0];
    }
    if (!Way::kHasSigns || !job.to) continue;
    uint32_t const word = __ballot_sync(kAllLanes, is_negative);
    if (threadIdx.x % 32 == 0 && i < job.value_count) job.signs[i / 32] = word;
  }
}

/* All values, the last ones first, because the next kernels begin with the first ones, which are
 * then still in cache. All blocks call; grid: any. */
template <class Way, class Look>
__device__ __forceinline__ void map_values(const MapJob<Way> &job, Look *look) {
  typedef Together<typename Way::From> From;
  typedef Together<typename Way::To> To;
  constexpr int kInFlight =
      MapPolicy::kBytesInFlight / (sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
  constexpr uint64_t chunk_vectors = (uint64_t)MapPolicy::kThreads * kInFlight;
  uint64_t const vector_count = job.together / MapPolicy::kAtOnce;
  uint64_t const chunk_count = (vector_count + chunk_vectors - 1) / chunk_vectors;
  map_one_by_one(job, look);
  for (uint64_t later = blockIdx.x; later < chunk_count; later += gridDim.x) {
    uint64_t const first = (chunk_count - 1 - later) * chunk_vectors + threadIdx.x;
    From loaded[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; i++) {
      uint64_t const index = first + i * MapPolicy::kThreads;
      if (index < vector_count) loaded[i] = ((const From *)job.from)[index];
    }
#pragma unroll
    for (int i = 0; i < kInFlight; i++) {
      uint64_t const index = first + i * MapPolicy::kThreads;
      bool const is_there = index < vector_count;
      uint32_t signs = 0;
      if (is_there) {
        To mapped;
        signs = job.way.map(loaded[i].of, mapped.of, look);
        if (job.to) ((To *)job.to)[index] = mapped;
      }
      if (Way::kHasSigns && job.to) store_signs(signs, index, is_there, job.signs);
    }
  }
}

template <class Way>
MapJob<Way> map_job_of(const void *from, uint64_t value_count, void *to, uint32_t *signs,
                       const Way &way) {
  typedef typename Way::From From;
  typedef typename Way::To To;
  bool const is_aligned =
      (uintptr_t)from % sizeof(Together<From>) == 0 && (uintptr_t)to % sizeof(Together<To>) == 0;
  return {(const From *)from, value_count, is_aligned ? value_count / 32 * 32 : 0,
          (To *)to,           signs,       way};
}

/* Blocks for a kernel that maps values, so that all run at once. */
template <class Way>
szgpu_status map_blocks(const MapJob<Way> &job, unsigned *blocks) {
  uint64_t const threads =
      job.together ? job.value_count / MapPolicy::kAtOnce + 1 : job.value_count;
  return szg_spread_blocks(threads, MapPolicy::kThreads, MapPolicy::kBlocks<Way>, blocks);
}

} // namespace szg

#endif
