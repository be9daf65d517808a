/* count_planes.cu - counts the symbols in each plane of a frame or of a sample of bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads each value that is counted once. Each block counts in shared memory, in one table per
 * plane, and then adds its tables to the totals. Equal symbols of a warp, common in exponents, meet
 * in one counter: the hardware merges additions of one to an address, so one copy per block is
 * enough (huffman/histogram.cu: 4 TB/s of Laplacian codes with one copy).
 */
#include <assert.h>

#include "core/cuda_check.cuh"
#include "lossless/plane_rows.cuh"
#include "lossless/planes.h"

namespace szg {
namespace {

struct CountPolicy {
  static constexpr int kThreads = 512;
  static constexpr unsigned kBlocksPerProcessor = 4;
  static constexpr int kLoadsAhead = 4; /* 16-byte loads in flight per thread */
};

constexpr uint32_t kVectorBytes = 16;

typedef unsigned long long Total;

/* A block's counters, [plane][symbol]. */
template <uint32_t kValueBytes>
struct PlaneTables {
  uint32_t counts[kValueBytes * SZG_PLANES_SYMBOLS];
};

/* Counts symbols of whole values. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void count_vector(uint4 vector, PlaneTables<kValueBytes> *tables) {
  uint32_t words[kVectorBytes / 4] = {vector.x, vector.y, vector.z, vector.w};
  turn<kValueBytes>(words);
#pragma unroll
  for (uint32_t i = 0; i < kVectorBytes; i++) {
    uint32_t const symbol = words[i / 4] >> 8 * (i % 4) & 255;
    atomicAdd(&tables->counts[i % kValueBytes * SZG_PLANES_SYMBOLS + symbol], 1u);
  }
}

/* Counts symbols of values at any address. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void count_value(const uint8_t *bytes,
                                            PlaneTables<kValueBytes> *tables) {
  uint64_t value = 0;
  for (uint32_t b = 0; b < kValueBytes; b++) value |= (uint64_t)bytes[b] << 8 * b;
  uint64_t const turned = szg_planes_turned(value, kValueBytes);
  for (uint32_t b = 0; b < kValueBytes; b++)
    atomicAdd(&tables->counts[b * SZG_PLANES_SYMBOLS + (turned >> 8 * b & 255)], 1u);
}

/* Counts the share of thread `thread` of thread_count. If values begin at a multiple of 16, it
 * loads 16 bytes at a time. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void count_values(const uint8_t *bytes, uint64_t value_count,
                                             uint64_t thread, uint64_t thread_count,
                                             PlaneTables<kValueBytes> *tables) {
  typedef CountPolicy Policy;
  constexpr uint64_t kVectorValues = kVectorBytes / kValueBytes;
  uint64_t const vector_count =
      (uintptr_t)bytes % kVectorBytes == 0 ? value_count / kVectorValues : 0;
  const uint4 *const vectors = (const uint4 *)(const void *)bytes;
  for (uint64_t first = thread; first < vector_count; first += Policy::kLoadsAhead * thread_count) {
    uint4 loaded[Policy::kLoadsAhead] = {};
#pragma unroll
    for (int i = 0; i < Policy::kLoadsAhead; i++)
      if (first + i * thread_count < vector_count) loaded[i] = vectors[first + i * thread_count];
#pragma unroll
    for (int i = 0; i < Policy::kLoadsAhead; i++)
      if (first + i * thread_count < vector_count) count_vector<kValueBytes>(loaded[i], tables);
  }
  for (uint64_t i = vector_count * kVectorValues + thread; i < value_count; i += thread_count)
    count_value<kValueBytes>(bytes + i * kValueBytes, tables);
}

template <uint32_t kValueBytes>
__device__ __forceinline__ void clear_tables(PlaneTables<kValueBytes> *tables) {
  for (uint32_t i = threadIdx.x; i < kValueBytes * SZG_PLANES_SYMBOLS; i += CountPolicy::kThreads)
    tables->counts[i] = 0;
  __syncthreads(); /* all counters are 0 */
}

template <uint32_t kValueBytes>
__device__ __forceinline__ void add_tables(const PlaneTables<kValueBytes> &tables,
                                           szg_planes_counts *counts) {
  __syncthreads(); /* the block has counted all its values */
  Total *const totals = (Total *)&counts->planes[0][0];
  for (uint32_t i = threadIdx.x; i < kValueBytes * SZG_PLANES_SYMBOLS; i += CountPolicy::kThreads)
    if (tables.counts[i]) atomicAdd(&totals[i], (Total)tables.counts[i]);
}

/* ---- kernels ---- */

template <uint32_t kValueBytes>
__global__ void __launch_bounds__(CountPolicy::kThreads)
    planes_count_kernel(const uint8_t *bytes, uint64_t value_count, szg_planes_counts *counts) {
  __shared__ PlaneTables<kValueBytes> tables;
  clear_tables(&tables);
  count_values(bytes, value_count, (uint64_t)blockIdx.x * CountPolicy::kThreads + threadIdx.x,
               (uint64_t)gridDim.x * CountPolicy::kThreads, &tables);
  add_tables(tables, counts);
}

/* A block for each tile of the sample. */
template <uint32_t kValueBytes>
__global__ void __launch_bounds__(CountPolicy::kThreads)
    planes_sample_kernel(const uint8_t *bytes, uint64_t value_count, szg_planes_counts *counts) {
  __shared__ PlaneTables<kValueBytes> tables;
  uint64_t const first_value =
      szg_sample_tile(szg_planes_tile_count(value_count), gridDim.x, blockIdx.x) * SZG_TILE_VALUES;
  clear_tables(&tables);
  count_values(bytes + first_value * kValueBytes,
               szg_lesser_u64(value_count - first_value, SZG_TILE_VALUES), threadIdx.x,
               CountPolicy::kThreads, &tables);
  add_tables(tables, counts);
}

/* Counts a stretch as values of kValueBytes. The whole block calls. */
template <uint32_t kValueBytes>
__device__ void count_stretch(const uint8_t *bytes, uint64_t byte_count,
                              PlaneTables<SZG_PLANES_MOST> *memory, szg_planes_counts *counts) {
  auto const tables = (PlaneTables<kValueBytes> *)(void *)memory;
  clear_tables(tables);
  count_values(bytes, byte_count / kValueBytes, threadIdx.x, CountPolicy::kThreads, tables);
  add_tables(*tables, counts);
}

struct SplitJob {
  const uint8_t *bytes;
  szg_split_tally *tally;
  szg_split_stretch stretches[SZG_SPLIT_STRETCHES];
};

/* Blocks: stretches by choices. */
__global__ void __launch_bounds__(CountPolicy::kThreads)
    split_count_kernel(const __grid_constant__ SplitJob job) {
  __shared__ PlaneTables<SZG_PLANES_MOST> memory;
  szg_split_stretch const stretch = job.stretches[blockIdx.x];
  const uint8_t *const first = job.bytes + stretch.first_byte;
  szg_planes_counts *const counts = &job.tally->counts[blockIdx.y];
  switch (blockIdx.y) {
    case 0:
      return count_stretch<1>(first, stretch.byte_count, &memory, counts);
    case 1:
      return count_stretch<2>(first, stretch.byte_count, &memory, counts);
    case 2:
      return count_stretch<4>(first, stretch.byte_count, &memory, counts);
    default:
      return count_stretch<8>(first, stretch.byte_count, &memory, counts);
  }
}

/* ---- launches ---- */

template <uint32_t kValueBytes>
szgpu_status launch_count(const void *values, uint64_t value_count, bool is_sample,
                          szg_planes_counts *counts, cudaStream_t stream) {
  typedef CountPolicy Policy;
  if (is_sample) {
    unsigned const blocks = szg_planes_counted_tiles(szg_planes_tile_count(value_count));
    planes_sample_kernel<kValueBytes>
        <<<blocks, Policy::kThreads, 0, stream>>>((const uint8_t *)values, value_count, counts);
    SZG_TRY_LAUNCH();
    return SZGPU_OK;
  }
  int processor_count = 0;
  SZG_TRY(szg_multiprocessor_count(&processor_count));
  unsigned const blocks =
      szg_grid_blocks(value_count, Policy::kThreads * kVectorBytes / kValueBytes,
                      (unsigned)processor_count * Policy::kBlocksPerProcessor);
  assert(value_count / blocks < UINT32_MAX / 2); /* or a block's counters might overflow */
  planes_count_kernel<kValueBytes>
      <<<blocks, Policy::kThreads, 0, stream>>>((const uint8_t *)values, value_count, counts);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

} // namespace
} // namespace szg

