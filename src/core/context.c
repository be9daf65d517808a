/* context.c - a ctx's error sentences and its memory on the host.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>

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
  if (measured->overflowed || szg_buffer_reset(buffer, bytes) != SZGPU_OK)
    return szg_fail(ctx, SZGPU_OUT_OF_MEMORY, "a workspace of %llu bytes is needed",
                    (unsigned long long)bytes);
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
  if (szg_buffer_reset(&ctx->codes, bytes) != SZGPU_OK)
    return szg_fail(ctx, SZGPU_OUT_OF_MEMORY, "room for codes of %llu bytes is needed",
                    (unsigned long long)bytes);
  *codes = (uint16_t *)(void *)ctx->codes.bytes;
  return SZGPU_OK;
}
