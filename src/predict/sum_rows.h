/* sum_rows.h - running sums along rows, by vector instructions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SUM_ROWS_H
#define SZG_SUM_ROWS_H

#include <stdint.h>

/* Every point of a row becomes the wrapping sum of those up to it. Only for x86-64 with AVX2. */
void szg_sum_slim_rows_avx2(uint32_t row_count, uint32_t width, uint16_t *points);
void szg_sum_narrow_rows_avx2(uint32_t row_count, uint32_t width, uint32_t *points);

#endif
