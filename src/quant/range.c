/* range.c - the passes over values that look for their range, and the sample.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/bound.h"

#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "quant/restored.h"

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

/* One loop serves all passes over the values: the survey, extremes when range_so_far is NULL, else
 * the greatest magnitude up to limit. Another one takes the sample. Minimum, maximum and sums do
 * not depend on which worker saw what. */
typedef struct range_job {
  const szg_value_source *source;
  const uint64_t *named_fill;
  szg_known_fills known;
  const szg_range *range_so_far;
  double limit;
  const szg_survey *survey; /* NULL: extremes are looked for, or the greatest magnitude */
  szg_extremes by_worker[SZG_MAX_THREADS];
  szg_ends ends_by_worker[SZG_MAX_THREADS];
} range_job;

/* Leaves out what a pass clears for its workers: there may be many more. */
static void begin_range_job(const szg_value_source *source, range_job *job) {
  job->source = source;
  job->known = known_fills(source->dtype);
  job->named_fill = NULL;
  job->range_so_far = NULL;
  job->survey = NULL;
  job->limit = 0;
}

static void include_values(range_job *job, const void *values, size_t count, int worker) {
  szg_extremes *const extremes = &job->by_worker[worker];
  bool const is_f32 = job->source->dtype == SZGPU_F32;
  if (job->survey) {
    szg_ends *const ends = &job->ends_by_worker[worker];
    if (is_f32)
      survey_values_f32(values, count, job->survey, ends);
    else
      survey_values_f64(values, count, job->survey, ends);
  } else if (job->range_so_far) {
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
  double block[SZG_RANGE_BLOCK];
  if (!szg_is_mapped(mapping)) {
    include_values(job, values, count, worker);
    return SZGPU_OK;
  }
  size_t const kept_bytes = source->inner_values ? szg_dtype_bytes(mapping->inner) : 0;
  uint8_t *inner =
      kept_bytes ? (uint8_t *)source->inner_values + start * kept_bytes : (void *)block;
  for (size_t done; count > 0; count -= done, values += done * width, inner += done * kept_bytes) {
    done = count < SZG_RANGE_BLOCK ? count : SZG_RANGE_BLOCK;
    szg_values_to_inner(mapping, values, done, inner);
    include_values(job, inner, done, worker);
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
  range_job job;
  begin_range_job(source, &job);
  job.named_fill = named_fill;
  return run_range_pass(&job, range_part, extremes);
}

static szgpu_status sample_extremes_cpu(const szg_value_source *source, szg_extremes *extremes) {
  range_job job;
  begin_range_job(source, &job);
  return run_range_pass(&job, sample_part, extremes);
}

static szgpu_status greatest_up_to_cpu(const szg_value_source *source, const szg_range *range,
                                       double limit, double *greatest) {
  range_job job;
  begin_range_job(source, &job);
  job.range_so_far = range;
  job.limit = limit;
  szg_extremes total;
  SZG_TRY(run_range_pass(&job, range_part, &total));
  *greatest = total.greatest;
  return SZGPU_OK;
}

static szgpu_status survey_cpu(const szg_value_source *source, const szg_survey *survey,
                               szg_ends *ends) {
  range_job job;
  begin_range_job(source, &job);
  job.survey = survey;
  szg_threads *const threads = source->where;
  szg_ends const none = {UINT64_MAX, 0, 0, 0};
  for (int i = 0; i < threads->count; i++) job.ends_by_worker[i] = none;
  uint64_t const part_count = szg_div_up(source->value_count, SZG_RANGE_PART_VALUES);
  SZG_TRY(szg_for_parts(threads, part_count, 0, range_part, &job));
  *ends = none;
  for (int i = 0; i < threads->count; i++) szg_ends_merge(&job.ends_by_worker[i], ends);
  return SZGPU_OK;
}

static szgpu_status pick_cpu(const szg_value_source *source, const szg_runs *runs, void *picked) {
  size_t const width = szg_dtype_bytes(source->mapping.outer), run_bytes = runs->run_values * width;
  for (uint32_t i = 0; i < runs->count; i++)
    memcpy((uint8_t *)picked + i * run_bytes,
           (const uint8_t *)source->values + runs->first[i] * width, run_bytes);
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
                            .greatest_up_to = greatest_up_to_cpu,
                            .survey = survey_cpu,
                            .find_restored = szg_restored_find_cpu,
                            .pick = pick_cpu};
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
  *range = szg_range_of_extremes(source->dtype, named_fill, total);
  return SZGPU_OK;
}

szg_range szg_range_of_extremes(szgpu_dtype dtype, const uint64_t *named_fill, szg_extremes total) {
  szg_known_fills const known = known_fills(dtype);
  szg_range range = {.has_fill = named_fill != NULL, .fill_bits = named_fill ? *named_fill : 0};
  for (int i = 0; i < known.count; i++) {
    if (!(total.fills_seen >> i & 1)) continue;
    double const value = szg_value_of_bits(dtype, known.bits[i]);
    if (!range.has_fill) {
      range.has_fill = true;
      range.fill_bits = known.bits[i];
      continue;
    }
    if (isfinite(value))
      szg_extremes_include(&total, value, value); /* only the first is the fill */
    if (range.more_fill_count < SZG_MOST_MORE_FILLS)
      range.more_fill_bits[range.more_fill_count++] = known.bits[i];
  }
  range.has_values = total.least <= total.greatest;
  if (range.has_values) {
    range.least = total.least + 0.0; /* -0 becomes +0 */
    range.greatest = total.greatest + 0.0;
  }
  return range;
}
