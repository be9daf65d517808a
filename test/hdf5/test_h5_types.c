/* test_h5_types.c - what the HDF5 filter does with every type of value, and what it spares.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "h5_file.h"

static hid_t properties_of(int rank, const hsize_t *chunk, szgpu_mode mode, double bound,
                           unsigned options, unsigned flags) {
  unsigned words[SZGPU_H5_USER_WORDS];
  size_t const word_count = szgpu_h5_cd_values(mode, bound, words);
  words[SZGPU_H5_WORD_OPTIONS] = options;
  return h5_make_properties(rank, chunk, flags, words, word_count);
}

static void drop(hid_t dataset, const char *name) {
  H5Dclose(dataset);
  assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
}

/* ---- types without a bound ---- */

static hid_t complex_type(hid_t part) {
  size_t const bytes = H5Tget_size(part);
  hid_t const type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
  H5Tinsert(type, "r", 0, part);
  H5Tinsert(type, "i", bytes, part);
  return type;
}

static hid_t bool_type(void) { /* as h5py stores it */
  hid_t const type = H5Tenum_create(H5T_NATIVE_INT8);
  for (int8_t value = 0; value < 2; value++) H5Tenum_insert(type, value ? "TRUE" : "FALSE", &value);
  return type;
}

static hid_t text_type(size_t bytes) {
  hid_t const type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, bytes);
  return type;
}

static hid_t narrow_type(hid_t wide, size_t precision) {
  hid_t const type = H5Tcopy(wide);
  H5Tset_precision(type, precision);
  return type;
}

static hid_t odd_half(void) { /* a half with other fields */
  hid_t const type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 9, 6, 0, 9);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 31);
  return type;
}

static hid_t odd_float(size_t bias) {
  hid_t const type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_ebias(type, bias);
  return type;
}

static hid_t array_type(void) {
  hsize_t const dims[] = {3};
  return H5Tarray_create2(H5T_NATIVE_FLOAT, 1, dims);
}

enum { BOUNDLESS_TYPES = 21 };
static hid_t boundless_type(int which) {
  switch (which) {
    case 0:
      return H5Tcopy(H5T_NATIVE_INT64);
    case 1:
      return H5Tcopy(H5T_NATIVE_UINT64);
    case 2:
      return H5Tcopy(H5T_NATIVE_UINT32);
    case 3:
      return H5Tcopy(H5T_STD_I64BE);
    case 4:
      return H5Tcopy(H5T_STD_U32BE);
    case 5:
      return complex_type(H5T_NATIVE_FLOAT);
    case 6:
      return complex_type(H5T_NATIVE_DOUBLE);
    case 7:
      return complex_type(H5T_IEEE_F32BE);
    case 8:
      return bool_type();
    case 9:
      return text_type(5);
    case 10:
      return text_type(1);
    case 11:
      return H5Tcreate(H5T_OPAQUE, 7);
    case 12:
      return H5Tcreate(H5T_OPAQUE, 12);
    case 13:
      return H5Tcopy(H5T_NATIVE_LDOUBLE);
    case 14:
      return narrow_type(H5T_STD_U16LE, 12);
    case 15:
      return odd_half();
    case 16:
      return odd_float(126);
    case 17:
      return array_type();
    case 18:
      return H5Tcopy(H5T_STD_B8LE);
    case 19:
      return H5Tcopy(H5T_UNIX_D32LE);
    default:
      return H5Tcopy(H5T_STD_REF_OBJ);
  }
}

/* Bytes that have patterns and differ. */
static uint8_t *make_bytes(size_t byte_count) {
  uint8_t *const bytes = test_allocate(byte_count);
  for (size_t i = 0; i < byte_count; i++) bytes[i] = (uint8_t)(i % 8 < 2 ? i / 64 : i % 8 == 5);
  return bytes;
}

