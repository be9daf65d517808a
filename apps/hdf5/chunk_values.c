/* chunk_values.c - looks at the values of a chunk one by one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "chunk_values.h"

#include <stdint.h>
#include <string.h>

size_t value_bytes(szgpu_dtype dtype) {
  static const unsigned char bytes[] = {4, 8, 1, 2, 2, 1, 1, 2, 2, 4}; /* as in szgpu_dtype */
  return bytes[dtype];
}

void values_swap(void *values, size_t width, size_t count) {
  unsigned char *const bytes = values;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < width / 2; k++) {
      unsigned char *const low = bytes + i * width + k, *const high =
                                                            bytes + i * width + width - 1 - k;
      unsigned char const kept = *low;
      *low = *high;
      *high = kept;
    }
}

/* The bit pattern of a float as an integer that has the order of the numbers. */
static inline uint64_t place_of(const unsigned char *values, size_t width, size_t index) {
  uint64_t const sign = (uint64_t)1 << (8 * width - 1);
  uint64_t bits = 0;
  memcpy(&bits, values + index * width, width); /* the library is for little-endian machines */
  return bits & sign ? ~bits & (sign | (sign - 1)) : bits | sign;
}

/* Where the values that begin at `first` have done both, risen and fallen. */
static inline size_t end_of_slope(const unsigned char *values, size_t width, size_t first,
                                  size_t count) {
  bool may_rise = true, may_fall = true;
  uint64_t before = place_of(values, width, first);
  for (size_t i = first + 1; i < count; i++) {
    uint64_t const place = place_of(values, width, i);
    may_rise = may_rise && place >= before;
    may_fall = may_fall && place <= before;
    if (!may_rise && !may_fall) return i;
    before = place;
  }
  return count;
}

/* Inline, so that each width has loops of its own. */
static inline bool has_two_slopes(const unsigned char *values, size_t width, size_t count) {
  uint64_t const last = place_of(values, width, count - 1);
  size_t i = end_of_slope(values, width, 0, count);
  if (i < count) i = end_of_slope(values, width, i, count);
  while (i < count && place_of(values, width, i) == last) i++;
  return i == count;
}

bool values_have_two_slopes(szgpu_dtype dtype, const void *values, size_t count) {
  switch (value_bytes(dtype)) {
    case 8:
      return has_two_slopes(values, 8, count);
    case 4:
      return has_two_slopes(values, 4, count);
    default:
      return has_two_slopes(values, 2, count);
  }
}
