/* write.c - a linear frame on the CPU: predict and quantize, codes, stream, escapes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/linear/frame.h"

#include "codecs/write.h"

/* One linear frame being written. */
typedef struct linear_job {
  szg_write_job *frame;
  szg_choice choice;
} linear_job;

void szg_linear_frame_carve_write(szg_arena *arena, const szg_write_request *request,
                                  szg_write_plan *plan) {
  szg_linear_write_plan *const own = &plan->linear;
  szg_stream_carve_write(arena, &request->frame_grid, request->thread_count, &plan->stream);
  plan->outliers.counts.escapes =
      szg_arena_take(arena, request->frame_grid.tile_count, sizeof(uint16_t));
  own->choice_work = szg_arena_take(arena, 1, sizeof *own->choice_work);
  own->workers = szg_arena_take(arena, (uint64_t)request->thread_count, sizeof *own->workers);
}

/* ---- [1] values to codes and outliers, part by part ---- */

/* Bytes per escape in the parts' lists. */
static unsigned list_escape_bytes(const szg_write_job *frame) {
  return szg_lattice_bits(frame->bound->quantizer.arithmetic) / 8;
}

static szgpu_status add_escapes(const szg_write_job *frame, uint64_t tile_index,
                                uint32_t escape_count, szg_linear_worker *worker) {
  szg_outlier_write_plan *const outliers = &frame->plan->outliers;
  for (uint32_t i = 0; i < escape_count; i++) {
    int64_t const delta = worker->escapes[i];
    if (delta < worker->least_escape) worker->least_escape = delta;
    if (delta > worker->greatest_escape) worker->greatest_escape = delta;
  }
  return szg_outlier_add_escapes(szg_lattice_bits(frame->bound->quantizer.arithmetic),
                                 worker->escapes, escape_count, tile_index,
                                 &outliers->lists[tile_index / SZG_PART_TILES], &outliers->counts);
}

static szgpu_status code_tile(const linear_job *job, uint64_t tile_index, const szg_tile *tile,
                              int worker_index) {
  const szg_write_job *const frame = job->frame;
  const szg_quantizer *const quantizer = &frame->bound->quantizer;
  uint32_t const lattice_bits = szg_lattice_bits(quantizer->arithmetic);
  szg_linear_worker *const worker = &frame->plan->linear.workers[worker_index];
  szg_tile_work *const work = &frame->plan->outliers.tiles[worker_index];
  szg_tile_quantize(quantizer, tile, frame->values, work);
  szg_tile_difference(lattice_bits, tile, job->choice.axes, &work->lattice, &work->deltas);
  uint32_t const escape_count =
      szg_tile_code(lattice_bits, tile, job->choice.radius, work,
                    frame->plan->stream.codes + tile->first_code, worker->escapes);
  SZG_TRY(add_escapes(frame, tile_index, escape_count, worker));
  return szg_outliers_add(frame, tile_index, tile, work->has_marks ? work->marks : NULL);
}

static szgpu_status code_part(void *job_pointer, uint64_t part, int worker) {
  const linear_job *const job = job_pointer;
  szg_write_job *const frame = job->frame;
  if (szg_frame_is_outgrown(frame)) return SZGPU_OK;
  uint64_t const first_tile = part * SZG_PART_TILES, end_tile = szg_part_end_tile(frame, part);
  uint64_t first_code = 0, end_code = 0;
  for (uint64_t t = first_tile; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&frame->grid, t);
    if (t == first_tile) first_code = tile.first_code;
    end_code = tile.first_code + tile.value_count;
    SZG_TRY(code_tile(job, t, &tile, worker));
  }
  szg_stream_count(frame, job->choice.radius, frame->plan->stream.codes + first_code,
                   end_code - first_code, worker);
  /* An escape takes at least one byte. */
  uint64_t const escape_count =
      frame->plan->outliers.lists[part].escapes.used_bytes / list_escape_bytes(frame);
  szg_frame_add_sure_bytes(frame, szg_outliers_part_bytes(frame, part) + escape_count);
  return SZGPU_OK;
}

/* ---- [2] sizes ---- */

static void size_escapes(const szg_write_job *frame, szg_linear_sizes *sizes) {
  uint64_t list_bytes = 0;
  int64_t least = 0, greatest = 0;
  for (uint64_t part = 0; part < frame->part_count; part++)
    list_bytes += frame->plan->outliers.lists[part].escapes.used_bytes;
  for (int i = 0; i < frame->ctx->threads.count; i++) {
    const szg_linear_worker *const worker = &frame->plan->linear.workers[i];
    if (worker->least_escape < least) least = worker->least_escape;
    if (worker->greatest_escape > greatest) greatest = worker->greatest_escape;
  }
  szg_linear_sizes_set_escapes(sizes, frame->grid.tile_count, list_bytes / list_escape_bytes(frame),
                               least, greatest);
}

