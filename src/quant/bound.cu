/* bound.cu - the range pass over values on the device.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads each value once, 4 or 8 bytes; the block that finishes last stores 32 bytes directly to
 * host memory, and bound.c derives the bound from them for both backends. The pass reads from the
 * last value to the first, because the kernels after it begin where it ends.
 */
#include "quant/bound.h"

#include "quant/range.cuh"
#include "quant/restored.h"

namespace szg {
namespace {

struct RangePolicy {
  /* 64 bytes per thread and 96 KiB per multiprocessor in flight: above latency times bandwidth.
   * Few blocks, because all of them end at about the same time with atomics on the same words. */
  static constexpr int kThreads = 512;
  static constexpr int kVectorsInFlight = 4;
  static constexpr int kBlocksPerMultiprocessor = 3;
};

/* The sample is 1/64 of the values, lines of 128 bytes: latency counts, not bandwidth. */
struct BoundSamplePolicy {
  static constexpr int kThreads = 256;
  static constexpr int kRunsInFlight = 8;
  static constexpr int kBlocksPerMultiprocessor = 4;
};

/* 16 bytes of the field. */
template <class Format>
struct alignas(16) Vector {
  static constexpr int kCount = 16 / sizeof(typename Format::Bits);
  typename Format::Bits bits[kCount];
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
__global__ void __launch_bounds__(BoundSamplePolicy::kThreads)
    runs_reduce_kernel(const typename Pass::Format::Bits *values, uint64_t span_count, Pass pass,
                       RangeWork *work, RangeResult *result) {
  constexpr uint64_t warps_of_block = BoundSamplePolicy::kThreads / 32;
  uint64_t const warp = blockIdx.x * warps_of_block + threadIdx.x / 32;
  uint64_t const warps = gridDim.x * warps_of_block;
  typename Pass::Found found = Pass::nothing();
  for (uint64_t first = warp; first < span_count;
       first += BoundSamplePolicy::kRunsInFlight * warps) {
    typename Pass::Format::Bits bits[BoundSamplePolicy::kRunsInFlight];
#pragma unroll
    for (int i = 0; i < BoundSamplePolicy::kRunsInFlight; i++) {
      /* beyond the end, the last span once more */
      uint64_t const span = min((unsigned long long)(first + i * warps), span_count - 1ull);
      bits[i] = values[szg_range_run_of(span) + threadIdx.x % 32];
    }
    pass.take(bits, &found);
  }
  finish_pass<Pass, BoundSamplePolicy::kThreads>(found, work, result);
}
static_assert(1 << SZG_RANGE_RUN_LOG2 == 32, "a value for each lane");

/* Runs one pass, waits, and gives what it found. */
template <class Pass>
szgpu_status run_pass(const szg_value_source_cuda *cuda, Pass pass, RangeFound *found) {
  auto *const result = (RangeResult *)cuda->pinned_work;
  unsigned blocks = 0;
  Span<typename Pass::Format> const span =
      span_of<typename Pass::Format>(cuda->source.values, cuda->source.value_count);
  SZG_TRY(szg_spread_blocks(span.vector_count,
                            RangePolicy::kThreads * RangePolicy::kVectorsInFlight,
                            RangePolicy::kBlocksPerMultiprocessor, &blocks));
  szg_device_expect(&result->told, 1);
  values_reduce_kernel<<<blocks, RangePolicy::kThreads, 0, cuda->device->stream>>>(
      span, pass, (RangeWork *)cuda->work, result);
  SZG_TRY_LAUNCH();
  return await_range(cuda->device, result, found);
}

/* The same with a sample of the values; it has at least one span. */
template <class Pass>
szgpu_status run_sample(const szg_value_source_cuda *cuda, Pass pass, RangeFound *found) {
  auto *const result = (RangeResult *)cuda->pinned_work;
  unsigned blocks = 0;
  uint64_t const span_count = cuda->source.value_count >> SZG_RANGE_SPAN_LOG2;
  SZG_TRY(szg_spread_blocks(span_count,
                            BoundSamplePolicy::kThreads / 32 * BoundSamplePolicy::kRunsInFlight,
                            BoundSamplePolicy::kBlocksPerMultiprocessor, &blocks));
  szg_device_expect(&result->told, 1);
  runs_reduce_kernel<<<blocks, BoundSamplePolicy::kThreads, 0, cuda->device->stream>>>(
      (const typename Pass::Format::Bits *)cuda->source.values, span_count, pass,
      (RangeWork *)cuda->work, result);
  SZG_TRY_LAUNCH();
  return await_range(cuda->device, result, found);
}

/* Calls function(Format, source) for the type that is coded. */
template <class Function>
szgpu_status with_format(const szg_value_source *source, Function function) {
  auto const *const cuda = (const szg_value_source_cuda *)source->where;
  return source->dtype == SZGPU_F32 ? function(FormatF32(), cuda) : function(FormatF64(), cuda);
}

szgpu_status find_extremes(const szg_value_source *source, const uint64_t *named_fill,
                           szg_extremes *extremes) {
  return with_format(source, [&](auto format, auto cuda) -> szgpu_status {
    typedef decltype(format) Format;
    typedef typename Format::Bits Bits;
    ExtremesPass<Format> const pass = {named_fill ? (Bits)*named_fill : no_value<Format>(),
                                       named_fill != NULL};
    RangeFound found;
    SZG_TRY(run_pass(cuda, pass, &found));
    *extremes = extremes_of<Format>(found);
    return SZGPU_OK;
  });
}

szgpu_status sample_extremes(const szg_value_source *source, szg_extremes *extremes) {
  return with_format(source, [&](auto format, auto cuda) -> szgpu_status {
    typedef decltype(format) Format;
    RangeFound found;
    SZG_TRY(run_sample(cuda, SamplePass<Format>(), &found));
    *extremes = extremes_of<Format>(found);
    return SZGPU_OK;
  });
}

szgpu_status greatest_up_to(const szg_value_source *source, const szg_range *range, double limit,
                            double *greatest) {
  return with_format(source, [&](auto format, auto cuda) -> szgpu_status {
    typedef decltype(format) Format;
    typedef typename Format::Bits Bits;
    MagnitudePass<Format> const pass = {
        range->has_fill ? (Bits)range->fill_bits : no_value<Format>(), limit};
    RangeFound found;
    SZG_TRY(run_pass(cuda, pass, &found));
    memcpy(greatest, &found.greatest_magnitude, sizeof *greatest);
    return SZGPU_OK;
  });
}

szgpu_status survey(const szg_value_source *source, const szg_survey *asked, szg_ends *ends) {
  return with_format(source, [&](auto format, auto cuda) -> szgpu_status {
    typedef decltype(format) Format;
    RangeFound found;
    SZG_TRY(run_pass(cuda, survey_pass<Format>(asked), &found));
    *ends = ends_of<Format>(found);
    return SZGPU_OK;
  });
}

szgpu_status pick(const szg_value_source *source, const szg_runs *runs, void *picked) {
  auto const *const cuda = (const szg_value_source_cuda *)source->where;
  return szg_pick_cuda(cuda->device, source->mapping.outer, source->values, runs, cuda->pinned_work,
                       picked);
}

} // namespace
} // namespace szg

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
              false,
              szg::find_extremes,
              szg::sample_extremes,
              szg::greatest_up_to,
              szg::survey,
              szg_restored_find_cuda,
              szg::pick},
             device,
             work,
             pinned_work};
}
