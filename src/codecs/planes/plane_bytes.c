/* plane_bytes.c - values to the bytes of a plane, and planes to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All loops vectorize. Byte p > 0 of a value turned by one bit begins at bit 8 p - 1 of the value
 * itself. So one shift takes a plane, and a single plane costs no more than one of several.
 */
#include "codecs/planes/plane_bytes.h"

#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"

/* Of two bytes there is only plane 1 besides: a constant shift stays within 16 bits. */
#define TAKE_OF(bytes, UINT, load)                                                  \
  SZG_HOT static void take_of_##bytes(const uint8_t *restrict values, size_t count, \
                                      uint32_t plane, uint8_t *restrict symbols) {  \
    uint32_t const shift = bytes == 2 ? 7 : 8 * plane - 1;                          \
    if (plane == 0)                                                                 \
      for (size_t i = 0; i < count; i++) {                                          \
        UINT const value = load(values + bytes * i);                                \
        symbols[i] = (uint8_t)(value << 1 | value >> (8 * bytes - 1));              \
      }                                                                             \
    else                                                                            \
      for (size_t i = 0; i < count; i++)                                            \
        symbols[i] = (uint8_t)(load(values + bytes * i) >> shift);                  \
  }
TAKE_OF(2, uint32_t, szg_load_u16)
TAKE_OF(4, uint32_t, szg_load_u32)
TAKE_OF(8, uint64_t, szg_load_u64)

void szg_plane_take(const uint8_t *values, uint32_t value_count, uint32_t value_bytes,
                    uint32_t plane, uint8_t *symbols) {
  if (value_bytes == 8)
    take_of_8(values, value_count, plane, symbols);
  else if (value_bytes == 4)
    take_of_4(values, value_count, plane, symbols);
  else if (value_bytes == 2)
    take_of_2(values, value_count, plane, symbols);
  else
    memcpy(symbols, values, value_count);
}

SZG_HOT static void join_to_2(const uint8_t *restrict plane0, const uint8_t *restrict plane1,
                              size_t count, uint8_t *restrict values) {
  for (size_t i = 0; i < count; i++) {
    uint32_t const turned = plane0[i] | (uint32_t)plane1[i] << 8;
    szg_store_u16(values + 2 * i, (uint16_t)(turned >> 1 | turned << 15));
  }
}

SZG_HOT static void join_to_4(const uint8_t *restrict plane0, const uint8_t *restrict plane1,
                              const uint8_t *restrict plane2, const uint8_t *restrict plane3,
                              size_t count, uint8_t *restrict values) {
  for (size_t i = 0; i < count; i++) {
    uint32_t const turned = plane0[i] | (uint32_t)plane1[i] << 8 | (uint32_t)plane2[i] << 16 |
                            (uint32_t)plane3[i] << 24;
    szg_store_u32(values + 4 * i, turned >> 1 | turned << 31);
  }
}

/* Joins four planes to the lower or the upper half of turned values. */
SZG_HOT static void join_half(const uint8_t *restrict plane0, const uint8_t *restrict plane1,
                              const uint8_t *restrict plane2, const uint8_t *restrict plane3,
                              size_t count, uint32_t *restrict halves) {
  for (size_t i = 0; i < count; i++)
    halves[i] = plane0[i] | (uint32_t)plane1[i] << 8 | (uint32_t)plane2[i] << 16 |
                (uint32_t)plane3[i] << 24;
}

SZG_HOT static void join_to_8(const uint32_t *restrict low, const uint32_t *restrict high,
                              size_t count, uint8_t *restrict values) {
  for (size_t i = 0; i < count; i++) {
    uint64_t const turned = low[i] | (uint64_t)high[i] << 32;
    szg_store_u64(values + 8 * i, turned >> 1 | turned << 63);
  }
}

void szg_planes_join(const uint8_t *const *planes, uint32_t value_count, uint32_t value_bytes,
                     uint8_t *values) {
  if (value_bytes == 8) {
    uint32_t low[SZG_TILE_VALUES], high[SZG_TILE_VALUES];
    join_half(planes[0], planes[1], planes[2], planes[3], value_count, low);
    join_half(planes[4], planes[5], planes[6], planes[7], value_count, high);
    join_to_8(low, high, value_count, values);
  } else if (value_bytes == 4) {
    join_to_4(planes[0], planes[1], planes[2], planes[3], value_count, values);
  } else if (value_bytes == 2) {
    join_to_2(planes[0], planes[1], value_count, values);
  } else {
    memcpy(values, planes[0], value_count);
  }
}
