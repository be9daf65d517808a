/* rle.cuh - one block codes a tile's mask as run lengths and decodes it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Thread t of a block of kMaskThreads has word t of the mask: value i is bit i % 32 of word i / 32;
 * bits past the last value are 0. The whole block calls each function, with the same value_count,
 * distance, bytes and storage, unless it says otherwise.
 */
#ifndef SZG_RLE_CUH
#define SZG_RLE_CUH

#include <cub/block/block_scan.cuh>

#include "core/operators.cuh"
#include "core/warp.cuh"
#include "rle/rle.h"

namespace szg {

constexpr uint32_t kMaskThreads = 128;
static_assert(32 * kMaskThreads == SZG_TILE_VALUES, "a thread has 32 of a tile's values");

constexpr uint32_t kContinuedRun = 255; /* the same symbol goes on after this byte */

typedef cub::BlockScan<uint32_t, kMaskThreads, cub::BLOCK_SCAN_WARP_SCANS> MaskScan;

struct MaskStorage { /* in shared memory */
  typename MaskScan::TempStorage scan;
  uint32_t words[kMaskThreads];
  uint32_t odd_lanes[kMaskThreads / 32];
};

/* The sum over the threads before this one, and over all. */
__device__ inline uint32_t mask_sum_before(uint32_t value, uint32_t *total, MaskStorage &storage) {
  uint32_t before;
  MaskScan(storage.scan).ExclusiveSum(value, before, *total);
  __syncthreads(); /* the next scan may use the storage */
  return before;
}

/* The greatest value of the threads before this one; 0 in the first. */
__device__ inline uint32_t mask_greatest_before(uint32_t value, MaskStorage &storage) {
  uint32_t before;
  MaskScan(storage.scan).ExclusiveScan(value, before, 0u, Greater());
  __syncthreads(); /* the next scan may use the storage */
  return before;
}

/* The bits of the thread's word that belong to values. */
__device__ inline uint32_t mask_used_bits(uint32_t value_count) {
  uint32_t const first = 32 * threadIdx.x;
  if (value_count <= first) return 0;
  uint32_t const count = value_count - first;
  return count < 32 ? (1u << count) - 1 : 0xFFFFFFFFu;
}

/* The thread's word after all bits of the mask have moved on by `distance`; zeros come in. Bits
 * past the last value are not cleared. */
__device__ inline uint32_t mask_moved_on(uint32_t word, uint32_t distance, MaskStorage &storage) {
  uint32_t const thread = threadIdx.x, words = distance / 32;
  storage.words[thread] = word;
  __syncthreads(); /* all words are written */
  uint32_t const upper = thread >= words ? storage.words[thread - words] : 0;
  uint32_t const lower = thread > words ? storage.words[thread - words - 1] : 0;
  __syncthreads(); /* they may be overwritten now */
  return __funnelshift_l(lower, upper, distance % 32);
}

/* ---- encoding ---- */

/* A thread's part of the coded mask. */
struct MaskCode {
  uint32_t changes;    /* bits of the word at which a run ends and the next begins */
  uint32_t run_begin;  /* start of the run that ends at the first of them */
  uint32_t first_byte; /* the thread's first, in the tile's share */
  uint32_t byte_count; /* the whole tile's */
};

/* distance: as in szg_mask_encode. */
__device__ inline MaskCode mask_code(uint32_t word, uint32_t value_count, uint32_t distance,
                                     MaskStorage &storage) {
  uint32_t const first = 32 * threadIdx.x;
  if (distance) word ^= mask_moved_on(word, distance, storage);
  MaskCode code;
  code.changes = (word ^ mask_moved_on(word, 1, storage)) & mask_used_bits(value_count);
  uint32_t const last_change = code.changes ? first + 31 - __clz((int)code.changes) : 0;
  code.run_begin = mask_greatest_before(last_change, storage);
  uint32_t byte_count = __popc(code.changes);
  if (code.changes) /* only a run from an earlier word can be long */
    byte_count += (first + __ffs((int)code.changes) - 1 - code.run_begin) / kContinuedRun;
  code.first_byte = mask_sum_before(byte_count, &code.byte_count, storage);
  return code;
}

/* Writes the thread's bytes of the tile's share; no barrier. */
__device__ inline void mask_write(const MaskCode &code, uint8_t *bytes) {
  uint8_t *next = bytes + code.first_byte;
  uint32_t begin = code.run_begin;
  for (uint32_t changes = code.changes; changes; changes &= changes - 1) {
    uint32_t const change = 32 * threadIdx.x + __ffs((int)changes) - 1;
    uint32_t run = change - begin;
    for (; run >= kContinuedRun; run -= kContinuedRun) *next++ = (uint8_t)kContinuedRun;
    *next++ = (uint8_t)run;
    begin = change;
  }
}

/* ---- decoding ---- */

/* Bit i of the result: whether an odd number of bits up to it are set, also in earlier words. */
__device__ inline uint32_t mask_parities(uint32_t word, MaskStorage &storage) {
  uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (uint32_t shift = 1; shift < 32; shift *= 2) word ^= word << shift;
  uint32_t const odd_lanes = __ballot_sync(kAllLanes, word >> 31);
  if (lane == 0) storage.odd_lanes[warp] = odd_lanes;
  __syncthreads(); /* all warps have written */
  uint32_t odd_before = rank_among(odd_lanes, lane);
  for (uint32_t other = 0; other < warp; other++) odd_before += __popc(storage.odd_lanes[other]);
  __syncthreads(); /* they may be overwritten now */
  return odd_before % 2 ? ~word : word;
}

/* As szg_mask_decode: false for all threads if the runs exceed the tile; then *word is
 * undefined. */
__device__ inline bool mask_decode(const uint8_t *bytes, uint32_t byte_count, uint32_t value_count,
                                   uint32_t distance, uint32_t *word, MaskStorage &storage) {
  uint32_t const thread = threadIdx.x;
  uint32_t const bytes_per_thread = (byte_count + kMaskThreads - 1) / kMaskThreads;
  uint32_t const begin = min(thread * bytes_per_thread, byte_count);
  uint32_t const end = min(begin + bytes_per_thread, byte_count);
  uint32_t own_values = 0, all_values;
  for (uint32_t i = begin; i < end; i++) own_values += bytes[i];
  storage.words[thread] = 0;
  uint32_t place = mask_sum_before(own_values, &all_values, storage); /* a barrier: words are 0 */
  for (uint32_t i = begin; i < end; i++) {
    place += bytes[i];
    if (bytes[i] != kContinuedRun && place < value_count)
      atomicXor(&storage.words[place / 32], 1u << place % 32);
  }
  __syncthreads(); /* all changes are set */
  uint32_t const used_bits = mask_used_bits(value_count);
  uint32_t mask = mask_parities(storage.words[thread], storage) & used_bits;
  /* Undone by doubling: after each step a bit contains the XOR of twice as many before it. */
  if (distance)
    for (uint32_t done = distance; done < value_count; done *= 2)
      mask ^= mask_moved_on(mask, done, storage);
  *word = mask & used_bits;
  return all_values <= value_count;
}

} // namespace szg

#endif
