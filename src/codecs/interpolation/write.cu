/* write.cu - a levels frame on the GPU: stage after stage, from the coarsest grid on; the
 * twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --choice--> [host] --stage by stage--> codes, books, sections --> [host: places]
 *
 * The books of all stages come from a sample of the values. Then, in a frame of three axes, each
 * stage goes from values to words in one kernel, and the sections of all are written together at
 * the end. In other frames a stage goes from values to codes in memory, and from there straight to
 * its section, which begins where the one before it ends. The host knows no length until all stages
 * are written. If the archive is one frame and no outliers are expected, the device completes it,
 * and the host learns of that at the end.
 * If the frame has outliers, their sections come first, and the stages' sections move up: that
 * reads and writes them twice.
 */
#include "codecs/interpolation/frame.h"

#include <string.h>

#include "codecs/interpolation/levels_choice_core.h"
#include "codecs/interpolation/levels_encode.h"
#include "codecs/interpolation/levels_sample.h"
#include "codecs/interpolation/levels_tiles.h"
#include "codecs/write_cuda.h"

/* ---- memory ---- */

/* What a frame needs whose stages the fused kernels take. */
typedef struct fused_memory {
  szg_levels_encode_work_cuda work;
  szg_levels_encoded_cuda encoded[SZG_LEVELS_MOST + 1]; /* of the stages */
  uint64_t sums_bytes; /* of all of them, from encoded[0].sums on */
} fused_memory;

/* Words have room for as many bytes as the frame's values: if there are more, it is not written. */
static void carve_fused(szg_arena *arena, const szg_levels *levels, uint64_t raw_bytes,
                        fused_memory *memory) {
  uint64_t most_tiles = 0;
  for (uint32_t i = 0; i <= levels->level_count; i++) {
    uint64_t const tile_count = levels->stages[i].tile_count;
    szg_levels_encoded_carve_cuda(arena, tile_count, &memory->encoded[i]);
    if (tile_count > most_tiles) most_tiles = tile_count;
  }
  uint64_t const sums_at = arena->used_bytes;
  for (uint32_t i = 0; i <= levels->level_count; i++)
    szg_levels_sums_carve_cuda(arena, levels->stages[i].tile_count, &memory->encoded[i]);
  memory->sums_bytes = arena->used_bytes - sums_at;
  szg_levels_encode_work_cuda *const work = &memory->work;
  work->slot_count = (uint32_t)szg_min_u64(most_tiles, SZG_LEVELS_MOST_SLOTS);
  work->slots = (int32_t *)szg_arena_take(arena, work->slot_count,
                                          SZG_LEVELS_MOST_PLACES * sizeof *work->slots);
  work->word_capacity = raw_bytes / sizeof *work->words;
  work->words = (uint32_t *)szg_arena_take(arena, work->word_capacity, sizeof *work->words);
}

/* Whether the fused kernels take all stages of the frame. */
static bool is_fused(const szg_levels *levels) {
  for (uint32_t i = 1; i <= levels->level_count; i++)
    if (!szg_levels_encode_serves(levels, i)) return false;
  return szg_base_encode_serves(levels);
}

/* Bytes that the fused kernels need for a frame of the request. */
static uint64_t fused_bytes(const szg_write_request *request) {
  const szg_grid *const grid = &request->frame_grid;
  szg_levels levels;
  fused_memory memory;
  szg_arena arena = {};
  if (szg_levels_make(grid, 3, 0, szg_usual_level_count(3), &levels) &&
      szg_levels_are_dense(request, &levels))
    carve_fused(&arena, &levels, grid->value_count * szg_dtype_bytes(request->dtype), &memory);
  return arena.used_bytes;
}

