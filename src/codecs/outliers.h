/* outliers.h - the exact values and the fill mask of a frame: sections that several kinds have.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every kind of frame with a bound keeps the values that cannot meet it and the places of the fill
 * value, tile by tile in code order.
 */
#ifndef SZG_FRAMES_OUTLIERS_H
#define SZG_FRAMES_OUTLIERS_H

#include "codecs/frame.h"
#include "container/reader.h"
#include "container/writer.h"
#include "core/arena.h"
#include "core/places.h"
#include "outlier/outlier.h"
#include "predict/lorenzo.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* ---- CPU: writing (outliers_write.c) ---- */

/* Memory for finding outliers. */
typedef struct szg_outlier_write_plan {
  szg_outlier_counts counts; /* [tiles] each */
  szg_outlier_lists *lists;  /* [parts] */
  szg_tile_work *tiles;      /* [threads]: the worker's current tile */
} szg_outlier_write_plan;
void szg_outliers_carve_write(szg_arena *arena, const szg_write_request *request,
                              szg_outlier_write_plan *plan);

/* Bytes of the sections' contents before zstd; 0: there is no such section. */
typedef struct szg_outlier_sizes {
  uint64_t exact_counts, exact_mask, exact_values;
  uint64_t fill_counts, fill_mask;
} szg_outlier_sizes;

static inline uint64_t szg_outlier_sizes_sum(const szg_outlier_sizes *sizes) {
  return sizes->exact_counts + sizes->exact_mask + sizes->exact_values + sizes->fill_counts +
         sizes->fill_mask;
}
/* Whether a frame of so many values of the coded type has strays (szg_bound_has_strays). */
static inline bool szg_outlier_sizes_stray(const szg_outlier_sizes *sizes,
                                           const szg_bound_plan *bound, szgpu_dtype dtype,
                                           uint64_t value_count) {
  return szg_bound_has_strays(bound, value_count, sizes->exact_values / szg_dtype_bytes(dtype));
}
static inline uint32_t szg_outlier_section_count(const szg_outlier_sizes *sizes) {
  return (sizes->exact_mask ? 3u : 0u) + (sizes->fill_mask ? 2u : 0u);
}

/* Empties the parts' lists, which may still hold an earlier frame's outliers, and frees their
 * memory. */
void szg_outliers_reset(szg_write_job *job);
void szg_outliers_release(szg_write_job *job);

/* Appends the tile's values that marks names (SZG_MARK_*, in code order; NULL: none). */
szgpu_status szg_outliers_add(const szg_write_job *job, uint64_t tile_index, const szg_tile *tile,
                              const uint8_t *marks) SZG_CHECKED;

/* Bytes of exact and fill values in a part's lists. */
uint64_t szg_outliers_part_bytes(const szg_write_job *job, uint64_t part);

/* Sizes from the parts' lists. */
szg_outlier_sizes szg_outliers_size(const szg_write_job *job);

/* Writes the sections that are not empty, or all five. */
szgpu_status szg_outliers_write(szg_write_job *job, szg_writer *writer,
                                const szg_outlier_sizes *sizes) SZG_CHECKED;
szgpu_status szg_outliers_write_all(szg_write_job *job, szg_writer *writer,
                                    const szg_outlier_sizes *sizes) SZG_CHECKED;

/* ---- CPU: reading (outliers_read.c) ---- */

/* The sections; those that the frame does not have are empty. */
typedef struct szg_outlier_sections {
  szg_loaded exact_counts, exact_mask, exact_values, fill_counts, fill_mask;
} szg_outlier_sections;

/* A tile's share of them, by the counts. */
typedef struct szg_outlier_share {
  uint32_t exact_mask_bytes, exact_count, fill_mask_bytes;
} szg_outlier_share;
szg_outlier_share szg_outlier_share_at(const szg_outlier_sections *sections, uint64_t tile_index);
bool szg_has_outliers(const szg_outlier_share *share);

/* Loads the sections into job->outliers. */
szgpu_status szg_outliers_load(szg_read_job *job) SZG_CHECKED;

/* Overwrites the tile's restored values, which are at `placed` in `values`, with its exact and fill
 * values. at: where its shares begin. */
szgpu_status szg_outliers_apply(const szg_read_job *job, uint64_t tile_index,
                                const szg_tile *placed, const szg_part_start *at,
                                void *values) SZG_CHECKED;

/* ---- CUDA: writing (outliers_write.cu) ---- */

/* Memory for finding outliers: device memory, except totals_back. */
typedef struct szg_outlier_write_plan_cuda {
  uint16_t *exact_counts; /* [2 tiles] */
  uint16_t *fill_counts;  /* [tiles] */
  uint8_t *tile_marks;    /* [tiles]: not 0 if a tile may have exact or fill values */
  szg_places_cuda places;
  szg_tile_place *totals_back; /* pinned: sums over all tiles */
} szg_outlier_write_plan_cuda;
szgpu_status szg_outliers_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                           szg_outlier_write_plan_cuda *plan) SZG_CHECKED;
void szg_outliers_carve_write_pinned(szg_arena *arena, szg_outlier_write_plan_cuda *plan);

/* Counts the exact and fill values of the tiles that tile_marks names, then finds where every
 * tile's shares begin; totals_back has their sums after the next wait. escape_counts: NULL, or
 * places escapes too. */
szgpu_status szg_outliers_measure_cuda(const szg_write_job_cuda *job,
                                       const uint16_t *escape_counts) SZG_CHECKED;

/* Sizes from totals_back. */
szg_outlier_sizes szg_outliers_size_cuda(const szg_write_job_cuda *job);

/* Appends the sections that are not empty, or all five. */
void szg_outliers_add_sections_cuda(szg_frame_layout_cuda *layout, const szg_outlier_sizes *sizes);
void szg_outliers_add_all_sections_cuda(szg_frame_layout_cuda *layout,
                                        const szg_outlier_sizes *sizes);

/* Writes the sections that have a place. The list must still name the measured tiles. */
szgpu_status szg_outliers_write_cuda(const szg_write_job_cuda *job,
                                     const szg_frame_layout_cuda *layout) SZG_CHECKED;

/* ---- CUDA: reading (outliers_read.cu) ---- */

/* Adds what placing the frame's outliers needs. */
void szg_outliers_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes);

/* Lists the tiles that have exact or fill values, once their shares are placed. */
szgpu_status szg_outliers_list_cuda(const szg_read_job_cuda *job) SZG_CHECKED;

/* Overwrites the rows' restored values with the exact and fill values of the listed tiles. */
szgpu_status szg_outliers_apply_cuda(const szg_read_job_cuda *job,
                                     const szg_frame_rows_cuda *rows) SZG_CHECKED;

SZG_C_END

#endif