/* Writes bytes as they are and reads them again; returns the chunk at the origin. */
static h5_chunk assert_same_bytes(hid_t type, int rank, const hsize_t *dims, hid_t properties,
                                  unsigned *words, size_t *word_count) {
  hsize_t const origin[32] = {0};
  size_t byte_count = H5Tget_size(type);
  for (int axis = 0; axis < rank; axis++) byte_count *= dims[axis];
  uint8_t *const bytes = make_bytes(byte_count), *const restored = test_allocate(byte_count);
  hid_t dataset = h5_create(file, "bytes", type, rank, dims, properties);
  h5_write(dataset, type, bytes);
  dataset = h5_reopen(file, dataset, "bytes");
  h5_read(dataset, type, restored);
  assert_memory_equal(bytes, restored, byte_count);
  *word_count = h5_stored_words(dataset, words);
  h5_chunk const chunk = h5_read_chunk(dataset, origin);
  free(restored);
  free(bytes);
  drop(dataset, "bytes");
  return chunk;
}

/* Whatever mode was asked for, mandatory or not, with the bit for named datasets or without it. */
static void types_without_a_bound_are_compressed_losslessly(void **state) {
  (void)state;
  hsize_t const dims[] = {20, 150};
  static const struct {
    szgpu_mode mode;
    double bound;
    unsigned options, flags;
  } cases[] = {{SZGPU_MODE_LOSSLESS, 0, 0, H5Z_FLAG_MANDATORY},
               {SZGPU_MODE_LOSSLESS, 0, 3 | SZGPU_H5_LINEAR, H5Z_FLAG_OPTIONAL},
               {SZGPU_MODE_ABS, 4, 0, H5Z_FLAG_MANDATORY},
               {SZGPU_MODE_REL, 0.5, SZGPU_H5_NAMED | SZGPU_H5_LORENZO, H5Z_FLAG_OPTIONAL},
               {SZGPU_MODE_PSNR, 3, SZGPU_H5_INTERPOLATION | 3, H5Z_FLAG_MANDATORY},
               {SZGPU_MODE_PWREL, 0.5, SZGPU_H5_NAMED, H5Z_FLAG_MANDATORY}};
  for (int which = 0; which < BOUNDLESS_TYPES; which++)
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
      unsigned words[SZGPU_H5_MOST_WORDS];
      size_t word_count;
      hid_t const type = boundless_type(which);
      h5_chunk chunk = assert_same_bytes(
          type, 2, dims,
          properties_of(2, dims, cases[i].mode, cases[i].bound, cases[i].options, cases[i].flags),
          words, &word_count);
      szgpu_params params;
      szgpu_shape shape;
      assert_null(szgpu_h5_chunk(words, word_count, &params, &shape));
      assert_int_equal(params.mode, SZGPU_MODE_LOSSLESS);
      assert_int_equal(test_field_bytes(&shape), 3000 * H5Tget_size(type));
      assert_int_equal(chunk.skipped_filters, 0);
      assert_true(chunk.byte_count < 3000 * H5Tget_size(type));
      free(chunk.bytes);
      H5Tclose(type);
    }
}

/* Before, more than four dims that are not 1 were declined. */
static void many_dims_are_joined(void **state) {
  (void)state;
  hsize_t const dims[] = {2, 3, 1, 4, 5, 6, 7};
  unsigned words[SZGPU_H5_MOST_WORDS];
  size_t word_count;
  h5_chunk chunk = assert_same_bytes(
      H5T_NATIVE_INT64, 7, dims,
      properties_of(7, dims, SZGPU_MODE_LOSSLESS, 0, 0, H5Z_FLAG_MANDATORY), words, &word_count);
  assert_int_equal(word_count, SZGPU_H5_MOST_WORDS - 2 * SZGPU_H5_MOST_FILLS);
  static const unsigned joined[] = {24, 5, 6, 7};
  assert_memory_equal(words + SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_DIMS, joined, sizeof joined);
  free(chunk.bytes);
  uint64_t const large[] = {65536, 65536, 2, 2, 2};
  assert_int_equal(szgpu_h5_set_chunk(SZGPU_U8, 5, large, NULL, words), 0);
  assert_true(szgpu_h5_set_chunk(SZGPU_U8, 4, large, NULL, words) > 0);
}

