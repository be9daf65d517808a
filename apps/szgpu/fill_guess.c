/* fill_guess.c - finds a value that is probably fill although nobody said so.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fill_guess.h"

#include "values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  LEAST_SHARE = 256, /* one value in so many */
  LEAST_COUNT = 3,   /* values; in a small field, one or two may be all there is of something */
  RANGE_RATIO = 8,   /* the whole range, in ranges without fill */
  RUN_VALUES = 32,   /* of the sample: neighbours, which share pages and cache lines */
  RUN_COUNT = 512,
  SAMPLE_VALUES = RUN_COUNT * RUN_VALUES
};

struct fill_guess {
  double value;         /* least or greatest of the finite values */
  double share;         /* of all values, 1/256 or more; at least three */
  double range_without; /* of the other finite values, above 0; at most 1/8 of the whole range */
};

struct values {
  szgpu_dtype dtype;
  const void *at;
  uint64_t count;
  const szgpu_info *kept; /* the values that this archive keeps do not count; NULL: all do */
};

/* Of finite values: the two least and the two greatest, each counted once however often it occurs,
 * and how often the outer two occur. */
struct extremes {
  double least, second_least, second_greatest, greatest;
  uint64_t least_count, greatest_count;
};

#define EXTREMES_NONE \
  { INFINITY, INFINITY, -INFINITY, -INFINITY, 0, 0 }

static void include(struct extremes *extremes, double value) {
  if (!isfinite(value)) return;
  if (value < extremes->least) {
    extremes->second_least = extremes->least;
    extremes->least = value;
    extremes->least_count = 1;
  } else if (value == extremes->least) {
    extremes->least_count++;
  } else if (value < extremes->second_least) {
    extremes->second_least = value;
  }
  if (value > extremes->greatest) {
    extremes->second_greatest = extremes->greatest;
    extremes->greatest = value;
    extremes->greatest_count = 1;
  } else if (value == extremes->greatest) {
    extremes->greatest_count++;
  } else if (value > extremes->second_greatest) {
    extremes->second_greatest = value;
  }
}

/* Whether one of the outer two looks like fill, among value_count values. */
static bool is_fill_like(const struct extremes *extremes, uint64_t value_count,
                         struct fill_guess *guess) {
  /* halved, because a range may overflow */
  double const half_range = extremes->greatest / 2 - extremes->least / 2;
  double const without_least = extremes->greatest / 2 - extremes->second_least / 2;
  double const without_greatest = extremes->second_greatest / 2 - extremes->least / 2;
  bool const is_least = without_least < without_greatest;
  double const half_without = is_least ? without_least : without_greatest;
  uint64_t const count = is_least ? extremes->least_count : extremes->greatest_count;
  *guess = (struct fill_guess){.value = is_least ? extremes->least : extremes->greatest,
                               .share = (double)count / (double)value_count,
                               .range_without = 2 * half_without};
  return half_without > 0 && half_without <= half_range / RANGE_RATIO && count >= LEAST_COUNT &&
         count >= value_count / LEAST_SHARE;
}

/* Values from first on; mostly all of them lie between the outer ones. */
static void include_run(struct extremes *extremes, const struct values *values, uint64_t first,
                        uint64_t count) {
  double run[RUN_VALUES];
  bool is_inside = true; /* false for a NaN, too */
  read_values(values->dtype, values->at, first, count, run);
  for (uint64_t i = 0; i < count; i++)
    is_inside &= run[i] > extremes->second_least && run[i] < extremes->second_greatest;
  if (is_inside) return;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const bits = value_bits(values->dtype, values->at, first + i);
    if (!values->kept || !value_is_kept(values->kept, bits)) include(extremes, run[i]);
  }
}

/* A run in each of RUN_COUNT equal spans, at a place that changes from span to span, because rows
 * may be as long as some spans. */
static struct extremes take_sample(const struct values *values) {
  struct extremes extremes = EXTREMES_NONE;
  uint64_t const span = values->count / RUN_COUNT;
  uint64_t const places = span - RUN_VALUES + 1;
  for (uint32_t r = 0; r < RUN_COUNT; r++) {
    uint32_t const mixed = r * 0x9e3779b1u; /* 2^32 over the golden ratio */
    include_run(&extremes, values, r * span + mixed % places, RUN_VALUES);
  }
  return extremes;
}

static struct extremes take_all(const struct values *values) {
  struct extremes extremes = EXTREMES_NONE;
  for (uint64_t first = 0; first < values->count; first += RUN_VALUES) {
    uint64_t const rest = values->count - first;
    include_run(&extremes, values, first, rest < RUN_VALUES ? rest : RUN_VALUES);
  }
  return extremes;
}

static bool guess_fill(const void *values, const szgpu_info *info, struct fill_guess *guess) {
  struct values const all = {info->shape.dtype, values, shape_values(&info->shape), info};
  struct extremes extremes;
  if (all.count >= SAMPLE_VALUES) {
    extremes = take_sample(&all);
    if (!is_fill_like(&extremes, SAMPLE_VALUES, guess)) return false;
  }
  extremes = take_all(&all);
  return is_fill_like(&extremes, all.count, guess);
}

bool may_be_suspicious(const void *values, const szgpu_shape *shape, double absolute_bound) {
  struct values const all = {shape->dtype, values, shape_values(shape), NULL};
  struct fill_guess guess;
  if (all.count < SAMPLE_VALUES) return true;
  struct extremes const extremes = take_sample(&all);
  double const half_range = extremes.greatest / 2 - extremes.least / 2;
  bool const is_over_range = isfinite(absolute_bound) && absolute_bound / 2 >= half_range;
  return is_over_range || is_fill_like(&extremes, SAMPLE_VALUES, &guess);
}

/* Whether fill does no harm: an absolute bound does not depend on it, and one below half the
 * spacing of values lets none become another. */
static bool is_kept(const struct fill_guess *guess, const szgpu_info *info) {
  double const spacing = value_spacing(info->shape.dtype, guess->value);
  return info->mode == SZGPU_MODE_ABS && info->absolute_bound < spacing / 2;
}

/* A value in as few digits as give it again. */
static void print_value(szgpu_dtype dtype, double value, char text[32]) {
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, 32, "%.*g", digits, value);
    double const read = strtod(text, NULL);
    if (dtype == SZGPU_F32 ? (float)read == (float)value : read == value) break;
  }
}

bool warn_of_fill(const void *values, const szgpu_info *info, const char *option,
                  char sentence[FILL_SENTENCE_CHARS]) {
  bool const is_by_value = info->mode == SZGPU_MODE_PWREL; /* no value loosens another's bound */
  if (info->mode == SZGPU_MODE_LOSSLESS || is_by_value || !(info->value_range > 0)) return false;
  struct fill_guess guess;
  if (!guess_fill(values, info, &guess) || is_kept(&guess, info)) return false;
  char value[32], remedy[80];
  print_value(info->shape.dtype, guess.value, value);
  /* A relative bound and a PSNR follow from the range, with fill as without it. */
  if (info->mode == SZGPU_MODE_ABS)
    snprintf(remedy, sizeof remedy, "otherwise it may not be restored exactly");
  else
    snprintf(remedy, sizeof remedy, "the bound is then %.3g, not %.3g",
             info->absolute_bound * (guess.range_without / info->value_range),
             info->absolute_bound);
  snprintf(sentence, FILL_SENTENCE_CHARS,
           "%.2g %% of its values are %s, far from all others; if that means missing, add %s%s: %s",
           100 * guess.share, value, option, value, remedy);
  return true;
}
