/* test_random_fields.c - random fields of adversarial distributions keep every promise.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_random_fields [ROUNDS]: each round has a seed of its own, one more than the round before,
 * and prints it with its case: SZGPU_TEST_SEED=<seed> test_random_fields 1 repeats the round.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "container/format.h"
#include "core/tiles.h"
#include "random_fields.h"

/* ROUNDS_FOR_ALL_PATHS are enough to meet every path below. */
enum { DEFAULT_ROUNDS = 3000, ROUNDS_FOR_ALL_PATHS = 1000, MOST_VALUES = 200000 };

static uint64_t round_count = DEFAULT_ROUNDS;
static szgpu_ctx *ctxs[RANDOM_MOST_THREADS + 1]; /* by thread count; [0]: the serial decoder */

static int make_ctxs(void **state) {
  (void)state;
  ctxs[0] = test_make_serial_ctx();
  for (int threads = 1; threads <= RANDOM_MOST_THREADS; threads++)
    ctxs[threads] = test_make_ctx(threads);
  return 0;
}

static int destroy_ctxs(void **state) {
  (void)state;
  for (int i = 0; i <= RANDOM_MOST_THREADS; i++) szgpu_destroy(ctxs[i]);
  return 0;
}

/* ---- the paths that were met ---- */

#define PATH_LIST(X)                                           \
  X(CONSTANT, "constant frames")                               \
  X(RAW, "raw frames")                                         \
  X(PLANES, "planes frames")                                   \
  X(LINEAR, "linear frames")                                   \
  X(LEVELS, "levels frames")                                   \
  X(LEVELS_NONE, "levels frames of a base alone")              \
  X(LEVELS_1, "interpolation along one axis")                  \
  X(LEVELS_2, "interpolation along two axes")                  \
  X(LEVELS_3, "interpolation along three axes")                \
  X(LEVELS_LINEAR, "linear stencils")                          \
  X(LEVELS_WIDE, "wide levels frames")                         \
  X(LEVELS_EXACT, "levels frames with exact values")           \
  X(LEVELS_FILL, "levels frames with fill values")             \
  X(TILE, "tile frames")                                       \
  X(SAMPLED, "tile frames whose book did not count all tiles") \
  X(GROUPS_NONE, "tile frames without zero groups")            \
  X(GROUPS_8, "zero groups of 8 rows")                         \
  X(GROUPS_4, "zero groups of 4 rows")                         \
  X(LATTICE_16, "lattices of 16 bits")                         \
  X(LATTICE_32, "lattices of 32 bits")                         \
  X(LATTICE_64, "lattices of 64 bits")                         \
  X(EXACT_VALUES, "tile frames with exact values")             \
  X(FILL_VALUES, "tile frames with fill values")               \
  X(ZSTD, "bitstreams under zstd")                             \
  X(EMPTY_TILES, "tiles of no words")                          \
  X(CODED_TILES, "coded tiles")                                \
  X(RAW_TILES, "raw tiles")                                    \
  X(JOINED, "archives with joined axes")
#define PATH_ENUMERATOR(name, text) PATH_##name,
#define PATH_TEXT(name, text) text,
enum { PATH_LIST(PATH_ENUMERATOR) PATH_COUNT };
static const char *const path_texts[] = {PATH_LIST(PATH_TEXT)};
static uint64_t path_counts[PATH_COUNT];

static const szgpu_section_info *find_section(const szgpu_frame_info *frame, const char *name) {
  for (uint32_t i = 0; i < frame->section_count; i++)
    if (strcmp(frame->sections[i].name, name) == 0) return &frame->sections[i];
  return NULL;
}

static void count_tiles(const test_archive *archive, const szg_grid *grid, size_t value_bytes,
                        const szgpu_section_info *sizes) {
  if (strcmp(sizes->codec, "stored") != 0) return;
  assert_int_equal(sizes->raw_bytes, 2 * grid->tile_count);
  for (uint64_t i = 0; i < grid->tile_count; i++) {
    const uint8_t *const size = archive->bytes + sizes->offset + 2 * i;
    uint32_t const words = size[0] | (uint32_t)size[1] << 8;
    bool const is_raw = words * 4 == szg_tile_at(grid, i).value_count * value_bytes;
    path_counts[words == 0 ? PATH_EMPTY_TILES : is_raw ? PATH_RAW_TILES : PATH_CODED_TILES]++;
  }
}

