/* read.c - a levels frame on the CPU: stage after stage, from words to codes to values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/frame.h"

#include <string.h>

#include "codecs/read.h"

/* One levels frame being restored. */
typedef struct levels_job {
  szg_read_job *frame;
  uint8_t *values;     /* where value 0 of the frame goes; not all of them need to have a place */
  uint8_t *all_values; /* room for the frame's values, if a folded one is restored in part */
  szg_levels levels;
  szg_levels_lattice lattice;
  szg_levels_memory memory;
  uint64_t *first_words;              /* [parts of the stage]: where each part's words begin */
  uint32_t end_stage;                 /* stages before it are restored */
  szg_box tiles[SZG_LEVELS_MOST + 1]; /* of each stage: those that are restored */
  /* the stage at hand */
  uint32_t stage;
  szg_loaded section;
  szg_levels_stage_input input;
  szg_tokens_shape shape;
} levels_job;

void szg_levels_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                                 szg_read_plan *plan) {
  (void)request;
  plan->levels.books = szg_arena_take(arena, 1, sizeof *plan->levels.books);
  plan->levels.decoder = szg_arena_take(arena, 1, sizeof *plan->levels.decoder);
}

static uint64_t part_count_of(const szg_levels_stage *stage) {
  return szg_div_up(stage->tile_count, SZG_LEVELS_PART_TILES);
}

static size_t value_bytes(const levels_job *job) {
  return szg_dtype_bytes(szg_header_coded_dtype(job->frame->header));
}

/* The tiles of a folded frame do not end where rows of the field do. */
static bool is_cut_fold(const levels_job *job) {
  return job->levels.fold && job->frame->value_count < job->levels.value_count;
}

static void carve(szg_arena *arena, const levels_job *job, levels_job *carved) {
  uint64_t most_parts = 0;
  for (uint32_t i = 0; i < job->end_stage; i++)
    if (part_count_of(&job->levels.stages[i]) > most_parts)
      most_parts = part_count_of(&job->levels.stages[i]);
  /* The last stage of rows goes to values, that of a region to its grid. */
  uint32_t const grid_count = job->frame->region ? job->end_stage : job->levels.level_count;
  szg_levels_carve(arena, &job->levels, grid_count, job->frame->reader.ctx->threads.count,
                   &carved->memory);
  carved->first_words = szg_arena_take(arena, most_parts, sizeof *carved->first_words);
  uint64_t const whole_values = is_cut_fold(job) ? job->levels.value_count : 0;
  carved->all_values = szg_arena_take(arena, whole_values, value_bytes(job));
}

/* Takes memory for what is needed to restore these points, of the last stage. */
static szgpu_status open_memory(levels_job *job, const szg_box *points) {
  szg_arena arena = {0};
  szg_levels_tiles_of_points(&job->levels, job->end_stage - 1, points, job->tiles);
  for (uint32_t i = 0; i < job->end_stage; i++)
    szg_levels_narrow_grid(&job->levels.stages[i], &job->tiles[i]);
  carve(&arena, job, job);
  SZG_TRY(szg_levels_arena_open(job->frame->reader.ctx, &arena));
  carve(&arena, job, job);
  /* What decoders read beyond the end of hostile words, before they refuse them. */
  for (int i = 0; i < job->frame->reader.ctx->threads.count; i++)
    memset(job->memory.token_work[i].bytes, 0, SZG_TOKENS_OVERRUN);
  return SZGPU_OK;
}

/* Outliers come last; each part of tiles must know where its own begin. */
szgpu_status szg_levels_frame_open(szg_read_job *job) {
  uint64_t unused;
  SZG_TRY(szg_outliers_load(job));
  if (job->reader.is_waiting) return SZGPU_OK;
  return szg_tiles_scan(job, &unused);
}

static szgpu_status open_job(levels_job *job, szg_read_job *frame) {
  *job = (levels_job){.frame = frame};
  SZG_REQUIRE(szg_levels_of_frame(&frame->grid, &frame->reader.frame, &job->levels),
              SZGPU_BAD_DATA);
  job->lattice = szg_levels_lattice_of(frame->header, &job->levels);
  return SZGPU_OK;
}

