/* checksum.cu - the checksum tree, its comparison and the seal of a frame's header, on a GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Leaves: a warp hashes a block of 16 KiB; each byte is read once, 8 bytes are written for each
 * 16 KiB. Roots: XXH3 over a range's leaves is a chain, 1 KiB a link. Of a link only one addition
 * and the scramble hang on the link before, so many warps sum up links ahead, and one chains them.
 * Comparison and seal are a warp each.
 */
#include "container/checksum.h"

#include <assert.h>

#include "container/xxh3.cuh"
#include "core/cuda_check.cuh"

namespace {

namespace xxh3 = szg::xxh3;

constexpr uint32_t kWarpThreads = 32;

struct LeafPolicy {
  static constexpr uint32_t kWarps = 4; /* a leaf each; small blocks even out the tail */
  static constexpr uint32_t kThreads = kWarps * kWarpThreads;
};

/* A link takes the chain some 30 cycles, a sum comes from memory in under 1,000: as many sums at a
 * time as a block has warps for. */
struct RootPolicy {
  static constexpr uint32_t kThreads = 1024;
  static constexpr uint32_t kSumWarps = kThreads / kWarpThreads - 1; /* one warp chains */
};

/* Of an archive's header: docs/format.md, section 3. */
constexpr uint32_t kArchiveBytesWord = 112 / sizeof(uint64_t);
constexpr uint32_t kFrameTableWord = SZG_HEADER_BYTES / sizeof(uint64_t);

constexpr uint32_t kLeafWords = SZG_CHECKSUM_BLOCK_BYTES / sizeof(uint64_t);
static_assert(SZG_ALIGNMENT % sizeof(uint64_t) == 0, "what is hashed is whole words");
static_assert(SZG_FRAME_HEADER_BYTES % sizeof(uint64_t) == 0, "what is hashed is whole words");
static_assert(SZG_SECTION_ENTRY_BYTES % sizeof(uint64_t) == 0, "what is hashed is whole words");
static_assert(SZG_SECTION_KIND_COUNT <= kWarpThreads, "a lane for each section");

/* szg_checksum_leaf_count's twin */
__host__ __device__ uint64_t leaf_count_of(uint64_t byte_count) {
  return (byte_count + SZG_CHECKSUM_BLOCK_BYTES - 1) / SZG_CHECKSUM_BLOCK_BYTES;
}

/* What the links of a round add to each accumulator. */
typedef uint64_t LinkSums[RootPolicy::kSumWarps][xxh3::kStripeWords];

/* A range's leaves; its links are the blocks of XXH3 that end with a scramble. 32 bits count the
 * leaves of 64 TiB. */
struct Leaves {
  const uint64_t *hashes;
  uint32_t count;
  uint32_t link_count;
};

__device__ void sum_link(const Leaves &leaves, uint32_t link, const xxh3::Lane &lane,
                         uint64_t *link_sums) {
  if (link >= leaves.link_count) return;
  xxh3::LaneWords const words =
      xxh3::load_block(lane, leaves.hashes, link * xxh3::kBlockWords, leaves.count);
  uint64_t const sum = xxh3::sum_of_warp(xxh3::sum_block(lane, words));
  if (lane.first_stripe == 0) link_sums[lane.accumulator] = sum;
}

/* The accumulator after a round's links, which begin with first_link. */
__device__ uint64_t chain_links(const Leaves &leaves, uint32_t first_link, const xxh3::Lane &lane,
                                uint64_t key, const LinkSums &sums, uint64_t accumulator) {
  uint32_t const link_count = min(leaves.link_count - first_link, RootPolicy::kSumWarps);
#pragma unroll 8
  for (uint32_t i = 0; i < link_count; i++)
    accumulator = xxh3::scramble(accumulator + sums[i][lane.accumulator], key);
  return accumulator;
}

__device__ __forceinline__ void hash_leaf(const szg_checksum_ranges &ranges, uint64_t *leaves) {
  uint64_t const leaf = (uint64_t)blockIdx.x * LeafPolicy::kWarps + threadIdx.x / kWarpThreads;
  uint64_t leaf_of_range = leaf;
  for (uint32_t i = 0; i < ranges.count; i++) {
    uint64_t const leaf_count = leaf_count_of(ranges.byte_counts[i]);
    if (leaf_of_range >= leaf_count) {
      leaf_of_range -= leaf_count;
      continue;
    }
    uint64_t const start = leaf_of_range * SZG_CHECKSUM_BLOCK_BYTES;
    uint64_t const words_left = (ranges.byte_counts[i] - start) / sizeof(uint64_t);
    uint64_t const hash = xxh3::hash_by_warp(
        (const uint64_t *)(ranges.bytes[i] + start),
        words_left < kLeafWords ? (uint32_t)words_left : kLeafWords, threadIdx.x % kWarpThreads);
    if (threadIdx.x % kWarpThreads == 0) leaves[leaf] = hash;
    return;
  }
}

__global__ void __launch_bounds__(LeafPolicy::kThreads)
    leaves_hash_kernel(const __grid_constant__ szg_checksum_ranges ranges, uint64_t *leaves) {
  hash_leaf(ranges, leaves);
}

__global__ void __launch_bounds__(LeafPolicy::kThreads)
    unseen_leaves_hash_kernel(const szg_checksum_ranges *ranges, uint64_t *leaves) {
  hash_leaf(*ranges, leaves);
}

/* Block r makes the root of range r. */
__device__ __forceinline__ void hash_root(const szg_checksum_ranges &ranges, const uint64_t *hashes,
                                          uint64_t *roots) {
  __shared__ LinkSums sums[2]; /* of even and of odd rounds */
  for (uint32_t i = 0; i < blockIdx.x; i++) hashes += leaf_count_of(ranges.byte_counts[i]);
  uint32_t const count = (uint32_t)leaf_count_of(ranges.byte_counts[blockIdx.x]);
  if (count <= xxh3::kShortWords) {
    if (threadIdx.x == 0) roots[blockIdx.x] = xxh3::hash_short(hashes, count);
    return;
  }
  Leaves const leaves = {hashes, count, xxh3::scrambled_blocks(count)};
  uint32_t const warp = threadIdx.x / kWarpThreads;
  bool const chains = warp == RootPolicy::kSumWarps;
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x % kWarpThreads);
  uint64_t const key = xxh3::scramble_key(lane);
  uint64_t accumulator = xxh3::kFirstAccumulators[lane.accumulator];
  uint32_t const round_count =
      (leaves.link_count + RootPolicy::kSumWarps - 1) / RootPolicy::kSumWarps;
  for (uint32_t round = 0; round <= round_count; round++) {
    uint32_t const first_link = round * RootPolicy::kSumWarps;
    if (!chains) sum_link(leaves, first_link + warp, lane, sums[round % 2][warp]);
    if (chains && round > 0)
      accumulator = chain_links(leaves, first_link - RootPolicy::kSumWarps, lane, key,
                                sums[(round - 1) % 2], accumulator);
    __syncthreads(); /* summed up before it is chained; chained before it is overwritten */
  }
  if (!chains) return;
  uint32_t const last = leaves.link_count * xxh3::kBlockWords;
  xxh3::LaneWords const words = xxh3::load_block(lane, hashes, last, count);
  accumulator += xxh3::sum_of_warp(xxh3::sum_last_block(lane, words, count - last));
  uint64_t const root = xxh3::merge_by_warp(lane, accumulator, count);
  if (threadIdx.x % kWarpThreads == 0) roots[blockIdx.x] = root;
}

