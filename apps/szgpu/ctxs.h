/* ctxs.h - the library's contexts of a run: one, or one for each of several GPUs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_CTXS_H
#define SZGPU_APP_CTXS_H

#include "job.h"

struct ctxs {
  szgpu_ctx *all[SZGPU_MAX_CTXS];
  int count;
};

/* Returns an exit code, and prints a sentence if it is not CODE_OK. ctxs: zeroed; to be closed in
 * any case. */
int ctxs_create(const struct options *options, struct progress *progress, struct ctxs *ctxs);
void ctxs_close(struct ctxs *ctxs);

/* Starts CUDA, if --backend cuda asks for it, so that the time of what follows is without that, as
 * compression's is, which asks for sizes first. A failure is the next call's to report. */
void ctxs_start_cuda(const struct job *job);

/* Lets each ctx's workspace take what the limit leaves. */
szgpu_status ctxs_limit_memory(const struct job *job);

#endif