/* ---- what may be ids or masks ---- */

/* A dataset's values as doubles, after they went through the filter. */
static double *through_filter(szgpu_dtype dtype, hid_t stored_type, const hsize_t *dims,
                              const hsize_t *chunk, hid_t properties, const void *values) {
  (void)chunk;
  size_t const count = dims[0] * dims[1];
  double *const restored = test_allocate(count * sizeof *restored);
  hid_t dataset = h5_create(file, "values", stored_type, 2, dims, properties);
  h5_write(dataset, h5_native_type(dtype), values);
  dataset = h5_reopen(file, dataset, "values");
  h5_read(dataset, H5T_NATIVE_DOUBLE, restored);
  drop(dataset, "values");
  return restored;
}

static szgpu_dtype const integer_dtypes[] = {SZGPU_U8, SZGPU_I8, SZGPU_U16, SZGPU_I16, SZGPU_I32};

static void integers_have_a_bound_where_the_dataset_is_named(void **state) {
  (void)state;
  hsize_t const dims[] = {64, 100};
  for (size_t k = 0; k < ARRAY_COUNT(integer_dtypes); k++)
    for (unsigned options = 0; options <= SZGPU_H5_NAMED; options += SZGPU_H5_NAMED) {
      szgpu_dtype const dtype = integer_dtypes[k];
      char values[6400 * 4];
      for (uint64_t i = 0; i < 6400; i++)
        test_set_value(dtype, values, i, round(60 + 50 * sin((double)i * 0.1)));
      double *const restored = through_filter(
          dtype, h5_native_type(dtype), dims, dims,
          properties_of(2, dims, SZGPU_MODE_ABS, 4, options, H5Z_FLAG_MANDATORY), values);
      double greatest = 0;
      for (uint64_t i = 0; i < 6400; i++)
        greatest = fmax(greatest, fabs(restored[i] - test_value_at(dtype, values, i)));
      assert_true(options ? greatest > 0 && greatest <= 4 : greatest == 0);
      free(restored);
    }
}

/* Files of earlier versions have lists without the bit, and go on as they began. */
static void integers_of_old_lists_keep_their_bound(void **state) {
  (void)state;
  hsize_t const dims[] = {64, 100}, origin[] = {0, 0};
  uint64_t const chunk_dims[] = {64, 100};
  unsigned words[SZGPU_H5_MOST_WORDS];
  szgpu_h5_cd_values(SZGPU_MODE_ABS, 4, words);
  size_t const count = szgpu_h5_set_chunk(SZGPU_I16, 2, chunk_dims, NULL, words);
  szgpu_params params;
  szgpu_shape shape;
  assert_null(szgpu_h5_chunk(words, count, &params, &shape));
  assert_int_equal(params.mode, SZGPU_MODE_ABS);
  szgpu_ctx *const ctx = test_make_ctx(1);
  int16_t values[6400], restored[6400];
  for (int i = 0; i < 6400; i++) values[i] = (int16_t)(100 * sin(i * 0.1));
  test_archive const archive = test_compress(ctx, &params, &shape, values);
  /* This version's list with the bit describes the same chunks. */
  hid_t dataset =
      h5_create(file, "old", H5T_NATIVE_INT16, 2, dims, h5_make_abs_properties(2, dims, 4));
  h5_write_chunk(dataset, origin, archive.bytes, archive.byte_count);
  dataset = h5_reopen(file, dataset, "old");
  h5_read(dataset, H5T_NATIVE_INT16, restored);
  for (int i = 0; i < 6400; i++) assert_true(abs(values[i] - restored[i]) <= 4);
  assert_memory_not_equal(values, restored, sizeof values);
  free(archive.bytes);
  szgpu_destroy(ctx);
  drop(dataset, "old");
}

/* ---- byte order ---- */

static hid_t big_endian(szgpu_dtype dtype) {
  hid_t const type = H5Tcopy(h5_native_type(dtype));
  assert_true(H5Tset_order(type, H5T_ORDER_BE) >= 0);
  return type;
}

