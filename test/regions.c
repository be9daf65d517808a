/* regions.c - archives of every kind of frame, and slices of fields.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "regions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lossless_fields.h"

static const struct {
  const char *name, *frame; /* the frame's kind in listings */
} kinds[] = {[REGION_TILE] = {"tile", "tile"},
             [REGION_TILE_SPOILT] = {"tile, spoilt", "tile"},
             [REGION_LEVELS] = {"levels", "levels"},
             [REGION_LEVELS_SPOILT] = {"levels, spoilt", "levels"},
             [REGION_LEVELS_WIDE] = {"levels, wide", "levels"},
             [REGION_LEVELS_QUINTIC] = {"levels, quintic", "levels"},
             [REGION_LINEAR] = {"linear", "linear"},
             [REGION_LINEAR_SPOILT] = {"linear, spoilt", "linear"},
             [REGION_CONSTANT] = {"constant", "constant"},
             [REGION_PLANES] = {"planes", "planes"},
             [REGION_TOP_PLANE] = {"top plane", "top plane"},
             [REGION_RAW] = {"raw", "raw"}};

const char *region_kind_name(int kind) { return kinds[kind].name; }

bool region_is_lossless(int kind) {
  return kind == REGION_PLANES || kind == REGION_TOP_PLANE || kind == REGION_RAW;
}

static const szgpu_shape shapes[REGION_SHAPES] = {
    {SZGPU_F32, 1, {20001}},        {SZGPU_F64, 1, {9000}},          {SZGPU_F32, 2, {200, 133}},
    {SZGPU_F64, 2, {129, 65}},      {SZGPU_F32, 3, {50, 39, 71}},    {SZGPU_F64, 3, {33, 1, 70}},
    {SZGPU_F32, 3, {35, 70, 1}},    {SZGPU_F32, 4, {5, 17, 19, 40}}, {SZGPU_F64, 4, {3, 1, 40, 50}},
    {SZGPU_F32, 4, {40, 3, 1, 50}}, {SZGPU_F32, 4, {1, 12, 25, 6}}};

static const szgpu_dtype lossless_dtypes[] = {SZGPU_F32,  SZGPU_F64, SZGPU_U8,
                                              SZGPU_BF16, SZGPU_F16, SZGPU_FP8};

szgpu_shape region_shape(int kind, size_t number, int is_other_type) {
  szgpu_shape shape = shapes[number];
  if (region_is_lossless(kind))
    shape.dtype = lossless_dtypes[(number + (size_t)is_other_type) % ARRAY_COUNT(lossless_dtypes)];
  return shape;
}

static szgpu_params params_of(int kind, uint64_t frame_rows, int zstd_level) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  bool const is_linear =
      kind == REGION_LINEAR || kind == REGION_LINEAR_SPOILT || kind == REGION_TOP_PLANE;
  bool const is_levels = kind == REGION_LEVELS || kind == REGION_LEVELS_SPOILT ||
                         kind == REGION_LEVELS_WIDE || kind == REGION_LEVELS_QUINTIC;
  params.mode = region_is_lossless(kind) ? SZGPU_MODE_LOSSLESS : SZGPU_MODE_ABS;
  params.bound = kind == REGION_LEVELS_WIDE ? 1e-5 : 0.05; /* below 2^-22 of the values */
  if (kind == REGION_LEVELS_QUINTIC) params.bound = 5e-4;
  params.layout = is_linear ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
  if (is_levels) params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  if (kind == REGION_TILE || kind == REGION_TILE_SPOILT) params.predictor = SZGPU_PREDICTOR_LORENZO;
  if (kind == REGION_LINEAR_SPOILT) params.radius = 16;
  params.frame_rows = frame_rows;
  params.zstd_level = zstd_level;
  return params;
}

static void spoil(const szgpu_shape *shape, void *field) {
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    if (test_hash(i) % 50 == 0) test_set_value(shape->dtype, field, i, 1e20);
    if (test_hash(i) % 97 == 0) test_set_value(shape->dtype, field, i, NAN);
    if (test_hash(i) % 201 == 0) test_set_value(shape->dtype, field, i, 300.0);
  }
}

static void *make_field(int kind, const szgpu_shape *shape) {
  if (kind == REGION_RAW) return test_make_bits(shape);
  if (region_is_lossless(kind)) return lossless_make(WEIGHTS, shape);
  if (kind == REGION_LEVELS_QUINTIC) return test_make_smooth(shape);
  void *const field = test_make_waves(shape);
  for (uint64_t i = 0; kind == REGION_CONSTANT && i < test_value_count(shape); i++)
    test_set_value(shape->dtype, field, i, test_hash(i) % 97 ? -2.5 : i % 2 ? 1e20 : NAN);
  if (kind == REGION_TILE_SPOILT || kind == REGION_LEVELS_SPOILT || kind == REGION_LINEAR_SPOILT)
    spoil(shape, field);
  return field;
}

test_archive region_archive(szgpu_ctx *ctx, int kind, const szgpu_shape *shape, uint64_t frame_rows,
                            int zstd_level) {
  szgpu_params const params = params_of(kind, frame_rows, zstd_level);
  void *const field = make_field(kind, shape);
  test_archive const archive = test_compress(ctx, &params, shape, field);
  free(field);
  return archive;
}

bool region_has_kind(const test_archive *archive, int kind) {
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, 1, &frame),
                   SZGPU_OK);
  return strcmp(frame.kind, kinds[kind].frame) == 0 &&
         (kind != REGION_LEVELS_WIDE || frame.lattice_bits == 64) &&
         (kind != REGION_LEVELS_QUINTIC || strcmp(frame.stencil, "blended quintic") == 0);
}

size_t region_bytes(const szgpu_shape *shape, const szgpu_region *region) {
  size_t bytes = test_dtype_bytes(shape->dtype);
  for (int axis = 0; axis < shape->ndim; axis++) bytes *= region->count[axis];
  return bytes;
}

uint8_t *region_slice(const szgpu_shape *shape, const szgpu_region *region, const uint8_t *values) {
  size_t const width = test_dtype_bytes(shape->dtype), bytes = region_bytes(shape, region);
  uint8_t *const slice = test_allocate(bytes);
  for (uint64_t i = 0; i < bytes / width; i++) {
    uint64_t rest = i, at = 0, stride = 1;
    for (int axis = shape->ndim - 1; axis >= 0; axis--) {
      at += (region->first[axis] + rest % region->count[axis]) * stride;
      rest /= region->count[axis];
      stride *= shape->dims[axis];
    }
    memcpy(slice + i * width, values + at * width, width);
  }
  return slice;
}

/* Any box, but often a small one, or one that reaches to the ends. */
szgpu_region region_random(test_random *random, const szgpu_shape *shape) {
  szgpu_region region = {{77, 77, 77, 77}, {0}};
  for (int axis = 0; axis < shape->ndim; axis++) {
    uint64_t const extent = shape->dims[axis], kind = test_random_below(random, 4);
    uint64_t const first = kind == 0 ? 0 : test_random_below(random, extent), most = extent - first;
    region.first[axis] = first;
    region.count[axis] = kind <= 1   ? most
                         : kind == 2 ? 1 + test_random_below(random, most)
                                     : 1 + test_random_below(random, most < 20 ? most : 20);
  }
  return region;
}
