/* count_planes.cu - counts the symbols in each plane of a frame or of a sample of bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads each value that is counted once. Each block counts in shared memory, in one table per
 * plane, and then adds its tables to the totals. Equal symbols of a warp, common in exponents, meet
 * in one counter: the hardware merges additions of one to an address, so one copy per block is
 * enough (huffman/histogram.cu: 4 TB/s of Laplacian codes with one copy).
 */
#include <assert.h>

#include "codecs/planes/plane_rows.cuh"
#include "codecs/planes/planes_items.cuh"
#include "core/cuda_check.cuh"

namespace szg {
namespace {

struct CountPlanesPolicy {
  static constexpr int kThreads = 512;
  static constexpr unsigned kBlocksPerProcessor = 4;
  static constexpr int kLoadsAhead = 4; /* 16-byte loads in flight per thread */
  static constexpr uint32_t kVectorBytes = 16;
  static constexpr uint64_t kBlockBytes = (uint64_t)kThreads * kVectorBytes * kLoadsAhead;

  /* Blocks of one of many frames: each has one load of all its threads or more. */
  static __host__ __device__ uint64_t blocks_of(uint64_t byte_count) {
    return szg_div_up(byte_count, kBlockBytes);
  }
};

constexpr uint32_t kVectorBytes = CountPlanesPolicy::kVectorBytes;

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
  typedef CountPlanesPolicy Policy;
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
  for (uint32_t i = threadIdx.x; i < kValueBytes * SZG_PLANES_SYMBOLS;
       i += CountPlanesPolicy::kThreads)
    tables->counts[i] = 0;
  __syncthreads(); /* all counters are 0 */
}

template <uint32_t kValueBytes>
__device__ __forceinline__ void add_tables(const PlaneTables<kValueBytes> &tables,
                                           szg_planes_counts *counts) {
  __syncthreads(); /* the block has counted all its values */
  Total *const totals = (Total *)&counts->planes[0][0];
  for (uint32_t i = threadIdx.x; i < kValueBytes * SZG_PLANES_SYMBOLS;
       i += CountPlanesPolicy::kThreads)
    if (tables.counts[i]) atomicAdd(&totals[i], (Total)tables.counts[i]);
}

/* Counts tile i of the sample. The whole block calls. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void count_sampled_tile(const uint8_t *bytes, uint64_t value_count,
                                                   uint32_t counted_tiles, uint32_t i,
                                                   PlaneTables<kValueBytes> *tables) {
  uint64_t const first_value =
      szg_sample_tile(szg_planes_tile_count(value_count), counted_tiles, i) * SZG_TILE_VALUES;
  count_values(bytes + first_value * kValueBytes,
               szg_lesser_u64(value_count - first_value, SZG_TILE_VALUES), threadIdx.x,
               CountPlanesPolicy::kThreads, tables);
}

/* ---- kernels ---- */

template <uint32_t kValueBytes>
__global__ void __launch_bounds__(CountPlanesPolicy::kThreads)
    planes_count_kernel(const uint8_t *bytes, uint64_t value_count, szg_planes_counts *counts) {
  __shared__ PlaneTables<kValueBytes> tables;
  clear_tables(&tables);
  count_values(bytes, value_count, (uint64_t)blockIdx.x * CountPlanesPolicy::kThreads + threadIdx.x,
               (uint64_t)gridDim.x * CountPlanesPolicy::kThreads, &tables);
  add_tables(tables, counts);
}

/* A block for each tile of the sample. */
template <uint32_t kValueBytes>
__global__ void __launch_bounds__(CountPlanesPolicy::kThreads)
    planes_sample_kernel(const uint8_t *bytes, uint64_t value_count, szg_planes_counts *counts) {
  __shared__ PlaneTables<kValueBytes> tables;
  clear_tables(&tables);
  count_sampled_tile(bytes, value_count, gridDim.x, blockIdx.x, &tables);
  add_tables(tables, counts);
}

/* Grid: blocks for each item, and the items. */
template <uint32_t kValueBytes>
__global__ void __launch_bounds__(CountPlanesPolicy::kThreads)
    items_count_kernel(const szg_planes_write_item *items, bool is_again) {
  __shared__ PlaneTables<kValueBytes> tables;
  const szg_planes_write_item &item = items[blockIdx.y];
  if (!is_item_of<kValueBytes>(item, is_again)) return;
  const uint8_t *const bytes = (const uint8_t *)item.output.values;
  uint64_t const value_count = item.output.value_count;
  uint64_t const tile_count = szg_planes_tile_count(value_count);
  uint32_t const counted_tiles = szg_planes_counted_tiles(tile_count);
  bool const is_sample = !is_again && !szg_planes_count_all(tile_count);
  uint64_t const useful = is_sample ? counted_tiles : CountPlanesPolicy::blocks_of(item.byte_count);
  uint32_t const block_count = (uint32_t)szg_lesser_u64(useful, gridDim.x);
  if (blockIdx.x >= block_count) return; /* the whole block */
  clear_tables(&tables);
  if (is_sample)
    for (uint32_t i = blockIdx.x; i < counted_tiles; i += block_count)
      count_sampled_tile(bytes, value_count, counted_tiles, i, &tables);
  else
    count_values(bytes, value_count,
                 (uint64_t)blockIdx.x * CountPlanesPolicy::kThreads + threadIdx.x,
                 (uint64_t)block_count * CountPlanesPolicy::kThreads, &tables);
  add_tables(tables, item.counts);
}

/* Counts a stretch as values of kValueBytes. The whole block calls. */
template <uint32_t kValueBytes>
__device__ void count_stretch(const uint8_t *bytes, uint64_t byte_count,
                              PlaneTables<SZG_PLANES_MOST> *memory, szg_planes_counts *counts) {
  auto const tables = (PlaneTables<kValueBytes> *)(void *)memory;
  clear_tables(tables);
  count_values(bytes, byte_count / kValueBytes, threadIdx.x, CountPlanesPolicy::kThreads, tables);
  add_tables(*tables, counts);
}

/* Counts a stretch as values of 1 << choice bytes. The whole block calls. */
__device__ __forceinline__ void count_stretch_as(uint32_t choice, const uint8_t *bytes,
                                                 const szg_split_stretch &stretch,
                                                 PlaneTables<SZG_PLANES_MOST> *memory,
                                                 szg_split_tally *tally) {
  const uint8_t *const first = bytes + stretch.first_byte;
  szg_planes_counts *const counts = &tally->counts[choice];
  switch (choice) {
    case 0:
      return count_stretch<1>(first, stretch.byte_count, memory, counts);
    case 1:
      return count_stretch<2>(first, stretch.byte_count, memory, counts);
    case 2:
      return count_stretch<4>(first, stretch.byte_count, memory, counts);
    default:
      return count_stretch<8>(first, stretch.byte_count, memory, counts);
  }
}

struct SplitJob {
  const uint8_t *bytes;
  szg_split_tally *tally;
  szg_split_stretch stretches[SZG_SPLIT_STRETCHES];
};

/* Blocks: stretches by choices. */
__global__ void __launch_bounds__(CountPlanesPolicy::kThreads)
    split_count_kernel(const __grid_constant__ SplitJob job) {
  __shared__ PlaneTables<SZG_PLANES_MOST> memory;
  count_stretch_as(blockIdx.y, job.bytes, job.stretches[blockIdx.x], &memory, job.tally);
}

/* Grid: the choices of each stretch, and the items. */
__global__ void __launch_bounds__(CountPlanesPolicy::kThreads)
    items_split_kernel(const szg_planes_write_item *items) {
  __shared__ PlaneTables<SZG_PLANES_MOST> memory;
  const szg_planes_write_item &item = items[blockIdx.y];
  uint32_t const stretch = blockIdx.x / SZG_SPLIT_CHOICES, choice = blockIdx.x % SZG_SPLIT_CHOICES;
  if (stretch >= szg_split_stretch_count(item.byte_count)) return;
  count_stretch_as(choice, (const uint8_t *)item.output.values,
                   szg_split_stretch_at(item.byte_count, stretch), &memory, item.tally);
}

/* ---- launches ---- */

template <uint32_t kValueBytes>
szgpu_status launch_count(const void *values, uint64_t value_count, bool is_sample,
                          szg_planes_counts *counts, cudaStream_t stream) {
  typedef CountPlanesPolicy Policy;
  if (is_sample) {
    unsigned const blocks = szg_planes_counted_tiles(szg_planes_tile_count(value_count));
    planes_sample_kernel<kValueBytes>
        <<<blocks, Policy::kThreads, 0, stream>>>((const uint8_t *)values, value_count, counts);
    return szg_launched();
  }
  unsigned blocks = 0;
  SZG_TRY(szg_spread_blocks(value_count, Policy::kThreads * kVectorBytes / kValueBytes,
                            Policy::kBlocksPerProcessor, &blocks));
  assert(value_count / blocks < UINT32_MAX / 2); /* or a block's counters might overflow */
  planes_count_kernel<kValueBytes>
      <<<blocks, Policy::kThreads, 0, stream>>>((const uint8_t *)values, value_count, counts);
  return szg_launched();
}

template <uint32_t kValueBytes>
szgpu_status launch_items(const szg_planes_write_list &list, bool is_again, cudaStream_t stream) {
  typedef CountPlanesPolicy Policy;
  int processor_count = 0;
  SZG_TRY(szg_multiprocessor_count(&processor_count));
  uint64_t const tile_count = szg_planes_tile_count(list.most_bytes / kValueBytes);
  bool const is_sample = !is_again && !szg_planes_count_all(tile_count);
  uint64_t const useful =
      is_sample ? (uint64_t)SZG_PLANES_MOST_COUNTED : Policy::blocks_of(list.most_bytes);
  dim3 const blocks =
      item_blocks(useful, (unsigned)processor_count * Policy::kBlocksPerProcessor, list.item_count);
  items_count_kernel<kValueBytes><<<blocks, Policy::kThreads, 0, stream>>>(list.items, is_again);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_planes_count_cuda(const void *values, uint64_t value_count, uint32_t value_bytes,
                                   bool is_sample, szg_planes_counts *counts,
                                   struct CUstream_st *stream) {
  if (value_count == 0) return SZGPU_OK;
  return szg_with_width(value_bytes, [&](auto bits) {
    return szg::launch_count<sizeof bits>(values, value_count, is_sample, counts, stream);
  });
}

szgpu_status szg_split_count_cuda(const uint8_t *bytes, uint64_t byte_count, szg_split_tally *tally,
                                  struct CUstream_st *stream) {
  uint32_t const stretches = szg_split_stretch_count(byte_count);
  if (stretches == 0) return SZGPU_OK;
  szg::SplitJob job = {bytes, tally, {}};
  for (uint32_t i = 0; i < stretches; i++) job.stretches[i] = szg_split_stretch_at(byte_count, i);
  dim3 const blocks(stretches, SZG_SPLIT_CHOICES);
  szg::split_count_kernel<<<blocks, szg::CountPlanesPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}

szgpu_status szg_planes_count_items_cuda(const szg_planes_write_list *list, bool is_again,
                                         struct CUstream_st *stream) {
  return szg::for_each_width(list->value_bytes, [&](auto width) {
    return szg::launch_items<decltype(width)::value>(*list, is_again, stream);
  });
}

szgpu_status szg_split_count_items_cuda(const szg_planes_write_list *list,
                                        struct CUstream_st *stream) {
  uint32_t const stretches = szg_split_stretch_count(list->most_bytes);
  dim3 const blocks(stretches * SZG_SPLIT_CHOICES, list->item_count);
  szg::items_split_kernel<<<blocks, szg::CountPlanesPolicy::kThreads, 0, stream>>>(list->items);
  return szg_launched();
}
