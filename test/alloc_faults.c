/* alloc_faults.c - an allocator whose n-th allocation fails, and that counts what is not freed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "alloc_faults.h"

#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static long allocations_left; /* until one fails; 0: none fails */
static long live_blocks;
static bool was_met;

void alloc_fault_set(long n) {
  allocations_left = n;
  if (n > 0) was_met = false;
}

bool alloc_fault_was_met(void) { return was_met; }
long alloc_fault_live_blocks(void) { return live_blocks; }

static bool fails_now(void) {
  long const left = __atomic_load_n(&allocations_left, __ATOMIC_RELAXED);
  if (left == 0 || __atomic_sub_fetch(&allocations_left, 1, __ATOMIC_RELAXED) != 0) return false;
  return was_met = true;
}

static void *counted(void *memory) {
  if (memory) __atomic_add_fetch(&live_blocks, 1, __ATOMIC_RELAXED);
  return memory;
}

void *__wrap_malloc(size_t bytes) { return fails_now() ? NULL : counted(__real_malloc(bytes)); }

void *__wrap_calloc(size_t count, size_t bytes) {
  return fails_now() ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes) {
  if (fails_now()) return NULL;
  void *const moved = __real_realloc(memory, bytes);
  return memory ? moved : counted(moved);
}

void __wrap_free(void *memory) {
  if (memory) __atomic_sub_fetch(&live_blocks, 1, __ATOMIC_RELAXED);
  __real_free(memory);
}
