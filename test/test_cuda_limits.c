/* test_cuda_limits.c - limits of values: both backends write and restore the same.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "archive_ways.h"
#include "cuda_support.h"
#include "limited_fields.h"
#include "regions.h"

/* An archive with limits that most values are beyond, in both memories, and what the CPU
 * restores. */
typedef struct closer {
  test_archive host;
  void *device;
  szgpu_info info;
  uint8_t *restored;
  const limited_case *of;
} closer;

static void complain(const closer *c, const char *what, szgpu_status status) {
  cuda_case const named = {c->of->params, c->of->shape, NULL};
  cuda_complain(&named, "kind %d, closer limits, %s: %s", c->of->kind, what,
                status ? szgpu_status_text(status) : "other values");
}

/* Compares what a call has put into device memory, and releases that. */
static void compare_device(const closer *c, const char *what, szgpu_status status, void *found,
                           const void *expected, size_t bytes) {
  void *const copy = cuda_host_copy_of(found, bytes);
  if (status != SZGPU_OK || memcmp(copy, expected, bytes) != 0) complain(c, what, status);
  free(copy);
  cuda_release(found);
}

static void compare_decoders(const closer *c) {
  for (int i = 0; i < cuda_gpu_count; i++) {
    if (!cuda_reads_archive(i, &c->host)) continue;
    void *const found = cuda_allocate(c->info.field_bytes);
    szgpu_status const status =
        szgpu_decompress(cuda_gpus[i], c->device, c->host.byte_count, found, c->info.field_bytes);
    compare_device(c, "a decoder", status, found, c->restored, c->info.field_bytes);
  }
}

static void compare_slab(const closer *c) {
  uint64_t const rows = c->info.shape.dims[0], first = rows / 3, count = rows - first - rows / 4;
  size_t const row_bytes = c->info.field_bytes / rows;
  void *const found = cuda_allocate(count * row_bytes);
  szgpu_status const status = szgpu_decompress_slab(cuda_gpus[0], c->device, c->host.byte_count,
                                                    first, count, found, count * row_bytes);
  compare_device(c, "a slab", status, found, c->restored + first * row_bytes, count * row_bytes);
}

static void compare_regions(const closer *c, test_random *random) {
  for (int i = 0; i < 3; i++) {
    szgpu_region const region = region_random(random, &c->info.shape);
    size_t const bytes = region_bytes(&c->info.shape, &region);
    uint8_t *const expected = region_slice(&c->info.shape, &region, c->restored);
    void *const found = cuda_allocate(bytes);
    szgpu_status const status = szgpu_decompress_region(cuda_gpus[0], c->device, c->host.byte_count,
                                                        0, &region, found, bytes);
    compare_device(c, "a region", status, found, expected, bytes);
    free(expected);
  }
}

static void compare_previews(const closer *c) {
  for (int level = 1; level <= 2; level++) {
    szgpu_shape coarse;
    assert_int_equal(szgpu_level_shape(&c->info, level, &coarse), SZGPU_OK);
    size_t const bytes = test_field_bytes(&coarse);
    void *const expected = test_allocate(bytes);
    szgpu_status const wanted =
        szgpu_decompress_level(cuda_cpu, c->host.bytes, c->host.byte_count, level, expected, bytes);
    void *const found = cuda_allocate(bytes);
    szgpu_status const status =
        szgpu_decompress_level(cuda_gpus[0], c->device, c->host.byte_count, level, found, bytes);
    if (status != wanted) complain(c, "a preview", status);
    if (wanted == SZGPU_OK)
      compare_device(c, "a preview", status, found, expected, bytes);
    else
      cuda_release(found);
    free(expected);
  }
}

typedef struct tally {
  test_random random;
  uint64_t cases, frames[LIMITED_FRAMES];
} tally;

static void try_case(const limited_case *of, void *user) {
  tally *const t = user;
  if (cuda_is_quick() && t->cases++ % 23) return;
  void *const field = limited_make(of->kind, &of->shape);
  cuda_case const asked = {of->params, of->shape, field};
  cuda_compare(&asked);
  test_archive const archive = archive_compress(cuda_cpu, &of->params, &of->shape, field);
  closer c = {.of = of, .info = test_inspect(&archive)};
  t->frames[limited_frame_of(&archive)]++;
  if (c.info.has_limits) {
    void *const restored = test_decompress(cuda_cpu, &archive, c.info.field_bytes);
    double limits[2];
    c.host = limited_closer(&archive, &c.info, restored, limits);
    c.device = cuda_copy_of(c.host.bytes, c.host.byte_count);
    c.restored = test_decompress(cuda_cpu, &c.host, c.info.field_bytes);
    compare_decoders(&c);
    compare_slab(&c);
    compare_regions(&c, &t->random);
    compare_previews(&c);
    free(restored);
    free(c.restored);
    free(c.host.bytes);
    cuda_release(c.device);
  }
  free(archive.bytes);
  free(field);
}

static void every_type_way_and_bound(void **state) {
  (void)state;
  tally t = {.random = test_random_begin()};
  limited_each_case(try_case, &t);
  for (int frame = 0; frame < LIMITED_OTHERS; frame++)
    if (t.frames[frame] == 0 && !cuda_is_quick()) fail_msg("no frames of kind %d", frame);
  cuda_assert_no_complaints();
}

