/* calls.h - what every public call does: takes its ctx, checks its arguments, gives memory back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PIPELINE_CALLS_H
#define SZG_PIPELINE_CALLS_H

#include "container/open.h"
#include "core/context.h"
#include "core/tiles.h"

/* Takes the ctx for a call and clears the messages of the last one. A ctx that another call has, of
 * another thread or around a progress callback, is refused untouched: its messages are the other
 * call's. Until the end of the call, this thread rounds to nearest and keeps denormals. */
szgpu_status szg_begin_call(szgpu_ctx *ctx) SZG_CHECKED;

/* Gives back memory that is not to be kept, the caller's floating-point environment and the ctx,
 * and returns the call's status. Of several ctxs, the last one that was taken comes first. */
szgpu_status szg_end_call(szgpu_ctx *ctx, szgpu_status status);

/* The same without giving memory back, which may wait for the GPU. */
szgpu_status szg_leave_call(szgpu_ctx *ctx, szgpu_status status);

/* Frees all workspace of the ctx. */
void szg_give_memory_back(szgpu_ctx *ctx);

/* The structs' sizes in version 0.1.0; szgpu_info's is that of 0.2.0. */
enum {
  SZG_FIRST_PARAMS_BYTES = offsetof(szgpu_params, predictor) + sizeof(szgpu_predictor),
  SZG_FIRST_OPTIONS_BYTES = offsetof(szgpu_options, memory_limit),
  SZG_FIRST_INFO_BYTES = offsetof(szgpu_info, has_gaps) + sizeof(int)
};

/* Copies the caller's struct into ours. One from a later version may be longer; we accept it if the
 * bytes that we do not know are zero. What one from an earlier version lacks is zero. */
bool szg_take_struct(const void *given, size_t given_bytes, size_t first_bytes, void *known,
                     size_t known_bytes);

/* The fill values that the caller names, in their order. */
static inline uint32_t szg_call_fill_count(const szgpu_params *params) {
  return params->has_fill ? 1 + params->more_fill_count : 0;
}
static inline double szg_call_fill(const szgpu_params *params, uint32_t i) {
  return i ? params->more_fills[i - 1] : params->fill;
}

/* Checks what a compression is asked for: completes params, and derives the grid from the shape. */
szgpu_status szg_check_request(szgpu_ctx *ctx, const szgpu_params *given, const szgpu_shape *shape,
                               szgpu_params *params, szg_grid *grid) SZG_CHECKED;

/* What is read and what is written may not share memory. */
szgpu_status szg_check_apart(szgpu_ctx *ctx, const void *field, uint64_t field_bytes,
                             const void *archive, uint64_t archive_bytes) SZG_CHECKED;

/* The library reads and writes values by their type, so they must be aligned for it. */
szgpu_status szg_check_alignment(szgpu_ctx *ctx, szgpu_dtype dtype, const void *field) SZG_CHECKED;

/* Whether the ctx's decoder reads such an archive. */
szgpu_status szg_check_decoder(szgpu_ctx *ctx, const szg_header *header) SZG_CHECKED;

uint64_t szg_field_bytes(const szgpu_shape *shape, const szg_grid *grid);

/* Opens an archive, in full and for this ctx. */
szgpu_status szg_open_archive(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                              bool on_device, szg_opened *opened) SZG_CHECKED;

/* Opens an archive of which only a part is there; *is_open false: its header is missing, or, in the
 * compact form, any of it, and has been asked for. */
szgpu_status szg_open_part(szgpu_ctx *ctx, const void *archive, szg_asking *asking,
                           szg_opened *opened, bool *is_open) SZG_CHECKED;

/* Checks the memory into which value_count values of the archive are to be restored. */
szgpu_status szg_check_field(szgpu_ctx *ctx, const void *archive, const szg_opened *opened,
                             uint64_t value_count, const void *field,
                             size_t field_bytes) SZG_CHECKED;

/* What a GPU reads: the archive, or what its compact form stands for, in host memory. */
static inline const void *szg_bytes_for_gpu(const szg_opened *opened, const void *archive) {
  return opened->is_compact ? opened->bytes : archive;
}

#endif
