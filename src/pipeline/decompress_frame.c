/* decompress_frame.c - a frame's tiles: sections, running sums, codes to values, outliers on top.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/decompress_frame.h"

#include "outlier/outlier.h"
#include "pipeline/plan.h"
#include "pipeline/top_plane.h"
#include "rle/rle.h"

/* ---- sections of a frame ---- */

/* A tile's share of a section, if the frame has it. */
static const uint8_t *share(const szg_loaded *loaded, uint64_t offset) {
  return loaded->bytes ? loaded->bytes + offset : NULL;
}
static uint32_t exact_mask_bytes_at(const szg_decode_job *job, uint64_t tile) {
  return szg_count_at(&job->exact_counts, 2 * tile);
}
static uint32_t exact_count_at(const szg_decode_job *job, uint64_t tile) {
  return szg_count_at(&job->exact_counts, 2 * tile + 1);
}
/* What a tile has of the stream: words in a tile frame, bits in a linear one, else nothing. */
static uint64_t stream_share_at(const szg_decode_job *job, uint64_t tile, uint32_t value_count) {
  uint64_t const size = szg_count_at(&job->tile_sizes, tile);
  return job->reader.frame.kind == SZG_FRAME_LINEAR ? size + value_count : size;
}
static void pass_tile(const szg_decode_job *job, uint64_t tile, uint32_t value_count,
                      szg_part_start *at) {
  at->stream += stream_share_at(job, tile, value_count);
  at->escape += szg_count_at(&job->escape_counts, tile);
  at->exact_mask += exact_mask_bytes_at(job, tile);
  at->exact_value += exact_count_at(job, tile);
  at->fill_mask += szg_count_at(&job->fill_counts, tile);
}

bool szg_has_outliers(const szg_decode_job *job, uint64_t tile_index) {
  return exact_mask_bytes_at(job, tile_index) | exact_count_at(job, tile_index) |
         szg_count_at(&job->fill_counts, tile_index);
}

/* Tile frames have sections that are empty for want of anything to hold. */
static szgpu_status load(szg_decode_job *job, uint32_t kind, bool is_required, uint64_t least_bytes,
                         uint64_t most_bytes, szg_loaded *loaded) {
  bool const may_be_empty = job->reader.frame.kind == SZG_FRAME_TILE;
  SZG_TRY(szg_reader_load(&job->reader, kind, is_required, may_be_empty ? 0 : least_bytes,
                          most_bytes, loaded));
  if (loaded->byte_count == 0) loaded->bytes = NULL;
  return SZGPU_OK;
}

static szgpu_status load_escapes(szg_decode_job *job) {
  uint64_t const tiles = job->grid.tile_count;
  SZG_TRY(load(job, SZG_SECTION_ESCAPE_COUNTS, false, 2 * tiles, 2 * tiles, &job->escape_counts));
  return load(job, SZG_SECTION_ESCAPES, job->escape_counts.bytes != NULL, 1,
              job->grid.value_count * 8, &job->escapes);
}

static szgpu_status load_outliers(szg_decode_job *job) {
  uint64_t const tiles = job->grid.tile_count;
  uint64_t const most_mask = tiles * SZG_MASK_MAX_BYTES;
  size_t const width = szg_dtype_bytes(job->header->shape.dtype);
  uint64_t const most_values = job->grid.value_count * width;
  SZG_TRY(load(job, SZG_SECTION_EXACT_COUNTS, false, 4 * tiles, 4 * tiles, &job->exact_counts));
  bool const has_exact = job->exact_counts.bytes != NULL;
  SZG_TRY(load(job, SZG_SECTION_EXACT_MASK, has_exact, 1, most_mask, &job->exact_mask));
  SZG_TRY(load(job, SZG_SECTION_EXACT_VALUES, has_exact, width, most_values, &job->exact_values));
  SZG_TRY(load(job, SZG_SECTION_FILL_COUNTS, false, 2 * tiles, 2 * tiles, &job->fill_counts));
  bool const has_fill = job->fill_counts.bytes != NULL;
  return load(job, SZG_SECTION_FILL_MASK, has_fill, 1, most_mask, &job->fill_mask);
}

