/* test_bombs.c - small archives that ask for much memory or time: what they claim is refused before
 * it is taken, and what a call takes stays below the limits that docs/security.md states.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive_edit.h"
#include "archive_make.h"
#include "counted_memory.h"
#include "regions.h"

enum { THREADS = 2, BOX_VALUES = 8, BOXES = 1 << 15, MIB = 1 << 20 };

/* What is restored. Two are boxes: one value, and all values but those of a side, so that it is not
 * whole rows. */
enum { WHOLE, SLAB, ONE_VALUE, BOX, WAYS };

/* docs/security.md, "The most that an archive can take": by the bytes of a value in the field, and
 * as it is coded, and whether these types differ. */
typedef struct value_kind {
  szgpu_dtype dtype;
  szgpu_mode mode;
  uint64_t bytes, coded_bytes;
  bool is_mapped;
} value_kind;

static uint64_t most_of_value(const value_kind *kind, int way) {
  uint64_t const always = kind->bytes + (kind->is_mapped ? kind->coded_bytes : 0) + 1;
  uint64_t const part = 4 + kind->bytes + kind->coded_bytes;
  return always + (way == WHOLE ? 8 : part > 11 ? part : 11);
}

static size_t most_bytes(size_t archive_bytes, uint64_t frame_values, const value_kind *kind,
                         int way) {
  return (size_t)2 * MIB + (size_t)THREADS * 3 * MIB + archive_bytes / 4 +
         frame_values * most_of_value(kind, way);
}

static value_kind const f32_values = {SZGPU_F32, SZGPU_MODE_ABS, 4, 4, false};

/* ---- bombs ---- */

/* A batch of boxes of 2 x 2 x 2 values, each of which is a tile, in one frame. */
static made_archive boxes(uint8_t frame_kind, uint32_t version, szgpu_layout layout) {
  return (made_archive){.version = version,
                        .shape = test_shape(SZGPU_F32, 4, BOXES, 2, 2, 2),
                        .mode = SZGPU_MODE_ABS,
                        .layout = layout,
                        .frame_rows = BOXES,
                        .frame_count = 1,
                        .frame_values = (uint64_t)BOXES * BOX_VALUES,
                        .frame_kind = frame_kind};
}

static void add_zeros(made_archive *made, uint32_t kind, uint64_t raw_bytes) {
  made->sections[made->section_count++] = (made_section){kind, raw_bytes, NULL};
}

enum { VALUES = BOXES * BOX_VALUES, FIELD_BYTES = 4 * VALUES, MASK_BYTES = 4113 };

/* Before, masks could take 4,113 bytes a tile however small it was: 202,880 bytes of archive made a
 * slab of 32 bytes take 4.2 GB. */
static made_archive masks(void) {
  made_archive made = boxes(SZG_FRAME_CONSTANT, 1, SZGPU_LAYOUT_LINEAR);
  made.flags = 1;
  made.constant = 0x3FC00000;
  add_zeros(&made, SZG_SECTION_EXACT_COUNTS, 4 * BOXES);
  add_zeros(&made, SZG_SECTION_EXACT_MASK, (uint64_t)MASK_BYTES * BOXES);
  add_zeros(&made, SZG_SECTION_EXACT_VALUES, FIELD_BYTES);
  add_zeros(&made, SZG_SECTION_FILL_COUNTS, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_FILL_MASK, (uint64_t)MASK_BYTES * BOXES);
  return made;
}

static made_archive linear_escapes(void) {
  made_archive made = boxes(SZG_FRAME_LINEAR, 3, SZGPU_LAYOUT_LINEAR);
  made.flags = 2;
  made.axes = 1;
  made.byte_2 = 4;
  made.radius = 32768;
  add_zeros(&made, SZG_SECTION_CODEBOOK, 6 + 65535);
  add_zeros(&made, SZG_SECTION_TILE_SIZES, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_BITSTREAM, 2 * VALUES);
  add_zeros(&made, SZG_SECTION_ESCAPE_COUNTS, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_ESCAPES, 8 * VALUES);
  return made;
}

