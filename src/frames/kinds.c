/* kinds.c - the table of the kinds of frame, and the calls that go through it on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/kinds.h"

#include "codecs/planes/top_plane_frame.h"
#include "codecs/run_masks.h"
#include "codecs/simple/simple.h"
#include "frames/mapped.h"

const szg_frame_kind szg_frame_kinds[SZG_KIND_COUNT] = {
    [SZG_KIND_CONSTANT] =
        {
            .name = "constant",
            .header_kind = SZG_FRAME_CONSTANT,
            .may_occur = szg_constant_frame_may_occur,
            .is_sound = szg_constant_frame_is_sound,
            .rules = szg_outlier_rules,
            .serves = szg_constant_frame_serves,
            .suits = szg_constant_frame_suits,
            .write = szg_constant_frame_write,
            .open = szg_constant_frame_open,
            .restore = szg_constant_frame_restore,
            .require_level = szg_constant_frame_require_level,
        },
    [SZG_KIND_LINEAR] =
        {
            .name = "linear",
            .header_kind = SZG_FRAME_LINEAR,
            .may_occur = szg_linear_frame_may_occur,
            .is_sound = szg_linear_frame_is_sound,
            .rules = szg_linear_frame_rules,
            .serves = szg_linear_frame_serves,
            .traits = SZG_KIND_HAS_RADIUS | SZG_KIND_HAS_GAPS | SZG_KIND_HIDES_STRAYS,
            .passes = 2, /* values to codes, codes to bits */
            .suits = szg_linear_frame_suits,
            .write_buffer_bytes = szg_stream_codes_bytes,
            .carve_write = szg_linear_frame_carve_write,
            .write = szg_linear_frame_write,
            .carve_read = szg_linear_frame_carve_read,
            .open = szg_linear_frame_open,
            .restore = szg_linear_frame_restore,
        },
    [SZG_KIND_LEVELS] =
        {
            .name = "levels",
            .header_kind = SZG_FRAME_LEVELS,
            .may_occur = szg_levels_frame_may_occur,
            .is_sound = szg_levels_frame_is_sound,
            .rules = szg_levels_frame_rules,
            .describe = szg_levels_frame_describe,
            .serves = szg_levels_frame_serves,
            .traits = SZG_KIND_INTERPOLATES,
            .suits = szg_levels_frame_suits,
            .write_buffer_bytes = szg_levels_write_fixed_bytes,
            .write = szg_levels_frame_write,
            .carve_read = szg_levels_frame_carve_read,
            .open = szg_levels_frame_open,
            .restore = szg_levels_frame_restore,
            .require_level = szg_levels_frame_require_level,
        },
    [SZG_KIND_TILE] =
        {
            .name = "tile",
            .header_kind = SZG_FRAME_TILE,
            .may_occur = szg_tile_frame_may_occur,
            .is_sound = szg_tile_frame_is_sound,
            .rules = szg_tile_frame_rules,
            .describe = szg_tile_frame_describe,
            .serves = szg_tile_frame_serves,
            .traits = SZG_KIND_HAS_RAW_OUTLIERS,
            .suits = szg_tile_frame_suits,
            .carve_write = szg_tile_frame_carve_write,
            .write = szg_tile_frame_write,
            .carve_read = szg_tile_frame_carve_read,
            .open = szg_tile_frame_open,
            .restore = szg_tile_frame_restore,
        },
    [SZG_KIND_TOP_PLANE] =
        {
            .name = "top plane",
            .header_kind = SZG_FRAME_LINEAR,
            .may_occur = szg_top_plane_frame_may_occur,
            .is_sound = szg_top_plane_frame_is_sound,
            .rules = szg_top_plane_frame_rules,
            .describe = szg_top_plane_frame_describe,
            .serves = szg_top_plane_frame_serves,
            .traits = SZG_KIND_HAS_GAPS,
            .passes = 3, /* values are split, coded and stored */
            .write_buffer_bytes = szg_stream_codes_bytes,
            .carve_write = szg_top_plane_frame_carve_write,
            .write = szg_top_plane_frame_write,
            .carve_read = szg_top_plane_frame_carve_read,
            .open = szg_top_plane_frame_open,
            .restore = szg_top_plane_frame_restore,
        },
    [SZG_KIND_PLANES] =
        {
            .name = "planes",
            .header_kind = SZG_FRAME_PLANES,
            .is_of_field = true,
            .may_occur = szg_planes_frame_may_occur,
            .is_sound = szg_planes_frame_is_sound,
            .rules = szg_planes_frame_rules,
            .describe = szg_planes_frame_describe,
            .serves = szg_planes_frame_serves,
            .carve_write = szg_planes_frame_carve_write,
            .write = szg_planes_frame_write,
            .carve_read = szg_planes_frame_carve_read,
            .open = szg_planes_frame_open,
            .restore = szg_planes_frame_restore,
        },
    [SZG_KIND_RAW] =
        {
            .name = "raw",
            .header_kind = SZG_FRAME_RAW,
            .is_of_field = true,
            .may_occur = szg_raw_frame_may_occur,
            .is_sound = szg_raw_frame_is_sound,
            .rules = szg_raw_frame_rules,
            .serves = szg_raw_frame_serves,
            .write = szg_raw_frame_write,
            .restore = szg_raw_frame_restore,
        },
};

