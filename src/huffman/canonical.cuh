/* canonical.cuh - canonical codes of a book, by a warp or a block.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CANONICAL_CUH
#define SZG_CANONICAL_CUH

#include "core/warp.cuh"
#include "huffman/canonical_core.h"

namespace szg {

/* Where the codes of each length begin, among the symbols by (length, symbol) and among the
 * windows. [kLengths]: behind the last. */
template <uint32_t kBitsGiven>
struct CodeLayout {
  static constexpr uint32_t kBits = kBitsGiven, kLengths = kBits + 1; /* 0: no code */
  static_assert(kLengths < 32, "a lane for each, and for what is behind");

  uint32_t first_ranks[kLengths + 1], first_windows[kLengths + 1];

  /* count: of the symbols whose length is this lane's number; lane 0 and those from kLengths on may
   * have any. The whole warp calls. */
  __device__ __forceinline__ void lay_out(uint32_t count, uint32_t lane) {
    bool const is_length = lane > 0 && lane < kLengths;
    uint32_t const ranks = is_length ? count : 0;
    uint32_t const windows = is_length ? szg_code_windows(count, lane, kBits) : 0;
    uint32_t const first_rank = sum_to_lane(ranks, lane) - ranks;
    uint32_t const first_window = sum_to_lane(windows, lane) - windows;
    if (lane > kLengths) return;
    first_ranks[lane] = first_rank;
    first_windows[lane] = first_window;
  }
  __device__ __forceinline__ uint32_t symbol_count() const { return first_ranks[kLengths]; }
  __device__ __forceinline__ uint32_t window_count() const { return first_windows[kLengths]; }
  __device__ __forceinline__ uint32_t first_code(uint32_t length) const {
    return szg_code_of_window(first_windows[length], length, kBits);
  }
  /* The length of the code that a window begins with, which has one. */
  __device__ __forceinline__ uint32_t length_at(uint32_t window) const {
    uint32_t length = 1;
#pragma unroll
    for (uint32_t l = 2; l < kLengths; l++)
      length += window >= first_windows[l]; /* they increase with length */
    return length;
  }
  /* The rank of that code's symbol. */
  __device__ __forceinline__ uint32_t rank_at(uint32_t window, uint32_t length) const {
    return first_ranks[length] + szg_code_of_window(window - first_windows[length], length, kBits);
  }
};

/* Symbols in parts of consecutive ones. */
template <uint32_t kParts, uint32_t kBits, class Count = uint16_t>
struct CodeParts {
  Count ranks[kParts][kBits + 1]; /* by length: a part's symbols; then those of parts before */
  CodeLayout<kBits> layout;

  /* Sums the counts and lays out the codes. One warp calls. */
  __device__ __forceinline__ void lay_out(uint32_t lane) {
    uint32_t sum = 0;
#pragma unroll 8
    for (uint32_t part = 0; part < kParts; part++) {
      uint32_t const count = lane <= kBits ? ranks[part][lane] : 0;
      if (lane <= kBits) ranks[part][lane] = (Count)sum;
      sum += count;
    }
    layout.lay_out(sum, lane);
  }
};

/* A block's parts: strips of 32 symbols, with one lane for each. */
template <uint32_t kStrips, uint32_t kBits>
struct CodeStrips : CodeParts<kStrips, kBits> {
  static constexpr int kLengthBits = 4;
  static_assert(kBits < 1 << kLengthBits, "a length fits");

  /* length_of(s): of each symbol; at most kBits. The whole block calls. Afterwards it may read. */
  template <uint32_t kThreads, class LengthOf>
  __device__ __forceinline__ void find(LengthOf length_of) {
    uint32_t const lane = threadIdx.x % 32;
    for (uint32_t strip = threadIdx.x / 32; strip < kStrips; strip += kThreads / 32) {
      uint32_t const length = length_of(strip * 32 + lane);
      uint32_t const alike = lanes_alike<kLengthBits>(length);
      if (lane <= kBits) this->ranks[strip][lane] = 0;
      __syncwarp(); /* 0 before another lane counts */
      if ((alike & lanes_below(lane)) == 0)
        this->ranks[strip][length] = (uint16_t)__popc((int)alike);
    }
    __syncthreads(); /* all strips counted */
    if (threadIdx.x < 32) this->lay_out(lane);
    __syncthreads(); /* layout complete */
  }
  /* How many symbols of its length come before this lane's symbol of a strip. The whole warp
   * calls. */
  __device__ __forceinline__ uint32_t rank_in_length(uint32_t strip, uint32_t length) const {
    return this->ranks[strip][length] +
           rank_among(lanes_alike<kLengthBits>(length), threadIdx.x % 32);
  }
};

} // namespace szg

#endif
