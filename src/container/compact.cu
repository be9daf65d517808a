/* compact.cu - small archives in their compact form, on the GPU: a block for each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One thread works through the bits, which follow one another. All threads copy, and each warp
 * hashes leaves of checksum trees.
 */
#include "container/compact.h"
#include "container/compact_core.h"
#include "container/header_read.cuh"
#include "container/header_write_core.h"
#include "container/xxh3.cuh"
#include "core/cuda_check.cuh"

namespace szg {
namespace {

struct CompactPolicy {
  static constexpr uint32_t kThreads = 256;
  static constexpr uint32_t kWarps = kThreads / 32;
};

constexpr uint32_t kFrontWords = SZG_COMPACT_HEAD_BYTES / 8;

/* In shared memory. */
struct CompactMemory {
  szg_compact_archive archive; /* writing: the headers and copies of the plain one */
  uint64_t leaves[kFrontWords + SZG_COMPACT_MOST_LEAVES];
  HeaderMemory headers; /* reading: of an archive that is refused */
  uint64_t header_bytes, content_bytes, plain_bytes;
  szgpu_status status;
  bool is_compact, has_more; /* bytes than it states */
};

__device__ const uint64_t *words_at(const uint8_t *bytes) {
  return (const uint64_t *)(const void *)bytes;
}

/* Word by word, if both begin at multiples of 4. The whole block calls. */
__device__ void copy_by_block(const uint8_t *from, uint64_t byte_count, uint8_t *to) {
  bool const is_aligned = ((uintptr_t)from | (uintptr_t)to) % 4 == 0;
  uint64_t const word_count = is_aligned ? byte_count / 4 : 0;
  for (uint64_t i = threadIdx.x; i < word_count; i += CompactPolicy::kThreads)
    ((uint32_t *)(void *)to)[i] = ((const uint32_t *)(const void *)from)[i];
  for (uint64_t i = 4 * word_count + threadIdx.x; i < byte_count; i += CompactPolicy::kThreads)
    to[i] = from[i];
}

/* Hashes the leaves of byte_count bytes, a multiple of 16, to leaves[]. False: there are too many.
 * The whole block calls, and may read them afterwards. */
__device__ bool hash_leaves_by_block(const uint8_t *bytes, uint64_t byte_count, uint64_t *leaves) {
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x % 32);
  uint64_t const count = szg_div_up(byte_count, SZG_CHECKSUM_BLOCK_BYTES);
  if (count > SZG_COMPACT_MOST_LEAVES) return false;
  for (uint64_t i = threadIdx.x / 32; i < count; i += CompactPolicy::kWarps) {
    uint64_t const start = i * SZG_CHECKSUM_BLOCK_BYTES;
    uint64_t const leaf_bytes = szg_min_u64(SZG_CHECKSUM_BLOCK_BYTES, byte_count - start);
    uint64_t const hash =
        xxh3::hash_by_warp(lane, words_at(bytes + start), (uint32_t)(leaf_bytes / 8));
    if (lane.accumulator == 0 && lane.first_stripe == 0) leaves[i] = hash;
  }
  __syncthreads(); /* all leaves are there */
  return true;
}

/* The checksum of an archive in its compact form. False: it is too large. The whole block calls;
 * the first warp gets the checksum. */
__device__ bool checksum_by_block(const uint8_t *bytes, uint64_t padded_bytes,
                                  CompactMemory *memory, uint32_t *checksum) {
  if (threadIdx.x == 0) {
    memory->leaves[0] = words_at(bytes)[0];
    memory->leaves[1] = words_at(bytes)[1] & UINT32_MAX; /* without the checksum */
  }
  uint64_t const hashed_bytes = padded_bytes - SZG_COMPACT_HEAD_BYTES;
  if (!hash_leaves_by_block(bytes + SZG_COMPACT_HEAD_BYTES, hashed_bytes,
                            memory->leaves + kFrontWords))
    return false;
  if (threadIdx.x >= 32) return true;
  uint64_t const words = kFrontWords + szg_div_up(hashed_bytes, SZG_CHECKSUM_BLOCK_BYTES);
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x);
  *checksum = (uint32_t)xxh3::hash_by_warp(lane, memory->leaves, (uint32_t)words);
  return true;
}
static_assert(SZG_COMPACT_CHECKSUM_OFFSET == 12, "the upper half of the second word");

