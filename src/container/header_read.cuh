/* header_read.cuh - a warp reads and checks headers in device memory as container.c does.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Nothing is trusted: what is checked is a copy in shared memory, and the rules are those of
 * header_core.h. The whole warp calls, and all its lanes get the status.
 */
#ifndef SZG_HEADER_READ_CUH
#define SZG_HEADER_READ_CUH

#include "container/header_core.h"
#include "container/xxh3.cuh"

namespace szg {

/* In shared memory. */
struct HeaderMemory {
  alignas(16) uint8_t fixed[SZG_HEADER_BYTES];
  szg_header header;
  alignas(16) uint8_t frame_bytes[SZG_FRAME_HEADER_MOST_BYTES];
  szg_frame_header frame;
  uint64_t header_bytes; /* of the one that is read */
  szgpu_status status;
};

/* Copies at most kMostBytes; both begin at multiples of 8. The warp may read them afterwards. Loads
 * of whole words do not wait for each other, as bytes in a loop would. */
template <uint32_t kMostBytes>
__device__ __forceinline__ void copy_to_shared(const uint8_t *from, uint64_t byte_count,
                                               uint8_t *to) {
  const uint64_t *const words = (const uint64_t *)(const void *)from;
  uint32_t const lane = threadIdx.x % 32, word_count = (uint32_t)byte_count / 8;
  uint64_t loaded[(kMostBytes / 8 + 31) / 32];
#pragma unroll
  for (uint32_t i = 0; i < sizeof loaded / 8; i++)
    if (32 * i + lane < word_count) loaded[i] = words[32 * i + lane];
#pragma unroll
  for (uint32_t i = 0; i < sizeof loaded / 8; i++)
    if (32 * i + lane < word_count) ((uint64_t *)(void *)to)[32 * i + lane] = loaded[i];
  if (lane < byte_count % 8) to[8 * word_count + lane] = from[8 * word_count + lane];
  __syncwarp(); /* it is copied */
}

/* Whether a header that ends with its checksum is as it was written. */
__device__ inline bool has_its_checksum(const uint8_t *bytes, uint64_t header_bytes) {
  const uint64_t *const words = (const uint64_t *)(const void *)bytes;
  uint64_t const word_count = header_bytes / sizeof(uint64_t) - 1;
  if (word_count > UINT32_MAX) return false; /* of 2^32 frames */
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x % 32);
  return xxh3::hash_by_warp(lane, words, (uint32_t)word_count) == words[word_count];
}

/* Reads the header of an archive, aligned to 16, of which available_bytes are there: what
 * szg_header_read checks, except the table of an archive of several frames. */
__device__ inline szgpu_status read_header(const uint8_t *archive, uint64_t available_bytes,
                                           HeaderMemory *memory) {
  copy_to_shared<SZG_HEADER_BYTES>(archive, szg_min_u64(available_bytes, SZG_HEADER_BYTES),
                                   memory->fixed);
  if (threadIdx.x % 32 == 0)
    memory->status =
        szg_header_begin(memory->fixed, available_bytes, &memory->header, &memory->header_bytes);
  __syncwarp(); /* the first part is checked */
  SZG_TRY(memory->status);
  SZG_REQUIRE(has_its_checksum(archive, memory->header_bytes), SZGPU_BAD_CHECKSUM);
  bool const has_table = memory->header.frame_count == 1;
  if (threadIdx.x % 32 == 0)
    szg_header_load_more(archive + SZG_HEADER_BYTES + 8 * memory->header.frame_count,
                         &memory->header);
  __syncwarp(); /* all of it is loaded */
  bool const is_sound =
      szg_header_is_sound(memory->fixed, &memory->header) &&
      (!has_table ||
       szg_frame_table_is_sound(archive + SZG_HEADER_BYTES, memory->header_bytes, &memory->header));
  SZG_REQUIRE(__all_sync(kAllLanes, is_sound), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* Whether the frames that a header states are those of its shape, whatever that is. */
__device__ inline szgpu_status check_frames(const szg_header &header) {
  SZG_REQUIRE(szg_shape_is_valid(&header.shape), SZGPU_BAD_DATA);
  szg_grid const stated = szg_header_grid(&header);
  SZG_REQUIRE(szg_header_frames_are_sound(&header, &stated), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* Whether the archive is as large as its header says. */
__device__ inline szgpu_status check_size(const szg_header &header, uint64_t archive_bytes) {
  SZG_REQUIRE(archive_bytes >= header.archive_bytes, SZGPU_TRUNCATED);
  SZG_REQUIRE(archive_bytes == header.archive_bytes, SZGPU_TRAILING_BYTES);
  return SZGPU_OK;
}

/* Reads the header of a frame of frame_bytes bytes at `bytes`, aligned to 16, of which
 * available_bytes are there: what szg_frame_header_read checks. */
__device__ inline szgpu_status read_frame_header(const uint8_t *bytes, uint64_t frame_bytes,
                                                 uint64_t available_bytes, HeaderMemory *memory) {
  uint64_t const copied_bytes = szg_min_u64(available_bytes, SZG_FRAME_HEADER_MOST_BYTES);
  uint32_t *const frame_words = (uint32_t *)(void *)&memory->frame;
  static_assert(sizeof memory->frame % 4 == 0, "whole words");
  for (uint32_t i = threadIdx.x % 32; i < sizeof memory->frame / 4; i += 32) frame_words[i] = 0;
  copy_to_shared<SZG_FRAME_HEADER_MOST_BYTES>(bytes, copied_bytes, memory->frame_bytes);
  if (threadIdx.x % 32 == 0)
    memory->status = szg_frame_header_begin(memory->frame_bytes, frame_bytes, copied_bytes,
                                            &memory->frame, &memory->header_bytes);
  __syncwarp(); /* the first part is checked */
  SZG_TRY(memory->status);
  SZG_REQUIRE(has_its_checksum(memory->frame_bytes, memory->header_bytes), SZGPU_BAD_CHECKSUM);
  bool const is_sound = szg_frame_header_is_sound(memory->frame_bytes, frame_bytes, &memory->frame);
  SZG_REQUIRE(__all_sync(kAllLanes, is_sound), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

} // namespace szg

#endif
