/* frame.c - levels frames: what headers and sections they may have, and their memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/frame.h"

#include "core/bytes.h"
#include "core/context.h"

static_assert((int)SZGPU_MAX_LEVEL == (int)SZG_LEVELS_MOST, "one limit");

bool szg_levels_frame_may_occur(const szg_header *archive) { return archive->has_levels; }

bool szg_levels_of_frame(const szg_grid *grid, const szg_frame_header *frame, szg_levels *levels) {
  const szg_levels_facts *const facts = &frame->levels;
  if (!szg_levels_make(grid, facts->axis_count, facts->fold, facts->level_count, levels))
    return false;
  levels->fine_bits = facts->fine_bits;
  levels->base_axes = frame->axes;
  levels->is_linear = facts->is_linear;
  levels->is_wide = facts->is_wide;
  levels->is_halved = facts->is_halved;
  levels->is_blended = facts->is_blended;
  levels->is_quintic = facts->is_quintic;
  memcpy(levels->ranks, facts->ranks, sizeof levels->ranks);
  return true;
}

void szg_levels_set_header(const szg_levels *levels, szg_frame_header *header) {
  header->kind = SZG_FRAME_LEVELS;
  header->axes = levels->base_axes;
  header->levels = (szg_levels_facts){.axis_count = levels->axis_count,
                                      .level_count = levels->level_count,
                                      .fine_bits = levels->fine_bits,
                                      .is_linear = levels->is_linear,
                                      .is_wide = levels->is_wide,
                                      .is_halved = levels->is_halved,
                                      .is_blended = levels->is_blended,
                                      .is_quintic = levels->is_quintic,
                                      .fold = levels->fold};
  memcpy(header->levels.ranks, levels->ranks, sizeof levels->ranks);
}

/* ---- frames of many tiles that are cut off ---- */

/* Places for each value; a folded line gets fewer, because memory is taken for any fold. */
enum { MOST_PLACES = 4, MOST_FOLDED_PLACES = 2, SPARE_PLACES = 1 << 20 };

static bool is_dense(const szg_levels *levels) {
  uint64_t most;
  if (!szg_mul_checked(levels->value_count, levels->fold ? MOST_FOLDED_PLACES : MOST_PLACES, &most))
    return false;
  for (uint32_t i = 0; i <= levels->level_count; i++) {
    const szg_levels_stage *const stage = &levels->stages[i];
    uint64_t places;
    if (!szg_mul_checked(stage->tile_count, stage->place_count, &places)) return false;
    if (places > most && places - most > SPARE_PLACES) return false;
  }
  return true;
}

static bool are_dense_in(const szg_grid *largest_frame, const szg_levels *levels) {
  szg_levels largest;
  return szg_levels_make(largest_frame, levels->axis_count, levels->fold, levels->level_count,
                         &largest) &&
         is_dense(&largest);
}

bool szg_levels_are_dense(const szg_write_request *request, const szg_levels *levels) {
  return are_dense_in(&request->frame_grid, levels);
}

static void raise_most(uint64_t *most, uint64_t size) {
  if (size > *most) *most = size;
}

static void raise_to_levels(const szg_levels *levels, szg_levels_most *most) {
  enum { ALIGNED_POINTS = SZG_ARENA_ALIGNMENT / sizeof(int32_t) };
  uint64_t grid_points = 0;
  for (uint32_t i = 0; i <= levels->level_count; i++) {
    const szg_levels_stage *const stage = &levels->stages[i];
    raise_most(&most->tiles, stage->tile_count);
    raise_most(&most->places, stage->tile_count * stage->place_count);
    if (i < levels->level_count) grid_points += szg_align_up(stage->point_count, ALIGNED_POINTS);
  }
  raise_most(&most->grid_points, grid_points);
}

/* A folded line may have rows of any length. Its grids before the last have fewer points than the
 * line: each has about half of the last's in a row, or in a column, of two, and a fourth in others;
 * what rounding up adds is less than the spare points. */
