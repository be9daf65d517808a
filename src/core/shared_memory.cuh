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

/* Words one after the other, aligned to as many bytes as they have. */
template <uint32_t kCount>
__device__ __forceinline__ void load_shared_words(uint32_t address, uint32_t *words) {
  static_assert(kCount == 2 || kCount == 4, "");
  if (kCount == 2)
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[kCount - 2]), "=r"(words[kCount - 1])
                 : "r"(address)
                 : "memory");
}

/* Without a sign, and with one. */
__device__ __forceinline__ uint32_t load_shared_byte(uint32_t address) {
  uint32_t byte;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(address) : "memory");
  return byte;
}
__device__ __forceinline__ int32_t load_shared_short(uint32_t address) {
  int32_t number;
  asm volatile("ld.shared.s16 %0, [%1];" : "=r"(number) : "r"(address) : "memory");
  return number;
}

/* ORs a word into one that other lanes may be at work on, too. */
__device__ __forceinline__ void or_shared(uint32_t address, uint32_t word) {
  asm volatile("red.shared.or.b32 [%0], %1;" : : "r"(address), "r"(word) : "memory");
}

/* Of memory that no longer changes: the compiler may move the load. */
__device__ __forceinline__ uint32_t load_shared_constant(uint32_t address) {
  uint32_t word;
  asm("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

} // namespace szg

#endif
