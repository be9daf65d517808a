/* write.cu - a tile frame on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The device writes codebook, tile sizes and bitstream in their final place before the host knows
 * how long they are. That is possible because they come first in the frame, and a frame of this
 * kind always has the same eight sections. The host expects outliers exactly if the field has a
 * fill value. If it expects none and the archive is one frame, the device completes headers and
 * checksums as well, and the host learns of it at the end. If that fails, the host knows the sizes
 * by then and goes on as in all other cases: it places the sections.
 */
#include "codecs/lorenzo/frame.h"

#include "codecs/write_cuda.h"

szgpu_status szg_tile_frame_carve_zeroed_cuda(szg_arena *arena, const szg_write_request *request,
                                              szg_write_plan_cuda *plan) {
  szg_tile_write_plan_cuda *const own = &plan->tile;
  uint64_t const tiles = request->frame_grid.tile_count;
  SZG_REQUIRE(tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  own->found = (szg_tile_found *)szg_arena_take(arena, 1, sizeof *own->found);
  own->book_maker = szg_arena_take(arena, szg_tile_book_work_bytes_cuda(), 1);
  own->work = szg_arena_take(arena, szg_tile_compress_work_bytes_cuda(tiles), 1);
  return SZGPU_OK;
}

void szg_tile_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                       szg_write_plan_cuda *plan) {
  (void)request;
  plan->tile.found_back = (szg_tile_found *)szg_arena_take(arena, 1, sizeof *plan->tile.found_back);
}

/* ---- what the device does before the host knows sizes ---- */

/* Bytes that the archive has for the frame's sections. */
static uint64_t room_of(const szg_write_job_cuda *job) {
  uint64_t const first_byte =
      job->first_byte + szg_frame_header_bytes(SZG_TILE_SECTION_COUNT + job->more_sections);
  return job->capacity > first_byte ? job->capacity - first_byte : 0;
}

/* Chooses axes, builds the codebook, then writes the first three sections straight into the
 * archive, which has `room` bytes for them. */
static szgpu_status code_frame(const szg_write_job_cuda *job, const szg_quantizer *quantizer,
                               bool has_16_bits, uint64_t room) {
  szg_device *const device = &job->ctx->device;
  const szg_write_plan_cuda *const plan = job->plan;
  szg_tile_found *const found = plan->tile.found;
  uint32_t const lattice_bits = szg_tile_lattice_bits(quantizer->arithmetic, has_16_bits);
  uint64_t const first_byte =
      job->first_byte + szg_frame_header_bytes(SZG_TILE_SECTION_COUNT + job->more_sections);
  SZG_TRY(szg_choose_cuda(quantizer, &job->grid, job->values, SZG_COST_RADIUS, plan->choice_work,
                          &found->choice, device->stream));
  SZG_TRY(szg_device_mark(device, "axes"));
  SZG_TRY(szg_tile_book_make_cuda(quantizer, lattice_bits, &job->grid, job->values,
                                  &found->choice.axes, plan->tile.book_maker, &found->book,
                                  device->stream));
  SZG_TRY(szg_device_mark(device, "book"));
  double const greatest_point = job->bound->greatest * quantizer->inverse;
  SZG_TRY(szg_tile_compress_cuda(quantizer, lattice_bits, greatest_point, &job->grid, job->values,
                                 &found->choice.axes, &found->book, job->request->raw_outliers,
                                 job->archive + first_byte, room, plan->outliers.tile_marks,
                                 plan->tile.work, &found->result, device->stream));
  return szg_device_mark(device, "encode");
}

static void set_header(szg_frame_layout_cuda *layout, bool has_16_bits,
                       const szg_tile_frame_sizes *sizes) {
  layout->header.kind = SZG_FRAME_TILE;
  layout->header.has_16_bits = has_16_bits;
  szg_layout_add_cuda(layout, SZG_SECTION_CODEBOOK, sizes->book);
  szg_layout_add_cuda(layout, SZG_SECTION_TILE_SIZES, sizes->tile_sizes);
  szg_layout_add_cuda(layout, SZG_SECTION_BITSTREAM, sizes->bitstream);
  szg_outliers_add_all_sections_cuda(layout, &sizes->outliers);
}

/* Completes an archive of one frame, if it has no outliers, and tells the host what was found. */
static szgpu_status complete_archive(const szg_write_job_cuda *job, bool has_16_bits,
                                     szg_frame_layout_cuda layout) {
  szg_tile_frame_sizes const unknown_sizes = {};
  set_header(&layout, has_16_bits, &unknown_sizes);
  SZG_TRY(szg_tile_archive_complete_cuda(job, &layout.header));
  return szg_device_mark(&job->ctx->device, "checksums");
}

