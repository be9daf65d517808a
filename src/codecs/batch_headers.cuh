/* batch_headers.cuh - kernels over many archives check their headers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BATCH_HEADERS_CUH
#define SZG_BATCH_HEADERS_CUH

#include "codecs/batch.cuh"
#include "codecs/rules_core.h"
#include "container/compact.h"
#include "container/header_read.cuh"

namespace szg {

struct HeadersMemory {
  HeaderMemory headers;
  szg_section_rules rules;
};

/* Whether the archive's header is the class's, apart from sizes. A class of lossless archives has
 * those with plane words and those without. */
__device__ inline bool is_of_class(const szg_batch_heads &heads, const szg_batch_item &item,
                                   const szg_grid &grid, const HeaderMemory &memory) {
  const uint64_t *const words = (const uint64_t *)(const void *)memory.fixed;
  uint32_t const lane = threadIdx.x % 32;
  bool is_same = true;
  if (lane < SZG_HEADER_BYTES / 8 && lane != kStatedBytesWord) {
    uint64_t wanted = head_word(heads.archive[lane], lane, item, grid);
    bool const has_words = memory.header.has_plane_words;
    if (lane == kVersionWord && has_words && memory.header.mode == SZGPU_MODE_LOSSLESS)
      wanted = with_version(wanted, SZG_FORMAT_VERSION_PLANE_WORDS);
    is_same = words[lane] == wanted;
  }
  return __all_sync(kAllLanes, is_same);
}

/* Checks the archive's header and compares it with the class. The whole warp calls. */
__device__ inline szgpu_status open_archive(const szg_batch_heads &heads,
                                            const szg_batch_item &item, const szg_grid &grid,
                                            uint64_t archive_bytes, HeaderMemory *memory) {
  SZG_TRY(read_header(item.archive, archive_bytes, memory));
  const szg_header &header = memory->header;
  bool const is_ours = is_of_class(heads, item, grid, *memory); /* then its shape is the item's */
  if (!is_ours) SZG_TRY(check_frames(header));
  SZG_TRY(check_size(header, archive_bytes));
  return is_ours ? SZGPU_OK : SZGPU_OTHER_PARAMS;
}

/* The archive's size; false: it would be larger than the caller says it can be. */
__device__ inline bool find_size(const szg_batch_item &item, uint64_t *archive_bytes) {
  *archive_bytes = item.archive_bytes_at ? *item.archive_bytes_at : item.archive_bytes;
  return *archive_bytes <= item.archive_bytes;
}

/* Whether the frame's sections are those of the rules. One thread calls. */
__device__ inline szgpu_status check_sections(const HeadersMemory *memory) {
  uint32_t kind = 0;
  SZG_REQUIRE(
      szg_sections_check(&memory->headers.frame, &memory->rules, &kind) == SZG_SECTIONS_SOUND,
      SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* Checks both headers of an item. check(facts): a status, of the frame by its kind; one thread
 * calls it, and finds empty rules. The whole warp calls. */
template <class Check>
__device__ __forceinline__ szgpu_status open_item(const szg_batch_heads &heads,
                                                  const szg_batch_item &item, const szg_grid &grid,
                                                  uint32_t value_bytes, HeadersMemory *memory,
                                                  Check check) {
  HeaderMemory *const headers = &memory->headers;
  uint64_t archive_bytes;
  if (item.was_compact && *item.archive_bytes_at & SZG_COMPACT_FAILED)
    return (szgpu_status)(*item.archive_bytes_at - SZG_COMPACT_FAILED);
  if (!find_size(item, &archive_bytes)) return SZGPU_TRUNCATED;
  SZG_TRY(open_archive(heads, item, grid, archive_bytes, headers));
  SZG_TRY(read_frame_header(item.archive + kFirstFrameByte, archive_bytes - kFirstFrameByte,
                            archive_bytes - kFirstFrameByte, headers));
  __syncwarp(); /* all have read the status before it changes */
  if (threadIdx.x % 32 == 0) {
    szg_frame_facts facts;
    facts.archive = &headers->header;
    facts.frame = &headers->frame;
    facts.grid = grid;
    facts.value_bytes = facts.field_value_bytes = value_bytes;
    memory->rules.most_bytes = grid.value_count * value_bytes;
    memory->rules.count = 0;
    bool const is_first =
        headers->frame.index == 0 && headers->frame.value_count == grid.value_count;
    headers->status = is_first ? check(facts) : SZGPU_BAD_DATA;
  }
  __syncwarp(); /* the frame is checked */
  return headers->status;
}

/* Calls use(section, bytes) for the sections of a checked frame, and lists their checksums. One
 * thread calls. */
template <class Use>
__device__ __forceinline__ void each_section(const szg_frame_header &frame,
                                             const szg_batch_item &item,
                                             szg_checksum_item *checksums, Use use) {
  szg_checksum_ranges *const ranges = &checksums->ranges;
  const uint8_t *bytes =
      item.archive + kFirstFrameByte + szg_frame_header_bytes(frame.section_count);
  for (uint32_t i = 0; i < frame.section_count; i++) {
    const szg_section &section = frame.sections[i];
    ranges->kinds[i] = section.kind;
    ranges->bytes[i] = bytes;
    ranges->byte_counts[i] = padded_bytes(section.stored_bytes);
    ranges->expected[i] = section.checksum;
    use(section, bytes);
    bytes += ranges->byte_counts[i];
  }
  ranges->count = frame.section_count;
}

/* Notes what the headers of an item say, and that nothing is known of its sections. One thread
 * calls. */
__device__ __forceinline__ void note_headers(szgpu_status status, szg_batch_item *item,
                                             szg_checksum_item *checksums) {
  item->status = status;
  item->raw = NULL;
  *item->verdict = {};
  checksums->ranges.count = 0;
  checksums->leaves = item->leaves;
  checksums->verdict = item->verdict;
}

} // namespace szg

#endif
