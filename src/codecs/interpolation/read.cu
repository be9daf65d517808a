/* read.cu - a levels frame on the GPU: stage after stage, from words to codes to values; the
 * twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All stages but the last are restored once, as far as the wanted rows of the frame need them; the
 * last one is restored with each group of rows. Levels of three axes, and their base, go from words
 * to points in one kernel; other stages go by batches of tiles, so that memory for codes is
 * bounded.
 */
#include "codecs/interpolation/frame.h"

#include "codecs/interpolation/levels_tiles.h"
#include "codecs/read_cuda.h"

/* One levels frame being restored. Its memory is carved anew at each step, to the same places. */
typedef struct levels_job {
  const szg_read_job_cuda *frame;
  szg_levels levels;
  szg_levels_lattice lattice;
  void *grids[SZG_LEVELS_MOST + 1];
  szg_tokens_input_cuda inputs[SZG_LEVELS_MOST + 1]; /* of the stages */
  void *codes;                                       /* of a batch */
} levels_job;
static_assert((int)SZG_TOKENS_MOST_STAGES > (int)SZG_LEVELS_MOST, "an input for each stage");

/* ---- memory ---- */

static size_t lattice_bytes(const szg_levels *levels) {
  return levels->is_wide ? sizeof(int64_t) : sizeof(int32_t);
}

static bool is_fused_base(const szg_levels *levels, uint32_t stage) {
  return stage == 0 && szg_base_decode_serves(levels);
}

/* Tiles whose codes are in memory at once. Fused levels keep few codes there, a fused base none. */
static uint64_t tiles_at_once(const szg_levels *levels, uint32_t stage) {
  const szg_levels_stage *const s = &levels->stages[stage];
  if (is_fused_base(levels, stage)) return 0;
  uint64_t const most = szg_levels_decode_serves(levels, stage)
                            ? (uint64_t)SZG_LEVELS_SLOTS
                            : SZG_LEVELS_BATCH_BYTES / (s->place_count * lattice_bytes(levels));
  return szg_min_u64(s->tile_count, most);
}

static void carve(szg_arena *arena, levels_job *job) {
  const szg_levels *const levels = &job->levels;
  size_t const width = lattice_bytes(levels);
  uint64_t most_codes = 0;
  szg_levels_carve_grids(arena, levels, levels->level_count, width, job->grids);
  for (uint32_t i = 0; i <= levels->level_count; i++) {
    const szg_levels_stage *const stage = &levels->stages[i];
    szg_tokens_input_carve_cuda(arena, stage->tile_count, &job->inputs[i]);
    szg_at_least(&most_codes, tiles_at_once(levels, i) * stage->place_count);
  }
  job->codes = szg_arena_take(arena, most_codes, width);
}

static uint64_t measure(const szg_levels *levels) {
  levels_job job = {};
  szg_arena arena = {};
  job.levels = *levels;
  carve(&arena, &job);
  return arena.overflowed ? UINT64_MAX : arena.used_bytes;
}

void szg_levels_frame_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  szg_levels levels;
  szg_outliers_size_read_cuda(frame, sizes);
  if (szg_levels_of_frame(&frame->grid, &frame->header, &levels)) /* checked already */
    szg_at_least(&sizes->levels_bytes, measure(&levels));
}

/* Any frame may turn out to have outliers, and to be wide. */
void szg_levels_frame_size_reserve_cuda(const szg_write_request *request,
                                        szg_read_sizes_cuda *sizes) {
  szg_levels_most const most = szg_levels_most_of(&request->frame_grid);
  szg_arena arena = {};
  szg_tokens_input_cuda input;
  for (uint32_t i = 0; i <= SZG_LEVELS_MOST; i++)
    szg_tokens_input_carve_cuda(&arena, most.tiles, &input);
  (void)szg_arena_take(&arena, most.grid_points, sizeof(int64_t));
  (void)szg_arena_take(&arena, szg_min_u64(most.places, SZG_LEVELS_BATCH_BYTES / sizeof(int64_t)),
                       sizeof(int64_t));
  szg_at_least(&sizes->placed_tiles, request->frame_grid.tile_count);
  szg_at_least(&sizes->levels_bytes, arena.used_bytes);
}

