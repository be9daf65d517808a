/* bound.c - the modes, and the step with its margin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/bound.h"

#include <float.h>
#include <string.h>

#include "core/bytes.h"

/* The next double toward zero; x finite and positive. */
static double step_down(double x) {
  uint64_t const bits = szg_bits_f64(x) - 1;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* x >= 0 rounded toward zero to f32. */
static float float_toward_zero(double x) {
  float y = x > FLT_MAX ? FLT_MAX : (float)x;
  if ((double)y > x) {
    uint32_t const bits = szg_bits_f32(y) - 1;
    memcpy(&y, &bits, sizeof y);
  }
  return y;
}

/* factor * 2^exponent = sqrt(3) * 10^(-decibels / 20), with a relative error of at most 2^-50 +
 * decibels * 2^-54, by operations with the same results everywhere, unlike libm's pow: 2^n by its
 * exponent, the rest by the exponential series for |t| <= ln(2) / 2. */
static double amplitude_of_decibels(double decibels, int *exponent) {
  double const power = -decibels * (3.321928094887362 / 20.0); /* log2(10) / 20 */
  double const whole = rint(power);
  double const t = (power - whole) * 0.6931471805599453;
  double sum = 1.0, term = 1.0;
  for (int i = 1; i <= 18; i++) {
    term = term * t / (double)i;
    sum = sum + term;
  }
  *exponent = whole < -4000.0 ? -4000 : (int)whole; /* nothing is left of any range then */
  return 1.7320508075688772 * sum;
}

/* factor * (greatest - least) * 2^exponent, at most the exact product: two roundings, two steps
 * down. By an eighth of the range if it could overflow before the exponent counts, which is not
 * positive. */
static double scaled_range(double factor, int exponent, double least, double greatest) {
  double const range = greatest - least, eighth = greatest * 0.125 - least * 0.125;
  double const product =
      range <= DBL_MAX / 4 ? ldexp(factor * range, exponent) : ldexp(factor * eighth, exponent + 3);
  if (!(product <= DBL_MAX)) return DBL_MAX;
  double lowered = product;
  for (int i = 0; i < 2 && lowered > 0.0; i++) lowered = step_down(lowered);
  return lowered;
}

/* Whether factor * (greatest - least) >= number in exact arithmetic. The answer may be false where
 * it is true: if the difference is no double, the one below it counts; and numbers so small that
 * fma could lose what it rounds are not reached. Otherwise fma rounds once and keeps the sign. */
static bool product_reaches(double factor, double least, double greatest, double number) {
  if (number < 0x1p-960) return false; /* the product has 106 bits at most */
  double const range = greatest - least;
  double const part = range - greatest;
  double const left = (greatest - (range - part)) - (least + part); /* what rounding cut off */
  return fma(factor, left < 0.0 ? step_down(range) : range, -number) >= 0.0;
}

/* The least number of 44 bits that is not below x. Integers have fewer bits, and so has the
 * difference of any two numbers of f16. */
static double rounded_up_to_44_bits(double x) {
  uint64_t const bits = (szg_bits_f64(x) + 511) & ~(uint64_t)511;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* asked * (greatest - least), at most the exact product. A whole number of spacings of integers or
 * halves is not lowered: that would take one spacing from what all errors may be. */
static double relative_bound(const szg_mapping *mapping, double asked, double least,
                             double greatest) {
  double const bound = scaled_range(asked, 0, least, greatest);
  if (mapping->kind != SZG_MAPPING_WIDEN) return bound;
  double const rounded = rounded_up_to_44_bits(bound);
  return product_reaches(asked, least, greatest, rounded) ? rounded : bound;
}

static double psnr_bound(double decibels, double least, double greatest) {
  int exponent;
  double const factor = amplitude_of_decibels(decibels, &exponent);
  return scaled_range(factor, exponent, least, greatest);
}

double szg_bound_of_range(szgpu_mode mode, double asked, const szg_mapping *mapping, double least,
                          double greatest) {
  if (mode == SZGPU_MODE_REL) return relative_bound(mapping, asked, least, greatest);
  /* Uniform noise with a step of 2 b has mean square b^2 / 3. */
  return mode == SZGPU_MODE_PSNR ? psnr_bound(asked, least, greatest) : asked;
}

void szg_quantizer_set_limits(double least, double greatest, szg_quantizer *k) {
  k->least = least;
  k->greatest = greatest;
  k->least_f32 = (float)least;
  k->greatest_f32 = (float)greatest;
}

szg_quantizer szg_quantizer_make(uint32_t arithmetic, double bound, double step, bool has_fill,
                                 uint64_t fill_bits) {
  szg_quantizer k = {
      .arithmetic = arithmetic,
      .has_fill = has_fill,
      .fill_bits = fill_bits,
      .bound = bound,
      .step = step,
      .inverse = step > 0.0 ? 1.0 / step : 0.0,
      .limit = arithmetic == SZG_ARITHMETIC_F64_WIDE ? SZG_LATTICE_LIMIT_64 : SZG_LATTICE_LIMIT_32};
  if (arithmetic == SZG_ARITHMETIC_F32) {
    k.bound_f32 = float_toward_zero(bound);
    k.step_f32 = (float)step;
    k.inverse_f32 = step > 0.0 ? 1.0f / (float)step : 0.0f;
  }
  k.limit_f32 = (float)k.limit;
  szg_quantizer_set_limits(-INFINITY, INFINITY, &k);
  return k;
}

bool szg_quantizer_take_16_bits(double greatest, szg_quantizer *k) {
  bool const has_32_bits =
      k->arithmetic == SZG_ARITHMETIC_F32 || k->arithmetic == SZG_ARITHMETIC_F64;
  if (!has_32_bits || !(greatest * k->inverse < SZG_LATTICE_LIMIT_16 - 1.0)) return false;
  k->limit = SZG_LATTICE_LIMIT_16;
  k->limit_f32 = (float)SZG_LATTICE_LIMIT_16;
  return true;
}

/* The step is twice the rest of the bound after the margin, rounded down. greatest: X, the largest
 * magnitude to code. docs/guarantees.md has the derivation. */
static void derive_step(szgpu_dtype dtype, double bound, double greatest, szg_bound_plan *plan) {
  double const unit = dtype == SZGPU_F32 ? 0x1p-24 : 0x1p-53;
  double margin = 4.0 * unit * greatest;
  uint32_t arithmetic = SZG_ARITHMETIC_F64; /* the 64-bit lattice is decided below, by the step */
  if (dtype == SZGPU_F32)
    arithmetic = bound >= 80.0 * unit * greatest ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F32_CLOSE;
  double const step_f32 = float_toward_zero(2.0 * (bound - margin));
  if (arithmetic == SZG_ARITHMETIC_F32 && !(step_f32 >= 0x1p-126 && step_f32 <= 0x1p126))
    arithmetic = SZG_ARITHMETIC_F32_CLOSE;
  if (arithmetic == SZG_ARITHMETIC_F32_CLOSE) margin = (1.0 + 0x1p-10) * unit * greatest;
  double step = arithmetic == SZG_ARITHMETIC_F32 ? step_f32 : bound - margin;
  if (arithmetic != SZG_ARITHMETIC_F32) {
    if (step > 0.0) step = step_down(step);
    step = step <= DBL_MAX / 2 ? 2.0 * step : DBL_MAX;
  }
  if (arithmetic == SZG_ARITHMETIC_F64 && greatest / 0x1p30 >= step)
    arithmetic = SZG_ARITHMETIC_F64_WIDE;
  plan->is_hopeless = !(step > 0.0 && 1.0 / step <= DBL_MAX);
  if (plan->is_hopeless) return; /* raw frames: first arithmetic of the type, step 0 */
  plan->quantizer.arithmetic = arithmetic;
  plan->quantizer.step = step;
}

/* Beyond this magnitude the bound is below the spacing of values, which are then kept exactly. */
static double meaning_limit(szgpu_dtype dtype, double bound) {
  return bound * (dtype == SZGPU_F32 ? 0x1p23 : 0x1p50);
}

/* What follows from least and greatest value, in a plan that is 0 otherwise. */
static void begin_plan(szgpu_dtype dtype, const szg_range *range, szg_bound_plan *plan) {
  double const least = range->least, greatest = range->greatest; /* 0 without values */
  *plan = (szg_bound_plan){0};
  plan->quantizer.arithmetic = dtype == SZGPU_F32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F64;
  plan->is_constant = least == greatest;
  plan->constant_bits = szg_bits_of_value(dtype, least);
  plan->value_range = greatest - least <= DBL_MAX ? greatest - least : DBL_MAX;
}

/* bound: of the values that are coded. */
static void finish_plan(double bound, const szg_range *range, szg_bound_plan *plan) {
  szg_quantizer *const quantizer = &plan->quantizer;
  *quantizer = szg_quantizer_make(quantizer->arithmetic, bound, quantizer->step, range->has_fill,
                                  range->fill_bits);
}

static double greatest_magnitude(double least, double greatest) {
  return fabs(least) > fabs(greatest) ? fabs(least) : fabs(greatest);
}

szgpu_status szg_bound_derive(const szg_value_source *source, szgpu_mode mode, double asked,
                              const szg_range *range, szg_bound_plan *plan) {
  SZG_REQUIRE(asked > 0.0 && asked <= DBL_MAX, SZGPU_BAD_BOUND);
  szgpu_dtype const dtype = source->dtype;
  double const least = range->least, greatest = range->greatest;
  begin_plan(dtype, range, plan);
  plan->has_inner_values = source->inner_values != NULL;
  double bound = szg_bound_of_range(mode, asked, &source->mapping, least, greatest);
  double magnitude = greatest_magnitude(least, greatest);
  plan->magnitude = magnitude;
  plan->absolute_bound = bound;
  bound = szg_mapping_inner_bound(&source->mapping, bound, magnitude);
  if (!plan->is_constant) {
    double const limit = meaning_limit(dtype, bound);
    if (magnitude > limit) SZG_TRY(source->greatest_up_to(source, range, limit, &magnitude));
    plan->greatest = magnitude;
    derive_step(dtype, bound, magnitude, plan);
  }
  finish_plan(bound, range, plan);
  return SZGPU_OK;
}

void szg_bound_set_limits(const szg_range *range, szg_bound_plan *plan) {
  if (!range->has_values || plan->is_constant || plan->is_hopeless) return;
  plan->has_limits = true;
  plan->least_value = range->least;
  plan->greatest_value = range->greatest;
}

/* Finds a known fill value in a field of values that are coded as logarithms. */
static szgpu_status find_own_fill(const szg_value_source *source, szg_bound_plan *plan) {
  szg_value_source own = *source;
  szg_range range;
  own.mapping = (szg_mapping){.outer = source->mapping.outer, .inner = source->mapping.outer};
  own.inner_values = NULL;
  own.dtype = own.mapping.inner;
  SZG_TRY(szg_range_take(&own, NULL, &range));
  plan->has_own_fill = range.has_fill;
  plan->own_fill_bits = range.fill_bits;
  return SZGPU_OK;
}

szg_mapping szg_bound_mapping(const szg_bound_plan *plan, const szg_mapping *mapping) {
  szg_mapping whole = *mapping;
  if (mapping->kind != SZG_MAPPING_LOG) return whole;
  whole.fill.is_there = plan->has_own_fill;
  whole.fill.bits = szg_log_fill_bits(mapping->outer, mapping->inner, plan->own_fill_bits);
  return whole;
}

/* Finds the range of logarithms, and the fill value of the field's own if it is not known yet and
 * the source notes it. */
static szgpu_status take_logs(szg_value_source *logs, szg_bound_plan *own, szg_range *range) {
  szg_mapping const mapping = logs->mapping;
  uint64_t const fill_bits = szg_log_inner_fill(logs->dtype);
  szg_extremes total;
  logs->mapping = szg_bound_mapping(own, &mapping);
  SZG_TRY(logs->find_extremes(logs, &fill_bits, &total));
  if (total.fills_seen) { /* then none was known */
    szg_range const values = szg_range_of_extremes(mapping.outer, NULL, total);
    own->has_own_fill = values.has_fill;
    own->own_fill_bits = values.fill_bits;
    logs->mapping = szg_bound_mapping(own, &mapping);
    SZG_TRY(logs->find_extremes(logs, &fill_bits, &total));
  }
  *range = szg_range_of_extremes(logs->dtype, &fill_bits, total);
  return SZGPU_OK;
}

/* The magnitude of the field's type that a logarithm stands for. */
static double power_of(const szg_mapping *mapping, double logarithm) {
  szg_log_fill const no_fill = {0};
  uint8_t const is_negative = 0;
  uint64_t const bits = szg_bits_of_value(mapping->inner, logarithm);
  uint8_t inner[sizeof bits], outer[sizeof bits] = {0};
  szg_store_u64(inner, bits);
  szg_log_to_outer(mapping->outer, mapping->inner, no_fill, inner, &is_negative, 1, outer);
  return szg_value_of_bits(mapping->outer, szg_load_u64(outer));
}

static double rounded_to(szgpu_dtype dtype, double x) {
  return dtype == SZGPU_F32 ? (double)(float)x : x;
}

/* Brings the logarithm of an outermost magnitude inward until its power is not beyond this. It
 * moves by half a bound at most, so that it may replace every logarithm beyond it. sign: 1 from the
 * least, -1 from the greatest. */
static bool bring_inside(const szg_mapping *mapping, double bound, double magnitude, int sign,
                         double *logarithm) {
  double const from = *logarithm;
  double distance = 0;
  for (int i = 0; i <= 32; i++) {
    *logarithm = rounded_to(mapping->inner, from + sign * distance) + 0.0;
    if (sign * power_of(mapping, *logarithm) >= sign * magnitude)
      return fabs(*logarithm - from) <= bound;
    distance = i == 0 ? bound * 0x1p-32 : 2 * distance;
  }
  return false;
}

/* The plan under which no logarithm is coded. */
static void keep_logs_exactly(szgpu_dtype dtype, szg_bound_plan *plan) {
  szg_range const none = {.has_fill = true, .fill_bits = szg_log_inner_fill(dtype)};
  begin_plan(dtype, &none, plan);
  plan->is_constant = false;
  plan->is_hopeless = true;
  finish_plan(0.0, &none, plan);
}

/* Limits of logarithms, so that powers stay in the range of the values; where there are none,
 * values are kept as they are. Of values of both signs, a logarithm knows only the greatest
 * magnitude.
 * range: of the values; logs: of the logarithms. */
static void set_log_limits(const szg_mapping *mapping, const szg_range *range,
                           const szg_range *logs, szg_bound_plan *plan) {
  double const bound = plan->quantizer.bound;
  double const greatest = greatest_magnitude(range->least, range->greatest);
  double least = 0;
  if (range->least > 0) least = range->least;
  if (range->greatest < 0) least = -range->greatest;
  szg_range limits = *logs;
  bool are_there = bring_inside(mapping, bound, greatest, -1, &limits.greatest) &&
                   (least == 0 || bring_inside(mapping, bound, least, 1, &limits.least)) &&
                   limits.least <= limits.greatest;
  if (plan->is_constant)
    are_there &= limits.least == logs->least && limits.greatest == logs->greatest;
  if (are_there)
    szg_bound_set_limits(&limits, plan);
  else
    keep_logs_exactly(mapping->inner, plan);
}

szgpu_status szg_bound_derive_log(const szg_value_source *source, double asked,
                                  const uint64_t *named_fill, const szg_range *kept_range,
                                  szg_bound_plan *plan) {
  SZG_REQUIRE(asked > 0.0 && asked < 1.0, SZGPU_BAD_BOUND);
  szgpu_dtype const dtype = source->dtype;
  double const bound = szg_log_bound(source->mapping.outer, dtype, asked);
  szg_bound_plan own = {.has_own_fill = named_fill != NULL,
                        .own_fill_bits = named_fill ? *named_fill : 0};
  if (!named_fill && !(bound > 0.0 && source->notes_own_fills))
    SZG_TRY(find_own_fill(source, &own));
  if (bound > 0.0) {
    szg_value_source logs = *source;
    szg_range range;
    SZG_TRY(take_logs(&logs, &own, &range));
    SZG_TRY(szg_bound_derive(&logs, SZGPU_MODE_ABS, bound, &range, plan));
    if (kept_range && kept_range->has_values && range.has_values)
      set_log_limits(&source->mapping, kept_range, &range, plan);
  } else {
    keep_logs_exactly(dtype, plan);
  }
  plan->has_own_fill = own.has_own_fill;
  plan->own_fill_bits = own.own_fill_bits;
  return SZGPU_OK;
}

szgpu_status szg_bound_sample(const szg_value_source *source, double asked, szg_bound_plan *plan,
                              bool *is_enough) {
  SZG_REQUIRE(asked > 0.0 && asked <= DBL_MAX, SZGPU_BAD_BOUND);
  szg_extremes sample;
  *is_enough = false;
  if (source->value_count < SZG_RANGE_LEAST_SAMPLED) return SZGPU_OK;
  if (szg_is_mapped(&source->mapping)) return SZGPU_OK; /* the inner bound needs the magnitude */
  SZG_TRY(source->sample_extremes(source, &sample));
  if (sample.fills_seen || sample.least == sample.greatest) return SZGPU_OK;
  szg_range const range = {
      .has_values = true, .least = sample.least + 0.0, .greatest = sample.greatest + 0.0};
  double const magnitude = 1.5 * greatest_magnitude(range.least, range.greatest);
  if (magnitude < SZG_RANGE_LEAST_BOUNDS * asked) return SZGPU_OK;
  if (magnitude > meaning_limit(source->dtype, asked)) return SZGPU_OK;
  begin_plan(source->dtype, &range, plan);
  plan->absolute_bound = asked;
  plan->is_sampled = true;
  plan->greatest = plan->magnitude = magnitude;
  derive_step(source->dtype, asked, magnitude, plan);
  finish_plan(asked, &range, plan);
  *is_enough = !plan->is_hopeless;
  return SZGPU_OK;
}

szgpu_status szg_bound_declare(const szg_mapping *mapping, double asked, double greatest,
                               const uint64_t *named_fill, szg_bound_plan *plan) {
  SZG_REQUIRE(asked > 0.0 && asked <= DBL_MAX, SZGPU_BAD_BOUND);
  szgpu_dtype const dtype = mapping->inner;
  double const bound = szg_mapping_inner_bound(mapping, asked, INFINITY); /* of any value */
  double const limit = meaning_limit(dtype, bound), least = SZG_RANGE_LEAST_BOUNDS * bound;
  szg_range const range = {.has_values = true,
                           .least = -greatest,
                           .greatest = greatest,
                           .has_fill = named_fill != NULL,
                           .fill_bits = named_fill ? *named_fill : 0};
  double magnitude = greatest > least ? greatest : least;
  if (magnitude > limit) magnitude = limit;
  begin_plan(dtype, &range, plan);
  plan->absolute_bound = asked;
  plan->is_declared = true;
  plan->greatest = magnitude <= DBL_MAX ? magnitude : DBL_MAX;
  derive_step(dtype, bound, plan->greatest, plan);
  finish_plan(bound, &range, plan);
  return SZGPU_OK;
}
