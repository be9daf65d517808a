/* compress_cuda.h - a compression on the GPU: its memory, and what its frames share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_COMPRESS_CUDA_H
#define SZG_COMPRESS_CUDA_H

#include "container/checksum.h"
#include "core/places.h"
#include "huffman/huffman.h"
#include "outlier/outlier.h"
#include "pipeline/cuda.h"
#include "pipeline/frame_sections.h"
#include "predict/axes.h"
#include "predict/lorenzo.h"

SZG_C_BEGIN

/* What the host wants to know of a frame to lay out its sections: one copy brings all. */
typedef struct szg_frame_found {
  szg_choice choice;
  int64_t escape_extremes[2];
  szg_tile_place totals;
  uint64_t counts[SZG_MAX_SYMBOLS]; /* of the frame's codes */
} szg_frame_found;

enum { SZG_MOST_FRAME_HEADER_BYTES = 48 + 32 * SZG_SECTION_KIND_COUNT };

/* Everything besides field and archive. */
typedef struct szg_compress_plan_cuda {
  /* device */
  uint8_t *field_copy;   /* where the field is in host memory */
  uint8_t *archive_copy; /* where the archive is to be in host memory */
  uint8_t *range_work;
  uint16_t *codes;         /* [values of a frame] */
  uint16_t *escape_counts; /* [tiles] */
  uint16_t *exact_counts;  /* [2 tiles] */
  uint16_t *fill_counts;   /* [tiles] */
  uint8_t *tile_marks;     /* [tiles] */
  szg_frame_found *found;
  void *choice_work;
  szg_places_cuda places;
  szg_linear_encoder_cuda encoder;
  uint64_t *leaves; /* of the checksums of a frame */
  uint64_t *roots;  /* [SZG_SECTION_KIND_COUNT] */
  /* pinned */
  uint8_t *range_back;
  szg_frame_found *found_back;
  uint32_t *table;        /* [SZG_MAX_SYMBOLS] */
  uint8_t *book_bytes;    /* [SZG_CODEBOOK_MAX_BYTES] */
  uint8_t *frame_headers; /* [frames][SZG_MOST_FRAME_HEADER_BYTES] */
  uint8_t *header;
  uint64_t *frame_bytes; /* [frames] */
  szg_codebook *book;
  szg_codebook_work *book_work;
} szg_compress_plan_cuda;

/* One frame at work. */
typedef struct szg_frame_job_cuda {
  szgpu_ctx *ctx;
  szgpu_dtype dtype;
  const szg_bound_plan *bound;
  szg_grid grid; /* of the frame */
  const void *values;
  uint64_t index;
  uint32_t asked_radius;
  const szg_compress_plan_cuda *plan;
  uint8_t *archive; /* all of it */
  uint64_t capacity;
  uint64_t first_byte; /* of the frame in the archive */
} szg_frame_job_cuda;

/* Writes the frame and gives its size. SZGPU_CAPACITY: it does not fit; none of it is written. */
szgpu_status szg_compress_frame_cuda(szg_frame_job_cuda *job, uint64_t *frame_bytes) SZG_CHECKED;

SZG_C_END

#endif
