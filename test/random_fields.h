/* random_fields.h - fields from adversarial distributions, and at random what is asked of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_RANDOM_FIELDS_H
#define SZG_TEST_RANDOM_FIELDS_H

#include "support.h"

typedef struct random_case {
  szgpu_params params;
  szgpu_shape shape;
  int threads;              /* that the CPU is to use: 1 .. RANDOM_MOST_THREADS */
  const char *distribution; /* in words */
  void *field;              /* of the test; free() it */
} random_case;

enum { RANDOM_MOST_THREADS = 4 };

/* A field of up to `most_values` values. All of it follows from *random. */
random_case random_case_make(test_random *random, uint64_t most_values);

/* One line: the seed that *random began with, and the case. */
void random_case_print(const random_case *c, uint64_t seed);

#endif
