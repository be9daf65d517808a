/* frame.h - what every file of this folder uses: units of work, requests, a frame's facts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FRAME_H
#define SZG_FRAME_H

#include <stdbool.h>

#include "container/container.h"
#include "core/tiles.h"

SZG_C_BEGIN

/* Tiles that a CPU worker takes at once: 64 Ki codes, which fit a second-level cache. */
enum { SZG_PART_TILES = 16 };

/* One frame being written or read, and its memory (write.h, read.h, write_cuda.h, read_cuda.h). */
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

/* What decides how much memory a compression takes. */
typedef struct szg_write_request {
  szgpu_layout layout;
  bool is_lossless;
  szgpu_dtype dtype;
  szg_grid frame_grid; /* of the largest frame */
  uint64_t frame_count;
  int thread_count; /* of the CPU */
} szg_write_request;

/* What decides how much memory a decompression takes. */
typedef struct szg_read_request {
  const szg_header *header;
  int thread_count; /* of the CPU */
} szg_read_request;

/* A frame's header and what it must agree with. */
typedef struct szg_frame_facts {
  const szg_header *archive;
  const szg_frame_header *frame;
  szg_grid grid;        /* of the frame */
  uint64_t value_bytes; /* of one value of the field */
} szg_frame_facts;

/* CPU: where the share of a part or a tile begins in each section. */
typedef struct szg_part_start {
  uint64_t stream; /* in bits, or in words */
  uint64_t escape, exact_mask, exact_value, fill_mask;
} szg_part_start;

/* Bits of a tile frame's lattice points and deltas. */
static inline uint32_t szg_lattice_bits(uint32_t arithmetic, bool has_16_bits) {
  return has_16_bits ? 16 : arithmetic == SZG_ARITHMETIC_F64_WIDE ? 64 : 32;
}

SZG_C_END

#endif