static made_archive tile_stream(void) {
  made_archive made = boxes(SZG_FRAME_TILE, 2, SZGPU_LAYOUT_TILE);
  made.flags = 1;
  made.axes = 1;
  add_zeros(&made, SZG_SECTION_CODEBOOK, 200);
  add_zeros(&made, SZG_SECTION_TILE_SIZES, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_BITSTREAM, FIELD_BYTES);
  add_zeros(&made, SZG_SECTION_EXACT_COUNTS, 4 * BOXES);
  add_zeros(&made, SZG_SECTION_EXACT_MASK, VALUES);
  add_zeros(&made, SZG_SECTION_EXACT_VALUES, FIELD_BYTES);
  add_zeros(&made, SZG_SECTION_FILL_COUNTS, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_FILL_MASK, VALUES);
  return made;
}

static made_archive levels_of_all_values(void) {
  made_archive made = boxes(SZG_FRAME_LEVELS, 5, SZGPU_LAYOUT_TILE);
  made.axes = 1;
  made.byte_2 = 3;           /* axes that are interpolated */
  made.radius = 6 | 4u << 8; /* levels, fine bits */
  for (uint32_t i = 0; i <= 6; i++) add_zeros(&made, SZG_SECTION_BASE + i, FIELD_BYTES);
  return made;
}

/* Seven stages of heads alone. Each box would be a tile of 4,096 places in each of them: before, a
 * MB of such a field took a quarter of a second, and six times its size in memory if it is wide. */
static made_archive levels_of_boxes(void) {
  static uint8_t const head[16] = {0, 0, 0, 0, 16};
  made_archive made = boxes(SZG_FRAME_LEVELS, 5, SZGPU_LAYOUT_TILE);
  made.axes = 1;
  made.byte_2 = 3;
  made.byte_3 = 2;
  made.radius = 6 | 4u << 8;
  for (uint32_t i = 0; i <= 6; i++)
    made.sections[made.section_count++] = (made_section){SZG_SECTION_BASE + i, sizeof head, head};
  return made;
}

typedef struct bomb {
  const char *name;
  made_archive (*make)(void);
} bomb;

static bomb const bombs[] = {
    {"masks longer than their tiles", masks},
    {"escapes of twice the field", linear_escapes},
    {"a stream and exact values of all values", tile_stream},
    {"seven levels of all values", levels_of_all_values},
    {"levels of boxes", levels_of_boxes},
};

/* ---- what calls take ---- */

static const char *const way_names[WAYS] = {"whole", "slab", "value", "box"};

static szgpu_region region_of(int way, const szgpu_shape *shape) {
  szgpu_region region = {{0}, {1, 1, 1, 1}};
  for (int axis = 0; axis < shape->ndim && way == BOX; axis++)
    region.count[axis] = shape->dims[axis];
  if (way == BOX && shape->dims[shape->ndim - 1] > 1) region.count[shape->ndim - 1]--;
  return region;
}

/* Restores the field, one row of it, or a box. */
static szgpu_status restore(szgpu_ctx *ctx, const test_archive *archive, size_t field_bytes,
                            int way, size_t *peak_bytes) {
  szgpu_info const info = test_inspect(archive);
  szgpu_region const region = region_of(way, &info.shape);
  size_t bytes = way == SLAB ? field_bytes / info.shape.dims[0] : field_bytes;
  if (way >= ONE_VALUE) bytes = region_bytes(&info.shape, &region);
  void *const field = test_allocate(bytes);
  size_t const before = counted_bytes();
  counted_peak_begin();
  szgpu_status const status =
      way == SLAB
          ? szgpu_decompress_slab(ctx, archive->bytes, archive->byte_count, 0, 1, field, bytes)
      : way >= ONE_VALUE ? szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, 0,
                                                   &region, field, bytes)
                         : szgpu_decompress(ctx, archive->bytes, archive->byte_count, field, bytes);
  *peak_bytes = counted_peak() - before;
  free(field);
  return status;
}

static void bombs_are_refused_before_they_take_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(bombs); i++)
    for (int way = 0; way < WAYS; way++) {
      made_archive const made = bombs[i].make();
      test_archive archive = archive_make(&made);
      szgpu_ctx *const ctx = test_make_ctx(THREADS);
      size_t peak_bytes;
      szgpu_status const status = restore(ctx, &archive, FIELD_BYTES, way, &peak_bytes);
      size_t const most = most_bytes(archive.byte_count, VALUES, &f32_values, way);
      if (status != SZGPU_BAD_DATA)
        fail_msg("%s: %s (%s)", bombs[i].name, szgpu_status_text(status), szgpu_last_error(ctx));
      if (peak_bytes > most)
        fail_msg("%s: %zu bytes, more than %zu", bombs[i].name, peak_bytes, most);
      print_message("           %-40s %7zu bytes took %9zu: %s\n", bombs[i].name,
                    archive.byte_count, peak_bytes, szgpu_last_error(ctx));
      szgpu_destroy(ctx);
      free(archive.bytes);
    }
}

