/* levels_encode_lanes.cuh - a tile's codes in shared memory to lanes, in place, and to words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_ENCODE_LANES_CUH
#define SZG_LEVELS_ENCODE_LANES_CUH

#include "codecs/interpolation/levels_encode_groups.cuh"
#include "core/lane_head.cuh"
#include "core/warp.cuh"

namespace szg {

/* ---- a tile's words ---- */

/* A region's groups, whose bits one thread writes: a lane, or a half, a fourth and so on of one. */
struct Share {
  uint32_t words;     /* shared address of its bits */
  uint32_t bit_count; /* 0: all codes of the lane are 0, or there is no such region */
  bool fits;
};

/* The threads that write the same lane as this one. */
struct LaneTeam {
  uint32_t first, size; /* size: a power of two */

  template <uint32_t kCodeBytes>
  static __device__ __forceinline__ LaneTeam of(uint32_t lane_groups_log2) {
    constexpr uint32_t kRegionLog2 = kCodeBytes == 1 ? 2 : kCodeBytes == 2 ? 1 : 0;
    uint32_t const size = 1u << (lane_groups_log2 - kRegionLog2);
    return {threadIdx.x % 32 & ~(size - 1), size};
  }
  __device__ __forceinline__ uint32_t members() const { return lanes_below(size) << first; }
  /* Whether it is true in one of them. The whole warp calls. */
  __device__ __forceinline__ bool has(bool is_true) const {
    return (__ballot_sync(kAllLanes, is_true) & members()) != 0;
  }
  __device__ __forceinline__ bool is_leader() const { return threadIdx.x % 32 == first; }
};

/* The groups of the tile that this thread takes. kCount: of all threads but the last four. */
template <uint32_t kCount>
struct OwnGroups {
  uint32_t first, end;

  __device__ __forceinline__ OwnGroups() : first(kCount * (threadIdx.x % 32)) {
    end = first + (threadIdx.x % 32 < LevelsRegions::kCount ? kCount : 0);
  }
};

/* The bits of all regions. memory: the tile's codes. The whole warp calls, and synchronizes before
 * it reads. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ Share encode_region(const LevelsEncodeTable &table, uint32_t *memory,
                                               const LaneTeam &team, const LevelsExtents &tile) {
  OwnGroups<4 / kCodeBytes> const groups;
  uint32_t const at = shared_address(memory);
  uint32_t const begin = at + 4 * LevelsRegions::kPitch * (threadIdx.x % 32);
  LevelsBits<OverCodes> bits = {{begin}, 0, 0, shared_address(&table)};
  uint32_t any = 0;
  bool fits = put_groups<kCodeBytes>(table.mode, at, groups.first, groups.end, tile, bits, any);
  __syncwarp(); /* lanes go on together */
  uint32_t const bit_count = 8 * (bits.words.next - begin) + bits.at % 32;
  fits = fits && bit_count <= 32 * LevelsRegions::kPitch;
  if (bits.at % 32 && fits) store_shared(bits.words.next, bits.word);
  return {begin, team.has(any != 0) ? bit_count : 0, fits};
}

/* Words that threads put together, in shared or in global memory. */
struct SharedWords {
  uint32_t address; /* shared */

  __device__ __forceinline__ SharedWords from(uint32_t i) const { return {address + 4 * i}; }
  __device__ __forceinline__ void put(uint32_t word) const { store_shared(address, word); }
  __device__ __forceinline__ void put_or(uint32_t bits) const { or_shared(address, bits); }
};
struct GlobalWords {
  uint32_t *words;

  __device__ __forceinline__ GlobalWords from(uint32_t i) const { return {words + i}; }
  __device__ __forceinline__ void put(uint32_t word) const { *words = word; }
  __device__ __forceinline__ void put_or(uint32_t bits) const { atomicOr(words, bits); }
};

/* Copies a share's bits, of which there are some, to bit `at` of words that are 0 where shares
 * meet. */
