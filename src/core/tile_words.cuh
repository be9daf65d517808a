/* tile_words.cuh - where each tile's words begin: running sums of u16 sizes, one share per block.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each block adds up the sizes before its share by itself. So no block waits for another, and the
 * sums can run in a launch that does other work too. A tile costs 2 bytes read and 8 written, and
 * its size is read again for each later block: 64 MB from the second-level cache for 2^20 tiles,
 * which are 17 GB of f32. The last block's sum takes 17 ns for 1000 tiles, 0.3 % of the time that
 * their decompression takes, however many tiles there are. CUB's device scan takes two launches and
 * a memset.
 */
#ifndef SZG_TILE_WORDS_CUH
#define SZG_TILE_WORDS_CUH

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "core/cuda_check.cuh"
#include "core/device.h"

namespace szg {

/* For blocks of kThreadCount threads. A thread reads two sizes at once and writes their places, 16
 * bytes. */
template <uint32_t kThreadCount>
struct TileWords {
  static constexpr uint32_t kThreads = kThreadCount;
  static constexpr uint32_t kThreadTiles = 2;
  static constexpr uint32_t kChunkTiles = kThreads * kThreadTiles;
  static constexpr uint32_t kMostBlocks = 64; /* more would read sizes too often */
  static_assert((uint64_t)kChunkTiles * UINT16_MAX <= UINT32_MAX, "a chunk's words fit 32 bits");

  typedef cub::BlockScan<uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS> Scan;
  typedef cub::BlockReduce<uint64_t, kThreads> Reduce;

  struct Memory {
    union {
      typename Reduce::TempStorage reduce;
      typename Scan::TempStorage scan;
    };
    uint64_t words_before;
  };

  struct Job {
    const uint16_t *sizes; /* [tiles], aligned to 4 */
    uint64_t *first_words; /* [tiles + 1], aligned to 16 */
    uint64_t tile_count;
  };

  static unsigned blocks(uint64_t tile_count) {
    return szg_grid_blocks(tile_count + 1, kChunkTiles, kMostBlocks);
  }

  static __device__ __forceinline__ uint32_t sum_of_two(uint32_t sizes) {
    return (sizes & 0xFFFF) + (sizes >> 16);
  }

  /* The words of the first tile_count tiles, which are whole chunks. The whole block calls, and
   * every thread gets the result. */
  static __device__ uint64_t words_of_first(const uint16_t *sizes, uint64_t tile_count,
                                            Memory *memory) {
    static_assert(kChunkTiles >= 16, "more than what surrounds vectors");
    const uint32_t *const pairs = (const uint32_t *)(const void *)sizes;
    uint32_t const before = (uint32_t)(0 - (uintptr_t)pairs / 4) % 4; /* the first aligned one */
    const uint4 *const vectors = (const uint4 *)(const void *)(pairs + before);
    uint64_t const pair_count = tile_count / 2, vector_count = (pair_count - before) / 4;
    uint32_t const after = (uint32_t)(pair_count - before) % 4;
    uint64_t words = 0;
    if (threadIdx.x < before) words += sum_of_two(pairs[threadIdx.x]);
    if (threadIdx.x < after) words += sum_of_two(pairs[pair_count - 1 - threadIdx.x]);
#pragma unroll 4
    for (uint64_t i = threadIdx.x; i < vector_count; i += kThreads) {
      uint4 const eight = vectors[i];
      words +=
          sum_of_two(eight.x) + sum_of_two(eight.y) + sum_of_two(eight.z) + sum_of_two(eight.w);
    }
    words = Reduce(memory->reduce).Sum(words);
    if (threadIdx.x == 0) memory->words_before = words;
    __syncthreads(); /* known to all, and the memory is free */
    return memory->words_before;
  }

  /* words: the words of the chunks before. Returns that number with this chunk's words added. The
   * whole block calls. */
  static __device__ uint64_t place_chunk(const Job &job, uint64_t chunk, uint64_t words,
                                         Memory *memory) {
    uint64_t const first = chunk * kChunkTiles + threadIdx.x * kThreadTiles;
    uint32_t both = 0;
    if (first + 1 < job.tile_count)
      both = *(const uint32_t *)(const void *)(job.sizes + first);
    else if (first < job.tile_count)
      both = job.sizes[first];
    uint32_t in_chunk = 0, chunk_words = 0;
    Scan(memory->scan).ExclusiveSum(sum_of_two(both), in_chunk, chunk_words);
    uint64_t const place = words + in_chunk;
    if (first < job.tile_count) /* there is one place more than tiles */
      *(ulonglong2 *)(void *)(job.first_words + first) =
          make_ulonglong2(place, place + (both & 0xFFFF));
    else if (first == job.tile_count)
      job.first_words[first] = place;
    __syncthreads(); /* the scan's memory is free */
    return words + chunk_words;
  }

  /* Finds the places of a share of the tiles. Returns the words of all tiles up to the share's end.
   * The whole block calls. */
  static __device__ uint64_t place_share(const Job &job, uint32_t share, uint32_t share_count,
                                         Memory *memory) {
    uint64_t const chunk_count = job.tile_count / kChunkTiles + 1;
    uint64_t const begin = chunk_count * share / share_count;
    uint64_t const end = chunk_count * (share + 1) / share_count;
    uint64_t words = 0;
    if (begin == end) return words; /* for the whole block; the last share has a chunk */
    if (begin > 0) words = words_of_first(job.sizes, begin * kChunkTiles, memory);
    for (uint64_t chunk = begin; chunk < end; chunk++)
      words = place_chunk(job, chunk, words, memory);
    return words;
  }

  /* The same; verdict->bad_data if all tiles together do not have word_count words, which the last
   * share finds out. */
  static __device__ void place_and_check(const Job &job, uint32_t share, uint32_t share_count,
                                         uint64_t word_count, szg_verdict *verdict,
                                         Memory *memory) {
    uint64_t const words = place_share(job, share, share_count, memory);
    bool const is_all = share + 1 == share_count;
    if (is_all && threadIdx.x == 0 && words != word_count) verdict->bad_data = 1;
  }
};

} // namespace szg

#endif
