/* write.c - a levels frame on the CPU: books first, then stage after stage.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A sample of the tiles of all stages is counted, with codes that are estimated from the values,
 * and books are made of the counts. Then each stage, from the coarsest on, goes over all of its
 * tiles. Its restored lattice values are what the next stage predicts from.
 */
#include "codecs/interpolation/frame.h"

#include "codecs/interpolation/levels_choice_core.h"
#include "codecs/write.h"

enum { MOST_STAGES = SZG_LEVELS_MOST + 1 };

/* How the codes of a stage are written. */
typedef struct stage_books {
  szg_tokens_plan plan;
  szg_tokens_cpu_encoder encoder;
} stage_books;

/* Memory in addition to what reading needs too. */
typedef struct write_memory {
  szg_levels_memory shared;
  szg_tokens_tally *tallies; /* [threads][stages] */
  stage_books *books;        /* [stages] */
  uint16_t *sizes;           /* [tiles of the stage that has most] */
  szg_part_slots slots;
  bool *have_outliers; /* [threads]: the worker has seen one */
  uint8_t *book_bytes;
  szg_codebook *book;
  szg_codebook_work *book_work;
} write_memory;

/* One levels frame being written. */
typedef struct levels_job {
  szg_write_job *frame;
  szg_levels_choice choice;
  write_memory memory;
  uint32_t stage_count;
  uint32_t counted_tiles[MOST_STAGES];
  bool has_books;
  uint64_t written_bytes; /* of the sections so far */
  bool fits;              /* they fit in the archive; otherwise they are only measured */
  /* the stage at hand */
  uint32_t stage;
  szg_part_stream stream;
} levels_job;

static uint64_t most_tiles(const szg_levels *levels) {
  uint64_t most = 0;
  for (uint32_t i = 0; i <= levels->level_count; i++)
    if (levels->stages[i].tile_count > most) most = levels->stages[i].tile_count;
  return most;
}

static uint32_t most_words(const szg_levels *levels) {
  uint32_t most = 0;
  for (uint32_t i = 0; i <= levels->level_count; i++) {
    szg_tokens_shape const shape = {.group_count =
                                        levels->stages[i].place_count / SZG_LEVELS_GROUP};
    if (szg_tokens_most_words(&shape) > most) most = szg_tokens_most_words(&shape);
  }
  return most;
}

static void carve(szg_arena *arena, const levels_job *job, write_memory *memory) {
  const szg_levels *const levels = &job->choice.levels;
  int const thread_count = job->frame->request->thread_count;
  uint64_t const tile_count = most_tiles(levels);
  uint64_t const tally_count = (uint64_t)thread_count * job->stage_count;
  szg_levels_carve(arena, levels, levels->level_count, thread_count, &memory->shared);
  memory->tallies = szg_arena_take(arena, tally_count, sizeof *memory->tallies);
  memory->books = szg_arena_take(arena, job->stage_count, sizeof *memory->books);
  memory->sizes = szg_arena_take(arena, tile_count, sizeof *memory->sizes);
  memory->have_outliers = szg_arena_take(arena, (uint64_t)thread_count, sizeof(bool));
  memory->book_bytes = szg_arena_take(arena, SZG_TOKENS_BOOKS_MOST_BYTES, 1);
  memory->book = szg_arena_take(arena, 1, sizeof *memory->book);
  memory->book_work = szg_arena_take(arena, 1, sizeof *memory->book_work);
  szg_part_slots_carve(arena, szg_div_up(tile_count, SZG_LEVELS_PART_TILES), thread_count,
                       (uint64_t)most_words(levels) * 4 * SZG_LEVELS_PART_TILES, &memory->slots);
}

/* Stages of any choice have no more places than these, and no more parts at work. */
uint64_t szg_levels_write_fixed_bytes(const szg_write_request *request) {
  enum { MOST_PARTS = 4096 };
  szg_write_job frame = {.request = request};
  levels_job job = {.frame = &frame, .stage_count = MOST_STAGES};
  szg_arena arena = {0};
  write_memory unused;
  uint64_t const most_tiles_here =
      szg_min_u64(request->frame_grid.value_count, MOST_PARTS * SZG_LEVELS_PART_TILES);
  job.choice.levels.level_count = MOST_STAGES - 1;
  for (uint32_t i = 0; i < MOST_STAGES; i++) {
    job.choice.levels.stages[i].tile_count = most_tiles_here;
    job.choice.levels.stages[i].place_count = SZG_LEVELS_MOST_PLACES;
  }
  carve(&arena, &job, &unused);
  return arena.used_bytes;
}