uint32_t szg_kind_of(const szg_header *archive, const szg_frame_header *frame) {
  uint32_t kind = 0;
  for (; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind *const row = &szg_frame_kinds[kind];
    if (row->header_kind == frame->kind && row->may_occur(archive)) break;
  }
  return kind;
}

/* ---- compression ---- */

bool szg_kind_is_tried(uint32_t kind, const szg_write_request *request,
                       const szg_bound_plan *bound) {
  const szg_frame_kind *const row = &szg_frame_kinds[kind];
  return row->serves(request) && (!row->suits || row->suits(bound));
}

bool szg_kind_disappoints(uint32_t kind, const szg_bound_plan *bound) {
  return kind == SZG_KIND_TILE && bound && bound->counts_on_levels;
}

void szg_write_plan_carve(szg_arena *arena, const szg_write_request *request,
                          szg_write_plan *plan) {
  if (!request->is_lossless) szg_outliers_carve_write(arena, request, &plan->outliers);
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind *const row = &szg_frame_kinds[kind];
    if (row->carve_write && row->serves(request)) row->carve_write(arena, request, plan);
  }
}

uint32_t szg_kinds_traits(const szg_write_request *request) {
  uint32_t traits = 0;
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++)
    if (szg_frame_kinds[kind].serves(request)) traits |= szg_frame_kinds[kind].traits;
  return traits;
}

uint32_t szg_kinds_passes(const szg_write_request *request) {
  uint32_t most = 1;
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind *const row = &szg_frame_kinds[kind];
    if (row->passes > most && row->serves(request)) most = row->passes;
  }
  return most;
}

uint64_t szg_write_buffer_bytes(const szg_write_request *request) {
  uint64_t most = 0;
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind *const row = &szg_frame_kinds[kind];
    if (!row->write_buffer_bytes || !row->serves(request)) continue;
    uint64_t const bytes = row->write_buffer_bytes(request);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* Lets a kind write the frame. Kinds that code values are followed by the masks, which must pay,
 * too. */
static szgpu_status write_by_kind(const szg_frame_kind *row, szg_write_job *job, szg_writer *writer,
                                  szg_frame_header *frame, bool *is_written) {
  uint64_t more_bytes = 0;
  writer->more_sections = 0;
  for (uint32_t which = 0; which < SZG_RUN_MASKS && !row->is_of_field; which++) {
    more_bytes += job->mask_bytes[which];
    writer->more_sections += job->mask_bytes[which] ? 2 : 0;
  }
  if (more_bytes > job->raw_bytes) return SZGPU_OK; /* a kind that keeps all bits is smaller */
  job->raw_bytes -= more_bytes;
  szgpu_status const status = row->write(job, writer, frame, is_written);
  job->raw_bytes += more_bytes;
  SZG_TRY(status);
  return *is_written && more_bytes ? szg_run_masks_write(job, writer) : SZGPU_OK;
}

/* Tries the kinds in their order until one writes the frame: raw always does. One that gives up may
 * have begun. */
static szgpu_status write_by_kinds(szg_write_job *job, szg_writer *writer,
                                   szg_frame_header *frame) {
  szg_writer const writer_before = *writer;
  szg_frame_header const frame_before = *frame;
  uint64_t const done_before = job->ctx->threads.done_values;
  bool is_written = false;
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT && !is_written; kind++) {
    if (!szg_kind_is_tried(kind, job->request, job->bound)) continue;
    if (szg_kind_disappoints(kind, job->bound)) job->has_strays = true;
    if (szg_bound_fails(job->bound, job->has_strays)) return SZGPU_OK;
    *writer = writer_before;
    *frame = frame_before;
    job->sure_bytes = 0;
    SZG_TRY(write_by_kind(&szg_frame_kinds[kind], job, writer, frame, &is_written));
    if (job->ctx->threads.done_values > done_before) job->loop_values = 0; /* counted already */
    if (!is_written && job->bound) szg_outliers_release(job); /* the next kind finds its own */
  }
  assert(is_written);
  return SZGPU_OK;
}

