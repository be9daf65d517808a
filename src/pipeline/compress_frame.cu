/* compress_frame.cu - one frame on the GPU: values to sections; the twin of compress_frame.c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts come down once; with them the host knows every section's size and place before any of its
 * bytes is written, so that kernels write straight into the archive.
 */
#include <string.h>

#include "container/container.h"
#include "core/bytes.h"
#include "pipeline/compress_cuda.h"
#include "pipeline/frame_kernels.h"

/* ---- where sections go ---- */

/* A frame's sections as they are laid out. */
typedef struct frame_layout {
  szg_frame_header header;
  szg_checksum_ranges ranges; /* the sections with their padding */
  uint64_t held_bytes[SZG_SECTION_KIND_COUNT];
  uint8_t *at[SZG_SECTION_KIND_COUNT]; /* by kind; NULL: the frame has none */
  uint64_t frame_bytes;
} frame_layout;

static void add_section(frame_layout *layout, uint32_t kind, uint64_t raw_bytes) {
  uint32_t const i = layout->header.section_count++;
  szg_section *const section = &layout->header.sections[i];
  section->kind = kind;
  section->codec = SZG_CODEC_STORED;
  section->raw_bytes = section->stored_bytes = raw_bytes;
}

static void add_outlier_sections(frame_layout *layout, const szg_section_sizes *sizes) {
  if (sizes->escapes) {
    add_section(layout, SZG_SECTION_ESCAPE_COUNTS, sizes->escape_counts);
    add_section(layout, SZG_SECTION_ESCAPES, sizes->escapes);
  }
  if (sizes->exact_mask) {
    add_section(layout, SZG_SECTION_EXACT_COUNTS, sizes->exact_counts);
    add_section(layout, SZG_SECTION_EXACT_MASK, sizes->exact_mask);
    add_section(layout, SZG_SECTION_EXACT_VALUES, sizes->exact_values);
  }
  if (sizes->fill_mask) {
    add_section(layout, SZG_SECTION_FILL_COUNTS, sizes->fill_counts);
    add_section(layout, SZG_SECTION_FILL_MASK, sizes->fill_mask);
  }
}

static void add_stream_sections(frame_layout *layout, const szg_section_sizes *sizes) {
  add_section(layout, SZG_SECTION_CODEBOOK, sizes->book);
  add_section(layout, SZG_SECTION_TILE_BITS, sizes->tile_bits);
  add_section(layout, SZG_SECTION_BITSTREAM, sizes->bitstream);
  add_section(layout, SZG_SECTION_GAPS, sizes->gaps);
  add_section(layout, SZG_SECTION_SEQUENCE_CODES, sizes->sequence_codes);
}