static szgpu_status open_memory(levels_job *job) {
  szg_arena arena = {0};
  carve(&arena, job, &job->memory);
  SZG_TRY(szg_levels_arena_open(job->frame->ctx, &arena));
  carve(&arena, job, &job->memory);
  return SZGPU_OK;
}

static const szg_levels_stage *stage_of(const levels_job *job) {
  return &job->choice.levels.stages[job->stage];
}

static szg_tokens_shape shape_of(const levels_job *job, uint32_t stage) {
  uint32_t const place_count = job->choice.levels.stages[stage].place_count;
  return (szg_tokens_shape){
      .group_count = place_count / SZG_LEVELS_GROUP,
      .lane_groups_log2 = job->has_books ? job->memory.books[stage].plan.lane_groups_log2 : 0,
      .is_wide = job->choice.levels.is_wide};
}

/* Which places exist; NULL: all. */
static const uint64_t *find_existing(const levels_job *job, uint32_t stage, uint64_t tile_index,
                                     uint64_t *existing) {
  if (szg_levels_tile_is_full(&job->choice.levels, stage, tile_index)) return NULL;
  szg_levels_existing_places(&job->choice.levels, stage, tile_index, existing);
  return existing;
}

/* ---- [1] exact and fill values ---- */

enum { SCAN_VALUES = 1 << 16 }; /* of a part; many tiles' */
static_assert(SCAN_VALUES % SZG_TILE_VALUES == 0, "a worker has marks for a tile");

/* Looks whether any value has no lattice value. Most frames have none, and values in their order
 * come faster from memory than tile by tile. */
static szgpu_status scan_values(void *job_pointer, uint64_t part, int worker) {
  const levels_job *const job = job_pointer;
  const szg_write_job *const frame = job->frame;
  uint8_t *const marks = frame->plan->outliers.tiles[worker].marks;
  uint64_t const end = szg_min_u64((part + 1) * SCAN_VALUES, frame->grid.value_count);
  bool *const has_outlier = &job->memory.have_outliers[worker];
  for (uint64_t i = part * SCAN_VALUES; i < end && !*has_outlier; i += SZG_TILE_VALUES)
    *has_outlier = szg_levels_mark(&job->choice.lattice, frame->values, i,
                                   (uint32_t)szg_min_u64(SZG_TILE_VALUES, end - i), marks);
  return SZGPU_OK;
}

/* Marks what has no lattice value; the bound holds for everything else (docs/guarantees.md). */
static szgpu_status mark_outliers(void *job_pointer, uint64_t part, int worker) {
  const levels_job *const job = job_pointer;
  const szg_write_job *const frame = job->frame;
  uint8_t *const marks = frame->plan->outliers.tiles[worker].marks;
  uint64_t const end_tile = szg_part_end_tile(frame, part);
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&frame->grid, t);
    bool has_marks = false;
    uint8_t *row = marks;
    for (uint32_t z = 0; z < tile.z_extent; z++)
      for (uint32_t y = 0; y < tile.y_extent; y++, row += tile.x_extent)
        has_marks |= szg_levels_mark(&job->choice.lattice, frame->values,
                                     tile.first_value + z * tile.z_stride + y * tile.y_stride,
                                     tile.x_extent, row);
    SZG_TRY(szg_outliers_add(frame, t, &tile, has_marks ? marks : NULL));
  }
  return SZGPU_OK;
}

static szgpu_status find_outliers(levels_job *job) {
  const szg_write_job *const frame = job->frame;
  szg_threads *const threads = &frame->ctx->threads;
  bool any = frame->bound->quantizer.has_fill; /* then there are some, as a rule */
  memset(job->memory.have_outliers, 0, (size_t)threads->count * sizeof(bool));
  if (!any)
    SZG_TRY(szg_for_parts(threads, szg_div_up(frame->grid.value_count, SCAN_VALUES), 0, scan_values,
                          job));
  for (int i = 0; i < threads->count; i++) any |= job->memory.have_outliers[i];
  return any ? szg_for_parts(threads, frame->part_count, 0, mark_outliers, job) : SZGPU_OK;
}

