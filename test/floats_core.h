/* floats_core.h - every f32 once, in four orders, and the exact test of a bound; host and device.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares nothing with the library's arithmetic. Must be compiled like it, without contraction.
 */
#ifndef SZG_TEST_FLOATS_CORE_H
#define SZG_TEST_FLOATS_CORE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/hd.h"

/* Orders of all 2^32 patterns. A field has the patterns of consecutive indices.
 * RISING: by pattern, so a field of 2^20 shares sign and exponent, nearly.
 * SCATTERED: RISING with the low 16 bits reversed, so that neighbours predict little.
 * WOVEN: RISING, but each 256th value is one from anywhere.
 * MIXED: all bits reversed, so a field has all signs and exponents. */
typedef enum floats_order {
  FLOATS_RISING,
  FLOATS_SCATTERED,
  FLOATS_WOVEN,
  FLOATS_MIXED,
  FLOATS_ORDER_COUNT
} floats_order;

SZG_HD uint32_t floats_reversed(uint32_t bits) {
  bits = (bits >> 1 & 0x55555555u) | (bits & 0x55555555u) << 1;
  bits = (bits >> 2 & 0x33333333u) | (bits & 0x33333333u) << 2;
  bits = (bits >> 4 & 0x0F0F0F0Fu) | (bits & 0x0F0F0F0Fu) << 4;
  bits = (bits >> 8 & 0x00FF00FFu) | (bits & 0x00FF00FFu) << 8;
  return bits >> 16 | bits << 16;
}

SZG_HD uint32_t floats_pattern(floats_order order, uint32_t index) {
  if (order == FLOATS_SCATTERED) return (index & 0xFFFF0000u) | floats_reversed(index) >> 16;
  if (order == FLOATS_WOVEN) return index & 0xFF ? index : floats_reversed(index >> 8);
  return order == FLOATS_MIXED ? floats_reversed(index) : index;
}

SZG_HD double floats_value_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

SZG_HD double floats_value_f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The well-known fill values, as in docs/format.md, in their order; 0 after the last. */
SZG_HD uint32_t floats_known_fill_f32(uint32_t i) {
  const uint32_t fills[] = {0x60AD78EC, 0x7CF00000, 0xF7F684DF, 0x7B4097CE, 0x7149F2CA, 0x799A130C,
                            0x58635FA9, 0xFF7FFFFF, 0x7FC00000, 0xFFC00000, 0};
  return fills[i];
}

/* Whether |x - r| > b, exactly; b is finite. True if x or r is not finite.
 * s is x - r, rounded. Rounding never passes a double, and b is one, so |s| is on the same side of
 * b as |x - r| unless it is b. Then what was rounded off decides, and two-sum gives it exactly. */
SZG_HD bool floats_exceeds(double x, double r, double b) {
  double const s = x - r;
  if (fabs(s) != b) return !(fabs(s) < b);
  double const of_r = s - x; /* -r, but for what was rounded off */
  double const lost = (x - (s - of_r)) + (-r - of_r);
  return s > 0 ? lost > 0 : lost < 0;
}

/* What must hold of each value. */
typedef struct floats_claim {
  double bound; /* negative: all bits must come back */
  bool has_fill;
  uint64_t fill_bits; /* comes back bit for bit */
} floats_claim;

SZG_HD bool floats_is_kept_f32(const floats_claim *claim, uint32_t x, uint32_t restored) {
  if (x == restored) return true;
  if (claim->has_fill && x == (uint32_t)claim->fill_bits) return false;
  return !floats_exceeds(floats_value_f32(x), floats_value_f32(restored), claim->bound);
}

SZG_HD bool floats_is_kept_f64(const floats_claim *claim, uint64_t x, uint64_t restored) {
  if (x == restored) return true;
  if (claim->has_fill && x == claim->fill_bits) return false;
  return !floats_exceeds(floats_value_f64(x), floats_value_f64(restored), claim->bound);
}

#endif
