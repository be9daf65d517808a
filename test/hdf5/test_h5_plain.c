/* test_h5_plain.c - chunks that no archive makes smaller, and who is told what is not compressed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_file.h"
#include "listener.h"

static hid_t make_dataset(const char *name, hid_t type, hsize_t count, szgpu_mode mode,
                          double bound, unsigned flags) {
  unsigned words[SZGPU_H5_USER_WORDS];
  size_t const word_count = szgpu_h5_cd_values(mode, bound, words);
  return h5_create(file, name, type, 1, &count,
                   h5_make_properties(1, &count, flags, words, word_count));
}

/* ---- chunks that would grow ---- */

static void assert_noise_fits(szgpu_dtype dtype, hsize_t count, H5T_order_t order, szgpu_mode mode,
                              unsigned flags) {
  hsize_t const origin[] = {0};
  szgpu_shape const shape = test_shape(dtype, 1, count, 0, 0, 0);
  size_t const byte_count = test_field_bytes(&shape);
  void *const values = test_make_bits(&shape), *const restored = test_allocate(byte_count);
  hid_t const type = H5Tcopy(h5_native_type(dtype));
  H5Tset_order(type, order);
  hid_t dataset = make_dataset("noise", type, count, mode, 1e-320, flags);
  h5_write(dataset, type, values);
  dataset = h5_reopen(file, dataset, "noise");
  h5_read(dataset, type, restored);
  assert_memory_equal(values, restored, byte_count);
  h5_chunk chunk = h5_read_chunk(dataset, origin);
  bool const is_optional = flags & H5Z_FLAG_OPTIONAL;
  assert_int_equal(chunk.skipped_filters, is_optional);
  assert_int_equal(h5_is_plain(&chunk), !is_optional);
  assert_int_equal(chunk.byte_count, byte_count + (is_optional ? 0 : 16));
  free(chunk.bytes);
  H5Dclose(dataset);
  assert_true(H5Ldelete(file, "noise", H5P_DEFAULT) >= 0);
  H5Tclose(type);
  free(restored);
  free(values);
}

/* What nothing predicts takes at most 16 bytes more, in every size, type and mode. Before, it took
 * 224 or more. */
static void noise_takes_16_bytes_more(void **state) {
  (void)state;
  static const hsize_t counts[] = {1, 2, 3, 31, 64, 100, 1000, 5000};
  for (size_t i = 0; i < 8 * ARRAY_COUNT(counts); i++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++)
      if (dtype != SZGPU_FP8)
        assert_noise_fits((szgpu_dtype)dtype, counts[i / 8], i & 1 ? H5T_ORDER_BE : H5T_ORDER_LE,
                          i & 2 ? SZGPU_MODE_ABS : SZGPU_MODE_LOSSLESS,
                          i & 4 ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY);
}

/* Each byte is checked: the head's 16 and those of the values. */
static void a_damaged_plain_chunk_is_an_error(void **state) {
  (void)state;
  enum { COUNT = 25 };
  hsize_t const origin[] = {0};
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, COUNT, 0, 0, 0);
  double *const values = test_make_bits(&shape), restored[COUNT];
  hid_t dataset =
      make_dataset("damaged", H5T_NATIVE_DOUBLE, COUNT, SZGPU_MODE_LOSSLESS, 0, H5Z_FLAG_OPTIONAL);
  hid_t const good =
      make_dataset("good", H5T_NATIVE_DOUBLE, COUNT, SZGPU_MODE_LOSSLESS, 0, H5Z_FLAG_MANDATORY);
  h5_write(good, H5T_NATIVE_DOUBLE, values);
  h5_chunk chunk = h5_read_chunk(h5_reopen(file, good, "good"), origin);
  for (size_t place = 0; place <= chunk.byte_count + 1; place++) {
    size_t byte_count = chunk.byte_count;
    if (place < byte_count) chunk.bytes[place] ^= 4;
    if (place > byte_count) byte_count -= 8;
    h5_write_chunk(dataset, origin, chunk.bytes, byte_count);
    dataset = h5_reopen(file, dataset, "damaged");
    bool const is_read =
        H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0;
    if (!is_read) h5_assert_error("szgpu: chunk: ");
    assert_int_equal(is_read, place == chunk.byte_count);
    if (place < byte_count) chunk.bytes[place] ^= 4;
  }
  free(chunk.bytes);
  free(values);
  H5Dclose(dataset);
}