/* Gives every section its place, if the frame fits. */
static szgpu_status place_sections(const szg_frame_job_cuda *job, frame_layout *layout) {
  szg_frame_header *const header = &layout->header;
  uint64_t offset = szg_frame_header_bytes(header->section_count);
  layout->ranges.count = header->section_count;
  for (uint32_t i = 0; i < header->section_count; i++) {
    uint64_t const held_bytes = header->sections[i].stored_bytes;
    uint8_t *const bytes = job->archive + job->first_byte + offset;
    layout->at[header->sections[i].kind] = bytes;
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

/* Padding, checksums, header: what all kinds of frame end with. */
static szgpu_status finish_frame(const szg_frame_job_cuda *job, const frame_layout *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint8_t *const header_bytes = plan->frame_headers + job->index * SZG_MOST_FRAME_HEADER_BYTES;
  uint8_t *const header_place = job->archive + job->first_byte;
  szg_frame_header_write(&layout->header, header_bytes);
  SZG_TRY(szg_device_copy(device, header_place, header_bytes,
                          szg_frame_header_bytes(layout->header.section_count)));
  SZG_TRY(szg_sections_pad_cuda(&layout->ranges, layout->held_bytes, device->stream));
  SZG_TRY(szg_checksum_trees_cuda(&layout->ranges, plan->leaves, plan->roots, device->stream));
  SZG_TRY(szg_frame_header_seal_cuda(header_place, layout->header.section_count, plan->roots,
                                     device->stream));
  return szg_device_mark(device, "checksums");
}

/* ---- [1] values to codes and counts ---- */

static szg_marked_frame_cuda marked_frame(const szg_frame_job_cuda *job) {
  szg_marked_frame_cuda marked = {};
  marked.dtype = job->dtype;
  marked.quantizer = &job->bound->quantizer;
  marked.grid = &job->grid;
  marked.values = job->values;
  marked.is_constant = job->bound->is_constant;
  marked.constant_bits = job->bound->constant_bits;
  marked.tiles = job->plan->places.tiles;
  marked.tile_count = job->plan->places.tile_count;
  return marked;
}

/* Counts of the tiles with marks, then where every tile's shares begin, then all that the host
 * wants to know. tile_marks are set. */
static szgpu_status measure_outliers(const szg_frame_job_cuda *job) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint64_t const tiles = job->grid.tile_count;
  szg_marked_frame_cuda const marked = marked_frame(job);
  SZG_TRY(szg_device_set(device, plan->exact_counts, 0, 4 * tiles));
  SZG_TRY(szg_device_set(device, plan->fill_counts, 0, 2 * tiles));
  SZG_TRY(szg_places_select_marked_cuda(&plan->places, tiles, plan->tile_marks, device->stream));
  SZG_TRY(szg_marks_measure_cuda(&marked, plan->exact_counts, plan->fill_counts, device->stream));
  szg_tile_counts const counts = {NULL, plan->escape_counts, plan->exact_counts, plan->fill_counts};
  SZG_TRY(szg_places_scan_cuda(&plan->places, &job->grid, &counts, device->stream));
  SZG_TRY(szg_device_copy(device, &plan->found->totals, plan->places.places + tiles,
                          sizeof plan->found->totals));
  SZG_TRY(szg_device_mark(device, "outliers measured"));
  SZG_TRY(szg_device_copy(device, plan->found_back, plan->found, sizeof *plan->found));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "counts to host");
}

static szgpu_status code_frame(const szg_frame_job_cuda *job) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  szg_frame_found *const found = plan->found;
  SZG_TRY(szg_device_set(device, found, 0, sizeof *found));
  SZG_TRY(szg_choose_cuda(&job->bound->quantizer, &job->grid, job->values, job->asked_radius,
                          plan->choice_work, &found->choice, device->stream));
  SZG_TRY(szg_device_mark(device, "axes"));
  szg_coded_frame_cuda const coded = {plan->codes, plan->escape_counts, plan->tile_marks,
                                      found->escape_extremes};
  SZG_TRY(szg_tiles_code_cuda(&job->bound->quantizer, &job->grid, job->values, &found->choice.axes,
                              &found->choice.radius, &coded, device->stream));
  SZG_TRY(szg_device_mark(device, "predict"));
  SZG_TRY(szg_histogram_cuda(plan->codes, job->grid.value_count, &found->choice.radius,
                             found->counts, device->stream));
  SZG_TRY(szg_device_mark(device, "histogram"));
  return measure_outliers(job);
}

/* ---- [2] sizes ---- */

static void size_outliers(const szg_frame_job_cuda *job, szg_section_sizes *sizes) {
  const szg_frame_found *const found = job->plan->found_back;
  uint64_t const tiles = job->grid.tile_count;
  if (found->totals.escape) {
    unsigned const for_least = szg_narrow_bytes(found->escape_extremes[0]);
    unsigned const for_greatest = szg_narrow_bytes(found->escape_extremes[1]);
    sizes->escape_bytes = for_least > for_greatest ? for_least : for_greatest;
    sizes->escape_counts = 2 * tiles;
    sizes->escapes = found->totals.escape * sizes->escape_bytes;
  }
  sizes->exact_mask = found->totals.exact_mask;
  sizes->exact_values = found->totals.exact_value * szg_dtype_bytes(job->dtype);
  sizes->fill_mask = found->totals.fill_mask;
  if (sizes->exact_mask) sizes->exact_counts = 4 * tiles;
  if (sizes->fill_mask) sizes->fill_counts = 2 * tiles;
}

