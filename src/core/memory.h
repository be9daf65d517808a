/* memory.h - growable buffers: only these functions of the library allocate.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_MEMORY_H
#define SZG_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

SZG_C_BEGIN

/* An empty buffer is all zero. */
typedef struct szg_buffer {
  uint8_t *bytes;
  size_t used_bytes;
  size_t capacity_bytes;
} szg_buffer;

/* Makes room for more_bytes after used_bytes; growth is geometric. */
szgpu_status szg_buffer_reserve(szg_buffer *buffer, size_t more_bytes) SZG_CHECKED;

/* Makes room for exactly `bytes` in all and forgets the contents. */
szgpu_status szg_buffer_reset(szg_buffer *buffer, size_t bytes) SZG_CHECKED;

void szg_buffer_release(szg_buffer *buffer);

/* For the few objects that are not buffers. Zeroed; NULL if out of memory. */
void *szg_allocate_zeroed(size_t bytes);
void szg_free(void *memory);

SZG_C_END

#endif