/* ---- [2] the books of all stages ---- */

/* Counts sample i of those of all stages. */
static szgpu_status count_tile(void *job_pointer, uint64_t i, int worker) {
  const levels_job *const job = job_pointer;
  const szg_levels *const levels = &job->choice.levels;
  const szg_levels_memory *const memory = &job->memory.shared;
  uint32_t stage = 0;
  while (i >= job->counted_tiles[stage]) i -= job->counted_tiles[stage++];
  uint64_t const tile_index =
      szg_number_in_part(levels->stages[stage].tile_count, job->counted_tiles[stage], i);
  szg_tokens_shape const shape = shape_of(job, stage);
  void *const codes = szg_levels_codes_of(memory, worker);
  uint64_t existing[SZG_TOKENS_MOST_GROUPS];
  szg_levels_estimate_tile(levels, stage, tile_index, &job->choice.lattice, job->frame->values,
                           &memory->work[worker], codes);
  szg_tokens_count(&shape, codes, find_existing(job, stage, tile_index, existing),
                   &job->memory.tallies[(uint32_t)worker * job->stage_count + stage]);
  return SZGPU_OK;
}

/* Adds what all threads have counted in a stage, and makes its books. */
static void make_books(const levels_job *job, uint32_t stage) {
  const write_memory *const memory = &job->memory;
  szg_tokens_tally *const tally = &memory->tallies[stage];
  stage_books *const books = &memory->books[stage];
  /* Codes of levels are only estimated. */
  bool const is_exact =
      stage == 0 && job->counted_tiles[0] == job->choice.levels.stages[0].tile_count;
  for (int i = 1; i < job->frame->ctx->threads.count; i++)
    szg_tokens_tally_add(&tally[(uint32_t)i * job->stage_count], tally);
  szg_tokens_choose(tally, shape_of(job, stage).group_count,
                    szg_levels_lane_bits(&job->choice.levels, stage), is_exact, memory->book,
                    memory->book_work, &books->plan);
  szg_tokens_encoder_build(&books->plan, &books->encoder);
}

static szgpu_status choose_books(levels_job *job) {
  const write_memory *const memory = &job->memory;
  szg_threads *const threads = &job->frame->ctx->threads;
  size_t const tally_count = (size_t)threads->count * job->stage_count;
  uint64_t counted_count = 0;
  memset(memory->tallies, 0, tally_count * sizeof *memory->tallies);
  for (uint32_t i = 0; i < job->stage_count; i++) {
    job->counted_tiles[i] = szg_levels_counted_tiles(job->choice.levels.stages[i].tile_count);
    counted_count += job->counted_tiles[i];
  }
  SZG_TRY(szg_for_parts(threads, counted_count, 0, count_tile, job));
  for (uint32_t i = 0; i < job->stage_count; i++) make_books(job, i);
  job->has_books = true;
  return SZGPU_OK;
}

/* ---- [3] the tiles of a stage ---- */

/* The base's books may be of all its tiles and have no escapes; then a code that they lack means
 * that the values changed in between. */
static szgpu_status encode_tile(const levels_job *job, uint64_t tile_index, int worker,
                                szg_part_slot *slot) {
  const write_memory *const memory = &job->memory;
  const szg_levels_memory *const shared = &memory->shared;
  szg_tokens_shape const shape = shape_of(job, job->stage);
  void *const codes = szg_levels_codes_of(shared, worker);
  uint64_t existing[SZG_TOKENS_MOST_GROUPS];
  szg_levels_code_tile(&job->choice.levels, job->stage, tile_index, &job->choice.lattice,
                       job->frame->values, shared->grids, &shared->work[worker], codes);
  uint32_t const word_count =
      szg_tokens_encode_tile(&memory->books[job->stage].encoder, &shape, codes,
                             find_existing(job, job->stage, tile_index, existing),
                             &shared->token_work[worker], slot->words + slot->byte_count);
  SZG_REQUIRE(word_count != SZG_TOKENS_UNCOUNTED, SZGPU_FIELD_CHANGED);
  memory->sizes[tile_index] = (uint16_t)word_count;
  slot->byte_count += (uint64_t)word_count * 4;
  return SZGPU_OK;
}