/* The running sums over tiles; they must use up every section exactly. */
static szgpu_status scan_tiles(szg_decode_job *job, uint64_t *stream_share) {
  uint64_t const part_count = szg_div_up(job->grid.tile_count, SZG_PART_TILES);
  szg_buffer *const buffer = &job->reader.ctx->part_starts;
  SZG_TRY(szg_buffer_reset(buffer, part_count * sizeof *job->starts));
  job->starts = (szg_part_start *)(void *)buffer->bytes;
  szg_part_start at = {0};
  for (uint64_t t = 0; t < job->grid.tile_count; t++) {
    if (t % SZG_PART_TILES == 0) job->starts[t / SZG_PART_TILES] = at;
    pass_tile(job, t, szg_tile_at(&job->grid, t).value_count, &at);
  }
  size_t const width = szg_dtype_bytes(job->header->shape.dtype);
  SZG_REQUIRE(at.escape * job->reader.frame.escape_bytes == job->escapes.byte_count,
              SZGPU_BAD_DATA);
  SZG_REQUIRE((at.escape > 0) == (job->reader.frame.escape_bytes > 0), SZGPU_BAD_DATA);
  SZG_REQUIRE(at.exact_mask == job->exact_mask.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.exact_value * width == job->exact_values.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.fill_mask == job->fill_mask.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.fill_mask == 0 || job->header->has_fill, SZGPU_BAD_DATA);
  *stream_share = at.stream;
  return SZGPU_OK;
}

/* Side data for parallel decoders, which an archive may do without. */
static szgpu_status load_gaps(szg_decode_job *job) {
  szg_linear_input *const stream = &job->linear_stream;
  uint64_t const gap_bytes = szg_div_up(szg_subsequence_count(stream->bit_count), 2);
  uint64_t const sequence_bytes = 2 * szg_sequence_count(stream->bit_count);
  szg_loaded loaded;
  stream->gaps = stream->sequence_codes = NULL;
  if (!job->header->has_gaps) return SZGPU_OK;
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_GAPS, true, gap_bytes, gap_bytes, &loaded));
  stream->gaps = loaded.bytes;
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_SEQUENCE_CODES, true, sequence_bytes,
                          sequence_bytes, &loaded));
  stream->sequence_codes = loaded.bytes;
  return SZGPU_OK;
}

/* A book without codes is complete in its way, but no frame has one. */
static bool has_codes(const szg_codebook *book) {
  for (uint32_t s = 0; s < book->symbol_count; s++)
    if (book->lengths[s]) return true;
  return false;
}

static szgpu_status load_linear_stream(szg_decode_job *job, uint64_t bit_count) {
  szg_reader *const reader = &job->reader;
  szg_linear_input *const stream = &job->linear_stream;
  stream->bit_count = bit_count;
  uint64_t const stream_bytes = szg_div_up(stream->bit_count, 32) * 4;
  szg_loaded loaded;
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_CODEBOOK, true, 1, SZG_CODEBOOK_MAX_BYTES, &loaded));
  SZG_TRY(
      szg_codebook_read(loaded.bytes, loaded.byte_count, 2 * reader->frame.radius, job->plan.book));
  SZG_REQUIRE(has_codes(job->plan.book), SZGPU_BAD_DATA);
  SZG_TRY(
      szg_reader_load(reader, SZG_SECTION_BITSTREAM, true, stream_bytes, stream_bytes, &loaded));
  unsigned const unused_bits = (unsigned)(stream_bytes * 8 - stream->bit_count);
  uint32_t const last_word = stream_bytes ? szg_load_u32(loaded.bytes + stream_bytes - 4) : 0;
  SZG_REQUIRE((last_word & (((uint64_t)1 << unused_bits) - 1)) == 0, SZGPU_BAD_DATA);
  stream->words = loaded.bytes;
  stream->word_bytes = stream_bytes;
  stream->code_count = job->grid.value_count;
  return load_gaps(job);
}

/* ---- codes of a linear frame ---- */

static szg_code_stream code_stream_of(const szg_decode_job *job) {
  return (szg_code_stream){job->plan.book, &job->linear_stream, &job->reader.ctx->threads};
}

/* All codes of the frame, if the decoder gives them at once, and what it works on. */
static szgpu_status carve_codes(szg_decode_job *job, szg_arena *arena) {
  const szg_decoder_cpu *const decoder = job->decoder;
  szg_code_stream const stream = code_stream_of(job);
  uint64_t const whole_codes = decoder->decode_stream ? job->grid.value_count : 0;
  bool const are_bytes =
      szg_decoder_code_bytes(decoder->gives_bytes, szg_has_top_plane(job->header)) == 1;
  job->codes = NULL;
  job->symbols = NULL;
  if (whole_codes && are_bytes) job->symbols = szg_arena_take(arena, whole_codes, 1);
  if (whole_codes && !are_bytes)
    job->codes = szg_arena_take(arena, whole_codes, sizeof *job->codes);
  return decoder->carve(arena, &stream, &job->decoder_memory);
}