static szg_linear_sizes size_sections(const szg_write_job *frame, uint64_t bit_count) {
  szg_linear_sizes sizes = {.stream = szg_stream_size(frame, bit_count),
                            .outliers = szg_outliers_size(frame)};
  size_escapes(frame, &sizes);
  return sizes;
}

/* ---- [3] sections ---- */

static uint64_t escape_count_at(const szg_write_job *frame, uint64_t i) {
  return frame->plan->outliers.counts.escapes[i];
}

/* Writes the parts' lists one after the other, each delta narrowed to the frame's width; frees each
 * list as soon as it is copied. */
static szgpu_status write_escapes(szg_write_job *frame, szg_writer *writer,
                                  const szg_linear_sizes *sizes) {
  unsigned const list_width = list_escape_bytes(frame), width = sizes->escape_bytes;
  uint8_t *bytes;
  SZG_TRY(szg_write_numbers(frame, writer, SZG_SECTION_ESCAPE_COUNTS, sizes->escape_counts / 2,
                            escape_count_at));
  SZG_TRY(szg_writer_begin_section(writer, sizes->escapes, &bytes));
  for (uint64_t part = 0; part < frame->part_count; part++) {
    szg_buffer *const list = &frame->plan->outliers.lists[part].escapes;
    for (size_t i = 0; i < list->used_bytes; i += list_width, bytes += width)
      szg_store_narrow(bytes, (uint64_t)szg_load_narrow(list->bytes + i, list_width), width);
    szg_buffer_release(list);
  }
  return szg_writer_end_section(writer, SZG_SECTION_ESCAPES, sizes->escapes);
}

static szgpu_status write_sections(const linear_job *job, szg_writer *writer,
                                   const szg_linear_sizes *sizes, uint64_t bit_count,
                                   szg_frame_header *frame) {
  frame->kind = SZG_FRAME_LINEAR;
  frame->axes = job->choice.axes;
  frame->radius = job->choice.radius;
  frame->escape_bytes = sizes->escape_bytes;
  uint32_t const section_count = szg_stream_section_count(job->frame->has_gaps) +
                                 (sizes->escapes ? 2 : 0) +
                                 szg_outlier_section_count(&sizes->outliers);
  SZG_TRY(szg_writer_begin_frame(writer, frame, section_count));
  SZG_TRY(szg_stream_write(job->frame, writer, &sizes->stream, bit_count));
  if (sizes->escapes) SZG_TRY(write_escapes(job->frame, writer, sizes));
  return szg_outliers_write(job->frame, writer, &sizes->outliers);
}

szgpu_status szg_linear_frame_write(szg_write_job *frame, szg_writer *writer,
                                    szg_frame_header *header, bool *is_written) {
  szg_threads *const threads = &frame->ctx->threads;
  const szg_linear_write_plan *const plan = &frame->plan->linear;
  linear_job job = {.frame = frame};
  SZG_TRY(szg_choose(threads, &frame->bound->quantizer, &frame->grid, frame->values,
                     frame->asked_radius, plan->choice_work, &job.choice));
  for (int i = 0; i < threads->count; i++)
    plan->workers[i].least_escape = plan->workers[i].greatest_escape = 0;
  SZG_TRY(szg_stream_begin(frame, job.choice.radius));
  SZG_TRY(szg_for_parts(threads, frame->part_count, frame->grid.value_count, code_part, &job));
  uint64_t bit_count = 0;
  szg_linear_sizes sizes = {0};
  if (!szg_frame_is_outgrown(frame)) {
    SZG_TRY(szg_stream_measure(frame, job.choice.radius, &bit_count));
    sizes = size_sections(frame, bit_count);
  }
  *is_written = !szg_frame_is_outgrown(frame) && szg_linear_sizes_sum(&sizes) < frame->raw_bytes;
  frame->has_strays =
      !*is_written || szg_outlier_sizes_stray(&sizes.outliers, frame->bound, frame->request->dtype,
                                              frame->grid.value_count);
  if (*is_written) return write_sections(&job, writer, &sizes, bit_count, header);
  szg_stream_release(frame);
  return SZGPU_OK;
}