/* ---- archives that are sound ---- */

typedef struct honest {
  const char *name;
  szgpu_shape shape;
  szgpu_params params;
  bool is_rough; /* random bits, so that all values are stored exactly */
} honest;

/* A field of each kind of frame; shapes in which frames and tiles are cut off. */
static size_t list_honest(honest *all) {
  szgpu_shape const box = test_shape(SZGPU_F32, 3, 34, 21, 50, 0);
  szgpu_shape const line = test_shape(SZGPU_F32, 1, 70007, 0, 0, 0);
  szgpu_params const tile = test_params(SZGPU_MODE_ABS, 0.5);
  szgpu_params const linear = test_linear_params(SZGPU_MODE_ABS, 0.5);
  szgpu_params lorenzo = tile, levels = tile, lossless = tile, top_plane = linear;
  lorenzo.predictor = SZGPU_PREDICTOR_LORENZO;
  levels.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  lossless.mode = top_plane.mode = SZGPU_MODE_LOSSLESS;
  size_t n = 0;
  all[n++] = (honest){"tile", box, lorenzo, false};
  all[n++] = (honest){"linear", box, linear, false};
  all[n++] = (honest){"levels, 3-D", box, levels, false};
  all[n++] = (honest){"levels, 2-D", test_shape(SZGPU_F64, 2, 200, 161, 0, 0), levels, false};
  all[n++] = (honest){"levels, 1-D", line, levels, false};
  all[n++] = (honest){"boxes", test_shape(SZGPU_F32, 4, 3000, 2, 2, 2), lorenzo, false};
  all[n++] = (honest){"planes", box, lossless, false};
  all[n++] = (honest){"top plane", box, top_plane, false};
  all[n++] = (honest){"raw", box, lossless, true};
  all[n++] = (honest){"raw, linear layout", line, linear, true};
  return n;
}

enum { MOST_HONEST = 16 };

static test_archive compress_honest(const honest *h, int zstd_level) {
  szgpu_params params = h->params;
  params.zstd_level = zstd_level;
  void *const field = h->is_rough ? test_make_bits(&h->shape) : test_make_waves(&h->shape);
  szgpu_ctx *const ctx = test_make_ctx(THREADS);
  test_archive const archive = archive_compress(ctx, &params, &h->shape, field);
  szgpu_destroy(ctx);
  free(field);
  return archive;
}

static void sound_archives_take_no_more_than_stated(void **state) {
  (void)state;
  honest all[MOST_HONEST];
  size_t const count = list_honest(all);
  for (size_t i = 0; i < count; i++)
    for (int zstd_level = 0; zstd_level <= 1; zstd_level++)
      for (int way = 0; way < WAYS; way++) {
        test_archive archive = compress_honest(&all[i], zstd_level);
        size_t const field_bytes = test_field_bytes(&all[i].shape);
        szgpu_ctx *const ctx = test_make_ctx(THREADS);
        size_t peak_bytes;
        assert_int_equal(restore(ctx, &archive, field_bytes, way, &peak_bytes), SZGPU_OK);
        szgpu_dtype const dtype = all[i].shape.dtype;
        value_kind const kind = {dtype, all[i].params.mode, test_dtype_bytes(dtype),
                                 test_dtype_bytes(dtype), false};
        size_t const most =
            most_bytes(archive.byte_count, test_value_count(&all[i].shape), &kind, way);
        print_message("           %-20s %s %-5s field %8zu archive %8zu took %8zu of %8zu\n",
                      all[i].name, zstd_level ? "zstd" : "    ", way_names[way], field_bytes,
                      archive.byte_count, peak_bytes, most);
        assert_true(peak_bytes <= most);
        szgpu_destroy(ctx);
        free(archive.bytes);
      }
}

/* ---- sound archives that ask for all they can ---- */

