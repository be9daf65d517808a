/* lane_symbols.cuh - finds the lanes of a coded plane of a tile and decodes their symbols.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LANE_SYMBOLS_CUH
#define SZG_LANE_SYMBOLS_CUH

#include "codecs/planes/plane_rows.cuh"
#include "codecs/planes/planes.h"
#include "core/bit_reader.cuh"
#include "core/lane_head.cuh"

namespace szg {

/* ---- a tile's words ---- */

/* How far behind a tile's last word a lane of a bad tile can read. */
constexpr uint32_t kOverrunLaneWords = SZG_PLANE_LANE_MOST_BITS / 32 + BitWindow::kWordsAhead + 1;

/* ---- lanes ---- */

/* A lane's place in a coded plane of a tile, in bits from the tile's first. */
struct LanePlace {
  uint32_t first_bit, end_bit; /* of the lane */
  uint32_t end_word;           /* of the plane */
  bool is_good;                /* of the plane */
};

/* Reads the head of the plane that begins at word `begin` of a tile of word_count, and finds the
 * lane in it. It reads nothing beyond. The whole warp calls; only the lane's bits differ between
 * lanes. */
__device__ __forceinline__ LanePlace find_lane(const uint32_t *words, uint32_t begin,
                                               uint32_t word_count, unsigned lane) {
  LanePlace place = {0, 0, word_count, false};
  if (begin >= word_count) return place;
  uint32_t const head = words[begin];
  uint32_t const width = szg_planes_head_width(head);
  if (width > SZG_PLANE_MOST_WIDTH || width >= word_count - begin) return place;
  const uint32_t *const excesses = words + begin + 1;
  uint32_t const at = lane * width, word = at / 32;
  uint32_t const high = word < width ? excesses[word] : 0;
  uint32_t const low = word + 1 < width ? excesses[word + 1] : 0;
  uint32_t const excess = excess_of(high, low, at, width);
  uint32_t const lane_bits = szg_planes_head_least(head) + excess;
  uint32_t const end = sum_to_lane(lane_bits, lane);
  uint32_t const all_bits = __shfl_sync(kAllLanes, end, SZG_LANES - 1);
  uint32_t const body = begin + 1 + width, body_words = (all_bits + 31) / 32;
  if (body_words > word_count - body) return place;
  place.end_word = body + body_words;
  uint32_t const unused_bits = 32 * body_words - all_bits;
  place.is_good = unused_bits == 0 || (words[place.end_word - 1] & ((1u << unused_bits) - 1)) == 0;
  place.end_bit = 32 * body + end;
  place.first_bit = place.end_bit - lane_bits;
  return place;
}

/* A lane's symbols of a plane. */
struct LaneSymbols {
  BitWindow bits;

  /* Two symbols, in the low two bytes; 0 if the lane has none. entries: symbol << 8 | length of the
   * code at the start of a window of 12 bits. */
  template <class Words>
  __device__ __forceinline__ uint32_t take_two(const Words &words, const uint16_t *entries,
                                               bool has_first, bool has_second) {
    constexpr uint32_t kShift = 32 - SZG_PLANES_CODE_BITS;
    uint32_t const window = bits.window();
    uint32_t first = 0, second = 0;
    if (has_first) first = entries[window >> kShift];
    uint32_t const rest = bits_after(window, first);
    if (has_second) second = entries[rest >> kShift];
    bits.go_to(words, bits.position + first + second, 32); /* 24 bits at most: one word or none */
    return __byte_perm(first, second, 0x4451);
  }

  /* The lane's symbols of a row, `count` of them. */
  template <class Words>
  __device__ __forceinline__ uint32_t take_run(const Words &words, const uint16_t *entries,
                                               uint32_t count) {
    uint32_t const low_two = take_two(words, entries, count > 0, count > 1);
    uint32_t const high_two = take_two(words, entries, count > 2, count > 3);
    return __byte_perm(low_two, high_two, 0x5410);
  }
};

} // namespace szg

#endif
