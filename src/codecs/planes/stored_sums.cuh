/* stored_sums.cuh - sums up the XXH3 blocks of stored planes while kernels that write or read them
 * have their bytes in registers.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Most of a lossless frame can be stored planes. A block of XXH3 adds to eight accumulators, which
 * are plain sums (container/xxh3.cuh). Whoever has these sums can hash a leaf of the checksum tree
 * without its bytes: they are a sixteenth of them.
 *
 * A block is 8 rows of a tile, of two stripes each. A lane has half a word of each row; of two
 * rows, the even lane of a pair takes the word of the first, the odd lane that of the second.
 */
#ifndef SZG_STORED_SUMS_CUH
#define SZG_STORED_SUMS_CUH

#include "codecs/planes/plane_rows.cuh"
#include "codecs/planes/planes_cuda.h"
#include "container/xxh3.cuh"
#include "core/shared_memory.cuh"

namespace szg {

constexpr uint32_t kSumBlockBytes = xxh3::kBlockWords * sizeof(uint64_t);
constexpr uint32_t kSumBlockRows = kSumBlockBytes / SZG_PLANES_ROW;
constexpr uint32_t kSumLeafBlocks = SZG_CHECKSUM_BLOCK_BYTES / kSumBlockBytes;
static_assert(SZG_PLANES_ROW == 2 * xxh3::kStripeWords * sizeof(uint64_t), "two stripes to a row");
static_assert(SZG_TILE_VALUES % kSumBlockBytes == 0, "tiles have whole blocks");
static_assert(SZG_SUM_BLOCK_BYTES == kSumBlockBytes && SZG_BLOCK_SUMS == xxh3::kStripeWords,
              "szg_planes_most_sums");

/* In shared memory: the keys of each lane for the pairs of rows of a block; then, for the last pair
 * of a leaf's last block, whose last stripe has a key of its own. */
constexpr uint32_t kSumKeys = (kSumBlockRows / 2 + 1) * SZG_LANES;
template <class Kind>
constexpr uint32_t kSumKeyBytes = Kind::kHasSums ? kSumKeys * sizeof(uint64_t) : 0;

/* What is summed up. */
struct SumJob {
  uint64_t *sums;              /* of the section of stored planes: eight for each block */
  uint64_t stored_plane_bytes; /* from a plane to the next */
  uint32_t planes;             /* the first so many stored planes have their blocks summed up */
};

/* What a kernel that walks all rows of a frame can sum up: only whole tiles have sums, and planes
 * that begin with a block. sums: [szg_planes_most_sums], or NULL for none. *summed_bytes: of the
 * section's first leaves. */
template <class Kind>
SumJob sum_job_of(uint64_t value_count, uint64_t *sums, uint64_t *summed_bytes) {
  SumJob job = {NULL, 0, 0};
  *summed_bytes = 0;
  if (!Kind::kHasSums || !sums) return job;
  bool const are_whole = value_count % SZG_TILE_VALUES == 0;
  job.sums = sums;
  job.stored_plane_bytes = szg_stored_plane_bytes(value_count);
  job.planes =
      are_whole ? szg_planes_of_mode(Kind::kModes, Kind::kValueBytes, SZG_PLANE_STORED) : 1;
  uint64_t const plane_bytes = value_count / SZG_TILE_VALUES * SZG_TILE_VALUES;
  *summed_bytes = job.planes * plane_bytes / SZG_CHECKSUM_BLOCK_BYTES * SZG_CHECKSUM_BLOCK_BYTES;
  return job;
}

/* The whole block calls, and must synchronize before keys are used. */
__device__ __forceinline__ void make_sum_keys(uint64_t *keys, uint32_t thread_count) {
  for (uint32_t i = threadIdx.x; i < kSumKeys; i += thread_count) {
    uint32_t const lane = i % SZG_LANES, pair = i / SZG_LANES;
    bool const is_of_last_block = pair == kSumBlockRows / 2;
    uint32_t const row = 2 * (is_of_last_block ? pair - 1 : pair) + lane % 2;
    uint32_t const stripe = 2 * row + lane / 16, accumulator = lane % 16 / 2;
    bool const is_final = is_of_last_block && stripe == xxh3::kBlockStripes - 1;
    keys[i] = xxh3::secret(is_final ? xxh3::kFinalStripeSecret + 8 * accumulator
                                    : 8 * (stripe + accumulator));
  }
}

/* Adds two rows of a block. key: the lane's; first and second: its four bytes of each row. The
 * whole warp calls. */
__device__ __forceinline__ void add_two_rows(uint64_t key, uint32_t first, uint32_t second,
                                             unsigned lane, xxh3::HashSums *sums) {
  bool const is_odd = lane % 2 != 0;
  uint32_t const other = __shfl_xor_sync(kAllLanes, is_odd ? first : second, 1);
  uint32_t const low = is_odd ? other : first, high = is_odd ? second : other;
  xxh3::add_word((uint64_t)high << 32 | low, key, sums);
}

/* Stores a block's sums, eight of them. The whole warp calls. */
__device__ __forceinline__ void store_sums(const xxh3::HashSums &sums, uint64_t *to,
                                           unsigned lane) {
  uint64_t sum = sums.for_own + __shfl_xor_sync(kAllLanes, sums.for_neighbour, 2);
  sum += __shfl_xor_sync(kAllLanes, sum, 1);
  sum += __shfl_xor_sync(kAllLanes, sum, 16);
  if (lane < 16 && lane % 2 == 0) to[lane / 2] = sum;
}

/* The sums of a tile's stored planes, block after block. Only kernels of a kind that has sums use
 * them. */
template <class Kind>
struct StoredSums {
  xxh3::HashSums of_plane[Kind::kValueBytes];
  uint32_t key_place; /* shared address of the lane's first key */

