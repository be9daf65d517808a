/* test_corrupt.c - damaged and hostile archives: a named status each time, never a crash.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoders must find damage: every truncation and every flipped bit. An archive made to do harm has
 * correct checksums, so they may accept it; then they must stay inside its bytes and the field.
 * Archives and fields are in blocks of exactly their size: run this under a sanitizer.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive_lies.h"
#include "archive_samples.h"
#include "container/format.h"
#include "ctxs.h"

/* ---- small archives of every kind ---- */

enum { CODED, LONE, CONSTANT, RAW, WIDE, FRAMES, ZSTD, BATCH };
enum { LEVELS = BATCH + 1, LEVELS_WIDE, BLENDED, QUINTIC, SAMPLE_COUNT };

static test_archive samples[SAMPLE_COUNT];
static size_t field_bytes_of[SAMPLE_COUNT];

/* Has every section of the layout, none of them empty. */
static test_archive make_coded(void) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 3, 9, 33, 0);
  float *const field = test_make_waves(&shape);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5);
  test_ask_radius(&params, 16);
  for (int i = 40; i < 300; i += 7) field[i] = 1e20f;
  field[5] = INFINITY, field[6] = NAN, field[800] = 3e9f, field[801] = -1e5f;
  test_archive const archive = sample_make(ctx, shape, params, field);
  bool const is_linear = params.layout == SZGPU_LAYOUT_LINEAR;
  assert_int_equal(archive_section_count(&archive, 0), is_linear ? SZG_SECTION_RAW : 8);
  for (uint32_t i = 0; i < archive_section_count(&archive, 0); i++)
    assert_true(archive.bytes[archive_entry_offset(&archive, 0, i) + 8] > 0);
  return archive;
}

static int make_samples(void **state) {
  szgpu_shape const bits = test_shape(SZGPU_F32, 2, 5, 7, 0, 0);
  make_ctxs(state);
  samples[CODED] = make_coded();
  samples[LONE] = sample_lone(ctx);
  samples[CONSTANT] = sample_constant(ctx);
  samples[RAW] = sample_make(ctx, bits, test_params(SZGPU_MODE_REL, 1e-4), test_make_bits(&bits));
  samples[WIDE] = sample_wide(ctx);
  samples[FRAMES] = sample_waves(ctx, test_shape(SZGPU_F32, 3, 40, 2, 5, 0), 2.0, 16, 0);
  samples[ZSTD] = sample_waves(ctx, test_shape(SZGPU_F32, 2, 120, 70, 0, 0), 20.0, 0, 19);
  samples[BATCH] = sample_waves(ctx, test_shape(SZGPU_F64, 4, 3, 2, 2, 9), 2.0, 1, 0);
  samples[LEVELS] = sample_levels(ctx, test_shape(SZGPU_F32, 2, 20, 70, 0, 0), 0.5);
  samples[LEVELS_WIDE] = sample_levels(ctx, test_shape(SZGPU_F64, 3, 5, 9, 11, 0), 1e-6);
  samples[BLENDED] = sample_blended(ctx);
  samples[QUINTIC] = sample_quintic(ctx);
  const char *const coded = test_coded_kind();
  char const *const kinds[] = {coded, coded, "constant", "raw",    coded,    coded,
                               coded, coded, "levels",   "levels", "levels", "levels"};
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    szgpu_frame_info frame = {.struct_bytes = sizeof frame};
    assert_int_equal(szgpu_inspect_frames(samples[i].bytes, samples[i].byte_count, 0, 1, &frame),
                     0);
    if (strcmp(frame.kind, kinds[i]) != 0) fail_msg("sample %d is %s", i, frame.kind);
    szgpu_info const info = test_inspect(&samples[i]);
    field_bytes_of[i] = info.field_bytes;
    assert_int_equal(info.frame_count, i == FRAMES || i == BATCH ? 3 : 1);
  }
  bool has_zstd = false;
  for (uint32_t i = 0; i < archive_section_count(&samples[ZSTD], 0); i++)
    has_zstd |= samples[ZSTD].bytes[archive_entry_offset(&samples[ZSTD], 0, i) + 4] == 1;
  assert_true(has_zstd);
  return 0;
}

static int free_samples(void **state) {
  for (int i = 0; i < SAMPLE_COUNT; i++) free(samples[i].bytes);
  return destroy_ctxs(state);
}

