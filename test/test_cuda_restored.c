/* test_cuda_restored.c - restored values are recognized alike on both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"

/* What a chunk holds when it is written again. */
typedef enum content { FRESH, RESTORED, HALF_WRITTEN, TO_BE_CONTINUED, CONTENTS } content;

/* A new field; what is restored in it went through `params`. */
static void *make(const szgpu_params *params, const szgpu_shape *shape, content what) {
  size_t const byte_count = test_field_bytes(shape);
  size_t const unit = 8 * (byte_count / 16); /* whole values of every type */
  uint8_t *const field = test_make_waves(shape);
  if (what == FRESH) return field;
  if (what == TO_BE_CONTINUED) {
    memset(field + byte_count - unit, 0, unit);
    return field;
  }
  test_archive const archive = test_compress(cuda_cpu, params, shape, field);
  uint8_t *const restored = test_decompress(cuda_cpu, &archive, byte_count);
  if (what == HALF_WRITTEN) memcpy(restored, field, unit);
  free(archive.bytes);
  free(field);
  return restored;
}

static void restored_values_are_recognized_alike(void **state) {
  (void)state;
  static const szgpu_dtype dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_I16, SZGPU_I32};
  static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {1}},
                                       {SZGPU_F32, 1, {70001}},
                                       {SZGPU_F32, 2, {257, 131}},
                                       {SZGPU_F32, 3, {61, 47, 67}},
                                       {SZGPU_F32, 4, {2, 17, 9, 33}}};
  static const double bounds[] = {1e-7, 1e-3, 0.3, 2};
  uint64_t number = 0;
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++)
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
      for (size_t b = 0; b < ARRAY_COUNT(bounds); b++)
        for (int what = FRESH; what < CONTENTS; what++)
          for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++, number++) {
            if (cuda_is_quick() && test_hash(number) % 31) continue;
            szgpu_shape shape = shapes[s];
            shape.dtype = dtypes[t];
            szgpu_params params = test_params(SZGPU_MODE_ABS, bounds[b]);
            params.predictor = (szgpu_predictor)p;
            params.frame_rows = test_hash(number + 1) % 3 ? 0 : 64;
            params.keep = test_hash(number + 2) % 2 ? SZGPU_KEEP_RESTORED : SZGPU_KEEP_ALL;
            void *const field = make(&params, &shape, (content)what);
            cuda_case const c = {params, shape, field};
            cuda_compare(&c);
            free(field);
          }
  cuda_assert_no_complaints();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(restored_values_are_recognized_alike)};
  int const code = cuda_exit_code();
  return code ? code : cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
