/* tokens_encode.cu - tiles of a level to lanes of bits and to words, one warp per tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   measure  codes to the bits of each group, and to the words of each tile
 *   place    running sums: where each tile's words begin
 *   write    head, books, sizes and words into the archive
 *
 * Memory traffic: reads the codes twice; writes and reads 10 bytes for each group of 64; writes
 * words twice, with zeros first.
 */
#include "core/cuda_check.cuh"
#include "core/tile_words.cuh"
#include "huffman/tokens_encode_tile.cuh"
#include "huffman/tokens_section.cuh"

namespace szg {
namespace {

struct TokensEncodePolicy {
  static constexpr uint32_t kThreads = 256;
  static constexpr uint32_t kWarps = kThreads / 32;
  static constexpr unsigned kMostBlocks = 4096; /* each loads the tables */
};

struct PlacePolicy {
  static constexpr uint32_t kThreads = 512;
};
typedef TileWords<PlacePolicy::kThreads> Words;

struct TokensEncodeJob {
  szg_tokens_tiles tiles;
  const szg_tokens_book_cuda *book;
  const void *codes;
  szg_tokens_work_cuda work;
  szg_tokens_output_cuda output;
};

struct EncodeMemory {
  szg_tokens_encoder encoder;
  TileGroups tiles[TokensEncodePolicy::kWarps];
};

__device__ __forceinline__ szg_tokens_shape shape_of(const TokensEncodeJob &job) {
  return {job.tiles.group_count, job.book->plan.lane_groups_log2, job.tiles.is_wide};
}

__device__ __forceinline__ uint64_t first_group_of(const TokensEncodeJob &job,
                                                   uint64_t tile_index) {
  return tile_index * job.tiles.group_count;
}

template <class Code>
__device__ __forceinline__ const Code *codes_of(const TokensEncodeJob &job, uint64_t tile_index) {
  return (const Code *)job.codes + first_group_of(job, tile_index) * kGroupPlaces;
}

/* ---- measuring ---- */

/* Notes what a tile's groups take; returns its words. The whole warp calls. */
template <class Code>
__device__ uint32_t measure(const TokensEncodeJob &job, const szg_tokens_shape &shape,
                            uint64_t tile_index, const szg_tokens_encoder &encoder,
                            TileGroups *groups) {
  uint64_t const first = first_group_of(job, tile_index);
  uint32_t const word_count = measure_tile(job.tiles, shape, tokens_tile_at(job.tiles, tile_index),
                                           encoder, codes_of<Code>(job, tile_index), groups);
  for (uint32_t i = threadIdx.x % 32; i < shape.group_count; i += 32) {
    job.work.nonzero[first + i] = groups->nonzero[i];
    job.work.group_bits[first + i] = groups->bits[i];
  }
  return word_count;
}

template <class Code>
__global__ void __launch_bounds__(TokensEncodePolicy::kThreads)
    tokens_measure_kernel(const __grid_constant__ TokensEncodeJob job) {
  __shared__ EncodeMemory memory;
  uint64_t const warp_count = (uint64_t)gridDim.x * TokensEncodePolicy::kWarps;
  uint64_t const first = (uint64_t)blockIdx.x * TokensEncodePolicy::kWarps + threadIdx.x / 32;
  load_encoder(&job.book->encoder, &memory.encoder);
  __syncthreads(); /* the tables are there */
  szg_tokens_shape const shape = shape_of(job);
  for (uint64_t t = first; t < job.tiles.tile_count; t += warp_count) {
    uint32_t const word_count =
        measure<Code>(job, shape, t, memory.encoder, &memory.tiles[threadIdx.x / 32]);
    if (threadIdx.x % 32 == 0) job.work.sizes[t] = (uint16_t)word_count;
    __syncwarp(); /* the groups' memory is free */
  }
}

/* ---- placing ---- */

__global__ void __launch_bounds__(PlacePolicy::kThreads)
    tokens_place_kernel(const uint16_t *sizes, uint64_t *first_words, uint64_t tile_count) {
  __shared__ Words::Memory memory;
  Words::Job const job = {sizes, first_words, tile_count};
  Words::place_share(job, blockIdx.x, gridDim.x, &memory);
}

__device__ SectionPlaces places_of(const TokensEncodeJob &job) {
  uint64_t const tile_count = job.tiles.tile_count;
  return section_places(*job.output.first_byte, *job.book, tile_count,
                        job.work.first_words[tile_count]);
}

/* ---- writing ---- */

/* Writes all but sizes and words, and says where the section ends. The whole block calls. */
__device__ void write_front(const TokensEncodeJob &job, const SectionPlaces &places, bool fits) {
  if (threadIdx.x == 0) {
    *job.output.section_bytes = places.end - places.first;
    *job.output.next_byte = places.next;
  }
  if (fits)
    write_section_front<TokensEncodePolicy::kThreads>(places, *job.book, job.tiles.tile_count,
                                                      job.output.archive);
}

/* Writes a tile that has words. The whole warp calls. */
template <class Code>
__device__ void write(const TokensEncodeJob &job, const szg_tokens_shape &shape,
                      uint64_t tile_index, const szg_tokens_encoder &encoder, uint32_t word_count,
                      uint32_t *words, TileGroups *groups) {
  uint64_t const first = first_group_of(job, tile_index);
  for (uint32_t i = threadIdx.x % 32; i < shape.group_count; i += 32) {
    groups->nonzero[i] = job.work.nonzero[first + i];
    groups->bits[i] = job.work.group_bits[first + i];
  }
  __syncwarp(); /* groups are known */
  write_tile(job.tiles, shape, tokens_tile_at(job.tiles, tile_index), encoder,
             codes_of<Code>(job, tile_index), *groups, word_count, words);
}

template <class Code>
__global__ void __launch_bounds__(TokensEncodePolicy::kThreads)
    tokens_write_kernel(const __grid_constant__ TokensEncodeJob job) {
  __shared__ EncodeMemory memory;
  uint64_t const warp_count = (uint64_t)gridDim.x * TokensEncodePolicy::kWarps;
  uint64_t const first = (uint64_t)blockIdx.x * TokensEncodePolicy::kWarps + threadIdx.x / 32;
  SectionPlaces const places = places_of(job);
  bool const fits = places.next <= job.output.capacity;
  if (blockIdx.x == 0) write_front(job, places, fits);
  if (!fits || places.is_zero) return; /* for the whole grid */
  load_encoder(&job.book->encoder, &memory.encoder);
  __syncthreads(); /* the tables are there */
  szg_tokens_shape const shape = shape_of(job);
  auto *const sizes = reinterpret_cast<uint16_t *>(job.output.archive + places.tile_sizes);
  auto *const words = reinterpret_cast<uint32_t *>(job.output.archive + places.words);
  for (uint64_t t = first; t < job.tiles.tile_count; t += warp_count) {
    uint32_t const word_count = job.work.sizes[t];
    if (threadIdx.x % 32 == 0) sizes[t] = (uint16_t)word_count;
    if (word_count == 0) continue; /* for the whole warp */
    write<Code>(job, shape, t, memory.encoder, word_count, words + job.work.first_words[t],
                &memory.tiles[threadIdx.x / 32]);
    __syncwarp(); /* the groups' memory is free */
  }
}

/* ---- launchers ---- */

template <class Code>
szgpu_status encode(const TokensEncodeJob &job, cudaStream_t stream) {
  uint64_t const tile_count = job.tiles.tile_count;
  unsigned const blocks =
      szg_grid_blocks(tile_count, TokensEncodePolicy::kWarps, TokensEncodePolicy::kMostBlocks);
  tokens_measure_kernel<Code><<<blocks, TokensEncodePolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  tokens_place_kernel<<<Words::blocks(tile_count), PlacePolicy::kThreads, 0, stream>>>(
      job.work.sizes, job.work.first_words, tile_count);
  SZG_TRY_LAUNCH();
  tokens_write_kernel<Code><<<blocks, TokensEncodePolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}

} // namespace
} // namespace szg

void szg_tokens_work_carve_cuda(szg_arena *arena, uint64_t most_tiles, uint64_t most_groups,
                                szg_tokens_work_cuda *work) {
  work->sizes = (uint16_t *)szg_arena_take(arena, most_tiles, sizeof *work->sizes);
  work->first_words = (uint64_t *)szg_arena_take(arena, most_tiles + 1, sizeof *work->first_words);
  work->nonzero = (uint64_t *)szg_arena_take(arena, most_groups, sizeof *work->nonzero);
  work->group_bits = (uint16_t *)szg_arena_take(arena, most_groups, sizeof *work->group_bits);
}

szgpu_status szg_tokens_encode_cuda(const szg_tokens_tiles *tiles, const szg_tokens_book_cuda *book,
                                    const void *codes, const szg_tokens_work_cuda *work,
                                    const szg_tokens_output_cuda *output,
                                    struct CUstream_st *stream) {
  szg::TokensEncodeJob const job = {*tiles, book, codes, *work, *output};
  return tiles->is_wide ? szg::encode<int64_t>(job, stream) : szg::encode<int32_t>(job, stream);
}
