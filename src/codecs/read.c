/* read.c - restores the tiles of a frame of any kind, part by part.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/read.h"

uint64_t szg_stream_share_at(const szg_read_job *job, uint64_t tile_index, uint32_t value_count) {
  uint64_t const size = szg_count_at(&job->tile_sizes, tile_index);
  return job->sizes_are_bits ? size + value_count : size;
}

bool szg_tile_is_wanted(const szg_read_job *job, uint64_t tile_index) {
  if (tile_index < job->first_tile || tile_index >= job->end_tile) return false;
  if (!job->region) return true;
  const szg_grid *const grid = &job->grid;
  uint64_t const tile_values = SZG_TILE_VALUES * job->line_values;
  if (job->line_values)
    return szg_region_meets_line(job->region, tile_index * tile_values,
                                 (tile_index + 1) * tile_values);
  return szg_box_has_tile(&job->tiles, grid->z_tiles, grid->y_tiles, grid->x_tiles, tile_index);
}

/* Moves *at to where the shares of the next tile begin. */
static void pass_tile(const szg_read_job *job, uint64_t tile_index, szg_part_start *at) {
  szg_outlier_share const share = szg_outlier_share_at(&job->outliers, tile_index);
  uint32_t const value_count =
      job->sizes_are_bits ? szg_tile_at(&job->grid, tile_index).value_count : 0;
  at->stream += szg_stream_share_at(job, tile_index, value_count);
  at->escape += szg_count_at(&job->escape_counts, tile_index);
  at->exact_mask += share.exact_mask_bytes;
  at->exact_value += share.exact_count;
  at->fill_mask += share.fill_mask_bytes;
}

szgpu_status szg_tiles_scan(szg_read_job *job, uint64_t *stream_share) {
  uint64_t const part_count = szg_div_up(job->grid.tile_count, SZG_PART_TILES);
  szg_buffer *const buffer = &job->reader.ctx->kept[SZG_KEPT_PART_STARTS];
  SZG_TRY(szg_buffer_reset(buffer, part_count * sizeof *job->starts));
  job->starts = (szg_part_start *)(void *)buffer->bytes;
  szg_part_start at = {0};
  for (uint64_t t = 0; t < job->grid.tile_count; t++) {
    if (t % SZG_PART_TILES == 0) job->starts[t / SZG_PART_TILES] = at;
    pass_tile(job, t, &at);
  }
  size_t const width = szg_dtype_bytes(szg_header_coded_dtype(job->header));
  uint32_t const escape_bytes = job->reader.frame.escape_bytes;
  const szg_outlier_sections *const outliers = &job->outliers;
  SZG_REQUIRE(at.escape * escape_bytes == job->escapes.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE((at.escape > 0) == (escape_bytes > 0), SZGPU_BAD_DATA);
  SZG_REQUIRE(at.exact_mask == outliers->exact_mask.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.exact_value * width == outliers->exact_values.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.fill_mask == outliers->fill_mask.byte_count, SZGPU_BAD_DATA);
  *stream_share = at.stream;
  return SZGPU_OK;
}

/* One loop over parts. */
typedef struct restore_job {
  const szg_read_job *frame;
  const szg_tile_steps *steps;
} restore_job;

/* A tile of a region, in the worker's memory: it lies there as in a field of its own. */
static szg_tile_target target_alone(const szg_read_job *job, const szg_tile *tile, int worker) {
  szg_tile_target target = {*tile, (uint8_t *)&job->plan->tiles[worker].lattice};
  target.tile.first_value = 0;
  target.tile.y_stride = tile->x_extent;
  target.tile.z_stride = (uint64_t)tile->y_extent * tile->x_extent;
  return target;
}

static szgpu_status restore_tile_alone(const szg_read_job *job, const szg_tile_steps *steps,
                                       uint64_t tile_index, const szg_part_start *at, int worker) {
  szg_tile const tile = szg_tile_at(&job->grid, tile_index);
  szg_tile_target const target = target_alone(job, &tile, worker);
  size_t const value_bytes = szg_dtype_bytes(szg_header_coded_dtype(job->header));
  szg_outlier_share const share = szg_outlier_share_at(&job->outliers, tile_index);
  bool const only_asks = szg_reader_only_asks(&job->reader);
  if (steps->restore_tile)
    SZG_TRY(steps->restore_tile(job, tile_index, &tile, at, &target, worker));
  else if (!szg_has_outliers(&share))
    return SZGPU_OK;
  else if (!only_asks)
    szg_region_give_tile(job->region, &job->grid, &tile, value_bytes, target.values);
  SZG_TRY(szg_outliers_apply(job, tile_index, &target.tile, at, target.values));
  if (only_asks) return SZGPU_OK;
  szg_region_take_tile(job->region, &job->grid, &tile, value_bytes, target.values);
  return SZGPU_OK;
}

static szgpu_status restore_tile(const szg_read_job *job, const szg_tile_steps *steps,
                                 uint64_t tile_index, const szg_part_start *at, int worker) {
  if (job->region && !job->line_values)
    return restore_tile_alone(job, steps, tile_index, at, worker);
  szg_tile const tile = szg_tile_at(&job->grid, tile_index);
  szg_tile_target target = {tile, job->values};
  target.tile.first_value -= job->first_value;
  if (steps->restore_tile)
    SZG_TRY(steps->restore_tile(job, tile_index, &tile, at, &target, worker));
  return szg_outliers_apply(job, tile_index, &target.tile, at, target.values);
}

static szgpu_status restore_part(void *job_pointer, uint64_t part_from_first, int worker) {
  const restore_job *const job = job_pointer;
  const szg_read_job *const frame = job->frame;
  const szg_tile_steps *const steps = job->steps;
  uint64_t const part = frame->first_tile / SZG_PART_TILES + part_from_first;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_PART_TILES, frame->end_tile);
  if (steps->begin_part) SZG_TRY(steps->begin_part(frame, part, worker));
  szg_part_start at = {0};
  if (frame->starts) at = frame->starts[part];
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    if (szg_tile_is_wanted(frame, t)) SZG_TRY(restore_tile(frame, steps, t, &at, worker));
    pass_tile(frame, t, &at);
  }
  return SZGPU_OK;
}

szgpu_status szg_tiles_restore(szg_read_job *job, const szg_tile_steps *steps) {
  restore_job restore = {job, steps};
  if (job->reader.is_waiting) return SZGPU_OK; /* for what says where tiles are */
  uint64_t const first_part = job->first_tile / SZG_PART_TILES;
  uint64_t const end_part = szg_div_up(job->end_tile, SZG_PART_TILES);
  return szg_for_parts(&job->reader.ctx->threads, end_part - first_part, job->wanted_values,
                       restore_part, &restore);
}
