/* test_compact.c - the compact form of small archives: what it holds, and what readers refuse.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "archive_edit.h"
#include "container/compact.h"
#include "ctxs.h"
#include "lossless_fields.h"
#include "regions.h"

/* Offsets of docs/format.md, section 21, not taken from the code. */
enum { SIZE = 9, CHECKSUM = 12, BITS = 16, MOST_VALUES = 1 << 18, BLOCK = 16384 };

static uint32_t stated_bytes(const test_archive *archive) {
  return archive->bytes[SIZE] | archive->bytes[SIZE + 1] << 8 | archive->bytes[SIZE + 2] << 16;
}

/* Makes the checksum right again. */
static void reseal(const test_archive *archive) {
  uint64_t words[2 + 64] = {0};
  size_t count = 2;
  memcpy(words, archive->bytes, CHECKSUM);
  for (size_t at = BITS; at < archive->byte_count; at += BLOCK) {
    size_t const left = archive->byte_count - at;
    words[count++] = XXH3_64bits(archive->bytes + at, left < BLOCK ? left : BLOCK);
  }
  uint64_t const hash = XXH3_64bits(words, 8 * count);
  for (int i = 0; i < 4; i++) archive->bytes[CHECKSUM + i] = (uint8_t)(hash >> 8 * i);
}

/* ---- the form ---- */

/* 60 values of 2.5 in rows of 10, with a bound of 0.001 of the range. The bits, worked out by hand:
 *
 *   0000 01 00011 10 00100 010    f32, 2 dims: 6, 10
 *   000 1 0                       mode 0, layout 1, no source
 *   00 0                          arithmetic 0, no fill value
 *   00 00001 0011                 bound 1 / 10^3
 *   0 00 00 01                    no limits, step 0, range 0, absolute bound of the range
 *   001, 32 bits: 0x40200000      a constant frame
 *   0                             the usual sections: none
 *
 * or, in words, 0x04711080, 0x13025008 and 0. */
static void a_constant_field_takes_32_bytes(void **state) {
  (void)state;
  static const uint8_t bits[16] = {0x80, 0x10, 0x71, 0x04, 0x08, 0x50, 0x02, 0x13};
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 6, 10, 0, 0);
  szgpu_params const params = test_params(SZGPU_MODE_REL, 1e-3);
  float values[60];
  for (int i = 0; i < 60; i++) values[i] = 2.5f;
  test_archive const archive = test_compress(ctx, &params, &shape, values);
  assert_int_equal(archive.byte_count, 32);
  assert_memory_equal(archive.bytes, "\x89SZG\r\n\x1a\n\x09\x1c\0\0", 12);
  assert_memory_equal(archive.bytes + BITS, bits, sizeof bits);
  free(archive.bytes);
}

static test_archive pack(const test_archive *plain) {
  test_archive archive = {test_allocate(plain->byte_count), 0};
  assert_int_equal(szg_compact_write(ctx, plain->bytes, plain->byte_count, archive.bytes,
                                     plain->byte_count, &archive.byte_count),
                   SZGPU_OK);
  return archive;
}

