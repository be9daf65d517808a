/* shared_memory.cuh - shared memory by its own addresses of 32 bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Pointers in C have 64 bits, and code that uses them adds a base at every access.
 */
#ifndef SZG_SHARED_MEMORY_CUH
#define SZG_SHARED_MEMORY_CUH

#include <stdint.h>

namespace szg {

__device__ __forceinline__ uint32_t shared_address(const void *pointer) {
  return (uint32_t)__cvta_generic_to_shared(pointer);
}

template <class T>
__device__ __forceinline__ T *shared_at(uint32_t address) {
  return static_cast<T *>(__cvta_shared_to_generic(address));
}

__device__ __forceinline__ void store_shared(uint32_t address, uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" : : "r"(address), "r"(word) : "memory");
}

/* The same if `is_wanted`, without a branch. */
__device__ __forceinline__ void store_shared_if(bool is_wanted, uint32_t address, uint32_t word) {
  asm volatile(
      "{\n\t.reg .pred wanted;\n\tsetp.ne.b32 wanted, %0, 0;\n\t"
      "@wanted st.shared.u32 [%1], %2;\n\t}"
      :
      : "r"((int)is_wanted), "r"(address), "r"(word)
      : "memory");
}

__device__ __forceinline__ uint32_t load_shared(uint32_t address) {
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

/* Of memory that no longer changes: the compiler may move the load. */
__device__ __forceinline__ uint32_t load_shared_constant(uint32_t address) {
  uint32_t word;
  asm("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

} // namespace szg

#endif
