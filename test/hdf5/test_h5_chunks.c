/* test_h5_chunks.c - chunks that a program compresses itself and writes with szgpu_h5_write_chunk.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "h5_support.h"

/* Chunks at two edges are not whole. */
enum { ROWS = 70, COLUMNS = 90, CHUNK_ROWS = 32, CHUNK_COLUMNS = 40 };
enum { VALUES = ROWS * COLUMNS, CHUNK_VALUES = CHUNK_ROWS * CHUNK_COLUMNS };
static hsize_t const dims[] = {ROWS, COLUMNS}, chunk[] = {CHUNK_ROWS, CHUNK_COLUMNS};
static float const fill = -7;

static szgpu_ctx *ctx;
static hid_t file;

static int begin(void **state) {
  ctx = test_make_ctx(1);
  if (h5_begin(state)) return 1;
  file = h5_make_file();
  return 0;
}
static int end(void **state) {
  (void)state;
  szgpu_destroy(ctx);
  return H5Fclose(file) < 0;
}

static hid_t make_dataset(const char *name) {
  hid_t const properties = h5_make_abs_properties(2, chunk, 0.01);
  assert_true(H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &fill) >= 0);
  return h5_create(file, name, H5T_NATIVE_FLOAT, 2, dims, properties);
}

/* The values of a chunk, and the fill value beyond the dataset's edge. */
static void take_chunk(const float *values, const hsize_t *offset, float *taken) {
  for (hsize_t i = 0; i < CHUNK_VALUES; i++) {
    hsize_t const row = offset[0] + i / CHUNK_COLUMNS, column = offset[1] + i % CHUNK_COLUMNS;
    taken[i] = row < ROWS && column < COLUMNS ? values[row * COLUMNS + column] : fill;
  }
}

typedef struct writer {
  szgpu_params params;
  szgpu_shape shape;
  size_t capacity;
  void *archive;
} writer;

static writer open_writer(hid_t dataset) {
  writer w;
  unsigned words[SZGPU_H5_MOST_WORDS];
  size_t const count = szgpu_h5_dataset_words(dataset, words);
  assert_null(szgpu_h5_chunk(words, count, &w.params, &w.shape));
  assert_int_equal(szgpu_sizes(ctx, &w.params, &w.shape, NULL, &w.capacity), SZGPU_OK);
  w.archive = test_allocate(w.capacity);
  return w;
}

static void chunks_are_those_of_the_filter(void **state) {
  (void)state;
  static float taken[CHUNK_VALUES], restored[VALUES], by_filter[VALUES];
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, ROWS, COLUMNS, 0, 0);
  float *const values = test_make_waves(&shape);
  hid_t direct = make_dataset("direct"), filtered = make_dataset("filtered");
  writer w = open_writer(direct);
  h5_write(filtered, H5T_NATIVE_FLOAT, values);
  for (hsize_t row = 0; row < ROWS; row += CHUNK_ROWS)
    for (hsize_t column = 0; column < COLUMNS; column += CHUNK_COLUMNS) {
      hsize_t const offset[] = {row, column};
      herr_t written;
      take_chunk(values, offset, taken);
      assert_int_equal(szgpu_h5_write_chunk(ctx, &w.params, &w.shape, taken, w.archive, w.capacity,
                                            direct, offset, &written),
                       SZGPU_OK);
      assert_true(written >= 0);
    }
  direct = h5_reopen(file, direct, "direct");
  filtered = h5_reopen(file, filtered, "filtered");
  for (hsize_t row = 0; row < ROWS; row += CHUNK_ROWS)
    for (hsize_t column = 0; column < COLUMNS; column += CHUNK_COLUMNS) {
      hsize_t const offset[] = {row, column};
      h5_chunk a = h5_read_chunk(direct, offset), b = h5_read_chunk(filtered, offset);
      assert_int_equal(a.byte_count, b.byte_count);
      assert_memory_equal(a.bytes, b.bytes, a.byte_count);
      assert_int_equal(a.skipped_filters, 0);
      free(a.bytes);
      free(b.bytes);
    }
  h5_read(direct, H5T_NATIVE_FLOAT, restored);
  h5_read(filtered, H5T_NATIVE_FLOAT, by_filter);
  assert_memory_equal(restored, by_filter, sizeof restored);
  H5Dclose(direct);
  H5Dclose(filtered);
  free(w.archive);
  free(values);
}

static void failures_say_whose_they_are(void **state) {
  (void)state;
  static float const taken[CHUNK_VALUES];
  hid_t const dataset = make_dataset("failures");
  writer w = open_writer(dataset);
  hsize_t const good[] = {0, 0}, between[] = {1, 0};
  herr_t written;
  assert_int_equal(szgpu_h5_write_chunk(ctx, &w.params, &w.shape, taken, w.archive, w.capacity,
                                        dataset, between, &written),
                   SZGPU_OK);
  assert_true(written < 0);
  assert_int_equal(
      szgpu_h5_write_chunk(ctx, &w.params, &w.shape, taken, w.archive, 16, dataset, good, &written),
      SZGPU_CAPACITY);
  assert_true(written < 0);
  assert_int_equal(H5Dget_storage_size(dataset), 0);
  H5Dclose(dataset);
  free(w.archive);
}

/* Archives alone would not be what such a dataset's chunks are. */
static void other_filters_give_no_words(void **state) {
  (void)state;
  unsigned words[SZGPU_H5_MOST_WORDS];
  hid_t const none =
      h5_create(file, "none", H5T_NATIVE_FLOAT, 2, dims, h5_make_properties(2, chunk, 0, NULL, 0));
  hid_t const more_properties = h5_make_abs_properties(2, chunk, 0.01);
  assert_true(H5Pset_fletcher32(more_properties) >= 0);
  hid_t const more = h5_create(file, "more", H5T_NATIVE_FLOAT, 2, dims, more_properties);
  hid_t const other_properties = h5_make_properties(2, chunk, 0, NULL, 0);
  assert_true(H5Pset_deflate(other_properties, 1) >= 0);
  hid_t const other = h5_create(file, "other", H5T_NATIVE_FLOAT, 2, dims, other_properties);
  hid_t const own = make_dataset("own");
  assert_int_equal(szgpu_h5_dataset_words(none, words), 0);
  assert_int_equal(szgpu_h5_dataset_words(more, words), 0);
  assert_int_equal(szgpu_h5_dataset_words(other, words), 0);
  assert_int_equal(szgpu_h5_dataset_words(H5I_INVALID_HID, words), 0);
  assert_int_equal(szgpu_h5_dataset_words(own, words),
                   SZGPU_H5_USER_WORDS + SZGPU_H5_CHUNK_DIMS + 2);
  H5Dclose(none);
  H5Dclose(more);
  H5Dclose(other);
  H5Dclose(own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chunks_are_those_of_the_filter),
      cmocka_unit_test(failures_say_whose_they_are),
      cmocka_unit_test(other_filters_give_no_words),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
