/* test_h5_refusals.c - what the HDF5 filter declines, and what it says about wrong input.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_file.h"

/* Properties for dims in one chunk: another filter or none, then szgpu with a bound of 0.1. */
static hid_t properties_behind(H5Z_filter_t other, int rank, const hsize_t *dims, unsigned flags) {
  unsigned words[SZGPU_H5_USER_WORDS];
  size_t const word_count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.1, words);
  hid_t const properties = h5_make_properties(rank, dims, 0, NULL, 0);
  if (other == H5Z_FILTER_SHUFFLE) H5Pset_shuffle(properties);
  if (other == H5Z_FILTER_DEFLATE) H5Pset_deflate(properties, 1);
  if (other == H5Z_FILTER_FLETCHER32) H5Pset_fletcher32(properties);
  if (other == SZGPU_H5_FILTER_ID) H5Pset_szgpu_abs(properties, 0.1);
  assert_true(H5Pset_filter(properties, SZGPU_H5_FILTER_ID, flags, word_count, words) >= 0);
  return properties;
}

/* If the filter is mandatory, creation fails and says why. If it is optional, creation succeeds and
 * the chunk is stored as it is. */
static void assert_declined(hid_t type, int rank, const hsize_t *dims, H5Z_filter_t other,
                            const char *why) {
  hid_t properties = properties_behind(other, rank, dims, H5Z_FLAG_MANDATORY);
  assert_true(h5_try_create(file, "declined", type, rank, dims, properties) < 0);
  h5_assert_error(why);
  H5Pclose(properties);
  if (other == SZGPU_H5_FILTER_ID) return; /* whose first is mandatory */

  properties = properties_behind(other, rank, dims, H5Z_FLAG_OPTIONAL);
  hid_t dataset = h5_create(file, "declined", type, rank, dims, properties);
  unsigned words[SZGPU_H5_MOST_WORDS];
  assert_int_equal(h5_stored_words(dataset, words), SZGPU_H5_USER_WORDS);
  size_t bytes = H5Tget_size(type);
  for (int axis = 0; axis < rank; axis++) bytes *= dims[axis];
  uint8_t *const values = test_allocate(bytes), *const restored = test_allocate(bytes);
  for (size_t i = 0; i < bytes; i++) values[i] = (uint8_t)(i * 7 % 64);
  h5_write(dataset, type, values);
  dataset = h5_reopen(file, dataset, "declined");
  h5_read(dataset, type, restored);
  assert_memory_equal(values, restored, bytes);
  hsize_t const offset[32] = {0};
  h5_chunk chunk = h5_read_chunk(dataset, offset);
  assert_int_equal(chunk.skipped_filters, other ? 2 : 1);
  if (!other) assert_memory_equal(chunk.bytes, values, bytes);
  free(chunk.bytes);
  free(restored);
  free(values);
  H5Dclose(dataset);
  H5Ldelete(file, "declined", H5P_DEFAULT);
}

/* After a filter that changes bytes, the bound would refer to bytes that are not values. */
static void a_filter_before_it_is_declined(void **state) {
  (void)state;
  hsize_t const dims[] = {20, 30};
  static const H5Z_filter_t others[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE,
                                        H5Z_FILTER_FLETCHER32};
  for (size_t i = 0; i < ARRAY_COUNT(others); i++)
    assert_declined(H5T_NATIVE_FLOAT, 2, dims, others[i], "must be the first filter");
  assert_declined(H5T_NATIVE_FLOAT, 2, dims, SZGPU_H5_FILTER_ID, "listed twice");
}

