/* context.h - what a szgpu_ctx holds, and how the pipeline reports errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CONTEXT_H
#define SZG_CONTEXT_H

#include "core/arena.h"
#include "core/device.h"
#include "core/environment.h"
#include "core/memory.h"
#include "core/threads.h"

SZG_C_BEGIN

/* Buffers that the folders above keep in a ctx. Each numbers its own, SZG_KEPT_..., after those of
 * the folder below it: container.h of container, frame.h of codecs, mapped.h of frames, pipeline.h
 * of pipeline. */
enum { SZG_KEPT_ROOM = 64 };

struct szgpu_ctx {
  szgpu_options options;
  szg_account account;        /* of all its buffers and the device's memory */
  uint64_t kept_bytes;        /* that the account had when the call began */
  uint64_t callers_bytes;     /* of the call's field and archive; UINT64_MAX: it has none */
  bool is_busy;               /* a call has it; accessed atomically */
  fenv_t callers_environment; /* of floating point, during a call */
  szg_threads threads;
  szg_buffer arena; /* workspace of the running call */
  szg_buffer kept[SZG_KEPT_ROOM];
  bool has_device, is_device_given_up;
  szg_device device;
  szg_buffer ring; /* of a stream: frames on their way */
  bool is_ring_pinned;
  char error[320];
  char note[400]; /* an error and what it is about */
};

/* Lets the ctx's empty buffers count to its account. */
void szg_ctx_open_account(szgpu_ctx *ctx);
/* Empties the ctx's buffers. */
void szg_ctx_release_buffers(szgpu_ctx *ctx);

/* Notes a detail for szgpu_last_error and returns the status. printf-like. */
szgpu_status szg_fail(szgpu_ctx *ctx, szgpu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4))) SZG_CHECKED;

/* szg_buffer_reset for a buffer of the ctx. what: for the error, as in "room for codes". */
szgpu_status szg_ctx_make_room(szgpu_ctx *ctx, szg_buffer *buffer, uint64_t bytes,
                               const char *what) SZG_CHECKED;

/* Resizes the ctx's arena as measured and returns it for a second run of the layout. */
szgpu_status szg_arena_open(szgpu_ctx *ctx, const szg_arena *measured,
                            szg_arena *arena) SZG_CHECKED;

/* The same in another buffer of the ctx. */
szgpu_status szg_arena_open_in(szgpu_ctx *ctx, szg_buffer *buffer, const szg_arena *measured,
                               szg_arena *arena) SZG_CHECKED;

SZG_C_END

#endif
