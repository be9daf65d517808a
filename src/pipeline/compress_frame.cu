/* compress_frame.cu - one frame on the GPU: values to sections; the twin of compress_frame.c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts come down once; with them the host knows every section's size and place before any of its
 * bytes is written, so that kernels write straight into the archive.
 */
#include "core/bytes.h"
#include "pipeline/compress_cuda.h"

/* ---- [1] values to codes and counts ---- */

static szgpu_status code_frame(const szg_frame_job_cuda *job) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  szg_linear_found *const found = plan->linear_found;
  SZG_TRY(szg_choose_cuda(&job->quantizer, &job->grid, job->values, job->asked_radius,
                          plan->choice_work, &found->choice, device->stream));
  SZG_TRY(szg_device_mark(device, "axes"));
  szg_coded_frame_cuda const coded = {plan->codes, plan->escape_counts, plan->tile_marks,
                                      found->escape_extremes};
  SZG_TRY(szg_tiles_code_cuda(&job->quantizer, &job->grid, job->values, &found->choice.axes,
                              &found->choice.radius, &coded, device->stream));
  SZG_TRY(szg_device_mark(device, "predict"));
  SZG_TRY(szg_histogram_cuda(plan->codes, job->grid.value_count, &found->choice.radius,
                             found->counts, device->stream));
  SZG_TRY(szg_device_mark(device, "histogram"));
  SZG_TRY(szg_outliers_measure_cuda(job, plan->escape_counts));
  SZG_TRY(szg_device_copy(device, plan->linear_found_back, found, sizeof *found));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "counts to host");
}

/* ---- [2] sizes ---- */

static void add_outlier_sections(szg_frame_layout_cuda *layout, const szg_section_sizes *sizes) {
  if (sizes->escapes) {
    szg_header_add_cuda(&layout->header, SZG_SECTION_ESCAPE_COUNTS, sizes->escape_counts);
    szg_header_add_cuda(&layout->header, SZG_SECTION_ESCAPES, sizes->escapes);
  }
  if (sizes->exact_mask) {
    szg_header_add_cuda(&layout->header, SZG_SECTION_EXACT_COUNTS, sizes->exact_counts);
    szg_header_add_cuda(&layout->header, SZG_SECTION_EXACT_MASK, sizes->exact_mask);
    szg_header_add_cuda(&layout->header, SZG_SECTION_EXACT_VALUES, sizes->exact_values);
  }
  if (sizes->fill_mask) {
    szg_header_add_cuda(&layout->header, SZG_SECTION_FILL_COUNTS, sizes->fill_counts);
    szg_header_add_cuda(&layout->header, SZG_SECTION_FILL_MASK, sizes->fill_mask);
  }
}

void szg_stream_add_sections_cuda(szg_frame_layout_cuda *layout, const szg_section_sizes *sizes) {
  szg_header_add_cuda(&layout->header, SZG_SECTION_CODEBOOK, sizes->book);
  szg_header_add_cuda(&layout->header, SZG_SECTION_TILE_SIZES, sizes->tile_bits);
  szg_header_add_cuda(&layout->header, SZG_SECTION_BITSTREAM, sizes->bitstream);
  if (!sizes->gaps) return;
  szg_header_add_cuda(&layout->header, SZG_SECTION_GAPS, sizes->gaps);
  szg_header_add_cuda(&layout->header, SZG_SECTION_SEQUENCE_CODES, sizes->sequence_codes);
}

static void size_outliers(const szg_frame_job_cuda *job, szg_section_sizes *sizes) {
  const szg_linear_found *const found = job->plan->linear_found_back;
  uint64_t const escapes = job->plan->totals_back->escape;
  if (escapes) {
    unsigned const for_least = szg_narrow_bytes(found->escape_extremes[0]);
    unsigned const for_greatest = szg_narrow_bytes(found->escape_extremes[1]);
    sizes->escape_bytes = for_least > for_greatest ? for_least : for_greatest;
    sizes->escape_counts = 2 * job->grid.tile_count;
    sizes->escapes = escapes * sizes->escape_bytes;
  }
  szg_outliers_size_cuda(job, sizes);
}

uint64_t szg_stream_size_cuda(const szg_frame_job_cuda *job, const uint64_t *counts,
                              uint32_t radius, szg_section_sizes *sizes) {
  const szg_compress_plan_cuda *const plan = job->plan;
  uint32_t const symbol_count = 2 * radius;
  szg_codebook_build(counts, symbol_count, SZG_MAX_CODE_BITS, plan->book, plan->book_work);
  uint64_t bit_count = 0;
  for (uint32_t s = 0; s < symbol_count; s++) bit_count += counts[s] * plan->book->lengths[s];
  sizes->book = szg_codebook_write(plan->book, plan->book_bytes);
  szg_size_stream_of(bit_count, job->grid.tile_count, job->has_gaps, sizes);
  return bit_count;
}

/* ---- [3] sections ---- */

