/* copy_ahead.cuh - copies from global to shared memory that a thread does not wait for.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies belong to groups, in order. Other threads see what has arrived after a barrier. GPUs that
 * have no such copies, those before generation 8.0, make them at once.
 */
#ifndef SZG_COPY_AHEAD_CUH
#define SZG_COPY_AHEAD_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>
#include <nv/target>

namespace szg {

/* 4, 8 or 16 bytes; both ends are aligned to as much. */
template <uint32_t kBytes>
__device__ __forceinline__ void copy_ahead(void *shared, const void *global) {
  __pipeline_memcpy_async(shared, global, kBytes);
}

/* 16 bytes if `is_wanted`, without a branch. */
__device__ __forceinline__ void copy_16_ahead_if(bool is_wanted, void *shared, const void *global) {
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80,
                    (asm volatile("{\n\t.reg .pred wanted;\n\tsetp.ne.b32 wanted, %0, 0;\n\t"
                                  "@wanted cp.async.cg.shared.global [%1], [%2], 16;\n\t}"
                                  :
                                  : "r"((int)is_wanted),
                                    "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(global)
                                  : "memory");),
                    (if (is_wanted) copy_ahead<16>(shared, global);))
}

/* Ends a group: copies since the last one. */
__device__ __forceinline__ void end_copies() { __pipeline_commit(); }

/* Waits until all groups but the last kLeft have arrived. */
template <int kLeft>
__device__ __forceinline__ void await_copies() {
  __pipeline_wait_prior(kLeft);
}

} // namespace szg

#endif