/* ---- writing ---- */

/* Reads the headers of an archive that was just written, and packs all but the copies. One thread
 * calls. */
__device__ void put_item(const szg_compact_item &item, CompactMemory *memory) {
  szg_header *const header = &memory->archive.header;
  szg_frame_header *const frame = &memory->archive.frame;
  uint64_t frame_header_bytes;
  memory->plain_bytes = item.outcome->bytes;
  memory->status = (szgpu_status)item.outcome->status;
  memory->content_bytes = 0;
  *frame = {};
  if (memory->status != SZGPU_OK) return;
  memory->status = szg_header_begin(item.from, memory->plain_bytes, header, &memory->header_bytes);
  if (memory->status != SZGPU_OK) return;
  szg_header_load_more(item.from + SZG_HEADER_BYTES + 8 * header->frame_count, header);
  uint64_t const frame_bytes = memory->plain_bytes - memory->header_bytes;
  memory->status = szg_frame_header_begin(item.from + memory->header_bytes, frame_bytes,
                                          frame_bytes, frame, &frame_header_bytes);
  if (memory->status != SZGPU_OK || item.room < SZG_COMPACT_HEAD_BYTES) return;
  memory->content_bytes = szg_compact_put(item.from, header, frame, memory->header_bytes, item.to,
                                          item.room, &memory->archive.copies);
}

__global__ void __launch_bounds__(CompactPolicy::kThreads)
    compact_write_kernel(const __grid_constant__ szg_compact_sent sent) {
  __shared__ CompactMemory memory;
  const szg_compact_item &item = sent.items[blockIdx.x];
  if (threadIdx.x == 0) put_item(item, &memory);
  __syncthreads(); /* the bits are written */
  if (memory.status != SZGPU_OK) return;
  bool const is_smaller = szg_compact_pays(memory.content_bytes, memory.plain_bytes);
  uint64_t const padded_bytes = szg_align_up(memory.content_bytes, SZG_ALIGNMENT);
  uint64_t const used_bytes = is_smaller ? padded_bytes : memory.plain_bytes;
  bool const has_room = used_bytes <= item.room;
  if (threadIdx.x == 0) {
    item.outcome->bytes = used_bytes;
    item.outcome->status = has_room ? SZGPU_OK : SZGPU_CAPACITY;
  }
  if (!has_room) return;
  if (!is_smaller) {
    copy_by_block(item.from, memory.plain_bytes, item.to);
    return;
  }
  const szg_compact_copies &copies = memory.archive.copies;
  for (uint32_t i = 0; i < copies.count; i++)
    copy_by_block(item.from + copies.plain_at[i], copies.byte_count[i],
                  item.to + copies.compact_at[i]);
  if (threadIdx.x < padded_bytes - memory.content_bytes)
    item.to[memory.content_bytes + threadIdx.x] = 0;
  __syncthreads(); /* all that is hashed is there */
  uint32_t checksum = 0;
  checksum_by_block(item.to, padded_bytes, &memory, &checksum); /* never too large: it is smaller */
  if (threadIdx.x == 0) szg_store_u32(item.to + SZG_COMPACT_CHECKSUM_OFFSET, checksum);
}

/* ---- reading ---- */

