/* decompress_top_plane.c - a linear frame's values without loss: its codes and the stored planes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes are read as of any linear frame; what is here is what becomes of them.
 */
#include "pipeline/top_plane.h"

#include <string.h>

#include "lossless/plane_bytes.h"
#include "pipeline/decompress_frame.h"

static uint32_t value_bytes_of(const szg_decode_job *job) {
  return (uint32_t)szg_dtype_bytes(job->header->shape.dtype);
}

/* A tile that is wanted in part only goes through the worker's own memory. */
void szg_join_top_plane_tile(const szg_decode_job *job, const szg_tile *tile, const uint16_t *codes,
                             const uint8_t *symbols, szg_decode_worker *worker) {
  uint32_t const value_bytes = value_bytes_of(job);
  uint64_t const first = tile->first_value, end = first + tile->value_count;
  uint64_t const first_wanted = job->first_value, end_wanted = first_wanted + job->value_count;
  uint64_t const plane_bytes = szg_stored_plane_bytes(job->grid.value_count);
  const uint8_t *planes[SZG_PLANES_MOST];
  for (uint32_t p = 0; p + 1 < value_bytes; p++)
    planes[p] = job->stored_planes + p * plane_bytes + first;
  if (!symbols) {
    for (uint32_t i = 0; i < tile->value_count; i++) worker->symbols[i] = (uint8_t)codes[i];
    symbols = worker->symbols;
  }
  planes[value_bytes - 1] = symbols;
  bool const is_whole = first >= first_wanted && end <= end_wanted;
  uint8_t *const to =
      is_whole ? job->values + (first - first_wanted) * value_bytes : worker->plane_values;
  szg_planes_join(planes, tile->value_count, value_bytes, to);
  if (is_whole) return;
  uint64_t const begin = first > first_wanted ? first : first_wanted;
  memcpy(job->values + (begin - first_wanted) * value_bytes, to + (begin - first) * value_bytes,
         (szg_min_u64(end, end_wanted) - begin) * value_bytes);
}

szgpu_status szg_restore_top_plane(szg_decode_job *job, uint64_t value_count) {
  uint64_t const stored_bytes =
      szg_top_plane_stored_bytes(job->grid.value_count, value_bytes_of(job));
  szg_loaded stored = {0};
  if (stored_bytes)
    SZG_TRY(
        szg_reader_load(&job->reader, SZG_SECTION_RAW, true, stored_bytes, stored_bytes, &stored));
  job->stored_planes = stored.bytes;
  job->grid = szg_grid_of_line(job->grid.value_count);
  job->value_count = value_count;
  job->first_tile = job->first_value / SZG_TILE_VALUES;
  job->end_tile = szg_div_up(job->first_value + value_count, SZG_TILE_VALUES);
  return szg_decode_tiles(job);
}
