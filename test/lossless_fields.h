/* lossless_fields.h - fields of every type for tests of the lossless mode.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_LOSSLESS_FIELDS_H
#define SZG_TEST_LOSSLESS_FIELDS_H

#include "support.h"

/* WEIGHTS: standard deviation 0.02; narrower types have an f32's upper bytes. FLAT: one value.
 * ONE_BIT: one value except for a bit. FEW: four values, one rare. NOISE: random bits.
 * REPEATS: weights whose bits other than the exponent repeat: zstd shortens these planes, codes the
 * others. */
typedef enum lossless_kind {
  WEIGHTS,
  FLAT,
  ONE_BIT,
  FEW,
  NOISE,
  REPEATS,
  LOSSLESS_KINDS
} lossless_kind;

/* A new field in a block of exactly its size. */
void *lossless_make(lossless_kind kind, const szgpu_shape *shape);

/* The types of szgpu_dtype, 0 to 9. */
enum { LOSSLESS_DTYPES = 10 };

/* Lossless, in the layout of test_layout. */
szgpu_params lossless_params(void);

/* The planes of a frame as szgpu_frame_info gives them; "" for a raw frame. */
const char *lossless_planes(const test_archive *archive, uint64_t frame);

/* The archive, in a block of exactly its size. */
test_archive lossless_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                               const void *field);

#endif
