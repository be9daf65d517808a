/* test_open.c - what readers check in linear archives with correct checksums, and the statuses.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * They check headers against the shape and sections against headers, in the order of
 * docs/format.md.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_verdict.h"
#include "container/format.h"

static test_archive make(szgpu_shape shape, szgpu_params params, void *field) {
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  free(field);
  return archive;
}

/* Three dims, escapes, exact values and fill; 40 x 9 x 33 in frames of 16 rows. */
static test_archive make_linear(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 9, 33, 0);
  float *const field = test_make_waves(&shape);
  szgpu_params params = test_linear_params(SZGPU_MODE_ABS, 0.5);
  params.radius = 16;
  params.frame_rows = 16;
  for (uint64_t i = 40; i < test_value_count(&shape); i += 397) field[i] = 1e20f;
  for (uint64_t i = 7; i < test_value_count(&shape); i += 1009) field[i] = INFINITY;
  for (uint64_t i = 9; i < test_value_count(&shape); i += 901) field[i] = 3e9f;
  return make(shape, params, field);
}

static test_archive make_constant(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 70, 20, 0, 0);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0; i < 70 * 20; i++) field[i] = i % 97 ? 3.5f : INFINITY;
  return make(shape, test_linear_params(SZGPU_MODE_REL, 1e-3), field);
}

static test_archive make_raw(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 35, 0, 0, 0);
  return make(shape, test_linear_params(SZGPU_MODE_REL, 1e-4), test_make_bits(&shape));
}

static szgpu_status restore(szgpu_ctx *reader, const test_archive *archive, size_t field_bytes) {
  void *const field = test_allocate(field_bytes);
  szgpu_status const status =
      szgpu_decompress(reader, archive->bytes, archive->byte_count, field, field_bytes);
  free(field);
  return status;
}

/* Both decoders must call the archive bad data, in a block of exactly its size. Frees it. */
static void is_bad_data(const char *what, test_archive archive, size_t field_bytes) {
  test_archive exact = archive_copy(&archive, archive.byte_count);
  archive_rehash(&exact);
  szgpu_status const by_table = restore(ctx, &exact, field_bytes);
  szgpu_status const serially = restore(serial_ctx, &exact, field_bytes);
  if (by_table != SZGPU_BAD_DATA || serially != SZGPU_BAD_DATA)
    fail_msg("%s: %s; serially: %s", what, szgpu_status_text(by_table),
             szgpu_status_text(serially));
  free(exact.bytes);
  free(archive.bytes);
}

static size_t const linear_bytes = (size_t)40 * 9 * 33 * 4;

static void refuses_headers_that_contradict_the_shape(void **state) {
  (void)state;
  static header_edit const edits[] = {
      {"dim 0", 24, 8, 0},
      {"dims overflow", 32, 8, (uint64_t)1 << 62},
      {"frame rows 0", 96, 8, 0},
      {"frame rows beyond the field", 96, 8, 41},
      {"frames cut tiles", 96, 8, 17},
      {"too few frames", 96, 8, 32},
      {"too many frames", 96, 8, 40},
      {"rows of another shape", 24, 8, 60},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = make_linear();
    archive_store(&archive, edits[i].offset, edits[i].width, edits[i].value);
    archive_rehash(&archive);
    szgpu_info info = {.struct_bytes = sizeof info};
    if (szgpu_inspect(archive.bytes, archive.byte_count, &info) != SZGPU_BAD_DATA)
      fail_msg("%s", edits[i].what);
    is_bad_data(edits[i].what, archive, linear_bytes);
  }
}

static void refuses_linear_frames_that_contradict_the_header(void **state) {
  (void)state;
  static header_edit const edits[] = {
      {"no axes", 1, 1, 0},
      {"an unknown axis", 1, 1, 8},
      {"escape bytes 9", 2, 1, 9},
      {"escape bytes 0", 2, 1, 0},
      {"escape bytes 5", 2, 1, 5},
      {"radius 0", 4, 4, 0},
      {"radius 1", 4, 4, 1},
      {"radius 32769", 4, 4, 32769},
      {"radius 2^31", 4, 4, (uint64_t)1 << 31},
      {"index", 8, 8, 0},
      {"index", 8, 8, 2},
      {"value count", 16, 8, 0},
      {"value count", 16, 8, 16 * 9 * 33 + 1},
      {"a constant", 24, 8, 1},
      {"constant, with a stream", 0, 1, 1},
      {"raw, with a stream", 0, 1, 2},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = make_linear();
    size_t const frame = archive_frame_offset(&archive, 1);
    archive_store(&archive, frame + edits[i].offset, edits[i].width, edits[i].value);
    is_bad_data(edits[i].what, archive, linear_bytes);
  }
  test_archive archive = make_linear();
  archive_store(&archive, 72, 8, 0);
  is_bad_data("step 0", archive, linear_bytes);
}

