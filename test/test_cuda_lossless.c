/* test_cuda_lossless.c - lossless archives: both backends write the same and restore every bit.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every decoder that reads such archives is used. Archives with a bound in the linear layout
 * without gap arrays are here too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "container/format.h"
#include "cuda_support.h"

static szgpu_params lossless_params(void) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_LOSSLESS;
  params.bound = 0;
  return params;
}

/* The kinds of lossless archives. */
static const struct {
  szgpu_layout layout;
  int without_gaps;
} forms[] = {{SZGPU_LAYOUT_TILE, 0}, {SZGPU_LAYOUT_LINEAR, 0}, {SZGPU_LAYOUT_LINEAR, 1}};
enum { FORMS = ARRAY_COUNT(forms) };

static szgpu_params params_of_form(szgpu_params params, size_t form) {
  params.layout = forms[form].layout;
  params.without_gaps = forms[form].without_gaps;
  return params;
}

/* Fields with every kind of plane: some pay to code, some do not, some are one symbol. The planes
 * of EXPONENTS are all noise, except those that have the exponent. */
enum { WEIGHTS, NOISE, ZEROS, STEPS, RARE, EXPONENTS, FIELD_KINDS };

/* About normal, being a sum of uniform numbers, so that most values share a few exponents. */
static float weight(uint64_t i) {
  float sum = 0;
  for (unsigned k = 0; k < 4; k++) sum += (float)(test_hash(4 * i + k) >> 40) * 0x1p-24f - 0.5f;
  return 0.02f * sum;
}

static void put_weight(szgpu_dtype dtype, uint8_t *to, uint64_t i) {
  float const value = weight(i);
  double const wide = (double)value;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  size_t const bytes = test_dtype_bytes(dtype);
  if (dtype == SZGPU_F64)
    memcpy(to, &wide, sizeof wide);
  else
    memcpy(to, (const uint8_t *)&bits + 4 - bytes, bytes); /* the upper ones, as in bf16 */
}

static uint8_t *make_field(const szgpu_shape *shape, int kind) {
  if (kind == NOISE) return test_make_bits(shape);
  size_t const width = test_dtype_bytes(shape->dtype);
  uint64_t const count = test_value_count(shape);
  uint8_t *const field = test_allocate(count * width);
  for (uint64_t i = 0; i < count; i++) {
    memset(field + i * width, 0, width);
    if (kind == WEIGHTS || kind == EXPONENTS) put_weight(shape->dtype, field + i * width, i);
    if (kind == EXPONENTS && width >= 4) { /* but for the lowest bits, weights may have few */
      uint32_t low;
      memcpy(&low, field + i * width, sizeof low);
      low ^= (uint32_t)(test_hash(i) & (width == 8 ? 0x1FFFFFFF : 0x7FFF));
      memcpy(field + i * width, &low, sizeof low);
    }
    if (kind == STEPS) field[i * width] = (uint8_t)(i / 700);
    if (kind == RARE && test_hash(i) % 997 == 0) field[i * width + width - 1] = (uint8_t)i;
  }
  return field;
}

/* In quick runs, all cases except those with a number that is a multiple of `share`. */
static bool is_left_out(size_t number, size_t share) {
  return cuda_is_quick() && number % share != 0;
}

/* The GPU's archive must be the CPU's, and so must the restored field. */
static void compare(szgpu_params params, szgpu_shape shape, const void *field) {
  cuda_case const c = {params, shape, field};
  cuda_compare(&c);
}

/* All forms of an archive; in quick runs one form per call, in turn. */
static void compare_forms(szgpu_params params, szgpu_shape shape, const void *field) {
  static size_t turn;
  turn++;
  for (size_t form = 0; form < FORMS; form++)
    if (!cuda_is_quick() || form == turn % FORMS)
      compare(params_of_form(params, form), shape, field);
}

static void every_type_of_every_length(void **state) {
  (void)state;
  static const uint64_t lengths[] = {1,    2,    3,    5,    15,   16,    17,    127,    128,
                                     129,  255,  511,  1023, 2047, 4093,  4095,  4096,   4097,
                                     4100, 8191, 8192, 8193, 9999, 16384, 65537, 100003, 1000003};
  size_t number = 0;
  for (size_t i = 0; i < ARRAY_COUNT(lengths); i++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_FP8; dtype++)
      for (int kind = 0; kind < FIELD_KINDS; kind++) {
        number++;
        if (cuda_is_quick() && (number % 13 || lengths[i] > 20000)) continue;
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, lengths[i], 0, 0, 0);
        uint8_t *const field = make_field(&shape, kind);
        szgpu_params params = lossless_params();
        params.zstd_level = number % 7 == 1 ? 3 : 0;
        compare_forms(params, shape, field);
        free(field);
      }
  cuda_assert_no_complaints();
}

