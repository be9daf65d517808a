/* hdf5_compare.c - whether values of a new file are what they should be.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * By what was asked for, and not by what archives state of themselves.
 */
#include "hdf5_compare.h"

#include "values.h"

#include <math.h>
#include <string.h>

/* What a value may become. */
struct rule {
  szgpu_dtype dtype;
  szgpu_mode mode;
  long double bound;                     /* of stored values */
  double quick_absolute, quick_relative; /* a little less, of which one is 0 */
  int fill_count;
  double fills[MOST_NAMED_FILLS];
  bool has_valid;
  double valid_least, valid_greatest;
};

static struct rule make_rule(const struct plan_variable *variable, const struct fills *fills) {
  struct rule rule = {.dtype = variable->dtype,
                      .mode = variable->bound.mode,
                      .has_valid = fills->has_valid,
                      .valid_least = fills->has_valid ? fills->valid_least : -INFINITY,
                      .valid_greatest = fills->has_valid ? fills->valid_greatest : INFINITY,
                      .fill_count = fills->count};
  for (int i = 0; i < fills->count; i++)
    rule.fills[i] = value_rounded(rule.dtype, fills->values[i]);
  rule.bound = rule.mode == SZGPU_MODE_PWREL ? variable->bound.value : variable->absolute_bound;
  if (rule.mode != SZGPU_MODE_PWREL && variable->about.is_packed)
    rule.bound /= fabsl((long double)variable->about.scale);
  double const quick = (double)rule.bound * (1 - 1e-12);
  if (rule.mode == SZGPU_MODE_PWREL)
    rule.quick_relative = quick;
  else
    rule.quick_absolute = quick;
  return rule;
}

static bool is_valid(const struct rule *rule, double value) {
  return !rule->has_valid || (value >= rule->valid_least && value <= rule->valid_greatest);
}

static bool is_missing(const struct rule *rule, double value) {
  bool is_fill = isnan(value);
  for (int i = 0; i < rule->fill_count; i++) is_fill |= value == rule->fills[i];
  return is_fill || !is_valid(rule, value);
}

/* Of two values with other bits. *over_bound: its error, as a multiple of the bound. */
static bool is_wrong(const struct rule *rule, double before, double after, double *over_bound) {
  *over_bound = 0;
  if (rule->mode == SZGPU_MODE_LOSSLESS || is_missing(rule, before) || is_missing(rule, after))
    return true;
  long double const error = fabsl((long double)before - after);
  long double const bound =
      rule->mode == SZGPU_MODE_PWREL ? rule->bound * fabsl((long double)before) : rule->bound;
  *over_bound = bound > 0 && isfinite(error) ? (double)(error / bound) : INFINITY;
  return !(error <= bound);
}

/* Without limits these are infinite. NaN is not within. */
static inline bool is_within(const struct rule *rule, double value) {
  return (value >= rule->valid_least) & (value <= rule->valid_greatest);
}

/* Whether all values of a line are right, by a quick look: most lines need no other. LOAD_PAIR:
 * value i of either, and whether their bits differ. */
#define LOAD_PAIR(VALUE, BITS)                            \
  VALUE one, other;                                       \
  BITS one_bits, other_bits;                              \
  memcpy(&one, before + i * sizeof one, sizeof one);      \
  memcpy(&other, after + i * sizeof other, sizeof other); \
  memcpy(&one_bits, &one, sizeof one);                    \
  memcpy(&other_bits, &other, sizeof other);              \
  unsigned const differs = one_bits != other_bits

#define IS_FINE(NAME, VALUE, BITS)                                                         \
  static bool NAME(const struct rule *rule, const unsigned char *before,                   \
                   const unsigned char *after, uint64_t count) {                           \
    unsigned wrong = 0;                                                                    \
    for (uint64_t i = 0; i < count; i++) {                                                 \
      LOAD_PAIR(VALUE, BITS);                                                              \
      double const error = fabs((double)one - (double)other);                              \
      double const most = rule->quick_absolute + rule->quick_relative * fabs((double)one); \
      wrong |= differs & !(error <= most);                                                 \
      wrong |= is_within(rule, one) != is_within(rule, other);                             \
    }                                                                                      \
    for (int f = 0; f < rule->fill_count; f++) {                                           \
      VALUE const fill = (VALUE)rule->fills[f];                                            \
      for (uint64_t i = 0; i < count; i++) {                                               \
        LOAD_PAIR(VALUE, BITS);                                                            \
        wrong |= differs & ((one == fill) | (other == fill));                              \
      }                                                                                    \
    }                                                                                      \
    return !wrong;                                                                         \
  }
IS_FINE(is_fine_float, float, uint32_t)
IS_FINE(is_fine_double, double, uint64_t)
#undef IS_FINE
#undef LOAD_PAIR

static bool is_fine(const struct rule *rule, const unsigned char *before,
                    const unsigned char *after, uint64_t count) {
  if (memcmp(before, after, count * dtype_bytes(rule->dtype)) == 0) return true;
  if (rule->mode == SZGPU_MODE_LOSSLESS) return false;
  if (rule->dtype == SZGPU_F32) return is_fine_float(rule, before, after, count);
  return rule->dtype == SZGPU_F64 && is_fine_double(rule, before, after, count);
}

static void compare_line(const struct rule *rule, const unsigned char *before,
                         const unsigned char *after, uint64_t count,
                         struct difference *difference) {
  if (is_fine(rule, before, after, count)) return;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const one = value_bits(rule->dtype, before, i);
    uint64_t const other = value_bits(rule->dtype, after, i);
    double over_bound;
    if (one == other) continue;
    if (!is_wrong(rule, value_of_bits(rule->dtype, one), value_of_bits(rule->dtype, other),
                  &over_bound))
      continue;
    difference->wrong_count++;
    if (over_bound > difference->most_over_bound) difference->most_over_bound = over_bound;
  }
}

void compare_boxes(const struct plan_variable *variable, const struct fills *fills,
                   const struct box *before, const struct box *after,
                   struct difference *difference) {
  struct rule const rule = make_rule(variable, fills);
  int const rank = variable->rank;
  hsize_t at[H5S_MAX_RANK] = {0};
  for (;;) {
    uint64_t first = 0;
    for (int axis = 0; axis < rank; axis++) first = first * before->dims[axis] + at[axis];
    first *= dtype_bytes(rule.dtype);
    compare_line(&rule, before->values + first, after->values + first, before->count[rank - 1],
                 difference);
    int axis = rank - 2;
    for (; axis >= 0 && ++at[axis] == before->count[axis]; axis--) at[axis] = 0;
    if (axis < 0) return;
  }
}

void difference_include(struct difference *difference, const struct difference *other) {
  difference->wrong_count += other->wrong_count;
  if (other->most_over_bound > difference->most_over_bound)
    difference->most_over_bound = other->most_over_bound;
}
