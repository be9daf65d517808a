/* memory.c - growable buffers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/memory.h"

#include <stdlib.h>

szgpu_status szg_buffer_reserve(szg_buffer *buffer, size_t more_bytes) {
  SZG_REQUIRE(more_bytes <= SIZE_MAX - buffer->used_bytes, SZGPU_OUT_OF_MEMORY);
  size_t const needed_bytes = buffer->used_bytes + more_bytes;
  if (needed_bytes <= buffer->capacity_bytes) return SZGPU_OK;
  size_t const half = buffer->capacity_bytes / 2;
  size_t const grown_bytes =
      half <= SIZE_MAX - buffer->capacity_bytes ? buffer->capacity_bytes + half : SIZE_MAX;
  size_t const capacity_bytes = grown_bytes > needed_bytes ? grown_bytes : needed_bytes;
  uint8_t *const bytes = realloc(buffer->bytes, capacity_bytes);
  SZG_REQUIRE(bytes, SZGPU_OUT_OF_MEMORY);
  buffer->bytes = bytes;
  buffer->capacity_bytes = capacity_bytes;
  return SZGPU_OK;
}

szgpu_status szg_buffer_reset(szg_buffer *buffer, size_t bytes) {
  buffer->used_bytes = 0;
  if (bytes <= buffer->capacity_bytes) return SZGPU_OK;
  szg_buffer_release(buffer); /* nothing to copy, so no realloc */
  buffer->bytes = malloc(bytes);
  SZG_REQUIRE(buffer->bytes, SZGPU_OUT_OF_MEMORY);
  buffer->capacity_bytes = bytes;
  return SZGPU_OK;
}

void szg_buffer_release(szg_buffer *buffer) {
  free(buffer->bytes);
  *buffer = (szg_buffer){0};
}

void *szg_allocate_zeroed(size_t bytes) { return calloc(1, bytes); }

void szg_free(void *memory) { free(memory); }
