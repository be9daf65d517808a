/* tokens_section.cuh - where the section of a stage has its parts; a block writes its front.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_SECTION_CUH
#define SZG_TOKENS_SECTION_CUH

#include "huffman/tokens_cuda.h"

namespace szg {

/* In bytes from the archive's start. */
struct SectionPlaces {
  uint64_t first, tile_sizes, words, end, next; /* next: where the next section begins */
  bool is_zero;                                 /* all codes are 0: the section is its head */
};

/* word_count: of all tiles. */
__device__ inline SectionPlaces section_places(uint64_t first, const szg_tokens_book_cuda &book,
                                               uint64_t tile_count, uint64_t word_count) {
  SectionPlaces places;
  places.is_zero = word_count == 0;
  places.first = first;
  places.tile_sizes = first + (places.is_zero ? (uint32_t)SZG_TOKENS_HEAD_BYTES : book.front_bytes);
  places.words = places.tile_sizes + (places.is_zero ? 0 : (tile_count + 1) / 2 * 4);
  places.end = places.words + 4 * word_count;
  places.next = (places.end + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
  return places;
}

/* Writes all but sizes and words of a section that fits. The whole block of kThreads calls. */
template <uint32_t kThreads>
__device__ void write_section_front(const SectionPlaces &places, const szg_tokens_book_cuda &book,
                                    uint64_t tile_count, uint8_t *archive) {
  auto *const front = reinterpret_cast<uint32_t *>(archive + places.first);
  auto const front_words = (uint32_t)(places.tile_sizes - places.first) / 4;
  for (uint32_t i = threadIdx.x; i < front_words; i += kThreads)
    front[i] = places.is_zero && i != SZG_TOKENS_UNIT_WORD ? 0 : book.front[i];
  if (threadIdx.x < places.next - places.end) archive[places.end + threadIdx.x] = 0;
  auto *const sizes = reinterpret_cast<uint16_t *>(archive + places.tile_sizes);
  if (threadIdx.x == 0 && !places.is_zero && tile_count % 2) sizes[tile_count] = 0;
}

} // namespace szg

#endif
