/* top_plane.cu - splits off the highest byte plane of values, and joins all planes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compression reads values twice: once for the highest plane, which becomes codes and is counted,
 * and once more for the others, because their place in the archive depends on the counts. To keep
 * them in memory in between would move as many bytes. Each thread takes runs of four values. In
 * decompression each warp takes a tile, and each lane takes four values of each row of 128 and adds
 * up code lengths on the way.
 *
 * Memory traffic for values of w bytes: w in and 2 out; w in and w - 1 out; w + 1 (w if codes are
 * bytes) in and w out, and 2 bytes in for each tile.
 */
#include "codecs/planes/top_plane_cuda.h"

#include <assert.h>

#include "codecs/planes/plane_rows.cuh"
#include "core/cuda_check.cuh"

namespace szg {
namespace {

/* kRuns: runs per thread with loads in flight at a time. */
template <uint32_t kValueBytes>
struct TopPlanePolicy {
  static constexpr int kThreads = 256;
  static constexpr unsigned kBlocks = 4; /* per multiprocessor, for which registers suffice */
  static constexpr uint32_t kRuns = kValueBytes <= 2 ? 4 : kValueBytes == 4 ? 2 : 1;
  static constexpr uint32_t kRows = 2 * kRuns; /* of a tile */
  static_assert(kTileRows % kRows == 0, "whole batches");
};

/* ---- values apart ---- */

struct Values {
  const uint8_t *bytes;
  uint64_t count;
  bool are_runs_aligned; /* whole runs can be loaded at once */
};

/* Run number r of the values, with zeros for missing values. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void load_values(const Values &values, uint64_t r,
                                            uint32_t (&run)[kValueBytes]) {
  uint64_t const first = r * SZG_PLANES_RUN;
  uint64_t const left = first < values.count ? values.count - first : 0;
  if (values.are_runs_aligned && left >= SZG_PLANES_RUN)
    load_run<kValueBytes>(values.bytes + first * kValueBytes, run);
  else
    load_run_bytes<kValueBytes>(values.bytes + first * kValueBytes,
                                (uint32_t)min(left, (uint64_t)SZG_PLANES_RUN) * kValueBytes, run);
}

/* The highest symbol of value k of a run. Turned by a bit, it has its sign elsewhere. */
template <uint32_t kValueBytes>
__device__ __forceinline__ uint32_t top_symbol(const uint32_t (&run)[kValueBytes], uint32_t k) {
  if constexpr (kValueBytes == 1) return run[0] >> 8 * k & 255;
  if constexpr (kValueBytes == 2) return run[k / 2] >> (16 * (k % 2) + 7) & 255;
  return run[kValueBytes / 4 * (k + 1) - 1] >> 23 & 255;
}

template <uint32_t kValueBytes>
__global__ void __launch_bounds__(TopPlanePolicy<kValueBytes>::kThreads,
                                  TopPlanePolicy<kValueBytes>::kBlocks)
    top_plane_take_kernel(Values values, uint16_t *codes, unsigned long long *counts) {
  typedef TopPlanePolicy<kValueBytes> Policy;
  __shared__ uint32_t block_counts[SZG_PLANES_SYMBOLS];
  static_assert(Policy::kThreads == SZG_PLANES_SYMBOLS, "a counter a thread");
  block_counts[threadIdx.x] = 0;
  __syncthreads(); /* all counters are 0 */
  uint64_t const run_count = (values.count + SZG_PLANES_RUN - 1) / SZG_PLANES_RUN;
  uint64_t const stride = (uint64_t)gridDim.x * Policy::kThreads;
  uint64_t const thread = (uint64_t)blockIdx.x * Policy::kThreads + threadIdx.x;
  for (uint64_t r = thread; r < run_count; r += Policy::kRuns * stride) {
    uint32_t runs[Policy::kRuns][kValueBytes];
#pragma unroll
    for (uint32_t i = 0; i < Policy::kRuns; i++) load_values(values, r + i * stride, runs[i]);
#pragma unroll
    for (uint32_t i = 0; i < Policy::kRuns; i++) {
      uint64_t const first = (r + i * stride) * SZG_PLANES_RUN;
      if (first >= values.count) continue;
      uint32_t symbols[SZG_PLANES_RUN];
#pragma unroll
      for (uint32_t k = 0; k < SZG_PLANES_RUN; k++) {
        symbols[k] = top_symbol<kValueBytes>(runs[i], k);
        if (first + k < values.count) atomicAdd(&block_counts[symbols[k]], 1u);
      }
      *(uint2 *)(void *)(codes + first) =
          make_uint2(symbols[0] | symbols[1] << 16, symbols[2] | symbols[3] << 16);
    }
  }
  __syncthreads(); /* the block has counted all its values */
  uint32_t const count = block_counts[threadIdx.x];
  if (count) atomicAdd(&counts[threadIdx.x], (unsigned long long)count);
}

template <uint32_t kValueBytes>
__global__ void __launch_bounds__(TopPlanePolicy<kValueBytes>::kThreads,
                                  TopPlanePolicy<kValueBytes>::kBlocks)
    top_plane_store_kernel(Values values, uint64_t plane_bytes, uint8_t *stored) {
  typedef TopPlanePolicy<kValueBytes> Policy;
  uint64_t const run_count = plane_bytes / SZG_PLANES_RUN; /* with padding */
  uint64_t const stride = (uint64_t)gridDim.x * Policy::kThreads;
  uint64_t const thread = (uint64_t)blockIdx.x * Policy::kThreads + threadIdx.x;
  for (uint64_t r = thread; r < run_count; r += Policy::kRuns * stride) {
    uint32_t runs[Policy::kRuns][kValueBytes];
#pragma unroll
    for (uint32_t i = 0; i < Policy::kRuns; i++) load_values(values, r + i * stride, runs[i]);
#pragma unroll
    for (uint32_t i = 0; i < Policy::kRuns; i++) {
      if (r + i * stride >= run_count) continue;
      split_run<kValueBytes>(runs[i]);
      uint8_t *to = stored + (r + i * stride) * SZG_PLANES_RUN;
#pragma unroll
      for (uint32_t plane = 0; plane + 1 < kValueBytes; plane++, to += plane_bytes)
        __stcs((uint32_t *)(void *)to, runs[i][plane]);
    }
  }
}

/* ---- planes together ---- */

struct MergeJob {
  szg_top_plane_input_cuda input;
  uint64_t plane_bytes;
  uint64_t first_value, value_count; /* the wanted values of the frame */
  uint8_t *values;                   /* where they go */
  bool are_runs_aligned;             /* whole runs can be stored at once */
  uint64_t first_tile, end_tile;
  szg_verdict *verdict;
};

struct MergeTile {
  uint64_t first_value;
  uint32_t value_count;
};

/* Stores value k of a run in its place. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void store_value(uint8_t *to, const uint32_t (&run)[kValueBytes],
                                            uint32_t k) {
  if constexpr (kValueBytes == 1) *to = (uint8_t)(run[0] >> 8 * k);
  if constexpr (kValueBytes == 2) *(uint16_t *)(void *)to = (uint16_t)(run[k / 2] >> 16 * (k % 2));
  if constexpr (kValueBytes == 4) *(uint32_t *)(void *)to = run[k];
  if constexpr (kValueBytes == 8) *(uint2 *)(void *)to = make_uint2(run[2 * k], run[2 * k + 1]);
}

/* Stores those of the first `count` values of a run that are wanted; place: of the first. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void store_wanted(const MergeJob &job, uint64_t place, uint32_t count,
                                             const uint32_t (&run)[kValueBytes]) {
#pragma unroll
  for (uint32_t k = 0; k < SZG_PLANES_RUN; k++)
    if (k < count && place + k < job.value_count)
      store_value<kValueBytes>(job.values + (place + k) * kValueBytes, run, k);
}

/* Loads four symbols of the highest plane; only `count` exist, the others are 0. Takes only the low
 * byte of an invalid code. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ uint32_t load_symbols(const MergeJob &job, uint64_t first,
                                                 uint32_t count) {
  const uint8_t *const from = (const uint8_t *)job.input.codes + first * kCodeBytes;
  uint32_t symbols = 0;
  if (count < SZG_PLANES_RUN) {
    for (uint32_t k = 0; k < count; k++) symbols |= (uint32_t)from[k * kCodeBytes] << 8 * k;
  } else if constexpr (kCodeBytes == 1) {
    symbols = __ldcs((const uint32_t *)(const void *)from);
  } else {
    uint2 const codes = __ldcs((const uint2 *)(const void *)from);
    symbols = __byte_perm(codes.x, codes.y, 0x6420);
  }
  return symbols;
}

/* A lane's planes in a row. */
template <uint32_t kValueBytes, uint32_t kCodeBytes>
__device__ __forceinline__ void load_planes(const MergeJob &job, uint64_t first, uint32_t count,
                                            uint32_t (&run)[kValueBytes]) {
  const uint8_t *stored = job.input.stored + first;
#pragma unroll
  for (uint32_t plane = 0; plane + 1 < kValueBytes; plane++, stored += job.plane_bytes)
    run[plane] = count > 0 ? __ldcs((const uint32_t *)(const void *)stored) : 0;
  run[kValueBytes - 1] = load_symbols<kCodeBytes>(job, first, count);
}

/* kIsWhole: the tile is full and wanted whole, and whole runs can be stored. Returns the bits of
 * the lane's codes. */
template <uint32_t kValueBytes, uint32_t kCodeBytes, bool kIsWhole>
__device__ __forceinline__ uint32_t merge_rows(const MergeJob &job, const MergeTile &tile,
                                               const uint8_t *lengths, unsigned lane) {
  constexpr uint32_t kRows = TopPlanePolicy<kValueBytes>::kRows;
  uint32_t bits = 0;
#pragma unroll 1
  for (uint32_t row = 0; row < kTileRows; row += kRows) {
    uint32_t runs[kRows][kValueBytes], counts[kRows];
#pragma unroll
    for (uint32_t i = 0; i < kRows; i++) {
      uint32_t const before = (row + i) * SZG_PLANES_ROW + lane * SZG_PLANES_RUN;
      uint32_t const left = before < tile.value_count ? tile.value_count - before : 0;
      counts[i] = kIsWhole ? SZG_PLANES_RUN : min(left, (uint32_t)SZG_PLANES_RUN);
      load_planes<kValueBytes, kCodeBytes>(job, tile.first_value + before, counts[i], runs[i]);
    }
#pragma unroll
    for (uint32_t i = 0; i < kRows; i++) {
      uint32_t const before = (row + i) * SZG_PLANES_ROW + lane * SZG_PLANES_RUN;
      uint64_t const place = tile.first_value + before - job.first_value; /* huge: before them */
#pragma unroll
      for (uint32_t k = 0; k < SZG_PLANES_RUN; k++)
        if (k < counts[i]) bits += lengths[runs[i][kValueBytes - 1] >> 8 * k & 255];
      join_run<kValueBytes>(runs[i]);
      if (kIsWhole)
        store_run<kValueBytes>(job.values + place * kValueBytes, runs[i]);
      else
        store_wanted<kValueBytes>(job, place, counts[i], runs[i]);
    }
  }
  return bits;
}

/* False: the tile's codes do not have as many bits as its size says. The whole warp calls; only its
 * last lane gets the answer. */
template <uint32_t kValueBytes, uint32_t kCodeBytes>
__device__ __forceinline__ bool merge_tile(const MergeJob &job, uint64_t index,
                                           const uint8_t *lengths, unsigned lane) {
  uint64_t const first = index * SZG_TILE_VALUES, left = job.input.value_count - first;
  MergeTile const tile = {first, (uint32_t)min(left, (uint64_t)SZG_TILE_VALUES)};
  uint64_t const place = first - job.first_value; /* huge: before what is wanted */
  bool const is_whole =
      job.are_runs_aligned && place < job.value_count && job.value_count - place >= SZG_TILE_VALUES;
  uint32_t const lane_bits =
      is_whole ? merge_rows<kValueBytes, kCodeBytes, true>(job, tile, lengths, lane)
               : merge_rows<kValueBytes, kCodeBytes, false>(job, tile, lengths, lane);
  uint32_t const bits = sum_to_lane(lane_bits, lane);
  return lane + 1 < SZG_LANES || bits == job.input.tile_sizes[index] + tile.value_count;
}

template <uint32_t kValueBytes, uint32_t kCodeBytes>
__global__ void __launch_bounds__(TopPlanePolicy<kValueBytes>::kThreads,
                                  TopPlanePolicy<kValueBytes>::kBlocks)
    top_plane_merge_kernel(const __grid_constant__ MergeJob job) {
  typedef TopPlanePolicy<kValueBytes> Policy;
  constexpr uint32_t kWarps = Policy::kThreads / SZG_LANES;
  __shared__ uint8_t lengths[SZG_PLANES_SYMBOLS];
  if (__syncthreads_or(job.verdict->bad_data != 0)) return; /* the block as one: others set it */
  lengths[threadIdx.x] = job.input.code_lengths[threadIdx.x];
  __syncthreads(); /* lengths complete */
  unsigned const lane = threadIdx.x % SZG_LANES;
  uint64_t const first = job.first_tile + (uint64_t)blockIdx.x * kWarps + threadIdx.x / SZG_LANES;
  bool is_sound = true;
  for (uint64_t t = first; t < job.end_tile; t += (uint64_t)gridDim.x * kWarps)
    is_sound &= merge_tile<kValueBytes, kCodeBytes>(job, t, lengths, lane);
  if (!is_sound) job.verdict->bad_data = 1;
}

/* ---- launches ---- */

template <uint32_t kValueBytes>
szgpu_status blocks_for(uint64_t item_count, unsigned items_per_block, unsigned *blocks) {
  return szg_spread_blocks(item_count, items_per_block, TopPlanePolicy<kValueBytes>::kBlocks,
                           blocks);
}

template <uint32_t kValueBytes>
Values values_at(const void *values, uint64_t value_count) {
  return {(const uint8_t *)values, value_count, is_run_aligned<kValueBytes>(values)};
}

template <uint32_t kValueBytes>
szgpu_status launch_take(const void *values, uint64_t value_count, uint16_t *codes,
                         uint64_t *counts, cudaStream_t stream) {
  typedef TopPlanePolicy<kValueBytes> Policy;
  unsigned blocks = 0;
  SZG_TRY(blocks_for<kValueBytes>(value_count, Policy::kThreads * SZG_PLANES_RUN, &blocks));
  assert(value_count / blocks < UINT32_MAX / 2); /* or a block's counters might overflow */
  top_plane_take_kernel<kValueBytes>
      <<<blocks, Policy::kThreads, 0, stream>>>(values_at<kValueBytes>(values, value_count), codes,
                                                reinterpret_cast<unsigned long long *>(counts));
  return szg_launched();
}

template <uint32_t kValueBytes>
szgpu_status launch_store(const void *values, uint64_t value_count, uint8_t *stored,
                          cudaStream_t stream) {
  typedef TopPlanePolicy<kValueBytes> Policy;
  uint64_t const plane_bytes = szg_stored_plane_bytes(value_count);
  unsigned blocks = 0;
  SZG_TRY(blocks_for<kValueBytes>(plane_bytes, Policy::kThreads * SZG_PLANES_RUN, &blocks));
  top_plane_store_kernel<kValueBytes><<<blocks, Policy::kThreads, 0, stream>>>(
      values_at<kValueBytes>(values, value_count), plane_bytes, stored);
  return szg_launched();
}

template <uint32_t kValueBytes>
szgpu_status launch_merge(MergeJob job, cudaStream_t stream) {
  typedef TopPlanePolicy<kValueBytes> Policy;
  /* Where the frame's first value would go. */
  uintptr_t const frame = (uintptr_t)job.values - job.first_value * kValueBytes;
  job.are_runs_aligned = is_run_aligned<kValueBytes>((const void *)frame);
  unsigned blocks = 0;
  SZG_TRY(blocks_for<kValueBytes>(job.end_tile - job.first_tile, Policy::kThreads / SZG_LANES,
                                  &blocks));
  auto const kernel = job.input.code_bytes == 1 ? top_plane_merge_kernel<kValueBytes, 1>
                                                : top_plane_merge_kernel<kValueBytes, 2>;
  kernel<<<blocks, Policy::kThreads, 0, stream>>>(job);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_top_plane_take_cuda(const void *values, uint64_t value_count, uint32_t value_bytes,
                                     uint16_t *codes, uint64_t *counts,
                                     struct CUstream_st *stream) {
  if (value_count == 0) return SZGPU_OK;
  return szg_with_width(value_bytes, [&](auto bits) {
    return szg::launch_take<sizeof bits>(values, value_count, codes, counts, stream);
  });
}

szgpu_status szg_top_plane_store_cuda(const void *values, uint64_t value_count,
                                      uint32_t value_bytes, uint8_t *stored,
                                      struct CUstream_st *stream) {
  if (value_count == 0 || value_bytes == 1) return SZGPU_OK;
  auto const launch = value_bytes == 2   ? szg::launch_store<2>
                      : value_bytes == 4 ? szg::launch_store<4>
                                         : szg::launch_store<8>;
  return launch(values, value_count, stored, stream);
}

szgpu_status szg_top_plane_merge_cuda(const szg_top_plane_input_cuda *input, uint64_t first_value,
                                      uint64_t value_count, void *values, szg_verdict *verdict,
                                      struct CUstream_st *stream) {
  if (value_count == 0) return SZGPU_OK;
  szg::MergeJob job = {};
  job.input = *input;
  job.plane_bytes = szg_stored_plane_bytes(input->value_count);
  job.first_value = first_value;
  job.value_count = value_count;
  job.values = (uint8_t *)values;
  job.first_tile = first_value / SZG_TILE_VALUES;
  job.end_tile = (first_value + value_count - 1) / SZG_TILE_VALUES + 1;
  job.verdict = verdict;
  return szg_with_width(input->value_bytes,
                        [&](auto bits) { return szg::launch_merge<sizeof bits>(job, stream); });
}
