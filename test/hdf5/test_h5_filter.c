/* test_h5_filter.c - the HDF5 filter writes datasets and restores them within the bound.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "h5_support.h"

enum { MOST_RANK = 6 };

/* The dims of a dataset and of its chunks. */
typedef struct chunk_layout {
  int rank;
  hsize_t dims[MOST_RANK], chunk[MOST_RANK];
} chunk_layout;

static const chunk_layout layouts[] = {
    {1, {1}, {1}},
    {1, {5000}, {1024}},
    {2, {37, 53}, {16, 16}},
    {3, {20, 30, 41}, {8, 30, 41}},
    {4, {3, 7, 9, 11}, {2, 4, 9, 11}},
    {5, {1, 5, 1, 20, 31}, {1, 2, 1, 20, 16}},   /* drops dims of 1 */
    {6, {3, 5, 7, 2, 2, 9}, {1, 5, 7, 1, 2, 9}}, /* more dims than a field has */
    {3, {2, 3, 4}, {1, 1, 1}},
};

static const struct {
  szgpu_mode mode;
  double bound;
} modes[] = {{SZGPU_MODE_ABS, 0.01},
             {SZGPU_MODE_ABS, 1e-12}, /* under the spacing of floats */
             {SZGPU_MODE_REL, 1e-3},
             {SZGPU_MODE_PSNR, 70},
             {SZGPU_MODE_LOSSLESS, 0}};

static uint64_t count_of(const chunk_layout *layout) {
  uint64_t count = 1;
  for (int axis = 0; axis < layout->rank; axis++) count *= layout->dims[axis];
  return count;
}

/* Waves; of f32 and f64 with a NaN that has a payload, infinities, -0 and fill values. */
static void *make_values(szgpu_dtype dtype, uint64_t count) {
  szgpu_shape const shape = test_shape(dtype, 1, count, 0, 0, 0);
  bool const is_unsigned = dtype == SZGPU_U8 || dtype == SZGPU_U16;
  void *const values =
      is_unsigned ? test_allocate(count * test_dtype_bytes(dtype)) : test_make_waves(&shape);
  for (uint64_t i = 0; i < count && is_unsigned; i++)
    test_set_value(dtype, values, i, 101 + 100 * sin(0.05 * (double)i));
  if (count < 200 || dtype > SZGPU_F64) return values;
  test_set_value(dtype, values, 7, (double)INFINITY);
  test_set_value(dtype, values, 8, -(double)INFINITY);
  test_set_value(dtype, values, 9, -0.0);
  for (uint64_t i = 100; i < 150; i++) test_set_value(dtype, values, i, 1e20);
  uint32_t const odd_float = 0x7FC01234u;
  uint64_t const odd_double = 0x7FF8000012345678u;
  size_t const bytes = test_dtype_bytes(dtype);
  memcpy((char *)values + 11 * bytes, dtype == SZGPU_F32 ? (const void *)&odd_float : &odd_double,
         bytes);
  return values;
}

/* The bound that holds for a whole dataset: the loosest among its chunks' archives. Chunks that are
 * stored as they are have none. */
typedef struct loosest_bound {
  hid_t dataset;
  double bound;
} loosest_bound;

static void look_at_chunks(loosest_bound *loosest, const chunk_layout *layout, int axis,
                           hsize_t *offset) {
  if (axis < layout->rank) {
    for (offset[axis] = 0; offset[axis] < layout->dims[axis]; offset[axis] += layout->chunk[axis])
      look_at_chunks(loosest, layout, axis + 1, offset);
    return;
  }
  h5_chunk chunk = h5_read_chunk(loosest->dataset, offset);
  test_archive const archive = {chunk.bytes, chunk.byte_count};
  assert_int_equal(chunk.skipped_filters, 0);
  if (!h5_is_plain(&chunk))
    loosest->bound = fmax(loosest->bound, test_inspect(&archive).absolute_bound);
  free(chunk.bytes);
}

