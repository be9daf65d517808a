/* mapping.cu - values to their inner type and back, on the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each value is moved once. A thread takes four neighbours at a time where both arrays are aligned
 * to four, as frames nearly always are.
 */
#include "values/mapping.h"

#include "core/cuda_check.cuh"
#include "values/log.cuh"
#include "values/mapping_core.h"

namespace {

struct MapPolicy {
  static constexpr int kThreads = 256;
  static constexpr unsigned kBlocksPerMultiprocessor = 16;
  static constexpr int kAtOnce = 4;
};

struct F16 {
  using Outer = uint16_t;
  using Inner = uint32_t; /* bits */
  static __device__ Inner widen(Outer value) { return szg_widen_f16(value); }
  static __device__ Outer narrow(Inner value) { return szg_narrow_f16(value); }
};

struct BF16 {
  using Outer = uint16_t;
  using Inner = uint32_t; /* bits */
  static __device__ Inner widen(Outer value) { return szg_widen_bf16(value); }
  static __device__ Outer narrow(Inner value) { return szg_narrow_bf16(value); }
};

template <class Integer, int32_t kLeast, int32_t kGreatest>
struct Narrow {
  using Outer = Integer;
  using Inner = float;
  static __device__ Inner widen(Outer value) { return (Inner)value; }
  static __device__ Outer narrow(Inner value) {
    return (Outer)szg_narrow_integer_f32(value, (float)kLeast, (float)kGreatest);
  }
};

struct I32 {
  using Outer = int32_t;
  using Inner = double;
  static __device__ Inner widen(Outer value) { return (Inner)value; }
  static __device__ Outer narrow(Inner value) {
    return szg_narrow_integer_f64(value, INT32_MIN, INT32_MAX);
  }
};

/* The two ways. */
template <class Type>
struct ToInner {
  using From = typename Type::Outer;
  using To = typename Type::Inner;
  static __device__ To map(From value) { return Type::widen(value); }
};

template <class Type>
struct ToOuter {
  using From = typename Type::Inner;
  using To = typename Type::Outer;
  static __device__ To map(From value) { return Type::narrow(value); }
};

template <class Value>
struct alignas(MapPolicy::kAtOnce * sizeof(Value)) Together {
  Value of[MapPolicy::kAtOnce];
};

/* The first `together` values, a multiple of kAtOnce, go together. */
template <class Way>
__global__ void __launch_bounds__(MapPolicy::kThreads)
    map_kernel(const typename Way::From *from, uint64_t value_count, uint64_t together,
               typename Way::To *to) {
  uint64_t const stride = (uint64_t)gridDim.x * MapPolicy::kThreads;
  uint64_t const first = (uint64_t)blockIdx.x * MapPolicy::kThreads + threadIdx.x;
  for (uint64_t i = first; i < together / MapPolicy::kAtOnce; i += stride) {
    auto const values = ((const Together<typename Way::From> *)from)[i];
    Together<typename Way::To> mapped;
#pragma unroll
    for (int k = 0; k < MapPolicy::kAtOnce; k++) mapped.of[k] = Way::map(values.of[k]);
    ((Together<typename Way::To> *)to)[i] = mapped;
  }
  for (uint64_t i = together + first; i < value_count; i += stride) to[i] = Way::map(from[i]);
}

template <class Way>
szgpu_status map_values(const void *from, uint64_t value_count, void *to, cudaStream_t stream) {
  using From = typename Way::From;
  using To = typename Way::To;
  int multiprocessors = 0;
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  bool const is_aligned =
      (uintptr_t)from % sizeof(Together<From>) == 0 && (uintptr_t)to % sizeof(Together<To>) == 0;
  uint64_t const together = is_aligned ? value_count / MapPolicy::kAtOnce * MapPolicy::kAtOnce : 0;
  unsigned const blocks = szg_grid_blocks(
      is_aligned ? value_count / MapPolicy::kAtOnce : value_count, MapPolicy::kThreads,
      MapPolicy::kBlocksPerMultiprocessor * (unsigned)multiprocessors);
  map_kernel<Way><<<blocks, MapPolicy::kThreads, 0, stream>>>((const From *)from, value_count,
                                                              together, (To *)to);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

template <template <class> class Way>
szgpu_status map_type(szgpu_dtype outer, const void *from, uint64_t value_count, void *to,
                      cudaStream_t stream) {
  switch (outer) {
    case SZGPU_F16:
      return map_values<Way<F16>>(from, value_count, to, stream);
    case SZGPU_BF16:
      return map_values<Way<BF16>>(from, value_count, to, stream);
    case SZGPU_I8:
      return map_values<Way<Narrow<int8_t, INT8_MIN, INT8_MAX>>>(from, value_count, to, stream);
    case SZGPU_U8:
      return map_values<Way<Narrow<uint8_t, 0, UINT8_MAX>>>(from, value_count, to, stream);
    case SZGPU_I16:
      return map_values<Way<Narrow<int16_t, INT16_MIN, INT16_MAX>>>(from, value_count, to, stream);
    case SZGPU_U16:
      return map_values<Way<Narrow<uint16_t, 0, UINT16_MAX>>>(from, value_count, to, stream);
    default:
      return map_values<Way<I32>>(from, value_count, to, stream);
  }
}

template <class Pair>
__global__ void __launch_bounds__(MapPolicy::kThreads)
    log_kernel(const typename Pair::Outer *outer, uint64_t value_count, szg_log_fill fill,
               typename Pair::Inner *inner) {
  uint64_t const stride = (uint64_t)gridDim.x * MapPolicy::kThreads;
  uint64_t i = (uint64_t)blockIdx.x * MapPolicy::kThreads + threadIdx.x;
  for (; i < value_count; i += stride) inner[i] = Pair::to_inner(outer[i], fill);
}

struct LogLaunch {
  const void *outer;
  uint64_t value_count;
  szg_log_fill fill;
  void *inner;
  cudaStream_t stream;
  template <class Pair>
  szgpu_status run() const {
    int multiprocessors = 0;
    SZG_TRY(szg_multiprocessor_count(&multiprocessors));
    unsigned const blocks =
        szg_grid_blocks(value_count, MapPolicy::kThreads,
                        MapPolicy::kBlocksPerMultiprocessor * (unsigned)multiprocessors);
    log_kernel<Pair><<<blocks, MapPolicy::kThreads, 0, stream>>>(
        (const typename Pair::Outer *)outer, value_count, fill, (typename Pair::Inner *)inner);
    SZG_TRY_LAUNCH();
    return SZGPU_OK;
  }
};

} // namespace

szgpu_status szg_values_to_inner_cuda(const szg_mapping *mapping, const void *outer,
                                      uint64_t value_count, void *inner,
                                      struct CUstream_st *stream) {
  if (mapping->kind == SZG_MAPPING_LOG)
    return szg::with_log_pair(mapping->outer, mapping->inner,
                              LogLaunch{outer, value_count, mapping->fill, inner, stream});
  return map_type<ToInner>(mapping->outer, outer, value_count, inner, stream);
}

szgpu_status szg_values_to_outer_cuda(const szg_mapping *mapping, const void *inner,
                                      uint64_t value_count, void *outer,
                                      struct CUstream_st *stream) {
  return map_type<ToOuter>(mapping->outer, inner, value_count, outer, stream);
}
