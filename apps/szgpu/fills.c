/* fills.c - what is missing in a field: fill values, and what is outside the valid values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fills.h"

#include "values.h"

#include <math.h>

/* Fill values that are NaN are one. */
static bool is_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

void fills_add(struct fills *fills, double value, const char *origin) {
  for (int i = 0; i < fills->count; i++)
    if (is_same(fills->values[i], value)) return;
  fills->is_cut |= fills->count == MOST_NAMED_FILLS;
  if (fills->is_cut) return;
  fills->values[fills->count] = value;
  fills->origins[fills->count++] = origin;
}

void fills_limit(struct fills *fills, double least, double greatest) {
  if (!fills->has_valid) {
    fills->valid_least = -INFINITY;
    fills->valid_greatest = INFINITY;
  }
  fills->has_valid = true;
  if (least > fills->valid_least) fills->valid_least = least;
  if (greatest < fills->valid_greatest) fills->valid_greatest = greatest;
}

/* Values that differ may be the same in the type. */
void fills_fit(struct fills *fills, szgpu_dtype dtype) {
  struct fills const named = *fills;
  fills->count = 0;
  for (int i = 0; i < named.count; i++)
    if (dtype_has_value(dtype, named.values[i]))
      fills_add(fills, value_rounded(dtype, named.values[i]), named.origins[i]);
}

void fills_look(struct fills *fills, szgpu_dtype dtype, const void *values, uint64_t count) {
  double run[256];
  uint64_t const most = sizeof run / sizeof *run;
  for (uint64_t first = 0; first < count; first += most) {
    uint64_t const run_count = count - first < most ? count - first : most;
    read_values(dtype, values, first, run_count, run);
    for (int k = 0; k < fills->count; k++)
      for (uint64_t i = 0; i < run_count && !fills->is_found[k]; i++)
        fills->is_found[k] = is_same(run[i], fills->values[k]);
  }
}

void fills_keep_found(struct fills *fills) {
  struct fills const named = *fills;
  fills->count = 0;
  for (int i = 0; i < named.count; i++)
    if (named.is_found[i]) fills_add(fills, named.values[i], named.origins[i]);
}

void fills_print(const struct fills *fills, FILE *out) {
  for (int i = 0; i < fills->count; i++)
    if (fills->origins[i]) fprintf(out, "fill %g from %s, ", fills->values[i], fills->origins[i]);
  if (fills->has_valid) fprintf(out, "valid %g to %g, ", fills->valid_least, fills->valid_greatest);
}

void fills_print_json(const struct fills *fills, struct json *json) {
  const char *first = NULL;
  for (int i = fills->count - 1; i >= 0; i--)
    if (fills->origins[i]) first = fills->origins[i];
  if (first) {
    json_text(json, "fill_from", first);
    json_open(json, "fills_from", '[');
    for (int i = 0; i < fills->count; i++)
      json_text(json, NULL, fills->origins[i] ? fills->origins[i] : "--fill");
    json_close(json, ']');
  }
  if (!fills->has_valid) return;
  json_real(json, "valid_least", fills->valid_least);
  json_real(json, "valid_greatest", fills->valid_greatest);
}