/* ---- damage ---- */

/* Calls every function that looks into an archive; all statuses must have names. */
static void inspect_all(const test_archive *archive, szgpu_status *header_status) {
  szgpu_info info = {.struct_bytes = sizeof info};
  *header_status = szgpu_inspect(archive->bytes, archive->byte_count, &info);
  for (uint64_t frame = 0; frame < 4; frame++) {
    szgpu_frame_info frame_info = {.struct_bytes = sizeof frame_info};
    szgpu_status status =
        szgpu_inspect_frames(archive->bytes, archive->byte_count, frame, 1, &frame_info);
    assert_true(status <= SZGPU_BAD_DATA);
    if (status == SZGPU_OK) assert_true(strlen(frame_info.kind) && strlen(frame_info.axes) < 4);
    for (uint32_t i = 0; status == SZGPU_OK && i < frame_info.section_count; i++)
      assert_true(strlen(frame_info.sections[i].name) && strlen(frame_info.sections[i].codec));
  }
}

static void the_samples_are_sound(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    void *const by_table = test_decompress(ctx, &samples[i], field_bytes_of[i]);
    void *const serially = test_decompress(serial_ctx, &samples[i], field_bytes_of[i]);
    assert_memory_equal(by_table, serially, field_bytes_of[i]);
    free(by_table);
    free(serially);
    test_archive again = archive_copy(&samples[i], samples[i].byte_count);
    archive_rehash(&again);
    assert_memory_equal(again.bytes, samples[i].bytes, samples[i].byte_count);
    free(again.bytes);
  }
}

static void truncated_at_every_byte_says_so(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (size_t cut = 0; cut < samples[i].byte_count; cut++) {
      test_archive archive = archive_copy(&samples[i], cut);
      assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[i]), SZGPU_TRUNCATED);
      assert_int_equal(damaged_decompress(serial_ctx, &archive, field_bytes_of[i]),
                       SZGPU_TRUNCATED);
      szgpu_status status;
      inspect_all(&archive, &status);
      assert_int_equal(status,
                       cut < archive_header_bytes(&samples[i]) ? SZGPU_TRUNCATED : SZGPU_OK);
      free(archive.bytes);
    }
}

static void trailing_bytes_say_so(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (size_t more = 1; more < 40; more++) {
      test_archive archive = {calloc(1, samples[i].byte_count + more),
                              samples[i].byte_count + more};
      assert_non_null(archive.bytes);
      memcpy(archive.bytes, samples[i].bytes, samples[i].byte_count);
      assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[i]), SZGPU_TRAILING_BYTES);
      assert_int_equal(damaged_decompress(serial_ctx, &archive, field_bytes_of[i]),
                       SZGPU_TRAILING_BYTES);
      free(archive.bytes);
    }
}

static void every_flipped_bit_is_found_and_named(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    test_archive archive = archive_copy(&samples[i], samples[i].byte_count);
    for (size_t bit = 0; bit < 8 * archive.byte_count; bit++) {
      archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
      szgpu_status const by_table = damaged_decompress(ctx, &archive, field_bytes_of[i]);
      if (!damage_has_right_name(bit / 8, by_table))
        fail_msg("sample %d, bit %zu: %s", i, bit, szgpu_status_text(by_table));
      assert_int_equal(damaged_decompress(serial_ctx, &archive, field_bytes_of[i]), by_table);
      szgpu_status status;
      inspect_all(&archive, &status);
      assert_int_equal(status != SZGPU_OK, bit / 8 < archive_header_bytes(&samples[i]));
      archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(archive.bytes);
  }
}

/* ---- hostility: damage with corrected checksums ---- */

enum { MOST_FIELD_BYTES = 1 << 20 };

