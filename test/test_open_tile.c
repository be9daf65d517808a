/* test_open_tile.c - what readers check in tile archives with correct checksums.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each change breaks exactly one rule of docs/format.md, section 13, so that only the check of that
 * rule can refuse it. Changes that break no rule are accepted.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_verdict.h"
#include "container/format.h"

/* Indices of the sections in the table. */
enum { BOOK, SIZES, STREAM, EXACT_COUNTS, EXACT_MASK, EXACT_VALUES, FILL_COUNTS, FILL_MASK };

/* ---- samples ---- */

static szgpu_params tile_params(double bound) {
  szgpu_params params = test_params(SZGPU_MODE_ABS, bound);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  return params;
}

static test_archive make(szgpu_shape shape, const szgpu_params *params, void *field) {
  test_archive const archive = archive_compress(ctx, params, &shape, field);
  free(field);
  assert_int_equal(archive.bytes[archive_frame_offset(&archive, 0)], SZG_FRAME_TILE);
  return archive;
}

/* Has every section; 40 x 9 x 33 in frames of 16, 16 and 8 rows, each with 2 x 2 tiles. */
static test_archive make_full(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 9, 33, 0);
  float *const field = test_make_waves(&shape);
  szgpu_params params = tile_params(0.5);
  params.frame_rows = 16;
  for (uint64_t i = 40; i < test_value_count(&shape); i += 397) field[i] = 1e20f;
  for (uint64_t i = 7; i < test_value_count(&shape); i += 1009) field[i] = INFINITY;
  return make(shape, &params, field);
}

enum { LONE_VALUES = 16 * 8 * 32, LONE_FIELD_VALUES = 2 * LONE_VALUES };

/* Waves in a tile of 16 x 8 x 32, and zeros in another, which has no words. So the frame is no
 * larger than its values even if the first tile is raw. */
static float *make_lone_waves(szgpu_shape *shape) {
  *shape = test_shape(SZGPU_F32, 3, 32, 8, 32, 0);
  float *const field = test_make_waves(shape);
  memset(field + LONE_VALUES, 0, LONE_VALUES * sizeof *field);
  return field;
}

/* One tile with words, without outliers. */
static test_archive make_lone_tile(void) {
  szgpu_shape shape;
  float *const field = make_lone_waves(&shape);
  szgpu_params const params = tile_params(0.5);
  return make(shape, &params, field);
}

/* Two tiles with only deltas of 0: no bitstream. */
static test_archive make_flat(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 5000, 0, 0, 0);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0; i < 5000; i++) field[i] = (float)(i % 2);
  szgpu_params const params = tile_params(10.0);
  test_archive const archive = make(shape, &params, field);
  assert_int_equal(archive.bytes[archive_entry_offset(&archive, 0, STREAM) + 8], 0);
  return archive;
}

/* ---- verdicts ---- */

static uint64_t load(const test_archive *archive, size_t offset, unsigned width) {
  uint64_t value = 0;
  memcpy(&value, archive->bytes + offset, width);
  return value;
}

static void is_bad_data(const char *what, test_archive archive) {
  expect(what, archive, SZGPU_BAD_DATA);
}

static void is_taken(const char *what, test_archive archive) { expect(what, archive, SZGPU_OK); }

/* ---- headers ---- */

static void the_samples_are_taken(void **state) {
  (void)state;
  is_taken("full", make_full());
  is_taken("lone", make_lone_tile());
  is_taken("flat", make_flat());
}

