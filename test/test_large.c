/* test_large.c - fields of more than 2^32 bytes and of more than 2^32 values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE 1

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support.h"

static const size_t gibibyte = (size_t)1 << 30;

/* Skips the test if the machine has less memory. */
static void need_memory(size_t bytes) {
  long const pages = sysconf(_SC_AVPHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages < 0 || (double)pages * (double)page_bytes >= (double)bytes) return;
  print_message("           skipped: needs %.0f GiB of free memory\n",
                (double)bytes / (double)gibibyte);
  skip();
}

static double peak_bytes(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return (double)usage.ru_maxrss * 1024.0; /* Linux gives KiB */
}

/* Between 0 and 30, smooth with some noise; cheap enough to compute twice. */
static float wave_at(uint64_t i) {
  uint64_t const x = i & 16383, y = i >> 14 & 16383;
  uint64_t const noise = i * UINT64_C(0x9E3779B97F4A7C15) >> 52;
  return (float)x * 0x1p-11f + (float)y * 0x1p-10f + (float)noise * 0x1p-18f;
}

static void assert_waves(const float *restored, uint64_t first, uint64_t count, double bound) {
  uint64_t bad_count = 0;
  for (uint64_t i = 0; i < count; i++)
    bad_count += !(fabs((double)restored[i] - (double)wave_at(first + i)) <= bound);
  assert_true(bad_count == 0);
}

static void five_gigabytes_in_one_frame_keep_the_bound(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 5, 16384, 16384, 0);
  szgpu_params const params = test_params(SZGPU_MODE_REL, 1e-3);
  uint64_t const count = test_value_count(&shape), row = count / 5;
  size_t const bytes = test_field_bytes(&shape);
  need_memory(14 * gibibyte);
  szgpu_ctx *const ctx = test_make_ctx(0);
  float *const field = test_allocate(bytes);
  for (uint64_t i = 0; i < count; i++) field[i] = wave_at(i);
  test_archive archive = test_compress(ctx, &params, &shape, field);
  szgpu_info const info = test_inspect(&archive);
  print_message("           ratio %.2f, peak memory %.2f times the field\n",
                (double)bytes / (double)archive.byte_count, peak_bytes() / (double)bytes);
  assert_true(peak_bytes() < 2.5 * (double)bytes + 0x1p26); /* as documented */
  assert_int_equal(info.frame_count, 1);
  assert_true(info.field_bytes > UINT32_MAX && info.field_bytes == bytes);
  free(field); /* from here on recomputed */
  float *const restored = test_decompress(ctx, &archive, bytes);
  assert_waves(restored, 0, count, info.absolute_bound);
  assert_true(peak_bytes() < 2.0 * (double)bytes + 0x1p26);
  assert_int_equal(szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, 4, 1, restored,
                                         row * sizeof(float)),
                   SZGPU_OK);
  assert_waves(restored, 4 * row, row, info.absolute_bound);
  free(restored);
  free(archive.bytes);
  szgpu_destroy(ctx);
}

/* ---- more values than 32 bits can count, in little memory: one file, mapped many times ---- */

enum { PERIOD_VALUES = 1 << 24, PERIOD_BYTES = PERIOD_VALUES * 4 };

static float *map_periodic_field(uint64_t period_count) {
  FILE *const file = tmpfile();
  assert_non_null(file);
  float *const period = test_allocate(PERIOD_BYTES);
  for (uint64_t i = 0; i < PERIOD_VALUES; i++) period[i] = wave_at(i);
  assert_int_equal(fwrite(period, 1, PERIOD_BYTES, file), PERIOD_BYTES);
  assert_int_equal(fflush(file), 0);
  free(period);
  uint8_t *const field = mmap(NULL, period_count * PERIOD_BYTES, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_true(field != MAP_FAILED);
  for (uint64_t i = 0; i < period_count; i++)
    assert_true(mmap(field + i * PERIOD_BYTES, PERIOD_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED,
                     fileno(file), 0) != MAP_FAILED);
  fclose(file); /* the mappings keep it */
  return (float *)(void *)field;
}

static void assert_periodic_slab(szgpu_ctx *ctx, const test_archive *archive, uint64_t first,
                                 uint64_t count, double bound) {
  float *const slab = test_allocate(count * sizeof *slab);
  assert_int_equal(szgpu_decompress_slab(ctx, archive->bytes, archive->byte_count, first, count,
                                         slab, count * sizeof *slab),
                   SZGPU_OK);
  for (uint64_t i = 0; i < count; i++)
    assert_true(fabs((double)slab[i] - (double)wave_at((first + i) % PERIOD_VALUES)) <= bound);
  free(slab);
}

/* One frame holds more than 2^32 codes in more than 2^32 bits. */
static void more_than_2_32_values_in_one_frame_keep_the_bound(void **state) {
  (void)state;
  enum { PERIODS = 257 };
  uint64_t const count = (UINT64_C(1) << 32) + 12345;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, count, 0, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-2);
  params.frame_rows = UINT64_MAX;
  need_memory(14 * gibibyte);
  szgpu_ctx *const ctx = test_make_ctx(0);
  float *const field = map_periodic_field(PERIODS);
  size_t const capacity = 3 * gibibyte; /* far below the largest archive */
  test_archive archive = {test_allocate(capacity), 0};
  szgpu_status const status =
      szgpu_compress(ctx, &params, &shape, field, archive.bytes, capacity, &archive.byte_count);
  munmap(field, (size_t)PERIODS * PERIOD_BYTES);
  assert_int_equal(status, SZGPU_OK);
  szgpu_info const info = test_inspect(&archive);
  assert_int_equal(info.frame_count, 1);
  assert_periodic_slab(ctx, &archive, 0, 10000, info.absolute_bound);
  assert_periodic_slab(ctx, &archive, (UINT64_C(1) << 31) - 777, 12345, info.absolute_bound);
  assert_periodic_slab(ctx, &archive, (UINT64_C(1) << 32) - 10000, 22345, info.absolute_bound);
  test_random random = test_random_begin();
  for (int i = 0; i < 3; i++)
    assert_periodic_slab(ctx, &archive, test_random_below(&random, count - 1000000), 1000000,
                         info.absolute_bound);
  print_message("           ratio %.2f\n", (double)count * 4.0 / (double)archive.byte_count);
  free(archive.bytes);
  szgpu_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      /* First, because it checks the peak of memory. */
      cmocka_unit_test(five_gigabytes_in_one_frame_keep_the_bound),
      cmocka_unit_test(more_than_2_32_values_in_one_frame_keep_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
