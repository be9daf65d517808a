/* missing_edit.cu - marks further fill values and edits what is missing, on the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Moves, for each value: editing reads the field's value and reads or writes the coded one; marking
 * reads the field's value and writes a bit.
 */
#include "core/cuda_check.cuh"
#include "core/warp.cuh"
#include "quant/bound.h"

namespace szg {
namespace {

struct MissingPolicy {
  static constexpr int kThreads = 256;
  static constexpr unsigned kBlocksPerMultiprocessor = 8;
};

__device__ double number_of(uint32_t bits) { return (double)__uint_as_float(bits); }
__device__ double number_of(uint64_t bits) { return __longlong_as_double((long long)bits); }

struct EditJob {
  szg_missing missing;
  uint64_t fill, invalid; /* inner bits */
  uint64_t value_count;
  bool takes_outer; /* the inner values are the outer ones, and not there yet */
};

template <class Outer, class Inner>
__global__ void __launch_bounds__(MissingPolicy::kThreads)
    edit_kernel(EditJob job, const Outer *outer, Inner *inner) {
  uint64_t const stride = (uint64_t)gridDim.x * MissingPolicy::kThreads;
  for (uint64_t i = (uint64_t)blockIdx.x * MissingPolicy::kThreads + threadIdx.x;
       i < job.value_count; i += stride) {
    Outer const bits = outer[i];
    Inner const own = job.takes_outer ? (Inner)bits : inner[i];
    Inner edited = own;
    if (szg_is_fill(&job.missing, (uint64_t)bits))
      edited = (Inner)job.fill;
    else if (szg_is_invalid(&job.missing, number_of(own)))
      edited = (Inner)job.invalid;
    if (job.takes_outer || edited != own) inner[i] = edited;
  }
}

template <class Bits>
__global__ void __launch_bounds__(MissingPolicy::kThreads)
    mark_kernel(const Bits *values, uint64_t value_count, Bits fill, uint32_t *words) {
  uint64_t const stride = (uint64_t)gridDim.x * MissingPolicy::kThreads;
  uint64_t const lane = threadIdx.x % 32;
  for (uint64_t i = (uint64_t)blockIdx.x * MissingPolicy::kThreads + threadIdx.x;
       i - lane < value_count; i += stride) {
    uint32_t const word = __ballot_sync(kAllLanes, i < value_count && values[i] == fill);
    if (lane == 0) words[i / 32] = word;
  }
}

szgpu_status blocks_for(uint64_t count, unsigned *blocks) {
  return szg_spread_blocks(count, MissingPolicy::kThreads, MissingPolicy::kBlocksPerMultiprocessor,
                           blocks);
}

} // namespace
} // namespace szg

szgpu_status szg_missing_edit_cuda(const szg_missing *missing, const szg_mapping *mapping,
                                   const void *outer, uint64_t count, void *inner,
                                   struct CUstream_st *stream) {
  szg::EditJob const job = {*missing, szg_missing_inner_fill(missing, mapping),
                            szg_missing_inner_invalid(missing, mapping), count,
                            !szg_is_mapped(mapping)};
  unsigned blocks;
  SZG_TRY(szg::blocks_for(count, &blocks));
  return szg_with_width(szg_dtype_bytes(mapping->outer), [&](auto outer_bits) {
    typedef decltype(outer_bits) Outer;
    auto const *const from = (const Outer *)outer;
    if (mapping->inner == SZGPU_F32)
      szg::edit_kernel<<<blocks, szg::MissingPolicy::kThreads, 0, stream>>>(job, from,
                                                                            (uint32_t *)inner);
    else
      szg::edit_kernel<<<blocks, szg::MissingPolicy::kThreads, 0, stream>>>(job, from,
                                                                            (uint64_t *)inner);
    return szg_launched();
  });
}

szgpu_status szg_missing_mark_cuda(const szg_missing *missing, szgpu_dtype dtype, uint32_t which,
                                   const void *values, uint64_t count, uint32_t *words,
                                   struct CUstream_st *stream) {
  uint64_t const fill = missing->fill_bits[which];
  bool is_first = true;
  for (uint32_t before = 0; before < which; before++)
    is_first &= missing->fill_bits[before] != fill;
  uint64_t const marked = is_first ? count : 0; /* of another one's values none is marked */
  unsigned blocks;
  SZG_TRY_CUDA(cudaMemsetAsync(words, 0, (count + 31) / 32 * sizeof *words, stream));
  if (marked == 0) return SZGPU_OK;
  SZG_TRY(szg::blocks_for(marked, &blocks));
  return szg_with_width(szg_dtype_bytes(dtype), [&](auto bits) {
    typedef decltype(bits) Bits;
    szg::mark_kernel<<<blocks, szg::MissingPolicy::kThreads, 0, stream>>>(
        (const Bits *)values, marked, (Bits)fill, words);
    return szg_launched();
  });
}
