/* codec.c - zstd over sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/codec.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "container/format.h"
#include "core/bytes.h"

enum { MOST_BATCH_PIECES = 256, PIECES_PER_THREAD = 4 };

static size_t piece_bytes(size_t total, uint64_t piece) {
  return (size_t)szg_min_u64(SZG_ZSTD_PIECE_BYTES, total - piece * SZG_ZSTD_PIECE_BYTES);
}

typedef struct compress_job {
  const uint8_t *raw;
  size_t raw_bytes;
  int level;
  size_t bound;         /* of one piece */
  uint64_t first_piece; /* the batch's */
  szg_buffer slots;     /* one piece each */
  size_t slot_bytes[MOST_BATCH_PIECES];
} compress_job;

static szgpu_status compress_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  compress_job *const job = job_pointer;
  uint64_t const piece = job->first_piece + part;
  size_t const written = ZSTD_compress(job->slots.bytes + part * job->bound, job->bound,
                                       job->raw + piece * SZG_ZSTD_PIECE_BYTES,
                                       piece_bytes(job->raw_bytes, piece), job->level);
  SZG_REQUIRE(!ZSTD_isError(written), SZGPU_OUT_OF_MEMORY); /* the only way it can fail here */
  job->slot_bytes[part] = written;
  return SZGPU_OK;
}

/* Compresses a batch of pieces and appends them to packed. */
static szgpu_status compress_batch(szg_threads *threads, compress_job *job, uint64_t piece_count,
                                   uint64_t loop_values, szg_buffer *packed) {
  SZG_TRY(szg_for_parts(threads, piece_count, loop_values, compress_part, job));
  for (uint64_t part = 0; part < piece_count; part++) {
    SZG_TRY(szg_buffer_reserve(packed, job->slot_bytes[part]));
    memcpy(packed->bytes + packed->used_bytes, job->slots.bytes + part * job->bound,
           job->slot_bytes[part]);
    packed->used_bytes += job->slot_bytes[part];
  }
  return SZGPU_OK;
}

/* Works in batches, so that memory holds only the packed section and a few pieces. Gives up as soon
 * as the result cannot pay any more. */
szgpu_status szg_zstd_compress(szg_threads *threads, int level, const uint8_t *bytes,
                               size_t byte_count, uint64_t loop_values, szg_buffer *packed,
                               bool *pays) {
  uint64_t const piece_count = szg_div_up(byte_count, SZG_ZSTD_PIECE_BYTES);
  uint64_t const most_in_batch = szg_min_u64(
      piece_count, szg_min_u64(MOST_BATCH_PIECES, (uint64_t)threads->count * PIECES_PER_THREAD));
  size_t const most_packed_bytes = byte_count - byte_count / SZG_ZSTD_MIN_GAIN;
  compress_job job = {.raw = bytes, .raw_bytes = byte_count, .level = level};
  job.bound = ZSTD_compressBound((size_t)szg_min_u64(byte_count, SZG_ZSTD_PIECE_BYTES));
  packed->used_bytes = 0;
  szgpu_status status = szg_buffer_reset(&job.slots, (size_t)most_in_batch * job.bound);
  while (status == SZGPU_OK && job.first_piece < piece_count &&
         packed->used_bytes < most_packed_bytes) {
    uint64_t const count = szg_min_u64(most_in_batch, piece_count - job.first_piece);
    uint64_t const share = (uint64_t)((double)loop_values * ((double)count / (double)piece_count));
    status = compress_batch(threads, &job, count, share, packed);
    job.first_piece += count;
  }
  szg_buffer_release(&job.slots);
  *pays = packed->used_bytes < most_packed_bytes;
  return status;
}

typedef struct decompress_job {
  const uint8_t *packed;
  const uint64_t *piece_ends; /* in packed */
  uint8_t *raw;               /* the whole section, or with a sink one piece per worker */
  size_t raw_bytes;
  szg_piece_sink sink;
  void *target;
} decompress_job;

static szgpu_status decompress_part(void *job_pointer, uint64_t piece, int worker) {
  decompress_job *const job = job_pointer;
  uint64_t const start = piece ? job->piece_ends[piece - 1] : 0;
  uint64_t const offset = piece * SZG_ZSTD_PIECE_BYTES;
  uint8_t *const out = job->raw + (job->sink ? (uint64_t)worker * SZG_ZSTD_PIECE_BYTES : offset);
  size_t const expected = piece_bytes(job->raw_bytes, piece);
  size_t const written =
      ZSTD_decompress(out, expected, job->packed + start, (size_t)(job->piece_ends[piece] - start));
  if (ZSTD_isError(written) && ZSTD_getErrorCode(written) == ZSTD_error_memory_allocation)
    return SZGPU_OUT_OF_MEMORY;
  SZG_REQUIRE(written == expected, SZGPU_BAD_DATA);
  if (job->sink) job->sink(job->target, offset, out, expected);
  return SZGPU_OK;
}

/* Finds the pieces, then decompresses them in parallel. The caller has set the job except for
 * packed and piece_ends. */
static szgpu_status decompress_pieces(szg_threads *threads, const uint8_t *packed,
                                      size_t packed_bytes, uint64_t loop_values,
                                      decompress_job *job) {
  uint64_t const piece_count = szg_div_up(job->raw_bytes, SZG_ZSTD_PIECE_BYTES);
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
  job->packed = packed;
  job->piece_ends = piece_ends;
  if (status == SZGPU_OK)
    status = szg_for_parts(threads, piece_count, loop_values, decompress_part, job);
  szg_buffer_release(&ends);
  return status;
}

szgpu_status szg_zstd_decompress(szg_threads *threads, const uint8_t *packed, size_t packed_bytes,
                                 uint8_t *raw, size_t raw_bytes) {
  decompress_job job = {.raw = raw, .raw_bytes = raw_bytes};
  return decompress_pieces(threads, packed, packed_bytes, 0, &job);
}

szgpu_status szg_zstd_decompress_each(szg_threads *threads, const uint8_t *packed,
                                      size_t packed_bytes, size_t raw_bytes, uint64_t loop_values,
                                      szg_piece_sink sink, void *target) {
  szg_buffer pieces = {0};
  SZG_TRY(szg_buffer_reset(&pieces, (size_t)threads->count * SZG_ZSTD_PIECE_BYTES));
  decompress_job job = {
      .raw = pieces.bytes, .raw_bytes = raw_bytes, .sink = sink, .target = target};
  szgpu_status const status = decompress_pieces(threads, packed, packed_bytes, loop_values, &job);
  szg_buffer_release(&pieces);
  return status;
}
