/* compress_tile_frame.cu - one frame in the tile layout on the GPU: values to sections.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codebook, tile sizes and bitstream are written where they stay before the host knows how long
 * they are: they come first in the frame, and a frame of this kind always has the same eight
 * sections. Outliers are expected just where the field has a fill value. Where they are not and the
 * archive is of one frame, headers and checksums are completed on the device as well, and the host
 * learns of it at the end. Where it was in vain, the host knows the sizes then, and goes on from
 * there as it does in all other cases: it places the sections.
 */
#include "core/bytes.h"
#include "pipeline/compress_cuda.h"

/* ---- what the device does before the host knows ---- */

/* Bytes that the archive has for the frame's sections. */
static uint64_t room_of(const szg_frame_job_cuda *job) {
  uint64_t const first_byte = job->first_byte + szg_frame_header_bytes(SZG_TILE_SECTION_COUNT);
  return job->capacity > first_byte ? job->capacity - first_byte : 0;
}

/* Axes, codebook, then the first three sections, straight into the archive. */
static szgpu_status code_frame(const szg_frame_job_cuda *job, uint32_t lattice_bits) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  szg_tile_found *const found = plan->tile_found;
  const szg_quantizer *const quantizer = &job->quantizer;
  uint64_t const first_byte = job->first_byte + szg_frame_header_bytes(SZG_TILE_SECTION_COUNT);
  SZG_TRY(szg_choose_cuda(quantizer, &job->grid, job->values, SZG_COST_RADIUS, plan->choice_work,
                          &found->choice, device->stream));
  SZG_TRY(szg_device_mark(device, "axes"));
  SZG_TRY(szg_tile_book_make_cuda(quantizer, lattice_bits, &job->grid, job->values,
                                  &found->choice.axes, plan->book_maker, &found->book,
                                  device->stream));
  SZG_TRY(szg_device_mark(device, "book"));
  SZG_TRY(szg_tile_compress_cuda(quantizer, lattice_bits, &job->grid, job->values,
                                 &found->choice.axes, &found->book, job->archive + first_byte,
                                 room_of(job), plan->tile_marks, plan->tile_work, &found->result,
                                 device->stream));
  return szg_device_mark(device, "encode");
}

static void set_header(szg_frame_header *header, bool has_16_bits, const szg_section_sizes *sizes) {
  header->kind = SZG_FRAME_TILE;
  header->has_16_bits = has_16_bits;
  szg_header_add_cuda(header, SZG_SECTION_CODEBOOK, sizes->book);
  szg_header_add_cuda(header, SZG_SECTION_TILE_SIZES, sizes->tile_bits);
  szg_header_add_cuda(header, SZG_SECTION_BITSTREAM, sizes->bitstream);
  szg_header_add_cuda(header, SZG_SECTION_EXACT_COUNTS, sizes->exact_counts);
  szg_header_add_cuda(header, SZG_SECTION_EXACT_MASK, sizes->exact_mask);
  szg_header_add_cuda(header, SZG_SECTION_EXACT_VALUES, sizes->exact_values);
  szg_header_add_cuda(header, SZG_SECTION_FILL_COUNTS, sizes->fill_counts);
  szg_header_add_cuda(header, SZG_SECTION_FILL_MASK, sizes->fill_mask);
}

/* The rest of an archive of one frame, for a frame without outliers; tells the host what was
 * found. */
static szgpu_status complete_archive(const szg_frame_job_cuda *job, bool has_16_bits,
                                     szg_frame_header header) {
  szg_section_sizes const unknown_sizes = {};
  set_header(&header, has_16_bits, &unknown_sizes);
  SZG_TRY(szg_tile_archive_complete_cuda(job, &header));
  return szg_device_mark(&job->ctx->device, "checksums");
}

/* Brings what was found to the host if it is not told, outliers' totals included. */
static szgpu_status fetch_found(const szg_frame_job_cuda *job, bool expects_marks, bool is_told) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  const szg_tile_found *const found = plan->tile_found_back;
  if (expects_marks) SZG_TRY(szg_outliers_measure_cuda(job, NULL));
  if (!is_told)
    SZG_TRY(szg_device_copy(device, plan->tile_found_back, plan->tile_found, sizeof *found));
  SZG_TRY(szg_device_mark(device, "header"));
  SZG_TRY(szg_device_wait(device, false));
  if (found->frame_bytes) return SZGPU_OK;
  if (!expects_marks) *plan->totals_back = {0, 0, 0, 0, 0};
  if (!expects_marks && found->result.marked_tiles) SZG_TRY(szg_outliers_measure_cuda(job, NULL));
  return szg_device_wait(device, true);
}

/* ---- the frame from what was found ---- */

static szg_section_sizes size_sections(const szg_frame_job_cuda *job) {
  const szg_tile_found *const found = job->plan->tile_found_back;
  szg_section_sizes sizes = {};
  sizes.book = found->book.section_bytes;
  sizes.tile_bits = 2 * job->grid.tile_count;
  sizes.bitstream = 4 * found->result.word_count;
  szg_outliers_size_cuda(job, &sizes);
  return sizes;
}

static szgpu_status write_sections(const szg_frame_job_cuda *job, bool has_16_bits,
                                   szg_frame_layout_cuda *layout) {
  const szg_tile_found *const found = job->plan->tile_found_back;
  szg_section_sizes const sizes = size_sections(job);
  uint64_t const raw_bytes = job->grid.value_count * szg_dtype_bytes(job->dtype);
  if (szg_sections_bytes(&sizes) >= raw_bytes) return szg_exact_frame_write_cuda(job, layout);
  if (found->result.is_too_large)
    return szg_fail(job->ctx, SZGPU_CAPACITY, "over %llu bytes are needed",
                    (unsigned long long)job->capacity);
  set_header(&layout->header, has_16_bits, &sizes);
  layout->header.axes = found->choice.axes;
  layout->header.zero_groups = found->book.zero_groups;
  SZG_TRY(szg_layout_place_cuda(job, layout));
  layout->is_padded = szg_outlier_section_count(&sizes) == 0;
  if (!layout->is_padded) {
    SZG_TRY(szg_outliers_write_cuda(job, layout));
    SZG_TRY(szg_device_mark(&job->ctx->device, "outliers"));
  }
  return szg_frame_finish_cuda(job, layout);
}

szgpu_status szg_tile_frame_write_cuda(szg_frame_job_cuda *job, szg_frame_layout_cuda *layout) {
  bool const has_16_bits = szg_quantizer_shorten(job->bound->greatest, &job->quantizer);
  bool const expects_marks = job->quantizer.has_fill;
  SZG_TRY(code_frame(job, szg_lattice_bits(job->quantizer.arithmetic, has_16_bits)));
  bool const is_told = job->archive_header && !expects_marks && room_of(job) > 0;
  if (is_told) SZG_TRY(complete_archive(job, has_16_bits, layout->header));
  SZG_TRY(fetch_found(job, expects_marks, is_told));
  layout->frame_bytes = job->plan->tile_found_back->frame_bytes;
  job->is_archive_complete = layout->frame_bytes > 0;
  return job->is_archive_complete ? SZGPU_OK : write_sections(job, has_16_bits, layout);
}
