/* cuda_faults.h - CUDA's runtime with faults: the linker sends the library's calls here first.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Without a GPU the runtime is faked: memory is the host's, copies copy, kernels do nothing. That
 * is enough for calls that fail.
 */
#ifndef SZG_TEST_CUDA_FAULTS_H
#define SZG_TEST_CUDA_FAULTS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* The next calls of `function` fail with `error`, but for the first `spared` ones; NULL: none does.
 * Resets cuda_fault_calls. */
void cuda_fault_set(const char *function, cudaError_t error, long spared);
bool cuda_fault_was_met(void);
long cuda_fault_calls(void);   /* of any function of the runtime since */
bool cuda_fault_is_idle(void); /* whether each stream that had work was waited for, or is gone */

/* As if the program itself had met an error before and left it standing. */
void cuda_fault_leave_error(cudaError_t error);

/* Of the fake: what a block has at most, and on which device all pointers are; -1: the host's. */
extern int cuda_fault_shared_bytes, cuda_fault_pointer_device;

/* What the last cudaMalloc that failed was asked for, and how much cudaMemGetInfo said was free. */
extern size_t cuda_fault_asked_bytes, cuda_fault_free_bytes;

/* From here on there is a GPU, if only a fake. */
void cuda_fault_fake_gpu(void);
bool cuda_fault_is_faked(void);

#endif