static void count_tile_frame(const test_archive *archive, const szg_grid *grid, size_t value_bytes,
                             const szgpu_frame_info *frame) {
  path_counts[frame->zero_groups == 0   ? PATH_GROUPS_NONE
              : frame->zero_groups == 8 ? PATH_GROUPS_8
                                        : PATH_GROUPS_4]++;
  path_counts[frame->lattice_bits == 16   ? PATH_LATTICE_16
              : frame->lattice_bits == 32 ? PATH_LATTICE_32
                                          : PATH_LATTICE_64]++;
  path_counts[PATH_EXACT_VALUES] += find_section(frame, "exact values")->raw_bytes > 0;
  path_counts[PATH_FILL_VALUES] += find_section(frame, "fill mask")->raw_bytes > 0;
  path_counts[PATH_ZSTD] += strcmp(find_section(frame, "bitstream")->codec, "zstd") == 0;
  path_counts[PATH_SAMPLED] += grid->tile_count > SZG_LEAST_COUNTED;
  count_tiles(archive, grid, value_bytes, find_section(frame, "tile sizes"));
}

static void count_levels_frame(const szgpu_frame_info *frame) {
  path_counts[frame->level_count == 0         ? PATH_LEVELS_NONE
              : frame->interpolated_axes == 3 ? PATH_LEVELS_3
              : frame->interpolated_axes == 2 ? PATH_LEVELS_2
                                              : PATH_LEVELS_1]++;
  path_counts[PATH_LEVELS_WIDE] += frame->lattice_bits == 64;
  path_counts[PATH_LEVELS_LINEAR] += strstr(frame->stencil, "linear") != NULL;
  path_counts[PATH_LEVELS_EXACT] += find_section(frame, "exact values") != NULL;
  path_counts[PATH_LEVELS_FILL] += find_section(frame, "fill mask") != NULL;
}

static void check_frame(const random_case *c, const test_archive *archive, const szg_grid *grid,
                        const szgpu_frame_info *frame) {
  bool const is_tile = strcmp(frame->kind, "tile") == 0;
  bool const is_linear = strcmp(frame->kind, "linear") == 0;
  bool const is_raw = strcmp(frame->kind, "raw") == 0;
  bool const is_planes = strcmp(frame->kind, "planes") == 0;
  bool const is_constant = strcmp(frame->kind, "constant") == 0;
  bool const is_levels = strcmp(frame->kind, "levels") == 0;
  assert_true(is_tile || is_linear || is_raw || is_planes || is_constant || is_levels);
  assert_true(c->params.layout == SZGPU_LAYOUT_TILE ? !is_linear
                                                    : !is_tile && !is_planes && !is_levels);
  assert_false(is_levels && c->params.predictor == SZGPU_PREDICTOR_LORENZO);
  path_counts[is_tile     ? PATH_TILE
              : is_linear ? PATH_LINEAR
              : is_raw    ? PATH_RAW
              : is_planes ? PATH_PLANES
              : is_levels ? PATH_LEVELS
                          : PATH_CONSTANT]++;
  if (is_levels) count_levels_frame(frame);
  if (is_tile) count_tile_frame(archive, grid, szg_dtype_bytes(c->shape.dtype), frame);
}

/* Frames must follow one another to the end and be of kinds that the layout may have. */
static void check_frames(const random_case *c, const test_archive *archive,
                         const szgpu_info *info) {
  szgpu_frame_info *const frames = test_allocate(info->frame_count * sizeof *frames);
  for (uint64_t i = 0; i < info->frame_count; i++)
    frames[i] = (szgpu_frame_info)SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(
      szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, info->frame_count, frames),
      SZGPU_OK);
  szg_grid whole;
  assert_int_equal(szg_grid_of_shape(&c->shape, &whole), SZGPU_OK);
  uint64_t next_row = 0;
  for (uint64_t i = 0; i < info->frame_count; i++) {
    szg_grid const grid = info->joined_axes ? szg_grid_of_joined(info->shape.dims, info->shape.ndim,
                                                                 info->joined_axes)
                                            : szg_grid_of_rows(&whole, frames[i].row_count);
    assert_int_equal(frames[i].first_row, next_row);
    check_frame(c, archive, &grid, &frames[i]);
    next_row += frames[i].row_count;
  }
  assert_int_equal(next_row, whole.row_extent);
  path_counts[PATH_JOINED] += info->joined_axes != 0;
  free(frames);
}

/* ---- one round ---- */