static void refuses_an_axis_that_the_field_does_not_have(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 100, 100, 0, 0);
  for (uint64_t axes = 4; axes < 8; axes++) {
    test_archive archive =
        make(shape, test_linear_params(SZGPU_MODE_ABS, 1.0), test_make_waves(&shape));
    archive_store(&archive, archive_frame_offset(&archive, 0) + 1, 1, axes);
    is_bad_data("z in 2-D", archive, test_field_bytes(&shape));
  }
}

static void refuses_constant_and_raw_frames_with_what_they_do_not_have(void **state) {
  (void)state;
  static header_edit const edits[] = {
      {"axes", 1, 1, 1}, {"escape bytes", 2, 1, 1}, {"radius", 4, 4, 512}, {"wide", 24, 8, ~0ull}};
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++)
    for (int is_raw = 0; is_raw < 2; is_raw++) {
      test_archive archive = is_raw ? make_raw() : make_constant();
      size_t const frame = archive_frame_offset(&archive, 0);
      assert_int_equal(archive.bytes[frame], is_raw ? SZG_FRAME_RAW : SZG_FRAME_CONSTANT);
      archive_store(&archive, frame + edits[i].offset, edits[i].width, edits[i].value);
      is_bad_data(edits[i].what, archive, is_raw ? 140 : 70 * 20 * 4);
    }
}

/* Changes by 1 the first number that is not 0 in a section of frame 0. */
static void refuses_counts_that_do_not_use_up_their_sections(void **state) {
  (void)state;
  uint32_t const kinds[] = {SZG_SECTION_TILE_SIZES, SZG_SECTION_ESCAPE_COUNTS,
                            SZG_SECTION_EXACT_COUNTS, SZG_SECTION_FILL_COUNTS};
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++)
    for (int second = 0; second <= (kinds[k] == SZG_SECTION_EXACT_COUNTS); second++)
      for (int change = -1; change <= 1; change += 2) {
        test_archive archive = make_linear();
        uint32_t const section = archive_section_of_kind(&archive, 0, kinds[k]);
        size_t at = archive_section_offset(&archive, 0, section) + 2 * (size_t)second;
        while (archive.bytes[at] < 1) at += kinds[k] == SZG_SECTION_EXACT_COUNTS ? 4 : 2;
        archive_store(&archive, at, 1, (uint64_t)(archive.bytes[at] + change));
        is_bad_data("a count", archive, linear_bytes);
      }
}

/* The sum is the same, but one tile gets a share of another's. */
static void refuses_counts_that_give_a_tile_anothers_share(void **state) {
  (void)state;
  uint32_t const kinds[] = {SZG_SECTION_TILE_SIZES, SZG_SECTION_ESCAPE_COUNTS};
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
    test_archive archive = make_linear();
    uint32_t const section = archive_section_of_kind(&archive, 0, kinds[k]);
    size_t const at = archive_section_offset(&archive, 0, section);
    assert_true(archive.bytes[at] < 255 && archive.bytes[at + 2] > 0);
    archive.bytes[at]++;
    archive.bytes[at + 2]--;
    is_bad_data("a tile's count", archive, linear_bytes);
  }
}

/* One unit more or less, if the padding has room for it. */
static void refuses_sections_that_their_counts_do_not_use_up(void **state) {
  (void)state;
  uint32_t const kinds[] = {SZG_SECTION_ESCAPES, SZG_SECTION_EXACT_MASK, SZG_SECTION_EXACT_VALUES,
                            SZG_SECTION_FILL_MASK};
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
    int tried_count = 0;
    for (uint64_t frame = 0; frame < 3; frame++)
      for (int is_less = 0; is_less < 2; is_less++) {
        test_archive archive = make_linear();
        uint32_t const section = archive_section_of_kind(&archive, frame, kinds[k]);
        size_t const entry = archive_entry_offset(&archive, frame, section);
        unsigned const unit = kinds[k] == SZG_SECTION_EXACT_VALUES ? 4
                              : kinds[k] == SZG_SECTION_ESCAPES
                                  ? archive.bytes[archive_frame_offset(&archive, frame) + 2]
                                  : 1;
        uint8_t const low = archive.bytes[entry + 16];
        unsigned const room = is_less ? (low + 15) % 16 : (16 - low % 16) % 16;
        if (room < unit) {
          free(archive.bytes);
          continue;
        }
        uint64_t const changed = is_less ? low - unit : low + unit;
        archive_store(&archive, entry + 8, 1, changed);
        archive_store(&archive, entry + 16, 1, changed);
        is_bad_data("a section's size", archive, linear_bytes);
        tried_count++;
      }
    assert_true(tried_count > 0);
  }
}

