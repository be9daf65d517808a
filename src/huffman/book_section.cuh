/* book_section.cuh - a block reads the code lengths of a codebook section, as szg_codebook_read.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * It sums the lengths of runs to find their symbols.
 */
#ifndef SZG_BOOK_SECTION_CUH
#define SZG_BOOK_SECTION_CUH

#include <cub/block/block_scan.cuh>

#include "huffman/huffman.h"

namespace szg {

template <uint32_t kThreads>
struct BookSection {
  typedef cub::BlockScan<uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS> Scan;
  typedef typename Scan::TempStorage Memory;

  /* lengths: [symbol_count], 0. False: the section is not of lengths up to `longest`, and lengths
   * stay 0. The whole block calls, and synchronizes before it reads lengths. */
  static __device__ bool read(const uint8_t *section, uint64_t section_bytes, uint32_t symbol_count,
                              uint32_t longest, Memory *memory, uint8_t *lengths) {
    constexpr uint32_t kLengths = 1u << SZG_BOOK_LENGTH_BITS; /* that fit a run's byte */
    if (section_bytes < SZG_BOOK_HEAD_BYTES) return false;
    uint32_t const first = section[2] | (uint32_t)section[3] << 8;
    uint32_t const count = section[4] | (uint32_t)section[5] << 8;
    uint64_t const run_count = section_bytes - SZG_BOOK_HEAD_BYTES;
    if (section[0] > longest || section[1] != 0 || first < 1 || first + count > symbol_count ||
        run_count > count)
      return false;
    const uint8_t *const runs = section + SZG_BOOK_HEAD_BYTES;
    uint32_t const share = ((uint32_t)run_count + kThreads - 1) / kThreads;
    uint32_t const begin = min(threadIdx.x * share, (uint32_t)run_count);
    uint32_t const end = min(begin + share, (uint32_t)run_count);
    uint32_t covered = 0, before = 0, covered_by_all = 0;
    bool is_sound = true;
    for (uint32_t i = begin; i < end; i++) {
      uint32_t const run = runs[i];
      covered += (run >> SZG_BOOK_LENGTH_BITS) + 1;
      is_sound &= run % kLengths <= longest;
    }
    Scan(*memory).ExclusiveSum(covered, before, covered_by_all);
    if (!__syncthreads_and(is_sound && covered_by_all == count)) return false;
    uint32_t s = first + before;
    for (uint32_t i = begin; i < end; i++) {
      uint32_t const run = runs[i];
      for (uint32_t k = 0; k <= run >> SZG_BOOK_LENGTH_BITS; k++)
        lengths[s++] = (uint8_t)(run % kLengths);
    }
    if (threadIdx.x == 0) lengths[SZG_ESCAPE_SYMBOL] = section[0];
    return true;
  }
};

} // namespace szg

#endif
