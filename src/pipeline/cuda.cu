/* cuda.cu - a ctx's device: opened when needed, its memory, its errors in words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/cuda.h"

static bool is_device_failure(szgpu_status status) {
  return status == SZGPU_NO_DEVICE || status == SZGPU_DEVICE_ERROR || status == SZGPU_OUT_OF_MEMORY;
}

/* Says why a CUDA call failed, unless the ctx has a message already. */
static szgpu_status explain(szgpu_ctx *ctx, szgpu_status status) {
  const char *const why = szg_device_why();
  if (status == SZGPU_UNSUPPORTED && !ctx->error[0])
    return szg_fail(ctx, status, "a frame of that many tiles does not fit a GPU's lists");
  if (!is_device_failure(status) || ctx->error[0]) return status;
  if (*why) return szg_fail(ctx, status, "GPU %d: %s", ctx->options.device, why);
  if (status == SZGPU_OUT_OF_MEMORY) return szg_fail(ctx, status, "the host's memory");
  return szg_fail(ctx, status, "GPU %d: a block there has less than %d bytes of shared memory",
                  ctx->options.device, (int)SZG_LEAST_SHARED_BYTES);
}

szgpu_status szg_cuda_begin(szgpu_ctx *ctx, int *previous) {
  (void)szg_device_why(); /* an error that the caller left there is not ours */
  if (!ctx->has_device) {
    szgpu_status const status =
        szg_device_open(ctx->options.device, ctx->options.stream, &ctx->device);
    if (status != SZGPU_OK) return explain(ctx, status);
    ctx->has_device = true;
    ctx->device.account = &ctx->account;
    ctx->device.threads = &ctx->threads;
  }
  ctx->device.round_trips = 0;
  ctx->device.mark_count = 0;
  szgpu_status const status = szg_device_enter(&ctx->device, previous);
  if (ctx->account.limit_bytes) szg_staging_close(&ctx->device.staging, &ctx->account);
  return status == SZGPU_OK ? szg_device_mark(&ctx->device, "start") : explain(ctx, status);
}

szgpu_status szg_cuda_end(szgpu_ctx *ctx, int previous, szgpu_status status) {
  szgpu_status const explained = status == SZGPU_OK ? status : explain(ctx, status);
  bool is_lost = status == SZGPU_DEVICE_ERROR || status == SZGPU_NO_DEVICE;
  /* Kernels may still use the caller's memory, which must be free when the call returns. */
  if (status != SZGPU_OK && szg_device_wait_for_all(&ctx->device) != SZGPU_OK) {
    (void)szg_device_why(); /* the failed call has reported its own reason */
    is_lost = true;
  }
  szg_device_leave(previous);
  if (is_lost) szg_close_cuda(ctx);
  return explained;
}

void szg_close_cuda(szgpu_ctx *ctx) {
  if (ctx->has_device) szg_device_close(&ctx->device);
  ctx->has_device = false;
}

void szg_release_memory_cuda(szgpu_ctx *ctx) {
  int previous = 0;
  szg_unpin_ring_cuda(ctx);
  if (!ctx->has_device || szg_device_enter(&ctx->device, &previous) != SZGPU_OK) return;
  szg_device_release_memory(&ctx->device);
  szg_device_leave(previous);
}

szgpu_status szg_cuda_reaches(szgpu_ctx *ctx, const void *pointer, bool *is_reached) {
  szgpu_status const status = szg_device_reaches(&ctx->device, pointer, is_reached);
  if (status != SZGPU_BAD_ARGUMENT) return status;
  return szg_fail(ctx, status, "field and archive must be in host memory or on GPU %d",
                  ctx->options.device);
}

void szg_pin_ring_cuda(szgpu_ctx *ctx) {
  int previous = 0;
  if (ctx->is_ring_pinned || szg_cuda_begin(ctx, &previous) != SZGPU_OK) return;
  bool const is_pinned = szg_device_pin(ctx->ring.bytes, ctx->ring.capacity_bytes);
  ctx->is_ring_pinned = szg_cuda_end(ctx, previous, SZGPU_OK) == SZGPU_OK && is_pinned;
}

