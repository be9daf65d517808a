/* test_ranges.c - szgpu_region_ranges: the bytes that it names are all that a region needs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "ctxs.h"
#include "joined_fields.h"
#include "missing_fields.h"
#include "regions.h"

enum { MOST_ROUNDS = 5, CAPACITY = 200, MOST_PRESENT = MOST_ROUNDS * CAPACITY + 1 };

/* An archive of which a part is there, in memory that holds garbage elsewhere. */
typedef struct part {
  test_archive whole;
  uint8_t *bytes;
  szgpu_range present[MOST_PRESENT];
  size_t count;
  uint64_t fetched_bytes;
  int rounds, requests;
} part;

static part *part_begin(const test_archive *whole) {
  part *const made = test_allocate(sizeof *made);
  *made = (part){.whole = *whole, .bytes = test_allocate(whole->byte_count)};
  for (size_t i = 0; i < whole->byte_count; i++) made->bytes[i] = (uint8_t)test_hash(i ^ 77);
  return made;
}

static void part_end(part *given) {
  free(given->bytes);
  free(given);
}

static void fetch(part *to, szgpu_range range) {
  assert_true(range.byte_count > 0 && range.byte_count <= to->whole.byte_count &&
              range.offset <= to->whole.byte_count - range.byte_count);
  memcpy(to->bytes + range.offset, to->whole.bytes + range.offset, range.byte_count);
  assert_true(to->count < MOST_PRESENT);
  to->present[to->count++] = range;
  to->fetched_bytes += range.byte_count;
  to->requests++;
}

/* Fetches until nothing is missing, or the call fails. */
static szgpu_status fetch_all(szgpu_ctx *with, part *to, int level, const szgpu_region *region,
                              uint64_t gap_bytes) {
  for (;; to->rounds++) {
    szgpu_range missing[CAPACITY];
    size_t count = 0;
    szgpu_status const status =
        szgpu_region_ranges(with, to->bytes, to->whole.byte_count, level, region, to->present,
                            to->count, gap_bytes, missing, CAPACITY, &count);
    if (status != SZGPU_OK || count == 0) return status;
    assert_true(count <= CAPACITY && to->rounds < MOST_ROUNDS);
    for (size_t i = 0; i < count; i++) {
      if (i > 0) {
        uint64_t const end = missing[i - 1].offset + missing[i - 1].byte_count;
        assert_true(missing[i].offset > end && missing[i].offset - end > gap_bytes);
      }
      fetch(to, missing[i]);
    }
  }
}

/* What was not fetched may be anything: the region is restored twice, among other garbage. */
static void assert_restores(part *from, int level, const szgpu_shape *shape, const uint8_t *whole,
                            const szgpu_region *region) {
  size_t const bytes = region_bytes(shape, region);
  uint8_t *const expected = region_slice(shape, region, whole);
  uint8_t *const box = test_allocate(bytes);
  uint8_t *const is_there = test_allocate(from->whole.byte_count);
  memset(is_there, 0, from->whole.byte_count);
  for (size_t i = 0; i < from->count; i++)
    memset(is_there + from->present[i].offset, 1, from->present[i].byte_count);
  for (int time = 0; time < 2; time++) {
    szgpu_status const status = szgpu_decompress_region(
        time ? three_threads : ctx, from->bytes, from->whole.byte_count, level, region, box, bytes);
    if (status != SZGPU_OK) fail_msg("%s (%s)", szgpu_status_text(status), szgpu_last_error(ctx));
    assert_memory_equal(box, expected, bytes);
    for (size_t i = 0; i < from->whole.byte_count; i++)
      if (!is_there[i]) from->bytes[i] ^= 0xFF;
  }
  free(is_there);
  free(box);
  free(expected);
}

enum { BOXES = 3 }; /* of each level of an archive */

