/* test_open_levels.c - what readers check in levels frames with correct checksums.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each change breaks one rule of docs/format.md, section 16, so that only the check of that rule
 * can refuse it. Changes that break no rule are accepted. test_tokens.c does the same for the bits
 * of a tile and for books, test_preview.c for levels that an archive does not have.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_verdict.h"
#include "container/format.h"

/* ---- samples ---- */

enum { LEVELS = 3, FINE_BITS = 8, LINE_VALUES = 1000, LINE_LEVELS = 5 };
enum { VERSION_AT = 8 };
enum { FLAGS_AT = 3, RANKS_AT = 6 }; /* in the frame header */
enum { LINEAR = 1, WIDE = 2, HALVED = 4, BLENDED = 8, QUINTIC = 16 };

static test_archive make(szgpu_shape shape, double bound, void *field) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = bound;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  assert_string_equal(frame.kind, "levels");
  assert_int_equal(frame.level_count, shape.ndim == 3 ? LEVELS : LINE_LEVELS);
  free(field);
  return archive;
}

/* Along three axes, with exact values; tiles are cut off at every side. */
static test_archive make_box(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 33, 20, 70, 0);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0; i < 33 * 20 * 70; i++)
    field[i] =
        (float)(9 * sin(0.2 * (i % 70)) + 7 * cos(0.3 * (i / 70 % 20)) +
                8 * sin(0.25 * (i / 1400)) + 1e-6 * (double)(test_hash((uint64_t)i) % 50000));
  field[77] = INFINITY;
  return make(shape, 0.01, field);
}

/* A line of one tile in every stage; level 0 has its first 500 places. */
static test_archive make_line(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, LINE_VALUES, 0, 0, 0);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0; i < LINE_VALUES; i++) field[i] = (float)(30 * sin(0.02 * i));
  return make(shape, 0.01, field);
}

static bool is_blended(const test_archive *archive) {
  return archive->bytes[archive_frame_offset(archive, 0) + FLAGS_AT] & BLENDED;
}

static void set_blended(test_archive *archive) {
  archive->bytes[archive_frame_offset(archive, 0) + FLAGS_AT] |= BLENDED;
}

static void set_not_blended(test_archive *archive) {
  archive->bytes[archive_frame_offset(archive, 0) + FLAGS_AT] &= LINEAR | WIDE;
}

/* Blended, of two axes, of which one is three of the field's: noise that is the same in each row
 * but for a slow change. The encoder does not choose to blend it. */
static test_archive make_joined(void) {
  enum { ROWS = 20, IN_ROW = 9 * 40 * 48 };
  szgpu_shape const shape = test_shape(SZGPU_F32, 4, ROWS, 9, 40, 48);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0; i < ROWS * IN_ROW; i++) {
    int const row = i / IN_ROW, in_row = i % IN_ROW;
    field[i] = (float)((double)(test_hash((uint64_t)in_row) % 2001) / 1000 +
                       0.01 * row * sin(in_row / 50.0));
  }
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = 0.001;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  test_archive archive = archive_compress(ctx, &params, &shape, field);
  szgpu_info const info = test_inspect(&archive);
  assert_int_not_equal(info.joined_axes, 0);
  archive_store(&archive, VERSION_AT, 4, 12);
  set_blended(&archive);
  archive_store(&archive, archive_frame_offset(&archive, 0) + RANKS_AT, 1, 0);
  free(field);
  return archive;
}

/* By differences alone along two axes: steps at a few rows and columns. */
static test_archive make_steps(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 200, 300, 0, 0);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0, y_steps = 0, x_steps = 0; i < 200 * 300; i++) {
    x_steps = i % 300 ? x_steps + (test_hash((uint64_t)i % 300) % 9 == 0) : 0;
    y_steps += i % 300 == 0 && test_hash(1000 + (uint64_t)i / 300) % 9 == 0;
    field[i] = (float)(x_steps + y_steps);
  }
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = 0.3;
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  assert_string_equal(frame.kind, "levels");
  assert_int_equal(frame.level_count, 0);
  free(field);
  return archive;
}

static uint32_t stage_section(const test_archive *archive, uint32_t stage) {
  return archive_section_of_kind(archive, 0, SZG_SECTION_BASE + stage);
}

/* ---- frame headers ---- */

static void the_samples_are_taken(void **state) {
  (void)state;
  expect("box", make_box(), SZGPU_OK);
  expect("joined", make_joined(), SZGPU_OK);
  expect("steps", make_steps(), SZGPU_OK);
  expect("line", make_line(), SZGPU_OK);
}

