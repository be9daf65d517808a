/* write.c - a tile frame on the CPU: a sample for the codebook, then one pass.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The book comes first, so tiles go from values to bits in one pass: a worker codes a part of 16
 * tiles into a slot (part_slots.h).
 */
#include "codecs/lorenzo/frame.h"

#include <string.h>

#include "codecs/write.h"

/* One tile frame being written. */
typedef struct tile_job {
  szg_write_job *frame;
  szg_tile_basis basis;
  szg_part_stream stream; /* the bitstream */
} tile_job;

void szg_tile_frame_carve_write(szg_arena *arena, const szg_write_request *request,
                                szg_write_plan *plan) {
  szg_tile_write_plan *const own = &plan->tile;
  uint64_t const tile_count = request->frame_grid.tile_count;
  uint64_t const thread_count = (uint64_t)request->thread_count;
  uint64_t const part_count = szg_div_up(tile_count, SZG_PART_TILES);
  uint64_t const part_bytes =
      SZG_PART_TILES * SZG_TILE_VALUES * (uint64_t)szg_dtype_bytes(request->dtype);
  own->choice_work = szg_arena_take(arena, 1, sizeof *own->choice_work);
  own->tallies = szg_arena_take(arena, thread_count, sizeof *own->tallies);
  own->book_bytes = szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  own->book = szg_arena_take(arena, 1, sizeof *own->book);
  own->book_work = szg_arena_take(arena, 1, sizeof *own->book_work);
  own->encoder = szg_arena_take(arena, 1, sizeof *own->encoder);
  own->sizes = szg_arena_take(arena, tile_count, sizeof *own->sizes);
  own->kept_count = (uint32_t)szg_min_u64(tile_count, SZG_MOST_KEPT);
  own->kept = szg_arena_take(arena, own->kept_count, sizeof *own->kept);
  szg_part_slots_carve(arena, part_count, request->thread_count, part_bytes, &own->slots);
}

/* ---- [1] the codebook, from a sample of tiles ---- */

static void to_deltas(const tile_job *job, const szg_tile *tile, szg_tile_work *work,
                      void *deltas) {
  szg_tile_values_to_deltas(&job->basis.quantizer, job->basis.lattice_bits, job->basis.choice.axes,
                            tile, job->frame->values, work, deltas);
}

static szgpu_status count_tile(void *job_pointer, uint64_t i, int worker_index) {
  const tile_job *const job = job_pointer;
  const szg_grid *const grid = &job->frame->grid;
  const szg_tile_write_plan *const plan = &job->frame->plan->tile;
  szg_tile const tile =
      szg_tile_at(grid, szg_sample_tile(grid->tile_count, job->basis.counted_tiles, (uint32_t)i));
  szg_kept_tile *const kept = i < job->basis.kept_tiles ? &plan->kept[i] : NULL;
  szg_tile_work *const work = &job->frame->plan->outliers.tiles[worker_index];
  void *const deltas = kept ? (void *)kept->deltas : &work->deltas;
  to_deltas(job, &tile, work, deltas);
  szg_tile_count(job->basis.lattice_bits, &tile, deltas, &plan->tallies[worker_index]);
  if (kept) {
    kept->has_marks = work->has_marks;
    if (kept->has_marks) memcpy(kept->marks, work->marks, tile.value_count);
  }
  return SZGPU_OK;
}

static szgpu_status build_book(tile_job *job) {
  const szg_tile_write_plan *const plan = &job->frame->plan->tile;
  szg_threads *const threads = &job->frame->ctx->threads;
  memset(plan->tallies, 0, (size_t)threads->count * sizeof *plan->tallies);
  job->basis.counted_tiles = szg_counted_tiles(job->frame->grid.tile_count);
  if (job->basis.lattice_bits == 16)
    job->basis.kept_tiles = (uint32_t)szg_min_u64(job->basis.counted_tiles, plan->kept_count);
  SZG_TRY(szg_for_parts(threads, job->basis.counted_tiles, 0, count_tile, job));
  szg_tile_tally *const tally = &plan->tallies[0];
  for (int i = 1; i < threads->count; i++) szg_tile_tally_add(&plan->tallies[i], tally);
  job->basis.zero_groups = szg_choose_zero_groups(tally);
  szg_tile_book_build(tally, job->basis.zero_groups, plan->book, plan->book_work);
  szg_tile_encoder_build(plan->book, plan->encoder);
  job->basis.book_bytes = szg_codebook_write(plan->book, plan->book_bytes);
  return SZGPU_OK;
}

/* ---- [2] values to bits ---- */

