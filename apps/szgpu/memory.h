/* memory.h - large buffers: each page takes memory from the first write to it, until released.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_MEMORY_H
#define SZGPU_APP_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory {
  unsigned char *bytes; /* aligned to a page; NULL: none */
  size_t byte_count;
};

/* bytes is NULL if memory is out. */
struct memory memory_take(uint64_t byte_count);
/* Gives back the pages after the first byte_count bytes. */
void memory_trim(struct memory *memory, size_t byte_count);
void memory_give_back(struct memory *memory);

#endif
