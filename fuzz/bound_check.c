/* bound_check.c - the guarantee, exactly, without the library's code.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bound_check.h"

#include <math.h>
#include <string.h>

__extension__ typedef __float128 wide; /* 113 bits: holds a product of two doubles exactly */

static uint64_t bits_at(const field_case *c, const uint8_t *field, uint64_t i) {
  return fuzz_load(field + c->width * i, (unsigned)c->width);
}

static double value_at(const field_case *c, const uint8_t *field, uint64_t i) {
  return case_value(c->shape.dtype, bits_at(c, field, i));
}

/* |x - r| > bound, in exact arithmetic. x - r is difference + error (Knuth's two-sum). The error is
 * at most half an ulp of the difference, so it decides only if |difference| is the bound. */
static bool is_beyond(double x, double r, double bound) {
  if (!isfinite(x) || !isfinite(r)) return true;
  if (isinf(x - r)) { /* halving is exact for values so large */
    x *= 0.5;
    r *= 0.5;
    bound *= 0.5;
  }
  double const difference = x - r, part = difference - x;
  double const error = (x - (difference - part)) + (-r - part);
  if (fabs(difference) != bound) return fabs(difference) > bound;
  return difference > 0.0 ? error > 0.0 : error < 0.0;
}

/* ---- the fill value ---- */

static const uint64_t known_fills_f32[] = {0x60AD78EC, 0x7CF00000, 0xF7F684DF, 0x7B4097CE,
                                           0x7149F2CA, 0x799A130C, 0x58635FA9, 0xFF7FFFFF,
                                           0x7FC00000, 0xFFC00000};
static const uint64_t known_fills_f64[] = {
    0x4415AF1D78B58C40, 0x479E000000000000, 0xC6FED09BEAD87C03, 0x476812F9CF7920E3,
    0x46293E5939A08CEA, 0x4733426172C74D82, 0x430C6BF526340000, 0xC7EFFFFFE0000000,
    0x4415AF1D80000000, 0xC6FED09BE0000000, 0x476812F9C0000000, 0x46293E5940000000,
    0x4733426180000000, 0x430C6BF520000000, 0x7FF8000000000000, 0xFFF8000000000000};

/* The bits that a value has as an f32 or f64, in which the list of fill values is. */
static uint64_t listed_bits(szgpu_dtype dtype, uint64_t bits) {
  float const value_f32 = (float)case_value(dtype, bits);
  uint32_t bits_f32;
  if (dtype <= SZGPU_F64) return bits;
  memcpy(&bits_f32, &value_f32, sizeof bits_f32);
  if (dtype == SZGPU_BF16) bits_f32 = (uint32_t)bits << 16;
  if (dtype == SZGPU_F16 && isnan(value_f32))
    bits_f32 = ((uint32_t)bits & 0x8000) << 16 | 0x7F800000 | ((uint32_t)bits & 0x3FF) << 13;
  return bits_f32;
}

/* Whether a value has the bits of the list; *bits: its own. */
static bool occurs(const field_case *c, uint64_t listed, uint64_t *bits) {
  for (uint64_t i = 0; i < c->value_count; i++) {
    *bits = bits_at(c, c->field, i);
    if (listed_bits(c->shape.dtype, *bits) == listed) return true;
  }
  return false;
}

/* Whether the bits are those of the value, which the type has, or nearest to it. */
static bool is_nearest(szgpu_dtype dtype, uint64_t bits, double value) {
  double const found = case_value(dtype, bits);
  if (isnan(value) || isnan(found)) return isnan(value) && isnan(found);
  bool const is_half = dtype == SZGPU_F16 || dtype == SZGPU_BF16;
  return found == value ||
         (is_half && fabs(found - (double)(float)value) <= fmax(fabs(value) * 0x1p-8, 0x1p-25));
}

