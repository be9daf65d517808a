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

/* The last of the numbers from one on, up to `end`, of which all are alike: within bound of the
 * value, which is not greater, if are_above; else out of bound of it, which is not less. */
static int last_alike(szgpu_dtype dtype, double value, double bound, bool are_above, int from,
                      int end) {
  int last = from, step = 1;
  bool is_growing = true;
  while (step > 0) {
    double const half = last + step <= end ? half_at(dtype, last + step) : 0;
    bool const is_alike = last + step <= end && (are_above ? is_within(value, half, bound)
                                                           : !is_within(half, value, bound));
    if (is_alike) last += step;
    is_growing = is_growing && is_alike;
    step = is_growing ? 2 * step : step / 2;
  }
  return last;
}

/* The last number of a row of evenly spaced ones that the number is in. */
static int last_of_row(szgpu_dtype dtype, int number) {
  int const row = dtype == SZGPU_F16 ? 1 << 10 : 1 << 7;
  return number >= 0 ? (number / row + 1) * row - 1 : number / row * row;
}

/* The same for the gaps behind numbers, all of them below the largest half. */
static int last_of_gaps(szgpu_dtype dtype, int number) {
  int const last = number >= 0 ? last_of_row(dtype, number) : last_of_row(dtype, number + 1) - 1;
  int const top = top_number(dtype);
  return last < top ? last : top - 1;
}

/* The least distance at which a half x of these magnitudes, moved up, would be rounded to one out
 * of bound: up to the middle between the last half within bound and the next one. Moving down is
 * the same by symmetry. Nothing is beyond the largest half, because narrowing stays there. The last
 * half within bound rises with x.
 *
 * Among those x that have the same last half, the greatest has the least distance. If they go on
 * evenly, and so do the last halves, the distance is the same for each last half: one spacing is a
 * multiple of the other. So one x is enough for all up to where either spacing changes. The
 * differences of such x and their last halves are equal, so they are rounded alike. INFINITY: no
 * distance is too far. */
static double least_distance_out(szgpu_dtype dtype, double bound, int last_number) {
  int const top = top_number(dtype);
  double least = INFINITY;
  int within = -last_number;
  for (int number = -last_number; number <= last_number;) {
    within = last_alike(dtype, half_at(dtype, number), bound, true,
                        within < number ? number : within, top);
    if (within == top) break; /* so it is for all that follow */
    int const last =
        last_alike(dtype, half_at(dtype, within + 1), bound, false, number, last_number);
    double const value = half_at(dtype, last);
    double const distance =
        0.5 * (half_at(dtype, within) - value) + 0.5 * (half_at(dtype, within + 1) - value);
    if (distance < least) least = distance;
    int const row = last_of_row(dtype, number), end = row < last_number ? row : last_number;
    double const beyond = half_at(dtype, last_of_gaps(dtype, within) + 1);
    int const even = last_alike(dtype, beyond, bound, false, number, end);
    number = (last > even ? last : even) + 1;
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
  if (mapping->outer == SZGPU_F64) return true;
  if (mapping->outer == SZGPU_F32) return !(fabs(value) >= 0x1.ffffffp127) || isinf(value);
  if (find_limits(mapping->outer, &of))
    return value >= of.least && value <= of.greatest && value == rint(value);
  /* As of f32: up to half a spacing above the largest half, as IEEE 754 rounds. */
  int const top = top_number(mapping->outer);
  double const largest = half_at(mapping->outer, top);
  double const spacing = largest - half_at(mapping->outer, top - 1);
  return !(fabs(value) >= largest + 0.5 * spacing) || isinf(value);
}

uint64_t szg_mapping_inner_bits(const szg_mapping *mapping, double value) {
  uint64_t bits = 0;
  limits unused;
  bool const is_integer = find_limits(mapping->outer, &unused);
  if (is_integer && value == 0.0) value = 0.0; /* -0.0: integers have one zero */
  float const value_f32 = (float)value;
  if (mapping->inner == SZGPU_F64) {
    memcpy(&bits, &value, sizeof value);
    return bits;
  }
  if (!szg_is_mapped(mapping) || is_integer) return szg_bits_of_float(value_f32);
  uint16_t const half = nearest_half(mapping->outer, value_f32);
  return mapping->outer == SZGPU_F16 ? szg_widen_f16(half) : szg_widen_bf16(half);
}

uint64_t szg_mapping_outer_bits(const szg_mapping *mapping, uint64_t inner_bits) {
  uint64_t outer_bits = 0;
  if (!szg_is_mapped(mapping)) return inner_bits;
  szg_values_to_outer(mapping, &inner_bits, 1, &outer_bits);
  return outer_bits;
}