  /* Adds a batch of rows of the stored planes, of which `row` is the first, of a whole tile. The
   * whole warp calls. */
  template <uint32_t kRows>
  __device__ __forceinline__ void add_rows(const SumJob &job, uint64_t first_value, uint32_t row,
                                           const uint32_t (&runs)[kRows][Kind::kValueBytes],
                                           unsigned lane) {
    constexpr uint32_t kPairStep = SZG_LANES * sizeof(uint64_t);
    static_assert(kSumBlockRows % kRows == 0 && kRows % 2 == 0, "blocks have whole batches");
    constexpr bool kIsBlock = kRows == kSumBlockRows;
    bool const is_first = kIsBlock || row % kSumBlockRows == 0;
    bool const is_last = kIsBlock || (row + kRows) % kSumBlockRows == 0;
    uint64_t place = first_value + row / kSumBlockRows * kSumBlockBytes;
    uint32_t left = job.planes;
#pragma unroll
    for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
      if (szg_plane_mode(Kind::kModes, plane) != SZG_PLANE_STORED) continue;
      if (left == 0) break;
      uint32_t const block = (uint32_t)(place / kSumBlockBytes) % kSumLeafBlocks;
      if (is_first) of_plane[plane] = {0, 0};
#pragma unroll
      for (uint32_t i = 0; i < kRows; i += 2) {
        uint32_t pair = (kIsBlock ? i : (row + i) % kSumBlockRows) / 2;
        if (block == kSumLeafBlocks - 1 && pair == kSumBlockRows / 2 - 1) pair++;
        uint64_t const key = *shared_at<const uint64_t>(key_place + pair * kPairStep);
        add_two_rows(key, runs[i][plane], runs[i + 1][plane], lane, &of_plane[plane]);
      }
      if (is_last)
        store_sums(of_plane[plane], job.sums + place / kSumBlockBytes * xxh3::kStripeWords, lane);
      place += job.stored_plane_bytes;
      left--;
    }
  }
};

} // namespace szg

#endif
