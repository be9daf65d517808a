/* table.h - the table of decoders: a decoder is one row. Only for decoders.c and decoders.cu.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_DECODER_TABLE_H
#define SZG_DECODER_TABLE_H

#include "huffman/decoders/steps.h"

SZG_C_BEGIN

/* Where a decoder runs. */
enum { SZG_ON_CPU = 1, SZG_ON_CUDA = 2, SZG_ON_BOTH = SZG_ON_CPU | SZG_ON_CUDA };

/* What an archive must have. CODES: one for each value, which lossless archives of the tile layout
 * do not have. */
enum { SZG_NEEDS_LINEAR = 1, SZG_NEEDS_GAPS = 2, SZG_NEEDS_LOSSLESS = 4, SZG_NEEDS_CODES = 8 };

/* Decoder, where it runs, what it needs, its steps on the CPU and on CUDA. In the order of
 * SZGPU_DECODER_LIST. AUTO has no steps: szg_decoder_resolve says which decoder it stands for. */
#define SZG_DECODER_TABLE(X)                                                        \
  X(SZGPU_DECODER_AUTO, SZG_ON_BOTH, 0, NULL, NULL)                                 \
  X(SZGPU_DECODER_SERIAL, SZG_ON_CPU, SZG_NEEDS_CODES, &szg_serial_cpu, NULL)       \
  X(SZGPU_DECODER_TABLE, SZG_ON_CPU, 0, &szg_table_cpu, NULL)                       \
  X(SZGPU_DECODER_GAP_ARRAY, SZG_ON_CUDA, SZG_NEEDS_LINEAR | SZG_NEEDS_GAPS, NULL,  \
    &szg_gap_array_cuda)                                                            \
  X(SZGPU_DECODER_CHUNKED, SZG_ON_CUDA, SZG_NEEDS_LINEAR, NULL, &szg_chunked_cuda)  \
  X(SZGPU_DECODER_SELF_SYNC, SZG_ON_BOTH, SZG_NEEDS_LINEAR, &szg_self_sync_cpu,     \
    &szg_self_sync_cuda)                                                            \
  X(SZGPU_DECODER_ALL_OFFSETS, SZG_ON_BOTH, SZG_NEEDS_LINEAR, &szg_all_offsets_cpu, \
    &szg_all_offsets_cuda)                                                          \
  X(SZGPU_DECODER_HIERARCHICAL, SZG_ON_BOTH,                                        \
    SZG_NEEDS_LINEAR | SZG_NEEDS_GAPS | SZG_NEEDS_LOSSLESS, &szg_hierarchical_cpu,  \
    &szg_hierarchical_cuda)

SZG_C_END

#endif
