/* top_plane_read.c - a top plane frame on the CPU: codes and stored planes to values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/planes/top_plane_frame.h"

#include <string.h>

#include "codecs/planes/plane_bytes.h"
#include "codecs/read.h"

void szg_top_plane_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                                    szg_read_plan *plan) {
  szg_top_plane_read_plan *const own = &plan->top_plane;
  szg_stream_carve_read(arena, request->thread_count, &plan->stream);
  own->workers = szg_arena_take(arena, (uint64_t)request->thread_count, sizeof *own->workers);
}

/* The frame is read as a one-dimensional grid. */
szgpu_status szg_top_plane_frame_open(szg_read_job *job) {
  szg_reader *const reader = &job->reader;
  uint64_t bit_count;
  job->grid = szg_grid_of_line(job->grid.value_count);
  job->first_tile = job->first_value / SZG_TILE_VALUES;
  job->end_tile = szg_div_up(job->first_value + job->value_count, SZG_TILE_VALUES);
  job->line_values = 1;
  job->sizes_are_bits = true;
  SZG_TRY(szg_reader_map(reader, SZG_SECTION_RAW, &job->stored));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_TILE_SIZES, &job->tile_sizes));
  SZG_TRY(szg_stream_load(job));
  if (reader->is_waiting) return SZGPU_OK;
  SZG_TRY(szg_tiles_scan(job, &bit_count));
  return szg_stream_open(job, bit_count, true);
}

/* The symbols of the tile's highest plane. */
static const uint8_t *symbols_of(const szg_read_job *job, uint64_t tile_index, const szg_tile *tile,
                                 int worker) {
  const uint16_t *const codes = szg_stream_codes_of(job, tile_index, tile, worker);
  if (!codes) return job->stream.symbols + tile->first_code;
  uint8_t *const symbols = job->plan->top_plane.workers[worker].symbols;
  for (uint32_t i = 0; i < tile->value_count; i++) symbols[i] = (uint8_t)codes[i];
  return symbols;
}

/* A tile that is only wanted in part goes through the worker's own memory. */
static szgpu_status join_tile(const szg_read_job *job, uint64_t tile_index, const szg_tile *tile,
                              const szg_part_start *at, const szg_tile_target *target, int worker) {
  (void)at, (void)target;
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(job->header->shape.dtype);
  uint64_t const first = tile->first_value, end = first + tile->value_count;
  uint64_t const first_wanted = job->first_value, end_wanted = first_wanted + job->value_count;
  uint64_t const plane_bytes = szg_stored_plane_bytes(job->grid.value_count);
  const uint8_t *planes[SZG_PLANES_MOST];
  if (szg_reader_only_asks(&job->reader)) {
    for (uint32_t p = 0; p + 1 < value_bytes; p++)
      SZG_TRY(szg_reader_ask(&job->reader, &job->stored, p * plane_bytes + first, end - first));
    return SZGPU_OK;
  }
  for (uint32_t p = 0; p + 1 < value_bytes; p++)
    planes[p] = job->stored.bytes + p * plane_bytes + first;
  planes[value_bytes - 1] = symbols_of(job, tile_index, tile, worker);
  bool const is_whole = !job->region && first >= first_wanted && end <= end_wanted;
  uint8_t *const to = is_whole ? job->values + (first - first_wanted) * value_bytes
                               : job->plan->top_plane.workers[worker].values;
  szg_planes_join(planes, tile->value_count, value_bytes, to);
  if (job->region) szg_region_take_line(job->region, first, end, value_bytes, to);
  if (is_whole || job->region) return SZGPU_OK;
  uint64_t const begin = first > first_wanted ? first : first_wanted;
  memcpy(job->values + (begin - first_wanted) * value_bytes, to + (begin - first) * value_bytes,
         (szg_min_u64(end, end_wanted) - begin) * value_bytes);
  return SZGPU_OK;
}

szgpu_status szg_top_plane_frame_restore(szg_read_job *job) {
  static const szg_tile_steps steps = {szg_stream_decode_part, join_tile};
  return szg_tiles_restore(job, &steps);
}
