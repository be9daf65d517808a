/* tokens_codes.cuh - canonical codes of a small book, by a block with a thread for each symbol.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_CODES_CUH
#define SZG_TOKENS_CODES_CUH

#include "huffman/tokens_books_core.h"

namespace szg {

struct TokensCodesPolicy {
  static constexpr uint32_t kThreads = 288;
};
static_assert(SZG_TOKENS_MOST_SYMBOLS <= TokensCodesPolicy::kThreads, "a thread a symbol");

constexpr uint32_t kTokenLengths = SZG_LEVELS_CODE_BITS + 1; /* 0: no code */

/* By length; [kTokenLengths]: behind the last. Windows are the 2^12 that can follow. */
struct TokensCodes {
  uint32_t counts[kTokenLengths];
  uint32_t first_codes[kTokenLengths];
  uint32_t first_ranks[kTokenLengths + 1];
  uint32_t first_windows[kTokenLengths + 1];
};

/* Finds where the codes of each length begin. lengths: in shared memory, complete. The whole block
 * calls. */
__device__ inline void lay_out_token_codes(const uint8_t *lengths, uint32_t symbol_count,
                                           TokensCodes *codes) {
  uint32_t const s = threadIdx.x;
  if (s < kTokenLengths) codes->counts[s] = 0;
  __syncthreads(); /* counts begin at 0 */
  if (s < symbol_count) atomicAdd(&codes->counts[lengths[s]], 1);
  __syncthreads(); /* counts are complete */
  if (s == 0) {
    uint32_t code = 0, rank = 0, window = 0;
    for (uint32_t length = 1; length < kTokenLengths; length++) {
      code <<= 1;
      codes->first_codes[length] = code;
      codes->first_ranks[length] = rank;
      codes->first_windows[length] = window;
      code += codes->counts[length];
      rank += codes->counts[length];
      window += codes->counts[length] << (SZG_LEVELS_CODE_BITS - length);
    }
    codes->first_ranks[kTokenLengths] = rank;
    codes->first_windows[kTokenLengths] = window;
  }
  __syncthreads(); /* the layout is complete */
}

/* How many symbols before this one have its length. */
__device__ inline uint32_t rank_of_token(const uint8_t *lengths, uint32_t symbol) {
  uint32_t rank = 0;
#pragma unroll 8
  for (uint32_t s = 0; s < symbol; s++) rank += lengths[s] == lengths[symbol];
  return rank;
}

} // namespace szg

#endif