/* A raw tile: the values, in code order. */
static void copy_values(const tile_job *job, const szg_tile *tile, uint8_t *words) {
  size_t const width = szg_dtype_bytes(job->frame->request->dtype);
  size_t const row_bytes = tile->x_extent * width;
  const uint8_t *const values = job->frame->values;
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++, words += row_bytes)
      memcpy(words, values + width * (tile->first_value + z * tile->z_stride + y * tile->y_stride),
             row_bytes);
}

/* The kept tile; NULL: it was not kept. */
static const szg_kept_tile *find_kept_tile(const tile_job *job, uint64_t tile_index) {
  if (job->basis.kept_tiles == 0) return NULL;
  uint64_t const tile_count = job->frame->grid.tile_count;
  uint64_t const i = szg_sample_of_tile(tile_count, job->basis.counted_tiles, tile_index);
  if (i >= job->basis.kept_tiles ||
      szg_sample_tile(tile_count, job->basis.counted_tiles, i) != tile_index)
    return NULL;
  return &job->frame->plan->tile.kept[i];
}

/* A tile's deltas and marks. */
typedef struct tile_deltas {
  const void *deltas;   /* by lattice_bits */
  const uint8_t *marks; /* NULL: all values are coded */
} tile_deltas;

static tile_deltas find_deltas(const tile_job *job, uint64_t tile_index, const szg_tile *tile,
                               szg_tile_work *work) {
  const szg_kept_tile *const kept = find_kept_tile(job, tile_index);
  if (kept) return (tile_deltas){kept->deltas, kept->has_marks ? kept->marks : NULL};
  to_deltas(job, tile, work, &work->deltas);
  return (tile_deltas){&work->deltas, work->has_marks ? work->marks : NULL};
}

/* Codes the tile; returns the bytes of its words. */
static szgpu_status code_tile(const tile_job *job, uint64_t tile_index, szg_tile_work *work,
                              uint8_t *words, uint64_t *byte_count) {
  const szg_write_job *const frame = job->frame;
  szg_tile const tile = szg_tile_at(&frame->grid, tile_index);
  uint32_t const raw_words =
      szg_raw_tile_words(tile.value_count, (uint32_t)szg_dtype_bytes(frame->request->dtype));
  tile_deltas const found = find_deltas(job, tile_index, &tile, work);
  bool const is_given_up = frame->request->raw_outliers && found.marks;
  uint32_t const word_count =
      is_given_up ? raw_words
                  : szg_tile_encode(frame->plan->tile.encoder, job->basis.lattice_bits,
                                    job->basis.zero_groups, &tile, found.deltas, raw_words, words);
  bool const is_raw = word_count == raw_words;
  if (is_raw) copy_values(job, &tile, words);
  frame->plan->tile.sizes[tile_index] = (uint16_t)word_count;
  *byte_count = (uint64_t)word_count * 4;
  return szg_outliers_add(frame, tile_index, &tile, is_raw ? NULL : found.marks);
}

static szgpu_status code_tiles(const tile_job *job, uint64_t part, szg_tile_work *work,
                               szg_part_slot *slot) {
  szg_write_job *const frame = job->frame;
  uint64_t const end_tile = szg_part_end_tile(frame, part);
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    uint64_t tile_bytes;
    SZG_TRY(code_tile(job, t, work, slot->words + slot->byte_count, &tile_bytes));
    slot->byte_count += tile_bytes;
  }
  szg_frame_add_sure_bytes(frame, slot->byte_count + szg_outliers_part_bytes(frame, part));
  return SZGPU_OK;
}

static szgpu_status code_part(void *job_pointer, uint64_t part, int worker_index) {
  tile_job *const job = job_pointer;
  szg_tile_work *const work = &job->frame->plan->outliers.tiles[worker_index];
  szg_part_slot *const slot = szg_part_slot_take(&job->stream, part);
  szgpu_status const status =
      szg_frame_is_outgrown(job->frame) ? SZGPU_OK : code_tiles(job, part, work, slot);
  szg_part_slot_finish(&job->stream, slot);
  return status;
}

/* ---- [3] the frame ---- */

/* Leaves room for header, codebook and tile sizes before the bitstream. */
static void open_stream(tile_job *job, const szg_writer *writer,
                        const szg_tile_frame_sizes *sizes) {
  uint64_t const start =
      writer->used_bytes + szg_frame_header_bytes(SZG_TILE_SECTION_COUNT + writer->more_sections) +
      szg_align_up(sizes->book, SZG_ALIGNMENT) + szg_align_up(sizes->tile_sizes, SZG_ALIGNMENT);
  uint64_t const place = szg_min_u64(start, writer->capacity);
  szg_part_stream_open(&job->frame->plan->tile.slots, job->frame->part_count,
                       writer->archive + place, writer->capacity - place, &job->stream);
}