static void refuses_frame_headers_that_a_levels_frame_may_not_have(void **state) {
  (void)state;
  static header_edit const edits[] = {
      {"tile", 0, 1, SZG_FRAME_TILE},
      {"planes", 0, 1, SZG_FRAME_PLANES},
      {"no axes", 1, 1, 0},
      {"an unknown axis", 1, 1, 8},
      {"no interpolated axes", 2, 1, 0},
      {"one of three axes", 2, 1, 1},
      {"four axes", 2, 1, 4},
      {"flag 4 alone", 3, 1, 1 << 4},
      {"unknown flag 5", 3, 1, 1 << 5},
      {"unknown flag 6", 3, 1, 1 << 6},
      {"unknown flag 7", 3, 1, 1 << 7},
      {"seven levels", 4, 1, 7},
      {"a level more than there are sections", 4, 1, LEVELS + 1},
      {"a level less than there are sections", 4, 1, LEVELS - 1},
      {"no fine bits", 5, 1, 0},
      {"nine fine bits", 5, 1, 9},
      {"rank 3 of x", 6, 1, 3},
      {"rank 3 of z", 6, 1, 3 << 4},
      {"an unknown bit", 6, 1, 1 << 6},
      {"an unknown byte", 7, 1, 1},
      {"value count", 16, 8, 33 * 20 * 70 + 1},
      {"a fold", 24, 8, 70},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = make_box();
    size_t const frame = archive_frame_offset(&archive, 0);
    archive_store(&archive, frame + edits[i].offset, edits[i].width, edits[i].value);
    expect(edits[i].what, archive, SZGPU_BAD_DATA);
  }
  test_archive archive = make_box();
  archive_store(&archive, 72, 8, 0);
  expect("step 0", archive, SZGPU_BAD_DATA);
  static const uint64_t folds[] = {1, LINE_VALUES + 1, UINT64_MAX};
  for (size_t i = 0; i < ARRAY_COUNT(folds); i++) {
    archive = make_line();
    archive_store(&archive, archive_frame_offset(&archive, 0) + 24, 8, folds[i]);
    expect("a fold that cannot be", archive, SZGPU_BAD_DATA);
  }
}

static void a_halved_base_is_that_of_a_line_with_levels_since_version_10(void **state) {
  (void)state;
  for (uint32_t version = 5; version <= 10; version++) {
    test_archive archive = make_line();
    assert_true(archive.bytes[archive_frame_offset(&archive, 0) + FLAGS_AT] & HALVED);
    archive_store(&archive, VERSION_AT, 4, version);
    expect("an earlier version", archive, version == 10 ? SZGPU_OK : SZGPU_BAD_DATA);
  }
  test_archive archive = make_line();
  archive_store(&archive, VERSION_AT, 4, 11);
  expect("a version that has joined axes", archive, SZGPU_BAD_DATA);
  archive = make_line();
  archive_store(&archive, VERSION_AT, 4, 12);
  expect("a version that has blended predictions", archive, SZGPU_OK);
  archive = make_line();
  archive_store(&archive, VERSION_AT, 4, 13);
  expect("a later version", archive, SZGPU_NEWER_VERSION);
  archive = make_box();
  archive_store(&archive, archive_frame_offset(&archive, 0) + FLAGS_AT, 1, HALVED);
  expect("a halved base of three axes", archive, SZGPU_BAD_DATA);
}

static void a_blended_frame_has_several_axes_and_levels_and_no_ranks(void **state) {
  (void)state;
  test_archive archive = make_box();
  size_t const frame = archive_frame_offset(&archive, 0);
  assert_true(is_blended(&archive));
  for (uint32_t rank = 1; rank <= 2; rank++)
    for (uint32_t axis = 0; axis < 3; axis++) {
      test_archive ranked = archive_copy(&archive, archive.byte_count);
      archive_store(&ranked, frame + RANKS_AT, 1, rank << 2 * axis);
      expect("ranks of a blended frame", archive_copy(&ranked, ranked.byte_count), SZGPU_BAD_DATA);
      set_not_blended(&ranked);
      expect("ranks of another frame", ranked, SZGPU_OK);
    }
  free(archive.bytes);
  archive = make_line();
  archive_store(&archive, VERSION_AT, 4, 12);
  set_blended(&archive);
  expect("a blended line", archive_copy(&archive, archive.byte_count), SZGPU_BAD_DATA);
  archive.bytes[archive_frame_offset(&archive, 0) + FLAGS_AT] = BLENDED;
  expect("a blended line by differences", archive, SZGPU_BAD_DATA);
  archive = make_steps();
  archive_store(&archive, VERSION_AT, 4, 12);
  expect("two axes without levels", archive_copy(&archive, archive.byte_count), SZGPU_OK);
  set_blended(&archive);
  expect("blended, without levels", archive, SZGPU_BAD_DATA);
}