szgpu_status szg_levels_frame_carve_read_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                              szg_read_plan_cuda *plan) {
  plan->levels.memory = (uint8_t *)szg_arena_take(arena, sizes->levels_bytes, 1);
  plan->levels.memory_bytes = sizes->levels_bytes;
  return SZGPU_OK;
}

/* ---- the stages' sections ---- */

static void set_input(levels_job *job, uint32_t stage) {
  const szg_levels *const levels = &job->levels;
  const szg_device_section *const section = &job->frame->frame->sections[szg_levels_section(stage)];
  szg_tokens_input_cuda *const input = &job->inputs[stage];
  uint32_t const most_unit = 1u << levels->fine_bits;
  input->tiles = szg_tokens_tiles_of(levels, stage);
  input->section = section->bytes;
  input->section_bytes = section->byte_count;
  input->least_unit = stage == levels->level_count ? most_unit : 1;
  input->most_unit = most_unit;
}

static szgpu_status open_job(const szg_read_job_cuda *frame, levels_job *job) {
  const szg_levels_read_plan_cuda *const plan = &frame->plan->levels;
  *job = {};
  job->frame = frame;
  SZG_REQUIRE(szg_levels_of_frame(&frame->frame->grid, &frame->frame->header, &job->levels),
              SZGPU_BAD_DATA);
  job->lattice = szg_levels_lattice_of(frame->header, &job->levels);
  szg_arena arena = {plan->memory, 0, plan->memory_bytes, false};
  carve(&arena, job);
  for (uint32_t i = 0; i <= job->levels.level_count; i++) set_input(job, i);
  return SZGPU_OK;
}

szgpu_status szg_levels_frame_open_cuda(const szg_read_job_cuda *frame) {
  levels_job job;
  SZG_TRY(open_job(frame, &job));
  SZG_TRY(szg_tokens_open_cuda(job.inputs, job.levels.level_count + 1, frame->frame->verdict,
                               frame->device->stream));
  return szg_device_mark(frame->device, "books, places");
}

/* ---- their tiles ---- */

/* A part of a stage: tiles, and values of the frame if the stage is the last. */
typedef struct stage_part {
  uint32_t stage;
  szg_levels_tiles_cuda tiles;
  const szg_levels *levels; /* with the strides that values have */
  void *values;
  uint64_t first_value, end_value;
} stage_part;

static szgpu_status restore_fused(const levels_job *job, const stage_part *part) {
  szg_levels_decode_job const fused = {part->levels,
                                       part->stage,
                                       part->tiles,
                                       &job->lattice,
                                       &job->inputs[part->stage],
                                       job->grids,
                                       part->values,
                                       part->first_value,
                                       part->end_value,
                                       (int32_t *)job->codes,
                                       tiles_at_once(&job->levels, part->stage)};
  return szg_levels_decode_cuda(&fused, job->frame->frame->verdict, job->frame->device->stream);
}

static szgpu_status restore_base(const levels_job *job, const stage_part *part) {
  return szg_base_decode_cuda(&job->levels, &part->tiles, &job->lattice, &job->inputs[0],
                              job->grids[0], job->frame->frame->verdict,
                              job->frame->device->stream);
}

static szgpu_status restore_in_batches(const levels_job *job, const stage_part *part) {
  struct CUstream_st *const stream = job->frame->device->stream;
  const szg_tokens_input_cuda *const input = &job->inputs[part->stage];
  uint64_t const step = tiles_at_once(&job->levels, part->stage);
  for (uint64_t first = part->tiles.first_tile; first < part->tiles.end_tile; first += step) {
    uint64_t const end = szg_min_u64(first + step, part->tiles.end_tile);
    szg_levels_tiles_cuda const batch = {first, end, part->tiles.box};
    SZG_TRY(
        szg_tokens_decode_cuda(input, first, end, job->codes, job->frame->frame->verdict, stream));
    SZG_TRY(szg_levels_restore_stage_cuda(
        part->levels, part->stage, &batch, &job->lattice, &input->opened->unit, job->codes,
        job->grids, part->values, part->first_value, part->end_value, stream));
  }
  return SZGPU_OK;
}