/* ---- a stage's section ---- */

static szgpu_status read_head(const levels_job *job, const uint8_t *bytes, uint64_t section_bytes,
                              szg_levels_head *head) {
  const szg_levels *const levels = &job->levels;
  uint32_t const group_count = levels->stages[job->stage].place_count / SZG_LEVELS_GROUP;
  bool const is_last = job->stage == levels->level_count;
  *head = (szg_levels_head){.mode = bytes[0],
                            .lane_groups_log2 = bytes[1],
                            .unit = szg_load_u32(bytes + 4),
                            .book_bytes = szg_load_u32(bytes + 8)};
  SZG_REQUIRE(szg_load_u16(bytes + 2) == 0 && szg_load_u32(bytes + 12) == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(head->mode < SZG_LEVELS_MODES, SZGPU_BAD_DATA);
  SZG_REQUIRE(head->unit >= 1 && head->unit <= 1u << levels->fine_bits, SZGPU_BAD_DATA);
  SZG_REQUIRE(!is_last || head->unit == 1u << levels->fine_bits, SZGPU_BAD_DATA);
  if (head->mode == SZG_LEVELS_MODE_ZERO) {
    SZG_REQUIRE(head->lane_groups_log2 <= SZG_LEVELS_LANE_GROUPS_LOG2, SZGPU_BAD_DATA);
    SZG_REQUIRE(head->book_bytes == 0, SZGPU_BAD_DATA);
    SZG_REQUIRE(section_bytes == SZG_LEVELS_HEAD_BYTES, SZGPU_BAD_DATA);
    return SZGPU_OK;
  }
  SZG_REQUIRE(head->lane_groups_log2 >= szg_tokens_least_lane_groups_log2(group_count) &&
                  head->lane_groups_log2 <= SZG_LEVELS_LANE_GROUPS_LOG2,
              SZGPU_BAD_DATA);
  SZG_REQUIRE(head->book_bytes % 4 == 0 && head->book_bytes <= SZG_TOKENS_BOOKS_MOST_BYTES,
              SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* Finds where each part's words begin; they must use up the section. */
static szgpu_status place_words(const levels_job *job, uint64_t tile_count) {
  uint64_t word_count = 0;
  for (uint64_t t = 0; t < tile_count; t++) {
    if (t % SZG_LEVELS_PART_TILES == 0) job->first_words[t / SZG_LEVELS_PART_TILES] = word_count;
    word_count += szg_load_u16(job->input.tile_sizes + 2 * t);
  }
  SZG_REQUIRE(word_count == job->input.word_count, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* If the call only asks, it asks at once for all that may come before the words. */
static szgpu_status require_front(levels_job *job, const szg_loaded *section, bool *is_there) {
  static const szg_levels_head longest = {.mode = SZG_LEVELS_MODE_MASKS,
                                          .book_bytes = SZG_TOKENS_BOOKS_MOST_BYTES};
  uint64_t const tile_count = job->levels.stages[job->stage].tile_count;
  uint64_t const front_bytes = szg_levels_places_of(&longest, tile_count).words;
  *is_there = section->bytes != NULL || !job->frame->reader.is_waiting;
  if (!section->offset) return SZGPU_OK;
  return szg_reader_require(&job->frame->reader, section->offset,
                            szg_min_u64(front_bytes, section->byte_count), is_there);
}

/* Head, books and tile sizes are side data; the words stay in the archive. *is_open false: the call
 * only asks, and they are missing. */
static szgpu_status open_stage(levels_job *job, bool *is_open) {
  szg_read_job *const frame = job->frame;
  const szg_levels_read_plan *const plan = &frame->plan->levels;
  uint32_t const kind = szg_levels_section(job->stage);
  szg_levels_stage *const stage = &job->levels.stages[job->stage];
  szg_levels_head *const head = &job->input.head;
  szg_loaded section;
  const uint8_t *front;
  SZG_TRY(szg_reader_map(&frame->reader, kind, &section));
  SZG_TRY(require_front(job, &section, is_open));
  if (!*is_open) return SZGPU_OK;
  SZG_REQUIRE(section.byte_count >= SZG_LEVELS_HEAD_BYTES, SZGPU_BAD_DATA);
  SZG_TRY(szg_reader_load_front(&frame->reader, kind, &section, SZG_LEVELS_HEAD_BYTES, &front));
  SZG_TRY(read_head(job, front, section.byte_count, head));
  stage->unit = head->unit;
  if (head->mode == SZG_LEVELS_MODE_ZERO) return SZGPU_OK;
  job->shape = (szg_tokens_shape){.group_count = stage->place_count / SZG_LEVELS_GROUP,
                                  .lane_groups_log2 = head->lane_groups_log2,
                                  .is_wide = job->levels.is_wide};
  szg_levels_places const places = szg_levels_places_of(head, stage->tile_count);
  SZG_REQUIRE(places.words <= section.byte_count && (section.byte_count - places.words) % 4 == 0,
              SZGPU_BAD_DATA);
  SZG_TRY(szg_reader_load_front(&frame->reader, kind, &section, places.words, &front));
  job->input.tile_sizes = front + places.tile_sizes;
  job->input.words = section.bytes + places.words;
  job->section = section;
  job->input.word_count = (section.byte_count - places.words) / 4;
  SZG_REQUIRE(stage->tile_count % 2 == 0 ||
                  szg_load_u16(job->input.tile_sizes + 2 * stage->tile_count) == 0,
              SZGPU_BAD_DATA);
  SZG_TRY(szg_tokens_books_read(front + SZG_LEVELS_HEAD_BYTES, head->book_bytes, head->mode,
                                plan->books));
  szg_tokens_decoder_build(plan->books, head->mode, plan->decoder);
  return place_words(job, stage->tile_count);
}

/* ---- its tiles ---- */

static szgpu_status restore_tile(const levels_job *job, uint64_t tile_index, const uint8_t *words,
                                 uint32_t word_count, int worker) {
  const szg_levels_memory *const memory = &job->memory;
  const szg_levels_stage *const stage = &job->levels.stages[job->stage];
  if (szg_reader_only_asks(&job->frame->reader))
    return word_count == 0
               ? SZGPU_OK
               : szg_reader_ask(&job->frame->reader, &job->section,
                                (uint64_t)(words - job->section.bytes), 4 * (uint64_t)word_count);
  size_t const code_bytes = job->levels.is_wide ? sizeof(int64_t) : sizeof(int32_t);
  void *const codes = szg_levels_codes_of(memory, worker);
  if (word_count == 0) {
    memset(codes, 0, stage->place_count * code_bytes);
  } else {
    uint64_t existing[SZG_TOKENS_MOST_GROUPS];
    bool const is_full = szg_levels_tile_is_full(&job->levels, job->stage, tile_index);
    if (!is_full) szg_levels_existing_places(&job->levels, job->stage, tile_index, existing);
    SZG_TRY(szg_tokens_decode_tile(job->frame->plan->levels.decoder, &job->shape,
                                   is_full ? NULL : existing, words, word_count,
                                   &memory->token_work[worker], codes));
  }
  bool const is_last = job->stage == job->levels.level_count;
  szg_levels_restore_tile(&job->levels, job->stage, tile_index, &job->lattice, codes,
                          &memory->work[worker], memory->grids, is_last ? job->values : NULL);
  return SZGPU_OK;
}

/* False for planes that a region leaves out, if the frame codes each plane by itself, and for tiles
 * that are not needed. */
static bool is_wanted(const levels_job *job, uint64_t tile_index) {
  const szg_region *const region = job->frame->region;
  const szg_levels_stage *const stage = &job->levels.stages[job->stage];
  if (!region) return true; /* tiles of rows follow one another */
  if (!szg_box_has_tile(&job->tiles[job->stage], stage->z_tiles, stage->y_tiles, stage->x_tiles,
                        tile_index))
    return false;
  if (job->levels.axis_count == 3) return true;
  uint64_t const box = tile_index / (stage->z_tiles * stage->y_tiles * stage->x_tiles);
  uint64_t const z = box % region->extent[1];
  return z >= region->first[1] && (z - region->first[1]) % region->step[1] == 0 &&
         (z - region->first[1]) / region->step[1] < region->count[1];
}

static szg_tile_range span_of(const levels_job *job) {
  const szg_levels_stage *const s = &job->levels.stages[job->stage];
  return szg_box_range(&job->tiles[job->stage], s->z_tiles, s->y_tiles, s->x_tiles);
}

static szgpu_status restore_part(void *job_pointer, uint64_t part_from_first, int worker) {
  const levels_job *const job = job_pointer;
  szg_tile_range const span = span_of(job);
  bool const is_zero = job->input.head.mode == SZG_LEVELS_MODE_ZERO;
  uint64_t const part = span.first_tile / SZG_LEVELS_PART_TILES + part_from_first;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_LEVELS_PART_TILES, span.end_tile);
  const uint8_t *words = is_zero ? NULL : job->input.words + 4 * job->first_words[part];
  for (uint64_t t = part * SZG_LEVELS_PART_TILES; t < end_tile; t++) {
    uint32_t const word_count = is_zero ? 0 : szg_load_u16(job->input.tile_sizes + 2 * t);
    if (t >= span.first_tile && is_wanted(job, t))
      SZG_TRY(restore_tile(job, t, words, word_count, worker));
    if (!is_zero) words += 4 * (size_t)word_count;
  }
  return SZGPU_OK;
}

static szgpu_status restore_stage(levels_job *job) {
  bool const is_last = job->stage + 1 == job->end_stage;
  szg_tile_range const span = span_of(job);
  bool is_open;
  SZG_TRY(open_stage(job, &is_open));
  if (!is_open) return SZGPU_OK;
  uint64_t const first_part = span.first_tile / SZG_LEVELS_PART_TILES;
  uint64_t const end_part = szg_div_up(span.end_tile, SZG_LEVELS_PART_TILES);
  return szg_for_parts(&job->frame->reader.ctx->threads, end_part - first_part,
                       is_last ? job->frame->wanted_values : 0, restore_part, job);
}

static szgpu_status restore_stages(levels_job *job) {
  for (job->stage = 0; job->stage < job->end_stage; job->stage++) SZG_TRY(restore_stage(job));
  return SZGPU_OK;
}

/* ---- rows ---- */

static szgpu_status restore_rows(levels_job *job) {
  szg_read_job *const frame = job->frame;
  size_t const width = value_bytes(job);
  szg_box const points = szg_levels_points_of_values(&job->levels, frame->first_value,
                                                     frame->first_value + frame->value_count);
  job->end_stage = job->levels.level_count + 1;
  SZG_TRY(open_memory(job, &points));
  uintptr_t const first_place = (uintptr_t)frame->values - frame->first_value * width;
  job->values = is_cut_fold(job) ? job->all_values : (uint8_t *)first_place;
  SZG_TRY(restore_stages(job));
  if (is_cut_fold(job) && !szg_reader_only_asks(&frame->reader))
    memcpy(frame->values, job->all_values + frame->first_value * width, frame->value_count * width);
  return SZGPU_OK;
}

/* ---- a region ---- */

enum { SHOWN_ROWS = 64 }; /* that a worker takes at once */

szgpu_status szg_levels_frame_require_level(szgpu_ctx *ctx, const szg_frame_facts *facts,
                                            uint32_t level) {
  const szg_levels_facts *const own = &facts->frame->levels;
  unsigned long long const number = facts->frame->index;
  if (own->fold)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "frame %llu is folded to rows of %llu: it has no levels of the field", number,
                    (unsigned long long)own->fold);
  if (level <= own->level_count) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "frame %llu goes up to level %u, not to %u", number,
                  own->level_count, level);
}

/* Whether the axis (of a box) is interpolated. */
static bool has_levels(const szg_levels *levels, int axis) {
  return axis > 0 && (uint32_t)(SZG_BOX_AXES - axis) <= levels->axis_count;
}

/* The coarsest stage whose grid has all values of the region. It is finer than the region only if
 * the frame begins between two planes of that. */
static uint32_t stage_of_region(const szg_region *region, const szg_levels *levels) {
  uint64_t firsts = 0;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++)
    if (has_levels(levels, axis)) firsts |= region->first[axis];
  uint32_t level = region->level;
  while (firsts & (((uint64_t)1 << level) - 1)) level--;
  return levels->level_count - level;
}

/* The region as points of the stage's grid. */
static szg_box points_of_region(const levels_job *job, uint64_t spacing) {
  const szg_region *const region = job->frame->region;
  szg_box points;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    uint64_t const last = region->first[axis] + (region->count[axis] - 1) * region->step[axis];
    uint64_t const apart = has_levels(&job->levels, axis) ? spacing : 1;
    points.first[axis] = region->first[axis] / apart;
    points.end[axis] = last / apart + 1;
  }
  if (job->levels.axis_count == 3) return points;
  /* Each plane is a box of its own. */
  points.first[0] = points.first[0] * region->extent[1] + points.first[1];
  points.end[0] = (points.end[0] - 1) * region->extent[1] + points.end[1];
  points.first[1] = 0;
  points.end[1] = 1;
  return points;
}

