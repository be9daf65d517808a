/* archive_samples.h - small archives of most kinds, to be damaged.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_ARCHIVE_SAMPLES_H
#define SZG_TEST_ARCHIVE_SAMPLES_H

#include "support.h"

/* Compresses a field, frees it, and returns the archive in a block of exactly its size. AUTO stands
 * for LORENZO. */
test_archive sample_make(szgpu_ctx *ctx, szgpu_shape shape, szgpu_params params, void *field);

test_archive sample_lone(szgpu_ctx *ctx); /* one symbol */
test_archive sample_constant(szgpu_ctx *ctx);
test_archive sample_wide(szgpu_ctx *ctx); /* the 64-bit lattice */
test_archive sample_waves(szgpu_ctx *ctx, szgpu_shape shape, double bound, uint64_t frame_rows,
                          int zstd_level);
/* Of the tile layout, by interpolation, with exact and fill values. */
test_archive sample_levels(szgpu_ctx *ctx, szgpu_shape shape, double bound);
test_archive sample_blended(szgpu_ctx *ctx); /* of three axes, cubic */
test_archive sample_quintic(szgpu_ctx *ctx); /* likewise, and quintic */

#endif
