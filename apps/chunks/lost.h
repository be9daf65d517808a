/* lost.h - whether an archive would turn values into missing ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CHUNK_LOST_H
#define CHUNK_LOST_H

#include <stdbool.h>

#include "szgpu.h"

/* *loses: other values than missing ones are restored as a fill value. The archive is that of the
 * field, whose values have `width` bytes each. */
szgpu_status chunk_find_lost(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                             const void *field, size_t field_bytes, size_t width, bool *loses);

/* What such a chunk is to be compressed with. */
szgpu_params chunk_lossless_params(const szgpu_params *params);

#endif
