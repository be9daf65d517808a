/* test_region_damage.c - szgpu_decompress_region: boxes that cannot be, and archives that are
 * damaged, where the region needs it and elsewhere.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "container/format.h"
#include "ctxs.h"
#include "regions.h"

/* ---- boxes that cannot be ---- */

static void refuse(const test_archive *archive, int level, szgpu_region region, size_t field_bytes,
                   const char *sentence) {
  uint8_t *const field = test_allocate(field_bytes);
  assert_int_equal(szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, level, &region,
                                           field, field_bytes),
                   SZGPU_BAD_ARGUMENT);
  assert_string_equal(szgpu_last_error(ctx), sentence);
  free(field);
}

static void says_which_axis_is_wrong(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 1, 60, 0);
  test_archive const archive = region_archive(ctx, REGION_LEVELS, &shape, 0, 0);
  szgpu_region const good = {{8, 0, 20, 99}, {2, 1, 3, 0}};
  static float box[6];
  assert_int_equal(
      szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 0, &good, box, sizeof box),
      SZGPU_OK);
  static const struct {
    int level;
    szgpu_region region;
    const char *sentence;
  } wrong[] = {
      {0, {{8, 0, 20}, {0, 1, 3}}, "the region has no values along axis 0"},
      {0, {{8, 0, 20}, {2, 0, 3}}, "the region has no values along axis 1"},
      {0, {{8, 0, 20}, {2, 1, 0}}, "the region has no values along axis 2"},
      {0,
       {{39, 0, 20}, {2, 1, 3}},
       "axis 0 has 40 values, and the region asks for 2 from index 39 on"},
      {0,
       {{8, 1, 20}, {2, 1, 3}},
       "axis 1 has 1 values, and the region asks for 1 from index 1 on"},
      {0,
       {{8, 0, 58}, {2, 1, 3}},
       "axis 2 has 60 values, and the region asks for 3 from index 58 on"},
      {0,
       {{8, 0, UINT64_MAX}, {2, 1, 3}},
       "axis 2 has 60 values, and the region asks for 3 from index 18446744073709551615 on"},
      {0,
       {{8, 0, 1}, {2, 1, UINT64_MAX}},
       "axis 2 has 60 values, and the region asks for 18446744073709551615 from index 1 on"},
      {1,
       {{19, 0, 0}, {2, 1, 3}},
       "axis 0 has 20 values, and the region asks for 2 from index 19 on"},
      {-1, {{8, 0, 20}, {2, 1, 3}}, "a level of -1 is not in 0 .. 6"},
      {7, {{8, 0, 20}, {2, 1, 3}}, "a level of 7 is not in 0 .. 6"},
      {6, {{0, 0, 0}, {1, 1, 1}}, "frame 0 goes up to level 4, not to 6"},
  };
  for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
    refuse(&archive, wrong[i].level, wrong[i].region, wrong[i].level == 6 ? 4 : sizeof box,
           wrong[i].sentence);
  refuse(&archive, 0, good, sizeof box - 4, "the values take 24 bytes, not 20");
  assert_int_equal(
      szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 0, NULL, box, sizeof box),
      SZGPU_BAD_ARGUMENT);
  assert_int_equal(
      szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 0, &good, NULL, sizeof box),
      SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 0, &good,
                                           (uint8_t *)box + 1, sizeof box),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_region(ctx, archive.bytes, archive.byte_count - 1, 0, &good,
                                           box, sizeof box),
                   SZGPU_TRUNCATED);
  assert_int_equal(
      szgpu_decompress_region(NULL, archive.bytes, archive.byte_count, 0, &good, box, sizeof box),
      SZGPU_BAD_ARGUMENT);
  free(archive.bytes);
}

/* ---- what the region does not need ---- */

/* A corner of the field, and what a sound archive has there. */
static szgpu_shape const shape = {SZGPU_F32, 3, {60, 70, 130}};
static szgpu_region const corner = {{3, 5, 7}, {6, 7, 8}};
enum { CORNER_BYTES = 6 * 7 * 8 * 4 };

static szgpu_status restore(const test_archive *archive, const szgpu_region *region, void *box) {
  memset(box, 0x77, CORNER_BYTES);
  return szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, 0, region, box,
                                 CORNER_BYTES);
}

