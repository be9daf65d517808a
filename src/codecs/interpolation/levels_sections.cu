/* levels_sections.cu - the sections of encoded stages, from words in any order to their places.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One launch for all stages. A block takes 32 tiles, and finds by itself where their words belong:
 * it adds up the words of the tiles before them, which the encoder has summed by 64.
 *
 * Memory traffic: reads and writes words once, and 12 bytes for each tile; a block reads 4 bytes
 * for each 64 tiles before its own.
 */
#include "codecs/interpolation/levels_encode.h"
#include "core/cuda_check.cuh"
#include "core/warp.cuh"
#include "huffman/tokens_section.cuh"

namespace szg {
namespace {

struct SectionsPolicy {
  static constexpr uint32_t kThreads = 1024;
  static constexpr uint32_t kTiles = kThreads / 32; /* of a block, one for each warp */
  static_assert(SZG_LEVELS_SUM_TILES == 2 * kTiles, "a sum is that of two blocks' tiles");

  static __host__ __device__ uint64_t blocks(uint64_t tile_count) {
    return (tile_count + kTiles - 1) / kTiles;
  }
};

struct SectionsJob {
  szg_levels_section_cuda sections[SZG_LEVELS_MOST + 1];
  uint32_t section_count;
  szg_levels_encode_work_cuda work;
  uint8_t *archive;
  uint64_t capacity;
  uint64_t *starts, *section_bytes;
};

__device__ SectionPlaces places_of(const SectionsJob &job, uint32_t i, uint64_t first) {
  const szg_levels_section_cuda &section = job.sections[i];
  return section_places(first, *section.book, section.tile_count,
                        job.work.counters->stage_words[section.stage]);
}

/* All but sizes and words. The whole block calls. */
__device__ void write_front(const SectionsJob &job, uint32_t i, const SectionPlaces &places,
                            bool fits) {
  const szg_levels_section_cuda &section = job.sections[i];
  if (threadIdx.x == 0) {
    job.section_bytes[i] = places.end - places.first;
    job.starts[i + 1] = places.next;
  }
  if (fits)
    write_section_front<SectionsPolicy::kThreads>(places, *section.book, section.tile_count,
                                                  job.archive);
}

/* Words of the tiles before the block's first one. The whole block calls. */
__device__ uint64_t words_before(const szg_levels_encoded_cuda &encoded, uint64_t first_tile) {
  __shared__ uint64_t of_warp[SectionsPolicy::kTiles];
  uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint64_t words = 0;
  for (uint64_t i = threadIdx.x; i < first_tile / SZG_LEVELS_SUM_TILES;
       i += SectionsPolicy::kThreads)
    words += encoded.sums[i];
  bool const has_half = first_tile % SZG_LEVELS_SUM_TILES != 0;
  if (has_half && warp == 0) words += encoded.sizes[first_tile - SectionsPolicy::kTiles + lane];
  words = warp_sum(words);
  if (lane == 0) of_warp[warp] = words;
  __syncthreads(); /* sums of all warps are there */
  return warp_sum(of_warp[lane]);
}

/* The last section, which has most tiles, comes first. */
__global__ void __launch_bounds__(SectionsPolicy::kThreads)
    sections_write_kernel(const __grid_constant__ SectionsJob job) {
  __shared__ SectionPlaces places;
  uint64_t block = blockIdx.x;
  uint32_t i = job.section_count - 1;
  while (block >= SectionsPolicy::blocks(job.sections[i].tile_count))
    block -= SectionsPolicy::blocks(job.sections[i--].tile_count);
  const szg_levels_section_cuda &section = job.sections[i];
  if (threadIdx.x == 0) {
    places = places_of(job, 0, job.starts[0]);
    for (uint32_t k = 1; k <= i; k++) places = places_of(job, k, places.next);
  }
  uint64_t const first_tile = block * SectionsPolicy::kTiles;
  uint64_t const before = words_before(section.encoded, first_tile); /* now places are known */
  bool const fits = places.next <= job.capacity;
  if (block == 0) write_front(job, i, places, fits);
  if (!fits || places.is_zero) return; /* for the whole block */
  uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t const size =
      first_tile + lane < section.tile_count ? section.encoded.sizes[first_tile + lane] : 0;
  uint64_t const at = before + warp_sum(lane < warp ? size : 0);
  uint32_t const word_count = __shfl_sync(kAllLanes, size, (int)warp);
  uint64_t const t = first_tile + warp;
  if (t >= section.tile_count) return;
  if (lane == 0) ((uint16_t *)(job.archive + places.tile_sizes))[t] = (uint16_t)word_count;
  uint64_t const from = section.encoded.places[t];
  if (word_count == 0 || from + word_count > job.work.word_capacity) return;
  copy_words<8>(job.work.words + from, word_count, (uint32_t *)(job.archive + places.words) + at);
}

} // namespace
} // namespace szg

szgpu_status szg_levels_write_sections_cuda(const szg_levels_section_cuda *sections,
                                            uint32_t section_count,
                                            const szg_levels_encode_work_cuda *work,
                                            uint8_t *archive, uint64_t capacity, uint64_t *starts,
                                            uint64_t *section_bytes, struct CUstream_st *stream) {
  szg::SectionsJob job = {{}, section_count, *work, archive, capacity, starts, section_bytes};
  uint64_t blocks = 0;
  for (uint32_t i = 0; i < section_count; i++) {
    job.sections[i] = sections[i];
    blocks += szg::SectionsPolicy::blocks(sections[i].tile_count);
  }
  SZG_REQUIRE(blocks < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  szg::sections_write_kernel<<<(unsigned)blocks, szg::SectionsPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}