static value_kind const value_kinds[] = {
    {SZGPU_I8, SZGPU_MODE_ABS, 1, 4, true},    {SZGPU_U8, SZGPU_MODE_ABS, 1, 4, true},
    {SZGPU_I16, SZGPU_MODE_ABS, 2, 4, true},   {SZGPU_F16, SZGPU_MODE_ABS, 2, 4, true},
    {SZGPU_I32, SZGPU_MODE_ABS, 4, 8, true},   {SZGPU_F32, SZGPU_MODE_ABS, 4, 4, false},
    {SZGPU_F32, SZGPU_MODE_PWREL, 4, 4, true}, {SZGPU_F32, SZGPU_MODE_PWREL, 4, 8, true},
    {SZGPU_F64, SZGPU_MODE_ABS, 8, 8, false},  {SZGPU_F64, SZGPU_MODE_PWREL, 8, 8, true}};

/* How a levels frame looks at its values; all have as many. */
typedef struct view_kind {
  const char *name;
  szgpu_shape shape;
  uint8_t axis_count;
  uint64_t fold;
} view_kind;

enum { GREEDY_VALUES = 1 << 22, GREEDY_TILES = GREEDY_VALUES / SZG_TILE_VALUES };
static view_kind const view_kinds[] = {{"line", {SZGPU_F32, 1, {GREEDY_VALUES}}, 1, 0},
                                       {"fold", {SZGPU_F32, 1, {GREEDY_VALUES}}, 2, 1024},
                                       {"plane", {SZGPU_F32, 2, {2048, 2048}}, 2, 0},
                                       {"volume", {SZGPU_F32, 3, {128, 128, 256}}, 3, 0}};

static void put_count(uint8_t *bytes, uint32_t count) {
  bytes[0] = (uint8_t)count;
  bytes[1] = (uint8_t)(count >> 8);
}

enum { MARKS_OF_TILE = 4000 }; /* bytes of a mask: nearly as many as the values of a byte have */

/* Masks that mark no value: counts, and bytes under zstd. */
static void add_empty_marks(made_archive *made, const uint8_t *counts) {
  made->flags |= 1;
  made->sections[made->section_count++] =
      (made_section){SZG_SECTION_FILL_COUNTS, 2 * GREEDY_TILES, counts};
  add_zeros(made, SZG_SECTION_FILL_MASK, MARKS_OF_TILE * GREEDY_TILES);
}

/* A wide levels frame whose codes are all 0; with marks that have to be unpacked. */
static test_archive make_greedy(const value_kind *kind, const view_kind *view) {
  static uint8_t const head[16] = {0, 0, 0, 0, 16};
  uint8_t counts[2 * GREEDY_TILES];
  for (size_t i = 0; i < GREEDY_TILES; i++) put_count(counts + 2 * i, MARKS_OF_TILE);
  bool const is_plain = kind->mode == SZGPU_MODE_ABS && !kind->is_mapped;
  made_archive made = {.version = is_plain ? 5 : 6,
                       .shape = view->shape,
                       .mode = kind->mode,
                       .layout = SZGPU_LAYOUT_TILE,
                       .frame_rows = view->shape.dims[0],
                       .frame_count = 1,
                       .frame_values = GREEDY_VALUES,
                       .arithmetic = kind->coded_bytes == 8 ? 2 : 0,
                       .frame_kind = SZG_FRAME_LEVELS,
                       .axes = 1,
                       .byte_2 = view->axis_count,
                       .byte_3 = 2,
                       .radius = 6 | 4u << 8,
                       .constant = view->fold};
  made.shape.dtype = kind->dtype;
  add_empty_marks(&made, counts);
  for (uint32_t i = 0; i <= 6; i++)
    made.sections[made.section_count++] = (made_section){SZG_SECTION_BASE + i, sizeof head, head};
  return archive_make(&made);
}

/* All values but a few at both ends, which cuts tiles and folds; all but those of a side. */
static szgpu_status restore_part(szgpu_ctx *ctx, const test_archive *archive, int way,
                                 uint8_t *field) {
  szgpu_info const info = test_inspect(archive);
  uint64_t const rows = info.shape.dims[0], row_bytes = info.field_bytes / rows;
  szgpu_region const region = region_of(way, &info.shape);
  if (way == WHOLE)
    return szgpu_decompress(ctx, archive->bytes, archive->byte_count, field, info.field_bytes);
  if (way == SLAB)
    return szgpu_decompress_slab(ctx, archive->bytes, archive->byte_count, rows / 64 + 1,
                                 rows - rows / 64 - 2, field, (rows - rows / 64 - 2) * row_bytes);
  return szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, 0, &region, field,
                                 region_bytes(&info.shape, &region));
}

