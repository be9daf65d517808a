/* fuzz.h - what the fuzz targets share: random numbers, claims, contexts, and the target itself.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A target is a program made of fuzz_<name>.c and a main: libFuzzer's, or that of replay.c. It
 * aborts if a claim does not hold.
 */
#ifndef SZG_FUZZ_H
#define SZG_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "szgpu.h"

/* ---- libFuzzer's interface ---- */

/* Takes one input. Always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Called once, before anything else. */
int LLVMFuzzerInitialize(int *argument_count, char ***arguments);
/* Changes data[size], which may grow to `capacity`, in a way that suits the target; returns the new
 * size. Targets of plain bytes call LLVMFuzzerMutate. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
/* libFuzzer's own changes, of bytes; replay.c has a stand-in. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/* ---- claims ---- */

/* Prints the place and the sentence, and aborts. */
_Noreturn void fuzz_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* FUZZ_CHECK(claim, format, ...): the claim holds; the sentence says what it is if it does not. */
#define FUZZ_CHECK(claim, ...) ((claim) ? (void)0 : fuzz_fail(__FILE__, __LINE__, __VA_ARGS__))

/* ---- counts, printed at the end ---- */

/* Adds one to the count of that name, a string constant. They show what the inputs reached. */
void fuzz_count(const char *name);

/* ---- memory ---- */

/* Blocks of exactly this size, so that a sanitizer sees any access beyond. Never NULL. */
void *fuzz_allocate(size_t byte_count);
uint8_t *fuzz_copy(const void *bytes, size_t byte_count);

/* How many bytes the process has allocated, and the most it had since fuzz_memory_begin. Both are 0
 * in a build without AddressSanitizer. */
void fuzz_memory_begin(void);
size_t fuzz_memory_live(void);
size_t fuzz_memory_peak(void);

/* ---- random numbers (splitmix64) ---- */

typedef struct fuzz_random {
  uint64_t state;
} fuzz_random;

uint64_t fuzz_bits(fuzz_random *random);
uint64_t fuzz_below(fuzz_random *random, uint64_t limit); /* 0 .. limit - 1; 0 if limit is 0 */
bool fuzz_one_in(fuzz_random *random, uint64_t count);
/* Determined by the bytes: the choices that a target makes for an input. */
fuzz_random fuzz_random_of(const uint8_t *data, size_t size);

/* ---- contexts ---- */

szgpu_ctx *fuzz_make_ctx(szgpu_backend backend, szgpu_decoder decoder, int threads);

/* Lets the library use AVX2 in the calls that follow, or not: both must give the same. */
void fuzz_choose_avx2(fuzz_random *random);
/* It is not used from now on. */
void fuzz_leave_out_avx2(void);
/* On: if the processor has it. */
void fuzz_set_avx2(bool is_on);

/* ---- little-endian integers ---- */

uint64_t fuzz_load(const uint8_t *bytes, unsigned width);
void fuzz_store(uint8_t *bytes, unsigned width, uint64_t value);

/* The bytes of an input that are not taken yet; zeros follow its end. */
typedef struct fuzz_input {
  const uint8_t *at, *end;
} fuzz_input;

uint64_t fuzz_take(fuzz_input *input, unsigned width);

#endif
