/* decompress_cuda.h - a decompression on the GPU: its memory, and one of its frames.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_DECOMPRESS_CUDA_H
#define SZG_DECOMPRESS_CUDA_H

#include "container/checksum.h"
#include "container/container.h"
#include "core/places.h"
#include "fused/tile_cuda.h"
#include "huffman/decoders/decoders.h"
#include "lossless/planes.h"
#include "outlier/outlier.h"
#include "pipeline/cuda.h"
#include "pipeline/top_plane.h"
#include "predict/lorenzo.h"

SZG_C_BEGIN

/* What the frames of a call work on, one after the other. */
typedef struct szg_decompress_plan_cuda {
  uint8_t *archive_copy;      /* of the frames wanted, where the archive is in host memory */
  uint8_t *field_copy;        /* of the values wanted, where the field is to be in host memory */
  szg_verdict *verdicts;      /* [frames of the call] */
  szg_verdict *verdicts_back; /* likewise, pinned */
  szg_places_cuda places;
  uint64_t *leaves;
  uint64_t *bit_count;
  /* for linear frames */
  const szg_decoder_cuda *decoder;
  szg_decoder_memory decoder_memory;
  uint32_t code_bytes;
  void *codes; /* [values of a frame], of code_bytes each */
  szg_decode_book_cuda *book;
  /* for tile frames */
  szg_tile_decoder *tile_decoder;
  uint64_t *first_words; /* [tiles + 1] */
  uint32_t *counters;    /* [1] */
  /* for frames without loss */
  szg_planes_input_cuda planes;
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
  szg_grid code_grid;          /* of its codes: without loss a line, else grid */
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

/* Takes what a decompression of tile frames of this size may need, copies of that many bytes
 * included. */
szgpu_status szg_decompress_reserve_cuda(szgpu_ctx *ctx, const szg_grid *frame_grid,
                                         uint64_t frame_count, size_t value_bytes,
                                         uint64_t field_copy, uint64_t archive_copy) SZG_CHECKED;

/* ---- a call's frames (restore_frames.cu) ---- */

typedef struct szg_decompress_call_cuda {
  szgpu_ctx *ctx;
  const uint8_t *archive;
  bool is_device_archive;
  const szg_opened *opened;
  uint64_t first_row, row_count;
  uint64_t first_frame, end_frame; /* those that hold the rows */
  uint64_t first_byte, end_byte;   /* of these frames in the archive */
  szg_frame_input_cuda *frames;    /* [end_frame - first_frame] */
  uint64_t row_bytes;
} szg_decompress_call_cuda;

static inline uint64_t szg_call_frames(const szg_decompress_call_cuda *call) {
  return call->end_frame - call->first_frame;
}

/* The rows of the call into `field`; is_device_field: it is on the device. Waits for the end. */
szgpu_status szg_restore_frames_cuda(const szg_decompress_call_cuda *call,
                                     const szg_decompress_plan_cuda *plan, void *field,
                                     bool is_device_field) SZG_CHECKED;

/* ---- a frame at work (decompress_frame.cu) ---- */

/* What its kinds share. */
typedef struct szg_frame_work_cuda {
  szg_device *device;
  const szg_header *header;
  const szg_decompress_plan_cuda *plan;
  const szg_frame_input_cuda *frame;
  szg_tile_counts counts; /* as the frame's sections have them */
  szg_quantizer quantizer;
  unsigned width;
} szg_frame_work_cuda;

/* Rows of a frame that are restored together. */
typedef struct szg_frame_rows_cuda {
  uint64_t first_row, end_row; /* of the frame */
  void *values;                /* where row first_row goes */
} szg_frame_rows_cuda;

/* The four steps of a frame: each puts kernels in the stream. First what the codebook says. */
szgpu_status szg_frame_open_cuda(szgpu_ctx *ctx, const szg_header *header,
                                 const szg_decompress_plan_cuda *plan,
                                 const szg_frame_input_cuda *frame,
                                 szg_frame_work_cuda *work) SZG_CHECKED;

/* Checksums, in SZG_SIDE_CHECKS: nothing waits for them but the verdict. All of the frame is on the
 * device since the fork. */
szgpu_status szg_frame_verify_cuda(const szg_frame_work_cuda *work) SZG_CHECKED;

/* What all rows need: where tiles lie in the sections; of a linear frame, codes. Of a tile frame
 * the bitstream need not be there yet. Waits for the stream if the frame's decoder does. */
szgpu_status szg_frame_prepare_cuda(const szg_frame_work_cuda *work) SZG_CHECKED;

/* Rows to values, as often as need be. */
szgpu_status szg_frame_restore_cuda(const szg_frame_work_cuda *work,
                                    const szg_frame_rows_cuda *rows) SZG_CHECKED;

/* Rows of a lossless linear frame, from its codes (decompress_top_plane.cu). */
szgpu_status szg_top_plane_restore_cuda(const szg_frame_work_cuda *work,
                                        const szg_frame_rows_cuda *rows) SZG_CHECKED;

/* The same of a planes frame (decompress_planes_frame.cu). */
szgpu_status szg_planes_frame_open_cuda(const szg_frame_work_cuda *work) SZG_CHECKED;
szgpu_status szg_planes_frame_restore_cuda(const szg_frame_work_cuda *work,
                                           const szg_frame_rows_cuda *rows) SZG_CHECKED;

/* The same of a tile frame, but for exact and fill values (decompress_tile_frame.cu). */
szgpu_status szg_tile_frame_open_cuda(const szg_frame_work_cuda *work) SZG_CHECKED;
szgpu_status szg_tile_frame_prepare_cuda(const szg_frame_work_cuda *work) SZG_CHECKED;
szgpu_status szg_tile_frame_restore_cuda(const szg_frame_work_cuda *work,
                                         const szg_frame_rows_cuda *rows) SZG_CHECKED;

SZG_C_END

#endif