static void refuses_frame_headers_that_a_tile_frame_may_not_have(void **state) {
  (void)state;
  static header_edit const edits[] = {
      {"linear", 0, 1, SZG_FRAME_LINEAR},
      {"constant", 0, 1, SZG_FRAME_CONSTANT},
      {"raw", 0, 1, SZG_FRAME_RAW},
      {"no kind", 0, 1, 4},
      {"no axes", 1, 1, 0},
      {"an unknown axis", 1, 1, 8},
      {"escape bytes", 2, 1, 1},
      {"zero groups 3", 3, 1, 3},
      {"zero groups 3 of 16 bits", 3, 1, 7},
      {"an unknown bit", 3, 1, 8},
      {"an unknown bit", 3, 1, 0x84},
      {"a radius", 4, 4, 512},
      {"index", 8, 8, 0},
      {"value count", 16, 8, 16 * 9 * 33 + 1},
      {"a constant", 24, 8, 1},
      {"sections", 32, 4, 7},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = make_full();
    size_t const frame = archive_frame_offset(&archive, 1);
    archive_store(&archive, frame + edits[i].offset, edits[i].width, edits[i].value);
    if (strcmp(edits[i].what, "sections") == 0) { /* this moves the header's checksum */
      assert_int_not_equal(verdict("sections", archive, NULL), SZGPU_OK);
      continue;
    }
    is_bad_data(edits[i].what, archive);
  }
  test_archive archive = make_full();
  archive_store(&archive, 72, 8, 0);
  is_bad_data("step 0", archive);
}

static void refuses_frames_of_the_other_layout(void **state) {
  (void)state;
  test_archive archive = make_full();
  archive_store(&archive, 8, 4, 1);
  archive_store(&archive, 19, 1, SZGPU_LAYOUT_LINEAR);
  is_bad_data("tile frames in a linear archive", archive);
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 16, 8, 32, 0);
  szgpu_params const params = test_linear_params(SZGPU_MODE_ABS, 0.5);
  void *const field = test_make_waves(&shape);
  archive = archive_compress(ctx, &params, &shape, field);
  assert_int_equal(archive.bytes[archive_frame_offset(&archive, 0)], SZG_FRAME_LINEAR);
  archive_store(&archive, 8, 4, 2);
  archive_store(&archive, 19, 1, SZGPU_LAYOUT_TILE);
  is_bad_data("linear frames in a tile archive", archive);
  free(field);
}

/* Only two arithmetics have points of 16 bits. */
static void refuses_a_short_lattice_where_there_is_none(void **state) {
  (void)state;
  szgpu_shape const wide = test_shape(SZGPU_F64, 1, 3000, 0, 0, 0);
  double *const values = test_allocate(test_field_bytes(&wide));
  for (int i = 0; i < 3000; i++) values[i] = 1e6 + 1e-4 * (i % 11);
  szgpu_params params = tile_params(1e-5);
  test_archive archive = make(wide, &params, values);
  assert_int_equal(archive.bytes[120], SZG_ARITHMETIC_F64_WIDE);
  archive_store(&archive, archive_frame_offset(&archive, 0) + 3, 1, 4);
  is_bad_data("16 bits of 64", archive);
  szgpu_shape const close = test_shape(SZGPU_F32, 1, 3000, 0, 0, 0);
  float *const near_values = test_allocate(test_field_bytes(&close));
  for (int i = 0; i < 3000; i++) near_values[i] = 4096.0f + 0.001f * (float)(i % 11);
  params = tile_params(0.0006);
  archive = make(close, &params, near_values);
  assert_int_equal(archive.bytes[120], SZG_ARITHMETIC_F32_CLOSE);
  archive_store(&archive, archive_frame_offset(&archive, 0) + 3, 1, 4);
  is_bad_data("16 bits, close", archive);
}

/* ---- sections ---- */

static uint64_t section_bytes(const test_archive *archive, uint32_t section) {
  return load(archive, archive_entry_offset(archive, 0, section) + 8, 8);
}

static test_archive resized(test_archive archive, uint32_t section, uint64_t byte_count) {
  archive_resize_section(&archive, 0, section, byte_count);
  return archive;
}

static void refuses_sections_of_another_size(void **state) {
  (void)state;
  static int const changes[] = {-4, -2, -1, 1, 2, 4};
  for (uint32_t section = SIZES; section <= FILL_MASK; section++)
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
      test_archive const archive = make_full();
      uint64_t const bytes = section_bytes(&archive, section);
      assert_true(bytes > 4);
      is_bad_data("a section's size", resized(archive, section, bytes + (uint64_t)changes[i]));
    }
  is_bad_data("no codebook", resized(make_full(), BOOK, 0));
  is_bad_data("an endless codebook", resized(make_full(), BOOK, 6 + SZG_TILE_SYMBOLS + 1));
  is_bad_data("no sizes", resized(make_full(), SIZES, 0));
}

