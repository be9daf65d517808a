/* write.cu - a planes frame on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --sampled--> [host: planes, books] --encoded--> [host: the sections' sizes] --> header
 *
 * The stream waits for the host at the first bracket, and once before it if values are bytes,
 * because the host then chooses a width. Sections are written in their final place before the host
 * knows how many words there are, which come last. If the archive is one frame, the device
 * completes headers and checksums as well, and the host learns of it at the end. If the sample has
 * misled, all values are counted, and encoded anew.
 */
#include "codecs/planes/frame.h"

#include "codecs/write_cuda.h"

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
                                                uint64_t value_count, bool is_listed,
                                                szg_planes_output_cuda *output) {
  szg_planes_layout const layout = widest_layout((uint32_t)szg_dtype_bytes(dtype));
  uint64_t const more_values = dtype == SZGPU_U8 ? SZG_PLANES_MOST * SZG_TILE_VALUES : 0;
  return szg_planes_output_carve_cuda(arena, &layout, value_count + more_values, is_listed, output);
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
      (uint16_t *)szg_arena_take(arena, szg_planes_padded_sizes(value_count), sizeof *own->sizes);
  uint64_t const value_bytes = szg_dtype_bytes(request->mapping.outer);
  bool const has_sums = request->is_lossless && (value_bytes > 1 || is_bytes);
  uint64_t const sums = has_sums ? szg_planes_most_sums(value_count * value_bytes) : 0;
  SZG_TRY(szg_planes_frame_carve_output_cuda(arena, request->mapping.outer, value_count, false,
                                             &own->output));
  own->output.block_sums = (uint64_t *)szg_arena_take(arena, sums, sizeof *own->output.block_sums);
  if (sums == 0) own->output.block_sums = NULL;
  return SZGPU_OK;
}

