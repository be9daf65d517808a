/* bound.cu - the range pass over values on the device.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads each value once, 4 or 8 bytes; the block that finishes last stores 32 bytes directly to
 * host memory, and bound.c derives the bound from them for both backends. The pass reads from the
 * last value to the first, because the kernels after it begin where it ends. It compares values as
 * integers: `ordered` bits rise with the value. They have the sign bit flipped, and for negative
 * values all other bits too. Then 0 and ~0 are NaN, so that least and greatest can start from
 * there, and the complement of the least one starts from 0 like the greatest.
 */
#include "quant/bound.h"

#include <string.h>

#include <cub/block/block_reduce.cuh>

#include "core/cuda_check.cuh"
#include "core/last_block.cuh"
#include "core/tell.cuh"

namespace {

struct RangePolicy {
  /* 64 bytes per thread and 96 KiB per multiprocessor in flight: above latency times bandwidth.
   * Few blocks, because all of them end at about the same time with atomics on the same words. */
  static constexpr int kThreads = 512;
  static constexpr int kVectorsInFlight = 4;
  static constexpr int kBlocksPerMultiprocessor = 3;
};

/* The sample is 1/64 of the values, lines of 128 bytes: latency counts, not bandwidth. */
struct SamplePolicy {
  static constexpr int kThreads = 256;
  static constexpr int kRunsInFlight = 8;
  static constexpr int kBlocksPerMultiprocessor = 4;
};

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

/* 16 bytes of the field. */
template <class Format>
struct alignas(16) Vector {
  static constexpr int kCount = 16 / sizeof(typename Format::Bits);
  typename Format::Bits bits[kCount];
};

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

/* A thread's share of the second pass: the greatest magnitude up to a limit. */
template <class FieldFormat>
struct MagnitudePass {
  typedef FieldFormat Format;
  typedef typename Format::Bits Bits;
  Bits fill;
  double limit;
  typedef double Found;

  static __device__ Found nothing() { return 0.0; }

  template <int kCount>
  __device__ void take(const Bits (&bits)[kCount], Found *found) {
#pragma unroll
    for (int i = 0; i < kCount; i++) {
      typename Format::Value value;
      memcpy(&value, &bits[i], sizeof value);
      double const magnitude = fabs((double)value);
      /* false for NaN */
      if (bits[i] != fill && magnitude <= limit && magnitude > *found) *found = magnitude;
    }
  }

  struct Combine {
    __device__ Found operator()(Found a, Found b) const { return a > b ? a : b; }
  };

  static __device__ void add(Found found, RangeFound *work) {
    atomicMax(&work->greatest_magnitude, (Atomic)__double_as_longlong(found));
  }
};

/* A thread's share of the sample. fills_seen: not 0 for values that a known fill may be. */
template <class FieldFormat>
struct SamplePass {
  typedef ExtremesPass<FieldFormat> Extremes;
  typedef FieldFormat Format;
  typedef typename Format::Bits Bits;
  typedef typename Extremes::Found Found;

  static __device__ Found nothing() { return Extremes::nothing(); }

  template <int kCount>
  __device__ void take(const Bits (&bits)[kCount], Found *found) const {
#pragma unroll
    for (int i = 0; i < kCount; i++) {
      if ((bits[i] & ~Format::kSign) >= Format::kLeastFill)
        found->fills_seen = 1;
      else
        Extremes::include(bits[i], found);
    }
  }