static void outliers_are_there_or_not(void **state) {
  (void)state;
  for (uint32_t section = EXACT_COUNTS; section <= FILL_MASK; section++)
    is_bad_data("an empty section beside another", resized(make_full(), section, 0));
  for (uint32_t section = EXACT_COUNTS; section <= FILL_MASK; section++)
    for (uint64_t bytes = 1; bytes <= 20; bytes++)
      is_bad_data("a section beside an empty one", resized(make_lone_tile(), section, bytes));
  test_archive archive = resized(make_full(), EXACT_COUNTS, 0);
  is_bad_data("values of no mask", resized(archive, EXACT_MASK, 0));
  archive = resized(resized(make_full(), EXACT_COUNTS, 0), EXACT_MASK, 0);
  is_taken("no exact value", resized(archive, EXACT_VALUES, 0));
  archive = resized(make_full(), FILL_COUNTS, 0);
  is_taken("no fill value", resized(archive, FILL_MASK, 0));
  archive = make_full();
  archive_store(&archive, 12, 4, 0); /* the flag, and the value */
  archive_store(&archive, 88, 8, 0);
  is_bad_data("a fill mask without a fill value", archive);
}

static void an_empty_section_is_stored(void **state) {
  (void)state;
  for (uint32_t section = EXACT_COUNTS; section <= FILL_MASK; section++) {
    test_archive archive = make_lone_tile();
    size_t const entry = archive_entry_offset(&archive, 0, section);
    assert_int_equal(section_bytes(&archive, section), 0);
    archive_store(&archive, entry + 4, 4, SZG_CODEC_ZSTD);
    is_bad_data("nothing, under zstd", archive);
  }
}

static void refuses_other_kinds_of_section(void **state) {
  (void)state;
  static uint32_t const kinds[] = {SZG_SECTION_GAPS, SZG_SECTION_SEQUENCE_CODES,
                                   SZG_SECTION_ESCAPE_COUNTS, SZG_SECTION_ESCAPES};
  for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
    test_archive archive = make_full();
    archive_store(&archive, archive_entry_offset(&archive, 0, STREAM), 4, kinds[i]);
    is_bad_data("no bitstream", archive);
  }
  test_archive archive = make_full();
  archive_store(&archive, archive_entry_offset(&archive, 0, FILL_MASK), 4, SZG_SECTION_RAW);
  is_bad_data("raw values", archive);
}

/* ---- tile sizes ---- */

/* Gives a tile of frame 0 another size, and cuts or pads the bitstream to match. */
static test_archive with_size(test_archive archive, uint32_t tile, uint64_t words) {
  size_t const at = archive_section_offset(&archive, 0, SIZES) + 2 * (size_t)tile;
  uint64_t const stream_bytes =
      section_bytes(&archive, STREAM) + 4 * words - 4 * load(&archive, at, 2);
  archive_store(&archive, at, 2, words);
  return resized(archive, STREAM, stream_bytes);
}

static void refuses_sizes_that_do_not_use_up_the_bitstream(void **state) {
  (void)state;
  for (uint32_t tile = 0; tile < 4; tile++)
    for (int change = -1; change <= 1; change += 2) {
      test_archive archive = make_full();
      size_t const at = archive_section_offset(&archive, 0, SIZES) + 2 * (size_t)tile;
      archive_store(&archive, at, 2, load(&archive, at, 2) + (uint64_t)change);
      is_bad_data("a size", archive);
    }
  test_archive archive = make_full();
  size_t const at = archive_section_offset(&archive, 0, SIZES);
  archive_store(&archive, at, 2, load(&archive, at, 2) + 1);
  archive_store(&archive, at + 2, 2, load(&archive, at + 2, 2) - 1);
  is_bad_data("another tile's word", archive);
}