/* Boxes of all levels that the archive has; returns how many boxes. */
static int assert_parts(const test_archive *archive, test_random *random) {
  szgpu_info const info = test_inspect(archive);
  int count = 0;
  for (int level = 0; level <= SZGPU_MAX_LEVEL; level++) {
    szgpu_shape shape;
    assert_int_equal(szgpu_level_shape(&info, level, &shape), SZGPU_OK);
    size_t const bytes = test_field_bytes(&shape);
    uint8_t *const whole = test_allocate(bytes);
    szgpu_status const status =
        szgpu_decompress_level(ctx, archive->bytes, archive->byte_count, level, whole, bytes);
    for (int i = 0; i < BOXES && status == SZGPU_OK; i++, count++) {
      szgpu_region const region = region_random(random, &shape);
      part *const fetched = part_begin(archive);
      uint64_t const prefix = i % 2 ? 1 + test_random_below(random, archive->byte_count) : 0;
      if (prefix) fetch(fetched, (szgpu_range){0, prefix < 8192 ? prefix : 8192});
      szgpu_status const asked =
          fetch_all(i % 3 ? ctx : three_threads, fetched, level, &region, i == 3 ? 4096 : 0);
      if (asked != SZGPU_OK) fail_msg("%s (%s)", szgpu_status_text(asked), szgpu_last_error(ctx));
      assert_restores(fetched, level, &shape, whole, &region);
      part_end(fetched);
    }
    if (status != SZGPU_OK) assert_int_equal(status, SZGPU_BAD_ARGUMENT);
    free(whole);
  }
  return count;
}

/* ---- every kind of frame ---- */

/* Of one frame, and too large for the compact form. */
static szgpu_shape const large[] = {{SZGPU_F32, 3, {60, 70, 130}},
                                    {SZGPU_F64, 2, {520, 610}},
                                    {SZGPU_F32, 1, {300001}},
                                    {SZGPU_F64, 4, {3, 37, 50, 60}}};

static void every_kind_needs_no_other_bytes(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int seen[REGION_KINDS] = {0}, count = 0;
  for (int kind = 0; kind < REGION_KINDS; kind++)
    for (size_t s = 0; s < ARRAY_COUNT(large); s++)
      for (int zstd_level = 0; zstd_level <= 1; zstd_level++) {
        if (zstd_level && s % 2) continue;
        test_archive archive = region_archive(ctx, kind, &large[s], 0, zstd_level);
        seen[kind] += region_has_kind(&archive, kind);
        count += assert_parts(&archive, &random);
        free(archive.bytes);
      }
  print_message("           %d boxes\n", count);
  for (int kind = 0; kind < REGION_KINDS; kind++)
    if (seen[kind] < 2) fail_msg("%s: seen %d times", region_kind_name(kind), seen[kind]);
}

static void several_frames_and_small_archives_too(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < REGION_KINDS; kind++)
    for (size_t s = kind % 3; s < REGION_SHAPES; s += 3)
      for (int is_cut = 0; is_cut <= 1; is_cut++) {
        szgpu_shape const shape = region_shape(kind, s, is_cut);
        test_archive archive = region_archive(ctx, kind, &shape, is_cut ? 17 : 0, s % 2 ? 3 : 0);
        assert_true(assert_parts(&archive, &random) >= BOXES);
        free(archive.bytes);
      }
}

/* ---- values that are coded as others ---- */

static void assert_parts_of(const szgpu_params *params, const szgpu_shape *shape, const void *field,
                            test_random *random) {
  test_archive archive = test_compress(ctx, params, shape, field);
  assert_true(assert_parts(&archive, random) >= BOXES);
  free(archive.bytes);
}

