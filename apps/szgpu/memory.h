/* memory.h - large buffers: each page takes memory from the first write to it, until released.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * With --memory-limit or --memory, the command's buffers and the library's workspace together stay
 * below it.
 */
#ifndef SZGPU_APP_MEMORY_H
#define SZGPU_APP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "szgpu.h"

struct memory {
  unsigned char *bytes; /* aligned to a page; NULL: none */
  size_t byte_count;
};

/* Sets the limit, which an option gave; 0: none. */
void memory_set_limit(uint64_t byte_count, const char *option);
const char *memory_limit_option(void);
/* Whether so many bytes may be taken in addition to what is taken. */
bool memory_allows(uint64_t byte_count);
/* For buffers that are not of this file: that they take so many bytes, or not any more. */
void memory_count(uint64_t byte_count);
void memory_uncount(uint64_t byte_count);
/* Lets the ctx's workspace take what the limit leaves. */
szgpu_status memory_limit_ctx(szgpu_ctx *ctx);

/* bytes is NULL if memory is out, or over the limit. */
struct memory memory_take(uint64_t byte_count);
/* Gives back the pages after the first byte_count bytes. */
void memory_trim(struct memory *memory, size_t byte_count);
void memory_give_back(struct memory *memory);

#endif