static void check_info(const random_case *c, const test_archive *archive, const szgpu_info *info) {
  assert_int_equal(info->shape.dtype, c->shape.dtype);
  assert_int_equal(info->shape.ndim, c->shape.ndim);
  for (int i = 0; i < c->shape.ndim; i++) assert_int_equal(info->shape.dims[i], c->shape.dims[i]);
  assert_int_equal(info->layout, c->params.layout);
  assert_int_equal(info->mode, c->params.mode);
  assert_true(info->bound == c->params.bound);
  if (c->params.mode == SZGPU_MODE_ABS) assert_true(info->absolute_bound == c->params.bound);
  if (c->params.has_fill) assert_true(info->has_fill);
  assert_int_equal(info->field_bytes, test_field_bytes(&c->shape));
  assert_int_equal(info->archive_bytes, archive->byte_count);
}

/* Several threads must write the same bytes, into a block of exactly their size, or a larger one
 * under zstd, because sections take more before they are packed. */
static void check_same_bytes(const random_case *c, const test_archive *archive) {
  szgpu_ctx *const ctx = ctxs[c->threads];
  size_t capacity = archive->byte_count, byte_count;
  if (c->params.zstd_level)
    assert_int_equal(szgpu_sizes(ctx, &c->params, &c->shape, NULL, &capacity), SZGPU_OK);
  uint8_t *const again = test_allocate(capacity);
  assert_int_equal(
      szgpu_compress(ctx, &c->params, &c->shape, c->field, again, capacity, &byte_count), SZGPU_OK);
  assert_int_equal(byte_count, archive->byte_count);
  assert_memory_equal(again, archive->bytes, byte_count);
  free(again);
}

static void check_slab(const random_case *c, test_random *random, const test_archive *archive,
                       const uint8_t *whole) {
  uint64_t const rows = c->shape.dims[0], first = test_random_below(random, rows);
  uint64_t const count = 1 + test_random_below(random, rows - first);
  size_t const row_bytes = test_field_bytes(&c->shape) / rows, bytes = count * row_bytes;
  szgpu_ctx *const reader = ctxs[test_random_below(random, 4) ? c->threads : 0];
  uint8_t *const slab = test_allocate(bytes);
  assert_int_equal(
      szgpu_decompress_slab(reader, archive->bytes, archive->byte_count, first, count, slab, bytes),
      SZGPU_OK);
  assert_memory_equal(slab, whole + first * row_bytes, bytes);
  free(slab);
}

static void check_round(const random_case *c, test_random *random) {
  size_t const bytes = test_field_bytes(&c->shape);
  test_archive archive = test_compress(ctxs[1], &c->params, &c->shape, c->field);
  szgpu_info const info = test_inspect(&archive);
  check_info(c, &archive, &info);
  check_frames(c, &archive, &info);
  check_same_bytes(c, &archive);
  uint8_t *const restored = test_decompress(ctxs[c->threads], &archive, bytes);
  uint8_t *const by_oracle = test_decompress(ctxs[0], &archive, bytes);
  test_assert_bound(&c->shape, c->field, restored, &info);
  assert_memory_equal(restored, by_oracle, bytes);
  check_slab(c, random, &archive, restored);
  free(restored);
  free(by_oracle);
  free(archive.bytes);
}

static void random_fields_keep_every_promise(void **state) {
  (void)state;
  uint64_t const first_seed = test_random_begin().state;
  for (uint64_t seed = first_seed; seed != first_seed + round_count; seed++) {
    test_random random = {seed};
    random_case c = random_case_make(&random, MOST_VALUES);
    random_case_print(&c, seed);
    check_round(&c, &random);
    free(c.field);
  }
}

/* Otherwise the rounds would prove little. */
static void every_path_was_met(void **state) {
  (void)state;
  for (int i = 0; i < PATH_COUNT; i++)
    print_message("%9llu %s\n", (unsigned long long)path_counts[i], path_texts[i]);
  if (round_count < ROUNDS_FOR_ALL_PATHS) {
    print_message("skipped: too few rounds to meet every path\n");
    skip();
  }
  for (int i = 0; i < PATH_COUNT; i++)
    if (path_counts[i] == 0) fail_msg("no %s", path_texts[i]);
}

int main(int argument_count, char **arguments) {
  if (argument_count > 1) round_count = strtoull(arguments[1], NULL, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_fields_keep_every_promise),
      cmocka_unit_test(every_path_was_met),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