/* Converts rows of the region from the grid of the last stage. */
static szgpu_status show_rows(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const levels_job *const job = job_pointer;
  const szg_region *const region = job->frame->region;
  const szg_levels *const levels = &job->levels;
  uint32_t const last = job->end_stage - 1;
  const szg_levels_stage *const stage = &levels->stages[last];
  uint64_t const y_spacing = has_levels(levels, 2) ? stage->spacing : 1;
  uint64_t const row_bytes = region->count[3] * value_bytes(job);
  uint64_t const end_row = szg_min_u64((part + 1) * SHOWN_ROWS, szg_region_row_count(region));
  for (uint64_t row = part * SHOWN_ROWS; row < end_row; row++) {
    uint64_t const frame_row = szg_region_row_at(region, row) / region->extent[3];
    uint64_t const plane = frame_row / region->extent[2], y = frame_row % region->extent[2];
    bool const is_volume = levels->axis_count == 3;
    uint64_t const box = is_volume ? plane / region->extent[1] : plane;
    uint64_t const z = is_volume ? plane % region->extent[1] / stage->spacing : 0;
    uint64_t const first =
        szg_levels_point_at(stage, box, z, y / y_spacing, region->first[3] / stage->spacing);
    szg_levels_restore_points(&job->lattice, job->memory.grids[last], first,
                              region->step[3] / stage->spacing, region->count[3],
                              region->values + row * row_bytes);
  }
  return SZGPU_OK;
}

static szgpu_status restore_region(levels_job *job) {
  const szg_region *const region = job->frame->region;
  assert(!job->levels.fold);
  job->end_stage = stage_of_region(region, &job->levels) + 1;
  szg_box const points = points_of_region(job, job->levels.stages[job->end_stage - 1].spacing);
  SZG_TRY(open_memory(job, &points));
  SZG_TRY(restore_stages(job));
  if (szg_reader_only_asks(&job->frame->reader)) return SZGPU_OK;
  uint64_t const part_count = szg_div_up(szg_region_row_count(region), SHOWN_ROWS);
  return szg_for_parts(&job->frame->reader.ctx->threads, part_count, 0, show_rows, job);
}

/* ---- the frame ---- */

szgpu_status szg_levels_frame_restore(szg_read_job *frame) {
  static const szg_tile_steps outliers_only = {NULL, NULL};
  levels_job job;
  SZG_TRY(open_job(&job, frame));
  SZG_TRY(frame->region ? restore_region(&job) : restore_rows(&job));
  if (!frame->outliers.exact_counts.bytes && !frame->outliers.fill_counts.bytes) return SZGPU_OK;
  frame->wanted_values = 0; /* they have been counted */
  return szg_tiles_restore(frame, &outliers_only);
}
