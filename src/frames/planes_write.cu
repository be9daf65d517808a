/* planes_write.cu - a planes frame on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --sampled--> [host: planes, books] --measured--> [host: places of sections] --> sections
 *
 * The stream waits for the host at the brackets, and once before them if values are bytes, because
 * the host then chooses a width. If the sample has misled, all values are counted, and measured
 * anew.
 */
#include "frames/planes.h"

#include "frames/write_cuda.h"

/* The layout that memory is taken for: every plane is coded. */
static szg_planes_layout widest_layout(uint32_t value_bytes) {
  szg_planes_layout layout = {};
  layout.value_bytes = value_bytes;
  for (uint32_t plane = 0; plane < value_bytes; plane++)
    layout.modes |= (uint32_t)SZG_PLANE_CODED << 2 * plane;
  return layout;
}

/* Bytes that are treated as wider values have as many tiles, plus one partial tile per plane. */
szgpu_status szg_planes_frame_carve_output_cuda(szg_arena *arena, szgpu_dtype dtype,
                                                uint64_t value_count,
                                                szg_planes_output_cuda *output) {
  szg_planes_layout const layout = widest_layout((uint32_t)szg_dtype_bytes(dtype));
  uint64_t const more_values = dtype == SZGPU_U8 ? SZG_PLANES_MOST * SZG_TILE_VALUES : 0;
  return szg_planes_output_carve_cuda(arena, &layout, value_count + more_values, output);
}

szgpu_status szg_planes_frame_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                               szg_write_plan_cuda *plan) {
  szg_planes_write_plan_cuda *const own = &plan->planes;
  uint64_t const value_count = request->frame_grid.value_count;
  bool const is_bytes = request->mapping.outer == SZGPU_U8;
  own->counts = (szg_planes_counts *)szg_arena_take(arena, 1, sizeof *own->counts);
  own->tally = (szg_split_tally *)szg_arena_take(arena, is_bytes, sizeof *own->tally);
  own->encoder = (szg_planes_encoder *)szg_arena_take(arena, 1, sizeof *own->encoder);
  own->sizes =
      (uint16_t *)szg_arena_take(arena, szg_planes_tile_count(value_count), sizeof *own->sizes);
  return szg_planes_frame_carve_output_cuda(arena, request->mapping.outer, value_count,
                                            &own->output);
}

void szg_planes_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                         szg_write_plan_cuda *plan) {
  szg_planes_write_plan_cuda *const own = &plan->planes;
  bool const is_bytes = request->mapping.outer == SZGPU_U8;
  own->counts_back = (szg_planes_counts *)szg_arena_take(arena, 1, sizeof *own->counts_back);
  own->tally_back = (szg_split_tally *)szg_arena_take(arena, is_bytes, sizeof *own->tally_back);
  own->encoder_made = (szg_planes_encoder *)szg_arena_take(arena, 1, sizeof *own->encoder_made);
  own->words_back = (uint64_t *)szg_arena_take(arena, 2, sizeof *own->words_back);
  own->books = (uint8_t *)szg_arena_take(arena, SZG_PLANES_MOST, SZG_PLANES_BOOK_BYTES);
  own->choice = (szg_planes_choice *)szg_arena_take(arena, 1, sizeof *own->choice);
  own->book = (szg_codebook *)szg_arena_take(arena, 1, sizeof *own->book);
  own->book_work = (szg_codebook_work *)szg_arena_take(arena, 1, sizeof *own->book_work);
}

/* ---- [1] symbols counted, planes chosen ---- */

static szgpu_status choose_value_bytes(const szg_write_job_cuda *job, uint64_t byte_count,
                                       uint32_t *value_bytes) {
  szg_device *const device = &job->ctx->device;
  const szg_planes_write_plan_cuda *const plan = &job->plan->planes;
  *value_bytes = (uint32_t)szg_dtype_bytes(job->request->mapping.outer);
  if (job->request->mapping.outer != SZGPU_U8) return SZGPU_OK;
  SZG_TRY(szg_device_set(device, plan->tally, 0, sizeof *plan->tally));
  SZG_TRY(szg_split_count_cuda((const uint8_t *)job->field_values, byte_count, plan->tally,
                               device->stream));
  SZG_TRY(szg_device_copy(device, plan->tally_back, plan->tally, sizeof *plan->tally));
  SZG_TRY(szg_device_wait(device, true));
  *value_bytes = szg_split_choose(plan->tally_back, byte_count);
  return szg_device_mark(device, "width");
}

