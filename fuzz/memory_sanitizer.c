/* memory_sanitizer.c - tells MemorySanitizer what libzstd and libxxhash read and write.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * They are not built with it. The linker wraps their functions, so that memory that was not written
 * is noticed when they read it, and what they write counts as written.
 */
#include <sanitizer/msan_interface.h>
#include <stddef.h>
#include <xxhash.h>
#include <zstd.h>

size_t __real_ZSTD_compress(void *to, size_t capacity, const void *from, size_t size, int level);
size_t __wrap_ZSTD_compress(void *to, size_t capacity, const void *from, size_t size, int level);
size_t __real_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size);
size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size);
XXH64_hash_t __real_XXH3_64bits(const void *bytes, size_t size);
XXH64_hash_t __wrap_XXH3_64bits(const void *bytes, size_t size);

size_t __wrap_ZSTD_compress(void *to, size_t capacity, const void *from, size_t size, int level) {
  __msan_check_mem_is_initialized(from, size);
  size_t const written = __real_ZSTD_compress(to, capacity, from, size, level);
  if (!ZSTD_isError(written)) __msan_unpoison(to, written);
  return written;
}

size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size) {
  __msan_check_mem_is_initialized(from, size);
  size_t const written = __real_ZSTD_decompress(to, capacity, from, size);
  if (!ZSTD_isError(written)) __msan_unpoison(to, written);
  return written;
}

XXH64_hash_t __wrap_XXH3_64bits(const void *bytes, size_t size) {
  __msan_check_mem_is_initialized(bytes, size);
  return __real_XXH3_64bits(bytes, size);
}
