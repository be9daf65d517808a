/* bound.c - the range pass, the modes, and the step with its margin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/bound.h"

#include <float.h>
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"

enum {
  SZG_RANGE_BLOCK = 2048,         /* values checked together; 16 KiB of f64 */
  SZG_RANGE_PART_VALUES = 1 << 18 /* values in a part of the parallel loop */
};

typedef struct szg_known_fills {
  uint64_t bits[SZG_MAX_KNOWN_FILLS];
  int count;
} szg_known_fills;

static szg_known_fills known_fills(szgpu_dtype dtype) {
  static const uint32_t fills_f32[] = SZG_KNOWN_FILLS_F32;
  static const uint64_t fills_f64[] = SZG_KNOWN_FILLS_F64;
  static_assert(sizeof fills_f32 / sizeof *fills_f32 <= SZG_MAX_KNOWN_FILLS, "list too long");
  static_assert(sizeof fills_f64 / sizeof *fills_f64 <= SZG_MAX_KNOWN_FILLS, "list too long");
  szg_known_fills known = {{0}, 0};
  if (dtype == SZGPU_F32) {
    known.count = sizeof fills_f32 / sizeof *fills_f32;
    for (int i = 0; i < known.count; i++) known.bits[i] = fills_f32[i];
  } else {
    known.count = sizeof fills_f64 / sizeof *fills_f64;
    for (int i = 0; i < known.count; i++) known.bits[i] = fills_f64[i];
  }
  return known;
}

/* Position in the list, or -1. */
static int szg_known_fill(const szg_known_fills *known, uint64_t bits) {
  for (int i = 0; i < known->count; i++)
    if (known->bits[i] == bits) return i;
  return -1;
}

static void szg_extremes_include(szg_extremes *extremes, double low, double high) {
  if (low < extremes->least) extremes->least = low;
  if (high > extremes->greatest) extremes->greatest = high;
}

typedef uint32_t __attribute__((may_alias)) bits_of_f32;
typedef uint64_t __attribute__((may_alias)) bits_of_f64;

#define VALUE float
#define BITS uint32_t
#define ALIAS bits_of_f32
#define KEY int32_t
#define KEY_MAX INT32_MAX
#define KEY_MIN INT32_MIN
#define SIGNLESS UINT32_C(0x7FFFFFFF)
#define INFINITY_BITS UINT32_C(0x7F800000)
#define LEAST_FILL_MAGNITUDE SZG_FILL_LEAST_F32
#define SUFFIX f32
#include "quant/range.inc"

#define VALUE double
#define BITS uint64_t
#define ALIAS bits_of_f64
#define KEY int64_t
#define KEY_MAX INT64_MAX
#define KEY_MIN INT64_MIN
#define SIGNLESS UINT64_C(0x7FFFFFFFFFFFFFFF)
#define INFINITY_BITS UINT64_C(0x7FF0000000000000)
#define LEAST_FILL_MAGNITUDE SZG_FILL_LEAST_F64
#define SUFFIX f64
#include "quant/range.inc"

/* One loop serves both passes: extremes when range_so_far is NULL, else the greatest magnitude up
 * to limit. Another one takes the sample. Minimum and maximum do not depend on which worker saw
 * what. */
typedef struct range_job {
  const szg_value_source *source;
  const uint64_t *named_fill;
  szg_known_fills known;
  const szg_range *range_so_far;
  double limit;
  szg_extremes by_worker[SZG_MAX_THREADS];
} range_job;

static void include_values(const range_job *job, const void *values, size_t count,
                           szg_extremes *extremes) {
  bool const is_f32 = job->source->dtype == SZGPU_F32;
  if (job->range_so_far) {
    double const greatest = is_f32
                                ? greatest_up_to_f32(values, count, job->limit, job->range_so_far)
                                : greatest_up_to_f64(values, count, job->limit, job->range_so_far);
    szg_extremes_include(extremes, greatest, greatest);
  } else if (is_f32) {
    range_of_values_f32(values, count, &job->known, job->named_fill, extremes);
  } else {
    range_of_values_f64(values, count, &job->known, job->named_fill, extremes);
  }
}