/* The codebook from the counts, and the sizes that follow; gives the stream's bits. */
static uint64_t size_stream(const szg_frame_job_cuda *job, szg_section_sizes *sizes) {
  const szg_compress_plan_cuda *const plan = job->plan;
  uint32_t const symbol_count = 2 * plan->found_back->choice.radius;
  szg_codebook_build(plan->found_back->counts, symbol_count, plan->book, plan->book_work);
  uint64_t bit_count = 0;
  for (uint32_t s = 0; s < symbol_count; s++)
    bit_count += plan->found_back->counts[s] * plan->book->lengths[s];
  sizes->book = szg_codebook_write(plan->book, plan->book_bytes);
  szg_size_stream_of(bit_count, job->grid.tile_count, sizes);
  return bit_count;
}

/* ---- [3] sections ---- */

static szgpu_status write_stream(const szg_frame_job_cuda *job, const frame_layout *layout,
                                 uint64_t bit_count) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint32_t const symbol_count = 2 * layout->header.radius;
  szg_encoder_table(plan->book, plan->table);
  SZG_TRY(szg_device_copy(device, plan->encoder.table, plan->table,
                          symbol_count * sizeof *plan->table));
  SZG_TRY(szg_device_copy(device, layout->at[SZG_SECTION_CODEBOOK], plan->book_bytes,
                          layout->header.sections[0].raw_bytes));
  SZG_TRY(szg_device_mark(device, "codebook"));
  szg_linear_output_cuda output = {};
  output.bit_count = bit_count;
  output.tile_bits = (uint16_t *)layout->at[SZG_SECTION_TILE_BITS];
  output.words = (uint32_t *)layout->at[SZG_SECTION_BITSTREAM];
  output.gaps = layout->at[SZG_SECTION_GAPS];
  output.sequence_codes = (uint16_t *)layout->at[SZG_SECTION_SEQUENCE_CODES];
  SZG_TRY(szg_linear_encode_cuda(&plan->encoder, &job->grid, symbol_count, plan->codes, &output,
                                 device->stream));
  return szg_device_mark(device, "encode");
}

static szgpu_status copy_counts(const szg_frame_job_cuda *job, const frame_layout *layout,
                                uint32_t kind, const uint16_t *counts, uint64_t bytes) {
  if (!layout->at[kind]) return SZGPU_OK;
  return szg_device_copy(&job->ctx->device, layout->at[kind], counts, bytes);
}

static szgpu_status write_outliers(const szg_frame_job_cuda *job, const frame_layout *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint64_t const tiles = job->grid.tile_count;
  uint8_t *const *const at = layout->at;
  SZG_TRY(copy_counts(job, layout, SZG_SECTION_EXACT_COUNTS, plan->exact_counts, 4 * tiles));
  SZG_TRY(copy_counts(job, layout, SZG_SECTION_FILL_COUNTS, plan->fill_counts, 2 * tiles));
  SZG_TRY(copy_counts(job, layout, SZG_SECTION_ESCAPE_COUNTS, plan->escape_counts, 2 * tiles));
  if (at[SZG_SECTION_EXACT_MASK] || at[SZG_SECTION_FILL_MASK]) { /* the list is still of these */
    szg_marked_frame_cuda const marked = marked_frame(job);
    SZG_TRY(szg_marks_write_cuda(&marked, plan->places.places, at[SZG_SECTION_EXACT_MASK],
                                 at[SZG_SECTION_EXACT_VALUES], at[SZG_SECTION_FILL_MASK],
                                 device->stream));
  }
  if (at[SZG_SECTION_ESCAPES]) {
    SZG_TRY(
        szg_places_select_counted_cuda(&plan->places, tiles, plan->escape_counts, device->stream));
    SZG_TRY(szg_tiles_write_escapes_cuda(
        &job->bound->quantizer, &job->grid, job->values, layout->header.axes, layout->header.radius,
        plan->places.tiles, plan->places.tile_count, plan->places.places,
        layout->header.escape_bytes, at[SZG_SECTION_ESCAPES], device->stream));
  }
  return szg_device_mark(device, "outliers");
}

