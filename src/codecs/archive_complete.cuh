/* archive_complete.cuh - completes an archive of one frame: sizes, headers, checksums.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sections are written already. Every block finds out where they lie and hashes some of their
 * leaves; the last to finish writes the headers and tells the host, straight into its memory.
 *
 * What differs between kinds is a Kind, of which blocks have a copy:
 *
 *   kMostSections                sections that a frame has at most
 *   bool size_sections(sizes)    false: the frame is given up. One thread calls
 *   uint64_t header_bits()       what the device adds to the first word of the frame's header
 *   szg_summed_leaves summed()   leaves that need not be read
 *   void tell_host(frame_bytes)  0 for a frame that is given up. The whole block calls
 */
#ifndef SZG_ARCHIVE_COMPLETE_CUH
#define SZG_ARCHIVE_COMPLETE_CUH

#include <assert.h>

#include "codecs/write_cuda.h"
#include "container/checksum_seal.cuh"
#include "container/checksum_tree.cuh"
#include "core/last_block.cuh"

namespace szg {

constexpr uint32_t kChecksumWords = 1;

/* The largest header of an archive of one frame; the frame's comes next. */
constexpr uint32_t kMostArchiveWords =
    (SZG_HEADER_BYTES + 8 + SZG_MOST_MORE_BYTES) / 8 + kChecksumWords + SZG_ALIGNMENT / 8 - 1;

__host__ __device__ constexpr uint32_t frame_header_words(uint32_t section_count) {
  return kTableWord + section_count * kEntryWords + kChecksumWords;
}
static_assert(frame_header_words(0) * 8 % SZG_ALIGNMENT == 0 &&
                  kEntryWords * 8 % SZG_ALIGNMENT == 0,
              "no padding");

/* Where sizes go: docs/format.md, sections 3 and 4. */
constexpr uint32_t kArchiveBytesWord = 112 / 8;
constexpr uint32_t kFrameBytesWord = SZG_HEADER_BYTES / 8;

template <class Kind>
struct ArchiveJob {
  static constexpr uint32_t kHeadWords =
      kMostArchiveWords + frame_header_words(Kind::kMostSections);
  static_assert(kHeadWords <= TreePolicy::kThreads, "one thread per word");
  uint64_t heads[kHeadWords]; /* except what the device finds; header_words are the archive's */
  uint32_t header_words;
  uint32_t section_count;
  uint8_t *archive;
  uint64_t *leaves;
  uint32_t *ticket;
  Kind kind;

  __device__ uint32_t head_words() const {
    return header_words + frame_header_words(section_count);
  }
};

template <class Kind>
struct ArchiveMemory {
  szg_checksum_ranges ranges;
  uint64_t section_bytes[Kind::kMostSections];
  uint64_t frame_bytes; /* 0: the frame is given up */
  uint64_t roots[Kind::kMostSections];
  uint64_t heads[ArchiveJob<Kind>::kHeadWords];
};

/* One thread calls. */
template <class Kind>
__device__ void lay_out(const ArchiveJob<Kind> &job, ArchiveMemory<Kind> *memory) {
  uint64_t sizes[Kind::kMostSections] = {};
  memory->frame_bytes = 0;
  if (!job.kind.size_sections(sizes)) return;
  uint64_t place = job.head_words() * 8;
  memory->ranges.count = job.section_count;
#pragma unroll
  for (uint32_t i = 0; i < Kind::kMostSections; i++) {
    if (i >= job.section_count) break;
    uint64_t const padded_bytes = (sizes[i] + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
    memory->section_bytes[i] = sizes[i];
    memory->ranges.bytes[i] = job.archive + place;
    memory->ranges.byte_counts[i] = padded_bytes;
    place += padded_bytes;
  }
  memory->frame_bytes = place - job.header_words * 8;
}

/* Writes both headers. The whole block calls, once the roots are computed. */
template <class Kind>
__device__ void write_heads(const ArchiveJob<Kind> &job, ArchiveMemory<Kind> *memory) {
  uint64_t *const frame = memory->heads + job.header_words;
  uint32_t const i = threadIdx.x, warp = threadIdx.x / 32;
  if (i < job.head_words()) memory->heads[i] = job.heads[i];
  __syncthreads(); /* the host's words are copied */
  if (i < job.section_count) {
    uint64_t *const entry = frame + kTableWord + i * kEntryWords;
    entry[1] = entry[2] = memory->section_bytes[i]; /* raw, stored */
  }
  if (i == 0) {
    frame[0] |= job.kind.header_bits();
    memory->heads[kFrameBytesWord] = memory->frame_bytes;
    memory->heads[kArchiveBytesWord] = job.header_words * 8 + memory->frame_bytes;
  }
  __syncthreads(); /* the found sizes and roots are in */
  if (warp == 0) seal_frame(frame, job.section_count, memory->roots);
  if (warp == 1) seal_words(memory->heads, job.header_words);
  __syncthreads(); /* both are sealed */
  if (i < job.head_words()) ((uint64_t *)(void *)job.archive)[i] = memory->heads[i];
}

/* The gridDim.x blocks of an archive call. */
template <class Kind>
__device__ __forceinline__ void complete_by_blocks(const ArchiveJob<Kind> &job) {
  __shared__ ArchiveMemory<Kind> memory;
  if (threadIdx.x == 0) lay_out(job, &memory);
  __syncthreads(); /* all threads know where sections lie */
  if (memory.frame_bytes == 0) {
    if (blockIdx.x == 0) job.kind.tell_host(0);
    return;
  }
  hash_leaves(memory.ranges, job.leaves, job.kind.summed());
  if (!is_last_of(gridDim.x, job.ticket)) return;
  hash_roots(memory.ranges, job.leaves, memory.roots);
  write_heads(job, &memory);
  job.kind.tell_host(memory.frame_bytes);
}

template <class Kind>
__global__ void __launch_bounds__(TreePolicy::kThreads, TreePolicy::kBlocks)
    archive_complete_kernel(const __grid_constant__ ArchiveJob<Kind> job) {
  complete_by_blocks(job);
}

/* header: the frame's, with sections of unknown sizes. */
template <class Kind>
szgpu_status complete_archive(const szg_write_job_cuda *job, const szg_frame_header *header,
                              const Kind &kind) {
  uint64_t const unknown_bytes = 0;
  ArchiveJob<Kind> made = {};
  szg_header archive_header = *job->archive_header;
  szg_header_note_frame(&archive_header, header);
  assert(header->section_count <= Kind::kMostSections);
  szg_header_write(&archive_header, &unknown_bytes, (uint8_t *)made.heads);
  made.header_words = (uint32_t)(job->first_byte / 8);
  szg_frame_header_write(header, (uint8_t *)(made.heads + made.header_words));
  made.section_count = header->section_count;
  made.archive = job->archive;
  made.leaves = job->plan->leaves;
  made.ticket = job->plan->ticket;
  made.kind = kind;
  uint64_t const most_leaves = leaf_count_of(job->raw_bytes) + header->section_count;
  unsigned blocks = 0;
  SZG_TRY(tree_blocks(most_leaves, &blocks));
  archive_complete_kernel<<<blocks, TreePolicy::kThreads, 0, job->ctx->device.stream>>>(made);
  return szg_launched();
}

} // namespace szg

#endif
