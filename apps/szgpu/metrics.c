/* metrics.c - compares a restored field with its original, independently of the library.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "metrics.h"

#include "values.h"

#include <math.h>
#include <stdbool.h>

struct pair {
  long double original, restored;
  uint64_t original_bits, restored_bits;
};

static struct pair load_pair(szgpu_dtype dtype, const void *original, const void *restored,
                             uint64_t index) {
  uint64_t const original_bits = value_bits(dtype, original, index);
  uint64_t const restored_bits = value_bits(dtype, restored, index);
  return (struct pair){value_of_bits(dtype, original_bits), value_of_bits(dtype, restored_bits),
                       original_bits, restored_bits};
}

/* error is |a - b| rounded to long double. If that equals the bound, the rounding error decides. */
static bool is_over(long double error, long double bound, long double a, long double b) {
  if (error != bound) return !(error < bound); /* NaN is over */
  long double const high = a > b ? a : b, low = a > b ? b : a;
  long double const back = high - error; /* two-sum: high - low == error + (rest of both) */
  long double const rest = (high - (back + error)) + (back - low);
  return rest > 0;
}

/* Whether error, |a - b|, is over the bound of a itself. fmal rounds once, so its sign is right. A
 * zero has no sign of its own to lose: it must keep its bits. */
static bool is_over_own(long double error, long double bound, long double a) {
  if (a == 0 || !isfinite(a) || !isfinite(error)) return true; /* the bits differ */
  return fmal(bound, fabsl(a), -error) < 0;
}

struct metrics_sums metrics_begin(void) {
  return (struct metrics_sums){.least = INFINITY, .most = -INFINITY};
}

void metrics_add(struct metrics_sums *sums, const szgpu_info *info, const void *original,
                 const void *restored, uint64_t value_count) {
  bool const is_lossless = info->mode == SZGPU_MODE_LOSSLESS;
  bool const is_relative = info->mode == SZGPU_MODE_PWREL;
  for (uint64_t i = 0; i < value_count; i++) {
    struct pair const pair = load_pair(info->shape.dtype, original, restored, i);
    bool const has_same_bits = pair.original_bits == pair.restored_bits;
    bool const is_kept = value_is_kept(info, pair.original_bits);
    bool const is_finite = isfinite(pair.original) && isfinite(pair.restored);
    long double error = has_same_bits ? 0 : fabsl(pair.original - pair.restored);
    if (isnan(error)) error = INFINITY;
    if (!has_same_bits) {
      bool const is_bad =
          is_lossless || is_kept ||
          (is_relative ? is_over_own(error, info->bound, pair.original)
                       : is_over(error, info->absolute_bound, pair.original, pair.restored));
      if (is_bad) sums->values_over_bound++;
      bool const is_number = is_finite && pair.original != 0; /* others must keep their bits */
      long double const relative = is_number ? error / fabsl(pair.original) : INFINITY;
      if (relative > sums->max_relative_error) sums->max_relative_error = relative;
    }
    if (error > sums->max_error) sums->max_error = error;
    if (is_finite && !is_kept) { /* what is missing is always exact and would flatter the PSNR */
      sums->finite_count++;
      sums->square_sum += error * error;
    }
    if (isfinite(pair.original) && !is_kept) {
      sums->least = pair.original < sums->least ? pair.original : sums->least;
      sums->most = pair.original > sums->most ? pair.original : sums->most;
    }
  }
}

struct metrics metrics_end(const struct metrics_sums *sums, const szgpu_info *info) {
  struct metrics metrics = {.values_over_bound = sums->values_over_bound,
                            .max_error = (double)sums->max_error,
                            .psnr = INFINITY,
                            .is_relative = info->mode == SZGPU_MODE_PWREL,
                            .max_relative_error = (double)sums->max_relative_error,
                            .is_lossless = info->mode == SZGPU_MODE_LOSSLESS};
  if (metrics.is_relative)
    metrics.max_error_over_bound = (double)(sums->max_relative_error / info->bound);
  else if (sums->max_error > 0)
    metrics.max_error_over_bound = (double)(sums->max_error / info->absolute_bound);
  if (sums->square_sum > 0)
    metrics.psnr = (double)(20 * log10l(sums->most - sums->least) -
                            10 * log10l(sums->square_sum / (long double)sums->finite_count));
  return metrics;
}

struct metrics metrics_take(const szgpu_info *info, const void *original, const void *restored,
                            uint64_t value_count) {
  struct metrics_sums sums = metrics_begin();
  metrics_add(&sums, info, original, restored, value_count);
  return metrics_end(&sums, info);
}

void metrics_print(const struct metrics *metrics, FILE *out) {
  if (metrics->is_lossless)
    fputs(metrics->values_over_bound ? "  not bit-identical" : "  bit-identical", out);
  else
    fprintf(out, "  max error/bound %.3f  PSNR %.1f dB", metrics->max_error_over_bound,
            metrics->psnr);
}

void metrics_print_json(const struct metrics *metrics, struct json *json) {
  json_real(json, "max_error", metrics->max_error);
  if (metrics->is_relative) json_real(json, "max_relative_error", metrics->max_relative_error);
  json_real(json, "max_error_over_bound", metrics->max_error_over_bound);
  json_real(json, "psnr", metrics->psnr);
  json_count(json, "values_over_bound", metrics->values_over_bound);
}