static szgpu_status choose_planes(const szg_write_job_cuda *job, uint64_t value_count,
                                  uint32_t value_bytes, bool is_sample) {
  szg_device *const device = &job->ctx->device;
  const szg_planes_write_plan_cuda *const plan = &job->plan->planes;
  SZG_TRY(szg_device_set(device, plan->counts, 0, sizeof *plan->counts));
  SZG_TRY(szg_planes_count_cuda(job->field_values, value_count, value_bytes, is_sample,
                                plan->counts, device->stream));
  SZG_TRY(szg_device_mark(device, "count"));
  SZG_TRY(szg_device_copy(device, plan->counts_back, plan->counts, sizeof *plan->counts));
  SZG_TRY(szg_device_wait(device, true));
  szg_planes_choose(plan->counts_back, szg_planes_counted_values(plan->counts_back), is_sample,
                    value_bytes, plan->book, plan->book_work, plan->choice);
  szg_planes_encoder_build(plan->choice, plan->encoder_made);
  SZG_TRY(szg_device_copy(device, plan->encoder, plan->encoder_made, sizeof *plan->encoder));
  return szg_device_mark(device, "books");
}

/* ---- [2] sections ---- */

static szgpu_status measure(const szg_write_job_cuda *job, const szg_planes_output_cuda *output,
                            uint64_t *word_count, bool *is_misled) {
  szg_device *const device = &job->ctx->device;
  uint64_t *const words_back = job->plan->planes.words_back;
  SZG_TRY(szg_planes_measure_cuda(output, device->stream));
  SZG_TRY(szg_device_copy(device, words_back,
                          output->first_words + szg_planes_tile_count(output->value_count),
                          2 * sizeof *words_back));
  SZG_TRY(szg_device_wait(device, true));
  *word_count = szg_planes_book_bytes(&output->layout) ? words_back[0] : 0;
  *is_misled = words_back[1] != 0;
  return szg_device_mark(device, "measure");
}

/* Chooses and measures, by the sample and, if that misleads, by all values. */
static szgpu_status choose_and_measure(const szg_write_job_cuda *job,
                                       szg_planes_output_cuda *output, uint32_t value_bytes,
                                       uint64_t *word_count) {
  bool is_sample = !szg_planes_count_all(szg_planes_tile_count(output->value_count));
  bool is_misled = false;
  SZG_TRY(choose_planes(job, output->value_count, value_bytes, is_sample));
  output->layout = job->plan->planes.choice->layout;
  SZG_TRY(measure(job, output, word_count, &is_misled));
  if (is_misled && is_sample) {
    SZG_TRY(choose_planes(job, output->value_count, value_bytes, false));
    output->layout = job->plan->planes.choice->layout;
    SZG_TRY(measure(job, output, word_count, &is_misled));
  }
  SZG_REQUIRE(!is_misled, SZGPU_FIELD_CHANGED); /* all symbols were counted */
  return SZGPU_OK;
}

static szgpu_status write_sections(const szg_write_job_cuda *job,
                                   const szg_frame_layout_cuda *layout,
                                   const szg_planes_sizes *sizes, szg_planes_output_cuda *output) {
  szg_device *const device = &job->ctx->device;
  const szg_planes_write_plan_cuda *const plan = &job->plan->planes;
  output->words = (uint32_t *)(void *)layout->at[SZG_SECTION_BITSTREAM];
  output->stored = layout->at[SZG_SECTION_RAW];
  if (sizes->books) {
    szg_planes_books_write(plan->choice, plan->books);
    SZG_TRY(szg_device_copy(device, layout->at[SZG_SECTION_CODEBOOK], plan->books, sizes->books));
    SZG_TRY(szg_device_copy(device, layout->at[SZG_SECTION_TILE_SIZES], output->sizes,
                            sizes->tile_sizes));
  }
  if (sizes->books || sizes->stored) SZG_TRY(szg_planes_write_cuda(output, device->stream));
  return szg_device_mark(device, "encode");
}

static void add_sections(szg_frame_layout_cuda *layout, const szg_planes_sizes *sizes) {
  if (sizes->books) {
    szg_layout_add_cuda(layout, SZG_SECTION_CODEBOOK, sizes->books);
    szg_layout_add_cuda(layout, SZG_SECTION_TILE_SIZES, sizes->tile_sizes);
    szg_layout_add_cuda(layout, SZG_SECTION_BITSTREAM, sizes->bitstream);
  }
  if (sizes->stored) szg_layout_add_cuda(layout, SZG_SECTION_RAW, sizes->stored);
}

szgpu_status szg_planes_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                         bool *is_written) {
  const szg_planes_write_plan_cuda *const plan = &job->plan->planes;
  uint32_t value_bytes = 0;
  SZG_TRY(choose_value_bytes(job, job->raw_bytes, &value_bytes));
  szg_planes_output_cuda output = plan->output;
  output.values = job->field_values;
  output.value_count = job->raw_bytes / value_bytes;
  output.encoder = plan->encoder;
  output.sizes = plan->sizes;
  uint64_t word_count = 0;
  SZG_TRY(choose_and_measure(job, &output, value_bytes, &word_count));
  szg_planes_sizes const sizes =
      szg_planes_sizes_of(&output.layout, output.value_count, word_count);
  *is_written = szg_planes_sizes_sum(&sizes) < job->raw_bytes;
  if (!*is_written) return SZGPU_OK;
  szg_planes_frame_set_header(&output.layout, &layout->header);
  add_sections(layout, &sizes);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(write_sections(job, layout, &sizes, &output));
  return szg_layout_finish_cuda(job, layout);
}