static void types_logarithms_and_fill_values(void **state) {
  (void)state;
  static const szgpu_dtype types[] = {SZGPU_F16, SZGPU_BF16, SZGPU_I8,
                                      SZGPU_U16, SZGPU_I16,  SZGPU_I32};
  test_random random = test_random_begin();
  for (size_t t = 0; t < ARRAY_COUNT(types); t++) {
    szgpu_shape const shape = test_shape(types[t], 3, 60, 70, t % 2 ? 70 : 3, 0);
    szgpu_shape signed_shape = shape;
    if (types[t] == SZGPU_U16) signed_shape.dtype = SZGPU_I16;
    void *const field = test_make_waves(&signed_shape);
    for (uint64_t i = 0; types[t] == SZGPU_U16 && i < test_value_count(&shape); i++)
      test_set_value(SZGPU_U16, field, i, 200 + test_value_at(SZGPU_I16, field, i));
    assert_parts_of(&(szgpu_params){.struct_bytes = sizeof(szgpu_params),
                                    .mode = SZGPU_MODE_ABS,
                                    .layout = SZGPU_LAYOUT_TILE,
                                    .bound = 1},
                    &shape, field, &random);
    free(field);
  }
  for (int is_wide = 0; is_wide <= 1; is_wide++)
    for (uint32_t fills = 0; fills <= MISSING_FILLS; fills += 2) {
      szgpu_shape const shape = test_shape(is_wide ? SZGPU_F64 : SZGPU_F32, 3, 60, 70, 70, 0);
      uint8_t *which;
      void *const field = missing_make(&shape, fills, &which);
      szgpu_params params = missing_params(SZGPU_MODE_PWREL, 0.01, fills);
      assert_parts_of(&params, &shape, field, &random);
      params = missing_params(SZGPU_MODE_ABS, 0.05, fills);
      params.frame_rows = 32;
      assert_parts_of(&params, &shape, field, &random);
      free(which);
      free(field);
    }
}

static void joined_axes_and_folded_lines(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int joined = 0;
  for (int i = 0; i < JOINED_FIELDS; i++) {
    const joined_field *const field = &joined_fields[i];
    szgpu_params params = test_params(SZGPU_MODE_ABS, 0.01);
    params.layout = SZGPU_LAYOUT_TILE;
    void *const values = joined_make(field, SZGPU_F32);
    test_archive const archive = test_compress(ctx, &params, &field->shape, values);
    joined += test_inspect(&archive).joined_axes != 0;
    assert_parts(&archive, &random);
    free(archive.bytes);
    free(values);
  }
  assert_true(joined > 2);
  szgpu_shape const line = test_shape(SZGPU_F32, 1, 900 * 400, 0, 0, 0);
  float *const folded = test_make_folded(900, 400);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.01);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  assert_parts_of(&params, &line, folded, &random);
  free(folded);
}

/* ---- how much, how often ---- */

static void a_small_box_needs_little(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 128, 160, 192, 0);
  szgpu_region const region = {{30, 61, 100}, {16, 16, 16}};
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    if (kind == REGION_CONSTANT) continue;
    test_archive archive = region_archive(ctx, kind, &shape, 0, 0);
    part *const fetched = part_begin(&archive);
    fetch(fetched, (szgpu_range){0, 4096});
    assert_int_equal(fetch_all(ctx, fetched, 0, &region, 0), SZGPU_OK);
    double const share = (double)fetched->fetched_bytes / (double)archive.byte_count;
    print_message("           %-16s %d rounds, %.2f %%\n", region_kind_name(kind), fetched->rounds,
                  100 * share);
    assert_true(share < 0.12 && fetched->rounds <= 2);
    part_end(fetched);
    free(archive.bytes);
  }
}

static void gaps_and_capacity_make_fewer_ranges(void **state) {
  (void)state;
  szgpu_region const region = {{3, 5, 7}, {40, 17, 30}};
  test_archive archive = region_archive(ctx, REGION_TILE, &large[0], 0, 0);
  size_t most_count = SIZE_MAX;
  szgpu_range const all_tables = {0, archive.byte_count / 8};
  static const struct {
    uint64_t gap_bytes;
    size_t capacity, most_count;
  } cases[] = {{0, 100, 100}, {2000, 100, 100}, {0, 3, 3}, {0, 1, 1}, {UINT64_MAX, 100, 1}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    szgpu_range missing[100];
    size_t count;
    assert_int_equal(
        szgpu_region_ranges(ctx, archive.bytes, archive.byte_count, 0, &region, &all_tables, 1,
                            cases[i].gap_bytes, missing, cases[i].capacity, &count),
        SZGPU_OK);
    assert_true(count >= 1 && count <= cases[i].most_count && count <= most_count);
    if (i == 0) assert_true(count >= 6);
    if (i == 0) most_count = count;
  }
  free(archive.bytes);
}

