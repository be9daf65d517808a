/* tile_cuda.h - the tile layout on CUDA: a frame to its sections and back, one kernel per way.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All pointers except quantizer and grid point to device memory. The sections are byte for byte the
 * CPU's.
 */
#ifndef SZG_TILE_CUDA_H
#define SZG_TILE_CUDA_H

#include "codecs/lorenzo/tile.h"
#include "core/arena.h"

SZG_C_BEGIN

/* ---- codebook (tile_book.cu) ---- */

enum { SZG_TILE_BOOK_BYTES = 1296 }; /* a codebook section at most: 6 + SZG_TILE_SYMBOLS, padded */

/* What the sampled tiles decide; made on the device, aligned to 16. */
typedef struct szg_tile_book_cuda {
  szg_tile_encoder encoder;
  uint32_t zero_groups;                 /* SZG_ZERO_GROUPS_* */
  uint32_t section_bytes;               /* of `section` */
  uint32_t padding;                     /* `section` is aligned to 16, too */
  uint8_t section[SZG_TILE_BOOK_BYTES]; /* zeros from section_bytes on */
} szg_tile_book_cuda;

/* Bytes of work memory to make the book: aligned to 16, zeroed, beginning with the
 * szg_tile_tally. */
uint64_t szg_tile_book_work_bytes_cuda(void);

/* Counts the sampled tiles along *axes and builds the book: tally, zero groups, book, encoder. */
szgpu_status szg_tile_book_make_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                     const szg_grid *grid, const void *frame_values,
                                     const uint32_t *axes, void *work, szg_tile_book_cuda *book,
                                     struct CUstream_st *stream) SZG_CHECKED;

/* ---- compression (tile_compress.cu) ---- */