template <class Words>
__device__ __forceinline__ void move_share(const Share &own, uint32_t at, Words words) {
  uint32_t const end = own.words + (own.bit_count + 31) / 32 * 4;
  uint32_t const last = own.words + ((at % 32 + own.bit_count - 1) / 32) * 4;
  uint32_t from = own.words, before = load_shared(from);
  Words to = words.from(at / 32);
  to.put_or(before >> at % 32);
  if (from == last) return;
#pragma unroll 1
  for (from += 4, to = to.from(1); from != last; from += 4, to = to.from(1)) {
    uint32_t const word = load_shared(from);
    to.put(__funnelshift_r(word, before, at));
    before = word;
  }
  uint32_t const word = from != end ? load_shared(from) : 0;
  to.put_or(__funnelshift_r(word, before, at));
}

/* Where a tile's head and shares go, in its words. */
struct WordsLayout {
  uint32_t word_count; /* 0: all codes are 0 */
  uint32_t at;         /* of this thread's share */

  /* bit_count: of this thread's share. The whole warp calls. */
  __device__ __forceinline__ WordsLayout(uint32_t bit_count, const LaneTeam &team) {
    constexpr uint32_t kLast = LevelsRegions::kCount - 1;
    uint32_t const lane = threadIdx.x % 32, end = sum_to_lane(bit_count, lane);
    uint32_t const lane_end =
        __shfl_sync(kAllLanes, end, (int)min(team.first + team.size - 1, kLast));
    uint32_t const lane_bits = lane_end - (end - bit_count); /* of a leader: of its lane */
    uint32_t const all_bits = __shfl_sync(kAllLanes, end, (int)kLast);
    is_live_leader = lane <= kLast && team.is_leader() && lane_bits > 0;
    uint32_t const live = __ballot_sync(kAllLanes, is_live_leader);
    uint32_t const most = warp_most(is_live_leader ? lane_bits : 0);
    uint32_t const least = warp_least(is_live_leader ? lane_bits : UINT32_MAX);
    uint32_t const width = 32 - (uint32_t)__clz((int)(most - least));
    szg_head_form const form = form_of(team);
    uint32_t const live_count = (uint32_t)__popc((int)live);
    begin = {least, width, live_count != form.lane_count};
    excess = lane_bits - least;
    excess_at = szg_head_excess_at(form, begin.has_mask, width, rank_among(live, lane));
    uint32_t const head = szg_head_excess_at(form, begin.has_mask, width, live_count);
    at = head + end - bit_count;
    word_count = live ? (head + all_bits + 31) / 32 : 0;
  }
  /* Puts the head, and zeros behind it. The whole warp calls. */
  template <class Words>
  __device__ __forceinline__ void begin_words(const LaneTeam &team, Words words) const {
    uint32_t const lane = threadIdx.x % 32;
#pragma unroll 1
    for (uint32_t i = lane; i < word_count; i += 32) words.from(i).put(0);
    __syncwarp(); /* words are zeros */
    if (word_count == 0) return;
    szg_head_form const form = form_of(team);
    uint32_t const begin_bits = szg_head_begin_bits(form);
    auto const or_word = [&](uint32_t i, uint32_t bits) { words.from(i).put_or(bits); };
    if (lane == 0) or_number(szg_head_begin_number(form, begin), begin_bits, 0, or_word);
    if (!is_live_leader) return;
    if (begin.has_mask) or_number(1, 1, begin_bits + lane / team.size, or_word);
    or_number(excess, begin.width, excess_at, or_word);
  }

 private:
  szg_head_begin begin;
  uint32_t excess, excess_at; /* of a leader's lane */
  bool is_live_leader;

  static __device__ __forceinline__ szg_head_form form_of(const LaneTeam &team) {
    return {SZG_LEVELS_LEAST_BITS, SZG_LEVELS_WIDTH_BITS,
            (LevelsRegions::kCount - 1) / team.size + 1};
  }
};

/* Puts a tile's words together from shares that fit. The whole warp calls, and synchronizes before
 * it reads. */
template <class Words>
__device__ __forceinline__ void join_shares(const WordsLayout &layout, const Share &own,
                                            const LaneTeam &team, Words words) {
  layout.begin_words(team, words);
  if (own.bit_count > 0) move_share(own, layout.at, words);
}

} // namespace szg

#endif
