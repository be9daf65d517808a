/* test_capacity.c - how large an archive gets, and what a smaller buffer meets.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static szgpu_ctx *ctx;

static int make_ctx(void **state) {
  (void)state;
  ctx = test_make_ctx(1);
  return 0;
}

static int destroy_ctx(void **state) {
  (void)state;
  szgpu_destroy(ctx);
  return 0;
}

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
  field[5] = NAN, field[6] = 1e20f, field[7] = 1e20f, field[800] = 3e37f; /* every section */
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
        assert_int_equal(szgpu_bounds(ctx, &params, shape, NULL, &most), SZGPU_OK);
        test_archive archive = test_compress(ctx, &params, shape, field); /* of that capacity */
        assert_in_range(archive.byte_count, 1, most);
        void *const restored = test_decompress(ctx, &archive, test_field_bytes(shape));
        szgpu_info const info = test_inspect(&archive);
        test_assert_bound(shape, field, restored, &info);
        free(restored);
        free(archive.bytes);
        free(field);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_capacity_is_passed),
      cmocka_unit_test(the_largest_archive_is_never_exceeded),
  };
  return cmocka_run_group_tests(tests, make_ctx, destroy_ctx);
}
