/* cuda_faults.h - CUDA's runtime with faults: the linker sends the library's calls here first.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Without a GPU the runtime is faked: device memory is host memory, copies copy, kernels do
 * nothing. That is enough to test failing calls.
 */
#ifndef SZG_TEST_CUDA_FAULTS_H
#define SZG_TEST_CUDA_FAULTS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* After `spared` more calls of `function`, the next ones fail with `error`; NULL: no call fails.
 * Resets cuda_fault_calls. */
void cuda_fault_set(const char *function, cudaError_t error, long spared);
bool cuda_fault_was_met(void);
long cuda_fault_calls(void);   /* calls of any runtime function since */
bool cuda_fault_is_idle(void); /* each stream that had work was waited for, or destroyed */

/* Leaves an error standing, as the program may do before it calls the library. */
void cuda_fault_leave_error(cudaError_t error);

/* The fake GPU's shared memory per block, and the device of all pointers; -1: the host. */
extern int cuda_fault_shared_bytes, cuda_fault_pointer_device;

/* What the last failed cudaMalloc was asked for, and what cudaMemGetInfo reported as free. */
extern size_t cuda_fault_asked_bytes, cuda_fault_free_bytes;

/* Uses the fake GPU from here on. */
void cuda_fault_fake_gpu(void);
bool cuda_fault_is_faked(void);

#endif
