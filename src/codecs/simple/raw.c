/* raw.c - a raw frame on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/simple/simple.h"

#include "codecs/read.h"
#include "codecs/rules_core.h"
#include "codecs/write.h"

enum { PART_VALUES = 1 << 18, PART_ROWS = 64 };

/* ---- the header ---- */

bool szg_raw_frame_may_occur(const szg_header *archive) {
  (void)archive;
  return true;
}

bool szg_raw_frame_is_sound(const szg_frame_facts *facts) { return szg_raw_is_sound(facts); }

void szg_raw_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  szg_raw_rules(facts, rules);
}

/* ---- compression ---- */

bool szg_raw_frame_serves(const szg_write_request *request) {
  (void)request;
  return true;
}

/* Values being split into planes. */
typedef struct split_job {
  const uint8_t *values;
  uint64_t value_count;
  size_t width;
  uint8_t *planes;
} split_job;

static szgpu_status split_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const split_job *const job = job_pointer;
  uint64_t const end = szg_min_u64((part + 1) * PART_VALUES, job->value_count);
  for (size_t plane = 0; plane < job->width; plane++)
    for (uint64_t i = part * PART_VALUES; i < end; i++)
      job->planes[plane * job->value_count + i] = job->values[i * job->width + plane];
  return SZGPU_OK;
}

static szgpu_status split_values(szg_threads *threads, const void *values, uint64_t value_count,
                                 size_t width, uint8_t *planes) {
  split_job split = {values, value_count, width, planes};
  return szg_for_parts(threads, szg_div_up(value_count, PART_VALUES), 0, split_part, &split);
}

szgpu_status szg_raw_frame_write(szg_write_job *job, szg_writer *writer, szg_frame_header *frame,
                                 bool *is_written) {
  uint8_t *planes;
  *is_written = true;
  frame->kind = SZG_FRAME_RAW;
  SZG_TRY(szg_writer_begin_frame(writer, frame, 1));
  SZG_TRY(szg_writer_begin_section(writer, job->raw_bytes, &planes));
  SZG_TRY(split_values(&job->ctx->threads, job->field_values, job->grid.value_count,
                       szg_dtype_bytes(job->request->mapping.outer), planes));
  return szg_writer_end_section(writer, SZG_SECTION_RAW, job->raw_bytes);
}

szgpu_status szg_raw_frame_replace(const void *values, size_t width, const szg_writer *before,
                                   szg_writer *writer) {
  szgpu_ctx *const ctx = writer->ctx;
  szg_frame_header *const frame = writer->frame;
  uint64_t const value_count = frame->value_count, raw_bytes = value_count * width;
  const szg_buffer *const packed = &ctx->kept[SZG_KEPT_PACKED];
  const uint8_t *planes = values;
  bool pays;
  if (width > 1) {
    szg_buffer *const room = &ctx->kept[SZG_KEPT_RAW_PLANES];
    SZG_TRY(szg_buffer_reset(room, raw_bytes));
    SZG_TRY(split_values(&ctx->threads, values, value_count, width, room->bytes));
    planes = room->bytes;
  }
  szgpu_status const status = szg_zstd_compress(&ctx->threads, writer->zstd_level, planes,
                                                raw_bytes, 0, &ctx->kept[SZG_KEPT_PACKED], &pays);
  szg_buffer_release(&ctx->kept[SZG_KEPT_RAW_PLANES]);
  SZG_TRY(status);
  if (!pays || szg_frame_header_bytes(1) + szg_align_up(packed->used_bytes, SZG_ALIGNMENT) >=
                   writer->used_bytes - writer->frame_start)
    return SZGPU_OK;
  *writer = *before;
  *frame =
      (szg_frame_header){.kind = SZG_FRAME_RAW, .index = frame->index, .value_count = value_count};
  SZG_TRY(szg_writer_begin_frame(writer, frame, 1));
  return szg_writer_end_packed_section(writer, SZG_SECTION_RAW, raw_bytes);
}

/* ---- decompression ---- */