/* These are all flags that a box may have, if it is not wide. */
static void a_quintic_frame_is_blended_and_not_linear(void **state) {
  (void)state;
  test_archive const archive = make_box();
  size_t const frame = archive_frame_offset(&archive, 0);
  for (uint32_t flags = 0; flags <= UINT8_MAX; flags++) {
    static const uint8_t stencils[] = {0, LINEAR, BLENDED, BLENDED | LINEAR, BLENDED | QUINTIC};
    bool is_sound = false;
    for (size_t i = 0; i < ARRAY_COUNT(stencils); i++) is_sound |= flags == stencils[i];
    if (flags & WIDE) continue;
    test_archive edited = archive_copy(&archive, archive.byte_count);
    edited.bytes[frame + FLAGS_AT] = (uint8_t)flags;
    char what[24];
    snprintf(what, sizeof what, "flags %u", flags);
    expect(what, edited, is_sound ? SZGPU_OK : SZGPU_BAD_DATA);
  }
  free(archive.bytes);
  test_archive line = make_line();
  archive_store(&line, VERSION_AT, 4, 12);
  uint8_t *const flags = line.bytes + archive_frame_offset(&line, 0) + FLAGS_AT;
  static const uint8_t of_line[] = {QUINTIC, QUINTIC | BLENDED, QUINTIC | HALVED,
                                    QUINTIC | BLENDED | HALVED};
  for (size_t i = 0; i < ARRAY_COUNT(of_line); i++) {
    *flags = of_line[i];
    expect("a quintic line", archive_copy(&line, line.byte_count), SZGPU_BAD_DATA);
  }
  free(line.bytes);
  test_archive steps = make_steps();
  archive_store(&steps, VERSION_AT, 4, 12);
  for (uint8_t blended = 0; blended <= BLENDED; blended += BLENDED) {
    test_archive const edited = archive_copy(&steps, steps.byte_count);
    edited.bytes[archive_frame_offset(&edited, 0) + FLAGS_AT] = QUINTIC | blended;
    expect("quintic, without levels", edited, SZGPU_BAD_DATA);
  }
  free(steps.bytes);
}

static void quintic_frames_have_no_ranks(void **state) {
  (void)state;
  for (uint32_t axis = 0; axis < 3; axis++) {
    test_archive archive = make_box();
    size_t const frame = archive_frame_offset(&archive, 0);
    archive.bytes[frame + FLAGS_AT] = BLENDED | QUINTIC;
    archive_store(&archive, frame + RANKS_AT, 1, (uint64_t)1 << 2 * axis);
    expect("ranks of a quintic frame", archive, SZGPU_BAD_DATA);
  }
}

static void frames_are_blended_since_version_12(void **state) {
  (void)state;
  for (uint32_t version = 5; version <= 13; version++) {
    test_archive archive = make_box();
    archive_store(&archive, VERSION_AT, 4, version);
    test_archive quintic = archive_copy(&archive, archive.byte_count);
    quintic.bytes[archive_frame_offset(&quintic, 0) + FLAGS_AT] = BLENDED | QUINTIC;
    expect("a version, quintic", quintic,
           version == 12  ? SZGPU_OK
           : version > 12 ? SZGPU_NEWER_VERSION
                          : SZGPU_BAD_DATA);
    expect("a version", archive,
           version == 12  ? SZGPU_OK
           : version > 12 ? SZGPU_NEWER_VERSION
                          : SZGPU_BAD_DATA);
  }
  test_archive archive = make_joined();
  archive_store(&archive, VERSION_AT, 4, 11);
  expect("blended, and joined axes", archive_copy(&archive, archive.byte_count), SZGPU_BAD_DATA);
  set_not_blended(&archive);
  expect("joined axes", archive, SZGPU_OK);
  archive = make_box();
  set_not_blended(&archive);
  archive_store(&archive, VERSION_AT, 4, 5);
  expect("the version that is needed", archive_copy(&archive, archive.byte_count), SZGPU_OK);
  archive_store(&archive, VERSION_AT, 4, 12);
  expect("a version that is not needed", archive, SZGPU_OK);
}

/* ---- sections of levels ---- */

static const char *name_of(uint32_t stage, char name[16]) {
  if (stage == 0) return "base";
  snprintf(name, 16, "level %u", LEVELS - stage);
  return name;
}

