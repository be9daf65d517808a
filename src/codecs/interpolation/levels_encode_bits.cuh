/* levels_encode_bits.cuh - where a tile's codes lie in shared memory, and how bits come over them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes lie in shared memory by place, in regions of 64 words, which are a lane or a share of one.
 * Lanes follow one another without gaps, so a thread can take a region, however long lanes are. A
 * region's codes begin a few words behind its start, so a thread writes its bits over the codes
 * that it has read already. Where bits overtake codes, the tile is left to
 * levels_encode_direct.cuh.
 *
 * Codes of one byte have 128 added to them.
 */
#ifndef SZG_LEVELS_ENCODE_BITS_CUH
#define SZG_LEVELS_ENCODE_BITS_CUH

#include "codecs/interpolation/levels_encode_table.cuh"
#include "codecs/interpolation/levels_warp.cuh"
#include "core/bit_writer.cuh"
#include "core/shared_memory.cuh"

namespace szg {

/* ---- where codes lie ---- */

/* The distance of regions is odd in units of 4 words, so that lanes that read 4 words at the same
 * place of their regions meet different banks. What a lane may write beyond its codes before it
 * finds out is a group of entries of 16 bits over codes of 8, which is more than escaped pairs or
 * octets and masks. */
struct LevelsRegions {
  static constexpr uint32_t kWords = 64, kSlack = 4, kPitch = kWords + kSlack, kCount = 28;
  static constexpr uint32_t kOverrun = SZG_LEVELS_GROUP * kLevelsJoinedMost / 32 - 16 + kSlack;
  static constexpr uint32_t kAllWords = kCount * kPitch + kOverrun;
  static_assert(SZG_LEVELS_CODE_BITS + 2 * (SZG_LEVELS_CODE_BITS + 32) <= 32 * kOverrun, "");
  static_assert(SZG_LEVELS_CODE_BITS + 8 + 8 * (SZG_LEVELS_CODE_BITS + 8) <= 32 * kOverrun, "");
  static_assert(kAllWords % 4 == 0, "what follows is aligned");
  static_assert(kPitch % 8 == 4 && kSlack % 4 == 0, "banks, and codes are aligned");

  /* Where word w of the codes is, from the start of the memory. */
  static __device__ __forceinline__ uint32_t at(uint32_t w) {
    return w / kWords * kPitch + w % kWords + kSlack;
  }
};

/* ---- which places exist ---- */

struct LevelsExtents {
  uint32_t z, y, x;    /* of the tile */
  uint32_t half_depth; /* planes of a class in a full tile, a power of two */
  bool is_full;

  __device__ __forceinline__ GroupPlaces places_of(uint32_t group) const {
    if (is_full) return GroupPlaces::all();
    return GroupPlaces::of(z, y, x, (uint32_t)__ffs((int)half_depth) - 1, group);
  }
};

/* ---- appending ---- */

/* Where the words of a region's bits go: over its codes. */
struct OverCodes {
  uint32_t next; /* shared address of the next word */

  __device__ __forceinline__ void put(uint32_t word) {
    store_shared(next, word);
    next += 4;
  }
  /* Whether words lie at this shared address or beyond, where codes are to be read yet. */
  __device__ __forceinline__ bool is_beyond(uint32_t address) const { return next > address; }
  /* The same in the highest bit. */
  __device__ __forceinline__ uint32_t beyond(uint32_t address) const { return address - next; }
};

/* A region's bits. Only the low 6 bits of `at` count. */
template <class Words>
struct LevelsBits {
  Words words;
  uint32_t word, at; /* the word at hand */
  uint32_t table;    /* shared address of the LevelsEncodeTable */

  __device__ __forceinline__ void put_full_word() { words.put(word); }
  template <uint32_t kMember>
  __device__ __forceinline__ uint32_t entry_of(uint32_t i) const {
    return load_shared_constant(table + kMember + 4 * i);
  }
  /* at: four times the index, and other bits where only the index is looked at. */
  template <uint32_t kMember>
  __device__ __forceinline__ uint32_t entry_at(uint32_t at) const {
    static_assert(kMember % (4 * kLevelsTableEntries) == 0, "as the table is aligned");
    return load_shared_constant((at & 4 * (kLevelsTableEntries - 1) | table) + kMember);
  }
  __device__ __forceinline__ void put(uint32_t entry) {
    append_joined(*this, entry & kLevelsEntryBits, at + entry);
  }
  /* Two entries that are not slow. */
  __device__ __forceinline__ void put_two(uint32_t first, uint32_t second) {
    uint32_t const joined =
        (first & kLevelsEntryBits) | bits_in_word(second & kLevelsEntryBits, first);
    append_joined(*this, joined, at + first + second);
  }
  __device__ __forceinline__ void put_number(uint32_t number, uint32_t count) {
    if (count > 0) append_joined(*this, number << (32 - count), at + count);
  }
  /* Any code. */
  __device__ __forceinline__ void put_value(int32_t code) {
    constexpr uint32_t kSymbols = offsetof(LevelsEncodeTable, symbols);
    szg_value_token token = szg_value_token_of(code, false);
    uint32_t entry = entry_of<kSymbols>(token.symbol);
    if (entry == 0) {
      token = szg_value_escape(code, false);
      entry = entry_of<kSymbols>(token.symbol);
    }
    put(entry);
    put_number((uint32_t)token.raw, token.raw_bits);
  }
  /* A pair without an entry that is not slow. */
  __device__ __forceinline__ void put_escaped_pair(int32_t a, int32_t b) {
    put(load_shared_constant(table + (uint32_t)offsetof(LevelsEncodeTable, pair_escape)));
    put_value(a);
    put_value(b);
  }
  __device__ __forceinline__ void put_pair(int32_t a, int32_t b) {
    constexpr uint32_t kTops = offsetof(LevelsEncodeTable, tops);
    uint32_t const nibbles = (uint32_t)(a + 8) | (uint32_t)(b + 8) << 4;
    bool const is_small = (uint32_t)(a + 8) < 16 && (uint32_t)(b + 8) < 16;
    uint32_t const entry = is_small ? entry_of<kTops>(nibbles) : kLevelsEntrySlow;
    if (entry & kLevelsEntrySlow)
      put_escaped_pair(a, b);
    else
      put(entry);
  }
};

} // namespace szg

#endif
