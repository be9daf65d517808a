/* constant.c - a constant frame on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/simple/simple.h"

#include <string.h>

#include "codecs/read.h"
#include "codecs/write.h"

enum { PART_VALUES = 1 << 18 };

/* ---- the header ---- */

bool szg_constant_frame_may_occur(const szg_header *archive) {
  return archive->mode != SZGPU_MODE_LOSSLESS;
}

bool szg_constant_frame_is_sound(const szg_frame_facts *facts) {
  const szg_frame_header *const frame = facts->frame;
  uint64_t const most_bits = facts->value_bytes == 4 ? UINT32_MAX : UINT64_MAX;
  return frame->axes == 0 && frame->radius == 0 && frame->escape_bytes == 0 &&
         frame->constant_bits <= most_bits;
}

/* ---- compression ---- */

bool szg_constant_frame_serves(const szg_write_request *request) { return !request->is_lossless; }

bool szg_constant_frame_suits(const szg_bound_plan *bound) { return bound->is_constant; }

static szgpu_status mark_part(void *job_pointer, uint64_t part, int worker) {
  szg_write_job *const job = job_pointer;
  if (szg_frame_is_outgrown(job)) return SZGPU_OK;
  szg_tile_work *const work = &job->plan->outliers.tiles[worker];
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(job, part); t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    szg_tile_mark_constant(&job->bound->quantizer, job->request->dtype, job->bound->constant_bits,
                           &tile, job->values, work);
    SZG_TRY(szg_outliers_add(job, t, &tile, work->has_marks ? work->marks : NULL));
  }
  szg_frame_add_sure_bytes(job, szg_outliers_part_bytes(job, part));
  return SZGPU_OK;
}

/* A frame without exceptions has no sections, however short it is. */
szgpu_status szg_constant_frame_write(szg_write_job *job, szg_writer *writer,
                                      szg_frame_header *frame, bool *is_written) {
  SZG_TRY(
      szg_for_parts(&job->ctx->threads, job->part_count, job->grid.value_count, mark_part, job));
  szg_outlier_sizes const sizes = szg_outliers_size(job);
  uint32_t const section_count = szg_outlier_section_count(&sizes);
  *is_written = !szg_frame_is_outgrown(job) &&
                (section_count == 0 || szg_outlier_sizes_sum(&sizes) < job->raw_bytes);
  if (!*is_written) return SZGPU_OK;
  frame->kind = SZG_FRAME_CONSTANT;
  frame->constant_bits = job->bound->constant_bits;
  SZG_TRY(szg_writer_begin_frame(writer, frame, section_count));
  return szg_outliers_write(job, writer, &sizes);
}

/* ---- decompression ---- */

/* One loop over parts. */
typedef struct fill_job {
  const szg_read_job *frame;
  uint8_t *values;
  uint64_t value_count;
} fill_job;

/* Writes the value to all places of a part. */
static szgpu_status fill_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const fill_job *const job = job_pointer;
  size_t const width = szg_dtype_bytes(szg_header_coded_dtype(job->frame->header));
  uint64_t const end = szg_min_u64((part + 1) * PART_VALUES, job->value_count);
  uint8_t value[8];
  szg_store_u64(value, job->frame->reader.frame.constant_bits);
  for (uint64_t i = part * PART_VALUES; i < end; i++) memcpy(job->values + i * width, value, width);
  return SZGPU_OK;
}

static szgpu_status fill(const szg_read_job *frame, uint8_t *values, uint64_t value_count) {
  fill_job job = {frame, values, value_count};
  return szg_for_parts(&frame->reader.ctx->threads, szg_div_up(value_count, PART_VALUES), 0,
                       fill_part, &job);
}

szgpu_status szg_constant_frame_open(szg_read_job *job) {
  uint64_t no_stream;
  if (job->reader.frame.section_count == 0) return SZGPU_OK; /* and no tile is read */
  SZG_TRY(szg_outliers_load(job));
  if (job->reader.is_waiting) return SZGPU_OK;
  return szg_tiles_scan(job, &no_stream);
}

szgpu_status szg_constant_frame_restore(szg_read_job *job) {
  static const szg_tile_steps outliers_alone = {NULL, NULL};
  const szg_region *const region = job->region;
  if (!szg_reader_only_asks(&job->reader))
    SZG_TRY(region ? fill(job, region->values, region->value_count)
                   : fill(job, job->values, job->value_count));
  return job->reader.frame.section_count ? szg_tiles_restore(job, &outliers_alone) : SZGPU_OK;
}

szgpu_status szg_constant_frame_require_level(szgpu_ctx *ctx, const szg_frame_facts *facts,
                                              uint32_t level) {
  (void)ctx;
  (void)facts;
  (void)level;
  return SZGPU_OK;
}
