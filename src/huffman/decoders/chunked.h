/* chunked.h - decoding by one thread per tile, from the tiles' places only.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CHUNKED_H
#define SZG_CHUNKED_H

#include "huffman/huffman.h"

SZG_C_BEGIN

/* Codes and verdict as szg_decode_gap_cuda gives them, without gaps and sequence codes; each tile
 * must end where its place says. grid: the tiles. */
szgpu_status szg_decode_chunked_cuda(const szg_decode_book_cuda *book, uint32_t symbol_count,
                                     const szg_grid *grid, const szg_linear_input_cuda *input,
                                     uint16_t *codes, szg_verdict *verdict,
                                     struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