/* found: by the library, of other types than f32 and f64. */
static bool find_fill(const field_case *c, uint64_t found, uint64_t *bits) {
  bool const is_f32 = c->shape.dtype != SZGPU_F64 && c->shape.dtype != SZGPU_I32;
  float const fill_f32 = (float)c->params.fill;
  *bits = 0;
  if (c->params.has_fill && c->shape.dtype > SZGPU_F64) {
    FUZZ_CHECK(is_nearest(c->shape.dtype, found, c->params.fill), "the fill value %a is %llx",
               c->params.fill, (unsigned long long)found);
    *bits = found;
    return true;
  }
  if (c->params.has_fill) {
    if (is_f32)
      memcpy(bits, &fill_f32, sizeof fill_f32);
    else
      memcpy(bits, &c->params.fill, sizeof c->params.fill);
    return true;
  }
  const uint64_t *const known = is_f32 ? known_fills_f32 : known_fills_f64;
  for (int i = 0; i < (is_f32 ? 10 : 16); i++)
    if (occurs(c, known[i], bits)) return true;
  *bits = 0;
  return false;
}

/* ---- all that is missing ---- */

/* Fill values, as the archive lists them. */
typedef struct missing_bits {
  uint32_t count;
  uint64_t bits[1 + SZGPU_MOST_MORE_FILLS];
} missing_bits;

static bool is_listed(const missing_bits *fills, uint64_t bits) {
  for (uint32_t i = 0; i < fills->count; i++)
    if (fills->bits[i] == bits) return true;
  return false;
}

/* The number is in the list, which has nothing that nobody asked for. */
static missing_bits find_fills(const field_case *c, const szgpu_info *info) {
  missing_bits fills = {0};
  uint64_t first;
  bool const looks_for_more = c->params.keep & SZGPU_KEEP_MISSING;
  bool const has_fill = find_fill(c, info->fill_bits, &first);
  if (has_fill || !looks_for_more)
    FUZZ_CHECK(has_fill == info->has_fill && (!has_fill || info->fill_bits == first),
               "the archive's fill value is %d %llx", info->has_fill,
               (unsigned long long)info->fill_bits);
  if (info->has_fill) fills.bits[fills.count++] = info->fill_bits;
  FUZZ_CHECK(info->more_fill_count <= SZGPU_MOST_MORE_FILLS, "%u further fill values",
             info->more_fill_count);
  FUZZ_CHECK(looks_for_more || info->more_fill_count <= c->params.more_fill_count,
             "%u further fill values, %u were named", info->more_fill_count,
             c->params.more_fill_count);
  for (uint32_t i = 0; i < info->more_fill_count; i++)
    fills.bits[fills.count++] = info->more_fill_bits[i];
  for (uint32_t named = 0; named < c->params.more_fill_count; named++) {
    uint32_t i = 0;
    while (i < fills.count &&
           !is_nearest(c->shape.dtype, fills.bits[i], c->params.more_fills[named]))
      i++;
    FUZZ_CHECK(i < fills.count, "the fill value %a is not in the archive",
               c->params.more_fills[named]);
  }
  return fills;
}

/* What comes back bit for bit, and does not count for the range. */
static bool is_missing(const field_case *c, const missing_bits *fills, uint64_t bits) {
  double const value = case_value(c->shape.dtype, bits);
  return is_listed(fills, bits) || (c->params.has_valid && (value < c->params.valid_least ||
                                                            value > c->params.valid_greatest));
}

/* ---- the absolute bound ---- */

/* A bound beyond what is exact by more than rounding twice, and lowering twice, explain; and no
 * whole number of units of an integer is lost. */
static void check_rel(szgpu_dtype dtype, double asked, wide range, double bound) {
  wide const exact = (wide)asked * range, tiny = (wide)1 / ((wide)1e30);
  bool const is_integer =
      dtype != SZGPU_F32 && dtype != SZGPU_F64 && dtype != SZGPU_F16 && dtype != SZGPU_BF16;
  FUZZ_CHECK((wide)bound <= exact + exact * tiny, "a bound of %a is above the exact one, asked %a",
             bound, asked);
  if (is_integer && exact < (wide)0x1p62)
    FUZZ_CHECK((int64_t)bound == (int64_t)exact, "a bound of %a loses a unit, asked %a", bound,
               asked);
  if (exact > 1e-300 && exact < 1e308)
    FUZZ_CHECK((wide)bound >= exact - exact * (wide)0x1p-50, "a bound of %a is far below, asked %a",
               bound, asked);
}

