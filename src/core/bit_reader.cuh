/* bit_reader.cuh - a lane's window on its bits of a coded tile, and the words that it comes from.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile's words are in shared memory, if they fit, or still in the archive. Both kinds have the
 * same functions. A place is what a lane remembers of where it reads: an address of shared memory,
 * or a word's number.
 */
#ifndef SZG_BIT_READER_CUH
#define SZG_BIT_READER_CUH

#include "core/shared_memory.cuh"

namespace szg {

/* ---- bits ---- */

/* The 32 bits from bit `at` of the word `high` on, which `low` follows. Here and below only the low
 * five bits of a distance count. */
__device__ __forceinline__ uint32_t bits_from(uint32_t low, uint32_t high, uint32_t at) {
  return __funnelshift_l(low, high, at);
}

/* `bits` without the first `length`, zeros behind. */
__device__ __forceinline__ uint32_t bits_after(uint32_t bits, uint32_t length) {
  return __funnelshift_l(0u, bits, length);
}

/* ---- words ---- */

/* A word of a stream that does not change; 0 beyond its end. */
__device__ __forceinline__ uint32_t word_or_zero(const uint32_t *words, uint64_t word_count,
                                                 uint64_t index) {
  return index < word_count ? __ldg(words + index) : 0;
}

/* In shared memory. The lanes of a bad tile read on behind its last word, so whoever stages words
 * leaves memory there that may be read: as much as a lane's codes can take. */
struct StagedWords {
  uint32_t first; /* address of the first word */

  static __device__ __forceinline__ StagedWords of(const uint32_t *words) {
    return {shared_address(words)};
  }
  __device__ __forceinline__ uint32_t place_of(uint32_t i) const { return first + 4 * i; }
  __device__ __forceinline__ uint32_t index_of(uint32_t place) const { return (place - first) / 4; }
  __device__ __forceinline__ uint32_t at(uint32_t place, uint32_t ahead) const {
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(place + 4 * ahead));
    return word;
  }
  /* If `moves` is not 0, *word becomes the one at *place, and *place goes on. Predicated, since
   * this is the middle of the loop that everything waits for, and a branch there costs more. */
  __device__ __forceinline__ void step(uint32_t moves, uint32_t *place, uint32_t *word) const {
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        "setp.ne.u32 p, %2, 0;\n\t"
        "@p ld.shared.u32 %0, [%1];\n\t"
        "@p add.u32 %1, %1, 4;\n\t"
        "}"
        : "+r"(*word), "+r"(*place)
        : "r"(moves));
  }
};

/* Where they lie in the archive. Words from the end on read as 0. */
struct ArchiveWords {
  const uint32_t *words;
  uint32_t end; /* how many */

  __device__ __forceinline__ uint32_t place_of(uint32_t i) const { return i; }
  __device__ __forceinline__ uint32_t index_of(uint32_t place) const { return place; }
  __device__ __forceinline__ uint32_t at(uint32_t place, uint32_t ahead) const {
    return place + ahead < end ? words[place + ahead] : 0;
  }
  __device__ __forceinline__ void step(uint32_t moves, uint32_t *place, uint32_t *word) const {
    if (!moves) return;
    *word = at(*place, 0);
    ++*place;
  }
};

/* ---- a window ---- */

/* A lane's bits, three words ahead, so that a lane asks for a word long before it needs it. */
struct BitWindow {
  static constexpr uint32_t kWordsAhead = 3;

  uint32_t place; /* of the word after `next` */
  uint32_t high, low, next;
  uint32_t position; /* its low five bits: of the next code in `high`; the bits above count on */

  template <class Words>
  __device__ __forceinline__ void start(const Words &words, uint32_t first_bit,
                                        bool has_bits = true) {
    uint32_t const first = words.place_of(first_bit / 32);
    high = has_bits ? words.at(first, 0) : 0;
    low = has_bits ? words.at(first, 1) : 0;
    next = has_bits ? words.at(first, 2) : 0;
    place = words.place_of(first_bit / 32 + kWordsAhead);
    position = first_bit % 32;
  }

  /* Bits from the first word's first to the next code. */
  template <class Words>
  __device__ __forceinline__ uint32_t bit(const Words &words) const {
    return 32 * (words.index_of(place) - kWordsAhead) + position % 32;
  }

  /* 32 bits from the position on. */
  __device__ __forceinline__ uint32_t window() const { return bits_from(low, high, position); }

  /* Goes to a position at most 32 bits further on. crossing: 32; 0: the window stays at its words,
   * wherever the position goes. */
  template <class Words>
  __device__ __forceinline__ void go_to(const Words &words, uint32_t to, uint32_t crossing) {
    uint32_t const crossed = (position ^ to) & crossing;
    high = crossed ? low : high;
    low = crossed ? next : low;
    words.step(crossed, &place, &next);
    position = to;
  }
};

} // namespace szg

#endif