static void a_level_that_is_missing_is_named(void **state) {
  (void)state;
  for (uint32_t stage = 0; stage <= LEVELS; stage++) {
    char sentence[80], name[16];
    test_archive archive = make_box();
    archive = archive_without_section(archive, stage_section(&archive, stage));
    snprintf(sentence, sizeof sentence, "section '%s' of frame 0 is missing", name_of(stage, name));
    expect(sentence, archive, SZGPU_BAD_DATA);
    assert_string_equal(szgpu_last_error(ctx), sentence);
  }
}

static void a_level_beyond_the_last_is_named(void **state) {
  (void)state;
  test_archive archive = make_box();
  uint32_t const last = stage_section(&archive, LEVELS);
  archive_store(&archive, archive_entry_offset(&archive, 0, last), 4,
                SZG_SECTION_BASE + LEVELS + 1);
  expect("a level beyond the last", archive, SZGPU_BAD_DATA);
  assert_non_null(strstr(szgpu_last_error(ctx), "frame 0"));
}

static void refuses_levels_in_another_order(void **state) {
  (void)state;
  for (uint32_t stage = 0; stage < LEVELS; stage++) {
    test_archive archive = make_box();
    uint32_t const section = stage_section(&archive, stage);
    archive_store(&archive, archive_entry_offset(&archive, 0, section), 4,
                  SZG_SECTION_BASE + stage + 1);
    archive_store(&archive, archive_entry_offset(&archive, 0, section + 1), 4,
                  SZG_SECTION_BASE + stage);
    expect("kinds in falling order", archive, SZGPU_BAD_DATA);
  }
}

static uint64_t section_bytes(const test_archive *archive, uint32_t section) {
  uint64_t byte_count;
  memcpy(&byte_count, archive->bytes + archive_entry_offset(archive, 0, section) + 8, 8);
  return byte_count;
}

/* Gives the section other contents. */
static void replace(test_archive *archive, uint32_t section, const uint8_t *bytes,
                    uint64_t byte_count) {
  archive_resize_section(archive, 0, section, byte_count);
  memcpy(archive->bytes + archive_section_offset(archive, 0, section), bytes, byte_count);
}

/* The contents of one level in the place of another's: its tiles are others. */
static void refuses_the_contents_of_another_level(void **state) {
  (void)state;
  for (uint32_t a = 0; a <= LEVELS; a++)
    for (uint32_t b = 0; b <= LEVELS; b++) {
      if (a == b) continue;
      test_archive archive = make_box();
      uint32_t const to = stage_section(&archive, a), from = stage_section(&archive, b);
      uint64_t const byte_count = section_bytes(&archive, from);
      uint8_t *const bytes = test_allocate(byte_count);
      memcpy(bytes, archive.bytes + archive_section_offset(&archive, 0, from), byte_count);
      replace(&archive, to, bytes, byte_count);
      free(bytes);
      expect("contents of another level", archive, SZGPU_BAD_DATA);
    }
}

static void refuses_heads_that_break_a_rule(void **state) {
  (void)state;
  static header_edit const edits[] = {
      {"mode 4", 0, 1, 4},
      {"too few groups in a lane", 1, 1, 0},
      {"too many groups in a lane", 1, 1, 5},
      {"bytes that are 0", 2, 1, 1},
      {"unit 0", 4, 4, 0},
      {"a unit too large", 4, 4, (1u << FINE_BITS) + 1},
      {"a unit too small at level 0", 4, 4, (1u << FINE_BITS) - 1},
      {"books that are too short", 8, 4, 0},
      {"books that are no words", 8, 4, 6},
      {"books beyond the section", 8, 4, 1u << 20},
      {"a word that is 0", 12, 4, 1},
      {"a stage of zeros that goes on", 0, 1, 0},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = make_box();
    size_t const head = archive_section_offset(&archive, 0, stage_section(&archive, LEVELS));
    archive_store(&archive, head + edits[i].offset, edits[i].width, edits[i].value);
    expect(edits[i].what, archive, SZGPU_BAD_DATA);
  }
}

static void refuses_sections_that_are_not_used_up(void **state) {
  (void)state;
  for (uint32_t stage = 0; stage <= LEVELS; stage++)
    for (int change = -4; change <= 4; change += 8) {
      test_archive archive = make_box();
      uint32_t const section = stage_section(&archive, stage);
      archive_resize_section(&archive, 0, section,
                             section_bytes(&archive, section) + (uint64_t)(int64_t)change);
      expect("another number of words", archive, SZGPU_BAD_DATA);
    }
}

/* ---- a level 0 made by hand ---- */

/* Units of books, four bits each, and the bits of the one tile; spaces are left out. NULL: the tile
 * has no words. */
