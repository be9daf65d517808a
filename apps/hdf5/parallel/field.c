/* field.c - makes vortices and noise by global index, and compares restored values with them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "field.h"

#include <math.h>
#include <string.h>

/* The two systems' periods along each axis, in values: a larger field has more vortices, not larger
 * ones, and so compresses like a smaller one. */
static const uint64_t period[2][FIELD_DIMS] = {{112, 96, 80}, {45, 37, 29}};
static const double strength[2] = {1.0, 0.5};
static const double noise_width = 1e-3;

/* A wave of parabolas that looks like a sine: 0 at 0, 1 at a quarter of the period. */
static double wave(uint64_t place, uint64_t length) {
  double const phase = (double)(place % length) / (double)length;
  double const half = phase < 0.5 ? phase : phase - 0.5;
  double const arch = 16.0 * half * (0.5 - half);
  return phase < 0.5 ? arch : -arch;
}

/* Hashes a global index to 64 random-looking bits, as SplitMix64 does. */
static uint64_t mix(uint64_t index) {
  uint64_t bits = (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
  bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
  return bits ^ bits >> 31;
}

/* The factor of a row of values: the product of the waves along the two slow axes. */
static double row_factor(const struct field *field, int system, uint64_t z, uint64_t y) {
  return strength[system] * wave(z + 3 * field->step, period[system][0]) *
         wave(y + 5 * field->step, period[system][1]);
}

static bool is_in_hole(const struct field *field, const uint64_t *at) {
  if (!field->has_hole) return false;
  for (int axis = 0; axis < FIELD_DIMS; axis++)
    if (at[axis] < field->dims[axis] / 3 || at[axis] >= field->dims[axis] / 2) return false;
  return true;
}

/* Makes `count` values of a row, from `at` on. */
static void make_row(const struct field *field, const uint64_t *at, uint64_t count, float *row) {
  uint64_t const first =
      ((field->step * field->dims[0] + at[0]) * field->dims[1] + at[1]) * field->dims[2] + at[2];
  double const large = row_factor(field, 0, at[0], at[1]);
  double const small = row_factor(field, 1, at[0], at[1]);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const x = at[2] + i;
    double const noise = (double)(mix(first + i) >> 40) * 0x1p-24 - 0.5;
    double const flow = large * wave(x, period[0][2]) + small * wave(x, period[1][2]);
    uint64_t const place[FIELD_DIMS] = {at[0], at[1], x};
    row[i] = is_in_hole(field, place) ? FIELD_FILL : (float)(flow + noise_width * noise);
  }
}

void field_make(const struct field *field, const struct block *block, float *values) {
  for (uint64_t z = 0; z < block->count[0]; z++)
    for (uint64_t y = 0; y < block->count[1]; y++) {
      uint64_t const at[FIELD_DIMS] = {block->start[0] + z, block->start[1] + y, block->start[2]};
      make_row(field, at, block->count[2], values);
      values += block->count[2];
    }
}

/* Whether |a - b| <= bound, exactly. Rounding keeps order: if the rounded difference is below or
 * above the bound, so is the true one. If it equals the bound, the rounding error decides, which
 * two-sum computes. NaN is above. */
static bool is_within(double a, double b, double bound) {
  double const high = a > b ? a : b, low = a > b ? b : a;
  double const difference = high - low;
  if (difference != bound) return difference < bound;
  double const back = high - difference; /* high - low is the difference and the errors of both */
  return (high - (back + difference)) + (back - low) <= 0;
}

static void compare_value(float original, float restored, double bound,
                          struct comparison *comparison) {
  if (memcmp(&original, &restored, sizeof original) == 0) return;
  double const error = fabs((double)original - (double)restored);
  if (!(error <= comparison->largest_error)) comparison->largest_error = error;
  if (original == FIELD_FILL || bound == 0 || !is_within(original, restored, bound))
    comparison->values_over_bound++;
}

void field_compare(const struct field *field, const struct block *block, const float *restored,
                   double bound, struct comparison *comparison) {
  enum { PIECE = 1024 }; /* values of a row made at a time */
  float original[PIECE];
  uint64_t const row_count = block->count[0] * block->count[1];
  for (uint64_t row = 0; row < row_count; row++)
    for (uint64_t first = 0; first < block->count[2]; first += PIECE) {
      uint64_t const left = block->count[2] - first;
      uint64_t const count = left < PIECE ? left : PIECE;
      uint64_t const at[FIELD_DIMS] = {block->start[0] + row / block->count[1],
                                       block->start[1] + row % block->count[1],
                                       block->start[2] + first};
      make_row(field, at, count, original);
      for (uint64_t i = 0; i < count; i++)
        compare_value(original[i], *restored++, bound, comparison);
    }
}
