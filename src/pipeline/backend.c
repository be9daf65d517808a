/* backend.c - which backend does a call's work.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/backend.h"

#include <stdio.h>

#include "core/bytes.h"
#include "frames/kinds.h"
#include "frames/open.h"
#include "huffman/decoders/decoders.h"

/* For SZGPU_BACKEND_AUTO. Measured: docs/benchmarks.md, "From host memory". */
enum { CUDA_CALL_US = 500, CUDA_START_US = 320000 };

/* Bytes of the field per microsecond: that a CPU's thread codes; that one copies to a GPU or from
 * there, into pages that are new; that all of them copy at most. */
static const struct {
  uint64_t interpolated, other, copied, most_copied;
} speeds[] = {
    [false] = {500, 1500, 8000, 30000}, /* compression */
    [true] = {600, 1500, 2400, 20000}   /* restoring */
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

szg_job szg_compressing_job(const szgpu_params *params) {
  return (szg_job){.interpolates = params->mode != SZGPU_MODE_LOSSLESS &&
                                   params->layout == SZGPU_LAYOUT_TILE &&
                                   params->predictor != SZGPU_PREDICTOR_LORENZO};
}

szg_job szg_restoring_job(const szg_opened *opened) {
  szg_job job = {.restores = true, .interpolates = true};
  szg_frame_header frame;
  uint64_t const offset = szg_frame_offset(opened, 0), there = opened->available_bytes;
  if (offset >= there) return job;
  uint64_t const frame_bytes = szg_min_u64(szg_frame_bytes(opened, 0), there - offset);
  if (szg_frame_open(opened, 0, opened->bytes + offset, frame_bytes, &frame, NULL) == SZGPU_OK) {
    const szg_frame_kind *const kind = &szg_frame_kinds[szg_kind_of(&opened->header, &frame)];
    job.interpolates = kind->traits & SZG_KIND_INTERPOLATES;
  }
  return job;
}

uint64_t szg_cpu_us(szg_job job, int thread_count, uint64_t field_bytes) {
  uint64_t const coded =
      job.interpolates ? speeds[job.restores].interpolated : speeds[job.restores].other;
  return field_bytes / (coded * (uint64_t)thread_count);
}

uint64_t szg_cuda_us(szg_job job, int thread_count, uint64_t field_bytes, bool has_device) {
  uint64_t const copied = szg_min_u64(speeds[job.restores].copied * (uint64_t)thread_count,
                                      speeds[job.restores].most_copied);
  return field_bytes / copied + (has_device ? CUDA_CALL_US : CUDA_START_US);
}

/* Whether the job is faster on the GPU. With a memory limit the driver copies, on one thread
 * (core/staging.h). */
static bool pays_on_cuda(const szgpu_ctx *ctx, szg_job job, uint64_t field_bytes) {
  int const copying = ctx->account.limit_bytes ? 1 : ctx->threads.count;
  return szg_cuda_us(job, copying, field_bytes, ctx->has_device) <
         szg_cpu_us(job, ctx->threads.count, field_bytes);
}

/* Whether options and build leave a choice; if not, *takes_cuda is what they say. */
static bool has_choice(const szgpu_ctx *ctx, bool *takes_cuda) {
  const szgpu_options *const options = &ctx->options;
  bool const is_auto = options->backend == SZGPU_BACKEND_AUTO;
  bool const has_device = SZG_HAS_CUDA && !ctx->is_device_given_up;
  *takes_cuda = is_auto ? has_device && is_cuda_decoder(options->decoder)
                        : options->backend == SZGPU_BACKEND_CUDA;
  return is_auto && has_device && !is_cpu_decoder(options->decoder) &&
         !is_cuda_decoder(options->decoder);
}

bool szg_takes_cuda(const szgpu_ctx *ctx, szg_job job, uint64_t field_bytes) {
  bool takes_cuda;
  return has_choice(ctx, &takes_cuda) ? pays_on_cuda(ctx, job, field_bytes) : takes_cuda;
}

bool szg_restores_on_cuda(const szgpu_ctx *ctx, const szg_opened *opened, uint64_t field_bytes) {
  bool takes_cuda;
  return has_choice(ctx, &takes_cuda) ? pays_on_cuda(ctx, szg_restoring_job(opened), field_bytes)
                                      : takes_cuda;
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
