/* test_capacity.c - how large an archive gets, and what happens with a smaller buffer.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ctxs.h"

/* Every capacity below the archive's size is refused without a write past it. */
static void assert_capacities_are_kept(const szgpu_params *params, const szgpu_shape *shape,
                                       const void *field) {
  test_archive archive = test_compress(ctx, params, shape, field);
  uint8_t *const room = test_allocate(archive.byte_count + 64);
  uint8_t *const untouched = test_allocate(archive.byte_count + 64);
  memset(untouched, 0xA5, archive.byte_count + 64);
  for (size_t capacity = 0; capacity <= archive.byte_count; capacity++) {
    memset(room, 0xA5, archive.byte_count + 64);
    size_t used;
    szgpu_status const status = szgpu_compress(ctx, params, shape, field, room, capacity, &used);
    bool const is_enough = capacity == archive.byte_count;
    assert_int_equal(status, is_enough ? SZGPU_OK : SZGPU_CAPACITY);
    assert_memory_equal(room + capacity, untouched, archive.byte_count + 64 - capacity);
    if (is_enough) assert_memory_equal(room, archive.bytes, archive.byte_count);
  }
  free(room);
  free(untouched);
  free(archive.bytes);
}

static void no_capacity_is_passed(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 130, 7, 0, 0); /* frames of 64, 64 and 2 */
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.frame_rows = 64;
  float *const field = test_make_waves(&shape);
  assert_capacities_are_kept(&params, &shape, field);
  field[5] = NAN, field[6] = 1e20f, field[7] = 1e20f, field[800] = 3e37f; /* need every section */
  assert_capacities_are_kept(&params, &shape, field);
  uint32_t *const noise = test_make_bits(&shape);
  assert_capacities_are_kept(&params, &shape, noise); /* raw frames */
  for (int i = 0; i < 910; i++) field[i] = i == 77 ? INFINITY : 2.0f;
  assert_capacities_are_kept(&params, &shape, field); /* constant frames */
  free(field);
  free(noise);
}

static void the_largest_archive_is_never_exceeded(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int zstd = 0; zstd <= 3; zstd += 3)
      for (int kind = 0; kind < 3; kind++) {
        szgpu_shape const *const shape = &test_awkward_shapes[s];
        szgpu_params params = test_params(SZGPU_MODE_ABS, kind == 1 ? 1e-30 : 1e30);
        params.frame_rows = 1;
        params.zstd_level = zstd;
        if (kind == 2) params.mode = SZGPU_MODE_REL, params.bound = 1e-15;
        uint8_t *const field = test_make_bits(shape);
        size_t most;
        assert_int_equal(szgpu_sizes(ctx, &params, shape, NULL, &most), SZGPU_OK);
        test_archive archive = test_compress(ctx, &params, shape, field); /* uses that capacity */
        assert_in_range(archive.byte_count, 1, most);
        void *const restored = test_decompress(ctx, &archive, test_field_bytes(shape));
        szgpu_info const info = test_inspect(&archive);
        test_assert_bound(shape, field, restored, &info);
        free(restored);
        free(archive.bytes);
        free(field);
      }
}

/* One frame, up to the sizes that 64 bits can express. It was 2.002 bytes per value from 2^60
 * values on, because the bit count of the longest stream overflowed. */
/* A limit of what szgpu_sizes says never stops the call. Before, small fields that are interpolated
 * took up to 4 MB more. */
static void the_workspace_is_enough(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int way = 0; way < 16; way++) {
      const szgpu_shape *const shape = &test_awkward_shapes[s];
      szgpu_params params =
          test_params(way & 1 ? SZGPU_MODE_LOSSLESS : SZGPU_MODE_REL, way & 1 ? 0 : 1e-4);
      params.layout = way & 2 ? SZGPU_LAYOUT_TILE : SZGPU_LAYOUT_LINEAR;
      params.zstd_level = way & 4 ? 1 : 0;
      void *const field = way & 8 ? test_make_bits(shape) : test_make_waves(shape);
      size_t workspace, most, archive_bytes;
      szgpu_ctx *const limited = test_make_ctx(1 + way % 3);
      assert_int_equal(szgpu_sizes(limited, &params, shape, &workspace, &most), SZGPU_OK);
      assert_int_equal(szgpu_set_memory_limit(limited, workspace), SZGPU_OK);
      void *const archive = test_allocate(most);
      assert_int_equal(
          szgpu_compress(limited, &params, shape, field, archive, most, &archive_bytes), SZGPU_OK);
      szgpu_destroy(limited);
      free(archive);
      free(field);
    }
}

static void the_workspace_grows_with_the_values(void **state) {
  (void)state;
  static const struct {
    szgpu_mode mode;
    szgpu_dtype dtype;
    int most_log;    /* log2 of the largest value count */
    uint64_t beyond; /* a value count that must be refused */
  } fields[] = {{SZGPU_MODE_LOSSLESS, SZGPU_U8, 62, INT64_MAX},
                {SZGPU_MODE_ABS, SZGPU_F32, 60, UINT64_C(1) << 61}};
  for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
    szgpu_params params = test_linear_params(fields[i].mode, 1.0);
    szgpu_shape shape = test_shape(fields[i].dtype, 1, 0, 0, 0, 0);
    size_t bytes, most;
    double per_value = 0;
    for (int log = 40; log <= fields[i].most_log; log++) {
      params.frame_rows = shape.dims[0] = (uint64_t)1 << log;
      assert_int_equal(szgpu_sizes(ctx, &params, &shape, &bytes, &most), SZGPU_OK);
      double const found = (double)bytes / (double)shape.dims[0];
      if (log == 40) per_value = found;
      assert_true(fabs(found - per_value) < 1e-4 * per_value);
      assert_true(most > shape.dims[0]);
    }
    params.frame_rows = shape.dims[0] = fields[i].beyond;
    assert_int_equal(szgpu_sizes(ctx, &params, &shape, &bytes, &most), SZGPU_BAD_SHAPE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_capacity_is_passed),
      cmocka_unit_test(the_largest_archive_is_never_exceeded),
      cmocka_unit_test(the_workspace_is_enough),
      cmocka_unit_test(the_workspace_grows_with_the_values),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
