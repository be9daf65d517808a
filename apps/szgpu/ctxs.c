/* ctxs.c - the library's contexts of a run: one, or one for each of several GPUs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ctxs.h"

#include <unistd.h>

#include "launcher.h"
#include "memory.h"

/* The library opens a GPU when a frame needs it, which might be never; so a wrong index is told of
 * here. A run without any GPU is the library's to explain. */
static int check_devices(const struct options *options) {
  struct report const report = options_report(options);
  if (options->device_count == 0) return CODE_OK; /* counting would start CUDA: 0.1 s */
  int const there = szgpu_device_count();
  for (int i = 0; i < options->device_count && there > 0; i++)
    if (options->devices[i] >= there)
      return report_failure(&report, CODE_RESOURCE, shown_input(report.file),
                            "no usable GPU (GPU %d: there are %d); %s", options->devices[i], there,
                            report.remedy_without_gpu);
  return CODE_OK;
}

static int create_ctx(const struct options *options, const szgpu_options *settings,
                      szgpu_ctx **ctx) {
  struct report const report = options_report(options);
  szgpu_status const status = szgpu_create(ctx, settings);
  if (status == SZGPU_OK) return CODE_OK;
  const char *name = shown_input(report.file);
  if (status != SZGPU_UNSUPPORTED || !report.remedy_without_gpu)
    return report_status(&report, name, status, NULL);
  if (settings->backend == SZGPU_BACKEND_CUDA)
    return report_failure(&report, CODE_RESOURCE, name, "this build has no CUDA; %s",
                          report.remedy_without_gpu);
  return report_failure(&report, CODE_RESOURCE, name,
                        "this build has no CUDA, which --decoder %s needs; %s",
                        szgpu_decoder_name(settings->decoder), report.remedy_without_gpu);
}

/* How many ctxs there are to be. */
static int wanted_ctxs(const struct options *options) {
  if (!options->device_list) return 1;
  if (options->device_count > 0) return options->device_count;
  int const there = szgpu_device_count();
  return there < 1 ? 1 : there < SZGPU_MAX_CTXS ? there : SZGPU_MAX_CTXS;
}

int ctxs_create(const struct options *options, struct progress *progress, struct ctxs *ctxs) {
  szgpu_options settings = options->context;
  int const wanted = wanted_ctxs(options);
  if (settings.threads == 0) settings.threads = launcher_threads(sysconf(_SC_NPROCESSORS_ONLN));
  if (progress->is_wanted) {
    settings.progress = progress_tick;
    settings.progress_user = progress;
  }
  int code = check_devices(options);
  for (int i = 0; i < wanted && code == CODE_OK; i++) {
    if (options->device_list) settings.device = options->device_count > 0 ? options->devices[i] : i;
    code = create_ctx(options, &settings, &ctxs->all[i]);
    ctxs->count += code == CODE_OK;
  }
  return code;
}

void ctxs_close(struct ctxs *ctxs) {
  for (int i = ctxs->count; i-- > 0;) szgpu_destroy(ctxs->all[i]);
  ctxs->count = 0;
}

void ctxs_start_cuda(const struct job *job) {
  szgpu_params const params = SZGPU_PARAMS_DEFAULTS;
  szgpu_shape const shape = {.dtype = SZGPU_F32, .ndim = 1, .dims = {1}};
  size_t bytes;
  if (job->options->context.backend != SZGPU_BACKEND_CUDA) return;
  for (int i = 0; i < job->ctx_count; i++)
    if (szgpu_sizes(job->ctxs[i], &params, &shape, NULL, &bytes) != SZGPU_OK) return;
}

szgpu_status ctxs_limit_memory(const struct job *job) {
  szgpu_status status = SZGPU_OK;
  for (int i = 0; i < job->ctx_count && status == SZGPU_OK; i++)
    status = memory_limit_ctx(job->ctxs[i]);
  return status;
}