/* Whatever the archive says, decoders stay inside its bytes, and all that accept it agree. */
static void survives(test_archive *archive) {
  archive_rehash(archive);
  szgpu_status header_status;
  inspect_all(archive, &header_status);
  szgpu_info info = {.struct_bytes = sizeof info};
  if (szgpu_inspect(archive->bytes, archive->byte_count, &info) != SZGPU_OK) return;
  size_t const field_bytes = info.field_bytes <= MOST_FIELD_BYTES ? info.field_bytes : 64;
  uint8_t *const by_table = test_allocate(field_bytes), *const serially =
                                                            test_allocate(field_bytes);
  size_t const byte_count = archive->byte_count;
  szgpu_status const table_status =
      szgpu_decompress(ctx, archive->bytes, byte_count, by_table, field_bytes);
  szgpu_status const serial_status =
      szgpu_decompress(serial_ctx, archive->bytes, byte_count, serially, field_bytes);
  assert_true(table_status <= SZGPU_BAD_DATA && serial_status <= SZGPU_BAD_DATA);
  if (table_status != serial_status) {
    assert_int_equal(serial_status, SZGPU_BAD_DATA); /* only serial reads gaps and sequence codes */
    assert_int_equal(info.layout, SZGPU_LAYOUT_LINEAR);
  } else if (table_status == SZGPU_OK) {
    assert_memory_equal(by_table, serially, field_bytes);
  }
  if (info.field_bytes <= MOST_FIELD_BYTES) {
    size_t const row_bytes = info.field_bytes / info.shape.dims[0];
    uint8_t *const row = test_allocate(row_bytes);
    szgpu_status const status = szgpu_decompress_slab(ctx, archive->bytes, byte_count,
                                                      info.shape.dims[0] / 2, 1, row, row_bytes);
    assert_true(status <= SZGPU_BAD_DATA);
    free(row);
  }
  free(by_table);
  free(serially);
}

static void any_byte_may_lie(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++) lie_in_any_byte(&samples[i], &random, survives);
}

static void any_number_of_the_headers_may_lie(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) lie_in_headers(&samples[i], survives);
}

static void many_bytes_may_lie_at_once(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++) lie_in_sections(&samples[i], &random, 1500, survives);
}

/* ---- claims about sizes ---- */

/* A constant archive, headers only, that claims to hold `rows` values. */
static test_archive make_huge_claim(uint64_t rows) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 16, 0, 0, 0);
  float *const field = test_allocate(64);
  for (int i = 0; i < 16; i++) field[i] = 1.5f;
  test_archive archive = sample_make(ctx, shape, test_params(SZGPU_MODE_REL, 1e-3), field);
  archive_store(&archive, 24, 8, rows); /* dims[0] */
  archive_store(&archive, 96, 8, rows); /* frame rows */
  archive_store(&archive, archive_frame_offset(&archive, 0) + 16, 8, rows);
  archive_rehash(&archive);
  return archive;
}

static void a_claimed_huge_field_is_not_restored_into_less(void **state) {
  (void)state;
  for (int log = 20; log <= 60; log += 8) {
    test_archive archive = make_huge_claim((uint64_t)1 << log);
    szgpu_info const info = test_inspect(&archive);
    assert_int_equal(info.field_bytes, (uint64_t)4 << log);
    assert_int_equal(damaged_decompress(ctx, &archive, 64), SZGPU_BAD_ARGUMENT);
    free(archive.bytes);
  }
}

/* The work for a slab depends on the slab and the archive's bytes, not on the claimed size. */
static void a_row_of_a_claimed_huge_field_takes_no_time(void **state) {
  (void)state;
  for (int log = 30; log <= 60; log += 2) {
    test_archive archive = make_huge_claim((uint64_t)1 << log);
    float row = 0;
    clock_t const start = clock();
    szgpu_status const status = szgpu_decompress_slab(
        ctx, archive.bytes, archive.byte_count, ((uint64_t)1 << log) - 1, 1, &row, sizeof row);
    double const seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    free(archive.bytes);
    assert_true(status == SZGPU_OK || status == SZGPU_OUT_OF_MEMORY || status == SZGPU_BAD_DATA);
    if (status == SZGPU_OK) assert_true(row == 1.5f);
    if (seconds > 1.0) fail_msg("a row of 2^%d took %.1f s", log, seconds);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_samples_are_sound),
      cmocka_unit_test(truncated_at_every_byte_says_so),
      cmocka_unit_test(trailing_bytes_say_so),
      cmocka_unit_test(every_flipped_bit_is_found_and_named),
      cmocka_unit_test(any_byte_may_lie),
      cmocka_unit_test(any_number_of_the_headers_may_lie),
      cmocka_unit_test(many_bytes_may_lie_at_once),
      cmocka_unit_test(a_claimed_huge_field_is_not_restored_into_less),
      cmocka_unit_test(a_row_of_a_claimed_huge_field_takes_no_time),
  };
  return cmocka_run_group_tests(tests, make_samples, free_samples);
}
