/* frame.h - frames of kind "linear": deltas as one stream of codes, with escapes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LINEAR_H
#define SZG_LINEAR_H

#include "codecs/kind.h"
#include "codecs/outliers.h"
#include "codecs/stream.h"
#include "predict/axes.h"

SZG_C_BEGIN

SZG_DECLARE_KIND(linear);

/* Bytes of the sections' contents before zstd. */
typedef struct szg_linear_sizes {
  szg_stream_sizes stream;
  uint64_t escape_counts, escapes;
  unsigned escape_bytes; /* of one escape */
  szg_outlier_sizes outliers;
} szg_linear_sizes;

/* Sets what follows from the number of escapes and the extremes of their deltas. */
void szg_linear_sizes_set_escapes(szg_linear_sizes *sizes, uint64_t tile_count,
                                  uint64_t escape_count, int64_t least, int64_t greatest);
uint64_t szg_linear_sizes_sum(const szg_linear_sizes *sizes);

/* ---- CPU: writing (write.c) ---- */

/* The escapes of one worker's tiles. */
typedef struct szg_linear_worker {
  int64_t escapes[SZG_TILE_VALUES];
  int64_t least_escape, greatest_escape; /* of all the worker's tiles */
} szg_linear_worker;

/* Memory of linear frames in addition to their streams and outliers. */
typedef struct szg_linear_write_plan {
  szg_choice_work *choice_work;
  szg_linear_worker *workers; /* [threads] */
} szg_linear_write_plan;

/* ---- CUDA: writing (write.cu) ---- */

/* What the host needs to know to lay out a frame's sections; one copy brings all of it. */
typedef struct szg_linear_found {
  szg_choice choice;
  int64_t escape_extremes[2];
  uint64_t counts[SZG_MAX_SYMBOLS]; /* of the frame's codes */
} szg_linear_found;

typedef struct szg_linear_write_plan_cuda {
  szg_linear_found *found;      /* device */
  szg_linear_found *found_back; /* pinned */
  uint16_t *escape_counts;      /* device: [tiles] */
} szg_linear_write_plan_cuda;

SZG_C_END

#endif