static void refuses_more_words_than_the_values_take(void **state) {
  (void)state;
  is_taken("a raw tile", with_size(make_lone_tile(), 0, LONE_VALUES));
  is_bad_data("a tile of more", with_size(make_lone_tile(), 0, LONE_VALUES + 1));
  is_bad_data("a tile of less", with_size(make_lone_tile(), 0, LONE_VALUES - 1));
  is_bad_data("a tile of much more", with_size(make_lone_tile(), 0, 65535));
  is_taken("a raw tile beside one of no words", with_size(make_flat(), 1, 5000 - 4096));
  is_bad_data("more than its values", with_size(make_flat(), 1, 5000 - 4096 + 1));
}

/* A raw tile holds its values' bits; a tile without words has lattice point 0. */
static void raw_and_empty_tiles_are_what_they_say(void **state) {
  (void)state;
  float *const field = test_allocate(LONE_FIELD_VALUES * sizeof *field);
  test_archive archive = with_size(make_lone_tile(), 0, LONE_VALUES);
  size_t const stream = archive_section_offset(&archive, 0, STREAM);
  for (uint32_t i = 0; i < LONE_VALUES; i++)
    archive_store(&archive, stream + 4 * (size_t)i, 4, UINT64_C(0x7FC00000) + i);
  assert_int_equal(verdict("a raw tile", archive, field), SZGPU_OK);
  for (uint32_t i = 0; i < LONE_VALUES; i++)
    assert_int_equal(test_bits_at(SZGPU_F32, field, i), 0x7FC00000 + i);
  assert_int_equal(verdict("zeros", with_size(make_lone_tile(), 0, 0), field), SZGPU_OK);
  for (uint32_t i = 0; i < LONE_VALUES; i++) assert_int_equal(test_bits_at(SZGPU_F32, field, i), 0);
  free(field);
}

/* A lone tile with an exact value, a fill value or both. */
static test_archive make_marked_tile(bool has_exact, bool has_fill) {
  szgpu_shape shape;
  szgpu_params const params = tile_params(0.5);
  float *const field = make_lone_waves(&shape);
  if (has_exact) field[1000] = INFINITY;
  if (has_fill) field[2000] = 1e20f;
  return make(shape, &params, field);
}

static void refuses_a_raw_tile_with_outliers(void **state) {
  (void)state;
  for (int has_exact = 0; has_exact <= 1; has_exact++)
    for (int has_fill = 0; has_fill <= 1; has_fill++) {
      is_taken("as written", make_marked_tile(has_exact, has_fill));
      test_archive const archive = with_size(make_marked_tile(has_exact, has_fill), 0, LONE_VALUES);
      szgpu_status const status = verdict("a raw tile", archive, NULL);
      assert_int_equal(status, has_exact || has_fill ? SZGPU_BAD_DATA : SZGPU_OK);
    }
}

/* Sections of counts are present, but all counts are 0. */
static void refuses_counts_of_nothing(void **state) {
  (void)state;
  test_archive archive = make_marked_tile(false, true);
  archive_store(&archive, archive_section_offset(&archive, 0, FILL_COUNTS), 2, 0);
  is_bad_data("fill counts of nothing", resized(archive, FILL_MASK, 0));
  archive = make_marked_tile(true, false);
  archive_store(&archive, archive_section_offset(&archive, 0, EXACT_COUNTS), 4, 0);
  archive = resized(archive, EXACT_MASK, 0);
  is_bad_data("exact counts of nothing", resized(archive, EXACT_VALUES, 0));
}

/* ---- a tile's bits ---- */

/* Reads bits of the lone tile's words; the first bit is the highest. */
static uint64_t get_bits(const test_archive *archive, uint32_t first, uint32_t count) {
  size_t const stream = archive_section_offset(archive, 0, STREAM);
  uint64_t bits = 0;
  for (uint32_t i = first; i < first + count; i++)
    bits = bits << 1 | (load(archive, stream + 4 * (size_t)(i / 32), 4) >> (31 - i % 32) & 1);
  return bits;
}