/* Writes values and reads them back from the file. */
static void assert_round_trip(hid_t file, szgpu_dtype dtype, const chunk_layout *layout, int mode,
                              unsigned options) {
  unsigned words[SZGPU_H5_USER_WORDS];
  size_t const word_count = szgpu_h5_cd_values(modes[mode].mode, modes[mode].bound, words);
  words[SZGPU_H5_WORD_OPTIONS] = options | SZGPU_H5_NAMED;
  hid_t const properties =
      h5_make_properties(layout->rank, layout->chunk, H5Z_FLAG_MANDATORY, words, word_count);
  hid_t const type = h5_native_type(dtype);
  hid_t dataset = h5_create(file, "field", type, layout->rank, layout->dims, properties);
  uint64_t const count = count_of(layout);
  void *const values = make_values(dtype, count);
  void *const restored = test_allocate(count * test_dtype_bytes(dtype));
  h5_write(dataset, type, values);
  dataset = h5_reopen(file, dataset, "field");
  h5_read(dataset, type, restored);

  hsize_t offset[MOST_RANK] = {0};
  loosest_bound loosest = {dataset, 0};
  look_at_chunks(&loosest, layout, 0, offset);
  double const bound = modes[mode].bound;
  if (modes[mode].mode == SZGPU_MODE_ABS) assert_true(loosest.bound == bound || loosest.bound == 0);
  if (count >= 5000 && bound > 1e-6 && dtype <= SZGPU_F64) assert_true(loosest.bound > 0);
  if (modes[mode].mode == SZGPU_MODE_REL) assert_true(loosest.bound <= bound * 202);
  if (modes[mode].mode == SZGPU_MODE_LOSSLESS)
    assert_memory_equal(values, restored, count * test_dtype_bytes(dtype));
  szgpu_shape const shape = test_shape(dtype, 1, count, 0, 0, 0);
  szgpu_info const info = {.absolute_bound = loosest.bound};
  test_assert_bound(&shape, values, restored, &info);

  free(restored);
  free(values);
  H5Dclose(dataset);
  assert_true(H5Ldelete(file, "field", H5P_DEFAULT) >= 0);
}

static void every_value_is_within_the_bound(void **state) {
  (void)state;
  hid_t const file = h5_make_file();
  for (size_t i = 0; i < ARRAY_COUNT(layouts); i++)
    for (int mode = 0; mode < (int)ARRAY_COUNT(modes); mode++)
      for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++) {
        if (dtype == SZGPU_FP8) continue; /* HDF5 has no such type */
        assert_round_trip(file, (szgpu_dtype)dtype, &layouts[i], mode, 0);
        if (modes[mode].mode == SZGPU_MODE_LOSSLESS) continue;
        assert_round_trip(file, (szgpu_dtype)dtype, &layouts[i], mode, SZGPU_H5_LINEAR | 3);
        assert_round_trip(file, (szgpu_dtype)dtype, &layouts[i], mode, SZGPU_H5_LORENZO);
        assert_round_trip(file, (szgpu_dtype)dtype, &layouts[i], mode, SZGPU_H5_INTERPOLATION);
      }
  H5Fclose(file);
}

/* The property sets the bits, and the chunk has the kind of frame that goes with them. */
static void the_predictor_is_a_property(void **state) {
  (void)state;
  hsize_t const dims[] = {32, 40, 50}, offset[] = {0, 0, 0};
  static const struct {
    szgpu_predictor predictor;
    unsigned bits;
    const char *kind; /* NULL: any */
  } cases[] = {{SZGPU_PREDICTOR_LORENZO, SZGPU_H5_LORENZO, "tile"},
               {SZGPU_PREDICTOR_INTERPOLATION, SZGPU_H5_INTERPOLATION, "levels"},
               {SZGPU_PREDICTOR_AUTO, 0, NULL}};
  hid_t const file = h5_make_file();
  float *const values = make_values(SZGPU_F32, 32 * 40 * 50);
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    hid_t const properties = h5_make_abs_properties(3, dims, 0.01);
    for (size_t k = 0; k <= i; k++) /* the last one counts */
      assert_true(H5Pset_szgpu_predictor(properties, cases[k].predictor) >= 0);
    hid_t dataset = h5_create(file, "field", H5T_NATIVE_FLOAT, 3, dims, properties);
    h5_write(dataset, H5T_NATIVE_FLOAT, values);
    dataset = h5_reopen(file, dataset, "field");
    unsigned words[SZGPU_H5_MOST_WORDS];
    h5_stored_words(dataset, words);
    assert_int_equal(words[SZGPU_H5_WORD_OPTIONS], cases[i].bits | SZGPU_H5_NAMED);
    szgpu_params params;
    assert_null(szgpu_h5_params(words, SZGPU_H5_USER_WORDS, &params));
    assert_int_equal(params.predictor, cases[i].predictor);
    h5_chunk chunk = h5_read_chunk(dataset, offset);
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(chunk.bytes, chunk.byte_count, 0, 1, &frame), SZGPU_OK);
    if (cases[i].kind) assert_string_equal(frame.kind, cases[i].kind);
    free(chunk.bytes);
    H5Dclose(dataset);
    assert_true(H5Ldelete(file, "field", H5P_DEFAULT) >= 0);
  }
  hid_t const bare = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_szgpu_predictor(bare, SZGPU_PREDICTOR_LORENZO) < 0); /* it has no filter */
  H5Pclose(bare);
  free(values);
  H5Fclose(file);
}

