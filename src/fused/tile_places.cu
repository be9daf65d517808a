/* tile_places.cu - what all tiles of a frame need: the decoder's table, and where each one begins.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   open     block 0: the codebook section to the decoder's table; the others: running sums of the
 *            tiles' sizes, a share each
 *
 * A block adds up the sizes before its share by itself, so that it waits for nobody. It reads 2
 * bytes a tile and writes 8, and the sizes once more for each block after theirs: 64 MB from the
 * second-level cache for 2^20 tiles, which are 17 GB of f32. The last block's sum takes 17 ns for
 * 1000 tiles, 0.3 % of what it takes to decompress them, however many there are; up to 2^17 tiles
 * the table takes longer. A scan of CUB's is two launches and a memset.
 */
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "core/cuda_check.cuh"
#include "fused/tile_cuda.h"
#include "fused/tile_decoder.cuh"

namespace szg {
namespace {

/* A thread reads two sizes at once and writes their places, 16 bytes. */
struct PlacesPolicy {
  static constexpr uint32_t kThreads = DecoderPolicy::kThreads; /* in the same launch */
  static constexpr uint32_t kThreadTiles = 2;
  static constexpr uint32_t kChunkTiles = kThreads * kThreadTiles;
  static constexpr uint32_t kMostBlocks = 64; /* or sizes are read too often */
};

typedef cub::BlockScan<uint32_t, PlacesPolicy::kThreads, cub::BLOCK_SCAN_WARP_SCANS> ChunkScan;
typedef cub::BlockReduce<uint64_t, PlacesPolicy::kThreads> WordsReduce;
static_assert((uint64_t)PlacesPolicy::kChunkTiles * UINT16_MAX <= UINT32_MAX, "of a chunk's words");

struct PlacesMemory {
  union {
    WordsReduce::TempStorage reduce;
    ChunkScan::TempStorage scan;
  };
  uint64_t words_before;
};

union OpenMemory {
  DecoderMemory decoder;
  PlacesMemory places;
};

struct OpenJob {
  const uint8_t *section; /* codebook */
  uint64_t section_bytes;
  szg_tile_input_cuda input;
  uint64_t tile_count;
  szg_verdict *verdict;
};

/* ---- places ---- */

__device__ __forceinline__ uint32_t sum_halves(uint32_t both) {
  return (both & 0xFFFF) + (both >> 16);
}

/* Of whole chunks from the first on. The whole block calls and gets it. */
__device__ uint64_t words_before(const uint16_t *sizes, uint64_t tile_count, PlacesMemory *memory) {
  static_assert(PlacesPolicy::kChunkTiles % 8 == 0, "whole vectors");
  const uint4 *const vectors = (const uint4 *)sizes;
  uint64_t words = 0;
#pragma unroll 4
  for (uint64_t i = threadIdx.x; i < tile_count / 8; i += PlacesPolicy::kThreads) {
    uint4 const eight = vectors[i];
    words += sum_halves(eight.x) + sum_halves(eight.y) + sum_halves(eight.z) + sum_halves(eight.w);
  }
  words = WordsReduce(memory->reduce).Sum(words);
  if (threadIdx.x == 0) memory->words_before = words;
  __syncthreads(); /* known to all, and the memory is free */
  return memory->words_before;
}

/* words: of the chunks before. Returns those of this one, too. The whole block calls. */
__device__ uint64_t place_chunk(const OpenJob &job, uint64_t chunk, uint64_t words,
                                PlacesMemory *memory) {
  const uint16_t *const sizes = job.input.sizes;
  uint64_t *const first_words = job.input.first_words;
  uint64_t const first =
      chunk * PlacesPolicy::kChunkTiles + threadIdx.x * PlacesPolicy::kThreadTiles;
  uint32_t both = 0;
  if (first + 1 < job.tile_count)
    both = *(const uint32_t *)(sizes + first);
  else if (first < job.tile_count)
    both = sizes[first];
  uint32_t in_chunk = 0, chunk_words = 0;
  ChunkScan(memory->scan).ExclusiveSum(sum_halves(both), in_chunk, chunk_words);
  uint64_t const place = words + in_chunk;
  if (first < job.tile_count) /* a place more than tiles */
    *(ulonglong2 *)(first_words + first) = make_ulonglong2(place, place + (both & 0xFFFF));
  else if (first == job.tile_count)
    first_words[first] = place;
  __syncthreads(); /* the scan's memory is free */
  return words + chunk_words;
}

/* A share of the tiles' places. The whole block calls. */
__device__ void place_tiles(const OpenJob &job, uint32_t share, uint32_t share_count,
                            PlacesMemory *memory) {
  uint64_t const chunk_count = job.tile_count / PlacesPolicy::kChunkTiles + 1;
  uint64_t const begin = chunk_count * share / share_count;
  uint64_t const end = chunk_count * (share + 1) / share_count;
  uint64_t words = 0;
  if (begin > 0) words = words_before(job.input.sizes, begin * PlacesPolicy::kChunkTiles, memory);
  for (uint64_t chunk = begin; chunk < end; chunk++) words = place_chunk(job, chunk, words, memory);
  bool const is_all = share + 1 == share_count;
  if (is_all && threadIdx.x == 0 && words != job.input.word_count) job.verdict->bad_data = 1;
}

/* ---- kernel ---- */

__global__ void __launch_bounds__(PlacesPolicy::kThreads)
    tiles_open_kernel(const __grid_constant__ OpenJob job) {
  __shared__ OpenMemory memory;
  if (blockIdx.x > 0) {
    place_tiles(job, blockIdx.x - 1, gridDim.x - 1, &memory.places);
    return;
  }
  if (threadIdx.x == 0) *job.input.counters = 0;
  bool const is_good =
      build_decoder(job.section, job.section_bytes, &memory.decoder, job.input.decoder);
  if (!is_good && threadIdx.x == 0) job.verdict->bad_data = 1;
}

} // namespace
} // namespace szg

szgpu_status szg_tile_open_cuda(const uint8_t *section, uint64_t section_bytes,
                                const szg_tile_input_cuda *input, uint64_t tile_count,
                                szg_verdict *verdict, struct CUstream_st *stream) {
  szg::OpenJob const job = {section, section_bytes, *input, tile_count, verdict};
  unsigned const shares = szg_grid_blocks(tile_count + 1, szg::PlacesPolicy::kChunkTiles,
                                          szg::PlacesPolicy::kMostBlocks);
  szg::tiles_open_kernel<<<1 + shares, szg::PlacesPolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}