/* Whether a frame is wide depends on its values, so memory is taken for the wide ones. */
szgpu_status szg_levels_frame_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                               szg_write_plan_cuda *plan) {
  szg_levels_write_plan_cuda *const own = &plan->levels;
  SZG_REQUIRE(request->frame_grid.value_count < (uint64_t)1 << 56, SZGPU_BAD_SHAPE);
  szg_levels_most const most = szg_levels_most_of(&request->frame_grid);
  SZG_REQUIRE(most.tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  szg_levels_probe_carve_cuda(arena, &own->probe);
  uint64_t const fused = fused_bytes(request);
  own->grids_bytes = most.grid_points * sizeof(int64_t);
  own->codes_bytes = most.places * sizeof(int64_t);
  if (own->codes_bytes < fused) own->codes_bytes = fused;
  if (own->codes_bytes < SZG_LEVELS_SAMPLE_BYTES) own->codes_bytes = SZG_LEVELS_SAMPLE_BYTES;
  own->grids = (uint8_t *)szg_arena_take(arena, own->grids_bytes, 1);
  own->codes = (uint8_t *)szg_arena_take(arena, own->codes_bytes, 1);
  own->tallies =
      (szg_tokens_tally *)szg_arena_take(arena, SZG_TOKENS_MOST_STAGES, sizeof *own->tallies);
  own->books =
      (szg_tokens_book_cuda *)szg_arena_take(arena, SZG_TOKENS_MOST_STAGES, sizeof *own->books);
  own->found = (szg_levels_found *)szg_arena_take(arena, 1, sizeof *own->found);
  szg_tokens_work_carve_cuda(arena, most.tiles, szg_div_up(most.places, SZG_LEVELS_GROUP),
                             &own->work);
  return SZGPU_OK;
}

void szg_levels_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                         szg_write_plan_cuda *plan) {
  szg_levels_write_plan_cuda *const own = &plan->levels;
  (void)request;
  own->probe.answer = (szg_probe_answer *)szg_arena_take(arena, 1, sizeof *own->probe.answer);
  own->found_back = (szg_levels_found *)szg_arena_take(arena, 1, sizeof *own->found_back);
}

/* ---- [1] stages ---- */

/* One levels frame being written. */
typedef struct levels_job {
  const szg_write_job_cuda *frame;
  const szg_levels_choice *choice;
  void *grids[SZG_LEVELS_MOST + 1];
  bool has_strays; /* of the frame, if it is written */
  bool is_fused;
  fused_memory fused;
} levels_job;

static const szg_levels_write_plan_cuda *plan_of(const levels_job *job) {
  return &job->frame->plan->levels;
}

/* Where stages' sections begin in the archive if the frame has no outliers. */
static uint64_t first_start(const levels_job *job) {
  return job->frame->first_byte +
         szg_frame_header_bytes(job->choice->levels.level_count + 1 + job->frame->more_sections);
}

/* Memory of the levels. A frame may have other levels than those that memory was taken for. */
static void lay_out_memory(levels_job *job) {
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  const szg_levels *const levels = &job->choice->levels;
  szg_arena grids = {plan->grids, 0, plan->grids_bytes, false};
  szg_levels_carve_grids(&grids, levels, levels->level_count,
                         levels->is_wide ? sizeof(int64_t) : sizeof(int32_t), job->grids);
  if (!is_fused(levels)) return;
  szg_arena needed = {};
  carve_fused(&needed, levels, job->frame->raw_bytes, &job->fused);
  job->is_fused = needed.used_bytes <= plan->codes_bytes;
  if (!job->is_fused) return;
  szg_arena arena = {plan->codes, 0, plan->codes_bytes, false};
  carve_fused(&arena, levels, job->frame->raw_bytes, &job->fused);
  job->fused.work.counters = &plan->found->counters;
}

/* Clears what stages add to, and gives the first section its place. The tile marks are clear. */
static szgpu_status begin_stages(const levels_job *job) {
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  szg_device *const device = &job->frame->ctx->device;
  memset(plan->found_back, 0, sizeof *plan->found_back);
  plan->found_back->starts[0] = first_start(job);
  SZG_TRY(szg_device_copy(device, plan->found, plan->found_back, sizeof *plan->found));
  if (!job->is_fused) return SZGPU_OK;
  return szg_device_set(device, job->fused.encoded[0].sums, 0, job->fused.sums_bytes);
}

/* Makes the books of all stages. Nothing else has a use for the memory of codes yet. */
static szgpu_status make_books(const levels_job *job) {
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  const szg_levels *const levels = &job->choice->levels;
  uint32_t const stage_count = levels->level_count + 1;
  szg_device *const device = &job->frame->ctx->device;
  szg_tokens_tiles tiles[SZG_TOKENS_MOST_STAGES];
  szg_tokens_book_facts facts[SZG_TOKENS_MOST_STAGES];
  for (uint32_t i = 0; i < stage_count; i++) {
    uint64_t const tile_count = levels->stages[i].tile_count;
    tiles[i] = szg_tokens_tiles_of(levels, i);
    facts[i].group_count = tiles[i].group_count;
    facts[i].lane_bits = szg_levels_lane_bits(levels, i);
    facts[i].is_whole = i == 0 && szg_levels_counted_tiles(tile_count) == tile_count;
    facts[i].unit = levels->stages[i].unit;
  }
  SZG_TRY(szg_levels_sample_cuda(levels, &job->choice->lattice, tiles, job->frame->values,
                                 plan->tallies, plan->codes, plan->codes_bytes, device->stream));
  SZG_TRY(szg_device_mark(device, "sample"));
  SZG_TRY(
      szg_tokens_books_make_cuda(facts, stage_count, plan->tallies, plan->books, device->stream));
  return szg_device_mark(device, "books");
}

