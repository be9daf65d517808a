/* frame_layout.cu - what kinds of frame share on the GPU: places of sections, outliers, raw values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/bytes.h"
#include "pipeline/compress_cuda.h"
#include "pipeline/frame_kernels.h"

/* ---- where sections go ---- */

void szg_header_add_cuda(szg_frame_header *header, uint32_t kind, uint64_t raw_bytes) {
  szg_section *const section = &header->sections[header->section_count++];
  section->kind = kind;
  section->codec = SZG_CODEC_STORED;
  section->raw_bytes = section->stored_bytes = raw_bytes;
}

szgpu_status szg_layout_place_cuda(const szg_frame_job_cuda *job, szg_frame_layout_cuda *layout) {
  szg_frame_header *const header = &layout->header;
  uint64_t offset = szg_frame_header_bytes(header->section_count);
  layout->ranges.count = header->section_count;
  for (uint32_t i = 0; i < header->section_count; i++) {
    uint64_t const held_bytes = header->sections[i].stored_bytes;
    uint8_t *const bytes = job->archive + job->first_byte + offset;
    layout->at[header->sections[i].kind] = held_bytes ? bytes : NULL;
    layout->held_bytes[i] = held_bytes;
    layout->ranges.kinds[i] = header->sections[i].kind;
    layout->ranges.bytes[i] = bytes;
    layout->ranges.byte_counts[i] = szg_align_up(held_bytes, SZG_ALIGNMENT);
    offset += layout->ranges.byte_counts[i];
  }
  layout->frame_bytes = offset;
  if (offset <= job->capacity - job->first_byte) return SZGPU_OK;
  return szg_fail(job->ctx, SZGPU_CAPACITY, "over %llu bytes are needed",
                  (unsigned long long)job->capacity);
}

szgpu_status szg_frame_finish_cuda(const szg_frame_job_cuda *job,
                                   const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint8_t *const header_bytes = plan->frame_headers + job->index * SZG_MOST_FRAME_HEADER_BYTES;
  uint8_t *const header_place = job->archive + job->first_byte;
  szg_frame_header_write(&layout->header, header_bytes);
  SZG_TRY(szg_device_copy(device, header_place, header_bytes,
                          szg_frame_header_bytes(layout->header.section_count)));
  if (!layout->is_padded)
    SZG_TRY(szg_sections_pad_cuda(&layout->ranges, layout->held_bytes, device->stream));
  SZG_TRY(szg_checksum_seal_cuda(&layout->ranges, plan->leaves, plan->ticket, header_place,
                                 device->stream));
  return szg_device_mark(device, "checksums");
}

/* ---- exact and fill values ---- */

static szg_marked_frame_cuda marked_frame(const szg_frame_job_cuda *job) {
  szg_marked_frame_cuda marked = {};
  marked.dtype = job->dtype;
  marked.quantizer = &job->quantizer;
  marked.grid = &job->grid;
  marked.values = job->values;
  marked.is_constant = job->bound->is_constant;
  marked.constant_bits = job->bound->constant_bits;
  marked.tiles = job->plan->places.tiles;
  marked.tile_count = job->plan->places.tile_count;
  return marked;
}

szgpu_status szg_outliers_measure_cuda(const szg_frame_job_cuda *job,
                                       const uint16_t *escape_counts) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint64_t const tiles = job->grid.tile_count;
  szg_marked_frame_cuda const marked = marked_frame(job);
  SZG_TRY(szg_device_set(device, plan->exact_counts, 0, 4 * tiles));
  SZG_TRY(szg_device_set(device, plan->fill_counts, 0, 2 * tiles));
  SZG_TRY(szg_places_select_marked_cuda(&plan->places, tiles, plan->tile_marks, device->stream));
  SZG_TRY(szg_marks_measure_cuda(&marked, plan->exact_counts, plan->fill_counts, device->stream));
  szg_tile_counts const counts = {NULL, escape_counts, plan->exact_counts, plan->fill_counts};
  SZG_TRY(szg_places_scan_cuda(&plan->places, &job->grid, &counts, device->stream));
  SZG_TRY(szg_device_copy(device, plan->totals_back, plan->places.places + tiles,
                          sizeof *plan->totals_back));
  return szg_device_mark(device, "outliers measured");
}

void szg_outliers_size_cuda(const szg_frame_job_cuda *job, szg_section_sizes *sizes) {
  const szg_tile_place *const totals = job->plan->totals_back;
  uint64_t const tiles = job->grid.tile_count;
  sizes->exact_mask = totals->exact_mask;
  sizes->exact_values = totals->exact_value * szg_dtype_bytes(job->dtype);
  sizes->fill_mask = totals->fill_mask;
  if (sizes->exact_mask) sizes->exact_counts = 4 * tiles;
  if (sizes->fill_mask) sizes->fill_counts = 2 * tiles;
}

szgpu_status szg_outliers_write_cuda(const szg_frame_job_cuda *job,
                                     const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint64_t const tiles = job->grid.tile_count;
  uint8_t *const *const at = layout->at;
  if (at[SZG_SECTION_EXACT_COUNTS])
    SZG_TRY(szg_device_copy(device, at[SZG_SECTION_EXACT_COUNTS], plan->exact_counts, 4 * tiles));
  if (at[SZG_SECTION_FILL_COUNTS])
    SZG_TRY(szg_device_copy(device, at[SZG_SECTION_FILL_COUNTS], plan->fill_counts, 2 * tiles));
  if (!at[SZG_SECTION_EXACT_MASK] && !at[SZG_SECTION_FILL_MASK]) return SZGPU_OK;
  szg_marked_frame_cuda const marked = marked_frame(job);
  return szg_marks_write_cuda(&marked, plan->places.places, at[SZG_SECTION_EXACT_MASK],
                              at[SZG_SECTION_EXACT_VALUES], at[SZG_SECTION_FILL_MASK],
                              device->stream);
}

/* ---- raw values ---- */

szgpu_status szg_raw_frame_write_cuda(const szg_frame_job_cuda *job,
                                      szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  unsigned const width = (unsigned)szg_dtype_bytes(job->dtype);
  layout->header.kind = SZG_FRAME_RAW;
  szg_header_add_cuda(&layout->header, SZG_SECTION_RAW, job->grid.value_count * width);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(szg_raw_split_cuda(job->values, job->grid.value_count, width, layout->at[SZG_SECTION_RAW],
                             device->stream));
  SZG_TRY(szg_device_mark(device, "raw"));
  return szg_frame_finish_cuda(job, layout);
}
