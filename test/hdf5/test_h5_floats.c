/* test_h5_floats.c - the HDF5 filter does not depend on the program's floating-point environment.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Datasets whose fill values are denormals are made, written and read as by a plain program, and
 * with each way of rounding, with denormals flushed to zero, and with traps. Types in memory are
 * those of the file, so that HDF5 itself computes nothing.
 */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "h5_file.h"

enum { ROWS = 48, COLUMNS = 40, VALUES = ROWS * COLUMNS, MOST_BYTES = VALUES * 8 };
static hsize_t const dims[] = {ROWS, COLUMNS};

/* ---- properties ---- */

static herr_t set_abs(hid_t properties) { return H5Pset_szgpu_abs(properties, 0x1p-150); }
static herr_t set_least(hid_t properties) { return H5Pset_szgpu_abs(properties, 0x1p-1074); }
static herr_t set_rel(hid_t properties) { return H5Pset_szgpu_rel(properties, 0x1p-10); }
static herr_t set_psnr(hid_t properties) { return H5Pset_szgpu_psnr(properties, 60); }
static herr_t set_pwrel(hid_t properties) { return H5Pset_szgpu_pwrel(properties, 0x1p-10); }
static herr_t set_lossless(hid_t properties) { return H5Pset_szgpu_lossless(properties); }
static herr_t set_predictor(hid_t properties) {
  if (H5Pset_szgpu_rel(properties, 0x1p-10) < 0) return -1;
  return H5Pset_szgpu_predictor(properties, SZGPU_PREDICTOR_INTERPOLATION);
}
static herr_t set_fill(hid_t properties) {
  if (H5Pset_szgpu_rel(properties, 0x1p-10) < 0) return -1;
  return H5Pset_szgpu_fill(properties, 0x1p-1074);
}

static const struct {
  herr_t (*set)(hid_t properties);
  const char *function;
} ways[] = {
    {set_abs, "H5Pset_szgpu_abs"},
    {set_least, "H5Pset_szgpu_abs"},
    {set_rel, "H5Pset_szgpu_rel"},
    {set_psnr, "H5Pset_szgpu_psnr"},
    {set_pwrel, "H5Pset_szgpu_pwrel"},
    {set_lossless, "H5Pset_szgpu_lossless"},
    {set_predictor, "H5Pset_szgpu_predictor"},
    {set_fill, "H5Pset_szgpu_fill"},
};

static void every_property_is_in_the_table(void **state) {
  (void)state;
  FILE *const header = fopen(TEST_HDF5_HEADER, "r");
  char line[512];
  int function_count = 0;
  assert_non_null(header);
  while (fgets(line, sizeof line, header)) {
    const char *const start = strstr(line, "herr_t H5Pset_szgpu_");
    bool is_found = !start;
    if (!start) continue;
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
      size_t const chars = strlen(ways[i].function);
      is_found |= strncmp(start + 7, ways[i].function, chars) == 0 && start[7 + chars] == '(';
    }
    if (!is_found) print_error("not in the table: %s", line);
    assert_true(is_found);
    function_count++;
  }
  fclose(header);
  assert_true(function_count >= 7);
}

/* ---- what becomes of a dataset ---- */

typedef struct outcome {
  size_t word_count;
  unsigned words[SZGPU_H5_MOST_WORDS];
  size_t byte_count;
  uint8_t chunk[MOST_BYTES + 64], restored[MOST_BYTES];
  bool is_whole; /* no call failed */
} outcome;

/* Asserts nothing: the environment is not one for that. */
static void make_outcome(size_t way, hid_t type, const void *fill, const void *values,
                         outcome *found) {
  hsize_t const start[] = {0, 0};
  hsize_t chunk_bytes = 0;
  unsigned flags, skipped;
  memset(found, 0, sizeof *found);
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, NULL);
  bool is_whole = H5Pset_chunk(properties, 2, dims) >= 0 && ways[way].set(properties) >= 0;
  if (fill) is_whole = is_whole && H5Pset_fill_value(properties, type, fill) >= 0;
  hid_t dataset = H5Dcreate2(file, "field", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  is_whole = is_whole && dataset >= 0 &&
             H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  if (dataset >= 0) H5Dclose(dataset); /* its chunks leave the cache */
  dataset = H5Dopen2(file, "field", H5P_DEFAULT);
  is_whole = is_whole && dataset >= 0 &&
             H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found->restored) >= 0 &&
             H5Dget_chunk_storage_size(dataset, start, &chunk_bytes) >= 0 &&
             chunk_bytes <= sizeof found->chunk &&
             H5Dread_chunk(dataset, H5P_DEFAULT, start, &skipped, found->chunk) >= 0;
  if (is_whole) {
    hid_t const stored = H5Dget_create_plist(dataset);
    found->word_count = SZGPU_H5_MOST_WORDS;
    is_whole = H5Pget_filter_by_id2(stored, SZGPU_H5_FILTER_ID, &flags, &found->word_count,
                                    found->words, 0, NULL, NULL) >= 0;
    H5Pclose(stored);
  }
  found->byte_count = chunk_bytes;
  found->is_whole = is_whole;
  if (dataset >= 0) H5Dclose(dataset);
  H5Ldelete(file, "field", H5P_DEFAULT);
  H5Sclose(space);
  H5Pclose(properties);
}

