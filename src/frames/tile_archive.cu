/* tile_archive.cu - completes an archive of one tile frame: sizes, headers, checksums.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sections are written already. Every block finds out where they lie and hashes some of their
 * leaves; the last to finish writes the headers and tells the host, straight into its memory.
 */
#include <assert.h>

#include "container/checksum_seal.cuh"
#include "container/checksum_tree.cuh"
#include "core/last_block.cuh"
#include "frames/write_cuda.h"

namespace szg {
namespace {

constexpr uint32_t kChecksumWords = 1;
constexpr uint32_t kCodedSections = 3; /* the others are empty */

/* The archive's header, then the frame's. */
constexpr uint32_t kHeaderWords = SZG_HEADER_BYTES / 8 + 1 + kChecksumWords;
constexpr uint32_t kFrameWords = kTableWord + SZG_TILE_SECTION_COUNT * kEntryWords + kChecksumWords;
constexpr uint32_t kHeadWords = kHeaderWords + kFrameWords;
static_assert(kHeaderWords * 8 % SZG_ALIGNMENT == 0 && kFrameWords * 8 % SZG_ALIGNMENT == 0,
              "no padding");

/* Where sizes go: docs/format.md, sections 3 and 4. */
constexpr uint32_t kArchiveBytesWord = 112 / 8;
constexpr uint32_t kFrameBytesWord = SZG_HEADER_BYTES / 8;

struct ArchiveJob {
  uint64_t heads[kHeadWords]; /* except what the device finds */
  uint8_t *archive;
  uint64_t tile_count, raw_bytes;
  const szg_tile_found *found;
  szg_tile_found *told; /* in the host's memory */
  uint64_t *leaves;
  uint32_t *ticket;
};

struct ArchiveMemory {
  szg_checksum_ranges ranges;
  uint64_t section_bytes[kCodedSections];
  uint64_t frame_bytes; /* 0: the frame is given up */
  uint64_t roots[SZG_TILE_SECTION_COUNT];
  uint64_t heads[kHeadWords];
};

/* One thread calls. */
__device__ void lay_out(const ArchiveJob &job, ArchiveMemory *memory) {
  const szg_tile_result_cuda &result = job.found->result;
  uint64_t const sizes[kCodedSections] = {job.found->book.section_bytes, 2 * job.tile_count,
                                          4 * result.word_count};
  memory->frame_bytes = 0;
  if (result.is_too_large || result.marked_tiles || sizes[0] + sizes[1] + sizes[2] >= job.raw_bytes)
    return;
  uint64_t place = kHeadWords * 8;
  memory->ranges.count = SZG_TILE_SECTION_COUNT;
#pragma unroll
  for (uint32_t i = 0; i < SZG_TILE_SECTION_COUNT; i++) {
    uint64_t const bytes = i < kCodedSections ? sizes[i] : 0;
    if (i < kCodedSections) memory->section_bytes[i] = bytes;
    uint64_t const padded_bytes = (bytes + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
    memory->ranges.bytes[i] = job.archive + place;
    memory->ranges.byte_counts[i] = padded_bytes;
    place += padded_bytes;
  }
  memory->frame_bytes = place - kHeaderWords * 8;
}

/* Tells the host what it needs to know about the frame. One thread calls. */
__device__ void tell_host(const ArchiveJob &job, uint64_t frame_bytes) {
  job.told->choice = job.found->choice;
  job.told->result = job.found->result;
  job.told->book.zero_groups = job.found->book.zero_groups;
  job.told->book.section_bytes = job.found->book.section_bytes;
  job.told->frame_bytes = frame_bytes;
}

/* Writes both headers. The whole block calls, once the roots are computed. */
__device__ void write_heads(const ArchiveJob &job, ArchiveMemory *memory) {
  uint64_t *const frame = memory->heads + kHeaderWords;
  uint32_t const i = threadIdx.x, warp = threadIdx.x / 32;
  if (i < kHeadWords) memory->heads[i] = job.heads[i];
  __syncthreads(); /* the host's words are copied */
  if (i < kCodedSections) {
    uint64_t *const entry = frame + kTableWord + i * kEntryWords;
    entry[1] = entry[2] = memory->section_bytes[i]; /* raw, stored */
  }
  if (i == 0) {
    frame[0] |= (uint64_t)job.found->choice.axes << 8 | (uint64_t)job.found->book.zero_groups << 24;
    memory->heads[kFrameBytesWord] = memory->frame_bytes;
    memory->heads[kArchiveBytesWord] = kHeaderWords * 8 + memory->frame_bytes;
  }
  __syncthreads(); /* the found sizes and roots are in */
  if (warp == 0) seal_frame(frame, SZG_TILE_SECTION_COUNT, memory->roots);
  if (warp == 1) seal_words(memory->heads, kHeaderWords);
  __syncthreads(); /* both are sealed */
  if (i < kHeadWords) ((uint64_t *)(void *)job.archive)[i] = memory->heads[i];
}

__global__ void __launch_bounds__(TreePolicy::kThreads, TreePolicy::kBlocks)
    archive_complete_kernel(const __grid_constant__ ArchiveJob job) {
  __shared__ ArchiveMemory memory;
  static_assert(kHeadWords <= TreePolicy::kThreads, "one thread per word");
  if (threadIdx.x == 0) lay_out(job, &memory);
  __syncthreads(); /* all threads know where sections lie */
  if (memory.frame_bytes == 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) tell_host(job, 0);
    return;
  }
  hash_leaves(memory.ranges, job.leaves);
  if (!is_last_block(job.ticket)) return;
  hash_roots(memory.ranges, job.leaves, memory.roots);
  write_heads(job, &memory);
  if (threadIdx.x == 0) tell_host(job, memory.frame_bytes);
}

} // namespace
} // namespace szg

szgpu_status szg_tile_archive_complete_cuda(const szg_write_job_cuda *job,
                                            const szg_frame_header *header) {
  const szg_write_plan_cuda *const plan = job->plan;
  uint64_t const unknown_bytes = 0;
  szg::ArchiveJob made = {};
  assert(job->first_byte == szg::kHeaderWords * 8);
  szg_header_write(job->archive_header, &unknown_bytes, (uint8_t *)made.heads);
  szg_frame_header_write(header, (uint8_t *)(made.heads + szg::kHeaderWords));
  made.archive = job->archive;
  made.tile_count = job->grid.tile_count;
  made.raw_bytes = job->raw_bytes;
  made.found = plan->tile.found;
  made.told = plan->tile.found_back;
  made.leaves = plan->leaves;
  made.ticket = plan->ticket;
  uint64_t const most_leaves = szg::leaf_count_of(made.raw_bytes) + SZG_TILE_SECTION_COUNT;
  int multiprocessors = 0;
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  szg::archive_complete_kernel<<<szg::tree_blocks(most_leaves, multiprocessors),
                                 szg::TreePolicy::kThreads, 0, job->ctx->device.stream>>>(made);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}