void szg_unpin_ring_cuda(szgpu_ctx *ctx) {
  if (ctx->is_ring_pinned) szg_device_unpin(ctx->ring.bytes);
  ctx->is_ring_pinned = false;
}

/* ---- what runs on the CPU with this backend too ---- */

/* A copy of `bytes` in host memory, if they are on the device; else *host is `bytes`. */
static szgpu_status fetch(szgpu_ctx *ctx, const void *bytes, uint64_t byte_count, szg_buffer *copy,
                          const void **host) {
  bool is_reached = false;
  *host = bytes;
  SZG_TRY(szg_cuda_reaches(ctx, bytes, &is_reached));
  if (!is_reached) return szg_device_wait(&ctx->device, false);
  SZG_TRY(szg_buffer_reset(copy, byte_count));
  SZG_TRY(szg_device_copy(&ctx->device, copy->bytes, bytes, byte_count));
  *host = copy->bytes;
  return szg_device_wait(&ctx->device, true);
}

szgpu_status szg_fetch_archive_cuda(szgpu_ctx *ctx, const void *archive, uint64_t archive_bytes,
                                    const void **host_archive) {
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  return szg_cuda_end(ctx, previous,
                      fetch(ctx, archive, archive_bytes, &ctx->kept[SZG_KEPT_PLAIN], host_archive));
}

/* Finds where the host writes a field. */
static szgpu_status stage(szgpu_ctx *ctx, void *field, uint64_t field_bytes, void **host_field) {
  bool is_reached = false;
  *host_field = field;
  SZG_TRY(szg_cuda_reaches(ctx, field, &is_reached));
  if (!is_reached) return SZGPU_OK;
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_RECODED], field_bytes));
  *host_field = ctx->kept[SZG_KEPT_RECODED].bytes;
  return SZGPU_OK;
}

szgpu_status szg_stage_field_cuda(szgpu_ctx *ctx, void *field, uint64_t field_bytes,
                                  void **host_field) {
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  return szg_cuda_end(ctx, previous, stage(ctx, field, field_bytes, host_field));
}

szgpu_status szg_send_field_cuda(szgpu_ctx *ctx, const void *host_field, uint64_t field_bytes,
                                 void *field) {
  int previous = 0;
  if (host_field == field) return SZGPU_OK;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  szgpu_status status = szg_device_copy(&ctx->device, field, host_field, field_bytes);
  if (status == SZGPU_OK) status = szg_device_wait(&ctx->device, false);
  return szg_cuda_end(ctx, previous, status);
}

szgpu_status szg_cuda_arena_open(szgpu_ctx *ctx, const szg_arena *measured, szg_arena *arena) {
  uint64_t free_bytes = 0;
  szgpu_status const status =
      measured->overflowed ? SZGPU_OUT_OF_MEMORY
                           : szg_device_reserve(&ctx->device, measured->used_bytes, &free_bytes);
  if (status == SZGPU_OUT_OF_MEMORY)
    return szg_fail(ctx, status, "%llu bytes of device memory are needed, %llu are free",
                    (unsigned long long)measured->used_bytes, (unsigned long long)free_bytes);
  SZG_TRY(status);
  *arena = {ctx->device.arena, 0, ctx->device.arena_bytes, false};
  return SZGPU_OK;
}

szgpu_status szg_cuda_pinned_open(szgpu_ctx *ctx, const szg_arena *measured, szg_arena *arena) {
  szgpu_status const status = measured->overflowed
                                  ? SZGPU_OUT_OF_MEMORY
                                  : szg_device_reserve_pinned(&ctx->device, measured->used_bytes);
  if (status == SZGPU_OUT_OF_MEMORY)
    return szg_fail(ctx, status, "%llu bytes of pinned host memory are needed",
                    (unsigned long long)measured->used_bytes);
  SZG_TRY(status);
  *arena = {ctx->device.pinned, 0, ctx->device.pinned_bytes, false};
  return SZGPU_OK;
}
