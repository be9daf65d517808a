/* codec.c - zstd over sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/codec.h"

#include <string.h>
#include <zstd.h>

#include "container/format.h"
#include "core/bytes.h"

static size_t piece_bytes(size_t total, uint64_t piece) {
  return (size_t)szg_min_u64(SZG_ZSTD_PIECE_BYTES, total - piece * SZG_ZSTD_PIECE_BYTES);
}

typedef struct compress_job {
  const uint8_t *raw;
  size_t raw_bytes;
  int level;
  size_t bound; /* of one piece */
  uint8_t *slots;
  size_t *slot_bytes;
} compress_job;

static szgpu_status compress_part(void *job_pointer, uint64_t piece, int worker) {
  (void)worker;
  compress_job *const job = job_pointer;
  size_t const written = ZSTD_compress(job->slots + piece * job->bound, job->bound,
                                       job->raw + piece * SZG_ZSTD_PIECE_BYTES,
                                       piece_bytes(job->raw_bytes, piece), job->level);
  SZG_REQUIRE(!ZSTD_isError(written), SZGPU_OUT_OF_MEMORY); /* the only way it can fail here */
  job->slot_bytes[piece] = written;
  return SZGPU_OK;
}

/* *packed is used as: the pieces' sizes, then a slot per piece; the pieces are then pushed together
 * at the front of the slots, and their sizes overwritten last. */
szgpu_status szg_zstd_compress(szg_threads *threads, int level, const uint8_t *bytes,
                               size_t byte_count, uint64_t loop_values, szg_buffer *packed,
                               bool *pays) {
  uint64_t const piece_count = szg_div_up(byte_count, SZG_ZSTD_PIECE_BYTES);
  size_t const bound = ZSTD_compressBound((size_t)szg_min_u64(byte_count, SZG_ZSTD_PIECE_BYTES));
  size_t const head_bytes = (size_t)piece_count * sizeof(size_t);
  SZG_TRY(szg_buffer_reset(packed, head_bytes + (size_t)piece_count * bound));
  compress_job job = {
      bytes, byte_count, level, bound, packed->bytes + head_bytes, (size_t *)(void *)packed->bytes};
  SZG_TRY(szg_for_parts(threads, piece_count, loop_values, compress_part, &job));
  size_t total_bytes = 0;
  for (uint64_t piece = 0; piece < piece_count; piece++) {
    memmove(job.slots + total_bytes, job.slots + piece * bound, job.slot_bytes[piece]);
    total_bytes += job.slot_bytes[piece];
  }
  memmove(packed->bytes, job.slots, total_bytes);
  packed->used_bytes = total_bytes;
  *pays = total_bytes < byte_count - byte_count / SZG_ZSTD_MIN_GAIN;
  return SZGPU_OK;
}

typedef struct decompress_job {
  const uint8_t *packed;
  const uint64_t *piece_ends; /* in packed */
  uint8_t *raw;
  size_t raw_bytes;
} decompress_job;

static szgpu_status decompress_part(void *job_pointer, uint64_t piece, int worker) {
  (void)worker;
  decompress_job *const job = job_pointer;
  uint64_t const start = piece ? job->piece_ends[piece - 1] : 0;
  size_t const expected = piece_bytes(job->raw_bytes, piece);
  size_t const written =
      ZSTD_decompress(job->raw + piece * SZG_ZSTD_PIECE_BYTES, expected, job->packed + start,
                      (size_t)(job->piece_ends[piece] - start));
  SZG_REQUIRE(written == expected, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_zstd_decompress(szg_threads *threads, const uint8_t *packed, size_t packed_bytes,
                                 uint8_t *raw, size_t raw_bytes) {
  uint64_t const piece_count = szg_div_up(raw_bytes, SZG_ZSTD_PIECE_BYTES);
  szg_buffer ends = {0};
  SZG_TRY(szg_buffer_reset(&ends, (size_t)piece_count * sizeof(uint64_t) + 1));
  uint64_t *const piece_ends = (uint64_t *)(void *)ends.bytes;
  szgpu_status status = SZGPU_OK;
  size_t end = 0;
  for (uint64_t piece = 0; piece < piece_count && status == SZGPU_OK; piece++) {
    size_t const frame_bytes = ZSTD_findFrameCompressedSize(packed + end, packed_bytes - end);
    if (ZSTD_isError(frame_bytes))
      status = SZGPU_BAD_DATA;
    else
      piece_ends[piece] = end += frame_bytes;
  }
  if (status == SZGPU_OK && end != packed_bytes) status = SZGPU_BAD_DATA;
  decompress_job job = {packed, piece_ends, raw, raw_bytes};
  if (status == SZGPU_OK) status = szg_for_parts(threads, piece_count, 0, decompress_part, &job);
  szg_buffer_release(&ends);
  return status;
}