static szgpu_status encode_tiles_of_part(levels_job *job, uint64_t part, int worker,
                                         szg_part_slot *slot) {
  uint64_t const end_tile =
      szg_min_u64((part + 1) * SZG_LEVELS_PART_TILES, stage_of(job)->tile_count);
  for (uint64_t t = part * SZG_LEVELS_PART_TILES; t < end_tile; t++)
    SZG_TRY(encode_tile(job, t, worker, slot));
  szg_frame_add_sure_bytes(job->frame, slot->byte_count);
  return SZGPU_OK;
}

static szgpu_status encode_part(void *job_pointer, uint64_t part, int worker) {
  levels_job *const job = job_pointer;
  szg_part_slot *const slot = szg_part_slot_take(&job->stream, part);
  szgpu_status const status =
      szg_frame_is_outgrown(job->frame) ? SZGPU_OK : encode_tiles_of_part(job, part, worker, slot);
  szg_part_slot_finish(&job->stream, slot);
  return status;
}

/* Writes head, books and sizes in front of the words, which are in their place already. */
static void write_front(const levels_job *job, const szg_levels_head *head,
                        const szg_levels_places *places, uint8_t *bytes) {
  uint64_t const tile_count = stage_of(job)->tile_count;
  szg_levels_head_write(head, bytes);
  memcpy(bytes + SZG_LEVELS_HEAD_BYTES, job->memory.book_bytes, head->book_bytes);
  for (uint64_t t = 0; t < tile_count; t++)
    szg_store_u16(bytes + places->tile_sizes + 2 * t, job->memory.sizes[t]);
  memset(bytes + places->tile_sizes + 2 * tile_count, 0,
         places->words - places->tile_sizes - 2 * tile_count);
}

static uint64_t room_of(const szg_writer *writer) { return writer->capacity - writer->used_bytes; }

/* Notes it if the archive has no room for a section. A frame that does not fit may still turn out
 * to be one for the next kind, whose frame fits. */
static bool fits_too(levels_job *job, const szg_writer *writer, uint64_t byte_count) {
  job->fits = job->fits && szg_align_up(byte_count, SZG_ALIGNMENT) <= room_of(writer);
  return job->fits;
}

static szgpu_status write_zero_stage(levels_job *job, szg_writer *writer) {
  szg_levels_head const head = {.mode = SZG_LEVELS_MODE_ZERO, .unit = stage_of(job)->unit};
  uint8_t *bytes;
  if (!fits_too(job, writer, SZG_LEVELS_HEAD_BYTES)) return SZGPU_OK;
  SZG_TRY(szg_writer_begin_section(writer, SZG_LEVELS_HEAD_BYTES, &bytes));
  szg_levels_head_write(&head, bytes);
  return szg_writer_end_section(writer, szg_levels_section(job->stage), SZG_LEVELS_HEAD_BYTES);
}

/* Encodes the stage's tiles: their words go to where the section will have them, if there is
 * room. */
static szgpu_status encode_tiles(levels_job *job, szg_writer *writer, uint64_t words_at) {
  uint64_t const part_count = szg_div_up(stage_of(job)->tile_count, SZG_LEVELS_PART_TILES);
  bool const is_last = job->stage == job->choice.levels.level_count;
  bool const has_room = job->fits && words_at <= room_of(writer);
  uint8_t *bytes = writer->archive;
  if (has_room) SZG_TRY(szg_writer_begin_section(writer, words_at, &bytes));
  szg_part_stream_open(&job->memory.slots, part_count, has_room ? bytes + words_at : bytes,
                       has_room ? room_of(writer) - words_at : 0, &job->stream);
  return szg_for_parts(&job->frame->ctx->threads, part_count, is_last ? job->frame->loop_values : 0,
                       encode_part, job);
}

