/* mapping_bound.c - numbers of the outer type, and the inner bound that keeps the outer one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>
#include <math.h>

#include "values/mapping.h"
#include "values/mapping_core.h"

/* ---- integers ---- */

typedef struct limits {
  double least, greatest;
} limits;

/* Of an integer type; of floats, nothing. */
static bool find_limits(szgpu_dtype dtype, limits *found) {
  switch (dtype) {
    case SZGPU_I8:
      *found = (limits){INT8_MIN, INT8_MAX};
      return true;
    case SZGPU_U8:
      *found = (limits){0, UINT8_MAX};
      return true;
    case SZGPU_I16:
      *found = (limits){INT16_MIN, INT16_MAX};
      return true;
    case SZGPU_U16:
      *found = (limits){0, UINT16_MAX};
      return true;
    case SZGPU_I32:
      *found = (limits){INT32_MIN, INT32_MAX};
      return true;
    default:
      return false;
  }
}

/* The double below x; x is finite and positive. */
static double step_down(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits--;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- halves: finite ones are numbered in their order, 0 is 0 ---- */

static int top_number(szgpu_dtype dtype) {
  return (dtype == SZGPU_F16 ? SZG_F16_INFINITY : SZG_BF16_INFINITY) - 1;
}

static double half_at(szgpu_dtype dtype, int number) {
  uint16_t const magnitude = (uint16_t)(number < 0 ? -number : number);
  uint32_t const bits = dtype == SZGPU_F16 ? szg_widen_f16(magnitude) : szg_widen_bf16(magnitude);
  double const value = szg_float_of_bits(bits);
  return number < 0 ? -value : value;
}

static uint16_t nearest_half(szgpu_dtype dtype, float value) {
  uint32_t const bits = szg_bits_of_float(value);
  return dtype == SZGPU_F16 ? szg_narrow_f16(bits) : szg_narrow_bf16(bits);
}

/* Whether greater - less <= bound, exactly; greater >= less. Two-sum gives what rounding left. */
static bool is_within(double less, double greater, double bound) {
  double const difference = greater - less;
  double const part = difference - greater;
  double const left = (greater - (difference - part)) - (less + part);
  return difference < bound || (difference == bound && left <= 0.0);
}

/* The least distance at which a half x of these magnitudes, moved up, would be rounded to one out
 * of bound: up to the middle between the last half within bound and the next one. Moving down is
 * the same by symmetry. Nothing is beyond the largest half, because narrowing stays there. The last
 * half within bound rises with x. INFINITY: no distance is too far. */
static double least_distance_out(szgpu_dtype dtype, double bound, int last_number) {
  int const top = top_number(dtype);
  double least = INFINITY;
  int within = -last_number;
  for (int number = -last_number; number <= last_number; number++) {
    double const value = half_at(dtype, number);
    if (within < number) within = number;
    while (within < top && is_within(value, half_at(dtype, within + 1), bound)) within++;
    if (within == top) break; /* so it is for all that follow */
    double const distance =
        0.5 * (half_at(dtype, within) - value) + 0.5 * (half_at(dtype, within + 1) - value);
    if (distance < least) least = distance;
  }
  return least;
}

static double inner_bound_of_half(szgpu_dtype dtype, double bound, double magnitude) {
  int last_number = top_number(dtype);
  if (magnitude < half_at(dtype, last_number))
    last_number = nearest_half(dtype, (float)magnitude) & 0x7FFF;
  double const distance = least_distance_out(dtype, bound, last_number);
  double const margin = 1.0 - 0x1p-40; /* over the rounding of a distance, of 2^-51 */
  return distance <= DBL_MAX ? distance * margin : bound;
}

double szg_mapping_inner_bound(const szg_mapping *mapping, double bound, double magnitude) {
  limits unused;
  if (mapping->kind != SZG_MAPPING_WIDEN) return bound;
  if (!find_limits(mapping->outer, &unused))
    return inner_bound_of_half(mapping->outer, bound, magnitude);
  double const most = 0x1p40; /* far more than two integers can differ */
  return step_down(floor(bound < most ? bound : most) + 0.5);
}

/* ---- single values ---- */

bool szg_mapping_has_value(const szg_mapping *mapping, double value) {
  limits of;
  if (mapping->kind != SZG_MAPPING_WIDEN) return true;
  if (find_limits(mapping->outer, &of))
    return value >= of.least && value <= of.greatest && value == rint(value);
  /* Up to half a spacing above the largest half, as IEEE 754 rounds. */
  int const top = top_number(mapping->outer);
  double const largest = half_at(mapping->outer, top);
  double const spacing = largest - half_at(mapping->outer, top - 1);
  return !(fabs(value) >= largest + 0.5 * spacing) || isinf(value);
}

uint64_t szg_mapping_inner_bits(const szg_mapping *mapping, double value) {
  uint64_t bits = 0;
  float const value_f32 = (float)value;
  if (mapping->inner == SZGPU_F64) {
    memcpy(&bits, &value, sizeof value);
    return bits;
  }
  limits unused;
  if (!szg_is_mapped(mapping) || find_limits(mapping->outer, &unused))
    return szg_bits_of_float(value_f32);
  uint16_t const half = nearest_half(mapping->outer, value_f32);
  return mapping->outer == SZGPU_F16 ? szg_widen_f16(half) : szg_widen_bf16(half);
}

uint64_t szg_mapping_outer_bits(const szg_mapping *mapping, uint64_t inner_bits) {
  uint64_t outer_bits = 0;
  if (!szg_is_mapped(mapping)) return inner_bits;
  szg_values_to_outer(mapping, &inner_bits, 1, &outer_bits);
  return outer_bits;
}
