/* bounds.h - which bound each variable of a file gets: the rules of --var and of a file of them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A rule is WHICH:WHAT. WHICH is the name of a variable, with or without its groups, or a pattern
 * with * ? [...]; after "standard_name=" or "units=", a pattern for that attribute. WHAT is abs=X,
 * rel=X, pwrel=X, psnr=X, lossless, or keep, which copies the variable as it is.
 */
#ifndef SZGPU_APP_BOUNDS_H
#define SZGPU_APP_BOUNDS_H

#include "report.h"
#include "szgpu.h"

#include <stdbool.h>
#include <stddef.h>

struct bound {
  bool is_kept; /* the variable is copied as it is */
  szgpu_mode mode;
  double value; /* of modes with a bound: abs in the unit of the variable, rel of its range */
};

enum bound_subject { BOUND_BY_NAME, BOUND_BY_STANDARD_NAME, BOUND_BY_UNITS };

struct bound_rule {
  char *text; /* as it was given */
  char *which;
  enum bound_subject subject;
  struct bound bound;
  bool is_pattern;
  bool is_of_file; /* of --bounds, else of --var */
  bool is_used;    /* some variable of the file fits */
};

struct bounds {
  struct bound_rule *rules;
  size_t count, capacity;
};

/* What rules look at. standard_name and units may be NULL. */
struct bound_names {
  const char *path; /* "/group/tos" */
  const char *standard_name, *units;
};

enum { BOUND_CHARS = 48 };

/* Adds the rule, or returns why it is none, for a message after the rule's text. */
const char *bounds_add(struct bounds *bounds, const char *text, bool is_of_file);
/* Adds the rules of a file: one on each line; empty lines and those that begin with # do not count.
 * Returns an exit code, and prints a sentence if it is not CODE_OK. */
int bounds_read(const struct report *report, const char *file_name, struct bounds *bounds);
void bounds_free(struct bounds *bounds);

/* The rule that counts for a variable, NULL if there is none: one of --var before one of a file,
 * then the name of the variable before patterns. Marks all that fit as used. *other gets a rule of
 * the same rank that asks for something else, or NULL. */
const struct bound_rule *bounds_find(struct bounds *bounds, const struct bound_names *names,
                                     const struct bound_rule **other);

/* "abs 0.01", "lossless". */
void bound_print(const struct bound *bound, char text[BOUND_CHARS]);

#endif