/* Memory for codes and decoder, in the ctx's buffer for codes. */
static szgpu_status open_codes(szg_decode_job *job) {
  szgpu_ctx *const ctx = job->reader.ctx;
  szg_arena arena = {0};
  SZG_TRY(carve_codes(job, &arena));
  uint64_t const bytes = arena.used_bytes + SZG_ARENA_ALIGNMENT;
  if (arena.overflowed || szg_buffer_reset(&ctx->codes, bytes) != SZGPU_OK)
    return szg_fail(ctx, SZGPU_OUT_OF_MEMORY, "codes and decoder need %llu bytes",
                    (unsigned long long)bytes);
  size_t const skip = (size_t)(-(uintptr_t)ctx->codes.bytes % SZG_ARENA_ALIGNMENT);
  arena = (szg_arena){.base = ctx->codes.bytes + skip, .capacity_bytes = bytes - skip};
  return carve_codes(job, &arena);
}

/* Bits that the tile's codes take. */
static uint64_t tile_bits(const szg_decode_job *job, const szg_tile *tile) {
  const szg_codebook *const book = job->plan.book;
  if (job->codes) return szg_linear_bits(book, job->codes + tile->first_code, tile->value_count);
  uint64_t bits = 0;
  for (uint32_t i = 0; i < tile->value_count; i++)
    bits += book->lengths[job->symbols[tile->first_code + i]];
  return bits;
}

/* Whether each tile of the part ends where the archive says, which decoders of a whole stream do
 * not look at. */
static szgpu_status check_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const szg_decode_job *const job = job_pointer;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_PART_TILES, job->grid.tile_count);
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    SZG_REQUIRE(tile_bits(job, &tile) == stream_share_at(job, t, tile.value_count), SZGPU_BAD_DATA);
  }
  return SZGPU_OK;
}

/* What the decoder looks up; or all codes at once, from those that take the stream as one. */
static szgpu_status open_decoder(szg_decode_job *job) {
  szgpu_ctx *const ctx = job->reader.ctx;
  const szg_decoder_cpu *const decoder = job->decoder;
  szg_code_stream const stream = code_stream_of(job);
  if (decoder->most_codes && job->grid.value_count > decoder->most_codes)
    return szg_fail(ctx, SZGPU_UNSUPPORTED, "the decoder takes frames of up to %llu values",
                    (unsigned long long)decoder->most_codes);
  SZG_TRY(open_codes(job));
  SZG_TRY(decoder->open(&stream, &job->decoder_memory));
  if (!decoder->decode_stream) return SZGPU_OK;
  void *const codes = job->codes ? (void *)job->codes : job->symbols;
  SZG_TRY(decoder->decode_stream(&stream, &job->decoder_memory, codes));
  return szg_for_parts(&ctx->threads, szg_div_up(job->grid.tile_count, SZG_PART_TILES), 0,
                       check_part, job);
}

/* ---- all sections ---- */

static szgpu_status load_sections(szg_decode_job *job) {
  uint32_t const kind = job->reader.frame.kind;
  uint64_t const sizes_bytes = 2 * job->grid.tile_count;
  uint64_t stream_share;
  job->tile_sizes = job->escape_counts = job->escapes = (szg_loaded){0};
  if (kind != SZG_FRAME_CONSTANT)
    SZG_TRY(load(job, SZG_SECTION_TILE_SIZES, true, sizes_bytes, sizes_bytes, &job->tile_sizes));
  if (kind == SZG_FRAME_LINEAR) SZG_TRY(load_escapes(job));
  SZG_TRY(load_outliers(job));
  SZG_TRY(scan_tiles(job, &stream_share));
  if (kind == SZG_FRAME_LINEAR) {
    SZG_TRY(load_linear_stream(job, stream_share));
    return open_decoder(job);
  }
  return kind == SZG_FRAME_TILE ? szg_load_tile_stream(job, stream_share) : SZGPU_OK;
}

/* ---- tiles ---- */

/* Decodes the part's tiles that are wanted into the worker's codes, tile k at k * tile size. */
static szgpu_status decode_part_codes(const szg_decode_job *job, uint64_t part,
                                      szg_decode_worker *worker) {
  szg_code_run runs[SZG_PART_TILES];
  size_t run_count = 0;
  uint64_t bit = job->starts[part].stream;
  uint64_t const first_tile = part * SZG_PART_TILES;
  uint64_t const end_tile = szg_min_u64(first_tile + SZG_PART_TILES, job->end_tile);
  for (uint64_t t = first_tile; t < end_tile; t++) {
    uint32_t const code_count = szg_tile_at(&job->grid, t).value_count;
    uint64_t const bit_count = stream_share_at(job, t, code_count);
    if (t >= job->first_tile)
      runs[run_count++] = (szg_code_run){bit, bit_count, code_count,
                                         worker->codes + (t - first_tile) * SZG_TILE_VALUES};
    bit += bit_count;
  }
  szg_code_stream const stream = code_stream_of(job);
  return job->decoder->decode_runs(&stream, &job->decoder_memory, runs, run_count);
}