static szgpu_status restore_part(const levels_job *job, const stage_part *part) {
  uint32_t const stage = part->stage;
  if (is_fused_base(&job->levels, stage))
    SZG_TRY(restore_base(job, part));
  else
    SZG_TRY(szg_levels_decode_serves(&job->levels, stage) ? restore_fused(job, part)
                                                          : restore_in_batches(job, part));
  return szg_device_mark(job->frame->device, part->values ? "decode"
                                             : stage == 0 ? "decode base"
                                                          : "decode coarse");
}

/* Tiles of a stage, to its grid or, if it is the last, to the rows. rows: NULL except in the last
 * stage. */
static szgpu_status restore_stage(const levels_job *job, uint32_t stage, szg_tile_range span,
                                  const szg_frame_rows_cuda *rows) {
  stage_part part = {stage, {span.first_tile, span.end_tile, NULL}, &job->levels, NULL, 0, 0};
  if (rows) {
    part.values = rows->values;
    part.first_value = rows->first_value;
    part.end_value = rows->first_value + rows->value_count;
  }
  return restore_part(job, &part);
}

/* Restores all stages but the last, as far as the wanted rows need them. */
static szgpu_status restore_coarse(const szg_read_job_cuda *frame) {
  const szg_read_frame_cuda *const wanted = frame->frame;
  uint64_t const row_values = wanted->grid.row_values;
  levels_job job;
  szg_tile_range spans[SZG_LEVELS_MOST + 1];
  SZG_TRY(open_job(frame, &job));
  szg_levels_spans_of_values(&job.levels, wanted->first_row * row_values,
                             wanted->end_row * row_values, spans);
  for (uint32_t stage = 0; stage < job.levels.level_count; stage++)
    SZG_TRY(restore_stage(&job, stage, spans[stage], NULL));
  return SZGPU_OK;
}

szgpu_status szg_levels_frame_prepare_cuda(const szg_read_job_cuda *frame) {
  SZG_TRY(restore_coarse(frame));
  if (!frame->counts.exact && !frame->counts.fill_mask_bytes) return SZGPU_OK;
  SZG_TRY(szg_tiles_place_cuda(frame, &frame->frame->grid, false));
  return szg_outliers_list_cuda(frame);
}

szgpu_status szg_levels_frame_restore_cuda(const szg_read_job_cuda *frame,
                                           const szg_frame_rows_cuda *rows) {
  levels_job job;
  szg_tile_range spans[SZG_LEVELS_MOST + 1];
  SZG_TRY(open_job(frame, &job));
  uint32_t const last = job.levels.level_count;
  szg_levels_spans_of_values(&job.levels, rows->first_value, rows->first_value + rows->value_count,
                             spans);
  SZG_TRY(restore_stage(&job, last, spans[last], rows));
  return szg_outliers_apply_cuda(frame, rows);
}

/* ---- regions ---- */

/* Boxes of the view, each of which is restored by itself: volumes go together, planes by batch. */
static uint64_t view_count(const szg_levels *levels, const szg_region *region) {
  return levels->axis_count == 3 ? 1 : region->count[0];
}

/* The region as points of the last stage's grid; view: which part of it. */
static szg_box points_of_region(const szg_levels *levels, const szg_region *region, uint64_t view) {
  szg_box points;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    points.first[axis] = region->first[axis];
    points.end[axis] = region->first[axis] + region->count[axis];
  }
  if (levels->axis_count == 3) return points;
  uint64_t const first_plane = (region->first[0] + view) * region->extent[1];
  points.first[0] = first_plane + points.first[1];
  points.end[0] = first_plane + points.end[1];
  points.first[1] = 0;
  points.end[1] = 1;
  return points;
}

/* The box consists of whole tiles of the last stage, and of the frame, as which outliers come. */
bool szg_levels_frame_find_region_cuda(const szg_read_frame_cuda *frame, szg_box *box,
                                       uint64_t *tile_count) {
  szg_levels levels;
  szg_box tiles[SZG_LEVELS_MOST + 1];
  const szg_grid *const grid = &frame->grid;
  if (!szg_levels_of_frame(grid, &frame->header, &levels) || levels.fold) return false;
  const szg_levels_stage *const last = &levels.stages[levels.level_count];
  uint64_t units[] = {1, grid->tile_z, grid->tile_y, grid->tile_x};
  szg_at_least(&units[1], last->tile_z);
  szg_at_least(&units[2], last->tile_y);
  szg_at_least(&units[3], last->tile_x);
  *box = szg_region_box(&frame->region, units);
  *tile_count = szg_grid_of_box(grid, box).tile_count;
  szg_box const points = points_of_region(&levels, &frame->region, 0);
  szg_levels_tiles_of_points(&levels, levels.level_count, &points, tiles);
  for (uint32_t i = 0; i <= levels.level_count; i++)
    szg_at_least(tile_count, szg_box_value_count(&tiles[i]));
  return true;
}