szgpu_status szg_stream_write_cuda(const szg_frame_job_cuda *job,
                                   const szg_frame_layout_cuda *layout, uint64_t bit_count) {
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
  output.tile_bits = (uint16_t *)layout->at[SZG_SECTION_TILE_SIZES];
  output.words = (uint32_t *)layout->at[SZG_SECTION_BITSTREAM];
  output.gaps = layout->at[SZG_SECTION_GAPS];
  output.sequence_codes = (uint16_t *)layout->at[SZG_SECTION_SEQUENCE_CODES];
  SZG_TRY(szg_linear_encode_cuda(&plan->encoder, &job->grid, symbol_count, plan->codes, &output,
                                 device->stream));
  return szg_device_mark(device, "encode");
}

static szgpu_status write_escapes(const szg_frame_job_cuda *job,
                                  const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  const szg_places_cuda *const places = &plan->places;
  uint64_t const tiles = job->grid.tile_count;
  SZG_TRY(szg_device_copy(device, layout->at[SZG_SECTION_ESCAPE_COUNTS], plan->escape_counts,
                          2 * tiles));
  SZG_TRY(szg_places_select_counted_cuda(places, tiles, plan->escape_counts, device->stream));
  return szg_tiles_write_escapes_cuda(&job->quantizer, &job->grid, job->values, layout->header.axes,
                                      layout->header.radius, places->tiles, places->tile_count,
                                      places->places, layout->header.escape_bytes,
                                      layout->at[SZG_SECTION_ESCAPES], device->stream);
}

static szgpu_status write_outliers(const szg_frame_job_cuda *job,
                                   const szg_frame_layout_cuda *layout) {
  SZG_TRY(szg_outliers_write_cuda(job, layout)); /* while the list is of these */
  if (layout->at[SZG_SECTION_ESCAPES]) SZG_TRY(write_escapes(job, layout));
  return szg_device_mark(&job->ctx->device, "outliers");
}

/* ---- [4] the kinds of frame ---- */

static szgpu_status write_constant_frame(const szg_frame_job_cuda *job,
                                         szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  SZG_TRY(szg_device_set(device, job->plan->tile_marks, 1, job->grid.tile_count));
  SZG_TRY(szg_outliers_measure_cuda(job, NULL));
  SZG_TRY(szg_device_wait(device, true));
  SZG_TRY(szg_device_mark(device, "counts to host"));
  szg_section_sizes sizes = {};
  szg_outliers_size_cuda(job, &sizes);
  uint64_t const raw_bytes = job->grid.value_count * szg_dtype_bytes(job->dtype);
  if (szg_sections_bytes(&sizes) >= raw_bytes && szg_outlier_section_count(&sizes))
    return szg_exact_frame_write_cuda(job, layout);
  layout->header.kind = SZG_FRAME_CONSTANT;
  layout->header.constant_bits = job->bound->constant_bits;
  add_outlier_sections(layout, &sizes);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(write_outliers(job, layout));
  return szg_frame_finish_cuda(job, layout);
}

static szgpu_status write_linear_frame(const szg_frame_job_cuda *job,
                                       szg_frame_layout_cuda *layout) {
  SZG_TRY(code_frame(job));
  const szg_linear_found *const found = job->plan->linear_found_back;
  szg_section_sizes sizes = {};
  uint64_t const bit_count = szg_stream_size_cuda(job, found->counts, found->choice.radius, &sizes);
  size_outliers(job, &sizes);
  uint64_t const raw_bytes = job->grid.value_count * szg_dtype_bytes(job->dtype);
  if (szg_sections_bytes(&sizes) >= raw_bytes) return szg_raw_frame_write_cuda(job, layout);
  layout->header.kind = SZG_FRAME_LINEAR;
  layout->header.axes = found->choice.axes;
  layout->header.radius = found->choice.radius;
  layout->header.escape_bytes = sizes.escape_bytes;
  szg_stream_add_sections_cuda(layout, &sizes);
  add_outlier_sections(layout, &sizes);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(szg_stream_write_cuda(job, layout, bit_count));
  SZG_TRY(write_outliers(job, layout));
  return szg_frame_finish_cuda(job, layout);
}

szgpu_status szg_compress_frame_cuda(szg_frame_job_cuda *job, uint64_t *frame_bytes) {
  szg_frame_layout_cuda layout = {};
  layout.header.index = job->index;
  layout.header.value_count = job->grid.value_count;
  if (job->bound) job->quantizer = job->bound->quantizer;
  szgpu_status status;
  if (!job->bound)
    status = job->layout == SZGPU_LAYOUT_LINEAR ? szg_top_plane_frame_write_cuda(job, &layout)
                                                : szg_exact_frame_write_cuda(job, &layout);
  else if (job->bound->is_constant)
    status = write_constant_frame(job, &layout);
  else if (job->bound->is_hopeless)
    status = szg_exact_frame_write_cuda(job, &layout);
  else
    status = job->layout == SZGPU_LAYOUT_TILE ? szg_tile_frame_write_cuda(job, &layout)
                                              : write_linear_frame(job, &layout);
  *frame_bytes = layout.frame_bytes;
  job->has_planes = layout.header.kind == SZG_FRAME_PLANES;
  return status;
}
