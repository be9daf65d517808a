/* plan.c - the layout of a compression's workspace.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/plan.h"

#include "container/container.h"

/* More than threads, so that one that is slow does not hold up the others. */
enum { SLOTS_OF_THREAD = 4 };

/* Codes of the longest stream there could be. Values divided by them do not overflow; the bits of
 * 2^60 values and more would. */
enum {
  SUBSEQUENCE_CODES = SZG_SUBSEQUENCE_BITS / SZG_MAX_CODE_BITS,
  SEQUENCE_CODES = SZG_SEQUENCE_BITS / SZG_MAX_CODE_BITS
};
static_assert(SZG_SUBSEQUENCE_BITS % SZG_MAX_CODE_BITS == 0, "the longest codes fill subsequences");

static void carve_linear(szg_arena *arena, const szg_plan_request *request,
                         szg_compress_plan *plan) {
  uint64_t const tile_count = request->frame_grid.tile_count;
  uint64_t const value_count = request->frame_grid.value_count;
  plan->tile_bits = szg_arena_take(arena, tile_count, sizeof *plan->tile_bits);
  plan->runs = szg_arena_take(arena, szg_div_up(tile_count, SZG_PART_TILES), sizeof *plan->runs);
  plan->gaps =
      szg_arena_take(arena, szg_div_up(value_count, SUBSEQUENCE_CODES), sizeof *plan->gaps);
  plan->sequence_codes =
      szg_arena_take(arena, szg_div_up(value_count, SEQUENCE_CODES), sizeof *plan->sequence_codes);
  plan->encoder_table = szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof *plan->encoder_table);
  for (int i = 0; i < request->thread_count; i++) {
    uint32_t *const histogram =
        szg_arena_take(arena, SZG_HISTOGRAM_COPIES * SZG_MAX_SYMBOLS, sizeof *histogram);
    uint64_t *const totals = szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof *totals);
    if (!plan->workers) continue; /* measuring */
    plan->workers[i].histogram = histogram;
    plan->workers[i].totals = totals;
  }
}

static void carve_tile(szg_arena *arena, const szg_plan_request *request, szg_compress_plan *plan) {
  uint64_t const part_bytes =
      SZG_PART_TILES * SZG_TILE_VALUES * (uint64_t)szg_dtype_bytes(request->dtype);
  uint64_t const part_count = szg_div_up(request->frame_grid.tile_count, SZG_PART_TILES);
  uint64_t const most_slots =
      request->thread_count > 1 ? (uint64_t)request->thread_count * SLOTS_OF_THREAD : 1;
  plan->slot_count = (uint32_t)szg_min_u64(most_slots, part_count);
  plan->tile_sizes =
      szg_arena_take(arena, request->frame_grid.tile_count, sizeof *plan->tile_sizes);
  plan->encoder = szg_arena_take(arena, 1, sizeof *plan->encoder);
  plan->kept_count = (uint32_t)szg_min_u64(request->frame_grid.tile_count, SZG_MOST_KEPT);
  plan->kept = szg_arena_take(arena, plan->kept_count, sizeof *plan->kept);
  plan->slots = szg_arena_take(arena, plan->slot_count, sizeof *plan->slots);
  for (uint32_t i = 0; i < plan->slot_count; i++) {
    uint8_t *const words = szg_arena_take(arena, part_bytes, 1);
    if (plan->slots) plan->slots[i].words = words;
  }
}

/* What frames with codes work on, but for lossless ones of the tile layout. */
static void carve_coded(szg_arena *arena, const szg_plan_request *request,
                        szg_compress_plan *plan) {
  plan->book_bytes = szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  plan->book = szg_arena_take(arena, 1, sizeof *plan->book);
  plan->book_work = szg_arena_take(arena, 1, sizeof *plan->book_work);
  plan->workers = szg_arena_take(arena, (uint64_t)request->thread_count, sizeof *plan->workers);
  if (request->layout == SZGPU_LAYOUT_LINEAR)
    carve_linear(arena, request, plan);
  else
    carve_tile(arena, request, plan);
}

/* What frames with a bound work on besides. */
static void carve_bounded(szg_arena *arena, const szg_plan_request *request,
                          szg_compress_plan *plan) {
  uint64_t const tile_count = request->frame_grid.tile_count;
  uint64_t const part_count = szg_div_up(tile_count, SZG_PART_TILES);
  plan->counts.exact_mask_bytes = szg_arena_take(arena, tile_count, sizeof(uint16_t));
  plan->counts.exact_values = szg_arena_take(arena, tile_count, sizeof(uint16_t));
  plan->counts.fill_mask_bytes = szg_arena_take(arena, tile_count, sizeof(uint16_t));
  plan->lists = szg_arena_take(arena, part_count, sizeof *plan->lists);
  plan->choice_work = szg_arena_take(arena, 1, sizeof *plan->choice_work);
  if (request->layout == SZGPU_LAYOUT_LINEAR)
    plan->counts.escapes = szg_arena_take(arena, tile_count, sizeof(uint16_t));
}

void szg_compress_plan_carve(szg_arena *arena, const szg_plan_request *request,
                             szg_compress_plan *plan) {
  plan->frame_bytes = szg_arena_take(arena, request->frame_count, sizeof *plan->frame_bytes);
  if (request->layout == SZGPU_LAYOUT_TILE)
    szg_planes_plan_carve(arena, request->frame_grid.value_count, request->thread_count,
                          &plan->planes);
  bool const is_linear = request->layout == SZGPU_LAYOUT_LINEAR;
  if (!request->is_lossless || is_linear) carve_coded(arena, request, plan);
  if (!request->is_lossless) carve_bounded(arena, request, plan);
}

bool szg_max_archive_bytes(const szg_grid *grid, size_t value_bytes, uint64_t frame_count,
                           uint64_t *archive_bytes) {
  uint64_t header_bytes, frame_headers_bytes, field_bytes;
  uint64_t const per_frame =
      szg_frame_header_bytes(SZG_SECTION_KIND_COUNT) + SZG_SECTION_KIND_COUNT * SZG_ALIGNMENT;
  return szg_header_bytes(frame_count, &header_bytes) &&
         szg_mul_checked(frame_count, per_frame, &frame_headers_bytes) &&
         szg_mul_checked(grid->value_count, value_bytes, &field_bytes) &&
         szg_add_checked(header_bytes, frame_headers_bytes, archive_bytes) &&
         szg_add_checked(*archive_bytes, field_bytes, archive_bytes);
}