static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {1}},          {SZGPU_F64, 1, {4099}},
                                     {SZGPU_F32, 2, {70, 90}},     {SZGPU_F64, 3, {20, 1, 33}},
                                     {SZGPU_F32, 3, {17, 20, 40}}, {SZGPU_F32, 4, {3, 9, 20, 33}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Every kind of frame, with and without zstd. */
static void archives_of_all_kinds_come_back(void **state) {
  (void)state;
  bool seen[REGION_KINDS] = {false};
  for (int s = 0; s < SHAPES; s++)
    for (int kind = 0; kind < REGION_KINDS; kind++)
      for (int zstd_level = 0; zstd_level <= 1; zstd_level++) {
        size_t const field_bytes = test_field_bytes(&shapes[s]);
        test_archive const archive = region_archive(ctx, kind, &shapes[s], 0, zstd_level);
        test_archive const plain = archive_plain(archive_copy(&archive, archive.byte_count));
        seen[kind] |= region_has_kind(&plain, kind);
        assert_int_equal(test_inspect(&archive).format_version, 9);
        assert_int_equal(test_inspect(&archive).archive_bytes, archive.byte_count);
        assert_true(archive.byte_count + 100 <= plain.byte_count);
        test_archive const again = pack(&plain);
        assert_int_equal(again.byte_count, archive.byte_count);
        assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
        void *const restored = test_decompress(ctx, &archive, field_bytes);
        void *const expected = test_decompress(ctx, &plain, field_bytes);
        assert_memory_equal(restored, expected, field_bytes);
        free(restored);
        free(expected);
        free(again.bytes);
        free(plain.bytes);
        free(archive.bytes);
      }
  for (int kind = 0; kind < REGION_KINDS; kind++)
    if (!seen[kind]) fail_msg("there was no %s", region_kind_name(kind));
}

static void only_small_fields_of_one_frame_have_it(void **state) {
  (void)state;
  for (int more = 0; more <= 1; more++)
    for (uint64_t frame_rows = 0; frame_rows <= 4096; frame_rows += 4096) {
      szgpu_shape const shape = test_shape(SZGPU_F32, 1, (uint64_t)(MOST_VALUES + more), 0, 0, 0);
      szgpu_params params = test_params(SZGPU_MODE_REL, 1e-2);
      params.frame_rows = frame_rows;
      void *const field = test_make_waves(&shape);
      test_archive const archive = test_compress(ctx, &params, &shape, field);
      assert_int_equal(test_inspect(&archive).format_version == 9, !more && !frame_rows);
      free(archive.bytes);
      free(field);
    }
}

/* ---- sizes ---- */

static szgpu_params params_of(szgpu_mode mode, double bound) {
  return mode == SZGPU_MODE_LOSSLESS ? lossless_params() : test_params(mode, bound);
}

/* At a bound that no step keeps, frames are raw. Headers state more than that where numbers are
 * wider than values (i32), and where a bound leads to an absolute one by more than a product. */
static void sixty_four_values_take_at_most_48_bytes_more(void **state) {
  (void)state;
  static const szgpu_mode modes[] = {SZGPU_MODE_REL, SZGPU_MODE_ABS, SZGPU_MODE_PSNR,
                                     SZGPU_MODE_LOSSLESS, SZGPU_MODE_PWREL};
  for (int dtype = 0; dtype < LOSSLESS_DTYPES; dtype++)
    for (size_t m = 0; m < ARRAY_COUNT(modes); m++)
      for (int b = 0; b < 4; b++)
        for (int kind = 0; kind < LOSSLESS_KINDS; kind++) {
          static double const bounds[][4] = {[SZGPU_MODE_REL] = {1e-2, 1e-5, 1e-9, 1.7e-4},
                                             [SZGPU_MODE_ABS] = {1e-2, 1e-5, 1e-300, 1.7e-4},
                                             [SZGPU_MODE_PSNR] = {30, 70, 200, 61.7},
                                             [SZGPU_MODE_LOSSLESS] = {0, 0, 0, 0},
                                             [SZGPU_MODE_PWREL] = {1e-2, 1e-5, 1e-9, 1.7e-4}};
          bool const is_float = dtype == SZGPU_F32 || dtype == SZGPU_F64;
          if (modes[m] == SZGPU_MODE_PWREL && !is_float) continue;
          if (modes[m] != SZGPU_MODE_LOSSLESS && dtype == SZGPU_FP8) continue;
          szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 4, 2, 2, 4, 4);
          szgpu_params const params = params_of(modes[m], bounds[modes[m]][b]);
          void *const field = lossless_make((lossless_kind)kind, &shape);
          test_archive const archive = test_compress(ctx, &params, &shape, field);
          bool const states_more = modes[m] == SZGPU_MODE_PWREL || modes[m] == SZGPU_MODE_PSNR ||
                                   (dtype == SZGPU_I32 && modes[m] == SZGPU_MODE_REL);
          size_t const most = test_field_bytes(&shape) + (states_more ? 64 : 48);
          if (archive.byte_count > most)
            fail_msg("type %d, mode %d, bound %g, kind %d: %zu bytes are over %zu", dtype,
                     (int)modes[m], params.bound, kind, archive.byte_count, most);
          free(archive.bytes);
          free(field);
        }
}

