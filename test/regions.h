/* regions.h - archives of every kind of frame, and slices of fields: for tests of regions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_REGIONS_H
#define SZG_TEST_REGIONS_H

#include <stdbool.h>

#include "support.h"

/* SPOILT: with exact and fill values, and, if linear, escapes. */
enum {
  REGION_TILE,
  REGION_TILE_SPOILT,
  REGION_LEVELS,
  REGION_LEVELS_SPOILT,
  REGION_LEVELS_WIDE,
  REGION_LEVELS_QUINTIC,
  REGION_LINEAR,
  REGION_LINEAR_SPOILT,
  REGION_CONSTANT,
  REGION_PLANES,
  REGION_TOP_PLANE,
  REGION_RAW,
  REGION_KINDS
};

const char *region_kind_name(int kind);
bool region_is_lossless(int kind);

/* An archive that has frames of the kind, if of this shape they are smaller than others. Types
 * other than F32 and F64 are for lossless kinds. */
test_archive region_archive(szgpu_ctx *ctx, int kind, const szgpu_shape *shape, uint64_t frame_rows,
                            int zstd_level);

/* Whether the first frame is of the kind. */
bool region_has_kind(const test_archive *archive, int kind);

/* Shapes of one to four dims, some of which are 1. Lossless kinds have all types, two of them with
 * each shape. */
enum { REGION_SHAPES = 11 };
szgpu_shape region_shape(int kind, size_t number, int is_other_type);

/* Any box, but often a small one, or one that reaches to the ends. */
szgpu_region region_random(test_random *random, const szgpu_shape *shape);

size_t region_bytes(const szgpu_shape *shape, const szgpu_region *region);
/* What the region has, of a field's values. */
uint8_t *region_slice(const szgpu_shape *shape, const szgpu_region *region, const uint8_t *values);

#endif
