/* async.h - a call that only puts work in a stream: what szgpu_async.c gives to async.cu.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PIPELINE_ASYNC_H
#define SZG_PIPELINE_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

SZG_C_BEGIN

/* The arguments, which are checked. */
typedef struct szg_async_call {
  const szgpu_params *params;
  const szgpu_async_item *items;
  uint32_t item_count;
  void *workspace;
  uint64_t workspace_bytes;
  struct CUstream_st *stream;
  bool writes; /* it compresses; else it decompresses */
} szg_async_call;

/* Opens the ctx's GPU, and says what workspace the call needs. */
szgpu_status szg_async_bytes_cuda(szgpu_ctx *ctx, const szg_async_call *call,
                                  uint64_t *workspace_bytes) SZG_CHECKED;

/* Puts the work in the stream. */
szgpu_status szg_async_run_cuda(szgpu_ctx *ctx, const szg_async_call *call) SZG_CHECKED;

SZG_C_END

#endif