/* An application without the filter can use szgpu_h5_chunk's params and shape. */
static test_archive compress_chunk(const unsigned *words, size_t word_count, const void *values) {
  szgpu_params params;
  szgpu_shape shape;
  const char *const fault = szgpu_h5_chunk(words, word_count, &params, &shape);
  if (fault) fail_msg("%s", fault);
  szgpu_ctx *const ctx = test_make_ctx(2);
  test_archive const archive = test_compress(ctx, &params, &shape, values);
  szgpu_destroy(ctx);
  return archive;
}

static void bytes_in_the_file_are_the_librarys(void **state) {
  (void)state;
  hsize_t const dims[] = {1, 32, 40, 50}, chunk[] = {1, 16, 40, 50}, offset[] = {0, 16, 0, 0};
  hid_t const file = h5_make_file();
  float const fill = -9999.0f;
  hid_t const properties = h5_make_abs_properties(4, chunk, 0.001);
  H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &fill);
  hid_t dataset = h5_create(file, "field", H5T_NATIVE_FLOAT, 4, dims, properties);
  float *const values = make_values(SZGPU_F32, 32 * 40 * 50);
  h5_write(dataset, H5T_NATIVE_FLOAT, values);
  dataset = h5_reopen(file, dataset, "field");
  h5_chunk stored = h5_read_chunk(dataset, offset);

  /* From the stored words, and from those that the header makes of what the user knows. */
  unsigned words[SZGPU_H5_MOST_WORDS], own_words[SZGPU_H5_MOST_WORDS];
  size_t const word_count = h5_stored_words(dataset, words);
  uint64_t const own_dims[] = {1, 16, 40, 50};
  double const own_fill = (double)fill;
  szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.001, own_words);
  own_words[SZGPU_H5_WORD_OPTIONS] |= SZGPU_H5_NAMED;
  assert_int_equal(szgpu_h5_set_chunk(SZGPU_F32, 4, own_dims, &own_fill, own_words), word_count);
  assert_memory_equal(words, own_words, word_count * sizeof *words);
  test_archive const archive = compress_chunk(words, word_count, values + 16 * 40 * 50);
  assert_int_equal(stored.byte_count, archive.byte_count);
  assert_memory_equal(stored.bytes, archive.bytes, archive.byte_count);

  /* Conversely, the filter restores what the library made. */
  h5_write_chunk(dataset, (hsize_t[]){0, 0, 0, 0}, archive.bytes, archive.byte_count);
  float *const restored = test_allocate(32 * 40 * 50 * sizeof *restored);
  h5_read(dataset, H5T_NATIVE_FLOAT, restored);
  assert_memory_equal(restored, restored + 16 * 40 * 50, 16 * 40 * 50 * sizeof *restored);
  free(restored);
  free(archive.bytes);
  free(stored.bytes);
  free(values);
  H5Dclose(dataset);
  H5Fclose(file);
}

/* Half of the only chunk is never written: HDF5 puts the fill value there, which is restored. If
 * other values would be restored as it, the chunk is lossless. */
