/* missing.c - finds values that are probably fill, and the range without what is missing.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/missing.h"

#include <math.h>

#include "quant/bound.h"

/* Values of a group of far ones on one side. */
enum { MOST_ON_A_SIDE = 2 };

/* The outermost values of one side, from outside to inside, each once, with how often it occurs:
 * that is known of all but the innermost. */
typedef struct side {
  uint32_t count;
  uint64_t bits[MOST_ON_A_SIDE + 1];
  uint64_t occurrences[MOST_ON_A_SIDE];
} side;

typedef struct sides {
  szgpu_dtype dtype;
  szgpu_mode mode;
  side low, high;
} sides;

/* A whole number that is no whole number by chance: among those of its magnitude, at most one of
 * eight is one. */
static bool is_rather_whole(const sides *found, uint64_t bits) {
  double const value = szg_value_of_bits(found->dtype, bits);
  return fabs(value) < (found->dtype == SZGPU_F32 ? 0x1p20 : 0x1p49) && trunc(value) == value;
}

/* Half of it, because a difference may overflow. */
static double half_value(const sides *found, const side *of, uint32_t i) {
  return szg_value_of_bits(found->dtype, of->bits[i]) / 2;
}

static szg_survey survey_of_all(const szg_value_source *source, const szg_missing *missing) {
  szgpu_dtype const dtype = source->dtype;
  return (szg_survey){missing, szg_ordered_bits(dtype, szg_bits_of_value(dtype, -INFINITY)),
                      szg_ordered_bits(dtype, szg_bits_of_value(dtype, INFINITY))};
}

/* What the first survey would find; false: not known, as of zeros, which have two patterns. */
static bool ends_of_range(szgpu_dtype dtype, const szg_range *range, szg_ends *ends) {
  if (!range || !range->has_values || range->least == 0 || range->greatest == 0) return false;
  *ends = (szg_ends){.above = szg_ordered_bits(dtype, szg_bits_of_value(dtype, range->least)),
                     .below = szg_ordered_bits(dtype, szg_bits_of_value(dtype, range->greatest))};
  return true;
}

/* Takes the outermost values; stops where a side cannot hold a group of far ones. range: NULL, or
 * of the values that the surveys see. */
static szgpu_status find_sides(const szg_value_source *source, const szg_missing *missing,
                               const szg_range *range, sides *found) {
  szg_survey survey = survey_of_all(source, missing);
  for (uint32_t i = 0; i <= MOST_ON_A_SIDE; i++) {
    szg_ends ends;
    if (i > 0 || !ends_of_range(source->dtype, range, &ends))
      SZG_TRY(source->survey(source, &survey, &ends));
    if (i > 0) found->low.occurrences[i - 1] = ends.low_count;
    if (i > 0) found->high.occurrences[i - 1] = ends.high_count;
    if (ends.above == UINT64_MAX || ends.below == 0) return SZGPU_OK;
    survey.low = ends.above;
    survey.high = ends.below;
    found->low.bits[i] = szg_bits_of_ordered(source->dtype, ends.above);
    found->high.bits[i] = szg_bits_of_ordered(source->dtype, ends.below);
    found->low.count = found->high.count = i + 1;
    bool const may_go_on = i == 0 || ends.low_count > 1 || ends.high_count > 1 ||
                           is_rather_whole(found, found->low.bits[0]) ||
                           is_rather_whole(found, found->high.bits[0]);
    if (!may_go_on) return SZGPU_OK;
  }
  return SZGPU_OK;
}

/* Whether a value that is alone on its side may be a group although it occurs once. What is wrongly
 * taken for missing makes a bound smaller that follows from the range. */
static bool may_be_alone(const sides *found, uint64_t bits, double gap, double range) {
  bool const is_bound_fixed = found->mode == SZGPU_MODE_ABS || found->mode == SZGPU_MODE_PWREL;
  return is_bound_fixed || gap / 1024 >= range || is_rather_whole(found, bits);
}

