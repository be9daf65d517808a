/* hierarchical_forms.h - what DFloat11's decoder has beyond that of archives: gaps of 5 bits, bf16.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The decoder of archives (huffman/decoders/hierarchical.h) makes gaps of 4 bits from an archive's
 * gap array and writes bytes. DFloat11 (T. Zhang et al., 2025) stores gaps of 5 bits with the
 * stream and merges the symbols, exponents of bf16 weights, with signs and mantissas as it writes
 * them.
 */
#ifndef SZG_HIERARCHICAL_FORMS_H
#define SZG_HIERARCHICAL_FORMS_H

#include "huffman/decoders/hierarchical.h"

SZG_C_BEGIN

/* ---- side data ---- */

/* Walks a stream and writes its gaps and positions. SZGPU_BAD_DATA: it is not code_count codes in
 * bit_count bits, or positions of 4 bytes are too small for them. */
szgpu_status szg_hierarchical_mark(const szg_hierarchical_tables *tables,
                                   const szg_hierarchical_stream *stream, uint8_t *gaps,
                                   void *positions) SZG_CHECKED;

/* ---- bf16 values ---- */

/* The exponent of a bf16 value, which is coded, and the rest: the sign, then 7 bits of mantissa. */
SZG_HD uint8_t szg_bf16_exponent(uint16_t value) { return (uint8_t)(value >> 7); }
SZG_HD uint8_t szg_bf16_rest(uint16_t value) {
  return (uint8_t)((value >> 8 & 0x80) | (value & 0x7F));
}
SZG_HD uint16_t szg_bf16_of(uint32_t exponent, uint32_t rest) {
  return (uint16_t)((rest & 0x80) << 8 | exponent << 7 | (rest & 0x7F));
}

typedef struct szg_bf16_output {
  uint16_t *values;    /* [code_count]; on a device 16-byte aligned */
  const uint8_t *rest; /* [code_count]; on a device 8-byte aligned */
} szg_bf16_output;

/* Like szg_decode_hierarchical and szg_decode_hierarchical_cuda, to bf16 values. */
szgpu_status szg_decode_bf16(const szg_hierarchical_tables *tables,
                             const szg_hierarchical_stream *stream, const szg_bf16_output *output,
                             szg_threads *threads) SZG_CHECKED;
szgpu_status szg_decode_bf16_cuda(const szg_hierarchical_tables *tables,
                                  const szg_hierarchical_stream *stream,
                                  const szg_bf16_output *output, szg_verdict *verdict,
                                  struct CUstream_st *cuda_stream) SZG_CHECKED;

SZG_C_END

#endif
