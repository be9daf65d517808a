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

/* Two values with another one between them; the first is at a multiple of 16 bytes. */
__device__ __forceinline__ void load_shared_apart(uint32_t address, float *first, float *third) {
  asm volatile(
      "{\n\t.reg .f32 second, fourth;\n\t"
      "ld.shared.v4.f32 {%0, second, %1, fourth}, [%2];\n\t}"
      : "=f"(*first), "=f"(*third)
      : "r"(address)
      : "memory");
}
__device__ __forceinline__ void load_shared_apart(uint32_t address, double *first, double *third) {
  asm volatile("ld.shared.f64 %0, [%2];\n\tld.shared.f64 %1, [%2 + 16];"
               : "=&d"(*first), "=d"(*third)
               : "r"(address)
               : "memory");
}

} // namespace szg

#endif
