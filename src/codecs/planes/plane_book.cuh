/* plane_book.cuh - a block orders the symbols of a plane's book by (length, symbol).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANE_BOOK_CUH
#define SZG_PLANE_BOOK_CUH

#include "codecs/planes/planes.h"
#include "core/warp.cuh"

namespace szg {

constexpr uint32_t kBookWarps = SZG_PLANES_SYMBOLS / 32;
constexpr uint32_t kLengths = SZG_PLANES_CODE_BITS + 1; /* 0: no code */

struct BookMemory {
  uint32_t warp_counts[kBookWarps][kLengths]; /* symbols of a length in 32 symbols; then before */
  uint32_t first_ranks[kLengths + 1];
  uint32_t first_windows[kLengths + 1]; /* of each length; [kLengths]: of all */
  uint8_t symbols[SZG_PLANES_SYMBOLS];  /* by (length, symbol) */
};

/* Finds where each length's symbols and windows begin. One thread calls. The loop is unrolled, so
 * that all counts are loaded before any is needed. */
__device__ inline void lay_out_lengths(BookMemory *memory) {
  uint32_t counts[kLengths][kBookWarps];
#pragma unroll
  for (uint32_t length = 1; length < kLengths; length++)
#pragma unroll
    for (uint32_t warp = 0; warp < kBookWarps; warp++)
      counts[length][warp] = memory->warp_counts[warp][length];
  uint32_t rank = 0, window = 0;
#pragma unroll
  for (uint32_t length = 1; length < kLengths; length++) {
    memory->first_ranks[length] = rank;
    memory->first_windows[length] = window;
#pragma unroll
    for (uint32_t warp = 0; warp < kBookWarps; warp++) {
      memory->warp_counts[warp][length] = rank;
      rank += counts[length][warp];
      window += counts[length][warp] << (SZG_PLANES_CODE_BITS - length);
    }
  }
  memory->first_windows[kLengths] = window;
}

/* The place of symbol threadIdx.x, whose code has `length` bits, by (length, symbol); 0: it has no
 * code. *are_lengths: none of them is too long. The whole block of SZG_PLANES_SYMBOLS threads or
 * more calls; lengths of threads that have no symbol are 0. Afterwards it may read where lengths
 * begin. */
__device__ inline uint32_t rank_symbol(uint32_t length, BookMemory *memory, bool *are_lengths) {
  uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t place = 0;
  for (uint32_t l = 1; l < kLengths; l++) {
    uint32_t const alike = __ballot_sync(kAllLanes, length == l);
    if (length == l) place = rank_among(alike, lane);
    if (warp < kBookWarps && lane == 0) memory->warp_counts[warp][l] = (uint32_t)__popc(alike);
  }
  *are_lengths = __syncthreads_and(length < kLengths); /* and counts are there */
  if (threadIdx.x == 0) lay_out_lengths(memory);
  __syncthreads(); /* ranks are there */
  return *are_lengths && length > 0 ? memory->warp_counts[warp][length] + place : 0;
}

} // namespace szg

#endif
