/* archive_ways.h - what holds for an archive however it is made, read, and in how much memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_ARCHIVE_WAYS_H
#define SZG_TEST_ARCHIVE_WAYS_H

#include <stdbool.h>

#include "support.h"

/* Both ctxs make the same archive; the field comes back within its bound, and a slab of it alike.
 * dims[0] >= 1. Returns what the archive states, with the version that it states outside of its
 * compact form. */
szgpu_info assert_comes_back(szgpu_ctx *ctx, szgpu_ctx *other, const szgpu_params *params,
                             const szgpu_shape *shape, const void *field);

/* Streams by the ctxs, from callbacks and from lent memory, make the archive of `ctx`, and its
 * field. */
void assert_streams_make_the_same(szgpu_ctx *ctx, szgpu_ctx *const *ctxs, int ctx_count,
                                  const szgpu_params *params, const szgpu_shape *shape,
                                  const void *field);

/* A region, and a preview of level 1 if it has one, are parts of the restored field. The shape has
 * three dims, even ones. */
void assert_parts_are_of_the_whole(szgpu_ctx *ctx, const test_archive *archive,
                                   const szgpu_shape *shape, const szgpu_region *box,
                                   bool has_preview);

/* A ctx of the CPU that is limited to what szgpu_sizes states compresses the field. */
void assert_stated_workspace_suffices(const szgpu_params *params, const szgpu_shape *shape,
                                      const void *field);

#endif