/* docs/security.md once said 4.25 times the field, which bytes exceeded. */
static void values_of_all_types_take_no_more_than_stated(void **state) {
  (void)state;
  uint64_t most_times[WAYS] = {0}; /* of the field, in percent */
  for (size_t k = 0; k < ARRAY_COUNT(value_kinds); k++)
    for (size_t v = 0; v < ARRAY_COUNT(view_kinds); v++) {
      const value_kind *const kind = &value_kinds[k];
      test_archive archive = make_greedy(kind, &view_kinds[v]);
      uint64_t const field_bytes = kind->bytes * GREEDY_VALUES;
      uint8_t *const field = test_allocate(field_bytes);
      for (int way = 0; way < WAYS; way++) {
        szgpu_ctx *const ctx = test_make_ctx(THREADS);
        size_t const before = counted_bytes();
        counted_peak_begin();
        szgpu_status const status = restore_part(ctx, &archive, way, field);
        size_t const peak_bytes = counted_peak() - before;
        size_t const most = most_bytes(archive.byte_count, GREEDY_VALUES, kind, way);
        uint64_t const times = 100 * peak_bytes / field_bytes;
        print_message("           type %d mode %d %-6s %-5s took %5.2f times the field, of %5.2f\n",
                      kind->dtype, kind->mode, view_kinds[v].name, way_names[way],
                      (double)peak_bytes / (double)field_bytes, (double)most / (double)field_bytes);
        if (status != SZGPU_OK) fail_msg("%s", szgpu_last_error(ctx));
        if (times > most_times[way]) most_times[way] = times;
        assert_true(peak_bytes <= most);
        szgpu_destroy(ctx);
      }
      free(field);
      free(archive.bytes);
    }
  assert_true(most_times[WHOLE] > 1200 && most_times[SLAB] > 1200); /* nearly what is stated */
}

/* The first frame has masks and the second one exact values, each of the size of its field: before,
 * each kind of section kept its memory. The second frame's masks do not mark what they should. */
static void sections_of_other_frames_do_not_add_up(void **state) {
  (void)state;
  enum { VALUES_EACH = 1 << 24, TILES_EACH = VALUES_EACH / SZG_TILE_VALUES, EXACT = 1000 };
  uint8_t *const marks = test_allocate(2 * TILES_EACH);
  uint8_t *const counts = test_allocate(4 * TILES_EACH);
  for (size_t i = 0; i < TILES_EACH; i++) {
    put_count(marks + 2 * i, MARKS_OF_TILE);
    put_count(counts + 4 * i, 1);
    put_count(counts + 4 * i + 2, EXACT);
  }
  made_archive second = {.version = 6,
                         .flags = 1,
                         .shape = test_shape(SZGPU_U8, 1, 2 * VALUES_EACH, 0, 0, 0),
                         .mode = SZGPU_MODE_ABS,
                         .layout = SZGPU_LAYOUT_TILE,
                         .frame_rows = VALUES_EACH,
                         .frame_count = 1,
                         .frame_values = VALUES_EACH,
                         .frame_kind = SZG_FRAME_CONSTANT,
                         .constant = 0x3F800000};
  made_archive first = second;
  first.then = &second;
  first.sections[first.section_count++] =
      (made_section){SZG_SECTION_FILL_COUNTS, 2 * TILES_EACH, marks};
  add_zeros(&first, SZG_SECTION_FILL_MASK, MARKS_OF_TILE * TILES_EACH);
  second.sections[second.section_count++] =
      (made_section){SZG_SECTION_EXACT_COUNTS, 4 * TILES_EACH, counts};
  add_zeros(&second, SZG_SECTION_EXACT_MASK, TILES_EACH);
  add_zeros(&second, SZG_SECTION_EXACT_VALUES, 4 * EXACT * TILES_EACH);
  test_archive archive = archive_make(&first);
  uint8_t *const field = test_allocate(2 * VALUES_EACH);
  szgpu_ctx *const ctx = test_make_ctx(THREADS);
  size_t const before = counted_bytes();
  counted_peak_begin();
  assert_int_equal(szgpu_decompress(ctx, archive.bytes, archive.byte_count, field, 2 * VALUES_EACH),
                   SZGPU_BAD_DATA);
  print_message("           %s\n", szgpu_last_error(ctx));
  size_t const peak_bytes = counted_peak() - before; /* one frame's sections and coded values */
  print_message("           %zu bytes for frames of %d\n", peak_bytes, VALUES_EACH);
  assert_true(peak_bytes <= (size_t)5 * VALUES_EACH + 8 * MIB + archive.byte_count / 4);
  szgpu_destroy(ctx);
  free(field);
  free(archive.bytes);
  free(marks);
  free(counts);
}

