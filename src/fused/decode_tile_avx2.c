/* decode_tile_avx2.c - eight lanes at a time: their windows and codes are gathered.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * 1.6 times as fast as lane after lane (Xeon of 2023). A window is four bytes, so it has 25 bits,
 * which hold a zero group's bit and two codes.
 */
#include <immintrin.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "fused/tile_lanes.h"

enum { VECTOR_LANES = 8, VECTORS = SZG_LANES / VECTOR_LANES };
static_assert(2 * SZG_TILE_CODE_BITS + 1 <= 25, "two codes are in a window");

/* Eight lanes at work. */
typedef struct lane_vector {
  __m256i positions;
  __m256i keep; /* by lane: 0 where the half is left out, else all ones */
} lane_vector;

SZG_AVX2 SZG_INLINE __m256i mask_of_bits(uint32_t bits) {
  __m256i const own_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), own_bits), own_bits);
}

/* Gives 0 in lanes that are not in the mask. */
SZG_AVX2 SZG_INLINE __m256i gather_windows(const uint8_t *first_window, __m256i mask,
                                           __m256i positions) {
  __m256i const zero = _mm256_setzero_si256();
  __m256i const offsets = _mm256_sub_epi32(zero, _mm256_srli_epi32(positions, 3));
  __m256i const bytes = _mm256_mask_i32gather_epi32(
      zero, (const int *)(const void *)(first_window + 4), offsets, mask, 1);
  return _mm256_sllv_epi32(bytes, _mm256_and_si256(positions, _mm256_set1_epi32(7)));
}

SZG_AVX2 SZG_INLINE __m256i gather_entries(const uint32_t *entries, __m256i mask, __m256i windows) {
  __m256i const prefixes = _mm256_srli_epi32(windows, 32 - SZG_TILE_CODE_BITS);
  return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)entries, prefixes, mask,
                                     sizeof *entries);
}

SZG_AVX2 SZG_INLINE __m256i lengths_of(__m256i entries) {
  return _mm256_and_si256(entries, _mm256_set1_epi32(SZG_ENTRY_LENGTH));
}

SZG_AVX2 SZG_INLINE void store_deltas(bool is_wide, __m256i mask, __m256i entries, uint32_t place,
                                      szg_tile_points *deltas) {
  __m256i const found = _mm256_srai_epi32(entries, 16);
  if (!is_wide) {
    _mm256_maskstore_epi32(deltas->narrow + place, mask, found);
    return;
  }
  long long *const wide = (long long *)deltas->wide + place;
  _mm256_maskstore_epi64(wide, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(mask)),
                         _mm256_cvtepi32_epi64(_mm256_castsi256_si128(found)));
  _mm256_maskstore_epi64(wide + 4, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(mask, 1)),
                         _mm256_cvtepi32_epi64(_mm256_extracti128_si256(found, 1)));
}

/* The lanes of the bits `rare` again, from where their codes begin. */
SZG_AVX2 static __m256i decode_rare(szg_tile_lanes *lanes, uint32_t rare,
                                    const uint16_t *first_values, uint32_t code_count,
                                    uint32_t first_lane, __m256i starts, __m256i ends) {
  uint32_t own_starts[VECTOR_LANES], own_ends[VECTOR_LANES];
  _mm256_storeu_si256((__m256i *)own_starts, starts);
  _mm256_storeu_si256((__m256i *)own_ends, ends);
  for (uint32_t i = 0; i < VECTOR_LANES; i++)
    if (rare >> i & 1)
      own_ends[i] =
          szg_decode_half_by_code(lanes, first_values, code_count, first_lane + i, own_starts[i]);
  return _mm256_loadu_si256((const __m256i *)own_ends);
}

