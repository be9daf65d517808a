/* mapping_core.h - one value of a narrow type to the wider type that is coded, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Widening is exact. Narrowing takes the nearest value of the type, ties to even, and the largest
 * finite one for what is beyond it; infinities and NaNs keep their bits. Both backends compile
 * these lines. Halves are moved as bits, so that no NaN passes through arithmetic.
 */
#ifndef SZG_MAPPING_CORE_H
#define SZG_MAPPING_CORE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/hd.h"

SZG_HD float szg_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

SZG_HD uint32_t szg_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

enum {
  SZG_F16_INFINITY = 0x7C00,
  SZG_BF16_INFINITY = 0x7F80,
  SZG_F32_SIGNLESS = 0x7FFFFFFF,
  SZG_F32_INFINITY = 0x7F800000,
  SZG_F32_F16_NORMAL = 0x38800000, /* 2^-14, the least normal f16 */
  SZG_F32_F16_BIAS = 127 - 15
};

/* Bit patterns of f16 to those of f32. */
SZG_HD uint32_t szg_widen_f16(uint16_t half) {
  uint32_t const sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7FFFu;
  if (magnitude >= SZG_F16_INFINITY)
    return sign | SZG_F32_INFINITY | (magnitude - SZG_F16_INFINITY) << 13;
  if (magnitude >= 1 << 10) return sign | ((magnitude << 13) + (SZG_F32_F16_BIAS << 23));
  return sign | szg_bits_of_float((float)magnitude * 0x1p-24f);
}

SZG_HD uint16_t szg_narrow_f16(uint32_t bits) {
  uint32_t const sign = bits >> 16 & 0x8000, magnitude = bits & SZG_F32_SIGNLESS;
  if (magnitude >= SZG_F32_INFINITY) {
    uint32_t const payload = magnitude >> 13 & 0x3FF;
    bool const is_cut = magnitude > SZG_F32_INFINITY && payload == 0; /* would be an infinity */
    return (uint16_t)(sign | SZG_F16_INFINITY | (is_cut ? 0x200 : payload));
  }
  if (magnitude < SZG_F32_F16_NORMAL)
    return (uint16_t)(sign | (uint32_t)rintf(szg_float_of_bits(magnitude) * 0x1p24f));
  uint32_t const rounded = (magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  uint32_t const half = rounded - (SZG_F32_F16_BIAS << 10);
  return (uint16_t)(sign | (half < SZG_F16_INFINITY ? half : SZG_F16_INFINITY - 1));
}

/* Bit patterns of bf16 to those of f32. */
SZG_HD uint32_t szg_widen_bf16(uint16_t half) { return (uint32_t)half << 16; }

SZG_HD uint16_t szg_narrow_bf16(uint32_t bits) {
  uint32_t const sign = bits >> 16 & 0x8000, magnitude = bits & SZG_F32_SIGNLESS;
  if (magnitude >= SZG_F32_INFINITY) {
    uint32_t const payload = magnitude >> 16 & 0x7F;
    bool const is_cut = magnitude > SZG_F32_INFINITY && payload == 0; /* would be an infinity */
    return (uint16_t)(sign | SZG_BF16_INFINITY | (is_cut ? 0x40 : payload));
  }
  uint32_t const half = (magnitude + 0x7FFF + (magnitude >> 16 & 1)) >> 16;
  return (uint16_t)(sign | (half < SZG_BF16_INFINITY ? half : SZG_BF16_INFINITY - 1));
}

/* The integer nearest to x within the limits, which float holds exactly; NaN: least. */
SZG_HD int32_t szg_narrow_integer_f32(float x, float least, float greatest) {
  x = x >= least ? x : least;
  return (int32_t)rintf(x <= greatest ? x : greatest);
}

SZG_HD int32_t szg_narrow_integer_f64(double x, double least, double greatest) {
  x = x >= least ? x : least;
  return (int32_t)rint(x <= greatest ? x : greatest);
}

#endif