/* ---- limits ---- */

static szgpu_ctx *make_limited(uint64_t memory_limit) {
  szgpu_ctx *ctx;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = THREADS;
  options.memory_limit = memory_limit;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  return ctx;
}

enum { ROUNDING = 1 << 14 }; /* what blocks of the allocator are larger than asked, together */

/* Restores under ever larger limits until one is enough. */
static void find_limit(const honest *h, const test_archive *archive, int way) {
  size_t const field_bytes = test_field_bytes(&h->shape);
  szgpu_status status = SZGPU_MEMORY_LIMIT;
  int refusals = 0;
  for (uint64_t limit = 1000; status != SZGPU_OK; limit *= 4) {
    szgpu_ctx *const ctx = make_limited(limit);
    size_t const before = counted_bytes();
    size_t peak_bytes;
    status = restore(ctx, archive, field_bytes, way, &peak_bytes);
    if (status != SZGPU_OK) {
      assert_int_equal(status, SZGPU_MEMORY_LIMIT);
      assert_non_null(strstr(szgpu_last_error(ctx), "and its limit is "));
      assert_int_equal(counted_bytes(), before); /* all is given back */
      refusals++;
    }
    if (peak_bytes > limit + ROUNDING)
      fail_msg("%s: %zu bytes of %zu", h->name, peak_bytes, (size_t)limit);
    szgpu_destroy(ctx);
  }
  assert_true(refusals > 3);
}

static void a_limit_is_met_before_memory_is_taken(void **state) {
  (void)state;
  honest all[MOST_HONEST];
  size_t const count = list_honest(all);
  for (size_t i = 0; i < count; i++) {
    test_archive archive = compress_honest(&all[i], (int)(i % 2));
    find_limit(&all[i], &archive, WHOLE);
    find_limit(&all[i], &archive, BOX);
    free(archive.bytes);
  }
}

static void compression_has_the_limit_too(void **state) {
  (void)state;
  honest all[MOST_HONEST];
  size_t const count = list_honest(all);
  for (size_t i = 0; i < count; i++) {
    const szgpu_shape *const shape = &all[i].shape;
    void *const field = test_make_waves(shape);
    size_t const capacity = 2 * test_field_bytes(shape) + MIB;
    void *const archive = test_allocate(capacity);
    szgpu_status status = SZGPU_MEMORY_LIMIT;
    for (uint64_t limit = 1000; status != SZGPU_OK; limit *= 4) {
      size_t archive_bytes;
      szgpu_ctx *const ctx = make_limited(limit);
      size_t const before = counted_bytes();
      counted_peak_begin();
      status = szgpu_compress(ctx, &all[i].params, shape, field, archive, capacity, &archive_bytes);
      size_t const peak_bytes = counted_peak() - before;
      if (peak_bytes > limit + 64 * ROUNDING)
        fail_msg("%s: %zu bytes of %zu", all[i].name, peak_bytes, (size_t)limit);
      if (status != SZGPU_OK) assert_int_equal(status, SZGPU_MEMORY_LIMIT);
      szgpu_destroy(ctx);
    }
    free(archive);
    free(field);
  }
}

static void a_limit_can_be_changed(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 34, 21, 50, 0);
  honest const h = {"tile", shape, test_params(SZGPU_MODE_ABS, 0.5), false};
  test_archive archive = compress_honest(&h, 0);
  size_t const field_bytes = test_field_bytes(&shape);
  szgpu_ctx *const ctx = test_make_ctx(THREADS);
  size_t const before = counted_bytes();
  size_t peak_bytes;
  assert_int_equal(restore(ctx, &archive, field_bytes, WHOLE, &peak_bytes), SZGPU_OK);
  assert_true(counted_bytes() > before + 10000);
  assert_int_equal(szgpu_set_memory_limit(ctx, 10000), SZGPU_OK);
  assert_int_equal(counted_bytes(), before); /* what was kept is over the limit */
  assert_int_equal(restore(ctx, &archive, field_bytes, WHOLE, &peak_bytes), SZGPU_MEMORY_LIMIT);
  assert_int_equal(szgpu_set_memory_limit(ctx, 0), SZGPU_OK);
  assert_int_equal(restore(ctx, &archive, field_bytes, WHOLE, &peak_bytes), SZGPU_OK);
  assert_int_equal(szgpu_set_memory_limit(NULL, 0), SZGPU_BAD_ARGUMENT);
  szgpu_destroy(ctx);
  free(archive.bytes);
}