/* Offsets of sections, in bytes from the first one: codebook, tile sizes, bitstream. */
SZG_HD uint64_t szg_tile_sizes_offset(uint32_t book_bytes) {
  return (book_bytes + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
}
SZG_HD uint64_t szg_tile_words_offset(uint32_t book_bytes, uint64_t tile_count) {
  return szg_tile_sizes_offset(book_bytes) +
         (2 * tile_count + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
}

/* What a compression found. */
typedef struct szg_tile_result_cuda {
  uint64_t word_count;   /* of the bitstream, however large the room is */
  uint32_t is_too_large; /* not 0: the room did not suffice, and the output is incomplete */
  uint32_t marked_tiles; /* not 0: some tile has exact or fill values */
} szg_tile_result_cuda;

/* Bytes of work memory to compress tile_count tiles: aligned to 16, zeroed. */
uint64_t szg_tile_compress_work_bytes_cuda(uint64_t tile_count);

/* Compresses values to codebook, tile sizes and bitstream, one after the other from `sections` on,
 * each padded with zeros to SZG_ALIGNMENT; writes nothing from sections + room_bytes on. sections
 * is aligned to 16. tile_marks [tiles]: 1 for a tile that is not raw and has exact or fill values,
 * else 0; NULL: not noted. raw_outliers: such a tile is raw. The caller zeroes *result.
 * greatest_point: the largest magnitude of values, in steps; it decides how the work is done, never
 * what is written. */
szgpu_status szg_tile_compress_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                    double greatest_point, const szg_grid *grid,
                                    const void *frame_values, const uint32_t *axes,
                                    const szg_tile_book_cuda *book, bool raw_outliers,
                                    uint8_t *sections, uint64_t room_bytes, uint8_t *tile_marks,
                                    void *work, szg_tile_result_cuda *result,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* One of several frames that one launch compresses; in device memory. */
typedef struct szg_tile_item {
  szg_grid grid;
  const void *values;
  const uint32_t *axes;
  void *book_work; /* szg_tile_book_work_bytes_cuda(), zeroed */
  szg_tile_book_cuda *book;
  uint8_t *sections; /* as for szg_tile_compress_cuda */
  uint64_t room_bytes;
  void *work;                   /* szg_tile_compress_work_bytes_cuda(tiles), zeroed */
  szg_tile_result_cuda *result; /* zeroed */
} szg_tile_item;

/* As szg_tile_book_make_cuda and szg_tile_compress_cuda for each item, with raw_outliers. Their
 * grids have as many axes as `example`, and no more than most_tiles. */
szgpu_status szg_tile_make_books_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                      const szg_grid *example, uint64_t most_tiles,
                                      const szg_tile_item *items, uint32_t item_count,
                                      struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_tile_compress_items_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                          double greatest_point, const szg_grid *example,
                                          uint64_t most_tiles, const szg_tile_item *items,
                                          uint32_t item_count,
                                          struct CUstream_st *stream) SZG_CHECKED;

/* ---- decompression (tile_places.cu, tile_decompress.cu) ---- */

/* A frame and what szg_tile_open_cuda makes of it. Its sections may hold anything. */
typedef struct szg_tile_input_cuda {
  szg_tile_decoder *decoder;
  const uint16_t *sizes; /* [tiles] */
  uint64_t *first_words; /* [tiles + 1]: running sums of sizes */
  uint32_t *counters;    /* [1] work memory: 0 before and after tiles are decompressed */
  const uint32_t *words;
  uint64_t word_count; /* of the bitstream section; first_words[tiles] need not agree */
  uint32_t axes, zero_groups;
} szg_tile_input_cuda;

/* What all tiles of a frame need, in one launch: reads and checks the codebook section, as
 * szg_codebook_read and szg_tile_decoder_build do, into *input->decoder; finds first_words; zeroes
 * counters. decoder, sizes and first_words are aligned to 16; words are not read.
 * verdict->bad_data: sizes do not add up to word_count, or the section is invalid. Kernels may
 * safely use the decoder even then: every entry has a length of 1 to 12. */
szgpu_status szg_tile_open_cuda(const uint8_t *section, uint64_t section_bytes,
                                const szg_tile_input_cuda *input, uint64_t tile_count,
                                szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

/* Decompresses tiles first_tile .. end_tile - 1 to values, placed as by szg_tiles_restore_cuda:
 * value first_value of the frame goes to `values`, and only value_count values from there on are
 * written. verdict->bad_data: some tile is invalid. */
szgpu_status szg_tile_decompress_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                      const szg_grid *grid, const szg_tile_input_cuda *input,
                                      uint64_t first_tile, uint64_t end_tile, void *values,
                                      uint64_t first_value, uint64_t value_count,
                                      szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

/* Whether the next function can restore values to that place, in the type `dtype` that they were
 * widened from. */
bool szg_tile_narrows_cuda(const szg_quantizer *quantizer, const szg_grid *grid, szgpu_dtype dtype,
                           const void *values);
/* As szg_tile_decompress_cuda for all tiles of a frame without outliers; values are narrowed. */
szgpu_status szg_tile_decompress_narrow_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                             const szg_grid *grid, const szg_tile_input_cuda *input,
                                             szgpu_dtype dtype, void *values, szg_verdict *verdict,
                                             struct CUstream_st *stream) SZG_CHECKED;

/* One of several frames that one launch decompresses; in device memory. */
typedef struct szg_tile_read_item {
  szg_grid grid;
  szg_tile_input_cuda input;
  const uint8_t *book; /* the codebook section */
  uint64_t book_bytes;
  void *values;
  szg_verdict *verdict;
  bool is_there; /* false: there is nothing to do, and all else may be anything */
} szg_tile_read_item;

/* As szg_tile_open_cuda and szg_tile_decompress_cuda for each item; all tiles are restored. Their
 * grids have as many axes as `example`, and no more than most_tiles. is_aligned: rows of all items
 * begin at multiples of 16 bytes. */
szgpu_status szg_tile_open_items_cuda(const szg_tile_read_item *items, uint64_t most_tiles,
                                      uint32_t item_count, struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_tile_decompress_items_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                            const szg_grid *example, uint64_t most_tiles,
                                            bool is_aligned, const szg_tile_read_item *items,
                                            uint32_t item_count,
                                            struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
