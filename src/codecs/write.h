/* write.h - one frame being compressed on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_WRITE_H
#define SZG_WRITE_H

#include "codecs/interpolation/frame.h"
#include "codecs/linear/frame.h"
#include "codecs/lorenzo/frame.h"
#include "codecs/outliers.h"
#include "codecs/planes/frame.h"
#include "codecs/stream.h"
#include "container/writer.h"
#include "core/arena.h"
#include "core/bytes.h"
#include "core/context.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* Memory for writing frames, except the field and the archive. Each kind, and each piece that kinds
 * share, has its own part; a compression carves those that it may use. */
struct szg_write_plan {
  szg_outlier_write_plan outliers; /* frames with a bound */
  szg_stream_write_plan stream;    /* frames of the linear layout */
  szg_linear_write_plan linear;
  szg_tile_write_plan tile;
  szg_planes_write_plan planes;
};

/* One frame being written; the parts of its loops share it. */
struct szg_write_job {
  szgpu_ctx *ctx;
  const szg_write_request *request;
  uint32_t asked_radius;       /* 0: the frame chooses */
  bool has_gaps;               /* linear layout: gap arrays are written */
  const szg_bound_plan *bound; /* NULL: the frame is lossless */
  szg_grid grid;               /* of the frame */
  szg_mapping mapping;         /* the request's, and the field's fill value */
  const void *field_values;    /* in the field's type: frames that keep all bits take these */
  szg_write_plan *plan;
  /* set by szg_frame_write */
  const void *values;       /* as they are coded (mapped.h) */
  const void *exact_values; /* the same, with all bits of those that are kept exactly */
  /* Of the sections of each mask that follow those of kinds that code values (run_masks.h); 0: it
   * has none. */
  uint64_t mask_bytes[SZG_RUN_MASKS];
  uint64_t raw_bytes; /* of the field's values; for kinds that code values less the mask_bytes */
  uint64_t part_count;
  uint64_t loop_values; /* what the loop over all values counts for in the progress report */
  uint64_t sure_bytes;  /* atomic: least bytes of the sections, by the parts done so far */
  /* Set by kinds: see szg_bound_fails. */
  bool has_strays;
  bool has_tile_basis; /* the frame was measured as a tile frame */
};

static inline uint64_t szg_part_end_tile(const szg_write_job *job, uint64_t part) {
  return szg_min_u64((part + 1) * SZG_PART_TILES, job->grid.tile_count);
}

/* If the sections outgrow the values themselves, the frame is given up whatever the rest holds, and
 * workers can stop. Only bytes that the sections will surely hold count, so stopping early changes
 * no result. */
static inline void szg_frame_add_sure_bytes(szg_write_job *job, uint64_t bytes) {
  __atomic_fetch_add(&job->sure_bytes, bytes, __ATOMIC_RELAXED);
}
static inline bool szg_frame_is_outgrown(szg_write_job *job) {
  return __atomic_load_n(&job->sure_bytes, __ATOMIC_RELAXED) > job->raw_bytes;
}

/* Writes a section of bytes that exist already, perhaps in their final place. */
szgpu_status szg_write_copy(szg_writer *writer, uint32_t kind, const void *contents,
                            uint64_t byte_count) SZG_CHECKED;

/* Writes a section of u16: count numbers of at most 16 bits, each returned by at(). */
typedef uint64_t (*szg_number_at)(const szg_write_job *job, uint64_t i);
szgpu_status szg_write_numbers(const szg_write_job *job, szg_writer *writer, uint32_t kind,
                               uint64_t count, szg_number_at at) SZG_CHECKED;

SZG_C_END

#endif
