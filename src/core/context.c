/* context.c - a ctx's error sentences and its memory on the host.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>

/* Calls the function for each buffer of the ctx. */
static void visit_buffers(szgpu_ctx *ctx, void (*visit)(szgpu_ctx *, szg_buffer *)) {
  szg_buffer *const buffers[] = {&ctx->arena,       &ctx->codes,   &ctx->packed, &ctx->leaves,
                                 &ctx->part_starts, &ctx->slab,    &ctx->levels, &ctx->head,
                                 &ctx->plain,       &ctx->recoded, &ctx->mapped, &ctx->unedited,
                                 &ctx->ring};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) visit(ctx, buffers[i]);
  for (int i = 0; i < SZG_SECTION_KIND_COUNT; i++) visit(ctx, &ctx->sections[i]);
  for (int i = 0; i <= SZG_MOST_MORE_FILLS; i++) visit(ctx, &ctx->run_masks[i]);
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

szgpu_status szg_arena_open_in(szgpu_ctx *ctx, szg_buffer *buffer, const szg_arena *measured,
                               szg_arena *arena) {
  uint64_t const bytes = measured->used_bytes + SZG_ARENA_ALIGNMENT;
  szgpu_status const status =
      measured->overflowed ? SZGPU_OUT_OF_MEMORY : szg_buffer_reset(buffer, bytes);
  if (status != SZGPU_OK)
    return szg_fail(ctx, status, "a workspace of %llu bytes is needed", (unsigned long long)bytes);
  uint8_t *const base = buffer->bytes;
  size_t const misalignment = (uintptr_t)base % SZG_ARENA_ALIGNMENT;
  size_t const skip = misalignment ? SZG_ARENA_ALIGNMENT - misalignment : 0;
  *arena = (szg_arena){.base = base + skip, .capacity_bytes = bytes - skip};
  return SZGPU_OK;
}

szgpu_status szg_arena_open(szgpu_ctx *ctx, const szg_arena *measured, szg_arena *arena) {
  return szg_arena_open_in(ctx, &ctx->arena, measured, arena);
}

szgpu_status szg_codes_open(szgpu_ctx *ctx, uint64_t value_count, uint16_t **codes) {
  uint64_t const bytes = value_count * sizeof **codes; /* at most half of the values' bytes */
  szgpu_status const status = szg_buffer_reset(&ctx->codes, bytes);
  if (status != SZGPU_OK)
    return szg_fail(ctx, status, "room for codes of %llu bytes is needed",
                    (unsigned long long)bytes);
  *codes = (uint16_t *)(void *)ctx->codes.bytes;
  return SZGPU_OK;
}
