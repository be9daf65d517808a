/* hierarchical_kernel.cuh - byte symbols by chained tables of 256 entries: the kernel.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each thread holds its 8 bytes of the stream and the 4 after them in registers. First it looks up
 * the codes that begin there and keeps the result, a few packs of symbols. The block scans the
 * numbers of symbols, and each thread writes its symbols to their places in a buffer in shared
 * memory. From there the block stores them, 16 bytes of values per thread at a time. If codes are
 * so short that there are too many packs to keep, a warp goes through its bits twice and only
 * counts the first time.
 *
 * A lookup takes one byte, so shared memory has room for several copies of the tables: lanes read
 * different copies, and so different banks. Codes of more than 8 bits are rare, so threads look
 * them up in device memory. A block decodes many stretches of the stream with the same tables.
 *
 * Moves: reads the stream and the gaps (1/16 of it) once; writes the values once.
 */
#ifndef SZG_HIERARCHICAL_KERNEL_CUH
#define SZG_HIERARCHICAL_KERNEL_CUH

#include <cub/warp/warp_scan.cuh>

#include "core/bytes.h"
#include "core/cuda_check.cuh"
#include "huffman/decoders/hierarchical_block.cuh"

namespace szg {

/* ---- places ---- */

/* Counts the codes of the threads before this one, and of the block. The whole block calls. */
struct BlockCounts {
  uint32_t before, all;

  __device__ explicit BlockCounts(uint32_t count) {
    typedef cub::WarpScan<uint32_t> WarpScan;
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t *const warp_counts = block_memory()->warp_counts;
    WarpScan::TempStorage scan_memory; /* empty: the scan uses shuffles */
    uint32_t warp_count;
    WarpScan(scan_memory).ExclusiveSum(count, before, warp_count);
    if (lane == 0) warp_counts[warp] = warp_count;
    __syncthreads(); /* all warps have counted, and have stored the buffer's last values */
    uint32_t const other = warp_counts[lane % kWarps];
    uint32_t both = other << 16 | (lane % kWarps < warp ? other : 0);
#pragma unroll
    for (int step = kWarps / 2; step > 0; step /= 2) both += __shfl_xor_sync(kAllLanes, both, step);
    before += both & 0xFFFF;
    all = both >> 16;
  }
};
static_assert(HierarchicalPolicy::kThreads * kThreadBits <= 0xFFFF, "two counts in one word");

/* ---- values ----
 *
 * An Output stores values in units of 16 bytes, kUnitValues of them, and single ones at the ends:
 * store_unit(first, symbols) and store(place, symbol) take the number of a value and the place of
 * its symbol in shared memory. Units are aligned in both. The stores mark them as data that is not
 * read again (__stcs), which also keeps the compiler from splitting a store. */

/* Stores values first .. first + count - 1. Their symbols are in the buffer from place first %
 * kUnitValues on. The whole block calls. */
template <class Output>
__device__ void store_values(const Output &output, uint64_t first, uint32_t count) {
  uint32_t const symbols = shared_address(block_memory()->symbols);
  uint32_t const begin = (uint32_t)(first % Output::kUnitValues), end = begin + count;
  uint64_t const origin = first - begin;
  for (uint32_t i = threadIdx.x * Output::kUnitValues; i < end;
       i += HierarchicalPolicy::kThreads * Output::kUnitValues) {
    if (i >= begin && i + Output::kUnitValues <= end) {
      output.store_unit(origin + i, symbols + i);
      continue;
    }
    uint32_t const last = min(i + Output::kUnitValues, end);
#pragma unroll 1
    for (uint32_t k = max(i, begin); k < last; k++) output.store(origin + k, symbols + k);
  }
}

/* ---- a block's stretch of the stream ---- */

/* Where the positions say that a block's values go; no values if positions contradict each
 * other. */
struct BlockValues {
  uint64_t first, count;
  bool is_sound;