static void assert_fill_is_kept(hid_t file, szgpu_dtype dtype, const void *fill, bool is_named,
                                int *lossless_count) {
  enum { COUNT = 2000, WRITTEN = 900 };
  hsize_t const dims[] = {COUNT}, chunk[] = {1500}, written[] = {WRITTEN}, start[] = {0};
  hid_t const type = h5_native_type(dtype);
  size_t const bytes = test_dtype_bytes(dtype);
  hid_t const properties = h5_make_abs_properties(1, chunk, 0.5);
  assert_true(H5Pset_fill_value(properties, type, fill) >= 0);
  hid_t dataset = h5_create(file, "filled", type, 1, dims, properties);
  char *const values = make_values(dtype, COUNT);
  char *const restored = test_allocate(COUNT * bytes);
  for (int i = 300; i < 320; i++) memcpy(values + (size_t)i * bytes, fill, bytes);
  hid_t const space = H5Dget_space(dataset), memory = H5Screate_simple(1, written, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, written, NULL);
  assert_true(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values) >= 0);
  H5Sclose(memory);
  H5Sclose(space);
  dataset = h5_reopen(file, dataset, "filled");

  h5_chunk chunk_in_file = h5_read_chunk(dataset, start);
  test_archive const archive = {chunk_in_file.bytes, chunk_in_file.byte_count};
  szgpu_info info = test_inspect(&archive);
  bool const is_in_archive = info.has_fill && info.fill_bits == test_bits_at(dtype, fill, 0);
  bool const is_lossless = info.mode == SZGPU_MODE_LOSSLESS;
  assert_int_equal(is_in_archive, is_named && !is_lossless);
  *lossless_count += is_lossless;
  h5_read(dataset, type, restored);
  for (uint64_t i = WRITTEN; i < COUNT; i++) memcpy(values + i * bytes, fill, bytes);
  szgpu_shape const shape = test_shape(dtype, 1, COUNT, 0, 0, 0);
  test_assert_bound(&shape, values, restored, &info);
  free(chunk_in_file.bytes);
  free(restored);
  free(values);
  H5Dclose(dataset);
  H5Ldelete(file, "filled", H5P_DEFAULT);
}

static void fill_values_are_kept_to_the_bit(void **state) {
  (void)state;
  static const double fills[] = {-9999, 9.969209968386869e+36, 0.0, -0.0, 1.0000001, 1e300};
  hid_t const file = h5_make_file();
  int lossless_count = 0;
  for (size_t i = 0; i < ARRAY_COUNT(fills); i++) {
    float const single = (float)fills[i]; /* the last is infinity */
    assert_fill_is_kept(file, SZGPU_F32, &single, true, &lossless_count);
    assert_fill_is_kept(file, SZGPU_F64, &fills[i], true, &lossless_count);
  }
  float const odd_single = test_float_of_bits(0x7FC01234u);
  double const odd_double = test_double_of_bits(0xFFF8000012345678u);
  assert_fill_is_kept(file, SZGPU_F32, &odd_single, true, &lossless_count);
  assert_fill_is_kept(file, SZGPU_F64, &odd_double, true, &lossless_count);
  static const int16_t missing = -32768;
  static const uint8_t most = 255;
  static const uint16_t f16_nan = 0xFE05, bf16_nan = 0x7FC7, bf16_signalling = 0xFF81;
  assert_fill_is_kept(file, SZGPU_I16, &missing, true, &lossless_count);
  assert_fill_is_kept(file, SZGPU_U8, &most, true, &lossless_count);
  assert_fill_is_kept(file, SZGPU_F16, &f16_nan, true, &lossless_count);
  assert_fill_is_kept(file, SZGPU_BF16, &bf16_nan, true, &lossless_count);
  assert_fill_is_kept(file, SZGPU_BF16, &bf16_signalling, false, &lossless_count);
  /* A NaN that no double can express. */
  float const signalling = test_float_of_bits(0xFF801234u);
  double const signalling_double = test_double_of_bits(0x7FF0000012345678u);
  assert_fill_is_kept(file, SZGPU_F32, &signalling, false, &lossless_count);
  assert_fill_is_kept(file, SZGPU_F64, &signalling_double, true, &lossless_count);
  /* 0 is a lattice point, of f32 and f64; what is restored as it reads as -0, too. */
  assert_int_equal(lossless_count, 4);
  H5Fclose(file);
}

/* HDF5's default, 0, is not a fill value that a user chose. */
static void a_default_fill_value_is_none(void **state) {
  (void)state;
  hsize_t const dims[] = {100};
  unsigned words[SZGPU_H5_MOST_WORDS];
  hid_t const file = h5_make_file();
  hid_t const dataset =
      h5_create(file, "field", H5T_NATIVE_DOUBLE, 1, dims, h5_make_abs_properties(1, dims, 0.1));
  assert_int_equal(h5_stored_words(dataset, words), SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_DIMS + 1);
  unsigned const kept = SZGPU_KEEP_ALL * SZGPU_H5_KEEP_UNIT;
  assert_int_equal(words[SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_TYPE], SZGPU_F64 | 1 << 8 | kept);
  assert_int_equal(words[SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_FILL] |
                       words[SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_FILL + 1],
                   0);
  H5Dclose(dataset);
  H5Fclose(file);
}

