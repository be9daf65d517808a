/* top_plane_write.c - a top plane frame on the CPU: the highest plane as codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --highest plane--> codes counted --> book --> stream --> sections
 *          --the others-----> stored ----------------------------> section
 */
#include "codecs/planes/top_plane_frame.h"

#include <string.h>

#include "codecs/planes/plane_bytes.h"
#include "codecs/write.h"

/* The codes do not follow the field's shape. */
void szg_top_plane_frame_carve_write(szg_arena *arena, const szg_write_request *request,
                                     szg_write_plan *plan) {
  szg_grid const line = szg_grid_of_line(request->frame_grid.value_count);
  szg_stream_carve_write(arena, &line, request->thread_count, &plan->stream);
}

static const uint8_t *values_of(const szg_write_job *job, const szg_tile *tile) {
  return (const uint8_t *)job->values + tile->first_value * szg_dtype_bytes(job->request->dtype);
}

/* Turns the highest plane of a part's values into codes and counts them. */
static szgpu_status take_part(void *job_pointer, uint64_t part, int worker) {
  szg_write_job *const job = job_pointer;
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(job->request->dtype);
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(job, part); t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    uint16_t *const codes = job->plan->stream.codes + tile.first_code;
    uint8_t symbols[SZG_TILE_VALUES];
    szg_plane_take(values_of(job, &tile), tile.value_count, value_bytes, value_bytes - 1, symbols);
    for (uint32_t i = 0; i < tile.value_count; i++) codes[i] = symbols[i];
    szg_stream_count(job, SZG_TOP_PLANE_RADIUS, codes, tile.value_count, worker);
  }
  return SZGPU_OK;
}

/* The other planes, as they will be stored. */
typedef struct stored_job {
  const szg_write_job *frame;
  uint8_t *planes;
  uint64_t plane_bytes; /* from one to the next */
} stored_job;

static szgpu_status store_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const stored_job *const job = job_pointer;
  const szg_write_job *const frame = job->frame;
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(frame->request->dtype);
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(frame, part); t++) {
    szg_tile const tile = szg_tile_at(&frame->grid, t);
    for (uint32_t plane = 0; plane + 1 < value_bytes; plane++)
      szg_plane_take(values_of(frame, &tile), tile.value_count, value_bytes, plane,
                     job->planes + plane * job->plane_bytes + tile.first_value);
  }
  return SZGPU_OK;
}

static szgpu_status write_stored(const szg_write_job *frame, uint64_t stored_bytes,
                                 szg_writer *writer) {
  uint64_t const value_count = frame->grid.value_count;
  stored_job job = {.frame = frame, .plane_bytes = szg_stored_plane_bytes(value_count)};
  SZG_TRY(szg_writer_begin_section(writer, stored_bytes, &job.planes));
  for (uint64_t end = value_count; end < stored_bytes; end += job.plane_bytes)
    memset(job.planes + end, 0, job.plane_bytes - value_count);
  SZG_TRY(szg_for_parts(&frame->ctx->threads, frame->part_count, value_count, store_part, &job));
  return szg_writer_end_section(writer, SZG_SECTION_RAW, stored_bytes);
}

static szgpu_status write_sections(szg_write_job *job, szg_writer *writer,
                                   const szg_stream_sizes *sizes, uint64_t bit_count,
                                   uint64_t stored_bytes, szg_frame_header *frame) {
  uint32_t const stream_sections = szg_stream_section_count(job->has_gaps);
  szg_top_plane_frame_set_header(frame);
  SZG_TRY(szg_writer_begin_frame(writer, frame, stream_sections + (stored_bytes ? 1 : 0)));
  SZG_TRY(szg_stream_write(job, writer, sizes, bit_count));
  return stored_bytes ? write_stored(job, stored_bytes, writer) : SZGPU_OK;
}

/* The job with the values as a one-dimensional grid, as the stream takes them. */
static szg_write_job line_job(const szg_write_job *frame) {
  szg_write_job line = *frame;
  line.grid = szg_grid_of_line(frame->grid.value_count);
  line.part_count = szg_div_up(line.grid.tile_count, SZG_PART_TILES);
  return line;
}

szgpu_status szg_top_plane_frame_write(szg_write_job *frame, szg_writer *writer,
                                       szg_frame_header *header, bool *is_written) {
  szg_write_job job = line_job(frame);
  uint64_t const value_count = job.grid.value_count;
  uint64_t const stored_bytes =
      szg_top_plane_stored_bytes(value_count, szg_dtype_bytes(job.request->dtype));
  uint64_t bit_count;
  SZG_TRY(szg_stream_begin(&job, SZG_TOP_PLANE_RADIUS));
  SZG_TRY(szg_for_parts(&job.ctx->threads, job.part_count, value_count, take_part, &job));
  SZG_TRY(szg_stream_measure(&job, SZG_TOP_PLANE_RADIUS, &bit_count));
  szg_stream_sizes const sizes = szg_stream_size(&job, bit_count);
  *is_written = szg_stream_sizes_sum(&sizes) + stored_bytes < job.raw_bytes;
  if (*is_written) return write_sections(&job, writer, &sizes, bit_count, stored_bytes, header);
  szg_stream_release(&job);
  return SZGPU_OK;
}