/* One frame from device memory, which the device completes: its header has any number of words. */
static void archives_completed_on_the_device(void **state) {
  (void)state;
  for (size_t way = 2; way < LIMITED_WAYS; way++)
    for (size_t bound = 0; bound < LIMITED_BOUNDS; bound++)
      for (int keeps = 0; keeps <= 1; keeps++) {
        szgpu_params params = limited_params(way, bound);
        if (!keeps && params.mode != SZGPU_MODE_ABS) continue;
        params.frame_rows = 0;
        params.zstd_level = 0;
        params.keep = keeps ? SZGPU_KEEP_RANGE : 0;
        szgpu_shape const shape = test_shape(bound % 2 ? SZGPU_F64 : SZGPU_F32, 3, 70, 66, 100, 0);
        void *const field = limited_make(LIMITED_RAIN, &shape);
        cuda_case const c = {params, shape, field};
        size_t const bytes = test_field_bytes(&shape);
        size_t capacity, used = 0;
        test_archive const expected = test_compress(cuda_cpu, &params, &shape, field);
        assert_int_equal(szgpu_sizes(cuda_gpus[0], &params, &shape, NULL, &capacity), SZGPU_OK);
        void *const values = cuda_copy_of(field, bytes), *const archive = cuda_allocate(capacity);
        szgpu_status const status =
            szgpu_compress(cuda_gpus[0], &params, &shape, values, archive, capacity, &used);
        test_archive const found = {cuda_host_copy_of(archive, used), used};
        if (status != SZGPU_OK) cuda_complain(&c, "%s", szgpu_last_error(cuda_gpus[0]));
        const char *const difference = cuda_difference(&expected, &found);
        if (difference) cuda_complain(&c, "keep %d: %s", keeps, difference);
        free(found.bytes);
        free(expected.bytes);
        free(field);
        cuda_release(values);
        cuda_release(archive);
      }
  cuda_assert_no_complaints();
}

/* Frame by frame from memory of the host. */
static void streams_make_the_same_archives(void **state) {
  (void)state;
  for (size_t way = 0; way < LIMITED_WAYS; way++)
    for (size_t bound = 0; bound < 3; bound++) {
      if (cuda_is_quick() && (way + bound) % 4) continue;
      szgpu_shape const shape = test_shape(SZGPU_F32, 3, 66, 50, 80, 0);
      szgpu_params const params = limited_params(way, bound);
      void *const field = limited_make(LIMITED_RAIN, &shape);
      assert_streams_make_the_same(cuda_cpu, cuda_gpus, 1, &params, &shape, field);
      free(field);
    }
}

/* Limits of logarithms, under a bound of each value. */
static void magnitudes_stay_in_their_range(void **state) {
  (void)state;
  static double const bounds[] = {0.13, 1e-3, 1e-6};
  for (size_t way = 0; way < LIMITED_WAYS; way++)
    for (int kind = 0; kind < LIMITED_FIELDS; kind++)
      for (size_t bound = 0; bound < ARRAY_COUNT(bounds); bound++)
        for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
          if (cuda_is_quick() && (way + bound + (size_t)kind) % 5) continue;
          szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 300, 257, 0, 0);
          void *const field = limited_make(kind, &shape);
          cuda_case c = {limited_params(way, 0), shape, field};
          c.params.mode = SZGPU_MODE_PWREL;
          c.params.bound = bounds[bound];
          cuda_compare(&c);
          free(field);
        }
  cuda_assert_no_complaints();
}

/* Zeros of both signs among values, and a limit of 0: kernels take minimum and maximum. */
static void zeros_have_the_signs_of_the_cpu(void **state) {
  (void)state;
  for (size_t way = 0; way < LIMITED_WAYS; way++)
    for (int kind = LIMITED_RAIN; kind <= LIMITED_NEGATIVE; kind++)
      for (size_t bound = 0; bound < LIMITED_BOUNDS; bound++) {
        if (cuda_is_quick() && (way + bound) % 5) continue;
        szgpu_shape const shape = test_shape(way % 2 ? SZGPU_F64 : SZGPU_F32, 2, 300, 257, 0, 0);
        void *const field = limited_make(kind, &shape);
        cuda_case const c = {limited_params(way, bound), shape, field};
        cuda_compare(&c);
        free(field);
      }
  cuda_assert_no_complaints();
}

static void the_stated_workspace_suffices(void **state) {
  (void)state;
  for (size_t way = 0; way < LIMITED_WAYS; way++) {
    szgpu_shape const shape = test_shape(SZGPU_F32, 3, 64, 90, 100, 0);
    szgpu_params const params = limited_params(way, 2);
    void *const field = limited_make(LIMITED_RAIN, &shape);
    cuda_assert_workspace_suffices(&params, &shape, field);
    free(field);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_way_and_bound),
      cmocka_unit_test(archives_completed_on_the_device),
      cmocka_unit_test(streams_make_the_same_archives),
      cmocka_unit_test(magnitudes_stay_in_their_range),
      cmocka_unit_test(zeros_have_the_signs_of_the_cpu),
      cmocka_unit_test(the_stated_workspace_suffices),
  };
  int const code = cuda_exit_code();
  return code ? code : cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
