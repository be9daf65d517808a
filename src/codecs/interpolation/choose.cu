/* choose.cu - how a levels frame predicts: the sample on the GPU, the choice on the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --sample--> counts --last blocks--> costs --> [host: the choice]
 *
 * All later launches depend on the choice, so the host waits for the costs. What the stream has to
 * do after them does not depend on the choice.
 */
#include "codecs/interpolation/frame.h"
#include "codecs/write_cuda.h"

szgpu_status szg_levels_frame_carve_zeroed_cuda(szg_arena *arena, const szg_write_request *request,
                                                szg_write_plan_cuda *plan) {
  (void)request;
  szg_levels_probe_carve_zeroed_cuda(arena, &plan->levels.probe);
  return SZGPU_OK;
}

szgpu_status szg_levels_choose_cuda(const szg_write_job_cuda *job, szg_levels_choice *choice) {
  szg_levels_asked const asked = {job->request, job->bound, &job->grid};
  const szg_probe_plan_cuda *const plan = &job->plan->levels.probe;
  szg_device *const device = &job->ctx->device;
  szg_probe_source source;
  choice->is_chosen = false;
  if (!szg_levels_probe_source(&asked, job->values, &source)) return SZGPU_OK;
  SZG_TRY(szg_levels_probe_cuda(&source, plan, device->stream));
  SZG_TRY(szg_device_set(device, job->plan->outliers.tile_marks, 0, job->grid.tile_count));
  SZG_TRY(szg_device_await(device, plan->answer->told, plan->answer->told_count));
  SZG_TRY(szg_device_mark(device, "choice"));
  szg_levels_decide(&asked, &plan->answer->probes, choice);
  return SZGPU_OK;
}
