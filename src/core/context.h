/* context.h - what a szgpu_ctx holds, and how the pipeline reports errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CONTEXT_H
#define SZG_CONTEXT_H

#include "container/format.h"
#include "core/arena.h"
#include "core/device.h"
#include "core/environment.h"
#include "core/memory.h"
#include "core/threads.h"

SZG_C_BEGIN

struct szgpu_ctx {
  szgpu_options options;
  szg_account account;        /* of all its buffers and the device's memory */
  uint64_t kept_bytes;        /* that the account had when the call began */
  uint64_t callers_bytes;     /* of the call's field and archive; UINT64_MAX: it has none */
  bool is_busy;               /* a call has it; accessed atomically */
  fenv_t callers_environment; /* of floating point, during a call */
  szg_threads threads;
  szg_buffer arena;                              /* workspace of the running call */
  szg_buffer codes;                              /* of the frame being compressed */
  szg_buffer packed;                             /* a section under zstd */
  szg_buffer leaves;                             /* of a checksum tree */
  szg_buffer sections[SZG_SECTION_KIND_COUNT];   /* of the frame being read, if not as stored */
  szg_buffer part_starts;                        /* where a frame's parts begin in its sections */
  szg_buffer run_masks[1 + SZG_MOST_MORE_FILLS]; /* of a frame's values */
  szg_buffer unedited; /* the same as `mapped`, if that has lost something */
  szg_buffer slab;     /* tiles that a slab cuts */
  szg_buffer levels;   /* of a levels frame: grids and more */
  szg_buffer mapped;   /* values of a frame in the type that is coded */
  bool has_device, is_device_given_up;
  szg_device device;
  szg_buffer head;           /* of an archive on the device: header, frame headers */
  szg_buffer plain, recoded; /* archives between the device and zstd */
  szg_buffer ring;           /* of a stream: frames on their way */
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

/* Resizes the ctx's arena as measured and returns it for a second run of the layout. */
szgpu_status szg_arena_open(szgpu_ctx *ctx, const szg_arena *measured,
                            szg_arena *arena) SZG_CHECKED;

/* The same in another buffer of the ctx. */
szgpu_status szg_arena_open_in(szgpu_ctx *ctx, szg_buffer *buffer, const szg_arena *measured,
                               szg_arena *arena) SZG_CHECKED;

/* Room for a frame's codes, in a buffer of the ctx that can be released before the arena. */
szgpu_status szg_codes_open(szgpu_ctx *ctx, uint64_t value_count, uint16_t **codes) SZG_CHECKED;

SZG_C_END

#endif