/* Present ranges that meet are one, also in another order; one byte between them is missing. */
static void a_single_byte_may_be_missing(void **state) {
  (void)state;
  szgpu_region const region = {{3, 5, 7}, {4, 4, 4}};
  test_archive archive = region_archive(ctx, REGION_TILE, &large[0], 0, 0);
  uint64_t const rest = archive.byte_count - 50;
  szgpu_range const whole[] = {{50, rest}, {20, 30}, {0, 30}, {7, 0}};
  szgpu_range const holed[] = {{51, rest - 1}, {20, 30}, {0, 30}, {7, 0}};
  szgpu_range missing[4];
  size_t count = 9;
  assert_int_equal(szgpu_region_ranges(ctx, archive.bytes, archive.byte_count, 0, &region, whole, 4,
                                       0, missing, 4, &count),
                   SZGPU_OK);
  assert_int_equal(count, 0);
  assert_int_equal(szgpu_region_ranges(ctx, archive.bytes, archive.byte_count, 0, &region, holed, 4,
                                       0, missing, 4, &count),
                   SZGPU_OK);
  assert_int_equal(count, 1);
  assert_int_equal(missing[0].offset, 0);
  free(archive.bytes);
}

/* ---- what is refused ---- */

static void refuse(const test_archive *archive, size_t byte_count, int level,
                   const szgpu_region *region, const szgpu_range *present, szgpu_status status,
                   const char *sentence) {
  szgpu_range missing[4];
  size_t count;
  assert_int_equal(szgpu_region_ranges(ctx, archive->bytes, byte_count, level, region, present, 1,
                                       0, missing, 4, &count),
                   status);
  assert_string_equal(szgpu_last_error(ctx), sentence);
}

static void bad_calls_are_refused(void **state) {
  (void)state;
  test_archive archive = region_archive(ctx, REGION_TILE, &large[0], 0, 0);
  szgpu_region const good = {{3, 5, 7}, {4, 4, 4}}, beyond = {{3, 5, 7}, {4, 4, 124}};
  szgpu_range const head = {0, 4096}, outside = {archive.byte_count - 1, 2};
  szgpu_range const wraps = {UINT64_MAX, 2};
  szgpu_range missing[4];
  size_t const bytes = archive.byte_count;
  size_t count;
  char sentence[100];
  snprintf(sentence, sizeof sentence, "a range goes beyond the archive's %zu bytes", bytes);
  refuse(&archive, bytes, 0, &good, &outside, SZGPU_BAD_ARGUMENT, sentence);
  refuse(&archive, bytes, 0, &good, &wraps, SZGPU_BAD_ARGUMENT, sentence);
  refuse(&archive, bytes, 7, &good, &head, SZGPU_BAD_ARGUMENT, "a level of 7 is not in 0 .. 6");
  refuse(&archive, bytes, 1, &good, &head, SZGPU_BAD_ARGUMENT,
         "frame 0 is a tile frame: it has no levels");
  refuse(&archive, bytes, 0, &beyond, &head, SZGPU_BAD_ARGUMENT,
         "axis 2 has 130 values, and the region asks for 124 from index 7 on");
  snprintf(sentence, sizeof sentence, "it has %zu bytes and should have %zu", bytes - 1, bytes);
  refuse(&archive, bytes - 1, 0, &good, &head, SZGPU_TRUNCATED, sentence);
  snprintf(sentence, sizeof sentence, "it has %zu bytes and should have %zu", bytes + 1, bytes);
  refuse(&archive, bytes + 1, 0, &good, &head, SZGPU_TRAILING_BYTES, sentence);
  assert_int_equal(
      szgpu_region_ranges(ctx, archive.bytes, bytes, 0, &good, NULL, 0, 0, missing, 0, &count),
      SZGPU_BAD_ARGUMENT);
  assert_int_equal(
      szgpu_region_ranges(ctx, archive.bytes, bytes, 0, &good, NULL, 1, 0, missing, 4, &count),
      SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_region_ranges(ctx, NULL, bytes, 0, &good, NULL, 0, 0, missing, 4, &count),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(
      szgpu_region_ranges(NULL, archive.bytes, bytes, 0, &good, NULL, 0, 0, missing, 4, &count),
      SZGPU_BAD_ARGUMENT);
  free(archive.bytes);
}

static void damage_on_the_way_is_named(void **state) {
  (void)state;
  szgpu_region const region = {{3, 5, 7}, {6, 7, 8}};
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    test_archive archive = region_archive(ctx, kind, &large[0], 0, 0);
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame),
                     SZGPU_OK);
    struct {
      size_t at;
      const char *sentence;
    } places[] = {
        {100, ""}, {archive_frame_offset(&archive, 0) + 16, "frame 0 has a bad header"}, {0, ""}};
    char sentence[80];
    for (uint32_t i = 0; i < frame.section_count; i++) {
      if (!strstr(frame.sections[i].name, "counts") || !frame.sections[i].stored_bytes) continue;
      places[2].at = frame.sections[i].offset;
      snprintf(sentence, sizeof sentence, "section '%s' of frame 0", frame.sections[i].name);
      places[2].sentence = sentence;
    }
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
      if (places[i].at == 0) continue; /* the frame has no such section */
      archive.bytes[places[i].at] ^= 4;
      part *const fetched = part_begin(&archive);
      szgpu_status const status = fetch_all(ctx, fetched, 0, &region, 0);
      if (status != SZGPU_BAD_CHECKSUM)
        fail_msg("%s, byte %zu: %s", region_kind_name(kind), places[i].at,
                 szgpu_status_text(status));
      assert_string_equal(szgpu_last_error(ctx), places[i].sentence);
      part_end(fetched);
      archive.bytes[places[i].at] ^= 4;
    }
    free(archive.bytes);
  }
}