/* The links of a group can have filters too. */
static void a_groups_links_are_declined(void **state) {
  (void)state;
  for (int is_mandatory = 0; is_mandatory < 2; is_mandatory++) {
    unsigned words[SZGPU_H5_USER_WORDS];
    size_t const word_count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.1, words);
    hid_t const properties = H5Pcreate(H5P_GROUP_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_fapl_core(access, 1 << 20, 0);
    hid_t const newest = H5Fcreate("newest.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pset_link_phase_change(properties, 0, 0);
    assert_true(H5Pset_filter(properties, SZGPU_H5_FILTER_ID,
                              is_mandatory ? H5Z_FLAG_MANDATORY : H5Z_FLAG_OPTIONAL, word_count,
                              words) >= 0);
    hid_t const group = H5Gcreate2(newest, "group", H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(group >= 0);
    herr_t const linked = H5Lcreate_soft("/group", group, "link", H5P_DEFAULT, H5P_DEFAULT);
    if (is_mandatory) {
      assert_true(linked < 0);
      h5_assert_error("not the links of a group");
    } else {
      assert_true(linked >= 0 && H5Lexists(group, "link", H5P_DEFAULT) > 0);
    }
    H5Gclose(group);
    H5Fclose(newest);
    H5Pclose(access);
    H5Pclose(properties);
  }
}

/* Requests without a meaning are errors, even if the filter is optional. */
static void wrong_words_are_errors(void **state) {
  (void)state;
  static const struct {
    size_t count;
    unsigned words[13];
    const char *text;
  } cases[] = {
      {2, {1, 1}, "not 4 or 5 words"},
      {3, {1, 1, 0}, "not 4 or 5 words"},
      {7, {1, 1, 0, 0x3FF00000, 0, 0, 0}, "not 4 or 5 words"},
      {13, {1, 1, 0, 0x3FF00000}, "not 4 or 5 words"},
      {5, {2, 1, 0, 0x3FF00000, 0}, "version"},
      {5, {1, 5, 0, 0x3FF00000, 0}, "unknown mode"},
      {5, {1, 4, 0, 0x3FF00000, 0}, "not below 1"},
      {5, {1, 1, 0, 0x3FF00000, 0x8000}, "unknown options"},
      {5, {1, 1, 0, 0x3FF00000, 0x5000}, "unknown options"}, /* five fill values */
      {5, {1, 1, 0, 0x3FF00000, 0x1000}, "those of fill values"},
      {7, {1, 3, 0, 0, 0x1000, 0, 0}, "fill values are named for modes with a bound"},
      {5, {1, 1, 0, 0x3FF00000, 0x600}, "unknown options"}, /* two predictors */
      {5, {1, 1, 0, 0x3FF00000, 0x500}, "interpolation is for the tile layout"},
      {5, {1, 3, 0, 0, 0x400}, "interpolation is for the tile layout"},
      {5, {1, 1, 0, 0x3FF00000, 20}, "unknown options"},
      {5, {1, 1, 0, 0, 0}, "not a finite positive number"},
      {5, {1, 1, 0, 0xBFF00000, 0}, "not a finite positive number"},
      {5, {1, 0, 0, 0x7FF00000, 0}, "not a finite positive number"},
      {5, {1, 2, 0, 0x7FF80000, 0}, "not a finite positive number"},
  };
  hsize_t const dims[] = {100};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
    for (int is_optional = 0; is_optional < 2; is_optional++) {
      hid_t const properties =
          h5_make_properties(1, dims, is_optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY,
                             cases[i].words, cases[i].count);
      assert_true(h5_try_create(file, "wrong", H5T_NATIVE_FLOAT, 1, dims, properties) < 0);
      h5_assert_error(cases[i].text);
      H5Pclose(properties);
    }
}

/* ---- Damage ---- */

enum { ROWS = 64, COLUMNS = 100, VALUES = ROWS * COLUMNS };

/* With an optional filter, as h5py makes it: reading chunks still needs it. */
static hid_t make_dataset(const char *name, hid_t type, const double *values) {
  hsize_t const dims[] = {ROWS, COLUMNS};
  hid_t const dataset =
      h5_create(file, name, type, 2, dims, properties_behind(0, 2, dims, H5Z_FLAG_OPTIONAL));
  h5_write(dataset, H5T_NATIVE_DOUBLE, values);
  return h5_reopen(file, dataset, name);
}

/* Puts these bytes into the file in place of the chunk; reading it must fail. */
static void assert_unreadable(const char *name, const void *bytes, size_t byte_count,
                              const char *text) {
  static double restored[VALUES];
  hsize_t const offset[] = {0, 0};
  hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  h5_write_chunk(dataset, offset, bytes, byte_count);
  dataset = h5_reopen(file, dataset, name);
  assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0);
  h5_assert_error(text);
  H5Dclose(dataset);
}

static void a_damaged_chunk_is_an_error(void **state) {
  (void)state;
  hsize_t const offset[] = {0, 0};
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, ROWS, COLUMNS, 0, 0);
  double *const values = test_make_waves(&shape);
  hid_t const floats = make_dataset("floats", H5T_NATIVE_FLOAT, values);
  hid_t const doubles = make_dataset("doubles", H5T_NATIVE_DOUBLE, values);
  h5_chunk good = h5_read_chunk(doubles, offset), other = h5_read_chunk(floats, offset);
  uint8_t *const damaged = test_allocate(good.byte_count + 1);
  for (size_t place = 0; place < good.byte_count; place += 1 + good.byte_count / 50) {
    memcpy(damaged, good.bytes, good.byte_count);
    damaged[place] ^= 0x10;
    assert_unreadable("doubles", damaged, good.byte_count, "szgpu: chunk: ");
  }
  memcpy(damaged, good.bytes, good.byte_count);
  damaged[good.byte_count] = 0;
  assert_unreadable("doubles", damaged, good.byte_count + 1, "bytes after the end");
  assert_unreadable("doubles", damaged, good.byte_count - 1, "is shorter than");
  assert_unreadable("doubles", damaged, 1, "szgpu: chunk: ");
  assert_unreadable("doubles", other.bytes, other.byte_count,
                    "holds f32 64 x 100, not f64 64 x 100 as cd_values state");

  /* An archive of fewer values: HDF5 would read beyond them. */
  szgpu_ctx *const ctx = test_make_ctx(1);
  szgpu_params const params = test_params(SZGPU_MODE_ABS, 0.01);
  szgpu_shape const smaller = test_shape(SZGPU_F64, 2, ROWS, COLUMNS - 1, 0, 0);
  test_archive archive = test_compress(ctx, &params, &smaller, values);
  assert_unreadable("doubles", archive.bytes, archive.byte_count, "cd_values");
  free(archive.bytes);
  szgpu_destroy(ctx);

  h5_write_chunk(doubles, offset, good.bytes, good.byte_count);
  h5_read(doubles, H5T_NATIVE_DOUBLE, values); /* as if nothing had happened */
  free(damaged);
  free(good.bytes);
  free(other.bytes);
  free(values);
  H5Dclose(doubles);
  H5Dclose(floats);
}