static szgpu_status write_sections(const tile_job *job, szg_writer *writer,
                                   const szg_tile_frame_sizes *sizes, szg_frame_header *frame) {
  const szg_tile_write_plan *const plan = &job->frame->plan->tile;
  SZG_TRY(szg_writer_begin_frame(writer, frame, SZG_TILE_SECTION_COUNT));
  SZG_TRY(szg_writer_require_room(writer, szg_align_up(sizes->book, SZG_ALIGNMENT) +
                                              szg_align_up(sizes->tile_sizes, SZG_ALIGNMENT) +
                                              szg_align_up(sizes->bitstream, SZG_ALIGNMENT)));
  SZG_TRY(szg_write_copy(writer, SZG_SECTION_CODEBOOK, plan->book_bytes, sizes->book));
  SZG_TRY(szg_write_copy(writer, SZG_SECTION_TILE_SIZES, plan->sizes, sizes->tile_sizes));
  /* The stream is in its place already, unless zstd shortened what comes before it. */
  SZG_TRY(szg_write_copy(writer, SZG_SECTION_BITSTREAM, job->stream.words, sizes->bitstream));
  return szg_outliers_write_all(job->frame, writer, &sizes->outliers);
}

static szgpu_status find_basis(tile_job *job) {
  const szg_write_job *const frame = job->frame;
  szg_tile_basis *const basis = &job->basis;
  basis->quantizer = frame->bound->quantizer;
  basis->has_16_bits = szg_quantizer_take_16_bits(frame->bound->greatest, &basis->quantizer);
  basis->lattice_bits = szg_tile_lattice_bits(basis->quantizer.arithmetic, basis->has_16_bits);
  SZG_TRY(szg_choose(&frame->ctx->threads, &basis->quantizer, &frame->grid, frame->values,
                     SZG_COST_RADIUS, frame->plan->tile.choice_work, &basis->choice));
  return build_book(job);
}

/* Everything before words are coded. A frame that was measured is not looked at again. */
static szgpu_status begin(tile_job *job, szg_tile_frame_sizes *sizes) {
  szg_write_job *const frame = job->frame;
  szg_tile_write_plan *const plan = &frame->plan->tile;
  if (frame->has_tile_basis)
    job->basis = plan->basis;
  else
    SZG_TRY(find_basis(job));
  plan->basis = job->basis;
  frame->has_tile_basis = true;
  sizes->tile_sizes = 2 * frame->grid.tile_count;
  sizes->book = job->basis.book_bytes;
  return SZGPU_OK;
}

szgpu_status szg_tile_frame_write(szg_write_job *frame, szg_writer *writer,
                                  szg_frame_header *header, bool *is_written) {
  tile_job job = {.frame = frame};
  szg_tile_frame_sizes sizes = {0};
  SZG_TRY(begin(&job, &sizes));
  open_stream(&job, writer, &sizes);
  SZG_TRY(
      szg_for_parts(&frame->ctx->threads, frame->part_count, frame->loop_values, code_part, &job));
  sizes.bitstream = job.stream.byte_count;
  sizes.outliers = szg_outliers_size(frame);
  *is_written =
      !szg_frame_is_outgrown(frame) && szg_tile_frame_sizes_sum(&sizes) < frame->raw_bytes;
  frame->has_strays =
      !*is_written || szg_outlier_sizes_stray(&sizes.outliers, frame->bound, frame->request->dtype,
                                              frame->grid.value_count);
  if (!*is_written) return SZGPU_OK;
  header->kind = SZG_FRAME_TILE;
  header->axes = job.basis.choice.axes;
  header->zero_groups = job.basis.zero_groups;
  header->has_16_bits = job.basis.has_16_bits;
  return write_sections(&job, writer, &sizes, header);
}

szgpu_status szg_tile_frame_measure(szg_write_job *frame, uint64_t *byte_count) {
  const szg_tile_write_plan *const plan = &frame->plan->tile;
  uint64_t const raw_bytes = frame->raw_bytes;
  tile_job job = {.frame = frame};
  szg_tile_frame_sizes sizes = {0};
  SZG_TRY(begin(&job, &sizes));
  szg_outliers_release(frame);
  frame->raw_bytes = UINT64_MAX; /* measured to the end, however large it is */
  szg_part_stream_open(&plan->slots, frame->part_count, plan->book_bytes, 0, &job.stream);
  szgpu_status const status =
      szg_for_parts(&frame->ctx->threads, frame->part_count, 0, code_part, &job);
  frame->raw_bytes = raw_bytes;
  szg_outliers_release(frame);
  *byte_count = sizes.book + sizes.tile_sizes + job.stream.byte_count;
  return status;
}
