/* decompress_cuda.h - a decompression on the GPU: its memory, and one of its frames.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_DECOMPRESS_CUDA_H
#define SZG_DECOMPRESS_CUDA_H

#include "container/checksum.h"
#include "container/container.h"
#include "core/places.h"
#include "fused/tile_cuda.h"
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
  szg_places_cuda places;
  uint64_t *leaves;
  uint64_t *roots; /* [SZG_SECTION_KIND_COUNT] */
  uint64_t *bit_count;
  /* for linear frames */
  uint16_t *codes; /* [values of a frame] */
  szg_gap_decoder_cuda gap_decoder;
  szg_decode_book_cuda *book;
  /* for tile frames */
  szg_tile_decoder *tile_decoder;
  uint64_t *first_words; /* [tiles + 1] */
  uint32_t *counters;    /* [1] */
  void *scan_work;       /* szg_tile_scan_work_bytes_cuda */
} szg_decompress_plan_cuda;

/* A section of a frame, in device memory; bytes is NULL where the frame has none or it is
 * empty. */
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

/* Takes what a decompression of tile frames of this size may need, copies of that many bytes
 * included. */
szgpu_status szg_decompress_reserve_cuda(szgpu_ctx *ctx, const szg_grid *frame_grid,
                                         uint64_t frame_count, size_t value_bytes,
                                         uint64_t field_copy, uint64_t archive_copy) SZG_CHECKED;

/* A frame at work: what its kinds share. */
typedef struct szg_frame_work_cuda {
  szg_device *device;
  const szg_header *header;
  const szg_decompress_plan_cuda *plan;
  const szg_frame_input_cuda *frame;
  szg_tile_counts counts; /* as the frame's sections have them */
  szg_quantizer quantizer;
  uint64_t first_tile, end_tile;     /* those that hold the rows wanted */
  uint64_t first_value, value_count; /* of the frame: those wanted */
  unsigned width;
} szg_frame_work_cuda;

/* A tile frame's values, but for exact and fill values, whose places are then known
 * (decompress_tile_frame.cu). */
szgpu_status szg_tile_frame_restore_cuda(const szg_frame_work_cuda *work) SZG_CHECKED;

SZG_C_END

#endif