static h5_chunk chunk_of(szgpu_dtype dtype, hid_t stored_type, szgpu_mode mode, double bound,
                         const void *values, double *restored) {
  hsize_t const dims[] = {40, 90}, chunk_dims[] = {32, 90}, origin[] = {0, 0};
  hid_t const properties =
      properties_of(2, chunk_dims, mode, bound, SZGPU_H5_NAMED, H5Z_FLAG_MANDATORY);
  assert_true(H5Pset_fill_value(properties, h5_native_type(dtype), values) >= 0);
  hid_t dataset = h5_create(file, "order", stored_type, 2, dims, properties);
  h5_write(dataset, h5_native_type(dtype), values);
  dataset = h5_reopen(file, dataset, "order");
  h5_read(dataset, H5T_NATIVE_DOUBLE, restored);
  h5_chunk const chunk = h5_read_chunk(dataset, origin);
  drop(dataset, "order");
  return chunk;
}

/* The archives of a big-endian dataset are those of a little-endian one, also its fill value. */
static void both_byte_orders_have_the_same_archives(void **state) {
  (void)state;
  static const struct {
    szgpu_mode mode;
    double bound;
  } modes[] = {{SZGPU_MODE_ABS, 0.75}, {SZGPU_MODE_REL, 0.01}, {SZGPU_MODE_LOSSLESS, 0}};
  static double one[3600], other[3600];
  for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++)
    for (size_t mode = 0; mode < ARRAY_COUNT(modes) && dtype != SZGPU_FP8; mode++) {
      char values[3600 * 8];
      for (uint64_t i = 0; i < 3600; i++)
        test_set_value((szgpu_dtype)dtype, values, i,
                       i % 50 == 0 ? 3 : round(60 + 50 * sin((double)i * 0.01)));
      hid_t const type = big_endian((szgpu_dtype)dtype);
      h5_chunk a = chunk_of((szgpu_dtype)dtype, h5_native_type((szgpu_dtype)dtype),
                            modes[mode].mode, modes[mode].bound, values, one);
      h5_chunk b =
          chunk_of((szgpu_dtype)dtype, type, modes[mode].mode, modes[mode].bound, values, other);
      assert_int_equal(a.byte_count, b.byte_count);
      assert_memory_equal(a.bytes, b.bytes, a.byte_count);
      assert_memory_equal(one, other, sizeof one);
      for (uint64_t i = 0; i < 3600; i++) {
        double const error = fabs(one[i] - test_value_at((szgpu_dtype)dtype, values, i));
        assert_true(error <= modes[mode].bound * (modes[mode].mode == SZGPU_MODE_REL ? 100 : 1));
        if (i % 50 == 0) assert_true(one[i] == 3);
      }
      free(a.bytes);
      free(b.bytes);
      H5Tclose(type);
    }
}

/* ---- coordinates ---- */

enum { POINTS = 600 };
static double rising(int i) { return -90 + 0.3 * i; }
static double falling(int i) { return 1000 - 0.7 * i; }
static double bounds_of_cells(int i) { return (i + 1) / 2 * 1.5; }
static double mask(int i) { return i > 200; }
static double with_fill_behind(int i) { return i < 31 ? 6.0 * i : -999; }
static double one_then_zeros(int i) { return i == 0 ? 7.3 : 0; }
static double all_the_same(int i) { return (void)i, 0.3; }
static double missing_at_the_end(int i) { return i < 400 ? 0.1 * i : (double)NAN; }
static double rises_and_falls(int i) { return i < 300 ? 0.1 * i : 90 - 0.1 * i; }
static double jumps_once(int i) { return i < 300 ? 0.6 * i : 0.6 * i - 360; }
static double jumps_twice(int i) { return 0.6 * (i % 200); }
static double wave(int i) { return 20 * sin(i * 0.1); }
static const struct {
  double (*value)(int);
  bool is_spared;
} lines[] = {{rising, true},           {falling, true},
             {bounds_of_cells, true},  {mask, true},
             {with_fill_behind, true}, {one_then_zeros, true},
             {all_the_same, true},     {missing_at_the_end, true},
             {rises_and_falls, true},  {jumps_once, true},
             {jumps_twice, false},     {wave, false}};