/* Finds the size of the archive, and whether it is in this form. One thread calls. */
__device__ szgpu_status size_item(const szg_compact_item &item, CompactMemory *memory) {
  uint64_t const bytes = item.from_bytes_at ? *item.from_bytes_at : item.from_bytes;
  memory->plain_bytes = bytes;
  memory->is_compact = false;
  SZG_REQUIRE(bytes <= item.from_bytes, SZGPU_TRUNCATED);
  bool has_magic = bytes >= 12;
  for (uint32_t i = 0; has_magic && i < SZG_MAGIC_BYTES; i++)
    has_magic = item.from[i] == (uint8_t)SZG_MAGIC[i];
  memory->is_compact = has_magic && item.from[8] == SZG_FORMAT_VERSION_COMPACT;
  if (!memory->is_compact) return SZGPU_OK;
  SZG_REQUIRE(bytes >= SZG_COMPACT_HEAD_BYTES, SZGPU_TRUNCATED);
  memory->content_bytes = szg_compact_stated_bytes(item.from);
  SZG_REQUIRE(memory->content_bytes > SZG_COMPACT_HEAD_BYTES, SZGPU_BAD_DATA);
  uint64_t const padded_bytes = szg_align_up(memory->content_bytes, SZG_ALIGNMENT);
  SZG_REQUIRE(bytes >= padded_bytes, SZGPU_TRUNCATED);
  memory->has_more = bytes > padded_bytes;
  return SZGPU_OK;
}

/* Whether the header that is unpacked is sound; it is written to *item.to. One thread calls. */
__device__ bool has_sound_header(const szg_compact_item &item, CompactMemory *memory) {
  szg_header *const header = &memory->headers.header;
  uint64_t const no_frame = 0;
  if (memory->header_bytes > item.room) return false; /* never */
  szg_header_put(&memory->archive.header, memory->header_bytes, &no_frame, item.to);
  szg_header_load(item.to, header);
  szg_header_load_more(item.to + SZG_HEADER_BYTES + 8 * header->frame_count, header);
  return szg_header_is_sound(item.to, header);
}

/* Unpacks all but the copies, and finds what is wrong in the order of the CPU. One thread calls. */
__device__ szgpu_status take_item(const szg_compact_item &item, CompactMemory *memory) {
  szg_compact_archive *const archive = &memory->archive;
  szg_header *const header = &archive->header;
  SZG_REQUIRE(szg_compact_take_heads(item.from, memory->content_bytes, archive), SZGPU_BAD_DATA);
  header->frame_rows = szg_header_grid(header).row_extent;
  szg_header_note_frame(header, &archive->frame);
  SZG_REQUIRE(szg_header_bytes(header, &memory->header_bytes), SZGPU_BAD_DATA);
  uint64_t const most_bytes = szg_compact_most_plain_bytes(archive);
  memory->plain_bytes = szg_compact_take(archive, memory->content_bytes, memory->header_bytes,
                                         item.to, szg_min_u64(item.room, most_bytes));
  bool const is_taken = memory->plain_bytes > 0, is_larger = most_bytes > item.room;
  if (is_taken && !memory->has_more) return SZGPU_OK;
  SZG_REQUIRE((is_taken || is_larger) && has_sound_header(item, memory), SZGPU_BAD_DATA);
  return memory->has_more ? SZGPU_TRAILING_BYTES : SZGPU_OTHER_PARAMS; /* of a larger field */
}

/* What is wrong with an archive that is not in this form, and larger than any of the field. The
 * whole warp calls. */
__device__ szgpu_status refuse_plain(const szg_compact_item &item, CompactMemory *memory) {
  SZG_TRY(read_header(item.from, memory->plain_bytes, &memory->headers));
  SZG_TRY(check_frames(memory->headers.header));
  SZG_TRY(check_size(memory->headers.header, memory->plain_bytes));
  return SZGPU_OTHER_PARAMS;
}

