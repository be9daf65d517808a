/* tile_lanes_avx2.c - decodes eight lanes at a time with gathered windows and codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This is twice as fast as lane after lane (Xeon of 2023). A window is four bytes, so it has 25
 * bits, which hold a zero group's bit and two codes. On lattices of 16 and 32 bits this file also
 * decodes classes.
 */
#include <immintrin.h>

#include "codecs/lorenzo/tile_lanes.h"
#include "core/bytes.h"
#include "core/dispatch.h"

enum { VECTOR_LANES = 8, VECTORS = SZG_LANES / VECTOR_LANES, WINDOW_BITS = 25 };
enum { RARE_BIT = 13, ESCAPE_BIT = 14, NEGATIVE_BIT = 23 };
static_assert(2 * SZG_TILE_CODE_BITS + 1 <= 25, "two codes are in a window");

/* Eight lanes at work. */
typedef struct lane_vector {
  __m256i positions;
  __m256i keep; /* by lane: 0 if the half is left out, else all ones */
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

/* The low halves of the numbers in two vectors, in order. */
SZG_AVX2 SZG_INLINE __m256i low_halves(const __m256i numbers[2]) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(numbers[0], numbers[1]), 0xD8);
}

/* Lanes that are not in the masks keep what they have. */
SZG_AVX2 SZG_INLINE void store_deltas(uint32_t lattice_bits, const __m256i masks[2],
                                      const __m256i found[2], uint32_t place,
                                      szg_tile_points *deltas) {
  if (lattice_bits == 16) {
    __m256i *const i16 = (__m256i *)(deltas->i16 + place);
    __m256i const before = _mm256_loadu_si256(i16);
    _mm256_storeu_si256(i16, _mm256_blendv_epi8(before, low_halves(found), low_halves(masks)));
    return;
  }
  for (uint32_t v = 0; v < 2; v++, place += VECTOR_LANES) {
    if (lattice_bits == 32) {
      _mm256_maskstore_epi32(deltas->i32 + place, masks[v], found[v]);
      continue;
    }
    long long *const i64 = (long long *)deltas->i64 + place;
    _mm256_maskstore_epi64(i64, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(masks[v])),
                           _mm256_cvtepi32_epi64(_mm256_castsi256_si128(found[v])));
    _mm256_maskstore_epi64(i64 + 4, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(masks[v], 1)),
                           _mm256_cvtepi32_epi64(_mm256_extracti128_si256(found[v], 1)));
  }
}

/* Decodes the lanes in the mask `again` code by code, from where their codes begin. */
SZG_AVX2 static __m256i decode_by_code(szg_tile_lanes *lanes, uint32_t again,
                                       const uint16_t *first_values, uint32_t code_count,
                                       uint32_t first_lane, __m256i starts, __m256i ends) {
  uint32_t own_starts[VECTOR_LANES], own_ends[VECTOR_LANES];
  _mm256_storeu_si256((__m256i *)own_starts, starts);
  _mm256_storeu_si256((__m256i *)own_ends, ends);
  for (uint32_t i = 0; i < VECTOR_LANES; i++)
    if (again >> i & 1)
      own_ends[i] =
          szg_decode_half_by_code(lanes, first_values, code_count, first_lane + i, own_starts[i]);
  return _mm256_loadu_si256((const __m256i *)own_ends);
}

/* Decodes entries that include classes or escapes. The upper half of an entry, which holds a direct
 * delta, is too short for theirs, so all deltas get 32 bits. positions: those after the codes;
 * moves them past what follows the codes. *far_off: lanes in which that is not in a window. */
SZG_AVX2 static __m256i decode_some_rare(const szg_tile_lanes *lanes, __m256i entries, __m256i rare,
                                         __m256i *positions, __m256i *far_off) {
  __m256i const one = _mm256_set1_epi32(1);
  __m256i const escape = _mm256_srai_epi32(_mm256_slli_epi32(entries, 31 - ESCAPE_BIT), 31);
  __m256i const classes = _mm256_and_si256(
      _mm256_and_si256(_mm256_srli_epi32(entries, 16), _mm256_set1_epi32(SZG_TILE_CLASSES - 1)),
      rare);
  __m256i const above_1 = _mm256_and_si256(_mm256_cmpgt_epi32(classes, one), one);
  __m256i const class_raw_bits = _mm256_sub_epi32(_mm256_srli_epi32(classes, 1), above_1);
  __m256i const base_bits =
      _mm256_add_epi32(_mm256_add_epi32(one, above_1), _mm256_and_si256(classes, above_1));
  __m256i const base = _mm256_add_epi32(_mm256_sllv_epi32(base_bits, class_raw_bits), escape);
  __m256i const raw_bits = _mm256_add_epi32(
      class_raw_bits, _mm256_and_si256(escape, _mm256_set1_epi32((int)lanes->lattice_bits)));
  __m256i const windows = gather_windows(lanes->first_window, rare, *positions);
  __m256i const raw = _mm256_srlv_epi32(windows, _mm256_sub_epi32(_mm256_set1_epi32(32), raw_bits));
  __m256i const sign =
      _mm256_and_si256(_mm256_srai_epi32(_mm256_slli_epi32(entries, 31 - NEGATIVE_BIT), 31), rare);
  __m256i const magnitudes = _mm256_add_epi32(base, raw);
  __m256i const unused_bits = _mm256_set1_epi32(32 - (int)lanes->lattice_bits);
  __m256i const of_rare = _mm256_srav_epi32(
      _mm256_sllv_epi32(_mm256_sub_epi32(_mm256_xor_si256(magnitudes, sign), sign), unused_bits),
      unused_bits);
  *positions = _mm256_add_epi32(*positions, raw_bits);
  *far_off =
      _mm256_or_si256(*far_off, _mm256_cmpgt_epi32(raw_bits, _mm256_set1_epi32(WINDOW_BITS)));
  return _mm256_blendv_epi8(_mm256_srai_epi32(entries, 16), of_rare, rare);
}