/* Values of a wider type are made a block at a time. */
static szgpu_status range_part(void *job_pointer, uint64_t part, int worker) {
  range_job *const job = job_pointer;
  const szg_value_source *const source = job->source;
  const szg_mapping *const mapping = &source->mapping;
  size_t const width = szg_dtype_bytes(mapping->outer);
  uint64_t const start = part * SZG_RANGE_PART_VALUES;
  const uint8_t *values = (const uint8_t *)source->values + start * width;
  size_t count = (size_t)szg_min_u64(SZG_RANGE_PART_VALUES, source->value_count - start);
  szg_extremes *const extremes = &job->by_worker[worker];
  double block[SZG_RANGE_BLOCK];
  if (!szg_is_mapped(mapping)) {
    include_values(job, values, count, extremes);
    return SZGPU_OK;
  }
  size_t const kept_bytes = source->inner_values ? szg_dtype_bytes(mapping->inner) : 0;
  uint8_t *inner =
      kept_bytes ? (uint8_t *)source->inner_values + start * kept_bytes : (void *)block;
  for (size_t done; count > 0; count -= done, values += done * width, inner += done * kept_bytes) {
    done = count < SZG_RANGE_BLOCK ? count : SZG_RANGE_BLOCK;
    szg_values_to_inner(mapping, values, done, inner);
    include_values(job, inner, done, extremes);
  }
  return SZGPU_OK;
}

static szgpu_status sample_part(void *job_pointer, uint64_t part, int worker) {
  range_job *const job = job_pointer;
  const szg_value_source *const source = job->source;
  szg_extremes *const extremes = &job->by_worker[worker];
  uint64_t const spans_of_part = SZG_RANGE_PART_VALUES >> SZG_RANGE_SPAN_LOG2;
  uint64_t const end =
      szg_min_u64((part + 1) * spans_of_part, source->value_count >> SZG_RANGE_SPAN_LOG2);
  for (uint64_t span = part * spans_of_part; span < end; span++) {
    uint64_t const run = szg_range_run_of(source->first_span + span);
    uint64_t const first = run - (source->first_span << SZG_RANGE_SPAN_LOG2);
    if (source->dtype == SZGPU_F32)
      extremes_of_run_f32((const float *)source->values + first, extremes);
    else
      extremes_of_run_f64((const double *)source->values + first, extremes);
  }
  return SZGPU_OK;
}

/* Runs the pass, or takes the sample, and combines the workers' results. */
static szgpu_status run_range_pass(range_job *job, szg_part_function of_part, szg_extremes *total) {
  szg_threads *const threads = job->source->where;
  for (int i = 0; i < threads->count; i++)
    job->by_worker[i] = (szg_extremes){INFINITY, -INFINITY, 0};
  uint64_t const part_count = szg_div_up(job->source->value_count, SZG_RANGE_PART_VALUES);
  SZG_TRY(szg_for_parts(threads, part_count, 0, of_part, job));
  *total = job->by_worker[0];
  for (int i = 1; i < threads->count; i++) szg_extremes_merge(&job->by_worker[i], total);
  return SZGPU_OK;
}

static szgpu_status find_extremes_cpu(const szg_value_source *source, const uint64_t *named_fill,
                                      szg_extremes *extremes) {
  range_job job = {.source = source, .named_fill = named_fill, .known = known_fills(source->dtype)};
  return run_range_pass(&job, range_part, extremes);
}

static szgpu_status sample_extremes_cpu(const szg_value_source *source, szg_extremes *extremes) {
  range_job job = {.source = source};
  return run_range_pass(&job, sample_part, extremes);
}

static szgpu_status greatest_up_to_cpu(const szg_value_source *source, const szg_range *range,
                                       double limit, double *greatest) {
  range_job job = {.source = source, .range_so_far = range, .limit = limit};
  szg_extremes total;
  SZG_TRY(run_range_pass(&job, range_part, &total));
  *greatest = total.greatest;
  return SZGPU_OK;
}

szg_value_source szg_value_source_mapped_cpu(szg_threads *threads, const szg_mapping *mapping,
                                             const void *values, uint64_t value_count) {
  return (szg_value_source){.dtype = mapping->inner,
                            .mapping = *mapping,
                            .values = values,
                            .value_count = value_count,
                            .where = threads,
                            .find_extremes = find_extremes_cpu,
                            .sample_extremes = sample_extremes_cpu,
                            .greatest_up_to = greatest_up_to_cpu};
}

szg_value_source szg_value_source_cpu(szg_threads *threads, szgpu_dtype dtype, const void *values,
                                      uint64_t value_count) {
  szg_mapping const none = {.outer = dtype, .inner = dtype};
  return szg_value_source_mapped_cpu(threads, &none, values, value_count);
}