static void check_psnr(double asked, wide range, double bound) {
  wide const expected = range * (wide)(1.7320508075688772 * pow(10.0, -asked / 20.0));
  if (expected > 1e-290 && expected < 1e308 && asked < 5000.0)
    FUZZ_CHECK(fabs((double)((wide)bound / expected) - 1.0) < 1e-11, "a bound of %a for %g dB",
               bound, asked);
}

/* Limits are those of the values, or are not there: modes that look for no range, or were not asked
 * to keep it, have none, and nothing else codes values by a step. */
static void check_limits(const field_case *c, const szgpu_info *info, double least,
                         double greatest) {
  bool const is_kept =
      c->params.mode != SZGPU_MODE_ABS || c->params.keep & SZGPU_KEEP_RANGE || c->params.has_valid;
  FUZZ_CHECK(info->has_limits == (is_kept && info->step > 0), "there are limits: %d",
             info->has_limits);
  if (info->has_limits)
    FUZZ_CHECK(info->least == least && info->greatest == greatest &&
                   !(least == 0 && signbit(info->least)) &&
                   !(greatest == 0 && signbit(info->greatest)),
               "limits of %a and %a, of values from %a to %a", info->least, info->greatest, least,
               greatest);
}

static void check_range(const field_case *c, const szgpu_info *info, const missing_bits *fills) {
  double const bound = info->absolute_bound;
  double least = INFINITY, greatest = -INFINITY;
  for (uint64_t i = 0; i < c->value_count; i++) {
    double const value = value_at(c, c->field, i);
    if (!isfinite(value) || is_missing(c, fills, bits_at(c, c->field, i))) continue;
    least = fmin(least, value);
    greatest = fmax(greatest, value);
  }
  wide const range = (wide)greatest - (wide)least;
  check_limits(c, info, least, greatest);
  if (c->params.mode == SZGPU_MODE_ABS)
    FUZZ_CHECK(bound == c->params.bound, "a bound of %a, asked %a", bound, c->params.bound);
  else if (least > greatest)
    return; /* no value has a part in the range */
  else if (c->params.mode == SZGPU_MODE_REL)
    check_rel(c->shape.dtype, c->params.bound, range, bound);
  else
    check_psnr(c->params.bound, range, bound);
}

/* A bound of each value, in exact arithmetic: what changed is a number and keeps its sign. */
static void check_own_bound(double x, double r, double bound) {
  wide const error = (wide)x - (wide)r, magnitude = x < 0 ? -(wide)x : (wide)x;
  bool const is_number = isfinite(x) && isfinite(r) && x != 0 && (x < 0) == (r < 0) && r != 0;
  FUZZ_CHECK(is_number && (error < 0 ? -error : error) <= (wide)bound * magnitude,
             "%a became %a, with a bound of %a of each value", x, r, bound);
}

void check_bound(const field_case *c, const szgpu_info *info, const uint8_t *restored) {
  missing_bits const fills = find_fills(c, info);
  bool const is_of_each = c->params.mode == SZGPU_MODE_PWREL;
  if (!is_of_each) check_range(c, info, &fills);
  for (uint64_t i = 0; i < c->value_count; i++) {
    uint64_t const bits = bits_at(c, c->field, i);
    if (bits == bits_at(c, restored, i)) continue;
    FUZZ_CHECK(!is_missing(c, &fills, bits), "a missing value changed at %llu",
               (unsigned long long)i);
    double const x = value_at(c, c->field, i), r = value_at(c, restored, i);
    if (is_of_each) check_own_bound(x, r, c->params.bound);
    FUZZ_CHECK(is_of_each || !is_beyond(x, r, info->absolute_bound),
               "%a became %a at %llu, with a bound of %a", x, r, (unsigned long long)i,
               info->absolute_bound);
    FUZZ_CHECK(!info->has_limits || (r >= info->least && r <= info->greatest),
               "%a became %a at %llu, beyond the limits", x, r, (unsigned long long)i);
  }
}
