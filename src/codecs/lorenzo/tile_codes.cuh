/* tile_codes.cuh - canonical codes of a tile frame's book, by a block of threads.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_CODES_CUH
#define SZG_TILE_CODES_CUH

#include "codecs/lorenzo/tile_core.h"
#include "huffman/canonical.cuh"

namespace szg {

constexpr uint32_t kStrips = SZG_TILE_SYMBOLS / 32;
static_assert(kStrips * 32 == SZG_TILE_SYMBOLS, "whole strips");

struct TileCodes : CodeStrips<kStrips, SZG_TILE_CODE_BITS> {
  uint32_t mask; /* the first window of delta 0's code */
};

/* Calls use(symbol, length, rank in its length) for every symbol that has a code, and sets the
 * mask. The whole block calls, after codes->find, and synchronizes before it reads. */
template <uint32_t kThreads, class Use>
__device__ void rank_symbols(const uint8_t *lengths, TileCodes *codes, Use use) {
  for (uint32_t strip = threadIdx.x / 32; strip < kStrips; strip += kThreads / 32) {
    uint32_t const symbol = strip * 32 + threadIdx.x % 32, length = lengths[symbol];
    uint32_t const rank = codes->rank_in_length(strip, length);
    if (length == 0) continue;
    use(symbol, length, rank);
    if (symbol == SZG_TILE_ZERO)
      codes->mask = (codes->layout.first_code(length) + rank) << (SZG_TILE_CODE_BITS - length);
  }
}

} // namespace szg

#endif