/* ---- [4] the kinds of frame ---- */

static szgpu_status write_raw_frame(const szg_frame_job_cuda *job, frame_layout *layout) {
  szg_device *const device = &job->ctx->device;
  unsigned const width = (unsigned)szg_dtype_bytes(job->dtype);
  layout->header.kind = SZG_FRAME_RAW;
  add_section(layout, SZG_SECTION_RAW, job->grid.value_count * width);
  SZG_TRY(place_sections(job, layout));
  SZG_TRY(szg_planes_split_cuda(job->values, job->grid.value_count, width,
                                layout->at[SZG_SECTION_RAW], device->stream));
  SZG_TRY(szg_device_mark(device, "raw"));
  return finish_frame(job, layout);
}

static szgpu_status write_constant_frame(const szg_frame_job_cuda *job, frame_layout *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  uint64_t const tiles = job->grid.tile_count;
  SZG_TRY(szg_device_set(device, plan->found, 0, sizeof *plan->found));
  SZG_TRY(szg_device_set(device, plan->escape_counts, 0, 2 * tiles));
  SZG_TRY(szg_device_set(device, plan->tile_marks, 1, tiles));
  SZG_TRY(measure_outliers(job));
  szg_section_sizes sizes = {};
  size_outliers(job, &sizes);
  uint64_t const raw_bytes = job->grid.value_count * szg_dtype_bytes(job->dtype);
  if (szg_sections_bytes(&sizes) >= raw_bytes && szg_outlier_section_count(&sizes))
    return write_raw_frame(job, layout);
  layout->header.kind = SZG_FRAME_CONSTANT;
  layout->header.constant_bits = job->bound->constant_bits;
  add_outlier_sections(layout, &sizes);
  SZG_TRY(place_sections(job, layout));
  SZG_TRY(write_outliers(job, layout));
  return finish_frame(job, layout);
}

static szgpu_status write_linear_frame(const szg_frame_job_cuda *job, frame_layout *layout) {
  SZG_TRY(code_frame(job));
  szg_section_sizes sizes = {};
  uint64_t const bit_count = size_stream(job, &sizes);
  size_outliers(job, &sizes);
  uint64_t const raw_bytes = job->grid.value_count * szg_dtype_bytes(job->dtype);
  if (szg_sections_bytes(&sizes) >= raw_bytes) return write_raw_frame(job, layout);
  layout->header.kind = SZG_FRAME_LINEAR;
  layout->header.axes = job->plan->found_back->choice.axes;
  layout->header.radius = job->plan->found_back->choice.radius;
  layout->header.escape_bytes = sizes.escape_bytes;
  add_stream_sections(layout, &sizes);
  add_outlier_sections(layout, &sizes);
  SZG_TRY(place_sections(job, layout));
  SZG_TRY(write_stream(job, layout, bit_count));
  SZG_TRY(write_outliers(job, layout));
  return finish_frame(job, layout);
}

szgpu_status szg_compress_frame_cuda(szg_frame_job_cuda *job, uint64_t *frame_bytes) {
  frame_layout layout = {};
  layout.header.index = job->index;
  layout.header.value_count = job->grid.value_count;
  szgpu_status status;
  if (job->bound->is_constant)
    status = write_constant_frame(job, &layout);
  else if (job->bound->is_hopeless)
    status = write_raw_frame(job, &layout);
  else
    status = write_linear_frame(job, &layout);
  *frame_bytes = layout.frame_bytes;
  return status;
}