__global__ void __launch_bounds__(RootPolicy::kThreads)
    roots_hash_kernel(const __grid_constant__ szg_checksum_ranges ranges, const uint64_t *hashes,
                      uint64_t *roots) {
  hash_root(ranges, hashes, roots);
}

__global__ void __launch_bounds__(RootPolicy::kThreads)
    unseen_roots_hash_kernel(const szg_checksum_ranges *ranges, const uint64_t *hashes,
                             uint64_t *roots) {
  if (blockIdx.x < ranges->count) hash_root(*ranges, hashes, roots);
}

__global__ void __launch_bounds__(kWarpThreads)
    roots_compare_kernel(const __grid_constant__ szg_checksum_ranges ranges, const uint64_t *roots,
                         szg_verdict *verdict) {
  uint32_t const i = threadIdx.x;
  if (i < ranges.count && roots[i] != ranges.expected[i])
    atomicOr(&verdict->bad_sections, 1u << ranges.kinds[i]);
}

/* A warp's work. */
__device__ __forceinline__ void seal_frame(uint64_t *header, uint32_t section_count,
                                           const uint64_t *roots) {
  constexpr uint32_t kEntryWords = SZG_SECTION_ENTRY_BYTES / sizeof(uint64_t);
  uint32_t const table = SZG_FRAME_HEADER_BYTES / sizeof(uint64_t);
  uint32_t const word_count = table + section_count * kEntryWords;
  uint32_t const lane = threadIdx.x;
  if (lane < section_count) header[table + lane * kEntryWords + kEntryWords - 1] = roots[lane];
  __syncwarp(); /* all roots are there before they are hashed */
  uint64_t const hash = xxh3::hash_by_warp(header, word_count, lane);
  if (lane == 0) header[word_count] = hash;
}