szgpu_status szg_range_take(const szg_value_source *source, const uint64_t *named_fill,
                            szg_range *range) {
  szg_extremes total;
  SZG_TRY(source->find_extremes(source, named_fill, &total));
  szg_known_fills const known = known_fills(source->dtype);
  *range = (szg_range){.has_fill = named_fill != NULL, .fill_bits = named_fill ? *named_fill : 0};
  for (int i = 0; i < known.count; i++) {
    if (!(total.fills_seen >> i & 1)) continue;
    double const value = szg_value_of_bits(source->dtype, known.bits[i]);
    if (!range->has_fill) {
      range->has_fill = true;
      range->fill_bits = known.bits[i];
    } else if (isfinite(value)) {
      szg_extremes_include(&total, value, value); /* only the first of the list is the fill */
    }
  }
  range->has_values = total.least <= total.greatest;
  if (range->has_values) {
    range->least = total.least + 0.0; /* -0 becomes +0 */
    range->greatest = total.greatest + 0.0;
  }
  return SZGPU_OK;
}

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

/* 10^(-decibels / 20) to about 1e-15, by operations with the same results everywhere, unlike libm's
 * pow: 2^n by bits, the rest by the exponential series for |t| <= ln(2) / 2. */
static double amplitude_of_decibels(double decibels) {
  double const exponent = -decibels * (3.321928094887362 / 20.0); /* log2(10) / 20 */
  double const whole = rint(exponent);
  if (whole < -1020.0) return 0.0;
  if (whole > 1020.0) return DBL_MAX;
  double const t = (exponent - whole) * 0.6931471805599453;
  double sum = 1.0, term = 1.0;
  for (int i = 1; i <= 18; i++) {
    term = term * t / (double)i;
    sum = sum + term;
  }
  uint64_t const power_bits = (uint64_t)((int64_t)whole + 1023) << 52;
  double power;
  memcpy(&power, &power_bits, sizeof power);
  return sum * power;
}

/* factor * (greatest - least), at most the exact product: two roundings, two steps down. Halved if
 * the difference would overflow. */
static double scaled_range(double factor, double least, double greatest) {
  double const half_range = greatest * 0.5 - least * 0.5;
  double const range = greatest - least;
  double const product = range <= DBL_MAX ? factor * range : (factor * half_range) * 2.0;
  if (!(product <= DBL_MAX)) return DBL_MAX;
  double lowered = product;
  for (int i = 0; i < 2 && lowered > 0.0; i++) lowered = step_down(lowered);
  return lowered;
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
  double bound = asked;
  if (mode == SZGPU_MODE_REL) bound = scaled_range(asked, least, greatest);
  if (mode == SZGPU_MODE_PSNR) /* uniform noise with a step of 2 b has mean square b^2 / 3 */
    bound = scaled_range(1.7320508075688772 * amplitude_of_decibels(asked), least, greatest);
  double magnitude = greatest_magnitude(least, greatest);
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

szgpu_status szg_bound_derive_log(const szg_value_source *source, double asked,
                                  const uint64_t *named_fill, szg_bound_plan *plan) {
  SZG_REQUIRE(asked > 0.0 && asked < 1.0, SZGPU_BAD_BOUND);
  szgpu_dtype const dtype = source->dtype;
  double const bound = szg_log_bound(source->mapping.outer, dtype, asked);
  uint64_t const fill_bits = szg_log_inner_fill(dtype);
  szg_bound_plan own = {.has_own_fill = named_fill != NULL,
                        .own_fill_bits = named_fill ? *named_fill : 0};
  if (!named_fill) SZG_TRY(find_own_fill(source, &own));
  if (bound > 0.0) {
    szg_value_source logs = *source;
    szg_range range;
    logs.mapping = szg_bound_mapping(&own, &source->mapping);
    SZG_TRY(szg_range_take(&logs, &fill_bits, &range));
    SZG_TRY(szg_bound_derive(&logs, SZGPU_MODE_ABS, bound, &range, plan));
  } else {
    szg_range const none = {.has_fill = true, .fill_bits = fill_bits};
    begin_plan(dtype, &none, plan);
    plan->is_constant = false;
    plan->is_hopeless = true;
    finish_plan(0.0, &none, plan);
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
  plan->greatest = magnitude;
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