/* Bytes changed in turn, with and without right checksums: an error, or ranges of the archive and
 * some values. Run this under a sanitizer. */
static void hostile_archives_lead_nowhere_else(void **state) {
  (void)state;
  szgpu_shape const small = test_shape(SZGPU_F32, 3, 36, 12, 40, 0);
  szgpu_region const box = {{1, 2, 3}, {30, 9, 33}}, level_box = {{1, 1, 2}, {14, 4, 9}};
  static float values[30 * 9 * 33];
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    test_archive const sound = region_archive(ctx, kind, &small, 16, kind % 3 == 2 ? 1 : 0);
    for (size_t i = 0; i < sound.byte_count; i += 1 + test_hash(i) % (i < 1024 ? 37 : 99)) {
      test_archive archive = archive_copy(&sound, sound.byte_count);
      archive.bytes[i] ^= (uint8_t)(1 << test_hash(i) % 8);
      if (test_hash(i) % 4) archive_rehash(&archive);
      int const level = (int)(i % 2);
      part *const fetched = part_begin(&archive);
      if (fetch_all(ctx, fetched, level, level ? &level_box : &box, 0) == SZGPU_OK)
        (void)!szgpu_decompress_region(ctx, fetched->bytes, archive.byte_count, level,
                                       level ? &level_box : &box, values,
                                       region_bytes(&small, level ? &level_box : &box));
      part_end(fetched);
      free(archive.bytes);
    }
    free(sound.bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_needs_no_other_bytes),
      cmocka_unit_test(several_frames_and_small_archives_too),
      cmocka_unit_test(types_logarithms_and_fill_values),
      cmocka_unit_test(joined_axes_and_folded_lines),
      cmocka_unit_test(a_small_box_needs_little),
      cmocka_unit_test(gaps_and_capacity_make_fewer_ranges),
      cmocka_unit_test(a_single_byte_may_be_missing),
      cmocka_unit_test(bad_calls_are_refused),
      cmocka_unit_test(damage_on_the_way_is_named),
      cmocka_unit_test(hostile_archives_lead_nowhere_else),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