/* Decodes half a group of the lanes in the masks, from first_lane on. It takes two vectors in step:
 * while one waits for a gather, the other can go on. */
SZG_AVX2 SZG_INLINE void decode_half(szg_tile_lanes *lanes, szg_half_kind kind,
                                     const uint16_t *first_values, uint32_t first_lane,
                                     const __m256i masks[2], lane_vector vectors[2]) {
  const uint32_t *const entries = lanes->decoder->entries;
  __m256i positions[2], windows[2], keep[2], starts[2], by_code[2], deltas[2];
  for (uint32_t v = 0; v < 2; v++) {
    positions[v] = vectors[v].positions;
    windows[v] = gather_windows(lanes->first_window, masks[v], positions[v]);
    keep[v] = masks[v];
    by_code[v] = _mm256_setzero_si256();
  }
  for (uint32_t v = 0; v < 2; v++) {
    if (kind.has_zero_bit) {
      keep[v] = _mm256_and_si256(masks[v], _mm256_srai_epi32(windows[v], 31));
      windows[v] = _mm256_slli_epi32(windows[v], 1);
      positions[v] = _mm256_sub_epi32(positions[v], masks[v]);
      vectors[v].keep = keep[v];
    } else if (kind.is_in_a_group) {
      keep[v] = _mm256_and_si256(masks[v], vectors[v].keep);
    }
    starts[v] = positions[v];
  }
  bool are_windows_old = false;
  for (uint32_t i = 0; i < kind.code_count; i++) {
    __m256i found[2], rare[2];
    for (uint32_t v = 0; v < 2; v++) {
      if (i == 2 || are_windows_old)
        windows[v] = gather_windows(lanes->first_window, keep[v], positions[v]);
      found[v] = gather_entries(entries, keep[v], windows[v]);
    }
    are_windows_old = false;
    for (uint32_t v = 0; v < 2; v++) {
      windows[v] = _mm256_sllv_epi32(windows[v], lengths_of(found[v]));
      positions[v] = _mm256_add_epi32(positions[v], lengths_of(found[v]));
      rare[v] = _mm256_srai_epi32(_mm256_slli_epi32(found[v], 31 - RARE_BIT), 31);
      deltas[v] = _mm256_srai_epi32(found[v], 16);
    }
    if (kind.lattice_bits == 64) {
      for (uint32_t v = 0; v < 2; v++) by_code[v] = _mm256_or_si256(by_code[v], rare[v]);
    } else if (_mm256_movemask_epi8(_mm256_or_si256(rare[0], rare[1]))) {
      for (uint32_t v = 0; v < 2; v++)
        deltas[v] = decode_some_rare(lanes, found[v], rare[v], &positions[v], &by_code[v]);
      are_windows_old = true;
    }
    store_deltas(kind.lattice_bits, masks, deltas, first_values[i] + first_lane, lanes->deltas);
  }
  for (uint32_t v = 0; v < 2; v++) {
    uint32_t const again = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(by_code[v]));
    if (again)
      positions[v] = decode_by_code(lanes, again, first_values, kind.code_count,
                                    first_lane + v * VECTOR_LANES, starts[v], positions[v]);
    vectors[v].positions = positions[v];
  }
}

SZG_AVX2 SZG_INLINE void decode_all(szg_tile_lanes *lanes, szg_half_kind kind,
                                    const uint16_t *first_values, uint32_t in_span,
                                    lane_vector *vectors) {
  for (uint32_t v = 0; v < VECTORS; v += 2) {
    uint32_t const first_lane = v * VECTOR_LANES;
    uint32_t const own = in_span >> first_lane & ((1u << 2 * VECTOR_LANES) - 1);
    if (!own) continue;
    __m256i const masks[2] = {mask_of_bits(own), mask_of_bits(own >> VECTOR_LANES)};
    decode_half(lanes, kind, first_values, first_lane, masks, &vectors[v]);
  }
}

SZG_AVX2 SZG_INLINE void decode_spans(szg_tile_lanes *lanes, uint32_t lattice_bits,
                                      uint32_t zero_groups, const szg_tile_span *spans,
                                      uint32_t span_count) {
  lane_vector vectors[VECTORS];
  for (uint32_t v = 0; v < VECTORS; v++) {
    vectors[v].positions =
        _mm256_loadu_si256((const __m256i *)(lanes->positions + v * VECTOR_LANES));
    vectors[v].keep = _mm256_setzero_si256();
  }
  for (uint32_t s = 0; s < span_count; s++) {
    uint32_t const in_span = lanes->busy & szg_span_lanes(&spans[s]);
    for (uint32_t half = 0; half < 2; half++) {
      szg_half_kind kind = szg_half_kind_of(lattice_bits, zero_groups, half, &spans[s]);
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
  if (lanes->lattice_bits != 16)
    decode_spans(lanes, lanes->lattice_bits, lanes->zero_groups, spans, span_count);
  else if (lanes->zero_groups == SZG_ZERO_GROUPS_NONE)
    decode_spans(lanes, 16, SZG_ZERO_GROUPS_NONE, spans, span_count);
  else
    decode_spans(lanes, 16, lanes->zero_groups, spans, span_count);
}
