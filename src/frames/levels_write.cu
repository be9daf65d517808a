/* levels_write.cu - a levels frame on the GPU: stage after stage, from the coarsest grid on; the
 * twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --choice--> [host] --stage by stage--> codes, books, sections --> [host: places]
 *
 * Each stage goes from values to codes, from a sample of them to books, and from there straight to
 * its section, which begins where the one before it ends. The host knows no length until all stages
 * are written. If the frame has outliers, their sections come first, and the stages' sections move
 * up: that reads and writes them twice.
 */
#include "frames/levels.h"

#include "frames/levels_tiles.h"
#include "frames/write_cuda.h"
#include "fused/tile_core.h"
#include "predict/levels_choice_core.h"

/* ---- memory ---- */

/* Whether a frame is wide depends on its values, so memory is taken for the wide ones. */
szgpu_status szg_levels_frame_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                               szg_write_plan_cuda *plan) {
  szg_levels_write_plan_cuda *const own = &plan->levels;
  SZG_REQUIRE(request->frame_grid.value_count < (uint64_t)1 << 56, SZGPU_BAD_SHAPE);
  szg_levels_most const most = szg_levels_most_of(&request->frame_grid);
  SZG_REQUIRE(most.tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  szg_levels_probe_carve_cuda(arena, &own->choose.probe);
  own->grids_bytes = most.grid_points * sizeof(int64_t);
  own->codes_bytes = most.places * sizeof(int64_t);
  own->grids = (uint8_t *)szg_arena_take(arena, own->grids_bytes, 1);
  own->codes = (uint8_t *)szg_arena_take(arena, own->codes_bytes, 1);
  own->tally = (szg_tokens_tally *)szg_arena_take(arena, 1, sizeof *own->tally);
  own->book = (szg_tokens_book_cuda *)szg_arena_take(arena, 1, sizeof *own->book);
  own->found = (szg_levels_found *)szg_arena_take(arena, 1, sizeof *own->found);
  szg_tokens_work_carve_cuda(arena, most.tiles, szg_div_up(most.places, SZG_LEVELS_GROUP),
                             &own->work);
  return SZGPU_OK;
}

void szg_levels_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                         szg_write_plan_cuda *plan) {
  szg_levels_write_plan_cuda *const own = &plan->levels;
  (void)request;
  own->choose.probes_back = (szg_probes *)szg_arena_take(arena, 1, sizeof *own->choose.probes_back);
  own->found_back = (szg_levels_found *)szg_arena_take(arena, 1, sizeof *own->found_back);
}

/* ---- [1] stages ---- */

/* One levels frame being written. */
typedef struct levels_job {
  const szg_write_job_cuda *frame;
  const szg_levels_choice *choice;
  void *grids[SZG_LEVELS_MOST + 1];
} levels_job;

static const szg_levels_write_plan_cuda *plan_of(const levels_job *job) {
  return &job->frame->plan->levels;
}

/* Where stages' sections begin in the archive if the frame has no outliers. */
static uint64_t first_start(const levels_job *job) {
  return job->frame->first_byte + szg_frame_header_bytes(job->choice->levels.level_count + 1);
}

/* Gives the grids their memory, and the first section its place. */
static szgpu_status begin(levels_job *job) {
  const szg_write_job_cuda *const frame = job->frame;
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  const szg_levels *const levels = &job->choice->levels;
  szg_device *const device = &frame->ctx->device;
  szg_arena arena = {plan->grids, 0, plan->grids_bytes, false};
  szg_levels_carve_grids(&arena, levels, levels->level_count,
                         levels->is_wide ? sizeof(int64_t) : sizeof(int32_t), job->grids);
  plan->found_back->starts[0] = first_start(job);
  SZG_TRY(szg_device_copy(device, plan->found->starts, plan->found_back->starts, sizeof(uint64_t)));
  return szg_device_set(device, frame->plan->outliers.tile_marks, 0, frame->grid.tile_count);
}

static szgpu_status write_stage(const levels_job *job, uint32_t stage) {
  const szg_write_job_cuda *const frame = job->frame;
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  const szg_levels *const levels = &job->choice->levels;
  szg_device *const device = &frame->ctx->device;
  szg_tokens_tiles const tiles = szg_tokens_tiles_of(levels, stage);
  szg_levels_marks_cuda const marks = {&frame->grid, frame->plan->outliers.tile_marks};
  uint32_t const counted_count = szg_levels_counted_tiles(tiles.tile_count);
  szg_tokens_output_cuda output;
  output.archive = frame->archive;
  output.capacity = frame->capacity;
  output.first_byte = &plan->found->starts[stage];
  output.section_bytes = &plan->found->section_bytes[stage];
  output.next_byte = &plan->found->starts[stage + 1];
  SZG_TRY(szg_levels_code_stage_cuda(levels, stage, &job->choice->lattice, frame->values,
                                     job->grids, NULL, plan->codes, &marks, device->stream));
  SZG_TRY(szg_device_mark(device, "predict"));
  SZG_TRY(szg_tokens_count_cuda(&tiles, plan->codes, counted_count, false, plan->tally,
                                device->stream));
  SZG_TRY(szg_tokens_book_make_cuda(&tiles, plan->tally, counted_count == tiles.tile_count,
                                    levels->stages[stage].unit, plan->book, device->stream));
  SZG_TRY(szg_device_mark(device, "books"));
  SZG_TRY(szg_tokens_encode_cuda(&tiles, plan->book, plan->codes, &plan->work, &output,
                                 device->stream));
  return szg_device_mark(device, "encode");
}

