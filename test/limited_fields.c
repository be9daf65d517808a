/* limited_fields.c - fields that would leave their range if archives had no limits.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "limited_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"

/* ---- fields ---- */

static double number_of(int kind, double wave, uint64_t i) {
  switch (kind) {
    case LIMITED_NEGATIVE:
      return -number_of(LIMITED_RAIN, wave, i);
    case LIMITED_PLATEAUS:
      return wave < -30 ? 5.1 : wave > 40 ? 103.7 : 45.1 + wave;
    case LIMITED_FAR:
      return 60.1 + wave / 20;
    default:
      return wave > 0 ? wave : test_hash(i) % 2 ? 0.0 : -0.0;
  }
}

static bool is_half(szgpu_dtype dtype) { return dtype == SZGPU_F16 || dtype == SZGPU_BF16; }
static bool is_integer(szgpu_dtype dtype) {
  return dtype != SZGPU_F32 && dtype != SZGPU_F64 && !is_half(dtype);
}

void *limited_make(int kind, const szgpu_shape *shape) {
  szgpu_dtype const dtype = shape->dtype;
  szgpu_shape waves = *shape;
  waves.dtype = SZGPU_F64;
  double *const numbers = test_make_waves(&waves);
  void *const field = test_allocate(test_field_bytes(shape));
  bool const is_unsigned = dtype == SZGPU_U8 || dtype == SZGPU_U16;
  if (kind == LIMITED_NEGATIVE && is_unsigned) kind = LIMITED_RAIN;
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    double const x = number_of(kind, numbers[i], i);
    if (is_half(dtype))
      ((uint16_t *)field)[i] = test_nearest_half(dtype, x);
    else
      test_set_value(dtype, field, i, is_integer(dtype) ? rint(x) : x);
  }
  free(numbers);
  return field;
}

/* ---- how to compress them ---- */

static const struct {
  szgpu_layout layout;
  szgpu_predictor predictor;
  int zstd_level;
  uint64_t frame_rows;
} ways[LIMITED_WAYS] = {
    {SZGPU_LAYOUT_LINEAR, SZGPU_PREDICTOR_AUTO, 0, 0},
    {SZGPU_LAYOUT_LINEAR, SZGPU_PREDICTOR_AUTO, 3, 16},
    {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_LORENZO, 0, 0},
    {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_LORENZO, 1, 16},
    {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_INTERPOLATION, 0, 0},
    {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_INTERPOLATION, 3, 16},
    {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_AUTO, 0, 0},
};

static const struct {
  szgpu_mode mode;
  double bound;
} bounds[LIMITED_BOUNDS] = {{SZGPU_MODE_REL, 1e-2}, {SZGPU_MODE_PSNR, 30},
                            {SZGPU_MODE_ABS, 2.7},  {SZGPU_MODE_REL, 3},
                            {SZGPU_MODE_REL, 1e-6}, {SZGPU_MODE_ABS, 1e-10}};

bool limited_is_close(size_t bound) { return bounds[bound].bound < 1e-5; }

szgpu_params limited_params(size_t way, size_t bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = bounds[bound].mode;
  params.bound = bounds[bound].bound;
  params.layout = ways[way].layout;
  params.predictor = ways[way].predictor;
  params.zstd_level = ways[way].zstd_level;
  params.frame_rows = ways[way].frame_rows;
  params.keep = SZGPU_KEEP_RANGE;
  return params;
}

static const szgpu_dtype dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_U8,  SZGPU_I8,  SZGPU_U16,
                                     SZGPU_I16, SZGPU_F16, SZGPU_I32, SZGPU_BF16};
static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {9000}},
                                     {SZGPU_F32, 2, {70, 131}},
                                     {SZGPU_F32, 3, {34, 17, 36}},
                                     {SZGPU_F32, 4, {3, 9, 18, 34}}};

void limited_each_case(void (*use)(const limited_case *c, void *user), void *user) {
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++)
    for (size_t w = 0; w < LIMITED_WAYS; w++)
      for (size_t b = 0; b < LIMITED_BOUNDS; b++) {
        limited_case c = {limited_params(w, b), shapes[(t + w + b) % ARRAY_COUNT(shapes)], 0,
                          limited_is_close(b)};
        bool const has_all_kinds = t < 2; /* the types that are coded as they are */
        c.shape.dtype = dtypes[t];
        for (c.kind = 0; c.kind < LIMITED_FIELDS; c.kind++)
          if (has_all_kinds || (t + w + b) % LIMITED_FIELDS == (size_t)c.kind) use(&c, user);
      }
}

/* ---- their archives ---- */

int limited_frame_of(const test_archive *archive) {
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, 1, &frame),
                   SZGPU_OK);
  bool const is_narrow = frame.lattice_bits == 32;
  if (strcmp(frame.kind, "linear") == 0) return LIMITED_LINEAR;
  if (strcmp(frame.kind, "levels") == 0) return is_narrow ? LIMITED_LEVELS_32 : LIMITED_LEVELS_64;
  if (strcmp(frame.kind, "tile") != 0) return LIMITED_OTHERS;
  return frame.lattice_bits == 16 ? LIMITED_TILE_16 : is_narrow ? LIMITED_TILE_32 : LIMITED_TILE_64;
}

/* Limits are numbers of the field's type, and so of the coded one. */
static double nearest(szgpu_dtype dtype, double x) {
  if (is_integer(dtype)) return rint(x) + 0.0;
  if (is_half(dtype)) return test_half_of_bits(dtype, test_nearest_half(dtype, x)) + 0.0;
  return (dtype == SZGPU_F32 ? (double)(float)x : x) + 0.0; /* -0 becomes +0 */
}

test_archive limited_closer(const test_archive *archive, const szgpu_info *info,
                            const void *restored, double limits[2]) {
  szgpu_dtype const dtype = info->shape.dtype;
  double const middle = test_value_at(dtype, restored, 3), spread = fabs(middle) / 16 + 1;
  limits[0] = nearest(dtype, middle - spread);
  limits[1] = nearest(dtype, middle + spread);
  return archive_with_limits(archive, limits);
}