static void shapes_and_frames(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_FP8; dtype++) {
      if (cuda_is_quick() && (s + (size_t)dtype) % 5) continue;
      szgpu_shape shape = test_awkward_shapes[s];
      shape.dtype = (szgpu_dtype)dtype;
      uint8_t *const field = make_field(&shape, WEIGHTS);
      szgpu_params params = lossless_params();
      compare_forms(params, shape, field);
      params.frame_rows = 1;
      compare_forms(params, shape, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* Byte fields for which the encoder finds the values' width, which changes from frame to frame. */
static void bytes_of_many_widths(void **state) {
  (void)state;
  enum { PART = 131072 };
  static const szgpu_dtype types[] = {SZGPU_F64, SZGPU_BF16, SZGPU_F32, SZGPU_U8};
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, 4 * PART, 0, 0, 0);
  uint8_t *const bytes = test_allocate(4 * PART);
  for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
    szgpu_shape const wide = test_shape(types[i], 1, PART / test_dtype_bytes(types[i]), 0, 0, 0);
    uint8_t *const values = make_field(&wide, WEIGHTS);
    memcpy(bytes + i * PART, values, PART);
    free(values);
  }
  szgpu_params params = lossless_params();
  compare_forms(params, shape, bytes);
  params.frame_rows = PART;
  compare_forms(params, shape, bytes);
  params.frame_rows = PART / 4 + 4096;
  compare_forms(params, shape, bytes);
  free(bytes);
  cuda_assert_no_complaints();
}

/* Codes of 1 to 16 bits; mostly of 7 bits; mostly the symbol with the code of zeros; mostly symbol
 * 0, which is no escape here. */
static void bytes_of_every_book(void **state) {
  (void)state;
  enum { STEEP, FLAT, MIDDLE, ZERO, BOOKS };
  uint64_t const count = cuda_is_quick() ? 20011 : 300007;
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, count, 0, 0, 0);
  uint8_t *const bytes = test_allocate(count);
  for (int book = 0; book < BOOKS; book++) {
    for (uint64_t i = 0; i < count; i++) {
      uint64_t const hash = test_hash(i);
      uint8_t const kinds[BOOKS] = {
          [STEEP] = (uint8_t)(120 + __builtin_ctzll(hash | 1u << 17)),
          [FLAT] = (uint8_t)(hash % 100 ? hash >> 8 & 127 : hash >> 16),
          [MIDDLE] = (uint8_t)(hash % 50 ? 128 : hash >> 8),
          [ZERO] = (uint8_t)(hash % 50 ? 0 : hash >> 8),
      };
      bytes[i] = kinds[book];
    }
    compare_forms(lossless_params(), shape, bytes);
  }
  free(bytes);
  cuda_assert_no_complaints();
}

/* Slabs that begin and end within tiles and within runs. */
static void compare_slabs(const test_archive *archive, int gpu, const uint8_t *field,
                          size_t row_bytes) {
  for (uint64_t i = 0; i < (cuda_is_quick() ? 5 : 60); i++) {
    uint64_t const first = test_hash(i) % 300, count = 1 + test_hash(i + 1000) % (300 - first);
    uint8_t *const slab = test_allocate(count * row_bytes);
    memset(slab, 0xA5, count * row_bytes);
    szgpu_status const status = szgpu_decompress_slab(
        cuda_gpus[gpu], archive->bytes, archive->byte_count, first, count, slab, count * row_bytes);
    if (status != SZGPU_OK || memcmp(slab, field + first * row_bytes, count * row_bytes) != 0)
      cuda_complain(NULL, "GPU ctx %d, rows of %zu bytes, %llu on: %s", gpu, row_bytes,
                    (unsigned long long)first, szgpu_status_text(status));
    free(slab);
  }
}

static void slabs(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_FP8; dtype++)
    for (size_t form = 0; form < FORMS; form++) {
      szgpu_params params = params_of_form(lossless_params(), form);
      params.frame_rows = form == 1 ? 64 : 0;
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 300, 77, 0, 0);
      uint8_t *const field = make_field(&shape, WEIGHTS);
      test_archive archive = test_compress(cuda_cpu, &params, &shape, field);
      for (int gpu = 0; gpu < cuda_gpu_count; gpu++)
        if (cuda_reads_archive(gpu, &archive) && !is_left_out((size_t)(dtype + gpu) + form, 4))
          compare_slabs(&archive, gpu, field, 77 * test_dtype_bytes(shape.dtype));
      free(archive.bytes);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* Flips one bit in every so many bytes. out: room for the field. */