static void exactly_its_bytes_are_room_enough(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 17, 20, 40, 0);
  szgpu_params const params = test_params(SZGPU_MODE_REL, 1e-2);
  void *const field = test_make_waves(&shape);
  test_archive const archive = test_compress(ctx, &params, &shape, field);
  for (size_t room = 0; room <= archive.byte_count;
       room += room + 16 < archive.byte_count ? 1 : 16) {
    uint8_t *const bytes = test_allocate(room);
    size_t used = 0;
    szgpu_status const status = szgpu_compress(ctx, &params, &shape, field, bytes, room, &used);
    assert_int_equal(status, room < archive.byte_count ? SZGPU_CAPACITY : SZGPU_OK);
    if (status == SZGPU_OK) assert_memory_equal(bytes, archive.bytes, archive.byte_count);
    free(bytes);
  }
  free(archive.bytes);
  free(field);
}

/* ---- damage ---- */

static szgpu_status restore(const test_archive *archive, size_t byte_count, size_t field_bytes) {
  uint8_t *const bytes = test_allocate(byte_count); /* nothing lies behind it */
  void *const field = test_allocate(field_bytes);
  memcpy(bytes, archive->bytes, byte_count);
  szgpu_status const status = szgpu_decompress(ctx, bytes, byte_count, field, field_bytes);
  free(bytes);
  free(field);
  return status;
}

static void a_cut_at_any_byte_is_found(void **state) {
  (void)state;
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    size_t const field_bytes = test_field_bytes(&shapes[2]);
    test_archive const archive = region_archive(ctx, kind, &shapes[2], 0, 0);
    for (size_t bytes = 0; bytes < archive.byte_count; bytes += bytes < 200 ? 1 : 97) {
      szgpu_info info = {.struct_bytes = sizeof info};
      assert_int_equal(restore(&archive, bytes, field_bytes), SZGPU_TRUNCATED);
      assert_int_equal(szgpu_inspect(archive.bytes, bytes, &info), SZGPU_TRUNCATED);
    }
    free(archive.bytes);
  }
}

static void a_wrong_byte_is_found(void **state) {
  (void)state;
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    size_t const field_bytes = test_field_bytes(&shapes[2]);
    test_archive const archive = region_archive(ctx, kind, &shapes[2], 0, 0);
    for (size_t at = 0; at < archive.byte_count; at += at < 300 ? 1 : 53)
      for (int change = 1; change <= 255; change += 127) {
        archive.bytes[at] ^= (uint8_t)change;
        szgpu_status const status = restore(&archive, archive.byte_count, field_bytes);
        if (at < 8)
          assert_int_equal(status, SZGPU_NOT_AN_ARCHIVE);
        else if (at >= CHECKSUM)
          assert_int_equal(status, SZGPU_BAD_CHECKSUM);
        else
          assert_int_not_equal(status, SZGPU_OK);
        archive.bytes[at] ^= (uint8_t)change;
      }
    free(archive.bytes);
  }
}

/* With checksums that are right: every field of the form gets every wrong bit. Each archive is
 * refused by name, or restored as what it says now; it never takes more than a field of its
 * shape. */
