/* preview.c - which values of a frame a preview has, and those of them that are kept exactly.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/preview.h"

#include <string.h>

#include "frames/read.h"

/* Multiples of the step from `first` on, below `extent`. */
static uint64_t count_of(uint64_t first, uint64_t extent, uint64_t step) {
  return first < extent ? szg_div_up(extent - first, step) : 0;
}

szg_preview szg_preview_of_frame(const szg_grid *whole, const szg_grid *frame, uint64_t first_row,
                                 uint32_t level) {
  szg_preview preview = {.level = level, .step = (uint64_t)1 << level};
  uint64_t const first = (preview.step - first_row % preview.step) % preview.step;
  if (whole->batch_extent > 1) {
    /* rows are boxes, and the preview has all of them */
  } else if (whole->z_extent > 1) {
    preview.z_first = first;
  } else if (whole->y_extent > 1) {
    preview.y_first = first;
  } else {
    preview.x_first = first;
  }
  preview.batch_count = frame->batch_extent;
  preview.z_count = count_of(preview.z_first, frame->z_extent, preview.step);
  preview.y_count = count_of(preview.y_first, frame->y_extent, preview.step);
  preview.x_count = count_of(preview.x_first, frame->x_extent, preview.step);
  preview.value_count = preview.batch_count * preview.z_count * preview.y_count * preview.x_count;
  return preview;
}

/* ---- exact and fill values ---- */

/* Values first .. end - 1 of the preview along an axis: those that the tile has. */
typedef struct preview_range {
  uint64_t first, end;
} preview_range;

static preview_range range_of(uint64_t first_in_preview, uint64_t step, uint64_t first,
                              uint32_t extent) {
  return (preview_range){count_of(first_in_preview, first, step),
                         count_of(first_in_preview, first + extent, step)};
}

/* Where the tile begins in the frame. */
typedef struct tile_origin {
  uint64_t batch, z, y, x;
} tile_origin;

static tile_origin origin_of(const szg_grid *grid, const szg_tile *tile) {
  uint64_t const row = tile->first_value / grid->x_extent;
  return (tile_origin){.x = tile->first_value % grid->x_extent,
                       .y = row % grid->y_extent,
                       .z = row / grid->y_extent % grid->z_extent,
                       .batch = row / grid->y_extent / grid->z_extent};
}

/* Copies the values that preview and tile share, from the preview to `values`, which has the tile's
 * alone, or back. */
static void copy_shared(const szg_read_job *job, const szg_tile *tile, bool is_back,
                        uint8_t *values) {
  const szg_preview *const p = job->preview;
  size_t const width = szg_dtype_bytes(job->header->shape.dtype);
  tile_origin const at = origin_of(&job->grid, tile);
  preview_range const xs = range_of(p->x_first, p->step, at.x, tile->x_extent);
  preview_range const ys = range_of(p->y_first, p->step, at.y, tile->y_extent);
  preview_range const zs = range_of(p->z_first, p->step, at.z, tile->z_extent);
  for (uint64_t z = zs.first; z < zs.end; z++)
    for (uint64_t y = ys.first; y < ys.end; y++) {
      uint64_t const row = (at.batch * p->z_count + z) * p->y_count + y;
      uint64_t const z_in_tile = p->z_first + z * p->step - at.z;
      uint64_t const y_in_tile = p->y_first + y * p->step - at.y;
      uint8_t *const tile_row =
          values + (z_in_tile * tile->y_extent + y_in_tile) * tile->x_extent * width;
      for (uint64_t x = xs.first; x < xs.end; x++) {
        uint8_t *const shown = p->values + (row * p->x_count + x) * width;
        uint8_t *const here = tile_row + (p->x_first + x * p->step - at.x) * width;
        memcpy(is_back ? shown : here, is_back ? here : shown, width);
      }
    }
}

static szgpu_status apply_to_tile(const szg_read_job *job, uint64_t tile_index,
                                  const szg_tile *tile, const szg_part_start *at, int worker) {
  szg_outlier_share const share = szg_outlier_share_at(&job->outliers, tile_index);
  uint8_t *const values = (uint8_t *)&job->plan->tiles[worker].lattice;
  if (!szg_has_outliers(&share)) return SZGPU_OK;
  szg_tile alone = *tile;
  alone.first_value = 0;
  alone.y_stride = tile->x_extent;
  alone.z_stride = (uint64_t)tile->y_extent * tile->x_extent;
  copy_shared(job, tile, false, values);
  SZG_TRY(szg_outliers_apply_to(job, tile_index, &alone, at, values));
  copy_shared(job, tile, true, values);
  return SZGPU_OK;
}

static szgpu_status apply_to_part(void *job_pointer, uint64_t part, int worker) {
  const szg_read_job *const job = job_pointer;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_PART_TILES, job->grid.tile_count);
  szg_part_start at = job->starts[part];
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    SZG_TRY(apply_to_tile(job, t, &tile, &at, worker));
    szg_tile_pass(job, t, tile.value_count, &at);
  }
  return SZGPU_OK;
}

szgpu_status szg_preview_apply_outliers(szg_read_job *job) {
  const szg_outlier_sections *const sections = &job->outliers;
  if (!sections->exact_counts.bytes && !sections->fill_counts.bytes) return SZGPU_OK;
  return szg_for_parts(&job->reader.ctx->threads, szg_div_up(job->grid.tile_count, SZG_PART_TILES),
                       0, apply_to_part, job);
}
