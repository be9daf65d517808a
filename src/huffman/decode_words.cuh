/* decode_words.cuh - loads a warp's subsequences to shared memory and counts their codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each lane has a subsequence with its words in a column, so that lanes read without conflicts at
 * any position.
 */
#ifndef SZG_DECODE_WORDS_CUH
#define SZG_DECODE_WORDS_CUH

#include "huffman/code_queue.cuh"

namespace szg {

/* Rows of words, one word per lane: the subsequence's words, and as many of the next one's as the
 * codes that complete a unit can reach. A lane that has finished goes on reading at any row, so
 * rows wrap at a power of two, and one more row holds the word after. */
constexpr uint32_t kNextWords = 4;
constexpr uint32_t kWordRows = 16;
constexpr uint32_t kWordRowBytes = 32 * sizeof(uint32_t);
static_assert((SZG_MAX_CODE_BITS - 1) + (kUnitCodes - 1) * SZG_MAX_CODE_BITS <= 32 * kNextWords,
              "codes to complete a unit");
static_assert(SZG_SUBSEQUENCE_WORDS + kNextWords < kWordRows, "rows");
static_assert(SZG_SUBSEQUENCE_BITS / SZG_MAX_CODE_BITS >= 2 * kUnitCodes,
              "a unit has codes of two subsequences at most, but for the stream's end");

/* DecodeTables or only their SpanTables, then the kernel's other memory. */
extern __shared__ uint4 block_memory[];

__device__ __forceinline__ const SpanTables *shared_spans() {
  return reinterpret_cast<const SpanTables *>(block_memory);
}

__device__ __forceinline__ const DecodeTables *shared_tables() {
  return reinterpret_cast<const DecodeTables *>(block_memory);
}

/* Four words of the stream, zeros past its end. */
inline __device__ uint4 words_at(const szg_linear_input_cuda &input, uint64_t first) {
  if (first + 4 <= input.word_count)
    return __ldg(reinterpret_cast<const uint4 *>(input.words + first));
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; i++) words[i] = first + i < input.word_count ? input.words[first + i] : 0;
  return make_uint4(words[0], words[1], words[2], words[3]);
}

inline __device__ void put_words(uint4 words, uint32_t column) {
  uint32_t *const rows = shared_at<uint32_t>(column);
  rows[0] = words.x;
  rows[32] = words.y;
  rows[64] = words.z;
  rows[96] = words.w;
}

/* Puts the lane's words in its column, and the first of them also below those of the lane before.
 * Returns whether they are all 0. */
inline __device__ bool stage_words(const szg_linear_input_cuda &input, uint64_t subsequence,
                                   uint32_t warp_memory) {
  uint32_t const lane = threadIdx.x % 32;
  uint64_t const first = subsequence * SZG_SUBSEQUENCE_WORDS;
  uint4 const head = words_at(input, first), tail = words_at(input, first + 4);
  uint4 const next = lane == 0 ? words_at(input, first + 32 * SZG_SUBSEQUENCE_WORDS) : head;
  put_words(head, warp_memory + 4 * lane);
  put_words(tail, warp_memory + 4 * lane + 4 * kWordRowBytes);
  put_words(next, warp_memory + 4 * ((lane + 31) % 32) + SZG_SUBSEQUENCE_WORDS * kWordRowBytes);
  return (head.x | head.y | head.z | head.w | tail.x | tail.y | tail.z | tail.w) == 0;
}

inline __device__ uint32_t gap_of(const szg_linear_input_cuda &input, uint64_t subsequence) {
  return input.gaps[subsequence / 2] >> subsequence % 2 * 4 & 15;
}

/* The lane's 32 bits from `bit` on; `bit` wraps at the end of the rows. */
__device__ __forceinline__ uint32_t bits_at(uint32_t column, uint32_t bit) {
  uint32_t const first_word = bit & 32 * (kWordRows - 1); /* bit / 32 rows of 32 words */
  const uint32_t *const word = shared_at<uint32_t>(column + first_word * sizeof(uint32_t));
  return bits_from(word[32], word[0], bit);
}

/* In PTX, because the compiler makes three instructions of this shift and an access, not two. */
__device__ __forceinline__ uint32_t window_of(uint32_t bits) {
  uint32_t window;
  asm("shr.u32 %0, %1, %2;" : "=r"(window) : "r"(bits), "n"(32 - kWindowBits));
  return window;
}

/* The span of the long code at the start of `bits`. */
inline __device__ uint32_t long_span(uint32_t bits) {
  uint32_t const slot = long_slot(shared_spans(), bits);
  return span_of(1, long_code_bits(shared_spans(), slot));
}

/* The span to the first border of codes at `left` bits or later, or to the last border in the
 * window if there is none. */
inline __device__ uint32_t span_at_end(uint32_t bits, uint32_t left) {
  uint32_t const borders = shared_spans()->borders[window_of(bits)];
  uint32_t const beyond = borders & kAllLanes << min(left, 16u);
  uint32_t const advance = beyond ? __ffs((int)beyond) - 1 : 31 - __clz((int)borders);
  if (advance == 0) return long_span(bits);
  return span_of(__popc(borders & lanes_below(advance)), advance);
}

/* The span of the codes that begin at gap or later and before limit: their number, and where the
 * last one ends. words: an argument for bits_at, such as the place of a column. */
template <class Words>
__device__ uint32_t count_codes(const Words &words, uint32_t gap, uint32_t limit) {
  uint32_t span = gap; /* the gap and the codes so far */
  int const last_of_pairs = (int)limit - 2 * SZG_MAX_CODE_BITS;
  while ((int)(span & kSpanPlaceMask) <= last_of_pairs) {
    uint32_t const bits = bits_at(words, span);
    uint32_t const first = shared_spans()->spans[window_of(bits)];
    uint32_t const rest = bits_after(bits, first);
    uint32_t second = shared_spans()->spans[window_of(rest)];
    if (second == 0) second = long_span(rest);
    span += first + second;
  }
  while ((span & kSpanPlaceMask) < limit)
    span += span_at_end(bits_at(words, span), limit - (span & kSpanPlaceMask));
  return span;
}

} // namespace szg

#endif
