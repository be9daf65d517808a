/* levels_choose.cu - how a levels frame predicts: chosen on the host, on a copy of the values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole frame goes to the host, where the CPU's choice runs with the ctx's threads. That gives
 * the CPU's choice, but a GPU's call then waits for the link and for the host.
 */
#include "frames/kinds.h"
#include "frames/levels.h"
#include "frames/write_cuda.h"

/* Memory of the CPU's choice: that of a compression on the CPU. */
static szgpu_status open_plan(szgpu_ctx *ctx, const szg_write_request *request,
                              szg_write_plan *plan) {
  szg_arena arena = {};
  szg_write_plan_carve(&arena, request, plan);
  SZG_TRY(szg_arena_open(ctx, &arena, &arena));
  szg_write_plan_carve(&arena, request, plan);
  return SZGPU_OK;
}

/* Brings the frame's values to the host. */
static szgpu_status fetch_values(const szg_write_job_cuda *job) {
  szg_device *const device = &job->ctx->device;
  szg_buffer *const copy = &job->ctx->plain;
  if (szg_buffer_reset(copy, job->raw_bytes) != SZGPU_OK)
    return szg_fail(job->ctx, SZGPU_OUT_OF_MEMORY, "a copy of %llu bytes is needed on the host",
                    (unsigned long long)job->raw_bytes);
  SZG_TRY(szg_device_copy(device, copy->bytes, job->values, job->raw_bytes));
  return szg_device_wait(device, true);
}

szgpu_status szg_levels_choose_cuda(const szg_write_job_cuda *job, szg_levels_choice *choice) {
  szg_write_plan plan = {};
  szg_write_job there = {};
  SZG_TRY(open_plan(job->ctx, job->request, &plan));
  SZG_TRY(fetch_values(job));
  there.ctx = job->ctx;
  there.request = job->request;
  there.bound = job->bound;
  there.grid = job->grid;
  there.values = job->ctx->plain.bytes;
  there.plan = &plan;
  there.raw_bytes = job->raw_bytes;
  there.part_count = szg_div_up(job->grid.tile_count, SZG_PART_TILES);
  SZG_TRY(szg_levels_choose(&there, choice));
  return szg_device_mark(&job->ctx->device, "choice");
}
