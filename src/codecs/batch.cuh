/* batch.cuh - what kernels over many fields share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BATCH_CUH
#define SZG_BATCH_CUH

#include "codecs/archive_complete.cuh"
#include "codecs/batch.h"
#include "core/cuda_check.cuh"

namespace szg {

struct BatchPolicy {
  static constexpr int kThreads = 256;
  static constexpr unsigned kBlocks = 8; /* per multiprocessor */
};

/* Where an archive of one frame has what: docs/format.md, sections 3 and 4. */
constexpr uint32_t kFirstFrameByte = SZG_BATCH_HEADER_WORDS * 8;
constexpr uint32_t kTileSectionsByte = kFirstFrameByte + SZG_BATCH_TILE_WORDS * 8;
constexpr uint32_t kRawSectionByte = kFirstFrameByte + SZG_BATCH_RAW_WORDS * 8;
enum HeaderWord : uint32_t {
  kVersionWord = 8 / 8, /* version, flags */
  kShapeWord = 16 / 8,  /* type, number of dims, mode, layout, source */
  kDimsWord = 24 / 8,
  kFrameRowsWord = 96 / 8,
  kStatedBytesWord = 112 / 8,
  kFrameTableWord = SZG_HEADER_BYTES / 8
};
enum FrameWord : uint32_t { /* of the frame's header */
                            kConstantBitsWord = 24 / 8,
                            kSectionCountWord = 32 / 8
};
constexpr uint32_t kNdimShift = 8;                               /* in the word of the shape */
constexpr uint32_t kValueCountWord = SZG_BATCH_HEADER_WORDS + 2; /* after the archive's header */

/* A first word of an archive's header, with another version. */
__device__ __forceinline__ uint64_t with_version(uint64_t word, uint32_t version) {
  return word >> 32 << 32 | version;
}

/* Word i of the archive's header, or of the frame's after it, as the item has it. */
__device__ __forceinline__ uint64_t head_word(uint64_t of_class, uint32_t i,
                                              const szg_batch_item &item, const szg_grid &grid) {
  if (i == kVersionWord) return with_version(of_class, item.version);
  if (i == kShapeWord) return of_class | item.dtype | (uint64_t)item.ndim << kNdimShift;
  if (i >= kDimsWord && i < kDimsWord + SZG_MAX_DIMS)
    return i - kDimsWord < item.ndim ? item.dims[i - kDimsWord] : 1;
  if (i == kFrameRowsWord) return grid.row_extent;
  return i == kValueCountWord ? grid.value_count : of_class;
}
static_assert(SZGPU_F32 == 0, "the type in the header of a class");

__device__ __forceinline__ uint64_t padded_bytes(uint64_t byte_count) {
  return (byte_count + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
}

/* Blocks for a kernel that may have nothing to do for most items. */
inline szgpu_status batch_blocks(const szg_batch_class *batch, dim3 *blocks) {
  return szg_spread_items(batch->most_values / BatchPolicy::kThreads + 1, BatchPolicy::kBlocks,
                          batch->item_count, blocks);
}

/* Launches a kernel that completes archives: grid, blocks for each item, and the items. */
template <class Kernel>
szgpu_status complete_items(const szg_batch_class *batch, uint64_t most_leaves, Kernel kernel,
                            const szg_batch_lists *lists, cudaStream_t stream) {
  dim3 trees;
  SZG_TRY(szg_spread_items(most_leaves, TreePolicy::kBlocks, batch->item_count, &trees));
  kernel<<<trees, TreePolicy::kThreads, 0, stream>>>(batch->heads, *lists);
  return szg_launched();
}

} // namespace szg

#endif