/* A box of a stage's tiles, of which the stage's input gets lists of their own. */
static szgpu_status restore_tiles_of(levels_job *job, stage_part *part, const szg_box *tiles) {
  const szg_region_plan_cuda *const lists = &job->frame->plan->region;
  const szg_levels_stage *const stage = &job->levels.stages[part->stage];
  szg_tokens_input_cuda *const input = &job->inputs[part->stage];
  szg_tokens_input_cuda const whole = *input;
  szg_tile_lists_cuda all = {};
  all.sizes = whole.sizes;
  all.first_words = whole.first_words;
  SZG_TRY(szg_region_list_cuda(tiles, stage->z_tiles, stage->y_tiles, stage->x_tiles, &all, lists,
                               job->frame->device->stream));
  input->tiles = szg_tokens_tiles_in(&job->levels, part->stage, tiles);
  input->sizes = lists->sizes;
  input->first_words = lists->first_words;
  part->tiles = {0, input->tiles.tile_count, tiles};
  szgpu_status const status = restore_part(job, part);
  *input = whole;
  return status;
}

/* Lets the last stage's values go to the box; view: as above. */
static void aim_at_box(const levels_job *job, uint64_t view, szg_levels *levels, stage_part *part) {
  const szg_read_job_cuda *const frame = job->frame;
  const szg_box *const box = &frame->frame->box;
  uint64_t const y_stride = box->end[3] - box->first[3];
  uint64_t const plane = y_stride * (box->end[2] - box->first[2]);
  uint64_t const volume = plane * (box->end[1] - box->first[1]);
  bool const is_volume = levels->axis_count == 3;
  uint64_t const batch = frame->frame->region.first[0] + view;
  levels->y_stride = y_stride;
  levels->z_stride = plane;
  levels->box_stride = is_volume ? volume : plane;
  part->levels = levels;
  part->values = frame->plan->region.values + view * volume * frame->width;
  part->first_value = box->first[2] * y_stride + box->first[3];
  part->first_value += is_volume ? batch * volume + box->first[1] * plane
                                 : (batch * frame->frame->region.extent[1] + box->first[1]) * plane;
  part->end_value = part->first_value + (is_volume ? szg_box_value_count(box) : volume);
}

static szgpu_status restore_view(levels_job *job, uint64_t view) {
  szg_levels levels = job->levels;
  szg_box tiles[SZG_LEVELS_MOST + 1];
  uint32_t const last = levels.level_count;
  szg_box const points = points_of_region(&levels, &job->frame->frame->region, view);
  szg_levels_tiles_of_points(&levels, last, &points, tiles);
  for (uint32_t stage = 0; stage <= last; stage++) {
    stage_part part = {stage, {0, 0, NULL}, &job->levels, NULL, 0, 0};
    if (stage == last) aim_at_box(job, view, &levels, &part);
    SZG_TRY(restore_tiles_of(job, &part, &tiles[stage]));
  }
  return SZGPU_OK;
}

szgpu_status szg_levels_frame_restore_region_cuda(const szg_read_job_cuda *frame) {
  levels_job job;
  SZG_TRY(open_job(frame, &job));
  uint64_t const views = view_count(&job.levels, &frame->frame->region);
  for (uint64_t view = 0; view < views; view++) SZG_TRY(restore_view(&job, view));
  if (!frame->counts.exact && !frame->counts.fill_mask_bytes) return SZGPU_OK;
  szg_read_box_cuda box;
  SZG_TRY(szg_tiles_place_cuda(frame, &frame->frame->grid, false));
  SZG_TRY(szg_read_box_open_cuda(frame, &box));
  szg_frame_rows_cuda const rows = {0,    1, 0, box.frame.grid.value_count, box.plan.region.values,
                                    false};
  return szg_outliers_apply_cuda(&box.job, &rows);
}