  typedef typename Extremes::Combine Combine;
  static __device__ void add(const Found &found, RangeFound *work) { Extremes::add(found, work); }
};

/* A field as whole vectors, and the few values before and after them, because fields have only the
 * alignment of their type. */
template <class Format>
struct Span {
  const typename Format::Bits *values;
  uint64_t head_count, vector_count, end_count; /* end_count: head and tail together */
};

template <class Format>
Span<Format> span_of(const void *values, uint64_t value_count) {
  constexpr uint64_t per_vector = Vector<Format>::kCount;
  uint64_t const past = (uintptr_t)values % sizeof(Vector<Format>) / (16 / per_vector);
  uint64_t head_count = past ? per_vector - past : 0;
  if (head_count > value_count) head_count = value_count;
  uint64_t const vector_count = (value_count - head_count) / per_vector;
  return {(const typename Format::Bits *)values, head_count, vector_count,
          value_count - vector_count * per_vector};
}

/* Combines what the threads of all blocks have found; the last block tells the host. */
template <class Pass, int kThreads>
__device__ void finish_pass(typename Pass::Found found, RangeWork *work, RangeResult *result) {
  typedef cub::BlockReduce<typename Pass::Found, kThreads> BlockReduce;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  found = BlockReduce(reduce_memory).Reduce(found, typename Pass::Combine());
  if (threadIdx.x > 0) return;
  Pass::add(found, &work->found);
  if (!szg::takes_last_ticket(&work->ticket)) return;
  result->found = {__ldcg(&work->found.least_complement), __ldcg(&work->found.greatest),
                   __ldcg(&work->found.fills_seen), __ldcg(&work->found.greatest_magnitude)};
  szg::tell(&result->told);
  work->found = {0, 0, 0, 0};
}

template <class Pass>
__global__ void __launch_bounds__(RangePolicy::kThreads, RangePolicy::kBlocksPerMultiprocessor)
    values_reduce_kernel(Span<typename Pass::Format> span, Pass pass, RangeWork *work,
                         RangeResult *result) {
  typedef typename Pass::Format Format;
  constexpr uint64_t chunk_vectors =
      (uint64_t)RangePolicy::kThreads * RangePolicy::kVectorsInFlight;
  typename Pass::Found found = Pass::nothing();

  auto const *const vectors = (const Vector<Format> *)(span.values + span.head_count);
  uint64_t const chunk_count = (span.vector_count + chunk_vectors - 1) / chunk_vectors;
  for (uint64_t later = blockIdx.x; later < chunk_count; later += gridDim.x) {
    uint64_t const chunk = (chunk_count - 1 - later) * chunk_vectors;
    Vector<Format> loaded[RangePolicy::kVectorsInFlight];
#pragma unroll
    for (int i = 0; i < RangePolicy::kVectorsInFlight; i++) {
      uint64_t const index = chunk + i * RangePolicy::kThreads + threadIdx.x;
      if (index < span.vector_count)
        loaded[i] = vectors[index];
      else
        for (auto &bits : loaded[i].bits) bits = no_value<Format>();
    }
#pragma unroll
    for (int i = 0; i < RangePolicy::kVectorsInFlight; i++) pass.take(loaded[i].bits, &found);
  }

  uint64_t const end = (uint64_t)blockIdx.x * RangePolicy::kThreads + threadIdx.x;
  if (end < span.end_count) {
    uint64_t const skipped = end < span.head_count ? 0 : span.vector_count * Vector<Format>::kCount;
    typename Format::Bits const bits[1] = {span.values[end + skipped]};
    pass.take(bits, &found);
  }

  finish_pass<Pass, RangePolicy::kThreads>(found, work, result);
}

/* Grid: persistent. A warp takes a run of the sample, a lane a value of it. */
template <class Pass>
__global__ void __launch_bounds__(SamplePolicy::kThreads)
    runs_reduce_kernel(const typename Pass::Format::Bits *values, uint64_t span_count, Pass pass,
                       RangeWork *work, RangeResult *result) {
  constexpr uint64_t warps_of_block = SamplePolicy::kThreads / 32;
  uint64_t const warp = blockIdx.x * warps_of_block + threadIdx.x / 32;
  uint64_t const warps = gridDim.x * warps_of_block;
  typename Pass::Found found = Pass::nothing();
  for (uint64_t first = warp; first < span_count; first += SamplePolicy::kRunsInFlight * warps) {
    typename Pass::Format::Bits bits[SamplePolicy::kRunsInFlight];
#pragma unroll
    for (int i = 0; i < SamplePolicy::kRunsInFlight; i++) {
      /* beyond the end, the last span once more */
      uint64_t const span = min((unsigned long long)(first + i * warps), span_count - 1ull);
      bits[i] = values[szg_range_run_of(span) + threadIdx.x % 32];
    }
    pass.take(bits, &found);
  }
  finish_pass<Pass, SamplePolicy::kThreads>(found, work, result);
}
static_assert(1 << SZG_RANGE_RUN_LOG2 == 32, "a value for each lane");

szgpu_status await_result(const szg_value_source_cuda *cuda, RangeFound *found) {
  auto *const result = (RangeResult *)cuda->pinned_work;
  SZG_TRY(szg_device_await(cuda->device, &result->told, 1));
  *found = result->found;
  return SZGPU_OK;
}

/* Runs one pass, waits, and gives what it found. */
template <class Pass>
szgpu_status run_pass(const szg_value_source_cuda *cuda, Pass pass, RangeFound *found) {
  auto *const result = (RangeResult *)cuda->pinned_work;
  int multiprocessor_count = 0;
  SZG_TRY(szg_multiprocessor_count(&multiprocessor_count));
  Span<typename Pass::Format> const span =
      span_of<typename Pass::Format>(cuda->source.values, cuda->source.value_count);
  unsigned const blocks =
      szg_grid_blocks(span.vector_count, RangePolicy::kThreads * RangePolicy::kVectorsInFlight,
                      (unsigned)multiprocessor_count * RangePolicy::kBlocksPerMultiprocessor);
  szg_device_expect(&result->told, 1);
  values_reduce_kernel<<<blocks, RangePolicy::kThreads, 0, cuda->device->stream>>>(
      span, pass, (RangeWork *)cuda->work, result);
  SZG_TRY_LAUNCH();
  return await_result(cuda, found);
}

/* The same with a sample of the values; it has at least one span. */
template <class Pass>
szgpu_status run_sample(const szg_value_source_cuda *cuda, Pass pass, RangeFound *found) {
  auto *const result = (RangeResult *)cuda->pinned_work;
  int multiprocessor_count = 0;
  SZG_TRY(szg_multiprocessor_count(&multiprocessor_count));
  uint64_t const span_count = cuda->source.value_count >> SZG_RANGE_SPAN_LOG2;
  unsigned const blocks =
      szg_grid_blocks(span_count, SamplePolicy::kThreads / 32 * SamplePolicy::kRunsInFlight,
                      (unsigned)multiprocessor_count * SamplePolicy::kBlocksPerMultiprocessor);
  szg_device_expect(&result->told, 1);
  runs_reduce_kernel<<<blocks, SamplePolicy::kThreads, 0, cuda->device->stream>>>(
      (const typename Pass::Format::Bits *)cuda->source.values, span_count, pass,
      (RangeWork *)cuda->work, result);
  SZG_TRY_LAUNCH();
  return await_result(cuda, found);
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

template <class Format>
szgpu_status find_extremes(const szg_value_source_cuda *cuda, const uint64_t *named_fill,
                           szg_extremes *extremes) {
  typedef typename Format::Bits Bits;
  ExtremesPass<Format> const pass = {named_fill ? (Bits)*named_fill : no_value<Format>(),
                                     named_fill != NULL};
  RangeFound found;
  SZG_TRY(run_pass(cuda, pass, &found));
  *extremes = extremes_of<Format>(found);
  return SZGPU_OK;
}

template <class Format>
szgpu_status sample_extremes(const szg_value_source_cuda *cuda, szg_extremes *extremes) {
  RangeFound found;
  SZG_TRY(run_sample(cuda, SamplePass<Format>(), &found));
  *extremes = extremes_of<Format>(found);
  return SZGPU_OK;
}

template <class Format>
szgpu_status greatest_up_to(const szg_value_source_cuda *cuda, const szg_range *range, double limit,
                            double *greatest) {
  typedef typename Format::Bits Bits;
  MagnitudePass<Format> const pass = {range->has_fill ? (Bits)range->fill_bits : no_value<Format>(),
                                      limit};
  RangeFound found;
  SZG_TRY(run_pass(cuda, pass, &found));
  memcpy(greatest, &found.greatest_magnitude, sizeof *greatest);
  return SZGPU_OK;
}

szgpu_status find_extremes_cuda(const szg_value_source *source, const uint64_t *named_fill,
                                szg_extremes *extremes) {
  auto const *const cuda = (const szg_value_source_cuda *)source->where;
  return source->dtype == SZGPU_F32 ? find_extremes<FormatF32>(cuda, named_fill, extremes)
                                    : find_extremes<FormatF64>(cuda, named_fill, extremes);
}

szgpu_status sample_extremes_cuda(const szg_value_source *source, szg_extremes *extremes) {
  auto const *const cuda = (const szg_value_source_cuda *)source->where;
  return source->dtype == SZGPU_F32 ? sample_extremes<FormatF32>(cuda, extremes)
                                    : sample_extremes<FormatF64>(cuda, extremes);
}

szgpu_status greatest_up_to_cuda(const szg_value_source *source, const szg_range *range,
                                 double limit, double *greatest) {
  auto const *const cuda = (const szg_value_source_cuda *)source->where;
  return source->dtype == SZGPU_F32 ? greatest_up_to<FormatF32>(cuda, range, limit, greatest)
                                    : greatest_up_to<FormatF64>(cuda, range, limit, greatest);
}

} // namespace

void szg_value_source_open_cuda(szg_device *device, szgpu_dtype dtype, const void *values,
                                uint64_t value_count, void *work, void *pinned_work,
                                szg_value_source_cuda *source) {
  *source = {{dtype,
              {SZG_MAPPING_NONE, dtype, dtype, {false, 0}},
              values,
              value_count,
              NULL,
              0,
              source,
              find_extremes_cuda,
              sample_extremes_cuda,
              greatest_up_to_cuda},
             device,
             work,
             pinned_work};
}
