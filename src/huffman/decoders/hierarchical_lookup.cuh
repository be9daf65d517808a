/* hierarchical_lookup.cuh - lookups in chained tables, and a thread's bits for them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_HIERARCHICAL_LOOKUP_CUH
#define SZG_HIERARCHICAL_LOOKUP_CUH

#include "huffman/code_queue.cuh"
#include "huffman/decoders/hierarchical.h"

namespace szg {

/* Bits of spans, as in hierarchical.h. */
constexpr uint32_t kSpanBits = 255, kSpanCountBit = 8, kSpanBordersBit = 16;
constexpr uint32_t kThreadBits = SZG_HIERARCHICAL_THREAD_BITS;

/* The 64 bits of a thread, and the 32 after them: its last code may reach there. */
struct StretchWords {
  uint32_t first, second, next;

  /* 32 bits from bit `at` on; any bits if `at` is beyond 63. */
  __device__ __forceinline__ uint32_t bits_at(uint32_t at) const {
    bool const is_second = at >= 32;
    return bits_from(is_second ? next : second, is_second ? second : first, at);
  }
};

/* length << 8 | symbol of the code that `bits` begin with, by the chain; 0: there is none. */
inline __device__ uint32_t chained_entry(const szg_hierarchical_tables *tables, uint32_t bits) {
  uint32_t const entry = __ldg(&tables->entries[0][bits >> 24]);
  if ((entry & SZG_HIERARCHICAL_LINK) == 0) return entry;
  return __ldg(&tables->entries[entry % SZG_HIERARCHICAL_LINK][bits >> 16 & 255]);
}
/* Replaces a missing code wherever codes are passed, so that every pass goes on and ends alike. */
constexpr uint32_t kNoCode = SZG_MAX_CODE_BITS << 8;

/* A code's count and bits, by the chain. */
inline __device__ uint32_t chained_span(const szg_hierarchical_tables *tables, uint32_t bits,
                                        bool *is_sound) {
  uint32_t const entry = chained_entry(tables, bits);
  *is_sound = *is_sound && entry != 0;
  return 1u << kSpanCountBit | (entry ? entry : kNoCode) >> 8;
}

/* Cuts a span at its first border from `left` bits on; keeps all of it if there is none. */
inline __device__ uint32_t cut_span(uint32_t span, uint32_t left) {
  uint32_t const borders = span >> kSpanBordersBit;
  uint32_t const beyond = borders & kAllLanes << min(left, 31u);
  uint32_t const bits = beyond ? (uint32_t)__ffs((int)beyond) - 1 : span & kSpanBits;
  return (uint32_t)__popc(borders & ((1u << bits) - 1)) << kSpanCountBit | bits;
}

} // namespace szg

#endif
