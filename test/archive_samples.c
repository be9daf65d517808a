/* archive_samples.c - small archives of most kinds.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive_samples.h"

#include <math.h>
#include <stdlib.h>

#include "archive_edit.h"
#include "container/format.h"

test_archive sample_make(szgpu_ctx *ctx, szgpu_shape shape, szgpu_params params, void *field) {
  if (params.predictor == SZGPU_PREDICTOR_AUTO) params.predictor = SZGPU_PREDICTOR_LORENZO;
  test_archive const roomy = archive_compress(ctx, &params, &shape, field);
  test_archive const archive = archive_copy(&roomy, roomy.byte_count);
  free(roomy.bytes);
  free(field);
  return archive;
}

test_archive sample_lone(szgpu_ctx *ctx) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 100, 0, 0, 0);
  float *const field = test_allocate(400);
  for (int i = 0; i < 100; i++) field[i] = (float)(i % 2);
  return sample_make(ctx, shape, test_params(SZGPU_MODE_ABS, 10.0), field);
}

test_archive sample_constant(szgpu_ctx *ctx) {
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, 200, 0, 0, 0);
  double *const field = test_allocate(1600);
  for (int i = 0; i < 200; i++) field[i] = i % 50 == 9 ? INFINITY : i % 7 ? 2.5 : 1e20;
  return sample_make(ctx, shape, test_params(SZGPU_MODE_REL, 1e-3), field);
}

test_archive sample_wide(szgpu_ctx *ctx) {
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, 9, 11, 0, 0);
  double *const field = test_allocate(9 * 11 * 8);
  for (int i = 0; i < 9 * 11; i++) field[i] = 1e6 + 2e-5 * (i % 11) + (i == 50 ? 1e3 : 0);
  test_archive const archive = sample_make(ctx, shape, test_params(SZGPU_MODE_ABS, 1e-5), field);
  assert_int_equal(archive.bytes[120], SZG_ARITHMETIC_F64_WIDE);
  return archive;
}

test_archive sample_waves(szgpu_ctx *ctx, szgpu_shape shape, double bound, uint64_t frame_rows,
                          int level) {
  szgpu_params params = test_params(SZGPU_MODE_ABS, bound);
  params.frame_rows = frame_rows;
  params.zstd_level = level;
  return sample_make(ctx, shape, params, test_make_waves(&shape));
}

static szgpu_params interpolation_params(double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = bound;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  return params;
}

test_archive sample_levels(szgpu_ctx *ctx, szgpu_shape shape, double bound) {
  szgpu_params const params = interpolation_params(bound);
  void *const field = test_make_waves(&shape);
  test_set_value(shape.dtype, field, 5, (double)INFINITY);
  for (uint64_t i = 40; i < 100; i += 7) test_set_value(shape.dtype, field, i, 1e20);
  return sample_make(ctx, shape, params, field);
}

/* The root is steepest where quintic stencils do not have all their points. */
test_archive sample_blended(szgpu_ctx *ctx) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 9, 10, 12, 0);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0; i < 9 * 10 * 12; i++)
    field[i] = (float)sqrt((double)(i % 12) * (i / 12 % 10) * (i / 120));
  test_archive const archive = sample_make(ctx, shape, interpolation_params(0.005), field);
  assert_true(test_has_blended(&archive) && !test_has_quintic(&archive));
  return archive;
}

test_archive sample_quintic(szgpu_ctx *ctx) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 11, 10, 12, 0);
  test_archive const archive =
      sample_make(ctx, shape, interpolation_params(0.005), test_make_smooth(&shape));
  assert_true(test_has_quintic(&archive));
  return archive;
}