static void damage(test_archive *archive, int gpu, uint8_t *out, size_t field_bytes) {
  size_t const step = cuda_is_quick() ? 997 : 41;
  for (size_t at = 0; at < archive->byte_count; at += step) {
    archive->bytes[at] ^= (uint8_t)(1 << at % 8);
    szgpu_status const status =
        szgpu_decompress(cuda_gpus[gpu], archive->bytes, archive->byte_count, out, field_bytes);
    if (status == SZGPU_OK || status == SZGPU_DEVICE_ERROR)
      cuda_complain(NULL, "GPU ctx %d, damage at byte %zu: %s", gpu, at, szgpu_status_text(status));
    archive->bytes[at] ^= (uint8_t)(1 << at % 8);
  }
}

static void damage_is_named(void **state) {
  (void)state;
  cuda_skip_damage();
  szgpu_shape const shape = test_shape(SZGPU_BF16, 1, 9000, 0, 0, 0);
  uint8_t *const field = make_field(&shape, WEIGHTS), *const out = test_allocate(18000);
  for (size_t form = 0; form < FORMS; form++) {
    szgpu_params const params = params_of_form(lossless_params(), form);
    test_archive archive = test_compress(cuda_cpu, &params, &shape, field);
    for (int gpu = 0; gpu < cuda_gpu_count; gpu++)
      if (cuda_reads_archive(gpu, &archive) && !is_left_out((size_t)gpu + form, 3))
        damage(&archive, gpu, out, 18000);
    free(archive.bytes);
  }
  free(out);
  free(field);
  cuda_assert_no_complaints();
}

/* Checksums of frames that are not alone are made of sums, too. */
static void frames_are_summed_up(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_FP8; dtype++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, 100001, 0, 0, 0);
    szgpu_params params = lossless_params();
    params.frame_rows = 40960; /* ten tiles; the last frame has a partial one */
    uint8_t *const field = make_field(&shape, EXPONENTS);
    compare(params, shape, field);
    free(field);
  }
  cuda_assert_no_complaints();
}

/* The place in the archive of frame 0's section of this kind. */
static size_t section_offset(const test_archive *archive, uint32_t kind) {
  return archive_section_offset(archive, 0, archive_section_of_kind(archive, 0, kind));
}

/* Flips a bit at `at`, and at `also` if it is not 0. The GPU must say what the CPU says; if both
 * are flipped, it may name either section. other: an archive of the same size, whose sums are in
 * the GPU's memory before. */
static void compare_damage(test_archive *archive, const test_archive *other, size_t at, size_t also,
                           void *device_field, size_t field_bytes) {
  uint8_t *const host_field = test_allocate(field_bytes);
  assert_int_equal(
      szgpu_decompress(cuda_gpus[0], other->bytes, other->byte_count, device_field, field_bytes),
      SZGPU_OK);
  archive->bytes[at] ^= 16;
  if (also) archive->bytes[also] ^= 16;
  szgpu_status const expected =
      szgpu_decompress(cuda_cpu, archive->bytes, archive->byte_count, host_field, field_bytes);
  szgpu_status const found = szgpu_decompress(cuda_gpus[0], archive->bytes, archive->byte_count,
                                              device_field, field_bytes);
  assert_int_equal(expected, SZGPU_BAD_CHECKSUM);
  assert_int_equal(found, expected);
  if (!also) assert_string_equal(szgpu_last_error(cuda_gpus[0]), szgpu_last_error(cuda_cpu));
  archive->bytes[at] ^= 16;
  if (also) archive->bytes[also] ^= 16;
  free(host_field);
}

/* The decoder sums up leaves of stored planes; those of a damaged tile are missing. */
static void damage_of_summed_planes_is_named(void **state) {
  (void)state;
  enum { LEAF = 16384 };
  static const struct {
    szgpu_dtype dtype;
    uint64_t value_count;
  } cases[] = {{SZGPU_BF16, 4 * LEAF}, {SZGPU_BF16, 4 * LEAF + 9001},
               {SZGPU_F32, 2 * LEAF},  {SZGPU_F32, LEAF + 77},
               {SZGPU_F64, LEAF},      {SZGPU_F64, 2 * LEAF + 4095}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    szgpu_shape const shape = test_shape(cases[i].dtype, 1, cases[i].value_count, 0, 0, 0);
    size_t const bytes = test_field_bytes(&shape);
    szgpu_params const params = lossless_params();
    uint8_t *const field = make_field(&shape, EXPONENTS);
    test_archive archive = archive_compress(cuda_cpu, &params, &shape, field);
    void *const device_field = cuda_allocate(bytes);
    uint8_t *const other_field = make_field(&shape, EXPONENTS);
    for (size_t k = 0; k < bytes; k += test_dtype_bytes(shape.dtype)) other_field[k] ^= 5;
    test_archive const other = archive_compress(cuda_cpu, &params, &shape, other_field);
    assert_int_equal(
        szgpu_decompress(cuda_gpus[0], archive.bytes, archive.byte_count, device_field, bytes),
        SZGPU_OK);
    uint8_t *const back = cuda_host_copy_of(device_field, bytes);
    assert_memory_equal(back, field, bytes);
    size_t const sizes = section_offset(&archive, SZG_SECTION_TILE_SIZES);
    size_t const stored = section_offset(&archive, SZG_SECTION_RAW);
    size_t const words = section_offset(&archive, SZG_SECTION_PLANE_WORDS);
    size_t const alone[] = {sizes,         stored,       stored + LEAF - 1,
                            stored + LEAF, words - 4097, words - 1 - 16,
                            words,         words + 100,  archive.byte_count - 16};
    for (size_t k = 0; k < ARRAY_COUNT(alone); k++)
      compare_damage(&archive, &other, alone[k], 0, device_field, bytes);
    compare_damage(&archive, &other, stored, words, device_field, bytes);
    compare_damage(&archive, &other, stored + LEAF / 2, sizes, device_field, bytes);
    free(other.bytes);
    free(other_field);
    free(back);
    cuda_release(device_field);
    free(archive.bytes);
    free(field);
  }
}

