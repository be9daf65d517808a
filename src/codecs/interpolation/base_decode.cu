/* base_decode.cu - the base of three axes on the GPU: from words to lattice values. One block per
 * tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   lanes   words to codes in shared memory: 32 threads, spread over all warps, so that few wait
 *           for one another
 *   sums    along y there, along z in registers, along x by shuffles, and to the grid
 *
 * There are few tiles, each of them a chain of lookups, and all levels wait for them. So what
 * counts is latency. Memory traffic: words read and points written once; a block reads tables of 16
 * or 32 KB.
 */
#include "codecs/interpolation/base_decode_lanes.cuh"
#include "codecs/interpolation/levels_fused.h"
#include "core/copy_ahead.cuh"
#include "core/cuda_check.cuh"

namespace szg {
namespace {

struct BaseDecodePolicy {
  static constexpr uint32_t kThreads = LevelsPolicy::kThreads;
  static constexpr uint32_t kWarps = kThreads / 32;
  static constexpr uint32_t kWarpLanes = SZG_LANES / kWarps; /* lanes of bits for a warp */
};

/* A lane looks after each group whether it has left its bits, and looks some words ahead. */
constexpr uint32_t kBaseOverrunWords = (SZG_TOKENS_GROUP_MOST_BITS + 31) / 32 + 4;

struct BaseDecodeMemory {
  BaseTables tables;
  uint32_t sums[kBaseRoom];
  uint32_t words[(SZG_LEAST_SHARED_BYTES - sizeof(BaseTables)) / 4 - kBaseRoom];
};
static_assert(sizeof(BaseDecodeMemory) <= SZG_LEAST_SHARED_BYTES, "a block fits on any GPU");
/* Tiles of more words are read where they are: they have more than 26 bits a value. */
constexpr uint32_t kBaseMostWords =
    sizeof(BaseDecodeMemory::words) / sizeof(uint32_t) - kBaseOverrunWords;

struct BaseDecodeJob {
  BaseLevel level;
  szg_tokens_input_cuda input;
  uint64_t first_tile;
  uint32_t base_axes;
  uint32_t *grid;
  szg_verdict *verdict;
};

/* What the section's front says, read before anything waits. */
struct BaseFront {
  uint32_t mode, lane_groups_log2, unit;

  __device__ __forceinline__ explicit BaseFront(const szg_tokens_opened_cuda &opened)
      : mode(opened.mode), lane_groups_log2(opened.lane_groups_log2), unit(opened.unit) {}
};

/* ---- loading ---- */

/* Asks for words and puts zeros behind them. The whole block calls. */
__device__ __forceinline__ void stage_words(const ArchiveWords &words, uint32_t *staged) {
  for (uint32_t i = threadIdx.x; i < words.end; i += BaseDecodePolicy::kThreads)
    copy_ahead<4>(staged + i, words.words + i);
  end_copies();
  for (uint32_t i = threadIdx.x; i < kBaseOverrunWords; i += BaseDecodePolicy::kThreads)
    staged[words.end + i] = 0;
}

/* Asks for a thread's part of the tables. In plain mode others are not set. */
__device__ __forceinline__ void stage_tables(const szg_tokens_tables_cuda &from, uint32_t mode,
                                             BaseTables *tables) {
  bool const has_others = mode != SZG_LEVELS_MODE_PLAIN;
  for (uint32_t i = 4 * threadIdx.x; i < SZG_TOKENS_ENTRIES; i += 4 * BaseDecodePolicy::kThreads) {
    copy_ahead<16>(tables->values + i, from.values + i);
    if (has_others) copy_ahead<16>(tables->others + i, from.others + i);
  }
  end_copies();
}
/* Once it is there, gives its entries their form here. */
__device__ __forceinline__ void change_entries(BaseTables *tables) {
#pragma unroll 1
  for (uint32_t i = 4 * threadIdx.x; i < SZG_TOKENS_ENTRIES; i += 4 * BaseDecodePolicy::kThreads) {
    auto *const own = (uint4 *)(tables->values + i);
    uint4 const four = *own;
    *own = make_uint4(BaseEntry::of(four.x), BaseEntry::of(four.y), BaseEntry::of(four.z),
                      BaseEntry::of(four.w));
  }
}

__device__ __forceinline__ void clear_sums(uint32_t *sums) {
  static_assert(kBaseRoom % 4 == 0, "whole vectors");
  for (uint32_t i = threadIdx.x; i < kBaseRoom / 4; i += BaseDecodePolicy::kThreads)
    ((uint4 *)sums)[i] = make_uint4(0, 0, 0, 0);
}

/* ---- lanes ---- */

/* Whether the lane is valid; the whole warp calls. head_words: the tile's, to read its head. */
template <class Words>
__device__ __forceinline__ bool decode_lanes(const BaseDecodeJob &job, const BaseFront &front,
                                             const BaseExtents &extents,
                                             const ArchiveWords &head_words, const Words &words,
                                             BaseDecodeMemory *memory) {
  uint32_t const g = front.lane_groups_log2;
  szg_tokens_shape const shape = {kBaseGroups, g, false};
  LaneRange const range = read_head(szg_tokens_head_form(&shape), head_words);
  if (!range.is_sound) return false; /* the whole block */
  uint32_t const i = threadIdx.x % 32;
  uint32_t const lane =
      threadIdx.x / 32 * BaseDecodePolicy::kWarpLanes + i % BaseDecodePolicy::kWarpLanes;
  uint32_t const first_bit = __shfl_sync(kAllLanes, range.first, (int)lane);
  uint32_t const end_bit = __shfl_sync(kAllLanes, range.end, (int)lane);
  if (i >= BaseDecodePolicy::kWarpLanes || first_bit == end_bit) return true;
  BaseLane<Words> own = {memory->tables, extents, {words, first_bit}, false};
  return own.take_groups(front.mode, lane << g, min((lane + 1) << g, kBaseGroups), end_bit,
                         memory->sums);
}

/* Codes of a tile that has words. False: they are invalid. The whole block calls. */
__device__ __forceinline__ bool decode_base_tile(const BaseDecodeJob &job, const BaseFront &front,
                                                 const BaseExtents &extents,
                                                 const ArchiveWords &words,
                                                 BaseDecodeMemory *memory) {
  bool const is_staged = words.end <= kBaseMostWords;
  stage_tables(job.input.opened->tables, front.mode, &memory->tables);
  if (is_staged) stage_words(words, memory->words);
  clear_sums(memory->sums);
  if (is_staged)
    await_copies<1>();
  else
    await_copies<0>();
  change_entries(&memory->tables);
  await_copies<0>();
  __syncthreads(); /* words and tables are there, and sums are 0 */
  bool is_sound;
  if (is_staged)
    is_sound = decode_lanes(job, front, extents, ArchiveWords{memory->words, words.end},
                            StagedWords::of(memory->words), memory);
  else
    is_sound = decode_lanes(job, front, extents, words, words, memory);
  return __syncthreads_and(is_sound); /* codes are there */
}

/* ---- sums ---- */

/* Along y, in place. Lanes do not do it: their chains are what the block waits for. The whole block
 * calls. */
__device__ __forceinline__ void sum_columns(uint32_t *sums) {
#pragma unroll
  for (uint32_t i = 0; i < kBaseX * kBaseZ / BaseDecodePolicy::kThreads; i++) {
    uint32_t *const column = sums + base_column(i * BaseDecodePolicy::kThreads + threadIdx.x);
    uint32_t own[kBaseY];
#pragma unroll
    for (uint32_t y = 0; y < kBaseY; y++) own[y] = column[y * kBaseRow];
#pragma unroll
    for (uint32_t y = 1; y < kBaseY; y++) column[y * kBaseRow] = own[y] += own[y - 1];
  }
  __syncthreads(); /* sums along y are there */
}

/* Along z and x, and to the grid. The whole block calls. */
__device__ __forceinline__ void store_sums(const BaseDecodeJob &job, const BasePlace &place,
                                           const uint32_t *sums, bool has_codes, uint32_t unit) {
  uint32_t const x = threadIdx.x % 32, y = threadIdx.x / 32;
  uint32_t const along_z = job.base_axes & SZG_AXIS_Z ? kAllLanes : 0;
  uint32_t q[kBaseZ];
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++)
    q[z] = has_codes ? sums[(z * kBaseY + y) * kBaseRow + x] : 0;
#pragma unroll
  for (uint32_t z = 1; z < kBaseZ; z++) q[z] += q[z - 1] & along_z;
  if (job.base_axes & SZG_AXIS_X) {
#pragma unroll
    for (uint32_t z = 0; z < kBaseZ; z++) q[z] = sum_to_lane(q[z], x);
  }
  uint32_t *const to =
      job.grid + place.first_point(job.level) + (uint64_t)y * job.level.row_points + x;
  uint64_t const plane_points = (uint64_t)job.level.row_points * job.level.y_extent;
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++)
    if (place.extents.stores(z, y, x)) to[z * plane_points] = q[z] * unit;
}