/* Writes both headers, once all sections are there. The whole block calls. */
__device__ void write_headers(const szg_compact_item &item, CompactMemory *memory) {
  szg_header *const header = &memory->archive.header;
  szg_frame_header *const frame = &memory->archive.frame;
  uint64_t at = memory->header_bytes + szg_frame_header_bytes(frame->section_count);
  for (uint32_t i = 0; i < frame->section_count; i++) {
    uint64_t const padded_bytes = szg_align_up(frame->sections[i].stored_bytes, SZG_ALIGNMENT);
    uint64_t const leaves = szg_div_up(padded_bytes, SZG_CHECKSUM_BLOCK_BYTES);
    if (!hash_leaves_by_block(item.to + at, padded_bytes, memory->leaves)) return; /* never */
    if (threadIdx.x < 32) {
      xxh3::Lane const lane = xxh3::lane_at(threadIdx.x);
      uint64_t const root = xxh3::hash_by_warp(lane, memory->leaves, (uint32_t)leaves);
      if (threadIdx.x == 0) frame->sections[i].checksum = root;
    }
    at += padded_bytes;
    __syncthreads(); /* the leaves are read before those of the next section replace them */
  }
  if (threadIdx.x == 0) {
    uint64_t const frame_bytes = memory->plain_bytes - memory->header_bytes;
    header->archive_bytes = memory->plain_bytes;
    szg_header_put(header, memory->header_bytes, &frame_bytes, item.to);
    szg_frame_header_put(frame, item.to + memory->header_bytes);
  }
  __syncthreads(); /* headers are there, without their checksums */
  uint32_t const warp = threadIdx.x / 32;
  if (warp > 1) return;
  uint8_t *const bytes = item.to + (warp == 0 ? 0 : memory->header_bytes);
  uint64_t const hashed_bytes =
      (warp == 0 ? memory->header_bytes : szg_frame_header_bytes(frame->section_count)) -
      SZG_CHECKSUM_BYTES;
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x % 32);
  uint64_t const hash =
      xxh3::hash_by_warp(lane, words_at(bytes), (uint32_t)(hashed_bytes / sizeof(uint64_t)));
  if (threadIdx.x % 32 == 0) szg_store_u64(bytes + hashed_bytes, hash);
}

__global__ void __launch_bounds__(CompactPolicy::kThreads)
    compact_read_kernel(const __grid_constant__ szg_compact_sent sent) {
  __shared__ CompactMemory memory;
  const szg_compact_item &item = sent.items[blockIdx.x];
  if (threadIdx.x == 0) memory.status = size_item(item, &memory);
  __syncthreads(); /* the size is known */
  if (memory.status == SZGPU_OK && !memory.is_compact) {
    bool const has_room = memory.plain_bytes <= item.room;
    szgpu_status refused = SZGPU_OK;
    if (has_room)
      copy_by_block(item.from, memory.plain_bytes, item.to);
    else if (threadIdx.x < 32)
      refused = refuse_plain(item, &memory);
    if (threadIdx.x == 0)
      *item.result = has_room ? memory.plain_bytes : SZG_COMPACT_FAILED + refused;
    return;
  }
  if (memory.status == SZGPU_OK) {
    uint64_t const padded_bytes = szg_align_up(memory.content_bytes, SZG_ALIGNMENT);
    uint32_t checksum = 0;
    bool const is_hashed = checksum_by_block(item.from, padded_bytes, &memory, &checksum);
    if (threadIdx.x == 0) {
      bool const is_right =
          is_hashed && szg_load_u32(item.from + SZG_COMPACT_CHECKSUM_OFFSET) == checksum;
      memory.status = is_right ? take_item(item, &memory) : SZGPU_BAD_CHECKSUM;
    }
    __syncthreads(); /* the bits are read */
  }
  if (memory.status != SZGPU_OK) {
    if (threadIdx.x == 0) *item.result = SZG_COMPACT_FAILED + memory.status;
    return;
  }
  const szg_compact_copies &copies = memory.archive.copies;
  for (uint32_t i = 0; i < copies.count; i++)
    copy_by_block(item.from + copies.compact_at[i], copies.byte_count[i],
                  item.to + copies.plain_at[i]);
  __syncthreads(); /* sections are there */
  write_headers(item, &memory);
  if (threadIdx.x == 0) *item.result = memory.plain_bytes;
}

} // namespace
} // namespace szg

szgpu_status szg_compact_write_items_cuda(const szg_compact_sent *sent, uint32_t count,
                                          cudaStream_t stream) {
  szg::compact_write_kernel<<<count, szg::CompactPolicy::kThreads, 0, stream>>>(*sent);
  return szg_launched();
}

szgpu_status szg_compact_read_items_cuda(const szg_compact_sent *sent, uint32_t count,
                                         cudaStream_t stream) {
  szg::compact_read_kernel<<<count, szg::CompactPolicy::kThreads, 0, stream>>>(*sent);
  return szg_launched();
}