/* Copies what was found to the host if the device does not tell it; outliers' totals included. */
static szgpu_status fetch_found(const szg_write_job_cuda *job, bool expects_marks, bool is_told) {
  szg_device *const device = &job->ctx->device;
  const szg_write_plan_cuda *const plan = job->plan;
  const szg_tile_found *const found = plan->tile.found_back;
  if (expects_marks) SZG_TRY(szg_outliers_measure_cuda(job, NULL));
  if (!is_told)
    SZG_TRY(szg_device_copy(device, plan->tile.found_back, plan->tile.found, sizeof *found));
  SZG_TRY(szg_device_mark(device, "header"));
  SZG_TRY(szg_device_wait(device, false));
  if (found->frame_bytes) return SZGPU_OK;
  if (!expects_marks) *plan->outliers.totals_back = {0, 0, 0, 0, 0};
  if (!expects_marks && found->result.marked_tiles) SZG_TRY(szg_outliers_measure_cuda(job, NULL));
  return szg_device_wait(device, true);
}

/* ---- the frame from what was found ---- */

static szg_tile_frame_sizes size_sections(const szg_write_job_cuda *job) {
  const szg_tile_found *const found = job->plan->tile.found_back;
  szg_tile_frame_sizes sizes = {};
  sizes.book = found->book.section_bytes;
  sizes.tile_sizes = 2 * job->grid.tile_count;
  sizes.bitstream = 4 * found->result.word_count;
  sizes.outliers = szg_outliers_size_cuda(job);
  return sizes;
}

static szgpu_status write_sections(const szg_write_job_cuda *job, bool has_16_bits,
                                   const szg_tile_frame_sizes *sizes,
                                   szg_frame_layout_cuda *layout) {
  const szg_tile_found *const found = job->plan->tile.found_back;
  if (found->result.is_too_large)
    return szg_fail(job->ctx, SZGPU_CAPACITY, "over %llu bytes are needed",
                    (unsigned long long)job->capacity);
  set_header(layout, has_16_bits, sizes);
  layout->header.axes = found->choice.axes;
  layout->header.zero_groups = found->book.zero_groups;
  SZG_TRY(szg_layout_place_cuda(job, layout));
  layout->is_padded = szg_outlier_section_count(&sizes->outliers) == 0;
  if (!layout->is_padded) {
    SZG_TRY(szg_outliers_write_cuda(job, layout));
    SZG_TRY(szg_device_mark(&job->ctx->device, "outliers"));
  }
  return szg_layout_finish_cuda(job, layout);
}

szgpu_status szg_tile_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                       bool *is_written) {
  bool const has_16_bits = szg_quantizer_take_16_bits(job->bound->greatest, &job->quantizer);
  bool const expects_marks = job->quantizer.has_fill && !job->request->raw_outliers;
  SZG_TRY(code_frame(job, &job->quantizer, has_16_bits, room_of(job)));
  bool const is_told = job->archive_header && !expects_marks && room_of(job) > 0;
  if (is_told) SZG_TRY(complete_archive(job, has_16_bits, *layout));
  SZG_TRY(fetch_found(job, expects_marks, is_told));
  layout->frame_bytes = job->plan->tile.found_back->frame_bytes;
  job->is_archive_complete = layout->frame_bytes > 0;
  *is_written = true;
  if (job->is_archive_complete) return SZGPU_OK;
  szg_tile_frame_sizes const sizes = size_sections(job);
  *is_written = szg_tile_frame_sizes_sum(&sizes) < job->raw_bytes;
  job->has_strays =
      !*is_written || szg_outlier_sizes_stray(&sizes.outliers, job->bound, job->request->dtype,
                                              job->grid.value_count);
  return *is_written ? write_sections(job, has_16_bits, &sizes, layout) : SZGPU_OK;
}

szgpu_status szg_tile_frame_measure_cuda(const szg_write_job_cuda *job, uint64_t *byte_count) {
  szg_device *const device = &job->ctx->device;
  const szg_write_plan_cuda *const plan = job->plan;
  const szg_tile_found *const found = plan->tile.found_back;
  szg_quantizer quantizer = job->quantizer;
  bool const has_16_bits = szg_quantizer_take_16_bits(job->bound->greatest, &quantizer);
  SZG_TRY(szg_device_set(device, plan->zeroed, 0, plan->zeroed_bytes));
  SZG_TRY(code_frame(job, &quantizer, has_16_bits, 0));
  SZG_TRY(szg_device_copy(device, plan->tile.found_back, plan->tile.found, sizeof *found));
  SZG_TRY(szg_device_set(device, plan->zeroed, 0, plan->zeroed_bytes)); /* for the next kind */
  SZG_TRY(szg_device_wait(device, true));
  *byte_count = found->book.section_bytes + 2 * job->grid.tile_count + 4 * found->result.word_count;
  return SZGPU_OK;
}