static void put_bits(test_archive *archive, uint32_t first, uint32_t count, uint64_t bits) {
  size_t const stream = archive_section_offset(archive, 0, STREAM);
  for (uint32_t i = 0; i < count; i++) {
    size_t const word_at = stream + 4 * (size_t)((first + i) / 32);
    uint64_t const mask = UINT64_C(1) << (31 - (first + i) % 32);
    uint64_t const word = load(archive, word_at, 4) & ~mask;
    archive_store(archive, word_at, 4, bits >> (count - 1 - i) & 1 ? word | mask : word);
  }
}

enum { LEAST = 14, WIDTH = 4, HEAD = LEAST + WIDTH + 1 };

/* The number of bits in the lone tile's head and lanes. */
static uint32_t bits_used(const test_archive *archive) {
  uint32_t const least = (uint32_t)get_bits(archive, 0, LEAST);
  uint32_t const width = (uint32_t)get_bits(archive, LEAST, WIDTH);
  assert_int_equal(get_bits(archive, LEAST + WIDTH, 1), 0); /* no mask */
  uint32_t bits = HEAD + 32 * width + 32 * least;
  for (uint32_t lane = 0; lane < 32; lane++)
    bits += (uint32_t)get_bits(archive, HEAD + lane * width, width);
  return bits;
}

static void refuses_heads_that_contradict_the_tile(void **state) {
  (void)state;
  static struct {
    const char *what;
    uint32_t first, count;
    uint64_t value;
  } const edits[] = {
      {"lanes of no bits", 0, LEAST, 0},      {"lanes of one bit", 0, LEAST, 1},
      {"the longest lanes", 0, LEAST, 16383}, {"width 0", LEAST, WIDTH, 0},
      {"width 14", LEAST, WIDTH, 14},         {"width 15", LEAST, WIDTH, 15},
      {"a mask", LEAST + WIDTH, 1, 1},        {"all bits set", 0, 32, UINT32_MAX},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = make_lone_tile();
    put_bits(&archive, edits[i].first, edits[i].count, edits[i].value);
    is_bad_data(edits[i].what, archive);
  }
  for (int change = -1; change <= 1; change += 2) {
    test_archive archive = make_lone_tile();
    put_bits(&archive, 0, LEAST, get_bits(&archive, 0, LEAST) + (uint64_t)change);
    is_bad_data("lanes of other lengths", archive);
  }
}

/* Moves a bit from one lane to another: head and tile keep their total number of bits. */
static void refuses_lanes_that_do_not_end_with_a_code(void **state) {
  (void)state;
  test_archive archive = make_lone_tile();
  uint32_t const width = (uint32_t)get_bits(&archive, LEAST, WIDTH);
  uint32_t longer = 32, shorter = 32;
  for (uint32_t lane = 0; lane < 32; lane++) {
    uint64_t const excess = get_bits(&archive, HEAD + lane * width, width);
    if (excess > 0) shorter = lane;
    if (excess + 1 < UINT64_C(1) << width && lane != shorter) longer = lane;
  }
  assert_true(longer < 32 && shorter < 32 && longer != shorter);
  uint32_t const longer_at = HEAD + longer * width, shorter_at = HEAD + shorter * width;
  put_bits(&archive, longer_at, width, get_bits(&archive, longer_at, width) + 1);
  put_bits(&archive, shorter_at, width, get_bits(&archive, shorter_at, width) - 1);
  is_bad_data("a lane's end", archive);
}

static void refuses_bits_after_the_last_lane(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 16, 8, 32, 0);
  szgpu_params params = tile_params(0.5);
  int tried_count = 0;
  for (int i = 0; i < 16; i++) { /* some use all bits of the last word */
    params.bound = 0.5 + 0.01 * i;
    test_archive archive = make(shape, &params, test_make_waves(&shape));
    uint32_t const used = bits_used(&archive);
    uint32_t const all = (uint32_t)section_bytes(&archive, STREAM) * 8;
    assert_true(used <= all && all - used < 32);
    if (used < all) {
      put_bits(&archive, i % 2 ? used : all - 1, 1, 1);
      is_bad_data("an unused bit", archive);
      tried_count++;
    } else {
      free(archive.bytes);
    }
  }
  assert_true(tried_count > 4);
}

