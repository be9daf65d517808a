/* counted_memory.c - an allocator that counts the bytes that are taken.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counted_memory.h"

#include <malloc.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static size_t taken, peak;

static void *counted(void *memory) {
  size_t const now = __atomic_add_fetch(&taken, malloc_usable_size(memory), __ATOMIC_RELAXED);
  size_t before = __atomic_load_n(&peak, __ATOMIC_RELAXED);
  while (now > before &&
         !__atomic_compare_exchange_n(&peak, &before, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return memory;
}

static void uncount(size_t bytes) { __atomic_sub_fetch(&taken, bytes, __ATOMIC_RELAXED); }

void *__wrap_malloc(size_t bytes) { return counted(__real_malloc(bytes)); }

void *__wrap_calloc(size_t count, size_t bytes) { return counted(__real_calloc(count, bytes)); }

void *__wrap_realloc(void *memory, size_t bytes) {
  size_t const before = malloc_usable_size(memory);
  void *const moved = __real_realloc(memory, bytes);
  if (moved) uncount(before);
  return moved ? counted(moved) : NULL;
}

void __wrap_free(void *memory) {
  uncount(malloc_usable_size(memory));
  __real_free(memory);
}

size_t counted_bytes(void) { return __atomic_load_n(&taken, __ATOMIC_RELAXED); }

void counted_peak_begin(void) { __atomic_store_n(&peak, counted_bytes(), __ATOMIC_RELAXED); }

size_t counted_peak(void) { return __atomic_load_n(&peak, __ATOMIC_RELAXED); }
