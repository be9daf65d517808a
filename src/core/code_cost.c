/* code_cost.c - logarithms of many counts at once.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/code_cost.h"

#include "core/dispatch.h"

/* Squarings of a number wait for each other; these are of so many numbers at once. */
enum { AT_ONCE = 32 };

/* szg_count_log of AT_ONCE counts. */
SZG_INLINE uint64_t sum_logs(const uint64_t *counts) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < AT_ONCE; i++)
    sum += counts[i] * szg_log2_fixed(counts[i] | (counts[i] == 0)); /* 0 counts for nothing */
  return sum;
}

SZG_HOT uint64_t szg_logs_of(const uint64_t *counts, size_t count) {
  uint64_t found[AT_ONCE], sum = 0;
  uint32_t found_count = 0;
  for (size_t i = 0; i < count; i++) { /* most counts are 0, as a rule */
    found[found_count] = counts[i];
    found_count += counts[i] != 0;
    if (found_count < AT_ONCE) continue;
    sum += sum_logs(found);
    found_count = 0;
  }
  for (uint32_t i = found_count; i < AT_ONCE; i++) found[i] = 0;
  return found_count ? sum + sum_logs(found) : sum;
}