static void refuses_a_word_too_many(void **state) {
  (void)state;
  test_archive archive = make_lone_tile();
  uint64_t const words = section_bytes(&archive, STREAM) / 4;
  is_bad_data("a word of zeros", with_size(archive, 0, words + 1));
  is_bad_data("a word less", with_size(make_lone_tile(), 0, words - 1));
  is_bad_data("one word", with_size(make_lone_tile(), 0, 1));
}

/* In a tile of 5 places lane 5 has no value and may have no bits. The head is written by hand. */
static void refuses_bits_of_lanes_without_values(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 5, 0, 0, 0);
  for (int is_bad = 0; is_bad < 2; is_bad++) {
    float *const field = test_allocate(test_field_bytes(&shape) + 4000);
    for (int i = 0; i < 5; i++) field[i] = (float)(i * i);
    szgpu_shape const longer = test_shape(SZGPU_F32, 1, 4096 + 5, 0, 0, 0);
    float *const whole = test_allocate(test_field_bytes(&longer));
    for (int i = 0; i < 4096 + 5; i++) whole[i] = 0.0f;
    for (int i = 0; i < 5; i++) whole[4096 + i] = field[i];
    free(field);
    szgpu_params const params = tile_params(0.01);
    test_archive archive = make(longer, &params, whole);
    assert_int_equal(load(&archive, archive_section_offset(&archive, 0, SIZES), 2), 0);
    assert_int_equal(get_bits(&archive, LEAST + WIDTH, 1), 1); /* a mask: 27 lanes have no bits */
    uint32_t const mask = (uint32_t)get_bits(&archive, HEAD, 32);
    assert_int_equal(mask & 0x07FFFFFF, 0);
    if (is_bad) put_bits(&archive, HEAD, 32, (mask & (mask - 1)) | UINT64_C(1) << 26);
    if (is_bad)
      is_bad_data("bits of no value", archive);
    else
      is_taken("as written", archive);
  }
}

static void refuses_a_mask_of_no_lanes(void **state) {
  (void)state;
  test_archive archive = make_flat();
  archive = with_size(archive, 0, 2);
  put_bits(&archive, LEAST - 1, 1, 1);
  put_bits(&archive, LEAST + WIDTH, 1, 1);
  is_bad_data("no lane at all", archive);
}

/* ---- codebook ---- */

typedef struct length_of {
  uint32_t symbol;
  uint8_t length;
} length_of;

/* Writes the section by hand: the escape, then a run for each symbol from 1 on. */
static test_archive with_book(const length_of *lengths, size_t count) {
  uint8_t by_symbol[SZG_TILE_SYMBOLS] = {0};
  for (size_t i = 0; i < count; i++) by_symbol[lengths[i].symbol] = lengths[i].length;
  test_archive archive = resized(make_flat(), BOOK, 6 + SZG_TILE_SYMBOLS - 1);
  size_t const book = archive_section_offset(&archive, 0, BOOK);
  archive_store(&archive, book, 2, by_symbol[0]);
  archive_store(&archive, book + 2, 2, 1);
  archive_store(&archive, book + 4, 2, SZG_TILE_SYMBOLS - 1);
  for (uint32_t s = 1; s < SZG_TILE_SYMBOLS; s++)
    archive_store(&archive, book + 5 + s, 1, by_symbol[s]);
  return archive;
}

/* Lengths 1 to `longest`, and `longest` again, for the escape, delta 0 and the symbols after. */
static test_archive with_chain(uint8_t longest) {
  length_of lengths[20];
  for (uint8_t i = 0; i <= longest; i++) {
    uint32_t const symbol = i == 0 ? SZG_TILE_ZERO : i == 1 ? SZG_ESCAPE_SYMBOL : SZG_TILE_ZERO + i;
    lengths[i] = (length_of){symbol, i < longest ? (uint8_t)(i + 1) : longest};
  }
  return with_book(lengths, longest + (size_t)1);
}

