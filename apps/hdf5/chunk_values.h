/* chunk_values.h - the values of a chunk: their widths, byte order, and whether they may be a line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CHUNK_VALUES_H
#define CHUNK_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "szgpu.h"

size_t value_bytes(szgpu_dtype dtype);

/* Reverses the bytes of each of `count` values of `width` bytes: 1, 2, 4 or 8. */
void values_swap(void *values, size_t width, size_t count);

/* Whether these floats, as they lie in the chunk, are at most two slopes, one after the other, as
 * coordinates, times and their bounds are. In a slope no value is below the one before it, or none
 * is above it; there may be a turn or a jump between the two. A last value that is repeated up to
 * the end, such as the fill value beyond a dataset's edge, does not count. Compares bit patterns:
 * -0 is below 0, and a NaN is above or below all numbers. */
bool values_have_two_slopes(szgpu_dtype dtype, const void *values, size_t count);

#endif
