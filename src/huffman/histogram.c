/* histogram.c - how often each code occurs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/huffman.h"

/* Well-predicted fields repeat one code: with a single table each increment would wait for the one
 * before. Four tables, one for each position modulo 4, break that chain. */
void szg_histogram_add(const uint16_t *codes, size_t code_count, uint32_t symbol_count,
                       uint32_t *counts) {
  uint32_t *const counts1 = counts + symbol_count;
  uint32_t *const counts2 = counts1 + symbol_count;
  uint32_t *const counts3 = counts2 + symbol_count;
  size_t i = 0;
  for (; i + SZG_HISTOGRAM_COPIES <= code_count; i += SZG_HISTOGRAM_COPIES) {
    counts[codes[i]]++;
    counts1[codes[i + 1]]++;
    counts2[codes[i + 2]]++;
    counts3[codes[i + 3]]++;
  }
  for (; i < code_count; i++) counts[codes[i]]++;
}