static void compare_on_the_device(const szgpu_params *params) {
  szgpu_shape const shape = test_shape(SZGPU_BF16, 1, cuda_is_quick() ? 1 << 17 : 1 << 20, 0, 0, 0);
  size_t const bytes = test_field_bytes(&shape);
  uint8_t *const field = make_field(&shape, WEIGHTS);
  test_archive expected = test_compress(cuda_cpu, params, &shape, field);
  void *const device_field = cuda_copy_of(field, bytes), *const restored = cuda_allocate(bytes);
  void *const device_archive = cuda_allocate(expected.byte_count);
  size_t used = 0;
  assert_int_equal(szgpu_compress(cuda_gpus[0], params, &shape, device_field, device_archive,
                                  expected.byte_count - 1, &used),
                   SZGPU_CAPACITY);
  assert_int_equal(szgpu_compress(cuda_gpus[0], params, &shape, device_field, device_archive,
                                  expected.byte_count, &used),
                   SZGPU_OK);
  assert_int_equal(used, expected.byte_count);
  uint8_t *const found = cuda_host_copy_of(device_archive, used);
  assert_memory_equal(found, expected.bytes, used);
  for (int gpu = 0; gpu < cuda_gpu_count; gpu++) {
    if (!cuda_reads_archive(gpu, &expected)) continue;
    assert_int_equal(szgpu_decompress(cuda_gpus[gpu], device_archive, used, restored, bytes),
                     SZGPU_OK);
    uint8_t *const back = cuda_host_copy_of(restored, bytes);
    assert_memory_equal(back, field, bytes);
    free(back);
  }
  free(found);
  cuda_release(device_archive);
  cuda_release(restored);
  cuda_release(device_field);
  free(expected.bytes);
  free(field);
}

static void data_on_the_device(void **state) {
  (void)state;
  for (size_t form = 0; form < FORMS; form++) {
    szgpu_params params = params_of_form(lossless_params(), form);
    compare_on_the_device(&params);
    params.frame_rows = 60000;
    if (!cuda_is_quick()) compare_on_the_device(&params);
  }
}

/* With every decoder that reads them. */
static void linear_archives_without_gap_arrays(void **state) {
  (void)state;
  static const double bounds[] = {1e-1, 1e-3, 1e-5, 1e-12};
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (size_t b = 0; b < ARRAY_COUNT(bounds); b++) {
      if (cuda_is_quick() && (s + b) % 9) continue;
      szgpu_shape const shape = test_awkward_shapes[s];
      void *const field = test_make_waves(&shape);
      szgpu_params params = test_linear_params(SZGPU_MODE_REL, bounds[b]);
      params.without_gaps = 1;
      params.frame_rows = s % 3 == 1 ? 1 : 0;
      compare(params, shape, field);
      free(field);
    }
  szgpu_shape const large = test_shape(SZGPU_F32, 3, 90, cuda_is_quick() ? 20 : 200, 210, 0);
  void *const field = test_make_waves(&large);
  for (size_t b = 0; b < ARRAY_COUNT(bounds); b++) {
    szgpu_params params = test_linear_params(SZGPU_MODE_REL, bounds[b]);
    params.without_gaps = 1;
    compare(params, large, field);
  }
  free(field);
  cuda_assert_no_complaints();
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_of_every_length),
      cmocka_unit_test(shapes_and_frames),
      cmocka_unit_test(bytes_of_many_widths),
      cmocka_unit_test(bytes_of_every_book),
      cmocka_unit_test(slabs),
      cmocka_unit_test(frames_are_summed_up),
      cmocka_unit_test(damage_is_named),
      cmocka_unit_test(damage_of_summed_planes_is_named),
      cmocka_unit_test(data_on_the_device),
      cmocka_unit_test(linear_archives_without_gap_arrays),
  };
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