static test_archive make_by_hand(const char *units, const char *bits) {
  enum { MOST_BYTES = 64 };
  uint8_t bytes[MOST_BYTES] = {SZG_LEVELS_MODE_MASKS, 1};
  uint32_t unit_count = 0, bit_count = 0;
  uint8_t *const books = bytes + 16;
  for (const char *at = units; *at; at++) {
    if (*at == ' ') continue;
    uint32_t const unit = (uint32_t)(*at <= '9' ? *at - '0' : *at - 'A' + 10);
    books[unit_count / 2] |= (uint8_t)(unit << (unit_count % 2 ? 0 : 4));
    unit_count++;
  }
  uint32_t const book_bytes = (unit_count + 7) / 8 * 4;
  uint8_t *const sizes = books + book_bytes, *const words = sizes + 4;
  for (const char *at = bits; at && *at; at++) {
    if (*at == ' ') continue;
    uint32_t const in_word = bit_count % 32;
    words[bit_count / 32 * 4 + 3 - in_word / 8] |= (uint8_t)((*at == '1') << (7 - in_word % 8));
    bit_count++;
  }
  sizes[0] = (uint8_t)((bit_count + 31) / 32);
  bytes[5] = 1; /* the unit, 2^8 */
  bytes[8] = (uint8_t)book_bytes;
  test_archive archive = make_line();
  uint64_t const byte_count = (uint64_t)(words - bytes) + 4 * (uint64_t)sizes[0];
  assert_in_range(byte_count, 1, MOST_BYTES);
  replace(&archive, stage_section(&archive, LINE_LEVELS), bytes, byte_count);
  return archive;
}

/* Lane 3 alone has bits: groups 6 and 7, of which group 7 has places 448 to 499. */
#define LANE_3(least) least " 00000 1 0001 0000 0000 0000 0000 0000 0000 0000 "

static void refuses_masks_that_claim_more_values_than_the_tile_has(void **state) {
  (void)state;
  static const char *const bits = LANE_3("00000000000000110") "0 0 0 0 0 0";
  /* Octet 0, place 0 of it, value 1: places 384 and 448. */
  expect("places that exist", make_by_hand("001D 001D 001D", bits), SZGPU_OK);
  /* Octet 7: places 440 and 504. */
  expect("an octet beyond the end", make_by_hand("0F701D 001D 001D", bits), SZGPU_BAD_DATA);
  /* Octet 6, place 3 and place 4 of it: 499 and 500. */
  expect("the last place", make_by_hand("0F301D 071D 001D", bits), SZGPU_OK);
  expect("one place beyond it", make_by_hand("0F301D 0F001D 001D", bits), SZGPU_BAD_DATA);
}

static void refuses_books_without_symbols_where_one_is_needed(void **state) {
  (void)state;
  static const char *const bits = LANE_3("00000000000000110") "0 0 0 0 0 0";
  expect("all books", make_by_hand("001D 001D 001D", bits), SZGPU_OK);
  expect("no octets", make_by_hand("D 001D 001D", bits), SZGPU_BAD_DATA);
  expect("no masks", make_by_hand("001D D 001D", bits), SZGPU_BAD_DATA);
  expect("no values", make_by_hand("001D 001D D", bits), SZGPU_BAD_DATA);
  expect("no books", make_by_hand("D D D", bits), SZGPU_BAD_DATA);
  expect("no books, and no words", make_by_hand("D D D", NULL), SZGPU_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_samples_are_taken),
      cmocka_unit_test(refuses_frame_headers_that_a_levels_frame_may_not_have),
      cmocka_unit_test(a_halved_base_is_that_of_a_line_with_levels_since_version_10),
      cmocka_unit_test(a_blended_frame_has_several_axes_and_levels_and_no_ranks),
      cmocka_unit_test(a_quintic_frame_is_blended_and_not_linear),
      cmocka_unit_test(quintic_frames_have_no_ranks),
      cmocka_unit_test(frames_are_blended_since_version_12),
      cmocka_unit_test(a_level_that_is_missing_is_named),
      cmocka_unit_test(a_level_beyond_the_last_is_named),
      cmocka_unit_test(refuses_levels_in_another_order),
      cmocka_unit_test(refuses_the_contents_of_another_level),
      cmocka_unit_test(refuses_heads_that_break_a_rule),
      cmocka_unit_test(refuses_sections_that_are_not_used_up),
      cmocka_unit_test(refuses_masks_that_claim_more_values_than_the_tile_has),
      cmocka_unit_test(refuses_books_without_symbols_where_one_is_needed),
  };
  return cmocka_run_group_tests(tests, make_ctxs_of_two, destroy_ctxs);
}