/* ---- what a ctx keeps ---- */

/* A constant frame of 2^28 values, whose fill mask takes a byte for each, all of them 0: sound, and
 * 256 MiB once zstd is undone. */
static test_archive make_masked(void) {
  enum { LINE = 1 << 28, LINE_TILES = LINE / SZG_TILE_VALUES };
  uint8_t *const counts = test_allocate(2 * LINE_TILES);
  for (size_t t = 0; t < LINE_TILES; t++) {
    counts[2 * t] = 0;
    counts[2 * t + 1] = SZG_TILE_VALUES >> 8;
  }
  made_archive made = {.version = 1,
                       .flags = 1,
                       .shape = test_shape(SZGPU_F32, 1, LINE, 0, 0, 0),
                       .mode = SZGPU_MODE_ABS,
                       .layout = SZGPU_LAYOUT_LINEAR,
                       .frame_rows = LINE,
                       .frame_count = 1,
                       .frame_values = LINE,
                       .frame_kind = SZG_FRAME_CONSTANT,
                       .constant = 0x3FC00000};
  made.sections[made.section_count++] =
      (made_section){SZG_SECTION_FILL_COUNTS, 2 * LINE_TILES, counts};
  add_zeros(&made, SZG_SECTION_FILL_MASK, LINE);
  test_archive const archive = archive_make(&made);
  free(counts);
  return archive;
}

static void a_ctx_does_not_keep_what_no_field_needs(void **state) {
  (void)state;
  test_archive archive = make_masked();
  szgpu_ctx *const ctx = test_make_ctx(THREADS);
  size_t const before = counted_bytes();
  float values[3] = {0};
  counted_peak_begin();
  assert_int_equal(
      szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, 5000, 3, values, sizeof values),
      SZGPU_OK);
  for (int i = 0; i < 3; i++) assert_true(values[i] == 1.5f);
  assert_true(counted_peak() - before > (size_t)256 * MIB);
  assert_int_equal(counted_bytes(), before);
  szgpu_destroy(ctx);
  free(archive.bytes);
}

/* The largest field that an archive can state: sizes must not overflow, and a row takes little. */
static void a_constant_field_of_2_to_the_60_values_is_sound(void **state) {
  (void)state;
  uint64_t const values = (uint64_t)1 << 60;
  made_archive const made = {.version = 1,
                             .shape = test_shape(SZGPU_F32, 1, values, 0, 0, 0),
                             .mode = SZGPU_MODE_ABS,
                             .layout = SZGPU_LAYOUT_LINEAR,
                             .frame_rows = values,
                             .frame_count = 1,
                             .frame_values = values,
                             .frame_kind = SZG_FRAME_CONSTANT,
                             .constant = 0x3FC00000};
  test_archive archive = archive_make(&made);
  assert_true(test_inspect(&archive).field_bytes == 4 * values);
  szgpu_ctx *const ctx = test_make_ctx(THREADS);
  float row[2] = {0};
  size_t const before = counted_bytes();
  counted_peak_begin();
  assert_int_equal(szgpu_decompress(ctx, archive.bytes, archive.byte_count, row, sizeof row),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(
      szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, values - 2, 2, row, sizeof row),
      SZGPU_OK);
  assert_true(row[0] == 1.5f && row[1] == 1.5f);
  assert_true(counted_peak() - before < (size_t)8 * MIB);
  szgpu_destroy(ctx);
  free(archive.bytes);
}

/* ---- time ---- */

enum { SMALL_FRAMES = 2000 };

/* Frames of a box each. */
static made_archive small_frames(uint8_t frame_kind, uint32_t version, szgpu_layout layout) {
  made_archive made = boxes(frame_kind, version, layout);
  made.shape.dims[0] = made.frame_count = SMALL_FRAMES;
  made.frame_rows = 1;
  made.frame_values = BOX_VALUES;
  return made;
}

static made_archive constant_frames(void) {
  made_archive made = small_frames(SZG_FRAME_CONSTANT, 1, SZGPU_LAYOUT_LINEAR);
  made.constant = 0x3FC00000;
  return made;
}

