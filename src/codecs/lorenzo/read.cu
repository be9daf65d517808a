/* read.cu - a tile frame on the GPU: words to values; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One kernel reads the tiles' words and writes their values. It only needs the decoder and the
 * start of each tile, from one kernel before it; frames without outliers run no other.
 */
#include "codecs/lorenzo/frame.h"

#include "codecs/kernels.h"
#include "codecs/outliers.h"
#include "codecs/read_cuda.h"

void szg_tile_frame_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  szg_at_least(&sizes->tile_frame_tiles, frame->grid.tile_count);
  szg_outliers_size_read_cuda(frame, sizes);
}

/* Any frame may turn out to have outliers. */
void szg_tile_frame_size_reserve_cuda(const szg_write_request *request,
                                      szg_read_sizes_cuda *sizes) {
  szg_at_least(&sizes->tile_frame_tiles, request->frame_grid.tile_count);
  szg_at_least(&sizes->placed_tiles, request->frame_grid.tile_count);
}

szgpu_status szg_tile_frame_carve_read_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                            szg_read_plan_cuda *plan) {
  szg_tile_read_plan_cuda *const own = &plan->tile;
  uint64_t const tiles = sizes->tile_frame_tiles;
  if (tiles == 0) return SZGPU_OK;
  SZG_REQUIRE(tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  own->decoder = (szg_tile_decoder *)szg_arena_take(arena, 1, sizeof *own->decoder);
  own->first_words = (uint64_t *)szg_arena_take(arena, tiles + 1, sizeof *own->first_words);
  own->counters = (uint32_t *)szg_arena_take(arena, 1, sizeof *own->counters);
  return SZGPU_OK;
}

/* The frame's tiles from the given one on. */
static szg_tile_input_cuda tiles_from(const szg_read_job_cuda *job, uint64_t first_tile) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_tile_read_plan_cuda *const plan = &job->plan->tile;
  const szg_device_section *const words = &frame->sections[SZG_SECTION_BITSTREAM];
  szg_tile_input_cuda input = {};
  input.decoder = plan->decoder;
  input.sizes = job->counts.bits + first_tile;
  input.first_words = plan->first_words + first_tile;
  input.counters = plan->counters;
  input.words = (const uint32_t *)(const void *)words->bytes;
  input.word_count = words->byte_count / 4;
  input.axes = frame->header.axes;
  input.zero_groups = frame->header.zero_groups;
  return input;
}

szgpu_status szg_tile_frame_open_cuda(const szg_read_job_cuda *job) {
  const szg_device_section *const book = &job->frame->sections[SZG_SECTION_CODEBOOK];
  szg_tile_input_cuda const input = tiles_from(job, 0);
  SZG_TRY(szg_tile_open_cuda(book->bytes, book->byte_count, &input, job->frame->grid.tile_count,
                             job->frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "book, places");
}

/* Finds where every tile's outliers begin, and checks that they use up their sections exactly. */
szgpu_status szg_tile_frame_prepare_cuda(const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_places_cuda *const places = &job->plan->places;
  struct CUstream_st *const stream = job->device->stream;
  szg_tile_sums sums = {};
  sums.sizes = job->counts.bits;
  sums.counts = job->counts;
  sums.counts.bits = NULL; /* sizes are words here */
  sums.shares.value_bytes = job->width;
  sums.shares.exact_mask = sections[SZG_SECTION_EXACT_MASK].byte_count;
  sums.shares.exact_values = sections[SZG_SECTION_EXACT_VALUES].byte_count;
  sums.shares.fill_mask = sections[SZG_SECTION_FILL_MASK].byte_count;
  if (!sums.counts.exact && !sums.counts.fill_mask_bytes) return SZGPU_OK;
  SZG_TRY(szg_places_scan_cuda(places, &frame->grid, &sums.counts, stream));
  SZG_TRY(szg_tile_sums_check_cuda(&sums, &frame->grid, places->places + frame->grid.tile_count,
                                   frame->verdict, stream));
  SZG_TRY(szg_device_mark(job->device, "outlier places"));
  return szg_outliers_list_cuda(job);
}

/* The grid of rows first_row .. end_row - 1, which begin and end with tiles. */
static szg_grid grid_between(const szg_grid *whole, uint64_t first_row, uint64_t end_row) {
  uint64_t const row_count = end_row - first_row;
  return row_count == whole->row_extent ? *whole : szg_grid_of_rows(whole, row_count);
}

/* The tiles that hold rows, as a grid of their own, which is restored as fast as a whole frame. */
struct TilesOfRows {
  szg_grid grid;
  uint64_t tiles_before, values_before; /* in the frame; of the grid, before the first row */
};

static TilesOfRows tiles_of(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows) {
  const szg_grid *const whole = &job->frame->grid;
  uint64_t const quantum = whole->row_quantum;
  uint64_t const first_row = rows->first_row / quantum * quantum;
  uint64_t const end_row = szg_min_u64(szg_align_up(rows->end_row, quantum), whole->row_extent);
  uint64_t const row_tiles = whole->tile_count / szg_div_up(whole->row_extent, quantum);
  return {grid_between(whole, first_row, end_row), first_row / quantum * row_tiles,
          (rows->first_row - first_row) * whole->row_values};
}

static uint32_t lattice_bits_of(const szg_read_job_cuda *job) {
  return szg_tile_lattice_bits(job->quantizer.arithmetic, job->frame->header.has_16_bits);
}

/* If all values of tiles are wanted and no outliers come on top. */
bool szg_tile_frame_narrows_cuda(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows) {
  TilesOfRows const tiles = tiles_of(job, rows);
  return job->mapping.kind == SZG_MAPPING_WIDEN && !job->counts.exact &&
         !job->counts.fill_mask_bytes && rows->value_count == tiles.grid.value_count &&
         szg_tile_narrows_cuda(&job->quantizer, &tiles.grid, job->mapping.outer, rows->values);
}

static szgpu_status restore_tiles(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows) {
  TilesOfRows const tiles = tiles_of(job, rows);
  const szg_grid *const grid = &tiles.grid;
  szg_tile_input_cuda const input = tiles_from(job, tiles.tiles_before);
  szg_verdict *const verdict = job->frame->verdict;
  if (rows->is_narrow)
    SZG_TRY(szg_tile_decompress_narrow_cuda(&job->quantizer, lattice_bits_of(job), grid, &input,
                                            job->mapping.outer, rows->values, verdict,
                                            job->device->stream));
  else
    SZG_TRY(szg_tile_decompress_cuda(&job->quantizer, lattice_bits_of(job), grid, &input, 0,
                                     grid->tile_count, rows->values, tiles.values_before,
                                     rows->value_count, verdict, job->device->stream));
  return szg_device_mark(job->device, "decode");
}

szgpu_status szg_tile_frame_restore_cuda(const szg_read_job_cuda *job,
                                         const szg_frame_rows_cuda *rows) {
  SZG_TRY(restore_tiles(job, rows));
  return szg_outliers_apply_cuda(job, rows);
}
