/* shared_two.cuh - two neighbours in shared memory at once, by its own addresses.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SHARED_TWO_CUH
#define SZG_SHARED_TWO_CUH

#include <stdint.h>

namespace szg {

/* Aligned to both. */
__device__ __forceinline__ void load_shared_two(uint32_t address, float *first, float *second) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(*first), "=f"(*second)
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_shared_two(uint32_t address, double *first, double *second) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
               : "=d"(*first), "=d"(*second)
               : "r"(address)
               : "memory");
}

} // namespace szg

#endif
