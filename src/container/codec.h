/* codec.h - zstd over a section, in pieces that threads process independently.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CODEC_H
#define SZG_CODEC_H

#include "core/memory.h"
#include "core/threads.h"

SZG_C_BEGIN

/* Compresses `bytes` into *packed, one zstd frame per SZG_ZSTD_PIECE_BYTES, one after the other.
 * *pays: whether that saved more than 1/SZG_ZSTD_MIN_GAIN; if not, the contents of *packed are
 * undefined. loop_values: the values that the work counts for in the progress report. */
szgpu_status szg_zstd_compress(szg_threads *threads, int level, const uint8_t *bytes,
                               size_t byte_count, uint64_t loop_values, szg_buffer *packed,
                               bool *pays) SZG_CHECKED;

/* The inverse; gives exactly raw_bytes. account: of the memory that it takes meanwhile, or NULL.
 * SZGPU_BAD_DATA: `packed` is not such a section. */
szgpu_status szg_zstd_decompress(szg_threads *threads, szg_account *account, const uint8_t *packed,
                                 size_t packed_bytes, uint8_t *raw, size_t raw_bytes) SZG_CHECKED;

/* Receives byte_count bytes of the section, from `offset` on. Several threads call it at once. */
typedef void (*szg_piece_sink)(void *target, uint64_t offset, const uint8_t *bytes,
                               size_t byte_count);

/* The inverse again, but gives each piece to the sink, so that memory never holds the whole
 * section. loop_values: the values that the work counts for in the progress report. */
szgpu_status szg_zstd_decompress_each(szg_threads *threads, szg_account *account,
                                      const uint8_t *packed, size_t packed_bytes, size_t raw_bytes,
                                      uint64_t loop_values, szg_piece_sink sink,
                                      void *target) SZG_CHECKED;

SZG_C_END

#endif
