/* raster_find.c - the spacing and the offset of values on a raster.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The spacing is the greatest common divisor of the values' differences, to within what rounding
 * the values may have changed. Small differences come first: the quotient of a large one and a
 * spacing that is only known roughly is no integer yet.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "quant/raster.h"

/* ---- what rounding may have changed ---- */

static bool is_missing(double value) { return value != value; }

/* Whether all values are multiples of a power of two of which the greatest has at most 2^bits. */
static bool are_whole(const szg_raster_sample *sample, double magnitude, int bits) {
  int exponent;
  (void)frexp(magnitude, &exponent);
  int const scale = bits - exponent; /* magnitude * 2^scale is below 2^bits */
  if (scale < -1000 || scale > 1000) return false;
  double const factor = ldexp(1.0, scale);
  for (uint32_t i = 0; i < sample->count; i++) {
    double const scaled = sample->values[i] * factor;
    if (!is_missing(scaled) && rint(scaled) != scaled) return false;
  }
  return true;
}

static bool are_f32(const szg_raster_sample *sample) {
  for (uint32_t i = 0; i < sample->count; i++) {
    double const value = sample->values[i];
    if (!is_missing(value) && (double)(float)value != value) return false;
  }
  return true;
}

/* A value is n * spacing + offset with two or three roundings. Numbers with fewer bits than their
 * type has are exact: those of values that are anywhere fill it. */
static double rounding_of(const szg_raster_sample *sample, szgpu_dtype dtype, double magnitude) {
  bool const is_f32 = dtype == SZGPU_F32 || are_f32(sample);
  if (are_whole(sample, magnitude, is_f32 ? 22 : 50)) return 0.0;
  return magnitude * (is_f32 ? 0x1p-23 : 0x1p-51);
}

/* ---- the spacing ---- */

enum { MOST_DIFFERENCES = 256, LEAST_DIFFERENCES = 16, MOST_DIVISIONS = 64 };

/* Spacings of fewer roundings cannot be told from chance. */
#define LEAST_ROUNDINGS 64.0

typedef struct spacing {
  double value, error; /* the true one is value +- error */
  double slack;        /* twice the rounding: of a difference */
} spacing;

typedef enum quotient { IS_WHOLE, IS_NOT_WHOLE, IS_UNCLEAR } quotient;

/* Divides a difference by the spacing. A whole quotient makes the spacing more precise. */
static quotient divide(double difference, spacing *g, double *rest) {
  double const n = rint(difference / g->value), slack = g->slack + n * g->error;
  *rest = fabs(difference - n * g->value);
  if (slack > g->value / 4) return IS_UNCLEAR;
  if (*rest > slack + n * g->value * 0x1p-52) return IS_NOT_WHOLE;
  if (n > 0 && g->slack < n * g->error) {
    g->value = difference / n;
    g->error = g->slack / n;
  }
  return IS_WHOLE;
}

