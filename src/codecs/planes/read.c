/* read.c - a planes frame on the CPU: words and stored planes to values, bit for bit.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Values have the layout's width, which is the field's own except in fields of bytes.
 */
#include "codecs/planes/frame.h"

#include <string.h>

#include "codecs/read.h"

void szg_planes_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                                 szg_read_plan *plan) {
  szg_planes_read_plan *const own = &plan->planes;
  own->decoder = szg_arena_take(arena, 1, sizeof *own->decoder);
  own->lengths = szg_arena_take(arena, SZG_PLANES_MOST, sizeof *own->lengths);
  own->values = szg_arena_take(arena, (uint64_t)request->thread_count, sizeof *own->values);
  for (int i = 0; i < request->thread_count; i++) {
    uint8_t *const values = szg_arena_take(arena, SZG_TILE_VALUES, SZG_PLANES_MOST);
    if (own->values) own->values[i] = values;
  }
}

/* The wanted bytes of the frame. */
typedef struct byte_range {
  uint64_t first, end;
} byte_range;

static byte_range wanted_bytes(const szg_read_job *job) {
  uint64_t const width = szg_dtype_bytes(job->header->shape.dtype);
  uint64_t const first = job->first_value * width;
  return (byte_range){first, first + job->value_count * width};
}

static szgpu_status open_books(szg_read_job *job, const szg_planes_layout *layout,
                               const szg_loaded *books) {
  const szg_planes_read_plan *const plan = &job->plan->planes;
  memset(plan->lengths, 0, SZG_PLANES_MOST * sizeof *plan->lengths);
  if (books->bytes)
    SZG_TRY(szg_planes_books_read(layout, books->bytes, books->byte_count, plan->lengths));
  szg_planes_decoder_build(layout, plan->lengths, plan->decoder);
  return SZGPU_OK;
}

/* The frame is read as a one-dimensional grid. */
szgpu_status szg_planes_frame_open(szg_read_job *job) {
  szg_reader *const reader = &job->reader;
  szg_planes_layout const layout = szg_planes_layout_of(&reader->frame);
  uint64_t const frame_bytes = job->grid.value_count * szg_dtype_bytes(job->header->shape.dtype);
  uint64_t const tile_bytes = (uint64_t)SZG_TILE_VALUES * layout.value_bytes;
  byte_range const wanted = wanted_bytes(job);
  job->line_values = layout.value_bytes / szg_dtype_bytes(job->header->shape.dtype);
  job->grid = szg_grid_of_line(frame_bytes / layout.value_bytes);
  job->first_tile = wanted.first / tile_bytes;
  job->end_tile = szg_div_up(wanted.end, tile_bytes);
  szg_loaded books;
  uint64_t word_count;
  SZG_TRY(szg_reader_map(reader, SZG_SECTION_RAW, &job->stored));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_CODEBOOK, &books));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_TILE_SIZES, &job->tile_sizes));
  SZG_TRY(szg_reader_map(reader, szg_planes_words_kind(job->header), &job->words));
  if (reader->is_waiting) return SZGPU_OK;
  SZG_TRY(open_books(job, &layout, &books));
  if (!job->tile_sizes.bytes) return SZGPU_OK; /* no plane is coded: tiles have no words to find */
  SZG_TRY(szg_tiles_scan(job, &word_count));
  SZG_REQUIRE(4 * word_count == job->words.byte_count, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* A pointer into a section. If the frame has no such section, nothing reads it. */
static const uint8_t *bytes_from(const szg_loaded *loaded, uint64_t offset) {
  static const uint8_t nothing[1] = {0};
  return loaded->bytes ? loaded->bytes + offset : nothing;
}

/* The tile's words, and its bytes of each stored plane. */
static szgpu_status ask_for_tile(const szg_read_job *job, uint64_t tile_index, const szg_tile *tile,
                                 const szg_part_start *at) {
  uint64_t const plane_bytes = szg_stored_plane_bytes(job->grid.value_count);
  uint64_t const word_bytes = 4 * (uint64_t)szg_count_at(&job->tile_sizes, tile_index);
  if (word_bytes) SZG_TRY(szg_reader_ask(&job->reader, &job->words, 4 * at->stream, word_bytes));
  for (uint64_t plane = 0; plane < job->stored.byte_count; plane += plane_bytes)
    SZG_TRY(
        szg_reader_ask(&job->reader, &job->stored, plane + tile->first_value, tile->value_count));
  return SZGPU_OK;
}

/* A tile that is only wanted in part goes through the worker's own memory. */
static szgpu_status restore_tile(const szg_read_job *job, uint64_t tile_index, const szg_tile *tile,
                                 const szg_part_start *at, const szg_tile_target *target,
                                 int worker) {
  (void)target;
  if (szg_reader_only_asks(&job->reader)) return ask_for_tile(job, tile_index, tile, at);
  const szg_planes_decoder *const decoder = job->plan->planes.decoder;
  uint64_t const value_bytes = decoder->layout.value_bytes;
  byte_range const wanted = wanted_bytes(job);
  uint64_t const first = tile->first_value * value_bytes; /* byte of the frame */
  uint64_t const end = first + tile->value_count * value_bytes;
  bool const is_whole = !job->region && first >= wanted.first && end <= wanted.end;
  uint8_t *const to =
      is_whole ? job->values + (first - wanted.first) : job->plan->planes.values[worker];
  SZG_TRY(szg_planes_decode_tile(
      decoder, bytes_from(&job->words, 4 * at->stream), szg_count_at(&job->tile_sizes, tile_index),
      bytes_from(&job->stored, tile->first_value), szg_stored_plane_bytes(job->grid.value_count),
      tile->value_count, to));
  uint64_t const width = szg_dtype_bytes(job->header->shape.dtype);
  if (job->region) szg_region_take_line(job->region, first / width, end / width, width, to);
  if (is_whole || job->region) return SZGPU_OK;
  uint64_t const begin = first > wanted.first ? first : wanted.first;
  memcpy(job->values + (begin - wanted.first), to + (begin - first),
         szg_min_u64(end, wanted.end) - begin);
  return SZGPU_OK;
}

szgpu_status szg_planes_frame_restore(szg_read_job *job) {
  static const szg_tile_steps steps = {NULL, restore_tile};
  return szg_tiles_restore(job, &steps);
}