/* ---- The plugin by itself ---- */

/* HDF5 drops error classes when it closes. */
static void errors_are_told_after_hdf5_was_closed(void **state) {
  wrong_words_are_errors(state);
  assert_true(H5Fclose(file) >= 0 && H5close() >= 0 && H5open() >= 0);
  assert_int_equal(make_file(state), 0);
  wrong_words_are_errors(state);
}

/* If no libhdf5 calls it, it has no allocator and fails. */
static void nothing_is_done_for_others(void **state) {
  (void)state;
  char path[4096];
  snprintf(path, sizeof path, "%s/libh5zszgpu.so", getenv("HDF5_PLUGIN_PATH"));
  void *const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(plugin);
  void *const symbol = dlsym(plugin, "H5PLget_plugin_info");
  const void *(*plugin_info)(void);
  memcpy(&plugin_info, &symbol, sizeof symbol);
  const H5Z_class2_t *const class = plugin_info();
  assert_int_equal(class->id, SZGPU_H5_FILTER_ID);
  assert_string_equal(class->name, "szgpu");
  float values[4] = {0};
  void *buffer = values;
  size_t bytes = sizeof values;
  assert_int_equal(class->filter(0, 0, NULL, bytes, &bytes, &buffer), 0);
  assert_true(class->can_apply(H5P_DEFAULT, H5T_NATIVE_FLOAT, H5S_ALL) < 0);
  assert_true(class->set_local(H5P_DEFAULT, H5T_NATIVE_FLOAT, H5S_ALL) < 0);
  assert_null(dlsym(plugin, "szgpu_compress"));
  dlclose(plugin);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_filter_before_it_is_declined),
      cmocka_unit_test(a_groups_links_are_declined),
      cmocka_unit_test(wrong_words_are_errors),
      cmocka_unit_test(a_damaged_chunk_is_an_error),
      cmocka_unit_test(errors_are_told_after_hdf5_was_closed),
      cmocka_unit_test(nothing_is_done_for_others),
  };
  return cmocka_run_group_tests(tests, make_file, close_file);
}
