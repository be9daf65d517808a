/* fill_guess.c - finds a value that is probably fill although nobody said so.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fill_guess.h"

#include "values.h"

#include <math.h>
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

struct values {
  szgpu_dtype dtype;
  const void *at;
  uint64_t count;
};

static double value_at(const struct values *values, uint64_t index) {
  return value_of_bits(values->dtype, value_bits(values->dtype, values->at, index));
}

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

/* A run in each of RUN_COUNT equal spans, at a place that changes from span to span, because rows
 * may be as long as some spans. */
static struct extremes take_sample(const struct values *values) {
  struct extremes extremes = EXTREMES_NONE;
  uint64_t const span = values->count / RUN_COUNT;
  uint64_t const places = span - RUN_VALUES + 1;
  for (uint32_t r = 0; r < RUN_COUNT; r++) {
    uint32_t const mixed = r * 0x9e3779b1u; /* 2^32 over the golden ratio */
    uint64_t const first = r * span + mixed % places;
    for (uint64_t i = 0; i < RUN_VALUES; i++) include(&extremes, value_at(values, first + i));
  }
  return extremes;
}

static struct extremes take_all(const struct values *values) {
  struct extremes extremes = EXTREMES_NONE;
  for (uint64_t i = 0; i < values->count; i++) include(&extremes, value_at(values, i));
  return extremes;
}

bool guess_fill(const void *values, const szgpu_shape *shape, const uint64_t *known_fill,
                struct fill_guess *guess) {
  struct values const all = {shape->dtype, values, shape_values(shape)};
  struct extremes extremes;
  double const known = known_fill ? value_of_bits(all.dtype, *known_fill) : NAN;
  if (all.count >= SAMPLE_VALUES) {
    extremes = take_sample(&all);
    if (!is_fill_like(&extremes, SAMPLE_VALUES, guess) || guess->value == known) return false;
  }
  extremes = take_all(&all);
  return is_fill_like(&extremes, all.count, guess) && guess->value != known;
}

bool may_be_suspicious(const void *values, const szgpu_shape *shape, double absolute_bound) {
  struct values const all = {shape->dtype, values, shape_values(shape)};
  struct fill_guess guess;
  if (all.count < SAMPLE_VALUES) return true;
  struct extremes const extremes = take_sample(&all);
  double const half_range = extremes.greatest / 2 - extremes.least / 2;
  bool const is_over_range = isfinite(absolute_bound) && absolute_bound / 2 >= half_range;
  return is_over_range || is_fill_like(&extremes, SAMPLE_VALUES, &guess);
}

struct words words_for_value(szgpu_dtype dtype, double value) {
  struct words words;
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(words.text, sizeof words.text, "%.*g", digits, value);
    double const read = strtod(words.text, NULL);
    if (dtype == SZGPU_F32 ? (float)read == (float)value : read == value) break;
  }
  return words;
}
