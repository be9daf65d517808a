/* decompress_planes_frame.c - a planes frame's values, bit for bit.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "pipeline/plan.h"
#include "pipeline/planes_frame.h"

/* A frame at work. Values are of the layout's width, which for bytes is the frame's own. */
typedef struct planes_job {
  szg_decode_job *decode;
  const szg_planes_decoder *decoder;
  uint64_t value_count;            /* of the frame */
  uint64_t first_byte, byte_count; /* wanted */
  uint64_t first_tile, end_tile;
  const uint8_t *sizes, *words, *stored;
  uint64_t *part_words; /* [parts]: words before the part; where planes are coded */
} planes_job;

static uint32_t tile_words_at(const planes_job *job, uint64_t tile) {
  return job->sizes ? szg_load_u16(job->sizes + 2 * tile) : 0;
}

/* Tables from books, and where each part's words begin. */
static szgpu_status open_stream(planes_job *job, szg_reader *reader,
                                const szg_planes_layout *layout) {
  szg_loaded books, sizes, words;
  uint64_t const tiles = szg_planes_tile_count(job->value_count);
  uint64_t const book_bytes = szg_planes_book_bytes(layout);
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_CODEBOOK, true, book_bytes, book_bytes, &books));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_TILE_SIZES, true, 2 * tiles, 2 * tiles, &sizes));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_BITSTREAM, true, 0, UINT64_MAX, &words));
  szg_decode_plan *const plan = &job->decode->plan;
  SZG_TRY(szg_planes_books_read(layout, books.bytes, books.byte_count, plan->plane_lengths));
  szg_planes_decoder_build(layout, plan->plane_lengths, plan->planes_decoder);
  job->sizes = sizes.bytes;
  job->words = words.bytes;
  szg_buffer *const starts = &reader->ctx->part_starts;
  SZG_TRY(szg_buffer_reset(starts, szg_div_up(tiles, SZG_PART_TILES) * sizeof *job->part_words));
  job->part_words = (uint64_t *)(void *)starts->bytes;
  uint64_t word = 0;
  for (uint64_t t = 0; t < tiles; t++) {
    if (t % SZG_PART_TILES == 0) job->part_words[t / SZG_PART_TILES] = word;
    word += tile_words_at(job, t);
  }
  SZG_REQUIRE(4 * word == words.byte_count, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* A tile that is wanted in part only goes through the worker's own memory. */
static szgpu_status restore_tile(const planes_job *job, uint64_t tile, uint64_t word,
                                 szg_decode_worker *worker) {
  uint32_t const value_bytes = job->decoder->layout.value_bytes;
  uint64_t const tile_first = tile * SZG_TILE_VALUES * value_bytes; /* byte of the frame */
  uint32_t const count =
      (uint32_t)szg_min_u64(SZG_TILE_VALUES, job->value_count - tile * SZG_TILE_VALUES);
  uint64_t const tile_end = tile_first + (uint64_t)count * value_bytes;
  uint64_t const wanted_end = job->first_byte + job->byte_count;
  bool const is_whole = tile_first >= job->first_byte && tile_end <= wanted_end;
  uint8_t *const to = is_whole ? job->decode->values + (tile_first - job->first_byte)
                               : (uint8_t *)worker->plane_values;
  SZG_TRY(szg_planes_decode_tile(job->decoder, job->words + 4 * word, tile_words_at(job, tile),
                                 job->stored + tile * SZG_TILE_VALUES,
                                 szg_stored_plane_bytes(job->value_count), count, to));
  if (is_whole) return SZGPU_OK;
  uint64_t const begin = tile_first > job->first_byte ? tile_first : job->first_byte;
  uint64_t const end = szg_min_u64(tile_end, wanted_end);
  memcpy(job->decode->values + (begin - job->first_byte), to + (begin - tile_first), end - begin);
  return SZGPU_OK;
}

static szgpu_status restore_part(void *job_pointer, uint64_t part_from_first, int worker) {
  const planes_job *const job = job_pointer;
  uint64_t const part = job->first_tile / SZG_PART_TILES + part_from_first;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_PART_TILES, job->end_tile);
  uint64_t word = job->sizes ? job->part_words[part] : 0;
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    if (t >= job->first_tile)
      SZG_TRY(restore_tile(job, t, word, &job->decode->plan.workers[worker]));
    word += tile_words_at(job, t);
  }
  return SZGPU_OK;
}

szgpu_status szg_restore_planes(szg_decode_job *decode, uint64_t wanted_count) {
  static const uint8_t nothing[1] = {0};
  szg_reader *const reader = &decode->reader;
  szg_planes_layout const layout = szg_planes_layout_of(&reader->frame);
  uint64_t const width = szg_dtype_bytes(decode->header->shape.dtype);
  planes_job job = {.decode = decode,
                    .decoder = decode->plan.planes_decoder,
                    .value_count = decode->grid.value_count * width / layout.value_bytes,
                    .first_byte = decode->first_value * width,
                    .byte_count = wanted_count * width,
                    .words = nothing,
                    .stored = nothing};
  uint64_t const stored_bytes = szg_planes_stored_bytes(&layout, job.value_count);
  szg_loaded stored = {0};
  if (stored_bytes) {
    SZG_TRY(szg_reader_load(reader, SZG_SECTION_RAW, true, stored_bytes, stored_bytes, &stored));
    job.stored = stored.bytes;
  }
  if (szg_planes_book_bytes(&layout)) {
    SZG_TRY(open_stream(&job, reader, &layout));
  } else {
    memset(decode->plan.plane_lengths, 0, SZG_PLANES_MOST * SZG_PLANES_SYMBOLS);
    szg_planes_decoder_build(&layout, decode->plan.plane_lengths, decode->plan.planes_decoder);
  }
  uint64_t const tile_bytes = (uint64_t)SZG_TILE_VALUES * layout.value_bytes;
  job.first_tile = job.first_byte / tile_bytes;
  job.end_tile = szg_div_up(job.first_byte + job.byte_count, tile_bytes);
  uint64_t const first_part = job.first_tile / SZG_PART_TILES;
  uint64_t const end_part = szg_div_up(job.end_tile, SZG_PART_TILES);
  return szg_for_parts(&reader->ctx->threads, end_part - first_part, decode->wanted_values,
                       restore_part, &job);
}
