/* random_fields.h - fields from adversarial distributions, with random shapes and parameters.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_RANDOM_FIELDS_H
#define SZG_TEST_RANDOM_FIELDS_H

#include "support.h"

typedef struct random_case {
  szgpu_params params;
  szgpu_shape shape;
  int threads;              /* for the CPU: 1 .. RANDOM_MOST_THREADS */
  const char *distribution; /* its name */
  void *field;              /* owned by the test: free() it */
} random_case;

enum { RANDOM_MOST_THREADS = 4 };

/* A field of up to `most_values` values. *random determines the whole case. */
random_case random_case_make(test_random *random, uint64_t most_values);

/* Prints one line: the seed that *random began with, and the case. */
void random_case_print(const random_case *c, uint64_t seed);

#endif