static szg_levels_marks_cuda marks_of(const levels_job *job) {
  return {&job->frame->grid, job->frame->plan->outliers.tile_marks,
          &plan_of(job)->found->has_marks};
}

static szgpu_status code_stage(const levels_job *job, uint32_t stage, void *codes) {
  const szg_write_job_cuda *const frame = job->frame;
  szg_levels_marks_cuda const marks = marks_of(job);
  SZG_TRY(szg_levels_code_stage_cuda(&job->choice->levels, stage, &job->choice->lattice,
                                     frame->values, job->grids, NULL, codes, &marks,
                                     frame->ctx->device.stream));
  return szg_device_mark(&frame->ctx->device, "predict");
}

/* Codes to the stage's section. */
static szgpu_status encode_codes(const levels_job *job, uint32_t stage, const void *codes) {
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  szg_tokens_tiles const tiles = szg_tokens_tiles_of(&job->choice->levels, stage);
  szg_tokens_output_cuda output;
  output.archive = job->frame->archive;
  output.capacity = job->frame->capacity;
  output.first_byte = &plan->found->starts[stage];
  output.section_bytes = &plan->found->section_bytes[stage];
  output.next_byte = &plan->found->starts[stage + 1];
  SZG_TRY(szg_tokens_encode_cuda(&tiles, &plan->books[stage], codes, &plan->work, &output,
                                 job->frame->ctx->device.stream));
  return szg_device_mark(&job->frame->ctx->device, "encode");
}

/* A stage by way of codes in memory. */
static szgpu_status write_stage(const levels_job *job, uint32_t stage) {
  void *const codes = plan_of(job)->codes;
  SZG_TRY(code_stage(job, stage, codes));
  return encode_codes(job, stage, codes);
}

/* A level from values to words. */
static szgpu_status encode_level(const levels_job *job, uint32_t stage) {
  const szg_write_job_cuda *const frame = job->frame;
  szg_device *const device = &frame->ctx->device;
  szg_levels_marks_cuda const marks = marks_of(job);
  SZG_TRY(szg_levels_encode_cuda(&job->choice->levels, stage, &job->choice->lattice, frame->values,
                                 job->grids, &plan_of(job)->books[stage], &marks, &job->fused.work,
                                 &job->fused.encoded[stage], device->stream));
  return szg_device_mark(device, "encode");
}

static szgpu_status encode_base(const levels_job *job) {
  const szg_write_job_cuda *const frame = job->frame;
  szg_device *const device = &frame->ctx->device;
  szg_levels_marks_cuda const marks = marks_of(job);
  SZG_TRY(szg_base_encode_cuda(&job->choice->levels, &job->choice->lattice, frame->values,
                               job->grids[0], &plan_of(job)->books[0], &marks, &job->fused.work,
                               &job->fused.encoded[0], device->stream));
  return szg_device_mark(device, "encode base");
}

static szgpu_status write_fused_sections(const levels_job *job) {
  const szg_write_job_cuda *const frame = job->frame;
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  const szg_levels *const levels = &job->choice->levels;
  uint32_t const stage_count = levels->level_count + 1;
  szg_levels_section_cuda sections[SZG_LEVELS_MOST + 1];
  for (uint32_t i = 0; i < stage_count; i++)
    sections[i] = {levels->stages[i].tile_count, i, &plan->books[i], job->fused.encoded[i]};
  SZG_TRY(szg_levels_write_sections_cuda(sections, stage_count, &job->fused.work, frame->archive,
                                         frame->capacity, plan->found->starts,
                                         plan->found->section_bytes, frame->ctx->device.stream));
  return szg_device_mark(&frame->ctx->device, "sections");
}

/* All stages by way of fused kernels. */
static szgpu_status write_fused(const levels_job *job) {
  SZG_TRY(encode_base(job));
  for (uint32_t stage = 1; stage <= job->choice->levels.level_count; stage++)
    SZG_TRY(encode_level(job, stage));
  return write_fused_sections(job);
}

static szgpu_status write_stages(const levels_job *job) {
  SZG_TRY(begin_stages(job)); /* not before the books, so that the device does not wait for it */
  if (job->is_fused) return write_fused(job);
  for (uint32_t stage = 0; stage <= job->choice->levels.level_count; stage++)
    SZG_TRY(write_stage(job, stage));
  return SZGPU_OK;
}

