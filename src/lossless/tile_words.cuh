/* tile_words.cuh - where each tile's words begin: running sums of u16 sizes, a share a block.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block adds up the sizes before its share by itself, so that it waits for nobody, and none of it
 * needs a launch of its own: see fused/tile_places.cu, which does the same.
 */
#ifndef SZG_TILE_WORDS_CUH
#define SZG_TILE_WORDS_CUH

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "core/cuda_check.cuh"

namespace szg {

/* A thread reads two sizes at once and writes their places, 16 bytes. */
struct SumsPolicy {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kThreadTiles = 2;
  static constexpr uint32_t kChunkTiles = kThreads * kThreadTiles;
  static constexpr uint32_t kMostBlocks = 64; /* or sizes are read too often */
};

typedef cub::BlockScan<uint32_t, SumsPolicy::kThreads, cub::BLOCK_SCAN_WARP_SCANS> SumsScan;
typedef cub::BlockReduce<uint64_t, SumsPolicy::kThreads> SumsReduce;
static_assert((uint64_t)SumsPolicy::kChunkTiles * UINT16_MAX <= UINT32_MAX, "of a chunk's words");

struct SumsMemory {
  union {
    SumsReduce::TempStorage reduce;
    SumsScan::TempStorage scan;
  };
  uint64_t words_before;
};

/* Both aligned to 16. */
struct SumsJob {
  const uint16_t *sizes; /* [tiles] */
  uint64_t *first_words; /* [tiles + 1] */
  uint64_t tile_count;
};

inline unsigned sums_blocks(uint64_t tile_count) {
  return szg_grid_blocks(tile_count + 1, SumsPolicy::kChunkTiles, SumsPolicy::kMostBlocks);
}

__device__ __forceinline__ uint32_t sum_of_two(uint32_t sizes) {
  return (sizes & 0xFFFF) + (sizes >> 16);
}

/* Words of tile_count tiles, whole chunks, from the first on. The whole block calls and gets it. */
__device__ inline uint64_t words_of_first(const uint16_t *sizes, uint64_t tile_count,
                                          SumsMemory *memory) {
  static_assert(SumsPolicy::kChunkTiles % 8 == 0, "whole vectors");
  const uint4 *const vectors = (const uint4 *)(const void *)sizes;
  uint64_t words = 0;
#pragma unroll 4
  for (uint64_t i = threadIdx.x; i < tile_count / 8; i += SumsPolicy::kThreads) {
    uint4 const eight = vectors[i];
    words += sum_of_two(eight.x) + sum_of_two(eight.y) + sum_of_two(eight.z) + sum_of_two(eight.w);
  }
  words = SumsReduce(memory->reduce).Sum(words);
  if (threadIdx.x == 0) memory->words_before = words;
  __syncthreads(); /* known to all, and the memory is free */
  return memory->words_before;
}

/* words: of the chunks before. Returns those of this one, too. The whole block calls. */
__device__ inline uint64_t place_chunk(const SumsJob &job, uint64_t chunk, uint64_t words,
                                       SumsMemory *memory) {
  uint64_t const first = chunk * SumsPolicy::kChunkTiles + threadIdx.x * SumsPolicy::kThreadTiles;
  uint32_t both = 0;
  if (first + 1 < job.tile_count)
    both = *(const uint32_t *)(const void *)(job.sizes + first);
  else if (first < job.tile_count)
    both = job.sizes[first];
  uint32_t in_chunk = 0, chunk_words = 0;
  SumsScan(memory->scan).ExclusiveSum(sum_of_two(both), in_chunk, chunk_words);
  uint64_t const place = words + in_chunk;
  if (first < job.tile_count) /* a place more than tiles */
    *(ulonglong2 *)(void *)(job.first_words + first) =
        make_ulonglong2(place, place + (both & 0xFFFF));
  else if (first == job.tile_count)
    job.first_words[first] = place;
  __syncthreads(); /* the scan's memory is free */
  return words + chunk_words;
}

/* A share of the tiles' places; of the last share all words, of others no matter what. The whole
 * block calls. */
__device__ inline uint64_t place_share(const SumsJob &job, uint32_t share, uint32_t share_count,
                                       SumsMemory *memory) {
  uint64_t const chunk_count = job.tile_count / SumsPolicy::kChunkTiles + 1;
  uint64_t const begin = chunk_count * share / share_count;
  uint64_t const end = chunk_count * (share + 1) / share_count;
  uint64_t words = 0;
  if (begin > 0) words = words_of_first(job.sizes, begin * SumsPolicy::kChunkTiles, memory);
  for (uint64_t chunk = begin; chunk < end; chunk++) words = place_chunk(job, chunk, words, memory);
  return words;
}

} // namespace szg

#endif
