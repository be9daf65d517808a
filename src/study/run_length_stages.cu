/* run_length_stages.cu - run-length coding of symbols on a GPU in four steps, as published.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parallel run-length encoding of A. Balevic, "Fine-Grain Parallelization of Entropy Coding on
 * GPGPUs", as the article "Implementing Run-length encoding in CUDA" at erkaman.github.io explains
 * it: a mask of the symbols that begin a run, the mask's running sum, which gives each run its
 * index, the positions where runs begin, and counts as differences of these. Each step is a kernel
 * that writes an array in global memory.
 *
 * Moves, for each symbol of b bytes, b + 4 bytes (mask), 8 (sum) and 4 (positions), and for each
 * run 4 bytes (positions) and 8 + 2 b to write it.
 */
#include <cub/cub.cuh>

#include "core/cuda_check.cuh"
#include "study/run_length.h"

namespace {

struct StagePolicy {
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kBlocksPerProcessor = 8;
};

/* A grid covers the items in strides. */
__device__ uint32_t first_item() { return blockIdx.x * StagePolicy::kThreads + threadIdx.x; }
__device__ uint32_t item_stride() { return gridDim.x * StagePolicy::kThreads; }

template <class Symbol>
__global__ void __launch_bounds__(StagePolicy::kThreads)
    mask_make_kernel(const Symbol *symbols, uint32_t symbol_count, uint32_t *mask) {
  for (uint32_t i = first_item(); i < symbol_count; i += item_stride())
    mask[i] = szg_run_begins(i, i > 0 ? symbols[i - 1] : 0, symbols[i]);
}

__global__ void __launch_bounds__(StagePolicy::kThreads)
    begins_compact_kernel(const uint32_t *scanned, uint32_t symbol_count, uint32_t *begins,
                          uint64_t *run_count) {
  for (uint32_t i = first_item(); i < symbol_count; i += item_stride()) {
    uint32_t const begun = scanned[i];
    if (i == 0 || begun != scanned[i - 1]) begins[begun - 1] = i;
    if (i == symbol_count - 1) {
      begins[begun] = symbol_count;
      *run_count = begun;
    }
  }
}

template <class Symbol>
__global__ void __launch_bounds__(StagePolicy::kThreads)
    runs_scatter_kernel(const uint32_t *begins, const Symbol *symbols, const uint64_t *run_count,
                        uint64_t capacity, uint32_t *counts, Symbol *run_symbols) {
  uint32_t const written_count = (uint32_t)min(*run_count, capacity);
  for (uint32_t run = first_item(); run < written_count; run += item_stride()) {
    uint32_t const begin = begins[run];
    run_symbols[run] = symbols[begin];
    counts[run] = begins[run + 1] - begin;
  }
}

/* If scratch is NULL, only sets *scratch_bytes. */
cudaError_t scan_mask(void *scratch, size_t *scratch_bytes, const uint32_t *mask, uint32_t *scanned,
                      uint64_t symbol_count, cudaStream_t stream) {
  return cub::DeviceScan::InclusiveSum(scratch, *scratch_bytes, mask, scanned, (int)symbol_count,
                                       stream);
}

template <class Symbol>
szgpu_status launch_stages(const szg_run_stages_cuda &stages, const Symbol *symbols,
                           uint64_t symbol_count, const szg_run_output_cuda &runs,
                           cudaStream_t stream) {
  typedef StagePolicy P;
  unsigned blocks = 0;
  SZG_TRY(szg_spread_blocks(symbol_count, P::kThreads, P::kBlocksPerProcessor, &blocks));
  uint32_t const count = (uint32_t)symbol_count;
  mask_make_kernel<<<blocks, P::kThreads, 0, stream>>>(symbols, count, stages.mask);
  SZG_TRY_LAUNCH();
  size_t scratch_bytes = stages.scan_temp_bytes;
  SZG_TRY_CUDA(scan_mask(stages.scan_temp, &scratch_bytes, stages.mask, stages.scanned,
                         symbol_count, stream));
  begins_compact_kernel<<<blocks, P::kThreads, 0, stream>>>(stages.scanned, count, stages.begins,
                                                            runs.count);
  SZG_TRY_LAUNCH();
  runs_scatter_kernel<<<blocks, P::kThreads, 0, stream>>>(
      stages.begins, symbols, runs.count, runs.capacity, runs.counts, (Symbol *)runs.symbols);
  return szg_launched();
}

} // namespace

szgpu_status szg_run_stages_carve_cuda(szg_arena *arena, uint64_t symbol_count,
                                       szg_run_stages_cuda *stages) {
  SZG_REQUIRE(symbol_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  size_t scratch_bytes = 0;
  SZG_TRY_CUDA(scan_mask(nullptr, &scratch_bytes, nullptr, nullptr, symbol_count, nullptr));
  stages->mask = (uint32_t *)szg_arena_take(arena, symbol_count, sizeof *stages->mask);
  stages->scanned = (uint32_t *)szg_arena_take(arena, symbol_count, sizeof *stages->scanned);
  stages->begins = (uint32_t *)szg_arena_take(arena, symbol_count + 1, sizeof *stages->begins);
  stages->scan_temp = szg_arena_take(arena, scratch_bytes, 1);
  stages->scan_temp_bytes = scratch_bytes;
  return SZGPU_OK;
}

szgpu_status szg_runs_encode_staged_cuda(const szg_run_stages_cuda *stages, uint32_t symbol_bytes,
                                         const void *symbols, uint64_t symbol_count,
                                         const szg_run_output_cuda *runs,
                                         struct CUstream_st *stream) {
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  SZG_REQUIRE(symbol_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  if (symbol_count == 0) {
    SZG_TRY_CUDA(cudaMemsetAsync(runs->count, 0, sizeof *runs->count, stream));
    return SZGPU_OK;
  }
  return symbol_bytes == 1
             ? launch_stages(*stages, (const uint8_t *)symbols, symbol_count, *runs, stream)
             : launch_stages(*stages, (const uint16_t *)symbols, symbol_count, *runs, stream);
}
