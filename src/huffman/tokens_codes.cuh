/* tokens_codes.cuh - canonical codes of a small book, by a block with a thread for each symbol.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_CODES_CUH
#define SZG_TOKENS_CODES_CUH

#include "core/warp.cuh"
#include "huffman/tokens_books_core.h"

namespace szg {

struct TokensCodesPolicy {
  static constexpr uint32_t kThreads = 288;
  static constexpr uint32_t kWarps = kThreads / 32;
};
static_assert(SZG_TOKENS_MOST_SYMBOLS <= TokensCodesPolicy::kThreads, "a thread a symbol");

constexpr uint32_t kTokenLengths = SZG_LEVELS_CODE_BITS + 1; /* 0: no code */
static_assert(kTokenLengths <= 16, "lengths have 4 bits, and a lane has one");

/* By length; [kTokenLengths]: behind the last. Windows are the 2^12 that can follow. */
struct TokensCodes {
  uint32_t warp_counts[TokensCodesPolicy::kWarps][kTokenLengths];
  uint32_t counts[kTokenLengths];
  uint32_t first_codes[kTokenLengths + 1];
  uint32_t first_ranks[kTokenLengths + 1];
  uint32_t first_windows[kTokenLengths + 1];
};

/* Finds where the codes of each length begin; returns how many symbols before this thread's have
 * its length. lengths: complete, a thread has one each. The whole block calls. */
__device__ inline uint32_t lay_out_token_codes(const uint8_t *lengths, uint32_t symbol_count,
                                               TokensCodes *codes) {
  uint32_t const s = threadIdx.x, lane = s % 32, warp = s / 32;
  uint32_t const length = s < symbol_count ? lengths[s] : 0;
  uint32_t const alike = lanes_alike<4>(length);
  if (lane < kTokenLengths) codes->warp_counts[warp][lane] = 0;
  __syncwarp(); /* counts begin at 0 */
  if ((alike & lanes_below(lane)) == 0)
    codes->warp_counts[warp][length] = (uint32_t)__popc((int)alike);
  __syncthreads(); /* each warp's counts are there */
  uint32_t rank = rank_among(alike, lane), count = 0;
  for (uint32_t w = 0; w < warp; w++) rank += codes->warp_counts[w][length];
  if (s < kTokenLengths) {
    for (uint32_t w = 0; w < TokensCodesPolicy::kWarps; w++) count += codes->warp_counts[w][s];
    codes->counts[s] = count;
  }
  __syncthreads(); /* and all warps' */
  if (s >= 1 && s <= kTokenLengths) {
    uint32_t first_code = 0, first_rank = 0, first_window = 0;
    for (uint32_t l = 1; l < s; l++) {
      first_code += codes->counts[l] << (s - l);
      first_rank += codes->counts[l];
      first_window += codes->counts[l] << (SZG_LEVELS_CODE_BITS - l);
    }
    codes->first_codes[s] = first_code;
    codes->first_ranks[s] = first_rank;
    codes->first_windows[s] = first_window;
  }
  __syncthreads(); /* the layout is complete */
  return rank;
}

} // namespace szg

#endif
