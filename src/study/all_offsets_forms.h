/* all_offsets_forms.h - two more forms of decoding from every bit on a GPU, to measure against.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The decoder of archives makes a window's W in shared memory, by a warp
 * (huffman/decoders/all_offsets.h). These two take larger windows: one in shared memory, by a
 * block; the other in device memory, of any size, as in Johnston and McCreath (2017). Both give the
 * same codes and verdicts as szg_decode_all_offsets_cuda, for every choice of options.
 */
#ifndef SZG_ALL_OFFSETS_FORMS_H
#define SZG_ALL_OFFSETS_FORMS_H

#include "huffman/decoders/all_offsets.h"

SZG_C_BEGIN

/* ---- one block for each window ---- */

/* Like szg_all_offsets_carve_cuda, for blocks of block_threads: 64 to 1024, a multiple of 32.
 * SZGPU_BAD_ARGUMENT: another number. */
szgpu_status szg_all_offsets_blocks_carve_cuda(szg_arena *arena,
                                               const szg_all_offsets_options *options,
                                               uint32_t block_threads, uint32_t shortest,
                                               uint32_t longest,
                                               szg_all_offsets_tables_cuda *tables) SZG_CHECKED;

szgpu_status szg_decode_all_offsets_blocks_cuda(const szg_all_offsets_tables_cuda *tables,
                                                const szg_decode_book_cuda *book,
                                                const szg_linear_input_cuda *input, uint16_t *codes,
                                                szg_verdict *verdict,
                                                struct CUstream_st *stream) SZG_CHECKED;

/* ---- tables in device memory, one launch for each row ---- */

typedef struct szg_all_offsets_rows_cuda {
  szg_all_offsets_tables_cuda tables;
  uint8_t *widths;    /* [slots][widths_bytes] */
  uint32_t *row_ends; /* [slots][row_count] */
  uint32_t *places;   /* [slots][window_bits] */
  uint16_t *symbols;  /* [slots][window_bits] */
} szg_all_offsets_rows_cuda;

/* Like szg_all_offsets_carve_cuda, for windows of any size. SZGPU_UNSUPPORTED: a batch has more
 * offsets than a grid has threads. */
szgpu_status szg_all_offsets_rows_carve_cuda(szg_arena *arena,
                                             const szg_all_offsets_options *options,
                                             uint32_t shortest, uint32_t longest,
                                             szg_all_offsets_rows_cuda *rows) SZG_CHECKED;

szgpu_status szg_decode_all_offsets_rows_cuda(const szg_all_offsets_rows_cuda *rows,
                                              const szg_decode_book_cuda *book,
                                              const szg_linear_input_cuda *input, uint16_t *codes,
                                              szg_verdict *verdict,
                                              struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
