/* test_container_limits.c - what headers may have after the frame table: limits and fill values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/container.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "core/bytes.h"

/* Offsets of docs/format.md for two frames, not taken from the code. */
enum { LEAST = 144, GREATEST = 152, FILLS = 160, MOST_BYTES = 128 + 16 + 16 + 24 + 8 };

static szg_header const bounded = {
    .shape = {SZGPU_F32, 3, {40, 9, 33}},
    .mode = SZGPU_MODE_ABS,
    .layout = SZGPU_LAYOUT_LINEAR,
    .arithmetic = SZG_ARITHMETIC_F32,
    .has_fill = true,
    .has_gaps = true,
    .fill_bits = 0x60AD78EC,
    .bound = 0.25,
    .absolute_bound = 0.125,
    .step = 0.0625,
    .value_range = 7.5,
    .frame_rows = 32,
    .frame_count = 2,
};
static uint64_t const frame_bytes[] = {64, 96};

/* A header with what it may have from version 8 on. */
static szg_header sample_of_version_8(bool has_limits, uint32_t more_fills, size_t header_bytes) {
  szg_header header = bounded;
  header.has_limits = has_limits;
  header.least = has_limits ? -2.5 : 0;
  header.greatest = has_limits ? 1e30f : 0;
  header.more_fill_count = more_fills;
  for (uint32_t i = 0; i < more_fills; i++) header.more_fill_bits[i] = 0xC61C3C00 + i;
  header.archive_bytes = header_bytes + 160;
  return header;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static szgpu_status status_of(const szg_header *sample, size_t header_bytes) {
  uint8_t *const bytes = test_allocate(header_bytes);
  szg_header header;
  szg_header_write(sample, frame_bytes, bytes);
  szgpu_status const status = szg_header_read(bytes, header_bytes, &header);
  free(bytes);
  return status;
}

/* Sizes by hand: 128, 16 for two frames, what follows, 8, up to a multiple of 16. */
static void limits_and_further_fills_come_back(void **state) {
  (void)state;
  static size_t const sizes[2][4] = {{160, 160, 176, 176}, {176, 176, 192, 192}};
  static uint32_t const flags[2][4] = {{1, 9, 17, 25}, {5, 13, 21, 29}};
  for (int has_limits = 0; has_limits <= 1; has_limits++)
    for (uint32_t fills = 0; fills <= 3; fills++) {
      size_t const header_bytes = sizes[has_limits][fills];
      szg_header const sample = sample_of_version_8(has_limits, fills, header_bytes);
      uint64_t found_bytes;
      assert_true(szg_header_bytes(&sample, &found_bytes));
      assert_int_equal(found_bytes, header_bytes);
      test_archive archive = {test_allocate(header_bytes), header_bytes};
      memset(archive.bytes, 0xA5, header_bytes);
      szg_header_write(&sample, frame_bytes, archive.bytes);
      assert_int_equal(szg_load_u32(archive.bytes + 8), has_limits || fills ? 8 : 1);
      assert_int_equal(szg_load_u32(archive.bytes + 12), flags[has_limits][fills]);
      if (has_limits) {
        assert_int_equal(szg_load_u64(archive.bytes + LEAST), bits_of(-2.5));
        assert_int_equal(szg_load_u64(archive.bytes + GREATEST), bits_of(1e30f));
      }
      size_t const fills_at = has_limits ? FILLS : LEAST, end = fills_at + 8 * fills;
      for (uint32_t i = 0; i < fills; i++)
        assert_int_equal(szg_load_u64(archive.bytes + fills_at + 8 * i), 0xC61C3C00 + i);
      for (size_t i = end; i < header_bytes - 8; i++) assert_int_equal(archive.bytes[i], 0);
      szg_header header;
      assert_int_equal(szg_header_read(archive.bytes, header_bytes, &header), SZGPU_OK);
      assert_int_equal(header.has_limits, has_limits);
      assert_true(header.least == sample.least && header.greatest == sample.greatest);
      assert_int_equal(header.more_fill_count, fills);
      assert_memory_equal(header.more_fill_bits, sample.more_fill_bits, sizeof(uint64_t[3]));
      test_archive again = archive_copy(&archive, archive.byte_count);
      archive_rehash(&again);
      assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
      for (size_t available = 0; available < header_bytes; available++)
        assert_int_equal(szg_header_read(archive.bytes, available, &header), SZGPU_TRUNCATED);
      free(again.bytes);
      free(archive.bytes);
    }
}

/* In the coded type, in order, finite, and not -0. */
static void limits_are_numbers_of_the_coded_type_in_order(void **state) {
  (void)state;
  static struct {
    double least, greatest;
    bool is_sound, is_sound_in_f64;
  } const cases[] = {
      {-2.5, 7, true, true},
      {3, 3, true, true},
      {3, 2.5, false, false}, /* order */
      {0x1p-1074, -0x1p-1074, false, false},
      {NAN, 7, false, false}, /* finite */
      {-2.5, NAN, false, false},
      {-INFINITY, 7, false, false},
      {-2.5, INFINITY, false, false},
      {0, 7, true, true}, /* zeros */
      {-0.0, 7, false, false},
      {-2.5, 0, true, true},
      {-2.5, -0.0, false, false},
      {0, 0, true, true},
      {0, -0.0, false, false},
      {-0.0, 0, false, false},
      {-0x1.fffffep127, 0x1.fffffep127, true, true}, /* what f32 has */
      {-2.5, 0x1p128, false, true},
      {-0x1.ffffffp127, 7, false, true},
      {-2.5, 1.0 + 0x1p-23, true, true},
      {-2.5, 1.0 + 0x1p-24, false, true},
      {-2.5, 0.1, false, true},
      {-0x1p-149, 0x1.fffffcp-127, true, true},
      {-0x1p-150, 7, false, true},
      {-0x1p-151, 7, false, true},
      {-0x1.8p-149, 7, false, true},
      {-0x1.8p-148, 0x1.fffffep-127, false, true},
      {-0x1p-1074, 0x1p-1074, false, true},
      {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, false, true},
  };
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
    for (int is_f64 = 0; is_f64 <= 1; is_f64++) {
      szg_header sample = sample_of_version_8(true, 0, 176);
      sample.least = cases[i].least;
      sample.greatest = cases[i].greatest;
      if (is_f64) sample.shape.dtype = SZGPU_F64, sample.arithmetic = SZG_ARITHMETIC_F64;
      bool const is_sound = is_f64 ? cases[i].is_sound_in_f64 : cases[i].is_sound;
      if (status_of(&sample, 176) != (is_sound ? SZGPU_OK : SZGPU_BAD_DATA))
        fail_msg("limits %a and %a of %s", cases[i].least, cases[i].greatest,
                 is_f64 ? "f64" : "f32");
      sample.shape.dtype = is_f64 ? SZGPU_I32 : SZGPU_I16; /* whose coded type it is */
      assert_int_equal(status_of(&sample, 176), is_sound ? SZGPU_OK : SZGPU_BAD_DATA);
    }
}

static void further_fills_come_after_a_first_and_are_of_the_type(void **state) {
  (void)state;
  static struct {
    szgpu_dtype dtype;
    uint32_t arithmetic;
    uint64_t most;
  } const types[] = {{SZGPU_U8, 0, 0xFF},        {SZGPU_I8, 1, 0xFF},
                     {SZGPU_I16, 0, 0xFFFF},     {SZGPU_F16, 0, 0xFFFF},
                     {SZGPU_F32, 0, 0xFFFFFFFF}, {SZGPU_I32, 2, 0xFFFFFFFF},
                     {SZGPU_F64, 2, UINT64_MAX}};
  for (size_t t = 0; t < ARRAY_COUNT(types); t++)
    for (uint32_t fills = 1; fills <= 3; fills++)
      for (uint32_t i = 0; i < fills; i++) {
        size_t const header_bytes = fills == 1 ? 160 : 176;
        szg_header sample = sample_of_version_8(false, fills, header_bytes);
        sample.shape.dtype = types[t].dtype;
        sample.arithmetic = types[t].arithmetic;
        for (uint32_t n = 0; n < fills; n++) sample.more_fill_bits[n] = n;
        sample.more_fill_bits[i] = types[t].most;
        assert_int_equal(status_of(&sample, header_bytes), SZGPU_OK);
        if (types[t].most < UINT64_MAX) {
          sample.more_fill_bits[i] = types[t].most + 1;
          assert_int_equal(status_of(&sample, header_bytes), SZGPU_BAD_DATA);
          sample.more_fill_bits[i] = (uint64_t)1 << 63;
          assert_int_equal(status_of(&sample, header_bytes), SZGPU_BAD_DATA);
        }
        sample.more_fill_bits[i] = i;
        sample.has_fill = false;
        sample.fill_bits = 0;
        assert_int_equal(status_of(&sample, header_bytes), SZGPU_BAD_DATA);
      }
}

/* A field of logarithms has a fill value of its own if it has further ones; a lossless one has
 * neither these nor limits. */
static void modes_of_other_headers(void **state) {
  (void)state;
  szg_header sample = sample_of_version_8(false, 2, 176);
  sample.mode = SZGPU_MODE_PWREL;
  sample.has_own_fill = true;
  sample.own_fill_bits = sample.fill_bits;
  assert_int_equal(status_of(&sample, 176), SZGPU_OK);
  sample.has_own_fill = false;
  assert_int_equal(status_of(&sample, 176), SZGPU_BAD_DATA);
  sample.more_fill_count = 0;
  sample.has_limits = true;
  assert_int_equal(status_of(&sample, 176), SZGPU_OK);
  for (int has_limits = 0; has_limits <= 1; has_limits++) {
    szg_header lossless = {.shape = bounded.shape,
                           .mode = SZGPU_MODE_LOSSLESS,
                           .layout = SZGPU_LAYOUT_TILE,
                           .frame_rows = 32,
                           .frame_count = 2,
                           .has_limits = has_limits,
                           .archive_bytes = (has_limits ? 176 : 160) + 160};
    lossless.more_fill_count = !has_limits;
    assert_int_equal(status_of(&lossless, has_limits ? 176 : 160), SZGPU_BAD_DATA);
  }
}

/* The version is 8 if and only if there is one or the other. */
static void limits_and_further_fills_are_of_version_8(void **state) {
  (void)state;
  for (uint32_t fills = 0; fills <= 1; fills++)
    for (int has_limits = 0; has_limits <= 1; has_limits++)
      for (uint64_t version = 1; version <= SZG_FORMAT_VERSION_KEPT; version++) {
        size_t const header_bytes = has_limits ? 176 : 160;
        szg_header const sample = sample_of_version_8(has_limits, fills, header_bytes);
        test_archive archive = {test_allocate(header_bytes), header_bytes};
        szg_header header;
        szg_header_write(&sample, frame_bytes, archive.bytes);
        archive_store(&archive, 8, 4, version);
        archive_rehash(&archive);
        bool const is_sound = version == (has_limits || fills ? 8 : 1);
        assert_int_equal(szg_header_read(archive.bytes, header_bytes, &header),
                         is_sound ? SZGPU_OK : SZGPU_BAD_DATA);
        free(archive.bytes);
      }
  szg_header tile = sample_of_version_8(true, 0, 176);
  tile.layout = SZGPU_LAYOUT_TILE; /* with or without levels, and of all types */
  for (int has_levels = 0; has_levels <= 1; has_levels++) {
    tile.has_levels = has_levels;
    assert_int_equal(status_of(&tile, 176), SZGPU_OK);
    tile.shape.dtype = SZGPU_I16;
    assert_int_equal(status_of(&tile, 176), SZGPU_OK);
  }
}

static void every_flipped_bit_of_limits_and_fills_is_refused(void **state) {
  (void)state;
  szg_header const sample = sample_of_version_8(true, 3, MOST_BYTES);
  uint8_t bytes[MOST_BYTES];
  szg_header header;
  szg_header_write(&sample, frame_bytes, bytes);
  assert_int_equal(szg_header_read(bytes, sizeof bytes, &header), SZGPU_OK);
  for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_not_equal(szg_header_read(bytes, sizeof bytes, &header), SZGPU_OK);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_and_further_fills_come_back),
      cmocka_unit_test(limits_are_numbers_of_the_coded_type_in_order),
      cmocka_unit_test(further_fills_come_after_a_first_and_are_of_the_type),
      cmocka_unit_test(modes_of_other_headers),
      cmocka_unit_test(limits_and_further_fills_are_of_version_8),
      cmocka_unit_test(every_flipped_bit_of_limits_and_fills_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
