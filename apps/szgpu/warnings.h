/* warnings.h - warns of what is allowed, but seldom meant.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each warning is a sentence on stderr, unless the report is quiet, and is kept for JSON. With
 * --strict it is a failure instead. Calls return an exit code, CODE_OK or CODE_USAGE.
 */
#ifndef SZGPU_APP_WARNINGS_H
#define SZGPU_APP_WARNINGS_H

#include "field.h"
#include "json.h"

enum { MOST_WARNINGS = 6 + MOST_SWEEP_BOUNDS, WARNING_CHARS = 400 };

/* Those about one file. */
struct warnings {
  int count;
  bool is_fill_told; /* once, whatever bounds follow */
  char sentences[MOST_WARNINGS][WARNING_CHARS];
};

/* A bound that leaves little of the values, whatever they are; name may be NULL. */
int warn_of_bound(const struct report *report, const char *name, const szgpu_params *params,
                  struct warnings *warnings);
/* Type and dims: what the options say and what the field's name or header says. The input need not
 * be loaded any more. */
int warn_of_field(const struct report *report, const struct options *options,
                  const struct input *input, const struct field *field, struct warnings *warnings);
/* What the values say about the bound of their archive, whose info is given: a value that looks
 * like fill, or a bound above the range. */
int warn_of_values(const struct report *report, const char *name, const struct field *field,
                   const szgpu_info *info, struct warnings *warnings);

/* A note, which is no warning: that values are packed, and what the bound is of what they mean. */
void tell_packing(const struct report *report, const char *name, const struct dataset *dataset,
                  const szgpu_info *info);
/* The members "scale_factor", "add_offset" and "unpacked_bound", if there are any. */
void packing_print_json(const struct dataset *dataset, const szgpu_info *info, struct json *json);

/* The member "warnings", an array of sentences. */
void warnings_print_json(const struct warnings *warnings, struct json *json);

#endif
