/* memory.c - large buffers: each page takes memory from the first write to it, until released.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t whole_pages(size_t byte_count) {
  size_t const page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  return (byte_count + page_bytes - 1) / page_bytes * page_bytes;
}

static uint64_t limit = UINT64_MAX, taken; /* taken <= limit */

static const char *limit_option = "";

void memory_set_limit(uint64_t byte_count, const char *option) {
  limit = byte_count ? byte_count : UINT64_MAX;
  limit_option = option;
}

const char *memory_limit_option(void) { return limit_option; }

bool memory_allows(uint64_t byte_count) { return byte_count <= limit - taken; }

void memory_count(uint64_t byte_count) { taken += byte_count; }

void memory_uncount(uint64_t byte_count) { taken -= byte_count; }

szgpu_status memory_limit_ctx(szgpu_ctx *ctx) {
  if (limit == UINT64_MAX) return SZGPU_OK;
  return szgpu_set_memory_limit(ctx, limit > taken ? limit - taken : 1);
}

struct memory memory_take(uint64_t byte_count) {
  struct memory memory = {NULL, 0};
  if (byte_count > PTRDIFF_MAX / 2 || !memory_allows(byte_count)) return memory;
  size_t const wanted = byte_count ? (size_t)byte_count : 1;
  void *const bytes =
      mmap(NULL, whole_pages(wanted), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return memory;
#ifdef MADV_HUGEPAGE
  madvise(bytes, whole_pages(wanted), MADV_HUGEPAGE); /* fewer page faults; may be refused */
#endif
  memory.bytes = bytes;
  memory.byte_count = wanted;
  memory_count(wanted);
  return memory;
}

void memory_trim(struct memory *memory, size_t byte_count) {
  size_t const kept = whole_pages(byte_count ? byte_count : 1);
  size_t const held = whole_pages(memory->byte_count);
  if (memory->bytes && kept < held) {
    munmap(memory->bytes + kept, held - kept);
    memory_uncount(memory->byte_count - kept);
    memory->byte_count = kept;
  }
}

void memory_give_back(struct memory *memory) {
  if (memory->bytes) munmap(memory->bytes, whole_pages(memory->byte_count));
  memory_uncount(memory->byte_count);
  *memory = (struct memory){NULL, 0};
}
