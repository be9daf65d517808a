/* memory.c - growable buffers, and the account of what they take.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/memory.h"

#include <stdbool.h>
#include <stdlib.h>

szgpu_status szg_account_take(szg_account *account, uint64_t bytes) {
  if (!account) return SZGPU_OK;
  uint64_t const taken = __atomic_add_fetch(&account->taken_bytes, bytes, __ATOMIC_RELAXED);
  bool const is_within = !account->limit_bytes || taken <= account->limit_bytes;
  if (is_within && taken >= bytes) return SZGPU_OK;
  szg_account_give_back(account, bytes);
  __atomic_store_n(&account->refused_bytes, taken >= bytes ? taken : UINT64_MAX, __ATOMIC_RELAXED);
  return SZGPU_MEMORY_LIMIT;
}

void szg_account_give_back(szg_account *account, uint64_t bytes) {
  if (account) __atomic_sub_fetch(&account->taken_bytes, bytes, __ATOMIC_RELAXED);
}

szgpu_status szg_buffer_reserve(szg_buffer *buffer, size_t more_bytes) {
  SZG_REQUIRE(more_bytes <= SIZE_MAX - buffer->used_bytes, SZGPU_OUT_OF_MEMORY);
  size_t const needed_bytes = buffer->used_bytes + more_bytes;
  if (needed_bytes <= buffer->capacity_bytes) return SZGPU_OK;
  size_t const half = buffer->capacity_bytes / 2;
  size_t const grown_bytes =
      half <= SIZE_MAX - buffer->capacity_bytes ? buffer->capacity_bytes + half : SIZE_MAX;
  size_t const capacity_bytes = grown_bytes > needed_bytes ? grown_bytes : needed_bytes;
  SZG_TRY(szg_account_take(buffer->account, capacity_bytes)); /* a copy may need both for a while */
  uint8_t *const bytes = realloc(buffer->bytes, capacity_bytes);
  szg_account_give_back(buffer->account, bytes ? buffer->capacity_bytes : capacity_bytes);
  SZG_REQUIRE(bytes, SZGPU_OUT_OF_MEMORY);
  buffer->bytes = bytes;
  buffer->capacity_bytes = capacity_bytes;
  return SZGPU_OK;
}

szgpu_status szg_buffer_reset(szg_buffer *buffer, size_t bytes) {
  buffer->used_bytes = 0;
  if (bytes <= buffer->capacity_bytes) return SZGPU_OK;
  szg_buffer_release(buffer); /* nothing to copy, so no realloc */
  SZG_TRY(szg_account_take(buffer->account, bytes));
  buffer->bytes = malloc(bytes);
  if (!buffer->bytes) szg_account_give_back(buffer->account, bytes);
  SZG_REQUIRE(buffer->bytes, SZGPU_OUT_OF_MEMORY);
  buffer->capacity_bytes = bytes;
  return SZGPU_OK;
}

void szg_buffer_release(szg_buffer *buffer) {
  free(buffer->bytes);
  szg_account_give_back(buffer->account, buffer->capacity_bytes);
  *buffer = (szg_buffer){.account = buffer->account};
}

void *szg_allocate_zeroed(size_t bytes) { return calloc(1, bytes); }

void szg_free(void *memory) { free(memory); }