void szg_planes_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                         szg_write_plan_cuda *plan) {
  szg_planes_write_plan_cuda *const own = &plan->planes;
  bool const is_bytes = request->mapping.outer == SZGPU_U8;
  own->counts_back = (szg_planes_counts *)szg_arena_take(arena, 1, sizeof *own->counts_back);
  own->tally_back = (szg_split_tally *)szg_arena_take(arena, is_bytes, sizeof *own->tally_back);
  own->encoder_made = (szg_planes_encoder *)szg_arena_take(arena, 1, sizeof *own->encoder_made);
  own->found_back = (szg_planes_found *)szg_arena_take(arena, 1, sizeof *own->found_back);
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

/* The choice and its encoder stay with the host. Meanwhile the device readies the output. */
static szgpu_status choose_planes(const szg_write_job_cuda *job, bool is_sample,
                                  uint32_t value_bytes, const szg_planes_output_cuda *output) {
  szg_device *const device = &job->ctx->device;
  const szg_planes_write_plan_cuda *const plan = &job->plan->planes;
  SZG_TRY(szg_device_set(device, plan->counts, 0, sizeof *plan->counts));
  SZG_TRY(szg_planes_count_cuda(job->field_values, output->value_count, value_bytes, is_sample,
                                plan->counts, device->stream));
  SZG_TRY(szg_device_mark(device, "count"));
  SZG_TRY(szg_device_bring(device, plan->counts_back, plan->counts,
                           value_bytes * sizeof *plan->counts->planes, &plan->found_back->told));
  SZG_TRY(szg_planes_output_clear_cuda(output, device->stream));
  SZG_TRY(szg_device_await(device, &plan->found_back->told, 1));
  szg_planes_choose(plan->counts_back, szg_planes_counted_values(plan->counts_back), is_sample,
                    value_bytes, plan->book, plan->book_work, plan->choice);
  szg_planes_encoder_build(plan->choice, plan->encoder_made);
  return szg_device_mark(device, "books");
}

/* ---- [2] sections ---- */

/* Where the frame's sections go, and the room for the last. */
typedef struct section_places {
  szg_planes_sizes sizes;   /* without words */
  uint64_t first_byte;      /* of the sections in the archive */
  uint64_t words_byte;      /* of the words in the archive */
  bool has_room;            /* for all but words */
  szg_summed_leaves summed; /* of stored planes */
} section_places;

static section_places place_sections(const szg_write_job_cuda *job,
                                     const szg_planes_output_cuda *output) {
  section_places places = {};
  places.sizes = szg_planes_sizes_of(&output->layout, output->value_count, 0);
  places.first_byte =
      job->first_byte + szg_frame_header_bytes(szg_planes_section_count(&places.sizes));
  places.words_byte = places.first_byte + places.sizes.books +
                      szg_align_up(places.sizes.tile_sizes, SZG_ALIGNMENT) + places.sizes.stored;
  places.has_room = places.words_byte <= job->capacity;
  return places;
}

/* Writes all sections. Without room for them, it only measures. */
static szgpu_status encode(const szg_write_job_cuda *job, section_places *places,
                           szg_planes_output_cuda *output) {
  szg_device *const device = &job->ctx->device;
  const szg_planes_write_plan_cuda *const plan = &job->plan->planes;
  uint8_t *const books = job->archive + places->first_byte;
  output->sizes = plan->sizes;
  szg_brought const encoder = {plan->encoder, plan->encoder_made, sizeof *plan->encoder};
  if (!places->has_room) {
    SZG_TRY(szg_device_bring_both(device, encoder, {}, NULL));
    SZG_TRY(szg_planes_measure_cuda(output, device->stream));
    return szg_device_mark(device, "measure");
  }
  if (places->sizes.books) szg_planes_books_write(plan->choice, plan->books);
  SZG_TRY(szg_device_bring_both(device, encoder, {books, plan->books, places->sizes.books}, NULL));
  output->sizes = (uint16_t *)(void *)(books + places->sizes.books);
  output->words = (uint32_t *)(void *)(job->archive + places->words_byte);
  output->stored = job->archive + places->words_byte - places->sizes.stored;
  output->room_words =
      (job->capacity - places->words_byte) / SZG_ALIGNMENT * (SZG_ALIGNMENT / sizeof(uint32_t));
  uint64_t summed_bytes = 0;
  SZG_TRY(
      szg_planes_encode_cuda(output, plan->choice->typical_bits, &summed_bytes, device->stream));
  places->summed.sums = output->block_sums;
  places->summed.leaf_count = summed_bytes / SZG_CHECKSUM_BLOCK_BYTES;
  places->summed.range = places->sizes.books ? 2 : 0; /* behind books and tile sizes, if any */
  return szg_device_mark(device, "encode");
}

/* layout: of a frame without sections so far. */
static void set_header(const szg_planes_layout *planes, const szg_planes_sizes *sizes,
                       szg_frame_layout_cuda *layout) {
  szg_planes_frame_set_header(planes, &layout->header);
  if (sizes->books) {
    szg_layout_add_cuda(layout, SZG_SECTION_CODEBOOK, sizes->books);
    szg_layout_add_cuda(layout, SZG_SECTION_TILE_SIZES, sizes->tile_sizes);
  }
  if (sizes->stored) szg_layout_add_cuda(layout, SZG_SECTION_RAW, sizes->stored);
  if (sizes->books) szg_layout_add_cuda(layout, SZG_SECTION_PLANE_WORDS, sizes->words);
}

/* Completes an archive of one frame and tells the host, or only tells it what was found. layout:
 * stays without sections, as the frame may yet be given up. */
static szgpu_status finish(const szg_write_job_cuda *job, const section_places *places,
                           const szg_planes_output_cuda *output,
                           const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  szg_planes_found *const found_back = job->plan->planes.found_back;
  const uint64_t *const facts = output->first_words + szg_planes_tile_count(output->value_count);
  bool const may_be_complete = job->archive_header && places->has_room;
  if (may_be_complete) {
    szg_frame_layout_cuda without_words = *layout;
    set_header(&output->layout, &places->sizes, &without_words);
    SZG_TRY(szg_planes_archive_complete_cuda(job, &without_words, output, &places->summed));
    SZG_TRY(szg_device_mark(device, "checksums"));
  } else {
    found_back->frame_bytes = 0;
    SZG_TRY(szg_device_copy(device, found_back, facts, 2 * sizeof *facts));
  }
  SZG_TRY(szg_device_wait(device, !may_be_complete));
  return may_be_complete && !found_back->frame_bytes ? szg_device_wait(device, true) : SZGPU_OK;
}

/* Encodes the frame by a choice from the sample, or from all values. summed: of stored planes. */
static szgpu_status encode_frame(const szg_write_job_cuda *job, bool is_sample,
                                 uint32_t value_bytes, szg_planes_output_cuda *output,
                                 const szg_frame_layout_cuda *layout, szg_summed_leaves *summed) {
  SZG_TRY(choose_planes(job, is_sample, value_bytes, output));
  output->layout = job->plan->planes.choice->layout;
  section_places places = place_sections(job, output);
  SZG_TRY(encode(job, &places, output));
  *summed = places.summed;
  return finish(job, &places, output, layout);
}

szgpu_status szg_planes_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                         bool *is_written) {
  const szg_planes_write_plan_cuda *const plan = &job->plan->planes;
  const szg_planes_found *const found = plan->found_back;
  uint32_t value_bytes = 0;
  SZG_TRY(choose_value_bytes(job, job->raw_bytes, &value_bytes));
  szg_planes_output_cuda output = plan->output;
  output.values = job->field_values;
  output.value_count = job->raw_bytes / value_bytes;
  output.encoder = plan->encoder;
  bool const is_sample = !szg_planes_count_all(szg_planes_tile_count(output.value_count));
  szg_summed_leaves summed;
  SZG_TRY(encode_frame(job, is_sample, value_bytes, &output, layout, &summed));
  if (found->is_misled && is_sample)
    SZG_TRY(encode_frame(job, false, value_bytes, &output, layout, &summed));
  SZG_REQUIRE(!found->is_misled, SZGPU_FIELD_CHANGED); /* all symbols were counted */
  szg_planes_sizes const sizes =
      szg_planes_sizes_of(&output.layout, output.value_count, found->word_count);
  *is_written = szg_planes_sizes_sum(&sizes) < job->raw_bytes;
  if (!*is_written) return SZGPU_OK;
  set_header(&output.layout, &sizes, layout);
  layout->frame_bytes = found->frame_bytes;
  job->is_archive_complete = found->frame_bytes > 0;
  if (job->is_archive_complete) return SZGPU_OK;
  SZG_TRY(szg_layout_place_cuda(job, layout));
  layout->is_padded = true;
  layout->summed = summed;
  return szg_layout_finish_cuda(job, layout);
}
