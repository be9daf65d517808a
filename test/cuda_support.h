/* cuda_support.h - what the tests of the CUDA backend share: ctxs, device memory, the comparison.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The CPU is the oracle: a case is right if both backends write the same archive and restore the
 * same bits. For a wrong case the test prints a complaint and the claim goes on, because machines
 * with a GPU are rare and one run should tell all; cuda_assert_no_complaints ends the claim.
 */
#ifndef SZG_TEST_CUDA_SUPPORT_H
#define SZG_TEST_CUDA_SUPPORT_H

#include <stdbool.h>

#include "support.h"

/* 0 if there is a usable GPU. Otherwise prints why not and returns the exit code: 77, which ctest
 * reports as skipped, or 1 if SZGPU_REQUIRE_GPU is set. */
int cuda_exit_code(void);

/* Whether SZGPU_TEST_QUICK is set: fewer cases, each on a new ctx, so that compute-sanitizer
 * notices reads of memory that only an earlier call has written. */
bool cuda_is_quick(void);

/* Skips the claim if SZGPU_TEST_SOUND is set, as for initcheck: it restores damaged archives, and
 * what these leave unwritten is read when it goes to the caller. */
void cuda_skip_damage(void);

/* ---- ctxs ---- */

enum { CUDA_MOST_DECODERS = 16 };

extern szgpu_ctx *cuda_cpu;                      /* the oracle */
extern szgpu_ctx *cuda_gpus[CUDA_MOST_DECODERS]; /* one for each decoder the backend takes */
extern int cuda_gpu_count;                       /* at least 1; the first has the default decoder */

/* Set-up and tear-down of a group of claims. */
int cuda_make_ctxs(void **state);
int cuda_destroy_ctxs(void **state);

/* Whether cuda_gpus[gpu] reads archives of the layout; linear decoders refuse tile archives. */
bool cuda_reads(int gpu, szgpu_layout layout);

/* The same for an archive: also considers its gap arrays and mode. */
bool cuda_reads_archive(int gpu, const test_archive *archive);

szgpu_ctx *cuda_make_ctx(szgpu_backend backend, szgpu_decoder decoder, struct CUstream_st *stream);

/* ---- device memory ---- */

/* Filled with 0xA5; fails the test if out of memory. */
void *cuda_allocate(size_t bytes);
void *cuda_copy_of(const void *host, size_t bytes);
/* Waits for all work of the GPU first. */
void *cuda_host_copy_of(const void *device, size_t bytes);
void cuda_release(void *device);

/* ---- cases ---- */

typedef struct cuda_case {
  szgpu_params params;
  szgpu_shape shape;
  const void *field;
} cuda_case;

/* Calls szgpu_compress with a new block of the size that szgpu_sizes gives. */
szgpu_status cuda_compress(szgpu_ctx *ctx, const cuda_case *c, test_archive *archive);

/* Checks that both backends give the same archive and restore it to the same bits, with every
 * decoder that reads it. */
void cuda_compare(const cuda_case *c);
/* cuda_compare in both layouts; only in the linear one if the case asks for a radius. */
void cuda_compare_layouts(const cuda_case *c);

/* Describes the first difference of two archives, NULL if none; valid until the next call. */
const char *cuda_difference(const test_archive *expected, const test_archive *found);

/* Prints and counts a complaint, printf-like. c: the case, or NULL. */
void cuda_complain(const cuda_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cuda_assert_no_complaints(void);

/* A field in device memory is compressed after szgpu_reserve, into the room that szgpu_sizes
 * states, and comes back within its bound. */
void cuda_assert_workspace_suffices(const szgpu_params *params, const szgpu_shape *shape,
                                    const void *field);

#endif
