/* cuda.h - the pipeline on a GPU: what szgpu.c calls, and what its .cu files share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PIPELINE_CUDA_H
#define SZG_PIPELINE_CUDA_H

#include "core/device.h"
#include "pipeline/pipeline.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* The twins of the calls in pipeline.h. Field and archive are each in host or in device memory.
 * Calls wait for the ctx's stream before they return. */
szgpu_status szg_join_cuda(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                           const void *field, szg_grid *grid) SZG_CHECKED;
szgpu_status szg_compress_cuda(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid, const void *field, void *archive,
                               uint64_t capacity, uint64_t *archive_bytes) SZG_CHECKED;
szgpu_status szg_compress_frame_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                     const szg_grid *grid, const void *values, void *bytes,
                                     uint64_t capacity, szg_frame_piece *piece) SZG_CHECKED;
szgpu_status szg_compress_sizes_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     uint64_t *workspace_bytes,
                                     uint64_t *archive_bytes) SZG_CHECKED;
szgpu_status szg_compress_reserve_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                       const szgpu_shape *shape, const szg_grid *grid) SZG_CHECKED;

/* Reads the header of an archive that may be in device memory; it stays valid until the ctx's next
 * call. */
szgpu_status szg_open_cuda(szgpu_ctx *ctx, const void *archive, uint64_t archive_bytes,
                           szg_opened *opened) SZG_CHECKED;
szgpu_status szg_decompress_cuda(szgpu_ctx *ctx, const void *archive, const szg_opened *opened,
                                 uint64_t first_row, uint64_t row_count, void *field) SZG_CHECKED;

/* Restores a box of the field. *is_done false: the CPU has to do it, because sections are under
 * zstd or values are coded in another type, or because the archive is in host memory and the box a
 * small part of it. */
szgpu_status szg_decompress_region_cuda(szgpu_ctx *ctx, const void *archive,
                                        const szg_opened *opened, const szg_box *box, void *field,
                                        bool *is_done) SZG_CHECKED;

/* Pins the ctx's ring, so that copies from and to it overlap with kernels; if the system refuses
 * that, they are slower. unpin: before the ring's memory is freed, while no ctx copies. */
void szg_pin_ring_cuda(szgpu_ctx *ctx);
void szg_unpin_ring_cuda(szgpu_ctx *ctx);

/* For what runs on the CPU with this backend too. The archive in host memory: a copy if it is on
 * the device, valid until the ctx's next call. Waits for the ctx's stream. */
szgpu_status szg_fetch_archive_cuda(szgpu_ctx *ctx, const void *archive, uint64_t archive_bytes,
                                    const void **host_archive) SZG_CHECKED;
/* Where the host puts a field that may be on the device, and its copy from there. */
szgpu_status szg_stage_field_cuda(szgpu_ctx *ctx, void *field, uint64_t field_bytes,
                                  void **host_field) SZG_CHECKED;
szgpu_status szg_send_field_cuda(szgpu_ctx *ctx, const void *host_field, uint64_t field_bytes,
                                 void *field) SZG_CHECKED;

/* Closes the device, or only frees the memory that the ctx has on it. */
void szg_close_cuda(szgpu_ctx *ctx);
void szg_release_memory_cuda(szgpu_ctx *ctx);

/* ---- for the .cu files of the pipeline ---- */

/* Between these two calls the ctx's device is the current one; the ctx's first call opens it.
 * `status` is the call's result: errors of CUDA get a message. */
szgpu_status szg_cuda_begin(szgpu_ctx *ctx, int *previous) SZG_CHECKED;
szgpu_status szg_cuda_end(szgpu_ctx *ctx, int previous, szgpu_status status) SZG_CHECKED;

/* Whether the device can reach the caller's pointer. SZGPU_BAD_ARGUMENT: another device. */
szgpu_status szg_cuda_reaches(szgpu_ctx *ctx, const void *pointer, bool *is_reached) SZG_CHECKED;

/* Device memory of the measured size, to be carved. */
szgpu_status szg_cuda_arena_open(szgpu_ctx *ctx, const szg_arena *measured,
                                 szg_arena *arena) SZG_CHECKED;
/* Pinned memory of the measured size, to be carved. */
szgpu_status szg_cuda_pinned_open(szgpu_ctx *ctx, const szg_arena *measured,
                                  szg_arena *arena) SZG_CHECKED;

SZG_C_END

#endif
