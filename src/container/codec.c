/* codec.c - zstd over sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/codec.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "container/format.h"
#include "core/bytes.h"
#include "core/once.h"

enum {
  MOST_BATCH_PIECES = 256,
  PIECES_PER_THREAD = 4,
  /* ZSTD_compressBound of a piece; the format has no longer ones */
  MOST_PACKED_PIECE_BYTES = SZG_ZSTD_PIECE_BYTES + SZG_ZSTD_PIECE_BYTES / 256
};

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
  job.slots.account = packed->account;
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

/* ---- decompression ----
 *
 * libzstd does not say that it can read bytes that change meanwhile, as those of an archive may. So
 * it gets copies of pieces, and where pieces end is found here, with each header read once. */

enum { ZSTD_HEADER_MOST_BYTES = 18, ZSTD_BLOCK_HEADER_BYTES = 3 };

/* The bytes of a zstd frame's header (RFC 8878, 3.1.1.1), which begins with these. */
static size_t zstd_header_bytes(uint32_t descriptor) {
  static const uint8_t dictionary_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
  size_t const is_single_segment = descriptor >> 5 & 1; /* then there is no window descriptor */
  size_t const content_bytes = descriptor >> 6 ? size_bytes[descriptor >> 6] : is_single_segment;
  return 4 + 1 + (1 - is_single_segment) + dictionary_bytes[descriptor & 3] + content_bytes;
}

/* The bytes of the zstd frame that the first `left` bytes begin with; 0: there is none. */
static size_t zstd_frame_bytes(const uint8_t *bytes, size_t left) {
  enum { RLE = 1, RESERVED = 3 }; /* types of blocks */
  uint8_t head[ZSTD_HEADER_MOST_BYTES] = {0};
  szg_copy_once(head, bytes, left < sizeof head ? left : sizeof head);
  if (szg_load_u32(head) != ZSTD_MAGICNUMBER) return 0;
  size_t end = zstd_header_bytes(head[4]);
  for (bool is_last = false; !is_last;) {
    uint8_t block[4] = {0};
    if (end > left || left - end < ZSTD_BLOCK_HEADER_BYTES) return 0;
    szg_copy_once(block, bytes + end, ZSTD_BLOCK_HEADER_BYTES);
    uint32_t const header = szg_load_u32(block), type = header >> 1 & 3;
    is_last = header & 1;
    if (type == RESERVED) return 0;
    end += ZSTD_BLOCK_HEADER_BYTES + (type == RLE ? 1 : header >> 3);
  }
  end += head[4] >> 2 & 1 ? 4 : 0; /* a checksum */
  return end <= left ? end : 0;
}

typedef struct decompress_job {
  const uint8_t *packed;
  const uint64_t *piece_ends; /* in packed */
  uint8_t *copies;            /* one packed piece per worker, of copy_bytes */
  size_t copy_bytes;
  uint8_t *raw; /* the whole section, or with a sink one piece per worker */
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
  size_t const packed_bytes = (size_t)(job->piece_ends[piece] - start);
  uint8_t *const copy = job->copies + (uint64_t)worker * job->copy_bytes;
  szg_copy_once(copy, job->packed + start, packed_bytes);
  size_t const written = ZSTD_decompress(out, expected, copy, packed_bytes);
  if (ZSTD_isError(written) && ZSTD_getErrorCode(written) == ZSTD_error_memory_allocation)
    return SZGPU_OUT_OF_MEMORY;
  SZG_REQUIRE(written == expected, SZGPU_BAD_DATA);
  if (job->sink) job->sink(job->target, offset, out, expected);
  return SZGPU_OK;
}

/* Finds the pieces, then decompresses them in parallel. The caller has set the job except for
 * packed and piece_ends. */
static szgpu_status decompress_pieces(szg_threads *threads, szg_account *account,
                                      const uint8_t *packed, size_t packed_bytes,
                                      uint64_t loop_values, decompress_job *job) {
  uint64_t const piece_count = szg_div_up(job->raw_bytes, SZG_ZSTD_PIECE_BYTES);
  uint64_t const worker_count = szg_min_u64(piece_count, (uint64_t)threads->count);
  szg_buffer ends = {.account = account}, copies = {.account = account};
  SZG_TRY(szg_buffer_reset(&ends, (size_t)piece_count * sizeof(uint64_t) + 1));
  uint64_t *const piece_ends = (uint64_t *)(void *)ends.bytes;
  szgpu_status status = SZGPU_OK;
  size_t end = 0;
  for (uint64_t piece = 0; piece < piece_count && status == SZGPU_OK; piece++) {
    size_t const frame_bytes = zstd_frame_bytes(packed + end, packed_bytes - end);
    if (frame_bytes == 0 || frame_bytes > MOST_PACKED_PIECE_BYTES) status = SZGPU_BAD_DATA;
    if (frame_bytes > job->copy_bytes) job->copy_bytes = frame_bytes;
    piece_ends[piece] = end += frame_bytes;
  }
  if (status == SZGPU_OK && end != packed_bytes) status = SZGPU_BAD_DATA;
  job->packed = packed;
  job->piece_ends = piece_ends;
  if (status == SZGPU_OK) status = szg_buffer_reset(&copies, worker_count * job->copy_bytes);
  job->copies = copies.bytes;
  if (status == SZGPU_OK)
    status = szg_for_parts(threads, piece_count, loop_values, decompress_part, job);
  szg_buffer_release(&copies);
  szg_buffer_release(&ends);
  return status;
}

szgpu_status szg_zstd_decompress(szg_threads *threads, szg_account *account, const uint8_t *packed,
                                 size_t packed_bytes, uint8_t *raw, size_t raw_bytes) {
  decompress_job job = {.raw = raw, .raw_bytes = raw_bytes};
  return decompress_pieces(threads, account, packed, packed_bytes, 0, &job);
}

szgpu_status szg_zstd_decompress_each(szg_threads *threads, szg_account *account,
                                      const uint8_t *packed, size_t packed_bytes, size_t raw_bytes,
                                      uint64_t loop_values, szg_piece_sink sink, void *target) {
  szg_buffer pieces = {.account = account};
  SZG_TRY(szg_buffer_reset(&pieces, (size_t)threads->count * SZG_ZSTD_PIECE_BYTES));
  decompress_job job = {
      .raw = pieces.bytes, .raw_bytes = raw_bytes, .sink = sink, .target = target};
  szgpu_status const status =
      decompress_pieces(threads, account, packed, packed_bytes, loop_values, &job);
  szg_buffer_release(&pieces);
  return status;
}