/* Whether a side's outer `count` values may stand far from all others, which lie so far apart. */
static bool is_far(const sides *found, const side *of, uint32_t count, double range) {
  if (count == 0) return true;
  double const gap = fabs(half_value(found, of, count) - half_value(found, of, count - 1));
  if (!(gap >= range)) return false;
  if (count == 1) return of->occurrences[0] > 1 || may_be_alone(found, of->bits[0], gap, range);
  bool const are_lone[] = {of->occurrences[0] == 1, of->occurrences[1] == 1};
  if (are_lone[0] && are_lone[1]) return false;
  return !(are_lone[0] || are_lone[1]) || is_rather_whole(found, of->bits[are_lone[1]]);
}

/* Whether the outer values, so many of each side, stand far from all others. */
static bool are_far(const sides *found, uint32_t low_count, uint32_t high_count) {
  const side *const low = &found->low, *const high = &found->high;
  if (low_count >= low->count || high_count >= high->count) return false; /* not known so far in */
  double const range = half_value(found, high, high_count) - half_value(found, low, low_count);
  return (range > 0 || (range == 0 && low_count + high_count == 1)) &&
         is_far(found, low, low_count, range) && is_far(found, high, high_count, range);
}

/* The smallest group that is far, of at most `most` values; of equal ones, that with more low
 * values. */
static bool find_group(const sides *found, uint32_t most, uint32_t *low_count,
                       uint32_t *high_count) {
  for (uint32_t count = 1; count <= most; count++)
    for (uint32_t low = count < MOST_ON_A_SIDE ? count : MOST_ON_A_SIDE;
         low + MOST_ON_A_SIDE >= count; low--) {
      if (are_far(found, low, count - low)) {
        *low_count = low;
        *high_count = count - low;
        return true;
      }
      if (low == 0) break;
    }
  return false;
}

/* Whether there is one value, other than 0. The logarithm of a bound of each value would change it;
 * 0 and what is missing come back. */
static bool is_one_value_of_logarithms(const sides *found) {
  return found->mode == SZGPU_MODE_PWREL && found->low.count == 1 &&
         half_value(found, &found->low, 0) != 0;
}

szgpu_status szg_missing_find_far(const szg_value_source *source, szgpu_mode mode,
                                  const szg_range *range, szg_missing *missing) {
  while (missing->fill_count < SZG_MOST_FILLS) {
    sides found = {.dtype = source->dtype, .mode = mode};
    uint32_t low_count, high_count;
    szg_missing named = *missing; /* values that are not valid may be found, too: a mask is short */
    named.has_valid = false;
    SZG_TRY(find_sides(source, &named, range, &found));
    range = NULL; /* of values that have since become fill, too */
    if (is_one_value_of_logarithms(&found)) {
      low_count = 1;
      high_count = 0;
    } else if (!find_group(&found, SZG_MOST_FILLS - missing->fill_count, &low_count, &high_count)) {
      return SZGPU_OK;
    }
    for (uint32_t i = 0; i < low_count; i++)
      missing->fill_bits[missing->fill_count++] = found.low.bits[i];
    for (uint32_t i = 0; i < high_count; i++)
      missing->fill_bits[missing->fill_count++] = found.high.bits[i];
  }
  return SZGPU_OK;
}

szg_missing szg_missing_of_range(const szg_range *range) {
  szg_missing missing = {0};
  if (range->has_fill) missing.fill_bits[missing.fill_count++] = range->fill_bits;
  for (uint32_t i = 0; i < range->more_fill_count; i++)
    missing.fill_bits[missing.fill_count++] = range->more_fill_bits[i];
  return missing;
}

szgpu_status szg_range_without(const szg_value_source *source, const szg_missing *missing,
                               szg_range *range) {
  szg_survey const survey = survey_of_all(source, missing);
  szg_ends ends;
  SZG_TRY(source->survey(source, &survey, &ends));
  *range = (szg_range){.has_values = ends.above != UINT64_MAX,
                       .has_fill = missing->fill_count > 0,
                       .fill_bits = missing->fill_bits[0]};
  for (uint32_t i = 1; i < missing->fill_count; i++)
    range->more_fill_bits[range->more_fill_count++] = missing->fill_bits[i];
  if (!range->has_values) return SZGPU_OK;
  uint64_t const least = szg_bits_of_ordered(source->dtype, ends.above);
  uint64_t const greatest = szg_bits_of_ordered(source->dtype, ends.below);
  range->least = szg_value_of_bits(source->dtype, least) + 0.0;
  range->greatest = szg_value_of_bits(source->dtype, greatest) + 0.0;
  return SZGPU_OK;
}
