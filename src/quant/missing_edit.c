/* missing_edit.c - marks further fill values, and edits what is missing in the coded values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "core/bytes.h"
#include "quant/bound.h"

/* A NaN of the type that is not the fill value. */
static uint64_t other_nan(szgpu_dtype dtype, uint64_t fill_bits) {
  uint64_t const nan = dtype == SZGPU_F32 ? 0x7FC00001u : 0x7FF8000000000001u;
  return nan == fill_bits ? nan + 1 : nan;
}

uint64_t szg_missing_inner_fill(const szg_missing *missing, const szg_mapping *mapping) {
  uint64_t inner = 0;
  if (mapping->kind == SZG_MAPPING_LOG) return szg_log_inner_fill(mapping->inner);
  if (!szg_is_mapped(mapping)) return missing->fill_bits[0];
  szg_values_to_inner(mapping, &missing->fill_bits[0], 1, &inner);
  return inner;
}

uint64_t szg_missing_inner_invalid(const szg_missing *missing, const szg_mapping *mapping) {
  return other_nan(mapping->inner, szg_missing_inner_fill(missing, mapping));
}

/* For each width of values. */
#define MARK_VALUES(name, BITS)                                                    \
  static bool name(const BITS *values, uint32_t count, BITS fill, uint8_t *mask) { \
    uint8_t any = 0;                                                               \
    for (uint32_t i = 0; i < count; i++) {                                         \
      BITS bits;                                                                   \
      memcpy(&bits, &values[i], sizeof bits);                                      \
      mask[i] = bits == fill;                                                      \
      any |= mask[i];                                                              \
    }                                                                              \
    return any != 0;                                                               \
  }
MARK_VALUES(mark_8, uint8_t)
MARK_VALUES(mark_16, uint16_t)
MARK_VALUES(mark_32, uint32_t)
MARK_VALUES(mark_64, uint64_t)

bool szg_missing_mark(const szg_missing *missing, szgpu_dtype dtype, uint32_t which,
                      const void *values, uint32_t count, uint8_t *mask) {
  uint64_t const fill = missing->fill_bits[which];
  for (uint32_t before = 0; before < which; before++)
    if (missing->fill_bits[before] == fill) {
      memset(mask, 0, count);
      return false;
    }
  switch (szg_dtype_bytes(dtype)) {
    case 1:
      return mark_8(values, count, (uint8_t)fill, mask);
    case 2:
      return mark_16(values, count, (uint16_t)fill, mask);
    case 4:
      return mark_32(values, count, (uint32_t)fill, mask);
    default:
      return mark_64(values, count, fill, mask);
  }
}

/* The bits of value i, right-aligned. */
static uint64_t bits_at(size_t width, const void *values, uint64_t i) {
  const uint8_t *const at = (const uint8_t *)values + i * width;
  uint64_t bits = 0;
  for (size_t b = 0; b < width; b++) bits |= (uint64_t)at[b] << 8 * b;
  return bits;
}

void szg_missing_edit(const szg_missing *missing, const szg_mapping *mapping, const void *outer,
                      uint64_t count, void *inner) {
  size_t const outer_width = szg_dtype_bytes(mapping->outer);
  size_t const inner_width = szg_dtype_bytes(mapping->inner);
  uint64_t const fill = szg_missing_inner_fill(missing, mapping);
  uint64_t const invalid = szg_missing_inner_invalid(missing, mapping);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const bits = bits_at(outer_width, outer, i);
    uint8_t *const to = (uint8_t *)inner + i * inner_width;
    uint64_t const own = bits_at(inner_width, to, 0);
    uint64_t edited = own;
    if (szg_is_fill(missing, bits))
      edited = fill;
    else if (szg_is_invalid(missing, szg_value_of_bits(mapping->inner, own)))
      edited = invalid;
    if (edited == own) continue;
    if (inner_width == sizeof(uint32_t))
      szg_store_u32(to, (uint32_t)edited);
    else
      szg_store_u64(to, edited);
  }
}