/* ---- [2] the frame from what was found ---- */

/* Waits for all stages: the host then knows their sizes, and those of the outliers. */
static szgpu_status fetch_found(const levels_job *job) {
  szg_device *const device = &job->frame->ctx->device;
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  SZG_TRY(szg_outliers_measure_cuda(job->frame, NULL));
  SZG_TRY(szg_device_copy(device, plan->found_back, plan->found, sizeof *plan->found));
  return szg_device_wait(device, true);
}

/* As on the CPU, stages of zeros do not count. */
static uint64_t sum_of_stages(const levels_job *job) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i <= job->choice->levels.level_count; i++) {
    uint64_t const bytes = plan_of(job)->found_back->section_bytes[i];
    if (bytes > SZG_LEVELS_HEAD_BYTES) sum += bytes;
  }
  return sum;
}

/* Whether the frame is worth its time, as on the CPU. */
static szgpu_status is_worth_it(const levels_job *job, uint64_t stage_bytes, bool *is_worth) {
  uint64_t tile_bytes;
  *is_worth = true;
  if (stage_bytes <= job->choice->doubtful_bytes) return SZGPU_OK;
  SZG_TRY(szg_tile_frame_measure_cuda(job->frame, &tile_bytes));
  *is_worth = szg_saves_enough(stage_bytes, tile_bytes);
  return SZGPU_OK;
}

/* Moves the stages' sections up to where the layout has them, the last bytes first. Each piece goes
 * through the memory of the codes, which are not needed any more: source and destination may
 * overlap. */
static szgpu_status move_sections(const levels_job *job, const szg_frame_layout_cuda *layout) {
  const szg_write_job_cuda *const frame = job->frame;
  szg_device *const device = &frame->ctx->device;
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  uint8_t *const to = layout->at[SZG_SECTION_BASE];
  const uint8_t *const from = frame->archive + first_start(job);
  uint64_t left = (uint64_t)(frame->archive + frame->first_byte + layout->frame_bytes - to);
  while (left > 0) {
    uint64_t const piece = szg_min_u64(left, plan->codes_bytes);
    left -= piece;
    SZG_TRY(szg_device_copy(device, plan->codes, from + left, piece));
    SZG_TRY(szg_device_copy(device, to + left, plan->codes, piece));
  }
  return SZGPU_OK;
}

static szgpu_status lay_out(const levels_job *job, const szg_outlier_sizes *outliers,
                            szg_frame_layout_cuda *layout) {
  const szg_levels *const levels = &job->choice->levels;
  szg_levels_set_header(levels, &layout->header);
  szg_outliers_add_sections_cuda(layout, outliers);
  for (uint32_t i = 0; i <= levels->level_count; i++)
    szg_layout_add_cuda(layout, szg_levels_section(i), plan_of(job)->found_back->section_bytes[i]);
  return szg_layout_place_cuda(job->frame, layout);
}

static szgpu_status write_sections(const levels_job *job, const szg_outlier_sizes *outliers,
                                   szg_frame_layout_cuda *layout) {
  SZG_TRY(lay_out(job, outliers, layout));
  layout->is_padded = szg_outlier_section_count(outliers) == 0;
  if (!layout->is_padded) {
    SZG_TRY(move_sections(job, layout));
    SZG_TRY(szg_outliers_write_cuda(job->frame, layout));
    SZG_TRY(szg_device_mark(&job->frame->ctx->device, "outliers"));
  }
  return szg_layout_finish_cuda(job->frame, layout);
}

static szgpu_status write_frame(levels_job *job, szg_frame_layout_cuda *layout, bool *is_written) {
  SZG_TRY(begin(job));
  for (uint32_t stage = 0; stage <= job->choice->levels.level_count; stage++)
    SZG_TRY(write_stage(job, stage));
  SZG_TRY(fetch_found(job));
  szg_outlier_sizes const outliers = szg_outliers_size_cuda(job->frame);
  uint64_t const stage_bytes = sum_of_stages(job);
  *is_written = stage_bytes + szg_outlier_sizes_sum(&outliers) < job->frame->raw_bytes;
  if (*is_written) SZG_TRY(is_worth_it(job, stage_bytes, is_written));
  return *is_written ? write_sections(job, &outliers, layout) : SZGPU_OK;
}

szgpu_status szg_levels_frame_write_cuda(szg_write_job_cuda *frame, szg_frame_layout_cuda *layout,
                                         bool *is_written) {
  szg_levels_choice choice;
  *is_written = false;
  SZG_TRY(szg_levels_choose_cuda(frame, &choice));
  if (!choice.is_chosen || !szg_levels_are_dense(frame->request, &choice.levels)) return SZGPU_OK;
  levels_job job = {frame, &choice, {}};
  frame->lattice = &choice.lattice;
  szgpu_status const status = write_frame(&job, layout, is_written);
  frame->lattice = NULL; /* the next kind goes by the quantizer */
  return status;
}
