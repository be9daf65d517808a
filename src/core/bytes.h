/* bytes.h - little-endian loads and stores, checked arithmetic on sizes, small integer helpers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BYTES_H
#define SZG_BYTES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/status.h"

static_assert(sizeof(size_t) == 8, "sizes are 64-bit");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "archives and fields are little-endian, and so is every host we build for");

SZG_HD double szg_double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

SZG_HD uint64_t szg_bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

SZG_HD uint16_t szg_load_u16(const uint8_t *p) {
  uint16_t v;
  memcpy(&v, p, sizeof v);
  return v;
}
SZG_HD void szg_store_u16(uint8_t *p, uint16_t v) { memcpy(p, &v, sizeof v); }

SZG_HD uint32_t szg_load_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}
SZG_HD void szg_store_u32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }

SZG_HD uint64_t szg_load_u64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}
SZG_HD void szg_store_u64(uint8_t *p, uint64_t v) { memcpy(p, &v, sizeof v); }

SZG_HD double szg_load_f64(const uint8_t *p) {
  double v;
  memcpy(&v, p, sizeof v);
  return v;
}
SZG_HD void szg_store_f64(uint8_t *p, double v) { memcpy(p, &v, sizeof v); }

/* Finite and > 0, by its bits, because the floating-point environment may flush denormals. */
SZG_HD bool szg_is_positive(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits - 1 < UINT64_C(0x7FF0000000000000) - 1;
}

SZG_HD bool szg_is_zero_or_positive(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < UINT64_C(0x7FF0000000000000);
}

static inline bool szg_is_finite(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits & UINT64_C(0x7FF0000000000000)) != UINT64_C(0x7FF0000000000000);
}

/* Stores the low `width` (1..8) bytes of v. */
static inline void szg_store_narrow(uint8_t *p, uint64_t v, unsigned width) {
  for (unsigned i = 0; i < width; i++) p[i] = (uint8_t)(v >> 8 * i);
}

/* Loads `width` (1..8) bytes and extends the sign. */
static inline int64_t szg_load_narrow(const uint8_t *p, unsigned width) {
  uint64_t v = 0;
  for (unsigned i = 0; i < width; i++) v |= (uint64_t)p[i] << 8 * i;
  unsigned const unused_bits = 64 - 8 * width;
  uint64_t const sign = (uint64_t)1 << (8 * width - 1);
  return unused_bits ? (int64_t)((v ^ sign) - sign) : (int64_t)v;
}

/* The least width, in bytes, that holds v with its sign. */
static inline unsigned szg_narrow_bytes(int64_t v) {
  unsigned width = 1;
  while (width < 8 && (v < -((int64_t)1 << (8 * width - 1)) || v >= (int64_t)1 << (8 * width - 1)))
    width++;
  return width;
}

SZG_HD uint64_t szg_div_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

SZG_HD uint64_t szg_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

SZG_HD uint64_t szg_align_up(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/* False if the result does not fit; *result is then undefined. */
SZG_CHECKED SZG_HD bool szg_mul_checked(uint64_t a, uint64_t b, uint64_t *result) {
  *result = a * b;
  return szg_mul_high_u64(a, b) == 0;
}

SZG_CHECKED SZG_HD bool szg_add_checked(uint64_t a, uint64_t b, uint64_t *result) {
  *result = a + b;
  return *result >= a;
}

#endif
