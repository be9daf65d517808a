/* backend.h - which backend does a call's work; the calls on a GPU, also in builds without CUDA.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PIPELINE_BACKEND_H
#define SZG_PIPELINE_BACKEND_H

#include "container/open.h"
#include "core/context.h"

#ifdef SZGPU_CUDA
#include "pipeline/async.h"
#include "pipeline/cuda.h"
enum { SZG_HAS_CUDA = 1 };
#else
enum { SZG_HAS_CUDA = 0 };
#define szg_device_count() 0
#define szg_join_cuda(...) SZGPU_UNSUPPORTED
#define szg_compress_cuda(...) SZGPU_UNSUPPORTED
#define szg_compress_frame_cuda(...) SZGPU_UNSUPPORTED
#define szg_compress_sizes_cuda(...) SZGPU_UNSUPPORTED
#define szg_compress_reserve_cuda(...) SZGPU_UNSUPPORTED
#define szg_open_cuda(...) SZGPU_UNSUPPORTED
#define szg_decompress_cuda(...) SZGPU_UNSUPPORTED
#define szg_decompress_region_cuda(ctx, archive, opened, box, field, is_done) \
  ((void)(is_done), SZGPU_UNSUPPORTED)
#define szg_fetch_archive_cuda(...) SZGPU_UNSUPPORTED
#define szg_stage_field_cuda(...) SZGPU_UNSUPPORTED
#define szg_send_field_cuda(...) SZGPU_UNSUPPORTED
#define szg_async_bytes_cuda(ctx, call, bytes) \
  ((void)(ctx), (void)(call), (void)(bytes), SZGPU_UNSUPPORTED)
#define szg_async_run_cuda(ctx, call) ((void)(ctx), (void)(call), SZGPU_UNSUPPORTED)
#define szg_pin_ring_cuda(ctx) (void)(ctx)
#define szg_unpin_ring_cuda(ctx) (void)(ctx)
#define szg_close_cuda(ctx) (void)(ctx)
#define szg_release_memory_cuda(ctx) (void)(ctx)
#endif

/* Whether the build has the backend, and the backend the decoder. */
bool szg_backend_has_decoder(szgpu_backend backend, szgpu_decoder decoder);

/* What a call does, as far as the speed of a CPU depends on it. */
typedef struct szg_job {
  bool restores;
  bool interpolates; /* most frames do, or may */
} szg_job;

szg_job szg_compressing_job(const szgpu_params *params);

/* Goes by the first frame; if that cannot be read, which the call itself will find, it might
 * interpolate. */
szg_job szg_restoring_job(const szg_opened *opened);

/* Microseconds that a job on a field in ordinary host memory takes with a CPU's threads, and on a
 * GPU to and from which so many copy. has_device: CUDA has been started for it. */
uint64_t szg_cpu_us(szg_job job, int thread_count, uint64_t field_bytes);
uint64_t szg_cuda_us(szg_job job, int thread_count, uint64_t field_bytes, bool has_device);

/* Whether a call on a field of this size goes to the GPU. */
bool szg_takes_cuda(const szgpu_ctx *ctx, szg_job job, uint64_t field_bytes);
/* The same of restoring; reads the archive only where there is a choice. */
bool szg_restores_on_cuda(const szgpu_ctx *ctx, const szg_opened *opened, uint64_t field_bytes);

/* Whether the CPU must repeat a call that failed on the GPU; notes why, once. The ctx gives up a
 * lost device; a device too small for this call may serve the next one. */
bool szg_falls_back(szgpu_ctx *ctx, szgpu_status status);

#endif
