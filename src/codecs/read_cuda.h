/* read_cuda.h - one frame being decompressed on the GPU; the twin of read.h.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The host sees the frame's header and nothing else. The device checks what depends on the contents
 * and notes faults in the frame's verdict.
 */
#ifndef SZG_READ_CUDA_H
#define SZG_READ_CUDA_H

#include "codecs/interpolation/frame.h"
#include "codecs/lorenzo/frame.h"
#include "codecs/planes/frame.h"
#include "codecs/region_cuda.h"
#include "codecs/stream.h"
#include "container/checksum.h"
#include "core/arena.h"
#include "core/bytes.h"
#include "core/context.h"
#include "core/device.h"
#include "core/places.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* The most that one frame of a call needs; 0 if no frame needs any. Each kind states what its
 * frames need, and all memory is carved by these sizes. */
struct szg_read_sizes_cuda {
  const szg_header *header;
  szgpu_decoder decoder; /* as asked for */
  uint64_t leaves;       /* of a frame's checksums */
  uint64_t placed_tiles; /* of a frame with outliers or codes to place */
  szg_stream_read_sizes_cuda stream;
  szg_planes_read_sizes_cuda planes;
  uint64_t tile_frame_tiles;
  uint64_t levels_bytes;               /* of a levels frame */
  uint64_t inner_values;               /* of a frame whose values are narrowed */
  uint64_t mask_runs[SZG_RUN_MASKS];   /* of a frame with such a mask */
  uint64_t region_bytes, region_tiles; /* of the box around a frame's region; listed tiles */
  uint32_t reserved_kinds; /* bits by SZG_KIND_*: taken although `header` may not have them */
};

/* Memory that frames use one after the other. */
struct szg_read_plan_cuda {
  szg_places_cuda places;
  szg_places_cuda mask_places[SZG_RUN_MASKS]; /* of the shares of the frame's masks */
  uint64_t *leaves;
  uint64_t *bit_count; /* of the frame's stream */
  szg_stream_read_plan_cuda stream;
  szg_tile_read_plan_cuda tile;
  szg_planes_input_cuda planes;
  szg_levels_read_plan_cuda levels;
  void *inner_values; /* of rows that are then narrowed */
  szg_region_plan_cuda region;
};

/* A section of a frame, in device memory; bytes is NULL if the frame has none or it is empty. */
typedef struct szg_device_section {
  const uint8_t *bytes;
  uint64_t byte_count;
} szg_device_section;

/* One frame of a call. */
struct szg_read_frame_cuda {
  szg_frame_header header;
  uint32_t kind; /* SZG_KIND_* */
  szg_device_section sections[SZG_SECTION_KIND_COUNT];
  szg_grid grid;
  uint64_t first_row, end_row; /* the wanted rows of the frame */
  void *values;                /* where row first_row goes, on the device */
  bool has_region;             /* only this part of the rows is wanted: */
  szg_region region;           /* of level 0 */
  szg_box box;                 /* what is restored for it */
  uint64_t region_tiles;       /* of the box: the most that are listed at once */
  bool goes_by_rows;           /* the box is whole rows, restored like all rows */
  szg_verdict *verdict;
};

/* Rows of a frame that are restored together. */
struct szg_frame_rows_cuda {
  uint64_t first_row, end_row;       /* of the frame */
  uint64_t first_value, value_count; /* the same in values */
  void *values;                      /* where row first_row goes */
  bool is_narrow;                    /* they go there in the field's type, not as they are coded */
};

/* One frame being read. */
struct szg_read_job_cuda {
  szg_device *device;
  const szg_header *header;
  const szg_read_plan_cuda *plan;
  const szg_read_frame_cuda *frame;
  szg_tile_counts counts; /* from the frame's sections */
  szg_quantizer quantizer;
  szg_mapping mapping;  /* from the field's values to those that are coded */
  unsigned width;       /* bytes of a value as it is coded */
  unsigned field_width; /* bytes of a value of the field */
};

/* Raises *most to `size` if that is more. */
static inline void szg_at_least(uint64_t *most, uint64_t size) {
  if (size > *most) *most = size;
}

/* A section of u16. */
static inline const uint16_t *szg_counts_of_cuda(const szg_read_frame_cuda *frame, uint32_t kind) {
  return (const uint16_t *)(const void *)frame->sections[kind].bytes;
}

/* ---- frames that are restored tile by tile (read.cu) ---- */

/* Finds where every tile's shares begin, and checks that they use up their sections exactly. grid:
 * the tiles. has_stream: the tile sizes are bits of a stream. */
szgpu_status szg_tiles_place_cuda(const szg_read_job_cuda *job, const szg_grid *grid,
                                  bool has_stream) SZG_CHECKED;

/* The box of a frame's region as a frame of its own, of one row, with its tiles alone. */
typedef struct szg_read_box_cuda {
  szg_read_job_cuda job; /* of the two below */
  szg_read_frame_cuda frame;
  szg_read_plan_cuda plan;
} szg_read_box_cuda;

/* Takes the lists of the box's tiles from those of the frame's, which must be in the stream, and
 * lists the box's tiles that have outliers. */
szgpu_status szg_read_box_open_cuda(const szg_read_job_cuda *whole,
                                    szg_read_box_cuda *box) SZG_CHECKED;

SZG_C_END

#endif
