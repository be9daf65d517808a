/* sample_code.h - what the quant codes of a sample would take.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SAMPLE_CODE_H
#define SZG_SAMPLE_CODE_H

#include <stdbool.h>

#include "core/code_cost.h"

/* Codes up to 31 count one by one, others by their number of bits. */
enum { SZG_SAMPLE_DIRECT = 31, SZG_SAMPLE_CLASSES = 2 * SZG_SAMPLE_DIRECT + 1 + 64 };
typedef struct szg_sample_code {
  uint32_t of[SZG_SAMPLE_CLASSES];
  uint64_t total, raw_bits;
} szg_sample_code;

static inline uint32_t szg_sample_bits(uint64_t number) {
  return 64 - (uint32_t)szg_leading_zeros_u64(number);
}

static inline uint64_t szg_sample_magnitude(int64_t code) {
  return code < 0 ? 0 - (uint64_t)code : (uint64_t)code;
}

static inline void szg_sample_code_count(int64_t code, szg_sample_code *c) {
  uint64_t const magnitude = szg_sample_magnitude(code);
  c->total++;
  if (magnitude <= SZG_SAMPLE_DIRECT) {
    c->of[SZG_SAMPLE_DIRECT + code]++;
    return;
  }
  uint32_t const bits = szg_sample_bits(magnitude);
  c->of[2 * SZG_SAMPLE_DIRECT + bits]++;
  c->raw_bits += bits; /* with the sign */
}

static inline void szg_sample_code_add(const szg_sample_code *more, szg_sample_code *c) {
  for (int i = 0; i < SZG_SAMPLE_CLASSES; i++) c->of[i] += more->of[i];
  c->total += more->total;
  c->raw_bits += more->raw_bits;
}

/* Of a code, in units of 2^-16 bits. is_floored: no code is shorter than a bit. */
static inline uint64_t szg_sample_code_cost(const szg_sample_code *c, bool is_floored) {
  uint64_t logs = 0;
  if (c->total == 0) return 0;
  for (int i = 0; i < SZG_SAMPLE_CLASSES; i++) logs += szg_count_log(c->of[i]);
  uint32_t const zero_count = c->of[SZG_SAMPLE_DIRECT];
  uint64_t const cost = szg_huffman_cost(c->total, logs, is_floored ? zero_count : 0);
  uint64_t const least = is_floored ? c->total << SZG_LOG_FRACTION_BITS : 0;
  uint64_t const coded = szg_raised_cost(cost, least, c->total, zero_count);
  return (coded + (c->raw_bits << SZG_LOG_FRACTION_BITS)) / c->total;
}

#endif