/* Codes of 1 to 16 bits for the last 17 of 65,536 symbols. Before, such a book of 23 bytes took a
 * millisecond: tables were made for all symbols. */
static made_archive linear_frames(void) {
  static uint8_t const book[] = {0, 0, 0xEF, 0xFF, 17, 0,  1,  2,  3,  4,  5, 6,
                                 7, 8, 9,    10,   11, 12, 13, 14, 15, 16, 16};
  static uint8_t const zeros[4] = {0};
  made_archive made = small_frames(SZG_FRAME_LINEAR, 3, SZGPU_LAYOUT_LINEAR);
  made.flags = 2;
  made.axes = 1;
  made.radius = SZG_MAX_RADIUS;
  made.sections[made.section_count++] = (made_section){SZG_SECTION_CODEBOOK, sizeof book, book};
  made.sections[made.section_count++] = (made_section){SZG_SECTION_TILE_SIZES, 2, zeros};
  made.sections[made.section_count++] = (made_section){SZG_SECTION_BITSTREAM, 4, zeros};
  return made;
}

/* Seven stages whose codes are all 0. */
static made_archive levels_frames(void) {
  static uint8_t const head[16] = {0, 0, 0, 0, 16};
  made_archive made = small_frames(SZG_FRAME_LEVELS, 5, SZGPU_LAYOUT_TILE);
  made.axes = 1;
  made.byte_2 = 3;
  made.radius = 6 | 4u << 8;
  for (uint32_t i = 0; i <= 6; i++)
    made.sections[made.section_count++] = (made_section){SZG_SECTION_BASE + i, sizeof head, head};
  return made;
}

static made_archive packed_frames(void) {
  made_archive made = small_frames(SZG_FRAME_RAW, 1, SZGPU_LAYOUT_LINEAR);
  add_zeros(&made, SZG_SECTION_RAW, 4 * BOX_VALUES);
  return made;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* other processes do not count */
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds for each byte of archive, the best of three. */
static double slowness(const made_archive *made) {
  test_archive archive = archive_make(made);
  size_t const field_bytes = test_field_bytes(&made->shape);
  void *const field = test_allocate(field_bytes);
  szgpu_ctx *const ctx = test_make_ctx(1);
  double best = 1e9;
  for (int i = 0; i < 3; i++) {
    double const begin = seconds();
    assert_int_equal(szgpu_decompress(ctx, archive.bytes, archive.byte_count, field, field_bytes),
                     SZGPU_OK);
    double const took = seconds() - begin;
    if (took < best) best = took;
  }
  best /= (double)archive.byte_count;
  szgpu_destroy(ctx);
  free(field);
  free(archive.bytes);
  return best;
}

/* A byte of them takes at most so many times as long as one of the simplest small frames; a linear
 * frame's byte took over 1,000 times as long before. */
static void no_small_frame_takes_long(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  print_message("skipped: a sanitizer's own allocator takes most of the time\n");
  skip();
#endif
  enum { MOST_TIMES = 300 };
  static bomb const frames[] = {{"linear frames of few codes", linear_frames},
                                {"levels of boxes", levels_frames},
                                {"frames under zstd", packed_frames}};
  made_archive const simplest = constant_frames();
  double const usual = slowness(&simplest);
  for (size_t i = 0; i < ARRAY_COUNT(frames); i++) {
    made_archive const made = frames[i].make();
    double const slow = slowness(&made);
    print_message("           %-40s %.3f s/MB, %.1f times as long\n", frames[i].name, 1e6 * slow,
                  slow / usual);
    assert_true(slow <= MOST_TIMES * usual);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bombs_are_refused_before_they_take_memory),
      cmocka_unit_test(sound_archives_take_no_more_than_stated),
      cmocka_unit_test(values_of_all_types_take_no_more_than_stated),
      cmocka_unit_test(sections_of_other_frames_do_not_add_up),
      cmocka_unit_test(a_limit_is_met_before_memory_is_taken),
      cmocka_unit_test(compression_has_the_limit_too),
      cmocka_unit_test(a_limit_can_be_changed),
      cmocka_unit_test(a_ctx_does_not_keep_what_no_field_needs),
      cmocka_unit_test(no_small_frame_takes_long),
      cmocka_unit_test(a_constant_field_of_2_to_the_60_values_is_sound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
