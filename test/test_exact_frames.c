/* test_exact_frames.c - archives with a bound whose frames must keep every bit.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "ctxs.h"
#include "lossless_fields.h"

/* In an archive with a bound, frames that must keep every value are planes frames if these pay; in
 * the linear layout they are raw. */
static void close_bounds_end_in_planes(void **state) {
  (void)state;
  for (int kind = 0; kind < LOSSLESS_KINDS; kind++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
      for (int layout = SZGPU_LAYOUT_LINEAR; layout <= SZGPU_LAYOUT_TILE; layout++) {
        if (kind == FLAT) continue; /* constant */
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 200, 90, 0, 0);
        szgpu_params params = SZGPU_PARAMS_DEFAULTS;
        params.mode = SZGPU_MODE_ABS;
        params.bound = 1e-320;
        params.layout = (szgpu_layout)layout;
        params.frame_rows = kind == WEIGHTS ? 64 : 0;
        uint8_t *const field = lossless_make((lossless_kind)kind, &shape);
        test_archive const archive = lossless_compress(ctx, &params, &shape, field);
        void *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
        assert_memory_equal(restored, field, test_field_bytes(&shape));
        bool const has_planes = layout == SZGPU_LAYOUT_TILE && kind != NOISE;
        assert_int_equal(lossless_planes(&archive, 0)[0] != '\0', has_planes);
        assert_int_equal(archive_plain_version(&archive),
                         has_planes ? 7 : 1 + (layout == SZGPU_LAYOUT_TILE));
        test_archive const again = lossless_compress(three_threads, &params, &shape, field);
        assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
        size_t const row_bytes = test_field_bytes(&shape) / 200;
        uint8_t *const slab = test_allocate(70 * row_bytes);
        assert_int_equal(szgpu_decompress_slab(three_threads, archive.bytes, archive.byte_count, 33,
                                               70, slab, 70 * row_bytes),
                         SZGPU_OK);
        assert_memory_equal(slab, field + 33 * row_bytes, 70 * row_bytes);
        free(restored);
        free(slab);
        free(again.bytes);
        free(archive.bytes);
        free(field);
      }
}

/* One archive with a tile frame, a planes frame, and a raw frame too short for a book to pay. */
static void frames_with_a_bound_and_of_planes_go_together(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 130, 90, 0, 0);
  static const char *const kinds[] = {"tile", "planes", "raw"};
  size_t const half = 64 * 90;
  float *const field = test_make_waves(&shape), *const weights = lossless_make(WEIGHTS, &shape);
  for (size_t i = half; i < test_value_count(&shape); i++) field[i] = weights[i] * 1e20f;
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = 0.1;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.frame_rows = 64;
  for (params.zstd_level = 0; params.zstd_level <= 1; params.zstd_level++) {
    szgpu_frame_info frames[3];
    for (int f = 0; f < 3; f++) frames[f] = (szgpu_frame_info){.struct_bytes = sizeof *frames};
    test_archive const archive = lossless_compress(ctx, &params, &shape, field);
    assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 3, frames),
                     SZGPU_OK);
    for (int f = 0; f < 3; f++) assert_string_equal(frames[f].kind, kinds[f]);
    szgpu_info const info = test_inspect(&archive);
    szgpu_ctx *const serial = test_make_serial_ctx();
    szgpu_ctx *const contexts[] = {ctx, three_threads, serial};
    for (size_t i = 0; i < ARRAY_COUNT(contexts); i++) {
      float *const restored = test_decompress(contexts[i], &archive, test_field_bytes(&shape));
      test_assert_bound(&shape, field, restored, &info);
      assert_memory_equal(restored + half, field + half, test_field_bytes(&shape) - 4 * half);
      free(restored);
    }
    szgpu_destroy(serial);
    free(archive.bytes);
  }
  free(weights);
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(close_bounds_end_in_planes),
      cmocka_unit_test(frames_with_a_bound_and_of_planes_go_together),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