/* Sections of bulk data, whose tiles lie in order; the planes of raw values come one by one. */
static bool is_bulk(uint32_t kind) {
  return kind == SZG_SECTION_BITSTREAM || kind == SZG_SECTION_ESCAPES ||
         kind == SZG_SECTION_EXACT_MASK || kind == SZG_SECTION_EXACT_VALUES ||
         kind == SZG_SECTION_FILL_MASK || kind == SZG_SECTION_RAW || kind >= SZG_SECTION_LEVEL_1;
}

/* Damages the end of every bulk section of frame 0: the last values of the last plane, if it has
 * byte planes. */
static void damage_ends(test_archive *archive) {
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, 1, &frame),
                   SZGPU_OK);
  int damaged = 0;
  for (uint32_t i = 0; i < frame.section_count; i++) {
    const szgpu_section_info *const section = &frame.sections[i];
    uint32_t kind;
    memcpy(&kind, archive->bytes + archive_entry_offset(archive, 0, i), sizeof kind);
    if (!is_bulk(kind)) continue;
    /* The last words of a stream must be zero after its last bit. */
    uint64_t const end = section->stored_bytes - (kind == SZG_SECTION_BITSTREAM ? 4 : 0);
    for (uint64_t at = section->stored_bytes / 16 * 15; at < end; at++, damaged++)
      archive->bytes[section->offset + at] ^= 0xA5;
  }
  assert_true(damaged > 1000);
}

static void damage_elsewhere_does_not_matter(void **state) {
  (void)state;
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    if (kind == REGION_CONSTANT) continue; /* its few bytes are tested below */
    test_archive archive = region_archive(ctx, kind, &shape, 0, 0);
    if (!region_has_kind(&archive, kind)) fail_msg("not %s", region_kind_name(kind));
    uint8_t *const whole = test_decompress(ctx, &archive, test_field_bytes(&shape));
    uint8_t *const expected = region_slice(&shape, &corner, whole);
    float box[CORNER_BYTES / 4];
    damage_ends(&archive);
    szgpu_status const status = restore(&archive, &corner, box);
    if (status != SZGPU_OK)
      fail_msg("%s: %s (%s)", region_kind_name(kind), szgpu_status_text(status),
               szgpu_last_error(ctx));
    assert_memory_equal(box, expected, CORNER_BYTES);
    assert_int_equal(
        szgpu_decompress(ctx, archive.bytes, archive.byte_count, whole, test_field_bytes(&shape)),
        SZGPU_BAD_CHECKSUM); /* whole restoring finds it */
    free(expected);
    free(whole);
    free(archive.bytes);
  }
}

static void damage_in_another_frame_does_not_matter(void **state) {
  (void)state;
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    test_archive archive = region_archive(ctx, kind, &shape, 16, kind % 2);
    uint8_t *const whole = test_decompress(ctx, &archive, test_field_bytes(&shape));
    uint8_t *const expected = region_slice(&shape, &corner, whole);
    float box[CORNER_BYTES / 4];
    size_t const first = archive_frame_offset(&archive, 1);
    memset(archive.bytes + first, 0xA5, archive.byte_count - first);
    assert_int_equal(restore(&archive, &corner, box), SZGPU_OK);
    assert_memory_equal(box, expected, CORNER_BYTES);
    szgpu_region next = corner;
    next.first[0] = 12; /* to row 17, of frame 1 */
    assert_int_equal(restore(&archive, &next, box), SZGPU_BAD_CHECKSUM);
    assert_string_equal(szgpu_last_error(ctx), "frame 1 has a bad header");
    free(expected);
    free(whole);
    free(archive.bytes);
  }
}

/* ---- what it needs ---- */

static void damaged_tables_are_named(void **state) {
  (void)state;
  int found = 0;
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    test_archive const sound = region_archive(ctx, kind, &shape, 0, 0);
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(sound.bytes, sound.byte_count, 0, 1, &frame), SZGPU_OK);
    for (uint32_t i = 0; i < frame.section_count; i++) {
      const szgpu_section_info *const section = &frame.sections[i];
      bool const is_table = strstr(section->name, "counts") || !strcmp(section->name, "codebook") ||
                            !strcmp(section->name, "tile sizes");
      if (!is_table || section->stored_bytes == 0) continue;
      test_archive archive = archive_copy(&sound, sound.byte_count);
      float box[CORNER_BYTES / 4];
      char sentence[80];
      archive.bytes[section->offset + section->stored_bytes - 1] ^= 2; /* of the last tile */
      snprintf(sentence, sizeof sentence, "section '%s' of frame 0", section->name);
      assert_int_equal(restore(&archive, &corner, box), SZGPU_BAD_CHECKSUM);
      assert_string_equal(szgpu_last_error(ctx), sentence);
      free(archive.bytes);
      found++;
    }
    free(sound.bytes);
  }
  assert_true(found >= 20);
}

