/* fuzz.c - what the fuzz targets share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* dprintf */

#include "fuzz.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- claims and counts ---- */

_Noreturn void fuzz_fail(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  dprintf(STDERR_FILENO, "CLAIM FAILED at %s:%d: ", file, line); /* a target may hold stderr */
  vdprintf(STDERR_FILENO, format, arguments);
  dprintf(STDERR_FILENO, "\n");
  va_end(arguments);
  abort();
}

enum { MOST_COUNTS = 32 };
static struct {
  const char *name;
  unsigned long count;
} counts[MOST_COUNTS];

static void print_counts(void) {
  fputs("reached:", stderr);
  for (int i = 0; i < MOST_COUNTS && counts[i].name; i++)
    fprintf(stderr, " %s %lu%s", counts[i].name, counts[i].count,
            i + 1 < MOST_COUNTS && counts[i + 1].name ? "," : "");
  fputc('\n', stderr);
}

void fuzz_count(const char *name) {
  if (!counts[0].name) atexit(print_counts);
  int i = 0;
  while (counts[i].name && strcmp(counts[i].name, name) != 0)
    if (++i == MOST_COUNTS) fuzz_fail(__FILE__, __LINE__, "more than %d counts", MOST_COUNTS);
  counts[i].name = name;
  counts[i].count++;
}

/* ---- memory ---- */

void *fuzz_allocate(size_t byte_count) {
  void *const block = malloc(byte_count ? byte_count : 1);
  if (!block) fuzz_fail(__FILE__, __LINE__, "no memory for %zu bytes", byte_count);
  return block;
}

uint8_t *fuzz_copy(const void *bytes, size_t byte_count) {
  uint8_t *const copy = fuzz_allocate(byte_count);
  if (byte_count > 0) memcpy(copy, bytes, byte_count);
  return copy;
}

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#define HAS_ASAN __has_feature(address_sanitizer)
#else
#define HAS_ASAN 0
#endif

static atomic_size_t live_bytes, peak_bytes;

#if HAS_ASAN
/* <sanitizer/allocator_interface.h>, which gcc does not install. */
int __sanitizer_install_malloc_and_free_hooks(void (*note_malloc)(const volatile void *, size_t),
                                              void (*note_free)(const volatile void *));
int __sanitizer_get_ownership(const volatile void *block);
size_t __sanitizer_get_allocated_size(const volatile void *block);

/* A request beyond max_allocation_size_mb gives NULL, as it does where memory is out. Errors abort,
 * as claims do. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024:malloc_context_size=8:"
         "abort_on_error=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "abort_on_error=1:print_stacktrace=1"; }

static void note_malloc(const volatile void *block, size_t byte_count) {
  if (!block) return;
  size_t const live = atomic_fetch_add(&live_bytes, byte_count) + byte_count;
  size_t peak = atomic_load(&peak_bytes);
  while (live > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, live)) {
  }
}

static void note_free(const volatile void *block) {
  if (!block || !__sanitizer_get_ownership(block)) return;
  atomic_fetch_sub(&live_bytes, __sanitizer_get_allocated_size(block));
}

__attribute__((constructor)) static void install_hooks(void) {
  if (!__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free))
    fuzz_fail(__FILE__, __LINE__, "the sanitizer takes no hooks");
}
#endif

void fuzz_memory_begin(void) { atomic_store(&peak_bytes, atomic_load(&live_bytes)); }
size_t fuzz_memory_live(void) { return atomic_load(&live_bytes); }
size_t fuzz_memory_peak(void) { return atomic_load(&peak_bytes); }

/* ---- AVX2 ---- */

static bool is_avx2_left_out;

void fuzz_choose_avx2(fuzz_random *random) {
  fuzz_set_avx2(fuzz_one_in(random, 2) && !is_avx2_left_out);
}

void fuzz_leave_out_avx2(void) {
  is_avx2_left_out = true;
  fuzz_set_avx2(false);
#if defined(__x86_64__)
  FUZZ_CHECK(!__builtin_cpu_supports("avx2"), "AVX2 cannot be left out");
#endif
}

/* ---- contexts ---- */

szgpu_ctx *fuzz_make_ctx(szgpu_backend backend, szgpu_decoder decoder, int threads) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = backend;
  options.decoder = decoder;
  options.threads = threads;
  szgpu_ctx *ctx;
  szgpu_status const status = szgpu_create(&ctx, &options);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_create: %s", szgpu_status_text(status));
  return ctx;
}

/* ---- random numbers and integers ---- */

uint64_t fuzz_bits(fuzz_random *random) {
  uint64_t x = random->state += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

uint64_t fuzz_below(fuzz_random *random, uint64_t limit) {
  uint64_t const bits = fuzz_bits(random);
  return limit ? bits % limit : 0;
}

bool fuzz_one_in(fuzz_random *random, uint64_t count) { return fuzz_below(random, count) == 0; }

fuzz_random fuzz_random_of(const uint8_t *data, size_t size) {
  return (fuzz_random){XXH3_64bits(data, size)};
}

uint64_t fuzz_load(const uint8_t *bytes, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; i++) value |= (uint64_t)bytes[i] << 8 * i;
  return value;
}

void fuzz_store(uint8_t *bytes, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

uint64_t fuzz_take(fuzz_input *input, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width && input->at < input->end; i++)
    value |= (uint64_t)*input->at++ << 8 * i;
  return value;
}
