/* target.c - finds the bound that gives an archive of the size that is asked for.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All bounds here are fractions of the range of the values. The ratio grows with the bound, if not
 * everywhere: what counts in the end are bounds that were tried on the whole field.
 */
#include "target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "values.h"

enum {
  LEAST_SAMPLED_BYTES = 32 << 20, /* of a field; trials on less take a second together */
  SAMPLE_GROUPS = 8,
  LEAST_GROUP_ROWS = 8, /* so that most neighbours of a value are there */
  SAMPLE_SHARE = 16,    /* one row in so many */
  MOST_TRIALS = 40      /* of one search; most take less than ten */
};

static const double first_bound = 1e-3;
static const double most_bound = 0.5; /* beyond it, all values are as good as equal */
static const double close_enough = 1.01;

/* What is known: the ratio at `low` is below the target, or low is 0, and that at `high` is not, or
 * high is 0. */
struct search {
  struct compression *of; /* the field, or a sample of it */
  double target, range;
  double low, low_ratio, high, high_ratio;
  double made; /* the bound of the archive in `of` */
  int trial_count;
};

/* Three digits, which a user can read and type. */
static double rounded(double bound) {
  char text[32];
  snprintf(text, sizeof text, "%.2e", bound);
  return strtod(text, NULL);
}

/* What is asked for, in the mode's unit. Of subnormal values the product may be too small for a
 * double; the least one keeps all of them exactly, as any smaller bound would. */
static double asked_bound(const struct search *search, double bound) {
  bool const is_absolute = search->of->params.mode == SZGPU_MODE_ABS;
  if (!is_absolute || !(search->range > 0)) return bound;
  double const absolute = rounded(bound * search->range);
  return absolute > 0 ? absolute : 0x1p-1074;
}

static int try_bound(struct search *search, double bound) {
  struct compression *const of = search->of;
  of->params.bound = asked_bound(search, bound);
  search->trial_count++;
  int const code = compression_make(of);
  if (code != CODE_OK) return code;
  double const ratio = archive_ratio(&of->info);
  search->made = bound;
  if (ratio >= search->target && (search->high == 0 || bound < search->high)) {
    search->high = bound;
    search->high_ratio = ratio;
  } else if (ratio < search->target && bound > search->low) {
    search->low = bound;
    search->low_ratio = ratio;
  }
  return CODE_OK;
}

/* Steps away from the start, each time by the square of the factor before, until the target lies
 * between low and high or there are no further bounds. */
static int bracket(struct search *search, double start, double factor, double least_bound) {
  int code = search->low == 0 && search->high == 0 ? try_bound(search, start) : CODE_OK;
  while (code == CODE_OK && search->high == 0 && search->low < most_bound) {
    double const next = rounded(search->low * factor);
    code = try_bound(search, next < most_bound ? next : most_bound);
    factor *= factor;
  }
  while (code == CODE_OK && search->low == 0 && search->high > least_bound) {
    double const next = rounded(search->high / factor);
    code = try_bound(search, next > least_bound ? next : least_bound);
    factor *= factor;
  }
  return code;
}

/* Between low and high, where a line through their logarithms meets the target. */
static double next_bound(const struct search *search) {
  double const aim = search->target * sqrt(close_enough);
  double const slope = log(search->high_ratio / search->low_ratio);
  double part = slope > 0 ? log(aim / search->low_ratio) / slope : 0.5;
  part = part < 0.1 ? 0.1 : part > 0.9 ? 0.9 : part;
  return rounded(search->low * pow(search->high / search->low, part));
}

static int narrow(struct search *search) {
  int code = CODE_OK;
  while (code == CODE_OK && search->low > 0 && search->high > 0 &&
         search->high_ratio > search->target * close_enough &&
         search->high > search->low * close_enough && search->trial_count < MOST_TRIALS) {
    double const bound = next_bound(search);
    if (bound <= search->low || bound >= search->high) break;
    code = try_bound(search, bound);
  }
  return code;
}