__global__ void __launch_bounds__(kWarpThreads)
    header_seal_kernel(uint64_t *header, uint32_t section_count, const uint64_t *roots) {
  seal_frame(header, section_count, roots);
}

__global__ void __launch_bounds__(kWarpThreads)
    archive_seal_kernel(uint64_t *frame_header, uint32_t section_count, const uint64_t *roots,
                        const uint64_t *frame_bytes, uint64_t *header, uint32_t header_words) {
  uint64_t const bytes = *frame_bytes;
  if (bytes == 0) return;
  seal_frame(frame_header, section_count, roots);
  uint32_t const lane = threadIdx.x;
  if (lane == 0) {
    header[kFrameTableWord] = bytes;
    header[kArchiveBytesWord] = header_words * sizeof(uint64_t) + bytes;
  }
  __syncwarp(); /* the sizes are there before they are hashed */
  uint64_t const hash = xxh3::hash_by_warp(header, header_words - 1, lane);
  if (lane == 0) header[header_words - 1] = hash;
}

} // namespace

szgpu_status szg_checksum_trees_cuda(const szg_checksum_ranges *ranges, uint64_t *leaves,
                                     uint64_t *roots, struct CUstream_st *stream) {
  assert(ranges->count <= SZG_SECTION_KIND_COUNT);
  uint64_t leaf_count = 0;
  for (uint32_t i = 0; i < ranges->count; i++) leaf_count += leaf_count_of(ranges->byte_counts[i]);
  if (leaf_count > 0) {
    /* A grid of 2^31 blocks would be 2^47 bytes. */
    unsigned const blocks = (unsigned)((leaf_count + LeafPolicy::kWarps - 1) / LeafPolicy::kWarps);
    leaves_hash_kernel<<<blocks, LeafPolicy::kThreads, 0, stream>>>(*ranges, leaves);
    SZG_TRY_LAUNCH();
  }
  if (ranges->count > 0) {
    roots_hash_kernel<<<ranges->count, RootPolicy::kThreads, 0, stream>>>(*ranges, leaves, roots);
    SZG_TRY_LAUNCH();
  }
  return SZGPU_OK;
}

szgpu_status szg_checksum_trees_unseen_cuda(const szg_checksum_ranges *ranges, uint64_t most_leaves,
                                            uint64_t *leaves, uint64_t *roots,
                                            struct CUstream_st *stream) {
  unsigned const blocks = (unsigned)((most_leaves + LeafPolicy::kWarps - 1) / LeafPolicy::kWarps);
  unseen_leaves_hash_kernel<<<blocks, LeafPolicy::kThreads, 0, stream>>>(ranges, leaves);
  SZG_TRY_LAUNCH();
  unseen_roots_hash_kernel<<<SZG_SECTION_KIND_COUNT, RootPolicy::kThreads, 0, stream>>>(
      ranges, leaves, roots);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_checksum_compare_cuda(const szg_checksum_ranges *ranges, const uint64_t *roots,
                                       szg_verdict *verdict, struct CUstream_st *stream) {
  assert(ranges->count <= SZG_SECTION_KIND_COUNT);
  roots_compare_kernel<<<1, kWarpThreads, 0, stream>>>(*ranges, roots, verdict);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_frame_header_seal_cuda(uint8_t *frame_header, uint32_t section_count,
                                        const uint64_t *roots, struct CUstream_st *stream) {
  assert(section_count <= SZG_SECTION_KIND_COUNT);
  header_seal_kernel<<<1, kWarpThreads, 0, stream>>>((uint64_t *)frame_header, section_count,
                                                     roots);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_archive_seal_cuda(uint8_t *frame_header, uint32_t section_count,
                                   const uint64_t *roots, const uint64_t *frame_bytes,
                                   uint8_t *header, uint64_t header_bytes,
                                   struct CUstream_st *stream) {
  assert(section_count <= SZG_SECTION_KIND_COUNT);
  archive_seal_kernel<<<1, kWarpThreads, 0, stream>>>((uint64_t *)frame_header, section_count,
                                                      roots, frame_bytes, (uint64_t *)header,
                                                      (uint32_t)(header_bytes / sizeof(uint64_t)));
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}
