/* read.c - a tile frame on the CPU: words to deltas to values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/lorenzo/frame.h"

#include <string.h>

#include "codecs/read.h"

void szg_tile_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                               szg_read_plan *plan) {
  (void)request;
  plan->tile.book = szg_arena_take(arena, 1, sizeof *plan->tile.book);
  plan->tile.index = szg_arena_take(arena, 1, sizeof *plan->tile.index);
  plan->tile.decoder = szg_arena_take(arena, 1, sizeof *plan->tile.decoder);
}

static szgpu_status open_stream(szg_read_job *job, const szg_loaded *book, uint64_t word_count) {
  const szg_tile_read_plan *const plan = &job->plan->tile;
  SZG_TRY(szg_codebook_read(book->bytes, book->byte_count, SZG_TILE_SYMBOLS, plan->book));
  SZG_TRY(szg_tile_decoder_build(plan->book, plan->decoder));
  if (job->decoder->is_reference) szg_canonical_index_build(plan->book, plan->index);
  SZG_REQUIRE(job->words.byte_count == 4 * word_count, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_tile_frame_open(szg_read_job *job) {
  szg_loaded book;
  uint64_t word_count;
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_CODEBOOK, &book));
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_TILE_SIZES, &job->tile_sizes));
  SZG_TRY(szg_outliers_load(job));
  SZG_TRY(szg_reader_map(&job->reader, SZG_SECTION_BITSTREAM, &job->words));
  if (job->reader.is_waiting) return SZGPU_OK;
  SZG_TRY(szg_tiles_scan(job, &word_count));
  return open_stream(job, &book, word_count);
}

/* The tile's row of values at (z, y). */
static uint8_t *row_at(const szg_tile_target *target, size_t value_bytes, uint32_t z, uint32_t y) {
  const szg_tile *const tile = &target->tile;
  return target->values +
         value_bytes * (tile->first_value + z * tile->z_stride + y * tile->y_stride);
}

/* Lattice point 0 everywhere: every arithmetic restores it to +0, or to the limit next to it. */
static void restore_zeros(const szg_quantizer *k, const szg_tile_target *target,
                          size_t value_bytes) {
  const szg_tile *const tile = &target->tile;
  float const zero_f32 = szg_limit_f32(0.0f, k->least_f32, k->greatest_f32);
  double const zero_f64 = szg_limit_f64(0.0, k->least, k->greatest);
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++) {
      void *const row = row_at(target, value_bytes, z, y);
      for (uint32_t x = 0; x < tile->x_extent; x++)
        if (value_bytes == sizeof(float))
          ((float *)row)[x] = zero_f32;
        else
          ((double *)row)[x] = zero_f64;
    }
}

/* A raw tile: the values, in code order. */
static void restore_raw(const szg_tile_target *target, size_t value_bytes, const uint8_t *words) {
  const szg_tile *const tile = &target->tile;
  size_t const row_bytes = tile->x_extent * value_bytes;
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++, words += row_bytes)
      memcpy(row_at(target, value_bytes, z, y), words, row_bytes);
}

static szgpu_status restore_coded(const szg_read_job *job, const szg_tile_target *target,
                                  const uint8_t *words, uint32_t word_count, szg_tile_work *work) {
  const szg_tile *const tile = &target->tile;
  const szg_frame_header *const frame = &job->reader.frame;
  const szg_tile_read_plan *const plan = &job->plan->tile;
  uint32_t const lattice_bits = szg_tile_lattice_bits(job->header->arithmetic, frame->has_16_bits);
  bool const is_tile = job->decoder->is_reference
                           ? szg_tile_decode_serial(plan->index, lattice_bits, frame->zero_groups,
                                                    tile, words, word_count, &work->deltas)
                           : szg_tile_decode(plan->decoder, lattice_bits, frame->zero_groups, tile,
                                             words, word_count, &work->deltas);
  SZG_REQUIRE(is_tile, SZGPU_BAD_DATA);
  szg_tile_deltas_to_values(&job->quantizer, lattice_bits, frame->axes, tile, work, target->values);
  return SZGPU_OK;
}

static szgpu_status restore_tile(const szg_read_job *job, uint64_t tile_index, const szg_tile *tile,
                                 const szg_part_start *at, const szg_tile_target *target,
                                 int worker) {
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(szg_header_coded_dtype(job->header));
  uint32_t const raw_words = szg_raw_tile_words(tile->value_count, value_bytes);
  uint32_t const word_count = szg_count_at(&job->tile_sizes, tile_index);
  SZG_REQUIRE(word_count <= raw_words, SZGPU_BAD_DATA);
  if (szg_reader_only_asks(&job->reader))
    return szg_reader_ask(&job->reader, &job->words, 4 * at->stream, 4 * (uint64_t)word_count);
  if (word_count == 0) {
    restore_zeros(&job->quantizer, target, value_bytes);
    return SZGPU_OK;
  }
  const uint8_t *const words = job->words.bytes + 4 * at->stream;
  if (word_count < raw_words)
    return restore_coded(job, target, words, word_count, &job->plan->tiles[worker]);
  szg_outlier_share const share = szg_outlier_share_at(&job->outliers, tile_index);
  SZG_REQUIRE(!szg_has_outliers(&share), SZGPU_BAD_DATA); /* a raw tile has none */
  restore_raw(target, value_bytes, words);
  return SZGPU_OK;
}

szgpu_status szg_tile_frame_restore(szg_read_job *job) {
  static const szg_tile_steps steps = {NULL, restore_tile};
  return szg_tiles_restore(job, &steps);
}
