/* code_cost.h - estimates what a Huffman code takes, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Costs are bits in units of 2^-16. All arithmetic is in integers, so that the order of sums does
 * not matter and every backend makes the same choices.
 */
#ifndef SZG_CODE_COST_H
#define SZG_CODE_COST_H

#include <stddef.h>
#include <stdint.h>

#include "core/hd.h"

enum { SZG_LOG_FRACTION_BITS = 16 };

/* What a cost needs from a set of counts. */
typedef struct szg_count_sums {
  uint64_t total; /* of the counts */
  uint64_t used;  /* counts that are not 0 */
  uint64_t logs;  /* sum of c * log2(c) */
} szg_count_sums;

/* floor(2^16 * log2(x)) to within a few units, by squaring; x > 0. */
SZG_HD uint64_t szg_log2_fixed(uint64_t x) {
  int const whole = 63 - szg_leading_zeros_u64(x);
  uint32_t mantissa = (uint32_t)(whole > 31 ? x >> (whole - 31) : x << (31 - whole)); /* in Q31 */
  uint32_t result = 0;
  for (int i = 0; i < SZG_LOG_FRACTION_BITS; i++) {
    uint64_t const square = (uint64_t)mantissa * mantissa; /* in Q62, below 4 */
    uint32_t const carry = (uint32_t)(square >> 63);
    mantissa = carry ? (uint32_t)(square >> 32) : (uint32_t)(square >> 31);
    result = 2 * result + carry;
  }
  return (uint64_t)whole << SZG_LOG_FRACTION_BITS | result;
}

/* Sum of szg_count_log over counts, many at once, on the CPU (code_cost.c). */
SZG_C_BEGIN
uint64_t szg_logs_of(const uint64_t *counts, size_t count);
SZG_C_END

SZG_HD uint64_t szg_count_log(uint64_t count) { return count ? count * szg_log2_fixed(count) : 0; }

SZG_HD void szg_sums_add(szg_count_sums *sums, uint32_t count) {
  if (count == 0) return;
  sums->total += count;
  sums->used++;
  sums->logs += szg_count_log(count);
}

SZG_HD szg_count_sums szg_sums_merged(szg_count_sums a, szg_count_sums b) {
  szg_count_sums const sums = {a.total + b.total, a.used + b.used, a.logs + b.logs};
  return sums;
}

/* What a Huffman code takes for `total` symbols if their counts have these logs. No code is shorter
 * than one bit, so a symbol that makes up more than half of all costs 1 bit, and the others cost 1
 * bit more than they cost among themselves. */
SZG_HD uint64_t szg_huffman_cost(uint64_t total, uint64_t logs, uint64_t likely_count) {
  if (2 * likely_count <= total) return szg_count_log(total) - logs;
  return (total << SZG_LOG_FRACTION_BITS) + szg_count_log(total - likely_count) -
         (logs - szg_count_log(likely_count));
}

/* Unless at least half of `total` codes are 0, they cost no less than `least`: a tile frame has a
 * symbol for each, a levels frame one for two. */
SZG_HD uint64_t szg_raised_cost(uint64_t cost, uint64_t least, uint64_t total,
                                uint64_t zero_count) {
  return cost < least && zero_count < total - zero_count ? least : cost;
}

#endif