/* ---- environments ---- */

static void round_upward(void) { fesetround(FE_UPWARD); }
static void round_downward(void) { fesetround(FE_DOWNWARD); }
static void round_toward_zero(void) { fesetround(FE_TOWARDZERO); }
static void trap(void) { feenableexcept(FE_ALL_EXCEPT); }
#if defined(__SSE2__)
static unsigned control(void) { return _mm_getcsr(); }
static void flush_denormals(void) { _mm_setcsr(_mm_getcsr() | 0x8040); } /* FTZ and DAZ */
#elif defined(__aarch64__)
static unsigned control(void) { return __builtin_aarch64_get_fpcr(); }
static void flush_denormals(void) { __builtin_aarch64_set_fpcr(control() | 1u << 24); } /* FZ */
#else
static unsigned control(void) { return 0; }
static void flush_denormals(void) {} /* there is no way that every machine has */
#endif
static void flush_and_trap(void) {
  flush_denormals();
  trap();
}

static void make_values(szgpu_dtype dtype, uint64_t fill_bits, uint8_t *values) {
  size_t const width = test_dtype_bytes(dtype);
  for (uint64_t i = 0; i < VALUES; i++) {
    uint64_t bits = i % 7 ? 1 + test_hash(i) % 90 : fill_bits; /* denormals; small integers */
    if (i % 11 == 0 && width > 1) bits = 1 + test_hash(i) % ((uint64_t)1 << (8 * width - 3));
    memcpy(values + i * width, &bits, width);
  }
}

static void no_dataset_depends_on_it(void **state) {
  (void)state;
  static void (*const changes[])(void) = {round_upward,    round_downward, round_toward_zero,
                                          flush_denormals, trap,           flush_and_trap};
  static const struct {
    szgpu_dtype dtype;
    uint64_t fill_bits;
  } kinds[] = {{SZGPU_F32, 77},
               {SZGPU_F32, 0x7FA00001}, /* a signalling NaN */
               {SZGPU_F64, 77},
               {SZGPU_F64, 0x7FF4000000000001},
               {SZGPU_I16, 77}};
  static outcome plain, other;
  static uint8_t values[MOST_BYTES];
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
    hid_t const type = h5_native_type(kinds[k].dtype);
    make_values(kinds[k].dtype, kinds[k].fill_bits, values);
    for (size_t way = 0; way < ARRAY_COUNT(ways); way++) {
      make_outcome(way, type, &kinds[k].fill_bits, values, &plain);
      for (size_t c = 0; c < ARRAY_COUNT(changes); c++) {
        fenv_t saved;
        fegetenv(&saved);
        feclearexcept(FE_ALL_EXCEPT);
        changes[c]();
        unsigned const before = control();
        int const rounding = fegetround(), traps = fegetexcept();
        make_outcome(way, type, &kinds[k].fill_bits, values, &other);
        unsigned const after = control();
        bool const is_kept = fegetround() == rounding && fegetexcept() == traps;
        fesetenv(&saved);
        bool const is_same = memcmp(&plain, &other, sizeof plain) == 0;
        if (!is_same || !is_kept || before != after)
          print_error("%s, type %zu, environment %zu\n", ways[way].function, k, c);
        assert_true(is_same && is_kept);
        assert_int_equal(before, after);
      }
      assert_true(plain.is_whole || ways[way].set == set_fill || kinds[k].dtype == SZGPU_I16);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_property_is_in_the_table),
      cmocka_unit_test(no_dataset_depends_on_it),
  };
  return cmocka_run_group_tests(tests, make_file, close_file);
}
