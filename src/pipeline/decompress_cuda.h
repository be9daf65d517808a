/* decompress_cuda.h - a decompression on the GPU: its memory, and one of its frames.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_DECOMPRESS_CUDA_H
#define SZG_DECOMPRESS_CUDA_H

#include "container/checksum.h"
#include "core/places.h"
#include "huffman/huffman.h"
#include "outlier/outlier.h"
#include "pipeline/cuda.h"
#include "predict/lorenzo.h"

SZG_C_BEGIN

/* What the frames of a call work on, one after the other. */
typedef struct szg_decompress_plan_cuda {
  uint8_t *archive_copy; /* of the frames wanted, where the archive is in host memory */
  uint8_t *field_copy;   /* of the values wanted, where the field is to be in host memory */
  szg_verdict *verdicts; /* [frames of the call] */
  uint16_t *codes;       /* [values of a frame] */
  szg_places_cuda places;
  szg_gap_decoder_cuda gap_decoder;
  szg_decode_book_cuda *book;
  uint64_t *bit_count;
  uint64_t *leaves;
  uint64_t *roots; /* [SZG_SECTION_KIND_COUNT] */
} szg_decompress_plan_cuda;

/* A section of a frame, in device memory; bytes is NULL where the frame has none. */
typedef struct szg_device_section {
  const uint8_t *bytes;
  uint64_t byte_count;
} szg_device_section;

/* One frame of a call. */
typedef struct szg_frame_input_cuda {
  szg_frame_header header;
  szg_device_section sections[SZG_SECTION_KIND_COUNT];
  szg_grid grid;
  uint64_t first_row, end_row; /* of the frame: those wanted */
  void *values;                /* where row first_row goes, on the device */
  szg_verdict *verdict;
} szg_frame_input_cuda;

/* Checks what the section table says, before any memory is taken by it. header and grid are set.
 * SZGPU_BAD_DATA: sections that are missing or too many, or of a size that cannot be. */
szgpu_status szg_frame_check_cuda(szgpu_ctx *ctx, const szg_header *header,
                                  const szg_frame_input_cuda *frame) SZG_CHECKED;

/* Finds the sections of a frame that begins at `bytes`. */
void szg_frame_place_cuda(szg_frame_input_cuda *frame, const uint8_t *bytes);

/* Puts all that restores the frame's rows in the stream. */
szgpu_status szg_decompress_frame_cuda(szgpu_ctx *ctx, const szg_header *header,
                                       const szg_decompress_plan_cuda *plan,
                                       const szg_frame_input_cuda *frame) SZG_CHECKED;

SZG_C_END

#endif