/* h5repack passes a stored list on to a dataset with other chunks or of another type. */
static void a_stored_list_is_made_anew(void **state) {
  (void)state;
  hsize_t const dims[] = {60, 70}, chunk[] = {20, 70}, other_chunk[] = {60, 14};
  unsigned words[SZGPU_H5_MOST_WORDS];
  hid_t const file = h5_make_file();
  hid_t const first =
      h5_create(file, "first", H5T_NATIVE_FLOAT, 2, dims, h5_make_abs_properties(2, chunk, 0.25));
  hid_t const properties = H5Dget_create_plist(first);
  H5Pset_chunk(properties, 2, other_chunk);
  hid_t second = h5_create(file, "second", H5T_NATIVE_DOUBLE, 2, dims, properties);
  double *const values = make_values(SZGPU_F64, 60 * 70), restored[60 * 70];
  h5_write(second, H5T_NATIVE_DOUBLE, values);
  second = h5_reopen(file, second, "second");
  h5_read(second, H5T_NATIVE_DOUBLE, restored);
  assert_int_equal(h5_stored_words(second, words), SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_DIMS + 2);
  unsigned const kept = SZGPU_KEEP_ALL * SZGPU_H5_KEEP_UNIT;
  assert_int_equal(words[SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_TYPE], SZGPU_F64 | 2 << 8 | kept);
  assert_int_equal(words[SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_DIMS], 60);
  assert_int_equal(words[SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_DIMS + 1], 14);
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, 60, 70, 0, 0);
  szgpu_info const info = {.absolute_bound = 0.25};
  test_assert_bound(&shape, values, restored, &info);
  free(values);
  H5Dclose(second);
  H5Dclose(first);
  H5Fclose(file);
}

/* Checksums and other filters may follow. */
static void other_filters_may_follow(void **state) {
  (void)state;
  hsize_t const dims[] = {64, 100}, chunk[] = {32, 100};
  hid_t const file = h5_make_file();
  hid_t const properties = h5_make_abs_properties(2, chunk, 0.01);
  assert_true(H5Pset_deflate(properties, 4) >= 0 && H5Pset_fletcher32(properties) >= 0);
  hid_t dataset = h5_create(file, "field", H5T_NATIVE_FLOAT, 2, dims, properties);
  float *const values = make_values(SZGPU_F32, 6400), restored[6400];
  h5_write(dataset, H5T_NATIVE_FLOAT, values);
  dataset = h5_reopen(file, dataset, "field");
  h5_read(dataset, H5T_NATIVE_FLOAT, restored);
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 64, 100, 0, 0);
  szgpu_info const info = {.absolute_bound = 0.01};
  test_assert_bound(&shape, values, restored, &info);
  free(values);
  H5Dclose(dataset);
  H5Fclose(file);
}

static void *write_and_read(void *user) {
  (void)user;
  hid_t const file = h5_make_file();
  for (int i = 0; i < 10; i++) assert_round_trip(file, SZGPU_F32, &layouts[3], i % 5, 0);
  H5Fclose(file);
  return NULL;
}

static void threads_may_use_it_side_by_side(void **state) {
  (void)state;
  hbool_t is_safe = 0;
  H5is_library_threadsafe(&is_safe);
  if (!is_safe) {
    print_message("skipped: of this HDF5 one thread at a time may call\n");
    skip();
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, NULL), 0);
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_value_is_within_the_bound),
      cmocka_unit_test(the_predictor_is_a_property),
      cmocka_unit_test(bytes_in_the_file_are_the_librarys),
      cmocka_unit_test(fill_values_are_kept_to_the_bit),
      cmocka_unit_test(a_default_fill_value_is_none),
      cmocka_unit_test(a_stored_list_is_made_anew),
      cmocka_unit_test(other_filters_may_follow),
      cmocka_unit_test(threads_may_use_it_side_by_side),
  };
  return cmocka_run_group_tests(tests, h5_begin, NULL);
}