szgpu_status szg_frame_replace_packed(const void *values, size_t width, const szg_writer *before,
                                      szg_writer *writer) {
  if (!writer->zstd_level || writer->frame->kind == SZG_FRAME_RAW) return SZGPU_OK;
  return szg_raw_frame_replace(values, width, before, writer);
}

szgpu_status szg_frame_write(szg_write_job *job, uint64_t frame_index, szg_writer *writer,
                             szg_header *archive, uint64_t *frame_bytes) {
  szg_frame_header frame = {.index = frame_index, .value_count = job->grid.value_count};
  szg_writer const before = *writer;
  job->part_count = szg_div_up(job->grid.tile_count, SZG_PART_TILES);
  job->raw_bytes = job->grid.value_count * szg_dtype_bytes(job->request->mapping.outer);
  job->loop_values = job->grid.value_count;
  SZG_TRY(szg_mapped_begin_write(job));
  if (job->bound) szg_outliers_reset(job);
  szgpu_status const status = write_by_kinds(job, writer, &frame);
  if (job->bound) szg_outliers_release(job);
  SZG_TRY(status);
  if (szg_bound_fails(job->bound, job->has_strays)) return SZGPU_OK;
  if (!job->bound)
    SZG_TRY(szg_frame_replace_packed(
        job->field_values, szg_dtype_bytes(job->request->mapping.outer), &before, writer));
  szg_writer_end_frame(writer, frame_bytes);
  szg_header_note_frame(archive, &frame);
  return SZGPU_OK;
}

/* ---- decompression ---- */

void szg_read_plan_carve(szg_arena *arena, const szg_read_request *request, szg_read_plan *plan) {
  uint64_t const thread_count = (uint64_t)request->thread_count;
  plan->tiles = szg_arena_take(arena, thread_count, sizeof *plan->tiles);
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind *const row = &szg_frame_kinds[kind];
    if (row->carve_read && row->may_occur(request->header)) row->carve_read(arena, request, plan);
  }
}

static szgpu_status restore_by_kind(const szg_frame_kind *row, szg_read_job *job) {
  if (row->open) SZG_TRY(row->open(job));
  return row->restore(job);
}

static szgpu_status restore(szg_read_job *job) {
  const szg_frame_kind *const row = &szg_frame_kinds[szg_kind_of(job->header, &job->reader.frame)];
  szg_mapped_target target;
  if (row->is_of_field || !szg_is_edited(job->header)) return restore_by_kind(row, job);
  SZG_TRY(szg_mapped_begin_read(job, &target));
  SZG_TRY(restore_by_kind(row, job));
  return szg_mapped_end_read(job, &target);
}

szgpu_status szg_frame_restore(szg_read_job *job, uint64_t first_row, uint64_t row_count) {
  const szg_grid *const grid = &job->grid;
  uint64_t const row_tiles = /* tiles in one row of tiles of the slowest axis */
      grid->tile_count / szg_div_up(grid->row_extent, grid->row_quantum);
  job->first_value = first_row * grid->row_values;
  job->value_count = row_count * grid->row_values;
  job->first_tile = first_row / grid->row_quantum * row_tiles;
  job->end_tile = szg_div_up(first_row + row_count, grid->row_quantum) * row_tiles;
  return restore(job);
}

szgpu_status szg_frame_restore_region(szg_read_job *job) {
  const szg_region *const region = job->region;
  const szg_grid *const grid = &job->grid;
  uint64_t const last_row = szg_region_row_at(region, szg_region_row_count(region) - 1);
  job->first_value = szg_region_row_at(region, 0);
  job->value_count = last_row + (region->count[3] - 1) * region->step[3] + 1 - job->first_value;
  job->tiles = szg_region_tiles(region, grid);
  szg_tile_range const span =
      szg_box_range(&job->tiles, grid->z_tiles, grid->y_tiles, grid->x_tiles);
  job->first_tile = span.first_tile;
  job->end_tile = span.end_tile;
  return restore(job);
}