static void refuses_codebooks_that_no_tile_frame_may_have(void **state) {
  (void)state;
  static length_of const sound[] = {{0, 1}, {SZG_TILE_ZERO, 1}};
  static length_of const no_zero[] = {{0, 1}, {SZG_TILE_ZERO + 1, 1}};
  static length_of const no_escape[] = {{SZG_TILE_ZERO, 1}, {SZG_TILE_ZERO + 1, 1}};
  static length_of const lone[] = {{SZG_TILE_ZERO, 1}};
  static length_of const incomplete[] = {{0, 2}, {SZG_TILE_ZERO, 1}};
  static length_of const too_many[] = {{0, 1}, {SZG_TILE_ZERO, 1}, {SZG_TILE_ZERO - 1, 12}};
  static length_of const edges[] = {{0, 2}, {SZG_TILE_ZERO, 2}, {1, 2}, {SZG_TILE_SYMBOLS - 1, 2}};
  is_taken("two symbols", with_book(sound, ARRAY_COUNT(sound)));
  is_taken("the outermost symbols", with_book(edges, ARRAY_COUNT(edges)));
  is_bad_data("no code for delta 0", with_book(no_zero, ARRAY_COUNT(no_zero)));
  is_bad_data("no code for the escape", with_book(no_escape, ARRAY_COUNT(no_escape)));
  is_bad_data("a lone symbol", with_book(lone, ARRAY_COUNT(lone)));
  is_bad_data("an incomplete code", with_book(incomplete, ARRAY_COUNT(incomplete)));
  is_bad_data("too many codes", with_book(too_many, ARRAY_COUNT(too_many)));
  is_bad_data("no codes", with_book(sound, 0));
  is_taken("12 bits", with_chain(12));
  is_bad_data("13 bits", with_chain(13));
  is_bad_data("16 bits", with_chain(16));
}

static void refuses_codebook_sections_that_are_none(void **state) {
  (void)state;
  static length_of const sound[] = {{0, 1}, {SZG_TILE_ZERO, 1}};
  static struct {
    size_t offset;
    uint64_t value;
  } const edits[] = {{1, 1}, {2, 0}, {4, 0}, {6, 17}, {6, 1 << 5}};
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = with_book(sound, ARRAY_COUNT(sound));
    size_t const book = archive_section_offset(&archive, 0, BOOK);
    archive_store(&archive, book + edits[i].offset, 1, edits[i].value);
    is_bad_data("a codebook section", archive);
  }
  test_archive archive = with_book(sound, ARRAY_COUNT(sound));
  archive_store(&archive, archive_section_offset(&archive, 0, BOOK) + 2, 2, 2);
  is_bad_data("symbols beyond the last", archive);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_samples_are_taken),
      cmocka_unit_test(refuses_frame_headers_that_a_tile_frame_may_not_have),
      cmocka_unit_test(refuses_frames_of_the_other_layout),
      cmocka_unit_test(refuses_a_short_lattice_where_there_is_none),
      cmocka_unit_test(refuses_sections_of_another_size),
      cmocka_unit_test(outliers_are_there_or_not),
      cmocka_unit_test(an_empty_section_is_stored),
      cmocka_unit_test(refuses_other_kinds_of_section),
      cmocka_unit_test(refuses_sizes_that_do_not_use_up_the_bitstream),
      cmocka_unit_test(refuses_more_words_than_the_values_take),
      cmocka_unit_test(raw_and_empty_tiles_are_what_they_say),
      cmocka_unit_test(refuses_a_raw_tile_with_outliers),
      cmocka_unit_test(refuses_counts_of_nothing),
      cmocka_unit_test(refuses_heads_that_contradict_the_tile),
      cmocka_unit_test(refuses_lanes_that_do_not_end_with_a_code),
      cmocka_unit_test(refuses_bits_after_the_last_lane),
      cmocka_unit_test(refuses_a_word_too_many),
      cmocka_unit_test(refuses_bits_of_lanes_without_values),
      cmocka_unit_test(refuses_a_mask_of_no_lanes),
      cmocka_unit_test(refuses_codebooks_that_no_tile_frame_may_have),
      cmocka_unit_test(refuses_codebook_sections_that_are_none),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