static szgpu_status restore_tile_of_codes(const szg_decode_job *job, uint64_t tile_index,
                                          const szg_tile *tile, const uint16_t *codes,
                                          uint64_t first_escape, szg_tile_work *work) {
  const szg_frame_header *const frame = &job->reader.frame;
  bool const is_wide = szg_is_wide(job->header->arithmetic);
  SZG_REQUIRE(
      szg_tile_uncode(is_wide, tile, frame->radius, codes,
                      share(&job->escapes, first_escape * frame->escape_bytes),
                      szg_count_at(&job->escape_counts, tile_index), frame->escape_bytes, work),
      SZGPU_BAD_DATA);
  szg_tile_sum(is_wide, tile, frame->axes, work);
  szg_tile_restore(&job->quantizer, tile, work, job->values);
  return SZGPU_OK;
}

/* Exact and fill values over the restored ones. */
static szgpu_status apply_outliers(const szg_decode_job *job, uint64_t tile_index,
                                   const szg_tile *tile, const szg_part_start *at) {
  if (!szg_has_outliers(job, tile_index)) return SZGPU_OK;
  szgpu_dtype const dtype = job->header->shape.dtype;
  szg_tile_outliers const outliers = {
      .exact_mask = share(&job->exact_mask, at->exact_mask),
      .exact_values = share(&job->exact_values, at->exact_value * szg_dtype_bytes(dtype)),
      .fill_mask = share(&job->fill_mask, at->fill_mask),
      .exact_mask_bytes = exact_mask_bytes_at(job, tile_index),
      .exact_count = exact_count_at(job, tile_index),
      .fill_mask_bytes = szg_count_at(&job->fill_counts, tile_index),
  };
  return szg_outlier_apply(dtype, tile, &outliers, job->header->fill_bits, job->values);
}

/* The tile's values from its codes; part_codes: of the part's tiles, where there are not all of the
 * frame's. */
static szgpu_status restore_linear_tile(const szg_decode_job *job, uint64_t tile_index,
                                        const szg_tile *tile, const uint16_t *part_codes,
                                        uint64_t first_escape, szg_decode_worker *worker) {
  const uint16_t *const codes = job->codes ? job->codes + tile->first_code : part_codes;
  szg_tile placed = *tile;
  if (szg_has_top_plane(job->header)) {
    const uint8_t *const symbols = job->symbols ? job->symbols + tile->first_code : NULL;
    szg_join_top_plane_tile(job, tile, codes, symbols, worker);
    return SZGPU_OK;
  }
  placed.first_value -= job->first_value;
  return restore_tile_of_codes(job, tile_index, &placed, codes, first_escape, &worker->tile);
}

static szgpu_status decode_part(void *job_pointer, uint64_t part_from_first, int worker_index) {
  const szg_decode_job *const job = job_pointer;
  uint64_t const part = job->first_tile / SZG_PART_TILES + part_from_first;
  szg_decode_worker *const worker = &job->plan.workers[worker_index];
  uint32_t const kind = job->reader.frame.kind;
  uint64_t const first_tile = part * SZG_PART_TILES;
  uint64_t const end_tile = szg_min_u64(first_tile + SZG_PART_TILES, job->end_tile);
  if (kind == SZG_FRAME_LINEAR && job->decoder->decode_runs)
    SZG_TRY(decode_part_codes(job, part, worker));
  szg_part_start at = job->starts[part];
  for (uint64_t t = first_tile; t < end_tile; t++) {
    szg_tile tile = szg_tile_at(&job->grid, t);
    if (t >= job->first_tile) {
      if (kind == SZG_FRAME_LINEAR)
        SZG_TRY(restore_linear_tile(
            job, t, &tile, worker->codes + (t - first_tile) * SZG_TILE_VALUES, at.escape, worker));
      tile.first_value -= job->first_value;
      if (kind == SZG_FRAME_TILE)
        SZG_TRY(szg_restore_tile_of_words(job, t, &tile, at.stream, &worker->tile));
      SZG_TRY(apply_outliers(job, t, &tile, &at));
    }
    pass_tile(job, t, tile.value_count, &at);
  }
  return SZGPU_OK;
}

szgpu_status szg_decode_tiles(szg_decode_job *job) {
  SZG_TRY(load_sections(job));
  uint64_t const first_part = job->first_tile / SZG_PART_TILES;
  uint64_t const end_part = szg_div_up(job->end_tile, SZG_PART_TILES);
  return szg_for_parts(&job->reader.ctx->threads, end_part - first_part, job->wanted_values,
                       decode_part, job);
}
