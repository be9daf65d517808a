/* compress_top_plane.c - one frame without loss, linear layout: the highest plane as codes, or raw.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --highest plane--> codes counted --> book --> stream --> sections
 *          --the others-----> stored ----------------------------> section
 */
#include <string.h>

#include "lossless/plane_bytes.h"
#include "pipeline/compress_frame.h"
#include "pipeline/frame_sections.h"
#include "pipeline/top_plane.h"

static const uint8_t *values_of(const szg_frame_job *job, const szg_tile *tile) {
  return (const uint8_t *)job->values + tile->first_value * szg_dtype_bytes(job->dtype);
}

/* The highest plane of a part's values to codes, which are counted. */
static szgpu_status take_part(void *job_pointer, uint64_t part, int worker) {
  szg_frame_job *const job = job_pointer;
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(job->dtype);
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(job, part); t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    uint16_t *const codes = job->plan->codes + tile.first_code;
    uint8_t symbols[SZG_TILE_VALUES];
    szg_plane_take(values_of(job, &tile), tile.value_count, value_bytes, value_bytes - 1, symbols);
    for (uint32_t i = 0; i < tile.value_count; i++) codes[i] = symbols[i];
    szg_codes_count(job, &job->plan->workers[worker], codes, tile.value_count);
  }
  return SZGPU_OK;
}

/* The other planes, as they will be stored. */
typedef struct stored_job {
  const szg_frame_job *frame;
  uint8_t *planes;
  uint64_t plane_bytes; /* from one to the next */
} stored_job;

static szgpu_status store_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const stored_job *const job = job_pointer;
  const szg_frame_job *const frame = job->frame;
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(frame->dtype);
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(frame, part); t++) {
    szg_tile const tile = szg_tile_at(&frame->grid, t);
    for (uint32_t plane = 0; plane + 1 < value_bytes; plane++)
      szg_plane_take(values_of(frame, &tile), tile.value_count, value_bytes, plane,
                     job->planes + plane * job->plane_bytes + tile.first_value);
  }
  return SZGPU_OK;
}

static szgpu_status write_stored(const szg_frame_job *frame, uint64_t stored_bytes,
                                 szg_writer *writer) {
  uint64_t const value_count = frame->grid.value_count;
  stored_job job = {.frame = frame, .plane_bytes = szg_stored_plane_bytes(value_count)};
  SZG_TRY(szg_writer_begin_section(writer, stored_bytes, &job.planes));
  for (uint64_t end = value_count; end < stored_bytes; end += job.plane_bytes)
    memset(job.planes + end, 0, job.plane_bytes - value_count);
  SZG_TRY(szg_for_parts(&frame->ctx->threads, frame->part_count, value_count, store_part, &job));
  return szg_writer_end_section(writer, SZG_SECTION_RAW, stored_bytes);
}

szgpu_status szg_write_top_plane_frame(szg_frame_job *job, szg_writer *writer,
                                       szg_frame_header *frame) {
  uint64_t const value_count = job->grid.value_count;
  uint64_t const stored_bytes =
      szg_top_plane_stored_bytes(value_count, szg_dtype_bytes(job->dtype));
  szg_section_sizes sizes = {0};
  job->choice = (szg_choice){.radius = SZG_TOP_PLANE_RADIUS};
  SZG_TRY(szg_codes_open(job->ctx, value_count, &job->plan->codes));
  szg_codes_reset(job);
  SZG_TRY(szg_for_parts(&job->ctx->threads, job->part_count, value_count, take_part, job));
  SZG_TRY(szg_codes_measure(job));
  szg_size_stream(job, &sizes);
  if (szg_sections_bytes(&sizes) + stored_bytes >= job->raw_bytes)
    return szg_write_raw_frame(job, writer, frame);
  szg_set_top_plane_frame(frame);
  uint32_t const stream_sections = szg_stream_section_count(job->has_gaps);
  SZG_TRY(szg_writer_begin_frame(writer, frame, stream_sections + (stored_bytes ? 1 : 0)));
  SZG_TRY(szg_write_stream(job, writer, &sizes));
  return stored_bytes ? write_stored(job, stored_bytes, writer) : SZGPU_OK;
}
