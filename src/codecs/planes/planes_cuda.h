/* planes_cuda.h - lossless frames on CUDA; planes_items.h has the same for many of them at once.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Results are byte for byte those of planes.h. Pointers are to device memory, except those to
 * layouts and to the structs themselves. Values and bytes of fields need no alignment, though
 * kernels are faster if they begin at a multiple of 16.
 */
#ifndef SZG_PLANES_CUDA_H
#define SZG_PLANES_CUDA_H

#include "codecs/planes/planes.h"
#include "core/device.h"

SZG_C_BEGIN

/* Adds values to the counts: those of the frame's szg_planes_counted_tiles if is_sample, else
 * all. */
szgpu_status szg_planes_count_cuda(const void *values, uint64_t value_count, uint32_t value_bytes,
                                   bool is_sample, szg_planes_counts *counts,
                                   struct CUstream_st *stream) SZG_CHECKED;

/* Adds all stretches of byte_count bytes, like szg_split_count for each. */
szgpu_status szg_split_count_cuda(const uint8_t *bytes, uint64_t byte_count, szg_split_tally *tally,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* A frame to be encoded, and where its sections go. */
typedef struct szg_planes_output_cuda {
  szg_planes_layout layout;
  const void *values;
  uint64_t value_count;
  const szg_planes_encoder *encoder; /* on the device; of this layout */
  uint16_t *sizes;                   /* [tiles]: the section; aligned to 16 */
  uint8_t *stored;                   /* the section raw values; aligned to 4 */
  uint32_t *words;                   /* the section plane words; aligned to 16 */
  uint64_t room_words;               /* for words and their padding; a multiple of 4 */
  /* To work with: */
  uint64_t *first_words; /* [tiles + 1]: running sums of sizes; the last is the number of all words.
                            Then one more: whether the choice misleads. Then what tiles tell one
                            another while they are encoded */
  uint16_t *lane_bits;   /* [tiles][coded planes][SZG_LANES] */
  uint64_t *block_sums;  /* NULL, or [szg_planes_most_sums]: sums of blocks of XXH3 of `stored` */
} szg_planes_output_cuda;

/* Sums of the blocks of XXH3 of stored planes that have at most so many bytes. */
enum { SZG_SUM_BLOCK_BYTES = 1024, SZG_BLOCK_SUMS = 8 };
SZG_HD uint64_t szg_planes_most_sums(uint64_t stored_bytes) {
  return SZG_BLOCK_SUMS * szg_div_up(stored_bytes, SZG_SUM_BLOCK_BYTES);
}

/* Takes the work memory, except block_sums. layout and value_count: those of the frame, or ones
 * with the most coded planes and values that a frame may have. is_listed: only for the functions of
 * planes_items.h, which need less. SZGPU_UNSUPPORTED: 2^31 tiles or more. */
szgpu_status szg_planes_output_carve_cuda(szg_arena *arena, const szg_planes_layout *layout,
                                          uint64_t value_count, bool is_listed,
                                          szg_planes_output_cuda *output) SZG_CHECKED;

/* Readies first_words for one call of either function below. It need not come right before. */
szgpu_status szg_planes_output_clear_cuda(const szg_planes_output_cuda *output,
                                          struct CUstream_st *stream) SZG_CHECKED;

/* Finds sizes, first_words and lane_bits; words and stored need not be there yet. Sizes are 0 if
 * no plane is coded. The choice misleads if some symbol has no code, or a constant plane is not
 * constant; the rest is useless then. */
szgpu_status szg_planes_measure_cuda(const szg_planes_output_cuda *output,
                                     struct CUstream_st *stream) SZG_CHECKED;

/* Writes sizes, stored and words, with the padding of sections, and the two facts at the end of
 * first_words: how many words there are, and whether the choice misleads. If there is no room for
 * all words, some words and stored bytes are missing. If no plane is coded, the number of words is
 * 0 and sizes are not written. typical_bits: of the choice; NULL: not known. They only matter for
 * speed: if lanes have about so many bits, values are read once, else twice.
 * *summed_bytes: how many first bytes of `stored`, whole leaves of its checksum, need not be read
 * to make that: their blocks' sums are in block_sums, eight for each. */
szgpu_status szg_planes_encode_cuda(const szg_planes_output_cuda *output,
                                    const uint32_t *typical_bits, uint64_t *summed_bytes,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* A frame to decode. Its sections may hold anything, but the layout is checked, and their lengths
 * are those that it gives. */
typedef struct szg_planes_input_cuda {
  szg_planes_layout layout;
  uint64_t value_count;
  const uint8_t *books;
  const uint16_t *sizes; /* [tiles]; aligned to 16 */
  const uint32_t *words;
  uint64_t word_count;
  const uint8_t *stored; /* aligned to 4 */
  /* NULL, or a number and as many tiles, in device memory: no others of those that have the wanted
   * bytes are decoded. */
  const uint32_t *listed_tiles;
  /* To work with: */
  uint16_t *entries;     /* [coded planes][SZG_PLANES_ENTRIES]: symbol << 8 | length */
  uint64_t *first_words; /* [tiles + 1]: running sums of sizes */
  uint32_t *counter;     /* 0 before and after tiles are decoded */
  uint64_t *block_sums;  /* as of szg_planes_output_cuda */
} szg_planes_input_cuda;

/* Like szg_planes_output_carve_cuda. */
szgpu_status szg_planes_input_carve_cuda(szg_arena *arena, const szg_planes_layout *layout,
                                         uint64_t value_count,
                                         szg_planes_input_cuda *input) SZG_CHECKED;

/* Makes what all tiles need in one launch: turns books into tables and sizes into first_words, and
 * zeroes counter.
 * verdict->bad_data: a book that szg_planes_books_read would refuse, or sizes that do not add up to
 * word_count. Kernels may safely decode tiles even then. */
szgpu_status szg_planes_open_cuda(const szg_planes_input_cuda *input, szg_verdict *verdict,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* Decodes bytes first_byte .. first_byte + byte_count - 1 of the frame's values to `bytes`, from
 * the tiles that have them, or from the listed ones among these, and no others.
 * verdict->bad_data: a tile that was decoded is invalid; its values may be anything. */
szgpu_status szg_planes_decode_cuda(const szg_planes_input_cuda *input, uint64_t first_byte,
                                    uint64_t byte_count, uint8_t *bytes, szg_verdict *verdict,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* How many first bytes of `stored`, whole leaves of its checksum, need not be read again to check
 * it after all bytes of the frame are decoded to `bytes`: their blocks' sums are then in
 * block_sums, unless the verdict has bad_data. */
uint64_t szg_planes_summed_bytes_cuda(const szg_planes_input_cuda *input, const uint8_t *bytes);

SZG_C_END

#endif