static void raise_to_folds(uint64_t value_count, szg_levels_most *most) {
  enum { LEAST_TILE_PLACES = 3 * 16 * 8, SPARE_POINTS = 1024 };
  uint64_t const places = MOST_FOLDED_PLACES * value_count + SPARE_PLACES;
  raise_most(&most->places, places);
  raise_most(&most->tiles, places / LEAST_TILE_PLACES);
  raise_most(&most->grid_points, value_count + SPARE_POINTS);
}

szg_levels_most szg_levels_most_of(const szg_grid *grid) {
  szg_levels_most most = {0};
  for (uint32_t axis_count = 1; axis_count <= 3; axis_count++)
    for (uint32_t level_count = 0; level_count <= SZG_LEVELS_MOST; level_count++) {
      szg_levels levels;
      bool const may_be = szg_levels_make(grid, axis_count, 0, level_count, &levels);
      if (may_be && is_dense(&levels)) raise_to_levels(&levels, &most);
    }
  if (szg_grid_axes(grid) == SZG_AXIS_X) raise_to_folds(grid->value_count, &most);
  return most;
}

/* ---- headers and sections ---- */

/* The grid of an archive's first frame, than which none is larger. */
static bool find_largest_frame(const szg_header *archive, szg_grid *largest) {
  if (!szg_shape_is_valid(&archive->shape)) return false;
  szg_grid const field = szg_header_grid(archive);
  *largest = szg_grid_of_rows(&field, szg_min_u64(archive->frame_rows, field.row_extent));
  return true;
}

/* Ranks of interpolated axes only, and none without levels or with blended stencils. */
static bool ranks_are_sound(const szg_levels_facts *facts) {
  for (uint32_t axis = 0; axis < 3; axis++) {
    bool const has_rank = facts->level_count > 0 && !facts->is_blended && axis < facts->axis_count;
    if (facts->ranks[axis] > (has_rank ? SZG_LEVELS_MOST_RANK : 0)) return false;
  }
  return true;
}

bool szg_levels_frame_is_sound(const szg_frame_facts *facts) {
  const szg_frame_header *const frame = facts->frame;
  const szg_levels_facts *const own = &frame->levels;
  szg_levels levels;
  szg_grid largest;
  if (!szg_levels_of_frame(&facts->grid, frame, &levels)) return false;
  if (!find_largest_frame(facts->archive, &largest) || !are_dense_in(&largest, &levels))
    return false;
  bool sound = szg_is_positive(facts->archive->step) && ranks_are_sound(own);
  sound &= frame->axes > 0 && frame->axes < 1u << own->axis_count;
  sound &= own->fine_bits <= SZG_LEVELS_MOST_FINE && (own->fine_bits > 0) == (own->level_count > 0);
  bool const may_be_halved =
      facts->archive->has_halved && own->axis_count == 1 && own->level_count > 0;
  bool const may_be_blended =
      facts->archive->has_blended && own->axis_count > 1 && own->level_count > 0;
  sound &= (!own->is_halved || may_be_halved) && (!own->is_blended || may_be_blended);
  sound &= !own->is_quintic || (own->is_blended && !own->is_linear);
  return sound && (own->level_count > 0 || !own->is_linear);
}

/* A section holds its head at least, and at most more than any tile can have. */
void szg_levels_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  szg_levels levels;
  if (!szg_levels_of_frame(&facts->grid, facts->frame, &levels)) return;
  uint64_t const values_bytes = facts->frame->value_count * facts->value_bytes;
  /* Encoders do not count sections that have a head only. */
  rules->most_bytes += (levels.level_count + 1) * (uint64_t)SZG_LEVELS_HEAD_BYTES;
  for (uint32_t i = 0; i <= levels.level_count; i++)
    szg_rule_add(rules, szg_levels_section(i), true, SZG_LEVELS_HEAD_BYTES,
                 SZG_LEVELS_HEAD_BYTES + values_bytes, 4);
  szg_outlier_rules(facts, rules);
}

void szg_levels_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info) {
  const szg_levels_facts *const own = &facts->frame->levels;
  info->lattice_bits = own->is_wide ? 64 : 32;
  info->level_count = own->level_count;
  info->fold = own->fold;
  info->predictor = "differences";
  if (own->level_count == 0) return;
  info->predictor = "interpolation";
  info->interpolated_axes = own->axis_count;
  if (own->is_blended)
    info->stencil = own->is_quintic  ? "blended quintic"
                    : own->is_linear ? "blended linear"
                                     : "blended cubic";
  else
    info->stencil = own->is_linear ? "linear" : "cubic";
}

