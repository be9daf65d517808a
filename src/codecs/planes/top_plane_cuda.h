/* top_plane_cuda.h - values to their highest byte plane and the others, and back, on CUDA.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For lossless frames of the linear layout, in which the highest plane is one stream of codes;
 * planes are those of planes_core.h. Values have value_bytes = 1, 2, 4 or 8 bytes and are aligned
 * to them; kernels are faster if values begin at a multiple of 16. Pointers are to device memory.
 */
#ifndef SZG_TOP_PLANE_CUDA_H
#define SZG_TOP_PLANE_CUDA_H

#include "codecs/planes/planes_core.h"
#include "core/device.h"

SZG_C_BEGIN

/* Writes the symbols of the highest plane as codes and adds them to counts, one for each of
 * SZG_PLANES_SYMBOLS symbols. codes: 16-byte aligned, with room for value_count rounded up to 8. */
szgpu_status szg_top_plane_take_cuda(const void *values, uint64_t value_count, uint32_t value_bytes,
                                     uint16_t *codes, uint64_t *counts,
                                     struct CUstream_st *stream) SZG_CHECKED;

/* Stores the other planes, from the lowest on, each of szg_stored_plane_bytes with its padding.
 * stored: aligned to 4. Does nothing for values of one byte. */
szgpu_status szg_top_plane_store_cuda(const void *values, uint64_t value_count,
                                      uint32_t value_bytes, uint8_t *stored,
                                      struct CUstream_st *stream) SZG_CHECKED;

/* The planes of a frame, to join to values. */
typedef struct szg_top_plane_input_cuda {
  uint32_t value_bytes;
  uint32_t code_bytes;         /* 2, or 1: codes are bytes */
  uint64_t value_count;        /* of the frame */
  const void *codes;           /* of the highest plane, in value order; 16-byte aligned */
  const uint8_t *code_lengths; /* [SZG_PLANES_SYMBOLS] */
  const uint16_t *tile_sizes;  /* [tiles]: bits of their codes, less their number of values */
  const uint8_t *stored;       /* the other planes; aligned to 4 */
} szg_top_plane_input_cuda;

/* Joins values first_value .. first_value + value_count - 1 of the frame to `values`. Reads tiles
 * with some of them whole; sets verdict->bad_data if the code lengths of a tile do not add up to
 * its size. If it is already set, writes nothing. */
szgpu_status szg_top_plane_merge_cuda(const szg_top_plane_input_cuda *input, uint64_t first_value,
                                      uint64_t value_count, void *values, szg_verdict *verdict,
                                      struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
