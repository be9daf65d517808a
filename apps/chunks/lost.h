/* lost.h - whether an archive would turn values into missing ones.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A value that is nearer to a fill value than the bound may be restored as that fill value, if it
 * lies among the data. Who reads the data takes it for missing.
 */
#ifndef CHUNK_LOST_H
#define CHUNK_LOST_H

#include <stdbool.h>
#include <stddef.h>

#include "szgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *loses: other values than missing ones are restored as a fill value. The archive is that of the
 * field, whose values have `width` bytes each. */
szgpu_status chunk_find_lost(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                             const void *field, size_t field_bytes, size_t width, bool *loses);

/* The same. ignores_zero: a fill value of 0 does not mean missing: it only stands where nothing was
 * written. */
szgpu_status chunk_find_lost_but_zero(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                      const void *field, size_t field_bytes, size_t width,
                                      bool ignores_zero, bool *loses);

/* Whether it may be so, by what the archive states. Only then do the two above restore it. */
bool chunk_may_lose(const szgpu_info *info, bool ignores_zero);

/* What such a chunk is to be compressed with. */
szgpu_params chunk_lossless_params(const szgpu_params *params);

#ifdef __cplusplus
}
#endif

#endif