szgpu_status szg_planes_count_cuda(const void *values, uint64_t value_count, uint32_t value_bytes,
                                   bool is_sample, szg_planes_counts *counts,
                                   struct CUstream_st *stream) {
  if (value_count == 0) return SZGPU_OK;
  switch (value_bytes) {
    case 1:
      return szg::launch_count<1>(values, value_count, is_sample, counts, stream);
    case 2:
      return szg::launch_count<2>(values, value_count, is_sample, counts, stream);
    case 4:
      return szg::launch_count<4>(values, value_count, is_sample, counts, stream);
    default:
      return szg::launch_count<8>(values, value_count, is_sample, counts, stream);
  }
}

szgpu_status szg_split_count_cuda(const uint8_t *bytes, uint64_t byte_count, szg_split_tally *tally,
                                  struct CUstream_st *stream) {
  uint32_t const stretches = szg_split_stretch_count(byte_count);
  if (stretches == 0) return SZGPU_OK;
  szg::SplitJob job = {bytes, tally, {}};
  for (uint32_t i = 0; i < stretches; i++) job.stretches[i] = szg_split_stretch_at(byte_count, i);
  dim3 const blocks(stretches, SZG_SPLIT_CHOICES);
  szg::split_count_kernel<<<blocks, szg::CountPolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}