static int compare(const void *a, const void *b) {
  double const first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* Differences of neighbours that are not 0. Fewer than LEAST_DIFFERENCES: there are too few of
 * them, or one is too small. */
static uint32_t take_differences(const szg_raster_sample *sample, double least_spacing,
                                 double *differences) {
  uint32_t count = 0;
  for (uint32_t i = 1; i < sample->count; i++) {
    double const difference = fabs(sample->values[i] - sample->values[i - 1]);
    bool const is_one = i % sample->run_values != 0 && difference > 0.0; /* false for NaN */
    if (!is_one) continue;
    if (difference < least_spacing) return 0;
    if (count < MOST_DIFFERENCES) differences[count++] = difference;
  }
  return count;
}

/* The spacing of the differences, by Euclid's algorithm. */
static bool divide_differences(const double *differences, uint32_t count, double least_spacing,
                               spacing *g) {
  g->value = differences[0];
  g->error = g->slack;
  int divisions = 0;
  for (uint32_t i = 0; i < count; i++) {
    double rest;
    quotient const is = divide(differences[i], g, &rest);
    if (is == IS_UNCLEAR) return i > 0;
    if (is == IS_WHOLE) continue;
    if (rest < least_spacing || ++divisions > MOST_DIVISIONS) return false;
    g->error = g->slack + rint(differences[i] / g->value) * g->error;
    g->value = rest;
    i = UINT32_MAX; /* from the first one on */
  }
  return true;
}

/* Makes it as precise as the most distant values allow. */
static bool divide_distances(const szg_raster_sample *sample, double origin, spacing *g) {
  uint32_t unclear_count = UINT32_MAX, before;
  do {
    before = unclear_count;
    unclear_count = 0;
    for (uint32_t i = 0; i < sample->count; i++) {
      double rest;
      if (is_missing(sample->values[i])) continue;
      quotient const is = divide(fabs(sample->values[i] - origin), g, &rest);
      if (is == IS_NOT_WHOLE) return false;
      unclear_count += is == IS_UNCLEAR;
    }
  } while (unclear_count > 0 && unclear_count < before);
  return unclear_count == 0;
}

/* Of all numbers that it may be, the one with the fewest decimals. */
static void round_to_decimals(spacing *g) {
  double power = 1.0;
  for (int decimals = 0; decimals <= 15; decimals++, power *= 10.0) {
    double const units = rint(g->value * power), rounded = units / power;
    double const error = g->error > g->value * 0x1p-51 ? g->error : g->value * 0x1p-51;
    if (units > 0x1p53) return;
    if (units > 0 && fabs(rounded - g->value) <= error) {
      g->value = rounded;
      return;
    }
  }
}

/* ---- the offset ---- */

/* The mean distance of the values from multiples of the spacing, in [-spacing / 2, spacing / 2]. */
static double offset_of(const szg_raster_sample *sample, double origin, const spacing *g) {
  double const first = origin - rint(origin / g->value) * g->value;
  double sum = 0, count = 0;
  for (uint32_t i = 0; i < sample->count; i++) {
    double const from_first = sample->values[i] - first;
    if (is_missing(from_first)) continue;
    sum += from_first - rint(from_first / g->value) * g->value;
    count += 1;
  }
  double const offset = g->slack > 0 ? first + sum / count : first;
  bool const is_none = fabs(offset) <= 2 * g->slack + fabs(origin) * 0x1p-51;
  return is_none ? 0.0 : offset;
}

bool szg_raster_find(const szg_raster_sample *sample, szgpu_dtype dtype, double least_spacing,
                     szg_raster *raster) {
  double differences[MOST_DIFFERENCES], origin = NAN;
  uint32_t const count = take_differences(sample, least_spacing, differences);
  if (count < LEAST_DIFFERENCES) return false;
  *raster = (szg_raster){.least = INFINITY, .greatest = -INFINITY};
  for (uint32_t i = 0; i < sample->count; i++) {
    double const value = sample->values[i];
    if (value < raster->least) raster->least = value;
    if (value > raster->greatest) raster->greatest = value;
    if (is_missing(origin)) origin = value;
  }
  double const magnitude = fmax(fabs(raster->least), fabs(raster->greatest));
  if (!(magnitude < DBL_MAX / 4)) return false; /* distances must be finite */
  raster->rounding = rounding_of(sample, dtype, magnitude);
  least_spacing = fmax(least_spacing, LEAST_ROUNDINGS * raster->rounding);
  qsort(differences, count, sizeof *differences, compare);
  if (differences[0] < least_spacing) return false;
  spacing g = {.slack = 2 * raster->rounding};
  if (!divide_differences(differences, count, least_spacing, &g)) return false;
  if (!divide_distances(sample, origin, &g)) return false;
  round_to_decimals(&g);
  raster->spacing = g.value;
  raster->offset = offset_of(sample, origin, &g);
  return true;
}
