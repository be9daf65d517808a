/* decompress_tile_frame.c - tiles of the tile layout: words to values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "pipeline/decompress_frame.h"

szgpu_status szg_load_tile_stream(szg_decode_job *job, uint64_t word_count) {
  szg_reader *const reader = &job->reader;
  szg_loaded book;
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_CODEBOOK, true, 1, SZG_TILE_BOOK_MAX_BYTES, &book));
  SZG_TRY(szg_codebook_read(book.bytes, book.byte_count, SZG_TILE_SYMBOLS, job->plan.book));
  SZG_TRY(szg_tile_decoder_build(job->plan.book, job->plan.tile_decoder));
  if (job->decoder->is_reference) szg_canonical_index_build(job->plan.book, job->plan.index);
  return szg_reader_load(reader, SZG_SECTION_BITSTREAM, true, 4 * word_count, 4 * word_count,
                         &job->tile_stream);
}

/* The tile's row of values, by (z, y). */
static uint8_t *row_at(const szg_decode_job *job, const szg_tile *tile, uint32_t z, uint32_t y) {
  return job->values + szg_dtype_bytes(job->header->shape.dtype) *
                           (tile->first_value + z * tile->z_stride + y * tile->y_stride);
}

/* Lattice point 0 everywhere: every arithmetic restores it to +0. */
static void restore_zeros(const szg_decode_job *job, const szg_tile *tile) {
  size_t const row_bytes = tile->x_extent * szg_dtype_bytes(job->header->shape.dtype);
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++) memset(row_at(job, tile, z, y), 0, row_bytes);
}

/* A raw tile: the values, in code order. */
static void restore_raw(const szg_decode_job *job, const szg_tile *tile, const uint8_t *words) {
  size_t const row_bytes = tile->x_extent * szg_dtype_bytes(job->header->shape.dtype);
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++, words += row_bytes)
      memcpy(row_at(job, tile, z, y), words, row_bytes);
}

szgpu_status szg_restore_tile_of_words(const szg_decode_job *job, uint64_t tile_index,
                                       const szg_tile *tile, uint64_t first_word,
                                       szg_tile_work *work) {
  const szg_frame_header *const frame = &job->reader.frame;
  uint32_t const lattice_bits = szg_lattice_bits(job->header->arithmetic, frame->has_16_bits);
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(job->header->shape.dtype);
  uint32_t const raw_words = szg_raw_tile_words(tile->value_count, value_bytes);
  uint32_t const word_count = szg_count_at(&job->tile_sizes, tile_index);
  const uint8_t *const words = job->tile_stream.bytes + 4 * first_word;
  SZG_REQUIRE(word_count <= raw_words, SZGPU_BAD_DATA);
  if (word_count == 0) {
    restore_zeros(job, tile);
    return SZGPU_OK;
  }
  if (word_count == raw_words) {
    SZG_REQUIRE(!szg_has_outliers(job, tile_index), SZGPU_BAD_DATA);
    restore_raw(job, tile, words);
    return SZGPU_OK;
  }
  bool const is_tile =
      job->decoder->is_reference
          ? szg_tile_decode_serial(job->plan.index, lattice_bits, frame->zero_groups, tile, words,
                                   word_count, &work->deltas)
          : szg_tile_decode(job->plan.tile_decoder, lattice_bits, frame->zero_groups, tile, words,
                            word_count, &work->deltas);
  SZG_REQUIRE(is_tile, SZGPU_BAD_DATA);
  szg_tile_deltas_to_values(&job->quantizer, lattice_bits, frame->axes, tile, work, job->values);
  return SZGPU_OK;
}