/* ---- the kernel ---- */

__global__ void __launch_bounds__(BaseDecodePolicy::kThreads)
    base_decode_kernel(const __grid_constant__ BaseDecodeJob job) {
  extern __shared__ __align__(16) unsigned char base_memory[];
  auto *const memory = reinterpret_cast<BaseDecodeMemory *>(base_memory);
  uint64_t const t = job.first_tile + blockIdx.x;
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  BaseFront const front(opened);
  ArchiveWords words = {nullptr, 0};
  bool is_sound = !opened.is_coded || words_of_tile(job.input, t, &words);
  BasePlace const place(job.level, (uint32_t)t);
  bool const has_codes = is_sound && words.end > 0; /* the same for the whole block */
  if (has_codes) is_sound = decode_base_tile(job, front, place.extents, words, memory);
  if (has_codes && job.base_axes & SZG_AXIS_Y) sum_columns(memory->sums); /* the whole block */
  if (!is_sound && threadIdx.x == 0) job.verdict->bad_data = 1;
  store_sums(job, place, memory->sums, has_codes, front.unit);
}

} // namespace
} // namespace szg

bool szg_base_decode_serves(const szg_levels *levels) { return szg::BaseLevel::serves(*levels); }

szgpu_status szg_base_decode_cuda(const szg_levels *levels, const szg_levels_tiles_cuda *tiles,
                                  const szg_levels_lattice *lattice,
                                  const szg_tokens_input_cuda *input, void *grid,
                                  szg_verdict *verdict, struct CUstream_st *stream) {
  if (tiles->first_tile >= tiles->end_tile) return SZGPU_OK;
  szg::LevelsJob const stage(*levels, 0, *lattice, tiles);
  auto const blocks = (unsigned)(tiles->end_tile - tiles->first_tile); /* below 2^31 */
  szg::BaseDecodeJob const job = {szg::BaseLevel(stage), *input,           tiles->first_tile,
                                  levels->base_axes,     (uint32_t *)grid, verdict};
  size_t const bytes = sizeof(szg::BaseDecodeMemory);
  SZG_TRY_CUDA(cudaFuncSetAttribute(szg::base_decode_kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  szg::base_decode_kernel<<<blocks, szg::BaseDecodePolicy::kThreads, bytes, stream>>>(job);
  return szg_launched();
}
