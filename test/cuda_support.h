/* cuda_support.h - what the tests of the CUDA backend share: ctxs, device memory, the comparison.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The CPU is the oracle: a case is right where both backends write the same archive and restore the
 * same bits. A case that is not is complained of and the claim goes on, since a machine with a GPU
 * is rare and one run of it should tell all; cuda_assert_no_complaints ends the claim.
 */
#ifndef SZG_TEST_CUDA_SUPPORT_H
#define SZG_TEST_CUDA_SUPPORT_H

#include <stdbool.h>

#include "support.h"

/* 0 where there is a usable GPU. Otherwise says why not and gives the exit code: 77, which ctest
 * reports as skipped, or 1 where SZGPU_REQUIRE_GPU is set. */
int cuda_exit_code(void);

/* SZGPU_TEST_QUICK: fewer cases, each on a new ctx, so that compute-sanitizer sees memory that no
 * earlier call has written. */
bool cuda_is_quick(void);

/* ---- ctxs ---- */

enum { CUDA_MOST_DECODERS = 16 };

extern szgpu_ctx *cuda_cpu;                      /* the oracle */
extern szgpu_ctx *cuda_gpus[CUDA_MOST_DECODERS]; /* one for each decoder the backend takes */
extern int cuda_gpu_count;                       /* at least 1: the first has the default decoder */

/* Set-up and tear-down of a group of claims. */
int cuda_make_ctxs(void **state);
int cuda_destroy_ctxs(void **state);

/* Whether the ctx of that number reads archives of the layout: the linear layout's decoders refuse
 * the other. */
bool cuda_reads(int gpu, szgpu_layout layout);

/* The same of an archive, gap arrays and mode looked at too. */
bool cuda_reads_archive(int gpu, const test_archive *archive);

szgpu_ctx *cuda_make_ctx(szgpu_backend backend, szgpu_decoder decoder, struct CUstream_st *stream);

/* ---- device memory ---- */

/* Every byte 0xA5; fails the test where there is none. */
void *cuda_allocate(size_t bytes);
void *cuda_copy_of(const void *host, size_t bytes);
/* After all that the GPU was given to do. */
void *cuda_host_copy_of(const void *device, size_t bytes);
void cuda_release(void *device);

/* ---- cases ---- */

typedef struct cuda_case {
  szgpu_params params;
  szgpu_shape shape;
  const void *field;
} cuda_case;

/* As szgpu_compress into a new block of the size that szgpu_sizes gives. */
szgpu_status cuda_compress(szgpu_ctx *ctx, const cuda_case *c, test_archive *archive);

/* Both backends give the same archive, each restores it to the same bits, by every decoder that
 * reads it. */
void cuda_compare(const cuda_case *c);
/* In both layouts; in the linear one alone where a radius is asked for. */
void cuda_compare_layouts(const cuda_case *c);

/* Where two archives differ first, in words that last until the next call; NULL: nowhere. */
const char *cuda_difference(const test_archive *expected, const test_archive *found);

/* Notes what is not as claimed; c: of which case, or NULL. printf-like. */
void cuda_complain(const cuda_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cuda_assert_no_complaints(void);

#endif
