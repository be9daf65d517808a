/* write_cuda.h - one frame being compressed on the GPU; the twin of write.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_WRITE_CUDA_H
#define SZG_WRITE_CUDA_H

#include "codecs/interpolation/frame.h"
#include "codecs/linear/frame.h"
#include "codecs/lorenzo/frame.h"
#include "codecs/outliers.h"
#include "codecs/planes/frame.h"
#include "codecs/planes/top_plane_frame.h"
#include "codecs/stream.h"
#include "container/checksum.h"
#include "core/arena.h"
#include "core/bytes.h"
#include "core/context.h"
#include "core/device.h"
#include "quant/bound.h"

SZG_C_BEGIN

enum { SZG_MOST_FRAME_HEADER_BYTES = 48 + 32 * SZG_SECTION_KIND_COUNT };

/* Memory for writing a mask (run_masks.h), on the device; NULL: the request has no such mask. */
typedef struct szg_run_mask_write_plan_cuda {
  uint16_t *sizes; /* [runs]: bytes of the shares */
  uint8_t *slots;  /* [runs]: the shares, each in SZG_SIGN_RUN / 8 bytes. First a bit for each value
                      of the frame, as they are found: values and slots have the same order */
} szg_run_mask_write_plan_cuda;
typedef struct szg_run_masks_write_plan_cuda {
  szg_run_mask_write_plan_cuda of[SZG_RUN_MASKS];
} szg_run_masks_write_plan_cuda;

/* Memory for writing frames, except the field and the archive. Pointers point to device memory
 * unless marked as pinned. */
struct szg_write_plan_cuda {
  uint8_t *zeroed; /* one piece that must be zero when work on a frame begins */
  uint64_t zeroed_bytes;
  uint8_t *range_work; /* for the range pass, before any frame */
  uint32_t *ticket;    /* for the blocks that make checksums */
  void *choice_work;   /* frames with a bound: for the choice of axes */
  uint64_t *leaves;    /* of a frame's checksums */
  /* With a mapping: a frame's values as they are coded. If the bound has_inner_values, the search
   * for it has left those of the field's only frame here, and their signs in the slots. */
  void *inner_values;
  void *unedited_values; /* with a mapping and an edit: the same before it */
  szg_outlier_write_plan_cuda outliers;
  szg_run_masks_write_plan_cuda masks;
  szg_stream_write_plan_cuda stream;
  szg_linear_write_plan_cuda linear;
  szg_levels_write_plan_cuda levels;
  szg_tile_write_plan_cuda tile;
  szg_planes_write_plan_cuda planes;
  szg_top_plane_write_plan_cuda top_plane;
};

/* Where logarithms leave the signs of a frame's values; NULL: the request needs none. */
static inline uint32_t *szg_sign_words_cuda(const szg_write_plan_cuda *plan) {
  return (uint32_t *)(void *)plan->masks.of[SZG_RUN_MASK_SIGNS].slots;
}

/* One frame being written. */
struct szg_write_job_cuda {
  szgpu_ctx *ctx;
  const szg_write_request *request;
  uint32_t asked_radius;       /* 0: the frame chooses */
  bool has_gaps;               /* linear layout: gap arrays are written */
  const szg_bound_plan *bound; /* NULL: the frame is lossless */
  szg_quantizer quantizer;     /* the bound's, or one for the 16-bit lattice */
  /* While a levels frame is written: what it codes; NULL: the quantizer and the bound say that. */
  const szg_levels_lattice *lattice;
  szg_grid grid;            /* of the frame */
  const void *field_values; /* in the field's type: frames that keep all bits take these */
  uint64_t index;
  const szg_write_plan_cuda *plan;
  uint8_t *archive; /* the whole archive */
  uint64_t capacity;
  uint64_t first_byte; /* of the frame in the archive */
  /* If the archive has one frame: its header except sizes, which a kind may complete on the
   * device. */
  const szg_header *archive_header;
  bool is_archive_complete; /* header and all */
  bool has_strays;          /* set by kinds: see szg_bound_fails */
  /* set by szg_frame_write_cuda */
  uint64_t mask_bytes[SZG_RUN_MASKS]; /* as in write.h */
  uint32_t more_sections;             /* that follow those of the kind of frame: masks */
  const void *values;                 /* as they are coded */
  const void *exact_values;           /* as in write.h */
  uint64_t raw_bytes;                 /* of the field's values */
};

/* ---- a frame's sections (layout.cu) ---- */

/* The layout of a frame's sections. */
struct szg_frame_layout_cuda {
  szg_frame_header header;
  szg_checksum_ranges ranges; /* the sections with their padding */
  uint64_t held_bytes[SZG_SECTION_KIND_COUNT];
  uint8_t *at[SZG_SECTION_KIND_COUNT]; /* by kind; NULL: the frame has none, or an empty one */
  bool is_padded;                      /* nonempty sections already have their padding */
  szg_summed_leaves summed;            /* leaves of a section whose sums are there */
  uint64_t frame_bytes;
};

/* Appends a section to the table, in ascending order of kinds. */
static inline void szg_layout_add_cuda(szg_frame_layout_cuda *layout, uint32_t kind,
                                       uint64_t raw_bytes) {
  szg_section *const section = &layout->header.sections[layout->header.section_count++];
  section->kind = kind;
  section->codec = SZG_CODEC_STORED;
  section->raw_bytes = section->stored_bytes = raw_bytes;
}

/* Gives every section its place. SZGPU_CAPACITY: the frame does not fit. */
szgpu_status szg_layout_place_cuda(const szg_write_job_cuda *job,
                                   szg_frame_layout_cuda *layout) SZG_CHECKED;

/* Writes padding, checksums and header, which end a frame of any kind. */
szgpu_status szg_layout_finish_cuda(const szg_write_job_cuda *job,
                                    const szg_frame_layout_cuda *layout) SZG_CHECKED;

SZG_C_END

#endif