  __device__ BlockValues(const szg_hierarchical_stream &stream, uint64_t block,
                         uint64_t block_count) {
    first = szg_hierarchical_position(stream.positions, stream.position_bytes, block);
    uint64_t const end =
        szg_hierarchical_position(stream.positions, stream.position_bytes, block + 1);
    is_sound = first <= end && end <= stream.code_count && (block > 0 || first == 0) &&
               (block + 1 < block_count || end == stream.code_count);
    count = is_sound ? end - first : 0;
  }
};

/* Returns false if the block does not agree with its side data. kKeepsPacks: warps keep packs that
 * fit. */
template <class Output, bool kKeepsPacks>
__device__ bool decode_block(const szg_hierarchical_tables *tables,
                             const szg_hierarchical_stream &stream, const Output &output,
                             uint64_t block, uint64_t block_count) {
  uint64_t const thread = block * HierarchicalPolicy::kThreads + threadIdx.x;
  ThreadWords const words(stream, thread);
  ThreadStretch const stretch(stream, thread);
  bool is_sound = thread > 0 || stretch.gap == 0;
  KeptPacks const packs(tables, words, stretch);
  bool const is_kept = kKeepsPacks && __all_sync(kAllLanes, packs.is_all);
  uint32_t count = packs.count;
  if (!is_kept) {
    uint32_t const span = count_codes(tables, words, stretch, &is_sound);
    count = span >> kSpanCountBit;
    is_sound &= (span & kSpanBits) == stretch.end;
  }
  BlockValues const values(stream, block, block_count); /* read late, to save registers */
  is_sound &= values.is_sound;
  BlockCounts const counts(count);
  is_sound &= counts.all == values.count;

  uint32_t const begin = shared_address(block_memory()->symbols) +
                         (uint32_t)(values.first % Output::kUnitValues) + counts.before;
  if (is_kept) {
    packs.write(begin);
  } else {
    SymbolWriter writer = {tables, words, own_copy(block_memory()->packs), stretch.gap, begin};
    writer.write_until(begin + count);
  }
  __syncthreads(); /* all symbols are in the buffer */
  store_values(output, values.first, (uint32_t)min((uint64_t)counts.all, values.count));
  return is_sound;
}

template <class Output, bool kKeepsPacks>
__global__ void __launch_bounds__(HierarchicalPolicy::kThreads, HierarchicalPolicy::kBlocks)
    blocks_decode_kernel(const szg_hierarchical_tables *tables, szg_hierarchical_stream stream,
                         Output output, uint64_t block_count, szg_verdict *verdict) {
  if (__syncthreads_or(verdict->bad_data != 0)) return;
  fill_tables(tables);
  __syncthreads(); /* tables complete */
  bool is_sound = true;
  for (uint64_t block = blockIdx.x; block < block_count; block += gridDim.x)
    is_sound &= decode_block<Output, kKeepsPacks>(tables, stream, output, block, block_count);
  if (!is_sound) verdict->bad_data = 1;
}

/* ---- on the host ---- */

template <class Output, bool kKeepsPacks>
szgpu_status launch_blocks(const szg_hierarchical_tables *tables,
                           const szg_hierarchical_stream *stream, const Output &output,
                           szg_verdict *verdict, cudaStream_t cuda_stream) {
  auto const kernel = blocks_decode_kernel<Output, kKeepsPacks>;
  uint64_t const block_count = szg_hierarchical_block_count(stream->bit_count);
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared));
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(kernel, (int)HierarchicalPolicy::kThreads,
                              (int)sizeof(HierarchicalMemory), &most_blocks));
  kernel<<<szg_grid_blocks(block_count, 1, most_blocks), HierarchicalPolicy::kThreads,
           sizeof(HierarchicalMemory), cuda_stream>>>(tables, *stream, output, block_count,
                                                      verdict);
  return szg_launched();
}

/* The work of szg_decode_hierarchical_cuda, to values of any kind. */
template <class Output>
szgpu_status decode_to(const szg_hierarchical_tables *tables, const szg_hierarchical_stream *stream,
                       const Output &output, szg_verdict *verdict, cudaStream_t cuda_stream) {
  SZG_REQUIRE(stream->bit_count <= UINT64_MAX / 2, SZGPU_BAD_DATA);
  SZG_REQUIRE(stream->word_count == szg_div_up(stream->bit_count, 32), SZGPU_BAD_DATA);
  if (stream->bit_count > 0) {
    auto const launch = szg_hierarchical_keeps_packs(stream) ? launch_blocks<Output, true>
                                                             : launch_blocks<Output, false>;
    return launch(tables, stream, output, verdict, cuda_stream);
  }
  if (stream->code_count > 0) /* there are no bits for them */
    SZG_TRY_CUDA(cudaMemsetAsync(&verdict->bad_data, 1, sizeof verdict->bad_data, cuda_stream));
  return SZGPU_OK;
}

} // namespace szg

#endif