/* Sections under zstd are read as a whole, so all damage is found. */
static void damage_under_zstd_is_found(void **state) {
  (void)state;
  test_archive archive = region_archive(ctx, REGION_LEVELS_SPOILT, &shape, 0, 3);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  int packed = 0;
  for (uint32_t i = 0; i < frame.section_count; i++) {
    const szgpu_section_info *const section = &frame.sections[i];
    if (strcmp(section->codec, "zstd") != 0) continue;
    float box[CORNER_BYTES / 4];
    uint8_t *const last = archive.bytes + section->offset + section->stored_bytes - 1;
    *last ^= 1;
    assert_int_equal(restore(&archive, &corner, box), SZGPU_BAD_CHECKSUM);
    *last ^= 1;
    packed++;
  }
  assert_true(packed > 0);
  free(archive.bytes);
}

/* Every byte changed in turn, with and without right checksums: an error or some values, but
 * nothing outside of archive and region. Run this under a sanitizer. */
static void hostile_archives_stay_in_bounds(void **state) {
  (void)state;
  szgpu_shape const small[] = {test_shape(SZGPU_F32, 3, 18, 12, 40, 0),
                               test_shape(SZGPU_F64, 2, 40, 70, 0, 0)};
  static const szgpu_region boxes[] = {{{1, 2, 3}, {16, 9, 33}}, {{5, 9}, {30, 44}}};
  static const szgpu_region level_boxes[] = {{{1, 1, 2}, {7, 4, 9}}, {{2, 3}, {15, 21}}};
  for (int kind = 0; kind < REGION_KINDS; kind++)
    for (size_t s = 0; s < ARRAY_COUNT(small); s++) {
      test_archive const sound = region_archive(ctx, kind, &small[s], 16, kind % 3 == 2 ? 1 : 0);
      uint8_t *const box = test_allocate(region_bytes(&small[s], &boxes[s]));
      for (size_t i = 0; i < sound.byte_count; i += 1 + test_hash(i) % 9) {
        test_archive archive = archive_copy(&sound, sound.byte_count);
        archive.bytes[i] ^= (uint8_t)(1 << test_hash(i) % 8);
        if (test_hash(i) % 2) archive_rehash(&archive);
        (void)!szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 0, &boxes[s], box,
                                       region_bytes(&small[s], &boxes[s]));
        (void)!szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 1, &level_boxes[s],
                                       box, region_bytes(&small[s], &level_boxes[s]));
        free(archive.bytes);
      }
      free(box);
      free(sound.bytes);
    }
}

/* ---- frames without the level ---- */

/* Only frames that the region spans need the level. */
static void frames_beside_the_region_need_no_level(void **state) {
  (void)state;
  float *const field = test_make_waves(&shape);
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = 0.05;
  params.frame_rows = 32;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  uint64_t const values = test_value_count(&shape), half = 32 * shape.dims[1] * shape.dims[2];
  for (uint64_t i = half; i < values; i++) {
    uint32_t const bits = (uint32_t)test_hash(i) | 0x60000000; /* too large for the bound */
    memcpy(&field[i], &bits, sizeof bits);
  }
  test_archive archive = archive_compress(ctx, &params, &shape, field);
  float box[CORNER_BYTES / 4];
  szgpu_region region = corner;
  assert_int_equal(
      szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 1, &region, box, sizeof box),
      SZGPU_OK);
  region.first[0] = 10; /* rows 20 to 31 */
  assert_int_equal(
      szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 1, &region, box, sizeof box),
      SZGPU_OK);
  region.first[0] = 11;
  refuse(&archive, 1, region, sizeof box, "frame 1 is a planes frame: it has no levels");
  free(archive.bytes);
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_which_axis_is_wrong),
      cmocka_unit_test(damage_elsewhere_does_not_matter),
      cmocka_unit_test(damage_in_another_frame_does_not_matter),
      cmocka_unit_test(damaged_tables_are_named),
      cmocka_unit_test(damage_under_zstd_is_found),
      cmocka_unit_test(hostile_archives_stay_in_bounds),
      cmocka_unit_test(frames_beside_the_region_need_no_level),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