/* Groups of neighbouring rows, evenly spread. Returns an exit code; *is_taken: whether the field
 * has enough rows for a sample. */
static int take_sample(const struct compression *work, struct compression *sample, bool *is_taken) {
  szgpu_shape const *shape = &work->field.shape;
  uint64_t const row_count = shape->dims[0], row_bytes = work->field.byte_count / row_count;
  uint64_t const group_rows = row_count / (SAMPLE_SHARE * SAMPLE_GROUPS);
  *is_taken = work->field.byte_count >= LEAST_SAMPLED_BYTES && group_rows >= LEAST_GROUP_ROWS;
  if (!*is_taken) return CODE_OK;
  *sample = compression_of(work->job);
  sample->params = work->params;
  sample->field.shape = *shape;
  sample->field.shape.dims[0] = group_rows * SAMPLE_GROUPS;
  sample->field.byte_count = sample->field.shape.dims[0] * row_bytes;
  sample->field.copy = memory_take(sample->field.byte_count);
  if (!sample->field.copy.bytes)
    return report_out_of_memory(&work->job->report, work->name, "a sample of it",
                                sample->field.byte_count);
  size_t const group_bytes = (size_t)(group_rows * row_bytes);
  uint64_t const spacing = row_count / SAMPLE_GROUPS;
  for (uint64_t g = 0; g < SAMPLE_GROUPS; g++) {
    uint64_t const first_row = g * spacing + (spacing - group_rows) / 2;
    memcpy(sample->field.copy.bytes + g * group_bytes,
           (const char *)work->field.values + first_row * row_bytes, group_bytes);
  }
  sample->field.values = sample->field.copy.bytes;
  return CODE_OK;
}

/* Sets *bound to the one for the sample's ratio; leaves it if there is no sample, or none. The
 * sample's bounds are absolute, because its range may be smaller. */
static int search_sample(const struct search *whole, double least_bound, double *bound) {
  struct compression sample;
  bool is_taken;
  int code = take_sample(whole->of, &sample, &is_taken);
  if (!is_taken) return code;
  sample.params.mode = SZGPU_MODE_ABS;
  struct search search = {.of = &sample, .target = whole->target, .range = whole->range};
  if (code == CODE_OK) code = bracket(&search, *bound, 4, least_bound);
  if (code == CODE_OK) code = narrow(&search);
  if (code == CODE_OK) *bound = search.high > 0 ? search.high : most_bound;
  compression_close(&sample);
  return code;
}

/* A first compression, whatever the mode, gives the range, which absolute bounds do not need. */
static int find_range(struct search *search) {
  szgpu_params *const params = &search->of->params;
  szgpu_mode const mode = params->mode;
  params->mode = SZGPU_MODE_REL;
  int const code = try_bound(search, first_bound);
  params->mode = mode;
  search->range = search->of->info.value_range;
  search->made = 0;
  return code;
}

int target_find(struct compression *work, double ratio, int *trial_count) {
  double const least_bound = work->field.shape.dtype == SZGPU_F64 ? 1e-18 : 1e-9;
  struct search search = {.of = work, .target = ratio};
  int code = find_range(&search);
  double start = first_bound;
  if (code == CODE_OK && search.range > 0) code = search_sample(&search, least_bound, &start);
  bool const is_sampled = start != first_bound;
  if (code == CODE_OK && (is_sampled || search.range == 0 || work->params.mode == SZGPU_MODE_ABS))
    search.low = search.high = 0; /* the first bound is far off, or was of another mode */
  if (code == CODE_OK) code = bracket(&search, start, is_sampled ? 1.03 : 4, least_bound);
  if (code == CODE_OK) code = narrow(&search);
  if (code == CODE_OK && search.high == 0)
    return report_failure(&work->job->report, CODE_USAGE, work->name,
                          "reaches a ratio of %.2f at most, with a bound of half its range; give a "
                          "lower --target-ratio",
                          search.low_ratio);
  if (code == CODE_OK && search.made != search.high) code = try_bound(&search, search.high);
  *trial_count = search.trial_count;
  return code;
}
