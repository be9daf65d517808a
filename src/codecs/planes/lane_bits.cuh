/* lane_bits.cuh - writes the lanes of a coded plane of a tile: head, lengths, codes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LANE_BITS_CUH
#define SZG_LANE_BITS_CUH

#include "codecs/planes/plane_rows.cuh"
#include "codecs/planes/planes.h"
#include "core/bit_writer.cuh"
#include "core/lane_head.cuh"

namespace szg {

/* ---- the head ---- */

/* What a coded plane of a tile begins with, and where the lane's bits are in it. */
struct PlaneHead {
  uint32_t least_bits, width, word_count;
  uint32_t first_bit; /* of the lane, from the plane's first word */
};

/* The whole warp calls. */
__device__ __forceinline__ PlaneHead head_of(uint32_t lane_bits, unsigned lane) {
  PlaneHead head;
  LaneLengths const lengths = measure_lanes(lane_bits, lane_bits, lane);
  head.least_bits = lengths.least;
  head.width = lengths.width;
  head.word_count =
      szg_planes_words(head.width, __shfl_sync(kAllLanes, lengths.end, SZG_LANES - 1));
  head.first_bit = 32 * (1 + head.width) + lengths.end - lane_bits;
  return head;
}

/* ---- bits ---- */

/* For the encoder: codes left-aligned, their lengths in the low four bits. */
constexpr uint32_t kTwoCodes = 0xFFFFFF00; /* the bits of two codes */
static_assert(2 * SZG_PLANES_CODE_BITS <= 24, "and lengths below");
__device__ __forceinline__ uint32_t left_aligned(uint32_t entry) {
  uint32_t const length = entry >> 16 & 255;
  return length > 0 ? (entry & 0xFFFF) << (32 - length) | length : 0;
}

/* A lane's bits of a plane. The lane ORs its words into the tile's, which are 0 at first, because
 * lanes share them. */
struct PlaneBits {
  uint32_t word; /* current: bits from the highest on, the rest 0 */
  uint32_t at;   /* where the next bit goes, from the tile's first */

  __device__ __forceinline__ void put_full_word(uint32_t *words) const {
    atomicOr(words + at / 32, word);
  }
  /* Appends two codes; entries as from left_aligned, 0 for none. */
  __device__ __forceinline__ void append_two(uint32_t first, uint32_t second, uint32_t *words) {
    uint32_t const codes = join_codes(first, second, kTwoCodes);
    append_joined(*this, codes, at + ((first + second) & 31), words);
  }
  __device__ __forceinline__ void finish(uint32_t *words) const {
    if (at % 32 > 0) atomicOr(words + at / 32, word);
  }
};

/* Writes the head and the lanes' lengths from word `begin` on. */
__device__ __forceinline__ void write_head(const PlaneHead &head, uint32_t lane_bits,
                                           uint32_t *words, unsigned lane) {
  if (lane == 0) atomicOr(words, szg_planes_head(head.least_bits, head.width));
  or_number(lane_bits - head.least_bits, head.width, 32 + lane * head.width,
            [&](uint32_t i, uint32_t bits) { atomicOr(words + i, bits); });
}

} // namespace szg

#endif
