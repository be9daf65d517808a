/* checksum_seal.cuh - a warp writes the checksum at the end of a header.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CHECKSUM_SEAL_CUH
#define SZG_CHECKSUM_SEAL_CUH

#include "container/format.h"
#include "container/xxh3.cuh"

namespace szg {

constexpr uint32_t kEntryWords = SZG_SECTION_ENTRY_BYTES / sizeof(uint64_t);
constexpr uint32_t kTableWord = SZG_FRAME_HEADER_BYTES / sizeof(uint64_t);
constexpr uint32_t kMostHeaderWords = kTableWord + SZG_SECTION_KIND_COUNT * kEntryWords + 1;
static_assert(SZG_FRAME_HEADER_BYTES % sizeof(uint64_t) == 0, "what is hashed is whole words");
static_assert(SZG_SECTION_ENTRY_BYTES % sizeof(uint64_t) == 0, "what is hashed is whole words");
static_assert(SZG_SECTION_KIND_COUNT <= 32, "a lane for each section");

/* Seals a header of word_count words, including the checksum. The whole warp calls. */
__device__ inline void seal_words(uint64_t *header, uint32_t word_count) {
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x % 32);
  uint64_t const hash = xxh3::hash_by_warp(lane, header, word_count - 1);
  if (threadIdx.x % 32 == 0) header[word_count - 1] = hash;
}

/* Writes the sections' roots to a frame's header and seals it. The whole warp calls. */
__device__ inline void seal_frame(uint64_t *header, uint32_t section_count, const uint64_t *roots) {
  uint32_t const i = threadIdx.x % 32;
  if (i < section_count) header[kTableWord + i * kEntryWords + kEntryWords - 1] = roots[i];
  __syncwarp(); /* all roots are written before they are hashed */
  seal_words(header, kTableWord + section_count * kEntryWords + 1);
}

} // namespace szg

#endif
