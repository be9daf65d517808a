/* sum_rows.h - running sums along rows, by vector instructions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SUM_ROWS_H
#define SZG_SUM_ROWS_H

#include <stdint.h>

/* Every point of a row becomes the sum of those up to it, wrapping. x86-64 with AVX2 alone. */
void szg_sum_rows_16_avx2(uint32_t row_count, uint32_t width, uint16_t *points);
void szg_sum_rows_32_avx2(uint32_t row_count, uint32_t width, uint32_t *points);

#endif
