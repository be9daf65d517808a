/* context.c - a ctx's error sentences and its memory on the host.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>

/* Calls the function for each buffer of the ctx. */
static void visit_buffers(szgpu_ctx *ctx, void (*visit)(szgpu_ctx *, szg_buffer *)) {
  visit(ctx, &ctx->arena);
  visit(ctx, &ctx->ring);
  for (int i = 0; i < SZG_KEPT_ROOM; i++) visit(ctx, &ctx->kept[i]);
}

static void set_account(szgpu_ctx *ctx, szg_buffer *buffer) { buffer->account = &ctx->account; }

void szg_ctx_open_account(szgpu_ctx *ctx) {
  ctx->account.limit_bytes = ctx->options.memory_limit;
  visit_buffers(ctx, set_account);
}

static void release_buffer(szgpu_ctx *ctx, szg_buffer *buffer) {
  (void)ctx;
  szg_buffer_release(buffer);
}

void szg_ctx_release_buffers(szgpu_ctx *ctx) { visit_buffers(ctx, release_buffer); }

szgpu_status szg_fail(szgpu_ctx *ctx, szgpu_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(ctx->error, sizeof ctx->error, format, arguments);
  va_end(arguments);
  return status;
}

szgpu_status szg_ctx_make_room(szgpu_ctx *ctx, szg_buffer *buffer, uint64_t bytes,
                               const char *what) {
  szgpu_status const status = szg_buffer_reset(buffer, bytes);
  if (status == SZGPU_OK) return SZGPU_OK;
  return szg_fail(ctx, status, "%s of %llu bytes is needed", what, (unsigned long long)bytes);
}

szgpu_status szg_arena_open_in(szgpu_ctx *ctx, szg_buffer *buffer, const szg_arena *measured,
                               szg_arena *arena) {
  uint64_t const bytes = measured->used_bytes + SZG_ARENA_ALIGNMENT;
  if (measured->overflowed) return szg_fail(ctx, SZGPU_OUT_OF_MEMORY, "no memory is that large");
  SZG_TRY(szg_ctx_make_room(ctx, buffer, bytes, "a workspace"));
  uint8_t *const base = buffer->bytes;
  size_t const misalignment = (uintptr_t)base % SZG_ARENA_ALIGNMENT;
  size_t const skip = misalignment ? SZG_ARENA_ALIGNMENT - misalignment : 0;
  *arena = (szg_arena){.base = base + skip, .capacity_bytes = bytes - skip};
  return SZGPU_OK;
}

szgpu_status szg_arena_open(szgpu_ctx *ctx, const szg_arena *measured, szg_arena *arena) {
  return szg_arena_open_in(ctx, &ctx->arena, measured, arena);
}