bool szg_levels_frame_serves(const szg_write_request *request) {
  return !request->is_lossless && request->layout == SZGPU_LAYOUT_TILE &&
         request->predictor != SZGPU_PREDICTOR_LORENZO;
}

bool szg_levels_frame_suits(const szg_bound_plan *bound) {
  return !bound->is_constant && !bound->is_hopeless;
}

void szg_levels_head_write(const szg_levels_head *head, uint8_t *bytes) {
  memset(bytes, 0, SZG_LEVELS_HEAD_BYTES);
  bytes[0] = (uint8_t)head->mode;
  bytes[1] = (uint8_t)head->lane_groups_log2;
  szg_store_u32(bytes + 4, head->unit);
  szg_store_u32(bytes + 8, head->book_bytes);
}

szg_levels_places szg_levels_places_of(const szg_levels_head *head, uint64_t tile_count) {
  if (head->mode == SZG_LEVELS_MODE_ZERO)
    return (szg_levels_places){SZG_LEVELS_HEAD_BYTES, SZG_LEVELS_HEAD_BYTES};
  uint64_t const tile_sizes = SZG_LEVELS_HEAD_BYTES + (uint64_t)head->book_bytes;
  return (szg_levels_places){tile_sizes, szg_align_up(tile_sizes + 2 * tile_count, 4)};
}

uint32_t szg_levels_lane_bits(const szg_levels *levels, uint32_t stage) {
  const szg_levels_stage *const s = &levels->stages[stage];
  bool const is_base = stage == 0 && levels->level_count > 0 && levels->axis_count == 3;
  uint64_t const box_points = s->z_extent * s->y_extent * s->x_extent;
  uint64_t const box_tiles = s->z_tiles * s->y_tiles * s->x_tiles;
  bool const is_awaited = is_base && s->tile_count >= SZG_LEVELS_AWAITED_TILES &&
                          box_points / box_tiles >= SZG_LEVELS_AWAITED_POINTS;
  return is_awaited ? 0 : szg_tokens_lane_bits(s->tile_count);
}

szg_levels_lattice szg_levels_lattice_of(const szg_header *header, const szg_levels *levels) {
  szg_levels_lattice lattice =
      szg_levels_lattice_make(szg_header_coded_dtype(header), levels->is_wide, levels->fine_bits,
                              header->step, header->has_fill, header->fill_bits);
  if (header->has_limits) szg_levels_lattice_set_limits(header->least, header->greatest, &lattice);
  return lattice;
}

void szg_levels_carve_grids(szg_arena *arena, const szg_levels *levels, uint32_t grid_count,
                            size_t width, void *grids[SZG_LEVELS_MOST + 1]) {
  for (uint32_t i = 0; i <= SZG_LEVELS_MOST; i++) {
    bool const is_needed = i < grid_count;
    grids[i] = is_needed ? szg_arena_take(arena, levels->stages[i].point_count, width) : NULL;
  }
}

void szg_levels_carve(szg_arena *arena, const szg_levels *levels, uint32_t grid_count,
                      int thread_count, szg_levels_memory *memory) {
  size_t const lattice_bytes = levels->is_wide ? sizeof(int64_t) : sizeof(int32_t);
  uint64_t const threads = (uint64_t)thread_count;
  szg_levels_carve_grids(arena, levels, grid_count, lattice_bytes, memory->grids);
  memory->work = szg_arena_take(arena, threads, sizeof *memory->work);
  memory->token_work = szg_arena_take(arena, threads, sizeof *memory->token_work);
  memory->codes = szg_arena_take(arena, threads * SZG_LEVELS_MOST_PLACES, sizeof *memory->codes);
}

szgpu_status szg_levels_arena_open(szgpu_ctx *ctx, szg_arena *arena) {
  return szg_arena_open_in(ctx, &ctx->kept[SZG_KEPT_KIND], arena, arena);
}
