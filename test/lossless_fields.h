/* lossless_fields.h - fields of every type for tests of the lossless mode.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_LOSSLESS_FIELDS_H
#define SZG_TEST_LOSSLESS_FIELDS_H

#include "support.h"

/* WEIGHTS: of deviation 0.02, as the upper bytes of an f32 where the type is narrower. FLAT: one
 * value. ONE_BIT: the same but for a bit in the middle. FEW: four values, one of them rare. NOISE:
 * any bits. */
typedef enum lossless_kind { WEIGHTS, FLAT, ONE_BIT, FEW, NOISE, LOSSLESS_KINDS } lossless_kind;

/* A new field in memory of just its size. */
void *lossless_make(lossless_kind kind, const szgpu_shape *shape);

/* Types in the order of szgpu_dtype. */
enum { LOSSLESS_DTYPES = 6 };

/* Of the layout that test_layout says. */
szgpu_params lossless_params(void);

/* What szgpu_frame_info says of the planes of a frame: "" of a raw one. */
const char *lossless_planes(const test_archive *archive, uint64_t frame);

/* The archive, in memory of just its size. */
test_archive lossless_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                               const void *field);

#endif