/* How many of the values, in the dataset's type, are changed by the filter. */
static int changed_count(szgpu_dtype dtype, bool is_big_endian, double (*value)(int),
                         unsigned options) {
  hsize_t const dims[] = {1, POINTS}, chunk[] = {1, POINTS};
  hid_t const type = is_big_endian ? big_endian(dtype) : H5Tcopy(h5_native_type(dtype));
  char values[POINTS * 8];
  for (uint64_t i = 0; i < POINTS; i++) test_set_value(dtype, values, i, value((int)i));
  double *const restored = through_filter(
      dtype, type, dims, chunk, properties_of(2, chunk, SZGPU_MODE_ABS, 4, options, 0), values);
  int count = 0;
  for (uint64_t i = 0; i < POINTS; i++) {
    double const was = test_value_at(dtype, values, i);
    bool const is_same = was == restored[i] || (isnan(was) && isnan(restored[i]));
    assert_true(is_same || fabs(was - restored[i]) <= 4);
    count += !is_same;
  }
  free(restored);
  H5Tclose(type);
  return count;
}

static void what_may_be_coordinates_is_spared(void **state) {
  (void)state;
  static const szgpu_dtype dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_BF16};
  for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
    for (size_t k = 0; k < 2 * ARRAY_COUNT(dtypes); k++) {
      int const changed = changed_count(dtypes[k / 2], k % 2, lines[i].value, 0);
      assert_true(lines[i].is_spared == (changed == 0));
    }
  assert_true(changed_count(SZGPU_F64, false, rising, SZGPU_H5_NAMED) > 0);
  assert_true(changed_count(SZGPU_F32, true, bounds_of_cells, SZGPU_H5_NAMED) > 0);
}

/* Chunks of less than 4 KiB of datasets of one dim, such as coefficients of levels. */
static void short_lines_are_spared(void **state) {
  (void)state;
  static const struct {
    szgpu_dtype dtype;
    hsize_t count;
    unsigned options;
    bool is_spared;
  } cases[] = {{SZGPU_F64, 511, 0, true},   {SZGPU_F64, 511, SZGPU_H5_NAMED, false},
               {SZGPU_F64, 512, 0, false},  {SZGPU_F32, 1023, 0, true},
               {SZGPU_F32, 1024, 0, false}, {SZGPU_F16, 2047, 0, true}};
  for (size_t k = 0; k < ARRAY_COUNT(cases); k++) {
    hsize_t const count = cases[k].count;
    hid_t const type = h5_native_type(cases[k].dtype);
    double values[2048], restored[2048];
    for (hsize_t i = 0; i < count; i++) /* which a half has */
      values[i] =
          round(64 * wave((int)i)) / 64 * (cases[k].dtype != SZGPU_F16 || fabs(wave((int)i)) < 16);
    hid_t dataset = h5_create(file, "line", type, 1, &count,
                              properties_of(1, &count, SZGPU_MODE_ABS, 4, cases[k].options, 0));
    h5_write(dataset, H5T_NATIVE_DOUBLE, values);
    dataset = h5_reopen(file, dataset, "line");
    h5_read(dataset, H5T_NATIVE_DOUBLE, restored);
    assert_true(cases[k].is_spared == (memcmp(values, restored, count * sizeof *values) == 0));
    drop(dataset, "line");
  }
}

/* ---- lists of few words, and values that are kept ---- */