/* Half a group of the lanes of the mask, from first_lane on. */
SZG_AVX2 SZG_INLINE void decode_half(szg_tile_lanes *lanes, szg_half_kind kind,
                                     const uint16_t *first_values, uint32_t first_lane,
                                     __m256i mask, lane_vector *vector) {
  const uint32_t *const entries = lanes->decoder->entries;
  __m256i const zero = _mm256_setzero_si256();
  __m256i positions = vector->positions;
  __m256i windows = gather_windows(lanes->first_window, mask, positions);
  __m256i keep = mask;
  if (kind.has_zero_bit) {
    keep = _mm256_and_si256(mask, _mm256_srai_epi32(windows, 31));
    windows = _mm256_slli_epi32(windows, 1);
    positions = _mm256_sub_epi32(positions, mask);
    vector->keep = keep;
  } else if (kind.is_in_a_group) {
    keep = _mm256_and_si256(mask, vector->keep);
  }
  __m256i const starts = positions;
  __m256i found[SZG_HALF_ROWS], any = zero;
  for (uint32_t i = 0; i < kind.code_count; i++) {
    if (i == 2) windows = gather_windows(lanes->first_window, keep, positions);
    found[i] = gather_entries(entries, keep, windows);
    windows = _mm256_sllv_epi32(windows, lengths_of(found[i]));
    positions = _mm256_add_epi32(positions, lengths_of(found[i]));
    any = _mm256_or_si256(any, found[i]);
  }
  for (uint32_t i = 0; i < kind.code_count; i++)
    store_deltas(kind.is_wide, mask, found[i], first_values[i] + first_lane, lanes->deltas);
  __m256i const rare_bit = _mm256_set1_epi32(SZG_ENTRY_RARE);
  __m256i const rare = _mm256_cmpeq_epi32(_mm256_and_si256(any, rare_bit), rare_bit);
  uint32_t const rare_lanes = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(rare));
  if (rare_lanes)
    positions = decode_rare(lanes, rare_lanes, first_values, kind.code_count, first_lane, starts,
                            positions);
  vector->positions = positions;
}

SZG_AVX2 SZG_INLINE void decode_all(szg_tile_lanes *lanes, szg_half_kind kind,
                                    const uint16_t *first_values, uint32_t in_span,
                                    lane_vector *vectors) {
  for (uint32_t v = 0; v < VECTORS; v++) {
    uint32_t const first_lane = v * VECTOR_LANES;
    uint32_t const own = in_span >> first_lane & ((1u << VECTOR_LANES) - 1);
    if (own) decode_half(lanes, kind, first_values, first_lane, mask_of_bits(own), &vectors[v]);
  }
}

SZG_AVX2 SZG_INLINE void decode_spans(szg_tile_lanes *lanes, bool is_wide, uint32_t zero_groups,
                                      const szg_tile_span *spans, uint32_t span_count) {
  lane_vector vectors[VECTORS];
  for (uint32_t v = 0; v < VECTORS; v++) {
    vectors[v].positions =
        _mm256_loadu_si256((const __m256i *)(lanes->positions + v * VECTOR_LANES));
    vectors[v].keep = _mm256_setzero_si256();
  }
  for (uint32_t s = 0; s < span_count; s++) {
    uint32_t const in_span = lanes->busy & szg_span_lanes(&spans[s]);
    for (uint32_t half = 0; half < 2; half++) {
      szg_half_kind kind = szg_half_kind_of(is_wide, zero_groups, half, &spans[s]);
      if (kind.code_count == 0) continue;
      if (kind.code_count < SZG_HALF_ROWS) {
        decode_all(lanes, kind, spans[s].first_values[half], in_span, vectors);
      } else {
        kind.code_count = SZG_HALF_ROWS;
        decode_all(lanes, kind, spans[s].first_values[half], in_span, vectors);
      }
    }
  }
  for (uint32_t v = 0; v < VECTORS; v++)
    _mm256_storeu_si256((__m256i *)(lanes->positions + v * VECTOR_LANES), vectors[v].positions);
}

SZG_AVX2 void szg_decode_lanes_avx2(szg_tile_lanes *lanes, const szg_tile_span *spans,
                                    uint32_t span_count) {
  if (lanes->lattice_bits == 64)
    decode_spans(lanes, true, lanes->zero_groups, spans, span_count);
  else if (lanes->zero_groups == SZG_ZERO_GROUPS_NONE)
    decode_spans(lanes, false, SZG_ZERO_GROUPS_NONE, spans, span_count);
  else
    decode_spans(lanes, false, lanes->zero_groups, spans, span_count);
}