static void wrong_bits_with_right_checksums_do_no_harm(void **state) {
  (void)state;
  size_t refused = 0, restored = 0;
  for (int s = 2; s <= 4; s += 2)
    for (int kind = 0; kind < REGION_KINDS; kind++)
      for (int zstd_level = 0; zstd_level <= 1; zstd_level++) {
        size_t const field_bytes = test_field_bytes(&shapes[s]);
        test_archive const archive = region_archive(ctx, kind, &shapes[s], 0, zstd_level);
        size_t const end = archive.byte_count < 200 ? archive.byte_count : 200;
        for (size_t bit = 8 * SIZE; bit < 8 * end; bit++) {
          if (bit / 8 >= CHECKSUM && bit / 8 < BITS) continue;
          archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
          reseal(&archive);
          szgpu_status const status = restore(&archive, archive.byte_count, field_bytes);
          assert_true(status == SZGPU_OK || *szgpu_status_text(status));
          assert_int_not_equal(status, SZGPU_OUT_OF_MEMORY);
          refused += status != SZGPU_OK;
          restored += status == SZGPU_OK;
          archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        reseal(&archive);
        assert_int_equal(restore(&archive, archive.byte_count, field_bytes), SZGPU_OK);
        free(archive.bytes);
      }
  print_message("%zu refused, %zu restored\n", refused, restored);
  assert_true(refused > 1000 && restored > 100);
}

/* Random bits behind a sound start: sizes, books and lists that no encoder writes. */
static void any_bits_are_refused_or_restored(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szgpu_shape const shape = shapes[2];
  size_t const field_bytes = test_field_bytes(&shape);
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    test_archive const sound = region_archive(ctx, kind, &shape, 0, 0);
    for (int turn = 0; turn < 300; turn++) {
      test_archive const archive = archive_copy(&sound, sound.byte_count);
      size_t const first = BITS + test_random_below(&random, 40);
      for (size_t i = first; i < archive.byte_count && i < first + 60; i++)
        archive.bytes[i] = (uint8_t)test_random_bits(&random);
      reseal(&archive);
      szgpu_status const status = restore(&archive, archive.byte_count, field_bytes);
      assert_true(status == SZGPU_OK || status == SZGPU_BAD_DATA || status == SZGPU_BAD_ARGUMENT ||
                  status == SZGPU_BAD_CHECKSUM);
      free(archive.bytes);
    }
    free(sound.bytes);
  }
}

static void sizes_that_no_archive_has_are_refused(void **state) {
  (void)state;
  szgpu_info info = {.struct_bytes = sizeof info};
  test_archive archive = region_archive(ctx, REGION_CONSTANT, &shapes[2], 0, 0);
  uint32_t const bytes = stated_bytes(&archive);
  assert_true(bytes > archive.byte_count - 16 && bytes <= archive.byte_count);
  for (uint32_t wrong = 0; wrong <= archive.byte_count; wrong++) {
    archive_store(&archive, SIZE, 3, wrong);
    reseal(&archive);
    szgpu_status const status = szgpu_inspect(archive.bytes, archive.byte_count, &info);
    if (wrong <= BITS) assert_int_equal(status, SZGPU_BAD_DATA);
    if (wrong > BITS && (wrong + 15) / 16 * 16 < archive.byte_count)
      assert_int_equal(status, SZGPU_BAD_CHECKSUM); /* over fewer bytes */
  }
  memset(archive.bytes + SIZE, 0xFF, 3);
  assert_int_equal(szgpu_inspect(archive.bytes, archive.byte_count, &info), SZGPU_TRUNCATED);
  free(archive.bytes);
}

static void later_versions_are_told_from_damage(void **state) {
  (void)state;
  szgpu_info info = {.struct_bytes = sizeof info};
  test_archive const archive = region_archive(ctx, REGION_LEVELS, &shapes[2], 0, 0);
  for (int version = 10; version <= 255; version++) {
    archive.bytes[8] = (uint8_t)version;
    assert_int_equal(szgpu_inspect(archive.bytes, archive.byte_count, &info), SZGPU_NEWER_VERSION);
  }
  free(archive.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_constant_field_takes_32_bytes),
      cmocka_unit_test(archives_of_all_kinds_come_back),
      cmocka_unit_test(only_small_fields_of_one_frame_have_it),
      cmocka_unit_test(sixty_four_values_take_at_most_48_bytes_more),
      cmocka_unit_test(exactly_its_bytes_are_room_enough),
      cmocka_unit_test(a_cut_at_any_byte_is_found),
      cmocka_unit_test(a_wrong_byte_is_found),
      cmocka_unit_test(wrong_bits_with_right_checksums_do_no_harm),
      cmocka_unit_test(any_bits_are_refused_or_restored),
      cmocka_unit_test(sizes_that_no_archive_has_are_refused),
      cmocka_unit_test(later_versions_are_told_from_damage),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
