/* fills.h - what is missing in a field: fill values, and what is outside the valid values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FILLS_H
#define SZGPU_APP_FILLS_H

#include "report.h"
#include "szgpu.h"

#include <stdbool.h>

enum {
  MOST_FILLS = 1 + SZGPU_MOST_MORE_FILLS, /* that an archive has */
  MOST_NAMED_FILLS = 64                   /* that options and attributes may name */
};

struct fills {
  int count;
  double values[MOST_NAMED_FILLS];
  const char *origins[MOST_NAMED_FILLS]; /* "_FillValue" ...; NULL: the option */
  bool is_found[MOST_NAMED_FILLS];       /* in the values that were looked at */
  bool is_cut;                           /* there are more */
  bool has_valid;
  double valid_least, valid_greatest; /* infinite: no such limit */
};

/* Adds a fill value, unless it is there already. */
void fills_add(struct fills *fills, double value, const char *origin);
/* Narrows the valid values. */
void fills_limit(struct fills *fills, double least, double greatest);
/* Drops fill values that the type does not have, so that no value can be one. */
void fills_fit(struct fills *fills, szgpu_dtype dtype);
/* Notes which fill values are among these. */
void fills_look(struct fills *fills, szgpu_dtype dtype, const void *values, uint64_t count);
/* Drops those that were not found. */
void fills_keep_found(struct fills *fills);

/* "fill -999 from _FillValue, fill -888 from missing_value, valid 0 to 40, ". */
void fills_print(const struct fills *fills, FILE *out);
/* The members "fills_from", a list, "valid_least" and "valid_greatest", if there are any. */
void fills_print_json(const struct fills *fills, struct json *json);

#endif