static void refuses_what_has_no_use(void **state) {
  (void)state;
  test_archive archive = make_linear();
  archive_store(&archive, 12, 4, 0);
  archive_store(&archive, 88, 8, 0);
  is_bad_data("a fill mask without a fill value", archive, linear_bytes);
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 100, 100, 0, 0);
  archive = make(shape, test_linear_params(SZGPU_MODE_ABS, 30.0), test_make_waves(&shape));
  archive_store(&archive, archive_frame_offset(&archive, 0) + 2, 1, 4);
  is_bad_data("a width of escapes that are not there", archive, test_field_bytes(&shape));
  archive = make(shape, test_linear_params(SZGPU_MODE_ABS, 30.0), test_make_waves(&shape));
  archive_store(&archive, archive_frame_offset(&archive, 0), 8, SZG_FRAME_CONSTANT);
  is_bad_data("a constant frame with a stream", archive, test_field_bytes(&shape));
}

static void refuses_a_frame_without_a_section_that_must_be_there(void **state) {
  (void)state;
  test_archive archive = make_linear();
  uint32_t const section_count = archive_section_count(&archive, 0);
  free(archive.bytes);
  assert_int_equal(section_count, SZG_SECTION_RAW); /* all sections except raw values */
  for (uint32_t section = 0; section < section_count; section++)
    is_bad_data("a missing section", archive_without_section(make_linear(), section), linear_bytes);
}

/* Takes 16 bytes off the only section of a frame, and corrects every size that says so. */
static void refuses_raw_values_that_are_too_few(void **state) {
  (void)state;
  test_archive archive = make_raw();
  size_t const entry = archive_entry_offset(&archive, 0, 0);
  archive.byte_count -= 16;
  archive_store(&archive, 112, 8, archive.byte_count);
  archive_store(&archive, 128, 8, archive.byte_count - archive_header_bytes(&archive));
  archive_store(&archive, entry + 8, 8, 128);
  archive_store(&archive, entry + 16, 8, 128);
  is_bad_data("128 bytes for 35 values", archive, 140);
}

static void refuses_zstd_sections_of_another_size(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 300, 300, 0, 0);
  szgpu_params params = test_linear_params(SZGPU_MODE_ABS, 30.0);
  params.zstd_level = 19;
  int tried_count = 0;
  for (uint32_t section = 0; section < 5; section++)
    for (int change = -1; change <= 1; change += 2) {
      test_archive archive = make(shape, params, test_make_waves(&shape));
      size_t const entry = archive_entry_offset(&archive, 0, section);
      if (archive.bytes[entry + 4] != SZG_CODEC_ZSTD) {
        free(archive.bytes);
        continue;
      }
      archive_store(&archive, entry + 8, 1, (uint64_t)(archive.bytes[entry + 8] + change));
      is_bad_data("raw bytes", archive, test_field_bytes(&shape));
      tried_count++;
    }
  assert_true(tried_count > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_headers_that_contradict_the_shape),
      cmocka_unit_test(refuses_linear_frames_that_contradict_the_header),
      cmocka_unit_test(refuses_an_axis_that_the_field_does_not_have),
      cmocka_unit_test(refuses_constant_and_raw_frames_with_what_they_do_not_have),
      cmocka_unit_test(refuses_counts_that_do_not_use_up_their_sections),
      cmocka_unit_test(refuses_counts_that_give_a_tile_anothers_share),
      cmocka_unit_test(refuses_sections_that_their_counts_do_not_use_up),
      cmocka_unit_test(refuses_what_has_no_use),
      cmocka_unit_test(refuses_a_frame_without_a_section_that_must_be_there),
      cmocka_unit_test(refuses_raw_values_that_are_too_few),
      cmocka_unit_test(refuses_zstd_sections_of_another_size),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