/* ---- [2] the frame from what was found ---- */

/* Whether the device can probably complete the archive. */
static bool may_complete(const levels_job *job) {
  return job->frame->archive_header && !job->frame->quantizer.has_fill &&
         job->choice->doubtful_bytes > 0;
}

static szgpu_status complete_archive(const levels_job *job, szg_frame_layout_cuda layout) {
  const szg_levels *const levels = &job->choice->levels;
  szg_levels_set_header(levels, &layout.header);
  for (uint32_t i = 0; i <= levels->level_count; i++)
    szg_layout_add_cuda(&layout, szg_levels_section(i), 0);
  SZG_TRY(
      szg_levels_archive_complete_cuda(job->frame, &layout.header, job->choice->doubtful_bytes));
  return szg_device_mark(&job->frame->ctx->device, "checksums");
}

/* Waits until the host knows the sizes of all stages, or that the archive is complete: then
 * found_back has the frame's bytes. */
static szgpu_status fetch_found(const levels_job *job, const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->frame->ctx->device;
  const szg_levels_write_plan_cuda *const plan = plan_of(job);
  szg_levels_found *const found = plan->found_back;
  if (!may_complete(job)) {
    SZG_TRY(szg_device_bring(device, found, plan->found, sizeof *found, &found->told));
    return szg_device_await(device, &found->told, 1);
  }
  SZG_TRY(complete_archive(job, *layout));
  SZG_TRY(szg_device_wait(device, false));
  return found->frame_bytes ? SZGPU_OK : szg_device_wait(device, true);
}

/* If some tile has outliers, the host waits once more, for their sizes. */
static szgpu_status size_outliers(const levels_job *job, szg_outlier_sizes *outliers) {
  *outliers = {};
  if (!plan_of(job)->found_back->has_marks) return SZGPU_OK;
  SZG_TRY(szg_outliers_measure_cuda(job->frame, NULL));
  SZG_TRY(szg_device_wait(&job->frame->ctx->device, true));
  *outliers = szg_outliers_size_cuda(job->frame);
  return SZGPU_OK;
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
  *is_worth = szg_levels_save_enough(job->frame->request, stage_bytes, tile_bytes);
  return SZGPU_OK;
}

/* What the sections of masks, which are last, take with their padding. */
static uint64_t bytes_of_masks(const szg_frame_layout_cuda *layout, uint32_t section_count) {
  uint64_t bytes = 0;
  for (uint32_t i = 1; i <= section_count; i++)
    bytes += layout->ranges.byte_counts[layout->ranges.count - i];
  return bytes;
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
  uint64_t const all = (uint64_t)(frame->archive + frame->first_byte + layout->frame_bytes - to);
  uint64_t left = all - bytes_of_masks(layout, frame->more_sections);
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
  lay_out_memory(job);
  SZG_TRY(make_books(job));
  SZG_TRY(write_stages(job));
  SZG_TRY(fetch_found(job, layout));
  layout->frame_bytes = plan_of(job)->found_back->frame_bytes;
  if (layout->frame_bytes) {
    szg_levels_set_header(&job->choice->levels, &layout->header);
    *is_written = true;
    return SZGPU_OK;
  }
  szg_outlier_sizes outliers;
  SZG_TRY(size_outliers(job, &outliers));
  uint64_t const stage_bytes = sum_of_stages(job);
  *is_written = stage_bytes + szg_outlier_sizes_sum(&outliers) < job->frame->raw_bytes;
  if (*is_written) SZG_TRY(is_worth_it(job, stage_bytes, is_written));
  job->has_strays =
      *is_written && job->frame->bound->is_sampled && szg_outlier_sizes_sum(&outliers) > 0;
  return *is_written ? write_sections(job, &outliers, layout) : SZGPU_OK;
}

szgpu_status szg_levels_frame_write_cuda(szg_write_job_cuda *frame, szg_frame_layout_cuda *layout,
                                         bool *is_written) {
  szg_levels_choice choice;
  *is_written = false;
  SZG_TRY(szg_levels_choose_cuda(frame, &choice));
  if (!choice.is_chosen || !szg_levels_are_dense(frame->request, &choice.levels)) return SZGPU_OK;
  levels_job job = {};
  job.frame = frame;
  job.choice = &choice;
  frame->lattice = &choice.lattice;
  szgpu_status const status = write_frame(&job, layout, is_written);
  frame->lattice = NULL; /* the next kind goes by the quantizer */
  frame->has_strays = job.has_strays;
  frame->is_archive_complete = *is_written && plan_of(&job)->found_back->frame_bytes > 0;
  return status;
}