static szgpu_status write_stage(levels_job *job, szg_writer *writer) {
  const szg_tokens_plan *const plan = &job->memory.books[job->stage].plan;
  const szg_levels_stage *const stage = stage_of(job);
  szg_levels_head const head = {.mode = plan->mode,
                                .lane_groups_log2 = plan->lane_groups_log2,
                                .unit = stage->unit,
                                .book_bytes = (uint32_t)szg_tokens_books_write(
                                    &plan->books, plan->mode, job->memory.book_bytes)};
  szg_levels_places const places = szg_levels_places_of(&head, stage->tile_count);
  SZG_TRY(encode_tiles(job, writer, places.words));
  if (szg_frame_is_outgrown(job->frame)) return SZGPU_OK;
  if (job->stream.byte_count == 0) return write_zero_stage(job, writer);
  uint64_t const byte_count = places.words + job->stream.byte_count;
  uint8_t *bytes;
  szg_frame_add_sure_bytes(job->frame, places.words);
  job->written_bytes += byte_count;
  if (!fits_too(job, writer, byte_count)) return SZGPU_OK;
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &bytes));
  write_front(job, &head, &places, bytes);
  return szg_writer_end_section(writer, szg_levels_section(job->stage), byte_count);
}

/* ---- [4] the frame ---- */

static uint64_t padded_bytes(const szg_outlier_sizes *sizes) {
  uint64_t const bytes[] = {sizes->exact_counts, sizes->exact_mask, sizes->exact_values,
                            sizes->fill_counts, sizes->fill_mask};
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    sum += szg_align_up(bytes[i], SZG_ALIGNMENT);
  return sum;
}

/* Whether the frame is worth its time. If its stages take more than was hoped, it must save enough
 * over a tile frame. */
static szgpu_status is_worth_it(levels_job *job, uint64_t stage_bytes, bool *is_worth) {
  uint64_t tile_bytes;
  *is_worth = true;
  if (stage_bytes <= job->choice.doubtful_bytes) return SZGPU_OK;
  SZG_TRY(szg_tile_frame_measure(job->frame, &tile_bytes));
  *is_worth = szg_levels_save_enough(job->frame->request, stage_bytes, tile_bytes);
  return SZGPU_OK;
}

/* Writes the sections until it is certain that they are no smaller than the values. */
static szgpu_status write_sections(levels_job *job, szg_writer *writer, szg_frame_header *header,
                                   bool *is_written) {
  szg_write_job *const frame = job->frame;
  const szg_levels *const levels = &job->choice.levels;
  szg_outlier_sizes const outliers = szg_outliers_size(frame);
  uint32_t const section_count = szg_outlier_section_count(&outliers) + levels->level_count + 1;
  job->written_bytes = szg_outlier_sizes_sum(&outliers);
  szg_frame_add_sure_bytes(frame, job->written_bytes);
  job->fits = true;
  uint64_t const header_bytes = szg_frame_header_bytes(section_count + writer->more_sections);
  if (fits_too(job, writer, header_bytes + padded_bytes(&outliers))) {
    SZG_TRY(szg_writer_begin_frame(writer, header, section_count));
    SZG_TRY(szg_outliers_write(frame, writer, &outliers));
  }
  for (job->stage = 0; job->stage < job->stage_count; job->stage++) {
    if (szg_frame_is_outgrown(frame)) return SZGPU_OK;
    SZG_TRY(write_stage(job, writer));
  }
  *is_written = !szg_frame_is_outgrown(frame) && job->written_bytes < frame->raw_bytes;
  if (*is_written)
    SZG_TRY(is_worth_it(job, job->written_bytes - szg_outlier_sizes_sum(&outliers), is_written));
  frame->has_strays =
      *is_written && frame->bound->is_sampled && szg_outlier_sizes_sum(&outliers) > 0;
  if (!*is_written || job->fits) return SZGPU_OK;
  return szg_fail(frame->ctx, SZGPU_CAPACITY, "over %llu bytes are needed",
                  (unsigned long long)writer->capacity);
}

szgpu_status szg_levels_frame_write(szg_write_job *frame, szg_writer *writer,
                                    szg_frame_header *header, bool *is_written) {
  levels_job job = {.frame = frame};
  *is_written = false;
  SZG_TRY(szg_levels_choose(frame, &job.choice));
  if (!job.choice.is_chosen || !szg_levels_are_dense(frame->request, &job.choice.levels))
    return SZGPU_OK;
  job.stage_count = job.choice.levels.level_count + 1;
  SZG_TRY(open_memory(&job));
  SZG_TRY(find_outliers(&job));
  SZG_TRY(choose_books(&job));
  szg_levels_set_header(&job.choice.levels, header);
  return write_sections(&job, writer, header, is_written);
}