/* ---- who listens ---- */

static char heard[512];
static int heard_count, answer;
static int listen(const char *sentence) {
  snprintf(heard, sizeof heard, "%s", sentence);
  heard_count++;
  return answer;
}

/* The plugin that HDF5 has loaded. */
static void let_listen(szgpu_h5_listener listener) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libh5zszgpu.so", getenv("HDF5_PLUGIN_PATH"));
  void *const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(plugin);
  __typeof__(szgpu_h5_listen) *set_listener;
  void *const symbol = dlsym(plugin, "szgpu_h5_listen");
  assert_non_null(symbol);
  memcpy(&set_listener, &symbol, sizeof symbol);
  set_listener(listener);
  dlclose(plugin);
}

/* Creates a dataset and asserts what is heard; "": nothing. */
static void assert_heard(hid_t type, hsize_t count, unsigned options, bool has_shuffle,
                         unsigned flags, const char *text) {
  unsigned words[SZGPU_H5_USER_WORDS];
  size_t const word_count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.5, words);
  words[SZGPU_H5_WORD_OPTIONS] = options;
  hid_t const properties = h5_make_properties(1, &count, 0, NULL, 0);
  if (has_shuffle) H5Pset_shuffle(properties);
  assert_true(H5Pset_filter(properties, SZGPU_H5_FILTER_ID, flags, word_count, words) >= 0);
  heard_count = 0;
  hid_t const dataset = h5_try_create(file, "heard", type, 1, &count, properties);
  bool const is_refused = (*text && answer) || (has_shuffle && flags == H5Z_FLAG_MANDATORY);
  if (is_refused) {
    assert_true(dataset < 0);
    h5_assert_error(text);
    H5Pclose(properties);
    return;
  }
  assert_true(dataset >= 0);
  assert_int_equal(heard_count, *text ? 1 : 0);
  if (*text) assert_non_null(strstr(heard, text));
  H5Dclose(dataset);
  hid_t const opened = H5Dopen2(file, "heard", H5P_DEFAULT); /* it is told once */
  char *const values = calloc(count, H5Tget_size(type));
  heard_count = 0;
  h5_write(opened, type, values);
  assert_int_equal(heard_count, 0);
  free(values);
  H5Dclose(opened);
  assert_true(H5Ldelete(file, "heard", H5P_DEFAULT) >= 0);
}

static void what_is_not_compressed_as_asked_is_told(void **state) {
  (void)state;
  unsigned const optional = H5Z_FLAG_OPTIONAL, mandatory = H5Z_FLAG_MANDATORY;
  let_listen(listen);
  for (answer = 0; answer < 2; answer++) { /* 1: creation shall fail */
    assert_heard(H5T_NATIVE_FLOAT, 1024, 0, false, optional, "");
    assert_heard(H5T_NATIVE_FLOAT, 1023, 0, false, optional, "they may be coordinates");
    assert_heard(H5T_NATIVE_FLOAT, 1023, SZGPU_H5_NAMED, false, mandatory, "");
    assert_heard(H5T_NATIVE_FLOAT, 1000, 0, true, optional, "must be the first filter");
    assert_heard(H5T_NATIVE_FLOAT, 1000, 0, true, mandatory, "must be the first filter");
    assert_heard(H5T_NATIVE_INT32, 1000, 0, false, optional, "integers are compressed losslessly");
    assert_heard(H5T_NATIVE_INT32, 1000, SZGPU_H5_NAMED, false, optional, "");
    assert_heard(H5T_NATIVE_INT64, 1000, SZGPU_H5_NAMED, false, mandatory, "values of this type");
    assert_heard(H5T_NATIVE_DOUBLE, 63, SZGPU_H5_NAMED, false, optional, "less than 512 bytes");
    assert_heard(H5T_NATIVE_DOUBLE, 64, SZGPU_H5_NAMED, false, optional, "");
  }
  answer = 0;
  let_listen(NULL);
  heard_count = 0;
  H5Dclose(make_dataset("unheard", H5T_NATIVE_INT64, 1000, SZGPU_MODE_ABS, 1, optional));
  assert_int_equal(heard_count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(noise_takes_16_bytes_more),
      cmocka_unit_test(a_damaged_plain_chunk_is_an_error),
      cmocka_unit_test(what_is_not_compressed_as_asked_is_told),
  };
  return cmocka_run_group_tests(tests, make_file, close_file);
}