/* NCO passes one word of another variable's list; netCDF then makes the filter mandatory. */
static void no_word_or_one_asks_for_lossless(void **state) {
  (void)state;
  hsize_t const dims[] = {20, 150};
  static const unsigned stray[] = {0, 1, 2, 180, 0xFFFFFFFFu};
  for (size_t i = 0; i <= ARRAY_COUNT(stray); i++) {
    unsigned words[SZGPU_H5_MOST_WORDS];
    size_t word_count;
    bool const is_none = i == ARRAY_COUNT(stray);
    h5_chunk chunk = assert_same_bytes(
        H5T_NATIVE_FLOAT, 2, dims,
        h5_make_properties(2, dims, H5Z_FLAG_MANDATORY, is_none ? stray : &stray[i], !is_none),
        words, &word_count);
    assert_int_equal(word_count, SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_DIMS + 2);
    assert_int_equal(words[SZGPU_H5_WORD_VERSION], SZGPU_H5_VERSION);
    assert_int_equal(words[SZGPU_H5_WORD_MODE], SZGPU_MODE_LOSSLESS);
    assert_true(chunk.byte_count < 12000);
    free(chunk.bytes);
  }
}

static void a_named_fill_value_is_kept(void **state) {
  (void)state;
  hsize_t const dims[] = {64, 100};
  float values[6400];
  for (int i = 0; i < 6400; i++) values[i] = i % 7 ? (float)sin(i * 0.01) : -77.125f;
  for (int is_passed_on = 0; is_passed_on < 2; is_passed_on++) {
    hid_t properties = h5_make_abs_properties(2, dims, 0.5);
    assert_true(H5Pset_szgpu_fill(properties, -77.125) >= 0);
    assert_true(H5Pset_szgpu_predictor(properties, SZGPU_PREDICTOR_LORENZO) >= 0);
    hid_t first = h5_create(file, "first", H5T_NATIVE_FLOAT, 2, dims, properties);
    if (is_passed_on) { /* the stored list, as h5repack passes it on */
      properties = H5Dget_create_plist(first);
      drop(first, "first");
      first = h5_create(file, "first", H5T_NATIVE_FLOAT, 2, dims, properties);
    }
    unsigned words[SZGPU_H5_MOST_WORDS];
    assert_int_equal(h5_stored_words(first, words),
                     SZGPU_H5_USER_WORDS + 2 + SZGPU_H5_CHUNK_DIMS + 2);
    assert_int_equal(words[SZGPU_H5_WORD_OPTIONS],
                     SZGPU_H5_NAMED | SZGPU_H5_LORENZO | SZGPU_H5_FILLS_UNIT);
    assert_true(szgpu_h5_get_double(words + SZGPU_H5_WORD_FILLS) == -77.125);
    drop(first, "first");
  }
  hid_t const properties = h5_make_abs_properties(2, dims, 0.5);
  assert_true(H5Pset_szgpu_fill(properties, -77.125) >= 0);
  double *const restored =
      through_filter(SZGPU_F32, H5T_NATIVE_FLOAT, dims, dims, properties, values);
  int changed = 0;
  for (int i = 0; i < 6400; i++) {
    assert_true(fabs(restored[i] - (double)values[i]) <= (i % 7 ? 0.5 : 0));
    changed += restored[i] != (double)values[i];
  }
  assert_true(changed > 0);
  free(restored);
}

/* Beside the dataset's own; all four are in the archive and come back. */
static void three_more_values_are_kept(void **state) {
  (void)state;
  hsize_t const dims[] = {64, 100}, origin[] = {0, 0};
  static float const kept[] = {-77.125f, 12.5f, 13.5f, 0.0625f};
  float values[6400], restored[6400];
  for (int i = 0; i < 6400; i++) values[i] = i % 7 < 4 ? kept[i % 7] : (float)(20 * sin(i * 0.01));
  hid_t const properties = h5_make_abs_properties(2, dims, 0.5);
  assert_true(H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &kept[0]) >= 0);
  for (int i = 0; i < 4; i++) /* the own one may be named, too */
    assert_true(H5Pset_szgpu_fill(properties, (double)kept[i]) >= 0);
  hid_t dataset = h5_create(file, "kept", H5T_NATIVE_FLOAT, 2, dims, properties);
  h5_write(dataset, H5T_NATIVE_FLOAT, values);
  dataset = h5_reopen(file, dataset, "kept");
  h5_read(dataset, H5T_NATIVE_FLOAT, restored);
  for (int i = 0; i < 6400; i++) {
    double const error = fabs((double)restored[i] - (double)values[i]);
    assert_true(error <= (i % 7 < 4 ? 0 : 0.5));
  }
  h5_chunk chunk = h5_read_chunk(dataset, origin);
  test_archive const archive = {chunk.bytes, chunk.byte_count};
  assert_int_equal(test_inspect(&archive).more_fill_count, 3);
  free(chunk.bytes);
  drop(dataset, "kept");
}

