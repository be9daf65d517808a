/* metrics.h - compares a restored field with its original, independently of the library.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_METRICS_H
#define SZGPU_APP_METRICS_H

#include "szgpu.h"

#include "json.h"

#include <stdbool.h>

struct metrics {
  uint64_t values_over_bound; /* a NaN of other bits is one, and a missing value */
  double max_error;
  double max_error_over_bound; /* 0 if max_error is; SZGPU_MODE_PWREL: of relative errors */
  double psnr;      /* dB, over values finite in both fields and not fill; Inf: no error */
  bool is_relative; /* SZGPU_MODE_PWREL: then there is a greatest relative error */
  double max_relative_error;
  bool is_lossless; /* then every value of other bits is over the bound */
};

/* info: of the archive that was restored. Both fields hold value_count values. */
struct metrics metrics_take(const szgpu_info *info, const void *original, const void *restored,
                            uint64_t value_count);

/* The same for fields that come in pieces. */
struct metrics_sums {
  uint64_t values_over_bound, finite_count;
  long double max_error, max_relative_error, square_sum, least, most;
};
struct metrics_sums metrics_begin(void);
void metrics_add(struct metrics_sums *sums, const szgpu_info *info, const void *original,
                 const void *restored, uint64_t value_count);
struct metrics metrics_end(const struct metrics_sums *sums, const szgpu_info *info);
void metrics_print(const struct metrics *metrics, FILE *out);
void metrics_print_json(const struct metrics *metrics, struct json *json);

#endif
