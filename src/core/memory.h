/* memory.h - growable buffers, and an account of them: the library allocates only here.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_MEMORY_H
#define SZG_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

SZG_C_BEGIN

/* What a ctx has taken, of the host's memory and a GPU's together. Threads may use it at once. */
typedef struct szg_account {
  uint64_t limit_bytes; /* 0: none */
  uint64_t taken_bytes;
  uint64_t
      refused_bytes; /* what would have been taken in all when the limit was met; 0: it was not */
} szg_account;

/* Notes that `bytes` are to be taken. SZGPU_MEMORY_LIMIT: that would be over the limit; they do not
 * count. account may be NULL. */
szgpu_status szg_account_take(szg_account *account, uint64_t bytes) SZG_CHECKED;
void szg_account_give_back(szg_account *account, uint64_t bytes);

/* An empty buffer is all zero except for its account, to which its capacity counts; NULL: none. */
typedef struct szg_buffer {
  szg_account *account;
  uint8_t *bytes;
  size_t used_bytes;
  size_t capacity_bytes;
} szg_buffer;

/* Makes room for more_bytes after used_bytes; growth is geometric. */
szgpu_status szg_buffer_reserve(szg_buffer *buffer, size_t more_bytes) SZG_CHECKED;

/* Makes room for exactly `bytes` in all and forgets the contents. */
szgpu_status szg_buffer_reset(szg_buffer *buffer, size_t bytes) SZG_CHECKED;

/* Empties the buffer. */
void szg_buffer_release(szg_buffer *buffer);

/* For the few objects that are not buffers. Zeroed; NULL if out of memory. */
void *szg_allocate_zeroed(size_t bytes);
void szg_free(void *memory);

SZG_C_END

#endif
