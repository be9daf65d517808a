/* decompress_cuda.h - a decompression on the GPU: its memory, and its frames.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_DECOMPRESS_CUDA_H
#define SZG_DECOMPRESS_CUDA_H

#include "codecs/read_cuda.h"
#include "container/open.h"

SZG_C_BEGIN

/* A call's memory. */
typedef struct szg_decompress_plan_cuda {
  szg_read_plan_cuda frames;
  uint8_t *archive_copy;      /* the wanted frames, if the archive is in host memory */
  uint8_t *field_copy;        /* the wanted values, if the field goes to host memory */
  szg_verdict *verdicts;      /* [frames of the call] */
  szg_verdict *verdicts_back; /* the same, pinned */
} szg_decompress_plan_cuda;

typedef struct szg_decompress_call_cuda {
  szgpu_ctx *ctx;
  const uint8_t *archive;
  bool is_device_archive;
  const szg_opened *opened;
  uint64_t first_row, row_count;
  const szg_box *box; /* of the field, in these rows: only that is wanted; NULL: all of them */
  uint64_t first_frame, end_frame; /* the frames that hold the rows */
  uint64_t first_byte, end_byte;   /* these frames in the archive */
  szg_read_frame_cuda *frames;     /* [end_frame - first_frame] */
  uint64_t row_bytes;
} szg_decompress_call_cuda;

static inline uint64_t szg_call_frames(const szg_decompress_call_cuda *call) {
  return call->end_frame - call->first_frame;
}

/* Bytes of all wanted values. */
static inline uint64_t szg_call_wanted_bytes(const szg_decompress_call_cuda *call) {
  if (!call->box) return call->row_count * call->row_bytes;
  return szg_box_value_count(call->box) * szg_dtype_bytes(call->opened->header.shape.dtype);
}

/* Restores the call's rows, or its box, into `field` and waits until they are there
 * (restore_frames.cu). is_device_field: it is in device memory. */
szgpu_status szg_restore_frames_cuda(const szg_decompress_call_cuda *call,
                                     const szg_decompress_plan_cuda *plan, void *field,
                                     bool is_device_field) SZG_CHECKED;

/* Allocates what decompressing frames of these sizes takes, including copies of these many
 * bytes. */
szgpu_status szg_decompress_reserve_cuda(szgpu_ctx *ctx, const szg_read_sizes_cuda *sizes,
                                         uint64_t frame_count, uint64_t field_copy,
                                         uint64_t archive_copy) SZG_CHECKED;

SZG_C_END

#endif