/* -9999 in half of the chunk, which nobody names; nccopy makes such datasets. */
static void far_values_are_kept_without_a_name(void **state) {
  (void)state;
  hsize_t const dims[] = {64, 100};
  float values[6400];
  for (int i = 0; i < 6400; i++) values[i] = i % 100 < 50 ? -9999 : (float)(280 + sin(i * 0.01));
  double *const restored = through_filter(SZGPU_F32, H5T_NATIVE_FLOAT, dims, dims,
                                          h5_make_abs_properties(2, dims, 0.01), values);
  for (int i = 0; i < 6400; i++)
    assert_true(fabs(restored[i] - (double)values[i]) <= (i % 100 < 50 ? 0 : 0.01));
  free(restored);
}

static void up_to_four_values_can_be_named(void **state) {
  (void)state;
  unsigned words[SZGPU_H5_MOST_USER_WORDS];
  size_t count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.5, words);
  for (int i = 0; i < SZGPU_H5_MOST_FILLS; i++) {
    count = szgpu_h5_add_fill(words, -i);
    assert_int_equal(count, SZGPU_H5_USER_WORDS + 2 * (i + 1));
    assert_int_equal(count, szgpu_h5_user_words(words));
  }
  assert_int_equal(szgpu_h5_add_fill(words, 5), 0);
  hsize_t const dims[] = {64, 100};
  hid_t const properties = h5_make_abs_properties(2, dims, 0.5);
  for (int i = 0; i < SZGPU_H5_MOST_FILLS; i++) assert_true(H5Pset_szgpu_fill(properties, i) >= 0);
  assert_true(H5Pset_szgpu_fill(properties, 4) < 0);
  H5Pclose(properties);
}

/* Which are known only when the dataset is created, and before anything is written. */
static void too_many_values_are_refused_at_creation(void **state) {
  (void)state;
  hsize_t const dims[] = {64, 100};
  float const own = 12;
  for (int is_optional = 0; is_optional < 2; is_optional++) {
    unsigned words[SZGPU_H5_MOST_USER_WORDS];
    size_t count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.5, words);
    for (int i = 0; i < SZGPU_H5_MOST_FILLS; i++) count = szgpu_h5_add_fill(words, i);
    hid_t const properties = h5_make_properties(
        2, dims, is_optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY, words, count);
    assert_true(H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &own) >= 0);
    assert_true(h5_try_create(file, "refused", H5T_NATIVE_FLOAT, 2, dims, properties) < 0);
    h5_assert_error("values to keep");
    H5Pclose(properties);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_without_a_bound_are_compressed_losslessly),
      cmocka_unit_test(many_dims_are_joined),
      cmocka_unit_test(integers_have_a_bound_where_the_dataset_is_named),
      cmocka_unit_test(integers_of_old_lists_keep_their_bound),
      cmocka_unit_test(both_byte_orders_have_the_same_archives),
      cmocka_unit_test(what_may_be_coordinates_is_spared),
      cmocka_unit_test(short_lines_are_spared),
      cmocka_unit_test(no_word_or_one_asks_for_lossless),
      cmocka_unit_test(a_named_fill_value_is_kept),
      cmocka_unit_test(three_more_values_are_kept),
      cmocka_unit_test(far_values_are_kept_without_a_name),
      cmocka_unit_test(up_to_four_values_can_be_named),
      cmocka_unit_test(too_many_values_are_refused_at_creation),
  };
  return cmocka_run_group_tests(tests, make_file, close_file);
}
