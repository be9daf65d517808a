/* backend.c - which backend does a call's work.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/backend.h"

#include <stdio.h>

#include "huffman/decoders/decoders.h"

/* For SZGPU_BACKEND_AUTO and fields in ordinary host memory: bytes per microsecond that one CPU
 * thread codes, that it can copy to or from a GPU, and that all threads together can copy; the
 * fixed cost of a GPU call, and the cost of starting CUDA. Measured: docs/benchmarks.md. */
enum {
  CPU_BYTES_PER_US = 900,
  COPIED_BYTES_PER_US = 6000,
  MOST_COPIED_BYTES_PER_US = 30000,
  CUDA_CALL_US = 500,
  CUDA_START_US = 320000
};

static bool is_cpu_decoder(szgpu_decoder decoder) {
  return !szg_decoder_runs_on(decoder, SZGPU_BACKEND_CUDA);
}
static bool is_cuda_decoder(szgpu_decoder decoder) {
  return !szg_decoder_runs_on(decoder, SZGPU_BACKEND_CPU);
}

bool szg_backend_has_decoder(szgpu_backend backend, szgpu_decoder decoder) {
  if (!SZG_HAS_CUDA && (backend == SZGPU_BACKEND_CUDA || is_cuda_decoder(decoder))) return false;
  return szg_decoder_runs_on(decoder, backend);
}

/* With a memory limit the driver copies, on one thread (core/staging.h). */
static uint64_t copied_bytes_per_us(const szgpu_ctx *ctx) {
  uint64_t const thread_count = ctx->account.limit_bytes ? 1 : (uint64_t)ctx->threads.count;
  return szg_min_u64(COPIED_BYTES_PER_US * thread_count, MOST_COPIED_BYTES_PER_US);
}

/* Whether a call on a field of this size is faster on the GPU than on the CPU. */
static bool pays_on_cuda(const szgpu_ctx *ctx, uint64_t field_bytes) {
  uint64_t const cpu_us = field_bytes / (CPU_BYTES_PER_US * (uint64_t)ctx->threads.count);
  uint64_t const cuda_us =
      field_bytes / copied_bytes_per_us(ctx) + (ctx->has_device ? CUDA_CALL_US : CUDA_START_US);
  return cuda_us < cpu_us;
}

bool szg_takes_cuda(const szgpu_ctx *ctx, uint64_t field_bytes) {
  if (ctx->options.backend != SZGPU_BACKEND_AUTO) return ctx->options.backend == SZGPU_BACKEND_CUDA;
  bool const has_device = SZG_HAS_CUDA && !ctx->is_device_given_up;
  if (!has_device || is_cpu_decoder(ctx->options.decoder)) return false;
  return is_cuda_decoder(ctx->options.decoder) || pays_on_cuda(ctx, field_bytes);
}

bool szg_falls_back(szgpu_ctx *ctx, szgpu_status status) {
  if (ctx->options.backend != SZGPU_BACKEND_AUTO || is_cuda_decoder(ctx->options.decoder))
    return false;
  bool const is_lost = status == SZGPU_NO_DEVICE || status == SZGPU_DEVICE_ERROR;
  bool const is_short = status == SZGPU_OUT_OF_MEMORY || status == SZGPU_MEMORY_LIMIT;
  if (!is_lost && !is_short && status != SZGPU_UNSUPPORTED) return false;
  snprintf(ctx->note, sizeof ctx->note, "the CPU does it: %s (%s)", szgpu_status_text(status),
           ctx->error);
  ctx->is_device_given_up = is_lost;
  ctx->error[0] = '\0';
  return true;
}
