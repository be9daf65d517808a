/* frame.h - what every file of this folder knows: the units of work, and what a frame is part of.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FRAME_H
#define SZG_FRAME_H

#include <stdbool.h>

#include "container/container.h"
#include "core/tiles.h"
#include "quant/quant_core.h"
#include "values/mapping.h"

SZG_C_BEGIN

/* Tiles that a CPU worker takes at once: 64 Ki codes, which fit a second-level cache. */
enum { SZG_PART_TILES = 16 };

/* Masks of a frame (run_masks.h): which values are negative, and which hold a further fill value,
 * by its number. */
enum { SZG_RUN_MASK_SIGNS = 0, SZG_RUN_MASKS = 1 + SZG_MOST_MORE_FILLS };

/* What frames keep in a ctx (core/context.h), after SZG_KEPT_PARTS. */
enum {
  SZG_KEPT_PART_STARTS = SZG_KEPT_PARTS, /* where a frame's parts begin in its sections */
  SZG_KEPT_KIND,                         /* of its kind: codes; grids and more */
  SZG_KEPT_RAW_PLANES,                   /* of values that may be stored raw */
  SZG_KEPT_RUN_MASKS,
  SZG_KEPT_VALUES = SZG_KEPT_RUN_MASKS + SZG_RUN_MASKS /* frames/mapped.h */
};

/* One frame being written or read, and what that works on (write.h, read.h, write_cuda.h,
 * read_cuda.h). */
typedef struct szg_write_job szg_write_job;
typedef struct szg_write_plan szg_write_plan;
typedef struct szg_read_job szg_read_job;
typedef struct szg_read_plan szg_read_plan;
typedef struct szg_write_job_cuda szg_write_job_cuda;
typedef struct szg_write_plan_cuda szg_write_plan_cuda;
typedef struct szg_frame_layout_cuda szg_frame_layout_cuda;
typedef struct szg_read_job_cuda szg_read_job_cuda;
typedef struct szg_read_plan_cuda szg_read_plan_cuda;
typedef struct szg_read_sizes_cuda szg_read_sizes_cuda;
typedef struct szg_read_frame_cuda szg_read_frame_cuda;
typedef struct szg_frame_rows_cuda szg_frame_rows_cuda;

/* What the memory of a compression follows from. */
typedef struct szg_write_request {
  szgpu_layout layout;
  szgpu_predictor predictor;
  bool is_lossless;
  bool raw_outliers;   /* as in szgpu_params */
  bool may_edit;       /* values may be missing in more ways than by one fill value (missing.h) */
  szg_mapping mapping; /* from the field's values to those that are coded */
  szgpu_dtype dtype;   /* of the values that are coded: the mapping's inner type */
  szg_grid frame_grid; /* of the largest frame */
  uint64_t frame_count;
  bool is_compacted; /* the whole archive will be, even if this is one frame of it (compact.h) */
  int thread_count;  /* of the CPU */
} szg_write_request;

/* What the memory of a decompression follows from. */
typedef struct szg_read_request {
  const szg_header *header;
  int thread_count; /* of the CPU */
} szg_read_request;

/* A frame's header and what it must agree with. */
typedef struct szg_frame_facts {
  const szg_header *archive;
  const szg_frame_header *frame;
  szg_grid grid;              /* of the frame */
  uint64_t value_bytes;       /* of one value as it is coded */
  uint64_t field_value_bytes; /* of one value of the field */
} szg_frame_facts;

/* CPU: where a part's, or a tile's, share of each section begins. */
typedef struct szg_part_start {
  uint64_t stream; /* in bits, or in words */
  uint64_t escape, exact_mask, exact_value, fill_mask;
} szg_part_start;

/* Bits of the lattice points of a tile frame, and of its deltas. */
static inline uint32_t szg_tile_lattice_bits(uint32_t arithmetic, bool has_16_bits) {
  return has_16_bits ? 16 : szg_lattice_bits(arithmetic);
}

SZG_C_END

#endif