/* Puts bytes of the section, plane after plane, into their values. */
static void merge_planes(void *job_pointer, uint64_t offset, const uint8_t *bytes,
                         size_t byte_count) {
  const szg_read_job *const job = job_pointer;
  size_t const width = szg_dtype_bytes(job->header->shape.dtype);
  uint64_t const frame_values = job->grid.value_count;
  uint64_t const end_value = job->first_value + job->value_count;
  for (uint64_t const end = offset + byte_count; offset < end;) {
    uint64_t const plane = offset / frame_values, first = offset % frame_values;
    uint64_t const count = szg_min_u64(end - offset, frame_values - first);
    for (uint64_t i = 0; i < count; i++)
      if (first + i >= job->first_value && first + i < end_value)
        job->values[(first + i - job->first_value) * width + plane] = bytes[i];
    bytes += count;
    offset += count;
  }
}

/* Rows of a region, and the section that has the planes. */
typedef struct rows_job {
  const szg_read_job *frame;
  szg_loaded planes;
} rows_job;

/* Where a row of the region has its bytes of a plane, in the section. */
static uint64_t place_of_row(const szg_read_job *frame, size_t plane, uint64_t row) {
  return plane * frame->grid.value_count + szg_region_row_at(frame->region, row);
}

static szgpu_status merge_rows(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const rows_job *const job = job_pointer;
  const szg_region *const region = job->frame->region;
  size_t const width = szg_dtype_bytes(job->frame->header->shape.dtype);
  uint64_t const count = region->count[3];
  uint64_t const end = szg_min_u64((part + 1) * PART_ROWS, szg_region_row_count(region));
  for (uint64_t row = part * PART_ROWS; row < end; row++)
    for (size_t plane = 0; plane < width; plane++) {
      const uint8_t *const bytes = job->planes.bytes + place_of_row(job->frame, plane, row);
      for (uint64_t i = 0; i < count; i++)
        region->values[(row * count + i) * width + plane] = bytes[i];
    }
  return SZGPU_OK;
}

static szgpu_status ask_for_rows(const rows_job *job) {
  const szg_read_job *const frame = job->frame;
  size_t const width = szg_dtype_bytes(frame->header->shape.dtype);
  for (size_t plane = 0; plane < width; plane++)
    for (uint64_t row = 0; row < szg_region_row_count(frame->region); row++)
      SZG_TRY(szg_reader_ask(&frame->reader, &job->planes, place_of_row(frame, plane, row),
                             frame->region->count[3]));
  return SZGPU_OK;
}

static szgpu_status restore_region(szg_read_job *frame) {
  rows_job job = {.frame = frame};
  uint64_t const part_count = szg_div_up(szg_region_row_count(frame->region), PART_ROWS);
  SZG_TRY(szg_reader_map(&frame->reader, SZG_SECTION_RAW, &job.planes));
  if (szg_reader_only_asks(&frame->reader)) return ask_for_rows(&job);
  return szg_for_parts(&frame->reader.ctx->threads, part_count, frame->wanted_values, merge_rows,
                       &job);
}

/* A region of whole rows, which are together in each plane. */
static szgpu_status restore_rows(szg_read_job *job) {
  size_t const width = szg_dtype_bytes(job->header->shape.dtype);
  szg_loaded planes;
  SZG_TRY(szg_reader_map(&job->reader, SZG_SECTION_RAW, &planes));
  for (size_t plane = 0; plane < width; plane++) {
    uint64_t const offset = plane * job->grid.value_count + job->first_value;
    if (szg_reader_only_asks(&job->reader))
      SZG_TRY(szg_reader_ask(&job->reader, &planes, offset, job->value_count));
    else
      merge_planes(job, offset, planes.bytes + offset, job->value_count);
  }
  return SZGPU_OK;
}

szgpu_status szg_raw_frame_restore(szg_read_job *job) {
  if (job->region) return restore_region(job);
  if (job->reader.is_partial && job->value_count < job->grid.value_count) return restore_rows(job);
  return szg_reader_stream(&job->reader, SZG_SECTION_RAW, job->wanted_values, merge_planes, job);
}
